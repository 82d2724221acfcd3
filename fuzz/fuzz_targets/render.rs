//! For any bytes and any options, drawing writes a PNG that is complete and has the size that was asked for, or returns an error
//! of one line and leaves nothing behind. The picture does not depend on the number of threads.
#![no_main]

use std::fs::File;
use std::io::BufReader;
use std::num::NonZero;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use meshmap::{Axis, MeshFile, Parallelism};
use meshmap_export::{Error, Lods, Turn};
use meshmap_fuzz::{Choices, Folder, NUMBERS, assert_line, assert_report, open, split};
use meshmap_render::{Background, Mode, Render, Rendered, Samples, Viewpoint};

/// Bytes of an input that select options.
const CHOICES: usize = 12;

fuzz_target!(|data: &[u8]| {
    let (bytes, mut choices) = split(data, CHOICES);
    let Ok(file) = open(bytes) else { return };
    let [threads, difference, are_wide, ..] = choices.flags();
    let mut size = || [16, 1, 3, 24, 40][choices.below(5)];
    let size = [size(), size()];
    let render = with_options(
        &file,
        Render {
            size: Some(size),
            points: are_wide.then_some(9.5),
            ..Render::default()
        },
        &mut choices,
    );
    let folder = Folder::new("render");
    let path = folder.file("out.png");
    let rendered = match render.write_file(&file, &path) {
        Ok(rendered) => rendered,
        Err(error) => {
            assert_error(&error);
            assert!(
                folder.files().is_empty(),
                "{error}, and {:?}",
                folder.files()
            );
            return;
        }
    };
    assert_eq!(folder.files(), [path.clone()]);
    assert_eq!(
        (
            rendered.file.as_ref().map(|file| file.path.clone()),
            rendered.size
        ),
        (Some(path.clone()), size)
    );
    assert_report(&rendered.report);
    assert!(
        !rendered.moment.chars().any(char::is_control),
        "{:?}",
        rendered.moment
    );
    assert_png(&path, &rendered);
    if threads {
        let before = std::fs::read(&path).expect("the picture");
        let second = Render {
            parallelism: Parallelism::Off,
            ..render.clone()
        }
        .write_file(&file, &path);
        assert_eq!(second.expect("the same picture"), rendered);
        assert!(
            before == std::fs::read(&path).expect("the picture"),
            "one thread draws another picture"
        );
    }
    if difference {
        match render.write_difference(&file, &file, folder.file("difference.png")) {
            Ok(rendered) => assert_eq!(rendered.largest_distance, Some(0.0)),
            Err(error) => assert_error(&error),
        }
    }
});

fn with_options(file: &MeshFile, render: Render, choices: &mut Choices<'_>) -> Render {
    let [
        refuse,
        named,
        quarter,
        no_shadow,
        no_occlusion,
        is_transparent,
        is_aside,
        is_level,
    ] = choices.flags();
    let mut render = Render {
        samples: choices.of(&[Samples::One, Samples::Four, Samples::Nine]),
        mode: choices.of(&[Mode::Shaded, Mode::Clay, Mode::Wireframe, Mode::Normals]),
        zero_non_finite: !refuse,
        turn: if quarter { Turn::Quarter } else { Turn::None },
        no_shadow,
        no_occlusion,
        background: if is_transparent {
            Background::Transparent
        } else {
            Background::default()
        },
        view: match (is_aside, is_level) {
            (false, false) => Viewpoint::ThreeQuarter,
            (false, true) => Viewpoint::Front,
            (true, true) => Viewpoint::Side,
            (true, false) => Viewpoint::Top,
        },
        lod: choices.of(&[
            Lods::Finest,
            Lods::All,
            Lods::Only(0),
            Lods::Only(3),
            Lods::Only(u32::MAX),
        ]),
        up: choices.of(&[None, Some(Axis::X), Some(Axis::NegY), Some(Axis::Z)]),
        ..render
    };
    let index = choices.byte();
    match choices.byte() % 8 {
        0..4 => {}
        4 => render.snapshot = Some(index.into()),
        5 => render.frame = Some(index.into()),
        6 => render.seconds = Some(NUMBERS[usize::from(index) % NUMBERS.len()]),
        _ => render.seconds = Some(f64::from(index) / 8.0),
    }
    match choices.byte() % 8 {
        0..3 => {}
        3 => render.turntable = Some(u32::from(index) % 4),
        4 | 5 => render.animation = true,
        _ => render.sheet = true,
    }
    // Pictures of thousands of frames take longer than an input should.
    render.every = NonZero::new(64 + usize::from(index) * 16);
    if let (true, Some(model)) = (named, file.as_iqm()) {
        let name = model
            .anims()
            .nth(usize::from(index & 7))
            .map(|anim| anim.name.to_string_lossy().into_owned());
        render.anim = Some(name.unwrap_or_else(|| "no such animation".to_owned()));
    }
    for _ in 0..choices.below(4) {
        let index = choices.byte().into();
        if let Some(entry) = file.meshes().ok().and_then(|mut meshes| meshes.nth(index)) {
            render.meshes.push(entry.address);
        }
    }
    render
}

/// Decodes all pictures of a file.
fn assert_png(path: &Path, rendered: &Rendered) {
    let file = File::open(path).expect("the picture");
    let mut reader = png::Decoder::new(BufReader::new(file))
        .read_info()
        .expect("a header");
    let info = reader.info();
    let frames = info
        .animation_control()
        .map_or(1, |animation| animation.num_frames);
    // A sheet is one picture of many.
    if info.animation_control().is_some() || rendered.pictures == 1 {
        assert_eq!(frames, rendered.pictures);
    }
    assert!(info.width >= rendered.size[0] && info.height >= rendered.size[1]);
    let mut pixels = vec![0; reader.output_buffer_size().expect("a small picture")];
    for frame in 0..frames {
        reader
            .next_frame(&mut pixels)
            .unwrap_or_else(|error| panic!("picture {frame}: {error}"));
    }
}

fn assert_error(error: &Error) {
    let text = error.to_string();
    assert_line(&text);
    assert!(
        !matches!(error, Error::Write(_)),
        "nothing fails to write here: {text}"
    );
    // Limits of the library, which opened the file, are its caller's to raise.
    let is_limit = matches!(error, Error::LimitExceeded { .. });
    assert!(
        !is_limit || text.contains("raise"),
        "the limit can be raised: {text}"
    );
}

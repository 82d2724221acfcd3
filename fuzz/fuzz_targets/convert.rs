//! For any bytes and any options, a conversion writes files that compare equal to the mesh file, within its limits, or returns
//! an error of one line and leaves nothing behind.
#![no_main]

use std::num::NonZero;

use libfuzzer_sys::fuzz_target;
use meshmap::{Axis, MeshFile};
use meshmap_check::check_file;
use meshmap_export::{Convert, Error, Lods, Target, Turn};
use meshmap_fuzz::{Choices, Folder, NUMBERS, assert_line, assert_report, open, split};

/// Bytes of an input that select options.
const CHOICES: usize = 12;
/// The size up to which a file is converted to all targets.
const SMALL: usize = 4 << 10;

fuzz_target!(|data: &[u8]| {
    let (bytes, mut choices) = split(data, CHOICES);
    let Ok(file) = open(bytes) else { return };
    let target = choices.below(Target::ALL.len() + 1);
    let targets = match Target::ALL.get(target) {
        Some(target) => vec![*target],
        None if bytes.len() <= SMALL => Target::ALL.to_vec(),
        None => vec![Target::Glb],
    };
    for target in targets {
        check(&file, target, choices.clone());
    }
});

/// Converts a file once, and checks what was written.
fn check(file: &MeshFile, target: Target, mut choices: Choices<'_>) {
    let most = choices.of(&[1 << 20, 0, 1, 256, 4096, 64 << 10]);
    let [check, again, drop, merge, keep, quarter, ..] = choices.flags();
    let convert = Convert {
        max_output_bytes: Some(most),
        drop_degenerate: drop,
        turn: if quarter { Turn::Quarter } else { Turn::None },
        merge_materials: merge && !matches!(target, Target::Ply | Target::Stl),
        keep_materials: keep && !matches!(target, Target::Ply | Target::Stl),
        keep_degenerate: keep && target == Target::Usdc,
        ..Convert::new(target)
    };
    let convert = with_options(file, convert, &mut choices);
    let folder = Folder::new("convert");
    let path = folder.file(&format!("out.{}", target.name()));
    let outcome = match convert.write_file(file, &path) {
        Ok(outcome) => outcome,
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
    assert_report(&outcome.report);
    let mut written = outcome.paths();
    written.sort();
    assert_eq!(
        written,
        folder.files(),
        "files in the folder and in the outcome"
    );
    assert!(written.contains(&path), "{written:?}");
    let sizes = written
        .iter()
        .map(|path| path.metadata().expect("a file that was written").len());
    let size: u64 = sizes.sum();
    assert!(size <= most, "{size} bytes, the limit is {most}");
    // Options that are all zero check.
    if !check {
        match check_file(&convert, file, &path) {
            Ok(checked) => {
                checked.lines.iter().for_each(|line| assert_line(line));
                // Morph targets are differences, which round where a coordinate leaps from 1e30 to 1.
                let is_rounded = matches!(target, Target::Glb | Target::Gltf);
                assert!(
                    is_rounded || checked.differs.is_empty(),
                    "{target:?}: {:?}",
                    checked.differs
                );
            }
            Err(error) => {
                // Checking also reads arrays that the target does not hold, and these may be damaged.
                assert!(
                    matches!(error, Error::Read(_) | Error::LimitExceeded { .. }),
                    "{target:?} was written, and checking fails: {error}"
                );
                assert_error(&error);
            }
        }
    }
    if again {
        let read = || {
            written
                .iter()
                .map(|path| std::fs::read(path).expect("a file"))
                .collect::<Vec<_>>()
        };
        let before = read();
        let second = convert
            .write_file(file, &path)
            .expect("the same conversion");
        assert_eq!(outcome, second);
        assert!(before == read(), "the same conversion wrote other bytes");
    }
}

fn with_options(file: &MeshFile, convert: Convert, choices: &mut Choices<'_>) -> Convert {
    let [
        zero,
        flip,
        dense,
        quantized,
        nest,
        morph_normals,
        attach,
        named,
    ] = choices.flags();
    // Options that a target has no use for are an error, which would end the conversion.
    let is_gltf = matches!(convert.target, Target::Glb | Target::Gltf);
    let has_units = is_gltf || convert.target == Target::Usdc;
    let mut convert = Convert {
        // By default numbers that are not finite become 0, because the first one in a file would end the conversion as well.
        zero_non_finite: !zero,
        flip,
        dense: dense && is_gltf,
        quantized: quantized && is_gltf,
        nest: nest && is_gltf,
        morph_normals: morph_normals && is_gltf,
        lod: choices.of(&[
            Lods::Finest,
            Lods::All,
            Lods::Only(0),
            Lods::Only(3),
            Lods::Only(u32::MAX),
        ]),
        up: choices
            .of(&[None, Some(Axis::X), Some(Axis::NegY), Some(Axis::Z)])
            .filter(|_| has_units),
        ..convert
    };
    let number = NUMBERS[choices.below(NUMBERS.len())];
    let index = choices.byte();
    match choices.byte() % 8 {
        0..3 => {}
        3 => convert.snapshots = Some((usize::from(index & 3)..=usize::from(index >> 2)).into()),
        4 => convert.every = NonZero::new(index.into()),
        5 => convert.frame = Some(index.into()),
        6 => convert.seconds = Some(number),
        _ => convert.frame = Some(u32::MAX),
    }
    match choices.byte() % 8 {
        0..4 => {}
        4..7 if !has_units => {}
        4 => convert.fps = Some(number),
        5 => convert.unit_millimeters = Some(number),
        6 => (convert.fps, convert.unit_millimeters) = (Some(number), Some(number)),
        _ => convert.seconds = Some(f64::from(index) / 8.0),
    }
    if let (true, Some(model)) = (attach, file.as_iqm()) {
        convert.animations.push(("again".to_owned(), model.clone()));
    }
    if let (true, Some(model)) = (named, file.as_iqm()) {
        let name = model
            .anims()
            .nth(usize::from(index & 7))
            .map(|anim| anim.name.to_string_lossy().into_owned());
        convert.anim = Some(name.unwrap_or_else(|| "no such animation".to_owned()));
    }
    for _ in 0..choices.below(4) {
        let index = choices.byte().into();
        if let Some(entry) = file.meshes().ok().and_then(|mut meshes| meshes.nth(index)) {
            convert.meshes.push(entry.address);
        }
    }
    convert
}

fn assert_error(error: &Error) {
    let text = error.to_string();
    assert_line(&text);
    assert!(
        !matches!(error, Error::Write(_)),
        "nothing fails to write here: {text}"
    );
    // Limits of the library, which opened the file, are its caller's to raise.
    if matches!(error, Error::LimitExceeded { .. }) {
        assert!(text.contains("raise"), "the limit can be raised: {text}");
    }
}

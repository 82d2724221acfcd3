//! For any bytes and any options, a conversion writes files that compare equal to the mesh file, within its limits, or returns
//! an error of one line and leaves nothing behind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshmap::{Axis, MeshFile};
use meshmap_export::{Convert, Error, Lods, NonFinite, Target};
use meshmap_fuzz::{Choices, Folder, NUMBERS, assert_line, open, split};

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
    let [check, again, drop, merge, ..] = choices.flags();
    let convert = Convert::new(target)
        .with_max_output_bytes(most)
        .with_drop_degenerate(drop)
        .with_merge_materials(merge && !matches!(target, Target::Ply | Target::Stl));
    let convert = with_options(file, (convert, target), &mut choices);
    let folder = Folder::new("convert");
    let path = folder.file(&format!("out.{}", target.name()));
    let outcome = match convert.write_file(file, &path) {
        Ok(outcome) => outcome,
        Err(error) => {
            assert_error(&error);
            assert!(folder.files().is_empty(), "{error}, and {:?}", folder.files());
            return;
        }
    };
    outcome.left_out.iter().chain(&outcome.notes).for_each(|line| assert_line(line));
    let mut written = outcome.files.clone();
    written.sort();
    assert_eq!(written, folder.files(), "files in the folder and in the outcome");
    assert!(written.contains(&path), "{written:?}");
    let sizes = written.iter().map(|path| path.metadata().expect("a file that was written").len());
    let size: u64 = sizes.sum();
    assert!(size <= most, "{size} bytes, the limit is {most}");
    // Options that are all zero check.
    if !check {
        match convert.check_file(file, &path) {
            Ok(checked) => {
                checked.lines.iter().for_each(|line| assert_line(line));
                // Morph targets are differences, which round where a coordinate leaps from 1e30 to 1.
                let is_rounded = matches!(target, Target::Glb | Target::Gltf);
                assert!(is_rounded || checked.differs.is_empty(), "{target:?}: {:?}", checked.differs);
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
        let read = || written.iter().map(|path| std::fs::read(path).expect("a file")).collect::<Vec<_>>();
        let before = read();
        let second = convert.write_file(file, &path).expect("the same conversion");
        assert_eq!(outcome, second);
        assert!(before == read(), "the same conversion wrote other bytes");
    }
}

fn with_options(file: &MeshFile, (convert, target): (Convert, Target), choices: &mut Choices<'_>) -> Convert {
    let [zero, flip, dense, quantized, nest, morph_normals, attach, named] = choices.flags();
    // By default numbers that are not finite become 0, because the first one in a file would end the conversion.
    let non_finite = if zero { NonFinite::Refuse } else { NonFinite::Zero };
    // Options that a target has no use for are an error, which would end the conversion as well.
    let is_gltf = matches!(target, Target::Glb | Target::Gltf);
    let has_units = is_gltf || target == Target::Usdc;
    let mut convert = convert
        .with_non_finite(non_finite)
        .with_flip(flip)
        .with_dense(dense && is_gltf)
        .with_quantized(quantized && is_gltf)
        .with_nested_joints(nest && is_gltf)
        .with_morph_normals(morph_normals && is_gltf)
        .with_lods(choices.of(&[
            Lods::Finest,
            Lods::All,
            Lods::Only(0),
            Lods::Only(3),
            Lods::Only(u32::MAX),
        ]));
    let up = choices.of(&[None, Some(Axis::X), Some(Axis::Y), Some(Axis::Z)]);
    if let Some(up) = up.filter(|_| has_units) {
        convert = convert.with_up(up);
    }
    let number = NUMBERS[choices.below(NUMBERS.len())];
    let index = choices.byte();
    convert = match choices.byte() % 8 {
        0..3 => convert,
        3 => convert.with_snapshots(usize::from(index & 3)..=usize::from(index >> 2)),
        4 => convert.with_every(index.into()),
        5 => convert.with_frame(index.into()),
        6 => convert.with_time(number),
        _ => convert.with_frame(u32::MAX),
    };
    convert = match choices.byte() % 8 {
        0..4 => convert,
        4..7 if !has_units => convert,
        4 => convert.with_rate(number),
        5 => convert.with_unit(number),
        6 => convert.with_rate(number).with_unit(number),
        _ => convert.with_time(f64::from(index) / 8.0),
    };
    if let (true, Some(model)) = (attach, file.as_iqm()) {
        convert = convert.with_animations("again", model.clone());
    }
    if let (true, Some(model)) = (named, file.as_iqm()) {
        let name =
            model.anims().nth(usize::from(index & 7)).map(|anim| anim.name.to_string_lossy().into_owned());
        convert = convert.with_anim(name.unwrap_or_else(|| "no such animation".to_owned()));
    }
    for _ in 0..choices.below(4) {
        let index = choices.byte().into();
        if let Some(entry) = file.meshes().ok().and_then(|mut meshes| meshes.nth(index)) {
            convert = convert.with_mesh(entry.address);
        }
    }
    convert
}

fn assert_error(error: &Error) {
    let text = error.to_string();
    assert_line(&text);
    assert!(!matches!(error, Error::Write(_)), "nothing fails to write here: {text}");
    // Limits of the library, which opened the file, are its caller's to raise.
    if matches!(error, Error::LimitExceeded { .. }) {
        assert!(text.contains("raise"), "the limit can be raised: {text}");
    }
}

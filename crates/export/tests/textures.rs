//! Images that files name: found in the folder of the file and below other folders, referred to, copied and embedded; and names that lead
//! somewhere else.

use std::fs;
use std::path::Path;

use meshmap::MeshFile;
use meshmap_check::check_file;
use meshmap_export::{
    Change, Convert, FactKind, ImageProblem, Outcome, Target, Why, find_up_to_date,
};
use meshmap_images::Library;
use meshmap_outputs::{Made, Outputs, Record};
use meshmap_testing::fixtures::{iqm, openctm};
use meshmap_testing::open;
use serde_json::Value;

const WITH_TEXTURES: [Target; 6] = [
    Target::Glb,
    Target::Gltf,
    Target::Obj,
    Target::Ply,
    Target::Usdc,
    Target::Usdz,
];

fn open(bytes: Vec<u8>) -> MeshFile {
    open::file(bytes)
}

/// An OpenCTM file whose first UV map is for an image of this name.
fn sheet(image: &'static str) -> MeshFile {
    let mut body = openctm::Body::sheet(openctm::RAW, 3);
    body.uv_maps[0].1 = image;
    open(body.to_bytes())
}

/// A grey image of one pixel.
fn image() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
    encoder.set_color(png::ColorType::Grayscale);
    encoder
        .write_header()
        .unwrap()
        .write_image_data(&[128])
        .unwrap();
    bytes
}

/// A TGA of one pixel, with a colour map, so that its first bytes say so.
fn tga() -> Vec<u8> {
    let mut bytes = vec![0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0];
    bytes.extend([1, 2, 3]);
    bytes
}

/// Converts a file of the folder `models` to the folder `out` next to it.
fn write(file: &MeshFile, convert: Convert, root: &Path) -> Outcome {
    let path = root.join("out/sheet").with_extension(convert.target.name());
    fs::create_dir_all(root.join("out")).unwrap();
    let convert = Convert {
        folder: Some(root.join("models")),
        ..convert
    };
    let outcome = convert.write_file(file, &path).unwrap();
    assert_eq!(check_file(&convert, file, &path).unwrap().differs, [""; 0]);
    outcome
}

fn read(root: &Path, name: &str) -> String {
    String::from_utf8_lossy(&fs::read(root.join("out").join(name)).unwrap()).into_owned()
}

fn gltf(root: &Path) -> Value {
    serde_json::from_str(&read(root, "sheet.gltf")).unwrap()
}

/// A folder with `models/art/crate.png` and `models/other/crate.tga`.
fn folder() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("models/art")).unwrap();
    fs::create_dir_all(root.path().join("models/other")).unwrap();
    fs::write(root.path().join("models/art/crate.png"), image()).unwrap();
    fs::write(root.path().join("models/other/crate.tga"), tga()).unwrap();
    root
}

/// The reason why the first of the missing images is missing.
fn problem(outcome: &Outcome) -> Option<ImageProblem> {
    let mut entries = outcome.report.left_out.iter();
    entries.find_map(|entry| match entry.what.why {
        Why::Image(problem) => Some(problem),
        _ => None,
    })
}

#[test]
fn every_target_with_images_refers_to_the_one_beside_the_file() {
    let root = folder();
    let root = root.path();
    let file = sheet(r"art\crate.png");
    for target in WITH_TEXTURES {
        let outcome = write(&file, Convert::new(target), root);
        let found: Vec<_> = outcome.textures.found().collect();
        let path = fs::canonicalize(root.join("models/art/crate.png")).unwrap();
        assert_eq!(found, [(r"art\crate.png", path)], "{target}");
        assert!(!outcome.report.lacks(FactKind::Images), "{outcome:?}");
    }
    assert_eq!(gltf(root)["images"][0]["uri"], "../models/art/crate.png");
    let surface = &gltf(root)["materials"][0]["pbrMetallicRoughness"];
    assert_eq!(
        (
            &surface["baseColorTexture"]["index"],
            &surface["metallicFactor"]
        ),
        (&0.into(), &0.0.into())
    );
    assert!(read(root, "sheet.mtl").contains("\nmap_Kd ../models/art/crate.png\n"));
    assert!(read(root, "sheet.obj").contains("\nusemtl art\\crate.png\n"));
    assert!(read(root, "sheet.ply").contains("\ncomment TextureFile ../models/art/crate.png\n"));
    assert!(read(root, "sheet.usdc").contains("../models/art/crate.png"));
    for target in Target::ALL
        .into_iter()
        .filter(|target| !WITH_TEXTURES.contains(target))
    {
        let textures = vec![root.to_owned()];
        assert!(
            Convert {
                textures,
                ..Convert::new(target)
            }
            .check_settings()
            .is_err(),
            "{target}"
        );
    }
    let outcome = write(&file, Convert::new(Target::Stl), root);
    let mut entries = outcome.report.left_out.iter();
    let images = entries.find(|entry| entry.what.kind == FactKind::Images);
    assert_eq!(images.unwrap().first, [r"art\crate.png"]);
}

#[test]
fn images_are_copied_beside_the_output_or_put_into_it() {
    let root = folder();
    let root = root.path();
    let file = sheet(r"C:\art\crate.png");
    let textures = vec![root.join("nowhere"), root.join("models/art")];
    // A package has no copies next to it.
    for target in WITH_TEXTURES
        .into_iter()
        .filter(|target| *target != Target::Usdz)
    {
        let convert = Convert {
            copy_textures: true,
            textures: textures.clone(),
            ..Convert::new(target)
        };
        let outcome = write(&file, convert, root);
        let copy = root.join(format!("out/sheet.{target}.textures/crate.png"));
        let paths = outcome.paths();
        assert!(
            paths.contains(&copy) && paths.last() != Some(&copy),
            "{paths:?}"
        );
        assert_eq!(fs::read(&copy).unwrap(), image());
        fs::remove_file(copy).unwrap();
    }
    assert_eq!(
        gltf(root)["images"][0]["uri"],
        "sheet.gltf.textures/crate.png"
    );
    for target in [Target::Glb, Target::Gltf] {
        let convert = Convert {
            embed_textures: true,
            textures: textures.clone(),
            ..Convert::new(target)
        };
        write(&file, convert, root);
    }
    assert_eq!(gltf(root)["images"][0]["mimeType"], "image/png");
    let (document, blob) = {
        let gltf = gltf::Gltf::from_slice(&fs::read(root.join("out/sheet.glb")).unwrap()).unwrap();
        (gltf.document, gltf.blob.unwrap())
    };
    let gltf::image::Source::View { view, mime_type } = document.images().next().unwrap().source()
    else {
        panic!("not in the file")
    };
    assert_eq!(mime_type, "image/png");
    assert_eq!(blob[view.offset()..view.offset() + view.length()], image());
}

#[test]
fn other_endings_are_found_where_the_target_has_them() {
    let root = folder();
    let root = root.path();
    fs::write(root.join("models/paper.tga"), tga()).unwrap();
    let file = open(iqm::Writer::sheets(1, 3, 3).to_bytes());
    assert_eq!(
        write(&file, Convert::new(Target::Obj), root)
            .textures
            .found()
            .count(),
        1
    );
    // An image that a glTF file cannot refer to is in it, as a PNG.
    let outcome = write(&file, Convert::new(Target::Gltf), root);
    assert_eq!(outcome.textures.found().count(), 1);
    assert_eq!(outcome.report.count_of(Change::ImagesAsPng), 1);
    let embedded = &gltf(root)["images"][0];
    assert_eq!(
        (&embedded["mimeType"], &embedded["uri"]),
        (&"image/png".into(), &Value::Null)
    );
    fs::remove_file(root.join("models/paper.tga")).unwrap();
    // A USD file has no images in it.
    fs::write(root.join("models/paper.dds"), b"DDS \x7c\0\0\0").unwrap();
    let outcome = write(&file, Convert::new(Target::Usdc), root);
    assert_eq!(problem(&outcome), Some(ImageProblem::NotRead));
    let outcome = write(&file, Convert::new(Target::Gltf), root);
    assert_eq!(problem(&outcome), Some(ImageProblem::Undecodable));
    fs::write(
        root.join("models/paper.webp"),
        b"RIFF\x10\0\0\0WEBPVP8 \x04\0\0\0\0\0\0\0",
    )
    .unwrap();
    write(&file, Convert::new(Target::Gltf), root);
    assert_eq!(gltf(root)["extensionsRequired"][0], "EXT_texture_webp");
    assert_eq!(
        gltf(root)["textures"][0]["extensions"]["EXT_texture_webp"]["source"],
        0
    );
    fs::write(root.join("models/paper.png"), image()).unwrap();
    write(&file, Convert::new(Target::Gltf), root);
    assert_eq!(gltf(root)["textures"][0]["source"], 0);
    // Without one, a name without an ending is the name of a material.
    fs::remove_dir_all(root.join("models")).unwrap();
    assert_eq!(
        problem(&write(&file, Convert::new(Target::Glb), root)),
        None
    );
}

#[cfg(unix)]
#[test]
fn only_regular_images_below_the_folder_are_used() {
    use std::os::unix::fs::symlink;

    let root = folder();
    let root = root.path();
    let models = root.join("models");
    fs::write(root.join("secret.png"), image()).unwrap();
    fs::create_dir(root.join("elsewhere")).unwrap();
    fs::write(root.join("elsewhere/a.png"), image()).unwrap();
    symlink(root.join("secret.png"), models.join("link.png")).unwrap();
    symlink(root.join("elsewhere"), models.join("folder")).unwrap();
    fs::create_dir(models.join("directory.png")).unwrap();
    fs::write(models.join("text.png"), "not an image at all").unwrap();
    fs::File::create(models.join("long.png"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(models.join("pipe.png"))
        .status()
        .unwrap();
    assert!(made.success());
    for (name, expected) in [
        ("../secret.png", ImageProblem::NotBeside),
        ("http://localhost/secret.png", ImageProblem::NotBeside),
        ("link.png", ImageProblem::NotReadable),
        ("folder/a.png", ImageProblem::Outside),
        ("directory.png", ImageProblem::NotReadable),
        ("pipe.png", ImageProblem::NotReadable),
        ("text.png", ImageProblem::UnknownKind),
        ("long.png", ImageProblem::TooLarge),
    ] {
        for target in WITH_TEXTURES {
            let outcome = write(&sheet(name), Convert::new(target), root);
            assert_eq!(outcome.textures.found().count(), 0, "{name}");
            assert_eq!(problem(&outcome), Some(expected), "{target}: {name}");
        }
    }
}

#[test]
fn an_image_that_several_names_mean_is_copied_and_embedded_once() {
    let root = folder();
    let root = root.path();
    let textures = vec![root.join("models/art")];
    // Two bodies with two names.
    let mut bytes = Vec::new();
    for name in ["crate.png", "crate.webp"] {
        let mut body = openctm::Body::sheet(openctm::RAW, 3);
        body.uv_maps[0].1 = name;
        bytes.extend(body.to_bytes());
    }
    let file = open(bytes);
    let convert = Convert {
        copy_textures: true,
        textures: textures.clone(),
        ..Convert::new(Target::Gltf)
    };
    let outcome = write(&file, convert, root);
    assert_eq!(
        (outcome.textures.found().count(), outcome.files.len()),
        (2, 3),
        "{:?}",
        outcome.files
    );
    assert_eq!(
        (
            gltf(root)["images"].as_array().unwrap().len(),
            gltf(root)["materials"].as_array().unwrap().len()
        ),
        (1, 2)
    );
    write(
        &file,
        Convert {
            embed_textures: true,
            textures,
            ..Convert::new(Target::Gltf)
        },
        root,
    );
    assert_eq!(gltf(root)["images"].as_array().unwrap().len(), 1);
}

#[test]
fn copies_that_cannot_be_written_are_named_and_leave_nothing() {
    let root = folder();
    let root = root.path();
    let convert = Convert {
        copy_textures: true,
        folder: Some(root.join("models")),
        textures: vec![root.join("models/art")],
        ..Convert::new(Target::Glb)
    };
    let (output, file) = (root.join("sheet.glb"), sheet("crate.png"));
    fs::write(root.join("sheet.glb.textures"), "in the way").unwrap();
    let error = convert.write_file(&file, &output).unwrap_err().to_string();
    assert!(error.contains("sheet.glb.textures"), "{error}");
    fs::remove_file(root.join("sheet.glb.textures")).unwrap();
    let little = Convert {
        max_output_bytes: Some(1500),
        ..convert
    };
    assert!(little.write_file(&file, &output).is_err());
    assert!(!output.exists() && !root.join("sheet.glb.textures").exists());
}

#[test]
fn packages_have_their_images() {
    let root = folder();
    let root = root.path();
    for (name, changed) in [("art/crate.png", 0), ("other/crate.tga", 1)] {
        let outcome = write(&sheet(name), Convert::new(Target::Usdz), root);
        assert_eq!(outcome.textures.found().count(), 1, "{name}");
        assert_eq!(
            outcome.report.count_of(Change::ImagesAsPng),
            changed,
            "{name}"
        );
        // The stage refers to it, and the archive has it in two lists.
        let text = read(root, "sheet.usdz");
        assert_eq!(text.matches("textures/crate.png").count(), 3, "{name}");
        assert!(text.contains("\u{fffd}PNG"), "{name}");
        assert_eq!(fs::read_dir(root.join("out")).unwrap().count(), 1);
    }
    let copies = Convert {
        copy_textures: true,
        ..Convert::new(Target::Usdz)
    };
    assert!(copies.check_settings().is_err());
    // A package may go anywhere.
    let searches = Convert {
        textures: vec![root.to_owned()],
        ..Convert::new(Target::Usdz)
    };
    searches.check_stream().unwrap();
}

#[test]
fn meshes_without_usable_coordinates_have_no_texture() {
    let root = folder();
    let root = root.path();
    let mut body = openctm::Body::sheet(openctm::RAW, 3);
    body.uv_maps[0].1 = "art/crate.png";
    body.uv_maps[0].2[0] = [f32::NAN, 0.0];
    let file = open(body.to_bytes());
    write(&file, Convert::new(Target::Gltf), root);
    assert!(gltf(root)["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"].is_null());
    write(&file, Convert::new(Target::Obj), root);
    assert!(!read(root, "sheet.mtl").contains("map_Kd"));
    write(&file, Convert::new(Target::Usdc), root);
    assert!(!read(root, "sheet.usdc").contains("UsdUVTexture"));
}

#[test]
fn outputs_are_up_to_date_while_their_images_are() {
    let root = folder();
    let root = root.path();
    let image_path = root.join("models/found.png");
    let file = sheet("found.png");
    let outputs = Outputs::below(&root.join("out"));
    let place = outputs.place("sheet.glb").unwrap();
    let convert = Convert {
        folder: Some(root.join("models")),
        ..Convert::new(Target::Glb)
    };
    let read = || Record::read(&outputs, "", Some(&[]), [&place]);
    let record = || {
        let Outcome {
            files, textures, ..
        } = convert.write(&file, &place).unwrap();
        let looked_for = textures.to_record();
        let fingerprint = "this".to_owned();
        read()
            .add(
                &place,
                Made {
                    fingerprint,
                    files,
                    looked_for,
                    ..Made::default()
                },
            )
            .unwrap();
    };
    let is_up_to_date = || find_up_to_date(&read(), &place, "this", &Library::default()).is_some();
    record();
    assert!(is_up_to_date());
    // It is there now.
    fs::write(&image_path, image()).unwrap();
    assert!(!is_up_to_date());
    record();
    assert!(is_up_to_date());
    let mut longer = image();
    longer.push(0);
    fs::write(&image_path, longer).unwrap();
    assert!(!is_up_to_date());
    record();
    fs::remove_file(&image_path).unwrap();
    assert!(!is_up_to_date());
}

/// An image of a row of pixels with these opacities.
fn image_with_alpha(alphas: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, alphas.len() as u32, 1);
    encoder.set_color(png::ColorType::GrayscaleAlpha);
    let pixels: Vec<u8> = alphas.iter().flat_map(|alpha| [200, *alpha]).collect();
    encoder
        .write_header()
        .unwrap()
        .write_image_data(&pixels)
        .unwrap();
    bytes
}

#[test]
fn the_alpha_channel_of_an_image_says_how_a_material_is_drawn() {
    let root = folder();
    let root = root.path();
    for (name, alphas, mode, has_threshold) in [
        ("opaque.png", [255_u8, 251], None, false),
        ("mask.png", [0, 255], Some("MASK"), true),
        ("blend.png", [90, 255], Some("BLEND"), false),
    ] {
        fs::write(root.join("models").join(name), image_with_alpha(&alphas)).unwrap();
        let file = sheet(name);
        write(&file, Convert::new(Target::Gltf), root);
        let material = &gltf(root)["materials"][0];
        assert_eq!(material["alphaMode"].as_str(), mode, "{name}");
        assert_eq!(material["doubleSided"], true);
        write(&file, Convert::new(Target::Usdc), root);
        let usd = fs::read(root.join("out/sheet.usdc")).unwrap();
        let has = |word: &str| usd.windows(word.len()).any(|part| part == word.as_bytes());
        assert_eq!(has("inputs:opacityThreshold"), has_threshold, "{name}");
    }
}

#[test]
fn images_that_few_programs_read_are_copied_as_png() {
    let root = folder();
    let root = root.path();
    fs::write(root.join("models/paper.tga"), tga()).unwrap();
    let file = sheet("paper.tga");
    // A package has no copies next to it.
    for target in WITH_TEXTURES
        .into_iter()
        .filter(|target| *target != Target::Usdz)
    {
        let convert = Convert {
            copy_textures: true,
            ..Convert::new(target)
        };
        let outcome = write(&file, convert, root);
        let copy = root.join(format!("out/sheet.{target}.textures/paper.png"));
        let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(&copy).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        // A TGA has blue first.
        assert_eq!(pixels, [3, 2, 1], "{target}");
        assert_eq!(outcome.report.count_of(Change::ImagesAsPng), 1);
    }
}

//! Images on surfaces, what can be seen through, the ground, and the side from which a scene is seen.

use std::fs;
use std::path::Path;

use meshmap::MeshFile;
use meshmap_render::{
    Background, FactKind, Picture, Render, Rendered, Turn, Viewpoint, Warning, Why,
};
use meshmap_testing::fixtures::openctm::{Body, RAW};
use meshmap_testing::open;

const GROUND: [u8; 3] = [0xf2, 0xf3, 0xf5];

/// A square that faces the viewer at the front, with the image over all of it.
fn square(image: &'static str, z: f32) -> Body {
    Body {
        flags: 0,
        positions: vec![
            [-1.0, -1.0, z],
            [1.0, -1.0, z],
            [1.0, 1.0, z],
            [-1.0, 1.0, z],
        ],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        uv_maps: vec![(
            "map",
            image,
            vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]],
        )],
        attribute_maps: Vec::new(),
        ..Body::sheet(RAW, 2)
    }
}

fn file(bodies: &[Body]) -> MeshFile {
    let bytes: Vec<u8> = bodies.iter().flat_map(Body::to_bytes).collect();
    open::file(bytes)
}

/// Writes an image of two by two pixels: from the left above to the right below.
fn write_image(path: &Path, texels: [[u8; 4]; 4]) {
    let file = fs::File::create(path).unwrap();
    let mut encoder = png::Encoder::new(file, 2, 2);
    encoder.set_color(png::ColorType::Rgba);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(texels.as_flattened()).unwrap();
}

fn front(folder: &Path) -> Render {
    Render {
        size: Some([96, 96]),
        view: Viewpoint::Front,
        no_shadow: true,
        no_occlusion: true,
        folder: Some(folder.to_owned()),
        ..Render::default()
    }
}

fn drawn(render: &Render, file: &MeshFile) -> (Picture, Rendered) {
    render.picture(file).unwrap()
}

/// The channel of a pixel that is greater than the others by far; `None` for grey.
fn hue([red, green, blue]: [u8; 3]) -> Option<&'static str> {
    let [r, g, b] = [red, green, blue].map(i32::from);
    if r > g + 60 && r > b + 60 {
        Some("red")
    } else if g > r + 60 && g > b + 60 {
        Some("green")
    } else if b > r + 60 && b > g + 60 {
        Some("blue")
    } else {
        None
    }
}

const RED: [u8; 4] = [255, 0, 0, 255];
const GREEN: [u8; 4] = [0, 255, 0, 255];
const BLUE: [u8; 4] = [0, 0, 255, 255];
const WHITE: [u8; 4] = [255; 4];

#[test]
fn an_image_stands_upright_on_its_surface() {
    let folder = tempfile::tempdir().unwrap();
    write_image(&folder.path().join("four.png"), [RED, GREEN, BLUE, WHITE]);
    let (picture, rendered) = drawn(&front(folder.path()), &file(&[square("four.png", 0.0)]));
    // V of OpenCTM is counted from below.
    let hues = [[28, 28], [68, 28], [28, 68], [68, 68]]
        .map(|[column, row]| hue(picture.pixel(column, row).unwrap()));
    assert_eq!(hues, [Some("red"), Some("green"), Some("blue"), None]);
    assert!(!rendered.report.lacks(FactKind::Images));
    assert_eq!(rendered.textures.found().count(), 1);
    assert_eq!(rendered.triangles, 2);
}

#[test]
fn images_are_found_below_the_folders_of_textures_and_missing_ones_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("game/textures/models");
    fs::create_dir_all(&deep).unwrap();
    write_image(&deep.join("Crate.PNG"), [RED; 4]);
    let file = file(&[square(r"C:\old\models\crate.tga", 0.0)]);
    let alone = Render {
        folder: Some(folder.path().join("nowhere")),
        ..front(folder.path())
    };
    let (picture, rendered) = drawn(&alone, &file);
    assert_eq!(hue(picture.pixel(48, 48).unwrap()), None);
    let entry = &rendered.report.left_out[0];
    assert!(matches!(entry.what.why, Why::Image(_)), "{entry}");
    let found = Render {
        textures: vec![folder.path().join("game")],
        ..alone
    };
    let (picture, rendered) = drawn(&found, &file);
    assert_eq!(hue(picture.pixel(48, 48).unwrap()), Some("red"));
    assert!(rendered.report.left_out.is_empty(), "{rendered:?}");
    // The first of several images with the same name is used, and the others are named.
    for folder_name in ["b", "c"] {
        let other = folder.path().join("game/weapons").join(folder_name);
        fs::create_dir_all(&other).unwrap();
        write_image(&other.join("barrel.png"), [BLUE; 4]);
    }
    let again = Render {
        library: Default::default(),
        ..found
    };
    let (picture, rendered) = drawn(&again, &self::file(&[square("barrel.tga", 0.0)]));
    assert_eq!(hue(picture.pixel(48, 48).unwrap()), Some("blue"));
    let mut warnings = rendered.report.warnings.iter();
    let several = warnings
        .find(|entry| entry.what == Warning::SeveralImages)
        .unwrap();
    let parts = several.first[0].split("barrel.png").collect::<Vec<_>>();
    assert!(
        parts[0].ends_with("weapons/b/") && parts[1].ends_with("weapons/c/"),
        "{parts:?}"
    );
}

#[test]
fn what_a_mask_cuts_out_shows_what_is_behind() {
    let folder = tempfile::tempdir().unwrap();
    let hole = [0, 0, 0, 0];
    write_image(&folder.path().join("mask.png"), [RED, hole, hole, RED]);
    write_image(&folder.path().join("blue.png"), [BLUE; 4]);
    let bodies = [square("blue.png", -0.2), square("mask.png", 0.2)];
    let (picture, _) = drawn(&front(folder.path()), &file(&bodies));
    let at = |column, row| hue(picture.pixel(column, row).unwrap());
    assert_eq!([at(22, 22), at(72, 22)], [Some("red"), Some("blue")]);
    assert_eq!([at(22, 72), at(72, 72)], [Some("blue"), Some("red")]);
    // By itself, it is the ground that is behind.
    let (picture, _) = drawn(&front(folder.path()), &file(&bodies[1..]));
    assert_eq!(picture.pixel(72, 22), Some(GROUND));
}

#[test]
fn what_can_be_seen_through_is_mixed_with_what_is_behind_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let glass = |color: [u8; 4], alpha| [[color[0], color[1], color[2], alpha]; 4];
    write_image(&folder.path().join("red.png"), glass(RED, 128));
    write_image(&folder.path().join("green.png"), glass(GREEN, 128));
    write_image(&folder.path().join("blue.png"), [BLUE; 4]);
    let back = square("blue.png", -0.3);
    let middle = square("green.png", 0.0);
    let near = square("red.png", 0.3);
    let picture = |bodies: &[&Body]| {
        let bytes: Vec<u8> = bodies.iter().flat_map(|body| body.to_bytes()).collect();
        drawn(&front(folder.path()), &open::file(bytes)).0
    };
    let sorted = picture(&[&back, &middle, &near]);
    assert_eq!(sorted, picture(&[&near, &middle, &back]));
    assert_eq!(sorted, picture(&[&middle, &near, &back]));
    let [red, green, blue] = sorted.pixel(48, 48).unwrap();
    // Half of the light is red, a quarter green, and a quarter blue.
    assert!(
        red > green && green.abs_diff(blue) < 12,
        "{red} {green} {blue}"
    );
    // Behind what is solid, nothing of it is seen.
    let solid = square("blue.png", 0.5);
    let hidden = picture(&[&solid, &middle, &near]).pixel(48, 48).unwrap();
    assert_eq!(hue(hidden), Some("blue"));
}

#[test]
fn more_layers_than_are_drawn_are_as_the_first_ones() {
    let folder = tempfile::tempdir().unwrap();
    write_image(&folder.path().join("glass.png"), [[255, 0, 0, 200]; 4]);
    let layers: Vec<Body> = (0..20)
        .map(|layer| square("glass.png", layer as f32 * 0.01))
        .collect();
    let (picture, _) = drawn(&front(folder.path()), &file(&layers));
    assert_eq!(hue(picture.pixel(48, 48).unwrap()), Some("red"));
}

#[test]
fn an_image_that_is_not_one_is_left_out_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\xff\xff\0\0\xff\xff\x08\x06\0\0\0\0\0\0\0";
    fs::write(folder.path().join("bomb.png"), head).unwrap();
    fs::write(folder.path().join("text.png"), "no image at all, but text").unwrap();
    for name in ["bomb.png", "text.png", "absent.png"] {
        let (picture, rendered) = drawn(&front(folder.path()), &file(&[square(name, 0.0)]));
        assert_eq!(hue(picture.pixel(48, 48).unwrap()), None);
        assert!(rendered.report.lacks(FactKind::Images), "{name}");
    }
}

#[test]
fn a_transparent_background_has_opacity_where_something_is() {
    let render = Render {
        background: Background::Transparent,
        ..front(Path::new("nowhere"))
    };
    let (picture, _) = drawn(&render, &file(&[square("", 0.0)]));
    assert_eq!(picture.channels(), 4);
    assert_eq!(picture.bytes().len(), 96 * 96 * 4);
    assert_eq!(
        [picture.opacity(0, 0), picture.opacity(48, 48)],
        [Some(0), Some(255)]
    );
    assert_eq!(picture.opacity(96, 0), None);
    let colored = Render {
        background: Background::Color([0, 0, 0]),
        ..render.clone()
    };
    let (on_black, _) = drawn(&colored, &file(&[square("", 0.0)]));
    assert_eq!(
        [on_black.channels(), on_black.bytes().len()],
        [3, 96 * 96 * 3]
    );
    assert_eq!(on_black.pixel(0, 0), Some([0; 3]));
    assert_eq!(on_black.pixel(48, 48), picture.pixel(48, 48));
    // A picture with the shadow: its pixels are black, and can be seen through.
    let shadow = Render {
        no_shadow: false,
        view: Viewpoint::ThreeQuarter,
        up: Some(meshmap::Axis::Z),
        ..render
    };
    let (picture, _) = drawn(&shadow, &file(&[square("", 0.0), square("", 0.4)]));
    let places = (0..96).flat_map(|row| (0..96).map(move |column| (column, row)));
    let shades = places
        .filter(|(column, row)| {
            let opacity = picture.opacity(*column, *row).unwrap();
            (1..200).contains(&opacity) && picture.pixel(*column, *row) == Some([0; 3])
        })
        .count();
    assert!(shades > 50, "{shades}");
}

#[test]
fn a_shadow_is_below_and_beside_what_stands_on_the_ground_only() {
    let bodies = file(&[square("", 0.0), square("", 0.5)]);
    let lying = Render {
        view: Viewpoint::ThreeQuarter,
        up: Some(meshmap::Axis::Z),
        no_shadow: false,
        ..front(Path::new("nowhere"))
    };
    let without = Render {
        no_shadow: true,
        ..lying.clone()
    };
    let (with, _) = drawn(&lying, &bodies);
    let (without, _) = drawn(&without, &bodies);
    let mut darker = 0;
    for row in 0..96 {
        for column in 0..96 {
            let (a, b) = (
                with.pixel(column, row).unwrap(),
                without.pixel(column, row).unwrap(),
            );
            // The shadow is on the ground: nothing else changes, and nothing becomes brighter.
            assert!(a.iter().zip(&b).all(|(a, b)| a <= b));
            if a != b {
                darker += 1;
            }
        }
    }
    assert!(darker > 200, "{darker}");
}

#[test]
fn sides_are_seen_from_where_they_are() {
    // In the colours of normals, red is to the right, green up, and blue to the front.
    let square = file(&[square("", 0.0)]);
    let seen = |view, up| {
        let render = Render {
            mode: meshmap_render::Mode::Normals,
            view,
            up: Some(up),
            ..front(Path::new("nowhere"))
        };
        let picture = drawn(&render, &square).0;
        (
            picture.pixel(48, 48).unwrap(),
            picture.pixel(6, 48).unwrap(),
        )
    };
    // From the front, the square fills the picture; lying down, it is seen from above.
    let (middle, _) = seen(Viewpoint::Front, meshmap::Axis::Y);
    assert_eq!(middle, [128, 128, 255]);
    let (middle, edge) = seen(Viewpoint::Top, meshmap::Axis::Z);
    assert_eq!((middle, edge), ([128, 255, 128], [128, 255, 128]));
    // Turned to the right, it is seen from there.
    let side = Render {
        mode: meshmap_render::Mode::Normals,
        view: Viewpoint::Side,
        turn: Turn::Quarter,
        ..front(Path::new("nowhere"))
    };
    let (picture, _) = drawn(&side, &square);
    assert_eq!(picture.pixel(48, 48), Some([255, 128, 128]));
}

#[test]
fn points_have_the_size_that_is_asked_for() {
    let cloud = |points: Option<f64>| {
        let mesh = meshmap_testing::fixtures::cgeo::Mesh {
            positions: (0..50)
                .map(|number| {
                    [
                        (number % 7) as f32,
                        (number % 5) as f32,
                        (number % 3) as f32,
                    ]
                })
                .collect(),
            ..Default::default()
        };
        let snapshot = meshmap_testing::fixtures::cgeo::snapshot(&mesh, mesh.complete());
        let file = open::file(meshmap_testing::fixtures::cgeo::file(
            &[snapshot],
            Default::default(),
        ));
        let render = Render {
            points,
            ..front(Path::new("nowhere"))
        };
        let (picture, rendered) = drawn(&render, &file);
        assert_eq!((rendered.points, rendered.triangles), (50, 0));
        picture
            .bytes()
            .as_chunks::<3>()
            .0
            .iter()
            .filter(|pixel| **pixel != GROUND)
            .count()
    };
    let [small, usual, large] = [Some(1.0), None, Some(12.0)].map(cloud);
    assert!(small < usual && usual < large, "{small} {usual} {large}");
    assert!(usual > 120, "{usual}");
    let triangles = Render {
        points: Some(3.0),
        refuses_without_effect: true,
        ..front(Path::new("nowhere"))
    };
    assert!(triangles.picture(&file(&[square("", 0.0)])).is_err());
}

#[test]
fn what_can_be_seen_through_has_no_shadow() {
    let folder = tempfile::tempdir().unwrap();
    write_image(&folder.path().join("glass.png"), [[255, 0, 0, 90]; 4]);
    write_image(&folder.path().join("solid.png"), [RED; 4]);
    let darker = |image| {
        let file = file(&[square(image, 0.0), square(image, 0.5)]);
        let lying = Render {
            view: Viewpoint::ThreeQuarter,
            up: Some(meshmap::Axis::Z),
            ..front(folder.path())
        };
        let with = Render {
            no_shadow: false,
            ..lying.clone()
        };
        let [with, without] = [with, lying].map(|render| drawn(&render, &file).0);
        let pixels = with.bytes().chunks(3).zip(without.bytes().chunks(3));
        pixels.filter(|(a, b)| a != b).count()
    };
    assert_eq!(darker("glass.png"), 0);
    assert!(darker("solid.png") > 100);
}

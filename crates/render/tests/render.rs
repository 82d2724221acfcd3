//! Pictures: what is on them, and that they are the same for any number of threads and on every host.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufReader;
use std::num::NonZero;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshmap::{Axis, Cause, Format, Limits, MeshFile, Meter, Options, Parallelism, Source};
use meshmap_render::{Background, Mode, Picture, Render, Samples, Sheet, Viewpoint};
use meshmap_render::{Change, Error, Turn};
use meshmap_testing::fixtures::cgeo::{self, Mesh, snapshot};
use meshmap_testing::fixtures::openctm::{Body, RAW};
use meshmap_testing::{data, fixtures, open};
use sha2::{Digest, Sha256};

const GROUND: [u8; 3] = [0xf2, 0xf3, 0xf5];
const TROUBLE: [u8; 3] = [0xf3, 0xd6, 0xd2];

/// Positions and triangles.
type Parts<'a> = (&'a [[f32; 3]], &'a [[u32; 3]]);

/// An OpenCTM file of these bodies.
fn bodies(bodies: &[Parts<'_>]) -> MeshFile {
    let bytes = bodies.iter().flat_map(|(positions, triangles)| {
        let body = Body {
            flags: 0,
            positions: positions.to_vec(),
            triangles: triangles.to_vec(),
            uv_maps: Vec::new(),
            attribute_maps: Vec::new(),
            ..Body::sheet(RAW, 2)
        };
        body.to_bytes()
    });
    open::file(bytes.collect::<Vec<u8>>())
}

fn small() -> Render {
    Render {
        size: Some([96, 96]),
        no_shadow: true,
        ..Render::default()
    }
}

fn picture(render: &Render, file: &MeshFile) -> Picture {
    render.picture(file).unwrap().0
}

/// A square around the z axis, at this height, towards the front.
fn square(z: f32) -> [[f32; 3]; 4] {
    [
        [-1.0, -1.0, z],
        [1.0, -1.0, z],
        [1.0, 1.0, z],
        [-1.0, 1.0, z],
    ]
}

const SQUARE: [[u32; 3]; 2] = [[0, 1, 2], [0, 2, 3]];

/// The number of pixels that are not the ground.
fn covered(picture: &Picture) -> usize {
    picture
        .bytes()
        .as_chunks::<3>()
        .0
        .iter()
        .filter(|pixel| **pixel != GROUND)
        .count()
}

#[test]
fn a_triangle_is_in_the_middle_and_the_ground_in_the_corners() {
    let file = bodies(&[(
        &[[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, 0.0]],
        &[[0, 1, 2]],
    )]);
    for samples in [Samples::One, Samples::Four, Samples::Nine] {
        let picture = picture(&Render { samples, ..small() }, &file);
        assert_ne!(picture.pixel(48, 55), Some(GROUND));
        for (column, row) in [(0, 0), (95, 0), (0, 95), (95, 95)] {
            assert_eq!(picture.pixel(column, row), Some(GROUND));
        }
        assert_eq!((picture.pixel(96, 0), picture.pixel(0, 96)), (None, None));
        let share = covered(&picture) as f64 / (96.0 * 96.0);
        assert!((0.2..0.5).contains(&share), "{share}");
    }
}

#[test]
fn more_samples_make_softer_edges() {
    let file = bodies(&[(&square(0.0), &SQUARE)]);
    let colors = |samples| {
        let picture = picture(
            &Render {
                samples,
                mode: Mode::Normals,
                ..small()
            },
            &file,
        );
        picture
            .bytes()
            .as_chunks::<3>()
            .0
            .iter()
            .copied()
            .collect::<BTreeSet<_>>()
            .len()
    };
    let [one, four, nine] = [Samples::One, Samples::Four, Samples::Nine].map(colors);
    assert!(one < four && four < nine, "{one} {four} {nine}");
}

#[test]
fn the_nearer_of_two_hides_the_farther_one() {
    let reddest = |[red, _, blue]: [u8; 3]| red > blue;
    for (first, second, is_first_in_front) in [(0.2, -0.2, true), (-0.2, 0.2, false)] {
        // The second mesh is blue, the first one clay.
        let file = bodies(&[(&square(first), &SQUARE), (&square(second), &SQUARE)]);
        let middle = picture(&small(), &file).pixel(48, 48).unwrap();
        assert_eq!(reddest(middle), is_first_in_front, "{middle:?}");
    }
}

#[test]
fn colours_of_vertices_are_srgb_and_other_data_are_not_drawn() {
    let path = data::root().join("iqm/regressions/vertex_colors.iqm");
    let mut bytes = std::fs::read(&path).unwrap();
    let open = |bytes: &[u8]| open::file(bytes.to_vec());
    let drawn = picture(&small(), &open(&bytes));
    // Light is added in proportion, so that the reddest pixel has the ratios of the stored colour.
    let linear = |channel: u8| ((f64::from(channel) / 255.0 + 0.055) / 1.055).powf(2.4);
    let pixels = drawn.bytes().as_chunks::<3>().0.iter();
    let [red, green, _] = pixels
        .max_by_key(|[red, _, blue]| red.saturating_sub(*blue))
        .unwrap()
        .map(linear);
    let wanted = linear(188) / linear(60);
    assert!(
        (red / green / wanted - 1.0).abs() < 0.15,
        "{} instead of {wanted}",
        red / green
    );

    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let arrays: Vec<_> = (0..number(44))
        .map(|array| number(52) + array * 20)
        .collect();
    let colors = arrays.into_iter().find(|at| number(*at) == 6).unwrap();
    // As signed bytes, the numbers from 128 on are negative.
    bytes[colors + 8..][..4].fill(0);
    let pixels = picture(&small(), &open(&bytes));
    assert!(
        pixels
            .bytes()
            .as_chunks::<3>()
            .0
            .iter()
            .all(|[red, green, _]| red.abs_diff(*green) < 30)
    );
}

#[test]
fn both_sides_of_a_triangle_are_lit() {
    let file = bodies(&[(&square(0.0), &SQUARE)]);
    let turned = bodies(&[(&square(0.0), &[[0, 2, 1], [0, 3, 2]])]);
    assert_eq!(picture(&small(), &file), picture(&small(), &turned));
}

#[test]
fn clay_is_one_colour_whatever_the_materials() {
    let two = bodies(&[(&square(0.0), &SQUARE), (&square(-0.5), &SQUARE)]);
    let swapped = bodies(&[(&square(-0.5), &SQUARE), (&square(0.0), &SQUARE)]);
    assert_ne!(picture(&small(), &two), picture(&small(), &swapped));
    let clay = Render {
        mode: Mode::Clay,
        ..small()
    };
    assert_eq!(picture(&clay, &two), picture(&clay, &swapped));
    // The first material has the colour of clay.
    let one = bodies(&[(&square(0.0), &SQUARE)]);
    assert_eq!(picture(&clay, &one), picture(&small(), &one));
}

#[test]
fn a_wireframe_has_lines_at_edges_on_clay() {
    let file = bodies(&[(
        &[[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, 0.0]],
        &[[0, 1, 2]],
    )]);
    let lines = picture(
        &Render {
            mode: Mode::Wireframe,
            ..small()
        },
        &file,
    );
    let filled = picture(&small(), &file);
    let clay = Render {
        mode: Mode::Clay,
        ..small()
    };
    // The surface is there as well, and lines reach a pixel beyond it.
    assert_eq!(lines.pixel(48, 55), picture(&clay, &file).pixel(48, 55));
    assert!(covered(&lines) > covered(&filled));
    let clay = picture(&clay, &file);
    // Pixels farther than two pixels from the outline are not lines.
    for row in 3..93 {
        for column in 3..93 {
            let around = (row - 3..=row + 3)
                .flat_map(|row| (column - 3..=column + 3).map(move |column| (column, row)));
            let inside = around
                .clone()
                .all(|(column, row)| filled.pixel(column, row) != Some(GROUND));
            let outside = around
                .clone()
                .all(|(column, row)| filled.pixel(column, row) == Some(GROUND));
            if inside || outside {
                let surface = clay.pixel(column, row);
                assert_eq!(lines.pixel(column, row), surface, "{column} {row}");
            }
        }
    }
}

#[test]
fn normals_are_colours_in_the_directions_of_the_axis_that_points_up() {
    let file = bodies(&[(&square(0.0), &SQUARE)]);
    let middle = |up| {
        picture(
            &Render {
                mode: Mode::Normals,
                up: Some(up),
                ..small()
            },
            &file,
        )
        .pixel(48, 48)
        .unwrap()
    };
    // To the front is blue; a square that lies down points up, which is green.
    assert_eq!(middle(Axis::Y), [128, 128, 255]);
    assert_eq!(middle(Axis::Z), [128, 255, 128]);
}

#[test]
fn triangles_and_points_in_one_place_are_one_dot() {
    let corners = [[3.0, 1.0, 2.0]; 300];
    let triangles: Vec<[u32; 3]> = (0..100)
        .map(|index| [index * 3, index * 3 + 1, index * 3 + 2])
        .collect();
    let drawn = |triangles: &[[u32; 3]]| {
        let file = bodies(&[(&corners, triangles)]);
        picture(&small(), &file).bytes().to_vec()
    };
    assert!(drawn(&triangles) == drawn(&triangles[..1]));

    let points = |count: usize| {
        let mesh = Mesh {
            positions: vec![[3.0, 1.0, 2.0]; count],
            ..Mesh::default()
        };
        let file = cgeo::file(&[snapshot(&mesh, mesh.complete())], cgeo::dialects()[0]);
        picture(&small(), &open::file(file)).bytes().to_vec()
    };
    assert!(points(100) == points(1));
}

#[test]
fn computed_normals_point_to_the_side_of_the_front() {
    const NORMAL: u32 = 2;
    // Fronts run clockwise in IQM, and counter-clockwise in most formats.
    let sheet = fixtures::iqm::Writer::sheets(1, 2, 2);
    let render = Render {
        mode: Mode::Normals,
        view: Viewpoint::Top,
        ..small()
    };
    let middle = |writer: &fixtures::iqm::Writer| {
        let file = open::file(writer.to_bytes());
        picture(&render, &file).pixel(48, 48).unwrap()
    };
    let stored = middle(&sheet);
    let computed = middle(&sheet.without_array(NORMAL));
    // Green is upwards.
    assert!(
        stored[1] > 200 && computed[1] > 200,
        "{stored:?} {computed:?}"
    );
}

#[test]
fn a_picture_is_turned_about_the_axis_that_points_up() {
    let file = bodies(&[(&square(0.0), &SQUARE)]);
    let middle = |turn, up| {
        let render = Render {
            mode: Mode::Normals,
            turn,
            up: Some(up),
            ..small()
        };
        picture(&render, &file).pixel(48, 48).unwrap()
    };
    // The front of the square points to the left, which is dark red; one that lies down points up whatever turns it.
    assert_eq!(middle(Turn::ThreeQuarters, Axis::Y), [0, 128, 128]);
    assert_eq!(middle(Turn::Quarter, Axis::Z), [128, 255, 128]);
}

#[test]
fn the_bytes_are_the_same_for_any_number_of_threads() {
    let man = MeshFile::open(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let rough = Body::sheet(RAW, 90).to_bytes();
    let rough = open::file(rough);
    for file in [&man, &rough] {
        let render = Render {
            size: Some([203, 157]),
            ..Render::default()
        };
        let bytes = |render: &Render| {
            let mut bytes = Vec::new();
            render
                .picture(file)
                .unwrap()
                .0
                .write_png(&mut bytes)
                .unwrap();
            bytes
        };
        let alone = bytes(&Render {
            parallelism: Parallelism::Off,
            ..render.clone()
        });
        for threads in [1, 2, 8] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            assert!(
                pool.install(|| bytes(&render)) == alone,
                "{threads} threads"
            );
        }
    }
}

/// The sha256 of the PNG of a small file of each format, on any host.
///
/// Normals of TMF and of OpenCTM with MG2 are computed with the host's sines, and are not looked at here. Frames of IQM are
/// products and sums, which are the same everywhere.
#[test]
fn pictures_are_the_same_bytes_on_every_host() {
    let still = Render {
        size: Some([128, 128]),
        ..small()
    };
    let cases = [
        (
            "cgeo",
            "anim_a.cgeo",
            Render {
                snapshot: Some(5),
                ..still.clone()
            },
            CGEO,
        ),
        ("iqm", "skin_multi_anim.iqm", still.clone(), IQM),
        (
            "iqm",
            "skin_multi_anim.iqm",
            Render {
                frame: Some(3),
                ..still.clone()
            },
            IQM_FRAME,
        ),
        ("openctm", "hand_mg1_a.ctm", still.clone(), OPENCTM),
        ("slmesh", "ours_skin_a.slmesh", still.clone(), SLMESH),
        (
            "tmf",
            "v021_custom_3meshes.tmf",
            Render {
                mode: Mode::Wireframe,
                ..still
            },
            TMF,
        ),
    ];
    let found: Vec<String> = cases
        .iter()
        .map(|(format, name, render, _)| {
            let file = MeshFile::open(data::valid(format, name)).unwrap();
            let mut png = Vec::new();
            picture(render, &file).write_png(&mut png).unwrap();
            let hash = Sha256::digest(png);
            hash.iter().map(|byte| format!("{byte:02x}")).collect()
        })
        .collect();
    let expected: Vec<&str> = cases.iter().map(|(.., hash)| *hash).collect();
    assert_eq!(found, expected);
}

const CGEO: &str = "d2a74e51775e3b66536363f79b9237be17b6bd422330462012a5324862d7f3f8";
const IQM: &str = "60419b56ded4ed96c91055dab18b053a690158353dec3e78f6ec3fcdca0c460c";
const IQM_FRAME: &str = "b3940ee168e0efde0b3e5f908443bf2841b784e80320e413fda85b74fadfd119";
const OPENCTM: &str = "cc0d444833274d9fb1520b781ac80a17c96bc406ad785130558ddbfd0cd83c66";
const SLMESH: &str = "5144f0e9e77572b1031ca722501277d4bc5155750e79863ed9ab75d566ddc042";
const TMF: &str = "97aaebad3bd8b431e76d86f232b1ba6c27b8b5c43ee8603341001c9bfbf5c19b";

#[test]
fn every_good_file_is_drawn_or_has_nothing_to_draw() {
    for format in Format::ALL.map(Format::name) {
        let (mut drawn, mut seen) = (0, 0);
        for path in data::folder(&format!("{format}/valid")) {
            let file = MeshFile::open(&path).unwrap();
            let render = |side| {
                Render {
                    size: Some([side, side]),
                    zero_non_finite: true,
                    ..small()
                }
                .picture(&file)
            };
            let small = render(32);
            // The verdict does not depend on the size.
            assert_eq!(small.is_ok(), render(160).is_ok(), "{}", path.display());
            match small {
                Ok((picture, rendered)) => {
                    assert!(rendered.triangles + rendered.points + rendered.joints > 0);
                    assert!(covered(&picture) > 0, "{}", path.display());
                    seen += 1;
                    drawn += 1;
                }
                Err(Error::NothingToDraw { has_unusable }) => assert!(!has_unusable),
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
        assert!(
            drawn > 10 && seen * 4 > drawn * 3,
            "{format}: {seen} of {drawn}"
        );
    }
}

/// Whatever the bytes: a picture or an error.
#[test]
fn bad_files_are_errors_or_pictures() {
    let mut looked = 0;
    for format in Format::ALL.map(Format::name) {
        for folder in ["bad", "regressions"] {
            let folder = data::root().join(format).join(folder);
            if !folder.is_dir() {
                continue;
            }
            for path in data::files(&folder) {
                let render = Render {
                    size: Some([24, 24]),
                    samples: Samples::One,
                    ..small()
                };
                for render in [
                    render.clone(),
                    Render {
                        frame: Some(1),
                        ..render.clone()
                    },
                    Render {
                        seconds: Some(0.1),
                        ..render
                    },
                ] {
                    if let Ok(file) = MeshFile::open(&path) {
                        drop(
                            Render {
                                zero_non_finite: true,
                                ..render
                            }
                            .picture(&file),
                        );
                        looked += 1;
                    }
                }
            }
        }
    }
    assert!(looked > 50, "{looked}");
}

#[test]
fn numbers_that_are_not_finite_have_an_address_or_become_0() {
    let positions = [
        [0.0, 0.0, 0.0],
        [1.0, f32::NAN, 0.0],
        [0.0, 1.0, 0.0],
        [f32::INFINITY; 3],
    ];
    let file = bodies(&[(&positions, &[[0, 1, 2]])]);
    let error = small().picture(&file).unwrap_err();
    assert!(matches!(&error, Error::NonFinite { .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("bodies[0].position[1] is NaN"),
        "{error}"
    );
    // Vertices that no triangle uses do not count.
    let (_, rendered) = Render {
        zero_non_finite: true,
        ..small()
    }
    .picture(&file)
    .unwrap();
    assert_eq!(rendered.report.count_of(Change::NonFiniteZeroed), 1);
}

#[test]
fn triangles_without_an_area_are_dots_and_lines() {
    let (_folder, path) = folder();
    let point = [[1.0; 3]; 3];
    let origin = [[0.0; 3]; 3];
    let line = [[0.0; 3], [1.0, 1.0, 0.1], [3.0, 3.0, 0.3]];
    let all = [[0, 1, 2]];
    for (file, least) in [
        (bodies(&[(&point, &all)]), 1000),
        (bodies(&[(&origin, &all)]), 1000),
        (bodies(&[(&line, &all)]), 100),
        (bodies(&[(&point, &all), (&line, &all)]), 100),
    ] {
        for mode in [Mode::Shaded, Mode::Clay, Mode::Wireframe, Mode::Normals] {
            let (picture, rendered) = Render { mode, ..small() }.picture(&file).unwrap();
            assert!(covered(&picture) > least, "{mode}: {}", covered(&picture));
            assert!(rendered.report.count_of(Change::TrianglesAsDots) > 0);
            assert!(rendered.triangles <= 2);
        }
        for render in [
            small(),
            Render {
                turntable: Some(3),
                ..small()
            },
            Render {
                animation: true,
                ..small()
            },
            Render {
                sheet: true,
                ..small()
            },
        ] {
            render.write_file(&file, &path).unwrap();
        }
    }
}

#[test]
fn triangles_that_are_small_compared_with_the_extent_are_seen() {
    let note = |file: &MeshFile| {
        let [small, large] = [64, 256].map(|side| {
            let (picture, rendered) = Render {
                size: Some([side, side]),
                ..small()
            }
            .picture(file)
            .unwrap();
            assert!(covered(&picture) > 2, "{side}: {}", covered(&picture));
            rendered.report
        });
        assert_eq!(small, large);
        [Change::TrianglesOutside, Change::TrianglesAsDots].map(|change| small.count_of(change) > 0)
    };
    let corner = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let at = |distance: f32| corner.map(|point| point.map(|number| number + distance));
    let points = |distance| [corner, at(distance)].concat();
    assert_eq!(
        note(&bodies(&[(&points(2.0), &[[0, 1, 2], [3, 4, 5]])])),
        [false; 2]
    );
    // Dots are at the corners of triangles that are far from each other.
    let dots = note(&bodies(&[(&points(1e6), &[[0, 1, 2], [3, 4, 5]])]));
    assert_eq!(dots, [false, true]);
    // A triangle without an area shows nothing, so that it need not be in the picture.
    let far = bodies(&[(&points(1e6), &[[0, 1, 2], [3, 3, 4]])]);
    assert_eq!(note(&far), [true, false]);
    let alone = picture(&small(), &bodies(&[(&corner, &[[0, 1, 2]])]));
    assert_eq!(picture(&small(), &far), alone);
    let (_folder, path) = folder();
    for render in [
        Render {
            turntable: Some(3),
            ..small()
        },
        Render {
            sheet: true,
            ..small()
        },
    ] {
        render.write_file(&far, &path).unwrap();
    }
    // Triangles as large as the largest numbers.
    let huge = [
        [f32::MIN; 3],
        [f32::MAX; 3],
        [f32::MAX, f32::MAX, f32::MAX * 0.999],
    ];
    note(&bodies(&[(&huge, &[[0, 1, 2]])]));
}

#[test]
fn an_animation_may_have_pictures_on_which_nothing_is_seen() {
    let (_folder, path) = folder();
    let mut meshes = vec![Mesh::sheet(4, 0, 0.0); 2];
    meshes[1].positions.fill([0.5, 0.5, 0.0]);
    let snapshots: Vec<_> = meshes
        .iter()
        .map(|mesh| snapshot(mesh, mesh.complete()))
        .collect();
    let file = cgeo::file(&snapshots, cgeo::dialects()[0]);
    let file = open::file(file);
    Render {
        animation: true,
        ..small()
    }
    .write_file(&file, &path)
    .unwrap();
    let is_empty = |frame: &[u8]| {
        frame
            .as_chunks::<3>()
            .0
            .iter()
            .all(|pixel| *pixel == GROUND)
    };
    assert_eq!(
        frames(&path)
            .iter()
            .map(|frame| is_empty(frame))
            .collect::<Vec<_>>(),
        [false, true]
    );
    // The tile of the second snapshot gives the reason.
    Render {
        sheet: true,
        ..small()
    }
    .write_file(&file, &path)
    .unwrap();
    let trouble = frames(&path)[0]
        .as_chunks::<3>()
        .0
        .iter()
        .filter(|pixel| **pixel == TROUBLE)
        .count();
    assert!((96 * 96 / 2..96 * 96).contains(&trouble), "{trouble}");
    // By itself, it is a dot.
    let alone = Render {
        snapshot: Some(1),
        ..small()
    };
    assert!(covered(&picture(&alone, &file)) > 1000);
}

#[test]
fn huge_and_tiny_meshes_fill_the_picture_too() {
    let usual = picture(&small(), &bodies(&[(&square(0.5), &SQUARE)]));
    for scale in [1e-38_f32, 1e-20, 1e20, 3e38] {
        let points = square(0.5).map(|point| point.map(|number| number * scale));
        let scaled = picture(&small(), &bodies(&[(&points, &SQUARE)]));
        let [a, b] = [covered(&usual), covered(&scaled)];
        assert!(a.abs_diff(b) * 50 < a, "{scale}: {a} {b}");
    }
}

#[test]
fn the_scale_of_a_file_makes_no_difference() {
    let cgeo = |scale: f32| {
        let mut mesh = Mesh::sheet(6, 0, 0.0);
        mesh.positions
            .iter_mut()
            .flatten()
            .for_each(|number| *number *= scale);
        let file = cgeo::file(&[snapshot(&mesh, mesh.complete())], cgeo::dialects()[0]);
        open::file(file)
    };
    let openctm = |scale: f32| {
        let body = Body::sheet(RAW, 6);
        let positions: Vec<_> = body
            .positions
            .iter()
            .map(|point| point.map(|number| number * scale))
            .collect();
        bodies(&[(&positions, &body.triangles)])
    };
    let triangle = |scale: f32| {
        let points = [[-1.0, -1.0, 0.5], [1.0, -1.0, 0.0], [0.0, 1.0, 0.0]]
            .map(|point| point.map(|n: f32| n * scale));
        bodies(&[(&points, &[[0, 1, 2]])])
    };
    let usual =
        [cgeo(1.0), openctm(1.0), triangle(1.0)].map(|file| covered(&picture(&small(), &file)));
    for scale in [1e-30, 1e30] {
        let scaled = [cgeo(scale), openctm(scale), triangle(scale)];
        for (file, usual) in scaled.iter().zip(usual) {
            for mode in [Mode::Shaded, Mode::Clay, Mode::Wireframe, Mode::Normals] {
                assert!(
                    covered(&picture(&Render { mode, ..small() }, file)) > 100,
                    "{scale} {mode:?}"
                );
            }
            let covered = covered(&picture(&small(), file));
            assert!(
                usual.abs_diff(covered) * 50 < usual,
                "{scale}: {usual} {covered}"
            );
        }
    }
}

#[test]
fn triangles_that_use_few_of_many_vertices_are_drawn_as_if_there_were_no_others() {
    let few = square(0.0);
    let mut many = vec![[9e9, -9e9, 9e9]; 10_000];
    for (place, point) in [100, 3000, 5000, 9999].into_iter().zip(few) {
        many[place] = point;
    }
    let spread = bodies(&[(&many, &[[100, 3000, 5000], [100, 5000, 9999]])]);
    assert_eq!(
        picture(&small(), &spread),
        picture(&small(), &bodies(&[(&few, &SQUARE)]))
    );
}

/// Covered pixels are work of the job, of all of its pictures together.
#[test]
fn triangles_that_cover_pictures_many_times_end_the_job() {
    let layers = |count: u16| {
        let positions: Vec<[f32; 3]> = (0..count)
            .flat_map(|index| square(f32::from(index) * 1e-5))
            .collect();
        let layer = |index: u32| SQUARE.map(|corners| corners.map(|corner| index * 4 + corner));
        let triangles: Vec<[u32; 3]> = (0..u32::from(count)).flat_map(layer).collect();
        bodies(&[(&positions, &triangles)])
    };
    let drawn = |layers: &MeshFile, render: Render, done: u64| {
        let meter = Arc::new(Meter::new(&Limits::default(), 0));
        meter.work(done, "what was done before").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let result = meter.run(|| render.write_file(layers, folder.path().join("a.png")));
        result
            .map(|_| meter.worked() - done)
            .map_err(|error| error.to_string())
    };
    let refused = |result: Result<u64, String>| {
        let error = result.unwrap_err();
        assert!(
            error.contains("cover the picture many times exceeds the limit of"),
            "{error}"
        );
    };
    refused(drawn(
        &layers(12_000),
        Render {
            size: Some([1024; 2]),
            ..Render::default()
        },
        0,
    ));
    // Thin triangles have few pixels: their rows count.
    let slivers = |count: u32| {
        let corners = |index: f32| {
            let x = index / 500.0;
            [[x, 0.0, 0.0], [x + 1e-3, 0.0, 0.0], [x, 0.0, 1.0]]
        };
        let positions: Vec<[f32; 3]> = (0..500_u16).flat_map(|at| corners(at.into())).collect();
        let triangle = |index: u32| [0, 1, 2].map(|corner| index % 500 * 3 + corner);
        let triangles: Vec<[u32; 3]> = (0..count).map(triangle).collect();
        bodies(&[(&positions, &triangles)])
    };
    drawn(&slivers(2000), small(), 0).unwrap();
    refused(drawn(
        &slivers(300_000),
        Render {
            size: Some([1024; 2]),
            ..Render::default()
        },
        0,
    ));
    // The work of a job, most of which is done before.
    const ALL: u64 = 2 << 30;
    let file = layers(300);
    let one = drawn(&file, small(), 0).unwrap();
    assert_eq!(drawn(&file, small(), ALL - one), Ok(one));
    refused(drawn(&file, small(), ALL - one / 2));
    let turntable = || Render {
        turntable: Some(20),
        ..small()
    };
    let together = drawn(&file, turntable(), 0).unwrap();
    assert_eq!(drawn(&file, turntable(), ALL - together), Ok(together));
    refused(drawn(&file, turntable(), ALL - 2 * one));
}

/// Meshes of a CGeo file are snapshots: a picture that names them shows no other moment.
#[test]
fn snapshots_that_are_named_as_meshes_do_not_move() {
    let wave = MeshFile::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.png");
    let named = || Render {
        meshes: vec!["snapshots[2]".parse().unwrap()],
        ..small()
    };
    let sheet = Render {
        sheet: true,
        ..named()
    };
    assert_eq!(sheet.write_file(&wave, &path).unwrap().pictures, 1);
    let at = Render {
        snapshot: Some(1),
        ..named()
    };
    let error = at.write_file(&wave, &path).unwrap_err().to_string();
    assert!(error.contains("are snapshots already"), "{error}");
    let same = Render {
        snapshot: Some(2),
        ..small()
    };
    assert_eq!(picture(&named(), &wave), picture(&same, &wave));
}

#[test]
fn what_cannot_be_drawn_is_said_in_words() {
    let still = MeshFile::open(data::valid("tmf", "v021_unified_cube.tmf")).unwrap();
    let wave = MeshFile::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let man = MeshFile::open(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let empty = MeshFile::open(data::valid("cgeo", "empty_anim_a.cgeo")).unwrap();
    let cases = [
        (
            Render {
                snapshot: Some(0),
                ..small()
            },
            &still,
            "tmf files have no snapshots",
        ),
        (
            Render {
                frame: Some(0),
                ..small()
            },
            &wave,
            "cgeo files have no frames",
        ),
        (
            Render {
                snapshot: Some(99),
                ..small()
            },
            &wave,
            "no snapshot 99: the file has 12",
        ),
        (
            Render {
                frame: Some(9999),
                ..small()
            },
            &man,
            "no frame 9999",
        ),
        (
            Render {
                anim: Some("fly".to_owned()),
                ..small()
            },
            &man,
            "no animation fly",
        ),
        (small(), &empty, "no triangles"),
    ];
    for (render, file, words) in cases {
        let error = render.picture(file).unwrap_err().to_string();
        assert!(error.contains(words), "{error}: {words}");
    }
}

#[test]
fn frames_and_snapshots_move() {
    let man = MeshFile::open(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let wave = MeshFile::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    assert_ne!(
        picture(&small(), &man),
        picture(
            &Render {
                frame: Some(5),
                ..small()
            },
            &man
        )
    );
    assert_ne!(
        picture(&small(), &wave),
        picture(
            &Render {
                snapshot: Some(5),
                ..small()
            },
            &wave
        )
    );
    let (_, rendered) = Render {
        seconds: Some(0.1),
        ..small()
    }
    .picture(&wave)
    .unwrap();
    assert!(
        rendered.moment.starts_with("snapshot ") && rendered.moment.ends_with("nearest)"),
        "{}",
        rendered.moment
    );
}

#[test]
fn names_of_animations_are_one_line() {
    let mut bytes = fixtures::iqm::small();
    let file = open::file(bytes.clone());
    let name = file
        .as_iqm()
        .unwrap()
        .anims()
        .next()
        .unwrap()
        .name
        .to_string_lossy()
        .into_owned();
    let at = bytes
        .windows(name.len() + 1)
        .position(|text| text == [name.as_bytes(), b"\0"].concat())
        .unwrap();
    bytes[at] = b'\n';
    let file = open::file(bytes);
    let (_, rendered) = Render {
        frame: Some(2),
        ..small()
    }
    .picture(&file)
    .unwrap();
    assert!(
        rendered
            .moment
            .starts_with(&format!("\\n{} frame 2", &name[1..])),
        "{}",
        rendered.moment
    );
}

/// The pictures of a PNG.
fn frames(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = png::Decoder::new(BufReader::new(File::open(path).unwrap()))
        .read_info()
        .unwrap();
    let count = reader
        .info()
        .animation_control()
        .map_or(1, |control| control.num_frames);
    let size = reader.output_buffer_size().unwrap();
    let frame = |_| {
        let mut bytes = vec![0; size];
        reader.next_frame(&mut bytes).unwrap();
        bytes
    };
    (0..count).map(frame).collect()
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.png");
    (folder, path)
}

#[test]
fn an_animation_has_a_picture_for_each_snapshot_or_frame() {
    let (_folder, path) = folder();
    for (format, name, render, count) in [
        ("cgeo", "anim_a.cgeo", small(), 12),
        (
            "cgeo",
            "anim_a.cgeo",
            Render {
                every: NonZero::new(5),
                ..small()
            },
            3,
        ),
        (
            "iqm",
            "skin_multi_anim.iqm",
            Render {
                every: NonZero::new(4),
                ..small()
            },
            0,
        ),
        ("tmf", "v021_unified_cube.tmf", small(), 1),
    ] {
        let file = MeshFile::open(data::valid(format, name)).unwrap();
        let rendered = Render {
            animation: true,
            ..render
        }
        .write_file(&file, &path)
        .unwrap();
        let frames = frames(&path);
        assert_eq!(frames.len(), rendered.pictures as usize);
        assert!(
            count == 0 || frames.len() == count,
            "{name}: {}",
            frames.len()
        );
        assert!(frames.iter().all(|frame| frame.len() == 96 * 96 * 3));
        assert!(frames.len() == 1 || frames[0] != frames[1], "{name}");
        if name == "anim_a.cgeo" {
            assert!(
                rendered.moment.starts_with("snapshot 0")
                    && rendered.moment.contains(" .. snapshot 1")
            );
        }
    }
}

#[test]
fn a_turntable_turns_once_around() {
    let (_folder, path) = folder();
    let file = MeshFile::open(data::valid("tmf", "v021_unified_cube.tmf")).unwrap();
    let rendered = Render {
        turntable: Some(8),
        ..small()
    }
    .write_file(&file, &path)
    .unwrap();
    let frames = frames(&path);
    assert_eq!((frames.len(), rendered.pictures), (8, 8));
    assert_ne!(frames[0], frames[1]);
    // A cube looks alike after each quarter of a turn, except for rounding.
    let differing = frames[0]
        .iter()
        .zip(&frames[2])
        .filter(|(a, b)| a.abs_diff(**b) > 8)
        .count();
    assert!(differing * 100 < frames[0].len(), "{differing}");
}

#[test]
fn a_sheet_has_a_tile_with_words_for_each_picture() {
    let (_folder, path) = folder();
    let file = MeshFile::open(data::valid("tmf", "v021_unified_cube.tmf")).unwrap();
    let tile = picture(
        &Render {
            size: Some([64, 64]),
            ..Render::default()
        },
        &file,
    );
    let mut sheet = Sheet::create(&path, 3, [64, 64], Background::default()).unwrap();
    sheet.push(&tile, &["cube", "12 triangles"]).unwrap();
    sheet.push_trouble("it is broken", &["bad.tmf"]).unwrap();
    sheet.push(&tile, &["a name that is too long.tmf"]).unwrap();
    sheet.push(&tile, &["one too many"]).unwrap();
    assert_eq!(sheet.finish().unwrap().path, path);
    let bytes = frames(&path).remove(0);
    let width = 6 + 2 * (64 + 6);
    let pixel = |column: usize, row: usize| bytes.as_chunks::<3>().0[row * width + column];
    assert_eq!(bytes.len() / 3 / width, 6 + 2 * (64 + 38 + 6));
    // The dark pixels of an area.
    let ink = |columns: Range<usize>, rows: Range<usize>| {
        let places = rows.flat_map(|row| columns.clone().map(move |column| (column, row)));
        places
            .filter(|(column, row)| pixel(*column, *row).iter().all(|byte| *byte < 128))
            .count()
    };
    let [first, second] = [6 + 64 + 3, 6 + 64 + 3 + 16].map(|row| row..row + 16);
    let [left, right] = [6..6 + 64, 76..76 + 64];
    let below = |rows: &Range<usize>| rows.start + 64 + 38 + 6..rows.end + 64 + 38 + 6;
    assert!(ink(left.clone(), first.clone()) > 20 && ink(left.clone(), second.clone()) > 40);
    assert!(ink(right.clone(), first.clone()) > 20 && ink(right.clone(), second) == 0);
    assert!(ink(right, 6..6 + 64) > 30, "the reason is in the tile");
    // A long name fills the width of its tile, and no more.
    let long = below(&first);
    assert!(
        ink(left.start..left.start + 12, long.clone()) > 0
            && ink(left.end - 12..left.end, long.clone()) > 0
    );
    assert_eq!(ink(left.end..left.end + 6, long), 0);
    // The picture itself, and an empty tile.
    assert_eq!(pixel(6 + 32, 6 + 32), tile.pixel(32, 32).unwrap());
    assert_eq!(pixel(76 + 32, 6 + 108 + 32), GROUND);
}

#[test]
fn a_sheet_of_an_animation_names_its_moments() {
    let (_folder, path) = folder();
    let file = MeshFile::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let rendered = Render {
        size: Some([64, 64]),
        every: NonZero::new(4),
        sheet: true,
        ..Render::default()
    }
    .write_file(&file, &path)
    .unwrap();
    assert_eq!(rendered.pictures, 3);
    let bytes = frames(&path).remove(0);
    // Six lines of words.
    let is_dark = |pixel: &&[u8; 3]| pixel.iter().all(|byte| *byte < 100);
    assert!(bytes.as_chunks::<3>().0.iter().filter(is_dark).count() > 200);
}

#[test]
fn a_sheet_that_no_picture_could_hold_is_refused() {
    let (_folder, path) = folder();
    for (tiles, side) in [(0, 64), (4, 0), (usize::MAX, 64), (4, u32::MAX)] {
        assert!(
            matches!(
                Sheet::create(&path, tiles, [side, side], Background::default()),
                Err(Error::NotHeld { .. })
            ),
            "{tiles} {side}"
        );
    }
    assert!(!path.exists());
}

#[test]
fn the_difference_of_two_meshes_has_colours_and_a_scale() {
    let (_folder, path) = folder();
    let mut moved = square(0.0);
    moved[2][2] = 0.5;
    let (a, b) = (
        bodies(&[(&square(0.0), &SQUARE)]),
        bodies(&[(&moved, &SQUARE)]),
    );
    let rendered = small().write_difference(&a, &b, &path).unwrap();
    assert_eq!(rendered.largest_distance, Some(0.5));
    let bytes = frames(&path).remove(0);
    let colors: BTreeSet<_> = bytes.as_chunks::<3>().0.iter().collect();
    assert!(colors.len() > 100, "{}", colors.len());
    assert_eq!(bytes.len(), 96 * 96 * 3);
    let more = bodies(&[(
        &[square(0.0).as_slice(), &[[0.0; 3]]].concat(),
        &[[0, 1, 2], [0, 2, 4]],
    )]);
    let error = small()
        .write_difference(&a, &more, &path)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("4 vertices in the first, 5 in the second"),
        "{error}"
    );
    let turned = bodies(&[(&square(0.0), &[[0, 1, 2], [0, 3, 2]])]);
    let error = small()
        .write_difference(&a, &turned, &path)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("1 of 2 triangles have other corners"),
        "{error}"
    );
}

#[test]
fn the_memory_that_an_error_names_suffices() {
    let body = meshmap_testing::fixtures::tmf::grid(250);
    let draw = |most: u64| {
        let limits = Limits::default()
            .with_max_total_bytes(most)
            .with_free_ratio(0);
        let options = Options::default().with_limits(limits);
        let file = MeshFile::from_source(Source::from_bytes(body.clone()), &options).unwrap();
        small()
            .picture(&file)
            .map(|(_, rendered)| rendered.triangles)
    };
    let Err(Error::Read(error)) = draw(10 << 20) else {
        panic!("10 MiB suffice")
    };
    let Cause::Limit {
        needed: Some(needed),
        ..
    } = error.cause()
    else {
        panic!("{error}")
    };
    let triangles = draw(*needed).unwrap();
    // Half as many vertices.
    assert!(
        *needed < triangles * 170,
        "{needed} bytes for {triangles} triangles"
    );
}

#[test]
fn what_fails_leaves_no_file() {
    let (folder, path) = folder();
    let file = MeshFile::open(data::valid("cgeo", "empty_anim_a.cgeo")).unwrap();
    for render in [
        small(),
        Render {
            turntable: Some(3),
            ..small()
        },
        Render {
            animation: true,
            ..small()
        },
        Render {
            sheet: true,
            ..small()
        },
    ] {
        assert!(render.write_file(&file, &path).is_err());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

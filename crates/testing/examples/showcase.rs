//! Writes the files of the pictures in the documentation: `showcase FOLDER`.
//!
//! * `walker.iqm`: a figure that walks.
//! * `flag.cgeo`: a proxy of a flag in the wind.
//! * `island.slmesh`: an island in four levels of detail.
//! * `avatar.slmesh`: the same figure with the joints of Second Life, in four levels of detail.
//! * `coral.ctm`: a coral, compressed with MG1.

use std::f32::consts::{PI, TAU};
use std::fs;
use std::path::Path;

use meshmap::cgeo::Dialect;
use meshmap_testing::fixtures::iqm::{Joint, Surface};
use meshmap_testing::fixtures::slmesh::Llsd;
use meshmap_testing::fixtures::{cgeo, iqm, openctm, slmesh};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder] = arguments.as_slice() else {
        return Err("usage: showcase FOLDER".into());
    };
    let folder = Path::new(folder);
    fs::create_dir_all(folder)?;
    fs::write(folder.join("walker.iqm"), walker())?;
    fs::write(folder.join("flag.cgeo"), flag())?;
    fs::write(folder.join("island.slmesh"), island())?;
    fs::write(folder.join("avatar.slmesh"), avatar())?;
    fs::write(folder.join("coral.ctm"), coral())?;
    Ok(())
}

type Vector = [f32; 3];

fn add(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn normalized(v: Vector) -> Vector {
    let length = v
        .iter()
        .map(|part| part * part)
        .sum::<f32>()
        .sqrt()
        .max(1e-9);
    v.map(|part| part / length)
}

/// A grid of points, with normals and counter-clockwise triangles.
struct Grid {
    points: Vec<Vector>,
    normals: Vec<Vector>,
    triangles: Vec<[u32; 3]>,
}

impl Grid {
    /// `at` is the point for `u` and `v` of 0 to 1.
    fn new(columns: u32, rows: u32, at: impl Fn(f32, f32) -> Vector) -> Self {
        let (mut points, mut normals, mut triangles) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..rows {
            for column in 0..columns {
                let [u, v] = [
                    column as f32 / (columns - 1) as f32,
                    row as f32 / (rows - 1) as f32,
                ];
                let step = 1e-3;
                let along = |a: Vector, b: Vector| [0, 1, 2].map(|axis| b[axis] - a[axis]);
                let right = along(at(u - step, v), at(u + step, v));
                let up = along(at(u, v - step), at(u, v + step));
                points.push(at(u, v));
                normals.push(normalized(cross(right, up)));
                if row + 1 < rows && column + 1 < columns {
                    let first = row * columns + column;
                    triangles.push([first, first + 1, first + columns + 1]);
                    triangles.push([first, first + columns + 1, first + columns]);
                }
            }
        }
        Self {
            points,
            normals,
            triangles,
        }
    }
}

/// Heights of 0 to 1 that look like stone: waves of halving length.
fn rough(x: f32, y: f32) -> f32 {
    let mut sum = 0.0;
    let (mut size, mut turn) = (0.5, 0.3_f32);
    for octave in 0..6 {
        let (sin, cos) = turn.sin_cos();
        let [p, q] =
            [x * cos - y * sin, x * sin + y * cos].map(|part| part * (1 << octave) as f32 * 3.1);
        sum += size * (0.5 + 0.5 * (p + 1.7 * q.sin()).sin() * (q + 0.6 * octave as f32).cos());
        size *= 0.5;
        turn += 1.9;
    }
    sum
}

fn coral() -> Vec<u8> {
    let grid = Grid::new(220, 160, |u, v| {
        let (angle, tilt) = (u * TAU, (v - 0.5) * PI * 0.999);
        let direction = [
            angle.cos() * tilt.cos(),
            angle.sin() * tilt.cos(),
            tilt.sin(),
        ];
        // Branches around the axis, and knobs on them.
        let branches = (5.0 * angle + 4.0 * tilt.sin() * 2.0).cos();
        let knobs = (23.0 * angle).sin() * (19.0 * tilt).sin();
        let radius = 1.0 + 0.34 * branches * tilt.cos() + 0.05 * knobs * tilt.cos();
        [
            direction[0] * radius,
            direction[1] * radius,
            direction[2] * 0.8,
        ]
    });
    let normals = grid
        .normals
        .iter()
        .map(|normal| normal.map(f32::to_bits))
        .collect();
    openctm::Body {
        method: openctm::MG1,
        flags: 1,
        comment: "a coral of meshmap".into(),
        precision: 1.0,
        positions: grid.points,
        triangles: grid.triangles,
        normals,
        uv_maps: Vec::new(),
        attribute_maps: Vec::new(),
        pack: openctm::lzma,
    }
    .to_bytes()
}

fn flag() -> Vec<u8> {
    const SNAPSHOTS: usize = 24;
    const COLUMNS: u32 = 72;
    const ROWS: u32 = 42;
    let mesh = |time: f32| {
        let grid = Grid::new(COLUMNS, ROWS, |u, v| {
            let wave =
                |length: f32, turns: f32| (length * u * TAU - turns * TAU * time + 0.9 * v).sin();
            let out = u.max(0.0).powf(0.7);
            let bend = 0.16 * out * wave(1.6, 1.0) + 0.05 * out * wave(3.7, 2.0);
            [
                1.6 * u - 0.06 * out * wave(1.6, 1.0).powi(2),
                bend,
                v - 0.12 * out * out,
            ]
        });
        let triangles = grid.triangles.iter().map(|corners| [*corners; 2]).collect();
        // A square in the upper corner, and stripes.
        let material = |triangle: usize| {
            let quad = triangle as u32 / 2;
            let (column, row) = (quad % (COLUMNS - 1), quad / (COLUMNS - 1));
            if column < 28 && row >= 18 {
                0
            } else {
                1 + (row / 6 % 2) as u16
            }
        };
        let materials = (0..grid.triangles.len()).map(material).collect();
        cgeo::Mesh {
            positions: grid.points,
            normals: grid.normals,
            texcoords: Vec::new(),
            triangles,
            materials,
            missing: 0,
        }
    };
    let first = mesh(0.0);
    let snapshots: Vec<_> = (0..SNAPSHOTS)
        .map(|index| {
            let own = mesh(index as f32 / SNAPSHOTS as f32);
            cgeo::snapshot(
                &own,
                if index == 0 {
                    own.complete()
                } else {
                    own.difference(&first)
                },
            )
        })
        .collect();
    cgeo::file(&snapshots, Dialect::default())
}

fn island() -> Vec<u8> {
    let height = |u: f32, v: f32| {
        let [x, y] = [u - 0.5, v - 0.5];
        let distance = (x * x + y * y).sqrt() * 2.0;
        let shore = (1.0 - distance.powi(2)).max(0.0);
        let valleys = 0.62 + 0.38 * (5.0 * y.atan2(x) + 9.0 * distance + 3.0 * rough(x, y)).cos();
        shore.powf(1.3) * (0.1 + 0.42 * rough(x * 1.3, y * 1.3)) * (0.45 + 0.55 * valleys)
    };
    let face = |side: u32| {
        let grid = Grid::new(side, side, |u, v| [u - 0.5, v - 0.5, height(u, v)]);
        let quantized =
            |value: f32, least: f32, most: f32| ((value - least) / (most - least) * 65535.0) as u16;
        let positions: Vec<u16> = grid
            .points
            .iter()
            .flatten()
            .map(|part| quantized(*part, -0.5, 0.5))
            .collect();
        let normals: Vec<u16> = grid
            .normals
            .iter()
            .flatten()
            .map(|part| quantized(*part, -1.0, 1.0))
            .collect();
        let corner = |number: f64, lanes: usize| Llsd::reals(std::iter::repeat_n(number, lanes));
        let domain = Llsd::Map(vec![("Max", corner(0.5, 3)), ("Min", corner(-0.5, 3))]);
        Llsd::Array(vec![Llsd::Map(vec![
            ("Normal", Llsd::u16s(normals)),
            ("Position", Llsd::u16s(positions)),
            ("PositionDomain", domain),
            (
                "TriangleList",
                Llsd::u16s(grid.triangles.iter().flatten().map(|index| *index as u16)),
            ),
        ])])
    };
    slmesh::Writer::default()
        .key("version", Llsd::Integer(1))
        .block("lowest_lod", &face(9))
        .block("low_lod", &face(17))
        .block("medium_lod", &face(41))
        .block("high_lod", &face(121))
        .to_bytes()
}

/// A rounded limb of `columns` by `rows` vertices from one point to another: the radius at each share of its length.
fn limb(
    [columns, rows]: [u32; 2],
    from: Vector,
    to: Vector,
    radius: impl Fn(f32) -> [f32; 2],
) -> Grid {
    let axis = [0, 1, 2].map(|part| to[part] - from[part]);
    let along = normalized(axis);
    let side = normalized(cross(
        along,
        if along[2].abs() > 0.7 {
            [1.0, 0.0, 0.0]
        } else {
            [0.0, 0.0, 1.0]
        },
    ));
    let front = cross(along, side);
    Grid::new(columns, rows, move |u, v| {
        let [wide, deep] = radius(v);
        // Round ends, with more rows than the middle.
        let v = 0.5 - 0.5 * (v.clamp(0.0, 1.0) * PI).cos();
        let round = (1.0 - (2.0 * v - 1.0).powi(4)).max(0.0).sqrt();
        let (sin, cos) = (u * TAU).sin_cos();
        let place = [0, 1, 2].map(|part| {
            axis[part] * v + side[part] * cos * wide * round + front[part] * sin * deep * round
        });
        add(from, place)
    })
}

const JOINTS: [Joint; 14] = {
    const fn joint(name: &'static str, parent: Option<u32>, translate: Vector) -> Joint {
        Joint {
            name,
            parent,
            translate,
        }
    }
    [
        joint("pelvis", None, [0.0, 0.0, 0.98]),
        joint("chest", Some(0), [0.0, 0.0, 0.22]),
        joint("head", Some(1), [0.0, 0.0, 0.34]),
        joint("upper_arm.l", Some(1), [0.2, 0.0, 0.24]),
        joint("lower_arm.l", Some(3), [0.03, 0.0, -0.28]),
        joint("upper_arm.r", Some(1), [-0.2, 0.0, 0.24]),
        joint("lower_arm.r", Some(5), [-0.03, 0.0, -0.28]),
        joint("thigh.l", Some(0), [0.1, 0.0, -0.04]),
        joint("shin.l", Some(7), [0.0, 0.0, -0.44]),
        joint("foot.l", Some(8), [0.0, 0.0, -0.42]),
        joint("thigh.r", Some(0), [-0.1, 0.0, -0.04]),
        joint("shin.r", Some(10), [0.0, 0.0, -0.44]),
        joint("foot.r", Some(11), [0.0, 0.0, -0.42]),
        joint("hips", Some(0), [0.0, 0.0, 0.0]),
    ]
};

fn place_of(joint: usize) -> Vector {
    let Joint {
        parent, translate, ..
    } = &JOINTS[joint];
    parent.map_or(*translate, |parent| {
        add(place_of(parent as usize), *translate)
    })
}

/// The surfaces of the figure. `size` is the columns and rows of each limb.
fn figure(size: [u32; 2]) -> Vec<Surface> {
    let mut surfaces: Vec<Surface> = ["skin", "shirt", "trousers", "shoes"]
        .map(|name| Surface {
            name,
            positions: Vec::new(),
            normals: Vec::new(),
            weights: Vec::new(),
            triangles: Vec::new(),
        })
        .into();
    // A part that moves with a joint; near its beginning also with the parent.
    let mut part =
        |surface: usize, joint: u8, from: Vector, to: Vector, radius: &dyn Fn(f32) -> [f32; 2]| {
            let start = place_of(joint.into());
            let grid = limb(size, add(start, from), add(start, to), radius);
            let surface = &mut surfaces[surface];
            let first = surface.positions.len() as u32;
            let parent = JOINTS[usize::from(joint)].parent.unwrap_or(0) as u8;
            for index in 0..grid.points.len() {
                let row = index as u32 / size[0];
                let along = 0.5 - 0.5 * (row as f32 / (size[1] - 1) as f32 * PI).cos();
                let share = ((0.16 - along).max(0.0) * 3.0 * 255.0) as u8;
                surface.weights.push([joint, parent, share]);
            }
            surface.positions.extend(grid.points);
            surface.normals.extend(grid.normals);
            // The format has clockwise triangles.
            surface.triangles.extend(
                grid.triangles
                    .iter()
                    .map(|[a, b, c]| [first + a, first + c, first + b]),
            );
        };
    part(2, 13, [0.0, 0.0, -0.12], [0.0, 0.0, 0.16], &|v| {
        [0.17 - 0.03 * v, 0.12 - 0.02 * v]
    });
    part(1, 1, [0.0, 0.0, -0.16], [0.0, 0.0, 0.34], &|v| {
        [0.15 + 0.1 * (v * PI * 0.8).sin(), 0.11 + 0.04 * v]
    });
    part(0, 2, [0.0, 0.0, -0.1], [0.0, 0.0, 0.02], &|_| {
        [0.055, 0.055]
    });
    part(0, 2, [0.0, 0.0, -0.03], [0.0, 0.0, 0.27], &|v| {
        [0.09 + 0.025 * v, 0.1 + 0.035 * v]
    });
    for (arm, side) in [(3_u8, 1.0_f32), (5, -1.0)] {
        part(1, arm, [0.0, 0.0, 0.06], [0.035 * side, 0.0, -0.3], &|v| {
            [0.066 - 0.016 * v, 0.07 - 0.018 * v]
        });
        part(
            0,
            arm + 1,
            [0.0, 0.0, 0.03],
            [0.01 * side, 0.0, -0.27],
            &|v| [0.046 - 0.012 * v, 0.05 - 0.014 * v],
        );
        part(
            0,
            arm + 1,
            [0.01 * side, 0.0, -0.24],
            [0.012 * side, 0.0, -0.38],
            &|_| [0.03, 0.046],
        );
    }
    for thigh in [7_u8, 10] {
        part(2, thigh, [0.0, 0.0, 0.08], [0.0, 0.0, -0.48], &|v| {
            [0.105 - 0.035 * v, 0.11 - 0.035 * v]
        });
        part(2, thigh + 1, [0.0, 0.0, 0.05], [0.0, 0.0, -0.4], &|v| {
            [0.072 - 0.02 * v, 0.08 - 0.025 * v]
        });
        part(3, thigh + 2, [0.0, 0.09, -0.05], [0.0, -0.2, -0.07], &|v| {
            [0.058 - 0.008 * v, 0.055 - 0.02 * v]
        });
    }
    surfaces
}

fn walker() -> Vec<u8> {
    iqm::Writer::figure(&figure([25, 21]), &JOINTS, 24.0, &walk()).to_bytes()
}

/// The names of the joints on an avatar of Second Life.
const AVATAR_JOINTS: [&str; JOINTS.len()] = [
    "mPelvis",
    "mChest",
    "mHead",
    "mShoulderLeft",
    "mElbowLeft",
    "mShoulderRight",
    "mElbowRight",
    "mHipLeft",
    "mKneeLeft",
    "mAnkleLeft",
    "mHipRight",
    "mKneeRight",
    "mAnkleRight",
    "mTorso",
];

/// The side of the cube that holds an avatar. In the file it is 1.
const SIZE: f32 = 4.0;

fn avatar() -> Vec<u8> {
    // Avatars look along x.
    let turned = |[x, y, z]: Vector| [-y, x, z];
    let level = |size: [u32; 2]| {
        Llsd::Array(
            figure(size)
                .iter()
                .map(|surface| worn(surface, turned))
                .collect(),
        )
    };
    let strings = |names: &[&str]| {
        names
            .iter()
            .map(|name| Llsd::String(name.as_bytes().to_vec()))
            .collect()
    };
    let matrix = |scale: f64, [x, y, z]: Vector| {
        let [x, y, z] = [x, y, z].map(f64::from);
        Llsd::reals([
            scale, 0.0, 0.0, 0.0, 0.0, scale, 0.0, 0.0, 0.0, 0.0, scale, 0.0, x, y, z, 1.0,
        ])
    };
    let bind = |joint: usize| matrix(1.0, turned(place_of(joint)).map(|part| -part));
    let skin = Llsd::Map(vec![
        ("bind_shape_matrix", matrix(f64::from(SIZE), [0.0; 3])),
        (
            "inverse_bind_matrix",
            Llsd::Array((0..JOINTS.len()).map(bind).collect()),
        ),
        ("joint_names", Llsd::Array(strings(&AVATAR_JOINTS))),
    ]);
    slmesh::Writer::default()
        .key("version", Llsd::Integer(1))
        .block("skin", &skin)
        .block("lowest_lod", &level([7, 5]))
        .block("low_lod", &level([9, 7]))
        .block("medium_lod", &level([15, 11]))
        .block("high_lod", &level([25, 21]))
        .to_bytes()
}

/// A surface as the face of an asset, with weights.
fn worn(surface: &Surface, turned: impl Fn(Vector) -> Vector) -> Llsd {
    let quantized = |value: f32, most: f32| ((value / most * 0.5 + 0.5) * 65535.0).round() as u16;
    let all = |vectors: &[Vector], most: f32| {
        let parts = vectors.iter().flat_map(|vector| turned(*vector));
        Llsd::u16s(parts.map(|part| quantized(part, most)).collect::<Vec<_>>())
    };
    let weights = surface.weights.iter().flat_map(|[joint, parent, share]| {
        let influence = |joint: u8, share: u8| {
            let [low, high] = (u16::from(share) * 257).to_le_bytes();
            [joint, low, high]
        };
        influence(*joint, 255 - share)
            .into_iter()
            .chain(influence(*parent, *share))
            .chain([0xff])
    });
    let corner = |number: f64| Llsd::reals([number; 3]);
    // The format has counter-clockwise triangles.
    let corners = surface
        .triangles
        .iter()
        .flat_map(|[a, b, c]| [*a, *c, *b].map(|index| index as u16));
    Llsd::Map(vec![
        ("Normal", all(&surface.normals, 1.0)),
        ("Position", all(&surface.positions, SIZE / 2.0)),
        (
            "PositionDomain",
            Llsd::Map(vec![("Max", corner(0.5)), ("Min", corner(-0.5))]),
        ),
        ("TriangleList", Llsd::u16s(corners.collect::<Vec<_>>())),
        ("Weights", Llsd::Binary(weights.collect())),
    ])
}

/// A cycle of two steps: a rotation of each joint, about the axis that points to the left.
fn walk() -> Vec<Vec<[f32; 4]>> {
    const FRAMES: usize = 24;
    let about = |axis: usize, angle: f32| {
        let mut rotation = [0.0, 0.0, 0.0, (angle / 2.0).cos()];
        rotation[axis] = (angle / 2.0).sin();
        rotation
    };
    let frame = |index: usize| {
        let phase = index as f32 / FRAMES as f32 * TAU;
        let leg = |phase: f32| {
            let thigh = 0.52 * phase.sin();
            let shin =
                -(0.16 + 0.5 * (1.0 + (phase + 0.45 * PI).sin()) * (0.5 + 0.5 * phase.cos()));
            [thigh, shin, -0.25 * thigh - 0.4 * shin - 0.05]
        };
        let arm = |phase: f32| [0.48 * phase.sin(), 0.42 + 0.14 * phase.sin()];
        let ([lt, ls, lf], [rt, rs, rf]) = (leg(phase), leg(phase + PI));
        let ([la, lb], [ra, rb]) = (arm(phase + PI), arm(phase));
        let x = |angle: f32| about(0, -angle);
        vec![
            about(2, 0.1 * phase.sin()),
            about(2, -0.2 * phase.sin()),
            about(2, 0.1 * phase.sin()),
            x(la),
            x(lb),
            x(ra),
            x(rb),
            x(lt),
            x(ls),
            x(lf),
            x(rt),
            x(rs),
            x(rf),
            about(0, 0.0),
        ]
    };
    (0..FRAMES).map(frame).collect()
}

//! `MeshView::turned` against the written files: the same bits at every corner of every triangle.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use meshmap::{Axis, Conventions, Format, MeshFile, MeshView, Semantic, VOrigin, Winding};
use meshmap_check::{check_file, usdc};
use meshmap_export::{Convert, Error, Target, Turn};
use meshmap_testing::{data, drawn, has_bind_shape, runs_against_normals, test_files};

/// A corner of a triangle: the bits of its position and, if there are any, of its normal and texture coordinates.
#[derive(Clone, Debug, Default, PartialEq)]
struct Corner {
    position: [u32; 3],
    normal: Option<[u32; 3]>,
    coords: Option<[u32; 2]>,
}

/// The streams of a mesh, each with the element of every corner.
#[derive(Default)]
struct Streams {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    coords: Vec<[f32; 2]>,
}

impl Streams {
    fn corners(&self, indices: impl Iterator<Item = u32>) -> Vec<Corner> {
        indices
            .map(|index| self.corner(index, index, index))
            .collect()
    }

    fn corner(&self, position: u32, normal: u32, coords: u32) -> Corner {
        let normal = self.normals.get(normal as usize);
        let coords = self.coords.get(coords as usize);
        Corner {
            position: self.positions[position as usize].map(f32::to_bits),
            normal: normal.map(|normal| normal.map(f32::to_bits)),
            coords: coords.map(|coords| coords.map(f32::to_bits)),
        }
    }
}

/// Conventions of a file as the exporters assume them, if the format does not store them.
fn assumed(format: Format) -> Conventions {
    let stored = format.conventions();
    let up = stored.up.unwrap_or(if format == Format::CGeo {
        Axis::Z
    } else {
        Axis::Y
    });
    let known = Conventions::Y_UP_CCW.with_up(up);
    let known = stored
        .front_face
        .map_or(known, |front| known.with_front_face(front));
    known.with_v_origin(stored.v_origin.unwrap_or(VOrigin::Bottom))
}

/// The corners of a mesh as the library has them.
fn of_view(view: &MeshView) -> Vec<Corner> {
    let array = |semantic| view.attribute(&semantic).unwrap();
    let streams = Streams {
        positions: array(Semantic::Position).unwrap().to_f32(),
        normals: array(Semantic::Normal)
            .map(|normals| normals.to_f32())
            .unwrap_or_default(),
        coords: array(Semantic::TexCoord(0))
            .map(|coords| coords.to_f32())
            .unwrap_or_default(),
    };
    streams.corners(view.indices().iter())
}

/// The corners of a mesh, in the order of the materials of triangles: glTF has a primitive for each, unless they are many.
fn by_material(view: &MeshView, corners: Vec<Corner>) -> Vec<Corner> {
    let Some(ids) = view.material_ids() else {
        return corners;
    };
    if ids.iter().collect::<HashSet<u32>>().len() > 1000 {
        return corners;
    }
    let mut triangles: Vec<(u32, &[Corner])> = ids.iter().zip(corners.chunks(3)).collect();
    triangles.sort_by_key(|(id, _)| *id);
    let corners = triangles.into_iter().flat_map(|(_, corners)| corners);
    corners.cloned().collect()
}

fn of_glb(path: &Path) -> Vec<Corner> {
    let gltf = gltf::Gltf::from_slice(&fs::read(path).unwrap()).unwrap();
    let blob = gltf.blob.as_deref().unwrap_or_default();
    let mut corners = Vec::new();
    for primitive in gltf.meshes().flat_map(|mesh| mesh.primitives()) {
        let reader = primitive.reader(|_| Some(blob));
        let coords = reader.read_tex_coords(0);
        // Normals become unit vectors.
        let streams = Streams {
            positions: reader.read_positions().unwrap().collect(),
            coords: coords
                .map(|coords| coords.into_f32().collect())
                .unwrap_or_default(),
            ..Streams::default()
        };
        corners.extend(streams.corners(reader.read_indices().unwrap().into_u32()));
    }
    corners
}

/// The rotation of the root node, rounded to whole numbers: it is one by quarters.
fn root_rotation(path: &Path) -> [[f64; 3]; 3] {
    let gltf = gltf::Gltf::from_slice(&fs::read(path).unwrap()).unwrap();
    let root = gltf
        .nodes()
        .find(|node| node.name() == Some("meshmap_root"))
        .unwrap();
    let (_, [x, y, z, w], _) = root.transform().decomposed();
    let [x, y, z, w] = [x, y, z, w].map(f64::from);
    [
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y - z * w),
            2.0 * (x * z + y * w),
        ],
        [
            2.0 * (x * y + z * w),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z - x * w),
        ],
        [
            2.0 * (x * z - y * w),
            2.0 * (y * z + x * w),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ]
    .map(|row| row.map(f64::round))
}

fn of_usd(path: &Path) -> Vec<Corner> {
    let bytes = fs::read(path).unwrap();
    let stage = usdc::read(&bytes).unwrap_or_else(|error| panic!("{error}"));
    let mut corners = Vec::new();
    for mesh in stage.prims.iter().filter(|prim| prim.kind == "Mesh") {
        let floats = |name: &str| {
            let array = mesh.arrays.get(name).and_then(|samples| samples.default);
            array
                .map(|array| array.floats().collect::<Vec<f32>>())
                .unwrap_or_default()
        };
        // The streams of a snapshot have separate indices.
        let indices = |name: &str| {
            let samples = mesh.arrays.get(name)?;
            let indices = samples.default?.ints().map(|index| index as u32);
            Some(indices.collect::<Vec<u32>>())
        };
        let normals = if mesh.arrays.contains_key("normals") {
            "normals"
        } else {
            "primvars:normals"
        };
        let streams = Streams {
            positions: floats("points").as_chunks().0.to_vec(),
            normals: floats(normals).as_chunks().0.to_vec(),
            coords: floats("primvars:st").as_chunks().0.to_vec(),
        };
        let position_indices = indices("faceVertexIndices").unwrap();
        let normal_indices = indices("primvars:normals:indices");
        let coord_indices = indices("primvars:st:indices");
        for (place, index) in position_indices.into_iter().enumerate() {
            let normal = normal_indices.as_ref().map_or(index, |all| all[place]);
            let coords = coord_indices.as_ref().map_or(index, |all| all[place]);
            corners.push(streams.corner(index, normal, coords));
        }
    }
    corners
}

fn of_obj(path: &Path) -> Vec<Corner> {
    fn numbers<const N: usize>(text: &str) -> [u32; N] {
        let numbers: Vec<u32> = text
            .split(' ')
            .take(N)
            .map(|number| number.parse::<f32>().unwrap().to_bits())
            .collect();
        numbers.try_into().unwrap()
    }
    let text = fs::read_to_string(path).unwrap();
    let (mut positions, mut normals, mut coords, mut corners) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("v", numbers_of)) => positions.push(numbers::<3>(numbers_of)),
            Some(("vn", numbers_of)) => normals.push(numbers::<3>(numbers_of)),
            Some(("vt", numbers_of)) => coords.push(numbers::<2>(numbers_of)),
            Some(("f", face)) => corners.extend(face.split(' ').map(|corner| {
                let mut indices = corner.split('/').map(|index| index.parse::<usize>().ok());
                let mut next = || indices.next().flatten().map(|index| index - 1);
                let (position, coord, normal) = (next().unwrap(), next(), next());
                Corner {
                    position: positions[position],
                    normal: normal.map(|normal| normals[normal]),
                    coords: coord.map(|coord| coords[coord]),
                }
            })),
            _ => {}
        }
    }
    corners
}

fn of_ply(path: &Path) -> Vec<Corner> {
    let bytes = fs::read(path).unwrap();
    let end = bytes
        .windows(11)
        .position(|window| window == b"end_header\n")
        .unwrap()
        + 11;
    let header = std::str::from_utf8(&bytes[..end]).unwrap();
    let properties = header.lines().filter_map(|line| {
        let (size, name) = match line.strip_prefix("property ")?.split_once(' ')? {
            ("float", name) => (4, name),
            ("uchar", name) => (1, name),
            _ => return None,
        };
        Some((size, name))
    });
    let properties: Vec<(usize, &str)> = properties.collect();
    let columns: HashMap<&str, usize> = properties.iter().map(|(_, name)| *name).zip(0..).collect();
    let count = |what: &str| -> usize {
        header
            .lines()
            .find_map(|line| line.strip_prefix(what))
            .unwrap()
            .trim()
            .parse()
            .unwrap()
    };
    let stride: usize = properties.iter().map(|(size, _)| size).sum();
    let (mut numbers, faces) = bytes[end..].split_at(count("element vertex") * stride);
    let mut next = |size: usize| match numbers.split_off(..size).unwrap() {
        [byte] => f32::from(*byte) / 255.0,
        bytes => f32::from_le_bytes(bytes.try_into().unwrap()),
    };
    let sizes = properties.iter().map(|(size, _)| *size);
    let numbers: Vec<f32> = (0..count("element vertex"))
        .flat_map(|_| sizes.clone())
        .map(&mut next)
        .collect();
    fn stream<const N: usize>(
        numbers: &[f32],
        columns: &HashMap<&str, usize>,
        names: [&str; N],
    ) -> Vec<[f32; N]> {
        if !names.iter().all(|name| columns.contains_key(name)) {
            return Vec::new();
        }
        numbers
            .chunks(columns.len())
            .map(|vertex| names.map(|name| vertex[columns[name]]))
            .collect()
    }
    let streams = Streams {
        positions: stream(&numbers, &columns, ["x", "y", "z"]),
        normals: stream(&numbers, &columns, ["nx", "ny", "nz"]),
        coords: stream(&numbers, &columns, ["s", "t"]),
    };
    let face = if header.contains("material_index") {
        17
    } else {
        13
    };
    let indices = faces
        .chunks(face)
        .flat_map(|face| face[1..13].as_chunks().0)
        .map(|index| u32::from_le_bytes(*index));
    streams.corners(indices)
}

fn of_stl(path: &Path) -> Vec<Corner> {
    let bytes = fs::read(path).unwrap();
    let number = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
    let triangles = bytes[84..]
        .chunks(50)
        .map(|triangle| triangle[12..48].as_chunks::<12>().0);
    let position = |corner: &[u8; 12]| std::array::from_fn(|at| number(&corner.as_chunks().0[at]));
    triangles
        .flatten()
        .map(|corner| Corner {
            position: position(corner),
            ..Corner::default()
        })
        .collect()
}

/// Compares written corners with the corners of turned meshes; returns how many normals and texture coordinates were compared.
fn compare(name: &str, written: &[Corner], turned: &[Corner]) -> [usize; 2] {
    assert_eq!(written.len(), turned.len(), "{name}: corners");
    let mut compared = [0; 2];
    for (written, turned) in written.iter().zip(turned) {
        assert_eq!(written.position, turned.position, "{name}");
        if written.normal.is_some() {
            assert_eq!(written.normal, turned.normal, "{name}");
            compared[0] += 1;
        }
        if written.coords.is_some() {
            assert_eq!(written.coords, turned.coords, "{name}");
            compared[1] += 1;
        }
    }
    compared
}

/// The length in the target of a length of 1 in a file.
fn scale(file: &MeshFile, target: Target) -> f64 {
    let millimeters = match file.as_cgeo() {
        Some(proxy) => proxy.unit_length().map(|unit| unit.millimeters),
        None => file.as_slmesh().map(|_| 1000.0),
    };
    let of_target = if target == Target::Stl { 1.0 } else { 1000.0 };
    millimeters.map_or(1.0, |millimeters| millimeters / of_target)
}

test_files!(turned_meshes_have_the_bits_of_written_files);

fn turned_meshes_have_the_bits_of_written_files(root: &Path) {
    let folder = tempfile::tempdir().unwrap();
    for target in [
        Target::Glb,
        Target::Usdc,
        Target::Obj,
        Target::Ply,
        Target::Stl,
    ] {
        let (mut files, mut compared) = (0, [0; 2]);
        let paths = Format::ALL
            .into_iter()
            .flat_map(|format| data::files(&root.join(format.name()).join("valid")));
        for path in paths {
            let name = format!("{} as {}", path.display(), target.name());
            let file = MeshFile::open(&path).unwrap();
            // Written vertices are where the bind shape moves them.
            if has_bind_shape(&file) {
                continue;
            }
            let out = folder.path().join("out").with_extension(target.name());
            // Files of a whole sequence have the other snapshots as targets or samples.
            let mut convert = Convert {
                keep_degenerate: target == Target::Usdc,
                ..Convert::new(target)
            };
            if file
                .as_cgeo()
                .is_some_and(|proxy| proxy.snapshot_count() > 0)
            {
                convert = Convert {
                    meshes: vec!["snapshots[0]".parse().unwrap()],
                    ..convert
                };
            }
            match convert.write_file(&file, &out) {
                Ok(outcome) if outcome.points > 0 => continue,
                Ok(_) => {}
                Err(
                    Error::NotHeld { .. }
                    | Error::NonFinite { .. }
                    | Error::NothingToConvert { .. },
                ) => {
                    continue;
                }
                Err(error) => panic!("{name}: {error}"),
            }
            let (mut from, to) = (assumed(file.format()), target.conventions());
            if runs_against_normals(&file) && to.front_face.is_some() {
                let is_clockwise = from.front_face == Some(Winding::Clockwise);
                from.front_face = Some(if is_clockwise {
                    Winding::CounterClockwise
                } else {
                    Winding::Clockwise
                });
            }
            // In glTF and USD files, the root has the axes and the unit.
            let has_root = matches!(target, Target::Glb | Target::Usdc);
            let mut to_vertices = to;
            if has_root {
                to_vertices.up = None;
            }
            let scale = if has_root { 1.0 } else { scale(&file, target) };
            let turned = |to| {
                let mut corners = Vec::new();
                for view in drawn(&file) {
                    let mut of_view = of_view(&view.turned(from, to).unwrap());
                    for number in of_view.iter_mut().flat_map(|corner| &mut corner.position) {
                        let scaled = f64::from(f32::from_bits(*number)) * scale;
                        *number = (scaled as f32).to_bits();
                    }
                    corners.extend(match target {
                        Target::Glb => by_material(&view, of_view),
                        _ => of_view,
                    });
                }
                corners
            };
            let expected: Vec<Corner> = turned(to_vertices);
            let written = match target {
                Target::Glb => of_glb(&out),
                Target::Usdc => of_usd(&out),
                Target::Obj => of_obj(&out),
                Target::Ply => of_ply(&out),
                _ => of_stl(&out),
            };
            let [normals, coords] = compare(&name, &written, &expected);
            compared = [compared[0] + normals, compared[1] + coords];
            if target == Target::Glb {
                let rotation = root_rotation(&out);
                for (corner, whole) in written.iter().zip(turned(to)) {
                    let stored = corner.position.map(|bits| f64::from(f32::from_bits(bits)));
                    let rotated = rotation
                        .map(|row| row[0] * stored[0] + row[1] * stored[1] + row[2] * stored[2]);
                    assert_eq!(
                        rotated,
                        whole.position.map(|bits| f64::from(f32::from_bits(bits))),
                        "{name}"
                    );
                }
            }
            files += 1;
        }
        let expects = target.conventions().v_origin.is_some();
        assert!(
            files > 50 && (compared[1] > 0) == expects,
            "{target:?}: {files} files, {compared:?}"
        );
        assert_eq!(
            compared[0] > 0,
            expects && target != Target::Glb,
            "{target:?}: {compared:?}"
        );
    }
}

/// A vector that is turned by a quarter about an axis that points up, counter-clockwise as seen from above.
fn quarter(up: Axis, [x, y, z]: [f32; 3]) -> [f32; 3] {
    match up {
        Axis::X => [x, -z, y],
        Axis::Y => [z, y, -x],
        Axis::Z => [-y, x, z],
        Axis::NegX => [x, z, -y],
        _ => panic!("{up} is not tested"),
    }
}

fn vectors(corners: &[Corner], vector: impl Fn(&Corner) -> Option<[u32; 3]>) -> Vec<[f32; 3]> {
    corners
        .iter()
        .filter_map(vector)
        .map(|bits| bits.map(f32::from_bits))
        .collect()
}

fn of_pc2(path: &Path) -> Vec<[f32; 3]> {
    let bytes = fs::read(path).unwrap();
    let numbers: Vec<f32> = bytes[32..]
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect();
    numbers.as_chunks().0.to_vec()
}

#[test]
fn every_target_turns_by_quarters_about_the_axis_that_points_up() {
    let folder = tempfile::tempdir().unwrap();
    for (format, name, up, assumed) in [
        ("cgeo", "anim_a.cgeo", None, Axis::Z),
        ("iqm", "skin_multi_anim.iqm", None, Axis::Z),
        ("iqm", "skin_multi_anim.iqm", Some(Axis::NegX), Axis::NegX),
        ("slmesh", "ours_skin_a.slmesh", None, Axis::Z),
        ("tmf", "v011_multi_names.tmf", None, Axis::Y),
        ("tmf", "v011_multi_names.tmf", Some(Axis::X), Axis::X),
    ] {
        let file = MeshFile::open(data::valid(format, name)).unwrap();
        for target in Target::ALL
            .into_iter()
            .filter(|target| *target != Target::Pc2 || format == "cgeo")
        {
            let path = |turn: Turn| {
                folder
                    .path()
                    .join(format!("{turn}"))
                    .with_extension(target.name())
            };
            for (quarters, turn) in [Turn::None, Turn::Quarter, Turn::Half, Turn::ThreeQuarters]
                .into_iter()
                .enumerate()
            {
                let convert = Convert {
                    turn,
                    up,
                    ..Convert::new(target)
                };
                convert.write_file(&file, path(turn)).unwrap();
                let checked = check_file(&convert, &file, path(turn)).unwrap();
                assert_eq!(checked.differs, [""; 0], "{name} as {target}, {turn}");
                let turned = |vectors: Vec<[f32; 3]>, up| -> Vec<[f32; 3]> {
                    vectors
                        .into_iter()
                        .map(|vector| (0..quarters).fold(vector, |vector, _| quarter(up, vector)))
                        .collect()
                };
                let of = |turn| match target {
                    Target::Obj => of_obj(&path(turn)),
                    Target::Ply => of_ply(&path(turn)),
                    Target::Stl => of_stl(&path(turn)),
                    _ => Vec::new(),
                };
                // Numbers are in the axes of the target.
                let upright = target.conventions().up.unwrap_or(assumed);
                let (still, now) = (of(Turn::None), of(turn));
                for vector in [
                    |corner: &Corner| Some(corner.position),
                    |corner: &Corner| corner.normal,
                ] {
                    assert_eq!(
                        vectors(&now, vector),
                        turned(vectors(&still, vector), upright),
                        "{name} as {target}"
                    );
                }
                if target == Target::Pc2 {
                    assert_eq!(
                        of_pc2(&path(turn)),
                        turned(of_pc2(&path(Turn::None)), upright)
                    );
                }
                if target == Target::Glb {
                    // A row of the rotation of the root for each axis of glTF.
                    let column =
                        |rotation: [[f64; 3]; 3], at: usize| rotation.map(|row| row[at] as f32);
                    let [still, now] =
                        [path(Turn::None), path(turn)].map(|path| root_rotation(&path));
                    for axis in 0..3 {
                        assert_eq!(
                            vec![column(now, axis)],
                            turned(vec![column(still, axis)], Axis::Y)
                        );
                    }
                }
            }
        }
    }
}

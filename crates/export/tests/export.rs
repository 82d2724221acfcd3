//! Every good file as each target: what is read back is what the library reads.

use std::fs;
use std::path::{Path, PathBuf};

use meshmap::cgeo::Parts;
use meshmap::{Format, MeshFile, Scratch};
use meshmap_check::check_file;
use meshmap_export::{Change, Convert, Error, FactKind, Outcome, Target, Why};
use meshmap_testing::{data, open, test_files};

fn convert(target: Target, file: &Path, folder: &Path) -> Result<(PathBuf, Outcome), Error> {
    let path = folder.join("out").with_extension(target.name());
    let mesh = MeshFile::open(file)?;
    let convert = Convert {
        zero_non_finite: true,
        raw: matches!(target, Target::Obj | Target::Pc2),
        ..Convert::new(target)
    };
    convert
        .write_file(&mesh, &path)
        .map(|outcome| (path, outcome))
}

/// Converts the good files below a folder; a target that cannot hold one says why.
fn each(root: &Path, target: Target, formats: &[Format], mut check: impl FnMut(&Path, &Path)) {
    let folder = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for file in formats
        .iter()
        .flat_map(|format| data::files(&root.join(format.name()).join("valid")))
    {
        match convert(target, &file, folder.path()) {
            // Clouds are tested in `intact`.
            Ok((_, outcome)) if outcome.points > 0 => {}
            Ok((path, outcome)) => {
                assert!(outcome.paths().contains(&path));
                check(&file, &path);
                checked += 1;
            }
            Err(Error::NotHeld { .. } | Error::NothingToConvert { .. }) => {}
            Err(error) => panic!("{}: {error}", file.display()),
        }
    }
    assert!(checked > 10, "{checked} files");
}

/// A GLB, read by a crate that shares nothing with the writer.
struct Glb {
    gltf: gltf::Gltf,
}

impl Glb {
    fn open(path: &Path) -> Self {
        let gltf = gltf::Gltf::from_slice(&fs::read(path).unwrap());
        Self {
            gltf: gltf.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        }
    }

    fn blob(&self) -> &[u8] {
        self.gltf.blob.as_deref().unwrap_or_default()
    }

    fn positions(&self, primitive: &gltf::Primitive<'_>) -> Vec<[f32; 3]> {
        primitive
            .reader(|_| Some(self.blob()))
            .read_positions()
            .unwrap()
            .collect()
    }
}

fn bits(positions: &[[f32; 3]]) -> Vec<[u32; 3]> {
    positions
        .iter()
        .map(|position| position.map(f32::to_bits))
        .collect()
}

#[test]
fn normals_that_are_damaged_are_not_missed_in_a_target_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(data::root().join("openctm/valid/conv_sphere_obj_MG1.ctm")).unwrap();
    let open = |bytes: &[u8]| open::file(bytes.to_vec());
    let normals = open(&bytes)
        .items()
        .find(|item| item.address.to_string() == "bodies[0].normals")
        .unwrap();
    // After the five bytes of properties, which are read when the file is opened.
    bytes[normals.range.start as usize + 5..normals.range.end as usize].fill(0xff);
    let file = open(&bytes);
    assert!(file.array(&normals.address).is_err());
    let path = folder.path().join("out.stl");
    let convert = Convert::new(Target::Stl);
    convert.write_file(&file, &path).unwrap();
    let checked = check_file(&convert, &file, &path).unwrap();
    assert!(
        checked.differs.is_empty() && !checked.lines.is_empty(),
        "{checked:?}"
    );
}

test_files!(morph_targets_give_the_bits_of_every_snapshot);

/// Base and target of each vertex, added as a viewer does, are the bits of a position of the snapshot.
fn morph_targets_give_the_bits_of_every_snapshot(root: &Path) {
    let mut targets = 0;
    each(root, Target::Glb, &[Format::CGeo], |file, path| {
        let (glb, mesh) = (Glb::open(path), MeshFile::open(file).unwrap());
        let proxy = mesh.as_cgeo().unwrap();
        let topology = proxy
            .snapshot(0)
            .unwrap()
            .topology(&mut Scratch::default())
            .unwrap();
        let is_same = |index| {
            proxy
                .snapshot(index)
                .unwrap()
                .topology(&mut Scratch::default())
                .unwrap()
                == topology
        };
        if proxy.snapshot_count() == 0
            || !(0..proxy.snapshot_count()).all(is_same)
            || glb.gltf.meshes().count() != 1
        {
            return;
        }
        let first = proxy.snapshot(0).unwrap().mesh(Parts::ALL).unwrap();
        let remap = first.vertex_remap_by_material().unwrap();
        // More materials are written as one.
        if remap.groups().len() > 1000 {
            return;
        }
        let stored = bits(&remap.gather(0, &first.positions.to_vec()).unwrap());
        let mut scratch = Scratch::default();
        for (primitive, group) in glb
            .gltf
            .meshes()
            .next()
            .unwrap()
            .primitives()
            .zip(remap.groups())
        {
            let base = glb.positions(&primitive);
            let range = group.vertices.start as usize..group.vertices.end as usize;
            if base.len() == range.len() {
                assert_eq!(bits(&base), stored[range.clone()], "{}", file.display());
            }
            let reader = primitive.reader(|_| Some(glb.blob()));
            for (index, (moves, _, _)) in (1..).zip(reader.read_morph_targets()) {
                let mut positions = Vec::new();
                proxy
                    .snapshot(index)
                    .unwrap()
                    .positions_into(&mut positions, &mut scratch)
                    .unwrap();
                let expected = remap.gather(0, &positions).unwrap();
                let expected = if base.len() == range.len() {
                    &expected[range.clone()]
                } else {
                    &expected
                };
                let sums = base.iter().zip(moves.unwrap());
                for ((base, moved), expected) in sums.zip(expected) {
                    let sum = [0, 1, 2].map(|axis| base[axis] + moved[axis]);
                    assert_eq!(sum, *expected, "snapshot {index} of {}", file.display());
                }
                targets += 1;
            }
        }
    });
    assert!(targets > 10, "{targets} targets");
}

/// Runs of snapshots with other triangles are not drawn on top of the first one by programs that play no animation.
#[test]
fn a_proxy_that_is_not_played_has_the_triangles_of_its_first_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["topology_a.cgeo", "mixed_a.cgeo"] {
        let file = MeshFile::open(data::root().join("cgeo/valid").join(name)).unwrap();
        let path = folder.path().join("out.glb");
        Convert::new(Target::Glb).write_file(&file, &path).unwrap();
        let glb = Glb::open(&path);
        let mut corners = 0;
        for node in glb.gltf.nodes() {
            let (_, _, scale) = node.transform().decomposed();
            let Some(mesh) = node.mesh().filter(|_| scale != [0.0; 3]) else {
                continue;
            };
            for primitive in mesh.primitives() {
                corners += primitive.indices().unwrap().count();
            }
        }
        let first = file.as_cgeo().unwrap().snapshot(0).unwrap();
        let triangles = first.counts(&mut Scratch::default()).unwrap().triangles;
        assert_eq!(corners, 3 * triangles as usize, "{name}");
    }
}

test_files!(obj_has_the_bits_of_the_first_snapshot);

/// Decimals of OBJ give the bits of the file. `turned.rs` compares the corners of all formats.
fn obj_has_the_bits_of_the_first_snapshot(root: &Path) {
    each(root, Target::Obj, &[Format::CGeo], |file, path| {
        let text = fs::read_to_string(path).unwrap();
        let mesh = MeshFile::open(file).unwrap();
        let numbers = |line: &str| -> Vec<u32> {
            line.split(' ')
                .map(|number| number.parse::<f32>().unwrap().to_bits())
                .collect()
        };
        let found: Vec<Vec<u32>> = text
            .lines()
            .filter_map(|line| line.strip_prefix("v "))
            .map(numbers)
            .collect();
        if let Some(proxy) = mesh.as_cgeo() {
            let stored = proxy.snapshot(0).unwrap().positions().unwrap().to_vec();
            if stored
                .as_flattened()
                .iter()
                .all(|number| number.is_finite())
            {
                let stored: Vec<Vec<u32>> = bits(&stored)
                    .iter()
                    .map(|position| position.to_vec())
                    .collect();
                assert_eq!(found, stored, "{}", file.display());
            }
        }
    });
}

test_files!(pc2_has_the_bits_of_every_snapshot);

fn pc2_has_the_bits_of_every_snapshot(root: &Path) {
    let mut snapshots = 0;
    each(root, Target::Pc2, &[Format::CGeo], |file, path| {
        let bytes = fs::read(path).unwrap();
        assert_eq!(&bytes[..12], b"POINTCACHE2\0");
        let number = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let (points, samples) = (number(16), number(28));
        assert_eq!(bytes.len(), 32 + points * samples * 12);
        let proxy = MeshFile::open(file).unwrap();
        let proxy = proxy.as_cgeo().unwrap();
        assert_eq!(samples, proxy.snapshot_count());
        for index in 0..samples {
            let stored = proxy.snapshot(index).unwrap().positions().unwrap();
            let found = &bytes[32 + index * points * 12..][..points * 12];
            if stored.iter().flatten().all(f32::is_finite) {
                assert_eq!(found, stored.as_bytes(), "{}", file.display());
                snapshots += 1;
            }
        }
        assert!(path.with_extension("obj").exists() && path.with_extension("mtl").exists());
    });
    assert!(snapshots > 10, "{snapshots} snapshots");
}

#[test]
fn the_same_file_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["cgeo/valid/anim_a.cgeo", "iqm/valid/skin_multi_anim.iqm"];
    for file in files.map(|file| data::root().join(file)) {
        for target in [
            Target::Glb,
            Target::Obj,
            Target::Ply,
            Target::Stl,
            Target::Usdc,
        ] {
            let [first, second] = [(); 2]
                .map(|()| fs::read(convert(target, &file, folder.path()).unwrap().0).unwrap());
            assert_eq!(first, second);
        }
    }
}

test_files!(bad_files_leave_nothing_behind);

/// A bad file gives an error or, where its meshes can be read, a file: never one that was begun and left.
fn bad_files_leave_nothing_behind(root: &Path) {
    let mut refused = 0;
    for format in Format::ALL {
        let files = data::files(&root.join(format.name()).join("bad"));
        for (file, target) in files
            .iter()
            .flat_map(|file| Target::ALL.map(|target| (file, target)))
        {
            let folder = tempfile::tempdir().unwrap();
            let is_written = convert(target, file, folder.path()).is_ok();
            let left: Vec<_> = fs::read_dir(folder.path())
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect();
            let is_part = |path: &PathBuf| {
                path.extension()
                    .is_some_and(|extension| extension == "part")
            };
            assert!(!left.iter().any(is_part), "{}: {left:?}", file.display());
            assert_eq!(
                left.iter()
                    .any(|path| path.ends_with(format!("out.{}", target.name()))),
                is_written
            );
            refused += usize::from(!is_written);
        }
    }
    assert!(refused > 100, "{refused} refused");
}

test_files!(no_glb_is_a_metal_or_has_spaces_in_its_json);

/// Without factors glTF means a full metal, which is black if nothing is reflected.
fn no_glb_is_a_metal_or_has_spaces_in_its_json(root: &Path) {
    each(root, Target::Glb, &Format::ALL, |file, path| {
        let glb = Glb::open(path);
        for primitive in glb
            .gltf
            .meshes()
            .flat_map(|mesh| mesh.primitives().collect::<Vec<_>>())
        {
            let material = primitive.material();
            assert!(
                material.index().is_some() && material.double_sided(),
                "{}",
                file.display()
            );
            let surface = material.pbr_metallic_roughness();
            assert_eq!(
                (surface.metallic_factor(), surface.roughness_factor()),
                (0.0, 0.8)
            );
        }
        let bytes = fs::read(path).unwrap();
        let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let json = &bytes[20..20 + length];
        assert!(
            length - json.trim_ascii_end().len() < 4,
            "{}",
            file.display()
        );
        assert_eq!(&bytes[8..12], (bytes.len() as u32).to_le_bytes());
    });
}

fn valid(format: &str, name: &str) -> MeshFile {
    MeshFile::open(data::valid(format, name)).unwrap()
}

fn regression(format: &str, name: &str) -> MeshFile {
    MeshFile::open(data::root().join(format).join("regressions").join(name)).unwrap()
}

#[test]
fn colours_have_the_names_that_programs_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = regression("iqm", "vertex_colors.iqm");
    let write = |target: Target| {
        let path = folder.path().join("out").with_extension(target.name());
        let convert = Convert::new(target);
        convert.write_file(&file, &path).unwrap();
        assert_eq!(
            check_file(&convert, &file, &path).unwrap().differs,
            [""; 0],
            "{target:?}"
        );
        fs::read(path).unwrap()
    };
    let ply = write(Target::Ply);
    let header = String::from_utf8_lossy(&ply);
    for name in ["red", "green", "blue", "alpha"] {
        assert!(
            header.contains(&format!("\nproperty uchar {name}\n")),
            "{header}"
        );
    }
    assert!(ply.windows(4).any(|bytes| bytes == [188, 60, 30, 255]));
    let obj = String::from_utf8(write(Target::Obj)).unwrap();
    let vertex = obj.lines().find(|line| line.starts_with("v ")).unwrap();
    let numbers: Vec<f32> = vertex[2..]
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    assert_eq!(
        numbers[3..],
        [188.0_f32, 60.0, 30.0].map(|number| number / 255.0)
    );

    // glTF and USD have linear colours, the others the file's sRGB.
    let linear = [188.0_f64, 60.0, 30.0].map(|number| ((number / 255.0 + 0.055) / 1.055).powf(2.4));
    let has =
        |bytes: &[u8], wanted: &[u8]| bytes.windows(wanted.len()).any(|window| window == wanted);
    let levels = linear.map(|number| ((number * 65535.0).round() as u16).to_le_bytes());
    assert!(has(&write(Target::Glb), levels.as_flattened()));
    let floats = linear.map(|number| (number as f32).to_le_bytes());
    assert!(has(&write(Target::Usdc), floats.as_flattened()));
}

#[test]
fn targets_without_joints_report_the_skeleton_and_the_animations() {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &MeshFile, target: Target| {
        let path = folder.path().join("out").with_extension(target.name());
        Convert::new(target).write_file(file, path).unwrap().report
    };
    let animated = valid("iqm", "skin_multi_anim.iqm");
    let skinned = valid("slmesh", "ours_skin_a.slmesh");
    for target in [Target::Obj, Target::Ply, Target::Stl] {
        let report = write(&animated, target);
        let count = |kind| {
            let entries = report.left_out.iter();
            let mut entries = entries.filter(|entry| entry.what.kind == kind);
            entries.next().map(|entry| entry.count)
        };
        assert_eq!(count(FactKind::Joints), Some(5), "{target}: {report:?}");
        assert_eq!(count(FactKind::Clips), Some(4), "{target}: {report:?}");
        assert!(!report.lacks(FactKind::SkinJoints), "{target}: {report:?}");
        let report = write(&skinned, target);
        assert!(report.lacks(FactKind::SkinJoints), "{target}: {report:?}");
    }
    for target in [Target::Glb, Target::Gltf, Target::Usdc, Target::Usdz] {
        for file in [&animated, &skinned] {
            let report = write(file, target);
            for kind in [FactKind::Joints, FactKind::SkinJoints, FactKind::Clips] {
                assert!(!report.lacks(kind), "{target}: {report:?}");
            }
        }
    }
}

/// glTF and USD have the frames of an animation, and no place for the flag that it repeats.
#[test]
fn targets_with_animations_report_their_loop_flags() {
    let folder = tempfile::tempdir().unwrap();
    for (name, targets) in [
        ("skin_multi_anim.iqm", &[Target::Glb, Target::Gltf][..]),
        (
            "anim_only_joints.iqm",
            &[Target::Glb, Target::Gltf, Target::Usdc],
        ),
    ] {
        let file = valid("iqm", name);
        let model = file.as_iqm().unwrap();
        let looping = model.anims().filter(meshmap::iqm::Anim::is_loop).count();
        assert!(looping > 0, "{name}");
        for target in targets {
            let path = folder.path().join("out").with_extension(target.name());
            let report = Convert::new(*target)
                .write_file(&file, path)
                .unwrap()
                .report;
            let mut entries = report.left_out.iter();
            let entry = entries.find(|entry| entry.what.kind == FactKind::LoopFlags);
            let count = entry.map(|entry| entry.count);
            assert_eq!(count, Some(looping as u64), "{name} as {target}");
        }
    }
}

/// Compilers write NaN tangents where texture coordinates have no area.
#[test]
fn attributes_that_are_not_finite_are_left_out_and_positions_are_refused() {
    use meshmap_testing::fixtures::{cgeo, iqm};

    let folder = tempfile::tempdir().unwrap();
    let path = |target: Target| folder.path().join("out").with_extension(target.name());
    let clean = iqm::Writer::sheets(2, 3, 2).to_bytes();
    let open = |bytes: Vec<u8>| open::file(bytes);
    let ranges: Vec<_> = open(clean.clone())
        .as_iqm()
        .unwrap()
        .vertex_arrays()
        .map(|array| array.range.start as usize)
        .collect();
    // Position, texture coordinates, normals and tangents, each of the second mesh, in which 6 vertices come first.
    for (array, components, name) in [(1, 2, "texcoord"), (2, 3, "normal"), (3, 4, "tangent")] {
        let mut bytes = clean.clone();
        bytes[ranges[array] + 6 * components * 4..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
        let file = open(bytes);
        for target in Target::ALL
            .into_iter()
            .filter(|target| *target != Target::Pc2)
        {
            let convert = Convert::new(target);
            let outcome = convert.write_file(&file, path(target)).unwrap();
            assert_eq!(
                check_file(&convert, &file, path(target)).unwrap().differs,
                [""; 0],
                "{target:?}"
            );
            let element = format!("meshes[1].{name}[0] is NaN");
            let is_reported = outcome
                .report
                .left_out
                .iter()
                .any(|entry| entry.what.why == Why::NotFinite && entry.first == [&*element]);
            let is_held = match target {
                Target::Stl => false,
                Target::Obj => name != "tangent",
                _ => true,
            };
            assert_eq!(is_reported, is_held, "{target:?}: {:?}", outcome.report);
            let zero = Convert {
                zero_non_finite: true,
                ..Convert::new(target)
            }
            .write_file(&file, path(target));
            let zeroed = zero.unwrap().report.count_of(Change::NonFiniteZeroed);
            assert_eq!(zeroed > 0, is_held, "{target:?}");
        }
        let (_, rendered) = meshmap_render::Render {
            size: Some([16, 16]),
            ..Default::default()
        }
        .picture(&file)
        .unwrap();
        assert_eq!(rendered.report.lacks(FactKind::Normals), name == "normal");
    }
    let mut bytes = clean;
    bytes[ranges[0]..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
    for target in Target::ALL
        .into_iter()
        .filter(|target| *target != Target::Pc2)
    {
        let error = Convert::new(target)
            .write_file(&open(bytes.clone()), path(target))
            .unwrap_err();
        assert!(
            matches!(error, Error::NonFinite { .. }),
            "{target:?}: {error}"
        );
        assert!(
            error
                .to_string()
                .starts_with("meshes[0].position[0] is NaN"),
            "{target:?}: {error}"
        );
    }
    // Snapshots of CGeo files have separate indices for each stream.
    let mut sheet = cgeo::Mesh::sheet(4, 1, 0.0);
    sheet.normals[2][1] = f32::NAN;
    sheet.texcoords[0][3][2] = f32::INFINITY;
    let bytes = cgeo::file(
        &[cgeo::snapshot(&sheet, sheet.complete())],
        meshmap::cgeo::Dialect::default(),
    );
    for target in [Target::Glb, Target::Obj, Target::Usdc] {
        let (file, convert) = (open(bytes.clone()), Convert::new(target));
        let outcome = convert.write_file(&file, path(target)).unwrap();
        assert_eq!(
            check_file(&convert, &file, path(target)).unwrap().differs,
            [""; 0],
            "{target:?}"
        );
        let left_out = outcome.report.left_out.iter();
        let unusable = left_out.filter(|entry| entry.what.why == Why::NotFinite);
        let kinds: Vec<FactKind> = unusable.map(|entry| entry.what.kind).collect();
        assert_eq!(
            kinds,
            [FactKind::Normals, FactKind::TexCoords],
            "{target:?}"
        );
    }
}

#[test]
fn the_bind_shape_of_a_second_life_mesh_reaches_every_target() {
    let folder = tempfile::tempdir().unwrap();
    let file = regression("slmesh", "bind_shape.slmesh");
    let asset = file.as_slmesh().unwrap();
    let shape = asset.skin().unwrap().unwrap().bind_shape_matrix.unwrap();
    let lod = asset.lod(meshmap::slmesh::Lod::High).unwrap().unwrap();
    let face = lod.faces().next().unwrap();
    let moved = |[x, y, z]: [f32; 3]| {
        [0, 1, 2]
            .map(|row| shape[row] * x + shape[4 + row] * y + shape[8 + row] * z + shape[12 + row])
    };
    let expected: Vec<[f32; 3]> = face.positions().unwrap().iter().map(moved).collect();
    let largest = expected
        .as_flattened()
        .iter()
        .fold(0.0, |most: f32, number| most.max(number.abs()));
    let are_near = |found: &[[f32; 3]]| {
        found.len() == expected.len()
            && found
                .as_flattened()
                .iter()
                .zip(expected.as_flattened())
                .all(|(a, b)| (a - b).abs() < largest * 1e-5)
    };
    for target in Target::ALL
        .into_iter()
        .filter(|target| *target != Target::Pc2)
    {
        let path = folder.path().join("out").with_extension(target.name());
        let convert = Convert {
            raw: target == Target::Obj,
            ..Convert::new(target)
        };
        convert.write_file(&file, &path).unwrap();
        assert_eq!(
            check_file(&convert, &file, &path).unwrap().differs,
            [""; 0],
            "{target:?}"
        );
        let bytes = fs::read(&path).unwrap();
        let positions: Vec<[f32; 3]> = match target {
            Target::Glb => {
                let glb = Glb::open(&path);
                glb.gltf
                    .meshes()
                    .flat_map(|mesh| glb.positions(&mesh.primitives().next().unwrap()))
                    .collect()
            }
            Target::Obj => {
                let text = String::from_utf8(bytes).unwrap();
                let lines = text.lines().filter_map(|line| line.strip_prefix("v "));
                lines
                    .map(|line| {
                        let mut numbers = line.split(' ').map(|number| number.parse().unwrap());
                        [(); 3].map(|()| numbers.next().unwrap())
                    })
                    .collect()
            }
            // `check_file` has compared the others with the same scene.
            _ => continue,
        };
        assert!(
            are_near(&positions),
            "{target:?}: {positions:?}, {expected:?}"
        );
    }
    let outcome = Convert::new(Target::Obj)
        .write_file(&file, folder.path().join("out.obj"))
        .unwrap();
    let moved = outcome.report.count_of(Change::BindShapeApplied);
    assert!(moved > 0, "{outcome:?}");
}

/// Programs transform normals by the matrices of a skin as they are, so that these have no scales of three sizes.
#[test]
fn normals_of_skinned_meshes_are_drawn_right() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.glb");
    let valid = MeshFile::open(data::valid("slmesh", "odd_s08_pelvis_array.slmesh")).unwrap();
    for file in [regression("slmesh", "bind_shape.slmesh"), valid] {
        let asset = file.as_slmesh().unwrap();
        let shape = asset.skin().unwrap().unwrap().bind_shape();
        let lod = asset.lod(meshmap::slmesh::Lod::High).unwrap().unwrap();
        let normals = lod.faces().next().unwrap().normals().unwrap().unwrap();
        for quantized in [false, true] {
            let convert = Convert {
                quantized,
                ..Convert::new(Target::Glb)
            };
            convert.write_file(&file, &path).unwrap();
            assert_eq!(check_file(&convert, &file, &path).unwrap().differs, [""; 0]);
            let drawn = skinned_normals(&Glb::open(&path));
            assert!(!drawn.is_empty() && drawn.len() == normals.len());
            for (stored, drawn) in normals.iter().zip(drawn) {
                let expected = shape.as_ref().map_or(stored, |shape| shape.normal(stored));
                let [dot, length] = [drawn, expected.map(f64::from)].map(|other| {
                    expected
                        .iter()
                        .zip(other)
                        .map(|(a, b)| f64::from(*a) * b)
                        .sum::<f64>()
                });
                assert!(dot > 0.9999 * length.sqrt(), "{stored:?} {drawn:?}");
            }
        }
    }
}

/// The normals of the first mesh in the bind pose, as programs transform them: by the sum of the matrices of the joints, without their
/// inverse.
fn skinned_normals(glb: &Glb) -> Vec<[f64; 3]> {
    let skin = glb.gltf.skins().next().unwrap();
    let reader = skin.reader(|_| Some(glb.blob()));
    let multiply = |a: &[[f32; 4]; 4], b: &[[f32; 4]; 4]| -> [[f64; 3]; 3] {
        [0, 1, 2].map(|column| {
            [0, 1, 2].map(|row| {
                (0..4)
                    .map(|k| f64::from(a[k][row]) * f64::from(b[column][k]))
                    .sum()
            })
        })
    };
    let inverse = reader.read_inverse_bind_matrices().unwrap();
    let matrices: Vec<_> = skin
        .joints()
        .zip(inverse)
        .map(|(joint, inverse)| multiply(&joint.transform().matrix(), &inverse))
        .collect();
    let primitive = glb
        .gltf
        .meshes()
        .next()
        .unwrap()
        .primitives()
        .next()
        .unwrap();
    let reader = primitive.reader(|_| Some(glb.blob()));
    let (joints, weights) = (
        reader.read_joints(0).unwrap().into_u16(),
        reader.read_weights(0).unwrap().into_f32(),
    );
    let moved = joints.zip(weights).zip(reader.read_normals().unwrap()).map(
        |((joints, weights), normal)| {
            let mut sum = [0.0; 3];
            for (joint, weight) in joints.iter().zip(weights) {
                for (column, part) in matrices[usize::from(*joint)].iter().zip(normal) {
                    sum.iter_mut()
                        .zip(column)
                        .for_each(|(sum, number)| *sum += number * f64::from(part * weight));
                }
            }
            let length = sum.iter().map(|number| number * number).sum::<f64>().sqrt();
            sum.map(|number| number / length)
        },
    );
    moved.collect()
}

#[test]
fn vertices_without_weights_follow_a_joint_that_rests() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.glb");
    let file = regression("iqm", "vertices_without_weights.iqm");
    let outcome = Convert::new(Target::Glb).write_file(&file, &path).unwrap();
    assert_eq!(outcome.report.count_of(Change::VerticesResting), 12);
    assert_eq!(
        check_file(&Convert::new(Target::Glb), &file, &path)
            .unwrap()
            .differs,
        [""; 0]
    );
    let glb = Glb::open(&path);
    let skin = glb.gltf.skins().next().unwrap();
    let names: Vec<_> = skin
        .joints()
        .map(|joint| joint.name().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["root", "meshmap_rest"]);
    let rest = skin.joints().last().unwrap();
    let root = glb
        .gltf
        .nodes()
        .find(|node| node.name() == Some("meshmap_root"))
        .unwrap();
    assert!(root.children().any(|child| child.index() == rest.index()));
    let identity = gltf::scene::Transform::Matrix {
        matrix: [0, 1, 2, 3].map(|a| [0, 1, 2, 3].map(|b| f32::from(u8::from(a == b)))),
    };
    assert_eq!(rest.transform().matrix(), identity.clone().matrix());
    let reader = skin.reader(|_| Some(glb.blob()));
    assert_eq!(
        reader.read_inverse_bind_matrices().unwrap().last().unwrap(),
        identity.matrix()
    );
    assert!(
        glb.gltf
            .animations()
            .flat_map(|anim| anim.channels().collect::<Vec<_>>())
            .all(|channel| channel.target().node().index() != rest.index())
    );
    let primitive = glb
        .gltf
        .meshes()
        .next()
        .unwrap()
        .primitives()
        .next()
        .unwrap();
    let reader = primitive.reader(|_| Some(glb.blob()));
    let joints: Vec<_> = reader
        .read_joints(0)
        .unwrap()
        .into_u16()
        .map(|joints| joints[0])
        .collect();
    assert_eq!(joints.iter().filter(|joint| **joint == 1).count(), 12);
}

/// The viewer of Second Life uses the last joint.
#[test]
fn joints_of_second_life_that_are_not_there_are_the_last_joint() {
    use meshmap_testing::fixtures::slmesh::{Llsd, Writer, sheet, skin};

    let folder = tempfile::tempdir().unwrap();
    let lod = Llsd::Array(vec![sheet(4, 5)]);
    let bytes = Writer::default()
        .block("high_lod", &lod)
        .block("skin", &skin(2))
        .to_bytes();
    let file = open::file(bytes);
    let (path, convert) = (folder.path().join("out.glb"), Convert::new(Target::Glb));
    let outcome = convert.write_file(&file, &path).unwrap();
    let clamped = outcome.report.count_of(Change::WeightsClamped);
    assert!(clamped > 0, "{outcome:?}");
    assert_eq!(check_file(&convert, &file, &path).unwrap().differs, [""; 0]);
    let glb = Glb::open(&path);
    let primitive = glb
        .gltf
        .meshes()
        .next()
        .unwrap()
        .primitives()
        .next()
        .unwrap();
    let reader = primitive.reader(|_| Some(glb.blob()));
    assert!(
        reader
            .read_joints(0)
            .unwrap()
            .into_u16()
            .flatten()
            .all(|joint| joint < 2)
    );
}

#[test]
fn joints_of_a_file_without_meshes_are_a_skin() {
    let file = MeshFile::open(data::valid("iqm", "anim_constant.iqm")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.glb");
    Convert::new(Target::Glb).write_file(&file, &path).unwrap();
    let glb = Glb::open(&path);
    let skins: Vec<_> = glb.gltf.skins().collect();
    assert_eq!(skins.len(), 1);
    assert_eq!(
        skins[0].joints().count(),
        file.as_iqm().unwrap().poses().len()
    );
    let animations: Vec<_> = glb.gltf.animations().collect();
    assert_eq!(animations.len(), 1);
}

#[test]
fn clips_have_keys_for_everything_that_moves_in_one_of_them() {
    /// The node, the property and the number of keys of each channel.
    type Channels = Vec<(usize, String, usize)>;

    let folder = tempfile::tempdir().unwrap();
    let (path, convert) = (folder.path().join("out.glb"), Convert::new(Target::Glb));
    let clips = |file: &MeshFile, convert: &Convert| -> Vec<(String, Channels)> {
        let outcome = convert.write_file(file, &path).unwrap();
        assert!(!outcome.report.lacks(FactKind::Clips), "{outcome:?}");
        assert_eq!(check_file(convert, file, &path).unwrap().differs, [""; 0]);
        let channel = |channel: gltf::animation::Channel<'_>| {
            let property = format!("{:?}", channel.target().property());
            (
                channel.target().node().index(),
                property,
                channel.sampler().input().count(),
            )
        };
        let glb = Glb::open(&path);
        let clip = |clip: gltf::Animation<'_>| {
            (
                clip.name().unwrap().to_owned(),
                clip.channels().map(channel).collect(),
            )
        };
        glb.gltf.animations().map(clip).collect()
    };
    let file = regression("iqm", "clips_in_which_nothing_moves.iqm");
    let translation = |keys| (0, "Translation".to_owned(), keys);
    // One that loops ends with its first frame.
    assert_eq!(
        clips(&file, &convert),
        [
            ("idle".to_owned(), vec![translation(2)]),
            ("walk".to_owned(), vec![translation(5)])
        ]
    );
    // Also if it is the only one.
    assert_eq!(
        clips(
            &file,
            &Convert {
                anim: Some("idle".to_owned()),
                ..convert.clone()
            }
        ),
        [("idle".to_owned(), vec![translation(2)])]
    );
    let file = MeshFile::open(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let moved = clips(&file, &convert).into_iter().map(|(_, channels)| {
        channels
            .into_iter()
            .map(|(node, property, _)| (node, property))
            .collect::<Vec<_>>()
    });
    let moved: Vec<_> = moved.collect();
    assert!(
        moved.len() > 1 && moved.iter().all(|channels| *channels == moved[0]),
        "{moved:?}"
    );
}

#[test]
fn settings_that_a_target_has_no_use_for_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = MeshFile::open(data::root().join("cgeo/valid/anim_a.cgeo")).unwrap();
    for target in Target::ALL {
        let path = folder.path().join("out").with_extension(target.name());
        let (is_gltf, has_unit) = (
            matches!(target, Target::Glb | Target::Gltf),
            matches!(target, Target::Usdc | Target::Usdz),
        );
        let new = || Convert::new(target);
        for (convert, is_used) in [
            (
                Convert {
                    up: Some(meshmap::Axis::Z),
                    ..new()
                },
                true,
            ),
            (
                Convert {
                    unit_millimeters: Some(10.0),
                    ..new()
                },
                true,
            ),
            (Convert { raw: true, ..new() }, !is_gltf && !has_unit),
            (
                Convert {
                    fps: Some(30.0),
                    ..new()
                },
                is_gltf || has_unit,
            ),
            (
                Convert {
                    dense: true,
                    ..new()
                },
                is_gltf,
            ),
            (
                Convert {
                    quantized: true,
                    ..new()
                },
                is_gltf,
            ),
            (
                Convert {
                    nest: true,
                    ..new()
                },
                is_gltf || has_unit,
            ),
            (
                Convert {
                    morph_normals: true,
                    ..new()
                },
                is_gltf,
            ),
            (
                Convert {
                    merge_materials: true,
                    ..new()
                },
                !matches!(target, Target::Ply | Target::Stl),
            ),
            (
                Convert {
                    keep_materials: true,
                    ..new()
                },
                !matches!(target, Target::Ply | Target::Stl),
            ),
            (
                Convert {
                    keep_degenerate: true,
                    ..new()
                },
                has_unit,
            ),
        ] {
            match convert.write_file(&file, &path) {
                Ok(_) => assert!(is_used, "{convert:?}"),
                Err(Error::Unused { targets, .. }) => {
                    assert!(!is_used && !targets.contains(&target.name()), "{convert:?}");
                }
                Err(error) => panic!("{convert:?}: {error}"),
            }
            assert_eq!(convert.check_settings().is_ok(), is_used);
        }
    }
    let error = Convert {
        fps: Some(24.0),
        ..Convert::new(Target::Stl)
    }
    .check_settings()
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "stl: the option `fps` has no effect; it is for glb, gltf, usdc and usdz"
    );
    let outcome = Convert::new(Target::Stl)
        .write_file(&file, folder.path().join("out.stl"))
        .unwrap();
    assert!(!outcome.report.lacks(FactKind::Unit));
}

/// The number of vertices that are scaled to another unit.
fn scaled(outcome: &Outcome) -> u64 {
    let mut entries = outcome.report.changed.iter();
    let entry = entries.find(|entry| matches!(entry.what, Change::UnitConverted { .. }));
    entry.map_or(0, |entry| entry.count)
}

#[test]
fn the_unit_of_a_file_reaches_each_target() {
    let folder = tempfile::tempdir().unwrap();
    let file = MeshFile::open(data::root().join("cgeo/valid/anim_a.cgeo")).unwrap();
    assert_eq!(
        file.as_cgeo().unwrap().unit_length().unwrap().millimeters,
        10.0
    );
    for target in Target::ALL {
        let path = folder.path().join("out").with_extension(target.name());
        let outcome = Convert::new(target).write_file(&file, &path).unwrap();
        let text = |extension| {
            String::from_utf8_lossy(&std::fs::read(path.with_extension(extension)).unwrap())
                .into_owned()
        };
        let comment = match target {
            Target::Obj | Target::Pc2 => text("obj").contains("\n# unit: 1000 mm\n"),
            Target::Ply => text("ply").contains("\ncomment unit: 1000 mm\n"),
            Target::Stl => text("stl").starts_with("meshmap, unit: 1 mm  "),
            Target::Glb | Target::Gltf | Target::Usdc | Target::Usdz => {
                let checked = check_file(&Convert::new(target), &file, &path).unwrap();
                assert!(
                    checked
                        .lines
                        .contains(&"the unit: all 1 equal bit for bit".to_owned()),
                    "{target}"
                );
                assert!(!outcome.report.lacks(FactKind::Unit), "{target}");
                continue;
            }
            _ => panic!("{target} is new"),
        };
        assert!(comment, "{target}");
        assert!(scaled(&outcome) > 0, "{target}: {outcome:?}");
        let raw = Convert {
            raw: true,
            ..Convert::new(target)
        };
        let outcome = raw.write_file(&file, &path).unwrap();
        let mut entries = outcome.report.left_out.iter();
        let unit = entries.find(|entry| entry.what.kind == FactKind::Unit);
        assert_eq!(unit.unwrap().first, ["10 mm"], "{target}");
        assert_eq!(scaled(&outcome), 0, "{target}");
    }
}

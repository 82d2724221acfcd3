//! Files of all formats, compared with the library.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod common;

use std::path::{Path, PathBuf};

use bevy_app::App;
use bevy_asset::{Assets, Handle};
use bevy_mesh::{Indices, Mesh, Mesh3d, PrimitiveTopology, VertexAttributeValues};
use bevy_meshmap::meshmap::{Error, Format, MeshFile, MeshView, Role, Semantic, VOrigin, Winding};
use bevy_meshmap::{DamagedParts, MeshmapFile, MeshmapMesh, MeshmapPlugin};
use bevy_world_serialization::WorldAssetRoot;
use common::{app, load, until, wait};
use meshmap_testing::data::files;
use meshmap_testing::{has_bind_shape, runs_against_normals};

fn formats() -> impl Iterator<Item = &'static str> {
    Format::ALL.iter().map(|format| format.name())
}

/// The parts of each mesh that is drawn, by the library only.
fn expected(path: &Path) -> Result<Vec<Vec<MeshView>>, Error> {
    let file = MeshFile::open(path)?;
    let mut from = file.format().conventions();
    // Conventions that a format does not define are as in OpenGL, unless normals show others.
    let front = from.front_face.unwrap_or(Winding::CounterClockwise);
    from.front_face = Some(match (runs_against_normals(&file), front) {
        (false, front) => front,
        (true, Winding::Clockwise) => Winding::CounterClockwise,
        (true, _) => Winding::Clockwise,
    });
    from.v_origin = Some(from.v_origin.unwrap_or(VOrigin::Bottom));
    let mut to = from;
    to.up = None;
    to.unit = None;
    to.front_face = Some(Winding::CounterClockwise);
    to.v_origin = Some(VOrigin::Top);
    let mut meshes = Vec::new();
    let mut entries: Vec<_> = file
        .meshes()?
        .filter(|entry| entry.role.is_drawn_by_default())
        .collect();
    if entries.is_empty() {
        // The finest of the levels that there are.
        let lod = |role| {
            if let Role::Lod(lod) = role {
                Some(lod)
            } else {
                None
            }
        };
        entries = file
            .meshes()?
            .filter(|entry| lod(entry.role).is_some())
            .collect();
        let finest = entries.iter().filter_map(|entry| lod(entry.role)).min();
        entries.retain(|entry| lod(entry.role) == finest);
    }
    let all: Vec<MeshView> = entries
        .iter()
        .map(|entry| file.mesh(&entry.address))
        .collect::<Result<_, _>>()?;
    let are_points = all.iter().all(is_cloud);
    for mesh in all {
        if mesh.vertex_count() == 0 || !mesh.has(&Semantic::Position) {
            continue;
        }
        let mesh = mesh.turned(from, to)?.by_material()?;
        let mut groups = mesh
            .groups()
            .map(|group| mesh.group(group.index))
            .collect::<Result<Vec<_>, _>>()?;
        if are_points {
            groups = vec![mesh];
        }
        for group in &groups {
            group.attribute(&Semantic::Position)?;
        }
        meshes.push(groups);
    }
    Ok(meshes)
}

/// `true` if a mesh has no triangles, or few that have equal corners.
fn is_cloud(mesh: &MeshView) -> bool {
    let mut triangles = mesh.indices().triangles();
    triangles.len() * 3 < mesh.vertex_count()
        && triangles.all(|[a, b, c]| a == b || b == c || c == a)
}

fn bits<const N: usize>(values: &[[f32; N]]) -> Vec<u32> {
    values
        .as_flattened()
        .iter()
        .map(|value| value.to_bits())
        .collect()
}

fn compare(path: &Path, mesh: &Mesh, view: &MeshView) {
    let name = path.display();
    let stored = |semantic: &Semantic| view.attribute(semantic).unwrap();
    let VertexAttributeValues::Float32x3(positions) =
        mesh.attribute(Mesh::ATTRIBUTE_POSITION).unwrap()
    else {
        panic!("{name}: positions of another type");
    };
    let is_in_bind_shape =
        view.has(&Semantic::Joints(0)) && has_bind_shape(&MeshFile::open(path).unwrap());
    if !is_in_bind_shape {
        assert_eq!(
            bits(positions),
            bits(&stored(&Semantic::Position).unwrap().to_f32::<3>()),
            "{name}: positions"
        );
    }
    let indices: Vec<u32> = match mesh.indices() {
        Some(Indices::U16(indices)) => indices.iter().map(|index| u32::from(*index)).collect(),
        Some(Indices::U32(indices)) => indices.clone(),
        None => Vec::new(),
    };
    assert_eq!(
        mesh.primitive_topology() == PrimitiveTopology::PointList,
        is_cloud(view),
        "{name}: points"
    );
    let expected = if is_cloud(view) {
        Vec::new()
    } else {
        view.indices().to_vec()
    };
    assert_eq!(indices, expected, "{name}: indices");
    if let Some(colors) = stored(&Semantic::Color(0)) {
        let light = |channel: f32| match f64::from(channel) {
            dark if dark <= 0.04045 => dark / 12.92,
            bright => ((bright + 0.055) / 1.055).powf(2.4),
        };
        match mesh.attribute(Mesh::ATTRIBUTE_COLOR) {
            Some(VertexAttributeValues::Float32x4(found)) => {
                for ([r, g, b, a], found) in colors.iter_f32::<4>().zip(found) {
                    let expected = [light(r), light(g), light(b), a.into()];
                    let is_near = expected
                        .iter()
                        .zip(found)
                        .all(|(a, b)| (a - f64::from(*b)).abs() < 1e-6);
                    assert!(is_near, "{name}: {found:?}, expected {expected:?}");
                }
            }
            _ => assert!(
                colors
                    .iter_f32::<4>()
                    .flatten()
                    .any(|number| !(0.0..=1.0).contains(&number)),
                "{name}: no colours"
            ),
        }
    }
    if let Some(normals) = stored(&Semantic::Normal) {
        let Some(VertexAttributeValues::Float32x3(found)) = mesh.attribute(Mesh::ATTRIBUTE_NORMAL)
        else {
            panic!("{name}: no normals");
        };
        if !is_in_bind_shape {
            assert_eq!(bits(found), bits(&normals.to_f32::<3>()), "{name}: normals");
        }
    }
    for (set, attribute) in [Mesh::ATTRIBUTE_UV_0, Mesh::ATTRIBUTE_UV_1]
        .into_iter()
        .enumerate()
    {
        let Some(texcoords) = stored(&Semantic::TexCoord(set as u32)) else {
            assert!(
                mesh.attribute(attribute).is_none(),
                "{name}: texture coordinates from nowhere"
            );
            continue;
        };
        let Some(VertexAttributeValues::Float32x2(found)) = mesh.attribute(attribute) else {
            panic!("{name}: no texture coordinates");
        };
        assert_eq!(
            bits(found),
            bits(&texcoords.to_f32::<2>()),
            "{name}: texture coordinates"
        );
    }
    if let Some(VertexAttributeValues::Float32x4(found)) =
        mesh.attribute(Mesh::ATTRIBUTE_JOINT_WEIGHT)
    {
        let joint_count = match MeshFile::open(path).unwrap() {
            MeshFile::Iqm(model) => model.joints().len(),
            MeshFile::SlMesh(asset) => asset.skin().unwrap().unwrap().joint_names.unwrap().len(),
            _ => panic!("{name}: a skin from nowhere"),
        };
        let expected = view.influences(joint_count as u16).unwrap().unwrap();
        assert_eq!(bits(found), bits(&expected.weights), "{name}: weights");
        let Some(VertexAttributeValues::Uint16x4(found)) =
            mesh.attribute(Mesh::ATTRIBUTE_JOINT_INDEX)
        else {
            panic!("{name}: no joint indices");
        };
        assert_eq!(*found, expected.joints, "{name}: joint indices");
    }
}

/// Spawns the scene; returns its meshes.
fn spawn(app: &mut App, handle: &Handle<MeshmapFile>) -> Vec<Handle<Mesh>> {
    let scene = app
        .world()
        .resource::<Assets<MeshmapFile>>()
        .get(handle)
        .unwrap()
        .scene
        .clone();
    let root = app.world_mut().spawn(WorldAssetRoot(scene)).id();
    until(app, |app| {
        app.world()
            .get::<bevy_ecs::hierarchy::Children>(root)
            .map(|_| ())
    });
    let mut query = app.world_mut().query::<&Mesh3d>();
    let handles = query.iter(app.world()).map(|mesh| mesh.0.clone()).collect();
    app.world_mut().entity_mut(root).despawn();
    handles
}

fn valid_files_equal_the_library(root: &Path) {
    let mut app = app(root, MeshmapPlugin::default());
    let (mut loaded, mut failed) = (0, 0);
    for path in formats().flat_map(|format| files(&root.join(format).join("valid"))) {
        let handle = load(&app, path.strip_prefix(root).unwrap(), |_| {});
        let result = wait(&mut app, &handle);
        let expected = expected(&path);
        match (result, expected) {
            (Ok(()), Ok(expected)) => {
                loaded += 1;
                let mut spawned = spawn(&mut app, &handle);
                let world = app.world();
                let file = world
                    .resource::<Assets<MeshmapFile>>()
                    .get(&handle)
                    .unwrap();
                let meshes = world.resource::<Assets<MeshmapMesh>>();
                assert_eq!(
                    file.meshes.len(),
                    expected.len(),
                    "{}: meshes",
                    path.display()
                );
                for (mesh, groups) in file.meshes.iter().zip(&expected) {
                    let primitives = &meshes.get(mesh).unwrap().primitives;
                    assert_eq!(
                        primitives.len(),
                        groups.len(),
                        "{}: primitives",
                        path.display()
                    );
                    for (primitive, view) in primitives.iter().zip(groups) {
                        compare(
                            &path,
                            world
                                .resource::<Assets<Mesh>>()
                                .get(&primitive.mesh)
                                .unwrap(),
                            view,
                        );
                        let at = spawned.iter().position(|mesh| *mesh == primitive.mesh);
                        spawned.swap_remove(
                            at.unwrap_or_else(|| panic!("{}: not spawned", path.display())),
                        );
                    }
                }
                assert!(
                    spawned.is_empty(),
                    "{}: {} entities too many",
                    path.display(),
                    spawned.len()
                );
            }
            (Err(found), Err(error)) => {
                failed += 1;
                // The path is Bevy's to name: the library only knows the bytes.
                let text = error.to_string();
                let text = text.trim_start_matches(&format!("{}: ", path.display()));
                assert!(found.contains(text), "{found}\nis not\n{text}");
            }
            (Err(found), Ok(_)) => panic!("{}: {found}", path.display()),
            (Ok(()), Err(error)) => {
                panic!("{}: loaded, but the library fails: {error}", path.display())
            }
        }
    }
    println!("{loaded} files loaded, {failed} failed");
    assert!(loaded > 10 * failed.max(1));
}

meshmap_testing::test_files!(valid_files_equal_the_library);

fn damaged_files(root: &Path) -> Vec<PathBuf> {
    let folders = formats().flat_map(|format| {
        [
            root.join(format).join("bad"),
            root.join(format).join("regressions"),
        ]
    });
    folders
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| files(&folder))
        .collect()
}

/// Whatever the bytes, a load ends with a file or an error, and the app runs on.
fn damaged_files_never_panic(root: &Path) {
    let mut app = app(root, MeshmapPlugin::default());
    let mut failed = 0;
    for path in damaged_files(root) {
        for damaged in [DamagedParts::Fail, DamagedParts::Skip] {
            let path = path.strip_prefix(root).unwrap().to_owned();
            let handle = load(&app, &path, move |settings| settings.damaged = damaged);
            match wait(&mut app, &handle) {
                Ok(()) => drop(spawn(&mut app, &handle)),
                // Bevy turns a panic of a loader into an error, which must not hide it.
                Err(error) => {
                    failed += 1;
                    assert!(!error.contains("panicked"), "{}: {error}", path.display());
                }
            }
        }
    }
    assert!(failed > 20, "only {failed} of the damaged files failed");
}

meshmap_testing::test_files!(damaged_files_never_panic);

#[test]
fn every_changed_byte_of_a_small_model_gives_a_file_or_an_error() {
    let data = std::fs::read(meshmap_testing::data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut app = app(folder.path(), MeshmapPlugin::default());
    for at in (0..data.len()).step_by(data.len() / 200) {
        let mut changed = data.clone();
        changed[at] ^= 0xff;
        let name = format!("{at}.iqm");
        std::fs::write(folder.path().join(&name), changed).unwrap();
        let handle = load(&app, Path::new(&name), |settings| {
            settings.damaged = DamagedParts::Skip
        });
        if let Err(error) = wait(&mut app, &handle) {
            assert!(!error.contains("panicked"), "byte {at}: {error}");
        }
    }
}

#[test]
fn clouds_with_one_triangle_of_equal_corners_are_points() {
    let path = meshmap_testing::data::valid("openctm", "fakepointb_MG2.ctm");
    let mut app = app(path.parent().unwrap(), MeshmapPlugin::default());
    let handle = load(&app, Path::new(path.file_name().unwrap()), |_| {});
    wait(&mut app, &handle).unwrap();
    let meshes = spawn(&mut app, &handle);
    let mesh = app
        .world()
        .resource::<Assets<Mesh>>()
        .get(&meshes[0])
        .unwrap();
    assert_eq!(mesh.primitive_topology(), PrimitiveTopology::PointList);
    assert_eq!(
        (
            meshes.len(),
            mesh.count_vertices(),
            mesh.indices().is_none()
        ),
        (1, 720, true)
    );
}

/// The warnings of a file of the library.
fn warnings(format: &str, name: &str, changed: impl FnOnce(&mut Vec<u8>)) -> Vec<String> {
    let mut data = std::fs::read(meshmap_testing::data::root().join(format).join(name)).unwrap();
    changed(&mut data);
    let folder = tempfile::tempdir().unwrap();
    let name = Path::new(Path::new(name).file_name().unwrap());
    std::fs::write(folder.path().join(name), data).unwrap();
    let mut app = app(folder.path(), MeshmapPlugin::default());
    let handle = load(&app, name, |_| {});
    wait(&mut app, &handle).unwrap();
    app.world()
        .resource::<Assets<MeshmapFile>>()
        .get(&handle)
        .unwrap()
        .warnings
        .clone()
}

#[test]
fn what_is_not_shown_is_a_warning_for_each_kind() {
    assert_eq!(
        warnings("iqm", "regressions/vertex_colors.iqm", |_| {}),
        [""; 0]
    );
    let data_colors = |data: &mut Vec<u8>| {
        let number = |at: usize| u32::from_le_bytes(data[at..at + 4].try_into().unwrap()) as usize;
        let mut arrays = (0..number(44)).map(|array| number(52) + array * 20);
        let colors = arrays.find(|at| number(*at) == 6).unwrap();
        // As signed bytes, the numbers from 128 on are negative.
        data[colors + 8..][..4].fill(0);
    };
    assert_eq!(
        warnings("iqm", "regressions/vertex_colors.iqm", data_colors),
        ["colours with numbers outside of 0 to 1 are other data, and are left out"]
    );
    let found = warnings("iqm", "valid/custom.iqm", |_| {});
    assert_eq!(
        found,
        [
            "Bevy has no place for attributes with names of their own: 4 (meshes[0].lightmap, meshes[0].ao, \
             meshes[0].custom4, meshes[0].weight_d)"
        ]
    );
    let found = warnings("iqm", "valid/ours_formats_a.iqm", |_| {});
    assert_eq!(found.len(), 1);
    let names = "Bevy has no place for attributes with names of their own: ";
    assert!(
        found[0].starts_with(names) && found[0].ends_with(", ..)"),
        "{found:?}"
    );
    let frames = warnings("iqm", "valid/skin_multi_anim.iqm", |_| {});
    assert_eq!(frames.len(), 1);
    assert!(
        frames[0].starts_with("Bevy has no place for boxes around frames of animations: "),
        "{frames:?}"
    );
}

#[test]
fn meshes_without_triangles_are_points() {
    let mut data =
        std::fs::read(meshmap_testing::data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let number =
        |data: &[u8], at: usize| u32::from_le_bytes(data[at..at + 4].try_into().unwrap()) as usize;
    let (count, meshes) = (number(&data, 36), number(&data, 40));
    for mesh in 0..count {
        // num_triangles
        data[meshes + mesh * 24 + 20..][..4].fill(0);
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("points.iqm"), data).unwrap();
    let mut app = app(folder.path(), MeshmapPlugin::default());
    let handle = load(&app, Path::new("points.iqm"), |_| {});
    wait(&mut app, &handle).unwrap();
    let file = app
        .world()
        .resource::<Assets<MeshmapFile>>()
        .get(&handle)
        .unwrap();
    assert_eq!(file.meshes.len(), count);
    let mesh = &app
        .world()
        .resource::<Assets<MeshmapMesh>>()
        .get(&file.meshes[0])
        .unwrap()
        .primitives[0]
        .mesh;
    let mesh = app.world().resource::<Assets<Mesh>>().get(mesh).unwrap();
    assert_eq!(mesh.primitive_topology(), PrimitiveTopology::PointList);
    assert_eq!(
        (mesh.count_vertices(), mesh.indices().is_none()),
        (30, true)
    );
}

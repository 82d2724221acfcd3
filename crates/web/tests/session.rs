//! Sessions over the files of the repository: what they make is what the library makes of the whole file.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use meshmap::{Format, MeshFile, Options, Parallelism, Semantic, Source};
use meshmap_scene::{Scene, SceneOptions, VectorKind, matrix};
use meshmap_testing::fixtures;
use meshmap_web::{Failure, Pieces, Reply, Selection, Session, Settings, Wanted};
use serde_json::Value;

/// A client that answers what a session needs, and counts.
struct Client {
    session: Session,
    body: Vec<u8>,
    pieces: Pieces,
    requests: usize,
    fetched: usize,
}

impl Client {
    fn of(body: Vec<u8>, length: Option<u64>) -> Self {
        Self {
            session: Session::new(length, Settings::default()),
            body,
            pieces: Pieces::default(),
            requests: 0,
            fetched: 0,
        }
    }

    fn new(path: &Path) -> Self {
        let body = std::fs::read(path).unwrap();
        let length = body.len() as u64;
        Self::of(body, Some(length))
    }

    fn run(
        &mut self,
        mut job: impl FnMut(&mut Session) -> Result<Option<Reply>, Failure>,
    ) -> Result<Reply, Failure> {
        for _ in 0..10_000 {
            if let Some(reply) = job(&mut self.session)? {
                return Ok(reply);
            }
            for range in self.session.needed(self.pieces) {
                let end = range.end.min(self.body.len() as u64);
                let part = self
                    .body
                    .get(range.start as usize..end as usize)
                    .unwrap_or_default();
                self.requests += 1;
                self.fetched += part.len();
                if end < range.end {
                    self.session.set_length(self.body.len() as u64)?;
                }
                self.session.supply(range.start, part.to_vec())?;
            }
        }
        panic!("the job does not end");
    }

    fn open(&mut self) -> Result<Value, Failure> {
        self.run(Session::open).map(|reply| json(&reply))
    }

    /// The addresses of all meshes, and of blocks that cannot be read.
    fn addresses(&mut self, info: &Value) -> Vec<String> {
        let levels: Vec<String> = match info["format"].as_str().unwrap() {
            "slmesh" => list(&info["levels"])
                .iter()
                .map(|level| text(&level["name"]))
                .collect(),
            _ => vec![String::new()],
        };
        let mut out = Vec::new();
        for level in levels {
            match self.run(|session| session.list(&level, 0..usize::MAX)) {
                Ok(reply) => out.extend(
                    list(&json(&reply)["entries"])
                        .iter()
                        .map(|entry| text(&entry["address"])),
                ),
                Err(_) => out.push(level),
            }
        }
        out
    }

    fn mesh(&mut self, address: &str) -> Result<Reply, Failure> {
        self.run(|session| session.mesh(address, &Wanted::default()))
    }
}

fn json(reply: &Reply) -> Value {
    serde_json::from_str(&reply.json).unwrap()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().unwrap().clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn message(failure: Failure) -> String {
    failure.parts().message.clone()
}

fn data(format: &str, folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data")
        .join(format)
        .join(folder);
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|e| e != "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// The library over the same file, with the limits of a session.
fn library(path: &Path) -> meshmap::Result<MeshFile> {
    let limits = Settings::default().limits();
    let options = Options::default()
        .with_limits(limits)
        .with_parallelism(Parallelism::Off);
    MeshFile::from_source(Source::from_bytes(std::fs::read(path).unwrap()), &options)
}

type Points = Vec<[f32; 3]>;

/// Attributes and indices of a mesh, as the library has them.
fn expected(file: &MeshFile, address: &str) -> meshmap::Result<(Vec<Points>, Vec<u32>)> {
    let view = file.mesh(&address.parse().unwrap())?;
    let mut arrays = Vec::new();
    for info in view.attributes() {
        if let Some(attribute) = view.attribute(&info.semantic)? {
            arrays.push(attribute.to_f32::<3>());
        }
    }
    Ok((arrays, view.indices().to_vec()))
}

/// The floats of an array of a reply, three of each element.
fn floats(info: &Value, bytes: &[u8]) -> Option<Points> {
    if info["type"] != "f32" {
        return None;
    }
    let size = info["itemSize"].as_u64().unwrap() as usize;
    let numbers: Vec<f32> = bytes
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    Some(
        numbers
            .chunks_exact(size)
            .map(|element| std::array::from_fn(|i| element.get(i).copied().unwrap_or(0.0)))
            .collect(),
    )
}

fn indices(info: &Value, bytes: &[u8]) -> Vec<u32> {
    match info["indexType"].as_str().unwrap() {
        "u16" => bytes
            .chunks_exact(2)
            .map(|b| u16::from_le_bytes(b.try_into().unwrap()).into())
            .collect(),
        _ => bytes
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
            .collect(),
    }
}

fn bits(points: &[[f32; 3]]) -> Vec<[u32; 3]> {
    points.iter().map(|point| point.map(f32::to_bits)).collect()
}

#[test]
fn files_that_are_read_by_ranges_have_the_values_and_errors_of_the_library() {
    let (mut meshes, mut compared, mut errors) = (0, 0, 0);
    for path in Format::ALL
        .map(Format::name)
        .iter()
        .flat_map(|format| [data(format, "valid"), data(format, "bad")].concat())
    {
        let mut client = Client::new(&path);
        let (info, file) = match (client.open(), library(&path)) {
            (Ok(info), Ok(file)) => (info, file),
            (Err(failure), Err(error)) => {
                assert_eq!(message(failure), error.message(), "{}", path.display());
                errors += 1;
                continue;
            }
            (ours, theirs) => panic!("{}: {ours:?}, {theirs:?}", path.display()),
        };
        for address in client.addresses(&info) {
            let reply = match client.mesh(&address) {
                Ok(reply) => reply,
                Err(failure) => {
                    let error = expected(&file, &address).unwrap_err();
                    assert_eq!(
                        message(failure),
                        error.message(),
                        "{} {address}",
                        path.display()
                    );
                    errors += 1;
                    continue;
                }
            };
            let info = json(&reply);
            let (arrays, corners) = expected(&file, &address).unwrap();
            let described = list(&info["attributes"]);
            assert_eq!(described.len(), arrays.len());
            assert_eq!(reply.arrays.len(), arrays.len() + 2);
            for ((described, bytes), array) in described.iter().zip(&reply.arrays).zip(&arrays) {
                if let Some(floats) = floats(described, bytes) {
                    assert_eq!(
                        bits(&floats),
                        bits(array),
                        "{} {address} {described}",
                        path.display()
                    );
                    compared += 1;
                }
            }
            assert_eq!(indices(&info, &reply.arrays[arrays.len()]), corners);
            meshes += 1;
        }
    }
    assert!(
        meshes > 100 && compared > 100 && errors > 100,
        "{meshes} meshes, {compared} arrays, {errors} errors"
    );
}

#[test]
fn length_need_not_be_known() {
    for path in Format::ALL
        .map(Format::name)
        .iter()
        .flat_map(|format| data(format, "valid"))
    {
        let body = std::fs::read(&path).unwrap();
        let (mut known, mut unknown) = (Client::new(&path), Client::of(body, None));
        let (a, b) = (
            known.open().map_err(message),
            unknown.open().map_err(message),
        );
        assert_eq!(a, b, "{}", path.display());
    }
}

#[test]
fn one_level_of_detail_takes_its_block_and_the_header() {
    let path = &data("slmesh", "valid").into_iter().find(|path| {
        let info = Client::new(path).open();
        info.is_ok_and(|info| {
            list(&info["levels"])
                .iter()
                .filter(|level| !level["level"].is_null())
                .count()
                == 4
        })
    });
    let mut client = Client::new(path.as_ref().unwrap());
    let info = client.open().unwrap();
    let headers = client.fetched;
    let lowest = list(&info["levels"])[3].clone();
    assert_eq!(lowest["name"], "lowest_lod");
    client
        .run(|session| session.list("lowest_lod", 0..1))
        .unwrap();
    client.mesh("lowest_lod.faces[0]").unwrap();
    let block = lowest["byteRange"][1].as_u64().unwrap() - lowest["byteRange"][0].as_u64().unwrap();
    assert!(
        client.fetched - headers <= block as usize,
        "{} of {block}",
        client.fetched - headers
    );
}

#[test]
fn snapshots_are_played_with_the_vertices_of_the_first() {
    let (mut same, mut others) = (0, 0);
    for path in data("cgeo", "valid") {
        let mut client = Client::new(&path);
        let info = client.open().unwrap();
        for index in 0..info["snapshots"]["count"].as_u64().unwrap() as usize {
            let Ok(mesh) = client.mesh(&format!("snapshots[{index}]")) else {
                continue;
            };
            let Ok(moment) = client.run(|session| session.moment(0, index, true)) else {
                continue;
            };
            if !json(&moment)["isSame"].as_bool().unwrap() {
                others += 1;
                continue;
            }
            assert_eq!(
                moment.arrays[0],
                mesh.arrays[0],
                "{} {index}",
                path.display()
            );
            if json(&moment)["hasNormals"] == true {
                assert_eq!(
                    moment.arrays[1],
                    mesh.arrays[1],
                    "{} {index}",
                    path.display()
                );
            }
            same += 1;
        }
    }
    assert!(same > 20 && others > 0, "{same}, {others}");
}

#[test]
fn next_snapshot_is_fetched_at_once() {
    let path = data("cgeo", "valid")
        .into_iter()
        .find(|path| path.ends_with("anim_a.cgeo"))
        .unwrap();
    let mut client = Client::new(&path);
    client.open().unwrap();
    client.mesh("snapshots[0]").unwrap();
    client.run(|session| session.moment(0, 0, true)).unwrap();
    for index in 1..3 {
        let requests = client.requests;
        client
            .run(|session| session.moment(0, index, true))
            .unwrap();
        assert!(
            client.requests - requests <= 1,
            "{} requests",
            client.requests - requests
        );
    }
}

#[test]
fn positions_are_fetched_without_normals() {
    let (_, snapshots) = fixtures::cgeo::animation(240, 4);
    let body = fixtures::cgeo::file(&snapshots, meshmap::cgeo::Dialect::default());
    let [alone, both] = [false, true].map(|with_normals| {
        let mut client = Client::of(body.clone(), Some(body.len() as u64));
        client.open().unwrap();
        for index in 0..2 {
            client
                .run(|session| session.moment(0, index, with_normals))
                .unwrap();
        }
        let (requests, fetched) = (client.requests, client.fetched);
        let reply = client
            .run(|session| session.moment(0, 2, with_normals))
            .unwrap();
        assert_eq!(reply.arrays.len(), 1 + usize::from(with_normals));
        assert_eq!(client.requests - requests, 1);
        (reply.arrays[0].clone(), client.fetched - fetched)
    });
    assert_eq!(alone.0, both.0);
    assert!(alone.1 < both.1, "{} and {} bytes", alone.1, both.1);
}

/// The files that scenes are compared for.
fn scene_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for format in Format::ALL {
        files.extend(data(format.name(), "valid"));
    }
    files.extend(data("iqm", "regressions"));
    files.extend(data("slmesh", "regressions"));
    files
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    let (chunks, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty());
    chunks.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

/// The scene of the first snapshot or the finest level of a file, as the library has it.
fn scene_of(file: &MeshFile) -> Option<Scene> {
    let mut options = SceneOptions::default();
    options.skips_unreadable = true;
    if file.as_cgeo().is_some() {
        options.snapshots = Some(vec![0]);
    }
    Scene::new(file, &options).ok()
}

#[test]
fn scenes_are_those_of_the_library() {
    let mut shapes = 0;
    let mut moved = 0;
    let mut colors = 0;
    let mut joints = 0;
    for path in scene_files() {
        let mut client = Client::new(&path);
        let Ok(file) = library(&path) else { continue };
        client.open().unwrap();
        let reply = client.run(|session| session.scene(&Selection::default(), false));
        let Some(scene) = scene_of(&file) else {
            assert!(reply.is_err(), "{}", path.display());
            continue;
        };
        let reply = reply.unwrap();
        let found = json(&reply);
        let id = found["id"].as_u64().unwrap() as usize;
        assert_eq!(found["up"], scene.up().name());
        assert_eq!(found["metresPerUnit"].as_f64(), scene.unit().metres());
        let upright: Vec<f64> = list(&found["upright"])
            .iter()
            .map(|number| number.as_f64().unwrap())
            .collect();
        assert_eq!(upright, scene.upright());
        assert_eq!(found["arePoints"], scene.are_points());
        assert_eq!(list(&found["errors"]).len(), scene.unreadable().len());
        assert_eq!(list(&found["shapes"]).len(), scene.shapes().len());

        let mut remarks = scene.remarks().to_vec();
        let skeleton = scene.skeleton(&mut remarks).unwrap();
        let mut joint_count = None;
        if let Some(skeleton) = &skeleton {
            let described = list(&found["joints"]);
            joint_count = Some(described.len() as u16);
            assert_eq!(described.len(), skeleton.joints.len());
            for (described, joint) in described.iter().zip(&skeleton.joints) {
                assert_eq!(described["name"], *joint.name());
                assert_eq!(described["parent"], serde_json::json!(joint.parent));
                joints += 1;
            }
            let inverse = skeleton.inverse_bind.iter().flat_map(matrix::rounded);
            assert_eq!(numbers(&reply.arrays[0]), inverse.collect::<Vec<f32>>());
        } else {
            assert!(found["joints"].is_null());
        }
        let clips = scene.clips(usize::from(joint_count.unwrap_or(0)), &mut remarks);
        assert_eq!(list(&found["clips"]).len(), clips.len());
        let sentences: Vec<String> = remarks.iter().map(ToString::to_string).collect();
        assert_eq!(found["remarks"], serde_json::json!(sentences));

        let turns = scene
            .turns_triangles(meshmap::Winding::CounterClockwise)
            .unwrap();
        let tints = scene.tints();
        let mut tinted = Vec::new();
        for (index, shape) in scene.shapes().iter().enumerate() {
            let view = shape.view(0).unwrap();
            let mut of_shape = Vec::new();
            for group in view.groups() {
                let id = view.material_ids().map(|_| group.material);
                of_shape.extend(tints.color(index, id));
                colors += 1;
            }
            tinted.push(of_shape);
        }
        // In another order than in the file, so that what the first shape decides is not there yet.
        for (index, shape) in scene.shapes().iter().enumerate().rev() {
            let wanted = Wanted {
                linear_colors: true,
                ..Wanted::default()
            };
            let Ok(reply) = client.run(|session| session.shape(id, index, &wanted)) else {
                continue;
            };
            let found = json(&reply);
            let view = shape.view(0).unwrap();
            assert_eq!(found["address"], shape.address().to_string());
            assert_eq!(found["turnsTriangles"], turns);
            let described = list(&found["attributes"]);
            for (described, bytes) in described.iter().zip(&reply.arrays) {
                let semantic: Semantic = text(&described["semantic"]).parse().unwrap();
                if let Some(kind) = VectorKind::of(&semantic)
                    && let Some(floats) = floats(described, bytes)
                {
                    let mut expected = view.attribute(&semantic).unwrap().unwrap().to_f32::<3>();
                    if let Some(pose) = scene.pose() {
                        pose.apply_to(&view, kind, &mut expected).unwrap();
                        moved += 1;
                    }
                    assert_eq!(
                        bits(&floats),
                        bits(&expected),
                        "{} {semantic}",
                        path.display()
                    );
                }
            }
            let influences = joint_count.and_then(|count| shape.influences(count).unwrap());
            let resting = influences.map(|influences| influences.resting);
            assert_eq!(found["resting"], serde_json::json!(resting));
            let has_colors = described
                .iter()
                .any(|attribute| attribute["semantic"] == "color");
            let mut expected = tinted[index].clone();
            if has_colors {
                expected.fill(0xff);
            }
            assert_eq!(reply.arrays.last(), Some(&expected), "{}", path.display());
            shapes += 1;
        }
    }
    assert!(
        shapes > 100 && moved > 2 && colors > 100 && joints > 20,
        "{shapes} {moved} {colors} {joints}"
    );
}

#[test]
fn clips_lead_joints_to_the_places_of_their_samples() {
    let mut frames = 0;
    let mut sheared = 0;
    for path in [data("iqm", "valid"), data("iqm", "regressions")].concat() {
        let mut client = Client::new(&path);
        let Ok(file) = library(&path) else { continue };
        client.open().unwrap();
        let reply = client.run(|session| session.scene(&Selection::default(), false));
        let (Ok(reply), Some(scene)) = (reply, scene_of(&file)) else {
            continue;
        };
        let found = json(&reply);
        let joints = found["joints"].as_array().cloned().unwrap_or_default();
        let clips = scene.clips(joints.len(), &mut Vec::new());
        let described = list(&found["clips"]);
        assert_eq!(described.len(), clips.len(), "{}", path.display());
        for (index, clip) in clips.iter().enumerate() {
            assert_eq!(described[index]["name"], *clip.name());
            assert_eq!(described[index]["repeats"], clip.repeats());
            assert_eq!(described[index]["frameCount"], clip.frame_count());
            let reply = match client.run(|session| session.clip(0, index)) {
                Ok(reply) => reply,
                Err(failure) => {
                    assert_eq!(failure.parts().kind, "unsupported");
                    assert_eq!(message(failure), clip.local_keys().unwrap_err().to_string());
                    sheared += 1;
                    continue;
                }
            };
            let arrays: Vec<Vec<f32>> = reply.arrays.iter().map(|bytes| numbers(bytes)).collect();
            let keys = arrays[0].len();
            for (key, frame) in clip.key_frames().enumerate() {
                assert_eq!(arrays[0][key], (frame / f64::from(clip.rate())) as f32);
                let frame = frame as u32 % clip.frame_count() as u32;
                let expected = clip.sample(frame).unwrap();
                let mut places: Vec<[f64; 16]> = Vec::new();
                for (number, joint) in joints.iter().enumerate() {
                    let at = number * keys + key;
                    let of = |array: &[f32], size: usize| array[at * size..][..size].to_vec();
                    let trs = meshmap::iqm::Trs::new(
                        of(&arrays[1], 3).try_into().unwrap(),
                        of(&arrays[2], 4).try_into().unwrap(),
                        of(&arrays[3], 3).try_into().unwrap(),
                    );
                    let local = matrix::of_rows(&trs.to_matrix().map(|row| row.map(f64::from)));
                    places.push(match joint["parent"].as_u64() {
                        Some(parent) => matrix::multiply(&places[parent as usize], &local),
                        None => local,
                    });
                }
                for (place, expected) in places.iter().flatten().zip(expected.iter().flatten()) {
                    let size = expected.abs().max(1.0);
                    assert!(
                        (place - expected).abs() < 1e-4 * size,
                        "{} {frame}: {place} {expected}",
                        path.display()
                    );
                }
                frames += 1;
            }
        }
        let end = clips.len();
        let failure = client.run(|session| session.clip(0, end)).unwrap_err();
        assert_eq!(failure.parts().kind, "out_of_range");
    }
    assert!(frames > 10 && sheared > 0, "{frames} {sheared}");
}

#[test]
fn scenes_of_several_parts_are_read_in_any_order() {
    let path = data("slmesh", "valid")
        .into_iter()
        .find(|path| path.ends_with("nodemv_02_static_4lod.slmesh"))
        .unwrap();
    let mut client = Client::new(&path);
    client.open().unwrap();
    let mut scenes = Vec::new();
    for level in ["", "lowest_lod", "high_lod"] {
        let selection = Selection {
            level: level.to_owned(),
            ..Selection::default()
        };
        let scene = json(
            &client
                .run(|session| session.scene(&selection, false))
                .unwrap(),
        );
        scenes.push(scene["id"].as_u64().unwrap() as usize);
    }
    let wanted = Wanted::default();
    let mut counts = Vec::new();
    for id in [scenes[1], scenes[0], scenes[2]] {
        let shape = client.run(|session| session.shape(id, 0, &wanted)).unwrap();
        counts.push(json(&shape)["triangleCount"].as_u64().unwrap());
    }
    assert!(
        counts[0] < counts[1] && counts[1] == counts[2],
        "{counts:?}"
    );
    let none = Selection {
        level: "none".to_owned(),
        ..Selection::default()
    };
    let failure = client
        .run(|session| session.scene(&none, false))
        .unwrap_err();
    assert_eq!(failure.parts().kind, "out_of_range");
    let failure = client
        .run(|session| session.shape(99, 0, &wanted))
        .unwrap_err();
    assert_eq!(failure.parts().what, "scene");
    let failure = client
        .run(|session| session.shape(0, 99, &wanted))
        .unwrap_err();
    assert_eq!(failure.parts().what, "shape");
}

#[test]
fn meshes_beyond_the_maximum_are_counted() {
    let path = data("iqm", "valid")
        .into_iter()
        .find(|path| path.ends_with("ours_many_meshes_a.iqm"))
        .unwrap();
    let mut client = Client::new(&path);
    client.open().unwrap();
    let selection = Selection {
        max_meshes: 3,
        ..Selection::default()
    };
    let scene = json(
        &client
            .run(|session| session.scene(&selection, false))
            .unwrap(),
    );
    assert_eq!(list(&scene["shapes"]).len(), 3);
    assert_eq!(scene["moreMeshes"], 38);
}

#[test]
fn skins_are_those_of_the_file() {
    let mut skins = 0;
    for path in data("slmesh", "valid") {
        let mut client = Client::new(&path);
        let info = client.open().unwrap();
        let asset = meshmap::slmesh::Asset::from_source(
            Source::from_bytes(client.body.clone()),
            &Options::default(),
        )
        .unwrap();
        let has_block = list(&info["blocks"]).iter().any(|name| name == "skin");
        let reply = client.run(Session::skin).unwrap();
        let found = json(&reply);
        let Some(skin) = asset.skin().unwrap() else {
            assert_eq!(
                (&found["hasSkin"], reply.arrays.len()),
                (&Value::Bool(false), 0)
            );
            continue;
        };
        assert!(has_block);
        let names = skin
            .joint_names
            .iter()
            .flatten()
            .map(|name| name.to_string_lossy().into_owned());
        let names: Vec<String> = names.collect();
        assert_eq!(
            list(&found["jointNames"])
                .iter()
                .map(text)
                .collect::<Vec<_>>(),
            names
        );
        let found_shape = found["bindShapeMatrix"].as_array().map(|all| {
            all.iter()
                .map(|number| number.as_f64().unwrap() as f32)
                .collect::<Vec<_>>()
        });
        assert_eq!(
            found_shape,
            skin.bind_shape_matrix.map(|matrix| matrix.to_vec())
        );
        let all = [&skin.inverse_bind_matrices, &skin.alt_inverse_bind_matrices];
        let flags = [&found["hasInverse"], &found["hasAlternative"]];
        for ((stored, flag), bytes) in all.into_iter().zip(flags).zip(&reply.arrays) {
            assert_eq!(flag, stored.is_some());
            let numbers = stored
                .iter()
                .flat_map(|matrices| matrices.iter().flatten().collect::<Vec<_>>());
            assert_eq!(
                *bytes,
                numbers.flat_map(f32::to_le_bytes).collect::<Vec<u8>>()
            );
        }
        skins += 1;
    }
    assert!(skins > 8, "{skins}");
    let mut other = Client::new(&data("iqm", "valid")[0]);
    other.open().unwrap();
    assert_eq!(
        other.run(Session::skin).unwrap_err().parts().kind,
        "unsupported"
    );
}

#[test]
fn triangles_by_material_have_one_group_for_each() {
    let mut grouped = 0;
    for path in data("cgeo", "valid") {
        let mut client = Client::new(&path);
        client.open().unwrap();
        let wanted = Wanted {
            by_material: true,
            ..Wanted::default()
        };
        let Ok(reply) = client.run(|session| session.mesh("snapshots[0]", &wanted)) else {
            continue;
        };
        let groups = reply.arrays.last().unwrap();
        let numbers: Vec<u32> = groups
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
            .collect();
        let materials: Vec<u32> = numbers.chunks_exact(3).map(|group| group[0]).collect();
        let mut unique = materials.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(materials, unique);
        let indices: u32 = numbers.chunks_exact(3).map(|group| group[2]).sum();
        assert_eq!(
            u64::from(indices),
            json(&reply)["triangleCount"].as_u64().unwrap() * 3
        );
        grouped += usize::from(materials.len() > 1);
    }
    assert!(grouped > 0);
}

#[test]
fn quantized_positions_stay_integers_with_their_formula() {
    let path = &data("slmesh", "valid")[0];
    let mut client = Client::new(path);
    let info = client.open().unwrap();
    let address = client.addresses(&info).remove(0);
    let wanted = Wanted {
        quantized: true,
        attributes: vec!["position".to_owned()],
        ..Wanted::default()
    };
    let reply = client
        .run(|session| session.mesh(&address, &wanted))
        .unwrap();
    let described = &json(&reply)["attributes"][0];
    assert_eq!(
        (&described["type"], &described["normalized"]),
        (&"u16".into(), &true.into())
    );
    let (scale, offset) = (
        &described["dequant"]["scale"],
        &described["dequant"]["offset"],
    );
    let plain = client.mesh(&address).unwrap();
    let floats = floats(&json(&plain)["attributes"][0], &plain.arrays[0]).unwrap();
    let number = |value: &Value| value.as_f64().unwrap() as f32;
    for (element, float) in reply.arrays[0].chunks_exact(6).zip(floats) {
        let x = f32::from(u16::from_le_bytes([element[0], element[1]])) / 65535.0;
        assert_eq!(
            (x * number(&scale[0]) + number(&offset[0])).to_bits(),
            float[0].to_bits()
        );
    }
}

#[test]
fn what_is_over_a_limit_is_refused_before_memory_is_taken() {
    let path = data("tmf", "valid").remove(0);
    let body = std::fs::read(&path).unwrap();
    let length = Some(body.len() as u64);
    let settings = Settings {
        max_block_bytes: 64,
        max_total_bytes: 64,
        ..Settings::default()
    };
    let mut client = Client {
        session: Session::new(length, settings),
        body,
        pieces: Pieces::default(),
        requests: 0,
        fetched: 0,
    };
    let failure = client
        .open()
        .err()
        .or_else(|| client.mesh("meshes[0]").err())
        .unwrap();
    assert_eq!(failure.parts().kind, "limit_exceeded");
}

#[test]
fn calls_out_of_order_are_failures() {
    let mut session = Session::new(None, Settings::default());
    assert_eq!(session.list("", 0..1).unwrap_err().parts().what, "file");
    assert_eq!(
        session
            .mesh("meshes[", &Wanted::default())
            .unwrap_err()
            .parts()
            .kind,
        "out_of_range"
    );
    let mut client = Client::new(
        data("iqm", "valid")
            .iter()
            .find(|path| path.ends_with("skin_multi_anim.iqm"))
            .unwrap(),
    );
    client.open().unwrap();
    assert_eq!(
        client
            .run(|session| session.moment(0, 0, true))
            .unwrap_err()
            .parts()
            .kind,
        "unsupported"
    );
    assert!(client.requests > 0);
    assert_eq!(
        client.session.set_length(1).unwrap_err().parts().kind,
        "mismatch"
    );
    client.session.forget();
    assert_eq!(client.session.held(), 0);
    client.mesh("meshes[0]").unwrap();
}

/// All that is shown of these formats comes with the scene, without a byte that is not shown, and nothing twice.
#[test]
fn shapes_and_clips_are_fetched_with_the_scene() {
    for path in ["iqm", "openctm", "tmf"]
        .map(|format| data(format, "valid"))
        .concat()
    {
        // Too long to be fetched whole.
        let mut body = std::fs::read(&path).unwrap();
        let stored = body.len();
        body.resize(stored + (300 << 10), 0);
        let length = body.len() as u64;
        let mut client = Client::of(body, Some(length));
        client.pieces = Pieces {
            gap: 0,
            first: 512,
            whole: 0,
            ahead: 1 << 20,
        };
        if client.open().is_err() {
            continue;
        }
        let opened = client.requests;
        let Ok(scene) = client.run(|session| session.scene(&Selection::default(), true)) else {
            continue;
        };
        let before = client.requests;
        assert!(
            opened <= 4 && before - opened <= 4,
            "{}: {opened}, {before}",
            path.display()
        );
        let scene = json(&scene);
        let id = scene["id"].as_u64().unwrap() as usize;
        for index in 0..list(&scene["shapes"]).len() {
            let _ = client.run(|session| session.shape(id, index, &Wanted::default()));
        }
        for index in 0..list(&scene["clips"]).len() {
            let _ = client.run(|session| session.clip(id, index));
        }
        assert_eq!(client.requests, before, "{}", path.display());
        assert!(client.fetched <= client.body.len(), "{}", path.display());
    }
}

//! Sessions over the files of the repository: what they make is what the library makes of the whole file.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use meshmap::{Format, MeshFile, Options, Parallelism, Source};
use meshmap_testing::fixtures;
use meshmap_web::{Failure, Reply, Session, Settings, Wanted};
use serde_json::Value;

/// A client that answers what a session needs, and counts.
struct Client {
    session: Session,
    body: Vec<u8>,
    requests: usize,
    fetched: usize,
}

impl Client {
    fn of(body: Vec<u8>, length: Option<u64>) -> Self {
        Self {
            session: Session::new(length, Settings::default()),
            body,
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
            for range in self.session.needed(0, 0) {
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

#[test]
fn joints_and_frames_are_those_of_the_file() {
    let mut frames = 0;
    for path in data("iqm", "valid") {
        let mut client = Client::new(&path);
        let info = client.open().unwrap();
        let model = meshmap::iqm::Model::from_source(
            Source::from_bytes(client.body.clone()),
            &Options::default(),
        )
        .unwrap();
        let joints = json(&client.run(Session::joints).unwrap());
        assert_eq!(list(&joints["joints"]).len(), model.joints().len());
        for (index, anim) in model.anims().enumerate() {
            let reply = client.run(|session| session.frames(index)).unwrap();
            let poses = model.frames().pose_count();
            let mut expected = vec![meshmap::iqm::Trs::default(); anim.num_frames as usize * poses];
            model
                .frames()
                .read_range_into(anim.frames(), &mut expected)
                .unwrap();
            let expected = expected.iter().flat_map(|trs| {
                trs.translate
                    .into_iter()
                    .chain(trs.rotate)
                    .chain(trs.scale)
                    .collect::<Vec<_>>()
            });
            let bytes: Vec<u8> = expected.flat_map(f32::to_le_bytes).collect();
            assert_eq!(reply.arrays, [bytes]);
            let parents = json(&reply)["poseParents"].clone();
            let expected: Vec<_> = model.poses().map(|pose| pose.parent).collect();
            assert_eq!(parents, serde_json::json!(expected));
            frames += anim.num_frames;
        }
        assert_eq!(list(&info["anims"]).len(), model.anims().len());
        let end = model.anims().len();
        assert_eq!(
            client
                .run(|session| session.frames(end))
                .unwrap_err()
                .parts()
                .kind,
            "out_of_range"
        );
    }
    assert!(frames > 10);
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
        let parents = list(&found["jointParents"]);
        let parents: Vec<_> = parents
            .iter()
            .map(|parent| parent.as_u64().map(|at| at as usize))
            .collect();
        let pose = skin.bind_pose();
        let expected = match &pose {
            Some(pose) => pose.joints.iter().map(|joint| joint.parent).collect(),
            None => meshmap::slmesh::joint_parents(&names),
        };
        assert_eq!(parents, expected);
        let pose = pose.unwrap_or_default();
        let of = |matrix: fn(&meshmap::slmesh::BoundJoint) -> [f32; 16]| {
            pose.joints
                .iter()
                .flat_map(matrix)
                .flat_map(f32::to_le_bytes)
                .collect::<Vec<u8>>()
        };
        assert_eq!(
            reply.arrays[2..],
            [of(|joint| joint.local), of(|joint| joint.inverse)]
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
    };
    let mut client = Client {
        session: Session::new(length, settings),
        body,
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

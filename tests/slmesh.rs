//! Second Life mesh assets: what is handed out, what it costs, and what is refused.

use std::fs;
use std::path::Path;

use meshmap::slmesh::llsd::{Event, Reader};
use meshmap::slmesh::{Asset, CacheEntry, Lod, Mesh, MeshBuffer, UploadCache, WeightScale};
use meshmap::{
    Checksums, ErrorKind, Format, Fragments, IndexFormat, Limits, MeshFile, Options, Role, Rule,
    Scratch, Semantic, Severity, Source, Strictness, VertexFormat,
};
use meshmap_testing::fixtures::slmesh::{
    Llsd, Writer, everything, hulls, large, no_geometry, sheet, skin,
};
use meshmap_testing::{Recorder, data, fixtures, open, test_files};
use serde_json::{Value, json};

/// A rule of the format.
fn rule(id: &str) -> Rule {
    Rule::by_id(Format::SlMesh, id).unwrap()
}

fn asset(bytes: Vec<u8>) -> Asset {
    open::asset(bytes)
}

fn counts(mesh: &Mesh) -> (usize, usize) {
    (mesh.vertex_count(), mesh.triangle_count())
}

fn one_face(face: &Llsd) -> Vec<u8> {
    Writer::default()
        .block("high_lod", &Llsd::Array(vec![face.clone()]))
        .to_bytes()
}

fn extra(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/slmesh/extras")
        .join(name);
    fs::read(path).unwrap()
}

fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    bytes
        .into_iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The value that comes next, as the vectors write it down. The first of equal keys counts.
fn tagged(reader: &mut Reader<'_>, event: &Event<'_>) -> Option<Value> {
    Some(match event {
        Event::Undefined => json!({"undef": 0}),
        Event::Boolean(value) => json!({"bool": value}),
        Event::Integer(value) => json!({"int": value}),
        Event::Real(value) => json!({"real": hex(value.to_be_bytes())}),
        Event::Uuid(value) => {
            let text = hex(*value);
            let parts = [
                &text[..8],
                &text[8..12],
                &text[12..16],
                &text[16..20],
                &text[20..],
            ];
            json!({"uuid": parts.join("-")})
        }
        Event::String(text) => json!({"string_utf8_hex": hex(text.bytes())}),
        Event::Uri(text) => json!({"uri": text.to_string_lossy()}),
        Event::Date(value) => json!({"date_seconds": value}),
        Event::Binary(value) => json!({"binary_hex": hex(value.iter().copied())}),
        Event::BeginArray(_) => {
            let mut values = Vec::new();
            loop {
                match reader.next_event().ok()?? {
                    Event::EndArray => break json!({"array": values}),
                    event => values.push(tagged(reader, &event)?),
                }
            }
        }
        Event::BeginMap(_) => {
            let mut entries: Vec<[Value; 2]> = Vec::new();
            loop {
                let Event::Key(key) = reader.next_event().ok()?? else {
                    break json!({"map": entries});
                };
                let bytes: Vec<u8> = key.bytes().collect();
                let key = match String::from_utf8(bytes) {
                    Ok(text) => json!(text),
                    Err(error) => json!({"hex": hex(error.into_bytes())}),
                };
                let event = reader.next_event().ok()??;
                let value = tagged(reader, &event)?;
                if !entries.iter().any(|[other, _]| *other == key) {
                    entries.push([key, value]);
                }
            }
        }
        other => panic!("{other:?} where a value was due"),
    })
}

fn read_value(bytes: &[u8]) -> Option<Value> {
    let mut reader = Reader::new(bytes, &Limits::default());
    let event = reader.next_event().ok()??;
    tagged(&mut reader, &event)
}

/// The depth of nested arrays.
fn depth(value: &Value) -> u64 {
    value["array"]
        .as_array()
        .map_or(0, |values| 1 + values.iter().map(depth).max().unwrap_or(0))
}

fn assert_vectors(folder: &Path) {
    let vectors: Value =
        serde_json::from_slice(&fs::read(folder.join("vectors.json")).unwrap()).unwrap();
    let mut looked_at = 0;
    for (name, vector) in vectors.as_object().unwrap() {
        let found = read_value(&fs::read(folder.join(format!("{name}.llsd"))).unwrap());
        let want = &vector["want"];
        match want.as_str() {
            Some("error") => assert!(found.is_none(), "{name} was read: {found:?}"),
            Some("either") => {}
            _ => {
                let found = found.unwrap_or_else(|| panic!("{name} is refused"));
                match want["ok"]["depth"].as_u64() {
                    Some(expected) => assert_eq!(depth(&found), expected, "{name}"),
                    None => assert_eq!(found, want["ok"], "{name}"),
                }
            }
        }
        looked_at += 1;
    }
    assert!(looked_at > 70);
}

test_files!(llsd_vectors_read_as_expected);

fn llsd_vectors_read_as_expected(root: &Path) {
    assert_vectors(&root.join("slmesh/llsd"));
}

#[test]
fn header_tells_what_it_has_and_where_blocks_are() {
    let asset = asset(everything());
    assert_eq!(asset.version(), Some(1));
    assert_eq!(
        (asset.creator(), asset.date(), asset.submodel_id()),
        (Some([7; 16]), Some(1.5e9), Some(2))
    );
    let (_, cost) = asset
        .header()
        .find(|(key, _)| **key == "physics_cost_data")
        .unwrap();
    let mut reader = Reader::new(&cost, &Limits::default());
    let events: Vec<_> = std::iter::from_fn(|| reader.next_event().unwrap()).collect();
    assert_eq!(
        events
            .iter()
            .filter(|event| **event == Event::Real(0.5))
            .count(),
        9
    );
    assert!(events.contains(&Event::Real(1.5)));
    assert!(
        !asset.is_not_found() && asset.findings().is_empty(),
        "{:?}",
        asset.findings()
    );
    let names: Vec<_> = asset
        .entries()
        .map(|entry| entry.name().to_string())
        .collect();
    let expected = [
        "skin",
        "physics_convex",
        "lowest_lod",
        "low_lod",
        "medium_lod",
        "high_lod",
        "physics_mesh",
        "some_block",
    ];
    assert_eq!(names, expected);
    let ranges: Vec<_> = asset
        .entries()
        .map(|entry| entry.range().unwrap().unwrap())
        .collect();
    assert_eq!(ranges[0].start, asset.header_range().end);
    assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
    assert_eq!(
        asset.raw_block("some_block").unwrap().unwrap(),
        b"i\0\0\0\x07"[..]
    );
    assert_eq!(asset.raw_block("physics_havok").unwrap(), None);
    assert_eq!(MeshFile::SlMesh(asset.clone()).items().count(), 9);
    let (name, value) = asset.header().next().unwrap();
    assert_eq!(
        (name.to_str(), &value[..]),
        (Some("version"), &b"i\0\0\0\x01"[..])
    );
}

#[test]
fn bad_entry_spoils_its_block_only() {
    let map = |offset: Llsd, size: Llsd| Llsd::Map(vec![("offset", offset), ("size", size)]);
    let integer = Llsd::Integer;
    let lod = Llsd::Array(vec![sheet(3, 0)]);
    for entry in [
        map(integer(-3), integer(10)),
        map(integer(0), integer(-10)),
        map(integer(i32::MAX), integer(i32::MAX)),
        map(Llsd::String(b"0".to_vec()), integer(10)),
        map(Llsd::Real(0.5), integer(10)),
        Llsd::Map(vec![("size", integer(10))]),
        integer(7),
    ] {
        let bytes = Writer::default()
            .block("high_lod", &lod)
            .key("medium_lod", entry)
            .to_bytes();
        let asset = asset(bytes);
        assert_eq!(counts(&asset.lod(Lod::High).unwrap().unwrap()), (9, 8));
        let error = asset.lod(Lod::Medium).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Truncated),
            "{error}"
        );
        assert_eq!(error.address().unwrap().to_string(), "medium_lod");
        assert!(
            error.byte_range().is_some() && error.to_string().starts_with("slmesh: "),
            "{error}"
        );
        let decoded = asset.decode_all().unwrap();
        assert!(decoded.lod(Lod::High).is_ok() && decoded.lod(Lod::Medium).is_err());
        let blocks = asset.blocks().unwrap();
        assert_eq!(blocks[0].address.to_string(), "high_lod");
        let all = meshmap::decode_all(asset.source(), &blocks, &Options::default());
        assert!(all[0].is_ok() && all[1..].iter().all(Result::is_err));
    }
    for entry in [
        map(integer(-1), integer(10)),
        map(integer(5), integer(0)),
        map(Llsd::Real(2.0), Llsd::Real(0.0)),
    ] {
        let bytes = Writer::default()
            .block("high_lod", &lod)
            .key("medium_lod", entry)
            .to_bytes();
        assert!(asset(bytes).lod(Lod::Medium).unwrap().is_none());
    }
}

#[test]
fn checksum_that_is_wrong_is_an_error_unless_it_is_ignored() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/slmesh/bad/own_a_adler_high_lod.slmesh");
    let open =
        |options: &Options| Asset::from_source(Source::open(&path).unwrap(), options).unwrap();
    assert_eq!(
        open(&Options::default()).lod(Lod::High).unwrap_err().kind(),
        ErrorKind::Malformed
    );
    let ignoring = Options::default().with_checksums(Checksums::Ignore);
    assert!(open(&ignoring).lod(Lod::High).unwrap().is_some());
}

#[test]
fn best_lod_is_the_next_lower_and_then_the_next_higher() {
    let with = |lods: &[Lod]| {
        let writer = lods.iter().fold(Writer::default(), |writer, lod| {
            writer.block(lod.name(), &Llsd::Array(vec![sheet(2, 0)]))
        });
        asset(writer.to_bytes())
    };
    let (low_high, medium, none) = (
        with(&[Lod::Low, Lod::High]),
        with(&[Lod::Medium]),
        with(&[]),
    );
    let expected = [
        Some(Lod::High),
        Some(Lod::Low),
        Some(Lod::Low),
        Some(Lod::Low),
    ];
    assert_eq!(Lod::ALL.map(|lod| low_high.best_lod(lod)), expected);
    assert_eq!(
        Lod::ALL.map(|lod| medium.best_lod(lod)),
        [Some(Lod::Medium); 4]
    );
    assert_eq!(Lod::ALL.map(|lod| none.best_lod(lod)), [None; 4]);
    assert_eq!(none.triangle_estimate(Lod::Low), None);
    // An absent level counts as the next higher one.
    assert_eq!(
        medium.triangle_estimate(Lod::Lowest),
        medium.triangle_estimate(Lod::Medium)
    );
    assert_eq!(medium.triangle_estimate(Lod::High), None);
    let asset = asset(large(40));
    let size = asset.lod_range(Lod::High).unwrap().unwrap();
    assert_eq!(
        asset.triangle_estimate(Lod::High),
        Some((size.end - size.start - 384) / 16)
    );
}

#[test]
fn arrays_are_views_and_floats_follow_the_formula() {
    let asset = asset(one_face(&sheet(5, 3)));
    let mesh = asset.lod(Lod::High).unwrap().unwrap();
    let face = mesh.face(0).unwrap();
    let content = mesh.content().as_ptr_range();
    for bytes in [
        face.raw_positions().into_bytes(),
        face.indices().unwrap().into_bytes(),
    ] {
        assert!(content.contains(&bytes.as_ptr()));
    }
    let unit = |stored: u16| f32::from(stored) / 65_535.0;
    let domain = face.position_domain();
    for (stored, position) in face
        .raw_positions()
        .iter()
        .zip(face.positions().unwrap().iter())
    {
        let expected: [f32; 3] = std::array::from_fn(|axis| {
            unit(stored[axis]) * (domain.max[axis] - domain.min[axis]) + domain.min[axis]
        });
        assert_eq!(position.map(f32::to_bits), expected.map(f32::to_bits));
    }
    for (stored, normal) in face
        .raw_normals()
        .unwrap()
        .iter()
        .zip(face.normals().unwrap().unwrap().iter())
    {
        assert_eq!(
            normal.map(f32::to_bits),
            stored.map(|lane| (unit(lane) * 2.0 - 1.0).to_bits())
        );
    }
    assert_eq!(face.texcoords(0).unwrap().unwrap().len(), 25);
    assert_eq!(face.normalized_scale(), Some([1.0, 2.0, 3.0]));
    assert_eq!(face.indices().unwrap().len(), 96);
    assert_eq!(face.raw_field("NormalizedScale").unwrap()[0], b'[');
    assert_eq!(face.raw_field("Tangent"), None);
}

#[test]
fn more_indices_than_65535_are_all_there() {
    let Llsd::Map(mut fields) = sheet(3, 0) else {
        panic!()
    };
    let indices = Llsd::u16s((0..120_000_u32).map(|corner| (corner % 9) as u16));
    *fields
        .iter_mut()
        .find(|(key, _)| *key == "TriangleList")
        .map(|(_, value)| value)
        .unwrap() = indices;
    let asset = asset(one_face(&Llsd::Map(fields)));
    let face = asset.lod(Lod::High).unwrap().unwrap().face(0).unwrap();
    assert_eq!(
        (
            face.indices().unwrap().len(),
            face.triangles().unwrap().len()
        ),
        (120_000, 40_000)
    );
    assert_eq!(face.view().unwrap().indices().len(), 120_000);
}

#[test]
fn index_that_no_vertex_has_is_told_by_who_checks() {
    let Llsd::Map(mut fields) = sheet(2, 0) else {
        panic!()
    };
    fields
        .iter_mut()
        .find(|(key, _)| *key == "TriangleList")
        .unwrap()
        .1 = Llsd::u16s([0, 1, 2, 1, 4, 3]);
    let bytes = one_face(&Llsd::Map(fields));
    let asset = asset(bytes.clone());
    let mesh = asset.lod(Lod::High).unwrap().unwrap();
    let face = mesh.face(0).unwrap();
    assert_eq!(face.raw_indices().to_vec(), [0, 1, 2, 1, 4, 3]);
    let error = face.indices().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert_eq!(error.byte_range(), Some(mesh.range()));
    let decoded = error.decoded_range().unwrap();
    assert_eq!(
        mesh.content()[decoded.start as usize..decoded.end as usize],
        [4, 0]
    );
    assert_eq!(
        error.address().unwrap().to_string(),
        "high_lod.faces[0].indices[4]"
    );
    assert!(face.view().is_err());
    let findings = asset.validate().unwrap();
    assert!(
        findings
            .iter()
            .any(|f| f.rule == rule("index_out_of_range") && f.severity() == Severity::Unusable)
    );
    let strict = Options::default().with_strictness(Strictness::Strict);
    assert!(MeshFile::from_source(Source::from_bytes(bytes), &strict).is_err());
}

#[test]
fn view_writes_what_a_gpu_takes() {
    let asset = asset(one_face(&sheet(3, 3)));
    let face = asset.lod(Lod::High).unwrap().unwrap().face(0).unwrap();
    let view = face.view().unwrap();
    let written = |semantic: Semantic, format: VertexFormat| {
        let mut out = vec![0xee; format.size() * 9];
        let attribute = view.attribute(&semantic).unwrap().unwrap();
        attribute
            .write_chunks(format, format.size(), |at, bytes| {
                out[at..at + bytes.len()].copy_from_slice(bytes)
            })
            .unwrap();
        out
    };
    let floats = |bytes: Vec<u8>| -> Vec<f32> {
        bytes
            .as_chunks()
            .0
            .iter()
            .map(|bytes| f32::from_ne_bytes(*bytes))
            .collect()
    };
    let positions = face.positions().unwrap().to_vec();
    assert_eq!(
        floats(written(Semantic::Position, VertexFormat::FLOAT32X3)),
        positions.as_flattened()
    );
    let normals = face.normals().unwrap().unwrap().to_vec();
    assert_eq!(
        floats(written(Semantic::Normal, VertexFormat::FLOAT32X3)),
        normals.as_flattened()
    );
    let tex_coords = face.texcoords(0).unwrap().unwrap().to_vec();
    assert_eq!(
        floats(written(Semantic::TexCoord(0), VertexFormat::FLOAT32X2)),
        tex_coords.as_flattened()
    );

    // As stored, and 1 in the lane that is not; the shader does the rest.
    let integers = written(Semantic::Position, VertexFormat::UNORM16X4);
    let dequant = view
        .attribute(&Semantic::Position)
        .unwrap()
        .unwrap()
        .dequant()
        .unwrap();
    for (lanes, position) in integers.as_chunks::<8>().0.iter().zip(&positions) {
        let lane = |lane: usize| u16::from_ne_bytes([lanes[lane * 2], lanes[lane * 2 + 1]]);
        assert_eq!(lane(3), 65_535);
        let numbers: [f32; 3] = std::array::from_fn(|axis| {
            f32::from(lane(axis)) / 65_535.0 * dequant.scale[axis] + dequant.offset[axis]
        });
        assert_eq!(numbers.map(f32::to_bits), position.map(f32::to_bits));
    }
    let joints = written(Semantic::Joints(0), VertexFormat::UINT16X4);
    let weights = floats(written(Semantic::Weights(0), VertexFormat::FLOAT32X4));
    for (vertex, influences) in face.weights().unwrap().iter().enumerate() {
        let mut expected = [(0, 0.0); 4];
        for (place, (joint, weight)) in expected.iter_mut().zip(influences) {
            *place = (u16::from(joint), f32::from(weight) / 65_535.0);
        }
        for (lane, (joint, weight)) in expected.into_iter().enumerate() {
            let at = (vertex * 4 + lane) * 2;
            assert_eq!(u16::from_ne_bytes([joints[at], joints[at + 1]]), joint);
            assert_eq!(weights[vertex * 4 + lane].to_bits(), weight.to_bits());
        }
    }
    let indices = view.indices();
    assert_eq!(
        (indices.format(), indices.stored_u16(), indices.stored()),
        (IndexFormat::Uint16, Some(&face.indices().unwrap()), None)
    );
    for format in [IndexFormat::Uint16, IndexFormat::Uint32] {
        let mut bytes = Vec::new();
        indices
            .write_chunks(format, |_, chunk| bytes.extend_from_slice(chunk))
            .unwrap();
        let found: Vec<u32> = match format {
            IndexFormat::Uint16 => bytes
                .as_chunks()
                .0
                .iter()
                .map(|i| u16::from_ne_bytes(*i).into())
                .collect(),
            _ => bytes
                .as_chunks()
                .0
                .iter()
                .map(|i| u32::from_ne_bytes(*i))
                .collect(),
        };
        assert_eq!(found, indices.to_vec());
    }
    let bounds = view.bounds().unwrap().unwrap();
    assert_eq!(
        (bounds.min[0], bounds.max[0]),
        (positions[0][0], positions[8][0])
    );
}

#[test]
fn file_lists_the_faces_of_all_meshes() {
    let file = open::file(everything());
    let meshes: Vec<_> = file
        .meshes()
        .unwrap()
        .map(|entry| entry.address.to_string())
        .collect();
    assert_eq!(meshes.len(), 4 * 3 + 1);
    assert_eq!(
        (&meshes[0][..], &meshes[12][..]),
        ("high_lod.faces[0]", "physics_mesh.faces[0]")
    );
    let counts = file
        .meshes()
        .unwrap()
        .map(|entry| file.mesh(&entry.address).unwrap().vertex_count())
        .collect::<Vec<_>>();
    assert_eq!(counts, [25, 0, 4, 16, 0, 4, 9, 0, 4, 4, 0, 4, 9]);
    for address in [
        "high_lod.faces[3]",
        "high_lod",
        "skin.faces[0]",
        "high_lod.faces[0].positions",
    ] {
        let error = file.mesh(&address.parse().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
    }
}

#[test]
fn skin_and_hulls_are_as_written() {
    let bytes = Writer::default()
        .block("skin", &skin(5))
        .block("physics_convex", &hulls(&[3, 256, 1]))
        .to_bytes();
    let asset = asset(bytes);
    let skin = asset.skin().unwrap().unwrap();
    let names = skin.joint_names.unwrap();
    assert_eq!((names.len(), names[4].to_str()), (5, Some("mJoint4")));
    assert_eq!(
        (skin.lock_scale_if_joint_position, skin.pelvis_offset),
        (true, Some(0.0625))
    );
    assert_eq!(
        (
            skin.inverse_bind_matrices.unwrap().len(),
            skin.alt_inverse_bind_matrices.unwrap().len()
        ),
        (5, 5)
    );
    assert_eq!(skin.bind_shape_matrix.unwrap()[..2], [1.0, 0.0]);

    let convex = asset.physics_convex().unwrap().unwrap();
    assert_eq!(
        convex.hull_sizes().unwrap().collect::<Vec<_>>(),
        [3, 256, 1]
    );
    assert_eq!(convex.raw_hull_points().unwrap().len(), 260);
    assert_eq!(convex.hull_points().unwrap().unwrap().len(), 260);
    assert_eq!(
        convex.bounding_verts().unwrap().unwrap().get(0).unwrap()[0],
        -0.5
    );
    assert_eq!(
        (convex.domain().min, convex.domain().max),
        ([-0.5, -0.25, 0.0], [0.5, 0.25, 1.0])
    );
}

#[test]
fn hulls_are_found_by_their_addresses() {
    let bytes = Writer::default().block("physics_convex", &hulls(&[3, 256, 1]));
    let asset = asset(bytes.to_bytes());
    let convex = asset.physics_convex().unwrap().unwrap();
    let at = |address: &str| convex.hulls_at(&address.parse().unwrap());
    let all = at("physics_convex").unwrap();
    let addresses: Vec<String> = all.iter().map(|hull| hull.address().to_string()).collect();
    assert_eq!(
        addresses,
        [
            "physics_convex.hulls[0]",
            "physics_convex.hulls[1]",
            "physics_convex.hulls[2]",
            "physics_convex.bounding_verts"
        ]
    );
    let indices = all.iter().map(|hull| hull.index());
    assert!(indices.eq([Some(0), Some(1), Some(2), None]));
    let stored = convex.raw_hull_points().unwrap();
    assert_eq!(*all[1].raw_points(), stored.slice(3..259).unwrap());
    assert_eq!(*all[3].raw_points(), convex.raw_bounding_verts().unwrap());
    assert_eq!(all[0].domain(), convex.domain());
    assert_eq!(at("physics_convex.hulls").unwrap().len(), 3);
    for (address, hull) in addresses.iter().zip(&all) {
        let found = at(address).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].raw_points(), hull.raw_points());
        assert_eq!(at(&format!("{address}[0]")).unwrap().len(), 1);
    }
    for absent in ["physics_convex.hulls[3]", "physics_convex.faces[0]", "skin"] {
        let error = at(absent).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
    }
    assert_eq!(
        format!("{:?}", all[1]),
        "Hull(physics_convex.hulls[1]: 256 points)"
    );
}

/// Errors of what a block contains name the file, as errors of the block do.
#[test]
fn errors_of_blocks_name_the_path() {
    let path = data::valid("slmesh", "ours_hulls_a.slmesh");
    let asset = Asset::open(&path).unwrap();
    let convex = asset.physics_convex().unwrap().unwrap();
    let hull = "physics_convex.hulls[99]".parse().unwrap();
    let error = convex.hulls_at(&hull).unwrap_err();
    assert_eq!(error.path(), Some(path.as_path()));
    let too_few = Llsd::Map(vec![("HullList", Llsd::Binary(vec![1]))]);
    let bytes = Writer::default()
        .block("physics_convex", &too_few)
        .to_bytes();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("few.slmesh");
    fs::write(&path, bytes).unwrap();
    let error = Asset::open(&path).unwrap().physics_convex().unwrap_err();
    assert_eq!(error.path(), Some(path.as_path()));
}

#[test]
fn hulls_are_meshes_with_the_triangles_of_the_caller() {
    let bytes = Writer::default().block("physics_convex", &hulls(&[4]));
    let asset = asset(bytes.to_bytes());
    let convex = asset.physics_convex().unwrap().unwrap();
    let hull = &convex.hulls_at(&"physics_convex".parse().unwrap()).unwrap()[0];
    let view = hull.view(vec![[0, 1, 2], [3, 1, 0]]).unwrap();
    assert_eq!(view.address().to_string(), "physics_convex.hulls[0]");
    assert_eq!(view.role(), Role::Physics);
    assert!(view.indices().triangles().eq([[0, 1, 2], [3, 1, 0]]));
    assert_eq!(view.vertex_count(), 4);
    let positions = view.attribute(&Semantic::Position).unwrap().unwrap();
    assert_eq!(positions.as_bytes(), hull.raw_points().as_bytes());
    assert_eq!(
        positions.to_f32::<3>(),
        convex.hull_points().unwrap().unwrap().to_vec()
    );
    assert_eq!(view.attributes().len(), 1);
    assert_eq!(view.material_ids(), None);
    assert!(hull.view(Vec::new()).unwrap().is_point_cloud());
    let error = hull.view(vec![[0, 1, 2], [0, 4, 1]]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert_eq!(
        error.to_string(),
        "slmesh: corner of physics_convex.hulls[0] is 4, expected less than 4"
    );
}

#[test]
fn first_of_equal_keys_counts_everywhere() {
    let mut first = sheet(3, 0);
    if let (Llsd::Map(fields), Llsd::Map(others)) = (&mut first, sheet(2, 0)) {
        fields.extend(others);
    }
    let block = |side| Llsd::Array(vec![sheet(side, 0)]);
    let writer = Writer::default()
        .block("high_lod", &Llsd::Array(vec![first]))
        .block("high_lod", &block(2));
    let asset = asset(writer.to_bytes());
    assert_eq!(counts(&asset.lod(Lod::High).unwrap().unwrap()), (9, 8));
    assert_eq!((asset.entries().len(), asset.header().len()), (1, 2));
}

/// The ranges that are read for a level of detail.
#[test]
fn one_level_of_detail_costs_the_header_and_its_bytes() {
    let bytes = large(40);
    let recorder = Recorder::new(bytes.clone());
    let asset = open::asset(recorder.clone());
    let ranges = Lod::ALL.map(|lod| asset.lod_range(lod).unwrap().unwrap());
    assert_eq!(recorder.reads(), [0..4096]);
    asset.lod(Lod::High).unwrap();
    assert_eq!(recorder.reads(), [0..4096, ranges[0].clone()]);
    let (mut buffer, mut scratch) = (MeshBuffer::default(), Scratch::default());
    recorder.take();
    assert!(
        asset
            .lod_into(Lod::Medium, &mut buffer, &mut scratch)
            .unwrap()
    );
    assert_eq!(recorder.reads(), [ranges[1].clone()]);
    // Blocks within the first bytes are there already.
    assert!(ranges[3].end <= 4096, "{ranges:?}");
    recorder.take();
    asset.lod(Lod::Lowest).unwrap().unwrap();
    assert!(recorder.reads().is_empty());
}

/// A file of any format reads as much as an asset: detection reads the header.
#[test]
fn detection_reads_no_more_than_the_header_of_an_asset() {
    let bytes = large(100);
    for (lod, address) in [
        (Lod::High, "high_lod.faces[0]"),
        (Lod::Medium, "medium_lod.faces[0]"),
    ] {
        let recorder = Recorder::new(bytes.clone());
        let file = open::file(recorder.clone());
        let MeshFile::SlMesh(asset) = &file else {
            panic!("{file:?}")
        };
        let block = asset.lod_range(lod).unwrap().unwrap();
        assert!(
            block.start >= 4096 && block.end - block.start < bytes.len() as u64,
            "{block:?}"
        );
        asset.lod(lod).unwrap().unwrap();
        assert_eq!(recorder.reads(), [0..4096, block.clone()]);
        // The same by address.
        let recorder = Recorder::new(bytes.clone());
        let file = open::file(recorder.clone());
        file.mesh(&address.parse().unwrap()).unwrap();
        assert_eq!(recorder.reads(), [0..4096, block]);
    }
}

#[test]
fn low_level_of_detail_of_a_large_asset_is_less_than_a_twentieth_of_it() {
    let bytes = large(200);
    let recorder = Recorder::new(bytes.clone());
    let file = open::file(recorder.clone());
    let MeshFile::SlMesh(asset) = &file else {
        panic!("{file:?}")
    };
    asset.lod(Lod::Lowest).unwrap().unwrap();
    let read: u64 = recorder.bytes_read();
    assert!(read * 20 < bytes.len() as u64, "{read} of {}", bytes.len());
}

#[test]
fn fragments_take_the_first_bytes_and_one_range_more() {
    let bytes = large(40);
    let part =
        |range: &std::ops::Range<u64>| bytes[range.start as usize..range.end as usize].to_vec();
    for len in [Some(bytes.len() as u64), None] {
        let fragments = Fragments::new(len);
        let open =
            || fragments.step(|source| Asset::from_source(source.clone(), &Options::default()));
        assert!(matches!(open().unwrap(), Err(ranges) if ranges == [0..4096]));
        fragments.supply(0, part(&(0..4096))).unwrap();
        let Ok(asset) = open().unwrap() else {
            panic!("the header is there")
        };
        // A level of detail inside of the bytes that are there.
        let lowest = fragments.step(|_| asset.lod(Lod::Lowest)).unwrap();
        assert!(matches!(lowest, Ok(Some(_))));
        let high = || fragments.step(|_| asset.lod(Lod::High)).unwrap();
        let range = asset.lod_range(Lod::High).unwrap().unwrap();
        assert!(matches!(high(), Err(ranges) if ranges == [range.clone()]));
        // Out of order, and more than was asked for.
        let middle = (range.start + range.end) / 2;
        fragments
            .supply(middle, part(&(middle..range.end)))
            .unwrap();
        fragments
            .supply(range.start - 100, part(&(range.start - 100..middle)))
            .unwrap();
        let Ok(Some(mesh)) = high() else {
            panic!("the block is there")
        };
        assert_eq!(counts(&mesh), (8 * 1600, 8 * 39 * 39 * 2));
        // All that is missing for everything, at once.
        let Err(ranges) = fragments.step(|_| asset.decode_all()).unwrap() else {
            panic!("all was there")
        };
        ranges
            .iter()
            .for_each(|range| fragments.supply(range.start, part(range)).unwrap());
        assert!(
            matches!(fragments.step(|_| asset.decode_all()).unwrap(), Ok(all) if all.skin.is_ok())
        );
    }
    // The whole body instead of a range.
    let fragments = Fragments::new(None);
    fragments.supply(0, bytes.clone()).unwrap();
    fragments.set_len(bytes.len() as u64).unwrap();
    let Ok(asset) = fragments
        .step(|source| Asset::from_source(source.clone(), &Options::default()))
        .unwrap()
    else {
        panic!("everything is there")
    };
    assert!(asset.lod(Lod::High).unwrap().is_some());
}

#[test]
fn long_headers_are_read_in_growing_windows() {
    let filler = Llsd::Binary(vec![9; 100_000]);
    let bytes = Writer::default()
        .key("filler", filler)
        .block("high_lod", &Llsd::Array(vec![sheet(3, 0)]))
        .to_bytes();
    let recorder = Recorder::new(bytes.clone());
    let asset = open::asset(recorder.clone());
    assert_eq!(counts(&asset.lod(Lod::High).unwrap().unwrap()), (9, 8));
    assert!(recorder.reads().len() <= 3, "{:?}", recorder.reads);
    let blind = open::asset(Recorder::of_unknown_length(bytes.clone()));
    assert_eq!(counts(&blind.lod(Lod::High).unwrap().unwrap()), (9, 8));
    let limits = Limits::default()
        .with_free_ratio(0)
        .with_max_block_bytes(50_000);
    let options = Options::default().with_limits(limits);
    let error = Asset::from_source(Source::from_bytes(bytes), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
}

#[test]
fn regions_that_are_not_there_are_errors() {
    let bytes = everything();
    let len = bytes.len() as u64;
    let whole = asset(bytes.clone());
    #[expect(clippy::reversed_empty_ranges, reason = "the subject of the test")]
    let regions = [
        len..u64::MAX,
        len + 1..u64::MAX,
        u64::MAX..u64::MAX,
        5..3,
        0..5,
        3..len,
    ];
    for region in regions {
        for source in [
            Source::from_bytes(bytes.clone()),
            Source::ranged(Recorder::new(bytes.clone())),
            Source::ranged(Recorder::of_unknown_length(bytes.clone())),
        ] {
            let read = Asset::at(&source, region.clone(), &Options::default());
            assert!(read.is_err(), "{region:?}");
        }
    }
    // Blocks beyond the end of the region are absent.
    let range = whole.lod_range(Lod::High).unwrap().unwrap();
    let source = Source::from_bytes(bytes);
    let part = Asset::at(&source, 0..range.end - 1, &Options::default()).unwrap();
    assert_eq!(
        part.lod(Lod::High).unwrap_err().kind(),
        ErrorKind::Truncated
    );
    assert!(part.lod(Lod::Medium).unwrap().is_some());
}

#[test]
fn weights_are_as_stored_or_of_sum_one() {
    let asset = asset(one_face(&sheet(4, 3)));
    let face = asset.lod(Lod::High).unwrap().unwrap().face(0).unwrap();
    let weights = face.weights().unwrap();
    let stored = weights.arrays(WeightScale::Stored).unwrap();
    let normalized = weights.arrays(WeightScale::Normalized).unwrap();
    assert_eq!(stored.joints, normalized.joints);
    // Three influences of 21,845: together 65,535; four of 16,383: 65,532.
    let sum = |weights: [f32; 4]| weights.iter().sum::<f32>();
    assert!(stored.weights.iter().any(|weights| sum(weights) < 0.99999));
    assert!(
        normalized
            .weights
            .iter()
            .all(|weights| (sum(weights) - 1.0).abs() < 1e-6)
    );
    for (influences, joints) in weights.iter().zip(stored.joints.iter()) {
        assert!(joints[influences.len()..].iter().all(|joint| *joint == 255));
    }
}

#[test]
fn upload_cache_holds_assets_in_place() {
    let bytes = extra("14_wrapper.slm");
    let source = Source::from_bytes(bytes.clone());
    let cache = UploadCache::from_source(&source, &Options::default()).unwrap();
    assert_eq!(cache.version, Some(3));
    assert!(!cache.name.is_empty());
    let region = cache.ranges[0].clone();
    let asset = Asset::at(&source, region.clone(), &Options::default()).unwrap();
    assert_eq!(bytes[region.start as usize], b'{');
    assert!(asset.lod_range(Lod::High).unwrap().unwrap().end <= region.end);
    // The same as the asset on its own.
    let alone = self::asset(bytes[region.start as usize..region.end as usize].to_vec());
    for lod in Lod::ALL {
        let content = |asset: &Asset| asset.lod(lod).unwrap().map(|mesh| mesh.content().clone());
        assert_eq!(content(&asset), content(&alone));
    }
    let error = Asset::from_source(source, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("upload cache"), "{error}");
}

#[test]
fn cache_entry_tells_what_is_not_there_yet() {
    let source = Source::from_bytes(extra("15_viewer_cache.asset"));
    let asset = Source::from_bytes(everything());
    assert!(CacheEntry::from_source(&asset, &Options::default()).is_err());
    let entry = CacheEntry::from_source(&source, &Options::default()).unwrap();
    assert!(!entry.has("high_lod") && entry.has("lowest_lod") && !entry.has("physics_havok"));
    let error = entry.asset.lod(Lod::High).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    assert!(error.to_string().contains("not downloaded"), "{error}");
    assert!(entry.asset.lod(Lod::Lowest).unwrap().is_some());
}

#[test]
fn normals_without_a_direction_are_findings() {
    let findings = |normals: [u16; 12]| {
        let Llsd::Map(mut fields) = sheet(2, 0) else {
            panic!()
        };
        let normal = fields.iter_mut().find(|(name, _)| *name == "Normal");
        normal.unwrap().1 = Llsd::u16s(normals);
        let faces = Llsd::Array(vec![Llsd::Map(fields)]);
        let file = Writer::default().block("high_lod", &faces);
        let findings = asset(file.to_bytes()).validate().unwrap();
        findings
            .into_iter()
            .filter(|finding| finding.rule == rule("zero_normal"))
            .map(|finding| (finding.address.unwrap().to_string(), finding.count))
            .collect::<Vec<_>>()
    };
    let mut normals = [0xffff; 12];
    assert_eq!(findings(normals), []);
    normals[3..9].copy_from_slice(&[0x7fff, 0x8000, 0x8000, 0x7fff, 0x7fff, 0x7ffe]);
    assert_eq!(
        findings(normals),
        [("high_lod.faces[0].normals[1]".to_owned(), 1)]
    );
}

#[test]
fn validation_tells_what_the_text_forbids() {
    let of = |bytes: Vec<u8>| {
        let findings = asset(bytes).validate().unwrap();
        findings
            .into_iter()
            .map(|finding| finding.rule)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(everything()), [rule("hulls_and_mesh")]);
    let lod = |faces: &[Llsd]| Llsd::Array(faces.to_vec());
    let bytes = Writer::default()
        .block("high_lod", &lod(&[sheet(3, 0)]))
        .block("low_lod", &lod(&[sheet(4, 0), no_geometry()]))
        .block("skin", &skin(2))
        .to_bytes();
    assert_eq!(
        of(bytes),
        [
            rule("lod_gap"),
            rule("convex_missing"),
            rule("weights_missing"),
            rule("face_count"),
            rule("lod_triangles")
        ]
    );
    let bytes = Writer::default()
        .block("high_lod", &lod(&[sheet(3, 5)]))
        .block("skin", &skin(2))
        .to_bytes();
    assert!(of(bytes).contains(&rule("joint_out_of_range")));
    // The geometry is intact, and viewers use another joint.
    assert!(rule("joint_out_of_range").severity < Severity::Unusable);
    for name in ["gen_01_triangle", "nodemv_02_static_4lod"] {
        let bytes = fs::read(data::valid("slmesh", &format!("{name}.slmesh"))).unwrap();
        assert!(
            asset(bytes)
                .validate()
                .unwrap()
                .iter()
                .all(|finding| finding.severity() < Severity::Unusable),
            "{name}"
        );
    }
}

#[cfg(feature = "hash")]
#[test]
fn hashes_are_those_of_the_stored_blocks() {
    let mut bytes = fs::read(data::valid("slmesh", "gen_08_server_header.slmesh")).unwrap();
    let whole = asset(bytes.clone());
    assert!(whole.entry("physics_mesh").unwrap().hash().is_some());
    assert!(whole.check_hashes().unwrap().is_empty());
    let range = whole
        .entry("physics_mesh")
        .unwrap()
        .range()
        .unwrap()
        .unwrap();
    bytes[range.end as usize - 1] ^= 1;
    let findings = asset(bytes).check_hashes().unwrap();
    assert_eq!(
        (
            findings.len(),
            findings[0].rule,
            findings[0].severity() < Severity::Unusable
        ),
        (1, rule("hash"), true)
    );
}

#[test]
fn attribute_of_a_domain_without_a_number_equals_its_clone() {
    let domain = |numbers: [f64; 3]| Llsd::reals(numbers);
    let face = Llsd::Map(vec![
        ("Position", Llsd::u16s([1, 2, 3])),
        (
            "PositionDomain",
            Llsd::Map(vec![
                ("Min", domain([f64::NAN, 0.0, 0.0])),
                ("Max", domain([-f64::NAN, 1.0, 1.0])),
            ]),
        ),
        ("TriangleList", Llsd::u16s([0, 0, 0])),
    ]);
    let bytes = Writer::default()
        .block("high_lod", &Llsd::Array(vec![face]))
        .to_bytes();
    let mesh = asset(bytes.clone()).lod(Lod::High).unwrap().unwrap();
    let positions = mesh
        .face(0)
        .unwrap()
        .view()
        .unwrap()
        .attribute(&Semantic::Position)
        .unwrap()
        .unwrap();
    assert!(positions == positions.clone());
    meshmap_testing::exercise::slmesh::bytes(&bytes);
}

#[test]
fn skin_without_matrices_or_names_is_told_from_one_with_none() {
    let read = |fields: &[&'static str]| {
        let empty = fields
            .iter()
            .map(|name| (*name, Llsd::Array(Vec::new())))
            .collect();
        let asset = asset(
            Writer::default()
                .block("skin", &Llsd::Map(empty))
                .to_bytes(),
        );
        let skin = asset.skin().unwrap().unwrap();
        let there = (
            skin.joint_names.is_some(),
            skin.inverse_bind_matrices.is_some(),
        );
        (
            there,
            skin.alt_inverse_bind_matrices.is_some(),
            skin.joint_count(),
        )
    };
    assert_eq!(read(&[]), ((false, false), false, 0));
    assert_eq!(read(&["inverse_bind_matrix"]), ((false, true), false, 0));
    assert_eq!(
        read(&["joint_names", "alt_inverse_bind_matrix"]),
        ((true, false), true, 0)
    );
}

#[test]
fn block_that_cannot_be_decoded_is_listed_and_its_view_is_the_error() {
    let file = Writer::default()
        .stored("high_lod", b"no stream of deflate")
        .block("low_lod", &Llsd::Array(vec![sheet(4, 0)]))
        .to_bytes();
    let file = open::file(file);
    let entries: Vec<_> = file
        .meshes()
        .unwrap()
        .map(|entry| entry.address.to_string())
        .collect();
    assert_eq!(entries, ["high_lod", "low_lod.faces[0]"]);
    let drawn: Vec<_> = file
        .meshes_where(Role::is_drawn_by_default)
        .unwrap()
        .collect();
    let error = file.mesh(&drawn[0].address).unwrap_err();
    assert_eq!(
        (error.kind(), error.address()),
        (ErrorKind::Malformed, Some(&drawn[0].address))
    );
    assert!(file.mesh(&"low_lod.faces[0]".parse().unwrap()).is_ok());
}

#[test]
fn more_than_4096_keys_are_refused() {
    let with = |count| {
        let writer = (0..count).fold(Writer::default(), |writer, _| {
            writer.key("k", Llsd::Undefined)
        });
        Asset::from_source(Source::from_bytes(writer.to_bytes()), &Options::default())
    };
    assert_eq!(with(4096).unwrap().header().len(), 4096);
    assert_eq!(with(4097).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn versions_up_to_the_greatest_that_is_allowed_are_read() {
    let read = |version, most| {
        let bytes = Writer::default()
            .key("version", Llsd::Integer(version))
            .to_bytes();
        let options = Options::default().with_slmesh_max_version(most);
        let asset = Asset::from_source(Source::from_bytes(bytes), &options)?;
        assert_eq!(asset.version(), Some(version));
        Ok(asset
            .findings()
            .iter()
            .any(|finding| finding.rule == rule("version")))
    };
    let most = 999;
    for (version, allowed, expected) in [
        (1, most, Ok(false)),
        (most, most, Ok(false)),
        (most + 1, most, Err(ErrorKind::Unsupported)),
        (most + 1, most + 1, Ok(true)),
        (most + 2, most + 1, Err(ErrorKind::Unsupported)),
    ] {
        let found = read(version, allowed).map_err(|error: meshmap::Error| {
            assert_eq!(error.what(), "version");
            error.kind()
        });
        assert_eq!(found, expected, "{version}, {allowed}");
    }
}

#[test]
fn entries_have_the_hash_and_the_count_that_the_simulator_fills_in() {
    let of = |hash: Llsd, triangles: Llsd| {
        let number = Llsd::Integer(0);
        let entry = vec![
            ("offset", number.clone()),
            ("size", number),
            ("hash", hash),
            ("mesh_triangles", triangles),
        ];
        let asset = asset(
            Writer::default()
                .key("lowest_lod", Llsd::Map(entry))
                .to_bytes(),
        );
        let entry = asset.entry("lowest_lod").unwrap();
        (entry.hash(), entry.mesh_triangles())
    };
    let bytes = [3; 16];
    for hash in [Llsd::Binary(bytes.to_vec()), Llsd::Uuid(bytes)] {
        assert_eq!(of(hash, Llsd::Integer(7)), (Some(bytes), Some(7)));
    }
    for hash in [Llsd::Binary(vec![3; 15]), Llsd::Integer(3), Llsd::Undefined] {
        assert_eq!(of(hash, Llsd::Integer(-7)), (None, None));
    }
}

#[test]
fn only_a_map_with_both_lists_and_no_block_is_an_upload_cache() {
    let list = || Llsd::Array(Vec::new());
    let map = |keys: &[&'static str]| {
        let writer = keys
            .iter()
            .fold(Writer::default(), |writer, key| writer.key(key, list()));
        Source::from_bytes(writer.to_bytes())
    };
    assert_eq!(
        Asset::from_source(map(&["mesh", "instance"]), &Options::default())
            .unwrap_err()
            .kind(),
        ErrorKind::Unsupported
    );
    for keys in [&["mesh"][..], &["instance"], &["mesh", "instance", "skin"]] {
        assert!(
            Asset::from_source(map(keys), &Options::default()).is_ok(),
            "{keys:?}"
        );
    }
    let numbers = Writer::default()
        .key("mesh", Llsd::Integer(1))
        .key("instance", list());
    assert!(
        Asset::from_source(Source::from_bytes(numbers.to_bytes()), &Options::default()).is_ok()
    );
}

#[test]
fn blocks_that_are_missing_are_findings() {
    let cases: [(&[&'static str], &[meshmap::Rule]); 7] = [
        (&["high_lod", "physics_convex"], &[]),
        (
            &[
                "high_lod",
                "medium_lod",
                "low_lod",
                "lowest_lod",
                "physics_convex",
            ],
            &[],
        ),
        (&["physics_convex"], &[rule("high_lod_missing")]),
        (&["high_lod"], &[rule("convex_missing")]),
        (
            &["high_lod", "low_lod", "physics_convex"],
            &[rule("lod_gap")],
        ),
        (
            &["high_lod", "lowest_lod", "physics_convex"],
            &[rule("lod_gap")],
        ),
        (&["404"], &[rule("not_found")]),
    ];
    let rules_of = |writer: Writer| {
        let asset = asset(writer.to_bytes());
        asset
            .findings()
            .iter()
            .map(|finding| finding.rule)
            .collect::<Vec<_>>()
    };
    for (blocks, expected) in cases {
        let writer = blocks.iter().fold(Writer::default(), |writer, name| {
            writer.stored(name, b"block")
        });
        assert_eq!(rules_of(writer), expected, "{blocks:?}");
    }
    // An entry of no bytes is not a block.
    let empty = Writer::default()
        .key("high_lod", fixtures::slmesh::entry(0, 0))
        .stored("physics_convex", b"x");
    assert_eq!(rules_of(empty), [rule("high_lod_missing")]);
}

#[test]
fn block_that_ends_with_its_region_is_read() {
    let bytes = everything();
    let whole = asset(bytes.clone());
    let end = whole
        .entries()
        .map(|entry| entry.range().unwrap().unwrap().end)
        .max()
        .unwrap();
    let source = Source::from_bytes([bytes, vec![0; 10]].concat());
    let exact = Asset::at(&source, 0..end, &Options::default()).unwrap();
    assert!(exact.entries().all(|entry| entry.range().is_ok()));
    let short = Asset::at(&source, 0..end - 1, &Options::default()).unwrap();
    let errors = short.entries().filter_map(|entry| entry.range().err());
    assert_eq!(
        errors.map(|error| error.kind()).collect::<Vec<_>>(),
        [ErrorKind::Truncated]
    );
}

#[test]
fn assets_are_recognized_by_the_line_of_llsd_or_by_a_map() {
    let detect = |head: &[u8]| Format::detect(&Source::from_bytes(head.to_vec())).ok();
    let map = Writer::default()
        .key("version", Llsd::Integer(1))
        .to_bytes();
    for line in [
        &b""[..],
        b"<? LLSD/Binary ?>\n",
        b"<? llsd/binary ?>\n",
        b"<?llsd/binary?>\n",
    ] {
        assert_eq!(
            detect(&[line, &map].concat()),
            Some(Format::SlMesh),
            "{}",
            line.escape_ascii()
        );
    }
    assert_eq!(detect(b"<? llsd/binary ?>\nother"), Some(Format::SlMesh));
    for head in [
        &b"{\0\0\0\0}"[..],
        b"<? llsd/xml ?>\n\n\n\n",
        b"[\0\0\0\x01k",
        b"<?llsd/binary?>",
    ] {
        assert_eq!(detect(head), None, "{}", head.escape_ascii());
    }
}

/// Headers of any length, and files that end in them, with and without a known length, and as a part of a longer source.
#[test]
fn headers_that_are_longer_than_a_window_are_read_and_their_ends_reported() {
    for filler in [10, 4096, 5000, 20_000] {
        let writer = Writer::default()
            .key("filler", Llsd::Binary(vec![9; filler]))
            .stored("skin", b"block");
        let bytes = writer.to_bytes();
        let header = asset(bytes.clone()).header_range().end;
        let sources = |bytes: &[u8]| {
            [
                Source::from_bytes(bytes.to_vec()),
                Source::ranged(Recorder::new(bytes.to_vec())),
                Source::ranged(Recorder::of_unknown_length(bytes.to_vec())),
            ]
        };
        for source in sources(&bytes) {
            let asset = Asset::from_source(source, &Options::default()).unwrap();
            assert_eq!(
                (asset.header_range(), asset.header().len()),
                (0..header, 2),
                "{filler}"
            );
        }
        // Inside of the value of "filler", which begins after two counts and the key.
        for len in [22, 21 + filler as u64 / 2, 20 + filler as u64] {
            for source in sources(&bytes[..len as usize]) {
                let error = Asset::from_source(source, &Options::default()).unwrap_err();
                let found: String = error
                    .cause()
                    .found()
                    .chars()
                    .filter(char::is_ascii_digit)
                    .collect();
                let there = len - error.byte_range().unwrap().start;
                assert_eq!(
                    (error.kind(), found),
                    (ErrorKind::Truncated, there.to_string()),
                    "{error}"
                );
            }
            for source in sources(&bytes) {
                let error = Asset::at(&source, 0..len, &Options::default()).unwrap_err();
                assert_eq!(
                    error.kind(),
                    ErrorKind::Truncated,
                    "{filler}, {len}: {error}"
                );
            }
        }
    }
}

/// The first window shows all but the last byte, which is the last one of the file or of the region.
#[test]
fn header_that_ends_with_its_source_is_read() {
    let with = |filler| {
        Writer::default()
            .key("filler", Llsd::Binary(vec![9; filler]))
            .to_bytes()
    };
    let bytes = with(4097 - with(0).len());
    assert_eq!(bytes.len(), 4097);
    let longer = [&bytes[..], &[0; 5000]].concat();
    for source in [
        Source::from_bytes(bytes.clone()),
        Source::ranged(Recorder::new(bytes)),
    ] {
        assert_eq!(
            Asset::from_source(source, &Options::default())
                .unwrap()
                .header_range(),
            0..4097
        );
    }
    for source in [
        Source::from_bytes(longer.clone()),
        Source::ranged(Recorder::of_unknown_length(longer)),
    ] {
        assert_eq!(
            Asset::at(&source, 0..4097, &Options::default())
                .unwrap()
                .header_range(),
            0..4097
        );
    }
}

#[test]
fn headers_that_more_bytes_do_not_mend_are_refused_without_another_read() {
    let filler = |writer: Writer| {
        writer
            .key("filler", Llsd::Binary(vec![9; 20_000]))
            .to_bytes()
    };
    let mut longer_than_the_file = filler(Writer::default());
    longer_than_the_file[17..21].copy_from_slice(&1_000_000_u32.to_be_bytes());
    let malformed = filler(Writer::default().key("value", Llsd::Raw(b"?".to_vec())));
    for (bytes, kind) in [
        (longer_than_the_file, ErrorKind::Truncated),
        (malformed, ErrorKind::Malformed),
    ] {
        let recorder = Recorder::new(bytes);
        let error =
            Asset::from_source(Source::ranged(recorder.clone()), &Options::default()).unwrap_err();
        assert_eq!(
            (error.kind(), &recorder.reads()[..]),
            (kind, &[0..4096][..])
        );
    }
}

#[test]
fn level_of_detail_whose_vertices_are_at_one_point_is_a_note() {
    let with = |key: &str, value: Llsd| {
        let Llsd::Map(mut fields) = sheet(2, 0) else {
            panic!()
        };
        fields.iter_mut().find(|(name, _)| *name == key).unwrap().1 = value;
        Llsd::Map(fields)
    };
    let domain = |at: f64| {
        Llsd::Map(vec![
            ("Min", Llsd::reals([at, 0.0, 0.0])),
            ("Max", Llsd::reals([at, 0.0, 0.0])),
        ])
    };
    let (no_domain, other_point) = (
        with("PositionDomain", domain(0.25)),
        with("PositionDomain", domain(0.0)),
    );
    let one_value = with("Position", Llsd::u16s([7; 12]));
    let findings = |faces: &[&Llsd]| {
        let low = Llsd::Array(faces.iter().map(|face| (*face).clone()).collect());
        let file = Writer::default()
            .block("high_lod", &Llsd::Array(vec![sheet(3, 0)]))
            .block("low_lod", &low);
        let findings = asset(file.to_bytes()).validate().unwrap();
        findings
            .into_iter()
            .filter(|finding| finding.rule == rule("no_extent"))
            .collect::<Vec<_>>()
    };
    for faces in [
        &[&no_domain][..],
        &[&one_value],
        &[&no_domain, &no_geometry(), &no_domain],
    ] {
        let found = findings(faces);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity(), Severity::Note);
        assert_eq!(found[0].address.as_ref().unwrap().to_string(), "low_lod");
    }
    assert!(
        findings(&[&no_domain])[0]
            .to_string()
            .contains("(0.25, 0, 0)")
    );
    for faces in [
        &[&sheet(2, 0)][..],
        &[&no_domain, &other_point],
        &[&no_geometry()],
    ] {
        assert!(findings(faces).is_empty());
    }
}

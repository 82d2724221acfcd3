//! OpenCTM: the contents of each method; every array is decoded separately, once, and only on request.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use meshmap::openctm::{Container, Mesh, MeshBuffer, Method, bodies, raw};
use meshmap::{
    ErrorKind, Format, Fragments, Limits, Options, Result, Rule, Scratch, Semantic, Severity,
    Source, Strictness,
};
use meshmap_testing::fixtures::openctm::{Body, MG1, MG2, Packed, RAW, lzma};
use meshmap_testing::{Recorder, in_steps, open};

/// A rule of the format.
fn rule(id: &str) -> Rule {
    Rule::by_id(Format::OpenCtm, id).unwrap()
}

const METHODS: [[u8; 4]; 3] = [RAW, MG1, MG2];

fn open(bytes: Vec<u8>) -> Result<Mesh> {
    Mesh::at(&Source::from_bytes(bytes), 0, &Options::default())
}

fn strict() -> Options {
    Options::default().with_strictness(Strictness::Strict)
}

fn error(body: &Body) -> meshmap::Error {
    open(body.to_bytes()).unwrap_err()
}

#[test]
fn raw_arrays_are_views_of_the_file_at_any_address() {
    let file = Body::sheet(RAW, 5).to_bytes();
    for shift in 0..4 {
        let mut shifted = vec![0; shift];
        shifted.extend(&file);
        let bytes = bytes::Bytes::from(shifted).slice(shift..);
        let mesh = open::body(bytes.clone());
        let arrays = mesh.arrays().unwrap();
        let all = [
            arrays.triangles.as_bytes(),
            arrays.positions.as_bytes(),
            arrays.texcoords[1].as_bytes(),
            arrays.attribute_maps[0].as_bytes(),
        ];
        assert!(
            all.iter()
                .all(|array| bytes.as_ptr_range().contains(&array.as_ptr()))
        );
        assert_eq!(arrays.positions.to_vec(), Body::sheet(RAW, 5).positions);
    }
}

#[test]
fn every_method_stores_the_mesh_as_well_as_its_precision_is() {
    for method in METHODS {
        let body = Body::sheet(method, 9);
        let mesh = open(body.to_bytes()).unwrap();
        assert_eq!(
            (
                mesh.vertex_count(),
                mesh.triangle_count(),
                mesh.has_normals()
            ),
            (81, 128, true)
        );
        assert_eq!(
            (mesh.comment().unwrap().to_str(), mesh.findings()),
            (Some("bent sheet"), &[][..])
        );
        let step = if method == MG2 { body.precision } else { 0.0 };
        let near = |found: &[f32], expected: &[f32]| {
            found.len() == expected.len()
                && found
                    .iter()
                    .zip(expected)
                    .all(|(a, b)| (a - b).abs() <= step)
        };
        assert_eq!(mesh.raw_triangles().unwrap().to_vec(), body.triangles);
        assert!(near(
            mesh.positions().unwrap().to_vec().as_flattened(),
            body.positions.as_flattened()
        ));
        for (map, (name, file, coords)) in mesh.uv_maps().zip(&body.uv_maps) {
            assert_eq!(
                (map.name().to_str(), map.file().to_str()),
                (Some(*name), Some(*file))
            );
            assert_eq!(map.precision(), (method == MG2).then_some(body.precision));
            assert!(near(
                map.read().unwrap().to_vec().as_flattened(),
                coords.as_flattened()
            ));
        }
        for (map, (name, values)) in mesh.attribute_maps().zip(&body.attribute_maps) {
            assert_eq!(map.name().to_str(), Some(*name));
            assert!(near(
                map.read().unwrap().to_vec().as_flattened(),
                values.as_flattened()
            ));
        }
        assert_eq!((mesh.uv_maps().len(), mesh.attribute_maps().len()), (2, 2));
        assert!(mesh.uv_maps().nth(2).is_none() && mesh.attribute_maps().nth(2).is_none());
        assert_eq!(mesh.mg2_header().is_some(), method == MG2);
        let normals = mesh.normals().unwrap().unwrap();
        if method != MG2 {
            assert!(
                normals
                    .iter()
                    .zip(&body.normals)
                    .all(|(a, b)| a.map(f32::to_bits) == *b)
            );
        } else {
            // Magnitudes of 254 to 256 steps of 1/256.
            let length = |n: [f32; 3]| n.iter().map(|x| x * x).sum::<f32>().sqrt();
            assert!(
                normals
                    .iter()
                    .all(|normal| (0.98..1.01).contains(&length(normal)))
            );
        }
    }
}

#[test]
fn buffer_of_a_mesh_with_normals_has_none_after_one_without() {
    let mut buffer = MeshBuffer::default();
    let mut without = Body::sheet(MG1, 4);
    without.flags = 0;
    without.uv_maps.clear();
    for body in [Body::sheet(MG2, 4), without] {
        open(body.to_bytes())
            .unwrap()
            .arrays_into(&mut buffer, &mut Scratch::default())
            .unwrap();
    }
    assert!(
        buffer.normals.is_empty() && buffer.texcoords.is_empty() && buffer.positions.len() == 16
    );
}

/// The reads of a lazy source: opening reads headers; each array reads its own bytes; MG2's normals read what they need; nothing is
/// read twice.
#[test]
fn every_stream_is_read_once_and_when_it_is_needed() {
    // Streams that cannot be packed, so that they are longer than what is read ahead.
    let stored = |bytes: &[u8]| {
        let mut noise = 1_u32;
        let mut next = || {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        };
        let _ = bytes;
        (
            [93, 0, 0, 1, 0],
            std::iter::once(0)
                .chain((0..200_000).map(|_| next()))
                .collect(),
        )
    };
    let body = Body {
        pack: stored,
        ..Body::sheet(MG2, 4)
    };
    let reader = Recorder::new(body.to_bytes());
    let mesh = Mesh::at(&Source::ranged(Arc::clone(&reader)), 0, &Options::default()).unwrap();
    let blocks = mesh.blocks();
    let names: Vec<_> = blocks
        .iter()
        .map(|block| block.address.to_string())
        .collect();
    assert_eq!(
        names,
        [
            "bodies[0].positions",
            "bodies[0].grid_indices",
            "bodies[0].indices",
            "bodies[0].normals",
            "bodies[0].uv_maps[0].coords",
            "bodies[0].uv_maps[1].coords",
            "bodies[0].attribute_maps[0].values",
            "bodies[0].attribute_maps[1].values"
        ]
    );
    let reads = || reader.take();
    let opening = reads();
    assert_eq!(opening[0], 0..64 << 10);
    let read: u64 = opening.iter().map(|range| range.end - range.start).sum();
    assert!(read < 1 << 20, "{read} bytes read to open");
    // Bytes that are not LZMA are an error of the stream; only the reads matter here.
    let _ = mesh.uv_maps().next().unwrap().read();
    assert_eq!(reads(), [blocks[4].range.clone()]);
    let _ = mesh.normals();
    assert!(
        reads()
            .iter()
            .all(|range| blocks[..4].iter().any(|block| block.range == *range))
    );
}

#[test]
fn decoded_arrays_are_shared_by_all_clones() {
    for method in [MG1, MG2] {
        let mesh = open(Body::sheet(method, 8).to_bytes()).unwrap();
        let clone = mesh.clone();
        let normals = mesh.normals().unwrap().unwrap();
        let arrays = clone.arrays().unwrap();
        assert_eq!(
            arrays.normals.unwrap().as_bytes().as_ptr(),
            normals.as_bytes().as_ptr()
        );
        assert_eq!(
            mesh.positions().unwrap().as_bytes().as_ptr(),
            arrays.positions.as_bytes().as_ptr()
        );
    }
}

#[test]
fn bodies_follow_one_another_and_lie_in_other_files() {
    let parts = METHODS.map(|method| Body::sheet(method, 4).to_bytes());
    let file = parts.concat();
    let all = open::bodies(file.clone());
    assert_eq!((all.meshes().len(), all.findings()), (3, &[][..]));
    let methods: Vec<_> = all.meshes().map(Mesh::method).collect();
    assert_eq!(methods, [Method::Raw, Method::Mg1, Method::Mg2]);
    assert_eq!(all.mesh(1).unwrap().range().start, parts[0].len() as u64);
    assert_eq!(all.mesh(2).unwrap().range().end, file.len() as u64);

    let one_by_one = bodies(Source::from_bytes(file.clone()), &Options::default()).unwrap();
    let indices: Vec<_> = one_by_one
        .map(|mesh| mesh.unwrap().raw_triangles().unwrap())
        .collect();
    assert!(indices.iter().all(|other| *other == indices[0]));

    let first = open(file.clone()).unwrap();
    assert_eq!(first.range(), 0..parts[0].len() as u64);
    let inside = [b"container".to_vec(), parts[2].clone(), b"more".to_vec()].concat();
    let inner = Mesh::at(&Source::from_bytes(inside), 9, &strict()).unwrap();
    assert_eq!(inner.range(), 9..9 + parts[2].len() as u64);
    assert_eq!(
        inner.arrays().unwrap(),
        all.mesh(2).unwrap().arrays().unwrap()
    );

    let file = open::file(file);
    let addresses: Vec<_> = file
        .meshes()
        .unwrap()
        .map(|entry| entry.address.to_string())
        .collect();
    assert_eq!(addresses, ["bodies[0]", "bodies[1]", "bodies[2]"]);
    let arrays = file
        .arrays()
        .map(|entry| entry.unwrap().address.to_string());
    let of_body = |body: usize| {
        let maps = [
            "uv_maps[0].coords",
            "uv_maps[1].coords",
            "attribute_maps[0].values",
            "attribute_maps[1].values",
        ];
        let names = ["indices", "positions", "normals"].into_iter().chain(maps);
        names.map(move |name| format!("bodies[{body}].{name}"))
    };
    assert!(arrays.eq((0..3).flat_map(of_body)));
    assert_eq!(
        file.mesh(&file.meshes().unwrap().nth(2).unwrap().address)
            .unwrap()
            .vertex_count(),
        16
    );
    let none = file.mesh(&"bodies[3]".parse().unwrap()).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::OutOfRange);
    assert_eq!(file.items().count(), 3 + 7 + 7 + 8);
    assert!(file.validate().unwrap().is_empty());
}

#[test]
fn damaged_body_spoils_itself_only() {
    let good = Body::sheet(MG1, 4).to_bytes();
    let mut cut = good.clone();
    cut.truncate(good.len() - 10);
    let file = [good.clone(), cut].concat();
    let all = open::bodies(file.clone());
    assert_eq!(all.meshes().len(), 1);
    let [damaged, trailing] = all.findings() else {
        panic!("{:?}", all.findings())
    };
    assert_eq!(damaged.rule, rule("damaged_body"));
    assert_eq!(
        (trailing.rule, trailing.byte_range.clone().unwrap().start),
        (rule("trailing_bytes"), good.len() as u64)
    );
    assert!(open(file.clone()).unwrap().arrays().is_ok());
    let error = Container::from_source(Source::from_bytes(file), &strict()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
}

#[test]
fn damaged_stream_spoils_its_array_only() {
    let mut file = Body::sheet(MG2, 6).to_bytes();
    let blocks = open(file.clone()).unwrap().blocks();
    file[blocks[4].range.start as usize] = 1;
    let mesh = open(file).unwrap();
    let error = mesh.uv_maps().next().unwrap().read().unwrap_err();
    assert_eq!(
        (error.kind(), error.byte_range()),
        (ErrorKind::Malformed, Some(blocks[4].range.clone()))
    );
    assert_eq!(
        error.address().unwrap().to_string(),
        "bodies[0].uv_maps[0].coords"
    );
    assert!(mesh.normals().is_ok() && mesh.uv_maps().nth(1).unwrap().read().is_ok());
    assert!(mesh.arrays().is_err() && mesh.validate().is_err());
}

#[test]
fn what_the_reference_refuses_is_refused() {
    let sheet = || Body::sheet(MG2, 3);
    let cases: [(Vec<u8>, &str, ErrorKind, std::ops::Range<u64>); 8] = [
        (
            patched(&sheet(), 4, 6),
            "file format version",
            ErrorKind::Unsupported,
            4..8,
        ),
        (
            patched(&sheet(), 8, 0x0033_474d),
            "compression method",
            ErrorKind::Unsupported,
            8..12,
        ),
        (
            patched(&sheet(), 12, 0),
            "vertex count",
            ErrorKind::Malformed,
            12..16,
        ),
        (
            patched(&sheet(), 16, 0),
            "triangle count",
            ErrorKind::Malformed,
            16..20,
        ),
        (
            patched(&sheet(), 46, 0),
            "identifier",
            ErrorKind::Malformed,
            46..50,
        ),
        (
            patched(&sheet(), 50, 0),
            "vertex precision",
            ErrorKind::Malformed,
            50..54,
        ),
        (
            patched(&sheet(), 70, f32::MIN.to_bits()),
            "higher bound",
            ErrorKind::Malformed,
            70..74,
        ),
        (
            patched(&sheet(), 82, 0),
            "div_x",
            ErrorKind::Malformed,
            82..86,
        ),
    ];
    for (file, what, kind, range) in cases {
        let error = open(file).unwrap_err();
        assert_eq!(
            (error.what(), error.kind(), error.byte_range()),
            (what, kind, Some(range)),
            "{error}"
        );
    }
    let mut missing = sheet();
    missing.flags = 0;
    missing.normals.clear();
    let file = patched(&missing, 28, 1);
    assert!(
        open(file)
            .unwrap_err()
            .to_string()
            .contains("is \"TEXC\", expected \"NORM\"")
    );
}

/// A file with one word changed.
fn patched(body: &Body, place: usize, word: u32) -> Vec<u8> {
    let mut file = body.to_bytes();
    file[place..place + 4].copy_from_slice(&word.to_le_bytes());
    file
}

#[test]
fn sizes_that_no_stream_can_have_are_refused_when_opening() {
    let mut body = Body::sheet(MG1, 3);
    body.pack = |_| ([93, 0, 0, 1, 0], vec![0; 6]);
    let file = patched(&body, 12, 100_000);
    let error = open(file).unwrap_err();
    assert_eq!(
        (error.what(), error.kind()),
        ("packed size", ErrorKind::Malformed)
    );
    body.pack = |_| ([225, 0, 0, 1, 0], vec![0; 6]);
    assert_eq!(
        (error_of(&body).0, error_of(&body).1),
        ("LZMA props", ErrorKind::Malformed)
    );
}

fn error_of(body: &Body) -> (&'static str, ErrorKind) {
    let error = error(body);
    (error.what(), error.kind())
}

#[test]
fn wrong_values_are_findings_and_strictly_errors() {
    type Damage = fn(&mut Body);
    let cases: [(Rule, Severity, Damage); 6] = [
        (rule("index_out_of_range"), Severity::Unusable, |body| {
            body.triangles[3][1] = 9
        }),
        (rule("not_finite"), Severity::Unusable, |body| {
            body.positions[2][1] = f32::NAN
        }),
        (rule("unknown_flags"), Severity::Suspicious, |body| {
            body.flags = 3
        }),
        (rule("text_not_utf8"), Severity::Forbidden, |body| {
            body.comment = vec![0xff]
        }),
        (rule("repeated_name"), Severity::Forbidden, |body| {
            body.uv_maps[1].0 = "first"
        }),
        (rule("zero_normal"), Severity::Suspicious, |body| {
            body.normals[2] = [0; 3]
        }),
    ];
    for method in [RAW, MG1] {
        for (rule, severity, damage) in cases {
            let mut body = Body::sheet(method, 3);
            // Bits of floats that are finite.
            let normal = [1.0_f32.to_bits(), 0, 0];
            body.normals.fill(normal);
            assert_eq!(open(body.to_bytes()).unwrap().validate().unwrap(), []);
            damage(&mut body);
            let mesh = open(body.to_bytes()).unwrap();
            let [found] = &mesh.validate().unwrap()[..] else {
                panic!("{rule:?}: {:?}", mesh.validate())
            };
            assert_eq!((found.rule, found.severity()), (rule, severity));
            assert!(mesh.positions().is_ok() && mesh.raw_triangles().is_ok());
            let read = Mesh::at(&Source::from_bytes(body.to_bytes()), 0, &strict());
            assert_eq!(
                read.is_err(),
                found.severity() >= Severity::Forbidden,
                "{rule:?}"
            );
            assert_eq!(mesh.view().is_err(), rule.id == "index_out_of_range");
        }
    }
}

#[test]
fn normals_of_mg2_need_indices_that_are_in_range() {
    let mut body = Body::sheet(MG2, 3);
    body.triangles[3][1] = 9;
    let mesh = open(body.to_bytes()).unwrap();
    let error = mesh.normals().unwrap_err();
    assert_eq!(
        (error.what(), error.kind()),
        (rule("index_out_of_range").name, ErrorKind::Malformed)
    );
    assert_eq!(
        error.address().unwrap().to_string(),
        "bodies[0].indices[10]"
    );
    assert!(mesh.positions().is_ok());
    let findings = mesh.validate().unwrap();
    assert!(
        findings
            .iter()
            .any(|found| found.rule == rule("index_out_of_range")
                && found.severity() == Severity::Unusable)
    );
}

#[test]
fn streams_that_go_on_are_read_and_reported() {
    let packs: [fn(&[u8]) -> Packed; 2] = [
        |bytes| {
            let (properties, stream) = lzma(bytes);
            (properties, [stream, vec![0; 3]].concat())
        },
        // More of the array than there is.
        |bytes| lzma(&[bytes, &bytes[..4]].concat()),
    ];
    for pack in packs {
        let body = Body {
            pack,
            ..Body::sheet(MG2, 3)
        };
        let mesh = open(body.to_bytes()).unwrap();
        assert_eq!(mesh.raw_triangles().unwrap().to_vec(), body.triangles);
        let findings = mesh.validate().unwrap();
        let tail = findings
            .iter()
            .find(|found| found.rule == rule("stream_tail"))
            .unwrap();
        assert_eq!(tail.severity(), Severity::Forbidden);
        let read = Mesh::at(&Source::from_bytes(body.to_bytes()), 0, &strict());
        assert_eq!(read.unwrap_err().what(), rule("stream_tail").name);
    }
}

#[test]
fn limits_hold_for_each_array_and_for_all() {
    let file = Body::sheet(MG2, 10).to_bytes();
    let read = |limits| {
        let options = Options::default().with_limits(limits);
        Mesh::at(&Source::from_bytes(file.clone()), 0, &options).unwrap()
    };
    // 162 triangles of 12 bytes are the largest array.
    let small = read(
        Limits::default()
            .with_free_ratio(0)
            .with_max_block_bytes(162 * 12 - 1),
    );
    assert_eq!(
        small.raw_triangles().unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
    assert!(small.positions().is_ok());
    let total = 100 * (12 + 12 + 2 * 8 + 2 * 16) + 162 * 12;
    let few = read(
        Limits::default()
            .with_free_ratio(0)
            .with_max_total_bytes(total - 1),
    );
    assert_eq!(few.arrays().unwrap_err().kind(), ErrorKind::LimitExceeded);
    let error = few
        .arrays_into(&mut MeshBuffer::default(), &mut Scratch::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    // The words of the largest array are decoded before it is.
    let enough = Limits::default()
        .with_free_ratio(0)
        .with_max_total_bytes(total + 162 * 12);
    assert!(read(enough).arrays().is_ok());
}

#[test]
fn decoding_stops_when_it_is_cancelled() {
    let mesh = open(Body::sheet(MG1, 3).to_bytes()).unwrap();
    let mut scratch = Scratch::default();
    scratch.set_cancel(Some(Arc::new(AtomicBool::new(true))));
    let mut out = vec![[0.0; 3]; 9];
    assert_eq!(
        mesh.positions_into(&mut out, &mut scratch)
            .unwrap_err()
            .kind(),
        ErrorKind::Cancelled
    );
    scratch.set_cancel(None);
    mesh.positions_into(&mut out, &mut scratch).unwrap();
}

#[test]
fn view_names_every_attribute_once() {
    let mut body = Body::sheet(MG1, 3);
    let values = body.attribute_maps[0].1.clone();
    body.attribute_maps = ["Color", "weight", "", "weight", "COLOR"]
        .map(|name| (name, values.clone()))
        .into();
    let view = open(body.to_bytes()).unwrap().view().unwrap();
    let semantics: Vec<_> = view
        .attributes()
        .iter()
        .map(|info| info.semantic.clone())
        .collect();
    let custom = |name: &str| Semantic::Custom(name.to_owned());
    assert_eq!(
        semantics,
        [
            Semantic::Position,
            Semantic::Normal,
            Semantic::TexCoord(0),
            Semantic::TexCoord(1),
            Semantic::Color(0),
            custom("weight"),
            custom("attribute_maps[2]"),
            custom("attribute_maps[3]"),
            Semantic::Color(1)
        ]
    );
    for semantic in &semantics {
        assert_eq!(view.attribute(semantic).unwrap().unwrap().len(), 9);
    }
    assert!(view.attribute(&Semantic::Tangent).unwrap().is_none());
    assert_eq!(view.indices().to_vec().len(), 24);
    assert_eq!(view.bounds().unwrap().unwrap().max[0], 2.0);
}

#[test]
fn fragments_need_just_what_is_asked_for() {
    let mut body = Body::sheet(RAW, 100);
    body.comment = vec![b'x'; 70_000];
    let file = body.to_bytes();
    let fragments = Fragments::new(Some(file.len() as u64));
    let coords = |source: &Source| {
        let mesh = Mesh::at(source, 0, &Options::default())?;
        Ok(mesh.uv_maps().nth(1).unwrap().read()?.len())
    };
    assert_eq!(in_steps(&fragments, &file, coords).unwrap().0, 10_000);
    let held = fragments.held();
    assert!(
        held < file.len() as u64 / 2,
        "{held} of {} bytes",
        file.len()
    );
}

#[test]
fn header_is_the_files() {
    let mesh = open(Body::sheet(MG2, 3).to_bytes()).unwrap();
    assert_eq!(
        (mesh.header().magic, mesh.header().version.get()),
        (raw::MAGIC, raw::VERSION)
    );
    assert_eq!(
        mesh.mg2_header().unwrap().vertex_precision.get(),
        1.0 / 64.0
    );
}

/// The rules that opening finds broken, with their places.
fn findings_of(file: Vec<u8>) -> Vec<(Rule, Option<std::ops::Range<u64>>)> {
    let mesh = open(file).unwrap();
    mesh.findings()
        .iter()
        .map(|finding| (finding.rule, finding.byte_range.clone()))
        .collect()
}

#[test]
fn grids_of_more_cells_than_32_bits_are_findings() {
    let divisions = |cells: [u32; 3]| {
        let mut file = Body::sheet(MG2, 3).to_bytes();
        for (place, cells) in [82, 86, 90].into_iter().zip(cells) {
            file[place..place + 4].copy_from_slice(&cells.to_le_bytes());
        }
        findings_of(file)
    };
    assert_eq!(divisions([1 << 16, 1 << 8, 1 << 8]), []);
    for cells in [[(1 << 16) + 1, 1 << 8, 1 << 8], [1 << 20, 1 << 10, 1 << 10]] {
        assert_eq!(
            divisions(cells),
            [(rule("grid_too_fine"), Some(82..94))],
            "{cells:?}"
        );
    }
}

#[test]
fn precision_of_normals_may_be_nan_in_a_file_without_normals() {
    let mut without = Body::sheet(MG2, 3);
    assert_eq!(findings_of(without.to_bytes()), []);
    let has_rule = |file| {
        findings_of(file)
            .iter()
            .any(|(rule, _)| rule.id == "nan_precision")
    };
    assert!(!has_rule(patched(&without, 54, f32::NAN.to_bits())));
    without.flags = 0;
    without.normals.clear();
    assert_eq!(findings_of(without.to_bytes()), []);
    let nan = patched(&without, 54, f32::NAN.to_bits());
    assert_eq!(findings_of(nan), [(rule("nan_precision"), Some(54..58))]);
}

#[test]
fn boxes_without_an_extent_are_read() {
    let mut flat = Body::sheet(MG2, 3);
    flat.positions
        .iter_mut()
        .for_each(|position| position[2] = 0.5);
    assert_eq!(open(flat.to_bytes()).unwrap().positions().unwrap().len(), 9);
}

#[test]
fn methods_have_the_names_of_the_specification() {
    assert_eq!(
        [Method::Raw, Method::Mg1, Method::Mg2].map(|method| method.to_string()),
        ["RAW", "MG1", "MG2"]
    );
}

/// A short comment costs nothing more, a long one takes no memory until it is read.
#[test]
fn comments_of_up_to_4_kib_are_held() {
    // Many bodies, so that neither what is read first nor the last windows contain the comment.
    let sheet = || Body::sheet(RAW, 20);
    let other = sheet().to_bytes();
    for (len, reads) in [(10, 0), (4096, 0), (4097, 1)] {
        let comment = vec![b'c'; len];
        let body = Body {
            comment: comment.clone(),
            ..sheet()
        }
        .to_bytes();
        let recorder = Recorder::new([other.repeat(3), body, other.repeat(60)].concat());
        let all = open::bodies(recorder.clone());
        recorder.take();
        assert_eq!(all.mesh(3).unwrap().comment().unwrap().as_bytes(), comment);
        assert_eq!(recorder.reads().len(), reads, "{len}");
    }
}

#[test]
fn decoded_size_of_a_body_is_that_of_its_arrays_of_the_mesh() {
    for method in METHODS {
        let mesh = open(Body::sheet(method, 4).to_bytes()).unwrap();
        let (vertices, triangles) = (mesh.vertex_count() as u64, mesh.triangle_count() as u64);
        // Positions, normals, two UV maps and two attribute maps; the indices. Not the grid indices of MG2.
        let expected = vertices * (12 + 12 + 2 * 8 + 2 * 16) + triangles * 12;
        assert_eq!(mesh.items().next().unwrap().decoded, Some(expected));
    }
}

/// So long that what is read first does not show the end.
#[test]
fn truncation_of_a_long_body_is_an_error_although_the_length_is_unknown() {
    let file = Body::sheet(RAW, 60).to_bytes();
    let read = |len: usize| {
        let source = Source::ranged(Recorder::of_unknown_length(file[..len].to_vec()));
        Container::from_source(source, &Options::default())
            .map(|all| all.meshes().len())
            .map_err(|error| error.kind())
    };
    assert_eq!(
        (read(file.len()), read(file.len() - 1)),
        (Ok(1), Err(ErrorKind::Truncated))
    );
}

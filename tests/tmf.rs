//! TMF: the values of both layouts, arrays by element, by range and whole, welded views, findings.

use meshmap::tmf::{CustomValues, Document, FileLayout};
use meshmap::{
    ErrorKind, Finding, Format, Limits, MeshFile, Options, Rule, Semantic, Severity, Source,
    Strictness, VertexFormat,
};
use meshmap_testing::fixtures::tmf::{Packer, Writer, everything, floats, grid};
use meshmap_testing::{Recorder, data, open};

/// A rule of the format.
fn rule(id: &str) -> Rule {
    Rule::by_id(Format::Tmf, id).unwrap()
}

fn read(bytes: Vec<u8>) -> meshmap::Result<Document> {
    Document::from_source(Source::from_bytes(bytes), &Options::default())
}

fn has(findings: &[Finding], rule: Rule) -> bool {
    findings.iter().any(|finding| finding.rule == rule)
}

#[test]
fn numbers_are_those_of_the_formulas() {
    let document = read(everything(true)).unwrap();
    assert_eq!(document.file_layout(), FileLayout::B);
    let mesh = document
        .meshes()
        .find(|mesh| mesh.name() == "m\u{e9}sh")
        .unwrap();
    let vertices = mesh.positions().unwrap().read().unwrap();
    assert_eq!(vertices.get(0), Some([0.0, -2.0, 0.5]));
    assert_eq!(vertices.get(1), Some([1.0, -2.0, 0.75]));
    assert_eq!(vertices.get(2).unwrap()[0], 3.0 / 31.0);
    assert_eq!(
        mesh.normals().unwrap().get(0).unwrap(),
        Some([0.0, 0.0, 1.0])
    );
    let [x, y, z] = mesh.normals().unwrap().get(1).unwrap().unwrap();
    assert!(x < 0.0 && y > 0.0 && z < 0.0 && (x * x + y * y + z * z - 1.0).abs() < 1e-6);
    assert_eq!(
        mesh.texcoords(0).unwrap().read().unwrap().to_vec(),
        [[0.0, 1.0], [20.0 / 63.0, 1.0 / 63.0]]
    );
    let handed: Vec<f32> = mesh
        .tangents()
        .unwrap()
        .iter()
        .map(|tangent| tangent.unwrap()[3])
        .collect();
    assert_eq!(handed, [-1.0, 1.0]);
    let normals = mesh.normal_indices().unwrap().read().unwrap();
    assert_eq!(normals.to_vec(), [1, 2, 2, 1, 1, 2]);

    let custom = mesh.custom().unwrap();
    let names: Vec<_> = custom
        .iter()
        .map(|custom| custom.name.to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, ["ids", "more", "paint", "heat"]);
    let CustomValues::Integer(ids) = &custom[0].values else {
        panic!()
    };
    assert_eq!(ids.read().unwrap().to_vec(), [101, 102, 500, 103]);
    let CustomValues::Index(more) = &custom[1].values else {
        panic!()
    };
    assert_eq!(more.read().unwrap().to_vec(), [7, 7]);
    let CustomValues::ColorRgba(paint) = &custom[2].values else {
        panic!()
    };
    assert_eq!(paint.get(0).unwrap().unwrap()[0], 1.0);
    let CustomValues::Float(heat) = &custom[3].values else {
        panic!()
    };
    assert_eq!(
        heat.read().unwrap().to_vec(),
        [-1.0, 1.0, ((7.0_f64 / 15.0) * 2.0 - 1.0) as f32]
    );
}

#[test]
fn omitted_normal_triangles_count_up() {
    let document = read(everything(false)).unwrap();
    assert_eq!(document.file_layout(), FileLayout::A);
    let mesh = document.mesh(0).unwrap();
    assert_eq!(
        mesh.normal_indices().unwrap().read().unwrap().to_vec(),
        [0, 1, 2]
    );
    assert_eq!(document.mesh(1).unwrap().name().as_bytes(), b"");
    assert_eq!(document.mesh(2).unwrap_err().kind(), ErrorKind::OutOfRange);
    // Wherever the normals stand, and however many segments they are in.
    let split = Writer::a()
        .mesh("")
        .segment(4, 1, &[])
        .directions(3, 2, &[(0, 0, 0), (1, 1, 1)])
        .directions(3, 5, &[(0, 0, 0)]);
    let mesh = read(split.to_bytes()).unwrap().mesh(0).unwrap();
    assert_eq!(
        mesh.normal_indices().unwrap().read().unwrap().to_vec(),
        [0, 1, 2]
    );
}

#[test]
fn shared_segments_are_decoded_once() {
    let document = read(grid(20)).unwrap();
    let mesh = document.mesh(0).unwrap();
    let triangles = mesh.indices().unwrap();
    let [vertex, normal, uv] =
        [triangles.positions, triangles.normals, triangles.texcoords].map(Option::unwrap);
    assert_eq!(vertex.as_bytes().as_ptr(), normal.as_bytes().as_ptr());
    assert_eq!(vertex.as_bytes().as_ptr(), uv.as_bytes().as_ptr());
    assert!(triangles.tangents.is_none());
    assert!(
        mesh.texcoord_indices()
            .unwrap()
            .shares(&mesh.position_indices().unwrap())
    );
    assert_eq!(mesh.position_indices().unwrap().ranges().len(), 2);
    assert_eq!(
        mesh.positions().unwrap().precisions().collect::<Vec<_>>(),
        [13, 11]
    );
}

/// Coordinates of more than 32 bits: as the crate `tmf` writes them, and as the specification would have them.
#[test]
fn wide_coordinates_are_read_by_the_scale_of_their_writer() {
    let bounds = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0];
    // 44 bits: the crate's scale is 2^12 - 1.
    let crates = Writer::b()
        .mesh("")
        .vertices(bounds, [44, 8, 8], &[[4095, 0, 255], [1024, 1, 2]]);
    let document = read(crates.to_bytes()).unwrap();
    assert!(has(document.findings(), rule("wide_coordinates")));
    let vertices = document.mesh(0).unwrap().positions().unwrap();
    assert_eq!(vertices.get(0).unwrap(), Some([1.0, 0.0, 1.0]));
    assert_eq!(vertices.get(1).unwrap().unwrap()[0], 1024.0 / 4095.0);
    // One number beyond that scale, and all are read by the text.
    let text = Writer::b().mesh("").vertices(
        bounds,
        [44, 8, 8],
        &[[(1 << 44) - 1, 0, 0], [1 << 43, 0, 0]],
    );
    let vertices = read(text.to_bytes())
        .unwrap()
        .mesh(0)
        .unwrap()
        .positions()
        .unwrap();
    assert_eq!(vertices.get(0).unwrap().unwrap()[0], 1.0);
    assert_eq!(vertices.get(1).unwrap().unwrap()[0], 0.5);
    // 70 bits: the number is shifted to the left by 58 in the first 64 bits, the scale is 2^6 - 1.
    let mut data = 1_u64.to_le_bytes().to_vec();
    data.extend(bounds.iter().flat_map(|number: &f64| number.to_le_bytes()));
    data.extend([70, 1, 1]);
    data.extend(Packer::all([(63 << 58, 64), (0, 6), (1, 1), (0, 1)]));
    let vertices = read(Writer::a().mesh("").segment(1, 0, &data).to_bytes())
        .unwrap()
        .mesh(0)
        .unwrap()
        .positions()
        .unwrap();
    assert_eq!(vertices.get(0).unwrap(), Some([1.0, 1.0, 0.0]));
}

#[test]
fn numbers_of_no_bits_are_the_least_there_are() {
    let file = Writer::b()
        .mesh("")
        .vertices(
            [3.0, 4.0, -1.0, 1.0, 0.0, 1.0],
            [0, 1, 0],
            &[[0, 1, 0], [0, 0, 0]],
        )
        .uvs(0, &[[0, 0]])
        .colors("", 0, &[[0; 4]])
        .segment(16, 0, &floats("", 0, &[0]));
    let document = read(file.to_bytes()).unwrap();
    assert!(has(document.findings(), rule("no_bits")));
    let mesh = document.mesh(0).unwrap();
    assert_eq!(
        mesh.positions().unwrap().read().unwrap().to_vec(),
        [[3.0, 1.0, 0.0], [3.0, -1.0, 0.0]]
    );
    assert_eq!(mesh.texcoords(0).unwrap().get(0).unwrap(), Some([0.0; 2]));
    let custom = mesh.custom().unwrap();
    let CustomValues::ColorRgba(colors) = &custom[0].values else {
        panic!()
    };
    assert_eq!(colors.get(0).unwrap(), Some([0.0; 4]));
    let CustomValues::Float(floats) = &custom[1].values else {
        panic!()
    };
    assert_eq!(floats.get(0).unwrap(), Some(-1.0));
}

#[test]
fn indices_beyond_32_bits_are_errors_that_say_where() {
    let cases = [
        (33, 0, vec![5, 1 << 32]),
        (32, 1, vec![5, u64::from(u32::MAX)]),
        (1, u64::from(u32::MAX), vec![0, 1]),
        (64, u64::MAX, vec![0, u64::MAX]),
    ];
    for (bits, base, numbers) in cases {
        let file = Writer::b()
            .mesh("")
            .indices(2, bits, base, &numbers)
            .to_bytes();
        let document = read(file).unwrap();
        assert!(has(&document.validate().unwrap(), rule("index_too_large")));
        let array = document.mesh(0).unwrap().position_indices().unwrap();
        let error = array.read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
        assert_eq!(
            error.address().unwrap().to_string(),
            "meshes[0].vertex_triangles"
        );
        let range = error.byte_range().unwrap();
        assert!(
            range.start >= 15 + 4 + 6 + 17 && range.end > range.start,
            "{error}"
        );
        assert!(array.iter().any(|index| index.is_err()));
    }
}

#[test]
fn views_weld_where_indices_differ() {
    let document = read(everything(true)).unwrap();
    let view = document.mesh(0).unwrap().view().unwrap();
    let mesh = document.mesh(0).unwrap();
    let remap = mesh.vertex_remap().unwrap().unwrap();
    assert_eq!(view.vertex_count(), remap.vertex_count());
    let triangles = mesh.indices().unwrap();
    let vertices = mesh.positions().unwrap().read().unwrap();
    let normals = mesh.normals().unwrap().read().unwrap();
    let positions = view
        .attribute(&Semantic::Position)
        .unwrap()
        .unwrap()
        .array::<[f32; 3]>()
        .unwrap();
    let welded_normals = view
        .attribute(&Semantic::Normal)
        .unwrap()
        .unwrap()
        .array::<[f32; 3]>()
        .unwrap();
    let (vertex, normal) = (triangles.positions.unwrap(), triangles.normals.unwrap());
    for (corner, index) in view.indices().iter().enumerate() {
        let index = index as usize;
        assert_eq!(
            positions.get(index),
            vertices.get(vertex.get(corner).unwrap() as usize)
        );
        assert_eq!(
            welded_normals.get(index),
            normals.get(normal.get(corner).unwrap() as usize)
        );
    }
    let names: Vec<_> = view
        .attributes()
        .iter()
        .map(|info| info.semantic.to_string())
        .collect();
    assert_eq!(
        names,
        ["position", "normal", "texcoord", "tangent", "ids", "color",]
    );
    let ids = view
        .attribute(&Semantic::Custom("ids".into()))
        .unwrap()
        .unwrap();
    assert_eq!(
        (ids.format(), ids.len()),
        (VertexFormat::UINT32, view.vertex_count())
    );
    assert!(view.attribute(&Semantic::Weights(0)).unwrap().is_none());
}

#[test]
fn views_of_shared_indices_are_the_files_arrays() {
    let document = read(grid(12)).unwrap();
    let view = document.mesh(0).unwrap().view().unwrap();
    let mesh = document.mesh(0).unwrap();
    assert!(mesh.vertex_remap().unwrap().is_none() && view.findings().is_empty());
    assert_eq!(
        (view.vertex_count(), view.indices().len()),
        (144, 11 * 11 * 6)
    );
    let positions = view.attribute(&Semantic::Position).unwrap().unwrap();
    assert_eq!(
        positions.as_bytes(),
        mesh.positions().unwrap().read().unwrap().as_bytes()
    );
    // Two arrays that say the same need no welding either.
    let twice = Writer::a()
        .mesh("twice")
        .vertices(
            [0., 1., 0., 1., 0., 1.],
            [1, 1, 1],
            &[[0, 0, 0], [1, 0, 0], [0, 1, 1]],
        )
        .uvs(1, &[[0, 0], [1, 0], [0, 1]])
        .indices(2, 2, 0, &[2, 1, 0])
        .indices(6, 2, 0, &[2, 1, 0]);
    let mesh = read(twice.to_bytes()).unwrap().mesh(0).unwrap();
    let view = mesh.view().unwrap();
    assert!(mesh.vertex_remap().unwrap().is_none());
    assert_eq!(view.indices().to_vec(), [2, 1, 0]);
}

#[test]
fn clouds_of_points_have_their_colours_and_no_triangles() {
    let cloud = Writer::b()
        .mesh("pc")
        .vertices([0., 1., 0., 1., 0., 1.], [2, 2, 2], &[[0, 1, 2], [3, 2, 1]])
        .colors("colors_rgba", 7, &[[127, 0, 0, 127], [0, 127, 0, 127]]);
    let view = read(cloud.to_bytes())
        .unwrap()
        .mesh(0)
        .unwrap()
        .view()
        .unwrap();
    assert_eq!((view.vertex_count(), view.indices().len()), (2, 0));
    let colors = view.attribute(&Semantic::Color(0)).unwrap().unwrap();
    assert_eq!(
        colors.array::<[f32; 4]>().unwrap().get(1),
        Some([0.0, 1.0, 0.0, 1.0])
    );
}

#[test]
fn views_leave_out_what_no_vertex_has_and_say_so() {
    let file = Writer::b()
        .mesh("")
        .vertices(
            [0., 1., 0., 1., 0., 1.],
            [1, 1, 1],
            &[[0, 0, 0], [1, 0, 0], [0, 1, 1]],
        )
        .indices(2, 2, 0, &[0, 1, 2, 0])
        .uvs(4, &[[0, 1], [2, 3]])
        .indices(6, 1, 0, &[0, 1]);
    let document = read(file.to_bytes()).unwrap();
    let view = document.mesh(0).unwrap().view().unwrap();
    assert!(has(view.findings(), rule("unassigned")) && has(view.findings(), rule("odd_indices")));
    assert_eq!((view.attributes().len(), view.indices().len()), (1, 3));
    let validated = document.validate().unwrap();
    assert!(has(&validated, rule("unassigned")) && has(&validated, rule("odd_indices")));
}

#[test]
fn indices_out_of_range_make_a_mesh_unusable_and_no_other() {
    let point = [[0, 0, 0]];
    let file = Writer::b()
        .mesh("bad")
        .vertices([0., 1., 0., 1., 0., 1.], [1, 1, 1], &point)
        .indices(2, 2, 0, &[0, 0, 3])
        .mesh("good")
        .vertices([0., 1., 0., 1., 0., 1.], [1, 1, 1], &point)
        .indices(2, 2, 0, &[0, 0, 0])
        .to_bytes();
    let document = open::file(file.clone());
    let error = document.mesh(&"meshes[0]".parse().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert_eq!(
        error.address().unwrap().to_string(),
        "meshes[0].vertex_triangles[2]"
    );
    assert!(document.mesh(&"meshes[\"good\"]".parse().unwrap()).is_ok());
    let findings = document.validate().unwrap();
    assert!(
        findings
            .iter()
            .any(|finding| finding.severity() == Severity::Unusable
                && finding.rule == rule("index_out_of_range"))
    );
    let strict = Options::default().with_strictness(Strictness::Strict);
    assert_eq!(
        Document::from_source(Source::from_bytes(file), &strict)
            .unwrap_err()
            .kind(),
        ErrorKind::Malformed
    );
    assert_eq!(
        document
            .mesh(&"meshes[7]".parse().unwrap())
            .unwrap_err()
            .kind(),
        ErrorKind::OutOfRange
    );
}

#[test]
fn unknown_segments_are_listed_and_skipped() {
    let file = Writer::b()
        .mesh("\u{ff}")
        .segment(12, 0, b"material")
        .segment(200, 77, b"")
        .segment(0, 9, b"x")
        .indices(2, 1, 0, &[1]);
    let document = read(file.to_bytes()).unwrap();
    assert!(has(document.findings(), rule("unknown_segment")));
    let kinds: Vec<_> = document
        .mesh(0)
        .unwrap()
        .segments()
        .map(|segment| segment.seg_type)
        .collect();
    assert_eq!(kinds, [12, 200, 0, 2]);
    assert_eq!(MeshFile::Tmf(document.clone()).items().count(), 5);
}

#[test]
fn deviations_are_findings_and_strictness_refuses_the_forbidden() {
    let strict = Options::default().with_strictness(Strictness::Strict);
    let point = |writer: Writer| writer.vertices([0., 0., 0., 0., 0., 0.], [1, 1, 1], &[[0, 0, 0]]);
    let mut trailing = Writer::b().mesh("").to_bytes();
    trailing.push(0);
    let tail = |writer: Writer| writer.segment(2, 0, &[&[1][..], &[0; 16], &[1, 2, 3]].concat());
    let cases = [
        (
            Writer::a().mesh("").custom(24, "x", 1, 0, &[1]).to_bytes(),
            rule("type_of_other_layout"),
            true,
        ),
        (
            Writer::b().mesh(b"\xff").to_bytes(),
            rule("name_not_utf8"),
            true,
        ),
        (trailing, rule("trailing_bytes"), false),
        (
            tail(Writer::b().mesh("")).to_bytes(),
            rule("segment_tail"),
            false,
        ),
        (
            Writer::b().mesh("").shared(8, 1, 0, &[0]).to_bytes(),
            rule("shared_mask"),
            false,
        ),
        (
            Writer::b().mesh("").segment(4, 1, &[]).to_bytes(),
            rule("omitted_in_layout_b"),
            false,
        ),
        (
            point(Writer::a().mesh("")).segment(7, 0, b"").to_bytes(),
            rule("unknown_segment"),
            false,
        ),
    ];
    for (file, rule, forbidden) in cases {
        let document = read(file.clone()).unwrap();
        assert!(
            has(document.findings(), rule),
            "{rule:?}: {:?}",
            document.findings()
        );
        let refused = Document::from_source(Source::from_bytes(file), &strict).is_err();
        assert_eq!(refused, forbidden, "{rule:?}");
    }
}

#[test]
fn stored_boxes_are_compared_with_the_points() {
    let wrong = Writer::b().mesh("").vertices(
        [0., 9., 0., 1., 0., 1.],
        [4, 4, 4],
        &[[0, 0, 0], [3, 15, 15]],
    );
    let document = read(wrong.to_bytes()).unwrap();
    assert!(has(&document.validate().unwrap(), rule("stored_box")));
    let bounds = document
        .mesh(0)
        .unwrap()
        .view()
        .unwrap()
        .bounds()
        .unwrap()
        .unwrap();
    assert_eq!(
        (bounds.min, bounds.max),
        ([0.0; 3], [9.0_f32 * (3.0 / 15.0), 1.0, 1.0])
    );
    let right = Writer::b().mesh("").vertices(
        [0., 9., 0., 1., 0., 1.],
        [4, 4, 4],
        &[[0, 0, 0], [15, 15, 14]],
    );
    assert!(!has(
        &read(right.to_bytes()).unwrap().validate().unwrap(),
        rule("stored_box")
    ));
    let infinite =
        Writer::b()
            .mesh("")
            .vertices([0., f64::INFINITY, 0., 1., 0., 1.], [4, 4, 4], &[[1, 1, 1]]);
    assert!(has(
        &read(infinite.to_bytes()).unwrap().validate().unwrap(),
        rule("not_finite")
    ));
}

#[test]
fn wrong_files_are_errors_of_the_right_kind() {
    let kind = |bytes: Vec<u8>| read(bytes).unwrap_err().kind();
    let mut newer = Writer::b().to_bytes();
    newer[9] = 3;
    assert_eq!(kind(newer), ErrorKind::Unsupported);
    assert_eq!(
        kind(b"TMG\0\0\0\0\0\0\0\0\0\0\0\0".to_vec()),
        ErrorKind::UnknownFormat
    );
    for compression in [1, 2, 3, 254, 255] {
        assert_eq!(
            kind(Writer::b().mesh("").segment(1, compression, &[]).to_bytes()),
            ErrorKind::Unsupported
        );
    }
    assert_eq!(
        kind(Writer::b().mesh("").segment(2, 0, &[1; 16]).to_bytes()),
        ErrorKind::Malformed
    );
    assert_eq!(
        kind(Writer::b().mesh("").segment(16, 0, &[9, 1]).to_bytes()),
        ErrorKind::Malformed
    );
    assert_eq!(
        kind(Writer::b().mesh("").indices(2, 65, 0, &[]).to_bytes()),
        ErrorKind::Malformed
    );
    let error = read(
        Writer::a()
            .mesh("")
            .indices(6, 3, 0, &[1, 2, 3])
            .segment(2, 0, &[])
            .to_bytes(),
    )
    .unwrap_err();
    assert_eq!(
        error.address().unwrap().to_string(),
        "meshes[0].segments[1]"
    );
}

#[test]
fn limits_bound_what_is_decoded() {
    let limits = Limits::default()
        .with_free_ratio(0)
        .with_max_block_bytes(4096);
    let options = Options::default().with_limits(limits);
    let document = Document::from_source(Source::from_bytes(grid(40)), &options).unwrap();
    let error = document
        .mesh(0)
        .unwrap()
        .positions()
        .unwrap()
        .read()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert_eq!(error.address().unwrap().to_string(), "meshes[0].vertices");
    // Lists of the contents of a file are also memory.
    let many = (0..1000).fold(Writer::b(), |writer, _| writer.mesh(""));
    let error = Document::from_source(Source::from_bytes(many.to_bytes()), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    // Elements that take up no bytes are counted over the whole file.
    let total = Options::default().with_limits(
        Limits::default()
            .with_free_ratio(0)
            .with_max_total_bytes(1000),
    );
    let free = Writer::b()
        .mesh("")
        .indices(2, 0, 0, &[0; 200])
        .mesh("")
        .indices(2, 0, 0, &[0; 200]);
    let error = Document::from_source(Source::from_bytes(free.to_bytes()), &total).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

#[test]
fn loaded_meshes_read_nothing_more() {
    let recorder = Recorder::new(grid(200));
    let document = open::document(recorder.clone());
    let mesh = document.mesh(0).unwrap();
    assert_eq!(recorder.take()[0], 0..64 << 10);
    mesh.positions().unwrap().get(39_000).unwrap();
    let one: u64 = recorder.bytes_read();
    assert!(one < 100, "{one} bytes for one vertex");
    recorder.take();
    let loaded = mesh.load().unwrap();
    assert!(recorder.reads().len() <= 1);
    recorder.take();
    loaded.positions().unwrap().read().unwrap();
    loaded.indices().unwrap();
    assert!(recorder.reads().is_empty());
}

#[test]
fn files_of_the_crate_weld_as_they_should() {
    for (name, welded) in [("v021_unified_cube.tmf", false), ("v011_cube.tmf", true)] {
        let document = Document::open(data::valid("tmf", name)).unwrap();
        let mesh = document.mesh(0).unwrap();
        let view = mesh.view().unwrap();
        assert_eq!(mesh.vertex_remap().unwrap().is_some(), welded, "{name}");
        assert_eq!(
            (view.vertex_count(), view.indices().len()),
            (24, 36),
            "{name}"
        );
    }
}

#[test]
fn sound_files_have_no_findings() {
    for writer in [Writer::a(), Writer::b()] {
        let wide = u64::from(u32::MAX);
        let writer = writer
            .mesh("mesh")
            .vertices(
                [0., 1., 0., 1., 0., 1.],
                [32, 1, 1],
                &[[0, 0, 0], [wide, 1, 1], [5, 0, 1]],
            )
            .directions(3, 2, &[(0, 1, 1)])
            .uvs(1, &[[0, 1]])
            .indices(2, 2, 0, &[0, 1, 2])
            .indices(4, 0, 0, &[0, 0, 0])
            .indices(6, 64, 0, &[0, 0, 0]);
        // Segments without elements, of any width.
        let writer = writer
            .mesh("")
            .vertices([0.; 6], [0; 3], &[])
            .uvs(0, &[])
            .directions(3, 0, &[])
            .indices(2, 0, 0, &[]);
        assert_eq!(read(writer.to_bytes()).unwrap().findings(), []);
    }
    let of_layout_b = Writer::b()
        .mesh("mesh")
        .directions(9, 2, &[(0, 1, 1)])
        .colors("colour", 1, &[[0; 4]])
        .custom(15, "index", 1, 0, &[1])
        .custom(24, "", 1, 0, &[])
        .segment(16, 0, &floats("float", 1, &[1]));
    let shared = [1, 7].into_iter().fold(of_layout_b, |writer, mask| {
        writer.shared(mask, 1, 0, &[0, 0, 0])
    });
    assert_eq!(read(shared.to_bytes()).unwrap().findings(), []);
}

#[test]
fn only_numbers_of_no_bits_that_there_are_have_a_finding() {
    let mesh = || Writer::b().mesh("");
    let cases = [
        (mesh().vertices([0.; 6], [1, 0, 1], &[[0; 3]]), true),
        (mesh().vertices([0.; 6], [1, 1, 1], &[[0; 3]]), false),
        (mesh().uvs(0, &[[0; 2]]), true),
        (mesh().uvs(1, &[[0; 2]]), false),
        (mesh().uvs(0, &[]), false),
        (mesh().colors("", 0, &[[0; 4]]), true),
        (mesh().colors("", 1, &[[0; 4]]), false),
        (mesh().segment(16, 0, &floats("", 0, &[0])), true),
        (mesh().segment(16, 0, &floats("", 1, &[0])), false),
        (mesh().indices(2, 0, 0, &[0]), false),
    ];
    for (index, (writer, expected)) in cases.into_iter().enumerate() {
        assert_eq!(
            has(read(writer.to_bytes()).unwrap().findings(), rule("no_bits")),
            expected,
            "{index}"
        );
    }
}

#[test]
fn counts_and_names_longer_than_their_segment_are_named() {
    let mesh = || Writer::b().mesh("");
    let mut points = 2_u64.to_le_bytes().to_vec();
    points.extend([0; 48]);
    points.extend([8, 8, 8, 0, 0, 0]);
    let mut indices = vec![8];
    indices.extend(2_u64.to_le_bytes());
    indices.extend([0; 9]);
    // A segment begins after the header, and the lengths of a name and a list; its data after 6 bytes more.
    let data = 15 + 4 + 6;
    let cases = [
        (
            mesh().segment(1, 0, &points),
            "vertex_count",
            data..data + 8,
        ),
        (mesh().segment(2, 0, &indices), "count", data + 1..data + 9),
        (
            mesh().segment(2, 0, &[65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            "precision",
            data..data + 1,
        ),
        (
            mesh().segment(2, 0, &[1; 16]),
            "data_length",
            data - 5..data - 1,
        ),
        (
            mesh().segment(16, 0, &[3, b'a', b'b']),
            "length of the name of custom data",
            data..data + 1,
        ),
        (
            mesh().segment(16, 0, &[2, b'a', b'b']),
            "data_length",
            data - 5..data - 1,
        ),
    ];
    for (writer, what, range) in cases {
        let error = read(writer.to_bytes()).unwrap_err();
        assert_eq!(
            (error.kind(), error.what(), error.byte_range()),
            (ErrorKind::Malformed, what, Some(range))
        );
    }
}

/// Coordinates of more than 32 bits are read part by part; the number that does not fit is in the last one.
#[test]
fn one_wide_coordinate_of_thousands_decides_how_all_are_read() {
    let mut points = vec![[4095, 0, 0]; 20_001];
    let first = |points: &[[u64; 3]]| {
        let file =
            Writer::b()
                .mesh("")
                .vertices([0.0, 1.0, 0.0, 1.0, 0.0, 1.0], [44, 1, 3], points);
        read(file.to_bytes())
            .unwrap()
            .mesh(0)
            .unwrap()
            .positions()
            .unwrap()
            .get(0)
            .unwrap()
            .unwrap()[0]
    };
    assert_eq!(first(&points), 1.0);
    points[20_000][0] = 4096;
    assert!(first(&points) < 1e-6);
}

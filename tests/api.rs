//! The parts that all formats share, as a user calls them.

use std::fs;
use std::io::Write;

use bytes::Bytes;
use meshmap::iqm::Model;
use meshmap::{
    Address, Attribute, Error, ErrorKind, F16, Format, Fragments, MeshFile, Options, Semantic,
    Source, VertexFormat,
};
use meshmap_testing::{Recorder, data, fixtures, open};

/// `Debug` of a file and of a mesh has no array in it, and names the counts.
#[test]
fn files_and_meshes_are_printed_in_a_few_words() {
    for (format, name, of_file) in [
        ("cgeo", "anim_a.cgeo", "CGeo(Proxy { version: "),
        ("iqm", "skin_multi_anim.iqm", "Iqm(Model { version: "),
        (
            "openctm",
            "cyl_MG2_multi.ctm",
            "OpenCtm(Container { bodies: ",
        ),
        ("slmesh", "nodemv_02_static_4lod.slmesh", "SlMesh("),
        (
            "tmf",
            "v021_degenerate_triangle.tmf",
            "Tmf(Document { file_layout: ",
        ),
    ] {
        let file = MeshFile::open(data::valid(format, name)).unwrap();
        let entry = file.meshes().unwrap().next().unwrap();
        let view = file.mesh(&entry.address).unwrap();
        let counts = format!(
            "{} vertices, {} triangles",
            view.vertex_count(),
            view.triangle_count()
        );
        assert!(format!("{file:?}").starts_with(of_file), "{file:?}");
        assert!(format!("{view:?}").contains(&counts), "{view:?}");
        let len = fs::metadata(data::valid(format, name)).unwrap().len();
        let source = format!(r#"Source {{ kind: "reader", len: Some({len}) }}"#);
        assert_eq!(format!("{:?}", file.source()), source);
    }
    let asset = open::asset(fs::read(data::valid("slmesh", "ours_skin_a.slmesh")).unwrap());
    let mesh = asset.lod(meshmap::slmesh::Lod::High).unwrap().unwrap();
    let counts = format!(
        "{} faces, {} vertices, ",
        mesh.faces().count(),
        mesh.vertex_count()
    );
    assert!(
        format!("{mesh:?}").starts_with(&format!("Mesh(high_lod: {counts}")),
        "{mesh:?}"
    );
    let weights = mesh.faces().find_map(|face| face.weights()).unwrap();
    let listed: Vec<Vec<_>> = weights.iter().map(Iterator::collect).collect();
    assert_eq!(format!("{weights:?}"), format!("{listed:?}"));
}

/// Files with many parts are printed in as few words as small files.
#[test]
fn files_of_many_parts_are_printed_in_a_few_words() {
    let text = |bytes: Vec<u8>| format!("{:?}", open::file(bytes));
    let body = fs::read(data::valid("openctm", "tri1_RAW_all.ctm")).unwrap();
    let many = text(body.repeat(200));
    assert_eq!(
        many,
        "OpenCtm(Container { bodies: 200, vertices: 600, triangles: 200, .. })"
    );
    for path in data::folder("slmesh/valid") {
        let asset = text(fs::read(path).unwrap());
        assert!(
            asset.starts_with("SlMesh(Asset { version: ") && asset.len() < 100,
            "{asset}"
        );
    }
    let frames = Model::open(data::valid("iqm", "ours_masks_a.iqm"))
        .unwrap()
        .frames();
    assert_eq!(
        format!("{frames:?}"),
        "Frames { frames: 23, poses: 37, .. }"
    );
    let fragments = Fragments::new(Some(1 << 20));
    for start in (0..1 << 20).step_by(1 << 10) {
        fragments
            .supply(start, Bytes::from_static(&[0; 16]))
            .unwrap();
    }
    assert_eq!(
        format!("{fragments:?}"),
        "Fragments { len: Some(1048576), pieces: 1024, held: 16384 }"
    );
}

/// Nothing that a user holds is tied to a thread, to a file or to whatever it was taken from.
#[test]
fn public_types_go_anywhere() {
    fn sent<T: Send + Sync + 'static>() {}
    fn anywhere<T: Clone + Send + Sync + 'static>() {}
    {
        use meshmap::*;
        anywhere::<Source>();
        anywhere::<Fragments>();
        anywhere::<Identity>();
        anywhere::<ReadStats>();
        anywhere::<Array<[f32; 3]>>();
        anywhere::<Text>();
        anywhere::<Error>();
        anywhere::<Finding>();
        anywhere::<Address>();
        anywhere::<Item>();
        anywhere::<Block>();
        sent::<Scratch>();
        anywhere::<Options>();
        anywhere::<Attribute>();
        anywhere::<AttributeInfo>();
        anywhere::<Bounds>();
        anywhere::<Dequant>();
        anywhere::<Indices>();
        anywhere::<Semantic>();
        anywhere::<VertexFormat>();
        anywhere::<VertexRemap>();
        anywhere::<MaterialGroup>();
        anywhere::<MeshView>();
        anywhere::<Role>();
        anywhere::<Rule>();
        anywhere::<MeshFile>();
    }
    {
        use meshmap::cgeo::*;
        anywhere::<Proxy>();
        anywhere::<Properties>();
        anywhere::<Dialect>();
        anywhere::<Snapshot>();
        anywhere::<Section>();
        anywhere::<Counts>();
        anywhere::<Mesh>();
        sent::<MeshBuffer>();
        anywhere::<TopologyId>();
        anywhere::<Triangles>();
        anywhere::<Timing>();
        anywhere::<Key>();
        anywhere::<UnitLength>();
        #[cfg(feature = "cache")]
        anywhere::<SnapshotCache>();
        #[cfg(feature = "cache")]
        anywhere::<CacheStats>();
    }
    {
        use meshmap::iqm::*;
        anywhere::<Model>();
        anywhere::<VertexArray>();
        anywhere::<Mesh>();
        anywhere::<Joint>();
        anywhere::<Pose>();
        anywhere::<Anim>();
        anywhere::<Frames>();
        anywhere::<Trs>();
        anywhere::<Skeleton>();
        anywhere::<Extension>();
        anywhere::<FteEvent>();
        anywhere::<FteSkins>();
        anywhere::<FteSkinFrame>();
        anywhere::<FteMeshSkin>();
    }
    {
        use meshmap::openctm::*;
        anywhere::<Container>();
        anywhere::<Mesh>();
        anywhere::<UvMap>();
        anywhere::<AttributeMap>();
        anywhere::<MeshArrays>();
        anywhere::<MeshBuffer>();
    }
    {
        use meshmap::slmesh::*;
        anywhere::<Asset>();
        anywhere::<Entry>();
        anywhere::<Decoded>();
        anywhere::<Mesh>();
        anywhere::<Face>();
        anywhere::<Domain<3>>();
        sent::<MeshBuffer>();
        sent::<FaceBuffer>();
        anywhere::<Weights>();
        anywhere::<WeightArrays>();
        anywhere::<Skin>();
        anywhere::<PhysicsConvex>();
        anywhere::<UploadCache>();
        anywhere::<CacheEntry>();
        anywhere::<llsd::Reader<'static>>();
    }
    {
        use meshmap::tmf::*;
        anywhere::<Document>();
        anywhere::<Mesh>();
        anywhere::<Segment>();
        anywhere::<Packed<[f32; 3]>>();
        anywhere::<Custom>();
        anywhere::<CustomValues>();
        anywhere::<CornerIndices>();
    }
    assert_eq!(size_of::<Error>(), size_of::<usize>());
}

#[test]
fn ranges_are_checked_against_the_length() {
    let source = Source::from_bytes(vec![1, 2, 3]);
    assert_eq!(source.read(1..3).unwrap()[..], [2, 3]);
    assert_eq!(source.read(3..3).unwrap()[..], []);
    for range in [2..4, 4..5, 0..u64::MAX, u64::MAX - 1..u64::MAX] {
        let error = source.read(range.clone()).unwrap_err();
        assert_eq!(
            (error.kind(), error.byte_range()),
            (ErrorKind::Truncated, Some(range))
        );
    }
    #[expect(clippy::reversed_empty_ranges, reason = "the subject of the test")]
    let reversed = source.read(2..1).unwrap_err();
    assert_eq!(reversed.kind(), ErrorKind::OutOfRange);
    let error = source.read(1..20_001).unwrap_err();
    assert_eq!(
        error.to_string(),
        "range (0x1..0x4e21) is cut off: expected 20,000 bytes, found 2"
    );
}

#[test]
fn memory_is_shared_and_not_copied() {
    let bytes = Bytes::from(vec![1, 2, 3, 4]);
    let part = Source::from_bytes(bytes.clone()).read(1..3).unwrap();
    assert_eq!(part.as_ptr(), bytes[1..].as_ptr());
}

#[test]
fn views_outlive_source_and_model() {
    let path = data::valid("iqm", "skin_multi_anim.iqm");
    let positions = Model::open(&path).unwrap().positions().unwrap().unwrap();
    let again = open::model(fs::read(path).unwrap()).positions().unwrap();
    assert_eq!(Some(positions), again);
}

#[cfg(feature = "mmap")]
#[test]
fn empty_file_maps_to_an_empty_source() {
    let file = tempfile::NamedTempFile::new().unwrap();
    #[allow(unsafe_code, reason = "nobody else knows the file")]
    // SAFETY: as above.
    let source = unsafe { Source::map(file.path()) }.unwrap();
    assert_eq!(source.len().unwrap(), Some(0));
    assert_eq!(
        Format::detect(&source).unwrap_err().kind(),
        ErrorKind::UnknownFormat
    );
}

#[test]
fn directories_and_missing_files_are_errors_of_the_system() {
    use std::io::ErrorKind as Io;
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        Source::open(folder.path()).unwrap_err().kind(),
        ErrorKind::Io(Io::IsADirectory)
    );
    assert_eq!(
        Source::open(folder.path().join("none")).unwrap_err().kind(),
        ErrorKind::Io(Io::NotFound)
    );
}

#[test]
fn sources_tell_that_their_file_was_replaced_or_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.iqm");
    fs::write(&path, fixtures::iqm::small()).unwrap();
    let source = Source::open(&path).unwrap();
    assert_eq!(
        source.identity().unwrap().len,
        fixtures::iqm::small().len() as u64
    );
    assert!(!source.is_stale().unwrap());

    fs::File::options()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(b"x")
        .unwrap();
    assert!(source.is_stale().unwrap());

    fs::remove_file(&path).unwrap();
    assert!(source.is_stale().unwrap());
    assert!(!Source::from_bytes(vec![0]).is_stale().unwrap());
}

#[test]
fn file_that_shrank_is_truncated_and_no_more() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), vec![7; 1000]).unwrap();
    let source = Source::open(file.path()).unwrap();
    fs::write(file.path(), vec![7; 10]).unwrap();
    let error = source.read(0..1000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
}

#[test]
fn sources_count_what_they_read() {
    let source = Source::open(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    source.clone().read(0..10).unwrap();
    source.read(5..15).unwrap();
    assert_eq!(
        (source.read_stats().reads, source.read_stats().bytes),
        (2, 20)
    );
}

/// While the length is unknown a damaged file can announce anything; no single read is long.
#[test]
fn readers_of_unknown_length_are_asked_in_pieces() {
    let recorder = Recorder::of_unknown_length(vec![0; 40 << 20]);
    let source = Source::ranged(recorder.clone());
    assert_eq!(
        source.read(0..1 << 50).unwrap_err().kind(),
        ErrorKind::Truncated
    );
    let reads = recorder.reads();
    assert_eq!(reads.len(), 3);
    assert!(
        reads
            .iter()
            .all(|range| range.end - range.start <= 16 << 20)
    );
    // The short answer shows the length.
    assert_eq!(source.len().unwrap(), Some(40 << 20));
}

/// A reader that returns more than it was asked for gains nothing by it.
#[test]
fn readers_that_return_too_much_are_cut() {
    struct Generous;
    impl meshmap::ReadRange for Generous {
        fn len(&self) -> std::io::Result<Option<u64>> {
            Ok(Some(100))
        }
        fn read(&self, range: std::ops::Range<u64>) -> std::io::Result<Bytes> {
            Ok(vec![9; (range.end - range.start) as usize + 7].into())
        }
    }
    assert_eq!(Source::ranged(Generous).read(0..10).unwrap().len(), 10);
}

#[test]
fn requests_join_neighbours_only() {
    let fragments = Fragments::new(Some(u64::MAX));
    assert_eq!(fragments.requests(&[], 10, 0), []);
    assert_eq!(fragments.requests(&[5..5, 3..4], 0, 0), [3..4]);
    assert_eq!(
        fragments.requests(&[0..4, 4..8, 9..10], 0, 0),
        [0..8, 9..10]
    );
    assert_eq!(
        fragments.requests(&[0..100, 10..20, 90..110], 0, 0),
        [0..110]
    );
    assert_eq!(
        fragments.requests(&[u64::MAX - 1..u64::MAX, 0..1], u64::MAX, 0),
        [0..u64::MAX]
    );
}

#[test]
fn the_first_request_of_a_file_is_one_and_long() {
    let fragments = Fragments::new(None);
    assert_eq!(fragments.requests(&[], 0, 64), []);
    assert_eq!(fragments.requests(&[10..20, 30..40], 0, 64), [10..74]);
    assert_eq!(fragments.requests(&[10..200, 300..400], 0, 64), [10..200]);
    fragments.supply(10, vec![0; 10]).unwrap();
    assert_eq!(
        fragments.requests(&[30..40, 50..60], 0, 64),
        [30..40, 50..60]
    );
}

#[test]
fn small_files_are_requested_whole_and_no_byte_twice() {
    let fragments = Fragments::new(None);
    fragments.supply(100, vec![0; 50]).unwrap();
    fragments.set_len(256 << 10).unwrap();
    assert_eq!(
        fragments.requests(&[160..170], 0, 0),
        [0..100, 150..256 << 10]
    );
    assert_eq!(fragments.requests(&[], 0, 0), []);
    let larger = Fragments::new(Some((256 << 10) + 1));
    assert_eq!(larger.requests(&[160..170], 0, 0), [160..170]);
}

#[test]
fn formats_are_told_by_content() {
    let mut cgeo = vec![0x43, 4, 0, 0, 0];
    cgeo.extend_from_slice(b"text\0\0\0\0\xa1\xcc\xd0\xfa");
    let cases: [(&[u8], Format); 7] = [
        (b"INTERQUAKEMODEL\0", Format::Iqm),
        (b"OCTM\x05\0\0\0MG2\0", Format::OpenCtm),
        (b"TMF\0\0\x02\0\0\0\x02\0", Format::Tmf),
        (&cgeo, Format::CGeo),
        (b"{\0\0\0\x02k\0\0\0\x04skin", Format::SlMesh),
        (b"<? LLSD/Binary ?>\n{\0\0\0\0}", Format::SlMesh),
        (b"<?llsd/binary?>\n{\0\0\0\0}", Format::SlMesh),
    ];
    for (bytes, format) in cases {
        assert_eq!(
            Format::detect(&Source::from_bytes(bytes.to_vec())).unwrap(),
            format
        );
        // An asset may have no blocks; the others are cut short.
        let opened = MeshFile::from_source(Source::from_bytes(bytes.to_vec()), &Options::default());
        let found = opened.map_or_else(|error| error.format(), |file| Some(file.format()));
        assert_eq!(found, Some(format));
    }
}

#[test]
fn look_alikes_are_named() {
    let cases: [(&[u8], &str); 5] = [
        (b"CGEOv006........", "cluster-LOD"),
        (b"# Inter-Quake Export\n", ".iqe"),
        (b"", "the file is empty"),
        (b"glTF\x02\0\0\0", "glb"),
        (b"\xc3\x9d\x1f\x00", "Ceetron"),
    ];
    for (bytes, name) in cases {
        let error = Format::detect(&Source::from_bytes(bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownFormat);
        assert!(
            error.to_string().contains(name) && error.to_string().lines().count() == 1,
            "{error}"
        );
    }
}

/// The first mesh of a file of the repository.
fn attribute(file: &str, semantic: &Semantic) -> Attribute {
    let file = MeshFile::open(data::valid("iqm", file)).unwrap();
    file.mesh(&file.meshes().unwrap().next().unwrap().address)
        .unwrap()
        .attribute(semantic)
        .unwrap()
        .unwrap()
}

/// The output of `write_chunks` in a buffer filled with 0xEE, and the number of writes.
fn written(
    attribute: &Attribute,
    format: VertexFormat,
    stride: usize,
) -> meshmap::Result<(Vec<u8>, usize)> {
    let mut buffer = vec![0xEE; attribute.len() * stride];
    let mut calls = 0;
    let mut end = 0;
    attribute.write_chunks(format, stride, |offset, bytes| {
        assert!(
            offset >= end && bytes.len().is_multiple_of(format.size()),
            "ascending, whole elements"
        );
        buffer[offset..offset + bytes.len()].copy_from_slice(bytes);
        end = offset + bytes.len();
        calls += 1;
    })?;
    Ok((buffer, calls))
}

#[test]
fn attributes_widen_and_get_a_fourth_lane() {
    let positions = attribute("skin_multi_anim.iqm", &Semantic::Position);
    let (wide, _) = written(&positions, VertexFormat::FLOAT32X4, 16).unwrap();
    assert!(
        wide.chunks(16)
            .all(|element| element[12..] == 1_f32.to_ne_bytes())
    );

    let joints = attribute("skin_multi_anim.iqm", &Semantic::Joints(0));
    assert_eq!(joints.format(), VertexFormat::UINT8X4);
    let stored = joints.array::<[u8; 4]>().unwrap();
    let (wide, _) = written(&joints, VertexFormat::UINT16X4, 8).unwrap();
    for (element, joints) in wide.chunks(8).zip(stored.iter()) {
        assert_eq!(
            element,
            joints.map(|joint| u16::from(joint).to_ne_bytes()).concat()
        );
    }

    let weights = attribute("skin_multi_anim.iqm", &Semantic::Weights(0));
    assert_eq!(weights.format(), VertexFormat::UNORM8X4);
    let (floats, _) = written(&weights, VertexFormat::FLOAT32X4, 16).unwrap();
    let stored = weights.array::<[u8; 4]>().unwrap();
    for (element, weights) in floats.chunks(16).zip(stored.iter()) {
        let expected = weights.map(|weight| ((f64::from(weight) / 255.) as f32).to_ne_bytes());
        assert_eq!(element, expected.concat());
    }
}

#[test]
fn attributes_lose_components_and_are_rounded() {
    let positions = attribute("skin_multi_anim.iqm", &Semantic::Position);
    let (flat, _) = written(&positions, VertexFormat::FLOAT32X2, 8).unwrap();
    let values: Vec<[f32; 3]> = positions.to_f32();
    let expected: Vec<u8> = values
        .iter()
        .flat_map(|[x, y, _]| [*x, *y])
        .flat_map(f32::to_ne_bytes)
        .collect();
    assert_eq!(flat, expected);
    assert_eq!(
        positions.to_f32::<4>()[0],
        [values[0][0], values[0][1], values[0][2], 1.]
    );

    let normals = attribute("skin_multi_anim.iqm", &Semantic::Normal);
    let (packed, _) = written(&normals, VertexFormat::SNORM8X4, 4).unwrap();
    for (element, normal) in packed.chunks(4).zip(normals.to_f32::<3>()) {
        let expected =
            normal.map(|number| (f64::from(number) * 127.).round_ties_even() as i8 as u8);
        assert_eq!((&element[..3], element[3]), (&expected[..], 0));
    }
    let (halves, _) = written(&normals, VertexFormat::FLOAT16X4, 8).unwrap();
    assert_eq!(
        halves[..2],
        F16::from_f32(normals.to_f32::<3>()[0][0]).0.to_ne_bytes()
    );
}

#[test]
fn weights_and_joints_that_are_not_stored_are_0() {
    let weights = attribute("skin_multi_anim.iqm", &Semantic::Weights(0));
    let (narrow, _) = written(&weights, VertexFormat::UNORM8X2, 2).unwrap();
    assert_eq!(narrow[..2], weights.as_bytes()[..2]);
    let uvs = attribute("skin_multi_anim.iqm", &Semantic::TexCoord(0));
    assert_eq!(uvs.format(), VertexFormat::FLOAT32X2);
    assert!(uvs.to_f32::<4>().iter().all(|uv| uv[2..] == [0.; 2]));
    assert!(uvs.iter_f32::<4>().eq(uvs.to_f32::<4>()));
    let (wide, _) = written(&uvs, VertexFormat::UNORM8X4, 4).unwrap();
    assert!(wide.chunks(4).all(|element| element[2..] == [0; 2]));
}

#[test]
fn what_is_not_held_names_mesh_and_attribute() {
    let positions = attribute("ours_many_meshes_a.iqm", &Semantic::Position);
    let error = written(&positions, VertexFormat::UINT8X4, 4).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    let text = error.to_string();
    assert!(
        text.starts_with("iqm: ") && text.contains("meshes[0].position") && text.contains("u8x4"),
        "{text}"
    );
    assert_eq!(
        written(&positions, VertexFormat::FLOAT32X3, 8)
            .unwrap_err()
            .kind(),
        ErrorKind::OutOfRange
    );
    // 32-bit indices that are small fit 8 bits, and large ones do not.
    let joints = attribute("skin_noesis_fmt.iqm", &Semantic::Joints(0));
    assert_eq!(joints.format(), VertexFormat::UINT32X4);
    assert!(written(&joints, VertexFormat::UINT8X4, 4).is_ok());
}

#[test]
fn halves_and_bytes_become_floats() {
    let halves = attribute("fmt_half.iqm", &Semantic::Position);
    let raw = halves.array::<[meshmap::F16; 3]>().unwrap();
    assert_eq!(
        halves.to_f32::<3>(),
        raw.iter()
            .map(|lanes| lanes.map(|lane| lane.to_f32()))
            .collect::<Vec<_>>()
    );
    assert!(halves.array::<[f32; 3]>().is_none());
    assert!(halves.bounds().is_some());

    let bytes = attribute("fmt_byte.iqm", &Semantic::Normal);
    assert!(bytes.format().normalized);
    let raw = bytes.array::<[i8; 3]>().unwrap();
    let expected: Vec<_> = raw
        .iter()
        .map(|lanes| lanes.map(|lane| (f32::from(lane) / 127.).max(-1.)))
        .collect();
    assert_eq!(bytes.to_f32::<3>(), expected);
}

#[test]
fn addresses_find_meshes_by_index_and_name() {
    let file = MeshFile::open(data::valid("iqm", "ours_many_meshes_a.iqm")).unwrap();
    let by_name: Address = r#"meshes["mesh03"]"#.parse().unwrap();
    assert_eq!(file.mesh(&by_name).unwrap().name(), "mesh03");
    assert_eq!(
        file.mesh(&Address::field("meshes").index(3))
            .unwrap()
            .name(),
        "mesh03"
    );
    for wrong in [
        "meshes[41]",
        "meshes[18446744073709551615]",
        r#"meshes["x"]"#,
        "joints[0]",
        "meshes",
    ] {
        let error = file.mesh(&wrong.parse().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{wrong}");
    }
}

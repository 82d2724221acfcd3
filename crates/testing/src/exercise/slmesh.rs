//! Calls everything that a user can call on a mesh asset, and asserts what the documentation promises of any bytes.

use meshmap::slmesh::llsd::{Event, Reader};
use meshmap::slmesh::{Asset, CacheEntry, Face, Lod, Mesh, MeshBuffer, UploadCache, WeightScale};
use meshmap::{
    Address, ErrorKind, Format, Limits, Options, Result, Rule, Scratch, Severity, Source,
    Strictness,
};

use super::check::{assert_finding, assert_mesh, bits, options, seen};

/// A rule of the format.
fn rule(id: &str) -> Rule {
    Rule::by_id(Format::SlMesh, id).unwrap()
}

/// Faces that are looked at.
const MOST: usize = 16;

/// Opens the bytes tolerantly and strictly, and calls everything on what opens.
///
/// Returns whether the bytes are a file that opens.
pub fn bytes(bytes: &[u8]) -> bool {
    let source = || Source::from_bytes(bytes.to_vec());
    let open = |options: &Options| {
        Asset::from_source(source(), &options.with_slmesh_max_version(i32::MAX))
    };
    if let Some(cache) = check(UploadCache::from_source(&source(), &options())) {
        cache
            .ranges
            .iter()
            .for_each(|range| assert!(range.start <= range.end));
        let asset = cache
            .ranges
            .first()
            .map(|range| Asset::at(&source(), range.clone(), &options()));
        if let Some(asset) = asset.and_then(check) {
            everything(&asset);
        }
    }
    if let Some(entry) = check(CacheEntry::from_source(&source(), &options())) {
        everything(&entry.asset);
    }
    let strict = check(open(&options().with_strictness(Strictness::Strict)));
    let Some(asset) = check(open(&options())) else {
        assert!(
            strict.is_none(),
            "strict reading is never the more tolerant"
        );
        return false;
    };
    if let Some(findings) = check(asset.validate()) {
        findings.iter().for_each(assert_finding);
        assert_eq!(findings[..asset.findings().len()], *asset.findings());
        assert_eq!(
            strict.is_none(),
            findings
                .iter()
                .any(|finding| finding.severity() >= Severity::Forbidden),
            "strict reading"
        );
    } else {
        assert!(strict.is_none());
    }
    everything(&asset);
    true
}

fn check<T>(result: Result<T>) -> Option<T> {
    result.map_err(seen).ok()
}

fn everything(asset: &Asset) {
    let blocks = check(asset.blocks());
    assert!(blocks.is_none_or(|blocks| blocks.len() <= asset.entries().len()));
    let decoded = asset.decode_all().expect("bytes in memory can be read");
    let (mut buffer, mut scratch) = (MeshBuffer::default(), Scratch::default());
    for lod in Lod::ALL {
        let one = asset.lod(lod).map_err(seen);
        let all = decoded.lod(lod).map_err(seen);
        let into = asset.lod_into(lod, &mut buffer, &mut scratch).map_err(seen);
        let range = asset.lod_range(lod).map_err(seen);
        match (&one, &all) {
            (Ok(one), Ok(all)) => {
                assert_eq!(one.as_ref().map(Mesh::content), all.map(Mesh::content));
                assert_eq!(one.is_some(), range.unwrap().is_some());
                assert_eq!(one.as_ref().map(Mesh::range), asset.lod_range(lod).unwrap());
            }
            // All together may be more than is allowed.
            (Ok(_), Err(error)) => assert_eq!(error.kind(), ErrorKind::LimitExceeded),
            (Err(one), Err(all)) => assert_eq!(one.to_string(), all.to_string()),
            (Err(error), Ok(_)) => panic!("decoded with others only: {error}"),
        }
        match (&one, &into) {
            (Ok(Some(mesh)), Ok(is_there)) => {
                assert!(*is_there);
                same(mesh, &buffer);
            }
            (Ok(one), Ok(is_there)) => assert_eq!(one.is_some(), *is_there),
            // Floats take twice the memory of integers.
            (Ok(_), Err(error)) => assert_eq!(error.kind(), ErrorKind::LimitExceeded),
            (Err(one), Err(into)) => assert_eq!(one.to_string(), into.to_string()),
            (Err(error), Ok(_)) => panic!("decoded into memory only: {error}"),
        }
        if let Ok(Some(mesh)) = &one {
            self::mesh(mesh);
        }
        let best = asset.best_lod(lod);
        assert!(best.is_none_or(|lod| asset.lod_range(lod).unwrap().is_some()));
        assert!(
            asset
                .triangle_estimate(lod)
                .is_none_or(|triangles| triangles > 0)
        );
    }
    if let Some(Some(mesh)) = check(asset.physics_mesh()) {
        self::mesh(&mesh);
    }
    if let Some(Some(convex)) = check(asset.physics_convex()) {
        let sizes: Vec<_> = convex
            .hull_sizes()
            .map(Iterator::collect)
            .unwrap_or_default();
        let points = convex.raw_hull_points().map_or(0, |points| points.len());
        assert!(sizes.iter().sum::<usize>() <= points);
        let all = check(convex.hulls_at(&Address::field("physics_convex")));
        for hull in all.into_iter().flatten().take(MOST) {
            let by_address = check(convex.hulls_at(&hull.address())).unwrap();
            assert_eq!(by_address.len(), 1);
            assert_eq!(by_address[0].raw_points(), hull.raw_points());
            if let Some(index) = hull.index() {
                assert_eq!(hull.raw_points().len(), sizes[index]);
            }
        }
    }
}

fn same(mesh: &Mesh, buffer: &MeshBuffer) {
    assert_eq!(mesh.faces().len(), buffer.faces().len());
    for (face, buffer) in mesh.faces().zip(buffer.faces()) {
        assert_eq!(face.has_geometry(), buffer.has_geometry);
        assert_eq!(
            bits(face.positions().unwrap().to_vec().as_flattened()),
            bits(buffer.positions.as_flattened())
        );
        let normals = face
            .normals()
            .unwrap()
            .map(|array| array.to_vec())
            .unwrap_or_default();
        assert_eq!(
            bits(normals.as_flattened()),
            bits(buffer.normals.as_flattened())
        );
        let tex_coords = face
            .texcoords(0)
            .unwrap()
            .map(|array| array.to_vec())
            .unwrap_or_default();
        assert_eq!(
            bits(tex_coords.as_flattened()),
            bits(buffer.texcoords.as_flattened())
        );
        assert_eq!(face.raw_indices().to_vec(), buffer.indices);
        let arrays = face
            .weights()
            .map(|weights| weights.arrays(WeightScale::Stored).unwrap());
        let joints = arrays
            .as_ref()
            .map(|arrays| arrays.joints.to_vec())
            .unwrap_or_default();
        assert_eq!(joints, buffer.joints);
        let weights = arrays
            .map(|arrays| arrays.weights.to_vec())
            .unwrap_or_default();
        assert_eq!(
            bits(weights.as_flattened()),
            bits(buffer.weights.as_flattened())
        );
    }
}

fn mesh(mesh: &Mesh) {
    assert_eq!(
        mesh.face(mesh.faces().len()).unwrap_err().kind(),
        ErrorKind::OutOfRange
    );
    assert!((0..mesh.faces().len()).all(|index| mesh.face(index).unwrap().index() == index));
    let faces = mesh.faces().fold((0, 0), |sum, face| {
        (sum.0 + face.vertex_count(), sum.1 + face.triangle_count())
    });
    assert_eq!(faces, (mesh.vertex_count(), mesh.triangle_count()));
    mesh.faces().take(MOST).for_each(|face| self::face(&face));
}

fn face(face: &Face) {
    let count = face.vertex_count();
    assert!(face.has_geometry() || count == 0 && face.raw_indices().is_empty());
    assert_eq!(face.raw_positions().len(), count);
    assert!(
        face.raw_normals()
            .is_none_or(|normals| normals.len() == count)
    );
    assert!(
        face.raw_texcoords()
            .is_none_or(|tex_coords| tex_coords.len() == count)
    );
    assert_eq!(face.triangle_count() * 3, face.raw_indices().len());
    if let Some(weights) = face.weights() {
        assert_eq!(weights.len(), count);
        assert_eq!(weights.is_empty(), count == 0);
        assert!(weights.iter().all(|influences| influences.len() <= 4));
        let normalized = weights.arrays(WeightScale::Normalized).unwrap();
        for weights in normalized.weights.iter() {
            let sum: f32 = weights.iter().sum();
            assert!(sum == 0.0 || (sum - 1.0).abs() < 1e-6, "{weights:?}");
        }
    }
    match (face.view().map_err(seen), face.indices().map_err(seen)) {
        (Ok(view), Ok(indices)) => {
            assert_eq!(indices, face.raw_indices());
            assert_eq!(face.triangles().unwrap().as_bytes(), indices.as_bytes());
            assert_mesh(&view);
        }
        (Err(_), Err(error)) => {
            assert!(
                error.decoded_range().is_some() && error.what() == "TriangleList",
                "{error}"
            );
        }
        _ => panic!("{:?}", rule("index_out_of_range")),
    }
}

/// Reads any bytes as LLSD, in two ways.
pub fn llsd(bytes: &[u8]) {
    let mut reader = Reader::new(bytes, &Limits::default());
    let (mut events, mut open) = (0_usize, 0_usize);
    let read = loop {
        let before = reader.position();
        match reader.next_event() {
            Ok(Some(event)) => {
                events += 1;
                assert!(reader.position() > before && reader.position() <= bytes.len());
                match event {
                    Event::BeginArray(_) | Event::BeginMap(_) => open += 1,
                    Event::EndArray | Event::EndMap => open -= 1,
                    Event::String(text) | Event::Uri(text) | Event::Key(text) => {
                        let unescaped: Vec<u8> = text.bytes().collect();
                        assert!(unescaped.len() <= bytes.len());
                        assert_eq!(text.to_string_lossy(), String::from_utf8_lossy(&unescaped));
                    }
                    _ => {}
                }
                assert!(open <= 256 && events <= bytes.len());
            }
            Ok(None) => break Ok(reader.position()),
            Err(error) => break Err(seen(error).to_string()),
        }
    };
    assert!(read.is_err() || open == 0);
    let mut skipping = Reader::new(bytes, &Limits::default());
    let skipped = skipping
        .skip_value()
        .map(|()| skipping.position())
        .map_err(|error| error.to_string());
    assert_eq!(read, skipped);
}

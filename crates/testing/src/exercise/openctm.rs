//! Calls everything that a user can call on an OpenCTM file, and asserts what the documentation promises of any bytes.

use std::fmt::Debug;

use meshmap::openctm::{Container, Mesh, MeshBuffer};
use meshmap::{
    Array, Decoder, Element, ErrorKind, Finding, Format, MeshFile, Options, Result, Rule, Scratch,
    Severity, Source, Strictness,
};

use super::check::{assert_array, assert_finding, assert_mesh, options, seen};

/// A rule of the format.
fn rule(id: &str) -> Rule {
    Rule::by_id(Format::OpenCtm, id).unwrap()
}

/// Parts of a kind that are looked at.
const MOST: usize = 8;

/// Opens the bytes tolerantly and strictly, and calls everything on what opens.
///
/// Returns whether the bytes are a file that opens.
pub fn bytes(bytes: &[u8]) -> bool {
    let options = options().with_limits(options().limits.with_max_total_bytes(2 << 20));
    let source = Source::from_bytes(bytes.to_vec());
    let Some(bodies) = check(Container::from_source(source.clone(), &options)) else {
        assert!(Mesh::at(&source, 0, &options).map_err(seen).is_err());
        return false;
    };
    assert!(matches!(
        MeshFile::from_source(source.clone(), &options),
        Ok(MeshFile::OpenCtm(_))
    ));
    bodies.findings().iter().for_each(assert_finding);
    let (mut end, mut buffer) = (0, MeshBuffer::default());
    for mesh in bodies.meshes().take(MOST) {
        assert_eq!(mesh.range().start, end, "bodies lie back to back");
        end = mesh.range().end;
        assert!(end <= bytes.len() as u64);
        self::mesh(mesh, &options, &mut buffer);
    }
    let strict = Mesh::at(&source, 0, &options.with_strictness(Strictness::Strict)).map_err(seen);
    let first = bodies.mesh(0).expect("there is always one");
    let is_strict = first.validate().is_ok_and(|findings| {
        !findings
            .iter()
            .any(|finding| finding.severity() >= Severity::Forbidden)
    });
    assert_eq!(strict.is_ok(), is_strict, "strict reading");
    true
}

fn check<T>(result: Result<T>) -> Option<T> {
    result.map_err(seen).ok()
}

/// The buffer has been used for other bodies.
fn mesh(mesh: &Mesh, options: &Options, buffer: &mut MeshBuffer) {
    let (vertices, triangles) = (mesh.vertex_count(), mesh.triangle_count());
    assert!(vertices > 0 && triangles > 0);
    let mut scratch = Scratch::default();
    let (indices, positions) = (check(mesh.raw_triangles()), check(mesh.positions()));
    assert!(
        indices
            .as_ref()
            .is_none_or(|indices| indices.len() == triangles)
    );
    same(positions.as_ref(), vertices, |out| {
        mesh.positions_into(out, &mut scratch)
    });
    let normals = check(mesh.normals());
    if let Some(Some(normals)) = &normals {
        same(Some(normals), vertices, |out| {
            mesh.normals_into(out, &mut scratch)
                .map(|there| assert!(there))
        });
    } else if normals.is_some() {
        let mut none = vec![[7.0; 3]];
        assert!(!mesh.normals_into(&mut none, &mut scratch).unwrap() && none.is_empty());
    }
    let mut all_good = indices.is_some() && positions.is_some() && normals.is_some();
    for map in mesh.uv_maps().take(MOST) {
        let coords = check(map.read());
        same(coords.as_ref(), vertices, |out| {
            map.read_into(out, &mut scratch)
        });
        all_good &= coords.is_some();
    }
    for map in mesh.attribute_maps().take(MOST) {
        let values = check(map.read());
        same(values.as_ref(), vertices, |out| {
            map.read_into(out, &mut scratch)
        });
        all_good &= values.is_some();
    }
    let arrays = check(mesh.arrays());
    let into = check(mesh.arrays_into(buffer, &mut scratch));
    assert_eq!(arrays.is_some(), into.is_some());
    if let Some(arrays) = arrays {
        fn from<T: Element + zerocopy::IntoBytes + zerocopy::Immutable>(
            vector: &mut Vec<T>,
        ) -> Array<T> {
            Array::from_vec(std::mem::take(vector))
        }
        assert!(all_good && Some(&arrays.positions) == positions.as_ref());
        assert_eq!(Some(&arrays.triangles), indices.as_ref());
        assert_eq!(
            (arrays.normals.is_some(), Some(&arrays.normals)),
            (mesh.has_normals(), normals.as_ref())
        );
        assert_eq!(from(&mut buffer.positions), arrays.positions);
        assert_eq!(from(&mut buffer.triangles), arrays.triangles);
        assert_eq!(
            from(&mut buffer.normals),
            arrays
                .normals
                .unwrap_or_else(|| Array::from_vec(Vec::new()))
        );
        assert_eq!(
            buffer.texcoords.iter_mut().map(from).collect::<Vec<_>>(),
            arrays.texcoords
        );
        assert_eq!(
            buffer
                .attribute_maps
                .iter_mut()
                .map(from)
                .collect::<Vec<_>>(),
            arrays.attribute_maps
        );
        // The next round overwrites these.
        buffer.positions.resize(2 * vertices, [7.0; 3]);
        buffer.normals.resize(2 * vertices, [7.0; 3]);
    }
    reference_decoder(mesh, options);
    let findings = check(mesh.validate());
    if let Some(findings) = &findings {
        findings.iter().for_each(assert_finding);
    }
    view(mesh, findings.as_deref());
}

/// Vectors and arrays of the same block are equal.
fn same<T: Element + Default + Debug + zerocopy::IntoBytes + zerocopy::Immutable>(
    array: Option<&Array<T>>,
    count: usize,
    mut into: impl FnMut(&mut Vec<T>) -> Result<()>,
) {
    // A block that cannot be decoded may declare more than the memory.
    let Some(array) = array else { return };
    assert_eq!(array.len(), count);
    assert_array(array);
    for length in [count / 2, 2 * count] {
        let mut out = vec![T::default(); length];
        into(&mut out).expect("an array that was decoded before");
        assert_eq!(Array::from_vec(out), *array);
    }
}

/// The two decoders take the same streams, and make the same of them.
fn reference_decoder(mesh: &Mesh, options: &Options) {
    let mut scratch = Scratch::default();
    for block in mesh.blocks().iter().take(MOST) {
        let mut decode = |options: Options| {
            block
                .decode(mesh.source(), &options, &mut scratch)
                .map_err(seen)
        };
        match (
            decode(*options),
            decode(options.with_decoder(Decoder::Reference)),
        ) {
            (Ok(one), Ok(other)) => assert!(one == other, "the decoders differ"),
            (one, other) => assert_eq!(one.is_err(), other.is_err(), "{one:?}, {other:?}"),
        }
    }
}

fn view(mesh: &Mesh, findings: Option<&[Finding]>) {
    match mesh.view() {
        Ok(view) => {
            if findings.is_some() {
                assert_mesh(&view);
            }
        }
        Err(error) if error.what() == rule("index_out_of_range").name => {
            assert_eq!(error.kind(), ErrorKind::Malformed);
            assert!(
                findings.is_none_or(|all| all.iter().any(|f| f.rule == rule("index_out_of_range")))
            );
        }
        Err(error) => assert!(findings.is_none(), "{}", seen(error)),
    }
}

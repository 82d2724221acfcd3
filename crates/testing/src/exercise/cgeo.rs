//! Calls everything that a user can call on a CGeo file, and asserts what the documentation promises of any bytes.

use meshmap::cgeo::{MeshBuffer, Parts, Proxy};
use meshmap::{Options, Result, Scratch, Severity, Source, Strictness};

use super::check::{options, seen};

/// As many snapshots are looked at.
const MOST: usize = 8;

/// Opens the bytes tolerantly and strictly, and calls everything on what opens.
///
/// Returns whether the bytes are a file that opens.
pub fn bytes(bytes: &[u8]) -> bool {
    let open = |options: &Options| Proxy::from_source(Source::from_bytes(bytes.to_vec()), options);
    let strict = check(open(&options().with_strictness(Strictness::Strict)));
    let Some(proxy) = check(open(&options())) else {
        assert!(
            strict.is_none(),
            "strict reading is never the more tolerant"
        );
        return false;
    };
    let findings = proxy.validate().expect("bytes in memory can be read");
    assert_eq!(
        strict.is_none(),
        findings
            .iter()
            .any(|finding| finding.severity() >= Severity::Forbidden),
        "strict reading"
    );
    everything(&proxy);
    true
}

fn check<T>(result: Result<T>) -> Option<T> {
    result.map_err(seen).ok()
}

fn everything(proxy: &Proxy) {
    assert!(proxy.snapshot(proxy.snapshot_count()).is_err());
    let (mut mesh, mut scratch) = (MeshBuffer::default(), Scratch::default());
    for index in 0..proxy.snapshot_count().min(MOST) {
        let Some(snapshot) = check(proxy.snapshot(index)) else {
            continue;
        };
        let parts = (
            check(snapshot.positions()),
            check(snapshot.normals()),
            check(snapshot.triangles()),
        );
        if check(snapshot.mesh_into(Parts::ALL, &mut mesh, &mut scratch)).is_none() {
            continue;
        }
        // Parts equal the same parts of the whole mesh.
        let (Some(positions), Some(normals), Some(triangles)) = parts else {
            panic!("a part of a good mesh is bad")
        };
        assert!(positions.len() == mesh.positions.len() && normals.len() == mesh.normals.len());
        assert_eq!(triangles.as_bytes(), mesh.triangles.as_bytes());
        assert_eq!(triangles.positions().len(), triangles.len());
        for channel in 0..mesh.texcoords.len().min(MOST) {
            assert_eq!(
                snapshot.texcoords(channel).unwrap().len(),
                mesh.texcoords[channel].len()
            );
        }
        let is_difference =
            check(snapshot.position_differences_into(&mut mesh.positions, &mut scratch));
        assert_eq!(
            is_difference,
            Some(!mesh.is_complete),
            "the kind of a good mesh"
        );
    }
}

//! Calls everything that a user can call on a CGeo file, and asserts what the documentation promises of any bytes.

use meshmap::cgeo::{self, MeshBuffer, Proxy, ReadOptions, Timing, Wrap};
use meshmap::{Options, Result, Scratch, Severity, Source, Strictness};

use super::{options, seen};

/// As many snapshots are looked at.
const MOST: usize = 8;

/// Opens the bytes tolerantly and strictly, and calls everything on what opens.
///
/// Returns whether the bytes are a file that opens.
pub fn bytes(bytes: &[u8]) -> bool {
    let open = |options: &Options| {
        Proxy::from_source_with(Source::from_bytes(bytes.to_vec()), options, &ReadOptions::default())
    };
    let strict = check(open(&options().with_strictness(Strictness::Strict)));
    let Some(proxy) = check(open(&options())) else {
        assert!(strict.is_none(), "strict reading is never the more tolerant");
        return false;
    };
    let findings = proxy.validate().expect("bytes in memory can be read");
    assert_eq!(
        strict.is_none(),
        findings.iter().any(|finding| finding.severity() >= Severity::Forbidden),
        "strict reading"
    );
    everything(&proxy);
    true
}

fn check<T>(result: Result<T>) -> Option<T> {
    result.map_err(seen).ok()
}

fn everything(proxy: &Proxy) {
    let _ =
        (proxy.version(), proxy.object_name(), proxy.material_name(), proxy.date_created(), proxy.scale());
    let _ = (proxy.flags(), proxy.unit_length(), proxy.dialect().to_string(), proxy.timing());
    let _ = (proxy.properties().iter().count(), proxy.properties().text());
    assert!(proxy.snapshot(proxy.len()).is_err());
    let (mut mesh, mut scratch) = (MeshBuffer::default(), Scratch::default());
    let timing = proxy.timing().unwrap_or_else(|| Timing::new(0.0, 0.04, proxy.len()));
    check(timing.keys(-1.0, 1.0, Wrap::PingPong));
    for index in 0..proxy.len().min(MOST) {
        let Some(snapshot) = check(proxy.snapshot(index)) else { continue };
        let _ = (check(snapshot.sections()), check(snapshot.bounding_box()), check(snapshot.point_cloud()));
        let _ = (check(snapshot.counts()), check(snapshot.topology()), check(snapshot.samples()));
        let _ =
            check(snapshot.blocks()).map(|blocks| meshmap::decode_all(proxy.source(), &blocks, &options()));
        let _ = (check(snapshot.raw_section(cgeo::raw::TAG_MESH_DATA)), snapshot.time(), snapshot.range());
        let parts = (check(snapshot.positions()), check(snapshot.normals()), check(snapshot.triangles()));
        if check(snapshot.mesh_into(&mut mesh, &mut scratch)).is_none() {
            continue;
        }
        // What the whole mesh has, its parts have.
        let (Some(positions), Some(normals), Some(triangles)) = parts else {
            panic!("a part of a good mesh is bad")
        };
        assert!(positions.len() == mesh.positions.len() && normals.len() == mesh.normals.len());
        assert_eq!(triangles.as_bytes(), mesh.triangles.as_bytes());
        assert_eq!(triangles.iter().len(), triangles.len());
        for channel in 0..mesh.map_channels.len().min(MOST) {
            assert_eq!(snapshot.map_channel(channel).unwrap().len(), mesh.map_channels[channel].len());
            let _ = triangles.map_channel(channel);
        }
        let _ = (triangles.material_ids(), triangles.edge_visibility(), triangles.get(0));
        check(proxy.velocities(&timing, index, &mut mesh.positions, &mut scratch));
        check(proxy.positions_at(&timing, &[0.01, 0.05], Wrap::Loop, &mut mesh.positions, &mut scratch));
        let is_difference = check(snapshot.position_differences_into(&mut mesh.positions, &mut scratch));
        assert_eq!(is_difference, Some(!mesh.is_complete), "the kind of a good mesh");
    }
}

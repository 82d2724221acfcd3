//! Time that grows with what is there: no number of a file multiplies with another.

use std::time::{Duration, Instant};

use meshmap::cgeo::{self, Proxy, SizeMeaning};
use meshmap::{Codec, ErrorKind, Options, Source, Strictness};
use meshmap_testing::fixtures;

/// The shortest of a few runs.
fn time<T>(mut job: impl FnMut() -> T) -> Duration {
    let run = |job: &mut dyn FnMut() -> T| {
        let start = Instant::now();
        job();
        start.elapsed()
    };
    (0..3).map(|_| run(&mut job)).min().unwrap()
}

/// Four times as many items take about four times as long; items that multiply take sixteen times.
fn assert_linear(few: Duration, many: Duration) {
    assert!(many < few * 9 + Duration::from_millis(30), "{few:?}, and for four times as many {many:?}");
}

/// A snapshot with this many meshes of no vertices.
fn many_samples(count: usize, dialect: cgeo::Dialect) -> Vec<u8> {
    let mesh = fixtures::cgeo::Mesh::default().complete();
    let sections = vec![(cgeo::raw::TAG_MESH_DATA, mesh); count];
    fixtures::cgeo::file(&[sections], dialect)
}

#[test]
#[cfg_attr(miri, ignore = "measures time")]
fn meshes_of_a_snapshot_are_not_searched_from_its_start() {
    let stored = cgeo::Dialect::default().with_codec(Codec::Stored);
    let inflated = cgeo::Dialect::default().with_codec(Codec::Deflate).with_size(SizeMeaning::Inflated);
    for dialect in [stored, inflated] {
        let validate = |count: usize| {
            let options = Options::default().with_strictness(Strictness::Strict);
            let read = cgeo::ReadOptions::default();
            let bytes = many_samples(count, dialect);
            time(|| Proxy::from_source_with(Source::from_bytes(bytes.clone()), &options, &read).unwrap())
        };
        assert_linear(validate(1000), validate(4000));
    }
}

#[test]
fn map_channels_without_coordinates_do_not_multiply_with_snapshots() {
    let base = fixtures::cgeo::Mesh { map_channels: vec![Vec::new(); 4097], ..Default::default() };
    let differences = std::iter::repeat_n(base.difference(&base), 40);
    let contents = std::iter::once(base.complete()).chain(differences);
    let snapshots: Vec<_> = contents.map(|content| vec![(cgeo::raw::TAG_MESH_DATA, content)]).collect();
    let bytes = fixtures::cgeo::file(&snapshots, cgeo::Dialect::default());
    let proxy = Proxy::from_source(Source::from_bytes(bytes)).unwrap();
    assert_eq!(proxy.snapshot(1).unwrap().mesh().unwrap_err().kind(), ErrorKind::LimitExceeded);
}

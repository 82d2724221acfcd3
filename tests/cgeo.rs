//! CGeo: what the values mean, in every dialect, and what they cost.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use meshmap::cgeo::{
    Dialect, MeshBuffer, OffsetTarget, Parts, Proxy, SizeMeaning, Timing, UnitEvidence, Wrap, raw,
};
use meshmap::{
    Codec, ErrorKind, Format, Limits, MeshFile, Options, Rule, Scratch, Semantic, Severity, Source,
    Strictness,
};
use meshmap_testing::fixtures::cgeo::{Mesh, Snapshot, animation, dialects, file, snapshot};
use meshmap_testing::{Recorder, data, fixtures, hooked, open};

/// A rule of the format.
fn rule(id: &str) -> Rule {
    Rule::by_id(Format::CGeo, id).unwrap()
}

fn proxy(bytes: Vec<u8>) -> Proxy {
    open::proxy(bytes)
}

fn sheet() -> (Vec<Mesh>, Vec<Snapshot>) {
    animation(9, 6)
}

/// Base and difference added as a reader adds them.
fn expected(meshes: &[Mesh], index: usize) -> Vec<[f32; 3]> {
    let (own, base) = (&meshes[index].positions, &meshes[0].positions);
    if index == 0 {
        return own.clone();
    }
    let lane = |own: f32, base: f32| base + (own - base);
    own.iter()
        .zip(base)
        .map(|(own, base)| [0, 1, 2].map(|axis| lane(own[axis], base[axis])))
        .collect()
}

#[test]
fn every_dialect_is_found_and_read() {
    let (meshes, snapshots) = sheet();
    for dialect in dialects() {
        let proxy = proxy(file(&snapshots, dialect));
        assert_eq!(
            (proxy.dialect(), proxy.dialect_is_found()),
            (dialect, true),
            "{dialect}"
        );
        for index in 0..meshes.len() {
            let snapshot = proxy.snapshot(index).unwrap();
            assert_eq!(
                snapshot.positions().unwrap().to_vec(),
                expected(&meshes, index),
                "{dialect}"
            );
            assert_eq!(
                snapshot.mesh(Parts::ALL).unwrap().positions.to_vec(),
                expected(&meshes, index),
                "{dialect}"
            );
            assert_eq!(
                snapshot.triangles().unwrap().len(),
                meshes[0].triangles.len()
            );
            let bounds = snapshot
                .bounding_box(&mut Scratch::default())
                .unwrap()
                .unwrap();
            assert!(bounds.min[0] == 0.0 && bounds.max[2] > 0.0);
            assert_eq!(
                snapshot.point_cloud().unwrap().unwrap().len(),
                81_usize.div_ceil(7)
            );
        }
        assert_eq!(proxy.validate().unwrap(), [], "{dialect}");
    }
}

#[test]
fn blocks_decode_to_the_contents_of_the_sections() {
    let (meshes, snapshots) = sheet();
    for dialect in dialects() {
        let proxy = proxy(file(&snapshots, dialect));
        let blocks = proxy.snapshot(1).unwrap().blocks().unwrap();
        let decoded = meshmap::decode_all(proxy.source(), &blocks, &Options::default());
        let contents = [
            meshes[1].bounding_box(),
            meshes[1].point_cloud(7),
            meshes[1].difference(&meshes[0]),
        ];
        for (found, expected) in decoded.into_iter().zip(contents) {
            assert_eq!(found.unwrap(), expected, "{dialect}");
        }
    }
}

#[test]
fn dialect_can_be_forced() {
    let (_, snapshots) = sheet();
    let dialect = Dialect::default()
        .with_codec(Codec::Gzip)
        .with_size(SizeMeaning::StoredWithHeader);
    let bytes = file(&snapshots, dialect);
    let read = |dialect| {
        let options = Options::default().with_dialect(dialect);
        Proxy::from_source(Source::from_bytes(bytes.clone()), &options).unwrap()
    };
    assert!(read(dialect).snapshot(1).unwrap().mesh(Parts::ALL).is_ok());
    assert!(!read(dialect).dialect_is_found());
    let wrong = read(Dialect::default());
    assert_eq!(
        wrong
            .snapshot(1)
            .unwrap()
            .mesh(Parts::ALL)
            .unwrap_err()
            .kind(),
        ErrorKind::Malformed
    );
}

#[test]
fn each_stream_alone_is_that_of_the_whole_mesh() {
    let (_, snapshots) = sheet();
    let proxy = proxy(file(&snapshots, Dialect::default()));
    for index in [0, 3] {
        let snapshot = proxy.snapshot(index).unwrap();
        let mesh = snapshot.mesh(Parts::ALL).unwrap();
        assert_eq!(snapshot.positions().unwrap(), mesh.positions);
        assert_eq!(snapshot.normals().unwrap(), mesh.normals);
        assert_eq!(snapshot.texcoords(0).unwrap(), mesh.texcoords[0]);
        assert_eq!(
            snapshot.triangles().unwrap().as_bytes(),
            mesh.triangles.as_bytes()
        );
        let counts = snapshot.counts(&mut Scratch::default()).unwrap();
        assert_eq!(
            (
                counts.vertices,
                counts.normals,
                counts.texcoord_sets,
                counts.triangles
            ),
            (81, 81, 1, 128)
        );
        assert_eq!(
            snapshot.texcoords(1).unwrap_err().kind(),
            ErrorKind::OutOfRange
        );
        let error = snapshot
            .texcoords_into(1, &mut [][..], &mut Scratch::default())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
        assert_eq!(
            snapshot.is_complete(&mut Scratch::default()).unwrap(),
            index == 0
        );
    }
}

#[test]
fn triangles_are_found_by_stream() {
    let (meshes, snapshots) = sheet();
    let triangles = proxy(file(&snapshots, Dialect::default()))
        .snapshot(0)
        .unwrap()
        .triangles()
        .unwrap();
    assert_eq!(
        (
            triangles.len(),
            triangles.texcoord_sets(),
            triangles.tail_len()
        ),
        (128, 1, 3)
    );
    let streams = (
        triangles.positions(),
        triangles.normals().unwrap(),
        triangles.texcoords(0).unwrap(),
    );
    let (ids, edges) = (
        triangles.material_ids().unwrap(),
        triangles.edge_visibility().unwrap(),
    );
    let (ids, edges): (Vec<u32>, Vec<u8>) = (ids.collect(), edges.collect());
    for (index, positions) in streams.0.iter().copied().enumerate() {
        assert_eq!([positions, streams.1[index]], meshes[0].triangles[index]);
        assert_eq!((streams.1[index], streams.2[index]), (positions, positions));
        assert_eq!((ids[index], edges[index]), (index as u32 % 3, 0b101));
    }
    assert_eq!(
        (streams.0.len(), streams.1.len(), ids.len(), edges.len()),
        (128, 128, 128, 128)
    );
    assert_eq!(triangles.texcoords(1), None);
}

/// Records that are not as long as in version 7: what is behind the indices shows in the length of the stream.
#[test]
fn triangle_records_of_other_lengths_are_read() {
    let mesh = Mesh::sheet(4, 1, 0.0);
    let whole = mesh.complete();
    let head = whole.len() - mesh.triangles.len() * 39;
    for tail in [0, 1, 2, 4, 7] {
        let mut content = whole[..head].to_vec();
        for record in whole[head..].chunks(39) {
            content.extend(&record[..36]);
            content.extend(record[36..].iter().chain(&[0; 8]).take(tail));
        }
        let proxy = proxy(file(&[snapshot(&mesh, content)], Dialect::default()));
        let triangles = proxy
            .snapshot(0)
            .unwrap()
            .mesh(Parts::ALL)
            .unwrap()
            .triangles;
        assert_eq!((triangles.tail_len(), triangles.len()), (tail, 18));
        assert_eq!(
            triangles.positions(),
            mesh.triangles.iter().map(|t| t[0]).collect::<Vec<_>>()
        );
        assert_eq!(
            triangles.material_ids().is_some(),
            tail == 2 || tail == 4,
            "{tail}"
        );
        let findings = proxy.validate().unwrap();
        assert!(
            findings
                .iter()
                .any(|found| found.rule == rule("triangle_tail")),
            "{findings:?}"
        );
    }
}

#[test]
fn complete_snapshots_stand_among_differences() {
    let (meshes, mut snapshots) = sheet();
    let other = Mesh::sheet(5, 2, 1.0);
    snapshots[2] = snapshot(&other, other.complete());
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let topology = |index| {
        proxy
            .snapshot(index)
            .unwrap()
            .topology(&mut Scratch::default())
            .unwrap()
    };
    assert_eq!(topology(0), topology(1));
    assert_eq!(topology(1), topology(5));
    assert_ne!(topology(0), topology(2));
    // A difference is from the first snapshot, whatever stands between.
    assert_eq!(
        proxy.snapshot(3).unwrap().positions().unwrap().to_vec(),
        expected(&meshes, 3)
    );
    assert_eq!(
        proxy.snapshot(2).unwrap().positions().unwrap().to_vec(),
        other.positions
    );

    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    let timing = proxy.timing().unwrap();
    let error = proxy
        .positions_at(&timing, &[0.06], Wrap::Clamp, &mut out, &mut scratch)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
}

#[test]
fn differences_without_a_base_are_errors() {
    let (meshes, mut snapshots) = sheet();
    snapshots[0] = snapshot(&meshes[0], meshes[0].difference(&meshes[1]));
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let error = proxy.snapshot(2).unwrap().mesh(Parts::ALL).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(
        error
            .to_string()
            .contains("a complete mesh in the first snapshot"),
        "{error}"
    );
}

#[test]
fn several_meshes_are_samples() {
    let (meshes, mut snapshots) = sheet();
    snapshots[1].push((raw::TAG_MESH_DATA, meshes[4].difference(&meshes[0])));
    let snapshot = proxy(file(&snapshots, Dialect::default()))
        .snapshot(1)
        .unwrap();
    assert_eq!(snapshot.samples(&mut Scratch::default()).unwrap(), 2);
    assert_eq!(snapshot.positions().unwrap().to_vec(), expected(&meshes, 1));
    assert_eq!(
        snapshot.sample(1).positions().unwrap().to_vec(),
        expected(&meshes, 4)
    );
    assert_eq!(
        snapshot.sample(2).positions().unwrap_err().kind(),
        ErrorKind::Malformed
    );
}

#[test]
fn broken_snapshot_spoils_itself_only() {
    let (meshes, snapshots) = sheet();
    let mut bytes = file(&snapshots, Dialect::default());
    let (start, end) = {
        let proxy = proxy(bytes.clone());
        let section = proxy
            .snapshot(3)
            .unwrap()
            .sections()
            .unwrap()
            .pop()
            .unwrap();
        (section.content.start, section.content.end)
    };
    bytes[start as usize + 40] ^= 0x55;
    let proxy = proxy(bytes);
    let error = proxy.snapshot(3).unwrap().mesh(Parts::ALL).unwrap_err();
    assert_eq!(error.address().unwrap().to_string(), "snapshots[3]");
    assert_eq!(error.byte_range(), Some(start..end));
    for index in [0, 1, 2, 4, 5] {
        assert_eq!(
            proxy
                .snapshot(index)
                .unwrap()
                .mesh(Parts::ALL)
                .unwrap()
                .positions
                .to_vec(),
            expected(&meshes, index)
        );
    }
    let findings = proxy.validate().unwrap();
    let wrong: Vec<_> = findings
        .iter()
        .filter(|finding| finding.severity() == Severity::Unusable)
        .collect();
    assert_eq!(wrong.len(), 1);
    assert_eq!(
        wrong[0].address.as_ref().unwrap().to_string(),
        "snapshots[3]"
    );

    let mut outcomes = Vec::new();
    proxy.play(0..6).capacity(1 << 20).for_each(|index, mesh| {
        outcomes.push((index, mesh.is_ok()));
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(
        outcomes,
        [
            (0, true),
            (1, true),
            (2, true),
            (3, false),
            (4, true),
            (5, true)
        ]
    );
}

#[test]
fn positions_between_snapshots_lie_on_the_straight_line() {
    let (meshes, snapshots) = sheet();
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    let timing = proxy.timing().unwrap();
    let keys = timing.keys(0.05, 0.09, Wrap::Clamp).unwrap();
    assert_eq!(keys, [0.05, 0.08, 0.09]);
    proxy
        .positions_at(&timing, &keys, Wrap::Clamp, &mut out, &mut scratch)
        .unwrap();
    let vertices = meshes[0].positions.len();
    assert_eq!(out.len(), 3 * vertices);
    assert_eq!(out[vertices..2 * vertices], expected(&meshes, 2));
    let (a, b) = (expected(&meshes, 1), expected(&meshes, 2));
    for ((found, a), b) in out[..vertices].iter().zip(&a).zip(&b) {
        for axis in 0..3 {
            let straight = a[axis] + (b[axis] - a[axis]) * 0.25;
            assert!((found[axis] - straight).abs() < 1e-6);
        }
    }
    let error = proxy
        .positions_at(&timing, &[f64::NAN], Wrap::Clamp, &mut out, &mut scratch)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
}

#[test]
fn velocities_are_units_a_second_and_one_sided_at_the_ends() {
    let (meshes, snapshots) = sheet();
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let timing = proxy.timing().unwrap();
    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    for (index, before, behind, seconds) in [(0, 0, 1, 0.04), (2, 1, 3, 0.08), (5, 4, 5, 0.04)] {
        proxy
            .velocities(&timing, index, &mut out, &mut scratch)
            .unwrap();
        let (a, b) = (expected(&meshes, before), expected(&meshes, behind));
        for ((velocity, a), b) in out.iter().zip(&a).zip(&b) {
            assert!(
                (velocity[2] - (b[2] - a[2]) / seconds).abs() < 1e-4,
                "{index}"
            );
        }
    }
    assert_eq!(
        proxy
            .velocities(&timing, 6, &mut out, &mut scratch)
            .unwrap_err()
            .kind(),
        ErrorKind::OutOfRange
    );
    let single = self::proxy(file(&snapshots[..1], Dialect::default()));
    assert_eq!(
        single
            .velocities(&timing, 0, &mut out, &mut scratch)
            .unwrap_err()
            .kind(),
        ErrorKind::Unsupported
    );
}

#[test]
fn motion_is_that_of_the_given_times() {
    let (meshes, snapshots) = sheet();
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    // The header says 0.04 s; here it is a third, and the first one comes at 1 s.
    let timing = Timing::new(1.0, 0.5, 6).with_rate(3.0);
    let keys = timing
        .keys(timing.time_of(2), timing.time_of(4), Wrap::Clamp)
        .unwrap();
    assert_eq!(keys, [2, 3, 4].map(|index| 1.0 + f64::from(index) / 3.0));
    proxy
        .positions_at(&timing, &keys, Wrap::Clamp, &mut out, &mut scratch)
        .unwrap();
    assert_eq!(
        out,
        [2, 3, 4].map(|index| expected(&meshes, index)).concat()
    );
    proxy
        .velocities(&timing, 1, &mut out, &mut scratch)
        .unwrap();
    for ((velocity, a), b) in out
        .iter()
        .zip(expected(&meshes, 0))
        .zip(expected(&meshes, 2))
    {
        assert!((velocity[2] - (b[2] - a[2]) * 1.5).abs() < 1e-4);
    }
    // Over the seam of a loop, from the last one to the first.
    let keys = timing
        .keys(timing.time_of(5), timing.time_of(6), Wrap::Loop)
        .unwrap();
    assert_eq!(keys, [timing.time_of(5), timing.time_of(6)]);
    proxy
        .positions_at(&timing, &keys, Wrap::Loop, &mut out, &mut scratch)
        .unwrap();
    assert_eq!(out, [5, 0].map(|index| expected(&meshes, index)).concat());
    let long = Timing::new(0.0, 1.0, 7);
    let error = proxy
        .positions_at(&long, &[6.0], Wrap::Clamp, &mut out, &mut scratch)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    let still = Timing::new(0.0, 0.0, 6);
    let error = proxy
        .velocities(&still, 1, &mut out, &mut scratch)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn parts_of_a_difference_need_those_of_the_first_snapshot_alone() {
    let (meshes, snapshots) = sheet();
    for codec in [Codec::Stored, Codec::Zlib] {
        let mut snapshots = snapshots.clone();
        // The tag after the normals of the first snapshot is damaged, and all that follows.
        let vertices = meshes[0].positions.len();
        let normals_end = 17 + vertices * 12 + 4 + vertices * 12;
        snapshots[0][2].1[normals_end..].fill(0x55);
        let bytes = file(&snapshots, Dialect::default().with_codec(codec));
        let good = proxy(file(&sheet().1, Dialect::default()));
        let good = good.snapshot(3).unwrap();
        let look = |order: [usize; 6]| {
            let proxy = proxy(bytes.clone());
            let snapshot = proxy.snapshot(3).unwrap();
            for part in order {
                match part {
                    0 => assert_eq!(snapshot.positions().unwrap(), good.positions().unwrap()),
                    1 => assert_eq!(snapshot.normals().unwrap(), good.normals().unwrap()),
                    2 => assert_eq!(
                        snapshot.texcoords(0).unwrap_err().kind(),
                        ErrorKind::Malformed
                    ),
                    3 => assert_eq!(
                        snapshot.triangles().unwrap_err().kind(),
                        ErrorKind::Malformed
                    ),
                    4 => assert_eq!(
                        snapshot.mesh(Parts::ALL).unwrap_err().kind(),
                        ErrorKind::Malformed
                    ),
                    _ => assert_eq!(
                        snapshot.counts(&mut Scratch::default()).unwrap(),
                        good.counts(&mut Scratch::default()).unwrap()
                    ),
                }
            }
        };
        look([0, 1, 2, 3, 4, 5]);
        look([5, 4, 3, 2, 1, 0]);
    }
}

#[test]
fn parts_are_the_same_in_any_order_and_with_the_whole_mesh() {
    let meshes = [0.0, 1.0, 2.0].map(|time| Mesh::sheet(7, 3, time));
    let mut snapshots = vec![snapshot(&meshes[0], meshes[0].complete())];
    snapshots.extend(
        meshes[1..]
            .iter()
            .map(|mesh| snapshot(mesh, mesh.difference(&meshes[0]))),
    );
    for codec in [Codec::Stored, Codec::Zlib] {
        let bytes = file(&snapshots, Dialect::default().with_codec(codec));
        let whole = proxy(bytes.clone())
            .snapshot(2)
            .unwrap()
            .mesh(Parts::ALL)
            .unwrap();
        for order in [[0, 1, 2, 3, 4, 5], [4, 2, 0, 5, 3, 1], [5, 4, 3, 2, 1, 0]] {
            let proxy = proxy(bytes.clone());
            let snapshot = proxy.snapshot(2).unwrap();
            for part in order {
                match part {
                    0 => assert_eq!(snapshot.positions().unwrap(), whole.positions),
                    1 => assert_eq!(snapshot.normals().unwrap(), whole.normals),
                    channel @ 2..=4 => {
                        assert_eq!(
                            snapshot.texcoords(channel - 2).unwrap(),
                            whole.texcoords[channel - 2]
                        );
                    }
                    _ => assert_eq!(
                        snapshot.triangles().unwrap().as_bytes(),
                        whole.triangles.as_bytes()
                    ),
                }
            }
            assert_eq!(
                snapshot.texcoords(3).unwrap_err().kind(),
                ErrorKind::OutOfRange
            );
            let mesh = snapshot.mesh(Parts::ALL).unwrap();
            assert_eq!(
                (&mesh.positions, &mesh.texcoords),
                (&whole.positions, &whole.texcoords)
            );
            // Parts that were decoded separately equal parts of the whole.
            let base = proxy.base().unwrap();
            assert_eq!(base.positions.to_vec(), meshes[0].positions);
            assert!(std::ptr::eq(
                mesh.triangles.as_bytes(),
                snapshot.triangles().unwrap().as_bytes()
            ));
        }
    }
}

#[test]
fn what_is_not_compressed_is_shown_where_it_lies() {
    let (meshes, snapshots) = sheet();
    let stored = Dialect::default().with_codec(Codec::Stored);
    let bytes = bytes::Bytes::from(file(&snapshots, stored));
    let lies_in = |array: &meshmap::Array<[f32; 3]>| {
        let (file, array) = (bytes.as_ptr_range(), array.as_bytes().as_ptr_range());
        file.start <= array.start && array.end <= file.end
    };
    let proxy = open::proxy(bytes.clone());
    let (first, second) = (proxy.snapshot(0).unwrap(), proxy.snapshot(1).unwrap());
    for array in [first.positions(), first.normals(), first.texcoords(0)] {
        assert!(lies_in(&array.unwrap()));
    }
    assert_eq!(first.positions().unwrap().to_vec(), meshes[0].positions);
    assert!(!lies_in(&second.positions().unwrap()));
    // A part does not keep alive what was read for something else.
    let lazy = open::proxy(Recorder::new(bytes.to_vec()));
    assert_eq!(
        lazy.snapshot(0).unwrap().positions().unwrap().to_vec(),
        meshes[0].positions
    );
    assert_eq!(
        lazy.snapshot(2).unwrap().positions().unwrap().to_vec(),
        expected(&meshes, 2)
    );
}

#[test]
fn differences_are_given_as_they_are_stored() {
    let (mut meshes, mut snapshots) = sheet();
    // Numbers that adding would change.
    for bits in [0x7fc0_1234_u32, 0xff80_0000, 0x8000_0000, 1] {
        meshes[1].positions[bits as usize % 80] = [f32::from_bits(bits); 3];
    }
    snapshots[1] = snapshot(&meshes[1], meshes[1].difference(&meshes[0]));
    let content = meshes[1].difference(&meshes[0]);
    for dialect in dialects() {
        let proxy = proxy(file(&snapshots, dialect));
        let (mut out, mut scratch) = (vec![[7.0; 3]], Scratch::default());
        assert!(
            !proxy
                .snapshot(0)
                .unwrap()
                .position_differences_into(&mut out, &mut scratch)
                .unwrap()
        );
        assert_eq!(out, [[7.0; 3]]);
        assert!(
            proxy
                .snapshot(1)
                .unwrap()
                .position_differences_into(&mut out, &mut scratch)
                .unwrap()
        );
        let stored: Vec<u8> = out
            .iter()
            .flatten()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        assert!(
            stored == content[1..1 + meshes[1].positions.len() * 12],
            "{dialect}"
        );
    }
}

/// The reads of a lazy source: header, table and the look for the dialect once; then a snapshot's own bytes, and the first's once.
#[test]
fn bytes_that_are_read_are_those_that_are_asked_for() {
    // So large that nothing but the first snapshot's beginning is read ahead.
    let (_, snapshots) = animation(110, 8);
    let bytes = file(&snapshots, Dialect::default());
    let recorder = Recorder::new(bytes);
    let proxy = open::proxy(recorder.clone());
    let read = || {
        let reads = recorder.take();
        (
            reads.len(),
            reads
                .iter()
                .map(|range| range.end - range.start)
                .sum::<u64>(),
            reads,
        )
    };
    let (count, opened, _) = read();
    assert!(
        count <= 3 && opened <= 128 << 10,
        "{count} reads, {opened} bytes"
    );

    let snapshot = proxy.snapshot(5).unwrap();
    snapshot
        .bounding_box(&mut Scratch::default())
        .unwrap()
        .unwrap();
    let (_, boxed, reads) = read();
    assert!(boxed < 200, "{boxed}: {reads:?}");

    let extent = snapshot.range();
    let base = proxy.snapshot(0).unwrap().range();
    snapshot.positions().unwrap();
    let (count, bytes, reads) = read();
    assert_eq!(count, 2, "{reads:?}");
    assert_eq!(
        bytes,
        extent.end - extent.start + 4 + base.end - base.start + 4,
        "{reads:?}"
    );
    // The snapshot is at hand now, and so are the bytes of the first one, of which more is decoded.
    snapshot.mesh(Parts::ALL).unwrap();
    assert_eq!(read().0, 0);
    proxy.snapshot(6).unwrap().normals().unwrap();
    assert_eq!(read().0, 1);
}

/// Forty gigabytes, nearly all of them holes: opened and pulled from for the cost of what is asked for.
#[cfg(unix)]
#[test]
fn huge_files_are_opened_in_three_reads() {
    use std::os::unix::fs::FileExt;
    const SNAPSHOTS: usize = 4_000;
    let (meshes, snapshots) = sheet();
    let bytes: Vec<_> = snapshots
        .iter()
        .map(|s| fixtures::cgeo::snapshot_bytes(s, Dialect::default()))
        .collect();
    let mut head = fixtures::cgeo::header(SNAPSHOTS, Dialect::default());
    let first = (head.len() + SNAPSHOTS * 8 + 4) as u64;
    let start = |index: u64| first + index * (10 << 20);
    (0..SNAPSHOTS as u64).for_each(|index| head.extend((start(index) + 4).to_le_bytes()));
    head.extend(raw::TAG_ANIM_TABLE_END.to_le_bytes());
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(40 << 30).unwrap();
    file.as_file().write_all_at(&head, 0).unwrap();
    for (index, own) in [(0, 0), (3_712, 4), (3_999, 5)] {
        file.as_file()
            .write_all_at(&bytes[own], start(index))
            .unwrap();
    }

    let source = Source::open(file.path()).unwrap();
    let proxy = Proxy::from_source(source.clone(), &Options::default()).unwrap();
    assert_eq!(proxy.snapshot_count(), SNAPSHOTS);
    let opened = source.read_stats();
    assert!(opened.reads <= 3 && opened.bytes <= 128 << 10, "{opened:?}");
    for (index, own) in [(3_712, 4), (3_999, 5)] {
        let positions = proxy.snapshot(index).unwrap().positions().unwrap();
        assert_eq!(positions.to_vec(), expected(&meshes, own));
    }
    let read = source.read_stats().bytes - opened.bytes;
    let stored = bytes[0].len() + bytes[4].len() + bytes[5].len();
    assert!(read < stored as u64 + 1000, "{read} for {stored}");
}

#[test]
fn counts_of_a_complete_mesh_are_a_few_bytes_of_its_stream() {
    let (_, snapshots) = sheet();
    let mut bytes = file(&snapshots[..1], Dialect::default());
    let section = proxy(bytes.clone())
        .snapshot(0)
        .unwrap()
        .sections()
        .unwrap()
        .pop()
        .unwrap();
    // All but the beginning of the stream is damaged.
    let middle = (section.content.start + section.content.end) as usize / 2;
    bytes[middle..section.content.end as usize].fill(0xff);
    let snapshot = proxy(bytes).snapshot(0).unwrap();
    assert_eq!(
        snapshot.counts(&mut Scratch::default()).unwrap().vertices,
        81
    );
    assert!(snapshot.mesh(Parts::ALL).is_err());
}

#[test]
fn section_that_inflates_beyond_the_limit_is_refused() {
    let limits = Limits::default()
        .with_free_ratio(0)
        .with_max_block_bytes(32 << 20);
    let mut bomb = vec![1];
    [6_000_000_u32, 0, 0, 0]
        .iter()
        .for_each(|count| bomb.extend(count.to_le_bytes()));
    bomb.resize(80 << 20, 0);
    let sheet = Mesh::sheet(3, 0, 0.0);
    let bytes = file(
        &[
            snapshot(&sheet, sheet.complete()),
            vec![(raw::TAG_MESH_DATA, bomb)],
        ],
        Dialect::default(),
    );
    let options = Options::default().with_limits(limits);
    let proxy = Proxy::from_source(Source::from_bytes(bytes), &options).unwrap();
    assert_eq!(
        proxy
            .snapshot(1)
            .unwrap()
            .mesh(Parts::ALL)
            .unwrap_err()
            .kind(),
        ErrorKind::LimitExceeded
    );
    assert_eq!(
        proxy.snapshot(1).unwrap().positions().unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
    assert!(proxy.snapshot(0).unwrap().mesh(Parts::ALL).is_ok());
}

#[test]
fn cancelled_decodes_stop_and_can_be_tried_again() {
    let (_, snapshots) = sheet();
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let mut scratch = Scratch::default();
    let flag = Arc::new(AtomicBool::new(true));
    scratch.set_cancel(Some(Arc::clone(&flag)));
    let mut out = MeshBuffer::default();
    let snapshot = proxy.snapshot(1).unwrap();
    assert_eq!(
        snapshot
            .mesh_into(Parts::ALL, &mut out, &mut scratch)
            .unwrap_err()
            .kind(),
        ErrorKind::Cancelled
    );
    flag.store(false, std::sync::atomic::Ordering::Relaxed);
    snapshot
        .mesh_into(Parts::ALL, &mut out, &mut scratch)
        .unwrap();
}

#[test]
fn units_are_told_by_the_two_box_sizes_first() {
    let (_, snapshots) = sheet();
    let with = |lines: &str| {
        let bytes = file(&snapshots[..1], Dialect::default());
        let text_end = 5 + u32::from_le_bytes(bytes[1..5].try_into().unwrap()) as usize;
        let text = String::from_utf8_lossy(&bytes[5..text_end]).replace("Scale: 1\n", lines);
        let grown = text.len() as u64 - (text_end as u64 - 5);
        let mut out = vec![raw::MAGIC];
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(text.as_bytes());
        out.extend(&bytes[text_end..text_end + 8]);
        let offset =
            u64::from_le_bytes(bytes[text_end + 8..text_end + 16].try_into().unwrap()) + grown;
        out.extend(offset.to_le_bytes());
        out.extend(&bytes[text_end + 16..]);
        proxy(out)
            .unit_length()
            .map(|unit| ((unit.millimeters * 1000.0).round() / 1000.0, unit.evidence))
    };
    let boxes = "Bounding box size (original units) : 21 26 33\nBounding box size (millimeters): 210 260 330\n";
    assert_eq!(with("Scale: 10\n"), Some((10.0, UnitEvidence::Scale)));
    assert_eq!(with("Scale: 0\n"), None);
    assert_eq!(
        with(&format!("Scale: 10\n{boxes}")),
        Some((10.0, UnitEvidence::BoxSizes))
    );
    assert_eq!(
        with(&format!("Scale: 0.1\n{boxes}")),
        Some((10.0, UnitEvidence::BoxSizesScaleIsReciprocal))
    );
    assert_eq!(
        with(&format!("Scale: 3\n{boxes}")),
        Some((10.0, UnitEvidence::BoxSizesScaleDiffers))
    );
}

#[test]
fn views_are_welded() {
    let (meshes, snapshots) = sheet();
    let file = MeshFile::from_source(
        Source::from_bytes(file(&snapshots, Dialect::default())),
        &Options::default(),
    );
    let file = file.unwrap();
    let view = file.mesh(&"snapshots[2]".parse().unwrap()).unwrap();
    assert_eq!((view.name(), view.vertex_count()), ("Sheet", 81));
    let positions = view
        .attribute(&Semantic::Position)
        .unwrap()
        .unwrap()
        .to_f32::<3>();
    let expected = expected(&meshes, 2);
    for (corner, index) in meshes[2]
        .triangles
        .iter()
        .flat_map(|t| t[0])
        .zip(view.indices().iter())
    {
        assert_eq!(positions[index as usize], expected[corner as usize]);
    }
    assert!(view.attribute(&Semantic::Normal).unwrap().is_some());
    assert!(view.attribute(&Semantic::TexCoord(0)).unwrap().is_some());
    assert_eq!(
        file.mesh(&"snapshots[6]".parse().unwrap())
            .unwrap_err()
            .kind(),
        ErrorKind::OutOfRange
    );
}

#[test]
fn index_out_of_range_is_a_finding_and_no_view() {
    let mut mesh = Mesh::sheet(3, 0, 0.0);
    mesh.triangles[1][0][2] = 9;
    let proxy = proxy(file(
        &[snapshot(&mesh, mesh.complete())],
        Dialect::default(),
    ));
    let findings = proxy.validate().unwrap();
    assert!(
        findings
            .iter()
            .any(|found| found.rule == rule("index_out_of_range")
                && found.severity() == Severity::Unusable)
    );
    assert_eq!(
        proxy.snapshot(0).unwrap().view().unwrap_err().kind(),
        ErrorKind::OutOfRange
    );
    assert!(proxy.snapshot(0).unwrap().mesh(Parts::ALL).is_ok());
}

#[test]
fn strict_reading_refuses_what_contradicts_the_text() {
    let strict = Options::default().with_strictness(Strictness::Strict);
    let read = |name: &str| {
        let path = data::folder("cgeo/valid")
            .into_iter()
            .find(|path| path.ends_with(name))
            .unwrap();
        Source::open(path).and_then(|source| MeshFile::from_source(source, &strict))
    };
    assert!(read("anim_a.cgeo").is_ok());
    assert_eq!(
        read("mesh_only_a.cgeo")
            .map(|_| ())
            .map_err(|error| error.kind()),
        Ok(())
    );
    let (meshes, _) = sheet();
    let twice = vec![
        (raw::TAG_BOUNDING_BOX, meshes[0].bounding_box()),
        (raw::TAG_BOUNDING_BOX, meshes[0].bounding_box()),
        (raw::TAG_MESH_DATA, meshes[0].complete()),
    ];
    let source = Source::from_bytes(file(&[twice], Dialect::default()));
    assert_eq!(
        MeshFile::from_source(source, &strict).unwrap_err().what(),
        rule("repeated_section").name
    );
}

#[cfg(feature = "cache")]
mod cache {
    use meshmap::cgeo::SnapshotCache;

    use super::*;

    #[test]
    fn four_keys_of_a_shutter_decode_four_snapshots() {
        let (_, snapshots) = sheet();
        let proxy = proxy(file(&snapshots, Dialect::default()));
        let timing = proxy.timing().unwrap();
        let keys = timing.keys(0.05, 0.15, Wrap::Clamp).unwrap();
        assert_eq!(keys, [0.05, 0.08, 0.12, 0.15]);
        let (mut out, mut expected) = (Vec::new(), Vec::new());
        proxy
            .positions_at(
                &timing,
                &keys,
                Wrap::Clamp,
                &mut expected,
                &mut Scratch::default(),
            )
            .unwrap();
        // Also a cache that keeps nothing.
        for capacity in [1 << 30, 1] {
            let cache = SnapshotCache::new(capacity);
            cache
                .positions_at(&proxy, &timing, &keys, Wrap::Clamp, &mut out)
                .unwrap();
            assert_eq!(
                (cache.stats().decodes, cache.stats().repeated_decodes),
                (4, 0)
            );
            assert_eq!(out, expected);
        }
        let cache = SnapshotCache::new(1 << 30);
        // Back from the last one: the same two again.
        let keys = timing.keys(0.17, 0.23, Wrap::PingPong).unwrap();
        cache
            .positions_at(&proxy, &timing, &keys, Wrap::PingPong, &mut out)
            .unwrap();
        assert_eq!((keys.len(), cache.stats().decodes), (3, 2));
        cache.velocities(&proxy, &timing, 3, &mut out).unwrap();
        proxy
            .velocities(&timing, 3, &mut expected, &mut Scratch::default())
            .unwrap();
        assert!(out == expected && cache.stats().decodes == 3);
    }

    #[test]
    fn snapshots_that_the_table_names_twice_are_decoded_once() {
        let (meshes, snapshots) = sheet();
        let mut bytes = file(&snapshots, Dialect::default());
        let table = fixtures::cgeo::header(6, Dialect::default()).len();
        bytes.copy_within(table + 8..table + 16, table + 16);
        let proxy = proxy(bytes);
        let (cache, mut out) = (SnapshotCache::new(1 << 30), Vec::new());
        let timing = proxy.timing().unwrap();
        cache
            .positions_at(&proxy, &timing, &[0.04, 0.06, 0.08], Wrap::Clamp, &mut out)
            .unwrap();
        assert_eq!(
            out,
            [1, 1, 1].map(|index| expected(&meshes, index)).concat()
        );
        assert_eq!(cache.stats().decodes, 1);
        assert!(Arc::ptr_eq(
            &cache.get(&proxy, 1, Parts::ALL).unwrap(),
            &cache.get(&proxy, 2, Parts::ALL).unwrap()
        ));
    }

    #[test]
    fn removed_proxies_leave_the_others() {
        let (_, snapshots) = sheet();
        let [a, b] = [(); 2].map(|()| proxy(file(&snapshots, Dialect::default())));
        let cache = SnapshotCache::new(1 << 30);
        for index in 0..6 {
            assert!(!Arc::ptr_eq(
                &cache.get(&a, index, Parts::ALL).unwrap(),
                &cache.get(&b, index, Parts::ALL).unwrap()
            ));
        }
        let held = cache.stats().bytes_held;
        cache.remove(&a.clone());
        assert_eq!(cache.stats().bytes_held, held / 2);
        assert!(
            (0..6).all(|index| cache.try_get(&a, index, Parts::ALL).is_none()
                && cache.try_get(&b, index, Parts::ALL).is_some())
        );
        cache.get(&a, 1, Parts::ALL).unwrap();
        assert_eq!(
            (cache.stats().decodes, cache.stats().repeated_decodes),
            (13, 0)
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_opened_twice_is_decoded_once() {
        use std::io::Write;

        let (_, snapshots) = sheet();
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file()
            .write_all(&super::file(&snapshots, Dialect::default()))
            .unwrap();
        let open = |options: &Options| {
            Proxy::from_source(Source::open(file.path()).unwrap(), options).unwrap()
        };
        let plain = || open(&Options::default());
        let cache = SnapshotCache::new(1 << 30);
        let mesh = cache.get(&plain(), 1, Parts::ALL).unwrap();
        assert!(Arc::ptr_eq(
            &mesh,
            &cache.get(&plain(), 1, Parts::ALL).unwrap()
        ));
        assert_eq!(
            plain()
                .snapshot(1)
                .unwrap()
                .topology(&mut Scratch::default())
                .unwrap(),
            mesh.topology
        );
        // Frames of one handle and of another belong together.
        let (mut out, timing) = (Vec::new(), plain().timing().unwrap());
        cache
            .positions_at(&plain(), &timing, &[0.05], Wrap::Clamp, &mut out)
            .unwrap();
        assert_eq!(cache.stats().decodes, 2);

        // Other options decode other values.
        let ignoring = Options::default().with_checksums(meshmap::Checksums::Ignore);
        let small = Options::default().with_limits(Limits::default().with_max_total_bytes(1 << 20));
        let others = [
            open(&ignoring),
            open(&small),
            open(&Options::default().with_dialect(Dialect::default().with_codec(Codec::Gzip))),
        ];
        assert!(
            others
                .iter()
                .all(|other| cache.try_get(other, 1, Parts::ALL).is_none())
        );
        assert!(cache.get(&others[2], 1, Parts::ALL).is_err());
        assert!(cache.try_get(&plain(), 1, Parts::ALL).is_some());
        // Changed, it is another file.
        file.as_file().write_all(b" ").unwrap();
        assert!(cache.try_get(&plain(), 1, Parts::ALL).is_none());
    }
}

/// The least memory that is too much for a stream of this length: a count is compared with what is left of the stream, after
/// the bytes before it.
#[test]
fn counts_that_just_fit_the_rest_of_the_stream_are_read() {
    let content = |count: u32| {
        let mut content = vec![1];
        [count, 0, 0, 0]
            .iter()
            .for_each(|count| content.extend(count.to_le_bytes()));
        content.extend([0; 12 * 100]);
        content
    };
    let is_stored = |dialect: &Dialect| dialect.codec == Codec::Stored;
    let dialect = dialects().into_iter().find(is_stored).unwrap();
    let positions = |count| {
        let bytes = file(&[snapshot(&Mesh::default(), content(count))], dialect);
        proxy(bytes).snapshot(0).unwrap().positions()
    };
    assert_eq!(positions(100).unwrap().len(), 100);
    let error = positions(101).unwrap_err();
    assert_eq!(
        (error.kind(), error.what()),
        (ErrorKind::Malformed, "Vertex Count")
    );
    assert_eq!(error.decoded_range(), Some(1..5));
}

/// The file with a different text as its header. Its offsets are moved along.
fn with_header(bytes: &[u8], change: impl FnOnce(String) -> String) -> Vec<u8> {
    let end = 5 + u32::from_le_bytes(bytes[1..5].try_into().unwrap()) as usize;
    let text = change(String::from_utf8(bytes[5..end].to_vec()).unwrap());
    let length = (text.len() as u32).to_le_bytes();
    let mut changed = [&bytes[..1], &length, text.as_bytes(), &bytes[end..]].concat();
    let moved = (text.len() as u64).wrapping_sub(end as u64 - 5);
    for entry in changed[text.len() + 13..].as_chunks_mut::<8>().0 {
        if entry[..4] == raw::TAG_ANIM_TABLE_END.to_le_bytes() {
            break;
        }
        *entry = u64::from_le_bytes(*entry).wrapping_add(moved).to_le_bytes();
    }
    changed
}

/// The bytes of an entry of the offset table.
fn table_entry(bytes: &[u8], index: usize) -> std::ops::Range<usize> {
    let table = 13 + u32::from_le_bytes(bytes[1..5].try_into().unwrap()) as usize;
    table + index * 8..table + index * 8 + 8
}

#[test]
fn headers_of_up_to_a_mebibyte_are_read() {
    let (_, snapshots) = animation(3, 1);
    let bytes = file(&snapshots, Dialect::default());
    let source = |len| {
        let fill = |text: String| format!("{text}{}", "\n".repeat(len - text.len()));
        Source::from_bytes(with_header(&bytes, fill))
    };
    assert_eq!(Format::detect(&source(1 << 20)).unwrap(), Format::CGeo);
    assert!(
        Proxy::from_source(source(1 << 20), &Options::default())
            .unwrap()
            .snapshot(0)
            .unwrap()
            .positions()
            .is_ok()
    );
    let too_long = source((1 << 20) + 1);
    assert_eq!(
        Format::detect(&too_long).unwrap_err().kind(),
        ErrorKind::UnknownFormat
    );
    let error = Proxy::from_source(too_long, &Options::default()).unwrap_err();
    assert_eq!(
        (error.kind(), error.byte_range()),
        (ErrorKind::Malformed, Some(1..5))
    );
}

#[test]
fn errors_of_truncated_files_name_the_part_that_lacks_bytes() {
    let (_, snapshots) = animation(3, 4);
    let bytes = file(&snapshots, Dialect::default());
    let table = table_entry(&bytes, 0).start;
    let read = |len: usize| {
        Proxy::from_source(
            Source::from_bytes(bytes[..len].to_vec()),
            &Options::default(),
        )
        .unwrap_err()
    };
    let header = read(table - 9);
    assert_eq!(
        (header.kind(), header.byte_range()),
        (ErrorKind::Truncated, Some(5..table as u64 - 8))
    );
    assert!(
        read(table - 8).byte_range().unwrap().start >= table as u64 - 8,
        "{}",
        read(table - 8)
    );
    // No end tag follows the entries that there are.
    for entries in [3, 4] {
        let error = read(table + entries * 8);
        let range = table as u64..table as u64 + entries as u64 * 8;
        assert_eq!(
            (error.kind(), error.byte_range()),
            (ErrorKind::Malformed, Some(range)),
            "{error}"
        );
    }
}

#[test]
fn offset_table_is_used_if_the_header_has_a_different_count() {
    let (_, snapshots) = animation(3, 4);
    for offset in [OffsetTarget::FirstSection, OffsetTarget::StartTag] {
        let bytes = file(&snapshots, Dialect::default().with_offset(offset));
        for count in [
            "3",
            "5",
            "0",
            "-1",
            "four",
            "1000000",
            "9223372036854775807",
        ] {
            let changed = with_header(&bytes, |text| {
                text.replace("count: 4", &format!("count: {count}"))
            });
            let proxy = proxy(changed.clone());
            assert_eq!(proxy.snapshot_count(), 4, "{count}");
            let found: Vec<_> = proxy.findings().iter().map(|found| found.rule).collect();
            assert!(
                found.contains(&rule("snapshot_count")),
                "{count}: {found:?}"
            );
            assert!(proxy.snapshot(3).unwrap().positions().is_ok());
        }
        // Offsets that do not lead behind their entry do not bound the table.
        for own in [true, false] {
            let mut changed = with_header(&bytes, |text| text.replace("count: 4", "count: x"));
            let entry = table_entry(&changed, 1);
            let wrong = if own { entry.start as u64 } else { 7 };
            changed[entry].copy_from_slice(&wrong.to_le_bytes());
            let proxy = proxy(changed);
            assert!(proxy.snapshot_count() == 4 && proxy.snapshot(2).unwrap().positions().is_ok());
        }
    }
}

/// So long that what is read first does not show the end, which could be anywhere.
#[test]
fn count_of_more_snapshots_than_any_file_has_is_ignored() {
    let (_, snapshots) = animation(110, 4);
    let bytes = file(&snapshots, Dialect::default());
    assert!(bytes.len() > 64 << 10);
    let changed = with_header(&bytes, |text| {
        text.replace("count: 4", &format!("count: {}", i64::MAX))
    });
    let source = Source::ranged(Recorder::of_unknown_length(changed));
    assert_eq!(
        Proxy::from_source(source, &Options::default())
            .unwrap()
            .snapshot_count(),
        4
    );
}

#[test]
fn offsets_outside_of_the_snapshots_are_errors_of_their_snapshot() {
    let (_, snapshots) = animation(3, 4);
    let bytes = file(&snapshots, Dialect::default());
    let (entry, first) = (
        table_entry(&bytes, 2),
        table_entry(&bytes, 4).start as u64 + 4,
    );
    let len = bytes.len() as u64;
    for offset in [0, 7, first - 1, len, len + 1, u64::MAX] {
        let mut changed = bytes.clone();
        changed[entry.clone()].copy_from_slice(&offset.to_le_bytes());
        let proxy = proxy(changed);
        let error = proxy
            .snapshot(2)
            .and_then(|snapshot| snapshot.positions())
            .unwrap_err();
        let range = entry.start as u64..entry.end as u64;
        assert_eq!(
            (error.kind(), error.byte_range()),
            (ErrorKind::Malformed, Some(range)),
            "{offset}"
        );
        assert_eq!(error.address().unwrap().to_string(), "snapshots[2]");
        assert!(proxy.snapshot(1).unwrap().positions().is_ok() && proxy.snapshot(3).is_ok());
    }
}

#[test]
fn normals_without_a_direction_are_findings() {
    let (mut meshes, mut snapshots) = animation(3, 2);
    meshes[0].normals[4] = [0.0, -0.0, 0.0];
    snapshots[0] = snapshot(&meshes[0], meshes[0].complete());
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let findings = proxy.validate().unwrap();
    let [found] = &findings[..] else {
        panic!("{findings:?}")
    };
    assert_eq!(found.rule, rule("zero_normal"));
    let address = found.address.as_ref().unwrap();
    assert_eq!(address.to_string(), "snapshots[0].normals[4]");
}

#[test]
fn properties_that_are_missing_repeated_or_no_numbers_are_findings() {
    let (_, snapshots) = animation(3, 2);
    let bytes = file(&snapshots, Dialect::default());
    let cases = [
        ("Scale: 1\n", "", rule("property"), "Scale: absent"),
        (
            "Scale: 1\n",
            "Scale: 1\nscale: 2\n",
            rule("property"),
            "Scale: 2 times",
        ),
        ("Version: 7\n", "", rule("property"), "Version: absent"),
        (
            "Version: 7",
            "Version: seven",
            rule("property"),
            "Version: not a whole number",
        ),
        (
            "time start: 0",
            "time start: 0.5",
            rule("property"),
            "start: not a whole number",
        ),
        ("Version: 7", "Version: 3", rule("version"), "3;"),
        ("Version: 7", "Version: 8", rule("version"), "8;"),
    ];
    for (from, to, rule, detail) in cases {
        let proxy = proxy(with_header(&bytes, |text| text.replace(from, to)));
        let [found] = proxy.findings() else {
            panic!("{to}: {:?}", proxy.findings())
        };
        assert_eq!((found.rule, found.count), (rule, 1), "{to}");
        assert!(found.detail.contains(detail), "{}", found.detail);
    }
    for version in ["4", "5", "6", "7"] {
        let changed = with_header(&bytes, |text| {
            text.replace("Version: 7", &format!("Version: {version}"))
        });
        assert_eq!(proxy(changed).findings(), [], "{version}");
    }
}

#[test]
fn files_that_end_in_their_header_are_recognized_by_its_text() {
    let (_, snapshots) = animation(3, 2);
    let bytes = file(&snapshots, Dialect::default());
    let table = table_entry(&bytes, 0).start;
    let sources = |bytes: &[u8]| {
        [
            Source::from_bytes(bytes.to_vec()),
            Source::ranged(Recorder::of_unknown_length(bytes.to_vec())),
        ]
    };
    let is_cgeo = |source: &Source| match Format::detect(source) {
        Ok(format) => format == Format::CGeo,
        Err(error) if error.kind() == ErrorKind::UnknownFormat => false,
        Err(error) => panic!("{error}"),
    };
    for (len, expected) in [
        (4, false),
        (5, false),
        (6, true),
        (40, true),
        (table - 1, true),
        (table, true),
    ] {
        assert!(
            sources(&bytes[..len])
                .iter()
                .all(|source| is_cgeo(source) == expected),
            "{len} bytes"
        );
    }
    for (place, byte, expected) in [
        (7, 0, false),
        (7, 0x80, false),
        (7, b':', true),
        (7, b'\t', true),
    ] {
        let mut changed = bytes[..40].to_vec();
        changed[place] = byte;
        assert!(
            sources(&changed)
                .iter()
                .all(|source| is_cgeo(source) == expected),
            "{byte}"
        );
    }
    // Bytes after the first colon are a value, which may have any encoding.
    let mut changed = bytes[..40].to_vec();
    (changed[7], changed[8]) = (b':', 0x80);
    assert!(sources(&changed).iter().all(is_cgeo));
    // The tag decides, whatever the text.
    let mut changed = bytes.clone();
    changed[6] = 0;
    assert!(sources(&changed).iter().all(is_cgeo));
    changed[table - 1] ^= 1;
    assert!(!sources(&changed).iter().any(is_cgeo));
    // An error of the reader is not the end of the file.
    let mut head = bytes[..4096.min(bytes.len())].to_vec();
    head[1..5].copy_from_slice(&500_000_u32.to_le_bytes());
    let end = head.len() as u64;
    head.resize(1 << 20, 0);
    let fails = hooked(head, move |range| {
        if range.end > end {
            Err(io::Error::other("failed"))
        } else {
            Ok(())
        }
    });
    let error = Format::detect(&fails).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io(io::ErrorKind::Other));
}

#[test]
fn snapshots_extend_to_the_next_offset_or_to_the_end() {
    let (_, snapshots) = animation(3, 4);
    let mut bytes = file(&snapshots, Dialect::default());
    let ranges = |bytes: &[u8]| {
        let proxy = proxy(bytes.to_vec());
        (0..4)
            .map(|index| proxy.snapshot(index).unwrap().range())
            .collect::<Vec<_>>()
    };
    let all = ranges(&bytes);
    assert!(
        all.windows(2).all(|pair| pair[0].end == pair[1].start),
        "{all:?}"
    );
    assert_eq!(all[3].end, bytes.len() as u64);
    // In any order, and of several entries with one offset.
    let places = [2, 1, 1, 0];
    for (index, place) in places.into_iter().enumerate() {
        let entry = table_entry(&bytes, index);
        bytes[entry].copy_from_slice(&all[place].start.to_le_bytes());
    }
    let len = bytes.len() as u64;
    assert_eq!(
        ranges(&bytes),
        [
            all[2].start..len,
            all[1].clone(),
            all[1].clone(),
            all[0].clone()
        ]
    );
}

#[test]
fn arrays_of_an_offset_that_is_repeated_are_read_once() {
    // So large that no snapshot is read when the file is opened.
    let (_, snapshots) = animation(110, 4);
    let mut bytes = file(&snapshots, Dialect::default());
    let reads = |bytes: &[u8]| {
        let recorder = Recorder::new(bytes.to_vec());
        let file = open::file(recorder.clone());
        recorder.take();
        let count = file.arrays().filter(|entry| entry.is_ok()).count();
        (count, recorder.reads().len())
    };
    let (count, all) = reads(&bytes);
    let (from, to) = (table_entry(&bytes, 3), table_entry(&bytes, 2));
    bytes.copy_within(from, to.start);
    let (same_count, fewer) = reads(&bytes);
    assert!(
        count == same_count && fewer < all,
        "{count} {same_count}, {fewer} {all}"
    );
}

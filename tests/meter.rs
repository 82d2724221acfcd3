//! One meter for each call: small files do not become huge, and huge ones are read.

use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use meshmap::cgeo::{Dialect, Parts, Proxy, SizeMeaning, raw};
use meshmap::tmf::Document;
use meshmap::{
    Address, Block, Codec, ErrorKind, Format, Limits, MeshEntry, MeshFile, Meter, Options,
    Parallelism, ReadRange, Scratch, Source, decode_all, iqm, openctm, slmesh,
};
use meshmap_testing::allocator::{Counting, counted_in_process};
use meshmap_testing::fixtures;
use meshmap_testing::open;
use miniz_oxide::deflate::compress_to_vec_zlib;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MIB: u64 = 1 << 20;

/// The memory of all threads is counted, so tests run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Options with limits of `bytes` bytes, whatever is stored.
fn limited(bytes: u64) -> Options {
    let limits = Limits::default()
        .with_max_block_bytes(bytes)
        .with_max_total_bytes(bytes);
    Options::default().with_limits(limits.with_free_ratio(0))
}

/// The result of a job, and the most that it had at a time.
fn peak<T>(job: impl FnOnce() -> T) -> (T, u64) {
    let (result, count) = counted_in_process(job);
    (result, count.peak as u64)
}

/// Zeros that compress a thousand times, with a byte of their own so that no two are equal.
fn bomb(number: u8, len: u64) -> Vec<u8> {
    let mut content = vec![0; len as usize];
    content[0] = number;
    compress_to_vec_zlib(&content, 6)
}

#[test]
fn shared_triangles_count_as_the_indices_that_they_become() {
    let _alone = alone();
    const CORNERS: u64 = 600_000;
    // No bits, a base of 0: three arrays of as many zeros, in next to no bytes.
    let mut numbers = vec![7, 0];
    numbers.extend(CORNERS.to_le_bytes());
    numbers.extend(0_u64.to_le_bytes());
    let file = fixtures::tmf::Writer::b()
        .mesh("m")
        .vertices([0., 1., 0., 1., 0., 1.], [1; 3], &[[0; 3]])
        .uvs(1, &[[0; 2]])
        .segment(25, 0, &numbers)
        .indices(6, 0, 0, &[0, 0, 0])
        .to_bytes();
    let document = open::document(file.clone());
    let shared: Address = "meshes[0].segments[2]".parse().unwrap();
    let item = MeshFile::Tmf(document.clone())
        .items()
        .find(|item| item.address == shared)
        .unwrap();
    assert_eq!(item.decoded, Some(CORNERS * 4 * 3));

    let open = |bytes| Document::from_source(Source::from_bytes(file.clone()), &limited(bytes));
    // And three indices more.
    let all = CORNERS * 12 + 12;
    assert_eq!(open(all - 1).unwrap_err().kind(), ErrorKind::LimitExceeded);
    let mesh = open(all).unwrap().mesh(0).unwrap();
    let ((triangles, view), peak) = peak(|| (mesh.indices().map(drop), mesh.view().map(drop)));
    assert!(triangles.is_ok() && view.is_ok());
    assert!(peak < all + MIB, "{peak}");
}

/// Handles of 20,000 arrays took up to 1,000 bytes each, of which most said what all of one file share.
#[test]
fn custom_data_of_a_mesh_hold_what_is_of_the_file_once() {
    let _alone = alone();
    let names = [
        "custom segments of one name",
        "custom segments of different names",
        "custom floats of different names",
    ];
    for name in names {
        let kind = meshmap_testing::kinds::all()
            .into_iter()
            .find(|kind| kind.name == name)
            .unwrap();
        let bytes = Bytes::from((kind.build)(20_000));
        let limits = Limits::default()
            .with_max_block_bytes(MIB)
            .with_max_total_bytes(MIB);
        let options = Options::default().with_limits(limits);
        let most = meshmap_testing::calls::most_memory(&limits, bytes.len() as u64);
        let document = Document::from_source(Source::from_bytes(bytes), &options).unwrap();
        let (custom, of_list) = peak(|| document.mesh(0).unwrap().custom().unwrap());
        assert!(custom.len() > 10_000, "{name}: {} arrays", custom.len());
        drop(custom);
        let (_, of_view) = peak(|| document.mesh(0).unwrap().view().unwrap());
        assert!(
            of_list <= most && of_view <= most,
            "{name}: {of_list} and {of_view} of {most} bytes"
        );
    }
}

#[test]
fn bombs_are_refused_before_their_memory_is_taken() {
    let _alone = alone();
    let mut file = Vec::new();
    let blocks: Vec<Block> = (0..100)
        .map(|number| {
            let start = file.len() as u64;
            file.extend(bomb(number, 4 * MIB));
            let address = Address::field("blocks").index(number.into());
            Block::new(
                "block",
                address,
                start..file.len() as u64,
                Codec::Zlib,
                None,
            )
        })
        .collect();
    let stored = file.len() as u64;
    let source = Source::from_bytes(file);
    for parallelism in [Parallelism::Off, Parallelism::Rayon] {
        let options = limited(16 * MIB).with_parallelism(parallelism);
        let (results, peak) = peak(|| decode_all(&source, &blocks, &options));
        let good = results.iter().take_while(|result| result.is_ok()).count();
        assert_eq!(good, 4, "{parallelism:?}");
        let refused = |result: &meshmap::Result<Bytes>| {
            result
                .as_ref()
                .is_err_and(|error| error.kind() == ErrorKind::LimitExceeded)
        };
        assert!(results[good..].iter().all(refused), "{parallelism:?}");
        assert!(peak < 18 * MIB + stored, "{parallelism:?}: {peak}");
    }
}

#[test]
fn what_a_block_holds_does_not_depend_on_the_limits() {
    let _alone = alone();
    // Its length is not stored, so memory grows, and shrinks if there is enough for both.
    const LENGTH: u64 = MIB;
    let stream = bomb(1, LENGTH);
    let block = Block::new(
        "block",
        Address::field("block"),
        0..stream.len() as u64,
        Codec::Zlib,
        None,
    );
    let source = Source::from_bytes(stream);
    for eighths in 7..40 {
        let limit = LENGTH / 8 * eighths;
        let (content, peak) =
            peak(|| block.decode(&source, &limited(limit), &mut Scratch::default()));
        assert_eq!(
            content.ok().map(|content| content.len() as u64),
            (limit >= LENGTH).then_some(LENGTH)
        );
        assert!(peak < limit + MIB / 8, "{limit}: {peak}");
    }
}

#[test]
fn blocks_of_the_same_bytes_are_decoded_once() {
    let _alone = alone();
    let stream = bomb(1, 4 * MIB);
    let block = |index| {
        let address = Address::field("blocks").index(index);
        Block::new("block", address, 0..stream.len() as u64, Codec::Zlib, None)
    };
    let blocks: Vec<Block> = (0..1000).map(block).collect();
    let source = Source::from_bytes(stream.clone());
    let (results, peak) = peak(|| decode_all(&source, &blocks, &limited(4 * MIB)));
    assert!(
        results
            .iter()
            .all(|result| result.as_ref().unwrap().len() as u64 == 4 * MIB)
    );
    assert!(peak < 6 * MIB, "{peak}");
    let damaged: Vec<u8> = stream.iter().take(stream.len() - 9).copied().collect();
    let results = decode_all(&Source::from_bytes(damaged), &blocks, &Options::default());
    let addresses: Vec<_> = results
        .into_iter()
        .map(|result| result.unwrap_err().address().cloned())
        .collect();
    assert!(
        (0..)
            .zip(&addresses)
            .all(|(index, found)| *found == Some(block(index).address))
    );
}

#[test]
fn outcomes_do_not_depend_on_the_number_of_threads() {
    let _alone = alone();
    // Blocks of many sizes, some of them damaged at their end, at limits that refuse some.
    let mut file = Vec::new();
    let blocks: Vec<Block> = (0..40_u64)
        .map(|number| {
            let content: Vec<u8> = (0..number * 7919 % 400_000 + 1)
                .map(|at| (at * at / 7 + number) as u8)
                .collect();
            let mut stream = compress_to_vec_zlib(&content, 1);
            if number % 5 == 3 {
                let end = stream.len() - 1;
                stream[end] ^= 1;
            }
            let start = file.len() as u64;
            file.extend(stream);
            let known = (number % 3 == 0).then_some(content.len() as u64);
            let address = Address::field("blocks").index(number);
            Block::new(
                "block",
                address,
                start..file.len() as u64,
                Codec::Zlib,
                known,
            )
        })
        .collect();
    let source = Source::from_bytes(file);
    let outcome = |total: u64, parallelism| {
        let limits = Limits::default()
            .with_max_total_bytes(total)
            .with_max_block_bytes(300_000);
        let options = Options::default()
            .with_limits(limits.with_free_ratio(0))
            .with_parallelism(parallelism);
        let results = decode_all(&source, &blocks, &options);
        let text = |result: meshmap::Result<Bytes>| match result {
            Ok(bytes) => format!("{}", bytes.len()),
            Err(error) => error.to_string(),
        };
        results.into_iter().map(text).collect::<Vec<_>>()
    };
    let pool = |threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
    };
    let pools = [pool(1), pool(2), pool(5)];
    for total in [0, 300_000, 1_000_000, 2_345_678, 100_000_000] {
        let alone = outcome(total, Parallelism::Off);
        for pool in &pools {
            for _ in 0..5 {
                assert_eq!(
                    pool.install(|| outcome(total, Parallelism::Rayon)),
                    alone,
                    "{total}"
                );
            }
        }
    }
}

#[test]
#[cfg(feature = "rayon")]
fn threads_that_help_with_a_stream_stay_within_the_limits() {
    const LENGTH: u64 = 12 * MIB;
    let _alone = alone();
    let content = fixtures::rough(LENGTH as usize);
    let stream = compress_to_vec_zlib(&content, 1);
    let range = 0..stream.len() as u64;
    let block = Block::new(
        "block",
        Address::field("block"),
        range,
        Codec::Zlib,
        Some(LENGTH),
    );
    let source = Source::from_bytes(stream);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(4)
        .build()
        .unwrap();
    for room in [0, MIB, 8 * MIB, 64 * MIB] {
        let decode = || {
            pool.install(|| block.decode(&source, &limited(LENGTH + room), &mut Scratch::default()))
        };
        let (decoded, peak) = peak(decode);
        assert!(decoded.unwrap() == content);
        assert!(peak < LENGTH + room + 4 * MIB, "{room}: {peak}");
    }
}

#[test]
fn all_blocks_of_an_asset_have_one_meter() {
    let _alone = alone();
    let mut writer = fixtures::slmesh::Writer::default();
    for (number, name) in [
        "high_lod",
        "medium_lod",
        "low_lod",
        "lowest_lod",
        "physics_mesh",
    ]
    .iter()
    .enumerate()
    {
        writer = writer.stored(name, &bomb(number as u8, 3 * MIB));
    }
    let file = writer.to_bytes();
    let asset = slmesh::Asset::from_source(Source::from_bytes(file), &limited(4 * MIB));
    let asset = asset.unwrap();
    let (_, peak) = peak(|| asset.decode_all().map(drop));
    assert!(peak < 6 * MIB, "{peak}");
}

/// A proxy whose first snapshot is small, and whose others inflate to so much.
fn uneven(snapshots: usize, triangles: usize) -> Vec<u8> {
    let small = fixtures::cgeo::Mesh::sheet(2, 0, 0.0);
    let large = fixtures::cgeo::Mesh {
        triangles: vec![[[0; 3]; 2]; triangles],
        ..small.clone()
    };
    let snapshot = |mesh: &fixtures::cgeo::Mesh| vec![(raw::TAG_MESH_DATA, mesh.complete())];
    let mut all = vec![snapshot(&small)];
    all.resize(snapshots, snapshot(&large));
    fixtures::cgeo::file(&all, Dialect::default())
}

#[test]
fn playing_counts_what_is_really_held() {
    let _alone = alone();
    const SNAPSHOTS: usize = 40;
    // 27 bytes each.
    let file = uneven(SNAPSHOTS, 80_000);
    let proxy = open::proxy(file.clone());
    let mut seen = Vec::new();
    let ((), peak) = peak(|| {
        proxy
            .play(0..SNAPSHOTS)
            .capacity(5 * MIB)
            .for_each(|index, mesh| {
                seen.push((index, mesh.unwrap().triangles.len()));
                ControlFlow::Continue(())
            });
    });
    let expected: Vec<_> = (0..SNAPSHOTS)
        .map(|index| (index, if index == 0 { 2 } else { 80_000 }))
        .collect();
    assert_eq!(seen, expected);
    assert!(peak < 8 * MIB, "{peak}");
}

#[test]
fn snapshots_larger_than_the_capacity_are_played_one_by_one() {
    let _alone = alone();
    let proxy = open::proxy(uneven(9, 80_000));
    let mut triangles = 0;
    let ((), peak) = peak(|| {
        proxy.play(0..9).capacity(1).for_each(|_, mesh| {
            triangles += mesh.unwrap().triangles.len();
            ControlFlow::Continue(())
        });
    });
    assert_eq!(triangles, 2 + 8 * 80_000);
    assert!(peak < 4 * MIB, "{peak}");
}

/// A reader of a long file: zeros, except for a few bytes.
struct Sparse {
    len: u64,
    parts: Vec<(u64, Vec<u8>)>,
}

impl ReadRange for Sparse {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.len))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let mut out = vec![0; (range.end - range.start) as usize];
        for (start, bytes) in &self.parts {
            let (from, to) = (
                range.start.max(*start),
                range.end.min(start + bytes.len() as u64),
            );
            if from < to {
                let source = &bytes[(from - start) as usize..(to - start) as usize];
                out[(from - range.start) as usize..][..source.len()].copy_from_slice(source);
            }
        }
        Ok(out.into())
    }
}

/// Opens a sparse file; returns the most that opening had, and what the file object holds.
fn opened<T>(file: Sparse, open: impl FnOnce(Source) -> T) -> (T, u64, u64) {
    let source = Source::ranged(file);
    let (result, count) = counted_in_process(|| open(source));
    (result, count.peak as u64, count.live as u64)
}

#[test]
fn opening_holds_no_bodies_between_headers_of_tmf() {
    let _alone = alone();
    const MESHES: u32 = 2000;
    const DATA: u64 = 60 << 10;
    let mut parts = Vec::new();
    let mut head = b"TMF".to_vec();
    head.extend(
        [0_u16, 2, 0, 2]
            .iter()
            .flat_map(|number| number.to_le_bytes()),
    );
    head.extend(MESHES.to_le_bytes());
    let mut at = head.len() as u64;
    parts.push((0, head));
    for _ in 0..MESHES {
        // A name of no bytes, one segment of a type that is skipped, and its data.
        let mut mesh = vec![0, 0, 1, 0, 7];
        mesh.extend((DATA as u32).to_le_bytes());
        mesh.push(0);
        parts.push((at, mesh));
        at += 10 + DATA;
    }
    let (document, peak, live) = opened(Sparse { len: at, parts }, |source| {
        Document::from_source(source, &Options::default()).unwrap()
    });
    assert_eq!(document.meshes().len(), MESHES as usize);
    assert!(
        at > 100 * MIB && peak < 14 * MIB && live < 2 * MIB,
        "{peak} {live}"
    );
}

#[test]
fn opening_holds_no_bodies_of_openctm() {
    let _alone = alone();
    let body = openctm_raw(4096);
    let len = body.len() as u64;
    let parts: Vec<_> = (0..600).map(|index| (index * len, body.clone())).collect();
    let file = Sparse {
        len: 600 * len,
        parts,
    };
    let (bodies, peak, live) = opened(file, |source| {
        openctm::Container::from_source(source, &Options::default()).unwrap()
    });
    assert_eq!(bodies.meshes().len(), 600);
    assert!(
        len * 600 > 60 * MIB && peak < 14 * MIB && live < 3 * MIB,
        "{len} {peak} {live}"
    );
}

#[test]
fn opening_holds_no_long_comments_of_openctm() {
    let _alone = alone();
    const COMMENT: usize = 4 << 20;
    let mut body = fixtures::openctm::Body::sheet(fixtures::openctm::RAW, 2);
    body.comment = vec![b'x'; COMMENT];
    let body = body.to_bytes();
    let len = body.len() as u64;
    let parts: Vec<_> = (0..8).map(|index| (index * len, body.clone())).collect();
    let file = Sparse {
        len: 8 * len,
        parts,
    };
    let (bodies, peak, live) = opened(file, |source| {
        openctm::Container::from_source(source, &Options::default()).unwrap()
    });
    assert!(peak < 16 * MIB && live < 2 * MIB, "{peak} {live}");
    assert!(
        bodies
            .meshes()
            .all(|body| body.comment().unwrap().as_bytes().len() == COMMENT)
    );
}

/// A body of `vertices` vertices and one triangle.
fn openctm_raw(vertices: usize) -> Vec<u8> {
    let mut body = fixtures::openctm::Body::sheet(fixtures::openctm::RAW, 2);
    body.flags = 0;
    body.normals.clear();
    body.uv_maps = vec![("a", "", vec![[0.0; 2]; vertices])];
    body.attribute_maps = vec![("b", vec![[0.0; 4]; vertices])];
    body.positions = vec![[0.0; 3]; vertices];
    body.triangles = vec![[0; 3]];
    body.to_bytes()
}

#[test]
fn a_text_that_is_longer_than_the_limits_allow_is_refused_before_it_is_read() {
    let _alone = alone();
    const TEXT: u32 = 1 << 28;
    const START: u32 = 256;
    let mut head = fixtures::iqm::small();
    let len = head.len() as u32;
    assert!(len > 124);
    // The header of a file that has a text and nothing else.
    let header: Vec<u32> = [2, START + TEXT, 0, TEXT, START]
        .into_iter()
        .chain([0; 22])
        .collect();
    head.truncate(16);
    head.extend(header.iter().flat_map(|number| number.to_le_bytes()));
    head.resize(START as usize, 0);
    let file = Sparse {
        len: (START + TEXT).into(),
        parts: vec![(0, head)],
    };
    let open = |source| iqm::Model::from_source(source, &limited(MIB)).unwrap_err();
    let (error, peak, _) = opened(file, open);
    assert_eq!(
        (error.kind(), error.what()),
        (ErrorKind::LimitExceeded, "text")
    );
    assert!(peak < MIB, "{peak}");
}

#[test]
fn a_file_keeps_no_more_of_its_bodies_than_a_call_may_decode() {
    let _alone = alone();
    let mut body = fixtures::openctm::Body::sheet(fixtures::openctm::MG1, 150);
    (body.uv_maps, body.attribute_maps) = (Vec::new(), Vec::new());
    let one = body.to_bytes();
    let file = one.repeat(20);
    let decoded = 150 * 150 * 24 + 149 * 149 * 2 * 12;
    let options = limited(3 * decoded);
    let file = MeshFile::from_source(Source::from_bytes(file), &options).unwrap();
    let views = || {
        for MeshEntry { address, .. } in file.meshes().unwrap() {
            let mesh = file.mesh(&address).unwrap();
            assert!(mesh.bounds().unwrap().is_some() && !mesh.indices().is_empty());
        }
    };
    let ((), count) = counted_in_process(views);
    assert!(
        (count.live as u64) < 3 * decoded + MIB && count.live as u64 > decoded,
        "{count:?}"
    );
    assert!((count.peak as u64) < 7 * decoded, "{count:?}");
    // Data that is not cached is decoded again.
    views();
    let MeshFile::OpenCtm(bodies) = &file else {
        panic!()
    };
    let positions: Vec<_> = bodies
        .meshes()
        .map(|body| body.arrays().unwrap().positions)
        .collect();
    assert!(positions.iter().all(|own| *own == positions[0]));
}

#[test]
fn listing_the_items_of_a_million_meshes_takes_no_list() {
    let _alone = alone();
    let mut file = b"TMF".to_vec();
    file.extend(
        [0_u16, 2, 0, 2]
            .iter()
            .flat_map(|number| number.to_le_bytes()),
    );
    file.extend(250_000_u32.to_le_bytes());
    file.resize(file.len() + 1_000_000, 0);
    let file = open::file(file);
    let (count, peak) = peak(|| file.items().count());
    assert_eq!(count, 250_000);
    assert!(peak < 4 << 10, "{peak}");
}

#[test]
fn what_is_stored_large_is_read_by_default() {
    let _alone = alone();
    // Stored twice as large as its limits, and decoded sixteen times as large.
    let content: Vec<u8> = (0..3_u32 << 20)
        .map(|at| (at % 1009 * (at / 777) % 251) as u8)
        .collect();
    let stream = compress_to_vec_zlib(&content, 1);
    let block =
        |range: Range<u64>| Block::new("block", Address::field("a"), range, Codec::Zlib, None);
    let limits = Limits::default()
        .with_max_block_bytes(MIB / 2)
        .with_max_total_bytes(MIB / 2);
    let options = Options::default().with_limits(limits);
    let all = block(0..stream.len() as u64);
    let source = Source::from_bytes(stream);
    assert_eq!(
        decode_all(&source, std::slice::from_ref(&all), &options)[0]
            .as_ref()
            .unwrap(),
        &content
    );
    let strict = options.with_limits(limits.with_free_ratio(0));
    let error = decode_all(&source, std::slice::from_ref(&all), &strict)[0]
        .clone()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(
        error
            .to_string()
            .ends_with("raise it with Limits::with_max_block_bytes"),
        "{error}"
    );
    // A bomb is none the less.
    let bomb = bomb(0, 16 * MIB);
    let all = block(0..bomb.len() as u64);
    let error = decode_all(&Source::from_bytes(bomb), &[all], &options)[0]
        .clone()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

#[test]
fn memory_is_no_more_than_the_limit_where_it_fits_exactly() {
    let _alone = alone();
    let content: Vec<u8> = (0..2_u32 << 20)
        .map(|at| (at % 1009 * (at / 777) % 251) as u8)
        .collect();
    let stream = compress_to_vec_zlib(&content, 6);
    let block = Block::new(
        "block",
        Address::field("a"),
        0..stream.len() as u64,
        Codec::Zlib,
        None,
    );
    let source = Source::from_bytes(stream);
    let fits = content.len() as u64;
    let decode =
        |most| peak(|| decode_all(&source, std::slice::from_ref(&block), &limited(most)).remove(0));
    let (decoded, peak) = decode(fits);
    assert_eq!(decoded.unwrap(), content);
    assert!(peak <= fits + MIB, "{peak}");
    assert_eq!(
        decode(fits - 1).0.unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
}

#[test]
fn calls_with_a_base_count_it() {
    let _alone = alone();
    let (meshes, snapshots) = fixtures::cgeo::animation(60, 2);
    let dialect = Dialect::default().with_size(SizeMeaning::Stored);
    let file = fixtures::cgeo::file(&snapshots, dialect);
    let base = meshes[0].complete().len() as u64;
    let open =
        |bytes| Proxy::from_source(Source::from_bytes(file.clone()), &limited(bytes)).unwrap();
    let tight = open(base + 4096);
    assert!(tight.snapshot(0).unwrap().mesh(Parts::ALL).is_ok());
    assert_eq!(
        tight
            .snapshot(1)
            .unwrap()
            .mesh(Parts::ALL)
            .unwrap_err()
            .kind(),
        ErrorKind::LimitExceeded
    );
    assert!(open(2 * base).snapshot(1).unwrap().mesh(Parts::ALL).is_ok());
}

#[test]
fn positions_of_differences_keep_those_of_the_first_snapshot_alone() {
    let _alone = alone();
    const POSITIONS: u64 = 150 * 150 * 12;
    let (_, snapshots) = fixtures::cgeo::animation(150, 3);
    let proxy = Proxy::from_source(
        Source::from_bytes(fixtures::cgeo::file(&snapshots, Dialect::default())),
        &Options::default(),
    );
    let proxy = proxy.unwrap();
    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    proxy
        .snapshot(0)
        .unwrap()
        .positions_into(&mut out, &mut scratch)
        .unwrap();
    let ((), count) = counted_in_process(|| {
        (1..3).for_each(|index| {
            proxy
                .snapshot(index)
                .unwrap()
                .positions_into(&mut out, &mut scratch)
                .unwrap()
        });
    });
    let (peak, live) = (count.peak as u64, count.live as u64);
    assert!(
        (POSITIONS..POSITIONS + MIB / 16).contains(&live) && peak < live + MIB / 4,
        "{count:?}"
    );
    // The whole mesh shares them.
    let (base, count) = counted_in_process(|| proxy.base().unwrap());
    let rest = (base.normals.as_bytes().len() * 2 + base.triangles.as_bytes().len()) as u64;
    assert!(
        (rest..rest + MIB / 16).contains(&(count.live as u64)),
        "{count:?}, not {rest}"
    );
}

#[test]
fn what_is_not_compressed_is_added_without_a_copy() {
    let _alone = alone();
    let (_, snapshots) = fixtures::cgeo::animation(150, 3);
    let dialect = Dialect::default().with_codec(Codec::Stored);
    let proxy = open::proxy(fixtures::cgeo::file(&snapshots, dialect));
    let (mut out, mut scratch) = (Vec::with_capacity(150 * 150), Scratch::default());
    let (_, peak) = peak(|| {
        (1..3).for_each(|index| {
            proxy
                .snapshot(index)
                .unwrap()
                .positions_into(&mut out, &mut scratch)
                .unwrap()
        });
        proxy.snapshot(0).unwrap().positions().unwrap()
    });
    assert!(peak < MIB / 16, "{peak}");
}

#[test]
fn views_of_proxies_hold_no_records_beside_their_working_memory() {
    let _alone = alone();
    let (meshes, snapshots) = fixtures::cgeo::animation(150, 2);
    let proxy = Proxy::from_source(
        Source::from_bytes(fixtures::cgeo::file(&snapshots, Dialect::default())),
        &Options::default(),
    );
    let proxy = proxy.unwrap();
    let address = Address::field("snapshots").index(0);
    let (view, count) = counted_in_process(|| proxy.mesh_view(&address).unwrap());
    let inflated = meshes[0].complete().len() as u64;
    let triangles = view.triangle_count() as u64;
    // For each triangle, three indices and a material.
    let result = view.vertex_count() as u64 * 36 + triangles * 16;
    let (peak, live) = (count.peak as u64, count.live as u64);
    assert!(live < result + MIB / 16, "{count:?}, not {result}");
    assert!(
        peak < (inflated + result) * 5 / 4,
        "{count:?}, not {inflated} and {result}"
    );
}

#[test]
#[ignore = "takes 6 GiB of memory, and minutes without optimization"]
fn proxy_of_twenty_million_triangles_is_read_by_default() {
    let _alone = alone();
    let mesh = fixtures::cgeo::Mesh::sheet(3_164, 0, 0.0);
    let content = mesh.complete();
    let dialect = Dialect::default();
    let mut file = fixtures::cgeo::header(1, dialect);
    let start = (file.len() + 12) as u64;
    let first_section = meshmap::cgeo::OffsetTarget::FirstSection;
    let offset = if dialect.offset == first_section {
        start + 4
    } else {
        start
    };
    file.extend(offset.to_le_bytes());
    file.extend(raw::TAG_ANIM_TABLE_END.to_le_bytes());
    file.extend(fixtures::cgeo::snapshot_bytes(
        &vec![(raw::TAG_MESH_DATA, content)],
        dialect,
    ));
    let file = open::file(file);
    let address = &file.meshes().unwrap().next().unwrap().address;
    let view = file.mesh(address).unwrap();
    assert!(
        view.triangle_count() > 20_000_000,
        "{}",
        view.triangle_count()
    );
    assert_eq!(view.bounds().unwrap(), view.bounds().unwrap());
}

#[test]
fn lists_of_empty_map_channels_count() {
    let _alone = alone();
    let mut mesh = fixtures::cgeo::Mesh::sheet(2, 0, 0.0);
    let file = |channels: usize, mesh: &mut fixtures::cgeo::Mesh| {
        mesh.texcoords = vec![Vec::new(); channels];
        mesh.triangles.clear();
        let snapshot = fixtures::cgeo::snapshot(mesh, mesh.complete());
        fixtures::cgeo::file(&[snapshot], fixtures::cgeo::dialects()[0])
    };
    for (channels, is_read) in [(400, true), (4000, false)] {
        let source = Source::from_bytes(file(channels, &mut mesh));
        let proxy = Proxy::from_source(source, &limited(256 << 10)).unwrap();
        let mut buffer = meshmap::cgeo::MeshBuffer::default();
        let result =
            proxy
                .snapshot(0)
                .unwrap()
                .mesh_into(Parts::ALL, &mut buffer, &mut Scratch::default());
        let found = result.map_err(|error| (error.kind(), error.what().to_owned()));
        let expected = Err((ErrorKind::LimitExceeded, "Map Channel Count".to_owned()));
        assert_eq!(found.is_ok(), is_read);
        assert!(is_read || found == expected, "{found:?}");
    }
}

/// Every call on every damaged file, at limits of a few MiB.
#[test]
fn damaged_files_take_no_more_than_the_limits() {
    let _alone = alone();
    for path in Format::ALL
        .iter()
        .flat_map(|format| meshmap_testing::data::folder(&format!("{format}/bad")))
    {
        println!("{}", path.display());
        meshmap_testing::calls::assert_bounded(&std::fs::read(path).unwrap().into());
    }
}

/// Everything that can be read of a file, whether it succeeds or not.
fn read_all(file: &MeshFile) {
    for array in file.arrays().flatten() {
        drop(array.read());
    }
    for mesh in file.meshes().into_iter().flatten() {
        let Ok(view) = file.mesh(&mesh.address) else {
            continue;
        };
        view.attributes()
            .iter()
            .for_each(|info| drop(view.attribute(&info.semantic)));
    }
    drop(file.validate());
}

#[test]
fn work_depends_neither_on_threads_nor_on_earlier_calls() {
    let _alone = alone();
    let mut files = 0;
    let formats = Format::ALL
        .iter()
        .flat_map(|format| ["valid", "bad"].map(|kind| format!("{format}/{kind}")));
    for path in formats.flat_map(|folder| meshmap_testing::data::folder(&folder.to_lowercase())) {
        let worked = [Parallelism::Off, Parallelism::Rayon].map(|parallelism| {
            let options = Options::default().with_parallelism(parallelism);
            let opened =
                Source::open(&path).and_then(|source| MeshFile::from_source(source, &options));
            let Ok(file) = opened else { return [0; 2] };
            [0; 2].map(|_| {
                let meter = Arc::new(Meter::new(file.limits(), 0));
                meter.run(|| read_all(&file));
                assert_eq!(meter.held(), 0, "{}", path.display());
                meter.worked()
            })
        });
        assert_eq!(worked.concat(), [worked[0][0]; 4], "{}", path.display());
        files += usize::from(worked[0][0] > 0);
    }
    assert!(files > 100, "{files}");
}

#[test]
fn a_job_that_decodes_one_snapshot_again_and_again_ends_at_its_limit() {
    let _alone = alone();
    let (_, snapshots) = fixtures::cgeo::animation(100, 1);
    let body = fixtures::cgeo::file(&snapshots, Dialect::default());
    let proxy = open::proxy(body);
    let meter = Arc::new(Meter::new(&Limits::default(), 0));
    let mut decoded = 0_u64;
    let error = loop {
        match meter.run(|| proxy.snapshot(0).unwrap().mesh(Parts::ALL)) {
            Ok(mesh) => decoded += mesh.positions.as_bytes().len() as u64,
            Err(error) => break error,
        }
    };
    let message = error.to_string();
    assert!(
        message.contains("of decoding and other work; raise it with"),
        "{message}"
    );
    assert!(decoded > 100 << 20 && decoded < 2 << 30, "{decoded}");
    // Outside of the job, a call has only its own meter.
    proxy.snapshot(0).unwrap().mesh(Parts::ALL).unwrap();
}

#[test]
#[cfg(feature = "rayon")]
fn playing_costs_a_job_the_same_with_and_without_threads() {
    let _alone = alone();
    let (_, snapshots) = fixtures::cgeo::animation(60, 12);
    let body = Bytes::from(fixtures::cgeo::file(&snapshots, Dialect::default()));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    let worked = [Parallelism::Off, Parallelism::Rayon].map(|parallelism| {
        // The capacity has room for all snapshots, for some, and for none next to another one.
        [u64::MAX, 400_000, 1].map(|capacity| {
            let options = Options::default().with_parallelism(parallelism);
            let proxy = Proxy::from_source(Source::from_bytes(body.clone()), &options).unwrap();
            let meter = Arc::new(Meter::new(&Limits::default(), body.len() as u64));
            let play = proxy.play(0..12).capacity(capacity).pool(&pool);
            let played = meter.run(|| play.into_iter().filter(|(_, mesh)| mesh.is_ok()).count());
            assert_eq!((played, meter.held()), (12, 0));
            meter.worked()
        })
    });
    assert_eq!(worked.concat(), [worked[0][0]; 6]);
}

#[test]
fn sections_that_are_inflated_to_find_their_ends_are_work() {
    let dialect = Dialect::default()
        .with_codec(Codec::Zlib)
        .with_size(SizeMeaning::Inflated);
    let mesh = fixtures::cgeo::Mesh::sheet(3, 0, 0.0);
    let zeros = (99, vec![0; 4 << 20]);
    let snapshot = vec![zeros, (raw::TAG_MESH_DATA, mesh.complete())];
    let bytes = fixtures::cgeo::file(&[snapshot], dialect);
    let options = Options::default().with_dialect(dialect);
    let proxy = Proxy::from_source(Source::from_bytes(bytes), &options);
    let proxy = proxy.unwrap();
    let meter = Arc::new(Meter::new(&Limits::default(), 0));
    for times in 1..=3 {
        // Each time as a table of many entries for one snapshot has it.
        meter
            .run(|| proxy.snapshot(0).unwrap().counts(&mut Scratch::default()))
            .unwrap();
        assert!(meter.worked() >= times * (4 << 20), "{meter:?}");
    }
}

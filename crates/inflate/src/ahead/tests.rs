use std::cell::Cell;
use std::sync::Arc;

use super::{Ahead, Helpers, Spare};
use crate::bits::Position;
use crate::error::Error;
use crate::format::Format;
use crate::inflater::Inflater;
use crate::stream::Stream;
use crate::tests::generator::{Random, mutate, stream_of};

thread_local! {
    /// The number of parts that this thread has used, so that tests can detect that there were any.
    pub(super) static PARTS: Cell<usize> = const { Cell::new(0) };
}

/// The outcome of a stream.
#[derive(PartialEq)]
struct Outcome {
    content: Vec<u8>,
    consumed: Option<usize>,
    error: Option<Error>,
}

/// Content beyond this is not asked for.
const MOST: usize = 8 << 20;

/// Reads a stream in pieces of this length, a given number of them with help.
fn read(
    inflater: &mut Inflater,
    stream: &Arc<[u8]>,
    piece: usize,
    help: Option<Helpers>,
    mut helped: usize,
) -> Outcome {
    let mut inflate = Stream::new(inflater, stream, Format::Raw).unwrap();
    if let Some(help) = help {
        inflate.set_helpers(help);
    }
    let mut content = Vec::new();
    loop {
        if helped == 0 {
            inflate.remove_helpers();
        }
        helped = helped.saturating_sub(1);
        let mut out = vec![0x55; piece];
        let result = inflate.read(&mut out);
        let length = usize::try_from(inflate.produced()).unwrap() - content.len();
        content.extend_from_slice(&out[..length]);
        match result {
            Err(error) => {
                return Outcome {
                    content,
                    consumed: None,
                    error: Some(error),
                };
            }
            Ok(count) if count < piece => {
                return Outcome {
                    content,
                    consumed: Some(inflate.consumed()),
                    error: None,
                };
            }
            Ok(_) if content.len() > MOST => {
                return Outcome {
                    content,
                    consumed: None,
                    error: None,
                };
            }
            Ok(_) => {}
        }
    }
}

/// Compares bytes, faults and their positions, and the end of the stream.
#[test]
#[cfg_attr(
    miri,
    ignore = "pools that outlive main leak; .ci/slow miri runs it where leaks are ignored"
)]
fn threads_change_nothing() {
    let wanted = std::env::var("MESHMAP_INFLATE_STREAMS").ok();
    let streams = wanted
        .and_then(|wanted| wanted.parse().ok())
        .unwrap_or(if cfg!(miri) { 2 } else { 60 });
    let threads = if cfg!(miri) { 2..3 } else { 1..6 };
    let pools: Vec<_> = threads
        .map(|count| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(count)
                .build()
                .unwrap()
        })
        .collect();
    let (mut inflater, mut alone) = (Inflater::default(), Inflater::default());
    let mut parts = 0;
    for seed in 0..streams {
        let random = &mut Random::new(seed);
        let blocks = 2 + random.below(if cfg!(miri) { 20 } else { 200 });
        let (mut stream, _) = stream_of(random, blocks);
        if random.once_in(2) {
            mutate(random, &mut stream);
        }
        let stream: Arc<[u8]> = Arc::from(stream);
        let pieces = if cfg!(miri) {
            [1 << 12; 3]
        } else {
            [1 << 20, 1 << 16, 1 << 12]
        };
        let piece = pieces[random.below(3)] + random.below(1000);
        let expected = read(&mut alone, &stream, piece, None, 0);
        for pool in &pools {
            let nearest = if cfg!(miri) {
                1
            } else {
                [1, 100, 1000, 10_000][random.below(4)]
            };
            let most = if cfg!(miri) {
                1 << 30
            } else {
                [0, 1 << 18, 1 << 20, 1 << 30][random.below(4)]
            };
            let helped = [usize::MAX, 1 + random.below(20)][random.below(2)];
            let help = Some(Helpers::new(Arc::clone(&stream), most).with_nearest(nearest));
            let (found, used) = pool.install(|| {
                (
                    read(&mut inflater, &stream, piece, help, helped),
                    PARTS.take(),
                )
            });
            parts += used;
            assert!(
                found == expected,
                "{seed}: {:?} {:?}",
                found.error,
                expected.error
            );
        }
    }
    // Miri runs one thread at a time, and helpers seldom.
    assert!(cfg!(miri) || parts > 0, "no part was ever used");
}

/// 16 MiB, and a stream of them that has many blocks.
#[cfg(not(miri))]
fn long_stream() -> (Vec<u8>, Arc<[u8]>) {
    let content: Vec<u8> = (0..16_u32 << 20)
        .map(|i| (i.wrapping_mul(i >> 7) >> 9) as u8 & 63)
        .collect();
    let stream = Arc::from(miniz_oxide::deflate::compress_to_vec(&content, 1));
    (content, stream)
}

/// Not in Miri, which takes minutes to compress what is inflated; `.ci/slow miri` runs what is ignored here.
#[test]
#[cfg(not(miri))]
fn help_that_is_offered_within_a_block_is_used() {
    let (content, stream) = long_stream();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let read = || {
        let mut inflater = Inflater::default();
        let mut inflate = Stream::new(&mut inflater, &stream, Format::Raw).unwrap();
        let mut out = vec![0; content.len()];
        let (first, rest) = out.split_at_mut(17);
        inflate.read_exact(first).unwrap();
        inflate.set_helpers(Helpers::new(Arc::clone(&stream), 64 << 20));
        rest.chunks_mut(100_000)
            .for_each(|piece| inflate.read_exact(piece).unwrap());
        assert!(out == content);
        PARTS.take()
    };
    // Another thread comes when it has nothing else to do.
    assert!(
        (0..100).any(|_| pool.install(read) > 0),
        "no part was ever used"
    );
}

/// Help that ends within a part: what is left of the part is decoded once more.
#[test]
#[cfg(not(miri))]
fn help_that_is_removed_within_a_part_leaves_no_trace() {
    let (content, stream) = long_stream();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let read = || {
        let mut inflater = Inflater::default();
        let mut inflate = Stream::new(&mut inflater, &stream, Format::Raw).unwrap();
        inflate.set_helpers(Helpers::new(Arc::clone(&stream), 64 << 20));
        let mut out = vec![0; content.len()];
        let mut is_removed = false;
        for piece in out.chunks_mut(100_000) {
            inflate.read_exact(piece).unwrap();
            // No part is as short as a piece, so that this one has not ended.
            if !is_removed && PARTS.take() > 0 {
                inflate.remove_helpers();
                is_removed = true;
            }
        }
        assert!(out == content);
        inflate.finish().unwrap();
        is_removed
    };
    // Another thread comes when it has nothing else to do.
    assert!(
        (0..100).any(|_| pool.install(read)),
        "no part was ever used"
    );
}

#[test]
#[cfg_attr(
    miri,
    ignore = "pools that outlive main leak; .ci/slow miri runs it where leaks are ignored"
)]
fn help_ends_with_the_stream() {
    let helpers = Helpers::new([0; 9], 1 << 20);
    let ahead = Ahead::new(&helpers, Position::default(), Spare::default());
    let queue = Arc::clone(&ahead.queue);
    assert!(!queue.is_closed());
    drop(ahead);
    assert!(queue.is_closed());
}

#[test]
fn helpers_know_their_input() {
    let input: Arc<[u8]> = Arc::from([7; 9]);
    let helpers = Helpers::new(Arc::clone(&input), 5);
    assert!(helpers.are_for(&input) && !helpers.are_for(&[7; 9]) && !helpers.are_for(&input[1..]));
    assert_eq!(format!("{helpers:?}"), "Helpers { max_memory: 5, .. }");
    assert_eq!(Helpers::MIN_INPUT, 512 << 10);
}

/// Files of many short members, with bytes between them that take long to search, have no help.
#[test]
#[cfg_attr(
    miri,
    ignore = "pools that outlive main leak; .ci/slow miri runs it where leaks are ignored"
)]
fn short_members_have_no_help() {
    let pool = |threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
    };
    let helpers = Helpers::new(vec![0; 4 << 20], 64 << 20);
    let pay = |threads, start, consumed| pool(threads).install(|| helpers.pay(start, consumed));
    assert!(pay(2, 1 << 20, (1 << 20) + (64 << 10)));
    assert!(
        !pay(2, 1 << 20, (1 << 20) + (63 << 10)),
        "of a member that has just begun"
    );
    assert!(!pay(2, 1 << 20, (7 << 19) + 1), "of what has nearly ended");
    assert!(!pay(1, 1 << 20, 2 << 20), "where nobody is there to help");
}

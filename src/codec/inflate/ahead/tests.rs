use std::cell::Cell;

use super::Help;
use crate::codec::inflate::generator::{Random, mutate, stream_of};
use crate::codec::inflate::{Inflate, Inflater};
use crate::codec::{Codec, Decoder, Fault};

thread_local! {
    /// How many parts this thread has used, so that tests can tell that there were any.
    pub(super) static PARTS: Cell<usize> = const { Cell::new(0) };
}

/// What came of a stream.
#[derive(PartialEq)]
struct Outcome {
    content: Vec<u8>,
    consumed: Option<usize>,
    fault: Option<Fault>,
}

/// Content beyond this is not asked for.
const MOST: usize = 8 << 20;

/// Reads a stream in pieces of this length, so many of them with help.
fn read(
    inflater: &mut Inflater,
    stream: &bytes::Bytes,
    piece: usize,
    help: Option<Help>,
    mut helped: usize,
) -> Outcome {
    let mut inflate = Inflate::new(inflater, stream, Codec::Deflate, Decoder::Fast, None).unwrap();
    if let Some(help) = help {
        inflate.with_help(help);
    }
    let mut content = Vec::new();
    loop {
        if helped == 0 {
            inflate.without_help();
        }
        helped = helped.saturating_sub(1);
        let mut out = vec![0x55; piece];
        let result = inflate.read(&mut out);
        let length = usize::try_from(inflate.produced()).unwrap() - content.len();
        content.extend_from_slice(&out[..length]);
        match result {
            Err(fault) => {
                return Outcome { content, consumed: None, fault: Some(fault) };
            }
            Ok(count) if count < piece => {
                return Outcome { content, consumed: Some(inflate.consumed()), fault: None };
            }
            Ok(_) if content.len() > MOST => return Outcome { content, consumed: None, fault: None },
            Ok(_) => {}
        }
    }
}

/// Bytes, faults and where they are, and where the stream ends.
#[test]
#[cfg_attr(miri, ignore = "pools that outlive main leak; .ci/miri runs it where leaks are ignored")]
fn threads_change_nothing() {
    let wanted = std::env::var("MESHMAP_INFLATE_STREAMS").ok();
    let streams = wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(if cfg!(miri) { 2 } else { 60 });
    let threads = if cfg!(miri) { 2..3 } else { 1..6 };
    let pools: Vec<_> =
        threads.map(|count| rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap()).collect();
    let (mut inflater, mut alone) = (Inflater::default(), Inflater::default());
    let mut parts = 0;
    for seed in 0..streams {
        let random = &mut Random::new(seed);
        let blocks = 2 + random.below(if cfg!(miri) { 20 } else { 200 });
        let (mut stream, _) = stream_of(random, blocks);
        if random.once_in(2) {
            mutate(random, &mut stream);
        }
        let stream = bytes::Bytes::from(stream);
        let pieces = if cfg!(miri) { [1 << 12; 3] } else { [1 << 20, 1 << 16, 1 << 12] };
        let piece = pieces[random.below(3)] + random.below(1000);
        let expected = read(&mut alone, &stream, piece, None, 0);
        for pool in &pools {
            let nearest = if cfg!(miri) { 1 } else { [1, 100, 1000, 10_000][random.below(4)] };
            let most = if cfg!(miri) { 1 << 30 } else { [0, 1 << 18, 1 << 20, 1 << 30][random.below(4)] };
            let helped = [usize::MAX, 1 + random.below(20)][random.below(2)];
            let help = Some(Help { input: stream.clone(), most, nearest });
            let (found, used) =
                pool.install(|| (read(&mut inflater, &stream, piece, help, helped), PARTS.take()));
            parts += used;
            assert!(found == expected, "{seed}: {:?} {:?}", found.fault, expected.fault);
        }
    }
    // Miri runs one thread at a time, and helpers seldom.
    assert!(cfg!(miri) || parts > 0, "no part was ever used");
}

/// Not in Miri, which takes minutes to compress what is inflated; `.ci/miri` runs what is ignored here.
#[test]
#[cfg(not(miri))]
fn help_that_is_offered_within_a_block_is_used() {
    let content: Vec<u8> = (0..4_u32 << 20).map(|i| (i.wrapping_mul(i >> 7) >> 9) as u8 & 63).collect();
    let stream = bytes::Bytes::from(miniz_oxide::deflate::compress_to_vec(&content, 1));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let read = || {
        let mut inflater = Inflater::default();
        let mut inflate = Inflate::new(&mut inflater, &stream, Codec::Deflate, Decoder::Fast, None).unwrap();
        let mut out = vec![0; content.len()];
        let (first, rest) = out.split_at_mut(17);
        inflate.read_exact(first).unwrap();
        inflate.with_help(Help::new(stream.clone(), 64 << 20));
        rest.chunks_mut(100_000).for_each(|piece| inflate.read_exact(piece).unwrap());
        assert!(out == content);
        PARTS.take()
    };
    // Another thread comes when it has nothing else to do.
    assert!((0..100).any(|_| pool.install(read) > 0), "no part was ever used");
}

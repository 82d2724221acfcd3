//! Whatever the bytes, the two decoders make the same of a stream, whole, as a prefix, and in pieces of any size: the same
//! bytes and the same verdict, and they use as much of it. So does any number of threads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshmap::{Address, Block, Bytes, Codec, Decoder, Limits, Options, Scratch, Source, inflate_in_pieces};

/// Content beyond this is not asked for.
const MOST: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let Some((choice, stream)) = data.split_first() else { return };
    let codec = [Codec::Zlib, Codec::Gzip, Codec::Deflate, Codec::Stored][usize::from(choice % 4)];
    let decoded_len = (choice & 4 != 0).then_some(u64::from(choice >> 3) * 7);
    let source = Source::from_bytes(stream.to_vec());
    let block = Block::new("stream", Address::field("stream"), 0..stream.len() as u64, codec, decoded_len);
    let decode = |decoder, limit| {
        let limits = Limits::default().with_max_block_bytes(limit).with_free_ratio(0);
        let options = Options::default().with_limits(limits).with_decoder(decoder);
        block.decode(&source, &options, &mut Scratch::default())
    };
    let [fast, second] = [Decoder::Fast, Decoder::Reference].map(|decoder| decode(decoder, 1 << 20));
    match (&fast, &second) {
        (Ok(fast), Ok(second)) => assert_eq!(fast, second),
        (fast, second) => assert_eq!(fast.is_err(), second.is_err(), "{fast:?} {second:?}"),
    }
    in_pieces(data);
    if let (Ok(whole), true) = (&fast, codec != Codec::Stored) {
        assert!(decode(Decoder::Fast, whole.len() as u64).is_ok());
        assert!(whole.is_empty() || decode(Decoder::Fast, whole.len() as u64 - 1).is_err());
    }
});

/// The first bytes are the lengths of pieces.
fn in_pieces(data: &[u8]) {
    let Some(([scale, lengths @ ..], stream)) = data.split_first_chunk::<4>() else { return };
    let mut pieces = lengths.map(|length| usize::from(length) << (scale % 10));
    pieces[0] += 1;
    let stream = Bytes::copy_from_slice(stream);
    let decode = |decoder, pieces: &[usize]| inflate_in_pieces(&stream, decoder, pieces, MOST, None);
    let (fast, is_error, consumed) = decode(Decoder::Fast, &pieces);
    let second = decode(Decoder::Reference, &pieces);
    // A block without a code for its end is refused before its symbols by one, and after some of them by the other.
    assert!(if is_error { second.0.starts_with(&fast) } else { second.0 == fast });
    assert_eq!((is_error, consumed), (second.1, second.2));
    // Other threads begin parts wherever something looks like a block.
    let nearest = Some(1 + usize::from(*scale));
    let helped = inflate_in_pieces(&stream, Decoder::Fast, &pieces, MOST, nearest);
    assert!(helped == (fast.clone(), is_error, consumed));
    if fast.len() <= MOST {
        assert!((fast, is_error, consumed) == decode(Decoder::Fast, &[MOST + 1]));
    }
}

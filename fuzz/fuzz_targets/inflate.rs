//! Whatever the bytes, the two decoders make the same of a stream, whole, as a prefix, and in pieces of any size: the same
//! bytes and the same verdict, and they use as much of it. So does any number of threads.
#![no_main]

#[path = "../../crates/inflate/src/tests/reference.rs"]
mod reference;

use libfuzzer_sys::fuzz_target;
use meshmap::{Address, Block, Bytes, Codec, Decoder, Limits, Options, Scratch, Source};
use meshmap_inflate::{
    Decoded, ErrorKind, Format, Helpers, Inflater, RawDecoder, Status, Stream, inflate,
};
use reference::Reference;

/// Content beyond this is not asked for.
const MOST: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let Some((choice, stream)) = data.split_first() else {
        return;
    };
    let codec = [Codec::Zlib, Codec::Gzip, Codec::Deflate, Codec::Stored][usize::from(choice % 4)];
    let decoded_len = (choice & 4 != 0).then_some(u64::from(choice >> 3) * 7);
    let source = Source::from_bytes(stream.to_vec());
    let block = Block::new(
        "stream",
        Address::field("stream"),
        0..stream.len() as u64,
        codec,
        decoded_len,
    );
    let decode = |decoder, limit| {
        let limits = Limits::default()
            .with_max_block_bytes(limit)
            .with_free_ratio(0);
        let options = Options::default().with_limits(limits).with_decoder(decoder);
        block.decode(&source, &options, &mut Scratch::default())
    };
    let [fast, second] =
        [Decoder::Fast, Decoder::Reference].map(|decoder| decode(decoder, 1 << 20));
    match (&fast, &second) {
        (Ok(fast), Ok(second)) => assert_eq!(fast, second),
        (fast, second) => assert_eq!(fast.is_err(), second.is_err(), "{fast:?} {second:?}"),
    }
    in_pieces(data);
    if let (Ok(whole), true) = (&fast, codec != Codec::Stored) {
        assert!(decode(Decoder::Fast, whole.len() as u64).is_ok());
        assert!(whole.is_empty() || decode(Decoder::Fast, whole.len() as u64 - 1).is_err());
    }
    let format = match codec {
        Codec::Zlib => Format::Zlib,
        Codec::Gzip => Format::Gzip,
        Codec::Deflate => Format::Raw,
        _ => return,
    };
    // In one call, with a limit.
    let found = inflate(stream, format, MOST);
    match (decoded_len, &fast) {
        (None, Ok(whole)) => {
            assert!(found.is_ok_and(|found| found == *whole));
            if let Some(less) = whole.len().checked_sub(1) {
                let error = inflate(stream, format, less).expect_err("more than the limit");
                assert_eq!(error.kind(), &ErrorKind::TooLong);
            }
        }
        (None, Err(_)) => assert!(found.is_err()),
        _ => {}
    }
});

/// The first bytes are the lengths of pieces.
fn in_pieces(data: &[u8]) {
    let Some(([scale, lengths @ ..], input)) = data.split_first_chunk::<4>() else {
        return;
    };
    let mut pieces = lengths.map(|length| usize::from(length) << (scale % 10));
    pieces[0] += 1;
    let input = Bytes::copy_from_slice(input);
    let (mut inflater, mut reference) = (Inflater::new(), Reference::default());
    let mut fast = |pieces: &[usize]| {
        read(
            Stream::new(&mut inflater, &input, Format::Raw).expect("no header"),
            pieces,
        )
    };
    let (content, is_error, consumed) = fast(&pieces);
    if content.len() <= MOST {
        assert!((content.clone(), is_error, consumed) == fast(&[MOST + 1]));
    }
    let second = Stream::with_decoder(&mut reference, &input, Format::Raw).expect("no header");
    let second = read(second, &pieces);
    // A block without a code for its end is refused before its symbols by one, and after some of them by the other.
    assert!(if is_error {
        second.0.starts_with(&content)
    } else {
        second.0 == content
    });
    assert_eq!((is_error, consumed), (second.1, second.2));
    // Other threads begin parts wherever something looks like a block.
    let mut helped = Stream::new(&mut inflater, &input, Format::Raw).expect("no header");
    helped.set_helpers(Helpers::new(input.clone(), 64 << 20).with_nearest(1 + usize::from(*scale)));
    assert!(read(helped, &pieces) == (content, is_error, consumed));
}

/// Reads a stream into pieces of these lengths, over and over, each in separate memory, up to [`MOST`] bytes and a piece.
/// Returns what came out, whether there was an error, and where the stream ended, if that was reached.
fn read(mut stream: Stream<'_>, pieces: &[usize]) -> (Vec<u8>, bool, Option<usize>) {
    let mut content = Vec::new();
    for piece in pieces.iter().cycle() {
        let mut out = vec![0x55; *piece];
        let result = stream.read(&mut out);
        let length = stream.produced() as usize - content.len();
        content.extend_from_slice(&out[..length]);
        match result {
            Err(_) => return (content, true, None),
            Ok(count) if count < out.len() => return (content, false, Some(stream.consumed())),
            Ok(_) if content.len() > MOST => break,
            Ok(_) => {}
        }
    }
    (content, false, None)
}

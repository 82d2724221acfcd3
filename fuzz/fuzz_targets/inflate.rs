//! Whatever the bytes, the two decoders make the same of a stream, whole and as a prefix.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshmap::{Address, Block, Codec, Decoder, Limits, Options, Scratch, Source};

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
    if let (Ok(whole), true) = (&fast, codec != Codec::Stored) {
        assert!(decode(Decoder::Fast, whole.len() as u64).is_ok());
        assert!(whole.is_empty() || decode(Decoder::Fast, whole.len() as u64 - 1).is_err());
    }
});

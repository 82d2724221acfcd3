//! Whatever the bytes, three decoders make the same of an LZMA stream: this library's own, lzma-rs and lzma-rust2.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use lzma_rust2::LzmaReader;
use meshmap::{Address, Block, Codec, Decoder, Options, Scratch, Source, Strictness};

fuzz_target!(|data: &[u8]| {
    let Some(([properties, low, high], stream)) = data.split_first_chunk() else {
        return;
    };
    let length = u16::from_le_bytes([*low, *high]);
    let source = Source::from_bytes(stream.to_vec());
    let codec = Codec::Lzma {
        properties: [*properties, 0, 0, 0, 0],
    };
    let range = 0..stream.len() as u64;
    let block = Block::new(
        "stream",
        Address::field("stream"),
        range,
        codec,
        Some(length.into()),
    );
    let mut scratch = Scratch::default();
    let mut decode = |decoder, strictness| {
        let options = Options::default()
            .with_decoder(decoder)
            .with_strictness(strictness);
        block.decode(&source, &options, &mut scratch)
    };
    let fast = decode(Decoder::Fast, Strictness::Tolerant);
    let second = decode(Decoder::Reference, Strictness::Tolerant);
    match (&fast, &second) {
        (Ok(fast), Ok(second)) => assert_eq!(fast, second),
        (fast, second) => assert_eq!(fast.is_err(), second.is_err(), "{fast:?} {second:?}"),
    }
    let strict = decode(Decoder::Fast, Strictness::Strict);
    if strict.is_ok() {
        assert!(fast.is_ok() && decode(Decoder::Reference, Strictness::Strict).is_ok());
    }

    // It refuses more, such as a match over the end, but nothing that an encoder writes.
    let dictionary = u32::from(length).max(4096);
    let third = LzmaReader::new_with_props(stream, length.into(), *properties, dictionary, None);
    let third = third.and_then(|mut reader| {
        let mut out = vec![0; length.into()];
        reader.read_exact(&mut out).map(|()| out)
    });
    match (&fast, &third) {
        (Ok(fast), Ok(third)) => assert_eq!(fast, third),
        (Ok(_), Err(error)) => assert!(strict.is_err(), "{error}"),
        (Err(error), Ok(_)) => panic!("{error}"),
        (Err(_), Err(_)) => {}
    }
});

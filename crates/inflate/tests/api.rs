//! The public API: limits, errors, and other decoders.

use meshmap_inflate::{
    BitPosition, Decoded, Error, ErrorKind, Format, Inflater, RawDecoder, Status, Stream, inflate,
};

fn sample() -> Vec<u8> {
    (0..50_000_u32)
        .flat_map(|i| (i.wrapping_mul(2_654_435_761) >> (i % 24)).to_le_bytes())
        .collect()
}

fn zlib(content: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(content, 6)
}

#[test]
fn one_call_decodes_up_to_the_limit_and_no_further() {
    let content = sample();
    let stream = zlib(&content);
    for limit in [content.len(), content.len() + 1, usize::MAX] {
        assert!(inflate(&stream, Format::Zlib, limit).unwrap() == content);
    }
    for limit in [0, 1, 255, 256, 257, content.len() - 1] {
        let error = inflate(&stream, Format::Zlib, limit).unwrap_err();
        assert_eq!(
            (error.kind(), error.decoded()),
            (&ErrorKind::TooLong, limit as u64 + 1)
        );
    }
    assert!(inflate(&zlib(&[]), Format::Zlib, 0).unwrap().is_empty());
}

#[test]
fn memory_grows_with_the_output() {
    // A hundred bytes of output after a header that could begin anything: no more than the first guess is allocated.
    let content = [7; 100];
    let out = inflate(&zlib(&content), Format::Zlib, usize::MAX).unwrap();
    assert!(out == content && out.capacity() <= 256);
    // A thousand bytes of input, a million of output: at most twice as much.
    let content = vec![7; 1_000_000];
    let stream = zlib(&content);
    let out = inflate(&stream, Format::Zlib, usize::MAX).unwrap();
    assert!(
        out == content && out.capacity() <= 2 * content.len(),
        "{}",
        out.capacity()
    );
    let out = inflate(&stream, Format::Zlib, content.len()).unwrap();
    assert_eq!(out.capacity(), content.len());
}

#[test]
fn slices_may_be_longer_than_the_content_and_not_shorter() {
    let content = sample();
    let stream = zlib(&content);
    let mut inflater = Inflater::new();
    let mut out = vec![0; content.len() + 10];
    assert_eq!(
        inflater
            .inflate_into(&stream, Format::Zlib, &mut out)
            .unwrap(),
        content.len()
    );
    assert!(out[..content.len()] == content);
    out.truncate(content.len() - 1);
    let error = inflater
        .inflate_into(&stream, Format::Zlib, &mut out)
        .unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::TooLong);
}

#[test]
fn errors_name_format_problem_and_position() {
    let text = |stream: &[u8], format| inflate(stream, format, 1 << 20).unwrap_err().to_string();
    assert_eq!(
        text(b"\x78", Format::Zlib),
        "truncated zlib stream, after 0 bytes of output"
    );
    assert_eq!(
        text(b"hello world", Format::Gzip),
        "invalid gzip stream: no gzip header, after 0 bytes of output"
    );
    // A stored block of one byte, and one of type 3.
    let stream = [0, 1, 0, 0xfe, 0xff, 7, 0b111];
    assert_eq!(
        text(&stream, Format::Raw),
        "invalid deflate stream: a block of type 3 at byte 0x6, bit 0, after 1 byte of output"
    );
    let error = inflate(&stream, Format::Raw, 10).unwrap_err();
    assert_eq!(error.position(), Some(BitPosition { byte: 6, bit: 0 }));
    let mut stream = zlib(b"hello");
    *stream.last_mut().unwrap() ^= 1;
    let error = inflate(&stream, Format::Zlib, 10).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::Checksum {
            stored: 0x062c_0214,
            computed: 0x062c_0215
        }
    ));
    assert_eq!(
        error.to_string(),
        "wrong Adler-32 in a zlib stream: computed 0x062c0215, stored 0x062c0214"
    );
    let error = std::io::Error::from(error);
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    assert!(error.get_ref().unwrap().is::<Error>());
}

#[test]
fn checksums_are_ignored_on_request() {
    let mut stream = zlib(b"hello");
    *stream.last_mut().unwrap() ^= 1;
    for length in [stream.len(), stream.len() - 4] {
        let mut inflater = Inflater::new();
        let mut stream = Stream::new(&mut inflater, &stream[..length], Format::Zlib).unwrap();
        stream.ignore_checksum();
        stream.read_exact(&mut [0; 5]).unwrap();
        stream.finish().unwrap();
        assert_eq!(stream.consumed(), length);
    }
}

/// A decoder that claims to have read and written more than there is.
struct Liar(Status);

impl RawDecoder for Liar {
    fn reset(&mut self) {}

    fn decode(&mut self, _: &[u8], _: &mut [u8]) -> Decoded {
        Decoded {
            consumed: usize::MAX,
            produced: usize::MAX,
            status: self.0,
        }
    }
}

#[test]
fn decoders_that_claim_the_impossible_do_no_harm() {
    for status in [Status::Continues, Status::Ended, Status::Damaged] {
        for format in [Format::Raw, Format::Zlib] {
            let mut liar = Liar(status);
            let input = zlib(b"hello");
            let mut stream = Stream::with_decoder(&mut liar, &input, format).unwrap();
            assert_eq!(stream.read(&mut [0; 10]).unwrap(), 10);
            assert!(stream.consumed() <= input.len());
            let _ = stream.finish();
        }
    }
}

#[test]
#[cfg(feature = "rayon")]
fn helpers_for_other_bytes_are_not_used() {
    use meshmap_inflate::Helpers;

    let content: Vec<u8> = (0..4_u32 << 20)
        .map(|i| (i.wrapping_mul(i >> 7) >> 9) as u8 & 63)
        .collect();
    let stream = miniz_oxide::deflate::compress_to_vec(&content, 1);
    let mut inflater = Inflater::new();
    // The helpers' bytes are as many, and not these.
    let other = vec![0_u8; stream.len()];
    let mut decoded = Stream::new(&mut inflater, &stream, Format::Raw).unwrap();
    decoded.set_helpers(Helpers::new(other, 64 << 20));
    let mut out = vec![0; content.len()];
    decoded.read_exact(&mut out).unwrap();
    decoded.finish().unwrap();
    assert!(out == content);
}

#[test]
fn types_can_be_sent_and_shared() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Inflater>();
    is_send_and_sync::<Error>();
    is_send_and_sync::<Format>();
    fn is_send<T: Send>() {}
    is_send::<Stream<'_>>();
    #[cfg(feature = "rayon")]
    is_send_and_sync::<meshmap_inflate::Helpers>();
}

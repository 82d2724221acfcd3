//! Both decoders, on the same streams.

pub(crate) mod generator;
mod reference;

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use self::generator::Random;
use self::reference::Reference;
use crate::error::{BitPosition, Error, ErrorKind};
use crate::format::Format;
use crate::inflater::Inflater;
use crate::raw_decoder::{Decoded, RawDecoder, Status};
use crate::stream::Stream;
use crate::table;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Decoder {
    Fast,
    Reference,
}

/// The memory of both decoders.
#[derive(Default)]
struct Decoders {
    inflater: Inflater,
    reference: Reference,
}

fn begin<'a>(
    decoders: &'a mut Decoders,
    input: &'a [u8],
    format: Format,
    decoder: Decoder,
) -> Result<Stream<'a>, Error> {
    match decoder {
        Decoder::Fast => Stream::new(&mut decoders.inflater, input, format),
        Decoder::Reference => Stream::with_decoder(&mut decoders.reference, input, format),
    }
}

const DECODERS: [Decoder; 2] = [Decoder::Fast, Decoder::Reference];

fn deflate(data: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec(data, 6)
}

fn wrapped(data: &[u8], format: Format) -> Vec<u8> {
    match format {
        Format::Zlib => miniz_oxide::deflate::compress_to_vec_zlib(data, 6),
        Format::Gzip => {
            let mut crc = crc32fast::Hasher::new();
            crc.update(data);
            // With every optional field: extra, name, comment, header checksum.
            let mut stream = vec![0x1f, 0x8b, 8, 30, 0, 0, 0, 0, 0, 255, 3, 0, 1, 2, 3];
            stream.extend_from_slice(b"name\0comment\0");
            stream.extend((crc32fast::hash(&stream) as u16).to_le_bytes());
            stream.extend(deflate(data));
            stream.extend(crc.finalize().to_le_bytes());
            stream.extend((data.len() as u32).to_le_bytes());
            stream
        }
        Format::Raw => deflate(data),
    }
}

fn inflate(
    input: &[u8],
    format: Format,
    decoder: Decoder,
    lengths: &[usize],
) -> Result<Vec<u8>, ErrorKind> {
    let mut decoders = Decoders::default();
    let mut read = || {
        let mut stream = begin(&mut decoders, input, format, decoder)?;
        let mut all = Vec::new();
        for length in lengths {
            let mut piece = vec![0; *length];
            stream.read_exact(&mut piece)?;
            all.extend(piece);
        }
        stream.finish()?;
        Ok(all)
    };
    read().map_err(|error: Error| error.kind)
}

fn sample() -> Vec<u8> {
    (0..200_000_u32)
        .flat_map(|i| (i.wrapping_mul(2_654_435_761) >> (i % 24)).to_le_bytes())
        .collect()
}

#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn pieces_of_every_size_make_the_same() {
    let data = sample();
    for format in [Format::Zlib, Format::Gzip, Format::Raw] {
        let stream = wrapped(&data, format);
        for decoder in DECODERS {
            for piece in [1 << 20, 100_000, 4097] {
                let mut lengths = vec![piece; data.len() / piece];
                lengths.push(data.len() % piece);
                assert!(
                    inflate(&stream, format, decoder, &lengths).unwrap() == data,
                    "{format:?} {piece}"
                );
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn prefix_needs_the_beginning_of_the_stream_only() {
    let data = sample();
    let stream = wrapped(&data, Format::Zlib);
    for decoder in DECODERS {
        let mut decoders = Decoders::default();
        let half = &stream[..stream.len() / 2];
        let mut prefix = vec![0; 1000];
        let mut inflate = begin(&mut decoders, half, Format::Zlib, decoder).unwrap();
        inflate.read_exact(&mut prefix).unwrap();
        assert!(prefix == data[..1000] && inflate.produced() == 1000);
        assert!(inflate.consumed() < stream.len() / 4);
    }
}

#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn streams_of_another_length_or_checksum_are_errors() {
    let data = sample();
    for format in [Format::Zlib, Format::Gzip, Format::Raw] {
        let stream = wrapped(&data, format);
        for decoder in DECODERS {
            let all = data.len();
            assert_eq!(
                inflate(&stream, format, decoder, &[all - 1]),
                Err(ErrorKind::TooLong)
            );
            assert_eq!(
                inflate(&stream, format, decoder, &[all + 1]),
                Err(ErrorKind::TooShort)
            );
            assert_eq!(
                inflate(&stream[..1000], format, decoder, &[all]),
                Err(ErrorKind::Truncated)
            );
            if format != Format::Raw {
                let end = stream.len() - 1;
                assert_eq!(
                    inflate(&stream[..end], format, decoder, &[all]),
                    Err(ErrorKind::Truncated)
                );
                let mut damaged = stream.clone();
                let place = stream.len() - 6 + usize::from(format == Format::Zlib) * 4;
                damaged[place] ^= 1;
                assert!(matches!(
                    inflate(&damaged, format, decoder, &[all]),
                    Err(ErrorKind::Checksum { .. })
                ));
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn members_of_a_gzip_file_follow_one_another() {
    let data = sample();
    let (first, second) = data.split_at(data.len() / 3);
    let mut stream = [
        wrapped(first, Format::Gzip),
        wrapped(second, Format::Gzip),
        b"\0\0".to_vec(),
    ]
    .concat();
    for decoder in DECODERS {
        for piece in [1 << 20, 100_000] {
            let mut lengths = vec![piece; data.len() / piece];
            lengths.push(data.len() % piece);
            assert!(inflate(&stream, Format::Gzip, decoder, &lengths).unwrap() == data);
        }
    }
    // The header of the second one, its checksum, and the length after it.
    for (place, expected) in [(first.len(), 3), (9, 1), (3, 2)] {
        let mut damaged = stream.clone();
        let place = match expected {
            3 => wrapped(&data[..place], Format::Gzip).len() + 4,
            _ => stream.len() - place,
        };
        damaged[place] ^= 1;
        for decoder in DECODERS {
            let found = inflate(&damaged, Format::Gzip, decoder, &[data.len()]);
            let is_checksum = matches!(found, Err(ErrorKind::Checksum { .. }));
            let is_corrupt = matches!(found, Err(ErrorKind::Corrupt(_)));
            assert_eq!(
                (is_checksum, is_corrupt),
                (expected != 2, expected == 2),
                "{expected}"
            );
        }
    }
    stream.truncate(wrapped(first, Format::Gzip).len() + 5);
    assert_eq!(
        inflate(&stream, Format::Gzip, Decoder::Fast, &[data.len()]),
        Err(ErrorKind::Truncated)
    );
}

/// A match that begins in a member of a gzip file and refers to the one before it.
#[test]
fn matches_into_another_member_are_errors() {
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let first = [
        &header[..],
        &[1, 1, 0, 0xfe, 0xff, 7],
        &crc32fast::hash(&[7]).to_le_bytes(),
        &[1, 0, 0, 0],
    ];
    let stream = [&first.concat()[..], &header, &[0x23, 0x02, 0x00, 0x54]].concat();
    for decoder in DECODERS {
        let found = inflate(&stream, Format::Gzip, decoder, &[36]);
        assert!(
            matches!(found, Err(ErrorKind::Corrupt(_))),
            "{decoder:?}: {found:?}"
        );
    }
}

#[test]
fn errors_have_the_bit_of_the_stream() {
    // A stored block of one byte, and one of type 3.
    let stream = [0, 1, 0, 0xfe, 0xff, 7, 0b111];
    let mut decoders = Decoders::default();
    let mut inflate = begin(&mut decoders, &stream, Format::Raw, Decoder::Fast).unwrap();
    let error = inflate.read(&mut [0; 2]).unwrap_err();
    assert_eq!(
        (error.kind, error.decoded, error.position),
        (
            ErrorKind::Corrupt("a block of type 3"),
            1,
            Some(BitPosition { byte: 6, bit: 0 })
        )
    );
}

/// Code lengths may end with the last bit of the input. What is wrong with them comes before the end.
#[test]
fn the_last_code_length_may_be_the_last_bits() {
    // 256 zeros, 2 for the end of the block, and 0 for the only distance.
    let stream = [0x05, 0xa0, 0x81, 0x08, 0, 0, 0, 0x80, 0xe0, 0x6f, 0x7d];
    let found = inflate(&stream, Format::Raw, Decoder::Fast, &[1]);
    assert_eq!(
        found,
        Err(ErrorKind::Corrupt(
            "an incomplete code of literals and lengths"
        ))
    );
}

#[test]
fn other_headers_are_errors() {
    let dictionary = [0x78, 0xbb, 0, 0, 0, 0];
    let method = [0x79, 0x9c, 0, 0];
    for header in [&dictionary[..], &method, b"BZh9", &[0x28, 0xb5, 0x2f, 0xfd]] {
        let mut decoders = Decoders::default();
        let stream = begin(&mut decoders, header, Format::Zlib, Decoder::Fast);
        assert!(matches!(stream.err().unwrap().kind, ErrorKind::Corrupt(_)));
    }
    let mut decoders = Decoders::default();
    let short = begin(&mut decoders, &[0x78], Format::Zlib, Decoder::Fast);
    assert_eq!(short.err().unwrap().kind, ErrorKind::Truncated);
}

#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn cancelled_streams_stop() {
    let stream = wrapped(&sample(), Format::Zlib);
    let mut decoders = Decoders::default();
    let cancel = AtomicBool::new(false);
    let mut inflate = begin(&mut decoders, &stream, Format::Zlib, Decoder::Fast)
        .unwrap()
        .cancelled_by(&cancel);
    let mut out = vec![0; 100];
    inflate.read_exact(&mut out).unwrap();
    cancel.store(true, Ordering::Relaxed);
    let error = inflate.read_exact(&mut out).unwrap_err();
    assert_eq!((error.kind, error.decoded), (ErrorKind::Cancelled, 100));
}

/// A stored block of 5 bytes, and a fixed one with a match of 3 bytes whose distance is 5 or 6.
fn match_after_five(distance: u8) -> Vec<u8> {
    [
        0,
        5,
        0,
        0xfa,
        0xff,
        1,
        2,
        3,
        4,
        5,
        0x03,
        0x12 | (distance - 5) << 7,
        0,
    ]
    .to_vec()
}

/// Whatever of the stream lies before the slice, and whether there is room and input for the fast loop.
#[test]
fn matches_reach_the_first_byte_and_no_further() {
    for (pieces, after) in [
        (&[8][..], 0),
        (&[5, 3], 0),
        (&[2, 6], 0),
        (&[1; 8], 0),
        (&[5, 700], 20),
        (&[700], 20),
    ] {
        for decoder in DECODERS {
            let read = |distance| {
                let mut stream = match_after_five(distance);
                stream.resize(stream.len() + after, 0);
                let mut decoders = Decoders::default();
                let mut inflate = begin(&mut decoders, &stream, Format::Raw, decoder).unwrap();
                let mut all = Vec::new();
                for length in pieces {
                    let mut piece = vec![0; *length];
                    let count = inflate.read(&mut piece)?;
                    all.extend_from_slice(&piece[..count]);
                }
                inflate.finish().map(|()| all)
            };
            assert_eq!(
                read(5).unwrap(),
                [1, 2, 3, 4, 5, 1, 2, 3],
                "{pieces:?} {decoder:?}"
            );
            let error = read(6).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Corrupt(_)), "{error:?}");
            assert!(
                decoder == Decoder::Reference || error.decoded == 5,
                "{pieces:?}: {error:?}"
            );
            if decoder == Decoder::Fast {
                // The first bit of the match.
                assert_eq!(
                    error.position,
                    Some(BitPosition { byte: 10, bit: 3 }),
                    "{pieces:?}"
                );
            }
        }
    }
}

/// A match that refers to what lies before the beginning of the stream.
#[test]
fn matches_before_the_beginning_are_errors() {
    for decoder in DECODERS {
        let found = inflate(&[0x23, 0x02, 0x00, 0x54], Format::Raw, decoder, &[35]);
        assert!(
            matches!(found, Err(ErrorKind::Corrupt(_))),
            "{decoder:?}: {found:?}"
        );
    }
}

proptest! {
    #[test]
    fn decoders_agree_on_anything(input in proptest::collection::vec(any::<u8>(), 0..200), length in 0_usize..400) {
        for format in [Format::Zlib, Format::Gzip, Format::Raw] {
            let [fast, second] = DECODERS.map(|decoder| inflate(&input, format, decoder, &[length]));
            prop_assert_eq!(fast.is_ok(), second.is_ok(), "{:?} {:?}", fast, second);
            if let (Ok(fast), Ok(second)) = (fast, second) {
                prop_assert_eq!(fast, second);
            }
        }
    }
}

/// The outcome of a stream that was read in pieces.
#[derive(Debug, PartialEq)]
struct Outcome {
    content: Vec<u8>,
    produced: u64,
    /// The length of the stream in bytes, if it is intact.
    consumed: Option<usize>,
    kind: Option<ErrorKind>,
}

/// Content beyond this is not asked for.
const MOST: usize = if cfg!(miri) { 1 << 15 } else { 1 << 20 };

/// Reads a stream in pieces of these lengths, each into separate memory, over and over.
fn in_pieces(decoders: &mut Decoders, input: &[u8], decoder: Decoder, pieces: &[usize]) -> Outcome {
    outcome(
        begin(decoders, input, Format::Raw, decoder).unwrap(),
        pieces,
    )
}

fn outcome(mut inflate: Stream<'_>, pieces: &[usize]) -> Outcome {
    let mut content = Vec::new();
    for piece in pieces.iter().cycle() {
        let mut out = vec![0x55; *piece];
        match inflate.read(&mut out) {
            Ok(count) => {
                content.extend_from_slice(&out[..count]);
                if count < out.len() || content.len() > MOST {
                    let consumed = (count < out.len()).then(|| inflate.consumed());
                    return Outcome {
                        content,
                        produced: inflate.produced(),
                        consumed,
                        kind: None,
                    };
                }
            }
            Err(error) => {
                let produced = inflate.produced();
                let length = usize::try_from(produced).unwrap() - content.len();
                content.extend_from_slice(&out[..length]);
                return Outcome {
                    content,
                    produced,
                    consumed: None,
                    kind: Some(error.kind),
                };
            }
        }
    }
    unreachable!("there is a piece")
}

/// Lengths of pieces, of which a content takes a thousand or two at most.
fn random_pieces(random: &mut Random, content: usize) -> Vec<usize> {
    let most = if cfg!(miri) {
        400
    } else {
        [2, 20, 400, 3000, 70_000][random.below(5)]
    };
    let most = most.max(content / 1000);
    let mut pieces: Vec<_> = (0..1 + random.below(5))
        .map(|_| random.below(most))
        .collect();
    pieces.push(1 + random.below(most));
    pieces
}

/// Returns the result of zlib for a stream: its content, and the number of bytes of the input that it used.
fn zlib(input: &[u8], length: usize) -> Option<(Vec<u8>, usize)> {
    let mut out = vec![0; length];
    let mut inflate = zlib_rs::Inflate::new(false, 15);
    let status = inflate.decompress(input, &mut out, zlib_rs::InflateFlush::NoFlush);
    out.truncate(inflate.total_out() as usize);
    (status == Ok(zlib_rs::Status::StreamEnd)).then(|| (out, inflate.total_in() as usize))
}

/// Returns the number of streams that are tried: `MESHMAP_INFLATE_STREAMS`, or enough for every day. Millions are divided between
/// processes, each of which begins with stream `MESHMAP_INFLATE_FIRST`.
fn streams() -> u64 {
    let wanted = std::env::var("MESHMAP_INFLATE_STREAMS").ok();
    wanted
        .and_then(|wanted| wanted.parse().ok())
        .unwrap_or(if cfg!(miri) { 3 } else { 1000 })
}

#[test]
fn generated_streams_are_inflated_in_pieces_of_any_size() {
    let mut decoders = Decoders::default();
    for seed in 0..streams() {
        let random = &mut Random::new(seed);
        let (stream, content) = generator::stream(random);
        let expected = Outcome {
            produced: content.len() as u64,
            consumed: Some(stream.len()),
            content,
            kind: None,
        };
        let whole = in_pieces(
            &mut decoders,
            &stream,
            Decoder::Fast,
            &[expected.content.len() + 1],
        );
        assert!(
            whole == expected,
            "{seed}: {:?} {} {}",
            whole.kind,
            whole.produced,
            expected.produced
        );
        let pieces = random_pieces(random, expected.content.len());
        let parts = in_pieces(&mut decoders, &stream, Decoder::Fast, &pieces);
        assert!(
            parts == expected,
            "{seed} {pieces:?}: {:?} {}",
            parts.kind,
            parts.produced
        );
    }
}

/// Bytes, verdict, and what was used, of streams that are damaged; and the verdict of zlib.
#[test]
fn decoders_agree_on_damaged_streams() {
    let mut decoders = Decoders::default();
    let first = std::env::var("MESHMAP_INFLATE_FIRST").map_or(0, |first| first.parse().unwrap());
    for seed in first..first + streams() {
        let random = &mut Random::new(seed);
        let (mut stream, content) = generator::stream(random);
        generator::mutate(random, &mut stream);
        let pieces = random_pieces(random, content.len());
        let fast = in_pieces(&mut decoders, &stream, Decoder::Fast, &pieces);
        let second = in_pieces(&mut decoders, &stream, Decoder::Reference, &pieces);
        let about = || {
            format!(
                "{seed} {pieces:?}: {:?} {:?}",
                (fast.kind.clone(), fast.produced),
                (second.kind.clone(), second.produced)
            )
        };
        let lacks_end = fast.kind == Some(ErrorKind::Corrupt(table::NO_END));
        // The other one need not have come to what is wrong.
        let is_verdict_kept_back = lacks_end && second.content.len() > MOST;
        assert!(
            fast.kind.is_none() == second.kind.is_none() || is_verdict_kept_back,
            "{}",
            about()
        );
        assert_eq!(fast.consumed, second.consumed, "{}", about());
        let is_prefix = second.content.starts_with(&fast.content);
        assert!(
            if lacks_end {
                is_prefix
            } else {
                fast.content == second.content
            },
            "{}",
            about()
        );
        if fast.content.len() > MOST {
            continue;
        }
        let whole = in_pieces(
            &mut decoders,
            &stream,
            Decoder::Fast,
            &[fast.content.len() + 1],
        );
        assert!(
            (&whole.kind, &whole.content) == (&fast.kind, &fast.content),
            "{} {:?}",
            about(),
            whole.kind
        );
        let zlib = zlib(&stream, content.len().max(whole.content.len()) + 70_000);
        assert_eq!(zlib.is_some(), fast.kind.is_none(), "{}", about());
        if let Some((content, consumed)) = zlib {
            assert!(
                content == fast.content && Some(consumed) == fast.consumed,
                "{}",
                about()
            );
        }
    }
}

use std::sync::atomic::AtomicBool;

use super::coder::Bits;
use super::end::{End, fault};
use super::model::{Model, OtherLiterals};
use super::reference::lzma_rs;
use super::stream::Stream;
use crate::codec::{Decoder, Fault, FaultKind};

/// Refuses a length that no stream of `stored` bytes can have, before anything is allocated for it.
///
/// The longest match is of 273 bytes, and of 14 bits that take 0.022 of a bit each at least: LZMA makes at most 7,088
/// bytes of one.
pub(crate) fn check_length(decoded: u64, stored: u64) -> Result<(), Fault> {
    const RATIO: u64 = 8192;
    if decoded > stored.saturating_mul(RATIO) {
        return Err(fault(
            FaultKind::Corrupt("a decoded length that no stream of its size can have"),
            0,
        ));
    }
    Ok(())
}

/// The probabilities, kept from one stream to the next: their memory is allocated once.
#[derive(Default)]
pub(crate) struct Lzma {
    model: Option<Box<Model>>,
    others: OtherLiterals,
}

impl Lzma {
    /// Decodes until `out` is full.
    ///
    /// `properties` are the first byte of the header of an `.lzma` file and its dictionary size, which is not looked at.
    pub(crate) fn decode(
        &mut self,
        properties: [u8; 5],
        input: &[u8],
        out: &mut [u8],
        decoder: Decoder,
        cancel: Option<&AtomicBool>,
    ) -> Result<End, Fault> {
        let bits = Bits::new(properties[0]).map_err(|kind| fault(kind, 0))?;
        match input {
            [0, _, _, _, _, ..] => {}
            [0, ..] | [] => return Err(fault(FaultKind::Truncated, 0)),
            _ => return Err(fault(FaultKind::Corrupt("a first byte that is not 0"), 0)),
        }
        match decoder {
            Decoder::Reference if !cfg!(meshmap_small) => lzma_rs(bits, input, out, cancel),
            _ => self.fast(bits, input, out, cancel),
        }
    }

    fn fast(
        &mut self,
        bits: Bits,
        input: &[u8],
        out: &mut [u8],
        cancel: Option<&AtomicBool>,
    ) -> Result<End, Fault> {
        let model = self.model.get_or_insert_with(|| Box::new(Model::NEW));
        **model = Model::NEW;
        self.others.forget(if bits == Bits::USUAL {
            0
        } else {
            bits.contexts()
        });
        Stream::new(input, bits, model, &mut self.others).decode(out, cancel)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::atomic::Ordering;

    use lzma_rust2::{LzmaOptions, LzmaReader, LzmaWriter};
    use proptest::prelude::*;

    use super::*;

    const DECODERS: [Decoder; 2] = [Decoder::Fast, Decoder::Reference];
    /// lc = 3, lp = 0, pb = 2, as everybody writes; 64 KiB.
    const USUAL: [u8; 5] = [0x5d, 0, 0, 1, 0];

    fn encode_with(data: &[u8], properties: u8, has_end_marker: bool) -> Vec<u8> {
        let properties = u32::from(properties);
        let mut options = LzmaOptions::with_preset(1);
        options.dict_size = 1 << 16;
        (options.lc, options.lp, options.pb) =
            (properties % 9, properties / 9 % 5, properties / 45);
        let mut writer = LzmaWriter::new_no_header(Vec::new(), &options, has_end_marker).unwrap();
        writer.write_all(data).unwrap();
        writer.finish().unwrap()
    }

    fn encode(data: &[u8]) -> Vec<u8> {
        encode_with(data, USUAL[0], false)
    }

    fn decode_with(
        lzma: &mut Lzma,
        properties: u8,
        input: &[u8],
        length: usize,
        decoder: Decoder,
    ) -> Result<(Vec<u8>, End), FaultKind> {
        let mut out = vec![0xaa; length];
        let end = lzma.decode([properties, 0, 0, 0, 0], input, &mut out, decoder, None);
        end.map(|end| (out, end)).map_err(|fault| fault.kind)
    }

    fn decode(input: &[u8], length: usize, decoder: Decoder) -> Result<(Vec<u8>, End), FaultKind> {
        decode_with(&mut Lzma::default(), USUAL[0], input, length, decoder)
    }

    /// A decoder of another family.
    fn lzma_rust2(properties: u8, input: &[u8], length: usize) -> Option<Vec<u8>> {
        let dictionary = length.max(4096) as u32;
        let mut reader =
            LzmaReader::new_with_props(input, length as u64, properties, dictionary, None).ok()?;
        let mut out = vec![0; length];
        reader.read_exact(&mut out).ok()?;
        Some(out)
    }

    /// Literals, runs of one byte and of more, and matches near and far.
    fn sample(length: usize) -> Vec<u8> {
        let mut noise = 1_u32;
        let mut data = Vec::new();
        while data.len() < length {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let count = noise as usize >> 8 & 31;
            match noise >> 28 {
                0..=3 => data.extend((noise >> 8).to_le_bytes()),
                4..=7 => data.extend((data.len() as f32).sin().to_le_bytes()),
                8 => data.extend(vec![(noise >> 16) as u8; count * 20]),
                9 => data.extend([1, 2, 3, 4, 5, 6, 7].iter().cycle().take(count * 10)),
                kind => {
                    let from = (data.len() * kind as usize / 17).saturating_sub(count);
                    let end = data.len().min(from + count);
                    data.extend_from_within(from..end);
                }
            }
        }
        data.truncate(length);
        data
    }

    #[test]
    fn known_stream_is_decoded() {
        // From the documentation of lzma-rust2, without header; it has an end marker.
        let stream = [
            0, 36, 25, 73, 152, 111, 22, 2, 140, 232, 230, 91, 177, 71, 198, 206, 183, 99, 255,
            255, 60, 172, 0, 0,
        ];
        assert_eq!(decode(&stream, 14, Decoder::Fast), Err(FaultKind::TooShort));
        for decoder in DECODERS {
            let (out, end) = decode(&stream, 13, decoder).unwrap();
            assert_eq!(out, b"Hello, world!");
            assert!(!end.is_clean);
            assert_eq!(decode(&stream, 12, decoder).unwrap().0, b"Hello, world");
            assert!(decode(&stream, 14, decoder).is_err());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn every_combination_of_context_bits_is_decoded() {
        let data = sample(6000);
        let mut kept = Lzma::default();
        for properties in 0..225 {
            let stream = encode_with(&data, properties, false);
            for decoder in DECODERS {
                let (out, end) =
                    decode_with(&mut kept, properties, &stream, data.len(), decoder).unwrap();
                assert!(out == data, "{properties} {decoder:?}");
                assert_eq!(
                    end,
                    End {
                        consumed: stream.len(),
                        is_clean: true
                    }
                );
            }
        }
        for properties in 225..=255 {
            for decoder in DECODERS {
                let found = decode_with(&mut kept, properties, &[0; 100], 10, decoder);
                assert!(matches!(found, Err(FaultKind::Corrupt(_))));
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn every_truncation_is_a_fault() {
        let data = sample(3000);
        let stream = encode(&data);
        for decoder in DECODERS {
            for length in 0..stream.len() {
                assert_eq!(
                    decode(&stream[..length], data.len(), decoder),
                    Err(FaultKind::Truncated),
                    "{length}"
                );
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn every_shorter_output_is_the_beginning_of_the_whole() {
        let data = sample(3000);
        let stream = encode(&data);
        for decoder in DECODERS {
            for length in 0..data.len() {
                let (out, end) = decode(&stream, length, decoder).unwrap();
                assert!(
                    out == data[..length] && end.consumed <= stream.len(),
                    "{length}"
                );
            }
            assert!(!decode(&stream, 1000, decoder).unwrap().1.is_clean);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn what_lies_behind_the_stream_is_ignored_and_not_clean() {
        let data = sample(3000);
        let marked = encode_with(&data, USUAL[0], true);
        let mut padded = encode(&data);
        let used = padded.len();
        padded.extend([1, 2, 3]);
        for decoder in DECODERS {
            let (out, end) = decode(&marked, data.len(), decoder).unwrap();
            assert!(out == data && !end.is_clean);
            let (out, end) = decode(&padded, data.len(), decoder).unwrap();
            assert!(
                out == data
                    && end
                        == End {
                            consumed: used,
                            is_clean: false
                        }
            );
            assert!(decode(&marked, data.len() + 1, decoder).is_err());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn matches_beyond_the_output_are_cut_and_not_clean() {
        let data = [7; 100];
        let stream = encode(&data);
        for length in [98, 99] {
            let (out, end) = decode(&stream, length, Decoder::Fast).unwrap();
            assert!(out == data[..length] && !end.is_clean, "{length}");
        }
        assert!(decode(&stream, 100, Decoder::Fast).unwrap().1.is_clean);
    }

    #[test]
    fn streams_begin_with_zero_and_have_five_bytes() {
        for decoder in DECODERS {
            for length in 0..5 {
                assert_eq!(
                    decode(&[0; 5][..length], 0, decoder),
                    Err(FaultKind::Truncated)
                );
            }
            let clean = End {
                consumed: 5,
                is_clean: true,
            };
            assert_eq!(decode(&[0; 5], 0, decoder), Ok((Vec::new(), clean)));
            assert!(matches!(
                decode(&[1, 0, 0, 0, 0, 0], 1, decoder),
                Err(FaultKind::Corrupt(_))
            ));
            // Bits that are all 0: literals of value 0, until the range is used up.
            assert_eq!(decode(&[0; 9], 3, decoder).unwrap().0, [0; 3]);
            assert_eq!(decode(&[0; 9], 1000, decoder), Err(FaultKind::Truncated));
        }
    }

    /// The first symbol is a match. What it repeats is known when six bytes have been read.
    #[test]
    fn faults_that_need_bytes_after_the_end_are_truncations() {
        let stream = [0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for decoder in DECODERS {
            let found: Vec<_> = (0..=stream.len())
                .map(|end| decode(&stream[..end], 10, decoder))
                .collect();
            let is_cut = |found: &Result<_, _>| *found == Err(FaultKind::Truncated);
            let cut = found.iter().take_while(|found| is_cut(found)).count();
            assert_eq!(cut, 6, "{decoder:?}");
            assert!(
                found[cut..]
                    .iter()
                    .all(|found| matches!(found, Err(FaultKind::Corrupt(_)))),
                "{found:?}"
            );
        }
    }

    #[test]
    fn distances_before_the_beginning_are_faults() {
        for decoder in DECODERS {
            let found = decode(&[0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0], 10, decoder);
            assert!(
                matches!(found, Err(FaultKind::Corrupt(_))),
                "{decoder:?}: {found:?}"
            );
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn nothing_expands_more_than_the_bound() {
        let zeros = vec![0; 4 << 20];
        let stream = encode(&zeros);
        assert!(check_length(zeros.len() as u64, stream.len() as u64).is_ok());
        assert!(check_length(8193, 1).is_err() && check_length(u64::MAX, u64::MAX).is_ok());
        for decoder in DECODERS {
            assert!(decode(&stream, zeros.len(), decoder).unwrap().0 == zeros);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn streams_leave_no_trace_in_what_is_kept() {
        let short = sample(100);
        let long = sample(20_000);
        let mut kept = Lzma::default();
        for round in 0..60_usize {
            // These have 4096, 8, 16, 2 and 512 contexts.
            let properties = [8 + 4 * 9, 0x5d, 4, 1, 5 + 4 * 9][round % 5];
            let data = if round % 3 == 0 { &long } else { &short };
            let mut stream = encode_with(data, properties, false);
            assert!(
                decode_with(&mut kept, properties, &stream, data.len(), Decoder::Fast)
                    .unwrap()
                    .0
                    == *data
            );
            let place = stream.len() * (round % 7) / 8 + 1;
            stream[place] ^= 0x55;
            let damaged = [&mut kept, &mut Lzma::default()]
                .map(|lzma| decode_with(lzma, properties, &stream, data.len(), Decoder::Fast));
            assert_eq!(damaged[0], damaged[1]);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn decoders_agree_on_every_changed_byte() {
        let data = sample(600);
        let stream = encode(&data);
        for place in 0..stream.len() {
            for change in 1..=255 {
                let mut damaged = stream.clone();
                damaged[place] ^= change;
                agree(USUAL[0], &damaged, data.len()).unwrap();
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn cancelled_streams_stop() {
        let data = sample(200_000);
        let stream = encode(&data);
        for decoder in DECODERS {
            let cancel = AtomicBool::new(false);
            let mut out = vec![0; data.len()];
            let mut decode =
                || Lzma::default().decode(USUAL, &stream, &mut out, decoder, Some(&cancel));
            decode().unwrap();
            cancel.store(true, Ordering::Relaxed);
            assert_eq!(decode().unwrap_err().kind, FaultKind::Cancelled);
        }
    }

    /// The three decoders make the same of a stream; lzma-rust2, which refuses more, wherever it makes anything.
    fn agree(properties: u8, stream: &[u8], length: usize) -> Result<(), TestCaseError> {
        let [fast, second] = DECODERS
            .map(|decoder| decode_with(&mut Lzma::default(), properties, stream, length, decoder));
        match (&fast, &second) {
            (Ok((fast, end)), Ok((second, other_end))) => {
                prop_assert!(fast == second);
                prop_assert_eq!(end.consumed, other_end.consumed);
                prop_assert!(other_end.is_clean || !end.is_clean);
            }
            (fast, second) => {
                prop_assert!(fast.is_err() && second.is_err(), "{:?} {:?}", fast, second)
            }
        }
        let third = lzma_rust2(properties, stream, length);
        match (&fast, &third) {
            (Ok((fast, _)), Some(third)) => prop_assert!(fast == third),
            (Ok((_, end)), None) => prop_assert!(!end.is_clean),
            (fast, third) => prop_assert!(third.is_none(), "{:?}", fast),
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn decoders_agree_on_anything(
            rest in proptest::collection::vec(any::<u8>(), 0..200),
            // Miri takes minutes to set up the tables of some.
            properties in 0_u8..if cfg!(miri) { 3 } else { 225 },
            length in 0_usize..if cfg!(miri) { 200 } else { 2000 },
        ) {
            agree(properties, &[&[0], &rest[..]].concat(), length)?;
        }

        #[test]
        #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
        fn decoders_agree_on_encoded_data(
            pieces in proptest::collection::vec((0_usize..4000, 1_usize..300), 0..20),
            properties in 0_u8..225,
            has_end_marker: bool,
            change in any::<Option<(prop::sample::Index, u8)>>(),
        ) {
            let samples = sample(4400);
            let data: Vec<u8> =
                pieces.iter().flat_map(|(start, length)| samples[*start..start + length].to_vec()).collect();
            let mut stream = encode_with(&data, properties, has_end_marker);
            match change {
                Some((place, change)) => {
                    let place = place.index(stream.len());
                    stream[place] ^= change;
                }
                None => {
                    let found = decode_with(&mut Lzma::default(), properties, &stream, data.len(), Decoder::Fast);
                    prop_assert!(found.unwrap().0 == data);
                }
            }
            agree(properties, &stream, data.len())?;
        }
    }
}

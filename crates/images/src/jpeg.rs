//! The frame of a JPEG, read before its decoder allocates anything.

use std::io::{BufRead, Seek};

use crate::error::DecodeError;

/// The first frame and scan of a JPEG.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The sampling factors of the components, horizontal and vertical.
    sampling: Vec<[u64; 2]>,
    /// `true` if all coefficients are kept until the last scan: in progressive files, and if a scan has only some of the
    /// components.
    keeps_coefficients: bool,
}

impl Frame {
    /// Reads the segments before the first scan, each of which has its length.
    pub(crate) fn read(mut file: impl BufRead + Seek) -> Result<Self, DecodeError> {
        let [first, second] = read(&mut file)?;
        if [first, second] != [0xFF, 0xD8] {
            return Err(DecodeError::damaged("expected the start of a JPEG"));
        }
        let mut frame = None;
        loop {
            let [prefix, mut marker] = read(&mut file)?;
            if prefix != 0xFF {
                return Err(DecodeError::damaged("expected a marker"));
            }
            // A marker may begin with any number of these bytes.
            while marker == 0xFF {
                [marker] = read(&mut file)?;
            }
            let length = u16::from_be_bytes(read(&mut file)?);
            let Some(length) = length.checked_sub(2) else {
                return Err(DecodeError::damaged("a segment that is too short"));
            };
            match marker {
                // Baseline, extended and progressive, with Huffman codes.
                0xC0..=0xC2 if frame.is_none() => {
                    let mut segment = vec![0; usize::from(length)];
                    file.read_exact(&mut segment)?;
                    frame = Some(Self::of_segment(&segment, marker == 0xC2)?);
                }
                0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                    let what = "a JPEG that is lossless, hierarchical or of arithmetic codes";
                    return Err(DecodeError::Unsupported(what.to_owned()));
                }
                0xDA => {
                    let [count] = read(&mut file)?;
                    let mut frame = frame.ok_or(DecodeError::damaged("a scan without a frame"))?;
                    frame.keeps_coefficients |= usize::from(count) < frame.sampling.len();
                    return Ok(frame);
                }
                _ => file.seek_relative(i64::from(length))?,
            }
        }
    }

    fn of_segment(segment: &[u8], is_progressive: bool) -> Result<Self, DecodeError> {
        let damaged = || DecodeError::damaged("a frame that is not valid");
        let [
            _,
            height_high,
            height_low,
            width_high,
            width_low,
            count,
            components @ ..,
        ] = segment
        else {
            return Err(damaged());
        };
        let (components, rest) = components.as_chunks::<3>();
        if components.len() != usize::from(*count) || !rest.is_empty() {
            return Err(damaged());
        }
        if !matches!(count, 1 | 3 | 4) {
            let what = format!("a JPEG of {count} components");
            return Err(DecodeError::Unsupported(what));
        }
        let mut sampling = Vec::new();
        for [_, factors, _] in components {
            let factors = [u64::from(factors >> 4), u64::from(factors & 15)];
            if factors.iter().any(|factor| !(1..=4).contains(factor)) {
                return Err(damaged());
            }
            sampling.push(factors);
        }
        Ok(Self {
            width: u16::from_be_bytes([*width_high, *width_low]).into(),
            height: u16::from_be_bytes([*height_high, *height_low]).into(),
            sampling,
            keeps_coefficients: is_progressive,
        })
    }

    pub(crate) fn is_grey(&self) -> bool {
        self.sampling.len() == 1
    }

    /// The memory that the decoder needs, without the file and the pixels.
    pub(crate) fn needed_bytes(&self) -> u64 {
        let mut most_across = 1;
        let mut most_down = 1;
        for [across, down] in &self.sampling {
            most_across = most_across.max(*across);
            most_down = most_down.max(*down);
        }
        let units_across = u64::from(self.width).div_ceil(8 * most_across);
        let units_down = u64::from(self.height).div_ceil(8 * most_down);
        // Rows of coefficients and of samples, also of samples that are enlarged to the size of the image.
        let samples = most_across * most_down;
        let row = units_across
            * 8
            * most_across
            * (20 * most_down + 4 * samples * most_down + 32 * samples + 64);
        let mut needed = row * self.sampling.len() as u64;
        if self.keeps_coefficients {
            for [across, down] in &self.sampling {
                needed += units_across * units_down * across * down * 64 * 2;
            }
        }
        needed
    }
}

fn read<const COUNT: usize>(file: &mut impl BufRead) -> Result<[u8; COUNT], DecodeError> {
    let mut bytes = [0; COUNT];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn frame(marker: u8, components: &[u8], scan: u8) -> Result<Frame, DecodeError> {
        let mut file = vec![
            0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0xFF, 0xDA, 0xFF, 0xFF, marker, 0,
        ];
        file.push(8 + components.len() as u8);
        file.extend([8, 0, 16, 0, 32, components.len() as u8 / 3]);
        file.extend(components);
        file.extend([0xFF, 0xDA, 0, 8, scan]);
        Frame::read(Cursor::new(file))
    }

    #[test]
    fn the_frame_shows_what_the_decoder_needs() {
        let grey = frame(0xC0, &[1, 0x11, 0], 1).unwrap();
        assert_eq!((grey.width, grey.height), (32, 16));
        assert!(grey.is_grey() && !grey.keeps_coefficients);
        let colors = [1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0];
        let baseline = frame(0xC0, &colors, 3).unwrap().needed_bytes();
        let progressive = frame(0xC2, &colors, 3).unwrap().needed_bytes();
        let in_parts = frame(0xC0, &colors, 1).unwrap().needed_bytes();
        // Two bytes for a sample: four of the first component for one of each other.
        assert_eq!(progressive - baseline, 32 * 16 * 2 * 6 / 4);
        assert_eq!(progressive, in_parts);
    }

    #[test]
    fn frames_that_are_not_valid_are_refused() {
        for (marker, components) in [
            (0xC0, &[1, 0x01, 0][..]),
            (0xC0, &[1, 0x51, 0]),
            (0xC0, &[1, 0x11]),
            (0xC0, &[1, 0x11, 0, 2, 0x11, 0]),
            (0xC9, &[1, 0x11, 0]),
            (0xC3, &[1, 0x11, 0]),
        ] {
            assert!(
                frame(marker, components, 1).is_err(),
                "{marker} {components:?}"
            );
        }
        for file in [
            &b"\xFF\xD8"[..],
            b"\xFF\xD8\xFF\xDA\0\x08\x01",
            b"\xFF\xD8\xFF\xE0\0\x01",
        ] {
            assert!(Frame::read(Cursor::new(file)).is_err());
        }
    }
}

//! The data around a deflate stream: the headers of zlib and gzip, and the checksums after it.

#[cfg(not(meshmap_small))]
use crc32fast::Hasher as Crc;

#[cfg(meshmap_small)]
use super::small_crc::Crc;
use crate::error::ErrorKind;

/// The length of the trailer of a stream in a gzip file: a checksum and the length of its content.
pub(super) const GZIP_TRAILER: usize = 8;
const ZLIB_TRAILER: usize = 4;

/// The kind of data that follows a stream.
pub(super) enum Checksum {
    None,
    /// Bytes that are not checked, and may be missing.
    Ignored(usize),
    Adler32(simd_adler32::Adler32),
    Gzip {
        crc: Crc,
        length: u32,
        /// The problem with the checksum of the header.
        header: Option<ErrorKind>,
    },
}

/// The data that was found after a stream.
pub(super) struct Trailer {
    /// The length of the data.
    pub(super) length: usize,
    pub(super) result: Result<(), ErrorKind>,
}

impl Checksum {
    /// The same trailer, not checked.
    pub(super) fn ignored(&self) -> Self {
        match self {
            Self::None => Self::None,
            Self::Ignored(length) => Self::Ignored(*length),
            Self::Adler32(_) => Self::Ignored(ZLIB_TRAILER),
            Self::Gzip { .. } => Self::Ignored(GZIP_TRAILER),
        }
    }

    pub(super) fn update(&mut self, content: &[u8]) {
        match self {
            Self::None | Self::Ignored(_) => {}
            Self::Adler32(adler) => adler.write(content),
            Self::Gzip { crc, length, .. } => {
                crc.update(content);
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "gzip stores the length modulo 2^32"
                )]
                let more = content.len() as u32;
                *length = length.wrapping_add(more);
            }
        }
    }

    /// Compares this with the bytes after the stream.
    pub(super) fn compare(&self, trailer: &[u8]) -> Trailer {
        match self {
            Self::None => Trailer {
                length: 0,
                result: Ok(()),
            },
            Self::Ignored(length) => Trailer {
                length: trailer.len().min(*length),
                result: Ok(()),
            },
            Self::Adler32(adler) => Trailer {
                length: ZLIB_TRAILER,
                result: compare_adler32(adler, trailer),
            },
            Self::Gzip {
                crc,
                length,
                header,
            } => Trailer {
                length: GZIP_TRAILER,
                result: compare_gzip(crc, *length, header.as_ref(), trailer),
            },
        }
    }
}

fn compare_adler32(adler: &simd_adler32::Adler32, trailer: &[u8]) -> Result<(), ErrorKind> {
    let Some(stored) = trailer.first_chunk() else {
        return Err(ErrorKind::Truncated);
    };
    compare(u32::from_be_bytes(*stored), adler.finish())
}

fn compare_gzip(
    crc: &Crc,
    length: u32,
    header: Option<&ErrorKind>,
    trailer: &[u8],
) -> Result<(), ErrorKind> {
    let Some((stored, rest)) = trailer.split_first_chunk() else {
        return Err(ErrorKind::Truncated);
    };
    let Some(stored_length) = rest.first_chunk() else {
        return Err(ErrorKind::Truncated);
    };
    if let Some(kind) = header {
        return Err(kind.clone());
    }
    compare(u32::from_le_bytes(*stored), crc.clone().finalize())?;
    if u32::from_le_bytes(*stored_length) != length {
        return Err(ErrorKind::Corrupt("another length in the gzip trailer"));
    }
    Ok(())
}

fn compare(stored: u32, computed: u32) -> Result<(), ErrorKind> {
    if stored == computed {
        Ok(())
    } else {
        Err(ErrorKind::Checksum { stored, computed })
    }
}

/// The length of a zlib header (RFC 1950, section 2.2), which must not ask for a dictionary.
pub(super) fn zlib_header(input: &[u8]) -> Result<(usize, Checksum), ErrorKind> {
    const DEFLATE: u8 = 8;
    const FDICT: u8 = 0x20;
    let Some([cmf, flg]) = input.first_chunk::<2>() else {
        return Err(ErrorKind::Truncated);
    };
    let check = u16::from_be_bytes([*cmf, *flg]);
    if cmf & 0x0f != DEFLATE || cmf >> 4 > 7 || !check.is_multiple_of(31) {
        return Err(ErrorKind::Corrupt("no zlib header"));
    }
    if flg & FDICT != 0 {
        return Err(ErrorKind::Corrupt(
            "a header that asks for a preset dictionary",
        ));
    }
    Ok((2, Checksum::Adler32(simd_adler32::Adler32::new())))
}

/// Returns `true` if a member of a gzip file begins here.
pub(super) fn is_member(input: &[u8]) -> bool {
    input.starts_with(&[0x1f, 0x8b])
}

/// The length of a gzip header (RFC 1952, section 2.3).
pub(super) fn gzip_header(input: &[u8]) -> Result<(usize, Checksum), ErrorKind> {
    const FHCRC: u8 = 2;
    const FEXTRA: u8 = 4;
    const FNAME: u8 = 8;
    const FCOMMENT: u8 = 16;
    const RESERVED: u8 = 0xe0;
    let Some([0x1f, 0x8b, method, flags, ..]) = input.first_chunk::<10>() else {
        return Err(if input.len() < 10 {
            ErrorKind::Truncated
        } else {
            ErrorKind::Corrupt("no gzip header")
        });
    };
    if *method != 8 || flags & RESERVED != 0 {
        return Err(ErrorKind::Corrupt("no gzip header"));
    }
    let mut at = 10_usize;
    if flags & FEXTRA != 0 {
        let length = read_u16(input, at)?;
        at = at.saturating_add(2).saturating_add(length.into());
    }
    for flag in [FNAME, FCOMMENT] {
        if flags & flag != 0 {
            // A text, which ends with a NUL.
            let rest = input.get(at..).unwrap_or_default();
            let Some(end) = rest.iter().position(|byte| *byte == 0) else {
                return Err(ErrorKind::Truncated);
            };
            at = at.saturating_add(end).saturating_add(1);
        }
    }
    let mut header = None;
    if flags & FHCRC != 0 {
        let stored = u32::from(read_u16(input, at)?);
        let mut crc = Crc::new();
        crc.update(input.get(..at).unwrap_or_default());
        let computed = crc.finalize() & 0xffff;
        header = compare(stored, computed).err();
        at = at.saturating_add(2);
    }
    if at > input.len() {
        return Err(ErrorKind::Truncated);
    }
    let checksum = Checksum::Gzip {
        crc: Crc::new(),
        length: 0,
        header,
    };
    Ok((at, checksum))
}

fn read_u16(input: &[u8], at: usize) -> Result<u16, ErrorKind> {
    let rest = input.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(bytes) => Ok(u16::from_le_bytes(*bytes)),
        None => Err(ErrorKind::Truncated),
    }
}

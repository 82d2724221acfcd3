use zerocopy::FromZeros;

use crate::error::decimal;
use crate::{Error, ErrorKind, Result};

/// How files are read; given once, when opening.
///
/// # Examples
///
/// ```
/// use meshmap::{MeshFile, Options, Strictness};
///
/// let options = Options::default().with_strictness(Strictness::Strict);
/// let file = MeshFile::open_with("tests/data/iqm/valid/skin_scale_nonuniform.iqm", &options)?;
/// assert!(file.findings().is_empty());
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How much memory may be taken.
    pub limits: Limits,
    /// What happens to files that deviate from the specification.
    pub strictness: Strictness,
    /// Whether work is spread over threads.
    pub parallelism: Parallelism,
    /// Which decoders are used.
    pub decoder: Decoder,
    /// Whether the checksums of compressed streams are compared.
    pub checksums: Checksums,
}

impl Options {
    /// These options, with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// These options, with another strictness.
    #[must_use]
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// These options, with or without threads.
    #[must_use]
    pub fn with_parallelism(mut self, parallelism: Parallelism) -> Self {
        self.parallelism = parallelism;
        self
    }

    /// These options, with other decoders.
    #[must_use]
    pub fn with_decoder(mut self, decoder: Decoder) -> Self {
        self.decoder = decoder;
        self
    }

    /// These options, with another regard for checksums.
    #[must_use]
    pub fn with_checksums(mut self, checksums: Checksums) -> Self {
        self.checksums = checksums;
        self
    }
}

/// What is done about the checksum behind a zlib or gzip stream.
///
/// Some writers of Second Life meshes leave it out or get it wrong, and some readers never look at it. Whatever is read
/// without it may be damaged: only what cannot be a stream at all is then an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checksums {
    /// One that is wrong or missing is an error.
    #[default]
    Verify,
    /// They are not looked at. (To find out the dialect of a CGeo file, they still are.)
    Ignore,
}

/// Which of the two decoders of each codec is used. They give the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decoder {
    /// The faster one: deflate by zlib-rs (with the feature of that name; else miniz_oxide), LZMA by this library's own.
    #[default]
    Fast,
    /// The other one, for checking: deflate by miniz_oxide, LZMA by lzma-rs.
    SecondOpinion,
}

/// What happens to a file that deviates from its specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strictness {
    /// Deviations that can be read are read, and listed as [`Finding`](crate::Finding)s.
    #[default]
    Tolerant,
    /// Opening checks every value and refuses whatever the specification's text forbids.
    Strict,
}

/// Whether work is spread over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parallelism {
    /// Everything runs on the calling thread.
    Off,
    /// Large jobs are split over the rayon pool of the caller (the global one outside of any). The library never
    /// makes a pool. Without the feature `rayon` this is the same as [`Off`](Self::Off). Results never depend on it.
    #[default]
    Rayon,
}

/// How much memory may be taken because a file says so.
///
/// What lies in the file is never counted: a view costs nothing, and a lazily read range is no longer than the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest array or block that is decoded in one piece, in bytes. 512 MiB by default.
    pub max_block_bytes: u64,
    /// The most that one call decodes, in bytes, where it decodes several blocks. 1 GiB by default.
    pub max_total_bytes: u64,
    /// How deep structures may be nested in each other, in formats that nest them (LLSD). 96 by default; a reader may
    /// have a limit of its own beyond that.
    pub max_depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_block_bytes: 512 << 20, max_total_bytes: 1 << 30, max_depth: 96 }
    }
}

impl Limits {
    /// These limits, with another bound on one decoded array, in bytes.
    #[must_use]
    pub fn with_max_block_bytes(mut self, bytes: u64) -> Self {
        self.max_block_bytes = bytes;
        self
    }

    /// These limits, with another bound on what one call decodes, in bytes.
    #[must_use]
    pub fn with_max_total_bytes(mut self, bytes: u64) -> Self {
        self.max_total_bytes = bytes;
        self
    }

    /// These limits, with another bound on how deep structures are nested.
    #[must_use]
    pub fn with_max_depth(mut self, depth: u32) -> Self {
        self.max_depth = depth;
        self
    }

    /// Zeroed elements, by a count that came from a file.
    ///
    /// The only way in this library to allocate by such a count. The pages are fresh ones of the system, so that
    /// what is never written is never paid for.
    pub(crate) fn vec<T: FromZeros>(&self, count: u64, what: &'static str) -> Result<Vec<T>> {
        let too_much = |found: String| {
            Error::new(ErrorKind::LimitExceeded, what)
                .expected(format!("at most {} bytes (max_block_bytes)", decimal(self.max_block_bytes)))
                .found(found)
        };
        let size = u64::try_from(size_of::<T>()).unwrap_or(u64::MAX);
        let Some(bytes) = count.checked_mul(size) else {
            return Err(too_much(format!("{} elements of {size} bytes", decimal(count))));
        };
        if bytes > self.max_block_bytes.min(self.max_total_bytes) {
            return Err(too_much(decimal(bytes)));
        }
        let unavailable = |_| too_much(format!("{}, which this machine does not have", decimal(bytes)));
        let length = usize::try_from(count).map_err(|_| too_much(decimal(bytes)))?;
        T::new_vec_zeroed(length).map_err(unavailable)
    }

    /// Makes a vector as long as a count says, without filling what is there or comes zeroed from the system.
    pub(crate) fn resize<T: FromZeros + Clone>(
        &self,
        out: &mut Vec<T>,
        count: u64,
        what: &'static str,
    ) -> Result<()> {
        match usize::try_from(count) {
            Ok(length) if length <= out.capacity() => out.resize(length, T::new_zeroed()),
            _ => {
                // The old memory goes first, so that never both are held.
                *out = Vec::new();
                *out = self.vec(count, what)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vec_refuses_what_is_over_the_limit_and_what_overflows() {
        let limits = Limits::default().with_max_block_bytes(64);
        assert_eq!(limits.vec::<u32>(16, "x").unwrap(), [0; 16]);
        for count in [17, u64::MAX / 4, u64::MAX] {
            assert_eq!(limits.vec::<u32>(count, "x").unwrap_err().kind(), ErrorKind::LimitExceeded);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends the program where memory runs out")]
    fn vec_that_the_machine_cannot_give_is_an_error() {
        let limits = Limits::default().with_max_block_bytes(u64::MAX);
        assert_eq!(limits.vec::<u64>(1 << 59, "x").unwrap_err().kind(), ErrorKind::LimitExceeded);
    }
}

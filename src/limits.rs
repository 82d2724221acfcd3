use zerocopy::FromZeros;

use crate::num::decimal;
use crate::report::{Error, ErrorKind, Result};

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

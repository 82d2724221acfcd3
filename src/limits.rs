use zerocopy::FromZeros;

use crate::num::{as_u64, as_usize, decimal, size_u64};
use crate::report::{Error, ErrorKind, Result};

/// How much memory a file may make the library take.
///
/// Bytes of the file itself are not counted: a view costs nothing, and a range that is read is no longer than the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The size in bytes of the largest decoded array or block. 512 MiB by default.
    pub max_block_bytes: u64,
    /// The most bytes that one call decodes, all blocks together. 1 GiB by default.
    pub max_total_bytes: u64,
    /// How deep containers may be nested, in formats that nest them (LLSD). 96 by default, and never more than 256.
    pub max_depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_block_bytes: 512 << 20, max_total_bytes: 1 << 30, max_depth: 96 }
    }
}

impl Limits {
    /// Sets [`max_block_bytes`](Self::max_block_bytes).
    #[must_use]
    pub fn with_max_block_bytes(mut self, bytes: u64) -> Self {
        self.max_block_bytes = bytes;
        self
    }

    /// Sets [`max_total_bytes`](Self::max_total_bytes).
    #[must_use]
    pub fn with_max_total_bytes(mut self, bytes: u64) -> Self {
        self.max_total_bytes = bytes;
        self
    }

    /// Sets [`max_depth`](Self::max_depth).
    #[must_use]
    pub fn with_max_depth(mut self, depth: u32) -> Self {
        self.max_depth = depth;
        self
    }
}

/// What one call may still take of memory by numbers from a file.
///
/// Made of [`Limits`] when a call begins. It is the only way in this library to allocate by such a number, and it is
/// spent before memory is taken.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    limits: Limits,
    spent: u64,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { limits: *limits, spent: 0 }
    }

    /// The size of the largest block that may still be taken.
    pub(crate) fn largest(&self) -> u64 {
        self.limits.max_total_bytes.saturating_sub(self.spent).min(self.limits.max_block_bytes)
    }

    /// Spends the bytes of one block or array.
    pub(crate) fn spend(&mut self, bytes: u64, what: &'static str) -> Result<()> {
        if bytes > self.largest() {
            return Err(self.exceeded(bytes, what));
        }
        self.spent = self.spent.saturating_add(bytes);
        Ok(())
    }

    /// Spends the bytes of several blocks, none of which is larger than a block may be.
    pub(crate) fn spend_all(&mut self, bytes: u64, what: &'static str) -> Result<()> {
        let spent = self.spent.saturating_add(bytes);
        if spent > self.limits.max_total_bytes {
            return Err(
                over_limit(what, "max_total_bytes", self.limits.max_total_bytes).found(decimal(spent))
            );
        }
        self.spent = spent;
        Ok(())
    }

    /// The error of a block that is larger than what may be taken.
    pub(crate) fn exceeded(&self, bytes: u64, what: &'static str) -> Error {
        let Limits { max_block_bytes, max_total_bytes, .. } = self.limits;
        if bytes > max_block_bytes {
            return over_limit(what, "max_block_bytes", max_block_bytes).found(decimal(bytes));
        }
        over_limit(what, "max_total_bytes", max_total_bytes).found(decimal(self.spent.saturating_add(bytes)))
    }

    /// Zeroed elements. Their pages are fresh ones of the system: what is never written costs nothing.
    pub(crate) fn vec<T: FromZeros>(&mut self, count: u64, what: &'static str) -> Result<Vec<T>> {
        let bytes = count.saturating_mul(size_u64::<T>());
        self.spend(bytes, what)?;
        let unavailable = |_| self.exceeded_by_machine(bytes, what);
        T::new_vec_zeroed(as_usize(count)).map_err(unavailable)
    }

    /// Makes a vector this long. Its elements may be old ones or zero: they are to be overwritten.
    pub(crate) fn resize<T: FromZeros + Clone>(
        &mut self,
        out: &mut Vec<T>,
        count: u64,
        what: &'static str,
    ) -> Result<()> {
        if count <= as_u64(out.capacity()) {
            self.spend(count.saturating_mul(size_u64::<T>()), what)?;
            out.resize(as_usize(count), T::new_zeroed());
        } else {
            // The old memory goes first, so that never both are held.
            *out = Vec::new();
            *out = self.vec(count, what)?;
        }
        Ok(())
    }

    /// The error of memory that the limits allow and the machine does not have.
    pub(crate) fn exceeded_by_machine(&self, bytes: u64, what: &'static str) -> Error {
        over_limit(what, "max_block_bytes", self.limits.max_block_bytes)
            .found(format_args!("{}, which this machine does not have", decimal(bytes)))
    }
}

fn over_limit(what: &'static str, limit: &str, most: u64) -> Error {
    Error::new(ErrorKind::LimitExceeded, what).expected(format!("at most {} bytes ({limit})", decimal(most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vec_refuses_what_is_over_the_limit_and_what_overflows() {
        let mut budget = Budget::new(&Limits::default().with_max_block_bytes(64));
        assert_eq!(budget.vec::<u32>(16, "x").unwrap(), [0; 16]);
        for count in [17, u64::MAX / 4, u64::MAX] {
            let error = budget.vec::<u32>(count, "x").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::LimitExceeded);
            assert_eq!(error.expected_text(), "at most 64 bytes (max_block_bytes)");
        }
    }

    #[test]
    fn blocks_together_are_at_most_the_total() {
        let mut budget = Budget::new(&Limits::default().with_max_total_bytes(100));
        budget.spend(60, "x").unwrap();
        let error = budget.spend(60, "x").unwrap_err();
        assert_eq!(error.expected_text(), "at most 100 bytes (max_total_bytes)");
        assert_eq!(error.found_text(), "120");
        assert_eq!(budget.largest(), 40);
        budget.spend(40, "x").unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends the program where memory runs out")]
    fn vec_that_the_machine_cannot_give_is_an_error() {
        let limits = Limits::default().with_max_block_bytes(u64::MAX).with_max_total_bytes(u64::MAX);
        let error = Budget::new(&limits).vec::<u64>(1 << 59, "x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }
}

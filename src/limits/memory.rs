//! Memory whose size is a number from a file: charged to a meter, then allocated.

use std::sync::Arc;

use zerocopy::FromZeros;

use super::job;
use super::meter::{Charge, Meter};
use super::settings::Limits;
use crate::num::{as_u64, as_usize, size_u64};
use crate::report::{Cause, Error, ErrorKind, Result};

/// Charges `bytes` for one array or block that occupies `stored` bytes in the file.
pub(crate) fn take_block<'a>(
    meter: &'a Meter<'_>,
    stored: u64,
    bytes: u64,
    what: &'static str,
) -> Result<Charge<'a>> {
    job::check(what)?;
    meter.check_block(stored, bytes, what)?;
    meter.take(bytes, what)
}

/// Returns zeroed elements for an array that occupies `stored` bytes in the file, charged until the meter is dropped. Their pages
/// are untouched pages of the system: what is never written costs nothing.
pub(crate) fn zeroed_vec<T: FromZeros>(
    meter: &Meter,
    stored: u64,
    count: u64,
    what: &'static str,
) -> Result<Vec<T>> {
    let bytes = count.saturating_mul(size_u64::<T>());
    take_block(meter, stored, bytes, what)?.keep();
    zeroed(count, what)
}

/// Empties a vector and reserves memory for the given count, charged until the meter is dropped.
pub(crate) fn reserve_vec<T>(
    meter: &Meter,
    out: &mut Vec<T>,
    stored: u64,
    count: u64,
    what: &'static str,
) -> Result<()> {
    let bytes = count.saturating_mul(size_u64::<T>());
    out.clear();
    take_block(meter, stored, bytes, what)?.keep();
    if count > as_u64(out.capacity()) {
        *out = Vec::new();
        out.try_reserve_exact(as_usize(count))
            .map_err(|_| exceeded_by_machine(bytes, what))?;
    }
    Ok(())
}

/// Resizes a vector to the given count, charged until the meter is dropped. Its elements may be old ones or zero: the caller
/// overwrites them.
pub(crate) fn resize_vec<T: FromZeros + Clone>(
    meter: &Meter,
    out: &mut Vec<T>,
    stored: u64,
    count: u64,
    what: &'static str,
) -> Result<()> {
    let bytes = count.saturating_mul(size_u64::<T>());
    take_block(meter, stored, bytes, what)?.keep();
    resize(out, count, what)
}

/// Allocates zeroed elements that are charged already.
pub(crate) fn zeroed<T: FromZeros>(count: u64, what: &'static str) -> Result<Vec<T>> {
    let elements = T::new_vec_zeroed(as_usize(count));
    elements.map_err(|_| exceeded_by_machine(count.saturating_mul(size_u64::<T>()), what))
}

/// Resizes a vector whose memory is charged already. Its elements may be old ones or zero: the caller overwrites them.
pub(crate) fn resize<T: FromZeros + Clone>(
    out: &mut Vec<T>,
    count: u64,
    what: &'static str,
) -> Result<()> {
    if count > as_u64(out.capacity()) {
        // The old memory is released first, so that never both are held.
        *out = Vec::new();
        *out = zeroed(count, what)?;
    } else {
        out.resize(as_usize(count), T::new_zeroed());
    }
    Ok(())
}

/// The error of memory that the limits allow and the machine does not have.
pub(crate) fn exceeded_by_machine(bytes: u64, what: &'static str) -> Error {
    Error::new(ErrorKind::LimitExceeded, what).because(Cause::OutOfMemory { needed: bytes })
}

/// The memory of decoded data that a file object keeps for later calls. It counts for no job. Clones are of the same file.
#[derive(Clone)]
pub(crate) struct FileMemory(Arc<Meter<'static>>);

impl FileMemory {
    /// For a file of `stored` bytes.
    pub(crate) fn new(limits: &Limits, stored: u64) -> Self {
        Self(Arc::new(Meter::of_file(limits, stored)))
    }

    /// Charges data of this size, if it may be kept as long as the file object exists; returns `true` if it may.
    pub(crate) fn admits(&self, bytes: u64) -> bool {
        match self.charge(bytes) {
            Some(charge) => {
                charge.keep();
                true
            }
            None => false,
        }
    }

    /// The bytes that may still be kept.
    #[cfg(feature = "rayon")]
    pub(crate) fn left(&self) -> u64 {
        self.0.left()
    }

    /// The charge of data that may be kept as long as the charge exists.
    pub(crate) fn charge(&self, bytes: u64) -> Option<Charge<'static>> {
        let mut charge = Charge::shared(&self.0);
        charge.try_grow(bytes).then_some(charge)
    }
}

use bytes::Bytes;

use crate::limits::{Charge, Meter, exceeded_by_machine, take_block, zeroed};
use crate::num::{as_u64, as_usize};
use crate::report::Result;

/// Memory for the output of a stream, which grows with it.
///
/// Its charge ends when the reservation is dropped, and stays if the memory becomes the result.
pub(super) struct Reservation<'a> {
    /// The memory, whose contents before a call are of no use.
    pub(super) bytes: Vec<u8>,
    pub(super) meter: &'a Meter<'a>,
    pub(super) charge: Charge<'a>,
}

impl<'a> Reservation<'a> {
    /// Reserves memory that the caller provides, for which nothing is charged yet.
    pub(super) fn new(bytes: Vec<u8>, meter: &'a Meter<'a>) -> Self {
        Self {
            bytes,
            meter,
            charge: Charge::nothing(meter),
        }
    }

    /// Charges the caller's memory, or drops it if that is too much.
    pub(super) fn adopt(&mut self) {
        if !self.charge.try_grow(as_u64(self.bytes.len())) {
            self.bytes = Vec::new();
        }
    }

    /// Grows to `length` bytes, and keeps the contents. Returns `false` if old and new memory do not fit at once.
    pub(super) fn grow(&mut self, length: u64, what: &'static str) -> Result<bool> {
        let old_length = as_u64(self.bytes.len());
        if old_length >= length {
            return Ok(true);
        }
        // The old memory is charged until its contents are copied.
        if !self.charge.try_grow(length) {
            return Ok(false);
        }
        if self.bytes.is_empty() {
            // Newly mapped pages of the system are zero already, and untouched pages cost nothing.
            self.bytes = zeroed(length, what)?;
        } else {
            let more = as_usize(length.saturating_sub(old_length));
            if self.bytes.try_reserve_exact(more).is_err() {
                return Err(exceeded_by_machine(length, what));
            }
            self.bytes.resize(as_usize(length), 0);
        }
        self.charge.shrink_to(length);
        Ok(true)
    }

    /// Makes the memory at least `length` bytes long, for a block that occupies `stored` bytes in the file. The contents are
    /// lost.
    pub(super) fn replace(&mut self, stored: u64, length: u64, what: &'static str) -> Result<()> {
        self.charge.shrink_to(0);
        match take_block(self.meter, stored, length, what) {
            Ok(charge) => self.charge = charge,
            Err(error) => {
                self.bytes = Vec::new();
                return Err(error);
            }
        }
        if as_u64(self.bytes.len()) < length {
            // Released before the new memory is allocated.
            self.bytes = Vec::new();
            self.bytes = zeroed(length, what)?;
        }
        Ok(())
    }

    /// Releases the memory beyond `length` bytes. Returns `false`, and leaves no memory, if old and new memory do not fit at once.
    pub(super) fn shrink(&mut self, length: usize) -> bool {
        let needed = as_u64(length);
        if self.charge.bytes() <= needed {
            return true;
        }
        // A smaller allocation may be a copy, which is charged until the larger one is released.
        if !self.charge.try_grow(needed) {
            self.bytes = Vec::new();
            self.charge.shrink_to(0);
            return false;
        }
        self.bytes.truncate(length);
        self.bytes.shrink_to_fit();
        self.charge.shrink_to(needed);
        true
    }

    /// The bytes, which stay charged.
    pub(super) fn into_bytes(self) -> Bytes {
        self.into_vec().into()
    }

    /// The memory, which its owner reuses, and which stays charged.
    pub(super) fn into_vec(self) -> Vec<u8> {
        self.charge.keep();
        self.bytes
    }
}

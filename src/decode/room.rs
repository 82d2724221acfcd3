use bytes::Bytes;
use zerocopy::FromZeros;

use crate::limits::{Charge, Meter, exceeded_by_machine};
use crate::num::{as_u64, as_usize};
use crate::report::Result;

/// Memory for the output of a stream, which grows with it.
///
/// The memory charged for it is released if it is dropped, and stays charged if it becomes the result.
pub(super) struct Room<'a> {
    /// All of it is room.
    pub(super) bytes: Vec<u8>,
    pub(super) meter: &'a Meter<'a>,
    pub(super) charge: Charge<'a>,
}

impl<'a> Room<'a> {
    /// Room in the memory of the caller, for which nothing is charged yet.
    pub(super) fn new(bytes: Vec<u8>, meter: &'a Meter<'a>) -> Self {
        Self {
            bytes,
            meter,
            charge: Charge::nothing(meter),
        }
    }

    /// Charges the memory that the caller provides, or drops it if that is too much.
    pub(super) fn adopt(&mut self) {
        if !self.charge.try_grow(as_u64(self.bytes.len())) {
            self.bytes = Vec::new();
        }
    }

    /// Grows to `length` bytes, and keeps the contents. Returns `false` if old and new memory do not fit at once.
    pub(super) fn grow(&mut self, length: u64, what: &'static str) -> Result<bool> {
        let there = as_u64(self.bytes.len());
        if there >= length {
            return Ok(true);
        }
        if !self.charge.try_grow(length) {
            return Ok(false);
        }
        let unavailable = || exceeded_by_machine(length, what);
        if self.bytes.is_empty() {
            // Newly mapped pages of the system are zero already, and untouched pages cost nothing.
            self.bytes = u8::new_vec_zeroed(as_usize(length)).map_err(|_| unavailable())?;
        } else {
            let more = as_usize(length.saturating_sub(there));
            self.bytes
                .try_reserve_exact(more)
                .map_err(|_| unavailable())?;
            self.bytes.resize(as_usize(length), 0);
        }
        self.charge.shrink_to(length);
        Ok(true)
    }

    /// Makes space for `length` bytes, of a block that occupies `stored` bytes in the file, in place of the contents.
    pub(super) fn take(&mut self, stored: u64, length: u64, what: &'static str) -> Result<()> {
        self.charge.shrink_to(0);
        self.charge = self
            .meter
            .take_block(stored, length, what)
            .inspect_err(|_| self.bytes = Vec::new())?;
        if as_u64(self.bytes.len()) < length {
            self.bytes = Vec::new();
            let bytes = u8::new_vec_zeroed(as_usize(length));
            self.bytes = bytes.map_err(|_| exceeded_by_machine(length, what))?;
        }
        Ok(())
    }

    /// Releases the memory beyond `length` bytes. Returns `false`, and leaves no memory, if old and new memory do not fit at once.
    pub(super) fn shrink(&mut self, length: usize) -> bool {
        let least = as_u64(length);
        if self.charge.bytes() > least {
            if !self.charge.try_grow(least) {
                self.bytes = Vec::new();
                self.charge.shrink_to(0);
                return false;
            }
            self.bytes.truncate(length);
            self.bytes.shrink_to_fit();
            self.charge.shrink_to(least);
        }
        true
    }

    /// The bytes, which stay charged.
    pub(super) fn into_bytes(self) -> Bytes {
        self.into_vec().into()
    }

    /// The memory, which its owner uses again, and which stays charged.
    pub(super) fn into_vec(self) -> Vec<u8> {
        self.charge.keep();
        self.bytes
    }
}

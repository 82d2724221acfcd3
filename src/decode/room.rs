use bytes::Bytes;
use zerocopy::FromZeros;

use crate::limits::{Budget, exceeded_by_machine};
use crate::num::{as_u64, as_usize};
use crate::report::Result;

/// Memory for the output of a stream, which grows with it.
///
/// The memory charged for it is released if it is dropped, and stays charged if it becomes the result.
pub(super) struct Room<'a> {
    /// All of it is room.
    pub(super) bytes: Vec<u8>,
    pub(super) budget: &'a Budget,
    /// The bytes that are charged for it.
    pub(super) held: u64,
}

impl Room<'_> {
    /// Charges the memory that the caller provides, or drops it if that is too much.
    pub(super) fn adopt(&mut self) {
        let brought = as_u64(self.bytes.len());
        if self.budget.try_spend(brought) {
            self.held = brought;
        } else {
            self.bytes = Vec::new();
        }
    }

    /// Grows to `length` bytes, and keeps the contents. Returns `false` if old and new memory do not fit at once.
    pub(super) fn grow(&mut self, length: u64, what: &'static str) -> Result<bool> {
        let there = as_u64(self.bytes.len());
        if there >= length {
            return Ok(true);
        }
        if !self.budget.try_spend(length) {
            return Ok(false);
        }
        let spent = self.held;
        self.held = spent.saturating_add(length);
        let unavailable = || exceeded_by_machine(length, what);
        if self.bytes.is_empty() {
            // Newly mapped pages of the system are zero already, and untouched pages cost nothing.
            self.bytes = u8::new_vec_zeroed(as_usize(length)).map_err(|_| unavailable())?;
        } else {
            let more = as_usize(length.saturating_sub(there));
            self.bytes.try_reserve_exact(more).map_err(|_| unavailable())?;
            self.bytes.resize(as_usize(length), 0);
        }
        self.give_back(spent);
        Ok(true)
    }

    /// Makes space for `length` bytes, of a block that occupies `stored` bytes in the file, in place of the contents.
    pub(super) fn take(&mut self, stored: u64, length: u64, what: &'static str) -> Result<()> {
        self.give_back(self.held);
        self.budget.spend(stored, length, what).inspect_err(|_| self.bytes = Vec::new())?;
        self.held = length;
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
        if self.held > least {
            if !self.budget.try_spend(least) {
                self.bytes = Vec::new();
                self.give_back(self.held);
                return false;
            }
            self.bytes.truncate(length);
            self.bytes.shrink_to_fit();
            self.budget.give_back(std::mem::replace(&mut self.held, least));
        }
        true
    }

    fn give_back(&mut self, bytes: u64) {
        self.budget.give_back(bytes);
        self.held = self.held.saturating_sub(bytes);
    }

    /// The bytes, for which the budget stays spent.
    pub(super) fn into_bytes(mut self) -> Bytes {
        self.held = 0;
        std::mem::take(&mut self.bytes).into()
    }

    /// The memory, which its owner uses again, for which the budget stays spent.
    pub(super) fn into_vec(mut self) -> Vec<u8> {
        self.held = 0;
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.budget.give_back(self.held);
    }
}

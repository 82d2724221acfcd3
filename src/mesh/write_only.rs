//! Memory that is written and never read, such as mapped memory of a GPU.

use zerocopy::{FromBytes, IntoBytes, KnownLayout};

/// A byte of this memory. The other files can only overwrite it: its value is private, and cannot be copied.
#[derive(FromBytes, IntoBytes, KnownLayout)]
#[repr(transparent)]
pub(super) struct WriteOnly(u8);

impl WriteOnly {
    pub(super) fn of(out: &mut [u8]) -> &mut [Self] {
        <[Self]>::mut_from_bytes(out).unwrap_or_default()
    }

    /// Writes bytes to memory of the same length.
    #[inline(always)]
    pub(super) fn put(out: &mut [Self], bytes: &[u8]) {
        let out = out.as_mut_bytes();
        if out.len() == bytes.len() {
            out.copy_from_slice(bytes);
        }
    }

    pub(super) fn clear(out: &mut [Self]) {
        out.as_mut_bytes().fill(0);
    }
}

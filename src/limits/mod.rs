//! Limits on memory, and the counts that enforce them.
//!
//! [`Limits`] are what a caller allows. Each public call makes one [`Budget`] of them, and charges it before it allocates
//! memory whose size depends on a file. A budget counts the bytes that the call holds, and the bytes that it has read:
//! `free_ratio` times the bytes read may always be held.
//!
//! [`Kept`] is the count of a file object, not of a call: bytes of decoded arrays that it caches for later calls.

mod budget;
pub(crate) mod cancel;
pub(crate) mod caps;
mod kept;
mod settings;

pub(crate) use budget::{Budget, exceeded_by_machine};
pub use cancel::cancellable;
pub(crate) use kept::Kept;
pub use settings::Limits;

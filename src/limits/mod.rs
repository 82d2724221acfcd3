//! Limits on memory, and the counts that enforce them.
//!
//! [`Limits`] are what a caller allows. Each public call makes one [`Budget`] of them, and charges it before it allocates
//! memory whose size depends on a file. A budget counts the bytes that the call holds, and the bytes that it has read:
//! `free_ratio` times the bytes read may always be held.
//!
//! Several calls, such as the readers of snapshots that play at the same time, can be bounded together. Each of them then
//! has a budget with a `Share` of a common budget:
//!
//! ```text
//!  Limits ──────────────► Budget of all calls          held ≤ max_total_bytes
//!    │                         ▲       ▲
//!    │            counted, grows only  │
//!    │                 ┌───────┘       └───────┐
//!    └──► Budget of call 1 ─ Share 1      Share 2 ─ Budget of call 2
//!         held: its memory   credit: bytes of `counted` that the call does not hold now
//! ```
//!
//! * A charge first goes to the call's own count (`held`), so that one call takes no more than the limits allow.
//! * Its share then pays from `credit`. It charges the common budget only for the rest, and adds that to `counted`.
//! * Bytes that the call gives back become credit. The common budget still counts them, so a call that needs them again is
//!   not refused because another call was faster. When the call has ended, its caller replaces `counted` by the size of
//!   the result (`Budget::replace`).
//! * A charge that the common budget refuses sets `is_refused`: the caller then tries again when other calls have ended.
//!
//! [`Kept`] is the count of a file object, not of a call: bytes of decoded arrays that it caches for later calls.

mod budget;
pub(crate) mod cancel;
pub(crate) mod caps;
mod kept;
mod settings;
mod share;

pub(crate) use budget::{Budget, exceeded_by_machine};
pub use cancel::cancellable;
pub(crate) use kept::Kept;
pub use settings::Limits;

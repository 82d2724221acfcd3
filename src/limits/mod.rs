//! Limits on memory and work, and the meters that enforce them.
//!
//! [`Limits`] are what a caller allows. Each public call makes one [`Meter`] of them, and charges it before it allocates memory whose
//! size depends on a file. A meter counts the bytes that the call holds, the bytes that it has read (`free_ratio` times these may always
//! be held), and its work. A [`Charge`] gives back what it stands for when it is dropped. Parts of a call, such as an attempt
//! that is repeated with more bytes, have meters within the meter of the call; the call itself may be within the meter of a [`job`].
//!
//! A file object has a meter as well: of decoded arrays that it keeps for later calls. What is kept is charged to each call that uses
//! it as if the call had decoded it, so that no verdict depends on earlier calls.
//!
//! The meter is the only way to allocate memory by a number from a file ([`memory`]). It counts everything that the call holds: decoded
//! arrays, copies that a view or a remap makes, and scratch. Decoders of several threads charge as their output grows.
//!
//! Time is in proportion to stored bytes, decoded bytes and items: no number of a file multiplies with another. Lists are made once for
//! each call or handle, and names are looked up in sets. What real files have few of has a cap ([`caps`]).

pub(crate) mod caps;
pub(crate) mod job;
mod memory;
mod meter;
mod settings;

pub use job::cancellable;
pub(crate) use memory::{
    FileMemory, exceeded_by_machine, reserve_vec, resize, resize_vec, take_block, zeroed,
    zeroed_vec,
};
pub use meter::{Charge, Meter};
pub use settings::Limits;

#[cfg(test)]
mod tests;

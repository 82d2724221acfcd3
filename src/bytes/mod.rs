//! Sources of the bytes of a file, and typed views of them.
//!
//! * `source` has [`Source`], the only way to the bytes of a file; `reader` the readers of callers, `fragments` the bytes that an
//!   asynchronous client supplies.
//! * `walk` reads chains of structures with few requests. It keeps a mebibyte of windows at most, so that an open file is small.
//! * `array` has [`Array`], a view of bytes as numbers, and `out` the memory of callers that values are written to.
//!
//! The same bytes give the same values, errors and findings from every kind of source. Only the path differs, which a `Source` adds to
//! an error at the end of a call that opens or reads.

mod array;
mod element;
mod fragment_store;
mod fragments;
mod out;
mod range;
mod reader;
mod source;
mod text;
mod walk;

pub use array::Array;
pub use element::{Element, F16, Scalar};
pub use fragments::Fragments;
pub use out::Out;
pub(crate) use range::coalesce;
pub use reader::{ReadRange, ReadStats};
pub use source::{Identity, Source};
pub use text::Text;

pub(crate) use element::{raw_elements, sealed};
pub(crate) use out::Memory;
pub(crate) use reader::is_rayon_worker;
pub(crate) use walk::Walk;

//! Sources of the bytes of a file, and typed views of them.

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

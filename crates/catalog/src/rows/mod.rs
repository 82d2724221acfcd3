//! Catalogues: a row for each mesh of many files. An invalid file is also a row.
//!
//! Only headers are read, unless everything is requested: a few kilobytes of each file, also in stores that answer ranges.

#[cfg(feature = "arrow")]
mod batch;
mod columns;
#[cfg(feature = "arrow")]
mod facts;
mod file;
#[cfg(feature = "arrow")]
mod geometry;
mod item;
mod limited;
mod look;
mod options;
mod row;
#[cfg(feature = "arrow")]
mod shapes;
mod write;

#[cfg(feature = "arrow")]
pub use batch::{Columns, SCHEMA_VERSION};
#[cfg(feature = "arrow")]
pub use facts::Facts;
pub use file::{identify, of, of_item};
#[cfg(feature = "arrow")]
pub use geometry::Geometry;
pub use item::{Item, find};
pub use options::Options;
pub use row::Row;
#[cfg(feature = "arrow")]
pub use shapes::Shapes;
pub use write::{FileKind, Writer};

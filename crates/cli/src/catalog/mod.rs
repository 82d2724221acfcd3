//! Catalogues: a row for each mesh of many files. An invalid file is also a row.
//!
//! Only headers are read, unless everything is requested: a few kilobytes of each file, also in stores that answer ranges.

use meshmap::Limits;

#[cfg(feature = "parquet")]
mod batch;
mod columns;
mod file;
mod item;
mod look;
mod row;
mod write;

#[cfg(feature = "parquet")]
pub use batch::{batch, schema};
pub use file::rows;
pub(crate) use item::items;
pub use item::{Item, find};
pub use row::Row;
pub(crate) use write::{Kind, Writer};

/// The contents of a catalogue.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct How {
    /// `true` if meshes are decoded and checked, for all counts and bounding boxes, and for the findings and errors that
    /// `meshmap verify` reports. A part that cannot be used and is not a mesh, such as a skin, has a row.
    pub full: bool,
    /// `true` if the bytes of each file are read for their SHA-256.
    pub hash: bool,
    /// `true` if files are mapped; they must not change meanwhile.
    pub mmap: bool,
    /// The limits for each file.
    pub limits: Limits,
}

impl How {
    /// Sets [`full`](Self::full).
    #[must_use]
    pub fn with_full(self, full: bool) -> Self {
        Self { full, ..self }
    }

    /// Sets [`hash`](Self::hash).
    #[must_use]
    pub fn with_hash(self, hash: bool) -> Self {
        Self { hash, ..self }
    }

    /// Sets [`mmap`](Self::mmap).
    #[must_use]
    pub fn with_mmap(self, mmap: bool) -> Self {
        Self { mmap, ..self }
    }

    /// Sets [`limits`](Self::limits).
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }
}

//! Files from bytes or from a reader, opened with the default options. Each function panics for a file that does not open.

use std::sync::Arc;

use bytes::Bytes;
use meshmap::cgeo::Proxy;
use meshmap::iqm::Model;
use meshmap::openctm::{self, Container};
use meshmap::slmesh::Asset;
use meshmap::tmf::Document;
use meshmap::{MeshFile, Options, Source};

use crate::Recorder;

/// The bytes of a file, or what reads them.
pub trait Opens {
    /// The source of the bytes.
    fn source(self) -> Source;
}

impl Opens for Source {
    fn source(self) -> Source {
        self
    }
}

impl Opens for Vec<u8> {
    fn source(self) -> Source {
        Source::from_bytes(self)
    }
}

impl Opens for Bytes {
    fn source(self) -> Source {
        Source::from_bytes(self)
    }
}

impl Opens for Arc<Recorder> {
    fn source(self) -> Source {
        Source::ranged(self)
    }
}

macro_rules! open {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name(from: impl Opens) -> $type {
            <$type>::from_source(from.source(), &Options::default()).unwrap()
        }
    )*};
}

open! {
    /// A file of any format.
    file: MeshFile;
    /// A CGeo file.
    proxy: Proxy;
    /// An IQM file.
    model: Model;
    /// An OpenCTM file.
    bodies: Container;
    /// A Second Life mesh.
    asset: Asset;
    /// A TMF file.
    document: Document;
}

/// The first body of an OpenCTM file.
#[track_caller]
pub fn body(from: impl Opens) -> openctm::Mesh {
    openctm::Mesh::at(&from.source(), 0, &Options::default()).unwrap()
}

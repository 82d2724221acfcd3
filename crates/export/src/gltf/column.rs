//! An attribute of all vertices, before it is written.

use std::ops::Range;
use std::rc::Rc;

use meshmap::Array;
use meshmap_job::Result;

use super::document::Index;
use super::file::{Gltf, Use};

/// The numbers of an attribute, in the form in which they are written.
pub(super) enum Column {
    /// Positions, which others also need.
    Positions(Rc<Vec<[f32; 3]>>),
    /// Positions as stored integers.
    Quantized(Array<[u16; 3]>),
    Floats1(Vec<[f32; 1]>),
    Floats2(Vec<[f32; 2]>),
    Floats3(Vec<[f32; 3]>),
    Floats4(Vec<[f32; 4]>),
    /// Integers that stand for numbers from 0 to 1.
    Normalized2(Vec<[u16; 2]>),
    Normalized4(Vec<[u16; 4]>),
    NormalizedBytes(Vec<[u8; 4]>),
    Integers(Vec<[u16; 4]>),
    Bytes(Vec<[u8; 4]>),
}

impl Column {
    /// Writes the numbers of these vertices.
    pub(super) fn write(&self, vertices: &Range<usize>, gltf: &mut Gltf) -> Result<Index> {
        match self {
            Self::Positions(all) => gltf.floats(part(all, vertices), Use::Vertices, true),
            Self::Quantized(all) => gltf.quantized_positions(all),
            Self::Floats1(all) => gltf.floats(part(all, vertices), Use::Vertices, false),
            Self::Floats2(all) => gltf.floats(part(all, vertices), Use::Vertices, false),
            Self::Floats3(all) => gltf.floats(part(all, vertices), Use::Vertices, false),
            Self::Floats4(all) => gltf.floats(part(all, vertices), Use::Vertices, false),
            Self::Normalized2(all) => gltf.integers(part(all, vertices), true),
            Self::Normalized4(all) => gltf.integers(part(all, vertices), true),
            Self::NormalizedBytes(all) => gltf.integers(part(all, vertices), true),
            Self::Integers(all) => gltf.integers(part(all, vertices), false),
            Self::Bytes(all) => gltf.integers(part(all, vertices), false),
        }
    }
}

fn part<'a, T>(all: &'a [T], vertices: &Range<usize>) -> &'a [T] {
    all.get(vertices.clone()).unwrap_or_default()
}

//! Triangle records: the indices of each corner, then material and edges.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::raw;
use crate::bytes::Scalar;
use crate::num::as_usize;

/// The triangles of a mesh, as a sequence of records. Cloning shares them.
///
/// A record of version 7 has three indices of positions, three of normals, three for each map channel, a material id
/// of two bytes and a byte of edges: 27 + 12 * channels bytes.
#[derive(Clone)]
pub struct Triangles {
    records: Arc<Vec<u8>>,
    shape: Shape,
}

impl Default for Triangles {
    /// No triangles. Allocates nothing.
    fn default() -> Self {
        static NONE: OnceLock<Arc<Vec<u8>>> = OnceLock::new();
        Self {
            records: Arc::clone(NONE.get_or_init(Arc::default)),
            shape: Shape::default(),
        }
    }
}

/// The length and the contents of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    triangles: u32,
    channels: u32,
    /// `true` if there are indices of normals.
    normals: bool,
    /// Bytes after the indices.
    tail: u64,
}

impl Shape {
    /// Bytes after the indices in a record of version 7: material id and edges.
    const TAIL: u64 = 3;

    /// The greatest number of bytes after the indices that a record may have.
    const MAX_TAIL: u64 = 8;

    /// The shape of records of version 7 and newer. The published text gives none for older versions, whose records are
    /// measured by the length of the stream.
    pub(crate) fn of_version_7(counts: &Counts) -> Self {
        Self {
            triangles: counts.triangles,
            channels: counts.texcoord_sets,
            normals: true,
            tail: Self::TAIL,
        }
    }

    /// Returns the shape of records of `length` bytes in total; `None` if no record has it.
    ///
    /// The bytes of a record after its indices are its tail. The indices of normals may be missing if the mesh has no normals.
    pub(crate) fn of_length(counts: &Counts, length: u64) -> Option<Self> {
        let triangles = u64::from(counts.triangles);
        if length.checked_rem(triangles)? != 0 {
            return None;
        }
        let record = length.checked_div(triangles)?;
        let with_normals = Self::of_version_7(counts);
        if let Some(tail) = record.checked_sub(with_normals.indices()) {
            return with_normals.with_tail(tail);
        }
        if counts.normals > 0 {
            return None;
        }
        let without_normals = Self {
            normals: false,
            ..with_normals
        };
        let tail = record.checked_sub(without_normals.indices())?;
        without_normals.with_tail(tail)
    }

    /// This shape with this number of bytes after the indices; `None` if it is too large.
    fn with_tail(self, tail: u64) -> Option<Self> {
        if tail > Self::MAX_TAIL {
            return None;
        }
        Some(Self { tail, ..self })
    }

    /// Bytes of the indices of a record: three of four bytes for positions, for normals if there are such indices, and for each
    /// map channel.
    pub(crate) fn indices(&self) -> u64 {
        let mut streams = u64::from(self.channels).saturating_add(1);
        if self.normals {
            streams = streams.saturating_add(1);
        }
        streams.saturating_mul(12)
    }

    /// Bytes of the longest possible record.
    pub(crate) fn longest(&self) -> u64 {
        self.indices().saturating_add(Self::MAX_TAIL)
    }

    /// Bytes of a record.
    pub(crate) fn record(&self) -> u64 {
        self.indices().saturating_add(self.tail)
    }
}

impl Triangles {
    /// Returns the memory of the records, to be filled again. Records that are shared are left unchanged.
    pub(crate) fn take_records(&mut self) -> &mut Vec<u8> {
        if Arc::get_mut(&mut self.records).is_none() {
            self.records = Arc::default();
        }
        Arc::make_mut(&mut self.records)
    }

    /// Returns `true` if other values have the records as well.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.records) > 1
    }

    /// Drops the triangles, and keeps their memory unless it is shared.
    pub(crate) fn clear(&mut self) {
        match Arc::get_mut(&mut self.records) {
            Some(records) => records.clear(),
            None => *self = Self::default(),
        }
        self.shape = Shape::default();
    }

    /// Returns the memory of the records, used or not, in bytes; 0 if they are shared.
    pub(crate) fn memory(&self) -> u64 {
        if self.is_shared() {
            0
        } else {
            crate::num::as_u64(self.records.capacity())
        }
    }

    pub(crate) fn set_shape(&mut self, shape: Shape) {
        self.shape = shape;
    }

    /// The number of triangles.
    #[must_use]
    pub fn len(&self) -> usize {
        as_usize(self.shape.triangles)
    }

    /// Returns `true` if there are no triangles.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.triangles == 0
    }

    /// The number of map channels that the corners have indices for.
    #[must_use]
    #[doc(alias = "map_channels")]
    pub fn texcoord_sets(&self) -> usize {
        as_usize(self.shape.channels)
    }

    /// Returns `true` if the corners have indices of normals.
    #[must_use]
    pub fn has_normals(&self) -> bool {
        self.shape.normals
    }

    /// The type of the material IDs as stored; `None` if the records have none.
    #[must_use]
    pub fn material_scalar(&self) -> Option<Scalar> {
        match self.shape.tail {
            2 | 3 => Some(Scalar::U16),
            4 => Some(Scalar::U32),
            _ => None,
        }
    }

    /// `true` if the records have a byte of edges.
    pub(crate) fn has_edge_visibility(&self) -> bool {
        self.shape.tail == Shape::TAIL
    }

    /// Bytes after the indices of each record: 3 in version 7 (a material id of two bytes, and edges).
    #[must_use]
    pub fn tail_len(&self) -> usize {
        as_usize(self.shape.tail)
    }

    /// The records as stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.records
    }

    fn record_len(&self) -> usize {
        as_usize(self.shape.record()).max(1)
    }

    fn records(&self) -> impl ExactSizeIterator<Item = &[u8]> + '_ {
        self.records
            .chunks_exact(self.record_len())
            .take(self.len())
    }

    fn tail_start(&self) -> usize {
        as_usize(self.shape.indices())
    }

    /// The material ID in a tail: of 16 bits in a tail of two or three bytes, of 32 bits in one of four.
    fn material(&self, tail: &[u8]) -> Option<u32> {
        match (self.shape.tail, tail) {
            (2 | 3, [a, b, ..]) => Some(u16::from_le_bytes([*a, *b]).into()),
            (4, [a, b, c, d, ..]) => Some(u32::from_le_bytes([*a, *b, *c, *d])),
            _ => None,
        }
    }

    /// The indices of the positions of all corners.
    #[must_use]
    pub fn positions(&self) -> Vec<[u32; 3]> {
        self.stream(0)
    }

    /// The indices of the normals of all corners; `None` if the records have no such indices.
    #[must_use]
    pub fn normals(&self) -> Option<Vec<[u32; 3]>> {
        if !self.shape.normals {
            return None;
        }
        Some(self.stream(1))
    }

    /// The indices of the coordinates of a map channel of all corners; `None` if the mesh has no such channel.
    #[must_use]
    #[doc(alias = "map_channel")]
    pub fn texcoords(&self, channel: usize) -> Option<Vec<[u32; 3]>> {
        if channel >= self.texcoord_sets() {
            return None;
        }
        let first = if self.shape.normals { 2 } else { 1 };
        Some(self.stream(channel.saturating_add(first)))
    }

    /// The indices of one kind of all corners, into `out`: kind 0 is positions, then normals if there are any, then the
    /// map channels.
    pub fn stream_into(&self, stream: usize, out: &mut Vec<[u32; 3]>) {
        out.clear();
        out.extend(self.iter_stream(stream));
    }

    /// The indices of one kind of all corners, as in [`stream_into`](Self::stream_into), without a copy.
    pub fn iter_stream(&self, stream: usize) -> impl ExactSizeIterator<Item = [u32; 3]> + '_ {
        self.records().map(move |record| triple(record, stream))
    }

    /// The indices of one kind, as in [`stream_into`](Self::stream_into), corner by corner.
    pub(crate) fn corners(&self, stream: usize) -> impl Iterator<Item = u32> + '_ {
        self.records()
            .flat_map(move |record| triple(record, stream))
    }

    /// The indices of several kinds of all corners, in pieces; `None` as soon as `take` returns it.
    pub(crate) fn corners_in_pieces<const N: usize>(
        &self,
        streams: [usize; N],
        mut take: impl FnMut(&[[u32; N]]) -> Option<()>,
    ) -> Option<()> {
        /// Records of a piece: their corners stay in the processor's cache.
        const PIECE: usize = 64;
        let record_len = self.record_len();
        let length = record_len
            .saturating_mul(self.len())
            .min(self.records.len());
        let records = self.records.get(..length)?;
        let mut corners = Vec::with_capacity(PIECE.saturating_mul(3));
        for piece in records.chunks(record_len.saturating_mul(PIECE)) {
            corners.clear();
            for record in piece.chunks_exact(record_len) {
                // From the corners of each stream to the streams of each corner.
                let streams = streams.map(|stream| triple(record, stream));
                corners.extend([
                    streams.map(|[first, _, _]| first),
                    streams.map(|[_, second, _]| second),
                    streams.map(|[_, _, third]| third),
                ]);
            }
            take(&corners)?;
        }
        Some(())
    }

    fn stream(&self, stream: usize) -> Vec<[u32; 3]> {
        self.iter_stream(stream).collect()
    }

    /// The material IDs of all triangles; `None` if the records have no material IDs.
    #[must_use]
    pub fn material_ids(&self) -> Option<impl ExactSizeIterator<Item = u32> + '_> {
        self.material_scalar()?;
        let start = self.tail_start();
        Some(self.records().map(move |record| {
            let tail = record.get(start..).unwrap_or_default();
            self.material(tail).unwrap_or(0)
        }))
    }

    /// The edge bytes of all triangles: bits 0, 1 and 2 mark the edges AB, BC and CA as visible. `None` if the records have no
    /// such byte.
    #[must_use]
    pub fn edge_visibility(&self) -> Option<impl ExactSizeIterator<Item = u8> + '_> {
        if !self.has_edge_visibility() {
            return None;
        }
        let records = self.records();
        Some(records.map(|record| record.last().copied().unwrap_or(0)))
    }
}

/// The three indices of a stream in a record.
fn triple(record: &[u8], stream: usize) -> [u32; 3] {
    let bytes: Option<&[u8; 12]> = record
        .get(stream.saturating_mul(12)..)
        .and_then(<[u8]>::first_chunk);
    let [a, b, c, d, e, f, g, h, i, j, k, l] = bytes.copied().unwrap_or_default();
    [[a, b, c, d], [e, f, g, h], [i, j, k, l]].map(u32::from_le_bytes)
}

impl fmt::Debug for Triangles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Triangles({} of {} bytes)",
            self.len(),
            self.record_len()
        )
    }
}

/// The numbers of elements of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Positions.
    pub vertices: u32,
    /// Normals.
    pub normals: u32,
    /// Sets of texture coordinates: map channels.
    pub texcoord_sets: u32,
    /// Triangles.
    pub triangles: u32,
}

impl Counts {
    pub(crate) fn new(stored: &raw::MeshCounts) -> Self {
        Self {
            vertices: stored.vertices.get(),
            normals: stored.normals.get(),
            texcoord_sets: stored.map_channels.get(),
            triangles: stored.triangles.get(),
        }
    }
}

//! The arrays of a body, one at a time or all at once.

use std::borrow::Cow;

use zerocopy::{FromZeros, Immutable, IntoBytes};

use super::decode::{Decode, check_room};
use super::layout::{Map, Method, Section, body_address};
use super::mesh::Mesh;
use super::rules::FILE;
use crate::bytes::{Array, Element};
use crate::decode::{Once, Scratch};
use crate::limits::Budget;
use crate::num::as_u64;
use crate::report::Result;

/// All arrays of a mesh. Cloning shares them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeshArrays {
    /// The vertices of each triangle's corners.
    pub indices: Array<[u32; 3]>,
    /// Positions.
    pub positions: Array<[f32; 3]>,
    /// Normals, where the file has them; not necessarily of length 1.
    pub normals: Option<Array<[f32; 3]>>,
    /// Texture coordinates u, v of each UV map.
    pub uv_maps: Vec<Array<[f32; 2]>>,
    /// Values of each attribute map.
    pub attribute_maps: Vec<Array<[f32; 4]>>,
}

/// All arrays of a mesh in memory that is used again for the next one.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MeshBuffer {
    /// The vertices of each triangle's corners.
    pub indices: Vec<[u32; 3]>,
    /// Positions.
    pub positions: Vec<[f32; 3]>,
    /// Normals; none where the file has none.
    pub normals: Vec<[f32; 3]>,
    /// Texture coordinates u, v of each UV map.
    pub uv_maps: Vec<Vec<[f32; 2]>>,
    /// Values of each attribute map.
    pub attribute_maps: Vec<Vec<[f32; 4]>>,
}

impl Mesh {
    /// The vertices of each triangle's corners.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) or [`Truncated`](ErrorKind::Truncated) for a damaged stream,
    /// [`LimitExceeded`](ErrorKind::LimitExceeded), and the errors of reading. That indices are less than the vertex
    /// count is not checked.
    pub fn indices(&self) -> Result<Array<[u32; 3]>> {
        self.indices_with(&mut Scratch::default())
    }

    pub(crate) fn indices_with(&self, scratch: &mut Scratch) -> Result<Array<[u32; 3]>> {
        let decode = |out: &mut [_], scratch: &mut _| self.decode().indices(out, scratch);
        self.array(&self.arrays.indices, &self.layout.indices, self.triangle_count(), scratch, decode)
    }

    /// The same, decoded into `out`, which has room for them and no more.
    ///
    /// # Errors
    ///
    /// Those of [`indices`](Self::indices), and [`OutOfRange`](ErrorKind::OutOfRange) where `out` has another length.
    pub fn indices_into(&self, out: &mut [[u32; 3]], scratch: &mut Scratch) -> Result<()> {
        check_room(out.len(), self.triangle_count(), "indices")?;
        self.decode().indices(out, scratch)
    }

    /// Positions.
    ///
    /// # Errors
    ///
    /// Those of decoding and reading, as [`indices`](Self::indices) has them.
    pub fn positions(&self) -> Result<Array<[f32; 3]>> {
        self.positions_with(&mut Scratch::default())
    }

    pub(crate) fn positions_with(&self, scratch: &mut Scratch) -> Result<Array<[f32; 3]>> {
        let decode = |out: &mut [_], scratch: &mut _| self.decode().positions(out, scratch);
        self.array(&self.arrays.positions, &self.layout.positions, self.vertex_count(), scratch, decode)
    }

    /// The same, decoded into `out`, which has room for them and no more.
    ///
    /// # Errors
    ///
    /// Those of [`positions`](Self::positions), and [`OutOfRange`](ErrorKind::OutOfRange) where `out` has another
    /// length.
    pub fn positions_into(&self, out: &mut [[f32; 3]], scratch: &mut Scratch) -> Result<()> {
        check_room(out.len(), self.vertex_count(), "positions")?;
        self.decode().positions(out, scratch)
    }

    /// Normals, not necessarily of length 1; `Ok(None)` where the file has none.
    ///
    /// Those of MG2 are stored as differences from what the triangles suggest, so that they need
    /// [`positions`](Self::positions) and [`indices`](Self::indices), which are then decoded and kept, too. Bit for bit
    /// those of the reference library where the host's `sinf` and `cosf` are glibc's, as on Linux; elsewhere a
    /// normal may differ from them by 2^-22 of its length.
    ///
    /// # Errors
    ///
    /// Those of [`positions`](Self::positions); for MG2, also those of [`indices`](Self::indices), and
    /// [`Malformed`](ErrorKind::Malformed) where an index is not less than the vertex count.
    pub fn normals(&self) -> Result<Option<Array<[f32; 3]>>> {
        self.normals_with(&mut Scratch::default())
    }

    pub(crate) fn normals_with(&self, scratch: &mut Scratch) -> Result<Option<Array<[f32; 3]>>> {
        let Some(section) = &self.layout.normals else { return Ok(None) };
        let decode = |out: &mut [_], scratch: &mut _| {
            if self.layout.grid.is_none() {
                return self.decode().numbers(section, None, out, scratch);
            }
            let positions = self.positions_with(scratch)?;
            let triangles = self.indices_with(scratch)?;
            let mesh = (&*positions.to_native(), &*triangles.to_native());
            self.decode().predicted_normals(section, mesh, out, scratch)
        };
        self.array(&self.arrays.normals, section, self.vertex_count(), scratch, decode).map(Some)
    }

    /// The same, decoded into `out`, which has room for them and no more; `Ok(false)` where the file has none.
    ///
    /// Of MG2, positions and indices that have been decoded are used; otherwise they are decoded into the scratch.
    /// [`arrays_into`](Self::arrays_into) decodes nothing twice.
    ///
    /// # Errors
    ///
    /// Those of [`normals`](Self::normals), and [`OutOfRange`](ErrorKind::OutOfRange) where `out` has another length.
    pub fn normals_into(&self, out: &mut [[f32; 3]], scratch: &mut Scratch) -> Result<bool> {
        let Some(section) = &self.layout.normals else { return Ok(false) };
        check_room(out.len(), self.vertex_count(), "normals")?;
        if self.layout.grid.is_none() {
            return self.decode().numbers(section, None, out, scratch).map(|()| true);
        }
        // Out of the scratch while the rest of it is at work.
        let mut positions = std::mem::take(&mut scratch.positions);
        let mut triangles = std::mem::take(&mut scratch.triangles);
        let result = self.normals_from(section, (&mut positions, &mut triangles), out, scratch);
        (scratch.positions, scratch.triangles) = (positions, triangles);
        result.map(|()| true)
    }

    fn normals_from(
        &self,
        section: &Section,
        (own_positions, own_triangles): (&mut Vec<[f32; 3]>, &mut Vec<[u32; 3]>),
        out: &mut [[f32; 3]],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let positions = match self.arrays.positions.get() {
            Some(positions) => positions.to_native(),
            None => {
                self.resize(own_positions, self.vertex_count(), &self.layout.positions)?;
                self.decode().positions(own_positions, scratch)?;
                Cow::Borrowed(&**own_positions)
            }
        };
        let triangles = match self.arrays.indices.get() {
            Some(indices) => indices.to_native(),
            None => {
                self.resize(own_triangles, self.triangle_count(), &self.layout.indices)?;
                self.decode().indices(own_triangles, scratch)?;
                Cow::Borrowed(&**own_triangles)
            }
        };
        self.decode().predicted_normals(section, (&positions, &triangles), out, scratch)
    }

    /// All arrays: of MG1 and MG2 decoded in parallel where that pays (see [`Parallelism`](crate::Parallelism)), each
    /// block once. What has been decoded before is not decoded again.
    ///
    /// The values do not depend on the number of threads.
    ///
    /// # Errors
    ///
    /// Those of the accessors of the arrays, the first one in the order of this structure, and
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) where all of them together are larger than
    /// [`max_total_bytes`](crate::Limits::max_total_bytes).
    pub fn arrays(&self) -> Result<MeshArrays> {
        self.check_total()?;
        let mesh = self.load()?;
        #[cfg(feature = "rayon")]
        mesh.decode_in_parallel();
        let mut scratch = Scratch::default();
        let maps = 0..self.layout.uv_maps.len();
        let attributes = 0..self.layout.attribute_maps.len();
        Ok(MeshArrays {
            // Mostly the largest block, so that what it takes of the scratch is enough for all.
            indices: mesh.indices_with(&mut scratch)?,
            positions: mesh.positions_with(&mut scratch)?,
            normals: mesh.normals_with(&mut scratch)?,
            uv_maps: maps.map(|index| mesh.uv_map_with(index, &mut scratch)).collect::<Result<_>>()?,
            attribute_maps: attributes
                .map(|index| mesh.attribute_map_with(index, &mut scratch))
                .collect::<Result<_>>()?,
        })
    }

    /// All arrays, decoded on the calling thread into memory that is used again, as is the scratch: nothing is
    /// allocated once both are large enough.
    ///
    /// # Errors
    ///
    /// Those of [`arrays`](Self::arrays). What is in the buffer after an error is unspecified.
    pub fn arrays_into(&self, out: &mut MeshBuffer, scratch: &mut Scratch) -> Result<()> {
        self.check_total()?;
        let mesh = if self.source.is_in_memory() { self } else { &self.load()? };
        let (decode, layout) = (mesh.decode(), &self.layout);
        let vertices = self.vertex_count();
        self.resize(&mut out.positions, vertices, &layout.positions)?;
        decode.positions(&mut out.positions, scratch)?;
        self.resize(&mut out.indices, self.triangle_count(), &layout.indices)?;
        decode.indices(&mut out.indices, scratch)?;
        match &layout.normals {
            None => out.normals.clear(),
            Some(section) => {
                self.resize(&mut out.normals, vertices, section)?;
                if layout.grid.is_some() {
                    let mesh = (&*out.positions, &*out.indices);
                    decode.predicted_normals(section, mesh, &mut out.normals, scratch)?;
                } else {
                    decode.numbers(section, None, &mut out.normals, scratch)?;
                }
            }
        }
        self.maps_into(&layout.uv_maps, &mut out.uv_maps, decode, scratch)?;
        self.maps_into(&layout.attribute_maps, &mut out.attribute_maps, decode, scratch)
    }

    fn maps_into<const N: usize>(
        &self,
        maps: &[Map],
        out: &mut Vec<Vec<[f32; N]>>,
        decode: Decode<'_>,
        scratch: &mut Scratch,
    ) -> Result<()>
    where
        [f32; N]: Element + FromZeros,
    {
        out.resize_with(maps.len(), Vec::new);
        for (map, out) in maps.iter().zip(out) {
            self.resize(out, self.vertex_count(), &map.section)?;
            decode.map(map, out, scratch)?;
        }
        Ok(())
    }

    pub(crate) fn decode(&self) -> Decode<'_> {
        Decode { layout: &self.layout, source: &self.source, options: &self.options }
    }

    /// An array: of RAW as it lies in the file, otherwise decoded, unless it has been.
    pub(crate) fn array<T: Element + FromZeros + IntoBytes + Immutable>(
        &self,
        once: &Once<Array<T>>,
        section: &Section,
        count: usize,
        scratch: &mut Scratch,
        decode: impl FnOnce(&mut [T], &mut Scratch) -> Result<()>,
    ) -> Result<Array<T>> {
        if self.layout.method == Method::Raw {
            return self.decode().view(section);
        }
        let make = || {
            let mut out = Vec::new();
            self.resize(&mut out, count, section)?;
            decode(&mut out, scratch)?;
            Ok(Array::from_vec(out))
        };
        once.get_or_try_make(make).cloned()
    }

    /// Makes room for the elements of an array.
    fn resize<T: FromZeros + Clone>(&self, out: &mut Vec<T>, count: usize, section: &Section) -> Result<()> {
        Budget::new(&self.options.limits)
            .resize(out, as_u64(count), section.what)
            .map_err(|error| error.of(section.part.address(self.layout.body)).at(section.stored_range()))
    }

    /// Fails where all arrays, decoded, are more than a call may decode; views of RAW are never too much.
    fn check_total(&self) -> Result<()> {
        let total = self.decoded_bytes();
        if self.layout.method == Method::Raw {
            return Ok(());
        }
        Budget::new(&self.options.limits)
            .spend_all(total, "body")
            .map_err(|error| FILE.of(body_address(self.layout.body)).at(self.range()).locate(error))
    }
}

//! The arrays of a body, one at a time or all at once.

use std::borrow::Cow;

use zerocopy::{FromZeros, Immutable, IntoBytes};

use super::decode::{Decode, Decoded, Ending};
use super::layout::{Grid, Map, Method, Section};
use super::mesh::Mesh;
use crate::bytes::{Array, Element};
use crate::decode::{Scratch, Slot};
use crate::limits::Meter;
use crate::report::Result;

/// All arrays of a mesh. Cloning shares them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeshArrays {
    /// Three vertex indices for each triangle.
    pub triangles: Array<[u32; 3]>,
    /// Positions.
    pub positions: Array<[f32; 3]>,
    /// Normals, if the file has them; not necessarily of length 1.
    pub normals: Option<Array<[f32; 3]>>,
    /// Texture coordinates u, v of each UV map.
    pub texcoords: Vec<Array<[f32; 2]>>,
    /// Values of each attribute map.
    pub attribute_maps: Vec<Array<[f32; 4]>>,
}

/// All arrays of a mesh, in memory that is used again for the next mesh.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MeshBuffer {
    /// Three vertex indices for each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Positions.
    pub positions: Vec<[f32; 3]>,
    /// Normals; empty if the file has none.
    pub normals: Vec<[f32; 3]>,
    /// Texture coordinates u, v of each UV map.
    pub texcoords: Vec<Vec<[f32; 2]>>,
    /// Values of each attribute map.
    pub attribute_maps: Vec<Vec<[f32; 4]>>,
}

/// Positions and triangles.
type Geometry<'a> = (&'a Array<[f32; 3]>, &'a Array<[u32; 3]>);

impl Mesh {
    /// The triangles: three vertex indices each, all less than [`vertex_count`](Self::vertex_count).
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if an index is out of range,
    /// [`Malformed`](crate::ErrorKind::Malformed) or [`Truncated`](crate::ErrorKind::Truncated) for a damaged stream,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded), and the errors of reading.
    #[doc(alias = "indices")]
    pub fn triangles(&self) -> Result<Array<[u32; 3]>> {
        let triangles = self.raw_triangles()?;
        self.decode(&self.meter())
            .check_indices(&triangles.to_native())?;
        Ok(triangles)
    }

    /// The triangles as stored, with indices that may be out of range.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`triangles`](Self::triangles), except for indices out of range.
    pub fn raw_triangles(&self) -> Result<Array<[u32; 3]>> {
        self.decoded_indices(&self.meter(), &mut Scratch::default())
            .map(|decoded| decoded.array)
    }

    pub(crate) fn decoded_indices(
        &self,
        meter: &Meter,
        scratch: &mut Scratch,
    ) -> Result<Decoded<[u32; 3]>> {
        let decode = |mesh: Decode<'_>, out: &mut _, scratch: &mut _| mesh.indices(out, scratch);
        self.array(
            &self.decoded.indices,
            (&self.layout.indices, &[]),
            meter,
            scratch,
            decode,
        )
    }

    /// Positions.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`raw_triangles`](Self::raw_triangles).
    pub fn positions(&self) -> Result<Array<[f32; 3]>> {
        self.decoded_positions(&self.meter(), &mut Scratch::default())
            .map(|decoded| decoded.array)
    }

    pub(crate) fn decoded_positions(
        &self,
        meter: &Meter,
        scratch: &mut Scratch,
    ) -> Result<Decoded<[f32; 3]>> {
        let decode = |mesh: Decode<'_>, out: &mut _, scratch: &mut _| mesh.positions(out, scratch);
        let grid = self
            .layout
            .grid
            .as_ref()
            .map_or(&self.layout.positions, |grid| &grid.indices);
        self.array(
            &self.decoded.positions,
            (&self.layout.positions, &[grid]),
            meter,
            scratch,
            decode,
        )
    }

    /// Like [`positions`](Self::positions), into `out`, which gets their number.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`positions`](Self::positions).
    pub fn positions_into(&self, out: &mut Vec<[f32; 3]>, scratch: &mut Scratch) -> Result<()> {
        self.decode(&self.meter()).positions(out, scratch).map(drop)
    }

    /// Normals, not necessarily of length 1; `Ok(None)` if the file has no normals.
    ///
    /// MG2 stores normals as differences from normals that are computed from [`positions`](Self::positions) and
    /// [`raw_triangles`](Self::raw_triangles), which are then also decoded and cached. Normals are bit for bit the same as in the
    /// reference library if the host's `sinf` and `cosf` come from glibc, as on Linux; elsewhere a normal may differ by 2^-22 of
    /// its length.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`positions`](Self::positions); for MG2, also the errors of [`raw_triangles`](Self::raw_triangles),
    /// and [`Malformed`](crate::ErrorKind::Malformed) if an index is not less than the vertex count.
    pub fn normals(&self) -> Result<Option<Array<[f32; 3]>>> {
        Ok(self
            .decoded_normals(None, &self.meter(), &mut Scratch::default())?
            .map(|decoded| decoded.array))
    }

    /// Returns the normals, from positions and triangles that are `known`, if any.
    pub(crate) fn decoded_normals(
        &self,
        known: Option<Geometry<'_>>,
        meter: &Meter,
        scratch: &mut Scratch,
    ) -> Result<Option<Decoded<[f32; 3]>>> {
        let Some(section) = &self.layout.normals else {
            return Ok(None);
        };
        if let Some(kept) = self.kept(&self.decoded.normals, section, meter) {
            return kept.map(Some);
        }
        let Some(grid) = &self.layout.grid else {
            let decode = |mesh: Decode<'_>, out: &mut _, scratch: &mut _| {
                mesh.numbers(section, None, out, scratch)
            };
            return self
                .array(
                    &self.decoded.normals,
                    (section, &[]),
                    meter,
                    scratch,
                    decode,
                )
                .map(Some);
        };
        let maker = meter.part_for_file();
        let (positions, triangles) = match known {
            Some((positions, triangles)) => (positions.clone(), triangles.clone()),
            None => {
                let positions = self.decoded_positions(&maker, scratch)?.array;
                (positions, self.decoded_indices(&maker, scratch)?.array)
            }
        };
        let decode = |mesh: Decode<'_>, out: &mut _, scratch: &mut _| {
            let geometry = (&*positions.to_native(), &*triangles.to_native());
            mesh.predicted_normals((section, grid), geometry, out, scratch)
        };
        self.array(
            &self.decoded.normals,
            (section, &[]),
            meter,
            scratch,
            decode,
        )
        .map(Some)
    }

    /// Like [`normals`](Self::normals), into `out`, which gets their number.
    ///
    /// Returns `Ok(false)`, and no normals, if the file has none.
    ///
    /// For MG2, positions and indices that are kept are used; others are decoded into the scratch.
    /// [`arrays_into`](Self::arrays_into) decodes nothing twice.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`normals`](Self::normals).
    pub fn normals_into(&self, out: &mut Vec<[f32; 3]>, scratch: &mut Scratch) -> Result<bool> {
        let Some(section) = &self.layout.normals else {
            out.clear();
            return Ok(false);
        };
        let meter = &self.meter();
        match &self.layout.grid {
            None => self.decode(meter).numbers(section, None, out, scratch)?,
            Some(grid) => {
                // Out of the scratch while the rest of it is at work.
                let mut positions = std::mem::take(&mut scratch.positions);
                let mut triangles = std::mem::take(&mut scratch.triangles);
                let own = (&mut positions, &mut triangles);
                let result =
                    self.predicted_normals_into((section, grid), own, out, (meter, scratch));
                (scratch.positions, scratch.triangles) = (positions, triangles);
                result?
            }
        };
        Ok(true)
    }

    fn predicted_normals_into(
        &self,
        of: (&Section, &Grid),
        (own_positions, own_triangles): (&mut Vec<[f32; 3]>, &mut Vec<[u32; 3]>),
        out: &mut Vec<[f32; 3]>,
        (meter, scratch): (&Meter, &mut Scratch),
    ) -> Result<Ending> {
        let positions = match self.decoded.positions.get() {
            Some(positions) => positions.array.to_native(),
            None => {
                self.decode(meter).positions(own_positions, scratch)?;
                Cow::Borrowed(&**own_positions)
            }
        };
        let triangles = match self.decoded.indices.get() {
            Some(indices) => indices.array.to_native(),
            None => {
                self.decode(meter).indices(own_triangles, scratch)?;
                Cow::Borrowed(&**own_triangles)
            }
        };
        self.decode(meter)
            .predicted_normals(of, (&positions, &triangles), out, scratch)
    }

    /// All arrays, each decoded once.
    ///
    /// Arrays that have been decoded are not decoded again.
    ///
    /// MG1 and MG2 are decoded in parallel if that pays (see [`Parallelism`](crate::Parallelism)). The values do not
    /// depend on the number of threads.
    ///
    /// # Errors
    ///
    /// Returns the first error of the arrays' accessors, in the order of this structure, and
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if all of them together are larger than
    /// [`max_total_bytes`](crate::Limits::max_total_bytes).
    pub fn arrays(&self) -> Result<MeshArrays> {
        self.check_total()?;
        let mesh = self.load()?;
        let meter = &self.meter();
        #[cfg(feature = "rayon")]
        mesh.decode_in_parallel();
        let mut scratch = Scratch::default();
        let uv_maps = 0..self.layout.uv_maps.len();
        let attribute_maps = 0..self.layout.attribute_maps.len();
        // Mostly the largest block, so that what it takes of the scratch is enough for all.
        let indices = mesh.decoded_indices(meter, &mut scratch)?.array;
        let positions = mesh.decoded_positions(meter, &mut scratch)?.array;
        let normals = mesh.decoded_normals(Some((&positions, &indices)), meter, &mut scratch)?;
        Ok(MeshArrays {
            triangles: indices,
            positions,
            normals: normals.map(|decoded| decoded.array),
            texcoords: uv_maps
                .map(|index| Ok(mesh.decoded_uv_map(index, meter, &mut scratch)?.array))
                .collect::<Result<_>>()?,
            attribute_maps: attribute_maps
                .map(|index| {
                    Ok(mesh
                        .decoded_attribute_map(index, meter, &mut scratch)?
                        .array)
                })
                .collect::<Result<_>>()?,
        })
    }

    /// Like [`arrays`](Self::arrays), into memory that is used again, on the calling thread.
    ///
    /// Nothing is allocated once buffer and scratch are large enough and the source is in memory.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`arrays`](Self::arrays). The contents of the buffer after an error are unspecified.
    pub fn arrays_into(&self, out: &mut MeshBuffer, scratch: &mut Scratch) -> Result<()> {
        self.check_total()?;
        // Arrays of RAW in a file are read into the buffer, one by one. Stores answer one request for the whole body.
        let is_by_array = self.layout.method == Method::Raw && self.source.is_file();
        let mesh = if is_by_array || self.source.is_in_memory() {
            self
        } else {
            &self.load()?
        };
        let meter = &self.meter();
        let (decode, layout) = (mesh.decode(meter), &self.layout);
        decode.positions(&mut out.positions, scratch)?;
        decode.indices(&mut out.triangles, scratch)?;
        match (&layout.normals, &layout.grid) {
            (None, _) => out.normals.clear(),
            (Some(section), None) => {
                decode.numbers(section, None, &mut out.normals, scratch)?;
            }
            (Some(section), Some(grid)) => {
                let mesh = (&*out.positions, &*out.triangles);
                decode.predicted_normals((section, grid), mesh, &mut out.normals, scratch)?;
            }
        }
        maps_into(&layout.uv_maps, &mut out.texcoords, decode, scratch)?;
        maps_into(
            &layout.attribute_maps,
            &mut out.attribute_maps,
            decode,
            scratch,
        )
    }

    /// An array: RAW as it lies in the file, otherwise decoded from these sections, the first of which is its own, unless it has been.
    pub(crate) fn array<T: Element + FromZeros + IntoBytes + Immutable>(
        &self,
        slot: &Slot<Decoded<T>>,
        (own, others): (&Section, &[&Section]),
        meter: &Meter,
        scratch: &mut Scratch,
        decode: impl FnOnce(Decode<'_>, &mut Vec<T>, &mut Scratch) -> Result<Ending>,
    ) -> Result<Decoded<T>> {
        if let Some(kept) = self.kept(slot, own, meter) {
            return kept;
        }
        if self.layout.method == Method::Raw {
            let array = self.decode(&self.meter()).view(own)?;
            return Ok(Decoded {
                array,
                ending: Ending::Clean,
            });
        }
        let mut mesh = self.clone();
        for section in std::iter::once(&own).chain(others) {
            let source = mesh
                .source
                .with_ranges(std::slice::from_ref(&section.range), section.what);
            mesh.source = source.map_err(|error| self.layout.place_of(section).locate(error))?;
        }
        let make = || {
            let mut out = Vec::new();
            let ending = decode(mesh.decode(&meter.part_for_file()), &mut out, scratch)?;
            Ok(Decoded {
                array: Array::from_vec(out),
                ending,
            })
        };
        let keep = |decoded: &Decoded<T>| self.decoded.kept.admits(decoded.bytes());
        self.charged(slot.get_or_try_make(make, keep)?, own, meter)
    }

    /// An array that is kept.
    fn kept<T: Element>(
        &self,
        slot: &Slot<Decoded<T>>,
        section: &Section,
        meter: &Meter,
    ) -> Option<Result<Decoded<T>>> {
        slot.get()
            .map(|decoded| self.charged(decoded.clone(), section, meter))
    }

    /// Charges an array that may be kept, whoever has made it.
    fn charged<T: Element>(
        &self,
        decoded: Decoded<T>,
        section: &Section,
        meter: &Meter,
    ) -> Result<Decoded<T>> {
        meter.count_read(&section.range);
        let taken = meter.take_kept(decoded.bytes(), section.what);
        taken
            .map(|()| decoded)
            .map_err(|error| self.layout.place_of(section).locate(error))
    }

    /// Fails where all arrays, decoded, are more than a call may decode; views of RAW are never too much.
    pub(crate) fn check_total(&self) -> Result<()> {
        if self.layout.method == Method::Raw {
            return Ok(());
        }
        Meter::of_part(&self.options.limits, &self.range())
            .take(self.layout.decoded_len(), "body")
            .map(drop)
            .map_err(|error| self.layout.place().locate(error))
    }
}

fn maps_into<const N: usize>(
    maps: &[Map],
    out: &mut Vec<Vec<[f32; N]>>,
    decode: Decode<'_>,
    scratch: &mut Scratch,
) -> Result<()>
where
    [f32; N]: Element + FromZeros,
{
    out.resize_with(maps.len(), Vec::new);
    maps.iter()
        .zip(out)
        .try_for_each(|(map, out)| decode.map(map, out, scratch).map(drop))
}

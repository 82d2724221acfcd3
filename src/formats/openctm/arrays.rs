//! The arrays of a body, one at a time or all at once.

use std::borrow::Cow;

use zerocopy::{FromZeros, Immutable, IntoBytes};

use super::decode::{Decode, Decoded, Ending, Geometry};
use super::layout::{Grid, Map, Method, Section, SectionKind};
use super::mesh::Mesh;
use crate::bytes::{Array, Element};
use crate::decode::{Context, Scratch, Slot};
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

/// All arrays of a mesh, in memory that is reused for the next mesh.
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

/// Decoded positions and triangles, from which normals are computed. Cloning shares them.
#[derive(Clone)]
pub(crate) struct DecodedGeometry {
    pub(crate) positions: Array<[f32; 3]>,
    pub(crate) triangles: Array<[u32; 3]>,
}

/// Memory for positions and triangles that are decoded for nothing else than to compute normals.
struct GeometryBuffers {
    positions: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
}

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
        let mut scratch = Scratch::default();
        let decoded = self.decoded_indices(Context::new(&self.meter(), &mut scratch))?;
        Ok(decoded.array)
    }

    pub(crate) fn decoded_indices(&self, context: Context<'_>) -> Result<Decoded<[u32; 3]>> {
        let slot = &self.decoded.indices;
        let section = &self.layout.indices;
        self.array(slot, section, context, |mesh, out, scratch| {
            mesh.indices(out, scratch)
        })
    }

    /// Positions.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`raw_triangles`](Self::raw_triangles).
    pub fn positions(&self) -> Result<Array<[f32; 3]>> {
        let mut scratch = Scratch::default();
        let decoded = self.decoded_positions(Context::new(&self.meter(), &mut scratch))?;
        Ok(decoded.array)
    }

    pub(crate) fn decoded_positions(&self, context: Context<'_>) -> Result<Decoded<[f32; 3]>> {
        let slot = &self.decoded.positions;
        let section = &self.layout.positions;
        self.array(slot, section, context, |mesh, out, scratch| {
            mesh.positions(out, scratch)
        })
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
        let mut scratch = Scratch::default();
        match self.decoded_normals(None, Context::new(&self.meter(), &mut scratch))? {
            Some(decoded) => Ok(Some(decoded.array)),
            None => Ok(None),
        }
    }

    /// Returns the normals. MG2 computes them from positions and triangles, which are decoded unless they are `known`.
    pub(crate) fn decoded_normals(
        &self,
        known: Option<DecodedGeometry>,
        context: Context<'_>,
    ) -> Result<Option<Decoded<[f32; 3]>>> {
        let Some(section) = &self.layout.normals else {
            return Ok(None);
        };
        let slot = &self.decoded.normals;
        if let Some(cached) = slot.get() {
            let normals = self.charged(cached.clone(), section, context.meter)?;
            return Ok(Some(normals));
        }
        let Some(grid) = &self.layout.grid else {
            let normals = self.array(slot, section, context, |mesh, out, scratch| {
                mesh.numbers(section, None, out, scratch)
            })?;
            return Ok(Some(normals));
        };
        let Context { meter, scratch } = context;
        // The positions and triangles stay charged until the normals are computed.
        let maker = meter.part_for_file();
        let geometry = match known {
            Some(geometry) => geometry,
            None => {
                let positions = self.decoded_positions(Context::new(&maker, scratch))?;
                let triangles = self.decoded_indices(Context::new(&maker, scratch))?;
                DecodedGeometry {
                    positions: positions.array,
                    triangles: triangles.array,
                }
            }
        };
        let context = Context::new(meter, scratch);
        let normals = self.array(slot, section, context, |mesh, out, scratch| {
            let geometry = Geometry {
                positions: &geometry.positions.to_native(),
                triangles: &geometry.triangles.to_native(),
            };
            mesh.predicted_normals(section, grid, geometry, out, scratch)
        })?;
        Ok(Some(normals))
    }

    /// Like [`normals`](Self::normals), into `out`, which gets their number.
    ///
    /// Returns `Ok(false)`, and no normals, if the file has none.
    ///
    /// For MG2, cached positions and indices are used; others are decoded into the scratch.
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
        let meter = self.meter();
        let Some(grid) = &self.layout.grid else {
            self.decode(&meter).numbers(section, None, out, scratch)?;
            return Ok(true);
        };
        // Out of the scratch, the rest of which the decoders use.
        let mut buffers = GeometryBuffers {
            positions: std::mem::take(&mut scratch.positions),
            triangles: std::mem::take(&mut scratch.triangles),
        };
        let context = Context::new(&meter, scratch);
        let result = self.predicted_normals_into(section, grid, &mut buffers, out, context);
        scratch.positions = buffers.positions;
        scratch.triangles = buffers.triangles;
        result?;
        Ok(true)
    }

    fn predicted_normals_into(
        &self,
        section: &Section,
        grid: &Grid,
        buffers: &mut GeometryBuffers,
        out: &mut Vec<[f32; 3]>,
        context: Context<'_>,
    ) -> Result<Ending> {
        let Context { meter, scratch } = context;
        let decode = self.decode(meter);
        let positions = match self.decoded.positions.get() {
            Some(cached) => cached.array.to_native(),
            None => {
                decode.positions(&mut buffers.positions, scratch)?;
                Cow::Borrowed(buffers.positions.as_slice())
            }
        };
        let triangles = match self.decoded.indices.get() {
            Some(cached) => cached.array.to_native(),
            None => {
                decode.indices(&mut buffers.triangles, scratch)?;
                Cow::Borrowed(buffers.triangles.as_slice())
            }
        };
        let geometry = Geometry {
            positions: &positions,
            triangles: &triangles,
        };
        decode.predicted_normals(section, grid, geometry, out, scratch)
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
        let scratch = &mut Scratch::default();
        // Indices first: they are mostly the largest block, so that their memory in the scratch suffices for all.
        let triangles = mesh.decoded_indices(Context::new(meter, scratch))?.array;
        let positions = mesh.decoded_positions(Context::new(meter, scratch))?.array;
        let geometry = DecodedGeometry {
            positions: positions.clone(),
            triangles: triangles.clone(),
        };
        let normals = mesh.decoded_normals(Some(geometry), Context::new(meter, scratch))?;
        let mut texcoords = Vec::with_capacity(self.layout.uv_maps.len());
        for index in 0..self.layout.uv_maps.len() {
            let decoded = mesh.decoded_uv_map(index, Context::new(meter, scratch))?;
            texcoords.push(decoded.array);
        }
        let mut attribute_maps = Vec::with_capacity(self.layout.attribute_maps.len());
        for index in 0..self.layout.attribute_maps.len() {
            let decoded = mesh.decoded_attribute_map(index, Context::new(meter, scratch))?;
            attribute_maps.push(decoded.array);
        }
        Ok(MeshArrays {
            triangles,
            positions,
            normals: normals.map(|decoded| decoded.array),
            texcoords,
            attribute_maps,
        })
    }

    /// Like [`arrays`](Self::arrays), into reused memory, on the calling thread.
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
        let meter = self.meter();
        let decode = mesh.decode(&meter);
        let layout = &self.layout;
        decode.positions(&mut out.positions, scratch)?;
        decode.indices(&mut out.triangles, scratch)?;
        match (&layout.normals, &layout.grid) {
            (None, _) => out.normals.clear(),
            (Some(section), None) => {
                decode.numbers(section, None, &mut out.normals, scratch)?;
            }
            (Some(section), Some(grid)) => {
                let geometry = Geometry {
                    positions: &out.positions,
                    triangles: &out.triangles,
                };
                decode.predicted_normals(section, grid, geometry, &mut out.normals, scratch)?;
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

    /// Returns the array in a section: a view of the file for RAW, otherwise the cached array, or a newly decoded one,
    /// which is cached if the limits allow it.
    pub(crate) fn array<T: Element + FromZeros + IntoBytes + Immutable>(
        &self,
        slot: &Slot<Decoded<T>>,
        section: &Section,
        context: Context<'_>,
        decode: impl FnOnce(Decode<'_>, &mut Vec<T>, &mut Scratch) -> Result<Ending>,
    ) -> Result<Decoded<T>> {
        let Context { meter, scratch } = context;
        if let Some(cached) = slot.get() {
            return self.charged(cached.clone(), section, meter);
        }
        if self.layout.method == Method::Raw {
            let array = self.decode(&self.meter()).view(section)?;
            return Ok(Decoded {
                array,
                ending: Ending::Clean,
            });
        }
        // Read before: code that fills a slot does no I/O, because other threads wait for it.
        let mut mesh = self.with_section(section)?;
        if section.part == SectionKind::Positions
            && let Some(grid) = &self.layout.grid
        {
            mesh = mesh.with_section(&grid.indices)?;
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
        self.charged(slot.get_or_try_make(make, keep)?, section, meter)
    }

    /// This mesh, with the bytes of a section in memory.
    fn with_section(&self, section: &Section) -> Result<Self> {
        let range = std::slice::from_ref(&section.range);
        match self.source.with_ranges(range, section.what) {
            Ok(source) => Ok(self.clone().with_source(&source)),
            Err(error) => Err(self.layout.place_of(section).locate(error)),
        }
    }

    /// Charges an array that may be cached to this call, also if another call has made it.
    fn charged<T: Element>(
        &self,
        decoded: Decoded<T>,
        section: &Section,
        meter: &Meter,
    ) -> Result<Decoded<T>> {
        meter.count_read(&section.range);
        match meter.take_kept(decoded.bytes(), section.what) {
            Ok(()) => Ok(decoded),
            Err(error) => Err(self.layout.place_of(section).locate(error)),
        }
    }

    /// Returns an error if all arrays together, decoded, are more than a call may decode. Views of RAW have no limit.
    pub(crate) fn check_total(&self) -> Result<()> {
        if self.layout.method == Method::Raw {
            return Ok(());
        }
        let meter = Meter::of_part(&self.options.limits, &self.range());
        match meter.take(self.layout.decoded_len(), "body") {
            Ok(_) => Ok(()),
            Err(error) => Err(self.layout.place().locate(error)),
        }
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
    for (map, out) in maps.iter().zip(out) {
        decode.map(map, out, scratch)?;
    }
    Ok(())
}

//! Decodes one array at a time, into the caller's memory.

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

use super::layout::{Grid, Layout, Map, Section};
use super::rules::{self, FILE};
use super::{mg1, mg2, normals};
use crate::bytes::{Array, Element, Source};
use crate::codec::lzma;
use crate::codec::planes::Planes;
use crate::decode::{self, Scratch};
use crate::limits::{Meter, resize_vec};
use crate::mesh::scan;
use crate::num::{Span, as_u64, as_usize, less_than};
use crate::options::Options;
use crate::report::{Error, Place, Result};

/// Decodes the arrays of a body.
///
/// Vectors are made as long as the array; their contents after an error are unspecified.
#[derive(Clone, Copy)]
pub(crate) struct Decode<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Options,
    pub(crate) meter: &'a Meter<'a>,
}

/// An array, and the end of its stream.
#[derive(Clone)]
pub(crate) struct Decoded<T> {
    pub(crate) array: Array<T>,
    pub(crate) ending: Ending,
}

impl<T: Element> Decoded<T> {
    /// The memory of the array in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        as_u64(self.array.as_bytes().len())
    }
}

/// The end of the stream of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// At the end of the array, or the array has no stream.
    Clean,
    /// It goes on: with an end marker, with more content, or with other bytes.
    Tail,
}

/// The stream of an array, decoded to byte planes.
pub(crate) struct Words<'a, const N: usize> {
    pub(crate) planes: Planes<'a, N>,
    pub(crate) ending: Ending,
}

/// The byte planes of the normals of MG2, in separate memory.
#[cfg(feature = "rayon")]
pub(crate) struct NormalPlanes {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ending: Ending,
}

/// Positions and triangles, from which normals are computed.
#[derive(Clone, Copy)]
pub(crate) struct Geometry<'a> {
    pub(crate) positions: &'a [[f32; 3]],
    pub(crate) triangles: &'a [[u32; 3]],
}

/// The check of the grid indices.
pub(crate) struct GridCheck {
    /// `None` if all are in the grid.
    pub(crate) outside: Option<OutsideGrid>,
    pub(crate) ending: Ending,
}

/// Vertices whose grid index is beyond the grid.
pub(crate) struct OutsideGrid {
    pub(crate) count: u64,
    /// The first one.
    pub(crate) vertex: u64,
    /// Its grid index.
    pub(crate) cell: u32,
}

impl Decode<'_> {
    /// An array that is stored uncompressed.
    pub(crate) fn view<T: Element>(&self, section: &Section) -> Result<Array<T>> {
        match self.source.get(section.range.clone(), section.what) {
            Ok(bytes) => Ok(Array::new(bytes)),
            Err(error) => Err(self.locate(section, error)),
        }
    }

    /// The indices, not compared with the vertex count.
    pub(crate) fn indices(&self, out: &mut Vec<[u32; 3]>, scratch: &mut Scratch) -> Result<Ending> {
        let section = &self.layout.indices;
        self.resize(section, out)?;
        if section.props.is_none() {
            return self.copy(section, out);
        }
        let words = self.words(section, scratch)?;
        mg1::indices(&words.planes, out);
        Ok(words.ending)
    }

    /// The positions, with the predictions of MG2 undone.
    pub(crate) fn positions(
        &self,
        out: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<Ending> {
        let section = &self.layout.positions;
        self.resize(section, out)?;
        if section.props.is_none() {
            return self.copy(section, out);
        }
        if let Some(grid) = &self.layout.grid {
            return self.grid_positions(section, grid, out, scratch);
        }
        let words = self.words(section, scratch)?;
        mg1::positions(&words.planes, out);
        Ok(words.ending)
    }

    /// Positions of MG2: first the grid indices, then the positions in their cells.
    ///
    /// Until its position replaces it, the grid index of a vertex is the first word of the memory of
    /// the position. The words then become the bits of the coordinates. Grid indices need no other
    /// memory.
    fn grid_positions(
        &self,
        section: &Section,
        grid: &Grid,
        out: &mut [[f32; 3]],
        scratch: &mut Scratch,
    ) -> Result<Ending> {
        let vertices: &mut [[u32; 3]] = zerocopy::transmute_mut!(out);
        let cells = self.words(&grid.indices, scratch)?;
        mg2::grid_indices(&cells.planes, vertices, |cell, vertex| {
            *vertex = [cell, 0, 0];
        });
        let words = self.words(section, scratch)?;
        mg2::positions(&words.planes, &grid.boxes, vertices);
        Ok(words.ending)
    }

    /// Finds the vertices whose grid index is beyond the grid.
    pub(crate) fn check_grid(&self, grid: &Grid, scratch: &mut Scratch) -> Result<GridCheck> {
        let cells = self.words(&grid.indices, scratch)?;
        let mut vertex = 0;
        let mut outside: Option<OutsideGrid> = None;
        // Nothing is stored for a vertex: a vector of `()` occupies no memory.
        let mut vertices = vec![(); self.layout.vertex_count()];
        mg2::grid_indices(&cells.planes, &mut vertices, |cell, ()| {
            if !grid.boxes.contains(cell) {
                let found = outside.get_or_insert(OutsideGrid {
                    count: 0,
                    vertex,
                    cell,
                });
                found.count = found.count.saturating_add(1);
            }
            vertex = vertex.saturating_add(1);
        });
        Ok(GridCheck {
            outside,
            ending: cells.ending,
        })
    }

    /// The numbers of a map.
    pub(crate) fn map<const N: usize>(
        &self,
        map: &Map,
        out: &mut Vec<[f32; N]>,
        scratch: &mut Scratch,
    ) -> Result<Ending>
    where
        [f32; N]: Element + FromBytes,
    {
        self.numbers(&map.section, map.precision, out, scratch)
    }

    /// Decodes numbers; if there is a precision, in fixed point. Normals of MG2 are not stored like this.
    pub(crate) fn numbers<const N: usize>(
        &self,
        section: &Section,
        precision: Option<f32>,
        out: &mut Vec<[f32; N]>,
        scratch: &mut Scratch,
    ) -> Result<Ending>
    where
        [f32; N]: Element + FromBytes,
    {
        self.resize(section, out)?;
        if section.props.is_none() {
            return self.copy(section, out);
        }
        let words = self.words(section, scratch)?;
        match precision {
            Some(precision) => mg2::numbers(&words.planes, precision, out),
            None => mg1::numbers(&words.planes, out),
        }
        Ok(words.ending)
    }

    /// Normals of MG2, from positions and triangles.
    pub(crate) fn predicted_normals(
        &self,
        section: &Section,
        grid: &Grid,
        geometry: Geometry<'_>,
        out: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<Ending> {
        self.resize(section, out)?;
        let Geometry {
            positions,
            triangles,
        } = geometry;
        let words = self.words(section, scratch)?;
        out.fill([0.0; 3]);
        let are_in_range = normals::add_triangles_of_job(positions, triangles, 0, out)?;
        if !are_in_range {
            self.check_indices(triangles)?;
        }
        normals::restore(&words.planes, grid.header.normal_precision.get(), out);
        Ok(words.ending)
    }

    /// Returns the end of the stream of an array, which is decoded for nothing else.
    pub(crate) fn ending(&self, section: &Section, scratch: &mut Scratch) -> Result<Ending> {
        Ok(self.words::<1>(section, scratch)?.ending)
    }

    /// Returns an error if an index is not less than the vertex count.
    pub(crate) fn check_indices(&self, triangles: &[[u32; 3]]) -> Result<()> {
        let corners = triangles.as_flattened();
        let count = self.layout.vertex_count();
        let Some(found) = scan::out_of_range(corners.iter().copied(), count) else {
            return Ok(());
        };
        // An address counts corners, each of which is one word.
        let corner = found.first;
        let place = self
            .layout
            .place_of_word(&self.layout.indices, corner, corner);
        let index = corners.get(as_usize(corner)).copied().unwrap_or_default();
        let error = place.malformed(rules::INDEX_OUT_OF_RANGE.name);
        Err(error.expected(less_than(count)).found(index))
    }

    /// Decodes the stream of an array into the memory of the scratch, which is charged only for this call.
    fn words<'s, const N: usize>(
        &self,
        section: &Section,
        scratch: &'s mut Scratch,
    ) -> Result<Words<'s, N>> {
        // The decoder of the stream borrows the whole scratch, so its buffer is moved out meanwhile,
        // and back also after an error.
        let mut buffer = std::mem::take(&mut scratch.bytes);
        let result = self.decode_planes(section, &mut buffer, scratch);
        scratch.bytes = buffer;
        let ending = result?;
        let planes = scratch.bytes.get(..as_usize(section.decoded_len()));
        Ok(Words {
            planes: Planes::new(planes.unwrap_or_default()),
            ending,
        })
    }

    /// Decodes the stream of an array to the beginning of a buffer, which grows if it is too small.
    fn decode_planes(
        &self,
        section: &Section,
        buffer: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<Ending> {
        // The part of the meter releases the charge for the buffer when it is dropped.
        let part = self.meter.part();
        let decode = Decode {
            meter: &part,
            ..*self
        };
        decode.grow_buffer(section, buffer)?;
        let planes = buffer
            .get_mut(..as_usize(section.decoded_len()))
            .unwrap_or_default();
        decode.stream_into(section, planes, scratch)
    }

    /// Makes a reused buffer large enough for the planes of an array. All of the buffer is charged, however much of it the
    /// array needs.
    fn grow_buffer(&self, section: &Section, buffer: &mut Vec<u8>) -> Result<()> {
        let capacity = as_u64(buffer.len());
        let needed = section.decoded_len();
        if capacity >= needed
            && let Ok(charge) = self.meter.take(capacity, section.what)
        {
            charge.keep();
            return Ok(());
        }
        // Released first, and not copied: none of the old bytes are needed.
        *buffer = Vec::new();
        self.resize_to(section, needed, buffer)
    }

    /// The byte planes of the normals, in separate memory.
    #[cfg(feature = "rayon")]
    pub(crate) fn normal_planes(
        &self,
        section: &Section,
        scratch: &mut Scratch,
    ) -> Result<NormalPlanes> {
        let mut bytes = Vec::new();
        self.resize_to(section, section.decoded_len(), &mut bytes)?;
        let ending = self.stream_into(section, &mut bytes, scratch)?;
        Ok(NormalPlanes { bytes, ending })
    }

    /// Decodes the stream of an array into memory of its decoded length.
    fn stream_into(
        &self,
        section: &Section,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<Ending> {
        let Some(props) = section.props else {
            let error = self.stream_place(section).malformed(section.what);
            return Err(error
                .expected("an LZMA stream")
                .found("an array that is stored as it is"));
        };
        match self.try_stream_into(section, props, out, scratch) {
            Ok(end) if end.is_clean => Ok(Ending::Clean),
            Ok(_) => Ok(Ending::Tail),
            // The place is made only now: an address allocates.
            Err(error) => Err(self.source.locate(self.stream_place(section).locate(error))),
        }
    }

    fn try_stream_into(
        &self,
        section: &Section,
        props: [u8; 5],
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<lzma::End> {
        // Charged before: streams that cannot be decoded also take time.
        self.meter.work(as_u64(out.len()), section.what)?;
        let input = self.source.get(section.range.clone(), section.what)?;
        decode::lzma_into(&input, props, out, section.what, self.options, scratch)
    }

    /// The stream of an array, without its header.
    fn stream_place(&self, section: &Section) -> Place {
        FILE.of(section.part.address(self.layout.body))
            .at(section.range.clone())
    }

    /// Makes a vector as long as an array.
    fn resize<T: FromZeros + Clone>(&self, section: &Section, out: &mut Vec<T>) -> Result<()> {
        self.resize_to(section, section.count, out)
    }

    /// Makes a vector of `count` elements for an array. The bytes of the array are in the source.
    fn resize_to<T: FromZeros + Clone>(
        &self,
        section: &Section,
        count: u64,
        out: &mut Vec<T>,
    ) -> Result<()> {
        let ranges = std::slice::from_ref(&section.range);
        if let Err(error) = self.source.require(ranges, section.what) {
            return Err(self.locate(section, error));
        }
        self.meter.count_read(&section.range);
        let stored = section.range.length();
        match resize_vec(self.meter, out, stored, count, section.what) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.locate(section, error)),
        }
    }

    /// Adds the address and the bytes of an array to an error.
    fn locate(&self, section: &Section, error: Error) -> Error {
        self.layout.place_of(section).locate(error)
    }

    /// Copies an array that is stored uncompressed to memory of its length.
    fn copy<T>(&self, section: &Section, out: &mut [T]) -> Result<Ending>
    where
        T: Element + FromBytes + IntoBytes + Immutable,
    {
        if cfg!(target_endian = "little") && !self.source.is_in_memory() {
            let bytes = out.as_mut_bytes();
            return match self
                .source
                .read_to(section.range.clone(), section.what, bytes)
            {
                Ok(()) => Ok(Ending::Clean),
                Err(error) => Err(self.locate(section, error)),
            };
        }
        let array = self.view(section)?;
        match array.as_native() {
            Some(native) if native.len() == out.len() => out.copy_from_slice(native),
            _ => {
                for (copy, element) in out.iter_mut().zip(array.iter()) {
                    *copy = element;
                }
            }
        }
        Ok(Ending::Clean)
    }
}

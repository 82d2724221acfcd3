//! Decodes one array at a time, into the caller's memory.

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

use super::layout::{Grid, Layout, Map, Section};
use super::rules::{self, FILE};
use super::{mg1, mg2, normals};
use crate::bytes::{Array, Element, Source};
use crate::codec::planes::Planes;
use crate::decode::{self, Scratch};
use crate::limits::Meter;
use crate::mesh::scan;
use crate::num::{Span, as_u64, as_usize, less_than};
use crate::options::Options;
use crate::report::Result;

/// Decodes the arrays of a body.
///
/// Vectors are made as long as the array; what they hold after an error is unspecified.
#[derive(Clone, Copy)]
pub(crate) struct Decode<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Options,
    pub(crate) meter: &'a Meter<'a>,
}

/// An array, and how its stream ended.
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

/// Vertices whose grid index is beyond the grid.
pub(crate) struct OutsideGrid {
    pub(crate) count: u64,
    /// The first one.
    pub(crate) vertex: u64,
    /// Its grid index.
    pub(crate) cell: u32,
}

impl Decode<'_> {
    /// An array that is stored as it is.
    pub(crate) fn view<T: Element>(&self, section: &Section) -> Result<Array<T>> {
        let bytes = self.source.get(section.range.clone(), section.what);
        bytes
            .map(Array::new)
            .map_err(|error| self.layout.place_of(section).locate(error))
    }

    /// The indices, not compared with the vertex count.
    pub(crate) fn indices(&self, out: &mut Vec<[u32; 3]>, scratch: &mut Scratch) -> Result<Ending> {
        let section = &self.layout.indices;
        self.resize(section, out)?;
        if section.props.is_none() {
            return self.copy(section, out);
        }
        self.words(section, scratch, |words| mg1::indices(words, out))
    }

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
        let Some(grid) = &self.layout.grid else {
            return self.words(section, scratch, |words| mg1::positions(words, out));
        };
        // Grid indices wait where the positions will be, and take no memory of their own.
        let bits: &mut [[u32; 3]] = zerocopy::transmute_mut!(&mut out[..]);
        self.words(&grid.indices, scratch, |cells| {
            mg2::grid_indices(cells, bits, |cell, place| *place = [cell, 0, 0]);
        })?;
        self.words(section, scratch, |words| {
            mg2::positions(words, &grid.boxes, bits)
        })
    }

    /// The vertices whose grid index is beyond the grid.
    pub(crate) fn outside_grid(
        &self,
        grid: &Grid,
        scratch: &mut Scratch,
    ) -> Result<(Option<OutsideGrid>, Ending)> {
        let (mut vertex, mut outside) = (0, None);
        let ending = self.words(&grid.indices, scratch, |cells| {
            // Nothing is kept of a vertex, so its place takes up nothing.
            mg2::grid_indices(
                cells,
                &mut vec![(); self.layout.vertex_count()],
                |cell, ()| {
                    if !grid.boxes.contains(cell) {
                        let found = outside.get_or_insert(OutsideGrid {
                            count: 0_u64,
                            vertex,
                            cell,
                        });
                        found.count = found.count.saturating_add(1);
                    }
                    vertex = vertex.saturating_add(1);
                },
            );
        })?;
        Ok((outside, ending))
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
        self.words(section, scratch, |words| match precision {
            Some(precision) => mg2::numbers(words, precision, out),
            None => mg1::numbers(words, out),
        })
    }

    /// Normals of MG2, from positions and triangles.
    pub(crate) fn predicted_normals(
        &self,
        (section, grid): (&Section, &Grid),
        (positions, triangles): (&[[f32; 3]], &[[u32; 3]]),
        out: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<Ending> {
        self.resize(section, out)?;
        let mut are_in_range = Ok(true);
        let ending = self.words(section, scratch, |words| {
            out.fill([0.0; 3]);
            are_in_range = normals::add_triangles_of_job(positions, triangles, 0, out);
            normals::restore(words, grid.header.normal_precision.get(), out);
        })?;
        if !are_in_range? {
            self.check_indices(triangles)?;
        }
        Ok(ending)
    }

    /// Returns the end of the stream of an array, which is decoded for nothing else.
    pub(crate) fn ending(&self, section: &Section, scratch: &mut Scratch) -> Result<Ending> {
        self.words::<1>(section, scratch, |_| {})
    }

    /// Fails where an index names no vertex.
    pub(crate) fn check_indices(&self, triangles: &[[u32; 3]]) -> Result<()> {
        let (corners, count) = (triangles.as_flattened(), self.layout.vertex_count());
        let Some(found) = scan::out_of_range(corners.iter().copied(), count) else {
            return Ok(());
        };
        let place = self
            .layout
            .place_of_word(&self.layout.indices, found.first, found.first);
        let index = corners
            .get(as_usize(found.first))
            .copied()
            .unwrap_or_default();
        let error = place.malformed(rules::INDEX_OUT_OF_RANGE.name);
        Err(error.expected(less_than(count)).found(index))
    }

    /// Calls `job` with the words of an array, which are in the scratch's memory.
    fn words<const N: usize>(
        &self,
        section: &Section,
        scratch: &mut Scratch,
        job: impl FnOnce(&Planes<'_, N>),
    ) -> Result<Ending> {
        let mut bytes = std::mem::take(&mut scratch.bytes);
        let working = self.meter.part();
        let within = Decode {
            meter: &working,
            ..*self
        };
        let result = within.make_room(section, &mut bytes).and_then(|()| {
            let planes = bytes
                .get_mut(..as_usize(section.decoded_len()))
                .unwrap_or_default();
            let ending = self.stream_into(section, planes, scratch);
            if ending.is_ok() {
                job(&Planes::new(planes));
            }
            ending
        });
        scratch.bytes = bytes;
        result
    }

    /// Makes room for the planes of an array. All of the scratch's memory is charged, while it is used.
    fn make_room(&self, section: &Section, bytes: &mut Vec<u8>) -> Result<()> {
        let (there, len) = (as_u64(bytes.len()), section.decoded_len());
        if there >= len
            && let Ok(charge) = self.meter.take(there, section.what)
        {
            charge.keep();
            return Ok(());
        }
        // Given back first, and not copied: none of it is needed.
        *bytes = Vec::new();
        self.resize_to(section, len, bytes)
    }

    /// The bytes of an array, in planes, in memory of their own.
    #[cfg(feature = "rayon")]
    pub(crate) fn own_planes(
        &self,
        section: &Section,
        scratch: &mut Scratch,
    ) -> Result<(Vec<u8>, Ending)> {
        let mut bytes = Vec::new();
        self.resize_to(section, section.decoded_len(), &mut bytes)?;
        let ending = self.stream_into(section, &mut bytes, scratch)?;
        Ok((bytes, ending))
    }

    fn stream_into(
        &self,
        section: &Section,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<Ending> {
        // Made only when needed: an address allocates.
        let place = || {
            FILE.of(section.part.address(self.layout.body))
                .at(section.range.clone())
        };
        let props = section.props.ok_or_else(|| {
            place()
                .malformed(section.what)
                .expected("an LZMA stream")
                .found("an array that is stored as it is")
        })?;
        // Also what cannot be decoded takes time.
        let end = self
            .meter
            .work(as_u64(out.len()), section.what)
            .and_then(|()| self.source.get(section.range.clone(), section.what))
            .and_then(|input| {
                decode::lzma_into(&input, props, out, section.what, self.options, scratch)
            });
        let end = end.map_err(|error| self.source.locate(place().locate(error)))?;
        Ok(if end.is_clean {
            Ending::Clean
        } else {
            Ending::Tail
        })
    }

    /// Makes room for the elements of an array.
    fn resize<T: FromZeros + Clone>(&self, section: &Section, out: &mut Vec<T>) -> Result<()> {
        self.resize_to(section, section.count, out)
    }

    fn resize_to<T: FromZeros + Clone>(
        &self,
        section: &Section,
        count: u64,
        out: &mut Vec<T>,
    ) -> Result<()> {
        let required = self
            .source
            .require(std::slice::from_ref(&section.range), section.what);
        required.map_err(|error| self.layout.place_of(section).locate(error))?;
        self.meter.count_read(&section.range);
        self.meter
            .resize(out, section.range.length(), count, section.what)
            .map_err(|error| self.layout.place_of(section).locate(error))
    }

    /// An array that is stored as it is, into memory of its length.
    fn copy<T>(&self, section: &Section, out: &mut [T]) -> Result<Ending>
    where
        T: Element + FromBytes + IntoBytes + Immutable,
    {
        if cfg!(target_endian = "little") && !self.source.is_in_memory() {
            let read = self
                .source
                .read_to(section.range.clone(), section.what, out.as_mut_bytes());
            return read
                .map(|()| Ending::Clean)
                .map_err(|error| self.layout.place_of(section).locate(error));
        }
        let array = self.view(section)?;
        match array.as_native() {
            Some(native) if native.len() == out.len() => out.copy_from_slice(native),
            _ => out
                .iter_mut()
                .zip(array.iter())
                .for_each(|(place, element)| *place = element),
        }
        Ok(Ending::Clean)
    }
}

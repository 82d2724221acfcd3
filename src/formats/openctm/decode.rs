//! One array at a time: its stream decoded into memory that is used again, then taken apart into the caller's slice.

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::layout::{Grid, Layout, Map, Method, Section};
use super::mg2::{self, GridBoxes};
use super::rules::{self, FILE};
use super::{mg1, normals};
use crate::bytes::{Array, Element, Source};
use crate::codec::planes::Planes;
use crate::decode::{self, Scratch};
use crate::limits::Budget;
use crate::mesh::scan;
use crate::num::{as_u64, as_usize, decimal};
use crate::options::Options;
use crate::report::{Error, Result};

/// What decodes the arrays of a body.
#[derive(Clone, Copy)]
pub(crate) struct Decode<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Options,
}

impl Decode<'_> {
    /// An array that is stored as it is.
    pub(crate) fn view<T: Element>(&self, section: &Section) -> Result<Array<T>> {
        let bytes = self.source.get(section.range.clone(), section.what);
        bytes.map(Array::new).map_err(|error| error.of(section.part.address(self.layout.body)))
    }

    /// The indices, not compared with the vertex count.
    pub(crate) fn indices(&self, out: &mut [[u32; 3]], scratch: &mut Scratch) -> Result<()> {
        if self.layout.method == Method::Raw {
            return self.view(&self.layout.indices).map(|array| copy(&array, out));
        }
        mg1::indices(&Planes::new(self.planes(&self.layout.indices, scratch)?), out);
        Ok(())
    }

    pub(crate) fn positions(&self, out: &mut [[f32; 3]], scratch: &mut Scratch) -> Result<()> {
        let section = &self.layout.positions;
        match (&self.layout.grid, self.layout.method) {
            (Some(grid), _) => self.grid_positions(grid, out, scratch),
            (None, Method::Raw) => self.view(section).map(|array| copy(&array, out)),
            (None, _) => {
                mg1::positions(&Planes::new(self.planes(section, scratch)?), out);
                Ok(())
            }
        }
    }

    fn grid_positions(&self, grid: &Grid, out: &mut [[f32; 3]], scratch: &mut Scratch) -> Result<()> {
        let bits = <[[u32; 3]]>::mut_from_bytes(out.as_mut_bytes()).unwrap_or_default();
        // Grid indices wait where the positions will be, and take no memory of their own.
        let cells = Planes::new(self.planes(&grid.indices, scratch)?);
        mg2::grid_indices(&cells, bits, |cell, place| *place = [cell, 0, 0]);
        let planes = self.planes(&self.layout.positions, scratch)?;
        if let Some(boxes) = GridBoxes::new(&grid.header) {
            mg2::positions(&Planes::new(planes), &boxes, bits);
        }
        Ok(())
    }

    /// Of the vertices whose grid index is beyond the grid, how many there are, the first one, and its grid index.
    pub(crate) fn outside_grid(
        &self,
        grid: &Grid,
        scratch: &mut Scratch,
    ) -> Result<Option<(u64, usize, u32)>> {
        let Some(boxes) = GridBoxes::new(&grid.header) else { return Ok(None) };
        let cells = Planes::new(self.planes(&grid.indices, scratch)?);
        let (mut vertex, mut outside) = (0_usize, None);
        // Nothing is kept of a vertex, so its place takes up nothing.
        mg2::grid_indices(&cells, &mut vec![(); self.layout.vertex_count()], |cell, ()| {
            if !boxes.contains(cell) {
                let (count, first, of_first) = outside.unwrap_or((0_u64, vertex, cell));
                outside = Some((count.saturating_add(1), first, of_first));
            }
            vertex = vertex.saturating_add(1);
        });
        Ok(outside)
    }

    /// Normals of RAW and MG1, and the numbers of maps.
    pub(crate) fn numbers<const N: usize>(
        &self,
        section: &Section,
        precision: Option<f32>,
        out: &mut [[f32; N]],
        scratch: &mut Scratch,
    ) -> Result<()>
    where
        [f32; N]: Element,
    {
        if self.layout.method == Method::Raw {
            return self.view(section).map(|array| copy(&array, out));
        }
        let planes = Planes::new(self.planes(section, scratch)?);
        match precision {
            Some(precision) => mg2::numbers(&planes, precision, out),
            None => mg1::numbers(&planes, out),
        }
        Ok(())
    }

    pub(crate) fn map<const N: usize>(
        &self,
        map: &Map,
        out: &mut [[f32; N]],
        scratch: &mut Scratch,
    ) -> Result<()>
    where
        [f32; N]: Element,
    {
        self.numbers(&map.section, map.precision, out, scratch)
    }

    /// Normals of MG2, from positions and triangles.
    pub(crate) fn predicted_normals(
        &self,
        section: &Section,
        (positions, triangles): (&[[f32; 3]], &[[u32; 3]]),
        out: &mut [[f32; 3]],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Some(grid) = &self.layout.grid else { return Ok(()) };
        let planes = Planes::new(self.planes(section, scratch)?);
        out.fill([0.0; 3]);
        if !normals::add_triangles(positions, triangles, 0, out) {
            return self.check_indices(triangles);
        }
        normals::restore(&planes, grid.header.normal_precision.get(), out);
        Ok(())
    }

    /// Fails where an index names no vertex.
    pub(crate) fn check_indices(&self, triangles: &[[u32; 3]]) -> Result<()> {
        let corners = triangles.as_flattened();
        let count = self.layout.vertex_count();
        let Some(found) = scan::out_of_range(corners.iter().copied(), count) else { return Ok(()) };
        let section = &self.layout.indices;
        let address = section.part.address(self.layout.body).index(found.first);
        let error = FILE.malformed(rules::INDEX_OUT_OF_RANGE.name).of(address);
        let error = error.at(section.stored_range());
        let index = usize::try_from(found.first).ok().and_then(|corner| corners.get(corner)).copied();
        Err(error.expected(format!("less than {count}")).found(index.unwrap_or_default()))
    }

    /// The bytes of an array, in planes, in the scratch's memory.
    fn planes<'s>(&self, section: &Section, scratch: &'s mut Scratch) -> Result<&'s [u8]> {
        let len = as_usize(section.decoded_len);
        let mut bytes = std::mem::take(&mut scratch.bytes);
        if bytes.len() < len {
            // Given back first, and not copied: none of it is needed.
            drop(bytes);
            bytes = self.room(section)?;
        }
        let result = self.stream_into(section, bytes.get_mut(..len).unwrap_or_default(), scratch);
        scratch.bytes = bytes;
        result.map(|()| scratch.bytes.get(..len).unwrap_or_default())
    }

    /// The bytes of an array, in planes, in memory of their own.
    #[cfg(feature = "rayon")]
    pub(crate) fn own_planes(&self, section: &Section, scratch: &mut Scratch) -> Result<Vec<u8>> {
        let mut bytes = self.room(section)?;
        self.stream_into(section, &mut bytes, scratch)?;
        Ok(bytes)
    }

    fn stream_into(&self, section: &Section, out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let Some(props) = section.props else { return Ok(()) };
        let mut read = || {
            let input = self.source.get(section.range.clone(), section.what)?;
            decode::lzma_into(&input, props, out, section.what, self.options, scratch)
        };
        let place = || FILE.of(section.part.address(self.layout.body)).at(section.range.clone());
        let end = read().map_err(|error: Error| place().locate(error))?;
        if !end.is_clean {
            section.note_tail();
        }
        Ok(())
    }

    fn room(&self, section: &Section) -> Result<Vec<u8>> {
        let room = Budget::new(&self.options.limits).vec(section.decoded_len, section.what);
        room.map_err(|error| error.of(section.part.address(self.layout.body)).at(section.stored_range()))
    }
}

fn copy<T: Element + IntoBytes + Immutable>(array: &Array<T>, out: &mut [T]) {
    match array.as_native() {
        Some(native) if native.len() == out.len() => out.copy_from_slice(native),
        _ => out.iter_mut().zip(array.iter()).for_each(|(place, element)| *place = element),
    }
}

/// Fails where a caller's slice does not have the size of what goes into it.
pub(crate) fn check_room(found: usize, expected: usize, what: &'static str) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let error = FILE.out_of_range(what);
    let expected = format!("room for {} elements", decimal(as_u64(expected)));
    Err(error.expected(expected).found(decimal(as_u64(found))))
}

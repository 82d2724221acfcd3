//! The vertices that triangles use, from which meshes and groups with their own vertices are made.

use std::ops::Range;

use super::indices::vertex_range;
use crate::limits::{Meter, take_block, zeroed, zeroed_vec};
use crate::num::{as_u64, as_usize};
use crate::report::Result;

/// The vertices that triangles use, in ascending order, and the triangles with indices into that list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UsedVertices {
    pub(crate) vertices: Vec<u32>,
    pub(crate) indices: Vec<u32>,
}

impl UsedVertices {
    /// Finds the vertices of `count` corners, whose indices occupy `stored` bytes.
    ///
    /// Takes time in proportion to the corners if they use most vertices of a range, and the time of sorting them otherwise.
    pub(crate) fn of(
        corners: impl Iterator<Item = u32> + Clone,
        count: u64,
        stored: u64,
        meter: &Meter,
    ) -> Result<Self> {
        let range = vertex_range(corners.clone());
        // A table of the whole range then takes no more memory than sorting.
        let is_dense = u64::from(range.end.saturating_sub(range.start)) <= count / 2;
        if is_dense {
            Self::by_table(corners, &range, count, stored, meter)
        } else {
            Self::by_sorting(corners, count, stored, meter)
        }
    }

    fn by_table(
        corners: impl Iterator<Item = u32> + Clone,
        range: &Range<u32>,
        count: u64,
        stored: u64,
        meter: &Meter,
    ) -> Result<Self> {
        let entry_of = |corner: u32| as_usize(corner.saturating_sub(range.start));
        let span = u64::from(range.end.saturating_sub(range.start));
        // First 1 for each vertex that is used, then its index among these vertices.
        let working = meter.part();
        let mut table: Vec<u32> = zeroed_vec(&working, stored, span, VERTICES)?;
        for corner in corners.clone() {
            if let Some(entry) = table.get_mut(entry_of(corner)) {
                *entry = 1;
            }
        }

        let mut used = 0_u64;
        for entry in &table {
            used = used.saturating_add((*entry).into());
        }
        let mut vertices: Vec<u32> = zeroed_vec(meter, stored, used, VERTICES)?;
        let mut free = vertices.iter_mut().zip(0..);
        for (entry, vertex) in table.iter_mut().zip(range.clone()) {
            if *entry == 0 {
                continue;
            }
            if let Some((listed, index)) = free.next() {
                *listed = vertex;
                *entry = index;
            }
        }

        let mut indices: Vec<u32> = zeroed_vec(meter, stored, count, TRIANGLES)?;
        for (index, corner) in indices.iter_mut().zip(corners) {
            *index = table.get(entry_of(corner)).copied().unwrap_or_default();
        }
        Ok(Self { vertices, indices })
    }

    fn by_sorting(
        corners: impl Iterator<Item = u32> + Clone,
        count: u64,
        stored: u64,
        meter: &Meter,
    ) -> Result<Self> {
        let mut charge = take_block(meter, stored, count.saturating_mul(4), VERTICES)?;
        let mut vertices: Vec<u32> = zeroed(count, VERTICES)?;
        for (vertex, corner) in vertices.iter_mut().zip(corners.clone()) {
            *vertex = corner;
        }
        vertices.sort_unstable();
        vertices.dedup();
        vertices.shrink_to_fit();
        charge.shrink_to(as_u64(vertices.len()).saturating_mul(4));
        charge.keep();
        let mut indices: Vec<u32> = zeroed_vec(meter, stored, count, TRIANGLES)?;
        for (index, corner) in indices.iter_mut().zip(corners) {
            // Every corner is in the list, which has at most as many vertices as indices can name.
            let found = vertices.binary_search(&corner).unwrap_or_default();
            *index = u32::try_from(found).unwrap_or(u32::MAX);
        }
        Ok(Self { vertices, indices })
    }
}

const VERTICES: &str = "vertices of a mesh";
const TRIANGLES: &str = "triangles of a mesh";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use proptest::prelude::*;

    #[test]
    fn vertices_are_those_of_the_corners_and_ascend() {
        let corners = [7, 3, 9, 9, 3, 7];
        let meter = Meter::of_call(&Limits::default());
        let used = UsedVertices::of(corners.into_iter(), 6, 24, &meter).unwrap();
        assert_eq!(
            (used.vertices, used.indices),
            (vec![3, 7, 9], vec![1, 0, 2, 2, 0, 1])
        );
        assert_eq!(meter.held(), 4 * (3 + 6));
        let none = UsedVertices::of([].into_iter(), 0, 0, &meter).unwrap();
        assert_eq!(
            none,
            UsedVertices {
                vertices: vec![],
                indices: vec![]
            }
        );
    }

    #[test]
    fn memory_is_charged() {
        let meter = Meter::of_call(&Limits::default().with_max_total_bytes(40));
        let error =
            UsedVertices::of([0, 1, u32::MAX, 2, 3, 4].into_iter(), 6, 0, &meter).unwrap_err();
        assert_eq!(error.kind(), crate::report::ErrorKind::LimitExceeded);
    }

    proptest! {
        #[test]
        fn both_ways_find_the_same(corners in prop::collection::vec(5..60_u32, 1..200)) {
            let meter = Meter::of_call(&Limits::default());
            let count = corners.len() as u64;
            let corners = corners.into_iter();
            let table = UsedVertices::by_table(corners.clone(), &(5..60), count, 0, &meter).unwrap();
            let sorted = UsedVertices::by_sorting(corners.clone(), count, 0, &meter).unwrap();
            prop_assert_eq!(&table, &sorted);
            let back: Vec<u32> = table.indices.iter().map(|index| table.vertices[*index as usize]).collect();
            prop_assert_eq!(back, corners.collect::<Vec<_>>());
        }
    }
}

//! One index buffer out of several: meshes that have an index for each attribute.

use super::material_group::MaterialGroup;
use crate::limits::job;
use crate::num::{as_u64, as_usize, decimal, less_than};
use crate::report::{Address, Error, ErrorKind, Result};

/// The end of a list of vertices.
const NONE: u32 = u32::MAX;

/// One index buffer for a mesh that stores an index for each attribute.
///
/// CGeo and TMF store, for each corner of a triangle, an index into the positions, another into the normals, and so on;
/// a GPU takes one index for all. Corners with equal indices become one vertex; no positions are merged by distance.
/// Vertices are numbered in the order of their first use, so that the same input gives the same mesh.
///
/// A remap holds no attributes, only their sources for each vertex ([`sources`](Self::sources)). It is computed once
/// for a topology; another snapshot with the same indices then costs one [`gather_into`](Self::gather_into) for each
/// attribute.
///
/// # Examples
///
/// Two triangles that share an edge, whose normals do not:
///
/// ```
/// use meshmap::VertexRemap;
///
/// let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]];
/// let normals = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]];
/// let remap = VertexRemap::new(&[&[0, 1, 2, 2, 1, 3], &[0, 0, 0, 0, 0, 1]], &[positions.len(), normals.len()])?;
///
/// assert_eq!(remap.indices(), [0, 1, 2, 2, 1, 3]);
/// assert_eq!(remap.gather(0, &positions)?.len(), remap.vertex_count());
/// assert_eq!(remap.gather(1, &normals)?[3], [1.0, 0.0, 0.0]);
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VertexRemap {
    indices: Vec<u32>,
    /// For each attribute, the element of each vertex.
    sources: Vec<Vec<u32>>,
    /// For each attribute, how many elements there are.
    counts: Vec<usize>,
    groups: Vec<MaterialGroup>,
    triangles: Option<Vec<u32>>,
}

impl VertexRemap {
    /// Makes a remap. For each attribute, `streams` has the index of each corner, and `counts` the number of elements.
    ///
    /// Takes time in proportion to the number of corners where few vertices share an element of the first attribute
    /// (put positions first), and never more than sorting them takes.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) for an index that is not less than its count, with the attribute and the
    /// corner as its [address](Error::address) `streams[attribute][corner]`; [`Mismatch`](ErrorKind::Mismatch) for
    /// streams of several lengths or without a count; [`LimitExceeded`](ErrorKind::LimitExceeded) for more corners
    /// than 32 bits number.
    pub fn new(streams: &[&[u32]], counts: &[usize]) -> Result<Self> {
        check(streams, counts)?;
        let (indices, firsts) = number(streams)?;
        let mut sources = Vec::with_capacity(streams.len());
        for stream in streams {
            sources.push(gather(stream, &firsts));
        }
        Ok(Self {
            indices,
            sources,
            counts: counts.to_vec(),
            groups: Vec::new(),
            triangles: None,
        })
    }

    /// Makes a remap whose triangles are ordered by material; [`groups`](Self::groups) has the triangles of each.
    ///
    /// `materials` has an element for each triangle, that is, for three corners. Materials ascend; triangles of one
    /// stay in their order, and [`triangles`](Self::triangles) returns their numbers in the file. Vertices may be shared by
    /// materials.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`new`](Self::new), and [`Mismatch`](ErrorKind::Mismatch) unless there are three corners for each
    /// element of `materials`.
    pub fn by_material(streams: &[&[u32]], counts: &[usize], materials: &[u32]) -> Result<Self> {
        let corners = check(streams, counts)?;
        if materials.len().checked_mul(3) != Some(corners) {
            let error = Error::new(ErrorKind::Mismatch, "materials of a vertex remap");
            let found = format!("{} for {}", decimal(materials.len()), decimal(corners));
            return Err(error.expected("one for three corners").found(found));
        }
        let triangle_count = u32::try_from(materials.len()).unwrap_or(u32::MAX);
        let mut triangles: Vec<u32> = (0..triangle_count).collect();
        // A stable sort: triangles of one material stay in their order.
        triangles.sort_by_key(|triangle| material_of(*triangle, materials));
        let mut ordered = Vec::with_capacity(streams.len());
        for stream in streams {
            ordered.push(by_triangle(stream, &triangles));
        }
        let streams: Vec<&[u32]> = ordered.iter().map(Vec::as_slice).collect();
        let mut remap = Self::new(&streams, counts)?;
        remap.groups = groups(&triangles, &remap.indices, materials);
        remap.triangles = Some(triangles);
        Ok(remap)
    }

    /// A remap without corners: each of these elements is a vertex.
    pub(crate) fn points(count: usize) -> Self {
        let sources = vec![(0..).take(count).collect()];
        Self {
            indices: Vec::new(),
            sources,
            counts: vec![count],
            groups: Vec::new(),
            triangles: None,
        }
    }

    /// Returns the maximum memory that making a remap needs, in bytes, for `corners` corners and attributes of `counts` elements.
    pub(crate) fn most_memory(corners: u64, counts: &[usize]) -> u64 {
        // For each corner: its numbers of two passes, and the first corner and the link of a vertex. The latter two are in
        // old and in new memory when they outgrow a half.
        const PER_CORNER: u64 = 4 + 4 + (4 + size_of::<Chained>() as u64) * 3 / 2;
        let first = counts.first().copied().unwrap_or(0);
        // A table has an entry for each element of the first attribute. After a first pass, it has one for each vertex
        // that is distinguished: at most one for each corner.
        let mut table = as_u64(first).min(max_steps(corners));
        if counts.len() > 2 {
            table = table.max(corners);
        }
        let numbering = corners
            .saturating_mul(PER_CORNER)
            .saturating_add(table.saturating_mul(4));
        let sources = corners.saturating_mul(as_u64(counts.len()));
        numbering
            .max(corners.saturating_mul(8))
            .saturating_add(sources.saturating_mul(4))
    }

    /// The memory of the remap in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let mut numbers = as_u64(self.indices.len());
        for sources in &self.sources {
            numbers = numbers.saturating_add(as_u64(sources.len()));
        }
        numbers.saturating_mul(4)
    }

    /// The number of vertices.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.sources.first().map_or(0, Vec::len)
    }

    /// The vertex of each corner.
    #[must_use]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The vertex of each corner, without a copy.
    #[must_use]
    pub(crate) fn into_indices(self) -> Vec<u32> {
        self.indices
    }

    /// The element of each vertex of an attribute; `None` if the remap has no such attribute.
    #[must_use]
    pub fn sources(&self, attribute: usize) -> Option<&[u32]> {
        self.sources.get(attribute).map(Vec::as_slice)
    }

    /// The runs of triangles of each material, materials ascending; empty unless made by [`by_material`](Self::by_material).
    #[must_use]
    pub fn groups(&self) -> &[MaterialGroup] {
        &self.groups
    }

    /// The number in the file of each triangle; `None` if triangles are in the file's order.
    #[must_use]
    pub fn triangles(&self) -> Option<&[u32]> {
        self.triangles.as_deref()
    }

    /// An attribute of all vertices, out of the elements of the file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`gather_into`](Self::gather_into).
    pub fn gather<T: Copy>(&self, attribute: usize, elements: &[T]) -> Result<Vec<T>> {
        let sources = self.checked_sources(attribute, elements.len())?;
        Ok(gather(elements, sources))
    }

    /// An attribute of all vertices, out of the elements of the file, into `out`, which has an element for each vertex.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if the remap has no such attribute or `out` has another length, and
    /// [`Mismatch`](ErrorKind::Mismatch) if the number of elements is not the number that the remap was made with.
    pub fn gather_into<T: Copy>(
        &self,
        attribute: usize,
        elements: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let sources = self.checked_sources(attribute, elements.len())?;
        if out.len() != sources.len() {
            let error = Error::new(ErrorKind::OutOfRange, "length of the output");
            let expected = format!("{} vertices", decimal(sources.len()));
            return Err(error.expected(expected).found(out.len()));
        }
        for (out, source) in out.iter_mut().zip(sources) {
            if let Some(element) = elements.get(as_usize(*source)) {
                *out = *element;
            }
        }
        Ok(())
    }

    pub(crate) fn checked_sources(&self, attribute: usize, elements: usize) -> Result<&[u32]> {
        let (Some(sources), Some(count)) = (self.sources(attribute), self.counts.get(attribute))
        else {
            let error = Error::new(ErrorKind::OutOfRange, "attribute of a vertex remap");
            return Err(error
                .expected(less_than(self.sources.len()))
                .found(attribute));
        };
        if *count != elements {
            let error = Error::new(ErrorKind::Mismatch, "elements of a remapped attribute");
            return Err(error.expected(decimal(count)).found(elements));
        }
        Ok(sources)
    }
}

/// Builder of the remap that [`VertexRemap::new`] returns, in one pass over the corners, piece by piece.
///
/// A hash table with chaining: the bucket of a corner is its position, and all vertices of one position are in a list. For
/// up to four attributes it needs no more memory than `new` and copies of the streams.
pub(crate) struct CornerRemap<const N: usize> {
    counts: [usize; N],
    corner_count: usize,
    /// For each position, the head of its list: the vertex that was made last.
    heads: Vec<u32>,
    vertices: Vec<Vertex<N>>,
    indices: Vec<u32>,
    /// The number of steps from vertex to vertex that are left.
    steps_left: u64,
}

/// A vertex in the list of vertices that share a position.
struct Vertex<const N: usize> {
    /// The next vertex of the list.
    next: u32,
    /// The element of each attribute, the position first.
    sources: [u32; N],
}

impl<const N: usize> CornerRemap<N> {
    /// Makes a builder for `counts` elements of each attribute, positions first; `None` for numbers that [`VertexRemap::new`]
    /// treats in another way.
    pub(crate) fn new(counts: [usize; N], corner_count: usize) -> Option<Self> {
        u32::try_from(corner_count).ok()?;
        let max_steps = max_steps(as_u64(corner_count));
        let buckets = *counts.first()?;
        if as_u64(buckets) > max_steps {
            return None;
        }
        Some(Self {
            counts,
            corner_count,
            heads: vec![NONE; buckets],
            // Most vertices have several corners.
            vertices: Vec::with_capacity(corner_count.div_ceil(4)),
            indices: Vec::with_capacity(corner_count),
            steps_left: max_steps,
        })
    }

    /// Adds corners: the index that each has for each attribute.
    ///
    /// Returns `None` if [`VertexRemap::new`] would return an error, or if it would sort the vertices because too many share a
    /// position.
    pub(crate) fn add(&mut self, corners: &[[u32; N]]) -> Option<()> {
        for corner in corners {
            for (index, count) in corner.iter().zip(&self.counts) {
                if as_usize(*index) >= *count {
                    return None;
                }
            }
        }
        self.load(corners);
        for corner in corners {
            let head = self.heads.get_mut(as_usize(*corner.first()?))?;
            let mut number = *head;
            // The list ends with `NONE`, which no vertex has as its number.
            while let Some(vertex) = self.vertices.get(as_usize(number)) {
                if vertex.sources == *corner {
                    break;
                }
                number = vertex.next;
                self.steps_left = self.steps_left.checked_sub(1)?;
            }
            if number == NONE {
                let count = self.vertices.len();
                number = u32::try_from(count).ok()?;
                if count == self.vertices.capacity() {
                    // At most as many as there are corners.
                    self.vertices
                        .reserve_exact(count.min(self.corner_count.saturating_sub(count)));
                }
                self.vertices.push(Vertex {
                    next: *head,
                    sources: *corner,
                });
                *head = number;
            }
            self.indices.push(number);
        }
        Some(())
    }

    /// Loads the memory that [`add`](Self::add) is going to read into the cache. Nothing here depends on a comparison, so
    /// that the processor has many loads in flight at once. If the triangles are in no order, the whole pass then takes a
    /// third to a half of the time.
    fn load(&self, corners: &[[u32; N]]) {
        let mut all = 0;
        for corner in corners {
            let head = corner
                .first()
                .and_then(|index| self.heads.get(as_usize(*index)));
            let Some(head) = head else { continue };
            if let Some(vertex) = self.vertices.get(as_usize(*head)) {
                all ^= vertex.next;
            }
        }
        // Without a use of the values, the compiler would remove the loads.
        std::hint::black_box(all);
    }

    pub(crate) fn finish(self) -> VertexRemap {
        drop(self.heads);
        let mut sources = Vec::with_capacity(N);
        for attribute in 0..N {
            let of_vertices = self.vertices.iter().map(|vertex| &vertex.sources);
            let of_attribute =
                of_vertices.map(|sources| sources.get(attribute).copied().unwrap_or(0));
            sources.push(of_attribute.collect());
        }
        VertexRemap {
            indices: self.indices,
            sources,
            counts: self.counts.to_vec(),
            groups: Vec::new(),
            triangles: None,
        }
    }
}

/// Returns the number of corners. Checks that the streams have one length, and that every index is in range.
fn check(streams: &[&[u32]], counts: &[usize]) -> Result<usize> {
    let corners = streams.first().map_or(0, |stream| stream.len());
    if streams.len() != counts.len() {
        let error = Error::new(ErrorKind::Mismatch, "streams of a vertex remap");
        let expected = format!("a count for each of {}", streams.len());
        return Err(error.expected(expected).found(counts.len()));
    }
    if u32::try_from(corners).is_err() {
        let error = Error::new(ErrorKind::LimitExceeded, "corners of a vertex remap");
        return Err(error.above(u32::MAX.into(), "", Some(as_u64(corners))));
    }
    for (attribute, (stream, count)) in (0..).zip(streams.iter().zip(counts)) {
        let address = Address::field("streams").index(attribute);
        if stream.len() != corners {
            let error = Error::new(ErrorKind::Mismatch, "streams of a vertex remap").of(address);
            let expected = format!("{} corners", decimal(corners));
            return Err(error.expected(expected).found(stream.len()));
        }
        // The maximum of all, which vectors compute, is faster than a search that may end early.
        let Some(maximum) = stream.iter().copied().max() else {
            continue;
        };
        if as_usize(maximum) >= *count {
            let first = stream.iter().position(|index| as_usize(*index) >= *count);
            let corner = first.unwrap_or(0);
            let index = stream.get(corner).copied().unwrap_or(0);
            let error = Error::new(ErrorKind::OutOfRange, "index of a corner");
            let error = error.of(address.index(as_u64(corner)));
            return Err(error.expected(less_than(count)).found(index));
        }
    }
    Ok(corners)
}

/// The vertex of each corner, and the first corner of each vertex.
///
/// Streams are processed one after the other: the vertices distinguished so far and the next stream make pairs, which are
/// numbered again.
fn number(streams: &[&[u32]]) -> Result<(Vec<u32>, Vec<u32>)> {
    let Some((first, rest)) = streams.split_first() else {
        return Ok(Default::default());
    };
    let mut ids = first.to_vec();
    let mut firsts = Vec::new();
    // A single stream is paired with itself, which numbers it by first use.
    let others = if rest.is_empty() { streams } else { rest };
    for stream in others {
        job::check("vertex remap")?;
        (ids, firsts) = chain(&ids, stream).unwrap_or_else(|| sort(&ids, stream));
    }
    Ok((ids, firsts))
}

/// Numbers pairs in the order of their first use, by a hash table with chaining whose buckets are the first parts; `None`
/// if the chains of pairs with the same first part are so long that searching them would take too long.
fn chain(ids: &[u32], stream: &[u32]) -> Option<(Vec<u32>, Vec<u32>)> {
    let buckets = match ids.iter().copied().max() {
        Some(maximum) => as_usize(maximum).saturating_add(1),
        None => 0,
    };
    let mut steps_left = max_steps(as_u64(ids.len()));
    // For a few corners with large numbers, a table is not worth its memory.
    if as_u64(buckets) > steps_left {
        return None;
    }
    let mut heads = vec![NONE; buckets];
    // Most vertices have several corners.
    let few = ids.len().div_ceil(4);
    let mut chained: Vec<Chained> = Vec::with_capacity(few);
    let mut firsts = Vec::with_capacity(few);
    let mut numbers = Vec::with_capacity(ids.len());
    for (corner, (id, other)) in (0..).zip(ids.iter().zip(stream)) {
        let head = heads.get_mut(as_usize(*id))?;
        let mut number = *head;
        // The list ends with `NONE`, which no vertex has as its number.
        while let Some(vertex) = chained.get(as_usize(number)) {
            if vertex.other == *other {
                break;
            }
            number = vertex.next;
            steps_left = steps_left.checked_sub(1)?;
        }
        if number == NONE {
            number = u32::try_from(chained.len()).ok()?;
            if chained.len() == chained.capacity() {
                // At most as many as there are corners.
                let more = chained.len().min(ids.len().saturating_sub(chained.len()));
                chained.reserve_exact(more);
                firsts.reserve_exact(more);
            }
            chained.push(Chained {
                other: *other,
                next: *head,
            });
            firsts.push(corner);
            *head = number;
        }
        numbers.push(number);
    }
    Some((numbers, firsts))
}

/// Returns the maximum size of a table, and the maximum number of steps in chains, for `corners` corners.
fn max_steps(corners: u64) -> u64 {
    corners.saturating_mul(8).saturating_add(1024)
}

/// A vertex in the list of vertices that share the first part of their pair.
struct Chained {
    other: u32,
    next: u32,
}

/// Numbers pairs in the order of their first use by sorting, whatever the pairs.
fn sort(ids: &[u32], stream: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut order: Vec<(u32, u32, u32)> = Vec::with_capacity(ids.len());
    for (corner, (id, other)) in (0..).zip(ids.iter().zip(stream)) {
        order.push((*id, *other, corner));
    }
    order.sort_unstable();
    // For each corner, the first corner with the same pair.
    let mut numbers = vec![0; ids.len()];
    for equal in order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let first = equal.first().map_or(0, |(_, _, corner)| *corner);
        for (_, _, corner) in equal {
            if let Some(number) = numbers.get_mut(as_usize(*corner)) {
                *number = first;
            }
        }
    }
    let mut firsts: Vec<u32> = Vec::new();
    for corner in 0..numbers.len() {
        let first = numbers.get(corner).copied().unwrap_or(0);
        let vertex = if as_usize(first) == corner {
            firsts.push(first);
            u32::try_from(firsts.len().saturating_sub(1)).unwrap_or(u32::MAX)
        } else {
            // The first corner comes before this one: its entry is the number of the vertex already.
            numbers.get(as_usize(first)).copied().unwrap_or(0)
        };
        if let Some(number) = numbers.get_mut(corner) {
            *number = vertex;
        }
    }
    (numbers, firsts)
}

fn gather<T: Copy>(elements: &[T], sources: &[u32]) -> Vec<T> {
    let mut out = Vec::with_capacity(sources.len());
    for source in sources {
        // Every source is an index that was checked.
        if let Some(element) = elements.get(as_usize(*source)) {
            out.push(*element);
        }
    }
    out
}

fn by_triangle(stream: &[u32], triangles: &[u32]) -> Vec<u32> {
    let (corners, _) = stream.as_chunks::<3>();
    gather(corners, triangles).into_flattened()
}

/// The runs of triangles of one material.
fn groups(triangles: &[u32], indices: &[u32], materials: &[u32]) -> Vec<MaterialGroup> {
    let material = |triangle: &u32| material_of(*triangle, materials);
    let (corners, _) = indices.as_chunks::<3>();
    let mut start = 0_usize;
    let mut groups = Vec::new();
    for run in triangles.chunk_by(|a, b| material(a) == material(b)) {
        let end = start.saturating_add(run.len());
        let used = corners.get(start..end).unwrap_or_default().as_flattened();
        let id = run.first().map_or(0, material);
        groups.push(MaterialGroup::new(
            groups.len(),
            id,
            start..end,
            used.iter().copied(),
        ));
        start = end;
    }
    groups
}

fn material_of(triangle: u32, materials: &[u32]) -> u32 {
    materials.get(as_usize(triangle)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// The plain way: a map of all indices of a corner.
    fn naive(streams: &[&[u32]]) -> (Vec<u32>, Vec<u32>) {
        let mut seen: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut numbers = Vec::new();
        let mut firsts = Vec::new();
        for corner in 0..streams[0].len() {
            let key = streams.iter().map(|stream| stream[corner]).collect();
            let next = firsts.len() as u32;
            numbers.push(*seen.entry(key).or_insert_with(|| {
                firsts.push(corner as u32);
                next
            }));
        }
        (numbers, firsts)
    }

    fn slices(streams: &[Vec<u32>]) -> Vec<&[u32]> {
        streams.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn corners_with_the_same_indices_become_one_vertex() {
        let remap = VertexRemap::new(&[&[7, 7, 3, 7], &[1, 0, 0, 1]], &[8, 2]).unwrap();
        assert_eq!(remap.indices(), [0, 1, 2, 0]);
        assert_eq!(remap.sources(0).unwrap(), [7, 7, 3]);
        assert_eq!(remap.sources(1).unwrap(), [1, 0, 0]);
        assert!(remap.sources(2).is_none());
    }

    #[test]
    fn materials_order_triangles_and_keep_their_order_inside() {
        let positions = [0, 1, 2, 2, 1, 3, 3, 1, 0];
        let remap = VertexRemap::by_material(&[&positions], &[4], &[5, 2, 5]).unwrap();
        assert_eq!(remap.triangles().unwrap(), [1, 0, 2]);
        assert_eq!(remap.sources(0).unwrap(), [2, 1, 3, 0]);
        assert_eq!(remap.indices(), [0, 1, 2, 3, 1, 0, 2, 1, 3]);
        let [two, five] = remap.groups() else {
            panic!("{:?}", remap.groups())
        };
        assert_eq!(
            (two.material, two.triangles.clone(), two.vertices.clone()),
            (2, 0..1, 0..3)
        );
        assert_eq!(
            (five.material, five.triangles.clone(), five.vertices.clone()),
            (5, 1..3, 0..4)
        );
    }

    #[test]
    fn wrong_input_is_an_error_that_says_where() {
        let error = VertexRemap::new(&[&[0, 1], &[0, 2]], &[2, 2]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
        assert_eq!(error.address().unwrap().to_string(), "streams[1][1]");
        let mismatches = [
            VertexRemap::new(&[&[0, 1], &[0]], &[2, 2]),
            VertexRemap::new(&[&[0]], &[]),
            VertexRemap::by_material(&[&[0, 0]], &[1], &[0]),
            VertexRemap::by_material(&[&[0; 6]], &[1], &[0]),
        ];
        for result in mismatches {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Mismatch);
        }
        let remap = VertexRemap::new(&[&[0, 1]], &[2]).unwrap();
        assert_eq!(
            remap.gather(0, &[0; 3]).unwrap_err().kind(),
            ErrorKind::Mismatch
        );
        assert_eq!(
            remap.gather(1, &[0; 2]).unwrap_err().kind(),
            ErrorKind::OutOfRange
        );
        assert_eq!(
            remap.gather_into(0, &[0; 2], &mut [0]).unwrap_err().kind(),
            ErrorKind::OutOfRange
        );
    }

    #[test]
    fn nothing_remaps_to_nothing() {
        for remap in [
            VertexRemap::new(&[], &[]),
            VertexRemap::new(&[&[], &[]], &[0, 3]),
            VertexRemap::by_material(&[], &[], &[]),
        ] {
            let remap = remap.unwrap();
            assert_eq!(
                (
                    remap.vertex_count(),
                    remap.indices().len(),
                    remap.groups().len()
                ),
                (0, 0, 0)
            );
        }
    }

    /// A million corners on one position would take half a million looks each.
    #[test]
    fn corners_on_one_position_are_sorted_instead() {
        let different = if cfg!(miri) { 60 } else { 150_000 };
        let normals: Vec<u32> = (0..different * 2)
            .map(|corner| corner % different)
            .collect();
        let positions = vec![0; normals.len()];
        assert!(chain(&positions, &normals).is_none());
        let remap = VertexRemap::new(&[&positions, &normals], &[1, different as usize]).unwrap();
        assert_eq!(remap.vertex_count(), different as usize);
        assert_eq!(remap.indices(), normals);
    }

    #[test]
    fn few_corners_with_great_indices_take_little() {
        let count = usize::try_from(u32::MAX).unwrap();
        let remap = VertexRemap::new(&[&[u32::MAX - 1, 5]], &[count]).unwrap();
        assert_eq!(
            (remap.indices(), remap.sources(0).unwrap()),
            (&[0, 1][..], &[u32::MAX - 1, 5][..])
        );
    }

    proptest! {
        #[test]
        fn remap_is_what_a_map_of_corners_gives(
            streams in (0..4_usize, 0..60_usize).prop_flat_map(|(rest, corners)| {
                prop::collection::vec(prop::collection::vec(0..9_u32, corners), rest + 1)
            })
        ) {
            let streams = slices(&streams);
            let remap = VertexRemap::new(&streams, &vec![9; streams.len()]).unwrap();
            let (numbers, firsts) = naive(&streams);
            prop_assert_eq!(remap.indices(), numbers);
            for (attribute, stream) in streams.iter().enumerate() {
                let elements: Vec<u32> = (100..109).collect();
                let gathered = remap.gather(attribute, &elements).unwrap();
                let fetched: Vec<u32> = stream.iter().map(|index| elements[*index as usize]).collect();
                let remapped: Vec<u32> = remap.indices().iter().map(|vertex| gathered[*vertex as usize]).collect();
                prop_assert_eq!(remapped, fetched);
                prop_assert_eq!(remap.sources(attribute).unwrap().len(), firsts.len());
                let mut out = vec![0; remap.vertex_count()];
                remap.gather_into(attribute, &elements, &mut out).unwrap();
                prop_assert_eq!(&out, &gathered);
            }
        }

        #[test]
        fn remapping_what_is_remapped_changes_nothing(stream in prop::collection::vec(0..20_u32, 0..60)) {
            let once = VertexRemap::new(&[&stream, &stream], &[20, 20]).unwrap();
            let again = VertexRemap::new(&[once.indices()], &[once.vertex_count()]).unwrap();
            prop_assert_eq!(again.indices(), once.indices());
        }

        #[test]
        fn chains_and_sorting_agree(pairs in prop::collection::vec((0..6_u32, 0..6_u32), 0..80)) {
            let (ids, stream): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
            prop_assert_eq!(chain(&ids, &stream).unwrap(), sort(&ids, &stream));
        }

        #[test]
        fn materials_only_reorder_triangles(
            triangles in prop::collection::vec(([0..9_u32, 0..9, 0..9], [0..4_u32, 0..4, 0..4], 0..5_u32), 0..40)
        ) {
            let positions: Vec<u32> = triangles.iter().flat_map(|triangle| triangle.0).collect();
            let normals: Vec<u32> = triangles.iter().flat_map(|triangle| triangle.1).collect();
            let materials: Vec<u32> = triangles.iter().map(|triangle| triangle.2).collect();
            let remap = VertexRemap::by_material(&[&positions, &normals], &[9, 4], &materials).unwrap();
            let order = remap.triangles().unwrap();
            for group in remap.groups() {
                let members = &order[group.triangles.clone()];
                prop_assert!(members.is_sorted());
                prop_assert!(members.iter().all(|triangle| materials[*triangle as usize] == group.material));
                let corners = &remap.indices()[group.triangles.start * 3..group.triangles.end * 3];
                prop_assert!(corners.iter().all(|vertex| group.vertices.contains(vertex)));
            }
            prop_assert!(remap.groups().is_sorted_by(|a, b| a.material < b.material && a.triangles.end == b.triangles.start));
            prop_assert_eq!(remap.groups().iter().map(|group| group.triangles.len()).sum::<usize>(), materials.len());
            for (place, corners) in remap.indices().chunks(3).enumerate() {
                let file = order[place] as usize * 3;
                for (corner, vertex) in (file..).zip(corners) {
                    prop_assert_eq!(remap.sources(0).unwrap()[*vertex as usize], positions[corner]);
                    prop_assert_eq!(remap.sources(1).unwrap()[*vertex as usize], normals[corner]);
                }
            }
        }
    }
}

//! Checks of every value.

use std::ops::Range;

use super::coordinates::{AxisRange, stored_box, vertex_header};
use super::document::Document;
use super::mesh::{CustomValues, Mesh};
use super::packed::{Failure, MAX_INDEX, Packed, PackedElement};
use super::rules::{self, FILE};
use super::segment::SegmentType;
use super::view::unassigned_arrays;
use crate::mesh::{Bounds, scan};
use crate::num::{as_u64, as_usize, component, decimal, interval};
use crate::report::{Finding, Findings, Result};

impl Document {
    /// Decodes and checks everything; returns these and earlier findings.
    ///
    /// # Errors
    ///
    /// Returns an error if the mesh cannot be read or decoded. Wrong values are findings, each with a
    /// [`Severity`](crate::Severity).
    pub fn validate(&self) -> Result<Vec<Finding>> {
        let mut findings = Findings::default();
        for mesh in self.meshes() {
            let mesh = mesh.load()?;
            boxes(&mesh, &mut findings)?;
            triangles(&mesh, &mut findings)?;
            numbers(&mesh, &mut findings)?;
        }
        let mut all = self.findings().to_vec();
        all.extend(findings.into_vec());
        Ok(all)
    }
}

/// Decodes an array block by block, with memory for one block.
struct Blocks<'a, T: PackedElement> {
    array: &'a Packed<T>,
    /// The elements that are not decoded yet.
    rest: Range<usize>,
    memory: Vec<T>,
}

/// Consecutive elements of an array, decoded.
struct Block<'a, T> {
    /// The index of the first element in the array.
    first: usize,
    elements: &'a [T],
}

impl<'a, T: PackedElement> Blocks<'a, T> {
    /// Large enough for parallel decoding.
    const ELEMENTS: usize = 64 << 10;

    /// The blocks of these elements of an array.
    fn new(array: &'a Packed<T>, elements: Range<usize>) -> Self {
        let memory = vec![T::default(); Self::ELEMENTS.min(elements.len())];
        Self {
            array,
            rest: elements,
            memory,
        }
    }

    /// The blocks of a whole array.
    fn of(array: &'a Packed<T>) -> Self {
        Self::new(array, 0..array.len())
    }

    /// Decodes the next block; `Ok(None)` after the last.
    fn next(&mut self) -> Result<Option<Block<'_, T>>, Failure> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let first = self.rest.start;
        let end = first.saturating_add(Self::ELEMENTS).min(self.rest.end);
        let count = end.saturating_sub(first);
        let elements = self.memory.get_mut(..count).unwrap_or_default();
        self.array.try_read_range_into(first..end, elements)?;
        self.rest.start = end;
        Ok(Some(Block { first, elements }))
    }

    /// Decodes all blocks, of which only the errors matter.
    fn decode_all(mut self) -> Result<(), Failure> {
        while self.next()?.is_some() {}
        Ok(())
    }
}

/// The NaN and infinite numbers of an array.
#[derive(Default)]
struct NotFinite {
    count: u64,
    first: Option<NotFiniteNumber>,
}

/// A NaN or infinite number, and its location.
#[derive(Clone, Copy, Default)]
struct NotFiniteNumber {
    /// The index of the first element of its block in the array.
    block: usize,
    /// The index of the number among all numbers of the block.
    index: usize,
    value: f32,
}

impl NotFinite {
    /// Adds the numbers of the block that begins at element `block` of the array.
    fn add(&mut self, block: usize, numbers: &[f32]) {
        let is_wrong = |number: &&f32| !number.is_finite();
        let count = numbers.iter().filter(is_wrong).count();
        self.count = self.count.saturating_add(as_u64(count));
        if count == 0 || self.first.is_some() {
            return;
        }
        for (index, value) in numbers.iter().copied().enumerate() {
            if !value.is_finite() {
                self.first = Some(NotFiniteNumber {
                    block,
                    index,
                    value,
                });
                return;
            }
        }
    }
}

/// Compares the stored box of each vertex segment with the bounds of its points.
fn boxes(mesh: &Mesh, findings: &mut Findings) -> Result<()> {
    let Some(vertices) = mesh.positions() else {
        return Ok(());
    };
    let mut first = 0;
    for (index, segment) in (0..).zip(mesh.own_segments()) {
        if segment.kind != SegmentType::Vertex {
            continue;
        }
        let end = as_usize(segment.count).saturating_add(first);
        let mut bounds = Bounds::default();
        let mut not_finite = NotFinite::default();
        let mut blocks = Blocks::new(&vertices, first..end);
        while let Some(block) = blocks.next()? {
            bounds.add(block.elements.iter().copied());
            not_finite.add(block.first, block.elements.as_flattened());
        }
        first = end;
        findings.add_many(rules::NOT_FINITE, not_finite.count, || {
            let number = not_finite.first.unwrap_or_default();
            let vertex = number.block.saturating_add(number.index / 3);
            let axis = component(number.index % 3);
            let place = vertices.place_of(as_u64(vertex)).at(segment.range.clone());
            (place, format!("{axis} is {}", number.value))
        });
        if bounds.is_empty() {
            continue;
        }
        let stored = stored_box(&vertex_header(&mesh.file.source, segment)?);
        if !is_box_of(&stored, segment.precision, &bounds) {
            findings.add(rules::STORED_BOX, || {
                let address = mesh.address().then("segments").index(index);
                let place = FILE.of(address).at(segment.data.start..segment.bits_start);
                let detail = format!(
                    "{}, of the points {}",
                    interval(&stored.map(|axis| axis.min), &stored.map(|axis| axis.max)),
                    interval(&bounds.min, &bounds.max)
                );
                (place, detail)
            });
        }
    }
    Ok(())
}

/// Returns `true` if a stored box is the bounding box of the points, within their precision.
fn is_box_of(stored: &[AxisRange; 3], precision: [u8; 3], bounds: &Bounds) -> bool {
    let found = bounds.min.into_iter().zip(bounds.max);
    for ((stored, bits), (min, max)) in stored.iter().zip(precision).zip(found) {
        // One step of quantization, and the rounding error of an f32.
        let steps = (2_f64.powi(bits.min(32).into()) - 1.0).max(1.0);
        let rounding = (stored.min.abs() + stored.max.abs()) * 1e-6;
        let tolerance = (stored.max - stored.min).abs() / steps + rounding;
        // NaN compares as false: a box that is not a number is not compared.
        if (f64::from(min) - stored.min).abs() > tolerance
            || (f64::from(max) - stored.max).abs() > tolerance
        {
            return false;
        }
    }
    true
}

/// Checks the indices of each kind, and finds arrays that cannot be assigned to vertices.
fn triangles(mesh: &Mesh, findings: &mut Findings) -> Result<()> {
    let counts = [
        mesh.positions().map(|array| array.len()),
        mesh.normals().map(|array| array.len()),
        mesh.texcoords(0).map(|array| array.len()),
        mesh.tangents().map(|array| array.len()),
    ];
    let streams = [
        mesh.position_indices(),
        mesh.normal_indices(),
        mesh.texcoord_indices(),
        mesh.tangent_indices(),
    ];
    // Index arrays may share their segments: equal ones are checked once for each number of
    // elements.
    let mut checked: Vec<(&Packed<u32>, Option<usize>)> = Vec::new();
    for (stream, count) in streams.iter().zip(counts) {
        let Some(stream) = stream else { continue };
        let is_checked = checked
            .iter()
            .any(|(other, of)| other.shares(stream) && *of == count);
        if !is_checked {
            indices(stream, count, findings)?;
            checked.push((stream, count));
        }
    }
    let corners = [
        streams[0].as_ref().map(Packed::len),
        streams[1].as_ref().map(Packed::len),
        streams[2].as_ref().map(Packed::len),
        streams[3].as_ref().map(Packed::len),
    ];
    let position_corners = corners[0].unwrap_or(0);
    if !position_corners.is_multiple_of(3) {
        findings.add(rules::ODD_INDICES, || {
            let detail = format!("expected a multiple of three, found {position_corners}");
            (FILE.of(mesh.address()), detail)
        });
    }
    for unassigned in unassigned_arrays(counts, corners) {
        findings.add(rules::UNASSIGNED, || (FILE.of(mesh.address()), unassigned));
    }
    Ok(())
}

/// Checks indices against the number of elements, if there are any.
fn indices(stream: &Packed<u32>, count: Option<usize>, findings: &mut Findings) -> Result<()> {
    let mut wrong = WrongIndices {
        // Every index is accepted if the mesh lacks the array of elements.
        limit: count.unwrap_or(usize::MAX),
        count: 0,
        first: None,
    };
    let outcome = wrong.find(stream);
    ignore_large_index(outcome, findings)?;
    if let Some(WrongIndex { corner, index }) = wrong.first {
        findings.add_many(rules::INDEX_OUT_OF_RANGE, wrong.count, || {
            let expected = decimal(wrong.limit);
            let detail = format!("expected less than {expected}, found {}", decimal(index));
            (stream.place_of(corner), detail)
        });
    }
    Ok(())
}

/// Indices that are not less than a limit.
struct WrongIndices {
    limit: usize,
    count: u64,
    first: Option<WrongIndex>,
}

struct WrongIndex {
    corner: u64,
    index: u32,
}

impl WrongIndices {
    /// Adds the wrong indices of a stream. If it fails, it has the indices before the failure.
    fn find(&mut self, stream: &Packed<u32>) -> Result<(), Failure> {
        let mut blocks = Blocks::of(stream);
        while let Some(block) = blocks.next()? {
            let indices = block.elements;
            let Some(found) = scan::out_of_range(indices.iter().copied(), self.limit) else {
                continue;
            };
            self.count = self.count.saturating_add(found.count);
            if self.first.is_none() {
                let first = as_usize(found.first);
                self.first = Some(WrongIndex {
                    corner: as_u64(block.first).saturating_add(found.first),
                    index: indices.get(first).copied().unwrap_or_default(),
                });
            }
        }
        Ok(())
    }
}

/// Makes a finding of an index that does not fit 32 bits, at which decoding stops.
fn ignore_large_index(outcome: Result<(), Failure>, findings: &mut Findings) -> Result<()> {
    match outcome {
        Ok(()) => Ok(()),
        Err(Failure::Index { place, value }) => {
            let detail = format!("expected {MAX_INDEX}, found {}", decimal(value));
            findings.add(rules::INDEX_TOO_LARGE, || (place, detail));
            Ok(())
        }
        Err(Failure::Error(error)) => Err(error),
    }
}

/// Decodes all other arrays, and checks that custom floats are finite.
fn numbers(mesh: &Mesh, findings: &mut Findings) -> Result<()> {
    if let Some(normals) = mesh.normals() {
        Blocks::of(&normals).decode_all()?;
    }
    if let Some(tangents) = mesh.tangents() {
        Blocks::of(&tangents).decode_all()?;
    }
    if let Some(uvs) = mesh.texcoords(0) {
        Blocks::of(&uvs).decode_all()?;
    }
    for custom in mesh.iter_custom()? {
        let custom = custom?;
        match custom.values {
            CustomValues::Index(values) | CustomValues::Integer(values) => {
                let outcome = Blocks::of(&values).decode_all();
                ignore_large_index(outcome, findings)?;
            }
            CustomValues::ColorRgba(values) => Blocks::of(&values).decode_all()?,
            CustomValues::Float(values) => custom_floats(&values, findings)?,
        }
    }
    Ok(())
}

/// Checks that custom floats are finite.
fn custom_floats(values: &Packed<f32>, findings: &mut Findings) -> Result<()> {
    let mut not_finite = NotFinite::default();
    let mut blocks = Blocks::of(values);
    while let Some(block) = blocks.next()? {
        not_finite.add(block.first, block.elements);
    }
    findings.add_many(rules::NOT_FINITE, not_finite.count, || {
        let number = not_finite.first.unwrap_or_default();
        let index = number.block.saturating_add(number.index);
        (
            values.place_of(as_u64(index)),
            format!("x is {}", number.value),
        )
    });
    Ok(())
}

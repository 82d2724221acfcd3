//! Checks of every value.

use super::coordinates::{stored_box, vertex_header};
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

/// Decodes an array a part at a time, large enough for parallel decoding.
fn each_block<T: PackedElement>(
    array: &Packed<T>,
    range: std::ops::Range<usize>,
    mut look: impl FnMut(usize, &[T]),
) -> Result<(), Failure> {
    const BLOCK: usize = 64 << 10;
    let mut block = vec![T::default(); BLOCK.min(range.len())];
    let mut first = range.start;
    while first < range.end {
        let end = first.saturating_add(BLOCK).min(range.end);
        let block = block
            .get_mut(..end.saturating_sub(first))
            .unwrap_or_default();
        array.try_read_range_into(first..end, block)?;
        look(first, block);
        first = end;
    }
    Ok(())
}

/// Compares the stored box of each vertex segment with the bounds of its points.
fn boxes(mesh: &Mesh, findings: &mut Findings) -> Result<()> {
    let Some(vertices) = mesh.positions() else {
        return Ok(());
    };
    let mut first = 0;
    for (index, entry) in (0..)
        .zip(mesh.own_segments())
        .filter(|(_, entry)| entry.kind == SegmentType::Vertex)
    {
        let end = as_usize(entry.count).saturating_add(first);
        let mut bounds: Option<Bounds> = None;
        let mut not_finite = 0_u64;
        let mut wrong_one: Option<(usize, usize, f32)> = None;
        each_block(&vertices, first..end, |begin, points| {
            bounds = Bounds::around(
                points
                    .iter()
                    .copied()
                    .chain(bounds.iter().flat_map(|b| [b.min, b.max])),
            );
            let wrong = points
                .as_flattened()
                .iter()
                .filter(|number| !number.is_finite())
                .count();
            not_finite = not_finite.saturating_add(as_u64(wrong));
            let numbers = points.as_flattened().iter().copied().enumerate();
            wrong_one = wrong_one.or_else(|| {
                let (place, number) = numbers.clone().find(|(_, number)| !number.is_finite())?;
                Some((begin.saturating_add(place / 3), place % 3, number))
            });
        })?;
        first = end;
        let address = || mesh.address().then("segments").index(index);
        findings.add_many(rules::NOT_FINITE, not_finite, || {
            let (vertex, axis, number) = wrong_one.unwrap_or_default();
            let place = vertices.place_of(as_u64(vertex)).at(entry.range.clone());
            (place, format!("{} is {number}", component(axis)))
        });
        let Some(bounds) = bounds else { continue };
        let stored = stored_box(&vertex_header(&mesh.file.source, entry)?);
        let found = bounds.min.into_iter().zip(bounds.max);
        let wrong =
            stored
                .into_iter()
                .zip(entry.precision)
                .zip(found)
                .any(|((stored, bits), found)| {
                    let (min, max) = stored;
                    // One step, and the rounding error of an f32.
                    let steps = 2_f64.powi(bits.min(32).into()) - 1.0;
                    let step = (max - min).abs() / steps.max(1.0) + (min.abs() + max.abs()) * 1e-6;
                    (f64::from(found.0) - min).abs() > step
                        || (f64::from(found.1) - max).abs() > step
                });
        if wrong {
            findings.add(rules::STORED_BOX, || {
                let [x, y, z] = stored;
                let detail = format!(
                    "{}, of the points {}",
                    interval(&[x.0, y.0, z.0], &[x.1, y.1, z.1]),
                    interval(&bounds.min, &bounds.max)
                );
                (FILE.of(address()).at(entry.data.start..entry.bits), detail)
            });
        }
    }
    Ok(())
}

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
    let mut seen: Vec<(&Packed<u32>, Option<usize>)> = Vec::new();
    for (stream, count) in streams.iter().zip(counts) {
        let Some(stream) = stream else { continue };
        if !seen
            .iter()
            .any(|(other, of)| other.shares(stream) && *of == count)
        {
            indices(stream, count, findings)?;
            seen.push((stream, count));
        }
    }
    let [vertex, ..] = &streams;
    let corners = vertex.as_ref().map_or(0, Packed::len);
    if !corners.is_multiple_of(3) {
        findings.add(rules::ODD_INDICES, || {
            let detail = format!("expected a multiple of three, found {corners}");
            (FILE.of(mesh.address()), detail)
        });
    }
    let corners = streams
        .each_ref()
        .map(|stream| stream.as_ref().map(Packed::len));
    for unassigned in unassigned_arrays(counts, corners) {
        findings.add(rules::UNASSIGNED, || (FILE.of(mesh.address()), unassigned));
    }
    Ok(())
}

/// Checks indices against the number of elements, if there are any.
fn indices(stream: &Packed<u32>, count: Option<usize>, findings: &mut Findings) -> Result<()> {
    let count = count.unwrap_or(usize::MAX);
    let mut wrong: Option<(u64, u32)> = None;
    let mut places = 0_u64;
    readable(
        findings,
        each_block(stream, 0..stream.len(), |first, indices| {
            let Some(found) = scan::out_of_range(indices.iter().copied(), count) else {
                return;
            };
            let place = as_usize(found.first);
            let index = indices.get(place).copied().unwrap_or_default();
            wrong = wrong.or(Some((as_u64(first).saturating_add(found.first), index)));
            places = places.saturating_add(found.count);
        }),
    )?;
    if let Some((corner, index)) = wrong {
        findings.add_many(rules::INDEX_OUT_OF_RANGE, places, || {
            let detail = format!(
                "expected less than {}, found {}",
                decimal(count),
                decimal(index)
            );
            (stream.place_of(corner), detail)
        });
    }
    Ok(())
}

/// Makes a finding of an index that does not fit 32 bits, for which decoding stops.
fn readable(findings: &mut Findings, outcome: Result<(), Failure>) -> Result<()> {
    match outcome {
        Err(Failure::Index { place, value }) => {
            let detail = format!("expected {MAX_INDEX}, found {}", decimal(value));
            findings.add(rules::INDEX_TOO_LARGE, || (place, detail));
            Ok(())
        }
        outcome => Ok(outcome?),
    }
}

/// Decodes all other arrays, and checks that custom floats are finite.
fn numbers(mesh: &Mesh, findings: &mut Findings) -> Result<()> {
    if let Some(normals) = mesh.normals() {
        each_block(&normals, 0..normals.len(), |_, _| {})?;
    }
    if let Some(tangents) = mesh.tangents() {
        each_block(&tangents, 0..tangents.len(), |_, _| {})?;
    }
    if let Some(uvs) = mesh.texcoords(0) {
        each_block(&uvs, 0..uvs.len(), |_, _| {})?;
    }
    for custom in mesh.custom()? {
        match custom.values {
            CustomValues::Index(values) | CustomValues::Integer(values) => {
                readable(findings, each_block(&values, 0..values.len(), |_, _| {}))?;
            }
            CustomValues::ColorRgba(values) => each_block(&values, 0..values.len(), |_, _| {})?,
            CustomValues::Float(values) => {
                let mut wrong = 0_u64;
                let mut wrong_one: Option<(usize, f32)> = None;
                each_block(&values, 0..values.len(), |begin, floats| {
                    let here = floats.iter().filter(|float| !float.is_finite()).count();
                    wrong = wrong.saturating_add(as_u64(here));
                    wrong_one = wrong_one.or_else(|| {
                        let place = floats.iter().position(|float| !float.is_finite())?;
                        Some((begin.saturating_add(place), floats.get(place).copied()?))
                    });
                })?;
                findings.add_many(rules::NOT_FINITE, wrong, || {
                    let (index, number) = wrong_one.unwrap_or_default();
                    (values.place_of(as_u64(index)), format!("x is {number}"))
                });
            }
        }
    }
    Ok(())
}

//! Where the fields of a face are in an inflated block.

use std::ops::Range;

use zerocopy::{FromBytes, little_endian as le};

use super::fields::{Fields, Value, name};
use super::layout::{ARRAY, MOST};
use super::llsd::{Event, Reader};
use super::place::BlockPlace;
use super::rules::FILE;
use super::weights;
use crate::codec::dequant::dequantize;
use crate::limits::Budget;
use crate::num::{as_u64, decimal};
use crate::report::{ErrorKind, Result};

/// A box of numbers: what the least and the greatest stored integer stand for. Either may be the greater one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Domain<const N: usize> {
    /// What 0 stands for.
    pub min: [f32; N],
    /// What 65,535 stands for.
    pub max: [f32; N],
}

impl<const N: usize> Domain<N> {
    pub(crate) const HALF: Self = Self { min: [-0.5; N], max: [0.5; N] };
    const NORMAL: Self = Self { min: [-1.0; N], max: [1.0; N] };
    const NONE: Self = Self { min: [0.0; N], max: [0.0; N] };

    /// Two numbers for each lane, at keys of their own.
    pub(crate) fn read(min: Option<Value<'_>>, max: Option<Value<'_>>, of: Value<'_>) -> Result<Self> {
        match (min, max) {
            (Some(min), Some(max)) => Ok(Self { min: min.numbers()?, max: max.numbers()? }),
            (Some(_), None) => Err(of.error().expected("\"Min\" and \"Max\"").found("\"Min\" alone")),
            (None, Some(_)) => Err(of.error().expected("\"Min\" and \"Max\"").found("\"Max\" alone")),
            (None, None) => Err(of.error().expected("\"Min\" and \"Max\"").found("neither")),
        }
    }
}

/// Where the fields of a face are in the content of its block. Every length has been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaceLayout {
    /// The map.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Fields of the map.
    pub(crate) fields: u32,
    /// The value of "NoGeometry".
    pub(crate) no_geometry: Option<bool>,
    pub(crate) positions: Part,
    pub(crate) normals: Option<Part>,
    pub(crate) tex_coords: Option<Part>,
    pub(crate) triangles: Part,
    /// Indices behind the last whole triangle.
    pub(crate) odd_indices: u8,
    pub(crate) weights: Option<Part>,
    pub(crate) domain: Option<Domain<3>>,
    pub(crate) tex_coord_domain: Option<Domain<2>>,
    pub(crate) normalized_scale: Option<[f32; 3]>,
}

/// A part of the content.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Part {
    fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    fn of(self, content: &[u8]) -> &[u8] {
        content.get(self.start..self.end).unwrap_or_default()
    }
}

impl From<Range<usize>> for Part {
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

/// The keys of a face, in the order in which they are asked for.
const KEYS: [&str; 9] = [
    "NoGeometry",
    "Position",
    "PositionDomain",
    "Normal",
    "TexCoord0",
    "TexCoord0Domain",
    "TriangleList",
    "Weights",
    "NormalizedScale",
];

impl FaceLayout {
    /// Reads the face that comes next.
    fn read<'a>(content: &'a [u8], reader: &mut Reader<'a>) -> Result<Self> {
        let start = reader.position();
        let fields = match reader.next_event()? {
            Some(Event::BeginMap(count)) => Fields::read(content, reader, count, &KEYS)?,
            other => {
                let range = as_u64(start)..as_u64(reader.position());
                let error = FILE.malformed("face").at(range).expected("a map");
                return Err(error.found(name(&other.unwrap_or(Event::Undefined))));
            }
        };
        let mut face = Self {
            start,
            end: reader.position(),
            fields: fields.count,
            no_geometry: None,
            positions: Part::default(),
            normals: None,
            tex_coords: None,
            triangles: Part::default(),
            odd_indices: 0,
            weights: None,
            domain: None,
            tex_coord_domain: None,
            normalized_scale: None,
        };
        match fields.get(0) {
            // The key counts, as in the viewer, whatever else the face has.
            Some(value) => face.no_geometry = Some(value.event()? == Event::Boolean(true)),
            None => face.read_geometry(content, &fields)?,
        }
        Ok(face)
    }

    fn read_geometry(&mut self, content: &[u8], fields: &Fields<'_, { KEYS.len() }>) -> Result<()> {
        let [_, position, domain, normal, tex_coord, tex_coord_domain, triangles, weights, scale] =
            std::array::from_fn(|key| fields.get(key));
        self.positions = array(self.required(position, "Position")?, 6)?;
        let vertices = self.vertex_count();
        let as_many = |value: Value<'_>, size: usize| {
            let span = array(value, size)?;
            let found = span.len().checked_div(size).unwrap_or(0);
            if found == vertices {
                return Ok(span);
            }
            let expected = format!("{}, as there are positions", decimal(as_u64(vertices)));
            Err(value.error().expected(expected).found(decimal(as_u64(found))))
        };
        self.normals = normal.map(|value| as_many(value, 6)).transpose()?;
        self.tex_coords = tex_coord.map(|value| as_many(value, 4)).transpose()?;
        self.domain = domain.map(read_domain).transpose()?;
        self.tex_coord_domain = tex_coord_domain.map(read_domain).transpose()?;
        self.normalized_scale = scale.map(|value| value.numbers()).transpose()?;
        self.triangles = array(self.required(triangles, "TriangleList")?, 2)?;
        // What is left over is no triangle; the viewer leaves it out.
        let odd = self.triangles.len() % 6;
        self.odd_indices = u8::try_from(odd / 2).unwrap_or(0);
        self.triangles.end = self.triangles.end.saturating_sub(odd);
        if let Some(value) = weights {
            let span: Part = value.binary()?.into();
            weights::check(span.of(content), vertices)
                .map_err(|miscount| miscount.describe(value.error(), vertices))?;
            self.weights = Some(span);
        }
        Ok(())
    }

    fn required<'a>(&self, value: Option<Value<'a>>, what: &'static str) -> Result<Value<'a>> {
        value.ok_or_else(|| {
            let error = FILE.malformed(what).at(as_u64(self.start)..as_u64(self.end));
            error.expected("the field, or \"NoGeometry\"").found("none")
        })
    }

    pub(crate) fn has_geometry(&self) -> bool {
        self.no_geometry.is_none()
    }

    pub(crate) fn has_weights(&self) -> bool {
        self.weights.is_some()
    }

    pub(crate) fn has_normals(&self) -> bool {
        self.normals.is_some()
    }

    pub(crate) fn has_tex_coords(&self) -> bool {
        self.tex_coords.is_some()
    }

    pub(crate) fn vertex_count(&self) -> usize {
        self.positions.len() / 6
    }

    pub(crate) fn position_domain(&self) -> Domain<3> {
        // The specification's text; the viewer takes 0 for both, which makes all positions the same.
        self.domain.unwrap_or(Domain::HALF)
    }

    pub(crate) fn uv_domain(&self) -> Domain<2> {
        // The specification demands one; without, the viewer reads as much.
        self.tex_coord_domain.unwrap_or(Domain::NONE)
    }

    pub(crate) fn positions_into(
        &self,
        content: &[u8],
        out: &mut Vec<[f32; 3]>,
        budget: &mut Budget,
    ) -> Result<()> {
        floats_into(self.positions.of(content), self.position_domain(), out, budget)
    }

    pub(crate) fn normals_into(
        &self,
        content: &[u8],
        out: &mut Vec<[f32; 3]>,
        budget: &mut Budget,
    ) -> Result<()> {
        floats_into(self.normals.unwrap_or_default().of(content), Domain::NORMAL, out, budget)
    }

    pub(crate) fn tex_coords_into(
        &self,
        content: &[u8],
        out: &mut Vec<[f32; 2]>,
        budget: &mut Budget,
    ) -> Result<()> {
        floats_into(self.tex_coords.unwrap_or_default().of(content), self.uv_domain(), out, budget)
    }

    pub(crate) fn indices<'a>(&self, content: &'a [u8]) -> &'a [le::U16] {
        <[le::U16]>::ref_from_bytes(self.triangles.of(content)).unwrap_or_default()
    }

    pub(crate) fn weights<'a>(&self, content: &'a [u8]) -> Option<&'a [u8]> {
        self.weights.map(|span| span.of(content))
    }
}

fn read_domain<const N: usize>(value: Value<'_>) -> Result<Domain<N>> {
    let fields = value.fields(&["Min", "Max"])?;
    Domain::read(fields.get(0), fields.get(1), value)
}

/// A binary of whole elements.
fn array(value: Value<'_>, size: usize) -> Result<Part> {
    let span: Part = value.binary()?.into();
    if span.len().checked_rem(size) != Some(0) {
        let expected = format!("elements of {size} bytes");
        return Err(value
            .error()
            .expected(expected)
            .found(format_args!("{} bytes", decimal(as_u64(span.len())))));
    }
    Ok(span)
}

/// Decodes integers that lie in a domain.
pub(crate) fn floats_into<const N: usize>(
    stored: &[u8],
    domain: Domain<N>,
    out: &mut Vec<[f32; N]>,
    budget: &mut Budget,
) -> Result<()> {
    let stored = <[[le::U16; N]]>::ref_from_bytes(stored).unwrap_or_default();
    budget.resize(out, as_u64(stored.len()), ARRAY).map_err(|error| FILE.locate(error))?;
    dequantize(stored, domain.min, domain.max, out);
    Ok(())
}

/// Shows each face of a block's content to a visitor.
pub(crate) fn each_face(
    content: &[u8],
    place: &BlockPlace,
    mut visit: impl FnMut(usize, FaceLayout) -> Result<()>,
) -> Result<()> {
    let mut reader = Reader::with_limits(content, &place.limits);
    let decoded = |error| place.decoded(error).of(place.address.clone());
    let start = reader.position();
    let count = match reader.next_event().map_err(decoded)? {
        Some(Event::BeginArray(count)) => count,
        other => {
            let error = FILE.malformed("faces").expected("an array of faces");
            let error = error.found(name(&other.unwrap_or(Event::Undefined)));
            return Err(decoded(error.at(as_u64(start)..as_u64(reader.position()))));
        }
    };
    if count > MOST {
        let error =
            FILE.error(ErrorKind::LimitExceeded, "faces").at(as_u64(start)..as_u64(reader.position()));
        let error = error.expected(format!("at most {}", decimal(MOST.into()))).found(decimal(count.into()));
        return Err(decoded(error));
    }
    for index in 0..usize::try_from(count).unwrap_or(0) {
        let face = FaceLayout::read(content, &mut reader);
        let face = face.map_err(|error| place.decoded(error).of(place.face(index)))?;
        visit(index, face)?;
    }
    // The end of the array.
    reader.next_event().map_err(decoded)?;
    Ok(())
}

//! The positions of the fields of a face in an inflated block.

use std::ops::Range;

use zerocopy::{FromBytes, little_endian as le};

use super::fields::{Fields, Value, name};
use super::layout::{ARRAY, check_count};
use super::llsd::{Event, Reader};
use super::place::BlockPlace;
use super::rules::FILE;
use super::weights;
use crate::codec::dequant::dequantize;
use crate::limits::Meter;
use crate::num::{as_u64, as_usize, decimal};
use crate::report::Result;

/// The numbers that the least and the greatest stored integer stand for.
///
/// Either may be the greater one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Domain<const N: usize> {
    /// The value that 0 stands for.
    pub min: [f32; N],
    /// The value that 65,535 stands for.
    pub max: [f32; N],
}

impl<const N: usize> Domain<N> {
    pub(crate) const HALF: Self = Self {
        min: [-0.5; N],
        max: [0.5; N],
    };
    pub(crate) const NORMAL: Self = Self {
        min: [-1.0; N],
        max: [1.0; N],
    };
    const NONE: Self = Self {
        min: [0.0; N],
        max: [0.0; N],
    };

    /// A domain whose two ends are values of the map `of`.
    pub(crate) fn read(
        min: Option<Value<'_>>,
        max: Option<Value<'_>>,
        of: Value<'_>,
    ) -> Result<Self> {
        let found = match (min, max) {
            (Some(min), Some(max)) => {
                return Ok(Self {
                    min: min.numbers()?,
                    max: max.numbers()?,
                });
            }
            (Some(_), None) => "\"Min\" alone",
            (None, Some(_)) => "\"Max\" alone",
            (None, None) => "neither",
        };
        Err(of.error().expected("\"Min\" and \"Max\"").found(found))
    }
}

/// The positions of the fields of a face in the content of its block. Every length has been checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaceLayout {
    /// The map.
    pub(crate) map: Range<usize>,
    /// The number of fields of the map.
    pub(crate) fields: u32,
    /// The value of "NoGeometry".
    pub(crate) no_geometry: Option<bool>,
    pub(crate) positions: Range<usize>,
    pub(crate) normals: Option<Range<usize>>,
    pub(crate) texcoords: Option<Range<usize>>,
    pub(crate) triangles: Range<usize>,
    /// Indices after the last whole triangle.
    pub(crate) odd_indices: u8,
    pub(crate) weights: Option<Range<usize>>,
    pub(crate) domain: Option<Domain<3>>,
    pub(crate) texcoord_domain: Option<Domain<2>>,
    pub(crate) normalized_scale: Option<[f32; 3]>,
}

/// The keys of a face, in the order of `FaceLayout::read_geometry`.
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
    /// Reads the next face.
    fn read<'a>(content: &'a [u8], reader: &mut Reader<'a>) -> Result<Self> {
        let start = reader.position();
        let fields = match reader.expect_event()? {
            Event::BeginMap(count) => Fields::read(content, reader, count, &KEYS)?,
            other => {
                let error = FILE.at(reader.range_from(start)).malformed("face");
                return Err(error.expected("a map").found(name(&other)));
            }
        };
        let mut face = Self {
            map: start..reader.position(),
            fields: fields.count,
            ..Self::default()
        };
        let [no_geometry, ..] = fields.values;
        match no_geometry {
            // The key counts, as in the viewer, whatever else the face has.
            Some(value) => face.no_geometry = Some(value.event()? == Event::Boolean(true)),
            None => face.read_geometry(content, &fields)?,
        }
        Ok(face)
    }

    fn read_geometry(&mut self, content: &[u8], fields: &Fields<'_, { KEYS.len() }>) -> Result<()> {
        let [
            _,
            position,
            domain,
            normal,
            tex_coord,
            texcoord_domain,
            triangles,
            weights,
            scale,
        ] = fields.values;
        self.positions = self.required(position, "Position")?.binary_of(6)?;
        let vertices = self.vertex_count();
        let as_many = |value: Value<'_>, size: usize| {
            let span = value.binary_of(size)?;
            let needed = vertices.saturating_mul(size);
            if span.len() == needed {
                return Ok(span);
            }
            let [needed, vertices, found] =
                [needed, vertices, span.len()].map(|n| decimal(as_u64(n)));
            let expected =
                format!("{needed} bytes, for as many elements as there are positions: {vertices}");
            Err(value
                .wrong_count()
                .expected(expected)
                .found(format_args!("{found} bytes")))
        };
        self.normals = normal.map(|value| as_many(value, 6)).transpose()?;
        self.texcoords = tex_coord.map(|value| as_many(value, 4)).transpose()?;
        self.domain = domain.map(read_domain).transpose()?;
        self.texcoord_domain = texcoord_domain.map(read_domain).transpose()?;
        self.normalized_scale = scale.map(|value| value.numbers()).transpose()?;
        self.triangles = self.required(triangles, "TriangleList")?.binary_of(2)?;
        // The rest is not a triangle; the viewer leaves it out.
        let odd = self.triangles.len() % 6;
        self.odd_indices = u8::try_from(odd / 2).unwrap_or(0);
        self.triangles.end = self.triangles.end.saturating_sub(odd);
        if let Some(value) = weights {
            let span = value.binary()?;
            weights::check(bytes(content, Some(&span)), vertices)
                .map_err(|miscount| miscount.describe(value.error(), vertices))?;
            self.weights = Some(span);
        }
        Ok(())
    }

    fn required<'a>(&self, value: Option<Value<'a>>, what: &'static str) -> Result<Value<'a>> {
        value.ok_or_else(|| {
            let error = FILE
                .at(as_u64(self.map.start)..as_u64(self.map.end))
                .malformed(what);
            error.expected("the field, or \"NoGeometry\"").found("none")
        })
    }

    pub(crate) fn has_geometry(&self) -> bool {
        self.no_geometry.is_none()
    }

    pub(crate) fn vertex_count(&self) -> usize {
        self.positions.len() / 6
    }

    pub(crate) fn triangle_count(&self) -> usize {
        self.triangles.len() / 6
    }

    pub(crate) fn position_domain(&self) -> Domain<3> {
        // The specification's text; the viewer takes 0 for both, which makes all positions the same.
        self.domain.unwrap_or(Domain::HALF)
    }

    pub(crate) fn uv_domain(&self) -> Domain<2> {
        // The specification demands one; without, the viewer reads zeros.
        self.texcoord_domain.unwrap_or(Domain::NONE)
    }

    /// Positions as stored, and their domain.
    pub(crate) fn positions<'a>(&self, content: &'a [u8]) -> (&'a [u8], Domain<3>) {
        (
            bytes(content, Some(&self.positions)),
            self.position_domain(),
        )
    }

    /// Normals as stored, and their domain.
    pub(crate) fn normals<'a>(&self, content: &'a [u8]) -> (&'a [u8], Domain<3>) {
        (bytes(content, self.normals.as_ref()), Domain::NORMAL)
    }

    /// Texture coordinates as stored, and their domain.
    pub(crate) fn texcoords<'a>(&self, content: &'a [u8]) -> (&'a [u8], Domain<2>) {
        (bytes(content, self.texcoords.as_ref()), self.uv_domain())
    }

    pub(crate) fn indices<'a>(&self, content: &'a [u8]) -> &'a [le::U16] {
        <[le::U16]>::ref_from_bytes(bytes(content, Some(&self.triangles))).unwrap_or_default()
    }

    pub(crate) fn weights<'a>(&self, content: &'a [u8]) -> Option<&'a [u8]> {
        self.weights.as_ref().map(|span| bytes(content, Some(span)))
    }
}

fn read_domain<const N: usize>(value: Value<'_>) -> Result<Domain<N>> {
    let [min, max] = value.fields(&["Min", "Max"])?.values;
    Domain::read(min, max, value)
}

/// Returns a part of the content; an empty slice if `span` is `None`.
pub(crate) fn bytes<'a>(content: &'a [u8], span: Option<&Range<usize>>) -> &'a [u8] {
    span.and_then(|span| content.get(span.clone()))
        .unwrap_or_default()
}

/// Decodes integers that lie in a domain.
pub(crate) fn floats_into<const N: usize>(
    (stored, domain): (&[u8], Domain<N>),
    out: &mut Vec<[f32; N]>,
    meter: &Meter,
) -> Result<()> {
    let stored = <[[le::U16; N]]>::ref_from_bytes(stored).unwrap_or_default();
    meter.resize(out, meter.read(), as_u64(stored.len()), ARRAY)?;
    dequantize(stored, domain.min, domain.max, out);
    Ok(())
}

/// Calls `visit` with each face of a block's content and its index.
pub(crate) fn each_face(
    content: &[u8],
    place: &BlockPlace,
    mut visit: impl FnMut(usize, FaceLayout) -> Result<()>,
) -> Result<()> {
    let mut reader = Reader::new(content, &place.limits);
    let count = face_count(&mut reader).map_err(|error| place.locate(error))?;
    for index in 0..as_usize(count) {
        FaceLayout::read(content, &mut reader)
            .and_then(|face| visit(index, face))
            .map_err(|error| place.locate_face(error, index))?;
    }
    // The end of the array.
    reader
        .next_event()
        .map(drop)
        .map_err(|error| place.locate(error))
}

fn face_count(reader: &mut Reader<'_>) -> Result<u32> {
    let start = reader.position();
    match reader.expect_event()? {
        Event::BeginArray(count) => {
            check_count(count, "faces", "faces", reader.range_from(start))?;
            Ok(count)
        }
        other => {
            let error = FILE.at(reader.range_from(start)).malformed("faces");
            Err(error.expected("an array of faces").found(name(&other)))
        }
    }
}

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
use crate::limits::{Meter, resize_vec};
use crate::num::{as_u64, as_usize, decimal};
use crate::report::Result;

/// The numbers that the minimum and the maximum of stored integers stand for.
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

/// Integers as stored, and the domain that they are decoded in.
pub(crate) struct Quantized<'a, const N: usize> {
    pub(crate) stored: &'a [u8],
    pub(crate) domain: Domain<N>,
}

impl<const N: usize> Quantized<'_, N> {
    /// Decodes all elements into `out`, which is resized to their number.
    pub(crate) fn decode_into(&self, out: &mut Vec<[f32; N]>, meter: &Meter) -> Result<()> {
        let stored = <[[le::U16; N]]>::ref_from_bytes(self.stored).unwrap_or_default();
        resize_vec(meter, out, meter.read(), as_u64(stored.len()), ARRAY)?;
        dequantize(stored, self.domain.min, self.domain.max, out);
        Ok(())
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
            Event::BeginMap(count) => Fields::read(content, 0, reader, count, &KEYS)?,
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
        if let Some(value) = normal {
            self.normals = Some(one_per_vertex(value, 6, vertices)?);
        }
        if let Some(value) = tex_coord {
            self.texcoords = Some(one_per_vertex(value, 4, vertices)?);
        }
        if let Some(value) = domain {
            self.domain = Some(read_domain(value)?);
        }
        if let Some(value) = texcoord_domain {
            self.texcoord_domain = Some(read_domain(value)?);
        }
        if let Some(value) = scale {
            self.normalized_scale = Some(value.numbers()?);
        }
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
        if let Some(value) = value {
            return Ok(value);
        }
        let map = as_u64(self.map.start)..as_u64(self.map.end);
        let error = FILE.at(map).malformed(what);
        Err(error.expected("the field, or \"NoGeometry\"").found("none"))
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

    pub(crate) fn positions<'a>(&self, content: &'a [u8]) -> Quantized<'a, 3> {
        Quantized {
            stored: bytes(content, Some(&self.positions)),
            domain: self.position_domain(),
        }
    }

    /// The normals; no elements if the face has none.
    pub(crate) fn normals<'a>(&self, content: &'a [u8]) -> Quantized<'a, 3> {
        Quantized {
            stored: bytes(content, self.normals.as_ref()),
            domain: Domain::NORMAL,
        }
    }

    /// The texture coordinates; no elements if the face has none.
    pub(crate) fn texcoords<'a>(&self, content: &'a [u8]) -> Quantized<'a, 2> {
        Quantized {
            stored: bytes(content, self.texcoords.as_ref()),
            domain: self.uv_domain(),
        }
    }

    pub(crate) fn indices<'a>(&self, content: &'a [u8]) -> &'a [le::U16] {
        <[le::U16]>::ref_from_bytes(bytes(content, Some(&self.triangles))).unwrap_or_default()
    }

    pub(crate) fn weights<'a>(&self, content: &'a [u8]) -> Option<&'a [u8]> {
        self.weights.as_ref().map(|span| bytes(content, Some(span)))
    }
}

/// The bytes of a field with an element of `size` bytes for each vertex.
fn one_per_vertex(value: Value<'_>, size: usize, vertices: usize) -> Result<Range<usize>> {
    let span = value.binary_of(size)?;
    let needed = vertices.saturating_mul(size);
    if span.len() == needed {
        return Ok(span);
    }
    let expected = format!(
        "{} bytes, for as many elements as there are positions: {}",
        decimal(needed),
        decimal(vertices)
    );
    let found = format!("{} bytes", decimal(span.len()));
    Err(value.wrong_count().expected(expected).found(found))
}

fn read_domain<const N: usize>(value: Value<'_>) -> Result<Domain<N>> {
    let [min, max] = value.fields(&["Min", "Max"])?.values;
    Domain::read(min, max, value)
}

/// Returns a part of the content; an empty slice if `span` is `None`.
pub(crate) fn bytes<'a>(content: &'a [u8], span: Option<&Range<usize>>) -> &'a [u8] {
    match span {
        Some(span) => content.get(span.clone()).unwrap_or_default(),
        None => &[],
    }
}

/// The faces of a block's content, read one after the other.
pub(crate) struct Faces<'a> {
    content: &'a [u8],
    place: &'a BlockPlace,
    reader: Reader<'a>,
    count: usize,
    /// The index of the next face.
    index: usize,
}

impl<'a> Faces<'a> {
    pub(crate) fn new(content: &'a [u8], place: &'a BlockPlace) -> Result<Self> {
        let mut reader = Reader::new(content, &place.limits);
        let count = face_count(&mut reader).map_err(|error| place.locate(error))?;
        Ok(Self {
            content,
            place,
            reader,
            count: as_usize(count),
            index: 0,
        })
    }

    /// Reads the next face; `Ok(None)` after the last, whose array must end there.
    pub(crate) fn next(&mut self) -> Result<Option<FaceLayout>> {
        if self.index == self.count {
            return match self.reader.next_event() {
                Ok(_) => Ok(None),
                Err(error) => Err(self.place.locate(error)),
            };
        }
        let face = match FaceLayout::read(self.content, &mut self.reader) {
            Ok(face) => face,
            Err(error) => return Err(self.place.locate_face(error, self.index)),
        };
        self.index = self.index.saturating_add(1);
        Ok(Some(face))
    }
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

//! Faces: what has one texture. Their arrays are views of the inflated block.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use zerocopy::{FromBytes, little_endian as le};

use super::buffer::ARRAY;
use super::fields::{Fields, Value, name};
use super::layout::MOST;
use super::llsd::{Event, Reader};
use super::rules::FILE;
use super::weights::{self, Weights};
use crate::bytes::Array;
use crate::codec::dequant::dequantize;
use crate::limits::{Budget, Limits};
use crate::mesh::{Role, scan};
use crate::num::{as_u64, decimal, span};
use crate::report::{Address, Error, ErrorKind, Place, Result};

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

/// A decoded level of detail, or the mesh for physics: its faces. Cloning shares everything.
#[derive(Clone)]
pub struct Mesh {
    place: Arc<BlockPlace>,
    content: Bytes,
    faces: Arc<[FaceLayout]>,
}

/// Where a decoded block comes from.
#[derive(Debug)]
pub(crate) struct BlockPlace {
    pub(crate) range: Range<u64>,
    pub(crate) address: Address,
    pub(crate) limits: Limits,
}

impl BlockPlace {
    /// An error whose range is counted from the beginning of the content.
    pub(crate) fn decoded(&self, error: Error) -> Error {
        let error = match error.byte_range() {
            Some(decoded) => error.decoded_at(decoded),
            None => error,
        };
        // All of the content is there: more bytes of the file would not help.
        let error =
            if error.kind() == ErrorKind::Truncated { error.kind_is(ErrorKind::Malformed) } else { error };
        error.at(self.range.clone())
    }

    /// What the faces of the block are for.
    fn role(&self) -> Role {
        let levels: [&'static str; 4] = ["high_lod", "medium_lod", "low_lod", "lowest_lod"];
        let is_own = |level: &&'static str| self.address == Address::field(level);
        let level = (0..).zip(&levels).find(|(_, level)| is_own(level));
        level.map_or(Role::Physics, |(level, _)| Role::Lod(level))
    }

    /// The block as a whole.
    pub(crate) fn place(&self) -> Place {
        FILE.of(self.address.clone()).at(self.range.clone())
    }

    pub(crate) fn face(&self, index: usize) -> Address {
        self.address.clone().then("faces").index(as_u64(index))
    }
}

/// Where the fields of a face are in the content of its block. Every length has been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaceLayout {
    /// The map.
    start: usize,
    end: usize,
    /// Fields of the map.
    pub(crate) fields: u32,
    /// The value of "NoGeometry".
    pub(crate) no_geometry: Option<bool>,
    positions: Part,
    normals: Option<Part>,
    tex_coords: Option<Part>,
    triangles: Part,
    /// Indices behind the last whole triangle.
    pub(crate) odd_indices: u8,
    weights: Option<Part>,
    pub(crate) domain: Option<Domain<3>>,
    pub(crate) tex_coord_domain: Option<Domain<2>>,
    pub(crate) normalized_scale: Option<[f32; 3]>,
}

/// A part of the content.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    start: usize,
    end: usize,
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

    fn position_domain(&self) -> Domain<3> {
        // The specification's text; the viewer takes 0 for both, which makes all positions the same.
        self.domain.unwrap_or(Domain::HALF)
    }

    fn uv_domain(&self) -> Domain<2> {
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

impl Mesh {
    /// Finds the faces in a block's content.
    pub(crate) fn new(content: Bytes, place: BlockPlace) -> Result<Self> {
        let mut faces = Vec::new();
        each_face(&content, &place, |_, face| {
            faces.push(face);
            Ok(())
        })?;
        Ok(Self { place: Arc::new(place), content, faces: faces.into() })
    }

    /// The number of faces.
    #[must_use]
    pub fn len(&self) -> usize {
        self.faces.len()
    }

    /// Whether there are no faces.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.faces.is_empty()
    }

    /// The face at an index: the number of its texture.
    #[must_use]
    pub fn face(&self, index: usize) -> Option<Face> {
        let layout = *self.faces.get(index)?;
        Some(Face { place: Arc::clone(&self.place), index, content: self.content.clone(), layout })
    }

    /// The faces, in the order of the file.
    pub fn faces(&self) -> impl ExactSizeIterator<Item = Face> + '_ {
        self.faces.iter().enumerate().map(|(index, layout)| Face {
            place: Arc::clone(&self.place),
            index,
            content: self.content.clone(),
            layout: *layout,
        })
    }

    /// The numbers of vertices and triangles of all faces.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        self.faces.iter().fold((0, 0), |(vertices, triangles), face| {
            let own = face.indices(&self.content).len() / 3;
            (face.vertex_count().saturating_add(vertices), own.saturating_add(triangles))
        })
    }

    /// The block's bytes in the file.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.place.range.clone()
    }

    /// The inflated block, shared: an LLSD array of maps.
    #[must_use]
    pub fn content(&self) -> &Bytes {
        &self.content
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (vertices, triangles) = self.counts();
        write!(
            f,
            "Mesh({}: {} faces, {vertices} vertices, {triangles} triangles)",
            self.place.address,
            self.len()
        )
    }
}

/// A face of a [`Mesh`]: a part that has one texture. Cloning shares everything.
///
/// `raw_*` are views of the inflated block: integers of which 0 and 65,535 are the ends of a domain. The others are
/// decoded, bit for bit as the viewer does it: `stored / 65535 * (max - min) + min`, each operation rounded to single
/// precision.
#[derive(Clone)]
pub struct Face {
    place: Arc<BlockPlace>,
    index: usize,
    content: Bytes,
    layout: FaceLayout,
}

impl Face {
    pub(crate) fn role(&self) -> Role {
        self.place.role()
    }

    /// The index in the mesh.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Where it stands: `high_lod.faces[0]`.
    #[must_use]
    pub fn address(&self) -> Address {
        self.place.face(self.index)
    }

    /// Whether there is geometry. Otherwise ("NoGeometry") the face just keeps the place of a texture, and has neither
    /// vertices nor triangles.
    #[must_use]
    pub fn has_geometry(&self) -> bool {
        self.layout.has_geometry()
    }

    /// The number of vertices.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.layout.vertex_count()
    }

    /// "Position": three integers a vertex, in [`position_domain`](Self::position_domain).
    #[must_use]
    pub fn raw_positions(&self) -> Array<[u16; 3]> {
        self.array(self.layout.positions)
    }

    /// "PositionDomain"; where there is none, -0.5 to 0.5.
    #[must_use]
    pub fn position_domain(&self) -> Domain<3> {
        self.layout.position_domain()
    }

    /// The positions, in the unit cube that the object's size scales.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](ErrorKind::LimitExceeded).
    pub fn positions(&self) -> Result<Array<[f32; 3]>> {
        let mut out = Vec::new();
        self.positions_into(&mut out)?;
        Ok(Array::from_vec(out))
    }

    /// The same into memory that is used again.
    ///
    /// # Errors
    ///
    /// Those of [`positions`](Self::positions).
    pub fn positions_into(&self, out: &mut Vec<[f32; 3]>) -> Result<()> {
        self.layout.positions_into(&self.content, out, &mut Budget::new(&self.place.limits))
    }

    /// "Normal": three integers a vertex, from -1 to 1; `None` where the face has none.
    #[must_use]
    pub fn raw_normals(&self) -> Option<Array<[u16; 3]>> {
        self.layout.normals.map(|span| self.array(span))
    }

    /// The normals, not exactly of length 1; `Ok(None)` where the face has none.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](ErrorKind::LimitExceeded).
    pub fn normals(&self) -> Result<Option<Array<[f32; 3]>>> {
        let mut out = Vec::new();
        Ok(self.normals_into(&mut out)?.then(|| Array::from_vec(out)))
    }

    /// The same into memory that is used again; `Ok(false)`, and nothing in it, where the face has none.
    ///
    /// # Errors
    ///
    /// Those of [`normals`](Self::normals).
    pub fn normals_into(&self, out: &mut Vec<[f32; 3]>) -> Result<bool> {
        self.layout.normals_into(&self.content, out, &mut Budget::new(&self.place.limits))?;
        Ok(self.layout.normals.is_some())
    }

    /// "TexCoord0": two integers a vertex, in [`tex_coord_domain`](Self::tex_coord_domain); `None` where the face has
    /// none.
    #[must_use]
    pub fn raw_tex_coords(&self) -> Option<Array<[u16; 2]>> {
        self.layout.tex_coords.map(|span| self.array(span))
    }

    /// "TexCoord0Domain"; 0 to 0 where there is none, as in the viewer.
    #[must_use]
    pub fn tex_coord_domain(&self) -> Domain<2> {
        self.layout.uv_domain()
    }

    /// The texture coordinates, V up; `Ok(None)` where the face has none.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](ErrorKind::LimitExceeded).
    pub fn tex_coords(&self) -> Result<Option<Array<[f32; 2]>>> {
        let mut out = Vec::new();
        Ok(self.tex_coords_into(&mut out)?.then(|| Array::from_vec(out)))
    }

    /// The same into memory that is used again; `Ok(false)`, and nothing in it, where the face has none.
    ///
    /// # Errors
    ///
    /// Those of [`tex_coords`](Self::tex_coords).
    pub fn tex_coords_into(&self, out: &mut Vec<[f32; 2]>) -> Result<bool> {
        self.layout.tex_coords_into(&self.content, out, &mut Budget::new(&self.place.limits))?;
        Ok(self.layout.tex_coords.is_some())
    }

    /// "TriangleList": three indices a triangle, as stored. Whether they are less than the number of vertices is not
    /// checked. What does not make up a triangle, at the end, is left out.
    #[must_use]
    pub fn indices(&self) -> Array<u16> {
        self.array(self.layout.triangles)
    }

    /// The same indices, three at a time.
    #[must_use]
    pub fn triangles(&self) -> Array<[u16; 3]> {
        self.array(self.layout.triangles)
    }

    /// The indices, each less than the number of vertices.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) for one that is not.
    pub fn checked_indices(&self) -> Result<Array<u16>> {
        let vertices = self.vertex_count();
        match self.wrong_index() {
            None => Ok(self.indices()),
            Some((corner, index)) => {
                let start = as_u64(self.layout.triangles.start.saturating_add(corner.saturating_mul(2)));
                let error = FILE.malformed("TriangleList").at(span(start, 2));
                let error = error.expected(format!("less than {vertices}")).found(index);
                let address = self.address().then("indices").index(as_u64(corner));
                Err(self.place.decoded(error).of(address))
            }
        }
    }

    /// The first index that no vertex has, and its place.
    pub(crate) fn wrong_index(&self) -> Option<(usize, u16)> {
        let indices = self.layout.indices(&self.content);
        let numbers = indices.iter().map(|index| index.get().into());
        let found = scan::out_of_range(numbers, self.vertex_count())?;
        let corner = usize::try_from(found.first).ok()?;
        Some((corner, indices.get(corner)?.get()))
    }

    /// "Weights": which joints move each vertex; `None` where the face has none.
    #[must_use]
    pub fn weights(&self) -> Option<Weights> {
        let span = self.layout.weights?;
        Some(Weights::new(self.slice(span), self.vertex_count(), self.place.limits))
    }

    /// "NormalizedScale": what positions are multiplied by before tangents are computed; `None` where the face has
    /// none, which stands for 1.
    #[must_use]
    pub fn normalized_scale(&self) -> Option<[f32; 3]> {
        self.layout.normalized_scale
    }

    /// The value of any field of the face as LLSD, for [`llsd::Reader`](super::llsd::Reader); the first one of that
    /// name. `None` where the face has none.
    #[must_use]
    pub fn raw_field(&self, key: &str) -> Option<Bytes> {
        let map = self.content.slice(self.layout.start..self.layout.end);
        let limits = Limits::default().with_max_depth(u32::MAX);
        let mut reader = Reader::with_limits(&map, &limits);
        reader.next_event().ok()?;
        while let Some(Event::Key(found)) = reader.next_event().ok()? {
            let start = reader.position();
            reader.skip_value().ok()?;
            if found == key {
                return Some(map.slice(start..reader.position()));
            }
        }
        None
    }

    pub(crate) fn layout(&self) -> &FaceLayout {
        &self.layout
    }

    pub(crate) fn place(&self) -> &BlockPlace {
        &self.place
    }

    fn slice(&self, span: Part) -> Bytes {
        self.content.slice(span.start..span.end)
    }

    fn array<T: crate::bytes::Element>(&self, span: Part) -> Array<T> {
        Array::new(self.slice(span))
    }
}

impl fmt::Debug for Face {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let triangles = self.layout.indices(&self.content).len() / 3;
        write!(f, "Face({}: {} vertices, {triangles} triangles)", self.address(), self.vertex_count())
    }
}

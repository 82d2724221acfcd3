//! Views: one index for all attributes of a mesh, for renderers.

use std::collections::HashSet;

use bytes::Bytes;
use zerocopy::{Immutable, IntoBytes};

use super::document::Document;
use super::mesh::{Custom, CustomValues, Mesh};
use super::packed::{Packed, PackedElement};
use super::rules::{self, FILE};
use crate::bytes::{Array, Text};
use crate::limits::{Limits, Meter};
use crate::mesh::{
    Attribute, AttributeInfo, Bounds, Indices, LoadAttribute, MeshCounts, MeshView, Role, Semantic,
    VertexFormat, VertexRemap, scan,
};
use crate::num::{as_u64, counted, less_than, size_u64};
use crate::report::{Address, Finding, Result};

/// The attributes of a view, each decoded when it is asked for.
struct SegmentArrays {
    arrays: Vec<VertexArray>,
    /// The remap of vertices, if one was needed.
    remap: Option<VertexRemap>,
    limits: Limits,
}

/// The elements of an attribute, and the index of its stream in the remap.
struct VertexArray {
    values: Values,
    stream: usize,
}

/// The elements of an attribute.
#[derive(Clone, Debug)]
enum Values {
    F32(Packed<f32>),
    F32x2(Packed<[f32; 2]>),
    F32x3(Packed<[f32; 3]>),
    F32x4(Packed<[f32; 4]>),
    U32(Packed<u32>),
}

/// An attribute that may have its own indices.
struct Candidate {
    semantic: Semantic,
    values: Values,
    indices: Option<Array<u32>>,
}

/// The indices of one or several attributes, and the number of elements of each.
struct Stream {
    indices: Array<u32>,
    count: usize,
}

impl Document {
    /// A view of the mesh at an address `meshes[i]` or `meshes["name"]`.
    ///
    /// See [`Mesh::view`].
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the file has no such mesh, and the errors of [`Mesh::view`].
    pub fn mesh_view(&self, address: &Address) -> Result<MeshView> {
        self.mesh_at(address)?.view()
    }

    fn mesh_at(&self, address: &Address) -> Result<Mesh> {
        let count = self.mesh_count();
        match address.index_in("meshes", |name| self.position(name)) {
            Some(index) if index < count => self.mesh(index),
            _ => {
                let error = FILE.out_of_range("mesh").of(address.clone());
                let expected = format!("meshes[i] with i below {count}, or a mesh's name");
                Err(error.expected(expected))
            }
        }
    }

    pub(crate) fn mesh_counts(&self, address: &Address) -> Result<MeshCounts> {
        Ok(self.mesh_at(address)?.counts())
    }

    pub(crate) fn mesh_bounds(&self, address: &Address) -> Result<Option<Bounds>> {
        match self.mesh_at(address)?.positions() {
            Some(positions) => positions.bounds(None, &positions.meter()),
            None => Ok(None),
        }
    }
}

impl Mesh {
    /// The numbers of positions and of triangles, from the headers of the segments.
    pub(crate) fn counts(&self) -> MeshCounts {
        let vertices = self.positions().map(|vertices| as_u64(vertices.len()));
        // Triangles are the triangles of the positions. Only a mesh without positions is listed by its other attributes.
        let indices = match vertices {
            Some(_) => self.position_indices(),
            None => self
                .normal_indices()
                .or(self.texcoord_indices())
                .or(self.tangent_indices()),
        };
        let corners = indices.map_or(0, |indices| as_u64(indices.len()));
        MeshCounts {
            vertices: vertices.unwrap_or(0),
            triangles: corners / 3,
            has_positions: vertices.is_some(),
        }
    }

    /// A view of the mesh, with one index for all attributes.
    ///
    /// Reads, decodes and checks the mesh's indices. Where all index arrays are equal and all arrays have one length,
    /// vertices and indices are the file's, including vertices that no triangle uses. Otherwise vertices are
    /// [remapped](VertexRemap), and numbered in the order of their first use. A mesh without triangles is a point
    /// cloud. Custom data with an element for each vertex are attributes: colours as [`Semantic::Color`], others by
    /// name.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if an index is not less than the number of elements of its array, and the
    /// errors of reading and decoding.
    pub fn view(&self) -> Result<MeshView> {
        let joined = join(self)?;
        let mut infos = Vec::with_capacity(joined.attributes.len());
        let mut arrays = Vec::with_capacity(joined.attributes.len());
        for attribute in joined.attributes {
            infos.push(AttributeInfo {
                semantic: attribute.semantic,
                format: attribute.array.values.format(),
            });
            arrays.push(attribute.array);
        }
        let view = MeshView::new(
            FILE,
            self.address(),
            Role::Geometry,
            joined.vertex_count,
            Indices::new(joined.indices, 0),
            infos,
            SegmentArrays {
                arrays,
                remap: joined.remap,
                limits: self.file.options.limits,
            },
        );
        Ok(view.with_name(self.name()).with_findings(joined.findings))
    }

    /// The remap of [`view`](Self::view); `Ok(None)` where vertices are the file's.
    ///
    /// Its streams are the distinct index arrays, in the order of the view's attributes. Attributes with equal indices
    /// and an equal number of elements share a stream.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`view`](Self::view).
    pub fn vertex_remap(&self) -> Result<Option<VertexRemap>> {
        Ok(join(self)?.remap)
    }
}

/// The attributes of a mesh with one index for all.
struct Joined {
    attributes: Vec<JoinedAttribute>,
    vertex_count: usize,
    indices: Array<u32>,
    remap: Option<VertexRemap>,
    findings: Vec<Finding>,
}

struct JoinedAttribute {
    semantic: Semantic,
    array: VertexArray,
}

/// The assignment of an attribute's elements to vertices.
enum Assignment {
    /// By an index for each corner.
    Indices(Array<u32>),
    /// The element of a vertex has the vertex's index, in a mesh without triangles.
    Vertices,
    /// The file has neither.
    Unknown,
}

fn join(mesh: &Mesh) -> Result<Joined> {
    let meter = Meter::of_call(&mesh.file.options.limits);
    let candidates = candidates(mesh, &meter)?;
    let mut findings = Vec::new();
    let mut streams: Vec<Stream> = Vec::new();
    let mut attributes = Vec::new();
    // The first attribute, which is the positions if there are any, gives the number of vertices and of corners.
    let lead = candidates.first();
    let lead_count = lead.map_or(0, |lead| lead.values.len());
    let lead_indices = lead.and_then(|lead| lead.indices.clone());
    for candidate in candidates {
        let semantic = candidate.semantic;
        let count = candidate.values.len();
        let stream = match assign(candidate.indices, count, &lead_indices, lead_count) {
            Assignment::Indices(indices) => add(&mut streams, indices, count),
            Assignment::Vertices => 0,
            Assignment::Unknown => {
                let place = FILE.of(mesh.address());
                let detail = unassigned(&semantic, count);
                findings.push(Finding::new(rules::UNASSIGNED, place, detail));
                continue;
            }
        };
        attributes.push(JoinedAttribute {
            semantic,
            array: VertexArray {
                values: candidate.values,
                stream,
            },
        });
    }
    add_custom(mesh, lead_count, &mut attributes)?;
    check(mesh, &attributes, &streams)?;

    let corners = lead_indices.as_ref().map_or(0, Array::len);
    let whole = corners.saturating_sub(corners.checked_rem(3).unwrap_or(0));
    if whole < corners {
        let detail = format!("expected a multiple of three, found {corners}");
        let place = FILE.of(mesh.address());
        findings.push(Finding::new(rules::ODD_INDICES, place, detail));
    }
    let mut joined = Joined {
        attributes,
        vertex_count: lead_count,
        indices: Array::from_vec(Vec::new()),
        remap: None,
        findings,
    };
    match streams.as_slice() {
        // A point cloud.
        [] => {}
        // Vertices and indices are the file's.
        [stream] => joined.indices = first_corners(&stream.indices, whole),
        streams => {
            let remap = remap_vertices(mesh, streams, whole, &meter)?;
            joined.vertex_count = remap.vertex_count();
            joined.indices = Array::from_vec(remap.indices().to_vec());
            joined.remap = Some(remap);
        }
    }
    Ok(joined)
}

/// Assigns `count` elements with these indices to the vertices of the first attribute.
fn assign(
    indices: Option<Array<u32>>,
    count: usize,
    lead_indices: &Option<Array<u32>>,
    lead_count: usize,
) -> Assignment {
    let Some(lead_indices) = lead_indices else {
        return if count == lead_count {
            Assignment::Vertices
        } else {
            Assignment::Unknown
        };
    };
    match indices {
        Some(indices) if indices.len() == lead_indices.len() => Assignment::Indices(indices),
        _ if count == lead_count => Assignment::Indices(lead_indices.clone()),
        _ => Assignment::Unknown,
    }
}

/// The first indices of an array: the ones of whole triangles.
fn first_corners(indices: &Array<u32>, count: usize) -> Array<u32> {
    match indices.slice(0..count) {
        Some(first) => first,
        None => indices.clone(),
    }
}

/// Makes vertices of the first `corners` corners of several streams.
fn remap_vertices(
    mesh: &Mesh,
    streams: &[Stream],
    corners: usize,
    meter: &Meter,
) -> Result<VertexRemap> {
    let counts: Vec<usize> = streams.iter().map(|stream| stream.count).collect();
    let memory = VertexRemap::most_memory(as_u64(corners), &counts);
    meter
        .take(memory, "vertices of a mesh")
        .map_err(|error| FILE.of(mesh.address()).locate(error))?
        .keep();
    let mut indices = Vec::with_capacity(streams.len());
    for stream in streams {
        indices.push(first_corners(&stream.indices, corners));
    }
    // Copies only on big-endian machines, and of arrays that are not aligned.
    let native: Vec<_> = indices.iter().map(Array::to_native).collect();
    let slices: Vec<&[u32]> = native.iter().map(|indices| &**indices).collect();
    VertexRemap::new(&slices, &counts).map_err(|error| FILE.of(mesh.address()).locate(error))
}

/// The arrays for vertices that the mesh has, each with its own indices.
fn candidates(mesh: &Mesh, meter: &Meter) -> Result<Vec<Candidate>> {
    let indices = mesh.indices_within(meter)?;
    let mut candidates = Vec::new();
    if let Some(positions) = mesh.positions() {
        candidates.push(Candidate {
            semantic: Semantic::Position,
            values: Values::F32x3(positions),
            indices: indices.positions,
        });
    }
    if let Some(normals) = mesh.normals() {
        candidates.push(Candidate {
            semantic: Semantic::Normal,
            values: Values::F32x3(normals),
            indices: indices.normals,
        });
    }
    if let Some(texcoords) = mesh.texcoords(0) {
        candidates.push(Candidate {
            semantic: Semantic::TexCoord(0),
            values: Values::F32x2(texcoords),
            indices: indices.texcoords,
        });
    }
    if let Some(tangents) = mesh.tangents() {
        candidates.push(Candidate {
            semantic: Semantic::Tangent,
            values: Values::F32x4(tangents),
            indices: indices.tangents,
        });
    }
    Ok(candidates)
}

/// The index of a stream, which is added unless there is an equal one.
fn add(streams: &mut Vec<Stream>, indices: Array<u32>, count: usize) -> usize {
    for (index, stream) in streams.iter().enumerate() {
        if stream.count == count && are_equal(&stream.indices, &indices) {
            return index;
        }
    }
    streams.push(Stream { indices, count });
    streams.len().saturating_sub(1)
}

fn are_equal(a: &Array<u32>, b: &Array<u32>) -> bool {
    let a = a.as_bytes();
    let b = b.as_bytes();
    // Index arrays that share their segments share memory, and need no comparison of bytes.
    a.as_ptr_range() == b.as_ptr_range() || a == b
}

fn unassigned(semantic: &Semantic, count: usize) -> String {
    let elements = counted(as_u64(count), "element");
    format!("{elements} of {semantic}, without a way to assign them to vertices")
}

/// Adds the custom data with an element for each vertex of the file.
fn add_custom(mesh: &Mesh, vertices: usize, attributes: &mut Vec<JoinedAttribute>) -> Result<()> {
    let mut custom = mesh.custom()?;
    custom.retain(|custom| vertices > 0 && custom.values.len() == vertices);
    // There may be thousands: no more capacity than they need.
    attributes.reserve_exact(custom.len());
    let mut colors = 0_u32;
    let mut names = HashSet::new();
    for Custom { name, values } in custom {
        let (semantic, values) = match values {
            CustomValues::ColorRgba(values) => {
                let semantic = Semantic::Color(colors);
                colors = colors.saturating_add(1);
                (semantic, Values::F32x4(values))
            }
            // Only the first of each name, as in the crate.
            _ if !names.insert(name.clone()) => continue,
            CustomValues::Float(values) => (named(&name), Values::F32(values)),
            CustomValues::Index(values) | CustomValues::Integer(values) => {
                (named(&name), Values::U32(values))
            }
        };
        attributes.push(JoinedAttribute {
            semantic,
            array: VertexArray { values, stream: 0 },
        });
    }
    Ok(())
}

fn named(name: &Text) -> Semantic {
    Semantic::Custom(name.to_string_lossy().into_owned())
}

/// Checks that every index is less than the number of elements.
fn check(mesh: &Mesh, attributes: &[JoinedAttribute], streams: &[Stream]) -> Result<()> {
    for (number, stream) in streams.iter().enumerate() {
        let Some(found) = scan::out_of_range(stream.indices.iter(), stream.count) else {
            continue;
        };
        let index = stream
            .indices
            .slice_u64(found.first..u64::MAX)
            .get(0)
            .unwrap_or_default();
        let first = attributes
            .iter()
            .find(|attribute| attribute.array.stream == number);
        let stored = match first.map(|attribute| &attribute.semantic) {
            Some(Semantic::Normal) => mesh.normal_indices(),
            Some(Semantic::TexCoord(_)) => mesh.texcoord_indices(),
            Some(Semantic::Tangent) => mesh.tangent_indices(),
            _ => mesh.position_indices(),
        };
        let place = match stored {
            Some(stored) => stored.place_of(found.first),
            None => FILE.of(mesh.address()).at(mesh.range()),
        };
        let error = place.malformed(rules::INDEX_OUT_OF_RANGE.name);
        return Err(error.expected(less_than(stream.count)).found(index));
    }
    Ok(())
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F32x2(values) => values.len(),
            Self::F32x3(values) => values.len(),
            Self::F32x4(values) => values.len(),
            Self::U32(values) => values.len(),
        }
    }

    fn format(&self) -> VertexFormat {
        match self {
            Self::F32(_) => VertexFormat::FLOAT32,
            Self::F32x2(_) => VertexFormat::FLOAT32X2,
            Self::F32x3(_) => VertexFormat::FLOAT32X3,
            Self::F32x4(_) => VertexFormat::FLOAT32X4,
            Self::U32(_) => VertexFormat::UINT32,
        }
    }

    /// The element of each vertex, decoded.
    fn bytes(&self, remap: Option<&VertexRemap>, stream: usize, meter: &Meter) -> Result<Bytes> {
        match self {
            Self::F32(values) => bytes(values, remap, stream, meter),
            Self::F32x2(values) => bytes(values, remap, stream, meter),
            Self::F32x3(values) => bytes(values, remap, stream, meter),
            Self::F32x4(values) => bytes(values, remap, stream, meter),
            Self::U32(values) => bytes(values, remap, stream, meter),
        }
    }
}

fn bytes<T: PackedElement + IntoBytes + Immutable>(
    values: &Packed<T>,
    remap: Option<&VertexRemap>,
    stream: usize,
    meter: &Meter,
) -> Result<Bytes> {
    let Some(remap) = remap else {
        return Ok(values.read_within(meter)?.into_bytes());
    };
    // The elements of the file are charged only while they are gathered.
    let part = meter.part();
    let elements = values.read_within(&part)?;
    let gathered = as_u64(remap.vertex_count()).saturating_mul(size_u64::<T>());
    meter
        .take(gathered, "attribute of a mesh")
        .map_err(|error| values.place().locate(error))?
        .keep();
    let gathered = remap.gather(stream, &elements.to_native())?;
    Ok(Array::from_vec(gathered).into_bytes())
}

impl LoadAttribute for SegmentArrays {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn load(&self, index: usize, info: &AttributeInfo, meter: &Meter) -> Result<Attribute> {
        let Some(array) = self.arrays.get(index) else {
            return Err(FILE.out_of_range("attribute").found(&info.semantic));
        };
        let bytes = array
            .values
            .bytes(self.remap.as_ref(), array.stream, meter)?;
        Ok(Attribute::new(info.semantic.clone(), info.format, bytes))
    }

    fn bounds(&self, index: usize, info: &AttributeInfo, meter: &Meter) -> Result<Option<Bounds>> {
        let Some(VertexArray {
            values: Values::F32x3(positions),
            stream,
        }) = self.arrays.get(index)
        else {
            return Ok(self.load(index, info, meter)?.bounds());
        };
        // Only elements that are vertices of the view. Without a remap, all elements are.
        let used = match &self.remap {
            Some(remap) => remap.sources(*stream),
            None => None,
        };
        positions.bounds(used, meter)
    }
}

/// The arrays that a view leaves out, by their numbers of elements and corners.
pub(crate) fn unassigned_arrays(
    counts: [Option<usize>; 4],
    corners: [Option<usize>; 4],
) -> Vec<String> {
    let semantics = [
        Semantic::Position,
        Semantic::Normal,
        Semantic::TexCoord(0),
        Semantic::Tangent,
    ];
    let mut all = Vec::new();
    let mut lead: Option<(usize, Option<usize>)> = None;
    for ((semantic, count), corners) in semantics.iter().zip(counts).zip(corners) {
        let Some(count) = count else { continue };
        // The first array assigns itself.
        let (lead_count, lead_corners) = *lead.get_or_insert((count, corners));
        let has_own_indices = lead_corners.is_some() && corners == lead_corners;
        if !has_own_indices && count != lead_count {
            all.push(unassigned(semantic, count));
        }
    }
    all
}

//! Views: one index for all attributes of a mesh, for renderers.

use std::collections::HashSet;

use bytes::Bytes;
use zerocopy::{Immutable, IntoBytes};

use super::document::Document;
use super::mesh::{Custom, CustomValues, Mesh};
use super::packed::{Packed, PackedElement};
use super::rules::{self, FILE};
use crate::bytes::Array;
use crate::limits::{Limits, Meter};
use crate::mesh::{
    Attribute, AttributeInfo, Bounds, Indices, LoadAttribute, MeshCounts, MeshView, Role, Semantic,
    VertexFormat, VertexRemap, scan,
};
use crate::num::{as_u64, counted, less_than, size_u64};
use crate::report::{Address, Finding, Result};

/// The attributes of a view, each decoded when it is asked for.
struct SegmentArrays {
    /// Each with its stream in the remap.
    arrays: Vec<(Values, usize)>,
    /// The remap of vertices, if one was needed.
    remap: Option<VertexRemap>,
    limits: Limits,
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
        let mesh = address
            .index_in("meshes", |name| self.position(name))
            .and_then(|index| self.mesh(index).ok());
        mesh.ok_or_else(|| {
            let error = FILE.out_of_range("mesh").of(address.clone());
            error.expected(format!(
                "meshes[i] with i below {}, or a mesh's name",
                self.meshes().len()
            ))
        })
    }

    pub(crate) fn mesh_counts(&self, address: &Address) -> Result<MeshCounts> {
        Ok(self.mesh_at(address)?.counts())
    }

    pub(crate) fn mesh_bounds(&self, address: &Address) -> Result<Option<Bounds>> {
        let vertices = self.mesh_at(address)?.positions();
        vertices.map_or(Ok(None), |vertices| {
            vertices.bounds(None, &vertices.meter())
        })
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
        let (vertices, has_positions) = (vertices.unwrap_or(0), vertices.is_some());
        MeshCounts {
            vertices,
            triangles: corners / 3,
            has_positions,
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
        let Joined {
            attributes,
            vertex_count,
            indices,
            remap,
            findings,
        } = join(self)?;
        let (mut infos, mut arrays) = (
            Vec::with_capacity(attributes.len()),
            Vec::with_capacity(attributes.len()),
        );
        for (semantic, values, stream) in attributes {
            infos.push(AttributeInfo {
                semantic,
                format: values.format(),
            });
            arrays.push((values, stream));
        }
        let limits = self.file.options.limits;
        let (indices, arrays) = (
            Indices::new(indices, 0),
            SegmentArrays {
                arrays,
                remap,
                limits,
            },
        );
        let view = MeshView::new(
            FILE,
            self.address(),
            Role::Geometry,
            vertex_count,
            indices,
            infos,
            arrays,
        );
        Ok(view.with_name(self.name()).with_findings(findings))
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
    attributes: Vec<(Semantic, Values, usize)>,
    vertex_count: usize,
    indices: Array<u32>,
    remap: Option<VertexRemap>,
    findings: Vec<Finding>,
}

fn join(mesh: &Mesh) -> Result<Joined> {
    let meter = Meter::of_call(&mesh.file.options.limits);
    let candidates = candidates(mesh, &meter)?;
    let mut findings = Vec::new();
    let mut streams: Vec<Stream> = Vec::new();
    let mut attributes = Vec::new();
    // The first attribute, which is the positions if there are any, gives the number of vertices and of corners.
    let lead = candidates
        .first()
        .map(|lead| (lead.values.len(), lead.indices.clone()));
    let (lead_count, lead_indices) = lead.unwrap_or_default();
    for Candidate {
        semantic,
        values,
        indices,
    } in candidates
    {
        let count = values.len();
        let indices = match (&lead_indices, indices) {
            (Some(lead), Some(own)) if own.len() == lead.len() => Some(own),
            (Some(lead), _) if count == lead_count => Some(lead.clone()),
            (None, _) if count == lead_count => None,
            _ => {
                let place = FILE.of(mesh.address());
                findings.push(Finding::new(
                    rules::UNASSIGNED,
                    place,
                    unassigned(&semantic, count),
                ));
                continue;
            }
        };
        let stream = indices.map_or(0, |indices| add(&mut streams, indices, count));
        attributes.push((semantic, values, stream));
    }
    add_custom(mesh, lead_count, &mut attributes)?;
    check(mesh, &attributes, &streams)?;

    let corners = lead_indices.as_ref().map_or(0, Array::len);
    let whole = corners.saturating_sub(corners.checked_rem(3).unwrap_or(0));
    if whole < corners {
        let detail = format!("expected a multiple of three, found {corners}");
        findings.push(Finding::new(
            rules::ODD_INDICES,
            FILE.of(mesh.address()),
            detail,
        ));
    }
    let cut = |indices: &Array<u32>| indices.slice(0..whole).unwrap_or_else(|| indices.clone());
    let this = |vertex_count, indices, remap| Joined {
        attributes,
        vertex_count,
        indices,
        remap,
        findings,
    };
    let (Some(first), Some(_)) = (streams.first(), &lead_indices) else {
        return Ok(this(lead_count, Array::from_vec(Vec::new()), None));
    };
    if streams.len() == 1 {
        return Ok(this(lead_count, cut(&first.indices), None));
    }
    let here = |error| FILE.of(mesh.address()).locate(error);
    let counts: Vec<usize> = streams.iter().map(|stream| stream.count).collect();
    meter
        .take(
            VertexRemap::most_memory(as_u64(whole), &counts),
            "vertices of a mesh",
        )
        .map_err(here)?
        .keep();
    let numbers: Vec<Array<u32>> = streams.iter().map(|stream| cut(&stream.indices)).collect();
    let native: Vec<_> = numbers.iter().map(Array::to_native).collect();
    let slices: Vec<&[u32]> = native.iter().map(|numbers| &**numbers).collect();
    let remap = VertexRemap::new(&slices, &counts).map_err(here)?;
    let indices = Array::from_vec(remap.indices().to_vec());
    Ok(this(remap.vertex_count(), indices, Some(remap)))
}

fn candidates(mesh: &Mesh, meter: &Meter) -> Result<Vec<Candidate>> {
    let triangles = mesh.indices_within(meter)?;
    let all = [
        (
            Semantic::Position,
            mesh.positions().map(Values::F32x3),
            triangles.positions,
        ),
        (
            Semantic::Normal,
            mesh.normals().map(Values::F32x3),
            triangles.normals,
        ),
        (
            Semantic::TexCoord(0),
            mesh.texcoords(0).map(Values::F32x2),
            triangles.texcoords,
        ),
        (
            Semantic::Tangent,
            mesh.tangents().map(Values::F32x4),
            triangles.tangents,
        ),
    ];
    let candidate = |(semantic, values, indices): (_, Option<_>, _)| {
        values.map(|values| Candidate {
            semantic,
            values,
            indices,
        })
    };
    Ok(all.into_iter().filter_map(candidate).collect())
}

/// The index of a stream, which is added unless there is an equal one.
fn add(streams: &mut Vec<Stream>, indices: Array<u32>, count: usize) -> usize {
    let same = |stream: &Stream| {
        let (have, new) = (stream.indices.as_bytes(), indices.as_bytes());
        stream.count == count && (have.as_ptr_range() == new.as_ptr_range() || have == new)
    };
    streams.iter().position(same).unwrap_or_else(|| {
        streams.push(Stream { indices, count });
        streams.len().saturating_sub(1)
    })
}

fn unassigned(semantic: &Semantic, count: usize) -> String {
    let elements = counted(as_u64(count), "element");
    format!("{elements} of {semantic}, without a way to assign them to vertices")
}

/// Adds the custom data with an element for each vertex of the file.
fn add_custom(
    mesh: &Mesh,
    vertices: usize,
    attributes: &mut Vec<(Semantic, Values, usize)>,
) -> Result<()> {
    let mut colors = 0_u32;
    let mut taken = HashSet::new();
    let all = mesh.custom()?;
    let is_whole = |custom: &Custom| vertices > 0 && custom.values.len() == vertices;
    attributes.reserve_exact(all.iter().filter(|custom| is_whole(custom)).count());
    for custom in all.into_iter().filter(is_whole) {
        let semantic = match &custom.values {
            CustomValues::ColorRgba(_) => {
                colors = colors.saturating_add(1);
                Semantic::Color(colors.saturating_sub(1))
            }
            // The first of each name, as in the crate.
            _ if taken.insert(custom.name.clone()) => {
                Semantic::Custom(custom.name.to_string_lossy().into_owned())
            }
            _ => continue,
        };
        let values = match custom.values {
            CustomValues::ColorRgba(colours) => Values::F32x4(colours),
            CustomValues::Float(floats) => Values::F32(floats),
            CustomValues::Index(integers) | CustomValues::Integer(integers) => {
                Values::U32(integers)
            }
        };
        attributes.push((semantic, values, 0));
    }
    Ok(())
}

/// Checks that every index is less than the number of elements.
fn check(mesh: &Mesh, attributes: &[(Semantic, Values, usize)], streams: &[Stream]) -> Result<()> {
    for (number, stream) in streams.iter().enumerate() {
        let Some(found) = scan::out_of_range(stream.indices.iter(), stream.count) else {
            continue;
        };
        let index = stream
            .indices
            .slice_u64(found.first..u64::MAX)
            .get(0)
            .unwrap_or_default();
        let of = attributes.iter().find(|(_, _, stream)| *stream == number);
        let (name, stored) = match of.map(|(semantic, _, _)| semantic) {
            Some(Semantic::Normal) => ("normal_triangles", mesh.normal_indices()),
            Some(Semantic::TexCoord(_)) => ("uv_triangles", mesh.texcoord_indices()),
            Some(Semantic::Tangent) => ("tangent_triangles", mesh.tangent_indices()),
            _ => ("vertex_triangles", mesh.position_indices()),
        };
        let place = FILE
            .of(mesh.address().then(name).index(found.first))
            .at(mesh.range());
        let place = stored.map_or(place, |stored| stored.place_of(found.first));
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
    fn bytes(&self, remap: Option<(&VertexRemap, usize)>, meter: &Meter) -> Result<Bytes> {
        match self {
            Self::F32(values) => bytes(values, remap, meter),
            Self::F32x2(values) => bytes(values, remap, meter),
            Self::F32x3(values) => bytes(values, remap, meter),
            Self::F32x4(values) => bytes(values, remap, meter),
            Self::U32(values) => bytes(values, remap, meter),
        }
    }
}

fn bytes<T: PackedElement + IntoBytes + Immutable>(
    values: &Packed<T>,
    remap: Option<(&VertexRemap, usize)>,
    meter: &Meter,
) -> Result<Bytes> {
    let Some((remap, stream)) = remap else {
        return Ok(values.read_within(meter)?.into_bytes());
    };
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
        let absent = || FILE.out_of_range("attribute").found(&info.semantic);
        let (values, stream) = self.arrays.get(index).ok_or_else(absent)?;
        let bytes = values.bytes(self.remap.as_ref().map(|remap| (remap, *stream)), meter)?;
        Ok(Attribute::new(info.semantic.clone(), info.format, bytes))
    }

    fn bounds(&self, index: usize, info: &AttributeInfo, meter: &Meter) -> Result<Option<Bounds>> {
        let Some((Values::F32x3(positions), stream)) = self.arrays.get(index) else {
            return Ok(self.load(index, info, meter)?.bounds());
        };
        positions.bounds(
            self.remap.as_ref().and_then(|remap| remap.sources(*stream)),
            meter,
        )
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
    let arrays = || counts.into_iter().zip(corners);
    let lead = arrays().find_map(|(count, corners)| Some((count?, corners)));
    let Some((lead_count, lead_corners)) = lead else {
        return Vec::new();
    };
    let found = |(semantic, (count, corners)): (&Semantic, (Option<usize>, Option<usize>))| {
        let own = lead_corners.is_some() && corners == lead_corners;
        let count = count.filter(|count| !own && *count != lead_count)?;
        Some(unassigned(semantic, count))
    };
    semantics.iter().zip(arrays()).filter_map(found).collect()
}

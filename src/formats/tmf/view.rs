//! A mesh as a renderer sees it: one index for all attributes.

use bytes::Bytes;
use zerocopy::{Immutable, IntoBytes};

use super::finding;
use super::mesh::{CustomValues, Mesh};
use super::packed::{Packed, PackedElement};
use crate::bytes::Array;
use crate::format::Format;
use crate::mesh::sealed::Sealed;
use crate::mesh::{Attribute, AttributeInfo, Indices, MeshView, Semantic, VertexFormat, Weld, scan};
use crate::report::{Error, ErrorKind, Finding, Result};

/// A mesh of a [`Document`](super::Document) with one index for all its attributes; see
/// [`Document::mesh_view`](super::Document::mesh_view).
///
/// Where all index arrays of the mesh are the same and all its arrays are of one length, vertices and indices are the
/// file's, also vertices that no triangle uses. Else corners are [welded](Weld), and vertices are numbered in the order
/// of their first use. A mesh without triangles is a cloud of points. Custom data are attributes where there are as many
/// of them as vertices: colours are [`Semantic::Color`], everything else has its name.
#[derive(Clone, Debug)]
pub struct View {
    mesh: Mesh,
    attributes: Vec<(Semantic, Values, usize)>,
    vertex_count: usize,
    indices: Array<u32>,
    /// With the stream of each attribute, where corners had to be welded.
    weld: Option<Weld>,
    findings: Vec<Finding>,
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

/// An attribute that has indices of its own in the format, whether the mesh has them or not.
struct Candidate {
    semantic: Semantic,
    values: Values,
    indices: Option<Array<u32>>,
}

/// The indices of one or several attributes, and how many elements each of those has.
struct Stream {
    indices: Array<u32>,
    count: usize,
}

impl View {
    pub(crate) fn new(mesh: &Mesh) -> Result<Self> {
        let candidates = candidates(mesh)?;
        let mut findings = Vec::new();
        let mut streams: Vec<Stream> = Vec::new();
        let mut attributes = Vec::new();
        // What corners and vertices are counted by: the vertices, where there are any.
        let lead = candidates.first().map(|lead| (lead.values.len(), lead.indices.clone()));
        let (lead_count, lead_indices) = lead.unwrap_or_default();
        for Candidate { semantic, values, indices } in candidates {
            let count = values.len();
            let indices = match (&lead_indices, indices) {
                (Some(lead), Some(own)) if own.len() == lead.len() => Some(own),
                (Some(lead), _) if count == lead_count => Some(lead.clone()),
                (None, _) if count == lead_count => None,
                _ => {
                    findings.push(unassigned(mesh, &semantic, count));
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
            findings.push(Finding::suspicious(finding::ODD_INDICES, detail).of(mesh.address()));
        }
        let cut = |indices: &Array<u32>| indices.slice(0..whole).unwrap_or_else(|| indices.clone());
        let this = |vertex_count, indices, weld| Self {
            mesh: mesh.clone(),
            attributes,
            vertex_count,
            indices,
            weld,
            findings,
        };
        let (Some(first), Some(_)) = (streams.first(), &lead_indices) else {
            return Ok(this(lead_count, Array::from_vec(Vec::new()), None));
        };
        if streams.len() == 1 {
            return Ok(this(lead_count, cut(&first.indices), None));
        }
        let numbers: Vec<Vec<u32>> = streams.iter().map(|stream| cut(&stream.indices).to_vec()).collect();
        let slices: Vec<&[u32]> = numbers.iter().map(Vec::as_slice).collect();
        let counts: Vec<usize> = streams.iter().map(|stream| stream.count).collect();
        let weld = Weld::new(&slices, &counts).map_err(|error| error.format_is(Some(Format::Tmf)))?;
        let indices = Array::from_vec(weld.indices().to_vec());
        Ok(this(weld.vertex_count(), indices, Some(weld)))
    }

    /// The mesh, as the file stores it.
    #[must_use]
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// How vertices were made of the file's arrays; `None` where they are the file's.
    ///
    /// The attributes of the weld are those that have indices of their own, in the order of
    /// [`attributes`](MeshView::attributes), without those whose indices and number are those of another one.
    #[must_use]
    pub fn weld(&self) -> Option<&Weld> {
        self.weld.as_ref()
    }
}

fn candidates(mesh: &Mesh) -> Result<Vec<Candidate>> {
    let triangles = mesh.triangles()?;
    let all = [
        (Semantic::Position, mesh.vertices().map(Values::F32x3), triangles.vertex),
        (Semantic::Normal, mesh.normals().map(Values::F32x3), triangles.normal),
        (Semantic::TexCoord(0), mesh.uvs().map(Values::F32x2), triangles.uv),
        (Semantic::Tangent, mesh.tangents().map(Values::F32x4), triangles.tangent),
    ];
    let candidate = |(semantic, values, indices): (_, Option<_>, _)| {
        values.map(|values| Candidate { semantic, values, indices })
    };
    Ok(all.into_iter().filter_map(candidate).collect())
}

/// The number of a stream, which may be one that is there.
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

fn unassigned(mesh: &Mesh, semantic: &Semantic, count: usize) -> Finding {
    let detail = format!("{count} elements of {semantic} cannot be told which vertex they belong to");
    Finding::suspicious(finding::UNASSIGNED, detail).of(mesh.address())
}

/// Custom data of which there is one for each vertex of the file.
fn add_custom(mesh: &Mesh, vertices: usize, attributes: &mut Vec<(Semantic, Values, usize)>) -> Result<()> {
    let mut colors = 0_u32;
    for custom in mesh.custom()? {
        if custom.values.len() != vertices || vertices == 0 {
            continue;
        }
        let name = || Semantic::Custom(custom.name.to_string_lossy().into_owned());
        let (semantic, values) = match custom.values {
            CustomValues::ColorRgba(colours) => {
                colors = colors.saturating_add(1);
                (Semantic::Color(colors.saturating_sub(1)), Values::F32x4(colours))
            }
            CustomValues::Float(floats) => (name(), Values::F32(floats)),
            CustomValues::Index(integers) | CustomValues::Integer(integers) => {
                (name(), Values::U32(integers))
            }
        };
        // Of several with one name, the first, as the crate finds it.
        if !attributes.iter().any(|(have, _, _)| *have == semantic) {
            attributes.push((semantic, values, 0));
        }
    }
    Ok(())
}

/// Every index must name an element of its array.
fn check(mesh: &Mesh, attributes: &[(Semantic, Values, usize)], streams: &[Stream]) -> Result<()> {
    for (number, stream) in streams.iter().enumerate() {
        let Some(found) = scan::out_of_range(stream.indices.iter(), stream.count) else { continue };
        let index = stream.indices.slice_u64(found.first..u64::MAX).get(0).unwrap_or_default();
        let of = attributes.iter().find(|(_, _, stream)| *stream == number);
        let name = match of.map(|(semantic, _, _)| semantic) {
            Some(Semantic::Normal) => "normal_triangles",
            Some(Semantic::TexCoord(_)) => "uv_triangles",
            Some(Semantic::Tangent) => "tangent_triangles",
            _ => "vertex_triangles",
        };
        let error = Error::new(ErrorKind::Malformed, finding::INDEX_OUT_OF_RANGE).at(mesh.range());
        let error = error.format_is(Some(Format::Tmf)).of(mesh.address().then(name).index(found.first));
        return Err(error.expected(format!("less than {}", stream.count)).found(index));
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
    fn bytes(&self, weld: Option<(&Weld, usize)>) -> Result<Bytes> {
        match self {
            Self::F32(values) => bytes(values, weld),
            Self::F32x2(values) => bytes(values, weld),
            Self::F32x3(values) => bytes(values, weld),
            Self::F32x4(values) => bytes(values, weld),
            Self::U32(values) => bytes(values, weld),
        }
    }
}

fn bytes<T: PackedElement + IntoBytes + Immutable>(
    values: &Packed<T>,
    weld: Option<(&Weld, usize)>,
) -> Result<Bytes> {
    let elements = values.decode()?;
    let Some((weld, stream)) = weld else { return Ok(elements.into_bytes()) };
    let gathered = weld.gather(stream, &elements.to_native())?;
    Ok(Array::from_vec(gathered).into_bytes())
}

impl Sealed for View {}

impl MeshView for View {
    fn name(&self) -> String {
        self.mesh.name().to_string_lossy().into_owned()
    }

    fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    fn attributes(&self) -> Vec<AttributeInfo> {
        let info = |(semantic, values, _): &(Semantic, Values, usize)| AttributeInfo {
            semantic: semantic.clone(),
            format: values.format(),
        };
        self.attributes.iter().map(info).collect()
    }

    fn attribute(&self, semantic: &Semantic) -> Result<Option<Attribute>> {
        let Some((semantic, values, stream)) = self.attributes.iter().find(|(have, ..)| have == semantic)
        else {
            return Ok(None);
        };
        let bytes = values.bytes(self.weld.as_ref().map(|weld| (weld, *stream)))?;
        Ok(Some(Attribute::new(semantic.clone(), values.format(), bytes)))
    }

    fn indices(&self) -> Result<Indices> {
        Ok(Indices::new(self.indices.clone(), 0))
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// What a view of the mesh would leave out, by the number of elements and of corners of each array.
pub(crate) fn unassigned_findings(
    mesh: &Mesh,
    counts: [Option<usize>; 4],
    corners: [Option<usize>; 4],
) -> Vec<Finding> {
    let semantics = [Semantic::Position, Semantic::Normal, Semantic::TexCoord(0), Semantic::Tangent];
    let arrays = || counts.into_iter().zip(corners);
    let lead = arrays().find_map(|(count, corners)| Some((count?, corners)));
    let Some((lead_count, lead_corners)) = lead else { return Vec::new() };
    let found = |(semantic, (count, corners)): (&Semantic, (Option<usize>, Option<usize>))| {
        let own = lead_corners.is_some() && corners == lead_corners;
        let count = count.filter(|count| !own && *count != lead_count)?;
        Some(unassigned(mesh, semantic, count))
    };
    semantics.iter().zip(arrays()).filter_map(found).collect()
}

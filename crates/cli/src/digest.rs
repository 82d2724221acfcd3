//! A sha256 of every array, and every string, that a file decodes to: for comparing readers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use meshmap::cgeo::{MeshBuffer, Proxy, Snapshot, Triangles};
use meshmap::iqm::{Model, Trs};
use meshmap::openctm::{self, Bodies};
use meshmap::slmesh::{self, Asset, Lod, WeightScale};
use meshmap::tmf::{CustomValues, Document, Packed, PackedElement};
use meshmap::{Array, Element, Finding, Format, MeshFile, Scalar, Scratch, Severity, Text};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// Why there is no digest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The file cannot be read.
    #[error(transparent)]
    Library(#[from] meshmap::Error),
    /// It can be read, and some of its data cannot be used.
    #[error("{0}: malformed {what}{place}: found {detail}", what = .1.rule.name, detail = .1.detail, place = place(.1))]
    Damaged(Format, Finding),
    /// It is of a format that has no digest here.
    #[error("{0}: unsupported digest: expected a format of this version of the command line")]
    Unlisted(Format),
    /// Its parts are so much larger than the file that hashing them would take hours.
    #[error("{format}: limit exceeded by {what}: expected at most {most} bytes, found {found}")]
    TooLarge {
        /// The format of the file.
        format: Format,
        /// What is too large, by the name that the specification has for it.
        what: &'static str,
        /// The most that is hashed.
        most: u64,
        /// What there is.
        found: u64,
    },
}

impl Refused {
    /// The whole line, without the path of the file.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Library(error) => error.message(),
            other => other.to_string(),
        }
    }
}

/// Where a finding is, as an error says it.
fn place(finding: &Finding) -> String {
    let of = finding.address.as_ref().map(|address| format!(" of {address}"));
    let at = finding.byte_range.as_ref().map(|range| format!(" at {:#x}..{:#x}", range.start, range.end));
    of.unwrap_or_default() + &at.unwrap_or_default()
}

/// The digest of a file, an object in JSON: its `format`, its `arrays` (type, shape and sha256 of each) and its `strings`.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct FileDigest {
    #[serde(serialize_with = "as_string")]
    format: Format,
    #[serde(serialize_with = "as_object")]
    arrays: Arrays,
    #[serde(serialize_with = "as_object")]
    strings: Vec<(String, String)>,
    /// Arrays that are so much larger than the file that hashing them would take hours, and their bytes.
    #[serde(serialize_with = "as_object", skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<(String, u64)>,
}

/// Arrays by their paths. There may be hundreds of thousands of them.
type Arrays = Vec<(String, Hashed)>;

/// What an array is, and the sha256 of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Hashed {
    #[serde(rename = "type", serialize_with = "as_string")]
    scalar: Scalar,
    shape: Box<[u64]>,
    #[serde(serialize_with = "as_hex")]
    sha256: [u8; 32],
}

fn as_string<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn as_hex<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn as_object<T: Serialize, S: Serializer>(entries: &[(String, T)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|(path, entry)| (path, entry)))
}

/// The digest of a file.
///
/// # Errors
///
/// As [`Refused`] says.
pub fn of(file: &MeshFile) -> Result<FileDigest, Refused> {
    let Listing { arrays, strings, left_out, .. } = match file {
        MeshFile::CGeo(proxy) => cgeo(proxy)?,
        MeshFile::Iqm(model) => iqm(model)?,
        MeshFile::OpenCtm(bodies) => openctm(bodies)?,
        MeshFile::SlMesh(asset) => slmesh(asset)?,
        MeshFile::Tmf(document) => tmf(document)?,
        other => return Err(Refused::Unlisted(other.format())),
    };
    Ok(FileDigest { format: file.format(), arrays, strings, left_out })
}

/// The arrays and strings of a file.
#[derive(Default)]
struct Listing {
    arrays: Arrays,
    strings: Vec<(String, String)>,
    left_out: Vec<(String, u64)>,
    hashed: u64,
}

impl Listing {
    fn array(&mut self, path: impl Into<String>, kind: Scalar, shape: &[u64], bytes: &[u8]) {
        self.hash(path, kind, shape, Sha256::new_with_prefix(bytes));
    }

    fn hash(&mut self, path: impl Into<String>, kind: Scalar, shape: &[u64], hash: Sha256) {
        let hashed = Hashed { scalar: kind, shape: shape.into(), sha256: hash.finalize().into() };
        self.arrays.push((path.into(), hashed));
    }

    fn triples(&mut self, path: String, triples: &[[f32; 3]]) {
        let bytes: Vec<u8> = triples.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect();
        self.array(path, Scalar::F32, &[triples.len() as u64, 3], &bytes);
    }

    fn string(&mut self, path: String, text: &Text) {
        self.strings.push((path, text.to_string_lossy().into()));
    }

    /// Parts of a file may share bytes; one in which thousands do would take hours.
    fn may_add(
        &mut self,
        format: Format,
        what: &'static str,
        bytes: u64,
        file_bytes: u64,
    ) -> Result<(), Refused> {
        let most = file_bytes.saturating_mul(64).saturating_add(512 << 20);
        self.hashed = self.hashed.saturating_add(bytes);
        if self.hashed <= most {
            return Ok(());
        }
        Err(Refused::TooLarge { format, what, most, found: self.hashed })
    }
}

fn cgeo(proxy: &Proxy) -> Result<Listing, Refused> {
    /// What an array that is listed once more counts for.
    const LISTED: u64 = 8 << 10;
    let mut listing = Listing::default();
    let file_bytes = proxy.source().len()?.unwrap_or(0);
    let (mut mesh, mut scratch) = (MeshBuffer::default(), Scratch::default());
    let mut entries: HashMap<u64, usize> = HashMap::new();
    for index in 0..proxy.len() {
        *entries.entry(proxy.snapshot(index)?.range().start).or_default() += 1;
    }
    // Entries of the table that name the same snapshot have the same arrays.
    let mut seen: HashMap<u64, Arrays> = HashMap::new();
    for index in 0..proxy.len() {
        let snapshot = proxy.snapshot(index)?;
        let start = snapshot.range().start;
        let name = |name: &str| format!("snapshots[{index}].{name}");
        if entries.get(&start) == Some(&1) {
            let arrays = snapshot_arrays(&snapshot, &mut mesh, &mut scratch)?;
            listing.arrays.extend(arrays.into_iter().map(|(of, array)| (name(&of), array)));
            continue;
        }
        let arrays = match seen.entry(start) {
            Entry::Occupied(arrays) => {
                let arrays = arrays.into_mut();
                listing.may_add(Format::CGeo, "offset table", LISTED * arrays.len() as u64, file_bytes)?;
                arrays
            }
            Entry::Vacant(place) => place.insert(snapshot_arrays(&snapshot, &mut mesh, &mut scratch)?),
        };
        listing.arrays.extend(arrays.iter().map(|(of, array)| (name(of), array.clone())));
    }
    let names = [("object_name", proxy.object_name()), ("material_name", proxy.material_name())];
    for (path, name) in names {
        if let Some(name) = name {
            listing.string(path.to_owned(), &name);
        }
    }
    Ok(listing)
}

fn snapshot_arrays(
    snapshot: &Snapshot,
    mesh: &mut MeshBuffer,
    scratch: &mut Scratch,
) -> Result<Arrays, Refused> {
    let mut listing = Listing::default();
    // Led through to the end tag.
    snapshot.sections()?;
    if let Some(bounds) = snapshot.bounding_box_reusing(scratch)? {
        listing.triples("bounding_box".to_owned(), &[bounds.min, bounds.max]);
    }
    if let Some(cloud) = snapshot.point_cloud()? {
        listing.triples("point_cloud".to_owned(), &cloud.to_vec());
    }
    snapshot.mesh_into(mesh, scratch)?;
    listing.triples("positions".to_owned(), &mesh.positions);
    listing.triples("normals".to_owned(), &mesh.normals);
    for (channel, coordinates) in mesh.map_channels.iter().enumerate() {
        listing.triples(format!("map_channels[{channel}]"), coordinates);
    }
    triangles("triangles", &mesh.triangles, &mut listing);
    Ok(listing.arrays)
}

fn triangles(path: &str, triangles: &Triangles, listing: &mut Listing) {
    let count = triangles.len() as u64;
    let mut indices = |name: String, indices: Vec<[u32; 3]>| {
        let bytes: Vec<u8> = indices.as_flattened().iter().flat_map(|index| index.to_le_bytes()).collect();
        listing.array(name, Scalar::U32, &[count, 3], &bytes);
    };
    indices(format!("{path}.positions"), triangles.positions());
    if let Some(normals) = triangles.normals() {
        indices(format!("{path}.normals"), normals);
    }
    for channel in 0..triangles.map_channels() {
        if let Some(coordinates) = triangles.map_channel(channel) {
            indices(format!("{path}.map_channels[{channel}]"), coordinates);
        }
    }
    if let Some(ids) = triangles.material_ids() {
        let bytes: Vec<u8> = ids.iter().flat_map(|id| (*id as u16).to_le_bytes()).collect();
        listing.array(format!("{path}.material_ids"), Scalar::U16, &[count], &bytes);
    }
    if let Some(edges) = triangles.edge_visibility() {
        listing.array(format!("{path}.edge_visibility"), Scalar::U8, &[count], &edges);
    }
}

fn iqm(model: &Model) -> Result<Listing, Refused> {
    model.check_indices()?;
    let mut listing = Listing::default();
    let filesize = u64::from(model.header().filesize.get());

    for (index, array) in model.vertex_arrays().enumerate() {
        listing.may_add(Format::Iqm, "iqmvertexarray[]", array.range.end - array.range.start, filesize)?;
        let attribute = model.vertex_array(index)?;
        let shape = [model.vertex_count() as u64, array.size.into()];
        listing.array(format!("vertex_arrays[{index}]"), array.format, &shape, attribute.as_bytes());
    }
    let triangles = [model.triangle_count() as u64, 3];
    if model.triangle_count() > 0 {
        listing.array("triangles", Scalar::U32, &triangles, model.triangles()?.as_bytes());
    }
    if let Some(adjacency) = model.adjacency()? {
        listing.array("adjacency", Scalar::U32, &triangles, adjacency.as_bytes());
    }
    if model.joint_count() > 0 {
        let bytes: Vec<u8> = model.joints().flat_map(|joint| trs_bytes(&joint.trs)).collect();
        listing.array("joints", Scalar::F32, &[model.joint_count() as u64, 10], &bytes);
    }
    frames(model, filesize, &mut listing)?;
    if let Some(bounds) = model.bounds()? {
        listing.array("bounds", Scalar::F32, &[bounds.len() as u64, 8], bounds.as_bytes());
    }

    for (index, mesh) in model.meshes().enumerate() {
        listing.may_add(
            Format::Iqm,
            "iqmmesh.name",
            (mesh.name.as_bytes().len() + mesh.material.as_bytes().len()) as u64,
            filesize,
        )?;
        listing.string(format!("meshes[{index}].name"), &mesh.name);
        listing.string(format!("meshes[{index}].material"), &mesh.material);
    }
    for (index, joint) in model.joints().enumerate() {
        listing.may_add(Format::Iqm, "iqmjoint.name", joint.name.as_bytes().len() as u64, filesize)?;
        listing.string(format!("joints[{index}].name"), &joint.name);
    }
    for (index, anim) in model.anims().enumerate() {
        listing.may_add(Format::Iqm, "iqmanim.name", anim.name.as_bytes().len() as u64, filesize)?;
        listing.string(format!("anims[{index}].name"), &anim.name);
    }
    Ok(listing)
}

/// Frames a few at a time, so that a file of constant frames takes no memory.
fn frames(model: &Model, filesize: u64, listing: &mut Listing) -> Result<(), Refused> {
    let frames = model.frames();
    if frames.is_empty() || frames.pose_count() == 0 {
        return Ok(());
    }
    let poses = frames.pose_count() as u64;
    let bytes = u64::from(frames.len()) * poses * size_of::<Trs>() as u64;
    // Constant frames take no bytes of the file: their number says nothing about its soundness.
    if listing.may_add(Format::Iqm, "frames[]", bytes, filesize).is_err() {
        listing.left_out.push(("frames".to_owned(), bytes));
        return Ok(());
    }
    let step = (4096 / poses).max(1) as u32;
    let mut hash = Sha256::new();
    let mut pose = vec![Trs::default(); step as usize * frames.pose_count()];
    for first in (0..frames.len()).step_by(step as usize) {
        let end = first.saturating_add(step).min(frames.len());
        let part = &mut pose[..(end - first) as usize * frames.pose_count()];
        frames.frames_into(first..end, part)?;
        part.iter().for_each(|trs| hash.update(trs_bytes(trs)));
    }
    listing.hash("frames", Scalar::F32, &[frames.len().into(), poses, 10], hash);
    Ok(())
}

fn trs_bytes(trs: &Trs) -> [u8; 40] {
    let mut bytes = [0; 40];
    let numbers = trs.translate.iter().chain(&trs.rotate).chain(&trs.scale);
    for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

/// The first body.
fn openctm(bodies: &Bodies) -> Result<Listing, Refused> {
    let mut listing = Listing::default();
    let Some(mesh) = bodies.get(0) else { return Ok(listing) };
    // First, so that validation need not decode anything again.
    let openctm::MeshArrays { indices, positions, normals, uv_maps, attribute_maps, .. } = mesh.arrays()?;
    if let Some(finding) =
        mesh.validate()?.into_iter().find(|finding| finding.severity() == Severity::Unusable)
    {
        return Err(Refused::Damaged(Format::OpenCtm, finding));
    }
    groups(&mut listing, "indices".to_owned(), Scalar::U32, &indices);
    groups(&mut listing, "positions".to_owned(), Scalar::F32, &positions);
    if let Some(normals) = normals {
        groups(&mut listing, "normals".to_owned(), Scalar::F32, &normals);
    }
    listing.string("comment".to_owned(), &mesh.comment()?);
    for (index, (map, coords)) in mesh.uv_maps().zip(&uv_maps).enumerate() {
        let path = format!("uv_maps[{index}]");
        groups(&mut listing, format!("{path}.coords"), Scalar::F32, coords);
        listing.string(format!("{path}.name"), &map.name());
        listing.string(format!("{path}.file"), &map.file());
    }
    for (index, (map, values)) in mesh.attribute_maps().zip(&attribute_maps).enumerate() {
        let path = format!("attribute_maps[{index}]");
        groups(&mut listing, format!("{path}.values"), Scalar::F32, values);
        listing.string(format!("{path}.name"), &map.name());
    }
    Ok(listing)
}

fn slmesh(asset: &Asset) -> Result<Listing, Refused> {
    let mut listing = Listing::default();
    for lod in Lod::ALL {
        if let Some(mesh) = asset.lod(lod)? {
            faces(lod.name(), &mesh, &mut listing)?;
        }
    }
    if let Some(mesh) = asset.physics_mesh()? {
        faces("physics_mesh", &mesh, &mut listing)?;
    }
    if let Some(skin) = asset.skin()? {
        let mut matrices = |name: &str, shape: &[u64], matrices: &[[f32; 16]]| {
            let bytes: Vec<u8> =
                matrices.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect();
            listing.array(format!("skin.{name}"), Scalar::F32, shape, &bytes);
        };
        if let Some(matrix) = skin.bind_shape_matrix {
            matrices("bind_shape_matrix", &[16], &[matrix]);
        }
        if let Some(inverse) = skin.inverse_bind_matrices {
            matrices("inverse_bind_matrices", &[inverse.len() as u64, 16], &inverse.to_vec());
        }
        if let Some(alt) = skin.alt_inverse_bind_matrices {
            matrices("alt_inverse_bind_matrices", &[alt.len() as u64, 16], &alt.to_vec());
        }
        for (index, name) in skin.joint_names.iter().flatten().enumerate() {
            listing.string(format!("skin.joint_names[{index}]"), name);
        }
    }
    if let Some(convex) = asset.physics_convex()? {
        if let Some(sizes) = convex.hull_sizes() {
            let shape = [sizes.len() as u64];
            let bytes: Vec<u8> = sizes.flat_map(|size| (size as u32).to_le_bytes()).collect();
            listing.array("physics_convex.hull_sizes", Scalar::U32, &shape, &bytes);
        }
        for (name, points) in
            [("hull_points", convex.hull_points()?), ("bounding_verts", convex.bounding_verts()?)]
        {
            if let Some(points) = points {
                listing.triples(format!("physics_convex.{name}"), &points.to_vec());
            }
        }
    }
    Ok(listing)
}

/// An array of groups of `N` numbers.
fn groups<T, const N: usize>(listing: &mut Listing, path: String, kind: Scalar, array: &Array<[T; N]>)
where
    [T; N]: Element,
{
    listing.array(path, kind, &[array.len() as u64, N as u64], array.as_bytes());
}

fn faces(block: &str, mesh: &slmesh::Mesh, listing: &mut Listing) -> Result<(), Refused> {
    for face in mesh.faces().filter(slmesh::Face::has_geometry) {
        let path = |array: &str| format!("{block}.faces[{}].{array}", face.index());
        let count = face.vertex_count() as u64;
        listing.array(path("positions"), Scalar::F32, &[count, 3], face.positions()?.as_bytes());
        if let Some(normals) = face.normals()? {
            listing.array(path("normals"), Scalar::F32, &[count, 3], normals.as_bytes());
        }
        if let Some(tex_coords) = face.tex_coords()? {
            listing.array(path("tex_coords"), Scalar::F32, &[count, 2], tex_coords.as_bytes());
        }
        let indices = face.checked_indices()?;
        listing.array(path("indices"), Scalar::U16, &[indices.len() as u64], indices.as_bytes());
        if let Some(weights) = face.weights() {
            let arrays = weights.arrays(WeightScale::Stored)?;
            listing.array(path("joint_indices"), Scalar::U8, &[count, 4], arrays.joints.as_bytes());
            listing.array(path("joint_weights"), Scalar::F32, &[count, 4], arrays.weights.as_bytes());
        }
    }
    Ok(())
}

fn tmf(document: &Document) -> Result<Listing, Refused> {
    let mut listing = Listing::default();
    for (index, mesh) in document.meshes().enumerate() {
        let path = |array: &str| format!("meshes[{index}].{array}");
        let mesh = mesh.load()?;
        listing.string(path("name"), &mesh.name());
        packed(&mut listing, path("vertices"), Scalar::F32, &[3], mesh.vertices())?;
        packed(&mut listing, path("normals"), Scalar::F32, &[3], mesh.normals())?;
        packed(&mut listing, path("uvs"), Scalar::F32, &[2], mesh.uvs())?;
        packed(&mut listing, path("tangents"), Scalar::F32, &[4], mesh.tangents())?;
        packed(&mut listing, path("vertex_triangles"), Scalar::U32, &[], mesh.vertex_triangles())?;
        packed(&mut listing, path("normal_triangles"), Scalar::U32, &[], mesh.normal_triangles())?;
        packed(&mut listing, path("uv_triangles"), Scalar::U32, &[], mesh.uv_triangles())?;
        packed(&mut listing, path("tangent_triangles"), Scalar::U32, &[], mesh.tangent_triangles())?;
        for (place, custom) in mesh.custom()?.into_iter().enumerate() {
            let path = path(&format!("custom[{place}]"));
            listing.string(format!("{path}.name"), &custom.name);
            match custom.values {
                CustomValues::Float(values) => {
                    packed(&mut listing, path, Scalar::F32, &[1], Some(values))?;
                }
                CustomValues::ColorRgba(values) => {
                    packed(&mut listing, path, Scalar::F32, &[4], Some(values))?;
                }
                CustomValues::Index(values) | CustomValues::Integer(values) => {
                    packed(&mut listing, path, Scalar::U32, &[], Some(values))?;
                }
                other => unreachable!("custom data of a kind that this version does not know: {other:?}"),
            }
        }
    }
    Ok(listing)
}

fn packed<T: PackedElement>(
    listing: &mut Listing,
    path: String,
    kind: Scalar,
    lanes: &[u64],
    array: Option<Packed<T>>,
) -> Result<(), Refused> {
    let Some(array) = array else { return Ok(()) };
    let shape: Vec<u64> = std::iter::once(array.len() as u64).chain(lanes.iter().copied()).collect();
    listing.array(path, kind, &shape, array.decode()?.as_bytes());
    Ok(())
}

//! The arrays of a file by their addresses, loaded one group after the other.

use std::iter;

use meshmap::cgeo::Proxy;
use meshmap::iqm::{Model, Trs};
use meshmap::openctm;
use meshmap::slmesh::{Asset, Lod, WeightScale};
use meshmap::tmf::{self, CustomValues, Packed, PackedElement};
use meshmap::{Array, Bytes, Element, Error, MeshFile, Result, Scalar};

/// The values of an array.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    pub(crate) scalar: Scalar,
    /// The number of elements, and how many numbers each has.
    pub(crate) count: u64,
    pub(crate) components: usize,
    /// Little-endian, one after the other.
    pub(crate) bytes: Bytes,
}

impl Values {
    fn new(scalar: Scalar, components: usize, bytes: Bytes) -> Self {
        let element = (scalar.size() * components).max(1);
        Self { scalar, count: (bytes.len() / element) as u64, components, bytes }
    }

    fn of<T: Element>(scalar: Scalar, components: usize, array: &Array<T>) -> Self {
        Self::new(scalar, components, array.clone().into_bytes())
    }

    fn of_triples(triples: &[[u32; 3]]) -> Self {
        let bytes: Vec<u8> = triples.as_flattened().iter().flat_map(|index| index.to_le_bytes()).collect();
        Self::new(Scalar::U32, 3, bytes.into())
    }

    fn of_floats(floats: impl Iterator<Item = f32>, components: usize) -> Self {
        let bytes: Vec<u8> = floats.flat_map(f32::to_le_bytes).collect();
        Self::new(Scalar::F32, components, bytes.into())
    }

    /// All numbers, as f64, which holds each of them exactly but 64-bit integers beyond 2^53.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        self.bytes.chunks_exact(self.scalar.size().max(1)).map(|bytes| number(self.scalar, bytes))
    }

    /// The number at a place.
    pub(crate) fn at(&self, place: usize) -> Option<f64> {
        let size = self.scalar.size();
        let start = place.checked_mul(size)?;
        Some(number(self.scalar, self.bytes.get(start..start.checked_add(size)?)?))
    }

    pub(crate) fn is_float(&self) -> bool {
        matches!(self.scalar, Scalar::F16 | Scalar::F32 | Scalar::F64)
    }
}

fn number(scalar: Scalar, bytes: &[u8]) -> f64 {
    fn of<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
    match scalar {
        Scalar::I8 => i8::from_le_bytes(of(bytes)).into(),
        Scalar::U8 => u8::from_le_bytes(of(bytes)).into(),
        Scalar::I16 => i16::from_le_bytes(of(bytes)).into(),
        Scalar::U16 => u16::from_le_bytes(of(bytes)).into(),
        Scalar::I32 => i32::from_le_bytes(of(bytes)).into(),
        Scalar::U32 => u32::from_le_bytes(of(bytes)).into(),
        Scalar::F16 => half(u16::from_le_bytes(of(bytes))),
        Scalar::F32 => f32::from_le_bytes(of(bytes)).into(),
        Scalar::F64 => f64::from_le_bytes(of(bytes)),
        _ => f64::NAN,
    }
}

/// A half as f64.
fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

/// An array, or why it cannot be read.
pub(crate) type Loaded = (String, Result<Values>);

/// What the arrays of a file belong to: `snapshots[3]`, `high_lod`, or the file itself, which is the empty text.
pub(crate) fn groups(file: &MeshFile) -> Vec<String> {
    match file {
        MeshFile::CGeo(proxy) => (0..proxy.len()).map(|index| format!("snapshots[{index}]")).collect(),
        MeshFile::OpenCtm(bodies) => (0..bodies.len()).map(|index| format!("bodies[{index}]")).collect(),
        MeshFile::Tmf(document) => (0..document.len()).map(|index| format!("meshes[{index}]")).collect(),
        MeshFile::SlMesh(_) => SLMESH.map(str::to_owned).to_vec(),
        _ => vec![String::new()],
    }
}

const SLMESH: [&str; 7] =
    ["high_lod", "medium_lod", "low_lod", "lowest_lod", "physics_mesh", "skin", "physics_convex"];

/// The arrays of a group. Where one address is wanted, others need not be loaded, and are left out.
pub(crate) fn load(file: &MeshFile, group: &str, wanted: Option<&str>) -> Vec<Loaded> {
    let index = || -> Option<usize> { group.split_once('[')?.1.strip_suffix(']')?.parse().ok() };
    let mut list = List { group, wanted, loaded: Vec::new() };
    match file {
        MeshFile::CGeo(proxy) => index().into_iter().for_each(|index| snapshot(proxy, index, &mut list)),
        MeshFile::Iqm(model) => iqm(model, &mut list),
        MeshFile::OpenCtm(bodies) => {
            index().and_then(|index| bodies.get(index)).into_iter().for_each(|mesh| body(mesh, &mut list));
        }
        MeshFile::SlMesh(asset) => slmesh(asset, group, &mut list),
        MeshFile::Tmf(document) => {
            index().and_then(|index| document.mesh(index)).iter().for_each(|mesh| tmf(mesh, &mut list));
        }
        _ => {}
    }
    list.loaded
}

/// The arrays that were loaded.
struct List<'a> {
    group: &'a str,
    wanted: Option<&'a str>,
    loaded: Vec<Loaded>,
}

impl List<'_> {
    /// Loads an array, if it is wanted and there is one.
    fn add(&mut self, name: &str, load: impl FnOnce() -> Result<Option<Values>>) {
        let address = match (self.group.is_empty(), name.is_empty()) {
            (true, _) => name.to_owned(),
            (false, true) => self.group.to_owned(),
            (false, false) => format!("{}.{name}", self.group),
        };
        if self.wanted.is_some_and(|wanted| wanted != address) {
            return;
        }
        if let Some(values) = load().transpose() {
            self.loaded.push((address, values));
        }
    }

    fn fail(&mut self, error: Error) {
        self.loaded.push((self.group.to_owned(), Err(error)));
    }
}

fn snapshot(proxy: &Proxy, index: usize, list: &mut List<'_>) {
    let snapshot = match proxy.snapshot(index) {
        Ok(snapshot) => snapshot,
        Err(error) => return list.fail(error),
    };
    list.add("bounding_box", || {
        let bounds = snapshot.bounding_box()?;
        Ok(bounds.map(|bounds| Values::of_floats(bounds.min.into_iter().chain(bounds.max), 3)))
    });
    list.add("point_cloud", || Ok(snapshot.point_cloud()?.map(|points| Values::of(Scalar::F32, 3, &points))));
    list.add("positions", || Ok(Some(Values::of(Scalar::F32, 3, &snapshot.positions()?))));
    list.add("normals", || Ok(Some(Values::of(Scalar::F32, 3, &snapshot.normals()?))));
    if list.wanted.is_some_and(|wanted| {
        let own = wanted.strip_prefix(list.group).unwrap_or_default();
        !own.starts_with(".map_channels") && !own.starts_with(".triangles")
    }) {
        return;
    }
    let mesh = match snapshot.mesh() {
        Ok(mesh) => mesh,
        Err(error) => return list.add("triangles", || Err(error)),
    };
    for (channel, coordinates) in mesh.map_channels.iter().enumerate() {
        list.add(&format!("map_channels[{channel}]"), || Ok(Some(Values::of(Scalar::F32, 3, coordinates))));
    }
    let triangles = &mesh.triangles;
    list.add("triangles.positions", || Ok(Some(Values::of_triples(&triangles.positions()))));
    list.add("triangles.normals", || Ok(triangles.normals().map(|normals| Values::of_triples(&normals))));
    for channel in 0..triangles.map_channels() {
        list.add(&format!("triangles.map_channels[{channel}]"), || {
            Ok(triangles.map_channel(channel).map(|coordinates| Values::of_triples(&coordinates)))
        });
    }
    list.add("triangles.material_ids", || {
        let bytes = |ids: Vec<u32>| ids.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
        Ok(triangles.material_ids().map(|ids| Values::new(Scalar::U32, 1, bytes(ids).into())))
    });
    list.add("triangles.edge_visibility", || {
        Ok(triangles.edge_visibility().map(|edges| Values::new(Scalar::U8, 1, edges.into())))
    });
}

fn iqm(model: &Model, list: &mut List<'_>) {
    for (index, array) in model.vertex_arrays().enumerate() {
        list.add(&format!("vertex_arrays[{index}]"), || {
            let attribute = model.vertex_array(index)?;
            Ok(Some(Values::new(array.format, array.size as usize, attribute.into_bytes())))
        });
    }
    list.add("triangles", || {
        Ok((model.triangle_count() > 0)
            .then(|| model.triangles())
            .transpose()?
            .map(|t| Values::of(Scalar::U32, 3, &t)))
    });
    list.add("adjacency", || Ok(model.adjacency()?.map(|adjacency| Values::of(Scalar::U32, 3, &adjacency))));
    list.add("joints", || {
        let numbers = model.joints().flat_map(|joint| trs(&joint.trs));
        Ok((model.joint_count() > 0).then(|| Values::of_floats(numbers, 10)))
    });
    list.add("frames", || {
        let frames = model.frames();
        if frames.is_empty() || frames.pose_count() == 0 {
            return Ok(None);
        }
        Ok(Some(Values::of_floats(frames.to_vec()?.iter().flat_map(trs), 10)))
    });
    list.add("bounds", || Ok(model.bounds()?.map(|bounds| Values::of(Scalar::F32, 8, &bounds))));
}

fn trs(trs: &Trs) -> impl Iterator<Item = f32> + use<> {
    let Trs { translate, rotate, scale, .. } = *trs;
    translate.into_iter().chain(rotate).chain(scale)
}

fn body(mesh: &openctm::Mesh, list: &mut List<'_>) {
    list.add("indices", || Ok(Some(Values::of(Scalar::U32, 3, &mesh.indices()?))));
    list.add("positions", || Ok(Some(Values::of(Scalar::F32, 3, &mesh.positions()?))));
    list.add("normals", || Ok(mesh.normals()?.map(|normals| Values::of(Scalar::F32, 3, &normals))));
    for (index, map) in mesh.uv_maps().enumerate() {
        list.add(&format!("uv_maps[{index}].coords"), || {
            Ok(Some(Values::of(Scalar::F32, 2, &map.coords()?)))
        });
    }
    for (index, map) in mesh.attribute_maps().enumerate() {
        list.add(&format!("attribute_maps[{index}].values"), || {
            Ok(Some(Values::of(Scalar::F32, 4, &map.values()?)))
        });
    }
}

fn slmesh(asset: &Asset, group: &str, list: &mut List<'_>) {
    match group {
        "skin" => skin(asset, list),
        "physics_convex" => convex(asset, list),
        _ => {
            let lod = Lod::ALL.into_iter().find(|lod| lod.name() == group);
            let mesh = lod.map_or_else(|| asset.physics_mesh(), |lod| asset.lod(lod));
            match mesh {
                Ok(Some(mesh)) => faces(&mesh, list),
                Ok(None) => {}
                Err(error) => list.fail(error),
            }
        }
    }
}

fn faces(mesh: &meshmap::slmesh::Mesh, list: &mut List<'_>) {
    for face in mesh.faces().filter(|face| face.has_geometry()) {
        let name = |array: &str| format!("faces[{}].{array}", face.index());
        list.add(&name("positions"), || Ok(Some(Values::of(Scalar::F32, 3, &face.positions()?))));
        list.add(&name("normals"), || {
            Ok(face.normals()?.map(|normals| Values::of(Scalar::F32, 3, &normals)))
        });
        list.add(&name("tex_coords"), || Ok(face.tex_coords()?.map(|uvs| Values::of(Scalar::F32, 2, &uvs))));
        list.add(&name("indices"), || Ok(Some(Values::of(Scalar::U16, 1, &face.indices()))));
        if let Some(weights) = face.weights() {
            let arrays = || weights.arrays(WeightScale::Stored);
            list.add(&name("joint_indices"), || Ok(Some(Values::of(Scalar::U8, 4, &arrays()?.joints))));
            list.add(&name("joint_weights"), || Ok(Some(Values::of(Scalar::F32, 4, &arrays()?.weights))));
        }
    }
}

fn skin(asset: &Asset, list: &mut List<'_>) {
    match asset.skin() {
        Ok(Some(skin)) => {
            list.add("bind_shape_matrix", || {
                Ok(skin.bind_shape_matrix.map(|m| Values::of_floats(m.into_iter(), 16)))
            });
            list.add("inverse_bind_matrices", || {
                Ok(skin.inverse_bind_matrices.as_ref().map(|matrices| Values::of(Scalar::F32, 16, matrices)))
            });
            list.add("alt_inverse_bind_matrices", || {
                Ok(skin
                    .alt_inverse_bind_matrices
                    .as_ref()
                    .map(|matrices| Values::of(Scalar::F32, 16, matrices)))
            });
        }
        Ok(None) => {}
        Err(error) => list.fail(error),
    }
}

fn convex(asset: &Asset, list: &mut List<'_>) {
    match asset.physics_convex() {
        Ok(Some(convex)) => {
            list.add("hull_sizes", || {
                let bytes = convex
                    .hull_sizes()
                    .map(|sizes| sizes.flat_map(|size| (size as u32).to_le_bytes()).collect::<Vec<u8>>());
                Ok(bytes.map(|bytes| Values::new(Scalar::U32, 1, bytes.into())))
            });
            list.add("hull_points", || {
                Ok(convex.hull_points()?.map(|points| Values::of(Scalar::F32, 3, &points)))
            });
            list.add("bounding_verts", || {
                Ok(convex.bounding_verts()?.map(|points| Values::of(Scalar::F32, 3, &points)))
            });
        }
        Ok(None) => {}
        Err(error) => list.fail(error),
    }
}

fn tmf(mesh: &tmf::Mesh, list: &mut List<'_>) {
    packed(list, "vertices", Scalar::F32, 3, mesh.vertices());
    packed(list, "normals", Scalar::F32, 3, mesh.normals());
    packed(list, "uvs", Scalar::F32, 2, mesh.uvs());
    packed(list, "tangents", Scalar::F32, 4, mesh.tangents());
    packed(list, "vertex_triangles", Scalar::U32, 1, mesh.vertex_triangles());
    packed(list, "normal_triangles", Scalar::U32, 1, mesh.normal_triangles());
    packed(list, "uv_triangles", Scalar::U32, 1, mesh.uv_triangles());
    packed(list, "tangent_triangles", Scalar::U32, 1, mesh.tangent_triangles());
    let custom = match mesh.custom() {
        Ok(custom) => custom,
        Err(error) => return list.add("custom", || Err(error)),
    };
    for (index, custom) in custom.into_iter().enumerate() {
        let name = format!("custom[{index}]");
        match custom.values {
            CustomValues::Float(values) => packed(list, &name, Scalar::F32, 1, Some(values)),
            CustomValues::ColorRgba(values) => packed(list, &name, Scalar::F32, 4, Some(values)),
            CustomValues::Index(values) | CustomValues::Integer(values) => {
                packed(list, &name, Scalar::U32, 1, Some(values));
            }
            _ => {}
        }
    }
}

fn packed<T: PackedElement>(
    list: &mut List<'_>,
    name: &str,
    scalar: Scalar,
    components: usize,
    array: Option<Packed<T>>,
) {
    if let Some(array) = array {
        list.add(name, || Ok(Some(Values::of(scalar, components, &array.decode()?))));
    }
}

/// The addresses of all arrays; loads what must be loaded for that.
pub(crate) fn addresses(file: &MeshFile) -> impl Iterator<Item = String> + '_ {
    let groups = groups(file).into_iter();
    groups.flat_map(move |group| load(file, &group, None).into_iter().map(|(address, _)| address))
}

/// The array at an address; `None` where there is none.
pub(crate) fn find(file: &MeshFile, address: &str) -> Result<Option<Values>> {
    let is_in = |address: &str, group: &str| {
        group.is_empty()
            || address.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    // The digest's short addresses are those of the first body.
    let short = matches!(file, MeshFile::OpenCtm(_)).then(|| format!("bodies[0].{address}"));
    for address in iter::once(address).chain(short.as_deref()) {
        let Some(group) = groups(file).into_iter().find(|group| is_in(address, group)) else { continue };
        if let Some((_, values)) = load(file, &group, Some(address)).into_iter().next() {
            return values.map(Some);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_exact() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 2_f64.powi(-24)), (0x7bff, 65504.0), (0x8000, 0.0)]
        {
            assert_eq!(half(bits), value);
        }
        assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
    }
}

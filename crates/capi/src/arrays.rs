//! Every array and every text that a file stores, by address.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

use meshmap::cgeo::Proxy;
use meshmap::iqm::{Model, Trs};
use meshmap::slmesh::{Asset, Lod, WeightScale};
use meshmap::tmf::{CustomValues, Packed, PackedElement};
use meshmap::{Array, Bytes, Element, MeshFile, Scalar, Text, openctm, slmesh, tmf};

use crate::fail::{Fail, Result, guard, mm_status, status};
use crate::file::{File, mm_file};
use crate::handle::{self, Kind};
use crate::memory::{First, c_string, put, put_sized, text};
use crate::options::{mm_scalar, scalar_number};

/// An array of a file. Every thread may use it.
pub struct mm_array {
    _opaque: [u8; 0],
}

/// An array of a file, decoded: packed numbers, little-endian.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_array_info {
    /// sizeof(mm_array_info), set by the caller.
    pub size: usize,
    /// Where it is in the file, such as `snapshots[3].positions`.
    pub address: *const c_char,
    /// The first number, at any address.
    pub data: *const c_void,
    /// All of them, in bytes.
    pub byte_length: usize,
    /// The type of each: MM_SCALAR_*.
    pub scalar: mm_scalar,
    /// How many numbers of `shape` say something: 1 to 3.
    pub rank: u32,
    /// The number of elements, then the numbers of each.
    pub shape: [u64; 3],
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_array_info {}

/// Called with each array of a file; returns 0 to go on. What it is given is valid during the call. No exception may leave it.
pub type mm_array_fn = Option<unsafe extern "C" fn(user: *mut c_void, array: *const mm_array_info) -> c_int>;

/// Called with each text of a file and its address; returns 0 to go on. `length` does not count the byte 0 after the text, but
/// those within. What it is given is valid during the call. No exception may leave it.
pub type mm_text_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        address: *const c_char,
        text: *const c_char,
        length: usize,
    ) -> c_int,
>;

/// An array with its values.
struct Values {
    address: CString,
    scalar: Scalar,
    shape: Vec<u64>,
    bytes: Bytes,
}

impl Kind for Values {
    type Opaque = mm_array;
    const NAME: &'static str = "mm_array";
}

impl Values {
    fn info(&self) -> mm_array_info {
        let mut shape = [0; 3];
        shape.iter_mut().zip(&self.shape).for_each(|(place, number)| *place = *number);
        mm_array_info {
            size: size_of::<mm_array_info>(),
            address: self.address.as_ptr(),
            data: self.bytes.as_ptr().cast(),
            byte_length: self.bytes.len(),
            scalar: scalar_number(self.scalar),
            rank: u32::try_from(self.shape.len()).unwrap_or(0),
            shape,
        }
    }
}

/// What is loaded of an array: the type of its numbers, how many each element has (none for plain numbers), and all of them.
type Loaded = (Scalar, Vec<u64>, Bytes);

fn of<T: Element>(scalar: Scalar, numbers: &[u64], array: &Array<T>) -> Loaded {
    (scalar, numbers.to_vec(), array.clone().into_bytes())
}

fn triples(array: &Array<[f32; 3]>) -> Loaded {
    of(Scalar::F32, &[3], array)
}

fn floats(numbers: &[u64], floats: impl Iterator<Item = f32>) -> Loaded {
    (Scalar::F32, numbers.to_vec(), floats.flat_map(f32::to_le_bytes).collect::<Vec<u8>>().into())
}

fn corners(corners: &[[u32; 3]]) -> Loaded {
    let bytes: Vec<u8> = corners.as_flattened().iter().flat_map(|index| index.to_le_bytes()).collect();
    (Scalar::U32, vec![3], bytes.into())
}

fn integers(integers: impl Iterator<Item = u32>) -> Loaded {
    (Scalar::U32, Vec::new(), integers.flat_map(u32::to_le_bytes).collect::<Vec<u8>>().into())
}

/// What is done with each array and each text; an error ends it.
struct Visit<'a> {
    /// The only address that is wanted; all are where it is `None`.
    wanted: Option<&'a str>,
    array: &'a mut dyn FnMut(Values) -> Result<()>,
    text: &'a mut dyn FnMut(&str, &str) -> Result<()>,
    /// Whether texts are wanted, and no arrays.
    is_for_texts: bool,
}

impl Visit<'_> {
    /// Whether anything below an address is wanted.
    fn enters(&self, group: &str) -> bool {
        self.wanted.is_none_or(|wanted| {
            wanted.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// Loads an array, if it is wanted and there is one.
    fn add(&mut self, address: &str, load: impl FnOnce() -> Result<Option<Loaded>>) -> Result<()> {
        if self.is_for_texts || self.wanted.is_some_and(|wanted| wanted != address) {
            return Ok(());
        }
        let Some((scalar, numbers, bytes)) = load()? else { return Ok(()) };
        let each = numbers.iter().fold(1_u64, |all, number| all.saturating_mul(*number));
        let size = each.saturating_mul(u64::try_from(scalar.size()).unwrap_or(1));
        let count = u64::try_from(bytes.len()).unwrap_or(u64::MAX).checked_div(size).unwrap_or(0);
        let shape = std::iter::once(count).chain(numbers).collect();
        (self.array)(Values { address: c_string(address), scalar, shape, bytes })
    }

    fn say(&mut self, address: &str, text: &Text) -> Result<()> {
        if self.is_for_texts { (self.text)(address, &text.to_string_lossy()) } else { Ok(()) }
    }
}

fn visit(file: &MeshFile, visit: &mut Visit<'_>) -> Result<()> {
    match file {
        MeshFile::CGeo(proxy) => cgeo(proxy, visit),
        MeshFile::Iqm(model) => iqm(model, visit),
        MeshFile::OpenCtm(bodies) => {
            bodies.iter().enumerate().try_for_each(|(index, mesh)| body(index, mesh, visit))
        }
        MeshFile::SlMesh(asset) => slmesh(asset, visit),
        MeshFile::Tmf(document) => {
            document.meshes().enumerate().try_for_each(|(index, mesh)| tmf(index, &mesh, visit))
        }
        other => Err(Fail::new(status::MM_ERROR_UNSUPPORTED, format!("no arrays of {}", other.format()))),
    }
}

fn cgeo(proxy: &Proxy, visit: &mut Visit<'_>) -> Result<()> {
    for (address, text) in [("object_name", proxy.object_name()), ("material_name", proxy.material_name())] {
        text.map_or(Ok(()), |text| visit.say(address, &text))?;
    }
    if visit.is_for_texts {
        return Ok(());
    }
    for index in 0..proxy.len() {
        let group = format!("snapshots[{index}]");
        if !visit.enters(&group) {
            continue;
        }
        let name = |array: &str| format!("{group}.{array}");
        let snapshot = proxy.snapshot(index)?;
        snapshot.sections()?;
        visit.add(&name("bounding_box"), || {
            let bounds = snapshot.bounding_box()?;
            Ok(bounds.map(|bounds| floats(&[3], bounds.min.into_iter().chain(bounds.max))))
        })?;
        visit.add(&name("point_cloud"), || Ok(snapshot.point_cloud()?.as_ref().map(triples)))?;
        if [name("bounding_box"), name("point_cloud")].iter().any(|own| visit.wanted == Some(own.as_str())) {
            continue;
        }
        let mesh = snapshot.mesh()?;
        visit.add(&name("positions"), || Ok(Some(triples(&mesh.positions))))?;
        visit.add(&name("normals"), || Ok(Some(triples(&mesh.normals))))?;
        for (channel, coordinates) in mesh.map_channels.iter().enumerate() {
            visit.add(&name(&format!("map_channels[{channel}]")), || Ok(Some(triples(coordinates))))?;
        }
        let all = &mesh.triangles;
        visit.add(&name("triangles.positions"), || Ok(Some(corners(&all.positions()))))?;
        visit.add(&name("triangles.normals"), || Ok(all.normals().map(|normals| corners(&normals))))?;
        for channel in 0..all.map_channels() {
            visit.add(&name(&format!("triangles.map_channels[{channel}]")), || {
                Ok(all.map_channel(channel).map(|coordinates| corners(&coordinates)))
            })?;
        }
        visit.add(&name("triangles.material_ids"), || {
            Ok(all.material_ids().map(|ids| integers(ids.into_iter())))
        })?;
        visit.add(&name("triangles.edge_visibility"), || {
            Ok(all.edge_visibility().map(|edges| (Scalar::U8, Vec::new(), edges.into())))
        })?;
    }
    Ok(())
}

fn iqm(model: &Model, visit: &mut Visit<'_>) -> Result<()> {
    if visit.is_for_texts {
        for (index, mesh) in model.meshes().enumerate() {
            visit.say(&format!("meshes[{index}].name"), &mesh.name)?;
            visit.say(&format!("meshes[{index}].material"), &mesh.material)?;
        }
        for (index, joint) in model.joints().enumerate() {
            visit.say(&format!("joints[{index}].name"), &joint.name)?;
        }
        for (index, anim) in model.anims().enumerate() {
            visit.say(&format!("anims[{index}].name"), &anim.name)?;
        }
        return Ok(());
    }
    if visit.wanted.is_none() {
        model.check_indices()?;
    }
    for (index, array) in model.vertex_arrays().enumerate() {
        visit.add(&format!("vertex_arrays[{index}]"), || {
            let attribute = model.vertex_array(index)?;
            Ok(Some((array.format, vec![array.size.into()], attribute.into_bytes())))
        })?;
    }
    visit.add("triangles", || {
        let triangles = (model.triangle_count() > 0).then(|| model.triangles()).transpose()?;
        Ok(triangles.map(|triangles| of(Scalar::U32, &[3], &triangles)))
    })?;
    visit.add("adjacency", || Ok(model.adjacency()?.map(|adjacency| of(Scalar::U32, &[3], &adjacency))))?;
    visit.add("joints", || {
        let numbers = model.joints().flat_map(|joint| trs(&joint.trs));
        Ok((model.joint_count() > 0).then(|| floats(&[10], numbers)))
    })?;
    visit.add("frames", || {
        let frames = model.frames();
        if frames.is_empty() || frames.pose_count() == 0 {
            return Ok(None);
        }
        let poses = u64::try_from(frames.pose_count()).unwrap_or(u64::MAX);
        Ok(Some(floats(&[poses, 10], frames.to_vec()?.iter().flat_map(trs))))
    })?;
    visit.add("bounds", || Ok(model.bounds()?.map(|bounds| of(Scalar::F32, &[8], &bounds))))
}

fn trs(trs: &Trs) -> impl Iterator<Item = f32> + use<> {
    let Trs { translate, rotate, scale, .. } = *trs;
    translate.into_iter().chain(rotate).chain(scale)
}

fn body(index: usize, mesh: &openctm::Mesh, visit: &mut Visit<'_>) -> Result<()> {
    let group = format!("bodies[{index}]");
    if !visit.enters(&group) {
        return Ok(());
    }
    let name = |array: &str| format!("{group}.{array}");
    if visit.is_for_texts {
        visit.say(&name("comment"), &mesh.comment()?)?;
    } else {
        visit.add(&name("indices"), || Ok(Some(of(Scalar::U32, &[3], &mesh.indices()?))))?;
        visit.add(&name("positions"), || Ok(Some(triples(&mesh.positions()?))))?;
        visit.add(&name("normals"), || Ok(mesh.normals()?.as_ref().map(triples)))?;
    }
    for (place, map) in mesh.uv_maps().enumerate() {
        visit.add(&name(&format!("uv_maps[{place}].coords")), || {
            Ok(Some(of(Scalar::F32, &[2], &map.coords()?)))
        })?;
        visit.say(&name(&format!("uv_maps[{place}].name")), &map.name())?;
        visit.say(&name(&format!("uv_maps[{place}].file")), &map.file())?;
    }
    for (place, map) in mesh.attribute_maps().enumerate() {
        visit.add(&name(&format!("attribute_maps[{place}].values")), || {
            Ok(Some(of(Scalar::F32, &[4], &map.values()?)))
        })?;
        visit.say(&name(&format!("attribute_maps[{place}].name")), &map.name())?;
    }
    Ok(())
}

fn slmesh(asset: &Asset, visit: &mut Visit<'_>) -> Result<()> {
    for lod in Lod::ALL {
        if !visit.is_for_texts
            && visit.enters(lod.name())
            && let Some(mesh) = asset.lod(lod)?
        {
            faces(lod.name(), &mesh, visit)?;
        }
    }
    if !visit.is_for_texts
        && visit.enters("physics_mesh")
        && let Some(mesh) = asset.physics_mesh()?
    {
        faces("physics_mesh", &mesh, visit)?;
    }
    if visit.enters("skin")
        && let Some(skin) = asset.skin()?
    {
        visit.add("skin.bind_shape_matrix", || {
            Ok(skin.bind_shape_matrix.map(|matrix| floats(&[], matrix.into_iter())))
        })?;
        for (name, matrices) in [
            ("skin.inverse_bind_matrices", &skin.inverse_bind_matrices),
            ("skin.alt_inverse_bind_matrices", &skin.alt_inverse_bind_matrices),
        ] {
            visit.add(name, || Ok(matrices.as_ref().map(|matrices| of(Scalar::F32, &[16], matrices))))?;
        }
        for (index, name) in skin.joint_names.iter().flatten().enumerate() {
            visit.say(&format!("skin.joint_names[{index}]"), name)?;
        }
    }
    if !visit.is_for_texts
        && visit.enters("physics_convex")
        && let Some(convex) = asset.physics_convex()?
    {
        visit.add("physics_convex.hull_sizes", || {
            let sizes = convex.hull_sizes();
            Ok(sizes.map(|sizes| integers(sizes.map(|size| u32::try_from(size).unwrap_or(u32::MAX)))))
        })?;
        visit.add("physics_convex.hull_points", || Ok(convex.hull_points()?.as_ref().map(triples)))?;
        visit.add("physics_convex.bounding_verts", || Ok(convex.bounding_verts()?.as_ref().map(triples)))?;
    }
    Ok(())
}

fn faces(block: &str, mesh: &slmesh::Mesh, visit: &mut Visit<'_>) -> Result<()> {
    for face in mesh.faces().filter(slmesh::Face::has_geometry) {
        let name = |array: &str| format!("{block}.faces[{}].{array}", face.index());
        visit.add(&name("positions"), || Ok(Some(triples(&face.positions()?))))?;
        visit.add(&name("normals"), || Ok(face.normals()?.as_ref().map(triples)))?;
        visit.add(&name("tex_coords"), || {
            Ok(face.tex_coords()?.map(|coordinates| of(Scalar::F32, &[2], &coordinates)))
        })?;
        visit.add(&name("indices"), || Ok(Some(of(Scalar::U16, &[], &face.checked_indices()?))))?;
        if let Some(weights) = face.weights() {
            let arrays = || weights.arrays(WeightScale::Stored);
            visit.add(&name("joint_indices"), || Ok(Some(of(Scalar::U8, &[4], &arrays()?.joints))))?;
            visit.add(&name("joint_weights"), || Ok(Some(of(Scalar::F32, &[4], &arrays()?.weights))))?;
        }
    }
    Ok(())
}

fn tmf(index: usize, mesh: &tmf::Mesh, visit: &mut Visit<'_>) -> Result<()> {
    let group = format!("meshes[{index}]");
    if !visit.enters(&group) {
        return Ok(());
    }
    let name = |array: &str| format!("{group}.{array}");
    visit.say(&name("name"), &mesh.name())?;
    packed(visit, &name("vertices"), Scalar::F32, &[3], mesh.vertices())?;
    packed(visit, &name("normals"), Scalar::F32, &[3], mesh.normals())?;
    packed(visit, &name("uvs"), Scalar::F32, &[2], mesh.uvs())?;
    packed(visit, &name("tangents"), Scalar::F32, &[4], mesh.tangents())?;
    packed(visit, &name("vertex_triangles"), Scalar::U32, &[], mesh.vertex_triangles())?;
    packed(visit, &name("normal_triangles"), Scalar::U32, &[], mesh.normal_triangles())?;
    packed(visit, &name("uv_triangles"), Scalar::U32, &[], mesh.uv_triangles())?;
    packed(visit, &name("tangent_triangles"), Scalar::U32, &[], mesh.tangent_triangles())?;
    for (place, custom) in mesh.custom()?.into_iter().enumerate() {
        let name = name(&format!("custom[{place}]"));
        visit.say(&format!("{name}.name"), &custom.name)?;
        match custom.values {
            CustomValues::Float(values) => packed(visit, &name, Scalar::F32, &[1], Some(values))?,
            CustomValues::ColorRgba(values) => packed(visit, &name, Scalar::F32, &[4], Some(values))?,
            CustomValues::Index(values) | CustomValues::Integer(values) => {
                packed(visit, &name, Scalar::U32, &[], Some(values))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn packed<T: PackedElement>(
    visit: &mut Visit<'_>,
    name: &str,
    scalar: Scalar,
    numbers: &[u64],
    array: Option<Packed<T>>,
) -> Result<()> {
    let Some(array) = array else { return Ok(()) };
    visit.add(name, || Ok(Some(of(scalar, numbers, &array.decode()?))))
}

/// Why visiting ended early: the caller's callback wanted it.
fn enough(answer: c_int) -> Result<()> {
    if answer == 0 { Ok(()) } else { Err(Fail::Absent) }
}

/// A visit that a callback ended is a good one.
fn ended(result: Result<()>) -> Result<()> {
    match result {
        Err(Fail::Absent) => Ok(()),
        other => other,
    }
}

/// Calls `each` with every array that a file stores, decoded, one after the other: all vertices, indices, frames, matrices, as
/// they are stored and not as a renderer sees them. Of IQM, indices are checked first.
///
/// Ownership: arrays are the library's, and valid during the call. Threads: any; `each` is called on this one. Errors: those of
/// reading and decoding, at the first array that has one; MM_OK also where `each` ended it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_arrays(file: *const mm_file, each: mm_array_fn, user: *mut c_void) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let each = each.ok_or_else(|| Fail::argument("expected a callback, found NULL"))?;
        let mut array = |values: Values| {
            let info = values.info();
            // SAFETY: the caller's function, with what it wants to be called with.
            enough(unsafe { each(user, &raw const info) })
        };
        let mut text = |_: &str, _: &str| Ok(());
        ended(visit(
            &file.file,
            &mut Visit { wanted: None, array: &mut array, text: &mut text, is_for_texts: false },
        ))
    })
}

/// Calls `each` with every text that a file stores and its address: names, materials, comments.
///
/// Ownership: texts are the library's, and valid during the call. Threads: any; `each` is called on this one. Errors: those of
/// reading; MM_OK also where `each` ended it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_texts(file: *const mm_file, each: mm_text_fn, user: *mut c_void) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        let each = each.ok_or_else(|| Fail::argument("expected a callback, found NULL"))?;
        let mut array = |_: Values| Ok(());
        let mut text = |address: &str, text: &str| {
            let address = c_string(address);
            let with_end: Vec<u8> = text.bytes().chain([0]).collect();
            // SAFETY: the caller's function, with what it wants to be called with.
            enough(unsafe { each(user, address.as_ptr(), with_end.as_ptr().cast(), text.len()) })
        };
        ended(visit(
            &file.file,
            &mut Visit { wanted: None, array: &mut array, text: &mut text, is_for_texts: true },
        ))
    })
}

/// The array at an address, such as `snapshots[3].positions`, `vertex_arrays[0]` or "skin.inverse_bind_matrices", decoded. Those
/// that mm_arrays names.
///
/// Ownership: `*out` is the caller's, for mm_array_free; it lives without the file. Threads: any. Errors: MM_ABSENT where there
/// is none; those of reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_array_at(
    file: *const mm_file,
    address: *const c_char,
    out: *mut *mut mm_array,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        let address = unsafe {
            put(out, std::ptr::null_mut())?;
            text(address)?
        };
        let mut found = None;
        let mut array = |values: Values| {
            found = Some(values);
            Err(Fail::Absent)
        };
        let mut text = |_: &str, _: &str| Ok(());
        ended(visit(
            &file.file,
            &mut Visit { wanted: Some(address), array: &mut array, text: &mut text, is_for_texts: false },
        ))?;
        let handle = handle::new(Arc::new(found.ok_or(Fail::Absent)?))?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, handle) }
    })
}

/// What an array has. `out->size` is set before.
///
/// Ownership: numbers and address are the array's, and valid until it is freed. Threads: any. Errors: MM_ERROR_HANDLE,
/// MM_ERROR_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_array_get_info(array: *const mm_array, out: *mut mm_array_info) -> mm_status {
    guard(|| {
        let array = handle::get::<Values>(array)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, array.info()) }
    })
}

/// Frees an array. NULL is passed over.
///
/// Ownership: takes the handle. Threads: any. Errors: MM_ERROR_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn mm_array_free(array: *mut mm_array) -> mm_status {
    guard(|| handle::close::<Values>(array))
}

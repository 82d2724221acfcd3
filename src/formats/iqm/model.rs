//! The model: its parts, by their names in the specification.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use zerocopy::little_endian::F32;

use super::frames::Frames;
use super::layout::{IQM_CUSTOM, Layout, Poses, scalar};
use super::pose::Trs;
use super::raw;
use super::rules::FILE;
use super::skeleton::Skeleton;
use crate::bytes::{Array, Element, Scalar, Source, Text};
use crate::format::Format;
use crate::mesh::{Attribute, Semantic, VertexFormat};
use crate::num::{Span, as_u64, size_u64, span};
use crate::options::{Options, refuse_forbidden};
use crate::report::{Address, ErrorKind, Finding, Item, Result};

/// An IQM file.
///
/// Cloning is cheap. Names, tables and the list of parts are at hand; arrays are taken from the source when asked
/// for: free where it is mapped or in memory, one read where it is lazy.
#[derive(Clone)]
pub struct Model {
    layout: Arc<Layout>,
    /// The file that poses, animations, frames and bounds come from.
    animation: Arc<Layout>,
    options: Options,
}

impl Model {
    /// Opens a file lazily.
    ///
    /// # Errors
    ///
    /// Those of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?)
    }

    /// Reads the layout of a file: the header and the tables, and none of the arrays.
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](ErrorKind::UnknownFormat) for another magic, [`Unsupported`](ErrorKind::Unsupported) for
    /// another version, [`Truncated`](ErrorKind::Truncated) for a file shorter than its header says,
    /// [`Malformed`](ErrorKind::Malformed) for ranges outside the file, names outside the text, parents that do not
    /// come first, a number of frame channels that the masks do not have, and extensions that make a cycle,
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) for names that share their text so often that together they are
    /// more than eight times as long as the file and 1 MiB, and for more than 4,096 extensions.
    pub fn from_source(source: Source) -> Result<Self> {
        Self::from_source_with(source, &Options::default())
    }

    /// The same with options; [`Strictness::Strict`](crate::Strictness::Strict) also runs [`validate`](Self::validate).
    ///
    /// # Errors
    ///
    /// Those of [`from_source`](Self::from_source); strictly, [`Malformed`](ErrorKind::Malformed) for any finding
    /// that the specification forbids.
    pub fn from_source_with(source: Source, options: &Options) -> Result<Self> {
        let layout = Arc::new(Layout::read(&source)?);
        let model = Self { animation: Arc::clone(&layout), layout, options: *options };
        refuse_forbidden(options, Format::Iqm, || model.validate())?;
        Ok(model)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// `iqmheader.version`: 1 or 2.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.layout.header.version.get()
    }

    /// `iqmheader.flags`, which the specification leaves open; FTE keeps Quake's model flags there.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.layout.header.flags.get()
    }

    /// The header as stored.
    #[must_use]
    pub fn header(&self) -> &raw::Header {
        &self.layout.header
    }

    /// The source, for reading what else lies in the file.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.layout.source
    }

    /// All names, as stored: strings that a 0 byte ends.
    #[must_use]
    pub fn text(&self) -> Bytes {
        self.layout.text.clone()
    }

    /// The meshes.
    pub fn meshes(&self) -> impl ExactSizeIterator<Item = Mesh> + '_ {
        self.layout.meshes.iter().map(|mesh| Mesh::new(&self.layout, &mesh))
    }

    /// The number of vertices of all meshes together: elements of each vertex array.
    #[must_use]
    pub fn num_vertexes(&self) -> u32 {
        self.layout.header.num_vertexes.get()
    }

    /// The number of triangles of all meshes together.
    #[must_use]
    pub fn num_triangles(&self) -> u32 {
        self.layout.header.num_triangles.get()
    }

    /// What the vertex arrays are, in the order of the file.
    pub fn vertex_arrays(&self) -> impl ExactSizeIterator<Item = VertexArray> + '_ {
        self.layout.vertex_arrays.iter().map(|array| VertexArray::new(&self.layout, &array))
    }

    /// A vertex array by its index, in place, whatever its type, format and size.
    ///
    /// Integers of arrays with a meaning of their own are marked as normalized, but for blend indexes; see
    /// [`Normalization`] for what that means in files.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) where there is no such array, and the errors of reading.
    pub fn vertex_array(&self, index: usize) -> Result<Attribute> {
        let array = self.layout.vertex_arrays.get(index).ok_or_else(|| {
            let error = FILE.out_of_range("vertex array");
            error.expected(format!("less than {}", self.layout.vertex_arrays.len())).found(index)
        })?;
        self.read_array(&VertexArray::new(&self.layout, &array))
    }

    fn read_array(&self, array: &VertexArray) -> Result<Attribute> {
        let bytes = self.layout.source.get(array.range.clone(), "vertex array")?;
        Ok(Attribute::new(array.semantic(0), array.vertex_format(), bytes))
    }

    /// A vertex array by its index, as numbers of 32 bits: [`num_vertexes`](Self::num_vertexes) times the array's
    /// size.
    ///
    /// # Errors
    ///
    /// Those of [`vertex_array`](Self::vertex_array).
    pub fn vertex_array_f32(&self, index: usize, normalization: Normalization) -> Result<Vec<f32>> {
        let attribute = self.vertex_array(index)?;
        let scalar = attribute.format().scalar;
        // The greatest integer of as many bits, without a sign. Powers of floats are not exact on every machine.
        let steps = f64::from(match scalar.size() {
            1 => u8::MAX.into(),
            2 => u16::MAX.into(),
            _ => u32::MAX,
        });
        let signed = matches!(scalar, Scalar::I8 | Scalar::I16 | Scalar::I32);
        let scale = |number: f64| match (normalization, signed) {
            _ if scalar.is_float() => number,
            (Normalization::Raw, _) => number,
            (Normalization::Sdk | Normalization::WebGpu, false) => number / steps,
            (Normalization::Sdk, true) => (2.0 * number + 1.0) / steps,
            (Normalization::WebGpu, true) => (number / ((steps - 1.0) / 2.0)).max(-1.0),
        };
        #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest")]
        let scaled = attribute.numbers().map(|number| scale(number) as f32).collect();
        Ok(scaled)
    }

    /// The first vertex array of a type, in place; `Ok(None)` where the file has none.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn vertex_array_of(&self, kind: &VertexArrayType) -> Result<Option<Attribute>> {
        let array = self.vertex_arrays().find(|array| array.kind == *kind);
        array.map(|array| self.read_array(&array)).transpose()
    }

    /// A custom vertex array by its name, in place; `Ok(None)` where the file has none. Of several, the first.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn custom_array(&self, name: impl AsRef<[u8]>) -> Result<Option<Attribute>> {
        let mut arrays = self.layout.vertex_arrays.iter();
        let named = |array: &raw::VertexArray| {
            let offset = array.type_.get().checked_sub(IQM_CUSTOM);
            offset.is_some_and(|offset| self.layout.text_is(offset, name.as_ref()))
        };
        let array = arrays.find(named).map(|array| VertexArray::new(&self.layout, &array));
        array.map(|array| self.read_array(&array)).transpose()
    }

    /// Positions, in place.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) where they are stored in another format than is recommended (take
    /// [`vertex_array`](Self::vertex_array) or a [`MeshView`](crate::MeshView)), and the errors of reading. So for
    /// the six methods that follow.
    pub fn positions(&self) -> Result<Option<Array<[f32; 3]>>> {
        self.recommended(&VertexArrayType::Position)
    }

    /// Texture coordinates u, v, in place.
    ///
    /// # Errors
    ///
    /// Those of [`positions`](Self::positions).
    pub fn texcoords(&self) -> Result<Option<Array<[f32; 2]>>> {
        self.recommended(&VertexArrayType::TexCoord)
    }

    /// Normals, in place.
    ///
    /// # Errors
    ///
    /// Those of [`positions`](Self::positions).
    pub fn normals(&self) -> Result<Option<Array<[f32; 3]>>> {
        self.recommended(&VertexArrayType::Normal)
    }

    /// Tangents x, y, z and the sign of the bitangent, in place.
    ///
    /// # Errors
    ///
    /// Those of [`positions`](Self::positions).
    pub fn tangents(&self) -> Result<Option<Array<[f32; 4]>>> {
        self.recommended(&VertexArrayType::Tangent)
    }

    /// The joints that move each vertex, in place. Indices are not checked.
    ///
    /// # Errors
    ///
    /// Those of [`positions`](Self::positions).
    pub fn blend_indexes(&self) -> Result<Option<Array<[u8; 4]>>> {
        self.recommended(&VertexArrayType::BlendIndexes)
    }

    /// The weights of those joints, in 1/255, in place.
    ///
    /// # Errors
    ///
    /// Those of [`positions`](Self::positions).
    pub fn blend_weights(&self) -> Result<Option<Array<[u8; 4]>>> {
        self.recommended(&VertexArrayType::BlendWeights)
    }

    /// Colours red, green, blue, alpha, in 1/255, in place.
    ///
    /// # Errors
    ///
    /// Those of [`positions`](Self::positions).
    pub fn colors(&self) -> Result<Option<Array<[u8; 4]>>> {
        self.recommended(&VertexArrayType::Color)
    }

    fn recommended<T: Element>(&self, kind: &VertexArrayType) -> Result<Option<Array<T>>> {
        let Some(attribute) = self.vertex_array_of(kind)? else { return Ok(None) };
        match attribute.array() {
            Some(array) => Ok(Some(array)),
            None => {
                let error = FILE.error(ErrorKind::Unsupported, "iqmvertexarray.format as a typed array");
                let expected = T::SHAPE
                    .map_or_else(String::new, |(scalar, components)| format!("{scalar}x{components}"));
                Err(error.expected(expected).found(attribute.format()))
            }
        }
    }

    /// The triangles of all meshes, in place. Indices count from the first vertex of the file, front faces are
    /// clockwise. They are not checked; see [`check_indices`](Self::check_indices).
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn triangles(&self) -> Result<Array<[u32; 3]>> {
        self.layout.source.get(self.layout.sections.triangles.clone(), "iqmtriangle[]").map(Array::new)
    }

    /// For each triangle those at its edges 0-1, 1-2 and 2-0, counted from the first of the file, in place; `u32::MAX`
    /// where there is none. `Ok(None)` where the file does not store them.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn adjacency(&self) -> Result<Option<Array<[u32; 3]>>> {
        let section = &self.layout.sections.adjacency;
        optional(section, || self.layout.source.get(section.clone(), "iqmadjacency[]").map(Array::new))
    }

    /// The joints of the skeleton in its bind pose, each behind its parent.
    pub fn joints(&self) -> impl ExactSizeIterator<Item = Joint> + '_ {
        (0..self.layout.joints.len()).map(|index| Joint::new(&self.layout, index))
    }

    /// The number of joints.
    #[must_use]
    pub fn num_joints(&self) -> usize {
        self.layout.joints.len()
    }

    /// The index of the first joint with this name.
    #[must_use]
    pub fn joint_index(&self, name: impl AsRef<[u8]>) -> Option<usize> {
        self.layout.joints.iter().position(|joint| self.layout.text_is(joint.name.get(), name.as_ref()))
    }

    /// The bind pose as matrices; `None` where the file has no joints.
    #[must_use]
    pub fn skeleton(&self) -> Option<Skeleton> {
        (self.num_joints() > 0).then(|| Skeleton::new(self.joints()))
    }

    /// What is stored of each pose: the joint whose movement it is, by index, and the ranges of its channels.
    pub fn poses(&self) -> impl ExactSizeIterator<Item = Pose> + '_ {
        (0..self.animation.poses.len()).map(|index| Pose::new(&self.animation.poses, index))
    }

    /// The animations.
    pub fn anims(&self) -> impl ExactSizeIterator<Item = Anim> + '_ {
        self.animation.anims.iter().map(|anim| Anim::new(&self.animation, &anim))
    }

    /// The first animation with this name.
    #[must_use]
    pub fn anim(&self, name: impl AsRef<[u8]>) -> Option<Anim> {
        let mut anims = self.animation.anims.iter();
        let anim = anims.find(|anim| self.animation.text_is(anim.name.get(), name.as_ref()))?;
        Some(Anim::new(&self.animation, &anim))
    }

    /// The frames of all animations together.
    #[must_use]
    pub fn frames(&self) -> Frames {
        Frames::new(&self.animation, self.options)
    }

    /// The box and radii of the mesh in each frame, in place; `Ok(None)` where the file does not store them.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn bounds(&self) -> Result<Option<Array<raw::Bounds>>> {
        let section = &self.animation.sections.bounds;
        optional(section, || self.animation.source.get(section.clone(), "iqmbounds[]").map(Array::new))
    }

    /// The comment: `num_comment` bytes, with the 0 byte that usually ends them. `Ok(None)` where there is none.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn comment(&self) -> Result<Option<Text>> {
        let section = &self.layout.sections.comment;
        optional(section, || self.layout.source.get(section.clone(), "comment").map(Text::new))
    }

    /// The bytes from the beginning of the comment to the end of the file, whatever `num_comment` says.
    ///
    /// The exporter iqm-exm writes a `num_comment` of 1, and behind it a long JSON text.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn comment_to_end(&self) -> Result<Option<Text>> {
        let section = &self.layout.sections.comment;
        let end = u64::from(self.layout.header.filesize.get());
        optional(section, || self.layout.source.get(section.start..end, "comment").map(Text::new))
    }

    /// Joins this mesh with the poses, animations, frames and bounds of another file.
    ///
    /// The animation must have a pose for each joint of the mesh, with the same parents. What it has itself of meshes
    /// and joints is not looked at.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](ErrorKind::Mismatch), naming the first joint that differs and how many do.
    pub fn attach(&self, animation: &Self) -> Result<Self> {
        let (joints, poses) = (self.num_joints(), animation.poses().len());
        let mismatch = |what| FILE.error(ErrorKind::Mismatch, what);
        if joints != poses {
            let error = mismatch("number of joints and poses");
            return Err(error.expected(format!("{joints} poses, one for each joint")).found(poses));
        }
        let differ = |(_, joint, pose): &(usize, Joint, Pose)| joint.parent != pose.parent;
        let pairs =
            self.joints().zip(animation.poses()).enumerate().map(|(i, (joint, pose))| (i, joint, pose));
        let mut differing = pairs.filter(differ);
        if let Some((index, joint, pose)) = differing.next() {
            let count = differing.count().saturating_add(1);
            let parent = |parent: Option<u32>| parent.map_or_else(|| "none".to_owned(), |p| p.to_string());
            let expected = format!("parent {} in joint {:?}", parent(joint.parent), joint.name);
            let found =
                format!("{} in the animation; {count} of {joints} joints differ", parent(pose.parent));
            let address = Address::field("joints").index(as_u64(index));
            return Err(mismatch("parents of joints and poses").of(address).expected(expected).found(found));
        }
        Ok(Self { animation: Arc::clone(&animation.animation), ..self.clone() })
    }

    /// What was tolerated when opening; see [`finding`](super::rules).
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.layout.findings
    }

    /// The parts of the file, in the order of the specification. Reads nothing.
    #[must_use]
    pub fn items(&self) -> Vec<Item> {
        let (layout, sections) = (&*self.layout, &self.layout.sections);
        let header = &layout.header;
        let item = |address, range: &Range<u64>, counts: &[(&'static str, u64)]| {
            let stored = range.length();
            Item { address, counts: counts.to_vec(), stored, decoded: None, range: range.clone() }
        };
        let size = size_u64::<raw::Mesh>();
        let mut items = Vec::new();
        for (index, mesh) in (0..).zip(layout.meshes.iter()) {
            let start = sections.meshes.start.saturating_add(size.saturating_mul(index));
            let counts = [
                ("vertexes", mesh.num_vertexes.get().into()),
                ("triangles", mesh.num_triangles.get().into()),
            ];
            items.push(item(Address::field("meshes").index(index), &(span(start, size)), &counts));
        }
        for (index, array) in (0..).zip(self.vertex_arrays()) {
            let counts = [("vertexes", layout.num_vertexes()), ("components", array.size.into())];
            items.push(item(Address::field("vertex_arrays").index(index), &array.range, &counts));
        }
        let frame_bytes = as_u64(layout.poses.len()).saturating_mul(size_u64::<Trs>());
        let frames: u64 = header.num_frames.get().into();
        let triangles = ("triangles", u64::from(header.num_triangles.get()));
        let frame_counts = [("frames", frames), ("framechannels", header.num_framechannels.get().into())];
        let mut section = |name: &'static str, range: &Range<u64>, counts: &[(&'static str, u64)]| {
            let constant_frames = name == "frames" && frames > 0 && layout.poses.len() > 0;
            if !range.is_empty() || constant_frames {
                let decoded = (name == "frames").then(|| frames.saturating_mul(frame_bytes));
                items.push(Item { decoded, ..item(Address::field(name), range, counts) });
            }
        };
        section("triangles", &sections.triangles, &[triangles]);
        section("adjacency", &sections.adjacency, &[triangles]);
        section("joints", &sections.joints, &[("joints", as_u64(layout.joints.len()))]);
        section("poses", &sections.poses, &[("poses", as_u64(layout.poses.len()))]);
        section("anims", &sections.anims, &[("anims", layout.anims.len_u64())]);
        section("frames", &sections.frames, &frame_counts);
        section("bounds", &sections.bounds, &[("frames", frames)]);
        section("comment", &sections.comment, &[("bytes", header.num_comment.get().into())]);
        for (index, extension) in (0..).zip(&layout.extensions) {
            let bytes = extension.data.length();
            items.push(item(Address::field("extensions").index(index), &extension.data, &[("bytes", bytes)]));
        }
        items
    }

    /// The addresses of the meshes.
    pub(crate) fn mesh_addresses(&self) -> Vec<Address> {
        (0..self.layout.meshes.len_u64()).map(|index| Address::field("meshes").index(index)).collect()
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("version", &self.version())
            .field("meshes", &self.meshes().len())
            .field("joints", &self.num_joints())
            .field("anims", &self.anims().len())
            .finish_non_exhaustive()
    }
}

/// A part that a file need not have.
fn optional<T>(section: &Range<u64>, read: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
    if section.is_empty() { Ok(None) } else { read().map(Some) }
}

/// A mesh: a run of vertices, a run of triangles, and a material.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mesh {
    /// The name; not always unique.
    pub name: Text,
    /// The name of a material or texture.
    pub material: Text,
    /// The first of its vertices.
    pub first_vertex: u32,
    /// The number of its vertices.
    pub num_vertexes: u32,
    /// The first of its triangles.
    pub first_triangle: u32,
    /// The number of its triangles.
    pub num_triangles: u32,
}

impl Mesh {
    fn new(layout: &Layout, raw: &raw::Mesh) -> Self {
        Self {
            name: layout.text_at(raw.name.get()),
            material: layout.text_at(raw.material.get()),
            first_vertex: raw.first_vertex.get(),
            num_vertexes: raw.num_vertexes.get(),
            first_triangle: raw.first_triangle.get(),
            num_triangles: raw.num_triangles.get(),
        }
    }
}

/// How integers of a vertex array become numbers.
///
/// The specification does not say. The SDK's compiler, for attributes that it stores as integers, rounds so that
/// [`Sdk`](Self::Sdk) is the inverse; graphics cards and the FTE engine decode signed ones as
/// [`WebGpu`](Self::WebGpu). For unsigned integers the two are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Normalization {
    /// The integers themselves.
    Raw,
    /// Unsigned `c / (2^bits - 1)`; signed `(2c + 1) / (2^bits - 1)`, so that no integer becomes 0.
    Sdk,
    /// Unsigned `c / (2^bits - 1)`; signed `max(c / (2^(bits-1) - 1), -1)`.
    WebGpu,
}

/// What a vertex array means: `iqmvertexarray.type`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VertexArrayType {
    /// `IQM_POSITION`.
    Position,
    /// `IQM_TEXCOORD`.
    TexCoord,
    /// `IQM_NORMAL`.
    Normal,
    /// `IQM_TANGENT`.
    Tangent,
    /// `IQM_BLENDINDEXES`.
    BlendIndexes,
    /// `IQM_BLENDWEIGHTS`.
    BlendWeights,
    /// `IQM_COLOR`.
    Color,
    /// A type that is reserved, 7 to 15.
    Reserved(u32),
    /// `IQM_CUSTOM`: a name, which may be empty.
    Custom(Text),
}

/// A vertex array: where it lies and how its elements are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VertexArray {
    /// What it means.
    pub kind: VertexArrayType,
    /// `iqmvertexarray.flags`, which the specification leaves open.
    pub flags: u32,
    /// The type of a component.
    pub format: Scalar,
    /// Components of an element; at least 1.
    pub size: u32,
    /// The bytes, from the beginning of the file: one element for each vertex, packed.
    pub range: Range<u64>,
}

impl VertexArray {
    fn new(layout: &Layout, raw: &raw::VertexArray) -> Self {
        let kind = match raw.type_.get() {
            0 => VertexArrayType::Position,
            1 => VertexArrayType::TexCoord,
            2 => VertexArrayType::Normal,
            3 => VertexArrayType::Tangent,
            4 => VertexArrayType::BlendIndexes,
            5 => VertexArrayType::BlendWeights,
            6 => VertexArrayType::Color,
            kind => match kind.checked_sub(IQM_CUSTOM) {
                Some(name) => VertexArrayType::Custom(layout.text_at(name)),
                None => VertexArrayType::Reserved(kind),
            },
        };
        Self {
            kind,
            flags: raw.flags.get(),
            // Opening has checked the format.
            format: scalar(raw.format.get()).unwrap_or(Scalar::U8),
            size: raw.size.get(),
            range: layout.array_range(raw).unwrap_or_default(),
        }
    }

    /// The meaning in terms that all formats share; `set` counts the arrays of the same type before this one.
    pub(crate) fn semantic(&self, set: u32) -> Semantic {
        match &self.kind {
            VertexArrayType::Position => Semantic::Position,
            VertexArrayType::TexCoord => Semantic::TexCoord(set),
            VertexArrayType::Normal => Semantic::Normal,
            VertexArrayType::Tangent => Semantic::Tangent,
            VertexArrayType::BlendIndexes => Semantic::Joints(set),
            VertexArrayType::BlendWeights => Semantic::Weights(set),
            VertexArrayType::Color => Semantic::Color(set),
            VertexArrayType::Reserved(kind) => Semantic::Custom(format!("reserved {kind}")),
            VertexArrayType::Custom(name) => Semantic::Custom(name.to_string_lossy().into_owned()),
        }
    }

    /// How an element is stored.
    #[must_use]
    pub fn vertex_format(&self) -> VertexFormat {
        use VertexArrayType::{BlendIndexes, Custom, Reserved};
        let numbers = matches!(self.kind, BlendIndexes | Custom(_) | Reserved(_));
        VertexFormat::new(self.format, self.size, !numbers && !self.format.is_float())
    }
}

/// A joint of the skeleton, in its bind pose.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Joint {
    /// The name.
    pub name: Text,
    /// The parent, whose index is less than this joint's; `None` for a root.
    pub parent: Option<u32>,
    /// The place relative to the parent, as stored; version 1 has w synthesised.
    pub trs: Trs,
}

impl Joint {
    fn new(layout: &Layout, index: usize) -> Self {
        use zerocopy::FromZeros;
        // The iterators of the model end where the table does.
        let raw = layout.joints.get(index).unwrap_or_else(raw::Joint::new_zeroed);
        let trs = Trs {
            translate: raw.translate.map(F32::get),
            rotate: raw.rotate.map(F32::get),
            scale: raw.scale.map(F32::get),
        };
        Self { name: layout.text_at(raw.name.get()), parent: parent(raw.parent.get()), trs }
    }
}

/// What is stored of a pose: the parent, and for each channel its offset, its scale and whether frames store it.
///
/// Version 2 has ten channels: translate x y z, rotate x y z w, scale x y z. Version 1 has nine, without w; its last
/// offset and scale are 0 here.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pose {
    /// The pose of the parent, whose index is less than this one's; `None` for a root.
    pub parent: Option<u32>,
    /// Bit i: frames store channel i.
    pub channelmask: u32,
    /// The value of a channel whose stored number is 0.
    pub channeloffset: [f32; 10],
    /// What one step of a stored number is worth.
    pub channelscale: [f32; 10],
}

impl Pose {
    fn new(poses: &Poses, index: usize) -> Self {
        use zerocopy::FromZeros;
        match poses {
            Poses::V2(poses) => {
                // The iterators of the model end where the table does.
                let raw = poses.get(index).unwrap_or_else(raw::Pose::new_zeroed);
                Self {
                    parent: parent(raw.parent.get()),
                    channelmask: raw.channelmask.get(),
                    channeloffset: raw.channeloffset.map(F32::get),
                    channelscale: raw.channelscale.map(F32::get),
                }
            }
            Poses::V1(poses) => {
                let raw = poses.get(index).unwrap_or_else(raw::PoseV1::new_zeroed);
                let ten = |channels: [F32; 9]| {
                    let [a, b, c, d, e, f, g, h, i] = channels.map(F32::get);
                    [a, b, c, d, e, f, g, h, i, 0.0]
                };
                Self {
                    parent: parent(raw.parent.get()),
                    channelmask: raw.channelmask.get(),
                    channeloffset: ten(raw.channeloffset),
                    channelscale: ten(raw.channelscale),
                }
            }
        }
    }
}

fn parent(stored: i32) -> Option<u32> {
    u32::try_from(stored).ok()
}

/// An animation: a run of frames.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Anim {
    /// The name.
    pub name: Text,
    /// The first of its frames.
    pub first_frame: u32,
    /// The number of its frames.
    pub num_frames: u32,
    /// Frames per second; 0 where the file does not say.
    pub framerate: f32,
    /// `iqmanim.flags`.
    pub flags: u32,
}

impl Anim {
    fn new(layout: &Layout, raw: &raw::Anim) -> Self {
        Self {
            name: layout.text_at(raw.name.get()),
            first_frame: raw.first_frame.get(),
            num_frames: raw.num_frames.get(),
            framerate: raw.framerate.get(),
            flags: raw.flags.get(),
        }
    }

    /// Whether the animation is meant to be repeated: `IQM_LOOP`.
    #[must_use]
    pub fn is_loop(&self) -> bool {
        self.flags & raw::IQM_LOOP != 0
    }

    /// The frames.
    #[must_use]
    pub fn frames(&self) -> Range<u32> {
        // Opening has checked that the end is at most num_frames.
        self.first_frame..self.first_frame.saturating_add(self.num_frames)
    }

    /// The frames around a time, in seconds from the animation's first frame, and how far it is from the one to the
    /// other: what [`Frames::interpolate_into`] takes. `None` where there are no frames or no rate.
    ///
    /// An animation that loops goes from its last frame to its first; another one stays at its first and last frame.
    /// `default_rate`, in frames per second, stands in where the file does not store a rate.
    #[must_use]
    pub fn frames_at(&self, seconds: f64, default_rate: f32) -> Option<(u32, u32, f32)> {
        let stored = self.framerate > 0.0 && self.framerate.is_finite();
        let rate = f64::from(if stored { self.framerate } else { default_rate });
        let last = self.num_frames.checked_sub(1)?;
        let at = seconds * rate;
        if !at.is_finite() || rate <= 0.0 {
            return None;
        }
        let at =
            if self.is_loop() { at.rem_euclid(self.num_frames.into()) } else { at.clamp(0.0, last.into()) };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 <= at < num_frames")]
        let (from, fraction) = ((at.floor() as u32).min(last), at.fract() as f32);
        let to = match (from == last, self.is_loop()) {
            (false, _) => from.saturating_add(1),
            (true, true) => 0,
            (true, false) => last,
        };
        let frame = |frame: u32| self.first_frame.saturating_add(frame);
        Some((frame(from), frame(to), fraction))
    }
}

//! The numbers of a shape, and the lists of corners that refer to them.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::BitOr;
use std::sync::{Arc, OnceLock};

use meshmap::cgeo::{self, MeshBuffer, TopologyId, Triangles};
use meshmap::{Array, Attribute, Indices, MeshView, Semantic, VertexFormat};

use crate::error::Result;

/// The parts of a shape that [`Shape::read`](crate::Shape::read) reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parts(u8);

impl Parts {
    /// No part.
    pub const NONE: Self = Self(0);
    /// The positions.
    pub const POSITIONS: Self = Self(1);
    /// The normals.
    pub const NORMALS: Self = Self(1 << 1);
    /// All sets of texture coordinates.
    pub const TEXCOORDS: Self = Self(1 << 2);
    /// The triangles: the corners of all streams, and the material of each triangle.
    pub const TRIANGLES: Self = Self(1 << 3);
    /// Tangents, colours, joints, weights, and attributes with other names.
    pub const OTHERS: Self = Self(1 << 4);
    /// All of them.
    pub const ALL: Self = Self(0b11111);

    /// Returns `true` if these are all of the `others`, or more.
    #[must_use]
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The part that an attribute is.
    fn of(semantic: &Semantic) -> Self {
        match semantic {
            Semantic::Position => Self::POSITIONS,
            Semantic::Normal => Self::NORMALS,
            Semantic::TexCoord(_) => Self::TEXCOORDS,
            _ => Self::OTHERS,
        }
    }

    /// The parts of a snapshot.
    pub(crate) fn of_snapshot(self) -> cgeo::Parts {
        let pairs = [
            (Self::POSITIONS, cgeo::Parts::POSITIONS),
            (Self::NORMALS, cgeo::Parts::NORMALS),
            (Self::TEXCOORDS, cgeo::Parts::TEXCOORDS),
            (Self::TRIANGLES, cgeo::Parts::TRIANGLES),
        ];
        let mut parts = cgeo::Parts::NONE;
        for (own, part) in pairs {
            if self.contains(own) {
                parts = parts | part;
            }
        }
        parts
    }
}

impl BitOr for Parts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A shape at one of its keys: streams of numbers, and the lists of corners that refer to them.
///
/// In most formats one index serves all attributes of a vertex: there is one list of corners, and all streams refer to it. In a CGeo file
/// each stream has its own list. A program that needs one index for all makes a [`VertexRemap`](meshmap::VertexRemap) of the lists, or
/// asks for [`Shape::view`](crate::Shape::view).
///
/// Texture coordinates have V as the [conventions](crate::Scene::conventions) say. Colours are in sRGB:
/// [`colors_to_linear`](meshmap::colors_to_linear) makes them linear, and says whether they are colours.
///
/// A buffer is reused: reading the next key of a shape into it allocates nothing, unless it is larger.
#[derive(Default)]
pub struct Buffer {
    pub(crate) streams: Vec<Stream>,
    pub(crate) corners: Vec<Corners>,
    pub(crate) material_ids: Option<Ids>,
    pub(crate) has_edge_visibility: bool,
    /// The memory of a snapshot, without what the streams have of it.
    mesh: MeshBuffer,
    /// The first stream by the hash of its semantic, once one of many is asked for: a mesh may have thousands.
    index: OnceLock<HashMap<u64, usize>>,
    hasher: RandomState,
}

/// The numbers of one attribute.
#[derive(Clone)]
pub struct Stream {
    corners: Option<usize>,
    values: Values,
}

/// The numbers themselves.
#[derive(Clone)]
enum Values {
    /// An attribute of a mesh, by its place in the list that all meshes of the file share: it is decoded when it is asked for.
    Mesh { view: Arc<MeshView>, place: usize },
    /// The numbers of a snapshot, which is numbered as in the file.
    Floats {
        snapshot: usize,
        semantic: Semantic,
        floats: Vec<[f32; 3]>,
    },
}

/// The corners of triangles, which are indices of the elements of streams.
#[derive(Clone)]
pub struct Corners(List);

#[derive(Clone)]
enum List {
    Mesh(Indices),
    /// One list of the corners of the triangles of a snapshot, which all of its lists share.
    Snapshot {
        triangles: Triangles,
        list: usize,
    },
}

/// The material of each triangle.
#[derive(Clone)]
pub(crate) enum Ids {
    Mesh(Array<u32>),
    Snapshot(Triangles),
}

impl Stream {
    /// The meaning of the numbers.
    #[must_use]
    pub fn semantic(&self) -> &Semantic {
        match &self.values {
            Values::Mesh { view, place } => view
                .attributes()
                .get(*place)
                .map_or(&Semantic::Position, |info| &info.semantic),
            Values::Floats { semantic, .. } => semantic,
        }
    }

    /// The address of the numbers, as the library prints it.
    #[must_use]
    pub fn address(&self) -> String {
        match &self.values {
            Values::Mesh { view, .. } => format!("{}.{}", view.address(), self.semantic()),
            Values::Floats {
                snapshot, semantic, ..
            } => match semantic {
                Semantic::Position => format!("snapshots[{snapshot}].positions"),
                Semantic::Normal => format!("snapshots[{snapshot}].normals"),
                Semantic::TexCoord(channel) => {
                    format!("snapshots[{snapshot}].map_channels[{channel}]")
                }
                other => format!("snapshots[{snapshot}].{other}"),
            },
        }
    }

    /// The mesh that the numbers are of, with one index for each vertex; `None` if they are [floats](Self::floats).
    #[must_use]
    pub fn view(&self) -> Option<&MeshView> {
        match &self.values {
            Values::Mesh { view, .. } => Some(view),
            Values::Floats { .. } => None,
        }
    }

    /// The list of corners that refers to the stream, by its place in [`Buffer::corners`]; `None` if nothing refers to it.
    #[must_use]
    pub fn corners(&self) -> Option<usize> {
        self.corners
    }

    /// The format in which the numbers are stored.
    #[must_use]
    pub fn format(&self) -> VertexFormat {
        match &self.values {
            Values::Mesh { view, place } => view
                .attributes()
                .get(*place)
                .map_or(VertexFormat::FLOAT32X3, |info| info.format),
            Values::Floats { .. } => VertexFormat::FLOAT32X3,
        }
    }

    /// The numbers as they are stored, decoded by this call; `None` if they are [floats](Self::floats) already.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`MeshView::attribute`].
    pub fn attribute(&self) -> Result<Option<Attribute>> {
        match &self.values {
            Values::Mesh { view, .. } => Ok(view.attribute(self.semantic())?),
            Values::Floats { .. } => Ok(None),
        }
    }

    /// The numbers of a stream of a snapshot, which has been decoded in one pass with others; `None` in other formats, whose numbers
    /// [`to_f32`](Self::to_f32) decodes.
    #[must_use]
    pub fn floats(&self) -> Option<&[[f32; 3]]> {
        match &self.values {
            Values::Mesh { .. } => None,
            Values::Floats { floats, .. } => Some(floats),
        }
    }

    /// Like [`floats`](Self::floats), to change them in place.
    pub fn floats_mut(&mut self) -> Option<&mut Vec<[f32; 3]>> {
        match &mut self.values {
            Values::Mesh { .. } => None,
            Values::Floats { floats, .. } => Some(floats),
        }
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Mesh { view, .. } => view.vertex_count(),
            Values::Floats { floats, .. } => floats.len(),
        }
    }

    /// `true` without elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers as floats: see [`Attribute::to_f32`] for components that are not stored.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`MeshView::attribute`].
    pub fn to_f32<const N: usize>(&self) -> Result<Vec<[f32; N]>> {
        match &self.values {
            Values::Mesh { .. } => match self.attribute()? {
                Some(attribute) => Ok(attribute.to_f32()),
                None => Ok(Vec::new()),
            },
            Values::Floats {
                semantic, floats, ..
            } => {
                let fourth = f32::from(u8::from(*semantic == Semantic::Position));
                let widen = |[x, y, z]: &[f32; 3]| {
                    let four = [*x, *y, *z, fourth];
                    std::array::from_fn(|component| four.get(component).copied().unwrap_or(0.0))
                };
                Ok(floats.iter().map(widen).collect())
            }
        }
    }
}

impl Corners {
    /// The number of triangles, each of which has three corners.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            List::Mesh(indices) => indices.len() / 3,
            List::Snapshot { triangles, .. } => triangles.len(),
        }
    }

    /// `true` without triangles.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The corners of each triangle.
    pub fn triangles(&self) -> impl ExactSizeIterator<Item = [u32; 3]> + '_ {
        match &self.0 {
            List::Mesh(indices) => Either::Left(indices.triangles()),
            List::Snapshot { triangles, list } => Either::Right(triangles.iter_stream(*list)),
        }
    }
}

impl Buffer {
    /// The streams: positions first, then the others in the order of the file.
    #[must_use]
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// Like [`streams`](Self::streams), to change numbers in place.
    pub fn streams_mut(&mut self) -> &mut [Stream] {
        &mut self.streams
    }

    /// Keeps only some streams.
    pub fn retain_streams(&mut self, keeps: impl FnMut(&Stream) -> bool) {
        self.streams.retain(keeps);
        self.index = OnceLock::new();
    }

    /// `true` if one index serves all attributes, so that the elements of streams are vertices.
    #[must_use]
    pub fn has_one_index(&self) -> bool {
        let mut streams = self.streams.iter();
        streams.all(|stream| stream.view().is_some())
    }

    /// The stream of an attribute.
    #[must_use]
    pub fn stream(&self, semantic: &Semantic) -> Option<&Stream> {
        /// As few as these are compared one by one.
        const FEW: usize = 8;
        let is_it = |stream: &&Stream| stream.semantic() == semantic;
        if self.streams.len() > FEW {
            let place = self.index().get(&self.hasher.hash_one(semantic))?;
            let found = self.streams.get(*place).filter(is_it);
            if found.is_some() {
                return found;
            }
            // Another semantic has the same hash.
        }
        self.streams.iter().find(is_it)
    }

    fn index(&self) -> &HashMap<u64, usize> {
        self.index.get_or_init(|| {
            let mut index = HashMap::with_capacity(self.streams.len());
            for (place, stream) in self.streams.iter().enumerate() {
                let hash = self.hasher.hash_one(stream.semantic());
                index.entry(hash).or_insert(place);
            }
            index
        })
    }

    /// The lists of corners; positions have the first.
    #[must_use]
    pub fn corners(&self) -> &[Corners] {
        &self.corners
    }

    /// The corners of the positions; `None` if no triangles were read.
    #[must_use]
    pub fn position_corners(&self) -> Option<&Corners> {
        self.corners.first()
    }

    /// The positions.
    #[must_use]
    pub fn positions(&self) -> Option<&Stream> {
        self.streams
            .first()
            .filter(|stream| *stream.semantic() == Semantic::Position)
    }

    /// The number of positions; 0 if none were read.
    #[must_use]
    pub fn position_count(&self) -> usize {
        self.positions().map_or(0, Stream::len)
    }

    /// The number of triangles; 0 if none were read.
    #[must_use]
    pub fn triangle_count(&self) -> usize {
        self.position_corners().map_or(0, Corners::len)
    }

    /// The number of the material of each triangle, if triangles have numbers: the same as [`MeshView::material_ids`] of a view.
    #[must_use]
    pub fn material_ids(&self) -> Option<impl ExactSizeIterator<Item = u32> + '_> {
        match self.material_ids.as_ref()? {
            Ids::Mesh(ids) => Some(Either::Left(ids.iter())),
            Ids::Snapshot(triangles) => Some(Either::Right(triangles.material_ids()?)),
        }
    }

    /// `true` if the file says which edges of triangles are visible.
    #[must_use]
    pub fn has_edge_visibility(&self) -> bool {
        self.has_edge_visibility
    }

    /// Identifies the triangles of a shape with several keys: the same, as long as corners and materials are.
    #[must_use]
    pub fn topology(&self) -> Option<TopologyId> {
        self.mesh.topology
    }

    /// Has what a mesh has, which decodes attributes when they are asked for.
    pub(crate) fn set_mesh(&mut self, view: &Arc<MeshView>, parts: Parts) {
        self.clear();
        for (place, info) in view.attributes().iter().enumerate() {
            if !parts.contains(Parts::of(&info.semantic)) {
                continue;
            }
            let stream = Stream {
                corners: Some(0),
                values: Values::Mesh {
                    view: Arc::clone(view),
                    place,
                },
            };
            if info.semantic == Semantic::Position {
                self.streams.insert(0, stream);
            } else {
                self.streams.push(stream);
            }
        }
        if parts.contains(Parts::TRIANGLES) {
            self.corners
                .push(Corners(List::Mesh(view.indices().clone())));
            self.material_ids = view.material_ids().cloned().map(Ids::Mesh);
        }
    }

    fn clear(&mut self) {
        self.mesh = MeshBuffer::default();
        self.index = OnceLock::new();
        self.streams.clear();
        self.corners.clear();
        self.material_ids = None;
        self.has_edge_visibility = false;
    }

    /// Has what the snapshot of this number has, which `read` decodes in one pass.
    pub(crate) fn set_snapshot(
        &mut self,
        snapshot: usize,
        read: impl FnOnce(&mut MeshBuffer) -> meshmap::Result<()>,
    ) -> Result<()> {
        self.take_back();
        let mut mesh = std::mem::take(&mut self.mesh);
        let read = read(&mut mesh);
        self.mesh = mesh;
        if let Err(error) = read {
            self.clear();
            return Err(error.into());
        }
        self.set_corners();
        self.hand_out(snapshot);
        Ok(())
    }

    /// Gives the memory of the streams back to the mesh, and shares its triangles no longer.
    fn take_back(&mut self) {
        self.corners.clear();
        self.material_ids = None;
        self.index = OnceLock::new();
        for stream in self.streams.drain(..) {
            let Values::Floats {
                semantic, floats, ..
            } = stream.values
            else {
                continue;
            };
            match semantic {
                Semantic::Position => self.mesh.positions = floats,
                Semantic::Normal => self.mesh.normals = floats,
                Semantic::TexCoord(channel) => {
                    let channel = usize::try_from(channel).unwrap_or(usize::MAX);
                    if let Some(place) = self.mesh.texcoords.get_mut(channel) {
                        *place = floats;
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes the corners and materials of the triangles, if they have been read.
    fn set_corners(&mut self) {
        let triangles = &self.mesh.triangles;
        self.has_edge_visibility = triangles.edge_visibility().is_some();
        if !self.mesh.parts.contains(cgeo::Parts::TRIANGLES) {
            return;
        }
        let lists = 1 + usize::from(triangles.has_normals()) + triangles.texcoord_sets();
        for list in 0..lists {
            let triangles = triangles.clone();
            self.corners
                .push(Corners(List::Snapshot { triangles, list }));
        }
        if triangles.material_scalar().is_some() {
            self.material_ids = Some(Ids::Snapshot(triangles.clone()));
        }
    }

    /// Makes streams of the arrays of the mesh.
    fn hand_out(&mut self, snapshot: usize) {
        let triangles = &self.mesh.triangles;
        let has_triangles = !self.corners.is_empty();
        let first_channel = 1 + usize::from(triangles.has_normals());
        let channels = triangles.texcoord_sets();
        let stream = |semantic, corners: Option<usize>, floats| Stream {
            corners: corners.filter(|_| has_triangles),
            values: Values::Floats {
                snapshot,
                semantic,
                floats,
            },
        };
        if self.mesh.parts.contains(cgeo::Parts::POSITIONS) {
            let positions = std::mem::take(&mut self.mesh.positions);
            self.streams
                .push(stream(Semantic::Position, Some(0), positions));
        }
        if !self.mesh.normals.is_empty() {
            let normals = std::mem::take(&mut self.mesh.normals);
            let corners = triangles.has_normals().then_some(1);
            self.streams
                .push(stream(Semantic::Normal, corners, normals));
        }
        for (channel, floats) in self.mesh.texcoords.iter_mut().enumerate() {
            if floats.is_empty() {
                continue;
            }
            let set = u32::try_from(channel).unwrap_or(u32::MAX);
            let corners = (channel < channels).then_some(first_channel + channel);
            let floats = std::mem::take(floats);
            self.streams
                .push(stream(Semantic::TexCoord(set), corners, floats));
        }
    }
}

/// One of two iterators of the same elements.
enum Either<A, B> {
    Left(A),
    Right(B),
}

impl<A: ExactSizeIterator, B: ExactSizeIterator<Item = A::Item>> Iterator for Either<A, B> {
    type Item = A::Item;

    fn next(&mut self) -> Option<A::Item> {
        match self {
            Self::Left(left) => left.next(),
            Self::Right(right) => right.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Left(left) => left.size_hint(),
            Self::Right(right) => right.size_hint(),
        }
    }

    fn fold<T, F: FnMut(T, A::Item) -> T>(self, init: T, f: F) -> T {
        match self {
            Self::Left(left) => left.fold(init, f),
            Self::Right(right) => right.fold(init, f),
        }
    }
}

impl<A: ExactSizeIterator, B: ExactSizeIterator<Item = A::Item>> ExactSizeIterator
    for Either<A, B>
{
}

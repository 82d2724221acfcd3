//! The asset: its header, and its blocks, each read and decoded when asked for.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::buffer::MeshBuffer;
use super::face::{BlockPlace, Mesh, each_face};
use super::layout::{BLOCK, Entry, Layout, MAX_VERSION};
use super::llsd::Event;
use super::physics::PhysicsConvex;
use super::rules::FILE;
use super::skin::Skin;
use crate::bytes::{Source, Text};
use crate::codec::Codec;
use crate::decode::{Block, Scratch, decode_all};
use crate::format::Format;
use crate::limits::Budget;
use crate::num::{Span, as_u64};
use crate::options::{Options, refuse_forbidden};
use crate::report::{Address, Error, ErrorKind, Finding, Item, Result};

/// A Second Life mesh asset.
///
/// Cloning is cheap. Opening reads the header; a block is read and inflated when asked for, from its own bytes alone.
#[derive(Clone)]
pub struct Asset {
    inner: Arc<Inner>,
}

struct Inner {
    layout: Layout,
    options: Options,
    /// What [`MeshFile`](crate::MeshFile) shows: it asks for the faces of a mesh one by one.
    views: [OnceLock<Result<Mesh>>; MESHES.len()],
}

/// What reading an asset needs to be told beside [`Options`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The highest version that is read. 999 by default: above it, the format is a different one.
    pub max_version: i32,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { max_version: MAX_VERSION }
    }
}

impl ReadOptions {
    /// These options, with another bound on the version.
    #[must_use]
    pub fn with_max_version(mut self, version: i32) -> Self {
        self.max_version = version;
        self
    }
}

/// A level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Lod {
    /// "lowest_lod"
    Lowest,
    /// "low_lod"
    Low,
    /// "medium_lod"
    Medium,
    /// "high_lod"
    High,
}

impl Lod {
    /// All of them, the highest first.
    pub const ALL: [Self; 4] = [Self::High, Self::Medium, Self::Low, Self::Lowest];

    /// The key in the header.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lowest => "lowest_lod",
            Self::Low => "low_lod",
            Self::Medium => "medium_lod",
            Self::High => "high_lod",
        }
    }
}

impl fmt::Display for Lod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The blocks that are meshes, as addresses name them.
const MESHES: [&str; 5] = ["high_lod", "medium_lod", "low_lod", "lowest_lod", "physics_mesh"];

/// The blocks that are decoded.
const NAMES: [&str; 7] =
    ["high_lod", "medium_lod", "low_lod", "lowest_lod", "physics_mesh", "physics_convex", "skin"];

/// What it costs to simulate the asset, which the simulator fills in: "physics_cost_data". All are `None` where they
/// are absent or no numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CostData {
    /// "mesh": a matrix of three by three.
    pub mesh: Option<[f32; 9]>,
    /// "mesh_triangles"
    pub mesh_triangles: Option<i64>,
    /// "hull"
    pub hull: Option<f32>,
    /// "hull_discounted_vertices"
    pub hull_discounted_vertices: Option<i64>,
    /// "decomposition"
    pub decomposition: Option<f32>,
    /// "decomposition_hulls"
    pub decomposition_hulls: Option<i64>,
    /// "decomposition_discounted_vertices"
    pub decomposition_discounted_vertices: Option<i64>,
}

/// Everything that [`Asset::decode_all`] decoded: a result for each block, `Ok(None)` where there is none.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decoded {
    /// The levels of detail, the highest first, as in [`Lod::ALL`].
    pub lods: [Result<Option<Mesh>>; 4],
    /// The mesh for physics.
    pub physics_mesh: Result<Option<Mesh>>,
    /// The hulls for physics.
    pub physics_convex: Result<Option<PhysicsConvex>>,
    /// The skin.
    pub skin: Result<Option<Skin>>,
}

impl Decoded {
    /// A level of detail.
    ///
    /// # Errors
    ///
    /// Those of [`Asset::lod`].
    pub fn lod(&self, lod: Lod) -> Result<Option<&Mesh>> {
        let [high, medium, low, lowest] = &self.lods;
        let mesh = match lod {
            Lod::High => high,
            Lod::Medium => medium,
            Lod::Low => low,
            Lod::Lowest => lowest,
        };
        mesh.as_ref().map(Option::as_ref).map_err(Error::clone)
    }
}

impl Asset {
    /// Opens a file lazily.
    ///
    /// # Errors
    ///
    /// Those of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?)
    }

    /// Reads the header of a file: of a lazy source its first 4,096 bytes, and more where the header is longer.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) where the header is no map of binary LLSD,
    /// [`Truncated`](ErrorKind::Truncated) where the file ends inside of it, [`Unsupported`](ErrorKind::Unsupported)
    /// for a version above 999, [`LimitExceeded`](ErrorKind::LimitExceeded) for more than 4,096 keys or too deep a
    /// nesting, and the errors of reading. What is wrong with one block is told by who asks for that block.
    pub fn from_source(source: Source) -> Result<Self> {
        Self::from_source_with(source, &Options::default(), &ReadOptions::default())
    }

    /// The same with options; [`Strictness::Strict`](crate::Strictness::Strict) also runs [`validate`](Self::validate).
    ///
    /// # Errors
    ///
    /// Those of [`from_source`](Self::from_source); strictly, [`Malformed`](ErrorKind::Malformed) for any finding that
    /// the specification forbids, and the errors of decoding.
    pub fn from_source_with(source: Source, options: &Options, read: &ReadOptions) -> Result<Self> {
        Self::in_region(&source, 0..u64::MAX, options, read)
    }

    /// The asset that lies in a part of a source: inside of another file. Ranges and errors count from the beginning of
    /// the source.
    ///
    /// # Errors
    ///
    /// Those of [`from_source_with`](Self::from_source_with).
    pub fn in_region(
        source: &Source,
        region: Range<u64>,
        options: &Options,
        read: &ReadOptions,
    ) -> Result<Self> {
        let layout = Layout::read(source, region, &options.limits, read.max_version)?;
        let inner = Inner { layout, options: *options, views: Default::default() };
        let asset = Self { inner: Arc::new(inner) };
        refuse_forbidden(options, Format::SlMesh, || asset.validate())?;
        Ok(asset)
    }

    fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    /// The source, for reading what else lies in the file.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.layout().source
    }

    /// The bytes of the header.
    #[must_use]
    pub fn header_range(&self) -> Range<u64> {
        self.layout().header.clone()
    }

    /// Every key of the header, and its value as LLSD, for [`llsd::Reader`](super::llsd::Reader). Of equal keys all
    /// are shown; the first counts.
    pub fn header(&self) -> impl ExactSizeIterator<Item = (&Text, Bytes)> {
        self.layout().keys()
    }

    /// "version", which the simulator fills in: thousands are versions of the format.
    #[must_use]
    pub fn version(&self) -> Option<i32> {
        self.layout().version
    }

    /// "creator": the id of who uploaded the asset.
    #[must_use]
    pub fn creator(&self) -> Option<[u8; 16]> {
        match self.scalar("creator")? {
            Event::Uuid(creator) => Some(creator),
            _ => None,
        }
    }

    /// "date" of the upload: seconds since the beginning of 1970, UTC.
    #[must_use]
    pub fn date(&self) -> Option<f64> {
        match self.scalar("date")? {
            Event::Date(seconds) => Some(seconds),
            _ => None,
        }
    }

    /// "submodel_id": which part of a model that has more than eight materials.
    #[must_use]
    pub fn submodel_id(&self) -> Option<i64> {
        self.layout().value("submodel_id", "submodel_id")?.integer().ok()
    }

    /// Whether a service put the key "404" into the header: there is no asset.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.layout().is_not_found()
    }

    /// "physics_cost_data"; `None` where it is absent, or no map.
    #[must_use]
    pub fn cost_data(&self) -> Option<CostData> {
        const KEYS: [&str; 7] = [
            "mesh",
            "mesh_triangles",
            "hull",
            "hull_discounted_vertices",
            "decomposition",
            "decomposition_hulls",
            "decomposition_discounted_vertices",
        ];
        let fields = self.layout().value("physics_cost_data", "physics_cost_data")?.fields(&KEYS).ok()?;
        let number = |key| match fields.get(key)?.event().ok()? {
            Event::Real(real) => Some(super::fields::single(real)),
            Event::Integer(integer) => Some(super::fields::single(integer.into())),
            _ => None,
        };
        let integer = |key| fields.get(key)?.integer().ok();
        Some(CostData {
            mesh: fields.get(0).and_then(|value| value.numbers().ok()),
            mesh_triangles: integer(1),
            hull: number(2),
            hull_discounted_vertices: integer(3),
            decomposition: number(4),
            decomposition_hulls: integer(5),
            decomposition_discounted_vertices: integer(6),
        })
    }

    fn scalar(&self, name: &'static str) -> Option<Event<'_>> {
        self.layout().value(name, name)?.event().ok()
    }

    /// Every block of the header, known or not, in the order of the header; those that are absent, too.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.layout().entries.iter()
    }

    /// What the header says of a block; `None` where it says nothing.
    #[must_use]
    pub fn entry(&self, name: impl AsRef<[u8]>) -> Option<&Entry> {
        self.layout().entry(name.as_ref())
    }

    /// The entry of a block that is there; `Ok(None)` where it is absent. `physics_shape` is the old name of
    /// `physics_mesh`.
    fn present(&self, name: &str) -> Result<Option<(&Entry, Range<u64>)>> {
        let old = if name == "physics_mesh" { "physics_shape" } else { name };
        for name in [name, old] {
            if let Some(entry) = self.layout().entry(name.as_bytes())
                && let Some(range) = entry.range()?
            {
                return Ok(Some((entry, range)));
            }
        }
        Ok(None)
    }

    /// The bytes of a level of detail; `Ok(None)` where there is none. Reads nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Entry::range`].
    pub fn lod_range(&self, lod: Lod) -> Result<Option<Range<u64>>> {
        Ok(self.present(lod.name())?.map(|(_, range)| range))
    }

    /// The level of detail that a viewer shows where it wants this one: it, or else the next lower one that is there, or
    /// else the next higher one. `None` where there are none. Reads nothing.
    #[must_use]
    pub fn best_lod(&self, wanted: Lod) -> Option<Lod> {
        let is_there = |lod: &Lod| matches!(self.lod_range(*lod), Ok(Some(_)));
        let lower = Lod::ALL.into_iter().filter(|lod| *lod <= wanted);
        let higher = Lod::ALL.into_iter().rev().filter(|lod| *lod > wanted);
        lower.chain(higher).find(is_there)
    }

    /// About how many triangles a level of detail has, as the viewer reckons: 16 stored bytes each, but for the first
    /// 384. One that is absent counts as the next higher one; `None` where that is absent, too. Reads nothing.
    #[must_use]
    pub fn triangle_estimate(&self, lod: Lod) -> Option<u64> {
        const OTHER_BYTES: u64 = 384;
        const TRIANGLE: u64 = 16;
        let stored = |lod: Lod| self.lod_range(lod).ok().flatten().map(|range| range.length());
        let size = Lod::ALL.into_iter().rev().filter(|other| *other >= lod).find_map(stored)?;
        Some(size.saturating_sub(OTHER_BYTES).max(TRIANGLE) / TRIANGLE)
    }

    /// A level of detail, decoded; `Ok(None)` where there is none. Reads that block and nothing else.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) and [`Truncated`](ErrorKind::Truncated) for a damaged stream, a block that has
    /// not been downloaded (zeros), wrong LLSD, or arrays of a face that do not fit each other;
    /// [`LimitExceeded`](ErrorKind::LimitExceeded), and the errors of reading.
    pub fn lod(&self, lod: Lod) -> Result<Option<Mesh>> {
        self.mesh_from(self.source(), lod.name(), &mut Scratch::default())
    }

    /// A level of detail in memory that is used again, as floats; `Ok(false)`, and no faces, where there is none. Where the
    /// source is in memory, nothing is allocated once there is room.
    ///
    /// # Errors
    ///
    /// Those of [`lod`](Self::lod).
    pub fn lod_into(&self, lod: Lod, out: &mut MeshBuffer, scratch: &mut Scratch) -> Result<bool> {
        out.clear();
        let Some((block, stored)) = self.block_from(self.source(), lod.name())? else { return Ok(false) };
        let mut content = std::mem::take(&mut scratch.bytes);
        let filled = self.fill(&block, &stored, &mut content, out, scratch);
        scratch.bytes = content;
        if filled.is_err() {
            out.clear();
        }
        filled.map(|()| true)
    }

    fn fill(
        &self,
        block: &Block,
        stored: &[u8],
        content: &mut Vec<u8>,
        out: &mut MeshBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let limits = self.options().limits;
        let mut budget = Budget::new(&limits);
        let length = block
            .inflate_into(stored, self.options(), content, scratch)
            .map_err(|error| FILE.locate(error))?;
        let content = content.get(..length).unwrap_or_default();
        let place = BlockPlace { range: block.range.clone(), address: block.address.clone(), limits };
        each_face(content, &place, |index, face| {
            let filled = out.next().fill(content, &face, &mut budget);
            filled.map_err(|error| place.decoded(error).of(place.face(index)))
        })
    }

    /// The mesh for physics ("physics_mesh", or "physics_shape" as it was called), decoded; `Ok(None)` where there is
    /// none.
    ///
    /// # Errors
    ///
    /// Those of [`lod`](Self::lod).
    pub fn physics_mesh(&self) -> Result<Option<Mesh>> {
        self.mesh_from(self.source(), "physics_mesh", &mut Scratch::default())
    }

    /// The hulls for physics, decoded; `Ok(None)` where there are none, or the block is undefined, as in sub-models.
    ///
    /// # Errors
    ///
    /// Those of [`lod`](Self::lod), and [`Malformed`](ErrorKind::Malformed) for fewer points than the hulls have.
    pub fn physics_convex(&self) -> Result<Option<PhysicsConvex>> {
        self.convex_from(self.source(), &mut Scratch::default())
    }

    /// The skin, decoded; `Ok(None)` where there is none.
    ///
    /// # Errors
    ///
    /// Those of [`lod`](Self::lod).
    pub fn skin(&self) -> Result<Option<Skin>> {
        self.skin_from(self.source(), &mut Scratch::default())
    }

    /// Any block of the header, inflated: LLSD in all that are known. `Ok(None)` where it is absent.
    ///
    /// # Errors
    ///
    /// Those of [`Block::decode`].
    pub fn raw_block(&self, name: &str) -> Result<Option<Bytes>> {
        Ok(self.content(self.source(), name, &mut Scratch::default())?.map(|(_, content)| content))
    }

    /// The blocks that are there, in the order of [`entries`](Self::entries), for decoding with [`decode_all`]; without
    /// those whose entry is wrong. Reads the first bytes of each, which tell how it is compressed.
    ///
    /// # Errors
    ///
    /// The errors of reading; that the file ends before a block does is told by decoding it.
    pub fn blocks(&self) -> Result<Vec<Block>> {
        let mut blocks = Vec::new();
        for entry in self.entries() {
            let Ok(Some(range)) = entry.range() else { continue };
            let head = range.start..range.end.min(range.start.saturating_add(2));
            let codec = match self.source().get(head, BLOCK) {
                Ok(head) => codec(&head),
                Err(error) if error.kind() == ErrorKind::Truncated => Codec::Zlib,
                Err(error) => return Err(error.of(entry.address.clone())),
            };
            blocks.push(Block {
                what: BLOCK,
                address: entry.address.clone(),
                range,
                codec,
                decoded_len: None,
            });
        }
        Ok(blocks)
    }

    /// Everything decoded: the levels of detail, physics and the skin, over the caller's rayon pool where that pays. One
    /// block that cannot be decoded spoils itself only; see also [`decode_all`].
    ///
    /// # Errors
    ///
    /// [`NeedBytes`](ErrorKind::NeedBytes) where the source is one of fragments of which some have not been supplied.
    pub fn decode_all(&self) -> Result<Decoded> {
        let source = self.all_at_hand()?;
        let located = NAMES.map(|name| self.block_from(&source, name));
        let blocks: Vec<Block> =
            located.iter().filter_map(|found| Some(found.as_ref().ok()?.as_ref()?.0.clone())).collect();
        let mut contents = decode_all(&source, &blocks, self.options()).into_iter().zip(&blocks);
        let limits = self.options().limits;
        let mut decoded = located.map(|found| match found {
            Ok(Some(_)) => contents.next().map_or(Ok(None), |(content, block)| {
                let place = BlockPlace { range: block.range.clone(), address: block.address.clone(), limits };
                content.map(|content| Some((place, content))).map_err(|error| FILE.locate(error))
            }),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        });
        let mut take = |index: usize| match decoded.get_mut(index) {
            Some(content) => std::mem::replace(content, Ok(None)),
            None => Ok(None),
        };
        let mesh = |content: Content| match content? {
            Some((place, content)) => Mesh::new(content, place).map(Some),
            None => Ok(None),
        };
        Ok(Decoded {
            lods: [0, 1, 2, 3].map(|index| mesh(take(index))),
            physics_mesh: mesh(take(4)),
            physics_convex: take(5).and_then(|content| {
                content.map_or(Ok(None), |(place, content)| PhysicsConvex::new(&content, &place))
            }),
            skin: take(6)
                .and_then(|content| content.map_or(Ok(None), |(place, content)| Skin::new(&content, &place))),
        })
    }

    /// The source with everything at hand that is decoded.
    pub(crate) fn all_at_hand(&self) -> Result<Source> {
        let ranges = NAMES.iter().filter_map(|name| Some(self.present(name).ok()??.1));
        match self.source().with_ranges(&ranges.collect::<Vec<_>>(), "blocks") {
            // What is missing is told for all blocks at once.
            Err(error) if matches!(error.kind(), ErrorKind::NeedBytes(_)) => Err(error),
            // Where reading ahead fails, so does reading; the blocks say so each for itself.
            source => Ok(source.unwrap_or_else(|_| self.source().clone())),
        }
    }

    pub(crate) fn mesh_from(
        &self,
        source: &Source,
        name: &str,
        scratch: &mut Scratch,
    ) -> Result<Option<Mesh>> {
        let content = self.content(source, name, scratch)?;
        content.map(|(place, content)| Mesh::new(content, place)).transpose()
    }

    pub(crate) fn convex_from(
        &self,
        source: &Source,
        scratch: &mut Scratch,
    ) -> Result<Option<PhysicsConvex>> {
        let content = self.content(source, "physics_convex", scratch)?;
        content.map_or(Ok(None), |(place, content)| PhysicsConvex::new(&content, &place))
    }

    pub(crate) fn skin_from(&self, source: &Source, scratch: &mut Scratch) -> Result<Option<Skin>> {
        let content = self.content(source, "skin", scratch)?;
        content.map_or(Ok(None), |(place, content)| Skin::new(&content, &place))
    }

    /// A block, inflated.
    fn content(&self, source: &Source, name: &str, scratch: &mut Scratch) -> Content {
        let Some((block, stored)) = self.block_from(source, name)? else { return Ok(None) };
        let content =
            block.decode_stored(stored, self.options(), scratch).map_err(|error| FILE.locate(error))?;
        let limits = self.options().limits;
        Ok(Some((BlockPlace { range: block.range, address: block.address, limits }, content)))
    }

    /// A block and its bytes.
    pub(crate) fn block_from(&self, source: &Source, name: &str) -> Result<Option<(Block, Bytes)>> {
        let Some((entry, range)) = self.present(name)? else { return Ok(None) };
        let stored = source.get(range.clone(), BLOCK);
        let stored = stored.map_err(|error| error.of(entry.address.clone()))?;
        if is_not_downloaded(&stored) {
            let error = FILE.error(ErrorKind::Truncated, BLOCK).at(range).of(entry.address.clone());
            return Err(error.expected("a zlib stream").found("zeros: not downloaded"));
        }
        let address = entry.address.clone();
        let block = Block { what: BLOCK, address, range, codec: codec(&stored), decoded_len: None };
        Ok(Some((block, stored)))
    }

    /// What was tolerated when opening; see [`finding`](super::finding).
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.layout().findings
    }

    /// The header, and the blocks that are there, in the order of the header. Reads nothing.
    #[must_use]
    pub fn items(&self) -> Vec<Item> {
        let header = self.header_range();
        let keys = as_u64(self.layout().keys().len());
        let mut items = vec![Item {
            address: Address::field("header"),
            counts: vec![("keys", keys)],
            stored: header.length(),
            decoded: None,
            range: header,
        }];
        for entry in self.entries() {
            if let Ok(Some(range)) = entry.range() {
                items.push(Item {
                    address: entry.address.clone(),
                    counts: entry.mesh_triangles.map(|count| ("mesh_triangles", count)).into_iter().collect(),
                    stored: range.length(),
                    decoded: None,
                    range,
                });
            }
        }
        items
    }

    /// A mesh for whoever asks for its faces one by one: decoded once, and kept.
    pub(crate) fn shared_mesh(&self, name: &str) -> Result<Option<Mesh>> {
        let index = MESHES.iter().position(|mesh| *mesh == name);
        let Some(cell) = index.and_then(|index| self.inner.views.get(index)) else { return Ok(None) };
        if let Some(mesh) = cell.get() {
            return mesh.clone().map(Some);
        }
        // I/O may fail now and succeed later, so it is done before the decode, which always gives the same.
        let Some((block, stored)) = self.block_from(self.source(), name)? else { return Ok(None) };
        let decode = || {
            let content = block
                .decode_stored(stored, self.options(), &mut Scratch::default())
                .map_err(|error| FILE.locate(error))?;
            let limits = self.options().limits;
            Mesh::new(
                content,
                BlockPlace { range: block.range.clone(), address: block.address.clone(), limits },
            )
        };
        cell.get_or_init(decode).clone().map(Some)
    }

    /// The addresses of the faces of all meshes. How many there are stands inside of the blocks, which are therefore
    /// decoded, and kept; those that cannot be are left out, and so are those behind more than the limit on all of them.
    pub(crate) fn mesh_addresses(&self) -> Vec<Address> {
        let mut addresses = Vec::new();
        let mut total = 0_u64;
        for name in MESHES {
            if total > self.options().limits.max_total_bytes {
                break;
            }
            let Ok(Some(mesh)) = self.shared_mesh(name) else { continue };
            total = total.saturating_add(as_u64(mesh.content().len()));
            let faces = Address::field(name).then("faces");
            addresses.extend((0..as_u64(mesh.len())).map(|face| faces.clone().index(face)));
        }
        addresses
    }
}

type Content = Result<Option<(BlockPlace, Bytes)>>;

impl fmt::Debug for Asset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks: Vec<_> = self.entries().map(|entry| entry.name.to_string_lossy()).collect();
        f.debug_struct("Asset")
            .field("version", &self.version())
            .field("blocks", &blocks)
            .finish_non_exhaustive()
    }
}

/// How a block is compressed, by its first bytes. The specification's text says gzip; every writer writes zlib.
fn codec(stored: &[u8]) -> Codec {
    if stored.starts_with(&[0x1f, 0x8b]) { Codec::Gzip } else { Codec::Zlib }
}

/// The viewer's cache reserves room for blocks before it has them.
fn is_not_downloaded(stored: &[u8]) -> bool {
    const LOOKED_AT: usize = 1024;
    !stored.is_empty() && stored.iter().take(LOOKED_AT).all(|byte| *byte == 0)
}

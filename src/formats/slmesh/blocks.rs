//! The blocks of an asset, each read and decoded separately.

use std::ops::Range;

use bytes::Bytes;

use super::asset::Asset;
use super::buffer::MeshBuffer;
use super::face_layout::Faces;
use super::keys::{DECODED, Lod, MeshKey, PHYSICS_CONVEX, PHYSICS_MESH, PHYSICS_SHAPE, SKIN};
use super::layout::{BLOCK, Entry};
use super::mesh::Mesh;
use super::physics::PhysicsConvex;
use super::place::{BlockPlace, Content, InflatedBlock};
use super::rules::FILE;
use super::skin::Skin;
use crate::bytes::Source;
use crate::codec::Codec;
use crate::decode::{Block, Context, Scratch};
use crate::limits::Meter;
use crate::num::Span;
use crate::report::{ErrorKind, Place, Result};

impl Asset {
    /// A level of detail, decoded; `Ok(None)` if the asset does not have it.
    ///
    /// Reads its block only.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) and [`Truncated`](ErrorKind::Truncated) for a damaged stream, a block that has
    /// not been downloaded (zeros), wrong LLSD, or arrays of a face that do not fit each other;
    /// [`LimitExceeded`](ErrorKind::LimitExceeded), and the errors of reading.
    pub fn lod(&self, lod: Lod) -> Result<Option<Mesh>> {
        self.mesh_from(
            self.source(),
            MeshKey::Lod(lod),
            Context::new(&self.meter(), &mut Scratch::default()),
        )
    }

    /// Like [`lod`](Self::lod), as floats, into memory that is reused.
    ///
    /// Returns `Ok(false)`, and no faces, if the asset does not have the level.
    ///
    /// If the source is in memory, nothing is allocated once the buffers are large enough.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`lod`](Self::lod).
    pub fn lod_into(&self, lod: Lod, out: &mut MeshBuffer, scratch: &mut Scratch) -> Result<bool> {
        out.clear();
        let Some(stored) = self.stored_block(self.source(), lod.name())? else {
            return Ok(false);
        };
        let mut content = std::mem::take(&mut scratch.bytes);
        let filled = self.fill(stored, &mut content, out, scratch);
        scratch.bytes = content;
        match filled {
            Ok(()) => Ok(true),
            Err(error) => {
                out.clear();
                Err(error)
            }
        }
    }

    /// Inflates a block into `content`, and decodes its faces into `out`.
    fn fill(
        &self,
        stored: StoredBlock,
        content: &mut Vec<u8>,
        out: &mut MeshBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let StoredBlock { block, bytes } = stored;
        let meter = Meter::of_part(&self.options().limits, &block.range);
        let length = block
            .inflate_into(&bytes, self.options(), &meter, content, scratch)
            .map_err(|error| self.source().locate(FILE.locate(error)))?;
        let content = content.get(..length).unwrap_or_default();
        let place = BlockPlace::new(block, self.source(), &self.options().limits);
        let mut faces = Faces::new(content, &place)?;
        let mut index = 0_usize;
        while let Some(face) = faces.next()? {
            let filled = out.next().fill(content, &face, &meter);
            filled.map_err(|error| place.locate_face(error, index))?;
            index = index.saturating_add(1);
        }
        Ok(())
    }

    /// The mesh for physics, decoded; `Ok(None)` if the asset has no such mesh.
    ///
    /// "physics_mesh", or "physics_shape" as it was called first.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`lod`](Self::lod).
    pub fn physics_mesh(&self) -> Result<Option<Mesh>> {
        self.mesh_from(
            self.source(),
            MeshKey::Physics,
            Context::new(&self.meter(), &mut Scratch::default()),
        )
    }

    /// The hulls for physics, decoded.
    ///
    /// `Ok(None)` if the asset has no hulls, or the block is undefined, as in sub-models.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`lod`](Self::lod), and [`Malformed`](ErrorKind::Malformed) for fewer points than the hulls have.
    pub fn physics_convex(&self) -> Result<Option<PhysicsConvex>> {
        self.convex_from(
            self.source(),
            Context::new(&self.meter(), &mut Scratch::default()),
        )
    }

    /// The skin, decoded; `Ok(None)` if the asset has no skin.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`lod`](Self::lod).
    pub fn skin(&self) -> Result<Option<Skin>> {
        self.skin_from(
            self.source(),
            Context::new(&self.meter(), &mut Scratch::default()),
        )
    }

    /// Any block of the header, inflated; `Ok(None)` if it is absent.
    ///
    /// All known blocks are LLSD.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Block::decode`].
    pub fn raw_block(&self, name: &str) -> Result<Option<Bytes>> {
        let meter = self.meter();
        let mut scratch = Scratch::default();
        let context = Context::new(&meter, &mut scratch);
        let content = self.content(self.source(), name, context)?;
        Ok(content.map(|block| block.content))
    }

    /// The blocks that are there, in the order of [`entries`](Self::entries).
    ///
    /// Blocks with an invalid entry are left out.
    ///
    /// For decoding with [`decode_all`](crate::decode_all). Reads the first bytes of each block, which determine its codec.
    ///
    /// # Errors
    ///
    /// The errors of reading; that the file ends before a block does is an error of decoding the block.
    pub fn blocks(&self) -> Result<Vec<Block>> {
        let mut blocks = Vec::new();
        for entry in self.entries() {
            let Ok(Some(range)) = entry.range() else {
                continue;
            };
            let head = range.start..range.end.min(range.start.saturating_add(2));
            let codec = match self.source().get(head, BLOCK) {
                Ok(head) => codec(&head),
                Err(error) if error.kind() == ErrorKind::Truncated => Codec::Zlib,
                Err(error) => return Err(error.of(entry.address.clone())),
            };
            blocks.push(Block::new(BLOCK, entry.address.clone(), range, codec, None));
        }
        Ok(blocks)
    }

    /// The source, with all blocks that are decoded loaded.
    pub(crate) fn loaded_source(&self) -> Result<Source> {
        let mut ranges = Vec::new();
        for name in DECODED {
            if let Ok(Some(present)) = self.present(name) {
                ranges.push(present.range);
            }
        }
        match self.source().with_ranges(&ranges, "blocks") {
            Ok(source) => Ok(source),
            // Missing bytes are reported for all blocks at once.
            Err(error) if matches!(error.kind(), ErrorKind::NeedBytes(_)) => Err(error),
            // If reading ahead fails, so does reading, and each block reports its error.
            Err(_) => Ok(self.source().clone()),
        }
    }

    pub(crate) fn mesh_from(
        &self,
        source: &Source,
        key: MeshKey,
        context: Context<'_>,
    ) -> Result<Option<Mesh>> {
        let meter = context.meter;
        Mesh::of_block(key, self.content(source, key.name(), context), meter)
    }

    pub(crate) fn convex_from(
        &self,
        source: &Source,
        context: Context<'_>,
    ) -> Result<Option<PhysicsConvex>> {
        PhysicsConvex::new(self.content(source, PHYSICS_CONVEX, context))
    }

    pub(crate) fn skin_from(&self, source: &Source, context: Context<'_>) -> Result<Option<Skin>> {
        Skin::new(self.content(source, SKIN, context))
    }

    /// A block, inflated.
    fn content(&self, source: &Source, name: &str, context: Context<'_>) -> Content {
        match self.stored_block(source, name)? {
            Some(stored) => self.inflate(stored, context).map(Some),
            None => Ok(None),
        }
    }

    /// The content of a block.
    pub(crate) fn inflate(
        &self,
        stored: StoredBlock,
        context: Context<'_>,
    ) -> Result<InflatedBlock> {
        let StoredBlock { block, bytes } = stored;
        let Context { meter, scratch } = context;
        meter.count_read(&block.range);
        let content = block
            .decode_stored(bytes, self.options(), meter, scratch)
            .map_err(|error| self.source().locate(FILE.locate(error)))?;
        Ok(InflatedBlock {
            place: BlockPlace::new(block, self.source(), &self.options().limits),
            content,
        })
    }

    /// The meter of a call on this asset.
    pub(crate) fn meter(&self) -> Meter<'static> {
        Meter::of_call(&self.options().limits)
    }

    /// A block and its bytes; `Ok(None)` if the asset does not have the block.
    pub(crate) fn stored_block(&self, source: &Source, name: &str) -> Result<Option<StoredBlock>> {
        let Some(present) = self.present(name)? else {
            return Ok(None);
        };
        match source.get(present.range.clone(), BLOCK) {
            Ok(bytes) => present.with_bytes(bytes).map(Some),
            Err(error) => Err(present.place().locate(error)),
        }
    }

    /// Like `stored_block`, with two kinds of errors: the outer error is the reader's, the inner
    /// one is an error of the file, after which other blocks may be read.
    pub(crate) fn readable_block(&self, name: &str) -> Result<Result<Option<StoredBlock>>> {
        let present = match self.present(name) {
            Ok(Some(present)) => present,
            Ok(None) => return Ok(Ok(None)),
            Err(error) => return Ok(Err(error)),
        };
        // If the length is unknown, a reader that finds no more bytes shows that the file is damaged.
        let end = present.range.end;
        let is_there = self.source().len()?.is_some_and(|len| end <= len);
        match self.source().get(present.range.clone(), BLOCK) {
            Ok(bytes) => Ok(present.with_bytes(bytes).map(Some)),
            Err(error) => {
                let error = present.place().locate(error);
                if is_there || error.is_of_reading() {
                    Err(error)
                } else {
                    Ok(Err(error))
                }
            }
        }
    }

    /// Returns the entry of a present block; `Ok(None)` if it is absent.
    pub(crate) fn present(&self, name: &str) -> Result<Option<PresentBlock<'_>>> {
        if let Some(present) = self.present_as(name)? {
            return Ok(Some(present));
        }
        if name == PHYSICS_MESH {
            // As it was called first.
            return self.present_as(PHYSICS_SHAPE);
        }
        Ok(None)
    }

    /// Like `present`, for a key of the header.
    fn present_as(&self, key: &str) -> Result<Option<PresentBlock<'_>>> {
        let Some(entry) = self.entry(key) else {
            return Ok(None);
        };
        let range = entry.range()?;
        Ok(range.map(|range| PresentBlock { entry, range }))
    }
}

/// A block that the asset has, before it is read.
pub(crate) struct PresentBlock<'a> {
    entry: &'a Entry,
    pub(crate) range: Range<u64>,
}

/// A block, and its bytes as stored.
pub(crate) struct StoredBlock {
    pub(crate) block: Block,
    pub(crate) bytes: Bytes,
}

impl PresentBlock<'_> {
    fn place(&self) -> Place {
        FILE.of(self.entry.address.clone()).at(self.range.clone())
    }

    /// The block with these bytes; an error if it has not been downloaded.
    fn with_bytes(self, bytes: Bytes) -> Result<StoredBlock> {
        if is_not_downloaded(&bytes) {
            let error = self.place().error(ErrorKind::Truncated, BLOCK);
            let error = error.expected("a zlib stream");
            return Err(error.found("zeros: not downloaded"));
        }
        let codec = codec(&bytes);
        let address = self.entry.address.clone();
        let block = Block::new(BLOCK, address, self.range, codec, None);
        Ok(StoredBlock { block, bytes })
    }
}

/// Returns the compression of a block, by its first bytes. The specification's text says gzip; every writer writes zlib.
fn codec(stored: &[u8]) -> Codec {
    if stored.starts_with(&[0x1f, 0x8b]) {
        Codec::Gzip
    } else {
        Codec::Zlib
    }
}

/// Returns `true` for zeros: the viewer's cache reserves the bytes of blocks before it has them.
fn is_not_downloaded(stored: &[u8]) -> bool {
    const CHECKED: usize = 1024;
    !stored.is_empty() && stored.iter().take(CHECKED).all(|byte| *byte == 0)
}

impl Asset {
    /// The stored bytes of a level of detail; `Ok(None)` if the asset does not have it.
    ///
    /// Reads nothing.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Entry::range`](super::Entry::range).
    pub fn lod_range(&self, lod: Lod) -> Result<Option<Range<u64>>> {
        let present = self.present(lod.name())?;
        Ok(present.map(|present| present.range))
    }

    /// The level of detail that a viewer shows if it wants `wanted`.
    ///
    /// `None` if the asset has no levels. Reads nothing.
    ///
    /// It is the wanted level, or else the next lower one that exists, or else the next higher one.
    #[must_use]
    pub fn best_lod(&self, wanted: Lod) -> Option<Lod> {
        let lower = Lod::ALL.into_iter().filter(|lod| *lod <= wanted);
        let higher = Lod::ALL.into_iter().rev().filter(|lod| *lod > wanted);
        lower
            .chain(higher)
            .find(|lod| matches!(self.lod_range(*lod), Ok(Some(_))))
    }

    /// An estimate of the number of triangles of a level of detail. Reads nothing.
    ///
    /// As in the viewer: 16 stored bytes each, except for the first 384. An absent level counts as the next higher one; `None` if
    /// all of the higher ones are also absent.
    #[must_use]
    pub fn triangle_estimate(&self, lod: Lod) -> Option<u64> {
        const OTHER_BYTES: u64 = 384;
        const TRIANGLE: u64 = 16;
        for other in Lod::ALL.into_iter().rev() {
            if other < lod {
                continue;
            }
            if let Ok(Some(range)) = self.lod_range(other) {
                let triangles = range.length().saturating_sub(OTHER_BYTES);
                return Some(triangles.max(TRIANGLE) / TRIANGLE);
            }
        }
        None
    }
}

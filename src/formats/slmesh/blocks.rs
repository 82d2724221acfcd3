//! The blocks of an asset, each read and decoded alone.

use std::ops::Range;

use bytes::Bytes;

use super::asset::Asset;
use super::buffer::MeshBuffer;
use super::face_layout::each_face;
use super::keys::{Lod, NAMES};
use super::layout::{BLOCK, Entry};
use super::mesh::Mesh;
use super::physics::PhysicsConvex;
use super::place::BlockPlace;
use super::rules::FILE;
use super::skin::Skin;
use crate::bytes::Source;
use crate::codec::Codec;
use crate::decode::{Block, Scratch};
use crate::limits::Budget;
use crate::report::{ErrorKind, Result};

impl Asset {
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

    /// The blocks that are there, in the order of [`entries`](Self::entries), for decoding with [`decode_all`](crate::decode_all); without
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

    /// The entry of a block that is there; `Ok(None)` where it is absent. `physics_shape` is the old name of
    /// `physics_mesh`.
    pub(crate) fn present(&self, name: &str) -> Result<Option<(&Entry, Range<u64>)>> {
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
}

pub(crate) type Content = Result<Option<(BlockPlace, Bytes)>>;

/// How a block is compressed, by its first bytes. The specification's text says gzip; every writer writes zlib.
fn codec(stored: &[u8]) -> Codec {
    if stored.starts_with(&[0x1f, 0x8b]) { Codec::Gzip } else { Codec::Zlib }
}

/// The viewer's cache reserves room for blocks before it has them.
fn is_not_downloaded(stored: &[u8]) -> bool {
    const LOOKED_AT: usize = 1024;
    !stored.is_empty() && stored.iter().take(LOOKED_AT).all(|byte| *byte == 0)
}

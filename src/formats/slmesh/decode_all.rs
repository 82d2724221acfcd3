//! All blocks of an asset at once.

use bytes::Bytes;

use super::asset::Asset;
use super::keys::{DECODED, Lod, MeshKey};
use super::mesh::Mesh;
use super::physics::PhysicsConvex;
use super::place::{BlockPlace, Content, InflatedBlock};
use super::rules::FILE;
use super::skin::Skin;
use crate::bytes::Source;
use crate::decode::{Block, decode_all};
use crate::report::{Error, Result};

/// All decoded blocks: a result for each, `Ok(None)` if the block is absent.
///
/// See [`Asset::decode_all`].
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
    /// Returns the errors of [`Asset::lod`].
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
    /// Decodes all levels of detail, physics and the skin.
    ///
    /// Works in the caller's rayon pool where that pays. Each block fails independently. The limits hold for all blocks together, as in
    /// [`decode_all`](crate::decode_all).
    ///
    /// # Errors
    ///
    /// Returns [`NeedBytes`](crate::ErrorKind::NeedBytes) if the source is [`Fragments`](crate::Fragments) that lack some.
    pub fn decode_all(&self) -> Result<Decoded> {
        let source = self.loaded_source()?;
        let located = DECODED.map(|name| self.locate_block(&source, name));
        let blocks: Vec<Block> = located.iter().flatten().flatten().cloned().collect();
        let mut contents = decode_all(&source, &blocks, self.options()).into_iter();
        let [
            high,
            medium,
            low,
            lowest,
            physics_mesh,
            physics_convex,
            skin,
        ] = located.map(|block| self.next_content(block, &mut contents));
        let meter = self.meter();
        Ok(Decoded {
            lods: [
                Mesh::of_block(MeshKey::Lod(Lod::High), high, &meter),
                Mesh::of_block(MeshKey::Lod(Lod::Medium), medium, &meter),
                Mesh::of_block(MeshKey::Lod(Lod::Low), low, &meter),
                Mesh::of_block(MeshKey::Lod(Lod::Lowest), lowest, &meter),
            ],
            physics_mesh: Mesh::of_block(MeshKey::Physics, physics_mesh, &meter),
            physics_convex: PhysicsConvex::new(physics_convex),
            skin: Skin::new(skin),
        })
    }

    fn locate_block(&self, source: &Source, name: &str) -> Result<Option<Block>> {
        let stored = self.stored_block(source, name)?;
        Ok(stored.map(|stored| stored.block))
    }

    /// The content of a block, out of the contents of all blocks that are there.
    fn next_content(
        &self,
        block: Result<Option<Block>>,
        contents: &mut impl Iterator<Item = Result<Bytes>>,
    ) -> Content {
        let Some(block) = block? else { return Ok(None) };
        let Some(content) = contents.next() else {
            return Ok(None);
        };
        Ok(Some(InflatedBlock {
            content: content.map_err(|error| FILE.locate(error))?,
            place: BlockPlace::new(block, self.source(), &self.options().limits),
        }))
    }
}

//! All blocks of an asset at once.

use super::asset::Asset;
use super::blocks::Content;
use super::keys::{Lod, NAMES};
use super::mesh::Mesh;
use super::physics::PhysicsConvex;
use super::place::BlockPlace;
use super::rules::FILE;
use super::skin::Skin;
use crate::decode::{Block, decode_all};
use crate::report::{Error, Result};

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
    /// Everything decoded: the levels of detail, physics and the skin, over the caller's rayon pool where that pays. One
    /// block that cannot be decoded spoils itself only; see also [`decode_all`].
    ///
    /// # Errors
    ///
    /// [`NeedBytes`](crate::ErrorKind::NeedBytes) where the source is one of fragments of which some have not been supplied.
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
}

//! The arrays of an asset, for [`MeshFile::arrays`](crate::MeshFile::arrays).

use std::ops::Range;
use std::sync::Arc;

use super::asset::Asset;
use super::face::Face;
use super::keys::{MeshKey, PHYSICS_CONVEX, PHYSICS_SHAPE, SKIN};
use super::mesh::Mesh;
use super::rules::FILE;
use super::weights::WeightScale;
use crate::arrays::{ArrayEntry, ArrayList, Encoding, TextList, no_array};
use crate::bytes::Array;
use crate::codec::Codec;
use crate::num::{as_u64, as_usize};
use crate::report::{Address, Result, Segment};

/// A block whose arrays are listed.
#[derive(Clone, Copy)]
enum ArrayBlock {
    Mesh(MeshKey),
    Skin,
    Convex,
}

impl ArrayBlock {
    fn name(self) -> &'static str {
        match self {
            Self::Mesh(key) => key.name(),
            Self::Skin => SKIN,
            Self::Convex => PHYSICS_CONVEX,
        }
    }
}

impl Asset {
    /// All arrays, block by block, or only the arrays of the block that a part is in. Reads and inflates each of these blocks.
    pub(crate) fn array_list(&self, part: &[Segment]) -> ArrayList {
        let meshes = MeshKey::ALL.into_iter().map(ArrayBlock::Mesh);
        let asset = self.clone();
        let wanted = part.first().cloned();
        Box::new(
            meshes
                .chain([ArrayBlock::Skin, ArrayBlock::Convex])
                .filter(move |block| {
                    wanted
                        .as_ref()
                        .is_none_or(|wanted| *wanted == Segment::Field(block.name().into()))
                })
                .flat_map(move |block| {
                    asset
                        .block_arrays(block)
                        .unwrap_or_else(crate::arrays::failed)
                }),
        )
    }

    /// The array at an address. Only its block is read.
    pub(crate) fn array_at(&self, address: &Address) -> Result<ArrayEntry> {
        let absent = || no_array(FILE, address);
        let [Segment::Field(block), fields @ ..] = address.segments() else {
            return Err(absent());
        };
        // The older name of a block refers to the same block.
        let address = match &**block {
            PHYSICS_SHAPE => address.moved(
                &Address::field(PHYSICS_SHAPE),
                &Address::field(MeshKey::Physics.name()),
            ),
            _ => address.clone(),
        };
        let found = match (MeshKey::from_name(block), fields) {
            (Some(key), [Segment::Field(faces), Segment::Index(face), _]) if faces == "faces" => {
                let mesh = self.mesh_of(key)?.ok_or_else(absent)?;
                let face = mesh.face(as_usize(*face))?;
                face_arrays(key, &face).find(|entry| entry.address == address)
            }
            (None, _) if block == SKIN => self
                .skin_arrays()?
                .into_iter()
                .find(|entry| entry.address == address),
            (None, _) if block == PHYSICS_CONVEX => self
                .convex_arrays()?
                .into_iter()
                .find(|entry| entry.address == address),
            _ => None,
        };
        found.ok_or_else(absent)
    }

    fn mesh_of(&self, key: MeshKey) -> Result<Option<Mesh>> {
        match key {
            MeshKey::Lod(lod) => self.lod(lod),
            MeshKey::Physics => self.physics_mesh(),
        }
    }

    fn block_arrays(&self, block: ArrayBlock) -> Result<ArrayList> {
        match block {
            ArrayBlock::Mesh(key) => {
                let Some(mesh) = self.mesh_of(key)? else {
                    return Ok(Box::new(std::iter::empty()));
                };
                // Faces are many: the arrays of each are listed when they are asked for.
                let faces = (0..mesh.face_count()).filter_map(move |index| mesh.face(index).ok());
                Ok(Box::new(
                    faces
                        .flat_map(move |face| face_arrays(key, &face).collect::<Vec<_>>())
                        .map(Ok),
                ))
            }
            ArrayBlock::Skin => Ok(Box::new(self.skin_arrays()?.into_iter().map(Ok))),
            ArrayBlock::Convex => Ok(Box::new(self.convex_arrays()?.into_iter().map(Ok))),
        }
    }

    /// The bytes of a block, and how they are compressed.
    fn stored(&self, name: &str) -> Result<(Range<u64>, Codec)> {
        let block = self.stored_block(self.source(), name)?;
        Ok(block.map_or((0..0, Codec::Zlib), |(block, _)| (block.range, block.codec)))
    }

    fn skin_arrays(&self) -> Result<Vec<ArrayEntry>> {
        let Some(skin) = self.skin()? else {
            return Ok(Vec::new());
        };
        let (range, codec) = self.stored(SKIN)?;
        let address = |name| Address::field(SKIN).then(name);
        let bind_shape = skin.bind_shape_matrix.map(|matrix| {
            let numbers = Array::from_vec(matrix.to_vec());
            let read = move || Ok(numbers.clone());
            ArrayEntry::new(address("bind_shape_matrix"), range.clone(), read).with_count(16)
        });
        let matrices = [
            ("inverse_bind_matrices", skin.inverse_bind_matrices),
            ("alt_inverse_bind_matrices", skin.alt_inverse_bind_matrices),
        ];
        let matrices = matrices.into_iter().filter_map(|(name, matrices)| {
            let matrices = matrices?;
            let count = matrices.len_u64();
            Some(
                ArrayEntry::new(address(name), range.clone(), move || Ok(matrices.clone()))
                    .with_count(count),
            )
        });
        let entries = bind_shape.into_iter().chain(matrices);
        Ok(entries
            .map(|entry| entry.stored_as(codec, Encoding::Fields))
            .collect())
    }

    fn convex_arrays(&self) -> Result<Vec<ArrayEntry>> {
        let Some(convex) = self.physics_convex()? else {
            return Ok(Vec::new());
        };
        let (range, codec) = self.stored(PHYSICS_CONVEX)?;
        let address = |name| Address::field(PHYSICS_CONVEX).then(name);
        let absent = no_array(FILE, &Address::field(PHYSICS_CONVEX));
        let mut entries = Vec::new();
        if let Some(sizes) = convex.hull_sizes() {
            let (count, convex) = (as_u64(sizes.len()), convex.clone());
            let read = move || {
                let sizes = convex.hull_sizes().into_iter().flatten();
                Ok(Array::from_vec(
                    sizes
                        .map(|size| u32::try_from(size).unwrap_or(u32::MAX))
                        .collect(),
                ))
            };
            let entry = ArrayEntry::new(address("hull_sizes"), range.clone(), read);
            entries.push(entry.stored_as(codec, Encoding::Fields).with_count(count));
        }
        type Read = fn(&super::PhysicsConvex) -> Result<Option<Array<[f32; 3]>>>;
        let points: [(_, _, Read); 2] = [
            (
                "hull_points",
                convex.raw_hull_points(),
                super::PhysicsConvex::hull_points,
            ),
            (
                "bounding_verts",
                convex.raw_bounding_verts(),
                super::PhysicsConvex::bounding_verts,
            ),
        ];
        for (name, stored, points) in points {
            let Some(stored) = stored else { continue };
            let (convex, absent) = (convex.clone(), absent.clone());
            let read = move || points(&convex)?.ok_or_else(|| absent.clone());
            let entry = ArrayEntry::new(address(name), range.clone(), read);
            entries.push(
                entry
                    .stored_as(codec, Encoding::Quantized)
                    .with_count(stored.len_u64()),
            );
        }
        Ok(entries)
    }

    /// The names of the joints.
    pub(crate) fn text_list(&self) -> TextList<'_> {
        match self.skin() {
            Err(error) => Box::new(std::iter::once(Err(error))),
            Ok(skin) => {
                let names = skin.and_then(|skin| skin.joint_names).into_iter().flatten();
                let address = |index| Address::field(SKIN).then("joint_names").index(index);
                Box::new(
                    (0..)
                        .zip(names)
                        .map(move |(index, name)| Ok((address(index), name))),
                )
            }
        }
    }
}

/// The arrays of a face; a face without geometry has none.
fn face_arrays(key: MeshKey, face: &Face) -> impl Iterator<Item = ArrayEntry> + use<> {
    let address = Address::field(key.name())
        .then("faces")
        .index(as_u64(face.index()));
    let (range, codec) = (face.range(), face.codec());
    let vertices = as_u64(face.vertex_count());
    let absent = Arc::new(no_array(FILE, &address));
    let quantized = |entry: ArrayEntry| {
        entry
            .stored_as(codec, Encoding::Quantized)
            .with_count(vertices)
    };
    let fields = |entry: ArrayEntry| {
        entry
            .stored_as(codec, Encoding::Fields)
            .with_count(vertices)
    };
    let mut entries = Vec::new();
    if face.has_geometry() {
        let at = |name| (address.clone().then(name), range.clone());
        let one = face.clone();
        let (address, range) = at("positions");
        entries.push(quantized(ArrayEntry::new(address, range, move || {
            one.positions()
        })));
        if face.raw_normals().is_some() {
            let (one, absent, (address, range)) =
                (face.clone(), Arc::clone(&absent), at("normals"));
            let read = move || one.normals()?.ok_or_else(|| (*absent).clone());
            entries.push(quantized(ArrayEntry::new(address, range, read)));
        }
        if face.raw_texcoords().is_some() {
            let (one, absent, (address, range)) =
                (face.clone(), Arc::clone(&absent), at("tex_coords"));
            let read = move || one.texcoords(0)?.ok_or_else(|| (*absent).clone());
            entries.push(quantized(ArrayEntry::new(address, range, read)));
        }
        let (one, (address, range)) = (face.clone(), at("indices"));
        let indices = ArrayEntry::new(address, range, move || one.indices());
        let corners = as_u64(face.triangle_count()).saturating_mul(3);
        entries.push(
            indices
                .stored_as(codec, Encoding::Plain)
                .with_count(corners),
        );
        if let Some(weights) = face.weights() {
            let (one, (address, range)) = (weights.clone(), at("joint_indices"));
            let read = move || Ok(one.arrays(WeightScale::Stored)?.joints);
            entries.push(fields(ArrayEntry::new(address, range, read)));
            let (one, (address, range)) = (weights, at("joint_weights"));
            let read = move || Ok(one.arrays(WeightScale::Stored)?.weights);
            entries.push(fields(ArrayEntry::new(address, range, read)));
        }
    }
    entries.into_iter()
}

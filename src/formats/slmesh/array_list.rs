//! The arrays of an asset, for [`MeshFile::arrays`](crate::MeshFile::arrays).

use std::ops::Range;

use super::asset::Asset;
use super::face::Face;
use super::keys::{MeshKey, PHYSICS_CONVEX, PHYSICS_SHAPE, SKIN};
use super::mesh::Mesh;
use super::physics::PhysicsConvex;
use super::rules::FILE;
use super::weights::WeightScale;
use crate::arrays::{ArrayEntry, ArrayList, Encoding, TextList, failed, no_array};
use crate::bytes::{Array, Element};
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
    /// All of them, in the order of addresses.
    fn all() -> impl Iterator<Item = Self> {
        let meshes = MeshKey::ALL.into_iter().map(Self::Mesh);
        meshes.chain([Self::Skin, Self::Convex])
    }

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
        let mut blocks = Vec::new();
        for block in ArrayBlock::all() {
            let is_wanted = match part.first() {
                Some(Segment::Field(field)) => *field == block.name(),
                Some(_) => false,
                None => true,
            };
            if is_wanted {
                blocks.push(block);
            }
        }
        let asset = self.clone();
        let arrays_of = move |block| match asset.block_arrays(block) {
            Ok(arrays) => arrays,
            Err(error) => failed(error),
        };
        Box::new(blocks.into_iter().flat_map(arrays_of))
    }

    /// The array at an address. Only its block is read.
    pub(crate) fn array_at(&self, address: &Address) -> Result<ArrayEntry> {
        let [Segment::Field(block), fields @ ..] = address.segments() else {
            return Err(no_array(FILE, address));
        };
        let entries = match (MeshKey::from_name(block), fields) {
            (Some(key), [Segment::Field(faces), Segment::Index(face), _]) if faces == "faces" => {
                let Some(mesh) = self.mesh_of(key)? else {
                    return Err(no_array(FILE, address));
                };
                let face = mesh.face(as_usize(*face))?;
                face_arrays(key, &face)
            }
            (None, _) if block == SKIN => self.skin_arrays()?,
            (None, _) if block == PHYSICS_CONVEX => self.convex_arrays()?,
            _ => return Err(no_array(FILE, address)),
        };

        // Entries have the present name of the block of physics shapes, and the address may have the older one.
        let old_name = Address::field(PHYSICS_SHAPE);
        let new_name = Address::field(MeshKey::Physics.name());
        let entry_address = address.moved(&old_name, &new_name);
        for entry in entries {
            if entry.address == entry_address {
                return Ok(entry);
            }
        }
        Err(no_array(FILE, address))
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
                let arrays = faces.flat_map(move |face| face_arrays(key, &face));
                Ok(Box::new(arrays.map(Ok)))
            }
            ArrayBlock::Skin => Ok(Box::new(self.skin_arrays()?.into_iter().map(Ok))),
            ArrayBlock::Convex => Ok(Box::new(self.convex_arrays()?.into_iter().map(Ok))),
        }
    }

    /// The bytes of a block, and their compression.
    fn block_bytes(&self, name: &str) -> Result<BlockBytes> {
        Ok(match self.stored_block(self.source(), name)? {
            Some(stored) => BlockBytes {
                range: stored.block.range,
                codec: stored.block.codec,
            },
            None => BlockBytes {
                range: 0..0,
                codec: Codec::Zlib,
            },
        })
    }

    fn skin_arrays(&self) -> Result<Vec<ArrayEntry>> {
        let Some(skin) = self.skin()? else {
            return Ok(Vec::new());
        };
        let bytes = self.block_bytes(SKIN)?;
        let mut entries = Vec::new();
        if let Some(matrix) = skin.bind_shape_matrix {
            let numbers = Array::from_vec(matrix.to_vec());
            let address = Address::field(SKIN).then("bind_shape_matrix");
            entries.push(bytes.entry(address, Encoding::Fields, 16, move || Ok(numbers.clone())));
        }
        if let Some(matrices) = skin.inverse_bind_matrices {
            let count = matrices.len_u64();
            let address = Address::field(SKIN).then("inverse_bind_matrices");
            let read = move || Ok(matrices.clone());
            entries.push(bytes.entry(address, Encoding::Fields, count, read));
        }
        if let Some(matrices) = skin.alt_inverse_bind_matrices {
            let count = matrices.len_u64();
            let address = Address::field(SKIN).then("alt_inverse_bind_matrices");
            let read = move || Ok(matrices.clone());
            entries.push(bytes.entry(address, Encoding::Fields, count, read));
        }
        Ok(entries)
    }

    fn convex_arrays(&self) -> Result<Vec<ArrayEntry>> {
        let Some(convex) = self.physics_convex()? else {
            return Ok(Vec::new());
        };
        let bytes = self.block_bytes(PHYSICS_CONVEX)?;
        let mut entries = Vec::new();
        if let Some(sizes) = convex.hull_sizes() {
            let count = as_u64(sizes.len());
            let convex = convex.clone();
            let address = Address::field(PHYSICS_CONVEX).then("hull_sizes");
            let read = move || Ok(Array::from_vec(hull_sizes(&convex)));
            entries.push(bytes.entry(address, Encoding::Fields, count, read));
        }
        if let Some(points) = convex.raw_hull_points() {
            let convex = convex.clone();
            let block = Address::field(PHYSICS_CONVEX);
            let address = block.clone().then("hull_points");
            let read = move || present(convex.hull_points()?, &block);
            entries.push(bytes.entry(address, Encoding::Quantized, points.len_u64(), read));
        }
        if let Some(points) = convex.raw_bounding_verts() {
            let block = Address::field(PHYSICS_CONVEX);
            let address = block.clone().then("bounding_verts");
            let read = move || present(convex.bounding_verts()?, &block);
            entries.push(bytes.entry(address, Encoding::Quantized, points.len_u64(), read));
        }
        Ok(entries)
    }

    /// The names of the joints.
    pub(crate) fn text_list(&self) -> TextList<'_> {
        let skin = match self.skin() {
            Ok(skin) => skin,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        let names = skin.and_then(|skin| skin.joint_names).unwrap_or_default();
        Box::new((0..).zip(names).map(|(index, name)| {
            let address = Address::field(SKIN).then("joint_names").index(index);
            Ok((address, name))
        }))
    }
}

/// The bytes of a block in the file, and their compression.
struct BlockBytes {
    range: Range<u64>,
    codec: Codec,
}

impl BlockBytes {
    /// The entry of an array of `count` elements in this block.
    fn entry<T: Element>(
        &self,
        address: Address,
        encoding: Encoding,
        count: u64,
        read: impl Fn() -> Result<Array<T>> + Send + Sync + 'static,
    ) -> ArrayEntry {
        ArrayEntry::new(address, self.range.clone(), read)
            .stored_as(self.codec, encoding)
            .with_count(count)
    }
}

fn hull_sizes(convex: &PhysicsConvex) -> Vec<u32> {
    let mut all = Vec::new();
    if let Some(sizes) = convex.hull_sizes() {
        all.reserve_exact(sizes.len());
        for size in sizes {
            all.push(u32::try_from(size).unwrap_or(u32::MAX));
        }
    }
    all
}

/// The entries of the arrays of a face, while they are listed.
struct FaceEntries {
    /// The address of the face.
    address: Address,
    bytes: BlockBytes,
    entries: Vec<ArrayEntry>,
}

impl FaceEntries {
    /// Adds an array of `count` elements.
    fn push<T: Element>(
        &mut self,
        name: &'static str,
        encoding: Encoding,
        count: usize,
        read: impl Fn() -> Result<Array<T>> + Send + Sync + 'static,
    ) {
        let address = self.address.clone().then(name);
        let entry = self.bytes.entry(address, encoding, as_u64(count), read);
        self.entries.push(entry);
    }
}

/// The arrays of a face; a face without geometry has none.
fn face_arrays(key: MeshKey, face: &Face) -> Vec<ArrayEntry> {
    if !face.has_geometry() {
        return Vec::new();
    }
    let address = Address::field(key.name())
        .then("faces")
        .index(as_u64(face.index()));
    let vertices = face.vertex_count();
    let mut arrays = FaceEntries {
        address: address.clone(),
        bytes: BlockBytes {
            range: face.range(),
            codec: face.codec(),
        },
        entries: Vec::new(),
    };

    let positions = face.clone();
    arrays.push("positions", Encoding::Quantized, vertices, move || {
        positions.positions()
    });
    if face.raw_normals().is_some() {
        let normals = face.clone();
        let address = address.clone();
        arrays.push("normals", Encoding::Quantized, vertices, move || {
            present(normals.normals()?, &address)
        });
    }
    if face.raw_texcoords().is_some() {
        let texcoords = face.clone();
        arrays.push("tex_coords", Encoding::Quantized, vertices, move || {
            present(texcoords.texcoords(0)?, &address)
        });
    }
    let indices = face.clone();
    let corners = face.triangle_count().saturating_mul(3);
    arrays.push("indices", Encoding::Plain, corners, move || {
        indices.indices()
    });
    if let Some(weights) = face.weights() {
        let joints = weights.clone();
        arrays.push("joint_indices", Encoding::Fields, vertices, move || {
            Ok(joints.arrays(WeightScale::Stored)?.joints)
        });
        arrays.push("joint_weights", Encoding::Fields, vertices, move || {
            Ok(weights.arrays(WeightScale::Stored)?.weights)
        });
    }
    arrays.entries
}

/// An array that was listed because its part at `address` stores it.
fn present<T: Element>(array: Option<Array<T>>, address: &Address) -> Result<Array<T>> {
    match array {
        Some(array) => Ok(array),
        None => Err(no_array(FILE, address)),
    }
}

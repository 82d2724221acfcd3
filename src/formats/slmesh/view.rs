//! A face as a renderer sees it.

use bytes::Bytes;

use super::asset::Asset;
use super::face::Face;
use super::face_layout::Domain;
use super::keys::{Lod, MeshKey};
use super::mesh::Mesh;
use super::rules::FILE;
use crate::bytes::{Array, Scalar};
use crate::decode::{Block, Context, Scratch, Slot, lasting};
use crate::limits::{Limits, Meter};
use crate::mesh::{
    Attribute, AttributeInfo, Bounds, Dequant, Entries, Indices, LoadAttribute, MeshCounts,
    MeshEntry, MeshView, Role, Semantic, VertexFormat,
};
use crate::num::as_u64;
use crate::report::{Address, ErrorKind, Result, Segment};

/// Three normalized integers.
const UNORM16X3: VertexFormat = VertexFormat::new(Scalar::U16, 3, true);

impl Asset {
    /// The face at an address `block.faces[i]` as a renderer sees it; see [`Face::view`].
    ///
    /// At the address of a block that cannot be decoded, its error.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the asset has no such face, the errors of reading and decoding its
    /// block, and the errors of [`Face::view`].
    pub fn mesh_view(&self, address: &Address) -> Result<MeshView> {
        self.face_at(address)?.view()
    }

    pub(crate) fn mesh_counts(&self, address: &Address) -> Result<MeshCounts> {
        Ok(self.face_at(address)?.counts())
    }

    pub(crate) fn mesh_bounds(&self, address: &Address) -> Result<Option<Bounds>> {
        let face = self.face_at(address)?;
        if face.has_geometry() {
            Ok(Bounds::around(face.positions()?.iter()))
        } else {
            Ok(None)
        }
    }

    fn face_at(&self, address: &Address) -> Result<Face> {
        let absent = || {
            let error = FILE.of(address.clone()).out_of_range("mesh");
            error
                .expected("BLOCK.faces[i] of a block and a face that are there")
                .found(address)
        };
        let (block, index) = match address.segments() {
            [Segment::Field(block)] => (block, None),
            [
                Segment::Field(block),
                Segment::Field(faces),
                Segment::Index(index),
            ] if faces == "faces" => (block, usize::try_from(*index).ok()),
            _ => return Err(absent()),
        };
        let key = MeshKey::from_name(block).ok_or_else(absent)?;
        let meter = self.meter();
        let mesh = match self.kept_mesh(key, &meter) {
            Some(mesh) => mesh?,
            None => {
                let (block, stored) = self
                    .stored_block(self.source(), key.name())?
                    .ok_or_else(absent)?;
                self.keep_mesh(key, block, stored, &meter)?
            }
        };
        index
            .and_then(|index| mesh.face(index).ok())
            .ok_or_else(absent)
    }

    /// The mesh of a block that was decoded before, if it is kept. Errors of reading are not kept, for reading may
    /// succeed later; decoding always gives the same.
    fn kept_mesh(&self, key: MeshKey, meter: &Meter) -> Option<Result<Mesh>> {
        self.slot(key)
            .get()
            .map(|mesh| charged(mesh.clone()?, key, meter))
    }

    /// Decodes the mesh of a block, and keeps it as far as all together are no larger than a call may decode.
    fn keep_mesh(&self, key: MeshKey, block: Block, stored: Bytes, meter: &Meter) -> Result<Mesh> {
        let decode = || {
            let maker = meter.part_for_file();
            let (place, content) =
                self.inflate(block, stored, Context::new(&maker, &mut Scratch::default()))?;
            Mesh::new(key, content, place, &maker)
        };
        let keep = |mesh: &Result<Mesh>| {
            mesh.as_ref()
                .map_or(true, |mesh| self.inner.kept.admits(mesh.memory()))
        };
        charged(
            self.slot(key)
                .get_or_try_make(|| lasting(decode()), keep)??,
            key,
            meter,
        )
    }

    fn slot(&self, key: MeshKey) -> &Slot<Result<Mesh>> {
        let [high, medium, low, lowest, physics] = &self.inner.meshes;
        match key {
            MeshKey::Lod(Lod::High) => high,
            MeshKey::Lod(Lod::Medium) => medium,
            MeshKey::Lod(Lod::Low) => low,
            MeshKey::Lod(Lod::Lowest) => lowest,
            MeshKey::Physics => physics,
        }
    }

    /// The faces of all meshes with a role that is wanted.
    ///
    /// Their number is stored inside the blocks, which are therefore decoded, and kept. A block that cannot be decoded,
    /// or that the limit on all of them has no room for, is listed as such: its view is its error.
    pub(crate) fn mesh_entries(&self, wanted: &dyn Fn(Role) -> bool) -> Result<Entries<'_>> {
        let mut entries = Vec::new();
        let meter = self.meter();
        for key in MeshKey::ALL.into_iter().filter(|key| wanted(key.role())) {
            let mesh = match self.kept_mesh(key, &meter) {
                Some(mesh) => mesh,
                None => match self.readable_block(key.name())? {
                    Ok(Some((block, stored))) => self.keep_mesh(key, block, stored, &meter),
                    Ok(None) => continue,
                    Err(error) => Err(error),
                },
            };
            match mesh {
                Ok(mesh) => {
                    entries.extend(mesh.faces().map(|face| {
                        MeshEntry::new(face.address(), "", face.role).with_counts(face.counts())
                    }));
                }
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(_) => entries.push(MeshEntry::new(Address::field(key.name()), "", key.role())),
            }
        }
        Ok(Box::new(entries.into_iter()))
    }
}

impl Face {
    /// The numbers of the face; all 0 if it has no geometry.
    fn counts(&self) -> MeshCounts {
        let [vertices, triangles] = [self.vertex_count(), self.triangle_count()].map(as_u64);
        MeshCounts {
            vertices,
            triangles,
            has_positions: self.has_geometry(),
        }
    }

    /// The face as a renderer sees it.
    ///
    /// Positions, normals and texture coordinates are the stored integers, with their
    /// [dequantization](Attribute::dequant). Joints and weights are four each, 0 for unused influences; weights are as stored.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for an index that is not less than the number of vertices.
    pub fn view(&self) -> Result<MeshView> {
        let indices = Indices::narrow(self.indices()?);
        let (infos, parts) = attributes(self).into_iter().unzip();
        let arrays = FaceArrays {
            face: self.clone(),
            parts,
        };
        let view = MeshView::new(
            FILE,
            self.address(),
            self.role,
            self.vertex_count(),
            indices,
            infos,
            arrays,
        );
        Ok(view.with_material_id(u32::try_from(self.index()).unwrap_or(u32::MAX)))
    }
}

/// The origin of an attribute.
#[derive(Clone, Copy)]
enum Origin {
    Positions,
    Normals,
    TexCoords,
    Joints,
    Weights,
}

/// The arrays of a face.
struct FaceArrays {
    face: Face,
    /// The origin of each attribute of the view.
    parts: Vec<Origin>,
}

fn attributes(face: &Face) -> Vec<(AttributeInfo, Origin)> {
    let layout = face.layout();
    let (normals, texcoords, weights) = (
        layout.normals.is_some(),
        layout.texcoords.is_some(),
        layout.weights.is_some(),
    );
    let all = [
        (
            Semantic::Position,
            UNORM16X3,
            Origin::Positions,
            layout.has_geometry(),
        ),
        (Semantic::Normal, UNORM16X3, Origin::Normals, normals),
        (
            Semantic::TexCoord(0),
            VertexFormat::UNORM16X2,
            Origin::TexCoords,
            texcoords,
        ),
        (
            Semantic::Joints(0),
            VertexFormat::UINT8X4,
            Origin::Joints,
            weights,
        ),
        (
            Semantic::Weights(0),
            VertexFormat::UNORM16X4,
            Origin::Weights,
            weights,
        ),
    ];
    let there = all.into_iter().filter(|(.., is_there)| *is_there);
    there
        .map(|(semantic, format, part, _)| (AttributeInfo { semantic, format }, part))
        .collect()
}

/// Charges a mesh that may be kept, whoever has made it.
fn charged(mesh: Mesh, key: MeshKey, meter: &Meter) -> Result<Mesh> {
    meter.count_read(&mesh.range());
    let taken = meter.take_kept(mesh.memory(), key.name());
    taken
        .map(|()| mesh.clone())
        .map_err(|error| FILE.at(mesh.range()).locate(error))
}

impl LoadAttribute for FaceArrays {
    fn limits(&self) -> Limits {
        self.face.place.limits
    }

    fn load(&self, index: usize, info: &AttributeInfo, meter: &Meter) -> Result<Attribute> {
        let Self { face, parts } = self;
        let absent = || {
            FILE.of(face.address())
                .out_of_range("attribute")
                .found(&info.semantic)
        };
        let weights = || face.weights().ok_or_else(absent);
        let (bytes, dequant) = match parts.get(index).ok_or_else(absent)? {
            Origin::Positions => (
                face.raw_positions().into_bytes(),
                Some(dequant(face.position_domain())),
            ),
            Origin::Normals => {
                let normals = face.raw_normals().map(Array::into_bytes);
                (
                    normals.ok_or_else(absent)?,
                    Some(dequant(Domain::<3>::NORMAL)),
                )
            }
            Origin::TexCoords => {
                let texcoords = face.raw_texcoords().map(Array::into_bytes);
                (
                    texcoords.ok_or_else(absent)?,
                    Some(dequant(face.texcoord_domain())),
                )
            }
            Origin::Joints => (weights()?.raw_joints(meter)?.into_bytes(), None),
            Origin::Weights => (weights()?.raw_weights(meter)?.into_bytes(), None),
        };
        let attribute = Attribute::new(info.semantic.clone(), info.format, bytes);
        Ok(match dequant {
            Some(dequant) => attribute.with_dequant(dequant),
            None => attribute,
        })
    }
}

fn dequant<const N: usize>(domain: Domain<N>) -> Dequant {
    Dequant::of_domain(domain.min, domain.max)
}

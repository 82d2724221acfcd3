//! A face as a renderer sees it.

use bytes::Bytes;

use super::asset::Asset;
use super::blocks::StoredBlock;
use super::face::Face;
use super::face_layout::Domain;
use super::keys::{Lod, MeshKey};
use super::mesh::Mesh;
use super::physics::Hull;
use super::rules::FILE;
use crate::bytes::{Array, Scalar, Text};
use crate::decode::{Context, Scratch, Slot, lasting};
use crate::limits::{Limits, Meter};
use crate::mesh::{
    Attribute, AttributeInfo, Bounds, Dequant, Entries, Indices, LoadAttribute, Loaded, MeshCounts,
    MeshEntry, MeshView, Role, Semantic, VertexFormat, scan,
};
use crate::num::{as_u64, as_usize, less_than};
use crate::report::{Address, Error, ErrorKind, Result, Segment};

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
        let Some((key, index)) = face_in(address) else {
            return Err(no_face(address));
        };
        let meter = self.meter();
        let mesh = match self.kept_mesh(key, &meter) {
            Some(mesh) => mesh?,
            None => match self.stored_block(self.source(), key.name())? {
                Some(stored) => self.keep_mesh(key, stored, &meter)?,
                None => return Err(no_face(address)),
            },
        };
        match index {
            Some(index) if index < mesh.face_count() => mesh.face(index),
            _ => Err(no_face(address)),
        }
    }

    /// The mesh of a block that was decoded before, if it is kept. Errors of reading are not kept, for reading may
    /// succeed later; decoding always gives the same.
    fn kept_mesh(&self, key: MeshKey, meter: &Meter) -> Option<Result<Mesh>> {
        match self.slot(key).get()? {
            Ok(mesh) => Some(charged(mesh.clone(), key, meter)),
            Err(error) => Some(Err(error.clone())),
        }
    }

    /// Decodes the mesh of a block, and keeps it as far as all together are no larger than a call may decode.
    fn keep_mesh(&self, key: MeshKey, stored: StoredBlock, meter: &Meter) -> Result<Mesh> {
        let decode = || {
            let maker = meter.part_for_file();
            let block = self.inflate(stored, Context::new(&maker, &mut Scratch::default()))?;
            Mesh::new(key, block, &maker)
        };
        let keep = |mesh: &Result<Mesh>| match mesh {
            Ok(mesh) => self.inner.kept.admits(mesh.memory()),
            Err(_) => true,
        };
        let mesh = self
            .slot(key)
            .get_or_try_make(|| lasting(decode()), keep)??;
        charged(mesh, key, meter)
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
    /// or that exceeds the limit on all of them, is listed as such: its view is its error.
    pub(crate) fn mesh_entries(&self, wanted: &dyn Fn(Role) -> bool) -> Result<Entries<'_>> {
        let mut entries = Vec::new();
        let meter = self.meter();
        for key in MeshKey::ALL {
            if !wanted(key.role()) {
                continue;
            }
            let mesh = match self.kept_mesh(key, &meter) {
                Some(mesh) => mesh,
                None => match self.readable_block(key.name())? {
                    Ok(Some(stored)) => self.keep_mesh(key, stored, &meter),
                    Ok(None) => continue,
                    Err(error) => Err(error),
                },
            };
            match mesh {
                Ok(mesh) => {
                    entries.reserve(mesh.face_count());
                    for face in mesh.faces() {
                        let entry = MeshEntry::new(face.address(), Text::default(), face.role);
                        entries.push(entry.with_counts(face.counts()));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(_) => entries.push(MeshEntry::new(
                    Address::field(key.name()),
                    Text::default(),
                    key.role(),
                )),
            }
        }
        Ok(Box::new(entries.into_iter()))
    }
}

impl Face {
    /// The numbers of the face; all 0 if it has no geometry.
    fn counts(&self) -> MeshCounts {
        MeshCounts {
            vertices: as_u64(self.vertex_count()),
            triangles: as_u64(self.triangle_count()),
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
        let FaceAttributes { infos, origins } = FaceAttributes::of(self);
        let arrays = FaceArrays {
            face: self.clone(),
            origins,
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

impl Hull {
    /// The points of the hull as a renderer sees them, with triangles of which each corner is the index of a point.
    ///
    /// The file stores no triangles of hulls. `meshmap-scene` computes the faces of the convex hull.
    ///
    /// Positions are the stored integers, with their [dequantization](Attribute::dequant).
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) for a corner that is not less than the number of points.
    pub fn view(&self, triangles: Vec<[u32; 3]>) -> Result<MeshView> {
        let points = self.raw_points();
        let corners = Array::from_vec(triangles).flatten();
        if let Some(wrong) = scan::out_of_range(corners.iter(), points.len()) {
            let error = FILE.of(self.address()).out_of_range("corner");
            let error = error.expected(less_than(points.len()));
            return Err(match corners.iter().nth(as_usize(wrong.first)) {
                Some(corner) => error.found(corner),
                None => error,
            });
        }
        let bytes = points.clone().into_bytes();
        let positions = Attribute::new(Semantic::Position, UNORM16X3, bytes);
        let positions = positions.with_dequant(dequant(self.domain()));
        let loaded = Loaded {
            limits: self.place.limits,
            attributes: vec![Ok(positions.clone())],
        };
        Ok(MeshView::new(
            FILE,
            self.address(),
            Role::Physics,
            points.len(),
            Indices::new(corners, 0),
            vec![positions.info()],
            loaded,
        ))
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
    origins: Vec<Origin>,
}

/// The attributes of a face, and the origin of each.
#[derive(Default)]
struct FaceAttributes {
    infos: Vec<AttributeInfo>,
    origins: Vec<Origin>,
}

impl FaceAttributes {
    fn of(face: &Face) -> Self {
        let layout = face.layout();
        let mut all = Self::default();
        if layout.has_geometry() {
            all.add(Semantic::Position, UNORM16X3, Origin::Positions);
        }
        if layout.normals.is_some() {
            all.add(Semantic::Normal, UNORM16X3, Origin::Normals);
        }
        if layout.texcoords.is_some() {
            all.add(
                Semantic::TexCoord(0),
                VertexFormat::UNORM16X2,
                Origin::TexCoords,
            );
        }
        if layout.weights.is_some() {
            all.add(Semantic::Joints(0), VertexFormat::UINT8X4, Origin::Joints);
            all.add(
                Semantic::Weights(0),
                VertexFormat::UNORM16X4,
                Origin::Weights,
            );
        }
        all
    }

    fn add(&mut self, semantic: Semantic, format: VertexFormat, origin: Origin) {
        self.infos.push(AttributeInfo { semantic, format });
        self.origins.push(origin);
    }
}

/// The block of an address `block` or `block.faces[i]`, and the index of the face; `None` for other
/// addresses.
fn face_in(address: &Address) -> Option<(MeshKey, Option<usize>)> {
    match address.segments() {
        [Segment::Field(block)] => Some((MeshKey::from_name(block)?, None)),
        [
            Segment::Field(block),
            Segment::Field(faces),
            Segment::Index(index),
        ] if faces == "faces" => {
            let index = usize::try_from(*index).ok();
            Some((MeshKey::from_name(block)?, index))
        }
        _ => None,
    }
}

/// The error of an address that names no face of the asset.
fn no_face(address: &Address) -> Error {
    let error = FILE.of(address.clone()).out_of_range("mesh");
    error
        .expected("BLOCK.faces[i] of a block and a face that are there")
        .found(address)
}

/// Charges a mesh that may be kept, whichever call has made it.
fn charged(mesh: Mesh, key: MeshKey, meter: &Meter) -> Result<Mesh> {
    meter.count_read(&mesh.range());
    match meter.take_kept(mesh.memory(), key.name()) {
        Ok(()) => Ok(mesh),
        Err(error) => Err(FILE.at(mesh.range()).locate(error)),
    }
}

impl FaceArrays {
    /// The stored bytes of an attribute, converted only for joints and weights; `Ok(None)` if the
    /// face does not have it.
    fn bytes(&self, origin: Origin, meter: &Meter) -> Result<Option<Bytes>> {
        let face = &self.face;
        Ok(match origin {
            Origin::Positions => Some(face.raw_positions().into_bytes()),
            Origin::Normals => face.raw_normals().map(Array::into_bytes),
            Origin::TexCoords => face.raw_texcoords().map(Array::into_bytes),
            Origin::Joints => match face.weights() {
                Some(weights) => Some(weights.raw_joints(meter)?.into_bytes()),
                None => None,
            },
            Origin::Weights => match face.weights() {
                Some(weights) => Some(weights.raw_weights(meter)?.into_bytes()),
                None => None,
            },
        })
    }
}

impl LoadAttribute for FaceArrays {
    fn limits(&self) -> Limits {
        self.face.place.limits
    }

    fn load(&self, index: usize, info: &AttributeInfo, meter: &Meter) -> Result<Attribute> {
        let absent = || {
            let place = FILE.of(self.face.address());
            place.out_of_range("attribute").found(&info.semantic)
        };
        let origin = *self.origins.get(index).ok_or_else(absent)?;
        let bytes = self.bytes(origin, meter)?.ok_or_else(absent)?;
        let attribute = Attribute::new(info.semantic.clone(), info.format, bytes);
        Ok(match origin {
            Origin::Positions => attribute.with_dequant(dequant(self.face.position_domain())),
            Origin::Normals => attribute.with_dequant(dequant(Domain::<3>::NORMAL)),
            Origin::TexCoords => attribute.with_dequant(dequant(self.face.texcoord_domain())),
            Origin::Joints | Origin::Weights => attribute,
        })
    }
}

fn dequant<const N: usize>(domain: Domain<N>) -> Dequant {
    Dequant::of_domain(domain.min, domain.max)
}

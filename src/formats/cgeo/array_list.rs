//! The arrays of all snapshots, for [`MeshFile::arrays`](crate::MeshFile::arrays).

use std::collections::HashMap;
use std::sync::Arc;

use super::layout::snapshot_address;
use super::mesh::Mesh;
use super::parts::{MeshArray, Parts};
use super::proxy::Proxy;
use super::raw;
use super::rules::FILE;
use super::snapshot::Snapshot;
use super::triangles::Triangles;
use crate::arrays::{ArrayEntry, ArrayList, Encoding, TextList, no_array};
use crate::bytes::{Array, Element, Out, Scalar};
use crate::decode::Scratch;
use crate::num::{as_u64, as_usize};
use crate::report::{Address, Result, Segment};

/// An array of a snapshot.
#[derive(Clone, Copy)]
enum Which {
    BoundingBox,
    PointCloud,
    Positions,
    Normals,
    MapChannel(usize),
    TrianglePositions,
    TriangleNormals,
    TriangleMapChannel(usize),
    MaterialIds,
    EdgeVisibility,
}

impl Which {
    fn address(self, snapshot: usize) -> Address {
        let snapshot = snapshot_address(snapshot);
        match self {
            Self::BoundingBox => snapshot.then("bounding_box"),
            Self::PointCloud => snapshot.then("point_cloud"),
            Self::Positions => snapshot.then("positions"),
            Self::Normals => snapshot.then("normals"),
            Self::MapChannel(channel) => snapshot.then("map_channels").index(as_u64(channel)),
            Self::TrianglePositions => snapshot.then("triangles").then("positions"),
            Self::TriangleNormals => snapshot.then("triangles").then("normals"),
            Self::TriangleMapChannel(channel) => snapshot
                .then("triangles")
                .then("map_channels")
                .index(as_u64(channel)),
            Self::MaterialIds => snapshot.then("triangles").then("material_ids"),
            Self::EdgeVisibility => snapshot.then("triangles").then("edge_visibility"),
        }
    }

    /// The snapshot and the array of an address. Addresses are compared, so that their fields are named in one place.
    fn of_address(address: &Address) -> Option<(usize, Self)> {
        let [Segment::Field(field), Segment::Index(snapshot), fields @ ..] = address.segments()
        else {
            return None;
        };
        if field != "snapshots" {
            return None;
        }
        let snapshot = usize::try_from(*snapshot).ok()?;
        let mut candidates = vec![
            Self::BoundingBox,
            Self::PointCloud,
            Self::Positions,
            Self::Normals,
            Self::TrianglePositions,
            Self::TriangleNormals,
            Self::MaterialIds,
            Self::EdgeVisibility,
        ];
        if let Some(Segment::Index(channel)) = fields.last()
            && let Ok(channel) = usize::try_from(*channel)
        {
            candidates.push(Self::MapChannel(channel));
            candidates.push(Self::TriangleMapChannel(channel));
        }
        let which = candidates
            .into_iter()
            .find(|which| which.address(snapshot) == *address)?;
        Some((snapshot, which))
    }

    /// Returns `true` for arrays of the triangles.
    fn is_of_triangles(self) -> bool {
        match self {
            Self::BoundingBox
            | Self::PointCloud
            | Self::Positions
            | Self::Normals
            | Self::MapChannel(_) => false,
            Self::TrianglePositions
            | Self::TriangleNormals
            | Self::TriangleMapChannel(_)
            | Self::MaterialIds
            | Self::EdgeVisibility => true,
        }
    }
}

/// The decoded values of a snapshot, if all are decoded together.
#[derive(Clone, Default)]
struct Values {
    mesh: Option<Mesh>,
    triangles: Option<Triangles>,
}

/// A snapshot whose arrays are listed.
struct Listed {
    snapshot: Snapshot,
    is_complete: bool,
    /// The section of the mesh.
    mesh: std::ops::Range<u64>,
    /// The type of the material IDs.
    material: Scalar,
    values: Values,
}

impl Proxy {
    /// All arrays, snapshot by snapshot, or only the arrays of the snapshot that a part is in. With `together`, each mesh is decoded
    /// when it is listed, and its entries hold it.
    pub(crate) fn array_list(&self, together: bool, part: &[Segment]) -> ArrayList {
        let count = self.snapshot_count();
        let indices = match part {
            [Segment::Field(field), Segment::Index(index), ..] if field == "snapshots" => {
                let index = as_usize(*index).min(count);
                index..index.saturating_add(1).min(count)
            }
            _ => 0..count,
        };
        let proxy = self.clone();
        let repeated = self.layout().repeated();
        // Entries of the offset table that name the same snapshot are listed by decoding it once.
        let mut known: HashMap<u64, (usize, Vec<Result<ArrayEntry>>)> = HashMap::new();
        Box::new(indices.flat_map(move |index| {
            let start = match proxy.snapshot(index) {
                Ok(snapshot) => snapshot.stored.extent.start,
                Err(error) => return vec![Err(error)],
            };
            if !repeated.contains(&start) {
                return proxy.list_snapshot(index, together);
            }
            if let Some((first, entries)) = known.get(&start) {
                return entries
                    .iter()
                    .map(|entry| repeat(entry, *first, index))
                    .collect();
            }
            let entries = proxy.list_snapshot(index, false);
            known.insert(start, (index, entries.clone()));
            entries
        }))
    }

    /// The array at an address, whether it exists or not: reading it fails if it does not.
    pub(crate) fn array_at(&self, address: &Address) -> Result<ArrayEntry> {
        let (index, which) = Which::of_address(address).ok_or_else(|| no_array(FILE, address))?;
        let snapshot = self.snapshot(index)?;
        let triangles = if which.is_of_triangles() {
            Some(snapshot.triangles()?)
        } else {
            None
        };
        let material = triangles.as_ref().and_then(Triangles::material_scalar);
        let listed = Listed {
            mesh: snapshot.range(),
            snapshot,
            is_complete: true,
            material: material.unwrap_or(Scalar::U16),
            values: Values {
                mesh: None,
                triangles,
            },
        };
        Ok(listed.entry(which))
    }

    /// Decodes the positions, normals or a map channel of a snapshot into `out`; `None` for other addresses.
    pub(crate) fn array_into(
        &self,
        address: &Address,
        out: Out<'_, [f32; 3]>,
        scratch: &mut Scratch,
    ) -> Option<Result<()>> {
        let (index, which) = Which::of_address(address)?;
        let part = match which {
            Which::Positions => MeshArray::Positions,
            Which::Normals => MeshArray::Normals,
            Which::MapChannel(channel) => MeshArray::MapChannel(channel),
            _ => return None,
        };
        let snapshot = match self.snapshot(index) {
            Ok(snapshot) => snapshot,
            Err(error) => return Some(Err(error)),
        };
        Some(snapshot.part_into(part, out, scratch))
    }

    fn list_snapshot(&self, index: usize, together: bool) -> Vec<Result<ArrayEntry>> {
        let mut list = Vec::new();
        if let Err(error) = self.list_snapshot_into(index, together, &mut list) {
            list.push(Err(error));
        }
        list
    }

    fn list_snapshot_into(
        &self,
        index: usize,
        together: bool,
        list: &mut Vec<Result<ArrayEntry>>,
    ) -> Result<()> {
        let snapshot = self.snapshot(index)?;
        let sections = snapshot.sections()?;
        let content_of = |tag| {
            let section = sections.iter().find(|section| section.tag == tag);
            section.map(|section| section.content.clone())
        };
        let mut listed = Listed {
            snapshot,
            is_complete: true,
            mesh: content_of(raw::TAG_MESH_DATA).unwrap_or(0..0),
            material: Scalar::U16,
            values: Values::default(),
        };
        if let Some(range) = content_of(raw::TAG_BOUNDING_BOX) {
            let mut entry = listed.entry(Which::BoundingBox).with_count(2);
            entry.range = range;
            list.push(Ok(entry));
        }
        if let Some(range) = content_of(raw::TAG_POINTCLOUD) {
            let mut entry = listed.entry(Which::PointCloud);
            entry.range = range;
            list.push(Ok(entry));
        }
        let mut scratch = Scratch::default();
        let counts = listed.snapshot.counts(&mut scratch)?;
        listed.is_complete = listed.snapshot.is_complete(&mut scratch)?;
        // The mesh whose arrays have the shapes that are listed. The base is decoded once for all differences.
        let has_own_shapes = listed.is_complete && index > 0;
        let shapes = if together || has_own_shapes {
            listed.snapshot.mesh(Parts::ALL).map(Arc::new)
        } else {
            self.base()
        };
        let shapes = match shapes {
            Ok(shapes) => shapes,
            Err(error) => {
                // Arrays before the damage may still be read.
                let positions = listed.entry(Which::Positions);
                list.push(Ok(positions.with_count(u64::from(counts.vertices))));
                let normals = listed.entry(Which::Normals);
                list.push(Ok(normals.with_count(u64::from(counts.normals))));
                return Err(error);
            }
        };
        if together {
            listed.values = Values {
                mesh: Some((*shapes).clone()),
                triangles: Some(shapes.triangles.clone()),
            };
        }
        let mut add = |which, count: u64| list.push(Ok(listed.entry(which).with_count(count)));
        add(Which::Positions, shapes.positions.len_u64());
        add(Which::Normals, shapes.normals.len_u64());
        for (channel, coordinates) in shapes.texcoords.iter().enumerate() {
            add(Which::MapChannel(channel), coordinates.len_u64());
        }
        listed.add_triangles(&shapes.triangles, list);
        Ok(())
    }

    /// The texts of the header.
    pub(crate) fn text_list(&self) -> TextList<'_> {
        let mut texts = Vec::new();
        if let Some(name) = self.object_name() {
            texts.push(Ok((Address::field("object_name"), name)));
        }
        if let Some(name) = self.material_name() {
            texts.push(Ok((Address::field("material_name"), name)));
        }
        Box::new(texts.into_iter())
    }
}

impl Listed {
    /// Adds the arrays of the triangles to a list. A difference has the same triangles as the first snapshot.
    fn add_triangles(&mut self, triangles: &Triangles, list: &mut Vec<Result<ArrayEntry>>) {
        self.material = triangles.material_scalar().unwrap_or(Scalar::U16);
        let mut arrays = vec![Which::TrianglePositions];
        if triangles.has_normals() {
            arrays.push(Which::TriangleNormals);
        }
        for channel in 0..triangles.texcoord_sets() {
            arrays.push(Which::TriangleMapChannel(channel));
        }
        if triangles.material_scalar().is_some() {
            arrays.push(Which::MaterialIds);
        }
        if triangles.has_edge_visibility() {
            arrays.push(Which::EdgeVisibility);
        }
        for which in arrays {
            let mut entry = self.entry(which).with_count(as_u64(triangles.len()));
            if !self.is_complete {
                entry.same_as = Some(which.address(0));
            }
            list.push(Ok(entry));
        }
    }

    /// The entry of an array.
    fn entry(&self, which: Which) -> ArrayEntry {
        let address = which.address(self.snapshot.index());
        match which {
            Which::BoundingBox => {
                let absent = no_array(FILE, &address);
                let snapshot = self.snapshot.clone();
                self.entry_at(address, Encoding::Fields, move || {
                    match snapshot.bounding_box(&mut Scratch::default())? {
                        Some(bounds) => Ok(Array::from_vec(vec![bounds.min, bounds.max])),
                        None => Err(absent.clone()),
                    }
                })
            }
            Which::PointCloud => {
                let absent = no_array(FILE, &address);
                let snapshot = self.snapshot.clone();
                self.entry_at(address, Encoding::Fields, move || {
                    snapshot.point_cloud()?.ok_or_else(|| absent.clone())
                })
            }
            Which::Positions => self.vertices(address, MeshArray::Positions),
            Which::Normals => self.vertices(address, MeshArray::Normals),
            Which::MapChannel(channel) => self.vertices(address, MeshArray::MapChannel(channel)),
            Which::TrianglePositions => self.of_triangles(address, |triangles| {
                Some(Array::from_vec(triangles.positions()))
            }),
            Which::TriangleNormals => self.of_triangles(address, |triangles| {
                triangles.normals().map(Array::from_vec)
            }),
            Which::TriangleMapChannel(channel) => self.of_triangles(address, move |triangles| {
                triangles.texcoords(channel).map(Array::from_vec)
            }),
            Which::MaterialIds if self.material == Scalar::U32 => {
                self.of_triangles(address, |triangles| {
                    let ids = triangles.material_ids()?;
                    Some(Array::from_vec(ids.collect::<Vec<u32>>()))
                })
            }
            Which::MaterialIds => self.of_triangles(address, |triangles| {
                let ids = triangles.material_ids()?;
                let narrow = ids.map(|id| u16::try_from(id).unwrap_or(u16::MAX));
                Some(Array::from_vec(narrow.collect::<Vec<u16>>()))
            }),
            Which::EdgeVisibility => self.of_triangles(address, |triangles| {
                let edges = triangles.edge_visibility()?;
                Some(Array::from_vec(edges.collect::<Vec<u8>>()))
            }),
        }
    }

    /// The entry of an array in the bytes of the mesh.
    fn entry_at<T: Element>(
        &self,
        address: Address,
        encoding: Encoding,
        read: impl Fn() -> Result<Array<T>> + Send + Sync + 'static,
    ) -> ArrayEntry {
        let codec = self.snapshot.stored.file.dialect.codec;
        ArrayEntry::new(address, self.mesh.clone(), read).stored_as(codec, encoding)
    }

    /// The entry of positions, normals or a map channel.
    fn vertices(&self, address: Address, part: MeshArray) -> ArrayEntry {
        let encoding = if self.is_complete {
            Encoding::Plain
        } else {
            Encoding::Difference
        };
        let decoded = match (&self.values.mesh, part) {
            (Some(mesh), MeshArray::Positions) => Some(mesh.positions.clone()),
            (Some(mesh), MeshArray::Normals) => Some(mesh.normals.clone()),
            (Some(mesh), MeshArray::MapChannel(channel)) => mesh.texcoords.get(channel).cloned(),
            (Some(_), MeshArray::Triangles) | (None, _) => None,
        };
        let snapshot = self.snapshot.clone();
        self.entry_at(address, encoding, move || match &decoded {
            Some(array) => Ok(array.clone()),
            None => snapshot.array(part),
        })
    }

    /// The entry of an array of the triangles, whose reading fails if they do not have it.
    fn of_triangles<T: Element>(
        &self,
        address: Address,
        pick: impl Fn(&Triangles) -> Option<Array<T>> + Send + Sync + 'static,
    ) -> ArrayEntry {
        let absent = no_array(FILE, &address);
        let snapshot = self.snapshot.clone();
        let decoded = self.values.triangles.clone();
        self.entry_at(address, Encoding::Fields, move || {
            let triangles = match &decoded {
                Some(triangles) => triangles.clone(),
                None => snapshot.triangles()?,
            };
            pick(&triangles).ok_or_else(|| absent.clone())
        })
    }
}

/// The entry of snapshot `index`, which is stored in the same bytes as snapshot `first`.
fn repeat(entry: &Result<ArrayEntry>, first: usize, index: usize) -> Result<ArrayEntry> {
    let moved =
        |address: &Address| address.moved(&snapshot_address(first), &snapshot_address(index));
    match entry {
        Ok(entry) => {
            let mut repeated = entry.clone();
            repeated.address = moved(&entry.address);
            if repeated.same_as.is_none() {
                repeated.same_as = Some(entry.address.clone());
            }
            Ok(repeated)
        }
        Err(error) => Err(match error.address() {
            Some(address) => error.clone().of(moved(address)),
            None => error.clone(),
        }),
    }
}

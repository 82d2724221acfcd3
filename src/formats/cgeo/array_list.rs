//! The arrays of all snapshots, for [`MeshFile::arrays`](crate::MeshFile::arrays).

use std::collections::HashMap;
use std::sync::Arc;

use super::layout::snapshot_address;
use super::mesh::Mesh;
use super::parts::{MeshArray, Parts};
use super::proxy::Proxy;
use super::raw;
use super::rules::FILE;
use super::sections::Section;
use super::snapshot::Snapshot;
use super::triangles::Triangles;
use crate::arrays::{ArrayEntry, ArrayList, Encoding, TextList, no_array};
use crate::bytes::{Array, Out, Scalar};
use crate::decode::Scratch;
use crate::num::{as_u64, as_usize};
use crate::report::{Address, Error, Result, Segment};

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

    fn of_address(address: &Address) -> Option<(usize, Self)> {
        let [
            Segment::Field(snapshots),
            Segment::Index(snapshot),
            fields @ ..,
        ] = address.segments()
        else {
            return None;
        };
        let all = [
            Self::BoundingBox,
            Self::PointCloud,
            Self::Positions,
            Self::Normals,
            Self::TrianglePositions,
            Self::TriangleNormals,
            Self::MaterialIds,
            Self::EdgeVisibility,
        ];
        let channel = match fields.last() {
            Some(Segment::Index(channel)) => usize::try_from(*channel).ok(),
            _ => None,
        };
        let channels =
            channel.map(|channel| [Self::MapChannel(channel), Self::TriangleMapChannel(channel)]);
        let snapshot = usize::try_from(*snapshot)
            .ok()
            .filter(|_| snapshots == "snapshots")?;
        let mut all = all.into_iter().chain(channels.into_iter().flatten());
        Some((
            snapshot,
            all.find(|which| which.address(snapshot) == *address)?,
        ))
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
        let (proxy, repeated) = (self.clone(), self.layout().repeated());
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
        let of_triangles = !matches!(
            which,
            Which::BoundingBox
                | Which::PointCloud
                | Which::Positions
                | Which::Normals
                | Which::MapChannel(_)
        );
        let triangles = of_triangles.then(|| snapshot.triangles()).transpose()?;
        let material = triangles
            .as_ref()
            .and_then(Triangles::material_scalar)
            .unwrap_or(Scalar::U16);
        let mesh = snapshot.range();
        let values = Values {
            mesh: None,
            triangles,
        };
        Ok(Listed {
            snapshot,
            is_complete: true,
            mesh,
            material,
            values,
        }
        .entry(which))
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
        Some(
            self.snapshot(index)
                .and_then(|snapshot| snapshot.part_into(part, out, scratch)),
        )
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
        let section = |tag| {
            sections
                .iter()
                .find(|section: &&Section| section.tag == tag)
        };
        let mesh = section(raw::TAG_MESH_DATA).map_or(0..0, |section| section.content.clone());
        let (material, values) = (Scalar::U16, Values::default());
        let mut listed = Listed {
            snapshot,
            is_complete: true,
            mesh,
            material,
            values,
        };
        if let Some(section) = section(raw::TAG_BOUNDING_BOX) {
            let entry = listed.entry(Which::BoundingBox).with_count(2);
            list.push(Ok(ArrayEntry {
                range: section.content.clone(),
                ..entry
            }));
        }
        if let Some(section) = section(raw::TAG_POINTCLOUD) {
            let range = section.content.clone();
            list.push(Ok(ArrayEntry {
                range,
                ..listed.entry(Which::PointCloud)
            }));
        }
        let mut scratch = Scratch::default();
        let counts = listed.snapshot.counts(&mut scratch)?;
        listed.is_complete = listed.snapshot.is_complete(&mut scratch)?;
        let shapes = match (together, listed.is_complete && index > 0) {
            (true, _) | (false, true) => listed.snapshot.mesh(Parts::ALL).map(Arc::new),
            // Decoded once for all differences, whose arrays have the same shapes.
            (false, false) => self.base(),
        };
        let shapes = match shapes {
            Ok(shapes) => shapes,
            Err(error) => {
                // Arrays before the damage may still be read.
                list.push(Ok(listed
                    .entry(Which::Positions)
                    .with_count(u64::from(counts.vertices))));
                list.push(Ok(listed
                    .entry(Which::Normals)
                    .with_count(u64::from(counts.normals))));
                return Err(error);
            }
        };
        if together {
            let triangles = Some(shapes.triangles.clone());
            listed.values = Values {
                mesh: Some((*shapes).clone()),
                triangles,
            };
        }
        let mut add = |which, count: u64| list.push(Ok(listed.entry(which).with_count(count)));
        add(Which::Positions, shapes.positions.len_u64());
        add(Which::Normals, shapes.normals.len_u64());
        for (channel, coordinates) in shapes.texcoords.iter().enumerate() {
            add(Which::MapChannel(channel), coordinates.len_u64());
        }
        let triangles = &shapes.triangles;
        let count = as_u64(triangles.len());
        listed.material = triangles.material_scalar().unwrap_or(Scalar::U16);
        let mut add = |which: Which| {
            let entry = listed.entry(which).with_count(count);
            let same_as = (!listed.is_complete).then(|| which.address(0));
            list.push(Ok(ArrayEntry { same_as, ..entry }));
        };
        add(Which::TrianglePositions);
        if triangles.has_normals() {
            add(Which::TriangleNormals);
        }
        (0..triangles.texcoord_sets()).for_each(|channel| add(Which::TriangleMapChannel(channel)));
        if triangles.material_scalar().is_some() {
            add(Which::MaterialIds);
        }
        if triangles.has_edge_visibility() {
            add(Which::EdgeVisibility);
        }
        Ok(())
    }

    /// The texts of the header.
    pub(crate) fn text_list(&self) -> TextList<'_> {
        let names = [
            ("object_name", self.object_name()),
            ("material_name", self.material_name()),
        ];
        let texts = names
            .into_iter()
            .filter_map(|(name, text)| Some((Address::field(name), text?)));
        Box::new(texts.map(Ok))
    }
}

impl Listed {
    fn entry(&self, which: Which) -> ArrayEntry {
        let (address, range) = (which.address(self.snapshot.index()), self.mesh.clone());
        let absent = no_array(FILE, &address);
        let snapshot = self.snapshot.clone();
        let codec = snapshot.stored.file.dialect.codec;
        let stored = if self.is_complete {
            Encoding::Plain
        } else {
            Encoding::Difference
        };
        let vertices = |part: MeshArray,
                        value: fn(&Mesh, usize) -> Option<&Array<[f32; 3]>>,
                        channel: usize| {
            let value = self
                .values
                .mesh
                .as_ref()
                .and_then(|mesh| value(mesh, channel))
                .cloned();
            let snapshot = snapshot.clone();
            let read = move || value.clone().map_or_else(|| snapshot.array(part), Ok);
            ArrayEntry::new(address.clone(), range.clone(), read).stored_as(codec, stored)
        };
        let corners = |pick: fn(&Triangles, usize) -> Option<Vec<[u32; 3]>>, channel: usize| {
            let read = self.read_triangles(absent.clone(), move |triangles| {
                Some(Array::from_vec(pick(triangles, channel)?))
            });
            ArrayEntry::new(address.clone(), range.clone(), read).stored_as(codec, Encoding::Fields)
        };
        match which {
            Which::BoundingBox => {
                let read = move || match snapshot.bounding_box(&mut Scratch::default())? {
                    Some(bounds) => Ok(Array::from_vec(vec![bounds.min, bounds.max])),
                    None => Err(absent.clone()),
                };
                ArrayEntry::new(address, range, read).stored_as(codec, Encoding::Fields)
            }
            Which::PointCloud => {
                let read = move || snapshot.point_cloud()?.ok_or_else(|| absent.clone());
                ArrayEntry::new(address, range, read).stored_as(codec, Encoding::Fields)
            }
            Which::Positions => vertices(MeshArray::Positions, |mesh, _| Some(&mesh.positions), 0),
            Which::Normals => vertices(MeshArray::Normals, |mesh, _| Some(&mesh.normals), 0),
            Which::MapChannel(channel) => vertices(
                MeshArray::MapChannel(channel),
                |mesh, channel| mesh.texcoords.get(channel),
                channel,
            ),
            Which::TrianglePositions => corners(|triangles, _| Some(triangles.positions()), 0),
            Which::TriangleNormals => corners(|triangles, _| triangles.normals(), 0),
            Which::TriangleMapChannel(channel) => corners(Triangles::texcoords, channel),
            Which::MaterialIds if self.material == Scalar::U32 => {
                let read = self.read_triangles(absent, |triangles| {
                    Some(Array::from_vec(triangles.material_ids()?.collect()))
                });
                ArrayEntry::new(address, range, read).stored_as(codec, Encoding::Fields)
            }
            Which::MaterialIds => {
                let read = self.read_triangles(absent, |triangles| {
                    let ids = triangles.material_ids()?;
                    Some(Array::from_vec(
                        ids.map(|id| u16::try_from(id).unwrap_or(u16::MAX))
                            .collect(),
                    ))
                });
                ArrayEntry::new(address, range, read).stored_as(codec, Encoding::Fields)
            }
            Which::EdgeVisibility => {
                let read = self.read_triangles(absent, |triangles| {
                    Some(Array::from_vec(triangles.edge_visibility()?.collect()))
                });
                ArrayEntry::new(address, range, read).stored_as(codec, Encoding::Fields)
            }
        }
    }

    /// Reads an array of the triangles, which fails with `absent` if they do not have it.
    fn read_triangles<T, F: Fn(&Triangles) -> Option<Array<T>> + Send + Sync + 'static>(
        &self,
        absent: Error,
        pick: F,
    ) -> impl Fn() -> Result<Array<T>> + Send + Sync + use<T, F> + 'static {
        let (snapshot, value) = (self.snapshot.clone(), self.values.triangles.clone());
        move || {
            let triangles = value.clone().map_or_else(|| snapshot.triangles(), Ok)?;
            pick(&triangles).ok_or_else(|| absent.clone())
        }
    }
}

/// The entry of snapshot `index`, which is stored in the same bytes as snapshot `first`.
fn repeat(entry: &Result<ArrayEntry>, first: usize, index: usize) -> Result<ArrayEntry> {
    let moved =
        |address: &Address| address.moved(&snapshot_address(first), &snapshot_address(index));
    match entry {
        Ok(entry) => {
            let same_as = Some(
                entry
                    .same_as
                    .clone()
                    .unwrap_or_else(|| entry.address.clone()),
            );
            Ok(ArrayEntry {
                address: moved(&entry.address),
                same_as,
                ..entry.clone()
            })
        }
        Err(error) => Err(match error.address() {
            Some(address) => error.clone().of(moved(address)),
            None => error.clone(),
        }),
    }
}

//! The arrays of a snapshot of a CGeo file, decoded one by one.

use meshmap::Scalar;
use meshmap::cgeo::{Snapshot, Triangles};
use zerocopy::IntoBytes;

use crate::fail::Result;
use crate::scratch::{Separated, Working};
use crate::view::{Element, Elements};

/// An array of a snapshot, as its address names it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotArray {
    Positions,
    Normals,
    MapChannel(usize),
    BoundingBox,
    PointCloud,
    PositionDifferences,
    TrianglePositions,
    TriangleNormals,
    TriangleMapChannel(usize),
    MaterialIds,
    EdgeVisibility,
}

impl SnapshotArray {
    /// The snapshot and the array of an address such as `snapshots[3].positions`, without allocating; `None` for other addresses.
    pub(crate) fn of_address(address: &str) -> Option<(usize, Self)> {
        let (index, name) = address.strip_prefix("snapshots[")?.split_once("].")?;
        Some((number(index)?, Self::named(name)?))
    }

    /// The array of this name in a snapshot, such as `positions` or `triangles.map_channels[0]`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "positions" => Self::Positions,
            "normals" => Self::Normals,
            "bounding_box" => Self::BoundingBox,
            "point_cloud" => Self::PointCloud,
            "position_differences" => Self::PositionDifferences,
            "triangles.positions" => Self::TrianglePositions,
            "triangles.normals" => Self::TriangleNormals,
            "triangles.material_ids" => Self::MaterialIds,
            "triangles.edge_visibility" => Self::EdgeVisibility,
            _ => match name.strip_suffix(']')?.split_once('[')? {
                ("map_channels", channel) => Self::MapChannel(number(channel)?),
                ("triangles.map_channels", channel) => Self::TriangleMapChannel(number(channel)?),
                _ => return None,
            },
        })
    }

    /// `true` if triangles store it mixed with other arrays.
    pub(crate) fn is_mixed(self) -> bool {
        !matches!(
            self,
            Self::Positions
                | Self::Normals
                | Self::MapChannel(_)
                | Self::BoundingBox
                | Self::PointCloud
                | Self::PositionDifferences
        )
    }

    /// The number of elements, if the beginning of the mesh contains it and the elements have the expected type.
    pub(crate) fn count(
        self,
        snapshot: &Snapshot,
        expected: Element,
        working: &mut Working,
    ) -> Result<Option<usize>> {
        let triples = |scalar| {
            expected
                == Element {
                    scalar,
                    components: 3,
                }
        };
        let mut counts = || snapshot.counts(&mut working.scratch);
        let count = match self {
            Self::Positions if triples(Scalar::F32) => counts()?.vertices,
            Self::Normals if triples(Scalar::F32) => counts()?.normals,
            Self::TrianglePositions if triples(Scalar::U32) => counts()?.triangles,
            _ => return Ok(None),
        };
        Ok(usize::try_from(count).ok())
    }

    /// Decodes the array into working memory, and no more of the stream than it needs; `None` if the snapshot does not have it.
    /// Positions may be shown where they lie, if they are stored uncompressed in memory.
    pub(crate) fn decode<'a>(
        self,
        snapshot: &Snapshot,
        is_shown: bool,
        working: &'a mut Working,
    ) -> Result<Option<Elements<'a>>> {
        let Working {
            scratch,
            triples,
            triangles,
            separated,
            stored,
            ..
        } = working;
        let is_there = match self {
            Self::Positions
                if is_shown
                    && snapshot.is_complete(scratch)?
                    && stored.insert(snapshot.positions()?).as_native().is_some() =>
            {
                return Ok(stored.as_ref().map(|stored| floats(stored.as_bytes())));
            }
            Self::Positions => {
                *stored = None;
                snapshot
                    .positions_into(&mut *triples, scratch)
                    .map(|()| true)?
            }
            Self::Normals => snapshot
                .normals_into(&mut *triples, scratch)
                .map(|()| true)?,
            Self::MapChannel(set) => snapshot
                .texcoords_into(set, &mut *triples, scratch)
                .map(|()| true)?,
            Self::BoundingBox => {
                triples.clear();
                let bounds = snapshot.bounding_box(scratch)?;
                triples.extend(
                    bounds
                        .into_iter()
                        .flat_map(|bounds| [bounds.min, bounds.max]),
                );
                !triples.is_empty()
            }
            Self::PointCloud => snapshot.point_cloud_into(triples, scratch)?,
            Self::PositionDifferences => snapshot.position_differences_into(triples, scratch)?,
            _ => {
                snapshot.triangles_into(triangles, scratch)?;
                return Ok(self.of_triangles(triangles, separated));
            }
        };
        Ok(is_there.then(|| floats(triples.as_bytes())))
    }

    /// The array of these triangles, which store it mixed with others, in memory that is reused; `None` if they do not have it.
    pub(crate) fn of_triangles<'a>(
        self,
        triangles: &Triangles,
        out: &'a mut Separated,
    ) -> Option<Elements<'a>> {
        let Separated {
            corners,
            ids,
            short_ids,
            edges,
        } = out;
        let normals = usize::from(triangles.has_normals());
        let stream = match self {
            Self::TrianglePositions => 0,
            Self::TriangleNormals => Some(1).filter(|_| triangles.has_normals())?,
            Self::TriangleMapChannel(set) => {
                let set = Some(set).filter(|set| *set < triangles.texcoord_sets());
                set?.saturating_add(1).saturating_add(normals)
            }
            Self::MaterialIds if triangles.material_scalar()? == Scalar::U32 => {
                ids.clear();
                ids.extend(triangles.material_ids()?);
                return Some(Elements::new(ids.as_bytes(), Scalar::U32, 1));
            }
            Self::MaterialIds => {
                short_ids.clear();
                short_ids.extend(
                    triangles
                        .material_ids()?
                        .map(|id| u16::try_from(id).unwrap_or(u16::MAX)),
                );
                return Some(Elements::new(short_ids.as_bytes(), Scalar::U16, 1));
            }
            Self::EdgeVisibility => {
                edges.clear();
                edges.extend(triangles.edge_visibility()?);
                return Some(Elements::new(edges, Scalar::U8, 1));
            }
            _ => return None,
        };
        triangles.stream_into(stream, corners);
        Some(Elements::new(corners.as_bytes(), Scalar::U32, 3))
    }
}

/// Three floats for each element.
pub(crate) fn floats(bytes: &[u8]) -> Elements<'_> {
    Elements::new(bytes, Scalar::F32, 3)
}

/// A number of decimal digits.
fn number(digits: &str) -> Option<usize> {
    digits
        .bytes()
        .all(|digit| digit.is_ascii_digit())
        .then(|| digits.parse().ok())
        .flatten()
}

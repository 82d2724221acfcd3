//! Checks that look at every value.

use std::ops::Range;

use zerocopy::little_endian::U32;

use super::layout::Layout;
use super::model::{Model, VertexArrayType};
use super::rules::{self, FILE};
use crate::bytes::Array;
use crate::mesh::scan;
use crate::num::{Span, as_u64, span};
use crate::report::{Address, Finding, Findings, Result};

impl Model {
    /// Checks that every triangle uses vertices that exist: at the speed of memory.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for the first index that is not less than `num_vertexes`, and the errors
    /// of reading.
    pub fn check_indices(&self) -> Result<()> {
        let indices = self.triangles()?.flatten();
        let num_vertexes = self.num_vertexes();
        if !any_outside(&indices, &(0..num_vertexes)) {
            return Ok(());
        }
        let wrong = wrong_indices(self.layout(), &indices);
        let error = FILE.malformed(rules::INDEX_OUT_OF_RANGE.name);
        let expected = format!("less than {num_vertexes} (num_vertexes)");
        Err(error.of(wrong.address).at(wrong.range).expected(expected).found(wrong.value))
    }

    /// Checks every value: [`findings`](Self::findings), and those that only a look at all data can tell.
    ///
    /// Of a joined model ([`attach`](Self::attach)), everything of the mesh's file and the poses and bounds of the other.
    ///
    /// # Errors
    ///
    /// Those of reading. Wrong values are findings, of which those not `tolerated` make the file unusable.
    pub fn validate(&self) -> Result<Vec<Finding>> {
        let mut check =
            Check { model: self, layout: self.layout(), findings: Findings::default(), effort: 0 };
        check.triangles()?;
        check.adjacency()?;
        check.vertex_arrays()?;
        check.blends()?;
        check.joints();
        check.poses();
        check.bounds()?;
        let mut all = self.findings().to_vec();
        all.extend(check.findings.into_vec());
        Ok(all)
    }
}

/// The least and the greatest of some indices; `None` of none.
pub(crate) fn index_bounds(indices: &Array<u32>) -> Option<(u32, u32)> {
    let widen =
        |(least, greatest): (u32, u32), index: &U32| (least.min(index.get()), greatest.max(index.get()));
    (!indices.is_empty()).then(|| indices.as_slice().iter().fold((u32::MAX, 0), widen))
}

/// Whether any of some indices is outside a range.
///
/// It neither stops at the first one nor looks for its place, so that one instruction compares four indices. With one
/// comparison an index in place of the two of [`index_bounds`], mapping and checking a file takes 0.8 times as long.
fn any_outside(indices: &Array<u32>, range: &Range<u32>) -> bool {
    let len = range.end.saturating_sub(range.start);
    // What is below the start wraps to a number above the length.
    let is_outside = |index: &U32| index.get().wrapping_sub(range.start) >= len;
    indices.as_slice().iter().fold(false, |any, index| any | is_outside(index))
}

/// The first of some indices that are out of range, and how many there are.
struct Wrong {
    address: Address,
    range: Range<u64>,
    value: u32,
    count: u64,
}

fn wrong_indices(layout: &Layout, indices: &Array<u32>) -> Wrong {
    let num_vertexes = layout.header.num_vertexes.get();
    let mut wrong = (0_u64..).zip(indices.iter()).filter(|(_, index)| *index >= num_vertexes);
    let (position, value) = wrong.next().unwrap_or_default();
    let start = layout.sections.triangles.start.saturating_add(position.saturating_mul(4));
    let address = Address::field("triangles").index(position.checked_div(3).unwrap_or(0));
    let count = as_u64(wrong.count()).saturating_add(1);
    Wrong { address, range: span(start, 4), value, count }
}

struct Check<'a> {
    model: &'a Model,
    layout: &'a Layout,
    findings: Findings,
    /// Bytes looked at in parts that may overlap.
    effort: u64,
}

impl Check<'_> {
    /// Whether `bytes` more may be looked at. Parts may share bytes, but a file in which thousands of them do is made
    /// to waste time, and says so in a finding.
    fn may_look_at(&mut self, bytes: u64) -> bool {
        const TIMES: u64 = 64;
        self.effort = self.effort.saturating_add(bytes);
        let most = u64::from(self.layout.header.filesize.get()).saturating_mul(TIMES);
        if self.effort > most {
            self.findings.add(rules::SHARED_TOO_OFTEN, || {
                (FILE, "meshes or vertex arrays that overlap many times are not checked")
            });
        }
        self.effort <= most
    }

    fn triangles(&mut self) -> Result<()> {
        let triangles = self.model.triangles()?.flatten();
        let num_vertexes = self.layout.header.num_vertexes.get();
        // Indices of a mesh's own vertices are in range; what no mesh vouches for is looked at in the end.
        let mut sound = 0;
        for (index, mesh) in (0..).zip(self.layout.meshes.iter()) {
            let (first, count) = (u64::from(mesh.first_triangle.get()), u64::from(mesh.num_triangles.get()));
            if !self.may_look_at(count.saturating_mul(12)) {
                break;
            }
            let corners = first.saturating_mul(3)..first.saturating_add(count).saturating_mul(3);
            let own =
                mesh.first_vertex.get()..mesh.first_vertex.get().saturating_add(mesh.num_vertexes.get());
            let indices = triangles.slice_u64(corners);
            if !any_outside(&indices, &own) {
                if first <= sound {
                    sound = sound.max(first.saturating_add(count));
                }
                continue;
            }
            let Some((least, greatest)) = index_bounds(&indices) else { continue };
            if greatest < num_vertexes {
                self.findings.add(rules::INDEX_OUTSIDE_MESH, || {
                    let detail =
                        format!("vertexes {least}..={greatest}; the mesh has {}..{}", own.start, own.end);
                    (FILE.of(Address::field("meshes").index(index)), detail)
                });
            }
        }
        if any_outside(&triangles.slice_u64(sound.saturating_mul(3)..u64::MAX), &(0..num_vertexes)) {
            let Wrong { address, range, value, count } = wrong_indices(self.layout, &triangles);
            self.findings.add_many(rules::INDEX_OUT_OF_RANGE, count, || {
                let detail = format!("expected less than {num_vertexes} (num_vertexes), found {value}");
                (FILE.of(address).at(range), detail)
            });
        }
        Ok(())
    }

    fn adjacency(&mut self) -> Result<()> {
        const NONE: u32 = u32::MAX;
        let Some(adjacency) = self.model.adjacency()? else { return Ok(()) };
        let num_triangles = self.layout.header.num_triangles.get();
        let adjacency = adjacency.flatten();
        let is_wrong = |triangle: u32| triangle >= num_triangles && triangle != NONE;
        // A first look without a place in mind is several times as fast.
        if !adjacency.as_slice().iter().fold(false, |wrong, triangle| wrong | is_wrong(triangle.get())) {
            return Ok(());
        }
        let mut wrong = (0_u64..).zip(adjacency.iter()).filter(|(_, triangle)| is_wrong(*triangle));
        let (position, triangle) = wrong.next().unwrap_or_default();
        let start = self.layout.sections.adjacency.start.saturating_add(position.saturating_mul(4));
        let count = as_u64(wrong.count()).saturating_add(1);
        self.findings.add_many(rules::ADJACENCY, count, || {
            let detail = format!("expected less than {num_triangles} or {NONE}, found {triangle}");
            let address = Address::field("adjacency").index(position.checked_div(3).unwrap_or(0));
            (FILE.of(address).at(span(start, 4)), detail)
        });
        Ok(())
    }

    fn vertex_arrays(&mut self) -> Result<()> {
        for (index, array) in
            self.model.vertex_arrays().enumerate().filter(|(_, array)| array.format.is_float())
        {
            if !self.may_look_at(array.range.length()) {
                break;
            }
            let attribute = self.model.vertex_array(index)?;
            let Some(place) = scan::not_finite(array.format, attribute.as_bytes()) else { continue };
            let size = as_u64(array.format.size());
            let start = array.range.start.saturating_add(place.first.saturating_mul(size));
            let vertex = place.first.checked_div(array.size.into()).unwrap_or(0);
            let address = Address::field("vertex_arrays").index(as_u64(index)).index(vertex);
            self.findings.add_many(rules::NOT_FINITE, place.count, || {
                let detail = format!("a component of {}", array.semantic(0));
                (FILE.of(address).at(span(start, size)), detail)
            });
        }
        Ok(())
    }

    fn blends(&mut self) -> Result<()> {
        if self.layout.joints.len() == 0 {
            return Ok(());
        }
        let weights = self.model.vertex_array_of(&VertexArrayType::BlendWeights)?;
        let indexes = self.model.vertex_array_of(&VertexArrayType::BlendIndexes)?;
        let (Some(weights), Some(indexes)) = (weights, indexes) else { return Ok(()) };
        let lanes = weights.format().components.min(indexes.format().components);
        if lanes > 4 {
            // No more than four joints move a vertex; other shapes are a finding of their own.
            return Ok(());
        }
        let joints = as_u64(self.layout.joints.len()) as f32;
        let blends = weights.iter_f32::<4>().zip(indexes.iter_f32::<4>());
        for (vertex, (weights, indexes)) in (0_u64..).zip(blends) {
            let address = || Address::field("vertices").index(vertex);
            let sum: f32 = weights.iter().sum();
            if (sum - 1.0).abs() > 1.0 / 255.0 {
                self.findings
                    .add(rules::WEIGHT_SUM, || (FILE.of(address()), format!("expected 1, found {sum}")));
            }
            let wrong = |(index, weight): &(&f32, &f32)| **index >= joints && **weight != 0.0;
            if let Some((index, _)) = indexes.iter().zip(&weights).find(wrong) {
                self.findings.add(rules::BLEND_INDEX, || {
                    (FILE.of(address()), format!("expected less than {joints}, found {index}"))
                });
            }
        }
        Ok(())
    }

    fn joints(&mut self) {
        const TOLERANCE: f32 = 1e-3;
        for (index, joint) in (0..).zip(self.model.joints()) {
            let address = || Address::field("joints").index(index);
            let mut numbers = joint.trs.translate.iter().chain(&joint.trs.rotate).chain(&joint.trs.scale);
            if !numbers.all(|number| number.is_finite()) {
                self.findings.add(rules::NOT_FINITE, || (FILE.of(address()), "a joint"));
            }
            let length = joint.trs.rotate.iter().map(|lane| lane * lane).sum::<f32>().sqrt();
            if (length - 1.0).abs() > TOLERANCE {
                self.findings.add(rules::NOT_UNIT, || {
                    (FILE.of(address()), format!("expected length 1, found {length}"))
                });
            }
        }
    }

    fn poses(&mut self) {
        for (index, pose) in (0..).zip(self.model.poses()) {
            let stored = |channel: usize| pose.channelmask >> channel & 1 != 0;
            let scales = pose.channelscale.iter().enumerate().filter(|(channel, _)| stored(*channel));
            if !pose
                .channeloffset
                .iter()
                .chain(scales.map(|(_, scale)| scale))
                .all(|number| number.is_finite())
            {
                self.findings.add(rules::NOT_FINITE, || {
                    (FILE.of(Address::field("poses").index(index)), "a channel of a pose")
                });
            }
        }
    }

    fn bounds(&mut self) -> Result<()> {
        let Some(bounds) = self.model.bounds()? else { return Ok(()) };
        for (frame, bounds) in (0..).zip(bounds.iter()) {
            let (mins, maxs) = (bounds.bbmins.map(|n| n.get()), bounds.bbmaxs.map(|n| n.get()));
            let address = || Address::field("bounds").index(frame);
            let mut numbers =
                mins.iter().chain(&maxs).copied().chain([bounds.xyradius.get(), bounds.radius.get()]);
            if !numbers.all(f32::is_finite) {
                self.findings.add(rules::NOT_FINITE, || (FILE.of(address()), "a frame's box"));
            }
            if mins.iter().zip(&maxs).any(|(min, max)| min > max) {
                self.findings
                    .add(rules::INVERTED_BOUNDS, || (FILE.of(address()), format!("{mins:?} .. {maxs:?}")));
            }
        }
        Ok(())
    }
}

//! Checks that look at every value.

use std::ops::Range;

use zerocopy::little_endian::U32;

use super::layout::Layout;
use super::model::{Model, run};
use super::rules::{self, FILE};
use super::vertex_array::VertexArrayType;
use crate::bytes::{Array, F16, Scalar};
use crate::limits::job;
use crate::mesh::scan;
use crate::num::{Span, as_u64, as_usize, component, decimal, interval, less_than, span};
use crate::report::{Address, Finding, Findings, Place, Result};

impl Model {
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) for the first index that is not less than `num_vertexes`.
    pub(crate) fn check_indices(&self, triangles: &Array<[u32; 3]>) -> Result<()> {
        let indices = triangles.clone().flatten();
        let num_vertexes = self.layout().header.num_vertexes.get();
        if !any_outside(&indices, &(0..num_vertexes)) {
            return Ok(());
        }
        match self.wrong_indices(&indices) {
            None => Ok(()),
            Some(Wrong { place, value, .. }) => {
                let error = place.malformed(rules::INDEX_OUT_OF_RANGE.name);
                Err(error
                    .expected(format!("{} (num_vertexes)", less_than(num_vertexes)))
                    .found(value))
            }
        }
    }

    fn wrong_indices(&self, indices: &Array<u32>) -> Option<Wrong> {
        let num_vertexes = self.layout().header.num_vertexes.get();
        let section = &self.layout().sections.triangles;
        Wrong::find("triangles", section, indices, |index| index >= num_vertexes)
    }

    /// Checks every value; returns [`findings`](Self::findings) and what else it finds.
    ///
    /// A joined model ([`attach`](Self::attach)) is checked with the poses and bounds of the animation's file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read. Wrong values are findings, each with a [`Severity`](crate::Severity).
    pub fn validate(&self) -> Result<Vec<Finding>> {
        let mut check = Check {
            model: self,
            layout: self.layout(),
            findings: Findings::default(),
            effort: 0,
        };
        check.triangles()?;
        check.shared_vertices();
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

/// The least and the greatest index; `None` of none.
pub(crate) fn index_bounds(indices: &Array<u32>) -> Option<(u32, u32)> {
    let widen = |(least, greatest): (u32, u32), index: &U32| {
        (least.min(index.get()), greatest.max(index.get()))
    };
    (!indices.is_empty()).then(|| indices.as_slice().iter().fold((u32::MAX, 0), widen))
}

/// Returns `true` if any index is outside a range.
///
/// It neither stops at the first one nor keeps its place, so that one instruction compares four indices. One comparison
/// an index, where [`index_bounds`] has two: mapping and checking a file takes 0.8 times as long.
pub(crate) fn any_outside(indices: &Array<u32>, range: &Range<u32>) -> bool {
    let len = range.end.saturating_sub(range.start);
    // A value below the start wraps to a number above the length.
    let is_outside = |index: &U32| index.get().wrapping_sub(range.start) >= len;
    indices
        .as_slice()
        .iter()
        .fold(false, |any, index| any | is_outside(index))
}

/// Returns the detail of a finding for a mesh whose triangles use vertices of other meshes.
pub(crate) fn outside_mesh(least: u32, greatest: u32, own: &Range<u32>) -> String {
    format!(
        "vertexes {least}..={greatest}; the mesh has {}..{}",
        own.start, own.end
    )
}

/// The first wrong number of a table of triples, and how many there are.
struct Wrong {
    place: Place,
    value: u32,
    count: u64,
}

impl Wrong {
    fn find(
        table: &'static str,
        section: &Range<u64>,
        numbers: &Array<u32>,
        is_wrong: impl Fn(u32) -> bool,
    ) -> Option<Self> {
        // A first look that does not keep the place is several times as fast.
        if !numbers
            .as_slice()
            .iter()
            .fold(false, |wrong, number| wrong | is_wrong(number.get()))
        {
            return None;
        }
        let mut wrong = (0_u64..)
            .zip(numbers.iter())
            .filter(|(_, number)| is_wrong(*number));
        let (position, value) = wrong.next()?;
        let address = Address::field(table).index(position / 3);
        let place = FILE
            .of(address)
            .at(section.part(position.saturating_mul(4), 4));
        Some(Self {
            place,
            value,
            count: as_u64(wrong.count()).saturating_add(1),
        })
    }
}

struct Check<'a> {
    model: &'a Model,
    layout: &'a Layout,
    findings: Findings,
    /// Bytes checked so far, of parts that may overlap.
    effort: u64,
}

impl Check<'_> {
    /// Returns `true` if `bytes` more may be checked; otherwise adds a finding.
    ///
    /// Parts may share bytes, but where thousands do, checking each would take much longer than reading the file.
    fn may_check(&mut self, bytes: u64) -> bool {
        const TIMES: u64 = 64;
        self.effort = self.effort.saturating_add(bytes);
        let most = u64::from(self.layout.header.filesize.get()).saturating_mul(TIMES);
        if self.effort > most {
            self.findings.add(rules::SHARED_TOO_OFTEN, || {
                (
                    FILE,
                    "meshes or vertex arrays that overlap many times are not checked",
                )
            });
        }
        self.effort <= most
    }

    fn triangles(&mut self) -> Result<()> {
        let triangles = self.model.raw_triangles()?.flatten();
        let num_vertexes = self.layout.header.num_vertexes.get();
        // Indices of a mesh's own vertices are in range; the rest is checked at the end.
        let mut sound = 0;
        for (index, mesh) in (0..).zip(self.layout.meshes.iter()) {
            let [first, count] =
                [mesh.first_triangle, mesh.num_triangles].map(|n| u64::from(n.get()));
            if !self.may_check(count.saturating_mul(12)) {
                break;
            }
            let own = run(mesh.first_vertex.get(), mesh.num_vertexes.get());
            let end = first.saturating_add(count);
            let indices = triangles.slice_u64(first.saturating_mul(3)..end.saturating_mul(3));
            if !any_outside(&indices, &own) {
                if first <= sound {
                    sound = sound.max(end);
                }
                continue;
            }
            let Some((least, greatest)) = index_bounds(&indices) else {
                continue;
            };
            if greatest < num_vertexes {
                let place = FILE.of(Address::field("meshes").index(index));
                let detail = || outside_mesh(least, greatest, &own);
                self.findings
                    .add(rules::INDEX_OUTSIDE_MESH, || (place, detail()));
            }
        }
        let rest = triangles.slice_u64(sound.saturating_mul(3)..u64::MAX);
        if any_outside(&rest, &(0..num_vertexes))
            && let Some(Wrong {
                place,
                value,
                count,
            }) = self.model.wrong_indices(&triangles)
        {
            let [most, found] = [num_vertexes, value].map(decimal);
            let detail = format!("expected less than {most} (num_vertexes), found {found}");
            self.findings
                .add_many(rules::INDEX_OUT_OF_RANGE, count, || (place, detail));
        }
        Ok(())
    }

    fn shared_vertices(&mut self) {
        for (index, mesh) in self.layout.meshes.iter().enumerate() {
            if self.model.shares_vertices(index) {
                let place = FILE.of(Address::field("meshes").index(as_u64(index)));
                let own = run(mesh.first_vertex.get(), mesh.num_vertexes.get());
                let detail = || {
                    format!(
                        "vertexes {}..{}, of which another mesh has some",
                        own.start, own.end
                    )
                };
                self.findings
                    .add(rules::SHARED_VERTICES, || (place, detail()));
            }
        }
    }

    fn adjacency(&mut self) -> Result<()> {
        const NONE: u32 = u32::MAX;
        let Some(adjacency) = self.model.adjacency()? else {
            return Ok(());
        };
        let num_triangles = self.layout.header.num_triangles.get();
        let section = &self.layout.sections.adjacency;
        let is_wrong = |triangle: u32| triangle >= num_triangles && triangle != NONE;
        if let Some(wrong) = Wrong::find("adjacency", section, &adjacency.flatten(), is_wrong) {
            let Wrong {
                place,
                value,
                count,
            } = wrong;
            let detail = format!("expected less than {num_triangles} or {NONE}, found {value}");
            self.findings
                .add_many(rules::ADJACENCY, count, || (place, detail));
        }
        Ok(())
    }

    fn vertex_arrays(&mut self) -> Result<()> {
        for (index, array) in self
            .model
            .vertex_arrays()
            .enumerate()
            .filter(|(_, array)| array.format.is_float())
        {
            if !self.may_check(array.range.length()) {
                break;
            }
            job::check("vertex array")?;
            let attribute = self.model.vertex_array(index)?;
            let Some(place) = scan::not_finite(array.format, attribute.as_bytes()) else {
                continue;
            };
            let size = as_u64(array.format.size());
            let start = array
                .range
                .start
                .saturating_add(place.first.saturating_mul(size));
            let vertex = place.first.checked_div(array.size.into()).unwrap_or(0);
            let address = Address::field("vertex_arrays")
                .index(as_u64(index))
                .index(vertex);
            self.findings.add_many(rules::NOT_FINITE, place.count, || {
                let component = component(as_usize(
                    place.first.checked_rem(array.size.into()).unwrap_or(0),
                ));
                let bytes = attribute
                    .as_bytes()
                    .get(as_usize(place.first.saturating_mul(size))..);
                let number = shown(array.format, bytes.unwrap_or_default());
                let detail = format!("{component} is {number}, of {}", array.semantic(0));
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
        let (Some(weights), Some(indexes)) = (weights, indexes) else {
            return Ok(());
        };
        let components = weights.format().components.min(indexes.format().components);
        if components > 4 {
            // No more than four joints move a vertex; other shapes are a finding of their own.
            return Ok(());
        }
        let joints = as_u64(self.layout.joints.len()) as f32;
        let blends = weights.iter_f32::<4>().zip(indexes.iter_f32::<4>());
        for (vertex, (weights, indexes)) in (0_u64..).zip(blends) {
            let address = || Address::field("vertices").index(vertex);
            let sum: f32 = weights.iter().sum();
            if (sum - 1.0).abs() > 1.0 / 255.0 {
                self.findings.add(rules::WEIGHT_SUM, || {
                    (FILE.of(address()), format!("expected 1, found {sum}"))
                });
            }
            let wrong = |(index, weight): &(&f32, &f32)| **index >= joints && **weight != 0.0;
            if let Some((index, _)) = indexes.iter().zip(&weights).find(wrong) {
                self.findings.add(rules::BLEND_INDEX, || {
                    (
                        FILE.of(address()),
                        format!("expected less than {joints}, found {index}"),
                    )
                });
            }
        }
        Ok(())
    }

    fn joints(&mut self) {
        const TOLERANCE: f32 = 1e-3;
        for (index, joint) in (0..).zip(self.model.joints()) {
            let address = || Address::field("joints").index(index);
            let trs = &joint.trs;
            let parts = [
                ("translate", &trs.translate[..]),
                ("rotate", &trs.rotate),
                ("scale", &trs.scale),
            ];
            if let Some((name, axis, number)) = first_not_finite(parts) {
                let detail = || format!("{name}.{} is {number}", component(axis));
                self.findings
                    .add(rules::NOT_FINITE, || (FILE.of(address()), detail()));
            }
            let length = joint
                .trs
                .rotate
                .iter()
                .map(|component| component * component)
                .sum::<f32>()
                .sqrt();
            if (length - 1.0).abs() > TOLERANCE {
                self.findings.add(rules::NOT_UNIT, || {
                    (
                        FILE.of(address()),
                        format!("expected length 1, found {length}"),
                    )
                });
            }
        }
    }

    fn poses(&mut self) {
        for (index, pose) in (0..).zip(self.model.poses()) {
            let stored = |channel: usize| pose.channelmask >> channel & 1 != 0;
            let mut scales = pose.channelscale;
            let unused = scales
                .iter_mut()
                .enumerate()
                .filter(|(channel, _)| !stored(*channel));
            unused.for_each(|(_, scale)| *scale = 0.0);
            let parts = [
                ("channeloffset", &pose.channeloffset[..]),
                ("channelscale", &scales),
            ];
            if let Some((name, channel, number)) = first_not_finite(parts) {
                let place = FILE.of(Address::field("poses").index(index));
                self.findings.add(rules::NOT_FINITE, || {
                    (place, format!("{name}[{channel}] is {number}"))
                });
            }
        }
    }

    fn bounds(&mut self) -> Result<()> {
        let Some(bounds) = self.model.bounds()? else {
            return Ok(());
        };
        for (frame, bounds) in (0..).zip(bounds.iter()) {
            let [a, b, c, d, e, f, xy_radius, radius] = bounds;
            let (mins, maxs) = ([a, b, c], [d, e, f]);
            let address = || Address::field("bounds").index(frame);
            let radii = [xy_radius, radius];
            if let Some((name, axis, number)) =
                first_not_finite([("bbmins", &mins[..]), ("bbmaxs", &maxs)])
            {
                let detail = || format!("{name}.{} is {number}", component(axis));
                self.findings
                    .add(rules::NOT_FINITE, || (FILE.of(address()), detail()));
            } else if let Some((_, index, number)) = first_not_finite([("", &radii[..])]) {
                let name = if index == 0 { "xyradius" } else { "radius" };
                self.findings.add(rules::NOT_FINITE, || {
                    (FILE.of(address()), format!("{name} is {number}"))
                });
            }
            if mins.iter().zip(&maxs).any(|(min, max)| min > max) {
                self.findings.add(rules::INVERTED_BOUNDS, || {
                    (FILE.of(address()), interval(&mins, &maxs))
                });
            }
        }
        Ok(())
    }
}

/// The first number that is infinite or not a number, its index, and the name of its part.
fn first_not_finite<'a, const N: usize>(
    parts: [(&'a str, &[f32]); N],
) -> Option<(&'a str, usize, f32)> {
    let wrong = |numbers: &[f32]| {
        numbers
            .iter()
            .copied()
            .enumerate()
            .find(|(_, number)| !number.is_finite())
    };
    parts
        .into_iter()
        .find_map(|(name, numbers)| wrong(numbers).map(|(index, number)| (name, index, number)))
}

/// The float that these bytes begin with.
fn shown(format: Scalar, bytes: &[u8]) -> f64 {
    match format {
        Scalar::F64 => bytes
            .first_chunk()
            .map_or(0.0, |bytes| f64::from_le_bytes(*bytes)),
        Scalar::F16 => bytes
            .first_chunk()
            .map_or(0.0, |bytes| F16(u16::from_le_bytes(*bytes)).to_f32().into()),
        _ => bytes
            .first_chunk()
            .map_or(0.0, |bytes| f32::from_le_bytes(*bytes).into()),
    }
}

//! Checks that look at every value.

use std::ops::Range;

use super::layout::Layout;
use super::model::{Model, range_of};
use super::rules::{self, FILE};
use super::vertex_array::VertexArrayType;
use crate::bytes::{Array, F16, Scalar};
use crate::limits::job;
use crate::mesh::{Attribute, scan};
use crate::num::{Span, as_u64, as_usize, component, decimal, interval, less_than};
use crate::report::{Address, Finding, Findings, Place, Result, Rule};

impl Model {
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) for the first index that is not less than `num_vertexes`.
    pub(crate) fn check_indices(&self, triangles: &Array<[u32; 3]>) -> Result<()> {
        let indices = triangles.clone().flatten();
        let num_vertexes = self.layout().header.num_vertexes.get();
        if !any_outside(&indices, &(0..num_vertexes)) {
            return Ok(());
        }
        let Some(wrong) = self.wrong_indices(&indices) else {
            return Ok(());
        };
        let error = wrong.place.malformed(rules::INDEX_OUT_OF_RANGE.name);
        let expected = format!("{} (num_vertexes)", less_than(num_vertexes));
        Err(error.expected(expected).found(wrong.value))
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
        self.check_frame_bounds(&mut check.findings)?;
        let mut all = self.findings().to_vec();
        all.extend(check.findings.into_vec());
        Ok(all)
    }
}

/// The minimum and the maximum of indices.
pub(crate) struct IndexBounds {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

impl IndexBounds {
    /// The bounds of these indices; `None` if there are no indices.
    pub(crate) fn of(indices: &Array<u32>) -> Option<Self> {
        if indices.is_empty() {
            return None;
        }
        let mut bounds = Self {
            min: u32::MAX,
            max: 0,
        };
        for index in indices.as_slice() {
            bounds.min = bounds.min.min(index.get());
            bounds.max = bounds.max.max(index.get());
        }
        Some(bounds)
    }

    /// The detail of a finding for a mesh with the vertices `own`, whose triangles use vertices of
    /// other meshes.
    pub(crate) fn outside_mesh(&self, own: &Range<u32>) -> String {
        format!(
            "vertexes {}..={}; the mesh has {}..{}",
            self.min, self.max, own.start, own.end
        )
    }
}

/// Returns `true` if any index is outside a range.
///
/// It neither stops at the first one nor remembers its position, so that one instruction compares
/// four indices. With one comparison per index, where [`IndexBounds`] has two, mapping and checking
/// a file takes 0.8 times as long.
pub(crate) fn any_outside(indices: &Array<u32>, range: &Range<u32>) -> bool {
    let len = range.end.saturating_sub(range.start);
    let mut any = false;
    for index in indices.as_slice() {
        // A value below the start wraps to a number above the length.
        any |= index.get().wrapping_sub(range.start) >= len;
    }
    any
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
        // A first scan that does not remember the position is several times as fast.
        let mut any = false;
        for number in numbers.as_slice() {
            any |= is_wrong(number.get());
        }
        if !any {
            return None;
        }
        let mut wrong = (0_u64..)
            .zip(numbers.iter())
            .filter(|(_, number)| is_wrong(*number));
        let (position, value) = wrong.next()?;
        let address = Address::field(table).index(position / 3);
        let bytes = section.part(position.saturating_mul(4), 4);
        Some(Self {
            place: FILE.of(address).at(bytes),
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
                let detail = "meshes or vertex arrays that overlap many times are not checked";
                (FILE, detail)
            });
        }
        self.effort <= most
    }

    fn triangles(&mut self) -> Result<()> {
        let triangles = self.model.raw_triangles()?.flatten();
        let num_vertexes = self.layout.header.num_vertexes.get();
        // Indices of a mesh's own vertices are in range; the rest is checked at the end.
        let mut checked = 0;
        for (index, mesh) in (0..).zip(self.layout.meshes.iter()) {
            let first = u64::from(mesh.first_triangle.get());
            let count = u64::from(mesh.num_triangles.get());
            if !self.may_check(count.saturating_mul(12)) {
                break;
            }
            let own = range_of(mesh.first_vertex.get(), mesh.num_vertexes.get());
            let end = first.saturating_add(count);
            let indices = triangles.slice_u64(first.saturating_mul(3)..end.saturating_mul(3));
            if !any_outside(&indices, &own) {
                if first <= checked {
                    checked = checked.max(end);
                }
                continue;
            }
            let Some(bounds) = IndexBounds::of(&indices) else {
                continue;
            };
            if bounds.max < num_vertexes {
                self.findings.add(rules::INDEX_OUTSIDE_MESH, || {
                    let place = FILE.of(Address::field("meshes").index(index));
                    (place, bounds.outside_mesh(&own))
                });
            }
        }
        let rest = triangles.slice_u64(checked.saturating_mul(3)..u64::MAX);
        if !any_outside(&rest, &(0..num_vertexes)) {
            return Ok(());
        }
        if let Some(wrong) = self.model.wrong_indices(&triangles) {
            self.findings
                .add_many(rules::INDEX_OUT_OF_RANGE, wrong.count, || {
                    let limit = decimal(num_vertexes);
                    let found = decimal(wrong.value);
                    let detail =
                        format!("expected less than {limit} (num_vertexes), found {found}");
                    (wrong.place, detail)
                });
        }
        Ok(())
    }

    fn shared_vertices(&mut self) {
        for (index, mesh) in self.layout.meshes.iter().enumerate() {
            if self.model.shares_vertices(index) {
                self.findings.add(rules::SHARED_VERTICES, || {
                    let place = FILE.of(Address::field("meshes").index(as_u64(index)));
                    let own = range_of(mesh.first_vertex.get(), mesh.num_vertexes.get());
                    let range = format!("{}..{}", own.start, own.end);
                    let detail = format!("vertexes {range}, of which another mesh has some");
                    (place, detail)
                });
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
            self.findings.add_many(rules::ADJACENCY, wrong.count, || {
                let value = wrong.value;
                let detail = format!("expected less than {num_triangles} or {NONE}, found {value}");
                (wrong.place, detail)
            });
        }
        Ok(())
    }

    fn vertex_arrays(&mut self) -> Result<()> {
        for (index, array) in self.model.vertex_arrays().enumerate() {
            if !array.format.is_float() {
                continue;
            }
            if !self.may_check(array.range.length()) {
                break;
            }
            job::check("vertex array")?;
            let attribute = self.model.vertex_array(index)?;
            match array.kind {
                VertexArrayType::Normal => self.normals(index, &attribute),
                VertexArrayType::Tangent => self.tangents(index, &attribute),
                _ => {}
            }
            let Some(found) = scan::not_finite(array.format, attribute.as_bytes()) else {
                continue;
            };
            self.findings.add_many(rules::NOT_FINITE, found.count, || {
                // Opening has checked that an element has components.
                let components = u64::from(array.size);
                let vertex = found.first.checked_div(components).unwrap_or(0);
                let axis = found.first.checked_rem(components).unwrap_or(0);
                let size = as_u64(array.format.size());
                let offset = found.first.saturating_mul(size);
                let address = Address::field("vertex_arrays")
                    .index(as_u64(index))
                    .index(vertex);
                let place = FILE.of(address).at(array.range.part(offset, size));
                let bytes = attribute.as_bytes().get(as_usize(offset)..);
                let number = float_at_start(array.format, bytes.unwrap_or_default());
                let axis = component(as_usize(axis));
                (
                    place,
                    format!("{axis} is {number}, of {}", array.semantic(0)),
                )
            });
        }
        Ok(())
    }

    fn normals(&mut self, array: usize, normals: &Attribute) {
        let is_wrong = |normal: [f32; 3]| normal == [0.0; 3];
        self.elements(rules::ZERO_NORMAL, array, normals.iter_f32(), is_wrong);
    }

    fn tangents(&mut self, array: usize, tangents: &Attribute) {
        let has_sign = tangents.format().components > 3;
        let is_wrong = |[x, y, z, sign]: [f32; 4]| {
            let is_sign_wrong = has_sign && sign.abs() != 1.0;
            // NaN and infinite numbers are a separate finding.
            sign.is_finite() && ([x, y, z] == [0.0; 3] || is_sign_wrong)
        };
        self.elements(rules::BAD_TANGENT, array, tangents.iter_f32(), is_wrong);
    }

    /// Notes the elements of a vertex array that are wrong.
    fn elements<const N: usize>(
        &mut self,
        rule: Rule,
        array: usize,
        elements: impl Iterator<Item = [f32; N]>,
        is_wrong: impl Fn([f32; N]) -> bool,
    ) {
        for (vertex, element) in (0_u64..).zip(elements) {
            if is_wrong(element) {
                self.findings.add(rule, || {
                    let address = Address::field("vertex_arrays")
                        .index(as_u64(array))
                        .index(vertex);
                    (FILE.of(address), format!("found {element:?}"))
                });
            }
        }
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
            let sum: f32 = weights.iter().sum();
            if (sum - 1.0).abs() > 1.0 / 255.0 {
                self.findings.add(rules::WEIGHT_SUM, || {
                    (vertex_place(vertex), format!("expected 1, found {sum}"))
                });
            }
            for (index, weight) in indexes.iter().zip(&weights) {
                if *index >= joints && *weight != 0.0 {
                    self.findings.add(rules::BLEND_INDEX, || {
                        let detail = format!("expected less than {joints}, found {index}");
                        (vertex_place(vertex), detail)
                    });
                    // A vertex counts once.
                    break;
                }
            }
        }
        Ok(())
    }

    fn joints(&mut self) {
        const TOLERANCE: f32 = 1e-3;
        for (index, joint) in (0..).zip(self.model.joints()) {
            let trs = &joint.trs;
            let found = first_not_finite("translate", &trs.translate)
                .or_else(|| first_not_finite("rotate", &trs.rotate))
                .or_else(|| first_not_finite("scale", &trs.scale));
            if let Some(found) = found {
                self.findings
                    .add(rules::NOT_FINITE, || (joint_place(index), found.of_axis()));
            }
            let mut squared = 0.0;
            for component in trs.rotate {
                squared += component * component;
            }
            let length = f32::sqrt(squared);
            if (length - 1.0).abs() > TOLERANCE {
                self.findings.add(rules::NOT_UNIT, || {
                    let detail = format!("expected length 1, found {length}");
                    (joint_place(index), detail)
                });
            }
        }
    }

    fn poses(&mut self) {
        for (index, pose) in (0..).zip(self.model.poses()) {
            let mut scales = pose.channelscale;
            for (channel, scale) in scales.iter_mut().enumerate() {
                let is_stored = pose.channelmask >> channel & 1 != 0;
                if !is_stored {
                    // Not used.
                    *scale = 0.0;
                }
            }
            let found = first_not_finite("channeloffset", &pose.channeloffset)
                .or_else(|| first_not_finite("channelscale", &scales));
            if let Some(found) = found {
                self.findings.add(rules::NOT_FINITE, || {
                    let place = FILE.of(Address::field("poses").index(index));
                    let NotFinite { part, number, .. } = found;
                    (place, format!("{part}[{}] is {number}", found.index))
                });
            }
        }
    }

    fn bounds(&mut self) -> Result<()> {
        let Some(bounds) = self.model.bounds()? else {
            return Ok(());
        };
        for (frame, bounds) in (0..).zip(bounds.iter()) {
            let [x, y, z, max_x, max_y, max_z, xyradius, radius] = bounds;
            let mins = [x, y, z];
            let maxs = [max_x, max_y, max_z];
            let corner =
                first_not_finite("bbmins", &mins).or_else(|| first_not_finite("bbmaxs", &maxs));
            let radius = first_not_finite("xyradius", &[xyradius])
                .or_else(|| first_not_finite("radius", &[radius]));
            if let Some(found) = corner {
                self.findings
                    .add(rules::NOT_FINITE, || (bounds_place(frame), found.of_axis()));
            } else if let Some(NotFinite { part, number, .. }) = radius {
                self.findings.add(rules::NOT_FINITE, || {
                    (bounds_place(frame), format!("{part} is {number}"))
                });
            }
            if mins.iter().zip(&maxs).any(|(min, max)| min > max) {
                self.findings.add(rules::INVERTED_BOUNDS, || {
                    (bounds_place(frame), interval(&mins, &maxs))
                });
            }
        }
        Ok(())
    }
}

fn joint_place(index: u64) -> Place {
    FILE.of(Address::field("joints").index(index))
}

fn bounds_place(frame: u64) -> Place {
    FILE.of(Address::field("bounds").index(frame))
}

fn vertex_place(index: u64) -> Place {
    FILE.of(Address::field("vertices").index(index))
}

/// A NaN or infinite number.
struct NotFinite {
    /// The name of the field that it is in.
    part: &'static str,
    /// The index in the field.
    index: usize,
    number: f32,
}

impl NotFinite {
    /// The detail of a finding, for a field with components x, y, z.
    fn of_axis(&self) -> String {
        let axis = component(self.index);
        format!("{}.{axis} is {}", self.part, self.number)
    }
}

/// The first number of a field that is NaN or infinite.
fn first_not_finite(part: &'static str, numbers: &[f32]) -> Option<NotFinite> {
    for (index, number) in numbers.iter().copied().enumerate() {
        if !number.is_finite() {
            return Some(NotFinite {
                part,
                index,
                number,
            });
        }
    }
    None
}

/// The float that these bytes begin with; 0 if they are too short.
fn float_at_start(format: Scalar, bytes: &[u8]) -> f64 {
    match format {
        Scalar::F64 => match bytes.first_chunk() {
            Some(bytes) => f64::from_le_bytes(*bytes),
            None => 0.0,
        },
        Scalar::F16 => match bytes.first_chunk() {
            Some(bytes) => F16(u16::from_le_bytes(*bytes)).to_f32().into(),
            None => 0.0,
        },
        _ => match bytes.first_chunk() {
            Some(bytes) => f32::from_le_bytes(*bytes).into(),
            None => 0.0,
        },
    }
}

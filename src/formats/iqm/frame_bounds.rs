//! The check that the bounding box of each frame contains the vertices of the frame.
//!
//! Posing all vertices in all frames would multiply two numbers of the file. Only the outermost vertices of each joint are posed, at most
//! six, and only as many frames are checked as the length of the file allows.

use std::sync::Arc;

use super::frames::Frames;
use super::model::Model;
use super::pose::{IDENTITY, Matrix, Trs};
use super::rules::{self, FILE};
use super::skeleton::Skeleton;
use super::vertex_array::VertexArrayType;
use crate::bytes::Array;
use crate::limits::job;
use crate::mesh::{Attribute, Bounds};
use crate::num::{as_u64, as_usize, interval};
use crate::report::{Address, Findings, Result};

impl Model {
    /// Notes the frames whose bounding box does not contain vertices that are posed in them.
    ///
    /// Every vertex that is posed is drawn there, so that a box around all triangles is never noted. A joined model is not checked: its
    /// boxes are around other meshes.
    pub(super) fn check_frame_bounds(&self, findings: &mut Findings) -> Result<()> {
        if !Arc::ptr_eq(&self.layout, &self.animation) {
            return Ok(());
        }
        let (Some(boxes), Some(skeleton)) = (self.bounds()?, self.skeleton()) else {
            return Ok(());
        };
        let frames = self.frames();
        if frames.pose_count() != skeleton.len() {
            return Ok(());
        }
        let Some(skin) = self.skin(skeleton.len())? else {
            return Ok(());
        };
        let vertices = skin.outermost_vertices();
        if vertices.is_empty() {
            return Ok(());
        }
        let section = self.layout.sections.frames.clone();
        self.layout
            .source
            .want(std::iter::once(section), "frames[]")?;
        let check = FrameCheck {
            frames,
            skeleton,
            vertices,
            rounding: self.rounding_of_frames(),
        };
        check.run(&boxes, self.layout.header.filesize.get(), findings)
    }

    /// `None` if no joint moves a vertex.
    fn skin(&self, joints: usize) -> Result<Option<Skin>> {
        let positions = self.vertex_array_of(&VertexArrayType::Position)?;
        let indexes = self.vertex_array_of(&VertexArrayType::BlendIndexes)?;
        let weights = self.vertex_array_of(&VertexArrayType::BlendWeights)?;
        let (Some(positions), Some(indexes), Some(weights)) = (positions, indexes, weights) else {
            return Ok(None);
        };
        let components = weights.format().components.min(indexes.format().components);
        if components > 4 {
            // No more than four joints move a vertex; other shapes are a separate finding.
            return Ok(None);
        }
        let mut is_drawn = vec![false; self.vertex_count()];
        for index in self.raw_triangles()?.flatten().iter() {
            if let Some(is_drawn) = is_drawn.get_mut(as_usize(index)) {
                *is_drawn = true;
            }
        }
        Ok(Some(Skin {
            positions,
            indexes,
            weights,
            is_drawn,
            joints,
        }))
    }

    /// The distance by which a frame may miss the positions that its writer had: translations are stored in steps.
    fn rounding_of_frames(&self) -> f32 {
        const TRANSLATION: usize = 3;
        let mut sum = 0.0;
        for pose in self.poses() {
            let mut largest = 0.0_f32;
            for (channel, step) in pose.channelscale.iter().take(TRANSLATION).enumerate() {
                let is_stored = pose.channelmask >> channel & 1 != 0;
                if is_stored {
                    largest = largest.max(step.abs());
                }
            }
            sum += largest;
        }
        sum
    }
}

/// The vertices, and the joints that move them.
struct Skin {
    positions: Attribute,
    indexes: Attribute,
    weights: Attribute,
    /// For each vertex, `true` if a triangle uses it. Boxes need not contain the others.
    is_drawn: Vec<bool>,
    /// The number of joints.
    joints: usize,
}

impl Skin {
    /// The vertices that are drawn, and whose positions in a frame are certain.
    fn vertices(&self) -> impl Iterator<Item = PosedVertex> + '_ {
        let blends = self
            .indexes
            .iter_f32::<4>()
            .zip(self.weights.iter_f32::<4>());
        let vertices = (0_u32..).zip(self.positions.iter_f32::<3>().zip(blends));
        vertices.filter_map(|(index, (position, (joints, weights)))| {
            if self.is_drawn.get(as_usize(index)) != Some(&true) {
                return None;
            }
            let mut vertex = PosedVertex {
                index,
                position,
                joints: [0; 4],
                weights,
            };
            vertex.set_joints(joints, self.joints).then_some(vertex)
        })
    }

    /// For each joint the outermost vertices, along each axis in the bind pose, of the vertices that it moves most.
    fn outermost_vertices(&self) -> Vec<PosedVertex> {
        let mut joints = vec![Outermost::default(); self.joints];
        for vertex in self.vertices() {
            if let Some(joint) = joints.get_mut(as_usize(vertex.main_joint())) {
                joint.add(&vertex);
            }
        }
        let mut indices: Vec<u32> = Vec::new();
        for joint in &joints {
            indices.extend(joint.vertices.iter().flatten());
        }
        indices.sort_unstable();
        indices.dedup();
        let mut outermost = Vec::with_capacity(indices.len());
        let mut indices = indices.into_iter().peekable();
        for vertex in self.vertices() {
            if indices.next_if_eq(&vertex.index).is_some() {
                outermost.push(vertex);
            }
        }
        outermost
    }
}

/// A vertex, and the joints that move it.
struct PosedVertex {
    index: u32,
    position: [f32; 3],
    joints: [u32; 4],
    weights: [f32; 4],
}

impl PosedVertex {
    /// Sets the joints. Returns `false` if programs do not agree on the position of the vertex in a frame: its weights do not sum to 1,
    /// or a joint with a weight is not one of the `count` joints.
    fn set_joints(&mut self, indexes: [f32; 4], count: usize) -> bool {
        /// Less than a step of weights that are bytes.
        const TOLERANCE: f32 = 1e-3;
        let sum: f32 = self.weights.iter().sum();
        if (sum - 1.0).abs() > TOLERANCE || sum.is_nan() {
            return false;
        }
        let joints = self.joints.iter_mut().zip(indexes);
        for ((joint, index), weight) in joints.zip(self.weights) {
            if weight == 0.0 {
                continue;
            }
            if !(0.0..as_u64(count) as f32).contains(&index) {
                return false;
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the index is in the range of the joints"
            )]
            {
                *joint = index as u32;
            }
        }
        true
    }

    /// The joint with the largest weight.
    fn main_joint(&self) -> u32 {
        let [mut main, ..] = self.joints;
        let mut largest = 0.0;
        for (joint, weight) in self.joints.iter().zip(self.weights) {
            if weight > largest {
                main = *joint;
                largest = weight;
            }
        }
        main
    }

    /// The position to which skinning matrices move the vertex.
    fn posed(&self, matrices: &[Matrix]) -> [f32; 3] {
        let [x, y, z] = self.position;
        let mut position = [0.0; 3];
        for (joint, weight) in self.joints.iter().zip(self.weights) {
            if weight == 0.0 {
                continue;
            }
            let matrix = matrices.get(as_usize(*joint)).unwrap_or(&IDENTITY);
            for (number, row) in position.iter_mut().zip(matrix) {
                *number += weight * (row[0] * x + row[1] * y + row[2] * z + row[3]);
            }
        }
        position
    }
}

/// The vertices of a joint with the maximum and the minimum of x, y and z.
#[derive(Clone, Default)]
struct Outermost {
    vertices: [Option<u32>; 6],
    distances: [f32; 6],
}

impl Outermost {
    fn add(&mut self, vertex: &PosedVertex) {
        let [x, y, z] = vertex.position;
        let distances = [x, y, z, -x, -y, -z];
        let known = self.vertices.iter_mut().zip(&mut self.distances);
        for ((known, largest), distance) in known.zip(distances) {
            if distance.is_finite() && (known.is_none() || distance > *largest) {
                *known = Some(vertex.index);
                *largest = distance;
            }
        }
    }
}

/// The frames of a model, and the vertices that are posed in them.
struct FrameCheck {
    frames: Frames,
    skeleton: Skeleton,
    vertices: Vec<PosedVertex>,
    /// The distance by which frames may miss the positions that their writer had.
    rounding: f32,
}

/// A vertex that is not in the box of its frame.
struct Outside {
    index: u32,
    position: [f32; 3],
    distance: f32,
}

impl FrameCheck {
    /// Compares the box of each frame, of a file with `filesize` bytes.
    fn run(&self, boxes: &Array<[f32; 8]>, filesize: u32, findings: &mut Findings) -> Result<()> {
        /// Matrices, and vertices for each joint that moves them, per byte of the file. Frames in which nothing moves take up
        /// few bytes, however many joints there are.
        const STEPS_PER_BYTE: u64 = 4;
        /// Poses that are decoded at once.
        const POSES: u32 = 4096;
        let joints = self.skeleton.len();
        let steps_per_frame = as_u64(self.vertices.len())
            .saturating_mul(4)
            .saturating_add(as_u64(joints));
        let steps = u64::from(filesize).saturating_mul(STEPS_PER_BYTE);
        let affordable = steps.checked_div(steps_per_frame).unwrap_or(0);
        let affordable = u32::try_from(affordable).unwrap_or(u32::MAX);
        let frames = self.frames.len().min(affordable);
        let poses_per_frame = u32::try_from(joints).unwrap_or(u32::MAX);
        let frames_at_once = POSES.checked_div(poses_per_frame).unwrap_or(1).max(1);
        let mut poses = vec![Trs::default(); as_usize(frames_at_once).saturating_mul(joints)];
        let mut matrices = vec![IDENTITY; joints];

        let mut first = 0;
        while first < frames {
            job::check("iqmbounds[]")?;
            let end = first.saturating_add(frames_at_once).min(frames);
            let count = as_usize(end.saturating_sub(first)).saturating_mul(joints);
            let poses = poses.get_mut(..count).unwrap_or_default();
            self.frames.read_range_into(first..end, poses)?;
            for (frame, pose) in (first..end).zip(poses.chunks_exact(joints)) {
                let Some([x, y, z, max_x, max_y, max_z, ..]) = boxes.get(as_usize(frame)) else {
                    return Ok(());
                };
                let stored = Bounds::new([x, y, z], [max_x, max_y, max_z]);
                self.skeleton.skinning_matrices_into(pose, &mut matrices)?;
                if let Some(outside) = self.find_outside(stored, &matrices) {
                    findings.add(rules::FRAME_BOUNDS, || {
                        let place = FILE.of(Address::field("bounds").index(frame.into()));
                        let stored = interval(&stored.min, &stored.max);
                        let [x, y, z] = outside.position;
                        let index = outside.index;
                        let detail =
                            format!("expected vertices[{index}] in {stored}, found {x} {y} {z}");
                        (place, detail)
                    });
                }
            }
            first = end;
        }
        Ok(())
    }

    /// The vertex that is farthest outside of a box, unless it is nearer than the precision of a writer.
    fn find_outside(&self, stored: Bounds, matrices: &[Matrix]) -> Option<Outside> {
        /// The allowed share of the largest side of a box around the stored box and the vertices. The files of known exporters differ by
        /// up to 0.4 %.
        const SHARE: f32 = 0.05;
        /// The allowed share of the largest coordinate, for positions far from the origin.
        const SHARE_OF_COORDINATE: f32 = 1e-4;
        // Boxes that are not boxes are separate findings.
        if stored.is_empty() || !is_finite(stored.min) || !is_finite(stored.max) {
            return None;
        }
        let mut all = stored;
        let mut farthest: Option<Outside> = None;
        for vertex in &self.vertices {
            let position = vertex.posed(matrices);
            if !is_finite(position) {
                continue;
            }
            all.add([position]);
            let distance = distance_outside(stored, position);
            if farthest
                .as_ref()
                .is_none_or(|other| distance > other.distance)
            {
                farthest = Some(Outside {
                    index: vertex.index,
                    position,
                    distance,
                });
            }
        }
        let mut side = 0.0_f32;
        let mut coordinate = 0.0_f32;
        for (min, max) in all.min.into_iter().zip(all.max) {
            side = side.max(max - min);
            coordinate = coordinate.max(min.abs()).max(max.abs());
        }
        let tolerance = side * SHARE + coordinate * SHARE_OF_COORDINATE + self.rounding;
        farthest.filter(|outside| outside.distance > tolerance)
    }
}

fn is_finite(position: [f32; 3]) -> bool {
    position.iter().all(|number| number.is_finite())
}

/// The largest distance of a position from a box along an axis; not above 0 for a position in the box.
fn distance_outside(stored: Bounds, position: [f32; 3]) -> f32 {
    let mut distance = f32::NEG_INFINITY;
    for (number, (min, max)) in position
        .into_iter()
        .zip(stored.min.into_iter().zip(stored.max))
    {
        distance = distance.max(min - number).max(number - max);
    }
    distance
}

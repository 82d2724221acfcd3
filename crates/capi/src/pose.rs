//! The joints of a scene, and the clips that move them.

use std::ffi::c_char;

use meshmap_scene::{Clip, Skeleton, matrix};

use crate::fail::{Fail, Result, guard, mm_status};
use crate::format::unknown;
use crate::handle;
use crate::list::no_such;
use crate::memory::{First, Places, put_sized};
use crate::scene::{Drawing, mm_scene};

/// A joint of a scene, in the bind pose.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_scene_joint {
    /// sizeof(mm_scene_joint), set by the caller.
    pub size: usize,
    /// The name; `joint_3` for a joint of a file that stores no joints.
    pub name: *const c_char,
    /// The index of the parent; -1 for a root. In a Second Life mesh, a parent may come after its children.
    pub parent: i64,
    /// The transform in the bind pose, relative to the parent, column by column.
    pub rest: [f32; 16],
    /// The matrix that takes a vertex in the bind pose into the joint, column by column.
    pub inverse_bind: [f32; 16],
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_scene_joint {}

/// An animation of the joints of a scene.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_clip {
    /// sizeof(mm_clip), set by the caller.
    pub size: usize,
    /// The name.
    pub name: *const c_char,
    /// The number of frames.
    pub frame_count: usize,
    /// The time until the animation ends, or begins again, in seconds.
    pub seconds: f64,
    /// Frames per second: as stored, or 24 if the file stores none that can be used.
    pub rate: f32,
    /// `true` if the file stores the rate.
    pub is_rate_stored: bool,
    /// `true` if the first frame follows the last one.
    pub repeats: bool,
    /// The number of events.
    pub event_count: usize,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_clip {}

/// Something that happens at a time of a clip, such as a footstep.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_event {
    /// sizeof(mm_event), set by the caller.
    pub size: usize,
    /// The time in seconds from the first frame.
    pub seconds: f32,
    /// The number of what happens, which a game defines.
    pub code: u32,
    /// The data of what happens.
    pub data: *const c_char,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_event {}

/// A kind of matrices.
pub type mm_matrices = u32;
/// From each joint into the model: where the joints are.
pub const MM_MATRICES_JOINT: mm_matrices = 1;
/// From the bind pose into the pose: what vertices are multiplied with, by their weights.
pub const MM_MATRICES_SKIN: mm_matrices = 2;

/// A joint of a scene.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scene_get_joint(
    scene: *const mm_scene,
    index: usize,
    out: *mut mm_scene_joint,
) -> mm_status {
    guard(|| {
        let drawing = handle::get::<Drawing>(scene)?;
        let none = || no_such("joint", index, drawing.joint_count());
        let skeleton = drawing.skeleton.as_ref().ok_or_else(none)?;
        let joint = skeleton.joints.get(index).ok_or_else(none)?;
        let inverse = skeleton.inverse_bind.get(index).ok_or_else(none)?;
        let parent = joint.parent.map(i64::try_from);
        let info = mm_scene_joint {
            size: 0,
            name: drawing.text(&joint.name())?.as_ptr(),
            parent: parent.transpose().unwrap_or_default().unwrap_or(-1),
            rest: matrix::rounded(&joint.rest.to_matrix()),
            inverse_bind: matrix::rounded(inverse),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

impl Drawing {
    fn clip(&self, index: usize) -> Result<&Clip> {
        let clip = self.clips.get(index);
        clip.ok_or_else(|| no_such("clip", index, self.clips.len()))
    }
}

/// A clip of a scene.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scene_get_clip(
    scene: *const mm_scene,
    index: usize,
    out: *mut mm_clip,
) -> mm_status {
    guard(|| {
        let drawing = handle::get::<Drawing>(scene)?;
        let clip = drawing.clip(index)?;
        // A clip that repeats ends with its first frame.
        let steps = clip.length().saturating_sub(1);
        #[expect(
            clippy::cast_precision_loss,
            reason = "there are fewer frames than that"
        )]
        let seconds = steps as f64 / f64::from(clip.rate());
        let info = mm_clip {
            size: 0,
            name: drawing.text(&clip.name())?.as_ptr(),
            frame_count: clip.frame_count(),
            seconds,
            rate: clip.rate(),
            is_rate_stored: clip.is_rate_stored(),
            repeats: clip.repeats(),
            // Damage is a remark of the scene.
            event_count: clip.event_count().unwrap_or(0),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// An event of a clip, in the order of the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scene_get_event(
    scene: *const mm_scene,
    clip: usize,
    index: usize,
    out: *mut mm_event,
) -> mm_status {
    guard(|| {
        let drawing = handle::get::<Drawing>(scene)?;
        let clip = drawing.clip(clip)?;
        let event = clip.event(index)?;
        let count = clip.event_count()?;
        let event = event.ok_or_else(|| no_such("event", index, count))?;
        let info = mm_event {
            size: 0,
            seconds: event.seconds,
            code: event.code,
            data: drawing.text(&event.data.to_string_lossy())?.as_ptr(),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// The matrices of joints at a time of a clip in seconds: joint_count + 1 matrices of 16 floats, column by column; `capacity` and `count` are
/// matrices. The last one is the identity, for vertices that no joint moves. A vertex moves to the sum of weight * matrix * position over
/// its four joints, with MM_MATRICES_SKIN. `clip` SIZE_MAX is the bind pose, in which nothing moves. A clip that repeats goes on from its last
/// frame to its first; any other stands still before its first and after its last frame. Rotations between frames take the shorter way. The
/// matrices are right also if poses are stored relative to other parents than the joints. MM_ABSENT if the scene has no joints,
/// MM_ERROR_ARGUMENT for a time that is not finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_scene_pose(
    scene: *const mm_scene,
    clip: usize,
    seconds: f64,
    kind: mm_matrices,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let drawing = handle::get::<Drawing>(scene)?;
        // SAFETY: the caller's, as the header says.
        let mut target = unsafe { Places::of::<[f32; 16]>(out.cast(), stride, capacity, count) }?;
        if !matches!(kind, MM_MATRICES_JOINT | MM_MATRICES_SKIN) {
            return Err(unknown("mm_matrices", kind));
        }
        if !seconds.is_finite() {
            return Err(Fail::argument(format!("expected a time, found {seconds}")));
        }
        let skeleton = drawing.skeleton.as_ref().ok_or(Fail::Absent)?;
        let clip = match clip {
            usize::MAX => None,
            index => Some(drawing.clip(index)?),
        };
        let matrix_count = skeleton.joints.len().saturating_add(1);
        target.begin(matrix_count)?;
        if target.is_count_alone() {
            return Ok(());
        }
        let mut matrices = match kind {
            MM_MATRICES_SKIN => skin_matrices(skeleton, clip, seconds)?,
            _ => joint_matrices(skeleton, clip, seconds)?,
        };
        matrices.push(matrix::IDENTITY);
        target.write_each(matrix_count, matrices.iter().map(matrix::rounded))
    })
}

/// From each joint into the model; without a clip in the bind pose.
fn joint_matrices(
    skeleton: &Skeleton,
    clip: Option<&Clip>,
    seconds: f64,
) -> Result<Vec<[f64; 16]>> {
    match clip {
        Some(clip) => Ok(clip.sample_at(seconds)?),
        None => Ok(skeleton.bind_matrices()),
    }
}

/// From the bind pose into the pose; without a clip nothing moves.
fn skin_matrices(skeleton: &Skeleton, clip: Option<&Clip>, seconds: f64) -> Result<Vec<[f64; 16]>> {
    let Some(clip) = clip else {
        return Ok(vec![matrix::IDENTITY; skeleton.joints.len()]);
    };
    let mut matrices = clip.sample_at(seconds)?;
    for (joint, inverse) in matrices.iter_mut().zip(&skeleton.inverse_bind) {
        *joint = matrix::multiply(joint, inverse);
    }
    Ok(matrices)
}

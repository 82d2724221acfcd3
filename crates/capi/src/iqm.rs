//! Skeletons and animations of IQM: skinning matrices at a time.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use meshmap::iqm::{Anim, Frames, IDENTITY, Skeleton, Trs};

use crate::fail::{Fail, Result, guard, mm_status};
use crate::file::{File, mm_file};
use crate::handle::{self, Kind};
use crate::list::{Names, no_such};
use crate::memory::{First, Places, put_if_any, put_sized};
use crate::scratch::{mm_scratch, with};

/// The skeleton of an IQM file, and animations for it.
pub struct mm_rig {
    _opaque: [u8; 0],
}

/// The sizes of a rig.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_rig_info {
    /// sizeof(mm_rig_info), set by the caller.
    pub size: usize,
    /// Joints of the skeleton.
    pub joint_count: usize,
    /// Animations.
    pub anim_count: usize,
    /// Frames of all animations.
    pub frame_count: u32,
    /// Poses in each frame; as many as joints if the animation fits the skeleton.
    pub pose_count: u32,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_rig_info {}

/// Translation, rotation and scale, relative to the parent.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, zerocopy::IntoBytes, zerocopy::Immutable)]
pub struct mm_trs {
    /// Translation x, y, z.
    pub translate: [f32; 3],
    /// Rotation, a quaternion x, y, z, w as stored.
    pub rotate: [f32; 4],
    /// Scale along x, y, z.
    pub scale: [f32; 3],
}

impl From<Trs> for mm_trs {
    fn from(
        Trs {
            translate,
            rotate,
            scale,
            ..
        }: Trs,
    ) -> Self {
        Self {
            translate,
            rotate,
            scale,
        }
    }
}

/// A joint in the bind pose.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_joint {
    /// sizeof(mm_joint), set by the caller.
    pub size: usize,
    /// Its name.
    pub name: *const c_char,
    /// The index of its parent, less than its own; -1 of a root.
    pub parent: i64,
    /// Relative to its parent.
    pub bind: mm_trs,
    /// From its space to the space of the model: three rows of four.
    pub bind_matrix: [[f32; 4]; 3],
    /// From the space of the model to its own.
    pub inverse_bind_matrix: [[f32; 4]; 3],
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_joint {}

/// An animation: a run of frames.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_anim {
    /// sizeof(mm_anim), set by the caller.
    pub size: usize,
    /// Its name.
    pub name: *const c_char,
    /// The index of its first frame.
    pub first_frame: u32,
    /// The number of its frames.
    pub frame_count: u32,
    /// Frames per second; 0 if the file does not store it.
    pub frame_rate: f32,
    /// `true` if the animation loops.
    pub is_loop: bool,
}

// SAFETY: `repr(C)`, begins with its size, and is never read.
unsafe impl First for mm_anim {}

struct Rig {
    skeleton: Option<Skeleton>,
    joints: Vec<(Arc<CStr>, Trs)>,
    anims: Vec<(Arc<CStr>, Anim)>,
    frames: Frames,
}

impl Kind for Rig {
    type Opaque = mm_rig;
    const NAME: &'static str = "mm_rig";
}

impl Rig {
    fn anim(&self, index: usize) -> Result<&(Arc<CStr>, Anim)> {
        self.anims
            .get(index)
            .ok_or_else(|| no_such("animation", index, self.anims.len()))
    }
}

/// The skeleton and the animations of an IQM file; or the skeleton of one and the animations of another, which may be
/// NULL. MM_ERROR_MISMATCH if the animation belongs to another skeleton.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_rig_new(
    file: *const mm_file,
    animation: *const mm_file,
    out: *mut *mut mm_rig,
) -> mm_status {
    let rig = || {
        let file = handle::get::<File>(file)?;
        let animation = handle::get_if_any::<File>(animation)?;
        let attached;
        let model = match &animation {
            None => file.iqm()?,
            Some(animation) => {
                attached = file.iqm()?.attach(animation.iqm()?)?;
                &attached
            }
        };
        let mut names = Names::new(&file.file);
        let mut joints = Vec::new();
        for joint in model.joints() {
            joints.push((names.copy(&joint.name)?, joint.trs));
        }
        let mut anims = Vec::new();
        for anim in model.anims() {
            anims.push((names.copy(&anim.name)?, anim));
        }
        Ok(Arc::new(Rig {
            skeleton: model.skeleton(),
            joints,
            anims,
            frames: model.frames(),
        }))
    };
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, rig) }
}

/// Frees a rig and its texts.
#[unsafe(no_mangle)]
pub extern "C" fn mm_rig_free(rig: *mut mm_rig) -> mm_status {
    guard(|| handle::close::<Rig>(rig))
}

/// The sizes of a rig.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_rig_get_info(rig: *const mm_rig, out: *mut mm_rig_info) -> mm_status {
    guard(|| {
        let rig = handle::get::<Rig>(rig)?;
        let info = mm_rig_info {
            size: 0,
            joint_count: rig.joints.len(),
            anim_count: rig.anims.len(),
            frame_count: rig.frames.len(),
            pose_count: u32::try_from(rig.frames.pose_count()).unwrap_or(u32::MAX),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, info) }
    })
}

/// A joint of the skeleton of a rig.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_rig_joint(
    rig: *const mm_rig,
    index: usize,
    out: *mut mm_joint,
) -> mm_status {
    guard(|| {
        let rig = handle::get::<Rig>(rig)?;
        let none = || no_such("joint", index, rig.joints.len());
        let (name, bind) = rig.joints.get(index).ok_or_else(none)?;
        let skeleton = rig.skeleton.as_ref().ok_or_else(none)?;
        let joint = mm_joint {
            size: 0,
            name: name.as_ptr(),
            parent: skeleton
                .parents()
                .get(index)
                .copied()
                .flatten()
                .map_or(-1, i64::from),
            bind: (*bind).into(),
            bind_matrix: skeleton
                .bind_matrices()
                .get(index)
                .copied()
                .unwrap_or(IDENTITY),
            inverse_bind_matrix: skeleton
                .inverse_bind_matrices()
                .get(index)
                .copied()
                .unwrap_or(IDENTITY),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, joint) }
    })
}

/// An animation of a rig.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_rig_anim(
    rig: *const mm_rig,
    index: usize,
    out: *mut mm_anim,
) -> mm_status {
    guard(|| {
        let rig = handle::get::<Rig>(rig)?;
        let (name, anim) = rig.anim(index)?;
        let anim = mm_anim {
            size: 0,
            name: name.as_ptr(),
            first_frame: anim.first_frame,
            frame_count: anim.num_frames,
            frame_rate: anim.framerate,
            is_loop: anim.is_loop(),
        };
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, anim) }
    })
}

/// The frames before and after a time of an animation, in seconds from its first frame, and the fraction between them.
/// If the file stores no rate, it is `default_rate`, in frames per second. Each place may be NULL. MM_ABSENT if the
/// animation has no frames, or no rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_rig_frames_at(
    rig: *const mm_rig,
    anim: usize,
    seconds: f64,
    default_rate: f32,
    from: *mut u32,
    to: *mut u32,
    fraction: *mut f32,
) -> mm_status {
    guard(|| {
        let rig = handle::get::<Rig>(rig)?;
        let (_, anim) = rig.anim(anim)?;
        let (before, after, between) = anim.frames_at(seconds, default_rate).ok_or(Fail::Absent)?;
        // SAFETY: the caller's, as the header says.
        unsafe {
            put_if_any(from, before);
            put_if_any(to, after);
            put_if_any(fraction, between);
        }
        Ok(())
    })
}

/// The pose of each joint in a frame, as stored, relative to the parent of the pose. A few files have poses with other parents than their
/// joints (iqmpose.parent and iqmjoint.parent), which mm_rig_skinning_at takes into account. Takes no memory once the scratch is large
/// enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_rig_pose(
    rig: *const mm_rig,
    frame: u32,
    scratch: *mut mm_scratch,
    out: *mut mm_trs,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let rig = handle::get::<Rig>(rig)?;
        // SAFETY: the caller's, as the header says.
        let mut target = unsafe { Places::of::<mm_trs>(out.cast(), stride, capacity, count) }?;
        target.begin(rig.frames.pose_count())?;
        if target.is_count_alone() {
            return Ok(());
        }
        with(scratch, |working| {
            working.pose.resize(rig.frames.pose_count(), Trs::default());
            rig.frames.read_frame_into(frame, &mut working.pose)?;
            target.write_each(
                working.pose.len(),
                working.pose.iter().map(|trs| mm_trs::from(*trs)),
            )
        })
    })
}

/// The matrix of each joint that moves vertices from the bind pose to the pose of an animation at a time: three rows of four
/// floats. Made with the parents of the poses, also if they are not the parents of the joints. Times as of mm_rig_frames_at; rotations
/// between frames take the shorter way. Takes no memory once the scratch is large enough. MM_ABSENT if the rig has no skeleton, frame or rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_rig_skinning_at(
    rig: *const mm_rig,
    anim: usize,
    seconds: f64,
    default_rate: f32,
    scratch: *mut mm_scratch,
    out: *mut f32,
    stride: usize,
    capacity: usize,
    count: *mut usize,
) -> mm_status {
    guard(|| {
        let rig = handle::get::<Rig>(rig)?;
        // SAFETY: the caller's, as the header says.
        let mut target =
            unsafe { Places::of::<[[f32; 4]; 3]>(out.cast(), stride, capacity, count) }?;
        let skeleton = rig.skeleton.as_ref().ok_or(Fail::Absent)?;
        let (_, anim) = rig.anim(anim)?;
        let (from, to, fraction) = anim.frames_at(seconds, default_rate).ok_or(Fail::Absent)?;
        target.begin(skeleton.parents().len())?;
        if target.is_count_alone() {
            return Ok(());
        }
        with(scratch, |working| {
            working.pose.resize(rig.frames.pose_count(), Trs::default());
            working.matrices.resize(skeleton.parents().len(), IDENTITY);
            rig.frames
                .interpolate_into(from, to, fraction, &mut working.pose)?;
            skeleton.skinning_matrices_into(&working.pose, &mut working.matrices)?;
            target.write(&working.matrices)
        })
    })
}

//! The settings of a picture, and the report on a drawn one.

use std::path::{Path, PathBuf};

use meshmap::{Address, Axis, Parallelism};

use super::camera::Frame;
use crate::moment::{Wanted, When};
use crate::outcome::{Report, add};
use crate::settings::{Lods, NonFinite};

/// The appearance of triangles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// By three soft lights, in colours of the materials.
    #[default]
    Shaded,
    /// By the same lights, all in one neutral colour: materials make no difference.
    Clay,
    /// Their edges, and what is behind them hidden.
    Wireframe,
    /// Their normals as colours: red to the right, green up, blue to the front, as the file has them.
    Normals,
}

/// The number of samples per pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Samples {
    /// One: edges have steps.
    One,
    /// Four.
    #[default]
    Four,
    /// Nine, for about twice the time.
    Nine,
}

/// The kind of picture that is made of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    Still,
    Turntable(u32),
    Animation,
    Sheet,
}

/// A picture to be made, and its settings.
///
/// # Examples
///
/// ```
/// use meshmap::MeshFile;
/// use meshmap_export::Render;
///
/// # let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/cgeo/valid/anim_a.cgeo");
/// let file = MeshFile::open(path)?;
/// let (picture, rendered) = Render::new().with_size(200, 150).with_snapshot(3).picture(&file)?;
/// assert_eq!((picture.width(), picture.height()), (200, 150));
/// println!("{}: {} triangles", rendered.moment, rendered.triangles);
/// # Ok::<(), meshmap_export::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Render {
    pub(super) size: Option<Frame>,
    pub(super) samples: Samples,
    pub(super) mode: Mode,
    pub(super) up: Option<Axis>,
    pub(super) meshes: Vec<Address>,
    pub(super) lods: Lods,
    pub(super) wanted: Wanted,
    pub(super) motion: Motion,
    pub(super) every: usize,
    pub(super) non_finite: NonFinite,
    pub(super) parallelism: Parallelism,
}

impl Default for Render {
    fn default() -> Self {
        Self::new()
    }
}

/// The name of the target in errors.
pub(super) const TARGET: &str = "png";

/// The longest side of a picture.
const LONGEST: u32 = 8192;

impl Render {
    /// A picture of 1024 x 1024 pixels of what is drawn by default: all geometry, the finest level of detail, the first
    /// snapshot, the bind pose.
    #[must_use]
    pub fn new() -> Self {
        Self {
            size: None,
            samples: Samples::default(),
            mode: Mode::default(),
            up: None,
            meshes: Vec::new(),
            lods: Lods::Finest,
            wanted: Wanted::default(),
            motion: Motion::Still,
            every: 1,
            non_finite: NonFinite::Refuse,
            parallelism: Parallelism::default(),
        }
    }

    /// Sets the width and the height in pixels, from 1 to 8192; in a contact sheet, the size of each tile (default: 256 x 256).
    #[must_use]
    pub fn with_size(self, width: u32, height: u32) -> Self {
        Self {
            size: Some(Frame { width: width.clamp(1, LONGEST), height: height.clamp(1, LONGEST) }),
            ..self
        }
    }

    /// Sets the number of samples per pixel.
    #[must_use]
    pub fn with_samples(self, samples: Samples) -> Self {
        Self { samples, ..self }
    }

    /// Sets the appearance of triangles.
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Takes this axis for the one that points up, whatever the format says.
    #[must_use]
    pub fn with_up(self, up: Axis) -> Self {
        Self { up: Some(up), ..self }
    }

    /// Draws this mesh; several calls draw several.
    #[must_use]
    pub fn with_mesh(mut self, address: Address) -> Self {
        self.meshes.push(address);
        self
    }

    /// Sets the levels of detail of a Second Life asset to draw.
    #[must_use]
    pub fn with_lods(self, lods: Lods) -> Self {
        Self { lods, ..self }
    }

    /// Draws a snapshot of a CGeo file, counted from 0.
    #[must_use]
    pub fn with_snapshot(mut self, index: usize) -> Self {
        self.wanted.when = When::Snapshot(index);
        self
    }

    /// Draws a frame of an IQM animation, counted from 0.
    #[must_use]
    pub fn with_frame(mut self, frame: u32) -> Self {
        self.wanted.when = When::Frame(frame);
        self
    }

    /// Draws the snapshot, or the frame of the animation, that is nearest to a time in seconds.
    #[must_use]
    pub fn with_time(mut self, seconds: f64) -> Self {
        self.wanted.when = When::Seconds(seconds);
        self
    }

    /// Takes frames from the IQM animation of this name, in place of the first.
    #[must_use]
    pub fn with_anim(mut self, name: impl Into<String>) -> Self {
        self.wanted.anim = Some(name.into());
        self
    }

    /// Writes an APNG of this number of `pictures`, in which the mesh rotates once around the up axis.
    #[must_use]
    pub fn with_turntable(self, pictures: u32) -> Self {
        Self { motion: Motion::Turntable(pictures.max(1)), ..self }
    }

    /// Writes an APNG of all snapshots, or of all frames of an animation; of what does not move, one picture.
    #[must_use]
    pub fn with_animation(self) -> Self {
        Self { motion: Motion::Animation, ..self }
    }

    /// Writes a contact sheet of all snapshots, or of all frames of an animation; of what does not move, one tile.
    #[must_use]
    pub fn with_sheet(self) -> Self {
        Self { motion: Motion::Sheet, ..self }
    }

    /// Takes each n-th snapshot or frame for animations and contact sheets.
    #[must_use]
    pub fn with_every(self, every: usize) -> Self {
        Self { every: every.max(1), ..self }
    }

    /// Sets the treatment of NaN and infinite values.
    #[must_use]
    pub fn with_non_finite(self, non_finite: NonFinite) -> Self {
        Self { non_finite, ..self }
    }

    /// Sets whether all threads of rayon's pool draw the picture. The outcome is the same.
    #[must_use]
    pub fn with_parallelism(self, parallelism: Parallelism) -> Self {
        Self { parallelism, ..self }
    }
}

/// The result of drawing.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Rendered {
    /// The file that was written.
    pub path: Option<PathBuf>,
    /// The width and the height of each picture.
    pub size: [u32; 2],
    /// The number of pictures in the file.
    pub pictures: u32,
    /// The number of triangles; for an animation, the number in its last picture.
    pub triangles: u64,
    /// The snapshot or the frame, in one line; empty for what does not move, and for the bind pose.
    pub moment: String,
    /// The largest distance between two compared vertices, for a comparison.
    pub largest_distance: Option<f64>,
    /// Assumptions, and parts that were not drawn as stored, one line each: the first 64.
    pub notes: Vec<String>,
    /// The number of further notes.
    pub more_notes: u64,
}

impl Report for Rendered {
    fn lacks(&mut self, what: String) {
        Self::note(self, format!("drawn without {what}"));
    }

    fn skips(&mut self, _: String) {}

    fn note(&mut self, _: String) {}
}

impl Rendered {
    pub(super) fn note(&mut self, note: String) {
        add(note, &mut self.notes, &mut self.more_notes);
    }

    pub(super) fn at(self, path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..self }
    }

    pub(super) fn with(self, size: &[u32; 2], pictures: u32) -> Self {
        Self { size: *size, pictures, ..self }
    }
}

//! The options of a picture, and the report on a drawn one.

use std::num::NonZero;
use std::path::PathBuf;

use meshmap::{Address, Axis, MeshFile, Parallelism};
use meshmap_images::Library;
use meshmap_job::{
    Budget, CLIPS, FactKind, LEVELS, Lods, MOMENTS, Report, Result, SNAPSHOTS, Textures, Turn,
    identity, keep_without_effect, options, texts,
};
#[cfg(feature = "clap")]
use meshmap_job::{ParseError, parse};
use meshmap_outputs::Written;
use meshmap_scene::SceneOptions;

use crate::background::Background;
use crate::camera::{Frame, Viewpoint};

/// The appearance of triangles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// By three soft lights, in colours of the materials.
    #[default]
    Shaded,
    /// By the same lights, all in one neutral colour: materials make no difference.
    Clay,
    /// Their edges as lines, on clay.
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

texts!(
    Mode,
    [
        ("shaded", Mode::Shaded),
        ("clay", Mode::Clay),
        ("wireframe", Mode::Wireframe),
        ("normals", Mode::Normals),
    ]
);

texts!(
    Samples,
    [
        ("1", Samples::One),
        ("4", Samples::Four),
        ("9", Samples::Nine)
    ]
);

options! {
    /// A picture to be made, and its options.
    ///
    /// By default it is one picture of what is drawn by default: all geometry, the finest level of detail, the first snapshot, the bind
    /// pose. If several are set, `seconds` overrides `frame`, which overrides `snapshot`; `sheet` overrides `animation`, which
    /// overrides `turntable`. An animation or a contact sheet of a file without motion has one picture. In a turntable, the mesh
    /// rotates once around the up axis. The sides of pictures are limited to 1 to 8192 pixels.
    ///
    /// Each field but the last four is an option of the command and of Python as well. Options may be added: end an expression of this
    /// type with `..Render::default()`.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::MeshFile;
    /// use meshmap_render::Render;
    ///
    /// # let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/cgeo/valid/anim_a.cgeo");
    /// let file = MeshFile::open(path)?;
    /// let render = Render { size: Some([200, 150]), snapshot: Some(3), ..Render::default() };
    /// let (picture, rendered) = render.picture(&file)?;
    /// assert_eq!((picture.width(), picture.height()), (200, 150));
    /// println!("{}: {} triangles", rendered.moment, rendered.triangles);
    /// # Ok::<(), meshmap_render::Error>(())
    /// ```
    Render {
            /// Width and height in pixels, such as 800x600. By default 1024x1024; tiles of sheets 256x256, or 128x128 if there are
            /// more than 400.
            #[arg(long, value_name = "WxH", value_parser = parse_size)]
            size: Option<[u32; 2]>,
            /// Samples per pixel: 1, 4 or 9.
            #[arg(long, value_name = "N", default_value_t)]
            samples: Samples,
            /// Look: shaded, clay, wireframe or normals. Clay has one colour for all materials, and a wireframe is drawn over it.
            #[arg(long, value_name = "MODE", default_value_t)]
            mode: Mode,
            /// Leave out ambient occlusion, which darkens folds and corners.
            #[arg(long)]
            no_occlusion: bool,
            /// Leave out the shadow on the ground below the mesh.
            #[arg(long)]
            no_shadow: bool,
            /// The background: white, black, transparent, or a colour such as #f2f3f5 [default: #f2f3f5].
            #[arg(long, value_name = "COLOR", default_value_t, hide_default_value = true)]
            background: Background,
            /// Three-quarter, front, side or top. It is where everything is seen from; `side` is the right side.
            #[arg(long, value_name = "SIDE", default_value_t)]
            view: Viewpoint,
            /// The width of points, in pixels [default: from 3 to 20 of 1024, by their number].
            #[arg(long, value_name = "PIXELS", value_parser = parse::above_zero)]
            points: Option<f64>,
            /// Also look for images anywhere below this directory. It may be the root of a game. Can be given several times.
            #[arg(long, value_name = "DIR")]
            textures: Vec<PathBuf> => &[FactKind::Materials],
            /// The axis that points up: x, y, z, -x, -y or -z [default: the axis of the format].
            #[arg(long, value_name = "AXIS")]
            up: Option<Axis>,
            /// Turn everything about the up axis: 90, 180 or 270 degrees, counter-clockwise as seen from above.
            #[arg(long, value_name = "DEGREES", default_value_t)]
            turn: Turn,
            /// Select the mesh at this address, such as `high_lod.faces[0]`, or the meshes of a part, such as `high_lod`. Can be
            /// given several times.
            #[arg(long = "mesh", value_name = "ADDRESS")]
            meshes: Vec<Address>,
            /// Second Life: the level of detail. It is finest, high, medium, low, lowest or all.
            #[arg(long, value_name = "LEVEL", default_value_t, conflicts_with = "meshes")]
            lod: Lods => LEVELS,
            /// The snapshot of a CGeo file, counted from 0.
            #[arg(long, value_name = "N", group = "moment")]
            snapshot: Option<usize> => SNAPSHOTS,
            /// The frame of an IQM animation, counted from 0.
            #[arg(long, value_name = "N", group = "moment")]
            frame: Option<u32> => CLIPS,
            /// The snapshot or frame nearest to this time.
            #[arg(long = "time", value_name = "SECONDS", group = "moment", value_parser = parse::finite)]
            seconds: Option<f64> => MOMENTS,
            /// The IQM animation with this name [default: the first].
            #[arg(long, value_name = "NAME")]
            anim: Option<String> => CLIPS,
            /// Write an APNG of N pictures in which the mesh turns around.
            #[arg(long, value_name = "N", group = "motion", value_parser = clap::value_parser!(u32).range(1..=10_000))]
            turntable: Option<u32>,
            /// Write an APNG of all snapshots or frames.
            #[arg(long = "animate", group = "motion", conflicts_with = "moment")]
            animation: bool,
            /// Write a contact sheet of all files. For a single file, it is of its snapshots or frames.
            #[arg(long, group = "motion")]
            sheet: bool,
            /// Use only every N-th snapshot or frame [default: 1].
            #[arg(long, value_name = "N")]
            every: Option<NonZero<usize>> => MOMENTS,
            /// Draw 0 for NaN and infinite values.
            #[arg(long)]
            zero_non_finite: bool,
    } and {
        /// The folder of the file, in which the images that it names are looked for.
        #[serde(skip)]
        folder: Option<PathBuf>,
        /// The folders and images that the run knows. Clones share them.
        #[serde(skip)]
        library: Library,
        /// The use of the threads of rayon's pool. The outcome does not depend on it.
        #[serde(skip)]
        parallelism: Parallelism,
        /// `true` if an option that has no effect on the file is an error: for one file. Otherwise the report lists such options.
        #[serde(skip)]
        refuses_without_effect: bool,
    }
}

/// The name of the target in errors.
pub(crate) const TARGET: &str = "png";

/// The longest side of a picture.
pub(crate) const LONGEST: u32 = 8192;

#[cfg(feature = "clap")]
fn parse_size(text: &str) -> Result<[u32; 2], ParseError> {
    let sides = text.split_once('x');
    let sides = sides.and_then(|(width, height)| Some([width.parse().ok()?, height.parse().ok()?]));
    let is_possible = |sides: &[u32; 2]| sides.iter().all(|side| (1..=LONGEST).contains(side));
    let expected = || ParseError::new(&[&format!("WIDTHxHEIGHT, each from 1 to {LONGEST}")]);
    sides.filter(is_possible).ok_or_else(expected)
}

/// The result of drawing.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Rendered {
    /// The file that was written.
    pub file: Option<Written>,
    /// The width and the height of each picture.
    pub size: [u32; 2],
    /// The number of pictures in the file.
    pub pictures: u32,
    /// The number of triangles; for an animation, the number in its last picture.
    pub triangles: u64,
    /// The number of points of a file that has only points.
    pub points: u64,
    /// The number of joints of a file that has only joints.
    pub joints: u64,
    /// The snapshot or the frame, in one line; empty for what does not move, and for the bind pose.
    pub moment: String,
    /// The largest distance between two compared vertices, for a comparison.
    pub largest_distance: Option<f64>,
    /// The images that the file names, and where they were found.
    pub textures: Textures,
    /// Assumptions, and parts that were not drawn as stored.
    pub report: Report,
}

impl Render {
    /// The revision of the renderer: it changes when pictures do.
    pub const REVISION: u32 = 3;

    /// The size of each picture.
    pub(crate) fn frame(&self) -> Frame {
        const USUAL: Frame = Frame {
            width: 1024,
            height: 1024,
        };
        const TILE: Frame = Frame {
            width: 256,
            height: 256,
        };
        let usual = if self.sheet { TILE } else { USUAL };
        let side = |side: u32| side.clamp(1, LONGEST);
        self.size.map_or(usual, |[width, height]| Frame {
            width: side(width),
            height: side(height),
        })
    }

    /// The options that have no effect on a file, with the kinds of data that they are about; fails if they are refused.
    pub(crate) fn report_of(&self, file: &MeshFile, budget: &Budget) -> Result<Report> {
        let mut report = Report::default();
        let mut without_effect = self.about_kinds();
        if without_effect.is_empty() && self.points.is_none() {
            // The facts of the file are for these options only.
            return Ok(report);
        }
        let mut options = SceneOptions::default();
        options.meshes.clone_from(&self.meshes);
        options.levels = self.lod.levels();
        options.snapshots = file.as_cgeo().map(|_| vec![0]);
        let scene = budget.scene(file, &options, TARGET)?;
        keep_without_effect(&mut without_effect, &scene.facts());
        if self.points.is_some() && !scene.are_points() {
            without_effect.push(("points", &[]));
        }
        report.warn_without_effect(&without_effect, self.refuses_without_effect)?;
        Ok(report)
    }

    /// All that decides about a picture except for the file: the version of this package, the revision of the renderer, and the settings.
    /// For [`Record::read`](meshmap_outputs::Record::read).
    #[must_use]
    pub fn identity(&self) -> String {
        // These are of one file, and come with its path.
        let shared = Self {
            folder: None,
            refuses_without_effect: false,
            ..self.clone()
        };
        identity(
            "meshmap-render",
            "png",
            Self::REVISION,
            &format!("{shared:?}"),
        )
    }
}

impl Rendered {
    pub(crate) fn at(self, file: Written) -> Self {
        Self {
            file: Some(file),
            ..self
        }
    }

    pub(crate) fn with(self, frame: Frame, pictures: u32) -> Self {
        Self {
            size: [frame.width, frame.height],
            pictures,
            ..self
        }
    }
}

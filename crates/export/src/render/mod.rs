//! Pictures of meshes, made without a GPU: the same bytes for any number of threads and on every host.
//!
//! Of what a reader computes with the host's sines (normals of TMF and of OpenCTM with MG2), bytes may differ by host.

mod camera;
mod color;
mod draw;
mod heat;
mod label;
mod occlusion;
mod picture;
mod raster;
mod scene;
mod shading;
mod sheet;

use std::path::{Path, PathBuf};

use meshmap::{Address, Axis, MeshFile, Parallelism};

pub use self::picture::Picture;
pub use self::sheet::Sheet;

use self::camera::{Camera, Frame, Reach, View, turn};
use self::draw::{Style, draw};
use self::picture::written;
use self::scene::Scene;
use crate::assume::{self, USUAL_RATE};
use crate::convert::{Lods, NonFinite};
use crate::error::Result;
use crate::moment::{Finder, Moment, Named, Wanted, When};
use crate::outcome::Outcome;
use crate::output::Output;

/// How triangles look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// By three soft lights, in colours of the materials.
    #[default]
    Shaded,
    /// Their edges, and what is behind them hidden.
    Wireframe,
    /// Their normals as colours: red to the right, green up, blue to the front, as the file has them.
    Normals,
}

/// How many samples a pixel has.
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

/// What is made of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Motion {
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
    size: Option<Frame>,
    samples: Samples,
    mode: Mode,
    up: Option<Axis>,
    meshes: Vec<Address>,
    lods: Lods,
    wanted: Wanted,
    motion: Motion,
    every: usize,
    non_finite: NonFinite,
    parallelism: Parallelism,
}

impl Default for Render {
    fn default() -> Self {
        Self::new()
    }
}

/// What errors call pictures.
const TARGET: &str = "png";

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

    /// The width and the height in pixels, from 1 to 8192; of a contact sheet, those of each tile (default: 256 x 256).
    #[must_use]
    pub fn with_size(self, width: u32, height: u32) -> Self {
        Self {
            size: Some(Frame { width: width.clamp(1, LONGEST), height: height.clamp(1, LONGEST) }),
            ..self
        }
    }

    /// How many samples a pixel has.
    #[must_use]
    pub fn with_samples(self, samples: Samples) -> Self {
        Self { samples, ..self }
    }

    /// How triangles look.
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

    /// Which levels of detail of a Second Life asset are drawn.
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

    /// Writes an APNG of so many pictures, in which the mesh turns once around the axis that points up.
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

    /// What happens to numbers that are infinite, or none.
    #[must_use]
    pub fn with_non_finite(self, non_finite: NonFinite) -> Self {
        Self { non_finite, ..self }
    }

    /// Whether the picture is made by all threads of rayon's pool. The outcome is the same.
    #[must_use]
    pub fn with_parallelism(self, parallelism: Parallelism) -> Self {
        Self { parallelism, ..self }
    }

    fn frame(&self) -> Frame {
        const USUAL: Frame = Frame { width: 1024, height: 1024 };
        const TILE: Frame = Frame { width: 256, height: 256 };
        self.size.unwrap_or(if self.motion == Motion::Sheet { TILE } else { USUAL })
    }

    fn style(&self) -> Style {
        let samples = match self.samples {
            Samples::One => 1,
            Samples::Four => 4,
            Samples::Nine => 9,
        };
        Style { mode: self.mode, samples, is_parallel: self.parallelism == Parallelism::Rayon }
    }

    /// The axis that points up in a file.
    fn up(&self, file: &MeshFile, rendered: &mut Rendered) -> Axis {
        assume::up(file.format(), self.up, |note| rendered.note(note))
    }

    fn finder<'a>(&self, wanted: &'a Wanted) -> Finder<'a> {
        Finder { wanted, target: TARGET }
    }

    /// The moment that is drawn in one picture.
    fn moment(&self, file: &MeshFile) -> Result<Named> {
        let moves = self.meshes.is_empty() && file.as_cgeo().is_some_and(|proxy| proxy.len() > 1);
        if moves && self.wanted == Wanted::default() {
            return self.finder(&Wanted { when: When::Snapshot(0), anim: None }).one(file);
        }
        self.finder(&self.wanted).one(file)
    }

    /// The camera that has a scene in its picture.
    fn camera(&self, file: &MeshFile, scene: &Scene, frame: Frame, rendered: &mut Rendered) -> Camera {
        let (view, reach) = self.reach(file, scene, frame, rendered);
        reach.camera(view, frame, false)
    }

    /// Where a scene is looked at from, and how far it reaches there.
    fn reach(&self, file: &MeshFile, scene: &Scene, frame: Frame, rendered: &mut Rendered) -> (View, Reach) {
        let view = View::new(self.up(file, rendered), turn(0, 1));
        let mut reach = Reach::new(frame, middle(scene));
        reach.add(&view, &scene.positions);
        (view, reach)
    }

    /// Makes one picture.
    ///
    /// # Errors
    ///
    /// [`Read`](crate::Error::Read) where the file cannot be read, [`NotHeld`](crate::Error::NotHeld) where there is nothing to draw,
    /// no such moment, or so many large triangles that they cover the picture 4,096 times, and [`NonFinite`](crate::Error::NonFinite) for such a number.
    pub fn picture(&self, file: &MeshFile) -> Result<(Picture, Rendered)> {
        let mut rendered = Rendered::default();
        let named = self.moment(file)?;
        let scene = Scene::of(file, self, named.moment, &mut rendered)?;
        rendered.moment = named.name;
        let camera = self.camera(file, &scene, self.frame(), &mut rendered);
        let picture = draw(&scene, &camera, self.frame(), self.style())?;
        Ok((picture, rendered.with(&picture_size(self.frame()), 1)))
    }

    /// Writes a PNG of a file at this path: one picture, an animation or a contact sheet. It appears when it is complete.
    ///
    /// # Errors
    ///
    /// Those of [`picture`](Self::picture), and [`Write`](crate::Error::Write) where that fails.
    pub fn write_file(&self, file: &MeshFile, path: impl AsRef<Path>) -> Result<Rendered> {
        let path = path.as_ref();
        match self.motion {
            Motion::Still => {
                let (picture, rendered) = self.picture(file)?;
                save(&picture, path, rendered)
            }
            Motion::Turntable(pictures) => self.write_turntable(file, pictures, path),
            Motion::Animation => self.write_animation(file, path),
            Motion::Sheet => self.write_sheet(file, path),
        }
    }

    fn write_turntable(&self, file: &MeshFile, pictures: u32, path: &Path) -> Result<Rendered> {
        /// A turn takes as many seconds as there are pictures, by this many.
        const RATE: u16 = 24;
        let mut rendered = Rendered::default();
        let named = self.moment(file)?;
        let scene = Scene::of(file, self, named.moment, &mut rendered)?;
        rendered.moment = named.name;
        let (up, frame) = (self.up(file, &mut rendered), self.frame());
        let views = || (0..pictures).map(|step| View::new(up, turn(step, pictures)));
        let mut reach = Reach::new(frame, middle(&scene));
        views().for_each(|view| reach.add(&view, &scene.positions));
        let cameras = views().map(|view| Ok((None, reach.camera(view, frame, true))));
        self.write_apng(&scene, cameras, (pictures, [1, RATE]), path)?;
        Ok(rendered.at(path).with(&picture_size(frame), pictures))
    }

    fn write_animation(&self, file: &MeshFile, path: &Path) -> Result<Rendered> {
        let Some(run) = self.finder(&self.wanted).all(file, self.every)? else {
            let (picture, mut rendered) = self.picture(file)?;
            rendered.note("nothing moves: one picture".to_owned());
            return save(&picture, path, rendered);
        };
        let mut rendered = Rendered::default();
        let frame = self.frame();
        let (camera, first) = self.camera_of_all(file, &run.moments, &mut rendered)?;
        if run.is_rate_assumed {
            rendered
                .note(format!("the file does not say how fast it moves: taken for {USUAL_RATE} a second"));
        }
        let count = u32::try_from(run.moments.len()).unwrap_or(u32::MAX);
        let mut ignored = Rendered::default();
        let scenes = run
            .moments
            .iter()
            .map(|named| Ok((Some(Scene::of(file, self, named.moment, &mut ignored)?), camera)));
        self.write_apng(&first, scenes, (count, run.delay), path)?;
        rendered.moment = span(&run.moments);
        Ok(rendered.at(path).with(&picture_size(frame), count))
    }

    /// Pictures of scenes, or of this one from several sides, one at a time.
    fn write_apng(
        &self,
        scene: &Scene,
        pictures: impl Iterator<Item = Result<(Option<Scene>, Camera)>>,
        animation: picture::Animation,
        path: &Path,
    ) -> Result<()> {
        let mut output = Output::create(path)?;
        let mut writer = picture::header(output.file(), self.frame(), Some(animation))?;
        for picture in pictures {
            let (own, camera) = picture?;
            let picture = draw(own.as_ref().unwrap_or(scene), &camera, self.frame(), self.style())?;
            writer.write_image_data(picture.bytes()).map_err(written)?;
        }
        writer.finish().map_err(written)?;
        output.finish(&mut Outcome::default())
    }

    fn write_sheet(&self, file: &MeshFile, path: &Path) -> Result<Rendered> {
        let frame = self.frame();
        let moments = match self.finder(&self.wanted).all(file, self.every)? {
            Some(run) => run.moments,
            None => vec![self.moment(file)?],
        };
        let mut rendered = Rendered::default();
        let (camera, _) = self.camera_of_all(file, &moments, &mut rendered)?;
        let mut sheet = Sheet::create(path, moments.len(), frame.width, frame.height)?;
        let mut ignored = Rendered::default();
        for named in &moments {
            let scene = Scene::of(file, self, named.moment, &mut ignored)?;
            let picture = draw(&scene, &camera, frame, self.style())?;
            let (name, time) = named.name.split_once(" (").unwrap_or((&named.name, ""));
            sheet.push(&picture, &[name, time.trim_end_matches(')')])?;
        }
        sheet.finish()?;
        rendered.moment = span(&moments);
        let count = u32::try_from(moments.len()).unwrap_or(u32::MAX);
        Ok(rendered.at(path).with(&picture_size(frame), count))
    }

    /// The camera that has a file at all moments in its picture, and the scene at the first.
    fn camera_of_all(
        &self,
        file: &MeshFile,
        moments: &[Named],
        rendered: &mut Rendered,
    ) -> Result<(Camera, Scene)> {
        let first = moments.first().map_or(Moment::Stored, |named| named.moment);
        let scene = Scene::of(file, self, first, rendered)?;
        let (view, mut reach) = self.reach(file, &scene, self.frame(), rendered);
        for named in moments.iter().skip(1) {
            reach.add(&view, &Scene::of(file, self, named.moment, rendered)?.positions);
        }
        Ok((reach.camera(view, self.frame(), false), scene))
    }

    /// Writes a PNG in which colours are the distances of a mesh's vertices from those of another, with a scale.
    ///
    /// # Errors
    ///
    /// Those of [`write_file`](Self::write_file), and [`NotHeld`](crate::Error::NotHeld) where the two have not the same number
    /// of vertices, or not the same triangles.
    pub fn write_difference(
        &self,
        file: &MeshFile,
        other: &MeshFile,
        path: impl AsRef<Path>,
    ) -> Result<Rendered> {
        let path = path.as_ref();
        let mut rendered = Rendered::default();
        let named = self.moment(file)?;
        let mut scene = Scene::of(file, self, named.moment, &mut rendered)?;
        let theirs = Scene::of(other, self, self.moment(other)?.moment, &mut Rendered::default())?;
        let largest = heat::color_by_distance(&mut scene, &theirs)?;
        drop(theirs);
        rendered.moment = named.name;
        let whole = self.frame();
        let frame = Frame { height: whole.height.saturating_sub(heat::SCALE).max(1), ..whole };
        let camera = self.camera(file, &scene, frame, &mut rendered);
        let picture = draw(&scene, &camera, frame, self.style())?;
        let picture = heat::with_scale(&picture, largest);
        rendered.largest_distance = Some(largest);
        let size = picture_size(picture.frame());
        save(&picture, path, rendered.with(&size, 1))
    }
}

/// Writes a picture at a path.
fn save(picture: &Picture, path: &Path, rendered: Rendered) -> Result<Rendered> {
    let mut output = Output::create(path)?;
    picture.write_png(output.file())?;
    output.finish(&mut Outcome::default())?;
    Ok(rendered.at(path))
}

fn picture_size(frame: Frame) -> [u32; 2] {
    [frame.width, frame.height]
}

/// The first and the last of some moments.
fn span(moments: &[Named]) -> String {
    match moments {
        [] => String::new(),
        [one] => one.name.clone(),
        [first, .., last] => format!("{} .. {}", first.name, last.name),
    }
}

/// The middle of the box around a scene.
fn middle(scene: &Scene) -> [f64; 3] {
    let mut sides = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
    for point in &scene.positions {
        for ([least, greatest], number) in sides.iter_mut().zip(point.map(f64::from)) {
            if number < *least {
                *least = number;
            }
            if number > *greatest {
                *greatest = number;
            }
        }
    }
    sides.map(|[least, greatest]| if least <= greatest { (least + greatest) / 2.0 } else { 0.0 })
}

/// What was drawn.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Rendered {
    /// The file that was written.
    pub path: Option<PathBuf>,
    /// The width and the height of each picture.
    pub size: [u32; 2],
    /// The number of pictures in the file.
    pub pictures: u32,
    /// The number of triangles; of an animation, those of its last picture.
    pub triangles: u64,
    /// The snapshot or the frame; empty for what does not move, and for the bind pose.
    pub moment: String,
    /// Of a comparison, how far the two vertices are apart that are farthest apart.
    pub largest_distance: Option<f64>,
    /// What was assumed, or was not drawn as it is, a line each.
    pub notes: Vec<String>,
}

impl Rendered {
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn at(self, path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..self }
    }

    fn with(self, size: &[u32; 2], pictures: u32) -> Self {
        Self { size: *size, pictures, ..self }
    }
}

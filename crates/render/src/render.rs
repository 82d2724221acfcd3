//! Pictures of files: one, an animation, a turntable, a contact sheet, a comparison.

use std::num::NonZero;
use std::path::Path;

use meshmap::{Bounds, Format, MeshFile, Parallelism};
use meshmap_job::{
    Assumption, Budget, Error, Finder, Moment, Name, Named, Result, Run, Warning, When,
    has_many_snapshots,
};
use meshmap_outputs::{Output, Place, Written};

use crate::camera::{Camera, Frame, Reach, View, turn};
use crate::draw::{Drawn, PIXEL_BYTES, Style, draw};
use crate::drawing::Drawing;
use crate::heat;
use crate::images::Images;
use crate::picture::{self, Picture, written};
use crate::settings::{Render, Rendered, Samples, TARGET};
use crate::sheet::Sheet;

impl Render {
    /// The memory that drawing one picture takes, besides what is held of its file: for programs that draw several at a time. It depends on the
    /// size of the picture only, and no limit of a file applies to it.
    #[must_use]
    pub fn picture_bytes(&self) -> u64 {
        self.frame().pixels() as u64 * PIXEL_BYTES
    }

    fn style(&self) -> Style {
        let samples = match self.samples {
            Samples::One => 1,
            Samples::Four => 4,
            Samples::Nine => 9,
        };
        Style {
            mode: self.mode,
            samples,
            background: self.background,
            has_occlusion: !self.no_occlusion,
            has_shadow: !self.no_shadow,
            is_parallel: self.parallelism == Parallelism::Rayon,
        }
    }

    /// The cosine and the sine of the angle of a picture of a turntable.
    fn angle(&self, picture: u32, pictures: u32) -> [f64; 2] {
        let picture = u64::from(picture);
        let pictures = u64::from(pictures);
        turn(
            4 * picture + u64::from(self.turn.quarters()) * pictures,
            4 * pictures,
        )
    }

    fn finder(&self) -> Finder<'_> {
        let when = When::of(self.snapshot, self.frame, self.seconds);
        Finder {
            when,
            anim: self.anim.as_deref(),
            target: TARGET,
        }
    }

    fn every(&self) -> usize {
        self.every.map_or(1, NonZero::get)
    }

    /// The meshes that are asked for are snapshots, so that no other moment can be drawn.
    fn names_snapshots(&self, file: &MeshFile) -> bool {
        !self.meshes.is_empty() && file.as_cgeo().is_some()
    }

    /// The moments of pictures that show all of them; `None` if nothing moves.
    fn run(&self, file: &MeshFile, budget: &Budget) -> Result<Option<Run>> {
        if self.names_snapshots(file) {
            return Ok(None);
        }
        self.finder().all(file, self.every(), budget)
    }

    /// The moment that is drawn in one picture.
    fn moment(&self, file: &MeshFile) -> Result<Named> {
        let finder = self.finder();
        if self.names_snapshots(file) && finder.when != When::Usual {
            let what = "the meshes that are asked for are snapshots already".to_owned();
            return Err(Error::NotHeld {
                target: TARGET,
                what,
            });
        }
        let moves = self.meshes.is_empty() && has_many_snapshots(file);
        let is_first = moves && finder.when == When::Usual && finder.anim.is_none();
        Finder {
            when: if is_first {
                When::Snapshot(0)
            } else {
                finder.when
            },
            ..finder
        }
        .one(file)
    }

    /// The triangles of a file at a moment, which can be seen.
    fn drawing(
        &self,
        file: &MeshFile,
        moment: Moment,
        images: &mut Images,
        budget: &Budget,
        rendered: &mut Rendered,
    ) -> Result<Drawing> {
        /// On a turntable, a scene may be faint from some sides.
        const SIDES: u32 = 8;
        let mut scene = Drawing::of(file, self, moment, images, budget, rendered)?;
        let up = scene.up;
        let frame = self.frame();
        let sides = if self.turntable.is_some() { SIDES } else { 1 };
        let views: Vec<View> = (0..sides)
            .map(|side| View::new(up, self.view, self.angle(side, sides)))
            .collect();
        scene.make_visible(&views, frame, budget, rendered)?;
        Ok(scene)
    }

    /// The camera that has a scene in its picture.
    fn camera(&self, scene: &Drawing, frame: Frame) -> Camera {
        let (view, reach) = self.reach(scene, frame);
        reach.camera(view, frame, false)
    }

    /// The camera position of a scene, and its extent from there.
    fn reach(&self, scene: &Drawing, frame: Frame) -> (View, Reach) {
        let view = View::new(scene.up, self.view, self.angle(0, 1));
        let mut reach = Reach::new(frame, middle(scene));
        reach.add(&view, &scene.positions);
        (view, reach)
    }

    /// Makes one picture.
    ///
    /// # Errors
    ///
    /// [`Read`](crate::Error::Read) if the file cannot be read. [`NothingToDraw`](crate::Error::NothingToDraw) if it has no triangles,
    /// points or joints. [`NotHeld`](crate::Error::NotHeld) if no pixel is drawn (all triangles are seen edge-on, for example), or if the
    /// moment does not exist. [`NonFinite`](crate::Error::NonFinite) for such a number.
    pub fn picture(&self, file: &MeshFile) -> Result<(Picture, Rendered)> {
        let budget = Budget::of_pictures(file);
        budget.run(|| {
            let report = self.report_of(file, &budget)?;
            let (picture, mut rendered) = self.picture_within(file, &budget)?;
            rendered.report.warnings.extend(report.warnings);
            Ok((picture, rendered))
        })
    }

    fn picture_within(&self, file: &MeshFile, budget: &Budget) -> Result<(Picture, Rendered)> {
        let images = &mut Images::of_mode(self.mode);
        let mut rendered = Rendered::default();
        let named = self.moment(file)?;
        let scene = self.drawing(file, named.moment, images, budget, &mut rendered)?;
        rendered.moment = named.to_text();
        let camera = self.camera(&scene, self.frame());
        let picture = draw(&scene, &camera, self.frame(), self.style(), budget)?.into_picture()?;
        Ok((picture, rendered.with(self.frame(), 1)))
    }

    /// Writes a PNG of a file at this path: one picture, an animation or a contact sheet. It appears when it is complete.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write`](Self::write).
    pub fn write_file(&self, file: &MeshFile, path: impl AsRef<Path>) -> Result<Rendered> {
        self.write(file, &Place::at(path)?)
    }

    /// Writes a PNG of a file at this place in a folder of outputs: one picture, an animation or a contact sheet.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`picture`](Self::picture), and [`Write`](crate::Error::Write) if the file cannot be written. In an animation or a contact
    /// sheet, single pictures may be empty. If all are, that is an error, and no file is written.
    pub fn write(&self, file: &MeshFile, place: &Place) -> Result<Rendered> {
        let budget = &Budget::of_pictures(file);
        budget.run(|| {
            let report = self.report_of(file, budget)?;
            let mut rendered = self.write_within(file, place, budget)?;
            rendered.report.warnings.extend(report.warnings);
            Ok(rendered)
        })
    }

    fn write_within(&self, file: &MeshFile, place: &Place, budget: &Budget) -> Result<Rendered> {
        match self.turntable {
            _ if self.sheet => self.write_sheet(file, place, budget),
            _ if self.animation => self.write_animation(file, place, budget),
            Some(pictures) => self.write_turntable(file, pictures.max(1), place, budget),
            None => {
                let (picture, rendered) = self.picture_within(file, budget)?;
                save(&picture, place, rendered)
            }
        }
    }

    fn write_turntable(
        &self,
        file: &MeshFile,
        pictures: u32,
        place: &Place,
        budget: &Budget,
    ) -> Result<Rendered> {
        /// A turn takes as many seconds as there are pictures, by this many.
        const RATE: u16 = 24;
        let images = &mut Images::of_mode(self.mode);
        let mut rendered = Rendered::default();
        let named = self.moment(file)?;
        let scene = self.drawing(file, named.moment, images, budget, &mut rendered)?;
        rendered.moment = named.to_text();
        let up = scene.up;
        let frame = self.frame();
        let views =
            || (0..pictures).map(|step| View::new(up, self.view, self.angle(step, pictures)));
        let mut reach = Reach::new(frame, middle(&scene));
        views().for_each(|view| reach.add(&view, &scene.positions));
        let cameras = views().map(|view| Ok((None, reach.camera(view, frame, true))));
        let written = self.write_apng(&scene, cameras, (pictures, [1, RATE]), (place, budget))?;
        Ok(rendered.at(written).with(frame, pictures))
    }

    fn write_animation(&self, file: &MeshFile, place: &Place, budget: &Budget) -> Result<Rendered> {
        let Some(run) = self.run(file, budget)? else {
            let (picture, mut rendered) = self.picture_within(file, budget)?;
            rendered.report.warn(Warning::NothingMoves, 1);
            return save(&picture, place, rendered);
        };
        let images = &mut Images::of_mode(self.mode);
        let mut rendered = Rendered::default();
        let frame = self.frame();
        let (camera, first) =
            self.camera_of_all(file, &run.moments, images, budget, &mut rendered)?;
        if run.is_rate_assumed {
            let rate = Assumption::FrameRate(Format::USUAL_RATE);
            rendered.report.assume(rate);
        }
        let count = u32::try_from(run.moments.len()).unwrap_or(u32::MAX);
        let mut ignored = Rendered::default();
        let scenes = run.moments.iter().map(|named| {
            let _scope = budget.scope();
            Ok((
                Some(self.drawing(file, named.moment, images, budget, &mut ignored)?),
                camera,
            ))
        });
        let written = self.write_apng(&first, scenes, (count, run.delay), (place, budget))?;
        rendered.moment = span(&run.moments);
        Ok(rendered.at(written).with(frame, count))
    }

    /// Pictures of scenes, or of this one from several sides, one at a time.
    fn write_apng(
        &self,
        scene: &Drawing,
        pictures: impl Iterator<Item = Result<(Option<Drawing>, Camera)>>,
        animation: picture::Animation,
        (place, budget): (&Place, &Budget),
    ) -> Result<Written> {
        let mut output = Output::create(place)?;
        let mut writer = picture::header(
            &mut output,
            self.frame(),
            self.background.channels(),
            Some(animation),
        )?;
        let mut seen = SeenOnce::default();
        for picture in pictures {
            let (own, camera) = picture?;
            let drawn = draw(
                own.as_ref().unwrap_or(scene),
                &camera,
                self.frame(),
                self.style(),
                budget,
            )?;
            writer
                .write_image_data(drawn.picture.bytes())
                .map_err(written)?;
            seen.add(drawn.nothing);
        }
        seen.check()?;
        writer.finish().map_err(written)?;
        Ok(output.finish()?)
    }

    fn write_sheet(&self, file: &MeshFile, place: &Place, budget: &Budget) -> Result<Rendered> {
        let images = &mut Images::of_mode(self.mode);
        let frame = self.frame();
        let moments = match self.run(file, budget)? {
            Some(run) => run.moments,
            None => vec![self.moment(file)?],
        };
        let mut rendered = Rendered::default();
        let scope = budget.scope();
        let (camera, first) = self.camera_of_all(file, &moments, images, budget, &mut rendered)?;
        let mut first = Some((first, scope));
        let mut sheet = Sheet::create_at(
            place,
            moments.len(),
            [frame.width, frame.height],
            self.background,
        )?;
        let mut seen = SeenOnce::default();
        let mut ignored = Rendered::default();
        for named in &moments {
            let (scene, _scope) = match first.take() {
                Some(first) => first,
                None => {
                    let scope = budget.scope();
                    (
                        self.drawing(file, named.moment, images, budget, &mut ignored)?,
                        scope,
                    )
                }
            };
            let Drawn { picture, nothing } = draw(&scene, &camera, frame, self.style(), budget)?;
            let name = named.name.as_ref();
            let title = name.map(Name::title).unwrap_or_default();
            let time = name.map(Name::time).unwrap_or_default();
            let words = [title.as_str(), time.as_str()];
            match &nothing {
                None => sheet.push(&picture, &words)?,
                Some(why) => sheet.push_trouble(&why.to_string(), &words)?,
            }
            seen.add(nothing);
        }
        seen.check()?;
        let written = sheet.finish()?;
        rendered.moment = span(&moments);
        let count = u32::try_from(moments.len()).unwrap_or(u32::MAX);
        Ok(rendered.at(written).with(frame, count))
    }

    /// The camera that has a file at all moments in its picture, and the scene at the first.
    fn camera_of_all(
        &self,
        file: &MeshFile,
        moments: &[Named],
        images: &mut Images,
        budget: &Budget,
        rendered: &mut Rendered,
    ) -> Result<(Camera, Drawing)> {
        let first = moments.first().map_or(Moment::Stored, |named| named.moment);
        let scene = self.drawing(file, first, images, budget, rendered)?;
        let (view, mut reach) = self.reach(&scene, self.frame());
        for named in moments.iter().skip(1) {
            let _scope = budget.scope();
            reach.add(
                &view,
                &self
                    .drawing(file, named.moment, images, budget, rendered)?
                    .positions,
            );
        }
        Ok((reach.camera(view, self.frame(), false), scene))
    }

    /// Writes a PNG that colours the distances between the vertices of a mesh and of another mesh, with a scale.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write_file`](Self::write_file), and [`NotHeld`](crate::Error::NotHeld) if the two meshes differ in the number
    /// of vertices, or in the triangles.
    pub fn write_difference(
        &self,
        file: &MeshFile,
        other: &MeshFile,
        path: impl AsRef<Path>,
    ) -> Result<Rendered> {
        let place = &Place::at(path)?;
        let budget = &Budget::of_pictures(file);
        budget.run(|| self.write_difference_within(file, other, place, budget))
    }

    fn write_difference_within(
        &self,
        file: &MeshFile,
        other: &MeshFile,
        place: &Place,
        budget: &Budget,
    ) -> Result<Rendered> {
        // Distances are colours, on which no image is drawn.
        let images = &mut Images::none();
        let mut rendered = Rendered::default();
        let named = self.moment(file)?;
        let mut scene = Drawing::of(file, self, named.moment, images, budget, &mut rendered)?;
        let moment = self.moment(other)?.moment;
        let theirs = Drawing::of(
            other,
            self,
            moment,
            images,
            &Budget::of_pictures(other),
            &mut Rendered::default(),
        )?;
        let largest = heat::color_by_distance(&mut scene, &theirs)?;
        drop(theirs);
        rendered.moment = named.to_text();
        let whole = self.frame();
        let frame = Frame {
            height: whole.height.saturating_sub(heat::SCALE).max(1),
            ..whole
        };
        let camera = self.camera(&scene, frame);
        let picture = draw(&scene, &camera, frame, self.style(), budget)?.into_picture()?;
        let picture = heat::with_scale(&picture, largest, self.background);
        rendered.largest_distance = Some(largest);
        save(&picture, place, rendered.with(picture.frame(), 1))
    }
}

/// Pictures of one file, of which at least one has to show something.
#[derive(Default)]
struct SeenOnce {
    is_seen: bool,
    nothing: Option<Error>,
}

impl SeenOnce {
    /// Counts a picture, with its error if it is empty.
    fn add(&mut self, nothing: Option<Error>) {
        match nothing {
            None => self.is_seen = true,
            Some(why) => drop(self.nothing.get_or_insert(why)),
        }
    }

    /// Returns the error of the first picture if all are empty.
    fn check(self) -> Result<()> {
        self.nothing.filter(|_| !self.is_seen).map_or(Ok(()), Err)
    }
}

/// Writes a picture at a path.
fn save(picture: &Picture, place: &Place, rendered: Rendered) -> Result<Rendered> {
    let mut output = Output::create(place)?;
    picture.write_png(&mut output)?;
    Ok(rendered.at(output.finish()?))
}

/// The first and the last of some moments.
fn span(moments: &[Named]) -> String {
    match moments {
        [] => String::new(),
        [one] => one.to_text(),
        [first, .., last] => format!("{} .. {}", first.to_text(), last.to_text()),
    }
}

/// The middle of the box around a scene.
fn middle(scene: &Drawing) -> [f64; 3] {
    let Some(Bounds { min, max, .. }) = Bounds::around(scene.positions.iter().copied()) else {
        return [0.0; 3];
    };
    std::array::from_fn(|axis| (f64::from(min[axis]) + f64::from(max[axis])) / 2.0)
}

//! The targets, and the options of a conversion.

use std::num::NonZero;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use meshmap::cgeo::Proxy;
use meshmap::iqm::Model;
use meshmap::{Address, Axis, Conventions, MeshFile, VOrigin, Winding};
use meshmap_images::Library;
#[cfg(feature = "clap")]
use meshmap_job::parse;
use meshmap_job::{
    Budget, CLIPS, Error, Finder, LEVELS, Lods, MOMENTS, Moment, Named, Result, SNAPSHOTS, Turn,
    When, options, report_all, texts,
};
use meshmap_scene::{FactKind, PosedFrame, Scene, SceneOptions};

use crate::outcome::Outcome;
use crate::snapshots::Snapshots;

/// The roughness of surfaces, as the plugin for Bevy and the loader for three.js have it: the files store none.
pub(crate) const ROUGHNESS: f32 = 0.8;

/// The targets that have rates of frames, and a root with the axes and the unit of the file. In the others, numbers of vertices change.
pub(crate) const WITH_ROOT: &[Target] = &[Target::Glb, Target::Gltf, Target::Usdc, Target::Usdz];

/// The targets whose numbers are in axes and a unit of the target.
const WITHOUT_ROOT: &[Target] = &[Target::Obj, Target::Ply, Target::Stl, Target::Pc2];

/// The targets that have all snapshots. The others have the first one.
const WITH_TIME: &[Target] = &[
    Target::Glb,
    Target::Gltf,
    Target::Pc2,
    Target::Usdc,
    Target::Usdz,
];

/// A format that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// Binary glTF 2.0: geometry, materials, skins, animations, and snapshots as morph targets.
    #[default]
    Glb,
    /// glTF 2.0 as JSON, with the numbers in files below 2 GiB next to it: `NAME.bin`, `NAME.gltf.1.bin` and so on.
    Gltf,
    /// Wavefront OBJ, with an MTL next to it.
    Obj,
    /// PLY, binary and little-endian.
    Ply,
    /// STL, binary.
    Stl,
    /// A point cache of Blender and 3ds Max, with an OBJ next to it: the snapshots of a CGeo file.
    Pc2,
    /// USD, as a crate file: geometry, materials, skeletons with their animations, and snapshots as time samples.
    Usdc,
    /// USD in a package with its images, for phones: as [`Usdc`](Self::Usdc), with Y up.
    Usdz,
}

/// A row of the table of targets.
struct About {
    /// The name, which is also the extension.
    name: &'static str,
    revision: u32,
    /// The extensions of the files that are written next to the one that is named.
    beside: &'static [&'static str],
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Glb,
        Self::Gltf,
        Self::Obj,
        Self::Ply,
        Self::Stl,
        Self::Pc2,
        Self::Usdc,
        Self::Usdz,
    ];

    /// The table of the targets.
    const fn about(self) -> About {
        let (name, revision, beside): (_, _, &[_]) = match self {
            Self::Glb => ("glb", 6, &[]),
            Self::Gltf => ("gltf", 6, &["bin"]),
            Self::Obj => ("obj", 5, &["mtl"]),
            Self::Ply => ("ply", 5, &[]),
            Self::Stl => ("stl", 3, &[]),
            Self::Pc2 => ("pc2", 3, &["obj", "mtl"]),
            Self::Usdc => ("usdc", 6, &[]),
            Self::Usdz => ("usdz", 1, &[]),
        };
        About {
            name,
            revision,
            beside,
        }
    }

    /// Returns the target's name, which is also the extension of its files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// Returns the revision of the writer: it changes when the same file with the same settings becomes other bytes. Outputs of
    /// another revision are not up to date.
    #[must_use]
    pub fn revision(self) -> u32 {
        self.about().revision
    }

    /// Returns `true` if the target is written as one file, without additional files.
    #[must_use]
    pub fn is_one_file(self) -> bool {
        self.extensions_beside().is_empty()
    }

    /// The extensions of the files next to the one that is named.
    pub(crate) fn extensions_beside(self) -> &'static [&'static str] {
        self.about().beside
    }

    /// The conventions of written files, as [`MeshView::turned`](meshmap::MeshView::turned) accepts them: what is `None` is
    /// as in the file that was read.
    ///
    /// glTF and USDZ files have Y up by the rotation of their root, and the numbers of their vertices keep the axes of the file. Other USD
    /// files state which axis points up. In the others, numbers change, unless [`raw`](Convert::raw) keeps them. Units are not listed here: glTF,
    /// OBJ, PLY and PC2 are in metres, STL in millimetres, and USD states its unit.
    #[must_use]
    pub fn conventions(self) -> Conventions {
        let own_axes = Conventions::default().with_front_face(Winding::CounterClockwise);
        let z_up = own_axes.with_up(Axis::Z);
        match self {
            Self::Glb | Self::Gltf => Conventions::Y_UP_CCW.with_v_origin(VOrigin::Top),
            Self::Obj | Self::Pc2 => Conventions::Y_UP_CCW.with_v_origin(VOrigin::Bottom),
            Self::Ply => z_up.with_v_origin(VOrigin::Bottom),
            Self::Stl => z_up,
            Self::Usdc => own_axes.with_v_origin(VOrigin::Bottom),
            Self::Usdz => Conventions::Y_UP_CCW.with_v_origin(VOrigin::Bottom),
        }
    }

    /// Returns `true` if files of the target refer to images.
    pub(crate) fn has_textures(self) -> bool {
        WITH_TEXTURES.contains(&self)
    }

    /// Returns `true` for a stage of USD, in a package or not.
    pub(crate) fn is_usd(self) -> bool {
        USD.contains(&self)
    }

    /// The target of files with this name, by its extension in any case: its name, or `usd` for [`Usdc`](Self::Usdc).
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        // A stage of any kind may have this extension.
        if extension.eq_ignore_ascii_case("usd") {
            return Some(Self::Usdc);
        }
        Self::ALL
            .into_iter()
            .find(|target| target.name().eq_ignore_ascii_case(extension))
    }
}

texts!(Target, Target::ALL.map(|target| (target.name(), target)));

const ALL: &[Target] = &Target::ALL;
const USD: &[Target] = &[Target::Usdc, Target::Usdz];
const GLTF: &[Target] = &[Target::Glb, Target::Gltf];
/// The targets that refer to images, or have them.
const WITH_TEXTURES: &[Target] = &[
    Target::Glb,
    Target::Gltf,
    Target::Obj,
    Target::Ply,
    Target::Usdc,
    Target::Usdz,
];
/// The targets that may refer to copies of images.
const WITH_COPIES: &[Target] = &[
    Target::Glb,
    Target::Gltf,
    Target::Obj,
    Target::Ply,
    Target::Usdc,
];
pub(crate) const WITH_MATERIALS: &[Target] = &[
    Target::Glb,
    Target::Gltf,
    Target::Obj,
    Target::Pc2,
    Target::Usdc,
    Target::Usdz,
];

options! {
    /// A conversion, and its options.
    ///
    /// By default it writes what is drawn by default: all geometry, the finest level of detail, all snapshots if the target has
    /// time, otherwise the first. Snapshots that `meshes` names are written as meshes, not as an animation. If both are set,
    /// `seconds` overrides `frame`, and the step of `snapshots` overrides `every`.
    ///
    /// The default limit of the output, `max_output_bytes`, keeps the numbers in a small file from filling a disk. Memory is limited by the
    /// [`Limits`](meshmap::Limits) with which the mesh file was opened.
    ///
    /// Each field but the last six is an option of the command and of Python as well. Options may be added: end an expression of
    /// this type with `..Convert::new(target)`.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use meshmap::MeshFile;
    /// use meshmap_export::{Convert, Lods, Target};
    ///
    /// let file = MeshFile::open("body.slmesh")?;
    /// let convert = Convert { lod: Lods::All, quantized: true, ..Convert::new(Target::Glb) };
    /// convert.write_file(&file, "body.glb")?;
    /// # Ok::<(), meshmap_export::Error>(())
    /// ```
    Convert of Target {
        for ALL {
            /// Select the mesh at this address, such as `high_lod.faces[0]`, or the meshes of a part, such as `high_lod`. Can be
            /// given several times.
            #[arg(long = "mesh", value_name = "ADDRESS")]
            meshes: Vec<Address>,
            /// Turn everything about the up axis: 90, 180 or 270 degrees, counter-clockwise as seen from above. In OBJ, PLY, STL
            /// and PC2 the numbers of vertices change.
            #[arg(long, value_name = "DEGREES", default_value_t)]
            turn: Turn,
            /// Reverse the winding of all triangles. By default it is reversed if most normals point away from the fronts.
            #[arg(long)]
            flip: bool,
            /// Snapshots of a CGeo file, such as 7, 0..39 or 0..39:2. A range has its last snapshot, and with `:2` every second one.
            /// Targets without animations use the first.
            #[arg(long = "snapshot", value_name = "RANGE")]
            snapshots: Option<Snapshots> => SNAPSHOTS,
            /// One frame of an IQM animation, counted from 0: moved vertices, without joints.
            #[arg(long, value_name = "N", conflicts_with = "snapshots")]
            frame: Option<u32> => CLIPS,
            /// The snapshot or frame nearest to this time.
            #[arg(
                long = "time",
                value_name = "SECONDS",
                conflicts_with_all = ["frame", "snapshots"],
                value_parser = parse::finite
            )]
            seconds: Option<f64> => MOMENTS,
            /// Select the IQM animation with this name. Without it, a frame or time is of the first. USD has all of them, and programs
            /// play this one or the first.
            #[arg(long, value_name = "NAME")]
            anim: Option<String> => CLIPS,
            /// Use only every N-th snapshot.
            #[arg(long, value_name = "N")]
            every: Option<NonZero<usize>> => SNAPSHOTS,
            /// Second Life: the level of detail. It is finest, high, medium, low, lowest or all.
            #[arg(long, value_name = "LEVEL", default_value_t)]
            lod: Lods => LEVELS,
            /// Leave out triangles with two equal corners, which crash some programs, and report their number. USD always lacks
            /// them, unless they are kept.
            #[arg(long)]
            drop_degenerate: bool,
            /// Write 0 for NaN and infinite values. Otherwise such positions are an error, and other attributes are left out.
            #[arg(long)]
            zero_non_finite: bool,
            /// Limit the output for one file to SIZE, such as 4GiB [default: 64MiB, or 256 times the file if that is more].
            #[arg(long = "max-output", value_name = "SIZE")]
            max_output_bytes: Option<u64>,
        }
        for ALL {
            /// The axis that points up in the file, such as z or -y. It is x, y, z, -x, -y or -z [default: the axis of the format].
            #[arg(long, value_name = "AXIS")]
            up: Option<Axis>,
            /// The unit of the file: mm, cm, m, in, ft or millimetres. A number is of millimetres [default: the unit that the file
            /// stores].
            #[arg(long = "unit", value_name = "LENGTH", value_parser = parse::millimeters)]
            unit_millimeters: Option<f64>,
        }
        for WITHOUT_ROOT {
            /// Keep the numbers of the file, in OBJ, PLY, STL and PC2. Otherwise Y points up in OBJ and PC2, Z in PLY and STL, and a
            /// file that knows its unit is in metres, in STL in millimetres.
            #[arg(long)]
            raw: bool,
        }
        for WITH_ROOT {
            /// Snapshots or frames per second, for glTF and USD [default: the rate of the file].
            #[arg(long, value_name = "RATE", value_parser = parse::above_zero)]
            fps: Option<f64> => MOMENTS,
        }
        for WITH_ROOT {
            /// In glTF and USD, write the joints of a Second Life asset as children of their parents. Otherwise they are siblings.
            #[arg(long)]
            nest: bool => &[FactKind::SkinJoints],
        }
        for GLTF {
            /// In glTF, write the integers of a Second Life asset as stored (KHR_mesh_quantization). Not all programs read them.
            #[arg(long)]
            quantized: bool => &[FactKind::Integers],
            /// In glTF, also write the normals of snapshots.
            #[arg(long)]
            morph_normals: bool => SNAPSHOTS,
            /// In glTF, write all values of morph targets, for programs that cannot read sparse ones.
            #[arg(long)]
            dense: bool => SNAPSHOTS,
        }
        for WITH_MATERIALS {
            /// Write one material for all material IDs of a CGeo file, and the IDs as an attribute if the format has attributes.
            ///
            /// The attribute is `_MATERIAL_ID` of vertices in glTF, and `primvars:material_id` of triangles in USD.
            #[arg(long)]
            merge_materials: bool => &[FactKind::MaterialIds],
            /// Write a material for each material ID of a CGeo file. Without this, more than 1,000 IDs become one material.
            #[arg(long, conflicts_with = "merge_materials")]
            keep_materials: bool => &[FactKind::MaterialIds],
        }
        for WITH_TEXTURES {
            /// Also look for images anywhere below this directory. It may be the root of a game. Can be given several times.
            #[arg(long, value_name = "DIR")]
            textures: Vec<PathBuf> => &[FactKind::Materials],
        }
        for WITH_COPIES {
            /// Copy the images into the folder OUTPUT.textures. Otherwise the output refers to the originals.
            #[arg(long)]
            copy_textures: bool => &[FactKind::Materials],
        }
        for GLTF {
            /// In glTF, put the images into the output.
            #[arg(long, conflicts_with = "copy_textures")]
            embed_textures: bool => &[FactKind::Materials],
        }
        for USD {
            /// In USD, also write triangles with two equal corners, which crash Blender's import.
            #[arg(long, conflicts_with = "drop_degenerate")]
            keep_degenerate: bool,
        }
    } and {
        /// The format of the output.
        #[serde(rename = "to")]
        target: Target,
        /// The name of objects that have none in the file, such as the stem of the file's name.
        #[serde(skip)]
        name: String,
        /// The folder of the file, in which the images that it names are looked for.
        #[serde(skip)]
        folder: Option<PathBuf>,
        /// The folders and images that the run knows. Clones share them.
        #[serde(skip)]
        library: Library,
        /// Other IQM files whose animations are added to the file's own in glTF and USD, each with a name for the outcome, which reports
        /// the animations that are left out because their joints differ.
        #[serde(skip)]
        animations: Vec<(String, Model)>,
        /// `true` if an option that has no effect on the file is an error: for one file. Otherwise the report lists such options.
        #[serde(skip)]
        refuses_without_effect: bool,
    }
}

/// The data that is written for a moment.
#[derive(Default)]
pub(crate) struct Still {
    pub(crate) named: Named,
    /// The model that has the animation of the frame.
    pub(crate) model: Option<Model>,
}

/// A conversion of one file: its settings, and what it may still take.
pub(crate) struct Job<'a> {
    settings: &'a Convert,
    pub(crate) budget: Budget,
}

impl Job<'_> {
    /// The scene of what is written.
    pub(crate) fn scene(
        &self,
        file: &MeshFile,
        still: &Still,
        outcome: &mut Outcome,
    ) -> Result<Scene> {
        let mut options = SceneOptions::default();
        options.meshes.clone_from(&self.meshes);
        options.levels = self.lod.levels();
        if !self.binds_anim() {
            options.animation.clone_from(&self.anim);
        }
        options.animations.clone_from(&self.animations);
        options.drops_degenerate = self.drops_degenerate();
        options.up = self.up;
        options.unit_millimeters = self.unit_millimeters;
        if let Some(proxy) = file.as_cgeo().filter(|_| self.meshes.is_empty()) {
            options.snapshots = Some(self.snapshots(proxy)?);
            options.samples = self.takes_samples();
        }
        if let (Moment::Frame(index), Some(model)) = (still.named.moment, &still.model) {
            options.frame = Some(PosedFrame::of_model(model.clone(), index));
        }
        let scene = self.budget.scene(file, &options, self.target.name())?;
        report_all(scene.remarks(), &mut outcome.report);
        Ok(scene)
    }

    /// `true` if triangles with two equal corners are left out.
    pub(crate) fn drops_degenerate(&self) -> bool {
        self.drop_degenerate || self.target.is_usd() && !self.keep_degenerate
    }
}

impl Deref for Job<'_> {
    type Target = Convert;

    fn deref(&self) -> &Convert {
        self.settings
    }
}

impl Convert {
    /// A conversion to this format, with the default of each option.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self {
            target,
            ..Self::default()
        }
    }

    /// Checks that the target has a use for each setting, before anything is read or written.
    /// [`write_file`](Self::write_file) does so as well.
    ///
    /// # Errors
    ///
    /// Returns [`Unused`](Error::Unused) for the first setting that would change nothing.
    pub fn check_settings(&self) -> Result<()> {
        let mut unused = self.unused(self.target);
        let Some((setting, targets)) = unused.next() else {
            return Ok(());
        };
        let targets = targets.iter().map(|target| target.name()).collect();
        Err(Error::Unused {
            target: self.target.name(),
            setting,
            targets,
        })
    }

    /// Checks that the output can be a stream, such as standard output, from whose place no path leads to an image.
    ///
    /// # Errors
    ///
    /// Returns [`NeedsFolder`](Error::NeedsFolder) if the options look for images that are not put into the output, and
    /// [`NotHeld`](Error::NotHeld) if each level of detail has a file.
    pub fn check_stream(&self) -> Result<()> {
        if self.has_level_files() {
            return Err(Error::NotHeld {
                target: self.target.name(),
                what:
                    "all levels of detail are separate files: write to a path, or select one level"
                        .to_owned(),
            });
        }
        let has_images = self.embed_textures || self.target == Target::Usdz;
        if !self.copy_textures && (self.textures.is_empty() || has_images) {
            return Ok(());
        }
        Err(Error::NeedsFolder {
            target: self.target.name(),
        })
    }

    /// Begins a conversion of this file.
    pub(crate) fn job(&self, file: &MeshFile) -> Job<'_> {
        let budget = Budget::of(file, self.max_output_bytes);
        Job {
            settings: self,
            budget,
        }
    }

    /// The name of an object: its own or, without one, the name for all objects.
    pub(crate) fn name_of<'a>(&'a self, own: &'a str) -> &'a str {
        if own.is_empty() { &self.name } else { own }
    }

    /// Returns `true` if a single moment of an animated file is written.
    pub(crate) fn is_still(&self) -> bool {
        self.frame.is_some() || self.seconds.is_some()
    }

    /// Returns `true` if the samples of snapshots are written.
    pub(crate) fn takes_samples(&self) -> bool {
        self.target.is_usd() && self.meshes.is_empty() && !self.is_still()
    }

    /// Returns `true` if `anim` names the animation that a skeleton is bound to, and the others are written as well.
    fn binds_anim(&self) -> bool {
        self.target.is_usd() && !self.is_still()
    }

    /// Returns `true` if an animation of this name is written.
    pub(crate) fn takes_anim(&self, name: &str) -> bool {
        self.anim.as_deref().is_none_or(|wanted| wanted == name)
    }

    fn finder(&self) -> Finder<'_> {
        Finder {
            when: When::of(None, self.frame, self.seconds),
            anim: self.anim.as_deref(),
            target: self.target.name(),
        }
    }

    /// The moment that is written, if it is a single one.
    pub(crate) fn still(&self, file: &MeshFile) -> Result<Still> {
        let Some(model) = file.as_iqm() else {
            return Ok(Still {
                named: self.finder().one(file)?,
                model: None,
            });
        };
        let model = self.animated(model);
        if !self.is_still() {
            if self.anim.is_some() {
                self.finder().anim(&model)?;
            }
            return Ok(Still::default());
        }
        Ok(Still {
            named: self.finder().frame(&model)?,
            model: Some(model),
        })
    }

    /// The model itself, or with the first animations of another file that are what is asked for.
    fn animated(&self, model: &Model) -> Model {
        let has = |model: &Model| {
            model
                .anims()
                .any(|anim| self.takes_anim(&anim.name.to_string_lossy()))
        };
        let joined = || {
            self.animations
                .iter()
                .filter_map(|(_, animations)| model.attach(animations).ok())
                .find(has)
        };
        if has(model) {
            model.clone()
        } else {
            joined().unwrap_or_else(|| model.clone())
        }
    }

    /// The snapshots that are written.
    pub(crate) fn snapshots(&self, proxy: &Proxy) -> Result<Vec<usize>> {
        if self.is_still() {
            let Moment::Snapshot(index) = self.finder().snapshot(proxy)?.moment else {
                return Ok(Vec::new());
            };
            return Ok(vec![index]);
        }
        let count = proxy.snapshot_count();
        let (start, end) = self
            .snapshots
            .clone()
            .map_or((0, usize::MAX), |all| all.range.into_inner());
        if count > 0 && start < count && (end == usize::MAX || end < count) && start <= end {
            // A target without time has the first: nothing is read of the others.
            let last = if WITH_TIME.contains(&self.target) {
                end.min(count - 1)
            } else {
                start
            };
            return Ok((start..=last).step_by(self.every()).collect());
        }
        let Some(last) = count.checked_sub(1) else {
            return Err(Error::NothingToConvert {
                has_animations: false,
                has_unusable: false,
            });
        };
        let what = format!("snapshots {start} to {end} are not all among 0 to {last}");
        Err(Error::NotHeld {
            target: self.target.name(),
            what,
        })
    }

    /// The step between written snapshots.
    pub(crate) fn every(&self) -> usize {
        self.snapshots
            .as_ref()
            .and_then(|all| all.every)
            .or(self.every)
            .map_or(1, NonZero::get)
    }
}

//! The settings of a conversion.

use std::ops::{Deref, RangeInclusive};
use std::path::{Path, PathBuf};

use meshmap::cgeo::Proxy;
use meshmap::iqm::Model;
use meshmap::{Address, Axis, Conventions, Format, MeshFile, VOrigin, Winding};

use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::moment::{Finder, Moment, Named, Still, Wanted, When};
use crate::vector::is_degenerate;

/// The roughness of surfaces, as the plugin for Bevy and the loader for three.js have it: the files store none.
pub(crate) const ROUGHNESS: f32 = 0.8;

/// The targets that have an up axis, a unit and times.
pub(crate) const WITH_UNITS: &[Target] = &[Target::Glb, Target::Gltf, Target::Usdc];

/// A format that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// Binary glTF 2.0: geometry, materials, skins, animations, and snapshots as morph targets.
    Glb,
    /// glTF 2.0 as JSON, with the numbers in files below 2 GiB next to it: `NAME.bin`, `NAME_1.bin` and so on.
    Gltf,
    /// Wavefront OBJ, with an MTL next to it.
    Obj,
    /// PLY, binary and little-endian.
    Ply,
    /// STL, binary.
    Stl,
    /// A point cache of Blender and 3ds Max, with an OBJ next to it: the snapshots of a CGeo file.
    Pc2,
    /// USD, as a crate file: geometry, materials, and snapshots as time samples.
    Usdc,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Glb, Self::Gltf, Self::Obj, Self::Ply, Self::Stl, Self::Pc2, Self::Usdc];

    /// The table of the targets: name, and the extensions of the files that are written next to the one that is named.
    const fn about(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Glb => ("glb", &[]),
            Self::Gltf => ("gltf", &["bin"]),
            Self::Obj => ("obj", &["mtl"]),
            Self::Ply => ("ply", &[]),
            Self::Stl => ("stl", &[]),
            Self::Pc2 => ("pc2", &["obj", "mtl"]),
            Self::Usdc => ("usdc", &[]),
        }
    }

    /// Returns the target's name, which is also the extension of its files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.about().0
    }

    /// Returns `true` if the target is written as one file, without additional files.
    #[must_use]
    pub fn is_one_file(self) -> bool {
        self.about().1.is_empty()
    }

    /// The files that a conversion to this path writes: the one at the path and those next to it. glTF files of more than 2 GiB
    /// have further parts.
    #[must_use]
    pub fn files_of(self, path: &Path) -> Vec<PathBuf> {
        let beside = self.about().1.iter().map(|extension| path.with_extension(extension));
        std::iter::once(path.to_owned()).chain(beside).collect()
    }

    /// The conventions of written files, as [`MeshView::turned`](meshmap::MeshView::turned) accepts them: what is `None` is
    /// as in the file that was read.
    ///
    /// glTF files have Y up by the rotation of their root node, and the numbers of their vertices keep the axes of the file. USD
    /// files state which axis points up. The unit of neither is listed here.
    #[must_use]
    pub fn conventions(self) -> Conventions {
        let own_axes = Conventions::default().with_front_face(Winding::CounterClockwise);
        match self {
            Self::Glb | Self::Gltf => Conventions::Y_UP_CCW.with_v_origin(VOrigin::Top),
            Self::Obj | Self::Ply | Self::Pc2 | Self::Usdc => own_axes.with_v_origin(VOrigin::Bottom),
            Self::Stl => own_axes,
        }
    }

    /// The target of files with this name, by its extension in any case.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        Self::ALL.into_iter().find(|target| target.name().eq_ignore_ascii_case(extension))
    }
}

/// The treatment of NaN and infinite values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NonFinite {
    /// They are an error that names the first one.
    #[default]
    Refuse,
    /// They become 0, and are counted.
    Zero,
}

/// The levels of detail that are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lods {
    /// The finest that there is.
    #[default]
    Finest,
    /// This one, where 0 is the finest that the format has.
    Only(u32),
    /// All: in glTF as `MSFT_lod`, where coarser ones are outside of the scene; elsewhere as meshes of their own.
    All,
}

/// A conversion, and its settings.
#[derive(Clone, Debug)]
pub struct Convert {
    pub(crate) target: Target,
    pub(crate) meshes: Vec<Address>,
    pub(crate) up: Option<Axis>,
    pub(crate) flip: bool,
    pub(crate) non_finite: NonFinite,
    pub(crate) dense: bool,
    snapshots: RangeInclusive<usize>,
    every: usize,
    pub(crate) rate: Option<f64>,
    pub(crate) millimeters: Option<f64>,
    pub(crate) lods: Lods,
    pub(crate) quantized: bool,
    pub(crate) nest: bool,
    pub(crate) morph_normals: bool,
    pub(crate) drop_degenerate: bool,
    pub(crate) merge_materials: bool,
    pub(crate) name: String,
    pub(crate) animations: Vec<(String, Model)>,
    max_output_bytes: Option<u64>,
    wanted: Wanted,
}

/// A conversion of one file: its settings, and what it may still take.
pub(crate) struct Job<'a> {
    settings: &'a Convert,
    pub(crate) budget: Budget,
}

impl Deref for Job<'_> {
    type Target = Convert;

    fn deref(&self) -> &Convert {
        self.settings
    }
}

impl Convert {
    /// A conversion to this format, of what is drawn by default: all geometry, the finest level of detail, all
    /// snapshots where the target has time, else the first.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self {
            target,
            meshes: Vec::new(),
            up: None,
            flip: false,
            non_finite: NonFinite::Refuse,
            dense: false,
            snapshots: 0..=usize::MAX,
            every: 1,
            rate: None,
            millimeters: None,
            lods: Lods::Finest,
            quantized: false,
            nest: false,
            morph_normals: false,
            drop_degenerate: false,
            merge_materials: false,
            name: String::new(),
            animations: Vec::new(),
            max_output_bytes: None,
            wanted: Wanted::default(),
        }
    }

    /// Writes this mesh; several calls write several. Snapshots of a CGeo file go together as an animation: see
    /// [`with_snapshots`](Self::with_snapshots).
    #[must_use]
    pub fn with_mesh(mut self, address: Address) -> Self {
        self.meshes.push(address);
        self
    }

    /// Uses this axis as the up axis, instead of the format's. It is rotated to Y in glTF, and
    /// stored in USD. Other targets have no up axis: see [`check_settings`](Self::check_settings).
    #[must_use]
    pub fn with_up(self, up: Axis) -> Self {
        Self { up: Some(up), ..self }
    }

    /// Turns all triangles around.
    #[must_use]
    pub fn with_flip(self, flip: bool) -> Self {
        Self { flip, ..self }
    }

    /// Sets the treatment of NaN and infinite values.
    #[must_use]
    pub fn with_non_finite(self, non_finite: NonFinite) -> Self {
        Self { non_finite, ..self }
    }

    /// Writes all values of morph targets of glTF, for programs that cannot read sparse ones.
    #[must_use]
    pub fn with_dense(self, dense: bool) -> Self {
        Self { dense, ..self }
    }

    /// Writes these snapshots of a CGeo file; targets without time hold the first of them.
    #[must_use]
    pub fn with_snapshots(self, snapshots: RangeInclusive<usize>) -> Self {
        Self { snapshots, ..self }
    }

    /// Writes each `every`-th of the snapshots.
    #[must_use]
    pub fn with_every(self, every: usize) -> Self {
        Self { every: every.max(1), ..self }
    }

    /// Snapshots, or frames, a second, whatever the file says. Only glTF and USD have times.
    #[must_use]
    pub fn with_rate(self, rate: f64) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// Takes this for what a length of 1 means, in millimetres, whatever the file says. Only glTF and USD have a unit.
    #[must_use]
    pub fn with_unit(self, millimeters: f64) -> Self {
        Self { millimeters: Some(millimeters), ..self }
    }

    /// Sets the levels of detail of a Second Life asset to write.
    #[must_use]
    pub fn with_lods(self, lods: Lods) -> Self {
        Self { lods, ..self }
    }

    /// Writes positions and texture coordinates of a Second Life asset as glTF with the integers that the file stores
    /// (`KHR_mesh_quantization`), which not all programs read.
    #[must_use]
    pub fn with_quantized(self, quantized: bool) -> Self {
        Self { quantized, ..self }
    }

    /// Nests the joints of a Second Life asset in glTF under their parents in the avatar's skeleton. Otherwise all joints are
    /// siblings.
    #[must_use]
    pub fn with_nested_joints(self, nest: bool) -> Self {
        Self { nest, ..self }
    }

    /// Also writes the normals of snapshots as morph targets of glTF.
    #[must_use]
    pub fn with_morph_normals(self, morph_normals: bool) -> Self {
        Self { morph_normals, ..self }
    }

    /// Leaves out triangles with two equal corners: two of their indices are the same. Such triangles have no area, and some
    /// programs crash on them. [`Outcome::changed`](crate::Outcome::changed) counts them.
    #[must_use]
    pub fn with_drop_degenerate(self, drop_degenerate: bool) -> Self {
        Self { drop_degenerate, ..self }
    }

    /// Writes one material for all material IDs of a CGeo file, and the IDs as an attribute: `_MATERIAL_ID` of vertices in
    /// glTF, `primvars:material_id` of triangles in USD. OBJ loses the IDs; PLY has no materials, only IDs, and STL has neither.
    #[must_use]
    pub fn with_merge_materials(self, merge_materials: bool) -> Self {
        Self { merge_materials, ..self }
    }

    /// Gives this name to objects that have none in the file, such as the stem of the file's name.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Adds the animations of another IQM file to the file's own animations in glTF. `name` is what the outcome
    /// calls it, if its joints differ and it is left out.
    #[must_use]
    pub fn with_animations(mut self, name: impl Into<String>, animations: Model) -> Self {
        self.animations.push((name.into(), animations));
        self
    }

    /// Writes one frame of an IQM animation, counted from 0: the vertices as it moves them, without joints.
    #[must_use]
    pub fn with_frame(mut self, frame: u32) -> Self {
        self.wanted.when = When::Frame(frame);
        self
    }

    /// Writes the snapshot, or the frame of the animation, that is nearest to a time in seconds.
    #[must_use]
    pub fn with_time(mut self, seconds: f64) -> Self {
        self.wanted.when = When::Seconds(seconds);
        self
    }

    /// Writes only the animation of this name of an IQM file, or takes the frame from it.
    #[must_use]
    pub fn with_anim(mut self, name: impl Into<String>) -> Self {
        self.wanted.anim = Some(name.into());
        self
    }

    /// Limits the output of one conversion, all files together. By default it is 64 MiB, or 256 times the size of the mesh file
    /// if that is more, so that the numbers in a small file cannot fill a disk.
    ///
    /// Memory is limited by the [`Limits`](meshmap::Limits) with which the mesh file was opened.
    #[must_use]
    pub fn with_max_output_bytes(self, bytes: u64) -> Self {
        Self { max_output_bytes: Some(bytes), ..self }
    }

    /// Checks that the target has a use for each setting, before anything is read or written.
    /// [`write_file`](Self::write_file) does so as well.
    ///
    /// # Errors
    ///
    /// Returns [`Unused`](Error::Unused) for the first setting that would change nothing.
    pub fn check_settings(&self) -> Result<()> {
        const GLTF: &[Target] = &[Target::Glb, Target::Gltf];
        const WITH_MATERIALS: &[Target] =
            &[Target::Glb, Target::Gltf, Target::Obj, Target::Pc2, Target::Usdc];
        let settings = [
            ("up", self.up.is_some(), WITH_UNITS),
            ("unit", self.millimeters.is_some(), WITH_UNITS),
            ("fps", self.rate.is_some(), WITH_UNITS),
            ("dense", self.dense, GLTF),
            ("quantized", self.quantized, GLTF),
            ("nest", self.nest, GLTF),
            ("morph-normals", self.morph_normals, GLTF),
            ("merge-materials", self.merge_materials, WITH_MATERIALS),
        ];
        let is_unused =
            |(_, is_set, targets): &&(_, bool, &[Target])| *is_set && !targets.contains(&self.target);
        match settings.iter().find(is_unused) {
            Some((setting, _, targets)) => {
                let targets = targets.iter().map(|target| target.name()).collect();
                Err(Error::Unused { target: self.target.name(), setting, targets })
            }
            None => Ok(()),
        }
    }

    /// Begins a conversion of this file.
    pub(crate) fn job(&self, file: &MeshFile) -> Job<'_> {
        Job { settings: self, budget: Budget::of(file, self.max_output_bytes) }
    }

    /// `true` if a triangle with these corners is written.
    pub(crate) fn keeps(&self, corners: [u32; 3]) -> bool {
        !self.drop_degenerate || !is_degenerate(corners)
    }

    /// The name of the material for a material ID.
    pub(crate) fn material_of(&self, id: u32) -> String {
        if self.merge_materials { "material".to_owned() } else { format!("material_{id}") }
    }

    /// The name of an object: its own or, without one, the name for all objects.
    pub(crate) fn name_of<'a>(&'a self, own: &'a str) -> &'a str {
        if own.is_empty() { &self.name } else { own }
    }

    /// Returns `true` if a single moment of an animated file is written.
    pub(crate) fn is_still(&self) -> bool {
        self.wanted.when != When::Usual
    }

    /// Returns `true` if an animation of this name is written.
    pub(crate) fn takes_anim(&self, name: &str) -> bool {
        self.wanted.anim.as_deref().is_none_or(|wanted| wanted == name)
    }

    fn finder(&self) -> Finder<'_> {
        Finder { wanted: &self.wanted, target: self.target.name() }
    }

    /// The moment that is written, if it is a single one.
    pub(crate) fn still(&self, file: &MeshFile) -> Result<Still> {
        let Some(model) = file.as_iqm() else {
            return Ok(Still::of(self.finder().one(file)?));
        };
        let model = self.animated(model);
        if !self.is_still() {
            if self.wanted.anim.is_some() {
                self.finder().anim(&model)?;
            }
            return Ok(Still::of(Named::stored()));
        }
        Ok(Still { named: self.finder().frame(&model)?, model: Some(model) })
    }

    /// The model itself, or with the first animations of another file that are what is asked for.
    fn animated(&self, model: &Model) -> Model {
        let has = |model: &Model| model.anims().any(|anim| self.takes_anim(&anim.name.to_string_lossy()));
        let joined =
            || self.animations.iter().filter_map(|(_, animations)| model.attach(animations).ok()).find(has);
        if has(model) { model.clone() } else { joined().unwrap_or_else(|| model.clone()) }
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
        let (start, end) = (*self.snapshots.start(), *self.snapshots.end());
        if count > 0 && start < count && (end == usize::MAX || end < count) && start <= end {
            return Ok((start..=end.min(count - 1)).step_by(self.every).collect());
        }
        let Some(last) = count.checked_sub(1) else {
            return Err(Error::NothingToConvert { has_animations: false });
        };
        let what = format!("snapshots {start} to {end} are not all among 0 to {last}");
        Err(Error::NotHeld { target: self.target.name(), what })
    }

    /// The step between written snapshots.
    pub(crate) fn every(&self) -> usize {
        self.every
    }

    /// Returns `true` if corners are written in another order than the file's.
    pub(crate) fn turns(&self, format: Format) -> bool {
        let from = format.conventions().front_face.unwrap_or(Winding::CounterClockwise);
        self.target.conventions().front_face.is_some_and(|to| to != from) != self.flip
    }

    /// Returns `true` if the texture coordinate V is written as 1 - V.
    pub(crate) fn flips_v(&self, format: Format) -> bool {
        // If a format does not store it, programs write V as in OBJ, from the bottom.
        let from = format.conventions().v_origin.unwrap_or(VOrigin::Bottom);
        self.target.conventions().v_origin.is_some_and(|to| to != from)
    }
}

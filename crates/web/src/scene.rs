//! The scene of a file: shapes, skeleton and clips, as `meshmap_scene` has them.

use meshmap::cgeo::Parts;
use meshmap::{Axis, MeshEntry, MeshFile, Winding};
use meshmap_scene::{Clip, Event, Joint, Remark, Rest, Scene, SceneOptions, Shape, Tints, matrix};

use crate::describe;
use crate::failure::Failure;
use crate::file::Listing;
use crate::json::{List, Object, float, text};
use crate::playback::fetch;
use crate::reply::{Job, Reply, Stop, add_floats};
use crate::vertices::{self, Joined, Wanted};

/// The parts of a file that a scene has.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The block of a Second Life mesh, such as `lowest_lod`; the finest level of detail if it is empty.
    pub level: String,
    /// The snapshot of a CGeo file.
    pub snapshot: usize,
    /// The axis that points up, in place of the axis of the format.
    pub up: Option<Axis>,
    /// The length of 1 in metres, in place of what the file stores.
    pub metres_per_unit: Option<f64>,
    /// The maximum number of meshes. Those after it are counted.
    pub max_meshes: usize,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            level: String::new(),
            snapshot: 0,
            up: None,
            metres_per_unit: None,
            max_meshes: 4096,
        }
    }
}

/// A scene that is kept, so that its shapes and clips can be read.
pub(crate) struct Loaded {
    file: MeshFile,
    scene: Scene,
    skeleton: Option<meshmap_scene::Skeleton>,
    clips: Vec<Clip>,
    /// Everything that cannot be used as it is stored.
    remarks: Vec<Remark>,
    tints: Tints,
    /// The number of meshes beyond the maximum.
    more_meshes: usize,
}

impl Loaded {
    pub(crate) fn new(file: &MeshFile, selection: &Selection) -> Job<Self> {
        let mut options = SceneOptions::default();
        options.up = selection.up;
        options.unit_millimeters = selection.metres_per_unit.map(|metres| metres * 1000.0);
        options.skips_unreadable = true;
        let mut entries = Vec::new();
        let mut more_meshes = 0;
        if let Some(proxy) = file.as_cgeo() {
            let snapshot = proxy.snapshot(selection.snapshot)?;
            let wanted = fetch(proxy.source(), &snapshot, Parts::ALL);
            // The first one has the winding of all, and mostly what they differ from.
            fetch(proxy.source(), &proxy.snapshot(0)?, Parts::ALL)?;
            wanted?;
            options.snapshots = Some(vec![selection.snapshot]);
        } else {
            let listing = Listing::new(file, &selection.level, 0..selection.max_meshes);
            let listing = listing.inspect_err(|stop| ask_for_rest(stop, file, &[]))?;
            more_meshes = listing.total - listing.entries.len();
            entries = listing.entries;
        }
        if more_meshes > 0 || !selection.level.is_empty() {
            options.meshes = entries.iter().map(|entry| entry.address.clone()).collect();
        }
        let scene = Scene::new(file, &options).map_err(Stop::from);
        let scene = scene.inspect_err(|stop| ask_for_rest(stop, file, &entries))?;
        Self::of(file.clone(), scene, more_meshes)
    }

    /// Reads the joints.
    fn of(file: MeshFile, scene: Scene, more_meshes: usize) -> Job<Self> {
        let mut remarks = scene.remarks().to_vec();
        let skeleton = scene.skeleton(&mut remarks)?;
        let joint_count = skeleton
            .as_ref()
            .map_or(0, |skeleton| skeleton.joints.len());
        let clips = scene.clips(joint_count, &mut remarks);
        Ok(Self {
            tints: scene.tints(),
            scene,
            file,
            skeleton,
            clips,
            remarks,
            more_meshes,
        })
    }

    /// The animations. Only IQM files have some: a module without the format needs no code for them.
    fn clips(&self) -> &[Clip] {
        match self.file {
            MeshFile::Iqm(_) => &self.clips,
            _ => &[],
        }
    }

    /// The description of the scene. The array has the inverse bind matrix of each joint, sixteen f32, columns one after another.
    pub(crate) fn reply(&self, id: usize, most: u64) -> Job<Reply> {
        let scene = &self.scene;
        // Many joints and shapes may share one long name.
        let names = self.name_lengths();
        if names > most {
            let expected = format!("at most {most} bytes (maxTotalBytes)");
            let found = names.to_string();
            let failure = Failure::new("limit_exceeded", "names of a scene", &expected, &found);
            return Err(failure.into());
        }
        let mut errors = List::new();
        for error in scene.unreadable() {
            errors.push(&Failure::from(error.clone()).to_json());
        }
        // All clips have the events of one table.
        if let Some(clip) = self.clips().first()
            && let Err(error) = clip.events()
        {
            errors.push(&damage(error)?.to_json());
        }
        let mut upright = List::new();
        for number in scene.upright() {
            upright.push(&float(Some(number)));
        }
        let mut shapes = List::new();
        for found in scene.shapes() {
            shapes.push(&shape(found));
        }
        let mut clips = List::new();
        for found in self.clips() {
            clips.push(&clip(found));
        }
        let mut remarks = List::new();
        for remark in &self.remarks {
            remarks.push(&text(&remark.to_string()));
        }
        let object = Object::new()
            .with("id", &id)
            .text("up", scene.up().name())
            .with("knowsUp", &scene.knows_up())
            .float("metresPerUnit", scene.unit().metres())
            .with("upright", &upright.end())
            .with("arePoints", &scene.are_points())
            .with("shapes", &shapes.end())
            .with("moreMeshes", &self.more_meshes)
            .with("clips", &clips.end())
            .with("remarks", &remarks.end())
            .with("errors", &errors.end());
        let Some(skeleton) = &self.skeleton else {
            return Ok(Reply::from(object.with("joints", &"null").end()));
        };
        let mut joints = List::new();
        for found in &skeleton.joints {
            joints.push(&joint(found));
        }
        let mut inverse_bind = Vec::with_capacity(skeleton.inverse_bind.len() * 64);
        for found in &skeleton.inverse_bind {
            add_floats(&mut inverse_bind, &matrix::rounded(found));
        }
        Ok(Reply {
            json: object.with("joints", &joints.end()).end(),
            arrays: vec![inverse_bind],
        })
    }

    /// The sum of the lengths of the names in the description.
    fn name_lengths(&self) -> u64 {
        let mut sum: u64 = 0;
        for shape in self.scene.shapes() {
            let material = name_of_material(shape).map_or(0, str::len);
            sum = sum.saturating_add((shape.name().len() + material) as u64);
        }
        if let Some(skeleton) = &self.skeleton {
            for joint in &skeleton.joints {
                sum = sum.saturating_add(joint.name().len() as u64);
            }
        }
        for clip in self.clips() {
            sum = sum.saturating_add(clip.name().len() as u64);
        }
        sum
    }

    /// A shape, to be drawn. After the arrays of a mesh is the colour of each group of triangles, in sRGB.
    pub(crate) fn shape(&self, index: usize, wanted: &Wanted, most: u64) -> Job<Reply> {
        let Some(shape) = self.scene.shapes().get(index) else {
            return Err(no_such("shape", index, self.scene.shapes().len()).into());
        };
        let mut view = shape.view(0)?;
        if wanted.attributes.is_empty() {
            // Decoded once for the arrays, the joints and the winding.
            view = view.load()?;
        }
        let joints = self.skeleton.as_ref().map(|skeleton| skeleton.joints.len());
        let joined = Joined {
            pose: self.scene.pose(),
            joint_count: joints.map(|count| u16::try_from(count).unwrap_or(u16::MAX)),
        };
        let mut mesh = vertices::read(&view, wanted, &joined, most)?;
        // The first snapshot of the file decides for an object through time.
        if index == 0 && shape.number_of(0) == 0 {
            self.scene.learn_winding(&view)?;
        }
        let turns = self.scene.turns_triangles(Winding::CounterClockwise)?;
        let mut colors = Vec::with_capacity(mesh.materials.len() * 3);
        for material in &mesh.materials {
            // Colours of vertices are multiplied by white.
            let mut color = [0xff; 3];
            if !mesh.has_colors {
                let id = view.material_ids().map(|_| *material);
                color = self.tints.color(index, id);
            }
            colors.extend(color);
        }
        mesh.arrays.push(colors);
        mesh.object = mesh.object.with("turnsTriangles", &turns);
        Ok(mesh.into_reply())
    }

    /// The keys of a clip. The arrays are the time of each key in seconds, and the translations, rotations and scales: for each joint, the values of all
    /// keys.
    pub(crate) fn clip(&self, index: usize) -> Job<Reply> {
        let Some(clip) = self.clips().get(index) else {
            return Err(no_such("clip", index, self.clips().len()).into());
        };
        let local = clip.local_keys()?;
        let rate = f64::from(clip.rate());
        let joints = clip.joint_count();
        let mut times = Vec::with_capacity(clip.key_count() * 4);
        for frame in clip.key_frames() {
            #[expect(clippy::cast_possible_truncation, reason = "the nearest is meant")]
            add_floats(&mut times, &[(frame / rate) as f32]);
        }
        let mut translations = Vec::with_capacity(local.len() * 12);
        let mut rotations = Vec::with_capacity(local.len() * 16);
        let mut scales = Vec::with_capacity(local.len() * 12);
        for joint in 0..joints {
            for key in local.iter().skip(joint).step_by(joints) {
                add_floats(&mut translations, &key.translate);
                add_floats(&mut rotations, &key.rotate);
                add_floats(&mut scales, &key.scale);
            }
        }
        let mut events = List::new();
        // Damage is an error of the scene.
        for found in clip.events().unwrap_or_default() {
            events.push(&event(&found));
        }
        let json = Object::new().with("events", &events.end()).end();
        let arrays = vec![times, translations, rotations, scales];
        Ok(Reply { json, arrays })
    }
}

/// Reads the skin and the meshes of a scene that lacks bytes, so that all that is missing is fetched at once.
fn ask_for_rest(stop: &Stop, file: &MeshFile, entries: &[MeshEntry]) {
    if !stop.lacks_bytes() {
        return;
    }
    if let Some(asset) = file.as_slmesh() {
        let _ = asset.skin();
    }
    for entry in entries {
        let _ = file.mesh(&entry.address);
    }
}

/// The failure of a part that is damaged; missing bytes end the job.
fn damage(error: meshmap_scene::Error) -> Job<Failure> {
    match Stop::from(error) {
        stop if stop.lacks_bytes() => Err(stop),
        Stop::Read(error) => Ok(Failure::from(error)),
        Stop::Failed(failure) => Ok(failure),
    }
}

fn no_such(what: &str, index: usize, count: usize) -> Failure {
    let expected = format!("less than {count}");
    Failure::new("out_of_range", what, &expected, &index.to_string())
}

fn name_of_material(shape: &Shape) -> Option<&str> {
    shape.material().map(|material| material.name)
}

fn shape(shape: &Shape) -> String {
    let material = match shape.material() {
        Some(material) => Object::new()
            .text("name", material.name)
            .text_or_null("image", material.image)
            .end(),
        None => "null".to_owned(),
    };
    Object::new()
        .text("address", &shape.address().to_string())
        .text("name", shape.name())
        .with("role", &describe::role(shape.role()))
        .with("material", &material)
        .end()
}

fn joint(joint: &Joint) -> String {
    let rest = match joint.rest {
        Rest::Trs(trs) => Object::new()
            .floats("translate", &trs.translate)
            .floats("rotate", &trs.rotate)
            .floats("scale", &trs.scale)
            .end(),
        rest => Object::new()
            .floats("matrix", &matrix::rounded(&rest.to_matrix()))
            .end(),
    };
    let object = Object::new().text("name", &joint.name());
    let object = match joint.parent {
        Some(parent) => object.with("parent", &parent),
        None => object.with("parent", &"null"),
    };
    object.with("rest", &rest).end()
}

fn clip(clip: &Clip) -> String {
    Object::new()
        .text("name", &clip.name())
        .float("rate", Some(clip.rate().into()))
        .with("isRateStored", &clip.is_rate_stored())
        .with("repeats", &clip.repeats())
        .with("frameCount", &clip.frame_count())
        .end()
}

fn event(event: &Event) -> String {
    Object::new()
        .float("seconds", Some(event.seconds.into()))
        .with("code", &event.code)
        .text("data", &event.data.to_string_lossy())
        .end()
}

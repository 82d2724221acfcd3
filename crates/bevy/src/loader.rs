//! The asset loader: a file to labelled assets.

use std::collections::HashMap;
use std::sync::Weak;

use bevy_animation::AnimationClip;
use bevy_animation::graph::AnimationGraph;
use bevy_asset::io::Reader;
use bevy_asset::{AssetLoader, AssetServer, Handle, LoadContext};
use bevy_color::Color;
use bevy_mesh::Mesh;
use bevy_mesh::skinning::SkinnedMeshInverseBindposes;
use bevy_reflect::TypePath;
use bevy_world_serialization::WorldAsset;
use meshmap::{Axis, Charge, ErrorKind, MeshFile, MeshView, Options, Role, VOrigin, Winding, cgeo};
use meshmap_scene::{Clip, Remark, Scene, SceneOptions, Shape, Tints};

use crate::animation::{self, UniqueNames};
use crate::assets::{
    MeshmapAnimation, MeshmapFile, MeshmapMaterial, MeshmapMesh, MeshmapPrimitive, MeshmapSkin,
};
use crate::convert::{Meaning, convert};
use crate::error::MeshmapError;
use crate::hidden::{self, Hidden};
use crate::image::Images;
use crate::label::MeshmapLabel;
use crate::read::{self, Access};
use crate::scene;
use crate::settings::{Axes, DamagedParts, Levels, MeshmapSettings};
use crate::skeleton::Joints;
#[cfg(feature = "pbr")]
use crate::standard;

/// Loads files of all formats. [`MeshmapPlugin`](crate::MeshmapPlugin) registers it.
#[derive(TypePath)]
pub struct MeshmapLoader {
    pub(crate) access: Access,
    pub(crate) options: Options,
    pub(crate) extensions: Vec<&'static str>,
    /// The place to look for images. The asset server keeps its loaders, so that they must not keep it.
    pub(crate) sources: Weak<AssetServer>,
}

impl AssetLoader for MeshmapLoader {
    type Asset = MeshmapFile;
    type Settings = MeshmapSettings;
    type Error = MeshmapError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        settings: &MeshmapSettings,
        context: &mut LoadContext<'_>,
    ) -> Result<MeshmapFile, MeshmapError> {
        let source = read::source(&self.access, reader, settings, context.path()).await?;
        let opened = source.identity().is_some().then(|| source.clone());
        let file = MeshFile::from_source(source, &self.options)?;
        let scene = Scene::new(&file, &scene_options(&file, settings))?;
        let images = Images::find(&scene, settings, context.path(), &self.sources).await;
        let mut load = Load {
            scene: &scene,
            images: &images,
            settings,
            context,
            tints: scene.tints(),
            materials: Materials::default(),
            rests: false,
            hidden: Hidden::default(),
            warnings: Vec::new(),
            charge: Charge::shared(scene.meter()),
        };
        let loaded = load.run(file.as_cgeo().cloned())?;
        Ok(MeshmapFile { opened, ..loaded })
    }

    fn extensions(&self) -> &[&str] {
        &self.extensions
    }
}

/// The parts of a file that are loaded.
fn scene_options(file: &MeshFile, settings: &MeshmapSettings) -> SceneOptions {
    let mut options = SceneOptions::default();
    options.levels = match settings.levels {
        Levels::Finest => meshmap_scene::Levels::Finest,
        Levels::All => meshmap_scene::Levels::All,
        Levels::One(level) => meshmap_scene::Levels::Only(level),
    };
    let has_snapshots = file
        .as_cgeo()
        .is_some_and(|proxy| proxy.snapshot_count() > 0);
    if has_snapshots {
        // The others are streamed.
        options.snapshots = Some(vec![0]);
    }
    options.up = match settings.axes {
        Axes::FromYUp => Some(Axis::Y),
        Axes::FromZUp => Some(Axis::Z),
        Axes::Bevy | Axes::AsStored => None,
    };
    options.skips_unreadable = settings.damaged == DamagedParts::Skip;
    options
}

/// The materials of a file, each once.
#[derive(Default)]
struct Materials {
    list: Vec<MeshmapMaterial>,
    indices: HashMap<MaterialKey, usize>,
}

/// All that distinguishes two materials.
#[derive(Clone, PartialEq, Eq, Hash)]
struct MaterialKey {
    name: String,
    id: u32,
    color: [u8; 3],
    has_image: bool,
}

/// One load.
struct Load<'a, 'b> {
    scene: &'a Scene,
    images: &'a Images,
    settings: &'a MeshmapSettings,
    context: &'a mut LoadContext<'b>,
    tints: Tints,
    materials: Materials,
    /// `true` if a mesh has vertices without weights.
    rests: bool,
    hidden: Hidden,
    warnings: Vec<String>,
    /// The memory of names, of which many may be one in the file, and of the keys of animations, which may share frames.
    charge: Charge<'static>,
}

/// The numbers in the labels of a mesh and of its primitives.
#[derive(Clone, Copy)]
struct MeshLabel {
    /// The level of detail, unless it is the finest.
    lod: Option<u32>,
    mesh: usize,
}

/// A mesh and its label.
struct LabelledMesh {
    label: String,
    mesh: MeshmapMesh,
}

/// The skin of a file, if it has joints.
#[derive(Default)]
struct Skin {
    handle: Option<Handle<MeshmapSkin>>,
    inverse_bindposes: Option<Handle<SkinnedMeshInverseBindposes>>,
}

/// The animations of a file, if it has some.
#[derive(Default)]
struct Animations {
    list: Vec<MeshmapAnimation>,
    graph: Option<Handle<AnimationGraph>>,
}

impl Load<'_, '_> {
    fn run(&mut self, proxy: Option<cgeo::Proxy>) -> Result<MeshmapFile, MeshmapError> {
        for error in self.scene.unreadable() {
            self.warn(error.to_string());
        }
        let mut remarks = self.scene.remarks().to_vec();
        let mut joints = self.joints(&mut remarks)?;
        let mut clips = Vec::new();
        if self.settings.animations {
            clips = self.scene.clips(joints.len(), &mut remarks);
        }
        for remark in remarks {
            self.warn(remark.to_string());
        }
        let meshes = self.meshes(&joints)?;
        let animations = self.animations(&clips, &joints)?;
        self.report(&joints);

        if self.rests {
            joints.add_rest();
        }
        let skin = self.skin(&joints);
        #[cfg(feature = "pbr")]
        let standard = self.standard_materials();
        let root = scene::root_transform(self.scene, self.settings);
        let name = self.context.path().path().file_stem();
        let name = name.map(|name| name.to_string_lossy().into_owned());
        let parts = scene::Parts {
            name: name.unwrap_or_default(),
            root,
            meshes: meshes.iter().map(|labelled| &labelled.mesh).collect(),
            joints: &joints,
            inverse_bindposes: skin.inverse_bindposes,
            graph: animations.graph.clone(),
            #[cfg(feature = "pbr")]
            materials: &standard,
        };
        let world = WorldAsset::new(scene::world(&parts, self.settings));
        let label = MeshmapLabel::Scene.to_string();
        let scene = self.context.add_labeled_asset(label, world);
        let mut materials = Vec::new();
        for (index, material) in std::mem::take(&mut self.materials.list)
            .into_iter()
            .enumerate()
        {
            let label = MeshmapLabel::Material(index).to_string();
            materials.push(self.context.add_labeled_asset(label, material));
        }
        let mut handles = Vec::with_capacity(meshes.len());
        for LabelledMesh { label, mesh } in meshes {
            handles.push(self.context.add_labeled_asset(label, mesh));
        }
        Ok(MeshmapFile {
            format: self.scene.format(),
            scene,
            root,
            meshes: handles,
            materials,
            skins: skin.handle.into_iter().collect(),
            animations: animations.list,
            graph: animations.graph,
            proxy,
            opened: None,
            warnings: std::mem::take(&mut self.warnings),
            turns_triangles: self.turns_triangles()?,
        })
    }

    fn warn(&mut self, text: String) {
        tracing::warn!("{}: {text}", self.context.path());
        self.warnings.push(text);
    }

    /// Adds the data that Bevy does not show to the warnings.
    fn report(&mut self, joints: &Joints) {
        let mut sentences = self.hidden.sentences(joints.len());
        sentences.extend(self.images.sentences(self.context.path()));
        for sentence in sentences {
            self.warn(sentence);
        }
        let facts = self.scene.facts_of_tables();
        for sentence in hidden::sentences_of_facts(&facts, self.settings) {
            // Most files have such data, and few apps need it.
            tracing::info!("{}: {sentence}", self.context.path());
            self.warnings.push(sentence);
        }
    }

    /// The value of a part, or `None` with a warning if Bevy cannot use it, or if damaged parts are skipped.
    fn keep<T, E: Into<MeshmapError>>(
        &mut self,
        part: Result<T, E>,
    ) -> Result<Option<T>, MeshmapError> {
        match part.map_err(Into::into) {
            Ok(value) => Ok(Some(value)),
            Err(error)
                if matches!(error, MeshmapError::Unusable(_))
                    || self.settings.damaged == DamagedParts::Skip =>
            {
                self.warn(error.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn turns_triangles(&self) -> meshmap_scene::Result<bool> {
        self.scene.turns_triangles(Winding::CounterClockwise)
    }

    /// The joints at rest. What cannot be used is a remark.
    fn joints(&mut self, remarks: &mut Vec<Remark>) -> Result<Joints, MeshmapError> {
        /// A name is there as text, as the name of an entity, and in the skin.
        const COPIES: u64 = 3;
        let skeleton = self.scene.skeleton(remarks);
        let Some(skeleton) = self.keep(skeleton)?.flatten() else {
            return Ok(Joints::default());
        };
        for joint in &skeleton.joints {
            let length = joint.name().len() as u64;
            self.charge.grow(COPIES * length, "names of joints")?;
        }
        Ok(Joints::of(skeleton))
    }

    fn meshes(&mut self, joints: &Joints) -> Result<Vec<LabelledMesh>, MeshmapError> {
        let mut counts: HashMap<Option<u32>, usize> = HashMap::new();
        let mut meshes = Vec::new();
        for (index, shape) in self.scene.shapes().iter().enumerate() {
            let lod = match shape.role() {
                Role::Lod(level) => Some(level),
                _ => None,
            };
            // The finest level has the labels of files without levels.
            let label_lod = lod.filter(|_| shape.is_coarser());
            let count = counts.entry(label_lod).or_default();
            let label = MeshLabel {
                lod: label_lod,
                mesh: *count,
            };
            let primitives = self.primitives(index, shape, label, joints);
            let Some(primitives) = self.keep(primitives)?.flatten() else {
                continue;
            };
            *count += 1;
            // The mesh and the entities have the name.
            let copies = primitives.len().saturating_add(2);
            let names = shape.name().len().saturating_mul(copies);
            self.charge.grow(names as u64, "names of meshes")?;
            let mesh = MeshmapMesh {
                name: shape.name().to_owned(),
                address: shape.address().to_string(),
                lod,
                primitives,
            };
            let MeshLabel { lod, mesh: number } = label;
            let label = MeshmapLabel::Mesh { lod, mesh: number }.to_string();
            meshes.push(LabelledMesh { label, mesh });
        }
        Ok(meshes)
    }

    /// The runs of triangles of one material of a shape, by its index in the scene; `None` if it has no vertices.
    fn primitives(
        &mut self,
        index: usize,
        shape: &Shape,
        label: MeshLabel,
        joints: &Joints,
    ) -> Result<Option<Vec<MeshmapPrimitive>>, MeshmapError> {
        // Decoded once for the arrays and for the winding.
        let view = shape.view(0)?.load()?;
        if view.vertex_count() == 0 {
            return Ok(None);
        }
        self.hidden.texcoords(&view, self.settings);
        if index == 0 {
            self.scene.learn_winding(&view)?;
        }
        let view = view.by_material()?;
        let meaning = Meaning {
            are_points: self.scene.are_points(),
            turns_triangles: self.turns_triangles()?,
            is_from_below: self.scene.v_origin() == VOrigin::Bottom,
            pose: self.scene.pose(),
            joint_count: joints.count(),
        };
        if !meaning.are_points && view.triangle_count() == 0 {
            let address = shape.address().to_string();
            self.hidden.mesh_without_triangles(address);
        }
        let mut primitives = Vec::new();
        for run in runs(&view, meaning.are_points)? {
            let converted = convert(&run.view, meaning, self.settings, &mut self.hidden)?;
            let material = self.material(index, shape, run.material_id, &converted.mesh)?;
            self.rests |= converted.rests;
            for error in converted.damaged {
                self.keep(Err::<(), _>(error))?;
            }
            let label = MeshmapLabel::Primitive {
                lod: label.lod,
                mesh: label.mesh,
                primitive: primitives.len(),
            };
            let label = label.to_string();
            primitives.push(MeshmapPrimitive {
                mesh: self.context.add_labeled_asset(label, converted.mesh),
                material,
                bounds: converted.bounds,
            });
        }
        Ok(Some(primitives))
    }

    /// The index of the material of a run of triangles.
    fn material(
        &mut self,
        index: usize,
        shape: &Shape,
        id: Option<u32>,
        mesh: &Mesh,
    ) -> Result<usize, MeshmapError> {
        /// The key of a material and the material have the name, and the material has a path that may be made of it.
        const COPIES: u64 = 4;
        let stored = shape.material();
        let name = stored.map_or("", |material| material.name);
        let image = stored.and_then(|material| material.image);
        let has_texcoords = mesh.contains_attribute(Mesh::ATTRIBUTE_UV_0);
        let path = self.images.of(shape).filter(|_| has_texcoords);
        let mut color = self.tints.color(index, id);
        if path.is_some() || mesh.contains_attribute(Mesh::ATTRIBUTE_COLOR) {
            // Both are multiplied by the colour.
            color = [0xff; 3];
        }
        let key = MaterialKey {
            name: name.to_owned(),
            id: id.unwrap_or_default(),
            color,
            has_image: path.is_some(),
        };
        if let Some(known) = self.materials.indices.get(&key) {
            return Ok(*known);
        }
        let bytes = COPIES.saturating_mul(name.len() as u64);
        self.charge.grow(bytes, "names of materials")?;
        let [red, green, blue] = color;
        self.materials.list.push(MeshmapMaterial {
            name: name.to_owned(),
            id: key.id,
            color: Color::srgb_u8(red, green, blue),
            image: image.map(str::to_owned),
            image_path: path.cloned(),
            unlit: self.scene.are_points(),
        });
        let added = self.materials.indices.len();
        self.materials.indices.insert(key, added);
        Ok(added)
    }

    fn skin(&mut self, joints: &Joints) -> Skin {
        if joints.is_empty() || !self.settings.parts.skin {
            return Skin::default();
        }
        let label = MeshmapLabel::InverseBindMatrices(0).to_string();
        let matrices = SkinnedMeshInverseBindposes::from(joints.inverse.clone());
        let inverse_bindposes = self.context.add_labeled_asset(label, matrices);
        let skin = MeshmapSkin {
            names: joints.names.clone(),
            parents: joints.parents.clone(),
            bind_pose: joints.bind_pose.clone(),
            inverse_bindposes: inverse_bindposes.clone(),
        };
        let label = MeshmapLabel::Skin(0).to_string();
        Skin {
            handle: Some(self.context.add_labeled_asset(label, skin)),
            inverse_bindposes: Some(inverse_bindposes),
        }
    }

    /// The clips for which there is memory, and which translations, rotations and scales of joints express.
    fn animations(&mut self, clips: &[Clip], joints: &Joints) -> Result<Animations, MeshmapError> {
        /// A file can have millions of animations.
        const MOST_WARNINGS: usize = 16;
        let mut names = UniqueNames::default();
        let mut left_out: usize = 0;
        let mut graph = AnimationGraph::new();
        let mut list = Vec::new();
        for (index, clip) in clips.iter().enumerate() {
            let curves = match self.curves(clip, joints) {
                Ok(curves) => curves,
                Err(meshmap_scene::Error::Read(error))
                    if error.kind() != ErrorKind::LimitExceeded =>
                {
                    self.keep(Err::<(), _>(error))?;
                    continue;
                }
                // Other animations may be short enough, or have transforms that joints can have.
                Err(error) => {
                    left_out += 1;
                    if left_out <= MOST_WARNINGS {
                        self.warn(format!("animation {index} is left out: {error}"));
                    }
                    continue;
                }
            };
            let name = names.add(&clip.name(), index);
            let label = MeshmapLabel::Animation(name.clone()).to_string();
            let clip_handle = self.context.add_labeled_asset(label, curves);
            list.push(MeshmapAnimation {
                name,
                node: graph.add_clip(clip_handle.clone(), 1.0, graph.root),
                clip: clip_handle,
                repeats: clip.repeats(),
            });
        }
        let others = left_out.saturating_sub(MOST_WARNINGS);
        if others > 0 {
            self.warn(format!("{others} more animations are left out"));
        }
        if list.is_empty() {
            return Ok(Animations::default());
        }
        let label = MeshmapLabel::AnimationGraph.to_string();
        let graph = Some(self.context.add_labeled_asset(label, graph));
        Ok(Animations { list, graph })
    }

    fn curves(&mut self, clip: &Clip, joints: &Joints) -> meshmap_scene::Result<AnimationClip> {
        /// The name is there as text, in a label, and in the set of names.
        const COPIES: u64 = 3;
        let name = COPIES.saturating_mul(clip.anim().name.as_bytes().len() as u64);
        let bytes = animation::size(clip).saturating_add(name);
        let before = self.charge.bytes();
        self.charge.grow(bytes, "keys of all animations")?;
        let curves = animation::curves(clip, joints);
        if curves.is_err() {
            self.charge.shrink_to(before);
        }
        curves
    }

    #[cfg(feature = "pbr")]
    fn standard_materials(&mut self) -> Vec<Handle<bevy_pbr::StandardMaterial>> {
        // Any side may be the front of a file whose format does not define the winding.
        let knows_fronts = self.scene.conventions().front_face.is_some();
        let mut handles = Vec::with_capacity(self.materials.list.len());
        for (index, material) in self.materials.list.iter().enumerate() {
            // The asset waits for its image, which belongs to its context.
            let mut context = self.context.begin_labeled_asset();
            let standard = standard::material(material, knows_fronts, &mut context);
            let loaded = context.finish(standard);
            let label = MeshmapLabel::StandardMaterial(index).to_string();
            handles.push(self.context.add_loaded_labeled_asset(label, loaded));
        }
        handles
    }
}

/// Triangles of one material, or all points.
struct Run {
    view: MeshView,
    /// `None` if the file has no numbers of materials.
    material_id: Option<u32>,
}

fn runs(view: &MeshView, are_points: bool) -> meshmap::Result<Vec<Run>> {
    let mut runs = Vec::new();
    if are_points {
        runs.push(Run {
            view: view.clone(),
            material_id: None,
        });
        return Ok(runs);
    }
    let has_ids = view.material_ids().is_some();
    for group in view.groups() {
        runs.push(Run {
            view: view.group(group.index)?,
            material_id: has_ids.then_some(group.material),
        });
    }
    Ok(runs)
}

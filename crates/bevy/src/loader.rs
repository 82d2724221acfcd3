//! The asset loader: a file to labelled assets.

use std::collections::{BTreeSet, HashMap};

use bevy_animation::graph::AnimationGraph;
use bevy_asset::io::Reader;
use bevy_asset::{AssetLoader, LoadContext};
use bevy_color::Color;
use bevy_mesh::Mesh;
use bevy_mesh::skinning::SkinnedMeshInverseBindposes;
use bevy_reflect::TypePath;
use bevy_world_serialization::WorldAsset;
use meshmap::{MeshEntry, MeshFile, MeshView, Options, Role, Semantic, Winding};
use meshmap_scene::Tints;

use crate::animation::{Clip, clips};
use crate::assets::{
    MeshmapAnimation, MeshmapFile, MeshmapMaterial, MeshmapMesh, MeshmapPrimitive, MeshmapSkin,
};
use crate::convert::{conventions, convert};
use crate::error::MeshmapError;
use crate::hidden::Hidden;
use crate::label::MeshmapLabel;
use crate::read::{self, Access};
use crate::scene;
use crate::settings::{DamagedParts, Levels, MeshmapSettings};
use crate::skeleton::Joints;

/// Loads files of all formats. [`MeshmapPlugin`](crate::MeshmapPlugin) registers it.
#[derive(TypePath)]
pub struct MeshmapLoader {
    pub(crate) access: Access,
    pub(crate) options: Options,
    pub(crate) extensions: Vec<&'static str>,
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
        let mut load = Load {
            file: &file,
            settings,
            context,
            materials: Materials::default(),
            rests: false,
            is_against: None,
            hidden: Hidden::default(),
            warnings: Vec::new(),
        };
        let loaded = load.run()?;
        Ok(MeshmapFile { opened, ..loaded })
    }

    fn extensions(&self) -> &[&str] {
        &self.extensions
    }
}

/// The materials of a file, by name and ID.
#[derive(Default)]
struct Materials {
    list: Vec<MeshmapMaterial>,
    indices: HashMap<(String, u32), usize>,
}

impl Materials {
    fn index(&mut self, name: &str, id: u32) -> usize {
        let next = self.list.len();
        *self
            .indices
            .entry((name.to_owned(), id))
            .or_insert_with(|| {
                let number = if name.is_empty() { id as usize } else { next };
                let [red, green, blue] = Tints::nth(number);
                self.list.push(MeshmapMaterial {
                    name: name.to_owned(),
                    id,
                    color: Color::srgb_u8(red, green, blue),
                });
                next
            })
    }
}

/// One load.
struct Load<'a, 'b> {
    file: &'a MeshFile,
    settings: &'a MeshmapSettings,
    context: &'a mut LoadContext<'b>,
    materials: Materials,
    /// `true` if a mesh has vertices without weights.
    rests: bool,
    /// `true` if the normals of the first mesh that has some point away from the fronts.
    is_against: Option<bool>,
    hidden: Hidden,
    warnings: Vec<String>,
}

impl Load<'_, '_> {
    fn run(&mut self) -> Result<MeshmapFile, MeshmapError> {
        let format = self.file.format();
        let joints = Joints::of(self.file);
        let mut joints = self.keep(joints)?.unwrap_or_default();
        let meshes = self.meshes(&joints)?;
        let (animations, graph) = self.animations(&joints)?;
        if self.rests {
            joints.add_rest();
        }
        for sentence in self.hidden.sentences(&joints) {
            self.warn(sentence);
        }
        let (skins, inverse_bindposes) = self.skins(&joints);

        let list = std::mem::take(&mut self.materials.list);
        #[cfg(feature = "pbr")]
        let standard = self.standard_materials(&list);
        let add = |(index, material)| {
            self.context
                .add_labeled_asset(MeshmapLabel::Material(index).to_string(), material)
        };
        let materials = list.into_iter().enumerate().map(add).collect();

        let root = scene::root_transform(self.file, self.settings);
        let name = self
            .context
            .path()
            .path()
            .file_stem()
            .map(|name| name.to_string_lossy().into_owned());
        let parts = scene::Parts {
            name: name.unwrap_or_default(),
            root,
            meshes: &meshes,
            joints: &joints,
            inverse_bindposes,
            graph: graph.clone(),
            #[cfg(feature = "pbr")]
            materials: &standard,
        };
        let world = WorldAsset::new(scene::world(&parts, self.settings));
        let scene = self
            .context
            .add_labeled_asset(MeshmapLabel::Scene.to_string(), world);
        let finest = meshes.iter().filter_map(|mesh| mesh.lod).min();
        let mut counts: HashMap<Option<u32>, usize> = HashMap::new();
        let mut handles = Vec::new();
        for mesh in meshes {
            let lod = mesh.lod.filter(|lod| Some(*lod) != finest);
            let count = counts.entry(lod).or_default();
            let label = MeshmapLabel::Mesh { lod, mesh: *count };
            *count += 1;
            handles.push(self.context.add_labeled_asset(label.to_string(), mesh));
        }
        Ok(MeshmapFile {
            format,
            scene,
            root,
            meshes: handles,
            materials,
            skins,
            animations,
            graph,
            proxy: self.file.as_cgeo().cloned(),
            opened: None,
            warnings: std::mem::take(&mut self.warnings),
        })
    }

    fn warn(&mut self, text: String) {
        tracing::warn!("{}: {text}", self.context.path());
        self.warnings.push(text);
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

    /// The entries of the levels that are wanted, finest first.
    fn entries(&self) -> Result<Vec<MeshEntry>, MeshmapError> {
        let wanted = |role: Role| match (self.settings.levels, role) {
            (Levels::All, Role::Lod(_)) => true,
            (Levels::One(level), Role::Lod(lod)) => lod == level,
            _ => role.is_drawn_by_default(),
        };
        let mut entries: Vec<_> = self.file.meshes_where(wanted)?.collect();
        if entries.is_empty() && self.settings.levels == Levels::Finest {
            // A file may lack its finest level.
            let lod = |entry: &MeshEntry| {
                if let Role::Lod(lod) = entry.role {
                    Some(lod)
                } else {
                    None
                }
            };
            entries = self
                .file
                .meshes()?
                .filter(|entry| lod(entry).is_some())
                .collect();
            let finest = entries.iter().filter_map(lod).min();
            entries.retain(|entry| lod(entry) == finest);
        }
        entries.retain(|entry| entry.counts.is_none_or(|counts| counts.vertices > 0));
        Ok(entries)
    }

    fn meshes(&mut self, joints: &Joints) -> Result<Vec<MeshmapMesh>, MeshmapError> {
        let entries = self.entries()?;
        let lod_of = |entry: &MeshEntry| {
            if let Role::Lod(lod) = entry.role {
                Some(lod)
            } else {
                None
            }
        };
        let levels: BTreeSet<u32> = entries.iter().filter_map(lod_of).collect();
        let mut counts: HashMap<Option<u32>, usize> = HashMap::new();
        let mut meshes = Vec::new();
        for entry in entries {
            let lod = lod_of(&entry);
            // The finest level has the labels of files without levels.
            let label_lod = lod.filter(|lod| levels.first() != Some(lod));
            let index = counts.get(&label_lod).copied().unwrap_or_default();
            let primitives = self.primitives(&entry, label_lod, index, joints);
            let Some(primitives) = self.keep(primitives)? else {
                continue;
            };
            if primitives.is_empty() {
                continue;
            }
            counts.insert(label_lod, index + 1);
            meshes.push(MeshmapMesh {
                name: entry.name,
                address: entry.address.to_string(),
                lod,
                primitives,
            });
        }
        Ok(meshes)
    }

    /// `true` if triangles are turned because the normals of the first mesh that has some point away from their fronts, which would be
    /// culled. Formats that do not define the front are drawn on both sides.
    fn runs_against_normals(&mut self, view: &MeshView) -> bool {
        let Some(front_face) = self.file.format().conventions().front_face else {
            return false;
        };
        if self.is_against.is_none() && view.triangle_count() > 0 && view.has(&Semantic::Normal) {
            // Damage is reported where the attributes are used.
            self.is_against = Some(view.runs_against_normals(front_face).unwrap_or(false));
        }
        self.is_against == Some(true)
    }

    fn primitives(
        &mut self,
        entry: &MeshEntry,
        lod: Option<u32>,
        mesh: usize,
        joints: &Joints,
    ) -> Result<Vec<MeshmapPrimitive>, MeshmapError> {
        let (mut from, to) = conventions(self.file.format());
        let view = self.file.mesh(&entry.address)?.load()?;
        if self.runs_against_normals(&view) {
            from.front_face = from.front_face.map(|front| match front {
                Winding::Clockwise => Winding::CounterClockwise,
                _ => Winding::Clockwise,
            });
        }
        let view = view.turned(from, to)?.by_material()?;
        if view.vertex_count() == 0 {
            return Ok(Vec::new());
        }
        if !view.has(&Semantic::Position) {
            self.hidden
                .mesh_without_positions(entry.address.to_string());
            return Ok(Vec::new());
        }
        let is_skinned = joints.drops_all || joints.are_followed() || !self.settings.parts.skin;
        self.hidden.add(&view, is_skinned);
        let is_cloud = view.is_point_cloud();
        let mut parts: Vec<_> = Vec::new();
        if is_cloud {
            parts.push((0, view.clone()));
        } else {
            for group in view.groups() {
                parts.push((group.material, view.group(group.index)?));
            }
        }
        let name = view.material().unwrap_or_default().to_owned();
        let mut primitives = Vec::new();
        for (material, part) in parts {
            let converted = convert(&part, is_cloud, self.settings, joints, &mut self.hidden)?;
            self.rests |= converted.rests;
            for error in converted.damaged {
                self.keep(Err::<(), _>(error))?;
            }
            let bounds = part.bounds()?;
            let is_skinned = converted
                .mesh
                .contains_attribute(Mesh::ATTRIBUTE_JOINT_INDEX);
            let label = MeshmapLabel::Primitive {
                lod,
                mesh,
                primitive: primitives.len(),
            };
            primitives.push(MeshmapPrimitive {
                mesh: self
                    .context
                    .add_labeled_asset(label.to_string(), converted.mesh),
                material: self.materials.index(&name, material),
                bounds: if is_skinned {
                    bounds.map(|bounds| joints.in_bind_pose(bounds))
                } else {
                    bounds
                },
            });
        }
        Ok(primitives)
    }

    fn skins(
        &mut self,
        joints: &Joints,
    ) -> (
        Vec<bevy_asset::Handle<MeshmapSkin>>,
        Option<bevy_asset::Handle<SkinnedMeshInverseBindposes>>,
    ) {
        if joints.len() == 0 || !self.settings.parts.skin {
            return (Vec::new(), None);
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
        (
            vec![
                self.context
                    .add_labeled_asset(MeshmapLabel::Skin(0).to_string(), skin),
            ],
            Some(inverse_bindposes),
        )
    }

    fn animations(
        &mut self,
        joints: &Joints,
    ) -> Result<
        (
            Vec<MeshmapAnimation>,
            Option<bevy_asset::Handle<AnimationGraph>>,
        ),
        MeshmapError,
    > {
        let model = self
            .file
            .as_iqm()
            .filter(|_| self.settings.animations && joints.len() > 0);
        let Some(model) = model else {
            return Ok((Vec::new(), None));
        };
        let Some(clips) = self.keep(clips(model, joints))? else {
            return Ok((Vec::new(), None));
        };
        let mut graph = AnimationGraph::new();
        let mut animations = Vec::new();
        for Clip {
            name,
            clip,
            repeats,
        } in clips
        {
            let label = MeshmapLabel::Animation(name.clone()).to_string();
            let clip = self.context.add_labeled_asset(label, clip);
            let node = graph.add_clip(clip.clone(), 1.0, graph.root);
            animations.push(MeshmapAnimation {
                name,
                clip,
                node,
                repeats,
            });
        }
        if animations.is_empty() {
            return Ok((animations, None));
        }
        let graph = self
            .context
            .add_labeled_asset(MeshmapLabel::AnimationGraph.to_string(), graph);
        Ok((animations, Some(graph)))
    }

    #[cfg(feature = "pbr")]
    fn standard_materials(
        &mut self,
        materials: &[MeshmapMaterial],
    ) -> Vec<bevy_asset::Handle<bevy_pbr::StandardMaterial>> {
        // Any side may be the front of a file whose format does not define the winding.
        let known = self.file.format().conventions().front_face.is_some();
        let cull_mode = bevy_pbr::StandardMaterial::default()
            .cull_mode
            .filter(|_| known);
        let standard = |(index, material): (usize, &MeshmapMaterial)| {
            let value = bevy_pbr::StandardMaterial {
                base_color: material.color,
                perceptual_roughness: 0.8,
                cull_mode,
                ..Default::default()
            };
            self.context
                .add_labeled_asset(MeshmapLabel::StandardMaterial(index).to_string(), value)
        };
        materials.iter().enumerate().map(standard).collect()
    }
}

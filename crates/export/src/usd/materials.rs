//! Materials, and the triangles of each one as children of their mesh.

use std::collections::{BTreeMap, HashMap};
use std::io::{Seek, Write};

use super::crate_file::CrateFile;
use super::prim::{Prim, Property, Value, coordinates, primvar};
use super::samples::{Clock, Samples};
use super::values::{Kind, Rep};
use meshmap_images::Alpha;
use meshmap_job::Result;

use crate::images::Texture;
use crate::names::Names;
use crate::settings::ROUGHNESS;

/// The prim below it that has the materials.
pub(super) const MATERIALS: &str = "materials";

/// The name of the shader of each material.
const SHADER: &str = "surface";

/// The names of the shaders of a material with an image, and of their outputs.
const TEXTURE: &str = "texture";
const READER: &str = "coordinates";
const RGB: &str = "outputs:rgb";
const A: &str = "outputs:a";
const RESULT: &str = "outputs:result";

/// The name of the shader that reads the colours of vertices.
const COLORS: &str = "colors";

const DIFFUSE_COLOR: &str = "inputs:diffuseColor";
const OPACITY: &str = "inputs:opacity";

/// Begins the names of outputs of shaders.
pub(super) const OUTPUTS: &str = "outputs:";

/// The output of a shader, and of its material.
const SURFACE: &str = "outputs:surface";

/// The look of a surface.
#[derive(Clone, Copy, Default)]
pub(super) struct Look<'a> {
    pub(super) texture: Option<&'a Texture>,
    /// The colours of the vertices of a shape.
    pub(super) colors: Colors,
}

/// The colours of the vertices of a shape, as light.
#[derive(Clone, Copy, Default)]
pub(super) enum Colors {
    #[default]
    None,
    /// All vertices have this colour.
    One([f32; 3]),
    Many,
}

/// A material is one for each name and look.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    name: String,
    has_texture: bool,
    reads_colors: bool,
    /// The bits of the factors of the image.
    scale: Option<[u32; 3]>,
}

/// Materials with a plain surface, an image, or the colours of vertices: the files that are read have only their names.
pub(super) struct Materials {
    /// The name of the prim that has all others.
    root: String,
    names: Names,
    /// The colour of all surfaces, once it is written.
    color: Option<Rep>,
    paths: HashMap<Key, String>,
    prims: Vec<Prim>,
}

impl Materials {
    pub(super) fn below(root: &str) -> Self {
        let names = Names::default();
        let paths = HashMap::new();
        Self {
            root: root.to_owned(),
            names,
            color: None,
            paths,
            prims: Vec::new(),
        }
    }

    /// The path of the material of this name.
    ///
    /// A preview surface has no product of an image and of other colours for each vertex: an image is multiplied by one colour, or it covers
    /// them.
    pub(super) fn path<W: Write + Seek>(
        &mut self,
        name: &str,
        look: Look<'_>,
        file: &mut CrateFile<'_, W>,
    ) -> Result<String> {
        /// Gray, as importers show objects without a material.
        const DIFFUSE: [f32; 3] = [0.8; 3];
        let texture = look.texture;
        let mut scale = None;
        if let (Some(_), Colors::One(color)) = (texture, look.colors) {
            scale = Some(color).filter(|color| *color != [1.0; 3]);
        }
        let reads_colors = texture.is_none() && !matches!(look.colors, Colors::None);
        let key = Key {
            name: name.to_owned(),
            has_texture: texture.is_some(),
            reads_colors,
            scale: scale.map(|color| color.map(f32::to_bits)),
        };
        if let Some(path) = self.paths.get(&key) {
            return Ok(path.clone());
        }
        // The material and its shader.
        file.charge_prim(name.len())?;
        file.charge_prim(name.len())?;
        let own = self.names.add(name, "material");
        let path = format!("/{}/{MATERIALS}/{own}", self.root);
        let diffuse = match texture {
            Some(_) => {
                Property::connected(DIFFUSE_COLOR, "color3f", format!("{path}/{TEXTURE}.{RGB}"))
            }
            None if reads_colors => {
                let source = format!("{path}/{COLORS}.{RESULT}");
                Property::connected(DIFFUSE_COLOR, "color3f", source)
            }
            None => {
                let color = match self.color {
                    Some(color) => color,
                    None => *self.color.insert(file.vector(DIFFUSE)?),
                };
                Property::attribute(DIFFUSE_COLOR, "color3f").value(color)
            }
        };
        let alpha = texture.map_or(Alpha::Opaque, |texture| texture.alpha);
        let opacity = match alpha {
            Alpha::Opaque => {
                Property::attribute(OPACITY, "float").field("default", Value::Float(1.0))
            }
            _ => Property::connected(OPACITY, "float", format!("{path}/{TEXTURE}.{A}")),
        };
        let mut shader = shader(SHADER, "UsdPreviewSurface")
            .with(diffuse)
            .with(opacity)
            .with(
                Property::attribute("inputs:metallic", "float").field("default", Value::Float(0.0)),
            )
            .with(
                Property::attribute("inputs:roughness", "float")
                    .field("default", Value::Float(ROUGHNESS)),
            )
            .with(Property::attribute(SURFACE, "token"));
        if alpha == Alpha::Mask {
            // As the default of glTF's alphaCutoff.
            let threshold = Property::attribute("inputs:opacityThreshold", "float");
            shader = shader.with(threshold.field("default", Value::Float(0.5)));
        }
        let surface = Property::connected(SURFACE, "token", format!("{path}/{SHADER}.{SURFACE}"));
        let mut material = Prim::new("Material", own).displayed(name).with(surface);
        material.children.push(shader);
        if let Some(texture) = texture {
            let image = texture.path();
            file.charge_prim(image.len())?;
            file.charge_prim(0)?;
            let mut shaders = texture_shaders(&path, image);
            if let Some([r, g, b]) = scale {
                let scale = file.vector([r, g, b, 1.0])?;
                let property = Property::attribute("inputs:scale", "float4").value(scale);
                shaders[0].properties.push(property);
            }
            material.children.extend(shaders);
        }
        if reads_colors {
            file.charge_prim(0)?;
            material.children.push(color_shader());
        }
        self.prims.push(material);
        self.paths.insert(key, path.clone());
        Ok(path)
    }

    /// The prim that contains all materials; `None` if there are none.
    pub(super) fn scope(self) -> Option<Prim> {
        let has_some = !self.prims.is_empty();
        has_some.then(|| Prim {
            children: self.prims,
            ..Prim::new("Scope", MATERIALS)
        })
    }
}

fn shader(name: &str, id: &'static str) -> Prim {
    Prim::new("Shader", name).with(Property::uniform(
        "info:id",
        "token",
        Value::Token(id.into()),
    ))
}

/// The shaders that read an image at the first texture coordinates.
fn texture_shaders(material: &str, image: String) -> [Prim; 2] {
    let word = |name, word: &'static str| {
        Property::attribute(name, "token").field("default", Value::Token(word.into()))
    };
    let texture = shader(TEXTURE, "UsdUVTexture")
        .with(Property::attribute("inputs:file", "asset").field("default", Value::Asset(image)))
        .with(word("inputs:sourceColorSpace", "sRGB"))
        .with(Property::connected(
            "inputs:st",
            "float2",
            format!("{material}/{READER}.{RESULT}"),
        ))
        .with(word("inputs:wrapS", "repeat"))
        .with(word("inputs:wrapT", "repeat"))
        .with(Property::attribute(RGB, "float3"))
        .with(Property::attribute(A, "float"));
    let varname = Property::attribute("inputs:varname", "string");
    let reader = shader(READER, "UsdPrimvarReader_float2")
        .with(varname.field("default", Value::Text(coordinates(0))))
        .with(Property::attribute(RESULT, "float2"));
    [texture, reader]
}

/// The shader that reads the colours of vertices.
fn color_shader() -> Prim {
    let varname = Property::attribute("inputs:varname", "string");
    let name = "displayColor".to_owned();
    shader(COLORS, "UsdPrimvarReader_float3")
        .with(varname.field("default", Value::Text(name)))
        .with(Property::attribute(RESULT, "float3"))
}

/// The triangles of each material id through time.
#[derive(Default)]
pub(super) struct Subsets {
    faces: BTreeMap<u32, Samples>,
    /// The materials that have triangles now.
    used: Vec<u32>,
    /// The ID of each triangle, if all have one material.
    merged: Option<Samples>,
}

impl Subsets {
    pub(super) fn new(are_merged: bool) -> Self {
        Self {
            merged: are_merged.then(Samples::default),
            ..Self::default()
        }
    }

    /// Writes the triangles of each id from this snapshot on.
    pub(super) fn set<W: Write + Seek>(
        &mut self,
        snapshot: usize,
        ids: impl ExactSizeIterator<Item = u32>,
        file: &mut CrateFile<'_, W>,
    ) -> Result<()> {
        /// Memory for the sample of a material, and for its entry in a map.
        const OF_SAMPLE: u64 = 96;
        if let Some(merged) = &mut self.merged {
            if ids.len() > 0 || merged.last().is_some() {
                merged.set(snapshot, file.ints(ids.map(|id| [id.cast_signed()]))?);
            }
            return Ok(());
        }
        let _scope = file.budget.scope();
        // Vectors that grow have up to twice the elements that they need.
        file.budget
            .charge_for::<[i32; 4]>(ids.len(), "triangles by material")?;
        let mut faces: BTreeMap<u32, Vec<[i32; 1]>> = BTreeMap::new();
        for (face, id) in (0..).zip(ids) {
            faces.entry(id).or_default().push([face]);
        }
        let count = faces.len().saturating_add(self.used.len()) as u64;
        file.budget.keep(
            count.saturating_mul(OF_SAMPLE),
            "materials of all snapshots",
        )?;
        let none = Rep::empty(Kind::Int);
        for gone in self.used.drain(..).filter(|id| !faces.contains_key(id)) {
            self.faces.entry(gone).or_default().set(snapshot, none);
        }
        for (id, faces) in faces {
            let samples = self.faces.entry(id).or_default();
            if samples.last().is_none() && snapshot > 0 {
                samples.set(0, none);
            }
            samples.set(snapshot, file.ints(faces.into_iter())?);
            self.used.push(id);
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.faces.is_empty()
            && self
                .merged
                .as_ref()
                .is_none_or(|merged| merged.last().is_none())
    }

    /// Adds a child for each id, with its material.
    pub(super) fn add_to<W: Write + Seek>(
        self,
        mesh: &mut Prim,
        clock: &Clock,
        file: &mut CrateFile<'_, W>,
        materials: &mut Materials,
    ) -> Result<()> {
        if let Some(merged) = self.merged.as_ref().filter(|_| !self.is_empty()) {
            let ids = Property::attribute(primvar("material_id"), "int[]").interpolated("uniform");
            mesh.properties.push(clock.held(ids, merged, file)?);
            mesh.bind(&materials.path("material", Look::default(), file)?);
            return Ok(());
        }
        let word =
            |name, word: &'static str| Property::uniform(name, "token", Value::Token(word.into()));
        if !self.is_empty() {
            mesh.properties
                .push(word("subsetFamily:materialBind:familyType", "partition"));
        }
        for (id, samples) in self.faces {
            let name = format!("material_{id}");
            let material = materials.path(&name, Look::default(), file)?;
            file.charge_prim(name.len())?;
            let indices = clock.held(Property::attribute("indices", "int[]"), &samples, file)?;
            let mut subset = Prim::new("GeomSubset", name)
                .with(word("elementType", "face"))
                .with(word("familyName", "materialBind"))
                .with(indices);
            subset.bind(&material);
            mesh.children.push(subset);
        }
        Ok(())
    }
}

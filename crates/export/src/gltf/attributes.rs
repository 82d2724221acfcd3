//! The attributes of a mesh of any format.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use meshmap::{
    Array, Attribute, Dequant, Influences, MeshView, Scalar, Semantic, VertexFormat,
    colors_to_linear,
};

use super::document::{Index, Primitive};
use super::file::{Gltf, Use};
use super::normals::{against_scale, make_unit, make_unit_tangents};
use super::scene::Rules;
use super::weights::bytes_of;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::scene::check::triangles;
use crate::scene::names;
use crate::scene::pose::Pose;
use crate::scene::read;
use crate::settings::Job;

/// The mode of a primitive whose vertices are points.
pub(super) const POINTS: u32 = 0;

/// A mesh as one primitive.
pub(super) struct Geometry {
    pub(super) primitive: Primitive,
    /// The scale and offset of positions that are written as integers.
    pub(super) dequant: Option<Dequant>,
}

/// Writes a mesh; `None` if there is nothing to draw.
pub(super) fn primitive(
    gltf: &mut Gltf,
    (view, pose): (&MeshView, Option<&Pose>),
    influences: Option<&Influences>,
    rules: &Rules,
    job: &Job<'_>,
    outcome: &mut Outcome,
) -> Result<Option<Geometry>> {
    outcome.count_degenerate(view.indices().triangles(), job.drops_degenerate());
    let budget = gltf.budget.clone();
    let _scope = budget.scope();
    let corners = budget.collect(triangles(view, job, rules.turns), "triangles of a mesh")?;
    let are_points = job.are_points.get();
    if corners.is_empty() && !are_points {
        outcome.leave_out(format!("{}, which has no triangles", view.address()));
        return Ok(None);
    }
    let mut writer = Writer {
        gltf,
        view,
        pose,
        is_skinned: influences.is_some(),
        rules,
        job,
        outcome,
        dequant: None,
        attributes: BTreeMap::new(),
        own_names: HashMap::new(),
    };
    let positions = writer.positions()?;
    writer.normals(&positions, &corners)?;
    for info in view.attributes() {
        writer.other(&info.semantic)?;
    }
    if let Some(influences) = influences {
        writer.influences(influences)?;
    }
    writer.outcome.wrote(positions.len(), corners.len());
    let (attributes, dequant) = (writer.attributes, writer.dequant);
    let (indices, mode) = match are_points {
        true => (None, Some(POINTS)),
        false => (
            Some(gltf.indices(corners.as_flattened(), positions.len())?),
            None,
        ),
    };
    let primitive = Primitive {
        attributes,
        indices,
        mode,
        material: None,
        targets: Rc::default(),
    };
    Ok(Some(Geometry { primitive, dequant }))
}

struct Writer<'a> {
    gltf: &'a mut Gltf,
    view: &'a MeshView,
    pose: Option<&'a Pose>,
    is_skinned: bool,
    rules: &'a Rules,
    job: &'a Job<'a>,
    outcome: &'a mut Outcome,
    dequant: Option<Dequant>,
    attributes: BTreeMap<String, Index>,
    /// The names of attributes that glTF does not define, and how often each was asked for.
    own_names: HashMap<String, usize>,
}

impl Writer<'_> {
    fn array<const N: usize>(&mut self, attribute: &Attribute) -> Result<Option<Vec<[f32; N]>>> {
        read::optional(self.view, attribute, self.pose, self.job, self.outcome)
    }

    fn add(&mut self, name: &str, accessor: Index) {
        self.attributes.insert(name.to_owned(), accessor);
    }

    fn add_floats<const N: usize>(&mut self, name: &str, values: &[[f32; N]]) -> Result<()> {
        let accessor = self.gltf.floats(values, Use::Vertices, false)?;
        self.add(name, accessor);
        Ok(())
    }

    fn positions(&mut self) -> Result<Vec<[f32; 3]>> {
        if !self.view.has(&Semantic::Position) {
            return Ok(Vec::new());
        }
        let integers = self.integers()?;
        if let Some((_, dequant)) = &integers {
            self.dequant = Some(*dequant);
            // The matrix of the node moves them.
            self.pose = None;
        }
        let positions = read::positions(self.view, self.pose, self.job, self.outcome)?;
        let accessor = match integers {
            Some((integers, _)) => self.gltf.quantized_positions(&integers)?,
            None => self.gltf.floats(&positions, Use::Vertices, true)?,
        };
        self.add("POSITION", accessor);
        Ok(positions)
    }

    /// Positions as stored integers, if they are written this way.
    fn integers(&mut self) -> Result<Option<(Array<[u16; 3]>, Dequant)>> {
        if !self.job.quantized {
            return Ok(None);
        }
        let Some(attribute) = self.view.attribute(&Semantic::Position)? else {
            return Ok(None);
        };
        let dequant = attribute
            .dequant()
            .filter(|_| attribute.format().normalized);
        let Some((integers, dequant)) = attribute.array::<[u16; 3]>().zip(dequant) else {
            return Ok(None);
        };
        // Programs transform normals by the matrices of a skin as they are: scales of three sizes would tilt them.
        if self.is_skinned || self.pose.is_some() && self.view.has(&Semantic::Weights(0)) {
            self.outcome.note(
                "meshes with joints have positions as floats, so that their normals are right",
            );
            return Ok(None);
        }
        // A scale of 0 leaves no normals.
        if dequant.scale.iter().any(|scale| *scale <= 0.0) {
            self.outcome.note(format!(
                "{} is flat: its positions are floats",
                self.view.address()
            ));
            return Ok(None);
        }
        Ok(Some((integers, dequant)))
    }

    fn normals(&mut self, positions: &[[f32; 3]], corners: &[[u32; 3]]) -> Result<()> {
        let Some(attribute) = self.view.attribute(&Semantic::Normal)? else {
            return Ok(());
        };
        let Some(mut normals) = self.array::<3>(&attribute)? else {
            return Ok(());
        };
        make_unit(&mut normals, positions, corners, self.outcome);
        if let Some(dequant) = self.dequant {
            against_scale(&mut normals, dequant.scale);
            self.outcome.change(
                "normals, turned for the scale of their node",
                normals.len() as u64,
            );
        }
        self.add_floats("NORMAL", &normals)
    }

    fn other(&mut self, semantic: &Semantic) -> Result<()> {
        match semantic {
            Semantic::Position | Semantic::Normal => Ok(()),
            // The caller knows the meaning of the first set.
            Semantic::Joints(0) | Semantic::Weights(0) => Ok(()),
            Semantic::Tangent => self.tangents(),
            Semantic::TexCoord(set) => self.texcoords(*set),
            Semantic::Color(set) => self.colors(*set),
            Semantic::Custom(name) => self.custom(semantic, name),
            _ => {
                self.outcome.leave_out(semantic.to_string());
                Ok(())
            }
        }
    }

    fn tangents(&mut self) -> Result<()> {
        let Some(attribute) = self.view.attribute(&Semantic::Tangent)? else {
            return Ok(());
        };
        let Some(mut tangents) = self.array::<4>(&attribute)? else {
            return Ok(());
        };
        if !self.attributes.contains_key("NORMAL")
            || !make_unit_tangents(&mut tangents, self.outcome)
        {
            self.outcome
                .leave_out("tangents that have no normals, no length or no sign");
            return Ok(());
        }
        self.add_floats("TANGENT", &tangents)
    }

    fn texcoords(&mut self, set: u32) -> Result<()> {
        let Some(attribute) = self.view.attribute(&Semantic::TexCoord(set))? else {
            return Ok(());
        };
        if attribute.format().components > 2 {
            self.outcome.leave_out("the third texture coordinate");
        }
        let whole = |dequant: &Dequant| dequant.scale == [1.0; 4] && dequant.offset == [0.0; 4];
        let integers = attribute
            .array::<[u16; 2]>()
            .filter(|_| attribute.format().normalized);
        if let Some(integers) = integers
            .filter(|_| self.job.quantized && attribute.dequant().as_ref().is_none_or(whole))
        {
            let flips = self.rules.flips_v;
            self.gltf
                .budget
                .charge_for::<[u16; 2]>(integers.len(), "texture coordinates")?;
            let pairs: Vec<[u16; 2]> = integers
                .iter()
                .map(|[u, v]| if flips { [u, u16::MAX - v] } else { [u, v] })
                .collect();
            let accessor = self.gltf.integers(&pairs, true)?;
            self.add(&format!("TEXCOORD_{set}"), accessor);
            return Ok(());
        }
        let Some(mut coords) = self.array::<2>(&attribute)? else {
            return Ok(());
        };
        if self.rules.flips_v {
            coords.iter_mut().for_each(|[_, v]| *v = 1.0 - *v);
            self.outcome
                .change("texture coordinates v, now 1 - v", coords.len() as u64);
        }
        self.add_floats(&format!("TEXCOORD_{set}"), &coords)
    }

    fn colors(&mut self, set: u32) -> Result<()> {
        let Some(attribute) = self.view.attribute(&Semantic::Color(set))? else {
            return Ok(());
        };
        let Some(mut colors) = self.array::<4>(&attribute)? else {
            return Ok(());
        };
        let is_color = colors_to_linear(&mut colors);
        // A value outside of 0..=1 is not a colour in glTF.
        let name = if is_color {
            format!("COLOR_{set}")
        } else {
            self.free_name(&format!("COLOR_{set}"))
        };
        if attribute.format() != VertexFormat::UNORM8X4 {
            return self.add_floats(&name, &colors);
        }
        // With 16 bits, all dark colours of 8 bits stay different.
        self.gltf
            .budget
            .charge_for::<[u16; 4]>(colors.len(), "colours")?;
        let integers: Vec<_> = colors.iter().map(|color| color.map(level)).collect();
        let accessor = self.gltf.integers(&integers, true)?;
        self.add(&name, accessor);
        Ok(())
    }

    fn custom(&mut self, semantic: &Semantic, name: &str) -> Result<()> {
        let Some(attribute) = self.view.attribute(semantic)? else {
            return Ok(());
        };
        let VertexFormat {
            scalar, components, ..
        } = attribute.format();
        if scalar == Scalar::F64 || components > 4 {
            self.outcome
                .leave_out(format!("{semantic}, which glTF has no type for"));
            return Ok(());
        }
        let Some(values) = self.array::<4>(&attribute)? else {
            return Ok(());
        };
        // Integers are exact up to here.
        if !scalar.is_float()
            && values
                .as_flattened()
                .iter()
                .any(|number| number.abs() >= 16_777_216.0)
        {
            self.outcome.leave_out(format!(
                "{semantic}, whose integers are too large for floats"
            ));
            return Ok(());
        }
        self.gltf
            .budget
            .charge_for::<[f32; 3]>(values.len(), "numbers of an attribute")?;
        let name = self.free_name(name);
        match components {
            1 => self.add_floats(&name, &cut::<1>(&values)),
            2 => self.add_floats(&name, &cut::<2>(&values)),
            3 => self.add_floats(&name, &cut::<3>(&values)),
            _ => self.add_floats(&name, &values),
        }
    }

    /// A name for what is an application's own: an underscore, and capitals, digits and underscores. If it is taken, it ends with the
    /// first number that makes it unique.
    fn free_name(&mut self, name: &str) -> String {
        let own = |c: char| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        };
        let name: String = std::iter::once('_').chain(name.chars().map(own)).collect();
        names::free(&name, &mut self.own_names)
    }

    fn influences(&mut self, influences: &Influences) -> Result<()> {
        let are_bytes = influences
            .joints
            .as_flattened()
            .iter()
            .all(|joint| *joint <= 255);
        let joints = if are_bytes {
            let narrow = |joint: u16| u8::try_from(joint).unwrap_or(u8::MAX);
            let bytes: Vec<[u8; 4]> = influences
                .joints
                .iter()
                .map(|joints| joints.map(narrow))
                .collect();
            self.gltf.integers(&bytes, false)?
        } else {
            self.gltf.integers(&influences.joints, false)?
        };
        self.add("JOINTS_0", joints);
        let Some(bytes) = bytes_of(&influences.weights) else {
            return self.add_floats("WEIGHTS_0", &influences.weights);
        };
        let weights = self.gltf.integers(&bytes, true)?;
        self.add("WEIGHTS_0", weights);
        Ok(())
    }
}

/// The first components of each element.
fn cut<const N: usize>(values: &[[f32; 4]]) -> Vec<[f32; N]> {
    values
        .iter()
        .map(|value| std::array::from_fn(|component| value[component]))
        .collect()
}

/// The nearest of 65,536 levels to a number from 0 to 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to 65,535"
)]
fn level(number: f32) -> u16 {
    (number * f32::from(u16::MAX)).round() as u16
}

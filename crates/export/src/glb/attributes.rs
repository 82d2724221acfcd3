//! The attributes of a mesh of any format.

use std::collections::BTreeMap;
use std::io::{Seek, Write};

use meshmap::{Attribute, MeshView, Scalar, Semantic, VertexFormat};

use super::Rules;
use super::document::{Index, Primitive};
use super::file::{GlbFile, Use};
use super::normals::{make_unit, make_unit_tangents};
use super::weights::{Influences, Weights};
use crate::check::{finite, triangles, winding};
use crate::convert::Convert;
use crate::error::Result;
use crate::outcome::Outcome;

/// A mesh as one primitive; `None` where there is nothing to draw.
pub(super) fn primitive<W: Write + Seek>(
    glb: &mut GlbFile<'_, W>,
    view: &MeshView,
    influences: Option<&Influences>,
    rules: &Rules,
    convert: &Convert,
    outcome: &mut Outcome,
) -> Result<Option<Primitive>> {
    if view.triangle_count() == 0 {
        outcome.leave_out(format!("{}, which has no triangles", view.address()));
        return Ok(None);
    }
    let corners: Vec<[u32; 3]> = triangles(view, rules.turns).collect();
    let mut writer = Writer { glb, view, rules, convert, outcome, attributes: BTreeMap::new() };
    let positions = writer.positions()?;
    writer.normals(&positions, &corners)?;
    for info in view.attributes() {
        writer.other(&info.semantic)?;
    }
    if let Some(influences) = influences {
        writer.influences(influences)?;
    }
    let attributes = writer.attributes;
    let indices = glb.indices(corners.as_flattened(), positions.len())?;
    Ok(Some(Primitive { attributes, indices, material: None, targets: Vec::new() }))
}

struct Writer<'a, 'b, W> {
    glb: &'a mut GlbFile<'b, W>,
    view: &'a MeshView,
    rules: &'a Rules,
    convert: &'a Convert,
    outcome: &'a mut Outcome,
    attributes: BTreeMap<String, Index>,
}

impl<W: Write + Seek> Writer<'_, '_, W> {
    fn array<const N: usize>(&mut self, attribute: &Attribute) -> Result<Vec<[f32; N]>> {
        let mut values = attribute.to_f32::<N>();
        let address = || format!("{}.{}", self.view.address(), attribute.semantic());
        finite(&mut values, address, self.convert, self.outcome)?;
        Ok(values)
    }

    fn add(&mut self, name: &str, accessor: Index) {
        self.attributes.insert(name.to_owned(), accessor);
    }

    fn positions(&mut self) -> Result<Vec<[f32; 3]>> {
        let Some(attribute) = self.view.attribute(&Semantic::Position)? else { return Ok(Vec::new()) };
        let positions = self.array::<3>(&attribute)?;
        let accessor = self.glb.floats(&positions, Use::Vertices, true)?;
        self.add("POSITION", accessor);
        Ok(positions)
    }

    fn normals(&mut self, positions: &[[f32; 3]], corners: &[[u32; 3]]) -> Result<()> {
        let Some(attribute) = self.view.attribute(&Semantic::Normal)? else { return Ok(()) };
        let mut normals = self.array::<3>(&attribute)?;
        let normal_of = |triangle: usize, corner: usize| {
            normals.get(*corners.get(triangle)?.get(corner)? as usize).copied()
        };
        winding(corners.iter().copied(), positions, normal_of, self.outcome);
        make_unit(&mut normals, positions, corners, self.outcome);
        let accessor = self.glb.floats(&normals, Use::Vertices, false)?;
        self.add("NORMAL", accessor);
        Ok(())
    }

    fn other(&mut self, semantic: &Semantic) -> Result<()> {
        match semantic {
            Semantic::Position | Semantic::Normal => Ok(()),
            // Of the first set, the caller knows what they mean.
            Semantic::Joints(0) | Semantic::Weights(0) => Ok(()),
            Semantic::Tangent => self.tangents(),
            Semantic::TexCoord(set) => self.tex_coords(*set),
            Semantic::Color(set) => self.colors(*set),
            Semantic::Custom(name) => self.custom(semantic, name),
            _ => {
                self.outcome.leave_out(semantic.to_string());
                Ok(())
            }
        }
    }

    fn tangents(&mut self) -> Result<()> {
        let Some(attribute) = self.view.attribute(&Semantic::Tangent)? else { return Ok(()) };
        let mut tangents = self.array::<4>(&attribute)?;
        if !self.view.has(&Semantic::Normal) || !make_unit_tangents(&mut tangents, self.outcome) {
            self.outcome.leave_out("tangents that have no normals, no length or no sign");
            return Ok(());
        }
        let accessor = self.glb.floats(&tangents, Use::Vertices, false)?;
        self.add("TANGENT", accessor);
        Ok(())
    }

    fn tex_coords(&mut self, set: u32) -> Result<()> {
        let Some(attribute) = self.view.attribute(&Semantic::TexCoord(set))? else { return Ok(()) };
        if attribute.format().components > 2 {
            self.outcome.leave_out("the third texture coordinate");
        }
        let mut coords = self.array::<2>(&attribute)?;
        if self.rules.flips_v {
            coords.iter_mut().for_each(|[_, v]| *v = 1.0 - *v);
            self.outcome.change("texture coordinates v, now 1 - v", coords.len() as u64);
        }
        let accessor = self.glb.floats(&coords, Use::Vertices, false)?;
        self.add(&format!("TEXCOORD_{set}"), accessor);
        Ok(())
    }

    fn colors(&mut self, set: u32) -> Result<()> {
        let Some(attribute) = self.view.attribute(&Semantic::Color(set))? else { return Ok(()) };
        if attribute.format() == VertexFormat::UNORM8X4 {
            let bytes = attribute.as_bytes().as_chunks::<4>().0.to_vec();
            let accessor = self.glb.bytes(&bytes, true)?;
            self.add(&format!("COLOR_{set}"), accessor);
            return Ok(());
        }
        let colors = self.array::<4>(&attribute)?;
        let is_color = colors.as_flattened().iter().all(|number| (0.0..=1.0).contains(number));
        let accessor = self.glb.floats(&colors, Use::Vertices, false)?;
        // What is not in 0..=1 is no colour of glTF.
        let name = if is_color { format!("COLOR_{set}") } else { self.free_name(&format!("COLOR_{set}")) };
        self.add(&name, accessor);
        Ok(())
    }

    fn custom(&mut self, semantic: &Semantic, name: &str) -> Result<()> {
        let Some(attribute) = self.view.attribute(semantic)? else { return Ok(()) };
        let VertexFormat { scalar, components, .. } = attribute.format();
        if scalar == Scalar::F64 || components > 4 {
            self.outcome.leave_out(format!("{semantic}, which glTF has no type for"));
            return Ok(());
        }
        let values = self.array::<4>(&attribute)?;
        // Integers are exact up to here.
        if !scalar.is_float() && values.as_flattened().iter().any(|number| number.abs() >= 16_777_216.0) {
            self.outcome.leave_out(format!("{semantic}, whose integers are too large for floats"));
            return Ok(());
        }
        let accessor = match components {
            1 => {
                self.glb.floats(&values.iter().map(|[x, ..]| [*x]).collect::<Vec<_>>(), Use::Vertices, false)
            }
            2 => {
                let pairs: Vec<_> = values.iter().map(|[x, y, ..]| [*x, *y]).collect();
                self.glb.floats(&pairs, Use::Vertices, false)
            }
            3 => {
                let triples: Vec<_> = values.iter().map(|[x, y, z, _]| [*x, *y, *z]).collect();
                self.glb.floats(&triples, Use::Vertices, false)
            }
            _ => self.glb.floats(&values, Use::Vertices, false),
        }?;
        let name = self.free_name(name);
        self.add(&name, accessor);
        Ok(())
    }

    /// A name for what is an application's own: an underscore, and capitals, digits and underscores.
    fn free_name(&self, name: &str) -> String {
        let own = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let mut name: String = std::iter::once('_').chain(name.chars().map(own)).collect();
        while self.attributes.contains_key(&name) {
            name.push('_');
        }
        name
    }

    fn influences(&mut self, influences: &Influences) -> Result<()> {
        let are_bytes = influences.joints.as_flattened().iter().all(|joint| *joint <= 255);
        let joints = if are_bytes {
            let narrow = |joint: u16| u8::try_from(joint).unwrap_or(u8::MAX);
            let bytes: Vec<[u8; 4]> = influences.joints.iter().map(|joints| joints.map(narrow)).collect();
            self.glb.bytes(&bytes, false)?
        } else {
            self.glb.shorts(&influences.joints)?
        };
        self.add("JOINTS_0", joints);
        let weights = match &influences.weights {
            Weights::Bytes(bytes) => self.glb.bytes(bytes, true)?,
            Weights::Floats(floats) => self.glb.floats(floats, Use::Vertices, false)?,
        };
        self.add("WEIGHTS_0", weights);
        Ok(())
    }
}

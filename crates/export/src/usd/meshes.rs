//! Meshes of any format, without time: an index serves all attributes of a vertex.

use std::io::{Seek, Write};

use meshmap::{
    Attribute, ErrorKind, Format, MeshView, Scalar, Semantic, VertexFormat, colors_to_linear,
};

use super::crate_file::CrateFile;
use super::materials::{Materials, Subsets};
use super::prim::{Prim, Property, coordinates, extent, mesh, primvar};
use super::samples::Clock;
use super::values::Rep;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::scene::check::{kept, kept_count, triangles};
use crate::scene::names::Names;
use crate::scene::pose::Pose;
use crate::scene::{Mesh, Scene, read};
use crate::settings::Job;
use crate::vector::dot_width;

pub(super) fn write<W: Write + Seek>(
    scene: &Scene,
    job: &Job<'_>,
    out: &mut CrateFile<'_, W>,
    (materials, names): (&mut Materials, &mut Names),
    outcome: &mut Outcome,
) -> Result<Vec<Prim>> {
    let mut prims = Vec::new();
    for part in scene.meshes(&job.budget, outcome)?.iter() {
        let name = part.name();
        let Mesh { view, material, .. } = part;
        outcome.count_degenerate(view.indices().triangles(), job.drops_degenerate());
        let count = kept_count(view, job);
        if count == 0 && !scene.are_points {
            outcome.leave_out(format!("{}, which has no triangles", view.address()));
            continue;
        }
        let _scope = job.budget.scope();
        let (name, address) = (job.name_of(name), view.address().to_string());
        out.charge_prim(name.len() + address.len() + 80 * view.attributes().len())?;
        let own = names.add(name, &address);
        let prim = if scene.are_points {
            Prim::new("Points", own)
        } else {
            mesh(own)
        };
        let mut prim = prim.displayed(name);
        let own = Names::with(&["displayColor", "displayOpacity", "normals"]);
        let mut writer = Writer {
            view,
            pose: scene.pose.as_ref(),
            format: scene.format,
            job,
            out,
            outcome,
            own,
        };
        writer.attributes(&mut prim)?;
        if let Some(ids) = view.material_ids() {
            job.count_materials(Some(ids.iter()), outcome)?;
            let mut subsets = Subsets::new(job.merges_materials());
            let _scope = out.budget.scope();
            let kept = kept(view, job).map(|(index, _)| ids.get(index).unwrap_or_default());
            let ids = out.budget.collect(kept, "material IDs")?;
            subsets.set(0, ids.into_iter(), out)?;
            subsets.add_to(&mut prim, &Clock::new(1, 1), out, materials)?;
        } else if let Some(material) = material {
            let coords = primvar(&coordinates(0));
            let has_coords = prim
                .properties
                .iter()
                .any(|property| property.name == coords);
            let texture = scene.texture(material).filter(|_| has_coords);
            prim.bind(&materials.path(material, texture, out)?);
        }
        outcome.wrote(view.vertex_count(), count);
        prims.push(prim);
    }
    Ok(prims)
}

struct Writer<'a, 'b, W> {
    view: &'a MeshView,
    pose: Option<&'a Pose>,
    format: Format,
    job: &'a Job<'a>,
    out: &'a mut CrateFile<'b, W>,
    outcome: &'a mut Outcome,
    /// The names of primvars.
    own: Names,
}

impl<W: Write + Seek> Writer<'_, '_, W> {
    fn attributes(&mut self, prim: &mut Prim) -> Result<()> {
        let (turns, are_points) = (self.job.turns(self.format), self.job.are_points.get());
        if !are_points {
            let counts = self
                .out
                .ints(triangles(self.view, self.job, turns).map(|_| [3]))?;
            let corners = self.out.corners(triangles(self.view, self.job, turns))?;
            prim.properties
                .push(Property::attribute("faceVertexCounts", "int[]").value(counts));
            prim.properties
                .push(Property::attribute("faceVertexIndices", "int[]").value(corners));
        }
        let mut positions = Vec::new();
        if self.view.has(&Semantic::Position) {
            positions = read::positions(self.view, self.pose, self.job, self.outcome)?;
            let box_around = self.out.floats(extent(&positions).into_iter())?;
            let points = self.out.floats(positions.iter().copied())?;
            prim.properties
                .push(Property::attribute("extent", "float3[]").value(box_around));
            prim.properties
                .push(Property::attribute("points", "point3f[]").value(points));
            if are_points {
                // The files store none: without one, each point is 1 wide.
                let width = self.out.floats([[dot_width(&positions)]].into_iter())?;
                prim.properties.push(
                    Property::attribute("widths", "float[]")
                        .value(width)
                        .interpolated("constant"),
                );
            }
        }
        let normals = match self.view.attribute(&Semantic::Normal)? {
            Some(attribute) => self.array::<3>(&attribute)?,
            None => None,
        };
        if let Some(normals) = normals {
            drop(positions);
            let normals = self.out.floats(normals.into_iter())?;
            let property = Property::attribute("normals", "normal3f[]").value(normals);
            prim.properties.push(property.interpolated("vertex"));
        }
        // The names of texture coordinates are theirs, whatever else has such a name.
        let infos = self.view.attributes().iter();
        let (own, known): (Vec<_>, Vec<_>) =
            infos.partition(|info| matches!(info.semantic, Semantic::Custom(_)));
        for info in known.into_iter().chain(own) {
            self.other(&info.semantic, prim)?;
        }
        Ok(())
    }

    fn other(&mut self, semantic: &Semantic, prim: &mut Prim) -> Result<()> {
        if matches!(semantic, Semantic::Position | Semantic::Normal) {
            return Ok(());
        }
        if matches!(semantic, Semantic::Joints(_) | Semantic::Weights(_)) {
            self.outcome.leave_out(semantic.to_string());
            return Ok(());
        }
        let Some(attribute) = self.view.attribute(semantic)? else {
            return Ok(());
        };
        match semantic {
            Semantic::TexCoord(set) => {
                let Some(values) = self.texcoords(&attribute)? else {
                    return Ok(());
                };
                let name = self.own(&coordinates(usize::try_from(*set).unwrap_or(usize::MAX)));
                add(prim, name, "texCoord2f[]", values);
                Ok(())
            }
            Semantic::Color(set) => self.colors(*set, &attribute, prim),
            Semantic::Custom(name) => self.custom(name, semantic, &attribute, prim),
            _ => self.custom(&semantic.to_string(), semantic, &attribute, prim),
        }
    }

    fn texcoords(&mut self, attribute: &Attribute) -> Result<Option<Rep>> {
        if attribute.format().components > 2 {
            self.outcome.leave_out("the third texture coordinate");
        }
        let Some(mut coords) = self.array::<2>(attribute)? else {
            return Ok(None);
        };
        if self.job.flips_v(self.format) {
            coords.iter_mut().for_each(|[_, v]| *v = 1.0 - *v);
            self.outcome
                .change("texture coordinates v, now 1 - v", coords.len() as u64);
        }
        self.out.floats(coords.into_iter()).map(Some)
    }

    /// Programs show the first colours, if there are any.
    fn colors(&mut self, set: u32, attribute: &Attribute, prim: &mut Prim) -> Result<()> {
        let Some(mut colors) = self.array::<4>(attribute)? else {
            return Ok(());
        };
        let has_alpha = attribute.format().components > 3;
        let is_color = colors_to_linear(&mut colors);
        let three = |[r, g, b, _]: [f32; 4]| [r, g, b];
        if set == 0 && is_color {
            let values = self.out.floats(colors.iter().copied().map(three))?;
            add(prim, primvar("displayColor"), "color3f[]", values);
            if has_alpha {
                let values = self
                    .out
                    .floats(colors.into_iter().map(|[.., alpha]| [alpha]))?;
                add(prim, primvar("displayOpacity"), "float[]", values);
            }
            return Ok(());
        }
        let name = self.own(&format!("color{set}"));
        if has_alpha {
            let values = self.out.floats(colors.into_iter())?;
            add(prim, name, "color4f[]", values);
        } else {
            let values = self.out.floats(colors.into_iter().map(three))?;
            add(prim, name, "color3f[]", values);
        }
        Ok(())
    }

    /// An attribute with a custom name, as floats or as integers.
    fn custom(
        &mut self,
        name: &str,
        semantic: &Semantic,
        attribute: &Attribute,
        prim: &mut Prim,
    ) -> Result<()> {
        let VertexFormat {
            scalar,
            components,
            normalized,
            ..
        } = attribute.format();
        if components > 4 || scalar == Scalar::F64 {
            self.outcome
                .leave_out(format!("{semantic}, of {}", attribute.format()));
            return Ok(());
        }
        let is_float = scalar.is_float() || normalized;
        let (values, kind) = match (is_float, components) {
            (true, 1) => (self.floats::<1>(attribute)?, "float[]"),
            (true, 2) => (self.floats::<2>(attribute)?, "float2[]"),
            (true, 3) => (self.floats::<3>(attribute)?, "float3[]"),
            (true, _) => (self.floats::<4>(attribute)?, "float4[]"),
            (false, 1) if scalar == Scalar::U32 => {
                let (numbers, _) = attribute.as_bytes().as_chunks::<4>();
                let values = self
                    .out
                    .unsigned(numbers.iter().map(|number| u32::from_le_bytes(*number)))?;
                (Some(values), "uint[]")
            }
            (false, _) => {
                let mut format = VertexFormat::SINT32;
                format.components = components;
                let count = attribute.len().saturating_mul(components as usize);
                let mut numbers = self
                    .out
                    .budget
                    .collect((0..count).map(|_| [0; 4]), "numbers of an attribute")?;
                match attribute.write_into(format, format.size(), numbers.as_flattened_mut()) {
                    Err(error) if error.kind() == ErrorKind::OutOfRange => {
                        self.outcome
                            .leave_out(format!("{semantic}, whose integers are too large"));
                        return Ok(());
                    }
                    converted => converted?,
                }
                let (values, kind) = match components {
                    1 => (self.ints::<1>(&numbers)?, "int[]"),
                    2 => (self.ints::<2>(&numbers)?, "int2[]"),
                    3 => (self.ints::<3>(&numbers)?, "int3[]"),
                    _ => (self.ints::<4>(&numbers)?, "int4[]"),
                };
                (Some(values), kind)
            }
        };
        let Some(values) = values else { return Ok(()) };
        let name = self.own(name);
        add(prim, name, kind, values);
        Ok(())
    }

    fn array<const N: usize>(&mut self, attribute: &Attribute) -> Result<Option<Vec<[f32; N]>>> {
        read::optional(self.view, attribute, self.pose, self.job, self.outcome)
    }

    fn floats<const N: usize>(&mut self, attribute: &Attribute) -> Result<Option<Rep>> {
        let values = self.array::<N>(attribute)?;
        values
            .map(|values| self.out.floats(values.into_iter()))
            .transpose()
    }

    fn ints<const N: usize>(&mut self, numbers: &[[u8; 4]]) -> Result<Rep> {
        self.out.ints(
            numbers
                .as_chunks::<N>()
                .0
                .iter()
                .map(|element| element.map(i32::from_ne_bytes)),
        )
    }

    /// The name of a primvar that no other has.
    fn own(&mut self, name: &str) -> String {
        primvar(&self.own.add(name, "custom"))
    }
}

fn add(prim: &mut Prim, name: String, kind: &'static str, values: Rep) {
    prim.properties.push(
        Property::attribute(name, kind)
            .value(values)
            .interpolated("vertex"),
    );
}

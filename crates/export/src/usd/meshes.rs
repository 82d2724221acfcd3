//! Shapes that stand still: one index serves all attributes of a vertex.

use std::io::{Seek, Write};

use meshmap::{ErrorKind, Scalar, Semantic, VertexFormat, colors_to_linear};
use meshmap_job::{Change, Result, Why};
use meshmap_scene::vector::dot_width;
use meshmap_scene::{Buffer, FactKind, Parts, Shape, Stream};

use super::crate_file::CrateFile;
use super::materials::{Colors, Look, Materials};
use super::prim::{Prim, Property, coordinates, extent, mesh, primvar};
use super::skeleton::Rig;
use super::skins;
use super::values::Rep;
use crate::names::Names;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::read::{self, kind_of};

/// The prim of a shape with one index for all attributes; `None` if nothing of it is drawn, which is reported.
pub(super) fn write<W: Write + Seek>(
    shape: &Shape,
    plan: &Plan<'_>,
    out: &mut CrateFile<'_, W>,
    (materials, names, rig): (&mut Materials, &mut Names, Option<&mut Rig>),
    outcome: &mut Outcome,
) -> Result<Option<Prim>> {
    let job = plan.job;
    let are_points = plan.scene.are_points();
    let mut buffer = Buffer::default();
    shape.read_vertices(0, Parts::ALL, &mut buffer)?;
    let _scope = job.budget.scope();
    plan.charge_read(&buffer)?;
    plan.count_degenerate(&buffer, outcome);
    let count = plan.triangle_count(&buffer);
    let address = shape.address().to_string();
    if count == 0 && !are_points {
        outcome
            .report
            .leave_out(FactKind::Shapes, Why::NoTriangles, address);
        return Ok(None);
    }
    let name = job.name_of(shape.object_name());
    out.charge_prim(name.len() + address.len() + 80 * buffer.streams().len())?;
    let own = names.add(name, &address);
    let prim = if are_points {
        Prim::new("Points", own)
    } else {
        mesh(own)
    };
    let mut prim = prim.displayed(name);
    let mut writer = Writer {
        buffer: &buffer,
        plan,
        out,
        outcome,
        own: Names::with(&["displayColor", "displayOpacity", "normals"]),
        display: Colors::None,
    };
    writer.attributes(&mut prim)?;
    let colors = writer.display;
    if let Some(material) = shape.material() {
        let coords = primvar(&coordinates(0));
        let mut properties = prim.properties.iter();
        let has_coords = properties.any(|property| property.name == coords);
        let texture = plan.images.of(Some(material)).filter(|_| has_coords);
        if texture.is_some() && matches!(colors, Colors::Many) {
            let count = buffer.position_count() as u64;
            outcome
                .report
                .change_at(Change::ColorsCovered, count, || address.clone());
        }
        let look = Look { texture, colors };
        prim.bind(&materials.path(material.name, look, out)?);
    }
    if let Some(rig) = rig {
        skins::bind(&mut prim, shape, rig, out, outcome)?;
    }
    let vertices = buffer.position_count();
    outcome.wrote(vertices, count);
    Ok(Some(prim))
}

struct Writer<'a, 'b, W> {
    buffer: &'a Buffer,
    plan: &'a Plan<'a>,
    out: &'a mut CrateFile<'b, W>,
    outcome: &'a mut Outcome,
    /// The names of primvars.
    own: Names,
    /// The colours that programs show.
    display: Colors,
}

impl<W: Write + Seek> Writer<'_, '_, W> {
    fn attributes(&mut self, prim: &mut Prim) -> Result<()> {
        let buffer = self.buffer;
        let are_points = self.plan.scene.are_points();
        if !are_points && let Some(corners) = buffer.position_corners() {
            let counts = self.out.ints(self.plan.triangles(corners).map(|_| [3]))?;
            let corners = self.out.corners(self.plan.triangles(corners))?;
            prim.properties
                .push(Property::attribute("faceVertexCounts", "int[]").value(counts));
            prim.properties
                .push(Property::attribute("faceVertexIndices", "int[]").value(corners));
        }
        if let Some(stream) = buffer.positions() {
            let positions = read::positions(stream, self.plan, self.outcome)?;
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
        if let Some(stream) = buffer.stream(&Semantic::Normal)
            && let Some(normals) = self.array::<3>(stream)?
        {
            let normals = self.out.floats(normals.into_iter())?;
            let property = Property::attribute("normals", "normal3f[]").value(normals);
            prim.properties.push(property.interpolated("vertex"));
        }
        // The names of texture coordinates are theirs, whatever else has such a name.
        let is_custom = |stream: &&Stream| matches!(stream.semantic(), Semantic::Custom(_));
        let streams = buffer.streams();
        for stream in streams.iter().filter(|stream| !is_custom(stream)) {
            self.other(stream, prim)?;
        }
        for stream in streams.iter().filter(is_custom) {
            self.other(stream, prim)?;
        }
        Ok(())
    }

    fn other(&mut self, stream: &Stream, prim: &mut Prim) -> Result<()> {
        match stream.semantic() {
            Semantic::Position | Semantic::Normal => Ok(()),
            // Bound to a skeleton; otherwise the ledger has reported them.
            Semantic::Joints(_) | Semantic::Weights(_) => Ok(()),
            Semantic::TexCoord(set) => {
                let Some(values) = self.texcoords(stream)? else {
                    return Ok(());
                };
                let name = self.own(&coordinates(*set));
                add(prim, name, "texCoord2f[]", values);
                Ok(())
            }
            Semantic::Color(set) => self.colors(*set, stream, prim),
            Semantic::Custom(name) => self.custom(name, stream, prim),
            semantic => self.custom(&semantic.to_string(), stream, prim),
        }
    }

    fn texcoords(&mut self, stream: &Stream) -> Result<Option<Rep>> {
        read::count_third_coordinates(stream, self.plan, self.outcome)?;
        let Some(mut coords) = self.array::<2>(stream)? else {
            return Ok(None);
        };
        if self.plan.flips_v {
            coords.iter_mut().for_each(|[_, v]| *v = 1.0 - *v);
        }
        self.out.floats(coords.into_iter()).map(Some)
    }

    /// Programs show the first colours, if there are any.
    fn colors(&mut self, set: u32, stream: &Stream, prim: &mut Prim) -> Result<()> {
        let Some(mut colors) = self.array::<4>(stream)? else {
            return Ok(());
        };
        let has_alpha = stream.format().components > 3;
        let is_color = colors_to_linear(&mut colors);
        let three = |[r, g, b, _]: [f32; 4]| [r, g, b];
        if set == 0 && is_color {
            self.display = match colors.first() {
                Some([r, g, b, _]) if colors.iter().all(|color| color[..3] == [*r, *g, *b]) => {
                    Colors::One([*r, *g, *b])
                }
                Some(_) => Colors::Many,
                None => Colors::None,
            };
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
    fn custom(&mut self, name: &str, stream: &Stream, prim: &mut Prim) -> Result<()> {
        let semantic = stream.semantic();
        let VertexFormat {
            scalar,
            components,
            normalized,
            ..
        } = stream.format();
        if components > 4 || scalar == Scalar::F64 {
            let report = &mut self.outcome.report;
            report.leave_out(kind_of(semantic), Why::NoType, stream.address());
            return Ok(());
        }
        let is_float = scalar.is_float() || normalized;
        let (values, kind) = match (is_float, components) {
            (true, 1) => (self.floats::<1>(stream)?, "float[]"),
            (true, 2) => (self.floats::<2>(stream)?, "float2[]"),
            (true, 3) => (self.floats::<3>(stream)?, "float3[]"),
            (true, _) => (self.floats::<4>(stream)?, "float4[]"),
            (false, 1) if scalar == Scalar::U32 => {
                let Some(attribute) = stream.attribute()? else {
                    return Ok(());
                };
                let (numbers, _) = attribute.as_bytes().as_chunks::<4>();
                let values = self
                    .out
                    .unsigned(numbers.iter().map(|number| u32::from_le_bytes(*number)))?;
                (Some(values), "uint[]")
            }
            (false, _) => {
                let Some(attribute) = stream.attribute()? else {
                    return Ok(());
                };
                let mut format = VertexFormat::SINT32;
                format.components = components;
                let count = attribute.len().saturating_mul(components as usize);
                let mut numbers = self
                    .out
                    .budget
                    .collect((0..count).map(|_| [0; 4]), "numbers of an attribute")?;
                match attribute.write_into(format, format.size(), numbers.as_flattened_mut()) {
                    Err(error) if error.kind() == ErrorKind::OutOfRange => {
                        let report = &mut self.outcome.report;
                        report.leave_out(kind_of(semantic), Why::TooLarge, stream.address());
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

    fn array<const N: usize>(&mut self, stream: &Stream) -> Result<Option<Vec<[f32; N]>>> {
        read::optional(stream, self.plan, self.outcome)
    }

    fn floats<const N: usize>(&mut self, stream: &Stream) -> Result<Option<Rep>> {
        let values = self.array::<N>(stream)?;
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

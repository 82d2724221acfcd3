//! The attributes of a shape's vertices.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use meshmap::{Dequant, Influences, Scalar, Semantic, VertexFormat, colors_to_linear};
use meshmap_job::{Change, Result, Why};
use meshmap_scene::{Buffer, FactKind, Pose, Stream};

use super::column::Column;
use super::document::Index;
use super::file::Gltf;
use super::normals::{against_scale, make_unit, make_unit_tangents};
use super::vertices::Vertices;
use super::weights::bytes_of;
use crate::names;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::read;

/// The accessors of the attributes of a part, by the names of glTF.
pub(super) type Attributes = BTreeMap<String, Index>;

/// Makes the attributes of the vertices of a shape.
pub(super) struct Writer<'a> {
    pub(super) gltf: &'a mut Gltf,
    pub(super) buffer: &'a Buffer,
    pub(super) vertices: &'a Vertices,
    pub(super) plan: &'a Plan<'a>,
    pub(super) outcome: &'a mut Outcome,
    pub(super) is_skinned: bool,
    /// The pose of the vertices, if they are not written as stored integers.
    pose: Option<&'a Pose>,
    /// The scale and offset of positions that are written as integers.
    pub(super) dequant: Option<Dequant>,
    /// The normals that are written, one for each vertex, if there are tangents.
    normals_of_tangents: Vec<[f32; 3]>,
    /// The normals that are written, one for each vertex, if targets need them.
    pub(super) normals: Option<Vec<[f32; 3]>>,
    /// `true` if the first set of texture coordinates of the file is the first one of the output.
    pub(super) has_coordinates: bool,
    /// Columns that wait for their parts, of which there are several.
    waiting: Vec<(String, Column)>,
    /// The accessors of the only part.
    written: Attributes,
    /// The number of sets of texture coordinates.
    coordinate_sets: u32,
    /// The names of attributes that glTF does not define, and how often each was asked for.
    own_names: HashMap<String, usize>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        gltf: &'a mut Gltf,
        buffer: &'a Buffer,
        vertices: &'a Vertices,
        plan: &'a Plan<'a>,
        outcome: &'a mut Outcome,
        is_skinned: bool,
    ) -> Self {
        Self {
            gltf,
            buffer,
            vertices,
            plan,
            outcome,
            is_skinned,
            pose: plan.scene.pose(),
            dequant: None,
            normals_of_tangents: Vec::new(),
            normals: None,
            has_coordinates: false,
            waiting: Vec::new(),
            written: BTreeMap::new(),
            coordinate_sets: 0,
            own_names: HashMap::new(),
        }
    }

    /// Makes all attributes; `positions` has an entry for each element of the position stream.
    pub(super) fn write(
        &mut self,
        positions: Vec<[f32; 3]>,
        influences: Option<&Influences>,
    ) -> Result<()> {
        let buffer = self.buffer;
        let list = buffer.positions().and_then(Stream::corners);
        let positions = Rc::new(self.vertices.gather(list, positions)?);
        let column = match self.quantized()? {
            Some(column) => column,
            None => Column::Positions(Rc::clone(&positions)),
        };
        self.add("POSITION", column)?;
        if !self.plan.scene.are_points() || buffer.has_one_index() {
            self.normals(&positions)?;
            drop(positions);
            for stream in buffer.streams() {
                self.other(stream)?;
            }
        }
        if let Some(ids) = self.vertices.material_ids(self.outcome)? {
            self.add("_MATERIAL_ID", Column::Floats1(ids))?;
        }
        if let Some(influences) = influences {
            self.influences(influences)?;
        }
        Ok(())
    }

    /// The accessors of a part, which are written now if they were not before.
    pub(super) fn attributes_of(&mut self, part: usize) -> Result<Attributes> {
        if self.waiting.is_empty() {
            return Ok(self.written.clone());
        }
        let mut attributes = BTreeMap::new();
        if let Some(part) = self.vertices.parts.get(part) {
            for (name, column) in &self.waiting {
                let accessor = column.write(&part.vertices, self.gltf)?;
                attributes.insert(name.clone(), accessor);
            }
        }
        if self.vertices.are_shared() {
            self.waiting.clear();
            self.written = attributes.clone();
        }
        Ok(attributes)
    }

    /// Adds an attribute: it is written at once if there is one part, so that its numbers need no memory afterwards.
    fn add(&mut self, name: &str, column: Column) -> Result<()> {
        if let [part] = self.vertices.parts.as_slice() {
            let accessor = column.write(&part.vertices, self.gltf)?;
            self.written.insert(name.to_owned(), accessor);
        } else {
            self.waiting.push((name.to_owned(), column));
        }
        Ok(())
    }

    /// The numbers of a stream for each vertex; `None` if one of them is not finite.
    fn array<const N: usize>(&mut self, stream: &Stream) -> Result<Option<Vec<[f32; N]>>> {
        match read::optional_in(stream, self.pose, self.plan, self.outcome)? {
            Some(values) => Ok(Some(self.vertices.gather(stream.corners(), values)?)),
            None => Ok(None),
        }
    }

    /// Positions as stored integers, if they are written this way.
    fn quantized(&mut self) -> Result<Option<Column>> {
        if self.dequant.is_none() {
            return Ok(None);
        }
        let attribute = match self.buffer.positions() {
            Some(stream) => stream.attribute()?,
            None => None,
        };
        let integers = attribute.and_then(|attribute| attribute.array::<[u16; 3]>());
        Ok(integers.map(Column::Quantized))
    }

    /// Decides whether positions are written as stored integers.
    pub(super) fn choose_quantization(&mut self) -> Result<()> {
        if !self.plan.job.quantized {
            return Ok(());
        }
        let Some(stream) = self.buffer.positions() else {
            return Ok(());
        };
        let Some(attribute) = stream.attribute()? else {
            return Ok(());
        };
        let dequant = attribute
            .dequant()
            .filter(|_| attribute.format().normalized);
        let Some(dequant) = dequant.filter(|_| attribute.array::<[u16; 3]>().is_some()) else {
            return Ok(());
        };
        // Programs transform normals by the matrices of a skin as they are: scales of three sizes would tilt them.
        let has_weights = self.buffer.stream(&Semantic::Weights(0)).is_some();
        if self.is_skinned || self.pose.is_some() && has_weights {
            let address = || stream.address();
            self.outcome
                .report
                .change_at(Change::FloatsForSkin, 1, address);
            return Ok(());
        }
        // A scale of 0 leaves no normals.
        if dequant.scale.iter().any(|scale| *scale <= 0.0) {
            let address = || stream.address();
            self.outcome
                .report
                .change_at(Change::FloatsForFlat, 1, address);
            return Ok(());
        }
        self.dequant = Some(dequant);
        // The matrix of the node moves them.
        self.pose = None;
        Ok(())
    }

    /// The positions of the elements of the position stream.
    pub(super) fn positions(&mut self) -> Result<Vec<[f32; 3]>> {
        match self.buffer.positions() {
            Some(stream) => read::positions_in(stream, self.pose, self.plan, self.outcome),
            None => Ok(Vec::new()),
        }
    }

    fn normals(&mut self, positions: &[[f32; 3]]) -> Result<()> {
        let Some(stream) = self.buffer.stream(&Semantic::Normal) else {
            return Ok(());
        };
        if stream.corners().is_none() {
            return Ok(());
        }
        let Some(mut normals) = self.array::<3>(stream)? else {
            return Ok(());
        };
        make_unit(
            &mut normals,
            positions,
            &self.vertices.corners(),
            self.outcome,
        );
        if let Some(dequant) = self.dequant {
            against_scale(&mut normals, dequant.scale);
            let count = normals.len() as u64;
            self.outcome.report.change(Change::NormalsTurned, count);
        }
        if self.plan.job.morph_normals {
            self.normals = Some(normals.clone());
        }
        if self.buffer.stream(&Semantic::Tangent).is_some() {
            let budget = &self.gltf.budget;
            budget.charge_for::<[f32; 3]>(normals.len(), "normals of tangents")?;
            self.normals_of_tangents.clone_from(&normals);
        }
        self.add("NORMAL", Column::Floats3(normals))
    }

    fn other(&mut self, stream: &Stream) -> Result<()> {
        match stream.semantic() {
            Semantic::Position | Semantic::Normal => Ok(()),
            // The caller knows the meaning of the first set.
            Semantic::Joints(0) | Semantic::Weights(0) => Ok(()),
            Semantic::Tangent => self.tangents(stream),
            Semantic::TexCoord(set) => self.texcoords(*set, stream),
            Semantic::Color(set) => self.colors(*set, stream),
            Semantic::Custom(name) => self.custom(name, stream),
            // Further joints and weights, which the ledger has reported.
            _ => Ok(()),
        }
    }

    fn tangents(&mut self, stream: &Stream) -> Result<()> {
        let Some(mut tangents) = self.array::<4>(stream)? else {
            return Ok(());
        };
        let report = &mut self.outcome.report;
        if self.normals_of_tangents.is_empty() {
            report.leave_out(FactKind::Tangents, Why::NoNormals, stream.address());
            return Ok(());
        }
        let made = make_unit_tangents(&mut tangents, &self.normals_of_tangents);
        let replaced = made.replaced.len();
        if replaced == tangents.len() {
            report.leave_out(FactKind::Tangents, Why::NoDirection, stream.address());
            return Ok(());
        }
        report.change(Change::TangentsScaled, made.scaled);
        if let Some(first) = made.replaced.first() {
            let address = || format!("{}[{first}]", stream.address());
            report.change_at(Change::TangentsReplaced, replaced as u64, address);
        }
        self.add("TANGENT", Column::Floats4(tangents))
    }

    fn texcoords(&mut self, set: u32, stream: &Stream) -> Result<()> {
        if stream.corners().is_none() {
            return Ok(());
        }
        read::count_third_coordinates(stream, self.plan, self.outcome)?;
        let column = match self.quantized_coordinates(stream)? {
            Some(column) => column,
            None => {
                let Some(mut coordinates) = self.array::<2>(stream)? else {
                    return Ok(());
                };
                if self.plan.flips_v {
                    for [_, v] in &mut coordinates {
                        *v = 1.0 - *v;
                    }
                }
                Column::Floats2(coordinates)
            }
        };
        self.has_coordinates |= set == 0 && self.coordinate_sets == 0;
        // The sets of glTF are counted without gaps.
        let name = format!("TEXCOORD_{}", self.coordinate_sets);
        self.coordinate_sets += 1;
        self.add(&name, column)
    }

    /// Texture coordinates as stored integers, if they are written this way.
    fn quantized_coordinates(&mut self, stream: &Stream) -> Result<Option<Column>> {
        if !self.plan.job.quantized || !stream.format().normalized {
            return Ok(None);
        }
        let Some(attribute) = stream.attribute()? else {
            return Ok(None);
        };
        let is_whole = |dequant: &Dequant| dequant.scale == [1.0; 4] && dequant.offset == [0.0; 4];
        if !attribute.dequant().as_ref().is_none_or(is_whole) {
            return Ok(None);
        }
        let Some(integers) = attribute.array::<[u16; 2]>() else {
            return Ok(None);
        };
        self.gltf
            .budget
            .charge_for::<[u16; 2]>(integers.len(), "texture coordinates")?;
        let flips_v = self.plan.flips_v;
        let pairs = integers.iter().map(|[u, v]| {
            let v = if flips_v { u16::MAX - v } else { v };
            [u, v]
        });
        Ok(Some(Column::Normalized2(pairs.collect())))
    }

    fn colors(&mut self, set: u32, stream: &Stream) -> Result<()> {
        let Some(mut colors) = self.array::<4>(stream)? else {
            return Ok(());
        };
        let is_color = colors_to_linear(&mut colors);
        // A value outside of 0..=1 is not a colour in glTF.
        let mut name = format!("COLOR_{set}");
        if !is_color {
            name = self.free_name(&name);
            let count = colors.len() as u64;
            let address = || stream.address();
            self.outcome
                .report
                .change_at(Change::ColorsAsNumbers, count, address);
        }
        if stream.format() != VertexFormat::UNORM8X4 {
            return self.add(&name, Column::Floats4(colors));
        }
        // With 16 bits, all dark colours of 8 bits stay different.
        self.gltf
            .budget
            .charge_for::<[u16; 4]>(colors.len(), "colours")?;
        let levels = colors.iter().map(|color| color.map(level)).collect();
        self.add(&name, Column::Normalized4(levels))
    }

    fn custom(&mut self, name: &str, stream: &Stream) -> Result<()> {
        let VertexFormat {
            scalar, components, ..
        } = stream.format();
        let kind = FactKind::CustomAttributes;
        if scalar == Scalar::F64 || components > 4 {
            let report = &mut self.outcome.report;
            report.leave_out(kind, Why::NoType, stream.address());
            return Ok(());
        }
        let Some(values) = self.array::<4>(stream)? else {
            return Ok(());
        };
        // Integers are exact up to here.
        let mut numbers = values.as_flattened().iter();
        if !scalar.is_float() && numbers.any(|number| number.abs() >= 16_777_216.0) {
            let report = &mut self.outcome.report;
            report.leave_out(kind, Why::TooLarge, stream.address());
            return Ok(());
        }
        self.gltf
            .budget
            .charge_for::<[f32; 3]>(values.len(), "numbers of an attribute")?;
        let name = self.free_name(name);
        let column = match components {
            1 => Column::Floats1(cut(&values)),
            2 => Column::Floats2(cut(&values)),
            3 => Column::Floats3(cut(&values)),
            _ => Column::Floats4(values),
        };
        self.add(&name, column)
    }

    /// A name for what is an application's own: an underscore, and capitals, digits and underscores. If it is taken, it ends with the
    /// first number that makes it unique.
    fn free_name(&mut self, name: &str) -> String {
        let mut own = String::from("_");
        for c in name.chars() {
            own.push(if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            });
        }
        names::free(&own, &mut self.own_names)
    }

    fn influences(&mut self, influences: &Influences) -> Result<()> {
        let joints = &influences.joints;
        let are_bytes = joints.as_flattened().iter().all(|joint| *joint <= 255);
        let joints = if are_bytes {
            let narrow = |joint: u16| u8::try_from(joint).unwrap_or(u8::MAX);
            Column::Bytes(joints.iter().map(|joints| joints.map(narrow)).collect())
        } else {
            Column::Integers(joints.clone())
        };
        self.add("JOINTS_0", joints)?;
        let weights = match bytes_of(&influences.weights) {
            Some(bytes) => Column::NormalizedBytes(bytes),
            None => Column::Floats4(influences.weights.clone()),
        };
        self.add("WEIGHTS_0", weights)
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

//! The changes of a target to a scene, by its conventions and by the options of the conversion.

use std::collections::BTreeSet;

use meshmap::iqm::Trs;
use meshmap::{Axis, Charge, Meter, Scratch, VOrigin, Winding};
use meshmap_export::{Convert, Result, Target};
use meshmap_scene::vector::is_degenerate;
use meshmap_scene::{Buffer, Clip, Parts, Scene, Shape, Skeleton, Unit};

use crate::turn::turned;

/// The rules by which the numbers of a scene become the numbers of a written file.
pub(crate) struct Rules<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) convert: &'a Convert,
    /// The target; OBJ for the object next to a point cache.
    pub(crate) target: Target,
    /// The memory and the work of the comparison.
    pub(crate) meter: &'a Meter<'static>,
    /// The joints that are written with the shapes.
    pub(crate) skeleton: Option<Skeleton>,
    /// `true` if all material IDs are written as one material.
    pub(crate) merges_materials: bool,
    /// `true` if the corners of triangles are written in reverse order.
    reverses: bool,
    /// `true` if the texture coordinate V is written as 1 - V.
    flips_v: bool,
    /// The axis that points up in the target, if it has no root that turns and scales the numbers of the file.
    upright: Option<Axis>,
    /// The length in the target of a length of 1 in the file.
    scale: f64,
}

impl<'a> Rules<'a> {
    /// # Errors
    ///
    /// Returns the errors of reading the mesh file.
    pub(crate) fn new(
        scene: &'a Scene,
        convert: &'a Convert,
        meter: &'a Meter<'static>,
    ) -> Result<Self> {
        let conventions = convert.target.conventions();
        let front_face = conventions.front_face.unwrap_or(Winding::CounterClockwise);
        let stored_origin = scene.conventions().v_origin.unwrap_or(VOrigin::Bottom);
        let mut rules = Self {
            scene,
            convert,
            target: convert.target,
            meter,
            skeleton: None,
            merges_materials: convert.merge_materials,
            reverses: scene.turns_triangles(front_face)? != convert.flip,
            flips_v: conventions
                .v_origin
                .is_some_and(|origin| origin != stored_origin),
            upright: None,
            scale: 1.0,
        };
        match rules.target {
            Target::Pc2 => rules.target = Target::Obj,
            Target::Usdz => rules.target = Target::Usdc,
            _ => {}
        }
        rules.set_frame();
        if rules.is_gltf() || rules.target == Target::Usdc {
            rules.skeleton = rules.written_skeleton()?;
        }
        if !convert.merge_materials && !convert.keep_materials {
            rules.merges_materials = rules.has_many_materials()?;
        }
        Ok(rules)
    }

    /// Sets the axes and the unit of the numbers of vertices.
    fn set_frame(&mut self) {
        let up = self.up();
        let (upright, millimeters) = match self.target {
            Target::Obj => (Axis::Y, 1000.0),
            Target::Ply => (Axis::Z, 1000.0),
            Target::Stl => (Axis::Z, 1.0),
            _ => return,
        };
        if self.convert.raw {
            self.upright = Some(up);
            return;
        }
        self.upright = Some(upright);
        if let Unit::Millimeters(stored) = self.scene.unit() {
            self.scale = stored / millimeters;
        }
    }

    pub(crate) fn is_gltf(&self) -> bool {
        matches!(self.target, Target::Glb | Target::Gltf)
    }

    /// The axis that points up.
    pub(crate) fn up(&self) -> Axis {
        self.scene.up()
    }

    /// The meaning of a length of 1, in metres.
    pub(crate) fn metres(&self) -> f64 {
        self.scene.unit().metres().unwrap_or(1.0)
    }

    /// The number of snapshots a second.
    pub(crate) fn snapshot_rate(&self, shape: &Shape) -> f64 {
        self.convert.fps.unwrap_or_else(|| shape.rate())
    }

    /// The frames per second of a clip.
    pub(crate) fn rate(&self, clip: &Clip) -> f64 {
        self.convert.fps.unwrap_or_else(|| clip.decimal_rate())
    }

    /// `true` if a triangle with these corners is written.
    pub(crate) fn keeps(&self, corners: [u32; 3]) -> bool {
        let is_usd = self.target == Target::Usdc;
        let drops_degenerate = self.convert.drop_degenerate
            || is_usd && !self.convert.keep_degenerate
            || self.scene.are_points();
        !drops_degenerate || !is_degenerate(corners)
    }

    /// The corners of a triangle, in the order in which they are written.
    pub(crate) fn ordered(&self, [a, b, c]: [u32; 3]) -> [u32; 3] {
        if self.reverses { [a, c, b] } else { [a, b, c] }
    }

    /// The texture coordinates of a target.
    pub(crate) fn coordinates(&self, mut coordinates: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
        if self.flips_v {
            for [_, v] in &mut coordinates {
                *v = 1.0 - *v;
            }
        }
        coordinates
    }

    /// Replaces NaN and infinite numbers, if the conversion does so.
    pub(crate) fn replace_non_finite(&self, numbers: &mut [f32]) {
        if !self.convert.zero_non_finite {
            return;
        }
        for number in numbers {
            if !number.is_finite() {
                *number = 0.0;
            }
        }
    }

    /// Turns points or directions into the axes of the target, if it has no root that turns them.
    pub(crate) fn turn<const N: usize>(&self, vectors: &mut [[f32; N]]) {
        let Some(upright) = self.upright else {
            return;
        };
        for vector in vectors {
            if let Some(vector) = vector.first_chunk_mut() {
                let stands = self.up().rotate_to(upright, *vector);
                *vector = turned(self.convert.turn, upright, stands);
            }
        }
    }

    /// Turns points into the axes of the target, and scales them to its unit.
    pub(crate) fn place(&self, points: &mut [[f32; 3]]) {
        self.turn(points);
        if self.scale == 1.0 {
            return;
        }
        for number in points.as_flattened_mut() {
            #[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
            let scaled = (f64::from(*number) * self.scale) as f32;
            *number = scaled;
        }
        self.replace_non_finite(points.as_flattened_mut());
    }

    /// The name of the material of triangles with this ID. Merged ones are compared by the attribute that has the IDs.
    pub(crate) fn material_name(&self, id: u32) -> String {
        if self.merges_materials && self.target == Target::Obj {
            "material".to_owned()
        } else if self.merges_materials || self.target == Target::Ply {
            id.to_string()
        } else {
            format!("material_{id}")
        }
    }

    /// Charges memory for the mesh that is expected of a buffer.
    pub(crate) fn charge_mesh(&self, buffer: &Buffer) -> Result<Charge<'a>> {
        /// The numbers as they are decoded, and as the target has them.
        const OF_ELEMENT: u64 = 2 * size_of::<[f32; 4]>() as u64;
        /// The corners in each list, as they are read and as they are written.
        const OF_CORNERS: u64 = 2 * size_of::<[u32; 3]>() as u64;
        /// The index of a triangle, and its material in lists that have grown.
        const OF_TRIANGLE: u64 = 64;
        let elements = buffer.streams().iter().map(|stream| stream.len() as u64);
        let lists = buffer.corners().len() as u64 + 1;
        let triangles = buffer.triangle_count() as u64;
        let of_elements = elements.sum::<u64>().saturating_mul(OF_ELEMENT);
        let of_triangles = triangles.saturating_mul(lists * OF_CORNERS + OF_TRIANGLE);
        let mut of_points = 0;
        if self.scene.are_points() {
            let points = buffer.position_count();
            of_points = (points as u64).saturating_mul(OF_CORNERS);
        }
        let bytes = of_elements
            .saturating_add(of_triangles)
            .saturating_add(of_points);
        Ok(self.meter.take(bytes, "numbers of a mesh")?)
    }

    /// Charges memory for the keys of a clip, and for the channels that have them.
    pub(crate) fn charge_keys(&self, clip: &Clip) -> Result<Charge<'a>> {
        const OF_POSE: usize = size_of::<Trs>() + size_of::<[f64; 24]>();
        let poses = clip.key_count().saturating_mul(clip.joint_count());
        let bytes = poses.saturating_mul(OF_POSE) as u64;
        Ok(self.meter.take(bytes, "poses of an animation")?)
    }

    fn written_skeleton(&self) -> Result<Option<Skeleton>> {
        let skeleton = self.scene.skeleton(&mut Vec::new())?;
        let Some(skeleton) = skeleton else {
            return Ok(None);
        };
        if self.convert.nest || skeleton.stands_alone {
            Ok(Some(skeleton))
        } else {
            Ok(Some(skeleton.flattened()))
        }
    }

    /// `true` if the first triangles with IDs of materials have more of them than are written as separate materials.
    fn has_many_materials(&self) -> Result<bool> {
        const MOST: usize = 1000;
        let has_time = self.is_gltf() || self.target == Target::Usdc;
        if !has_time && self.target != Target::Obj {
            return Ok(false);
        }
        let mut buffer = Buffer::default();
        let mut scratch = Scratch::default();
        for shape in self.scene.shapes() {
            let keys = if has_time { shape.key_count() } else { 1 };
            for key in 0..keys {
                shape.read(key, Parts::TRIANGLES, &mut buffer, &mut scratch)?;
                if buffer.triangle_count() == 0 {
                    continue;
                }
                let Some(ids) = buffer.material_ids() else {
                    continue;
                };
                let mut known = BTreeSet::new();
                for id in ids {
                    known.insert(id);
                    if known.len() > MOST {
                        return Ok(true);
                    }
                }
                return Ok(false);
            }
        }
        Ok(false)
    }
}

//! Shapes as programs draw them.

use std::mem;

use meshmap::{
    Array, Attribute, AttributeInfo, Charge, Conventions, Element, Influences, MeshView, Meter,
    Semantic, VOrigin, Winding, colors_to_linear,
};

use crate::error::{Error, Result};
use crate::pose::{Pose, VectorKind};
use crate::scene::Scene;

/// The wishes of a program that [draws](Scene::draw) shapes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DrawOptions<'a> {
    /// The place of V = 0 in images.
    pub v_origin: VOrigin,
    /// The number of joints of the [skeleton](Scene::skeleton), which vertices follow; `None` if they follow none, and have no joints and
    /// weights.
    pub joint_count: Option<u16>,
    /// The names of the attributes besides positions, as [`Semantic`] prints them; `None` for all.
    pub attributes: Option<&'a [String]>,
}

impl Default for DrawOptions<'_> {
    fn default() -> Self {
        Self {
            v_origin: VOrigin::Top,
            joint_count: None,
            attributes: None,
        }
    }
}

impl DrawOptions<'_> {
    fn wants(&self, semantic: &Semantic) -> bool {
        match self.attributes {
            None => true,
            Some(_) if *semantic == Semantic::Position => true,
            Some(names) => names.contains(&semantic.to_string()),
        }
    }
}

/// A shape at a key, as programs draw it: see [`Scene::draw`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Drawn {
    /// The mesh, with one index for all attributes of a vertex. All of its attributes are in memory.
    pub mesh: MeshView,
    /// The counts of joints and weights that were changed, without joints and weights themselves; `None` if vertices follow no joints.
    pub influences: Option<Influences>,
}

impl Scene {
    /// Decodes a shape, by its index in [`shapes`](Self::shapes), at a key as programs draw it:
    ///
    /// * Positions, normals and tangents are in the [pose](Self::pose) of the scene. They are in the axes and the unit of the file, which
    ///   [`upright`](Self::upright) turns and scales.
    /// * Triangles run counter-clockwise around the front: see [`turns_triangles`](Self::turns_triangles).
    /// * V of texture coordinates begins where the options say.
    /// * Colours are linear light, `f32` with four components. Numbers that are no colours have the custom meaning `data.color[0]`.
    /// * Four joints, `u16`, and weights, `f32`, of a vertex: see [`Shape::influences`](crate::Shape::influences). Vertices that stand
    ///   in a [frame](crate::SceneOptions::frame) have none.
    ///
    /// Other attributes are as they are stored.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::{MeshFile, Semantic, VertexFormat};
    /// use meshmap_scene::{DrawOptions, Scene, SceneOptions};
    ///
    /// let file = MeshFile::open("../../tests/data/iqm/valid/skin_multi_anim.iqm")?;
    /// let scene = Scene::new(&file, &SceneOptions::default())?;
    /// let mut options = DrawOptions::default();
    /// options.joint_count = Some(5);
    /// let mesh = scene.draw(0, 0, &options)?.mesh;
    /// let weights = mesh.attribute(&Semantic::Weights(0))?.expect("vertices follow joints");
    /// assert_eq!(weights.format(), VertexFormat::FLOAT32X4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NoShape`](Error::NoShape) and [`NoKey`](Error::NoKey) if the scene does not have them,
    /// [`LimitExceeded`](meshmap::ErrorKind::LimitExceeded) if the attributes take more memory than the limits allow, and the errors of
    /// reading.
    pub fn draw(&self, shape: usize, key: usize, options: &DrawOptions<'_>) -> Result<Drawn> {
        let count = self.shapes().len();
        let found = self.shapes().get(shape);
        let found = found.ok_or(Error::NoShape { shape, count })?;
        let mut view = found.view(key)?;
        if options.wants(&Semantic::Normal) {
            // Decoded once for the vertices and for the winding.
            view = view.load()?;
        }
        // The first snapshot of the file decides for an object through time.
        if shape == 0 && found.steps_of(key) == 0.0 {
            self.learn_winding(&view)?;
        }
        let meter = self.meter_of_call();
        let _charge = charge_vertices(&meter, &view)?;
        let moved = Moved::new(self.pose(), &view)?;
        let turned = self.in_conventions(&view, options.v_origin)?;
        let mut attributes = Vec::with_capacity(view.attributes().len());
        for AttributeInfo {
            semantic, format, ..
        } in view.attributes()
        {
            let is_influence = matches!(semantic, Semantic::Joints(_) | Semantic::Weights(_));
            if is_influence || !options.wants(semantic) {
                continue;
            }
            // A single coordinate is not a place on an image.
            let is_turned = matches!(semantic, Semantic::TexCoord(_)) && format.components >= 2;
            let source = if is_turned { &turned } else { &view };
            if let Some(stored) = source.attribute(semantic)? {
                attributes.push(drawn_attribute(stored, &moved));
            }
        }
        let mut influences = None;
        if options.wants(&Semantic::Joints(0)) || options.wants(&Semantic::Weights(0)) {
            influences = self.draw_influences(&view, options, &mut attributes)?;
        }
        let mesh = turned.with_attributes(attributes)?;
        Ok(Drawn { mesh, influences })
    }

    /// A mesh with counter-clockwise fronts, and V from this edge of images.
    fn in_conventions(&self, view: &MeshView, v_origin: VOrigin) -> Result<MeshView> {
        let mut from = Conventions::default();
        let mut to = Conventions::default();
        from.v_origin = Some(self.v_origin());
        to.v_origin = Some(v_origin);
        if self.turns_triangles(Winding::CounterClockwise)? {
            from.front_face = Some(Winding::Clockwise);
            to.front_face = Some(Winding::CounterClockwise);
        }
        Ok(view.turned(from, to)?)
    }

    /// Adds the joints and the weights of vertices.
    fn draw_influences(
        &self,
        view: &MeshView,
        options: &DrawOptions<'_>,
        attributes: &mut Vec<Attribute>,
    ) -> Result<Option<Influences>> {
        let Some(joint_count) = options.joint_count else {
            return Ok(None);
        };
        if self.pose().is_some_and(Pose::is_frame) {
            return Ok(None);
        }
        let Some(mut influences) = view.influences(joint_count)? else {
            return Ok(None);
        };
        let joints = Array::from_vec(mem::take(&mut influences.joints));
        let weights = Array::from_vec(mem::take(&mut influences.weights));
        attributes.extend(Attribute::from_array(Semantic::Joints(0), joints));
        attributes.extend(Attribute::from_array(Semantic::Weights(0), weights));
        Ok(Some(influences))
    }
}

/// Makes an attribute as it is drawn.
fn drawn_attribute(stored: Attribute, moved: &Moved<'_>) -> Attribute {
    match stored.semantic() {
        Semantic::Position => moved.apply(stored),
        // With fewer components, these are other data.
        Semantic::Normal | Semantic::Tangent if stored.format().components >= 3 => {
            moved.apply(stored)
        }
        Semantic::Color(_) => lit(stored),
        _ => stored,
    }
}

/// Charges the attributes of a mesh once more, as floats.
fn charge_vertices<'a>(meter: &'a Meter<'_>, view: &MeshView) -> Result<Charge<'a>> {
    // Four joints and four weights.
    let mut of_vertex: u64 = 24;
    for info in view.attributes() {
        let components = match info.semantic {
            Semantic::Color(_) => 4,
            _ => u64::from(info.format.components),
        };
        of_vertex = of_vertex.saturating_add(components.saturating_mul(4));
    }
    let bytes = of_vertex.saturating_mul(view.vertex_count() as u64);
    Ok(meter.take(bytes, "attributes of a shape")?)
}

/// The movement of the vertices of a mesh by a pose.
struct Moved<'a> {
    pose: Option<&'a Pose>,
    influences: Influences,
}

impl<'a> Moved<'a> {
    fn new(pose: Option<&'a Pose>, view: &MeshView) -> Result<Self> {
        if let Some(pose) = pose
            && let Some(influences) = pose.influences(view)?
        {
            let pose = Some(pose);
            return Ok(Self { pose, influences });
        }
        Ok(Self {
            pose: None,
            influences: Influences::default(),
        })
    }

    fn apply(&self, stored: Attribute) -> Attribute {
        let (Some(pose), Some(kind)) = (self.pose, VectorKind::of(stored.semantic())) else {
            return stored;
        };
        if stored.format().components > 3 {
            self.apply_to::<4>(pose, kind, stored)
        } else {
            self.apply_to::<3>(pose, kind, stored)
        }
    }

    fn apply_to<const N: usize>(
        &self,
        pose: &Pose,
        kind: VectorKind,
        stored: Attribute,
    ) -> Attribute
    where
        [f32; N]: Element,
    {
        let mut values: Vec<[f32; N]> = stored.to_f32();
        pose.apply(kind, &self.influences, |vertex| vertex, &mut values);
        floats(stored.semantic().clone(), values).unwrap_or(stored)
    }
}

fn floats<const N: usize>(semantic: Semantic, values: Vec<[f32; N]>) -> Option<Attribute>
where
    [f32; N]: Element,
{
    Attribute::from_array(semantic, Array::from_vec(values))
}

/// Colours as linear light; other data under another name.
fn lit(stored: Attribute) -> Attribute {
    let mut values: Vec<[f32; 4]> = stored.to_f32();
    let mut semantic = stored.semantic().clone();
    if !colors_to_linear(&mut values) {
        semantic = Semantic::Custom(format!("data.{semantic}"));
    }
    floats(semantic, values).unwrap_or(stored)
}

//! Shapes: a mesh, or one object through time.

use std::sync::Arc;

use meshmap::cgeo::{self, TopologyId};
use meshmap::{
    Address, AttributeInfo, Format, Influences, MeshView, Role, Scalar, Scratch, Semantic, Winding,
};

use crate::error::{Error, Result, is_of_a_part};
use crate::fact::{FactKind, Facts, beginning_of};
use crate::material::{Material, is_image};
use crate::snapshots::Snapshots;
use crate::stream::{Buffer, Parts};

/// Something that is drawn: a mesh, a face of a level of detail, a hull, or one object through time.
///
/// It has one form for all formats: see [`Buffer`]. A shape that stands still has one key; an object through time has a key for each
/// snapshot.
#[derive(Clone)]
pub struct Shape {
    geometry: Geometry,
    face: Option<Face>,
}

/// A face of an object, which may be one of its levels of detail, or a hull.
#[derive(Clone)]
pub(crate) struct Face {
    /// The number of the object; `None` for a hull.
    pub(crate) object: Option<usize>,
    /// `true` for a level of detail that is not drawn with the finest one.
    pub(crate) is_coarser: bool,
    pub(crate) name: String,
    /// The name of the material; `None` for a hull.
    pub(crate) material: Option<String>,
}

#[derive(Clone)]
enum Geometry {
    Mesh(Arc<MeshView>),
    Snapshots(Snapshots),
}

/// The numbers of elements of a shape at a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShapeCounts {
    /// Positions.
    pub positions: usize,
    /// Triangles.
    pub triangles: usize,
}

impl Shape {
    pub(crate) fn of_mesh(view: MeshView) -> Self {
        Self {
            geometry: Geometry::Mesh(Arc::new(view)),
            face: None,
        }
    }

    pub(crate) fn of_snapshots(snapshots: Snapshots) -> Self {
        Self {
            geometry: Geometry::Snapshots(snapshots),
            face: None,
        }
    }

    pub(crate) fn set_face(&mut self, face: Face) {
        self.face = Some(face);
    }

    /// The name; empty if the file stores none. Faces of Second Life meshes have the names `face_0`, `face_0_lod1` and so on, and their hulls
    /// `hull_0` and so on, and `bounding_hull`.
    #[must_use]
    pub fn name(&self) -> &str {
        match (&self.face, &self.geometry) {
            (Some(face), _) => &face.name,
            (None, Geometry::Mesh(view)) => view.name(),
            (None, Geometry::Snapshots(snapshots)) => snapshots.name(),
        }
    }

    /// The name that all levels of detail of the object have, such as `face_0`; the [name](Self::name) of any other shape.
    #[must_use]
    pub fn object_name(&self) -> &str {
        // Faces have the names of their materials.
        let material = self.face.as_ref().and_then(|face| face.material.as_deref());
        material.unwrap_or_else(|| self.name())
    }

    /// The address of the mesh, or of the first snapshot.
    #[must_use]
    pub fn address(&self) -> Address {
        self.address_at(0)
    }

    /// The purpose of the mesh, which has the level of detail.
    #[must_use]
    pub fn role(&self) -> Role {
        match &self.geometry {
            Geometry::Mesh(view) => view.role(),
            Geometry::Snapshots(_) => Role::Snapshot {
                index: self.number_of(0) as u64,
                seconds: None,
            },
        }
    }

    /// The number of the object that the shape is a level of detail of.
    #[must_use]
    pub fn object(&self) -> Option<usize> {
        self.face.as_ref().and_then(|face| face.object)
    }

    /// `true` for a level of detail that is drawn in place of a finer one of the scene, and not with it.
    #[must_use]
    pub fn is_coarser(&self) -> bool {
        self.face.as_ref().is_some_and(|face| face.is_coarser)
    }

    /// The material of all triangles. Without one, triangles may have [numbers](Buffer::material_ids).
    #[must_use]
    pub fn material(&self) -> Option<Material<'_>> {
        let image = self.mesh().and_then(MeshView::texture);
        let name = match &self.face {
            Some(face) => face.material.as_deref()?,
            None => image?,
        };
        Some(Material { name, image })
    }

    /// The number of keys: 1 for a shape that stands still. Keys are snapshots or, if [`SceneOptions::samples`](crate::SceneOptions::samples) asks
    /// for them, samples of snapshots.
    #[must_use]
    pub fn key_count(&self) -> usize {
        match &self.geometry {
            Geometry::Mesh(_) => 1,
            Geometry::Snapshots(snapshots) => snapshots.keys().len(),
        }
    }

    /// The number of the snapshot of a key in the file. 0 for a shape that stands still.
    #[must_use]
    pub fn number_of(&self, key: usize) -> usize {
        match &self.geometry {
            Geometry::Mesh(_) => 0,
            Geometry::Snapshots(snapshots) => snapshots.keys().get(key).map_or(0, |key| key.number),
        }
    }

    /// The time of a key in [steps](Self::step) from the first snapshot of the file, ascending: the number of its snapshot, and the part of a step
    /// before its sample. Samples divide a step into equal parts: "subsamples between snapshots", as the format's description has it.
    #[must_use]
    pub fn steps_of(&self, key: usize) -> f64 {
        match &self.geometry {
            Geometry::Mesh(_) => 0.0,
            Geometry::Snapshots(snapshots) => {
                snapshots.keys().get(key).map_or(0.0, |key| key.steps())
            }
        }
    }

    /// The number of snapshots that the file has, of which some may not have been asked for; 1 for a shape that stands still.
    #[must_use]
    pub fn stored_key_count(&self) -> usize {
        match &self.geometry {
            Geometry::Mesh(_) => 1,
            Geometry::Snapshots(snapshots) => snapshots.stored_count(),
        }
    }

    /// The seconds from one snapshot of the file to the next, as it stores them.
    #[must_use]
    pub fn stored_step(&self) -> Option<f64> {
        match &self.geometry {
            Geometry::Mesh(_) => None,
            Geometry::Snapshots(snapshots) => snapshots.stored_step(),
        }
    }

    /// The number of snapshots a second: as stored, or [`Format::USUAL_RATE`] if the file stores none.
    ///
    /// Files store the time between two snapshots in whole microseconds, which few rates have: 33,333 microseconds are 30 snapshots a
    /// second. It is a whole number or, as in colour television, a whole number times 1000 / 1001, if the step of such a rate is rounded to the
    /// stored one.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let stored = match &self.geometry {
            Geometry::Mesh(_) => None,
            Geometry::Snapshots(snapshots) => snapshots.rate(),
        };
        stored.unwrap_or(Format::USUAL_RATE.into())
    }

    /// The seconds from one snapshot of the file to the next, by its [rate](Self::rate).
    #[must_use]
    pub fn step(&self) -> f64 {
        1.0 / self.rate()
    }

    /// The keys before and after a time in seconds from the first key, and the fraction between them. The shape stands still before its
    /// first and after its last key. A time that is not finite is 0.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a fraction")]
    pub fn keys_at(&self, seconds: f64) -> (usize, usize, f32) {
        let seconds = if seconds.is_finite() { seconds } else { 0.0 };
        let steps = self.steps_of(0) + seconds * self.rate();
        let mut before = 0;
        let mut after = self.key_count().saturating_sub(1);
        if steps >= self.steps_of(after) {
            return (after, after, 0.0);
        }
        // The time is before the last key: between two keys, or before the first.
        while after > before + 1 {
            let middle = before + (after - before) / 2;
            if self.steps_of(middle) <= steps {
                before = middle;
            } else {
                after = middle;
            }
        }
        let first = self.steps_of(before);
        if steps <= first {
            return (before, before, 0.0);
        }
        let fraction = (steps - first) / (self.steps_of(after) - first);
        (before, after, fraction as f32)
    }

    /// `true` if the file stores the shape at keys, of which it may be only one.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        matches!(self.geometry, Geometry::Snapshots(_))
    }

    /// The address of the shape at a key, as the library prints it.
    #[must_use]
    pub fn address_at(&self, key: usize) -> Address {
        match &self.geometry {
            Geometry::Mesh(view) => view.address().clone(),
            Geometry::Snapshots(_) => Address::field("snapshots").index(self.number_of(key) as u64),
        }
    }

    /// The attributes of a mesh that stands still; none of an object through time, whose arrays are known when it is read.
    #[must_use]
    pub fn attributes(&self) -> &[AttributeInfo] {
        match &self.geometry {
            Geometry::Mesh(view) => view.attributes(),
            Geometry::Snapshots(_) => &[],
        }
    }

    /// `true` if the shape stands still and has triangles.
    pub(crate) fn has_triangles(&self) -> bool {
        match &self.geometry {
            Geometry::Mesh(view) => view.triangle_count() > 0,
            Geometry::Snapshots(_) => false,
        }
    }

    /// `true` if vertices have colours, whose numbers are from 0 to 1: others are data of another kind. Reads the colours.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading. Damage counts as `false`, because reading the mesh reports it.
    pub fn has_colors(&self) -> Result<bool> {
        let Some(view) = self.mesh() else {
            return Ok(false);
        };
        let are_colors = view.attribute(&Semantic::Color(0)).map(|colors| {
            colors.is_some_and(|colors| {
                let mut numbers = colors.iter_f32::<4>().flatten();
                numbers.all(|number| (0.0..=1.0).contains(&number))
            })
        });
        unless_damaged(are_colors)
    }

    /// `false` if triangles have no numbers for their materials. Snapshots have to be read to know their numbers.
    pub(crate) fn may_have_material_ids(&self) -> bool {
        match &self.geometry {
            Geometry::Mesh(view) => view.material_ids().is_some(),
            Geometry::Snapshots(_) => true,
        }
    }

    /// The mesh of a shape that stands still.
    pub(crate) fn mesh(&self) -> Option<&MeshView> {
        match &self.geometry {
            Geometry::Mesh(view) => Some(view),
            Geometry::Snapshots(_) => None,
        }
    }

    /// The numbers of positions and of triangles at a key. Inflates 17 bytes of a snapshot.
    ///
    /// # Errors
    ///
    /// Returns an error if the key does not exist, or cannot be read.
    pub fn counts(&self, key: usize, scratch: &mut Scratch) -> Result<ShapeCounts> {
        match &self.geometry {
            Geometry::Mesh(view) if key == 0 => Ok(ShapeCounts {
                positions: view.vertex_count(),
                triangles: view.triangle_count(),
            }),
            Geometry::Mesh(_) => Err(Error::NoKey { key, count: 1 }),
            Geometry::Snapshots(snapshots) => {
                let counts = snapshots.at(key)?.counts(scratch)?;
                Ok(ShapeCounts {
                    positions: counts.vertices as usize,
                    triangles: counts.triangles as usize,
                })
            }
        }
    }

    /// Identifies the triangles at a key; `None` for a shape that stands still. Keys with equal ids have the same corners and
    /// materials.
    ///
    /// # Errors
    ///
    /// Returns an error if the key does not exist, or cannot be read.
    pub fn topology(&self, key: usize, scratch: &mut Scratch) -> Result<Option<TopologyId>> {
        match &self.geometry {
            Geometry::Mesh(_) => Ok(None),
            Geometry::Snapshots(snapshots) => Ok(Some(snapshots.at(key)?.topology(scratch)?)),
        }
    }

    /// Reads these parts at a key into a buffer, as they are stored: for programs that keep an index for each stream, or play many keys.
    /// [`view`](Self::view) is for drawing.
    ///
    /// A snapshot is decoded in one pass. The streams of a mesh that stands still decode when they are [asked](crate::Stream::to_f32), each
    /// for itself.
    ///
    /// # Errors
    ///
    /// Returns an error if the key does not exist, or cannot be read. The buffer is empty then.
    pub fn read(
        &self,
        key: usize,
        parts: Parts,
        buffer: &mut Buffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match &self.geometry {
            Geometry::Mesh(view) if key == 0 => {
                buffer.set_mesh(view, parts);
                Ok(())
            }
            Geometry::Mesh(_) => Err(Error::NoKey { key, count: 1 }),
            Geometry::Snapshots(snapshots) => {
                let snapshot = snapshots.at(key)?;
                buffer.set_snapshot(snapshot.index(), |mesh| {
                    snapshot.mesh_into(parts.of_snapshot(), mesh, scratch)
                })
            }
        }
    }

    /// Like [`read`](Self::read), with one list of corners, to which all streams refer: see [`view`](Self::view).
    ///
    /// # Errors
    ///
    /// Returns an error if the key does not exist, or cannot be read.
    pub fn read_vertices(&self, key: usize, parts: Parts, buffer: &mut Buffer) -> Result<()> {
        buffer.set_mesh(&self.shared_view(key)?, parts);
        Ok(())
    }

    /// The shape at a key with one index for all attributes of a vertex, to be drawn.
    ///
    /// # Errors
    ///
    /// Returns an error if the key does not exist, or cannot be read.
    pub fn view(&self, key: usize) -> Result<MeshView> {
        Ok(Arc::unwrap_or_clone(self.shared_view(key)?))
    }

    fn shared_view(&self, key: usize) -> Result<Arc<MeshView>> {
        match &self.geometry {
            Geometry::Mesh(view) if key == 0 => Ok(Arc::clone(view)),
            Geometry::Mesh(_) => Err(Error::NoKey { key, count: 1 }),
            Geometry::Snapshots(snapshots) => Ok(Arc::new(snapshots.at(key)?.view()?)),
        }
    }

    /// Reads the positions at a key.
    ///
    /// # Errors
    ///
    /// Returns an error if the key does not exist, or cannot be read.
    pub fn positions(
        &self,
        key: usize,
        out: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match &self.geometry {
            Geometry::Mesh(_) => {
                let view = self.shared_view(key)?;
                *out = floats_of(&view, &Semantic::Position)?;
                Ok(())
            }
            Geometry::Snapshots(snapshots) => {
                Ok(snapshots.at(key)?.positions_into(out, scratch)?)
            }
        }
    }

    /// Reads the normals at a key, as they are stored.
    ///
    /// # Errors
    ///
    /// Returns an error if the key does not exist, or cannot be read.
    pub fn normals(
        &self,
        key: usize,
        out: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match &self.geometry {
            Geometry::Mesh(_) => {
                let view = self.shared_view(key)?;
                *out = floats_of(&view, &Semantic::Normal)?;
                Ok(())
            }
            Geometry::Snapshots(snapshots) => Ok(snapshots.at(key)?.normals_into(out, scratch)?),
        }
    }

    /// Returns `true` if stored [differences](Self::differences) are relative to these positions of a key.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn is_base(&self, key: usize, positions: &[[f32; 3]]) -> Result<bool> {
        let Geometry::Snapshots(snapshots) = &self.geometry else {
            return Ok(false);
        };
        if self.steps_of(key) == 0.0 {
            return Ok(true);
        }
        let first = snapshots.base()?.positions()?;
        let bits = |position: &[f32; 3]| position.map(f32::to_bits);
        let are_equal = || {
            first
                .iter()
                .zip(positions)
                .all(|(a, b)| bits(&a) == bits(b))
        };
        Ok(first.len() == positions.len() && are_equal())
    }

    /// Reads the differences between the positions at a key and the [base](Self::is_base), as they are stored; `false` if they are not
    /// stored.
    ///
    /// # Errors
    ///
    /// Returns an error if the key does not exist, or cannot be read.
    pub fn differences(
        &self,
        key: usize,
        out: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        match &self.geometry {
            Geometry::Mesh(_) => Ok(false),
            Geometry::Snapshots(snapshots) => {
                Ok(snapshots.at(key)?.position_differences_into(out, scratch)?)
            }
        }
    }

    /// `true` if the normals at the first key of the file point away from the fronts of the triangles, whose winding is this one; `None` if the shape
    /// has no normals or no triangles. Damage counts as `false`.
    pub(crate) fn runs_against_normals(&self, front_face: Winding) -> Result<Option<bool>> {
        match &self.geometry {
            Geometry::Mesh(view) => runs_against_normals(view, front_face),
            // The first snapshot of the file, so that an object has its fronts on one side whichever snapshots are asked for.
            Geometry::Snapshots(snapshots) => {
                let mesh = snapshots.base()?.mesh(cgeo::Parts::ALL);
                let against = mesh.map(|mesh| mesh.runs_against_normals());
                Ok(Some(unless_damaged(against)?))
            }
        }
    }

    /// Counts what the shape has that somebody could miss. Parts that cannot be read count as absent: reading them reports the damage.
    pub(crate) fn add_facts(&self, facts: &mut Facts) {
        let address = || self.address().to_string();
        facts.add(FactKind::Shapes, address);
        // Names of faces are made here.
        let is_stored = self.face.is_none();
        match &self.geometry {
            Geometry::Mesh(view) => {
                if is_stored && !view.name().is_empty() {
                    facts.add(FactKind::Names, || beginning_of(view.name()));
                }
                add_facts_of_mesh(view, facts);
            }
            Geometry::Snapshots(snapshots) => {
                if is_stored && snapshots.is_named() {
                    facts.add(FactKind::Names, || beginning_of(snapshots.name()));
                }
                snapshots.add_facts(facts);
            }
        }
    }

    /// Counts what the triangles of snapshots have that somebody could miss, by decoding the first of them.
    pub(crate) fn add_facts_of_triangles(&self, facts: &mut Facts) {
        if let Geometry::Snapshots(snapshots) = &self.geometry {
            snapshots.add_facts_of_triangles(facts);
        }
    }

    /// The joints that the vertices of [`view(0)`](Self::view) follow, and their shares, for a skeleton of this many joints; `None` if they
    /// follow none. See [`MeshView::influences`]: a vertex without weights follows the joint `joint_count`, which rests.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`MeshView::influences`].
    pub fn influences(&self, joint_count: u16) -> Result<Option<Influences>> {
        match &self.geometry {
            Geometry::Mesh(view) => Ok(view.influences(joint_count)?),
            Geometry::Snapshots(_) => Ok(None),
        }
    }
}

/// `true` if most normals of a mesh point away from the fronts of its triangles; `None` if it has no normals or no triangles. Damage counts
/// as `false`.
pub(crate) fn runs_against_normals(view: &MeshView, front_face: Winding) -> Result<Option<bool>> {
    if view.triangle_count() == 0 || !view.has(&Semantic::Normal) {
        return Ok(None);
    }
    let against = view.runs_against_normals(front_face);
    Ok(Some(unless_damaged(against)?))
}

/// `false` if a part is damaged.
fn unless_damaged(answer: meshmap::Result<bool>) -> Result<bool> {
    match answer {
        Err(error) if is_of_a_part(&error) => Ok(false),
        answer => Ok(answer?),
    }
}

/// The numbers of an attribute of a mesh; empty if it has none.
fn floats_of(view: &MeshView, semantic: &Semantic) -> Result<Vec<[f32; 3]>> {
    match view.attribute(semantic)? {
        Some(attribute) => Ok(attribute.to_f32()),
        None => Ok(Vec::new()),
    }
}

fn add_facts_of_mesh(view: &MeshView, facts: &mut Facts) {
    for info in view.attributes() {
        let format = info.format;
        let is_integer = format.scalar == Scalar::U16 && format.normalized;
        if info.semantic == Semantic::Position && is_integer {
            facts.add(FactKind::Integers, || view.address().to_string());
        }
        let Some(kind) = FactKind::of(&info.semantic) else {
            continue;
        };
        // Joints are of no use without their weights: both are one fact.
        if info.semantic == Semantic::Joints(0) && view.has(&Semantic::Weights(0)) {
            continue;
        }
        let address = || {
            format!(
                "{}.{}",
                view.address(),
                beginning_of(&info.semantic.to_string())
            )
        };
        facts.add(kind, address);
        let components = info.format.components;
        if matches!(info.semantic, Semantic::TexCoord(_)) && components > 2 {
            facts.add(FactKind::ThirdTexCoords, address);
        }
        if info.semantic == Semantic::Color(0) && components > 3 {
            facts.add(FactKind::Opacity, address);
        }
    }
    if view.material_ids().is_some() {
        facts.add(FactKind::MaterialIds, || view.address().to_string());
    }
    if let Some(image) = view.texture() {
        facts.add(FactKind::Materials, || beginning_of(image));
        if is_image(image) {
            facts.add(FactKind::Images, || beginning_of(image));
        }
    }
}

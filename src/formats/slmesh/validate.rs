//! Checks that look at every value.

use zerocopy::little_endian as le;

use super::asset::Asset;
use super::face::{Face, WrongIndex};
use super::face_layout::Domain;
use super::keys::{Lod, MeshKey, PHYSICS_CONVEX, SKIN};
use super::mesh::Mesh;
use super::physics::PhysicsConvex;
use super::rules::{self, FILE};
use super::skin::Skin;
use crate::bytes::Array;
use crate::codec::dequant::dequantize;
use crate::decode::{Context, Scratch};
use crate::mesh::is_degenerate;
use crate::num::{as_u64, decimal, interval};
use crate::report::{Address, Finding, Findings, Place, Result, Rule};

impl Asset {
    /// Decodes and checks everything.
    ///
    /// Returns [`findings`](Self::findings), and the findings that need a scan of all data. Hashes are checked by `check_hashes`,
    /// with the feature `hash`. Data that is decoded for this is not cached.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading, and [`Cancelled`](crate::ErrorKind::Cancelled). A block that cannot be decoded is an unusable
    /// finding of the rule `block`, and the others are checked anyway. Wrong values are also findings, which make the mesh
    /// unusable if their severity is [`Unusable`](crate::Severity::Unusable).
    pub fn validate(&self) -> Result<Vec<Finding>> {
        let mut findings = Findings::default();
        let mut scratch = Scratch::default();
        let source = self.loaded_source()?;
        let meter = self.meter();
        let mut damaged = Vec::new();
        let skin = self.skin_from(&source, Context::new(&meter, &mut scratch));
        let skin = intact(SKIN, skin, &mut damaged)?;
        // If a skin cannot be read, it is unknown what belongs to it.
        let check_weights = damaged.is_empty();
        let mut higher: Option<LodSize> = None;
        for lod in Lod::ALL {
            // The skin stays in memory; the memory of a mesh is returned before the next is
            // decoded.
            let part = meter.part();
            let context = Context::new(&part, &mut scratch);
            let mesh = self.mesh_from(&source, MeshKey::Lod(lod), context);
            let Some(mesh) = intact(lod.name(), mesh, &mut damaged)? else {
                continue;
            };
            faces(&mesh, skin.as_ref(), check_weights, &mut findings);
            let size = LodSize::of(lod, &mesh);
            check_lod(&mesh, &size, higher.as_ref(), &mut findings);
            higher = Some(size);
        }
        let part = meter.part();
        let context = Context::new(&part, &mut scratch);
        let mesh = self.mesh_from(&source, MeshKey::Physics, context);
        let physics_mesh = intact(MeshKey::Physics.name(), mesh, &mut damaged)?;
        if let Some(mesh) = &physics_mesh {
            faces(mesh, None, false, &mut findings);
        }
        let has_physics_mesh = physics_mesh.is_some();
        drop(physics_mesh);
        drop(part);
        let convex = self.convex_from(&source, Context::new(&meter, &mut scratch));
        if let Some(convex) = intact(PHYSICS_CONVEX, convex, &mut damaged)? {
            check_convex(&convex, has_physics_mesh, &mut findings);
        }
        if let Some(skin) = &skin {
            check_skin(skin, &mut findings);
        }
        let mut all = self.findings().to_vec();
        if let Some(skin) = skin {
            all.extend(skin.findings);
        }
        all.extend(findings.into_vec());
        all.append(&mut damaged);
        Ok(all)
    }
}

/// The numbers of faces and triangles of a level of detail.
struct LodSize {
    lod: Lod,
    faces: usize,
    triangles: usize,
}

impl LodSize {
    fn of(lod: Lod, mesh: &Mesh) -> Self {
        Self {
            lod,
            faces: mesh.face_count(),
            triangles: mesh.triangle_count(),
        }
    }
}

/// Checks that a level of detail has extent, and compares it with the next higher level that the
/// asset has.
fn check_lod(mesh: &Mesh, size: &LodSize, higher: Option<&LodSize>, findings: &mut Findings) {
    if let Some([x, y, z]) = only_position(mesh) {
        findings.add(rules::NO_EXTENT, || {
            let detail = format!("all positions are ({x}, {y}, {z})");
            (lod_place(size.lod, mesh), detail)
        });
    }
    let Some(higher) = higher else { return };
    let higher_lod = higher.lod;
    if size.faces != higher.faces {
        findings.add(rules::FACE_COUNT, || {
            let detail = format!("{}, {higher_lod} has {}", size.faces, higher.faces);
            (lod_place(size.lod, mesh), detail)
        });
    }
    if size.triangles >= higher.triangles {
        findings.add(rules::LOD_TRIANGLES, || {
            let LodSize { triangles, .. } = size;
            let more = higher.triangles;
            let detail = format!("{triangles}, not fewer than the {more} of {higher_lod}");
            (lod_place(size.lod, mesh), detail)
        });
    }
}

fn lod_place(lod: Lod, mesh: &Mesh) -> Place {
    FILE.of(Address::field(lod.name())).at(mesh.range())
}

/// The position of all vertices of a mesh, if they have the same one. Ends at the first vertex with another position.
fn only_position(mesh: &Mesh) -> Option<[f32; 3]> {
    let mut common = None;
    for face in mesh.faces() {
        let Domain { min, max } = face.position_domain();
        let mut before = None;
        for stored in face.raw_positions().iter() {
            if before.replace(stored) == Some(stored) {
                continue;
            }
            let mut position = [[0.0; 3]];
            dequantize(&[stored.map(le::U16::new)], min, max, &mut position);
            let [position] = position;
            if *common.get_or_insert(position) != position {
                return None;
            }
        }
    }
    common
}

/// Returns the content of a block; `None` if it cannot be decoded, which is a finding. A failure to read stays an error.
fn intact<T>(
    block: &'static str,
    read: Result<Option<T>>,
    damaged: &mut Vec<Finding>,
) -> Result<Option<T>> {
    match read {
        Ok(block) => Ok(block),
        Err(error) if error.is_of_reading() => Err(error),
        Err(error) => {
            let address = error.address().cloned().unwrap_or(Address::field(block));
            let detail = error.message_at(&address);
            let place = FILE.of_error(&error).of(address);
            damaged.push(Finding::new(rules::BLOCK, place, detail));
            Ok(None)
        }
    }
}

fn check_convex(convex: &PhysicsConvex, has_mesh: bool, findings: &mut Findings) {
    if convex.raw_bounding_verts().is_none() {
        let detail = "expected the points of a hull around the mesh, found none";
        note_convex(findings, rules::BOUNDING_VERTS_MISSING, detail);
    }
    if convex.surplus > 0 {
        findings.add(rules::HULL_POINTS, || {
            let place = FILE.of(Address::field(PHYSICS_CONVEX));
            let detail = format!("{} points more than the hulls have", convex.surplus);
            (place, detail)
        });
    }
    if has_mesh && convex.hull_sizes().is_some() {
        let detail = "the mesh for physics is never used";
        note_convex(findings, rules::HULLS_AND_MESH, detail);
    }
    let Domain { min, max } = convex.domain();
    let is_finite = min.iter().chain(&max).all(|number| number.is_finite());
    if !is_finite {
        note_convex(findings, rules::DOMAIN_OUTSIDE, "not finite");
    }
}

fn note_convex(findings: &mut Findings, rule: Rule, detail: &'static str) {
    findings.add(rule, || (FILE.of(Address::field(PHYSICS_CONVEX)), detail));
}

fn face_place(face: &Face) -> Place {
    FILE.of(face.address()).at(face.range())
}

fn note_face(findings: &mut Findings, rule: Rule, face: &Face, detail: &'static str) {
    findings.add(rule, || (face_place(face), detail));
}

/// Checks the faces of a mesh. The mesh for physics has no weights.
fn faces(mesh: &Mesh, skin: Option<&Skin>, check_weights: bool, findings: &mut Findings) {
    for face in mesh.faces() {
        if let Some(is_true) = face.layout().no_geometry {
            if !is_true {
                note_face(findings, rules::NO_GEOMETRY, &face, "expected true");
            } else if face.layout().fields > 1 {
                note_face(
                    findings,
                    rules::NO_GEOMETRY,
                    &face,
                    "other fields beside it",
                );
            }
            continue;
        }
        domains(&face, findings);
        triangles(&face, findings);
        zero_normals(&face, findings);
        if check_weights {
            weights(&face, skin, findings);
        }
    }
}

/// Checks the domains of positions and texture coordinates.
fn domains(face: &Face, findings: &mut Findings) {
    /// A little more than 0.5.
    const LIMIT: f32 = 0.501;
    let layout = face.layout();
    match layout.domain {
        None => {
            let detail = "expected one, found none: -0.5 to 0.5";
            note_face(findings, rules::DOMAIN_MISSING, face, detail);
        }
        Some(domain) => {
            let mut numbers = domain.min.iter().chain(&domain.max);
            // NaN is also outside.
            if numbers.any(|number| !(-LIMIT..=LIMIT).contains(number)) {
                findings.add(rules::DOMAIN_OUTSIDE, || {
                    (face_place(face), interval(&domain.min, &domain.max))
                });
            }
            inverted(face, &domain, findings);
        }
    }
    match layout.texcoord_domain {
        None if layout.texcoords.is_some() => {
            let detail = "expected one, found none: all are 0";
            note_face(findings, rules::TEX_COORD_DOMAIN_MISSING, face, detail);
        }
        None => {}
        Some(domain) => inverted(face, &domain, findings),
    }
}

/// Notes a domain of a face whose minimum is above its maximum on some axis.
fn inverted<const N: usize>(face: &Face, domain: &Domain<N>, findings: &mut Findings) {
    let mut axes = domain.min.iter().zip(&domain.max);
    if axes.any(|(min, max)| min > max) {
        findings.add(rules::DOMAIN_INVERTED, || {
            (face_place(face), interval(&domain.min, &domain.max))
        });
    }
}

fn indices_place(face: &Face) -> Place {
    FILE.of(face.address().then("indices")).at(face.range())
}

/// Checks the indices of a face, and finds triangles and vertices that draw nothing.
fn triangles(face: &Face, findings: &mut Findings) {
    let vertices = face.vertex_count();
    let odd_indices = face.layout().odd_indices;
    if odd_indices > 0 {
        findings.add(rules::ODD_INDICES, || {
            let detail = format!("a rest of {odd_indices} after whole triangles");
            (indices_place(face), detail)
        });
    }
    if let Some(WrongIndex { corner, index }) = face.wrong_index() {
        findings.add(rules::INDEX_OUT_OF_RANGE, || {
            let limit = decimal(vertices);
            let found = decimal(index);
            let corner = decimal(corner);
            let detail = format!("expected less than {limit}, found {found} at {corner}");
            (indices_place(face), detail)
        });
        return;
    }
    let mut used = UsedVertices([0; 1024]);
    let mut degenerate = 0_u64;
    let mut first_degenerate = 0;
    for (number, triangle) in face.raw_triangles().iter().enumerate() {
        if is_degenerate(triangle) {
            if degenerate == 0 {
                first_degenerate = number;
            }
            degenerate = degenerate.saturating_add(1);
        }
        for index in triangle {
            used.insert(index);
        }
    }
    findings.add_many(rules::DEGENERATE, degenerate, || {
        let detail = format!("triangle {first_degenerate} has a vertex twice");
        (indices_place(face), detail)
    });
    let unused = as_u64(vertices).saturating_sub(used.count());
    findings.add_many(rules::UNREFERENCED, unused, || {
        let first = (0..vertices).find(|vertex| !used.contains(*vertex));
        let first = first.unwrap_or(0);
        (indices_place(face), format!("vertex {first} of {vertices}"))
    });
}

/// The vertices that triangles use, as a bit for each of the 65,536 that an index may name.
struct UsedVertices([u64; 1024]);

impl UsedVertices {
    fn insert(&mut self, vertex: u16) {
        if let Some(word) = self.0.get_mut(usize::from(vertex >> 6)) {
            *word |= 1 << (vertex & 63);
        }
    }

    fn contains(&self, vertex: usize) -> bool {
        match self.0.get(vertex / 64) {
            Some(word) => word >> (vertex % 64) & 1 == 1,
            None => false,
        }
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Finds normals without a direction.
fn zero_normals(face: &Face, findings: &mut Findings) {
    let Some(normals) = face.raw_normals() else {
        return;
    };
    let mut count = 0_u64;
    let mut first = 0;
    for (vertex, normal) in (0_u64..).zip(normals.iter()) {
        // No number stands for 0: it lies between these two.
        if !normal
            .iter()
            .all(|number| matches!(number, 0x7fff | 0x8000))
        {
            continue;
        }
        if count == 0 {
            first = vertex;
        }
        count = count.saturating_add(1);
    }
    findings.add_many(rules::ZERO_NORMAL, count, || {
        let address = face.address().then("normals").index(first);
        (FILE.of(address).at(face.range()), "expected a direction")
    });
}

fn weights(face: &Face, skin: Option<&Skin>, findings: &mut Findings) {
    let Some(weights) = face.weights() else {
        if skin.is_some() {
            let detail = "expected them, as there is a skin; found none";
            note_face(findings, rules::WEIGHTS_MISSING, face, detail);
        }
        return;
    };
    let Some(skin) = skin else {
        let detail = "joints without names";
        note_face(findings, rules::WEIGHTS_WITHOUT_SKIN, face, detail);
        return;
    };
    let mut weightless = 0_u64;
    let mut wrong = None;
    for influences in weights.iter() {
        let mut has_weight = false;
        for (joint, weight) in influences {
            has_weight |= weight != 0;
            if wrong.is_none() && usize::from(joint) >= skin.joint_count() {
                wrong = Some(joint);
            }
        }
        if !has_weight {
            weightless = weightless.saturating_add(1);
        }
    }
    findings.add_many(rules::WEIGHTLESS, weightless, || {
        let detail = "no influences, or weights that are all 0";
        (face_place(face), detail)
    });
    if let Some(joint) = wrong {
        findings.add(rules::JOINT_OUT_OF_RANGE, || {
            let joints = skin.joint_count();
            let detail = format!("expected less than {joints}, found {joint}");
            (face_place(face), detail)
        });
    }
}

fn check_skin(skin: &Skin, findings: &mut Findings) {
    let matrices = skin.inverse_bind_matrices.as_ref();
    let alt_matrices = skin.alt_inverse_bind_matrices.as_ref();
    let count = matrices.map_or(0, Array::len);
    check_matrix_count(skin, rules::MATRIX_COUNT, count, findings);
    if let Some(alt_matrices) = alt_matrices {
        let count = alt_matrices.len();
        check_matrix_count(skin, rules::ALT_MATRIX_COUNT, count, findings);
    }
    if let Some(matrix) = &skin.bind_shape_matrix {
        check_finite(matrix, findings, || "bind_shape_matrix".to_owned());
    }
    if let Some(matrices) = matrices {
        for (index, matrix) in matrices.iter().enumerate() {
            check_finite(&matrix, findings, || {
                format!("inverse_bind_matrix[{index}]")
            });
        }
    }
    if let Some(matrices) = alt_matrices {
        for (index, matrix) in matrices.iter().enumerate() {
            check_finite(&matrix, findings, || {
                format!("alt_inverse_bind_matrix[{index}]")
            });
        }
    }
    if let Some(offset) = skin.pelvis_offset
        && !offset.is_finite()
    {
        findings.add(rules::NOT_FINITE, || {
            (skin_place(), format!("pelvis_offset is {offset}"))
        });
    }
}

fn skin_place() -> Place {
    FILE.of(Address::field(SKIN))
}

/// Checks that there is a matrix for each joint.
fn check_matrix_count(skin: &Skin, rule: Rule, count: usize, findings: &mut Findings) {
    let joints = skin.joint_count();
    if count != joints {
        findings.add(rule, || {
            let detail = format!("expected {joints}, as there are joints, found {count}");
            (skin_place(), detail)
        });
    }
}

/// Notes the first number of a matrix that is NaN or infinite.
fn check_finite(matrix: &[f32; 16], findings: &mut Findings, name: impl FnOnce() -> String) {
    for (element, number) in matrix.iter().enumerate() {
        if !number.is_finite() {
            findings.add(rules::NOT_FINITE, || {
                (skin_place(), format!("{}[{element}] is {number}", name()))
            });
            return;
        }
    }
}

//! Checks that look at every value.

use zerocopy::little_endian as le;

use super::asset::Asset;
use super::face::Face;
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
use crate::report::{Address, Finding, Findings, Place, Result};

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
        let mut broken = Vec::new();
        let skin = sound(
            SKIN,
            self.skin_from(&source, Context::new(&meter, &mut scratch)),
            &mut broken,
        )?;
        // If a skin cannot be read, it is unknown what belongs to it.
        let check_weights = broken.is_empty();
        let mut higher: Option<(Lod, usize, usize)> = None;
        for lod in Lod::ALL {
            // The skin stays; one mesh takes the place of the other.
            let part = meter.part();
            let mesh = self.mesh_from(
                &source,
                MeshKey::Lod(lod),
                Context::new(&part, &mut scratch),
            );
            let Some(mesh) = sound(lod.name(), mesh, &mut broken)? else {
                continue;
            };
            faces(&mesh, skin.as_ref(), check_weights, &mut findings);
            let triangles = mesh.triangle_count();
            let place = || FILE.of(Address::field(lod.name())).at(mesh.range());
            if let Some([x, y, z]) = only_position(&mesh) {
                findings.add(rules::NO_EXTENT, || {
                    (place(), format!("all positions are ({x}, {y}, {z})"))
                });
            }
            if let Some((higher, faces, more)) = higher {
                if faces != mesh.face_count() {
                    let detail = format!("{}, {higher} has {faces}", mesh.face_count());
                    findings.add(rules::FACE_COUNT, || (place(), detail));
                }
                if triangles >= more {
                    let detail = format!("{triangles}, not fewer than the {more} of {higher}");
                    findings.add(rules::LOD_TRIANGLES, || (place(), detail));
                }
            }
            higher = Some((lod, mesh.face_count(), triangles));
        }
        let part = meter.part();
        let physics_mesh =
            self.mesh_from(&source, MeshKey::Physics, Context::new(&part, &mut scratch));
        let has_mesh =
            sound(MeshKey::Physics.name(), physics_mesh, &mut broken)?.is_some_and(|mesh| {
                faces(&mesh, None, false, &mut findings);
                true
            });
        drop(part);
        let convex = self.convex_from(&source, Context::new(&meter, &mut scratch));
        if let Some(convex) = sound(PHYSICS_CONVEX, convex, &mut broken)? {
            check_convex(&convex, has_mesh, &mut findings);
        }
        if let Some(skin) = &skin {
            check_skin(skin, &mut findings);
        }
        let mut all = self.findings().to_vec();
        all.extend(skin.into_iter().flat_map(|skin| skin.findings));
        all.extend(findings.into_vec());
        all.append(&mut broken);
        Ok(all)
    }
}

/// The position of all vertices of a mesh, if they have the same one. Ends at the first vertex with another position.
fn only_position(mesh: &Mesh) -> Option<[f32; 3]> {
    let mut common = None;
    for face in mesh.faces() {
        let Domain { min, max } = face.position_domain();
        for stored in face.raw_positions().iter() {
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
fn sound<T>(
    block: &'static str,
    read: Result<Option<T>>,
    broken: &mut Vec<Finding>,
) -> Result<Option<T>> {
    match read {
        Err(error) if error.is_of_reading() => Err(error),
        Err(error) => {
            let address = error.address().cloned().unwrap_or(Address::field(block));
            let detail = error.message_at(&address);
            broken.push(Finding::new(
                rules::BLOCK,
                FILE.of_error(&error).of(address),
                detail,
            ));
            Ok(None)
        }
        Ok(block) => Ok(block),
    }
}

fn check_convex(convex: &PhysicsConvex, has_mesh: bool, findings: &mut Findings) {
    let place = || FILE.of(Address::field(PHYSICS_CONVEX));
    if convex.raw_bounding_verts().is_none() {
        let detail = "expected the points of a hull around the mesh, found none";
        findings.add(rules::BOUNDING_VERTS_MISSING, || (place(), detail));
    }
    if convex.surplus > 0 {
        let detail = format!("{} points more than the hulls have", convex.surplus);
        findings.add(rules::HULL_POINTS, || (place(), detail));
    }
    if has_mesh && convex.hull_sizes().is_some() {
        let detail = "the mesh for physics is never used";
        findings.add(rules::HULLS_AND_MESH, || (place(), detail));
    }
    let domain = convex.domain();
    if domain
        .min
        .iter()
        .chain(&domain.max)
        .any(|number| !number.is_finite())
    {
        findings.add(rules::DOMAIN_OUTSIDE, || (place(), "not finite"));
    }
}

/// Checks the faces of a mesh. That for physics has no weights.
fn faces(mesh: &Mesh, skin: Option<&Skin>, check_weights: bool, findings: &mut Findings) {
    for face in mesh.faces() {
        let place = || FILE.of(face.address()).at(mesh.range());
        if let Some(is_true) = face.layout().no_geometry {
            if !is_true || face.layout().fields > 1 {
                let detail = if is_true {
                    "other fields beside it"
                } else {
                    "expected true"
                };
                findings.add(rules::NO_GEOMETRY, || (place(), detail));
            }
            continue;
        }
        domains(&face, findings);
        triangles(&face, findings);
        if check_weights {
            weights(&face, skin, findings);
        }
    }
}

fn domains(face: &Face, findings: &mut Findings) {
    let place = || FILE.of(face.address()).at(face.range());
    let layout = face.layout();
    match layout.domain {
        None => findings.add(rules::DOMAIN_MISSING, || {
            (place(), "expected one, found none: -0.5 to 0.5")
        }),
        Some(domain) => {
            const LIMIT: f32 = 0.501;
            let mut numbers = domain.min.iter().chain(&domain.max);
            // NaN is also outside.
            if numbers.any(|number| !(-LIMIT..=LIMIT).contains(number)) {
                let detail = interval(&domain.min, &domain.max);
                findings.add(rules::DOMAIN_OUTSIDE, || (place(), detail));
            }
            inverted(&domain, findings, place);
        }
    }
    match layout.texcoord_domain {
        None if layout.texcoords.is_some() => findings.add(rules::TEX_COORD_DOMAIN_MISSING, || {
            (place(), "expected one, found none: all are 0")
        }),
        None => {}
        Some(domain) => inverted(&domain, findings, place),
    }
}

fn inverted<const N: usize>(
    domain: &Domain<N>,
    findings: &mut Findings,
    place: impl Fn() -> Place,
) {
    if domain
        .min
        .iter()
        .zip(&domain.max)
        .any(|(min, max)| min > max)
    {
        let detail = interval(&domain.min, &domain.max);
        findings.add(rules::DOMAIN_INVERTED, || (place(), detail));
    }
}

fn triangles(face: &Face, findings: &mut Findings) {
    let place = || FILE.of(face.address().then("indices")).at(face.range());
    let vertices = face.vertex_count();
    if face.layout().odd_indices > 0 {
        let detail = format!(
            "a rest of {} after whole triangles",
            face.layout().odd_indices
        );
        findings.add(rules::ODD_INDICES, || (place(), detail));
    }
    if let Some((corner, index)) = face.wrong_index() {
        let [most, found, corner] = [as_u64(vertices), index.into(), as_u64(corner)].map(decimal);
        let detail = format!("expected less than {most}, found {found} at {corner}");
        findings.add(rules::INDEX_OUT_OF_RANGE, || (place(), detail));
        return;
    }
    let mut is_used = [0_u64; 1024];
    let mut degenerate_count = 0_u64;
    let mut first_degenerate = 0;
    for (number, triangle) in face.raw_triangles().iter().enumerate() {
        if is_degenerate(triangle) {
            if degenerate_count == 0 {
                first_degenerate = number;
            }
            degenerate_count = degenerate_count.saturating_add(1);
        }
        for index in triangle {
            if let Some(word) = is_used.get_mut(usize::from(index >> 6)) {
                *word |= 1 << (index & 63);
            }
        }
    }
    findings.add_many(rules::DEGENERATE, degenerate_count, || {
        let detail = format!("triangle {first_degenerate} has a vertex twice");
        (place(), detail)
    });
    let used = is_used
        .iter()
        .map(|word| u64::from(word.count_ones()))
        .sum();
    let unused = as_u64(vertices).saturating_sub(used);
    findings.add_many(rules::UNREFERENCED, unused, || {
        let is_unused = |vertex: &usize| match is_used.get(vertex / 64) {
            Some(word) => word >> (vertex % 64) & 1 == 0,
            None => true,
        };
        let first = (0..vertices).find(is_unused).unwrap_or(0);
        (place(), format!("vertex {first} of {vertices}"))
    });
}

fn weights(face: &Face, skin: Option<&Skin>, findings: &mut Findings) {
    let place = || FILE.of(face.address()).at(face.range());
    let Some(weights) = face.weights() else {
        if skin.is_some() {
            findings.add(rules::WEIGHTS_MISSING, || {
                (place(), "expected them, as there is a skin; found none")
            });
        }
        return;
    };
    let Some(skin) = skin else {
        findings.add(rules::WEIGHTS_WITHOUT_SKIN, || {
            (place(), "joints without names")
        });
        return;
    };
    let (mut weightless, mut wrong) = (0_u64, None);
    for influences in weights.iter() {
        let mut weighs = false;
        for (joint, weight) in influences {
            weighs |= weight != 0;
            if usize::from(joint) >= skin.joint_count() {
                wrong = wrong.or(Some(joint));
            }
        }
        weightless = weightless.saturating_add(u64::from(!weighs));
    }
    findings.add_many(rules::WEIGHTLESS, weightless, || {
        (place(), "no influences, or weights that are all 0")
    });
    if let Some(joint) = wrong {
        let detail = format!("expected less than {}, found {joint}", skin.joint_count());
        findings.add(rules::JOINT_OUT_OF_RANGE, || (place(), detail));
    }
}

fn check_skin(skin: &Skin, findings: &mut Findings) {
    let place = || FILE.of(Address::field(SKIN));
    let joints = skin.joint_count();
    let counts = [
        (
            rules::MATRIX_COUNT,
            Some(skin.inverse_bind_matrices.as_ref().map_or(0, Array::len)),
        ),
        (
            rules::ALT_MATRIX_COUNT,
            skin.alt_inverse_bind_matrices
                .as_ref()
                .map(|matrices| matrices.len()),
        ),
    ];
    for (what, count) in counts {
        if let Some(count) = count.filter(|count| *count != joints) {
            let detail = format!("expected {joints}, as there are joints, found {count}");
            findings.add(what, || (place(), detail));
        }
    }
    not_finite(skin, |number| {
        findings.add(rules::NOT_FINITE, || (place(), number))
    });
}

/// Calls `note` for each number that is infinite or not a number: which it is.
fn not_finite(skin: &Skin, mut note: impl FnMut(String)) {
    let wrong = |matrix: &[f32; 16]| {
        matrix
            .iter()
            .copied()
            .enumerate()
            .find(|(_, n)| !n.is_finite())
    };
    if let Some((element, number)) = skin.bind_shape_matrix.as_ref().and_then(wrong) {
        note(format!("bind_shape_matrix[{element}] is {number}"));
    }
    let lists = [
        ("inverse_bind_matrix", &skin.inverse_bind_matrices),
        ("alt_inverse_bind_matrix", &skin.alt_inverse_bind_matrices),
    ];
    for (name, matrices) in lists {
        for (index, matrix) in matrices
            .iter()
            .flat_map(|matrices| matrices.iter())
            .enumerate()
        {
            if let Some((element, number)) = wrong(&matrix) {
                note(format!("{name}[{index}][{element}] is {number}"));
            }
        }
    }
    if let Some(offset) = skin.pelvis_offset.filter(|offset| !offset.is_finite()) {
        note(format!("pelvis_offset is {offset}"));
    }
}

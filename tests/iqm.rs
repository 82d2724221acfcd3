//! IQM: what the values mean.

use std::fs;

use meshmap::iqm::{self, Matrix, Model, Trs, VertexArrayType};
use meshmap::{
    Address, ErrorKind, Finding, Format, Fragments, Limits, MeshFile, MeshView, Options, Rule,
    Scalar, Semantic, Severity, Source, Strictness,
};
use meshmap_testing::{Recorder, data, fixtures, open};

/// A rule of the format.
fn rule(id: &str) -> Rule {
    Rule::by_id(Format::Iqm, id).unwrap()
}

fn model(name: &str) -> Model {
    Model::open(data::valid("iqm", name)).unwrap()
}

fn strict(bytes: Vec<u8>) -> meshmap::Result<Model> {
    Model::from_source(
        Source::from_bytes(bytes),
        &Options::default().with_strictness(Strictness::Strict),
    )
}

fn set(file: &mut [u8], field: usize, value: u32) {
    file[field..field + 4].copy_from_slice(&value.to_le_bytes());
}

fn get(file: &[u8], field: usize) -> usize {
    u32::from_le_bytes(file[field..field + 4].try_into().unwrap()) as usize
}

#[test]
fn animations_are_found_by_name_and_by_time() {
    let model = model("skin_multi_anim.iqm");
    assert_eq!(
        model
            .anims()
            .map(|anim| anim.name.to_string())
            .collect::<Vec<_>>(),
        ["idle", "run", "die", "nofps"]
    );
    let anim = |name: &str| model.anims().find(|anim| anim.name == name);
    let idle = anim("idle").unwrap();
    assert!(idle.is_loop() && anim("Idle").is_none() && anim("id").is_none());
    assert_eq!(idle.frames_at(0.25, 1.), Some((2, 3, 0.5)));
    // From the last frame of a loop to its first; before it begins as after it ends.
    assert_eq!(idle.frames_at(0.95, 1.), Some((9, 0, 0.5)));
    assert_eq!(idle.frames_at(-0.05, 1.), Some((9, 0, 0.5)));
    let run = anim("run").unwrap();
    assert_eq!(run.frames_at(1e9, 1.), Some((26, 26, 0.)));
    assert_eq!(run.frames_at(-1., 1.), Some((10, 11, 0.)));
    // A rate that is not stored.
    let nofps = anim("nofps").unwrap();
    assert_eq!(nofps.framerate, 0.);
    assert_eq!(nofps.frames_at(0.15, 10.), Some((29, 30, 0.5)));
    assert_eq!(nofps.frames_at(0.15, 0.), None);
    assert_eq!(idle.frames_at(f64::NAN, 10.), None);
}

#[test]
fn frames_and_buffers_out_of_range_are_errors() {
    let frames = model("skin_multi_anim.iqm").frames();
    let mut pose = vec![Trs::default(); frames.pose_count()];
    for frame in [frames.len(), u32::MAX] {
        assert_eq!(
            frames.read_frame_into(frame, &mut pose).unwrap_err().kind(),
            ErrorKind::OutOfRange
        );
        assert_eq!(
            frames.pose(frame, 0).unwrap_err().kind(),
            ErrorKind::OutOfRange
        );
        assert_eq!(
            frames
                .interpolate_into(0, frame, 0.5, &mut pose)
                .unwrap_err()
                .kind(),
            ErrorKind::OutOfRange
        );
    }
    assert_eq!(
        frames.pose(0, frames.pose_count()).unwrap_err().kind(),
        ErrorKind::OutOfRange
    );
    assert_eq!(
        frames
            .read_frame_into(0, &mut pose[1..])
            .unwrap_err()
            .kind(),
        ErrorKind::OutOfRange
    );
    assert_eq!(
        frames.read_range_into(0..2, &mut pose).unwrap_err().kind(),
        ErrorKind::OutOfRange
    );
    frames.read_range_into(3..3, &mut []).unwrap();
}

#[test]
fn interpolation_begins_and_ends_at_the_frames() {
    let frames = model("skin_multi_anim.iqm").frames();
    let mut pose = vec![Trs::default(); frames.pose_count()];
    let mut mixed = pose.clone();
    for (fraction, frame) in [(0., 3), (1., 4)] {
        frames.read_frame_into(frame, &mut pose).unwrap();
        frames.interpolate_into(3, 4, fraction, &mut mixed).unwrap();
        for (mixed, exact) in mixed.iter().zip(&pose) {
            assert_eq!(mixed.translate, exact.translate);
            let cosine: f32 = mixed
                .rotate
                .iter()
                .zip(exact.normalized().rotate)
                .map(|(a, b)| a * b)
                .sum();
            assert!(cosine.abs() > 1. - 1e-6, "{cosine}");
        }
    }
}

/// 4x4 matrices in double precision, by the specification's sentence: scale first, then rotate, then translate.
mod reference {
    use super::Trs;

    pub(super) type Wide = [[f64; 4]; 4];

    pub(super) fn product(a: Wide, b: Wide) -> Wide {
        std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
    }

    pub(super) fn of(trs: &Trs) -> Wide {
        let q = trs.rotate.map(f64::from);
        let length = q.iter().map(|lane| lane * lane).sum::<f64>().sqrt();
        let [x, y, z, w] = q.map(|lane| lane / length);
        // The columns are the images of the axes: q * axis * conjugate(q).
        let rotation = [
            [
                w * w + x * x - y * y - z * z,
                2. * (x * y - w * z),
                2. * (x * z + w * y),
                0.,
            ],
            [
                2. * (x * y + w * z),
                w * w - x * x + y * y - z * z,
                2. * (y * z - w * x),
                0.,
            ],
            [
                2. * (x * z - w * y),
                2. * (y * z + w * x),
                w * w - x * x - y * y + z * z,
                0.,
            ],
            [0., 0., 0., 1.],
        ];
        let mut scale = [[0.; 4]; 4];
        let mut translate = [
            [1., 0., 0., 0.],
            [0., 1., 0., 0.],
            [0., 0., 1., 0.],
            [0., 0., 0., 1.],
        ];
        for i in 0..3 {
            scale[i][i] = trs.scale[i].into();
            translate[i][3] = trs.translate[i].into();
        }
        scale[3][3] = 1.;
        product(translate, product(rotation, scale))
    }

    pub(super) fn worlds(parents: &[Option<u32>], pose: &[Trs]) -> Vec<Wide> {
        let mut worlds: Vec<Wide> = Vec::new();
        for (parent, trs) in parents.iter().zip(pose) {
            worlds.push(match parent {
                Some(parent) => product(worlds[*parent as usize], of(trs)),
                None => of(trs),
            });
        }
        worlds
    }
}

fn assert_close(found: &Matrix, expected: &[[f64; 4]], what: &str) {
    for (row, expected_row) in found.iter().zip(expected) {
        for (value, expected) in row.iter().zip(expected_row) {
            assert!(
                (f64::from(*value) - expected).abs() < 1e-3 * expected.abs().max(1.),
                "{what}: {value} {expected}"
            );
        }
    }
}

#[test]
fn matrices_agree_with_plain_ones_in_double_precision() {
    for name in [
        "skin_scale_nonuniform.iqm",
        "skin_multi_anim.iqm",
        "v1_skin_anim.iqm",
    ] {
        let model = model(name);
        let skeleton = model.skeleton().unwrap();
        let bind: Vec<Trs> = model.joints().map(|joint| joint.trs).collect();
        let expected_bind = reference::worlds(skeleton.parents(), &bind);
        for (found, expected) in skeleton.bind_matrices().iter().zip(&expected_bind) {
            assert_close(found, expected, name);
        }
        // The inverse undoes the bind matrix.
        for (inverse, bind) in skeleton
            .inverse_bind_matrices()
            .iter()
            .zip(skeleton.bind_matrices())
        {
            let identity = iqm::multiply(inverse, bind);
            let off = identity
                .iter()
                .flatten()
                .zip(iqm::IDENTITY.iter().flatten());
            assert!(
                off.clone().all(|(a, b)| (a - b).abs() < 1e-4),
                "{name}: {identity:?}"
            );
        }
        let frames = model.frames();
        let mut pose = vec![Trs::default(); frames.pose_count()];
        for frame in (0..frames.len()).step_by(if cfg!(miri) { 11 } else { 1 }) {
            frames.read_frame_into(frame, &mut pose).unwrap();
            let worlds = reference::worlds(skeleton.parents(), &pose);
            let mut found = vec![iqm::IDENTITY; pose.len()];
            iqm::world_matrices(skeleton.parents(), &pose, &mut found).unwrap();
            let skinning = skeleton.skinning_matrices(&pose).unwrap();
            for joint in 0..pose.len() {
                assert_close(&found[joint], &worlds[joint], name);
                // Skinning the bind pose results in the pose.
                let moved = iqm::multiply(&skinning[joint], &skeleton.bind_matrices()[joint]);
                assert_close(&moved, &worlds[joint], name);
            }
        }
    }
}

fn regression(name: &str) -> Model {
    Model::open(data::root().join("iqm/regressions").join(name)).unwrap()
}

/// The hand is below the arm as a joint, and below the root as a pose. The numbers come from a NumPy script that multiplies the
/// matrices of the poses in double precision.
#[test]
fn skinning_matrices_follow_the_parents_of_the_poses() {
    let arm = [
        [0.621_610, -0.783_327, 0.0, 0.756_780],
        [0.783_327, 0.621_610, 0.0, -1.566_654],
        [0.0, 0.0, 1.0, 0.0],
    ];
    let hand = [
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 3.0],
    ];
    let stretched_arm = [
        [0.362_358, -2.796_117, 0.0, 1.275_284],
        [0.932_039, 1.087_073, 0.0, -1.864_078],
        [0.0, 0.0, 1.0, 0.0],
    ];
    let turned_hand = [
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 0.825_336, -0.564_642, 0.0],
        [0.0, 0.564_642, 0.825_336, 3.0],
    ];
    for (name, expected) in [
        ("other_pose_parents.iqm", [arm, hand]),
        ("other_pose_parents_shear.iqm", [stretched_arm, turned_hand]),
    ] {
        let model = regression(name);
        let skeleton = model.skeleton().unwrap();
        assert_eq!(skeleton.parents(), [None, Some(0), Some(1)]);
        assert_eq!(model.poses().nth(2).unwrap().parent, Some(0));
        let frames = model.frames();
        let mut pose = vec![Trs::default(); frames.pose_count()];
        frames.read_frame_into(3, &mut pose).unwrap();
        let matrices = skeleton.skinning_matrices(&pose).unwrap();
        assert_close(&matrices[1], &expected[0], name);
        assert_close(&matrices[2], &expected[1], name);
        // All frames, and palettes.
        let all = frames.read().unwrap();
        let mut palettes = vec![iqm::IDENTITY; all.len()];
        skeleton.palettes_into(&all, &mut palettes).unwrap();
        assert_eq!(palettes[9..], matrices);
        let parents: Vec<_> = model.poses().map(|pose| pose.parent).collect();
        for (pose, palette) in all.chunks(3).zip(palettes.chunks(3)) {
            let worlds = reference::worlds(&parents, pose);
            for joint in 0..3 {
                let moved = iqm::multiply(&palette[joint], &skeleton.bind_matrices()[joint]);
                assert_close(&moved, &worlds[joint], name);
            }
        }
    }
}

/// The poses of the joined file count, not the poses of the file with the joints.
#[test]
fn skinning_matrices_of_a_joined_model_follow_its_own_poses() {
    let model = regression("other_pose_parents.iqm");
    let mut bytes = fs::read(data::root().join("iqm/regressions/other_pose_parents.iqm")).unwrap();
    let poses = get(&bytes, 0x50);
    // Pose 2 gets the parent of joint 2.
    set(&mut bytes, poses + 2 * 88, 1);
    let usual = open::model(bytes);
    let joined = model.attach(&usual).unwrap();
    let mut pose = vec![Trs::default(); 3];
    joined.frames().read_frame_into(3, &mut pose).unwrap();
    let expected = usual.skeleton().unwrap().skinning_matrices(&pose).unwrap();
    assert_eq!(
        joined.skeleton().unwrap().skinning_matrices(&pose).unwrap(),
        expected
    );
    assert_ne!(
        model.skeleton().unwrap().skinning_matrices(&pose).unwrap(),
        expected
    );
}

#[test]
fn bind_pose_skins_to_itself() {
    let model = model("skin_scale_nonuniform.iqm");
    let bind: Vec<Trs> = model.joints().map(|joint| joint.trs).collect();
    for matrix in model.skeleton().unwrap().skinning_matrices(&bind).unwrap() {
        assert!(
            matrix
                .iter()
                .flatten()
                .zip(iqm::IDENTITY.iter().flatten())
                .all(|(a, b)| (a - b).abs() < 1e-4)
        );
    }
    let wrong = model
        .skeleton()
        .unwrap()
        .skinning_matrices(&bind[1..])
        .unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Mismatch);
}

#[test]
fn custom_arrays_are_found_by_name() {
    let model = model("custom.iqm");
    let lightmap = model.custom_array("lightmap").unwrap().unwrap();
    assert_eq!(
        (lightmap.format().scalar, lightmap.format().components),
        (Scalar::F32, 4)
    );
    assert_eq!(
        lightmap.semantic(),
        &Semantic::Custom("lightmap".to_owned())
    );
    assert!(model.custom_array("light").unwrap().is_none());
    let scalars: Vec<_> = model.vertex_arrays().map(|array| array.format).collect();
    assert!(
        [Scalar::U8, Scalar::F16, Scalar::F64]
            .iter()
            .all(|scalar| scalars.contains(scalar)),
        "{scalars:?}"
    );
}

#[test]
fn arrays_of_another_format_are_no_typed_arrays() {
    let model = model("fmt_half.iqm");
    let error = model.positions().unwrap_err();
    let array = model.vertex_arrays().next().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.byte_range(), Some(array.range));
    assert_eq!(error.address().unwrap().to_string(), "vertex_arrays[0]");
    assert_eq!(
        (&*error.cause().expected(), &*error.cause().found()),
        ("f32x3", "f16x3")
    );
    assert!(
        model
            .vertex_array_of(&VertexArrayType::Position)
            .unwrap()
            .is_some()
    );
}

/// Normals that the SDK's compiler stored as bytes have length 1, within the precision of a byte: the compiler encodes
/// `(2 * raw + 1) / 255`, which differs from `raw / 127` by at most 1/255.
#[test]
fn normals_of_the_sdk_compiler_have_length_1() {
    let normals = model("fmt_byte.iqm")
        .vertex_array_of(&VertexArrayType::Normal)
        .unwrap()
        .unwrap();
    for normal in normals.to_f32::<3>() {
        let length = normal.iter().map(|lane| lane * lane).sum::<f32>().sqrt();
        assert!((length - 1.).abs() < 2. * 3_f32.sqrt() / 255., "{normal:?}");
    }
}

fn mesh_view(model: &Model, index: u64) -> meshmap::Result<MeshView> {
    model.mesh_view(&Address::field("meshes").index(index))
}

#[test]
fn meshes_have_their_own_vertices_and_indices_from_zero() {
    let model = model("fte_ext.iqm");
    let views: Vec<_> = (0..2)
        .map(|index| mesh_view(&model, index).unwrap())
        .collect();
    assert_eq!(
        views.iter().map(MeshView::vertex_count).collect::<Vec<_>>(),
        [30, 8]
    );
    assert_eq!(
        views.iter().map(MeshView::name).collect::<Vec<_>>(),
        ["body", "hitbox7"]
    );
    let second = views[1].indices();
    assert_eq!(
        (second.base(), second.iter().min(), second.iter().max()),
        (30, Some(0), Some(7))
    );
    let all = model.positions().unwrap().unwrap();
    let own = views[1].attribute(&Semantic::Position).unwrap().unwrap();
    assert_eq!(own.to_f32::<3>(), all.slice(30..38).unwrap().to_vec());
    assert!(
        views[1]
            .attribute(&Semantic::TexCoord(1))
            .unwrap()
            .is_none()
    );
    assert_eq!(
        mesh_view(&model, 2).unwrap_err().kind(),
        ErrorKind::OutOfRange
    );
}

/// The vertices that the triangles of a mesh use, in ascending order.
fn used(model: &Model, mesh: &iqm::Mesh) -> Vec<u32> {
    let first = mesh.first_triangle as usize;
    let triangles = model
        .triangles()
        .unwrap()
        .slice(first..first + mesh.num_triangles as usize)
        .unwrap();
    let mut used = triangles.to_vec().into_flattened();
    used.sort_unstable();
    used.dedup();
    used
}

/// The view has the vertices that the triangles use and no others; every corner has the position that the file stores.
fn assert_has_only_used_vertices(model: &Model, index: usize) {
    let (mesh, view) = (
        model.mesh(index).unwrap(),
        mesh_view(model, index as u64).unwrap(),
    );
    let used = used(model, &mesh);
    assert_eq!(
        (view.vertex_count(), view.indices().base()),
        (used.len(), 0)
    );
    let all = model.positions().unwrap().unwrap();
    let own = view
        .attribute(&Semantic::Position)
        .unwrap()
        .unwrap()
        .to_f32::<3>();
    let expected: Vec<_> = used
        .iter()
        .map(|vertex| all.get(*vertex as usize).unwrap())
        .collect();
    assert_eq!(own, expected);
    let stored = model.triangles().unwrap();
    for (triangle, place) in view
        .indices()
        .triangles()
        .zip(mesh.first_triangle as usize..)
    {
        assert_eq!(
            triangle.map(|index| used[index as usize]),
            stored.get(place).unwrap()
        );
    }
}

#[test]
fn meshes_that_use_vertices_outside_of_their_range_have_copies_and_a_finding() {
    let model = model("ours_many_meshes_a.iqm");
    assert_eq!(
        mesh_view(&model, 1).unwrap().findings()[0].rule,
        rule("index_outside_mesh")
    );
    assert_has_only_used_vertices(&model, 1);
}

#[test]
fn meshes_that_declare_the_same_vertices_have_only_those_that_they_use() {
    // Three sheets of 300 vertices, so that vertex arrays are longer than what is read at once.
    let mut file = fixtures::iqm::Writer::sheets(3, 20, 15).to_bytes();
    let meshes = get(&file, 0x28);
    // The first mesh declares all vertices, the second its own. The third shares none with the second, but with the first.
    set(&mut file, meshes + 12, 900);
    for source in [
        Source::from_bytes(file.clone()),
        Source::ranged(Recorder::new(file.clone())),
    ] {
        let model = Model::from_source(source, &Options::default()).unwrap();
        (0..3).for_each(|mesh| assert_has_only_used_vertices(&model, mesh));
        let findings = model.validate().unwrap();
        let shared = findings
            .iter()
            .find(|finding| finding.rule == rule("shared_vertices"))
            .unwrap();
        assert_eq!(
            (
                shared.count,
                shared.address.as_ref().unwrap().to_string().as_str()
            ),
            (3, "meshes[0]")
        );
    }
    let listed = open::file(file);
    // The counts are the declared ones, because no triangles are read for them.
    let counts = listed
        .meshes()
        .unwrap()
        .map(|entry| entry.counts.unwrap().vertices);
    assert_eq!(counts.collect::<Vec<_>>(), [900, 300, 300]);
}

#[test]
fn index_out_of_range_is_found_by_each_check() {
    let mut file = fixtures::iqm::small();
    let triangles = get(&file, 0x3c);
    let vertexes = get(&file, 0x30) as u32;
    set(&mut file, triangles + 20, vertexes);
    let model = open::model(file.clone());
    let error = model.triangles().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    let place = triangles as u64 + 20..triangles as u64 + 24;
    assert_eq!(error.byte_range(), Some(place.clone()));
    assert_eq!(error.address().unwrap().to_string(), "triangles[1]");
    let findings = model.validate().unwrap();
    let wrong = findings
        .iter()
        .find(|finding| finding.severity() == Severity::Unusable)
        .unwrap();
    assert_eq!(
        (wrong.rule, wrong.byte_range.clone()),
        (rule("index_out_of_range"), Some(place))
    );
    assert_eq!(
        mesh_view(&model, 0).unwrap_err().kind(),
        ErrorKind::Malformed
    );
    assert_eq!(strict(file).unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn strict_reading_refuses_what_the_text_forbids_only() {
    let read = |name: &str| strict(fs::read(data::valid("iqm", name)).unwrap());
    // Suspicious but legal: no framerate. What one real file in ten does: sections at odd offsets.
    assert!(read("skin_multi_anim.iqm").is_ok() && read("ours_odd_a.iqm").is_ok());
    let error = read("ours_types_a.iqm").unwrap_err();
    assert_eq!(
        (error.kind(), error.format()),
        (ErrorKind::Malformed, Some(meshmap::Format::Iqm))
    );
    assert_eq!(error.what(), rule("reserved_type").name);
}

/// Colours are the last type that the text defines.
#[test]
fn colors_are_not_of_a_reserved_type() {
    let model = model("exm_comment.iqm");
    let mut arrays = model.vertex_arrays();
    assert!(arrays.any(|array| array.kind == VertexArrayType::Color));
    let findings = model.validate().unwrap();
    let reserved = rule("reserved_type");
    assert!(findings.iter().all(|finding| finding.rule != reserved));
}

#[test]
fn findings_name_what_is_odd() {
    let cases = [
        ("ours_odd_a.iqm", rule("unaligned")),
        ("ours_trailing_a.iqm", rule("trailing_bytes")),
        ("exm_comment.iqm", rule("longer_comment")),
        ("ours_names_a.iqm", rule("text_not_utf8")),
        ("ours_parents_a.iqm", rule("odd_root")),
        ("ours_many_meshes_a.iqm", rule("index_outside_mesh")),
        ("ours_many_meshes_a.iqm", rule("empty_mesh")),
        ("skin_noesis_fmt.iqm", rule("unusual_format")),
        ("ours_types_a.iqm", rule("array_order")),
        ("ours_types_a.iqm", rule("repeated_array")),
        ("ours_types_a.iqm", rule("reserved_type")),
        ("fte_ext.iqm", rule("not_finite")),
        ("ours_v1_full_a.iqm", rule("not_unit")),
        ("skin_multi_anim.iqm", rule("framerate")),
        ("ours_masks_a.iqm", rule("mask_bits")),
        ("va_shared_bytes.iqm", rule("overlap")),
    ];
    for (name, rule) in cases.into_iter().step_by(if cfg!(miri) { 4 } else { 1 }) {
        let findings = model(name).validate().unwrap();
        assert!(
            findings.iter().any(|finding| finding.rule == rule),
            "{name}: {rule:?}: {findings:?}"
        );
    }
    assert_eq!(model("skin_scale_nonuniform.iqm").validate().unwrap(), []);
}

/// The rules that no file of the repository breaks, broken one at a time.
#[test]
fn findings_of_damaged_fields_name_them() {
    let file = fixtures::iqm::small();
    let (text, adjacency, bounds) = (get(&file, 0x20), get(&file, 0x40), get(&file, 0x68));
    let weights = |array: usize| get(&file, get(&file, 0x34) + array * 20 + 16);
    let (meshes, joints) = (get(&file, 0x28), get(&file, 0x44) as u32);
    // The text is longer, up to a byte of the next section that is not 0.
    let (text_end, text_len) = (text + get(&file, 0x1c), get(&file, 0x1c));
    let longer = text_len + file[text_end..].iter().position(|byte| *byte != 0).unwrap() + 1;
    let cases: [(usize, u32, Rule); 12] = [
        (text, 0x61, rule("text_without_empty_string")),
        (adjacency, 40, rule("adjacency")),
        (bounds, 0x7f00_0000, rule("inverted_bounds")),
        (bounds + 24, 0x7f80_0000, rule("not_finite")),
        (weights(5), 0, rule("weight_sum")),
        (weights(4), 0xffff_ffff, rule("blend_index")),
        (0x74, 1, rule("extension_count")),
        (0x70, 200, rule("empty_with_offset")),
        (0x1c, longer as u32, rule("text_unterminated")),
        (0x44, joints - 1, rule("poses_not_joints")),
        (meshes + 12, 0, rule("empty_mesh")),
        (meshes + 20, 0, rule("empty_mesh")),
    ];
    for (field, value, rule) in cases.into_iter().step_by(if cfg!(miri) { 3 } else { 1 }) {
        let mut damaged = file.clone();
        set(&mut damaged, field, value);
        let model = open::model(damaged);
        let findings = model.validate().unwrap();
        assert!(
            findings.iter().any(|finding| finding.rule == rule),
            "{rule:?}: {findings:?}"
        );
    }
}

/// Replaces words of a vertex array, counted from its start; returns the new findings about it.
fn findings_of_words(array: usize, words: &[(usize, u32)]) -> Vec<(String, String)> {
    let file = fixtures::iqm::small();
    let before = open::model(file.clone()).validate().unwrap();
    let start = get(&file, get(&file, 0x34) + array * 20 + 16);
    let mut changed = file;
    for (word, value) in words {
        set(&mut changed, start + word * 4, *value);
    }
    let findings = open::model(changed).validate().unwrap();
    findings
        .into_iter()
        .filter(|finding| !before.contains(finding))
        .map(|finding| {
            assert_eq!(finding.count, 1);
            let address = finding.address.unwrap().to_string();
            (finding.rule.id.to_owned(), address)
        })
        .collect()
}

#[test]
fn normals_and_tangents_without_a_direction_are_findings() {
    const ONE: u32 = 1.0_f32.to_bits();
    const NAN: u32 = f32::NAN.to_bits();
    let found = |id: &str, address: &str| vec![(id.to_owned(), address.to_owned())];
    // The second normal: 0, -0 and 0, and then almost 0.
    assert_eq!(
        findings_of_words(2, &[(3, 0), (4, 0x8000_0000), (5, 0)]),
        found("zero_normal", "vertex_arrays[2][1]")
    );
    assert_eq!(findings_of_words(2, &[(3, 0), (4, 1), (5, 0)]), []);
    // The third tangent: without a direction, without a sign, and with both.
    assert_eq!(
        findings_of_words(3, &[(8, 0), (9, 0), (10, 0), (11, ONE)]),
        found("bad_tangent", "vertex_arrays[3][2]")
    );
    assert_eq!(
        findings_of_words(3, &[(8, ONE), (11, 0)]),
        found("bad_tangent", "vertex_arrays[3][2]")
    );
    assert_eq!(findings_of_words(3, &[(8, ONE), (11, ONE)]), []);
    // NaN is one finding, not two.
    assert_eq!(
        findings_of_words(3, &[(8, ONE), (11, NAN)]),
        found("not_finite", "vertex_arrays[3][2]")
    );
}

fn frame_bounds(file: Vec<u8>) -> Option<meshmap::Finding> {
    let findings = open::model(file).validate().unwrap();
    let mut findings = findings.into_iter();
    findings.find(|finding| finding.rule == rule("frame_bounds"))
}

#[test]
fn boxes_that_do_not_contain_the_frame_are_findings() {
    let small = fixtures::iqm::small();
    assert_eq!(frame_bounds(small.clone()), None);
    // Frame 3 is moved by 2 along x, and is about 9 long.
    let (mut moved, frame) = (small.clone(), get(&small, 0x68) + 3 * 32);
    for at in [frame, frame + 12] {
        let number = f32::from_bits(get(&small, at) as u32);
        set(&mut moved, at, (number + 2.0).to_bits());
    }
    let found = frame_bounds(moved.clone()).unwrap();
    assert_eq!(found.address.unwrap().to_string(), "bounds[3]");
    assert_eq!(
        (found.count, found.rule.severity),
        (1, Severity::Suspicious)
    );
    // The boxes of a file of animations are around the meshes of that file.
    let joined = open::model(small).attach(&open::model(moved)).unwrap();
    let findings = joined.validate().unwrap();
    assert!(
        findings
            .iter()
            .all(|finding| finding.rule != rule("frame_bounds"))
    );

    let sheet = || {
        fixtures::iqm::Writer::sheets(1, 4, 4)
            .animated(3, 5)
            .to_bytes()
    };
    let around = |size: f32| [[-size, -size, -size, size, size, size, size, size]; 5];
    assert_eq!(frame_bounds(sheet()), None);
    assert_eq!(
        frame_bounds(fixtures::iqm::with_bounds(sheet(), &around(100.0))),
        None
    );
    let found = frame_bounds(fixtures::iqm::with_bounds(sheet(), &around(0.1))).unwrap();
    assert_eq!(found.count, 5);
    // Programs do not agree where vertices are whose weights do not sum to 1.
    let mut halved = fixtures::iqm::with_bounds(sheet(), &around(0.1));
    let weights = get(&halved, get(&halved, 0x34) + 5 * 20 + 16);
    (0..16).for_each(|vertex| halved[weights + vertex * 4] = 128);
    assert_eq!(frame_bounds(halved), None);
}

/// Frames in which nothing moves take up only their bounds, however many joints there are.
#[test]
#[cfg_attr(miri, ignore = "poses a joint for every byte of a file of megabytes")]
fn boxes_of_frames_without_channels_are_checked_within_the_length_of_the_file() {
    let (joints, frames) = (2000, 50_000);
    let file = fixtures::iqm::constant_frames(joints, frames);
    let file = fixtures::iqm::with_bounds(file, &vec![[0.0; 8]; frames as usize]);
    let most = 4 * file.len() as u64 / u64::from(joints);
    let found = frame_bounds(file).unwrap();
    assert!(found.count > 100 && found.count <= most, "{}", found.count);
}

/// Thousands of meshes that all claim all triangles are a trap for who looks at each.
#[test]
#[cfg_attr(
    miri,
    ignore = "looks at 64 times the bytes of the file, an index at a time"
)]
fn meshes_that_share_all_triangles_are_not_looked_at_for_ever() {
    let mut file = fixtures::iqm::small();
    let mesh = file[get(&file, 0x28)..][..24].to_vec();
    let moved = file.len() as u32;
    let count = 50_000;
    (0..count).for_each(|_| file.extend_from_slice(&mesh));
    let size = file.len() as u32;
    for (field, value) in [(0x14, size), (0x24, count), (0x28, moved)] {
        set(&mut file, field, value);
    }
    // A thousand triangles more for each to claim.
    let triangles = get(&file, 0x3c);
    let triangle = file[triangles..triangles + 12].to_vec();
    let moved = file.len() as u32;
    (0..20_000).for_each(|_| file.extend_from_slice(&triangle));
    let size = file.len() as u32;
    for (field, value) in [(0x14, size), (0x38, 20_000), (0x3c, moved), (0x40, 0)] {
        set(&mut file, field, value);
    }
    let table = get(&file, 0x28);
    (0..count as usize).for_each(|mesh| set(&mut file, table + mesh * 24 + 20, 20_000));
    let findings = open::model(file).validate().unwrap();
    assert!(
        findings
            .iter()
            .any(|finding| finding.rule == rule("shared_too_often")
                && finding.severity() >= Severity::Forbidden)
    );
}

#[test]
fn split_models_join() {
    // A model with its poses taken away, and one with its meshes and joints taken away.
    let whole = fixtures::iqm::small();
    let (mut mesh, mut animation) = (whole.clone(), whole.clone());
    for field in [0x4c, 0x50, 0x54, 0x58, 0x5c, 0x60, 0x64, 0x68] {
        set(&mut mesh, field, 0);
    }
    for field in [0x24, 0x28, 0x2c, 0x30, 0x34, 0x38, 0x3c, 0x40, 0x44, 0x48] {
        set(&mut animation, field, 0);
    }
    let [whole, mesh, animation] = [whole, mesh, animation].map(|file| open::model(file));
    assert_eq!(
        (
            mesh.poses().len(),
            animation.joints().len(),
            animation.meshes().len()
        ),
        (0, 0, 0)
    );
    let joined = mesh.attach(&animation).unwrap();
    assert_eq!(
        joined.frames().read().unwrap(),
        whole.frames().read().unwrap()
    );
    assert_eq!(joined.bounds().unwrap(), whole.bounds().unwrap());
    assert_eq!(joined.anims().count(), 4);
    assert_eq!(
        joined.joints().collect::<Vec<_>>(),
        whole.joints().collect::<Vec<_>>()
    );
    assert_eq!(joined.positions().unwrap(), whole.positions().unwrap());
}

/// A model of joints, each with a parent, and of two frames in which each turns by an angle that its name gives.
fn figure(joints: &[(&'static str, Option<u32>)]) -> Model {
    let angle = |name: &str, frame: usize| f32::from(name.as_bytes()[0]) * 0.01 * frame as f32;
    let turned = |frame| {
        let turn =
            |(name, _): &(&str, _)| [0.0, 0.0, angle(name, frame).sin(), angle(name, frame).cos()];
        joints.iter().map(turn).collect()
    };
    let frames: Vec<Vec<[f32; 4]>> = (0..2).map(turned).collect();
    let place = |name: &str| [f32::from(name.as_bytes()[0]), 0.0, 0.0];
    let joint = |(name, parent): &(&'static str, _)| fixtures::iqm::Joint {
        name,
        parent: *parent,
        translate: place(name),
    };
    let joints: Vec<_> = joints.iter().map(joint).collect();
    let file = fixtures::iqm::Writer::figure(&[], &joints, 24.0, &frames).to_bytes();
    open::model(file)
}

#[test]
fn joints_take_the_poses_of_their_names() {
    let mesh = figure(&[
        ("root", None),
        ("left", Some(0)),
        ("right", Some(0)),
        ("tail", Some(0)),
        ("up", Some(3)),
    ]);
    let other = figure(&[
        ("extra", None),
        ("root", None),
        ("right", Some(1)),
        ("left", Some(1)),
        ("tip", Some(3)),
    ]);
    let joined = mesh.attach(&other).unwrap();
    assert_eq!(joined.resting_joints().collect::<Vec<_>>(), [3, 4]);
    let poses: Vec<_> = joined.poses().collect();
    let parents = |model: &Model| model.joints().map(|joint| joint.parent).collect::<Vec<_>>();
    assert_eq!(
        poses.iter().map(|pose| pose.parent).collect::<Vec<_>>(),
        parents(&mesh)
    );
    let (frames, stored) = (joined.frames(), other.frames());
    assert_eq!((frames.pose_count(), frames.len()), (5, 2));
    let all = frames.read().unwrap();
    for frame in 0..2 {
        for (joint, pose) in [1, 3, 2].into_iter().enumerate() {
            let expected = stored.pose(frame, pose).unwrap();
            assert_eq!(frames.pose(frame, joint).unwrap(), expected);
            assert_eq!(all[frame as usize * 5 + joint], expected);
        }
        let places: Vec<_> = mesh.joints().map(|joint| joint.trs).collect();
        assert_eq!(all[frame as usize * 5 + 3..][..2], places[3..]);
    }
    // Joined once more, with joints of another order.
    let again = figure(&[("root", None), ("right", Some(0)), ("tail", Some(0))])
        .attach(&joined)
        .unwrap();
    assert_eq!(again.resting_joints().collect::<Vec<_>>(), [2]);
    assert_eq!(
        again.frames().pose(1, 1).unwrap(),
        stored.pose(1, 2).unwrap()
    );
}

#[test]
fn skeletons_that_differ_do_not_join() {
    let refused = |mesh: &Model, other: &Model| {
        let error = mesh.attach(other).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        error
    };
    let mesh = figure(&[("root", None), ("left", Some(0)), ("hand", Some(1))]);
    for (joints, words) in [
        (
            &[("root", None), ("left", None), ("hand", Some(1))][..],
            "joints[1]: expected \"left\" below \"root\", found it elsewhere",
        ),
        (
            &[("root", None), ("left", Some(0)), ("left", Some(0))],
            "joints[1]: expected \"left\" below \"root\", found two of them",
        ),
        (
            &[("base", None), ("left", Some(0))],
            "joints[1]: expected \"left\" below \"root\", found it elsewhere",
        ),
        (
            &[("base", None), ("other", None)],
            "expected a joint of the mesh in the animation, found none",
        ),
    ] {
        let error = refused(&mesh, &figure(joints)).to_string();
        assert!(error.contains(words), "{error}");
    }
    // A name may repeat below other parents.
    let arms = [
        ("root", None),
        ("left", Some(0)),
        ("hand", Some(1)),
        ("right", Some(0)),
        ("hand", Some(3)),
    ];
    assert_eq!(
        figure(&arms)
            .attach(&figure(&arms))
            .unwrap()
            .resting_joints()
            .count(),
        0
    );

    // Without names, poses are in the order of the joints.
    let whole = fixtures::iqm::small();
    let without_joints = |mut file: Vec<u8>| {
        (0x44..0x4c)
            .step_by(4)
            .for_each(|field| set(&mut file, field, 0));
        open::model(file)
    };
    let error = refused(&mesh, &without_joints(whole.clone())).to_string();
    assert!(error.contains("expected 3 poses"), "{error}");
    let mut file = whole;
    let poses = get(&file, 0x50);
    // Pose 3 hangs on pose 0 instead of pose 2.
    set(&mut file, poses + 3 * 88, 0);
    let error = refused(&model("skin_multi_anim.iqm"), &without_joints(file));
    assert_eq!(error.address().unwrap().to_string(), "joints[3]");
    assert!(
        error.to_string().contains("1 of 5 joints differ"),
        "{error}"
    );
}

#[test]
fn extensions_of_fte_are_typed() {
    let model = model("fte_ext.iqm");
    assert_eq!(
        model
            .extensions()
            .map(|e| e.name.to_string())
            .collect::<Vec<_>>(),
        ["FTE_MESH", "FTE_EVENT"]
    );
    assert_eq!(model.fte_meshes().unwrap().unwrap().len(), 2);
    let events = model.fte_events().unwrap().unwrap();
    assert_eq!(events.len(), 2);
    assert!(
        events
            .iter()
            .all(|event| (event.anim as usize) < model.anims().len()),
        "{events:?}"
    );
    assert!(
        model.extension("fte_mesh").unwrap().is_some(),
        "names are compared in any case of letters"
    );
    assert!(model.fte_skins().unwrap().is_none());

    let model = self::model("ext_fte_skins.iqm");
    assert_eq!(model.fte_events().unwrap(), None, "absent is not empty");
    let skins = model.fte_skins().unwrap().unwrap();
    assert_eq!(
        skins.numskins.iter().sum::<u32>() as usize,
        skins.skins.len()
    );
    assert!(
        skins.frames.iter().all(|frame| !frame.material.is_empty()),
        "{skins:?}"
    );
}

#[test]
fn skins_longer_than_their_data_are_malformed() {
    let mut file = fs::read(data::valid("iqm", "ext_fte_skins.iqm")).unwrap();
    let model = open::model(file.clone());
    let skins = model
        .extensions()
        .find(|extension| extension.name == "FTE_SKINS")
        .unwrap();
    set(&mut file, skins.range.start as usize, u32::MAX);
    let model = open::model(file);
    assert_eq!(model.fte_skins().unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn comment_of_another_exporter_continues_after_its_length() {
    let model = model("exm_comment.iqm");
    assert_eq!(model.comment().unwrap().unwrap().as_bytes(), b"{");
    // The header declares one byte; the rest of the comment is in the file.
    let start = MeshFile::Iqm(model.clone())
        .items()
        .find(|item| item.address.to_string() == "comment")
        .unwrap()
        .range
        .start;
    let whole = model
        .source()
        .read(start..model.source().len().unwrap().unwrap())
        .unwrap();
    let text = str::from_utf8(&whole).unwrap();
    assert!(
        text.starts_with('{') && text.trim_end_matches('\0').ends_with('}'),
        "{text}"
    );
}

#[test]
fn names_need_not_be_utf8() {
    let model = model("ours_names_a.iqm");
    let mut names = model
        .meshes()
        .map(|mesh| mesh.name)
        .chain(model.joints().map(|joint| joint.name));
    assert!(
        names.any(|name| name.to_str().is_none() && name.to_string_lossy().contains('\u{fffd}'))
    );
    for (index, joint) in model.joints().enumerate() {
        assert!(
            model
                .joints()
                .position(|other| other.name == joint.name)
                .is_some_and(|found| found <= index)
        );
    }
}

/// The rules that the structure of a file breaks, and how often.
fn structure_of(file: Vec<u8>) -> Vec<(Rule, u64)> {
    let model = open::model(file);
    model
        .findings()
        .iter()
        .map(|finding| (finding.rule, finding.count))
        .collect()
}

#[test]
fn sound_structures_have_no_findings() {
    let of = |name: &str| structure_of(fs::read(data::valid("iqm", name)).unwrap());
    for name in [
        "skin_scale_nonuniform.iqm",
        "v1_skin_anim.iqm",
        "anim_only_joints.iqm",
    ] {
        assert_eq!(of(name), [], "{name}");
    }
    // Two of four animations have no rate.
    assert_eq!(of("skin_multi_anim.iqm"), [(rule("framerate"), 2)]);
    // Arrays of custom types may come in any order, with any names.
    let mut custom = fs::read(data::valid("iqm", "custom.iqm")).unwrap();
    assert_eq!(structure_of(custom.clone()), []);
    let (arrays, count) = (get(&custom, 0x34), get(&custom, 0x2c));
    (count - 2..count).for_each(|array| set(&mut custom, arrays + array * 20, 0x10));
    assert_eq!(structure_of(custom), []);
}

/// A skeleton without animation, and an animation without its skeleton.
#[test]
fn joints_or_poses_without_the_others_are_no_finding() {
    let whole = fixtures::iqm::small();
    let (mut mesh, mut animation) = (whole.clone(), whole);
    for field in [0x4c, 0x50, 0x54, 0x58, 0x5c, 0x60, 0x64, 0x68] {
        set(&mut mesh, field, 0);
    }
    for field in [0x44, 0x48] {
        set(&mut animation, field, 0);
    }
    for file in [mesh, animation] {
        assert!(
            structure_of(file)
                .iter()
                .all(|(rule, _)| rule.id != "poses_not_joints")
        );
    }
}

#[test]
fn bytes_after_the_last_section_are_findings() {
    let file = fs::read(data::valid("iqm", "skin_scale_nonuniform.iqm")).unwrap();
    let end = file.len();
    let with = |inside: usize, outside: usize| {
        let mut file = file.clone();
        set(&mut file, 0x14, (end + inside) as u32);
        file.resize(end + inside + outside, 0);
        structure_of(file)
    };
    // Fewer than four may be for the alignment of the next section.
    assert_eq!((with(0, 0), with(3, 0)), (vec![], vec![]));
    for (inside, outside) in [(4, 0), (0, 1)] {
        assert_eq!(
            with(inside, outside),
            [(rule("trailing_bytes"), 1)],
            "{inside}, {outside}"
        );
    }
    assert_eq!(with(4, 1), [(rule("trailing_bytes"), 2)]);

    // Only a comment of one byte, as one exporter writes it, may go on.
    let mut comment = fs::read(data::valid("iqm", "exm_comment.iqm")).unwrap();
    assert!(structure_of(comment.clone()).contains(&(rule("longer_comment"), 1)));
    set(&mut comment, 0x6c, 2);
    let found = structure_of(comment);
    assert!(found.contains(&(rule("trailing_bytes"), 1)), "{found:?}");
    assert!(
        found.iter().all(|(rule, _)| rule.id != "longer_comment"),
        "{found:?}"
    );
}

#[test]
fn damaged_structures_are_refused_where_they_are_damaged() {
    let file = fixtures::iqm::small();
    let table = |field: usize| get(&file, field);
    let (meshes, arrays, anims) = (table(0x28), table(0x34), table(0x58));
    let (joints, poses) = (table(0x48), table(0x50));
    let all = |field: usize| get(&file, field) as u32;
    let cases: [(usize, u32); 19] = [
        (0x14, 123),
        (0x3c, 123),
        (0x40, 1),
        (0x3c, all(0x14)),
        (0x38, u32::MAX),
        (0x60, all(0x60) + 1),
        (meshes, all(0x1c)),
        (meshes + 4, all(0x1c)),
        (meshes + 8, all(0x30) + 1),
        (meshes + 12, all(0x30) + 1),
        (meshes + 16, all(0x38) + 1),
        (meshes + 20, all(0x38) + 1),
        (arrays + 8, 9),
        (arrays + 12, 0),
        (joints + 4, 0),
        (joints + 48 + 4, 1),
        (poses, 0),
        (anims + 4, all(0x5c) + 1),
        (anims + 8, all(0x5c) + 1),
    ];
    for (field, value) in cases {
        let mut damaged = file.clone();
        set(&mut damaged, field, value);
        let error =
            Model::from_source(Source::from_bytes(damaged), &Options::default()).unwrap_err();
        let range = field as u64..field as u64 + 4;
        assert_eq!(
            (error.kind(), error.byte_range()),
            (ErrorKind::Malformed, Some(range)),
            "{error}"
        );
    }
    let mut newer = file.clone();
    set(&mut newer, 0x10, 3);
    let error = Model::from_source(Source::from_bytes(newer), &Options::default()).unwrap_err();
    assert_eq!(
        (error.kind(), error.byte_range()),
        (ErrorKind::Unsupported, Some(0x10..0x14))
    );
}

#[test]
fn files_without_frames_may_have_any_number_of_channels() {
    let mut file = fixtures::iqm::small();
    for field in [0x54, 0x58, 0x5c, 0x64, 0x68] {
        set(&mut file, field, 0);
    }
    let channels = get(&file, 0x60) as u32;
    set(&mut file, 0x60, channels + 1);
    let model = open::model(file);
    assert_eq!((model.poses().len(), model.frames().len()), (5, 0));
}

#[test]
fn header_alone_is_a_file() {
    let mut file = fixtures::iqm::small();
    file.truncate(124);
    file[0x18..].fill(0);
    set(&mut file, 0x14, 124);
    let model = open::model(file);
    assert_eq!((model.meshes().len(), model.findings()), (0, &[][..]));
}

#[test]
fn extensions_in_a_cycle_are_refused() {
    let file = fs::read(data::valid("iqm", "fte_ext.iqm")).unwrap();
    let first = get(&file, 0x78);
    let second = get(&file, first + 12);
    for (count, link) in [(3, first), (4, first), (4, second), (u32::MAX, first)] {
        let mut cycle = file.clone();
        set(&mut cycle, 0x74, count);
        set(&mut cycle, second + 12, link as u32);
        let error = Model::from_source(Source::from_bytes(cycle), &Options::default()).unwrap_err();
        assert_eq!(
            (error.kind(), &*error.cause().found()),
            (ErrorKind::Malformed, "a cycle"),
            "{error}"
        );
    }
    // A list that goes on after the announced number of nodes is read that far.
    let mut longer = file;
    set(&mut longer, 0x74, 1);
    let model = open::model(longer);
    assert_eq!(model.extensions().count(), 1);
    let counted = |findings: &[Finding]| {
        let mut counts = findings
            .iter()
            .filter(|finding| finding.rule == rule("extension_count"));
        counts.next().unwrap().to_string()
    };
    let more = "1 announced, 1 in the list and a link to one more";
    assert!(
        counted(model.findings()).contains(more),
        "{}",
        counted(model.findings())
    );
    let mut none = fixtures::iqm::small();
    set(&mut none, 0x74, 1);
    assert!(counted(open::model(none).findings()).ends_with("1 announced, 0 in the list"));
}

/// Up to 64 KiB are read in one piece. In a larger file, detection has read the header, and opening reads the tables.
#[test]
fn opening_reads_small_files_whole_and_the_tables_of_large_ones() {
    const HEAD: u64 = 64 << 10;
    let reads = |len: u64, is_detected: bool| {
        let mut file = fixtures::iqm::small();
        file.resize(len as usize, 0);
        let recorder = Recorder::new(file);
        let source = Source::ranged(recorder.clone());
        if is_detected {
            MeshFile::from_source(source, &Options::default()).unwrap();
        } else {
            Model::from_source(source, &Options::default()).unwrap();
        }
        recorder.take()
    };
    for (len, is_detected, is_whole) in [
        (HEAD, false, true),
        (HEAD, true, true),
        (HEAD + 1, false, true),
        (HEAD + 1, true, false),
    ] {
        let reads = reads(len, is_detected);
        assert_eq!(
            reads.contains(&(0..HEAD)),
            is_whole,
            "{len}, {is_detected}: {reads:?}"
        );
    }
}

/// The text moved behind the file and 2 MiB long: too long to be read with the tables.
fn with_long_text() -> (Vec<u8>, usize) {
    let mut file = fixtures::iqm::small();
    let (text, len, moved) = (get(&file, 0x20), get(&file, 0x1c), file.len());
    file.extend_from_within(text..text + len);
    file.resize(moved + (2 << 20), 0);
    let size = file.len() as u32;
    for (field, value) in [(0x14, size), (0x1c, 2 << 20), (0x20, moved as u32)] {
        set(&mut file, field, value);
    }
    (file, moved)
}

#[test]
fn names_of_a_long_text_are_those_of_a_short_one() {
    let names = |model: &Model| -> Vec<_> {
        model
            .meshes()
            .map(|mesh| mesh.name)
            .chain(model.joints().map(|joint| joint.name))
            .collect()
    };
    let expected = names(&open::model(fixtures::iqm::small()));
    let (file, _) = with_long_text();
    for source in [
        Source::from_bytes(file.clone()),
        Source::ranged(Recorder::new(file)),
    ] {
        assert_eq!(
            names(&Model::from_source(source, &Options::default()).unwrap()),
            expected
        );
    }
}

/// A text in memory takes no more of it.
#[test]
fn a_text_longer_than_a_block_may_be_is_not_read_into_memory() {
    let limits = Limits::default()
        .with_max_block_bytes(1 << 20)
        .with_free_ratio(0);
    let open =
        |source| Model::from_source(source, &Options::default().with_limits(limits)).map(drop);
    let (file, text) = with_long_text();
    assert!(open(Source::from_bytes(file.clone())).is_ok());
    let error = open(Source::ranged(Recorder::new(file))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert_eq!(
        error.byte_range(),
        Some(text as u64..text as u64 + (2 << 20)),
        "{error}"
    );
}

#[test]
fn names_all_over_a_long_text_are_one_step_of_fragments() {
    let (mut file, text) = with_long_text();
    let joints = get(&file, 0x48);
    for joint in 0..5 {
        let offset = (joint + 1) * 300_000;
        file[text + offset] = b'a' + joint as u8;
        set(&mut file, joints + joint * 48, offset as u32);
    }
    let fragments = Fragments::new(Some(file.len() as u64));
    let mut steps = Vec::new();
    let model = loop {
        match fragments
            .step(|source| Model::from_source(source.clone(), &Options::default()))
            .unwrap()
        {
            Ok(model) => break model,
            Err(ranges) => {
                for range in &ranges {
                    let part = file[range.start as usize..range.end as usize].to_vec();
                    fragments.supply(range.start, part).unwrap();
                }
                steps.push(ranges);
            }
        }
    };
    assert_eq!(
        model
            .joints()
            .map(|joint| joint.name.to_string())
            .collect::<String>(),
        "abcde"
    );
    // The header, and then the rest of the text, whatever names are in it.
    assert!(
        text < 65_536 && steps.len() == 2 && steps[1].len() == 1,
        "{steps:?}"
    );
}

#[test]
fn data_next_to_its_extension_is_read_with_it() {
    let mut file = fixtures::iqm::small();
    let name = get(&file, get(&file, 0x28)) as u32;
    // Behind what is read first.
    file.resize(100_000, 0);
    let (node, size) = (file.len(), file.len() + 24);
    file.resize(size, 7);
    let fields = [(0, name), (4, 8), (8, node as u32 + 16), (12, 0)];
    for (field, value) in fields {
        set(&mut file, node + field, value);
    }
    for (field, value) in [(0x14, size), (0x74, 1), (0x78, node)] {
        set(&mut file, field, value as u32);
    }
    let recorder = Recorder::new(file);
    let model = open::model(recorder.clone());
    let extension = model.extensions().next().unwrap();
    recorder.take();
    assert_eq!(model.source().read(extension.range).unwrap()[..], [7; 8]);
    assert_eq!(recorder.reads(), []);
}

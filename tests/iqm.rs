//! IQM: what the values mean.

use std::fs;

use meshmap::iqm::{self, Matrix, Model, Normalization, Trs, VertexArrayType, rules};
use meshmap::{Address, ErrorKind, MeshView, Options, Rule, Scalar, Semantic, Severity, Source, Strictness};
use meshmap_testing::{data, fixtures};

fn model(name: &str) -> Model {
    Model::open(data::valid("iqm", name)).unwrap()
}

fn strict(bytes: Vec<u8>) -> meshmap::Result<Model> {
    Model::from_source_with(
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
        model.anims().map(|anim| anim.name.to_string()).collect::<Vec<_>>(),
        ["idle", "run", "die", "nofps"]
    );
    let idle = model.anim("idle").unwrap();
    assert!(idle.is_loop() && model.anim("Idle").is_none() && model.anim("id").is_none());
    assert_eq!(idle.frames_at(0.25, 1.), Some((2, 3, 0.5)));
    // From the last frame of a loop to its first; before it begins as after it ends.
    assert_eq!(idle.frames_at(0.95, 1.), Some((9, 0, 0.5)));
    assert_eq!(idle.frames_at(-0.05, 1.), Some((9, 0, 0.5)));
    let run = model.anim("run").unwrap();
    assert_eq!(run.frames_at(1e9, 1.), Some((26, 26, 0.)));
    assert_eq!(run.frames_at(-1., 1.), Some((10, 11, 0.)));
    // A rate that is not stored.
    let nofps = model.anim("nofps").unwrap();
    assert_eq!(nofps.framerate, 0.);
    assert_eq!(nofps.frames_at(0.15, 10.), Some((29, 30, 0.5)));
    assert_eq!(nofps.frames_at(0.15, 0.), None);
    assert_eq!(idle.frames_at(f64::NAN, 10.), None);
}

#[test]
fn frames_are_the_same_alone_and_together() {
    let names = [
        "skin_multi_anim.iqm",
        "v1_skin_anim.iqm",
        "anim_constant.iqm",
        "frames_odd.iqm",
        "ours_masks_a.iqm",
    ];
    // The last one has a pose for each mask.
    for name in &names[..if cfg!(miri) { 4 } else { 5 }] {
        let frames = model(name).frames();
        let all = frames.to_vec().unwrap();
        assert_eq!(all.len(), frames.len() as usize * frames.pose_count(), "{name}");
        for (frame, expected) in all.chunks(frames.pose_count()).enumerate() {
            for (pose, expected) in expected.iter().enumerate() {
                assert_eq!(frames.pose(frame as u32, pose).unwrap(), *expected, "{name}");
            }
        }
    }
}

#[test]
fn frames_and_buffers_out_of_range_are_errors() {
    let frames = model("skin_multi_anim.iqm").frames();
    let mut pose = vec![Trs::default(); frames.pose_count()];
    for frame in [frames.len(), u32::MAX] {
        assert_eq!(frames.frame_into(frame, &mut pose).unwrap_err().kind(), ErrorKind::OutOfRange);
        assert_eq!(frames.pose(frame, 0).unwrap_err().kind(), ErrorKind::OutOfRange);
        assert_eq!(
            frames.interpolate_into(0, frame, 0.5, &mut pose).unwrap_err().kind(),
            ErrorKind::OutOfRange
        );
    }
    assert_eq!(frames.pose(0, frames.pose_count()).unwrap_err().kind(), ErrorKind::OutOfRange);
    assert_eq!(frames.frame_into(0, &mut pose[1..]).unwrap_err().kind(), ErrorKind::OutOfRange);
    assert_eq!(frames.frames_into(0..2, &mut pose).unwrap_err().kind(), ErrorKind::OutOfRange);
    frames.frames_into(3..3, &mut []).unwrap();
}

#[test]
fn interpolation_begins_and_ends_at_the_frames() {
    let frames = model("skin_multi_anim.iqm").frames();
    let mut pose = vec![Trs::default(); frames.pose_count()];
    let mut mixed = pose.clone();
    for (fraction, frame) in [(0., 3), (1., 4)] {
        frames.frame_into(frame, &mut pose).unwrap();
        frames.interpolate_into(3, 4, fraction, &mut mixed).unwrap();
        for (mixed, exact) in mixed.iter().zip(&pose) {
            assert_eq!(mixed.translate, exact.translate);
            let cosine: f32 = mixed.rotate.iter().zip(exact.normalized().rotate).map(|(a, b)| a * b).sum();
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
            [w * w + x * x - y * y - z * z, 2. * (x * y - w * z), 2. * (x * z + w * y), 0.],
            [2. * (x * y + w * z), w * w - x * x + y * y - z * z, 2. * (y * z - w * x), 0.],
            [2. * (x * z - w * y), 2. * (y * z + w * x), w * w - x * x - y * y + z * z, 0.],
            [0., 0., 0., 1.],
        ];
        let mut scale = [[0.; 4]; 4];
        let mut translate = [[1., 0., 0., 0.], [0., 1., 0., 0.], [0., 0., 1., 0.], [0., 0., 0., 1.]];
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

fn assert_close(found: &Matrix, expected: &reference::Wide, what: &str) {
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
    for name in ["skin_scale_nonuniform.iqm", "skin_multi_anim.iqm", "v1_skin_anim.iqm"] {
        let model = model(name);
        let skeleton = model.skeleton().unwrap();
        let bind: Vec<Trs> = model.joints().map(|joint| joint.trs).collect();
        let expected_bind = reference::worlds(skeleton.parents(), &bind);
        for (found, expected) in skeleton.bind_matrices().iter().zip(&expected_bind) {
            assert_close(found, expected, name);
        }
        // The inverse undoes the bind matrix.
        for (inverse, bind) in skeleton.inverse_bind_matrices().iter().zip(skeleton.bind_matrices()) {
            let identity = iqm::multiply(inverse, bind);
            let off = identity.iter().flatten().zip(iqm::IDENTITY.iter().flatten());
            assert!(off.clone().all(|(a, b)| (a - b).abs() < 1e-4), "{name}: {identity:?}");
        }
        let frames = model.frames();
        let mut pose = vec![Trs::default(); frames.pose_count()];
        for frame in (0..frames.len()).step_by(if cfg!(miri) { 11 } else { 1 }) {
            frames.frame_into(frame, &mut pose).unwrap();
            let worlds = reference::worlds(skeleton.parents(), &pose);
            let mut found = vec![iqm::IDENTITY; pose.len()];
            iqm::world_matrices(skeleton.parents(), &pose, &mut found).unwrap();
            let skinning = skeleton.skinning_matrices(&pose).unwrap();
            for joint in 0..pose.len() {
                assert_close(&found[joint], &worlds[joint], name);
                // What skinning does to the bind pose is the pose.
                let moved = iqm::multiply(&skinning[joint], &skeleton.bind_matrices()[joint]);
                assert_close(&moved, &worlds[joint], name);
            }
        }
    }
}

#[test]
fn bind_pose_skins_to_itself() {
    let model = model("skin_scale_nonuniform.iqm");
    let bind: Vec<Trs> = model.joints().map(|joint| joint.trs).collect();
    for matrix in model.skeleton().unwrap().skinning_matrices(&bind).unwrap() {
        assert!(
            matrix.iter().flatten().zip(iqm::IDENTITY.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-4)
        );
    }
    let wrong = model.skeleton().unwrap().skinning_matrices(&bind[1..]).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Mismatch);
}

#[test]
fn custom_arrays_are_found_by_name() {
    let model = model("custom.iqm");
    let lightmap = model.custom_array("lightmap").unwrap().unwrap();
    assert_eq!((lightmap.format().scalar, lightmap.format().components), (Scalar::F32, 4));
    assert_eq!(lightmap.semantic(), &Semantic::Custom("lightmap".to_owned()));
    assert!(model.custom_array("light").unwrap().is_none());
    let scalars: Vec<_> = model.vertex_arrays().map(|array| array.format).collect();
    assert!(
        [Scalar::U8, Scalar::F16, Scalar::F64].iter().all(|scalar| scalars.contains(scalar)),
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
    assert_eq!((error.expected_text(), error.found_text()), ("f32x3", "f16x3"));
    assert!(model.vertex_array_of(&VertexArrayType::Position).unwrap().is_some());
}

#[test]
fn signed_integers_normalise_as_the_caller_chooses() {
    let model = model("fmt_byte.iqm");
    let normal = model.vertex_arrays().position(|array| array.kind == VertexArrayType::Normal).unwrap();
    let raw = model.vertex_array_f32(normal, Normalization::Raw).unwrap();
    let sdk = model.vertex_array_f32(normal, Normalization::Sdk).unwrap();
    let gpu = model.vertex_array_f32(normal, Normalization::WebGpu).unwrap();
    for ((raw, sdk), gpu) in raw.iter().zip(sdk).zip(gpu) {
        assert_eq!(sdk, ((2. * f64::from(*raw) + 1.) / 255.) as f32);
        assert_eq!(gpu, ((f64::from(*raw) / 127.).max(-1.)) as f32);
    }
}

/// Normals that the SDK's compiler stored as bytes have length 1 again, within what a byte can tell.
#[test]
fn sdk_normalisation_undoes_the_sdk_compiler() {
    let model = model("fmt_byte.iqm");
    let normal = model.vertex_arrays().position(|array| array.kind == VertexArrayType::Normal).unwrap();
    let decoded = model.vertex_array_f32(normal, Normalization::Sdk).unwrap();
    for normal in decoded.chunks(3) {
        let length = normal.iter().map(|lane| lane * lane).sum::<f32>().sqrt();
        assert!((length - 1.).abs() < 3_f32.sqrt() / 255., "{normal:?}");
    }
}

fn mesh_view(model: &Model, index: u64) -> meshmap::Result<MeshView> {
    model.mesh_view(&Address::field("meshes").index(index))
}

#[test]
fn meshes_have_their_own_vertices_and_indices_from_zero() {
    let model = model("fte_ext.iqm");
    let views: Vec<_> = (0..2).map(|index| mesh_view(&model, index).unwrap()).collect();
    assert_eq!(views.iter().map(MeshView::vertex_count).collect::<Vec<_>>(), [30, 8]);
    assert_eq!(views.iter().map(MeshView::name).collect::<Vec<_>>(), ["body", "hitbox7"]);
    let second = views[1].indices();
    assert_eq!((second.base(), second.iter().min(), second.iter().max()), (30, Some(0), Some(7)));
    let all = model.positions().unwrap().unwrap();
    let own = views[1].attribute(&Semantic::Position).unwrap().unwrap();
    assert_eq!(own.to_f32x3(), all.slice(30..38).unwrap().to_vec());
    assert!(views[1].attribute(&Semantic::TexCoord(1)).unwrap().is_none());
    assert_eq!(mesh_view(&model, 2).unwrap_err().kind(), ErrorKind::OutOfRange);
}

#[test]
fn meshes_that_use_others_vertices_have_all_of_them_and_a_finding() {
    let model = model("ours_many_meshes_a.iqm");
    let view = mesh_view(&model, 1).unwrap();
    assert_eq!(view.vertex_count(), model.vertex_count());
    assert_eq!(view.indices().base(), 0);
    assert_eq!(view.findings()[0].rule, rules::INDEX_OUTSIDE_MESH);
    let stored = model.triangles().unwrap().get(model.meshes().nth(1).unwrap().first_triangle as usize);
    assert_eq!(view.indices().triangles().next(), stored);
}

#[test]
fn index_out_of_range_is_found_by_each_check() {
    let mut file = fixtures::iqm::small();
    let triangles = get(&file, 0x3c);
    let vertexes = get(&file, 0x30) as u32;
    set(&mut file, triangles + 20, vertexes);
    let model = Model::from_source(Source::from_bytes(file.clone())).unwrap();
    let error = model.check_indices().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    let place = triangles as u64 + 20..triangles as u64 + 24;
    assert_eq!(error.byte_range(), Some(place.clone()));
    assert_eq!(error.address().unwrap().to_string(), "triangles[1]");
    let findings = model.validate().unwrap();
    let wrong = findings.iter().find(|finding| finding.severity() == Severity::Unusable).unwrap();
    assert_eq!((wrong.rule, wrong.byte_range.clone()), (rules::INDEX_OUT_OF_RANGE, Some(place)));
    assert_eq!(mesh_view(&model, 0).unwrap_err().kind(), ErrorKind::Malformed);
    assert_eq!(strict(file).unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn strict_reading_refuses_what_the_text_forbids_only() {
    let read = |name: &str| strict(fs::read(data::valid("iqm", name)).unwrap());
    // Suspicious but legal: no framerate. What one real file in ten does: sections at odd offsets.
    assert!(read("skin_multi_anim.iqm").is_ok() && read("ours_odd_a.iqm").is_ok());
    let error = read("ours_types_a.iqm").unwrap_err();
    assert_eq!((error.kind(), error.format()), (ErrorKind::Malformed, Some(meshmap::Format::Iqm)));
    assert_eq!(error.what(), rules::RESERVED_TYPE.name);
}

#[test]
fn findings_name_what_is_odd() {
    let cases = [
        ("ours_odd_a.iqm", rules::UNALIGNED),
        ("ours_trailing_a.iqm", rules::TRAILING_BYTES),
        ("exm_comment.iqm", rules::LONGER_COMMENT),
        ("ours_names_a.iqm", rules::TEXT_NOT_UTF8),
        ("ours_parents_a.iqm", rules::ODD_ROOT),
        ("ours_many_meshes_a.iqm", rules::INDEX_OUTSIDE_MESH),
        ("ours_many_meshes_a.iqm", rules::EMPTY_MESH),
        ("skin_noesis_fmt.iqm", rules::UNUSUAL_FORMAT),
        ("ours_types_a.iqm", rules::ARRAY_ORDER),
        ("ours_types_a.iqm", rules::REPEATED_ARRAY),
        ("ours_types_a.iqm", rules::RESERVED_TYPE),
        ("fte_ext.iqm", rules::NOT_FINITE),
        ("ours_v1_full_a.iqm", rules::NOT_UNIT),
        ("skin_multi_anim.iqm", rules::FRAMERATE),
        ("ours_masks_a.iqm", rules::MASK_BITS),
        ("va_shared_bytes.iqm", rules::OVERLAP),
    ];
    for (name, rule) in cases.into_iter().step_by(if cfg!(miri) { 4 } else { 1 }) {
        let findings = model(name).validate().unwrap();
        assert!(findings.iter().any(|finding| finding.rule == rule), "{name}: {rule}: {findings:?}");
    }
    assert_eq!(model("skin_scale_nonuniform.iqm").validate().unwrap(), []);
}

/// The rules that no file of the repository breaks, broken one at a time.
#[test]
fn findings_of_damaged_fields_name_them() {
    let file = fixtures::iqm::small();
    let (text, adjacency, bounds) = (get(&file, 0x20), get(&file, 0x40), get(&file, 0x68));
    let weights = |array: usize| get(&file, get(&file, 0x34) + array * 20 + 16);
    let cases: [(usize, u32, Rule); 8] = [
        (text, 0x61, rules::TEXT_WITHOUT_EMPTY_STRING),
        (adjacency, 40, rules::ADJACENCY),
        (bounds, 0x7f00_0000, rules::INVERTED_BOUNDS),
        (bounds + 24, 0x7f80_0000, rules::NOT_FINITE),
        (weights(5), 0, rules::WEIGHT_SUM),
        (weights(4), 0xffff_ffff, rules::BLEND_INDEX),
        (0x74, 1, rules::EXTENSION_COUNT),
        (0x70, 200, rules::EMPTY_WITH_OFFSET),
    ];
    for (field, value, rule) in cases.into_iter().step_by(if cfg!(miri) { 3 } else { 1 }) {
        let mut damaged = file.clone();
        set(&mut damaged, field, value);
        let model = Model::from_source(Source::from_bytes(damaged)).unwrap();
        let findings = model.validate().unwrap();
        assert!(findings.iter().any(|finding| finding.rule == rule), "{rule}: {findings:?}");
    }
}

/// Thousands of meshes that all claim all triangles are a trap for who looks at each.
#[test]
#[cfg_attr(miri, ignore = "looks at 64 times the bytes of the file, an index at a time")]
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
    let findings = Model::from_source(Source::from_bytes(file)).unwrap().validate().unwrap();
    assert!(
        findings
            .iter()
            .any(|finding| finding.rule == rules::SHARED_TOO_OFTEN
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
    let [whole, mesh, animation] =
        [whole, mesh, animation].map(|file| Model::from_source(Source::from_bytes(file)).unwrap());
    assert_eq!((mesh.poses().len(), animation.joint_count(), animation.meshes().len()), (0, 0, 0));
    let joined = mesh.attach(&animation).unwrap();
    assert_eq!(joined.frames().to_vec().unwrap(), whole.frames().to_vec().unwrap());
    assert_eq!(joined.bounds().unwrap(), whole.bounds().unwrap());
    assert_eq!(joined.anims().count(), 4);
    assert_eq!(joined.joints().collect::<Vec<_>>(), whole.joints().collect::<Vec<_>>());
    assert_eq!(joined.positions().unwrap(), whole.positions().unwrap());
}

#[test]
fn skeletons_that_differ_do_not_join() {
    let mesh = model("skin_multi_anim.iqm");
    let other = model("ours_masks_a.iqm");
    let error = mesh.attach(&other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.to_string().contains("expected 5 poses"), "{error}");

    let mut file = fixtures::iqm::small();
    let poses = get(&file, 0x50);
    // Pose 3 hangs on pose 0 instead of pose 2.
    set(&mut file, poses + 3 * 88, 0);
    let other = Model::from_source(Source::from_bytes(file)).unwrap();
    let error = mesh.attach(&other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert_eq!(error.address().unwrap().to_string(), "joints[3]");
    assert!(error.to_string().contains("1 of 5 joints differ"), "{error}");
}

#[test]
fn extensions_of_fte_are_typed() {
    let model = model("fte_ext.iqm");
    assert_eq!(model.extensions().map(|e| e.name.to_string()).collect::<Vec<_>>(), ["FTE_MESH", "FTE_EVENT"]);
    assert_eq!(model.fte_meshes().unwrap().unwrap().len(), 2);
    let events = model.fte_events().unwrap().unwrap();
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event| (event.anim as usize) < model.anims().len()), "{events:?}");
    assert!(model.extension("fte_mesh").unwrap().is_some(), "names are compared in any case of letters");
    assert!(model.fte_skins().unwrap().is_none());

    let model = self::model("ext_fte_skins.iqm");
    assert_eq!(model.fte_events().unwrap(), None, "absent is not empty");
    let skins = model.fte_skins().unwrap().unwrap();
    assert_eq!(skins.numskins.iter().sum::<u32>() as usize, skins.skins.len());
    assert!(skins.frames.iter().all(|frame| !frame.material.is_empty()), "{skins:?}");
}

#[test]
fn skins_longer_than_their_data_are_malformed() {
    let mut file = fs::read(data::valid("iqm", "ext_fte_skins.iqm")).unwrap();
    let model = Model::from_source(Source::from_bytes(file.clone())).unwrap();
    let skins = model.extensions().find(|extension| extension.name == "FTE_SKINS").unwrap();
    set(&mut file, skins.range.start as usize, u32::MAX);
    let model = Model::from_source(Source::from_bytes(file)).unwrap();
    assert_eq!(model.fte_skins().unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn comment_of_another_exporter_is_read_to_its_end() {
    let model = model("exm_comment.iqm");
    assert_eq!(model.comment().unwrap().unwrap().as_bytes(), b"{");
    let whole = model.comment_to_end().unwrap().unwrap();
    assert!(whole.to_str().unwrap().trim_end_matches('\0').ends_with('}'), "{whole}");
}

#[test]
fn names_need_not_be_utf8() {
    let model = model("ours_names_a.iqm");
    let mut names = model.meshes().map(|mesh| mesh.name).chain(model.joints().map(|joint| joint.name));
    assert!(names.any(|name| name.to_str().is_none() && name.to_string_lossy().contains('\u{fffd}')));
    for (index, joint) in model.joints().enumerate() {
        assert!(model.joint_index(joint.name.as_bytes()).is_some_and(|found| found <= index));
    }
}

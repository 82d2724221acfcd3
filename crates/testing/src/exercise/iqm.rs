//! Calls everything that a user can call on an IQM model, and asserts what the documentation promises of any bytes.

use meshmap::iqm::{self, Matrix, Model, Trs};
use meshmap::{
    Address, Element, ErrorKind, Finding, Format, MeshFile, Parallelism, Result, Rule, Severity,
    Source, Strictness,
};

use super::check::{
    MOST, MOST_BYTES, assert_address, assert_array, assert_attribute, assert_finding, assert_mesh,
    assert_text, options, seen,
};

/// A rule of the format.
fn rule(id: &str) -> Rule {
    Rule::by_id(Format::Iqm, id).unwrap()
}

/// Opens the bytes tolerantly and strictly, and calls everything on what opens.
///
/// Returns whether the bytes are a file that opens.
pub fn bytes(bytes: &[u8]) -> bool {
    let source = Source::from_bytes(bytes.to_vec());
    let file = MeshFile::from_source(source.clone(), &options()).map_err(seen);
    let strict = Model::from_source(
        source.clone(),
        &options().with_strictness(Strictness::Strict),
    )
    .map_err(seen);
    match Model::from_source(source, &options()).map_err(seen) {
        Ok(model) => {
            let findings = validation(&model);
            assert_eq!(
                strict.is_err(),
                findings
                    .iter()
                    .any(|finding| finding.severity() >= Severity::Forbidden),
                "strict reading"
            );
            assert_eq!(file.unwrap().validate().unwrap(), findings);
            everything(&model, &findings);
            true
        }
        Err(error) => {
            assert_eq!(strict.map(|_| ()).unwrap_err().kind(), error.kind());
            assert!(
                !matches!(file, Ok(MeshFile::Iqm(_))),
                "opened as another format's reader refuses"
            );
            false
        }
    }
}

fn validation(model: &Model) -> Vec<Finding> {
    let findings = model.validate().expect("bytes in memory can be read");
    assert_eq!(findings[..model.findings().len()], *model.findings());
    findings.iter().for_each(assert_finding);
    let wrong = findings
        .iter()
        .any(|finding| finding.rule == rule("index_out_of_range"));
    assert_eq!(model.triangles().map_err(seen).is_err(), wrong);
    findings
}

fn everything(model: &Model, findings: &[Finding]) {
    let len = model.source().len().unwrap().expect("memory has a length");
    assert!((1..=2).contains(&model.version()));
    assert!(u64::from(model.header().filesize.get()) <= len);
    for item in MeshFile::Iqm(model.clone()).items().take(MOST) {
        assert!(
            item.range.start <= item.range.end && item.range.end <= len,
            "{item:?}"
        );
        assert_address(&item.address);
    }
    let _ = model.comment().unwrap().map(|text| assert_text(&text));
    arrays(model);
    triangles(model, findings);
    skeleton(model);
    frames(model);
    anims(model);
    extensions(model);
    meshes(model, findings);
    let _ = model.bounds().unwrap().map(|bounds| assert_array(&bounds));
}

fn arrays(model: &Model) {
    let vertices = model.vertex_count();
    let mut looked_at = 0;
    for (index, array) in model.vertex_arrays().enumerate().take(MOST) {
        let attribute = model.vertex_array(index).unwrap();
        assert_eq!(attribute.len(), vertices, "{array:?}");
        assert_eq!(attribute.format(), array.vertex_format());
        assert!(
            model.vertex_array_of(&array.kind).unwrap().is_some(),
            "{:?}",
            array.kind
        );
        if let iqm::VertexArrayType::Custom(name) = &array.kind {
            assert!(
                model.custom_array(name.as_bytes()).unwrap().is_some(),
                "{name:?}"
            );
        }
        looked_at += attribute.as_bytes().len();
        if looked_at > MOST_BYTES {
            break;
        }
        assert_attribute(&attribute);
    }
    let past = model.vertex_arrays().len();
    assert_eq!(
        model.vertex_array(past).map_err(seen).unwrap_err().kind(),
        ErrorKind::OutOfRange
    );
    let _ = model.custom_array("no such name").unwrap();
    typed(model.positions(), vertices);
    typed(model.texcoords(0), vertices);
    typed(model.normals(), vertices);
}

fn typed<T: Element + PartialEq>(array: Result<Option<meshmap::Array<T>>>, vertices: usize) {
    match array.map_err(seen) {
        Ok(Some(array)) => {
            assert_eq!(array.len(), vertices);
            assert_array(&array);
        }
        Ok(None) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported),
    }
}

fn triangles(model: &Model, findings: &[Finding]) {
    let has_wrong_indices = findings
        .iter()
        .any(|finding| finding.rule == rule("index_out_of_range"));
    let triangles = model.raw_triangles().unwrap();
    assert_eq!(triangles.len(), model.triangle_count());
    assert_array(&triangles);
    assert!(model.triangles().is_ok_and(|checked| checked == triangles) != has_wrong_indices);
    if let Some(adjacency) = model.adjacency().unwrap() {
        assert_eq!(adjacency.len(), triangles.len());
    }
}

fn skeleton(model: &Model) {
    let joints = model.joints().len();
    assert_eq!(model.joints().len(), joints);
    for (index, joint) in model.joints().enumerate().take(MOST) {
        assert!(
            joint.parent.is_none_or(|parent| (parent as usize) < index),
            "{joint:?}"
        );
        assert!(
            model
                .joints()
                .position(|other| other.name == joint.name)
                .is_some_and(|first| first <= index)
        );
        assert_text(&joint.name);
        let _ = iqm::invert(&joint.trs.normalized().to_matrix());
    }
    let Some(skeleton) = model.skeleton() else {
        return assert_eq!(joints, 0);
    };
    assert!(skeleton.parents().len() == joints && skeleton.parents().len() == joints);
    assert_eq!(
        skeleton.bind_matrices().len(),
        skeleton.inverse_bind_matrices().len()
    );
    let rest: Vec<Trs> = model.joints().map(|joint| joint.trs).collect();
    assert_eq!(skeleton.skinning_matrices(&rest).unwrap().len(), joints);
    let few = skeleton.skinning_matrices(&rest[1..]).map_err(seen);
    assert_eq!(few.unwrap_err().kind(), ErrorKind::Mismatch);
}

fn frames(model: &Model) {
    let frames = model.frames();
    let (len, poses) = (frames.len(), frames.pose_count());
    assert!(frames.is_empty() == (len == 0) && model.poses().len() == poses);
    for (index, pose) in model.poses().enumerate().take(MOST) {
        assert!(
            pose.parent.is_none_or(|parent| (parent as usize) < index),
            "{pose:?}"
        );
    }
    for (frame, pose) in [(len, 0), (u32::MAX, 0), (0, poses)] {
        assert_eq!(
            frames.pose(frame, pose).map_err(seen).unwrap_err().kind(),
            ErrorKind::OutOfRange
        );
    }
    let mut out = vec![Trs::default(); poses];
    let parents: Vec<Option<u32>> = model.poses().map(|pose| pose.parent).collect();
    for frame in (0..len).take(4).chain(len.checked_sub(1)) {
        frames.read_frame_into(frame, &mut out).unwrap();
        for (index, trs) in out.iter().enumerate().take(MOST) {
            assert_same(&[*trs], &[frames.pose(frame, index).unwrap()]);
        }
        let mut world = vec![iqm::IDENTITY; poses];
        iqm::world_matrices(&parents, &out, &mut world).unwrap();
        if let Some(skeleton) = model.skeleton() {
            let matrices: Result<Vec<Matrix>> = skeleton.skinning_matrices(&out);
            assert_eq!(
                matrices.map_err(seen).is_ok(),
                skeleton.parents().len() == poses
            );
        }
        for fraction in [0.0, 0.25, 1.0, f32::NAN] {
            frames
                .interpolate_into(frame, len - 1 - frame, fraction, &mut out)
                .unwrap();
        }
        if poses > 0 {
            assert!(
                frames
                    .read_frame_into(frame, &mut out[1..])
                    .map_err(seen)
                    .is_err()
            );
        }
    }
    match frames.read().map_err(seen) {
        Ok(all) => {
            assert_eq!(all.len() as u64, u64::from(len) * poses as u64);
            for frame in (0..len).take(4) {
                frames.read_frame_into(frame, &mut out).unwrap();
                assert_same(&out, &all[frame as usize * poses..][..poses]);
            }
            let alone = options().with_parallelism(Parallelism::Off);
            let alone = Model::from_source(model.source().clone(), &alone).unwrap();
            assert_same(&all, &alone.frames().read().unwrap());
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::LimitExceeded),
    }
    match model.attach(model).map_err(seen) {
        Ok(joined) => {
            assert_eq!(poses, model.joints().len());
            assert_eq!(joined.frames().len(), len);
            joined.validate().unwrap().iter().for_each(assert_finding);
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Mismatch),
    }
}

fn anims(model: &Model) {
    for anim in model.anims().take(MOST) {
        assert!(
            anim.frames().end <= model.frames().len() && anim.frames().start <= anim.frames().end
        );
        assert_text(&anim.name);
        for seconds in [-1.0, 0.0, 0.3, 1e9, f64::MAX, f64::NAN] {
            if let Some((from, to, fraction)) = anim.frames_at(seconds, 24.0) {
                assert!(
                    anim.frames().contains(&from) && anim.frames().contains(&to),
                    "{anim:?} {seconds}"
                );
                assert!(
                    (0.0..=1.0).contains(&fraction),
                    "{anim:?} {seconds} {fraction}"
                );
            }
        }
    }
}

fn extensions(model: &Model) {
    for extension in model.extensions().take(MOST) {
        assert!(
            model
                .extension(extension.name.as_bytes())
                .unwrap()
                .is_some()
        );
        assert_text(&extension.name);
    }
    if let Some(meshes) = model.fte_meshes().unwrap() {
        assert_eq!(meshes.len(), model.meshes().len());
    }
    match model.fte_events().map_err(seen) {
        Ok(events) => events
            .iter()
            .flatten()
            .take(MOST)
            .for_each(|event| assert_text(&event.evdata)),
        Err(error) => {
            assert!(
                matches!(
                    error.kind(),
                    ErrorKind::Malformed | ErrorKind::LimitExceeded
                ),
                "{error}"
            );
        }
    }
    match model.fte_skins().map_err(seen) {
        Ok(skins) => skins
            .iter()
            .for_each(|skins| assert_eq!(skins.numskins.len(), model.meshes().len())),
        Err(error) => {
            assert!(
                matches!(
                    error.kind(),
                    ErrorKind::Malformed | ErrorKind::LimitExceeded
                ),
                "{error}"
            );
        }
    }
}

fn meshes(model: &Model, findings: &[Finding]) {
    let wrong = findings
        .iter()
        .any(|finding| finding.rule == rule("index_out_of_range"));
    let count = model.meshes().len();
    let address = |index: usize| Address::field("meshes").index(index as u64);
    assert_eq!(
        model.mesh_view(&address(count)).unwrap_err().kind(),
        ErrorKind::OutOfRange
    );
    let mut looked_at = 0;
    for (index, mesh) in model.meshes().enumerate().take(MOST) {
        assert_text(&mesh.name);
        assert_text(&mesh.material);
        match model.mesh_view(&address(index)).map_err(seen) {
            Ok(view) => {
                assert_eq!(
                    (view.name(), view.address()),
                    (&*mesh.name.to_string_lossy(), &address(index))
                );
                looked_at += assert_mesh(&view);
            }
            Err(error) => assert!(wrong && error.kind() == ErrorKind::Malformed, "{error}"),
        }
        if looked_at > MOST_BYTES {
            break;
        }
    }
}

/// The same numbers, bit by bit: NaN among them.
fn assert_same(a: &[Trs], b: &[Trs]) {
    let bits = |trs: &Trs| {
        let numbers = trs.translate.iter().chain(&trs.rotate).chain(&trs.scale);
        numbers.map(|number| number.to_bits()).collect::<Vec<_>>()
    };
    assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| bits(a) == bits(b)));
}

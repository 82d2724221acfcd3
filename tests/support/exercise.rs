//! Calls everything that a user can call on a file, and asserts what the documentation promises of any bytes.
//!
//! Shared by tests and fuzzers. What is done is bounded, so that a file that shares bytes between thousands of parts
//! does not take longer than one that does not.

use meshmap::iqm::{self, Matrix, Model, Normalization, Trs, finding};
use meshmap::{
    Address, Array, Attribute, Element, Error, ErrorKind, Finding, IndexFormat, Limits, MeshFile, MeshView,
    Options, Parallelism, Result, Scalar, Semantic, Source, Strictness, Text, VertexFormat,
};

/// Parts of a kind that are looked at.
const MOST: usize = 64;

/// Bytes of vertex arrays that are converted.
const MOST_BYTES: usize = 16 << 10;

/// Memory that a file may claim.
pub(crate) fn options() -> Options {
    Options::default().with_limits(Limits::default().with_max_block_bytes(1 << 20))
}

/// Opens the bytes as every format, tolerantly and strictly, and calls everything on what opens.
///
/// Returns whether the bytes are a file that opens.
pub(crate) fn bytes(bytes: &[u8]) -> bool {
    let source = Source::from_bytes(bytes.to_vec());
    let file = MeshFile::from_source(source.clone(), &options()).map_err(seen);
    let strict =
        Model::from_source_with(source.clone(), &options().with_strictness(Strictness::Strict)).map_err(seen);
    match Model::from_source_with(source, &options()).map_err(seen) {
        Ok(model) => {
            let findings = validation(&model);
            assert_eq!(strict.is_err(), findings.iter().any(|finding| finding.forbidden), "strict reading");
            assert_eq!(file.unwrap().validate().unwrap(), findings);
            everything(&model, &findings);
            true
        }
        Err(error) => {
            assert_eq!(strict.map(|_| ()).unwrap_err().kind(), error.kind());
            assert!(!matches!(file, Ok(MeshFile::Iqm(_))), "opened as another format's reader refuses");
            false
        }
    }
}

fn validation(model: &Model) -> Vec<Finding> {
    let findings = model.validate().expect("bytes in memory can be read");
    assert_eq!(findings[..model.findings().len()], *model.findings());
    findings.iter().for_each(assert_finding);
    let wrong = findings.iter().any(|finding| finding.what == finding::INDEX_OUT_OF_RANGE);
    assert_eq!(model.check_indices().map_err(seen).is_err(), wrong);
    assert!(findings.iter().all(|finding| finding.tolerated || finding.forbidden));
    findings
}

fn everything(model: &Model, findings: &[Finding]) {
    let len = model.source().len().unwrap().expect("memory has a length");
    assert!((1..=2).contains(&model.version()));
    assert!(u64::from(model.header().filesize.get()) <= len);
    let _ = (model.flags(), model.text(), format!("{:?}", model.source()));
    for item in model.items().iter().take(MOST) {
        assert!(item.range.start <= item.range.end && item.range.end <= len, "{item:?}");
        assert_address(&item.address);
    }
    for text in [model.comment(), model.comment_to_end()].into_iter().flatten().flatten() {
        assert_text(&text);
    }
    arrays(model);
    triangles(model);
    skeleton(model);
    frames(model);
    anims(model);
    extensions(model);
    meshes(model, findings);
    let _ = model.bounds().unwrap().map(|bounds| assert_array(&bounds));
}

fn arrays(model: &Model) {
    let vertices = model.num_vertexes() as usize;
    let mut looked_at = 0;
    for (index, array) in model.vertex_arrays().enumerate().take(MOST) {
        let attribute = model.vertex_array(index).unwrap();
        assert_eq!(attribute.len(), vertices, "{array:?}");
        assert_eq!(attribute.format(), array.vertex_format());
        assert!(model.vertex_array_of(&array.kind).unwrap().is_some(), "{:?}", array.kind);
        if let iqm::VertexArrayType::Custom(name) = &array.kind {
            assert!(model.custom_array(name.as_bytes()).unwrap().is_some(), "{name:?}");
        }
        looked_at += attribute.as_bytes().len();
        if looked_at > MOST_BYTES {
            break;
        }
        for normalization in [Normalization::Raw, Normalization::Sdk, Normalization::WebGpu] {
            let numbers = model.vertex_array_f32(index, normalization).unwrap();
            assert_eq!(numbers.len(), vertices * if vertices == 0 { 0 } else { array.size as usize });
        }
        assert_attribute(&attribute);
    }
    let past = model.vertex_arrays().len();
    assert_eq!(model.vertex_array(past).map_err(seen).unwrap_err().kind(), ErrorKind::OutOfRange);
    let _ = model.custom_array("no such name").unwrap();
    typed(model.positions(), vertices);
    typed(model.texcoords(), vertices);
    typed(model.normals(), vertices);
    typed(model.tangents(), vertices);
    typed(model.blend_indexes(), vertices);
    typed(model.blend_weights(), vertices);
    typed(model.colors(), vertices);
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

pub(crate) fn assert_array<T: Element>(array: &meshmap::Array<T>) {
    let len = array.len();
    assert_eq!(array.as_slice().len(), len);
    assert_eq!(array.iter().len(), len);
    assert_eq!(array.to_vec().len(), len);
    assert!(array.as_native().is_none_or(|native| native.len() == len));
    assert_eq!(array.get(len.wrapping_sub(1)).is_some(), len > 0);
    assert!(array.get(len).is_none() && array.slice(0..len + 1).is_none());
    let half = array.slice(len / 2..len).unwrap();
    assert_eq!(half.as_bytes(), &array.as_bytes()[array.as_bytes().len() - half.as_bytes().len()..]);
    assert_eq!(half.clone().into_bytes().len(), half.as_bytes().len());
}

fn assert_attribute(attribute: &Attribute) {
    let len = attribute.len();
    assert_line(&format!("{attribute:?}"));
    assert_eq!(attribute.to_f32x3().len(), len);
    assert_eq!(attribute.to_f32::<4>().len(), len);
    assert_eq!(attribute.slice(0..len).as_ref(), Some(attribute));
    assert!(attribute.slice(0..len + 1).is_none());
    if let Some(bounds) = attribute.bounds() {
        assert!((0..3).all(|axis| bounds.min[axis] <= bounds.max[axis]), "{bounds:?}");
    }
    let own = attribute.format();
    let mut as_floats = own;
    as_floats.scalar = Scalar::F32;
    as_floats.normalized = false;
    let mut wider = own;
    wider.lanes = wider.lanes.saturating_add(1);
    let targets = [
        own,
        as_floats,
        wider,
        VertexFormat::FLOAT32X3,
        VertexFormat::UINT16X4,
        VertexFormat::SINT32X4,
        VertexFormat::UNORM8X4,
    ];
    for target in targets {
        assert_written(attribute, target, target.size());
    }
    for target in [own, VertexFormat::FLOAT32X4] {
        assert_written(attribute, target, target.size().saturating_add(3));
    }
    let narrow = attribute.write_chunks(own, own.size() - 1, |_, _| panic!("nothing fits this stride"));
    assert_eq!(narrow.map_err(seen).unwrap_err().kind(), ErrorKind::OutOfRange);
}

/// Whole elements, ascending, each once, and all of them.
fn assert_written(attribute: &Attribute, target: VertexFormat, stride: usize) {
    let size = target.size();
    let (mut next, mut written) = (0, 0);
    let result = attribute.write_chunks(target, stride, |offset, bytes| {
        assert!(offset >= next && offset % stride == 0 && bytes.len() % size == 0);
        assert!(stride == size || bytes.len() <= size);
        next = offset + bytes.len();
        written += bytes.len() / size;
    });
    match result.map_err(seen) {
        Ok(()) => assert_eq!(written, attribute.len()),
        Err(error) => {
            assert!(target != attribute.format());
            assert!(matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::OutOfRange), "{error}");
        }
    }
}

fn triangles(model: &Model) {
    let triangles = model.triangles().unwrap();
    assert_eq!(triangles.len(), model.num_triangles() as usize);
    assert_array(&triangles);
    if let Some(adjacency) = model.adjacency().unwrap() {
        assert_eq!(adjacency.len(), triangles.len());
    }
}

fn skeleton(model: &Model) {
    let joints = model.num_joints();
    assert_eq!(model.joints().len(), joints);
    for (index, joint) in model.joints().enumerate().take(MOST) {
        assert!(joint.parent.is_none_or(|parent| (parent as usize) < index), "{joint:?}");
        assert!(model.joint_index(joint.name.as_bytes()).is_some_and(|first| first <= index));
        assert_text(&joint.name);
        let _ = iqm::invert(&joint.trs.normalized().to_matrix());
    }
    let Some(skeleton) = model.skeleton() else { return assert_eq!(joints, 0) };
    assert!(skeleton.len() == joints && !skeleton.is_empty() && skeleton.parents().len() == joints);
    assert_eq!(skeleton.bind_matrices().len(), skeleton.inverse_bind_matrices().len());
    let rest: Vec<Trs> = model.joints().map(|joint| joint.trs).collect();
    assert_eq!(skeleton.skinning_matrices(&rest).unwrap().len(), joints);
    let few = skeleton.skinning_matrices(&rest[1..]).map_err(seen);
    assert_eq!(few.unwrap_err().kind(), ErrorKind::Mismatch);
}

fn frames(model: &Model) {
    let frames = model.frames();
    let (len, poses) = (frames.len(), frames.poses());
    assert!(frames.is_empty() == (len == 0) && model.poses().len() == poses);
    for (index, pose) in model.poses().enumerate().take(MOST) {
        assert!(pose.parent.is_none_or(|parent| (parent as usize) < index), "{pose:?}");
    }
    for (frame, pose) in [(len, 0), (u32::MAX, 0), (0, poses)] {
        assert_eq!(frames.pose(frame, pose).map_err(seen).unwrap_err().kind(), ErrorKind::OutOfRange);
    }
    let mut out = vec![Trs::default(); poses];
    let parents: Vec<Option<u32>> = model.poses().map(|pose| pose.parent).collect();
    for frame in (0..len).take(4).chain(len.checked_sub(1)) {
        frames.frame_into(frame, &mut out).unwrap();
        for (index, trs) in out.iter().enumerate().take(MOST) {
            assert_same(&[*trs], &[frames.pose(frame, index).unwrap()]);
        }
        let mut world = vec![iqm::IDENTITY; poses];
        iqm::world_matrices(&parents, &out, &mut world).unwrap();
        if let Some(skeleton) = model.skeleton() {
            let matrices: Result<Vec<Matrix>> = skeleton.skinning_matrices(&out);
            assert_eq!(matrices.map_err(seen).is_ok(), skeleton.len() == poses);
        }
        for fraction in [0.0, 0.25, 1.0, f32::NAN] {
            frames.interpolate_into(frame, len - 1 - frame, fraction, &mut out).unwrap();
        }
        if poses > 0 {
            assert!(frames.frame_into(frame, &mut out[1..]).map_err(seen).is_err());
        }
    }
    match frames.to_vec().map_err(seen) {
        Ok(all) => {
            assert_eq!(all.len() as u64, u64::from(len) * poses as u64);
            for frame in (0..len).take(4) {
                frames.frame_into(frame, &mut out).unwrap();
                assert_same(&out, &all[frame as usize * poses..][..poses]);
            }
            let alone = options().with_parallelism(Parallelism::Off);
            let alone = Model::from_source_with(model.source().clone(), &alone).unwrap();
            assert_same(&all, &alone.frames().to_vec().unwrap());
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::LimitExceeded),
    }
    match model.attach(model).map_err(seen) {
        Ok(joined) => {
            assert_eq!(poses, model.num_joints());
            assert_eq!(joined.frames().len(), len);
            joined.validate().unwrap().iter().for_each(assert_finding);
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Mismatch),
    }
}

fn anims(model: &Model) {
    for anim in model.anims().take(MOST) {
        assert!(anim.frames().end <= model.frames().len() && anim.frames().start <= anim.frames().end);
        assert!(model.anim(anim.name.as_bytes()).is_some());
        assert_text(&anim.name);
        for seconds in [-1.0, 0.0, 0.3, 1e9, f64::MAX, f64::NAN] {
            if let Some((from, to, fraction)) = anim.frames_at(seconds, 24.0) {
                assert!(anim.frames().contains(&from) && anim.frames().contains(&to), "{anim:?} {seconds}");
                assert!((0.0..=1.0).contains(&fraction), "{anim:?} {seconds} {fraction}");
            }
        }
    }
}

fn extensions(model: &Model) {
    for extension in model.extensions().take(MOST) {
        assert!(model.extension(extension.name.as_bytes()).unwrap().is_some());
        assert_text(&extension.name);
    }
    if let Some(meshes) = model.fte_meshes().unwrap() {
        assert_eq!(meshes.len(), model.meshes().len());
    }
    match model.fte_events().map_err(seen) {
        Ok(events) => events.iter().take(MOST).for_each(|event| assert_text(&event.evdata)),
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::LimitExceeded), "{error}");
        }
    }
    match model.fte_skins().map_err(seen) {
        Ok(skins) => skins.iter().for_each(|skins| assert_eq!(skins.numskins.len(), model.meshes().len())),
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::LimitExceeded), "{error}");
        }
    }
}

fn meshes(model: &Model, findings: &[Finding]) {
    let wrong = findings.iter().any(|finding| finding.what == finding::INDEX_OUT_OF_RANGE);
    let count = model.meshes().len();
    assert!(model.mesh_view(count).unwrap().is_none());
    let mut looked_at = 0;
    for (index, mesh) in model.meshes().enumerate().take(MOST) {
        assert_text(&mesh.name);
        assert_text(&mesh.material);
        match model.mesh_view(index).map_err(seen) {
            Ok(view) => {
                let view = view.expect("the mesh is listed");
                assert_eq!(*view.mesh(), mesh);
                looked_at += assert_mesh(&view);
            }
            Err(error) => assert!(wrong && error.kind() == ErrorKind::Malformed, "{error}"),
        }
        if looked_at > MOST_BYTES {
            break;
        }
    }
}

/// What a renderer relies on. Returns the bytes that were looked at.
pub(crate) fn assert_mesh(view: &dyn MeshView) -> usize {
    view.findings().iter().for_each(assert_finding);
    let vertices = view.vertex_count();
    let _ = view.name();
    let indices = view.indices().unwrap();
    assert!(indices.iter().all(|index| (index as usize) < vertices), "an index of {vertices} or more");
    let count = indices.len();
    assert!(indices.triangles().len() * 3 == count && indices.is_empty() == (count == 0));
    assert_eq!(indices.to_vec().len(), indices.len());
    let stored = indices.stored().map(Array::len).or(indices.stored_u16().map(Array::len));
    assert_eq!(stored, Some(indices.len()));
    let mut looked_at = indices.len() * 4;
    for format in [IndexFormat::Uint16, IndexFormat::Uint32] {
        let mut next = 0;
        let written = indices.write_chunks(format, |offset, bytes| {
            assert_eq!(offset, next);
            next += bytes.len();
        });
        match (format, written.map_err(seen)) {
            (IndexFormat::Uint32, written) => assert!(written.is_ok() && next == indices.len() * 4),
            (_, Ok(())) => assert_eq!(next, indices.len() * 2),
            (_, Err(error)) => assert!(error.kind() == ErrorKind::OutOfRange && vertices > 1 << 16),
        }
    }
    for info in view.attributes().into_iter().take(MOST) {
        let attribute = view.attribute(&info.semantic).unwrap().expect("the attribute is listed");
        assert_eq!(attribute.len(), vertices, "{info:?}");
        assert_line(&info.format.to_string());
        looked_at += attribute.as_bytes().len();
        if looked_at > MOST_BYTES {
            break;
        }
        assert_attribute(&attribute);
    }
    assert!(view.attribute(&Semantic::TexCoord(u32::MAX)).unwrap().is_none());
    let _ = view.bounds().unwrap();
    looked_at
}

/// The same numbers, bit by bit: NaN among them.
fn assert_same(a: &[Trs], b: &[Trs]) {
    let bits = |trs: &Trs| {
        let numbers = trs.translate.iter().chain(&trs.rotate).chain(&trs.scale);
        numbers.map(|number| number.to_bits()).collect::<Vec<_>>()
    };
    assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| bits(a) == bits(b)));
}

/// The error, whose message is one line.
pub(crate) fn seen(error: Error) -> Error {
    assert_line(&error.to_string());
    error.address().into_iter().for_each(assert_address);
    assert!(error.byte_range().is_none_or(|range| range.start <= range.end), "{error}");
    error
}

/// A finding that can be shown in one line.
pub(crate) fn assert_finding(finding: &Finding) {
    assert_line(finding.what);
    assert_line(&finding.detail);
    finding.address.iter().for_each(assert_address);
    assert!(finding.byte_range.as_ref().is_none_or(|range| range.start <= range.end), "{finding:?}");
}

fn assert_address(address: &Address) {
    let text = address.to_string();
    assert_line(&text);
    assert_eq!(text.parse::<Address>().unwrap(), *address);
}

fn assert_text(text: &Text) {
    assert!(text.to_str().is_none_or(|text_| text_ == text.to_string_lossy()));
    assert_eq!(text.is_empty(), text.as_bytes().is_empty());
    let _ = format!("{text} {text:?}");
}

fn assert_line(text: &str) {
    assert!(!text.chars().any(char::is_control), "{text:?}");
}

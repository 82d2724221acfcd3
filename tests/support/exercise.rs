//! Calls everything that a user can call on a file, for tests that ask that nothing panics.

use meshmap::cgeo::{self, MeshBuffer, Proxy, Wrap};
use meshmap::iqm::{self, Model, Normalization, Trs};
use meshmap::tmf::{CustomValues, Document, Packed, PackedElement};
use meshmap::{
    Attribute, Error, Finding, IndexFormat, Limits, MeshFile, MeshView, Options, Parallelism, Result,
    Scratch, Source, Strictness, VertexFormat,
};

/// As many of anything are looked at, so that a file of a million empty meshes is done soon.
const FIRST: usize = 32;

/// Opens the bytes as every format, tolerantly and strictly, and calls everything on what opens.
///
/// Returns whether the bytes are a file that opens.
pub(crate) fn bytes(bytes: &[u8]) -> bool {
    let limits = Limits::default().with_max_block_bytes(1 << 20);
    let options = Options::default().with_limits(limits).with_parallelism(Parallelism::Off);
    let source = Source::from_bytes(bytes.to_vec());
    let strict = MeshFile::from_source(source.clone(), &options.with_strictness(Strictness::Strict));
    if let Ok(file) = &strict {
        let findings = file.validate().expect("memory can always be read");
        assert!(findings.iter().all(|finding| !finding.forbidden), "{findings:?}");
    }
    match MeshFile::from_source(source, &options) {
        Err(error) => {
            assert!(strict.is_err(), "strict reading is never the more tolerant");
            check_error(&error);
            false
        }
        Ok(file) => {
            mesh_file(&file);
            match &file {
                MeshFile::CGeo(proxy) => cgeo(proxy),
                MeshFile::Iqm(model) => iqm(model),
                MeshFile::Tmf(document) => tmf(document),
                _ => {}
            }
            true
        }
    }
}

fn check_error(error: &Error) {
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    assert!(!error.what().is_empty());
    let _ = (error.kind(), error.format(), error.address(), error.byte_range(), format!("{error:?}"));
}

fn check<T>(result: Result<T>) -> Option<T> {
    result.inspect_err(check_error).ok()
}

fn check_findings(findings: &[Finding]) {
    for finding in findings {
        assert!(!finding.what.is_empty() && !finding.detail.is_empty());
        assert!(finding.tolerated || finding.forbidden);
    }
}

fn mesh_file(file: &MeshFile) {
    check_findings(file.findings());
    let listed = file.validate().unwrap();
    check_findings(&listed);
    for item in file.items() {
        assert_eq!(item.address.to_string().parse::<meshmap::Address>().unwrap(), item.address);
        assert_eq!(item.range.end - item.range.start, item.stored);
    }
    for address in file.meshes().iter().take(FIRST) {
        let Some(mesh) = check(file.mesh(address)) else { continue };
        mesh_view(&*mesh);
    }
}

fn mesh_view(mesh: &dyn MeshView) {
    let _ = mesh.name();
    check_findings(mesh.findings());
    let indices = mesh.indices().unwrap();
    assert!(indices.iter().all(|index| (index as usize) < mesh.vertex_count()));
    assert_eq!(indices.triangles().len() * 3, indices.len());
    for format in [IndexFormat::Uint16, IndexFormat::Uint32] {
        let mut end = 0;
        let written = indices.write_chunks(format, |offset, bytes| {
            assert_eq!(offset, end);
            end += bytes.len();
        });
        check(written);
    }
    for info in mesh.attributes().into_iter().take(FIRST) {
        // Integers of more bits than an attribute has are an error that only decoding shows.
        let Some(attribute) = check(mesh.attribute(&info.semantic)) else { continue };
        let attribute = attribute.unwrap();
        assert_eq!(attribute.len(), mesh.vertex_count());
        self::attribute(&attribute);
    }
    let _ = mesh.bounds().unwrap();
}

fn attribute(attribute: &Attribute) {
    let _ = (attribute.to_f32x3(), attribute.to_f32::<4>(), attribute.bounds(), attribute.slice(0..1));
    let same = attribute.format();
    for format in [same, VertexFormat::FLOAT32X3, VertexFormat::FLOAT32X4, VertexFormat::UINT16X4] {
        for stride in [format.size(), format.size() + 3] {
            let mut end = 0;
            let written = attribute.write_chunks(format, stride, |offset, bytes| {
                assert!(offset >= end);
                end = offset + bytes.len();
            });
            check(written);
        }
    }
}

fn iqm(model: &Model) {
    let _ = (
        model.version(),
        model.flags(),
        model.header(),
        model.text(),
        model.num_vertexes(),
        model.num_joints(),
    );
    check(model.check_indices());
    for mesh in model.meshes().take(FIRST) {
        let _ = (mesh.name.to_string_lossy(), mesh.material.to_str());
    }
    for (index, array) in model.vertex_arrays().enumerate().take(FIRST) {
        attribute(&model.vertex_array(index).unwrap());
        assert!(model.vertex_array_of(&array.kind).unwrap().is_some());
        for normalization in [Normalization::Raw, Normalization::Sdk, Normalization::WebGpu] {
            let count = model.num_vertexes() as usize * array.size as usize;
            assert_eq!(model.vertex_array_f32(index, normalization).unwrap().len(), count);
        }
    }
    let _ =
        (check(model.positions()), check(model.texcoords()), check(model.normals()), check(model.tangents()));
    let _ = (check(model.blend_indexes()), check(model.blend_weights()), check(model.colors()));
    let _ = (model.triangles().unwrap(), model.adjacency().unwrap(), model.bounds().unwrap());
    let _ = (model.custom_array("").unwrap(), model.comment().unwrap(), model.comment_to_end().unwrap());
    for joint in model.joints().take(FIRST) {
        assert!(model.joint_index(joint.name.as_bytes()).is_some());
    }
    for anim in model.anims().take(FIRST) {
        assert!(model.anim(anim.name.as_bytes()).is_some());
        assert!(anim.frames().end <= model.frames().len());
        if let Some((from, to, fraction)) = anim.frames_at(0.75, 10.0) {
            assert!(
                anim.frames().contains(&from)
                    && anim.frames().contains(&to)
                    && (0.0..1.0).contains(&fraction)
            );
        }
    }
    frames(model);
    extensions(model);
}

fn frames(model: &Model) {
    let frames = model.frames();
    let mut pose = vec![Trs::default(); frames.poses()];
    assert!(frames.frame_into(frames.len(), &mut pose).is_err());
    assert!(frames.pose(0, frames.poses()).is_err());
    for frame in (0..frames.len()).take(FIRST) {
        frames.frame_into(frame, &mut pose).unwrap();
        for (index, trs) in pose.iter().enumerate().take(FIRST) {
            let alone = frames.pose(frame, index).unwrap();
            assert_eq!(format!("{alone:?}"), format!("{trs:?}"));
        }
        frames.interpolate_into(frame, 0, 0.5, &mut pose).unwrap();
    }
    check(frames.to_vec());

    let parents: Vec<_> = model.poses().map(|pose| pose.parent).collect();
    let mut matrices = vec![iqm::IDENTITY; parents.len()];
    iqm::world_matrices(&parents, &pose, &mut matrices).unwrap();
    if let Some(skeleton) = model.skeleton() {
        check(skeleton.skinning_matrices(&pose));
        assert_eq!(skeleton.len(), model.num_joints());
    }
    check(model.attach(model));
}

fn extensions(model: &Model) {
    for extension in model.extensions().take(FIRST) {
        assert!(model.extension(extension.name.as_bytes()).unwrap().is_some());
    }
    let _ = (check(model.fte_meshes()), check(model.fte_events()), check(model.fte_skins()));
}

fn cgeo(proxy: &Proxy) {
    let _ =
        (proxy.version(), proxy.object_name(), proxy.material_name(), proxy.date_created(), proxy.scale());
    let _ =
        (proxy.flags(), proxy.compressed(), proxy.unit_length(), proxy.dialect().to_string(), proxy.timing());
    let _ = (proxy.properties().iter().count(), proxy.properties().text());
    assert!(proxy.snapshot(proxy.len()).is_err());
    let (mut mesh, mut scratch) = (MeshBuffer::default(), Scratch::default());
    for index in 0..proxy.len().min(FIRST) {
        let Some(snapshot) = check(proxy.snapshot(index)) else { continue };
        let _ = (check(snapshot.sections()), check(snapshot.bounding_box()), check(snapshot.point_cloud()));
        let _ = (check(snapshot.counts()), check(snapshot.topology()), check(snapshot.samples()));
        let _ = (check(snapshot.raw_section(cgeo::raw::TAG_MESH_DATA)), snapshot.time(), snapshot.range());
        let parts = (check(snapshot.positions()), check(snapshot.normals()), check(snapshot.triangles()));
        if check(snapshot.mesh_into(&mut mesh, &mut scratch)).is_none() {
            continue;
        }
        // What the whole mesh has, its parts have.
        let (Some(positions), Some(normals), Some(triangles)) = parts else {
            panic!("a part of a good mesh is bad")
        };
        assert!(positions.len() == mesh.positions.len() && normals.len() == mesh.normals.len());
        assert_eq!(triangles.as_bytes(), mesh.triangles.as_bytes());
        assert_eq!(triangles.iter().len(), triangles.len());
        for channel in 0..mesh.map_channels.len().min(FIRST) {
            assert_eq!(snapshot.map_channel(channel).unwrap().len(), mesh.map_channels[channel].len());
            let _ = triangles.map_channel(channel);
        }
        let _ = (triangles.material_ids(), triangles.edge_visibility(), triangles.get(0));
        check(proxy.velocities(index, &mut mesh.positions, &mut scratch));
        check(proxy.positions_at(&[0.01, 0.05], Wrap::Loop, &mut mesh.positions, &mut scratch));
    }
}

fn tmf(document: &Document) {
    let _ = (document.header(), document.file_layout(), document.source());
    for mesh in document.meshes().take(FIRST) {
        assert!(document.mesh_named(mesh.name().as_bytes()).is_some());
        assert!(mesh.segments().all(|segment| segment.data.end == segment.range.end));
        packed(mesh.vertices());
        packed(mesh.normals());
        packed(mesh.uvs());
        packed(mesh.tangents());
        packed(mesh.vertex_triangles());
        packed(mesh.normal_triangles());
        packed(mesh.uv_triangles());
        packed(mesh.tangent_triangles());
        check(mesh.triangles());
        for custom in check(mesh.custom()).unwrap_or_default().into_iter().take(FIRST) {
            match custom.values {
                CustomValues::Index(values) | CustomValues::Integer(values) => packed(Some(values)),
                CustomValues::Float(values) => packed(Some(values)),
                CustomValues::ColorRgba(values) => packed(Some(values)),
                _ => {}
            }
        }
        check(mesh.load());
    }
}

/// Elements on their own are those of the whole array.
fn packed<T: PackedElement + std::fmt::Debug>(array: Option<Packed<T>>) {
    let Some(array) = array else { return };
    let _ = (array.address(), array.ranges().len(), array.precisions().len());
    let Some(whole) = check(array.decode()) else { return };
    assert_eq!(whole.len(), array.len());
    let ends = (0..whole.len()).take(FIRST).chain(whole.len().saturating_sub(FIRST)..whole.len());
    for index in ends {
        let alone = array.get(index).unwrap();
        assert_eq!(format!("{alone:?}"), format!("{:?}", whole.get(index)));
    }
    assert_eq!(array.iter().count(), whole.len());
}

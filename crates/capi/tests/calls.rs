//! Every function gives what the library gives.
#![allow(unsafe_code, unused_unsafe, reason = "C functions are called")]

#[macro_use]
mod support;

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use meshmap::cgeo::{Dialect, Parts, Proxy, Timing, VertexWriter, Wrap};
use meshmap::iqm::{Model, Trs};
use meshmap::{Array, ArrayData, MeshFile, Role, Scratch, Semantic, VertexFormat, VertexLayout};
use meshmap_capi::*;
use meshmap_testing::{data, fixtures, test_files};
use support::*;

#[test]
fn versions_names_and_sizes_are_told() {
    assert_eq!(text(mm_version()), env!("CARGO_PKG_VERSION"));
    assert_eq!(text(mm_format_name(MM_FORMAT_SLMESH)), "slmesh");
    assert_eq!(text(mm_format_name(77)), "unknown");
    assert_eq!(
        (
            mm_scalar_size(MM_SCALAR_F64),
            mm_scalar_size(MM_SCALAR_I8),
            mm_scalar_size(0)
        ),
        (8, 1, 0)
    );
    let statuses = [MM_OK, MM_ABSENT].into_iter().chain(10..19).chain(30..36);
    let names: std::collections::HashSet<String> =
        statuses.map(|s| text(mm_status_name(s))).collect();
    assert!(
        names.len() == 17 && !names.contains("unknown status"),
        "{names:?}"
    );
    assert_eq!(text(mm_status_name(-1)), "unknown status");
}

#[test]
fn meshes_are_those_of_the_library() {
    for path in valid_files(&data::root()) {
        let ours = MeshFile::open(&path).unwrap();
        let file = open(&path);
        let mut format = 0;
        ok!(mm_file_format(file, &raw mut format));
        assert_eq!(text(mm_format_name(format)), ours.format().name());

        let (mut list, mut count) = (null_mut(), 0);
        ok!(mm_meshes(file, &raw mut list));
        ok!(mm_mesh_list_count(list, &raw mut count));
        let entries: Vec<_> = ours.meshes().unwrap().collect();
        assert_eq!(count, entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let mut found = sized::<mm_mesh_entry>();
            ok!(mm_mesh_list_get(list, index, &raw mut found));
            assert_eq!(text(found.address), entry.address.to_string());
            assert_eq!(
                text(found.name),
                entry.name.to_string_lossy().replace('\0', "\u{fffd}")
            );
            assert_eq!(found.is_drawn_by_default, entry.is_drawn_by_default());
            assert_eq!(found.has_counts, entry.counts.is_some());
            let counts = ours.counts(&entry.address).unwrap();
            let expected = (counts.vertices, counts.triangles, counts.has_positions);
            if found.has_counts {
                let found = (
                    found.vertex_count,
                    found.triangle_count,
                    found.has_positions,
                );
                assert_eq!(found, expected);
                assert!(counts.has_positions || !entry.is_drawn_by_default());
            }
            let mut read = sized::<mm_mesh_counts>();
            ok!(mm_mesh_get_counts(file, found.address, &raw mut read));
            assert_eq!(
                (read.vertex_count, read.triangle_count, read.has_positions),
                expected
            );
            let role = match entry.role {
                Role::Lod(level) => (MM_ROLE_LOD, u64::from(level)),
                Role::Physics => (MM_ROLE_PHYSICS, 0),
                Role::Snapshot { index, .. } => (MM_ROLE_SNAPSHOT, index),
                _ => (MM_ROLE_GEOMETRY, 0),
            };
            assert_eq!((found.role, found.role_index), role);
            mesh(file, &ours, &entry.address.to_string());
        }
        assert_eq!(
            status!(mm_mesh_list_get(list, count, &mut sized())),
            MM_ERROR_OUT_OF_RANGE
        );
        assert_eq!(mm_mesh_list_free(list), MM_OK);

        for validates in [false, true] {
            let (mut list, mut count) = (null_mut(), 0);
            let expected = if validates {
                ok!(mm_validate(file, &raw mut list));
                ours.validate().unwrap()
            } else {
                ok!(mm_findings(file, &raw mut list));
                ours.findings().to_vec()
            };
            ok!(mm_finding_list_count(list, &raw mut count));
            assert_eq!(count, expected.len());
            for (index, finding) in expected.iter().enumerate() {
                let mut found = sized::<mm_finding>();
                ok!(mm_finding_list_get(list, index, &raw mut found));
                assert_eq!(text(found.rule), finding.rule.id);
                assert_eq!(
                    text(found.text),
                    finding.to_string().replace('\0', "\u{fffd}")
                );
                let range = found
                    .has_byte_range
                    .then_some(found.byte_begin..found.byte_end);
                assert_eq!(
                    (range, found.count),
                    (finding.byte_range.clone(), finding.count)
                );
                assert_eq!(found.severity, finding.severity() as u32 + 1);
            }
            assert_eq!(mm_finding_list_free(list), MM_OK);
        }
        assert_eq!(mm_close(file), MM_OK);
    }
}

/// One mesh, all of it.
fn mesh(file: *mut mm_file, ours: &MeshFile, address: &str) {
    let view = ours.mesh(&address.parse().unwrap()).unwrap();
    let address = CString::new(address).unwrap();
    let mut mesh = null_mut();
    ok!(mm_mesh_at(file, address.as_ptr(), &raw mut mesh));
    let mut info = sized::<mm_mesh_info>();
    ok!(mm_mesh_get_info(mesh, &raw mut info));
    assert_eq!(
        (info.vertex_count, info.index_count),
        (view.vertex_count(), view.indices().len())
    );
    assert_eq!(info.attribute_count, view.attributes().len());
    assert_eq!(text(info.material), view.material().unwrap_or_default());
    assert_eq!(info.has_material_ids, view.material_ids().is_some());

    let mut bounds = mm_bounds::default();
    match (
        status!(mm_mesh_bounds(mesh, &raw mut bounds)),
        view.bounds().unwrap(),
    ) {
        (MM_ABSENT, None) => {}
        (MM_OK, Some(expected)) => {
            assert_eq!((bounds.min, bounds.max), (expected.min, expected.max))
        }
        other => panic!("{other:?}"),
    }
    let (mut findings, mut count) = (null_mut(), 0);
    ok!(mm_mesh_findings(mesh, &raw mut findings));
    ok!(mm_finding_list_count(findings, &raw mut count));
    assert_eq!(count, view.findings().len());
    assert_eq!(mm_finding_list_free(findings), MM_OK);

    for (index, expected) in view.attributes().iter().enumerate() {
        let mut found = sized::<mm_attribute_info>();
        ok!(mm_mesh_attribute(mesh, index, &raw mut found));
        assert_eq!(
            (found.components, found.normalized),
            (expected.format.components, expected.format.normalized)
        );
        let mut at = usize::MAX;
        let name = if found.semantic == MM_SEMANTIC_CUSTOM {
            found.name
        } else {
            null()
        };
        ok!(mm_mesh_find_attribute(
            mesh,
            found.semantic,
            found.set,
            name,
            &raw mut at
        ));
        assert_eq!(view.attributes()[at].semantic, expected.semantic);
        if at != index {
            continue;
        }
        let attribute = view.attribute(&expected.semantic).unwrap().unwrap();
        let mut info = sized::<mm_array_info>();
        ok!(mm_mesh_attribute_view(mesh, index, &raw mut info));
        assert_eq!(
            (info.shape[0] as usize, text(info.address)),
            (attribute.len(), text(found.name))
        );
        // SAFETY: the mesh is not freed yet.
        assert_eq!(unsafe { shown(&info) }, attribute.as_bytes());
        for stride in [0, 16, 19] {
            let read = all::<[f32; 3]>(stride, |out, stride, capacity, count| {
                let (scalar, out) = (MM_SCALAR_F32, out.cast());
                status!(mm_mesh_read_attribute(
                    mesh, index, scalar, 3, 0, out, stride, capacity, count
                ))
            });
            let bits = |triples: &[[f32; 3]]| -> Vec<u32> {
                triples
                    .as_flattened()
                    .iter()
                    .map(|number| number.to_bits())
                    .collect()
            };
            assert_eq!(
                bits(&read.unwrap()),
                bits(&attribute.to_f32::<3>()),
                "{address:?}"
            );
        }
    }
    let mut at = 0;
    assert_eq!(
        status!(mm_mesh_find_attribute(
            mesh,
            MM_SEMANTIC_TEXCOORD,
            99,
            null(),
            &raw mut at
        )),
        MM_ABSENT
    );

    let layout = VertexLayout::new()
        .with_default(Semantic::Position, VertexFormat::FLOAT32X3, [0.0; 4])
        .with_default(
            Semantic::Normal,
            VertexFormat::SNORM8X4,
            [0.0, 0.0, 1.0, 0.0],
        )
        .with_default(Semantic::TexCoord(0), VertexFormat::FLOAT16X2, [0.5; 4]);
    let mut attributes = [
        (
            attribute(MM_SEMANTIC_POSITION, MM_SCALAR_F32, 3, 0),
            [0.0; 4],
        ),
        (
            attribute(MM_SEMANTIC_NORMAL, MM_SCALAR_I8, 4, 1),
            [0.0, 0.0, 1.0, 0.0],
        ),
        (
            attribute(MM_SEMANTIC_TEXCOORD, MM_SCALAR_F16, 2, 0),
            [0.5; 4],
        ),
    ]
    .map(|(attribute, default_value)| mm_layout_attribute {
        has_default: 1,
        default_value,
        ..attribute
    });
    let mut stride = 0;
    ok!(mm_layout_resolve(
        attributes.as_mut_ptr(),
        3,
        &raw mut stride
    ));
    assert_eq!(stride, layout.stride());
    let mut expected = Vec::new();
    view.write_interleaved(&layout, |_, bytes| expected.extend_from_slice(bytes))
        .unwrap();
    let written = all::<u8>(0, |out, _, capacity, bytes| {
        status!(mm_mesh_write_interleaved(
            mesh,
            attributes.as_ptr(),
            3,
            0,
            out.cast(),
            capacity,
            bytes
        ))
    });
    assert_eq!(written.unwrap(), expected);

    let (mut expected, mut format) = (Vec::new(), 0);
    view.indices()
        .write_narrowest(|_, bytes| expected.extend_from_slice(bytes))
        .unwrap();
    let written = all::<u8>(0, |out, _, capacity, bytes| {
        status!(mm_mesh_write_indices(
            mesh,
            MM_INDEX_NARROWEST,
            out.cast(),
            capacity,
            bytes,
            &raw mut format
        ))
    });
    assert_eq!(written.unwrap(), expected);
    let corners = all::<[u32; 3]>(20, |out, stride, capacity, count| {
        status!(mm_mesh_triangles(mesh, out.cast(), stride, capacity, count))
    });
    assert_eq!(corners.unwrap().into_flattened(), view.indices().to_vec());

    let mut sorted = null_mut();
    ok!(mm_mesh_by_material(mesh, &raw mut sorted));
    for (mesh, view) in [(mesh, &view), (sorted, &view.by_material().unwrap())] {
        let groups = all::<[u64; 4]>(0, |out, _, capacity, count| {
            status!(mm_mesh_groups(mesh, out.cast(), 0, capacity, count))
        });
        let groups: Vec<(u32, u64, u64)> = groups
            .unwrap()
            .iter()
            .map(|group| (group[0] as u32, group[2], group[3]))
            .collect();
        let expected = view.groups().map(|group| {
            (
                group.material,
                group.triangles.start as u64,
                group.triangles.len() as u64,
            )
        });
        assert_eq!(groups, expected.collect::<Vec<_>>());
        let ids = all::<u32>(8, |out, stride, capacity, count| {
            status!(mm_mesh_material_ids(mesh, out, stride, capacity, count))
        });
        assert_eq!(ids.ok(), view.material_ids().map(|ids| ids.to_vec()));
    }
    let mut again = null_mut();
    ok!(mm_mesh_ref(mesh, &raw mut again));
    for mesh in [mesh, sorted, again] {
        assert_eq!(mm_mesh_free(mesh), MM_OK);
    }
}

#[test]
fn snapshots_are_those_of_the_library() {
    for path in data::folder("cgeo/valid") {
        for file in [open(&path), map(&path, Some(&options(MM_PARALLELISM_OFF)))] {
            let ours = Proxy::open(&path).unwrap();
            let (scratch, place) = (scratch(), place());
            let mut info = sized::<mm_cgeo_info>();
            ok!(mm_cgeo_get_info(file, &raw mut info));
            assert_eq!(
                (info.snapshot_count, info.flags),
                (ours.snapshot_count(), ours.flags())
            );
            assert_eq!(info.dialect_is_found, ours.dialect_is_found());
            assert_eq!(
                info.unit_millimeters,
                ours.unit_length().map_or(0.0, |unit| unit.millimeters)
            );
            let name = c"original OBJECT name".as_ptr();
            let found = all::<u8>(0, |out, _, capacity, length| {
                let status = status!(mm_cgeo_property(file, name, out.cast(), capacity, length));
                // SAFETY: `all` has a place for it. The byte 0 is counted here.
                unsafe { *length += usize::from(status != MM_ABSENT) };
                status
            });
            let expected = ours
                .object_name()
                .map(|name| [name.to_string_lossy().as_bytes(), b"\0"].concat());
            assert_eq!(found.ok(), expected);
            let mut length = 0;
            ok!(mm_cgeo_property(
                file,
                null(),
                null_mut(),
                0,
                &raw mut length
            ));
            assert_eq!(length, ours.properties().text().to_string_lossy().len());
            (0..ours.snapshot_count())
                .for_each(|index| snapshot(file, &ours, index, scratch, place));
            times(file, &ours, scratch);
            assert_eq!(
                (
                    mm_scratch_free(scratch),
                    mm_snapshot_free(place),
                    mm_close(file)
                ),
                (MM_OK, MM_OK, MM_OK)
            );
        }
    }
}

/// One snapshot, array by array and as a whole.
fn snapshot(
    file: *mut mm_file,
    ours: &Proxy,
    index: usize,
    scratch: *mut mm_scratch,
    place: *mut mm_snapshot,
) {
    let expected = ours.snapshot(index).unwrap();
    let mut counts = sized::<mm_cgeo_counts>();
    if status!(mm_cgeo_get_counts(file, index, scratch, &raw mut counts)) != MM_OK {
        assert!(expected.counts(&mut Scratch::default()).is_err());
        return;
    }
    assert_eq!(
        counts.vertices,
        expected.counts(&mut Scratch::default()).unwrap().vertices
    );
    let (mut complete, mut samples) = (7, 0);
    ok!(mm_cgeo_storage(
        file,
        index,
        scratch,
        &raw mut complete,
        &raw mut samples
    ));
    assert_eq!(
        complete == 1,
        expected.is_complete(&mut Scratch::default()).unwrap()
    );
    assert_eq!(samples, expected.samples(&mut Scratch::default()).unwrap());
    let (mut topology, mut first) = (mm_topology::default(), mm_topology::default());
    ok!(mm_cgeo_topology(file, index, scratch, &raw mut topology));
    ok!(mm_cgeo_topology(file, 0, scratch, &raw mut first));
    let same = ours
        .snapshot(0)
        .unwrap()
        .topology(&mut Scratch::default())
        .unwrap()
        == expected.topology(&mut Scratch::default()).unwrap();
    assert_eq!(topology == first, same);

    let mesh = expected.mesh(Parts::ALL).unwrap();
    let mut info = sized::<mm_snapshot_info>();
    ok!(mm_snapshot_read(
        file,
        index,
        0,
        MM_PARTS_ALL,
        scratch,
        place
    ));
    ok!(mm_snapshot_get_info(place, &raw mut info));
    assert_eq!(
        (info.topology, info.is_complete),
        (topology, mesh.is_complete)
    );
    assert_eq!(
        [
            info.vertices,
            info.normals,
            info.texcoord_sets,
            info.triangles
        ],
        [
            counts.vertices,
            counts.normals,
            counts.texcoord_sets,
            counts.triangles
        ]
    );
}

/// Times, keys, and what moves.
fn times(file: *mut mm_file, ours: &Proxy, scratch: *mut mm_scratch) {
    let mut own = sized::<mm_timing>();
    match (status!(mm_cgeo_timing(file, &raw mut own)), ours.timing()) {
        (MM_ABSENT, None) => {
            assert_eq!(
                status!(mm_cgeo_time_of(file, null(), 0, &raw mut own.start)),
                MM_ERROR_ARGUMENT
            )
        }
        (MM_OK, Some(timing)) => assert_eq!((own.start, own.step), (timing.start(), timing.step())),
        other => panic!("{other:?}"),
    }
    let step = mm_timing {
        clock: MM_CLOCK_STEP,
        start: 0.25,
        step: 0.5,
        ..sized()
    };
    let rate = mm_timing {
        clock: MM_CLOCK_RATE,
        start: 0.25,
        rate: 30.0,
        ..sized()
    };
    let both = [
        (step, Timing::new(0.25, 0.5, ours.snapshot_count())),
        (
            rate,
            Timing::new(0.25, 0.0, ours.snapshot_count()).with_rate(30.0),
        ),
    ];
    let cache = cache(64 << 20);
    for (timing, expected) in both {
        let mut seconds = 0.0;
        ok!(mm_cgeo_time_of(
            file,
            &raw const timing,
            2,
            &raw mut seconds
        ));
        assert_eq!(seconds, expected.time_of(2));
        let open = expected.time_of(0) + expected.step() * 0.5;
        let close = open + expected.step() * 1.75;
        for (number, wrap) in [
            (MM_WRAP_CLAMP, Wrap::Clamp),
            (MM_WRAP_LOOP, Wrap::Loop),
            (MM_WRAP_PING_PONG, Wrap::PingPong),
        ] {
            let mut key = mm_cgeo_key::default();
            let found = status!(mm_cgeo_key_at(
                file,
                &raw const timing,
                close,
                number,
                &raw mut key
            ));
            match expected.index_at(close, wrap) {
                None => assert_eq!(found, MM_ABSENT),
                Some(found) => {
                    assert_eq!(
                        (key.from, key.to, key.fraction),
                        (found.from, found.to, found.fraction)
                    )
                }
            }
            let keys = all(24, |out: *mut f64, stride, capacity, count| {
                let timing = &raw const timing;
                status!(mm_cgeo_keys(
                    file, timing, open, close, number, scratch, out, stride, capacity, count
                ))
            });
            let keys = keys.unwrap();
            assert_eq!(keys, expected.keys(open, close, wrap).unwrap());

            let mut moving = Vec::new();
            let moves =
                ours.positions_at(&expected, &keys, wrap, &mut moving, &mut Scratch::default());
            for cached in [null_mut(), cache] {
                let mut call = |out: *mut [f32; 3], stride, capacity, count| {
                    let (timing, out) = (&raw const timing, out.cast());
                    let (first, many) = (keys.as_ptr(), keys.len());
                    status!(mm_cgeo_positions_at(
                        file, timing, first, many, number, cached, scratch, out, stride, capacity,
                        count
                    ))
                };
                match &moves {
                    Ok(()) => assert_eq!(all(16, &mut call).unwrap(), moving),
                    Err(_) => {
                        let (mut out, mut count) = (vec![[0.0; 3]; 4096], 0);
                        assert!(
                            call(out.as_mut_ptr(), 0, 4096, &raw mut count)
                                >= MM_ERROR_UNKNOWN_FORMAT
                        );
                    }
                }
            }
        }
        let mut expected_speeds = Vec::new();
        let has = ours.velocities(&expected, 1, &mut expected_speeds, &mut Scratch::default());
        for cached in [null_mut(), cache] {
            let (mut out, mut count) = (vec![[0.0_f32; 3]; expected_speeds.len() + 1], 0);
            let (start, room, timing) = (out.as_mut_ptr().cast(), out.len(), &raw const timing);
            let found = status!(mm_cgeo_velocities(
                file,
                timing,
                1,
                cached,
                scratch,
                start,
                0,
                room,
                &raw mut count
            ));
            assert_eq!(found == MM_OK, has.is_ok());
            if has.is_ok() {
                assert_eq!(out[..count], expected_speeds);
            }
        }
    }
    assert_eq!(mm_cache_free(cache), MM_OK);
}

#[test]
fn vertices_are_written_as_the_library_writes_them() {
    let path = data::valid("cgeo", "anim_a.cgeo");
    let (file, mut writer, proxy) = (open(&path), null_mut(), Proxy::open(&path).unwrap());
    let attributes = [
        attribute(MM_SEMANTIC_POSITION, MM_SCALAR_F32, 3, 0),
        attribute(MM_SEMANTIC_NORMAL, MM_SCALAR_I8, 4, 1),
        mm_layout_attribute {
            name: c"velocity".as_ptr(),
            has_default: 1,
            ..attribute(MM_SEMANTIC_CUSTOM, MM_SCALAR_F32, 3, 0)
        },
    ];
    ok!(mm_vertex_writer_new(
        attributes.as_ptr(),
        3,
        32,
        &raw mut writer
    ));
    let layout = VertexLayout::new()
        .with(Semantic::Position, VertexFormat::FLOAT32X3)
        .with(Semantic::Normal, VertexFormat::SNORM8X4)
        .with_default(
            Semantic::Custom("velocity".into()),
            VertexFormat::FLOAT32X3,
            [0.0; 4],
        )
        .with_stride(32);
    let mut ours = VertexWriter::new(layout).unwrap();
    let remap = ours.remap(&proxy.snapshot(2).unwrap()).unwrap();
    let mut vertices = 0;
    let indices = all(16, |out: *mut u32, stride, capacity, count| {
        status!(mm_vertex_writer_indices(
            writer,
            file,
            2,
            out,
            stride,
            capacity,
            count,
            &raw mut vertices
        ))
    });
    assert_eq!(
        (indices.unwrap().as_slice(), vertices),
        (remap.indices(), remap.vertex_count())
    );

    let (timing, mut topology, mut bytes) = (proxy.timing().unwrap(), mm_topology::default(), 0);
    let seconds = timing.time_of(2) + timing.step() * 0.25;
    let mut expected = vec![0; vertices * 32];
    for is_between in [false, true] {
        let mut write = |out: *mut u8, capacity| {
            let (out, bytes, topology) = (out.cast(), &raw mut bytes, &raw mut topology);
            if is_between {
                let (own, wrap) = (null(), MM_WRAP_LOOP);
                status!(mm_vertex_writer_write_at(
                    writer, file, own, seconds, wrap, out, capacity, bytes, topology
                ))
            } else {
                status!(mm_vertex_writer_write(
                    writer, file, 2, out, capacity, bytes, topology
                ))
            }
        };
        let mut out = vec![7; vertices * 32 + 1];
        assert_eq!(write(null_mut(), 0), MM_OK);
        assert_eq!(write(out.as_mut_ptr(), vertices * 32 - 1), MM_ERROR_BUFFER);
        assert_eq!(write(out.as_mut_ptr(), usize::MAX), MM_OK);
        assert_eq!(bytes, vertices * 32);
        let id = if is_between {
            ours.write_at(&proxy, &timing, seconds, Wrap::Loop, &mut [&mut expected])
                .unwrap()
        } else {
            ours.write(&proxy.snapshot(2).unwrap(), &mut [&mut expected])
                .unwrap()
        };
        let mut own = mm_topology::default();
        ok!(mm_cgeo_topology(file, 2, null_mut(), &raw mut own));
        // Windows does not identify files: two open ones count as different ones.
        assert!(topology == own && (cfg!(windows) || topology == id.into()));
        assert!(out.pop() == Some(7) && out == expected);
    }

    let times = [seconds, timing.time_of(0), seconds + timing.step()];
    let mut outs = times.map(|_| vec![7; vertices * 32]);
    let places: [*mut c_void; 3] = outs.each_mut().map(|out| out.as_mut_ptr().cast());
    let write_many = |places: *const *mut c_void, capacity, count, bytes: *mut usize| {
        let (own, wrap, none) = (null(), MM_WRAP_LOOP, null_mut());
        status!(mm_vertex_writer_write_many_at(
            writer,
            file,
            own,
            times.as_ptr(),
            count,
            wrap,
            places,
            capacity,
            bytes,
            none
        ))
    };
    let (mut each, own) = (0, places.as_ptr());
    assert_eq!(write_many(null(), 0, 3, &raw mut each), MM_OK);
    assert_eq!(each, vertices * 32);
    assert_eq!(write_many(null(), 0, 3, null_mut()), MM_ERROR_ARGUMENT);
    assert_eq!(write_many(own, each, 0, null_mut()), MM_ERROR_ARGUMENT);
    assert_eq!(write_many(own, each - 1, 3, null_mut()), MM_ERROR_BUFFER);
    let inside = places[1].wrapping_byte_add(each - 1);
    let overlapping = [places[0], places[1], inside];
    let refused = write_many(overlapping.as_ptr(), each, 3, null_mut());
    assert_eq!(refused, MM_ERROR_ARGUMENT);
    let missing = [places[0], null_mut(), places[2]];
    let refused = write_many(missing.as_ptr(), each, 3, &raw mut each);
    assert_eq!(refused, MM_ERROR_ARGUMENT);
    assert_eq!(write_many(own, each, 3, null_mut()), MM_OK);
    for (time, out) in times.iter().zip(&outs) {
        ours.write_at(&proxy, &timing, *time, Wrap::Loop, &mut [&mut expected])
            .unwrap();
        assert!(*out == expected, "{time}");
    }

    let mut normals = Vec::new();
    proxy
        .normals_at(
            &timing,
            &[seconds],
            Wrap::Loop,
            &mut normals,
            &mut Scratch::default(),
        )
        .unwrap();
    let cache = cache(64 << 20);
    for cached in [null_mut(), cache] {
        let found = all(16, |out: *mut [f32; 3], stride, room, count| {
            let (own, at, wrap, none, out) = (
                null(),
                &raw const seconds,
                MM_WRAP_LOOP,
                null_mut(),
                out.cast(),
            );
            status!(mm_cgeo_normals_at(
                file, own, at, 1, wrap, cached, none, out, stride, room, count
            ))
        });
        assert_eq!(found.unwrap(), normals);
    }
    assert_eq!(mm_cache_free(cache), MM_OK);
    assert_eq!(
        (mm_vertex_writer_free(writer), mm_close(file)),
        (MM_OK, MM_OK)
    );
    assert_eq!(mm_vertex_writer_free(writer), MM_ERROR_HANDLE);
}

#[test]
fn caches_share_decode_once_and_tell_what_they_did() {
    let path = data::valid("cgeo", "anim_a.cgeo");
    let (file, cache, place, other) = (open(&path), cache(64 << 20), place(), support::place());
    assert_eq!(
        status!(mm_cache_try_get(cache, file, 3, MM_PARTS_ALL, place)),
        MM_ABSENT
    );
    assert_eq!(
        status!(mm_snapshot_get_info(place, &mut sized())),
        MM_ABSENT
    );
    ok!(mm_cache_get(cache, file, 3, MM_PARTS_ALL, place));
    let mut second = null_mut();
    ok!(mm_cache_ref(cache, &raw mut second));
    ok!(mm_cache_try_get(second, file, 3, MM_PARTS_ALL, other));
    let (mut a, mut b) = (sized::<mm_array_info>(), sized::<mm_array_info>());
    ok!(mm_snapshot_view(
        place,
        c"positions".as_ptr(),
        null_mut(),
        &raw mut a
    ));
    ok!(mm_snapshot_view(
        other,
        c"positions".as_ptr(),
        null_mut(),
        &raw mut b
    ));
    assert_eq!((a.data, a.shape), (b.data, b.shape));
    let stats_of = |cache| {
        let mut stats = sized::<mm_cache_stats>();
        ok!(mm_cache_get_stats(cache, &raw mut stats));
        stats
    };
    let stats = stats_of(cache);
    assert_eq!((stats.hits, stats.misses, stats.decodes), (1, 2, 1));

    // Only some parts, and then the others.
    let parts = MM_PARTS_POSITIONS | MM_PARTS_TRIANGLES;
    let of = |place: *mut mm_snapshot| {
        let mut info = sized::<mm_snapshot_info>();
        ok!(mm_snapshot_get_info(place, &raw mut info));
        (
            info.parts,
            info.vertices > 0,
            info.normals > 0,
            info.triangles > 0,
        )
    };
    assert_eq!(
        status!(mm_cache_try_get(cache, file, 7, parts, other)),
        MM_ABSENT
    );
    ok!(mm_cache_get(cache, file, 7, parts, place));
    ok!(mm_cache_try_get(cache, file, 7, MM_PARTS_POSITIONS, other));
    assert_eq!(of(place), (parts, true, false, true));
    assert_eq!(of(other), (parts, true, false, true));
    ok!(mm_cache_get(cache, file, 7, MM_PARTS_ALL, place));
    assert_eq!(of(place), (MM_PARTS_ALL, true, true, true));
    ok!(mm_snapshot_view(
        place,
        c"positions".as_ptr(),
        null_mut(),
        &raw mut a
    ));
    ok!(mm_snapshot_view(
        other,
        c"positions".as_ptr(),
        null_mut(),
        &raw mut b
    ));
    assert_eq!(a.data, b.data, "shared, not decoded again");
    let scratch = scratch();
    ok!(mm_snapshot_read(
        file,
        7,
        0,
        MM_PARTS_NORMALS | MM_PARTS_TEXCOORDS,
        scratch,
        place
    ));
    assert_eq!(
        of(place),
        (MM_PARTS_NORMALS | MM_PARTS_TEXCOORDS, false, true, false)
    );
    assert_eq!(mm_scratch_free(scratch), MM_OK);
    ok!(mm_cache_remove(cache, file));
    ok!(mm_cache_get(cache, file, 3, MM_PARTS_ALL, other));

    let before = stats_of(cache).decodes;
    ok!(mm_cache_prefetch(
        cache,
        file,
        [4_usize, 4000].as_ptr(),
        2,
        MM_PARTS_ALL
    ));
    ok!(mm_cache_prefetch(
        cache,
        file,
        [5_usize].as_ptr(),
        1,
        MM_PARTS_ALL
    ));
    ok!(mm_cache_get(cache, file, 4, MM_PARTS_ALL, place));
    ok!(mm_cache_get(cache, file, 5, MM_PARTS_ALL, place));
    assert_eq!(stats_of(cache).decodes, before + 2);
    ok!(mm_cache_remove(cache, file));
    assert_eq!(
        status!(mm_cache_try_get(cache, file, 3, MM_PARTS_ALL, place)),
        MM_ABSENT
    );
    // Shared data stays.
    let mut c = sized::<mm_array_info>();
    ok!(mm_snapshot_view(
        other,
        c"positions".as_ptr(),
        null_mut(),
        &raw mut c
    ));
    assert!(!c.data.is_null() && c.byte_length > 0);
    assert_eq!(mm_cache_clear(cache), MM_OK);
    assert_eq!(mm_cache_free(cache), MM_OK);
    ok!(mm_cache_get(second, file, 0, MM_PARTS_ALL, place));
    assert_eq!(mm_cache_free(second), MM_OK);
    assert_eq!(
        (
            mm_snapshot_free(place),
            mm_snapshot_free(other),
            mm_close(file)
        ),
        (MM_OK, MM_OK, MM_OK)
    );
}

#[test]
fn rigs_give_the_matrices_of_the_library() {
    for path in data::folder("iqm/valid") {
        let model = Model::open(&path).unwrap();
        let (file, scratch, mut rig) = (open(&path), scratch(), null_mut());
        ok!(mm_rig_new(file, null(), &raw mut rig));
        let mut info = sized::<mm_rig_info>();
        ok!(mm_rig_get_info(rig, &raw mut info));
        assert_eq!(
            (info.joint_count, info.anim_count),
            (model.joints().len(), model.anims().len())
        );
        for (index, joint) in model.joints().enumerate() {
            let mut found = sized::<mm_joint>();
            ok!(mm_rig_joint(rig, index, &raw mut found));
            assert_eq!(
                text(found.name),
                joint.name.to_string_lossy().replace('\0', "\u{fffd}")
            );
            assert_eq!(found.parent, joint.parent.map_or(-1, i64::from));
            assert_eq!(found.bind.rotate, joint.trs.rotate);
            assert_eq!(
                found.inverse_bind_matrix,
                model.skeleton().unwrap().inverse_bind_matrices()[index]
            );
        }
        for (index, anim) in model.anims().enumerate() {
            let mut found = sized::<mm_anim>();
            ok!(mm_rig_anim(rig, index, &raw mut found));
            assert_eq!(
                (found.first_frame, found.frame_count),
                (anim.first_frame, anim.num_frames)
            );
            for seconds in [-1.0, 0.0, 0.3, 7.77] {
                let (mut from, mut to, mut fraction) = (0, 0, 0.0);
                let status = status!(mm_rig_frames_at(
                    rig,
                    index,
                    seconds,
                    24.0,
                    &mut from,
                    &mut to,
                    &mut fraction
                ));
                let expected = anim.frames_at(seconds, 24.0);
                assert_eq!((status == MM_OK).then_some((from, to, fraction)), expected);
                let found = all(64, |out: *mut [[f32; 4]; 3], stride, capacity, count| {
                    let (rate, out) = (24.0, out.cast());
                    status!(mm_rig_skinning_at(
                        rig, index, seconds, rate, scratch, out, stride, capacity, count
                    ))
                });
                let (Some(skeleton), Some((from, to, fraction))) = (model.skeleton(), expected)
                else {
                    continue;
                };
                let mut pose = vec![Trs::default(); model.frames().pose_count()];
                model
                    .frames()
                    .interpolate_into(from, to, fraction, &mut pose)
                    .unwrap();
                if let Ok(matrices) = skeleton.skinning_matrices(&pose) {
                    assert_eq!(found.unwrap(), matrices);
                }
            }
        }
        if info.frame_count > 0 {
            let found = all(0, |out: *mut [f32; 10], stride, capacity, count| {
                status!(mm_rig_pose(
                    rig,
                    info.frame_count - 1,
                    scratch,
                    out.cast(),
                    stride,
                    capacity,
                    count
                ))
            });
            let mut pose = vec![Trs::default(); model.frames().pose_count()];
            model
                .frames()
                .read_frame_into(info.frame_count - 1, &mut pose)
                .unwrap();
            assert_eq!(found.unwrap().len(), pose.len());
        }
        assert_eq!(
            (mm_rig_free(rig), mm_scratch_free(scratch), mm_close(file)),
            (MM_OK, MM_OK, MM_OK)
        );
    }
}

/// The hand's joint is below the arm, and its pose below the root: in the last frame it has only moved along z, however the arm turns.
#[test]
fn matrices_follow_the_parents_of_the_poses() {
    let path = data::root().join("iqm/regressions/other_pose_parents.iqm");
    let (file, scratch, mut rig) = (open(&path), scratch(), null_mut());
    ok!(mm_rig_new(file, null(), &raw mut rig));
    let found = all(64, |out: *mut [[f32; 4]; 3], stride, capacity, count| {
        status!(mm_rig_skinning_at(
            rig,
            0,
            1.0,
            24.0,
            scratch,
            out.cast(),
            stride,
            capacity,
            count
        ))
    });
    let hand = found.unwrap()[2];
    let expected = [
        [1.0_f32, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 3.0],
    ];
    for (number, expected) in hand.as_flattened().iter().zip(expected.as_flattened()) {
        assert!((number - expected).abs() < 1e-3, "{hand:?}");
    }
    assert_eq!(
        (mm_rig_free(rig), mm_scratch_free(scratch), mm_close(file)),
        (MM_OK, MM_OK, MM_OK)
    );
}

#[test]
fn an_animation_of_another_skeleton_is_a_mismatch() {
    let [mesh, other] = ["skin_multi_anim.iqm", "ours_many_meshes_a.iqm"]
        .map(|name| open(&data::valid("iqm", name)));
    let mut rig = null_mut();
    let status = status!(mm_rig_new(mesh, other, &raw mut rig));
    assert!(status == MM_ERROR_MISMATCH && rig.is_null(), "{status}");
    ok!(mm_rig_new(mesh, mesh, &raw mut rig));
    assert_eq!(
        (mm_rig_free(rig), mm_close(mesh), mm_close(other)),
        (MM_OK, MM_OK, MM_OK)
    );
}

#[test]
fn levels_of_detail_are_read_by_name() {
    for path in data::folder("slmesh/valid") {
        let file = open(&path);
        let MeshFile::SlMesh(asset) = MeshFile::open(&path).unwrap() else {
            panic!("{path:?}")
        };
        for lod in meshmap::slmesh::Lod::ALL {
            let name = CString::new(lod.name()).unwrap();
            let (mut begin, mut end, mut estimate) = (0, 0, 0);
            let (level, estimate) = (name.as_ptr(), &raw mut estimate);
            let status = status!(mm_slmesh_lod_range(
                file, level, &mut begin, &mut end, estimate
            ));
            let expected = asset.lod_range(lod).unwrap();
            assert_eq!((status == MM_OK).then_some(begin..end), expected);
            let (mut best, mut list, mut count) = (null(), null_mut(), 0);
            match status!(mm_slmesh_best_lod(file, name.as_ptr(), &raw mut best)) {
                MM_ABSENT => assert_eq!(asset.best_lod(lod), None),
                _ => assert_eq!(
                    Some(text(best)),
                    asset.best_lod(lod).map(|lod| lod.name().to_owned())
                ),
            }
            if status!(mm_slmesh_lod(file, name.as_ptr(), &raw mut list)) == MM_OK {
                ok!(mm_mesh_list_count(list, &raw mut count));
                assert_eq!(count, asset.lod(lod).unwrap().unwrap().faces().len());
                let mut entry = sized::<mm_mesh_entry>();
                ok!(mm_mesh_list_get(list, 0, &raw mut entry));
                assert!(text(entry.address).starts_with(lod.name()));
                assert_eq!(mm_mesh_list_free(list), MM_OK);
            }
        }
        assert_eq!(
            status!(mm_slmesh_lod(file, c"best_lod".as_ptr(), &mut null_mut())),
            MM_ERROR_OUT_OF_RANGE
        );
        assert_eq!(mm_close(file), MM_OK);
    }
}

unsafe extern "C" fn each_array(user: *mut c_void, array: *const mm_array_info) -> c_int {
    // SAFETY: what the test passes, and what the library passes.
    let (seen, array) = unsafe { (&mut *user.cast::<Vec<(String, Vec<u8>)>>(), &*array) };
    assert_eq!(array.size, size_of::<mm_array_info>());
    // SAFETY: valid during the call.
    seen.push((text(array.address), unsafe { shown(array) }));
    0
}

unsafe extern "C" fn first_array(user: *mut c_void, _: *const mm_array_info) -> c_int {
    // SAFETY: what the test passes.
    unsafe { *user.cast::<usize>() += 1 };
    1
}

unsafe extern "C" fn count_texts(
    user: *mut c_void,
    address: *const c_char,
    text: *const c_char,
    length: usize,
) -> c_int {
    // SAFETY: what the test passes, and what the library passes.
    let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length + 1) };
    assert!(text[length] == 0 && !support::text(address).is_empty());
    // SAFETY: what the test passes.
    unsafe { *user.cast::<usize>() += 1 };
    0
}

test_files!(arrays_are_those_of_the_library_by_their_addresses);

fn arrays_are_those_of_the_library_by_their_addresses(root: &Path) {
    for path in valid_files(root) {
        let ours = MeshFile::open(&path).unwrap();
        let (scratch, place) = (scratch(), place());
        for file in [open(&path), map(&path, Some(&options(MM_PARALLELISM_OFF)))] {
            let mut seen: Vec<(String, Vec<u8>)> = Vec::new();
            ok!(mm_arrays(file, Some(each_array), (&raw mut seen).cast()));
            let (mut one, mut texts) = (0_usize, 0_usize);
            ok!(mm_arrays(file, Some(first_array), (&raw mut one).cast()));
            assert_eq!(one, seen.len().min(1));
            ok!(mm_texts(file, Some(count_texts), (&raw mut texts).cast()));
            assert_eq!(texts, ours.texts().count());
            let listed: Vec<_> = ours.arrays().map(Result::unwrap).collect();
            assert_eq!(seen.len(), listed.len(), "{path:?}");
            for (entry, (address, bytes)) in listed.iter().zip(seen) {
                let data = entry.read().unwrap();
                assert_eq!(
                    (&*address, &*bytes),
                    (&*entry.address.to_string(), data.as_bytes())
                );
                let scalar = array(file, scratch, &address, &data);
                array_of_a_place(file, scratch, place, (&address, scalar), &data);
            }
            if let Some(proxy) = ours.as_cgeo() {
                (0..proxy.snapshot_count())
                    .for_each(|index| differences(file, scratch, proxy, index));
            }
            for address in [
                c"nothing[3]",
                c"snapshots[0].nothing",
                c"snapshots[-1].positions",
                c"a b",
                c"",
            ] {
                assert_eq!(
                    status!(mm_array(file, address.as_ptr(), scratch, &mut sized())),
                    MM_ERROR_OUT_OF_RANGE
                );
            }
            assert_eq!(mm_close(file), MM_OK);
        }
        assert_eq!(
            (mm_scratch_free(scratch), mm_snapshot_free(place)),
            (MM_OK, MM_OK)
        );
    }
}

/// One array, shown and read; returns the type of its numbers.
fn array(
    file: *mut mm_file,
    scratch: *mut mm_scratch,
    address: &str,
    data: &ArrayData,
) -> mm_scalar {
    let (address, mut info) = (CString::new(address).unwrap(), sized::<mm_array_info>());
    ok!(mm_array(file, address.as_ptr(), scratch, &raw mut info));
    // SAFETY: the scratch has not been used since.
    assert_eq!(unsafe { shown(&info) }, data.as_bytes(), "{address:?}");
    assert_eq!(
        info.shape[..info.rank as usize],
        *data.shape(),
        "{address:?}"
    );
    assert_eq!(info.address, address.as_ptr());
    let (components, size) = (
        data.components() as u32,
        data.components() * data.scalar().size(),
    );
    let read = |scalar, components, out: *mut u8, stride, capacity, count| {
        let (address, out) = (address.as_ptr(), out.cast());
        status!(mm_read_into(
            file, address, scalar, components, scratch, out, stride, capacity, count
        ))
    };
    for stride in [0, size + 4] {
        let read = |out, stride, capacity, count| {
            read(info.scalar, components, out, stride, capacity, count)
        };
        assert_eq!(
            all_bytes(size, stride, read).unwrap(),
            data.as_bytes(),
            "{address:?}"
        );
    }
    let mut count = 0;
    let other = if info.scalar == MM_SCALAR_F64 {
        MM_SCALAR_U8
    } else {
        MM_SCALAR_F64
    };
    for (scalar, components) in [(other, components), (info.scalar, components + 1)] {
        assert_eq!(
            read(scalar, components, null_mut(), 0, 0, &raw mut count),
            MM_ERROR_MISMATCH
        );
        let text = text(last_error().text);
        assert!(text.starts_with("type of the elements: expected"), "{text}");
    }
    info.scalar
}

/// The same array of a snapshot that is decoded into a place.
fn array_of_a_place(
    file: *mut mm_file,
    scratch: *mut mm_scratch,
    place: *mut mm_snapshot,
    (address, scalar): (&str, mm_scalar),
    data: &ArrayData,
) {
    let Some((index, name)) = address
        .strip_prefix("snapshots[")
        .and_then(|rest| rest.split_once("]."))
    else {
        return;
    };
    ok!(mm_snapshot_read(
        file,
        index.parse().unwrap(),
        0,
        MM_PARTS_ALL,
        scratch,
        place
    ));
    let (name, mut info) = (CString::new(name).unwrap(), sized::<mm_array_info>());
    let view = status!(mm_snapshot_view(
        place,
        name.as_ptr(),
        scratch,
        &raw mut info
    ));
    let (components, size) = (
        data.components() as u32,
        data.components() * data.scalar().size(),
    );
    let copied = all_bytes(size, size + 1, |out, stride, capacity, count| {
        let (name, out) = (name.as_ptr(), out.cast());
        status!(mm_snapshot_copy(
            place, name, scalar, components, scratch, out, stride, capacity, count
        ))
    });
    let refused = match name.to_str().unwrap() {
        "point_cloud" | "bounding_box" => Some(MM_ERROR_UNSUPPORTED),
        _ => None,
    };
    if let Some(refused) = refused {
        assert_eq!((view, copied), (refused, Err(refused)));
        return;
    }
    assert_eq!(copied.unwrap(), data.as_bytes(), "{address}");
    ok!(mm_snapshot_view(
        place,
        name.as_ptr(),
        scratch,
        &raw mut info
    ));
    // SAFETY: neither place nor scratch has been used since.
    assert_eq!(unsafe { shown(&info) }, data.as_bytes(), "{address}");
    assert!(info.is_aligned && info.shape[..info.rank as usize] == *data.shape());
    // Without a scratch, only what is not mixed is shown.
    let without = status!(mm_snapshot_view(
        place,
        name.as_ptr(),
        null_mut(),
        &raw mut info
    ));
    let is_mixed = name.to_bytes().starts_with(b"triangles.");
    assert_eq!(without, if is_mixed { MM_ERROR_HANDLE } else { MM_OK });
}

/// Differences from the first snapshot, which no list has.
fn differences(file: *mut mm_file, scratch: *mut mm_scratch, proxy: &Proxy, index: usize) {
    let (mut expected, mut own) = (Vec::new(), Scratch::default());
    let has = proxy
        .snapshot(index)
        .unwrap()
        .position_differences_into(&mut expected, &mut own)
        .unwrap();
    let address = CString::new(format!("snapshots[{index}].position_differences")).unwrap();
    let mut info = sized::<mm_array_info>();
    let status = status!(mm_array(file, address.as_ptr(), scratch, &raw mut info));
    assert_eq!(status, if has { MM_OK } else { MM_ERROR_OUT_OF_RANGE });
    if has {
        assert_eq!(
            // SAFETY: the scratch has not been used since.
            unsafe { shown(&info) },
            Array::from_vec(expected).as_bytes()
        );
    }
}

static RELEASED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn release(user: *mut c_void) {
    // SAFETY: what the test passes.
    drop(unsafe { Box::from_raw(user.cast::<Vec<u8>>()) });
    RELEASED.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn length(user: *mut c_void, out: *mut u64) -> c_int {
    // SAFETY: what the test passes, and what the library passes.
    unsafe { *out = (*user.cast::<Vec<u8>>()).len() as u64 };
    0
}

unsafe extern "C" fn read(
    user: *mut c_void,
    offset: u64,
    buffer: *mut c_void,
    length: usize,
    stored: *mut usize,
) -> c_int {
    // SAFETY: what the test passes, and what the library passes.
    unsafe {
        let bytes = &*user.cast::<Vec<u8>>();
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let rest = &rest[..rest.len().min(length)];
        rest.as_ptr()
            .copy_to_nonoverlapping(buffer.cast(), rest.len());
        *stored = rest.len();
    }
    0
}

#[test]
fn what_is_lent_is_given_back_once_nothing_shows_it() {
    let bytes = std::fs::read(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let lent = Box::new(bytes.clone());
    let (start, size) = (lent.as_ptr(), lent.len());
    let (mut file, mut mesh) = (null_mut(), null_mut());
    let user = Box::into_raw(lent).cast();
    ok!(mm_open_memory(
        start.cast(),
        size,
        Some(release),
        user,
        null(),
        &raw mut file
    ));
    ok!(mm_mesh_at(file, c"meshes[0]".as_ptr(), &raw mut mesh));
    let (mut info, mut index) = (sized::<mm_array_info>(), 0);
    ok!(mm_mesh_find_attribute(
        mesh,
        MM_SEMANTIC_POSITION,
        0,
        null(),
        &raw mut index
    ));
    ok!(mm_mesh_attribute_view(mesh, index, &raw mut info));
    let within = (info.data as usize).wrapping_sub(start as usize);
    assert!(within < size, "positions are shown where they lie");
    let mut again = null_mut();
    ok!(mm_file_ref(file, &raw mut again));
    assert_eq!((mm_close(file), mm_close(again)), (MM_OK, MM_OK));
    assert_eq!(RELEASED.load(Ordering::SeqCst), 0);
    assert_eq!(mm_mesh_free(mesh), MM_OK);
    assert_eq!(RELEASED.load(Ordering::SeqCst), 1);

    // Copies show nothing, even of an array that lies there as it is.
    let (_, snapshots) = fixtures::cgeo::animation(4, 1);
    let stored = fixtures::cgeo::file(
        &snapshots,
        Dialect::default().with_codec(meshmap::Codec::Stored),
    );
    let lent = Box::new(stored);
    let (start, size, scratch) = (lent.as_ptr(), lent.len(), scratch());
    ok!(mm_open_memory(
        start.cast(),
        size,
        Some(release),
        Box::into_raw(lent).cast(),
        null(),
        &raw mut file
    ));
    let (mut out, address) = ([[0.0_f32; 3]; 16], c"snapshots[0].positions");
    let place = out.as_mut_ptr().cast();
    ok!(mm_read_into(
        file,
        address.as_ptr(),
        MM_SCALAR_F32,
        3,
        scratch,
        place,
        0,
        16,
        null_mut()
    ));
    assert_eq!(mm_close(file), MM_OK);
    assert_eq!(RELEASED.load(Ordering::SeqCst), 2);
    assert_eq!(mm_scratch_free(scratch), MM_OK);

    // Also of a file that cannot be opened, and of a reader.
    let bad = Box::new(b"nothing".to_vec());
    let (start, size) = (bad.as_ptr(), bad.len());
    let user = Box::into_raw(bad).cast();
    let status = status!(mm_open_memory(
        start.cast(),
        size,
        Some(release),
        user,
        null(),
        &raw mut file
    ));
    assert_eq!((status, file.is_null()), (MM_ERROR_UNKNOWN_FORMAT, true));
    assert_eq!(RELEASED.load(Ordering::SeqCst), 3);
    for length in [None, Some(length as _)] {
        let user = Box::into_raw(Box::new(bytes.clone())).cast();
        let reader = mm_reader {
            user,
            length,
            read: Some(read),
            release: Some(release),
            ..sized()
        };
        ok!(mm_open_reader(&raw const reader, null(), &raw mut file));
        ok!(mm_mesh_at(file, c"meshes[0]".as_ptr(), &raw mut mesh));
        assert_eq!((mm_close(file), mm_mesh_free(mesh)), (MM_OK, MM_OK));
    }
    assert_eq!(RELEASED.load(Ordering::SeqCst), 5);
}

#[test]
fn limits_options_and_dialects_are_those_of_the_library() {
    let (_, snapshots) = fixtures::cgeo::animation(60, 3);
    let file = fixtures::cgeo::file(&snapshots, Dialect::default());
    let (scratch, mut count) = (scratch(), 0);
    let mut out = vec![0.0_f32; 60 * 60 * 3];
    type Limit = fn(&mut mm_options);
    let limits: [(&str, Limit); 2] = [
        ("max_block_bytes", |how| how.max_block_bytes = 1000),
        ("max_total_bytes", |how| how.max_total_bytes = 1000),
    ];
    for (name, limit) in limits {
        // Limits are exact only without the free ratio.
        for (free_ratio, expected) in [(0, MM_ERROR_LIMIT_EXCEEDED), (1000, MM_OK)] {
            let mut how = mm_options {
                free_ratio,
                ..options(MM_PARALLELISM_OFF)
            };
            limit(&mut how);
            let limited = memory(file.clone(), Some(&how));
            let found = read_positions(
                limited,
                1,
                scratch,
                (out.as_mut_ptr(), 0, 3600),
                &raw mut count,
            );
            assert_eq!(found, expected, "{name}, {free_ratio}");
            if expected != MM_OK {
                assert!(
                    text(last_error().text).contains(name),
                    "{}",
                    text(last_error().text)
                );
            }
            assert_eq!(mm_close(limited), MM_OK);
        }
    }

    let dialect = mm_cgeo_dialect {
        codec: MM_CODEC_ZLIB,
        ..sized()
    };
    let forced = mm_options {
        cgeo_dialect: &raw const dialect,
        ..options(MM_PARALLELISM_POOL)
    };
    let mut info = sized::<mm_cgeo_info>();
    let found = memory(file.clone(), None);
    ok!(mm_cgeo_get_info(found, &raw mut info));
    assert!(info.dialect_is_found);
    assert_eq!(mm_close(found), MM_OK);
    let file = memory(file, Some(&forced));
    ok!(mm_cgeo_get_info(file, &raw mut info));
    assert!(!info.dialect_is_found && info.has_timing);
    let mut read = sized::<mm_cgeo_dialect>();
    ok!(mm_cgeo_get_dialect(file, &raw mut read));
    assert_eq!(read, dialect);

    let strict = mm_options {
        strictness: MM_STRICTNESS_STRICT,
        ..options(0)
    };
    let path = c_path(&data::valid("cgeo", "names_latin1_a.cgeo"));
    let mut opened = null_mut();
    let status = status!(mm_open(path.as_ptr(), &raw const strict, &raw mut opened));
    let source = meshmap::Source::open(data::valid("cgeo", "names_latin1_a.cgeo")).unwrap();
    let ours = meshmap::Options::default().with_strictness(meshmap::Strictness::Strict);
    assert_eq!(
        status == MM_OK,
        MeshFile::from_source(source, &ours).is_ok()
    );
    for file in [file, opened] {
        assert_eq!(mm_close(file), MM_OK);
    }
    assert_eq!(mm_scratch_free(scratch), MM_OK);
}

#[test]
fn flags_cancel_the_calls_of_a_thread() {
    let (_, snapshots) = fixtures::cgeo::animation(200, 2);
    let file = memory(fixtures::cgeo::file(&snapshots, Dialect::default()), None);
    let (scratch, mut cancel) = (scratch(), null_mut());
    ok!(mm_cancel_new(&raw mut cancel));
    ok!(mm_thread_set_cancel(cancel));
    let positions = |scratch| show_positions(file, 1, scratch).0;
    assert_eq!(positions(scratch), MM_OK);
    assert_eq!(mm_cancel_set(cancel, 1), MM_OK);
    assert_eq!(positions(scratch), MM_ERROR_CANCELLED);
    assert_eq!(mm_cancel_set(cancel, 0), MM_OK);
    assert_eq!(positions(scratch), MM_OK);
    assert_eq!(mm_cancel_set(cancel, 1), MM_OK);
    assert_eq!(mm_cancel_free(cancel), MM_OK);
    assert_eq!(positions(scratch), MM_ERROR_CANCELLED);
    ok!(mm_thread_set_cancel(null()));
    assert_eq!(positions(scratch), MM_OK);
    assert_eq!((mm_scratch_free(scratch), mm_close(file)), (MM_OK, MM_OK));
}

/// A table of 16 KB that names one mesh thousands of times, which is decoded for each.
#[test]
fn reading_all_arrays_ends_with_the_work_of_a_job() {
    unsafe extern "C" fn count(user: *mut c_void, _: *const mm_array_info) -> c_int {
        // SAFETY: the counter that the test passes.
        unsafe { *user.cast::<usize>() += 1 };
        0
    }
    let path = data::root()
        .with_file_name("attack")
        .join("c_channels_tri.cgeo");
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let (mut file, mut arrays) = (null_mut(), 0_usize);
    ok!(mm_open(path.as_ptr(), null(), &raw mut file));
    let status = status!(mm_arrays(file, Some(count), (&raw mut arrays).cast()));
    assert_eq!(status, MM_ERROR_LIMIT_EXCEEDED, "{arrays} arrays");
    ok!(mm_close(file));
}

//! From a file to the buffers that a graphics API takes.

use std::ops::Range;
use std::path::{Path, PathBuf};

use meshmap::cgeo::Dialect;
use meshmap::cgeo::Parts;
use meshmap::{
    ErrorKind, Format, IndexFormat, MeshFile, MeshView, Role, Semantic, VertexFormat, VertexLayout,
};
use meshmap_testing::{Recorder, data, fixtures, open, test_files};
use zerocopy::IntoBytes;

/// The good files of all formats below a folder.
fn files(root: &Path) -> impl Iterator<Item = PathBuf> {
    Format::ALL
        .into_iter()
        .flat_map(|format| data::files(&root.join(format.name()).join("valid")))
}

/// The meshes of all good files.
fn all(root: &Path) -> impl Iterator<Item = (String, MeshView)> {
    files(root).flat_map(|path| {
        // Containers of assets, bare LLSD and textless files of other kinds also lie there.
        let Ok(file) = MeshFile::open(&path) else {
            return Vec::new();
        };
        let entries: Vec<_> = file.meshes().unwrap().collect();
        let mesh = |address| {
            let mesh = file.mesh(address).unwrap_or_else(|error| panic!("{error}"));
            (format!("{}: {address}", path.display()), mesh)
        };
        entries
            .iter()
            .map(|entry| mesh(&entry.address))
            .collect::<Vec<_>>()
    })
}

/// The output, of which each byte is written once, in order, whole vertices at a time.
fn written(mesh: &MeshView, layout: &VertexLayout) -> meshmap::Result<Vec<u8>> {
    let mut out = Vec::new();
    mesh.write_interleaved(layout, |offset, bytes| {
        assert_eq!(offset, out.len());
        assert!(!bytes.is_empty() && bytes.len().is_multiple_of(layout.stride()));
        out.extend_from_slice(bytes);
    })?;
    assert_eq!(out.len(), mesh.vertex_count() * layout.stride());
    Ok(out)
}

fn layouts() -> Vec<VertexLayout> {
    let floats = || {
        VertexLayout::new()
            .with_default(Semantic::Position, VertexFormat::FLOAT32X3, [0.; 4])
            .with_default(Semantic::Normal, VertexFormat::FLOAT32X3, [0., 0., 1., 0.])
            .with_default(Semantic::TexCoord(0), VertexFormat::FLOAT32X2, [0.25; 4])
    };
    vec![
        floats(),
        // Nothing that the library has a shorter way for: offsets out of order, gaps, an odd stride.
        floats()
            .with_default(Semantic::Tangent, VertexFormat::SNORM8X4, [1., 0., 0., -1.])
            .at(97)
            .with_default(Semantic::Color(0), VertexFormat::UNORM8X4, [1.; 4])
            .at(35)
            .with_stride(103),
        VertexLayout::new()
            .with_default(Semantic::TexCoord(0), VertexFormat::FLOAT16X2, [0.; 4])
            .with_default(Semantic::Position, VertexFormat::FLOAT32X4, [0.; 4])
            .with_default(Semantic::Position, VertexFormat::FLOAT32X2, [0.; 4])
            .with_default(Semantic::Normal, VertexFormat::SNORM16X4, [0.; 4]),
        VertexLayout::new().with_default(Semantic::Position, VertexFormat::FLOAT32X3, [0.; 4]),
    ]
}

test_files!(vertices_have_each_attribute_at_its_offset);

fn vertices_have_each_attribute_at_its_offset(root: &Path) {
    let mut count = 0;
    for (name, mesh) in all(root) {
        for layout in layouts() {
            let vertices = written(&mesh, &layout).unwrap();
            let mut is_written = vec![false; layout.stride()];
            for to in layout.attributes() {
                let size = to.format.size();
                is_written[to.offset..to.offset + size].fill(true);
                let mut alone = vec![0xEE; mesh.vertex_count() * size];
                match mesh.attribute(&to.semantic).unwrap() {
                    Some(attribute) => attribute
                        .write_chunks(to.format, size, |offset, bytes| {
                            alone[offset..offset + bytes.len()].copy_from_slice(bytes);
                        })
                        .unwrap(),
                    None => {
                        let only = VertexLayout::new().with_default(
                            Semantic::Custom("none".to_owned()),
                            to.format,
                            to.default.unwrap(),
                        );
                        alone = written(&mesh, &only.with_stride(size)).unwrap();
                    }
                }
                let placed = vertices
                    .chunks(layout.stride())
                    .map(|vertex| &vertex[to.offset..to.offset + size]);
                assert!(
                    placed.eq(alone.chunks(size)),
                    "{name}: {} as {}",
                    to.semantic,
                    to.format
                );
            }
            let gaps = vertices
                .iter()
                .zip(is_written.iter().cycle())
                .filter(|(_, is_written)| !**is_written);
            assert!(gaps.into_iter().all(|(byte, _)| *byte == 0), "{name}");
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
}

test_files!(all_that_a_mesh_stores_fills_a_vertex_buffer);

fn all_that_a_mesh_stores_fills_a_vertex_buffer(root: &Path) {
    let floats = |format: VertexFormat| match format.components {
        1 => VertexFormat::FLOAT32,
        2 => VertexFormat::FLOAT32X2,
        3 => VertexFormat::FLOAT32X3,
        _ => VertexFormat::FLOAT32X4,
    };
    let mut count = 0;
    for (name, mesh) in all(root) {
        let mut layout = VertexLayout::new();
        for info in mesh.attributes() {
            layout = layout.with(info.semantic.clone(), floats(info.format));
        }
        if mesh.attributes().is_empty() {
            continue;
        }
        let vertices = written(&mesh, &layout).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (info, to) in mesh.attributes().iter().zip(layout.attributes()) {
            let attribute = mesh.attribute(&info.semantic).unwrap().unwrap();
            let size = to.format.size();
            let placed = vertices
                .chunks(layout.stride())
                .map(|vertex| &vertex[to.offset..to.offset + size]);
            let expected = attribute.to_f32::<4>();
            let mut pairs = placed.zip(&expected);
            assert!(
                pairs.all(|(placed, expected)| placed == &expected.as_bytes()[..size]),
                "{name}: {}",
                info.semantic
            );
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}

#[test]
fn offsets_and_strides_suit_graphics_apis() {
    let layout = VertexLayout::new()
        .with(Semantic::Position, VertexFormat::FLOAT32X3)
        .with(Semantic::Custom("a".to_owned()), VertexFormat::UNORM8)
        .with(Semantic::Custom("b".to_owned()), VertexFormat::UNORM8X2)
        .with(Semantic::TexCoord(0), VertexFormat::FLOAT16X2)
        .with(Semantic::Custom("c".to_owned()), VertexFormat::UNORM8);
    let offsets: Vec<usize> = layout
        .attributes()
        .iter()
        .map(|attribute| attribute.offset)
        .collect();
    assert_eq!((offsets, layout.stride()), (vec![0, 12, 14, 16, 20], 24));
    assert_eq!(
        (
            VertexLayout::new().stride(),
            layout.with_stride(21).stride()
        ),
        (0, 21)
    );
}

#[test]
fn layouts_that_cannot_be_filled_are_errors_that_say_why() {
    let file = MeshFile::open(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let entry = file.meshes().unwrap().next().unwrap();
    let mesh = file.mesh(&entry.address).unwrap();
    let position = || VertexLayout::new().with(Semantic::Position, VertexFormat::FLOAT32X3);
    let normal = |layout: VertexLayout| layout.with(Semantic::Normal, VertexFormat::FLOAT32X3);
    for (layout, text) in [
        (
            position().with(Semantic::Color(7), VertexFormat::UNORM8X4),
            "attribute color[7]",
        ),
        (
            normal(position()).at(8),
            "position to byte 12, and normal from byte 8",
        ),
        (position().with_stride(8), "at least 12 bytes"),
        (VertexLayout::new(), "at least 1 bytes"),
        (
            position().with_default(Semantic::Joints(9), VertexFormat::UINT8X4, [300.; 4]),
            "is 300, expected numbers that u8x4 can hold",
        ),
    ] {
        let error = written(&mesh, &layout).unwrap_err();
        let kind = if text.contains("color") {
            ErrorKind::Mismatch
        } else {
            ErrorKind::OutOfRange
        };
        assert_eq!(error.kind(), kind);
        let found = error.message();
        assert!(
            found.contains(text) && found.starts_with("iqm: ") && found.contains("meshes[0]"),
            "{found}"
        );
        assert!(
            error
                .path()
                .is_some_and(|path| path.ends_with("skin_multi_anim.iqm"))
        );
    }
}

test_files!(indices_are_written_as_narrow_as_they_fit);

fn indices_are_written_as_narrow_as_they_fit(root: &Path) {
    let mut formats = [0, 0];
    for (name, mesh) in all(root) {
        let mut bytes = Vec::new();
        let format = mesh
            .indices()
            .write_narrowest(|offset, part| {
                assert_eq!(offset, bytes.len());
                bytes.extend_from_slice(part);
            })
            .unwrap();
        assert!(bytes.len().is_multiple_of(4), "{name}");
        let found: Vec<u32> = match format {
            IndexFormat::Uint16 => bytes
                .as_chunks()
                .0
                .iter()
                .map(|index| u16::from_ne_bytes(*index).into())
                .collect(),
            _ => bytes
                .as_chunks()
                .0
                .iter()
                .map(|index| u32::from_ne_bytes(*index))
                .collect(),
        };
        assert_eq!(
            found[..mesh.indices().len()],
            mesh.indices().to_vec(),
            "{name}"
        );
        assert!(
            found[mesh.indices().len()..]
                .iter()
                .all(|padding| *padding == 0),
            "{name}"
        );
        let greatest = mesh.indices().iter().max().unwrap_or(0);
        assert_eq!(format == IndexFormat::Uint16, greatest < 65_535, "{name}");
        formats[usize::from(format == IndexFormat::Uint16)] += 1;
    }
    assert!(formats[1] > 50, "{formats:?}");
}

test_files!(groups_are_the_runs_of_materials);

fn groups_are_the_runs_of_materials(root: &Path) {
    let mut many = 0;
    for (name, mesh) in all(root) {
        let check = |mesh: &MeshView| {
            let mut end = 0;
            for group in mesh.groups() {
                assert_eq!(group.triangles.start, end, "{name}");
                end = group.triangles.end;
                let corners = mesh.indices().to_vec();
                let corners = &corners[group.triangles.start * 3..end * 3];
                assert!(
                    !corners.is_empty()
                        && corners.iter().all(|index| group.vertices.contains(index)),
                    "{name}"
                );
                if let Some(ids) = mesh.material_ids() {
                    assert!(
                        group
                            .triangles
                            .clone()
                            .all(|at| ids.get(at) == Some(group.material)),
                        "{name}"
                    );
                }
            }
            assert_eq!(end, mesh.triangle_count(), "{name}");
        };
        check(&mesh);
        let ordered = mesh.by_material().unwrap();
        check(&ordered);
        let materials: Vec<u32> = ordered.groups().map(|group| group.material).collect();
        assert!(
            materials.is_sorted_by(|a, b| a < b),
            "{name}: {materials:?}"
        );
        let sorted = |mesh: &MeshView| {
            let mut triangles: Vec<_> = mesh.indices().triangles().collect();
            triangles.sort_unstable();
            triangles
        };
        assert_eq!(sorted(&mesh), sorted(&ordered), "{name}");
        many += usize::from(materials.len() > 1);
    }
    assert!(many > 0, "no file of the repository has several materials");
}

test_files!(entries_say_what_views_say);

fn entries_say_what_views_say(root: &Path) {
    for path in files(root) {
        let Ok(file) = MeshFile::open(&path) else {
            continue;
        };
        for entry in file.meshes().unwrap() {
            let Ok(mesh) = file.mesh(&entry.address) else {
                continue;
            };
            let of_view = (mesh.address(), mesh.name(), mesh.role());
            assert_eq!(
                (&entry.address, &*entry.name.to_string_lossy(), entry.role),
                of_view,
                "{}",
                path.display()
            );
        }
        let drawn = file.meshes_where(Role::is_drawn_by_default).unwrap();
        let of_all = file
            .meshes()
            .unwrap()
            .filter(|entry| entry.role.is_drawn_by_default());
        assert!(drawn.eq(of_all), "{}", path.display());
        let typed = [
            file.as_cgeo().is_some(),
            file.as_slmesh().is_some(),
            file.as_iqm().is_some(),
            file.as_openctm().is_some(),
            file.as_tmf().is_some(),
        ];
        assert_eq!(typed.into_iter().filter(|is_this| *is_this).count(), 1);
    }
}

#[test]
fn listing_one_level_of_detail_reads_no_other() {
    let bytes = fixtures::slmesh::large(120);
    let recorder = Recorder::new(bytes.clone());
    let file = open::file(recorder.clone());
    let entries = file.meshes_where(|role| role == Role::Lod(3)).unwrap();
    assert_eq!(entries.count(), 8);
    let others: Vec<Range<u64>> = file
        .items()
        .filter(|item| {
            ["high_lod", "medium_lod", "low_lod"]
                .map(String::from)
                .contains(&item.address.to_string())
        })
        .map(|item| item.range)
        .collect();
    assert_eq!(others.len(), 3);
    let high = others
        .iter()
        .max_by_key(|range| range.end - range.start)
        .unwrap();
    let reads = recorder.reads();
    assert!(
        reads
            .iter()
            .all(|read| read.end <= high.start || read.start >= high.end),
        "{reads:?}"
    );
    let read: u64 = reads.iter().map(|read| read.end - read.start).sum();
    assert!(read < bytes.len() as u64 / 5, "{read} of {}", bytes.len());
}

#[test]
fn material_ids_of_a_proxy_are_those_of_its_triangles() {
    let (_, snapshots) = fixtures::cgeo::animation(6, 1);
    let file = fixtures::cgeo::file(&snapshots, Dialect::default());
    let file = open::file(file);
    let entry = file.meshes().unwrap().next().unwrap();
    let mesh = file.mesh(&entry.address).unwrap();
    let whole = file
        .as_cgeo()
        .unwrap()
        .snapshot(0)
        .unwrap()
        .mesh(Parts::ALL)
        .unwrap();
    let stored = whole
        .triangles
        .material_ids()
        .map(Iterator::collect::<Vec<_>>);
    assert_eq!(mesh.material_ids().map(|ids| ids.to_vec()), stored);
}

#[test]
fn packed_formats_fill_a_word_of_each_vertex() {
    let file = MeshFile::open(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let mesh = file.mesh(&"meshes[0]".parse().unwrap()).unwrap();
    let normal = |format| {
        let layout = VertexLayout::new()
            .with(Semantic::Position, VertexFormat::FLOAT32X3)
            .with(Semantic::Normal, format)
            .with_default(Semantic::Color(0), format, [1.0, 0.0, -1.0, 1.0]);
        assert_eq!(layout.stride(), 20);
        let vertices = written(&mesh, &layout).unwrap();
        let word =
            |vertex: &[u8], at: usize| u32::from_ne_bytes(vertex[at..at + 4].try_into().unwrap());
        vertices
            .chunks(20)
            .map(|vertex| (word(vertex, 12), word(vertex, 16)))
            .collect::<Vec<_>>()
    };
    let normals = mesh
        .attribute(&Semantic::Normal)
        .unwrap()
        .unwrap()
        .to_f32::<3>();
    for ((word, default), normal) in normal(VertexFormat::SNORM10_10_10_2)
        .into_iter()
        .zip(&normals)
    {
        let bits = [0, 10, 20].map(|shift| (word << (22 - shift)).cast_signed() >> 22);
        for (bits, number) in bits.into_iter().zip(normal) {
            assert_eq!(bits as f32, (number * 511.0).round_ties_even());
        }
        // A normal has no fourth component.
        assert_eq!(
            (word >> 30, default),
            (0, 0b01_1000000001_0000000000_0111111111)
        );
    }
    for ((word, default), normal) in normal(VertexFormat::UNORM10_10_10_2)
        .into_iter()
        .zip(&normals)
    {
        let expected = normal.map(|number| (number.max(0.0) * 1023.0).round_ties_even() as u32);
        assert_eq!(
            [word & 0x3ff, word >> 10 & 0x3ff, word >> 20 & 0x3ff],
            expected
        );
        assert_eq!(default, 0b11_0000000000_0000000000_1111111111);
    }
    let joints = mesh.attribute(&Semantic::Joints(0)).unwrap().unwrap();
    assert_eq!(VertexFormat::SNORM10_10_10_2.to_string(), "snorm10-10-10-2");
    let mut out = vec![0; joints.len() * 4];
    let error = joints.write_into(VertexFormat::UNORM10_10_10_2, 4, &mut out);
    let stored = joints.to_uint::<4>().unwrap();
    // Integers that are not normalized keep their value, and the fourth has two bits.
    assert_eq!(error.is_err(), stored.iter().any(|joints| joints[3] > 3));
}

test_files!(integers_are_read_as_such);

fn integers_are_read_as_such(root: &Path) {
    let mut count = 0;
    for (name, mesh) in all(root) {
        for info in mesh.attributes() {
            let attribute = mesh.attribute(&info.semantic).unwrap().unwrap();
            let VertexFormat {
                scalar,
                components,
                normalized,
                ..
            } = info.format;
            if normalized
                || !matches!(scalar, meshmap::Scalar::U8 | meshmap::Scalar::U16)
                || components > 4
            {
                continue;
            }
            let integers = attribute.to_uint::<4>().unwrap();
            let floats = attribute.to_f32::<4>();
            assert!(
                integers
                    .iter()
                    .map(|element| element.map(|integer| integer as f32))
                    .eq(floats),
                "{name}"
            );
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn numbers_that_are_no_unsigned_integers_are_errors() {
    let file = MeshFile::open(data::valid("openctm", "conv_sphere_obj_MG1.ctm")).unwrap();
    let mesh = file.mesh(&"bodies[0]".parse().unwrap()).unwrap();
    let positions = mesh.attribute(&Semantic::Position).unwrap().unwrap();
    let error = positions.to_uint::<3>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert!(
        error.message().contains("u32x3 can hold")
            && error.message().contains("bodies[0].position"),
        "{error}"
    );
}

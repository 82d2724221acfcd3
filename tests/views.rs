//! Views that are loaded, compacted and turned, and the loader of the README over every valid file.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use meshmap::{
    Attribute, Axis, Conventions, ErrorKind, Format, Fragments, IndexFormat, Limits, MeshEntry,
    MeshFile, MeshView, Options, Role, Semantic, Source, VOrigin, VertexFormat, VertexLayout,
    Winding,
};
use meshmap_testing::{Recorder, data, fixtures, in_steps, open, test_files};

/// The valid files of all formats below a folder that are files of meshes.
fn files(root: &Path) -> impl Iterator<Item = (PathBuf, Vec<u8>)> {
    let paths = |format: Format| data::files(&root.join(format.name()).join("valid"));
    let read = |path: PathBuf| fs::read(&path).map(|bytes| (path, bytes)).unwrap();
    Format::ALL
        .into_iter()
        .flat_map(paths)
        .map(read)
        .filter(|(_, bytes)| open(bytes).is_some())
}

/// A file of meshes; containers of assets, bare LLSD and textless files of other kinds lie next to them.
fn open(bytes: &[u8]) -> Option<MeshFile> {
    MeshFile::from_source(Source::from_bytes(bytes.to_vec()), &Options::default()).ok()
}

/// The meshes of all valid files.
fn meshes(root: &Path) -> impl Iterator<Item = (String, MeshFile, MeshView)> {
    files(root).flat_map(|(path, bytes)| {
        let file = open(&bytes).unwrap();
        let entries: Vec<MeshEntry> = file.meshes().unwrap().collect();
        let mesh = |entry: MeshEntry| {
            let mesh = file
                .mesh(&entry.address)
                .unwrap_or_else(|error| panic!("{error}"));
            (
                format!("{}: {}", path.display(), entry.address),
                file.clone(),
                mesh,
            )
        };
        entries.into_iter().map(mesh).collect::<Vec<_>>()
    })
}

fn attributes(mesh: &MeshView) -> Vec<meshmap::Result<Attribute>> {
    let attribute = |semantic: &Semantic| Ok(mesh.attribute(semantic)?.expect("the view lists it"));
    mesh.attributes()
        .iter()
        .map(|info| attribute(&info.semantic))
        .collect()
}

/// The attributes of a mesh none of which is damaged.
fn intact(mesh: &MeshView) -> Vec<Attribute> {
    attributes(mesh)
        .into_iter()
        .map(|attribute| attribute.unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

/// The elements of an attribute, as stored.
fn elements(attribute: &Attribute) -> Vec<&[u8]> {
    attribute
        .as_bytes()
        .chunks_exact(attribute.format().size())
        .collect()
}

// -- The loader of the README ------------------------------------------------------------------------------------------

/// The loader of the README, with joints and weights; returns the number of draws.
fn load(file: &MeshFile) -> meshmap::Result<usize> {
    let layout = VertexLayout::new()
        .with(Semantic::Position, VertexFormat::FLOAT32X3)
        .with_default(
            Semantic::Normal,
            VertexFormat::SNORM8X4,
            [0.0, 0.0, 1.0, 0.0],
        )
        .with_default(Semantic::TexCoord(0), VertexFormat::FLOAT32X2, [0.0; 4])
        .with_default(Semantic::Joints(0), VertexFormat::UINT8X4, [0.0; 4])
        .with_default(
            Semantic::Weights(0),
            VertexFormat::UNORM8X4,
            [1.0, 0.0, 0.0, 0.0],
        );
    let mut draws = 0;
    for entry in file.meshes_where(Role::is_drawn_by_default)? {
        let mesh = file.mesh(&entry.address)?;
        if mesh.is_empty() {
            continue;
        }
        let mesh = mesh.by_material()?.load()?;
        let (mut vertices, mut indices) = (Vec::new(), Vec::new());
        mesh.write_interleaved(&layout, |_, bytes| vertices.extend_from_slice(bytes))?;
        let format = mesh
            .indices()
            .write_narrowest(|_, bytes| indices.extend_from_slice(bytes))?;
        assert!(!vertices.is_empty() && vertices.len() == mesh.vertex_count() * layout.stride());
        assert!(!indices.is_empty() && indices.len() >= mesh.triangle_count() * 3 * format.size());
        draws += mesh.groups().count();
    }
    Ok(draws)
}

test_files!(the_loader_of_the_readme_draws_everything_that_can_be_drawn);

fn the_loader_of_the_readme_draws_everything_that_can_be_drawn(root: &Path) {
    let (mut drawn, mut nothing, mut refused) = (0, 0, Vec::new());
    for (path, bytes) in files(root) {
        let file = open(&bytes).unwrap();
        match load(&file) {
            Ok(0) => {
                let mut entries = file
                    .meshes()
                    .unwrap()
                    .filter(|entry| entry.role.is_drawn_by_default());
                assert!(
                    entries.all(|entry| file.mesh(&entry.address).unwrap().is_empty()),
                    "{}",
                    path.display()
                );
                nothing += 1;
            }
            Ok(_) => drawn += 1,
            Err(error) => {
                let text = error.to_string();
                assert!(
                    text.contains("joints") && text.contains("u8x4 can hold"),
                    "{}: {text}",
                    path.display()
                );
                refused.push(path);
            }
        }
    }
    println!("{drawn} files drawn, {nothing} with nothing to draw, joints of {refused:?}");
    assert!(drawn > 100 && refused.len() <= 1, "{drawn} {refused:?}");
}

test_files!(entries_know_which_meshes_are_empty);

fn entries_know_which_meshes_are_empty(root: &Path) {
    let mut empty = 0;
    for (path, bytes) in files(root) {
        let file = open(&bytes).unwrap();
        for entry in file.meshes().unwrap() {
            let name = format!("{}: {}", path.display(), entry.address);
            let mesh = file.mesh(&entry.address).unwrap();
            let is_empty = mesh.vertex_count() == 0
                || mesh.triangle_count() == 0
                || !mesh.has(&Semantic::Position);
            assert_eq!(mesh.is_empty(), is_empty, "{name}");
            assert_eq!(
                file.counts(&entry.address).unwrap().is_empty(),
                is_empty,
                "{name}"
            );
            let is_known = entry.counts.is_some();
            assert_eq!(is_known, file.format() != Format::CGeo, "{name}");
            let expected = entry.role.is_drawn_by_default() && !(is_known && is_empty);
            assert_eq!(entry.is_drawn_by_default(), expected, "{name}");
            empty += usize::from(is_empty);
        }
    }
    assert!(empty > 0, "no file has an empty mesh");
}

// -- load --------------------------------------------------------------------------------------------------------------

test_files!(loaded_meshes_have_the_same_values_and_read_nothing);

fn loaded_meshes_have_the_same_values_and_read_nothing(root: &Path) {
    let mut count = 0;
    for (path, bytes) in files(root) {
        let recorder = Recorder::new(bytes);
        let file = open::file(recorder.clone());
        for entry in file
            .meshes()
            .unwrap()
            .filter(|entry| entry.role.is_drawn_by_default())
        {
            let name = format!("{}: {}", path.display(), entry.address);
            let mesh = file.mesh(&entry.address).unwrap();
            let loaded = mesh.load().unwrap();
            let reads = || recorder.reads().len();
            let before = reads();
            let (first, second) = (intact(&loaded), intact(&loaded));
            let bounds = loaded.bounds().unwrap();
            assert_eq!(reads(), before, "{name}");
            for (first, second) in first.iter().zip(&second) {
                assert_eq!(
                    first.as_bytes().as_ptr(),
                    second.as_bytes().as_ptr(),
                    "{name}: decoded again"
                );
            }
            assert_eq!(
                (first, bounds),
                (intact(&mesh), mesh.bounds().unwrap()),
                "{name}"
            );
            assert_eq!(
                (loaded.address(), loaded.indices()),
                (mesh.address(), mesh.indices()),
                "{name}"
            );
            assert_eq!(loaded.attributes(), mesh.attributes(), "{name}");
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn loading_spares_later_reads() {
    let bytes = fixtures::openctm::Body::sheet(fixtures::openctm::RAW, 60).to_bytes();
    let recorder = Recorder::new(bytes);
    let file = open::file(recorder.clone());
    let mesh = file.mesh(&"bodies[0]".parse().unwrap()).unwrap();
    let read = |mesh: &MeshView| {
        let before = recorder.reads().len();
        mesh.attribute(&Semantic::Position).unwrap();
        recorder.reads()[before..]
            .iter()
            .map(|read| read.end - read.start)
            .sum::<u64>()
    };
    // The table of costs in the documentation of `attribute`.
    assert!(read(&mesh) >= 12 * mesh.vertex_count() as u64 && read(&mesh) > 0);
    assert_eq!(read(&mesh.load().unwrap()), 0);
}

#[test]
fn damaged_attributes_spoil_only_themselves() {
    let mut bytes = fs::read(data::valid("openctm", "conv_sphere_obj_MG1.ctm")).unwrap();
    let items: Vec<_> = open(&bytes).unwrap().items().collect();
    let normals = items
        .iter()
        .find(|item| item.address.to_string() == "bodies[0].normals")
        .unwrap();
    // After the five bytes of properties, which are read when the file is opened.
    bytes[normals.range.start as usize + 5..normals.range.end as usize].fill(0xff);
    let mesh = open(&bytes)
        .unwrap()
        .mesh(&"bodies[0]".parse().unwrap())
        .unwrap();
    let expected = mesh.attribute(&Semantic::Normal).unwrap_err();
    let loaded = mesh.load().unwrap();
    assert_eq!(
        loaded.attribute(&Semantic::Normal).unwrap_err().to_string(),
        expected.to_string()
    );
    assert_eq!(
        loaded.attribute(&Semantic::Position).unwrap(),
        mesh.attribute(&Semantic::Position).unwrap()
    );
}

#[test]
fn all_attributes_together_are_charged_to_one_call() {
    const VERTICES: usize = 1000;
    let file = fixtures::tmf::Writer::b()
        .mesh("points")
        .vertices(
            [0.0, 1.0, 0.0, 1.0, 0.0, 1.0],
            [1; 3],
            &[[0, 1, 0]; VERTICES],
        )
        .uvs(1, &[[1, 0]; VERTICES]);
    // Either array fits, but not both.
    let limits = Limits::default()
        .with_max_total_bytes(15 * VERTICES as u64)
        .with_free_ratio(0);
    let source = Source::from_bytes(file.to_bytes());
    let file = MeshFile::from_source(source, &Options::default().with_limits(limits)).unwrap();
    let mesh = file.mesh(&"meshes[0]".parse().unwrap()).unwrap();
    let sizes: Vec<usize> = intact(&mesh)
        .iter()
        .map(|attribute| attribute.as_bytes().len())
        .collect();
    assert_eq!(sizes, [12 * VERTICES, 8 * VERTICES]);
    let error = mesh.load().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("max_total_bytes"), "{error}");
}

/// Vertex arrays of IQM may overlap: a small file must not become as many copies as it names arrays.
#[test]
fn arrays_that_are_the_same_bytes_are_charged_each() {
    const ARRAYS: u32 = 2000;
    let mut bytes = fixtures::iqm::Writer::sheets(1, 40, 40).to_bytes();
    let field = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (count, table) = (field(&bytes, 44) as usize, field(&bytes, 52) as usize);
    let stored: Vec<u8> = bytes[table..table + count * 20].to_vec();
    let position: Vec<u8> = stored
        .chunks(20)
        .find(|array| field(array, 0) == 0)
        .unwrap()
        .to_vec();
    let end = bytes.len() as u32;
    bytes.extend(&stored);
    // Texture coordinates, of which a file may have any number of sets.
    for _ in 0..ARRAYS {
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(&position[4..]);
    }
    bytes[44..48].copy_from_slice(&(count as u32 + ARRAYS).to_le_bytes());
    bytes[52..56].copy_from_slice(&end.to_le_bytes());
    let len = bytes.len() as u32;
    bytes[20..24].copy_from_slice(&len.to_le_bytes());

    let limits = Limits::default().with_max_total_bytes(1 << 20);
    let mesh = |source: Source| {
        let file = MeshFile::from_source(source, &Options::default().with_limits(limits)).unwrap();
        file.mesh(&"meshes[0]".parse().unwrap()).unwrap()
    };
    // Views of memory are free.
    assert!(mesh(Source::from_bytes(bytes.clone())).load().is_ok());
    let read = mesh(Source::ranged(Recorder::new(bytes)));
    assert!(
        read.attributes().len() > ARRAYS as usize && read.attribute(&Semantic::Position).is_ok()
    );
    assert_eq!(read.load().unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn loading_asks_fragments_for_all_attributes_at_once() {
    let bytes = fixtures::openctm::Body::sheet(fixtures::openctm::RAW, 60).to_bytes();
    let fragments = Fragments::new(Some(bytes.len() as u64));
    let open = |source: &Source| {
        MeshFile::from_source(source.clone(), &Options::default())?
            .mesh(&"bodies[0]".parse().unwrap())
    };
    let (mesh, _) = in_steps(&fragments, &bytes, open).unwrap();
    assert!(mesh.attributes().len() > 1);
    let (_, steps) = in_steps(&fragments, &bytes, |_| mesh.load()).unwrap();
    assert_eq!(steps, 2);
}

// -- group -------------------------------------------------------------------------------------------------------------

/// Checks that a group has the corners of its triangles and no other vertex.
fn check_group(name: &str, whole: &MeshView, triangles: Range<usize>, part: &MeshView) {
    assert_eq!(part.triangle_count(), triangles.len(), "{name}");
    let corners: Vec<[u32; 3]> = whole
        .indices()
        .triangles()
        .skip(triangles.start)
        .take(triangles.len())
        .collect();
    let mut sources = vec![None; part.vertex_count()];
    for (from, to) in corners.as_flattened().iter().zip(part.indices().iter()) {
        let source = sources[to as usize].get_or_insert(*from);
        assert_eq!(source, from, "{name}: a vertex that is two");
    }
    let sources: Vec<u32> = sources
        .into_iter()
        .map(|source| source.expect("no vertex is unused"))
        .collect();
    assert!(
        sources.is_sorted_by(|a, b| a < b),
        "{name}: vertices in another order, or twice"
    );
    assert_eq!(part.attributes(), whole.attributes(), "{name}");
    for (from, to) in intact(whole).iter().zip(&intact(part)) {
        assert_eq!(
            (from.semantic(), from.dequant()),
            (to.semantic(), to.dequant()),
            "{name}"
        );
        let from = elements(from);
        assert!(
            sources
                .iter()
                .map(|source| from[*source as usize])
                .eq(elements(to)),
            "{name}: {}",
            to.semantic()
        );
    }
}

test_files!(groups_have_their_own_vertices_and_every_attribute);

fn groups_have_their_own_vertices_and_every_attribute(root: &Path) {
    let (mut several, mut smaller) = (0, 0);
    for (name, _, mesh) in meshes(root) {
        let mesh = mesh.load().unwrap();
        let is_small = mesh.triangle_count() < 10_000;
        // Each run of a mesh whose materials alternate is also a group.
        let orders = [
            Some(mesh.by_material().unwrap()),
            Some(mesh.clone()).filter(|_| is_small),
        ];
        for whole in orders.into_iter().flatten() {
            let groups: Vec<_> = whole.groups().collect();
            for (index, group) in groups.iter().take(20).enumerate() {
                assert_eq!(group.index, index, "{name}");
                let part = whole.group(index).unwrap();
                check_group(&name, &whole, group.triangles.clone(), &part);
                let only: Vec<_> = part
                    .groups()
                    .map(|group| (group.index, group.material))
                    .collect();
                assert_eq!(only, [(0, group.material)], "{name}");
                assert_eq!(
                    (part.name(), part.address()),
                    (whole.name(), whole.address()),
                    "{name}"
                );
                let again = part.group(0).unwrap();
                assert_eq!(
                    (again.indices().to_vec(), intact(&again)),
                    (part.indices().to_vec(), intact(&part))
                );
                smaller += usize::from(part.vertex_count() < whole.vertex_count());
            }
            let error = whole.group(groups.len()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange, "{name}");
            assert!(
                error
                    .message()
                    .replace(',', "")
                    .contains(&format!("less than {}", groups.len())),
                "{error}"
            );
            several += usize::from(groups.len() > 1);
        }
    }
    assert!(several > 0 && smaller > several, "{several} {smaller}");
}

#[test]
fn groups_fill_vertex_buffers_like_whole_meshes() {
    let file = MeshFile::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let mesh = file
        .mesh(&"snapshots[0]".parse().unwrap())
        .unwrap()
        .by_material()
        .unwrap();
    let layout = VertexLayout::new()
        .with(Semantic::Position, VertexFormat::FLOAT32X3)
        .with(Semantic::Normal, VertexFormat::FLOAT32X3);
    let vertices = |mesh: &MeshView| {
        let mut out = vec![0; mesh.vertex_count() * layout.stride()];
        mesh.interleave_into(&layout, &mut out).unwrap();
        out
    };
    let corners = |mesh: &MeshView, triangles: Range<usize>| {
        let vertices = vertices(mesh);
        let corners: Vec<[u32; 3]> = mesh
            .indices()
            .triangles()
            .skip(triangles.start)
            .take(triangles.len())
            .collect();
        let vertex = |corner: &u32| vertices.chunks(24).nth(*corner as usize).unwrap().to_vec();
        corners
            .as_flattened()
            .iter()
            .map(vertex)
            .collect::<Vec<_>>()
    };
    for group in mesh.groups() {
        let part = mesh.group(group.index).unwrap();
        assert_eq!(
            corners(&part, 0..part.triangle_count()),
            corners(&mesh, group.triangles)
        );
        assert_eq!(
            part.bounds().unwrap(),
            part.attribute(&Semantic::Position)
                .unwrap()
                .unwrap()
                .bounds()
        );
    }
    assert!(mesh.groups().count() > 1);
}

// -- turned ------------------------------------------------------------------------------------------------------------

/// The conventions of the format or, if it has none, the conventions of OBJ.
fn conventions(format: Format) -> Conventions {
    let stored = format.conventions();
    let known = Conventions::Y_UP_CCW.with_v_origin(VOrigin::Bottom);
    let known = stored.up.map_or(known, |up| known.with_up(up));
    let known = stored
        .front_face
        .map_or(known, |front| known.with_front_face(front));
    stored
        .v_origin
        .map_or(known, |origin| known.with_v_origin(origin))
}

fn bits<const N: usize>(attribute: &Attribute) -> Vec<[u32; N]> {
    attribute
        .to_f32::<N>()
        .into_iter()
        .map(|value| value.map(f32::to_bits))
        .collect()
}

test_files!(turned_meshes_have_other_axes_winding_and_coordinates);

fn turned_meshes_have_other_axes_winding_and_coordinates(root: &Path) {
    let mut count = 0;
    for (name, file, mesh) in meshes(root) {
        let from = conventions(file.format());
        let same = mesh.turned(from, from).unwrap();
        assert_eq!(
            (same.indices(), intact(&same)),
            (mesh.indices(), intact(&mesh)),
            "{name}"
        );
        let still = mesh.turned(from, Conventions::default()).unwrap();
        assert_eq!(
            (still.indices(), intact(&still)),
            (mesh.indices(), intact(&mesh)),
            "{name}"
        );

        let to = Conventions::default().with_up(if from.up == Some(Axis::X) {
            Axis::Y
        } else {
            Axis::X
        });
        let to = to.with_front_face(match from.front_face {
            Some(Winding::Clockwise) => Winding::CounterClockwise,
            _ => Winding::Clockwise,
        });
        let to = to.with_v_origin(match from.v_origin {
            Some(VOrigin::Top) => VOrigin::Bottom,
            _ => VOrigin::Top,
        });
        let turned = mesh.turned(from, to).unwrap();
        let reversed = mesh.indices().triangles().map(|[a, b, c]| [a, c, b]);
        assert!(turned.indices().triangles().eq(reversed), "{name}");
        assert_eq!(turned.indices().format(), mesh.indices().format(), "{name}");
        for (stored, found) in intact(&mesh).iter().zip(&intact(&turned)) {
            match stored.semantic() {
                Semantic::Position | Semantic::Normal | Semantic::Tangent => {
                    let rotate = |[x, y, z, w]: [f32; 4]| match from.up {
                        Some(Axis::Z) => [z, -x, -y, w],
                        _ => [y, -x, z, w],
                    };
                    let expected = stored
                        .to_f32::<4>()
                        .into_iter()
                        .map(|value| rotate(value).map(f32::to_bits));
                    assert!(
                        expected.eq(bits::<4>(found)),
                        "{name}: {}",
                        stored.semantic()
                    );
                }
                Semantic::TexCoord(_) => {
                    let expected = stored
                        .to_f32::<2>()
                        .into_iter()
                        .map(|[u, v]| [u, 1.0 - v].map(f32::to_bits));
                    assert!(
                        expected.eq(bits::<2>(found)),
                        "{name}: {}",
                        stored.semantic()
                    );
                }
                _ => assert_eq!(stored, found, "{name}"),
            }
        }
        let infos: Vec<_> = intact(&turned).iter().map(Attribute::format).collect();
        assert!(
            turned.attributes().iter().map(|info| info.format).eq(infos),
            "{name}"
        );
        // There and back, positions equal the file's.
        let back = turned.turned(to, from).unwrap();
        assert_eq!(back.indices(), mesh.indices(), "{name}");
        if let Some(positions) = mesh.attribute(&Semantic::Position).unwrap() {
            let found = back.attribute(&Semantic::Position).unwrap().unwrap();
            assert_eq!(bits::<3>(&found), bits::<3>(&positions), "{name}");
        }
        count += 1;
    }
    assert!(count > 200, "{count}");
}

#[test]
fn conventions_that_are_not_known_are_errors_that_name_them() {
    let file = MeshFile::open(data::valid("openctm", "conv_sphere_obj_MG1.ctm")).unwrap();
    let mesh = file.mesh(&"bodies[0]".parse().unwrap()).unwrap();
    let stored = file.format().conventions();
    let gltf = Conventions::Y_UP_CCW.with_v_origin(VOrigin::Top);
    for (from, to, text) in [
        (
            stored,
            gltf,
            "a known up axis to turn from: state that of the program that wrote the file in `from.up`",
        ),
        (stored.with_up(Axis::Z), gltf, "`from.front_face`"),
        (Conventions::Y_UP_CCW, gltf, "`from.v_origin`"),
    ] {
        let error = mesh.turned(from, to).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let message = error.message();
        assert!(
            message.starts_with("openctm: conventions") && message.contains(text),
            "{message}"
        );
        assert!(
            error
                .path()
                .is_some_and(|path| path.ends_with("conv_sphere_obj_MG1.ctm"))
        );
    }
    // Conventions that the target does not state stay, known or not.
    assert!(mesh.turned(stored, Conventions::default()).is_ok());
    assert!(
        mesh.turned(
            Conventions::Y_UP_CCW,
            Conventions::Y_UP_CCW.with_up(Axis::Z)
        )
        .is_ok()
    );
}

#[test]
fn groups_can_be_turned_and_turned_meshes_grouped() {
    let file = MeshFile::open(data::valid("iqm", "ours_many_meshes_a.iqm")).unwrap();
    let from = file.format().conventions();
    let to = Conventions::Y_UP_CCW.with_v_origin(VOrigin::Bottom);
    for entry in file.meshes().unwrap() {
        let mesh = file.mesh(&entry.address).unwrap();
        if mesh.is_empty() {
            continue;
        }
        let one = mesh
            .group(0)
            .unwrap()
            .turned(from, to)
            .unwrap()
            .load()
            .unwrap();
        let other = mesh.turned(from, to).unwrap().group(0).unwrap();
        assert_eq!(
            (one.indices().to_vec(), intact(&one)),
            (other.indices().to_vec(), intact(&other))
        );
        assert_eq!(one.indices().format(), IndexFormat::Uint32);
    }
}

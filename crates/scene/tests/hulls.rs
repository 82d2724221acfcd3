//! Hulls of Second Life meshes as shapes.

use meshmap::{Bytes, ErrorKind, Limits, MeshFile, Options, Role, Scratch, Semantic, Source};
use meshmap_scene::{
    Buffer, DrawOptions, Error, FactKind, Levels, Parts, Result, Scene, SceneOptions, Shape,
};
use meshmap_testing::fixtures::slmesh::{self, Llsd, Writer};
use meshmap_testing::open;

/// The corners of a box.
fn corners_of_box(from: u16, to: u16) -> Vec<[u16; 3]> {
    let ends = [from, to];
    let mut points = Vec::new();
    for x in ends {
        for y in ends {
            for z in ends {
                points.push([x, y, z]);
            }
        }
    }
    points
}

fn tetrahedron() -> Vec<[u16; 3]> {
    vec![[0, 0, 0], [60_000, 0, 0], [0, 60_000, 0], [0, 0, 60_000]]
}

fn points(points: &[[u16; 3]]) -> Llsd {
    Llsd::u16s(points.iter().copied().flatten())
}

/// An asset with a face, and hulls of these points.
struct Hulls {
    listed: Vec<Vec<[u16; 3]>>,
    bounding: Option<Vec<[u16; 3]>>,
    min: [f64; 3],
    max: [f64; 3],
}

impl Hulls {
    fn new(listed: Vec<Vec<[u16; 3]>>) -> Self {
        Self {
            listed,
            bounding: Some(corners_of_box(0, 65_535)),
            min: [-0.5, -0.25, 0.0],
            max: [0.5, 0.25, 1.0],
        }
    }

    fn content(&self) -> Llsd {
        let mut fields = Vec::new();
        if let Some(bounding) = &self.bounding {
            fields.push(("BoundingVerts", points(bounding)));
        }
        if !self.listed.is_empty() {
            let sizes = self.listed.iter().map(|hull| hull.len() as u8);
            fields.push(("HullList", Llsd::Binary(sizes.collect())));
            fields.push(("Positions", points(&self.listed.concat())));
        }
        fields.push(("Max", Llsd::reals(self.max)));
        fields.push(("Min", Llsd::reals(self.min)));
        Llsd::Map(fields)
    }

    fn file(&self) -> MeshFile {
        with_block(&self.content())
    }
}

fn with_block(content: &Llsd) -> MeshFile {
    let face = Llsd::Array(vec![slmesh::sheet(3, 0)]);
    let writer = Writer::default().block("high_lod", &face);
    open::file(writer.block("physics_convex", content).to_bytes())
}

fn options(addresses: &[&str]) -> SceneOptions {
    let mut options = SceneOptions::default();
    for address in addresses {
        options.meshes.push(address.parse().unwrap());
    }
    options
}

fn scene(file: &MeshFile, addresses: &[&str]) -> Result<Scene> {
    Scene::new(file, &options(addresses))
}

fn addresses(scene: &Scene) -> Vec<String> {
    let shapes = scene.shapes().iter();
    shapes.map(|shape| shape.address().to_string()).collect()
}

fn positions(shape: &Shape) -> Vec<[f32; 3]> {
    let view = shape.view(0).unwrap();
    view.attribute(&Semantic::Position)
        .unwrap()
        .unwrap()
        .to_f32()
}

fn triangles(shape: &Shape) -> Vec<[u32; 3]> {
    shape.view(0).unwrap().indices().triangles().collect()
}

/// The volume that triangles enclose; negative if they run clockwise as seen from outside.
fn volume(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> f64 {
    let mut volume = 0.0;
    for triangle in triangles {
        let [[a, b, c], [d, e, f], [g, h, i]] =
            triangle.map(|corner| positions[corner as usize].map(f64::from));
        volume += a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
    }
    volume / 6.0
}

fn hulls_left_out(scene: &Scene) -> u64 {
    let facts = scene.facts();
    let hulls = facts.iter().find(|fact| fact.kind == FactKind::Hulls);
    hulls.map_or(0, |fact| fact.count)
}

#[test]
fn addresses_select_hulls() {
    let file = Hulls::new(vec![tetrahedron(), corners_of_box(100, 200)]).file();
    let listed = ["physics_convex.hulls[0]", "physics_convex.hulls[1]"];
    let bounding = "physics_convex.bounding_verts";
    for (given, expected) in [
        (
            &["physics_convex"][..],
            &[listed[0], listed[1], bounding][..],
        ),
        (&["physics_convex.hulls"], &listed),
        (&["physics_convex.hulls[1]"], &listed[1..]),
        (&["physics_convex.bounding_verts"], &[bounding]),
        // Parts of a hull stand for the hull, and the order is the one of the addresses.
        (
            &[
                "physics_convex.bounding_verts[3]",
                "physics_convex.hulls[0][2]",
            ],
            &[bounding, listed[0]],
        ),
        (
            &["high_lod", "physics_convex.hulls[1]"],
            &["high_lod.faces[0]", listed[1]],
        ),
    ] {
        let scene = scene(&file, given).unwrap();
        assert_eq!(addresses(&scene), expected, "{given:?}");
        assert!(!scene.are_points());
    }
}

#[test]
fn hulls_are_named_and_have_only_positions() {
    let file = Hulls::new(vec![tetrahedron(), corners_of_box(100, 200)]).file();
    let scene = scene(&file, &["physics_convex"]).unwrap();
    let names: Vec<&str> = scene.shapes().iter().map(Shape::name).collect();
    assert_eq!(names, ["hull_0", "hull_1", "bounding_hull"]);
    for shape in scene.shapes() {
        assert_eq!(shape.role(), Role::Physics);
        assert_eq!(shape.object(), None);
        assert!(!shape.is_coarser() && !shape.has_keys());
        assert_eq!(shape.material(), None);
        let semantics = shape.attributes().iter().map(|info| &info.semantic);
        assert!(semantics.eq([&Semantic::Position]));
    }
    let facts = scene.facts();
    assert!(facts.iter().all(|fact| fact.kind != FactKind::Names));
}

#[test]
fn positions_are_the_stored_points() {
    let file = Hulls::new(vec![tetrahedron(), corners_of_box(100, 200)]).file();
    let convex = file.as_slmesh().unwrap().physics_convex().unwrap().unwrap();
    let listed = convex.hull_points().unwrap().unwrap().to_vec();
    let bounding = convex.bounding_verts().unwrap().unwrap().to_vec();
    let scene = scene(&file, &["physics_convex"]).unwrap();
    let [first, second, around] = scene.shapes() else {
        panic!("three hulls");
    };
    assert_eq!([positions(first), positions(second)].concat(), listed);
    assert_eq!(positions(around), bounding);
    assert_eq!(
        triangles(first),
        [[0, 2, 1], [2, 0, 3], [1, 2, 3], [0, 1, 3]]
    );
    assert_eq!(triangles(second).len(), 12);
    for shape in scene.shapes() {
        let counts = shape.counts(0, &mut Scratch::default()).unwrap();
        assert_eq!(counts.positions, positions(shape).len());
        assert_eq!(counts.triangles, triangles(shape).len());
        let mut buffer = Buffer::default();
        let mut scratch = Scratch::default();
        shape
            .read(0, Parts::ALL, &mut buffer, &mut scratch)
            .unwrap();
        let stream = buffer.positions().unwrap();
        assert_eq!(stream.to_f32::<3>().unwrap(), positions(shape));
        let corners = buffer.position_corners().unwrap();
        assert!(corners.triangles().eq(triangles(shape)));
        assert!(
            shape
                .read(1, Parts::ALL, &mut buffer, &mut scratch)
                .is_err()
        );
        assert!(shape.view(1).is_err());
    }
}

#[test]
fn hulls_are_drawn_outwards() {
    let mut hulls = Hulls::new(vec![tetrahedron(), corners_of_box(100, 20_000)]);
    let usual = [hulls.min, hulls.max];
    for mirrored in 0..8 {
        for axis in 0..3 {
            let mut ends = usual.map(|end| end[axis]);
            if mirrored >> axis & 1 == 1 {
                ends.reverse();
            }
            [hulls.min[axis], hulls.max[axis]] = ends;
        }
        let scene = scene(&hulls.file(), &["physics_convex"]).unwrap();
        for shape in 0..scene.shapes().len() {
            let drawn = scene.draw(shape, 0, &DrawOptions::default()).unwrap().mesh;
            let positions = drawn.attribute(&Semantic::Position).unwrap().unwrap();
            let corners: Vec<[u32; 3]> = drawn.indices().triangles().collect();
            let volume = volume(&positions.to_f32(), &corners);
            assert!(volume > 0.0, "{mirrored} {shape}: {volume}");
            if shape == 2 {
                assert!((volume - 0.5).abs() < 1e-6, "{volume}");
            }
        }
    }
}

#[test]
fn the_ledger_counts_the_hulls_that_are_not_drawn() {
    let file = Hulls::new(vec![tetrahedron(), corners_of_box(100, 200)]).file();
    let left_out = |addresses: &[&str]| hulls_left_out(&scene(&file, addresses).unwrap());
    assert_eq!(left_out(&[]), 3);
    assert_eq!(left_out(&["high_lod"]), 3);
    assert_eq!(left_out(&["physics_convex"]), 0);
    assert_eq!(left_out(&["physics_convex.hulls"]), 1);
    assert_eq!(
        left_out(&["physics_convex.hulls[1]", "physics_convex.hulls[1]"]),
        2
    );
    assert_eq!(left_out(&["physics_convex.bounding_verts"]), 2);
    let mut all_levels = SceneOptions::default();
    all_levels.levels = Levels::All;
    let scene = Scene::new(&file, &all_levels).unwrap();
    assert_eq!(addresses(&scene), ["high_lod.faces[0]"]);
    // A block that cannot be read is one.
    let damaged = open::file(slmesh::damaged("physics_convex"));
    let scene = Scene::new(&damaged, &SceneOptions::default()).unwrap();
    assert_eq!(hulls_left_out(&scene), 1);
}

#[test]
fn a_mesh_for_physics_is_left_out_unless_it_is_drawn() {
    let face = Llsd::Array(vec![slmesh::sheet(3, 0)]);
    for name in ["physics_mesh", "physics_shape"] {
        let writer = Writer::default().block("high_lod", &face);
        let file = open::file(writer.block(name, &face).to_bytes());
        let left_out = |addresses: &[&str]| {
            let facts = scene(&file, addresses).unwrap().facts();
            let physics = facts
                .iter()
                .find(|fact| fact.kind == FactKind::PhysicsMeshes);
            physics.map_or(0, |fact| fact.count)
        };
        assert_eq!(left_out(&[]), 1);
        assert_eq!(left_out(&["high_lod"]), 1);
        assert_eq!(left_out(&[name]), 0);
        assert_eq!(left_out(&["physics_mesh.faces[0]"]), 0);
    }
}

#[test]
fn errors_name_the_hulls_that_there_are() {
    let message = |file: &MeshFile, address: &str| {
        let Err(Error::Read(error)) = scene(file, &[address]) else {
            panic!("{address} is there");
        };
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
        error.to_string()
    };
    let mut hulls = Hulls::new(vec![tetrahedron(), corners_of_box(100, 200)]);
    let both = hulls.file();
    for address in [
        "physics_convex.hulls[2]",
        "physics_convex.hulls[18446744073709551615]",
        "physics_convex.faces[0]",
        "physics_convex[0]",
        r#"physics_convex.hulls["a"]"#,
    ] {
        let message = message(&both, address);
        let listed = "physics_convex.hulls[i] with i from 0 to 1";
        assert!(message.contains(listed), "{message}");
        assert!(
            message.contains("or physics_convex.bounding_verts"),
            "{message}"
        );
        assert!(message.contains(address), "{message}");
    }
    hulls.listed.pop();
    hulls.bounding = None;
    let one = message(&hulls.file(), "physics_convex.bounding_verts");
    assert!(
        one.contains("expected physics_convex.hulls[0], found"),
        "{one}"
    );
    hulls.listed.clear();
    let none = message(&hulls.file(), "physics_convex");
    assert!(none.contains("expected a block with hulls"), "{none}");
    for absent in [
        open::file(
            Writer::default()
                .block("high_lod", &Llsd::Array(vec![slmesh::sheet(3, 0)]))
                .to_bytes(),
        ),
        // As in parts of larger models.
        with_block(&Llsd::Undefined),
    ] {
        message(&absent, "physics_convex");
        message(&absent, "physics_convex.hulls[0]");
    }
}

#[test]
fn hulls_that_cannot_be_read_are_left_out_on_request() {
    let file = open::file(slmesh::damaged("physics_convex"));
    let mut options = options(&["physics_convex", "high_lod.faces[0]"]);
    assert!(Scene::new(&file, &options).is_err());
    options.skips_unreadable = true;
    let scene = Scene::new(&file, &options).unwrap();
    assert_eq!(addresses(&scene), ["high_lod.faces[0]"]);
    assert_eq!(scene.unreadable().len(), 1);
}

/// The hulls of this asset have all points on a line.
#[test]
fn flat_hulls_have_the_triangles_that_there_are() {
    let lines = open::file(slmesh::everything());
    let on_lines = scene(&lines, &["physics_convex"]).unwrap();
    assert_eq!(on_lines.shapes().len(), 3);
    assert!(on_lines.are_points());
    for shape in on_lines.shapes() {
        assert!(triangles(shape).is_empty() && !positions(shape).is_empty());
    }
    // With others they are there, and nothing is drawn of them.
    let with_face = scene(&lines, &["high_lod.faces[0]", "physics_convex.hulls[0]"]).unwrap();
    assert!(!with_face.are_points());
    assert_eq!(with_face.shapes().len(), 2);

    let square = vec![[0, 7, 0], [9, 7, 0], [9, 7, 9], [0, 7, 9]];
    let place = vec![[1, 2, 3]; 256];
    let mut hulls = Hulls::new(vec![square, place]);
    hulls.bounding = Some(Vec::new());
    let flat = scene(&hulls.file(), &["physics_convex"]).unwrap();
    let counts: Vec<usize> = flat
        .shapes()
        .iter()
        .map(|shape| triangles(shape).len())
        .collect();
    assert_eq!(counts, [4, 0, 0]);
    let nothing = scene(&hulls.file(), &["physics_convex.bounding_verts"]).unwrap();
    assert!(nothing.is_empty());
}

#[test]
fn counts_that_lie_are_errors_or_leave_points_over() {
    let block = |sizes: &[u8], given: &[[u16; 3]]| {
        with_block(&Llsd::Map(vec![
            ("HullList", Llsd::Binary(sizes.to_vec())),
            ("Positions", points(given)),
        ]))
    };
    let cube = corners_of_box(0, 9);
    for sizes in [&[9][..], &[8, 1], &[0], &[0, 0]] {
        let error = scene(&block(sizes, &cube), &["physics_convex"]).err();
        let Some(Error::Read(error)) = error else {
            panic!("{sizes:?} have no points");
        };
        assert_eq!(error.kind(), ErrorKind::Malformed);
    }
    let some = scene(&block(&[4, 3], &cube), &["physics_convex"]).unwrap();
    let counts: Vec<usize> = some
        .shapes()
        .iter()
        .map(|shape| positions(shape).len())
        .collect();
    assert_eq!(counts, [4, 3]);
    // 0 is 256.
    let many: Vec<[u16; 3]> = (0..256)
        .map(|number| [number, number * number % 251, number * 7 % 13])
        .collect();
    let whole = scene(&block(&[0], &many), &["physics_convex.hulls[0]"]).unwrap();
    assert_eq!(positions(&whole.shapes()[0]).len(), 256);
    assert!(triangles(&whole.shapes()[0]).len() > 8);
}

/// The memory and the work of hulls are charged to the scene.
#[test]
fn hulls_have_limits() {
    let mut hulls = Hulls::new(vec![tetrahedron(); 300]);
    let curve = |step: u32| {
        [
            step,
            step * step / 40_000,
            step * step / 40_000 * step / 40_000,
        ]
    };
    let around = (0..40_000).map(|step| curve(step).map(|number| number as u16));
    hulls.bounding = Some(around.collect());
    let all = scene(&hulls.file(), &["physics_convex.hulls"]).unwrap();
    assert_eq!(all.shapes().len(), 300);
    assert!(all.meter().held() > 300 << 10);
    // Each point is compared with four faces.
    assert!(all.meter().worked() >= 300 * 4 * 4);

    let face = Llsd::Array(vec![slmesh::sheet(3, 0)]);
    let writer = Writer::default().block("high_lod", &face);
    let bytes: Bytes = writer
        .block("physics_convex", &hulls.content())
        .to_bytes()
        .into();
    for (limit, address) in [
        (1 << 20, "physics_convex.bounding_verts"),
        (300 << 10, "physics_convex.hulls"),
    ] {
        let limits = Limits::default()
            .with_max_total_bytes(limit)
            .with_free_ratio(0);
        let options = Options::default().with_limits(limits);
        let file = MeshFile::from_source(Source::from_bytes(bytes.clone()), &options).unwrap();
        let Err(Error::Read(error)) = scene(&file, &[address]) else {
            panic!("{address} fits");
        };
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    }
}

use meshmap::openctm::{self, Container, Mesh, MeshBuffer};
use meshmap::{Options, Result, Scratch, Source};

use super::caller::Caller;
use super::look::{Look, Seen};

pub(super) fn calls(
    bodies: &Container,
    source: &Source,
    options: &Options,
    caller: &mut impl Caller,
) {
    let looks = caller.looks();
    caller.call("Mesh::from_source", || Mesh::at(source, 0, options));
    caller.call("bodies", || {
        let mut seen = Seen::new(looks);
        for mesh in openctm::bodies(source.clone(), options)? {
            seen.add(&mesh);
        }
        Ok(seen)
    });
    fn each<T: Look>(
        bodies: &Container,
        caller: &mut impl Caller,
        name: &str,
        job: impl FnMut(&Mesh) -> Result<T>,
    ) {
        caller.each(name, bodies.meshes(), job);
    }
    each(bodies, caller, "body.items", |mesh| {
        Ok(mesh.items().count())
    });
    each(bodies, caller, "body.header", |mesh| {
        Ok(format!(
            "{:?} {:?} {:?} {mesh:?}",
            mesh.header(),
            mesh.method(),
            mesh.mg2_header()
        ))
    });
    each(bodies, caller, "body.raw_triangles", |mesh| {
        mesh.raw_triangles()
    });
    each(bodies, caller, "body.comment", |mesh| mesh.comment());
    each(bodies, caller, "body.blocks", |mesh| Ok(mesh.blocks()));
    each(bodies, caller, "body.positions", |mesh| mesh.positions());
    each(bodies, caller, "body.triangles", |mesh| mesh.triangles());
    each(bodies, caller, "body.normals", |mesh| mesh.normals());
    each(bodies, caller, "body.arrays", |mesh| mesh.arrays());
    each(bodies, caller, "body.uv_maps", |mesh| {
        let mut seen = Seen::new(looks);
        for map in mesh.uv_maps() {
            seen.add(&((map.name(), map.file()), format!("{:?}", map.precision())));
            seen.add(&map.read());
        }
        Ok(seen)
    });
    each(bodies, caller, "body.attribute_maps", |mesh| {
        let mut seen = Seen::new(looks);
        for map in mesh.attribute_maps() {
            seen.add(&(map.name(), format!("{:?}", map.precision())));
            seen.add(&map.read());
        }
        Ok(seen)
    });
    let (mut buffer, mut scratch) = (MeshBuffer::default(), Scratch::default());
    each(bodies, caller, "body.arrays_into", |mesh| {
        mesh.arrays_into(&mut buffer, &mut scratch)?;
        Ok(buffer.positions.len())
    });
    drop((buffer, scratch));
    each(bodies, caller, "body.decode_all", |mesh| {
        Ok(meshmap::decode_all(mesh.source(), &mesh.blocks(), options))
    });
    each(bodies, caller, "body.validate", |mesh| mesh.validate());
    each(bodies, caller, "body.view", |mesh| mesh.view());
    each(bodies, caller, "body.load", |mesh| mesh.load());
}

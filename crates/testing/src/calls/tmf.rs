use meshmap::Result;
use meshmap::tmf::{CustomValues, Document, Mesh, Packed, PackedElement};

use super::caller::{Caller, few};
use super::look::{Look, Seen};

pub(super) fn calls(document: &Document, caller: &mut impl Caller) {
    let looks = caller.looks();
    fn each<T: Look>(
        document: &Document,
        caller: &mut impl Caller,
        name: &str,
        job: impl FnMut(Mesh) -> Result<T>,
    ) {
        caller.each(name, document.meshes(), job);
    }
    fn decoded<T: PackedElement>(array: Option<Packed<T>>, looks: bool) -> Result<Seen> {
        let mut seen = Seen::new(looks);
        seen.add(&array.map(|array| array.read()).transpose()?);
        Ok(seen)
    }
    fn single<T: PackedElement>(array: Option<Packed<T>>) -> Result<usize> {
        let Some(array) = array else { return Ok(0) };
        let mut found = 0;
        for index in few(array.len()) {
            found += usize::from(array.get(index)?.is_some());
        }
        Ok(found + array.ranges().len())
    }
    caller.call("header", || {
        Ok(format!(
            "{:?} {:?}",
            document.header(),
            document.file_layout()
        ))
    });
    each(document, caller, "mesh.vertices, shown", |mesh| {
        let shown = |array: Packed<[f32; 3]>| {
            format!(
                "{} {array:?} {:?}",
                array.address(),
                array.precisions().len()
            )
        };
        Ok(mesh.positions().map(shown))
    });
    each(document, caller, "mesh by index", |mesh| {
        Ok((mesh.name(), mesh.range()))
    });
    each(document, caller, "mesh.segments", |mesh| {
        Ok(mesh.segments().filter(|one| one.data.end > 0).count())
    });
    each(document, caller, "mesh.vertices", |mesh| {
        decoded(mesh.positions(), looks)
    });
    each(document, caller, "mesh.normals", |mesh| {
        decoded(mesh.normals(), looks)
    });
    each(document, caller, "mesh.uvs", |mesh| {
        decoded(mesh.texcoords(0), looks)
    });
    each(document, caller, "mesh.tangents", |mesh| {
        decoded(mesh.tangents(), looks)
    });
    each(document, caller, "mesh.vertex_triangles", |mesh| {
        decoded(mesh.position_indices(), looks)
    });
    each(document, caller, "mesh.normal_triangles", |mesh| {
        decoded(mesh.normal_indices(), looks)
    });
    each(document, caller, "mesh.uv_triangles", |mesh| {
        decoded(mesh.texcoord_indices(), looks)
    });
    each(document, caller, "mesh.tangent_triangles", |mesh| {
        decoded(mesh.tangent_indices(), looks)
    });
    each(document, caller, "mesh.vertices, one", |mesh| {
        single(mesh.positions())
    });
    each(document, caller, "mesh.vertex_triangles, one", |mesh| {
        single(mesh.position_indices())
    });
    each(document, caller, "mesh.vertices, iterated", |mesh| {
        let mut seen = Seen::new(looks);
        mesh.positions()
            .iter()
            .flat_map(Packed::iter)
            .for_each(|one| seen.add(&one.map(drop)));
        Ok(seen)
    });
    each(document, caller, "mesh.triangles", |mesh| {
        let mut seen = Seen::new(looks);
        [
            mesh.position_indices(),
            mesh.normal_indices(),
            mesh.texcoord_indices(),
        ]
        .iter()
        .for_each(|array| seen.add(&array.as_ref().map(Packed::read).transpose()));
        Ok(seen)
    });
    each(document, caller, "mesh.custom", |mesh| {
        Ok(mesh.custom()?.len())
    });
    each(document, caller, "mesh.custom, decoded", |mesh| {
        let mut seen = Seen::new(looks);
        for custom in mesh.custom()? {
            match custom.values {
                CustomValues::Index(values) | CustomValues::Integer(values) => {
                    seen.add(&values.read())
                }
                CustomValues::Float(values) => seen.add(&values.read()),
                CustomValues::ColorRgba(values) => seen.add(&values.read()),
                _ => {}
            }
        }
        Ok(seen)
    });
    each(document, caller, "mesh.vertex_remap", |mesh| {
        mesh.vertex_remap()
    });
    each(document, caller, "mesh.view", |mesh| mesh.view());
    each(document, caller, "mesh.load", |mesh| mesh.load());
}

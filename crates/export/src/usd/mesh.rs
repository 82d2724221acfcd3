//! What all meshes have.

use super::prim::{Prim, Property, Value};

/// A mesh of triangles that are seen from both sides, as they are.
pub(super) fn mesh(name: String) -> Prim {
    let word = |name, word: &'static str| Property::uniform(name, "token", Value::Token(word.into()));
    Prim::new("Mesh", name)
        .with(Property::uniform("doubleSided", "bool", Value::Bool(true)))
        .with(word("orientation", "rightHanded"))
        .with(word("subdivisionScheme", "none"))
}

/// The box around points; of none, the one that USD takes for empty.
pub(super) fn extent(points: &[[f32; 3]]) -> [[f32; 3]; 2] {
    let mut extent = [[f32::MAX; 3], [f32::MIN; 3]];
    let [least, most] = &mut extent;
    for point in points {
        for ((least, most), number) in least.iter_mut().zip(&mut *most).zip(point) {
            *least = least.min(*number);
            *most = most.max(*number);
        }
    }
    extent
}

/// The name of a set of texture coordinates, among the primvars.
pub(super) fn coordinates(set: usize) -> String {
    if set == 0 { "st".to_owned() } else { format!("st{set}") }
}

/// The name of the property that holds a primvar.
pub(super) fn primvar(name: &str) -> String {
    format!("primvars:{name}")
}

//! Comparisons of written files, and of their parts, with the scene.

pub(crate) mod gltf;
pub(crate) mod joined;
mod materials;
pub(crate) mod objects;
mod root;
mod skeletons;
mod skins;
mod times;
mod tobj;
pub(crate) mod usd;

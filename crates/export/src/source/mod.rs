//! Questions that all writers ask of a mesh file: the meshes and values to write, and the conventions to assume.

pub(crate) mod assume;
pub(crate) mod check;
pub(crate) mod names;
pub(crate) mod read;
pub(crate) mod select;
pub(crate) mod topology;

//! Meshes as a renderer sees them, whatever the format.

mod attribute;
mod attribute_list;
mod bounds;
mod component;
mod convert;
mod dequant;
mod entry;
mod group;
mod indices;
mod layout;
mod load;
mod material_group;
mod materials;
mod packed;
mod place;
mod remap;
mod round;
pub(crate) mod scan;
mod semantic;
mod texture;
mod turn;
mod used;
mod vertex_format;
mod view;
mod write;

pub use attribute::Attribute;
pub use bounds::Bounds;
pub use dequant::Dequant;
pub use entry::Role;
pub use entry::{MeshCounts, MeshEntry};
pub use indices::{IndexFormat, Indices};
pub use layout::{LayoutAttribute, VertexLayout};
pub use material_group::MaterialGroup;
pub(crate) use remap::CornerRemap;
pub use remap::VertexRemap;
pub use semantic::{AttributeInfo, Semantic};
pub use texture::texture_paths;
pub use vertex_format::VertexFormat;
pub use view::MeshView;
pub use write::WriteResult;

pub(crate) use attribute_list::{AttributeList, LoadAttribute};
pub(crate) use component::component_to_f64;
pub(crate) use entry::Entries;
pub(crate) use load::Loaded;
pub(crate) use used::UsedVertices;

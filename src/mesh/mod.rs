//! Meshes as a renderer sees them, whatever the format.

mod attribute;
mod bounds;
mod component;
mod convert;
mod dequant;
mod entry;
mod indices;
mod layout;
mod place;
mod remap;
pub(crate) mod scan;
mod semantic;
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
pub(crate) use remap::CornerRemap;
pub use remap::{VertexRemap, VertexUses};
pub use semantic::{AttributeInfo, Semantic};
pub use vertex_format::VertexFormat;
pub use view::MaterialGroup;
pub use view::MeshView;
pub use write::WriteResult;

pub(crate) use component::component_to_f64;
pub(crate) use entry::Entries;
pub(crate) use view::AttributeList;
pub(crate) use view::LoadAttribute;

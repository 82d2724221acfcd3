//! Meshes as a renderer sees them, whatever the format.

mod attribute;
mod attribute_list;
mod bounds;
mod component;
mod convert;
mod dequant;
mod entry;
mod indices;
mod layout;
mod material;
mod place;
mod remap;
mod role;
pub(crate) mod scan;
mod semantic;
mod vertex_format;
mod view;

pub use attribute::Attribute;
pub use bounds::Bounds;
pub use dequant::Dequant;
pub use entry::MeshEntry;
pub use indices::{IndexFormat, Indices};
pub use layout::{LayoutAttribute, VertexLayout};
pub use material::MaterialGroup;
pub use remap::{VertexRemap, VertexUses};
pub use role::Role;
pub use semantic::{AttributeInfo, Semantic};
pub use vertex_format::VertexFormat;
pub use view::MeshView;

pub(crate) use attribute_list::AttributeList;
pub(crate) use entry::Entries;
pub(crate) use view::LoadAttribute;

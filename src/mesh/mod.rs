//! Meshes as a renderer sees them, whatever the format.

mod attribute;
mod attribute_list;
mod bounds;
mod convert;
mod indices;
mod remap;
mod role;
pub(crate) mod scan;
mod semantic;
mod vertex_format;
mod view;

pub use attribute::Attribute;
pub use bounds::Bounds;
pub use convert::Dequant;
pub use indices::{IndexFormat, Indices};
pub use remap::{MaterialGroup, VertexRemap, VertexUses};
pub use role::Role;
pub use semantic::{AttributeInfo, Semantic};
pub use vertex_format::VertexFormat;
pub use view::MeshView;

pub(crate) use attribute_list::AttributeList;
pub(crate) use view::LoadAttribute;

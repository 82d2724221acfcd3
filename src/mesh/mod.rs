//! Meshes as a renderer sees them, whatever the format.
//!
//! * `view` has [`MeshView`]: attributes, indices, materials (`materials`, `material_group`) and bounds of one mesh. Vertices and
//!   triangles have the number and the order of the file: nothing is merged, reordered, flipped or scaled unless the caller asks for it.
//! * `load`, `group` and `turn` make views of the attributes of another view: decoded once, with the vertices of one material (`used`),
//!   in other conventions. `attribute_list` has the trait for such attributes.
//! * `layout` describes a vertex buffer. `vertex_writer` fills it with blocks of vertices, one attribute after the other;
//!   `convert_elements` converts the elements of a block, and `interleave` copies them to the vertices. `component` is the plain
//!   implementation that tests compare. `gather` does the same for arrays of snapshots.
//! * `remap` makes one index of several, for formats that have an index for each attribute.
//! * `texture` has the paths at which the image of a name may be; `winding` compares triangles with normals; `influences` are joints and
//!   weights as programs draw them.

mod attribute;
mod attribute_list;
mod bounds;
mod color;
mod component;
mod convert_elements;
mod dequant;
mod entry;
mod gather;
mod group;
mod indices;
mod influences;
mod interleave;
mod layout;
mod load;
mod material_group;
mod materials;
mod remap;
pub(crate) mod scan;
mod semantic;
mod texture;
mod turn;
mod used;
mod vector;
mod vertex_format;
mod vertex_writer;
mod view;
mod winding;
mod write_callback;

pub use attribute::Attribute;
pub use bounds::Bounds;
pub use color::colors_to_linear;
pub use dequant::Dequant;
pub use entry::Role;
pub use entry::{MeshCounts, MeshEntry};
pub(crate) use indices::is_degenerate;
pub use indices::{IndexFormat, Indices};
pub use influences::Influences;
pub use layout::{LayoutAttribute, VertexLayout};
pub use material_group::MaterialGroup;
pub(crate) use remap::CornerRemap;
pub use remap::VertexRemap;
pub use semantic::{AttributeInfo, Semantic};
pub use texture::texture_paths;
pub use vertex_format::VertexFormat;
pub use view::MeshView;
pub use write_callback::WriteResult;

pub(crate) use attribute_list::{AttributeList, LoadAttribute};
pub(crate) use component::component_to_f64;
pub(crate) use entry::Entries;
pub(crate) use gather::{Gather, stored};
pub(crate) use load::Loaded;
pub(crate) use used::UsedVertices;
pub(crate) use vector::{cross, dot};
pub(crate) use winding::{is_against, step};

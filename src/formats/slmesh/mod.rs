//! Second Life mesh assets, as the viewer and the grid's services exchange them.
//!
//! A header of binary LLSD has the range of every block: four levels of detail, physics, and a skin. Each block is LLSD
//! again, compressed. Specification: "Mesh/Mesh Asset Format" in the wiki of Second Life. Where it is silent or outdated,
//! this module does what the viewer does, and says so. (Blocks are zlib, not "gzip'd"; gzip is read as well. Joints above
//! 31 are common.)
//!
//! * **Axes**: right-handed, Z up, as in the viewer. **Units**: a unit cube, scaled by the object's size; up to rounding,
//!   positions lie in -0.5 to 0.5.
//! * **Winding**: front faces counter-clockwise, as the two public files from the grid's tools have them; the
//!   specification does not say. Files that other programs made for tests are clockwise.
//! * **Texture coordinates**: V up, as in the COLLADA document that one of these files was uploaded from.
//! * [`Format::conventions`](crate::Format::conventions) has all of this as values.
//! * **Weights** are as stored; see [`WeightScale`].
//!
//! Opening reads the header; each block is read from its own bytes and inflated when it is needed. The integers of a
//! [`Face`] are then views of the inflated block; its floats are the viewer's, bit for bit. Decoding checks lengths;
//! that indices are in range is checked by [`Face::indices`], [`Face::view`] and [`Asset::validate`]. A block has
//! at most 4,096 faces, a header as many keys, a skin as many joints.
//!
//! # Examples
//!
//! ```
//! use meshmap::slmesh::{Asset, Lod};
//!
//! let asset = Asset::open("tests/data/slmesh/valid/nodemv_02_static_4lod.slmesh")?;
//! let wanted = asset.best_lod(Lod::Medium).expect("some level of detail");
//! let mesh = asset.lod(wanted)?.expect("it is there");
//! for face in mesh.faces().filter(|face| face.has_geometry()) {
//!     let positions = face.positions()?;
//!     let indices = face.indices()?;
//!     assert!(indices.iter().all(|index| usize::from(index) < positions.len()));
//! }
//! # Ok::<(), meshmap::Error>(())
//! ```

mod array_list;
mod asset;
mod avatar;
mod bind_pose;
mod blocks;
mod buffer;
mod containers;
mod decode_all;
mod face;
mod face_layout;
mod fields;
#[cfg(feature = "hash")]
mod hash;
mod keys;
mod layout;
pub mod llsd;
mod mesh;
mod physics;
mod place;
pub(crate) mod rules;
mod skin;
mod validate;
mod view;
mod weights;

pub use asset::Asset;
pub use avatar::joint_parents;
pub use bind_pose::{BindPose, BindShape, BoundJoint};
pub use buffer::{FaceBuffer, MeshBuffer};
pub use containers::{CacheEntry, UploadCache};
pub use decode_all::Decoded;
pub use face::Face;
pub use face_layout::Domain;
pub use keys::Lod;
pub use layout::Entry;
pub use mesh::Mesh;
pub use physics::{Hull, PhysicsConvex};
pub use skin::Skin;
pub use weights::{WeightArrays, WeightScale, Weights};

pub(crate) use layout::detect;

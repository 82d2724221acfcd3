#![doc = include_str!("../README.md")]
// `dump` prints what an app gets, `examples` draws files to PNGs, and `web` runs in a browser.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     error label settings assets: errors, labels, settings, and the assets of a file
//     skeleton hidden: joints; what is not shown
//     convert image: one group of a shape as a mesh; the images of materials
//     animation scene standard read: clips, the world of a file, materials of the renderer, and the bytes of an asset
//     loader: the loader
//     stream reload: snapshots in meshes, and replaced files
//     plugin: what an app adds
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

mod animation;
mod assets;
mod convert;
mod error;
mod hidden;
mod image;
mod label;
mod loader;
mod plugin;
mod read;
mod reload;
mod scene;
mod settings;
mod skeleton;
#[cfg(feature = "pbr")]
mod standard;
mod stream;

pub use assets::{
    MeshmapAnimation, MeshmapFile, MeshmapMaterial, MeshmapMesh, MeshmapPrimitive, MeshmapSkin,
};
pub use error::MeshmapError;
pub use label::MeshmapLabel;
pub use loader::MeshmapLoader;
pub use meshmap;
pub use plugin::MeshmapPlugin;
pub use settings::{Axes, DamagedParts, Levels, MeshParts, MeshmapSettings};
pub use stream::{
    ATTRIBUTE_PREVIOUS_POSITION, Interpolation, MotionVectors, StreamCache, StreamStats,
    StreamedProxy,
};

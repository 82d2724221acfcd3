//! Materials of Bevy's renderer.

use bevy_asset::LoadContext;
use bevy_image::{ImageAddressMode, ImageLoaderSettings, ImageSampler, ImageSamplerDescriptor};
use bevy_pbr::StandardMaterial;

use crate::assets::MeshmapMaterial;

/// The material as Bevy's renderer has it. `knows_fronts`: the format defines which side of triangles is the front.
pub(crate) fn material(
    material: &MeshmapMaterial,
    knows_fronts: bool,
    context: &mut LoadContext<'_>,
) -> StandardMaterial {
    let mut standard = StandardMaterial {
        base_color: material.color,
        perceptual_roughness: 0.8,
        unlit: material.unlit,
        ..StandardMaterial::default()
    };
    if !knows_fronts {
        standard.cull_mode = None;
    }
    if let Some(path) = &material.image_path {
        let image = context.load_builder().with_settings(repeat).load(path);
        standard.base_color_texture = Some(image);
    }
    standard
}

/// Texture coordinates beyond the edge of an image repeat it.
fn repeat(settings: &mut ImageLoaderSettings) {
    settings.sampler = ImageSampler::Descriptor(ImageSamplerDescriptor {
        address_mode_u: ImageAddressMode::Repeat,
        address_mode_v: ImageAddressMode::Repeat,
        ..ImageSamplerDescriptor::linear()
    });
}

//! The scene of a glTF file, and what its nodes and meshes have in common.

use std::io::Read;
use std::path::Path;

use meshmap::Axis;
use meshmap_images::{Alpha, Kind};
use meshmap_job::{Result, Turn, up_of};
use meshmap_outputs::open_regular;
use meshmap_scene::matrix::quaternion;

use super::document::{
    Image, Index, Material, Node, Roots, Surface, Texture, TextureExtensions, TextureInfo,
    WebpSource,
};
use super::file::{Gltf, OF_LIST_ITEM, OF_NODE, Use, escaped};
use crate::images;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::rig::REST;
use crate::settings::ROUGHNESS;

/// The root of the scene.
pub(super) struct Rules {
    up: Axis,
    turn: Turn,
}

impl Rules {
    pub(super) fn of(plan: &Plan<'_>, outcome: &mut Outcome) -> Self {
        Self {
            up: up_of(plan.scene, &mut outcome.report),
            turn: plan.job.turn,
        }
    }
}

/// Writes the scene: a root with the rotation and the scale, and the additional nodes that may not be its children.
pub(super) fn finish_scene(
    gltf: &mut Gltf,
    name: String,
    rules: &Rules,
    metres: f64,
    mut children: Vec<Index>,
    beside: Vec<Index>,
) -> Result<()> {
    children.extend(gltf.rest);
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let axes = axes.map(|axis| rules.turn.about(Axis::Y, rules.up.rotate_to(Axis::Y, axis)));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the nearest is what is written"
    )]
    let rotation = quaternion(axes).map(|number| number as f32 + 0.0);
    let rotation = (rotation != [0.0, 0.0, 0.0, 1.0]).then_some(rotation);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the nearest is what is written"
    )]
    let scale = (metres != 1.0).then_some([metres as f32; 3]);
    gltf.charge(children.len() + beside.len(), OF_LIST_ITEM)?;
    let root = Node {
        name,
        rotation,
        scale,
        children,
        ..Node::default()
    };
    let mut nodes = vec![add_node(gltf, root)?];
    nodes.extend(beside);
    gltf.document.scenes.push(Roots { nodes });
    gltf.document.scene = Some(0);
    Ok(())
}

/// The joint for vertices that follow no other, if a mesh has some: a child of the root that no animation moves.
pub(super) fn rest_joint(is_needed: bool, gltf: &mut Gltf) -> Result<Option<Index>> {
    if is_needed && gltf.rest.is_none() {
        let node = Node {
            name: REST.to_owned(),
            ..Node::default()
        };
        gltf.rest = Some(add_node(gltf, node)?);
    }
    Ok(gltf.rest.filter(|_| is_needed))
}

/// Adds a node without a transform.
pub(super) fn add_node(gltf: &mut Gltf, node: Node) -> Result<Index> {
    gltf.charge_named(OF_NODE, &node.name)?;
    gltf.document.nodes.push(node);
    Ok(gltf.document.nodes.len() - 1)
}

/// The material of this name, which is added if it is new; the empty name is for meshes without a material.
///
/// Without a material or factors, glTF has a metal with a roughness of 1, which is black unless an environment is reflected.
pub(super) fn material(
    gltf: &mut Gltf,
    name: &str,
    image: Option<&images::Texture>,
) -> Result<Index> {
    let key = (name.to_owned(), image.is_some());
    if let Some(index) = gltf.materials.get(&key) {
        return Ok(*index);
    }
    gltf.charge_named(OF_NODE, name)?;
    let base_color_texture = image.map(|image| texture(gltf, image)).transpose()?;
    let index = gltf.document.materials.len();
    gltf.document.materials.push(Material {
        name: name.to_owned(),
        double_sided: true,
        alpha_mode: image.and_then(|image| alpha_mode(image.alpha)),
        pbr_metallic_roughness: Surface {
            base_color_texture,
            metallic_factor: 0.0,
            roughness_factor: ROUGHNESS,
        },
    });
    gltf.materials.insert(key, index);
    Ok(index)
}

/// The use of the alpha channel of an image; `None` for the default.
fn alpha_mode(alpha: Alpha) -> Option<&'static str> {
    match alpha {
        Alpha::Mask => Some("MASK"),
        Alpha::Blend => Some("BLEND"),
        _ => None,
    }
}

/// Writes the bytes of a file.
fn view_of_file(gltf: &mut Gltf, path: &Path) -> Result<Index> {
    let _scope = gltf.budget.scope();
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    gltf.budget.charge(length, "image")?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    (&mut file).take(length).read_to_end(&mut bytes)?;
    gltf.view(&bytes, Use::Other)
}

/// Adds an image and the texture of it.
fn texture(gltf: &mut Gltf, texture: &images::Texture) -> Result<TextureInfo> {
    if let Some(index) = gltf.textures.get(&texture.image) {
        return Ok(TextureInfo { index: *index });
    }
    let image = match &texture.reference {
        Some(path) => {
            gltf.charge_named(OF_NODE, path)?;
            // Colons would make the first part of a path a scheme: they are escaped as well.
            let uri = path.split('/').map(escaped).collect::<Vec<_>>().join("/");
            Image {
                uri: Some(uri),
                ..Image::default()
            }
        }
        None => {
            let view = match &texture.png {
                Some(png) => gltf.view(png, Use::Other)?,
                None => view_of_file(gltf, &texture.image)?,
            };
            gltf.charge(1, OF_NODE)?;
            Image {
                uri: None,
                mime_type: Some(texture.kind.mime_type()),
                buffer_view: Some(view),
            }
        }
    };
    let document = &mut gltf.document;
    document.images.push(image);
    let source = document.images.len() - 1;
    document.textures.push(if texture.kind == Kind::Webp {
        document.extensions_used.insert("EXT_texture_webp");
        document.extensions_required.insert("EXT_texture_webp");
        Texture {
            source: None,
            extensions: Some(TextureExtensions {
                webp: WebpSource { source },
            }),
        }
    } else {
        Texture {
            source: Some(source),
            extensions: None,
        }
    });
    let index = document.textures.len() - 1;
    gltf.textures.insert(texture.image.clone(), index);
    Ok(TextureInfo { index })
}

//! The JSON of a glTF file, as far as it is written here; names are from the specification.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde::{Serialize, Serializer};

/// Index of something in the list of its kind.
pub(super) type Index = usize;

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    pub(super) asset: Asset,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) extensions_used: BTreeSet<&'static str>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) extensions_required: BTreeSet<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scene: Option<Index>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) scenes: Vec<Roots>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) nodes: Vec<Node>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) meshes: Vec<Mesh>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) materials: Vec<Material>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) textures: Vec<Texture>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<Image>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) skins: Vec<Skin>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) animations: Vec<Animation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) accessors: Vec<Accessor>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) buffer_views: Vec<BufferView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) buffers: Vec<Buffer>,
}

#[derive(Serialize)]
pub(super) struct Asset {
    version: &'static str,
    generator: &'static str,
}

impl Default for Asset {
    fn default() -> Self {
        Self {
            version: "2.0",
            generator: "meshmap",
        }
    }
}

/// A scene: the nodes without a parent.
#[derive(Serialize)]
pub(super) struct Roots {
    pub(super) nodes: Vec<Index>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Node {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mesh: Option<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) skin: Option<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) matrix: Option<[f32; 16]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) translation: Option<[f32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rotation: Option<[f32; 4]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scale: Option<[f32; 3]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) children: Vec<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extensions: Option<NodeExtensions>,
}

#[derive(Serialize)]
pub(super) struct NodeExtensions {
    #[serde(rename = "MSFT_lod")]
    pub(super) lod: Coarser,
}

/// Nodes that replace another node if it is small on the screen, finer ones first.
#[derive(Serialize)]
pub(super) struct Coarser {
    pub(super) ids: Vec<Index>,
}

#[derive(Serialize)]
pub(super) struct Mesh {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    pub(super) primitives: Vec<Primitive>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) weights: Vec<f32>,
}

#[derive(Serialize)]
pub(super) struct Primitive {
    pub(super) attributes: BTreeMap<String, Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) indices: Option<Index>,
    /// 0 for points; triangles without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) material: Option<Index>,
    /// Shared by primitives that share their vertices.
    #[serde(skip_serializing_if = "no_targets", serialize_with = "targets")]
    pub(super) targets: Rc<Vec<Target>>,
}

/// A morph target: an accessor for each attribute that it moves.
pub(super) type Target = BTreeMap<&'static str, Index>;

fn no_targets(targets: &Rc<Vec<Target>>) -> bool {
    targets.is_empty()
}

fn targets<S: Serializer>(targets: &Rc<Vec<Target>>, serializer: S) -> Result<S::Ok, S::Error> {
    targets.as_slice().serialize(serializer)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Material {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    pub(super) double_sided: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) alpha_mode: Option<&'static str>,
    pub(super) pbr_metallic_roughness: Surface,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Surface {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) base_color_texture: Option<TextureInfo>,
    pub(super) metallic_factor: f32,
    pub(super) roughness_factor: f32,
}

#[derive(Serialize)]
pub(super) struct TextureInfo {
    pub(super) index: Index,
}

#[derive(Default, Serialize)]
pub(super) struct Texture {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extensions: Option<TextureExtensions>,
}

#[derive(Serialize)]
pub(super) struct TextureExtensions {
    #[serde(rename = "EXT_texture_webp")]
    pub(super) webp: WebpSource,
}

#[derive(Serialize)]
pub(super) struct WebpSource {
    pub(super) source: Index,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Image {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) buffer_view: Option<Index>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Skin {
    pub(super) inverse_bind_matrices: Index,
    pub(super) joints: Vec<Index>,
}

#[derive(Serialize)]
pub(super) struct Animation {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    pub(super) channels: Vec<Channel>,
    pub(super) samplers: Vec<Sampler>,
}

#[derive(Serialize)]
pub(super) struct Channel {
    pub(super) sampler: Index,
    pub(super) target: ChannelTarget,
}

#[derive(Serialize)]
pub(super) struct ChannelTarget {
    pub(super) node: Index,
    pub(super) path: &'static str,
}

#[derive(Serialize)]
pub(super) struct Sampler {
    pub(super) input: Index,
    pub(super) output: Index,
    pub(super) interpolation: &'static str,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Accessor {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) buffer_view: Option<Index>,
    pub(super) component_type: u32,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) normalized: bool,
    pub(super) count: usize,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) min: Vec<f32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) max: Vec<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sparse: Option<Sparse>,
}

#[derive(Serialize)]
pub(super) struct Sparse {
    pub(super) count: usize,
    pub(super) indices: SparseIndices,
    pub(super) values: SparseValues,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparseIndices {
    pub(super) buffer_view: Index,
    pub(super) component_type: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparseValues {
    pub(super) buffer_view: Index,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BufferView {
    pub(super) buffer: Index,
    pub(super) byte_offset: u64,
    pub(super) byte_length: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) byte_stride: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<u32>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Buffer {
    pub(super) byte_length: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

//! The cost of simulating an asset.

use super::asset::Asset;

/// The cost of simulating the asset: "physics_cost_data".
///
/// The simulator fills it in. Each field is `None` if it is absent or not a number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CostData {
    /// "mesh": a matrix of three by three.
    pub mesh: Option<[f32; 9]>,
    /// "mesh_triangles"
    pub mesh_triangles: Option<i64>,
    /// "hull"
    pub hull: Option<f32>,
    /// "hull_discounted_vertices"
    pub hull_discounted_vertices: Option<i64>,
    /// "decomposition"
    pub decomposition: Option<f32>,
    /// "decomposition_hulls"
    pub decomposition_hulls: Option<i64>,
    /// "decomposition_discounted_vertices"
    pub decomposition_discounted_vertices: Option<i64>,
}

const KEYS: [&str; 7] = [
    "mesh",
    "mesh_triangles",
    "hull",
    "hull_discounted_vertices",
    "decomposition",
    "decomposition_hulls",
    "decomposition_discounted_vertices",
];

impl Asset {
    /// "physics_cost_data"; `None` if it is absent or not a map.
    #[must_use]
    pub fn cost_data(&self) -> Option<CostData> {
        let fields = self.layout().value("physics_cost_data", "physics_cost_data")?.fields(&KEYS).ok()?;
        let [mesh, triangles, hull, hull_vertices, decomposition, hulls, vertices] = fields.values;
        Some(CostData {
            mesh: mesh.and_then(|value| value.numbers().ok()),
            mesh_triangles: triangles.and_then(|value| value.integer().ok()),
            hull: hull.and_then(|value| value.number().ok()),
            hull_discounted_vertices: hull_vertices.and_then(|value| value.integer().ok()),
            decomposition: decomposition.and_then(|value| value.number().ok()),
            decomposition_hulls: hulls.and_then(|value| value.integer().ok()),
            decomposition_discounted_vertices: vertices.and_then(|value| value.integer().ok()),
        })
    }
}

//! What it costs to simulate an asset.

use super::asset::Asset;
use super::llsd::Event;

/// What it costs to simulate the asset, which the simulator fills in: "physics_cost_data". All are `None` where they
/// are absent or no numbers.
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

impl Asset {
    /// "physics_cost_data"; `None` where it is absent, or no map.
    #[must_use]
    pub fn cost_data(&self) -> Option<CostData> {
        const KEYS: [&str; 7] = [
            "mesh",
            "mesh_triangles",
            "hull",
            "hull_discounted_vertices",
            "decomposition",
            "decomposition_hulls",
            "decomposition_discounted_vertices",
        ];
        let fields = self.layout().value("physics_cost_data", "physics_cost_data")?.fields(&KEYS).ok()?;
        let number = |key| match fields.get(key)?.event().ok()? {
            Event::Real(real) => Some(super::fields::single(real)),
            Event::Integer(integer) => Some(super::fields::single(integer.into())),
            _ => None,
        };
        let integer = |key| fields.get(key)?.integer().ok();
        Some(CostData {
            mesh: fields.get(0).and_then(|value| value.numbers().ok()),
            mesh_triangles: integer(1),
            hull: number(2),
            hull_discounted_vertices: integer(3),
            decomposition: number(4),
            decomposition_hulls: integer(5),
            decomposition_discounted_vertices: integer(6),
        })
    }
}

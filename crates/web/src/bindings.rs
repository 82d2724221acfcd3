//! The exports of the module: `Session` and `Reply`, with numbers as JavaScript has them.

use wasm_bindgen::prelude::*;

use crate::failure::Failure;
use crate::scene::Selection;
use crate::vertices::Wanted;
use crate::{reply, session};

type Outcome<T> = Result<T, JsValue>;

/// A failure is thrown as its JSON.
fn throw(failure: Failure) -> JsValue {
    JsValue::from_str(&failure.to_json())
}

fn reply(outcome: Result<Option<reply::Reply>, Failure>) -> Outcome<Option<Reply>> {
    outcome.map(|reply| reply.map(Reply)).map_err(throw)
}

/// The result of a job.
#[wasm_bindgen]
pub struct Reply(reply::Reply);

#[wasm_bindgen]
impl Reply {
    /// The JSON object.
    pub fn json(&self) -> String {
        self.0.json.clone()
    }

    /// The number of arrays.
    pub fn count(&self) -> usize {
        self.0.arrays.len()
    }

    /// An array, which leaves the module; nothing if there is no such array.
    pub fn take(&mut self, index: usize) -> Vec<u8> {
        self.0
            .arrays
            .get_mut(index)
            .map(std::mem::take)
            .unwrap_or_default()
    }
}

/// A file that is read by ranges.
#[wasm_bindgen]
pub struct Session(session::Session);

#[wasm_bindgen]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is no offset saturates"
)]
impl Session {
    /// A file of this length, or of an unknown one.
    #[wasm_bindgen(constructor)]
    pub fn new(
        length: Option<f64>,
        max_block_bytes: f64,
        max_total_bytes: f64,
        max_prefetched_bytes: f64,
    ) -> Self {
        let settings = session::Settings {
            max_block_bytes: max_block_bytes as u64,
            max_total_bytes: max_total_bytes as u64,
            max_prefetched_bytes: max_prefetched_bytes as u64,
        };
        Self(session::Session::new(
            length.map(|length| length as u64),
            settings,
        ))
    }

    pub fn set_length(&self, length: f64) -> Outcome<()> {
        self.0.set_length(length as u64).map_err(throw)
    }

    pub fn supply(&self, offset: f64, bytes: Vec<u8>) -> Outcome<()> {
        self.0.supply(offset as u64, bytes).map_err(throw)
    }

    /// Start and end of each range.
    pub fn needed(&self, gap: f64, first: f64, whole: f64, ahead: f64) -> Vec<f64> {
        let ranges = self.0.needed(session::Pieces {
            gap: gap as u64,
            first: first as u64,
            whole: whole as u64,
            ahead: ahead as u64,
        });
        ranges
            .iter()
            .flat_map(|range| [range.start as f64, range.end as f64])
            .collect()
    }

    pub fn held(&self) -> f64 {
        self.0.held() as f64
    }

    pub fn forget(&self) {
        self.0.forget();
    }

    pub fn open(&mut self) -> Outcome<Option<Reply>> {
        reply(self.0.open())
    }

    pub fn list(&mut self, level: &str, start: usize, end: usize) -> Outcome<Option<Reply>> {
        reply(self.0.list(level, start..end))
    }

    /// `attributes` has a name in each line; without any, all are read.
    pub fn mesh(
        &mut self,
        address: &str,
        quantized: bool,
        by_material: bool,
        attributes: &str,
        linear_colors: bool,
    ) -> Outcome<Option<Reply>> {
        let wanted = wanted(quantized, by_material, attributes, linear_colors);
        reply(self.0.mesh(address, &wanted))
    }

    /// `up` is the name of an axis, or empty; `metres_per_unit` is 0 if the file's unit counts.
    pub fn scene(
        &mut self,
        level: &str,
        snapshot: usize,
        up: &str,
        metres_per_unit: f64,
        max_meshes: usize,
        prefetch: bool,
    ) -> Outcome<Option<Reply>> {
        let selection = Selection {
            level: level.to_owned(),
            snapshot,
            up: up.parse().ok(),
            metres_per_unit: Some(metres_per_unit).filter(|metres| *metres != 0.0),
            max_meshes,
        };
        reply(self.0.scene(&selection, prefetch))
    }

    pub fn shape(
        &mut self,
        scene: usize,
        index: usize,
        quantized: bool,
        by_material: bool,
        attributes: &str,
        linear_colors: bool,
    ) -> Outcome<Option<Reply>> {
        let wanted = wanted(quantized, by_material, attributes, linear_colors);
        reply(self.0.shape(scene, index, &wanted))
    }

    pub fn clip(&mut self, scene: usize, index: usize) -> Outcome<Option<Reply>> {
        reply(self.0.clip(scene, index))
    }

    pub fn moment(
        &mut self,
        base: usize,
        index: usize,
        with_normals: bool,
    ) -> Outcome<Option<Reply>> {
        reply(self.0.moment(base, index, with_normals))
    }

    pub fn skin(&mut self) -> Outcome<Option<Reply>> {
        reply(self.0.skin())
    }
}

fn wanted(quantized: bool, by_material: bool, attributes: &str, linear_colors: bool) -> Wanted {
    Wanted {
        quantized,
        by_material,
        attributes: attributes.lines().map(ToOwned::to_owned).collect(),
        linear_colors,
    }
}

//! The length of a unit, which the header defines in two ways that may contradict each other.

use super::header::{Properties, names};

/// The length of a unit of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnitLength {
    /// Millimetres in a unit.
    pub millimeters: f64,
    /// The evidence for the length.
    pub evidence: UnitEvidence,
}

/// The evidence for the length of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnitEvidence {
    /// From the two box sizes of the header, with which its scale agrees.
    BoxSizes,
    /// From the two box sizes of the header. Its scale is the reciprocal of their ratio, as in the published sample.
    BoxSizesScaleIsReciprocal,
    /// From the two box sizes of the header, which its scale contradicts.
    BoxSizesScaleDiffers,
    /// From only the scale, as the published text explains it.
    Scale,
}

impl UnitLength {
    /// The length of a unit by the header: by its box sizes, or else by its scale; `None` if it has neither.
    pub(super) fn of(properties: &Properties) -> Option<Self> {
        let scale = properties.number(names::SCALE).filter(|scale| *scale > 0.0);
        if let Some(ratio) = box_ratio(properties) {
            return Some(Self {
                millimeters: ratio,
                evidence: evidence_of_scale(ratio, scale),
            });
        }
        Some(Self {
            millimeters: scale?,
            evidence: UnitEvidence::Scale,
        })
    }
}

/// Millimetres per unit by the two box sizes of the header. By the longest side of the box, whose rounding error is the smallest.
fn box_ratio(properties: &Properties) -> Option<f64> {
    let units = properties.triple(names::BOX_UNITS)?;
    let millimeters = properties.triple(names::BOX_MILLIMETERS)?;
    let mut longest: Option<[f64; 2]> = None;
    for side in units.into_iter().zip(millimeters).map(<[f64; 2]>::from) {
        let [unit, millimeter] = side;
        if unit > 0.0 && millimeter > 0.0 && longest.is_none_or(|[most, _]| unit >= most) {
            longest = Some(side);
        }
    }
    let [unit, millimeter] = longest?;
    Some(millimeter / unit)
}

/// The relation of the scale to the ratio of the box sizes.
fn evidence_of_scale(ratio: f64, scale: Option<f64>) -> UnitEvidence {
    match scale {
        None => UnitEvidence::BoxSizes,
        Some(scale) if is_close(scale, ratio) => UnitEvidence::BoxSizes,
        Some(scale) if is_close(1.0 / scale, ratio) => UnitEvidence::BoxSizesScaleIsReciprocal,
        Some(_) => UnitEvidence::BoxSizesScaleDiffers,
    }
}

/// Returns `true` for numbers that differ by less than one percent.
fn is_close(a: f64, b: f64) -> bool {
    const TOLERANCE: f64 = 0.01;
    (a / b - 1.0).abs() < TOLERANCE
}

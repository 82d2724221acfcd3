//! How long a unit of the file is.

use super::header::names;
use super::proxy::Proxy;

/// The length of a unit of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnitLength {
    /// Millimetres in a unit.
    pub millimeters: f64,
    /// How that is known.
    pub evidence: UnitEvidence,
}

/// How the length of a unit is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnitEvidence {
    /// From the two box sizes of the header, with which its scale agrees.
    BoxSizes,
    /// From the two box sizes of the header. Its scale is the reciprocal of their ratio, as in the published sample.
    BoxSizesScaleIsReciprocal,
    /// From the two box sizes of the header, which its scale contradicts.
    BoxSizesScaleDiffers,
    /// From the scale alone, as the published text explains it.
    Scale,
}

impl Proxy {
    /// Millimetres in a unit, and how that is known; `None` where the header does not say (a scale of 0).
    ///
    /// The ratio of the header's two box sizes comes first. The published text explains the scale as millimetres in a
    /// unit, but its own sample stores the reciprocal.
    #[must_use]
    pub fn unit_length(&self) -> Option<UnitLength> {
        const CLOSE: f64 = 0.01;
        let scale = self.scale().filter(|scale| *scale > 0.0);
        let boxes =
            self.properties().triple(names::BOX_UNITS).zip(self.properties().triple(names::BOX_MILLIMETERS));
        let ratio = boxes.and_then(|(units, millimeters)| {
            let axes = units.into_iter().zip(millimeters);
            let longest =
                axes.filter(|(unit, mm)| *unit > 0.0 && *mm > 0.0).max_by(|a, b| a.0.total_cmp(&b.0));
            longest.map(|(unit, millimeters)| millimeters / unit)
        });
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < CLOSE;
        match (ratio, scale) {
            (Some(ratio), scale) => {
                let evidence = match scale {
                    None => UnitEvidence::BoxSizes,
                    Some(scale) if close(scale, ratio) => UnitEvidence::BoxSizes,
                    Some(scale) if close(1.0 / scale, ratio) => UnitEvidence::BoxSizesScaleIsReciprocal,
                    Some(_) => UnitEvidence::BoxSizesScaleDiffers,
                };
                Some(UnitLength { millimeters: ratio, evidence })
            }
            (None, Some(millimeters)) => Some(UnitLength { millimeters, evidence: UnitEvidence::Scale }),
            (None, None) => None,
        }
    }
}

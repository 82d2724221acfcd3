/// The meaning of a length of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Unit {
    /// This many millimetres, as the file stores it or the format defines it.
    Millimeters(f64),
    /// The format has units, and this file does not say which.
    Unknown,
    /// The format has no units: what draws such files takes 1 for a metre.
    Metres,
}

impl Unit {
    /// The length of 1 in metres, if the file knows it.
    #[must_use]
    pub fn metres(self) -> Option<f64> {
        match self {
            Self::Millimeters(millimeters) => Some(millimeters / 1000.0),
            Self::Unknown | Self::Metres => None,
        }
    }
}

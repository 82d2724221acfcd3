use std::fmt;

/// The formats that this library tells apart, by content and never by name.
///
/// | format | specification | read |
/// |---|---|---|
/// | IQM | Inter-Quake Model, versions 1 and 2 | [`iqm`] |
/// | OpenCTM | version 5 | recognised |
/// | TMF | Tight Model Format, 0.1 and 0.2 | [`tmf`] |
/// | Second Life mesh asset | the viewer's mesh asset format | [`slmesh`] |
/// | CGeo | Corona Renderer proxy | [`cgeo`] |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Corona Renderer proxy.
    CGeo,
    /// OpenCTM.
    OpenCtm,
    /// Second Life mesh asset.
    SlMesh,
    /// Inter-Quake Model.
    Iqm,
    /// Tight Model Format.
    Tmf,
}

impl Format {
    /// The name in lower case, as in errors, JSON and the names of modules.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CGeo => "cgeo",
            Self::OpenCtm => "openctm",
            Self::SlMesh => "slmesh",
            Self::Iqm => "iqm",
            Self::Tmf => "tmf",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

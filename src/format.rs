use std::fmt;

/// A mesh format, recognised by content and never by file name.
///
/// | format | versions | module |
/// |---|---|---|
/// | CGeo, Corona Renderer proxy | 4 to 7 | [`cgeo`](crate::cgeo) |
/// | IQM, Inter-Quake Model | 1 and 2 | [`iqm`](crate::iqm) |
/// | OpenCTM | 5: RAW, MG1, MG2 | [`openctm`](crate::openctm) |
/// | Second Life mesh asset | up to 0.999 | [`slmesh`](crate::slmesh) |
/// | TMF, Tight Model Format | 0.1 and 0.2 | [`tmf`](crate::tmf) |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
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
    /// All formats.
    pub const ALL: [Self; 5] = [
        Self::CGeo,
        Self::OpenCtm,
        Self::SlMesh,
        Self::Iqm,
        Self::Tmf,
    ];

    /// The name in lower case, as in errors, JSON and module names.
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

    /// The extensions of files of this format, in lower case and without the dot, the usual one first.
    ///
    /// `slm` is a viewer's upload cache, which holds whole assets.
    #[must_use]
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::CGeo => &["cgeo"],
            Self::OpenCtm => &["ctm"],
            Self::SlMesh => &["slmesh", "llmesh", "slm"],
            Self::Iqm => &["iqm"],
            Self::Tmf => &["tmf"],
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

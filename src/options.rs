use crate::codec::Decoder;
use crate::format::Format;
use crate::limits::Limits;
use crate::report::{Finding, Result, Severity};

/// How files are read; given once, when opening.
///
/// # Examples
///
/// ```
/// use meshmap::{MeshFile, Options, Strictness};
///
/// let options = Options::default().with_strictness(Strictness::Strict);
/// let file = MeshFile::open_with("tests/data/iqm/valid/skin_scale_nonuniform.iqm", &options)?;
/// assert!(file.findings().is_empty());
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How much memory may be taken.
    pub limits: Limits,
    /// What happens to files that deviate from the specification.
    pub strictness: Strictness,
    /// Whether work is spread over threads.
    pub parallelism: Parallelism,
    /// Which decoders are used.
    pub decoder: Decoder,
    /// Whether the checksums of compressed streams are compared.
    pub checksums: Checksums,
}

impl Options {
    /// These options, with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// These options, with another strictness.
    #[must_use]
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// These options, with or without threads.
    #[must_use]
    pub fn with_parallelism(mut self, parallelism: Parallelism) -> Self {
        self.parallelism = parallelism;
        self
    }

    /// These options, with other decoders.
    #[must_use]
    pub fn with_decoder(mut self, decoder: Decoder) -> Self {
        self.decoder = decoder;
        self
    }

    /// These options, with another regard for checksums.
    #[must_use]
    pub fn with_checksums(mut self, checksums: Checksums) -> Self {
        self.checksums = checksums;
        self
    }
}

/// What is done about the checksum behind a zlib or gzip stream.
///
/// Some writers of Second Life meshes leave it out or get it wrong, and some readers never look at it. Whatever is read
/// without it may be damaged: only what cannot be a stream at all is then an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checksums {
    /// One that is wrong or missing is an error.
    #[default]
    Verify,
    /// They are not looked at. (To find out the dialect of a CGeo file, they still are.)
    Ignore,
}

/// What happens to a file that deviates from its specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strictness {
    /// Deviations that can be read are read, and listed as [`Finding`](crate::Finding)s.
    #[default]
    Tolerant,
    /// Opening checks every value and refuses whatever the specification's text forbids.
    Strict,
}

/// Whether work is spread over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parallelism {
    /// Everything runs on the calling thread.
    Off,
    /// Large jobs are split over the rayon pool of the caller (the global one outside of any). The library never
    /// makes a pool. Without the feature `rayon` this is the same as [`Off`](Self::Off). Results never depend on it.
    #[default]
    Rayon,
}

/// Where reading is strict, fails for the first finding of a validation that the specification forbids.
pub(crate) fn refuse_forbidden(
    options: &Options,
    format: Format,
    validate: impl FnOnce() -> Result<Vec<Finding>>,
) -> Result<()> {
    if options.strictness == Strictness::Tolerant {
        return Ok(());
    }
    match validate()?.iter().find(|finding| finding.severity() >= Severity::Forbidden) {
        Some(finding) => Err(finding.to_error(format)),
        None => Ok(()),
    }
}

use crate::codec::Decoder;
use crate::dialect::Dialect;
use crate::format::Format;
use crate::limits::Limits;
use crate::report::{Error, ErrorKind, Finding, Result, Severity};

/// Options for reading a file, given when it is opened.
///
/// # Examples
///
/// ```
/// use meshmap::{MeshFile, Options, Source, Strictness};
///
/// let options = Options::default().with_strictness(Strictness::Strict);
/// let source = Source::open("tests/data/iqm/valid/skin_scale_nonuniform.iqm")?;
/// let file = MeshFile::from_source(source, &options)?;
/// assert!(file.findings().is_empty());
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[non_exhaustive]
pub struct Options {
    /// The maximum memory that a call may use.
    pub limits: Limits,
    /// The treatment of files that break rules of their format.
    pub strictness: Strictness,
    /// The use of several threads for large jobs.
    pub parallelism: Parallelism,
    /// The decoder that is used for each codec.
    pub(crate) decoder: Decoder,
    /// The verification of zlib and gzip checksums.
    pub checksums: Checksums,
    /// The dialect of CGeo files; `None` to find it in the file.
    pub(crate) dialect: Option<Dialect>,
    /// The highest version of Second Life meshes that is read. 999 by default: later versions are a different format.
    pub(crate) slmesh_max_version: i32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            strictness: Strictness::default(),
            parallelism: Parallelism::default(),
            decoder: Decoder::default(),
            checksums: Checksums::default(),
            dialect: None,
            slmesh_max_version: Self::SLMESH_MAX_VERSION,
        }
    }
}

impl Options {
    pub(crate) const SLMESH_MAX_VERSION: i32 = 999;

    /// Sets the dialect of CGeo files; without it, it is found in the file.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Sets the highest version of Second Life meshes that is read. 999 by default: later versions are a different format.
    #[must_use]
    pub fn with_slmesh_max_version(mut self, version: i32) -> Self {
        self.slmesh_max_version = version;
        self
    }

    /// Sets [`limits`](Self::limits).
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets [`strictness`](Self::strictness).
    #[must_use]
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Sets [`parallelism`](Self::parallelism).
    #[must_use]
    pub fn with_parallelism(mut self, parallelism: Parallelism) -> Self {
        self.parallelism = parallelism;
        self
    }

    /// Sets the decoder that is used for each codec.
    #[must_use]
    pub fn with_decoder(mut self, decoder: Decoder) -> Self {
        self.decoder = decoder;
        self
    }

    /// Sets [`checksums`](Self::checksums).
    #[must_use]
    pub fn with_checksums(mut self, checksums: Checksums) -> Self {
        self.checksums = checksums;
        self
    }
}

/// The verification of zlib and gzip checksums.
///
/// Some writers of Second Life meshes leave them out or get them wrong, and some readers never verify them. Without
/// verification, damaged data may be read without an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
#[non_exhaustive]
pub enum Checksums {
    /// A wrong or missing checksum is an error.
    #[default]
    Verify,
    /// Checksums are not verified, except to find the dialect of a CGeo file.
    Ignore,
}

/// The treatment of a file that breaks rules of its format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
#[non_exhaustive]
pub enum Strictness {
    /// It is read as far as it can be; broken rules are listed as [`Finding`](crate::Finding)s.
    #[default]
    Tolerant,
    /// Opening checks every value and refuses what the specification forbids:
    /// [`Severity::Forbidden`](crate::Severity::Forbidden) and worse.
    Strict,
}

/// The use of several threads for large jobs. Results never depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
#[non_exhaustive]
pub enum Parallelism {
    /// Everything runs on the calling thread.
    Off,
    /// Large arrays and several blocks are decoded by a rayon pool, and
    /// [`Proxy::play`](crate::cgeo::Proxy::play) decodes ahead.
    ///
    /// The pool is the one that the calling thread belongs to, as in [`rayon`](https://docs.rs/rayon) itself: rayon's
    /// global pool for threads that belong to none. The library makes no pool.
    ///
    /// Calls with a [`Scratch`](crate::Scratch) run on the calling thread, unless
    /// [`Scratch::set_parallel`](crate::Scratch::set_parallel) is set. Without the feature `rayon`, everything runs on the
    /// calling thread.
    #[default]
    Rayon,
}

/// The error of opening a file in a build that leaves its format out.
pub(crate) fn left_out(format: Format) -> Error {
    let error = Error::new(ErrorKind::Unsupported, "format").format_is(Some(format));
    error
        .expected("a format that this build reads")
        .found(format)
}

/// In strict reading, fails for the first finding that the specification forbids.
pub(crate) fn refuse_forbidden(
    options: &Options,
    format: Format,
    validate: impl FnOnce() -> Result<Vec<Finding>>,
) -> Result<()> {
    if options.strictness == Strictness::Tolerant {
        return Ok(());
    }
    if cfg!(meshmap_small) {
        let error = Error::new(ErrorKind::Unsupported, "strictness").format_is(Some(format));
        return Err(error
            .expected("tolerant reading: this is a build with meshmap_small")
            .found("strict"));
    }
    for finding in validate()? {
        if finding.severity() >= Severity::Forbidden {
            return Err(finding.to_error(format));
        }
    }
    Ok(())
}

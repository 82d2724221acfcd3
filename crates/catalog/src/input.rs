//! A file that a program works on, and how it is read.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(feature = "stores")]
use meshmap::ReadRange;
use meshmap::cgeo::Dialect;
use meshmap::{ErrorKind, Format, Limits, MeshFile, Meter, Options, Parallelism, Source};
use meshmap_url::{RemoteUrl, has_scheme, without_secrets};

#[cfg(feature = "stores")]
use crate::learned::{Headers, first_request};
use crate::text;

/// A meter of what is held of a file.
#[must_use]
pub fn meter_of(file: &MeshFile) -> Meter<'static> {
    Meter::new(
        file.limits(),
        file.source().len().ok().flatten().unwrap_or(0),
    )
}

/// The memory that these limits allow for a file of `stored` bytes.
#[must_use]
pub fn memory_for(limits: &Limits, stored: u64) -> u64 {
    limits
        .max_total_bytes
        .max(stored.saturating_mul(limits.free_ratio))
}

/// The end of a message about the limit of memory: the option that raises it, as the program names it.
pub(crate) fn remedy_for_memory(limits: &Limits) -> String {
    let [_, total, _] = limits.remedies();
    remedy(total)
}

/// The end of a message about a limit that this option raises; nothing if the program has no such option.
pub(crate) fn remedy(option: &str) -> String {
    match option {
        "" => String::new(),
        option => format!("; raise it with {option}"),
    }
}

/// Reads standard input, a pipe or a device to its end, which it may not have: more bytes than there is memory for are an error.
///
/// # Errors
///
/// Returns an error if the stream cannot be read, or is longer than that.
pub(crate) fn read_to_end(stream: impl Read, how: &Reading) -> Result<Vec<u8>, Problem> {
    let most = how.memory;
    let mut bytes = Vec::new();
    stream
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let limit = text::size(most);
        let remedy = remedy_for_memory(&how.limits);
        let message = format!("the stream is longer than the limit of {limit}{remedy}");
        return Err(Problem::other("limit_exceeded", message));
    }
    Ok(bytes)
}

/// A file to be worked on.
#[derive(Clone, Debug)]
pub struct Input {
    /// The path; or the URL of a file in a store as it prints, which is shown and not read.
    pub path: PathBuf,
    /// The URL of a file in a store.
    pub(crate) url: Option<RemoteUrl>,
    /// `true` if it was named; otherwise it was found in a directory.
    pub is_named: bool,
    /// Its size, if it is known without reading the file.
    pub bytes: u64,
}

/// The path that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

impl Input {
    /// A file that was named.
    #[must_use]
    pub fn named(path: &Path) -> Self {
        let bytes = fs::metadata(path).map_or(0, |metadata| metadata.len());
        let url = path.to_str().and_then(RemoteUrl::of_remote);
        let path = match (&url, path.to_str()) {
            (Some(url), _) => url.as_shown().into(),
            // The URL of a scheme that is not read is a file that does not exist, and may have a password.
            (None, Some(text)) if has_scheme(text) && !path.exists() => {
                without_secrets(text).as_ref().into()
            }
            _ => path.to_owned(),
        };
        Self {
            path,
            url,
            is_named: true,
            bytes,
        }
    }

    fn is_standard_input(&self) -> bool {
        self.is_named && self.path.as_os_str() == STANDARD_INPUT
    }

    /// The path as it is shown.
    #[must_use]
    pub fn shown(&self) -> String {
        if self.is_standard_input() {
            "(standard input)".to_owned()
        } else {
            text::path(&self.path)
        }
    }

    /// The name of the file without its extension; empty for standard input.
    #[must_use]
    pub fn stem(&self) -> String {
        let stem = self
            .file_name()
            .file_stem()
            .filter(|_| !self.is_standard_input());
        stem.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The last part of the path.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.file_name();
        if name.as_os_str().is_empty() || self.is_standard_input() {
            self.shown()
        } else {
            text::path(name)
        }
    }

    /// The last part of the path, also of the path of a URL.
    #[must_use]
    pub fn file_name(&self) -> &Path {
        match &self.url {
            Some(url) => Path::new(url.name()),
            None => Path::new(self.path.file_name().unwrap_or_default()),
        }
    }

    /// Returns a text that only this file has: the whole path or URL. Two URLs that print the same may be two files. For comparisons only.
    #[must_use]
    pub fn source_with_secrets(&self) -> &OsStr {
        match &self.url {
            Some(url) => url.with_secrets().as_ref(),
            None => self.path.as_os_str(),
        }
    }

    /// Returns `true` if the file is read by requests.
    #[must_use]
    pub fn is_in_store(&self) -> bool {
        self.url.is_some()
    }

    /// The bytes of the file, as of [`source`](Self::source), and a function that returns the version of a file in a store.
    pub(crate) fn source_and_version(
        &self,
        how: &Reading,
    ) -> Result<(Source, impl Fn() -> Option<String>), Problem> {
        let stored = self
            .url
            .as_ref()
            .map(|url| self.stored(url, how))
            .transpose()?;
        let (source, stored) = match stored {
            Some((source, stored)) => (source, Some(stored)),
            None => (self.source(how)?, None),
        };
        Ok((source, move || stored.as_ref()?.version()))
    }

    /// The version of a file in a store: its address without what changes while the file stays the same, and a text that no other version
    /// has. `None` for files on this machine, and if the server sends no such text. No part of the file is fetched.
    ///
    /// # Errors
    ///
    /// Returns an error if the file does not exist, or if its server does not answer.
    pub fn fetch_version(&self, how: &Reading) -> Result<Option<(String, String)>, Problem> {
        #[cfg(feature = "stores")]
        if let Some(url) = &self.url {
            let stored = Stored::at_with(url, how.network.settings());
            let version = stored.and_then(|stored| stored.fetch_version());
            let (_, version) = version.map_err(|error| self.not_fetched(&error, how))?;
            return Ok(version.map(|version| (url.identity_with_secrets(), version)));
        }
        #[cfg(not(feature = "stores"))]
        let _ = how;
        Ok(None)
    }

    /// A file in a store, of which the first bytes have been fetched. A file on a server without ranges is in memory.
    #[cfg(feature = "stores")]
    fn stored(&self, url: &RemoteUrl, how: &Reading) -> Result<(Source, Stored), Problem> {
        /// The share of the memory that retains what was fetched.
        const RETAINED: u64 = 16;
        let mut settings = how.network.settings();
        settings.retain = how.memory / RETAINED;
        if how.reads_headers {
            settings.first = first_request(&self.ending());
        }
        // In the words of the program. The whole of the memory is for what is fetched and for everything else.
        let limits = how.limits.with_max_total_bytes(how.memory).with_shares(1);
        settings.options = Options::default().with_limits(limits);
        let stored =
            Stored::at_with(url, settings).map_err(|error| self.not_fetched(&error, how))?;
        let length = stored
            .fetch_length()
            .map_err(|error| self.not_fetched(&error, how))?;
        if !stored.remote().is_whole() {
            let source = match how.reads_headers {
                true => Source::ranged(Headers::new(stored.clone(), self.ending())),
                false => stored.source(),
            };
            return Ok((source, stored));
        }
        let bytes = ReadRange::read(&stored, 0..length)?;
        if let Some(note) = how.note {
            note(&format!(
                "{}: the server sends no ranges: the whole file was read, {}",
                self.shown(),
                text::size(length)
            ));
        }
        Ok((Source::from_bytes(bytes), stored))
    }

    /// The ending of the name.
    #[cfg(feature = "stores")]
    fn ending(&self) -> String {
        let ending = self.file_name().extension().unwrap_or_default();
        ending.to_string_lossy().to_ascii_lowercase()
    }

    /// The problem of a file in a store of which nothing can be fetched, without the path that precedes it.
    #[cfg(feature = "stores")]
    fn not_fetched(&self, error: &meshmap_object_store::Error, how: &Reading) -> Problem {
        if let meshmap_object_store::Error::TooLong { length, limit, .. } = error {
            let [length, limit] = [*length, *limit].map(text::size);
            let what = "the server sends no ranges, and the whole file";
            let remedy = remedy_for_memory(&how.limits);
            let message = format!("{what} of {length} is longer than the limit of {limit}{remedy}");
            return Problem::other("limit_exceeded", message);
        }
        if let meshmap_object_store::Error::Mesh { error, .. } = error {
            return error.clone().into();
        }
        let kind = if error.is_not_found() {
            NOT_FOUND
        } else {
            "io"
        };
        Problem::other(kind, error.message())
    }

    /// A file in a store, in builds that cannot read any.
    #[cfg(not(feature = "stores"))]
    fn stored(&self, _: &RemoteUrl, _: &Reading) -> Result<(Source, Stored), Problem> {
        let why = "this build cannot read URLs; build it with `--features stores`";
        Err(Problem::other("unsupported", why.to_owned()))
    }

    /// The bytes of the file. Pipes and standard input are read to their end, files in stores by ranges.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or read.
    pub fn source(&self, how: &Reading) -> Result<Source, Problem> {
        if let Some(url) = &self.url {
            return Ok(self.stored(url, how)?.0);
        }
        if self.is_standard_input() {
            return Ok(Source::from_bytes(read_to_end(io::stdin().lock(), how)?));
        }
        if self.is_stream() {
            return Ok(Source::from_bytes(read_to_end(
                File::open(&self.path)?,
                how,
            )?));
        }
        if !how.mmap {
            return Ok(Source::open(&self.path)?);
        }
        #[allow(
            unsafe_code,
            reason = "the user asked for a map, and the help says what that takes"
        )]
        // SAFETY: whoever says --mmap promises that the file does not change; the help says so.
        let mapped = unsafe { Source::map(&self.path) };
        Ok(mapped?)
    }

    /// The bytes of a regular file on this machine.
    pub(crate) fn on_disk(&self) -> Option<Source> {
        let is_file = |metadata: fs::Metadata| metadata.is_file();
        fs::metadata(&self.path)
            .is_ok_and(is_file)
            .then(|| Source::open(&self.path).ok())
            .flatten()
    }

    /// Returns `true` if the file is read to its end, and its bytes are in memory.
    fn is_stream(&self) -> bool {
        let is_special = |metadata: fs::Metadata| !metadata.is_file() && !metadata.is_dir();
        self.is_standard_input()
            || !self.is_in_store() && fs::metadata(&self.path).is_ok_and(is_special)
    }

    /// Returns `true` if a file is treated as a mesh: all named files, and found files that begin or end like a mesh.
    #[must_use]
    pub fn is_mesh(&self, how: &Reading) -> bool {
        if self.is_named {
            return true;
        }
        match self
            .source(how)
            .and_then(|source| Ok(Format::detect(&source)?))
        {
            Ok(format) => how.format.is_none_or(|wanted| wanted == format),
            Err(problem) => {
                let is_unknown = problem
                    .library()
                    .is_some_and(|error| error.kind() == ErrorKind::UnknownFormat);
                !is_unknown || has_known_ending(&self.path)
            }
        }
    }

    /// Opens the file, as [`open`](Self::open) does its source.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or read.
    pub fn read(&self, how: &Reading) -> Result<Option<MeshFile>, Problem> {
        self.open(&self.source(how)?, how)
    }

    /// Opens a file of any format. Found files of no format are no problem, but `None`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or read.
    pub fn open(&self, source: &Source, how: &Reading) -> Result<Option<MeshFile>, Problem> {
        let format = match Format::detect(source) {
            Ok(format) => format,
            Err(error)
                if error.kind() == ErrorKind::UnknownFormat
                    && !self.is_named
                    && !has_known_ending(&self.path) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        if how.format.is_some_and(|wanted| wanted != format) {
            return if self.is_named {
                Err(Problem::other(
                    "unsupported",
                    format!("{format}: left out by --format"),
                ))
            } else {
                Ok(None)
            };
        }
        // A file in a store of which nothing was read by now is in memory.
        let is_held = self.is_stream() || self.is_in_store() && source.read_stats().reads == 0;
        let held = if is_held {
            source.len()?.unwrap_or_default()
        } else {
            0
        };
        Ok(Some(MeshFile::from_source(
            source.clone(),
            &how.options_beside(held),
        )?))
    }
}

#[cfg(feature = "stores")]
use meshmap_object_store::Blocking as Stored;

#[cfg(not(feature = "stores"))]
enum Stored {}

#[cfg(not(feature = "stores"))]
impl Stored {
    fn version(&self) -> Option<String> {
        match *self {}
    }
}

/// The settings for reading files.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// `true` if files are mapped; they must not change meanwhile.
    pub mmap: bool,
    /// The only format that is read.
    pub format: Option<Format>,
    /// The dialect of CGeo files, in place of the one that is found.
    pub dialect: Option<Dialect>,
    /// `true` if only headers are read: then the length of the first request for a file in a store is learned from other files.
    pub reads_headers: bool,
    /// `true` if other files are processed at the same time: then several threads do not work on one file.
    pub is_one_of_many: bool,
    /// The memory of which the limits are shares, in bytes. Standard input and pipes are read into it.
    pub memory: u64,
    /// The limits of each share of the memory.
    pub limits: Limits,
    /// Prints a line about how a file is read.
    pub note: Option<fn(&str)>,
    /// The settings for files in stores.
    pub network: Network,
}

/// The settings for files in stores, as far as they differ from the usual ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Network {
    /// The longest silence of a server.
    pub timeout: Option<Duration>,
    /// The longest time for a range.
    pub deadline: Option<Duration>,
    /// The number of times that a request is sent again.
    pub retries: Option<u32>,
    /// The most requests that begin in a second.
    pub requests_per_second: Option<f64>,
    /// `true` if redirections to other hosts are followed.
    pub redirects: bool,
}

#[cfg(feature = "stores")]
impl Network {
    /// The settings of the crate that reads files in stores.
    #[must_use]
    pub fn settings(&self) -> meshmap_object_store::Settings {
        let mut settings = meshmap_object_store::Settings::default();
        settings.timeout = self.timeout.unwrap_or(settings.timeout);
        settings.deadline = self.deadline.unwrap_or(settings.deadline);
        settings.retries = self.retries.unwrap_or(settings.retries);
        settings.requests_per_second = self.requests_per_second;
        settings.redirects = self.redirects;
        settings
    }
}

/// The limits of one of `parts` equal shares of the memory for a file, which is the usual one if none is given.
#[must_use]
pub fn share_of(memory: Option<u64>, parts: u64) -> Limits {
    let usual = Limits::default();
    // A limit that the user names also applies to large files.
    let (bytes, ratio) = match memory {
        Some(bytes) => (bytes, 0),
        None => (usual.max_total_bytes, usual.free_ratio),
    };
    let bytes = bytes / parts;
    usual
        .with_max_total_bytes(bytes)
        .with_max_block_bytes(bytes)
        .with_free_ratio(ratio)
        .with_shares(parts)
}

/// The equal shares of the memory for one file: one for what the library holds, and one for what is made of it. Messages about limits
/// name the whole.
pub const SHARES: u64 = 2;

impl Default for Reading {
    fn default() -> Self {
        Self {
            mmap: false,
            format: None,
            dialect: None,
            reads_headers: false,
            is_one_of_many: false,
            memory: Limits::default().max_total_bytes,
            limits: share_of(None, SHARES),
            note: None,
            network: Network::default(),
        }
    }
}

impl Reading {
    /// The settings with another memory for one file.
    #[must_use]
    pub fn within(self, memory: u64) -> Self {
        Self {
            memory,
            limits: share_of(Some(memory), SHARES),
            ..self
        }
    }

    /// The options of the library.
    #[must_use]
    pub fn options(&self) -> Options {
        self.options_beside(0)
    }

    /// The options for a file of which `held` bytes are in memory, which leaves less for everything else.
    fn options_beside(&self, held: u64) -> Options {
        let whole = self.memory.max(1);
        let left = |bytes: u64| {
            let left =
                u128::from(bytes) * u128::from(whole.saturating_sub(held)) / u128::from(whole);
            u64::try_from(left).unwrap_or(bytes)
        };
        let Limits {
            max_total_bytes,
            max_block_bytes,
            ..
        } = self.limits;
        let limits = self.limits.with_max_total_bytes(left(max_total_bytes));
        let options =
            Options::default().with_limits(limits.with_max_block_bytes(left(max_block_bytes)));
        let options = self
            .dialect
            .map_or(options, |dialect| options.with_dialect(dialect));
        if self.is_one_of_many {
            options.with_parallelism(Parallelism::Off)
        } else {
            options
        }
    }
}

fn has_known_ending(path: &Path) -> bool {
    let mut known = Format::ALL.iter().flat_map(|format| format.extensions());
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| known.any(|known| ending.eq_ignore_ascii_case(known)))
}

/// The kind of the problem of a file that does not exist.
pub(crate) const NOT_FOUND: &str = "not_found";

/// The kinds of errors that the next run may not have.
pub const PASSING_KINDS: [&str; 5] = ["io", NOT_FOUND, "cancelled", "panic", "need_bytes"];

/// The kind of an error of the library, as JSON and tables have it.
pub(crate) fn kind_of(error: &meshmap::Error) -> &'static str {
    let source =
        std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    let is_missing = source.is_some_and(|source| source.kind() == io::ErrorKind::NotFound);
    if is_missing {
        NOT_FOUND
    } else {
        error.kind().name()
    }
}

/// An error of the library without what differs between files: its format and its kind.
fn summary_of(error: &meshmap::Error) -> String {
    let kind = kind_of(error).replace('_', " ");
    if let Some(format) = error.format() {
        return format!("{format}: {kind}");
    }
    if error.kind() == ErrorKind::UnknownFormat {
        return kind;
    }
    // Reading failed before the format was known.
    let reason = std::error::Error::source(error).map(|source| format!(": {source}"));
    let summary = format!(
        "{} {}{}",
        error.kind(),
        error.what(),
        reason.unwrap_or_default()
    );
    text::line(&summary)
}

/// The reason why a file cannot be processed.
#[derive(Clone, Debug)]
pub enum Problem {
    /// The library's error.
    Library(meshmap::Error),
    /// A problem that the library does not know.
    Other {
        /// The kind, as JSON has it.
        kind: &'static str,
        /// The problem, for people.
        message: String,
        /// The message without what differs between files; `None` if nothing does.
        summary: Option<Cow<'static, str>>,
    },
}

impl Problem {
    /// A problem that the library does not know.
    #[must_use]
    pub fn other(kind: &'static str, message: String) -> Self {
        Self::Other {
            kind,
            message,
            summary: None,
        }
    }

    /// Like [`other`](Self::other), for a message with counts, addresses or values of one file. `summary` is the problem without them.
    #[must_use]
    pub fn summarized(
        kind: &'static str,
        message: String,
        summary: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Other {
            kind,
            message,
            summary: Some(summary.into()),
        }
    }

    /// The kind, as JSON has it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Library(error) => kind_of(error),
            Self::Other { kind, .. } => kind,
        }
    }

    /// The library's error, if it is one.
    #[must_use]
    pub fn library(&self) -> Option<&meshmap::Error> {
        match self {
            Self::Library(error) => Some(error),
            Self::Other { .. } => None,
        }
    }

    /// The problem without what differs between files, by which files with the same problem are counted: `iqm: malformed`.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Library(error) => summary_of(error),
            Self::Other {
                message, summary, ..
            } => text::line(summary.as_deref().unwrap_or(message)),
        }
    }
}

impl From<meshmap::Error> for Problem {
    fn from(error: meshmap::Error) -> Self {
        Self::Library(error)
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        // A reader reports a limit so.
        let inner = error.get_ref();
        if let Some(limit) = inner.and_then(|inner| inner.downcast_ref::<meshmap::Error>()) {
            return limit.clone().into();
        }
        let kind = if error.kind() == io::ErrorKind::NotFound {
            NOT_FOUND
        } else {
            "io"
        };
        Self::other(kind, error.to_string())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => f.write_str(&text::line(&error.message())),
            Self::Other { message, .. } => f.write_str(&text::line(message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_the_same_problem_have_the_same_summary() {
        let of_bytes = |bytes: &'static str| {
            let opened = MeshFile::from_source(Source::from_bytes(bytes), &Options::default());
            Problem::from(opened.map(drop).unwrap_err()).summary()
        };
        assert_eq!(of_bytes("INTERQUAKEMODEL\0"), "iqm: truncated");
        assert_eq!(of_bytes("INTERQUAKEMODEL\0\u{2}"), "iqm: truncated");
        assert_eq!(of_bytes("no mesh"), "unknown format");
        let missing = Source::open("/no/such/file").map(drop).unwrap_err();
        let reason = io::Error::from_raw_os_error(2);
        if cfg!(unix) {
            let expected = format!("cannot read file: {reason}");
            assert_eq!(Problem::from(missing).summary(), expected);
        }
        let cut = Problem::summarized("truncated", "cut off: 3 of 4".to_owned(), "cut off");
        assert_eq!(cut.summary(), "cut off");
        let other = Problem::other("unsupported", "no vertices".to_owned());
        assert_eq!(other.summary(), "no vertices");
    }

    #[test]
    fn bytes_of_a_stream_are_memory_that_is_used() {
        let eight = Reading {
            memory: 8,
            limits: Limits::default().with_remedies(["", "--memory", ""]),
            ..Reading::default()
        };
        assert_eq!(read_to_end(&[7; 8][..], &eight).unwrap(), [7; 8]);
        let problem = read_to_end(io::repeat(7), &eight).unwrap_err();
        assert_eq!(problem.kind(), "limit_exceeded");
        assert!(problem.summary().ends_with("; raise it with --memory"));
        let half = Limits::default()
            .with_max_total_bytes(500)
            .with_max_block_bytes(500);
        let how = Reading {
            memory: 1000,
            limits: half,
            ..Reading::default()
        };
        let of = |held| how.options_beside(held).limits;
        assert_eq!(
            [0, 400, 1000, 2000].map(|held| of(held).max_total_bytes),
            [500, 300, 0, 0]
        );
        assert_eq!(
            [0, 400, 1000, 2000].map(|held| of(held).max_block_bytes),
            [500, 300, 0, 0]
        );
    }
}

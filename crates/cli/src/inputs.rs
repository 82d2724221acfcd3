//! The files that a command works on.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glob::{MatchOptions, Pattern};
use meshmap::cgeo::Dialect;
use meshmap::{ErrorKind, Format, Limits, MeshFile, Meter, Options, Parallelism, Source};

use crate::text;

/// The files below directories that are selected, and how files are read.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Choice {
    /// In directories, select the files whose name matches, or whose path if the pattern has a slash. A leading `!` inverts
    /// the pattern.
    #[arg(short = 'g', long = "glob", value_name = "PATTERN", value_parser = parse_glob)]
    pub(crate) globs: Vec<Glob>,
    /// Select files of this format: cgeo, iqm, openctm, slmesh or tmf. Others are counted.
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub(crate) format: Option<Format>,
    /// Include files and directories whose name begins with a dot.
    #[arg(long)]
    pub(crate) hidden: bool,
    #[arg(skip)]
    pub(crate) list: FileList,
    /// Work on this many files at once [default: one per core].
    #[arg(short = 'j', long = "jobs", visible_alias = "threads", value_name = "N")]
    pub(crate) threads: Option<std::num::NonZero<usize>>,
    /// Print only problems: no progress bar, nothing about files without problems, and no summary.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Map files instead of reading them; they must not change meanwhile.
    #[arg(long)]
    pub(crate) mmap: bool,
    #[command(flatten)]
    pub(crate) memory: Memory,
}

/// A list of further files.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct FileList {
    /// Also work on the files that FILE lists, one path per line; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
    /// Paths in the list end with a NUL byte, as written by `find -print0`.
    #[arg(short = '0', long = "null", requires = "files_from")]
    ends_with_nul: bool,
}

impl FileList {
    fn paths(&self, memory: Memory) -> Result<Vec<PathBuf>, Problem> {
        let Some(list) = &self.files_from else { return Ok(Vec::new()) };
        let text = if list.as_os_str() == STANDARD_INPUT {
            memory.read(io::stdin().lock())?
        } else {
            memory.read(File::open(list)?)?
        };
        let end = if self.ends_with_nul { 0 } else { b'\n' };
        let paths = text.split(|byte| *byte == end).map(|line| match line {
            // Lists from Windows end lines with CR LF.
            [path @ .., b'\r'] if !self.ends_with_nul => path,
            path => path,
        });
        Ok(paths.filter(|path| !path.is_empty()).map(path_of).collect::<io::Result<_>>()?)
    }
}

/// Shares of the memory for comparing two file objects: see [`Memory::limits_of`].
pub(crate) const TWO_FILES: u64 = 4;

/// The memory that one file may take.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Memory {
    /// Limit the memory for one file to SIZE, such as 4GiB [default: 1GiB, or 16 times the file if that is more].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_memory: Option<u64>,
}

impl Memory {
    /// Limits for a command that needs `parts` equal shares of the memory: one for arrays that a file object caches, one for a
    /// call, and one for data made from its result. The limits apply to each share.
    pub(crate) fn limits_of(self, parts: u64) -> Limits {
        let limits = Limits::default();
        // A limit that the user names also applies to large files.
        let (bytes, ratio) =
            self.max_memory.map_or((limits.max_total_bytes, limits.free_ratio), |bytes| (bytes, 0));
        let bytes = bytes / parts;
        limits.with_max_total_bytes(bytes).with_max_block_bytes(bytes).with_free_ratio(ratio).with_remedies([
            "--max-memory",
            "--max-memory",
            "",
        ])
    }

    /// Runs the job of one file: what its calls hold and do together is limited.
    pub(crate) fn job<T>(self, job: impl FnOnce() -> T) -> T {
        Arc::new(Meter::new(&self.limits_of(1), 0)).run(job)
    }

    /// The whole of the memory, of which the limits are shares.
    fn whole(self) -> u64 {
        self.max_memory.unwrap_or_else(|| Limits::default().max_total_bytes)
    }

    /// Reads standard input, a pipe or a device to its end, which it may not have.
    fn read(self, stream: impl Read) -> Result<Vec<u8>, Problem> {
        let (most, mut bytes) = (self.whole(), Vec::new());
        stream.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            let limit = text::size(most);
            let message =
                format!("the stream is longer than the limit of {limit}; raise it with --max-memory");
            return Err(Problem::other("limit_exceeded", message));
        }
        Ok(bytes)
    }
}

/// A meter of what is held of a file.
pub(crate) fn meter_of(file: &MeshFile) -> Meter<'static> {
    Meter::new(file.limits(), file.source().len().ok().flatten().unwrap_or(0))
}

/// The memory that these limits allow for a file of `stored` bytes.
pub(crate) fn memory_for(limits: &Limits, stored: u64) -> u64 {
    limits.max_total_bytes.max(stored.saturating_mul(limits.free_ratio))
}

/// Parses a size such as `512MiB`, `4G` or a number of bytes. Units are powers of 1024.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "expected a size such as 512MiB or 4GiB".to_owned();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// A pattern for paths, and whether it takes them or leaves them out.
#[derive(Clone, Debug)]
pub(crate) struct Glob {
    pattern: Pattern,
    takes: bool,
    /// `true` if it matches the whole path below the named directory.
    is_path: bool,
}

fn parse_glob(text: &str) -> Result<Glob, String> {
    let (takes, pattern) = text.strip_prefix('!').map_or((true, text), |pattern| (false, pattern));
    let pattern = Pattern::new(pattern).map_err(|error| error.to_string())?;
    // Windows also has backslashes.
    let is_path = pattern.as_str().contains(std::path::is_separator);
    Ok(Glob { takes, is_path, pattern })
}

fn parse_format(text: &str) -> Result<Format, String> {
    text.parse().map_err(|_| format!("expected {}", Format::ALL.map(Format::name).join(", ")))
}

impl Choice {
    /// Returns `true` if the file at this path below a directory is selected.
    fn takes(&self, below: &Path) -> bool {
        let options = MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: false,
        };
        let matches = |glob: &Glob| match glob.is_path {
            true => glob.pattern.matches_path_with(below, options),
            false => below
                .file_name()
                .is_some_and(|name| glob.pattern.matches_with(&name.to_string_lossy(), options)),
        };
        let (mut takes, mut leaves) =
            (self.globs.iter().filter(|g| g.takes).peekable(), self.globs.iter().filter(|g| !g.takes));
        (takes.peek().is_none() || takes.any(matches)) && !leaves.any(matches)
    }
}

/// A file to be worked on.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// The path; or the address of a file in a store without its secrets, which is not read but shown.
    pub(crate) path: PathBuf,
    /// The address of a file in a store, which may contain a password or a signature.
    address: Option<String>,
    /// `true` if it was named; otherwise it was found in a directory.
    pub(crate) is_named: bool,
    /// Its size, if it is known without reading the file.
    pub(crate) bytes: u64,
}

/// Returns `true` if a text is the URL of a file in a store or on a server, and not a path.
#[must_use]
pub fn is_address(text: &str) -> bool {
    const SCHEMES: [&str; 7] = ["https", "http", "s3", "gs", "az", "abfss", "file"];
    let is_known = |scheme: &str| SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    text.split_once("://").is_some_and(|(scheme, _)| is_known(scheme))
}

/// The path that stands for standard input.
const STANDARD_INPUT: &str = "-";

impl Input {
    /// A file that was named.
    pub(crate) fn named(path: &Path) -> Self {
        let bytes = fs::metadata(path).map_or(0, |metadata| metadata.len());
        let address = path.to_str().filter(|text| is_address(text)).map(str::to_owned);
        let path = address.as_deref().map_or_else(|| path.to_owned(), |text| without_secrets(text).into());
        Self { path, address, is_named: true, bytes }
    }

    fn is_standard_input(&self) -> bool {
        self.is_named && self.path.as_os_str() == STANDARD_INPUT
    }

    /// The path as it is shown.
    pub(crate) fn shown(&self) -> String {
        if self.is_standard_input() { "(standard input)".to_owned() } else { text::path(&self.path) }
    }

    /// The name of the file without its extension; empty for standard input.
    pub(crate) fn stem(&self) -> String {
        let stem = self.file_name().file_stem().filter(|_| !self.is_standard_input());
        stem.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> String {
        let name = self.file_name();
        if name.as_os_str().is_empty() || self.is_standard_input() { self.shown() } else { text::path(name) }
    }

    /// The last part of the path, without the query string of an address.
    pub(crate) fn file_name(&self) -> &Path {
        let text = self.path.to_str().filter(|_| self.is_in_store());
        let path = text.and_then(|text| text.split(['?', '#']).next()).map_or(&*self.path, Path::new);
        Path::new(path.file_name().unwrap_or_default())
    }

    /// Returns `true` if the file is read by requests.
    pub(crate) fn is_in_store(&self) -> bool {
        self.address.is_some()
    }

    /// The bytes of the file, as of [`source`](Self::source), and a function that returns the version of a file in a store, once something of
    /// it was read.
    #[cfg(feature = "stores")]
    pub(crate) fn source_and_version(
        &self,
        how: &Reading,
    ) -> Result<(Source, impl Fn() -> Option<String>), Problem> {
        let stored = self.address.as_deref().map(stored).transpose()?;
        let source = stored.as_ref().map_or_else(|| self.source(how), |stored| Ok(stored.source()))?;
        Ok((source, move || stored.as_ref()?.version()))
    }

    #[cfg(not(feature = "stores"))]
    pub(crate) fn source_and_version(
        &self,
        how: &Reading,
    ) -> Result<(Source, impl Fn() -> Option<String>), Problem> {
        Ok((self.source(how)?, || None))
    }

    /// The bytes of the file. Pipes and standard input are read to their end, files in stores by ranges.
    pub(crate) fn source(&self, how: &Reading) -> Result<Source, Problem> {
        if let Some(address) = &self.address {
            return Ok(stored(address)?.source());
        }
        if self.is_standard_input() {
            return Ok(Source::from_bytes(how.memory.read(io::stdin().lock())?));
        }
        if self.is_stream() {
            return Ok(Source::from_bytes(how.memory.read(File::open(&self.path)?)?));
        }
        if !how.mmap {
            return Ok(Source::open(&self.path)?);
        }
        #[allow(unsafe_code, reason = "the user asked for a map, and was told what that takes")]
        // SAFETY: whoever says --mmap promises that the file does not change; the help says so.
        let mapped = unsafe { Source::map(&self.path) };
        Ok(mapped?)
    }

    /// Returns `true` if the file is read to its end, and its bytes are in memory.
    fn is_stream(&self) -> bool {
        let is_special = |metadata: fs::Metadata| !metadata.is_file() && !metadata.is_dir();
        self.is_standard_input() || !self.is_in_store() && fs::metadata(&self.path).is_ok_and(is_special)
    }

    /// Returns `true` if a file is treated as a mesh: all named files, and found files that begin or end like a mesh.
    pub(crate) fn is_mesh(&self, how: &Reading) -> bool {
        if self.is_named {
            return true;
        }
        match self.source(how).and_then(|source| Ok(Format::detect(&source)?)) {
            Ok(format) => how.format.is_none_or(|wanted| wanted == format),
            Err(problem) => {
                let is_unknown =
                    problem.library().is_some_and(|error| error.kind() == ErrorKind::UnknownFormat);
                !is_unknown || has_known_ending(&self.path)
            }
        }
    }

    /// Opens a file of any format. Found files of no format are no problem, but `None`.
    pub(crate) fn open(&self, source: &Source, how: &Reading) -> Result<Option<MeshFile>, Problem> {
        let held = if self.is_stream() { source.len()?.unwrap_or_default() } else { 0 };
        let options = how.options_beside(held);
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
                Err(Problem::other("unsupported", format!("{format}: left out by --format")))
            } else {
                Ok(None)
            };
        }
        Ok(Some(MeshFile::from_source(source.clone(), &options)?))
    }
}

#[cfg(feature = "stores")]
use meshmap_object_store::without_secrets;

/// An address that is shown in a message.
#[cfg(not(feature = "stores"))]
fn without_secrets(address: &str) -> String {
    let (shown, is_cut) = address.split_once(['?', '#']).map_or((address, false), |(shown, _)| (shown, true));
    let cut = if is_cut { "?.." } else { "" };
    match (shown.split_once("://"), shown.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}{cut}"),
        _ => format!("{shown}{cut}"),
    }
}

#[cfg(feature = "stores")]
fn stored(address: &str) -> Result<meshmap_object_store::Blocking, Problem> {
    meshmap_object_store::Blocking::at(address).map_err(|error| Problem::other("io", error.to_string()))
}

/// A file in a store, in builds that cannot read any.
#[cfg(not(feature = "stores"))]
enum NoStore {}

#[cfg(not(feature = "stores"))]
impl NoStore {
    fn source(&self) -> Source {
        match *self {}
    }
}

#[cfg(not(feature = "stores"))]
fn stored(_: &str) -> Result<NoStore, Problem> {
    Err(Problem::other(
        "unsupported",
        "this build cannot read URLs; build it with `--features stores`".to_owned(),
    ))
}

/// The settings for reading files.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) mmap: bool,
    pub(crate) format: Option<Format>,
    pub(crate) dialect: Option<Dialect>,
    /// `true` if other files are processed at the same time: then several threads do not work on one file.
    pub(crate) is_one_of_many: bool,
    pub(crate) memory: Memory,
    /// The limits of each share of the memory.
    pub(crate) limits: Limits,
}

impl Reading {
    /// The settings for a command that needs this many equal shares of the memory: see [`Memory::limits_of`].
    pub(crate) fn within(memory: Memory, parts: u64) -> Self {
        Self { memory, limits: memory.limits_of(parts), ..Self::default() }
    }

    pub(crate) fn options(&self) -> Options {
        self.options_beside(0)
    }

    /// The options for a file of which `held` bytes are in memory, which leaves less for everything else.
    fn options_beside(&self, held: u64) -> Options {
        let whole = self.memory.whole().max(1);
        let left = |bytes: u64| {
            let left = u128::from(bytes) * u128::from(whole.saturating_sub(held)) / u128::from(whole);
            u64::try_from(left).unwrap_or(bytes)
        };
        let Limits { max_total_bytes, max_block_bytes, .. } = self.limits;
        let limits = self.limits.with_max_total_bytes(left(max_total_bytes));
        let options = Options::default().with_limits(limits.with_max_block_bytes(left(max_block_bytes)));
        let options = self.dialect.map_or(options, |dialect| options.with_dialect(dialect));
        if self.is_one_of_many { options.with_parallelism(Parallelism::Off) } else { options }
    }
}

fn has_known_ending(path: &Path) -> bool {
    const ENDINGS: [&str; 6] = ["iqm", "ctm", "tmf", "slmesh", "llmesh", "cgeo"];
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// The reason why a file cannot be processed.
#[derive(Clone, Debug)]
pub(crate) enum Problem {
    Library(meshmap::Error),
    /// A kind, as JSON has it, and a message.
    Other(&'static str, String),
}

impl Problem {
    pub(crate) fn other(kind: &'static str, message: String) -> Self {
        Self::Other(kind, message)
    }

    /// The kind, as JSON has it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Library(error) => error.kind().name(),
            Self::Other(kind, _) => kind,
        }
    }

    pub(crate) fn library(&self) -> Option<&meshmap::Error> {
        match self {
            Self::Library(error) => Some(error),
            Self::Other(..) => None,
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
        Self::Other("io", error.to_string())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => f.write_str(&text::line(&error.message())),
            Self::Other(_, message) => f.write_str(&text::line(message)),
        }
    }
}

/// Files found, in order, and the skipped files.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<Input>,
    pub(crate) skipped: Skipped,
    /// Directories that could not be read, and why.
    pub(crate) unreadable: Vec<(PathBuf, String)>,
    /// `true` if the command names only one file.
    pub(crate) single: bool,
}

/// The files that were skipped in directories.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Skipped {
    pub(crate) hidden: u64,
    /// Directories of version control.
    pub(crate) version_control: u64,
    /// Links to directories, which may lead in circles.
    pub(crate) links: u64,
    /// Files that a pattern leaves out.
    pub(crate) left_out: u64,
    /// Pipes, sockets and devices.
    pub(crate) special: u64,
    /// Files that hold no mesh, or none of the format that is asked for.
    pub(crate) others: u64,
}

impl fmt::Display for Skipped {
    /// Empty, or what follows the number of files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.others, "other"),
            (self.left_out, "left out by a pattern"),
            (self.hidden, "hidden"),
            (self.version_control, "of version control"),
            (self.links, "linked directories"),
            (self.special, "special"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{} {what}", text::count(*number)))
            .collect();
        if parts.is_empty() { Ok(()) } else { write!(f, "; skipped: {}", parts.join(", ")) }
    }
}

/// Finds the named files, the files in a list, and the files in the named directories.
pub(crate) fn find(paths: &[PathBuf], choice: &Choice) -> Found {
    let list = &choice.list;
    let single = list.files_from.is_none() && matches!(paths, [path] if !path.is_dir());
    let mut found = Found { single, ..Found::default() };
    let listed = list.paths(choice.memory).unwrap_or_else(|problem| {
        let path = list.files_from.clone().unwrap_or_default();
        let path = Input::named(&path).path;
        found.unreadable.push((path, format!("the list of files cannot be read: {problem}")));
        Vec::new()
    });
    for path in paths.iter().chain(&listed) {
        if path.is_dir() {
            walk(path, Path::new(""), choice, &mut found);
        } else {
            found.files.push(Input::named(path));
        }
    }
    found
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> io::Result<PathBuf> {
    let path: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
    Ok(path.into())
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> io::Result<PathBuf> {
    let text = std::str::from_utf8(bytes);
    text.map(PathBuf::from).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a path is not UTF-8"))
}

fn walk(directory: &Path, below: &Path, choice: &Choice, found: &mut Found) {
    const VERSION_CONTROL: [&str; 6] = [".git", ".hg", ".svn", ".bzr", ".jj", "CVS"];
    let entries = fs::read_dir(directory).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return found.unreadable.push((directory.to_owned(), error.to_string())),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) => {
                found.unreadable.push((path, error.to_string()));
                continue;
            }
        };
        if kind.is_dir() && VERSION_CONTROL.iter().any(|known| name == *known) && !choice.hidden {
            found.skipped.version_control += 1;
        } else if name.as_encoded_bytes().starts_with(b".") && !choice.hidden {
            found.skipped.hidden += 1;
        } else if kind.is_dir() {
            walk(&path, &below.join(&name), choice, found);
        } else {
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => found.skipped.links += 1,
                Ok(metadata) if metadata.is_file() => {
                    if choice.takes(&below.join(&name)) {
                        let bytes = metadata.len();
                        found.files.push(Input { path, address: None, is_named: false, bytes });
                    } else {
                        found.skipped.left_out += 1;
                    }
                }
                Ok(_) => found.skipped.special += 1,
                Err(error) => found.unreadable.push((path, error.to_string())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_windows_are_no_addresses() {
        for path in [
            r"C:\scans\a.iqm",
            "C:/scans/a.iqm",
            "C://scans/a.iqm",
            "c:a.iqm",
            r"\\server\share\a.iqm",
            "//server/share/a.iqm",
            r"\\?\C:\scans\a.iqm",
            r"s3:\bucket\a.iqm",
        ] {
            assert!(!is_address(path), "{path}");
        }
        assert!(is_address("https://host/a.iqm") && is_address("s3://bucket/a.iqm"));
    }

    #[test]
    fn bytes_of_a_stream_are_memory_that_is_used() {
        let memory = |bytes| Memory { max_memory: bytes };
        assert_eq!(memory(None).whole(), Limits::default().max_total_bytes);
        assert_eq!(memory(Some(8)).read(&[7; 8][..]).unwrap(), [7; 8]);
        let problem = memory(Some(8)).read(io::repeat(7)).unwrap_err();
        assert_eq!(problem.kind(), "limit_exceeded");
        let how = Reading::within(memory(Some(1000)), 2);
        let of = |held| how.options_beside(held).limits;
        assert_eq!([0, 400, 1000, 2000].map(|held| of(held).max_total_bytes), [500, 300, 0, 0]);
        assert_eq!([0, 400, 1000, 2000].map(|held| of(held).max_block_bytes), [500, 300, 0, 0]);
    }

    #[test]
    fn patterns_with_separators_are_for_paths() {
        let choice = |globs: &[&str]| Choice {
            globs: globs.iter().map(|glob| parse_glob(glob).unwrap()).collect(),
            format: None,
            list: FileList::default(),
            hidden: false,
            threads: None,
            quiet: true,
            mmap: false,
            memory: Memory::default(),
        };
        let below = Path::new("men").join("a.iqm");
        assert!(choice(&["men/*.iqm"]).takes(&below));
        assert!(choice(&["*.iqm"]).takes(&below));
        assert!(!choice(&["!men/**"]).takes(&below));
        // Elsewhere a backslash is a character of a name.
        assert_eq!(choice(&[r"men\*.iqm"]).takes(&below), cfg!(windows));
        assert_eq!(choice(&[r"!men\*"]).takes(&below), !cfg!(windows));
    }
}

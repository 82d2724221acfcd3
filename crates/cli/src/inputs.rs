//! The files that a command works on, and the memory for each.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
#[cfg(feature = "stores")]
use std::time::Duration;

use clap::builder::{PathBufValueParser, TypedValueParser};
use meshmap::{Format, Limits, Meter};
pub(crate) use meshmap_catalog::{Found, Input, Problem, Reading, meter_of};
use meshmap_catalog::{Glob, Network, STANDARD_INPUT, Selection, share_of};
use meshmap_url::{RemoteUrl, is_remote};

use crate::pool::{self, Pool};
use crate::screen::print_stderr;
use crate::text::size;

/// The files below directories that are selected, and how files are read.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Choice {
    /// Select files in directories by name, such as '*.iqm'. A pattern with a slash is compared with the path, and a leading `!`
    /// inverts it.
    #[arg(short = 'g', long = "glob", value_name = "PATTERN", value_parser = Glob::from_str)]
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
    #[arg(short = 'j', long = "jobs", visible_alias = "threads", value_name = "N", value_parser = parse_from_one)]
    pub(crate) threads: Option<NonZero<usize>>,
    /// Print only problems. No progress bar is shown, nothing about files without problems, and no summary.
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
        match &self.files_from {
            None => Ok(Vec::new()),
            Some(list) if list.as_os_str() == STANDARD_INPUT => {
                self.read(io::stdin().lock(), memory.whole())
            }
            Some(list) => self.read(BufReader::new(File::open(list)?), memory.whole()),
        }
    }

    /// Reads a list, as long as its files take no more than `most` bytes of memory: a path of two bytes takes much more than that.
    fn read(&self, mut list: impl BufRead, most: u64) -> Result<Vec<PathBuf>, Problem> {
        /// A path as it is listed, and the file that is found at it.
        const OF_FILE: u64 = (size_of::<PathBuf>() + size_of::<Input>() + 2 * 16) as u64;
        let end = if self.ends_with_nul { 0 } else { b'\n' };
        let mut left = most;
        let mut paths = Vec::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            // A list may also be one line that never ends.
            let length = list
                .by_ref()
                .take(left.saturating_add(1))
                .read_until(end, &mut line)?;
            if length == 0 {
                return Ok(paths);
            }
            let path = line.strip_suffix(&[end]).unwrap_or(&line);
            let path = match path {
                // Lists from Windows end lines with CR LF.
                [path @ .., b'\r'] if !self.ends_with_nul => path,
                path => path,
            };
            let of_file = if path.is_empty() {
                0
            } else {
                OF_FILE.saturating_add(path.len() as u64)
            };
            let needed = of_file.saturating_add(length as u64);
            left = left.checked_sub(needed).ok_or_else(|| {
                let limit = size(most);
                let message = format!(
                    "it needs more than the limit of {limit}; raise it with --max-memory, or split the list"
                );
                Problem::other("limit_exceeded", message)
            })?;
            if !path.is_empty() {
                paths.push(path_of(path)?);
            }
        }
    }
}

/// Options of written files.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Durable {
    /// Bring each output to the disk before it replaces another file: after a power cut, there is the one or the other.
    #[arg(long)]
    sync: bool,
}

impl Durable {
    pub(crate) fn begin(self) {
        meshmap_outputs::set_synced(self.sync);
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
    #[cfg(feature = "stores")]
    #[command(flatten)]
    stores: Stores,
}

/// Limits for files in stores.
#[cfg(feature = "stores")]
#[derive(Clone, Copy, Debug, Default, clap::Args)]
struct Stores {
    /// Give up a server that is silent for so long [default: 30].
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    timeout: Option<Duration>,
    /// Give up a range of a file that takes longer than this, however steadily its bytes come [default: 1800].
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    deadline: Option<Duration>,
    /// Send a request again up to N times if a server is busy or does not answer [default: 10].
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// Begin at most N requests in a second, such as 500; repeated requests are not counted [default: no limit].
    #[arg(long, value_name = "N", value_parser = parse_rate)]
    requests_per_second: Option<f64>,
    /// Follow servers that redirect to other hosts, which get no keys and no tokens.
    #[arg(long)]
    redirects: bool,
}

#[cfg(feature = "stores")]
fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "expected seconds, such as 30".to_owned())
}

#[cfg(feature = "stores")]
fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok();
    rate.filter(|rate: &f64| rate.is_normal() && *rate > 0.0)
        .ok_or_else(|| "expected a number above 0, such as 500".to_owned())
}

impl Memory {
    /// Limits for a command that needs `parts` equal shares of the memory: one for arrays that a file object caches, one for a
    /// call, and one for data made from its result. The limits apply to each share.
    pub(crate) fn limits_of(self, parts: u64) -> Limits {
        share_of(self.max_memory, parts).with_remedies(["--max-memory", "--max-memory", ""])
    }

    /// The settings for files in stores.
    fn network(self) -> Network {
        #[cfg(feature = "stores")]
        return {
            let Stores {
                timeout,
                deadline,
                retries,
                requests_per_second,
                redirects,
            } = self.stores;
            Network {
                timeout,
                deadline,
                retries,
                requests_per_second,
                redirects,
            }
        };
        #[cfg(not(feature = "stores"))]
        Network::default()
    }

    /// Runs the job of one file: what its calls hold and do together is limited.
    pub(crate) fn job<T>(self, job: impl FnOnce() -> T) -> T {
        Arc::new(Meter::new(&self.limits_of(1), 0)).run(job)
    }

    /// The settings for a command that needs `parts` equal shares of the memory: see [`limits_of`](Self::limits_of).
    pub(crate) fn reading(self, parts: u64) -> Reading {
        let memory = self.whole();
        let limits = self.limits_of(parts);
        let network = self.network();
        Reading {
            memory,
            limits,
            note: Some(|line| print_stderr(line)),
            network,
            ..Reading::default()
        }
    }

    /// The whole of the memory, of which the limits are shares.
    pub(crate) fn whole(self) -> u64 {
        self.max_memory
            .unwrap_or_else(|| Limits::default().max_total_bytes)
    }
}

/// Parses a size such as `512MiB`, `4G` or a number of bytes. Units are powers of 1024.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "expected a size such as 512MiB or 4GiB".to_owned();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
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

pub(crate) fn parse_from_one(text: &str) -> Result<NonZero<usize>, &'static str> {
    text.parse().map_err(|_| "expected a number from 1")
}

fn parse_format(text: &str) -> Result<Format, String> {
    text.parse()
        .map_err(|_| format!("expected {}", Format::ALL.map(Format::name).join(", ")))
}

/// The folder of a file, in which the images that it names may be. `None` for standard input, pipes and files in stores.
pub(crate) fn folder_of(input: &Input) -> Option<&Path> {
    let is_file = !input.is_in_store() && input.path.is_file();
    input.path.parent().filter(|_| is_file)
}

/// The parser of the path of a folder that exists.
pub(crate) fn folder_parser() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.is_dir() {
        true => Ok(path),
        false => Err("no such folder"),
    })
}

/// The message for an address in place of an output.
pub(crate) const OUTPUTS_ARE_FILES: &str = "outputs are files on this machine";

/// The parser of the path of an output, which is not an address.
pub(crate) fn output_parser() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.to_str().is_some_and(is_remote) {
        true => Err(OUTPUTS_ARE_FILES.to_owned()),
        false => Ok(path),
    })
}

/// Like [`output_parser`], but also takes URLs of stores.
pub(crate) fn output_or_store_parser() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.to_str().is_some_and(is_remote) {
        true if store_of(&path).is_none() => Err(match cfg!(feature = "stores") {
            true => format!("{OUTPUTS_ARE_FILES}, or objects of a store, such as S3"),
            false => OUTPUTS_ARE_FILES.to_owned(),
        }),
        _ => Ok(path),
    })
}

/// The URL of an output in a store, if it is one.
pub(crate) fn store_of(output: &Path) -> Option<RemoteUrl> {
    let url = output.to_str().and_then(RemoteUrl::of_remote)?;
    (cfg!(feature = "stores") && url.is_of_store()).then_some(url)
}

impl Choice {
    /// The settings for reading files in this number of equal shares of the memory, one at a time or in parallel.
    pub(crate) fn reading(&self, shares: u64, is_one_of_many: bool) -> Reading {
        let within = self.memory.reading(shares);
        Reading {
            mmap: self.mmap,
            format: self.format,
            is_one_of_many,
            ..within
        }
    }

    /// The threads for many files, and the memory for results that wait. Results, and the `making_bytes` that each thread needs for one besides
    /// what is held of its file, take the memory of one file together.
    pub(crate) fn pool(&self, making_bytes: u64) -> Pool {
        self.pool_beside(0, making_bytes)
    }

    /// Like [`pool`](Self::pool), for a command that already holds a part of the memory.
    pub(crate) fn pool_beside(&self, held_bytes: u64, making_bytes: u64) -> Pool {
        let memory = self.memory.whole().saturating_sub(held_bytes);
        let threads = self.threads.unwrap_or_else(pool::usual_threads);
        Pool::within(memory, threads, making_bytes)
    }

    fn selection(&self) -> Selection {
        Selection {
            globs: self.globs.clone(),
            hidden: self.hidden,
        }
    }
}

/// Finds the named files, the files in a list, and the files in the named directories.
pub(crate) fn find(paths: &[PathBuf], choice: &Choice) -> Found {
    let list = &choice.list;
    let (listed, problem) = match list.paths(choice.memory) {
        Ok(listed) => (listed, None),
        Err(problem) => (Vec::new(), Some(problem)),
    };
    let mut found = meshmap_catalog::find(paths.iter().cloned().chain(listed), &choice.selection());
    found.single &= list.files_from.is_none();
    if let Some(problem) = problem {
        let path = Input::named(&list.files_from.clone().unwrap_or_default()).path;
        found.unreadable.insert(
            0,
            (path, format!("the list of files cannot be read: {problem}")),
        );
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
    text.map(PathBuf::from)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a path is not UTF-8"))
}

//! The index of outputs that are up to date, next to the outputs in a directory.
//!
//! The index is a text file with one JSON object per line. A line is appended when an output is complete, so a process that is
//! killed loses nothing, and several processes may write outputs to one directory. The last line for an output counts.
//!
//! Nothing is ever rewritten. A file of [`FULL`] bytes gets no further lines: they go to one of 256 files, chosen by a byte of the hash
//! of the output, and so on. A reader of a few outputs follows their hashes, so that it reads a small part of a long index.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::destination::folder_of;
use crate::output::Output;
use crate::stamp::{Name, Stamp, Textures};
use crate::texture;

/// The name of the first file. Commands that walk directories skip it, as all hidden files.
const NAME: &str = ".meshmap-outputs.jsonl";

/// The directory of all other files, which are named by the first bytes of the hashes of their outputs.
const FOLDER: &str = ".meshmap-outputs";

/// The size at which a file gets no further lines: about 200 outputs.
const FULL: u64 = 64 << 10;

/// The longest line that is read or written. A file gets no further lines once it has [`FULL`] bytes, so that a longer file was not
/// written here: its end is not read.
const LONGEST: u64 = 16 << 20;

/// The version of the writers. Outputs of another version are written again.
const WRITER: &str = env!("CARGO_PKG_VERSION");

/// The outputs in a directory, and what they were made from.
#[derive(Debug)]
pub struct Index {
    root: PathBuf,
    /// The options of the command and its other files, as part of each fingerprint. `None` if one of these files may change
    /// unnoticed.
    options: Option<String>,
    /// The entries by the JSON texts of their outputs.
    known: HashMap<String, Entry>,
}

/// One version of a file that outputs are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    name: Vec<u8>,
    /// The folder that images are looked for in. The folder of a link has other images than the folder of the file.
    folder: Vec<u8>,
    version: Version,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Version {
    Stamp(Stamp),
    Tag(String),
}

/// A line of the index.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    output: Name,
    /// The SHA-256 of source, options and writer, in hexadecimal.
    made_from: String,
    /// The files that were written, the output among them.
    files: Vec<Written>,
    /// The images that were looked for.
    #[serde(default, skip_serializing_if = "Textures::is_empty")]
    textures: Textures,
    /// The caller's report about the output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    report: String,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    path: Name,
    #[serde(flatten)]
    stamp: Stamp,
}

/// The first bytes of the hash of an output, which lead to its line.
type Hash = [u8; 8];

impl Origin {
    /// The file at a path, as it is now. `None` if it may change unnoticed, such as standard input.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let resolved = fs::canonicalize(path).ok()?;
        let version = Version::Stamp(Stamp::of(&resolved)?);
        let folder = fs::canonicalize(folder_of(path)).ok()?;
        let [name, folder] = [resolved, folder].map(|path| path.as_os_str().as_encoded_bytes().to_vec());
        Some(Self { name, folder, version })
    }

    /// A version of the file at an address, identified by a text that no other version has: a strong ETag. The address must not
    /// contain anything that changes while the file stays the same, such as a signature.
    #[must_use]
    pub fn of_address(address: &str, version: &str) -> Self {
        let version = Version::Tag(version.to_owned());
        Self { name: address.as_bytes().to_vec(), folder: Vec::new(), version }
    }
}

impl Index {
    /// Reads what the index of a directory has about these outputs. `options` describes everything, except for the source, that
    /// decides about the content of an output. `also` are further files that do; `None` if one of them may change unnoticed.
    #[must_use]
    pub fn read<'a>(
        root: &Path,
        options: &str,
        also: Option<&[Origin]>,
        outputs: impl IntoIterator<Item = &'a Path>,
    ) -> Self {
        let options = also.map(|also| format!("{options}\n{also:?}"));
        let mut index = Self { root: root.to_owned(), options, known: HashMap::new() };
        let outputs = outputs.into_iter().filter_map(|output| index.below(output));
        let mut wanted: Vec<(Hash, String)> = outputs.map(|output| text(&output)).map(hashed).collect();
        wanted.sort_unstable();
        wanted.dedup();
        index.read_file(&wanted, 0);
        index
    }

    /// Reads the file of all outputs whose hashes have the same first `depth` bytes as these outputs, and the files after it.
    fn read_file(&mut self, wanted: &[(Hash, String)], depth: usize) {
        let Some(path) = wanted.first().and_then(|(hash, _)| self.path(hash, depth)) else { return };
        let is_linked = || fs::symlink_metadata(folder_of(&path)).is_ok_and(|folder| !folder.is_dir());
        if depth > 0 && is_linked() {
            return;
        }
        let Ok(file) = Output::open_regular(&path, File::options().read(true)) else { return };
        let is_full = file.metadata().is_ok_and(|metadata| metadata.len() >= FULL);
        let texts: HashSet<&str> = wanted.iter().map(|(_, text)| text.as_str()).collect();
        let (mut lines, mut line) =
            (BufReader::with_capacity(64 << 10, file.take(FULL + LONGEST)), Vec::new());
        while lines.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            let output = std::str::from_utf8(&line).ok().and_then(output_of);
            if let Some(output) = output.filter(|output| texts.contains(output))
                // A process that was killed may have left half a line.
                && let Ok(entry) = serde_json::from_slice::<Entry>(&line)
            {
                self.known.insert(output.to_owned(), entry);
            }
            line.clear();
        }
        if is_full {
            let next = |(hash, _): &(Hash, String)| hash.get(depth).copied();
            wanted.chunk_by(|a, b| next(a) == next(b)).for_each(|wanted| self.read_file(wanted, depth + 1));
        }
    }

    /// The file of all outputs whose hashes begin with the same `depth` bytes. `None` if that is more than a hash has.
    fn path(&self, hash: &Hash, depth: usize) -> Option<PathBuf> {
        let prefix = hash.get(..depth)?;
        let name = || format!("{}.jsonl", hexadecimal(prefix));
        Some(if depth == 0 { self.root.join(NAME) } else { self.root.join(FOLDER).join(name()) })
    }

    /// Opens the file that the next line of an output is appended to.
    fn file_of(&self, hash: &Hash) -> io::Result<File> {
        let mut depth = 0;
        loop {
            let path = self.path(hash, depth).ok_or(io::ErrorKind::FileTooLarge)?;
            if depth == 1 {
                make_folder(folder_of(&path))?;
            }
            let file = Output::open_regular(&path, File::options().create(true).append(true))?;
            depth += 1;
            if file.metadata()?.len() < FULL || depth > hash.len() {
                return Ok(file);
            }
        }
    }

    /// The fingerprint of an output: what it is made from, and how. `None` if that may change unnoticed, as for standard input.
    #[must_use]
    pub fn fingerprint(&self, origin: &Origin) -> Option<String> {
        let mut hash = Sha256::new();
        for part in [WRITER.as_bytes(), self.options.as_ref()?.as_bytes(), &origin.name, &origin.folder] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        match &origin.version {
            Version::Stamp(stamp) => {
                hash.update(stamp.bytes.to_le_bytes());
                hash.update(stamp.modified.to_le_bytes());
            }
            Version::Tag(tag) => hash.update(tag),
        }
        Some(hexadecimal(&hash.finalize()))
    }

    /// Returns `true` if the output was made with this fingerprint, and has not been changed or removed since then. Only for outputs
    /// that were passed to [`read`](Self::read).
    #[must_use]
    pub fn is_up_to_date(&self, output: &Path, fingerprint: &str) -> bool {
        let entry = self.entry(output);
        entry.is_some_and(|entry| entry.made_from == fingerprint && self.is_intact(entry))
    }

    /// Returns the report that was recorded with the output; empty if there was none.
    #[must_use]
    pub fn report(&self, output: &Path) -> &str {
        self.entry(output).map_or("", |entry| &entry.report)
    }

    fn entry(&self, output: &Path) -> Option<&Entry> {
        self.known.get(&text(&self.below(output)?))
    }

    fn is_intact(&self, entry: &Entry) -> bool {
        let is_there = |written: &Written| Stamp::of(&self.root.join(&written.path)) == Some(written.stamp);
        !entry.files.is_empty()
            && entry.files.iter().all(is_there)
            && texture::are_unchanged(&entry.textures, &self.root.join(&entry.output))
    }

    /// Records an output, the files that were written for it, and the images that were looked for, which the next run looks for
    /// again. [`report`](Self::report) returns `report` in the next run, such as the damage of the source.
    ///
    /// # Errors
    ///
    /// Returns a message if the index cannot be written, with the path as it is. The next run writes the output again.
    pub fn add(
        &self,
        output: &Path,
        fingerprint: String,
        (files, textures): (&[PathBuf], Textures),
        report: String,
    ) -> Result<(), String> {
        let written = |path: &PathBuf| Some(Written { path: self.below(path)?, stamp: Stamp::of(path)? });
        let files: Option<Vec<Written>> = files.iter().map(written).collect();
        let (Some(output), Some(files)) = (self.below(output), files) else { return Ok(()) };
        let (hash, _) = hashed(text(&output));
        // The line before may have no end, if its process was killed.
        let line = format!("\n{}", text(&Entry { output, made_from: fingerprint, files, textures, report }));
        if line.len() as u64 > LONGEST {
            let limit = LONGEST >> 20;
            return Err(format!(
                "the record of an output is longer than {limit} MiB: the next run will write the output again"
            ));
        }
        let added = self.file_of(&hash).and_then(|mut file| file.write_all(line.as_bytes()));
        added.map_err(|error| {
            let path = self.root.join(NAME);
            format!("{}: {error}: the next run will write all files again", path.display())
        })
    }

    /// A path below the directory; `None` for other paths.
    fn below(&self, path: &Path) -> Option<Name> {
        let below = path.strip_prefix(&self.root).ok()?;
        let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
        Some(parts.map_or_else(|| Name::Other(below.into()), |parts| Name::Text(parts.join("/"))))
    }
}

/// A value as JSON on one line.
fn text(value: &impl Serialize) -> String {
    // Neither serializing to memory nor these types fail.
    let text = serde_json::to_string(value).unwrap_or_default();
    // A shell that takes the line for a command expands these also between quotes.
    if text.contains(['$', '`']) { text.replace('$', r"\u0024").replace('`', r"\u0060") } else { text }
}

/// The JSON text of the output of a line, which is not parsed: most lines are about other outputs.
fn output_of(line: &str) -> Option<&str> {
    let (output, _) = line.strip_prefix(r#"{"output":"#)?.split_once(r#","made_from":""#)?;
    Some(output)
}

/// The JSON text of an output, and its hash.
fn hashed(output: String) -> (Hash, String) {
    let whole = Sha256::digest(&output);
    let mut hash = Hash::default();
    hash.iter_mut().zip(whole).for_each(|(byte, of_whole)| *byte = of_whole);
    (hash, output)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes a directory unless it is there. A link is an error.
fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    match fs::symlink_metadata(folder)?.is_dir() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{FOLDER} is not a directory; remove it"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use meshmap_testing::allocator::counted;

    use super::*;

    const SOURCE: &str = "s3://bucket/a.iqm";

    fn read(root: &Path, outputs: &[PathBuf]) -> Index {
        Index::read(root, "", Some(&[]), outputs.iter().map(PathBuf::as_path))
    }

    /// Writes outputs, and adds them with this version of their source.
    fn add(root: &Path, outputs: &[PathBuf], version: &str) {
        let index = read(root, outputs);
        let fingerprint = index.fingerprint(&Origin::of_address(SOURCE, version)).unwrap();
        for output in outputs {
            let made = (std::slice::from_ref(output), Textures::default());
            index.add(output, fingerprint.clone(), made, String::new()).unwrap();
        }
    }

    fn outputs(root: &Path, count: usize) -> Vec<PathBuf> {
        let outputs: Vec<PathBuf> = (0..count).map(|number| root.join(format!("{number}.glb"))).collect();
        outputs.iter().for_each(|output| fs::write(output, "x").unwrap());
        outputs
    }

    /// The number of outputs that are up to date with this version of their source.
    fn up_to_date(root: &Path, outputs: &[PathBuf], version: &str) -> usize {
        let index = read(root, outputs);
        let fingerprint = index.fingerprint(&Origin::of_address(SOURCE, version)).unwrap();
        outputs.iter().filter(|output| index.is_up_to_date(output, &fingerprint)).count()
    }

    #[test]
    fn an_index_that_was_not_written_here_is_read_to_a_limit() {
        let root = tempfile::tempdir().unwrap();
        let outputs = outputs(root.path(), 1);
        add(root.path(), &outputs, "1");
        // Zeros that take no space, after the line of the output.
        let mut index = File::options().append(true).open(root.path().join(NAME)).unwrap();
        index.write_all(b"\n").unwrap();
        index.set_len(1 << 30).unwrap();
        let (count, memory) = counted(|| up_to_date(root.path(), &outputs, "1"));
        assert_eq!(count, 1);
        assert!(memory.peak < 4 * LONGEST as i64, "{memory:?}");
    }

    #[test]
    fn a_long_index_is_read_for_few_outputs_and_never_rewritten() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let outputs = outputs(root, 1000);
        add(root, &outputs[..500], "1");
        let before = fs::read(root.join(NAME)).unwrap();
        assert!((FULL..FULL + 1000).contains(&(before.len() as u64)), "{}", before.len());
        // The last line counts, in whichever file it is.
        add(root, &outputs, "2");
        assert_eq!(fs::read(root.join(NAME)).unwrap(), before);
        assert!(fs::read_dir(root.join(FOLDER)).unwrap().count() > 200);
        assert_eq!([up_to_date(root, &outputs, "1"), up_to_date(root, &outputs, "2")], [0, 1000]);
        assert_eq!(read(root, &outputs[7..9]).known.len(), 2);
        fs::write(&outputs[7], "changed").unwrap();
        assert_eq!(up_to_date(root, &outputs[7..9], "2"), 1);
    }

    #[test]
    fn half_a_line_loses_no_other_line() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let outputs = outputs(root, 3);
        add(root, &outputs[..2], "1");
        let whole = fs::read(root.join(NAME)).unwrap();
        fs::write(root.join(NAME), &whole[..whole.len() - 40]).unwrap();
        assert_eq!(up_to_date(root, &outputs, "1"), 1);
        add(root, &outputs[2..], "1");
        assert_eq!(up_to_date(root, &outputs, "1"), 2);
    }

    #[test]
    fn writers_lose_no_line_of_each_other() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let outputs = outputs(root, 800);
        std::thread::scope(|scope| {
            outputs.chunks(100).for_each(|part| drop(scope.spawn(move || add(root, part, "1"))));
        });
        assert_eq!(up_to_date(root, &outputs, "1"), 800);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_the_folder_is_not_followed() {
        let [root, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (root, other) = (root.path(), other.path());
        let outputs = outputs(root, 500);
        add(root, &outputs, "1");
        fs::rename(root.join(FOLDER), other.join("shards")).unwrap();
        std::os::unix::fs::symlink(other.join("shards"), root.join(FOLDER)).unwrap();
        let known = up_to_date(root, &outputs, "1");
        assert!(known > 100 && known < 400, "{known}");
        let index = read(root, &outputs);
        let made = (std::slice::from_ref(&outputs[0]), Textures::default());
        let error = index.add(&outputs[0], String::new(), made, String::new()).unwrap_err();
        assert!(error.contains("not a directory"), "{error}");
    }

    #[test]
    fn versions_of_addresses_and_stamps_of_paths_are_different_origins() {
        let root = tempfile::tempdir().unwrap();
        let output = &outputs(root.path(), 1)[0];
        let origins =
            [Origin::of_address("a", "b"), Origin::of_address("ab", ""), Origin::of_path(output).unwrap()];
        let index = read(root.path(), &[]);
        let mut found: Vec<_> = origins.iter().map(|origin| index.fingerprint(origin).unwrap()).collect();
        found.dedup();
        assert_eq!(found.len(), 3);
        assert_eq!(Origin::of_path(root.path()), None);
        assert_eq!(Index::read(root.path(), "", None, []).fingerprint(&origins[0]), None);
    }

    /// The index of outputs of which no file is written, as `add` makes it.
    fn simulate(root: &Path, count: u64) {
        let mut files: HashMap<PathBuf, Vec<u8>> = HashMap::new();
        let index = read(root, &[]);
        fs::create_dir(root.join(FOLDER)).unwrap();
        for number in 0..count {
            let output = Name::Text(format!("{}/{number:08}.glb", number / 5000));
            let files_of =
                vec![Written { path: output.clone(), stamp: Stamp { bytes: number, modified: 1 << 60 } }];
            let (hash, _) = hashed(text(&output));
            let made_from = hexadecimal(&Sha256::digest(number.to_le_bytes()));
            let entry = Entry {
                output,
                made_from,
                files: files_of,
                textures: Textures::default(),
                report: String::new(),
            };
            let mut paths = (0..).map(|depth| index.path(&hash, depth).unwrap());
            let path = paths.find(|path| files.get(path).is_none_or(|file| (file.len() as u64) < FULL));
            write!(files.entry(path.unwrap()).or_default(), "\n{}", text(&entry)).unwrap();
        }
        files.into_iter().for_each(|(path, lines)| fs::write(path, lines).unwrap());
    }

    /// `cargo test --release -p meshmap-export --lib -- --ignored --nocapture millions_of_lines`
    #[cfg(target_os = "linux")]
    #[test]
    #[ignore = "writes 2.5 GB"]
    fn a_task_of_a_thousand_files_takes_little_of_an_index_of_millions_of_lines() {
        use cpu_time::ThreadTime;
        for count in [1_000_000, 10_000_000] {
            let root = tempfile::tempdir().unwrap();
            simulate(root.path(), count);
            for (what, step) in [("neighbours", 1), ("anywhere", count / 1000)] {
                let task: Vec<PathBuf> = (0..1000)
                    .map(|number| number * step)
                    .map(|number| root.path().join(format!("{}/{number:08}.glb", number / 5000)))
                    .collect();
                // Begins the peak again.
                fs::write("/proc/self/clear_refs", "5").unwrap();
                let memory = |name: &str| -> u64 {
                    let status = fs::read_to_string("/proc/self/status").unwrap();
                    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
                    line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().unwrap() / 1024
                };
                let (before, start) = (memory("VmRSS:"), ThreadTime::now());
                let known = read(root.path(), &task).known.len();
                let (seconds, taken) =
                    (start.elapsed().as_secs_f64(), memory("VmHWM:").saturating_sub(before));
                println!("{count} lines, 1,000 outputs, {what}: {seconds:.3} s of CPU, {taken} MiB");
                assert_eq!(known, 1000);
                assert!(seconds < 0.5 && taken < 200);
            }
        }
    }
}

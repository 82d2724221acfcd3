//! The record of outputs that are up to date, in the folder of the outputs.
//!
//! The record is a text file with one JSON object per line. A line is appended when an output is complete, so a process that is
//! killed loses nothing, and several processes may write outputs to one folder. The last line for an output counts, or the one that is
//! about the file that is there.
//!
//! Nothing is ever rewritten. A file of [`FULL`] bytes gets no further lines: they go to one of 256 files, chosen by a byte of the hash
//! of the output, and so on. A reader of a few outputs follows their hashes, so that it reads a small part of a long record.
//!
//! Other ways were considered. Extended attributes of the outputs need no record and cannot be of another file, but NFS and FAT do not
//! keep them, ext4 has 4 KiB of them for each file, and copies lose them. A file next to each output takes a block of the disk for each
//! of 20,000 outputs. A time of the output that depends on the source says nothing about damage and images.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::folder::{Access, or_current};
use crate::outputs::{Outputs, Place};
use crate::stamp::{RecordedPath, Stamp, Written};

/// The name of the first file. Commands that walk directories skip it, as all hidden files.
const NAME: &str = ".meshmap-outputs.jsonl";

/// The directory of all other files, which are named by the first bytes of the hashes of their outputs.
const FOLDER: &str = ".meshmap-outputs";

/// The size at which a file gets no further lines: about 200 outputs.
const FULL: u64 = 64 << 10;

/// The longest line that is read or written. A file gets no further lines once it has [`FULL`] bytes, so that a longer file was not
/// written here: its end is not read.
const LONGEST: u64 = 16 << 20;

/// The outputs in a folder, and what they were made from.
#[derive(Debug)]
pub struct Record {
    outputs: Outputs,
    /// The options of the program and its other files, as part of each fingerprint. `None` if one of these files may change
    /// unnoticed.
    options: Option<String>,
    /// The entries by the JSON texts of their outputs.
    known: HashMap<String, Entry>,
    /// The last entry of each output that could not be made.
    failed: HashMap<String, Entry>,
    /// The bytes of each file of the record that have been read, by its name.
    lengths: HashMap<String, u64>,
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

/// An output that was made, as it is recorded.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// The fingerprint of source, options and writer: see [`Record::fingerprint`].
    pub fingerprint: String,
    /// The source as text for people, without secrets, by which an output of another source is recognized. It may be empty.
    pub source: String,
    /// The files that were written.
    pub files: Vec<Written>,
    /// Other files that were looked for, as a text that the program made: see [`Known::looked_for`]. It may be empty.
    pub looked_for: String,
    /// The program's report about the output, such as the damage of the source. It may be empty.
    pub report: String,
}

/// A recorded output that has not been changed or removed since it was made.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The program's report about the output.
    pub report: &'a str,
    /// The other files that the program looked for. It looks for them again: the output is up to date if it finds the same.
    pub looked_for: &'a str,
}

/// An output whose lines are looked for.
struct Wanted {
    hash: Hash,
    key: String,
    place: Place,
    /// Size and time of the file at the place, once they have been asked for.
    stamp: OnceCell<Option<Stamp>>,
}

impl Wanted {
    fn new(place: &Place) -> Self {
        let (hash, key) = hashed(key_of(place));
        Self {
            hash,
            key,
            place: place.clone(),
            stamp: OnceCell::new(),
        }
    }

    /// Returns `true` if a line counts rather than an earlier one: unless only the earlier one is about the file that is there. Two
    /// processes that write one output may append their lines in the other order.
    fn is_better(&self, entry: &Entry, earlier: Option<&Entry>) -> bool {
        let Some(earlier) = earlier else { return true };
        let there = self.stamp.get_or_init(|| self.place.stamp());
        let is_there = |entry: &Entry| {
            there.is_some() && entry.files.iter().any(|file| Some(file.stamp) == *there)
        };
        is_there(entry) || !is_there(earlier)
    }
}

/// A line of the record.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    output: RecordedPath,
    /// The SHA-256 of source, options and writer, in hexadecimal.
    made_from: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    source: String,
    /// The files that were written, the output among them. None if the output could not be made.
    files: Vec<RecordedFile>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    looked_for: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    report: String,
}

impl Entry {
    fn is_of_another(&self, source: &str) -> bool {
        !self.source.is_empty() && self.source != source
    }
}

/// A written file in the record.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedFile {
    path: RecordedPath,
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
        let version = Version::Stamp(Stamp::of_path(&resolved)?);
        let folder = fs::canonicalize(or_current(path.parent().unwrap_or(path))).ok()?;
        let [name, folder] =
            [resolved, folder].map(|path| path.as_os_str().as_encoded_bytes().to_vec());
        Some(Self {
            name,
            folder,
            version,
        })
    }

    /// A version of the file at an address, identified by a text that no other version has: a strong ETag. The address must not
    /// contain anything that changes while the file stays the same, such as a signature.
    #[must_use]
    pub fn of_address(address: &str, version: &str) -> Self {
        let version = Version::Tag(version.to_owned());
        Self {
            name: address.as_bytes().to_vec(),
            folder: Vec::new(),
            version,
        }
    }
}

impl Record {
    /// Reads what the record in a folder has about outputs. `options` describes everything, except for the source, that decides about
    /// the content of an output, also the revision of its writer. `also` are further files that do; `None` if one of them may change
    /// unnoticed.
    #[must_use]
    pub fn read<'a>(
        outputs: &Outputs,
        options: &str,
        also: Option<&[Origin]>,
        places: impl IntoIterator<Item = &'a Place>,
    ) -> Self {
        let options = also.map(|also| format!("{options}\n{also:?}"));
        let mut record = Self {
            outputs: outputs.clone(),
            options,
            known: HashMap::new(),
            failed: HashMap::new(),
            lengths: HashMap::new(),
        };
        #[cfg(feature = "stores")]
        if let Some(store) = outputs.store() {
            record.read_store(store, places);
            return record;
        }
        let mut wanted: Vec<Wanted> = places.into_iter().map(Wanted::new).collect();
        wanted.sort_unstable_by_key(|wanted| wanted.hash);
        record.read_file(&wanted, 0);
        record
    }

    /// Reads what the metadata of objects has about outputs. If the store does not answer, all outputs are made again.
    #[cfg(feature = "stores")]
    fn read_store<'a>(
        &mut self,
        store: &crate::store::Store,
        places: impl IntoIterator<Item = &'a Place>,
    ) {
        let places = places.into_iter().map(Place::below);
        for (output, facts) in store.facts(places).unwrap_or_default() {
            let output = RecordedPath::Text(output);
            let entry = Entry {
                output: output.clone(),
                made_from: facts.made_from,
                source: facts.source,
                files: Vec::new(),
                looked_for: facts.looked_for,
                report: facts.report,
            };
            self.known.insert(text(&output), entry);
        }
    }

    /// Puts an output into the store of its folder, if it has one, and otherwise only records it.
    ///
    /// In a store, an output appears with its last object, and no process sees a part of it. Its other files are put first; an earlier output of
    /// several files is taken away before that. `made` has no fingerprint if the next run is to write the output again.
    ///
    /// # Errors
    ///
    /// Returns an error, and leaves no output, if the store does not take a file. Returns the message of [`add`](Self::add) in an error if the
    /// record of a local folder cannot be written.
    pub fn deliver(&self, place: &Place, made: Made) -> io::Result<()> {
        #[cfg(feature = "stores")]
        if let Some(store) = self.outputs.store() {
            let facts = crate::store::Facts {
                made_from: made.fingerprint,
                source: made.source,
                looked_for: made.looked_for,
                report: made.report,
            };
            return store.put(place.below(), &made.files, &facts);
        }
        if made.fingerprint.is_empty() {
            return Ok(());
        }
        self.add(place, made).map_err(io::Error::other)
    }

    /// Reads the file of all outputs whose hashes have the same first `depth` bytes as these outputs, and the files after it.
    fn read_file(&mut self, wanted: &[Wanted], depth: usize) {
        let Some(Wanted { hash, .. }) = wanted.first() else {
            return;
        };
        let Ok(file) = self.open(hash, depth, Access::Read) else {
            return;
        };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        self.lengths.insert(file_name(hash, depth), length);
        let by_key: HashMap<&str, &Wanted> = wanted
            .iter()
            .map(|wanted| (wanted.key.as_str(), wanted))
            .collect();
        each_line(file, |line| {
            let Some(key) = output_of(line) else { return };
            let Some(wanted) = by_key.get(key) else {
                return;
            };
            // A process that was killed may have left half a line.
            let Ok(entry) = serde_json::from_str::<Entry>(line) else {
                return;
            };
            if entry.files.is_empty() {
                self.failed.insert(key.to_owned(), entry);
            } else if wanted.is_better(&entry, self.known.get(key)) {
                self.known.insert(key.to_owned(), entry);
            }
        });
        if length >= FULL && depth < size_of::<Hash>() {
            let next = |wanted: &Wanted| wanted.hash.get(depth).copied();
            for wanted in wanted.chunk_by(|a, b| next(a) == next(b)) {
                self.read_file(wanted, depth + 1);
            }
        }
    }

    /// Opens the file of all outputs whose hashes begin with the same `depth` bytes.
    fn open(&self, hash: &Hash, depth: usize, access: Access) -> io::Result<File> {
        if depth > hash.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let folder = if depth == 0 { "" } else { FOLDER };
        let folder = self
            .outputs
            .folder(Path::new(folder), access != Access::Read)?;
        folder.open_regular(OsStr::new(&file_name(hash, depth)), access)
    }

    /// Opens the file that the next line of an output is appended to.
    fn open_to_append(&self, hash: &Hash) -> io::Result<File> {
        let mut depth = 0;
        loop {
            let file = self.open(hash, depth, Access::Append)?;
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
        for part in [
            self.options.as_ref()?.as_bytes(),
            &origin.name,
            &origin.folder,
        ] {
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

    /// Returns the record of an output that was made with this fingerprint, and has not been changed or removed since then. Only for
    /// outputs that were passed to [`read`](Self::read).
    #[must_use]
    pub fn find(&self, place: &Place, fingerprint: &str) -> Option<Known<'_>> {
        let entry = self.known.get(&key_of(place))?;
        // The files of objects were compared when their metadata was read.
        let is_intact = entry.made_from == fingerprint
            && entry.files.iter().all(|file| self.is_unchanged(file));
        is_intact.then_some(Known {
            report: &entry.report,
            looked_for: &entry.looked_for,
        })
    }

    /// Returns the program's report about an output that could not be made with this fingerprint. Only for outputs that were passed to
    /// [`read`](Self::read).
    #[must_use]
    pub fn find_failure(&self, place: &Place, fingerprint: &str) -> Option<&str> {
        let entry = self.failed.get(&key_of(place))?;
        (entry.made_from == fingerprint).then_some(&entry.report)
    }

    fn is_unchanged(&self, file: &RecordedFile) -> bool {
        let place = self.outputs.place(&file.path);
        place.is_ok_and(|place| place.stamp() == Some(file.stamp))
    }

    /// Returns another source that the output at a place was made from when the record was read. `None` if the output is not there any
    /// more.
    #[must_use]
    pub fn other_source(&self, place: &Place, source: &str) -> Option<String> {
        let entry = self
            .known
            .get(&key_of(place))
            .filter(|entry| entry.is_of_another(source))?;
        let is_there = self.outputs.is_in_store() || place.stamp().is_some();
        is_there.then(|| entry.source.clone())
    }

    /// Returns another source that the output at a place was made from since the record was read, such as by another process of the
    /// same job.
    #[must_use]
    pub fn source_meanwhile(&self, place: &Place, source: &str) -> Option<String> {
        #[cfg(feature = "stores")]
        if let Some(store) = self.outputs.store() {
            let there = store.source(place.below())?;
            return Some(there).filter(|there| !there.is_empty() && there != source);
        }
        let key = key_of(place);
        let (hash, _) = hashed(key.clone());
        for depth in 0..=hash.len() {
            // A file that does not exist has no lines, nor has one after it.
            let Ok(mut file) = self.open(&hash, depth, Access::Read) else {
                break;
            };
            let read = self
                .lengths
                .get(&file_name(&hash, depth))
                .copied()
                .unwrap_or(0);
            let mut found = None;
            if file.seek(SeekFrom::Start(read)).is_ok() {
                each_line(file, |line| {
                    if output_of(line) == Some(&key)
                        && let Ok(entry) = serde_json::from_str::<Entry>(line)
                        && entry.is_of_another(source)
                    {
                        found = Some(entry.source);
                    }
                });
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Records an output, unless another process has replaced one of its files: the next run writes such an output again.
    ///
    /// # Errors
    ///
    /// Returns a message if the record cannot be written, with the path as it is. The next run writes the output again.
    pub fn add(&self, place: &Place, made: Made) -> Result<(), String> {
        let mut files = Vec::new();
        for file in &made.files {
            let Some(stamp) = file.stamp else {
                return Ok(());
            };
            files.push(RecordedFile {
                path: RecordedPath::of_relative(&file.below),
                stamp,
            });
        }
        self.append(
            place,
            &Entry {
                output: RecordedPath::of_relative(place.below()),
                made_from: made.fingerprint,
                source: made.source,
                files,
                looked_for: made.looked_for,
                report: made.report,
            },
        )
    }

    /// Records that an output cannot be made from this version of its source, with these options, so that the next run need not read the
    /// source. `report` is the program's report about it.
    ///
    /// # Errors
    ///
    /// Returns a message as [`add`](Self::add).
    pub fn add_failure(
        &self,
        place: &Place,
        fingerprint: String,
        report: String,
    ) -> Result<(), String> {
        self.append(
            place,
            &Entry {
                output: RecordedPath::of_relative(place.below()),
                made_from: fingerprint,
                source: String::new(),
                files: Vec::new(),
                looked_for: String::new(),
                report,
            },
        )
    }

    fn append(&self, place: &Place, entry: &Entry) -> Result<(), String> {
        // Objects have their metadata in place of a record.
        if self.outputs.is_in_store() {
            return Ok(());
        }
        let (hash, _) = hashed(key_of(place));
        // The line before may have no end, if its process was killed.
        let line = format!("\n{}", text(entry));
        if line.len() as u64 > LONGEST {
            let limit = LONGEST >> 20;
            return Err(format!(
                "the record of an output is longer than {limit} MiB: the next run will write the output again"
            ));
        }
        let added = self
            .open_to_append(&hash)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        added.map_err(|error| {
            let path = self.outputs.path().join(NAME);
            format!(
                "{}: {error}: the next run will write all files again",
                path.display()
            )
        })
    }
}

/// The name of the file with all outputs whose hashes begin with the same `depth` bytes.
fn file_name(hash: &Hash, depth: usize) -> String {
    match hash.get(..depth) {
        Some(prefix) if depth > 0 => format!("{}.jsonl", hexadecimal(prefix)),
        _ => NAME.to_owned(),
    }
}

/// Calls `read` with each line of the rest of a file, up to the most that is written here.
fn each_line(file: File, mut read: impl FnMut(&str)) {
    let mut lines = BufReader::with_capacity(64 << 10, file.take(FULL + LONGEST));
    let mut line = Vec::new();
    while lines
        .read_until(b'\n', &mut line)
        .is_ok_and(|length| length > 0)
    {
        if let Ok(line) = std::str::from_utf8(&line) {
            read(line);
        }
        line.clear();
    }
}

/// The JSON text of an output, by which its lines are found.
fn key_of(place: &Place) -> String {
    text(&RecordedPath::of_relative(place.below()))
}

/// A value as JSON on one line.
fn text(value: &impl Serialize) -> String {
    // Neither serializing to memory nor these types fail.
    let text = serde_json::to_string(value).unwrap_or_default();
    // A shell that takes the line for a command expands these also between quotes.
    if text.contains(['$', '`']) {
        text.replace('$', r"\u0024").replace('`', r"\u0060")
    } else {
        text
    }
}

/// The JSON text of the output of a line, which is not parsed: most lines are about other outputs.
fn output_of(line: &str) -> Option<&str> {
    let (output, _) = line
        .strip_prefix(r#"{"output":"#)?
        .split_once(r#","made_from":""#)?;
    Some(output)
}

/// The JSON text of an output, and its hash.
fn hashed(output: String) -> (Hash, String) {
    let whole = Sha256::digest(&output);
    let mut hash = Hash::default();
    hash.iter_mut()
        .zip(whole)
        .for_each(|(byte, of_whole)| *byte = of_whole);
    (hash, output)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use meshmap_testing::allocator::counted;

    use super::*;
    use crate::output::Output;

    const SOURCE: &str = "s3://bucket/a.iqm";

    fn read(root: &Path, places: &[Place]) -> Record {
        Record::read(&Outputs::below(root), "", Some(&[]), places)
    }

    fn made(place: &Place, fingerprint: String) -> Made {
        let files = vec![Output::create(place).unwrap().finish().unwrap()];
        Made {
            fingerprint,
            files,
            ..Made::default()
        }
    }

    /// Writes outputs, and adds them with this version of their source.
    fn add(root: &Path, places: &[Place], version: &str) {
        let record = read(root, places);
        let fingerprint = record
            .fingerprint(&Origin::of_address(SOURCE, version))
            .unwrap();
        for place in places {
            record.add(place, made(place, fingerprint.clone())).unwrap();
        }
    }

    fn places(root: &Path, count: usize) -> Vec<Place> {
        let outputs = Outputs::below(root);
        (0..count)
            .map(|number| outputs.place(format!("{number}.glb")).unwrap())
            .collect()
    }

    /// The number of outputs that are up to date with this version of their source.
    fn up_to_date(root: &Path, places: &[Place], version: &str) -> usize {
        let record = read(root, places);
        let fingerprint = record
            .fingerprint(&Origin::of_address(SOURCE, version))
            .unwrap();
        places
            .iter()
            .filter(|place| record.find(place, &fingerprint).is_some())
            .count()
    }

    #[test]
    fn a_record_that_was_not_written_here_is_read_to_a_limit() {
        let root = tempfile::tempdir().unwrap();
        let places = places(root.path(), 1);
        add(root.path(), &places, "1");
        // Zeros that take no space, after the line of the output.
        let mut file = File::options()
            .append(true)
            .open(root.path().join(NAME))
            .unwrap();
        file.write_all(b"\n").unwrap();
        file.set_len(1 << 30).unwrap();
        let (count, memory) = counted(|| up_to_date(root.path(), &places, "1"));
        assert_eq!(count, 1);
        assert!(memory.peak < 4 * LONGEST as i64, "{memory:?}");
    }

    #[test]
    fn a_long_record_is_read_for_few_outputs_and_never_rewritten() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let places = places(root, 1000);
        add(root, &places[..500], "1");
        let before = fs::read(root.join(NAME)).unwrap();
        assert!(
            (FULL..FULL + 1000).contains(&(before.len() as u64)),
            "{}",
            before.len()
        );
        // The last line counts, in whichever file it is.
        add(root, &places, "2");
        assert_eq!(fs::read(root.join(NAME)).unwrap(), before);
        assert!(fs::read_dir(root.join(FOLDER)).unwrap().count() > 200);
        assert_eq!(
            [
                up_to_date(root, &places, "1"),
                up_to_date(root, &places, "2")
            ],
            [0, 1000]
        );
        assert_eq!(read(root, &places[7..9]).known.len(), 2);
        fs::write(places[7].path(), "changed").unwrap();
        assert_eq!(up_to_date(root, &places[7..9], "2"), 1);
    }

    #[test]
    fn half_a_line_loses_no_other_line() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let places = places(root, 3);
        add(root, &places[..2], "1");
        let whole = fs::read(root.join(NAME)).unwrap();
        fs::write(root.join(NAME), &whole[..whole.len() - 40]).unwrap();
        assert_eq!(up_to_date(root, &places, "1"), 1);
        add(root, &places[2..], "1");
        assert_eq!(up_to_date(root, &places, "1"), 2);
    }

    #[test]
    fn writers_lose_no_line_of_each_other() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let places = places(root, 800);
        std::thread::scope(|scope| {
            places
                .chunks(100)
                .for_each(|part| drop(scope.spawn(move || add(root, part, "1"))));
        });
        // Wine looks for the end of a file, and then writes there.
        let least = if cfg!(windows) { 760 } else { 800 };
        assert!((least..=800).contains(&up_to_date(root, &places, "1")));
    }

    /// Two processes write an output of one size: whoever records it first or last, a record is only of the file that is there.
    #[test]
    fn an_output_that_another_process_replaced_is_not_up_to_date() {
        let root = tempfile::tempdir().unwrap();
        let places = places(root.path(), 1);
        let record = read(root.path(), &places);
        let first = made(&places[0], "first".to_owned());
        let second = made(&places[0], "second".to_owned());
        record.add(&places[0], second).unwrap();
        record.add(&places[0], first).unwrap();
        let record = read(root.path(), &places);
        assert!(
            record.find(&places[0], "first").is_none()
                && record.find(&places[0], "second").is_some()
        );
        // A file that was replaced before it could be recorded has no stamp.
        let mut replaced = made(&places[0], "third".to_owned());
        replaced.files[0].stamp = None;
        record.add(&places[0], replaced).unwrap();
        assert!(
            read(root.path(), &places)
                .find(&places[0], "third")
                .is_none()
        );
    }

    #[test]
    fn another_source_of_an_output_is_found_before_and_while_it_is_written() {
        let root = tempfile::tempdir().unwrap();
        let places = places(root.path(), 2);
        let of = |place, source: &str| Made {
            source: source.to_owned(),
            ..made(place, String::new())
        };
        let [record, other] = [(); 2].map(|()| read(root.path(), &places));
        assert_eq!(record.other_source(&places[0], "a/x.iqm"), None);
        record.add(&places[0], of(&places[0], "a/x.iqm")).unwrap();
        // Written since the other process has read the record.
        assert_eq!(record.source_meanwhile(&places[0], "a/x.iqm"), None);
        assert_eq!(
            other.source_meanwhile(&places[0], "b/x.iqm").unwrap(),
            "a/x.iqm"
        );
        assert_eq!(other.source_meanwhile(&places[1], "b/x.iqm"), None);
        assert_eq!(other.other_source(&places[0], "b/x.iqm"), None);
        let later = read(root.path(), &places);
        assert_eq!(
            later.other_source(&places[0], "b/x.iqm").unwrap(),
            "a/x.iqm"
        );
        // An output that was removed belongs to nobody.
        fs::remove_file(places[0].path()).unwrap();
        assert_eq!(later.other_source(&places[0], "b/x.iqm"), None);
    }

    #[test]
    fn a_failure_is_known_until_source_or_options_change() {
        let root = tempfile::tempdir().unwrap();
        let places = places(root.path(), 2);
        let record = read(root.path(), &places);
        for report in ["first", "last"] {
            let fingerprint = "1".to_owned();
            let added = record.add_failure(&places[0], fingerprint, report.to_owned());
            added.unwrap();
        }
        let record = read(root.path(), &places);
        assert_eq!(record.find_failure(&places[0], "1"), Some("last"));
        assert_eq!(record.find_failure(&places[0], "2"), None);
        assert_eq!(record.find_failure(&places[1], "1"), None);
        assert!(record.find(&places[0], "1").is_none());
        // An output of an earlier version of the source belongs to its source, whatever failed since then.
        add(root.path(), &places, "0");
        read(root.path(), &places)
            .add_failure(&places[0], "1".to_owned(), String::new())
            .unwrap();
        assert_eq!(up_to_date(root.path(), &places, "0"), 2);
        let record = read(root.path(), &places);
        assert_eq!(record.find_failure(&places[0], "1"), Some(""));
    }

    #[cfg(unix)]
    #[test]
    fn links_in_place_of_the_record_are_not_followed() {
        let [root, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let root = root.path();
        let other = other.path();
        let places = places(root, 500);
        add(root, &places, "1");
        fs::rename(root.join(FOLDER), other.join("shards")).unwrap();
        std::os::unix::fs::symlink(other.join("shards"), root.join(FOLDER)).unwrap();
        let known = up_to_date(root, &places, "1");
        assert!(known > 100 && known < 400, "{known}");
        let error = read(root, &places)
            .add(&places[0], made(&places[0], String::new()))
            .unwrap_err();
        assert!(error.contains("a link to another folder"), "{error}");
        // A second name of a file elsewhere.
        fs::remove_file(root.join(NAME)).unwrap();
        fs::write(other.join("victim"), "kept").unwrap();
        fs::hard_link(other.join("victim"), root.join(NAME)).unwrap();
        let error = read(root, &places)
            .add(&places[0], made(&places[0], String::new()))
            .unwrap_err();
        assert!(error.contains("hard link"), "{error}");
        assert_eq!(fs::read(other.join("victim")).unwrap(), b"kept");
    }

    #[test]
    fn versions_of_addresses_and_stamps_of_paths_are_different_origins() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a");
        fs::write(&path, "x").unwrap();
        let origins = [
            Origin::of_address("a", "b"),
            Origin::of_address("ab", ""),
            Origin::of_path(&path).unwrap(),
        ];
        let record = read(root.path(), &[]);
        let mut found: Vec<_> = origins
            .iter()
            .map(|origin| record.fingerprint(origin).unwrap())
            .collect();
        found.dedup();
        assert_eq!(found.len(), 3);
        assert_eq!(Origin::of_path(root.path()), None);
        let outputs = Outputs::below(root.path());
        assert_eq!(
            Record::read(&outputs, "", None, []).fingerprint(&origins[0]),
            None
        );
    }

    /// The record of outputs of which no file is written, as `add` makes it.
    #[cfg(target_os = "linux")]
    fn simulate(root: &Path, count: u64) {
        let mut files: HashMap<String, Vec<u8>> = HashMap::new();
        for number in 0..count {
            let output = RecordedPath::Text(format!("{}/{number:08}.glb", number / 5000));
            let (hash, _) = hashed(text(&output));
            let entry = Entry {
                output: output.clone(),
                made_from: hexadecimal(&Sha256::digest(number.to_le_bytes())),
                source: String::new(),
                files: vec![RecordedFile {
                    path: output,
                    stamp: Stamp {
                        bytes: number,
                        modified: 1 << 60,
                        file: None,
                    },
                }],
                looked_for: String::new(),
                report: String::new(),
            };
            let is_open = |name: &String| {
                files
                    .get(name)
                    .is_none_or(|file| (file.len() as u64) < FULL)
            };
            let name = (0..=hash.len())
                .map(|depth| file_name(&hash, depth))
                .find(is_open)
                .unwrap();
            write!(files.entry(name).or_default(), "\n{}", text(&entry)).unwrap();
        }
        fs::create_dir(root.join(FOLDER)).unwrap();
        for (name, lines) in files {
            let folder = if name == NAME {
                root.to_owned()
            } else {
                root.join(FOLDER)
            };
            fs::write(folder.join(name), lines).unwrap();
        }
    }

    /// `cargo test --release -p meshmap-outputs --lib -- --ignored --nocapture millions_of_lines`
    #[cfg(target_os = "linux")]
    #[test]
    #[ignore = "writes 2.5 GB"]
    fn a_task_of_a_thousand_files_takes_little_of_a_record_of_millions_of_lines() {
        use cpu_time::ThreadTime;
        for count in [1_000_000, 10_000_000] {
            let root = tempfile::tempdir().unwrap();
            simulate(root.path(), count);
            let outputs = Outputs::below(root.path());
            for (what, step) in [("neighbours", 1), ("anywhere", count / 1000)] {
                let task: Vec<Place> = (0..1000)
                    .map(|number| number * step)
                    .map(|number| {
                        outputs
                            .place(format!("{}/{number:08}.glb", number / 5000))
                            .unwrap()
                    })
                    .collect();
                // Begins the peak again.
                fs::write("/proc/self/clear_refs", "5").unwrap();
                let memory = |name: &str| -> u64 {
                    let status = fs::read_to_string("/proc/self/status").unwrap();
                    let line = status
                        .lines()
                        .find_map(|line| line.strip_prefix(name))
                        .unwrap();
                    line.trim_matches(|c: char| !c.is_ascii_digit())
                        .parse::<u64>()
                        .unwrap()
                        / 1024
                };
                let before = memory("VmRSS:");
                let start = ThreadTime::now();
                let known = read(root.path(), &task).known.len();
                let seconds = start.elapsed().as_secs_f64();
                let taken = memory("VmHWM:").saturating_sub(before);
                println!(
                    "{count} lines, 1,000 outputs, {what}: {seconds:.3} s of CPU, {taken} MiB"
                );
                assert_eq!(known, 1000);
                assert!(seconds < 0.5 && taken < 200);
            }
        }
    }
}

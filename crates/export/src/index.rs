//! The index of outputs that are up to date, next to the outputs in a directory.
//!
//! The index is a text file with one JSON object per line. A line is appended when an output is complete, so a process that is
//! killed loses nothing, and several processes may write outputs to one directory. The last line for an output counts.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::destination::folder_of;
use crate::output::Output;
use crate::stamp::{Name, Stamp, Textures};
use crate::texture;

/// The name of the index. Commands that walk directories skip it, as all hidden files.
const NAME: &str = ".meshmap-outputs.jsonl";

/// The version of the writers. Outputs of another version are written again.
const WRITER: &str = env!("CARGO_PKG_VERSION");

/// The outputs in a directory, and what they were made from.
#[derive(Debug)]
pub struct Index {
    root: PathBuf,
    /// The options of the command and the stamps of its other files, as part of each fingerprint. `None` if one of these files
    /// may change unnoticed.
    options: Option<String>,
    known: HashMap<Name, Entry>,
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

impl Index {
    /// Reads the index of a directory. `options` describes everything, except for the source, that decides about the content
    /// of an output; `also` are further files that do.
    #[must_use]
    pub fn read(root: &Path, options: &str, also: &[PathBuf]) -> Self {
        let also: Option<Vec<_>> = also.iter().map(|path| stamp_of(path)).collect();
        let options = also.map(|also| format!("{options}\n{also:?}"));
        let mut text = String::new();
        let opened = Output::open_regular(root.join(NAME), File::options().read(true));
        if opened.and_then(|mut file| file.read_to_string(&mut text)).is_err() {
            text.clear();
        }
        let (mut known, mut lines) = (HashMap::new(), 0);
        // A process that was killed may have left half a line.
        for entry in text.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok()) {
            lines += 1;
            known.insert(entry.output.clone(), entry);
        }
        let index = Self { root: root.to_owned(), options, known };
        let is_torn = !text.is_empty() && !text.ends_with('\n');
        if is_torn || lines > 2 * index.known.len() + 100 {
            index.compact();
        }
        index
    }

    /// Writes the index again, with one line for each output that is still there.
    fn compact(&self) {
        let mut entries: Vec<&Entry> = self.known.values().filter(|entry| self.is_intact(entry)).collect();
        entries.sort_by(|a, b| a.output.cmp(&b.output));
        let lines = entries.into_iter().flat_map(line).collect::<Vec<u8>>();
        // The long index is as good.
        drop(self.replace(&lines));
    }

    fn replace(&self, lines: &[u8]) -> io::Result<PathBuf> {
        let mut file = Output::create(self.root.join(NAME))?;
        file.write_all(lines)?;
        file.finish()
    }

    /// The fingerprint of an output: what it is made from, and how. `None` if that may change unnoticed, as for standard input.
    #[must_use]
    pub fn fingerprint(&self, source: &Path) -> Option<String> {
        let (path, stamp) = stamp_of(source)?;
        // The folder of a link has other images than the folder of the file.
        let folder = fs::canonicalize(folder_of(source)).ok()?;
        let mut hash = Sha256::new();
        for part in [
            WRITER.as_bytes(),
            self.options.as_ref()?.as_bytes(),
            &path,
            folder.as_os_str().as_encoded_bytes(),
        ] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.update(stamp.bytes.to_le_bytes());
        hash.update(stamp.modified.to_le_bytes());
        Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns `true` if the output was made with this fingerprint, and has not been changed or removed since then.
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
        self.known.get(&self.below(output)?)
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
        let entry = Entry { output, made_from: fingerprint, files, textures, report };
        let path = self.root.join(NAME);
        let file = Output::open_regular(&path, File::options().create(true).append(true));
        file.and_then(|mut file| file.write_all(&line(&entry)))
            .map_err(|error| format!("{}: {error}: the next run will write all files again", path.display()))
    }

    /// A path below the directory; `None` for other paths.
    fn below(&self, path: &Path) -> Option<Name> {
        let below = path.strip_prefix(&self.root).ok()?;
        let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
        Some(parts.map_or_else(|| Name::Other(below.into()), |parts| Name::Text(parts.join("/"))))
    }
}

/// The resolved path and the stamp of a file.
fn stamp_of(path: &Path) -> Option<(Vec<u8>, Stamp)> {
    let resolved = fs::canonicalize(path).ok()?;
    let stamp = Stamp::of(&resolved)?;
    Some((resolved.as_os_str().as_encoded_bytes().to_vec(), stamp))
}

fn line(entry: &Entry) -> Vec<u8> {
    // Neither serializing to memory nor these types fail.
    let mut line = serde_json::to_string(entry).unwrap_or_default();
    // A shell that takes the line for a command expands these also between quotes.
    if line.contains(['$', '`']) {
        line = line.replace('$', r"\u0024").replace('`', r"\u0060");
    }
    line.push('\n');
    line.into_bytes()
}

//! Outputs in a store: made in a spool, put as whole objects, and recognized by their metadata.
//!
//! An object is complete or absent. Its metadata has what the record has of a file: what it was made from, and the other files of the output
//! with their versions. The object that has this metadata is written last, after the other files, and taken away first.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use meshmap_object_store::{Bucket, Head, Listed, RemoteUrl, Settings};
use serde::{Deserialize, Serialize};

use crate::spool::Spool;
use crate::stamp::{RecordedPath, Written};

/// The names of metadata.
const MADE_FROM: &str = "meshmap-made-from";
const SOURCE: &str = "meshmap-source";
const FILES: &str = "meshmap-files";
const LOOKED_FOR: &str = "meshmap-looked-for";
const REPORT: &str = "meshmap-report";

/// The most bytes of names and values. S3 takes 2 KB for an object, with what other programs add.
const MOST_METADATA: usize = 1900;

/// The sizes and versions of objects, by their keys below the folder.
type Objects = HashMap<String, (u64, Option<String>)>;

/// A folder of a store, and the spool for its files.
#[derive(Debug)]
pub(crate) struct Store {
    bucket: Bucket,
    spool: Spool,
}

/// The facts about an output that its metadata has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) made_from: String,
    pub(crate) source: String,
    pub(crate) looked_for: String,
    pub(crate) report: String,
}

/// Another file of an output, in its metadata.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Companion(String, u64, Option<String>);

impl Store {
    pub(crate) fn new(url: &RemoteUrl, settings: Settings) -> io::Result<Self> {
        Ok(Self {
            bucket: Bucket::at(url.clone(), settings)?,
            spool: Spool::new()?,
        })
    }

    /// The folder of the machine in which files are made.
    pub(crate) fn spool(&self) -> std::path::PathBuf {
        self.spool.files()
    }

    /// Puts the files of an output, and then removes them from the spool. The file at `main` is put last, with the facts.
    pub(crate) fn put(&self, main: &Path, files: &[Written], facts: &Facts) -> io::Result<()> {
        let is_main = |file: &&Written| file.below == main;
        // An output may have no file with its name, such as several levels of detail.
        let Some(last) = files.iter().find(is_main).or(files.last()) else {
            return Ok(());
        };
        let key = key_of(&last.below)?;
        let others = files.iter().filter(|file| file.below != last.below);
        let mut companions = Vec::new();
        for (number, file) in others.enumerate() {
            if number == 0 {
                // Nobody reads it with files of this output.
                self.bucket.remove(&key)?;
            }
            let other = key_of(&file.below)?;
            let version = self.put_file(&other, file, &[])?;
            companions.push(Companion(other, file.bytes, version));
        }
        self.put_file(&key, last, &metadata(facts, &companions))?;
        if !companions.is_empty() && !self.are_there(&companions)? {
            self.bucket.remove(&key)?;
            let url = self.url(&key);
            return Err(io::Error::other(format!(
                "another process wrote {url} at the same time; run the command again"
            )));
        }
        for file in files {
            drop(std::fs::remove_file(self.spool().join(&file.below)));
        }
        Ok(())
    }

    fn put_file(
        &self,
        key: &str,
        file: &Written,
        metadata: &[(String, String)],
    ) -> io::Result<Option<String>> {
        let path = self.spool().join(&file.below);
        let put = self.bucket.put_file(key, &path, metadata);
        put.map_err(|error| io::Error::other(format!("{}: {}", self.url(key), error.message())))
    }

    fn url(&self, key: &str) -> String {
        let folder = self.bucket.address().as_shown().trim_end_matches('/');
        format!("{folder}/{key}")
    }

    fn are_there(&self, companions: &[Companion]) -> io::Result<bool> {
        let keys: Vec<String> = companions.iter().map(|file| file.0.clone()).collect();
        let heads = self.bucket.heads(&keys)?;
        Ok(companions.iter().zip(heads).all(|(file, head)| {
            head.is_some_and(|head| head.bytes == file.1 && head.version == file.2)
        }))
    }

    /// The facts about outputs, by their paths, if all their files are there. Objects that the list does not have are not asked
    /// for.
    pub(crate) fn facts<'a>(
        &self,
        outputs: impl IntoIterator<Item = &'a Path>,
    ) -> io::Result<HashMap<String, Facts>> {
        let keys = outputs.into_iter().map(key_of);
        let mut keys = keys.collect::<io::Result<Vec<String>>>()?;
        keys.sort_unstable();
        let listed = self.listed(&keys)?;
        if let Some(listed) = &listed {
            keys.retain(|key| listed.contains_key(key));
        }
        let heads = self.bucket.heads(&keys)?;
        let mut found = HashMap::new();
        for (key, head) in keys.into_iter().zip(heads) {
            let Some((facts, companions)) = head.and_then(facts_of) else {
                continue;
            };
            let is_listed = |listed: &Objects| {
                companions.iter().all(|Companion(key, bytes, version)| {
                    listed
                        .get(key)
                        .is_some_and(|file| file.0 == *bytes && file.1 == *version)
                })
            };
            // A list that was not read to its end may lack some of them.
            if listed.as_ref().is_some_and(is_listed) || self.are_there(&companions)? {
                found.insert(key, facts);
            }
        }
        Ok(found)
    }

    /// The sizes and versions of the objects from the first of these keys on. `None` if the folder has far more objects between the keys.
    fn listed(&self, keys: &[String]) -> io::Result<Option<Objects>> {
        /// The objects of a page, and the pages beyond which it is cheaper to ask for each object.
        const PAGE: usize = 1000;
        const MORE_PAGES: usize = 4;
        let [Some(first), Some(last)] = [keys.first(), keys.last()] else {
            return Ok(Some(HashMap::new()));
        };
        let most = 2 * keys.len().div_ceil(PAGE) + MORE_PAGES;
        // A list begins after a key: this one is just before the first.
        let before = self.bucket.key(first)?;
        let before = before.strip_suffix(|_: char| true).unwrap_or_default();
        let last = self.bucket.key(last)?;
        let folder = self.bucket.key("")?;
        let mut list = self.bucket.list(before)?;
        let mut found = HashMap::new();
        for _ in 0..most {
            let page = list.next_page()?;
            // Companions have names that begin like their output's.
            let is_end = page.is_empty()
                || page
                    .iter()
                    .any(|file| file.in_order && file.key > last && !begins(&file.key, &last));
            for Listed {
                key,
                bytes,
                version,
                ..
            } in page
            {
                let below = key
                    .strip_prefix(&folder)
                    .unwrap_or(&key)
                    .trim_start_matches('/');
                found.insert(below.to_owned(), (bytes, version));
            }
            if is_end {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The source of the output that is there now.
    pub(crate) fn source(&self, output: &Path) -> Option<String> {
        let head = self.bucket.head(&key_of(output).ok()?).ok()??;
        Some(facts_of(head)?.0.source)
    }
}

/// Returns `true` if a key has the same name as another one up to the first dot.
fn begins(key: &str, other: &str) -> bool {
    let name = other.rsplit('/').next().unwrap_or(other);
    let stem = name.split('.').next().unwrap_or(name);
    let folder = &other[..other.len() - name.len()];
    key.starts_with(&format!("{folder}{stem}"))
}

fn key_of(below: &Path) -> io::Result<String> {
    match RecordedPath::of_relative(below) {
        RecordedPath::Text(text) => Ok(text),
        RecordedPath::Other(_) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{}: a key of a store is Unicode", below.display()),
        )),
    }
}

/// The facts as metadata. Without what it was made from if they are too long: then the next run writes the output again.
fn metadata(facts: &Facts, companions: &[Companion]) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() {
            all.push((name.to_owned(), encoded(value)));
        }
    };
    add(MADE_FROM, &facts.made_from);
    if !companions.is_empty() {
        // Neither serializing to memory nor these types fail.
        add(
            FILES,
            &serde_json::to_string(companions).unwrap_or_default(),
        );
    }
    add(LOOKED_FOR, &facts.looked_for);
    add(SOURCE, &facts.source);
    add(REPORT, &facts.report);
    let length = |all: &[(String, String)]| -> usize {
        all.iter()
            .map(|(name, value)| name.len() + value.len())
            .sum()
    };
    // The facts that the next run needs most come first.
    while length(&all) > MOST_METADATA
        && all
            .last()
            .is_some_and(|(name, _)| [SOURCE, REPORT].contains(&name.as_str()))
    {
        all.pop();
    }
    if length(&all) > MOST_METADATA {
        all.clear();
    }
    all
}

fn facts_of(head: Head) -> Option<(Facts, Vec<Companion>)> {
    let mut facts = Facts::default();
    let mut companions = Vec::new();
    for (name, value) in head.metadata {
        let value = decoded(&value);
        match name.as_str() {
            MADE_FROM => facts.made_from = value,
            SOURCE => facts.source = value,
            LOOKED_FOR => facts.looked_for = value,
            REPORT => facts.report = value,
            FILES => companions = serde_json::from_str(&value).ok()?,
            _ => {}
        }
    }
    (!facts.made_from.is_empty()).then_some((facts, companions))
}

/// A text as metadata, which are printable characters of ASCII.
fn encoded(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | 0..=b' ' | 0x7f.. => all.push_str(&format!("%{byte:02X}")),
            _ => all.push(char::from(byte)),
        }
    }
    all
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match value.filter(|_| byte == b'%') {
            Some(value) => {
                bytes.push(value);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_ascii_and_has_what_the_next_run_needs() {
        let facts = Facts {
            made_from: "1".repeat(64),
            source: "ä/100%.iqm\n".to_owned(),
            looked_for: "{\"a\": 1}".to_owned(),
            report: "{}".to_owned(),
        };
        let companions = vec![Companion("a/b.bin".to_owned(), 7, Some("tag".to_owned()))];
        let made = metadata(&facts, &companions);
        assert!(
            made.iter()
                .all(|(_, value)| value.bytes().all(|byte| byte.is_ascii_graphic()))
        );
        let head = |metadata| Head {
            metadata,
            ..Head::default()
        };
        let (read, files) = facts_of(head(made)).unwrap();
        assert_eq!((read, files), (facts.clone(), companions));

        // A long source is left out; long facts are recorded not at all.
        let long = Facts {
            source: "s".repeat(3000),
            ..facts.clone()
        };
        let (read, _) = facts_of(head(metadata(&long, &[]))).unwrap();
        assert_eq!(
            (read.made_from, read.source),
            (facts.made_from.clone(), String::new())
        );
        let long = Facts {
            looked_for: "s".repeat(3000),
            ..facts
        };
        assert_eq!(metadata(&long, &[]), []);
        assert!(facts_of(head(Vec::new())).is_none());
    }
}

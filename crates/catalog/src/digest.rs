//! A sha256 of every array, and every string, that a file decodes to: for comparing readers.

use std::collections::HashMap;
use std::fmt;

use meshmap::{Address, Charge, Encoding, Format, MeshFile, Meter, Scalar};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::input::{Problem, meter_of};
use crate::{inspect, text};

/// The digest of a file, an object in JSON: its `format`, its `arrays` (type, shape and sha256 of each) and its `strings`.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct FileDigest {
    #[serde(serialize_with = "as_string")]
    format: Format,
    #[serde(serialize_with = "as_object")]
    arrays: Arrays,
    #[serde(serialize_with = "as_object")]
    strings: Vec<(String, String)>,
    /// Arrays that are so much larger than the file that hashing them would take hours, and their bytes.
    #[serde(serialize_with = "as_object", skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<(String, u64)>,
}

/// Arrays by their paths. There may be hundreds of thousands of them.
type Arrays = Vec<(String, Hashed)>;

/// The description of an array, and the sha256 of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Hashed {
    #[serde(rename = "type", serialize_with = "as_string")]
    scalar: Scalar,
    shape: Box<[u64]>,
    #[serde(serialize_with = "as_hex")]
    sha256: [u8; 32],
}

fn as_string<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn as_hex<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text::hex(bytes))
}

fn as_object<T: Serialize, S: Serializer>(
    entries: &[(String, T)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|(path, entry)| (path, entry)))
}

/// The digest of a file. OpenCTM files have the arrays of their first body only, without `bodies[0].` in the addresses.
///
/// # Errors
///
/// Returns an error if the file cannot be read, if a part of it cannot be used, or if its parts are so much larger than the file that
/// hashing them would take hours or more memory than the limits allow.
pub fn of(file: &MeshFile) -> Result<FileDigest, Problem> {
    Listing::new(file).read(file, |address| match address.strip_prefix("bodies[0].") {
        Some(short) => Some(short.to_owned()),
        None => Some(address).filter(|address| !address.starts_with("bodies[")),
    })
}

/// The digest of a file with all its arrays, by their addresses.
///
/// # Errors
///
/// Returns an error if the file cannot be read, if a part of it cannot be used, or if its parts are so much larger than the file that
/// hashing them would take hours or more memory than the limits allow.
pub fn of_all(file: &MeshFile) -> Result<FileDigest, Problem> {
    Listing::new(file).read(file, Some)
}

/// The arrays and texts of a file.
struct Listing {
    digest: FileDigest,
    /// The place of each array in the list.
    places: HashMap<Address, usize>,
    /// Bytes hashed so far that more decoding of the file does not account for, without the bytes of channels.
    hashed: u64,
    /// Bytes of channels hashed so far.
    of_channels: u64,
    /// The maximum of these bytes.
    most: u64,
    /// The maximum for channels.
    most_of_channels: u64,
    /// Memory that the list takes.
    kept: Meter<'static>,
}

impl Listing {
    fn new(file: &MeshFile) -> Self {
        let digest = FileDigest {
            format: file.format(),
            arrays: Vec::new(),
            strings: Vec::new(),
            left_out: Vec::new(),
        };
        let file_bytes = file.source().len().ok().flatten().unwrap_or(0);
        let most_of = |free: u64| file_bytes.saturating_mul(64).saturating_add(free);
        Self {
            digest,
            places: HashMap::new(),
            hashed: 0,
            of_channels: 0,
            most: most_of(512 << 20),
            most_of_channels: most_of(16 << 20),
            kept: meter_of(file),
        }
    }

    fn read(
        mut self,
        file: &MeshFile,
        path: impl Fn(String) -> Option<String>,
    ) -> Result<FileDigest, Problem> {
        /// The cost of an array with the same values as an earlier one.
        const LISTED: u64 = 1 << 10;
        if let Some(line) = damaged(file) {
            return Err(Problem::other("malformed", line));
        }
        for array in file.arrays_together() {
            let array = array?;
            // Only the bodies after the first one have no path.
            let Some(path) = path(array.address.to_string()) else {
                break;
            };
            self.keep(&path)?;
            let known = array
                .same_as
                .as_ref()
                .and_then(|first| self.places.get(first));
            let hashed =
                if let Some((_, hashed)) = known.and_then(|place| self.digest.arrays.get(*place)) {
                    let hashed = hashed.clone();
                    self.charge(&array.address, LISTED)?;
                    hashed
                } else {
                    let bytes = array.byte_len().unwrap_or(0);
                    match array.encoding {
                        // Channels that never change take up no bytes of the file, so the size says nothing about its validity.
                        Encoding::Channels => {
                            let found = self.of_channels.saturating_add(bytes);
                            if found > self.most_of_channels {
                                self.digest.left_out.push((path, bytes));
                                continue;
                            }
                            self.of_channels = found;
                        }
                        // Arrays may share bytes of the file; if thousands do, hashing them would take hours.
                        _ if array.is_view() => {
                            let stored = array.range.end.saturating_sub(array.range.start);
                            self.charge(&array.address, bytes.min(stored))?;
                        }
                        _ => {}
                    }
                    let mut hash = Sha256::new();
                    let shape = array.read_pieces(|piece| hash.update(piece))?.into();
                    Hashed {
                        scalar: array.scalar,
                        shape,
                        sha256: hash.finalize().into(),
                    }
                };
            self.places
                .insert(array.address.clone(), self.digest.arrays.len());
            self.digest.arrays.push((path, hashed));
        }
        for text in file.texts() {
            let (address, text) = text?;
            let Some(path) = path(address.to_string()) else {
                break;
            };
            self.charge(&address, text.as_bytes().len() as u64)?;
            self.keep(&path)?;
            self.digest
                .strings
                .push((path, text.to_string_lossy().into()));
        }
        Ok(self.digest)
    }

    /// Charges the memory of an entry of the list with this path.
    fn keep(&self, path: &str) -> meshmap::Result<()> {
        /// An entry of the list, the address as a key with its segments, and the room that vectors and maps keep free.
        const OF_ENTRY: u64 = 512;
        self.kept
            .take(OF_ENTRY + 2 * path.len() as u64, "list of arrays")
            .map(Charge::keep)
    }

    fn charge(&mut self, what: &Address, bytes: u64) -> Result<(), Problem> {
        let found = self.hashed.saturating_add(bytes);
        if found <= self.most {
            self.hashed = found;
            return Ok(());
        }
        let [needed, most] = [found, self.most].map(|bytes| text::plural(bytes, "byte"));
        let format = self.digest.format;
        let message = format!("{format}: {what} needs {needed}, above the limit of {most}");
        Err(Problem::other("limit_exceeded", message))
    }
}

/// The first part that cannot be used, and the number of further ones, on one line.
fn damaged(file: &MeshFile) -> Option<String> {
    let damage = inspect::check(file).damage;
    let line = damage.first()?.line(file.format());
    let more = damage.len() - 1;
    let more = if more > 0 {
        format!("; {} cannot be used either", text::plural(more, "part"))
    } else {
        String::new()
    };
    Some(line + &more)
}

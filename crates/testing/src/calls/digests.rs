//! Digests of the values of all calls: two ways to the same bytes must give the same.

use meshmap::{Error, ErrorKind, Format, MeshFile, Options, Result, Source};

use super::caller::Caller;
use super::every::{every, on};
use super::look::{Look, Looked};

/// The name of a call, and the digest of its value or error.
pub type Digest = (String, u64);

struct Digests {
    most: usize,
    all: Vec<Digest>,
    errors: Vec<Error>,
    missing: Option<Error>,
}

impl Digests {
    fn new(most: usize) -> Self {
        Self {
            most,
            all: Vec::new(),
            errors: Vec::new(),
            missing: None,
        }
    }
}

impl Caller for Digests {
    fn call<T: Look>(&mut self, name: &str, job: impl FnOnce() -> Result<T>) -> Option<T> {
        let result = job();
        let mut looked = Looked::default();
        result.look(&mut looked);
        self.all.push((name.to_owned(), looked.digest()));
        self.missing = self.missing.take().or(looked.missing);
        result.map_err(|error| self.errors.push(error)).ok()
    }

    fn most(&self) -> usize {
        self.most
    }

    fn looks(&self) -> bool {
        true
    }
}

/// Makes every public call, for at most `most` items of a kind, and digests their values.
///
/// # Errors
///
/// Returns [`NeedBytes`](meshmap::ErrorKind::NeedBytes) if some call needs bytes that fragments do not have. All calls are made
/// nevertheless, so that a step of [`Fragments`](meshmap::Fragments) asks for what any of them needs.
pub fn digests(source: &Source, options: &Options, most: usize) -> Result<Vec<Digest>> {
    let mut digests = Digests::new(most);
    every(source, options, &mut digests);
    digests.missing.map_or(Ok(digests.all), Err)
}

/// The same for the calls on an open file, and the errors of calls.
///
/// # Errors
///
/// Like [`digests`].
pub fn digests_on(
    file: &MeshFile,
    source: &Source,
    options: &Options,
    most: usize,
) -> Result<(Vec<Digest>, Vec<Error>)> {
    let mut digests = Digests::new(most);
    on(file, source, options, &mut digests);
    digests
        .missing
        .map_or(Ok((digests.all, digests.errors)), Err)
}

/// `true` if a source that does not know its length sees something else in a file: if it is shorter than it declares, the end of
/// the last snapshot of a CGeo file, and what follows the last part.
pub fn needs_length(file: &Result<MeshFile>) -> bool {
    match file {
        Ok(file) => {
            let is_last = |id: &str| ["trailing_bytes", "damaged_body"].contains(&id);
            file.format() == Format::CGeo
                || file
                    .findings()
                    .iter()
                    .any(|finding| is_last(finding.rule.id))
        }
        Err(error) => error.format() == Some(Format::CGeo) || error.kind() == ErrorKind::Truncated,
    }
}

/// Asserts that all calls had the same values. If a source does not know its length, upload caches are refused, and are not compared.
///
/// # Panics
///
/// Panics with the name of the first call that had another value.
pub fn assert_same(what: &str, found: &[Digest], expected: &[Digest], knows_length: bool) {
    let compared = |all: &[Digest]| -> Vec<Digest> {
        let is_compared = |(name, _): &&Digest| knows_length || !name.starts_with("UploadCache");
        all.iter().filter(is_compared).cloned().collect()
    };
    let (found, expected) = (compared(found), compared(expected));
    let differs = found
        .iter()
        .zip(&expected)
        .find(|(found, expected)| found != expected);
    assert!(differs.is_none(), "{what}: {differs:?}");
    assert_eq!(found.len(), expected.len(), "{what}: calls");
}

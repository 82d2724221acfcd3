//! The errors of all calls.

use meshmap::{Error, Options, Result, Source};

use super::caller::Caller;
use super::every::every;
use super::look::Look;

struct Errors(Vec<Error>);

impl Caller for Errors {
    fn call<T: Look>(&mut self, _: &str, job: impl FnOnce() -> Result<T>) -> Option<T> {
        job().map_err(|error| self.0.push(error)).ok()
    }

    fn most(&self) -> usize {
        16
    }
}

/// Makes every public call, a few for each kind of item, and returns their errors.
pub fn errors(source: &Source, options: &Options) -> Vec<Error> {
    let mut errors = Errors(Vec::new());
    every(source, options, &mut errors);
    errors.0
}

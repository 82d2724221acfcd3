//! The outputs of a job: their names, and which of them are up to date.

use std::path::{Path, PathBuf};

use meshmap_catalog::text;
use meshmap_export::{Convert, find_up_to_date};
use meshmap_outputs::{Made, Names, Origin, Place, Record, find_conflict, with_added_ending};
use meshmap_url::{RemoteUrl, is_remote};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise_export;
use crate::export::{dict_of, file_of, options_of, target_of};
use crate::url::Named;

/// The outputs of files in a folder, and what they were made from, as `meshmap convert` records them.
#[pyclass(frozen, module = "meshmap._meshmap")]
pub struct Outputs {
    convert: Convert,
    record: Record,
    files: Vec<Source>,
}

/// A file, and the place of its output. `None` if it has none.
struct Source {
    path: PathBuf,
    /// The URL of a file in a store, in place of the path.
    url: Option<RemoteUrl>,
    place: Option<Place>,
}

impl Source {
    /// The file for people, and for the record: without secrets, and without the part of an address that differs between versions.
    fn shown(&self) -> String {
        match &self.url {
            Some(url) => url.place().to_owned(),
            None => absolute(&self.path).to_string_lossy().into_owned(),
        }
    }

    /// A path that two files have only if they are the same.
    fn identity(&self) -> PathBuf {
        if self.url.is_some() {
            self.path.clone()
        } else {
            absolute(&self.path)
        }
    }

    /// The version of the file that is read now. `None` if the file may change unnoticed.
    fn origin(&self, version: Option<&str>) -> Option<Origin> {
        match &self.url {
            Some(url) => Some(Origin::of_address(&url.identity_with_secrets(), version?)),
            None => Origin::of_path(&self.path),
        }
    }
}

#[pymethods]
impl Outputs {
    /// `files` are paths and URLs, each with the path of its output below the folder, without the ending; None for a file that gets
    /// no output. Options are as in `convert`. Raises ValueError if two files would have the same output.
    #[new]
    #[pyo3(signature = (folder, files, to, **options))]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        files: Vec<(Named, Option<PathBuf>)>,
        to: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let target = target_of(Some(to), &folder)?;
        let mut convert = Convert {
            target,
            ..options_of(options)?
        };
        // Another working directory has other folders.
        for folder in &mut convert.textures {
            *folder = absolute(folder);
        }
        let outputs = meshmap_outputs::Outputs::below(&folder);
        let place = |below: PathBuf| outputs.place(with_added_ending(&below, target.name())).ok();
        let files: Vec<Source> = files
            .into_iter()
            .map(|(Named(path), below)| Source {
                url: path.to_str().and_then(RemoteUrl::of_remote),
                path,
                place: below.and_then(place),
            })
            .collect();
        let names: Vec<Names> = files
            .iter()
            .map(|file| {
                file.place
                    .as_ref()
                    .map(|place| convert.names(place.below()))
                    .unwrap_or_default()
            })
            .collect();
        let source = |number: usize| files.get(number).map(Source::identity);
        if let Some(found) = find_conflict(&names, |a, b| source(a) == source(b), |_| true) {
            let [a, b] = found
                .outputs
                .map(|number| files.get(number).map(Source::shown).unwrap_or_default());
            return Err(both_written(&a, &b, &folder.join(found.path)));
        }
        let places = files.iter().filter_map(|file| file.place.as_ref());
        let identity = convert.identity();
        let record = py.detach(|| Record::read(&outputs, &identity, Some(&[]), places));
        Ok(Self {
            convert,
            record,
            files,
        })
    }

    /// Converts the file of this number, unless its output is up to date. `version` is the version of a file in a store. With `is_named`, the
    /// output has the name of the file only, so that it must not be of another file of the same name.
    ///
    /// Returns the dict of `convert`, with `output` and `state`.
    fn convert<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        version: Option<&str>,
        is_named: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let file = self
            .files
            .get(number)
            .ok_or_else(|| PyValueError::new_err("no such file"))?;
        let Some(place) = &file.place else {
            return Err(PyValueError::new_err("the file has no output"));
        };
        let dict = PyDict::new(py);
        dict.set_item("output", place.path())?;
        let fingerprint = py.detach(|| self.record.fingerprint(&file.origin(version)?));
        // The library is the one of the job: clones of the settings share it.
        let library = &self.convert.library;
        let is_up_to_date = |made: &str| {
            py.detach(|| find_up_to_date(&self.record, place, made, library).is_some())
        };
        if fingerprint.as_deref().is_some_and(is_up_to_date) {
            dict.set_item("state", "up_to_date")?;
            return Ok(dict);
        }
        let shown = file.shown();
        if is_named && let Some(other) = py.detach(|| self.earlier_source(place, &shown)) {
            return Err(both_written(&other, &shown, &place.path()));
        }
        let source = file.path.as_os_str().into_pyobject(py)?;
        let (mesh, handle, name, folder) = file_of(py, source.as_any())?;
        let convert = Convert {
            name,
            folder,
            ..self.convert.clone()
        };
        let write = || {
            place.prepare().map_err(meshmap_export::Error::Write)?;
            convert.write(&mesh, place)
        };
        let outcome = handle
            .detached(py, true, write)?
            .map_err(|error| raise_export(py, &error))?;
        if let Some(fingerprint) = fingerprint {
            let (files, looked_for) = (outcome.files.clone(), outcome.textures.to_record());
            let made = Made {
                fingerprint,
                source: shown.clone(),
                files,
                looked_for,
                report: String::new(),
            };
            let added = py.detach(|| self.record.add(place, made));
            added.map_err(|why| PyOSError::new_err(text::line(&why)))?;
            if is_named
                && let Some(other) = py.detach(|| self.record.source_meanwhile(place, &shown))
            {
                return Err(both_written(&other, &shown, &place.path()));
            }
        }
        dict.set_item("state", "written")?;
        dict.update(dict_of(py, outcome)?.as_mapping())?;
        Ok(dict)
    }
}

impl Outputs {
    /// Another file that the output was made from, and that still exists: files may have been moved. A file in a store is taken to exist.
    fn earlier_source(&self, place: &Place, source: &str) -> Option<String> {
        let meanwhile = self.record.source_meanwhile(place, source);
        let other = meanwhile.or_else(|| self.record.other_source(place, source))?;
        (is_remote(&other) || Path::new(&other).exists()).then_some(other)
    }
}

/// The error of two files with one output.
fn both_written(a: &str, b: &str, output: &Path) -> PyErr {
    let output = output.display();
    PyValueError::new_err(format!(
        "{a} and {b} would both be written to {output}: pass base=, or convert them to different folders"
    ))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

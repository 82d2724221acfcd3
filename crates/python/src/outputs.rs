//! The outputs of a job: their names, and which of them are up to date.

use std::path::{Path, PathBuf};

use meshmap_catalog::text;
use meshmap_export::{Convert, Counts, find_up_to_date};
use meshmap_outputs::{Made, Names, Origin, Place, Record, find_conflict, with_added_ending};
use meshmap_url::{RemoteUrl, is_remote};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};

use crate::error::{argument, raise_export};
use crate::export::{file_within, options_of, target_of};
use crate::url::Named;

/// The outputs of files in a folder, and what they were made from, as `meshmap convert` records them.
#[pyclass(frozen, module = "meshmap._meshmap")]
pub struct Outputs {
    convert: Convert,
    outputs: meshmap_outputs::Outputs,
    record: Record,
    files: Vec<Source>,
    /// The memory for each file, in place of the usual one.
    max_total_bytes: Option<u64>,
    /// The bytes and the seconds of the process, if it works on single files and may end.
    process: Option<(u64, f64)>,
}

/// The facts about an output in the record, for other runs of this package.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Told {
    #[serde(flatten)]
    counts: Counts,
    left_out: Option<String>,
}

/// The reason why a file cannot be converted, in the record.
#[derive(Serialize, Deserialize)]
struct Failure {
    state: String,
    error_kind: String,
    error: String,
    /// With another limit, it may not fail.
    max_total_bytes: Option<u64>,
    /// The limits of the process that the file has ended. With higher ones, it may not end.
    process: Option<(u64, f64)>,
}

/// The kind of the error of a file that has ended its process.
const KILLED: &str = "killed_worker";

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
    #[pyo3(signature = (folder, files, to, max_total_bytes, process, **options))]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        files: Vec<(Named, Option<PathBuf>)>,
        to: &str,
        max_total_bytes: Option<u64>,
        process: Option<(u64, f64)>,
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
        let outputs = outputs_at(py, &folder)?;
        if outputs.is_in_store() && !convert.copy_textures && !convert.embed_textures {
            // Paths of images of this machine say nothing in a store.
            convert.textures.clear();
        }
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
            outputs,
            record,
            files,
            max_total_bytes,
            process,
        })
    }

    /// Converts the file of this number, unless its output is up to date. `version` is the version of a file in a store. With `is_named`, the
    /// output has the name of the file only, so that it must not be of another file of the same name.
    ///
    /// Returns a dict of `output`, `state`, `vertices`, `triangles` and `left_out`, or of `state`, `error_kind` and `error` if an earlier run has
    /// recorded that the file cannot be converted.
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
        if let Some(made) = fingerprint.as_deref() {
            let known = py.detach(|| find_up_to_date(&self.record, place, made, library));
            if let Some(known) = known {
                dict.set_item("state", "up_to_date")?;
                let told = serde_json::from_str(known.report).unwrap_or_default();
                return with_told(dict, &told);
            }
            if let Some(failure) = self.failure(place, made) {
                dict.del_item("output")?;
                dict.set_item("state", failure.state)?;
                dict.set_item("error_kind", failure.error_kind)?;
                dict.set_item("error", failure.error)?;
                return Ok(dict);
            }
        }
        let shown = file.shown();
        if is_named && let Some(other) = py.detach(|| self.earlier_source(place, &shown)) {
            return Err(both_written(&other, &shown, &place.path()));
        }
        let source = file.path.as_os_str().into_pyobject(py)?;
        let (mesh, handle, name, folder) = file_within(py, source.as_any(), self.max_total_bytes)?;
        let has_images = !self.outputs.is_in_store()
            || self.convert.copy_textures
            || self.convert.embed_textures;
        let convert = Convert {
            name,
            folder: folder.filter(|_| has_images),
            ..self.convert.clone()
        };
        let write = || {
            place.prepare().map_err(meshmap_export::Error::Write)?;
            convert.write(&mesh, place)
        };
        let outcome = handle
            .detached(py, true, write)?
            .map_err(|error| raise_export(py, &error))?;
        let left_out = outcome.report.left_out.iter();
        let left_out: Vec<String> = left_out.map(|entry| entry.line(&argument)).collect();
        let told = Told {
            counts: outcome.counts(),
            left_out: Some(left_out.join("; ")).filter(|text| !text.is_empty()),
        };
        let made = Made {
            fingerprint: fingerprint.unwrap_or_default(),
            source: shown.clone(),
            files: outcome.files,
            looked_for: outcome.textures.to_record(),
            // Neither serializing to memory nor these types fail.
            report: serde_json::to_string(&told).unwrap_or_default(),
        };
        let is_recorded = !made.fingerprint.is_empty();
        let delivered = py.detach(|| self.record.deliver(place, made));
        delivered.map_err(|why| PyOSError::new_err(text::line(&why.to_string())))?;
        if is_recorded
            && is_named
            && let Some(other) = py.detach(|| self.record.source_meanwhile(place, &shown))
        {
            return Err(both_written(&other, &shown, &place.path()));
        }
        dict.set_item("state", "written")?;
        with_told(dict, &told)
    }

    /// Records that the file of this number cannot be converted, so that it is not read again: `state`, and kind and message of the error.
    fn fail(
        &self,
        py: Python<'_>,
        number: usize,
        version: Option<&str>,
        state: String,
        error_kind: String,
        error: String,
    ) -> PyResult<()> {
        let file = self.files.get(number);
        let Some((file, place)) = file.and_then(|file| Some((file, file.place.as_ref()?))) else {
            return Ok(());
        };
        let failure = Failure {
            state,
            process: self.process.filter(|_| error_kind == KILLED),
            error_kind,
            error,
            max_total_bytes: self.max_total_bytes,
        };
        // Neither serializing to memory nor this type fails.
        let report = serde_json::to_string(&failure).unwrap_or_default();
        let add = || {
            let Some(made) = self.record.fingerprint(&file.origin(version)?) else {
                return Some(Ok(()));
            };
            let is_known = self.record.find_failure(place, &made) == Some(&report);
            (!is_known).then(|| self.record.add_failure(place, made, report))
        };
        let added = py.detach(add).unwrap_or(Ok(()));
        added.map_err(|why| PyOSError::new_err(text::line(&why)))
    }
}

/// The outputs below a folder, which may be one of a store.
fn outputs_at(py: Python<'_>, folder: &Path) -> PyResult<meshmap_outputs::Outputs> {
    let url = folder.to_str().and_then(RemoteUrl::of_remote);
    #[cfg(feature = "stores")]
    if let Some(url) = url {
        let settings = crate::store::network()?.settings();
        let made = || meshmap_outputs::Outputs::in_store(&url, settings);
        return Ok(py.detach(made)?);
    }
    #[cfg(not(feature = "stores"))]
    if let Some(url) = url {
        return Err(crate::source::without_stores(py, &url));
    }
    Ok(meshmap_outputs::Outputs::below(folder))
}

/// Adds what is known of an output.
fn with_told<'py>(dict: Bound<'py, PyDict>, told: &Told) -> PyResult<Bound<'py, PyDict>> {
    dict.set_item("vertices", told.counts.vertices)?;
    dict.set_item("triangles", told.counts.triangles)?;
    dict.set_item("left_out", &told.left_out)?;
    Ok(dict)
}

impl Outputs {
    /// The failure that an earlier run of this package has recorded, with the same limits.
    fn failure(&self, place: &Place, made: &str) -> Option<Failure> {
        let failure: Failure = serde_json::from_str(self.record.find_failure(place, made)?).ok()?;
        let is_higher = self
            .process
            .zip(failure.process)
            .is_some_and(|(own, recorded)| own.0 > recorded.0 || own.1 > recorded.1);
        (failure.max_total_bytes == self.max_total_bytes && !is_higher).then_some(failure)
    }

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

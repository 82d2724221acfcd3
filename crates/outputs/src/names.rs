//! The names of outputs, and two outputs of one name.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::{Path, PathBuf};

/// The name of the output of a source, which differs for any two sources: `a.iqm.glb` of `a.iqm`.
#[must_use]
pub fn with_added_ending(source: &Path, ending: &str) -> PathBuf {
    let mut name = source.to_owned();
    name.as_mut_os_string().push(format!(".{ending}"));
    name
}

/// The names of the outputs of all sources of a run: with the ending in place of the source's (`a.glb` of `a.iqm`), unless another
/// source has the same name then. Sources for which `keeps_ending` is true always keep theirs.
#[must_use]
pub fn name_all(
    sources: &[PathBuf],
    ending: &str,
    keeps_ending: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let mut counts: HashMap<PathBuf, u32> = HashMap::new();
    for source in sources.iter().filter(|source| !keeps_ending(source)) {
        *counts.entry(source.with_extension(ending)).or_default() += 1;
    }
    let name = |source: &PathBuf| {
        let short = source.with_extension(ending);
        let is_taken = counts.get(&short).is_some_and(|count| *count > 1);
        if is_taken || keeps_ending(source) {
            with_added_ending(source, ending)
        } else {
            short
        }
    };
    sources.iter().map(name).collect()
}

/// The names that one output may take: paths below the folder of outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The files of the output.
    pub files: Vec<PathBuf>,
    /// Further files, if one is not enough: a path, a number from 1, and an ending.
    pub numbered: Option<Numbered>,
    /// A folder that belongs to the output, with any files.
    pub folder: Option<PathBuf>,
}

/// Files whose names differ by a number: `scan.gltf.1.bin`, `scan.gltf.2.bin` and so on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Numbered {
    /// The path before the number: `scan.gltf.`
    pub before: PathBuf,
    /// The name after the number: `.bin`
    pub after: String,
}

impl Numbered {
    /// The name of the file with this number. `None` if it is not a name in UTF-8.
    #[must_use]
    pub fn name(&self, number: usize) -> Option<String> {
        let before = self.before.file_name()?.to_str()?;
        Some(format!("{before}{number}{}", self.after))
    }

    /// The files of different numbers that a path may be one of, with the number in each place where digits are.
    fn of(path: &Path) -> Vec<Self> {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Vec::new();
        };
        let is_inside =
            |at: usize| at > 0 && name.as_bytes().get(at - 1).is_some_and(u8::is_ascii_digit);
        let is_digit = |at: usize| name.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let mut all = Vec::new();
        for start in (0..name.len()).filter(|at| is_digit(*at) && !is_inside(*at)) {
            let end = (start..name.len())
                .find(|at| !is_digit(*at))
                .unwrap_or(name.len());
            if let (Some(before), Some(after)) = (name.get(..start), name.get(end..)) {
                all.push(Self {
                    before: path.with_file_name(before),
                    after: after.to_owned(),
                });
            }
        }
        all
    }
}

/// Two outputs that would take the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The number of each of them.
    pub outputs: [usize; 2],
    /// The path that both would write to.
    pub path: PathBuf,
}

/// Returns the first two outputs of a run that would take the same name.
///
/// `have_one_source` returns `true` for two outputs that are the same. `is_written` is asked for outputs with a name of another one: a
/// file that holds no mesh writes nothing.
pub fn find_conflict(
    outputs: &[Names],
    have_one_source: impl Fn(usize, usize) -> bool,
    is_written: impl FnMut(usize) -> bool,
) -> Option<Conflict> {
    claim_all(
        outputs,
        Owners {
            have_one_source,
            is_written,
        },
    )
    .err()
}

/// Gives each output its names. Fails for the first name that two would take.
fn claim_all(
    outputs: &[Names],
    mut owners: Owners<impl Fn(usize, usize) -> bool, impl FnMut(usize) -> bool>,
) -> Result<(), Conflict> {
    let mut taken: HashMap<PathBuf, usize> = HashMap::new();
    let mut numbered: HashMap<Numbered, usize> = HashMap::new();
    let mut folders: HashMap<PathBuf, usize> = HashMap::new();
    for (output, names) in outputs.iter().enumerate() {
        for path in &names.files {
            owners.take(&mut taken, compared(path), output, path)?;
        }
        if let Some(Numbered { before, after }) = &names.numbered {
            let files = Numbered {
                before: compared(before),
                after: after.clone(),
            };
            owners.take(&mut numbered, files, output, before)?;
        }
        if let Some(folder) = &names.folder {
            owners.take(&mut folders, compared(folder), output, folder)?;
        }
    }
    // Names that others may take, known by now.
    for (output, names) in outputs.iter().enumerate() {
        for path in &names.files {
            let own = compared(path);
            let numbered = Numbered::of(&own)
                .into_iter()
                .filter_map(|files| numbered.get(&files).copied());
            let above = own
                .ancestors()
                .filter_map(|folder| folders.get(folder).copied());
            for other in numbered.chain(above) {
                owners.check(other, output, path)?;
            }
        }
    }
    Ok(())
}

/// The rules by which outputs own names.
struct Owners<S, W> {
    have_one_source: S,
    is_written: W,
}

impl<S: Fn(usize, usize) -> bool, W: FnMut(usize) -> bool> Owners<S, W> {
    /// Gives a name to an output, unless another output that is written has it: that is a conflict, or stays the owner if this one is
    /// not written.
    fn take<N: Eq + Hash>(
        &mut self,
        names: &mut HashMap<N, usize>,
        name: N,
        output: usize,
        path: &Path,
    ) -> Result<(), Conflict> {
        let Some(other) = names.get(&name).copied() else {
            names.insert(name, output);
            return Ok(());
        };
        self.check(other, output, path)?;
        if !(self.is_written)(other) {
            names.insert(name, output);
        }
        Ok(())
    }

    /// Fails if two outputs that are written, of two sources, would take a path.
    fn check(&mut self, first: usize, second: usize, path: &Path) -> Result<(), Conflict> {
        let is_one = first == second || (self.have_one_source)(first, second);
        if is_one || !(self.is_written)(first) || !(self.is_written)(second) {
            return Ok(());
        }
        Err(Conflict {
            outputs: [first, second],
            path: path.to_owned(),
        })
    }
}

/// A path as names are compared: Windows and macOS usually do not distinguish upper and lower case.
fn compared(path: &Path) -> PathBuf {
    match path.to_str() {
        Some(text) if cfg!(any(windows, target_os = "macos")) => PathBuf::from(text.to_lowercase()),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[&str], buffers: Option<&str>, folder: Option<&str>) -> Names {
        Names {
            files: files.iter().map(PathBuf::from).collect(),
            numbered: buffers.map(|before| Numbered {
                before: before.into(),
                after: ".bin".to_owned(),
            }),
            folder: folder.map(PathBuf::from),
        }
    }

    fn conflict(outputs: &[Names]) -> Option<([usize; 2], String)> {
        let found = find_conflict(outputs, |_, _| false, |_| true)?;
        Some((
            found.outputs,
            found.path.to_str().unwrap().replace('\\', "/"),
        ))
    }

    #[test]
    fn sources_that_differ_in_their_endings_keep_them() {
        let sources = ["a.iqm", "a.ctm", "b.iqm", "d/a.iqm", "a.png"].map(PathBuf::from);
        let named = name_all(&sources, "glb", |source| {
            source.extension().is_some_and(|end| end == "png")
        });
        assert_eq!(
            named,
            ["a.iqm.glb", "a.ctm.glb", "b.glb", "d/a.glb", "a.png.glb"].map(PathBuf::from)
        );
    }

    #[test]
    fn files_of_two_outputs_are_found_in_any_order() {
        let first = names(&["a.pc2", "a.obj", "a.mtl"], None, None);
        let second = names(&["x.obj", "a.obj"], None, None);
        assert_eq!(
            conflict(&[first.clone(), second]),
            Some(([0, 1], "a.obj".to_owned()))
        );
        assert_eq!(
            conflict(&[first.clone(), names(&["d/a.obj"], None, None)]),
            None
        );
        assert_eq!(
            find_conflict(&[first.clone(), first.clone()], |_, _| true, |_| true),
            None
        );
        // Outputs that are not written, before, between and after others.
        for written in [
            [true, false, true],
            [true, true, false],
            [false, true, true],
        ] {
            let same = [first.clone(), first.clone(), first.clone()];
            let found = find_conflict(&same, |_, _| false, |output| written[output]).unwrap();
            assert!(
                found.outputs.iter().all(|output| written[*output]),
                "{written:?}: {found:?}"
            );
        }
        let same = [first.clone(), first.clone(), first];
        assert_eq!(
            find_conflict(&same, |_, _| false, |output| output == 1),
            None
        );
    }

    #[test]
    fn names_with_numbers_belong_to_their_output() {
        let scan = names(&["d/scan.gltf", "d/scan.bin"], Some("d/scan.gltf."), None);
        let other = |name: &str| names(&[name, "d/x"], None, None);
        for taken in ["d/scan.gltf.1.bin", "d/scan.gltf.20.bin"] {
            let found = conflict(&[scan.clone(), other(taken)]);
            assert_eq!(found, Some(([0, 1], taken.to_owned())));
            assert_eq!(
                conflict(&[other(taken), scan.clone()]),
                Some(([1, 0], taken.to_owned()))
            );
        }
        for free in [
            "scan.gltf.1.bin",
            "d/scan_1.bin",
            "d/scan.gltf.1.mtl",
            "d/scan.gltf.x.bin",
            "d/scan.gltf.1x.bin",
        ] {
            assert_eq!(conflict(&[scan.clone(), other(free)]), None, "{free}");
        }
        let buffers = scan.numbered.unwrap();
        assert_eq!(buffers.name(3).unwrap(), "scan.gltf.3.bin");
    }

    #[test]
    fn folders_belong_to_their_output() {
        let scan = names(&["a.gltf"], None, Some("a.gltf.textures"));
        let inside = names(&["a.gltf.textures/deep/b.gltf"], None, None);
        assert_eq!(conflict(&[inside.clone(), scan.clone()]).unwrap().0, [1, 0]);
        assert_eq!(conflict(&[scan, inside]).unwrap().0, [0, 1]);
    }

    #[test]
    fn upper_and_lower_case_are_distinguished_where_files_are() {
        let both = [names(&["A.glb"], None, None), names(&["a.glb"], None, None)];
        assert_eq!(
            conflict(&both).is_some(),
            cfg!(any(windows, target_os = "macos"))
        );
    }
}

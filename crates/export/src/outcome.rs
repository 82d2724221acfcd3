use std::collections::BTreeMap;
use std::path::PathBuf;

use meshmap::Text;
use meshmap_outputs::Written;
use meshmap_scene::vector::is_degenerate;

use crate::looked_for::Textures;

/// The result of writing a file's content.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The files that were written.
    pub files: Vec<Written>,
    /// Triangles that were written.
    pub triangles: u64,
    /// The number of written triangles with two equal corners. Blender's USD import may crash on them.
    pub degenerate: u64,
    /// Vertices that were written, or positions where targets have no vertices.
    pub vertices: u64,
    /// Points that were written, of a file that has only points.
    pub points: u64,
    /// Joints that were written, of a file that has no meshes.
    pub joints: u64,
    /// Snapshots of a CGeo file that were written.
    pub snapshots: u64,
    /// Animations that were written.
    pub animations: u64,
    /// The images that the file names, and where they were found.
    pub textures: Textures,
    /// Data that the target does not hold, one line each: the first 64.
    pub left_out: Vec<String>,
    /// The number of further lines of that kind.
    pub more_left_out: u64,
    /// `true` if something was left out because it is damaged, or has numbers that cannot be written.
    pub has_unusable: bool,
    /// Numbers that differ from the file: the kind of change, and the count of changed elements.
    pub changed: BTreeMap<&'static str, u64>,
    /// Possible problems and assumptions, one line each: the first 64.
    pub notes: Vec<String>,
    /// The number of further notes.
    pub more_notes: u64,
}

/// The lines of a kind that are listed.
const MOST_LINES: usize = 64;

impl Outcome {
    /// The paths of the files that were written.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// A mesh was written.
    pub(crate) fn wrote(&mut self, vertices: usize, triangles: usize) {
        self.vertices += vertices as u64;
        self.triangles += triangles as u64;
    }

    /// Triangles with these corners are in the file: counts the degenerate ones among them, dropped or written.
    pub(crate) fn count_degenerate(
        &mut self,
        corners: impl Iterator<Item = [u32; 3]>,
        is_dropped: bool,
    ) {
        let count = corners.filter(|corners| is_degenerate(*corners)).count() as u64;
        if is_dropped {
            self.change("triangles with two equal corners, dropped", count);
        } else {
            self.degenerate += count;
        }
    }

    pub(crate) fn leave_out(&mut self, what: impl Into<String>) {
        add(what.into(), &mut self.left_out, &mut self.more_left_out);
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        add(note.into(), &mut self.notes, &mut self.more_notes);
    }

    pub(crate) fn change(&mut self, what: &'static str, elements: u64) {
        if elements > 0 {
            *self.changed.entry(what).or_default() += elements;
        }
    }
}

/// Takes note of the parts that are neither written nor drawn.
pub(crate) trait Report {
    /// A part cannot be used.
    fn lacks(&mut self, what: String);
    /// A part was not asked for.
    fn skips(&mut self, what: String);
    fn note(&mut self, note: String);
}

impl Report for Outcome {
    fn lacks(&mut self, what: String) {
        self.has_unusable = true;
        self.leave_out(what);
    }

    fn skips(&mut self, what: String) {
        self.leave_out(what);
    }

    fn note(&mut self, note: String) {
        Self::note(self, note);
    }
}

/// Escapes a text with control characters, which names may contain.
pub(crate) fn one_line(text: String) -> String {
    if text.contains(char::is_control) {
        text.escape_debug().to_string()
    } else {
        text
    }
}

/// A name of a file for people to read: on one line, and without its end if it is long.
pub(crate) fn shown(name: &Text) -> String {
    const LONGEST: usize = 1024;
    let bytes = name.as_bytes();
    let begin = bytes.get(..LONGEST).unwrap_or(bytes);
    let text = one_line(String::from_utf8_lossy(begin).into_owned());
    if begin.len() == bytes.len() {
        return text;
    }
    // The cut may be within a character.
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
    format!("{text}.. ({} bytes)", bytes.len())
}

/// Lists a line once, if there are not too many.
pub(crate) fn add(line: String, lines: &mut Vec<String>, more: &mut u64) {
    let line = one_line(line);
    if lines.contains(&line) {
        return;
    }
    if lines.len() < MOST_LINES {
        lines.push(line);
    } else {
        *more += 1;
    }
}

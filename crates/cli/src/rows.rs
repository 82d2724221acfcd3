//! A row for each of many files.

use std::collections::HashSet;

use meshmap_catalog::inspect::Inspection;

use crate::inputs::Input;
use crate::screen::Screen;
use crate::text;

/// The columns of rows that are printed one after the other: their widths do not depend on what comes later.
#[derive(Debug)]
pub(crate) struct Layout {
    screen: Screen,
    path: usize,
    /// Shortened paths that several files share. These files are shown with their whole paths.
    ambiguous: HashSet<String>,
}

/// Format and variant, size, vertices, triangles.
const VARIANT: usize = 11;
const SIZE: usize = 10;
const VERTICES: usize = 15;
const TRIANGLES: usize = 14;
/// The width of all other columns, with the blanks between them and a mark before the path.
const OTHERS: usize = 2 + 3 + VARIANT + 2 + SIZE + 2 + VERTICES + 2 + TRIANGLES;
/// Minimum width of a path, if there is space.
const LEAST_PATH: usize = 16;
/// The width of the column of paths, which are not cut, if the output is not a terminal.
const WIDEST_PATH: usize = 80;

impl Layout {
    pub(crate) fn of(inputs: &[Input], screen: Screen) -> Self {
        let longest = inputs
            .iter()
            .map(|input| text::width(&input.shown()))
            .max()
            .unwrap_or(0);
        if !screen.is_terminal() {
            return Self {
                screen,
                path: longest.min(WIDEST_PATH),
                ambiguous: HashSet::new(),
            };
        }
        let most = screen.width.saturating_sub(OTHERS).max(LEAST_PATH);
        let mut seen = HashSet::new();
        let mut ambiguous = HashSet::new();
        for input in inputs {
            let cut = text::cut(&input.shown(), most);
            if !seen.insert(cut.clone()) {
                ambiguous.insert(cut);
            }
        }
        Self {
            screen,
            path: longest.min(most),
            ambiguous,
        }
    }

    /// The path, shortened for a terminal if no other file looks the same then.
    fn shown(&self, path: &str) -> String {
        let cut = text::cut(path, self.path);
        if self.screen.is_terminal() && !self.ambiguous.contains(&cut) {
            cut
        } else {
            path.to_owned()
        }
    }

    /// The row of a file.
    pub(crate) fn line(&self, inspection: &Inspection) -> String {
        let path = inspection.input.shown();
        let mut counts = <[Option<String>; 2]>::default();
        let mut words = String::new();
        if let Some(facts) = &inspection.facts {
            (counts, words) = (
                facts.summary.counts(["vert", "tri"]),
                facts.summary.words.clone(),
            );
        }
        let [vertices, triangles] = counts.map(Option::unwrap_or_default);
        let variant = inspection.variant.as_ref();
        let variant = variant.map_or("", |variant| variant.short.as_str());
        let size = inspection.bytes.map(text::size).unwrap_or_default();
        let cells = [
            (text::pad(variant, VARIANT, true), 3),
            (text::pad(&size, SIZE, false), 2),
            (text::pad(&vertices, VERTICES, false), 2),
            (text::pad(&triangles, TRIANGLES, false), 2),
            (words, 3),
        ];
        let shown = self.shown(&path);
        let padded = text::pad(&shown, self.path, true);
        let mut line = format!("  {padded}");
        let mut width = usize::MAX;
        let mut first = String::new();
        if self.screen.is_terminal() {
            width = self.screen.width;
            if text::width(&shown) > self.path {
                // A whole path is on a separate line, above the cells.
                first = format!("{}\n", line.trim_end());
                line = " ".repeat(2 + self.path);
            }
        }
        for (cell, gap) in cells {
            // A cell that does not fit is left out, and so are the following cells.
            if text::width(&line) + gap + text::width(cell.trim_end()) > width {
                break;
            }
            line.push_str(&" ".repeat(gap));
            line.push_str(&cell);
        }
        first + line.trim_end()
    }

    /// A file that is damaged: all that is known of it, on as many lines as it takes.
    pub(crate) fn error(&self, path: &str, what: &str) -> Vec<String> {
        let width = self.screen.width;
        let lead = self.screen.problem("x");
        let one = text::width(path) + 4 + text::width(what);
        if one <= width {
            return vec![format!("{lead} {path}  {what}")];
        }
        let wrapped = text::wrap(what, width - 6, 0);
        let first = format!("{lead} {path}");
        std::iter::once(first)
            .chain(wrapped.into_iter().map(|line| format!("      {line}")))
            .collect()
    }
}

//! A row for each of many files.

use crate::inputs::Input;
use crate::inspect::{Facts, Inspected, cgeo, iqm, openctm, page, slmesh, tmf};
use crate::screen::{Screen, Style};
use crate::text;

/// The columns of rows that are printed one after the other: their widths do not depend on what comes later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    screen: Screen,
    path: usize,
}

/// Format and variant, size, vertices, triangles.
const VARIANT: usize = 11;
const SIZE: usize = 10;
const VERTICES: usize = 15;
const TRIANGLES: usize = 14;
/// What all of them take, with the blanks between them and a mark before the path.
const OTHERS: usize = 2 + 3 + VARIANT + 2 + SIZE + 2 + VERTICES + 2 + TRIANGLES;
/// A path is not cut to less where there is room.
const LEAST_PATH: usize = 16;

impl Layout {
    pub(crate) fn of(inputs: &[Input], screen: Screen) -> Self {
        let longest = inputs.iter().map(|input| text::width(&input.shown())).max().unwrap_or(0);
        let most = screen.width.saturating_sub(OTHERS).max(LEAST_PATH);
        Self { screen, path: longest.min(most) }
    }

    /// The row of a file, or what is wrong with it.
    pub(crate) fn lines(self, inspected: &Inspected) -> Vec<String> {
        let inspection = &inspected.inspection;
        let path = inspection.input.shown();
        if let Some(what) = page::what_is_broken(inspection) {
            return self.error(&path, &what);
        }
        let [vertices, triangles, words] = summary(inspected);
        let size = inspection.bytes.map(text::size).unwrap_or_default();
        let cells = [
            (text::pad(&short_variant(inspected), VARIANT, true), 3),
            (text::pad(&size, SIZE, false), 2),
            (text::pad(&vertices, VERTICES, false), 2),
            (text::pad(&triangles, TRIANGLES, false), 2),
            (words, 3),
        ];
        let mut line = format!("  {}", text::pad(&text::cut(&path, self.path), self.path, true));
        for (cell, gap) in cells {
            // What does not fit is left out, and whatever follows.
            if text::width(&line) + gap + text::width(cell.trim_end()) > self.screen.width {
                break;
            }
            line.push_str(&" ".repeat(gap));
            line.push_str(&cell);
        }
        vec![line.trim_end().to_owned()]
    }

    /// A file that is broken: the whole of what is known, on as many lines as it takes.
    pub(crate) fn error(self, path: &str, what: &str) -> Vec<String> {
        let width = self.screen.width;
        let lead = self.screen.paint(Style::Bad, "x");
        let path = text::cut(path, width - 4);
        let one = text::width(&path) + 4 + text::width(what);
        if one <= width {
            return vec![format!("{lead} {path}  {what}")];
        }
        let wrapped = text::wrap(what, width - 6, 0);
        let first = format!("{lead} {path}");
        std::iter::once(first).chain(wrapped.into_iter().map(|line| format!("      {line}"))).collect()
    }
}

fn short_variant(inspected: &Inspected) -> String {
    let Inspected { inspection, facts } = inspected;
    match facts {
        Some(Facts::SlMesh(_)) => "SL mesh".to_owned(),
        Some(Facts::CGeo(_)) => {
            let variant = inspection.variant.clone().unwrap_or_default();
            let version: String = variant.chars().filter(|c| c.is_ascii_digit() || *c == '-').collect();
            format!("CGeo {version}").trim_end().to_owned()
        }
        Some(Facts::OpenCtm(_)) => {
            let variant = inspection.variant.clone().unwrap_or_default();
            let method = variant.split(' ').nth(2).unwrap_or_default();
            format!("OpenCTM {method}").trim_end().to_owned()
        }
        _ => inspection.variant.clone().unwrap_or_default(),
    }
}

fn summary(inspected: &Inspected) -> [String; 3] {
    let Inspected { inspection, facts } = inspected;
    match facts {
        Some(Facts::CGeo(facts)) => cgeo::summary(facts, inspection),
        Some(Facts::Iqm(facts)) => iqm::summary(facts, inspection),
        Some(Facts::OpenCtm(facts)) => openctm::summary(facts),
        Some(Facts::SlMesh(facts)) => slmesh::summary(facts),
        Some(Facts::Tmf(_)) => tmf::summary(inspection),
        None => Default::default(),
    }
}

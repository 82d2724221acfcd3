//! The blocks that pages are made of: lines with a label, and tables.

use crate::table::Table;
use crate::text;

/// A page ends before this line, where it can.
pub(super) const PAGE: usize = 25;

/// Rows that are laid out; no page shows as many.
pub(super) const MOST_ROWS: usize = PAGE;

/// Columns of labels, the blank after them included.
const LABEL: usize = 12;

/// A part of a page.
pub(super) enum Block {
    /// A label, and words after it on as many lines as they take.
    Words(&'static str, Vec<String>),
    Table(Table),
}

impl Block {
    pub(super) fn line(label: &'static str, text: impl Into<String>) -> Self {
        Self::Words(label, vec![text.into()])
    }
}

/// Words with three blanks between them on as many lines as they take. The first line begins after `first` columns, later
/// ones after `later`.
pub(super) fn fill(words: Vec<String>, width: usize, first: usize, later: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in words {
        let begin = if lines.len() == 1 { first } else { later };
        let Some(line) = lines.last_mut() else { continue };
        let gap = if line.is_empty() { "" } else { "   " };
        if begin + text::width(line) + gap.len() + text::width(&word) <= width {
            line.push_str(gap);
            line.push_str(&word);
        } else {
            if !line.is_empty() || lines.len() == 1 && first > later && later + text::width(&word) <= width {
                lines.push(String::new());
            }
            let begin = if lines.len() == 1 { first } else { later };
            let parts = text::wrap(&word, width.saturating_sub(begin), 2);
            lines.pop();
            lines.extend(parts);
        }
    }
    lines
}

impl Block {
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        match self {
            Self::Words(label, words) => {
                let lines = fill(words.clone(), width, LABEL + 2, LABEL + 2);
                let label = |index: usize| if index == 0 { *label } else { "" };
                let line = |(index, line): (usize, &String)| format!("  {:<11} {line}", label(index));
                lines.iter().enumerate().map(line).collect()
            }
            Self::Table(table) => {
                table.lines(width.saturating_sub(4)).into_iter().map(|row| format!("    {row}")).collect()
            }
        }
    }
}

//! A page about one file: at most 25 lines, whatever the file holds.

use crate::show;

/// A page ends before this line.
const PAGE: usize = 25;

/// Stored bytes that may be read for an exact number without being asked to.
pub(crate) const WORTH_READING: u64 = 16 << 20;

/// A page about one file, before its long lists are cut to fit.
#[derive(Default)]
pub(crate) struct Page {
    /// What the thing is, in a few words, after name and size.
    pub(crate) subtitle: String,
    pub(crate) blocks: Vec<Block>,
    pub(crate) findings: Vec<String>,
    pub(crate) cost: String,
}

/// Lines that stay, and a table below them of which some rows may go.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) lines: Vec<String>,
    pub(crate) table: Vec<String>,
    /// What the rows of the table are.
    pub(crate) rows: &'static str,
}

impl Block {
    /// Lines without a table.
    pub(crate) fn lines(lines: Vec<String>) -> Self {
        Self { lines, ..Self::default() }
    }
}

impl Page {
    pub(crate) fn lines(self, title: &str) -> Vec<String> {
        let fixed =
            2 + self.blocks.iter().map(|block| block.lines.len()).sum::<usize>() + self.findings.len() + 1;
        let tables = self.blocks.iter().filter(|block| !block.table.is_empty()).count().max(1);
        let fits =
            self.blocks.iter().map(|block| block.table.len()).sum::<usize>() <= PAGE.saturating_sub(fixed);
        let share = if fits { PAGE } else { (PAGE.saturating_sub(fixed) / tables).max(3) };

        let title = format!("{title}   {}", self.subtitle).trim_end().to_owned();
        let mut lines = vec![title, String::new()];
        for block in self.blocks {
            lines.extend(block.lines.iter().map(|line| format!("  {line}")));
            let shown = if block.table.len() > share { share - 1 } else { block.table.len() };
            lines.extend(block.table.iter().take(shown).map(|row| format!("    {row}")));
            if shown < block.table.len() {
                let more = block.table.len() - shown;
                lines.push(format!(
                    "    .. {} {} more (--json lists all)",
                    show::count(more as u64),
                    block.rows
                ));
            }
        }
        lines.extend(self.findings.iter().map(|line| format!("  {line}")));
        lines.push(format!("  {}", self.cost));
        lines.into_iter().map(clip).collect()
    }
}

/// A line that fits a screen.
fn clip(line: String) -> String {
    const COLUMNS: usize = 100;
    match line.char_indices().nth(COLUMNS) {
        None => line,
        Some(_) => line.chars().take(COLUMNS - 2).chain("..".chars()).collect(),
    }
}

/// Rows that are laid out; no page shows as many.
pub(crate) const MOST_ROWS: usize = PAGE;

/// A table whose header row and first rows are given, with empty rows for all that were not laid out.
pub(crate) fn pad(mut table: Vec<String>, rows: usize) -> Vec<String> {
    table.resize(table.len().max(rows + 1), String::new());
    table
}

/// A label, and words after it on as many lines as they take.
pub(crate) fn labelled(label: &str, words: &[String]) -> Vec<String> {
    const WIDTH: usize = 84;
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + word.chars().count() <= WIDTH => {
                line.push_str("   ");
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    let label = |index: usize| if index == 0 { label } else { "" };
    lines.iter().enumerate().map(|(index, line)| format!("{:<11} {line}", label(index))).collect()
}

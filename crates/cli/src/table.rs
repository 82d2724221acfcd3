//! Tables that fit a width: columns go, then names are cut, numbers never.

use crate::text;

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    pub(crate) kind: Kind,
    /// If the table is too wide, columns with less worth are left out first; columns of worth 9 stay.
    pub(crate) worth: u8,
}

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// To the right, never cut.
    Number,
    /// To the left, never cut.
    Word,
    /// To the left; may be cut.
    Name,
}

/// Rows below a header, of which a page may show the first ones only.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
    /// The number of rows, laid out or not.
    pub(crate) total: usize,
    /// The name of one row.
    pub(crate) row: &'static str,
}

/// Between two columns.
const GAP: usize = 3;
/// A name is not cut to less.
const LEAST_NAME: usize = 8;

impl Table {
    pub(crate) fn new(row: &'static str, columns: &[(&'static str, Kind, u8)]) -> Self {
        let columns = columns.iter().map(|&(title, kind, worth)| Column { title, kind, worth }).collect();
        Self { columns, rows: Vec::new(), total: 0, row }
    }

    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
        self.total = self.total.max(self.rows.len());
    }

    /// The header, unless all titles are empty, and the rows, no wider than `width` columns if possible.
    pub(crate) fn lines(&self, width: usize) -> Vec<String> {
        let has_header = self.columns.iter().any(|column| !column.title.is_empty());
        let cell = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| text::width(cell));
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                let title = text::width(self.columns[column].title);
                self.rows.iter().map(|row| cell(row, column)).max().unwrap_or(0).max(title)
            })
            .collect();
        let mut shown: Vec<usize> = (0..self.columns.len()).filter(|column| widths[*column] > 0).collect();
        let all = |shown: &[usize], widths: &[usize]| {
            shown.iter().map(|column| widths[*column] + GAP).sum::<usize>().saturating_sub(GAP)
        };
        // Names give way a little before columns go, and as much as they can where none may go.
        let shrink = |shown: &[usize], widths: &mut [usize], least: usize| {
            let names: Vec<usize> =
                shown.iter().copied().filter(|column| self.columns[*column].kind == Kind::Name).collect();
            while all(shown, widths) > width {
                let Some(widest) = names.iter().copied().max_by_key(|column| widths[*column]) else { return };
                if widths[widest] <= least {
                    return;
                }
                widths[widest] -= 1;
            }
        };
        shrink(&shown, &mut widths, 24);
        while all(&shown, &widths) > width {
            let least = shown.iter().copied().min_by_key(|column| self.columns[*column].worth);
            match least.filter(|column| self.columns[*column].worth < 9) {
                Some(column) => shown.retain(|other| *other != column),
                None => break,
            }
        }
        shrink(&shown, &mut widths, LEAST_NAME);
        let line = |row: &dyn Fn(usize) -> String| {
            let cells = shown.iter().map(|column| {
                let kind = self.columns[*column].kind;
                let cell = row(*column);
                let cell = if kind == Kind::Name { text::cut(&cell, widths[*column]) } else { cell };
                text::pad(&cell, widths[*column], kind != Kind::Number)
            });
            cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
        };
        let header = has_header.then(|| line(&|column| self.columns[column].title.to_owned()));
        let rows = self.rows.iter().map(|row| line(&|column| row.get(column).cloned().unwrap_or_default()));
        header.into_iter().chain(rows).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(
            "row",
            &[("name", Kind::Name, 9), ("least", Kind::Number, 1), ("most", Kind::Number, 9)],
        );
        table.push(vec!["n".repeat(40), "1,234,567".to_owned(), "7,654,321".to_owned()]);
        table
    }

    #[test]
    fn names_are_cut_then_columns_go_and_numbers_stay_whole() {
        assert_eq!(table().lines(100)[1].len(), 40 + 3 + 9 + 3 + 9);
        let narrower = table().lines(50);
        assert!(narrower[1].contains("..") && narrower[1].contains("1,234,567"), "{narrower:?}");
        let narrow = table().lines(30);
        assert!(!narrow[1].contains("1,234,567") && narrow[1].ends_with("7,654,321"), "{narrow:?}");
        assert!(narrow.iter().all(|line| text::width(line) <= 30));
    }

    #[test]
    fn columns_without_anything_are_left_out() {
        let mut table = Table::new("row", &[("", Kind::Word, 9), ("", Kind::Word, 9)]);
        table.push(vec![String::new(), "x".to_owned()]);
        assert_eq!(table.lines(80), ["x"]);
    }
}

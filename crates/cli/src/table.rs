//! Tables that fit a width: the last columns go, and texts are cut, but numbers never.

use crate::text;

/// Rows below a header.
#[derive(Debug)]
pub(crate) struct Table {
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The number of all rows, some of which a page may have no space for.
    pub(crate) total: usize,
    /// The name of one row.
    pub(crate) row: &'static str,
}

/// Between two columns.
const GAP: usize = 3;
/// Texts are cut to this width before a column is left out, and to the lesser one if none may go.
const SHORT_TEXT: usize = 24;
const LEAST_TEXT: usize = 8;
/// Columns that are never left out.
const LEAST_COLUMNS: usize = 2;

impl Table {
    /// A table of `total` rows. `row` is the name of one of them.
    pub(crate) fn of(
        row: &'static str,
        titles: impl IntoIterator<Item: Into<String>>,
        total: usize,
        rows: impl Iterator<Item = Vec<String>>,
    ) -> Self {
        Self {
            titles: titles.into_iter().map(Into::into).collect(),
            rows: rows.collect(),
            total,
            row,
        }
    }

    /// The header and the rows, no wider than `width` columns if possible. Columns without anything are left out.
    pub(crate) fn lines(&self, width: usize) -> Vec<String> {
        fn cell(row: &[String], column: usize) -> &str {
            row.get(column).map_or("", String::as_str)
        }
        let cells = |column: usize| self.rows.iter().map(move |row| cell(row, column));
        let is_number = |column: usize| {
            let first = cells(column)
                .find(|cell| !cell.is_empty())
                .unwrap_or_default();
            first
                .trim_start_matches(['-', '~'])
                .starts_with(|c: char| c.is_ascii_digit())
        };
        /// The index of a column, `true` if it has numbers, and its width.
        type Column = (usize, bool, usize);
        let wide = |column: usize| {
            let widest = cells(column)
                .map(text::width)
                .max()
                .filter(|widest| *widest > 0)?;
            Some((
                column,
                is_number(column),
                widest.max(text::width(&self.titles[column])),
            ))
        };
        let mut columns: Vec<Column> = (0..self.titles.len()).filter_map(wide).collect();
        let excess = |columns: &[Column]| {
            let all = columns.iter().map(|(.., width)| width + GAP).sum::<usize>();
            all.saturating_sub(GAP).saturating_sub(width)
        };
        let cut = |columns: &mut [Column], least: usize| {
            while excess(columns) > 0 {
                let texts = columns
                    .iter_mut()
                    .filter(|(_, is_number, width)| !is_number && *width > least);
                let Some((.., width)) = texts.max_by_key(|(.., width)| *width) else {
                    return;
                };
                *width -= 1;
            }
        };
        cut(&mut columns, SHORT_TEXT);
        while excess(&columns) > 0 && columns.len() > LEAST_COLUMNS {
            columns.pop();
        }
        cut(&mut columns, LEAST_TEXT);
        let line = |row: &[String]| {
            let cells = columns.iter().map(|&(column, is_number, width)| {
                let shown = cell(row, column);
                let shown = if is_number {
                    shown.to_owned()
                } else {
                    text::cut(shown, width)
                };
                text::pad(&shown, width, !is_number)
            });
            cells
                .collect::<Vec<_>>()
                .join(&" ".repeat(GAP))
                .trim_end()
                .to_owned()
        };
        std::iter::once(&self.titles)
            .chain(&self.rows)
            .map(|row| line(row))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_then_columns_go_and_numbers_stay_whole() {
        let row = vec![
            "n".repeat(40),
            "7,654,321".to_owned(),
            String::new(),
            "1,234,567".to_owned(),
        ];
        let table = Table::of(
            "row",
            ["name", "most", "nothing", "least"],
            1,
            [row].into_iter(),
        );
        let lines = |width: usize| table.lines(width)[1].clone();
        assert_eq!(lines(100).len(), 40 + 3 + 9 + 3 + 9);
        assert!(
            lines(50).contains("..") && lines(50).contains("1,234,567"),
            "{}",
            lines(50)
        );
        assert!(
            !lines(30).contains("1,234,567") && lines(30).ends_with("7,654,321"),
            "{}",
            lines(30)
        );
        assert!(table.lines(30).iter().all(|line| text::width(line) <= 30));
    }
}

//! The cells of AsciiDoc's tables, of which some are beside several columns or rows.

use std::collections::BTreeMap;

use crate::table::Row;

/// The longest cell that is repeated in the rows beside it, in bytes, the most such cells at once, and the most bytes of
/// them in a table.
const LONGEST_LABEL: usize = 256;
const MOST_LABELS: usize = 16;
const MOST_REPEATED: usize = 1 << 20;

/// The most columns and rows of a cell.
const MOST_SPANNED: usize = 1000;

/// A cell of a table, and how many columns and rows it takes.
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) columns: usize,
    rows: usize,
}

impl Cell {
    /// A cell with a format such as `2.3+a`.
    pub(super) fn new(text: String, format: &str) -> Self {
        let span = format.split_once('+').map_or("", |(span, _)| span);
        let (columns, rows) = span.split_once('.').unwrap_or((span, ""));
        let count = |count: &str| count.parse().unwrap_or(1).clamp(1, MOST_SPANNED);
        Self {
            text,
            columns: count(columns),
            rows: count(rows),
        }
    }
}

/// The cells that reach further rows.
#[derive(Default)]
struct Labels {
    /// How many further rows they reach, and their texts, by column.
    open: BTreeMap<usize, (usize, String)>,
    /// How many bytes of them were repeated.
    repeated: usize,
}

impl Labels {
    fn keep(&mut self, column: usize, cell: &Cell) {
        let is_short = cell.text.len() <= LONGEST_LABEL && self.repeated < MOST_REPEATED;
        if cell.rows > 1 && is_short && self.open.len() < MOST_LABELS {
            self.open.insert(column, (cell.rows - 1, cell.text.clone()));
        }
    }

    /// Adds the labels that stand at the open column of a row and beside it; returns the next column.
    fn add(&mut self, mut column: usize, row: &mut Row) -> usize {
        while let Some((rows, text)) = self.open.get_mut(&column) {
            row.push((column, text.clone()));
            self.repeated += text.len();
            *rows -= 1;
            if *rows == 0 {
                self.open.remove(&column);
            }
            column += 1;
        }
        column
    }
}

/// The rows of a table of so many columns. A cell beside several rows is in each of them.
pub(super) fn rows_of(cells: Vec<Cell>, columns: usize) -> Vec<Row> {
    let (mut rows, mut row, mut column) = (Vec::new(), Row::new(), 0);
    let mut labels = Labels::default();
    for cell in cells {
        column = labels.add(column, &mut row);
        labels.keep(column, &cell);
        row.push((column, cell.text));
        column = labels.add(column + cell.columns, &mut row);
        if column >= columns {
            rows.push(std::mem::take(&mut row));
            column = 0;
        }
    }
    rows.push(row);
    rows
}

/// The text before a bar, and the format of the next cell, such as `2+` or `a`, which a space or the begin of the line sets
/// apart.
pub(super) fn split_format(text: &str, begins_line: bool) -> (&str, &str) {
    let (before, format) = match text.rsplit_once(char::is_whitespace) {
        Some(parts) => parts,
        None if begins_line => ("", text),
        None => return (text, ""),
    };
    let numbers = format.trim_end_matches(['a', 'd', 'e', 'h', 'l', 'm', 's', 'v']);
    let is_format = format.len() <= 8
        && format.len() - numbers.len() < 2
        && numbers
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".+*<>^".contains(&byte))
        && !numbers.ends_with(|last: char| last.is_ascii_digit());
    if is_format {
        (before, format)
    } else {
        (text, "")
    }
}

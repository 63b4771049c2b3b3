//! Tables of wikitext as lines of text, one for each row. The scan of the article finds the marks and writes the text of
//! the cells; where a row ends, it becomes a line.

use std::ops::Range;

use crate::table::{self, Table};

/// The most cells of a row; the text of more belongs to the last one.
const MOST_CELLS: usize = 1000;
/// The most columns that one cell counts as.
const WIDEST_CELL: usize = 1000;
/// The columns in which cells that reach down are followed.
const MOST_COLUMNS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellKind {
    /// The title of the table, in a row of its own.
    Caption,
    /// The name of a column or a row.
    Name,
    Value,
}

/// A cell whose end was not reached yet.
#[derive(Debug, Clone, Copy)]
struct OpenCell {
    kind: CellKind,
    /// The offset of its text.
    start: usize,
    columns: usize,
    rows: usize,
    /// Whether this is its first line, in which other cells may follow.
    is_first_line: bool,
    /// Whether its text so far may be its attributes.
    may_be_attributes: bool,
}

/// A table whose end was not reached yet.
#[derive(Debug)]
pub(super) struct OpenTable {
    lines: Table,
    /// The offset of the row in the article's text.
    start: usize,
    /// The columns and the places of the row's cells that hold text.
    cells: Vec<(usize, Range<usize>)>,
    /// How many of those are names.
    names: usize,
    cell: Option<OpenCell>,
    /// The column after the last cell.
    column: usize,
    row: usize,
    /// For each column, the first row to which no cell from above reaches.
    free_from: Vec<usize>,
    /// Whether the row above names columns.
    is_below_names: bool,
}

impl OpenTable {
    /// `start` is its offset in the article's text.
    pub(super) fn new(start: usize) -> Self {
        Self {
            lines: Table::default(),
            start,
            cells: Vec::new(),
            names: 0,
            cell: None,
            column: 0,
            row: 0,
            free_from: Vec::new(),
            is_below_names: false,
        }
    }

    /// Begins a cell at the end of the text.
    pub(super) fn begin_cell(&mut self, kind: CellKind, text: &mut String) {
        let is_captioned = self.cell.is_some_and(|cell| cell.kind == CellKind::Caption);
        if kind == CellKind::Caption || is_captioned {
            self.end_row(text);
        }
        if self.cells.len() >= MOST_CELLS {
            text.push(' ');
            return;
        }
        self.end_cell(text);
        let is_taken = |column: usize| {
            let free_from = self.free_from.get(column);
            free_from.is_some_and(|&row| row > self.row)
        };
        while is_taken(self.column) {
            self.column += 1;
        }
        self.cell = Some(OpenCell {
            kind,
            start: text.len(),
            columns: 1,
            rows: 1,
            is_first_line: true,
            may_be_attributes: true,
        });
    }

    /// The kind of the cell that `||` or `!!` begins here; `None` if it is text.
    pub(super) fn next_kind(&self, mark: &str) -> Option<CellKind> {
        let cell = self.cell.filter(|cell| cell.is_first_line)?;
        let begins = match cell.kind {
            CellKind::Caption => false,
            CellKind::Name => true,
            CellKind::Value => mark == "||",
        };
        begins.then_some(cell.kind)
    }

    /// Takes the text of the cell so far for its attributes, which a bar ends; false if it cannot be these.
    pub(super) fn take_attributes(&mut self, text: &mut String) -> bool {
        let Some(cell) = self.cell.as_mut().filter(|cell| cell.may_be_attributes) else {
            return false;
        };
        let attributes = text.get(cell.start..).unwrap_or_default();
        let attributes = attributes.to_ascii_lowercase();
        cell.columns = span(&attributes, "colspan").min(WIDEST_CELL);
        cell.rows = span(&attributes, "rowspan");
        cell.may_be_attributes = false;
        text.truncate(cell.start);
        true
    }

    /// The cell holds a link, which attributes do not.
    pub(super) fn begin_link(&mut self) {
        if let Some(cell) = &mut self.cell {
            cell.may_be_attributes = false;
        }
    }

    pub(super) fn end_line(&mut self) {
        if let Some(cell) = &mut self.cell {
            cell.is_first_line = false;
            cell.may_be_attributes = false;
        }
    }

    fn end_cell(&mut self, text: &str) {
        let Some(cell) = self.cell.take() else {
            return;
        };
        let written = text.get(cell.start..).unwrap_or_default();
        if !written.trim().is_empty() {
            self.names += usize::from(cell.kind == CellKind::Name);
            self.cells.push((self.column, cell.start..text.len()));
        }
        let end = self.column + cell.columns;
        if cell.rows > 1 && self.column < MOST_COLUMNS {
            let end = end.min(MOST_COLUMNS);
            self.free_from.resize(self.free_from.len().max(end), 0);
            self.free_from[self.column..end].fill(self.row.saturating_add(cell.rows));
        }
        self.column = end;
    }

    /// Makes a line of the row, and begins the next one.
    pub(super) fn end_row(&mut self, text: &mut String) {
        self.end_cell(text);
        let all = text.as_str();
        let cells = self.cells.drain(..);
        let cells = cells.map(|(column, place)| (column, all.get(place).unwrap_or_default()));
        let cells = table::worded(cells);
        text.truncate(self.start);
        let names = std::mem::take(&mut self.names);
        if !cells.is_empty() {
            let names_columns = names > 1 && names == cells.len();
            if names > 0 && !names_columns {
                // It names rows, so that an unmarked row above values holds values, too.
                self.lines.expect_no_names();
            }
            let line = match names_columns {
                true => self.lines.names(cells, self.is_below_names),
                false => self.lines.line(cells),
            };
            text.push_str(&line);
            text.push('\n');
            self.is_below_names = names_columns;
        }
        // Marks without cells between them are one.
        self.row += usize::from(self.column > 0);
        self.column = 0;
        self.start = text.len();
    }
}

/// How many columns or rows a cell takes by its attributes, which are in lower case.
fn span(attributes: &str, name: &str) -> usize {
    let value = attributes.split_once(name).map_or("", |(_, value)| value);
    let value = value.trim_start().strip_prefix('=').unwrap_or_default();
    let value = value.trim_start_matches([' ', '"', '\'']);
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    value[..digits].parse().unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_cells() {
        for (attributes, columns) in [
            ("colspan=3", 3),
            ("style=\"x\" colspan = \"12\" rowspan=2", 12),
            ("colspan='2'", 2),
            ("colspan", 1),
            ("colspan=0", 1),
            ("colspan=many", 1),
            ("colspan=99999999999999999999999", 1),
            ("", 1),
        ] {
            assert_eq!(span(attributes, "colspan"), columns, "{attributes}");
        }
    }
}

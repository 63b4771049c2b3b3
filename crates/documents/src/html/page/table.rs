//! Tables of a page: a line for each row, and tabs between its cells.

use std::mem;
use std::ops::Range;

use super::Page;

/// The longest header that the passages of a table repeat, in bytes.
const LONGEST_HEADER: usize = 200;
/// The columns of a table in which cells that reach down are followed.
const MOST_COLUMNS: usize = 64;
/// The most columns that one cell counts as.
const WIDEST_CELL: u32 = 16;
/// The longest cell of several lines that is read as one, in bytes.
const LONGEST_VALUE: usize = 200;
/// The longest label that is repeated in the rows beside it, and the most bytes that a page repeats.
const LONGEST_LABEL: usize = 200;
const MOST_REPEATED: usize = 1 << 20;

/// A table that is being read.
#[derive(Default)]
pub(super) struct Table {
    row: u32,
    column: usize,
    /// The offset of the open cell.
    pub(super) cell: Option<usize>,
    /// Whether the last cell has several lines.
    tall: bool,
    /// Whether the open cell has lines that stay apart.
    verbatim: bool,
    /// The columns that the last cell takes beyond its own.
    wide: u32,
    /// The last row that a cell above reaches, for each column, and what stands in that cell.
    reached: Vec<(u32, String)>,
    /// The column of the open cell, if that reaches further rows.
    label: Option<usize>,
    /// The offset of the open row.
    row_start: usize,
    /// Whether it has cells so far that do not belong to a header.
    has_values: bool,
    header: Option<Range<usize>>,
}

impl Page {
    pub(crate) fn start_table(&mut self) {
        // A table in a cell starts a line of its own.
        if mem::take(&mut self.tabs) > 0 {
            self.breaks = self.breaks.max(1);
        }
        self.break_lines(2);
        self.tables.push(Table::default());
    }

    pub(crate) fn end_table(&mut self) {
        self.end_row();
        let header = self.tables.pop().and_then(|table| table.header);
        let end = self.text.len();
        // A table in a cell belongs to the row around it.
        if let Some(header) = header.filter(|header| self.tables.is_empty() && header.end < end) {
            self.outline.tables.push(ken_corpus::Table { header, end });
        }
        self.break_lines(2);
    }

    pub(crate) fn start_row(&mut self) {
        self.end_row();
        if let Some(table) = self.tables.last_mut() {
            table.row += 1;
        }
    }

    pub(crate) fn end_row(&mut self) {
        self.end_cell();
        if let Some(table) = self.tables.last_mut() {
            if table.row == 1 && table.column > 1 && !table.has_values {
                let row = self.text.get(table.row_start..).unwrap_or_default();
                let start = table.row_start + row.len() - row.trim_start_matches(['\n', ' ']).len();
                let header = start..self.text.trim_end().len().max(start);
                let row = self.text.get(header.clone()).unwrap_or("\n");
                let is_header = !row.contains('\n') && row.len() <= LONGEST_HEADER;
                table.header = is_header.then_some(header);
            }
            table.column = 0;
            table.wide = 0;
            table.tall = false;
        }
        self.tabs = 0;
        self.breaks = self.breaks.max(1);
    }

    /// Starts a cell of `columns` columns and `rows` rows, of a header or not.
    pub(crate) fn start_cell(&mut self, columns: u32, rows: u32, heads: bool) {
        self.end_cell();
        if self.tables.is_empty() {
            self.tables.push(Table::default());
        }
        let Some(table) = self.tables.last_mut() else {
            return;
        };
        table.has_values |= !heads;
        if table.column == 0 {
            table.row_start = self.text.len();
        } else {
            // A cell of several lines is not a value: the next one starts a line, too.
            self.tabs += usize::from(!table.tall);
            let wide = usize::try_from(mem::take(&mut table.wide)).unwrap_or_default();
            self.tabs += wide;
            table.column += wide;
        }
        let mut labels = Vec::new();
        while let Some((row, label)) = table.reached.get(table.column)
            && *row >= table.row
        {
            labels.push(match self.repeated < MOST_REPEATED {
                true => label.clone(),
                false => String::new(),
            });
            self.repeated += label.len();
            table.column += 1;
        }
        table.wide = columns.clamp(1, WIDEST_CELL) - 1;
        if rows > 1 && table.column < MOST_COLUMNS {
            let length = table.reached.len().max(table.column + 1);
            table.reached.resize_with(length, Default::default);
            let last = table.row.saturating_add(rows - 1);
            table.reached[table.column] = (last, String::new());
            table.label = Some(table.column);
        }
        table.column += 1;
        self.space = false;
        for label in labels {
            if !label.is_empty() {
                self.settle();
                self.text.push_str(&label);
            }
            self.tabs += 1;
        }
        self.space = false;
        let start = self.text.len();
        if let Some(table) = self.tables.last_mut() {
            table.cell = Some(start);
        }
    }

    pub(crate) fn end_cell(&mut self) {
        let Some(start) = self.tables.last_mut().and_then(|table| table.cell.take()) else {
            return;
        };
        if self.lists.end_in_cell(self.tables.len()) {
            self.number = None;
        }
        let is_verbatim = match self.tables.last_mut() {
            Some(table) => mem::take(&mut table.verbatim),
            None => false,
        };
        let cell = self.text.get(start..).unwrap_or_default();
        let words = cell.trim_start();
        let has_lines = words.contains('\n');
        // A few lines are a value. Paragraphs and the columns of a table are none.
        let is_value = has_lines
            && !is_verbatim
            && words.len() <= LONGEST_VALUE
            && !words.contains("\n\n")
            && !words.contains('\t');
        let tall = has_lines && !is_value;
        if let Some(table) = self.tables.last_mut()
            && let Some(column) = table.label.take()
            && let Some((_, label)) = table.reached.get_mut(column)
            && !tall
            && words.len() <= LONGEST_LABEL
        {
            *label = words.trim_end().replace(['\n', '\t'], " ");
        }
        // Those before an empty cell are still due.
        if !cell.is_empty() {
            self.breaks = usize::from(tall);
        }
        if is_value {
            let line = words.replace('\n', " ");
            self.text.truncate(self.text.len() - line.len());
            self.text.push_str(&line);
        }
        self.space = false;
        if let Some(table) = self.tables.last_mut() {
            table.tall = tall;
        }
    }

    /// Keeps the lines of the open cell apart.
    pub(super) fn keep_lines_of_cell(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.verbatim = true;
        }
    }
}

//! The marks of tables in wikitext.

use super::{LINE_MARKS, Open, Scan, What};
use crate::mediawiki::table::{CellKind, OpenTable};

/// How deep a table may be nested to be shown. The bound keeps the work linear, since the end of a row visits its whole
/// text.
const DEEPEST_TABLE: usize = 8;

/// The marks at the start of a line in a table, with the cell that each begins.
const TABLE_MARKS: [(&str, Option<CellKind>); 4] = [
    ("|+", Some(CellKind::Caption)),
    ("|-", None),
    ("|", Some(CellKind::Value)),
    ("!", Some(CellKind::Name)),
];

/// The offsets of the tables that never end, ascending; all text after them would be theirs.
pub(super) fn unended_tables(wikitext: &str) -> Vec<usize> {
    let mut open = Vec::new();
    let mut offset = 0;
    for line in wikitext.split_inclusive('\n') {
        let table = line.trim_start_matches(LINE_MARKS);
        if table.starts_with("{|") {
            open.push(offset + line.len() - table.len());
        } else if ends_table(line.trim_start_matches([' ', '\t'])) {
            open.pop();
        }
        offset += line.len();
    }
    open
}

/// Whether a line ends a table, and not a template by its last bar.
fn ends_table(line: &str) -> bool {
    line.starts_with("|}") && !line.starts_with("|}}")
}

impl Scan<'_> {
    /// Begins a table, whose attributes follow in the line.
    pub(super) fn open_table(&mut self) {
        if self.unended.binary_search(&self.at).is_err() {
            self.text.push('\n');
            self.push(What::Table);
            self.tables.push(OpenTable::new(self.text.len()));
        }
        self.skip_line();
    }

    /// Whether cells may end here, outside of templates and links in them.
    pub(super) fn is_in_table(&self) -> bool {
        let open = self.open.last();
        open.is_some_and(|open| open.what == What::Table)
    }

    /// Reads the mark of a table at the start of a line; false if there is none.
    pub(super) fn table_mark(&mut self) -> bool {
        let rest = self.rest();
        let line = rest.trim_start_matches([' ', '\t']);
        let indent = rest.len() - line.len();
        if ends_table(line) {
            self.at += indent + 2;
            self.close_table();
            return true;
        }
        // In a template, bars separate its texts.
        let around = self.open.iter().rev().find(|open| !open.is_link());
        if around.is_none_or(|open| open.what != What::Table) {
            return false;
        }
        let mut marks = TABLE_MARKS.into_iter();
        let Some((mark, kind)) = marks.find(|(mark, _)| line.starts_with(*mark)) else {
            return false;
        };
        self.at += indent + mark.len();
        // Links that are still open in a cell end with it.
        while self.open.last().is_some_and(Open::is_link) {
            self.pop();
        }
        if let Some(table) = self.tables.last_mut() {
            match kind {
                Some(kind) => table.begin_cell(kind, &mut self.text),
                None => table.end_row(&mut self.text),
            }
        }
        if kind.is_none() {
            self.skip_line();
        }
        true
    }

    /// Goes on to the next cell of the line, or behind the attributes of a cell; false if the mark is text.
    pub(super) fn cell_mark(&mut self) -> bool {
        let is_in_table = self.is_in_table();
        let rest = self.input.get(self.at..).unwrap_or_default();
        let Some(table) = self.tables.last_mut().filter(|_| is_in_table) else {
            return false;
        };
        let mark = ["||", "!!"]
            .into_iter()
            .find(|mark| rest.starts_with(*mark));
        if let Some(kind) = mark.and_then(|mark| table.next_kind(mark)) {
            table.begin_cell(kind, &mut self.text);
            self.at += 2;
            return true;
        }
        let is_end = rest.starts_with('|') && table.take_attributes(&mut self.text);
        self.at += usize::from(is_end);
        is_end
    }

    pub(super) fn close_table(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.end_row(&mut self.text);
        }
        while let Some(open) = self.pop() {
            if open.what == What::Table {
                if self.tables.len() >= DEEPEST_TABLE {
                    self.drop_since(open);
                }
                break;
            }
        }
    }

    pub(super) fn exclamation(&mut self) {
        if !self.cell_mark() {
            self.copy(1);
        }
    }
}

//! Cells beside several rows of a sheet or a table: such a label holds for each of the rows.

use std::collections::{BTreeMap, HashMap};

use crate::table::Row;

/// The most labels beside the rows of a sheet, and the longest one, in bytes.
const MOST_LABELS: usize = 16;
pub(super) const LONGEST_LABEL: usize = 256;

/// The labels of a sheet or a table.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// The last rows of cells beside several, by their columns and first rows.
    ends: HashMap<(usize, u64), u64>,
    /// The open labels: their last rows and their texts, by column.
    open: BTreeMap<usize, (u64, String)>,
}

impl Labels {
    /// Notes a cell that is beside the rows from `first` to `last`, unless there are `most` such cells already.
    pub(super) fn note(&mut self, column: usize, first: u64, last: u64, most: u64) {
        if last > first && (self.ends.len() as u64) < most {
            self.ends.insert((column, first), last);
        }
    }

    /// Adds to a row the labels that began above it, unless it is empty, and keeps those that begin in it.
    pub(super) fn complete(&mut self, number: u64, row: &mut Row) {
        if row.is_empty() {
            return;
        }
        self.open.retain(|_, (last, _)| *last >= number);
        for (column, (_, text)) in &self.open {
            if let Err(index) = row.binary_search_by_key(column, |(column, _)| *column) {
                row.insert(index, (*column, text.clone()));
            }
        }
        for (column, text) in row.iter().filter(|(_, text)| text.len() <= LONGEST_LABEL) {
            if let Some(last) = self.ends.get(&(*column, number))
                && self.open.len() < MOST_LABELS
            {
                self.open.insert(*column, (*last, text.clone()));
            }
        }
    }
}

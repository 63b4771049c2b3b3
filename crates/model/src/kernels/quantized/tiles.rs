//! The tiles of a task, and where it writes its outputs.

use std::ops::Range;

use super::layout::{Layout, Line, TILE};

/// The output of tasks: each writes some columns of the same matrix.
pub(super) trait Columns {
    /// Writes to a row, starting at a column.
    fn write(&mut self, row: usize, column: usize, numbers: &[f32]);
}

/// The tiles of a task.
pub(super) struct Tiles<'a> {
    pub(super) layout: Layout,
    /// `[tiles, lines of a tile]`
    pub(super) lines: &'a [Line],
    pub(super) tile_lines: usize,
    /// The columns of their outputs, up to the end of the matrix's; the last tile may have more outputs than that.
    pub(super) columns: Range<usize>,
}

impl Tiles<'_> {
    /// Writes the outputs of a tile for a row.
    #[inline(always)]
    pub(super) fn write(
        &self,
        out: &mut impl Columns,
        row: usize,
        tile: usize,
        numbers: &[f32; TILE],
    ) {
        let column = self.columns.start + tile * TILE;
        let count = self.columns.end.saturating_sub(column).min(TILE);
        out.write(row, column, &numbers[..count]);
    }
}

//! What a task multiplies, and where it writes.

use std::ops::Range;

use super::layout::{Layout, Line, TILE};

/// Where tasks write, each to some columns of the same matrix.
pub(super) trait Columns {
    /// Writes to a row from a column on.
    fn write(&mut self, row: usize, column: usize, numbers: &[f32]);
}

/// The tiles of a task.
pub(super) struct Tiles<'a> {
    pub(super) layout: Layout,
    /// `[tiles, lines of a tile]`
    pub(super) lines: &'a [Line],
    pub(super) tile_lines: usize,
    /// From where their outputs go to where those of the matrix end, of which the last tile may have
    /// more than there are.
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

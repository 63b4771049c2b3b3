//! The tiles of a task, and where it writes its outputs.

use std::marker::PhantomData;
use std::ops::Range;

use super::layout::{Layout, Line, TILE};
use crate::kernels::rows::Rows;

/// A matrix whose columns tasks write to, each only to those of its own tiles.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    start: *mut f32,
    rows: usize,
    width: usize,
    matrix: PhantomData<&'a mut Rows>,
}

// SAFETY: no two tasks have the same tile, so their writes do not overlap; the matrix is borrowed, so nothing reads
// it before all tasks have ended.
#[allow(unsafe_code)]
unsafe impl Send for Shared<'_> {}
// SAFETY: as for `Send`; it is shared only to be copied.
#[allow(unsafe_code)]
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    pub(super) fn new(out: &'a mut Rows) -> Self {
        Self {
            start: out.numbers.as_mut_ptr(),
            rows: out.count(),
            width: out.width,
            matrix: PhantomData,
        }
    }

    /// Writes to a row, starting at a column.
    #[inline(always)]
    fn write(self, row: usize, column: usize, numbers: &[f32]) {
        assert!(row < self.rows && column + numbers.len() <= self.width);
        // SAFETY: row and columns are within the matrix, as just checked.
        #[allow(unsafe_code)]
        unsafe {
            let to = self.start.add(row * self.width + column);
            std::ptr::copy_nonoverlapping(numbers.as_ptr(), to, numbers.len());
        }
    }
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
    pub(super) fn write(&self, out: Shared<'_>, row: usize, tile: usize, numbers: &[f32; TILE]) {
        let column = self.columns.start + tile * TILE;
        let count = self.columns.end.saturating_sub(column).min(TILE);
        out.write(row, column, &numbers[..count]);
    }
}

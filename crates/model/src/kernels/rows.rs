//! Activations: row-major matrices, one row per token.

/// A row-major matrix.
#[derive(Clone)]
pub(crate) struct Rows {
    pub(crate) numbers: Vec<f32>,
    pub(crate) width: usize,
}

impl Rows {
    pub(crate) fn new(numbers: Vec<f32>, width: usize) -> Self {
        Self { numbers, width }
    }

    pub(crate) fn zeros(count: usize, width: usize) -> Self {
        Self::new(vec![0.0; count * width], width)
    }

    pub(crate) fn count(&self) -> usize {
        self.numbers.len() / self.width
    }

    pub(crate) fn row(&self, row: usize) -> &[f32] {
        &self.numbers[row * self.width..(row + 1) * self.width]
    }

    /// Copies of some of the rows.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        let mut numbers = Vec::with_capacity(rows.len() * self.width);
        for &row in rows {
            numbers.extend_from_slice(self.row(row));
        }
        Self::new(numbers, self.width)
    }
}

/// The least rows of this width in a task.
pub fn task_rows(width: usize) -> usize {
    /// Numbers whose processing takes longer than handing them to another thread.
    const NUMBERS: usize = 1 << 14;
    NUMBERS.div_ceil(width.max(1))
}

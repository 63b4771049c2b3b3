//! An adapter's changes to projections whose weights stay quantized: LoRA's low-rank updates, which are added to
//! products, and rows of weights that replace others. Both are in 32 bits, whatever the arithmetic of the weights.

use rayon::prelude::*;

use super::rows::Rows;
use super::wide::{LANES, dot, widest};

/// The least multiplications of a task.
const TASK_PRODUCTS: usize = 1 << 16;

/// The update of a projection, `up down`, for some of its outputs.
pub(crate) struct LowRank {
    /// The projection's output at which these begin.
    first: usize,
    outputs: usize,
    rank: usize,
    inputs: usize,
    /// `[rank, inputs]`
    down: Vec<f32>,
    /// `[tiles, rank, LANES]`; the last tile is padded with zeros.
    up: Vec<f32>,
}

impl LowRank {
    /// # Shapes
    /// `down`: `[rank, inputs]`; `up`: `[outputs, rank]`.
    pub(crate) fn new(first: usize, rank: usize, down: Vec<f32>, up: &[f32]) -> Self {
        let (outputs, inputs) = (up.len() / rank, down.len() / rank);
        let mut tiles = vec![0.0; outputs.div_ceil(LANES) * rank * LANES];
        for (output, row) in up.chunks_exact(rank).enumerate() {
            let tile = &mut tiles[output / LANES * rank * LANES..];
            for (k, &number) in row.iter().enumerate() {
                tile[k * LANES + output % LANES] = number;
            }
        }
        Self {
            first,
            outputs,
            rank,
            inputs,
            down,
            up: tiles,
        }
    }

    /// Bytes that the update of a module takes.
    pub(crate) fn bytes(rank: usize, outputs: usize, inputs: usize) -> usize {
        size_of::<f32>() * rank * (inputs + outputs.next_multiple_of(LANES))
    }

    /// Adds `up (down x)` to the projection's products.
    ///
    /// # Shapes
    /// `x`: `[rows, inputs]`; `out`: `[rows, outputs of the projection]`.
    pub(crate) fn add(&self, x: &Rows, out: &mut Rows) {
        let mut inner = Rows::zeros(x.count(), self.rank);
        inner
            .numbers
            .par_iter_mut()
            .with_min_len(TASK_PRODUCTS.div_ceil(self.inputs))
            .enumerate()
            .for_each(|(place, inner)| {
                let (row, k) = (place / self.rank, place % self.rank);
                let down = &self.down[k * self.inputs..][..self.inputs];
                *inner = widest(
                    #[inline(always)]
                    || dot(down, x.row(row)),
                );
            });
        let tile = self.rank * LANES;
        let task_tiles = TASK_PRODUCTS.div_ceil(tile);
        let width = out.width;
        out.numbers
            .par_chunks_mut(width)
            .with_min_len(TASK_PRODUCTS.div_ceil(self.rank * self.outputs))
            .zip(inner.numbers.par_chunks(self.rank))
            .for_each(|(out, inner)| {
                out[self.first..][..self.outputs]
                    .par_chunks_mut(task_tiles * LANES)
                    .zip(self.up.par_chunks(task_tiles * tile))
                    .for_each(|(out, up)| add_combined(up, inner, out));
            });
    }
}

/// Adds the rows of each tile, multiplied by the numbers of `inner`.
///
/// # Shapes
/// `up`: `[tiles, rank, LANES]`; `inner`: `[rank]`; `out`: `[outputs of these tiles]`.
fn add_combined(up: &[f32], inner: &[f32], out: &mut [f32]) {
    widest(
        #[inline(always)]
        || {
            let tiles = up.chunks_exact(inner.len() * LANES);
            for (out, tile) in out.chunks_mut(LANES).zip(tiles) {
                let mut sums = [0.0f32; LANES];
                for (&factor, numbers) in inner.iter().zip(tile.chunks_exact(LANES)) {
                    for (sum, &number) in sums.iter_mut().zip(numbers) {
                        *sum += factor * number;
                    }
                }
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out += sum;
                }
            }
        },
    );
}

/// Replaced weights: of outputs of a projection, or of entries of a table.
pub(crate) struct OwnRows {
    places: Vec<usize>,
    /// One for each place.
    weights: Rows,
}

impl OwnRows {
    /// # Shapes
    /// `weights`: `[places, inputs]`.
    pub(crate) fn new(places: Vec<usize>, weights: Rows) -> Self {
        Self { places, weights }
    }

    /// Bytes that they take.
    pub(crate) fn bytes(places: usize, inputs: usize) -> usize {
        places * (size_of::<usize>() + size_of::<f32>() * inputs)
    }

    /// The weights of a place, if it has its own.
    pub(crate) fn find(&self, place: usize) -> Option<&[f32]> {
        let index = self.places.iter().position(|&own| own == place)?;
        Some(self.weights.row(index))
    }

    /// Replaces products by those with these weights.
    ///
    /// # Shapes
    /// `x`: `[rows, inputs]`; `out`: `[rows, outputs of the projection]`.
    pub(crate) fn put_products(&self, x: &Rows, out: &mut Rows) {
        for row in 0..x.count() {
            let numbers = &mut out.numbers[row * out.width..][..out.width];
            for (index, &place) in self.places.iter().enumerate() {
                numbers[place] = widest(
                    #[inline(always)]
                    || dot(self.weights.row(index), x.row(row)),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pseudo-random numbers between -1 and 1, determined by a seed.
    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        use rand::{Rng, SeedableRng};
        let mut random = rand::rngs::StdRng::seed_from_u64(seed);
        (0..count).map(|_| random.random_range(-1.0..1.0)).collect()
    }

    proptest! {
        #[test]
        fn updates_are_the_products_of_both_matrices(
            rows in 1usize..5,
            rank in 1usize..20,
            inputs in 1usize..100,
            outputs in 1usize..100,
            first in 0usize..3,
            seed: u64,
        ) {
            let x = Rows::new(numbers(rows * inputs, seed), inputs);
            let (down, up) = (numbers(rank * inputs, seed ^ 1), numbers(outputs * rank, seed ^ 2));
            let width = first + outputs + 2;
            let before = numbers(rows * width, seed ^ 3);
            let mut out = Rows::new(before.clone(), width);
            let update = LowRank::new(first, rank, down.clone(), &up);
            update.add(&x, &mut out);
            for row in 0..rows {
                let mut alone = Rows::new(before[row * width..][..width].to_vec(), width);
                update.add(&Rows::new(x.row(row).to_vec(), inputs), &mut alone);
                prop_assert_eq!(alone.row(0), out.row(row));
                for column in 0..width {
                    let mut expected = f64::from(before[row * width + column]);
                    if (first..first + outputs).contains(&column) {
                        for k in 0..rank {
                            let inner: f64 = (0..inputs)
                                .map(|i| f64::from(x.row(row)[i]) * f64::from(down[k * inputs + i]))
                                .sum();
                            expected += inner * f64::from(up[(column - first) * rank + k]);
                        }
                    }
                    let found = f64::from(out.row(row)[column]);
                    prop_assert!((found - expected).abs() < 1e-4, "{} is not {}", found, expected);
                }
            }
        }
    }

    /// Large enough for several tasks in both directions.
    #[test]
    fn a_row_is_the_same_in_any_batch() {
        let (rank, inputs, outputs) = (16, 6000, 9000);
        let update = LowRank::new(
            0,
            rank,
            numbers(rank * inputs, 1),
            &numbers(outputs * rank, 2),
        );
        let x = Rows::new(numbers(9 * inputs, 3), inputs);
        let mut together = Rows::zeros(9, outputs);
        update.add(&x, &mut together);
        for row in 0..9 {
            let mut alone = Rows::zeros(1, outputs);
            update.add(&x.select(&[row]), &mut alone);
            assert_eq!(alone.row(0), together.row(row));
        }
        assert!(together.numbers.iter().all(|&number| number != 0.0));
    }

    #[test]
    fn own_rows_stand_in_place_of_others() {
        let x = Rows::new(vec![1.0, 2.0, 3.0, 4.0], 2);
        let own = OwnRows::new(vec![2, 0], Rows::new(vec![1.0, 1.0, 0.0, 1.0], 2));
        let mut out = Rows::new(vec![9.0; 6], 3);
        own.put_products(&x, &mut out);
        assert_eq!(out.numbers, [2.0, 9.0, 3.0, 4.0, 9.0, 7.0]);
        assert_eq!(own.find(2), Some(&[1.0, 1.0][..]));
        assert_eq!(own.find(1), None);
    }
}

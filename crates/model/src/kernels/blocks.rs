//! 8-bit weights packed in blocks of outputs, in the order in which a single row reads them.

use rayon::prelude::*;

use super::wide::widest;

/// Outputs of a block: their sums fill half of the vector registers, and a block's weights for one
/// input are one cache line.
const BLOCK: usize = 64;

/// Inputs whose products with bytes are summed exactly in 32-bit floats:
/// 512 * 255 * 127 < 2^24.
const EXACT: usize = 512;

/// Weights that are worth a task.
const TASK_WEIGHTS: usize = 1 << 17;

/// The weights `[outputs, inputs]` of a projection, packed as `[blocks, inputs, BLOCK]`. The last
/// block is padded with zeros.
pub(super) struct WeightBlocks {
    bytes: Vec<i8>,
    inputs: usize,
}

impl WeightBlocks {
    /// # Shapes
    /// `weights`: `[outputs, inputs]`.
    pub(super) fn new(weights: &[i8], inputs: usize) -> Self {
        let outputs = weights.len() / inputs;
        let mut bytes = vec![0; outputs.div_ceil(BLOCK) * inputs * BLOCK];
        bytes
            .par_chunks_mut(inputs * BLOCK)
            .zip(weights.par_chunks(inputs * BLOCK))
            .for_each(|(block, weights)| {
                for (output, weights) in weights.chunks(inputs).enumerate() {
                    for (lines, &weight) in block.chunks_mut(BLOCK).zip(weights) {
                        lines[output] = weight;
                    }
                }
            });
        Self { bytes, inputs }
    }

    /// The integer products of a single row, equal to those of a matrix product, which would take as
    /// long as for several rows.
    ///
    /// # Shapes
    /// `row`: `[inputs]`; `products`: `[outputs]`.
    pub(super) fn row_product(&self, row: &[u8], products: &mut [i32]) {
        let row: Vec<f32> = row.iter().copied().map(f32::from).collect();
        products
            .par_chunks_mut(BLOCK)
            .zip(self.bytes.par_chunks(self.inputs * BLOCK))
            .with_min_len(TASK_WEIGHTS.div_ceil(self.inputs * BLOCK))
            .for_each(|(products, block)| {
                widest(
                    #[inline(always)]
                    || {
                        let mut totals = [0i32; BLOCK];
                        for (lines, row) in block.chunks(EXACT * BLOCK).zip(row.chunks(EXACT)) {
                            let mut sums = [0.0; BLOCK];
                            for (line, &x) in lines.chunks_exact(BLOCK).zip(row) {
                                add_line(line, x, &mut sums);
                            }
                            for (total, sum) in totals.iter_mut().zip(sums) {
                                *total += sum as i32;
                            }
                        }
                        products.copy_from_slice(&totals[..products.len()]);
                    },
                );
            });
    }

    /// The products of the weights and a sparse row, given by the indices and values of its nonzero
    /// inputs.
    ///
    /// # Shapes
    /// `products`: `[outputs]`.
    #[inline(always)]
    pub(super) fn sparse_product(&self, inputs: &[(usize, f32)], products: &mut [f32]) {
        let blocks = self.bytes.chunks(self.inputs * BLOCK);
        for (products, block) in products.chunks_mut(BLOCK).zip(blocks) {
            let mut sums = [0.0; BLOCK];
            for &(input, x) in inputs {
                add_line(&block[input * BLOCK..][..BLOCK], x, &mut sums);
            }
            products.copy_from_slice(&sums[..products.len()]);
        }
    }
}

/// Adds the products of one input with its weights in a block.
#[inline(always)]
fn add_line(line: &[i8], x: f32, sums: &mut [f32; BLOCK]) {
    for (sum, &weight) in sums.iter_mut().zip(line) {
        *sum = x.mul_add(f32::from(weight), *sum);
    }
}

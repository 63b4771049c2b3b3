//! Projections with 8-bit weights: one scale an output; activations are quantized to 8 bits as they
//! come, but for the outliers of each row, which are multiplied as they are.

use rayon::prelude::*;
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::NdTensorView;

use super::quantize::{QuantizedRow, quantize_row, quantize_weights};
use super::rows::{Rows, task_rows};
use crate::decoder::error::DecoderError;
use crate::decoder::wide::{LANES, widest};

/// The greatest quantized activation where the processor adds pairs of products in 16 bits, which
/// must not overflow: 2 * 127 * 127 < 2^15.
const NARROW_LIMIT: f32 = 127.0;
/// The same where it adds them in 32 bits.
const WIDE_LIMIT: f32 = 255.0;

/// A projection with 8-bit weights.
pub(in crate::decoder) struct Int8Matrix {
    packed: PackedBMatrix<i8>,
    outputs: usize,
    /// What becomes of the outputs, in blocks of as many as there are lanes. The last is filled up.
    blocks: Vec<Block>,
    activation_limit: f32,
}

/// Outputs that stand in registers together.
struct Block {
    /// The weights of each input: what outliers are multiplied with.
    columns: Vec<[i8; LANES]>,
    /// One scale an output.
    scales: [f32; LANES],
    /// The sum of each output's weights, by which zero points are taken off again. `rten-gemm`'s own
    /// zero points are not used: with several in one product, rows came to depend on their place.
    sums: [i32; LANES],
}

type Executor = GemmExecutor<u8, i8, i32>;

impl Int8Matrix {
    /// # Shapes
    /// `weights`: `[outputs, inputs]`.
    pub(super) fn new(weights: &[f32], outputs: usize, inputs: usize) -> Self {
        let mut bytes = vec![0i8; weights.len()];
        let blocks = weights
            .par_chunks(LANES * inputs)
            .zip(bytes.par_chunks_mut(LANES * inputs))
            .map(|(weights, bytes)| Block::new(weights, bytes, inputs))
            .collect();
        let executor = Executor::new();
        let view = NdTensorView::from_data([outputs, inputs], bytes.as_slice());
        Self {
            packed: executor.prepack_b(view.transposed()),
            outputs,
            blocks,
            activation_limit: if executor.may_saturate() {
                NARROW_LIMIT
            } else {
                WIDE_LIMIT
            },
        }
    }

    /// # Shapes
    /// `x`: `[rows, inputs]`; returns `[rows, outputs]`.
    pub(super) fn product(&self, x: &Rows) -> Result<Rows, DecoderError> {
        let rows = x.count();
        let mut bytes = vec![0u8; x.numbers.len()];
        let quantized: Vec<QuantizedRow> = x
            .numbers
            .par_chunks(x.width)
            .zip(bytes.par_chunks_mut(x.width))
            .with_min_len(task_rows(x.width))
            .map(|(row, bytes)| quantize_row(row, bytes, self.activation_limit))
            .collect();
        let outputs = self.outputs;
        let mut products = vec![0i32; rows * outputs];
        Executor::new()
            .gemm(
                &mut products,
                GemmInputA::Unpacked(NdTensorView::from_data([rows, x.width], bytes.as_slice())),
                GemmInputB::Packed(&self.packed),
                GemmOptions::default(),
            )
            .map_err(|e| DecoderError::product(&e))?;
        products
            .par_chunks_mut(outputs)
            .zip(&quantized)
            .with_min_len(task_rows(outputs))
            .for_each(|(products, row)| self.finish(products, row));
        // What lies there are the bits of floats by now.
        Ok(Rows::new(bytemuck::cast_vec(products), outputs))
    }

    /// Replaces a row's integer products by the bits of the outputs.
    fn finish(&self, products: &mut [i32], row: &QuantizedRow) {
        widest(
            #[inline(always)]
            || {
                for (products, block) in products.chunks_mut(LANES).zip(&self.blocks) {
                    match <&mut [i32; LANES]>::try_from(&mut *products) {
                        Ok(all) => block.finish(all, row),
                        Err(_) => {
                            let mut all = [0; LANES];
                            all[..products.len()].copy_from_slice(products);
                            block.finish(&mut all, row);
                            products.copy_from_slice(&all[..products.len()]);
                        }
                    }
                }
            },
        );
    }
}

impl Block {
    /// Quantizes the weights of some outputs, `[outputs, inputs]`.
    fn new(weights: &[f32], bytes: &mut [i8], inputs: usize) -> Self {
        let mut block = Self {
            columns: vec![[0; LANES]; inputs],
            scales: [0.0; LANES],
            sums: [0; LANES],
        };
        let rows = weights.chunks(inputs).zip(bytes.chunks_mut(inputs));
        for (lane, (weights, bytes)) in rows.enumerate() {
            (block.scales[lane], block.sums[lane]) = quantize_weights(weights, bytes);
            for (column, &byte) in block.columns.iter_mut().zip(&*bytes) {
                column[lane] = byte;
            }
        }
        block
    }

    #[inline(always)]
    fn finish(&self, products: &mut [i32; LANES], row: &QuantizedRow) {
        let mut exact = [0.0; LANES];
        for &(input, value) in &row.outliers {
            for (exact, &weight) in exact.iter_mut().zip(&self.columns[input]) {
                *exact += value * f32::from(weight);
            }
        }
        for lane in 0..LANES {
            let rounded = (products[lane] - row.zero_point * self.sums[lane]) as f32 * row.scale;
            products[lane] = ((rounded + exact[lane]) * self.scales[lane]).to_bits() as i32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_product_is_near_the_exact_one(
            weights in prop::collection::vec(-2.0f32..2.0, 24 * 40),
            numbers in prop::collection::vec(-9.0f32..9.0, 3 * 40),
        ) {
            let matrix = Int8Matrix::new(&weights, 24, 40);
            let x = Rows::new(numbers.clone(), 40);
            let product = matrix.product(&x).unwrap();
            for row in 0..3 {
                let row_numbers = &numbers[row * 40..(row + 1) * 40];
                for output in 0..24 {
                    let exact: f32 = weights[output * 40..(output + 1) * 40]
                        .iter()
                        .zip(row_numbers)
                        .map(|(w, x)| w * x)
                        .sum();
                    // Half a step of each activation and of each weight, at their greatest.
                    let bound = 40.0 * (0.5 * 18.0 / 127.0 * 2.0 + 0.5 * 2.0 / 127.0 * 9.0);
                    prop_assert!((product.row(row)[output] - exact).abs() <= bound * 0.5);
                }
            }
        }

        #[test]
        fn rows_do_not_depend_on_their_company(
            (rows, inputs, outputs) in (1usize..80, 1usize..70, 1usize..40),
            seed in any::<u32>(),
        ) {
            // Any numbers will do.
            let number = |i: usize| ((i as u32).wrapping_mul(2_654_435_761) ^ seed) as f32 / 1e9 - 2.0;
            let weights: Vec<f32> = (0..outputs * inputs).map(number).collect();
            let numbers: Vec<f32> = (0..rows * inputs).map(|i| number(i + 7)).collect();
            let matrix = Int8Matrix::new(&weights, outputs, inputs);
            let together = matrix.product(&Rows::new(numbers.clone(), inputs)).unwrap();
            for row in 0..rows {
                let alone = Rows::new(numbers[row * inputs..(row + 1) * inputs].to_vec(), inputs);
                let alone = matrix.product(&alone).unwrap();
                prop_assert_eq!(alone.row(0), together.row(row));
            }
        }
    }
}

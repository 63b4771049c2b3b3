//! Projections with 8-bit weights, one scale per output. Activations are quantized to 8 bits on the fly,
//! except for the outliers of each row, which are multiplied in 32 bits.

use rayon::prelude::*;
use rten_gemm::{GemmError, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::NdTensorView;

use super::blocks::WeightBlocks;
use super::quantize::{QuantizedRow, quantize_row, quantize_weights};
use super::rows::{Rows, task_rows};
use super::wide::widest;

/// The greatest quantized activation on a CPU that adds pairs of products in 16 bits, which must not
/// overflow: 2 * 127 * 127 < 2^15.
const NARROW_LIMIT: f32 = 127.0;
/// The same on a CPU that adds them in 32 bits.
const WIDE_LIMIT: f32 = 255.0;

/// A projection with 8-bit weights.
pub(crate) struct Int8Matrix {
    packed: PackedBMatrix<i8>,
    /// The same weights, packed for single rows and outliers.
    blocks: WeightBlocks,
    /// One scale per output.
    scales: Vec<f32>,
    /// The sum of each output's weights, by which zero points are subtracted again. `rten-gemm`'s own
    /// zero points are not used: with several in one product, rows depended on their position.
    sums: Vec<i32>,
    activation_limit: f32,
}

type Executor = GemmExecutor<u8, i8, i32>;

impl Int8Matrix {
    /// # Shapes
    /// `weights`: `[outputs, inputs]`.
    pub(crate) fn new(weights: &[f32], outputs: usize, inputs: usize) -> Self {
        let mut bytes = vec![0i8; weights.len()];
        let (scales, sums) = weights
            .par_chunks(inputs)
            .zip(bytes.par_chunks_mut(inputs))
            .map(|(row, bytes)| quantize_weights(row, bytes))
            .unzip();
        let executor = Executor::new();
        let view = NdTensorView::from_data([outputs, inputs], bytes.as_slice());
        Self {
            packed: executor.prepack_b(view.transposed()),
            blocks: WeightBlocks::new(&bytes, inputs),
            scales,
            sums,
            activation_limit: if executor.may_saturate() {
                NARROW_LIMIT
            } else {
                WIDE_LIMIT
            },
        }
    }

    /// # Shapes
    /// `x`: `[rows, inputs]`; returns `[rows, outputs]`.
    pub(crate) fn product(&self, x: &Rows) -> Result<Rows, GemmError> {
        let rows = x.count();
        let mut bytes = vec![0u8; x.numbers.len()];
        let quantized: Vec<QuantizedRow> = x
            .numbers
            .par_chunks(x.width)
            .zip(bytes.par_chunks_mut(x.width))
            .with_min_len(task_rows(x.width))
            .map(|(row, bytes)| quantize_row(row, bytes, self.activation_limit))
            .collect();
        let outputs = self.scales.len();
        let mut products = vec![0i32; rows * outputs];
        if rows == 1 {
            self.blocks.row_product(&bytes, &mut products);
        } else {
            Executor::new().gemm(
                &mut products,
                GemmInputA::Unpacked(NdTensorView::from_data([rows, x.width], bytes.as_slice())),
                GemmInputB::Packed(&self.packed),
                GemmOptions::default(),
            )?;
        }
        products
            .par_chunks_mut(outputs)
            .zip(&quantized)
            .with_min_len(task_rows(outputs))
            .for_each_init(
                || vec![0.0; outputs],
                |exact, (products, row)| self.finish(products, row, exact),
            );
        // By now these are the bits of floats.
        Ok(Rows::new(bytemuck::cast_vec(products), outputs))
    }

    /// Replaces a row's integer products by the bits of the outputs.
    ///
    /// # Shapes
    /// `products`: `[outputs]`; `exact`: a buffer of the same shape.
    fn finish(&self, products: &mut [i32], row: &QuantizedRow, exact: &mut [f32]) {
        widest(
            #[inline(always)]
            || {
                self.blocks.sparse_product(&row.outliers, exact);
                let weights = self.scales.iter().zip(&self.sums);
                for ((product, &exact), (scale, sum)) in
                    products.iter_mut().zip(&*exact).zip(weights)
                {
                    let rounded = (*product - row.zero_point * sum) as f32 * row.scale;
                    *product = ((rounded + exact) * scale).to_bits() as i32;
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_product_is_close_to_the_exact_one(
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
        fn rows_do_not_depend_on_the_batch(
            (rows, inputs, outputs) in (1usize..30, 1usize..1200, 1usize..150),
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

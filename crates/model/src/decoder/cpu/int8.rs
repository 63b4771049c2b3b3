//! Projections with 8-bit weights: one scale an output; activations are quantized to 8 bits as they
//! come, with one scale and one zero point a row.

use rayon::prelude::*;
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::NdTensorView;

use super::rows::{Rows, task_rows};
use crate::decoder::error::DecoderError;
use crate::decoder::wide::{greatest, greatest_of, sum, widest};

/// The greatest quantized weight.
const WEIGHT_LIMIT: f32 = 127.0;

/// The greatest quantized activation where the processor adds pairs of products in 16 bits, which
/// must not overflow: 2 * 127 * 127 < 2^15.
const NARROW_LIMIT: f32 = 127.0;
/// The same where it adds them in 32 bits.
const WIDE_LIMIT: f32 = 255.0;

/// A projection with 8-bit weights.
pub(in crate::decoder) struct Int8Matrix {
    packed: PackedBMatrix<i8>,
    /// One scale an output.
    scales: Vec<f32>,
    /// The sum of each output's weights, by which zero points are taken off again. `rten-gemm`'s own
    /// zero points are not used: with several in one product, rows came to depend on their place.
    sums: Vec<i32>,
    activation_limit: f32,
}

type Executor = GemmExecutor<u8, i8, i32>;

impl Int8Matrix {
    /// # Shapes
    /// `weights`: `[outputs, inputs]`.
    pub(super) fn new(weights: &[f32], outputs: usize, inputs: usize) -> Self {
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
    pub(super) fn product(&self, x: &Rows) -> Result<Rows, DecoderError> {
        let rows = x.count();
        let mut bytes = vec![0u8; x.numbers.len()];
        let quantized: Vec<(f32, i32)> = x
            .numbers
            .par_chunks(x.width)
            .zip(bytes.par_chunks_mut(x.width))
            .with_min_len(task_rows(x.width))
            .map(|(row, bytes)| quantize(row, bytes, self.activation_limit))
            .collect();
        let outputs = self.scales.len();
        let mut products = vec![0i32; rows * outputs];
        Executor::new()
            .gemm(
                &mut products,
                GemmInputA::Unpacked(NdTensorView::from_data([rows, x.width], bytes.as_slice())),
                GemmInputB::Packed(&self.packed),
                GemmOptions::default(),
            )
            .map_err(|e| DecoderError::product(&e))?;
        let mut out = Rows::zeros(rows, outputs);
        out.numbers
            .par_chunks_mut(outputs)
            .zip(products.par_chunks(outputs))
            .zip(&quantized)
            .with_min_len(task_rows(outputs))
            .for_each(|((out, products), &(scale, zero_point))| {
                widest(
                    #[inline(always)]
                    || {
                        let outputs = out.iter_mut().zip(products);
                        let weights = self.scales.iter().zip(&self.sums);
                        for ((out, &product), (&weight_scale, &sum)) in outputs.zip(weights) {
                            *out = (product - zero_point * sum) as f32 * (scale * weight_scale);
                        }
                    },
                );
            });
        Ok(out)
    }
}

/// Quantizes an output's weights: `weight = scale * byte`. Returns the scale and the bytes' sum. A
/// weight that is no number makes the scale NaN, so that it is not lost.
fn quantize_weights(row: &[f32], bytes: &mut [i8]) -> (f32, i32) {
    let most = row
        .iter()
        .fold(0.0f32, |most, weight| most.max(weight.abs()));
    let scale = if most > 0.0 { most / WEIGHT_LIMIT } else { 1.0 };
    for (byte, weight) in bytes.iter_mut().zip(row) {
        *byte = (weight / scale).round() as i8;
    }
    let trace: f32 = row.iter().map(|weight| weight * 0.0).sum();
    (
        scale + trace,
        bytes.iter().map(|&byte| i32::from(byte)).sum(),
    )
}

/// Quantizes a row: `value = scale * (byte - zero_point)`, with zero exact. A NaN makes the scale
/// NaN, so that it is not lost.
fn quantize(row: &[f32], bytes: &mut [u8], limit: f32) -> (f32, i32) {
    /// Added, it makes the last bits of a float an integer, rounded to the nearest.
    const ROUNDER: f32 = 12_582_912.0;
    widest(
        #[inline(always)]
        || {
            let most = greatest(row).max(0.0);
            let least = -greatest_of(row, |value| -value).max(0.0);
            let scale = if most > least {
                (most - least) / limit
            } else {
                1.0
            };
            let inverse = 1.0 / scale;
            let zero_point = (-least * inverse + ROUNDER) - ROUNDER;
            for (byte, &value) in bytes.iter_mut().zip(row) {
                let rounded = (value * inverse + zero_point).clamp(0.0, limit) + ROUNDER;
                *byte = rounded.to_bits() as u8;
            }
            // Zero, unless there is a number that is none.
            let trace = sum(row, |value| value * 0.0);
            (scale + trace, zero_point as i32)
        },
    )
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

    #[test]
    fn nan_is_not_lost() {
        let mut bytes = [0u8; 3];
        assert!(
            quantize(&[1.0, f32::NAN, 2.0], &mut bytes, 127.0)
                .0
                .is_nan()
        );
        assert!(
            quantize(&[1.0, f32::INFINITY, 2.0], &mut bytes, 127.0)
                .0
                .is_nan()
        );
    }
}

//! Activations in 8 bits: each row in groups of 32 numbers, each group with its own scale, so that one large number
//! costs only its group precision, not the whole row.

use rayon::prelude::*;

use super::layout::GROUP;
use crate::kernels::rows::{Rows, task_rows};
use crate::kernels::wide::widest;

/// A quantized group of a row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group {
    pub(super) scale: f32,
    /// The sums of the codes of each half.
    pub(super) code_sums: [i32; 2],
    /// The scale times the sum of all codes.
    pub(super) sum: f32,
}

/// Rows whose groups are stored together, in the order in which products read them.
pub(super) const BLOCK_ROWS: usize = 16;

/// Quantized rows, in blocks of [`BLOCK_ROWS`]; the last block has as many as are left.
pub(crate) struct Activations {
    /// `[blocks, groups, rows of the block, GROUP]`, padded with zeros.
    pub(super) codes: Vec<[i8; GROUP]>,
    /// `[blocks, groups, rows of the block]`
    pub(super) groups: Vec<Group>,
    /// Groups of a row.
    pub(super) row_groups: usize,
    rows: usize,
}

impl Activations {
    pub(crate) fn new(x: &Rows) -> Self {
        let (rows, row_groups) = (x.count(), x.width.div_ceil(GROUP));
        let mut codes = vec![[0; GROUP]; rows * row_groups];
        let mut groups = vec![Group::default(); rows * row_groups];
        codes
            .par_chunks_mut(BLOCK_ROWS * row_groups)
            .zip(groups.par_chunks_mut(BLOCK_ROWS * row_groups))
            .zip(x.numbers.par_chunks(BLOCK_ROWS * x.width))
            .with_min_len(task_rows(BLOCK_ROWS * x.width))
            .for_each(|((codes, groups), rows)| quantize_block(rows, x.width, codes, groups));
        Self {
            codes,
            groups,
            row_groups,
            rows,
        }
    }

    /// The index of a row's first group, and the stride to the next one.
    #[inline(always)]
    pub(super) fn place(&self, row: usize) -> (usize, usize) {
        let block = row / BLOCK_ROWS * BLOCK_ROWS;
        let stride = BLOCK_ROWS.min(self.rows - block);
        (block * self.row_groups + row - block, stride)
    }
}

/// # Shapes
/// `block`: `[rows of the block, width]`.
fn quantize_block(block: &[f32], width: usize, codes: &mut [[i8; GROUP]], groups: &mut [Group]) {
    let stride = block.len() / width;
    widest(
        #[inline(always)]
        || {
            for (row, numbers) in block.chunks_exact(width).enumerate() {
                let codes = codes[row..].iter_mut().step_by(stride);
                let mut places = codes.zip(groups[row..].iter_mut().step_by(stride));
                let (whole, rest) = numbers.as_chunks::<GROUP>();
                for (numbers, (codes, group)) in whole.iter().zip(&mut places) {
                    *group = quantize(numbers, codes);
                }
                if let Some((codes, group)) = places.next() {
                    let mut numbers = [0.0; GROUP];
                    numbers[..rest.len()].copy_from_slice(rest);
                    *group = quantize(&numbers, codes);
                }
            }
        },
    );
}

/// Quantizes a group to -127..=127. NaN and infinity propagate to the scale.
#[inline(always)]
fn quantize(numbers: &[f32; GROUP], codes: &mut [i8; GROUP]) -> Group {
    /// Added, it makes the last bits of a float an integer, rounded to the nearest.
    const ROUNDER: f32 = 12_582_912.0;
    /// Groups with only smaller numbers are zero, since their inverse scale would be infinite.
    const LEAST: f32 = 1e-30;
    // Compared as integers, in which NaN and infinity are greater than any number.
    let mut most = 0;
    for number in numbers {
        most = most.max(number.abs().to_bits());
    }
    let most = f32::from_bits(most);
    let inverse = if most > LEAST { 127.0 / most } else { 0.0 };
    // In loops of one step each, which compilers vectorize.
    let mut steps = [0i32; GROUP];
    for (step, number) in steps.iter_mut().zip(numbers) {
        *step = i32::from((number * inverse + ROUNDER).to_bits() as i8);
    }
    let sums = [0, GROUP / 2].map(|first| steps[first..][..GROUP / 2].iter().sum::<i32>());
    for (code, step) in codes.iter_mut().zip(steps) {
        *code = step as i8;
    }
    let scale = most * (1.0 / 127.0);
    Group {
        scale,
        code_sums: sums,
        sum: scale * (sums[0] + sums[1]) as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_is_within_half_a_step(
            (rows, width) in (1usize..40, 1usize..90),
            numbers in prop::collection::vec(-300.0f32..300.0, 40 * 90),
        ) {
            let x = Rows::new(numbers[..rows * width].to_vec(), width);
            let quantized = Activations::new(&x);
            for row in 0..rows {
                let (first, stride) = quantized.place(row);
                for (index, numbers) in x.row(row).chunks(GROUP).enumerate() {
                    let place = first + index * stride;
                    let (codes, group) = (quantized.codes[place], quantized.groups[place]);
                    for (number, code) in numbers.iter().zip(codes) {
                        let back = group.scale * f32::from(code);
                        prop_assert!((number - back).abs() <= 0.5001 * group.scale);
                    }
                    let sum = |codes: &[i8]| codes.iter().map(|&code| i32::from(code)).sum();
                    let halves: [i32; 2] = [sum(&codes[..GROUP / 2]), sum(&codes[GROUP / 2..])];
                    prop_assert_eq!(group.code_sums, halves);
                    prop_assert_eq!(group.sum, group.scale * (halves[0] + halves[1]) as f32);
                }
            }
        }
    }

    #[test]
    fn nan_and_infinity_are_not_lost() {
        for strange in [f32::NAN, f32::INFINITY] {
            let row = vec![1.0, strange, 2.0];
            assert!(
                !Activations::new(&Rows::new(row, 3)).groups[0]
                    .scale
                    .is_finite()
            );
        }
    }

    #[test]
    fn hardly_anything_is_nothing() {
        let quantized = Activations::new(&Rows::new(vec![1e-40; 32], 32));
        assert_eq!(quantized.codes, [[0; GROUP]]);
        assert!(quantized.groups[0].scale >= 0.0);
    }
}

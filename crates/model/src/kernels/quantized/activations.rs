//! Activations in 8 bits: each row in groups of 32 numbers, each group with a scale of its own, so
//! that one great number costs its neighbours steps, and not the whole row.

use rayon::prelude::*;

use super::layout::GROUP;
use crate::kernels::rows::{Rows, task_rows};
use crate::kernels::wide::widest;

/// A quantized group of a row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group {
    pub(super) scale: f32,
    /// The scale times the sum of the codes: of the whole group, and of its halves.
    pub(super) sum: f32,
    pub(super) half_sums: [f32; 2],
}

/// Quantized rows.
pub(super) struct Activations {
    /// `[rows, groups, GROUP]`, padded with zeros.
    pub(super) codes: Vec<i8>,
    /// `[rows, groups]`
    pub(super) groups: Vec<Group>,
    /// Groups of a row.
    pub(super) row_groups: usize,
}

impl Activations {
    pub(super) fn new(x: &Rows) -> Self {
        let row_groups = x.width.div_ceil(GROUP);
        let mut codes = vec![0; x.count() * row_groups * GROUP];
        let mut groups = vec![Group::default(); x.count() * row_groups];
        codes
            .par_chunks_mut(row_groups * GROUP)
            .zip(groups.par_chunks_mut(row_groups))
            .zip(x.numbers.par_chunks(x.width))
            .with_min_len(task_rows(x.width))
            .for_each(|((codes, groups), row)| quantize_row(row, codes, groups));
        Self {
            codes,
            groups,
            row_groups,
        }
    }
}

fn quantize_row(row: &[f32], codes: &mut [i8], groups: &mut [Group]) {
    widest(
        #[inline(always)]
        || {
            let (whole, rest) = row.as_chunks::<GROUP>();
            let (codes, _) = codes.as_chunks_mut::<GROUP>();
            for ((numbers, codes), group) in whole.iter().zip(&mut *codes).zip(&mut *groups) {
                *group = quantize(numbers, codes);
            }
            if !rest.is_empty() {
                let mut numbers = [0.0; GROUP];
                numbers[..rest.len()].copy_from_slice(rest);
                groups[whole.len()] = quantize(&numbers, &mut codes[whole.len()]);
            }
        },
    );
}

/// Quantizes a group to -127..=127. NaN and infinity propagate to the scale.
#[inline(always)]
fn quantize(numbers: &[f32; GROUP], codes: &mut [i8; GROUP]) -> Group {
    /// Added, it makes the last bits of a float an integer, rounded to the nearest.
    const ROUNDER: f32 = 12_582_912.0;
    /// Groups of nothing but smaller numbers are zero: their inverse would not be a number.
    const LEAST: f32 = 1e-30;
    // As integers, since those of NaN and infinity are greater than any number's.
    let mut most = 0;
    for number in numbers {
        most = most.max(number.abs().to_bits());
    }
    let most = f32::from_bits(most);
    let inverse = if most > LEAST { 127.0 / most } else { 0.0 };
    let mut sums = [0i32; 2];
    let halves = numbers
        .chunks_exact(GROUP / 2)
        .zip(codes.chunks_exact_mut(GROUP / 2));
    for (sum, (numbers, codes)) in sums.iter_mut().zip(halves) {
        for (number, code) in numbers.iter().zip(codes) {
            *code = (number * inverse + ROUNDER).to_bits() as i8;
            *sum += i32::from(*code);
        }
    }
    let scale = most * (1.0 / 127.0);
    Group {
        scale,
        sum: scale * (sums[0] + sums[1]) as f32,
        half_sums: sums.map(|sum| scale * sum as f32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_is_within_half_a_step(
            row in prop::collection::vec(-300.0f32..300.0, 1..200),
        ) {
            let quantized = Activations::new(&Rows::new(row.clone(), row.len()));
            for (i, number) in row.iter().enumerate() {
                let group = quantized.groups[i / GROUP];
                let back = group.scale * f32::from(quantized.codes[i]);
                prop_assert!((number - back).abs() <= 0.5001 * group.scale);
            }
            for (codes, group) in quantized.codes.chunks(GROUP).zip(&quantized.groups) {
                let sum: i32 = codes.iter().map(|&code| i32::from(code)).sum();
                prop_assert_eq!(group.sum, group.scale * sum as f32);
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
        assert_eq!(quantized.codes, [0; 32]);
        assert!(quantized.groups[0].scale >= 0.0);
    }
}

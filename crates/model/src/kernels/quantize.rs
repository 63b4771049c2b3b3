//! Quantization to 8 bits.

use super::wide::{LANES, greatest_of, lane_maxima, sum, widest};

/// The greatest quantized weight.
const WEIGHT_LIMIT: f32 = 127.0;

/// Lanes of a row whose greatest number counts as an outlier. A few inputs of a language model's
/// projections are many times greater than all others (Dettmers et al. 2022, LLM.int8()); with one
/// scale for all, the others would get hardly any steps.
const OUTLIERS: usize = 12;

/// The parameters of a quantized row: `value = scale * (byte - zero_point)`, except for the outliers,
/// whose bytes encode zero.
pub(crate) struct QuantizedRow {
    pub(crate) scale: f32,
    pub(crate) zero_point: i32,
    /// Indices and values.
    pub(crate) outliers: Vec<(usize, f32)>,
}

/// Quantizes a row to `0..=limit`, with zero in the middle. A NaN propagates to the scale.
pub(crate) fn quantize_row(row: &[f32], bytes: &mut [u8], limit: f32) -> QuantizedRow {
    /// Added, it makes the last bits of a float an integer, rounded to the nearest.
    const ROUNDER: f32 = 12_582_912.0;
    widest(
        #[inline(always)]
        || {
            let maxima = lane_maxima(row, f32::abs);
            let bound = bound(maxima);
            let zero_point = (0.5 * limit).ceil();
            let scale = if bound > 0.0 {
                bound / (limit - zero_point)
            } else {
                1.0
            };
            let inverse = 1.0 / scale;
            for (byte, &value) in bytes.iter_mut().zip(row) {
                let value = if value.abs() > bound { 0.0 } else { value };
                *byte = (value * inverse + zero_point + ROUNDER).to_bits() as u8;
            }
            // Zero, unless the row holds NaN or infinity.
            let trace = sum(row, |value| value * 0.0);
            QuantizedRow {
                scale: scale + trace,
                zero_point: zero_point as i32,
                outliers: outliers(row, bound, maxima),
            }
        },
    )
}

/// The magnitude above which a number of a row is an outlier: the maximum of the lane that ranks next
/// after the [`OUTLIERS`] greatest.
#[inline(always)]
fn bound(mut maxima: [f32; LANES]) -> f32 {
    let (_, bound, _) = maxima.select_nth_unstable_by(OUTLIERS, |a, b| b.total_cmp(a));
    bound.max(0.0)
}

/// The numbers of greater magnitude than `bound`, with their indices.
#[inline(always)]
fn outliers(row: &[f32], bound: f32, maxima: [f32; LANES]) -> Vec<(usize, f32)> {
    let mut found = Vec::with_capacity(2 * OUTLIERS);
    for (lane, _) in maxima.iter().enumerate().filter(|&(_, &most)| most > bound) {
        let mut place = lane;
        while place < row.len() {
            if row[place].abs() > bound {
                found.push((place, row[place]));
            }
            place += LANES;
        }
    }
    found
}

/// Quantizes an output's weights: `weight = scale * byte`. Returns the scale and the bytes' sum. A NaN
/// or infinity propagates to the scale.
pub(crate) fn quantize_weights(row: &[f32], bytes: &mut [i8]) -> (f32, i32) {
    let most = greatest_of(row, f32::abs).max(0.0);
    let scale = if most > 0.0 { most / WEIGHT_LIMIT } else { 1.0 };
    for (byte, weight) in bytes.iter_mut().zip(row) {
        *byte = (weight / scale).round() as i8;
    }
    let trace = sum(row, |weight| weight * 0.0);
    (
        scale + trace,
        bytes.iter().map(|&byte| i32::from(byte)).sum(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_is_within_half_a_step(
            mut row in prop::collection::vec(-3.0f32..3.0, 1..900),
            giant in (0usize..900, -1e4f32..1e4),
            limit in prop::sample::select(vec![127.0f32, 255.0]),
        ) {
            let length = row.len();
            row[giant.0 % length] = giant.1;
            let mut bytes = vec![0; length];
            let quantized = quantize_row(&row, &mut bytes, limit);
            let mut back: Vec<f32> = bytes
                .iter()
                .map(|&byte| quantized.scale * (i32::from(byte) - quantized.zero_point) as f32)
                .collect();
            for &(place, value) in &quantized.outliers {
                prop_assert_eq!(back[place], 0.0);
                back[place] = value;
            }
            for (value, back) in row.iter().zip(back) {
                prop_assert!((value - back).abs() <= 0.5001 * quantized.scale);
            }
            // However great the giant is, the others keep their steps (1 where there are none).
            prop_assert!(quantized.scale <= 3.0 / (limit / 2.0).floor() || quantized.scale == 1.0);
        }
    }

    #[test]
    fn equal_numbers_are_no_outliers() {
        let quantized = quantize_row(&[2.0; 70], &mut [0; 70], 127.0);
        assert!(quantized.outliers.is_empty());
    }

    #[test]
    fn nan_and_infinity_are_not_lost() {
        for strange in [f32::NAN, f32::INFINITY] {
            let row = [1.0, strange, 2.0];
            assert!(quantize_row(&row, &mut [0; 3], 127.0).scale.is_nan());
            assert!(quantize_weights(&row, &mut [0; 3]).0.is_nan());
        }
    }
}

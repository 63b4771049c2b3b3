//! RMS norm and layer norm of rows.

use super::wide::{sum, widest};

/// Divides a row by its root mean square and multiplies it by the weight.
pub fn rms_norm(row: &mut [f32], weight: &[f32], epsilon: f32) {
    widest(
        #[inline(always)]
        || rms_norm_inlined(row, weight, epsilon),
    );
}

/// [`rms_norm`] for code that already runs with the widest vector instructions.
#[inline(always)]
pub(crate) fn rms_norm_inlined(row: &mut [f32], weight: &[f32], epsilon: f32) {
    let squares = sum(row, |value| value * value);
    let scale = 1.0 / (squares / row.len() as f32 + epsilon).sqrt();
    for (value, &weight) in row.iter_mut().zip(weight) {
        *value = *value * scale * weight;
    }
}

/// Replaces a row by `(row - mean) / sqrt(variance + epsilon) * scale + shift`.
///
/// # Shapes
/// All three: `[width]`.
pub(crate) fn layer_norm(row: &mut [f32], scale: &[f32], shift: &[f32], epsilon: f32) {
    widest(
        #[inline(always)]
        || {
            let width = row.len() as f32;
            let mean = sum(row, |value| value) / width;
            let squares = sum(row, |value| (value - mean) * (value - mean));
            let factor = 1.0 / (squares / width + epsilon).sqrt();
            for ((value, &scale), &shift) in row.iter_mut().zip(scale).zip(shift) {
                *value = (*value - mean) * factor * scale + shift;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rms_norm_agrees_with_the_definition(row in prop::collection::vec(-5.0f32..5.0, 1..40)) {
            let weight: Vec<f32> = (0..row.len()).map(|i| 0.5 + i as f32 / 8.0).collect();
            let mut normed = row.clone();
            rms_norm(&mut normed, &weight, 1e-5);
            let squares: f64 = row.iter().map(|&value| f64::from(value).powi(2)).sum();
            let root = (squares / row.len() as f64 + 1e-5).sqrt();
            for ((&value, &weight), &got) in row.iter().zip(&weight).zip(&normed) {
                let exact = f64::from(value) / root * f64::from(weight);
                prop_assert!((f64::from(got) - exact).abs() <= 1e-6 * (1.0 + exact.abs()));
            }
        }

        #[test]
        fn layer_norm_agrees_with_its_definition(values in prop::collection::vec(-9f32..9.0, 2..90)) {
            let scale: Vec<f32> = (0..values.len()).map(|index| 1.0 + index as f32 / 50.0).collect();
            let shift: Vec<f32> = (0..values.len()).map(|index| index as f32 / 10.0 - 3.0).collect();
            let mut fast = values.clone();
            layer_norm(&mut fast, &scale, &shift, 1e-3);
            let n = values.len() as f64;
            let mean = values.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
            let variance = values.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
            for (index, &y) in fast.iter().enumerate() {
                let exact = (f64::from(values[index]) - mean) / (variance + 1e-3).sqrt()
                    * f64::from(scale[index]) + f64::from(shift[index]);
                prop_assert!((f64::from(y) - exact).abs() < 1e-4, "{y} {exact}");
            }
        }
    }
}

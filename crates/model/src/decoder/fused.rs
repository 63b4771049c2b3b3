//! Elementwise steps of a block that are much faster in one pass over memory: causal softmax and
//! gated SiLU, over slices on the CPU. They have no gradient.

use candle_core::{CpuStorage, CustomOp1, InplaceOp1, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

/// Turns attention scores into weights: scales them, hides later tokens and those outside the
/// window, and applies the softmax over the last dimension, in place.
///
/// # Shapes
/// `scores`: `[kv_heads, group * tokens, length]`, contiguous; row `r` belongs to the token
/// `length - tokens + r % tokens` of the sequence.
pub(super) fn causal_softmax(
    scores: &Tensor,
    tokens: usize,
    scale: f32,
    window: Option<usize>,
) -> Result<()> {
    scores.inplace_op1(&CausalSoftmax {
        tokens,
        scale,
        window,
    })
}

struct CausalSoftmax {
    tokens: usize,
    scale: f32,
    window: Option<usize>,
}

impl InplaceOp1 for CausalSoftmax {
    fn name(&self) -> &'static str {
        "causal-softmax"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let (CpuStorage::F32(values), Some((start, end))) = (storage, layout.contiguous_offsets())
        else {
            candle_core::bail!("causal softmax needs contiguous f32 scores");
        };
        let Some(&length) = layout.dims().last() else {
            candle_core::bail!("causal softmax needs at least one dimension");
        };
        values[start..end]
            .par_chunks_mut(length)
            .enumerate()
            .for_each(|(row, scores)| {
                let position = length - self.tokens + row % self.tokens;
                let first = self
                    .window
                    .map_or(0, |window| (position + 1).saturating_sub(window));
                scores[..first].fill(0.0);
                scores[position + 1..].fill(0.0);
                softmax(&mut scores[first..=position], self.scale);
            });
        Ok(())
    }
}

/// The softmax of `scale * values`, in place.
fn softmax(values: &mut [f32], scale: f32) {
    let mut greatest = f32::NEG_INFINITY;
    for &value in values.iter() {
        greatest = greatest.max(value * scale);
    }
    for value in values.iter_mut() {
        *value = exp_of_nonpositive(*value * scale - greatest);
    }
    let sum: f32 = values.iter().sum();
    let inverse = 1.0 / sum;
    for value in values.iter_mut() {
        *value *= inverse;
    }
}

/// The gated activation of a feed-forward layer: `silu(gate) * up`.
///
/// # Shapes
/// `gate_up`: `[tokens, 2 * width]`, contiguous, gates first; returns `[tokens, width]`.
pub(super) fn gated_silu(gate_up: &Tensor) -> Result<Tensor> {
    gate_up.apply_op1_no_bwd(&GatedSilu)
}

struct GatedSilu;

impl CustomOp1 for GatedSilu {
    fn name(&self) -> &'static str {
        "gated-silu"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (CpuStorage::F32(values), Some((start, end))) = (storage, layout.contiguous_offsets())
        else {
            candle_core::bail!("the gated activation needs a contiguous f32 tensor");
        };
        let (tokens, double) = layout.shape().dims2()?;
        let width = double / 2;
        let mut output = vec![0.0f32; tokens * width];
        output
            .par_chunks_mut(width)
            .zip(values[start..end].par_chunks(double))
            .for_each(|(out, both)| {
                let (gate, up) = both.split_at(width);
                for ((out, &gate), &up) in out.iter_mut().zip(gate).zip(up) {
                    // x * sigmoid(x), with the exponential of a number that is never positive.
                    let e = exp_of_nonpositive(-gate.abs());
                    let sigmoid = if gate >= 0.0 { 1.0 } else { e } / (1.0 + e);
                    *out = gate * sigmoid * up;
                }
            });
        Ok((CpuStorage::F32(output), Shape::from((tokens, width))))
    }
}

/// `exp(x)` for `x <= 0`, to 2 units in the last place; written so that compilers vectorize it.
/// Splits `x` into `n ln 2 + r` with `|r| <= ln 2 / 2` and expands `exp(r)` as a polynomial.
#[inline(always)]
fn exp_of_nonpositive(x: f32) -> f32 {
    /// Added and subtracted, it rounds to the nearest integer.
    const ROUNDER: f32 = 12_582_912.0;
    // Below this the result is less than the smallest normal number. `max` also drops NaN,
    // which is wanted back at the end.
    let clamped = x.max(-87.0);
    let n = (clamped * std::f32::consts::LOG2_E + ROUNDER) - ROUNDER;
    let r = (clamped - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let p = 1.987_569_2e-4f32;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let p = p * r * r + r + 1.0;
    let power = f32::from_bits((((n as i32) + 127) as u32) << 23);
    let result = p * power;
    if x.is_nan() { x } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exponential_is_accurate(x in -87.0f32..=0.0) {
            let exact = f64::from(x).exp();
            let error = (f64::from(exp_of_nonpositive(x)) - exact).abs() / exact;
            prop_assert!(error < 3e-7, "{x}: {error}");
        }

        #[test]
        fn softmax_agrees_with_the_definition(
            values in prop::collection::vec(-30.0f32..30.0, 24),
            tokens in 1usize..=4,
            window in prop::option::of(1usize..6),
        ) {
            // Six keys; up to four of them are new.
            let scores = Tensor::from_vec(values.clone(), (1, 4, 6), &Device::Cpu).unwrap();
            let rows = 4 / tokens * tokens;
            let scores = scores.narrow(1, 0, rows).unwrap().contiguous().unwrap();
            causal_softmax(&scores, tokens, 0.5, window).unwrap();
            let weights = scores.squeeze(0).unwrap().to_vec2::<f32>().unwrap();
            for (row, weights) in weights.iter().enumerate() {
                let position = 6 - tokens + row % tokens;
                let visible = |j: usize| j <= position && window.is_none_or(|w| position - j < w);
                let exponential = |j: usize| (f64::from(values[row * 6 + j]) * 0.5).exp();
                let sum: f64 = (0..6).filter(|&j| visible(j)).map(exponential).sum();
                for (j, &weight) in weights.iter().enumerate() {
                    let expected = if visible(j) { exponential(j) / sum } else { 0.0 };
                    prop_assert!((f64::from(weight) - expected).abs() < 1e-6);
                }
            }
        }

        #[test]
        fn gated_silu_agrees_with_the_definition(values in prop::collection::vec(-50.0f32..50.0, 12)) {
            let input = Tensor::from_vec(values.clone(), (2, 6), &Device::Cpu).unwrap();
            let output = gated_silu(&input).unwrap().to_vec2::<f32>().unwrap();
            for row in 0..2 {
                for i in 0..3 {
                    let gate = f64::from(values[row * 6 + i]);
                    let expected = gate / (1.0 + (-gate).exp()) * f64::from(values[row * 6 + 3 + i]);
                    let error = (f64::from(output[row][i]) - expected).abs();
                    prop_assert!(error <= 1e-6 * (1.0 + expected.abs()));
                }
            }
        }
    }

    #[test]
    fn exponential_keeps_nan_and_vanishes_far_below() {
        assert!(exp_of_nonpositive(f32::NAN).is_nan());
        assert!(exp_of_nonpositive(-1e30) < 1e-37);
        assert_eq!(exp_of_nonpositive(0.0), 1.0);
    }
}

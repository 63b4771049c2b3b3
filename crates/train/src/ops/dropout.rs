//! Dropout.

use candle_core::{Result, Tensor};
use rayon::prelude::*;

use super::memory::is_slice;

/// Which inputs are dropped: a pure function of the seed and their positions, so that the backward pass
/// recomputes the mask instead of storing it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Dropout {
    /// The dropout probability, in `[0, 1)`; kept inputs are scaled up to preserve the mean.
    pub(crate) share: f32,
    pub(crate) seed: u32,
}

/// Numbers per parallel task.
const TASK: usize = 1 << 14;

impl Dropout {
    /// Multiplies each number by 0 or by `1 / (1 - share)`.
    pub(super) fn apply_to(self, numbers: &mut [f32]) {
        numbers
            .par_chunks_mut(TASK)
            .enumerate()
            .for_each(|(task, numbers)| {
                let first = (task * TASK) as u32;
                let border = (f64::from(self.share) * f64::from(u32::MAX)) as u32;
                let factor = 1.0 / (1.0 - self.share);
                widest!({
                    for (place, number) in numbers.iter_mut().enumerate() {
                        let kept = mix(first.wrapping_add(place as u32), self.seed) >= border;
                        *number *= if kept { factor } else { 0.0 };
                    }
                });
            });
    }

    /// Applies it to a tensor.
    pub(super) fn of(self, x: &Tensor) -> Result<Tensor> {
        debug_assert!(!is_slice(x));
        let mut mask = vec![1.0; x.elem_count()];
        self.apply_to(&mut mask);
        let mask = Tensor::from_vec(mask, x.shape(), x.device())?.to_dtype(x.dtype())?;
        x.mul(&mask)
    }
}

/// Hashes a position and a seed to 32 bits (Wellons's `lowbias32`).
#[inline(always)]
fn mix(place: u32, seed: u32) -> u32 {
    let mut x = place.wrapping_mul(0x9e37_79b9) ^ seed;
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_dropped_and_the_mean_stays() {
        for share in [0.05, 0.3, 0.9] {
            let mut numbers = vec![1.0; 100_000];
            Dropout { share, seed: 3 }.apply_to(&mut numbers);
            let dropped = numbers.iter().filter(|&&x| x == 0.0).count() as f32 / 1e5;
            let mean = numbers.iter().sum::<f32>() / 1e5;
            assert!((dropped - share).abs() < 0.01, "{share}: {dropped}");
            assert!((mean - 1.0).abs() < 0.05, "{share}: {mean}");
        }
        let drop = |seed| {
            let mut numbers = vec![1.0; 64];
            Dropout { share: 0.5, seed }.apply_to(&mut numbers);
            numbers
        };
        assert_eq!(drop(1), drop(1));
        assert_ne!(drop(1), drop(2));
    }
}

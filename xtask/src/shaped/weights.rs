//! Random weights in the blocks of GGUF's types, drawn as blocks: nothing is quantized.

use std::io::{Result, Write};

use half::f16;

/// Weights of a block.
const BLOCK: usize = 256;

/// The type and the content of a tensor.
pub(super) enum Stored {
    F32(Vec<f32>),
    /// Random weights of this standard deviation about 0.
    Q4K(f32),
    /// As `Q4K`.
    Q6K(f32),
}

impl Stored {
    /// The type's number in the format.
    pub(super) fn type_number(&self) -> u32 {
        match self {
            Self::F32(_) => 0,
            Self::Q4K(_) => 12,
            Self::Q6K(_) => 14,
        }
    }

    /// The bytes of so many weights.
    pub(super) fn bytes(&self, weights: usize) -> usize {
        match self {
            Self::F32(_) => 4 * weights,
            Self::Q4K(_) => weights / BLOCK * Q4K_BYTES,
            Self::Q6K(_) => weights / BLOCK * Q6K_BYTES,
        }
    }

    /// Writes so many weights; `seed` determines random ones.
    pub(super) fn write(&self, weights: usize, seed: u64, out: &mut impl Write) -> Result<()> {
        let mut random = ken_random::mixed(seed);
        match self {
            Self::F32(numbers) => numbers
                .iter()
                .try_for_each(|number| out.write_all(&number.to_le_bytes())),
            Self::Q4K(spread) => {
                (0..weights / BLOCK).try_for_each(|_| out.write_all(&q4k(*spread, &mut random)))
            }
            Self::Q6K(spread) => {
                (0..weights / BLOCK).try_for_each(|_| out.write_all(&q6k(*spread, &mut random)))
            }
        }
    }
}

const Q4K_BYTES: usize = 144;
const Q6K_BYTES: usize = 210;

fn fill(bytes: &mut [u8], random: &mut u64) {
    for bytes in bytes.chunks_mut(8) {
        bytes.copy_from_slice(&ken_random::next(random).to_le_bytes()[..bytes.len()]);
    }
}

/// A block of `Q4_K`: `weight = d * scale * code - least * offset`, with a scale and an offset of 6
/// bits for each of eight groups. Offsets are the scales, and `least` is 7.5 times `d`, so that the
/// mean is 0.
fn q4k(spread: f32, random: &mut u64) -> [u8; Q4K_BYTES] {
    let mut block = [0; Q4K_BYTES];
    // For 16 equally likely codes, and scales from 32 to 63.
    let d = spread / (4.61 * 48.4);
    block[..2].copy_from_slice(&f16::from_f32(d).to_le_bytes());
    block[2..4].copy_from_slice(&f16::from_f32(7.5 * d).to_le_bytes());
    let mut scales = [0; 8];
    fill(&mut scales, random);
    let scales = scales.map(|scale: u8| 32 + scale % 32);
    let packed = &mut block[4..16];
    for group in 0..4 {
        let (low, high) = (scales[group], scales[group + 4]);
        // The upper two bits of the second four groups stand above the first four.
        packed[group] = low | high >> 4 << 6;
        packed[group + 4] = low | high >> 4 << 6;
        packed[group + 8] = high & 15 | high << 4;
    }
    fill(&mut block[16..], random);
    block
}

/// A block of `Q6_K`: `weight = d * scale * (code - 32)`, with a scale of 8 bits for each of 16
/// groups.
fn q6k(spread: f32, random: &mut u64) -> [u8; Q6K_BYTES] {
    let mut block = [0; Q6K_BYTES];
    fill(&mut block[..208], random);
    for scale in &mut block[192..208] {
        *scale = 64 + *scale % 64;
    }
    // For 64 equally likely codes, and scales from 64 to 127.
    let d = spread / (18.5 * 97.3);
    block[208..].copy_from_slice(&f16::from_f32(d).to_le_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation.
    fn moments(weights: &[f32]) -> (f32, f32) {
        let count = weights.len() as f32;
        let mean = weights.iter().sum::<f32>() / count;
        let squares: f32 = weights.iter().map(|w| (w - mean).powi(2)).sum();
        (mean, (squares / count).sqrt())
    }

    fn scale(block: &[u8], at: usize) -> f32 {
        f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
    }

    #[test]
    fn weights_spread_about_zero() {
        for spread in [0.02f32, 0.002] {
            let mut random = 5;
            let mut weights = [Vec::new(), Vec::new()];
            for _ in 0..400 {
                let block = q4k(spread, &mut random);
                let (d, least) = (scale(&block, 0), scale(&block, 2));
                for group in 0..8 {
                    let packed = &block[4..16];
                    let (scale, offset) = match group {
                        0..4 => (packed[group] & 63, packed[group + 4] & 63),
                        _ => (
                            packed[group + 4] & 15 | packed[group - 4] >> 6 << 4,
                            packed[group + 4] >> 4 | packed[group] >> 6 << 4,
                        ),
                    };
                    assert!((32..64).contains(&scale) && offset == scale);
                    for code in &block[16 + group / 2 * 32..][..32] {
                        let code = if group % 2 == 0 { code & 15 } else { code >> 4 };
                        let weight = d * f32::from(scale) * f32::from(code);
                        weights[0].push(weight - least * f32::from(offset));
                    }
                }
                let block = q6k(spread, &mut random);
                for half in 0..2 {
                    for i in 0..128 {
                        let low = block[64 * half + i % 64] >> (i / 64 * 4) & 15;
                        let high = block[128 + 32 * half + i % 32] >> (i / 32 * 2) & 3;
                        let code = f32::from(low | high << 4) - 32.0;
                        let group = f32::from(block[192 + 8 * half + i / 16] as i8);
                        weights[1].push(scale(&block, 208) * group * code);
                    }
                }
            }
            for weights in &weights {
                let (mean, found) = moments(weights);
                assert!(mean.abs() < 0.05 * spread, "{mean}");
                assert!((found / spread - 1.0).abs() < 0.05, "{found} for {spread}");
            }
        }
    }
}

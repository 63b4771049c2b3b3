//! Plain code: the reference, and the fallback for other processors.

use half::f16;

use super::Isa;
use crate::kernels::quantized::layout::{LINE, Line, TILE};

pub(in crate::kernels::quantized) struct Plain;

#[allow(unsafe_code)] // The trait's functions are unsafe for others' sake; nothing here is.
impl Isa for Plain {
    type Floats = [f32; TILE];
    type Sums = [i32; TILE];
    type Codes = [u8; LINE];
    const ROWS: usize = 4;
    const EXACT_ROWS: usize = 1;

    #[inline(always)]
    unsafe fn load(numbers: &[f32; TILE]) -> [f32; TILE] {
        *numbers
    }

    #[inline(always)]
    unsafe fn store(numbers: [f32; TILE], out: &mut [f32; TILE]) {
        *out = numbers;
    }

    #[inline(always)]
    unsafe fn splat(number: f32) -> [f32; TILE] {
        [number; TILE]
    }

    #[inline(always)]
    unsafe fn mul(a: [f32; TILE], b: [f32; TILE]) -> [f32; TILE] {
        std::array::from_fn(|i| a[i] * b[i])
    }

    #[inline(always)]
    unsafe fn sub(a: [f32; TILE], b: [f32; TILE]) -> [f32; TILE] {
        std::array::from_fn(|i| a[i] - b[i])
    }

    #[inline(always)]
    unsafe fn mul_add(a: [f32; TILE], b: [f32; TILE], c: [f32; TILE]) -> [f32; TILE] {
        std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
    }

    #[inline(always)]
    unsafe fn mul_sub_from(a: [f32; TILE], b: [f32; TILE], c: [f32; TILE]) -> [f32; TILE] {
        std::array::from_fn(|i| (-a[i]).mul_add(b[i], c[i]))
    }

    #[inline(always)]
    unsafe fn halves(numbers: &[u16; TILE]) -> [f32; TILE] {
        numbers.map(|bits| f16::from_bits(bits).to_f32())
    }

    #[inline(always)]
    unsafe fn bytes(numbers: &[u8; TILE]) -> [f32; TILE] {
        numbers.map(f32::from)
    }

    #[inline(always)]
    unsafe fn signed_bytes(numbers: &[u8; TILE]) -> [f32; TILE] {
        numbers.map(|number| f32::from(number as i8))
    }

    #[inline(always)]
    unsafe fn prefetch(_line: *const Line) {}

    #[inline(always)]
    unsafe fn codes(line: &[u8; LINE]) -> [u8; LINE] {
        *line
    }

    #[inline(always)]
    unsafe fn nibbles(line: &[u8; LINE]) -> [[u8; LINE]; 2] {
        [line.map(|byte| byte & 15), line.map(|byte| byte >> 4)]
    }

    #[inline(always)]
    unsafe fn store_codes(codes: [u8; LINE], line: &mut [u8; LINE]) {
        *line = codes;
    }

    #[inline(always)]
    unsafe fn with_bits(codes: [u8; LINE], bits: [u8; LINE], shift: i32, mask: u8) -> [u8; LINE] {
        let shifted = |byte: u8| {
            if shift < 0 {
                byte << -shift
            } else {
                byte >> shift
            }
        };
        std::array::from_fn(|i| codes[i] | shifted(bits[i]) & mask)
    }

    #[inline(always)]
    unsafe fn code<const PLACE: i32>(codes: [u8; LINE]) -> [f32; TILE] {
        std::array::from_fn(|i| f32::from(codes[4 * i + PLACE as usize]))
    }

    #[inline(always)]
    unsafe fn start(number: i32) -> [i32; TILE] {
        [number; TILE]
    }

    #[inline(always)]
    unsafe fn dot(
        mut sums: [i32; TILE],
        codes: [u8; LINE],
        activations: [i8; 4],
        _wide: bool,
    ) -> [i32; TILE] {
        for (sum, codes) in sums.iter_mut().zip(codes.as_chunks::<4>().0) {
            for (&code, activation) in codes.iter().zip(activations) {
                *sum += i32::from(code) * i32::from(activation);
            }
        }
        sums
    }

    #[inline(always)]
    unsafe fn floats(sums: [i32; TILE]) -> [f32; TILE] {
        sums.map(|sum| sum as f32)
    }
}

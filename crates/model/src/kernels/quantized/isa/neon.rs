//! NEON with its 8-bit products (dotprod): four registers hold a tile.

use std::arch::aarch64::*;
use std::arch::asm;
use std::array::from_fn;

use super::Isa;
use crate::kernels::quantized::layout::{LINE, Line, TILE};

pub(in crate::kernels::quantized) struct NeonDotprod;

#[allow(unsafe_code)]
impl Isa for NeonDotprod {
    type Floats = [float32x4_t; 4];
    type Sums = [int32x4_t; 4];
    type Codes = [uint8x16_t; 4];
    const ROWS: usize = 4;
    const EXACT_ROWS: usize = 2;

    #[inline(always)]
    unsafe fn load(numbers: &[f32; TILE]) -> [float32x4_t; 4] {
        from_fn(|i| {
            // SAFETY: the caller guarantees NEON; four registers of four floats are the array.
            unsafe { vld1q_f32(numbers.as_ptr().add(4 * i)) }
        })
    }

    #[inline(always)]
    unsafe fn store(numbers: [float32x4_t; 4], out: &mut [f32; TILE]) {
        for (i, numbers) in numbers.into_iter().enumerate() {
            // SAFETY: the caller guarantees NEON; four registers of four floats are the array.
            unsafe { vst1q_f32(out.as_mut_ptr().add(4 * i), numbers) };
        }
    }

    #[inline(always)]
    unsafe fn splat(number: f32) -> [float32x4_t; 4] {
        // SAFETY: the caller guarantees NEON; only registers are touched.
        unsafe { [vdupq_n_f32(number); 4] }
    }

    #[inline(always)]
    unsafe fn mul(a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        from_fn(|i| {
            // SAFETY: the caller guarantees NEON; only registers are touched.
            unsafe { vmulq_f32(a[i], b[i]) }
        })
    }

    #[inline(always)]
    unsafe fn sub(a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        from_fn(|i| {
            // SAFETY: the caller guarantees NEON; only registers are touched.
            unsafe { vsubq_f32(a[i], b[i]) }
        })
    }

    #[inline(always)]
    unsafe fn mul_add(
        a: [float32x4_t; 4],
        b: [float32x4_t; 4],
        c: [float32x4_t; 4],
    ) -> [float32x4_t; 4] {
        from_fn(|i| {
            // SAFETY: the caller guarantees NEON; only registers are touched.
            unsafe { vfmaq_f32(c[i], a[i], b[i]) }
        })
    }

    #[inline(always)]
    unsafe fn mul_sub_from(
        a: [float32x4_t; 4],
        b: [float32x4_t; 4],
        c: [float32x4_t; 4],
    ) -> [float32x4_t; 4] {
        from_fn(|i| {
            // SAFETY: the caller guarantees NEON; only registers are touched.
            unsafe { vfmsq_f32(c[i], a[i], b[i]) }
        })
    }

    #[inline(always)]
    unsafe fn halves(numbers: &[u16; TILE]) -> [float32x4_t; 4] {
        from_fn(|i| {
            // SAFETY: the caller guarantees NEON; four loads of four halves are the array.
            unsafe { widened(vld1_u16(numbers.as_ptr().add(4 * i))) }
        })
    }

    #[inline(always)]
    unsafe fn bytes(numbers: &[u8; TILE]) -> [float32x4_t; 4] {
        // SAFETY: the caller guarantees NEON; one load of 16 bytes is the array.
        unsafe {
            let bytes = vld1q_u8(numbers.as_ptr());
            let [low, high] = [vmovl_u8(vget_low_u8(bytes)), vmovl_high_u8(bytes)];
            [
                vcvtq_f32_u32(vmovl_u16(vget_low_u16(low))),
                vcvtq_f32_u32(vmovl_high_u16(low)),
                vcvtq_f32_u32(vmovl_u16(vget_low_u16(high))),
                vcvtq_f32_u32(vmovl_high_u16(high)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn signed_bytes(numbers: &[u8; TILE]) -> [float32x4_t; 4] {
        // SAFETY: the caller guarantees NEON; one load of 16 bytes is the array.
        unsafe {
            let bytes = vld1q_s8(numbers.as_ptr().cast());
            let [low, high] = [vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes)];
            [
                vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))),
                vcvtq_f32_s32(vmovl_high_s16(low)),
                vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))),
                vcvtq_f32_s32(vmovl_high_s16(high)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn prefetch(line: *const Line) {
        // SAFETY: a hint, which does nothing if the address does not belong to this process.
        unsafe {
            asm!("prfm pldl1keep, [{}]", in(reg) line, options(readonly, nostack, preserves_flags));
        }
    }

    #[inline(always)]
    unsafe fn codes(line: &[u8; LINE]) -> [uint8x16_t; 4] {
        from_fn(|i| {
            // SAFETY: the caller guarantees NEON; four registers of 16 bytes are the line.
            unsafe { vld1q_u8(line.as_ptr().add(16 * i)) }
        })
    }

    #[inline(always)]
    unsafe fn store_codes(codes: [uint8x16_t; 4], line: &mut [u8; LINE]) {
        for (i, codes) in codes.into_iter().enumerate() {
            // SAFETY: the caller guarantees NEON; four registers of 16 bytes are the line.
            unsafe { vst1q_u8(line.as_mut_ptr().add(16 * i), codes) };
        }
    }

    #[inline(always)]
    unsafe fn nibbles(line: &[u8; LINE]) -> [[uint8x16_t; 4]; 2] {
        // SAFETY: the caller guarantees NEON; only `codes` reads, within the array.
        unsafe {
            let both = Self::codes(line);
            let low = vdupq_n_u8(15);
            [
                from_fn(|i| vandq_u8(both[i], low)),
                from_fn(|i| vshrq_n_u8::<4>(both[i])),
            ]
        }
    }

    #[inline(always)]
    unsafe fn with_bits(
        codes: [uint8x16_t; 4],
        bits: [uint8x16_t; 4],
        shift: i32,
        mask: u8,
    ) -> [uint8x16_t; 4] {
        // SAFETY: the caller guarantees NEON; only registers are touched.
        unsafe {
            let (left, mask) = (vdupq_n_s8(-shift as i8), vdupq_n_u8(mask));
            from_fn(|i| vorrq_u8(codes[i], vandq_u8(vshlq_u8(bits[i], left), mask)))
        }
    }

    #[inline(always)]
    unsafe fn code<const PLACE: i32>(codes: [uint8x16_t; 4]) -> [float32x4_t; 4] {
        from_fn(|i| {
            // SAFETY: the caller guarantees NEON; only registers are touched.
            unsafe {
                let codes = vreinterpretq_u32_u8(codes[i]);
                let shifted = match PLACE {
                    0 => codes,
                    1 => vshrq_n_u32::<8>(codes),
                    2 => vshrq_n_u32::<16>(codes),
                    _ => vshrq_n_u32::<24>(codes),
                };
                vcvtq_f32_u32(vandq_u32(shifted, vdupq_n_u32(255)))
            }
        })
    }

    #[inline(always)]
    unsafe fn start(number: i32) -> [int32x4_t; 4] {
        // SAFETY: the caller guarantees NEON; only registers are touched.
        unsafe { [vdupq_n_s32(number); 4] }
    }

    /// The instruction multiplies signed bytes. If codes may be 128 or more, subtract 128 first, and add 128 times
    /// the activations afterwards.
    #[inline(always)]
    unsafe fn dot(
        sums: [int32x4_t; 4],
        codes: [uint8x16_t; 4],
        activations: [i8; 4],
        wide: bool,
    ) -> [int32x4_t; 4] {
        // SAFETY: the caller guarantees dotprod; only registers are touched.
        unsafe {
            let x = i32::from_ne_bytes(bytemuck::must_cast(activations));
            let x = vreinterpretq_s8_s32(vdupq_n_s32(x));
            if !wide {
                return from_fn(|i| dot(sums[i], vreinterpretq_s8_u8(codes[i]), x));
            }
            let half = dot(vdupq_n_s32(0), vdupq_n_s8(64), x);
            let added = vaddq_s32(half, half);
            from_fn(|i| {
                let signed = veorq_u8(codes[i], vdupq_n_u8(128));
                dot(vaddq_s32(sums[i], added), vreinterpretq_s8_u8(signed), x)
            })
        }
    }

    #[inline(always)]
    unsafe fn floats(sums: [int32x4_t; 4]) -> [float32x4_t; 4] {
        from_fn(|i| {
            // SAFETY: the caller guarantees NEON; only registers are touched.
            unsafe { vcvtq_f32_s32(sums[i]) }
        })
    }
}

/// Adds to each sum the products of four signed bytes: `SDOT`, for which the standard library has no
/// stable function.
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn dot(mut sums: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
    // SAFETY: the caller guarantees dotprod; only registers are touched.
    unsafe {
        asm!(
            // The compiler checks this against the features of the surrounding function, which may lack dotprod.
            ".arch_extension dotprod",
            "sdot {0:v}.4s, {1:v}.16b, {2:v}.16b",
            inout(vreg) sums,
            in(vreg) a,
            in(vreg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sums
}

/// Four 16-bit floats to 32 bits: `FCVTL`, for the same reason.
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn widened(halves: uint16x4_t) -> float32x4_t {
    let wide;
    // SAFETY: the caller guarantees NEON; only registers are touched.
    unsafe {
        asm!(
            "fcvtl {0:v}.4s, {1:v}.4h",
            out(vreg) wide,
            in(vreg) halves,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    wide
}

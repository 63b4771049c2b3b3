//! AVX-512 with VNNI: a register holds a tile.

use std::arch::x86_64::*;

use super::Isa;
use crate::kernels::quantized::layout::{LINE, Line, TILE};

pub(in crate::kernels::quantized) struct Avx512Vnni;

#[allow(unsafe_code)]
impl Isa for Avx512Vnni {
    type Floats = __m512;
    type Sums = __m512i;
    type Codes = __m512i;
    const ROWS: usize = 16;
    const EXACT_ROWS: usize = 8;

    #[inline(always)]
    unsafe fn load(numbers: &[f32; TILE]) -> __m512 {
        // SAFETY: the caller guarantees AVX-512; a register of 16 floats is the array.
        unsafe { _mm512_loadu_ps(numbers.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn store(numbers: __m512, out: &mut [f32; TILE]) {
        // SAFETY: the caller guarantees AVX-512; a register of 16 floats is the array.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr(), numbers) }
    }

    #[inline(always)]
    unsafe fn splat(number: f32) -> __m512 {
        // SAFETY: the caller guarantees AVX-512; only registers are touched.
        unsafe { _mm512_set1_ps(number) }
    }

    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller guarantees AVX-512; only registers are touched.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn sub(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller guarantees AVX-512; only registers are touched.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul_add(a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the caller guarantees AVX-512; only registers are touched.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn mul_sub_from(a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the caller guarantees AVX-512; only registers are touched.
        unsafe { _mm512_fnmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn halves(numbers: &[u16; TILE]) -> __m512 {
        // SAFETY: the caller guarantees AVX-512; one load of 16 halves is the array.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(numbers.as_ptr().cast())) }
    }

    #[inline(always)]
    unsafe fn bytes(numbers: &[u8; TILE]) -> __m512 {
        // SAFETY: the caller guarantees AVX-512; one load of 16 bytes is the array.
        unsafe {
            let bytes = _mm_loadu_si128(numbers.as_ptr().cast());
            _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes))
        }
    }

    #[inline(always)]
    unsafe fn signed_bytes(numbers: &[u8; TILE]) -> __m512 {
        // SAFETY: the caller guarantees AVX-512; one load of 16 bytes is the array.
        unsafe {
            let bytes = _mm_loadu_si128(numbers.as_ptr().cast());
            _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))
        }
    }

    #[inline(always)]
    unsafe fn prefetch(line: *const Line) {
        // SAFETY: a hint, which reads nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) }
    }

    #[inline(always)]
    unsafe fn codes(line: &[u8; LINE]) -> __m512i {
        // SAFETY: the caller guarantees AVX-512; a register of 64 bytes is the line.
        unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
    }

    #[inline(always)]
    unsafe fn nibbles(line: &[u8; LINE]) -> [__m512i; 2] {
        // SAFETY: the caller guarantees AVX-512; only `codes` reads, within the array.
        unsafe {
            let low = _mm512_set1_epi8(15);
            let both = Self::codes(line);
            [
                _mm512_and_si512(both, low),
                _mm512_and_si512(_mm512_srli_epi16::<4>(both), low),
            ]
        }
    }

    #[inline(always)]
    unsafe fn store_codes(codes: __m512i, line: &mut [u8; LINE]) {
        // SAFETY: the caller guarantees AVX-512; a register of 64 bytes is the line.
        unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), codes) }
    }

    #[inline(always)]
    unsafe fn with_bits(codes: __m512i, bits: __m512i, shift: i32, mask: u8) -> __m512i {
        // SAFETY: the caller guarantees AVX-512; only registers are touched.
        unsafe {
            let shifted = if shift < 0 {
                _mm512_sll_epi16(bits, _mm_cvtsi32_si128(-shift))
            } else {
                _mm512_srl_epi16(bits, _mm_cvtsi32_si128(shift))
            };
            let masked = _mm512_and_si512(shifted, _mm512_set1_epi8(mask as i8));
            _mm512_or_si512(codes, masked)
        }
    }

    #[inline(always)]
    unsafe fn code<const PLACE: i32>(codes: __m512i) -> __m512 {
        // SAFETY: the caller guarantees AVX-512; only registers are touched.
        unsafe {
            let shifted = match PLACE {
                0 => codes,
                1 => _mm512_srli_epi32::<8>(codes),
                2 => _mm512_srli_epi32::<16>(codes),
                _ => _mm512_srli_epi32::<24>(codes),
            };
            _mm512_cvtepi32_ps(_mm512_and_si512(shifted, _mm512_set1_epi32(255)))
        }
    }

    #[inline(always)]
    unsafe fn start(number: i32) -> __m512i {
        // SAFETY: the caller guarantees AVX-512; only registers are touched.
        unsafe { _mm512_set1_epi32(number) }
    }

    #[inline(always)]
    unsafe fn dot(sums: __m512i, codes: __m512i, activations: [i8; 4], _wide: bool) -> __m512i {
        // SAFETY: the caller guarantees VNNI; only registers are touched.
        unsafe {
            let activations =
                _mm512_set1_epi32(i32::from_ne_bytes(bytemuck::must_cast(activations)));
            _mm512_dpbusd_epi32(sums, codes, activations)
        }
    }

    #[inline(always)]
    unsafe fn floats(sums: __m512i) -> __m512 {
        // SAFETY: the caller guarantees AVX-512; only registers are touched.
        unsafe { _mm512_cvtepi32_ps(sums) }
    }
}

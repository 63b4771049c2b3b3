//! AVX2 with FMA and F16C, and with the 8-bit products of AVX-VNNI if the processor has them: two registers hold a
//! tile.

use std::arch::x86_64::*;

use super::Isa;
use crate::kernels::quantized::layout::{LINE, Line, TILE};

/// AVX2; with AVX-VNNI, if `VNNI`.
pub(in crate::kernels::quantized) struct Avx2<const VNNI: bool>;

#[allow(unsafe_code)]
impl<const VNNI: bool> Isa for Avx2<VNNI> {
    type Floats = [__m256; 2];
    type Sums = [__m256i; 2];
    type Codes = [__m256i; 2];
    const ROWS: usize = 4;
    const EXACT_ROWS: usize = 2;

    #[inline(always)]
    unsafe fn load(numbers: &[f32; TILE]) -> [__m256; 2] {
        // SAFETY: the caller guarantees AVX2; two registers of eight floats are the array.
        unsafe {
            let first = numbers.as_ptr();
            [_mm256_loadu_ps(first), _mm256_loadu_ps(first.add(8))]
        }
    }

    #[inline(always)]
    unsafe fn store(numbers: [__m256; 2], out: &mut [f32; TILE]) {
        // SAFETY: the caller guarantees AVX2; two registers of eight floats are the array.
        unsafe {
            let first = out.as_mut_ptr();
            _mm256_storeu_ps(first, numbers[0]);
            _mm256_storeu_ps(first.add(8), numbers[1]);
        }
    }

    #[inline(always)]
    unsafe fn splat(number: f32) -> [__m256; 2] {
        // SAFETY: the caller guarantees AVX2; only registers are touched.
        unsafe { [_mm256_set1_ps(number); 2] }
    }

    #[inline(always)]
    unsafe fn mul(a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: the caller guarantees AVX2; only registers are touched.
        unsafe { [_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])] }
    }

    #[inline(always)]
    unsafe fn sub(a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: the caller guarantees AVX2; only registers are touched.
        unsafe { [_mm256_sub_ps(a[0], b[0]), _mm256_sub_ps(a[1], b[1])] }
    }

    #[inline(always)]
    unsafe fn mul_add(a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: the caller guarantees FMA; only registers are touched.
        unsafe {
            [
                _mm256_fmadd_ps(a[0], b[0], c[0]),
                _mm256_fmadd_ps(a[1], b[1], c[1]),
            ]
        }
    }

    #[inline(always)]
    unsafe fn mul_sub_from(a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: the caller guarantees FMA; only registers are touched.
        unsafe {
            [
                _mm256_fnmadd_ps(a[0], b[0], c[0]),
                _mm256_fnmadd_ps(a[1], b[1], c[1]),
            ]
        }
    }

    #[inline(always)]
    unsafe fn halves(numbers: &[u16; TILE]) -> [__m256; 2] {
        // SAFETY: the caller guarantees F16C; two loads of eight halves are the array.
        unsafe {
            let first: *const __m128i = numbers.as_ptr().cast();
            [
                _mm256_cvtph_ps(_mm_loadu_si128(first)),
                _mm256_cvtph_ps(_mm_loadu_si128(first.add(1))),
            ]
        }
    }

    #[inline(always)]
    unsafe fn bytes(numbers: &[u8; TILE]) -> [__m256; 2] {
        // SAFETY: the caller guarantees AVX2; one load of 16 bytes is the array.
        unsafe {
            let bytes = _mm_loadu_si128(numbers.as_ptr().cast());
            Self::floats([
                _mm256_cvtepu8_epi32(bytes),
                _mm256_cvtepu8_epi32(_mm_srli_si128::<8>(bytes)),
            ])
        }
    }

    #[inline(always)]
    unsafe fn signed_bytes(numbers: &[u8; TILE]) -> [__m256; 2] {
        // SAFETY: the caller guarantees AVX2; one load of 16 bytes is the array.
        unsafe {
            let bytes = _mm_loadu_si128(numbers.as_ptr().cast());
            Self::floats([
                _mm256_cvtepi8_epi32(bytes),
                _mm256_cvtepi8_epi32(_mm_srli_si128::<8>(bytes)),
            ])
        }
    }

    #[inline(always)]
    unsafe fn prefetch(line: *const Line) {
        // SAFETY: a hint, which reads nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) }
    }

    #[inline(always)]
    unsafe fn codes(line: &[u8; LINE]) -> [__m256i; 2] {
        // SAFETY: the caller guarantees AVX2; two registers of 32 bytes are the line.
        unsafe {
            let first: *const __m256i = line.as_ptr().cast();
            [_mm256_loadu_si256(first), _mm256_loadu_si256(first.add(1))]
        }
    }

    #[inline(always)]
    unsafe fn nibbles(line: &[u8; LINE]) -> [[__m256i; 2]; 2] {
        // SAFETY: the caller guarantees AVX2; only `codes` reads, within the array.
        unsafe {
            let both = Self::codes(line);
            let (first, second) = (halves(both[0]), halves(both[1]));
            [[first[0], second[0]], [first[1], second[1]]]
        }
    }

    #[inline(always)]
    unsafe fn store_codes(codes: [__m256i; 2], line: &mut [u8; LINE]) {
        // SAFETY: the caller guarantees AVX2; two registers of 32 bytes are the line.
        unsafe {
            let first: *mut __m256i = line.as_mut_ptr().cast();
            _mm256_storeu_si256(first, codes[0]);
            _mm256_storeu_si256(first.add(1), codes[1]);
        }
    }

    #[inline(always)]
    unsafe fn with_bits(
        codes: [__m256i; 2],
        bits: [__m256i; 2],
        shift: i32,
        mask: u8,
    ) -> [__m256i; 2] {
        // SAFETY: the caller guarantees AVX2; only registers are touched.
        unsafe {
            [
                with_bits(codes[0], bits[0], shift, mask),
                with_bits(codes[1], bits[1], shift, mask),
            ]
        }
    }

    #[inline(always)]
    unsafe fn code<const PLACE: i32>(codes: [__m256i; 2]) -> [__m256; 2] {
        // SAFETY: the caller guarantees AVX2; only registers are touched.
        unsafe { [code::<PLACE>(codes[0]), code::<PLACE>(codes[1])] }
    }

    #[inline(always)]
    unsafe fn start(number: i32) -> [__m256i; 2] {
        // SAFETY: the caller guarantees AVX2; only registers are touched.
        unsafe { [_mm256_set1_epi32(number); 2] }
    }

    #[inline(always)]
    unsafe fn dot(
        sums: [__m256i; 2],
        codes: [__m256i; 2],
        activations: [i8; 4],
        wide: bool,
    ) -> [__m256i; 2] {
        // SAFETY: the caller guarantees AVX2, and AVX-VNNI where `VNNI` is set; only registers are touched.
        unsafe {
            let x = _mm256_set1_epi32(i32::from_ne_bytes(bytemuck::must_cast(activations)));
            if VNNI {
                return [
                    _mm256_dpbusd_avx_epi32(sums[0], codes[0], x),
                    _mm256_dpbusd_avx_epi32(sums[1], codes[1], x),
                ];
            }
            [
                dot_by_pairs(sums[0], codes[0], x, wide),
                dot_by_pairs(sums[1], codes[1], x, wide),
            ]
        }
    }

    #[inline(always)]
    unsafe fn floats(sums: [__m256i; 2]) -> [__m256; 2] {
        // SAFETY: the caller guarantees AVX2; only registers are touched.
        unsafe { [_mm256_cvtepi32_ps(sums[0]), _mm256_cvtepi32_ps(sums[1])] }
    }
}

/// The low and the high half of each byte.
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn halves(bytes: __m256i) -> [__m256i; 2] {
    // SAFETY: the caller guarantees AVX2; only registers are touched.
    unsafe {
        let low = _mm256_set1_epi8(15);
        [
            _mm256_and_si256(bytes, low),
            _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low),
        ]
    }
}

/// As [`Isa::with_bits`].
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn with_bits(codes: __m256i, bits: __m256i, shift: i32, mask: u8) -> __m256i {
    // SAFETY: the caller guarantees AVX2; only registers are touched.
    unsafe {
        let shifted = if shift < 0 {
            _mm256_sll_epi16(bits, _mm_cvtsi32_si128(-shift))
        } else {
            _mm256_srl_epi16(bits, _mm_cvtsi32_si128(shift))
        };
        _mm256_or_si256(
            codes,
            _mm256_and_si256(shifted, _mm256_set1_epi8(mask as i8)),
        )
    }
}

/// The code at `PLACE` of the four codes of each of eight outputs, as a float.
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn code<const PLACE: i32>(codes: __m256i) -> __m256 {
    // SAFETY: the caller guarantees AVX2; only registers are touched.
    unsafe {
        let shifted = match PLACE {
            0 => codes,
            1 => _mm256_srli_epi32::<8>(codes),
            2 => _mm256_srli_epi32::<16>(codes),
            _ => _mm256_srli_epi32::<24>(codes),
        };
        _mm256_cvtepi32_ps(_mm256_and_si256(shifted, _mm256_set1_epi32(255)))
    }
}

/// Adds products in pairs of 16 bits. The sum of two products with bytes would overflow, so those are multiplied half
/// by half.
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn dot_by_pairs(sums: __m256i, codes: __m256i, x: __m256i, wide: bool) -> __m256i {
    // SAFETY: the caller guarantees AVX2; only registers are touched.
    unsafe {
        let ones = _mm256_set1_epi16(1);
        if wide {
            let [low, high] = halves(codes);
            let low = _mm256_madd_epi16(_mm256_maddubs_epi16(low, x), ones);
            let sixteen = _mm256_set1_epi16(16);
            let high = _mm256_madd_epi16(_mm256_maddubs_epi16(high, x), sixteen);
            _mm256_add_epi32(sums, _mm256_add_epi32(low, high))
        } else {
            let pairs = _mm256_madd_epi16(_mm256_maddubs_epi16(codes, x), ones);
            _mm256_add_epi32(sums, pairs)
        }
    }
}

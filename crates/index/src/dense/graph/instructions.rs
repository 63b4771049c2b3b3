//! Dot products of codes of one byte, by the widest instructions of the processor.
//!
//! They are sums of integers that wrap, exact in any order of addition, so every instruction set
//! gives the same bits.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::sync::OnceLock;

/// Rows that are multiplied at once: a block of the query is loaded once for all of them, and their
/// sums need not wait for one another.
pub(super) const ROWS: usize = 4;

/// The instruction sets that products are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dense) enum InstructionSet {
    /// AVX-512 with products of bytes (VNNI).
    Avx512Vnni,
    /// AVX2 with products of bytes (AVX-VNNI).
    AvxVnni,
    /// AVX2.
    Avx2,
    /// Plain code, as the compiler vectorizes it.
    Plain,
}

impl InstructionSet {
    /// The widest first.
    pub(in crate::dense) const ALL: [Self; 4] =
        [Self::Avx512Vnni, Self::AvxVnni, Self::Avx2, Self::Plain];

    /// The widest that this processor has; in measurements, the one they ask for.
    pub(in crate::dense) fn detected() -> Self {
        static DETECTED: OnceLock<InstructionSet> = OnceLock::new();
        *DETECTED.get_or_init(|| {
            #[cfg(test)]
            if let Some(asked) = crate::dense::tests::measurement::instruction_set() {
                return asked;
            }
            let mut available = Self::ALL.into_iter().filter(|set| set.is_available());
            available.next().unwrap_or(Self::Plain)
        })
    }

    /// Whether this processor has it.
    pub(in crate::dense) fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx512 = has!("avx512f") && has!("avx512bw");
            match self {
                Self::Avx512Vnni => avx512 && has!("avx512vnni") && has!("avx2"),
                Self::AvxVnni => has!("avx2") && has!("avxvnni"),
                Self::Avx2 => has!("avx2"),
                Self::Plain => true,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Self::Plain
        }
    }

    /// The products of the query with each row.
    ///
    /// # Shapes
    /// `query` and each of `rows`: `[dimensions]`. No code is -128, which quantization never gives;
    /// with one, products differ between instruction sets.
    pub(super) fn dots(self, query: &[i8], rows: [&[i8]; ROWS]) -> [i32; ROWS] {
        let length = rows
            .iter()
            .map(|row| row.len())
            .fold(query.len(), usize::min);
        let (query, rows) = (&query[..length], rows.map(|row| &row[..length]));
        // SAFETY: a set comes from `detected` or was found to be available, which is all that the
        // functions require; they read as many codes as the slices have, which are equally long.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        unsafe {
            match self {
                Self::Avx512Vnni => return dots_avx512(query, rows),
                Self::AvxVnni => return dots_avx_vnni(query, rows),
                Self::Avx2 => return dots_avx2(query, rows),
                Self::Plain => {}
            }
        }
        rows.map(|row| dot(query, row))
    }
}

fn dot(one: &[i8], other: &[i8]) -> i32 {
    one.iter()
        .zip(other)
        .map(|(&x, &y)| i32::from(x) * i32::from(y))
        .fold(0, i32::wrapping_add)
}

/// Codes in a register of AVX-512.
#[cfg(target_arch = "x86_64")]
const WIDE: usize = 64;

/// Codes in a register of AVX2.
#[cfg(target_arch = "x86_64")]
const NARROW: usize = 32;

/// One side of VNNI's products is unsigned, so this adds 128 to each code of the rows, and subtracts 128 times the sum
/// of the query's codes afterwards.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2")]
#[allow(unsafe_code)]
fn dots_avx512(query: &[i8], rows: [&[i8]; ROWS]) -> [i32; ROWS] {
    let mut sums = [_mm512_setzero_si512(); ROWS];
    let mut of_query = _mm512_setzero_si512();
    let flip = _mm512_set1_epi8(i8::MIN);
    for start in (0..query.len()).step_by(WIDE) {
        let left = query.len() - start;
        let mask = if left >= WIDE { !0 } else { (1 << left) - 1 };
        // SAFETY: the mask leaves out the codes after the end; rows are as long as the query.
        let load = |from: &[i8]| unsafe { _mm512_maskz_loadu_epi8(mask, from.as_ptr().add(start)) };
        let x = load(query);
        of_query = _mm512_dpbusd_epi32(of_query, flip, x);
        for (sum, row) in sums.iter_mut().zip(rows) {
            *sum = _mm512_dpbusd_epi32(*sum, _mm512_xor_si512(load(row), flip), x);
        }
    }
    let halves = sums.map(|sum| {
        let sum = _mm512_sub_epi32(sum, of_query);
        _mm256_add_epi32(
            _mm512_castsi512_si256(sum),
            _mm512_extracti64x4_epi64::<1>(sum),
        )
    });
    totals(halves)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avxvnni")]
#[allow(unsafe_code)]
fn dots_avx_vnni(query: &[i8], rows: [&[i8]; ROWS]) -> [i32; ROWS] {
    let flip = _mm256_set1_epi8(i8::MIN);
    let mut sums = [_mm256_setzero_si256(); ROWS];
    let mut of_query = _mm256_setzero_si256();
    let (blocks, rest) = query.as_chunks::<NARROW>();
    for (number, block) in blocks.iter().enumerate() {
        let x = load(block);
        of_query = _mm256_dpbusd_avx_epi32(of_query, flip, x);
        for (sum, row) in sums.iter_mut().zip(rows) {
            let row = load(&row.as_chunks::<NARROW>().0[number]);
            *sum = _mm256_dpbusd_avx_epi32(*sum, _mm256_xor_si256(row, flip), x);
        }
    }
    let products = totals(sums.map(|sum| _mm256_sub_epi32(sum, of_query)));
    with_rest(products, rest, rows)
}

/// Multiplies magnitudes, which need no sign, by codes that take over the row's sign; two products
/// together fit into 16 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dots_avx2(query: &[i8], rows: [&[i8]; ROWS]) -> [i32; ROWS] {
    let ones = _mm256_set1_epi16(1);
    let mut sums = [_mm256_setzero_si256(); ROWS];
    let (blocks, rest) = query.as_chunks::<NARROW>();
    for (number, block) in blocks.iter().enumerate() {
        let x = load(block);
        for (sum, row) in sums.iter_mut().zip(rows) {
            let row = load(&row.as_chunks::<NARROW>().0[number]);
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(row), _mm256_sign_epi8(x, row));
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, ones));
        }
    }
    with_rest(totals(sums), rest, rows)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn load(codes: &[i8; NARROW]) -> __m256i {
    // SAFETY: it reads as many bytes as the array has.
    #[allow(unsafe_code)]
    unsafe {
        _mm256_loadu_si256(codes.as_ptr().cast())
    }
}

/// The sum of the lanes of each register.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn totals(sums: [__m256i; ROWS]) -> [i32; ROWS] {
    let [a, b, c, d] = sums;
    let quarters = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    let low = _mm256_castsi256_si128(quarters);
    let total = _mm_add_epi32(low, _mm256_extracti128_si256::<1>(quarters));
    bytemuck::must_cast(total)
}

/// Adds the products of the codes after the last whole register.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn with_rest(mut products: [i32; ROWS], rest: &[i8], rows: [&[i8]; ROWS]) -> [i32; ROWS] {
    if rest.is_empty() {
        return products;
    }
    for (product, row) in products.iter_mut().zip(rows) {
        let row = &row[row.len() - rest.len()..];
        *product = product.wrapping_add(dot(rest, row));
    }
    products
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_instruction_set_gives_the_bits_of_plain_code(
            (query, rows) in (0usize..300).prop_flat_map(|dimensions| {
                let codes = || prop::collection::vec(
                    prop_oneof![-127i8..=127, Just(-127i8), Just(127i8)], dimensions);
                (codes(), [codes(), codes(), codes(), codes()])
            })
        ) {
            let rows = rows.each_ref().map(Vec::as_slice);
            let plain: Vec<i32> = rows
                .iter()
                .map(|row| query.iter().zip(*row).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum())
                .collect();
            for set in InstructionSet::ALL {
                if set.is_available() {
                    prop_assert_eq!(set.dots(&query, rows).to_vec(), plain.clone(), "{:?}", set);
                }
            }
        }
    }

    #[test]
    fn rows_of_other_lengths_are_cut() {
        for set in InstructionSet::ALL
            .into_iter()
            .filter(|set| set.is_available())
        {
            let rows: [&[i8]; ROWS] = [&[1; 40], &[2; 50], &[3; 99], &[4; 41]];
            assert_eq!(set.dots(&[1; 70], rows), [40, 80, 120, 160]);
        }
    }
}

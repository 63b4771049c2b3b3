//! The operations that products need from a processor: vectors with a number for each output of a tile, and exact
//! sums of products of four codes with four activations.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(super) use avx512::Avx512Vnni;
#[cfg(target_arch = "aarch64")]
pub(super) use neon::NeonDotprod;
pub(super) use plain::Plain;

use std::fmt;

use super::layout::{LINE, Line, TILE};

/// The operations of one instruction set. All sets compute the same bits.
///
/// # Safety
/// The processor must have the instructions of the set, as [`InstructionSet::detected`] checks.
#[allow(unsafe_code)] // Vector instructions have no safe form.
pub(super) trait Isa {
    /// A float for each output of a tile.
    type Floats: Copy;
    /// A 32-bit integer for each output of a tile.
    type Sums: Copy;
    /// Four codes for each output of a tile.
    type Codes: Copy;
    /// Rows that are multiplied in integers at once: as many as the registers have room for sums.
    const ROWS: usize;
    /// Rows that are multiplied exactly at once, with two tiles.
    const EXACT_ROWS: usize;

    unsafe fn load(numbers: &[f32; TILE]) -> Self::Floats;
    unsafe fn store(numbers: Self::Floats, out: &mut [f32; TILE]);
    unsafe fn splat(number: f32) -> Self::Floats;
    unsafe fn mul(a: Self::Floats, b: Self::Floats) -> Self::Floats;
    unsafe fn sub(a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// `a * b + c`, rounded once.
    unsafe fn mul_add(a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;
    /// `c - a * b`, rounded once.
    unsafe fn mul_sub_from(a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;

    /// Numbers of 16 bits.
    unsafe fn halves(numbers: &[u16; TILE]) -> Self::Floats;
    unsafe fn bytes(numbers: &[u8; TILE]) -> Self::Floats;
    unsafe fn signed_bytes(numbers: &[u8; TILE]) -> Self::Floats;

    /// Prefetches a line into the first cache, if the address belongs to this process.
    unsafe fn prefetch(line: *const Line);
    unsafe fn codes(line: &[u8; LINE]) -> Self::Codes;
    unsafe fn store_codes(codes: Self::Codes, line: &mut [u8; LINE]);
    /// The low and the high half of each byte.
    unsafe fn nibbles(line: &[u8; LINE]) -> [Self::Codes; 2];
    /// Combines codes with the bits of `bits` under `mask`, shifted to the right, or to the left if `shift` is
    /// negative. Other bits must not move under the mask.
    unsafe fn with_bits(codes: Self::Codes, bits: Self::Codes, shift: i32, mask: u8)
    -> Self::Codes;
    /// The code at `place` of the four codes of each output, as a float.
    unsafe fn code<const PLACE: i32>(codes: Self::Codes) -> Self::Floats;

    /// Sums that start at a number.
    unsafe fn start(number: i32) -> Self::Sums;
    /// Adds the products of four codes with four activations to each sum. Unless `wide`, codes must be less than 64.
    unsafe fn dot(
        sums: Self::Sums,
        codes: Self::Codes,
        activations: [i8; 4],
        wide: bool,
    ) -> Self::Sums;
    unsafe fn floats(sums: Self::Sums) -> Self::Floats;
}

/// Prefetches the lines that follow these by `ahead` lines. A single row is multiplied faster than memory answers,
/// and the processor's own prefetching is too little and too late.
///
/// # Safety
/// As for [`Isa`].
#[inline(always)]
#[allow(unsafe_code)]
pub(super) unsafe fn prefetch<I: Isa>(lines: &[Line], ahead: usize) {
    for line in lines {
        // SAFETY: the caller guarantees the instructions of `I`; the address is only a hint.
        unsafe { I::prefetch(std::ptr::from_ref(line).wrapping_add(ahead)) };
    }
}

/// The instruction sets with kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionSet {
    /// AVX-512 with 8-bit products (VNNI).
    Avx512Vnni,
    /// AVX2 with 8-bit products (AVX-VNNI).
    AvxVnni,
    /// AVX2 with FMA and F16C.
    Avx2,
    /// NEON with 8-bit products (dotprod).
    NeonDotprod,
    /// Plain code, as the compiler vectorizes it.
    Plain,
}

impl InstructionSet {
    /// The widest set of this processor.
    pub fn detected() -> Self {
        let all = [
            Self::Avx512Vnni,
            Self::AvxVnni,
            Self::Avx2,
            Self::NeonDotprod,
        ];
        let widest = all.into_iter().find(|set| set.is_available());
        widest.unwrap_or(Self::Plain)
    }

    /// Whether this processor has the set.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2") && has!("fma") && has!("f16c");
            let avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512vnni");
            match self {
                // These kernels also use AVX2.
                Self::Avx512Vnni => avx2 && avx512,
                Self::AvxVnni => avx2 && has!("avxvnni"),
                Self::Avx2 => avx2,
                Self::NeonDotprod => false,
                Self::Plain => true,
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            let dotprod = || std::arch::is_aarch64_feature_detected!("dotprod");
            self == Self::Plain || self == Self::NeonDotprod && dotprod()
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            self == Self::Plain
        }
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Avx512Vnni => "AVX-512 with VNNI",
            Self::AvxVnni => "AVX-VNNI",
            Self::Avx2 => "AVX2",
            Self::NeonDotprod => "NEON with dotprod",
            Self::Plain => "plain code",
        })
    }
}

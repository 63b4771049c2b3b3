//! The codes of a group in registers, each with four inputs of each output of a tile.

#![allow(unsafe_code)] // Calls of vector instructions; see `Isa`.

use super::isa::Isa;
use super::layout::{Codes, Known, Line};

/// The codes of a group.
///
/// # Safety
/// As for [`Isa`], here and below.
#[inline(always)]
pub(super) unsafe fn of_group<I: Isa, L: Known>(lines: &[Line]) -> [I::Codes; 8] {
    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
    unsafe {
        [
            of_quad::<I, L, 0>(lines),
            of_quad::<I, L, 1>(lines),
            of_quad::<I, L, 2>(lines),
            of_quad::<I, L, 3>(lines),
            of_quad::<I, L, 4>(lines),
            of_quad::<I, L, 5>(lines),
            of_quad::<I, L, 6>(lines),
            of_quad::<I, L, 7>(lines),
        ]
    }
}

/// The codes of inputs `4 * QUAD..4 * QUAD + 4` of a group.
#[inline(always)]
pub(super) unsafe fn of_quad<I: Isa, L: Known, const QUAD: usize>(lines: &[Line]) -> I::Codes {
    let codes = L::LAYOUT.codes;
    let lines = &lines[..codes.lines()];
    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
    unsafe {
        if codes == Codes::Bytes {
            return I::codes(&lines[QUAD].0);
        }
        let nibbles = I::nibbles(&lines[QUAD % 4].0)[QUAD / 4];
        match codes {
            Codes::Nibbles | Codes::Bytes => nibbles,
            Codes::FiveBits => I::with_bits(nibbles, I::codes(&lines[4].0), QUAD as i32 - 4, 0x10),
            Codes::SixBits => {
                let high = I::codes(&lines[4 + QUAD / 4].0);
                I::with_bits(nibbles, high, 2 * (QUAD % 4) as i32 - 4, 0x30)
            }
        }
    }
}

//! The scales and offsets of groups, computed from the headers of blocks.

#![allow(unsafe_code)] // Calls of vector instructions; see `Isa`.

use std::marker::PhantomData;

use super::isa::Isa;
use super::layout::{Known, Line, Scales, TILE};

/// Buffer for the factors of a block as bytes: those of the scales, then those of the offsets, group by group.
pub(super) type Factors = [Line; 4];

/// The header of a block, read once for all of its groups.
pub(super) struct Header<'a, I: Isa, L> {
    numbers: [I::Floats; 2],
    factors: &'a [Line],
    layout: PhantomData<L>,
}

impl<'a, I: Isa, L: Known> Header<'a, I, L> {
    /// # Safety
    /// As for [`Isa`], here and below.
    #[inline(always)]
    pub(super) unsafe fn read(block: &'a [Line], room: &'a mut Factors) -> Self {
        let scales = L::LAYOUT.scales;
        // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
        unsafe {
            let numbers = match scales {
                Scales::WideZero(_) => [I::load(block[0].floats()); 2],
                _ => block[0].halves().each_ref().map(|half| I::halves(half)),
            };
            let factors = match scales {
                Scales::Super => {
                    unpack::<I>(&block[1..4], room);
                    &room[..]
                }
                Scales::Halves => &block[1..5],
                _ => &[],
            };
            Self {
                numbers,
                factors,
                layout: PhantomData,
            }
        }
    }

    /// The scale of a half of a group; in most layouts both halves have the same.
    #[inline(always)]
    pub(super) unsafe fn scale(&self, group: usize, half: usize) -> I::Floats {
        let [first, second] = self.numbers;
        // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
        unsafe {
            match L::LAYOUT.scales {
                Scales::WideZero(_) | Scales::Offset => first,
                Scales::Zero(_) if group == 0 => first,
                Scales::Zero(_) => second,
                Scales::Super => I::mul(first, I::bytes(self.factor(group))),
                Scales::Halves => I::mul(first, I::signed_bytes(self.factor(2 * group + half))),
            }
        }
    }

    /// The offset of a group: stored, or the scale times the code of zero.
    #[inline(always)]
    pub(super) unsafe fn offset(&self, group: usize, scale: I::Floats) -> I::Floats {
        // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
        unsafe {
            match (L::LAYOUT.scales.zero(), L::LAYOUT.scales) {
                (Some(zero), _) => I::mul(scale, I::splat(f32::from(zero))),
                (None, Scales::Super) => I::mul(self.numbers[1], I::bytes(self.factor(8 + group))),
                (None, _) => self.numbers[1],
            }
        }
    }

    #[inline(always)]
    fn factor(&self, place: usize) -> &[u8; TILE] {
        &self.factors[place / 4].bytes()[place % 4]
    }
}

/// The factors of a block of k-quants as bytes.
#[inline(always)]
unsafe fn unpack<I: Isa>(packed: &[Line], room: &mut Factors) {
    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
    unsafe {
        let scales = I::nibbles(&packed[0].0);
        let offsets = I::nibbles(&packed[1].0);
        let high = I::codes(&packed[2].0);
        I::store_codes(I::with_bits(scales[0], high, -4, 0x30), &mut room[0].0);
        I::store_codes(I::with_bits(scales[1], high, -2, 0x30), &mut room[1].0);
        I::store_codes(I::with_bits(offsets[0], high, 0, 0x30), &mut room[2].0);
        I::store_codes(I::with_bits(offsets[1], high, 2, 0x30), &mut room[3].0);
    }
}

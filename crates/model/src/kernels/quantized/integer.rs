//! The integer product of quantized rows with tiles. Every output of every row is computed by the same operations in
//! the same order, however many rows are multiplied at once, so results do not depend on the batch.

#![allow(unsafe_code)] // Calls of vector instructions; see `Isa`.

use std::ops::Range;

use super::activations::Activations;
use super::codes;
use super::isa::{Isa, prefetch};
use super::layout::{Codes, Known, Line, Scales, TILE};
use super::scales::{Factors, Header};
use super::tiles::{Shared, Tiles};

/// How many lines ahead to prefetch: at least as many as are used in the time that memory takes to answer, at most as
/// many as fit into the first cache beside the rest.
const LINES_AHEAD: usize = 192;

/// The initial sums of a group, so that codes count from the code of zero.
///
/// # Shapes
/// Returns one for the two halves of each of `x.groups`; none if groups have offsets.
pub(super) fn starts(scales: Scales, x: &Activations) -> Vec<[i32; 2]> {
    scales.zero().map_or_else(Vec::new, |zero| {
        let of_group = |codes: [i32; 2]| codes.map(|sum| -i32::from(zero) * sum);
        let groups = x.groups.iter();
        groups.map(|group| of_group(group.code_sums)).collect()
    })
}

/// The product of quantized rows, in integers within groups.
///
/// # Safety
/// As for [`Isa`].
#[inline(always)]
pub(super) unsafe fn products<I: Isa, L: Known>(
    tiles: &Tiles<'_>,
    x: &Activations,
    starts: &[[i32; 2]],
    rows: Range<usize>,
    out: Shared<'_>,
) {
    for (index, tile) in tiles.lines.chunks_exact(tiles.tile_lines).enumerate() {
        let mut row = rows.start;
        while row < rows.end {
            let left = rows.end - row;
            let of = OfRows {
                tile,
                x,
                starts,
                row,
            };
            let write = |place: usize, numbers: &[f32; TILE]| {
                tiles.write(out, row + place, index, numbers);
            };
            // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
            unsafe {
                row += match left.min(I::ROWS) {
                    16.. => of_rows::<I, L, 16>(&of, &write),
                    8.. => of_rows::<I, L, 8>(&of, &write),
                    4.. => of_rows::<I, L, 4>(&of, &write),
                    2.. => of_rows::<I, L, 2>(&of, &write),
                    _ => of_rows::<I, L, 1>(&of, &write),
                };
            }
        }
    }
}

/// The operands of the product of one tile with some rows.
struct OfRows<'a> {
    tile: &'a [Line],
    x: &'a Activations,
    starts: &'a [[i32; 2]],
    /// The first of the rows.
    row: usize,
}

/// One tile by `ROWS` rows.
#[inline(always)]
unsafe fn of_rows<I: Isa, L: Known, const ROWS: usize>(
    of: &OfRows<'_>,
    write: &impl Fn(usize, &[f32; TILE]),
) -> usize {
    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
    unsafe {
        let sums = sums::<I, L, ROWS>(of);
        for (place, sums) in sums.into_iter().enumerate() {
            let mut numbers = [0.0; TILE];
            I::store(sums, &mut numbers);
            write(place, &numbers);
        }
    }
    ROWS
}

#[inline(always)]
unsafe fn sums<I: Isa, L: Known, const ROWS: usize>(of: &OfRows<'_>) -> [I::Floats; ROWS] {
    let (layout, x) = (L::LAYOUT, of.x);
    let (six_bits, wide) = (layout.codes == Codes::SixBits, layout.codes == Codes::Bytes);
    let offsets = layout.scales.zero().is_none();
    let (mut at, stride) = x.place(of.row);
    let mut factors: Factors = bytemuck::Zeroable::zeroed();
    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
    let (mut sums, mut group) = unsafe { ([I::splat(0.0); ROWS], 0) };
    for block in of.tile.chunks_exact(layout.block_lines()) {
        // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
        let header = unsafe {
            prefetch::<I>(&block[..layout.scales.lines()], LINES_AHEAD);
            Header::<I, L>::read(block, &mut factors)
        };
        for place in 0..layout.scales.groups() {
            // A block of several groups may extend past the end of the rows.
            if group == x.row_groups {
                return sums;
            }
            let lines = &block[layout.codes_of(place)..][..layout.codes.lines()];
            // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
            unsafe {
                prefetch::<I>(lines, LINES_AHEAD);
                let weights = codes::of_group::<I, L>(lines);
                let scales = [header.scale(place, 0), header.scale(place, 1)];
                let offset = header.offset(place, scales[0]);
                let codes = first_of::<_, ROWS>(&x.codes[at..]);
                let groups = first_of::<_, ROWS>(&x.groups[at..]);
                let starts = if offsets {
                    &[[0, 0]; ROWS]
                } else {
                    first_of::<_, ROWS>(&of.starts[at..])
                };
                for (place, sum) in sums.iter_mut().enumerate() {
                    let (quads, _) = codes[place].as_chunks::<4>();
                    let activations = &groups[place];
                    let scale = I::splat(activations.scale);
                    let [start, other] = starts[place];
                    if six_bits {
                        let first = dots::<I>(start, &weights[..4], &quads[..4], wide);
                        let second = dots::<I>(other, &weights[4..], &quads[4..], wide);
                        let products = I::mul(I::floats(first), scales[0]);
                        let products = I::mul_add(I::floats(second), scales[1], products);
                        *sum = I::mul_add(products, scale, *sum);
                    } else {
                        let dot = dots::<I>(start + other, &weights, quads, wide);
                        let products = I::mul(I::floats(dot), scale);
                        *sum = I::mul_add(products, scales[0], *sum);
                    }
                    if offsets {
                        *sum = I::mul_sub_from(offset, I::splat(activations.sum), *sum);
                    }
                }
            }
            group += 1;
            at += stride;
        }
    }
    sums
}

/// The first `N` elements.
#[inline(always)]
fn first_of<T, const N: usize>(all: &[T]) -> &[T; N] {
    let (first, _) = all.as_chunks::<N>();
    &first[0]
}

/// A number plus the products of codes with activations, for each output.
#[inline(always)]
unsafe fn dots<I: Isa>(
    start: i32,
    weights: &[I::Codes],
    activations: &[[i8; 4]],
    wide: bool,
) -> I::Sums {
    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
    unsafe {
        let mut sums = I::start(start);
        for (&weights, &activations) in weights.iter().zip(activations) {
            sums = I::dot(sums, weights, activations, wide);
        }
        sums
    }
}

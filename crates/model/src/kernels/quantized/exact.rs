//! The product in 32 bits of rows with the dequantized weights of tiles. Every output of every row is computed by the
//! same operations in the same order, however many rows are multiplied at once, so results do not depend on the
//! batch.

#![allow(unsafe_code)] // Calls of vector instructions; see `Isa`.

use std::ops::Range;

use super::codes;
use super::isa::Isa;
use super::layout::{GROUP, Known, Line, TILE};
use super::scales::{Factors, Header};
use super::tiles::{Shared, Tiles};

/// Inputs whose dequantized weights stay in the first cache.
const PANEL: usize = 4 * GROUP;

/// Pairs of tiles that are multiplied with the same inputs, while these are in the cache.
const PANEL_PAIRS: usize = 4;

/// The product of rows in 32 bits with the dequantized weights.
///
/// # Shapes
/// `x`: `[all rows, inputs]`.
///
/// # Safety
/// As for [`Isa`].
#[inline(always)]
pub(super) unsafe fn products<I: Isa, L: Known>(
    tiles: &Tiles<'_>,
    x: &[f32],
    inputs: usize,
    rows: Range<usize>,
    out: Shared<'_>,
) {
    let x = &x[rows.start * inputs..rows.end * inputs];
    let mut panel = [[[0.0; TILE]; 2]; PANEL];
    let mut factors: Factors = bytemuck::Zeroable::zeroed();
    // The groups of a panel in the same block.
    let of_block = L::LAYOUT.scales.groups().min(PANEL / GROUP);
    let mut sums = vec![[[0.0; TILE]; 2]; PANEL_PAIRS * rows.len()];
    let pair_lines = 2 * tiles.tile_lines;
    for (turn, pairs) in tiles.lines.chunks(PANEL_PAIRS * pair_lines).enumerate() {
        sums.fill([[0.0; TILE]; 2]);
        for first in (0..inputs).step_by(PANEL) {
            let panel = &mut panel[..PANEL.min(inputs - first)];
            let pairs = pairs.chunks(pair_lines);
            for (pair, sums) in pairs.zip(sums.chunks_exact_mut(rows.len())) {
                for (half, tile) in pair.chunks_exact(tiles.tile_lines).enumerate() {
                    let mut group = first / GROUP;
                    for panel in panel.chunks_mut(GROUP * of_block) {
                        // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
                        unsafe {
                            dequantize::<I, L>(tile, group, half, panel, &mut factors);
                        };
                        group += of_block;
                    }
                }
                let mut row = 0;
                while row < rows.len() {
                    let (x, sums) = (&x[row * inputs + first..], &mut sums[row..]);
                    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
                    unsafe {
                        row += match (rows.len() - row).min(I::EXACT_ROWS) {
                            8.. => exact_rows::<I, 8>(panel, x, inputs, sums),
                            4.. => exact_rows::<I, 4>(panel, x, inputs, sums),
                            2.. => exact_rows::<I, 2>(panel, x, inputs, sums),
                            _ => exact_rows::<I, 1>(panel, x, inputs, sums),
                        };
                    }
                }
            }
        }
        let first = turn * 2 * PANEL_PAIRS;
        for tile in 0..pairs.len() / tiles.tile_lines {
            let sums = &sums[tile / 2 * rows.len()..][..rows.len()];
            for (row, sums) in rows.clone().zip(sums) {
                tiles.write(out, row, first + tile, &sums[tile % 2]);
            }
        }
    }
}

/// Adds the products of `ROWS` rows with a panel to their sums.
///
/// # Shapes
/// `panel`: `[width, 2, TILE]`; row `i` starts at `x[i * stride]`.
#[inline(always)]
unsafe fn exact_rows<I: Isa, const ROWS: usize>(
    panel: &[[[f32; TILE]; 2]],
    x: &[f32],
    stride: usize,
    sums: &mut [[[f32; TILE]; 2]],
) -> usize {
    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
    unsafe {
        let mut totals = [[I::splat(0.0); 2]; ROWS];
        for (total, sums) in totals.iter_mut().zip(&*sums) {
            *total = [I::load(&sums[0]), I::load(&sums[1])];
        }
        let mut rows = [x; ROWS];
        for (place, row) in rows.iter_mut().enumerate() {
            *row = &x[place * stride..][..panel.len()];
        }
        for (input, weights) in panel.iter().enumerate() {
            let weights = [I::load(&weights[0]), I::load(&weights[1])];
            for (total, row) in totals.iter_mut().zip(rows) {
                let x = I::splat(row[input]);
                total[0] = I::mul_add(weights[0], x, total[0]);
                total[1] = I::mul_add(weights[1], x, total[1]);
            }
        }
        for (total, sums) in totals.into_iter().zip(sums) {
            I::store(total[0], &mut sums[0]);
            I::store(total[1], &mut sums[1]);
        }
    }
    ROWS
}

/// Writes the weights of groups of one block (of the last group perhaps only the first inputs) as one side of a
/// panel.
///
/// # Shapes
/// `out`: `[inputs, 2, TILE]`.
#[inline(always)]
unsafe fn dequantize<I: Isa, L: Known>(
    tile: &[Line],
    first: usize,
    side: usize,
    out: &mut [[[f32; TILE]; 2]],
    factors: &mut Factors,
) {
    let layout = L::LAYOUT;
    let groups = layout.scales.groups();
    let block = &tile[first / groups * layout.block_lines()..][..layout.block_lines()];
    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
    unsafe {
        let header = Header::<I, L>::read(block, factors);
        for (ahead, out) in out.chunks_mut(GROUP).enumerate() {
            let group = first % groups + ahead;
            let lines = &block[layout.codes_of(group)..][..layout.codes.lines()];
            let codes = codes::of_group::<I, L>(lines);
            for (half, out) in out.chunks_mut(GROUP / 2).enumerate() {
                let scale = header.scale(group, half);
                let offset = header.offset(group, scale);
                let (whole, rest) = out.as_chunks_mut::<4>();
                for (&codes, out) in codes[4 * half..][..4].iter().zip(&mut *whole) {
                    dequantize_quad::<I>(codes, scale, offset, side, out);
                }
                if !rest.is_empty() {
                    let mut quad = [[[0.0; TILE]; 2]; 4];
                    let codes = codes[4 * half + whole.len()];
                    dequantize_quad::<I>(codes, scale, offset, side, &mut quad);
                    for (out, quad) in rest.iter_mut().zip(quad) {
                        out[side] = quad[side];
                    }
                }
            }
        }
    }
}

/// Writes the weights of four inputs.
#[inline(always)]
unsafe fn dequantize_quad<I: Isa>(
    codes: I::Codes,
    scale: I::Floats,
    offset: I::Floats,
    side: usize,
    out: &mut [[[f32; TILE]; 2]; 4],
) {
    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
    unsafe {
        I::store(weight::<I, 0>(codes, scale, offset), &mut out[0][side]);
        I::store(weight::<I, 1>(codes, scale, offset), &mut out[1][side]);
        I::store(weight::<I, 2>(codes, scale, offset), &mut out[2][side]);
        I::store(weight::<I, 3>(codes, scale, offset), &mut out[3][side]);
    }
}

/// Rounds after each operation, as the reference implementations do.
#[inline(always)]
pub(super) unsafe fn weight<I: Isa, const PLACE: i32>(
    codes: I::Codes,
    scale: I::Floats,
    offset: I::Floats,
) -> I::Floats {
    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
    unsafe { I::sub(I::mul(scale, I::code::<PLACE>(codes)), offset) }
}

//! Products of rows with tiles: in integers, and exactly.
//!
//! Every output of every row is computed by the same operations in the same order, however many rows
//! are multiplied at once, so results do not depend on the batch.

#![allow(unsafe_code)] // Calls of vector instructions; see `Isa`.

use std::ops::Range;

use super::activations::Activations;
use super::isa::Isa;
use super::layout::{Codes, GROUP, Layout, Line, Scales, TILE, scales};

/// Inputs whose dequantized weights stay in the first cache.
const PANEL: usize = 4 * GROUP;

/// Pairs of tiles that are multiplied with the same inputs, while these are in the cache.
const PANEL_PAIRS: usize = 4;

/// Where a task writes: some columns of a matrix of which others are written at the same time.
pub(super) trait Columns {
    /// The outputs of a tile in a row; fewer at the end of the matrix.
    fn write(&mut self, row: usize, tile: usize, numbers: &[f32; TILE]);
}

/// The tiles of a task.
pub(super) struct Tiles<'a> {
    pub(super) layout: Layout,
    /// `[tiles, lines of a tile]`
    pub(super) lines: &'a [Line],
    pub(super) tile_lines: usize,
    /// The index of the first one in the matrix.
    pub(super) first: usize,
}

/// The product of quantized rows, in integers within groups.
///
/// # Safety
/// As for [`Isa`].
#[inline(always)]
pub(super) unsafe fn integer<I: Isa>(
    tiles: &Tiles<'_>,
    x: &Activations,
    rows: Range<usize>,
    out: &mut impl Columns,
) {
    for (index, tile) in tiles.lines.chunks_exact(tiles.tile_lines).enumerate() {
        let index = tiles.first + index;
        let mut row = rows.start;
        while row < rows.end {
            let left = rows.end - row;
            unsafe {
                row += match left.min(I::ROWS) {
                    8.. => integer_rows::<I, 8>(tiles.layout, tile, x, row, index, out),
                    4.. => integer_rows::<I, 4>(tiles.layout, tile, x, row, index, out),
                    2.. => integer_rows::<I, 2>(tiles.layout, tile, x, row, index, out),
                    _ => integer_rows::<I, 1>(tiles.layout, tile, x, row, index, out),
                };
            }
        }
    }
}

#[inline(always)]
unsafe fn integer_rows<I: Isa, const ROWS: usize>(
    layout: Layout,
    tile: &[Line],
    x: &Activations,
    row: usize,
    index: usize,
    out: &mut impl Columns,
) -> usize {
    unsafe {
        let sums = match (layout.codes, layout.scales) {
            (Codes::Nibbles, _) => integer_tile::<I, ROWS, false, false>(layout, tile, x, row),
            (Codes::Bytes, Scales::Halves) => {
                integer_tile::<I, ROWS, true, true>(layout, tile, x, row)
            }
            (Codes::Bytes, _) => integer_tile::<I, ROWS, true, false>(layout, tile, x, row),
        };
        for (place, sums) in sums.into_iter().enumerate() {
            let mut numbers = [0.0; TILE];
            I::store(sums, &mut numbers);
            out.write(row + place, index, &numbers);
        }
    }
    ROWS
}

/// One tile by `ROWS` rows.
#[inline(always)]
unsafe fn integer_tile<I: Isa, const ROWS: usize, const WIDE: bool, const HALVES: bool>(
    layout: Layout,
    tile: &[Line],
    x: &Activations,
    row: usize,
) -> [I::Floats; ROWS] {
    let (codes, _) = x.codes.as_chunks::<GROUP>();
    let first = row * x.row_groups;
    let (mut sums, mut group) = unsafe { ([I::splat(0.0); ROWS], 0) };
    for block in tile.chunks_exact(layout.block_lines()) {
        for place in 0..layout.scales.groups() {
            // A block of several groups may reach past the end of the rows.
            if group == x.row_groups {
                return sums;
            }
            let lines = &block[layout.codes_of(place)..][..layout.codes.lines()];
            unsafe {
                let weights = group_codes::<I, WIDE>(lines);
                let (scale, offset) = scales(layout.scales, block, place, 0);
                let (scale, offset) = (I::load(&scale), I::load(&offset));
                let (scale_2, offset_2) = if HALVES {
                    let (scale, offset) = scales(layout.scales, block, place, 1);
                    (I::load(&scale), I::load(&offset))
                } else {
                    (scale, offset)
                };
                for (place, sum) in sums.iter_mut().enumerate() {
                    let at = first + place * x.row_groups + group;
                    let (quads, _) = codes[at].as_chunks::<4>();
                    let of = &x.groups[at];
                    let activation = I::splat(of.scale);
                    let mut dot = I::zero();
                    for quad in 0..4 {
                        dot = I::dot::<WIDE>(dot, weights[quad], quads[quad]);
                    }
                    if HALVES {
                        let products = I::mul(I::floats(dot), activation);
                        *sum = I::mul_add(products, scale, *sum);
                        *sum = I::mul_sub_from(offset, I::splat(of.half_sums[0]), *sum);
                        dot = I::zero();
                    }
                    for quad in 4..8 {
                        dot = I::dot::<WIDE>(dot, weights[quad], quads[quad]);
                    }
                    let products = I::mul(I::floats(dot), activation);
                    *sum = I::mul_add(products, scale_2, *sum);
                    let total = if HALVES { of.half_sums[1] } else { of.sum };
                    *sum = I::mul_sub_from(offset_2, I::splat(total), *sum);
                }
            }
            group += 1;
        }
    }
    sums
}

/// The codes of a group, by four inputs.
#[inline(always)]
unsafe fn group_codes<I: Isa, const WIDE: bool>(lines: &[Line]) -> [I::Codes; 8] {
    unsafe {
        if WIDE {
            [
                I::codes(&lines[0].0),
                I::codes(&lines[1].0),
                I::codes(&lines[2].0),
                I::codes(&lines[3].0),
                I::codes(&lines[4].0),
                I::codes(&lines[5].0),
                I::codes(&lines[6].0),
                I::codes(&lines[7].0),
            ]
        } else {
            let [a, e] = I::nibbles(&lines[0].0);
            let [b, f] = I::nibbles(&lines[1].0);
            let [c, g] = I::nibbles(&lines[2].0);
            let [d, h] = I::nibbles(&lines[3].0);
            [a, b, c, d, e, f, g, h]
        }
    }
}

/// The product of rows in 32 bits with the dequantized weights.
///
/// # Shapes
/// `x`: `[all rows, inputs]`.
///
/// # Safety
/// As for [`Isa`].
#[inline(always)]
pub(super) unsafe fn exact<I: Isa>(
    tiles: &Tiles<'_>,
    x: &[f32],
    inputs: usize,
    rows: Range<usize>,
    out: &mut impl Columns,
) {
    let x = &x[rows.start * inputs..rows.end * inputs];
    let mut panel = [[[0.0; TILE]; 2]; PANEL];
    let mut sums = vec![[[0.0; TILE]; 2]; PANEL_PAIRS * rows.len()];
    let pair_lines = 2 * tiles.tile_lines;
    for (turn, pairs) in tiles.lines.chunks(PANEL_PAIRS * pair_lines).enumerate() {
        sums.fill([[0.0; TILE]; 2]);
        for first in (0..inputs).step_by(PANEL) {
            let panel = &mut panel[..PANEL.min(inputs - first)];
            let pairs = pairs.chunks(pair_lines);
            for (pair, sums) in pairs.zip(sums.chunks_exact_mut(rows.len())) {
                for (half, tile) in pair.chunks_exact(tiles.tile_lines).enumerate() {
                    for (group, panel) in panel.chunks_mut(GROUP).enumerate() {
                        let group = first / GROUP + group;
                        unsafe { dequantize::<I>(tiles.layout, tile, group, half, panel) };
                    }
                }
                let mut row = 0;
                while row < rows.len() {
                    let (x, sums) = (&x[row * inputs + first..], &mut sums[row..]);
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
        let first = tiles.first + turn * 2 * PANEL_PAIRS;
        for tile in 0..pairs.len() / tiles.tile_lines {
            let sums = &sums[tile / 2 * rows.len()..][..rows.len()];
            for (row, sums) in rows.clone().zip(sums) {
                out.write(row, first + tile, &sums[tile % 2]);
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

/// Writes the weights of a group of inputs, or of the first ones of it, as one half of a panel.
///
/// # Shapes
/// `out`: `[GROUP or fewer, 2, TILE]`.
#[inline(always)]
unsafe fn dequantize<I: Isa>(
    layout: Layout,
    tile: &[Line],
    group: usize,
    side: usize,
    out: &mut [[[f32; TILE]; 2]],
) {
    let groups = layout.scales.groups();
    let block = &tile[group / groups * layout.block_lines()..][..layout.block_lines()];
    let lines = &block[layout.codes_of(group % groups)..][..layout.codes.lines()];
    unsafe {
        let codes = match layout.codes {
            Codes::Nibbles => group_codes::<I, false>(lines),
            Codes::Bytes => group_codes::<I, true>(lines),
        };
        for (half, out) in out.chunks_mut(GROUP / 2).enumerate() {
            let (scale, offset) = scales(layout.scales, block, group % groups, half);
            let (scale, offset) = (I::load(&scale), I::load(&offset));
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

/// Writes the weights of four inputs.
#[inline(always)]
unsafe fn dequantize_quad<I: Isa>(
    codes: I::Codes,
    scale: I::Floats,
    offset: I::Floats,
    side: usize,
    out: &mut [[[f32; TILE]; 2]; 4],
) {
    unsafe {
        I::store(weight::<I, 0>(codes, scale, offset), &mut out[0][side]);
        I::store(weight::<I, 1>(codes, scale, offset), &mut out[1][side]);
        I::store(weight::<I, 2>(codes, scale, offset), &mut out[2][side]);
        I::store(weight::<I, 3>(codes, scale, offset), &mut out[3][side]);
    }
}

/// Rounded after each operation, as those who wrote the file compute it.
#[inline(always)]
unsafe fn weight<I: Isa, const PLACE: i32>(
    codes: I::Codes,
    scale: I::Floats,
    offset: I::Floats,
) -> I::Floats {
    unsafe { I::sub(I::mul(scale, I::code::<PLACE>(codes)), offset) }
}

//! Products of rows with tiles: in integers, and exactly.
//!
//! Every output of every row is computed by the same operations in the same order, however many rows
//! are multiplied at once, so results do not depend on the batch.

#![allow(unsafe_code)] // Calls of vector instructions; see `Isa`.

use std::ops::Range;

use super::activations::Activations;
use super::isa::Isa;
use super::layout::{Codes, GROUP, Layout, Line, Scales, TILE};
use super::scales::{Factors, Header};

/// Inputs whose dequantized weights stay in the first cache.
const PANEL: usize = 4 * GROUP;

/// Pairs of tiles that are multiplied with the same inputs, while these are in the cache.
const PANEL_PAIRS: usize = 4;

/// Where tasks write, each to some columns of the same matrix.
pub(super) trait Columns {
    /// Writes to a row from a column on.
    fn write(&mut self, row: usize, column: usize, numbers: &[f32]);
}

/// The tiles of a task.
pub(super) struct Tiles<'a> {
    pub(super) layout: Layout,
    /// `[tiles, lines of a tile]`
    pub(super) lines: &'a [Line],
    pub(super) tile_lines: usize,
    /// From where their outputs go to where those of the matrix end, of which the last tile may have
    /// more than there are.
    pub(super) columns: Range<usize>,
}

impl Tiles<'_> {
    /// Writes the outputs of a tile for a row.
    #[inline(always)]
    fn write(&self, out: &mut impl Columns, row: usize, tile: usize, numbers: &[f32; TILE]) {
        let column = self.columns.start + tile * TILE;
        let count = self.columns.end.saturating_sub(column).min(TILE);
        out.write(row, column, &numbers[..count]);
    }
}

/// Where the sums of a group start, so that codes count from the one of zero.
///
/// # Shapes
/// Returns one for the two halves of each of `x.groups`; none where groups have offsets.
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
pub(super) unsafe fn integer<I: Isa>(
    tiles: &Tiles<'_>,
    x: &Activations,
    starts: &[[i32; 2]],
    rows: Range<usize>,
    out: &mut impl Columns,
) {
    for (index, tile) in tiles.lines.chunks_exact(tiles.tile_lines).enumerate() {
        let mut row = rows.start;
        while row < rows.end {
            let left = rows.end - row;
            let of = OfRows {
                layout: tiles.layout,
                tile,
                x,
                starts,
                row,
            };
            let mut write = |place: usize, numbers: &[f32; TILE]| {
                tiles.write(out, row + place, index, numbers);
            };
            unsafe {
                row += match left.min(I::ROWS) {
                    16.. => integer_rows::<I, 16>(&of, &mut write),
                    8.. => integer_rows::<I, 8>(&of, &mut write),
                    4.. => integer_rows::<I, 4>(&of, &mut write),
                    2.. => integer_rows::<I, 2>(&of, &mut write),
                    _ => integer_rows::<I, 1>(&of, &mut write),
                };
            }
        }
    }
}

/// What the product of one tile and some rows is of.
struct OfRows<'a> {
    layout: Layout,
    tile: &'a [Line],
    x: &'a Activations,
    starts: &'a [[i32; 2]],
    /// The first of the rows.
    row: usize,
}

#[inline(always)]
unsafe fn integer_rows<I: Isa, const ROWS: usize>(
    of: &OfRows<'_>,
    write: &mut impl FnMut(usize, &[f32; TILE]),
) -> usize {
    unsafe {
        let offset = of.layout.scales.zero().is_none();
        let sums = match (of.layout.codes, offset) {
            (Codes::Nibbles, true) => integer_tile::<I, ROWS, 4, true>(of),
            (Codes::Nibbles, false) => integer_tile::<I, ROWS, 4, false>(of),
            (Codes::FiveBits, true) => integer_tile::<I, ROWS, 5, true>(of),
            (Codes::FiveBits, false) => integer_tile::<I, ROWS, 5, false>(of),
            (Codes::SixBits, _) => integer_tile::<I, ROWS, 6, false>(of),
            (Codes::Bytes, _) => integer_tile::<I, ROWS, 8, false>(of),
        };
        for (place, sums) in sums.into_iter().enumerate() {
            let mut numbers = [0.0; TILE];
            I::store(sums, &mut numbers);
            write(place, &numbers);
        }
    }
    ROWS
}

/// One tile by `ROWS` rows. With `OFFSETS`, each group has an offset of its own; six bits have a scale for
/// each half of a group.
#[inline(always)]
unsafe fn integer_tile<I: Isa, const ROWS: usize, const BITS: usize, const OFFSETS: bool>(
    of: &OfRows<'_>,
) -> [I::Floats; ROWS] {
    let (layout, x) = (of.layout, of.x);
    let (mut at, stride) = x.place(of.row);
    let mut factors: Factors = bytemuck::Zeroable::zeroed();
    let (mut sums, mut group) = unsafe { ([I::splat(0.0); ROWS], 0) };
    for block in of.tile.chunks_exact(layout.block_lines()) {
        let header = unsafe { Header::<I>::read(layout.scales, block, &mut factors) };
        for place in 0..layout.scales.groups() {
            // A block of several groups may reach past the end of the rows.
            if group == x.row_groups {
                return sums;
            }
            let lines = &block[layout.codes_of(place)..][..layout.codes.lines()];
            unsafe {
                let weights = group_codes::<I, BITS>(lines);
                let scales = [header.scale(place, 0), header.scale(place, 1)];
                let offset = header.offset(place, scales[0]);
                let codes = first_of::<_, ROWS>(&x.codes[at..]);
                let groups = first_of::<_, ROWS>(&x.groups[at..]);
                let starts = if OFFSETS {
                    &[[0, 0]; ROWS]
                } else {
                    first_of::<_, ROWS>(&of.starts[at..])
                };
                for (place, sum) in sums.iter_mut().enumerate() {
                    let (quads, _) = codes[place].as_chunks::<4>();
                    let activations = &groups[place];
                    let scale = I::splat(activations.scale);
                    let [start, other] = starts[place];
                    if BITS == 6 {
                        let first = dots::<I, BITS>(start, &weights[..4], &quads[..4]);
                        let second = dots::<I, BITS>(other, &weights[4..], &quads[4..]);
                        let products = I::mul(I::floats(first), scales[0]);
                        let products = I::mul_add(I::floats(second), scales[1], products);
                        *sum = I::mul_add(products, scale, *sum);
                    } else {
                        let dot = dots::<I, BITS>(start + other, &weights, quads);
                        let products = I::mul(I::floats(dot), scale);
                        *sum = I::mul_add(products, scales[0], *sum);
                    }
                    if OFFSETS {
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

/// The first `N` of more.
#[inline(always)]
fn first_of<T, const N: usize>(all: &[T]) -> &[T; N] {
    let (first, _) = all.as_chunks::<N>();
    &first[0]
}

/// A number plus the products of codes with activations, for each output.
#[inline(always)]
unsafe fn dots<I: Isa, const BITS: usize>(
    start: i32,
    weights: &[I::Codes],
    activations: &[[i8; 4]],
) -> I::Sums {
    unsafe {
        let mut sums = I::start(start);
        for (&weights, &activations) in weights.iter().zip(activations) {
            sums = I::dot(sums, weights, activations, BITS == 8);
        }
        sums
    }
}

/// The codes of a group, by four inputs.
#[inline(always)]
unsafe fn group_codes<I: Isa, const BITS: usize>(lines: &[Line]) -> [I::Codes; 8] {
    unsafe {
        if BITS == 8 {
            return [
                I::codes(&lines[0].0),
                I::codes(&lines[1].0),
                I::codes(&lines[2].0),
                I::codes(&lines[3].0),
                I::codes(&lines[4].0),
                I::codes(&lines[5].0),
                I::codes(&lines[6].0),
                I::codes(&lines[7].0),
            ];
        }
        let [a, e] = I::nibbles(&lines[0].0);
        let [b, f] = I::nibbles(&lines[1].0);
        let [c, g] = I::nibbles(&lines[2].0);
        let [d, h] = I::nibbles(&lines[3].0);
        if BITS == 5 {
            let high = I::codes(&lines[4].0);
            return [
                I::with_bits(a, high, -4, 0x10),
                I::with_bits(b, high, -3, 0x10),
                I::with_bits(c, high, -2, 0x10),
                I::with_bits(d, high, -1, 0x10),
                I::with_bits(e, high, 0, 0x10),
                I::with_bits(f, high, 1, 0x10),
                I::with_bits(g, high, 2, 0x10),
                I::with_bits(h, high, 3, 0x10),
            ];
        }
        if BITS == 6 {
            let (first, second) = (I::codes(&lines[4].0), I::codes(&lines[5].0));
            return [
                I::with_bits(a, first, -4, 0x30),
                I::with_bits(b, first, -2, 0x30),
                I::with_bits(c, first, 0, 0x30),
                I::with_bits(d, first, 2, 0x30),
                I::with_bits(e, second, -4, 0x30),
                I::with_bits(f, second, -2, 0x30),
                I::with_bits(g, second, 0, 0x30),
                I::with_bits(h, second, 2, 0x30),
            ];
        }
        [a, b, c, d, e, f, g, h]
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
    let mut factors: Factors = bytemuck::Zeroable::zeroed();
    // Groups of a panel that are of the same block.
    let of_block = tiles.layout.scales.groups().min(PANEL / GROUP);
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
                        unsafe {
                            dequantize::<I>(tiles.layout, tile, group, half, panel, &mut factors);
                        };
                        group += of_block;
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

/// Writes the weights of groups of the same block, of the last one perhaps the first inputs only, as one
/// side of a panel.
///
/// # Shapes
/// `out`: `[inputs, 2, TILE]`.
#[inline(always)]
unsafe fn dequantize<I: Isa>(
    layout: Layout,
    tile: &[Line],
    first: usize,
    side: usize,
    out: &mut [[[f32; TILE]; 2]],
    factors: &mut Factors,
) {
    let groups = layout.scales.groups();
    let block = &tile[first / groups * layout.block_lines()..][..layout.block_lines()];
    unsafe {
        let header = Header::<I>::read(layout.scales, block, factors);
        for (ahead, out) in out.chunks_mut(GROUP).enumerate() {
            let group = first % groups + ahead;
            let lines = &block[layout.codes_of(group)..][..layout.codes.lines()];
            let codes = match layout.codes {
                Codes::Nibbles => group_codes::<I, 4>(lines),
                Codes::FiveBits => group_codes::<I, 5>(lines),
                Codes::SixBits => group_codes::<I, 6>(lines),
                Codes::Bytes => group_codes::<I, 8>(lines),
            };
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

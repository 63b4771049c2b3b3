//! The product of a single row in 32 bits: weights are dequantized as they are multiplied, and never stored. Each
//! output is computed by the same operations in the same order as with more rows.

#![allow(unsafe_code)] // Calls of vector instructions; see `Isa`.

use super::codes;
use super::exact::weight;
use super::isa::{Isa, prefetch};
use super::layout::{GROUP, Known, Line, SUPER_GROUPS, TILE};
use super::scales::{Factors, Header};
use super::tiles::{Shared, Tiles};

/// Tiles that are multiplied at once, since each addition to an output waits for the previous one.
const TILES: usize = 4;

/// How many lines ahead to prefetch in each of these tiles.
const LINES_AHEAD: usize = 48;

/// The product of a row in 32 bits with the dequantized weights.
///
/// # Shapes
/// `x`: `[inputs]`.
///
/// # Safety
/// As for [`Isa`].
#[inline(always)]
pub(super) unsafe fn products<I: Isa, L: Known>(
    tiles: &Tiles<'_>,
    x: &[f32],
    row: usize,
    out: Shared<'_>,
) {
    let tile_lines = tiles.tile_lines;
    for (turn, lines) in tiles.lines.chunks(TILES * tile_lines).enumerate() {
        let first = turn * TILES;
        if lines.len() == TILES * tile_lines {
            // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
            let sums = unsafe { of_tiles::<I, L, TILES>(lines, x) };
            for (tile, sums) in sums.into_iter().enumerate() {
                // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
                unsafe { write::<I>(tiles, sums, row, first + tile, out) };
            }
            continue;
        }
        for (tile, lines) in lines.chunks_exact(tile_lines).enumerate() {
            // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
            let [sums] = unsafe { of_tiles::<I, L, 1>(lines, x) };
            // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
            unsafe { write::<I>(tiles, sums, row, first + tile, out) };
        }
    }
}

/// Writes the outputs of a tile.
#[inline(always)]
unsafe fn write<I: Isa>(
    tiles: &Tiles<'_>,
    sums: I::Floats,
    row: usize,
    tile: usize,
    out: Shared<'_>,
) {
    let mut numbers = [0.0; TILE];
    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
    unsafe { I::store(sums, &mut numbers) };
    tiles.write(out, row, tile, &numbers);
}

/// # Shapes
/// `lines`: `[TILES, lines of a tile]`.
#[inline(always)]
unsafe fn of_tiles<I: Isa, L: Known, const TILES: usize>(
    lines: &[Line],
    x: &[f32],
) -> [I::Floats; TILES] {
    let layout = L::LAYOUT;
    let (groups, block_lines) = (layout.scales.groups(), layout.block_lines());
    let tile_lines = lines.len() / TILES;
    let mut room: Factors = bytemuck::Zeroable::zeroed();
    // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
    unsafe {
        let mut sums = [I::splat(0.0); TILES];
        let mut scales = [[[[I::splat(0.0); 2]; TILES]; 2]; SUPER_GROUPS];
        for (block, x) in x.chunks(GROUP * groups).enumerate() {
            let mut blocks: [&[Line]; TILES] = [&[]; TILES];
            for (tile, of_tile) in blocks.iter_mut().enumerate() {
                *of_tile = &lines[tile * tile_lines + block * block_lines..][..block_lines];
                prefetch::<I>(&of_tile[..layout.scales.lines()], LINES_AHEAD);
                let header = Header::<I, L>::read(of_tile, &mut room);
                for (group, scales) in scales[..groups].iter_mut().enumerate() {
                    for (half, scales) in scales.iter_mut().enumerate() {
                        let scale = header.scale(group, half);
                        scales[tile] = [scale, header.offset(group, scale)];
                    }
                }
            }
            for ((group, inputs), [first, second]) in x.chunks(GROUP).enumerate().zip(&scales) {
                let mut x = [0.0; GROUP];
                x[..inputs.len()].copy_from_slice(inputs);
                let (x, _) = x.as_chunks::<4>();
                let mut lines: [&[Line]; TILES] = [&[]; TILES];
                for (lines, block) in lines.iter_mut().zip(blocks) {
                    *lines = &block[layout.codes_of(group)..][..layout.codes.lines()];
                    prefetch::<I>(lines, LINES_AHEAD);
                }
                add_quad::<I, L, 0, TILES>(&lines, first, &x[0], &mut sums);
                add_quad::<I, L, 1, TILES>(&lines, first, &x[1], &mut sums);
                add_quad::<I, L, 2, TILES>(&lines, first, &x[2], &mut sums);
                add_quad::<I, L, 3, TILES>(&lines, first, &x[3], &mut sums);
                add_quad::<I, L, 4, TILES>(&lines, second, &x[4], &mut sums);
                add_quad::<I, L, 5, TILES>(&lines, second, &x[5], &mut sums);
                add_quad::<I, L, 6, TILES>(&lines, second, &x[6], &mut sums);
                add_quad::<I, L, 7, TILES>(&lines, second, &x[7], &mut sums);
            }
        }
        sums
    }
}

/// Adds the products of four inputs to the sums of each tile.
///
/// # Shapes
/// `lines`: those of a group; `scales`: its scale and its offset.
#[inline(always)]
unsafe fn add_quad<I: Isa, L: Known, const QUAD: usize, const TILES: usize>(
    lines: &[&[Line]; TILES],
    scales: &[[I::Floats; 2]; TILES],
    x: &[f32; 4],
    sums: &mut [I::Floats; TILES],
) {
    for ((lines, &[scale, offset]), sum) in lines.iter().zip(scales).zip(sums) {
        // SAFETY: the processor has the instructions of `I`, as the caller guarantees.
        unsafe {
            let codes = codes::of_quad::<I, L, QUAD>(lines);
            *sum = I::mul_add(weight::<I, 0>(codes, scale, offset), I::splat(x[0]), *sum);
            *sum = I::mul_add(weight::<I, 1>(codes, scale, offset), I::splat(x[1]), *sum);
            *sum = I::mul_add(weight::<I, 2>(codes, scale, offset), I::splat(x[2]), *sum);
            *sum = I::mul_add(weight::<I, 3>(codes, scale, offset), I::splat(x[3]), *sum);
        }
    }
}

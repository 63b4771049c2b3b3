//! From rows of weights, as GGUF stores them or as numbers, to tiles.

use half::f16;
use rayon::prelude::*;

use super::BlockType;
use super::layout::{Codes, GROUP, Layout, Line, Scales, TILE};

/// The tiles of rows stored as blocks of a type.
///
/// # Shapes
/// `data`: `[outputs, inputs]` in blocks; returns `[tiles, lines of a tile]`.
pub(super) fn pack_blocks(
    data: &[u8],
    block: BlockType,
    outputs: usize,
    inputs: usize,
) -> Vec<Line> {
    let row_bytes = inputs / block.inputs() * block.bytes();
    pack(block.layout(), outputs, inputs, |output, tile, place| {
        let row = &data[output * row_bytes..][..row_bytes];
        let lines = tile.chunks_exact_mut(block.layout().block_lines());
        for (stored, lines) in row.chunks_exact(block.bytes()).zip(lines) {
            block.pack(stored, lines, place);
        }
    })
}

/// The layout of weights that are quantized here: to 8 bits, in groups of 32.
pub(super) const FROM_FLOATS: Layout = Layout {
    codes: Codes::Bytes,
    scales: Scales::Zero(128.0),
};

/// The tiles of numbers, rounded to 8 bits. A group that holds NaN or infinity gets the scale NaN.
///
/// # Shapes
/// `weights`: `[outputs, inputs]`; returns `[tiles, lines of a tile]`.
pub(super) fn pack_floats(weights: &[f32], outputs: usize, inputs: usize) -> Vec<Line> {
    pack(FROM_FLOATS, outputs, inputs, |output, tile, place| {
        let row = &weights[output * inputs..][..inputs];
        let blocks = tile.chunks_exact_mut(FROM_FLOATS.block_lines());
        for (group, lines) in row.chunks(GROUP).zip(blocks) {
            let most = group.iter().fold(0.0f32, |most, w| most.max(w.abs()));
            let trace: f32 = group.iter().map(|w| w * 0.0).sum();
            let scale = if most > 0.0 { most / 127.0 } else { 1.0 };
            lines[0].set_float(place, scale + trace);
            let mut codes = [128; GROUP];
            for (code, weight) in codes.iter_mut().zip(group) {
                *code = ((weight / scale).round() as i8 as u8) ^ 0x80;
            }
            set_bytes(&mut lines[1..], place, &codes);
        }
    })
}

/// Packs tile by tile, in parallel. `pack_row` is given an output, its tile and its place there.
fn pack(
    layout: Layout,
    outputs: usize,
    inputs: usize,
    pack_row: impl Fn(usize, &mut [Line], usize) + Sync,
) -> Vec<Line> {
    let tile_lines = layout.tile_lines(inputs);
    let mut lines = bytemuck::zeroed_vec(outputs.div_ceil(TILE) * tile_lines);
    lines
        .par_chunks_mut(tile_lines.max(1))
        .enumerate()
        .for_each(|(index, tile)| {
            let first = index * TILE;
            for output in first..outputs.min(first + TILE) {
                pack_row(output, tile, output - first);
            }
        });
    lines
}

impl BlockType {
    /// Packs a stored block into the lines of one, as output `place` of the tile.
    fn pack(self, stored: &[u8], lines: &mut [Line], place: usize) {
        let half = |at: usize| f16::from_le_bytes([stored[at], stored[at + 1]]).to_f32();
        match self {
            Self::Q4_0 => {
                lines[0].set_float(place, half(0));
                set_nibbles(&mut lines[1..], place, &stored[2..18]);
            }
            Self::Q4_1 => {
                lines[0].set_float(place, half(0));
                lines[1].set_float(place, -half(2));
                set_nibbles(&mut lines[2..], place, &stored[4..20]);
            }
            Self::Q5_0 => {
                lines[0].set_float(place, half(0));
                set_bytes(
                    &mut lines[1..],
                    place,
                    &five_bits(&stored[2..6], &stored[6..22]),
                );
            }
            Self::Q5_1 => {
                lines[0].set_float(place, half(0));
                lines[1].set_float(place, -half(2));
                set_bytes(
                    &mut lines[2..],
                    place,
                    &five_bits(&stored[4..8], &stored[8..24]),
                );
            }
            Self::Q8_0 => {
                lines[0].set_float(place, half(0));
                let mut codes = [0; GROUP];
                for (code, &stored) in codes.iter_mut().zip(&stored[2..34]) {
                    *code = stored ^ 0x80;
                }
                set_bytes(&mut lines[1..], place, &codes);
            }
            Self::Q4K => {
                set_super_scales(lines, place, [half(0), half(2)], &stored[4..16]);
                for group in 0..8 {
                    let quarter = &stored[16 + group / 2 * 32..][..32];
                    let code = |i: usize| quarter[i] >> (group % 2 * 4) & 15;
                    let mut pairs = [0; 16];
                    for (i, pair) in pairs.iter_mut().enumerate() {
                        *pair = code(i) | code(i + 16) << 4;
                    }
                    set_nibbles(&mut lines[self.layout().codes_of(group)..], place, &pairs);
                }
            }
            Self::Q5K => {
                set_super_scales(lines, place, [half(0), half(2)], &stored[4..16]);
                let high = &stored[16..48];
                for group in 0..8 {
                    let quarter = &stored[48 + group / 2 * 32..][..32];
                    let mut codes = [0; GROUP];
                    for (i, code) in codes.iter_mut().enumerate() {
                        *code = quarter[i] >> (group % 2 * 4) & 15 | (high[i] >> group & 1) << 4;
                    }
                    set_bytes(&mut lines[self.layout().codes_of(group)..], place, &codes);
                }
            }
            Self::Q6K => {
                lines[0].set_float(place, half(208));
                for (half, &factor) in stored[192..208].iter().enumerate() {
                    lines[1 + half / 4].0[half % 4 * TILE + place] = factor;
                }
                for group in 0..8 {
                    let (side, part) = (group / 4, group % 4);
                    let low = &stored[side * 64 + part % 2 * 32..][..32];
                    let high = &stored[128 + side * 32..][..32];
                    let mut codes = [0; GROUP];
                    for (i, code) in codes.iter_mut().enumerate() {
                        *code = low[i] >> (part / 2 * 4) & 15 | (high[i] >> (2 * part) & 3) << 4;
                    }
                    set_bytes(&mut lines[self.layout().codes_of(group)..], place, &codes);
                }
            }
        }
    }
}

/// Codes of five bits: the fifth bits of a group in one word, the others in nibbles.
fn five_bits(fifth: &[u8], nibbles: &[u8]) -> [u8; GROUP] {
    let fifth = u32::from_le_bytes([fifth[0], fifth[1], fifth[2], fifth[3]]);
    let mut codes = [0; GROUP];
    for (i, code) in codes.iter_mut().enumerate() {
        let nibble = nibbles[i % 16] >> (i / 16 * 4) & 15;
        *code = nibble | ((fifth >> i & 1) as u8) << 4;
    }
    codes
}

/// The header of a block of k-quants: scale and offset, and for each group six bits of a factor for
/// each, spread over twelve bytes.
fn set_super_scales(lines: &mut [Line], place: usize, base: [f32; 2], packed: &[u8]) {
    lines[0].set_float(place, base[0]);
    lines[1].set_float(place, base[1]);
    for group in 0..8 {
        let (scale, offset) = if group < 4 {
            (packed[group] & 63, packed[group + 4] & 63)
        } else {
            (
                packed[group + 4] & 15 | packed[group - 4] >> 6 << 4,
                packed[group + 4] >> 4 | packed[group] >> 6 << 4,
            )
        };
        lines[2 + group / 4].0[group % 4 * TILE + place] = scale;
        lines[4 + group / 4].0[group % 4 * TILE + place] = offset;
    }
}

/// Writes the codes of a group and an output: byte `i` holds inputs `i` and `i + 16`.
fn set_nibbles(lines: &mut [Line], place: usize, pairs: &[u8]) {
    for (line, quad) in lines.iter_mut().zip(pairs.chunks_exact(4)) {
        line.0[4 * place..][..4].copy_from_slice(quad);
    }
}

/// Writes the codes of a group and an output.
fn set_bytes(lines: &mut [Line], place: usize, codes: &[u8; GROUP]) {
    for (line, quad) in lines.iter_mut().zip(codes.chunks_exact(4)) {
        line.0[4 * place..][..4].copy_from_slice(quad);
    }
}

//! Packs rows of weights, in GGUF's blocks or as floats, into tiles.

use std::convert::Infallible;
use std::ops::Range;

use rayon::prelude::*;

use super::BlockType;
use super::layout::{Codes, GROUP, Known, Layout, Line, Rounded, TILE};
use super::lines::Lines;

/// The tiles of rows stored as blocks of a type, read tile by tile, so that memory never holds them twice.
///
/// # Shapes
/// `read` fills `[rows, bytes of a row]`; returns `[tiles, lines of a tile]`.
pub(super) fn pack_blocks<E: Send>(
    block: BlockType,
    outputs: usize,
    inputs: usize,
    read: impl Fn(Range<usize>, &mut [u8]) -> Result<(), E> + Sync,
) -> Result<Lines, E> {
    let row_bytes = inputs / block.inputs() * block.bytes();
    pack(block.layout(), outputs, inputs, |rows, tile, stored| {
        stored.resize(rows.len() * row_bytes, 0);
        read(rows, stored)?;
        for (place, row) in stored.chunks_exact(row_bytes.max(1)).enumerate() {
            for (index, stored) in row.chunks_exact(block.bytes()).enumerate() {
                block.pack(stored, index, tile, place);
            }
        }
        Ok(())
    })
}

/// The tiles of floats, rounded to 8 bits. A group with NaN or infinity gets the scale NaN.
///
/// # Shapes
/// `weights`: `[outputs, inputs]`; returns `[tiles, lines of a tile]`.
pub(super) fn pack_floats(weights: &[f32], outputs: usize, inputs: usize) -> Lines {
    let layout = Rounded::LAYOUT;
    let packed = pack(layout, outputs, inputs, |rows, tile, _| {
        for (place, row) in rows.enumerate() {
            let row = &weights[row * inputs..][..inputs];
            let blocks = tile.chunks_exact_mut(layout.block_lines());
            for (group, lines) in row.chunks(GROUP).zip(blocks) {
                let most = group.iter().fold(0.0f32, |most, w| most.max(w.abs()));
                let trace: f32 = group.iter().map(|w| w * 0.0).sum();
                let scale = if most > 0.0 { most / 127.0 } else { 1.0 };
                lines[0].set_float(place, scale + trace);
                let mut codes = [128; GROUP];
                for (code, weight) in codes.iter_mut().zip(group) {
                    *code = ((weight / scale).round() as i8 as u8) ^ 0x80;
                }
                set_codes(layout.codes, &mut lines[1..], place, &codes);
            }
        }
        Ok::<(), Infallible>(())
    });
    let Ok(lines) = packed;
    lines
}

/// Packs tile by tile, in parallel. `pack_rows` receives the outputs of a tile, the tile, and a buffer of its thread.
fn pack<E: Send>(
    layout: Layout,
    outputs: usize,
    inputs: usize,
    pack_rows: impl Fn(Range<usize>, &mut [Line], &mut Vec<u8>) -> Result<(), E> + Sync,
) -> Result<Lines, E> {
    let tile_lines = layout.tile_lines(inputs);
    let mut lines = Lines::zeros(outputs.div_ceil(TILE) * tile_lines);
    lines
        .par_chunks_mut(tile_lines.max(1))
        .enumerate()
        .try_for_each_init(Vec::new, |room, (index, tile)| {
            let first = index * TILE;
            pack_rows(first..outputs.min(first + TILE), tile, room)
        })?;
    Ok(lines)
}

impl BlockType {
    /// Packs the stored block `index` of a row, which is output `place` of a tile.
    fn pack(self, stored: &[u8], index: usize, tile: &mut [Line], place: usize) {
        let layout = self.layout();
        let group = index * self.inputs() / GROUP;
        let groups = layout.scales.groups();
        let block = &mut tile[group / groups * layout.block_lines()..][..layout.block_lines()];
        let half = |offset: usize| [stored[offset], stored[offset + 1]];
        let mut codes = [[0; GROUP]; 8];
        match self {
            Self::Q4_0 => codes[0] = halves_of(&stored[2..18]),
            Self::Q4_1 => codes[0] = halves_of(&stored[4..20]),
            Self::Q5_0 => codes[0] = five_bits(&stored[2..6], &stored[6..22]),
            Self::Q5_1 => codes[0] = five_bits(&stored[4..8], &stored[8..24]),
            Self::Q8_0 => {
                for (code, &stored) in codes[0].iter_mut().zip(&stored[2..34]) {
                    *code = stored ^ 0x80;
                }
            }
            Self::Q4K => {
                for (group, codes) in codes.iter_mut().enumerate() {
                    let quarter = &stored[16 + group / 2 * 32..][..32];
                    for (code, byte) in codes.iter_mut().zip(quarter) {
                        *code = byte >> (group % 2 * 4) & 15;
                    }
                }
            }
            Self::Q5K => {
                let high = &stored[16..48];
                for (group, codes) in codes.iter_mut().enumerate() {
                    let quarter = &stored[48 + group / 2 * 32..][..32];
                    for (i, code) in codes.iter_mut().enumerate() {
                        *code = quarter[i] >> (group % 2 * 4) & 15 | (high[i] >> group & 1) << 4;
                    }
                }
            }
            Self::Q6K => {
                for (group, codes) in codes.iter_mut().enumerate() {
                    let (side, part) = (group / 4, group % 4);
                    let low = &stored[side * 64 + part % 2 * 32..][..32];
                    let high = &stored[128 + side * 32..][..32];
                    for (i, code) in codes.iter_mut().enumerate() {
                        *code = low[i] >> (part / 2 * 4) & 15 | (high[i] >> (2 * part) & 3) << 4;
                    }
                }
            }
        }
        match self {
            Self::Q4_0 | Self::Q5_0 | Self::Q8_0 => {
                block[0].set_half(group % groups, place, half(0));
            }
            Self::Q4_1 | Self::Q5_1 => {
                block[0].set_half(0, place, half(0));
                block[0].set_half(1, place, negative(half(2)));
            }
            Self::Q4K | Self::Q5K => {
                block[0].set_half(0, place, half(0));
                block[0].set_half(1, place, half(2));
                set_factors(&mut block[1..4], place, &stored[4..16]);
            }
            Self::Q6K => {
                block[0].set_half(0, place, half(208));
                for (half, &factor) in stored[192..208].iter().enumerate() {
                    block[1 + half / 4].0[half % 4 * TILE + place] = factor;
                }
            }
        }
        for (ahead, codes) in codes[..self.inputs() / GROUP].iter().enumerate() {
            let lines = &mut block[layout.codes_of((group + ahead) % groups)..];
            set_codes(layout.codes, lines, place, codes);
        }
    }
}

/// Flips the sign of a 16-bit float.
fn negative(half: [u8; 2]) -> [u8; 2] {
    [half[0], half[1] ^ 0x80]
}

/// Codes of four bits: byte `i` holds those of inputs `i` and `i + 16`.
fn halves_of(nibbles: &[u8]) -> [u8; GROUP] {
    let mut codes = [0; GROUP];
    for (i, code) in codes.iter_mut().enumerate() {
        *code = nibbles[i % 16] >> (i / 16 * 4) & 15;
    }
    codes
}

/// Codes of five bits: the fifth bits of a group in one word, the others in nibbles.
fn five_bits(fifth: &[u8], nibbles: &[u8]) -> [u8; GROUP] {
    let fifth = u32::from_le_bytes([fifth[0], fifth[1], fifth[2], fifth[3]]);
    let mut codes = halves_of(nibbles);
    for (i, code) in codes.iter_mut().enumerate() {
        *code |= ((fifth >> i & 1) as u8) << 4;
    }
    codes
}

/// The factors of a block of k-quants: for each group six bits for the scale and six for the offset,
/// spread over twelve bytes.
fn set_factors(lines: &mut [Line], place: usize, packed: &[u8]) {
    for group in 0..8 {
        let (scale, offset) = if group < 4 {
            (packed[group] & 63, packed[group + 4] & 63)
        } else {
            (
                packed[group + 4] & 15 | packed[group - 4] >> 6 << 4,
                packed[group + 4] >> 4 | packed[group] >> 6 << 4,
            )
        };
        let (index, side) = (group % 4 * TILE + place, group / 4);
        lines[0].0[index] |= (scale & 15) << (4 * side);
        lines[1].0[index] |= (offset & 15) << (4 * side);
        lines[2].0[index] |= (scale >> 4) << (2 * side) | (offset >> 4) << (4 + 2 * side);
    }
}

/// Writes the codes of a group and an output, four at a time.
fn set_codes(kind: Codes, lines: &mut [Line], place: usize, codes: &[u8; GROUP]) {
    let (quads, _) = codes.as_chunks::<4>();
    let quad = |line: usize| u32::from_ne_bytes(quads[line]);
    /// Some bits of each of four bytes.
    const fn bytes_of(part: u8) -> u32 {
        u32::from_ne_bytes([part; 4])
    }
    // The fifth bits.
    let high = |line: usize| quad(line) >> 4 & bytes_of(15);
    if kind == Codes::Bytes {
        for (line, quad) in lines.iter_mut().zip(quads) {
            line.set_quad(place, *quad);
        }
        return;
    }
    for (line, into) in lines[..4].iter_mut().enumerate() {
        let low = [line, line + 4].map(|line| quad(line) & bytes_of(15));
        into.set_quad(place, (low[0] | low[1] << 4).to_ne_bytes());
    }
    match kind {
        Codes::Nibbles | Codes::Bytes => {}
        Codes::FiveBits => {
            let fifth = (0..8).fold(0, |bits, line| bits | high(line) << line);
            lines[4].set_quad(place, fifth.to_ne_bytes());
        }
        Codes::SixBits => {
            for (side, into) in lines[4..6].iter_mut().enumerate() {
                let pairs = (0..4).fold(0, |bits, line| bits | high(4 * side + line) << (2 * line));
                into.set_quad(place, pairs.to_ne_bytes());
            }
        }
    }
}

/// The codes of a group and an output.
pub(super) fn codes(kind: Codes, lines: &[Line], place: usize) -> [u8; GROUP] {
    std::array::from_fn(|i| {
        let (line, at) = (i / 4, 4 * place + i % 4);
        let nibble = || lines[line % 4].0[at] >> (line / 4 * 4) & 15;
        match kind {
            Codes::Nibbles => nibble(),
            Codes::FiveBits => nibble() | (lines[4].0[at] >> line & 1) << 4,
            Codes::SixBits => nibble() | (lines[4 + line / 4].0[at] >> (line % 4 * 2) & 3) << 4,
            Codes::Bytes => lines[line].0[at],
        }
    })
}

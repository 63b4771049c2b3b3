//! How quantized weights lie in memory: in tiles of 16 outputs, so that one vector register holds a
//! number for each output of a tile, and in the order in which products read them.
//!
//! A tile is a row of blocks; a block is a header with scales and offsets, then the codes of one or
//! eight groups of 32 inputs. `weight = scale * code - offset`.

/// Outputs of a tile.
pub(super) const TILE: usize = 16;

/// Inputs that share a scale; in the layout [`Scales::Halves`], 16 of them do.
pub(super) const GROUP: usize = 32;

/// Bytes of a line: the codes of four inputs for each output of a tile.
pub(super) const LINE: usize = 64;

/// Groups of a block of k-quants.
const SUPER_GROUPS: usize = 8;

/// How the codes of a group are stored. In both, line `q` holds inputs `4q..4q + 4` of each output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codes {
    /// Four lines; the low halves of bytes are lines 0 to 3, the high halves 4 to 7.
    Nibbles,
    /// Eight lines.
    Bytes,
}

impl Codes {
    /// Lines of a group.
    pub(super) fn lines(self) -> usize {
        match self {
            Self::Nibbles => 4,
            Self::Bytes => 8,
        }
    }
}

/// The header of a block: what the scales and offsets of its groups follow from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scales {
    /// A scale for one group; the offset is `scale * zero`, where `zero` is a power of two.
    Zero(f32),
    /// A scale and an offset for one group.
    Offset,
    /// For eight groups a scale and an offset, each with a byte for each group that multiplies it.
    Super,
    /// For eight groups a scale, with a signed byte for each half of a group that multiplies it; the
    /// offset is 32 times the scale.
    Halves,
}

impl Scales {
    /// Groups of a block.
    pub(super) fn groups(self) -> usize {
        match self {
            Self::Zero(_) | Self::Offset => 1,
            Self::Super | Self::Halves => SUPER_GROUPS,
        }
    }

    /// Lines of the header.
    fn lines(self) -> usize {
        match self {
            Self::Zero(_) => 1,
            Self::Offset => 2,
            Self::Super => 6,
            Self::Halves => 5,
        }
    }
}

/// The layout of a matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Layout {
    pub(super) codes: Codes,
    pub(super) scales: Scales,
}

impl Layout {
    /// Lines of a block.
    pub(super) fn block_lines(self) -> usize {
        self.scales.lines() + self.scales.groups() * self.codes.lines()
    }

    /// Lines of a tile.
    pub(super) fn tile_lines(self, inputs: usize) -> usize {
        inputs.div_ceil(GROUP * self.scales.groups()) * self.block_lines()
    }

    /// The line at which the codes of a group of a block start.
    pub(super) fn codes_of(self, group: usize) -> usize {
        self.scales.lines() + group * self.codes.lines()
    }
}

/// A line of a tile, aligned as vector registers are.
#[derive(Debug, Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [u8; LINE]);

impl Line {
    /// The numbers of a line that holds one for each output.
    #[inline(always)]
    pub(super) fn floats(&self) -> [f32; TILE] {
        bytemuck::must_cast(self.0)
    }

    /// A line that holds a number for each output.
    pub(super) fn set_float(&mut self, output: usize, number: f32) {
        self.0[4 * output..][..4].copy_from_slice(&number.to_ne_bytes());
    }
}

/// The scales and offsets of one group, or of one half of a group, for the outputs of a tile.
///
/// # Shapes
/// `block`: the lines of a block; `group` and `half` say of which of its groups.
#[inline(always)]
pub(super) fn scales(
    layout: Scales,
    block: &[Line],
    group: usize,
    half: usize,
) -> ([f32; TILE], [f32; TILE]) {
    let (scale, mut offset) = (block[0].floats(), [0.0; TILE]);
    match layout {
        Scales::Zero(zero) => {
            for (offset, scale) in offset.iter_mut().zip(scale) {
                *offset = scale * zero;
            }
            (scale, offset)
        }
        Scales::Offset => (scale, block[1].floats()),
        Scales::Super => {
            let multiplied = |base: [f32; TILE], line: usize| {
                let factors = &block[line + group / 4].0[group % 4 * TILE..][..TILE];
                let mut product = [0.0; TILE];
                for ((product, base), &factor) in product.iter_mut().zip(base).zip(factors) {
                    *product = base * f32::from(factor);
                }
                product
            };
            (multiplied(scale, 2), multiplied(block[1].floats(), 4))
        }
        Scales::Halves => {
            let place = 2 * group + half;
            let factors = &block[1 + place / 4].0[place % 4 * TILE..][..TILE];
            let mut product = [0.0; TILE];
            for (output, &factor) in factors.iter().enumerate() {
                product[output] = scale[output] * f32::from(factor as i8);
                offset[output] = product[output] * 32.0;
            }
            (product, offset)
        }
    }
}

//! The layout of quantized weights in memory: in tiles of 16 outputs, so that one vector register holds a number for
//! each output of a tile, in the order in which products read them.
//!
//! A tile is a row of blocks; a block is a header with scales and offsets, then the codes of one, two or eight groups
//! of 32 inputs. `weight = scale * code - offset`. Nothing takes more bits than in the file, except half a line in
//! the header of `Q6_K`.

/// Outputs of a tile.
pub(super) const TILE: usize = 16;

/// Inputs that share a scale; in the layout [`Scales::Halves`], 16 of them do.
pub(super) const GROUP: usize = 32;

/// Bytes of a line: the codes of four inputs for each output of a tile.
pub(super) const LINE: usize = 64;

/// Groups of a block of k-quants.
pub(super) const SUPER_GROUPS: usize = 8;

/// How the codes of a group are stored. Code line `q` holds inputs `4q..4q + 4` of each output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codes {
    /// Four lines; the low halves of bytes are code lines 0 to 3, the high halves 4 to 7.
    Nibbles,
    /// The low four bits as nibbles, then a line whose bytes have the fifth bit of code line `q` as
    /// their bit `q`.
    FiveBits,
    /// The low four bits as nibbles, then a line whose bytes have the high bits of code line `q` as
    /// their bits `2q` and `2q + 1`, and another one for code lines 4 to 7.
    SixBits,
    /// Eight lines.
    Bytes,
}

impl Codes {
    /// Lines of a group.
    pub(super) const fn lines(self) -> usize {
        match self {
            Self::Nibbles => 4,
            Self::FiveBits => 5,
            Self::SixBits => 6,
            Self::Bytes => 8,
        }
    }
}

/// The header of a block, from which the scales and offsets of its groups are computed. Numbers of a file stay in 16
/// bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scales {
    /// A scale for each of two groups; the offset is `scale * zero`.
    Zero(u8),
    /// As above, with a scale in 32 bits, for one group.
    WideZero(u8),
    /// A scale and an offset for one group.
    Offset,
    /// For eight groups a scale and an offset, each with six bits for each group that multiply it.
    /// These are three lines: low halves of the scales' factors, of the offsets', and the high pairs
    /// of bits of both. Byte `16 * (group % 4) + output` holds groups `group % 4` and `group % 4 + 4`.
    Super,
    /// For eight groups a scale, with a signed byte for each half of a group that multiplies it; the
    /// offset is 32 times the scale.
    Halves,
}

impl Scales {
    /// Groups of a block.
    pub(super) const fn groups(self) -> usize {
        match self {
            Self::WideZero(_) | Self::Offset => 1,
            Self::Zero(_) => 2,
            Self::Super | Self::Halves => SUPER_GROUPS,
        }
    }

    /// Lines of the header.
    pub(super) const fn lines(self) -> usize {
        match self {
            Self::Zero(_) | Self::WideZero(_) | Self::Offset => 1,
            Self::Super => 4,
            Self::Halves => 5,
        }
    }

    /// The code of zero; `None` if each group has its own offset.
    pub(super) const fn zero(self) -> Option<u8> {
        match self {
            Self::Zero(zero) | Self::WideZero(zero) => Some(zero),
            Self::Halves => Some(32),
            Self::Offset | Self::Super => None,
        }
    }
}

/// The layout of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) codes: Codes,
    pub(super) scales: Scales,
}

/// A layout as a type, so that kernels are compiled for it and decide nothing at run time.
pub(super) trait Known {
    const LAYOUT: Layout;
}

/// Names layouts.
macro_rules! layouts {
    ($($name:ident: $codes:expr, $scales:expr;)*) => {$(
        #[allow(non_camel_case_types)] // The names of the format.
        pub(super) struct $name;

        impl Known for $name {
            const LAYOUT: Layout = Layout { codes: $codes, scales: $scales };
        }
    )*};
}

layouts! {
    Q4_0: Codes::Nibbles, Scales::Zero(8);
    Q4_1: Codes::Nibbles, Scales::Offset;
    Q5_0: Codes::FiveBits, Scales::Zero(16);
    Q5_1: Codes::FiveBits, Scales::Offset;
    Q8_0: Codes::Bytes, Scales::Zero(128);
    Q4K: Codes::Nibbles, Scales::Super;
    Q5K: Codes::FiveBits, Scales::Super;
    Q6K: Codes::SixBits, Scales::Halves;
    Rounded: Codes::Bytes, Scales::WideZero(128);
}

/// An operation that is compiled for each layout.
pub(super) trait OfLayout {
    type Output;

    fn run<L: Known>(self) -> Self::Output;
}

impl Layout {
    /// Runs an operation for a layout that is only known at run time.
    #[inline(always)]
    pub(super) fn dispatch<W: OfLayout>(self, work: W) -> W::Output {
        match self {
            Q4_0::LAYOUT => work.run::<Q4_0>(),
            Q4_1::LAYOUT => work.run::<Q4_1>(),
            Q5_0::LAYOUT => work.run::<Q5_0>(),
            Q5_1::LAYOUT => work.run::<Q5_1>(),
            Q8_0::LAYOUT => work.run::<Q8_0>(),
            Q4K::LAYOUT => work.run::<Q4K>(),
            Q5K::LAYOUT => work.run::<Q5K>(),
            Q6K::LAYOUT => work.run::<Q6K>(),
            _ => work.run::<Rounded>(),
        }
    }

    /// Lines of a block.
    pub(super) const fn block_lines(self) -> usize {
        self.scales.lines() + self.scales.groups() * self.codes.lines()
    }

    /// Lines of a tile.
    pub(super) const fn tile_lines(self, inputs: usize) -> usize {
        inputs.div_ceil(GROUP * self.scales.groups()) * self.block_lines()
    }

    /// The line at which the codes of a group of a block start.
    pub(super) const fn codes_of(self, group: usize) -> usize {
        self.scales.lines() + group * self.codes.lines()
    }
}

/// A line of a tile, aligned for vector registers.
#[derive(Debug, Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [u8; LINE]);

impl Line {
    /// The numbers of a line that holds one for each output.
    #[inline(always)]
    pub(super) fn floats(&self) -> &[f32; TILE] {
        bytemuck::must_cast_ref(self)
    }

    /// The numbers of a line with two of 16 bits for each output: all first ones, then all second ones.
    #[inline(always)]
    pub(super) fn halves(&self) -> &[[u16; TILE]; 2] {
        bytemuck::must_cast_ref(self)
    }

    /// The bytes of a line with four for each output: all first ones, then all second ones, and so on.
    #[inline(always)]
    pub(super) fn bytes(&self) -> &[[u8; TILE]; 4] {
        bytemuck::must_cast_ref(self)
    }

    /// Writes to a line that holds a number for each output.
    pub(super) fn set_float(&mut self, output: usize, number: f32) {
        self.0[4 * output..][..4].copy_from_slice(&number.to_ne_bytes());
    }

    /// Writes to a line that holds four bytes side by side for each output.
    pub(super) fn set_quad(&mut self, output: usize, bytes: [u8; 4]) {
        self.0[4 * output..][..4].copy_from_slice(&bytes);
    }

    /// Writes to a line that holds two numbers of 16 bits for each output; `stored` is little-endian.
    pub(super) fn set_half(&mut self, place: usize, output: usize, stored: [u8; 2]) {
        let bits = u16::from_le_bytes(stored);
        self.0[2 * (place * TILE + output)..][..2].copy_from_slice(&bits.to_ne_bytes());
    }
}

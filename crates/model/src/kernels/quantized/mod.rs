//! Projections with weights of 4 to 8 bits, kept once and multiplied either way: in integers, with
//! activations quantized on the fly, or exactly, with the weights dequantized in the cache.
//!
//! `layout` says how weights lie in memory, `pack` brings them there, `activations` quantizes rows,
//! `product` multiplies, over what `isa` offers of each instruction set.

mod activations;
mod isa;
mod layout;
mod pack;
mod product;
#[cfg(test)]
mod tests;

use std::ops::Range;

use rayon::prelude::*;

use super::rows::Rows;
use activations::Activations;
pub use isa::InstructionSet;
use layout::{Codes, GROUP, Layout, Line, Scales, TILE, scales};
use product::{Columns, Tiles};

/// Multiplications that are worth a task.
const TASK_PRODUCTS: usize = 1 << 18;

/// Rows that are multiplied with all tiles of a task before the next ones, so that they stay in the
/// cache.
const TASK_ROWS: usize = 64;

/// A type of blocks in which GGUF stores weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types)] // The names of the format.
pub(crate) enum BlockType {
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q4K,
    Q5K,
    Q6K,
}

impl BlockType {
    /// Weights of a block.
    pub(crate) fn inputs(self) -> usize {
        GROUP * self.layout().scales.groups()
    }

    /// Bytes of a block in a file.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q8_0 => 34,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
        }
    }

    fn layout(self) -> Layout {
        let (codes, scales) = match self {
            Self::Q4_0 => (Codes::Nibbles, Scales::Zero(8.0)),
            Self::Q4_1 => (Codes::Nibbles, Scales::Offset),
            Self::Q5_0 => (Codes::Bytes, Scales::Zero(16.0)),
            Self::Q5_1 => (Codes::Bytes, Scales::Offset),
            Self::Q8_0 => (Codes::Bytes, Scales::Zero(128.0)),
            Self::Q4K => (Codes::Nibbles, Scales::Super),
            Self::Q5K => (Codes::Bytes, Scales::Super),
            Self::Q6K => (Codes::Bytes, Scales::Halves),
        };
        Layout { codes, scales }
    }
}

/// A projection with quantized weights.
pub(crate) struct QuantizedMatrix {
    layout: Layout,
    outputs: usize,
    inputs: usize,
    /// `[tiles, lines of a tile]`; the last tile is padded with zeros.
    lines: Vec<Line>,
}

/// Rows as a product reads them.
pub(crate) enum Operand<'a> {
    /// As they are; weights are dequantized.
    Exact(&'a Rows),
    /// Quantized, to be multiplied in integers.
    Integer(QuantizedRows),
}

/// Rows in 8 bits.
pub(crate) struct QuantizedRows(Activations);

impl QuantizedRows {
    pub(crate) fn new(x: &Rows) -> Self {
        Self(Activations::new(x))
    }
}

impl QuantizedMatrix {
    /// Weights as a file stores them. `None` where `data` is not as long as the shape says.
    ///
    /// # Shapes
    /// `data`: `[outputs, inputs]` in blocks.
    pub(crate) fn from_blocks(
        data: &[u8],
        block: BlockType,
        outputs: usize,
        inputs: usize,
    ) -> Option<Self> {
        let blocks = inputs / block.inputs() * outputs;
        if !inputs.is_multiple_of(block.inputs()) || data.len() != blocks * block.bytes() {
            return None;
        }
        Some(Self {
            layout: block.layout(),
            outputs,
            inputs,
            lines: pack::pack_blocks(data, block, outputs, inputs),
        })
    }

    /// Weights rounded to 8 bits, with a scale for each 32 inputs of an output.
    ///
    /// # Shapes
    /// `weights`: `[outputs, inputs]`.
    pub(crate) fn from_floats(weights: &[f32], outputs: usize, inputs: usize) -> Self {
        Self {
            layout: pack::FROM_FLOATS,
            outputs,
            inputs,
            lines: pack::pack_floats(weights, outputs, inputs),
        }
    }

    /// Bytes that a matrix takes whose weights come in blocks of a type, or as floats.
    pub(crate) fn bytes(block: Option<BlockType>, outputs: usize, inputs: usize) -> usize {
        let layout = block.map_or(pack::FROM_FLOATS, BlockType::layout);
        outputs.div_ceil(TILE) * layout.tile_lines(inputs) * size_of::<Line>()
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// The weights of one output.
    ///
    /// # Shapes
    /// `out`: `[inputs]`.
    pub(crate) fn dequantize(&self, output: usize, out: &mut [f32]) {
        let tile_lines = self.layout.tile_lines(self.inputs);
        let tile = &self.lines[output / TILE * tile_lines..][..tile_lines];
        let place = output % TILE;
        let groups = self.layout.scales.groups();
        for (group, out) in out.chunks_mut(GROUP).enumerate() {
            let block = &tile[group / groups * self.layout.block_lines()..];
            let lines = &block[self.layout.codes_of(group % groups)..];
            for (half, out) in out.chunks_mut(GROUP / 2).enumerate() {
                let (scale, offset) = scales(self.layout.scales, block, group % groups, half);
                for (i, out) in out.iter_mut().enumerate() {
                    let code = match self.layout.codes {
                        Codes::Nibbles => lines[i / 4].0[4 * place + i % 4] >> (4 * half) & 15,
                        Codes::Bytes => lines[4 * half + i / 4].0[4 * place + i % 4],
                    };
                    *out = scale[place] * f32::from(code) - offset[place];
                }
            }
        }
    }

    /// Writes the product of each row into the columns of `out` from `column` on.
    ///
    /// # Shapes
    /// `x`: `[rows, inputs]`; `out`: `[rows, column + outputs or more]`.
    pub(crate) fn product(&self, x: &Operand<'_>, out: &mut Rows, column: usize) {
        self.product_with(InstructionSet::detected(), x, out, column);
    }

    fn product_with(&self, set: InstructionSet, x: &Operand<'_>, out: &mut Rows, column: usize) {
        let rows = out.count();
        if rows == 0 || self.outputs == 0 || self.inputs == 0 {
            return;
        }
        let tile_lines = self.layout.tile_lines(self.inputs);
        let tiles = self.lines.len() / tile_lines;
        let least = TASK_PRODUCTS.div_ceil(TILE * self.inputs * rows);
        let share = tiles.div_ceil(4 * rayon::current_num_threads());
        let task_tiles = least.max(share);
        let columns = Shared::new(out, column, self.outputs);
        self.lines
            .par_chunks(task_tiles * tile_lines)
            .enumerate()
            .for_each(|(task, lines)| {
                let tiles = Tiles {
                    layout: self.layout,
                    lines,
                    tile_lines,
                    first: task * task_tiles,
                };
                for first in (0..rows).step_by(TASK_ROWS) {
                    let rows = first..rows.min(first + TASK_ROWS);
                    multiply(set, &tiles, x, rows, columns);
                }
            });
    }
}

/// The columns of a matrix that tasks write to, each task to those of its own tiles.
#[derive(Clone, Copy)]
struct Shared<'a> {
    start: *mut f32,
    stride: usize,
    rows: usize,
    outputs: usize,
    matrix: std::marker::PhantomData<&'a mut Rows>,
}

// SAFETY: no two tasks have the same tile, so none writes where another one does, and nobody reads
// before all have ended, since the matrix is borrowed.
#[allow(unsafe_code)]
unsafe impl Send for Shared<'_> {}
#[allow(unsafe_code)]
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    fn new(out: &'a mut Rows, column: usize, outputs: usize) -> Self {
        assert!(
            column + outputs <= out.width,
            "the columns are the matrix's"
        );
        let (rows, stride) = (out.count(), out.width);
        Self {
            start: out.numbers[column..].as_mut_ptr(),
            stride,
            rows,
            outputs,
            matrix: std::marker::PhantomData,
        }
    }
}

impl Columns for Shared<'_> {
    #[inline(always)]
    fn write(&mut self, row: usize, tile: usize, numbers: &[f32; TILE]) {
        let first = tile * TILE;
        let count = self.outputs.saturating_sub(first).min(TILE);
        assert!(row < self.rows);
        // SAFETY: row and columns are within the matrix, as checked here and in `new`.
        #[allow(unsafe_code)]
        unsafe {
            let to = self.start.add(row * self.stride + first);
            std::ptr::copy_nonoverlapping(numbers.as_ptr(), to, count);
        }
    }
}

/// Multiplies by the kernels of an instruction set.
fn multiply(
    set: InstructionSet,
    tiles: &Tiles<'_>,
    x: &Operand<'_>,
    rows: Range<usize>,
    out: Shared<'_>,
) {
    /// The kernels, compiled for an instruction set.
    macro_rules! kernels {
        ($isa:ty, $features:literal) => {{
            #[target_feature(enable = $features)]
            fn with(tiles: &Tiles<'_>, x: &Operand<'_>, rows: Range<usize>, out: Shared<'_>) {
                run::<$isa>(tiles, x, rows, out);
            }
            // SAFETY: the set was detected, or is one that a test has asked for after a check.
            #[allow(unsafe_code)]
            unsafe {
                with(tiles, x, rows, out);
            }
        }};
    }
    match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512Vnni => {
            kernels!(isa::Avx512Vnni, "avx512f,avx512bw,avx512vnni,avx2,fma");
        }
        #[cfg(target_arch = "x86_64")]
        InstructionSet::AvxVnni => kernels!(isa::Avx2<true>, "avxvnni,avx2,fma"),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => kernels!(isa::Avx2<false>, "avx2,fma"),
        _ => run::<isa::Plain>(tiles, x, rows, out),
    }
}

#[inline(always)]
fn run<I: isa::Isa>(tiles: &Tiles<'_>, x: &Operand<'_>, rows: Range<usize>, mut out: Shared<'_>) {
    // SAFETY: the caller has checked for the instructions.
    #[allow(unsafe_code)]
    unsafe {
        match x {
            Operand::Exact(x) => {
                product::exact::<I>(tiles, &x.numbers, x.width, rows, &mut out);
            }
            Operand::Integer(x) => product::integer::<I>(tiles, &x.0, rows, &mut out),
        }
    }
}

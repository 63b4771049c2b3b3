//! Projections with weights of 4 to 8 bits, stored once and multiplied in two ways: in integers, with activations
//! quantized on the fly, or exactly, with the weights dequantized in the cache.
//!
//! `layout` defines the memory layout of weights, `pack` produces it, `activations` quantizes rows, and `integer`,
//! `exact` and `exact_row` multiply, with the operations of `isa` for each instruction set.

mod activations;
mod codes;
mod exact;
mod exact_row;
mod integer;
mod isa;
mod layout;
mod lines;
mod pack;
mod scales;
#[cfg(test)]
mod tests;
mod tiles;

use std::marker::PhantomData;
use std::ops::Range;

use rayon::prelude::*;

use super::rows::Rows;
pub(crate) use activations::Activations;
pub use isa::InstructionSet;
use isa::{Isa, Plain};
use layout::{GROUP, Known, Layout, Line, OfLayout, Rounded, TILE};
use lines::Lines;
use scales::{Factors, Header};
use tiles::{Shared, Tiles};

/// The least multiplications of a task.
const TASK_PRODUCTS: usize = 1 << 18;

/// Tasks per thread, if each has enough work: faster threads take more.
const TASKS_PER_THREAD: usize = 8;

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
        match self {
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 => GROUP,
            Self::Q4K | Self::Q5K | Self::Q6K => 8 * GROUP,
        }
    }

    fn form(self) -> (usize, Layout) {
        match self {
            Self::Q4_0 => (18, layout::Q4_0::LAYOUT),
            Self::Q4_1 => (20, layout::Q4_1::LAYOUT),
            Self::Q5_0 => (22, layout::Q5_0::LAYOUT),
            Self::Q5_1 => (24, layout::Q5_1::LAYOUT),
            Self::Q8_0 => (34, layout::Q8_0::LAYOUT),
            Self::Q4K => (144, layout::Q4K::LAYOUT),
            Self::Q5K => (176, layout::Q5K::LAYOUT),
            Self::Q6K => (210, layout::Q6K::LAYOUT),
        }
    }

    /// Bytes of a block in a file.
    pub(crate) fn bytes(self) -> usize {
        self.form().0
    }

    fn layout(self) -> Layout {
        self.form().1
    }
}

/// A projection with quantized weights.
pub(crate) struct QuantizedMatrix {
    layout: Layout,
    outputs: usize,
    inputs: usize,
    /// `[tiles, lines of a tile]`; the last tile is padded with zeros.
    lines: Lines,
}

/// Rows in the form that a product reads.
pub(crate) enum Operand<'a> {
    /// As floats; weights are dequantized.
    Exact(&'a Rows),
    /// Quantized, for products in integers.
    Integer(Activations),
}

impl QuantizedMatrix {
    /// Weights as stored in a file; `inputs` must be whole blocks. `read` fills a buffer with some rows, and is
    /// called from several threads.
    ///
    /// # Shapes
    /// `read`: `[rows, inputs]` in blocks.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn read<E: Send>(
        block: BlockType,
        outputs: usize,
        inputs: usize,
        read: impl Fn(Range<usize>, &mut [u8]) -> Result<(), E> + Sync,
    ) -> Result<Self, E> {
        Ok(Self {
            layout: block.layout(),
            outputs,
            inputs,
            lines: pack::pack_blocks(block, outputs, inputs, read)?,
        })
    }

    /// Weights rounded to 8 bits, with a scale for each 32 inputs of an output.
    ///
    /// # Shapes
    /// `weights`: `[outputs, inputs]`.
    pub(crate) fn from_floats(weights: &[f32], outputs: usize, inputs: usize) -> Self {
        Self {
            layout: Rounded::LAYOUT,
            outputs,
            inputs,
            lines: pack::pack_floats(weights, outputs, inputs),
        }
    }

    /// Bytes that a matrix takes in memory if its weights come in blocks of a type, or as floats.
    pub(crate) fn bytes(block: Option<BlockType>, outputs: usize, inputs: usize) -> usize {
        let layout = block.map_or(Rounded::LAYOUT, BlockType::layout);
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
        self.layout.dispatch(Dequantize { tile, place, out });
    }
}

/// Reads the weights of one output of a tile.
struct Dequantize<'a> {
    tile: &'a [Line],
    place: usize,
    /// `[inputs]`
    out: &'a mut [f32],
}

impl OfLayout for Dequantize<'_> {
    type Output = ();

    fn run<L: Known>(self) {
        let (layout, place) = (L::LAYOUT, self.place);
        let groups = layout.scales.groups();
        let mut factors: Factors = bytemuck::Zeroable::zeroed();
        for (group, out) in self.out.chunks_mut(GROUP).enumerate() {
            let block = &self.tile[group / groups * layout.block_lines()..];
            let lines = &block[layout.codes_of(group % groups)..];
            let codes = pack::codes(layout.codes, lines, place);
            // SAFETY: every processor has plain code's instructions.
            #[allow(unsafe_code)]
            let header = unsafe { Header::<Plain, L>::read(block, &mut factors) };
            let halves = out.chunks_mut(GROUP / 2).zip(codes.chunks(GROUP / 2));
            for (half, (out, codes)) in halves.enumerate() {
                // SAFETY: every processor has plain code's instructions.
                #[allow(unsafe_code)]
                let (scale, offset) = unsafe {
                    let scale = header.scale(group % groups, half);
                    (scale, header.offset(group % groups, scale))
                };
                for (out, &code) in out.iter_mut().zip(codes) {
                    *out = scale[place] * f32::from(code) - offset[place];
                }
            }
        }
    }
}

/// The products of each row with several matrices, side by side.
///
/// # Shapes
/// `x`: `[rows, inputs of each matrix]`; `out`: `[rows, outputs of all matrices]`.
pub(crate) fn products<M: AsRef<QuantizedMatrix>>(matrices: &[M], x: &Operand<'_>, out: &mut Rows) {
    products_with(InstructionSet::detected(), matrices, x, out);
}

fn products_with<M: AsRef<QuantizedMatrix>>(
    set: InstructionSet,
    matrices: &[M],
    x: &Operand<'_>,
    out: &mut Rows,
) {
    if out.numbers.is_empty() {
        return;
    }
    let matrices: Vec<&QuantizedMatrix> = matrices.iter().map(AsRef::as_ref).collect();
    let rows = out.count();
    let tiles = matrices.iter().map(|matrix| matrix.tiles()).sum();
    let starts: Vec<_> = matrices.iter().map(|matrix| matrix.starts(x)).collect();
    let mut tasks = Vec::new();
    let mut column = 0;
    for (matrix, starts) in matrices.into_iter().zip(&starts) {
        for tiles in matrix.tasks(rows, tiles, column) {
            tasks.push((tiles, starts.as_slice()));
        }
        column += matrix.outputs;
    }
    let out = Shared::new(out);
    let tasks = tasks.par_iter().with_max_len(1);
    tasks.for_each(|(tiles, starts)| {
        for first in (0..rows).step_by(TASK_ROWS) {
            let rows = first..rows.min(first + TASK_ROWS);
            let work = Multiply {
                tiles,
                x,
                starts,
                rows,
                out,
            };
            multiply(set, work);
        }
    });
}

impl QuantizedMatrix {
    fn tiles(&self) -> usize {
        self.outputs.div_ceil(TILE)
    }

    /// See [`integer::starts`].
    fn starts(&self, x: &Operand<'_>) -> Vec<[i32; 2]> {
        match x {
            Operand::Exact(_) => Vec::new(),
            Operand::Integer(x) => integer::starts(self.layout.scales, x),
        }
    }

    /// Divides these tiles into tasks, for a product of some rows with `all` tiles in total, whose outputs go to the
    /// columns from `column` on.
    fn tasks(&self, rows: usize, all: usize, column: usize) -> impl Iterator<Item = Tiles<'_>> {
        let least = TASK_PRODUCTS.div_ceil((TILE * self.inputs * rows).max(1));
        let share = all.div_ceil(TASKS_PER_THREAD * rayon::current_num_threads());
        let task_tiles = least.max(share);
        let tile_lines = self.layout.tile_lines(self.inputs);
        let chunks = self.lines.chunks((task_tiles * tile_lines).max(1));
        chunks.enumerate().map(move |(task, lines)| Tiles {
            layout: self.layout,
            lines,
            tile_lines,
            columns: column + task * task_tiles * TILE..column + self.outputs,
        })
    }
}

/// Some rows of a task.
struct Multiply<'a> {
    tiles: &'a Tiles<'a>,
    x: &'a Operand<'a>,
    /// See [`integer::starts`].
    starts: &'a [[i32; 2]],
    rows: Range<usize>,
    out: Shared<'a>,
}

/// Multiplies by the kernels of an instruction set, which this processor must have.
fn multiply(set: InstructionSet, work: Multiply<'_>) {
    /// The kernels, compiled for an instruction set.
    macro_rules! kernels {
        ($isa:ty, $features:literal) => {{
            #[target_feature(enable = $features)]
            fn with(work: Multiply<'_>) {
                run::<$isa>(work);
            }
            // SAFETY: the processor has all of these, as was checked above.
            #[allow(unsafe_code)]
            unsafe {
                with(work);
            }
        }};
    }
    assert!(set.is_available(), "{set} is not there");
    match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512Vnni => {
            kernels!(isa::Avx512Vnni, "avx512f,avx512bw,avx512vnni,avx2,fma");
        }
        #[cfg(target_arch = "x86_64")]
        InstructionSet::AvxVnni => kernels!(isa::Avx2<true>, "avxvnni,avx2,fma,f16c"),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => kernels!(isa::Avx2<false>, "avx2,fma,f16c"),
        #[cfg(target_arch = "aarch64")]
        InstructionSet::NeonDotprod => kernels!(isa::NeonDotprod, "neon,dotprod"),
        _ => run::<Plain>(work),
    }
}

#[inline(always)]
fn run<I: Isa>(work: Multiply<'_>) {
    work.tiles.layout.dispatch(ByIsa::<I>(work, PhantomData));
}

/// Work for the kernels of an instruction set.
struct ByIsa<'a, I>(Multiply<'a>, PhantomData<I>);

impl<I: Isa> OfLayout for ByIsa<'_, I> {
    type Output = ();

    #[inline(always)]
    fn run<L: Known>(self) {
        let Multiply {
            tiles,
            x,
            starts,
            rows,
            out,
        } = self.0;
        // SAFETY: only `multiply` makes this, with a set that the processor was detected to have.
        #[allow(unsafe_code)]
        unsafe {
            match x {
                Operand::Exact(x) if rows.len() == 1 => {
                    exact_row::products::<I, L>(tiles, x.row(rows.start), rows.start, out);
                }
                Operand::Exact(x) => {
                    exact::products::<I, L>(tiles, &x.numbers, x.width, rows, out);
                }
                Operand::Integer(x) => integer::products::<I, L>(tiles, x, starts, rows, out),
            }
        }
    }
}

//! The operations of a forward pass. The graph is written once, over these operations; a backend computes them and
//! stores the numbers.

use std::sync::Arc;

use candle_core::Tensor;

use crate::decoder::config::Activation;
use crate::decoder::error::DecoderError;
use crate::decoder::files::stored_weights::Stored;

type Result<T> = std::result::Result<T, DecoderError>;

/// A backend. Activations are rows, one per token; every operation treats each row independently, so that the result
/// for a token never depends on the batch.
pub(in crate::decoder) trait Backend: Send + Sync + Sized {
    /// Activations `[rows, width]`.
    type Rows: Send;
    /// A projection `[outputs, inputs]`, laid out for products.
    type Matrix: Send + Sync;
    /// A norm's weight or a bias, `[width]`.
    type Vector: Send + Sync;
    /// The token embedding `[vocabulary, hidden]`.
    type Table: Send + Sync;
    /// Cosines and sines of each row's position, and the factors of its queries.
    type Rotation;
    /// The keys and values of the tokens read so far.
    type Sequence: Sequence;

    /// Lays out a projection `[outputs, inputs]`.
    fn matrix(&self, weight: Stored) -> Result<Self::Matrix>;
    /// Lays out a projection `[outputs, inputs]` whose weights stay in 32 bits.
    fn float_matrix(&self, weight: &Tensor) -> Result<Self::Matrix>;
    /// Converts a vector.
    fn vector(&self, weight: &Tensor) -> Result<Self::Vector>;
    /// Converts the token embedding.
    fn table(&self, weight: Stored) -> Result<Self::Table>;
    /// The token embedding as the output projection too, without a copy if possible.
    fn tied_output(&self, table: &Self::Table) -> Result<Self::Matrix>;
    /// Converts the rotations of rows.
    fn rotation(&self, rotation: Rotation) -> Result<Self::Rotation>;
    /// An empty sequence with capacity for some tokens.
    fn empty(&self, layers: usize, heads: &Heads, capacity: usize) -> Result<Self::Sequence>;

    /// The embeddings of tokens.
    fn embed(&self, table: &Self::Table, tokens: &[u32]) -> Result<Self::Rows>;
    /// Root-mean-square norm of each row.
    fn norm(&self, x: &Self::Rows, weight: &Self::Vector, epsilon: f32) -> Result<Self::Rows>;
    /// The product of each row with a projection.
    fn project(&self, x: &Self::Rows, matrix: &Self::Matrix) -> Result<Self::Rows>;
    /// `x + y`.
    fn add(&self, x: Self::Rows, y: &Self::Rows) -> Result<Self::Rows>;
    /// `x` plus `factor * y` in some of its rows; each of these has a factor and a row of `y`.
    fn add_rows(
        &self,
        x: Self::Rows,
        rows: &[usize],
        factors: &[f32],
        y: &Self::Rows,
    ) -> Result<Self::Rows>;
    /// `x + bias`, for each row.
    fn add_bias(&self, x: Self::Rows, bias: &Self::Vector) -> Result<Self::Rows>;
    /// `factor * x`.
    fn scale(&self, x: Self::Rows, factor: f32) -> Result<Self::Rows>;
    /// `activation(gate) * up`.
    ///
    /// # Shapes
    /// `gate_and_up`: `[rows, 2 * width]`, the gate in front; returns `[rows, width]`.
    fn gate(&self, gate_and_up: Self::Rows, activation: Activation) -> Result<Self::Rows>;
    /// Rotates queries and keys, stores keys and values after those of each run's sequence, and
    /// lets every row attend to all of its sequence up to itself.
    ///
    /// # Shapes
    /// `projected`: `[rows, (heads + 2 * kv_heads) * width]`, the runs' rows concatenated;
    /// returns `[rows, heads * width]`.
    fn attend(
        &self,
        projected: Self::Rows,
        layer: &AttentionLayer<'_, Self::Vector>,
        rotation: &Self::Rotation,
        inputs: &mut [Input<'_, Self::Sequence>],
    ) -> Result<Self::Rows>;
    /// Some of the rows.
    fn select(&self, x: &Self::Rows, rows: &[usize]) -> Result<Self::Rows>;
    /// Copies numbers, row by row, to the memory of the backend.
    fn upload(&self, numbers: Vec<f32>, width: usize) -> Result<Self::Rows>;
    /// Copies rows back, concatenated.
    fn download(&self, x: Self::Rows) -> Result<Vec<f32>>;
}

/// The rotations of queries and keys, per row.
pub(in crate::decoder) struct Rotation {
    /// `[rows, half]`; twice `half` is the rotated width of a head.
    pub(in crate::decoder) cos: Vec<f32>,
    /// `[rows, half]`
    pub(in crate::decoder) sin: Vec<f32>,
    pub(in crate::decoder) half: usize,
    /// The factors of each row's queries; empty if there are none.
    pub(in crate::decoder) query_factors: Vec<f32>,
}

/// The shape of attention.
#[derive(Debug, Clone, Copy)]
pub(in crate::decoder) struct Heads {
    /// Query heads.
    pub(in crate::decoder) queries: usize,
    /// Key and value heads; divides `queries`.
    pub(in crate::decoder) keys: usize,
    /// Width of a head.
    pub(in crate::decoder) width: usize,
    /// The factor of the products of queries and keys.
    pub(in crate::decoder) scale: f32,
    /// Epsilon of all norms.
    pub(in crate::decoder) epsilon: f32,
}

/// The properties of a layer that attention needs.
pub(in crate::decoder) struct AttentionLayer<'a, V> {
    pub(in crate::decoder) index: usize,
    pub(in crate::decoder) heads: &'a Heads,
    /// A token attends to at most this many tokens, itself included.
    pub(in crate::decoder) window: Option<usize>,
    /// Norms of each query and each key head, `[width]`.
    pub(in crate::decoder) norms: Option<&'a HeadNorms<V>>,
}

/// The norms of each query and key head.
pub(in crate::decoder) struct HeadNorms<V> {
    pub(in crate::decoder) query: V,
    pub(in crate::decoder) key: V,
}

/// New tokens of one sequence, which are consecutive rows of a batch.
pub(in crate::decoder) struct Input<'a, S> {
    pub(in crate::decoder) tokens: &'a [u32],
    pub(in crate::decoder) sequence: &'a mut S,
}

/// Keys and values of the tokens read so far, which other sequences can continue.
pub(in crate::decoder) trait Sequence: Send + Sync + Sized {
    /// Tokens read.
    fn length(&self) -> usize;
    /// Counts tokens, stored by every layer, as read.
    fn advance(&mut self, tokens: usize);
    /// Removes the last tokens, which this sequence itself has read.
    fn forget(&mut self, tokens: usize) -> Result<()>;
    /// A sequence that continues this one and shares its tokens, with capacity for more.
    fn branch(self: &Arc<Self>, capacity: usize) -> Result<Self>;
}

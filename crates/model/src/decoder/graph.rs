//! The forward pass: tokens in, hidden states and logits out. One graph serves every family and
//! every backend.

use std::sync::Arc;

use candle_core::Tensor;
use rayon::prelude::*;

use super::backend::{AttentionLayer, Backend, HeadNorms, Heads, Run, Sequence};
use super::config::DecoderConfig;
use super::error::DecoderError;
use super::family::Family;
use super::weights::{Part, Weights};

type Result<T> = std::result::Result<T, DecoderError>;

/// A decoder's weights in the layout of the forward pass, and what computes with them.
pub(super) struct Graph<B: Backend> {
    backend: B,
    network: Arc<Network<B>>,
}

/// A decoder's weights in the layout of the forward pass.
struct Network<B: Backend> {
    layers: usize,
    heads: Heads,
    epsilon: f32,
    frequencies: Vec<f64>,
    embedding: B::Table,
    blocks: Vec<Block<B>>,
    norm: B::Vector,
    output: B::Matrix,
}

struct Block<B: Backend> {
    attention_norm: B::Vector,
    query_key_value: B::Matrix,
    query_key_value_bias: Option<B::Vector>,
    head_norms: Option<HeadNorms<B::Vector>>,
    attention_output: B::Matrix,
    feed_forward_norm: B::Vector,
    gate_and_up: B::Matrix,
    down: B::Matrix,
}

/// New tokens of one sequence.
pub(super) struct Input<'a, S> {
    pub(super) tokens: &'a [u32],
    pub(super) sequence: &'a mut S,
}

impl<B: Backend> Graph<B> {
    /// Reads all weights; blocks are read in parallel.
    ///
    /// # Errors
    /// A missing, misshapen or unreadable tensor.
    pub(super) fn load(config: &DecoderConfig, weights: &Weights, backend: B) -> Result<Self> {
        let heads = Heads {
            queries: config.heads,
            keys: config.kv_heads,
            width: config.head_width,
            window: config.sliding_window,
            epsilon: config.norm_epsilon,
        };
        let embedding = backend.table(weights.embedding(config)?)?;
        let output = match weights.output(config)? {
            Some(own) => backend.matrix(own)?,
            None => backend.tied_output(&embedding)?,
        };
        let blocks = (0..config.layers)
            .into_par_iter()
            .map(|layer| Block::load(&backend, config, weights, layer))
            .collect::<Result<Vec<_>>>()?;
        let network = Network {
            layers: config.layers,
            heads,
            epsilon: config.norm_epsilon,
            frequencies: config.rope_frequencies(),
            embedding,
            norm: backend.vector(&weights.norm(config)?)?,
            blocks,
            output,
        };
        Ok(Self {
            network: Arc::new(network),
            backend,
        })
    }

    /// The same weights with another way to compute.
    pub(super) fn sharing(&self, backend: B) -> Self {
        Self {
            backend,
            network: Arc::clone(&self.network),
        }
    }

    /// Whether a projection fulfils a condition.
    pub(super) fn any_matrix(&self, condition: impl Fn(&B::Matrix) -> bool) -> bool {
        let of_block = |block: &Block<B>| {
            [
                &block.query_key_value,
                &block.attention_output,
                &block.gate_and_up,
                &block.down,
            ]
            .into_iter()
            .any(&condition)
        };
        condition(&self.network.output) || self.network.blocks.iter().any(of_block)
    }

    /// An empty sequence with capacity for some tokens.
    pub(super) fn empty(&self, capacity: usize) -> Result<B::Sequence> {
        self.backend
            .empty(self.network.layers, &self.network.heads, capacity)
    }

    /// Reads new tokens after those of their sequences, all in one batch, and returns the final,
    /// normalized hidden states of the selected rows, concatenated. Rows are numbered across all
    /// inputs.
    pub(super) fn forward(
        &self,
        inputs: &mut [Input<'_, B::Sequence>],
        selected: &[usize],
    ) -> Result<Vec<f32>> {
        in_pool(|| {
            let (x, _) = self.run(inputs, selected, self.network.blocks.len(), None)?;
            let x = self
                .backend
                .norm(&x, &self.network.norm, self.network.epsilon)?;
            self.backend.download(x)
        })
    }

    /// As [`Graph::forward`], but returns the residual stream after layer `layer`, not
    /// normalized. The sequences cannot be used afterwards.
    pub(super) fn residual(
        &self,
        inputs: &mut [Input<'_, B::Sequence>],
        selected: &[usize],
        layer: usize,
    ) -> Result<Vec<f32>> {
        in_pool(|| {
            let (x, _) = self.run(inputs, selected, layer, None)?;
            self.backend.download(x)
        })
    }

    /// As [`Graph::forward`], each row followed by its residual stream after layer `layer`.
    ///
    /// # Shapes
    /// Returns `[selected, 2 * hidden]`.
    pub(super) fn forward_with_residual(
        &self,
        inputs: &mut [Input<'_, B::Sequence>],
        selected: &[usize],
        layer: usize,
    ) -> Result<Vec<f32>> {
        in_pool(|| {
            let (x, residual) =
                self.run(inputs, selected, self.network.blocks.len(), Some(layer))?;
            let x = self
                .backend
                .norm(&x, &self.network.norm, self.network.epsilon)?;
            let last = self.backend.download(x)?;
            let residual = residual.map(|x| self.backend.download(x)).transpose()?;
            let residual = residual.unwrap_or_default();
            let width = (last.len() / selected.len().max(1)).max(1);
            let rows = last.chunks(width).zip(residual.chunks(width));
            Ok(rows
                .flat_map(|(last, residual)| [last, residual].concat())
                .collect())
        })
    }

    /// The residual stream of the selected rows after the first `blocks` blocks, and after the first
    /// `between` where that is requested too.
    fn run(
        &self,
        inputs: &mut [Input<'_, B::Sequence>],
        wanted: &[usize],
        blocks: usize,
        between: Option<usize>,
    ) -> Result<(B::Rows, Option<B::Rows>)> {
        let backend = &self.backend;
        let tokens: Vec<u32> = inputs.iter().flat_map(|i| i.tokens).copied().collect();
        let rotation = self.rotation(inputs)?;
        let mut runs: Vec<Run<'_, B::Sequence>> = inputs
            .iter_mut()
            .map(|input| Run {
                tokens: input.tokens.len(),
                sequence: input.sequence,
            })
            .collect();
        let mut x = backend.embed(&self.network.embedding, &tokens)?;
        if blocks == 0 {
            x = backend.select(&x, wanted)?;
        }
        let mut kept = match between {
            Some(0) => Some(backend.select(&x, wanted)?),
            _ => None,
        };
        for (layer, block) in self.network.blocks[..blocks].iter().enumerate() {
            // After the last attention no row needs the others.
            let selected = (layer + 1 == blocks).then_some(wanted);
            x = block.forward(self, layer, x, &rotation, &mut runs, selected)?;
            if between == Some(layer + 1) {
                let left: Vec<usize> = (0..wanted.len()).collect();
                let rows = if selected.is_some() {
                    left.as_slice()
                } else {
                    wanted
                };
                kept = Some(backend.select(&x, rows)?);
            }
        }
        for run in runs {
            run.sequence.advance(run.tokens);
        }
        Ok((x, kept))
    }

    /// The logits of what comes next.
    ///
    /// # Shapes
    /// `hidden`: `[rows, hidden]`, normalized; returns `[rows, vocabulary]`.
    pub(super) fn logits(&self, hidden: Vec<f32>, width: usize) -> Result<Vec<f32>> {
        in_pool(|| {
            let hidden = self.backend.upload(hidden, width)?;
            let logits = self.backend.project(&hidden, &self.network.output)?;
            self.backend.download(logits)
        })
    }

    fn rotation(&self, inputs: &[Input<'_, B::Sequence>]) -> Result<B::Rotation> {
        let half = self.network.frequencies.len();
        let rows: usize = inputs.iter().map(|input| input.tokens.len()).sum();
        let (mut cos, mut sin) = (
            Vec::with_capacity(rows * half),
            Vec::with_capacity(rows * half),
        );
        for input in inputs {
            let start = input.sequence.length();
            for position in start..start + input.tokens.len() {
                for frequency in &self.network.frequencies {
                    let (s, c) = (position as f64 * frequency).sin_cos();
                    cos.push(c as f32);
                    sin.push(s as f32);
                }
            }
        }
        self.backend.rotation(cos, sin, half)
    }
}

/// Runs a forward pass in a thread of the pool. From outside, each of its hundreds of parallel steps
/// would wait for a thread to wake up.
fn in_pool<R: Send>(pass: impl FnOnce() -> R + Send) -> R {
    rayon::scope(|_| pass())
}

impl<B: Backend> Block<B> {
    fn load(backend: &B, config: &DecoderConfig, weights: &Weights, layer: usize) -> Result<Self> {
        let queries = config.heads * config.head_width;
        let keys = config.kv_heads * config.head_width;
        let attention_parts = match config.family {
            Family::Phi3 => vec![(Part::QueryKeyValue, queries + 2 * keys)],
            Family::Llama | Family::Qwen2 | Family::Qwen3 => vec![
                (Part::Query, queries),
                (Part::Key, keys),
                (Part::Value, keys),
            ],
        };
        let width = config.intermediate;
        let gate_and_up_parts = match config.family {
            Family::Phi3 => vec![(Part::GateUp, 2 * width)],
            Family::Llama | Family::Qwen2 | Family::Qwen3 => {
                vec![(Part::Gate, width), (Part::Up, width)]
            }
        };
        let vector = |part, suffix, width| -> Result<B::Vector> {
            backend.vector(&weights.vector(layer, part, suffix, width)?)
        };
        let query_key_value_bias = if config.family == Family::Qwen2 {
            let biases = attention_parts
                .iter()
                .map(|&(part, rows)| weights.vector(layer, part, "bias", rows))
                .collect::<Result<Vec<_>>>()?;
            Some(backend.vector(&Tensor::cat(&biases, 0)?)?)
        } else {
            None
        };
        let head_norms = if config.family == Family::Qwen3 {
            Some(HeadNorms {
                query: vector(Part::QueryNorm, "weight", config.head_width)?,
                key: vector(Part::KeyNorm, "weight", config.head_width)?,
            })
        } else {
            None
        };
        let matrix = |parts: &[(Part, usize)], columns| -> Result<B::Matrix> {
            backend.matrix(weights.projection(config, layer, parts, columns)?)
        };
        Ok(Self {
            attention_norm: vector(Part::AttentionNorm, "weight", config.hidden)?,
            query_key_value: matrix(&attention_parts, config.hidden)?,
            query_key_value_bias,
            head_norms,
            attention_output: matrix(&[(Part::AttentionOutput, config.hidden)], queries)?,
            feed_forward_norm: vector(Part::FeedForwardNorm, "weight", config.hidden)?,
            gate_and_up: matrix(&gate_and_up_parts, config.hidden)?,
            down: matrix(&[(Part::Down, config.hidden)], config.intermediate)?,
        })
    }

    /// # Shapes
    /// `x`: `[rows, hidden]`; returns the same, or only the rows in `selected`.
    fn forward(
        &self,
        graph: &Graph<B>,
        index: usize,
        mut x: B::Rows,
        rotation: &B::Rotation,
        runs: &mut [Run<'_, B::Sequence>],
        selected: Option<&[usize]>,
    ) -> Result<B::Rows> {
        let backend = &graph.backend;
        let normalized = backend.norm(&x, &self.attention_norm, graph.network.epsilon)?;
        let mut projected = backend.project(&normalized, &self.query_key_value)?;
        if let Some(bias) = &self.query_key_value_bias {
            projected = backend.add_bias(projected, bias)?;
        }
        let layer = AttentionLayer {
            index,
            heads: &graph.network.heads,
            norms: self.head_norms.as_ref(),
        };
        let mut attended = backend.attend(projected, &layer, rotation, runs)?;
        if let Some(rows) = selected {
            (x, attended) = (backend.select(&x, rows)?, backend.select(&attended, rows)?);
        }
        let x = backend.add(x, &backend.project(&attended, &self.attention_output)?)?;
        let normalized = backend.norm(&x, &self.feed_forward_norm, graph.network.epsilon)?;
        let gated = backend.gate(backend.project(&normalized, &self.gate_and_up)?)?;
        backend.add(x, &backend.project(&gated, &self.down)?)
    }
}

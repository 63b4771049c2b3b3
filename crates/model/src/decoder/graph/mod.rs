//! The forward pass, from tokens to hidden states and logits. One graph serves every family and every backend.

pub(in crate::decoder) mod backend;
pub(in crate::decoder) mod block_matrix;
pub(in crate::decoder) mod cpu;
mod feed_forward;
pub(in crate::decoder) mod hidden;
pub(in crate::decoder) mod runtime;
use std::sync::Arc;

use candle_core::Tensor;
use rayon::prelude::*;

use crate::decoder::config::{Activation, DecoderConfig, Rotary};
use crate::decoder::error::DecoderError;
use crate::decoder::files::weights::{NormForm, Part, Weights};
use crate::decoder::graph::backend::{
    AttentionLayer, Backend, HeadNorms, Heads, Input, Rotation, Sequence,
};

use feed_forward::FeedForward;

type Result<T> = std::result::Result<T, DecoderError>;

/// A decoder's weights in the layout of the forward pass, with the backend that computes.
pub(in crate::decoder) struct Graph<B: Backend> {
    backend: B,
    network: Arc<Network<B>>,
}

/// A decoder's weights in the layout of the forward pass.
struct Network<B: Backend> {
    heads: Heads,
    activation: Activation,
    /// The factor of embeddings.
    embedding_scale: f32,
    /// The factor of the outputs of blocks.
    residual_scale: f32,
    /// The rotations of queries and keys that layers use.
    rotaries: Vec<Rotary>,
    embedding: B::Table,
    blocks: Vec<Block<B>>,
    norm: B::Vector,
    output: B::Matrix,
}

struct Block<B: Backend> {
    /// Index of its rotation.
    rotary: usize,
    /// A token attends to at most this many tokens, itself included.
    window: Option<usize>,
    attention_norm: B::Vector,
    query_key_value: B::Matrix,
    query_key_value_bias: Option<B::Vector>,
    head_norms: Option<HeadNorms<B::Vector>>,
    attention_output: B::Matrix,
    /// The norm of the output of attention.
    post_attention_norm: Option<B::Vector>,
    feed_forward_norm: B::Vector,
    feed_forward: FeedForward<B>,
    /// The norm of the output of the feed-forward layer.
    post_feed_forward_norm: Option<B::Vector>,
}

/// The requested hidden states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::decoder) enum Depth {
    /// The final ones, normalized, from which logits are computed.
    Final,
    /// The residual stream after this layer, not normalized. The sequences cannot be used afterwards.
    Residual(usize),
    /// The final ones, and the residual stream after this layer.
    FinalAndResidual(usize),
}

impl<B: Backend> Graph<B> {
    /// Reads all weights; blocks are read in parallel.
    ///
    /// # Errors
    /// A missing, misshapen or unreadable tensor.
    pub(in crate::decoder) fn load(
        config: &DecoderConfig,
        weights: &Weights,
        backend: B,
    ) -> Result<Self> {
        let heads = Heads {
            queries: config.heads,
            keys: config.kv_heads,
            width: config.head_width,
            scale: 1.0 / (config.query_scalar as f32).sqrt(),
            epsilon: config.norm_epsilon,
        };
        let embedding = backend.table(weights.embedding(config)?)?;
        let output = match weights.output(config)? {
            Some(own) => backend.matrix(own)?,
            None => backend.tied_output(&embedding)?,
        };
        let mut rotaries: Vec<Rotary> = Vec::new();
        let of_layers: Vec<usize> = (0..config.layers)
            .map(|layer| {
                let rotary = config.rotary(layer);
                let known = rotaries.iter().position(|known| *known == rotary);
                known.unwrap_or_else(|| {
                    rotaries.push(rotary);
                    rotaries.len() - 1
                })
            })
            .collect();
        let blocks = of_layers
            .into_par_iter()
            .enumerate()
            .map(|(layer, rotary)| Block::load(&backend, config, weights, layer, rotary))
            .collect::<Result<Vec<_>>>()?;
        let mut norm = weights.norm(config, NormForm::Whole)?;
        if config.logit_divisor != 1.0 {
            // Logits are proportional to it.
            norm = (norm / f64::from(config.logit_divisor))?;
        }
        let network = Network {
            heads,
            activation: config.activation,
            embedding_scale: config.embedding_scale,
            residual_scale: config.residual_scale,
            rotaries,
            embedding,
            norm: backend.vector(&norm)?,
            blocks,
            output,
        };
        Ok(Self {
            network: Arc::new(network),
            backend,
        })
    }

    /// The same weights with another backend.
    pub(in crate::decoder) fn sharing(&self, backend: B) -> Self {
        Self {
            backend,
            network: Arc::clone(&self.network),
        }
    }

    /// Whether a projection satisfies a condition.
    pub(in crate::decoder) fn any_matrix(&self, condition: impl Fn(&B::Matrix) -> bool) -> bool {
        let of_block = |block: &Block<B>| {
            condition(&block.query_key_value)
                || condition(&block.attention_output)
                || block.feed_forward.any_matrix(&condition)
        };
        condition(&self.network.output) || self.network.blocks.iter().any(of_block)
    }

    /// An empty sequence with capacity for some tokens.
    pub(in crate::decoder) fn empty(&self, capacity: usize) -> Result<B::Sequence> {
        let Network { blocks, heads, .. } = &*self.network;
        self.backend.empty(blocks.len(), heads, capacity)
    }

    /// Reads new tokens after those of their sequences, all in one batch, and returns the final hidden states of the
    /// selected rows and their residual streams, as the depth requests. Rows are numbered across all inputs.
    ///
    /// # Shapes
    /// Returns `[selected, hidden]` twice; what is not requested is empty.
    pub(in crate::decoder) fn forward(
        &self,
        inputs: &mut [Input<'_, B::Sequence>],
        selected: &[usize],
        depth: Depth,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let network = &self.network;
        let download = |x: B::Rows| self.backend.download(x);
        let between = match depth {
            Depth::Residual(layer) => {
                let (x, _) = self.run(inputs, selected, layer, None)?;
                return Ok((Vec::new(), download(x)?));
            }
            Depth::Final => None,
            Depth::FinalAndResidual(layer) => Some(layer),
        };
        let (x, residual) = self.run(inputs, selected, network.blocks.len(), between)?;
        let x = self
            .backend
            .norm(&x, &network.norm, network.heads.epsilon)?;
        Ok((download(x)?, residual.map_or(Ok(Vec::new()), download)?))
    }

    /// The residual stream of the selected rows after the first `blocks` blocks and, if requested, after the first
    /// `between`.
    fn run(
        &self,
        inputs: &mut [Input<'_, B::Sequence>],
        wanted: &[usize],
        blocks: usize,
        between: Option<usize>,
    ) -> Result<(B::Rows, Option<B::Rows>)> {
        let backend = &self.backend;
        let tokens: Vec<u32> = inputs.iter().flat_map(|i| i.tokens).copied().collect();
        let rotaries = self.network.rotaries.iter();
        let rotations = rotaries
            .map(|rotary| self.rotation(inputs, rotary))
            .collect::<Result<Vec<_>>>()?;
        let mut x = backend.embed(&self.network.embedding, &tokens)?;
        if self.network.embedding_scale != 1.0 {
            x = backend.scale(x, self.network.embedding_scale)?;
        }
        if blocks == 0 {
            x = backend.select(&x, wanted)?;
        }
        let mut kept = match between {
            Some(0) => Some(backend.select(&x, wanted)?),
            _ => None,
        };
        for (layer, block) in self.network.blocks[..blocks].iter().enumerate() {
            // After the last attention, no row needs the others.
            let selected = (layer + 1 == blocks).then_some(wanted);
            let rotation = &rotations[block.rotary];
            x = block.forward(self, layer, x, rotation, inputs, selected)?;
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
        for input in inputs {
            input.sequence.advance(input.tokens.len());
        }
        Ok((x, kept))
    }

    /// The residual stream `x` plus the output of a half of a block, which is normalized if there is a norm for it.
    fn added(&self, x: B::Rows, mut given: B::Rows, norm: Option<&B::Vector>) -> Result<B::Rows> {
        let (backend, network) = (&self.backend, &self.network);
        if let Some(weight) = norm {
            given = backend.norm(&given, weight, network.heads.epsilon)?;
        }
        if network.residual_scale != 1.0 {
            given = backend.scale(given, network.residual_scale)?;
        }
        backend.add(x, &given)
    }

    /// The logits of the next token.
    ///
    /// # Shapes
    /// `hidden`: `[rows, hidden]`, normalized; returns `[rows, vocabulary]`.
    pub(in crate::decoder) fn logits(&self, hidden: Vec<f32>, width: usize) -> Result<Vec<f32>> {
        let hidden = self.backend.upload(hidden, width)?;
        let logits = self.backend.project(&hidden, &self.network.output)?;
        self.backend.download(logits)
    }

    fn rotation(&self, inputs: &[Input<'_, B::Sequence>], rotary: &Rotary) -> Result<B::Rotation> {
        let half = rotary.half();
        let rows: usize = inputs.iter().map(|input| input.tokens.len()).sum();
        let (mut cos, mut sin) = (
            Vec::with_capacity(rows * half),
            Vec::with_capacity(rows * half),
        );
        let mut query_factors = Vec::new();
        for input in inputs {
            let start = input.sequence.length();
            for position in start..start + input.tokens.len() {
                rotary.turn(position, &mut cos, &mut sin);
                query_factors.extend(rotary.query_factor(position));
            }
        }
        self.backend.rotation(Rotation {
            cos,
            sin,
            half,
            query_factors,
        })
    }
}

impl<B: Backend> Block<B> {
    fn load(
        backend: &B,
        config: &DecoderConfig,
        weights: &Weights,
        layer: usize,
        rotary: usize,
    ) -> Result<Self> {
        let queries = config.heads * config.head_width;
        let family = config.family;
        let attention_parts = Part::of_attention(config);
        let norm = |part, width| -> Result<B::Vector> {
            backend.vector(&weights.block_norm(family, layer, part, width, NormForm::Whole)?)
        };
        let query_key_value_bias = if family.has_biases() {
            let biases = attention_parts
                .iter()
                .map(|&(part, rows)| weights.bias(layer, part, rows))
                .collect::<Result<Vec<_>>>()?;
            Some(backend.vector(&Tensor::cat(&biases, 0)?)?)
        } else {
            None
        };
        let head_norms = if family.norms_heads() {
            Some(HeadNorms {
                query: norm(Part::QueryNorm, config.head_width)?,
                key: norm(Part::KeyNorm, config.head_width)?,
            })
        } else {
            None
        };
        let of_output = |part| {
            let wanted = family.norms_outputs();
            wanted.then(|| norm(part, config.hidden)).transpose()
        };
        let matrix = |parts: &[(Part, usize)], columns| -> Result<B::Matrix> {
            backend.matrix(weights.projection(config, layer, parts, columns)?)
        };
        Ok(Self {
            rotary,
            window: config.window(layer),
            attention_norm: norm(Part::AttentionNorm, config.hidden)?,
            query_key_value: matrix(&attention_parts, config.hidden)?,
            query_key_value_bias,
            head_norms,
            attention_output: matrix(&[(Part::AttentionOutput, config.hidden)], queries)?,
            post_attention_norm: of_output(Part::PostAttentionNorm)?,
            feed_forward_norm: norm(Part::feed_forward_norm(family), config.hidden)?,
            feed_forward: FeedForward::load(backend, config, weights, layer)?,
            post_feed_forward_norm: of_output(Part::PostFeedForwardNorm)?,
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
        inputs: &mut [Input<'_, B::Sequence>],
        selected: Option<&[usize]>,
    ) -> Result<B::Rows> {
        let (backend, network) = (&graph.backend, &graph.network);
        let epsilon = network.heads.epsilon;
        let normalized = backend.norm(&x, &self.attention_norm, epsilon)?;
        let mut projected = backend.project(&normalized, &self.query_key_value)?;
        if let Some(bias) = &self.query_key_value_bias {
            projected = backend.add_bias(projected, bias)?;
        }
        let layer = AttentionLayer {
            index,
            heads: &network.heads,
            window: self.window,
            norms: self.head_norms.as_ref(),
        };
        let mut attended = backend.attend(projected, &layer, rotation, inputs)?;
        if let Some(rows) = selected {
            (x, attended) = (backend.select(&x, rows)?, backend.select(&attended, rows)?);
        }
        let attended = backend.project(&attended, &self.attention_output)?;
        let x = graph.added(x, attended, self.post_attention_norm.as_ref())?;
        let normalized = backend.norm(&x, &self.feed_forward_norm, epsilon)?;
        let given = self
            .feed_forward
            .forward(backend, &normalized, network.activation)?;
        graph.added(x, given, self.post_feed_forward_norm.as_ref())
    }
}

//! The forward pass: tokens in, hidden states and logits out. One graph serves every family.

use candle_core::{D, Device, Result, Tensor};
use candle_nn::ops::rms_norm;
use candle_nn::rotary_emb::rope_thd;
use rayon::prelude::*;

use super::cache::KvCache;
use super::config::{DecoderConfig, Family};
use super::error::DecoderError;
use super::fused::{causal_softmax, gated_silu};
use super::linear::{Embedding, Linear};
use super::weights::{Part, Weights};

/// A decoder's weights in the layout of the forward pass.
pub(super) struct Graph {
    config: DecoderConfig,
    frequencies: Vec<f64>,
    embedding: Embedding,
    blocks: Vec<Block>,
    norm: Tensor,
    output: Linear,
}

struct Block {
    attention_norm: Tensor,
    query_key_value: Linear,
    query_key_value_bias: Option<Tensor>,
    head_norms: Option<HeadNorms>,
    attention_output: Linear,
    feed_forward_norm: Tensor,
    gate_up: Linear,
    down: Linear,
}

/// Qwen3's norms of each query and key head. Shapes `[head_width]`.
struct HeadNorms {
    query: Tensor,
    key: Tensor,
}

/// Cosines and sines of the new tokens' positions. Shapes `[tokens, head_width / 2]`.
struct Rotation {
    cos: Tensor,
    sin: Tensor,
}

impl Graph {
    /// Reads all weights; blocks are read in parallel.
    ///
    /// # Errors
    /// A missing, misshapen or unreadable tensor.
    pub(super) fn load(config: DecoderConfig, weights: &Weights) -> Result2<Self> {
        let (embedding, norm, output) = weights.ends(&config)?;
        let blocks = (0..config.layers)
            .into_par_iter()
            .map(|layer| Block::load(&config, weights, layer))
            .collect::<Result2<Vec<_>>>()?;
        let frequencies = config.rope_frequencies();
        Ok(Self {
            config,
            frequencies,
            embedding,
            blocks,
            norm,
            output,
        })
    }

    pub(super) fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// A cache for one sequence.
    pub(super) fn empty_cache(&self) -> Result<KvCache> {
        KvCache::new(
            self.config.layers,
            self.config.kv_heads,
            self.config.head_width,
        )
    }

    /// Reads tokens behind those in the cache and returns their final, normalized hidden states.
    ///
    /// # Shapes
    /// Returns `[tokens, hidden]`.
    pub(super) fn forward(&self, tokens: &[u32], cache: &mut KvCache) -> Result<Tensor> {
        let ids = Tensor::new(tokens, &Device::Cpu)?;
        let mut x = self.embedding.forward(&ids)?;
        let rotation = self.rotation(cache.length(), tokens.len())?;
        cache.reserve(tokens.len())?;
        for (layer, block) in self.blocks.iter().enumerate() {
            x = block.forward(&self.config, &x, &rotation, layer, cache)?;
        }
        cache.advance(tokens.len());
        rms_norm(&x, &self.norm, self.config.norm_epsilon)
    }

    /// # Shapes
    /// `hidden`: `[tokens, hidden]`; returns `[tokens, vocabulary]`.
    pub(super) fn logits(&self, hidden: &Tensor) -> Result<Tensor> {
        self.output.forward(&hidden.contiguous()?)
    }

    fn rotation(&self, start: usize, tokens: usize) -> Result<Rotation> {
        let half = self.frequencies.len();
        let (mut cos, mut sin) = (
            Vec::with_capacity(tokens * half),
            Vec::with_capacity(tokens * half),
        );
        for position in start..start + tokens {
            for frequency in &self.frequencies {
                let (s, c) = (position as f64 * frequency).sin_cos();
                cos.push(c as f32);
                sin.push(s as f32);
            }
        }
        Ok(Rotation {
            cos: Tensor::from_vec(cos, (tokens, half), &Device::Cpu)?,
            sin: Tensor::from_vec(sin, (tokens, half), &Device::Cpu)?,
        })
    }
}

type Result2<T> = std::result::Result<T, DecoderError>;

impl Block {
    fn load(config: &DecoderConfig, weights: &Weights, layer: usize) -> Result2<Self> {
        let queries = config.heads * config.head_width;
        let keys = config.kv_heads * config.head_width;
        let (attention_parts, feed_forward_parts) = match config.family {
            Family::Phi3 => (
                vec![(Part::QueryKeyValue, queries + 2 * keys)],
                vec![(Part::GateUp, 2 * config.intermediate)],
            ),
            Family::Llama | Family::Qwen2 | Family::Qwen3 => (
                vec![
                    (Part::Query, queries),
                    (Part::Key, keys),
                    (Part::Value, keys),
                ],
                vec![
                    (Part::Gate, config.intermediate),
                    (Part::Up, config.intermediate),
                ],
            ),
        };
        let query_key_value_bias = if config.family == Family::Qwen2 {
            let biases = attention_parts
                .iter()
                .map(|&(part, rows)| weights.vector(layer, part, "bias", rows))
                .collect::<Result2<Vec<_>>>()?;
            Some(Tensor::cat(&biases, 0)?)
        } else {
            None
        };
        let head_norms = if config.family == Family::Qwen3 {
            Some(HeadNorms {
                query: weights.vector(layer, Part::QueryNorm, "weight", config.head_width)?,
                key: weights.vector(layer, Part::KeyNorm, "weight", config.head_width)?,
            })
        } else {
            None
        };
        let linear =
            |parts: &[(Part, usize)], columns| weights.linear(config, layer, parts, columns);
        let norm = |part| weights.vector(layer, part, "weight", config.hidden);
        Ok(Self {
            attention_norm: norm(Part::AttentionNorm)?,
            query_key_value: linear(&attention_parts, config.hidden)?,
            query_key_value_bias,
            head_norms,
            attention_output: linear(&[(Part::AttentionOutput, config.hidden)], queries)?,
            feed_forward_norm: norm(Part::FeedForwardNorm)?,
            gate_up: linear(&feed_forward_parts, config.hidden)?,
            down: linear(&[(Part::Down, config.hidden)], config.intermediate)?,
        })
    }

    /// # Shapes
    /// `x`: `[tokens, hidden]`; returns the same.
    fn forward(
        &self,
        config: &DecoderConfig,
        x: &Tensor,
        rotation: &Rotation,
        layer: usize,
        cache: &KvCache,
    ) -> Result<Tensor> {
        let normalized = rms_norm(x, &self.attention_norm, config.norm_epsilon)?;
        let attended = self.attend(config, &normalized, rotation, layer, cache)?;
        let x = (x + self.attention_output.forward(&attended)?)?;
        let normalized = rms_norm(&x, &self.feed_forward_norm, config.norm_epsilon)?;
        let activated = gated_silu(&self.gate_up.forward(&normalized)?)?;
        &x + self.down.forward(&activated)?
    }

    /// Grouped-query attention of the new tokens over all read so far.
    ///
    /// # Shapes
    /// `x`: `[tokens, hidden]`; returns `[tokens, heads * head_width]`.
    fn attend(
        &self,
        config: &DecoderConfig,
        x: &Tensor,
        rotation: &Rotation,
        layer: usize,
        cache: &KvCache,
    ) -> Result<Tensor> {
        let tokens = x.dim(0)?;
        let (heads, kv_heads, width) = (config.heads, config.kv_heads, config.head_width);
        let mut projected = self.query_key_value.forward(x)?;
        if let Some(bias) = &self.query_key_value_bias {
            projected = projected.broadcast_add(bias)?;
        }
        let split = |start: usize, heads: usize| {
            projected
                .narrow(D::Minus1, start * width, heads * width)?
                .reshape((1, tokens, heads, width))
        };
        let mut queries = split(0, heads)?.contiguous()?;
        let mut keys = split(heads, kv_heads)?.contiguous()?;
        let values = split(heads + kv_heads, kv_heads)?;
        if let Some(norms) = &self.head_norms {
            queries = rms_norm(&queries, &norms.query, config.norm_epsilon)?;
            keys = rms_norm(&keys, &norms.key, config.norm_epsilon)?;
        }
        let queries = rope_thd(&queries, &rotation.cos, &rotation.sin)?;
        let keys = rope_thd(&keys, &rotation.cos, &rotation.sin)?;

        // Heads first; the query heads that share a key head stand one below the other.
        let heads_first = |t: &Tensor| t.squeeze(0)?.transpose(0, 1)?.contiguous();
        let group = heads / kv_heads;
        let queries = heads_first(&queries)?.reshape((kv_heads, group * tokens, width))?;
        let (keys, values) = cache.append(layer, &heads_first(&keys)?, &heads_first(&values)?)?;

        let weights = queries.matmul(&keys.transpose(1, 2)?)?;
        let scale = 1.0 / (width as f32).sqrt();
        causal_softmax(&weights, tokens, scale, config.sliding_window)?;
        weights
            .matmul(&values)?
            .reshape((heads, tokens, width))?
            .transpose(0, 1)?
            .reshape((tokens, heads * width))
    }
}

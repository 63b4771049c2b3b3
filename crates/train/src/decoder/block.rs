//! One transformer block in training.

use std::sync::Arc;

use candle_core::{Result as CandleResult, Tensor};
use ken_model::decoder::DecoderConfig;

use super::parts::{Linear, Weights};
use crate::error::TrainError;
use crate::ops::{self, AttentionShape, Dropout};

pub(super) struct Block {
    attention_norm: Tensor,
    queries_keys_values: Stacked,
    /// Qwen3's norms of query and key heads.
    head_norms: Option<(Tensor, Tensor)>,
    attention_output: Linear,
    feed_forward_norm: Tensor,
    gate_and_up: Stacked,
    down: Linear,
}

/// Projections of the same input: separate, or, in Phi-3, fused into one.
enum Stacked {
    Apart(Vec<Linear>),
    Fused { linear: Linear, widths: Vec<usize> },
}

impl Stacked {
    fn project(
        &self,
        x: &Tensor,
        first: u64,
        dropout: &dyn Fn(u64) -> Option<Dropout>,
    ) -> CandleResult<Vec<Tensor>> {
        match self {
            Self::Apart(parts) => (first..)
                .zip(parts)
                .map(|(module, part)| part.project(x, dropout(module)))
                .collect(),
            Self::Fused { linear, widths } => {
                let y = linear.project(x, dropout(first))?;
                let mut from = 0;
                widths
                    .iter()
                    .map(|&width| {
                        let part = y.narrow(1, from, width)?.contiguous();
                        from += width;
                        part
                    })
                    .collect()
            }
        }
    }
}

impl Block {
    pub(super) fn new(
        weights: &mut Weights<'_>,
        config: &DecoderConfig,
        layer: usize,
    ) -> Result<Self, TrainError> {
        let name = |part: &str| format!("model.layers.{layer}.{part}");
        let stacked = |weights: &mut Weights<'_>,
                       parts: &[(&str, usize)],
                       fused: &str|
         -> Result<Stacked, TrainError> {
            if weights.has(&name(fused)) {
                return Ok(Stacked::Fused {
                    linear: weights.linear(&name(fused))?,
                    widths: parts.iter().map(|&(_, width)| width).collect(),
                });
            }
            let parts = parts
                .iter()
                .map(|(part, _)| weights.linear(&name(part)))
                .collect::<Result<_, _>>()?;
            Ok(Stacked::Apart(parts))
        };
        let queries = config.heads * config.head_width;
        let keys = config.kv_heads * config.head_width;
        let attention = [
            ("self_attn.q_proj", queries),
            ("self_attn.k_proj", keys),
            ("self_attn.v_proj", keys),
        ];
        let feed_forward = [
            ("mlp.gate_proj", config.intermediate),
            ("mlp.up_proj", config.intermediate),
        ];
        let head_norms = (
            weights.optional(&name("self_attn.q_norm.weight"))?,
            weights.optional(&name("self_attn.k_norm.weight"))?,
        );
        Ok(Self {
            attention_norm: weights.table(&name("input_layernorm.weight"))?,
            queries_keys_values: stacked(weights, &attention, "self_attn.qkv_proj")?,
            head_norms: head_norms.0.zip(head_norms.1),
            attention_output: weights.linear(&name("self_attn.o_proj"))?,
            feed_forward_norm: weights.table(&name("post_attention_layernorm.weight"))?,
            gate_and_up: stacked(weights, &feed_forward, "mlp.gate_up_proj")?,
            down: weights.linear(&name("mlp.down_proj"))?,
        })
    }

    /// # Shapes
    /// `x`: `[rows, hidden]`; returns the same. `dropout` is called once per projection.
    pub(super) fn forward(
        &self,
        x: &Tensor,
        shape: &Arc<AttentionShape>,
        epsilon: f32,
        dropout: &dyn Fn(u64) -> Option<Dropout>,
    ) -> CandleResult<Tensor> {
        let normalized = ops::rms_norm(x, &self.attention_norm, epsilon)?;
        let projected = self.queries_keys_values.project(&normalized, 0, dropout)?;
        let [queries, keys, values] = <[Tensor; 3]>::try_from(projected)
            .map_err(|_| candle_core::Error::msg("three projections were expected"))?;
        let (queries, keys) = match &self.head_norms {
            None => (queries, keys),
            Some((query, key)) => {
                let by_head = |x: &Tensor, norm: &Tensor| -> CandleResult<Tensor> {
                    let heads = x.reshape(((), shape.width))?;
                    ops::rms_norm(&heads, norm, epsilon)?.reshape(x.shape())
                };
                (by_head(&queries, query)?, by_head(&keys, key)?)
            }
        };
        let attended = ops::attend(&queries, &keys, &values, shape)?;
        let x = (x + self.attention_output.project(&attended, dropout(3))?)?;
        let normalized = ops::rms_norm(&x, &self.feed_forward_norm, epsilon)?;
        let projected = self.gate_and_up.project(&normalized, 4, dropout)?;
        let [gate, up] = <[Tensor; 2]>::try_from(projected)
            .map_err(|_| candle_core::Error::msg("two projections were expected"))?;
        let gated = ops::gate(&gate, &up)?;
        x + self.down.project(&gated, dropout(6))?
    }
}

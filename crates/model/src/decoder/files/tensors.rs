//! The forward pass on candle's tensors: for GPUs, and wherever gradients are needed. Every operation has a gradient.

use std::sync::Arc;

use candle_core::{D, DType, Device, Tensor};
use candle_nn::ops::{rms_norm_slow, softmax};
use candle_nn::rotary_emb::rope_slow;

use crate::decoder::config::Activation;
use crate::decoder::error::DecoderError;
use crate::decoder::files::stored_weights::Stored;
use crate::decoder::graph::backend::{AttentionLayer, Backend, Heads, Input, Rotation, Sequence};

type Result<T> = std::result::Result<T, DecoderError>;

/// The backend on tensors.
pub(in crate::decoder) struct Tensors {
    pub(in crate::decoder) device: Device,
}

/// Cosines and sines, each `[rows, half]`, and the factors of queries, `[1, rows, 1]`.
pub(in crate::decoder) struct Turns {
    cos: Tensor,
    sin: Tensor,
    query_factors: Option<Tensor>,
}

impl Turns {
    /// Rotates the beginning of each head. Heads come first in the result, as products need them.
    ///
    /// # Shapes
    /// `x`: `[rows, heads, width]`; returns `[heads, rows, width]`.
    fn turned(&self, x: &Tensor) -> Result<Tensor> {
        let width = x.dim(2)?;
        let turned = 2 * self.cos.dim(1)?;
        let x = x.transpose(0, 1)?.contiguous()?.unsqueeze(0)?;
        let first = x.narrow(3, 0, turned)?.contiguous()?;
        let first = rope_slow(&first, &self.cos, &self.sin)?;
        let rest = x.narrow(3, turned, width - turned)?;
        let whole = match turned < width {
            true => Tensor::cat(&[&first, &rest], 3)?,
            false => first,
        };
        Ok(whole.squeeze(0)?)
    }
}

/// Keys and values of each layer, `[kv_heads, length, width]`.
#[derive(Clone)]
pub(in crate::decoder) struct TensorSequence {
    layers: Vec<Option<(Tensor, Tensor)>>,
    length: usize,
}

impl Sequence for TensorSequence {
    fn length(&self) -> usize {
        self.length
    }

    fn advance(&mut self, tokens: usize) {
        self.length += tokens;
    }

    fn forget(&mut self, tokens: usize) -> Result<()> {
        self.length -= tokens;
        for (keys, values) in self.layers.iter_mut().flatten() {
            *keys = keys.narrow(1, 0, self.length)?;
            *values = values.narrow(1, 0, self.length)?;
        }
        Ok(())
    }

    fn branch(self: &Arc<Self>, _capacity: usize) -> Result<Self> {
        // Tensors are shared, never changed.
        Ok(Self::clone(self))
    }
}

impl Backend for Tensors {
    type Rows = Tensor;
    type Matrix = Tensor;
    type Vector = Tensor;
    type Table = Tensor;
    type Rotation = Turns;
    type Sequence = TensorSequence;

    fn matrix(&self, weight: Stored) -> Result<Tensor> {
        Ok(weight.dense()?.to_device(&self.device)?.t()?)
    }

    fn float_matrix(&self, weight: &Tensor) -> Result<Tensor> {
        Ok(weight.to_device(&self.device)?.t()?)
    }

    fn vector(&self, weight: &Tensor) -> Result<Tensor> {
        Ok(weight.to_device(&self.device)?)
    }

    fn table(&self, weight: Stored) -> Result<Tensor> {
        Ok(weight.dense()?.to_device(&self.device)?)
    }

    fn tied_output(&self, table: &Tensor) -> Result<Tensor> {
        Ok(table.t()?)
    }

    fn rotation(&self, rotation: Rotation) -> Result<Turns> {
        let factors = rotation.query_factors;
        let rows = factors.len();
        let factors = (rows > 0).then(|| Tensor::from_vec(factors, (1, rows, 1), &self.device));
        Ok(Turns {
            cos: self.upload(rotation.cos, rotation.half)?,
            sin: self.upload(rotation.sin, rotation.half)?,
            query_factors: factors.transpose()?,
        })
    }

    fn empty(&self, layers: usize, _heads: &Heads, _capacity: usize) -> Result<TensorSequence> {
        Ok(TensorSequence {
            layers: vec![None; layers],
            length: 0,
        })
    }

    fn embed(&self, table: &Tensor, tokens: &[u32]) -> Result<Tensor> {
        Ok(table.index_select(&Tensor::new(tokens, &self.device)?, 0)?)
    }

    fn norm(&self, x: &Tensor, weight: &Tensor, epsilon: f32) -> Result<Tensor> {
        Ok(rms_norm_slow(x, weight, epsilon)?)
    }

    fn project(&self, x: &Tensor, matrix: &Tensor) -> Result<Tensor> {
        Ok(x.matmul(matrix)?)
    }

    fn add(&self, x: Tensor, y: &Tensor) -> Result<Tensor> {
        Ok((x + y)?)
    }

    fn add_rows(&self, x: Tensor, rows: &[usize], factors: &[f32], y: &Tensor) -> Result<Tensor> {
        let rows: Vec<u32> = rows.iter().map(|&row| row as u32).collect();
        let factors = Tensor::new(factors, &self.device)?.unsqueeze(1)?;
        let index = Tensor::new(rows, &self.device)?;
        Ok(x.index_add(&index, &y.broadcast_mul(&factors)?, 0)?)
    }

    fn add_bias(&self, x: Tensor, bias: &Tensor) -> Result<Tensor> {
        Ok(x.broadcast_add(bias)?)
    }

    fn scale(&self, x: Tensor, factor: f32) -> Result<Tensor> {
        Ok((x * f64::from(factor))?)
    }

    fn gate(&self, gate_and_up: Tensor, activation: Activation) -> Result<Tensor> {
        let width = gate_and_up.dim(1)? / 2;
        let (gate, up) = (
            gate_and_up.narrow(1, 0, width)?,
            gate_and_up.narrow(1, width, width)?,
        );
        let gate = match activation {
            Activation::Silu => gate.silu()?,
            // candle's `gelu` is the approximation, `gelu_erf` the exact function.
            Activation::GeluTanh => gate.contiguous()?.gelu()?,
        };
        Ok((gate * up)?)
    }

    fn attend(
        &self,
        projected: Tensor,
        layer: &AttentionLayer<'_, Tensor>,
        turns: &Turns,
        inputs: &mut [Input<'_, TensorSequence>],
    ) -> Result<Tensor> {
        let heads = layer.heads;
        let rows = projected.dim(0)?;
        let split = |start: usize, count: usize| -> Result<Tensor> {
            Ok(projected
                .narrow(1, start * heads.width, count * heads.width)?
                .reshape((rows, count, heads.width))?)
        };
        let mut queries = split(0, heads.queries)?;
        let mut keys = split(heads.queries, heads.keys)?;
        let values = split(heads.queries + heads.keys, heads.keys)?;
        if let Some(norms) = layer.norms {
            queries = rms_norm_slow(&queries.contiguous()?, &norms.query, heads.epsilon)?;
            keys = rms_norm_slow(&keys.contiguous()?, &norms.key, heads.epsilon)?;
        }
        let (mut queries, keys) = (turns.turned(&queries)?, turns.turned(&keys)?);
        if let Some(factors) = &turns.query_factors {
            queries = queries.broadcast_mul(factors)?;
        }
        let values = values.transpose(0, 1)?.contiguous()?;

        let mut outputs = Vec::with_capacity(inputs.len());
        let mut first = 0;
        for Input { tokens, sequence } in inputs {
            let of_run = |x: &Tensor| x.narrow(1, first, tokens.len());
            let (new_keys, new_values) = (of_run(&keys)?, of_run(&values)?);
            let (keys, values) = match &sequence.layers[layer.index] {
                Some((keys, values)) => (
                    Tensor::cat(&[keys, &new_keys], 1)?,
                    Tensor::cat(&[values, &new_values], 1)?,
                ),
                None => (new_keys.contiguous()?, new_values.contiguous()?),
            };
            let start = sequence.length;
            outputs.push(self.attend_run(&of_run(&queries)?, &keys, &values, layer, start)?);
            sequence.layers[layer.index] = Some((keys, values));
            first += tokens.len();
        }
        Ok(Tensor::cat(&outputs, 0)?)
    }

    fn select(&self, x: &Tensor, rows: &[usize]) -> Result<Tensor> {
        let rows: Vec<u32> = rows.iter().map(|&row| row as u32).collect();
        Ok(x.index_select(&Tensor::new(rows, &self.device)?, 0)?)
    }

    fn upload(&self, numbers: Vec<f32>, width: usize) -> Result<Tensor> {
        let rows = numbers.len() / width;
        Ok(Tensor::from_vec(numbers, (rows, width), &self.device)?)
    }

    fn download(&self, x: Tensor) -> Result<Vec<f32>> {
        Ok(x.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?)
    }
}

impl Tensors {
    /// # Shapes
    /// `queries`: `[heads, tokens, width]`; `keys`, `values`: `[kv_heads, length, width]`;
    /// returns `[tokens, heads * width]`.
    fn attend_run(
        &self,
        queries: &Tensor,
        keys: &Tensor,
        values: &Tensor,
        layer: &AttentionLayer<'_, Tensor>,
        start: usize,
    ) -> Result<Tensor> {
        let heads = layer.heads;
        let (_, tokens, width) = queries.dims3()?;
        let length = start + tokens;
        let group = heads.queries / heads.keys;
        // The query heads that share a key head are stacked.
        let queries = queries
            .contiguous()?
            .reshape((heads.keys, group * tokens, width))?;
        let scale = f64::from(heads.scale);
        let scores = (queries.matmul(&keys.transpose(1, 2)?.contiguous()?)? * scale)?;
        let hidden: Vec<f32> = (0..group * tokens)
            .flat_map(|row| {
                let position = start + row % tokens;
                (0..length).map(move |key| {
                    let seen = key <= position && layer.window.is_none_or(|w| position - key < w);
                    if seen { 0.0 } else { f32::NEG_INFINITY }
                })
            })
            .collect();
        let mask = self.upload(hidden, length)?;
        let weights = softmax(&scores.broadcast_add(&mask)?, D::Minus1)?;
        Ok(weights
            .matmul(values)?
            .reshape((heads.queries, tokens, width))?
            .transpose(0, 1)?
            .reshape((tokens, heads.queries * width))?)
    }
}

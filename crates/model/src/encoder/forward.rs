//! The forward pass of a BERT-family network over several sequences at once. The sequences lie one
//! after the other as rows of one matrix, so nothing is padded or masked: the linear layers see all
//! rows together, and attention sees each sequence by itself. It does no tokenization and no
//! pooling.

use gemm::Parallelism;

use super::error::EncoderError;
use super::kernels::{Output, View, gelu, layer_norm, matmul, softmax};
use super::settings::Dimensions;
use super::weights::{Layer, Linear, Weights};

/// The final hidden states of the sequences, one after the other.
///
/// # Shapes
/// `sequences`: token ids, none longer than the model's positions; the result: `[sum of the
/// lengths, hidden]`.
pub(super) fn hidden_states(
    weights: &Weights,
    dim: &Dimensions,
    sequences: &[&[u32]],
    parallelism: Parallelism,
) -> Result<Vec<f32>, EncoderError> {
    let mut states = embed_tokens(weights, dim, sequences)?;
    for layer in &weights.layers {
        attend(layer, dim, sequences, &mut states, parallelism);
        feed_forward(layer, dim, &mut states, parallelism);
    }
    Ok(states)
}

fn embed_tokens(
    weights: &Weights,
    dim: &Dimensions,
    sequences: &[&[u32]],
) -> Result<Vec<f32>, EncoderError> {
    let tokens: usize = sequences.iter().map(|sequence| sequence.len()).sum();
    let mut states = vec![0.0; tokens * dim.hidden];
    let first = dim.first_position * dim.hidden;
    let mut rows = states.chunks_exact_mut(dim.hidden);
    for sequence in sequences {
        let positions = weights.positions[first..].chunks_exact(dim.hidden);
        for ((&id, position), row) in sequence.iter().zip(positions).zip(&mut rows) {
            weights.words.row(id, row)?;
            for (x, position) in row.iter_mut().zip(position) {
                *x += position;
            }
        }
    }
    layer_norm(
        &mut states,
        &weights.norm.scale,
        &weights.norm.shift,
        dim.epsilon,
    );
    Ok(states)
}

/// Self-attention, its output projection, the residual and the normalization, in place.
fn attend(
    layer: &Layer,
    dim: &Dimensions,
    sequences: &[&[u32]],
    states: &mut [f32],
    parallelism: Parallelism,
) {
    let hidden = dim.hidden;
    let width = hidden / dim.heads;
    let scale = 1.0 / (width as f32).sqrt();
    let projected = affine(&layer.attention, states, hidden, parallelism);
    let mut context = vec![0.0; states.len()];
    let mut scores = Vec::new();
    let mut first = 0;
    for sequence in sequences {
        let length = sequence.len();
        scores.resize(length * length, 0.0);
        let square = View {
            start: 0,
            stride: length,
        };
        for head in 0..dim.heads {
            // The query, key or value of this head, where `part` is 0, 1 or 2.
            let view = |part: usize| View {
                start: first * 3 * hidden + part * hidden + head * width,
                stride: 3 * hidden,
            };
            let out = View {
                start: first * hidden + head * width,
                stride: hidden,
            };
            matmul(
                (length, width, length),
                (&projected, view(0)),
                (&projected, view(1)),
                true,
                scale,
                (&mut scores, square),
                Output::Replace,
                parallelism,
            );
            softmax(&mut scores, length);
            matmul(
                (length, length, width),
                (&scores, square),
                (&projected, view(2)),
                false,
                1.0,
                (&mut context, out),
                Output::Replace,
                parallelism,
            );
        }
        first += length;
    }
    add_affine(&layer.attention_out, &context, hidden, states, parallelism);
    layer_norm(
        states,
        &layer.attention_norm.scale,
        &layer.attention_norm.shift,
        dim.epsilon,
    );
}

/// The two-layer network of each token, the residual and the normalization, in place.
fn feed_forward(layer: &Layer, dim: &Dimensions, states: &mut [f32], parallelism: Parallelism) {
    let mut wide = affine(&layer.widen, states, dim.hidden, parallelism);
    gelu(&mut wide);
    add_affine(&layer.narrow, &wide, dim.intermediate, states, parallelism);
    layer_norm(states, &layer.norm.scale, &layer.norm.shift, dim.epsilon);
}

/// `rows * weight + bias`, where `rows` is `[n, inputs]`.
fn affine(linear: &Linear, rows: &[f32], inputs: usize, parallelism: Parallelism) -> Vec<f32> {
    let count = rows.len() / inputs;
    let mut out = linear.bias.repeat(count);
    product(linear, rows, count, &mut out, parallelism);
    out
}

/// `out += rows * weight + bias`, where `rows` is `[n, inputs]` and `out` is `[n, outputs]`.
fn add_affine(
    linear: &Linear,
    rows: &[f32],
    inputs: usize,
    out: &mut [f32],
    parallelism: Parallelism,
) {
    for row in out.chunks_exact_mut(linear.bias.len()) {
        for (x, bias) in row.iter_mut().zip(&linear.bias) {
            *x += bias;
        }
    }
    product(linear, rows, rows.len() / inputs, out, parallelism);
}

fn product(linear: &Linear, rows: &[f32], count: usize, out: &mut [f32], parallelism: Parallelism) {
    let outputs = linear.bias.len();
    let inputs = linear.weight.len() / outputs;
    matmul(
        (count, inputs, outputs),
        (
            rows,
            View {
                start: 0,
                stride: inputs,
            },
        ),
        (
            &linear.weight,
            View {
                start: 0,
                stride: outputs,
            },
        ),
        false,
        1.0,
        (
            out,
            View {
                start: 0,
                stride: outputs,
            },
        ),
        Output::Add,
        parallelism,
    );
}

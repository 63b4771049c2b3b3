//! The forward pass by its definition: plain loops over f64, one token after the other. Shares nothing with the
//! library; slow.

use ken_model::decoder::Family;
use ken_testing::with;

use super::checkpoint::{LONGER, NORM_EPSILON, Rope, Tensors, Tiny};

/// The rotary frequencies of a layer. Shape: half the rotated width.
fn frequencies_of(tiny: &Tiny, layer: usize) -> Vec<f64> {
    match tiny.local_rope_base.filter(|_| tiny.is_local(layer)) {
        Some(rope_base) => {
            frequencies(&with!(tiny.clone(), rope_base: rope_base, rope: Rope::Plain))
        }
        None => frequencies(tiny),
    }
}

/// The factor of rotated queries and keys.
pub(super) fn magnitude(tiny: &Tiny) -> f64 {
    match &tiny.rope {
        Rope::Plain | Rope::Linear(_) | Rope::Llama3(..) => 1.0,
        // Growing queries replace it.
        Rope::Yarn(..) if tiny.growth.is_some() => 1.0,
        Rope::Yarn(factor, ..) => 1.0 + factor.ln() / 10.0,
        Rope::Long(_, original) => (1.0 + f64::from(LONGER).ln() / (*original as f64).ln()).sqrt(),
    }
}

/// The rotary frequencies of global layers. Shape: half the rotated width.
pub(super) fn frequencies(tiny: &Tiny) -> Vec<f64> {
    let mut frequencies = Vec::new();
    let width = tiny.rotated_width();
    for pair in 0..width / 2 {
        let exponent = (2 * pair) as f64 / width as f64;
        let plain = 1.0 / tiny.rope_base.powf(exponent);
        frequencies.push(match &tiny.rope {
            Rope::Plain => plain,
            Rope::Linear(factor) => plain / factor,
            Rope::Long(factors, _) => plain / f64::from(factors[pair]),
            Rope::Yarn(factor, fast, slow, original) => {
                // The index of the pair that turns this often over the original context.
                let index = |turns: f64| {
                    let radians = turns * 2.0 * std::f64::consts::PI / *original as f64;
                    -radians.ln() / tiny.rope_base.ln() * width as f64 / 2.0
                };
                let (first, last) = (index(*fast).floor().max(0.0), index(*slow).ceil());
                let divided = ((pair as f64 - first) / (last - first)).clamp(0.0, 1.0);
                plain * (1.0 - divided) + plain / factor * divided
            }
            Rope::Llama3(factor, low, high, original) => {
                // Turns over the original context; few turns are stretched, many are not.
                let turns = *original as f64 * plain / (2.0 * std::f64::consts::PI);
                let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                kept * plain + (1.0 - kept) * plain / factor
            }
        });
    }
    frequencies
}

/// Natural-log probabilities of every token after each token.
///
/// # Shapes
/// Returns `[tokens, vocabulary]`.
pub(super) fn log_probabilities(tiny: &Tiny, weights: &Tensors, tokens: &[u32]) -> Vec<Vec<f64>> {
    let numbers = |name: &str| -> Vec<f64> {
        weights[name]
            .1
            .iter()
            .map(|&number| f64::from(number))
            .collect()
    };
    let embedding = numbers("model.embed_tokens.weight");
    let gemma = tiny.family == Family::Gemma3;
    let [embedding_factor, _, residual_factor, logit_divisor] = factors(tiny);
    let row = |token: u32| -> Vec<f64> {
        let start = token as usize * tiny.hidden;
        let scale = if gemma {
            (tiny.hidden as f64).sqrt()
        } else {
            embedding_factor
        };
        let row = &embedding[start..start + tiny.hidden];
        row.iter().map(|number| number * scale).collect()
    };
    let norm_weight = |name: &str| -> Vec<f64> {
        let offset = f64::from(tiny.norm_offset());
        numbers(name).iter().map(|number| number + offset).collect()
    };
    let mut states: Vec<Vec<f64>> = tokens.iter().map(|&token| row(token)).collect();
    for layer in 0..tiny.layers {
        let of = |name: &str| {
            let name = format!("model.layers.{layer}.{name}");
            if name.ends_with("norm.weight") {
                norm_weight(&name)
            } else {
                numbers(&name)
            }
        };
        let norm = of("input_layernorm.weight");
        let normed: Vec<Vec<f64>> = states.iter().map(|state| rms(state, &norm)).collect();
        let attended = attention(tiny, layer, &of, &normed);
        for (state, attended) in states.iter_mut().zip(&attended) {
            let mut output = multiply(&of("self_attn.o_proj.weight"), attended);
            if gemma {
                output = rms(&output, &of("post_attention_layernorm.weight"));
            }
            output.iter_mut().for_each(|x| *x *= residual_factor);
            add(state, &output);
        }
        let norm = if gemma {
            of("pre_feedforward_layernorm.weight")
        } else {
            of("post_attention_layernorm.weight")
        };
        for state in &mut states {
            let normed = rms(state, &norm);
            let mut output = feed_forward(tiny, layer, &of, &normed);
            if gemma {
                output = rms(&output, &of("post_feedforward_layernorm.weight"));
            }
            output.iter_mut().for_each(|x| *x *= residual_factor);
            add(state, &output);
        }
    }
    let norm = norm_weight("model.norm.weight");
    let output = if tiny.tied {
        embedding
    } else {
        numbers("lm_head.weight")
    };
    states
        .iter()
        .map(|state| {
            let mut logits = multiply(&output, &rms(state, &norm));
            logits.iter_mut().for_each(|x| *x /= logit_divisor);
            let sum: f64 = logits.iter().map(|logit| logit.exp()).sum();
            logits.iter().map(|logit| logit - sum.ln()).collect()
        })
        .collect()
}

/// The output of the feed-forward layer for a token, or of the experts that it uses.
fn feed_forward(
    tiny: &Tiny,
    layer: usize,
    of: &dyn Fn(&str) -> Vec<f64>,
    normed: &[f64],
) -> Vec<f64> {
    let part = |name: &str, part: &str| of(&format!("{name}.{part}.weight"));
    if let Some(experts) = tiny.experts_in(layer) {
        let logits = multiply(&of("mlp.gate.weight"), normed);
        let mut order: Vec<usize> = (0..experts.count).collect();
        order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
        let exponential = |&expert: &usize| logits[expert].exp();
        let all = match experts.normalized {
            true => &order[..experts.used],
            false => &order[..],
        };
        let total: f64 = all.iter().map(exponential).sum();
        let mut sum = vec![0.0; tiny.hidden];
        for expert in &order[..experts.used] {
            let name = format!("mlp.experts.{expert}");
            let [gate, up, down] = ["gate_proj", "up_proj", "down_proj"].map(|p| part(&name, p));
            let given = gated(tiny, &gate, &up, &down, normed);
            let weight = exponential(expert) / total;
            add(
                &mut sum,
                &given.iter().map(|x| x * weight).collect::<Vec<_>>(),
            );
        }
        return sum;
    }
    let (gate, up) = if tiny.family == Family::Phi3 {
        let mut both = of("mlp.gate_up_proj.weight");
        let up = both.split_off(tiny.intermediate * tiny.hidden);
        (both, up)
    } else {
        (part("mlp", "gate_proj"), part("mlp", "up_proj"))
    };
    gated(tiny, &gate, &up, &part("mlp", "down_proj"), normed)
}

/// A gated feed-forward layer.
fn gated(tiny: &Tiny, gate: &[f64], up: &[f64], down: &[f64], normed: &[f64]) -> Vec<f64> {
    let silu = |x: f64| x / (1.0 + (-x).exp());
    let activated: Vec<f64> = multiply(gate, normed)
        .iter()
        .zip(&multiply(up, normed))
        .map(|(&g, u)| match tiny.family {
            Family::Gemma3 => gelu(g) * u,
            _ => silu(g) * u,
        })
        .collect();
    multiply(down, &activated)
}

/// The factors of the embedding, of attention and of the outputs of blocks, and the divisor of the logits.
fn factors(tiny: &Tiny) -> [f64; 4] {
    tiny.factors.unwrap_or([1.0; 4]).map(f64::from)
}

/// The output of attention for each token, all heads side by side.
fn attention(
    tiny: &Tiny,
    layer: usize,
    of: &dyn Fn(&str) -> Vec<f64>,
    normed: &[Vec<f64>],
) -> Vec<Vec<f64>> {
    let width = tiny.head_width;
    let scalar = tiny.query_scalar.unwrap_or(width as f64);
    let scale = match tiny.factors {
        Some(_) => factors(tiny)[1],
        None => 1.0 / scalar.sqrt(),
    };
    let [queries, keys, values] = projections(tiny, layer, of, normed);
    let mut gathered = vec![vec![0.0; tiny.heads * width]; normed.len()];
    for head in 0..tiny.heads {
        let kv_head = head / (tiny.heads / tiny.kv_heads);
        for position in 0..normed.len() {
            let first = tiny
                .window
                .filter(|_| tiny.is_local(layer))
                .map_or(0, |window| (position + 1).saturating_sub(window));
            let query = &queries[position][head * width..(head + 1) * width];
            let mut weights = Vec::new();
            for key in &keys[first..=position] {
                let key = &key[kv_head * width..(kv_head + 1) * width];
                let product: f64 = query.iter().zip(key).map(|(q, k)| q * k).sum();
                weights.push((product * scale).exp());
            }
            let total: f64 = weights.iter().sum();
            for (value, weight) in values[first..=position].iter().zip(&weights) {
                for i in 0..width {
                    gathered[position][head * width + i] +=
                        weight / total * value[kv_head * width + i];
                }
            }
        }
    }
    gathered
}

/// Queries, keys and values of every token; queries and keys normalized and rotated.
fn projections(
    tiny: &Tiny,
    layer: usize,
    of: &dyn Fn(&str) -> Vec<f64>,
    normed: &[Vec<f64>],
) -> [Vec<Vec<f64>>; 3] {
    let (queries, keys) = (
        tiny.heads * tiny.head_width,
        tiny.kv_heads * tiny.head_width,
    );
    let matrices = if tiny.family == Family::Phi3 {
        let all = of("self_attn.qkv_proj.weight");
        let (query, rest) = all.split_at(queries * tiny.hidden);
        let (key, value) = rest.split_at(keys * tiny.hidden);
        [query.to_vec(), key.to_vec(), value.to_vec()]
    } else {
        ["q", "k", "v"].map(|name| of(&format!("self_attn.{name}_proj.weight")))
    };
    let mut projected = matrices.map(|matrix| {
        normed
            .iter()
            .map(|state| multiply(&matrix, state))
            .collect::<Vec<_>>()
    });
    for (name, vectors) in ["q", "k", "v"].iter().zip(&mut projected) {
        for (position, vector) in vectors.iter_mut().enumerate() {
            if tiny.family == Family::Qwen2 {
                add(vector, &of(&format!("self_attn.{name}_proj.bias")));
            }
            if *name == "v" {
                continue;
            }
            for head in vector.chunks_mut(tiny.head_width) {
                if tiny.norms_heads() {
                    let normed = rms(head, &of(&format!("self_attn.{name}_norm.weight")));
                    head.copy_from_slice(&normed);
                }
                if !tiny.rotates(layer) {
                    continue;
                }
                rotate(head, position, &frequencies_of(tiny, layer));
                head[..tiny.rotated_width()]
                    .iter_mut()
                    .for_each(|number| *number *= magnitude(tiny));
                if let (Some(rate), Rope::Yarn(.., original), "q") =
                    (tiny.growth, &tiny.rope, *name)
                {
                    let windows = (position / original) as f64;
                    let factor = 1.0 + rate * (1.0 + windows).ln();
                    head.iter_mut().for_each(|number| *number *= factor);
                }
            }
        }
    }
    projected
}

fn rotate(head: &mut [f64], position: usize, frequencies: &[f64]) {
    let half = frequencies.len();
    for (pair, frequency) in frequencies.iter().enumerate() {
        let angle = position as f64 * frequency;
        let (a, b) = (head[pair], head[half + pair]);
        head[pair] = a * angle.cos() - b * angle.sin();
        head[half + pair] = b * angle.cos() + a * angle.sin();
    }
}

/// GELU, approximated by the hyperbolic tangent.
fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    0.5 * x * (1.0 + inner.tanh())
}

fn rms(vector: &[f64], weight: &[f64]) -> Vec<f64> {
    let mean = vector.iter().map(|x| x * x).sum::<f64>() / vector.len() as f64;
    let scale = 1.0 / (mean + NORM_EPSILON).sqrt();
    vector
        .iter()
        .zip(weight)
        .map(|(x, w)| x * scale * w)
        .collect()
}

fn multiply(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    matrix
        .chunks(vector.len())
        .map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
        .collect()
}

fn add(to: &mut [f64], what: &[f64]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += what;
    }
}

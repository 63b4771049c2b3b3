//! Writes a tiny decoder as llama.cpp's converter does: its names, its row order, its metadata.

use std::io::Cursor;
use std::path::Path;

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use ken_model::decoder::Family;
use ken_testing::with;

use super::checkpoint::{LONGER, NORM_EPSILON, Rope, Tensors, Tiny};
use super::vocabulary;

/// Writes the decoder to `path` and returns its weights, as quantized.
pub(super) fn write(tiny: &Tiny, dtype: GgmlDType, path: &Path) -> Tensors {
    let weights = tiny.weights();
    let (bytes, kept) = bytes(
        tiny,
        &weights,
        dtype,
        &metadata(tiny, vocabulary::gguf_metadata()),
    );
    std::fs::write(path, bytes).unwrap();
    kept
}

/// The file of these weights, and the weights after quantization. Vectors stay in F32.
pub(super) fn bytes(
    tiny: &Tiny,
    weights: &Tensors,
    dtype: GgmlDType,
    metadata: &[(String, Value)],
) -> (Vec<u8>, Tensors) {
    let mut kept = Tensors::new();
    let mut tensors = Vec::new();
    let weights = &stacked(tiny, weights);
    for (name, (shape, numbers)) in weights {
        let permuted = tiny.pairs_rows()
            && (name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight"));
        let order = if permuted {
            pairs_together(shape[0], tiny.head_width)
        } else {
            (0..shape[0]).collect()
        };
        let columns: usize = shape[1..].iter().product();
        let is_norm = name.ends_with("norm.weight");
        let offset = if is_norm { tiny.norm_offset() } else { 0.0 };
        let stored: Vec<f32> = order
            .iter()
            .flat_map(|&row| numbers[row * columns..(row + 1) * columns].iter().copied())
            .map(|number| number + offset)
            .collect();
        let tensor = Tensor::from_vec(stored, shape.clone(), &Device::Cpu).unwrap();
        let dtype = if shape.len() == 1 || name.ends_with("mlp.gate.weight") {
            GgmlDType::F32
        } else {
            dtype
        };
        let tensor = QTensor::quantize(&tensor, dtype).unwrap();
        let read: Vec<f32> = tensor
            .dequantize(&Device::Cpu)
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1()
            .unwrap();
        let mut back = vec![0.0; read.len()];
        for (place, &row) in order.iter().enumerate() {
            let read = read[place * columns..(place + 1) * columns].iter();
            let back = &mut back[row * columns..(row + 1) * columns];
            for (back, number) in back.iter_mut().zip(read) {
                *back = number - offset;
            }
        }
        match name.split_once("experts.") {
            None => drop(kept.insert(name.clone(), (shape.clone(), back))),
            Some((before, part)) => {
                for (expert, back) in back.chunks(columns).enumerate() {
                    let name = format!("{before}experts.{expert}.{part}");
                    kept.insert(name, (shape[1..].to_vec(), back.to_vec()));
                }
            }
        }
        tensors.push((gguf_name(tiny.family, name), tensor));
    }
    if let Some((name, factors)) = rope_factors(tiny) {
        let factors = Tensor::new(factors, &Device::Cpu).unwrap();
        tensors.push((
            name.to_owned(),
            QTensor::quantize(&factors, GgmlDType::F32).unwrap(),
        ));
    }
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(k, v)| (k.as_str(), v)).collect();
    let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let mut file = Cursor::new(Vec::new());
    gguf_file::write(&mut file, &metadata, &tensors).unwrap();
    (file.into_inner(), kept)
}

/// The weights, with those of experts in one tensor per layer and part.
fn stacked(tiny: &Tiny, weights: &Tensors) -> Tensors {
    let mut stacked = weights.clone();
    let layers = (0..tiny.layers).filter_map(|layer| Some((layer, tiny.experts_in(layer)?)));
    for (layer, experts) in layers {
        for part in ["gate_proj", "up_proj", "down_proj"] {
            let mut all = (Vec::new(), Vec::new());
            for expert in 0..experts.count {
                let name = format!("model.layers.{layer}.mlp.experts.{expert}.{part}.weight");
                let (shape, numbers) = stacked.remove(&name).unwrap();
                all.0 = [vec![experts.count], shape].concat();
                all.1.extend(numbers);
            }
            let name = format!("model.layers.{layer}.mlp.experts.{part}.weight");
            stacked.insert(name, all);
        }
    }
    stacked
}

/// The metadata of the architecture, with those of the tokenizer.
pub(super) fn metadata(tiny: &Tiny, tokenizer: Vec<(String, Value)>) -> Vec<(String, Value)> {
    let architecture = match tiny.model_type {
        "mistral" | "ministral" => "llama",
        "ministral3" => "mistral3",
        "qwen3_moe" => "qwen3moe",
        "gemma3_text" => "gemma3",
        other => other,
    };
    let mut metadata = tokenizer;
    metadata.push((
        "general.architecture".to_owned(),
        Value::String(architecture.to_owned()),
    ));
    let mut add = |key: &str, value| metadata.push((format!("{architecture}.{key}"), value));
    add("embedding_length", Value::U32(tiny.hidden as u32));
    add("feed_forward_length", Value::U32(tiny.intermediate as u32));
    add("block_count", Value::U32(tiny.layers as u32));
    add("attention.head_count", Value::U32(tiny.heads as u32));
    add("attention.head_count_kv", Value::U32(tiny.kv_heads as u32));
    if tiny.head_width * tiny.heads != tiny.hidden || tiny.family == Family::Gemma3 {
        add("attention.key_length", Value::U32(tiny.head_width as u32));
    }
    add(
        "attention.layer_norm_rms_epsilon",
        Value::F32(NORM_EPSILON as f32),
    );
    add(
        "rope.dimension_count",
        Value::U32(tiny.rotated_width() as u32),
    );
    add("rope.freq_base", Value::F32(tiny.rope_base as f32));
    if let Some(window) = tiny.window {
        add("attention.sliding_window", Value::U32(window as u32));
    }
    if let Some(period) = tiny.period {
        add(
            "attention.sliding_window_pattern",
            Value::U32(period as u32),
        );
    }
    if let Some(base) = tiny.local_rope_base {
        add("rope.freq_base_swa", Value::F32(base as f32));
    }
    if let Some(experts) = tiny.experts {
        add("expert_count", Value::U32(experts.count as u32));
        add("expert_used_count", Value::U32(experts.used as u32));
        add(
            "expert_feed_forward_length",
            Value::U32(experts.width as u32),
        );
    }
    if let Some([embedding, attention, residual, logits]) = tiny.factors {
        add("embedding_scale", Value::F32(embedding));
        add("attention.scale", Value::F32(attention));
        add("residual_scale", Value::F32(residual));
        add("logit_scale", Value::F32(logits));
    }
    let mut context = tiny.context;
    match &tiny.rope {
        Rope::Plain | Rope::Llama3(..) => {}
        Rope::Linear(factor) => {
            add("rope.scaling.type", Value::String("linear".to_owned()));
            add("rope.scaling.factor", Value::F32(*factor as f32));
        }
        Rope::Yarn(factor, fast, slow, original) => {
            add("rope.scaling.type", Value::String("yarn".to_owned()));
            add("rope.scaling.factor", Value::F32(*factor as f32));
            add("rope.scaling.yarn_beta_fast", Value::F32(*fast as f32));
            add("rope.scaling.yarn_beta_slow", Value::F32(*slow as f32));
            add(
                "rope.scaling.original_context_length",
                Value::U32(*original as u32),
            );
            if let Some(rate) = tiny.growth {
                add("attention.temperature_scale", Value::F32(rate as f32));
                add("rope.scaling.yarn_log_multiplier", Value::F32(1.0));
            }
        }
        Rope::Long(_, original) => {
            context = original * LONGER as usize;
            add(
                "rope.scaling.attn_factor",
                Value::F32(super::reference::magnitude(tiny) as f32),
            );
            add(
                "rope.scaling.original_context_length",
                Value::U32(*original as u32),
            );
        }
    }
    add("context_length", Value::U32(context as u32));
    metadata
}

/// llama.cpp stores the stretching of Llama 3 and Phi-3 as one divisor per frequency.
fn rope_factors(tiny: &Tiny) -> Option<(&'static str, Vec<f32>)> {
    match &tiny.rope {
        Rope::Plain | Rope::Linear(_) | Rope::Yarn(..) => None,
        Rope::Long(factors, _) => Some(("rope_factors_short.weight", factors.clone())),
        Rope::Llama3(..) => {
            let plain = with!(tiny.clone(), rope: Rope::Plain);
            let stretched = super::reference::frequencies(tiny);
            let factors = super::reference::frequencies(&plain)
                .into_iter()
                .zip(stretched);
            Some((
                "rope_freqs.weight",
                factors.map(|(a, b)| (a / b) as f32).collect(),
            ))
        }
    }
}

/// Where each row goes so that the two rows of a rotary pair are side by side.
fn pairs_together(rows: usize, head_width: usize) -> Vec<usize> {
    let half = head_width / 2;
    let mut order = Vec::new();
    for head in 0..rows / head_width {
        for pair in 0..half {
            order.push(head * head_width + pair);
            order.push(head * head_width + half + pair);
        }
    }
    order
}

fn gguf_name(family: Family, name: &str) -> String {
    let after_attention = if family == Family::Gemma3 {
        "post_attention_norm"
    } else {
        "ffn_norm"
    };
    let plain = name
        .replace("model.embed_tokens", "token_embd")
        .replace("model.norm", "output_norm")
        .replace("lm_head", "output")
        .replace("model.layers.", "blk.");
    let parts = [
        ("post_attention_layernorm", after_attention),
        ("pre_feedforward_layernorm", "ffn_norm"),
        ("post_feedforward_layernorm", "post_ffw_norm"),
        ("input_layernorm", "attn_norm"),
        ("self_attn.qkv_proj", "attn_qkv"),
        ("self_attn.q_proj", "attn_q"),
        ("self_attn.k_proj", "attn_k"),
        ("self_attn.v_proj", "attn_v"),
        ("self_attn.o_proj", "attn_output"),
        ("self_attn.q_norm", "attn_q_norm"),
        ("self_attn.k_norm", "attn_k_norm"),
        ("mlp.experts.gate_proj", "ffn_gate_exps"),
        ("mlp.experts.up_proj", "ffn_up_exps"),
        ("mlp.experts.down_proj", "ffn_down_exps"),
        ("mlp.gate_up_proj", "ffn_up"),
        ("mlp.gate_proj", "ffn_gate"),
        ("mlp.up_proj", "ffn_up"),
        ("mlp.down_proj", "ffn_down"),
        ("mlp.gate.", "ffn_gate_inp."),
    ];
    parts
        .iter()
        .fold(plain, |name, (from, to)| name.replace(from, to))
}

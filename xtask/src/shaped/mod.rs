//! A decoder with the shape of a known one and random weights, as a GGUF file in the mix of types that llama.cpp
//! calls Q4_K_M: to measure what a model of that size costs if no real one is at hand.

mod file;
mod weights;

use std::path::Path;

use anyhow::{Context, Result};

use self::file::{Entry, Value};
use self::weights::Stored;

/// The shape of a decoder of the Llama family.
#[derive(Debug, Clone, Copy)]
struct Shape {
    name: &'static str,
    layers: usize,
    hidden: usize,
    heads: usize,
    kv_heads: usize,
    intermediate: usize,
    vocabulary: usize,
    context: usize,
    rope_base: f32,
    /// The scaling of rotary frequencies; `None` for none.
    rope: Option<Llama3Rope>,
}

/// Llama 3.1's scaling of rotary frequencies.
#[derive(Debug, Clone, Copy)]
struct Llama3Rope {
    factor: f64,
    low: f64,
    high: f64,
    original_context: f64,
}

const SHAPES: &[Shape] = &[Shape {
    name: "llama3-8b",
    layers: 32,
    hidden: 4096,
    heads: 32,
    kv_heads: 8,
    intermediate: 14_336,
    vocabulary: 128_256,
    context: 131_072,
    rope_base: 500_000.0,
    rope: Some(Llama3Rope {
        factor: 8.0,
        low: 1.0,
        high: 4.0,
        original_context: 8192.0,
    }),
}];

/// Writes a decoder of a shape.
pub(crate) fn write(shape: &str, path: &Path) -> Result<()> {
    let known = || {
        let names: Vec<&str> = SHAPES.iter().map(|shape| shape.name).collect();
        format!("unknown shape {shape}; known: {}", names.join(", "))
    };
    let shape = SHAPES.iter().find(|known| known.name == shape);
    let shape = shape.with_context(known)?;
    let written = file::write(path, &shape.metadata(), &shape.tensors());
    written.with_context(|| format!("cannot write {}", path.display()))
}

impl Shape {
    fn metadata(&self) -> Vec<(&'static str, Value)> {
        let number = |n: usize| Value::U32(n as u32);
        let tokens = tokens(self.vocabulary);
        let special = tokens.len() - SPECIAL.len();
        let types = (0..tokens.len()).map(|token| match token {
            _ if token >= special => CONTROL,
            _ if token > BYTES => UNUSED,
            _ => NORMAL,
        });
        let types = types.collect();
        vec![
            ("general.architecture", Value::text("llama")),
            ("general.name", Value::text(self.name)),
            ("general.file_type", Value::U32(Q4_K_M)),
            ("llama.vocab_size", number(self.vocabulary)),
            ("llama.context_length", number(self.context)),
            ("llama.embedding_length", number(self.hidden)),
            ("llama.block_count", number(self.layers)),
            ("llama.feed_forward_length", number(self.intermediate)),
            ("llama.rope.dimension_count", number(self.head_width())),
            ("llama.attention.head_count", number(self.heads)),
            ("llama.attention.head_count_kv", number(self.kv_heads)),
            ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
            ("llama.rope.freq_base", Value::F32(self.rope_base)),
            ("tokenizer.ggml.model", Value::text("gpt2")),
            ("tokenizer.ggml.pre", Value::text("llama-bpe")),
            ("tokenizer.ggml.tokens", Value::Texts(tokens)),
            ("tokenizer.ggml.token_type", Value::I32s(types)),
            (
                "tokenizer.ggml.merges",
                Value::Texts(vec!["t h".to_owned()]),
            ),
            ("tokenizer.ggml.bos_token_id", number(special)),
            ("tokenizer.ggml.eos_token_id", number(special + 1)),
            ("tokenizer.ggml.add_bos_token", Value::Bool(true)),
        ]
    }

    fn tensors(&self) -> Vec<Entry> {
        let (hidden, wide) = (self.hidden, self.intermediate);
        let keys = self.kv_heads * self.head_width();
        let entry = |name: String, rows: usize, columns: usize, stored: Stored| Entry {
            name,
            shape: vec![columns, rows],
            stored,
        };
        let vector = |name: String, numbers: Vec<f32>| Entry {
            name,
            shape: vec![numbers.len()],
            stored: Stored::F32(numbers),
        };
        // Projections into the residual stream are smaller, the more blocks there are (GPT-2).
        let residual = SPREAD / (2.0 * self.layers as f32).sqrt();
        let table = |name: &str| format!("{name}.weight");
        let mut tensors = vec![
            entry(
                table("token_embd"),
                self.vocabulary,
                hidden,
                Stored::Q4K(SPREAD),
            ),
            vector(table("output_norm"), vec![1.0; hidden]),
            entry(
                table("output"),
                self.vocabulary,
                hidden,
                Stored::Q6K(SPREAD),
            ),
        ];
        tensors.extend(self.rope.map(|rope| {
            let factors = rope.factors(self.head_width(), f64::from(self.rope_base));
            vector(table("rope_freqs"), factors)
        }));
        for layer in 0..self.layers {
            let finer = |spread| match has_more_bits(layer, self.layers) {
                true => Stored::Q6K(spread),
                false => Stored::Q4K(spread),
            };
            let name = |part: &str| format!("blk.{layer}.{part}.weight");
            tensors.extend([
                vector(name("attn_norm"), vec![1.0; hidden]),
                entry(name("attn_q"), hidden, hidden, Stored::Q4K(SPREAD)),
                entry(name("attn_k"), keys, hidden, Stored::Q4K(SPREAD)),
                entry(name("attn_v"), keys, hidden, finer(SPREAD)),
                entry(name("attn_output"), hidden, hidden, Stored::Q4K(residual)),
                vector(name("ffn_norm"), vec![1.0; hidden]),
                entry(name("ffn_gate"), wide, hidden, Stored::Q4K(SPREAD)),
                entry(name("ffn_up"), wide, hidden, Stored::Q4K(SPREAD)),
                entry(name("ffn_down"), hidden, wide, finer(residual)),
            ]);
        }
        tensors
    }

    fn head_width(&self) -> usize {
        self.hidden / self.heads
    }
}

/// Standard deviation of the weights (GPT-2).
const SPREAD: f32 = 0.02;

/// The format's number of this mix of types.
const Q4_K_M: u32 = 15;

/// Whether llama.cpp gives values and down projections of a layer more bits: in the first eighth, the
/// last one, and every third between.
fn has_more_bits(layer: usize, layers: usize) -> bool {
    let eighth = layers / 8;
    layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2
}

impl Llama3Rope {
    /// One divisor for each frequency. Length: half a head's width.
    fn factors(&self, head_width: usize, base: f64) -> Vec<f32> {
        let frequencies = (0..head_width / 2).map(|i| {
            let wavelength = std::f64::consts::TAU * base.powf(2.0 * i as f64 / head_width as f64);
            let turns = self.original_context / wavelength;
            let share = ((turns - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
            1.0 / (share + (1.0 - share) / self.factor)
        });
        frequencies.map(|factor| factor as f32).collect()
    }
}

/// Types of tokens in the format.
const NORMAL: i32 = 1;
const CONTROL: i32 = 3;
const UNUSED: i32 = 5;

/// Tokens of one byte, which come first.
const BYTES: usize = 256;

/// The last tokens of the vocabulary: the beginning and the end of a text.
const SPECIAL: [&str; 2] = ["<|begin_of_text|>", "<|end_of_text|>"];

/// All bytes as byte-level BPE writes them, `th`, which is the only merge, and as many more as needed.
fn tokens(count: usize) -> Vec<String> {
    let mut hidden = 256;
    let bytes = (0..=u8::MAX).map(|byte| {
        // Invisible bytes are written as characters from 256 on.
        let seen = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..);
        let code = if seen {
            u32::from(byte)
        } else {
            hidden += 1;
            hidden - 1
        };
        char::from_u32(code).map_or_else(String::new, String::from)
    });
    let mut tokens: Vec<String> = bytes.chain(["th".to_owned()]).collect();
    let unused = count.saturating_sub(tokens.len() + SPECIAL.len());
    tokens.extend((0..unused).map(|i| format!("<|unused_{i}|>")));
    tokens.extend(SPECIAL.map(str::to_owned));
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_as_long_as_its_tensors_say() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.gguf");
        let shape = Shape {
            name: "small",
            layers: 8,
            hidden: 256,
            heads: 4,
            kv_heads: 2,
            intermediate: 512,
            vocabulary: 300,
            ..SHAPES[0]
        };
        file::write(&path, &shape.metadata(), &shape.tensors()).unwrap();
        let blocks = |weights: usize, bytes: usize| weights / 256 * bytes;
        let (hidden, wide) = (256, 512);
        let each = blocks(hidden * (2 * hidden + hidden / 2 + 2 * wide), 144) + 8 * hidden;
        let finer = hidden * (hidden / 2 + wide);
        let ends = blocks(300 * hidden, 144 + 210) + 4 * hidden + 4 * 32;
        // Of eight layers the first and the last, and two between.
        let data = 8 * each + 4 * blocks(finer, 210) + 4 * blocks(finer, 144) + ends;
        let bytes = std::fs::metadata(&path).unwrap().len() as usize;
        let header = bytes - data;
        // A header, and less than 32 bytes after each tensor.
        assert!((5_000..20_000).contains(&header), "{header}");
    }

    #[test]
    fn eight_billion_weights_take_as_much_as_those_of_llama() {
        let bytes: usize = SHAPES[0].tensors().iter().map(Entry::bytes).sum();
        assert!((4_900_000_000..4_930_000_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn every_byte_has_a_token_of_its_own() {
        let mut tokens = tokens(300);
        assert_eq!(tokens.len(), 300);
        assert_eq!((tokens[65].as_str(), tokens[32].as_str()), ("A", "Ġ"));
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens.len(), 300);
    }
}

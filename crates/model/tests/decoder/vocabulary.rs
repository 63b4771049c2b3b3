//! A byte-level BPE vocabulary of forty tokens, as `tokenizer.json` and as GGUF metadata.

use candle_core::quantized::gguf_file::Value as Gguf;
use serde_json::{Value, json};

/// Letters, a space, some marks and the results of the merges; the first two are special.
pub(super) const TOKENS: [&str; 40] = [
    "<s>", "</s>", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
    "q", "r", "s", "t", "u", "v", "w", "x", "y", "z", "Ġ", ".", ",", "th", "the", "in", "er", "an",
    "Ġthe", "ing", "Ġa", "re",
];
pub(super) const BEGINNING: u32 = 0;
pub(super) const END: u32 = 1;
const MERGES: [&str; 9] = [
    "t h", "th e", "i n", "e r", "a n", "Ġ the", "in g", "Ġ a", "r e",
];
const CHAT: &str = "{{ bos_token }}{% for m in messages %}{{ m.role }},{{ m.content }}.{% endfor %}{% if add_generation_prompt %}assistant,{% endif %}";

/// The `tokenizer.json`: puts `<s>` before every text.
pub(super) fn tokenizer_json() -> Value {
    let special = |id: u32| {
        json!({
            "id": id, "content": TOKENS[id as usize], "special": true, "normalized": false,
            "single_word": false, "lstrip": false, "rstrip": false,
        })
    };
    let vocabulary: serde_json::Map<String, Value> = TOKENS
        .iter()
        .enumerate()
        .map(|(id, token)| ((*token).to_owned(), json!(id)))
        .collect();
    let bytes = json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true,
    });
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [special(BEGINNING), special(END)],
        "normalizer": null,
        "pre_tokenizer": bytes,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [BEGINNING], "tokens": ["<s>"]}},
        },
        "decoder": bytes,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": MERGES},
    })
}

/// The `tokenizer_config.json`, with a chat template.
pub(super) fn tokenizer_config() -> Value {
    json!({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": CHAT})
}

/// The same tokenizer as GGUF metadata.
pub(super) fn gguf_metadata() -> Vec<(String, Gguf)> {
    let strings = |texts: &[&str]| {
        Gguf::Array(
            texts
                .iter()
                .map(|text| Gguf::String((*text).to_owned()))
                .collect(),
        )
    };
    let kinds = (0..TOKENS.len())
        .map(|id| Gguf::I32(if id < 2 { 3 } else { 1 }))
        .collect();
    [
        ("model", Gguf::String("gpt2".to_owned())),
        ("pre", Gguf::String("gpt-2".to_owned())),
        ("tokens", strings(&TOKENS)),
        ("token_type", Gguf::Array(kinds)),
        ("merges", strings(&MERGES)),
        ("bos_token_id", Gguf::U32(BEGINNING)),
        ("eos_token_id", Gguf::U32(END)),
        ("add_bos_token", Gguf::Bool(true)),
    ]
    .into_iter()
    .map(|(key, value)| (format!("tokenizer.ggml.{key}"), value))
    .chain([(
        "tokenizer.chat_template".to_owned(),
        Gguf::String(CHAT.to_owned()),
    )])
    .collect()
}

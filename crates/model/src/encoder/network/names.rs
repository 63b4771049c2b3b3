//! The names of tensors in files, by family.

use super::Family;

/// The name prefixes under which checkpoints store the same tensors.
pub(super) const PREFIXES: [&str; 7] = [
    "",
    "bert.",
    "roberta.",
    "0.auto_model.",
    "mpnet.",
    "distilbert.",
    "model.",
];

/// The names of a family's tensors, without `.weight` and `.bias`.
pub(super) struct Names {
    pub(super) words: &'static str,
    /// Embeddings of positions.
    pub(super) positions: Option<&'static str>,
    pub(super) types: Option<&'static str>,
    /// The norm of the embeddings.
    pub(super) norm: Option<&'static str>,
    /// The norm of the last layer's output.
    pub(super) final_norm: Option<&'static str>,
    /// The gains of attention scores by the distance of two tokens.
    pub(super) relative: Option<&'static str>,
    /// The prefix before the number of a layer.
    pub(super) layers: &'static str,
    /// Query, key and value, in this order, as one tensor or three.
    pub(super) attention: &'static [&'static str],
    /// The norms of heads of queries and of keys.
    pub(super) head_norms: Option<[&'static str; 2]>,
    pub(super) attention_out: &'static str,
    pub(super) attention_norm: &'static str,
    /// The first layer has no norm of attention.
    pub(super) first_is_bare: bool,
    /// The gate, if there is one, and the gated part, as one tensor or two.
    pub(super) widen: &'static [&'static str],
    pub(super) narrow: &'static str,
    pub(super) layer_norm: &'static str,
}

const BERT: Names = Names {
    words: "embeddings.word_embeddings",
    positions: Some("embeddings.position_embeddings"),
    types: Some("embeddings.token_type_embeddings"),
    norm: Some("embeddings.LayerNorm"),
    final_norm: None,
    relative: None,
    layers: "encoder.layer.",
    attention: &[
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
    ],
    head_norms: None,
    attention_out: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    first_is_bare: false,
    widen: &["intermediate.dense"],
    narrow: "output.dense",
    layer_norm: "output.LayerNorm",
};

const DISTILBERT: Names = Names {
    types: None,
    layers: "transformer.layer.",
    attention: &["attention.q_lin", "attention.k_lin", "attention.v_lin"],
    attention_out: "attention.out_lin",
    attention_norm: "sa_layer_norm",
    widen: &["ffn.lin1"],
    narrow: "ffn.lin2",
    layer_norm: "output_layer_norm",
    ..BERT
};

const MPNET: Names = Names {
    types: None,
    relative: Some("encoder.relative_attention_bias"),
    attention: &["attention.attn.q", "attention.attn.k", "attention.attn.v"],
    attention_out: "attention.attn.o",
    attention_norm: "attention.LayerNorm",
    ..BERT
};

/// As nomic publishes them.
const NOMIC: Names = Names {
    positions: None,
    norm: Some("emb_ln"),
    layers: "encoder.layers.",
    attention: &["attn.Wqkv"],
    attention_out: "attn.out_proj",
    attention_norm: "norm1",
    widen: &["mlp.fc12", "mlp.fc11"],
    narrow: "mlp.fc2",
    layer_norm: "norm2",
    ..BERT
};

/// As transformers writes them after loading.
const NOMIC_REWRITTEN: Names = Names {
    norm: Some("embeddings.LayerNorm"),
    layers: "layers.",
    attention: &["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    attention_out: "self_attn.o_proj",
    attention_norm: "post_attention_layernorm",
    widen: &["mlp.gate_proj", "mlp.up_proj"],
    narrow: "mlp.down_proj",
    layer_norm: "post_mlp_layernorm",
    ..NOMIC
};

const MODERN: Names = Names {
    words: "embeddings.tok_embeddings",
    positions: None,
    types: None,
    norm: Some("embeddings.norm"),
    final_norm: Some("final_norm"),
    layers: "layers.",
    attention: &["attn.Wqkv"],
    attention_out: "attn.Wo",
    attention_norm: "attn_norm",
    first_is_bare: true,
    widen: &["mlp.Wi"],
    narrow: "mlp.Wo",
    layer_norm: "mlp_norm",
    ..BERT
};

const QWEN3: Names = Names {
    words: "embed_tokens",
    positions: None,
    types: None,
    norm: None,
    final_norm: Some("norm"),
    attention_norm: "input_layernorm",
    head_norms: Some(["self_attn.q_norm", "self_attn.k_norm"]),
    layer_norm: "post_attention_layernorm",
    ..NOMIC_REWRITTEN
};

impl Names {
    /// The names of a family in a file with these tensors.
    pub(super) fn of(family: Family, has: impl Fn(&str) -> bool) -> &'static Self {
        match family {
            Family::Bert => &BERT,
            Family::DistilBert => &DISTILBERT,
            Family::Mpnet => &MPNET,
            Family::NomicBert if has("embeddings.LayerNorm.weight") => &NOMIC_REWRITTEN,
            Family::NomicBert => &NOMIC,
            Family::ModernBert => &MODERN,
            Family::Qwen3 => &QWEN3,
        }
    }
}

//! The architecture of a network in `config.json`, by family.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::{Biases, Family, Local, Network, Positions, Rotary, Stretch};
use crate::encoder::config_file::{FamilyConfig, required, unsupported};
use crate::encoder::error::EncoderError;

type Result<T> = std::result::Result<T, EncoderError>;

/// The dimensions, under each family's names.
#[derive(Deserialize)]
struct Dimensions {
    #[serde(alias = "dim", alias = "n_embd")]
    hidden_size: usize,
    #[serde(alias = "n_layers", alias = "n_layer")]
    num_hidden_layers: usize,
    #[serde(alias = "n_heads", alias = "n_head")]
    num_attention_heads: usize,
    #[serde(alias = "hidden_dim", alias = "n_inner")]
    intermediate_size: usize,
    vocab_size: usize,
    #[serde(alias = "n_positions")]
    max_position_embeddings: usize,
    type_vocab_size: Option<usize>,
    #[serde(alias = "layer_norm_epsilon", alias = "rms_norm_eps")]
    layer_norm_eps: Option<f32>,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    #[serde(
        alias = "activation",
        alias = "hidden_activation",
        alias = "activation_function"
    )]
    hidden_act: Option<String>,
    position_embedding_type: Option<String>,
    pad_token_id: Option<usize>,
    #[serde(rename = "_name_or_path")]
    name: Option<String>,
}

/// The settings of networks whose positions are rotations.
#[derive(Deserialize)]
struct RotaryConfig {
    rope_parameters: Option<Value>,
    rotary_emb_base: Option<f64>,
    rotary_emb_fraction: Option<f64>,
    rotary_scaling_factor: Option<f64>,
    max_trained_positions: Option<usize>,
    pad_vocab_size_multiple: Option<usize>,
    rope_theta: Option<f64>,
    rope_scaling: Option<Value>,
    #[serde(default)]
    use_sliding_window: bool,
    global_rope_theta: Option<f64>,
    local_rope_theta: Option<f64>,
    local_attention: Option<usize>,
    global_attn_every_n_layers: Option<usize>,
    layer_types: Option<Vec<String>>,
    norm_eps: Option<f32>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    norm_bias: bool,
}

/// The upper limit of every number, so that products of two stay in range.
const MOST: usize = 1 << 31;

/// The rows of nomic's feed-forward layers are a multiple of this.
const NOMIC_MULTIPLE: usize = 256;

/// Variants of nomic's networks that no published model has.
const NOMIC_VARIANTS: [&str; 8] = [
    "causal",
    "mlp_fc1_bias",
    "mlp_fc2_bias",
    "parallel_block",
    "prenorm",
    "qkv_proj_bias",
    "rotary_emb_interleaved",
    "use_rms_norm",
];

/// The positions that MPNet reserves before a text's first token: its padding is token 1.
const MPNET_FIRST: usize = 2;

/// Reads a network from its `config.json`, and the name under which the model was published.
pub(in crate::encoder) fn network(
    path: &Path,
    family: &FamilyConfig,
) -> Result<(Network, Option<String>)> {
    // `is_roberta`: positions begin after the padding id.
    let (kind, is_roberta) = match family.model_type.as_deref() {
        Some("bert") => (Family::Bert, false),
        Some("roberta" | "xlm-roberta") => (Family::Bert, true),
        Some("distilbert") => (Family::DistilBert, false),
        Some("mpnet") => (Family::Mpnet, false),
        Some("nomic_bert") => (Family::NomicBert, false),
        Some("modernbert") => (Family::ModernBert, false),
        Some("qwen3") => (Family::Qwen3, false),
        other => {
            return Err(EncoderError::UnsupportedArchitecture {
                path: path.to_owned(),
                architecture: other.or(family.class()).unwrap_or("(none)").to_owned(),
            });
        }
    };
    // Parsed only now, since other families lack its fields.
    let config: Dimensions = required(path)?;
    check(path, kind, &config)?;
    let positions = config.max_position_embeddings;
    let learned = |first| Positions::Learned {
        count: positions,
        first,
    };
    let all = Biases {
        attention: true,
        feed_forward: true,
        norms: true,
    };
    let types = config.type_vocab_size.unwrap_or(1);
    let epsilon = config.layer_norm_eps.unwrap_or(1e-12);
    let mut network = Network {
        family: kind,
        hidden: config.hidden_size,
        layers: config.num_hidden_layers,
        heads: config.num_attention_heads,
        kv_heads: config.num_attention_heads,
        head_width: config.hidden_size / config.num_attention_heads,
        intermediate: config.intermediate_size,
        vocabulary: config.vocab_size,
        token_types: 0,
        epsilon,
        biases: all,
        positions: learned(0),
    };
    match kind {
        Family::Bert => {
            network.token_types = types;
            if is_roberta {
                network.positions = learned(config.pad_token_id.unwrap_or(1).saturating_add(1));
            }
        }
        Family::DistilBert => {}
        Family::Mpnet => network.positions = learned(MPNET_FIRST),
        Family::NomicBert => nomic(path, types, &mut network)?,
        Family::ModernBert => modern(path, positions, &mut network)?,
        Family::Qwen3 => {
            network.kv_heads = config.num_key_value_heads.unwrap_or(network.heads);
            network.head_width = config.head_dim.unwrap_or(network.head_width);
            qwen(path, positions, &mut network)?;
        }
    }
    if let Positions::Learned { count, first } = network.positions {
        let (is_long, supported) = (count > first, "more than the first position");
        let setting = "max_position_embeddings";
        refuse_unless(path, setting, &count, is_long, supported)?;
    }
    Ok((network, config.name))
}

/// Refuses settings that no family has.
fn check(path: &Path, family: Family, config: &Dimensions) -> Result<()> {
    let activation = config.hidden_act.as_deref().unwrap_or("gelu");
    let (is_known, supported) = match family {
        Family::NomicBert => (matches!(activation, "swiglu" | "silu"), "swiglu"),
        Family::Qwen3 => (activation == "silu", "silu"),
        _ => (activation == "gelu", "gelu"),
    };
    refuse_unless(path, "hidden_act", &activation, is_known, supported)?;
    let kind = config.position_embedding_type.as_deref();
    let kind = kind.unwrap_or("absolute");
    let (setting, supported) = ("position_embedding_type", "absolute");
    refuse_unless(path, setting, &kind, kind == supported, supported)?;
    let heads = config.num_attention_heads;
    // Heads with an explicit width need not add up to the hidden width.
    let divides = config.head_dim.is_some() || config.hidden_size.is_multiple_of(heads);
    let divides = heads > 0 && divides;
    let supported = "a divisor of hidden_size";
    refuse_unless(path, "num_attention_heads", &heads, divides, supported)?;
    for (setting, value) in [
        ("hidden_size", config.hidden_size),
        ("intermediate_size", config.intermediate_size),
        ("vocab_size", config.vocab_size),
        ("type_vocab_size", config.type_vocab_size.unwrap_or(1)),
        ("max_position_embeddings", config.max_position_embeddings),
        ("head_dim", config.head_dim.unwrap_or(1)),
        ("num_attention_heads", heads),
    ] {
        let is_plausible = (1..=MOST).contains(&value);
        refuse_unless(path, setting, &value, is_plausible, "1 to 2147483648")?;
    }
    Ok(())
}

/// Completes one of nomic's networks: rotations, no embeddings of positions, and no biases except the norms'.
fn nomic(path: &Path, types: usize, network: &mut Network) -> Result<()> {
    let all: Value = required(path)?;
    for variant in NOMIC_VARIANTS {
        let is_set = all[variant] == Value::Bool(true);
        refuse_unless(path, variant, &is_set, !is_set, "false")?;
    }
    let config: RotaryConfig = required(path)?;
    let fraction = config.rotary_emb_fraction.unwrap_or(1.0);
    refuse_unless(path, "rotary_emb_fraction", &fraction, fraction == 1.0, "1")?;
    let multiple = config.pad_vocab_size_multiple.unwrap_or(1).clamp(1, MOST);
    network.vocabulary = network.vocabulary.next_multiple_of(multiple);
    // Published files state the size before rounding up.
    if !all["n_inner"].is_null() {
        network.intermediate = network.intermediate.next_multiple_of(NOMIC_MULTIPLE);
    }
    network.token_types = types;
    network.biases.attention = false;
    network.biases.feed_forward = false;
    let base = config.rotary_emb_base.or(theta(&config, None));
    let trained = config.max_trained_positions.filter(|&trained| trained > 0);
    let stretch = config.rotary_scaling_factor.zip(trained);
    let Positions::Learned { count: most, .. } = network.positions else {
        return Ok(());
    };
    let rotary = Rotary {
        most,
        base: base.unwrap_or(1000.0),
        stretch: stretch.map(|(factor, trained)| Stretch { factor, trained }),
        local: None,
    };
    rotate(path, network, rotary)
}

/// Completes a ModernBERT: rotations, and local layers.
fn modern(path: &Path, most: usize, network: &mut Network) -> Result<()> {
    let config: RotaryConfig = required(path)?;
    network.epsilon = config.norm_eps.unwrap_or(1e-5);
    network.biases = Biases {
        attention: config.attention_bias,
        feed_forward: config.mlp_bias,
        norms: config.norm_bias,
    };
    let layers: Vec<bool> = match &config.layer_types {
        Some(kinds) => kinds
            .iter()
            .map(|kind| kind == "sliding_attention")
            .collect(),
        None => {
            let every = config.global_attn_every_n_layers.unwrap_or(3).max(1);
            (0..network.layers)
                .map(|layer| !layer.is_multiple_of(every))
                .collect()
        }
    };
    let named = layers.len();
    let is_whole = named == network.layers;
    refuse_unless(path, "layer_types", &named, is_whole, "one a layer")?;
    let global = config
        .global_rope_theta
        .or(theta(&config, Some("full_attention")));
    let local = config
        .local_rope_theta
        .or(theta(&config, Some("sliding_attention")));
    let local = Local {
        base: local.unwrap_or(10_000.0),
        reach: config.local_attention.unwrap_or(128) / 2,
        layers,
    };
    let rotary = Rotary {
        most,
        base: global.unwrap_or(160_000.0),
        stretch: None,
        local: Some(local),
    };
    rotate(path, network, rotary)
}

/// Completes a Qwen3: rotations, heads that share keys, and no shifts in norms.
fn qwen(path: &Path, most: usize, network: &mut Network) -> Result<()> {
    let config: RotaryConfig = required(path)?;
    let is_windowed = config.use_sliding_window;
    let setting = "use_sliding_window";
    refuse_unless(path, setting, &is_windowed, !is_windowed, "false")?;
    let scaling = config
        .rope_scaling
        .as_ref()
        .filter(|scaling| !scaling.is_null());
    let kind = scaling.or(config.rope_parameters.as_ref());
    let kind = kind.map_or(&Value::Null, |scaling| &scaling["rope_type"]);
    let is_plain = kind.is_null() || kind == "default";
    refuse_unless(path, "rope_scaling", &kind, is_plain, "none")?;
    let (heads, shared) = (network.heads, network.kv_heads);
    let is_shared = shared > 0 && heads.is_multiple_of(shared);
    let supported = "a divisor of num_attention_heads";
    refuse_unless(path, "num_key_value_heads", &shared, is_shared, supported)?;
    network.biases = Biases {
        attention: config.attention_bias,
        feed_forward: false,
        norms: false,
    };
    let base = config.rope_theta.or(theta(&config, None));
    let rotary = Rotary {
        most,
        base: base.unwrap_or(10_000.0),
        stretch: None,
        local: None,
    };
    rotate(path, network, rotary)
}

/// Gives a network rotations, which need heads of even width.
fn rotate(path: &Path, network: &mut Network, rotary: Rotary) -> Result<()> {
    let supported = "one that gives heads of an even width";
    let is_even = network.head_width.is_multiple_of(2);
    let heads = network.heads;
    refuse_unless(path, "num_attention_heads", &heads, is_even, supported)?;
    network.positions = Positions::Rotary(rotary);
    Ok(())
}

/// The rotary base in `rope_parameters`, for one kind of layer if they differ.
fn theta(config: &RotaryConfig, kind: Option<&str>) -> Option<f64> {
    let parameters = config.rope_parameters.as_ref()?;
    kind.map_or(parameters, |kind| &parameters[kind])["rope_theta"].as_f64()
}

fn refuse_unless(
    path: &Path,
    setting: &'static str,
    value: &dyn ToString,
    is_supported: bool,
    supported: &'static str,
) -> Result<()> {
    match is_supported {
        true => Ok(()),
        false => Err(unsupported(path, setting, &value.to_string(), supported)),
    }
}

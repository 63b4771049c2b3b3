//! Reads what an encoder's folder says about itself: the dimensions of the network, and of a sentence
//! embedder the pooling, the longest input and the prefixes. It reads no weights and no tokenizer.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::EncoderError;
use super::prefixes::Prefixes;
use crate::small_file::{self, MOST_SETTINGS_BYTES};

/// How the vectors of a text's tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The mean over all tokens, special ones included.
    Mean,
    /// The vector of the first token.
    Cls,
}

/// The dimensions of a BERT-family network.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dimensions {
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) intermediate: usize,
    pub(super) vocabulary: usize,
    pub(super) positions: usize,
    pub(super) token_types: usize,
    /// The position of a text's first token: 0 in BERT, the padding id + 1 in RoBERTa.
    pub(super) first_position: usize,
    /// Added to the variance before its square root is taken.
    pub(super) epsilon: f32,
}

/// What `config.json` says of a network, whatever it is for.
pub(super) struct Network {
    /// The file.
    pub(super) path: PathBuf,
    pub(super) dimensions: Dimensions,
    /// The name under which the model was published.
    name: Option<String>,
}

impl Network {
    /// The most tokens that the network tells apart by their positions.
    pub(super) fn longest(&self) -> usize {
        self.dimensions.positions - self.dimensions.first_position
    }
}

/// Everything about an embedder but its weights and its tokenizer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) dimensions: Dimensions,
    pub(super) pooling: Pooling,
    pub(super) normalize: bool,
    /// The longest input in tokens, special ones included.
    pub(super) max_tokens: usize,
    pub(super) prefixes: Prefixes,
}

#[derive(Deserialize)]
struct NetworkConfig {
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    vocab_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "one")]
    type_vocab_size: usize,
    #[serde(default = "default_epsilon")]
    layer_norm_eps: f32,
    #[serde(default = "gelu")]
    hidden_act: String,
    position_embedding_type: Option<String>,
    pad_token_id: Option<usize>,
    #[serde(rename = "_name_or_path")]
    name: Option<String>,
}

/// `model_type` alone, read first so that another family is refused by its name.
#[derive(Deserialize)]
struct FamilyConfig {
    model_type: Option<String>,
    architectures: Option<Vec<String>>,
}

fn one() -> usize {
    1
}

fn default_epsilon() -> f32 {
    1e-12
}

fn gelu() -> String {
    "gelu".to_owned()
}

#[derive(Deserialize)]
struct Module {
    path: String,
    r#type: String,
}

#[derive(Deserialize)]
struct PoolingConfig {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default)]
    pooling_mode_max_tokens: bool,
    #[serde(default)]
    pooling_mode_mean_sqrt_len_tokens: bool,
    #[serde(default)]
    pooling_mode_weightedmean_tokens: bool,
    #[serde(default)]
    pooling_mode_lasttoken: bool,
}

#[derive(Deserialize)]
struct LengthConfig {
    max_seq_length: Option<usize>,
}

#[derive(Deserialize)]
struct PromptConfig {
    #[serde(default)]
    prompts: Prompts,
}

#[derive(Deserialize, Default)]
struct Prompts {
    query: Option<String>,
    passage: Option<String>,
    document: Option<String>,
}

/// Reads the settings of the embedder in `dir`. The prefixes are those of
/// `config_sentence_transformers.json`, else those of the family that the model's name tells.
pub(super) fn read(dir: &Path) -> Result<Settings, EncoderError> {
    let network = network(dir)?;
    let (pooling, normalize) = read_modules(dir)?;

    let longest = network.longest();
    let path = dir.join("sentence_bert_config.json");
    let wanted = optional::<LengthConfig>(&path)?.and_then(|config| config.max_seq_length);

    let prefixes = read_prompts(dir)?
        .or_else(|| network.name.as_deref().and_then(Prefixes::of_family))
        .or_else(|| Prefixes::of_folder(dir))
        .unwrap_or_default();
    let max_tokens = wanted.unwrap_or(longest).min(longest);
    Ok(Settings {
        dimensions: network.dimensions,
        pooling,
        normalize,
        max_tokens,
        prefixes,
    })
}

/// Reads `config.json` of the encoder in `dir`.
pub(super) fn network(dir: &Path) -> Result<Network, EncoderError> {
    let path = dir.join("config.json");
    let family: FamilyConfig = required(&path)?;
    let roberta = is_roberta(&path, &family)?;
    let config: NetworkConfig = required(&path)?;
    Ok(Network {
        dimensions: dimensions(&path, &config, roberta)?,
        name: config.name,
        path,
    })
}

/// Whether the family numbers its positions as RoBERTa does; an error for a family not computed.
fn is_roberta(path: &Path, family: &FamilyConfig) -> Result<bool, EncoderError> {
    match family.model_type.as_deref() {
        Some("bert") => Ok(false),
        Some("roberta" | "xlm-roberta") => Ok(true),
        other => {
            let class = family
                .architectures
                .as_ref()
                .and_then(|names| names.first());
            let architecture = other
                .or(class.map(String::as_str))
                .unwrap_or("(none)")
                .to_owned();
            Err(EncoderError::UnsupportedArchitecture {
                path: path.to_owned(),
                architecture,
            })
        }
    }
}

fn dimensions(
    path: &Path,
    config: &NetworkConfig,
    roberta: bool,
) -> Result<Dimensions, EncoderError> {
    let refuse = |setting, value: String, supported| {
        Err(EncoderError::UnsupportedSetting {
            path: path.to_owned(),
            setting,
            value,
            supported,
        })
    };
    if config.hidden_act != "gelu" {
        return refuse("hidden_act", config.hidden_act.clone(), "gelu");
    }
    if let Some(kind) = config
        .position_embedding_type
        .as_deref()
        .filter(|&kind| kind != "absolute")
    {
        return refuse("position_embedding_type", kind.to_owned(), "absolute");
    }
    let heads = config.num_attention_heads;
    if heads == 0 || !config.hidden_size.is_multiple_of(heads) {
        return refuse(
            "num_attention_heads",
            heads.to_string(),
            "a divisor of hidden_size",
        );
    }
    for (setting, value) in [
        ("hidden_size", config.hidden_size),
        ("intermediate_size", config.intermediate_size),
        ("vocab_size", config.vocab_size),
        ("type_vocab_size", config.type_vocab_size),
    ] {
        if value == 0 {
            return refuse(setting, "0".to_owned(), "1 or more");
        }
    }
    let first_position = if roberta {
        config.pad_token_id.unwrap_or(1).saturating_add(1)
    } else {
        0
    };
    if config.max_position_embeddings <= first_position {
        let value = config.max_position_embeddings.to_string();
        return refuse(
            "max_position_embeddings",
            value,
            "more than the first position",
        );
    }
    Ok(Dimensions {
        hidden: config.hidden_size,
        layers: config.num_hidden_layers,
        heads,
        intermediate: config.intermediate_size,
        vocabulary: config.vocab_size,
        positions: config.max_position_embeddings,
        token_types: config.type_vocab_size,
        first_position,
        epsilon: config.layer_norm_eps,
    })
}

/// Pooling and normalization by `modules.json`; without one, the mean and no normalization, as
/// sentence-transformers has it.
fn read_modules(dir: &Path) -> Result<(Pooling, bool), EncoderError> {
    let path = dir.join("modules.json");
    let mut pooling = Pooling::Mean;
    let mut normalize = false;
    for module in optional::<Vec<Module>>(&path)?.unwrap_or_default() {
        match module.r#type.rsplit('.').next().unwrap_or_default() {
            "Transformer" => {}
            "Pooling" if !stays_within(&module.path) => {
                return Err(EncoderError::UnsupportedSetting {
                    path,
                    setting: "a module's path",
                    value: module.path,
                    supported: "a folder below the model's",
                });
            }
            "Pooling" => pooling = read_pooling(&dir.join(module.path).join("config.json"))?,
            "Normalize" => normalize = true,
            _ => {
                return Err(EncoderError::UnsupportedSetting {
                    path,
                    setting: "a module's type",
                    value: module.r#type,
                    supported: "Transformer, Pooling, Normalize",
                });
            }
        }
    }
    Ok((pooling, normalize))
}

/// Whether a path leads from a folder to what lies below it.
fn stays_within(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn read_pooling(path: &Path) -> Result<Pooling, EncoderError> {
    let config: PoolingConfig = required(path)?;
    let modes = [
        ("cls", config.pooling_mode_cls_token),
        ("mean", config.pooling_mode_mean_tokens),
        ("max", config.pooling_mode_max_tokens),
        ("mean_sqrt_len", config.pooling_mode_mean_sqrt_len_tokens),
        ("weightedmean", config.pooling_mode_weightedmean_tokens),
        ("lasttoken", config.pooling_mode_lasttoken),
    ];
    let chosen: Vec<&str> = modes
        .iter()
        .filter(|mode| mode.1)
        .map(|mode| mode.0)
        .collect();
    match chosen.as_slice() {
        ["cls"] => Ok(Pooling::Cls),
        ["mean"] => Ok(Pooling::Mean),
        _ => Err(EncoderError::UnsupportedSetting {
            path: path.to_owned(),
            setting: "the pooling mode",
            value: chosen.join(" + "),
            supported: "cls, mean",
        }),
    }
}

/// The prompts that the model states, or `None` where it states none (some files list empty ones).
fn read_prompts(dir: &Path) -> Result<Option<Prefixes>, EncoderError> {
    let Some(config) = optional::<PromptConfig>(&dir.join("config_sentence_transformers.json"))?
    else {
        return Ok(None);
    };
    let passage = config
        .prompts
        .passage
        .or(config.prompts.document)
        .unwrap_or_default();
    let prefixes = Prefixes {
        query: config.prompts.query.unwrap_or_default(),
        passage,
    };
    Ok((prefixes != Prefixes::default()).then_some(prefixes))
}

/// Reads a whole file of at most so many bytes; one that does not exist is [`EncoderError::Missing`].
pub(super) fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, EncoderError> {
    small_file::bytes(path, most).map_err(|source| file_error(path.to_owned(), source))
}

/// Tells a missing file, as in what is no folder, from an unreadable one.
pub(super) fn file_error(path: PathBuf, source: std::io::Error) -> EncoderError {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    if matches!(source.kind(), NotFound | NotADirectory) {
        EncoderError::Missing { path }
    } else {
        EncoderError::Read { path, source }
    }
}

pub(super) fn required<T: DeserializeOwned>(path: &Path) -> Result<T, EncoderError> {
    let bytes = read_file(path, MOST_SETTINGS_BYTES)?;
    serde_json::from_slice(&bytes).map_err(|source| EncoderError::Json {
        path: path.to_owned(),
        source,
    })
}

pub(super) fn optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EncoderError> {
    match required(path) {
        Ok(value) => Ok(Some(value)),
        Err(EncoderError::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

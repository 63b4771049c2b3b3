//! Reads an encoder's configuration files: the network and, for a sentence embedder, the pooling, the longest input
//! and the prefixes.

use std::borrow::Cow;
use std::path::{Component, Path};

use ken_language::Role;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::config_file::{optional, required, unsupported};
use super::error::EncoderError;
use super::network::{self, Network};
use super::prefixes::Prefixes;

/// How the vectors of a text's tokens are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The mean over all tokens, special ones included.
    Mean,
    /// The vector of the first token.
    Cls,
    /// The vector of the last token.
    Last,
}

/// Everything about an embedder except its weights and its tokenizer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) network: Network,
    pub(super) pooling: Pooling,
    pub(super) normalize: bool,
    /// The longest input in tokens, special ones included.
    pub(super) max_tokens: usize,
    pub(super) own: Own,
}

/// The settings of sentence-transformers for any embedder.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Own {
    /// How many numbers of an embedding are kept, from the first.
    pub(super) kept: usize,
    pub(super) prefixes: Prefixes,
}

impl Own {
    /// A text with the prefix of its role.
    pub(super) fn prefixed<'t>(&self, text: &'t str, role: Role) -> Cow<'t, str> {
        match self.prefixes.of_role(role) {
            "" => Cow::Borrowed(text),
            prefix => Cow::Owned(format!("{prefix}{text}")),
        }
    }
}

#[derive(Deserialize)]
struct Module {
    path: String,
    r#type: String,
}

impl Module {
    /// The class without its package.
    fn class(&self) -> &str {
        self.r#type.rsplit('.').next().unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct LengthConfig {
    max_seq_length: Option<usize>,
}

#[derive(Deserialize, Default)]
struct EmbeddingConfig {
    #[serde(default)]
    prompts: Prompts,
    truncate_dim: Option<usize>,
}

#[derive(Deserialize, Default)]
struct Prompts {
    query: Option<String>,
    passage: Option<String>,
    document: Option<String>,
}

/// Reads the settings of the embedder in `dir`.
pub(super) fn read(dir: &Path) -> Result<Settings, EncoderError> {
    let path = dir.join("config.json");
    let (network, name) = network::network(&path, &required(&path)?)?;
    let (pooling, normalize) = read_modules(dir)?;
    let lengths: Option<LengthConfig> = optional(&dir.join("sentence_bert_config.json"))?;
    let max_tokens = lengths.and_then(|lengths| lengths.max_seq_length);
    Ok(Settings {
        pooling,
        normalize,
        max_tokens: max_tokens.unwrap_or(usize::MAX).min(network.max_tokens()),
        own: own(dir, network.hidden, name.as_deref())?,
        network,
    })
}

/// The settings of sentence-transformers for the embedder in `dir`, of `width` numbers. The prefixes are those in
/// these files, else those of the family that the model's name or its folder's indicates.
pub(super) fn own(dir: &Path, width: usize, name: Option<&str>) -> Result<Own, EncoderError> {
    let path = dir.join("config_sentence_transformers.json");
    let config: EmbeddingConfig = optional(&path)?.unwrap_or_default();
    let kept = config.truncate_dim.unwrap_or(width);
    if !(1..=width).contains(&kept) {
        let supported = "1 to the length of an embedding";
        let kept = kept.to_string();
        return Err(unsupported(&path, "truncate_dim", &kept, supported));
    }
    let prefixes = stated(config.prompts)
        .or_else(|| name.and_then(Prefixes::of_family))
        .or_else(|| Prefixes::of_folder(dir))
        .unwrap_or_default();
    Ok(Own { kept, prefixes })
}

/// Whether `modules.json` names a module of this class.
pub(super) fn has_module(dir: &Path, class: &str) -> Result<bool, EncoderError> {
    let modules: Option<Vec<Module>> = optional(&dir.join("modules.json"))?;
    let mut modules = modules.iter().flatten();
    Ok(modules.any(|module| module.class() == class))
}

/// Pooling and normalization by `modules.json`; without one, the mean and no normalization, as
/// sentence-transformers defaults to.
fn read_modules(dir: &Path) -> Result<(Pooling, bool), EncoderError> {
    let path = dir.join("modules.json");
    let mut pooling = Pooling::Mean;
    let mut normalize = false;
    let refused = |setting, value: &str, supported| unsupported(&path, setting, value, supported);
    for module in optional::<Vec<Module>>(&path)?.unwrap_or_default() {
        match module.class() {
            "Transformer" => {}
            "Pooling" if !stays_within(&module.path) => {
                let supported = "a folder below the model's";
                return Err(refused("a module's path", &module.path, supported));
            }
            "Pooling" => pooling = read_pooling(&dir.join(module.path).join("config.json"))?,
            "Normalize" => normalize = true,
            _ => {
                let supported = "Transformer, Pooling, Normalize";
                return Err(refused("a module's type", &module.r#type, supported));
            }
        }
    }
    Ok((pooling, normalize))
}

/// Whether a relative path stays below the folder that it starts from.
fn stays_within(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn read_pooling(path: &Path) -> Result<Pooling, EncoderError> {
    let config: Map<String, Value> = required(path)?;
    let chosen: Vec<&str> = [
        ("cls", "pooling_mode_cls_token"),
        ("mean", "pooling_mode_mean_tokens"),
        ("max", "pooling_mode_max_tokens"),
        ("mean_sqrt_len", "pooling_mode_mean_sqrt_len_tokens"),
        ("weightedmean", "pooling_mode_weightedmean_tokens"),
        ("lasttoken", "pooling_mode_lasttoken"),
    ]
    .into_iter()
    .filter(|(_, setting)| config.get(*setting) == Some(&Value::Bool(true)))
    .map(|(mode, _)| mode)
    .collect();
    match chosen.as_slice() {
        ["cls"] => Ok(Pooling::Cls),
        ["mean"] => Ok(Pooling::Mean),
        ["lasttoken"] => Ok(Pooling::Last),
        _ => Err(unsupported(
            path,
            "the pooling mode",
            &chosen.join(" + "),
            "cls, lasttoken, mean",
        )),
    }
}

/// The prompts that the model states; `None` if it states none (some files list empty ones).
fn stated(prompts: Prompts) -> Option<Prefixes> {
    let prefixes = Prefixes {
        query: prompts.query.unwrap_or_default(),
        passage: prompts.passage.or(prompts.document).unwrap_or_default(),
    };
    (prefixes != Prefixes::default()).then_some(prefixes)
}

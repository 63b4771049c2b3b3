//! Reads a cross-encoder's configuration files: its network, its head and its longest input. It reads
//! no weights and no tokenizer.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::encoder::error::EncoderError;
use crate::encoder::settings::{Dimensions, network, optional, required, unsupported};

/// The classification head on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// That of `BertForSequenceClassification`.
    Bert,
    /// That of `RobertaForSequenceClassification` and `XLMRobertaForSequenceClassification`.
    Roberta,
}

impl Head {
    /// The classes with such heads, by the names that `config.json` has for them.
    const CLASSES: [(&'static str, Self); 3] = [
        ("BertForSequenceClassification", Self::Bert),
        ("RobertaForSequenceClassification", Self::Roberta),
        ("XLMRobertaForSequenceClassification", Self::Roberta),
    ];

    /// The name of the affine map before the tanh.
    pub(super) fn dense(self) -> &'static str {
        match self {
            Self::Bert => "pooler.dense",
            Self::Roberta => "classifier.dense",
        }
    }

    /// The name of the affine map to the score.
    pub(super) fn out(self) -> &'static str {
        match self {
            Self::Bert => "classifier",
            Self::Roberta => "classifier.out_proj",
        }
    }

    /// Whether token types distinguish the two texts of a pair.
    pub(super) fn uses_token_types(self) -> bool {
        self == Self::Bert
    }
}

/// Everything about a cross-encoder but its weights and its tokenizer.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) dimensions: Dimensions,
    pub(super) head: Head,
    /// The longest input in tokens, special ones included.
    pub(super) max_tokens: usize,
}

#[derive(Deserialize)]
struct HeadConfig {
    architectures: Option<Vec<String>>,
    model_type: Option<String>,
    id2label: Option<BTreeMap<String, IgnoredAny>>,
}

#[derive(Deserialize)]
struct LengthConfig {
    /// A huge number where the tokenizer has no limit.
    model_max_length: Option<f64>,
}

/// Reads the settings of the cross-encoder in `dir`.
pub(super) fn read(dir: &Path) -> Result<Settings, EncoderError> {
    let path = dir.join("config.json");
    let config: HeadConfig = required(&path)?;
    let class = config.architectures.into_iter().flatten().next();
    let known = Head::CLASSES
        .into_iter()
        .find(|(name, _)| class.as_deref() == Some(name));
    let Some((_, head)) = known else {
        return Err(EncoderError::NotCrossEncoder {
            path,
            architecture: class.or(config.model_type).unwrap_or("(none)".to_owned()),
            supported: Head::CLASSES.map(|(name, _)| name).join(", "),
        });
    };
    let network = network(dir)?;
    if let Some(labels) = config.id2label.filter(|labels| labels.len() != 1) {
        let value = labels.len().to_string();
        return Err(unsupported(
            &network.path,
            "the number of labels",
            &value,
            "1",
        ));
    }
    let lengths: Option<LengthConfig> = optional(&dir.join("tokenizer_config.json"))?;
    let max_tokens = lengths.and_then(|lengths| lengths.model_max_length);
    Ok(Settings {
        max_tokens: max_tokens
            .map_or(usize::MAX, |max| max as usize)
            .min(network.max_tokens()),
        dimensions: network.dimensions,
        head,
    })
}

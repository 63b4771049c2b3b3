//! Reads a cross-encoder's configuration files: its network, its head and its longest input.

use std::path::Path;

use serde::Deserialize;

use crate::encoder::config_file::{FamilyConfig, optional, required, unsupported};
use crate::encoder::error::EncoderError;
use crate::encoder::network::{Network, network};

/// A classification head on the network.
#[derive(Debug)]
pub(super) struct Head {
    /// The class in `config.json`.
    class: &'static str,
    /// The name of the affine map before the tanh.
    pub(super) dense: &'static str,
    /// The name of the affine map to the score.
    pub(super) out: &'static str,
    /// Whether token types distinguish the two texts of a pair.
    pub(super) token_types: bool,
}

const ROBERTA: Head = Head {
    class: "RobertaForSequenceClassification",
    dense: "classifier.dense",
    out: "classifier.out_proj",
    token_types: false,
};

/// The supported heads.
const HEADS: [Head; 3] = [
    Head {
        class: "BertForSequenceClassification",
        dense: "pooler.dense",
        out: "classifier",
        token_types: true,
    },
    ROBERTA,
    Head {
        class: "XLMRobertaForSequenceClassification",
        ..ROBERTA
    },
];

/// Everything about a cross-encoder except its weights and its tokenizer.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) network: Network,
    pub(super) head: Head,
    /// The longest input in tokens, special ones included.
    pub(super) max_tokens: usize,
}

#[derive(Deserialize)]
struct LengthConfig {
    /// A huge number if the tokenizer has no limit.
    model_max_length: Option<f64>,
}

/// Reads the settings of the cross-encoder in `dir`.
pub(super) fn read(dir: &Path) -> Result<Settings, EncoderError> {
    let path = dir.join("config.json");
    let config: FamilyConfig = required(&path)?;
    let class = config.class();
    let Some(head) = HEADS.into_iter().find(|head| class == Some(head.class)) else {
        let architecture = class.or(config.model_type.as_deref()).unwrap_or("(none)");
        return Err(EncoderError::NotACrossEncoder {
            architecture: architecture.to_owned(),
            supported: HEADS.map(|head| head.class).join(", "),
            path,
        });
    };
    let (network, _) = network(&path, &config)?;
    if let Some(labels) = config.id2label.filter(|labels| labels.len() != 1) {
        let labels = labels.len().to_string();
        return Err(unsupported(&path, "the number of labels", &labels, "1"));
    }
    let lengths: Option<LengthConfig> = optional(&dir.join("tokenizer_config.json"))?;
    let max_tokens = lengths.and_then(|lengths| lengths.model_max_length);
    let max_tokens = max_tokens.map_or(usize::MAX, |max| max as usize);
    Ok(Settings {
        max_tokens: max_tokens.min(network.max_tokens()),
        network,
        head,
    })
}

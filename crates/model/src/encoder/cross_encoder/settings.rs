//! Reads a cross-encoder's configuration files: its network, its head and its longest input. It reads
//! no weights and no tokenizer.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::encoder::error::EncoderError;
use crate::encoder::settings::{Dimensions, network, optional, required, unsupported};

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
    let mut heads = HEADS.into_iter();
    let Some(head) = heads.find(|head| class.as_deref() == Some(head.class)) else {
        return Err(EncoderError::NotCrossEncoder {
            path,
            architecture: class.or(config.model_type).unwrap_or("(none)".to_owned()),
            supported: HEADS.map(|head| head.class).join(", "),
        });
    };
    let network = network(dir)?;
    if let Some(labels) = config.id2label.filter(|labels| labels.len() != 1) {
        let labels = labels.len().to_string();
        return Err(unsupported(&path, "the number of labels", &labels, "1"));
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

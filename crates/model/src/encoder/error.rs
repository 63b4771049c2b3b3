//! What can go wrong when an encoder is loaded or run. It holds no recovery: each error names the
//! file, tensor or value, and `hint` says what to do about it.

use std::path::PathBuf;

use thiserror::Error;

/// A failure to load or to run an [`Encoder`](super::Encoder) or a
/// [`CrossEncoder`](super::CrossEncoder).
#[derive(Debug, Error)]
pub enum EncoderError {
    /// A file that every encoder needs is not in the model's folder.
    #[error("{} is missing", path.display())]
    Missing {
        /// The file that was looked for.
        path: PathBuf,
    },
    /// A file exists but could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why reading it failed.
        source: std::io::Error,
    },
    /// A matrix product was refused.
    #[error("matrix product: {0}")]
    Product(rten_gemm::GemmError),
    /// A JSON file is malformed or lacks a field.
    #[error("{} is not valid: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why parsing failed.
        source: serde_json::Error,
    },
    /// The model is of a family that this encoder does not compute.
    #[error("{} names the architecture \"{architecture}\", which is not a BERT-family encoder", path.display())]
    UnsupportedArchitecture {
        /// The configuration file.
        path: PathBuf,
        /// The `model_type` it names.
        architecture: String,
    },
    /// The model is no cross-encoder of a family that is computed here.
    #[error("{} names the architecture \"{architecture}\", which is not a cross-encoder that is known here ({supported})", path.display())]
    NotCrossEncoder {
        /// The configuration file.
        path: PathBuf,
        /// The class or the `model_type` that it names.
        architecture: String,
        /// The classes that are known.
        supported: String,
    },
    /// The family is known, but one of its settings is not computed here.
    #[error("{} sets {setting} to \"{value}\"; supported: {supported}", path.display())]
    UnsupportedSetting {
        /// The configuration file.
        path: PathBuf,
        /// The name of the setting.
        setting: &'static str,
        /// Its value.
        value: String,
        /// What would be accepted.
        supported: &'static str,
    },
    /// The weights file is truncated, or is not a safetensors file.
    #[error("{} is corrupt or truncated: {reason}", path.display())]
    Weights {
        /// The weights file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The weights file lacks a tensor that the configuration calls for.
    #[error("{} has no tensor \"{name}\"", path.display())]
    MissingTensor {
        /// The weights file.
        path: PathBuf,
        /// The name of the tensor, without the family's prefix.
        name: String,
    },
    /// A tensor does not have the shape that the configuration calls for.
    #[error("tensor \"{name}\" in {} has shape {found:?}; config.json calls for {expected:?}", path.display())]
    TensorShape {
        /// The weights file.
        path: PathBuf,
        /// The name of the tensor.
        name: String,
        /// The shape by the configuration.
        expected: Vec<usize>,
        /// The shape in the file.
        found: Vec<usize>,
    },
    /// A tensor holds numbers of a type that is not read.
    #[error("tensor \"{name}\" in {} holds {dtype}; supported: F32, F16, BF16", path.display())]
    TensorType {
        /// The weights file.
        path: PathBuf,
        /// The name of the tensor.
        name: String,
        /// The type in the file.
        dtype: String,
    },
    /// `tokenizer.json` cannot be used.
    #[error("cannot load the tokenizer {}: {message}", path.display())]
    Tokenizer {
        /// The tokenizer file.
        path: PathBuf,
        /// What the tokenizer library said.
        message: String,
    },
    /// The tokenizer refused a text.
    #[error("cannot tokenize a text of {bytes} bytes: {message}")]
    Tokenize {
        /// The length of the text.
        bytes: usize,
        /// What the tokenizer library said.
        message: String,
    },
    /// The tokenizer gave a token for which the model has no embedding.
    #[error("the tokenizer gives token {id}, but the model has {vocabulary} token embeddings")]
    UnknownToken {
        /// The token id.
        id: u32,
        /// The size of the model's vocabulary.
        vocabulary: usize,
    },
    /// The tokenizer gave a token type for which the model has no embedding.
    #[error("the tokenizer gives token type {token_type}, but the model has {types}")]
    UnknownTokenType {
        /// The token type, from 0.
        token_type: u32,
        /// How many types the model has.
        types: usize,
    },
    /// The model computed an embedding or a score that is not made of finite numbers.
    #[error("{} gives numbers that are not finite", path.display())]
    NotFinite {
        /// The weights file.
        path: PathBuf,
    },
}

impl EncoderError {
    /// A short, stable name for the error, in snake case.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Product(_) => "encoder_product_refused",
            Self::Missing { .. } => "encoder_file_missing",
            Self::Read { .. } => "encoder_file_unreadable",
            Self::Json { .. } => "encoder_config_invalid",
            Self::UnsupportedArchitecture { .. } => "encoder_architecture_unsupported",
            Self::NotCrossEncoder { .. } => "not_a_cross_encoder",
            Self::UnsupportedSetting { .. } => "encoder_setting_unsupported",
            Self::Weights { .. } => "encoder_weights_corrupt",
            Self::MissingTensor { .. } => "encoder_tensor_missing",
            Self::TensorShape { .. } => "encoder_tensor_shape",
            Self::TensorType { .. } => "encoder_tensor_type",
            Self::Tokenizer { .. } => "encoder_tokenizer_invalid",
            Self::Tokenize { .. } => "encoder_tokenize_failed",
            Self::UnknownToken { .. } => "encoder_token_unknown",
            Self::UnknownTokenType { .. } => "encoder_token_type_unknown",
            Self::NotFinite { .. } => "encoder_embedding_not_finite",
        }
    }

    /// Whether the encoder could still read another text: it is this one that does not fit.
    pub fn concerns_text(&self) -> bool {
        matches!(self, Self::Tokenize { .. } | Self::UnknownToken { .. })
    }

    /// What to do about the error, where that is known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Missing { path } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                return Some(format!(
                    "an encoder is a folder with config.json, tokenizer.json and \
                     model.safetensors; this one has no {name}"
                ));
            }
            Self::Read { .. } => "check the file's permissions and the disk",
            Self::UnsupportedArchitecture { .. } => {
                "use a BERT, RoBERTa or XLM-RoBERTa sentence embedder, such as all-MiniLM-L6-v2, E5 or BGE"
            }
            Self::NotCrossEncoder { .. } => {
                "use a BERT, RoBERTa or XLM-RoBERTa cross-encoder with one output, such as \
                 cross-encoder/ms-marco-MiniLM-L6-v2 or BAAI/bge-reranker-base"
            }
            Self::UnsupportedSetting { .. } => "use another model",
            Self::Json { .. }
            | Self::Weights { .. }
            | Self::MissingTensor { .. }
            | Self::TensorShape { .. }
            | Self::Tokenizer { .. }
            | Self::UnknownToken { .. }
            | Self::UnknownTokenType { .. }
            | Self::NotFinite { .. } => {
                "the files may be damaged or mixed from two models: check them with `ken model verify`, \
                 or remove and pull the model again"
            }
            Self::TensorType { .. } => "use a checkpoint stored as F32, F16 or BF16",
            Self::Product(_) | Self::Tokenize { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

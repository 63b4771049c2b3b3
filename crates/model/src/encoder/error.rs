//! Failures to load or to run an encoder.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use ken_diagnostic::{Diagnostic, Remedy, remedy};
use ken_language::ModelError;
use ken_storage::StorageError;
use thiserror::Error;

/// A failure to load or to run an [`Encoder`](super::Encoder) or a
/// [`CrossEncoder`](super::CrossEncoder).
#[derive(Debug, Error, Diagnostic)]
pub enum EncoderError {
    /// A file that every encoder needs is missing from the model's folder.
    #[error("{} is missing", .0.display())]
    #[diagnostic(kind = "encoder_file_missing", remedy = lacking(_0))]
    Missing(PathBuf),
    /// A file exists but could not be read.
    #[error("cannot read {}: {source}", path.display())]
    #[diagnostic(
        kind = "encoder_file_unreadable",
        remedy = "check the file's permissions and the disk"
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// Why reading it failed.
        source: io::Error,
    },
    /// A matrix product was refused.
    #[error("matrix product: {0}")]
    #[diagnostic(kind = "encoder_product_refused")]
    Product(rten_gemm::GemmError),
    /// A JSON file is malformed or lacks a field.
    #[error("{} is not valid: {source}", path.display())]
    #[diagnostic(kind = "encoder_config_invalid", remedy = check_files())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why parsing failed.
        source: serde_json::Error,
    },
    /// The model is of an unsupported family.
    #[error("{} names the architecture \"{architecture}\", which is not a BERT-family encoder", path.display())]
    #[diagnostic(
        kind = "encoder_architecture_unsupported",
        remedy = "use a BERT, RoBERTa or XLM-RoBERTa sentence embedder, such as all-MiniLM-L6-v2, E5 or BGE"
    )]
    UnsupportedArchitecture {
        /// The configuration file.
        path: PathBuf,
        /// The `model_type` it names.
        architecture: String,
    },
    /// The model is not a supported cross-encoder.
    #[error("{} names the architecture \"{architecture}\", which is not a cross-encoder that is known here ({supported})", path.display())]
    #[diagnostic(
        kind = "not_a_cross_encoder",
        remedy = "use a BERT, RoBERTa or XLM-RoBERTa cross-encoder with one output, such as cross-encoder/ms-marco-MiniLM-L6-v2 or BAAI/bge-reranker-base"
    )]
    NotCrossEncoder {
        /// The configuration file.
        path: PathBuf,
        /// The class or the `model_type` it names.
        architecture: String,
        /// The supported classes.
        supported: String,
    },
    /// The family is supported, but one of its settings is not.
    #[error("{} sets {setting} to \"{value}\"; supported: {supported}", path.display())]
    #[diagnostic(kind = "encoder_setting_unsupported", remedy = "use another model")]
    UnsupportedSetting {
        /// The configuration file.
        path: PathBuf,
        /// The name of the setting.
        setting: &'static str,
        /// Its value.
        value: String,
        /// The supported values.
        supported: &'static str,
    },
    /// The weights file is truncated, or is not a safetensors file.
    #[error("{} is corrupt or truncated: {reason}", path.display())]
    #[diagnostic(kind = "encoder_weights_corrupt", remedy = check_files())]
    Weights {
        /// The weights file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The weights file lacks a tensor that the configuration requires.
    #[error("{} has no tensor \"{name}\"", path.display())]
    #[diagnostic(kind = "encoder_tensor_missing", remedy = check_files())]
    MissingTensor {
        /// The weights file.
        path: PathBuf,
        /// The name of the tensor, without the family's prefix.
        name: String,
    },
    /// A tensor does not have the shape that the configuration requires.
    #[error("tensor \"{name}\" in {} has shape {found:?}; config.json calls for {expected:?}", path.display())]
    #[diagnostic(kind = "encoder_tensor_shape", remedy = check_files())]
    TensorShape {
        /// The weights file.
        path: PathBuf,
        /// The name of the tensor.
        name: String,
        /// The shape in the configuration.
        expected: Vec<usize>,
        /// The shape in the file.
        found: Vec<usize>,
    },
    /// A tensor holds numbers of an unsupported type.
    #[error("tensor \"{name}\" in {} holds {dtype}; supported: F32, F16, BF16", path.display())]
    #[diagnostic(
        kind = "encoder_tensor_type",
        remedy = "use a checkpoint stored as F32, F16 or BF16"
    )]
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
    #[diagnostic(kind = "encoder_tokenizer_invalid", remedy = check_files())]
    Tokenizer {
        /// The tokenizer file.
        path: PathBuf,
        /// What the tokenizer library said.
        message: String,
    },
    /// The tokenizer refused a text.
    #[error("cannot tokenize a text of {bytes} bytes: {message}")]
    #[diagnostic(kind = "encoder_tokenize_failed")]
    Tokenize {
        /// The length of the text.
        bytes: usize,
        /// What the tokenizer library said.
        message: String,
    },
    /// The tokenizer produced a token for which the model has no embedding.
    #[error("the tokenizer gives token {id}, but the model has {vocabulary} token embeddings")]
    #[diagnostic(kind = "encoder_token_unknown", remedy = check_files())]
    UnknownToken {
        /// The token id.
        id: u32,
        /// The size of the model's vocabulary.
        vocabulary: usize,
    },
    /// The tokenizer produced a token type for which the model has no embedding.
    #[error("the tokenizer gives token type {token_type}, but the model has {types}")]
    #[diagnostic(kind = "encoder_token_type_unknown", remedy = check_files())]
    UnknownTokenType {
        /// The token type, from 0.
        token_type: u32,
        /// How many types the model has.
        types: usize,
    },
    /// With the weights in this file, the model computed numbers that are not finite.
    #[error("{} gives numbers that are not finite", .0.display())]
    #[diagnostic(kind = "encoder_embedding_not_finite", remedy = check_files())]
    NotFinite(PathBuf),
}

impl EncoderError {
    /// Distinguishes a missing file, or a path through what is no folder, from an unreadable one.
    pub(super) fn of_file(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::Missing(path),
            _ => Self::Read { path, source },
        }
    }
}

impl From<EncoderError> for ModelError {
    fn from(error: EncoderError) -> Self {
        use EncoderError::{Tokenize, UnknownToken};
        let concerns_input = matches!(error, Tokenize { .. } | UnknownToken { .. });
        Self::new(error).concerning_input(concerns_input)
    }
}

impl From<StorageError> for EncoderError {
    fn from(StorageError { path, source, .. }: StorageError) -> Self {
        Self::of_file(path, source)
    }
}

fn lacking(path: &Path) -> Remedy {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    remedy!(
        "an encoder is a folder with config.json, tokenizer.json and model.safetensors; this one has no {name}"
    )
}

fn check_files() -> Remedy {
    remedy!(
        "the files may be damaged or mixed from two models: check them with <VerifyModel>, or remove and pull the model again"
    )
}

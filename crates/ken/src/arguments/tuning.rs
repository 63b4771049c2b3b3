//! The flags of the verbs of `ken train` that train a language model. It loads no model.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use ken_model::decoder::PromptForm;
use ken_study::{LabelRule, Labels};

use crate::config::{FINDING, Key, MODEL, count, flags, share};

/// How a language model is trained, and what is written.
#[derive(Debug, Clone, Args)]
#[command(args = flags(MODEL))]
pub(crate) struct TuningFlags {
    /// Write what was learned into this folder: an adapter as PEFT lays it out, or with --full a
    /// model. A training that was stopped goes on from there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Begin anew, whatever is in the folder
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// Train all weights instead of small matrices on top of them (LoRA)
    #[arg(long, conflicts_with_all = ["rank", "alpha", "dropout", "targets"])]
    pub(crate) full: bool,

    /// The rank of the matrices
    #[arg(long, value_name = "N", default_value = "16", value_parser = count::<NonZeroUsize>)]
    pub(crate) rank: NonZeroUsize,

    /// What they add is multiplied by this over the rank
    #[arg(long, value_name = "A", default_value_t = 32.0)]
    pub(crate) alpha: f64,

    /// The share of inputs that are dropped in training
    #[arg(long, value_name = "P", value_parser = share, default_value_t = 0.0)]
    pub(crate) dropout: f64,

    /// The projections that they stand on, by the end of their names, as q_proj,v_proj
    /// [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) targets: Vec<String>,

    /// The highest learning rate, from which it falls by a cosine to a tenth
    #[arg(long, value_name = "R", default_value_t = 3e-4)]
    pub(crate) learning_rate: f64,

    /// The share of all steps in which the learning rate rises
    #[arg(long, value_name = "P", value_parser = share, default_value_t = 0.03)]
    pub(crate) warm_up: f64,

    /// How often every example is seen
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub(crate) epochs: f64,

    /// Examples a step
    #[arg(long, value_name = "N", default_value = "16", value_parser = count::<NonZeroUsize>)]
    pub(crate) batch: NonZeroUsize,

    /// Tokens that are computed together at most; a step of more adds up gradients
    #[arg(long, value_name = "N", default_value = "4096", value_parser = count::<NonZeroUsize>)]
    pub(crate) pass_tokens: NonZeroUsize,

    /// Shorten gradients of a greater norm to this one; 0 for never
    #[arg(long, value_name = "NORM", default_value_t = 1.0)]
    pub(crate) clip: f64,

    /// What matrices shrink by in each step, times the learning rate
    #[arg(long, value_name = "D", default_value_t = 0.0)]
    pub(crate) weight_decay: f64,

    /// The share of the questions that are kept aside to validate with, chosen by their words
    #[arg(long, value_name = "P", value_parser = share, default_value_t = 0.1)]
    pub(crate) validation: f64,

    /// Steps between validations [default: one an epoch]
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) validate_every: Option<NonZeroUsize>,

    /// End after so many validations in a row without a lower loss
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) patience: Option<NonZeroUsize>,

    /// Steps between checkpoints
    #[arg(long, value_name = "N", default_value = "50", value_parser = count::<NonZeroUsize>)]
    pub(crate) checkpoint_every: NonZeroUsize,
}

/// Which training examples make a model choose its source.
#[derive(Debug, Clone, Args)]
pub(crate) struct SelfRouteExampleFlags {
    /// A file of records of `ken label sources`
    #[arg(value_name = "LABELS")]
    pub(crate) labels: PathBuf,

    /// By which rule a source is preferred: majority, or sum
    #[arg(long, value_name = "RULE", default_value_t = LabelRule::Majority)]
    pub(crate) rule: LabelRule,

    /// Leave out a share of the questions, to evaluate on
    #[arg(long, value_name = "R", value_parser = share, default_value_t = 0.3)]
    pub(crate) held_out: f64,

    /// How far the model may move for a preference, in the second stage
    #[arg(long, value_name = "B", default_value_t = 0.3)]
    pub(crate) beta: f64,

    /// The highest learning rate of the second stage [default: a twentieth of the first's]
    #[arg(long, value_name = "R")]
    pub(crate) second_learning_rate: Option<f64>,

    /// How often every example is seen in the second stage; 0 for none
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub(crate) second_epochs: f64,

    /// Imitate in the second stage as in the first, instead of preferring
    #[arg(long)]
    pub(crate) no_preference: bool,
}

/// `ken train self-route`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken label sources questions.jsonl --corpus notes.ken --out labels.jsonl
  ken train self-route labels.jsonl --out routing
  ken train self-route labels.jsonl --rule sum --epochs 3 --out routing
  ken train self-route labels.jsonl --rule sum --soft --out routing
  ken ask --corpus notes.ken --adapter routing --policy self-route \"Who keeps the keys?\"

LABELS is what `ken label sources` wrote of the model that is to be trained. In a first stage it
learns to choose the source that helps most behind a question, to write the most helpful text
where that is itself, and to answer from the most helpful context; in a second one to prefer that
text to the least helpful (SR-RAG, Eq. 4 to 6). Sources, the end of the question and that of the
knowledge are marked by tokens that no text has. `ken datastore make` then makes a datastore of
neighbours, which makes the choice better.

--held-out R of the questions are not taught, so that `ken calibrate` and `ken eval` have some to
go by; which ones goes by their words alone. Give `ken datastore make` the same share.")]
pub(crate) struct TrainSelfRouteArguments {
    #[command(flatten)]
    pub(crate) examples: SelfRouteExampleFlags,

    /// Teach each source with its share of the sum of likelihoods, instead of the preferred one alone
    #[arg(long)]
    pub(crate) soft: bool,

    #[command(flatten)]
    pub(crate) tuning: TuningFlags,
}

/// How training examples are put before the model, and where their passages come from.
#[derive(Debug, Clone, Args)]
#[command(arg = Key::corpus.flag(), args = flags(FINDING))]
pub(crate) struct ExampleFlags {
    /// How prompts are put before the model, in training and after: bare (passages and question),
    /// or examples (with an instruction and worked examples before them)
    #[arg(long, value_name = "FORM", default_value = "bare")]
    pub(crate) prompt: PromptForm,
}

/// `ken train examples`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken train examples mine.jsonl --out tuned
  ken train examples mine.jsonl --out tuned --rank 8 --learning-rate 1e-4 --epochs 3
  ken ask --adapter tuned --policy never \"Who wrote it?\"
  ken export model --adapter tuned --out merged
  ken train examples pairs.jsonl --model ./merged --out aligned --beta 0.3
  ken ask --model ./merged --adapter aligned --policy never \"Who wrote it?\"

Each line of FILE is {\"prompt\", \"completion\"}, of which the completion is learned, or
{\"prompt\", \"chosen\", \"rejected\"}, of which the first is to be preferred (DPO); these are the
formats of TRL. An adapter cannot stand on another one: to go on from what was learned, merge it
into the model first, as above, or train all weights (--full) with --adapter.

Stop it with Ctrl-C and run it again to go on: every step is the same as without the stop.")]
pub(crate) struct TrainExamplesArguments {
    /// A JSON Lines file of examples
    #[arg(value_name = "FILE")]
    pub(crate) examples: PathBuf,

    /// How far the model may move for a preference
    #[arg(long, value_name = "B", default_value_t = 0.3)]
    pub(crate) beta: f64,

    #[command(flatten)]
    pub(crate) tuning: TuningFlags,
}

/// Which training examples make a model stand noise.
#[derive(Debug, Clone, Args)]
pub(crate) struct NoiseTolerantFlags {
    /// A JSON Lines file of questions with golden answers
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// Passages in a prompt
    #[arg(long, value_name = "N", default_value = "3", value_parser = count::<NonZeroUsize>)]
    pub(crate) k: NonZeroUsize,

    /// Passages that are found for a question, among which distractors are sought
    #[arg(long, value_name = "N", default_value = "20", value_parser = count::<NonZeroUsize>)]
    pub(crate) depth: NonZeroUsize,

    /// The share of distractors that come from other questions
    #[arg(long, value_name = "P", value_parser = share, default_value_t = 0.34)]
    pub(crate) random: f64,

    /// What `ken probe` recorded of the questions: only those that the model answers right from
    /// memory at least half of the time are then taught from memory and with noise, the others
    /// with evidence alone
    #[arg(long, value_name = "RECORDS")]
    pub(crate) records: Option<PathBuf>,

    /// Leave out a share of the questions, to evaluate on
    #[arg(long, value_name = "R", value_parser = share, default_value_t = 0.0)]
    pub(crate) held_out: f64,

    /// Take a random sample of N questions, chosen by the seed
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    #[command(flatten)]
    pub(crate) form: ExampleFlags,
}

/// `ken train noise-tolerant`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken train noise-tolerant questions.jsonl --corpus notes.ken --out tolerant
  ken train noise-tolerant questions.jsonl --corpus notes.ken --out tolerant --epochs 2 --k 3
  ken train noise-tolerant questions.jsonl --records known.jsonl --corpus notes.ken --out tolerant
  ken eval questions.jsonl --held-out 0.3 --corpus notes.ken --adapter tolerant

Each question is taught three times, as far as there are passages for it: from memory, with
passages of which one holds a golden answer, and with passages that do not: such as lie near it,
and such as were found for other questions (Zero-RAG, section 3.3). A model that has to answer
from memory what it does not know learns to invent, and one that is only taught what it knows to
ignore its passages: --records tells the two apart.

With --held-out R, a share of the questions is left out for `ken eval`, which takes the same
flag; which ones goes by their words alone.")]
pub(crate) struct TrainNoiseTolerantArguments {
    #[command(flatten)]
    pub(crate) examples: NoiseTolerantFlags,

    #[command(flatten)]
    pub(crate) tuning: TuningFlags,
}

/// Which training examples tell what a model knows.
#[derive(Debug, Clone, Args)]
pub(crate) struct KbmExampleFlags {
    /// A file of records of `ken probe`
    #[arg(value_name = "RECORDS")]
    pub(crate) records: PathBuf,

    /// An indicator of so much or more counts as known
    #[arg(long, value_name = "T", value_parser = share, default_value_t = 0.5)]
    pub(crate) threshold: f64,

    /// Leave out a share of the questions, to calibrate and evaluate on
    #[arg(long, value_name = "R", value_parser = share, default_value_t = 0.3)]
    pub(crate) held_out: f64,

    #[command(flatten)]
    pub(crate) form: ExampleFlags,
}

impl KbmExampleFlags {
    pub(crate) fn labels(&self) -> Labels {
        Labels::Hard {
            threshold: self.threshold,
        }
    }
}

/// `ken train kbm`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken train kbm known.jsonl --out kbm
  ken train kbm known.jsonl --corpus notes.ken --out kbm --threshold 0.8
  ken train kbm known.jsonl --out kbm --soft
  ken calibrate known.jsonl --policy kbm --kbm kbm
  ken ask --corpus notes.ken --policy kbm@0.5 --kbm kbm \"Who keeps the keys?\"

RECORDS is what `ken probe` wrote. The model learns to say of a question whether its answer is
mastered (the confidence that was probed reaches the threshold) and whether answers agree (the
certainty does), or with --soft how likely either is; with --corpus also of the question with the
evidence that it was probed with, which +double asks for (KBM, section 4.1). The model that learns
need not be the one that was probed: that may be an endpoint, and this one a small one beside it.

--held-out R of the questions are not taught, so that `ken calibrate` and `ken eval` have some to
go by; which ones goes by their words alone.")]
pub(crate) struct TrainKbmArguments {
    #[command(flatten)]
    pub(crate) examples: KbmExampleFlags,

    /// Teach each indicator itself, as the probability of what is to be said, instead of the side of
    /// the threshold it is on
    #[arg(long, conflicts_with = "threshold")]
    pub(crate) soft: bool,

    #[command(flatten)]
    pub(crate) tuning: TuningFlags,
}

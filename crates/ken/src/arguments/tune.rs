//! The flags of the verbs of `ken train` that train a language model. It loads no model.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args};
use ken_lab::examples::ExampleFormat;
use ken_lab::{LabelRule, Labels};
use ken_model::decoder::PromptForm;

use crate::config::{ADVANCED, FINDING, Flag, Key, MODEL, advanced, count, share};

/// The settings of the model to train. Its prompt form follows from what it is trained for.
fn trained() -> Vec<Arg> {
    let keys = MODEL.iter().filter(|key| **key != Key::prompt_form);
    keys.map(|key| key.flag()).collect()
}

/// How a language model is trained, and what is written.
#[derive(Debug, Clone, Args)]
#[command(args = trained())]
pub(crate) struct TuningFlags {
    /// Directory to write the adapter or model to
    ///
    /// A PEFT adapter or, with --full, a model. An interrupted run resumes from there.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Start over instead of resuming
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// Train all weights instead of a LoRA adapter
    #[arg(long, conflicts_with_all = ["rank", "alpha", "dropout", "targets"])]
    pub(crate) full: bool,

    /// Rank of the adapter
    #[arg(long, value_name = "N", default_value = "16", value_parser = count::<NonZeroUsize>)]
    pub(crate) rank: NonZeroUsize,

    /// Passes over the training examples
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub(crate) epochs: f64,

    /// Training examples per step
    #[arg(long, value_name = "N", default_value = "16", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) batch: NonZeroUsize,

    /// Peak learning rate
    ///
    /// It decays to a tenth on a cosine.
    #[arg(long, value_name = "RATE", default_value_t = 3e-4)]
    pub(crate) learning_rate: f64,

    /// Share of all steps in which the learning rate warms up
    #[arg(long, value_name = "P", value_parser = share, default_value_t = 0.03, help_heading = ADVANCED)]
    pub(crate) warm_up: f64,

    /// LoRA alpha: the adapter is scaled by alpha / rank
    #[arg(long, value_name = "A", default_value_t = 32.0, help_heading = ADVANCED)]
    pub(crate) alpha: f64,

    /// LoRA dropout
    #[arg(long, value_name = "P", value_parser = share, default_value_t = 0.0, help_heading = ADVANCED)]
    pub(crate) dropout: f64,

    /// Projections to adapt, by the end of their names, as in q_proj,v_proj [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = ADVANCED)]
    pub(crate) targets: Vec<String>,

    /// Token budget of one forward pass; larger steps accumulate gradients
    #[arg(long, value_name = "N", default_value = "4096", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) pass_tokens: NonZeroUsize,

    /// Clip gradients to this norm; 0 disables clipping
    #[arg(long, value_name = "NORM", default_value_t = 1.0, help_heading = ADVANCED)]
    pub(crate) clip: f64,

    /// Weight decay of matrices
    #[arg(long, value_name = "D", default_value_t = 0.0, help_heading = ADVANCED)]
    pub(crate) weight_decay: f64,

    /// Share of the questions to validate on, chosen by their subjects
    #[arg(long, value_name = "P", value_parser = share, default_value_t = 0.1, help_heading = ADVANCED)]
    pub(crate) validation: f64,

    /// Steps between validations [default: one per epoch]
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) validate_every: Option<NonZeroUsize>,

    /// Stop after N validations in a row without a lower loss
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) patience: Option<NonZeroUsize>,

    /// Steps between checkpoints
    #[arg(long, value_name = "N", default_value = "50", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) checkpoint_every: NonZeroUsize,
}

/// Training examples for another tool, instead of training here.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportFlags {
    /// Export examples: trl, llama-factory or axolotl
    ///
    /// Instead of training. --out is then a file or, for llama-factory, a directory.
    #[arg(
        long, value_name = "FORMAT",
        conflicts_with_all = [
            "overwrite", "full", "rank", "alpha", "dropout", "targets", "learning_rate", "warm_up",
            "epochs", "batch", "pass_tokens", "clip", "weight_decay", "validation",
            "validate_every", "patience", "checkpoint_every"
        ]
    )]
    pub(crate) export: Option<ExampleFormat>,
}

/// The training examples that teach a model to choose its source.
#[derive(Debug, Clone, Args)]
pub(crate) struct SelfRouteExampleFlags {
    /// Labels written by `ken label sources`
    #[arg(value_name = "LABELS")]
    pub(crate) labels: PathBuf,

    /// Preferred source: by majority or sum
    ///
    /// SR-RAG states both. In both sets measured so far, sum was nearer to what the model knows. With --no-verbalization,
    /// the answer without retrieval and with the first passage are compared instead.
    #[arg(long, value_name = "RULE", default_value_t = LabelRule::default())]
    pub(crate) rule: LabelRule,

    /// Share of the questions to hold out
    #[arg(long, value_name = "R", value_parser = share, default_value_t = 0.3)]
    pub(crate) held_out: f64,

    /// Teach it to retrieve or not, without writing what it knows
    ///
    /// The baseline of selective retrieval.
    #[arg(long, help_heading = ADVANCED)]
    pub(crate) no_verbalization: bool,

    /// Second stage: DPO's beta
    #[arg(long, value_name = "B", default_value_t = 0.3, help_heading = ADVANCED)]
    pub(crate) beta: f64,

    /// Second stage: peak learning rate [default: a twentieth of the first's]
    #[arg(long, value_name = "RATE", help_heading = ADVANCED)]
    pub(crate) second_learning_rate: Option<f64>,

    /// Second stage: passes over the training examples; 0 skips the stage
    #[arg(long, value_name = "N", default_value_t = 1.0, help_heading = ADVANCED)]
    pub(crate) second_epochs: f64,

    /// Second stage: imitate as in the first, instead of learning from preferences
    #[arg(long, help_heading = ADVANCED)]
    pub(crate) no_preference: bool,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken label sources questions.jsonl --corpus notes.ken --out labels.jsonl
  ken train self-route labels.jsonl --soft --epochs 3 --out routing
  ken ask --corpus notes.ken --adapter routing --policy self-route \"Who keeps the keys?\"
  ken train self-route labels.jsonl --export trl --out examples.jsonl

LABELS is what `ken label sources` wrote about the model to train. First, the model learns to choose \
the most helpful source for a question, to write the most helpful text if that source is itself, and \
to answer from the most helpful context; then it learns to prefer that text to the least helpful one \
(SR-RAG, Eq. 4 to 6). Special tokens mark sources and where question and knowledge end. One epoch is \
for a first try: after one over 258 questions, a small model read worse than before. `ken datastore \
make` then builds a datastore of neighbors that advises the choice; measure whether it helps.

Held-out questions, chosen by their subjects, are left for `ken datastore make`, `ken calibrate` and \
`ken eval`. The threshold of the policy self-route is chosen on the questions that validate, by how likely \
each source makes their answers, and written to ken.json; --policy self-route@T names another. --export writes the examples of the first stage or, with \
--preferences, the pairs of the second.")]
pub(crate) struct TrainSelfRouteArguments {
    #[command(flatten)]
    pub(crate) examples: SelfRouteExampleFlags,

    /// Weight sources by their summed likelihoods
    ///
    /// Instead of training on the preferred one alone.
    #[arg(long, conflicts_with = "export")]
    pub(crate) soft: bool,

    /// With --export: write preference pairs (DPO)
    ///
    /// Those of the second stage.
    #[arg(long, requires = "export")]
    pub(crate) preferences: bool,

    #[command(flatten)]
    pub(crate) export: ExportFlags,

    #[command(flatten)]
    pub(crate) tuning: TuningFlags,
}

/// The form of training prompts, and where their passages come from.
#[derive(Debug, Clone, Args)]
#[command(arg = Key::corpus.flag(), args = advanced(FINDING))]
pub(crate) struct ExampleFlags {
    /// Prompt in training and after: bare (passages and question), or examples (with an instruction
    /// and worked examples)
    #[arg(long = "prompt-form", value_name = "FORM", default_value = "bare", help_heading = ADVANCED)]
    pub(crate) prompt: PromptForm,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken train examples mine.jsonl --out tuned --epochs 3
  ken ask --adapter tuned --policy never \"Who wrote it?\"
  ken train examples pairs.jsonl --model ./merged --out aligned --beta 0.3

Each line of FILE is {\"prompt\", \"completion\"}, where the completion is learned, or {\"prompt\", \
\"chosen\", \"rejected\"}, where the first is to be preferred (DPO), as in TRL. Adapters do not stack: \
to build on one, merge it with `ken model export --adapter`, or use --adapter with --full.

Stop with Ctrl-C and re-run to resume; the steps are the same as without the interruption.")]
pub(crate) struct TrainExamplesArguments {
    /// JSON Lines file of training examples
    #[arg(value_name = "FILE")]
    pub(crate) examples: PathBuf,

    /// DPO's beta
    #[arg(long, value_name = "B", default_value_t = 0.3, help_heading = ADVANCED)]
    pub(crate) beta: f64,

    #[command(flatten)]
    pub(crate) tuning: TuningFlags,
}

/// The training examples that teach a model to tolerate noise.
#[derive(Debug, Clone, Args)]
pub(crate) struct NoiseTolerantFlags {
    /// JSON Lines file of questions with golden answers
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// Passages in a prompt
    #[arg(long, value_name = "N", default_value = "3", value_parser = count::<NonZeroUsize>)]
    pub(crate) k: NonZeroUsize,

    /// Passages retrieved per question, from which distractors are drawn
    #[arg(long, value_name = "N", default_value = "20", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) depth: NonZeroUsize,

    /// Share of distractors that come from other questions
    #[arg(long, value_name = "P", value_parser = share, default_value_t = 0.34, help_heading = ADVANCED)]
    pub(crate) random: f64,

    /// Records of `ken probe` that say what is known
    ///
    /// Only questions that the model knows are then trained from memory and with noise, the others with
    /// evidence alone. A question counts as known if at least half of its answers from memory are right.
    #[arg(long, value_name = "RECORDS")]
    pub(crate) records: Option<PathBuf>,

    /// Share of the questions to hold out
    #[arg(long, value_name = "R", value_parser = share, default_value_t = 0.0)]
    pub(crate) held_out: f64,

    /// Train on a random sample of N questions
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    #[command(flatten)]
    pub(crate) form: ExampleFlags,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken train noise-tolerant questions.jsonl --records known.jsonl --corpus notes.ken --out tolerant
  ken eval questions.jsonl --corpus notes.ken --adapter tolerant
  ken train noise-tolerant questions.jsonl --corpus notes.ken --export trl --out examples.jsonl

Each question makes up to three training examples: from memory, with passages of which one holds a \
golden answer, and with passages that do not hold one, some similar and some retrieved for other \
questions (Zero-RAG, section 3.3). A model trained to answer what it does not know from memory \
learns to hallucinate; one trained only on what it knows learns to ignore its passages. --records \
tells the two apart. Measure both: in an invented world, a model that learned to tolerate noise read worse \
what it did not know.

Held-out questions, chosen by their subjects, are left for `ken eval --held-out`.")]
pub(crate) struct TrainNoiseTolerantArguments {
    #[command(flatten)]
    pub(crate) examples: NoiseTolerantFlags,

    #[command(flatten)]
    pub(crate) export: ExportFlags,

    #[command(flatten)]
    pub(crate) tuning: TuningFlags,
}

/// The training examples that teach what a model knows.
#[derive(Debug, Clone, Args)]
pub(crate) struct KbmExampleFlags {
    /// Records written by `ken probe`
    #[arg(value_name = "RECORDS")]
    pub(crate) records: PathBuf,

    /// Confidence from which an answer counts as mastered
    #[arg(long, value_name = "T", value_parser = share, default_value_t = 0.5)]
    pub(crate) threshold: f64,

    /// Certainty from which answers count as alike
    #[arg(long, value_name = "T", value_parser = share, default_value_t = 0.5, help_heading = ADVANCED)]
    pub(crate) certainty_threshold: f64,

    /// Share of the questions to hold out
    #[arg(long, value_name = "R", value_parser = share, default_value_t = 0.3)]
    pub(crate) held_out: f64,

    #[command(flatten)]
    pub(crate) form: ExampleFlags,
}

impl KbmExampleFlags {
    pub(crate) fn labels(&self) -> Labels {
        Labels::Hard {
            mastery: self.threshold,
            certainty: self.certainty_threshold,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken train kbm known.jsonl --out kbm
  ken calibrate known.jsonl --policy kbm --kbm kbm
  ken ask --corpus notes.ken --policy kbm@0.5 --kbm kbm \"Who keeps the keys?\"
  ken train kbm known.jsonl --export trl --out examples.jsonl

RECORDS is what `ken probe` wrote. The model learns to say whether a question's answer is mastered \
(its probed confidence reaches --threshold) and whether sampled answers agree (its certainty reaches \
--certainty-threshold); with --soft, it learns the probability of each. With --corpus, half of what it \
learns is about questions with the evidence they were probed with, which +double policies ask for (KBM, \
section 4.1). The model trained need not be the one probed: a small model here can learn what an \
endpoint knows; with --kbm-for-any-model it serves a third one.

Held-out questions, chosen by their subjects, are left for `ken calibrate` and `ken eval`.")]
pub(crate) struct TrainKbmArguments {
    #[command(flatten)]
    pub(crate) examples: KbmExampleFlags,

    /// Train on indicators as probabilities
    ///
    /// Instead of on which side of the threshold they are.
    #[arg(long, conflicts_with_all = ["threshold", "certainty_threshold", "export"])]
    pub(crate) soft: bool,

    #[command(flatten)]
    pub(crate) export: ExportFlags,

    #[command(flatten)]
    pub(crate) tuning: TuningFlags,
}

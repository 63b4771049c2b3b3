//! The flags of `ken calibrate`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, ArgGroup, Args};
use ken_answer::{Abstention, Policy, Signal};
use ken_policy::{Goal, Rule, UnknownAbstention, UnknownPolicy};

use crate::config::{
    ADVANCED, FINDING, Flag, Key, advanced, count, flags, keys, open_share, share,
};

/// The default of `ken ask`.
const DEFAULT_SAMPLES: NonZeroUsize = NonZeroUsize::new(ken_answer::SAMPLES).unwrap();

/// A policy whose thresholds are to be chosen, whatever defaults its signals have.
fn open_policy(text: &str) -> Result<Policy, String> {
    match text.parse::<Policy>() {
        Ok(policy) if policy.is_graded() && !policy.retrieve.is_open() => {
            let open = policy.open();
            return Err(format!("its thresholds are what is chosen: name `{open}`"));
        }
        Ok(policy) if policy.is_graded() => return Ok(policy),
        Ok(policy) if policy.keep == Rule::Settled && !text.contains('@') => {
            return Ok(policy.open());
        }
        Err(error @ (UnknownPolicy::NotGraded { .. } | UnknownPolicy::NotTwice { .. })) => {
            return Err(error.to_string());
        }
        _ => {}
    }
    let signal = |name: &str| name.parse::<Signal>().map_err(|error| error.to_string());
    let Some((question, evidence)) = text.split_once('+') else {
        return Ok(Policy::above(signal(text)?, None));
    };
    let (question, evidence) = (signal(question)?, signal(evidence)?);
    match (question.weighs_evidence(), evidence.weighs_evidence()) {
        (false, true) => Ok(Policy {
            keep: Rule::above(evidence, None),
            ..Policy::above(question, None)
        }),
        _ => Err(
            "a signal of the question, +, and one of the evidence or `double` are expected"
                .to_owned(),
        ),
    }
}

/// The signal by which answers are withheld, whose threshold is to be chosen.
fn vouching(text: &str) -> Result<Signal, String> {
    let abstention: Abstention = text
        .parse()
        .map_err(|error: UnknownAbstention| error.to_string())?;
    match abstention.threshold {
        None => Ok(abstention.signal),
        Some(_) => Err(format!(
            "its threshold is what is chosen: name `{}` alone",
            abstention.signal
        )),
    }
}

/// The settings of `ken calibrate`.
fn settings() -> Vec<Arg> {
    let mut settings = flags(&keys![
        gate seed router kbm kbm_model kbm_for_any_model datastore corpus
    ]);
    // Without a corpus, the embedder is that of the router.
    let finding = FINDING.iter().copied();
    let finding = finding.filter(|key| *key != Key::moved_embedder);
    settings.extend(advanced(&finding.collect::<Vec<_>>()));
    settings.extend([
        Key::adapter.flag_for("For self-route: the adapter that chooses the source"),
        Key::model.flag_for("For a router over hidden states: the model that was probed"),
        Key::embedder.flag_for("For a router over embeddings: the embedder, without --corpus"),
    ]);
    settings
}

/// The flags that a confidence applies to.
fn promise() -> ArgGroup {
    ArgGroup::new("promise").args(["max_loss", "max_error"])
}

#[derive(Debug, Args)]
#[command(args = settings(), group = promise(), after_long_help = "\
Examples:
  ken calibrate known.jsonl --policy certainty
  ken calibrate known.jsonl --policy certainty --max-loss 0.02 --confidence 0.95
  ken calibrate known.jsonl --policy certainty --max-loss 0.02 --out guarantee.json
  ken calibrate known.jsonl --policy router --router router.json --corpus notes.ken
  ken calibrate known.jsonl --policy router --router router.json --held-out 0.2
  ken calibrate known.jsonl --policy uncertainty:perplexity+evidence:cosine
  ken calibrate known.jsonl --policy kbm+double --kbm kbm --corpus notes.ken
  ken calibrate known.jsonl --policy uncertainty:perplexity:0:1:3:8 --max-loss 0.02
  ken calibrate known.jsonl --policy uncertainty:perplexity --abstain evidence:confidence --max-error 0.1 \
    --out guarantee.json

RECORDS is what `ken probe` wrote with a corpus. A question retrieves if its signal is above the \
threshold: use it as --policy NAME@THRESHOLD. By default the threshold maximizes accuracy. With \
--max-loss it saves as many retrievals as possible while accuracy drops by at most E compared with \
always retrieving; with the given confidence, this holds for new questions of the same kind, asked \
of the same model and corpus. Of SIGNAL+evidence:MEASURE both thresholds are chosen together, and what \
counts is the evidence used. Of SIGNAL+double one threshold is chosen for both judgments, which uses evidence where \
the signal is above it without and not above it with the evidence; by `kbm` that takes --corpus, --mode and --rerank \
as they were probed with, to find the evidence again. Of SIGNAL:K:K… the signal is turned into the probability that memory is \
right, and the thresholds on that choose k: how many search results a question reads, so that on \
average it is as few as the goal allows. The records have to come from `ken probe --at-k`. With --abstain, the thresholds of the policy and of what withholds \
answers are chosen together: as many questions as possible are answered while at most A of the \
answers given are wrong, of new questions too, with the given confidence. Questions on subjects that a router, a \
gate or another model was trained on are left out: on those it looks better than it is.")]
pub(crate) struct CalibrateArguments {
    /// Records written by `ken probe`
    #[arg(value_name = "RECORDS")]
    pub(crate) records: PathBuf,

    #[arg(long, value_name = "POLICY", value_parser = open_policy, help = "Policy whose threshold to choose", long_help = format!(
        "Policy whose threshold to choose, by its signal: {}. Of one of the question and one of the evidence \
         with + between, both thresholds; of one of the question with +double, the one for both judgments; with values \
         of k (SIGNAL:0:1:3:8), those between these", Signal::names()
    ))]
    pub(crate) policy: Policy,

    /// Leave out the questions that `ken eval --held-out` evaluates on
    ///
    /// R is the share, the same as there. What is to be calibrated has to be trained with a larger one.
    #[arg(long, value_name = "R", value_parser = share, help_heading = ADVANCED)]
    pub(crate) held_out: Option<f64>,

    /// Let at most this share of the questions use evidence
    ///
    /// Of a policy that chooses k: of the search results that always retrieving reads.
    #[arg(long, value_name = "R", value_parser = share, conflicts_with_all = ["max_loss", "measured_loss"])]
    ratio: Option<f64>,

    /// Lose at most this much accuracy on these questions
    ///
    /// Compared with always retrieving; nothing is promised for others.
    #[arg(long, value_name = "E", value_parser = share, conflicts_with = "max_loss")]
    measured_loss: Option<f64>,

    /// Lose at most this much accuracy
    ///
    /// Compared with always retrieving; between 0 and 1.
    #[arg(long, value_name = "E", value_parser = open_share)]
    max_loss: Option<f64>,

    /// Withhold answers that this signal does not vouch for
    ///
    /// Chooses its threshold together with that of the policy, which is one of the question. Takes
    /// --max-error.
    #[arg(
        long,
        value_name = "SIGNAL",
        value_parser = vouching,
        requires = "max_error",
        conflicts_with_all = ["ratio", "max_loss", "measured_loss"]
    )]
    pub(crate) abstain: Option<Signal>,

    /// Let at most this share of the answers given be wrong
    ///
    /// With --abstain; between 0 and 1.
    #[arg(long, value_name = "A", value_parser = open_share, requires = "abstain")]
    max_error: Option<f64>,

    /// Confidence of the guarantee
    ///
    /// With --max-loss or --max-error.
    #[arg(
        long,
        value_name = "C",
        value_parser = open_share,
        default_value_t = ken_policy::CONFIDENCE,
        requires = "promise"
    )]
    confidence: f64,

    /// Answers that the policy will sample
    ///
    /// At most as many as were probed.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SAMPLES, value_parser = count::<NonZeroUsize>,
        help_heading = ADVANCED)]
    pub(crate) samples: NonZeroUsize,

    /// Write the guarantee to this file, for `ken serve --calibration`
    ///
    /// With --max-loss or --max-error, and a policy of one signal.
    #[arg(long, value_name = "FILE", requires = "promise")]
    pub(crate) out: Option<PathBuf>,
}

impl CalibrateArguments {
    /// What the thresholds should achieve.
    pub(crate) fn goal(&self) -> Goal {
        let confidence = self.confidence;
        if let Some(max_error) = self.max_error {
            return Goal::Errors {
                max_error,
                confidence,
            };
        }
        match (self.max_loss, self.ratio, self.measured_loss) {
            (Some(max_loss), ..) => Goal::Guarantee {
                max_loss,
                confidence,
            },
            (None, Some(ratio), _) => Goal::RetrievalRatio(ratio),
            (None, None, Some(loss)) => Goal::AtMostLost(loss),
            (None, None, None) => Goal::BestAccuracy,
        }
    }
}

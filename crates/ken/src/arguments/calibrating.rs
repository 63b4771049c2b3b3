//! The flags of `ken calibrate`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args};
use ken_answer::Signal;
use ken_route::Goal;

use crate::config::{Key, count, flags, open_share, share};

/// As many as `ken ask` draws where nobody says how many.
const DEFAULT_SAMPLES: NonZeroUsize = NonZeroUsize::new(ken_answer::SAMPLES).unwrap();

/// The settings that are taken.
fn taken() -> Vec<Arg> {
    let mut taken = flags(&[
        Key::router,
        Key::kbm,
        Key::kbm_model,
        Key::datastore,
        Key::corpus,
    ]);
    taken.extend([
        Key::adapter.flag_for("With --policy self-route: the adapter by which the model chooses"),
        Key::model.flag_for(
            "With --policy router: the model that was probed, where the router takes its hidden states",
        ),
        Key::embedder.flag_for(
            "With --policy router: the embedder that it takes vectors of, where no corpus is named",
        ),
    ]);
    taken
}

/// `ken calibrate`.
#[derive(Debug, Args)]
#[command(args = taken(), after_long_help = "\
Examples:
  ken calibrate known.jsonl --policy certainty
  ken calibrate known.jsonl --policy certainty --ratio 0.5
  ken calibrate known.jsonl --policy certainty --max-loss 0.02 --confidence 0.95
  ken calibrate known.jsonl --policy uncertainty:perplexity --json
  ken calibrate known.jsonl --policy certainty --samples 30
  ken calibrate known.jsonl --policy router --router router.json --corpus notes.ken

RECORDS is what `ken probe` wrote with a corpus. A question retrieves where its score by the
policy's signal is above the threshold: give it to ask, chat or eval as --policy NAME@THRESHOLD.
Without a goal the threshold of the best accuracy is chosen. With --max-loss it is the largest
saving that loses at most that much accuracy against always retrieving, with the confidence
given, on other questions of the same kind, asked of the same model with the same corpus.
Questions that a router was learned from are left out, since it says too much of them.")]
pub(crate) struct CalibrateArguments {
    /// A file of records of `ken probe`
    #[arg(value_name = "RECORDS")]
    pub(crate) records: PathBuf,

    #[arg(long, value_name = "POLICY", help = format!("What decides: {}", Signal::names()))]
    pub(crate) policy: Signal,

    /// How many answers the policy is to sample, at most as many as were probed
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SAMPLES, value_parser = count::<NonZeroUsize>)]
    pub(crate) samples: NonZeroUsize,

    /// Let at most this share of the questions retrieve, from 0 to 1
    #[arg(long, value_name = "R", value_parser = share, conflicts_with = "max_loss")]
    ratio: Option<f64>,

    /// Lose at most this much accuracy, between 0 and 1
    #[arg(long, value_name = "E", value_parser = open_share)]
    max_loss: Option<f64>,

    /// The confidence of the guarantee, between 0 and 1
    #[arg(long, value_name = "C", value_parser = open_share, default_value_t = ken_route::CONFIDENCE, requires = "max_loss")]
    confidence: f64,
}

impl CalibrateArguments {
    /// What the threshold is to achieve.
    pub(crate) fn goal(&self) -> Goal {
        match (self.max_loss, self.ratio) {
            (Some(max_loss), _) => Goal::Guarantee {
                max_loss,
                confidence: self.confidence,
            },
            (None, Some(ratio)) => Goal::RetrievalRatio(ratio),
            (None, None) => Goal::BestAccuracy,
        }
    }
}

//! The flags of `ken calibrate`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args};
use ken_answer::Signal;
use ken_route::Goal;

use crate::config::{Flag, Key, count, flags, open_share, share};

/// The default of `ken ask`.
const DEFAULT_SAMPLES: NonZeroUsize = NonZeroUsize::new(ken_answer::SAMPLES).unwrap();

/// The settings of `ken calibrate`.
fn settings() -> Vec<Arg> {
    let mut settings = flags(&[
        Key::router,
        Key::kbm,
        Key::kbm_model,
        Key::datastore,
        Key::corpus,
    ]);
    settings.extend([
        Key::adapter.flag_for("For self-route: the adapter that chooses the source"),
        Key::model.flag_for("For a router over hidden states: the model that was probed"),
        Key::embedder.flag_for("For a router over embeddings: the embedder, without --corpus"),
    ]);
    settings
}

#[derive(Debug, Args)]
#[command(args = settings(), after_long_help = "\
Examples:
  ken calibrate known.jsonl --policy certainty
  ken calibrate known.jsonl --policy certainty --max-loss 0.02 --confidence 0.95
  ken calibrate known.jsonl --policy router --router router.json --corpus notes.ken

RECORDS is what `ken probe` wrote with a corpus. A question retrieves if its signal is above the \
threshold: use it as --policy NAME@THRESHOLD. By default the threshold maximizes accuracy. With \
--max-loss it saves as many retrievals as possible while accuracy drops by at most E compared with \
always retrieving; with the given confidence, this holds for new questions of the same kind, asked \
of the same model and corpus. Questions that a router was trained on are left out: on those it \
looks better than it is.")]
pub(crate) struct CalibrateArguments {
    /// Records written by `ken probe`
    #[arg(value_name = "RECORDS")]
    pub(crate) records: PathBuf,

    #[arg(long, value_name = "POLICY", help = "Policy whose threshold to choose", long_help = format!(
        "Policy whose threshold to choose, by its signal: {}", Signal::names()
    ))]
    pub(crate) policy: Signal,

    /// Let at most this share of the questions retrieve
    #[arg(long, value_name = "R", value_parser = share, conflicts_with = "max_loss")]
    ratio: Option<f64>,

    /// Lose at most this much accuracy
    ///
    /// Compared with always retrieving; between 0 and 1.
    #[arg(long, value_name = "E", value_parser = open_share)]
    max_loss: Option<f64>,

    /// Confidence of that guarantee
    #[arg(long, value_name = "C", value_parser = open_share, default_value_t = ken_route::CONFIDENCE, requires = "max_loss")]
    confidence: f64,

    /// Answers that the policy will sample
    ///
    /// At most as many as were probed.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SAMPLES, value_parser = count::<NonZeroUsize>)]
    pub(crate) samples: NonZeroUsize,
}

impl CalibrateArguments {
    /// What the threshold should achieve.
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

//! A guarantee for tests of code that monitors one.

use ken_policy::{CalibratedOn, Guarantee, MeasuredError, MeasuredLoss, Promise};

/// A guarantee of `certainty@0.4` on 4 samples, for a model and a corpus given by their fingerprints, without
/// calibration scores.
#[must_use]
pub fn guarantee(model: &str, corpus: &str) -> Guarantee {
    Guarantee {
        policy: "certainty@0.4".to_owned(),
        promise: Promise::Loss {
            max_loss: 0.05,
            measured: MeasuredLoss {
                retrieval_ratio: 0.3,
                loss: 0.02,
                loss_bound: 0.045,
                disagreement: 0.05,
                disagreement_bound: 0.12,
            },
        },
        confidence: 0.95,
        samples: Some(4),
        calibrated_on: CalibratedOn {
            records: "known.jsonl".to_owned(),
            questions: 300,
            model: model.to_owned(),
            corpus: corpus.to_owned(),
            prompt: None,
            created: 7,
        },
        scores: None,
    }
}

/// As [`guarantee`], but it promises that at most a tenth of the answers given are wrong while `abstain` withholds others.
#[must_use]
pub fn guarantee_of_answers(model: &str, corpus: &str, abstain: Option<&str>) -> Guarantee {
    Guarantee {
        promise: Promise::Error {
            abstain: abstain.map(str::to_owned),
            max_error: 0.1,
            measured: MeasuredError {
                questions: 150,
                answered: 0.7,
                from_memory: 0.3,
                error: 0.04,
                error_bound: 0.09,
            },
        },
        ..guarantee(model, corpus)
    }
}

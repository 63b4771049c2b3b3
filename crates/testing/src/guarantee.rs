//! A guarantee for tests of whatever watches one.

use ken_route::{CalibratedOn, Guarantee, Measured};

/// A guarantee of `certainty@0.4` on 4 samples, for a model and a corpus by their fingerprints; without the scores
/// of its calibration.
#[must_use]
pub fn guarantee(model: &str, corpus: &str) -> Guarantee {
    Guarantee {
        policy: "certainty@0.4".to_owned(),
        max_loss: 0.05,
        confidence: 0.95,
        samples: Some(4),
        calibrated_on: CalibratedOn {
            records: "known.jsonl".to_owned(),
            questions: 300,
            model: model.to_owned(),
            corpus: corpus.to_owned(),
            created: 7,
        },
        measured: Measured {
            retrieval_ratio: 0.3,
            loss: 0.02,
            loss_bound: 0.045,
            disagreement: 0.05,
            disagreement_bound: 0.12,
        },
        scores: None,
    }
}

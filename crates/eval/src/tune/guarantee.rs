//! The guarantee of a chosen policy on new questions: a bound on how much of the accuracy of always retrieving is lost.

use ken_answer::{Pipeline, Policy, prompt};
use ken_policy::{
    CONFIDENCE, CalibratedOn, Goal, Guarantee, MeasuredLoss, Promise, Ranks, calibrate,
    disagreement_bound,
};
use ken_probe::Golden;

use crate::compare::{Answered, observations};
use crate::record::Record;

/// What a guarantee is calibrated on, before the questions are counted.
#[must_use]
pub fn calibrated_on(file: String, pipeline: &Pipeline) -> CalibratedOn {
    let corpus = pipeline.retriever().map(|r| r.back_end().fingerprint());
    let model = pipeline.model.fingerprint().to_owned();
    // Only short answers are guaranteed anything.
    let prompt = prompt::fingerprint();
    CalibratedOn::now(file, 0, model, corpus.unwrap_or_default(), prompt)
}

/// The guarantee of a policy with one threshold that was chosen in any way among several policies on these questions.
/// Thresholds are tested in ascending order as long as each keeps the loss, so each threshold up to the last one
/// keeps it; the policies with a threshold share the probability of an error (Bonferroni). `None` if this threshold
/// is beyond the last, or the policy has no threshold or several.
pub(super) fn guarantee(
    policy: Policy,
    among: &[Policy],
    answered: &[Answered<'_>],
    max_loss: f64,
    on: CalibratedOn,
    seed: u64,
) -> Option<Guarantee> {
    let is_of_one = |policy: &Policy| policy.signals().count() == 1 && !policy.is_graded();
    let threshold = policy.threshold().filter(|_| is_of_one(&policy))?;
    let sharing = among.iter().filter(|p| is_of_one(p)).count().max(1);
    let confidence = 1.0 - (1.0 - CONFIDENCE) / sharing as f64;
    let all: Vec<&Answered<'_>> = answered.iter().collect();
    let observations = observations(policy, &all);
    let goal = Goal::Guarantee {
        max_loss,
        confidence,
    };
    let last = calibrate(&policy.open(), None, 0, &observations, goal);
    // A threshold that decides all questions like the last one counts as the last one.
    let last_threshold = last.policy.threshold()?;
    let mut scores = observations.iter().map(|observation| observation.question);
    if scores.any(|score| last_threshold < score && score <= threshold) {
        return None;
    }
    let skipped = || observations.iter().filter(|o| o.question <= threshold);
    let n = observations.len();
    let of_all = |part: f64| part / n.max(1) as f64;
    let differing = all.iter().filter(|answered| {
        let score = answered.score(policy);
        score.is_some_and(|score| score <= threshold) && !is_same(answered.never, answered.always)
    });
    let differing = differing.count();
    let lost: f64 = skipped().map(|o| (o.always - o.memory).max(0.0)).sum();
    Some(Guarantee {
        policy: policy.to_string(),
        promise: Promise::Loss {
            max_loss,
            measured: MeasuredLoss {
                retrieval_ratio: of_all((n - skipped().count()) as f64),
                loss: of_all(lost),
                // The bound at the last threshold holds for all before it.
                loss_bound: last.bound,
                disagreement: of_all(differing as f64),
                disagreement_bound: disagreement_bound(differing, n, confidence),
            },
        },
        confidence: CONFIDENCE,
        samples: None,
        calibrated_on: CalibratedOn { questions: n, ..on },
        scores: Ranks::of(observations.iter().map(|o| o.question), seed),
    })
}

/// Whether the answer from memory is the one with evidence.
pub(super) fn is_same(never: &Record, always: &Record) -> bool {
    let golden = Golden::only(&always.answer, &always.choices);
    golden.scores(&never.answer).exact_match
}

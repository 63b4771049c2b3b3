//! The readings that signals share, from the record of a question.

use ken_probe::{Sample, answers, perplexity};

use super::{Calls, Measurements, Rating, Step};
use crate::Reading;

/// The least mean log probability, in nats: lower ones count as this.
const LEAST_CONFIDENCE: f64 = -20.0;

/// The mean natural-log probability of a greedy answer's tokens.
pub fn confidence(measured: &Measurements) -> Reading {
    of_greedy(measured, Sample::says_something, perplexity)
        .map(|perplexity| (-perplexity.ln()).max(LEAST_CONFIDENCE))
}

/// How sure a model is of its answer with evidence, by the mean log probabilities of the first tokens of that and of the
/// answer from memory. A memory that says nothing is not surer.
pub(super) fn assurance(without: &Measurements, with: &Measurements) -> Reading {
    /// The weight of the lead of the answer from memory, if the model is surer of that.
    const LEAD: f64 = 3.0;
    let opening = |measured| {
        of_greedy(measured, Sample::says_something, |answer| answer.opening)
            .map(|mean| mean.max(LEAST_CONFIDENCE))
    };
    let memory = opening(without).or(LEAST_CONFIDENCE);
    opening(with).with(memory, |with, memory| {
        with - LEAD * (memory - with).max(0.0)
    })
}

/// How much the log odds of a refusal lower the assurance. It is 0 at odds that are usual where a passage states
/// the answer, so that models with and without them have one threshold.
pub(super) fn doubt_by_refusal(log_odds: f64) -> f64 {
    const WEIGHT: f64 = 0.1;
    const USUAL: f64 = -3.0;
    WEIGHT * (log_odds - USUAL)
}

/// A number of the greedy answer, if that is an answer. Even an empty one may be likely: a model may be sure to write
/// nothing.
pub(super) fn of_greedy(
    measured: &Measurements,
    is_answer: fn(&Sample) -> bool,
    number: impl Fn(&Sample) -> Option<f64>,
) -> Reading {
    match &measured.greedy {
        None => Reading::NotMeasured,
        Some(answer) if !is_answer(answer) => Reading::CannotTell,
        Some(answer) => number(answer).into(),
    }
}

/// A reading from the sampled answers, if there are enough.
pub(super) fn of_samples(
    measured: &Measurements,
    reading: impl Fn(&[&Sample], &[usize]) -> Reading,
) -> Reading {
    match answers(&measured.samples, &measured.types) {
        Some((answers, types)) => reading(&answers, &types),
        None if measured.samples.is_empty() => Reading::NotMeasured,
        None => Reading::CannotTell,
    }
}

/// The number of a step; if the step was taken and gave none, the signal cannot tell.
pub(super) fn of_step(measured: &Measurements, step: Step, number: Option<f64>) -> Reading {
    let cost = measured.costs.get(&step);
    let is_taken = cost.is_some_and(|cost| cost.calls != Calls::default());
    match number {
        None if is_taken => Reading::CannotTell,
        number => number.into(),
    }
}

/// A number of a rating.
pub(super) fn of_rating(with: &Measurements, number: fn(&Rating) -> f64) -> Reading {
    of_step(with, Step::Rate, with.rating.as_ref().map(number))
}

/// The prediction of a routing model: the outer `None` if it was not asked, the inner if it gave no number.
pub(super) fn of_routing_model(prediction: Option<Option<f64>>) -> Reading {
    prediction.map_or(Reading::NotMeasured, |number| {
        number.unwrap_or(f64::NAN).into()
    })
}

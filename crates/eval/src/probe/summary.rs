//! Averages of probe records over questions. Callers format them.

use ken_probe::{Effect, MASK, correlation, mask};
use serde::Serialize;

use super::record::{Conditions, ProbeRecord};
use crate::statistics::{mean, share};

/// The aggregate of a run. Values are `None` if no question counts for them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbeSummary {
    /// Number of questions.
    pub n: usize,
    /// How many of them failed.
    pub failed: usize,
    /// How many were probed without confidence, since they have no golden answers.
    pub unjudged: usize,
    /// How many were probed with a model that does not report log probabilities.
    pub without_logprobs: usize,
    /// For how many too few of the samples from memory are answers to tell how much they agree.
    pub cannot_tell: usize,
    /// The share of questions with at least half of the answers from memory right.
    pub known_rate: Option<f64>,
    /// Mean confidence.
    pub confidence: Conditions<Option<f64>>,
    /// Mean certainty.
    pub certainty: Conditions<Option<f64>>,
    /// The effects of the evidence on confidence.
    pub effect_on_confidence: EffectShares,
    /// The effects of the evidence on certainty.
    pub effect_on_certainty: EffectShares,
    /// Pearson's correlation of confidence and certainty from memory.
    pub correlation: Option<f64>,
    /// Of the questions whose evidence was masked and whose answers with it are all of one type, the share that
    /// answer with the mask: the model copies instead of understanding (KBM, section 3.3).
    pub mask_copied: Option<f64>,
}

/// The shares of the three effects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct EffectShares {
    /// The indicator rises.
    pub beneficial: Option<f64>,
    /// It stays.
    pub neutral: Option<f64>,
    /// It falls.
    pub harmful: Option<f64>,
}

/// Averages `records`.
pub fn summarize_probe(records: &[ProbeRecord]) -> ProbeSummary {
    let probed = || records.iter().filter(|record| record.error.is_none());
    let average = |indicator: fn(&ProbeRecord) -> Conditions<Option<f64>>| Conditions {
        from_self: mean_of(probed().map(|record| indicator(record).from_self)),
        corpus: mean_of(probed().map(|record| indicator(record).corpus)),
        masked: mean_of(probed().map(|record| indicator(record).masked)),
    };
    let both: Vec<(f64, f64)> = probed()
        .filter_map(|record| Some((record.confidence.from_self?, record.certainty.from_self?)))
        .collect();
    let judged = probed().filter_map(|record| record.confidence.from_self);
    ProbeSummary {
        n: records.len(),
        failed: records.len() - probed().count(),
        unjudged: probed().filter(|record| record.unjudged.is_some()).count(),
        without_logprobs: probed().filter(|record| lacks_logprobs(record)).count(),
        cannot_tell: probed().filter(|record| cannot_tell(record)).count(),
        known_rate: share(judged.map(|confidence| confidence >= 0.5)),
        confidence: average(|record| record.confidence),
        certainty: average(|record| record.certainty),
        effect_on_confidence: effects(probed().filter_map(|record| record.effect.confidence)),
        effect_on_certainty: effects(probed().filter_map(|record| record.effect.certainty)),
        correlation: correlation(&both),
        mask_copied: share(probed().filter_map(copies_mask)),
    }
}

fn mean_of(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    mean(&values.flatten().collect::<Vec<_>>())
}

fn effects(effects: impl Iterator<Item = Effect>) -> EffectShares {
    let effects: Vec<Effect> = effects.collect();
    let of = |wanted| share(effects.iter().map(|effect| *effect == wanted));
    EffectShares {
        beneficial: of(Effect::Beneficial),
        neutral: of(Effect::Neutral),
        harmful: of(Effect::Harmful),
    }
}

fn lacks_logprobs(record: &ProbeRecord) -> bool {
    let mut samples = record.samples.from_self.iter().flatten();
    samples.any(|sample| sample.logprob.is_none() && !sample.text.is_empty())
}

fn cannot_tell(record: &ProbeRecord) -> bool {
    record.samples.from_self.is_some() && record.certainty.from_self.is_none()
}

/// Whether the only answer that a model gives to masked evidence is the mask; `None` if nothing was masked or the
/// answers differ.
fn copies_mask(record: &ProbeRecord) -> Option<bool> {
    let samples = record.samples.masked.as_ref()?;
    let certain = record.masked_places > 0 && record.certainty.masked == Some(1.0);
    let answer = samples.first().filter(|_| certain)?;
    Some(mask(&answer.text, &[MASK.to_owned()]).places > 0)
}

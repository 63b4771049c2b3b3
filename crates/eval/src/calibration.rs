//! The observations that thresholds are chosen on, from probe records: each question's score by a signal, and whether
//! its answers with and without evidence are right. `ken_policy` chooses.

use std::collections::BTreeSet;

use ken_answer::{Measurements, Signal, Step};
use ken_policy::{Observation, Reading};

use crate::calibration_error::CalibrationError;
use crate::discrimination::auroc;
use crate::probe::{ProbeAnswer, ProbeRecord, drawn_of};
use crate::results::RunSettings;
use crate::split::{AboutSubject, half};
use crate::statistics::number;

/// The probed questions that a threshold can be chosen on.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// One for each usable question.
    pub observations: Vec<Observation>,
    /// Unusable questions: probed without evidence, without golden answers, or failed.
    pub left_out: usize,
}

impl Observed {
    /// Observations for which a signal cannot tell, so that every threshold takes the careful side.
    pub fn cannot_tell(&self) -> usize {
        let cannot_tell = |o: &&Observation| o.question.is_nan() || o.review.is_nan();
        self.observations.iter().filter(cannot_tell).count()
    }

    /// The area under the ROC curve of the first signal, if there is one, for retrieval that makes the answer better.
    pub fn auroc(&self) -> Option<f64> {
        let scored = self.observations.iter().filter(|o| !o.question.is_nan());
        let scored = scored.map(|o| (o.question, o.always > o.memory));
        auroc(&scored.collect::<Vec<_>>())
    }
}

/// Checks that the probing with these settings sampled as policies do.
///
/// # Errors
/// [`CalibrationError::OtherTemperature`].
pub fn check_sampling(probed: &RunSettings) -> Result<(), CalibrationError> {
    match probed.get("temperature").map_or("unknown", String::as_str) {
        "1" => Ok(()),
        drawn => Err(CalibrationError::OtherTemperature {
            drawn: drawn.to_owned(),
        }),
    }
}

/// The measurements of a probed question from memory, with only the first `samples`, so that signals have the values
/// that they would have with that many. Answers are grouped as policies group them, whatever the grouping of the
/// probe.
///
/// Costs are those of the probe; if the record has more samples, the time is scaled by their number.
pub fn recorded(record: &ProbeRecord, samples: usize) -> Measurements {
    let probed = record.samples.from_self.as_deref().unwrap_or_default();
    let drawn = probed.get(..samples).unwrap_or_default();
    let draft = record.greedy.from_self.as_ref();
    let texts: Vec<&str> = drawn.iter().map(|sample| sample.text.as_str()).collect();
    let mut costs = record.costs.clone();
    if probed.len() != samples {
        costs.remove(&Step::Inspect);
    }
    if probed.len() < samples {
        costs.remove(&Step::Sample);
    }
    if let Some(cost) = costs.get_mut(&Step::Sample) {
        cost.calls.model = samples;
        cost.tokens.completion = drawn.iter().map(|sample| sample.written).sum();
        cost.ms *= samples as f64 / probed.len().max(1) as f64;
    }
    Measurements {
        judgment: record.judgment,
        greedy: draft.map(|greedy| greedy.answer.clone()),
        types: record.prompt().types(&texts),
        samples: drawn_of(drawn).0,
        eigenscore: record.eigenscore,
        costs,
        ..Measurements::default()
    }
}

/// The measurements of a probed question with evidence: its rating and the greedy answer.
pub fn recorded_with_evidence(record: &ProbeRecord) -> Measurements {
    let draft = record.greedy.corpus.as_ref();
    let mut costs = record.costs_with_evidence.clone();
    // If the search found nothing, the answer is the one from memory, at its cost.
    let from_memory = record.costs.get(&Step::Greedy);
    if let (Some(cost), true) = (from_memory, record.evidence.is_empty()) {
        costs.entry(Step::Greedy).or_insert(*cost);
    }
    Measurements {
        greedy: draft.map(|greedy| greedy.answer.clone()),
        rating: record.rating,
        costs,
        ..Measurements::default()
    }
}

/// A signal with its value for each record: `[records]`; `None` for a record to leave out.
pub type Scored<'a> = (Signal, &'a [Option<f64>]);

/// The observations for thresholds: the signals of each record, and whether its greedy answers are right. `review` is
/// the signal that reviews the evidence or vouches for the answer, if it differs from the first or was measured
/// again. `at_k`: the values of k that the policy chooses among, and the search results of the probe. The seed draws
/// the halves.
///
/// # Errors
/// No usable records; more search results than probed; a k without an answer in some record.
pub fn observe(
    records: &[ProbeRecord],
    question: Scored<'_>,
    review: Option<Scored<'_>>,
    (ks, always_k): (&[usize], usize),
    seed: u64,
) -> Result<Observed, CalibrationError> {
    let review = review.unwrap_or(question);
    let scored = records.iter().zip(question.1).zip(review.1);
    let compared = scored.filter_map(|((record, question), review)| {
        Some((record, both_right(record)?, [*question, *review]))
    });
    let compared: Vec<_> = compared.collect();
    if compared.is_empty() {
        let records = records.len();
        return Err(CalibrationError::NothingToCompare { records });
    }
    for (index, (signal, _)) in [question, review].into_iter().enumerate() {
        if compared.iter().all(|(.., scores)| scores[index].is_none()) {
            return Err(CalibrationError::NotMeasured { signal });
        }
    }
    if let Some(&wanted) = ks.last().filter(|most| **most > always_k) {
        let k = always_k;
        return Err(CalibrationError::FewerResults { wanted, k });
    }
    let mut missing = BTreeSet::new();
    let mut observations = Vec::new();
    for (record, (memory, always), scores) in compared {
        let [Some(question), Some(review)] = scores else {
            continue;
        };
        let right_at = |k: usize| match k {
            0 => Some(memory),
            k if k == always_k => Some(always),
            k => record.at_k.get(&k)?.correct.map(number),
        };
        missing.extend(ks.iter().copied().filter(|&k| right_at(k).is_none()));
        observations.push(Observation {
            question,
            review,
            memory,
            always,
            at_k: (ks.iter().map(|&k| right_at(k).unwrap_or_default())).collect(),
            second_half: half(seed, record.subject()) == 1,
        });
    }
    if !missing.is_empty() {
        let missing = missing.into_iter().collect();
        return Err(CalibrationError::NotAtK { missing });
    }
    if observations.is_empty() {
        return Err(CalibrationError::NotMeasured { signal: review.0 });
    }
    Ok(Observed {
        left_out: records.len() - observations.len(),
        observations,
    })
}

/// Whether the greedy answers without and with evidence are right, if there are both.
pub fn both_right(record: &ProbeRecord) -> Option<(f64, f64)> {
    let right = |answer: &Option<ProbeAnswer>| answer.as_ref()?.correct.map(number);
    right(&record.greedy.from_self).zip(right(&record.greedy.corpus))
}

/// The value of a signal for each record, for a policy that draws `samples`: `[records]`; NaN if it cannot tell,
/// `None` if it is not recorded, or the question was not answered with and without evidence.
///
/// # Errors
/// Records with fewer samples.
pub fn signal_scores(
    records: &[ProbeRecord],
    signal: Signal,
    samples: usize,
) -> Result<Vec<Option<f64>>, CalibrationError> {
    let of_samples = signal.is_of_samples();
    // Measurements over all samples cannot be repeated on fewer.
    let exactly = signal.steps.contains(&Step::Inspect);
    scores(signal, records, |record| {
        let drawn = record.samples.from_self.as_ref().map_or(0, Vec::len);
        if of_samples && (drawn < samples || exactly && drawn != samples) {
            return Err(CalibrationError::OtherSamples {
                drawn,
                wanted: samples,
            });
        }
        let without = recorded(record, samples);
        Ok(match signal.weighs_evidence() {
            true => signal.weigh(&without, &recorded_with_evidence(record)),
            false => signal.of(&without),
        })
    })
}

/// The readings of the compared records as scores: NaN if the signal cannot tell, or if a model that reports log
/// probabilities omitted those of an answer.
fn scores(
    signal: Signal,
    records: &[ProbeRecord],
    reading: impl Fn(&ProbeRecord) -> Result<Reading, CalibrationError>,
) -> Result<Vec<Option<f64>>, CalibrationError> {
    let lacks_opening = |record: &ProbeRecord| {
        let answers = [&record.greedy.from_self, &record.greedy.corpus];
        let mut answers = answers.into_iter().flatten();
        answers.any(|greedy| greedy.answer.lacks_opening())
    };
    if signal.reads_opening() && records.iter().any(lacks_opening) {
        return Err(CalibrationError::WithoutOpenings { signal });
    }
    let compared = |record: &ProbeRecord| both_right(record).map(|_| reading(record)).transpose();
    let readings = records.iter().map(compared);
    let readings: Vec<Option<Reading>> = readings.collect::<Result<_, _>>()?;
    let mut known = readings.iter().flatten();
    let is_reported = known.any(|reading| reading.number().is_some());
    let scores = readings.into_iter().map(|reading| match is_reported {
        true => signal.where_reported(reading?).recorded(),
        false => reading?.recorded(),
    });
    Ok(scores.collect())
}

/// The number of search results of the probing with these settings.
pub fn probed_k(probed: &RunSettings) -> Option<usize> {
    probed.get("k")?.parse().ok()
}

/// The value of a signal for each record's answer with evidence, for an abstention that draws `samples`: `[records]`;
/// `None` as in [`signal_scores`].
///
/// # Errors
/// Records with fewer samples; a signal that records do not hold for answers with evidence.
pub fn answer_scores(
    records: &[ProbeRecord],
    signal: Signal,
    samples: usize,
) -> Result<Vec<Option<f64>>, CalibrationError> {
    if signal.weighs_evidence() {
        return signal_scores(records, signal, samples);
    }
    if signal.told_by.is_some() || signal.steps.contains(&Step::Inspect) {
        return Err(CalibrationError::NotWithEvidence { signal });
    }
    scores(signal, records, |record| {
        let mut with = recorded_with_evidence(record);
        if signal.is_of_samples() {
            let probed = record.samples.corpus.as_deref().unwrap_or_default();
            let drawn = probed.get(..samples);
            let drawn = drawn.ok_or(CalibrationError::OtherSamples {
                drawn: probed.len(),
                wanted: samples,
            })?;
            let texts: Vec<&str> = drawn.iter().map(|sample| sample.text.as_str()).collect();
            with.types = record.prompt().types(&texts);
            with.samples = drawn_of(drawn).0;
        }
        Ok(signal.of(&with))
    })
}

#[cfg(test)]
mod tests {
    use ken_probe::Sample;
    use ken_testing::{has, says, with};

    use super::*;
    use crate::probe::{Conditions, ProbeSample};

    fn observe(
        records: &[ProbeRecord],
        signal: Signal,
        samples: usize,
    ) -> Result<Observed, CalibrationError> {
        let scores = signal_scores(records, signal, samples)?;
        super::observe(records, (signal, &scores), None, (&[], 0), 0)
    }

    fn record(answers: &[&str], without: bool, with: Option<bool>) -> ProbeRecord {
        let samples = answers.iter().enumerate().map(|(at, text)| ProbeSample {
            text: (*text).to_owned(),
            logprob: None,
            tokens: 1,
            written: 1,
            correct: None,
            lack: None,
            answer_type: at.min(1),
        });
        let greedy = |correct| ProbeAnswer {
            answer: with!(Sample::default(), text: "red".to_owned(), tokens: 1),
            correct: Some(correct),
        };
        ProbeRecord {
            greedy: Conditions {
                from_self: Some(greedy(without)),
                corpus: with.map(greedy),
                masked: None,
            },
            judgment: Some(0.3),
            samples: with!(Conditions::default(), from_self: Some(samples.collect())),
            ..ProbeRecord::default()
        }
    }

    #[test]
    fn answers_at_each_k_are_observed_or_missed() {
        let mut whole = record(&["one"], false, Some(true));
        let answer = |correct| ProbeAnswer {
            answer: Sample::default(),
            correct: Some(correct),
        };
        whole.at_k = [(1, answer(false)), (3, answer(true))].into();
        let closed_book = record(&["one"], false, None);
        let records = [whole, closed_book];
        let observed = |ks: &[usize]| {
            let scores = signal_scores(&records, Signal::JUDGMENT, 1)?;
            super::observe(&records, (Signal::JUDGMENT, &scores), None, (ks, 8), 0)
        };
        let Observed {
            observations,
            left_out,
        } = observed(&[0, 1, 3, 8]).unwrap();
        assert_eq!((observations.len(), left_out), (1, 1));
        has!(observations[0], at_k: [0.0, 0.0, 1.0, 1.0], memory: 0.0, always: 1.0);
        let error = observed(&[0, 2, 3, 4]).unwrap_err();
        assert_eq!(error.kind(), "not_at_k");
        assert!(error.remedy().unwrap().mentions("2,4"), "{error}");
        assert_eq!(observed(&[0, 9]).unwrap_err().kind(), "fewer_results");
    }

    #[test]
    fn measures_are_of_as_many_samples_as_wanted() {
        let record = record(&["red fox", "blue whale", "blue whale"], false, Some(true));
        let score = |signal, samples| {
            let observed = observe(std::slice::from_ref(&record), signal, samples);
            observed.map(|observed| observed.observations[0].question)
        };
        assert_eq!(score(Signal::CERTAINTY, 2), Ok(1.0));
        assert_eq!(score(Signal::LEXICAL_SIMILARITY, 2), Ok(1.0));
        let entropy = score(Signal::SEMANTIC_ENTROPY, 2).unwrap();
        assert!((entropy - 2.0_f64.ln()).abs() < 1e-12);
        assert!(score(Signal::CERTAINTY, 3).unwrap() < 1.0);
        assert_eq!(score(Signal::JUDGMENT, 9), Ok(0.3));
        let error = score(Signal::CERTAINTY, 4).unwrap_err();
        assert_eq!(error.kind(), "other_samples");
        assert!(error.remedy().unwrap().mentions("samples 3"));
    }

    #[test]
    fn answers_are_grouped_and_drawn_as_policies_do() {
        let mut record = record(&["red fox", "The red fox.", "whale"], false, Some(true));
        let certainty = |record: &ProbeRecord| {
            let observed = observe(std::slice::from_ref(record), Signal::CERTAINTY, 3);
            observed.unwrap().observations[0].question
        };
        let by_string = certainty(&record);
        for sample in record.samples.from_self.iter_mut().flatten() {
            sample.answer_type = 0;
        }
        assert_eq!(certainty(&record), by_string);
        // Two of three agree: H / ln I.
        let (two, one) = (2.0_f64 / 3.0, 1.0_f64 / 3.0);
        let entropy = -two * two.ln() - one * one.ln();
        assert!((by_string - entropy / 3.0_f64.ln()).abs() < 1e-12);

        let probed = |temperature: &str| {
            let settings = [("temperature".to_owned(), temperature.to_owned())];
            check_sampling(&settings.into())
        };
        assert_eq!(probed("1"), Ok(()));
        let error = probed("0.3").unwrap_err();
        assert_eq!(error.kind(), "other_temperature");
        assert!(error.remedy().unwrap().mentions("temperature 1"));
    }

    #[test]
    fn what_cannot_be_compared_is_left_out_or_an_error() {
        let whole = record(&["one", "two"], false, Some(true));
        let closed_book = record(&["one", "two"], false, None);
        let records = [whole.clone(), closed_book.clone()];
        let observed = observe(&records, Signal::CERTAINTY, 2).unwrap();
        has!(observed, observations.len(): 1, left_out: 1, observations[0].always: 1.0);
        let error = observe(&[closed_book], Signal::CERTAINTY, 2).unwrap_err();
        assert_eq!(error.kind(), "nothing_to_compare");
        let error = observe(std::slice::from_ref(&whole), Signal::MARGIN, 2).unwrap_err();
        says!(error.to_string() => "uncertainty:margin is not recorded");
        let error = observe(&[whole], Signal::PERPLEXITY, 2).unwrap_err();
        assert_eq!(error.kind(), "not_measured");
        assert!(error.remedy().is_some());
    }
}

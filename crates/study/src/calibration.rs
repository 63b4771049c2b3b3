//! From what was probed to what a threshold is chosen on: each question's score by a measure, and
//! how right its answers are with and without evidence. The choice itself is in `ken_route`.

use ken_probe::{Sample, lexical_similarity, perplexity, semantic_entropy};
use ken_route::{Measure, Observation};

use crate::probe::{ProbeRecord, ProbeSample};

/// The probed questions that a threshold can be chosen on.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// One for each usable question.
    pub observations: Vec<Observation>,
    /// Questions that could not be used: probed without evidence, without golden answers, or in
    /// vain.
    pub left_out: usize,
}

/// Why no threshold can be chosen on some records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CalibrationError {
    /// No question was answered both with and without evidence and has golden answers.
    #[error(
        "none of the {records} questions was probed with and without evidence and has golden answers"
    )]
    NothingToCompare {
        /// Records in the file.
        records: usize,
    },
    /// The measure needs what was not recorded.
    #[error(
        "{measure} cannot be told from these records, which hold no log probabilities or a single sample"
    )]
    NotMeasured {
        /// The measure.
        measure: Measure,
    },
}

impl CalibrationError {
    /// A short name for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NothingToCompare { .. } => "nothing_to_compare",
            Self::NotMeasured { .. } => "not_measured",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let remedy = match self {
            Self::NothingToCompare { .. } => {
                "probe questions with golden_answers: `ken probe QUESTIONS --corpus DIR`"
            }
            Self::NotMeasured { .. } => "use --policy certainty, or probe again with more samples",
        };
        Some(remedy.to_owned())
    }
}

/// The score of a question by a measure, the larger the more it needs retrieval; taken on the
/// answers from memory. `None` where it cannot be told.
pub fn need(record: &ProbeRecord, measure: Measure) -> Option<f64> {
    let samples = record.samples.from_self.as_deref()?;
    let texts: Vec<&str> = samples.iter().map(|sample| sample.text.as_str()).collect();
    let types: Vec<usize> = samples.iter().map(|sample| sample.answer_type).collect();
    match measure {
        Measure::Certainty => record.certainty.from_self.map(|certainty| 1.0 - certainty),
        Measure::LexicalSimilarity => lexical_similarity(&texts).map(|alike| 1.0 - alike),
        Measure::Perplexity => perplexity(&sampled(samples)),
        Measure::SemanticEntropy => semantic_entropy(&sampled(samples), &types),
    }
}

fn sampled(samples: &[ProbeSample]) -> Vec<Sample> {
    let samples = samples.iter().map(|sample| Sample {
        text: sample.text.clone(),
        logprob: sample.logprob,
        tokens: sample.tokens,
    });
    samples.collect()
}

/// What a threshold of `measure` can be chosen on.
///
/// # Errors
/// Where that is nothing.
pub fn observe(records: &[ProbeRecord], measure: Measure) -> Result<Observed, CalibrationError> {
    let mut observations = Vec::new();
    let mut compared = 0;
    for record in records {
        let (Some(without), Some(with)) = (record.confidence.from_self, record.confidence.corpus)
        else {
            continue;
        };
        compared += 1;
        observations.extend(need(record, measure).map(|score| Observation {
            score,
            without,
            with,
        }));
    }
    if compared == 0 {
        let records = records.len();
        return Err(CalibrationError::NothingToCompare { records });
    }
    if observations.is_empty() {
        return Err(CalibrationError::NotMeasured { measure });
    }
    Ok(Observed {
        left_out: records.len() - observations.len(),
        observations,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{Conditions, Effects, Fingerprints};

    fn record(answers: &[&str], without: Option<f64>, with: Option<f64>) -> ProbeRecord {
        let samples = answers.iter().enumerate().map(|(at, text)| ProbeSample {
            text: (*text).to_owned(),
            logprob: None,
            tokens: 1,
            correct: None,
            answer_type: at.min(1),
        });
        ProbeRecord {
            id: "q".into(),
            question: "Who mends the clock?".into(),
            golden_answers: vec!["Ilka".into()],
            choices: Vec::new(),
            confidence: Conditions {
                from_self: without,
                corpus: with,
                masked: None,
            },
            certainty: Conditions {
                from_self: Some(0.25),
                corpus: None,
                masked: None,
            },
            effect: Effects::default(),
            samples: Conditions {
                from_self: Some(samples.collect()),
                corpus: None,
                masked: None,
            },
            evidence: Vec::new(),
            masked_places: 0,
            unjudged: None,
            error: None,
            fingerprint: Fingerprints {
                model: String::new(),
                corpus: None,
                prompt: String::new(),
            },
        }
    }

    #[test]
    fn the_less_certain_need_more() {
        let record = record(&["red fox", "blue whale"], Some(0.0), Some(1.0));
        assert_eq!(need(&record, Measure::Certainty), Some(0.75));
        assert_eq!(need(&record, Measure::LexicalSimilarity), Some(1.0));
        let entropy = need(&record, Measure::SemanticEntropy).unwrap();
        assert!((entropy - 2.0_f64.ln()).abs() < 1e-12);
        assert_eq!(need(&record, Measure::Perplexity), None);
    }

    #[test]
    fn what_cannot_be_compared_is_left_out_or_an_error() {
        let whole = record(&["one", "two"], Some(0.0), Some(1.0));
        let closed_book = record(&["one", "two"], Some(0.0), None);
        let observed = observe(&[whole.clone(), closed_book.clone()], Measure::Certainty).unwrap();
        assert_eq!((observed.observations.len(), observed.left_out), (1, 1));
        let error = observe(&[closed_book], Measure::Certainty).unwrap_err();
        assert_eq!(error.kind(), "nothing_to_compare");
        let error = observe(&[whole], Measure::Perplexity).unwrap_err();
        assert_eq!(error.kind(), "not_measured");
        assert!(error.hint().is_some());
    }
}

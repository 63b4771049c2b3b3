//! Training examples for an assessor, which predicts what another model knows (KBM, section 4.1): for each probed
//! question, whether the model has mastered it, and whether its samples agree, from memory and with the evidence.

use ken_answer::Retrieved;
use ken_answer::prompt::{Indicator, QuestionPrompt, assess, from_evidence, from_memory, verdicts};
use ken_diagnostic::Action;
use ken_eval::probe::{Conditions, ProbeRecord, ProbedEvidence};
use ken_eval::statistics::number;
use ken_language::Prompt;

use super::error::ExamplesError;
use super::{ExampleKind, TrainingExample};

/// How an indicator becomes a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Labels {
    /// Whether the indicator reaches its threshold, the paper's tau.
    Hard {
        /// The confidence in `[0, 1]` from which an answer counts as mastered.
        mastery: f64,
        /// The certainty in `[0, 1]` from which answers count as alike.
        certainty: f64,
    },
    /// The indicator itself, as the probability of "yes".
    Soft,
}

impl Labels {
    /// The probability that the indicator is high.
    fn of(self, indicator: Indicator, value: f64) -> f64 {
        match (self, indicator) {
            (Self::Hard { mastery, .. }, Indicator::Mastery) => number(value >= mastery),
            (Self::Hard { certainty, .. }, Indicator::Certainty) => number(value >= certainty),
            (Self::Soft, _) => value.clamp(0.0, 1.0),
        }
    }
}

/// How to make the training examples.
#[derive(Clone, Copy)]
pub struct AssessorExampleOptions<'a> {
    /// The evidence of the probe; without it, all examples are from memory.
    pub evidence: Option<ProbedEvidence<'a>>,
    /// How indicators become targets.
    pub labels: Labels,
}

/// Examples for an assessor.
#[derive(Debug, Clone, PartialEq)]
pub struct AssessorExamples {
    /// The training examples.
    pub examples: Vec<TrainingExample>,
    /// The fingerprint of the probed model.
    pub model: String,
    /// The fingerprint of the prompts for its answers.
    pub prompt: String,
    /// Questions whose evidence was not found again, so that their examples are from memory only.
    pub without_evidence: usize,
}

/// The training examples of probed questions.
///
/// # Errors
/// Records without labels, of several models, or without evidence although there is a retriever; an indicator whose
/// labels for answers from memory are all equal; a search that fails.
pub fn assessor_examples(
    records: &[ProbeRecord],
    making: AssessorExampleOptions<'_>,
) -> Result<AssessorExamples, ExamplesError> {
    let usable: Vec<&ProbeRecord> = records.iter().filter(|r| r.error.is_none()).collect();
    let no_labels = || ExamplesError::NothingToLearn {
        records: records.len(),
        labeled_by: Action::Probe,
    };
    let first = usable.first().ok_or_else(no_labels)?;
    let (model, prompt) = (&first.fingerprint.model, &first.fingerprint.prompt);
    let is_other =
        |r: &&ProbeRecord| (&r.fingerprint.model, &r.fingerprint.prompt) != (model, prompt);
    if usable.iter().any(is_other) {
        return Err(ExamplesError::MixedRecords);
    }
    let is_bare = |record: &&ProbeRecord| record.evidence.is_empty();
    if making.evidence.is_some() && usable.iter().all(is_bare) {
        return Err(ExamplesError::NoEvidence {
            records: usable.len(),
        });
    }
    let mut examples = Vec::new();
    let mut without_evidence = 0;
    for record in &usable {
        let found = making.evidence.map(|evidence| evidence.of(record));
        let evidence = match found.transpose()? {
            Some(Some(evidence)) => evidence,
            Some(None) => {
                without_evidence += 1;
                Vec::new()
            }
            None => Vec::new(),
        };
        examples.extend(examples_of(record, &evidence, making.labels));
    }
    if examples.is_empty() {
        return Err(no_labels());
    }
    if let Some(indicator) = one_sided(&usable, making.labels) {
        return Err(ExamplesError::OneSide {
            questions: usable.len(),
            indicator,
        });
    }
    Ok(AssessorExamples {
        examples,
        model: model.clone(),
        prompt: prompt.clone(),
        without_evidence,
    })
}

const INDICATORS: [Indicator; 2] = [Indicator::Mastery, Indicator::Certainty];

fn indicated(record: &ProbeRecord, indicator: Indicator) -> Conditions<Option<f64>> {
    match indicator {
        Indicator::Mastery => record.confidence,
        Indicator::Certainty => record.certainty,
    }
}

/// An indicator whose labels for answers from memory are all equal, if there is one. The policy is about these; with
/// evidence, a model may be equally sure of all.
fn one_sided(records: &[&ProbeRecord], labels: Labels) -> Option<Indicator> {
    INDICATORS.into_iter().find(|&indicator| {
        let mut labels = records
            .iter()
            .filter_map(|record| indicated(record, indicator).from_self)
            .map(|value| labels.of(indicator, value));
        let first = labels.next();
        first.is_some_and(|first| labels.all(|label| label == first))
    })
}

/// The examples of a question, from memory and with the evidence.
fn examples_of(
    record: &ProbeRecord,
    evidence: &[Retrieved],
    labels: Labels,
) -> Vec<TrainingExample> {
    let from = |kind, asked: &Prompt, value: &dyn Fn(Conditions<Option<f64>>) -> Option<f64>| {
        let mut examples = Vec::new();
        for indicator in INDICATORS {
            let Some(value) = value(indicated(record, indicator)) else {
                continue;
            };
            let label = labels.of(indicator, value);
            let verdicts = verdicts(&record.question).into_iter();
            let weighted = verdicts.zip([label, 1.0 - label]);
            let weighted = weighted.filter(|&(_, chance)| chance > 0.0);
            examples.extend(weighted.map(|(verdict, chance)| TrainingExample {
                id: record.id.clone(),
                kind,
                prompt: assess(&record.question, asked, indicator),
                output: verdict.to_owned(),
                weight: chance as f32,
            }));
        }
        examples
    };
    let question = QuestionPrompt::new(&record.question, &record.choices);
    let mut examples = from(ExampleKind::Assessor, &from_memory(question), &|of| {
        of.from_self
    });
    if !evidence.is_empty() {
        let asked = from_evidence(question, &evidence.iter().collect::<Vec<_>>());
        examples.extend(from(ExampleKind::AssessorWithEvidence, &asked, &|of| {
            of.corpus
        }));
    }
    examples
}

#[cfg(test)]
mod tests {
    use ken_testing::with;

    use super::*;

    fn record(confidence: &f64) -> ProbeRecord {
        with!(ProbeRecord::default(), question: format!("who is {confidence}"),
            confidence: with!(Conditions::default(), from_self: Some(*confidence)))
    }

    fn taught(confidences: &[f64], labels: Labels) -> Result<Vec<(String, f32)>, ExamplesError> {
        let records: Vec<ProbeRecord> = confidences.iter().map(record).collect();
        let making = AssessorExampleOptions {
            evidence: None,
            labels,
        };
        let examples = assessor_examples(&records, making)?.examples;
        let each = examples.into_iter();
        Ok(each.map(|one| (one.output, one.weight)).collect())
    }

    #[test]
    fn hard_labels_are_a_side_and_soft_ones_a_probability() {
        let said = |verdicts: &[(&str, f32)]| -> Vec<(String, f32)> {
            let each = verdicts.iter();
            each.map(|(said, weight)| ((*said).to_owned(), *weight))
                .collect()
        };
        let confidences = [0.0, 0.25, 1.0];
        let hard = Labels::Hard {
            mastery: 0.25,
            certainty: 1.0,
        };
        assert_eq!(
            taught(&confidences, hard).unwrap(),
            said(&[("no", 1.0), ("yes", 1.0), ("yes", 1.0)])
        );
        assert_eq!(
            taught(&confidences, Labels::Soft).unwrap(),
            said(&[("no", 1.0), ("yes", 0.25), ("no", 0.75), ("yes", 1.0)])
        );
    }

    #[test]
    fn labels_that_are_all_alike_teach_nothing() {
        let alike = |confidences: &[f64], labels| {
            matches!(
                taught(confidences, labels),
                Err(ExamplesError::OneSide { .. })
            )
        };
        let hard = Labels::Hard {
            mastery: 0.5,
            certainty: 0.5,
        };
        assert!(alike(&[0.1, 0.2], hard));
        assert!(!alike(&[0.1, 0.2], Labels::Soft));
        assert!(alike(&[0.2, 0.2], Labels::Soft));
        assert!(!alike(&[0.1, 0.9], hard));
    }

    #[test]
    fn each_indicator_has_its_threshold_and_needs_both_labels() {
        let records = [(0.2, 0.6), (0.7, 0.9)].map(|(confidence, certainty)| {
            with!(record(&confidence),
                certainty: with!(Conditions::default(), from_self: Some(certainty)))
        });
        let taught = |mastery, certainty| {
            let making = AssessorExampleOptions {
                evidence: None,
                labels: Labels::Hard { mastery, certainty },
            };
            assessor_examples(&records, making)
        };
        let examples = taught(0.5, 0.8).unwrap().examples;
        let said: Vec<&str> = examples.iter().map(|one| one.output.as_str()).collect();
        assert_eq!(said, ["no", "no", "yes", "yes"]);
        assert!(examples.iter().all(|one| one.kind == ExampleKind::Assessor));
        // One threshold for both would call all answers certain.
        let error = taught(0.5, 0.5).unwrap_err();
        assert_eq!(error.kind(), "one_class");
        assert!(error.to_string().contains("certainty"), "{error}");
        assert!(error.remedy().unwrap().mentions("certainty_threshold"));
        let error = taught(0.9, 0.8).unwrap_err();
        assert!(error.to_string().contains("confidence"), "{error}");
    }
}

//! The record of one labeled question: its contexts, how likely each makes the golden answer, and the preferred
//! source. `contexts` produces the contexts; `summary` computes shares.

use std::collections::BTreeMap;

use ken_eval::dataset::Question;
use ken_eval::record::Failure;
use ken_eval::record_of_question;
use ken_eval::split::AboutSubject;
use ken_probe::{Obstacle, Preferred, Rated, prefer, rate};
use serde::{Deserialize, Deserializer, Serialize};

/// A text to answer the question from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// `self`, or the name of a corpus.
    pub source: String,
    /// The title of the passage's document with the headings over it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What the model wrote, or the passage.
    pub text: String,
    /// The passage; `None` for what the model wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage_id: Option<String>,
    /// Natural-log probability of the golden answer after this context and the question.
    #[serde(deserialize_with = "log_probability")]
    pub logprob: f64,
}

/// The rating of a source for a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceLabel {
    /// `self`, or the name of a corpus.
    pub source: String,
    /// The index of its most helpful context in `contexts`: c+; `None` if it has no context.
    pub best: Option<usize>,
    /// The index of its least helpful context: c−.
    pub worst: Option<usize>,
    /// How many of the most helpful contexts belong to it.
    pub among_top: f64,
    /// Natural logarithm of the sum of its contexts' likelihoods.
    #[serde(deserialize_with = "log_probability")]
    pub log_sum: f64,
}

/// The models, corpora and prompts that a label depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelFingerprints {
    /// The model.
    pub model: String,
    /// The corpora by their names.
    pub corpora: BTreeMap<String, String>,
    /// The fingerprint of the prompts for answers.
    pub prompt: String,
    /// The fingerprint of the prompts for texts.
    pub verbalize: String,
}

/// The record of one question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// The question's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// Its golden answers.
    pub golden_answers: Vec<String>,
    /// Its choices, if it is multiple-choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The subject in its metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The scored golden answer; `None` without one.
    pub golden_answer: Option<String>,
    /// Natural-log probability of the golden answer after the question alone: the null context (SR-RAG, Fig. 3).
    /// `None` without a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null_logprob: Option<f64>,
    /// The contexts: the model's texts, then the passages of each corpus, best first.
    pub contexts: Vec<Context>,
    /// Every source, the model itself first.
    pub sources: Vec<SourceLabel>,
    /// The preferred source, by both rules; `None` without a label.
    pub preferred: Option<Preferred<String>>,
    /// Why there is no label.
    pub unlabeled: Option<Obstacle>,
    /// Why labeling the question failed.
    pub error: Option<Failure>,
    /// The models, corpora and prompts.
    pub fingerprint: LabelFingerprints,
}

impl AboutSubject for SourceRecord {
    fn subject(&self) -> &str {
        self.subject.as_deref().unwrap_or(&self.question)
    }
}

record_of_question!(
    SourceRecord,
    LabelSource by LabelSources,
    [question, golden_answers, choices]
);

impl SourceRecord {
    /// Labels a question. `null_logprob` is that of the golden answer without any context, `sources` has all names in
    /// order, and `top` is how many of the most helpful contexts count for the majority.
    pub(super) fn new(
        question: &Question,
        golden_answer: String,
        null_logprob: f64,
        contexts: Vec<Context>,
        sources: &[&str],
        top: usize,
        fingerprint: LabelFingerprints,
    ) -> Self {
        let rated: Vec<Rated> = contexts
            .iter()
            .map(|context| Rated {
                // `rate` ignores contexts of unknown sources.
                source: sources
                    .iter()
                    .position(|source| *source == context.source)
                    .unwrap_or(sources.len()),
                logprob: context.logprob,
            })
            .collect();
        let ratings = rate(&rated, sources.len(), top);
        let preferred = prefer(&ratings).map(|both| Preferred {
            majority: sources[both.majority].to_owned(),
            sum: sources[both.sum].to_owned(),
        });
        Self {
            golden_answer: Some(golden_answer),
            // JSON has no infinities.
            null_logprob: Some(null_logprob.max(f64::MIN)),
            sources: sources
                .iter()
                .zip(ratings)
                .map(|(source, rating)| SourceLabel {
                    source: (*source).to_owned(),
                    best: rating.extremes.map(|(best, _)| best),
                    worst: rating.extremes.map(|(_, worst)| worst),
                    among_top: rating.among_top,
                    log_sum: rating.log_sum,
                })
                .collect(),
            contexts,
            preferred,
            ..Self::without_label(question, fingerprint)
        }
    }

    /// The record of a question that has no label.
    pub(super) fn unlabeled(
        question: &Question,
        obstacle: Obstacle,
        fingerprint: LabelFingerprints,
    ) -> Self {
        Self {
            unlabeled: Some(obstacle),
            ..Self::without_label(question, fingerprint)
        }
    }

    /// The record of a question whose labeling failed.
    pub(super) fn failed(
        question: &Question,
        error: Failure,
        fingerprint: LabelFingerprints,
    ) -> Self {
        Self {
            error: Some(error),
            ..Self::without_label(question, fingerprint)
        }
    }

    fn without_label(question: &Question, fingerprint: LabelFingerprints) -> Self {
        Self {
            subject: question.named_subject(),
            fingerprint,
            ..Self::of(question)
        }
    }
}

/// An impossible answer has the logarithm of 0, which JSON has no number for: it is written as null.
fn log_probability<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NEG_INFINITY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_eval::run::RunRecord;
    use serde_json::{Value, json};

    fn context(source: &str, likelihood: f64) -> Context {
        Context {
            source: source.to_owned(),
            title: String::new(),
            text: "t".to_owned(),
            passage_id: (source != "self").then(|| "a#0".to_owned()),
            logprob: likelihood.ln(),
        }
    }

    #[test]
    fn a_record_has_the_names_of_the_contract_and_survives_json() {
        let question: Question =
            serde_json::from_value(json!({"id": "1", "question": "Who?", "golden_answers": ["x"]}))
                .unwrap();
        let fingerprint = LabelFingerprints {
            model: "m".to_owned(),
            corpora: [("wiki".to_owned(), "c".to_owned())].into(),
            prompt: "p".to_owned(),
            verbalize: "v".to_owned(),
        };
        let contexts = vec![
            context("self", 0.25),
            context("self", 0.0),
            context("wiki", 0.2),
            context("wiki", 0.1),
        ];
        let record = SourceRecord::new(
            &question,
            "x".to_owned(),
            -2.5,
            contexts,
            &["self", "wiki"],
            3,
            fingerprint,
        );
        let value = serde_json::to_value(&record).unwrap();
        assert_eq!(
            value["preferred"],
            json!({"majority": "wiki", "sum": "wiki"})
        );
        assert_eq!(value["contexts"][1]["logprob"], Value::Null);
        assert_eq!(value["contexts"][2]["passage_id"], "a#0");
        assert!(value["contexts"][0].get("passage_id").is_none());
        assert_eq!(value["sources"][0]["best"], 0);
        assert_eq!(value["sources"][0]["worst"], 1);
        assert_eq!(value["sources"][1]["best"], 2);
        assert_eq!(value["sources"][1]["among_top"], 2.0);
        assert_eq!(
            serde_json::from_value::<SourceRecord>(value).unwrap(),
            record
        );
        assert!(record.is_of(&question));
    }
}

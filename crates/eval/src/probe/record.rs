//! The record of one probed question: its samples, their correctness and types, and the indicators. `batch` draws the
//! samples; `summary` averages records.

use std::collections::BTreeMap;

use ken_answer::{AnswerError, Cost, QuestionPrompt, Rating, Step};
use ken_probe::{Effect, Lack, Obstacle, Sample, answers, certainty, confidence};
use serde::{Deserialize, Serialize};

use crate::dataset::Question;
use crate::record::Failure;
use crate::record_of_question;
use crate::split::AboutSubject;

/// One value per condition of a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions<T> {
    /// From memory.
    #[serde(rename = "self")]
    pub from_self: T,
    /// With evidence from the corpus.
    pub corpus: T,
    /// With the golden answers masked in that evidence.
    pub masked: T,
}

impl<T> Conditions<T> {
    /// Maps the value of each condition.
    pub fn map<U>(&self, mut value: impl FnMut(&T) -> U) -> Conditions<U> {
        Conditions {
            from_self: value(&self.from_self),
            corpus: value(&self.corpus),
            masked: value(&self.masked),
        }
    }
}

/// A sampled answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeSample {
    /// The answer.
    pub text: String,
    /// Natural-log probability at temperature 1 of the answer and its end, if the model reports it.
    pub logprob: Option<f64>,
    /// Tokens of the answer and its end.
    pub tokens: usize,
    /// Tokens that the model wrote: those of the answer without its end, and any after it.
    pub written: usize,
    /// Whether it is right; `None` if the question has no golden answer.
    pub correct: Option<bool>,
    /// Why it is not an answer, or not all of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lack: Option<Lack>,
    /// Its answer type: answers of one type say the same.
    #[serde(rename = "type")]
    pub answer_type: usize,
}

/// The greedy answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeAnswer {
    /// The answer, with its log probability and token entropies.
    #[serde(flatten)]
    pub answer: Sample,
    /// Whether it is right; `None` if the question has no golden answer.
    pub correct: Option<bool>,
}

/// The effect of the evidence on both indicators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effects {
    /// On confidence; `None` without confidence.
    pub confidence: Option<Effect>,
    /// On certainty; `None` without evidence.
    pub certainty: Option<Effect>,
}

/// The models, corpus and prompts that a record depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprints {
    /// The model.
    pub model: String,
    /// The corpus; `None` without one.
    pub corpus: Option<String>,
    /// The fingerprint of the prompts.
    pub prompt: String,
}

/// The record of one question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeRecord {
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
    /// The share of right answers by condition.
    pub confidence: Conditions<Option<f64>>,
    /// How much the answers agree; `None` if too few of the samples are answers.
    pub certainty: Conditions<Option<f64>>,
    /// The effect of the evidence.
    pub effect: Effects,
    /// The greedy answer; `None` for a condition that was not used.
    pub greedy: Conditions<Option<ProbeAnswer>>,
    /// The probability, according to the model, that it must look the question up, if the model scores.
    pub judgment: Option<f64>,
    /// The eigenscore of the samples from memory, if requested.
    pub eigenscore: Option<f64>,
    /// The samples; `None` for a condition that was not used.
    pub samples: Conditions<Option<Vec<ProbeSample>>>,
    /// Ids of the passages in the prompt, best first.
    pub evidence: Vec<String>,
    /// How many golden answers were masked in them. If none, the masked evidence is the same, and shares the samples.
    pub masked_places: usize,
    /// Why there is no confidence.
    pub unjudged: Option<Obstacle>,
    /// Why probing the question failed.
    pub error: Option<Failure>,
    /// Costs of the judgment, and of answers and hidden states from memory: calls, tokens and the question's share of
    /// its batch's time, as in a trace.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub costs: BTreeMap<Step, Cost>,
    /// How well the passages of the corpus fit the question; `None` without a corpus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<Rating>,
    /// Costs of that rating, and of the greedy answer with evidence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub costs_with_evidence: BTreeMap<Step, Cost>,
    /// The greedy answers with only the best search results, by their number, if requested.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at_k: BTreeMap<usize, ProbeAnswer>,
    /// The models, corpus and prompts.
    pub fingerprint: Fingerprints,
}

impl ProbeRecord {
    /// The question with its choices, for prompts.
    pub fn prompt(&self) -> QuestionPrompt<'_> {
        QuestionPrompt::new(self.question.trim(), &self.choices)
    }
}

impl AboutSubject for ProbeRecord {
    fn subject(&self) -> &str {
        self.subject.as_deref().unwrap_or(&self.question)
    }
}

record_of_question!(ProbeRecord, Probe by Probe, [question, golden_answers, choices]);

/// The answers drawn under a condition, with their correctness.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    pub(super) greedy: ProbeAnswer,
    pub(super) samples: Vec<ProbeSample>,
}

impl ProbeRecord {
    /// The record with the answers and their indicators.
    pub(super) fn answered(
        self,
        drawn: &Conditions<Option<Judged>>,
        fingerprint: Fingerprints,
    ) -> Self {
        let greedy = drawn.map(|drawn| drawn.as_ref().map(|drawn| drawn.greedy.clone()));
        let samples = drawn.map(|drawn| drawn.as_ref().map(|drawn| drawn.samples.clone()));
        let confidence = samples.map(|samples| {
            let correct: Option<Vec<bool>> = samples
                .iter()
                .flatten()
                .map(|sample| sample.correct)
                .collect();
            confidence(&correct?)
        });
        let certainty = samples.map(|samples| {
            let (drawn, types) = drawn_of(samples.as_deref()?);
            certainty(&answers(&drawn, &types)?.1)
        });
        Self {
            effect: Effects {
                confidence: effect(confidence),
                certainty: effect(certainty),
            },
            confidence,
            certainty,
            greedy,
            samples,
            fingerprint,
            ..self
        }
    }

    /// The record of a question whose probing failed.
    pub(super) fn failed(
        question: &Question,
        error: &AnswerError,
        fingerprint: Fingerprints,
    ) -> Self {
        Self {
            subject: question.named_subject(),
            error: Some(Failure::of(error)),
            fingerprint,
            ..Self::of(question)
        }
    }
}

/// The samples in the form that signals take, with the answer type of each.
pub fn drawn_of(samples: &[ProbeSample]) -> (Vec<Sample>, Vec<usize>) {
    let each = samples.iter().map(|sample| {
        let drawn = Sample {
            text: sample.text.clone(),
            logprob: sample.logprob,
            tokens: sample.tokens,
            lack: sample.lack.clone(),
            ..Sample::default()
        };
        (drawn, sample.answer_type)
    });
    each.unzip()
}

fn effect(indicator: Conditions<Option<f64>>) -> Option<Effect> {
    Some(Effect::between(indicator.from_self?, indicator.corpus?))
}

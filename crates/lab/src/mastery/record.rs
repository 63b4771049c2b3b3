//! The record of one sentence: its questions, the answers to them, and the share of right ones.

use ken_answer::AnswerError;
use ken_diagnostic::Action;
use ken_eval::record::Failure;
use ken_eval::results::Line;
use ken_eval::run::{RunRecord, Task};
use ken_eval::statistics::{share, wilson_interval};
use ken_probe::mastery::Dropped;
use serde::{Deserialize, Serialize};

use super::sentences::Sentence;

/// A question about a sentence, with the sentence's answer and the model's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnsweredPair {
    /// The question.
    pub question: String,
    /// The answer, as in the sentence.
    pub answer: String,
    /// The model's answer from memory.
    pub prediction: String,
    /// Whether that is right: by default, whether it equals the answer after normalization.
    pub correct: bool,
    /// The probability, in `[0, 1]`, that the sentence gives the answer, according to the writer; `None` if the
    /// writer does not score.
    pub validity: Option<f64>,
}

/// The models, corpus and prompts that a record depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MasteryFingerprints {
    /// The model whose mastery it is.
    pub model: String,
    /// The model that wrote and judged the questions.
    pub writer: String,
    /// The corpus.
    pub corpus: String,
    /// The words of the prompts.
    pub prompt: String,
}

/// The record of one sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MasteryRecord {
    /// The passage's id and the sentence's number in it.
    pub id: String,
    /// The passage of the sentence.
    pub passage_id: String,
    /// The title of its document; may be empty.
    pub title: String,
    /// The sentence.
    pub sentence: String,
    /// The share of its questions that the model answers right (Zero-RAG, equation 3); `None` without questions.
    pub mastery: Option<f64>,
    /// The 95 % Wilson interval of the mastery, low and high.
    pub interval: Option<[f64; 2]>,
    /// The questions that passed all filters, with answers.
    pub pairs: Vec<AnsweredPair>,
    /// How many questions the sentence supports.
    pub wanted: usize,
    /// How many of those were dropped, by filter.
    pub dropped: Dropped,
    /// Why measuring the sentence failed.
    pub error: Option<Failure>,
    /// The models, corpus and prompts.
    pub fingerprint: MasteryFingerprints,
}

impl Line for MasteryRecord {
    const WRITTEN_BY: Action = Action::LabelMastery;

    fn id(&self) -> &str {
        &self.id
    }
}

impl RunRecord for MasteryRecord {
    type Item = Sentence;

    const TASK: Task = Task::LabelMastery;

    fn is_of(&self, sentence: &Sentence) -> bool {
        self.sentence == sentence.text && self.title == sentence.title
    }

    fn recorded(&self, sentence: &Sentence) -> String {
        let (id, recorded) = (&sentence.id, &self.sentence);
        format!("another sentence under the id {id:?}: {recorded:?}")
    }
}

impl MasteryRecord {
    /// The record of a sentence with answered pairs.
    pub(super) fn new(
        sentence: &Sentence,
        wanted: usize,
        dropped: Dropped,
        pairs: Vec<AnsweredPair>,
        fingerprint: MasteryFingerprints,
    ) -> Self {
        let correct = || pairs.iter().map(|pair| pair.correct);
        let right = correct().filter(|is_right| *is_right).count();
        Self {
            id: sentence.id.clone(),
            passage_id: sentence.passage_id.clone(),
            title: sentence.title.clone(),
            sentence: sentence.text.clone(),
            mastery: share(correct()),
            interval: wilson_interval(right, pairs.len()),
            pairs,
            wanted,
            dropped,
            error: None,
            fingerprint,
        }
    }

    /// The record of a sentence whose measurement failed.
    pub(super) fn failed(
        sentence: &Sentence,
        error: &AnswerError,
        fingerprint: MasteryFingerprints,
    ) -> Self {
        Self {
            error: Some(Failure::of(error)),
            ..Self::new(sentence, 0, Dropped::default(), Vec::new(), fingerprint)
        }
    }
}

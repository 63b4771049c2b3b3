//! What is kept of one evaluated question: the answer, its scores, its evidence and its cost.
//!
//! Scoring rules are in `ken_probe`, the file format in `results`, averages in `summary`.

use std::collections::BTreeMap;

use ken_answer::{Answer, AnswerError, Calls, Retrieved, Style, Tokens};
use ken_diagnostic::Action;
use ken_policy::Source;
use ken_probe::{Lack, Sample, covers};
use serde::{Deserialize, Serialize};

use crate::dataset::Question;
use crate::record_of_question;
use crate::results::Recorded;
use crate::split::AboutSubject;

/// The line kept for one question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The question's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// Its gold answers.
    pub golden_answers: Vec<String>,
    /// Its choices, where it is multiple-choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The subject that its metadata name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The answer as given; empty where there is none.
    pub answer: String,
    /// The same with its log probability, where it was written greedily from the question and what was found
    /// alone: the signals of policies that go by that answer need no other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greedy: Option<Sample>,
    /// Whether it is a full answer, which is written beside the short one that policies go by.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
    /// The short answer that was withheld, since nothing vouched for it. It counts as wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// The policy that chose the route.
    pub policy: String,
    /// Whether a signal that was to decide cannot tell, so that the question was searched for, evidence kept, or the
    /// answer withheld.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cannot_tell: bool,
    /// Why there is no answer, or not all of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lack: Option<Lack>,
    /// Where the answer's knowledge came from; `None` where there is no answer.
    pub route: Option<Source>,
    /// Why the question could not be answered, which counts as a wrong answer.
    pub error: Option<Failure>,
    /// Exact match.
    pub em: bool,
    /// Token F1, 0..=1.
    pub f1: f64,
    /// A gold answer occurs in the answer.
    pub contains: bool,
    /// Ids of the retrieved passages, best first; where they were cut into chunks, one id a chunk.
    pub retrieved: Vec<String>,
    /// The passage or document that answers the question, where the question names one; of several, the one
    /// that was found first, or the first that is named.
    pub gold_passage: Option<String>,
    /// Rank of that passage among the retrieved ones, from 1; `None` if it is not among them.
    pub gold_rank: Option<usize>,
    /// Whether a passage in the prompt holds a gold answer; `None` if nothing was retrieved or
    /// there is no gold answer.
    pub gold_covered: Option<bool>,
    /// Calls made.
    pub calls: Calls,
    /// Tokens spent.
    pub tokens: Tokens,
    /// Milliseconds by stage, and the whole under `total`.
    pub timing_ms: BTreeMap<String, f64>,
}

/// An answer that was withheld.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// The answer.
    pub answer: String,
    /// Whether it would have been an exact match.
    pub em: bool,
}

/// Why a question could not be answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The short name for machines.
    pub kind: String,
    /// The same for people.
    pub message: String,
}

record_of_question! { Record, Answer, [question, golden_answers, choices]
    fn is_right(&self) -> bool {
        Record::is_right(self)
    }
}

impl AboutSubject for Record {
    fn subject(&self) -> &str {
        self.subject.as_deref().unwrap_or(&self.question)
    }
}

impl Record {
    /// Scores `answer` as the answer to `question`.
    pub fn new(question: &Question, answer: Answer) -> Self {
        let withheld = answer.withheld;
        let text = withheld.as_ref().unwrap_or(&answer.answer);
        let scores = question.golden().scores(text);
        let is_withheld = withheld.is_some();
        let found = found(&question.gold_passages(), &answer.retrieved);
        let unanswered = Self::unanswered(question, answer.policy);
        let record = Self {
            gold_passage: found
                .map(|(gold, _)| gold.to_owned())
                .or(unanswered.gold_passage.clone()),
            gold_rank: found.map(|(_, rank)| rank),
            route: Some(answer.route),
            em: scores.exact_match,
            f1: scores.f1,
            contains: scores.contains,
            gold_covered: coverage(&answer.retrieved, &question.answers_in_words()),
            retrieved: answer
                .retrieved
                .into_iter()
                .map(|hit| hit.passage_id)
                .collect(),
            answer: withheld.unwrap_or(answer.answer),
            greedy: answer.greedy,
            full: answer.style == Style::Full,
            cannot_tell: answer.cannot_tell,
            lack: answer.lack,
            calls: answer.calls,
            tokens: answer.tokens,
            timing_ms: answer.timing_ms,
            ..unanswered
        };
        match is_withheld {
            true => record.withheld(),
            false => record,
        }
    }

    /// The same where the answer is withheld: then there is none, and what it would have been is kept.
    pub(crate) fn withheld(self) -> Self {
        Self {
            withheld: Some(Withheld {
                answer: self.answer,
                em: self.em,
            }),
            answer: String::new(),
            em: false,
            f1: 0.0,
            contains: false,
            ..self
        }
    }

    /// Whether the answer is right: a short one that is a golden answer, a full one that contains one.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.em || self.full && self.contains
    }

    /// Whether it was answered: neither withheld nor failed.
    pub(crate) fn is_answered(&self) -> bool {
        self.withheld.is_none() && self.error.is_none()
    }

    /// Keeps that `question` could not be answered under `policy`.
    pub fn failed(question: &Question, policy: &str, error: &AnswerError) -> Self {
        Self {
            error: Some(Failure::of(error)),
            ..Self::unanswered(question, policy.to_owned())
        }
    }

    /// What is known of a question without an answer.
    fn unanswered(question: &Question, policy: String) -> Self {
        Self {
            id: question.id.clone(),
            question: question.question.clone(),
            golden_answers: question.golden_answers.clone(),
            choices: question.choices.clone(),
            subject: question.named_subject(),
            policy,
            gold_passage: question
                .gold_passages()
                .first()
                .map(|&gold| gold.to_owned()),
            ..Self::default()
        }
    }

    /// Whether the corpus was searched for this question.
    pub fn searched(&self) -> bool {
        self.route == Some(Source::Corpus) || !self.retrieved.is_empty()
    }
}

/// Whole files of answers are read where a study wrote them.
impl Recorded for Record {
    const WRITTEN_BY: Action = Action::Study;
}

impl Failure {
    /// What an error is recorded as.
    pub fn of(error: &AnswerError) -> Self {
        Self {
            kind: error.kind().to_owned(),
            message: error.to_string(),
        }
    }
}

/// The first hit that is one of the passages or documents `golds`, or a passage of one: which, and its rank
/// from 1.
fn found<'g>(golds: &[&'g str], hits: &[Retrieved]) -> Option<(&'g str, usize)> {
    let ranked = hits.iter().zip(1..);
    ranked
        .filter_map(|(hit, rank)| {
            let is_hit = |gold: &&&str| hit.passage_id == **gold || hit.doc_id == **gold;
            Some((*golds.iter().find(is_hit)?, rank))
        })
        .next()
}

fn coverage(hits: &[Retrieved], golds: &[String]) -> Option<bool> {
    if hits.is_empty() {
        return None;
    }
    // Gold answers without content cover nothing, whatever the text.
    covers("", golds)?;
    Some(
        hits.iter()
            .filter(|hit| hit.in_prompt)
            .any(|hit| covers(&hit.text, golds) == Some(true)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(doc_id: &str, n: usize, text: &str, in_prompt: bool) -> Retrieved {
        Retrieved {
            passage_id: format!("{doc_id}#{n}"),
            doc_id: doc_id.to_owned(),
            title: String::new(),
            location: Default::default(),
            text: text.to_owned(),
            chunk: None,
            score: 0.5,
            corpus: None,
            in_prompt,
        }
    }

    #[test]
    fn the_gold_passage_is_found_by_passage_or_by_document() {
        let hits = [("a", 0), ("b", 1), ("b", 2)].map(|(doc, n)| hit(doc, n, "", true));
        let named: [&[&str]; 5] = [&["b#2"], &["b"], &["b#7"], &[], &["c", "b#2", "b"]];
        let ranks = named.map(|golds| found(golds, &hits));
        let expected = [Some(("b#2", 3)), Some(("b", 2)), None, None, Some(("b", 2))];
        assert_eq!(ranks, expected);
    }

    #[test]
    fn only_evidence_in_the_prompt_covers_the_gold_answer() {
        let paris = ["Paris".to_owned()];
        let covered = |used| coverage(&[hit("a", 0, "It is PARIS.", used)], &paris);
        assert_eq!((covered(true), covered(false)), (Some(true), Some(false)));
        assert_eq!(coverage(&[], &paris), None);
        let unanswerable = ["the".to_owned()];
        assert_eq!(coverage(&[hit("a", 0, "the", true)], &unanswerable), None);
    }
}

//! The record of one evaluated question: the answer, its scores, its evidence and its cost. Scoring rules are in
//! `ken_probe`, the file format in `results`, averages in `summary`.

use std::collections::BTreeMap;

use ken_answer::{Answer, AnswerError, Calls, Retrieved, Style, Tokens};
use ken_policy::Source;
use ken_probe::{Lack, Sample, covers};
use serde::{Deserialize, Serialize};

use crate::dataset::Question;
use crate::record_of_question;
use crate::split::AboutSubject;

/// The record of one question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The question's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// Its gold answers.
    pub golden_answers: Vec<String>,
    /// Its choices, if it is multiple-choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The subject in its metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The answer; empty if there is none.
    pub answer: String,
    /// The answer with its log probability, if it was written greedily from question and evidence alone, so that the
    /// signals of policies that use the greedy answer need no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greedy: Option<Sample>,
    /// Whether it is a full answer, written beside the short one that policies decide by.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
    /// The withheld short answer, which no signal vouched for. It counts as wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// The policy that chose the route.
    pub policy: String,
    /// Whether a deciding signal could not tell, so that the policy searched, kept the evidence, or withheld the
    /// answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cannot_tell: bool,
    /// Why there is no answer, or not all of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lack: Option<Lack>,
    /// The source of the answer; `None` without an answer.
    pub route: Option<Source>,
    /// Why answering failed; the question counts as wrong.
    pub error: Option<Failure>,
    /// Exact match.
    pub em: bool,
    /// Token F1, 0..=1.
    pub f1: f64,
    /// Whether a gold answer occurs in the answer.
    pub contains: bool,
    /// Ids of the retrieved passages, best first; if they were cut into chunks, one id per chunk.
    pub retrieved: Vec<String>,
    /// The passage or document that answers the question, if the question names one; of several, the first that was
    /// retrieved, else the first that is named.
    pub gold_passage: Option<String>,
    /// Rank of that passage among the retrieved ones, from 1; `None` if it is not among them.
    pub gold_rank: Option<usize>,
    /// Whether a passage in the prompt contains a gold answer; `None` if nothing was retrieved or there is no gold
    /// answer.
    pub gold_covered: Option<bool>,
    /// Calls made.
    pub calls: Calls,
    /// Tokens spent.
    pub tokens: Tokens,
    /// Milliseconds by stage, and in total under `total`.
    pub timing_ms: BTreeMap<String, f64>,
}

/// A withheld answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// The answer.
    pub answer: String,
    /// Whether it would have been an exact match.
    pub em: bool,
}

/// Why answering a question failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of the error, for programs.
    pub kind: String,
    /// The message, for people.
    pub message: String,
}

record_of_question! { Record, Answer by Study, [question, golden_answers, choices]
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
        let gold = first_gold(&question.gold_passages(), &answer.retrieved);
        let unanswered = Self::unanswered(question, answer.policy);
        let record = Self {
            gold_passage: gold
                .map(|(gold, _)| gold.to_owned())
                .or(unanswered.gold_passage.clone()),
            gold_rank: gold.map(|(_, rank)| rank),
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

    /// The record with the answer withheld: it moves to `withheld`.
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

    /// Whether the answer is right: a short one that equals a golden answer, a full one that contains one.
    pub fn is_right(&self) -> bool {
        self.em || self.full && self.contains
    }

    /// Whether it was answered: neither withheld nor failed.
    pub(crate) fn is_answered(&self) -> bool {
        self.withheld.is_none() && self.error.is_none()
    }

    /// The record of a question that failed under `policy`.
    pub fn failed(question: &Question, policy: &str, error: &AnswerError) -> Self {
        Self {
            error: Some(Failure::of(error)),
            ..Self::unanswered(question, policy.to_owned())
        }
    }

    /// A record with the fields of a question, without an answer.
    fn unanswered(question: &Question, policy: String) -> Self {
        Self {
            subject: question.named_subject(),
            policy,
            gold_passage: question
                .gold_passages()
                .first()
                .map(|&gold| gold.to_owned()),
            ..Self::of(question)
        }
    }

    /// The tokens that were read and written.
    pub fn token_count(&self) -> f64 {
        (self.tokens.prompt + self.tokens.completion) as f64
    }

    /// The milliseconds that it took: none if it failed, and `NAN` if they are not known.
    pub(crate) fn ms(&self) -> f64 {
        let total = self.timing_ms.get("total").copied();
        total.unwrap_or(if self.error.is_some() { 0.0 } else { f64::NAN })
    }

    /// Whether the corpus was searched for this question.
    pub fn searched(&self) -> bool {
        self.route == Some(Source::Corpus) || !self.retrieved.is_empty()
    }
}

/// Studies write whole files of answers, which other commands read.
impl Failure {
    /// The recorded form of an error.
    pub fn of(error: &AnswerError) -> Self {
        Self {
            kind: error.kind().to_owned(),
            message: error.to_string(),
        }
    }
}

/// The first hit that is, or belongs to, one of the passages or documents `golds`: its name in `golds`, and its rank
/// from 1.
fn first_gold<'g>(golds: &[&'g str], hits: &[Retrieved]) -> Option<(&'g str, usize)> {
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
    use ken_testing::with;

    use super::*;

    fn hit(doc_id: &str, n: usize, text: &str, in_prompt: bool) -> Retrieved {
        with!(Retrieved::default(), passage_id: format!("{doc_id}#{n}"), doc_id: doc_id.to_owned(),
            text: text.to_owned(), in_prompt: in_prompt)
    }

    #[test]
    fn the_gold_passage_is_found_by_passage_or_by_document() {
        let hits = [("a", 0), ("b", 1), ("b", 2)].map(|(doc, n)| hit(doc, n, "", true));
        let named: [&[&str]; 5] = [&["b#2"], &["b"], &["b#7"], &[], &["c", "b#2", "b"]];
        let ranks = named.map(|golds| first_gold(golds, &hits));
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

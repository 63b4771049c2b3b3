//! Question-answer pairs for sentences (Zero-RAG, section 3.1 and appendix A.2): a model writes them, and filters
//! drop the bad ones.

use std::ops::AddAssign;

use ken_language::{LanguageModel, ModelError, Prompt};
use serde::{Deserialize, Serialize};

use super::compose::compose;
use super::judge::{judge_pairs, prefer_answers};
use super::lines::{pair_in, question_in};
use super::pair::{AnswersFrom, Pair, Stated};
use super::spans::{Span, answers};
use super::wording::Wording;
use crate::mask::mask;
use crate::normalize::{Rules, normalize};
use crate::sample::greedy_lines;
use crate::scores::covers;

/// How pairs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOptions {
    /// Who picks the answers.
    pub answers: AnswersFrom,
    /// Most pairs of a sentence.
    pub pairs: usize,
    /// Most tokens of a question.
    pub max_tokens: usize,
}

/// How many pairs were dropped, each counted at the first filter that it failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The model wrote no question.
    pub unwritten: usize,
    /// The answer is not in the sentence, or has no content after normalization.
    pub unsupported: usize,
    /// The question gives its answer away.
    pub given_away: usize,
    /// After reading the sentence, the model prefers another of its answers to the question.
    pub other_answer: usize,
    /// The sentence has that question already.
    pub repeated: usize,
    /// The model does not find that the sentence gives this answer to the question.
    pub invalid: usize,
}

impl AddAssign for Dropped {
    fn add_assign(&mut self, other: Self) {
        self.unwritten += other.unwritten;
        self.unsupported += other.unsupported;
        self.given_away += other.given_away;
        self.repeated += other.repeated;
        self.other_answer += other.other_answer;
        self.invalid += other.invalid;
    }
}

/// The pairs of one sentence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Written {
    /// How many pairs the sentence supports: one for each answer in it, up to the most allowed.
    pub wanted: usize,
    /// Those that passed all filters, in the order in which they were written.
    pub pairs: Vec<Pair>,
    /// How many filters dropped.
    pub dropped: Dropped,
}

/// Writes pairs for sentences in one batch, and keeps the valid ones. By default the program chooses the answers:
/// when SmolLM2 135M chose them itself for 24 sentences, half of the answers were not in the sentence, and 2 of 33
/// pairs were good. The number of pairs of a sentence (its complexity) is the number of numbers, names, titles and
/// phrases in it.
///
/// # Shapes
/// Returns one result for each sentence; `None` for a sentence that was stopped from outside.
///
/// # Errors
/// A sentence that does not fit into the model's context, a model that fails.
pub fn write_pairs(
    writer: &dyn LanguageModel,
    stated: &[Stated<'_>],
    options: WriteOptions,
) -> Result<Vec<Option<Written>>, ModelError> {
    let spans: Vec<Vec<Span>> = stated
        .iter()
        .map(|stated| answers(stated.sentence, options.pairs))
        .collect();
    let mut drafts = match options.answers {
        AnswersFrom::Program => written_to(writer, stated, &spans, options.max_tokens)?,
        AnswersFrom::Writer => composed(writer, stated, &spans, options.max_tokens)?,
    };
    drafts.iter_mut().flatten().for_each(drop_repeated);
    drop_invalid(writer, stated, &mut drafts)?;
    Ok(drafts)
}

/// Pairs whose answers the program picked.
fn written_to(
    writer: &dyn LanguageModel,
    stated: &[Stated<'_>],
    spans: &[Vec<Span>],
    max_tokens: usize,
) -> Result<Vec<Option<Written>>, ModelError> {
    let wanted: Vec<Vec<&str>> = stated
        .iter()
        .zip(spans)
        .map(|(stated, spans)| {
            let texts = spans
                .iter()
                .map(|span| &stated.sentence[span.bytes.clone()]);
            texts.collect()
        })
        .collect();
    let prompts: Vec<Prompt> = stated
        .iter()
        .zip(spans)
        .flat_map(|(stated, spans)| {
            let wording = Wording::of(stated.sentence);
            spans.iter().map(move |span| wording.write(*stated, span))
        })
        .collect();
    let mut lines = greedy_lines(writer, &prompts, max_tokens)?.into_iter();
    let mut drafts: Vec<Option<Written>> = stated
        .iter()
        .zip(&wanted)
        .map(|(stated, wanted)| {
            let lines: Vec<Option<String>> = lines.by_ref().take(wanted.len()).collect();
            let lines: Vec<String> = lines.into_iter().collect::<Option<_>>()?;
            let labels = Wording::of(stated.sentence).labels();
            let pairs = wanted.iter().zip(&lines).map(|(answer, line)| {
                let question = question_in(line, labels)?;
                Some((question.to_owned(), (*answer).to_owned()))
            });
            Some(draft(*stated, pairs))
        })
        .collect();
    drop_other_answers(writer, stated, &wanted, &mut drafts)?;
    Ok(drafts)
}

/// Pairs that the model writes whole, as many as the sentence supports.
fn composed(
    writer: &dyn LanguageModel,
    stated: &[Stated<'_>],
    spans: &[Vec<Span>],
    max_tokens: usize,
) -> Result<Vec<Option<Written>>, ModelError> {
    let wanted: Vec<usize> = spans.iter().map(Vec::len).collect();
    let lines = compose(writer, stated, &wanted, max_tokens)?;
    let drafts = stated.iter().zip(lines).map(|(stated, lines)| {
        let wording = Wording::of(stated.sentence);
        let lines = lines?;
        let pairs = lines.iter().map(|line| pair_in(line, wording));
        Some(draft(*stated, pairs))
    });
    Ok(drafts.collect())
}

/// Drops pairs for whose question the model prefers another answer of the sentence.
fn drop_other_answers(
    writer: &dyn LanguageModel,
    stated: &[Stated<'_>],
    wanted: &[Vec<&str>],
    drafts: &mut [Option<Written>],
) -> Result<(), ModelError> {
    let open: Vec<(Stated<'_>, &Pair, &[&str])> = stated
        .iter()
        .zip(wanted)
        .zip(&*drafts)
        .flat_map(|((stated, wanted), draft)| {
            let pairs = draft.iter().flat_map(|draft| &draft.pairs);
            pairs.map(|pair| (*stated, pair, wanted.as_slice()))
        })
        .collect();
    let mut preferred = prefer_answers(writer, &open)?.into_iter();
    for draft in drafts.iter_mut().flatten() {
        let before = draft.pairs.len();
        draft.pairs.retain(|_| preferred.next().unwrap_or(false));
        draft.dropped.other_answer += before - draft.pairs.len();
    }
    Ok(())
}

/// Drops pairs whose question the sentence already has. Of two answers to one question, `drop_other_answers` has left
/// the preferred one.
fn drop_repeated(written: &mut Written) {
    for pair in std::mem::take(&mut written.pairs) {
        let mut known = written.pairs.iter();
        match known.any(|other| same(&other.question, &pair.question)) {
            true => written.dropped.repeated += 1,
            false => written.pairs.push(pair),
        }
    }
}

/// Drops pairs that the model finds invalid, and sentences that were stopped.
fn drop_invalid(
    writer: &dyn LanguageModel,
    stated: &[Stated<'_>],
    drafts: &mut [Option<Written>],
) -> Result<(), ModelError> {
    let open: Vec<(Stated<'_>, &Pair)> = stated
        .iter()
        .zip(&*drafts)
        .flat_map(|(stated, draft)| {
            let pairs = draft.iter().flat_map(|draft| &draft.pairs);
            pairs.map(|pair| (*stated, pair))
        })
        .collect();
    let mut verdicts = judge_pairs(writer, &open)?.into_iter();
    for slot in drafts {
        let Some(draft) = slot else { continue };
        let verdicts: Vec<_> = verdicts.by_ref().take(draft.pairs.len()).collect();
        let Some(verdicts) = verdicts.into_iter().collect::<Option<Vec<_>>>() else {
            *slot = None;
            continue;
        };
        let pairs = std::mem::take(&mut draft.pairs).into_iter().zip(verdicts);
        for (pair, verdict) in pairs {
            match verdict.holds {
                Some(true) => draft.pairs.push(Pair {
                    validity: verdict.chance,
                    ..pair
                }),
                Some(false) | None => draft.dropped.invalid += 1,
            }
        }
    }
    Ok(())
}

/// The pairs of a sentence, question and answer, that pass the filters that need no model. `None` is a pair that the
/// model did not write.
fn draft(
    stated: Stated<'_>,
    pairs: impl ExactSizeIterator<Item = Option<(String, String)>>,
) -> Written {
    let mut written = Written {
        wanted: pairs.len(),
        ..Written::default()
    };
    for pair in pairs {
        let dropped = &mut written.dropped;
        let Some((question, answer)) = pair else {
            dropped.unwritten += 1;
            continue;
        };
        let golden = [answer];
        if covers(stated.sentence, &golden) != Some(true) {
            dropped.unsupported += 1;
        } else if mask(&question, &golden).places > 0 {
            dropped.given_away += 1;
        } else {
            let [answer] = golden;
            written.pairs.push(Pair {
                question,
                answer,
                validity: None,
            });
        }
    }
    written
}

fn same(one: &str, other: &str) -> bool {
    let rules = Rules::for_pair(one, other);
    normalize(one, rules) == normalize(other, rules)
}

#[cfg(test)]
mod tests {
    use ken_testing::{has, with};

    use super::*;

    #[test]
    fn each_filter_drops_what_it_is_for() {
        let stated = Stated {
            title: "",
            sentence: "Ida and Odo came to Rome in 1871.",
        };
        let answers = ["Ida", "Odo", "Rome", "1871", "the", "Oslo"];
        let lines = [
            "Who came to Rome?",
            "who came to Rome ?",
            "Ida says nothing.",
            "What happened in 1871?",
            "What is it?",
            "Where did they come to?",
        ];
        let labels = Wording::of(stated.sentence).labels();
        let pairs = answers.iter().zip(lines).map(|(answer, line)| {
            let question = question_in(line, labels)?;
            Some((question.to_owned(), (*answer).to_owned()))
        });
        let mut written = draft(stated, pairs);
        drop_repeated(&mut written);
        assert_eq!(written.wanted, 6);
        let questions: Vec<&str> = written.pairs.iter().map(|p| p.question.as_str()).collect();
        assert_eq!(questions, ["Who came to Rome?"]);
        has!(written,
            dropped: with!(Dropped::default(), unwritten: 1, unsupported: 2, given_away: 1, repeated: 1));
    }
}

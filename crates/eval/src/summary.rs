//! Averages of an evaluation over its questions. Scores of single questions are in `record`; the percentile and
//! interval definitions in `statistics`. Callers format the numbers.

use std::collections::BTreeMap;

use ken_answer::Style;
use ken_policy::Source;
use serde::Serialize;

use crate::correctness::style_of;
use crate::record::Record;
use crate::statistics::{mean, percentile, share, wilson_interval};

/// The aggregate of a run. Shares are in 0..=1 and `None` if no question counts for them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Number of questions.
    pub n: usize,
    /// How many of them failed; they count as wrong.
    pub failed: usize,
    /// Questions for which a deciding signal could not tell, so that the policy searched, kept the evidence, or
    /// withheld the answer.
    pub cannot_tell: usize,
    /// The policy that was evaluated.
    pub policy: String,
    /// The style of the answers.
    pub style: Style,
    /// Share of right answers: of exact matches, and in style full of answers that contain a gold answer.
    pub em: Option<f64>,
    /// 95 % Wilson interval of `em`, low and high.
    pub em_interval: Option<[f64; 2]>,
    /// Mean token F1; `None` in style full, whose answers are longer than a gold answer.
    pub f1: Option<f64>,
    /// Share of answers in which a gold answer occurs.
    pub contains: Option<f64>,
    /// Share of questions that were answered: neither withheld nor failed.
    pub answered: Option<f64>,
    /// Share of wrong answers among those given.
    pub answered_wrong: Option<f64>,
    /// 95 % Wilson interval of `answered_wrong`, low and high.
    pub answered_wrong_interval: Option<[f64; 2]>,
    /// Of the withheld answers, the share that is wrong.
    pub right_abstentions: Option<f64>,
    /// Share of questions for which the corpus was searched.
    pub retrieval_ratio: Option<f64>,
    /// Share of questions that were answered with evidence; smaller than `retrieval_ratio` if a policy reviews
    /// evidence and drops some.
    pub evidence_ratio: Option<f64>,
    /// Retrieved search results; with a reranker, kept chunks.
    pub search_results: Count,
    /// Gold-answer coverage: of the questions that retrieved passages and have a gold answer, the share for which a
    /// passage in the prompt contains a gold answer, compared after the normalization of exact match ("Less LLM, More
    /// Documents", section 5.1). With the policy `always` these are all questions, as in the paper, and it bounds
    /// exact match for a reader that only copies.
    pub gold_coverage: Option<f64>,
    /// Of the questions that searched and name a gold passage, the share that retrieved it, at any rank up to the
    /// run's k.
    pub gold_recall: Option<f64>,
    /// As above, but at rank 1.
    pub gold_first: Option<f64>,
    /// Calls of the model: one for each text that it wrote, judged or inspected.
    pub model_calls: Count,
    /// Calls of the retriever.
    pub retriever_calls: Count,
    /// Tokens that the model read and wrote.
    pub tokens: TokenSummary,
    /// Tokens that the model read and wrote for all questions, per right answer; `None` without a right answer
    /// (tokens per correctness of OverSearchQA).
    pub tokens_per_right: Option<f64>,
    /// Milliseconds per question.
    pub latency_ms: LatencySummary,
}

/// Tokens of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TokenSummary {
    /// Tokens that the model read.
    pub prompt: Count,
    /// Tokens that the model wrote.
    pub completion: Count,
}

impl TokenSummary {
    /// Tokens that the model read and wrote per question; `None` without questions.
    pub fn mean(&self) -> Option<f64> {
        Some(self.prompt.mean? + self.completion.mean?)
    }

    fn total(&self) -> usize {
        self.prompt.total + self.completion.total
    }
}

/// A count over questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Count {
    /// Per question.
    pub mean: Option<f64>,
    /// Over all questions.
    pub total: usize,
}

/// Milliseconds of a run: percentiles of whole questions and of each stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Mean time of a question; `None` if none was answered.
    pub mean: Option<f64>,
    /// Median time of a question; `None` if none was answered.
    pub p50: Option<f64>,
    /// 95th percentile of the time of a question; `None` if none was answered.
    pub p95: Option<f64>,
    /// By stage, over the questions that went through it.
    pub stages: BTreeMap<String, StageLatency>,
}

/// Milliseconds of one stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageLatency {
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
}

/// The key of the total time in [`Record::timing_ms`].
const TOTAL: &str = "total";

/// Averages `records`, the answers under `policy`. Their order only affects the last bits of the means.
pub fn summarize(policy: &str, records: &[Record]) -> Summary {
    let f1: Vec<f64> = records.iter().map(|r| r.f1).collect();
    let style = style_of(records);
    let right = records.iter().filter(|r| r.is_right()).count();
    let given = records.iter().filter(|r| r.is_answered());
    let wrong: Vec<bool> = given.map(|r| !r.is_right()).collect();
    let withheld = records.iter().filter_map(|r| r.withheld.as_ref());
    let with_gold_passage = || {
        records
            .iter()
            .filter(|r| r.searched() && r.gold_passage.is_some())
    };
    let tokens = TokenSummary {
        prompt: count(records, |r| r.tokens.prompt),
        completion: count(records, |r| r.tokens.completion),
    };
    Summary {
        n: records.len(),
        failed: records.iter().filter(|r| r.error.is_some()).count(),
        cannot_tell: records.iter().filter(|r| r.cannot_tell).count(),
        policy: policy.to_owned(),
        style,
        em: share(records.iter().map(Record::is_right)),
        em_interval: wilson_interval(right, records.len()),
        f1: mean(&f1).filter(|_| style == Style::Short),
        contains: share(records.iter().map(|r| r.contains)),
        answered: share(records.iter().map(Record::is_answered)),
        answered_wrong: share(wrong.iter().copied()),
        answered_wrong_interval: wilson_interval(
            wrong.iter().filter(|is_wrong| **is_wrong).count(),
            wrong.len(),
        ),
        right_abstentions: share(withheld.map(|withheld| !withheld.em)),
        retrieval_ratio: share(records.iter().map(Record::searched)),
        evidence_ratio: share(records.iter().map(|r| r.route == Some(Source::Corpus))),
        search_results: count(records, |r| r.retrieved.len()),
        gold_coverage: share(records.iter().filter_map(|r| r.gold_covered)),
        gold_recall: share(with_gold_passage().map(|r| r.gold_rank.is_some())),
        gold_first: share(with_gold_passage().map(|r| r.gold_rank == Some(1))),
        model_calls: count(records, |r| r.calls.model),
        retriever_calls: count(records, |r| r.calls.retriever),
        tokens_per_right: (right > 0).then(|| tokens.total() as f64 / right as f64),
        tokens,
        latency_ms: latency(records),
    }
}

fn count(records: &[Record], number: impl Fn(&Record) -> usize) -> Count {
    let total: usize = records.iter().map(number).sum();
    Count {
        mean: (!records.is_empty()).then(|| total as f64 / records.len() as f64),
        total,
    }
}

fn latency(records: &[Record]) -> LatencySummary {
    let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (stage, &ms) in records.iter().flat_map(|r| &r.timing_ms) {
        times.entry(stage).or_default().push(ms);
    }
    let total = times.remove(TOTAL).unwrap_or_default();
    let stages = times.into_iter().map(|(stage, ms)| {
        let percentiles = StageLatency {
            p50: percentile(&ms, 50.0),
            p95: percentile(&ms, 95.0),
        };
        (stage.to_owned(), percentiles)
    });
    LatencySummary {
        mean: mean(&total),
        stages: stages.collect(),
        p50: percentile(&total, 50.0),
        p95: percentile(&total, 95.0),
    }
}

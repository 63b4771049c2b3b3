//! The effect of pruning on answers, bytes and search time, measured on copies of a corpus.

use std::path::{Path, PathBuf};

use ken_corpus::{CorpusError, join};
use ken_eval::compare::{Difference, grouped_by};
use ken_eval::dataset::Question;
use ken_eval::paired_interval;
use ken_eval::record::Record;
use ken_eval::statistics::{mean, number, wilson_interval};
use ken_eval::summary::summarize;
use serde::Serialize;

/// The measures at one ratio. Values are `None` if no question counts for them; intervals are at 95 %.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrunedRow {
    /// How passages were scored; `unpruned` if none was pruned.
    pub method: &'static str,
    /// The policy under which the questions were answered.
    pub policy: String,
    /// The ratio.
    pub ratio: f64,
    /// Passages that remain.
    pub passages: u64,
    /// Pruned passages.
    pub pruned: usize,
    /// The share of questions for which the model reads a passage with a golden answer.
    pub coverage: Option<f64>,
    /// The share of exact matches.
    pub em: Option<f64>,
    /// Its Wilson interval, low and high.
    pub em_interval: Option<[f64; 2]>,
    /// The difference to the same policy over the whole corpus.
    pub vs_unpruned: Difference,
    /// The difference to always retrieving from the whole corpus.
    pub vs_always_unpruned: Difference,
    /// The mean F1.
    pub f1: Option<f64>,
    /// The share of answers that contain a golden answer.
    pub contains: Option<f64>,
    /// Its Wilson interval, low and high.
    pub contains_interval: Option<[f64; 2]>,
    /// The share of questions that retrieved.
    pub retrieval_ratio: Option<f64>,
    /// Bytes of all files of the compacted corpus; `None` in Milvus, which tells none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The median search time, in milliseconds.
    pub search_p50_ms: Option<f64>,
    /// The 95th percentile of the search time.
    pub search_p95_ms: Option<f64>,
    /// The median time of a question, in milliseconds.
    pub total_p50_ms: Option<f64>,
    /// The 95th percentile of the time of a question.
    pub total_p95_ms: Option<f64>,
    /// The measures by the values of a metadata field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<PrunedGroup>,
}

/// The measures at one ratio on the questions that share a value of a field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrunedGroup {
    /// The value; a dash for questions without one.
    pub value: String,
    /// The number of questions.
    pub n: usize,
    /// As of the row.
    pub coverage: Option<f64>,
    /// As of the row.
    pub em: Option<f64>,
    /// As of the row.
    pub em_interval: Option<[f64; 2]>,
    /// As of the row.
    pub vs_unpruned: Difference,
    /// As of the row.
    pub vs_always_unpruned: Difference,
    /// As of the row.
    pub contains: Option<f64>,
    /// As of the row.
    pub retrieval_ratio: Option<f64>,
}

/// A pruned copy of the corpus, from which questions are answered.
#[derive(Debug, Clone, Copy)]
pub struct Pruned {
    /// How passages were scored.
    pub method: &'static str,
    /// The ratio.
    pub ratio: f64,
    /// How many passages were pruned.
    pub pruned: usize,
    /// How many remain.
    pub passages: u64,
    /// Bytes of all files of the compacted copy; `None` in Milvus.
    pub bytes: Option<u64>,
}

/// The same questions answered from the whole corpus.
///
/// # Shapes
/// Each `[questions]`.
#[derive(Debug, Clone, Copy)]
pub struct Unpruned<'a> {
    /// Under the policy of the report.
    pub same: &'a [Record],
    /// Always retrieving.
    pub always: &'a [Record],
}

impl PrunedRow {
    /// The measures of answers from a copy under a policy; `by` is the field to break them down by.
    ///
    /// # Shapes
    /// `questions`, `answers`: `[questions]`, in the same order.
    pub fn new(
        pruned: Pruned,
        policy: &str,
        (questions, answers): (&[Question], &[Record]),
        unpruned: Unpruned<'_>,
        by: Option<&str>,
        seed: u64,
    ) -> Self {
        let summary = summarize(policy, answers);
        let search = summary.latency_ms.stages.get("search");
        let compared: Vec<Compared<'_>> = answers
            .iter()
            .zip(unpruned.same.iter().zip(unpruned.always))
            .map(|(record, (same, always))| Compared {
                record,
                ahead: [same, always].map(|other| number(record.em) - number(other.em)),
                same: [same, always].map(|other| record == other),
            })
            .collect();
        let groups = by.map(|field| grouped_by(field, questions, &compared));
        let group = |(value, compared): (String, Vec<Compared<'_>>)| {
            PrunedGroup::new(value, policy, &compared, seed)
        };
        let [vs_unpruned, vs_always_unpruned] = differences(&compared, seed);
        Self {
            method: pruned.method,
            policy: policy.to_owned(),
            ratio: pruned.ratio,
            passages: pruned.passages,
            pruned: pruned.pruned,
            coverage: summary.gold_coverage,
            em: summary.em,
            em_interval: summary.em_interval,
            vs_unpruned,
            vs_always_unpruned,
            f1: summary.f1,
            contains: summary.contains,
            contains_interval: wilson_interval(
                answers.iter().filter(|answer| answer.contains).count(),
                answers.len(),
            ),
            retrieval_ratio: summary.retrieval_ratio,
            bytes: pruned.bytes,
            search_p50_ms: search.and_then(|latency| latency.p50),
            search_p95_ms: search.and_then(|latency| latency.p95),
            total_p50_ms: summary.latency_ms.p50,
            total_p95_ms: summary.latency_ms.p95,
            by: groups.into_iter().flatten().map(group).collect(),
        }
    }
}

impl PrunedGroup {
    fn new(value: String, policy: &str, compared: &[Compared<'_>], seed: u64) -> Self {
        let records: Vec<Record> = compared.iter().map(|a| a.record.clone()).collect();
        let summary = summarize(policy, &records);
        let [vs_unpruned, vs_always_unpruned] = differences(compared, seed);
        Self {
            value,
            n: summary.n,
            coverage: summary.gold_coverage,
            em: summary.em,
            em_interval: summary.em_interval,
            vs_unpruned,
            vs_always_unpruned,
            contains: summary.contains,
            retrieval_ratio: summary.retrieval_ratio,
        }
    }
}

/// An answer, with its lead in exact match over the answers from the whole corpus: under the same policy, and always
/// retrieving.
#[derive(Debug, Clone, Copy)]
struct Compared<'a> {
    record: &'a Record,
    ahead: [f64; 2],
    /// Whether it equals that answer.
    same: [bool; 2],
}

/// The mean differences, paired by question.
fn differences(compared: &[Compared<'_>], seed: u64) -> [Difference; 2] {
    [0, 1].map(|other| {
        let ahead: Vec<f64> = compared.iter().map(|answer| answer.ahead[other]).collect();
        Difference {
            em: mean(&ahead),
            interval: match compared.iter().all(|answer| answer.same[other]) {
                true => Some([0.0, 0.0]),
                false => paired_interval(&ahead, seed),
            },
        }
    })
}

/// A copy of a corpus, which is removed on drop.
pub struct CorpusCopy(PathBuf);

impl CorpusCopy {
    /// Replaces a copy that a killed run left.
    ///
    /// # Errors
    /// An old copy that cannot be removed, a corpus that cannot be read, a folder that cannot be written.
    pub fn new(corpus: &Path, place: PathBuf) -> Result<Self, CorpusError> {
        ken_storage::remove(&place)?;
        let copy = Self(place);
        join(&copy.0, &[corpus.to_owned()], false, &mut |_| {})?;
        Ok(copy)
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.0
    }
}

impl Drop for CorpusCopy {
    fn drop(&mut self) {
        // The next run removes what cannot be removed now.
        let _ = ken_storage::remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::{has, with};

    use super::*;
    use serde_json::json;

    fn answer(em: bool) -> Record {
        with!(Record::default(), em: em, contains: true)
    }

    fn question(kind: &str) -> Question {
        serde_json::from_value(json!({
            "id": "q",
            "question": "Q?",
            "golden_answers": ["a"],
            "metadata": {"kind": kind},
        }))
        .unwrap()
    }

    #[test]
    fn a_ratio_is_held_against_the_whole_corpus_under_both_policies() {
        let pruned = Pruned {
            method: "random",
            ratio: 0.5,
            pruned: 3,
            passages: 3,
            bytes: Some(900),
        };
        let right = |pattern: [bool; 4]| pattern.map(answer).to_vec();
        let answers = right([true, true, false, false]);
        let same = right([true, false, true, true]);
        let always = right([true, true, true, true]);
        let questions = ["a", "a", "b", "b"].map(question);
        let unpruned = Unpruned {
            same: &same,
            always: &always,
        };
        let row = PrunedRow::new(
            pruned,
            "router",
            (&questions, &answers),
            unpruned,
            Some("kind"),
            1,
        );
        has!(row, em: Some(0.5), contains: Some(1.0), vs_unpruned.em: Some(-0.25),
            vs_always_unpruned.em: Some(-0.5));
        for (interval, middle) in [
            (row.em_interval, 0.5),
            (row.vs_unpruned.interval, -0.25),
            (row.vs_always_unpruned.interval, -0.5),
        ] {
            let [low, high] = interval.unwrap();
            assert!(low < middle && middle < high, "{interval:?}");
        }
        let groups: Vec<(&str, usize, Option<f64>, Option<f64>)> = row
            .by
            .iter()
            .map(|group| {
                (
                    group.value.as_str(),
                    group.n,
                    group.em,
                    group.vs_unpruned.em,
                )
            })
            .collect();
        let expected = [
            ("a", 2, Some(1.0), Some(0.5)),
            ("b", 2, Some(0.0), Some(-1.0)),
        ];
        assert_eq!(groups, expected);
        let alone = Unpruned {
            same: &answers,
            always: &answers,
        };
        let itself = PrunedRow::new(pruned, "always", (&questions, &answers), alone, None, 1);
        assert_eq!(itself.vs_unpruned.interval, Some([0.0, 0.0]));
        assert!(itself.by.is_empty());
    }
}

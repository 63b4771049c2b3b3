//! The table of what a model knows of a world: mean probabilities by how often training told of what is
//! asked, and by kind of question.

use serde::Serialize;

use super::questions::QuestionKind;
use super::subject::{Group, Kind};
use super::truth::TruthRecord;
use crate::statistics::mean;

/// The ranks of people end at these shares of all.
const RANKS_END: [f64; 5] = [1.0 / 64.0, 1.0 / 16.0, 1.0 / 4.0, 1.0 / 2.0, 1.0];

/// A row: questions that are alike, and the mean probability of their answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TruthRow {
    /// Which questions.
    pub what: String,
    /// How many.
    pub questions: usize,
    /// Texts of training that tell of what is asked, in the mean.
    pub exposure: Option<f64>,
    /// From memory, of what training asks about.
    pub asked: Option<f64>,
    /// From memory, of what training only tells of, in several wordings.
    pub not_asked: Option<f64>,
    /// From memory, of what training only tells of, in one wording.
    pub one_wording: Option<f64>,
    /// With the documents that give the answer.
    pub evidence: Option<f64>,
    /// With a document about somebody else.
    pub stranger: Option<f64>,
    /// From memory, of the answer that training told where it is another now.
    pub former: Option<f64>,
}

/// The rows of a table: facts of people by rank, then of those that training does not tell of, then all
/// that is not one fact of a person. `people` are those that training tells of.
#[must_use]
pub fn truth_table(records: &[TruthRecord], people: usize) -> Vec<TruthRow> {
    let plain = |record: &&TruthRecord| {
        record.metadata.kind == QuestionKind::Plain && record.metadata.about == Kind::Person
    };
    let mut rows = Vec::new();
    let mut first = 1;
    for share in RANKS_END {
        let end = (people as f64 * share).round() as usize;
        let within = |one: &TruthRecord| {
            let rank = one.metadata.rank;
            plain(&one) && rank.is_some_and(|rank| (first..=end).contains(&rank))
        };
        rows.extend(row(&format!("rank {first} to {end}"), records, &within));
        first = end + 1;
    }
    let unseen = |one: &TruthRecord| plain(&one) && one.metadata.group == Group::Unseen;
    rows.extend(row("in the corpus alone", records, &unseen));
    let of_kind = |kind: QuestionKind| move |one: &TruthRecord| one.metadata.kind == kind;
    rows.extend(row(
        "in no corpus",
        records,
        &of_kind(QuestionKind::Nowhere),
    ));
    rows.extend(row(
        "changed since training",
        records,
        &of_kind(QuestionKind::Changed),
    ));
    rows.extend(row("two hops", records, &of_kind(QuestionKind::TwoHop)));
    rows.extend(row("choices", records, &of_kind(QuestionKind::Choice)));
    for (what, about) in [("books", Kind::Book), ("towns", Kind::Town)] {
        let of = |one: &TruthRecord| {
            one.metadata.kind == QuestionKind::Plain && one.metadata.about == about
        };
        rows.extend(row(what, records, &of));
    }
    rows
}

fn row(
    what: &str,
    records: &[TruthRecord],
    belongs: &dyn Fn(&TruthRecord) -> bool,
) -> Option<TruthRow> {
    let own: Vec<&TruthRecord> = records.iter().filter(|one| belongs(one)).collect();
    let mean_of = |value: &dyn Fn(&TruthRecord) -> Option<f64>| {
        mean(&own.iter().filter_map(|one| value(one)).collect::<Vec<_>>())
    };
    let from_self = |which: &dyn Fn(&TruthRecord) -> bool| {
        mean_of(&|one| which(one).then_some(one.probability.from_self))
    };
    (!own.is_empty()).then(|| TruthRow {
        what: what.to_owned(),
        questions: own.len(),
        exposure: mean_of(&|one| Some(one.metadata.exposure)),
        asked: from_self(&|one| one.metadata.asked),
        not_asked: from_self(&|one| !one.metadata.asked && !one.metadata.one_wording),
        one_wording: from_self(&|one| one.metadata.one_wording),
        evidence: mean_of(&|one| one.probability.evidence),
        stranger: mean_of(&|one| Some(one.probability.stranger)),
        former: mean_of(&|one| one.probability.former),
    })
}

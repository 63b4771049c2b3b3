//! The table of what a model knows of a world: mean probabilities by exposure and by kind of question.

use ken_eval::statistics::mean;
use serde::Serialize;

use crate::questions::QuestionKind;
use crate::subject::Kind;
use crate::truth::TruthRecord;

/// The upper ends of the ranges of ranks, as shares of all trained people.
const RANKS_END: [f64; 5] = [1.0 / 64.0, 1.0 / 16.0, 1.0 / 4.0, 1.0 / 2.0, 1.0];

/// A row: similar questions, and the mean probabilities of their answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TruthRow {
    /// Which questions.
    pub what: String,
    /// How many.
    pub questions: usize,
    /// Mean number of biographies of the subject.
    pub exposure: Option<f64>,
    /// From memory, of subjects that training asks about.
    pub asked: Option<f64>,
    /// From memory, of subjects that training only describes, in several wordings.
    pub not_asked: Option<f64>,
    /// From memory, of subjects that training only describes, in one wording.
    pub one_wording: Option<f64>,
    /// With the documents that give the answer.
    pub evidence: Option<f64>,
    /// With the documents that the corpus holds in place of these.
    pub misled: Option<f64>,
    /// With the document of another subject.
    pub stranger: Option<f64>,
    /// From memory, of the answer in training where it is another now.
    pub former: Option<f64>,
}

/// The rows: single facts of people by rank, then those of people outside training, then all other
/// questions. `people` is the number of trained ones.
#[must_use]
pub fn truth_table(records: &[TruthRecord], people: usize) -> Vec<TruthRow> {
    let of_people = |record: &TruthRecord, kind: QuestionKind| {
        record.metadata.kind == kind && record.metadata.about == Kind::Person
    };
    let mut rows = Vec::new();
    let mut first = 1;
    for share in RANKS_END {
        let end = (people as f64 * share).round() as usize;
        let within = |one: &TruthRecord| {
            let rank = one.metadata.rank;
            of_people(one, QuestionKind::Plain)
                && rank.is_some_and(|rank| (first..=end).contains(&rank))
        };
        rows.extend(row(&format!("rank {first} to {end}"), records, &within));
        first = end + 1;
    }
    let unseen = |one: &TruthRecord| of_people(one, QuestionKind::Unseen);
    rows.extend(row("in the corpus alone", records, &unseen));
    for (what, kind) in [
        ("in no corpus", QuestionKind::Nowhere),
        ("changed since training", QuestionKind::Changed),
        ("two hops", QuestionKind::TwoHop),
        ("choices", QuestionKind::Choices),
    ] {
        rows.extend(row(what, records, &|one| one.metadata.kind == kind));
    }
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
        let values: Vec<f64> = own.iter().filter_map(|one| value(one)).collect();
        mean(&values)
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
        misled: mean_of(&|one| one.probability.misled),
        evidence: mean_of(&|one| one.probability.evidence),
        stranger: mean_of(&|one| Some(one.probability.stranger)),
        former: mean_of(&|one| one.probability.former),
    })
}

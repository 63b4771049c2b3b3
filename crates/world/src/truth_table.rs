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
    /// The kind of questions.
    pub what: String,
    /// How many questions.
    pub questions: usize,
    /// Mean number of biographies of the subject.
    pub exposure: Option<f64>,
    /// Mean probability from memory, for subjects that training asks about.
    pub asked: Option<f64>,
    /// From memory, for subjects that training only describes, in several wordings.
    pub not_asked: Option<f64>,
    /// From memory, for subjects that training only describes, in one wording.
    pub one_wording: Option<f64>,
    /// With the documents that give the answer.
    pub evidence: Option<f64>,
    /// With the misleading documents that the corpus holds instead.
    pub misled: Option<f64>,
    /// With the document of another subject.
    pub stranger: Option<f64>,
    /// From memory, of the answer in training, if it has changed since.
    pub former: Option<f64>,
}

/// The rows: single facts of people by rank, then those of people outside training, then all other questions.
/// `people` is the number of trained people.
pub fn truth_table(records: &[TruthRecord], people: usize) -> Vec<TruthRow> {
    let of_people = |record: &TruthRecord, kind: QuestionKind| {
        record.metadata.kind == kind && record.metadata.about == Kind::Person
    };
    let mut rows = Vec::new();
    let mut first = 1;
    for share in RANKS_END {
        let end = (people as f64 * share).round() as usize;
        let within = |record: &TruthRecord| {
            let rank = record.metadata.rank;
            of_people(record, QuestionKind::Plain)
                && rank.is_some_and(|rank| (first..=end).contains(&rank))
        };
        rows.extend(row(&format!("rank {first} to {end}"), records, &within));
        first = end + 1;
    }
    let unseen = |record: &TruthRecord| of_people(record, QuestionKind::Unseen);
    rows.extend(row("in the corpus alone", records, &unseen));
    for (what, kind) in [
        ("in no corpus", QuestionKind::Nowhere),
        ("changed since training", QuestionKind::Changed),
        ("two hops", QuestionKind::TwoHop),
        ("choices", QuestionKind::Choices),
    ] {
        rows.extend(row(what, records, &|record| record.metadata.kind == kind));
    }
    for (what, about) in [("books", Kind::Book), ("towns", Kind::Town)] {
        let of = |record: &TruthRecord| {
            record.metadata.kind == QuestionKind::Plain && record.metadata.about == about
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
    let own: Vec<&TruthRecord> = records.iter().filter(|record| belongs(record)).collect();
    let mean_of = |value: &dyn Fn(&TruthRecord) -> Option<f64>| {
        let values: Vec<f64> = own.iter().filter_map(|record| value(record)).collect();
        mean(&values)
    };
    let from_self = |which: &dyn Fn(&TruthRecord) -> bool| {
        mean_of(&|record| which(record).then_some(record.probability.from_self))
    };
    (!own.is_empty()).then(|| TruthRow {
        what: what.to_owned(),
        questions: own.len(),
        exposure: mean_of(&|record| Some(record.metadata.exposure)),
        asked: from_self(&|record| record.metadata.asked),
        not_asked: from_self(&|record| !record.metadata.asked && !record.metadata.one_wording),
        one_wording: from_self(&|record| record.metadata.one_wording),
        misled: mean_of(&|record| record.probability.misled),
        evidence: mean_of(&|record| record.probability.evidence),
        stranger: mean_of(&|record| Some(record.probability.stranger)),
        former: mean_of(&|record| record.probability.former),
    })
}

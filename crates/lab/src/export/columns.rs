//! The columns of each kind of record. Lists and objects are columns of JSON, as they stand in the
//! records.

use ken_eval::probe::ProbeRecord;
use ken_probe::Effect;
use serde_json::to_vec;

use super::Column::{Count, Json, Number, Text};
use super::{Column, Table};
use crate::label::SourceRecord;
use crate::mastery::MasteryRecord;

impl Table for ProbeRecord {
    const NAME: &'static str = "probe";

    fn columns() -> Vec<(&'static str, Column<Self>)> {
        vec![
            ("id", Text(|one| Some(&one.id))),
            ("question", Text(|one| Some(&one.question))),
            ("golden_answers", Json(|one| to_vec(&one.golden_answers))),
            ("confidence_self", Number(|one| one.confidence.from_self)),
            ("confidence_corpus", Number(|one| one.confidence.corpus)),
            ("confidence_masked", Number(|one| one.confidence.masked)),
            ("certainty_self", Number(|one| one.certainty.from_self)),
            ("certainty_corpus", Number(|one| one.certainty.corpus)),
            ("certainty_masked", Number(|one| one.certainty.masked)),
            (
                "effect_confidence",
                Text(|one| one.effect.confidence.map(name)),
            ),
            (
                "effect_certainty",
                Text(|one| one.effect.certainty.map(name)),
            ),
            ("judgment", Number(|one| one.judgment)),
            ("eigenscore", Number(|one| one.eigenscore)),
            ("greedy", Json(|one| to_vec(&one.greedy))),
            ("samples", Json(|one| to_vec(&one.samples))),
            ("evidence", Json(|one| to_vec(&one.evidence))),
            ("error", Text(|one| Some(&one.error.as_ref()?.message))),
            ("model", Text(|one| Some(&one.fingerprint.model))),
            ("corpus", Text(|one| one.fingerprint.corpus.as_deref())),
            ("prompt", Text(|one| Some(&one.fingerprint.prompt))),
        ]
    }
}

impl Table for SourceRecord {
    const NAME: &'static str = "sources";

    fn columns() -> Vec<(&'static str, Column<Self>)> {
        vec![
            ("id", Text(|one| Some(&one.id))),
            ("question", Text(|one| Some(&one.question))),
            ("golden_answers", Json(|one| to_vec(&one.golden_answers))),
            ("golden_answer", Text(|one| one.golden_answer.as_deref())),
            (
                "preferred_majority",
                Text(|one| Some(&one.preferred.as_ref()?.majority)),
            ),
            (
                "preferred_sum",
                Text(|one| Some(&one.preferred.as_ref()?.sum)),
            ),
            ("contexts", Json(|one| to_vec(&one.contexts))),
            ("sources", Json(|one| to_vec(&one.sources))),
            ("error", Text(|one| Some(&one.error.as_ref()?.message))),
            ("model", Text(|one| Some(&one.fingerprint.model))),
            ("corpora", Json(|one| to_vec(&one.fingerprint.corpora))),
            ("prompt", Text(|one| Some(&one.fingerprint.prompt))),
            ("verbalize", Text(|one| Some(&one.fingerprint.verbalize))),
        ]
    }
}

impl Table for MasteryRecord {
    const NAME: &'static str = "mastery";

    fn columns() -> Vec<(&'static str, Column<Self>)> {
        vec![
            ("id", Text(|one| Some(&one.id))),
            ("passage_id", Text(|one| Some(&one.passage_id))),
            ("title", Text(|one| Some(&one.title))),
            ("sentence", Text(|one| Some(&one.sentence))),
            ("mastery", Number(|one| one.mastery)),
            (
                "interval_low",
                Number(|one| one.interval.map(|[low, _]| low)),
            ),
            (
                "interval_high",
                Number(|one| one.interval.map(|[_, high]| high)),
            ),
            ("wanted", Count(|one| one.wanted)),
            ("pairs", Json(|one| to_vec(&one.pairs))),
            ("dropped", Json(|one| to_vec(&one.dropped))),
            ("error", Text(|one| Some(&one.error.as_ref()?.message))),
            ("model", Text(|one| Some(&one.fingerprint.model))),
            ("writer", Text(|one| Some(&one.fingerprint.writer))),
            ("corpus", Text(|one| Some(&one.fingerprint.corpus))),
            ("prompt", Text(|one| Some(&one.fingerprint.prompt))),
        ]
    }
}

fn name(effect: Effect) -> &'static str {
    match effect {
        Effect::Beneficial => "beneficial",
        Effect::Neutral => "neutral",
        Effect::Harmful => "harmful",
    }
}

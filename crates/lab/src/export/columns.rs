//! The columns of each kind of record. Lists and objects are JSON columns.

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
            ("id", Text(|r| Some(&r.id))),
            ("question", Text(|r| Some(&r.question))),
            ("golden_answers", Json(|r| to_vec(&r.golden_answers))),
            ("confidence_self", Number(|r| r.confidence.from_self)),
            ("confidence_corpus", Number(|r| r.confidence.corpus)),
            ("confidence_masked", Number(|r| r.confidence.masked)),
            ("certainty_self", Number(|r| r.certainty.from_self)),
            ("certainty_corpus", Number(|r| r.certainty.corpus)),
            ("certainty_masked", Number(|r| r.certainty.masked)),
            ("effect_confidence", Text(|r| r.effect.confidence.map(name))),
            ("effect_certainty", Text(|r| r.effect.certainty.map(name))),
            ("judgment", Number(|r| r.judgment)),
            ("eigenscore", Number(|r| r.eigenscore)),
            ("greedy", Json(|r| to_vec(&r.greedy))),
            ("samples", Json(|r| to_vec(&r.samples))),
            ("evidence", Json(|r| to_vec(&r.evidence))),
            ("error", Text(|r| Some(&r.error.as_ref()?.message))),
            ("model", Text(|r| Some(&r.fingerprint.model))),
            ("corpus", Text(|r| r.fingerprint.corpus.as_deref())),
            ("prompt", Text(|r| Some(&r.fingerprint.prompt))),
        ]
    }
}

impl Table for SourceRecord {
    const NAME: &'static str = "sources";

    fn columns() -> Vec<(&'static str, Column<Self>)> {
        vec![
            ("id", Text(|r| Some(&r.id))),
            ("question", Text(|r| Some(&r.question))),
            ("golden_answers", Json(|r| to_vec(&r.golden_answers))),
            ("golden_answer", Text(|r| r.golden_answer.as_deref())),
            (
                "preferred_majority",
                Text(|r| Some(&r.preferred.as_ref()?.majority)),
            ),
            ("preferred_sum", Text(|r| Some(&r.preferred.as_ref()?.sum))),
            ("contexts", Json(|r| to_vec(&r.contexts))),
            ("sources", Json(|r| to_vec(&r.sources))),
            ("error", Text(|r| Some(&r.error.as_ref()?.message))),
            ("model", Text(|r| Some(&r.fingerprint.model))),
            ("corpora", Json(|r| to_vec(&r.fingerprint.corpora))),
            ("prompt", Text(|r| Some(&r.fingerprint.prompt))),
            ("verbalize", Text(|r| Some(&r.fingerprint.verbalize))),
        ]
    }
}

impl Table for MasteryRecord {
    const NAME: &'static str = "mastery";

    fn columns() -> Vec<(&'static str, Column<Self>)> {
        vec![
            ("id", Text(|r| Some(&r.id))),
            ("passage_id", Text(|r| Some(&r.passage_id))),
            ("title", Text(|r| Some(&r.title))),
            ("sentence", Text(|r| Some(&r.sentence))),
            ("mastery", Number(|r| r.mastery)),
            ("interval_low", Number(|r| r.interval.map(|[low, _]| low))),
            (
                "interval_high",
                Number(|r| r.interval.map(|[_, high]| high)),
            ),
            ("wanted", Count(|r| r.wanted)),
            ("pairs", Json(|r| to_vec(&r.pairs))),
            ("dropped", Json(|r| to_vec(&r.dropped))),
            ("error", Text(|r| Some(&r.error.as_ref()?.message))),
            ("model", Text(|r| Some(&r.fingerprint.model))),
            ("writer", Text(|r| Some(&r.fingerprint.writer))),
            ("corpus", Text(|r| Some(&r.fingerprint.corpus))),
            ("prompt", Text(|r| Some(&r.fingerprint.prompt))),
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

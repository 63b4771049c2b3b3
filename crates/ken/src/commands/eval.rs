//! `ken eval`: a policy measured over a file of questions. Several are compared in `compare`, and search is measured alone
//! in `retrieval`.

use std::path::Path;

use ken_eval::compare::grouped_by;
use ken_eval::correctness::{column, measure, style_of};
use ken_eval::part::Parts;
use ken_eval::retrieval::RetrievalFiles;
use ken_eval::{
    DatasetError, Paired, Question, Record, Summary, check_field, evaluate_pipeline, is_held_out,
    paired, read_questions, read_results, summarize,
};
use serde::Serialize;

use crate::arguments::answer::EvalArguments;
use crate::commands::parts::{self, PartedWork};
use crate::commands::{compare, records, retrieval, training_questions};
use crate::failure::{Failure, Result};
use crate::output::{self, share};
use crate::session::Session;

/// What is printed of one policy.
#[derive(Serialize)]
struct Evaluated {
    #[serde(flatten)]
    summary: Summary,
    /// The same by the values of a field of the questions' metadata.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by: Vec<Group>,
    /// Questions whose answers, and times, are those of an earlier run.
    resumed: usize,
    /// How the answers differ from others.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<Paired>,
    /// What was taught some of the questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    taught: Vec<training_questions::Taught>,
}

/// The questions with one value of a field.
#[derive(Serialize)]
struct Group {
    value: String,
    #[serde(flatten)]
    summary: Summary,
}

pub(crate) fn run(arguments: &EvalArguments, session: &Session<'_>) -> Result<()> {
    let files = RetrievalFiles::of(&arguments.questions, arguments.qrels.as_deref())?;
    if let (Some(_), Some(_)) = (&files, arguments.part.part) {
        return Err(Failure::refused(
            "part_of_retrieval",
            "search alone is measured in one run, and --part splits questions that are answered",
            "leave --part out",
        ));
    }
    if let Some(files) = files {
        return retrieval::run(arguments, &files, session);
    }
    if !(arguments.modes.is_empty() && arguments.runs.is_empty()) {
        return Err(Failure::refused(
            "no_qrels",
            "--modes and --runs compare search by judged documents, and none are given",
            "name their file by --qrels, or a folder in BEIR's format in place of the questions",
        ));
    }
    let questions = questions(arguments, session)?;
    match arguments.policy[..] {
        [] => evaluate(arguments, questions, session),
        [policy] if policy.check().is_ok() => evaluate(arguments, questions, session),
        _ if arguments.against.is_some() => Err(Failure::refused(
            "against_several",
            "--against holds the answers under one policy against others",
            "name one policy, with a threshold: --policy certainty@0.5",
        )),
        ref several => compare::run(arguments, several, questions, session),
    }
}

/// The questions that a run answers.
fn questions(arguments: &EvalArguments, session: &Session<'_>) -> Result<Vec<Question>> {
    let mut questions = read_questions(&arguments.questions)?;
    let has_no_answer = |question: &Question| question.golden_answers.is_empty();
    if questions.iter().all(has_no_answer) {
        let path = arguments.questions.clone();
        return Err(DatasetError::NoGoldenAnswers { path }.into());
    }
    if let Some(share) = arguments.held_out {
        questions.retain(|question| is_held_out(question, share));
    }
    let questions = records::sampled(questions, arguments.limit, session.settings);
    if let Some(field) = &arguments.by {
        check_field(&questions, field)?;
    }
    Ok(questions)
}

/// Measures one policy.
fn evaluate(
    arguments: &EvalArguments,
    questions: Vec<Question>,
    session: &Session<'_>,
) -> Result<()> {
    if arguments.records.is_some() {
        let message = "--records spares policies that are compared what they sample, and one alone samples for itself";
        return Err(Failure::refused(
            "records_of_one_policy",
            message,
            "leave --records out, or compare several: --policy always,certainty",
        ));
    }
    let mut pipeline = session.opening(|setup| setup.pipeline())?;
    pipeline.settings.style = session.settings.measured_style();
    session.settings.check_tuned(&pipeline)?;
    let policies = [pipeline.settings.policy];
    let held_out = arguments.held_out;
    let taught = training_questions::taught(&questions, held_out, &pipeline, &policies, session)?;
    let policy = pipeline.resolved(pipeline.settings.policy).to_string();
    let what = format!("{policy}.results.jsonl");
    let out = records::out(arguments.out.as_ref(), &arguments.questions, &what);
    let run_settings = session.settings.identity(&pipeline);
    let parted = PartedWork::Eval {
        policy: policy.clone(),
        by: arguments.by.clone(),
        taught: taught.clone(),
    };
    let part = arguments.part.part;
    let place = parts::place(part, out, questions, &run_settings, &parted, session)?;
    let run = records::drawn(arguments.batch, Some(policy.clone()), session);
    let outcome = evaluate_pipeline(&pipeline, &place.items, &place.file(), run_settings, run)?;
    if place.is_told_as_part::<Record>(session)? {
        return Ok(());
    }
    let against = arguments.against.as_ref();
    let against = against.map(|path| held_against(&outcome.records, path, session));
    let by = arguments.by.as_deref();
    let evaluated = Evaluated {
        against: against.transpose()?,
        resumed: outcome.resumed,
        taught,
        ..Evaluated::of(&policy, &place.items, &outcome.records, by)
    };
    evaluated.told(&place.out, session)
}

/// Joins the parts of a run.
pub(crate) fn join(
    parts: &Parts,
    policy: &str,
    by: Option<&str>,
    taught: Vec<training_questions::Taught>,
    out: &Path,
    session: &Session<'_>,
) -> Result<()> {
    let questions: Vec<Question> = parts.items()?;
    let records = parts
        .records::<Record>(parts::RECORDS, &questions)?
        .write(&questions, out)?;
    let evaluated = Evaluated {
        taught,
        ..Evaluated::of(policy, &questions, &records, by)
    };
    evaluated.told(out, session)
}

impl Evaluated {
    fn of(policy: &str, questions: &[Question], records: &[Record], by: Option<&str>) -> Self {
        let groups = by.into_iter();
        let groups = groups.flat_map(|field| grouped_by(field, questions, records));
        let groups = groups.map(|(value, records)| Group {
            value,
            summary: summarize(policy, &records),
        });
        Self {
            summary: summarize(policy, records),
            by: groups.collect(),
            resumed: 0,
            against: None,
            taught: Vec::new(),
        }
    }

    fn told(&self, out: &Path, session: &Session<'_>) -> Result<()> {
        match session.json {
            true => output::json(self),
            false => show(self, out),
        }
    }
}

/// The answers held against those in another file.
fn held_against(records: &[Record], path: &Path, session: &Session<'_>) -> Result<Paired> {
    let others: Vec<Record> = read_results(path)?;
    let [own, other] = [records, &others].map(style_of);
    if own != other {
        let path = path.display();
        return Err(Failure::refused(
            "other_style",
            format!(
                "{path} has answers in style {other}, and these are {own}: right is not the same in both"
            ),
            format!("evaluate both with --style {other}"),
        ));
    }
    paired(records, &others, session.settings.seed).map_err(|lacking| {
        let path = path.display();
        Failure::refused(
            "other_questions",
            format!(
                "{path} lacks {lacking} of these questions, or has them with other words or answers"
            ),
            "evaluate both on the same questions, with the same --limit, --seed and --held-out",
        )
    })
}

fn show(evaluated: &Evaluated, out: &Path) -> Result<()> {
    output::pairs(rows(evaluated, out))?;
    training_questions::show(&evaluated.taught)?;
    if evaluated.by.is_empty() {
        return Ok(());
    }
    let right = column(evaluated.summary.style);
    let names = format!(
        "group|questions|{right}|F1|contains|answered|wrong among answered|retrieves|with evidence",
    );
    let rows = evaluated.by.iter().map(|Group { value, summary }| {
        vec![
            value.clone(),
            summary.n.to_string(),
            share(summary.em),
            share(summary.f1),
            share(summary.contains),
            share(summary.answered),
            share(summary.answered_wrong),
            share(summary.retrieval_ratio),
            share(summary.evidence_ratio),
        ]
    });
    output::columns(&names, rows)
}

/// Names with the values of all questions together.
fn rows(evaluated: &Evaluated, out: &Path) -> Vec<(&'static str, String)> {
    let summary = &evaluated.summary;
    let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.0} ms"));
    let interval = output::interval;
    let right = share(summary.em) + &interval(summary.em_interval);
    let (read, written) = (&summary.tokens.prompt, &summary.tokens.completion);
    let tokens = format!("{} read, {} written", read.total, written.total);
    let mut rows = vec![
        ("questions", summary.n.to_string()),
        ("failed", summary.failed.to_string()),
        ("policy", summary.policy.clone()),
        ("style", summary.style.to_string()),
        ("cannot tell", summary.cannot_tell.to_string()),
        (measure(summary.style), right),
        ("F1", share(summary.f1)),
        ("contains", share(summary.contains)),
        ("retrieval ratio", share(summary.retrieval_ratio)),
        ("with evidence", share(summary.evidence_ratio)),
        ("gold coverage", share(summary.gold_coverage)),
        ("gold recall", share(summary.gold_recall)),
        ("gold first", share(summary.gold_first)),
        ("tokens", tokens),
        ("tokens/right", output::number(summary.tokens_per_right, 1)),
        ("latency p50", ms(summary.latency_ms.p50)),
        ("latency p95", ms(summary.latency_ms.p95)),
    ];
    if summary.right_abstentions.is_some() {
        let wrong = share(summary.answered_wrong) + &interval(summary.answered_wrong_interval);
        rows.extend([
            ("answered", share(summary.answered)),
            ("wrong among answered", wrong),
            ("withheld and wrong", share(summary.right_abstentions)),
        ]);
    }
    let stages = summary.latency_ms.stages.iter();
    let stages: Vec<String> = stages
        .map(|(stage, latency)| format!("{stage} {} / {}", ms(latency.p50), ms(latency.p95)))
        .collect();
    rows.push(("by stage", stages.join(", ")));
    if evaluated.resumed > 0 {
        let resumed = evaluated.resumed;
        let of_earlier = format!("{resumed} answers of an earlier run, with their times");
        rows.push(("from the file", of_earlier));
    }
    if let Some(other) = &evaluated.against {
        let compared = format!(
            "{}{} in {}; `{}` has {}, retrieving for {}",
            share(other.em_difference),
            interval(other.interval),
            measure(summary.style),
            other.policy,
            share(other.em),
            share(other.retrieval_ratio)
        );
        rows.push(("against the other", compared));
    }
    rows.push(("per question", out.display().to_string()));
    rows
}

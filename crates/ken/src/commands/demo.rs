//! `ken demo`: all of ken, on a corpus that ships with it, half of it about things that any model has read about and
//! half about an invented place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_answer::{Answer, AnswerError, Pipeline, Policy, Retriever, Signal};
use ken_corpus::Corpus;
use ken_documents::read_documents;
use ken_eval::Question;
use ken_hub::ModelCache;
use ken_index::Index;
use ken_ingest::{Ingest, ingest};
use ken_language::Embedder;
use ken_policy::Source;
use ken_probe::score;
use serde::Serialize;

use crate::arguments::answer::DemoArguments;
use crate::failure::{Context, Failure, Result};
use crate::output;
use crate::progress::{Display, Unit};
use crate::session::Session;
use crate::terminal;

const CORPUS: &str = include_str!("../../demo/corpus.jsonl");
const QUESTIONS: &str = include_str!("../../demo/questions.jsonl");

/// The kinds of questions, as `metadata.kind` names them.
const KINDS: [&str; 2] = ["public", "invented"];

/// One question under one policy.
#[derive(Debug, Serialize)]
struct Row {
    question: String,
    policy: String,
    route: Source,
    answer: String,
    correct: bool,
    kind: String,
    ms: f64,
    cited: Option<String>,
}

/// One policy over all questions. Shares lie in 0..=1.
#[derive(Debug, Serialize)]
struct PolicySummary {
    policy: String,
    n: usize,
    /// Share answered right.
    correct: f64,
    /// As `correct`, among the questions of each kind.
    correct_public: f64,
    correct_invented: f64,
    retrieval_ratio: f64,
    /// Tokens read and written per question.
    mean_tokens: f64,
    mean_ms: f64,
}

pub(crate) fn run(arguments: &DemoArguments, session: &Session<'_>) -> Result<()> {
    if let Some(policy) = arguments.policy {
        check(policy)?;
    }
    let retriever = open_corpus(session)?;
    let model = session.setup().language_model()?;
    let retriever = session
        .setup()
        .reranked(retriever, || Ok(Arc::clone(&model)))?;
    let mut pipeline = Pipeline::new(model, Some(retriever), session.settings.answering());
    let questions = questions(arguments.limit.map(std::num::NonZeroUsize::get))?;
    let policies = match arguments.policy {
        Some(policy) => vec![policy],
        None => vec![
            Policy::NEVER,
            Policy::ALWAYS,
            Policy::measured(Signal::JUDGMENT),
        ],
    };
    let (mut rows, mut summaries) = (Vec::new(), Vec::new());
    let total = (questions.len() * policies.len()) as u64;
    let mut display = Display::new();
    for policy in policies {
        pipeline.settings.policy = policy;
        let mut answers = Vec::new();
        for question in &questions {
            let done = (rows.len() + answers.len()) as u64;
            display.show("answering", Unit::Items, done, Some(total));
            // One by one, so that each time is that of one question.
            let answer = pipeline.answer(question.prompt(), &mut |_| session.unless_stopped())?;
            if session.is_stopped() {
                return Err(Failure::stopped("stopped before the demo ended"));
            }
            answers.push((row(question, &answer), answer));
        }
        summaries.push(summary(&policy.to_string(), &answers));
        rows.extend(answers.into_iter().map(|(row, _)| row));
    }
    drop(display);
    if session.json {
        return output::json(&serde_json::json!({ "questions": rows, "summary": summaries }));
    }
    show(&rows, &summaries)
}

/// Refuses policies that need a trained head or model: the demo has none.
fn check(policy: Policy) -> Result<()> {
    if policy.signals().any(|signal| signal.told_by.is_some()) {
        let message =
            format!("the policy `{policy}` decides by what was trained, which the demo has not");
        let hint = format!(
            "try it on your own documents: `ken ask --corpus DIR --policy {policy} QUESTION`"
        );
        return Err(Failure::refused("untrained_demo", message, hint));
    }
    Ok(policy.check().map_err(AnswerError::from)?)
}

/// The texts of the demo's documents.
pub(crate) fn passages() -> Result<Vec<String>> {
    CORPUS
        .lines()
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).map_err(Failure::other)?;
            Ok(record["contents"].as_str().unwrap_or_default().to_owned())
        })
        .collect()
}

/// Ingests the demo's documents into a corpus of its own, which is kept for the next time.
fn open_corpus(session: &Session<'_>) -> Result<Retriever> {
    let folder = ModelCache::of_user()?.home().join("demo");
    ken_storage::create_dir_all(&folder)?;
    let documents = folder.join("corpus.jsonl");
    ken_storage::replace(&documents, CORPUS.as_bytes())?;
    let embedder = session.setup().embedder(&session.settings.embedder)?;
    let corpus = folder.join(format!("{}.ken", &embedder.fingerprint()[..16]));
    fill(&corpus, documents, embedder.as_ref(), session)?;
    Ok(Retriever::new(
        Index::open(Corpus::open(&corpus)?.into())?,
        embedder.into(),
    )?)
}

fn fill(
    corpus: &Path,
    documents: PathBuf,
    embedder: &dyn Embedder,
    session: &Session<'_>,
) -> Result<()> {
    let reference = session.setup().embedder_name()?;
    let work = Ingest {
        embedder_reference: &reference,
        ..Ingest::new(read_documents(&[documents])?, corpus, embedder)
    };
    let mut display = Display::new();
    let report = ingest(work, &mut |step| display.show_ingest(&step), session.stop)?;
    if report.interrupted {
        return Err(Failure::stopped(
            "stopped while the demo's documents were ingested",
        ));
    }
    Ok(())
}

/// The demo's questions; with a limit, the two kinds alternating.
pub(crate) fn questions(limit: Option<usize>) -> Result<Vec<Question>> {
    let all = QUESTIONS
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<Vec<Question>, _>>()
        .map_err(Failure::other)
        .context(|| "the demo's questions are broken")?;
    let Some(limit) = limit else { return Ok(all) };
    let [public, invented] = KINDS.map(|name| all.iter().filter(move |q| kind(q) == name));
    let alternating = public.zip(invented).flat_map(<[&Question; 2]>::from);
    Ok(alternating.take(limit).cloned().collect())
}

fn kind(question: &Question) -> &str {
    let kind = question.metadata.get("kind");
    kind.and_then(serde_json::Value::as_str).unwrap_or_default()
}

fn row(question: &Question, answer: &Answer) -> Row {
    let cited = answer.citations.first();
    Row {
        question: question.question.clone(),
        policy: answer.policy.clone(),
        route: answer.route,
        answer: answer.answer.clone(),
        correct: score(&answer.answer, &question.golden_answers).exact_match,
        kind: kind(question).to_owned(),
        ms: answer.timing_ms.get("total").copied().unwrap_or_default(),
        cited: cited.map(|citation| citation.passage_id.clone()),
    }
}

fn summary(policy: &str, answers: &[(Row, Answer)]) -> PolicySummary {
    let share = |counts: &dyn Fn(&Row) -> bool, hits: &dyn Fn(&Row) -> bool| {
        let counted = answers.iter().filter(|(row, _)| counts(row));
        let hit = counted.clone().filter(|(row, _)| hits(row)).count();
        hit as f64 / counted.count().max(1) as f64
    };
    let of_kind = |kind: &str| share(&|row| row.kind == kind, &|row| row.correct);
    let mean = |value: &dyn Fn(&Answer) -> f64| {
        answers.iter().map(|(_, answer)| value(answer)).sum::<f64>() / answers.len().max(1) as f64
    };
    PolicySummary {
        policy: policy.to_owned(),
        n: answers.len(),
        correct: share(&|_| true, &|row| row.correct),
        correct_public: of_kind(KINDS[0]),
        correct_invented: of_kind(KINDS[1]),
        retrieval_ratio: share(&|_| true, &|row| row.route == Source::Corpus),
        mean_tokens: mean(&|answer| (answer.tokens.prompt + answer.tokens.completion) as f64),
        mean_ms: mean(&|answer| answer.timing_ms.get("total").copied().unwrap_or_default()),
    }
}

/// The columns that whole questions and answers take.
const WIDE: usize = 140;

fn show(rows: &[Row], summaries: &[PolicySummary]) -> Result<()> {
    let cells = |texts: [&str; 7]| texts.map(str::to_owned).to_vec();
    let [question, answer] = match terminal::width() < WIDE {
        true => [30, 20],
        false => [58, 28],
    };
    let rows = rows.iter().map(|row| {
        cells([
            &output::shortened(&row.question, question),
            &row.policy,
            &row.route.to_string(),
            &output::shortened(&row.answer, answer),
            if row.correct { "right" } else { "wrong" },
            row.cited.as_deref().unwrap_or("-"),
            &format!("{:.0} ms", row.ms),
        ])
    });
    output::columns("question|policy|route|answer||cited|time", rows)?;
    output::line("")?;
    let percent = |share: f64| format!("{:.0}%", 100.0 * share);
    let rows = summaries.iter().map(|summary| {
        cells([
            &summary.policy,
            &percent(summary.correct),
            &percent(summary.correct_public),
            &percent(summary.correct_invented),
            &percent(summary.retrieval_ratio),
            &format!("{:.0}", summary.mean_tokens),
            &format!("{:.0} ms", summary.mean_ms),
        ])
    });
    let names = "policy|right|public|invented|retrieved|tokens/question|time/question";
    output::columns(names, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_alternates_between_both_kinds() {
        let kinds: Vec<String> = questions(Some(5))
            .unwrap()
            .iter()
            .map(|q| kind(q).to_owned())
            .collect();
        assert_eq!(
            kinds,
            ["public", "invented", "public", "invented", "public"]
        );
    }

    #[test]
    fn policies_that_need_training_are_refused() {
        for policy in [
            "router@0.5",
            "kbm@0.5",
            "kbm:certainty@0.5+double",
            "self-route",
            "evidence:gate",
            "certainty@0.5+evidence:gate",
        ] {
            let error = check(policy.parse().unwrap()).unwrap_err();
            assert!(error.hint().unwrap().contains("ken ask"), "{policy}");
        }
        assert!(check("certainty@0.5".parse().unwrap()).is_ok());
        assert!(check("certainty".parse().unwrap()).is_err());
    }

    #[test]
    fn corpus_and_questions_are_as_large_as_guaranteed() {
        let passages = |kind: &str| CORPUS.matches(&format!("\"{kind}-")).count();
        assert!(CORPUS.lines().count() >= 250);
        assert!(passages("public") >= 125 && passages("invented") >= 125);
        let questions = questions(None).unwrap();
        assert!(questions.len() >= 60);
        for kind_name in KINDS {
            assert!(questions.iter().filter(|q| kind(q) == kind_name).count() >= 30);
        }
    }

    #[test]
    fn every_answer_stands_in_its_gold_passage() {
        let records: Vec<serde_json::Value> = CORPUS
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        for question in questions(None).unwrap() {
            let gold = question.gold_passages()[0].to_owned();
            let record = records
                .iter()
                .find(|record| record["id"] == gold.as_str())
                .unwrap();
            let text = record["contents"].as_str().unwrap();
            let covered = ken_probe::covers(text, &question.golden_answers);
            assert_eq!(covered, Some(true), "{}", question.id);
        }
    }
}

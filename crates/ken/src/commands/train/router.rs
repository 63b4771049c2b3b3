//! `ken train router`, and what a router says of recorded questions.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use ken_answer::{Representation, fits, prompt, represent};
use ken_model::embedder::Embedder;
use ken_model::language::LanguageModel;
use ken_route::{Head, Input};
use ken_study::learn::router::{
    Candidate, RouterLabels, RouterReport, learn_router, router_labels,
};
use ken_study::{LearnError, ProbeRecord, read_results};
use serde_json::json;

use super::vectors::{layers, looks_at, losses};
use super::{learning, options, with_interval};
use crate::arguments::{LayerChoice, TrainRouterArguments, VectorSource};
use crate::commands::batches::in_batches;
use crate::commands::open;
use crate::commands::records::share;
use crate::config::Settings;
use crate::output;

/// Questions between two looks at whether to stop.
const BATCH: usize = 32;

/// Runs `ken train router`.
pub(super) fn run(
    arguments: &TrainRouterArguments,
    settings: &Settings,
    json: bool,
    stop: &AtomicBool,
) -> Result<()> {
    let records: Vec<ProbeRecord> = read_results(&arguments.records)?;
    let labels = router_labels(&records)?;
    if labels.prompt != prompt::fingerprint() {
        return Err(LearnError::OtherPrompts.into());
    }
    let options = options(&arguments.head, settings);
    let learn = |candidates: &[Candidate], embedder: Option<&str>| {
        learning(stop, |watch| {
            learn_router(&labels, candidates, embedder, options, watch)
        })
    };
    let (head, report) = match arguments.from {
        VectorSource::Embedding => with_embedder(settings, stop, |embedder| {
            let input = Input::QuestionEmbedding;
            let by = Representation::Embedding(embedder);
            let vectors = vectors(by, "embedded", &questions(&labels), stop)?;
            Ok(learn(
                &[Candidate { input, vectors }],
                Some(embedder.fingerprint()),
            )?)
        })?,
        VectorSource::Hidden | VectorSource::FirstToken => {
            let model = open::language_model(settings, stop)?;
            if model.fingerprint() != labels.model {
                return Err(LearnError::OtherModel {
                    expected: labels.model.clone(),
                    received: model.fingerprint().to_owned(),
                }
                .into());
            }
            let model = model.as_ref();
            let questions = questions(&labels);
            let candidates = match arguments.from {
                VectorSource::FirstToken => vec![Candidate {
                    input: Input::FirstToken,
                    vectors: vectors(Representation::FirstToken(model), "read", &questions, stop)?,
                }],
                _ => states(model, arguments.layer, &questions, stop)?,
            };
            learn(&candidates, None)?
        }
    };
    head.write(&arguments.out)?;
    if json {
        return output::json(&json!({ "router": arguments.out, "report": report }));
    }
    show(&report, &arguments.out)
}

fn questions(labels: &RouterLabels) -> Vec<&str> {
    let labels = labels.labels.iter();
    labels.map(|label| label.question.as_str()).collect()
}

/// Hidden states behind the layers that are asked for.
fn states(
    model: &dyn LanguageModel,
    layer: LayerChoice,
    questions: &[&str],
    stop: &AtomicBool,
) -> Result<Vec<Candidate>> {
    let each = layers(model, layer).into_iter().map(|layer| {
        let by = Representation::HiddenState { model, layer };
        let label = format!("read, behind {layer} blocks");
        Ok(Candidate {
            input: Input::HiddenState { layer },
            vectors: vectors(by, &label, questions, stop)?,
        })
    });
    each.collect()
}

/// The vectors of questions, with progress.
fn vectors(
    by: Representation<'_>,
    label: &str,
    questions: &[&str],
    stop: &AtomicBool,
) -> Result<Vec<Vec<f32>>> {
    in_batches(questions, BATCH, label, stop, |batch| {
        Ok(represent(by, batch)?)
    })
}

/// Works with the embedder of the corpus, or, where none is named, with that of the settings.
fn with_embedder<T>(
    settings: &Settings,
    stop: &AtomicBool,
    work: impl FnOnce(&dyn Embedder) -> Result<T>,
) -> Result<T> {
    match settings.corpus {
        Some(_) => work(open::retriever(settings, stop)?.embedder()),
        None => work(open::embedder(&settings.embedder, settings.precision, stop)?.as_ref()),
    }
}

/// What the router of the settings says of each recorded question: `[records]`; `None` of those that
/// it was learned from.
pub(crate) fn scores(
    records: &[ProbeRecord],
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Vec<Option<f64>>> {
    let head = open::router(settings)?;
    let labels = router_labels(records)?;
    let unknown: Vec<usize> = (0..records.len())
        .filter(|&at| !head.knows(&records[at].question))
        .collect();
    let questions: Vec<&str> = unknown
        .iter()
        .map(|&at| records[at].question.as_str())
        .collect();
    let found = match head.input {
        Input::HiddenState { .. } | Input::FirstToken => {
            let model = open::language_model(settings, stop)?;
            fits(&head, &labels.model, None)?;
            fits(&head, model.fingerprint(), None)?;
            let by = Representation::of(head.input, model.as_ref(), None)?;
            vectors(by, "read", &questions, stop)?
        }
        _ => with_embedder(settings, stop, |embedder| {
            fits(&head, &labels.model, Some(embedder.fingerprint()))?;
            vectors(
                Representation::Embedding(embedder),
                "embedded",
                &questions,
                stop,
            )
        })?,
    };
    let mut scores = vec![None; records.len()];
    for (at, vector) in unknown.into_iter().zip(found) {
        scores[at] = apply(&head, &vector);
    }
    Ok(scores)
}

fn apply(head: &Head, vector: &[f32]) -> Option<f64> {
    head.apply(vector).filter(|need| need.is_finite())
}

fn show(report: &RouterReport, out: &Path) -> Result<()> {
    let mut rows = vec![
        ("router", out.display().to_string()),
        ("looks at", looks_at(report.input)),
        (
            "head",
            format!("{}, weights held back by {}", report.head, report.decay),
        ),
        (
            "questions",
            format!(
                "learned from {}, kept aside {}, without a label {}",
                report.learned_from, report.held_out, report.left_out
            ),
        ),
        ("known of those kept aside", share(report.mastered)),
        ("AUROC", with_interval(report.auroc, report.auroc_interval)),
        ("AUPRC of the known", share(report.auprc)),
        ("calibration error", share(report.ece)),
    ];
    rows.extend(losses(&report.candidates));
    output::pairs(rows)?;
    output::line(format!(
        "to use it: ken ask --policy router@0.5 --router {}",
        out.display()
    ))
}

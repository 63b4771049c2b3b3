//! `ken train router`, and what a router says of recorded questions.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use ken_answer::{Assessor, Representation, fits, prompt, represent};
use ken_language::{Embedder, LanguageModel};
use ken_route::{Head, Input, MeasuredOn};
use ken_setup::{Settings, Setup};
use ken_study::learn::router::{
    Candidate, RouterLabels, RouterReport, learn_router, router_labels,
};
use ken_study::{LearnError, ProbeRecord, place_in_split, read_results};
use serde_json::json;

use super::vectors::{layers, looks_at, losses};
use super::{learning, options, with_interval};
use crate::arguments::{LayerChoice, TrainRouterArguments, VectorSource};
use crate::commands::batches::in_batches;
use crate::commands::records::share;
use crate::failure::{Refusal, Result};
use crate::output;
use crate::session::Session;

/// Questions between two looks at whether to stop.
const BATCH: usize = 32;

/// Runs `ken train router`.
pub(super) fn run(arguments: &TrainRouterArguments, session: &Session<'_>) -> Result<()> {
    let records: Vec<ProbeRecord> = read_results(&arguments.records)?;
    let mut labels = router_labels(&records)?;
    if labels.prompt != prompt::fingerprint() {
        return Err(LearnError::OtherPrompts.into());
    }
    let assessor = match arguments.from {
        VectorSource::FirstTokenAndKbm => Some(untaught(&mut labels, session)?),
        _ => None,
    };
    let options = options(&arguments.head, session.settings);
    let learn = |candidates: &[Candidate], beside: MeasuredOn| {
        learning(session.stop, |watch| {
            learn_router(&labels, candidates, beside, options, watch)
        })
    };
    let (head, report) = match arguments.from {
        VectorSource::Embedding => with_embedder(session.setup(), |embedder| {
            let input = Input::QuestionEmbedding;
            let by = Representation::Embedding(embedder);
            let vectors = vectors(by, "embedded", &questions(&labels), session.stop)?;
            let beside = MeasuredOn {
                embedder: Some(embedder.fingerprint().to_owned()),
                ..MeasuredOn::default()
            };
            Ok(learn(&[Candidate { input, vectors }], beside)?)
        })?,
        VectorSource::Hidden | VectorSource::FirstToken | VectorSource::FirstTokenAndKbm => {
            let model = session.setup().language_model()?;
            if !ken_storage::same_fingerprint(model.fingerprint(), &labels.model) {
                return Err(LearnError::OtherModel {
                    expected: labels.model.clone(),
                    received: model.fingerprint().to_owned(),
                }
                .into());
            }
            let model = model.as_ref();
            let questions = questions(&labels);
            let alone = |input| -> Result<Vec<Candidate>> {
                let by = Representation::of(input, model, None, assessor.as_ref())?;
                let vectors = vectors(by, "read", &questions, session.stop)?;
                Ok(vec![Candidate { input, vectors }])
            };
            let candidates = match arguments.from {
                VectorSource::FirstToken => alone(Input::FirstToken)?,
                VectorSource::FirstTokenAndKbm => alone(Input::FirstTokenAndMastery)?,
                _ => states(model, arguments.layer, &questions, session.stop)?,
            };
            let beside = MeasuredOn {
                assessor: assessor.map(|assessor| assessor.fingerprint().to_owned()),
                ..MeasuredOn::default()
            };
            learn(&candidates, beside)?
        }
    };
    head.write(&arguments.out)?;
    if session.json {
        return output::json(&json!({ "router": arguments.out, "report": report }));
    }
    show(&report, &arguments.out, session.settings)
}

/// The model of `--kbm`, and of the labels those alone that it was not taught: of the others it says
/// what it learned by heart.
fn untaught(labels: &mut RouterLabels, session: &Session<'_>) -> Result<Assessor> {
    let (assessor, held_out) = session.setup().assessor()?;
    assessor.check(&labels.model)?;
    let all = labels.labels.len();
    labels
        .labels
        .retain(|label| place_in_split(&label.question) < held_out);
    labels.left_out += all - labels.labels.len();
    if labels.labels.is_empty() {
        let message = format!("the model of --kbm was taught all {all} questions");
        return Err(Refusal::new("no_labels", message)
            .hinting("leave some out: `ken train kbm RECORDS --held-out 0.5 --out DIR`")
            .into());
    }
    Ok(assessor)
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
fn with_embedder<T>(setup: Setup<'_>, work: impl FnOnce(&dyn Embedder) -> Result<T>) -> Result<T> {
    match &setup.settings.corpus {
        Some(corpus) => work(setup.retriever_of(corpus)?.embedder()),
        None => work(setup.embedder(&setup.settings.embedder)?.as_ref()),
    }
}

/// What the router of the settings says of each recorded question: `[records]`; `None` of those that
/// it was learned from, and of those that the model of `--kbm` was taught, where it looks at that.
pub(crate) fn scores(records: &[ProbeRecord], session: &Session<'_>) -> Result<Vec<Option<f64>>> {
    let head = session.setup().router()?;
    let labels = router_labels(records)?;
    let assessor = match head.input {
        Input::FirstTokenAndMastery => Some(session.setup().assessor()?),
        _ => None,
    };
    let taught = |question: &str| {
        let held_out = assessor.as_ref().map(|(_, held_out)| *held_out);
        held_out.is_some_and(|held_out| place_in_split(question) >= held_out)
    };
    let unknown: Vec<usize> = (0..records.len())
        .filter(|&at| {
            let question = &records[at].question;
            !head.knows(question) && !taught(question)
        })
        .collect();
    let questions: Vec<&str> = unknown
        .iter()
        .map(|&at| records[at].question.as_str())
        .collect();
    let found = match head.input {
        Input::HiddenState { .. } | Input::FirstToken | Input::FirstTokenAndMastery => {
            let model = session.setup().language_model()?;
            let assessor = assessor.as_ref().map(|(assessor, _)| assessor);
            let by = assessor.map(Assessor::fingerprint);
            fits(&head, &labels.model, None, by)?;
            fits(&head, model.fingerprint(), None, by)?;
            let by = Representation::of(head.input, model.as_ref(), None, assessor)?;
            vectors(by, "read", &questions, session.stop)?
        }
        _ => with_embedder(session.setup(), |embedder| {
            fits(&head, &labels.model, Some(embedder.fingerprint()), None)?;
            vectors(
                Representation::Embedding(embedder),
                "embedded",
                &questions,
                session.stop,
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

fn show(report: &RouterReport, out: &Path, settings: &Settings) -> Result<()> {
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
                "learned from {}, kept aside {}, left out {}",
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
    let kbm = match (report.input, &settings.kbm) {
        (Input::FirstTokenAndMastery, Some(kbm)) => format!(" --kbm {}", kbm.display()),
        _ => String::new(),
    };
    output::line(format!(
        "to use it: ken ask --policy router@0.5 --router {}{kbm}",
        out.display()
    ))
}

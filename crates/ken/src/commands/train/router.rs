//! `ken train router`.

use std::path::Path;

use ken_answer::{Assessor, Representation, prompt};
use ken_route::{Input, MeasuredOn};
use ken_study::learn::router::{Candidate, RouterReport, learn_router, router_labels};
use ken_study::learn::{check_model, question_vectors};
use ken_study::{LearnError, ProbeRecord, read_results};
use serde_json::json;

use super::vectors::{looks_at, losses};
use super::{learning, options, with_interval};
use crate::arguments::training::{TrainRouterArguments, VectorSource};
use crate::failure::Result;
use crate::output::{self, share};
use crate::progress::counting;
use crate::session::Session;

pub(super) fn run(arguments: &TrainRouterArguments, session: &Session<'_>) -> Result<()> {
    let records: Vec<ProbeRecord> = read_results(&arguments.records)?;
    let mut labels = router_labels(&records)?;
    if labels.prompt != prompt::fingerprint() {
        return Err(LearnError::OtherPrompts.into());
    }
    let assessor = match arguments.from {
        VectorSource::FirstTokenAndKbm => {
            let (assessor, held_out) = session.setup().assessor()?;
            assessor.check(&labels.model)?;
            labels.leave_out_taught(held_out)?;
            Some(assessor)
        }
        _ => None,
    };
    let candidate = |input, by, label: &str| -> Result<Candidate> {
        let progress = &mut counting(label);
        let vectors = question_vectors(by, &labels.questions(), progress, session.stop)?;
        Ok(Candidate { input, vectors })
    };
    let mut beside = MeasuredOn::default();
    let candidates = if arguments.from == VectorSource::Embedding {
        let embedder = session.setup().question_embedder()?;
        beside.embedder = Some(embedder.fingerprint().to_owned());
        let by = Representation::Embedding(embedder.as_ref());
        vec![candidate(Input::QuestionEmbedding, by, "embedded")?]
    } else {
        let model = session.setup().language_model()?;
        let model = model.as_ref();
        check_model([labels.model.as_str()], model.fingerprint())?;
        beside.assessor = assessor
            .as_ref()
            .map(Assessor::fingerprint)
            .map(str::to_owned);
        let inputs = match arguments.from {
            VectorSource::FirstToken => vec![Input::FirstToken],
            VectorSource::FirstTokenAndKbm => vec![Input::FirstTokenAndMastery],
            VectorSource::Hidden | VectorSource::Embedding => {
                let layers = arguments.layer.for_head(model).into_iter();
                layers.map(|layer| Input::HiddenState { layer }).collect()
            }
        };
        let each = inputs.into_iter().map(|input| {
            let label = match input {
                Input::HiddenState { layer } => format!("read, after layer {layer}"),
                _ => "read".to_owned(),
            };
            let by = Representation::of(input, model, None, assessor.as_ref())?;
            candidate(input, by, &label)
        });
        each.collect::<Result<_>>()?
    };
    let options = options(&arguments.head, session.settings);
    let (head, report) = learning(session, |watch| {
        learn_router(&labels, &candidates, beside, options, watch)
    })?;
    head.write(&arguments.out)?;
    match session.json {
        true => output::json(&json!({ "router": arguments.out, "report": report })),
        false => show(&report, &arguments.out, session.settings.kbm.as_deref()),
    }
}

fn show(report: &RouterReport, out: &Path, kbm: Option<&Path>) -> Result<()> {
    let mut rows = vec![
        ("router", out.display().to_string()),
        ("features", looks_at(report.input)),
        (
            "head",
            format!("{}, weight decay {}", report.head, report.decay),
        ),
        (
            "questions",
            format!(
                "trained on {}, held out {}, left out {}",
                report.learned_from, report.held_out, report.left_out
            ),
        ),
        ("known of those held out", share(report.mastered)),
        ("AUROC", with_interval(report.auroc, report.auroc_interval)),
        ("AUPRC of the known", share(report.auprc)),
        ("calibration error", share(report.ece)),
    ];
    rows.extend(losses(&report.candidates));
    output::pairs(rows)?;
    let kbm = match (report.input, kbm) {
        (Input::FirstTokenAndMastery, Some(kbm)) => format!(" --kbm {}", kbm.display()),
        _ => String::new(),
    };
    output::line(format!(
        "to use it: ken ask --policy router@0.5 --router {}{kbm}",
        out.display()
    ))
}

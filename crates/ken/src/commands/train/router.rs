//! `ken train router`.

use std::path::Path;
use std::sync::Arc;

use ken_answer::{Assessor, Representation, prompt};
use ken_language::LanguageModel;
use ken_policy::{Head, Input, MeasuredOn};
use ken_study::learn::router::{
    Candidate, Control, RouterLabels, RouterReport, learn_router, router_labels,
};
use ken_study::learn::{check_model, question_vectors, taught};
use ken_study::{LearnError, ProbeRecord, read_results};
use serde_json::json;

use super::vectors::{looks_at, losses};
use super::{Measure, learning, options, show_spreads, spreads, with_interval};
use crate::arguments::training::{ControlSource, TrainRouterArguments, VectorSource};
use crate::failure::{Failure, Result};
use crate::output::{self, share};
use crate::progress::counting;
use crate::session::Session;

pub(super) fn run(arguments: &TrainRouterArguments, session: &Session<'_>) -> Result<()> {
    let records: Vec<ProbeRecord> = read_results(&arguments.records)?;
    let mut labels = router_labels(&records, arguments.predict)?;
    if labels.prompt != prompt::fingerprint() {
        return Err(LearnError::OtherPrompts.into());
    }
    let assessor = match arguments.from {
        VectorSource::FirstTokenAndKbm => {
            let assessor = session.setup().assessor()?;
            assessor.check(&labels.model)?;
            if let Some(folder) = &session.settings.kbm {
                labels.leave_out_taught(&taught(folder)?.questions)?;
                let own = options(&arguments.head, session.settings.seed, 0);
                if labels.learned(own) == 0 {
                    return Err(Failure::refused(
                        "held_out_twice",
                        "the router holds out all questions that the kbm model was not taught, so none is left to learn from",
                        "train the kbm model with a larger --held-out than the router: such as 0.6, and the router with 0.3",
                    ));
                }
            }
            Some(assessor)
        }
        _ => None,
    };
    let learner = Learner {
        arguments,
        labels: &labels,
        seed: session.settings.seed,
        fold: 0,
        session,
    };
    let mut beside = MeasuredOn::default();
    let candidates = match arguments.from {
        VectorSource::Words => vec![learner.words()?],
        VectorSource::Embedding => {
            let embedder = session.setup().question_embedder()?;
            beside.embedder = Some(embedder.fingerprint().to_owned());
            let by = Representation::Embedding(embedder.as_ref());
            vec![learner.candidate(Input::QuestionEmbedding, by, "embedded")?]
        }
        VectorSource::Hidden => {
            let model = learner.probed_model()?;
            learner.hidden(model.as_ref())?
        }
        VectorSource::FirstToken | VectorSource::FirstTokenAndKbm => {
            let model = learner.probed_model()?;
            beside.assessor = assessor
                .as_ref()
                .map(Assessor::fingerprint)
                .map(str::to_owned);
            let input = match assessor {
                Some(_) => Input::FirstTokenAndMastery,
                None => Input::FirstToken,
            };
            let by = Representation::of(input, model.as_ref(), None, assessor.as_ref())?;
            vec![learner.candidate(input, by, "read")?]
        }
    };
    let (head, report) = learner.learn(&candidates, beside)?;
    let mut reports = vec![report.clone()];
    for (fold, seed) in arguments.seeds.from(learner.seed).enumerate().skip(1) {
        let learner = Learner {
            seed,
            fold,
            ..learner
        };
        // Which words are counted depends on what is held out.
        let counted = match arguments.from {
            VectorSource::Words => Some(vec![learner.words()?]),
            _ => None,
        };
        let candidates = counted.as_deref().unwrap_or(&candidates);
        reports.push(learner.learn(candidates, MeasuredOn::default())?.1);
    }
    let spreads = spreads(&reports, MEASURES);
    let controls = arguments.controls.iter().map(|source| {
        let (reads, candidates) = match source {
            ControlSource::Words => ("words".to_owned(), vec![learner.words()?]),
            ControlSource::Model(reference) => {
                let setup = session.setup();
                let model = setup.other_language_model(reference)?;
                (reference.to_string(), learner.hidden(model.as_ref())?)
            }
        };
        let (_, of_control) = learner.learn(&candidates, MeasuredOn::default())?;
        Ok(Control::new(reads, of_control, &report))
    });
    let controls: Vec<Control> = controls.collect::<Result<_>>()?;
    head.write(&arguments.out)?;
    match session.json {
        true => output::json(
            &json!({ "router": arguments.out, "report": report, "controls": controls, "seeds": spreads }),
        ),
        false => {
            show(&report, &arguments.out)?;
            show_spreads(&spreads)?;
            show_controls(&controls)?;
            show_use(
                report.input,
                &arguments.out,
                session.settings.kbm.as_deref(),
            )
        }
    }
}

/// What is told of several seeds.
const MEASURES: &[Measure<RouterReport>] = &[
    ("target_auroc", |report| report.target_auroc),
    ("auroc", |report| report.auroc),
    ("auprc", |report| report.auprc),
    ("ece", |report| report.ece),
];

/// Learns heads over several features from the same labels.
#[derive(Clone, Copy)]
struct Learner<'a> {
    arguments: &'a TrainRouterArguments,
    labels: &'a RouterLabels,
    seed: u64,
    fold: usize,
    session: &'a Session<'a>,
}

impl Learner<'_> {
    fn learn(&self, candidates: &[Candidate], beside: MeasuredOn) -> Result<(Head, RouterReport)> {
        let options = options(&self.arguments.head, self.seed, self.fold);
        Ok(learning(self.session, |watch| {
            learn_router(self.labels, candidates, beside, options, watch)
        })?)
    }

    fn candidate(&self, input: Input, by: Representation<'_>, label: &str) -> Result<Candidate> {
        let (progress, stop) = (&mut counting(label), self.session.stop);
        let vectors = question_vectors(by, &self.labels.questions(), progress, stop)?;
        Ok(Candidate {
            input,
            vocabulary: None,
            vectors,
        })
    }

    fn words(&self) -> Result<Candidate> {
        let options = options(&self.arguments.head, self.seed, self.fold);
        let vocabulary = self.labels.vocabulary(options);
        let by = Representation::Words(&vocabulary);
        let counted = self.candidate(Input::Words, by, "counted")?;
        Ok(Candidate {
            vocabulary: Some(vocabulary),
            ..counted
        })
    }

    /// Hidden states after each of the layers that are tried.
    fn hidden(&self, model: &dyn LanguageModel) -> Result<Vec<Candidate>> {
        let layers = self.arguments.layer.for_head(model).into_iter();
        let each = layers.map(|layer| {
            let by = Representation::HiddenState { model, layer };
            let label = format!("read, after layer {layer}");
            self.candidate(Input::HiddenState { layer }, by, &label)
        });
        each.collect()
    }

    /// The model that was probed.
    fn probed_model(&self) -> Result<Arc<dyn LanguageModel>> {
        let model = self.session.setup().language_model()?;
        check_model([self.labels.model.as_str()], model.fingerprint())?;
        Ok(model)
    }
}

fn show(report: &RouterReport, out: &Path) -> Result<()> {
    let mut rows = vec![
        ("router", out.display().to_string()),
        ("features", looks_at(report.input)),
        ("predicts", report.predicts.to_string()),
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
        (
            "AUROC of what it predicts",
            output::number(report.target_auroc, 3),
        ),
        ("known of those held out", share(report.mastered)),
        (
            "AUROC of \"memory is right\"",
            with_interval(report.auroc, report.auroc_interval),
        ),
        ("AUPRC of the known", share(report.auprc)),
        ("calibration error", share(report.ece)),
    ];
    rows.extend(losses(&report.candidates));
    output::pairs(rows)
}

fn show_controls(controls: &[Control]) -> Result<()> {
    if controls.is_empty() {
        return Ok(());
    }
    let mut rows = vec![output::head(
        "control|AUROC|of the router's lead over chance",
    )];
    rows.extend(controls.iter().map(|control| {
        vec![
            control.reads.clone(),
            with_interval(control.report.auroc, control.report.auroc_interval),
            share(control.reaches),
        ]
    }));
    output::table(&rows)
}

fn show_use(input: Input, out: &Path, kbm: Option<&Path>) -> Result<()> {
    let kbm = match (input, kbm) {
        (Input::FirstTokenAndMastery, Some(kbm)) => format!(" --kbm {}", kbm.display()),
        _ => String::new(),
    };
    output::line(format!(
        "to use it: ken ask --policy router@0.5 --router {}{kbm}",
        out.display()
    ))
}

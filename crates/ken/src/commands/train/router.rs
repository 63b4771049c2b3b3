//! `ken train router`: which questions the language model does not answer from memory.

use std::path::Path;
use std::sync::Arc;

use ken_answer::{Assessor, Representation, prompt};
use ken_eval::{ProbeRecord, read_results};
use ken_lab::heads::router::{
    Candidate, Control, RouterLabels, RouterMeasures, RouterReport, learn_router, router_labels,
};
use ken_lab::heads::{check_model, question_vectors, taught};
use ken_lab::{LearnError, LearnOptions};
use ken_language::LanguageModel;
use ken_policy::{Head, Input, MeasuredOn};
use serde_json::json;

use super::head::{Kind, Row, learning, options, trained, with_interval};
use crate::arguments::train::{ControlSource, TrainRouterArguments, VectorSource};
use crate::failure::{Failure, Result};
use crate::output::share;
use crate::progress::counting;
use crate::session::Session;

pub(super) fn run(arguments: &TrainRouterArguments, session: &Session<'_>) -> Result<()> {
    let records: Vec<ProbeRecord> = read_results(&arguments.records)?;
    let mut labels = router_labels(&records, arguments.predict)?;
    if labels.prompt != prompt::fingerprint() {
        return Err(LearnError::OtherPrompts.into());
    }
    let first_seed = session.settings.seed;
    let first = options(&arguments.head, first_seed, 0);
    let assessor = match arguments.features {
        VectorSource::FirstTokenAndKbm => Some(assessor(first, &mut labels, session)?),
        _ => None,
    };
    let learner = Learner {
        arguments,
        labels: &labels,
        options: first,
        session,
    };
    let (candidates, beside) = learner.candidates(assessor.as_ref())?;
    let mut learned = vec![learner.learn(&candidates, beside)?];
    for (fold, seed) in arguments.seeds.from(first_seed).enumerate().skip(1) {
        let learner = Learner {
            options: options(&arguments.head, seed, fold),
            ..learner
        };
        // Which words are counted depends on the held-out questions.
        let counted = match arguments.features {
            VectorSource::Words => Some(vec![learner.words()?]),
            _ => None,
        };
        let candidates = counted.as_deref().unwrap_or(&candidates);
        learned.push(learner.learn(candidates, MeasuredOn::default())?);
    }
    let (_, report) = &learned[0];
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
        Ok(Control::new(reads, of_control, report))
    });
    let controls: Vec<Control> = controls.collect::<Result<_>>()?;
    let kbm = session.settings.kbm.as_deref();
    let usage = usage(report.input, &arguments.out, kbm);
    let controls = Some((rows_of(&controls), json!(controls)));
    ROUTER.finish(&learned, &arguments.out, controls, Some(usage), session)
}

/// The model of the policy `kbm`, without the questions among the labels that it was taught.
fn assessor(
    options: LearnOptions,
    labels: &mut RouterLabels,
    session: &Session<'_>,
) -> Result<Assessor> {
    let assessor = session.setup().assessor()?;
    assessor.check(&labels.model)?;
    if let Some(folder) = &session.settings.kbm {
        labels.leave_out_taught(&taught(folder)?.questions)?;
        if labels.learned(options).next().is_none() {
            return Err(Failure::refused(
                "held_out_twice",
                "the router holds out all questions that the kbm model was not taught, so none is left to learn from",
                "train the kbm model with a larger --held-out than the router: such as 0.6, and the router with 0.3",
            ));
        }
    }
    Ok(assessor)
}

const ROUTER: Kind<RouterMeasures> = Kind {
    name: "router",
    measures: &[
        ("target_auroc", |of| of.target_auroc),
        ("auroc", |of| of.auroc),
        ("auprc", |of| of.auprc),
        ("ece", |of| of.ece),
    ],
    rows,
};

/// Learns heads over several features from the same labels.
#[derive(Clone, Copy)]
struct Learner<'a> {
    arguments: &'a TrainRouterArguments,
    labels: &'a RouterLabels,
    options: LearnOptions,
    session: &'a Session<'a>,
}

impl Learner<'_> {
    fn learn(&self, candidates: &[Candidate], beside: MeasuredOn) -> Result<(Head, RouterReport)> {
        Ok(learning(self.session, |watch| {
            learn_router(self.labels, candidates, beside, self.options, watch)
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
        let vocabulary = self.labels.vocabulary(self.options);
        let by = Representation::Words(&vocabulary);
        let counted = self.candidate(Input::Words, by, "counted")?;
        Ok(Candidate {
            vocabulary: Some(vocabulary),
            ..counted
        })
    }

    /// The features that the router may take, and what they were measured with.
    fn candidates(&self, assessor: Option<&Assessor>) -> Result<(Vec<Candidate>, MeasuredOn)> {
        let mut beside = MeasuredOn::default();
        let candidates = match self.arguments.features {
            VectorSource::Words => vec![self.words()?],
            VectorSource::Embedding => {
                let embedder = self.session.setup().question_embedder()?;
                beside.embedder = Some(embedder.fingerprint().to_owned());
                let by = Representation::Embedding(embedder.as_ref());
                vec![self.candidate(Input::QuestionEmbedding, by, "embedded")?]
            }
            VectorSource::Hidden => self.hidden(self.probed_model()?.as_ref())?,
            VectorSource::FirstToken | VectorSource::FirstTokenAndKbm => {
                let model = self.probed_model()?;
                beside.assessor = assessor.map(|assessor| assessor.fingerprint().to_owned());
                let input = match assessor {
                    Some(_) => Input::FirstTokenAndMastery,
                    None => Input::FirstToken,
                };
                let by = Representation::of(input, model.as_ref(), None, assessor)?;
                vec![self.candidate(input, by, "read")?]
            }
        };
        Ok((candidates, beside))
    }

    /// Hidden states after each of the layers to try.
    fn hidden(&self, model: &dyn LanguageModel) -> Result<Vec<Candidate>> {
        let layers = self.arguments.layer.for_head(model).into_iter();
        let candidates = layers.map(|layer| {
            let by = Representation::HiddenState { model, layer };
            let label = format!("read, after layer {layer}");
            self.candidate(Input::HiddenState { layer }, by, &label)
        });
        candidates.collect()
    }

    /// The model that was probed.
    fn probed_model(&self) -> Result<Arc<dyn LanguageModel>> {
        let model = self.session.setup().language_model()?;
        check_model([self.labels.model.as_str()], model.fingerprint())?;
        Ok(model)
    }
}

fn rows(report: &RouterReport) -> Vec<Row> {
    let of = &report.measured;
    let questions = format!(
        "trained on {}, held out {}, left out {}",
        report.learned_from, report.held_out, report.left_out
    );
    let auroc = with_interval(of.auroc, of.auroc_interval);
    vec![
        ("predicts", of.predicts.to_string()),
        trained(report),
        ("questions", questions),
        ("AUROC of what it predicts", share(of.target_auroc)),
        ("known of those held out", share(of.mastered)),
        ("AUROC of \"memory is right\"", auroc),
        ("AUPRC of the known", share(of.auprc)),
        ("calibration error", share(of.ece)),
    ]
}

fn rows_of(controls: &[Control]) -> Vec<Vec<String>> {
    let rows = controls.iter().map(|control| {
        let of = &control.report.measured;
        let auroc = with_interval(of.auroc, of.auroc_interval);
        vec![control.reads.clone(), auroc, share(control.reaches)]
    });
    rows.collect()
}

fn usage(input: Input, out: &Path, kbm: Option<&Path>) -> String {
    let kbm = match (input, kbm) {
        (Input::FirstTokenAndMastery, Some(kbm)) => format!(" --kbm {}", kbm.display()),
        _ => String::new(),
    };
    let out = out.display();
    format!("ken ask --policy router@0.5 --router {out}{kbm}")
}

//! How a server measures policies: as `ken eval` and `ken tune` do, question by question.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ken_answer::{Pipeline, Policy, Style};
use ken_diagnostic::Diagnostic;
use ken_eval::compare::{AnswersWork, ComparisonWork};
use ken_eval::tune::{self, Findings, MAX_LOSS, TuneWork, calibrated_on, candidates, usable};
use ken_eval::{DatasetError, Question, Run, read_questions, write_report};
use ken_lab::heads::gate::cross_fitted_worth;
use ken_server::{Measured, Measurement, Measurer, Purpose, ToolError};
use ken_setup::Chosen;

/// Measures by the libraries of those verbs.
pub(crate) struct Policies;

impl Measurer for Policies {
    fn check(
        &self,
        questions: &Path,
        purpose: &Purpose,
        pipeline: &Pipeline,
    ) -> Result<(), ToolError> {
        let asked = read_questions(questions).map_err(refused)?;
        match purpose {
            Purpose::Compare(_) if asked.iter().all(|one| one.golden_answers.is_empty()) => {
                let path = questions.to_owned();
                Err(ToolError::of(&DatasetError::NoGoldenAnswers { path }))
            }
            Purpose::Compare(_) => Ok(()),
            Purpose::Tune if pipeline.settings.abstain.is_some() => Err(ToolError {
                kind: "abstain_tuned",
                message: "answers are withheld by the setting `abstain`, and tuning chooses when to retrieve alone"
                    .to_owned(),
                hint: None,
            }),
            Purpose::Tune => {
                let (_, labels) = usable(asked).map_err(refused)?;
                labels.check(pipeline.settings.style).map_err(refused)
            }
        }
    }

    fn measure(
        &self,
        work: Measurement<'_>,
        progress: &mut dyn FnMut(Measured),
        stop: &AtomicBool,
    ) -> Result<Option<Policy>, ToolError> {
        let questions = read_questions(work.questions).map_err(refused)?;
        match work.purpose {
            Purpose::Tune => tuned(work, questions, progress, stop).map(Some),
            Purpose::Compare(policies) => {
                compared(work, &questions, policies, progress, stop)?;
                Ok(None)
            }
        }
    }
}

/// Writes the report of a comparison. Answers are short, as those of `ken eval` are unless a style is asked for.
fn compared(
    mut work: Measurement<'_>,
    questions: &[Question],
    policies: &[Policy],
    progress: &mut dyn FnMut(Measured),
    stop: &AtomicBool,
) -> Result<(), ToolError> {
    let pipeline = &mut work.pipeline;
    pipeline.settings.style = Style::Short;
    let policies: Vec<Policy> = policies.iter().map(|one| pipeline.resolved(*one)).collect();
    let settings = work.settings;
    let identity = |pipeline: &Pipeline| settings.identity(pipeline);
    let mut provenance = identity(pipeline);
    provenance.remove("policy");
    let comparison = ComparisonWork {
        folder: work.folder,
        title: &format!("Policies on {}", work.name),
        provenance,
        questions,
        policies: &policies,
        probed: &[],
        by: None,
        cross_fit: &cross_fitted_worth,
        identity: &identity,
    };
    let runs = Runs::new(comparison.answers().runs(pipeline), progress);
    let done = comparison.run(pipeline, &|_| runs.begin(stop));
    done.map(drop).map_err(refused)
}

/// Writes the report of tuning, and keeps the policy that was chosen beside it, as `ken tune --write` writes it.
fn tuned(
    mut work: Measurement<'_>,
    questions: Vec<Question>,
    progress: &mut dyn FnMut(Measured),
    stop: &AtomicBool,
) -> Result<Policy, ToolError> {
    let pipeline = &mut work.pipeline;
    let given = questions.len();
    let (questions, labels) = usable(questions).map_err(refused)?;
    let candidates = candidates(pipeline.model.capabilities(), pipeline.settings.memory);
    let settings = work.settings;
    let identity = |pipeline: &Pipeline| settings.identity(pipeline);
    let tuning = TuneWork {
        answers: AnswersWork {
            folder: work.folder,
            questions: &questions,
            policies: &candidates.policies,
            identity: &identity,
        },
        labels,
        max_loss: MAX_LOSS,
    };
    let mut provenance = identity(pipeline);
    provenance.remove("policy");
    let runs = Runs::new(tuning.runs(pipeline), progress);
    let on = calibrated_on(work.name.to_owned(), pipeline);
    let tuned = tuning.run(pipeline, on, &|_| runs.begin(stop));
    let findings = Findings {
        n: questions.len(),
        left_out_questions: given - questions.len(),
        style: pipeline.settings.style,
        labels,
        max_loss: MAX_LOSS,
        tuned: tuned.map_err(refused)?,
        candidates,
        confirmed: None,
    };
    let report = tune::report(&format!("Tuned on {}", work.name), &findings);
    write_report(&report.measured_with(provenance), work.folder).map_err(refused)?;
    let policy = findings.chosen().policy;
    let chosen = Chosen::of(policy, findings.tuned.guarantee, settings, work.pipeline);
    chosen.keep(work.folder).map_err(refused)?;
    Ok(policy)
}

/// The runs over the same questions, one after the other, of which one progress is made.
struct Runs<'a> {
    all: usize,
    begun: Cell<usize>,
    progress: RefCell<&'a mut dyn FnMut(Measured)>,
}

impl<'a> Runs<'a> {
    fn new(all: usize, progress: &'a mut dyn FnMut(Measured)) -> Self {
        Self {
            all,
            begun: Cell::new(0),
            progress: RefCell::new(progress),
        }
    }

    /// The next one, a question at a time: people come in between.
    fn begin<'r>(&'r self, stop: &'r AtomicBool) -> Run<'r> {
        let before = self.begun.replace(self.begun.get() + 1);
        Run::new(1, stop, move |step| {
            let measured = Measured {
                done: before * step.total + step.done,
                total: self.all.max(before + 1) * step.total,
            };
            (self.progress.borrow_mut())(measured);
        })
    }
}

/// An error with its hint in the message.
#[allow(clippy::needless_pass_by_value, reason = "as map_err gives it")]
fn refused(error: impl Diagnostic) -> ToolError {
    let mut error = ToolError::of(&error);
    if let Some(hint) = error.hint.take() {
        error.message = format!("{}; {hint}", error.message);
    }
    error
}

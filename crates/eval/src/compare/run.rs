//! A comparison in a folder: the answers without and with retrieval and the signals, each in a resumable file, and
//! the comparison as CSV and as a report.

use std::path::Path;

use ken_answer::{Abstention, AnswerError, Gated, Measurements, Pipeline, Policy, Style};
use ken_diagnostic::Diagnostic;
use ken_report::Provenance;
use ken_storage::replace;

use super::answers::{Answers, AnswersWork};
use super::breakdown::break_down;
use super::comparison::{Comparison, compare};
use super::report::{report, to_csv};
use super::signals::{Known, policies_need_gate};
use crate::dataset::Question;
use crate::probe::ProbeRecord;
use crate::report_files::write_report;
use crate::results::RunSettings;
use crate::run::{Run, RunError};
use crate::split::{AboutSubject, half};

/// Why comparing policies failed.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum ComparisonError {
    /// Answering or measuring failed or was stopped.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A policy reads more search results than are retrieved.
    #[error(transparent)]
    Answer(#[from] Box<AnswerError>),
    /// Withholding answers is measured with all search results only.
    #[error("abstaining by `{abstain}` cannot be compared under `{policy}`, which chooses k")]
    #[diagnostic(remedy = "leave <abstain> out, or evaluate this policy alone")]
    AbstainsAtK {
        /// What withholds answers.
        abstain: String,
        /// A policy that chooses k.
        policy: String,
    },
    /// Only short answers are withheld, and no full answer is written then.
    #[error("full answers that `{abstain}` may withhold cannot be compared")]
    #[diagnostic(remedy = "leave <abstain> out, evaluate one policy alone, or give <style> short")]
    AbstainsInFull {
        /// What withholds answers.
        abstain: String,
    },
    /// Cross-fitting a gate failed.
    #[error("{_0}")]
    #[diagnostic(kind = _0.kind(), remedy = _0.remedy())]
    Gate(Box<dyn Diagnostic + Send + Sync>),
}

/// A question for cross-fitting a gate: its measurements, and whether its answers are right.
#[derive(Debug, Clone, Copy)]
pub struct Weighable<'a> {
    /// The measurements without evidence.
    pub without: &'a Measurements,
    /// The measurements with evidence.
    pub with: &'a Measurements,
    /// Whether the answers from memory and with evidence are right.
    pub right: [bool; 2],
    /// The half of the question, 0 or 1.
    pub half: usize,
}

/// Scores the evidence of each half of the questions by a gate trained on the other half, given a seed:
/// `[questions]`, `None` without its numbers, NaN if one of them is not finite.
pub type CrossFit<'a> = &'a dyn Fn(
    &[Weighable<'_>],
    u64,
) -> Result<Vec<Option<f64>>, Box<dyn Diagnostic + Send + Sync>>;

/// A comparison to make, and its folder.
pub struct ComparisonWork<'a> {
    /// The folder of all files.
    pub folder: &'a Path,
    /// The title of the page.
    pub title: &'a str,
    /// How the numbers came about, for the report.
    pub provenance: Provenance,
    /// The questions.
    pub questions: &'a [Question],
    /// The policies.
    pub policies: &'a [Policy],
    /// Probe records of the questions, if there are any.
    pub probed: &'a [ProbeRecord],
    /// The metadata field to break the comparison down by, if any.
    pub by: Option<&'a str>,
    /// Trains gates, if a policy needs one and the pipeline has none.
    pub cross_fit: CrossFit<'a>,
    /// Names what the answers of a pipeline depend on.
    pub identity: &'a dyn Fn(&Pipeline) -> RunSettings,
}

impl ComparisonWork<'_> {
    /// Answers and measures what the files do not hold yet, and compares the policies. `run` starts each run: that of
    /// the answers under a policy, or that of the signals.
    ///
    /// # Errors
    /// Probe records that do not match, a run that fails or is stopped, a file that cannot be written, too few
    /// questions to cross-fit a gate.
    pub fn run<'r>(
        &self,
        pipeline: &mut Pipeline,
        run: &dyn Fn(Option<Policy>) -> Run<'r>,
    ) -> Result<Comparison, ComparisonError> {
        let abstain = pipeline.settings.abstain;
        let answers = self.answer(pipeline, run)?;
        let cross_fits = policies_need_gate(self.policies) && pipeline.routing.gate.is_none();
        self.compare(answers, abstain, pipeline.settings.seed, cross_fits)
    }

    /// Answers and measures what the files do not hold yet.
    ///
    /// # Errors
    /// As [`ComparisonWork::run`].
    pub fn answer<'r>(
        &self,
        pipeline: &mut Pipeline,
        run: &dyn Fn(Option<Policy>) -> Run<'r>,
    ) -> Result<Answers, ComparisonError> {
        let samples = pipeline.settings.samples;
        // Both answers to every question are stored unchanged; the signals decide which are withheld.
        let abstain = pipeline.settings.abstain.take();
        let known = Known::of(self.probed, samples, pipeline)?;
        for &policy in self.policies {
            let k = pipeline.settings.k;
            policy
                .check_k(k)
                .map_err(AnswerError::from)
                .map_err(Box::new)?;
        }
        if let Some(abstain) = abstain {
            self.check_abstaining(abstain, pipeline.settings.style)?;
        }
        Ok(self.answers().run(pipeline, known, abstain, run)?)
    }

    /// Refuses comparisons whose measurements do not tell which answers `abstain` withholds.
    fn check_abstaining(&self, abstain: Abstention, style: Style) -> Result<(), ComparisonError> {
        let abstain = abstain.to_string();
        let choosing_k = self
            .policies
            .iter()
            .find(|policy| policy.most_k().is_some());
        match choosing_k {
            Some(policy) => Err(ComparisonError::AbstainsAtK {
                abstain,
                policy: policy.to_string(),
            }),
            None if style == Style::Full => Err(ComparisonError::AbstainsInFull { abstain }),
            None => Ok(()),
        }
    }

    /// The answers and signals of this comparison.
    pub fn answers(&self) -> AnswersWork<'_> {
        AnswersWork {
            folder: self.folder,
            questions: self.questions,
            policies: self.policies,
            identity: self.identity,
        }
    }

    /// Compares the policies on answers, some of which `abstain` withholds, and writes the reports; `cross_fits`
    /// trains gates.
    ///
    /// # Errors
    /// A file that cannot be written, too few questions for a gate.
    pub fn compare(
        &self,
        mut answers: Answers,
        abstain: Option<Abstention>,
        seed: u64,
        cross_fits: bool,
    ) -> Result<Comparison, ComparisonError> {
        if cross_fits {
            self.cross_fit_gate(&mut answers, seed)
                .map_err(ComparisonError::Gate)?;
        }
        let answered = answers.of(self.questions);
        let mut comparison = compare(self.policies, abstain, &answered, seed);
        if let Some(field) = self.by {
            let (questions, policies) = (self.questions, self.policies);
            let by = break_down(field, questions, policies, abstain, &answered, seed);
            comparison.by = Some(by);
        }
        let report = report(self.title, &comparison, self.probed);
        let report = report.measured_with(self.provenance.clone());
        write_report(&report, self.folder).map_err(RunError::from)?;
        let csv = self.folder.join("policies.csv");
        replace(&csv, to_csv(&comparison).as_bytes()).map_err(RunError::from)?;
        Ok(comparison)
    }

    /// Scores the evidence of each half of the questions by a gate trained on the other half.
    fn cross_fit_gate(
        &self,
        answers: &mut Answers,
        seed: u64,
    ) -> Result<(), Box<dyn Diagnostic + Send + Sync>> {
        let Answers {
            never,
            always,
            signals,
            ..
        } = answers;
        let questions = signals.iter().zip(never).zip(always).zip(self.questions);
        let weighable = questions.map(|(((signals, never), always), question)| Weighable {
            without: &signals.without,
            with: &signals.with,
            right: [never.is_right(), always.is_right()],
            half: half(seed, question.subject()),
        });
        let worth = (self.cross_fit)(&weighable.collect::<Vec<_>>(), seed)?;
        for (signals, worth) in signals.iter_mut().zip(worth) {
            signals.with.gated = worth.map(|worth| Gated {
                gate: "cross-fitted".to_owned(),
                worth: Some(worth).filter(|worth| worth.is_finite()),
                reads_answer: true,
            });
        }
        Ok(())
    }
}

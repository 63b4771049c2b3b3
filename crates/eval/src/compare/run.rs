//! A comparison in a folder: the answers without and with retrieval and the signals, each in a file that
//! a later run resumes, and the comparison as CSV and as a report.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ken_answer::{AnswerError, Gated, Measurements, Pipeline, Policy};
use ken_diagnostic::Diagnostic;
use ken_report::Provenance;
use ken_storage::{create_dir_all, replace};

use super::breakdown::break_down;
use super::comparison::{Comparison, compare};
use super::compose::Answered;
use super::report::{report, to_csv};
use super::signals::{
    Known, RequiredSignals, SignalWork, Signals, measure_signals, policies_need_gate,
};
use crate::dataset::Question;
use crate::evaluate::evaluate_pipeline;
use crate::probe::ProbeRecord;
use crate::record::Record;
use crate::report_files::write_report;
use crate::results::{ResultsFile, RunSettings};
use crate::run::{Run, RunError};
use crate::split::{AboutSubject, half};

/// Why policies cannot be compared.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum ComparisonError {
    /// Answering or measuring failed or was stopped.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A policy reads more search results than there are.
    #[error(transparent)]
    Answer(#[from] Box<AnswerError>),
    /// What answers are withheld by is measured with all search results.
    #[error("abstaining by `{abstain}` cannot be compared under `{policy}`, which chooses k")]
    #[diagnostic(remedy = "leave <abstain> out, or evaluate this policy alone")]
    AbstainsAtK {
        /// What withholds answers.
        abstain: String,
        /// The policy.
        policy: String,
    },
    /// No gate can be cross-fitted.
    #[error("{_0}")]
    #[diagnostic(kind = _0.kind(), remedy = _0.remedy())]
    Gate(Box<dyn Diagnostic + Send + Sync>),
}

/// A question with what was measured of it, and whether its answers are right, for cross-fitting.
#[derive(Debug, Clone, Copy)]
pub struct Weighable<'a> {
    /// What was measured without evidence.
    pub without: &'a Measurements,
    /// What was measured with it.
    pub with: &'a Measurements,
    /// Whether the answers from memory and with evidence are right.
    pub right: [bool; 2],
    /// The half that the question belongs to, 0 or 1.
    pub half: usize,
}

/// Weighs the evidence of each half of the questions by a gate that is trained on the other half, from a seed:
/// `[questions]`, `None` for one without its numbers, NaN where one of them cannot be told.
pub type CrossFit<'a> = &'a dyn Fn(
    &[Weighable<'_>],
    u64,
) -> Result<Vec<Option<f64>>, Box<dyn Diagnostic + Send + Sync>>;

/// What is compared, and where it is kept.
pub struct ComparisonWork<'a> {
    /// The folder of all files.
    pub folder: &'a Path,
    /// What the page is called.
    pub title: &'a str,
    /// What the report says of how its numbers came about.
    pub provenance: Provenance,
    /// The questions.
    pub questions: &'a [Question],
    /// The policies.
    pub policies: &'a [Policy],
    /// What was probed of the questions, if anything was.
    pub probed: &'a [ProbeRecord],
    /// The field of the questions' metadata by whose values the comparison is broken down, if any.
    pub by: Option<&'a str>,
    /// Trains the gates, where a policy needs one and the pipeline has none.
    pub cross_fit: CrossFit<'a>,
    /// Names what the answers of a pipeline depend on.
    pub identity: &'a dyn Fn(&Pipeline) -> RunSettings,
}

impl ComparisonWork<'_> {
    /// Answers and measures what the files do not hold yet, and compares the policies. `run` begins each
    /// run: that of the answers under a policy, or that of the signals.
    ///
    /// # Errors
    /// Records of probing that do not fit, a run that fails or is stopped, a file that cannot be written, too
    /// few questions for a gate where one is cross-fitted.
    pub fn run<'r>(
        &self,
        pipeline: &mut Pipeline,
        run: &dyn Fn(Option<Policy>) -> Run<'r>,
    ) -> Result<Comparison, ComparisonError> {
        let samples = pipeline.settings.samples;
        // Both answers to every question are kept as they are; withheld is what follows from the signals.
        let abstain = pipeline.settings.abstain.take();
        let known = Known::of(self.probed, samples, pipeline)?;
        for &policy in self.policies {
            let k = pipeline.settings.k;
            policy
                .check_k(k)
                .map_err(AnswerError::from)
                .map_err(Box::new)?;
        }
        if let (Some(abstain), Some(policy)) = (
            abstain,
            self.policies.iter().find(|one| one.most_k().is_some()),
        ) {
            return Err(ComparisonError::AbstainsAtK {
                abstain: abstain.to_string(),
                policy: policy.to_string(),
            });
        }
        create_dir_all(self.folder).map_err(RunError::from)?;
        let never = self.answers(pipeline, Policy::NEVER, run)?;
        let always = self.answers(pipeline, Policy::ALWAYS, run)?;
        let at_k = self.answers_at_k(pipeline, run)?;
        let signals = self.file("signals");
        let mut identity = (self.identity)(pipeline);
        identity.remove("policy");
        identity.insert("samples".to_owned(), samples.to_string());
        let mut file = ResultsFile::open(&signals, identity).map_err(RunError::from)?;
        let work = SignalWork {
            pipeline,
            required: &RequiredSignals::by(self.policies, abstain, pipeline),
            known: &known.and_answered(&never, &always),
        };
        let measured = measure_signals(work, self.questions, &mut file, run(None))?;
        let mut measured = measured.complete(&signals)?.records;
        let seed = pipeline.settings.seed;
        if policies_need_gate(self.policies) && pipeline.routing.gate.is_none() {
            self.cross_fit_gate(&mut measured, &never, &always, seed)
                .map_err(ComparisonError::Gate)?;
        }
        let answers = never.iter().zip(&always).zip(&measured);
        let answered = answers.zip(self.questions).zip(&at_k);
        let answered = answered.map(|((((never, always), signals), question), at_k)| Answered {
            never,
            always,
            at_k,
            signals: Some(signals),
            subject: question.subject(),
        });
        let answered: Vec<Answered<'_>> = answered.collect();
        let mut comparison = compare(self.policies, abstain, &answered, seed);
        if let Some(field) = self.by {
            let values = self
                .questions
                .iter()
                .map(|question| question.value_of(field));
            let values: Vec<String> = values.collect();
            comparison.by = Some(break_down(
                field,
                &values,
                self.policies,
                abstain,
                &answered,
                seed,
            ));
        }
        let report = report(self.title, &comparison, self.probed);
        let report = report.measured_with(self.provenance.clone());
        write_report(&report, self.folder).map_err(RunError::from)?;
        let csv = self.folder.join("policies.csv");
        replace(&csv, to_csv(&comparison).as_bytes()).map_err(RunError::from)?;
        Ok(comparison)
    }

    /// Weighs the evidence of each half of the questions by a gate that is trained on the other half.
    fn cross_fit_gate(
        &self,
        measured: &mut [Signals],
        never: &[Record],
        always: &[Record],
        seed: u64,
    ) -> Result<(), Box<dyn Diagnostic + Send + Sync>> {
        let questions = measured.iter().zip(never).zip(always).zip(self.questions);
        let weighable = questions.map(|(((signals, never), always), question)| Weighable {
            without: &signals.without,
            with: &signals.with,
            right: [never.em, always.em],
            half: half(seed, question.subject()),
        });
        let worth = (self.cross_fit)(&weighable.collect::<Vec<_>>(), seed)?;
        for (signals, worth) in measured.iter_mut().zip(worth) {
            signals.with.gated = worth.map(|worth| Gated {
                gate: "cross-fitted".to_owned(),
                worth: Some(worth).filter(|worth| worth.is_finite()),
                reads_answer: true,
            });
        }
        Ok(())
    }

    /// The answers with fewer search results than otherwise, where policies choose these: `[questions]`, of each
    /// one for each k.
    fn answers_at_k<'r>(
        &self,
        pipeline: &mut Pipeline,
        run: &dyn Fn(Option<Policy>) -> Run<'r>,
    ) -> Result<Vec<Vec<(usize, Record)>>, RunError> {
        let mut ks: BTreeSet<usize> = self
            .policies
            .iter()
            .flat_map(|policy| policy.ks.values().to_vec())
            .collect();
        ks.retain(|k| (1..pipeline.settings.k).contains(k));
        let mut at_k = vec![Vec::new(); self.questions.len()];
        for k in ks {
            let answers = self.answers(pipeline, Policy::always_k(k), run)?;
            for (all, answer) in at_k.iter_mut().zip(answers) {
                all.push((k, answer));
            }
        }
        Ok(at_k)
    }

    fn answers<'r>(
        &self,
        pipeline: &mut Pipeline,
        policy: Policy,
        run: &dyn Fn(Option<Policy>) -> Run<'r>,
    ) -> Result<Vec<Record>, RunError> {
        pipeline.settings.policy = policy;
        let (file, identity) = (self.file(&policy.to_string()), (self.identity)(pipeline));
        let run = run(Some(policy));
        Ok(evaluate_pipeline(pipeline, self.questions, &file, identity, run)?.records)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.jsonl"))
    }
}

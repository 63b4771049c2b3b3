//! Both answers to every question, and the signals of policies, each in a resumable file of a folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ken_answer::{Abstention, Pipeline, Policy};
use ken_storage::create_dir_all;

use super::compose::{Answered, has_own_answers};
use super::signals::{Known, RequiredSignals, SignalWork, Signals, measure_signals};
use crate::dataset::Question;
use crate::evaluate::evaluate_pipeline;
use crate::part::{JoinedFile, PartError, Parts};
use crate::record::Record;
use crate::results::{ResultsFile, RunSettings, read_records};
use crate::run::{Run, RunError};
use crate::split::AboutSubject;

/// The name of the file of signals, without its extension.
const SIGNALS: &str = "signals";

/// The questions, policies and folder of a run that answers and measures.
#[derive(Clone, Copy)]
pub struct AnswersWork<'a> {
    /// The folder of all files.
    pub folder: &'a Path,
    /// The questions.
    pub questions: &'a [Question],
    /// The policies whose signals are measured.
    pub policies: &'a [Policy],
    /// Names what the answers of a pipeline depend on.
    pub identity: &'a dyn Fn(&Pipeline) -> RunSettings,
}

/// Starts a run: that of the answers under a policy, or with `None` that of the signals.
pub type BeginRun<'a, 'r> = &'a dyn Fn(Option<Policy>) -> Run<'r>;

/// Answers and measurements of questions: `[questions]` each.
#[derive(Debug, Clone)]
pub struct Answers {
    /// The answers without retrieval.
    pub never: Vec<Record>,
    /// The answers with retrieval.
    pub always: Vec<Record>,
    /// The answers to each question under other policies: with fewer search results, and under those that [have their
    /// own](has_own_answers).
    pub others: Vec<Vec<(Policy, Record)>>,
    /// The signals of policies.
    pub signals: Vec<Signals>,
}

impl Answers {
    /// Each question with its answers.
    pub fn of<'a>(&'a self, questions: &'a [Question]) -> Vec<Answered<'a>> {
        let answers = self.never.iter().zip(&self.always).zip(&self.signals);
        let answered = answers.zip(questions).zip(&self.others).map(
            |((((never, always), signals), question), others)| Answered {
                never,
                always,
                others,
                signals: Some(signals),
                subject: question.subject(),
            },
        );
        answered.collect()
    }
}

impl AnswersWork<'_> {
    /// Answers and measures what the files do not hold yet. `known` was measured earlier; `abstain` withholds
    /// answers, so its signals are measured too.
    ///
    /// # Errors
    /// A run that fails or is stopped, a file that cannot be written.
    pub fn run(
        &self,
        pipeline: &mut Pipeline,
        known: Known,
        abstain: Option<Abstention>,
        begin: BeginRun<'_, '_>,
    ) -> Result<Answers, RunError> {
        create_dir_all(self.folder)?;
        let required = RequiredSignals::by(self.policies, abstain, pipeline);
        known.check_openings(&required)?;
        for policy in [Policy::NEVER, Policy::ALWAYS] {
            let path = self.file(&policy.to_string());
            // What cannot be read is an error of the run.
            let recorded = read_records::<Record>(&path).unwrap_or_default();
            let answers = recorded
                .values()
                .filter_map(|record| record.greedy.as_ref());
            required.check_openings(&path, answers)?;
        }
        let never = self.under(pipeline, Policy::NEVER, begin)?;
        let always = self.under(pipeline, Policy::ALWAYS, begin)?;
        let path = self.file(SIGNALS);
        let mut identity = (self.identity)(pipeline);
        identity.remove("policy");
        identity.insert("samples".to_owned(), pipeline.settings.samples.to_string());
        let mut file = ResultsFile::open(&path, identity)?;
        let work = SignalWork {
            pipeline,
            required: &required,
            known: &known.and_answered(&never, &always),
        };
        let signals = measure_signals(work, self.questions, &mut file, begin(None))?;
        let signals = signals.complete(&path)?.records;
        let others = self.others(pipeline).into_iter();
        let others = others.map(|policy| Ok((policy, self.under(pipeline, policy, begin)?)));
        let others: Vec<_> = others.collect::<Result<_, RunError>>()?;
        Ok(Answers {
            never,
            always,
            others: by_question(others, self.questions.len()),
            signals,
        })
    }

    /// How many runs over the questions the work takes.
    pub fn runs(&self, pipeline: &Pipeline) -> usize {
        3 + self.others(pipeline).len()
    }

    /// The policies whose answers are not those of never or always retrieving.
    fn others(&self, pipeline: &Pipeline) -> Vec<Policy> {
        let own = self.policies.iter().copied();
        let own = own.filter(|policy| has_own_answers(*policy));
        self.at_fewer(pipeline.settings.k).chain(own).collect()
    }

    /// The answers of the pipeline under a policy.
    ///
    /// # Errors
    /// As [`AnswersWork::run`].
    pub fn under(
        &self,
        pipeline: &mut Pipeline,
        policy: Policy,
        begin: BeginRun<'_, '_>,
    ) -> Result<Vec<Record>, RunError> {
        pipeline.settings.policy = policy;
        let (file, identity) = (self.file(&policy.to_string()), (self.identity)(pipeline));
        let run = begin(Some(policy));
        Ok(evaluate_pipeline(pipeline, self.questions, &file, identity, run)?.records)
    }

    /// Always retrieving, with each number of search results below `most` that policies choose.
    fn at_fewer(&self, most: usize) -> impl Iterator<Item = Policy> {
        let ks = self.policies.iter().map(|policy| policy.ks.values());
        let ks = ks.flat_map(|ks| ks.to_vec());
        let ks: BTreeSet<usize> = ks.filter(|k| (1..most).contains(k)).collect();
        ks.into_iter().map(Policy::always_k)
    }

    /// Joins the answers and measurements of parts; `k` is the number of search results of `always`, and `own` are the
    /// policies that have their own answers.
    ///
    /// # Errors
    /// Unfinished parts, a folder with files of another run.
    pub fn join(&self, parts: &Parts, k: usize, own: &[Policy]) -> Result<Answers, PartError> {
        let questions = self.questions;
        let answers = |policy: Policy| -> Result<(PathBuf, JoinedFile<Record>), PartError> {
            let name = file_name(&policy.to_string());
            Ok((self.folder.join(&name), parts.records(&name, questions)?))
        };
        let (never, always) = (answers(Policy::NEVER)?, answers(Policy::ALWAYS)?);
        let others = self.at_fewer(k).chain(own.iter().copied());
        let others = others.map(|policy| Ok((policy, answers(policy)?)));
        let others: Vec<_> = others.collect::<Result<_, PartError>>()?;
        let signals: JoinedFile<Signals> = parts.records(&file_name(SIGNALS), questions)?;
        create_dir_all(self.folder)?;
        let write = |(file, joined): (PathBuf, JoinedFile<Record>)| joined.write(questions, &file);
        let others = others.into_iter();
        let others = others.map(|(policy, file)| Ok((policy, write(file)?)));
        let others: Vec<_> = others.collect::<Result<_, RunError>>()?;
        Ok(Answers {
            never: write(never)?,
            always: write(always)?,
            others: by_question(others, questions.len()),
            signals: signals.write(questions, &self.file(SIGNALS))?,
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(file_name(name))
    }
}

/// The answers under some policies, by question: `[questions][policies]`.
fn by_question(
    policies: Vec<(Policy, Vec<Record>)>,
    questions: usize,
) -> Vec<Vec<(Policy, Record)>> {
    let mut each = vec![Vec::new(); questions];
    for (policy, answers) in policies {
        for (all, answer) in each.iter_mut().zip(answers) {
            all.push((policy, answer));
        }
    }
    each
}

fn file_name(name: &str) -> String {
    format!("{name}.jsonl")
}

//! Both answers to every question and what policies decide by, each in a file of a folder that a later run resumes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ken_answer::{Abstention, Pipeline, Policy, Style};
use ken_storage::create_dir_all;

use super::compose::Answered;
use super::signals::{Known, RequiredSignals, SignalWork, Signals, measure_signals};
use crate::dataset::Question;
use crate::evaluate::evaluate_pipeline;
use crate::part::{JoinedFile, PartError, Parts};
use crate::record::Record;
use crate::results::{ResultsFile, RunSettings};
use crate::run::{Run, RunError};
use crate::split::AboutSubject;

/// The file of what policies decide by, without its ending.
const SIGNALS: &str = "signals";

/// The questions, policies and records of a run that answers and measures.
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

/// Begins a run: that of the answers under a policy, or that of the signals.
pub type BeginRun<'a, 'r> = &'a dyn Fn(Option<Policy>) -> Run<'r>;

/// What was answered and measured of questions: of each `[questions]`.
#[derive(Debug, Clone)]
pub struct Answers {
    /// The answers without retrieval.
    pub never: Vec<Record>,
    /// The answers with retrieval.
    pub always: Vec<Record>,
    /// Of each question the answers with fewer search results.
    pub at_k: Vec<Vec<(usize, Record)>>,
    /// Of each question the answers under the policies that [have their own](has_own_answers).
    pub own: Vec<Vec<(Policy, Record)>>,
    /// What policies decide by.
    pub signals: Vec<Signals>,
}

impl Answers {
    /// Each question with its answers.
    pub fn of<'a>(&'a self, questions: &'a [Question]) -> Vec<Answered<'a>> {
        let answers = self.never.iter().zip(&self.always).zip(&self.signals);
        let answered = answers.zip(questions).zip(self.at_k.iter().zip(&self.own));
        let answered =
            answered.map(
                |((((never, always), signals), question), (at_k, own))| Answered {
                    never,
                    always,
                    at_k,
                    own,
                    signals: Some(signals),
                    subject: question.subject(),
                },
            );
        answered.collect()
    }
}

impl AnswersWork<'_> {
    /// Answers and measures what the files do not hold yet. `known` was measured before, and `abstain` withholds
    /// answers by what is measured as well.
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
        let never = self.under(pipeline, Policy::NEVER, begin)?;
        let always = self.under(pipeline, Policy::ALWAYS, begin)?;
        let at_k = self.ks_below(pipeline.settings.k).into_iter();
        let at_k = at_k.map(|k| (k, Policy::always_k(k))).collect();
        let at_k = self.under_each(at_k, pipeline, begin)?;
        let path = self.file(SIGNALS);
        let mut identity = (self.identity)(pipeline);
        identity.remove("policy");
        identity.insert("samples".to_owned(), pipeline.settings.samples.to_string());
        let mut file = ResultsFile::open(&path, identity)?;
        let work = SignalWork {
            pipeline,
            required: &RequiredSignals::by(self.policies, abstain, pipeline),
            known: &known.and_answered(&never, &always),
        };
        let signals = measure_signals(work, self.questions, &mut file, begin(None))?;
        let signals = signals.complete(&path)?.records;
        let own = self.own(pipeline).map(|policy| (policy, policy)).collect();
        Ok(Answers {
            never,
            always,
            at_k,
            own: self.under_each(own, pipeline, begin)?,
            signals,
        })
    }

    /// How many runs over the questions that is.
    #[must_use]
    pub fn runs(&self, pipeline: &Pipeline) -> usize {
        3 + self.ks_below(pipeline.settings.k).len() + self.own(pipeline).count()
    }

    /// The policies that have their own answers.
    fn own(&self, pipeline: &Pipeline) -> impl Iterator<Item = Policy> {
        let policies = self.policies.iter().copied();
        policies.filter(move |policy| has_own_answers(*policy, pipeline))
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

    /// The answers under several policies, each by its name: `[questions][policies]`.
    fn under_each<N: Copy>(
        &self,
        policies: Vec<(N, Policy)>,
        pipeline: &mut Pipeline,
        begin: BeginRun<'_, '_>,
    ) -> Result<Vec<Vec<(N, Record)>>, RunError> {
        let answers = policies
            .into_iter()
            .map(|(name, policy)| Ok((name, self.under(pipeline, policy, begin)?)));
        Ok(by_question(
            answers.collect::<Result<_, RunError>>()?,
            self.questions.len(),
        ))
    }

    /// The numbers of search results below `most` that policies choose.
    fn ks_below(&self, most: usize) -> BTreeSet<usize> {
        let ks = self.policies.iter().map(|policy| policy.ks.values());
        let ks = ks.flat_map(|ks| ks.to_vec());
        ks.filter(|k| (1..most).contains(k)).collect()
    }

    /// Joins what parts answered and measured, `k` search results being those of `always`; `own` are the policies that
    /// have their own answers.
    ///
    /// # Errors
    /// Parts that are not finished, a folder with files of another run.
    pub fn join(&self, parts: &Parts, k: usize, own: &[Policy]) -> Result<Answers, PartError> {
        let questions = self.questions;
        let answers = |policy: Policy| -> Result<(PathBuf, JoinedFile<Record>), PartError> {
            let name = file_name(&policy.to_string());
            Ok((self.folder.join(&name), parts.records(&name, questions)?))
        };
        let (never, always) = (answers(Policy::NEVER)?, answers(Policy::ALWAYS)?);
        let at_ks = self.ks_below(k).into_iter();
        let at_ks = at_ks.map(|k| Ok((k, answers(Policy::always_k(k))?)));
        let at_ks: Vec<_> = at_ks.collect::<Result<_, PartError>>()?;
        let own = own.iter().map(|&policy| Ok((policy, answers(policy)?)));
        let own: Vec<_> = own.collect::<Result<_, PartError>>()?;
        let signals: JoinedFile<Signals> = parts.records(&file_name(SIGNALS), questions)?;
        create_dir_all(self.folder)?;
        let write = |(file, joined): (PathBuf, JoinedFile<Record>)| joined.write(questions, &file);
        let at_ks = at_ks.into_iter().map(|(k, file)| Ok((k, write(file)?)));
        let at_ks: Vec<_> = at_ks.collect::<Result<_, RunError>>()?;
        let own = own.into_iter().map(|(own, file)| Ok((own, write(file)?)));
        let own: Vec<_> = own.collect::<Result<_, RunError>>()?;
        Ok(Answers {
            never: write(never)?,
            always: write(always)?,
            at_k: by_question(at_ks, questions.len()),
            own: by_question(own, questions.len()),
            signals: signals.write(questions, &self.file(SIGNALS))?,
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(file_name(name))
    }
}

/// Whether a policy has answers of its own, and not those of never or always retrieving: one that says in the model's
/// place that documents do not answer writes full answers by another prompt.
#[must_use]
pub fn has_own_answers(policy: Policy, pipeline: &Pipeline) -> bool {
    policy.withhold.is_some()
        && pipeline.settings.style == Style::Full
        && pipeline.model.capabilities().logprobs
}

/// Named answers to all questions, by question: `[questions][names]`.
fn by_question<N: Copy>(named: Vec<(N, Vec<Record>)>, questions: usize) -> Vec<Vec<(N, Record)>> {
    let mut each = vec![Vec::new(); questions];
    for (name, answers) in named {
        for (all, answer) in each.iter_mut().zip(answers) {
            all.push((name, answer));
        }
    }
    each
}

fn file_name(name: &str) -> String {
    format!("{name}.jsonl")
}

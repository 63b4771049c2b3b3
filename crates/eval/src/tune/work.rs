//! Answers questions in the style that users get, without and with evidence, and evaluates each policy on these
//! answers.

use std::collections::HashSet;

use ken_answer::{Pipeline, Policy, Style};
use ken_policy::{CalibratedOn, Goal, Guarantee};
use serde::Serialize;

use super::choice::{Choice, Stakes, choose};
use super::error::TuneError;
use super::guarantee::{guarantee, is_same};
use super::row::Row;
use super::settled::written;
use crate::compare::{Answered, Answers, AnswersWork, Arm, BeginRun, Known, composed_for};
use crate::dataset::Question;
use crate::split::AboutSubject;

/// Fewer questions are not enough to tune on.
const LEAST_QUESTIONS: usize = 30;

/// What counts as a right answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Labels {
    /// Golden answers: a short answer must equal one, a full one must contain one.
    GoldenAnswers,
    /// The answer with evidence: errors of evidence go unnoticed.
    Agreement,
}

impl Labels {
    /// Checks that answers in a style can be judged.
    ///
    /// # Errors
    /// [`TuneError::UnlabeledFullAnswers`].
    pub fn check(self, style: Style) -> Result<(), TuneError> {
        match (self, style) {
            (Self::Agreement, Style::Full) => Err(TuneError::UnlabeledFullAnswers),
            _ => Ok(()),
        }
    }
}

/// The usable questions, and what counts as a right answer to them: the questions with golden answers or, if none has
/// any, all.
///
/// # Errors
/// Fewer than 30.
pub fn usable(questions: Vec<Question>) -> Result<(Vec<Question>, Labels), TuneError> {
    let (usable, labels) = if questions.iter().any(is_labeled) {
        let labeled = questions.into_iter().filter(is_labeled);
        (labeled.collect(), Labels::GoldenAnswers)
    } else {
        (questions, Labels::Agreement)
    };
    match usable.len() {
        given if given < LEAST_QUESTIONS => Err(TuneError::TooFewQuestions {
            given,
            least: LEAST_QUESTIONS,
        }),
        _ => Ok((usable, labels)),
    }
}

fn is_labeled(question: &Question) -> bool {
    question.golden().obstacle().is_none()
}

/// Checks that questions can confirm a policy: some are labeled like those that chose it, and none shares a subject
/// with them. Returns the usable ones.
///
/// # Errors
/// [`TuneError::SharedQuestions`], [`TuneError::UnlabeledConfirmation`].
pub fn tell_apart(
    confirming: Vec<Question>,
    chosen_on: &[Question],
    labels: Labels,
) -> Result<Vec<Question>, TuneError> {
    let words = |question: &Question| question.subject().trim().to_lowercase();
    let known: HashSet<String> = chosen_on.iter().map(words).collect();
    let of = confirming.len();
    let shared = confirming.iter().filter(|q| known.contains(&words(q)));
    match shared.count() {
        0 => {}
        shared => return Err(TuneError::SharedQuestions { shared, of }),
    }
    let can = |question: &Question| labels == Labels::Agreement || is_labeled(question);
    let usable: Vec<Question> = confirming.into_iter().filter(can).collect();
    match usable.is_empty() {
        true => Err(TuneError::UnlabeledConfirmation),
        false => Ok(usable),
    }
}

/// The default of [`TuneWork::max_loss`].
pub const MAX_LOSS: f64 = 0.05;

/// A tuning on some questions.
#[derive(Clone, Copy)]
pub struct TuneWork<'a> {
    /// The questions, the candidates, and the folder of answers.
    pub answers: AnswersWork<'a>,
    /// What counts as a right answer.
    pub labels: Labels,
    /// The loss against the better arm that a policy may have at the lower end of its interval.
    pub max_loss: f64,
}

/// The result of tuning.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// The better of never and always retrieving.
    pub better: Arm,
    /// What choosing could gain.
    pub stakes: Stakes,
    /// The candidates in order.
    pub rows: Vec<Row>,
    /// The chosen row.
    pub choice: Choice,
    /// Its guarantee, if any.
    pub guarantee: Option<Guarantee>,
}

/// The accuracy of a chosen policy on other questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Confirmed {
    /// The number of questions.
    pub n: usize,
    /// The arm that was better on the questions that chose the policy.
    pub arm: Row,
    /// The policy, compared with that arm.
    pub chosen: Row,
}

impl TuneWork<'_> {
    /// How many runs over the questions the work takes.
    pub fn runs(&self, pipeline: &Pipeline) -> usize {
        self.answers.runs(pipeline)
    }

    /// Answers and measures what the files do not hold yet, and chooses a policy. `on` describes what a guarantee is
    /// calibrated on.
    ///
    /// # Errors
    /// A run that fails or is stopped, a file that cannot be written; no questions.
    pub fn run(
        &self,
        pipeline: &mut Pipeline,
        on: CalibratedOn,
        begin: BeginRun<'_, '_>,
    ) -> Result<Tuned, TuneError> {
        let answers = self.answered(pipeline, begin)?;
        let answered = answers.of(self.answers.questions);
        let (better, seed) = (Arm::better(&answered), pipeline.settings.seed);
        let goal = goal(better, self.max_loss);
        let rows = rows(self.answers.policies, goal, &answered, better, seed);
        let stakes = Stakes::of(&answered);
        let choice = choose(&rows, better, stakes, self.max_loss);
        let choice = choice.ok_or(TuneError::TooFewQuestions {
            given: answered.len(),
            least: LEAST_QUESTIONS,
        })?;
        // Monitoring sees short answers, and only golden answers show what is lost.
        let is_watched =
            self.labels == Labels::GoldenAnswers && pipeline.settings.style == Style::Short;
        let policy = rows[choice.row].policy;
        let guarantee = is_watched.then(|| {
            guarantee(
                policy,
                self.answers.policies,
                &answered,
                self.max_loss,
                on,
                seed,
            )
        });
        Ok(Tuned {
            better,
            stakes,
            choice,
            guarantee: guarantee.flatten(),
            rows,
        })
    }

    /// Evaluates the chosen policy, the only candidate of this work, on other questions and compares it with an arm.
    ///
    /// # Errors
    /// As [`TuneWork::run`].
    pub fn confirm(
        &self,
        pipeline: &mut Pipeline,
        arm: Arm,
        begin: BeginRun<'_, '_>,
    ) -> Result<Option<Confirmed>, TuneError> {
        let answers = self.answered(pipeline, begin)?;
        let answered = answers.of(self.answers.questions);
        let own = self.answers.policies.iter().copied();
        let policies: Vec<Policy> = std::iter::once(arm.policy()).chain(own).collect();
        let goal = goal(arm, self.max_loss);
        let rows = rows(&policies, goal, &answered, arm, pipeline.settings.seed);
        let n = answered.len();
        let mut rows = rows.into_iter();
        let both = rows.next().zip(rows.next());
        Ok(both.map(|(arm, chosen)| Confirmed { n, arm, chosen }))
    }

    fn answered(
        &self,
        pipeline: &mut Pipeline,
        begin: BeginRun<'_, '_>,
    ) -> Result<Answers, TuneError> {
        let work = &self.answers;
        let mut answers = work.run(pipeline, Known::default(), None, begin)?;
        if self.labels == Labels::Agreement {
            agree(&mut answers);
        }
        Ok(answers)
    }
}

/// The goal of thresholds. To save retrievals, some loss is allowed: a quarter of the maximum, so that the lower end
/// of the interval over some 200 questions has room for it. If never retrieving is better, nothing is cheaper, and
/// only accuracy can be gained.
fn goal(better: Arm, max_loss: f64) -> Goal {
    match better {
        Arm::Always => Goal::AtMostLost(max_loss / 4.0),
        Arm::Never => Goal::BestAccuracy,
    }
}

/// Counts the answers with evidence as right, and those without if they say the same.
fn agree(answers: &mut Answers) {
    for (never, always) in answers.never.iter_mut().zip(&mut answers.always) {
        always.em = always.error.is_none();
        never.em = is_same(never, always);
    }
}

/// The rows of the policies, from the answers.
fn rows(
    policies: &[Policy],
    goal: Goal,
    answered: &[Answered<'_>],
    better: Arm,
    seed: u64,
) -> Vec<Row> {
    let row = |&tried: &Policy| {
        let records = composed_for(tried, goal, answered, seed);
        let policies = [written(tried, goal, answered), tried];
        Row::of(policies, &records, answered, better)
    };
    policies.iter().map(row).collect()
}

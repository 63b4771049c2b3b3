//! Questions answered in the style in which people are answered, without and with evidence, and what each policy makes
//! of that.

use std::collections::HashSet;

use ken_answer::{Pipeline, Policy, Style};
use ken_policy::{CalibratedOn, Goal, Guarantee};
use ken_probe::Golden;
use serde::Serialize;

use super::choice::{Choice, Stakes, choose};
use super::error::TuneError;
use super::guarantee::guarantee;
use super::row::Row;
use super::settled::written;
use crate::compare::{Answered, Answers, AnswersWork, Arm, BeginRun, Known, composed_for};
use crate::dataset::Question;
use crate::split::AboutSubject;

/// Fewer questions than these tell nothing.
const LEAST_QUESTIONS: usize = 30;

/// By what an answer counts as right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Labels {
    /// By golden answers: a short answer that is one of them, a full one that contains one.
    GoldenAnswers,
    /// By the answer with evidence, which counts as right: what evidence gets wrong is not seen.
    Agreement,
}

impl Labels {
    /// Makes sure that answers in a style can be judged.
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

/// Which questions can be used, and by what their answers count as right: those with golden answers, or where none has
/// any, all of them.
///
/// # Errors
/// Fewer than 30.
pub fn usable(questions: Vec<Question>) -> Result<(Vec<Question>, Labels), TuneError> {
    let (usable, labels) = match questions.iter().any(is_labeled) {
        true => {
            let labeled = questions.into_iter().filter(is_labeled);
            (labeled.collect(), Labels::GoldenAnswers)
        }
        false => (questions, Labels::Agreement),
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

/// Makes sure that questions that are to confirm a policy can do so: that some are labeled as those are that it is chosen
/// on, and none is about the subject of one of these. Returns those that can be used.
///
/// # Errors
/// Where that is not so.
pub fn tell_apart(
    confirming: Vec<Question>,
    chosen_on: &[Question],
    labels: Labels,
) -> Result<Vec<Question>, TuneError> {
    let words = |question: &Question| question.subject().trim().to_lowercase();
    let known: HashSet<String> = chosen_on.iter().map(words).collect();
    let of = confirming.len();
    let shared = confirming.iter().filter(|one| known.contains(&words(one)));
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

/// What is tuned, and on what.
#[derive(Clone, Copy)]
pub struct TuneWork<'a> {
    /// The questions, the candidates, and where their answers are kept.
    pub answers: AnswersWork<'a>,
    /// By what answers count as right.
    pub labels: Labels,
    /// What a policy may lose against the better arm, at the lower end of the interval.
    pub max_loss: f64,
}

/// What was found on the questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// The better of never and always retrieving.
    pub better: Arm,
    /// What choosing could bring.
    pub stakes: Stakes,
    /// The candidates in their order.
    pub rows: Vec<Row>,
    /// The chosen one.
    pub choice: Choice,
    /// What is promised of it, where something is.
    pub guarantee: Option<Guarantee>,
}

/// What a chosen policy does on other questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Confirmed {
    /// Questions.
    pub n: usize,
    /// The arm that was the better one on the questions on which the policy was chosen.
    pub arm: Row,
    /// The policy, held against that arm.
    pub chosen: Row,
}

impl TuneWork<'_> {
    /// How many runs over the questions that is.
    #[must_use]
    pub fn runs(&self, pipeline: &Pipeline) -> usize {
        self.answers.runs(pipeline)
    }

    /// Answers and measures what the files do not hold yet, and chooses. `on` is what a guarantee is for.
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
        // A server watches short answers, and by golden ones alone is it known what is lost.
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

    /// Runs the chosen policy, the only candidate of this work, on other questions and holds it against an arm.
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

/// What thresholds are chosen for. Where retrieving is to be spared, something may be lost by it: so little of what
/// may be that the lower end of the interval of some 200 questions leaves room for it. Where never retrieving is better, nothing
/// is cheaper, and only accuracy can be won.
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
        let golden = Golden {
            answers: std::slice::from_ref(&always.answer),
            choices: &always.choices,
        };
        never.em = golden.scores(&never.answer).exact_match;
    }
}

/// What each policy makes of the answers.
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

//! The choice of a source for one question.

use ken_diagnostic::{Remedy, remedy};

use crate::rule::compared;
use crate::{Policy, Reading, Rule, Signal, Source};

/// A source and why it was chosen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choice {
    /// The source.
    pub source: Source,
    /// One sentence for people.
    pub reason: String,
    /// The most search results to read, if the policy limits them.
    pub k: Option<usize>,
}

/// Why a policy cannot choose.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum CannotChoose {
    #[error("the policy `{policy}` has no threshold")]
    #[diagnostic(remedy = remedy.clone())]
    NoThreshold { policy: String, remedy: Remedy },
    #[error("abstaining by `{signal}` needs a threshold")]
    #[diagnostic(remedy = remedy.clone())]
    AbstainsWithoutThreshold { signal: String, remedy: Remedy },
    #[error("the policy `{policy}` reads up to {wanted} search results, and k is {k}")]
    #[diagnostic(remedy = remedy!("set <k> to {wanted} or more"))]
    KTooSmall {
        policy: String,
        wanted: usize,
        k: usize,
    },
    #[error("the policy `oracle` needs the golden answers")]
    #[diagnostic(remedy = "only <Evaluate> with several policies has them to compare with")]
    NoGoldenAnswers,
    #[error("the policy `{policy}` needs a signal that this model does not provide")]
    #[diagnostic(remedy = remedy.clone())]
    NotMeasured {
        policy: String,
        remedy: Option<Remedy>,
    },
}

/// What a policy decides for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It is answered from memory.
    Spared,
    /// It is answered with evidence, from this many search results, or from all.
    Kept(Option<usize>),
    /// Its evidence is retrieved and discarded, and it is answered from memory.
    Dropped,
}

impl Decision {
    /// Whether the question is answered with evidence.
    pub fn is_kept(self) -> bool {
        matches!(self, Self::Kept(_))
    }
}

/// Decides by numbers alone, as [`Policy::choose`] and then [`Policy::review`] do. A missing `score` retrieves, and a
/// missing `review` keeps the evidence. A door whose thresholds are still to be chosen is open.
///
/// # Units
/// `score`: the signal of the question, or for `random:P` a number drawn from `[0, 1)`. `review`: the signal of the
/// review.
/// `helps`: whether retrieval turns a wrong answer into a right one, which only the oracle asks.
pub fn decide(policy: &Policy, score: Option<f64>, review: Option<f64>, helps: bool) -> Decision {
    if !policy.retrieves(score).unwrap_or(helps) {
        Decision::Spared
    } else if policy.keeps(review) {
        Decision::Kept(policy.k_of(score))
    } else {
        Decision::Dropped
    }
}

impl Policy {
    /// Whether it can choose for questions without golden answers.
    ///
    /// # Errors
    /// The oracle, and a policy without a threshold.
    pub fn check(self) -> Result<(), CannotChoose> {
        // A threshold that is recorded with the model is looked up.
        let is_looked_up =
            self.signal().is_some_and(|signal| signal.is_recorded) && !self.is_graded();
        if self.retrieve == Rule::Oracle {
            Err(CannotChoose::NoGoldenAnswers)
        } else if self.retrieve.is_open() && !is_looked_up || self.keep.is_open() {
            Err(self.without_threshold())
        } else {
            Ok(())
        }
    }

    /// Whether it reads no more search results than there are.
    ///
    /// # Errors
    /// [`CannotChoose::KTooSmall`].
    pub fn check_k(self, k: usize) -> Result<(), CannotChoose> {
        match self.most_k() {
            Some(wanted) if wanted > k => Err(CannotChoose::KTooSmall {
                policy: self.to_string(),
                wanted,
                k,
            }),
            _ => Ok(()),
        }
    }

    /// Whether a question retrieves, by numbers alone: one without a finite score does. `None` for the oracle.
    pub fn retrieves(&self, score: Option<f64>) -> Option<bool> {
        let grade = self.retrieve.grade(score)?;
        Some(self.ks.of(grade).unwrap_or(grade) > 0)
    }

    /// The most search results that a question reads, by numbers alone; `None` if the policy does not limit them.
    pub fn k_of(&self, score: Option<f64>) -> Option<usize> {
        self.ks.of(self.retrieve.grade(score)?)
    }

    /// Whether retrieved evidence is used, by numbers alone: a missing or NaN review keeps it.
    pub fn keeps(&self, review: Option<f64>) -> bool {
        match self.keep {
            Rule::Settled => {
                let review = review.filter(|review| !review.is_nan());
                let is_above = self.retrieve.grade(review) == Some(1);
                review.is_none() || self.retrieve.is_open() || !is_above
            }
            rule => rule.grade(review) != Some(0),
        }
    }

    /// Chooses the source for a question.
    ///
    /// # Units
    /// `score`: its signal; for `random:P` a number drawn from `[0, 1)`, which retrieves below P. A
    /// policy that weighs the evidence needs none: it always retrieves. A signal that cannot tell retrieves.
    ///
    /// # Errors
    /// As [`Policy::check`], and a signal that was not measured.
    pub fn choose(self, score: impl Into<Reading>) -> Result<Choice, CannotChoose> {
        self.check()?;
        let score = score.into();
        let measured = || score.number().ok_or_else(|| self.not_measured());
        let (retrieves, reason) = match self.retrieve {
            Rule::Above { signal, .. } if score.cannot_tell() => {
                let what = signal.subject;
                (
                    true,
                    format!("{what} cannot be told, so the corpus is searched"),
                )
            }
            Rule::Above { signal, .. } if self.is_graded() => self.by_grade(signal, measured()?),
            Rule::Above { signal, .. } => {
                // The model recorded no threshold, or it was not looked up.
                let threshold = self.retrieve.threshold().or(signal.threshold);
                let threshold = threshold.ok_or_else(|| self.without_threshold())?;
                compared(signal, measured()?, threshold)
            }
            Rule::Chance(share) => {
                let drawn = measured()?;
                let side = if drawn < share { "below" } else { "not below" };
                (
                    drawn < share,
                    format!("{drawn:.3} was drawn, which is {side} {share}"),
                )
            }
            Rule::Never => (false, "the policy never retrieves".to_owned()),
            Rule::Oracle => return Err(CannotChoose::NoGoldenAnswers),
            Rule::Always | Rule::Settled => (
                true,
                match (self.ks.of(0), self.keep) {
                    (Some(k), _) => format!("the policy always retrieves, with k = {k}"),
                    (None, Rule::Always) => "the policy always retrieves".to_owned(),
                    (None, _) => "the policy weighs what is retrieved".to_owned(),
                },
            ),
        };
        Ok(Choice {
            source: Source::of(retrieves),
            reason,
            k: self.k_of(score.number()),
        })
    }

    /// Decides whether retrieved evidence is used.
    ///
    /// # Units
    /// `review`: the signal of the review, of the evidence or measured again with it. One that cannot tell keeps the
    /// evidence.
    ///
    /// # Errors
    /// As [`Policy::check`], and a signal that was not measured.
    pub fn review(self, review: impl Into<Reading>) -> Result<Choice, CannotChoose> {
        self.check()?;
        let review = review.into();
        let rule = match self.keep {
            Rule::Settled => self.retrieve,
            rule => rule,
        };
        let tested = rule.signal().filter(|_| self.keep != Rule::Always);
        let (used, reason) = match (tested, rule.threshold()) {
            (Some(signal), _) if review.cannot_tell() => {
                let what = signal.subject;
                let reason = format!("with the evidence, {what} cannot be told, so it is kept");
                (true, reason)
            }
            (Some(signal), Some(threshold)) => {
                let number = review.number().ok_or_else(|| self.not_measured())?;
                let (is_above, reason) = compared(signal, number, threshold);
                match self.keep {
                    Rule::Settled => (!is_above, format!("with the evidence, {reason}")),
                    _ => (is_above, reason),
                }
            }
            _ => (true, String::new()),
        };
        Ok(Choice {
            source: Source::of(used),
            reason,
            k: None,
        })
    }

    fn without_threshold(self) -> CannotChoose {
        let test = |rule: &Rule| match (rule.signal(), rule.threshold()) {
            (Some(signal), Some(threshold)) => format!("{}@{threshold}", signal.name),
            (Some(signal), None) if self.is_graded() => {
                let places = vec!["THRESHOLD"; self.ks.values().len() - 1].join(":");
                format!("{}{}@{places}", signal.name, self.ks)
            }
            (Some(signal), None) => format!("{}@THRESHOLD", signal.name),
            (None, _) if *rule == Rule::Settled => "double".to_owned(),
            (None, _) => String::new(),
        };
        let doors = [test(&self.retrieve), test(&self.keep)].into_iter();
        let written: Vec<String> = doors.filter(|test| !test.is_empty()).collect();
        let (written, open) = (written.join("+"), self.open());
        let pronoun = if self.is_graded() { "them" } else { "one" };
        CannotChoose::NoThreshold {
            policy: self.to_string(),
            remedy: remedy!("write `{written}`; <Calibrate {open}> finds {pronoun}"),
        }
    }

    /// The error of a policy whose signal is missing.
    pub fn not_measured(self) -> CannotChoose {
        CannotChoose::NotMeasured {
            policy: self.to_string(),
            remedy: self.signal().map(Signal::remedy),
        }
    }

    /// Whether a question retrieves by its k, and its k in words.
    fn by_grade(&self, signal: Signal, score: f64) -> (bool, String) {
        let thresholds = self.retrieve.thresholds().unwrap_or_default();
        let grade = self.retrieve.grade(Some(score)).unwrap_or_default();
        let k = self.ks.of(grade).unwrap_or_default();
        let below = grade.checked_sub(1).and_then(|index| thresholds.get(index));
        let sides = [
            below.map(|threshold| format!("above {threshold}")),
            thresholds
                .get(grade)
                .map(|threshold| format!("not above {threshold}")),
        ];
        let sides: Vec<String> = sides.into_iter().flatten().collect();
        let (what, sides) = (signal.subject, sides.join(" and "));
        (k > 0, format!("{what}, {score:.3}, is {sides}: k = {k}"))
    }
}

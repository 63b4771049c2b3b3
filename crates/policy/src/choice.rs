//! The choice of a source for one question.

use ken_diagnostic::{Remedy, remedy};

use crate::{Grades, Policy, Reading, Review, Signal, Source};

/// A source and why it was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The source.
    pub source: Source,
    /// One sentence for people.
    pub reason: String,
    /// The search results to read at most, where the policy limits them.
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

impl Policy {
    /// Whether it can choose for questions without golden answers.
    ///
    /// # Errors
    /// The oracle, and a policy without a threshold.
    pub fn check(self) -> Result<(), CannotChoose> {
        match self {
            Self::Measured {
                signal,
                threshold: None,
                ..
            } if !signal.is_recorded => Err(self.without_threshold()),
            Self::Measured {
                review: Review::Gate {
                    threshold: None, ..
                },
                ..
            } => Err(self.without_threshold()),
            Self::Graded { grades, .. } if grades.thresholds().is_none() => {
                Err(self.without_threshold())
            }
            Self::Oracle => Err(CannotChoose::NoGoldenAnswers),
            _ => Ok(()),
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

    /// Whether a question retrieves, by numbers alone: as [`Policy::choose`], where what is missing
    /// retrieves. `None` of the oracle.
    #[must_use]
    pub fn retrieves(self, score: Option<f64>) -> Option<bool> {
        match self {
            Self::Always | Self::AlwaysK(_) => Some(true),
            Self::Never => Some(false),
            Self::Random { share } => Some(score.is_none_or(|drawn| drawn < share)),
            Self::Oracle => None,
            Self::Measured {
                signal, threshold, ..
            } => Some(signal.weighs_evidence() || is_above(score, threshold)),
            Self::Graded { grades, .. } => Some(grades.k_of(score) > 0),
        }
    }

    /// The search results that a question reads at most, by numbers alone; `None` where the policy does not
    /// limit them.
    #[must_use]
    pub fn k_of(self, score: Option<f64>) -> Option<usize> {
        match self {
            Self::AlwaysK(k) => Some(k),
            Self::Graded { grades, .. } => Some(grades.k_of(score)),
            _ => None,
        }
    }

    /// Whether retrieved evidence is used, by numbers alone: as [`Policy::review`], where what is missing, or is
    /// no number, keeps it.
    #[must_use]
    pub fn keeps(self, with: Option<f64>) -> bool {
        let with = with.filter(|one| !one.is_nan());
        match self {
            Self::Measured {
                review: Review::Gate { threshold, .. },
                ..
            } => is_above(with, threshold),
            Self::Measured {
                threshold,
                review: Review::Double,
                ..
            } => with.is_none() || threshold.is_none() || !is_above(with, threshold),
            Self::Measured {
                signal, threshold, ..
            } if signal.weighs_evidence() => is_above(with, threshold),
            _ => true,
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
        let (retrieves, reason) = match self {
            Self::Measured { signal, .. } | Self::Graded { signal, .. }
                if score.cannot_tell() && !signal.weighs_evidence() =>
            {
                (
                    true,
                    format!(
                        "{} cannot be told, so the corpus is searched",
                        signal.subject
                    ),
                )
            }
            Self::Always => (true, "the policy always retrieves".to_owned()),
            Self::AlwaysK(k) => (true, format!("the policy always retrieves, with k = {k}")),
            Self::Never => (false, "the policy never retrieves".to_owned()),
            Self::Random { share } => {
                let drawn = measured()?;
                let side = if drawn < share { "below" } else { "not below" };
                (
                    drawn < share,
                    format!("{drawn:.3} was drawn, which is {side} {share}"),
                )
            }
            Self::Measured { signal, .. } if signal.weighs_evidence() => {
                (true, "the policy weighs what is retrieved".to_owned())
            }
            Self::Measured {
                signal,
                threshold: Some(threshold),
                ..
            } => compared(signal, measured()?, threshold),
            // Nothing was recorded, or nobody has looked.
            Self::Measured {
                signal,
                threshold: None,
                ..
            } => {
                let default = signal.threshold.ok_or_else(|| self.without_threshold())?;
                compared(signal, measured()?, default)
            }
            Self::Graded { signal, grades } => graded(signal, measured()?, grades),
            Self::Oracle => return Err(self.without_threshold()),
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
    /// `with`: the signal that reviews, of the evidence or measured again with it. One that cannot tell keeps the
    /// evidence.
    ///
    /// # Errors
    /// As [`Policy::check`], and a signal that was not measured.
    pub fn review(self, with: impl Into<Reading>) -> Result<Choice, CannotChoose> {
        self.check()?;
        let with = with.into();
        let measured = || with.number().ok_or_else(|| self.not_measured());
        let weighed = |signal: Signal, threshold: Option<f64>| {
            let threshold = threshold.ok_or_else(|| self.without_threshold())?;
            Ok::<_, CannotChoose>(compared(signal, measured()?, threshold))
        };
        let (used, reason) = match self {
            _ if with.cannot_tell() => match self.reviews_by() {
                Some(signal) => {
                    let what = signal.subject;
                    let reason = format!("with the evidence, {what} cannot be told, so it is kept");
                    (true, reason)
                }
                None => (true, String::new()),
            },
            Self::Measured {
                review: Review::Gate { signal, threshold },
                ..
            } => weighed(signal, threshold)?,
            Self::Measured {
                signal,
                threshold,
                review: Review::Nothing,
            } if signal.weighs_evidence() => weighed(signal, threshold)?,
            Self::Measured {
                signal,
                threshold: Some(threshold),
                review: Review::Double,
            } => {
                let (still_needed, reason) = compared(signal, measured()?, threshold);
                (!still_needed, format!("with the evidence, {reason}"))
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
        if let Self::Graded { signal, grades } = self {
            let ks = format!("{}{grades}", signal.name);
            let places = vec!["THRESHOLD"; grades.ks().len() - 1].join(":");
            return CannotChoose::NoThreshold {
                policy: self.to_string(),
                remedy: remedy!("write `{ks}@{places}`; <Calibrate {ks}> finds them"),
            };
        }
        let Self::Measured {
            signal,
            threshold,
            review,
        } = self
        else {
            return CannotChoose::NoGoldenAnswers;
        };
        let first = match threshold {
            None => format!("{}@THRESHOLD", signal.name),
            Some(threshold) => format!("{}@{threshold}", signal.name),
        };
        let (second, calibrated) = match review {
            Review::Nothing => (String::new(), signal.name.to_owned()),
            Review::Double => ("+double".to_owned(), format!("{}+double", signal.name)),
            Review::Gate {
                signal: gate,
                threshold,
            } => {
                let both = format!("{}+{}", signal.name, gate.name);
                match threshold {
                    None => (format!("+{}@THRESHOLD", gate.name), both),
                    Some(threshold) => (format!("+{}@{threshold}", gate.name), both),
                }
            }
        };
        CannotChoose::NoThreshold {
            policy: self.to_string(),
            remedy: remedy!("write `{first}{second}`; <Calibrate {calibrated}> finds one"),
        }
    }

    /// The error of a policy whose signal is missing.
    #[must_use]
    pub fn not_measured(self) -> CannotChoose {
        CannotChoose::NotMeasured {
            policy: self.to_string(),
            remedy: self.signal().map(Signal::remedy),
        }
    }
}

/// Whether a number is above a threshold. What is missing is, and what is no number: the corpus is the safer
/// choice. Without a threshold everything is.
fn is_above(score: Option<f64>, threshold: Option<f64>) -> bool {
    let score = score.filter(|score| score.is_finite());
    !score
        .zip(threshold)
        .is_some_and(|(score, threshold)| score <= threshold)
}

/// Whether a signal is above a threshold, and that in words.
pub(crate) fn compared(signal: Signal, score: f64, threshold: f64) -> (bool, String) {
    let above = is_above(Some(score), Some(threshold));
    let side = if above { "above" } else { "not above" };
    let what = signal.subject;
    (above, format!("{what}, {score:.3}, is {side} {threshold}"))
}

/// Whether a question retrieves by its k, and its k in words.
fn graded(signal: Signal, score: f64, grades: Grades) -> (bool, String) {
    let (grade, k) = (grades.grade_of(Some(score)), grades.k_of(Some(score)));
    let thresholds = grades.thresholds().unwrap_or_default();
    let below = grade.checked_sub(1).and_then(|at| thresholds.get(at));
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

//! Routing policies and their names.

use std::fmt;
use std::str::FromStr;

use crate::{Grades, Signal};

/// Decides whether a question retrieves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Policy {
    /// Every question retrieves.
    Always,
    /// Every question retrieves this many search results, fewer than otherwise.
    AlwaysK(usize),
    /// No question retrieves.
    Never,
    /// Each question retrieves by chance.
    Random {
        /// With this probability, in `[0, 1]`.
        share: f64,
    },
    /// A question retrieves where that turns a wrong answer into a right one, which only golden answers
    /// can tell.
    Oracle,
    /// A question is answered with evidence where a signal is above a threshold.
    Measured {
        /// The signal. One of the question decides whether it retrieves, one of the evidence whether
        /// what was retrieved is used.
        signal: Signal,
        /// The threshold; `None` before calibration.
        threshold: Option<f64>,
        /// What decides whether evidence is used that a signal of the question had retrieved.
        review: Review,
    },
    /// The larger a signal, the more search results a question gets.
    Graded {
        /// The signal, one of the question.
        signal: Signal,
        /// How many; without thresholds before calibration.
        grades: Grades,
    },
}

/// What decides whether retrieved evidence is used. Where it is not, the answer from memory stands.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Review {
    /// Nothing: it is.
    #[default]
    Nothing,
    /// The policy's signal, measured again with the evidence: it must not be above the threshold any
    /// longer (KBM's double judgment, figure 8).
    Double,
    /// A signal of the evidence: it must be above a threshold of its own.
    Gate {
        /// The signal.
        signal: Signal,
        /// The threshold; `None` before calibration.
        threshold: Option<f64>,
    },
}

/// The suffix of a review by the policy's own signal.
const DOUBLE: &str = "double";

impl Policy {
    /// The policy of a signal with the threshold that it has where none is named.
    #[must_use]
    pub fn measured(signal: Signal) -> Self {
        Self::Measured {
            signal,
            threshold: signal.unnamed_threshold(),
            review: Review::Nothing,
        }
    }

    /// Its signal, the first where it has two.
    #[must_use]
    pub fn signal(self) -> Option<Signal> {
        match self {
            Self::Measured { signal, .. } | Self::Graded { signal, .. } => Some(signal),
            Self::Always | Self::AlwaysK(_) | Self::Never | Self::Random { .. } | Self::Oracle => {
                None
            }
        }
    }

    /// The signal by which it decides whether to retrieve.
    #[must_use]
    pub fn searches_by(self) -> Option<Signal> {
        self.signal().filter(|signal| !signal.weighs_evidence())
    }

    /// The signal by which it decides whether evidence is used, measured of the evidence or once more with
    /// it.
    #[must_use]
    pub fn reviews_by(self) -> Option<Signal> {
        match self {
            Self::Measured {
                review: Review::Gate { signal, .. },
                ..
            } => Some(signal),
            Self::Measured {
                signal,
                review: Review::Double,
                ..
            } => Some(signal),
            _ => self.signal().filter(|signal| signal.weighs_evidence()),
        }
    }

    /// The threshold above which a question retrieves, where there is one.
    #[must_use]
    pub fn threshold(self) -> Option<f64> {
        match self {
            Self::Measured { threshold, .. } => threshold,
            Self::Graded { grades, .. } if grades.ks().first() == Some(&0) => {
                grades.thresholds()?.first().copied()
            }
            _ => None,
        }
    }

    /// The most search results that it names, and so needs at least to be searched for.
    #[must_use]
    pub fn most_k(self) -> Option<usize> {
        match self {
            Self::AlwaysK(k) => Some(k),
            Self::Graded { grades, .. } => Some(grades.most()),
            _ => None,
        }
    }

    /// All its signals.
    pub fn signals(self) -> impl Iterator<Item = Signal> {
        let second = self.reviews_by().filter(|one| Some(*one) != self.signal());
        self.signal().into_iter().chain(second)
    }
}

/// `always`, `always:K`, `never`, `oracle`, `random:P`, or a signal's name with `@` and the threshold where there
/// is one that is not the signal's own, followed by `+` and what reviews the evidence; or a signal's name with
/// several values of k and the thresholds between them.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::AlwaysK(k) => write!(f, "always:{k}"),
            Self::Never => f.write_str("never"),
            Self::Oracle => f.write_str("oracle"),
            Self::Random { share } => write!(f, "random:{share}"),
            Self::Measured {
                signal,
                threshold,
                review,
            } => {
                write_test(f, *signal, *threshold)?;
                match *review {
                    Review::Nothing => Ok(()),
                    Review::Double => write!(f, "+{DOUBLE}"),
                    Review::Gate { signal, threshold } => {
                        f.write_str("+")?;
                        write_test(f, signal, threshold)
                    }
                }
            }
            Self::Graded { signal, grades } => write!(f, "{}{grades}", signal.name),
        }
    }
}

fn write_test(f: &mut fmt::Formatter<'_>, signal: Signal, threshold: Option<f64>) -> fmt::Result {
    f.write_str(signal.name)?;
    match threshold.filter(|given| signal.unnamed_threshold() != Some(*given)) {
        Some(given) => write!(f, "@{given}"),
        None => Ok(()),
    }
}

/// Why a text is not a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum UnknownPolicy {
    #[error(
        "unknown policy `{name}` (known are always, always:K, never, random:P, oracle, {}, each of the latter with @THRESHOLD)",
        signals.join(", ")
    )]
    Name {
        name: String,
        signals: Vec<&'static str>,
    },
    #[error("`{number}` in `{policy}` is not {expected}")]
    Number {
        policy: String,
        number: String,
        expected: &'static str,
    },
    #[error("`{policy}` cannot judge twice: its signal cannot be measured with evidence")]
    NotTwice { policy: String },
    #[error("`{policy}` reviews evidence by `{review}`, which is no signal of evidence")]
    NoReview { policy: String, review: String },
    #[error("`{policy}` cannot choose k: {reason}")]
    NotGraded { policy: String, reason: String },
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        match text {
            "always" => return Ok(Self::Always),
            "never" => return Ok(Self::Never),
            "oracle" => return Ok(Self::Oracle),
            _ => {}
        }
        if let Some(share) = text.strip_prefix("random:") {
            let share = number(text, share, "a share from 0 to 1", is_share)?;
            return Ok(Self::Random { share });
        }
        if let Some(k) = text.strip_prefix("always:") {
            return Ok(Self::AlwaysK(search_results(text, k, 1)?));
        }
        if let Some((signal, grades)) = graded(text)? {
            return Ok(Self::Graded { signal, grades });
        }
        let (first, review) = match text.split_once('+') {
            Some((first, review)) => (first, Some(review)),
            None => (text, None),
        };
        let (signal, threshold) = test(text, first)?;
        let review = match review {
            None => Review::Nothing,
            Some(DOUBLE) if !signal.with_evidence => {
                return Err(UnknownPolicy::NotTwice {
                    policy: text.to_owned(),
                });
            }
            Some(DOUBLE) => Review::Double,
            Some(review) => {
                let (gate, threshold) = test(text, review)?;
                if !gate.weighs_evidence() || signal.weighs_evidence() {
                    return Err(UnknownPolicy::NoReview {
                        policy: text.to_owned(),
                        review: gate.name.to_owned(),
                    });
                }
                Review::Gate {
                    signal: gate,
                    threshold,
                }
            }
        };
        Ok(Self::Measured {
            signal,
            threshold,
            review,
        })
    }
}

/// A signal by its name, with the threshold after `@`, or its own.
fn test(policy: &str, text: &str) -> Result<(Signal, Option<f64>), UnknownPolicy> {
    let (name, given) = match text.split_once('@') {
        Some((name, threshold)) => (name, Some(threshold)),
        None => (text, None),
    };
    let known = Signal::ALL
        .iter()
        .copied()
        .find(|signal| signal.name == name);
    let signal = known.ok_or_else(|| UnknownPolicy::Name {
        name: policy.to_owned(),
        signals: Signal::ALL
            .iter()
            .copied()
            .map(|signal| signal.name)
            .collect(),
    })?;
    let given = given
        .map(|given| threshold(policy, signal, given))
        .transpose()?;
    Ok((signal, given.or(signal.unnamed_threshold())))
}

/// A signal with several values of k, and thresholds where there are any; `None` where a policy is none of these.
fn graded(policy: &str) -> Result<Option<(Signal, Grades)>, UnknownPolicy> {
    let refused = |reason: String| UnknownPolicy::NotGraded {
        policy: policy.to_owned(),
        reason,
    };
    let named = Signal::ALL.iter().copied().find_map(|signal| {
        let rest = policy.strip_prefix(signal.name)?.strip_prefix(':')?;
        rest.starts_with(|first: char| first.is_ascii_digit())
            .then_some((signal, rest))
    });
    let Some((signal, rest)) = named else {
        return Ok(None);
    };
    if signal.weighs_evidence() {
        return Err(refused(
            "its signal is one of what was retrieved already".to_owned(),
        ));
    }
    if rest.contains('+') {
        return Err(refused("it reviews evidence as well".to_owned()));
    }
    let (ks, thresholds) = match rest.split_once('@') {
        Some((ks, thresholds)) => (ks, Some(thresholds)),
        None => (rest, None),
    };
    let ks = ks.split(':').map(|k| search_results(policy, k, 0));
    let ks: Vec<usize> = ks.collect::<Result<_, _>>()?;
    let grades = Grades::new(&ks).map_err(|error| refused(error.to_string()))?;
    let Some(thresholds) = thresholds else {
        return Ok(Some((signal, grades)));
    };
    let thresholds = thresholds
        .split(':')
        .map(|one| threshold(policy, signal, one));
    let thresholds: Vec<f64> = thresholds.collect::<Result<_, _>>()?;
    let grades = grades
        .at(&thresholds)
        .map_err(|error| refused(error.to_string()))?;
    match grades.used() {
        Ok(used) if used == grades => Ok(Some((signal, grades))),
        _ => Err(refused("two of its thresholds are equal".to_owned())),
    }
}

/// A number of search results.
fn search_results(policy: &str, text: &str, least: usize) -> Result<usize, UnknownPolicy> {
    let k = text.parse::<usize>().ok().filter(|k| *k >= least);
    k.ok_or_else(|| UnknownPolicy::Number {
        policy: policy.to_owned(),
        number: text.to_owned(),
        expected: "a number of search results",
    })
}

fn threshold(policy: &str, signal: Signal, text: &str) -> Result<f64, UnknownPolicy> {
    match signal.is_share {
        true => number(policy, text, "a threshold from 0 to 1", is_share),
        false => number(policy, text, "a threshold", f64::is_finite),
    }
}

pub(crate) fn number(
    policy: &str,
    number: &str,
    expected: &'static str,
    holds: fn(f64) -> bool,
) -> Result<f64, UnknownPolicy> {
    match number.parse::<f64>() {
        Ok(value) if holds(value) => Ok(value),
        _ => Err(UnknownPolicy::Number {
            policy: policy.to_owned(),
            number: number.to_owned(),
            expected,
        }),
    }
}

pub(crate) fn is_share(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}

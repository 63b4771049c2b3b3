//! Routing policies and their names.

use std::fmt;
use std::str::FromStr;

use crate::Score;

/// Decides whether a question retrieves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Policy<S> {
    /// Every question retrieves.
    Always,
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
    /// A question retrieves where a signal is above a threshold.
    Measured {
        /// The signal.
        signal: S,
        /// The threshold; `None` before calibration.
        threshold: Option<f64>,
        /// Whether the signal is measured again with the evidence, which is dropped unless it lowers
        /// the signal (KBM's double judgment, figure 8).
        double: bool,
    },
}

/// The suffix of a policy with double judgment.
pub(crate) const DOUBLE: &str = "+double";

impl<S: Score> Policy<S> {
    /// The policy of a signal with its default threshold.
    #[must_use]
    pub fn measured(signal: S) -> Self {
        Self::Measured {
            signal,
            threshold: signal.threshold(),
            double: false,
        }
    }

    /// Its signal.
    #[must_use]
    pub fn signal(self) -> Option<S> {
        match self {
            Self::Measured { signal, .. } => Some(signal),
            Self::Always | Self::Never | Self::Random { .. } | Self::Oracle => None,
        }
    }

    /// Whether it judges again with the evidence.
    #[must_use]
    pub fn judges_twice(self) -> bool {
        matches!(self, Self::Measured { double: true, .. })
    }
}

/// `always`, `never`, `oracle`, `random:P`, or a signal's name, `@` and the threshold where there is
/// one that is not the signal's own, and `+double` where it judges twice.
impl<S: Score> fmt::Display for Policy<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Never => f.write_str("never"),
            Self::Oracle => f.write_str("oracle"),
            Self::Random { share } => write!(f, "random:{share}"),
            Self::Measured {
                signal,
                threshold,
                double,
            } => {
                f.write_str(signal.name())?;
                if let Some(given) = threshold.filter(|given| signal.threshold() != Some(*given)) {
                    write!(f, "@{given}")?;
                }
                f.write_str(if *double { DOUBLE } else { "" })
            }
        }
    }
}

/// Why a text is not a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum UnknownPolicy {
    #[error(
        "unknown policy `{name}` (known are always, never, random:P, oracle, {}, each of the latter with @THRESHOLD)",
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
}

impl<S: Score> FromStr for Policy<S> {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let number = |number: &str, expected, holds: fn(f64) -> bool| match number.parse::<f64>() {
            Ok(value) if holds(value) => Ok(value),
            _ => Err(UnknownPolicy::Number {
                policy: text.to_owned(),
                number: number.to_owned(),
                expected,
            }),
        };
        match text {
            "always" => return Ok(Self::Always),
            "never" => return Ok(Self::Never),
            "oracle" => return Ok(Self::Oracle),
            _ => {}
        }
        if let Some(share) = text.strip_prefix("random:") {
            let share = number(share, "a share from 0 to 1", is_share)?;
            return Ok(Self::Random { share });
        }
        let (rest, double) = match text.strip_suffix(DOUBLE) {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (name, given) = match rest.split_once('@') {
            Some((name, threshold)) => (name, Some(threshold)),
            None => (rest, None),
        };
        let known = S::all().find(|signal| signal.name() == name);
        let signal = known.ok_or_else(|| UnknownPolicy::Name {
            name: text.to_owned(),
            signals: S::all().map(Score::name).collect(),
        })?;
        if double && !signal.takes_evidence() {
            return Err(UnknownPolicy::NotTwice {
                policy: text.to_owned(),
            });
        }
        let given = given
            .map(|threshold| match signal.is_share() {
                true => number(threshold, "a threshold from 0 to 1", is_share),
                false => number(threshold, "a threshold", f64::is_finite),
            })
            .transpose()?;
        Ok(Self::Measured {
            signal,
            threshold: given.or(signal.threshold()),
            double,
        })
    }
}

fn is_share(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}

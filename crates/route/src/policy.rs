//! The policies by name.

use std::fmt;
use std::str::FromStr;

use crate::Measure;

/// How it is decided whether a question retrieves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Policy {
    /// Every question retrieves.
    Always,
    /// No question retrieves.
    Never,
    /// Each question retrieves by chance.
    Random {
        /// With this probability, in `[0, 1]`.
        share: f64,
    },
    /// A question retrieves where that turns a wrong answer into a right one. Only who has the
    /// golden answers can know.
    Oracle,
    /// A question retrieves where a measure of it is above a threshold.
    Measured {
        /// The measure.
        measure: Measure,
        /// The threshold; `None` where it is still to be chosen.
        threshold: Option<f64>,
        /// Whether the measure is taken again with the evidence, and evidence dropped that does not
        /// lower it (KBM's double judgment, figure 8).
        double: bool,
    },
}

/// The threshold of the model's own judgment where nobody says: it holds for or against.
const JUDGMENT_THRESHOLD: f64 = 0.5;

/// The threshold of a model that chooses its source: that of SR-RAG (section 4.1, for two of its three
/// models).
const SELF_ROUTE_THRESHOLD: f64 = 0.2;

/// What follows the name of a policy that judges twice.
pub(crate) const DOUBLE: &str = "+double";

impl Policy {
    /// The policy of a measure, with the threshold that it has without being told.
    #[must_use]
    pub fn measured(measure: Measure) -> Self {
        Self::Measured {
            measure,
            threshold: match measure {
                Measure::Judgment => Some(JUDGMENT_THRESHOLD),
                Measure::SelfRoute => Some(SELF_ROUTE_THRESHOLD),
                _ => None,
            },
            double: false,
        }
    }

    /// What it measures.
    #[must_use]
    pub fn measure(self) -> Option<Measure> {
        match self {
            Self::Measured { measure, .. } => Some(measure),
            Self::Always | Self::Never | Self::Random { .. } | Self::Oracle => None,
        }
    }

    /// Whether it judges again with the evidence.
    #[must_use]
    pub fn judges_twice(self) -> bool {
        matches!(self, Self::Measured { double: true, .. })
    }

    /// The same without judging again: a threshold is chosen for this one, since it decides before
    /// there is evidence.
    #[must_use]
    pub fn judging_once(self) -> Self {
        match self {
            Self::Measured {
                measure, threshold, ..
            } => Self::Measured {
                measure,
                threshold,
                double: false,
            },
            other => other,
        }
    }
}

/// `always`, `never`, `oracle`, `random:P`, or a measure's name, `@` and the threshold where there is
/// one that is not the measure's own, and `+double` where it judges twice.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Never => f.write_str("never"),
            Self::Oracle => f.write_str("oracle"),
            Self::Random { share } => write!(f, "random:{share}"),
            Self::Measured {
                measure,
                threshold,
                double,
            } => {
                measure.fmt(f)?;
                if let Some(threshold) = threshold
                    && Self::measured(*measure)
                        != (Self::Measured {
                            measure: *measure,
                            threshold: Some(*threshold),
                            double: false,
                        })
                {
                    write!(f, "@{threshold}")?;
                }
                f.write_str(if *double { DOUBLE } else { "" })
            }
        }
    }
}

/// A text that names no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownPolicy {
    /// No policy has this name.
    #[error(
        "unknown policy `{name}` (known are always, never, random:P, oracle, {}, each of the latter with @THRESHOLD)",
        Measure::NAMES.map(|(_, name)| name).join(", ")
    )]
    Name {
        /// The name given.
        name: String,
    },
    /// The number behind the name is none, or out of range.
    #[error("`{number}` in `{policy}` is not {expected}")]
    Number {
        /// The policy as given.
        policy: String,
        /// What stands for the number.
        number: String,
        /// What may stand there.
        expected: &'static str,
    },
    /// The measure cannot be taken with evidence.
    #[error("`{policy}` cannot judge twice: its measure cannot be taken with evidence")]
    NotTwice {
        /// The policy as given.
        policy: String,
    },
}

impl FromStr for Policy {
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
        let measure: Measure = name.parse().map_err(|_| UnknownPolicy::Name {
            name: text.to_owned(),
        })?;
        if double && !measure.is_taken_with_evidence() {
            return Err(UnknownPolicy::NotTwice {
                policy: text.to_owned(),
            });
        }
        let given = given
            .map(|threshold| match measure.is_share() {
                true => number(threshold, "a threshold from 0 to 1", is_share),
                false => number(threshold, "a threshold", f64::is_finite),
            })
            .transpose()?;
        let default = match Self::measured(measure) {
            Self::Measured { threshold, .. } => threshold,
            _ => None,
        };
        Ok(Self::Measured {
            measure,
            threshold: given.or(default),
            double,
        })
    }
}

fn is_share(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for text in [
            "always",
            "never",
            "oracle",
            "random:0.25",
            "prompt",
            "prompt@0.3",
            "certainty",
            "certainty@0.61",
            "certainty@0.61+double",
            "uncertainty:eigenscore@-3.5",
            "router",
            "router@0.4",
            "self-route",
            "self-route@0.1",
        ] {
            let policy: Policy = text.parse().unwrap();
            assert_eq!(policy.to_string(), text);
        }
        assert_eq!("prompt@0.5".parse::<Policy>(), "prompt".parse());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("sometimes", "`sometimes`"),
            ("random:2", "`2`"),
            ("random:", "``"),
            ("certainty@high", "`high`"),
            ("certainty@inf", "`inf`"),
            ("certainty@1.5", "from 0 to 1"),
            ("prompt@-1", "from 0 to 1"),
            ("self-route@1.01", "from 0 to 1"),
            ("uncertainty:perplexity@nan", "is not a threshold"),
            ("prompt+double", "cannot judge twice"),
            ("router@0.4+double", "cannot judge twice"),
        ] {
            let error = text.parse::<Policy>().unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}

//! Abstaining: whether an answer is given, or withheld since no signal vouches for it.

use std::fmt;
use std::str::FromStr;

use ken_diagnostic::remedy;
use serde::{Serialize, Serializer};

use crate::policy::{UnknownPolicy, parted, threshold};
use crate::rule::compared;
use crate::{CannotChoose, Policy, Reading, Signal};

/// Withholds answers that a signal does not vouch for.
///
/// An answer from memory that the policy's own signal chose stands: the policy's threshold vouches for it. Every other
/// answer has to pass, so that both thresholds together decide which questions are answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Abstention {
    /// The signal. One of the question is measured with the evidence of the answer, if it has any, and has to be at most
    /// the threshold; one of the evidence has to be above it.
    pub signal: Signal,
    /// The threshold; `None` before calibration.
    pub threshold: Option<f64>,
}

impl Abstention {
    /// The test that a policy puts an answer from memory to in place of evidence; `None` if the answer stands.
    pub fn in_place_of_evidence(policy: Policy) -> Option<Self> {
        policy.withhold.map(|(signal, threshold)| Self {
            signal,
            threshold: Some(threshold),
        })
    }

    /// Whether a signal can be measured of an answer with evidence.
    pub fn can_use(signal: Signal) -> bool {
        signal.with_evidence || signal.weighs_evidence()
    }

    /// Whether it can decide.
    ///
    /// # Errors
    /// An abstention without a threshold.
    pub fn check(self) -> Result<(), CannotChoose> {
        match self.threshold {
            Some(_) => Ok(()),
            None => {
                let name = self.signal.name;
                Err(CannotChoose::AbstainsWithoutThreshold {
                    signal: name.to_owned(),
                    remedy: remedy!(
                        "write `{name}@THRESHOLD`; <CalibrateAbstention {name}> finds one"
                    ),
                })
            }
        }
    }

    /// Whether a number vouches for an answer. A missing one does not, and neither does one that is not finite.
    pub fn vouches(self, number: Option<f64>) -> bool {
        let pair = number
            .filter(|number| number.is_finite())
            .zip(self.threshold);
        pair.is_some_and(|(number, threshold)| match self.signal.weighs_evidence() {
            true => number > threshold,
            false => number <= threshold,
        })
    }

    /// Whether a reading vouches for an answer, and why in words. A signal that cannot tell vouches for nothing.
    ///
    /// # Errors
    /// As [`Abstention::check`], and a signal that was not measured.
    pub fn judge(self, reading: impl Into<Reading>) -> Result<(bool, String), CannotChoose> {
        self.check()?;
        let reading = reading.into();
        if reading.cannot_tell() {
            let what = self.signal.subject;
            return Ok((
                false,
                format!("of the answer, {what} cannot be told, so it is withheld"),
            ));
        }
        let missing = || CannotChoose::NotMeasured {
            policy: self.to_string(),
            remedy: Some(self.signal.remedy()),
        };
        let number = reading.number().ok_or_else(missing)?;
        let (_, reason) = compared(self.signal, number, self.threshold.unwrap_or(f64::NAN));
        let vouches = self.vouches(Some(number));
        let then = if vouches { "given" } else { "withheld" };
        let reason = format!("of the answer, {reason}, so it is {then}");
        Ok((vouches, reason))
    }
}

/// A signal's name, with `@` and the threshold if there is one.
impl fmt::Display for Abstention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.signal.name)?;
        match self.threshold {
            Some(threshold) => write!(f, "@{threshold}"),
            None => Ok(()),
        }
    }
}

impl Serialize for Abstention {
    fn serialize<To: Serializer>(&self, to: To) -> Result<To::Ok, To::Error> {
        to.collect_str(self)
    }
}

/// Why a text does not say how to abstain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum UnknownAbstention {
    #[error(
        "`{name}` cannot vouch for an answer ({} can, each with @THRESHOLD)",
        signals.join(", ")
    )]
    Signal {
        name: String,
        signals: Vec<&'static str>,
    },
    #[error(transparent)]
    Number(#[from] UnknownPolicy),
}

impl FromStr for Abstention {
    type Err = UnknownAbstention;

    fn from_str(text: &str) -> Result<Self, UnknownAbstention> {
        let (name, given) = parted(text, '@');
        let known = || {
            Signal::ALL
                .iter()
                .copied()
                .filter(|signal| Self::can_use(*signal))
        };
        let named = known().find(|signal| signal.name == name);
        let signal = named.ok_or_else(|| UnknownAbstention::Signal {
            name: name.to_owned(),
            signals: known().map(|signal| signal.name).collect(),
        })?;
        let given = given.map(|given| threshold(text, signal, given));
        Ok(Self {
            signal,
            threshold: given.transpose()?,
        })
    }
}

//! Routing policies and their names.

use std::fmt;
use std::str::FromStr;

use crate::rule::{Ks, Rule, Thresholds};
use crate::{BadGrades, OffTopic, Signal};

/// Two doors that a question passes before it is answered, and one that only an answer from memory in place of evidence
/// passes. Whether any answer is given is an [`Abstention`](crate::Abstention): a setting of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// Whether the question retrieves: by chance or by a signal of the question.
    pub retrieve: Rule,
    /// The number of search results that it then reads, if the policy sets it; with 0, it does not retrieve.
    pub ks: Ks,
    /// Whether retrieved evidence is used, by a signal of the evidence, or by that of the question once more. If it is
    /// not, the answer from memory stands.
    pub keep: Rule,
    /// When the model does not read the passages found, since none is about the question and it knows the answer;
    /// `None` if it always reads them.
    pub off_topic: Option<OffTopic>,
    /// The signal of the question, and the threshold above which the answer from memory in place of evidence is
    /// withheld; `None` if it stands.
    pub withhold: Option<(Signal, f64)>,
}

/// The name of [`Policy::DOCUMENTS`].
const DOCUMENTS: &str = "documents";

/// The suffix of a review by the policy's own signal.
const DOUBLE: &str = "double";

impl Policy {
    /// Every question retrieves.
    pub const ALWAYS: Self = Self::by(Rule::Always);
    /// No question retrieves.
    pub const NEVER: Self = Self::by(Rule::Never);

    /// Documents first: an answer from them if the model is sure of that, else one from memory if it is sure of that, else
    /// none. If no passage is about the question and sampled answers agree, the model reads none.
    ///
    /// The thresholds of `keep` and `withhold` were chosen on 104 questions over manuals, with Qwen2.5-Coder-Instruct of 0.5
    /// and 1.5 billion parameters (`results/2026-11-30-stated` and `2026-12-01-opening`). Those of `off_topic` were chosen with
    /// them and MiniLM, on these, trivia and questions about the documents as a whole (`results/2026-11-30-off-topic`);
    /// embedders with larger cosines find no question off topic.
    pub const DOCUMENTS: Self = Self {
        keep: Rule::above(Signal::EVIDENCE_STATED, Some(-0.4)),
        off_topic: Some(OffTopic {
            similarity: 0.35,
            uncertainty: 0.8,
        }),
        withhold: Some((Signal::PERPLEXITY, 1.2)),
        ..Self::ALWAYS
    };

    const fn by(retrieve: Rule) -> Self {
        Self {
            retrieve,
            ks: Ks::NONE,
            keep: Rule::Always,
            off_topic: None,
            withhold: None,
        }
    }

    /// Every question retrieves, and reads only this many search results.
    #[must_use]
    pub fn always_k(k: usize) -> Self {
        Self {
            ks: Ks::only(k),
            ..Self::ALWAYS
        }
    }

    /// A question is answered with evidence if a signal is above a threshold: one of the question decides whether it
    /// retrieves, one of the evidence whether the retrieved evidence is used.
    #[must_use]
    pub fn above(signal: Signal, threshold: Option<f64>) -> Self {
        let rule = Rule::above(signal, threshold);
        if signal.weighs_evidence() {
            Self {
                keep: rule,
                ..Self::ALWAYS
            }
        } else {
            Self::by(rule)
        }
    }

    /// The policy of a signal with its default threshold.
    #[must_use]
    pub fn measured(signal: Signal) -> Self {
        Self::above(signal, signal.unnamed_threshold())
    }

    /// The larger a signal of the question, the more search results it gets; without thresholds before calibration.
    #[must_use]
    pub fn graded(signal: Signal, ks: Ks) -> Self {
        let thresholds = Thresholds::between(ks);
        Self {
            ks,
            ..Self::by(Rule::Above { signal, thresholds })
        }
    }

    /// Removes the thresholds, for calibration to choose.
    #[must_use]
    pub fn open(self) -> Self {
        Self {
            retrieve: self.retrieve.open(),
            keep: self.keep.open(),
            ..self
        }
    }

    /// Sets the thresholds of the signal of the question.
    ///
    /// # Errors
    /// As [`Thresholds::at`].
    pub fn at(mut self, values: &[f64]) -> Result<Self, BadGrades> {
        if let Rule::Above { thresholds, .. } = &mut self.retrieve {
            *thresholds = thresholds.at(values)?;
        }
        Ok(self)
    }

    /// Its name with all thresholds that the name stands for.
    #[must_use]
    pub fn in_full(self) -> String {
        match (self.keep.threshold(), self.off_topic, self.withhold) {
            (Some(keep), Some(off_topic), Some((_, withhold))) => {
                let OffTopic {
                    similarity,
                    uncertainty,
                } = off_topic;
                format!("{self}@{keep}:{similarity}:{uncertainty}:{withhold}")
            }
            _ => self.to_string(),
        }
    }

    /// Whether a signal chooses among values of k.
    #[must_use]
    pub fn is_graded(&self) -> bool {
        self.ks.values().len() > 1
    }

    /// Its signal, or the first of two.
    #[must_use]
    pub fn signal(self) -> Option<Signal> {
        self.retrieve.signal().or(self.keep.signal())
    }

    /// The signal by which it decides whether to retrieve.
    #[must_use]
    pub fn searches_by(self) -> Option<Signal> {
        self.retrieve.signal()
    }

    /// The signal by which it decides whether evidence is used, measured of the evidence or once more with it.
    #[must_use]
    pub fn reviews_by(self) -> Option<Signal> {
        match self.keep {
            Rule::Settled => self.retrieve.signal(),
            rule => rule.signal(),
        }
    }

    /// The threshold above which a question retrieves or, if every question retrieves, its evidence is used.
    #[must_use]
    pub fn threshold(self) -> Option<f64> {
        match self.retrieve.signal() {
            Some(_) if self.ks.of(0).is_some_and(|least| least > 0) => None,
            Some(_) => self.retrieve.threshold(),
            None => self.keep.threshold(),
        }
    }

    /// The most search results that it names: a search has to return at least that many.
    #[must_use]
    pub fn most_k(self) -> Option<usize> {
        self.ks.values().last().copied()
    }

    /// All its signals.
    pub fn signals(self) -> impl Iterator<Item = Signal> {
        let second = self.reviews_by().filter(|one| Some(*one) != self.signal());
        let signals = self.signal().into_iter().chain(second);
        signals.chain(self.withhold.map(|(signal, _)| signal))
    }

    /// Removes the grades that no score gets: those between equal thresholds or below negative infinity.
    #[must_use]
    pub fn simplified(self) -> Self {
        let (Some(signal), Some(thresholds)) = (self.retrieve.signal(), self.retrieve.thresholds())
        else {
            return self;
        };
        let mut ks = vec![self.ks.of(0).unwrap_or_default()];
        let mut kept: Vec<f64> = Vec::new();
        for (&threshold, &k) in thresholds.iter().zip(self.ks.values().iter().skip(1)) {
            if threshold == kept.last().copied().unwrap_or(f64::NEG_INFINITY) {
                ks.pop();
            } else {
                kept.push(threshold);
            }
            ks.push(k);
        }
        match (Ks::new(&ks), self.most_k()) {
            (Ok(ks), _) => Self::graded(signal, ks).at(&kept).unwrap_or(self),
            (Err(_), Some(most)) => Self::always_k(most),
            (Err(_), None) => self,
        }
    }
}

/// `documents`, `always`, `always:K`, `never`, `oracle`, `random:P`, or a signal's name with `@` and the
/// threshold if it has one that is not the signal's own, followed by `+` and the review of the evidence; or a signal's name
/// with several values of k and the thresholds between them.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::DOCUMENTS {
            return f.write_str(DOCUMENTS);
        }
        match self.retrieve {
            Rule::Always if self.keep != Rule::Always => {}
            Rule::Always => write!(f, "always{}", self.ks)?,
            Rule::Never => f.write_str("never")?,
            Rule::Oracle => f.write_str("oracle")?,
            Rule::Chance(share) => write!(f, "random:{share}")?,
            Rule::Above { signal, .. } if self.is_graded() => {
                write!(f, "{}{}", signal.name, self.ks)?;
                let thresholds = self.retrieve.thresholds().unwrap_or_default();
                for (index, threshold) in thresholds.iter().enumerate() {
                    let sign = if index == 0 { '@' } else { ':' };
                    write!(f, "{sign}{threshold}")?;
                }
            }
            rule => write_test(f, &rule)?,
        }
        match self.keep {
            Rule::Settled => write!(f, "+{DOUBLE}"),
            Rule::Above { .. } => {
                if self.retrieve != Rule::Always {
                    f.write_str("+")?;
                }
                write_test(f, &self.keep)
            }
            _ => Ok(()),
        }
    }
}

fn write_test(f: &mut fmt::Formatter<'_>, rule: &Rule) -> fmt::Result {
    let Some(signal) = rule.signal() else {
        return Ok(());
    };
    f.write_str(signal.name)?;
    let own = signal.unnamed_threshold();
    match rule.threshold().filter(|given| own != Some(*given)) {
        Some(given) => write!(f, "@{given}"),
        None => Ok(()),
    }
}

/// Why a text is not a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum UnknownPolicy {
    #[error(
        "unknown policy `{name}`; {}",
        near(name, signals).unwrap_or_else(|| known(signals))
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

/// All names.
fn known(signals: &[&'static str]) -> String {
    let signals = signals.join(", ");
    format!(
        "known are documents, always, always:K, never, random:P, oracle, {signals}, each of the latter with @THRESHOLD"
    )
}

/// A suggestion for a mistyped name, if a known name is near.
fn near(name: &str, signals: &[&'static str]) -> Option<String> {
    let known = [DOCUMENTS, "always", "never", "random:P", "oracle"];
    let known = known.iter().chain(signals);
    let distance = |known: &&str| strsim::osa_distance(name, known);
    let nearest = known.copied().min_by_key(distance);
    nearest
        .filter(|nearest| distance(nearest) <= 2)
        .map(|nearest| format!("did you mean `{nearest}`?"))
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        match text {
            DOCUMENTS => return Ok(Self::DOCUMENTS),
            "always" => return Ok(Self::ALWAYS),
            "never" => return Ok(Self::NEVER),
            "oracle" => return Ok(Self::by(Rule::Oracle)),
            _ => {}
        }
        if let Some(share) = text.strip_prefix("random:") {
            let share = number(text, share, "a share from 0 to 1", is_share)?;
            return Ok(Self::by(Rule::Chance(share)));
        }
        if let Some(k) = text.strip_prefix("always:") {
            return Ok(Self::always_k(search_results(text, k, 1)?));
        }
        if let Some(graded) = graded(text)? {
            return Ok(graded);
        }
        let (first, review) = parted(text, '+');
        let (signal, threshold) = test(text, first)?;
        let keep = match review {
            None => return Ok(Self::above(signal, threshold)),
            Some(DOUBLE) if !signal.with_evidence => {
                return Err(UnknownPolicy::NotTwice {
                    policy: text.to_owned(),
                });
            }
            Some(DOUBLE) => Rule::Settled,
            Some(review) => {
                let (gate, threshold) = test(text, review)?;
                if !gate.weighs_evidence() || signal.weighs_evidence() {
                    return Err(UnknownPolicy::NoReview {
                        policy: text.to_owned(),
                        review: gate.name.to_owned(),
                    });
                }
                Rule::above(gate, threshold)
            }
        };
        Ok(Self {
            keep,
            ..Self::above(signal, threshold)
        })
    }
}

/// A signal by its name, with the threshold after `@`, or its own.
fn test(policy: &str, text: &str) -> Result<(Signal, Option<f64>), UnknownPolicy> {
    let (name, given) = parted(text, '@');
    let signal: Signal = name.parse().map_err(|_| UnknownPolicy::Name {
        name: policy.to_owned(),
        signals: Signal::ALL.iter().map(|signal| signal.name).collect(),
    })?;
    let given = given.map(|given| threshold(policy, signal, given));
    Ok((signal, given.transpose()?.or(signal.unnamed_threshold())))
}

/// Parses a signal with several values of k, and thresholds if there are any; `None` if a policy has another form.
fn graded(policy: &str) -> Result<Option<Policy>, UnknownPolicy> {
    let refused = |reason: String| UnknownPolicy::NotGraded {
        policy: policy.to_owned(),
        reason,
    };
    let named = Signal::ALL.iter().find_map(|signal| {
        let rest = policy.strip_prefix(signal.name)?.strip_prefix(':')?;
        rest.starts_with(|first: char| first.is_ascii_digit())
            .then_some((*signal, rest))
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
    let (ks, thresholds) = parted(rest, '@');
    let ks = ks.split(':').map(|k| search_results(policy, k, 0));
    let ks = Ks::new(&ks.collect::<Result<Vec<_>, _>>()?);
    let graded = Policy::graded(signal, ks.map_err(|error| refused(error.to_string()))?);
    let Some(thresholds) = thresholds else {
        return Ok(Some(graded));
    };
    let thresholds = thresholds
        .split(':')
        .map(|text| threshold(policy, signal, text));
    let graded = graded
        .at(&thresholds.collect::<Result<Vec<_>, _>>()?)
        .map_err(|error| refused(error.to_string()))?;
    if graded.simplified() == graded {
        Ok(Some(graded))
    } else {
        Err(refused("two of its thresholds are equal".to_owned()))
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

pub(crate) fn threshold(policy: &str, signal: Signal, text: &str) -> Result<f64, UnknownPolicy> {
    if signal.is_share {
        number(policy, text, "a threshold from 0 to 1", is_share)
    } else {
        number(policy, text, "a threshold", f64::is_finite)
    }
}

fn number(
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

/// A text up to a mark, and what follows the mark, if it is there.
pub(crate) fn parted(text: &str, mark: char) -> (&str, Option<&str>) {
    match text.split_once(mark) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn is_share(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}

//! The record of a question for signals: the steps taken, their results, and their cost.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ken_probe::Sample;
use serde::{Deserialize, Serialize};

use super::rating::Rating;

/// A step that measures something for a signal. Steps are taken in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The model says whether it needs to look the question up.
    Judge,
    /// The model's greedy answer.
    Greedy,
    /// How readily the model says instead that no passage answers.
    Refuse,
    /// Sampled answers.
    Sample,
    /// The model's hidden states after the samples.
    Inspect,
    /// The vector of the question that a router reads.
    Represent,
    /// The assessor (KBM) says whether the model masters the answer.
    AssessMastery,
    /// The assessor says whether answers agree.
    AssessCertainty,
    /// A model trained to choose its source chooses one.
    ChooseSource,
    /// How well passages fit the question.
    Rate,
    /// A trained gate weighs the evidence.
    Gate,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Step {
    /// Its name among the times of a trace.
    pub fn name(self) -> String {
        self.to_string().replace('_', " ")
    }

    /// Its cost beside the answer, in the words of the reference.
    pub(super) fn costs(self) -> &'static str {
        match self {
            Self::Judge => "one short call that reads the question",
            Self::Greedy => {
                "nothing if the greedy answer stays the answer; otherwise one answer from memory"
            }
            Self::Refuse => "reading one sentence after what is read already",
            Self::Sample => "`--samples` answers from memory (10)",
            Self::Inspect => "reading each distinct answer once",
            Self::Represent => {
                "embedding the question, nothing for a router over its words or, for one over hidden states or the first token, one call that reads it; with `--kbm`, one call to that model too"
            }
            Self::AssessMastery | Self::AssessCertainty => {
                "one call to that model, which reads the question"
            }
            Self::ChooseSource => {
                "nothing but the neighbor search: what is read to choose is not read again"
            }
            Self::Rate => "two searches, one by vectors and one by words",
            Self::Gate => "nothing",
        }
    }
}

/// Calls made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// Of the model: one for each text that it wrote and each that it judged or inspected. Calls of rerankers
    /// do not count.
    pub model: usize,
    /// Of the retriever.
    pub retriever: usize,
}

/// Tokens spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Tokens that the model read.
    pub prompt: usize,
    /// Tokens that the model wrote.
    pub completion: usize,
}

/// The cost of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Calls.
    pub calls: Calls,
    /// Tokens.
    pub tokens: Tokens,
    /// Milliseconds; the question's share of them if many were asked at once.
    pub ms: f64,
}

impl Cost {
    /// The cost of calls of the model.
    pub fn of_model(calls: usize, read: usize, written: usize, ms: f64) -> Self {
        Self {
            calls: Calls {
                model: calls,
                retriever: 0,
            },
            tokens: Tokens {
                prompt: read,
                completion: written,
            },
            ms,
        }
    }
}

/// The record of one question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    /// The probability, in `[0, 1]`, with which the model says that it must look the question up. This and other
    /// numbers are `None` if the step was not taken, or gave no number.
    pub judgment: Option<f64>,
    /// The greedy answer.
    pub greedy: Option<Sample>,
    /// The log odds, in nats, with which the model says instead that no passage answers; with evidence only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<f64>,
    /// Sampled answers.
    pub samples: Vec<Sample>,
    /// The answer type of each: those of one type have the same meaning.
    pub types: Vec<usize>,
    /// The eigenscore of the samples.
    pub eigenscore: Option<f64>,
    /// The router's prediction.
    pub routed: Option<Routed>,
    /// The assessor's verdicts.
    #[serde(default)]
    pub assessed: Verdicts,
    /// The choice of a model that was trained to choose its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<ChosenSource>,
    /// How well passages fit the question; with evidence only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<Rating>,
    /// The gate's prediction; with evidence only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated: Option<Gated>,
    /// Costs by step.
    pub costs: BTreeMap<Step, Cost>,
}

impl Measurements {
    /// The same without the outputs of routing models other than those of these fingerprints.
    #[must_use]
    pub fn by<'a>(mut self, fingerprint: impl Fn(RoutingModel) -> Option<&'a str>) -> Self {
        let other = |chosen: &mut ChosenSource| {
            chosen.datastore.as_deref() != fingerprint(RoutingModel::Datastore)
        };
        if self.chosen.take_if(other).is_some() {
            self.costs.remove(&Step::ChooseSource);
        }
        let other =
            |routed: &mut Routed| Some(routed.router.as_str()) != fingerprint(RoutingModel::Router);
        if self.routed.take_if(other).is_some() {
            self.costs.remove(&Step::Represent);
        }
        let other =
            |gated: &mut Gated| Some(gated.gate.as_str()) != fingerprint(RoutingModel::Gate);
        if self.gated.take_if(other).is_some() {
            self.costs.remove(&Step::Gate);
        }
        if Some(self.assessed.by.as_str()) != fingerprint(RoutingModel::Assessor) {
            self.assessed = Verdicts::default();
            self.costs.remove(&Step::AssessMastery);
            self.costs.remove(&Step::AssessCertainty);
        }
        self
    }
}

/// A model that was trained to route questions for the model that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutingModel {
    /// A head over the question's vector.
    Router,
    /// A model that was trained on what another knows.
    Assessor,
    /// A policy datastore, which votes on the source that a model chooses.
    Datastore,
    /// A head over numbers of the evidence.
    Gate,
}

impl RoutingModel {
    /// The setting that names it.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Assessor => "kbm",
            Self::Datastore => "datastore",
            Self::Gate => "gate",
        }
    }
}

/// The choice of a model that was trained to choose its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChosenSource {
    /// The fingerprint of the datastore that voted, if one did.
    pub datastore: Option<String>,
    /// The sum over corpora of p_M times p_D, in `[0, 1]`; `None` if it is not finite.
    pub need: Option<f64>,
    /// The corpus with the largest product.
    pub corpus: String,
}

/// A router's prediction for a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Routed {
    /// The router's fingerprint.
    pub router: String,
    /// The probability that the model does not answer right from memory; `None` if the router gave no number.
    pub need: Option<f64>,
}

/// A gate's prediction for the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gated {
    /// The gate's fingerprint.
    pub gate: String,
    /// Half of 1 plus the exact match that the evidence is expected to add, in `[0, 1]`; `None` if one of
    /// the gate's inputs is missing.
    pub worth: Option<f64>,
    /// Whether the gate reads the answer with the evidence.
    pub reads_answer: bool,
}

/// An assessor's predictions for a question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdicts {
    /// The assessor's fingerprint.
    pub by: String,
    /// The probability that the answer is not mastered.
    pub not_mastered: Option<f64>,
    /// The probability that answers do not agree.
    pub not_certain: Option<f64>,
}

/// The milliseconds of one of `questions` that were worked on together: an equal share, whatever its length.
pub fn share(time: Duration, questions: usize) -> f64 {
    time.as_secs_f64() * 1000.0 / questions.max(1) as f64
}

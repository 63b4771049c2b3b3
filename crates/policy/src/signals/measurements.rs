//! What is recorded of a question for signals: what the model was asked, what came of it, and what that
//! cost.

use std::collections::BTreeMap;
use std::time::Duration;

use ken_probe::Sample;
use serde::{Deserialize, Serialize};

use super::rating::Rating;

/// What is asked of the model for a signal. Steps are taken in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Whether it needs to look the question up.
    Judge,
    /// Its greedy answer.
    Greedy,
    /// Sampled answers.
    Sample,
    /// Its hidden states after the samples.
    Inspect,
    /// The vector of the question that a router takes.
    Represent,
    /// Whether the answer is mastered, asked of a model that was trained on that.
    AssessMastery,
    /// Whether answers agree, asked of the same.
    AssessCertainty,
    /// Which source a model takes that was trained to choose.
    ChooseSource,
    /// How well passages fit the question.
    Rate,
    /// What a trained gate makes of the evidence.
    Gate,
}

impl Step {
    /// As the step is called among the times of a trace.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Greedy => "greedy",
            Self::Sample => "sample",
            Self::Inspect => "inspect",
            Self::Represent => "represent",
            Self::AssessMastery => "assess mastery",
            Self::AssessCertainty => "assess certainty",
            Self::ChooseSource => "choose source",
            Self::Rate => "rate",
            Self::Gate => "gate",
        }
    }

    /// What it costs beside the answer, as the reference says it.
    pub(super) fn costs(self) -> &'static str {
        match self {
            Self::Judge => "one short call that reads the question",
            Self::Greedy => {
                "nothing if the greedy answer stays the answer; otherwise one answer from memory"
            }
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
    /// Of the model: one for each text that it wrote and each that it judged or inspected. What
    /// rerankers ask is not counted.
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

/// What a step costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Calls.
    pub calls: Calls,
    /// Tokens.
    pub tokens: Tokens,
    /// Milliseconds; the question's share where many were asked at once.
    pub ms: f64,
}

impl Cost {
    /// What calls of the model cost.
    #[must_use]
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

/// What was recorded of one question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    /// Probability in `[0, 1]` with which the model says that it must look the question up. Of this and others:
    /// `None` where the step was not taken, or gave no number.
    pub judgment: Option<f64>,
    /// The greedy answer.
    pub greedy: Option<Sample>,
    /// Sampled answers.
    pub samples: Vec<Sample>,
    /// The answer type of each: those of one type say the same.
    pub types: Vec<usize>,
    /// The eigenscore of the samples.
    pub eigenscore: Option<f64>,
    /// The router's prediction.
    pub routed: Option<Routed>,
    /// The assessor's verdicts.
    #[serde(default)]
    pub assessed: Verdicts,
    /// What a model chose that was trained to.
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
    #[must_use]
    pub fn setting(self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Assessor => "kbm",
            Self::Datastore => "datastore",
            Self::Gate => "gate",
        }
    }
}

/// What a model chose that was trained to choose its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChosenSource {
    /// The fingerprint of the datastore that voted, where there is one.
    pub datastore: Option<String>,
    /// The sum over corpora of p_M times p_D, in `[0, 1]`; `None` where that is no number.
    pub need: Option<f64>,
    /// The corpus with the largest product.
    pub corpus: String,
}

/// A router's prediction for a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Routed {
    /// The router's fingerprint.
    pub router: String,
    /// The probability that the model does not answer right from memory; `None` where it cannot be told.
    pub need: Option<f64>,
}

/// What a gate predicts of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gated {
    /// The gate's fingerprint.
    pub gate: String,
    /// Half of 1 plus the exact match that the evidence is expected to add, in `[0, 1]`; `None` where a number that
    /// it is predicted from cannot be told.
    pub worth: Option<f64>,
    /// Whether the gate reads the answer with the evidence.
    pub reads_answer: bool,
}

/// What an assessor predicts of a question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdicts {
    /// The assessor's fingerprint.
    pub by: String,
    /// The probability that the answer is not mastered.
    pub not_mastered: Option<f64>,
    /// The probability that answers do not agree.
    pub not_certain: Option<f64>,
}

/// The milliseconds of one of `questions` that were worked on together: each has the same share, long
/// or short.
#[must_use]
pub fn share(time: Duration, questions: usize) -> f64 {
    time.as_secs_f64() * 1000.0 / questions.max(1) as f64
}

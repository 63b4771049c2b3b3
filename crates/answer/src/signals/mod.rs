//! The signals that policies decide by. Each is defined once, below: its name, what it measures, in
//! which steps the model is asked for that, what it needs of the model, and how the number follows
//! from what was recorded. Help, reference, errors and reports read these definitions. The choice that
//! follows from the number is in `ken_route`.

mod measurements;
mod measuring;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use ken_diagnostic::{Remedy, remedy};
use ken_probe::{certainty, lexical_similarity, perplexity, semantic_entropy};
use ken_route::Score;

pub use measurements::{
    ChosenSource, Cost, Measurements, RoutingModel, RoutingModels, Step, Verdicts, share,
};
pub(crate) use measuring::Measuring;
pub use measuring::{draw_answers, inspect_answers, judge};

/// A signal, which is what its definition says.
#[derive(Clone, Copy)]
pub struct Signal(&'static Definition);

/// How a signal is defined.
pub struct Definition {
    /// Its name, which is that of its policy.
    pub name: &'static str,
    /// What it measures, as the reference says it.
    pub measures: &'static str,
    /// What a reason calls it.
    pub subject: &'static str,
    /// What the model is asked for it, and so what it costs.
    pub steps: &'static [Step],
    /// What it needs of the model, as the reference says it.
    pub needs: &'static str,
    /// The routing model that it comes from, where there is one.
    pub told_by: Option<RoutingModel>,
    /// Whether it can be measured again with evidence.
    pub with_evidence: bool,
    /// Whether it lies in `[0, 1]`.
    pub is_share: bool,
    /// The threshold of its policy where nobody gives one.
    pub threshold: Option<f64>,
    /// How what was recorded moves with the need for retrieval.
    direction: Direction,
    /// The number in what was recorded; `None` where it is not there.
    recorded: fn(&Measurements) -> Option<f64>,
}

/// How a number moves with the need for retrieval.
enum Direction {
    /// The more retrieval is needed, the larger it is.
    Rises,
    /// The more retrieval is needed, the smaller it is: 1 minus the number is the signal.
    Falls,
}

/// Most signals: how uncertain the model is, by its own answers.
const UNCERTAINTY: Definition = Definition {
    name: "",
    measures: "",
    subject: "the model's uncertainty",
    steps: &[],
    needs: "answers",
    told_by: None,
    with_evidence: true,
    is_share: false,
    threshold: None,
    direction: Direction::Rises,
    recorded: |_| None,
};

/// Signals that a model was trained to predict: probabilities.
const TRAINED: Definition = Definition {
    is_share: true,
    ..UNCERTAINTY
};

/// Makes of each definition a constant, and of all of them a list.
macro_rules! signals {
    ($($constant:ident: $name:literal $measures:literal { $($field:tt)* })*) => {
        impl Signal {
            $(
                #[doc = concat!("`", $name, "`: ", $measures, ".")]
                pub const $constant: Self = Self(&Definition {
                    name: $name,
                    measures: $measures,
                    $($field)*
                });
            )*

            /// Every signal.
            pub const ALL: &'static [Self] = &[$(Self::$constant),*];
        }
    };
}

signals! {
    JUDGMENT: "prompt"
    "the probability with which the model, asked whether it needs to look the question up, says yes" {
        subject: "the model's need to look this up",
        steps: &[Step::Judge],
        needs: "scores",
        with_evidence: false,
        is_share: true,
        // More likely yes than no.
        threshold: Some(0.5),
        recorded: |measured| measured.judgment,
        ..UNCERTAINTY
    }
    CERTAINTY: "certainty"
    "1 minus the certainty of sampled answers (KBM, Eq. 1)" {
        steps: &[Step::Sample],
        is_share: true,
        direction: Direction::Falls,
        recorded: |measured| certainty(&measured.types),
        ..UNCERTAINTY
    }
    PERPLEXITY: "uncertainty:perplexity"
    "e to the negative mean log probability of the greedy answer's tokens, including its end; infinite for an empty answer whose log probabilities the model does not report" {
        steps: &[Step::Draft],
        needs: "log probabilities",
        recorded: |measured| perplexity(measured.draft.as_ref()?),
        ..UNCERTAINTY
    }
    MEAN_TOKEN_ENTROPY: "uncertainty:mean-token-entropy"
    "the mean entropy of the distributions that the greedy answer's tokens were chosen from" {
        steps: &[Step::Draft],
        needs: "entropies: on this machine",
        recorded: |measured| Some(measured.draft.as_ref()?.entropy?.mean),
        ..UNCERTAINTY
    }
    MAX_TOKEN_ENTROPY: "uncertainty:max-token-entropy"
    "the maximum of these entropies" {
        steps: &[Step::Draft],
        needs: "entropies: on this machine",
        recorded: |measured| Some(measured.draft.as_ref()?.entropy?.max),
        ..UNCERTAINTY
    }
    MARGIN: "uncertainty:margin"
    "1 minus the gap between the probabilities of the most and the second most likely token, averaged over the greedy answer's first 20 tokens (TARG, Wang and others 2025)" {
        steps: &[Step::Draft],
        needs: "the two most likely tokens",
        is_share: true,
        direction: Direction::Falls,
        // An answer without probabilities is as uncertain as can be.
        recorded: |measured| {
            let answer = measured.draft.as_ref()?;
            answer.margin.or((answer.tokens == 0).then_some(0.0))
        },
        ..UNCERTAINTY
    }
    SEMANTIC_ENTROPY: "uncertainty:semantic-entropy"
    "the entropy over sampled answers, grouped by meaning (Farquhar and others 2024)" {
        steps: &[Step::Sample],
        recorded: |measured| semantic_entropy(&measured.samples, &measured.types),
        ..UNCERTAINTY
    }
    LEXICAL_SIMILARITY: "uncertainty:lexical-similarity"
    "1 minus the mean pairwise ROUGE-L of sampled answers (Fomicheva and others 2020)" {
        steps: &[Step::Sample],
        is_share: true,
        direction: Direction::Falls,
        recorded: |measured| {
            let texts = measured.samples.iter().map(|sample| sample.text.as_str());
            lexical_similarity(&texts.collect::<Vec<_>>())
        },
        ..UNCERTAINTY
    }
    EIGENSCORE: "uncertainty:eigenscore"
    "the spread of sampled answers in the model's hidden states (Chen and others 2024)" {
        steps: &[Step::Sample, Step::Inspect],
        needs: "hidden states: on this machine",
        recorded: |measured| measured.eigenscore,
        ..UNCERTAINTY
    }
    ROUTER: "router"
    "the probability, predicted by the head in `--router`, that the model does not answer right from memory (Zero-RAG, section 3.2)" {
        subject: "the need to look this up that the router predicts",
        steps: &[Step::Represent],
        needs: "what the head reads",
        told_by: Some(RoutingModel::Router),
        with_evidence: false,
        recorded: |measured| Some(measured.routed.as_ref()?.need),
        ..TRAINED
    }
    MASTERY: "kbm"
    "the probability with which the `--kbm` model, trained on what the language model knows, says that the answer is not mastered (KBM, section 4.1)" {
        steps: &[Step::AssessMastery],
        needs: "nothing",
        told_by: Some(RoutingModel::Assessor),
        recorded: |measured| measured.assessed.mastery,
        ..TRAINED
    }
    CERTITUDE: "kbm:certainty"
    "the same, that sampled answers do not agree" {
        steps: &[Step::AssessCertainty],
        needs: "nothing",
        told_by: Some(RoutingModel::Assessor),
        recorded: |measured| measured.assessed.certainty,
        ..TRAINED
    }
    SELF_ROUTE: "self-route"
    "the probability with which a model trained to choose its source chooses a corpus, times that corpus's share of the nearest entries in `--datastore` (SR-RAG, Eq. 7)" {
        subject: "the share of the corpus in the model's choice",
        steps: &[Step::ChooseSource],
        needs: "training to choose",
        told_by: Some(RoutingModel::Datastore),
        with_evidence: false,
        // That of SR-RAG (section 4.1, for two of its three models).
        threshold: Some(0.2),
        recorded: |measured| Some(measured.chosen.as_ref()?.need),
        ..TRAINED
    }
}

impl Signal {
    /// The number: the larger, the more the question needs retrieval. `None` where it was not recorded
    /// or the model does not report what it needs.
    #[must_use]
    pub fn of(self, measured: &Measurements) -> Option<f64> {
        let number = (self.recorded)(measured)?;
        Some(match self.direction {
            Direction::Rises => number,
            Direction::Falls => 1.0 - number,
        })
    }

    /// What it costs beside the answer, as the reference says it.
    #[must_use]
    pub fn costs(self) -> String {
        let steps: Vec<&str> = self.steps.iter().map(|step| step.costs()).collect();
        steps.join(", plus ")
    }

    /// Whether it is measured on sampled answers.
    #[must_use]
    pub fn is_of_samples(self) -> bool {
        self.steps.contains(&Step::Sample)
    }

    /// The names of all signals, for help.
    #[must_use]
    pub fn names() -> String {
        let names: Vec<&str> = Self::ALL.iter().map(|signal| signal.name).collect();
        names.join(", ")
    }
}

impl Score for Signal {
    fn all() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied()
    }

    fn name(self) -> &'static str {
        self.name
    }

    fn subject(self) -> &'static str {
        self.subject
    }

    fn threshold(self) -> Option<f64> {
        self.threshold
    }

    fn is_share(self) -> bool {
        self.is_share
    }

    fn takes_evidence(self) -> bool {
        self.with_evidence
    }

    fn remedy(self) -> Remedy {
        match self.told_by {
            Some(RoutingModel::Router) => remedy!("name a router by <router> FILE"),
            Some(RoutingModel::Datastore) => {
                remedy!("name a model that was trained by <TrainSelfRoute>")
            }
            Some(RoutingModel::Assessor) | None => {
                "use `certainty`, which needs no more than the answers, or a model on this machine"
                    .into()
            }
        }
    }
}

impl Deref for Signal {
    type Target = Definition;

    fn deref(&self) -> &Definition {
        self.0
    }
}

impl PartialEq for Signal {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Signal {}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A name that no signal has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown signal `{name}` ({} are known)", Signal::names())]
pub struct UnknownSignal {
    /// The name given.
    pub name: String,
}

impl FromStr for Signal {
    type Err = UnknownSignal;

    fn from_str(name: &str) -> Result<Self, UnknownSignal> {
        let known = Self::ALL.iter().find(|signal| signal.name == name);
        known.copied().ok_or_else(|| UnknownSignal {
            name: name.to_owned(),
        })
    }
}

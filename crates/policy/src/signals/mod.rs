//! The signals that policies decide by. Each is defined once, below: its name, what it measures, in which steps, what it
//! needs of the model, and how its number follows from the record of a question. Help, reference, errors and reports
//! read these definitions.

mod measurements;
mod rating;
mod readings;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use ken_diagnostic::{Remedy, remedy};
use ken_language::Capabilities;
use ken_probe::{
    Sample, certainty, lexical_similarity, perplexity, semantic_entropy, sequence_surprisal,
};

use crate::Reading;
pub use measurements::{
    Calls, ChosenSource, Cost, Gated, Measurements, Routed, RoutingModel, Step, Tokens, Verdicts,
    share,
};
pub use rating::Rating;
pub use readings::confidence;
use readings::{
    assurance, doubt_by_refusal, of_greedy, of_rating, of_routing_model, of_samples, of_step,
};

/// A signal, by its definition. Most are of the question; those of the evidence weigh the passages retrieved for it.
#[derive(Clone, Copy)]
pub struct Signal(&'static Definition);

/// How a signal is defined.
pub struct Definition {
    /// Its name, which is also that of its policy.
    pub name: &'static str,
    /// What it measures, in the words of the reference.
    pub measures: &'static str,
    /// Its name in a reason.
    pub subject: &'static str,
    /// The steps taken for it before there is evidence, which are its cost.
    pub steps: &'static [Step],
    /// The steps taken with the evidence for it; none for signals of the question.
    pub steps_of_evidence: &'static [Step],
    /// What it needs of the model, in the words of the reference.
    pub needs: &'static str,
    /// The routing model that predicts it, if one does.
    pub told_by: Option<RoutingModel>,
    /// Whether it can be measured again with evidence.
    pub with_evidence: bool,
    /// Whether it lies in `[0, 1]`.
    pub is_share: bool,
    /// The threshold of its policy if the policy's name gives none.
    pub threshold: Option<f64>,
    /// Whether its routing model may record another threshold than that.
    pub is_recorded: bool,
    /// How the recorded number moves with the need for retrieval.
    direction: Direction,
    /// Its reading from the record of a question.
    recorded: fn(&Measurements) -> Reading,
    /// For signals of the evidence, the reading from the records without and with it.
    weighed: Option<fn(&Measurements, &Measurements) -> Reading>,
}

/// How a number moves with the need for retrieval.
enum Direction {
    /// The more retrieval is needed, the larger it is.
    Rises,
    /// The more retrieval is needed, the smaller it is: 1 minus the number is the signal.
    Falls,
}

/// Defaults of most signals: how uncertain the model is, by its own answers.
const UNCERTAINTY: Definition = Definition {
    name: "",
    measures: "",
    subject: "the model's uncertainty",
    steps: &[],
    steps_of_evidence: &[],
    needs: "answers",
    told_by: None,
    with_evidence: true,
    is_share: false,
    threshold: None,
    is_recorded: false,
    direction: Direction::Rises,
    recorded: |_| Reading::NotMeasured,
    weighed: None,
};

/// Defaults of signals of the evidence: whether it is worth using. They are never measured before there is any.
const EVIDENCE: Definition = Definition {
    subject: "the worth of the evidence",
    steps_of_evidence: &[Step::Rate],
    needs: "nothing",
    with_evidence: false,
    ..UNCERTAINTY
};

/// The need of signals that read the log probabilities of a greedy answer.
const LOG_PROBABILITIES: &str = "log probabilities";

/// Defaults of signals that a model was trained to predict: probabilities.
const TRAINED: Definition = Definition {
    is_share: true,
    ..UNCERTAINTY
};

/// Makes each definition a constant, and lists them all.
macro_rules! signals {
    ($($constant:ident: $base:ident, $name:literal $measures:literal { $($field:tt)* })*) => {
        impl Signal {
            $(
                #[doc = concat!("`", $name, "`: ", $measures, ".")]
                pub const $constant: Self = Self(&Definition {
                    name: $name,
                    measures: $measures,
                    $($field)*
                    ..$base
                });
            )*

            /// Every signal.
            pub const ALL: &'static [Self] = &[$(Self::$constant),*];
        }
    };
}

signals! {
    JUDGMENT: UNCERTAINTY, "prompt"
    "the probability with which the model, asked whether it needs to look the question up, says yes" {
        subject: "the model's need to look this up",
        steps: &[Step::Judge],
        needs: "scores",
        with_evidence: false,
        is_share: true,
        // More likely yes than no.
        threshold: Some(0.5),
        recorded: |measured| of_step(measured, Step::Judge, measured.judgment),
    }
    CERTAINTY: UNCERTAINTY, "certainty"
    "1 minus the certainty of sampled answers (KBM, Eq. 1)" {
        subject: "the disagreement of sampled answers",
        steps: &[Step::Sample],
        is_share: true,
        direction: Direction::Falls,
        recorded: |measured| of_samples(measured, |_, types| certainty(types).into()),
    }
    PERPLEXITY: UNCERTAINTY, "uncertainty:perplexity"
    "e to the negative mean log probability of the greedy answer's tokens, including its end" {
        subject: "the perplexity",
        steps: &[Step::Greedy],
        needs: LOG_PROBABILITIES,
        recorded: |measured| of_greedy(measured, Sample::says_something, perplexity),
    }
    SEQUENCE_PROBABILITY: UNCERTAINTY, "uncertainty:sequence-probability"
    "the negative log probability of the greedy answer as a whole, including its end (maximum sequence probability)" {
        subject: "the negative log probability",
        steps: &[Step::Greedy],
        needs: LOG_PROBABILITIES,
        // An answer that was cut off has no end.
        recorded: |measured| of_greedy(measured, Sample::is_answer, sequence_surprisal),
    }
    MEAN_TOKEN_ENTROPY: UNCERTAINTY, "uncertainty:mean-token-entropy"
    "the mean entropy of the distributions that the greedy answer's tokens were chosen from" {
        steps: &[Step::Greedy],
        needs: "entropies: on this machine",
        recorded: |measured| {
            of_greedy(measured, Sample::says_something, |answer| Some(answer.entropy?.mean))
        },
    }
    MAX_TOKEN_ENTROPY: UNCERTAINTY, "uncertainty:max-token-entropy"
    "the maximum of these entropies" {
        steps: &[Step::Greedy],
        needs: "entropies: on this machine",
        recorded: |measured| {
            of_greedy(measured, Sample::says_something, |answer| Some(answer.entropy?.max))
        },
    }
    MARGIN: UNCERTAINTY, "uncertainty:margin"
    "1 minus the gap between the probabilities of the most and the second most likely token, averaged over the greedy answer's first 20 tokens (TARG, Wang and others 2025)" {
        steps: &[Step::Greedy],
        needs: "the two most likely tokens",
        is_share: true,
        direction: Direction::Falls,
        recorded: |measured| of_greedy(measured, Sample::says_something, |answer| answer.margin),
    }
    SEMANTIC_ENTROPY: UNCERTAINTY, "uncertainty:semantic-entropy"
    "the entropy over sampled answers, grouped by meaning (Farquhar and others 2024)" {
        subject: "the semantic entropy",
        steps: &[Step::Sample],
        recorded: |measured| {
            of_samples(measured, |answers, types| semantic_entropy(answers, types).into())
        },
    }
    LEXICAL_SIMILARITY: UNCERTAINTY, "uncertainty:lexical-similarity"
    "1 minus the mean pairwise ROUGE-L of sampled answers (Fomicheva and others 2020)" {
        steps: &[Step::Sample],
        is_share: true,
        direction: Direction::Falls,
        recorded: |measured| {
            of_samples(measured, |answers, _| {
                let texts = answers.iter().map(|answer| answer.text.as_str());
                lexical_similarity(&texts.collect::<Vec<_>>()).into()
            })
        },
    }
    EIGENSCORE: UNCERTAINTY, "uncertainty:eigenscore"
    "the spread of sampled answers in the model's hidden states (Chen and others 2024)" {
        subject: "the eigenscore",
        steps: &[Step::Sample, Step::Inspect],
        needs: "hidden states: on this machine",
        recorded: |measured| {
            of_samples(measured, |_, _| of_step(measured, Step::Inspect, measured.eigenscore))
        },
    }
    ROUTER: TRAINED, "router"
    "the probability, predicted by the head in `--router`, that the model does not answer right from memory (Zero-RAG, section 3.2)" {
        subject: "the need to look this up that the router predicts",
        steps: &[Step::Represent],
        needs: "what the head reads",
        told_by: Some(RoutingModel::Router),
        with_evidence: false,
        recorded: |measured| of_routing_model(measured.routed.as_ref().map(|routed| routed.need)),
    }
    MASTERY: TRAINED, "kbm"
    "the probability with which the `--kbm` model, trained on what the language model knows, says that the answer is not mastered (KBM, section 4.1)" {
        steps: &[Step::AssessMastery],
        needs: "nothing",
        told_by: Some(RoutingModel::Assessor),
        recorded: |measured| {
            of_step(measured, Step::AssessMastery, measured.assessed.not_mastered)
        },
    }
    CERTITUDE: TRAINED, "kbm:certainty"
    "the same, that sampled answers do not agree" {
        steps: &[Step::AssessCertainty],
        needs: "nothing",
        told_by: Some(RoutingModel::Assessor),
        recorded: |measured| {
            of_step(measured, Step::AssessCertainty, measured.assessed.not_certain)
        },
    }
    SELF_ROUTE: TRAINED, "self-route"
    "the probability with which a model trained to choose its source chooses a corpus, times that corpus's share of the nearest entries in `--datastore` (SR-RAG, Eq. 7)" {
        subject: "the share of the corpus in the model's choice",
        steps: &[Step::ChooseSource],
        needs: "training to choose",
        told_by: Some(RoutingModel::Datastore),
        with_evidence: false,
        // The threshold of SR-RAG (section 4.1, for two of its three models).
        threshold: Some(0.2),
        is_recorded: true,
        recorded: |measured| of_routing_model(measured.chosen.as_ref().map(|chosen| chosen.need)),
    }
    EVIDENCE_COSINE: EVIDENCE, "evidence:cosine"
    "the cosine of the question and the passage most similar to it" {
        subject: "the similarity of the best passage",
        weighed: Some(|_, with| of_rating(with, |rating| rating.cosine)),
    }
    EVIDENCE_LEAD: EVIDENCE, "evidence:lead"
    "how much larger that cosine is than the next passage's" {
        subject: "the lead of the best passage",
        weighed: Some(|_, with| of_rating(with, |rating| rating.lead)),
    }
    EVIDENCE_BM25: EVIDENCE, "evidence:bm25"
    "the largest BM25 score of a passage" {
        subject: "the BM25 score of the best passage",
        weighed: Some(|_, with| of_rating(with, |rating| rating.bm25)),
    }
    EVIDENCE_AGREEMENT: EVIDENCE, "evidence:agreement"
    "the share of the ten most similar passages that are among the ten best by words" {
        subject: "the agreement of both searches",
        is_share: true,
        weighed: Some(|_, with| of_rating(with, |rating| rating.agreement)),
    }
    EVIDENCE_CONFIDENCE: EVIDENCE, "evidence:confidence"
    "the mean log probability of the tokens of the greedy answer with the evidence" {
        subject: "the model's confidence with the evidence",
        steps_of_evidence: &[Step::Greedy],
        needs: LOG_PROBABILITIES,
        weighed: Some(|_, with| confidence(with)),
    }
    EVIDENCE_GAIN: EVIDENCE, "evidence:gain"
    "how much larger that is than the same of the greedy answer from memory" {
        subject: "the model's gain in confidence",
        steps: &[Step::Greedy],
        steps_of_evidence: &[Step::Greedy],
        needs: LOG_PROBABILITIES,
        weighed: Some(|without, with| confidence(with).with(confidence(without), |with, without| with - without)),
    }
    EVIDENCE_ASSURANCE: EVIDENCE, "evidence:assurance"
    "the mean log probability of the first eight tokens of the greedy answer with the evidence, less three times the lead of those of the greedy answer from memory where they are more likely" {
        subject: "the model's assurance with the evidence",
        steps: &[Step::Greedy],
        steps_of_evidence: &[Step::Greedy],
        needs: LOG_PROBABILITIES,
        weighed: Some(assurance),
    }
    EVIDENCE_STATED: EVIDENCE, "evidence:stated"
    "that, less a tenth of what the log odds of saying that no passage answers are above -3; these of full answers, by models that score given texts" {
        subject: "the model's assurance that the evidence states it",
        steps: &[Step::Greedy],
        steps_of_evidence: &[Step::Greedy, Step::Refuse],
        needs: LOG_PROBABILITIES,
        weighed: Some(|without, with| {
            assurance(without, with).map(|assurance| assurance - with.refusal.map_or(0.0, doubt_by_refusal))
        }),
    }
    EVIDENCE_DOUBT: EVIDENCE, "evidence:doubt"
    "the cosine of the question and the passage most similar to it, less the mean log probability of the tokens of the greedy answer from memory" {
        subject: "the similarity of the best passage and the doubt in the answer from memory",
        steps: &[Step::Greedy],
        needs: LOG_PROBABILITIES,
        weighed: Some(|without, with| {
            let cosine = of_rating(with, |rating| rating.cosine);
            cosine.with(confidence(without), |cosine, sure| cosine - sure)
        }),
    }
    EVIDENCE_GATE: EVIDENCE, "evidence:gate"
    "half of 1 plus the exact match that the evidence adds, predicted by the head in `--gate` from the numbers above" {
        subject: "the worth of the evidence that the gate predicts",
        steps: &[Step::Greedy],
        steps_of_evidence: &[Step::Rate, Step::Gate],
        needs: "what the head reads",
        told_by: Some(RoutingModel::Gate),
        is_share: true,
        // The evidence adds as much as it takes.
        threshold: Some(0.5),
        weighed: Some(|_, with| of_routing_model(with.gated.as_ref().map(|gated| gated.worth))),
    }
}

impl Signal {
    /// Its reading for a question: the larger, the more the question needs retrieval.
    pub fn of(self, measured: &Measurements) -> Reading {
        (self.recorded)(measured).map(|number| match self.direction {
            Direction::Rises => number,
            Direction::Falls => 1.0 - number,
        })
    }

    /// Its reading for the evidence: the larger, the more that is worth using. Signals of the question have none.
    pub fn weigh(self, without: &Measurements, with: &Measurements) -> Reading {
        self.weighed
            .map_or(Reading::NotMeasured, |weighed| weighed(without, with))
    }

    /// A reading with a model that reports numbers of its greedy answers: if those of one answer are missing, a signal
    /// that reads them cannot tell. With a model that never reports any, that is an error.
    pub fn where_reported(self, reading: Reading) -> Reading {
        let mut steps = self.steps.iter().chain(self.steps_of_evidence);
        match reading {
            Reading::NotMeasured if steps.any(|step| *step == Step::Greedy) => Reading::CannotTell,
            reading => reading,
        }
    }

    /// Whether a model with these capabilities reports the numbers that the signal needs.
    pub fn is_reported_by(self, model: Capabilities) -> bool {
        match self.needs == LOG_PROBABILITIES {
            true => model.logprobs,
            // Only models on this machine report all of them, and those expose their hidden states.
            false => model.hidden_layers.is_some(),
        }
    }

    /// Its reading when it reviews evidence: that for the evidence, or that for the question, measured with it.
    pub fn review(self, without: &Measurements, with: &Measurements) -> Reading {
        match self.weighed {
            Some(weighed) => weighed(without, with),
            None => self.of(with),
        }
    }

    /// The steps taken with the evidence when it reviews that. A gate that reads the answer has the model write it first:
    /// see [`Signal::taken_in_review`].
    pub fn steps_of_review(self) -> &'static [Step] {
        match self.weighed {
            Some(_) => self.steps_of_evidence,
            None => self.steps,
        }
    }

    /// The steps of a review that were taken for one question.
    pub fn taken_in_review(self, with: &Measurements) -> Vec<Step> {
        let mut steps = self.steps_of_review().to_vec();
        let reads_answer = with.gated.as_ref().is_some_and(|gated| gated.reads_answer);
        if steps.contains(&Step::Gate) && reads_answer {
            steps.insert(0, Step::Greedy);
        }
        steps
    }

    /// Its cost beside the answer, in the words of the reference.
    pub fn costs(self) -> String {
        let before = self.steps.iter().map(|step| step.costs());
        let of_evidence = self.steps_of_evidence.iter().filter_map(|step| match step {
            // The gate only computes.
            Step::Gate => None,
            Step::Greedy => Some(
                "nothing if the greedy answer with the evidence stays the answer; otherwise that answer",
            ),
            step => Some(step.costs()),
        });
        let steps: Vec<&str> = before.chain(of_evidence).collect();
        steps.join(", plus ")
    }

    /// Whether it is measured on sampled answers.
    pub fn is_of_samples(self) -> bool {
        self.steps.contains(&Step::Sample)
    }

    /// Whether it reads the [opening](Sample::opening) of greedy answers.
    pub fn reads_opening(self) -> bool {
        [Self::EVIDENCE_ASSURANCE, Self::EVIDENCE_STATED].contains(&self)
    }

    /// The threshold of its policy if the name gives none; `None` if the routing model may record one, which is looked up
    /// first.
    pub(crate) fn unnamed_threshold(self) -> Option<f64> {
        self.threshold.filter(|_| !self.is_recorded)
    }

    /// Whether it is a signal of the evidence: the larger, the more the evidence is worth using.
    pub fn weighs_evidence(self) -> bool {
        self.weighed.is_some()
    }

    /// The remedy if it is missing.
    pub(crate) fn remedy(self) -> Remedy {
        match self.told_by {
            Some(RoutingModel::Router) => remedy!("name a router by <router> FILE"),
            Some(RoutingModel::Datastore) => {
                remedy!("name a model that was trained by <TrainSelfRoute>")
            }
            Some(RoutingModel::Gate) => {
                remedy!("name a gate by <gate> FILE; <TrainGate> makes one")
            }
            Some(RoutingModel::Assessor) | None => {
                "use `certainty`, which needs no more than the answers, or a model on this machine"
                    .into()
            }
        }
    }

    /// The names of all signals, for help.
    pub fn names() -> String {
        let names: Vec<&str> = Self::ALL.iter().map(|signal| signal.name).collect();
        names.join(", ")
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

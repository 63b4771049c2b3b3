//! Whether the model knows the answer to a question, by a policy: no search, and no answer.

use ken_policy::{Measurements, Policy, Signal, Source};
use serde::Serialize;

use crate::error::AnswerError;
use crate::pipeline::Pipeline;
use crate::prompt::QuestionPrompt;

/// A policy's judgment of a question without evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Known {
    /// The policy that judged.
    pub policy: String,
    /// Its signal: the larger, the more the question needs retrieval; `None` if it cannot tell.
    pub score: Option<f64>,
    /// The score above which the question retrieves.
    pub threshold: f64,
    /// The probability that the model answers right from memory, if the policy predicts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Whether the policy retrieves for it.
    pub retrieves: bool,
    /// Why it does or does not.
    pub reason: String,
    /// What the signal measures.
    pub measures: &'static str,
    /// The tokens that measuring read and wrote.
    pub tokens: [usize; 2],
}

impl Pipeline {
    /// Judges what the model knows of a question by a policy that measures something of it, or by the one that
    /// [`Pipeline::judging`] names.
    ///
    /// # Errors
    /// An empty question, a policy that measures nothing without evidence, a model that fails.
    pub fn knows<'q>(
        &self,
        question: impl Into<QuestionPrompt<'q>>,
        policy: Policy,
    ) -> Result<Known, AnswerError> {
        let question = question.into().trimmed();
        if question.question.is_empty() {
            return Err(AnswerError::EmptyQuestion);
        }
        let policy = self.resolved(policy);
        let signal = policy
            .signal()
            .ok_or_else(|| AnswerError::MeasuresNothing {
                policy: policy.to_string(),
            })?;
        let fresh = vec![Measurements::default()];
        let measured = self.measure(&[signal], &[question], fresh)?;
        let measured = measured.into_iter().next().unwrap_or_default();
        let reading = self.reading(signal, signal.of(&measured));
        let score = reading.number();
        let choice = policy.choose(reading)?;
        let tokens = measured.costs.values().map(|cost| cost.tokens);
        let sum = tokens.fold([0, 0], |[prompt, completion], step| {
            [prompt + step.prompt, completion + step.completion]
        });
        Ok(Known {
            policy: policy.to_string(),
            score,
            threshold: policy.threshold().unwrap_or_default(),
            probability: score.filter(|_| predicts(signal)).map(|score| 1.0 - score),
            retrieves: choice.source == Source::Corpus,
            reason: choice.reason,
            measures: signal.measures,
            tokens: sum,
        })
    }

    /// The policy that judges questions if the caller names none: that of the settings if it has a signal, else that of the
    /// best predictor.
    pub fn judging(&self) -> Policy {
        let set = self.settings.policy;
        match set.signal() {
            Some(_) => set,
            None if self.routing.router.is_some() => Policy::measured(Signal::ROUTER),
            None if self.routing.assessor.is_some() => Policy::measured(Signal::MASTERY),
            None => Policy::measured(Signal::JUDGMENT),
        }
    }
}

/// Whether a signal is the probability that the model does not answer right from memory.
fn predicts(signal: Signal) -> bool {
    signal == Signal::ROUTER || signal == Signal::MASTERY
}

//! The policy's part of the pipeline: measuring before a source is chosen, and judging again with
//! the evidence.

use std::ops::ControlFlow;

use ken_language::{Prompt, Sampling};
use ken_probe::{SampleOptions, seed_of};
use ken_route::Source;

use crate::Policy;
use crate::answer::Retrieved;
use crate::draft::Draft;
use crate::error::AnswerError;
use crate::pipeline::{Event, Pipeline};
use crate::prompt::{self, QuestionPrompt};
use crate::retrieve::Retriever;
use crate::signals::{Measurements, Measuring, Signal};
use crate::style::Style;

/// How many answers a policy samples by default: more are more precise, and cost more.
pub const SAMPLES: usize = 10;

/// The temperature that leaves the model's distribution as it is.
const AS_IT_IS: f32 = 1.0;

impl Pipeline {
    /// Measures of every question what the signals need beyond what was measured `before`: with the
    /// evidence given, of which the passages count that are marked as in the prompt, or without any.
    ///
    /// # Shapes
    /// `before` and `evidence`: `[questions]`. Returns `[questions]`.
    ///
    /// # Errors
    /// A question that does not fit, a model that fails or is stopped, or that cannot do what a
    /// signal needs.
    pub fn measure(
        &self,
        signals: &[Signal],
        questions: &[&str],
        before: Vec<Measurements>,
        evidence: Option<&[Vec<Retrieved>]>,
    ) -> Result<Vec<Measurements>, AnswerError> {
        let prompts: Vec<Prompt> = questions
            .iter()
            .enumerate()
            .map(|(at, question)| {
                let found = evidence.map_or(&[][..], |evidence| &evidence[at]);
                let read: Vec<&Retrieved> = found.iter().filter(|one| one.in_prompt).collect();
                prompt::from_evidence(QuestionPrompt::open(question), &read)
            })
            .collect();
        self.measure_by(signals, questions, &prompts, before)
    }

    fn measure_by(
        &self,
        signals: &[Signal],
        questions: &[&str],
        prompts: &[Prompt],
        before: Vec<Measurements>,
    ) -> Result<Vec<Measurements>, AnswerError> {
        let measuring = Measuring {
            model: self.model.as_ref(),
            options: SampleOptions {
                samples: self.settings.samples,
                temperature: AS_IT_IS,
                max_tokens: self.settings.max_tokens,
            },
            seed: self.settings.seed,
            router: self.router.as_deref(),
            embedder: self.retriever().map(Retriever::embedder),
            assessor: self.assessor.as_deref(),
            datastore: self.datastore.as_deref(),
        };
        measuring.measure(signals, questions, prompts, before)
    }

    /// Measures what the policy needs, and nothing else, and lets it choose.
    pub(crate) fn route<'q>(
        &self,
        questions: &[&'q str],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Draft<'q>>, AnswerError> {
        let policy = self.settings.policy;
        policy.check()?;
        let mut measured = vec![Measurements::default(); questions.len()];
        if let Some(signal) = policy.signal() {
            measured = self.measure(&[signal], questions, measured, None)?;
        }
        questions
            .iter()
            .zip(measured)
            .enumerate()
            .map(|(index, (question, measured))| {
                let score = match policy.signal() {
                    Some(signal) => signal.of(&measured),
                    None => Some(chance(self.settings.seed, question)),
                };
                let choice = policy.choose(score)?;
                let go_on = watch(index, Event::Routed(&choice)).is_continue();
                let mut draft = Draft::new(question, choice, go_on);
                draft.paid(&measured.costs);
                draft.score = score;
                draft.corpus = measured.chosen.as_ref().map(|chosen| chosen.corpus.clone());
                draft.from_memory = self.as_answer(measured);
                if draft.choice.source == Source::SelfKnowledge {
                    draft.written.clone_from(&draft.from_memory);
                }
                Ok(draft)
            })
            .collect()
    }

    /// Where the policy judges twice: measures its signal again with the evidence, and drops evidence
    /// that does not lower it.
    pub(crate) fn judge_again(
        &self,
        drafts: &mut [Draft<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let policy = self.settings.policy;
        let Some(signal) = policy.signal().filter(|_| policy.judges_twice()) else {
            return Ok(());
        };
        let indices: Vec<usize> = (0..drafts.len())
            .filter(|&index| drafts[index].go_on)
            .filter(|&index| drafts[index].choice.source == Source::Corpus)
            .collect();
        let questions: Vec<&str> = indices.iter().map(|&at| drafts[at].question).collect();
        let prompts: Vec<Prompt> = indices.iter().map(|&at| drafts[at].prompt()).collect();
        let nothing = vec![Measurements::default(); indices.len()];
        let measured = self.measure_by(&[signal], &questions, &prompts, nothing)?;
        for (index, measured) in indices.into_iter().zip(measured) {
            let draft = &mut drafts[index];
            draft.paid(&measured.costs);
            let missing = || policy.not_measured();
            let without = draft.score.ok_or_else(missing)?;
            let with = signal.of(&measured).ok_or_else(missing)?;
            if Policy::keeps(without, with) {
                draft.choice.reason += &format!("; with the evidence it is {with:.3}");
                draft.written = self.as_answer(measured);
            } else {
                draft.choice.source = Source::SelfKnowledge;
                draft.choice.reason +=
                    &format!("; the evidence, with which it is {with:.3}, is dropped");
                draft.written = draft.from_memory.take();
                for passage in &mut draft.retrieved {
                    passage.in_prompt = false;
                }
            }
            draft.go_on = watch(index, Event::Routed(&draft.choice)).is_continue();
        }
        Ok(())
    }

    /// The short greedy answer, where that is what answers are.
    fn as_answer(&self, measured: Measurements) -> Option<String> {
        let is_answer =
            self.settings.sampling == Sampling::Greedy && self.settings.style == Style::Short;
        measured.draft.filter(|_| is_answer).map(|draft| draft.text)
    }
}

/// A number from `[0, 1)` that a question draws, the same for one seed.
#[must_use]
pub fn chance(seed: u64, question: &str) -> f64 {
    // The 53 bits that a double holds.
    (seed_of(seed, question) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_even() {
        let drawn: Vec<f64> = (0..10_000).map(|n| chance(3, &format!("q{n}"))).collect();
        assert!(drawn.iter().all(|one| (0.0..1.0).contains(one)));
        let below = drawn.iter().filter(|one| **one < 0.3).count();
        // Five standard deviations of a binomial.
        assert!((2770..=3230).contains(&below), "{below}");
        assert_eq!(chance(3, "q"), chance(3, "q"));
        assert_ne!(chance(4, "q"), chance(3, "q"));
    }
}

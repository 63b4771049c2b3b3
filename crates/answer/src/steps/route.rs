//! The first step: measuring the policy's signal, and choosing a source of knowledge.

use std::ops::ControlFlow;

use ken_policy::{Measurements, Source};
use ken_probe::seed_of;

use crate::draft::Draft;
use crate::error::AnswerError;
use crate::pipeline::{Event, Pipeline};
use crate::prompt::QuestionPrompt;

impl Pipeline {
    /// Measures the signal by which the policy decides whether to retrieve, and nothing else, and lets it choose.
    pub(crate) fn route<'q>(
        &self,
        questions: &[QuestionPrompt<'q>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Draft<'q>>, AnswerError> {
        let policy = self.resolved(self.settings.policy);
        self.settings.check()?;
        self.check_review(policy, self.settings.abstain)?;
        let mut measured = vec![Measurements::default(); questions.len()];
        if let Some(signal) = policy.searches_by() {
            measured = self.measure(&[signal], questions, measured)?;
        }
        questions
            .iter()
            .zip(measured)
            .enumerate()
            .map(|(index, (question, measured))| {
                let score = match policy.signal() {
                    Some(signal) => self.reading(signal, signal.of(&measured)),
                    None => chance(self.settings.seed, question.question).into(),
                };
                let choice = policy.choose(score)?;
                let go_on = watch(index, Event::Routed(&choice)).is_continue();
                let mut draft = Draft::new(*question, choice, go_on);
                draft.cannot_tell = policy.searches_by().is_some() && score.cannot_tell();
                draft.paid(&measured.costs);
                draft.corpus = measured.chosen.as_ref().map(|chosen| chosen.corpus.clone());
                if draft.choice.source == Source::SelfKnowledge {
                    draft.is_vouched = policy.searches_by().is_some();
                    draft.written = self.as_answer(draft.question, &measured);
                }
                draft.measured = measured;
                Ok(draft)
            })
            .collect()
    }
}

/// A pseudo-random number in `[0, 1)` that depends on the seed and the question alone.
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
        assert!(drawn.iter().all(|chance| (0.0..1.0).contains(chance)));
        let below = drawn.iter().filter(|chance| **chance < 0.3).count();
        // Five standard deviations of a binomial.
        assert!((2770..=3230).contains(&below), "{below}");
        assert_eq!(chance(3, "q"), chance(3, "q"));
        assert_ne!(chance(4, "q"), chance(3, "q"));
    }
}

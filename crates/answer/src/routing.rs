//! The policy's part of the pipeline: measuring before a source is chosen, and judging again with
//! the evidence.

use std::ops::ControlFlow;

use ken_model::language::{Prompt, Sampling};
use ken_probe::{SampleOptions, seed_of};
use ken_route::{CannotChoose, Measure, Policy, Source};

use crate::answer::Retrieved;
use crate::error::AnswerError;
use crate::need::{Taken, Taking};
use crate::pipeline::{Draft, Event, Pipeline};
use crate::prompt::{self, Posed};
use crate::retrieve::Retriever;

/// Answers that a policy samples where nobody says how many: more tell more, and cost more.
pub const SAMPLES: usize = 10;

/// The temperature at which a model is sampled as it is.
const AS_IT_IS: f32 = 1.0;

impl Pipeline {
    /// Takes of every question what the measures need beyond what was taken `before`: with the
    /// evidence given, of which the passages count that are marked as in the prompt, or without any.
    ///
    /// # Shapes
    /// `before` and `evidence`: `[questions]`. Returns `[questions]`.
    ///
    /// # Errors
    /// A question that does not fit, a model that fails or is stopped, or that cannot do what a
    /// measure takes.
    pub fn take(
        &self,
        measures: &[Measure],
        questions: &[&str],
        before: Vec<Taken>,
        evidence: Option<&[Vec<Retrieved>]>,
    ) -> Result<Vec<Taken>, AnswerError> {
        let prompts: Vec<Prompt> = questions
            .iter()
            .enumerate()
            .map(|(at, question)| {
                let found = evidence.map_or(&[][..], |evidence| &evidence[at]);
                let read: Vec<&Retrieved> = found.iter().filter(|one| one.in_prompt).collect();
                prompt::from_evidence(Posed::open(question), &read)
            })
            .collect();
        self.take_by(measures, questions, &prompts, before)
    }

    fn take_by(
        &self,
        measures: &[Measure],
        questions: &[&str],
        prompts: &[Prompt],
        before: Vec<Taken>,
    ) -> Result<Vec<Taken>, AnswerError> {
        let taking = Taking {
            model: self.model(),
            options: SampleOptions {
                samples: self.settings.samples,
                temperature: AS_IT_IS,
                max_tokens: self.settings.max_tokens,
            },
            seed: self.settings.seed,
            router: self.router.as_ref(),
            embedder: self.retriever().map(Retriever::embedder),
            assessor: self.assessor.as_ref(),
            datastore: self.datastore.as_ref(),
        };
        taking
            .take(measures, questions, prompts, before)?
            .into_iter()
            .map(|taken| taken.ok_or(AnswerError::Interrupted))
            .collect()
    }

    /// Measures what the policy needs, and nothing else, and lets it choose.
    pub(crate) fn route<'q>(
        &self,
        questions: &[&'q str],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Draft<'q>>, AnswerError> {
        let policy = self.settings.policy;
        policy.check()?;
        let mut taken = vec![Taken::default(); questions.len()];
        if let Some(measure) = policy.measure() {
            taken = self.take(&[measure], questions, taken, None)?;
        }
        questions
            .iter()
            .zip(taken)
            .enumerate()
            .map(|(index, (question, taken))| {
                let need = match policy.measure() {
                    Some(measure) => taken.need(measure),
                    None => Some(chance(self.settings.seed, question)),
                };
                let choice = policy.choose(need)?;
                let go_on = watch(index, Event::Routed(&choice)).is_continue();
                let mut draft = Draft::new(question, choice, go_on);
                draft.paid(&taken.costs);
                draft.need = need;
                draft.corpus = taken.chosen.as_ref().map(|chosen| chosen.corpus.clone());
                draft.from_memory = self.as_answer(taken);
                if draft.choice.source == Source::SelfKnowledge {
                    draft.written.clone_from(&draft.from_memory);
                }
                Ok(draft)
            })
            .collect()
    }

    /// Where the policy judges twice: takes its measure again with the evidence, and drops evidence
    /// that does not lower it.
    pub(crate) fn judge_again(
        &self,
        drafts: &mut [Draft<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let policy = self.settings.policy;
        let Some(measure) = policy.measure().filter(|_| policy.judges_twice()) else {
            return Ok(());
        };
        let indices: Vec<usize> = (0..drafts.len())
            .filter(|&index| drafts[index].go_on)
            .filter(|&index| drafts[index].choice.source == Source::Corpus)
            .collect();
        let questions: Vec<&str> = indices.iter().map(|&at| drafts[at].question).collect();
        let prompts: Vec<Prompt> = indices.iter().map(|&at| drafts[at].prompt()).collect();
        let nothing = vec![Taken::default(); indices.len()];
        let taken = self.take_by(&[measure], &questions, &prompts, nothing)?;
        for (index, taken) in indices.into_iter().zip(taken) {
            let draft = &mut drafts[index];
            draft.paid(&taken.costs);
            let unmeasured = || CannotChoose::NotMeasured { policy };
            let without = draft.need.ok_or_else(unmeasured)?;
            let with = taken.need(measure).ok_or_else(unmeasured)?;
            if Policy::keeps(without, with) {
                draft.choice.reason += &format!("; with the evidence it is {with:.3}");
                draft.written = self.as_answer(taken);
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

    /// The likeliest answer, where that is what answers are.
    fn as_answer(&self, taken: Taken) -> Option<String> {
        let likeliest = self.settings.sampling == Sampling::Greedy;
        taken.draft.filter(|_| likeliest).map(|draft| draft.text)
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

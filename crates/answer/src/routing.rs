//! The policy's part of the pipeline: measuring before a source is chosen, and reviewing the evidence.

use std::ops::ControlFlow;

use ken_language::{Embedder, Prompt, Sampling};
use ken_policy::{
    Abstention, Measurements, Policy, Reading, RoutingModel, Rule, Signal, Source, Step,
};
use ken_probe::{Sample, SampleOptions, seed_of};

use crate::answer::Retrieved;
use crate::draft::Draft;
use crate::error::AnswerError;
use crate::measure::{Found, Measuring};
use crate::pipeline::{Event, Pipeline};
use crate::prompt::{self, QuestionPrompt};
use crate::retrieve::Retriever;
use crate::routing_models::RoutingModels;
use crate::style::Style;

/// How many answers a policy samples by default: more are more precise, and cost more.
pub const SAMPLES: usize = 10;

/// The temperature that leaves the model's distribution as it is.
const AS_IT_IS: f32 = 1.0;

impl Pipeline {
    /// Replaces the routing models.
    ///
    /// # Errors
    /// One that was trained with another model, embedder, assessor or other prompts.
    pub fn with(mut self, routing: RoutingModels) -> Result<Self, AnswerError> {
        let embedder = self.retriever().map(Retriever::embedder);
        routing.check(
            self.model.fingerprint(),
            embedder.map(Embedder::fingerprint),
        )?;
        self.routing = routing;
        Ok(self)
    }

    /// Replaces the corpus, or removes it.
    ///
    /// # Errors
    /// A router or a gate that was trained with another embedder than that of the corpus.
    pub fn over(mut self, retriever: Option<Retriever>) -> Result<Self, AnswerError> {
        let routing = std::mem::take(&mut self.routing);
        self.retriever = retriever;
        self.with(routing)
    }

    /// Makes sure that an assessor that is asked about evidence, to review it or to vouch for answers, was
    /// trained on some.
    ///
    /// # Errors
    /// [`AnswerError::AssessorWithoutEvidence`].
    pub fn check_review(
        &self,
        policy: Policy,
        abstain: Option<Abstention>,
    ) -> Result<(), AnswerError> {
        let Some(assessor) = &self.routing.assessor else {
            return Ok(());
        };
        let by_assessor = |signal: Signal| signal.told_by == Some(RoutingModel::Assessor);
        if policy.reviews_by().is_some_and(by_assessor) {
            assessor.check_evidence(policy)?;
        }
        match abstain.filter(|abstain| by_assessor(abstain.signal)) {
            Some(abstain) => assessor.check_evidence(abstain),
            None => Ok(()),
        }
    }

    /// Measures of every question what the signals need beyond what was measured `before`, without any
    /// evidence.
    ///
    /// # Shapes
    /// `before`: `[questions]`. Returns the same.
    ///
    /// # Errors
    /// A question that does not fit, a model that fails or is stopped, or that cannot do what a
    /// signal needs.
    pub fn measure(
        &self,
        signals: &[Signal],
        questions: &[QuestionPrompt<'_>],
        before: Vec<Measurements>,
    ) -> Result<Vec<Measurements>, AnswerError> {
        let prompts: Vec<Prompt> = questions.iter().copied().map(prompt::from_memory).collect();
        self.measure_by(signals, questions, &prompts, before, None)
    }

    /// The same of the review of evidence, of which the passages count that are marked as in the prompt.
    /// `without` was measured before there was any.
    ///
    /// # Shapes
    /// `before`, `evidence` and `without`: `[questions]`. Returns `[questions]`.
    ///
    /// # Errors
    /// As [`Pipeline::measure`].
    pub fn measure_review(
        &self,
        signals: &[Signal],
        questions: &[QuestionPrompt<'_>],
        before: Vec<Measurements>,
        evidence: &[Vec<Retrieved>],
        without: &[Measurements],
    ) -> Result<Vec<Measurements>, AnswerError> {
        let each = questions.iter().zip(evidence);
        let prompts = each.map(|(question, found)| {
            let read: Vec<&Retrieved> = found.iter().filter(|one| one.in_prompt).collect();
            prompt::from_evidence(*question, &read)
        });
        let prompts: Vec<Prompt> = prompts.collect();
        let found = Some(Found { without });
        self.measure_by(signals, questions, &prompts, before, found)
    }

    fn measure_by(
        &self,
        signals: &[Signal],
        questions: &[QuestionPrompt<'_>],
        prompts: &[Prompt],
        before: Vec<Measurements>,
        found: Option<Found<'_>>,
    ) -> Result<Vec<Measurements>, AnswerError> {
        let measuring = Measuring {
            model: self.model.as_ref(),
            options: SampleOptions {
                samples: self.settings.samples,
                temperature: AS_IT_IS,
                max_tokens: self.settings.max_tokens,
            },
            seed: self.settings.seed,
            retriever: self.retriever(),
            routing: &self.routing,
        };
        measuring.measure(signals, questions, prompts, before, found)
    }

    /// A policy whose threshold is not named with the one that was chosen for the model and is recorded with it, or
    /// the default where none is. A datastore has a say in what the model chooses, so with one the default stands.
    #[must_use]
    pub fn resolved(&self, policy: Policy) -> Policy {
        match policy.searches_by() {
            Some(signal)
                if signal.is_recorded && policy.retrieve.is_open() && !policy.is_graded() =>
            {
                let chooser = self.model.source_chooser().ok();
                let recorded = chooser.filter(|_| self.routing.datastore.is_none());
                let recorded = recorded.and_then(|chooser| chooser.threshold());
                Policy {
                    retrieve: Rule::above(signal, recorded.or(signal.threshold)),
                    ..policy
                }
            }
            _ => policy,
        }
    }

    /// Measures what the policy needs to decide whether to retrieve, and nothing else, and lets it choose.
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

    /// Where the policy reviews evidence: measures what it takes, and drops the evidence that it does not
    /// keep. The answer is then the one from memory.
    pub(crate) fn review(
        &self,
        drafts: &mut [Draft<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let policy = self.resolved(self.settings.policy);
        let Some(reviewer) = policy.reviews_by() else {
            return Ok(());
        };
        let indices: Vec<usize> = (0..drafts.len())
            .filter(|&index| drafts[index].go_on)
            .filter(|&index| drafts[index].choice.source == Source::Corpus)
            .collect();
        self.measure_drafts(&[reviewer], drafts, &indices, false)?;
        self.measure_drafts(&[reviewer], drafts, &indices, true)?;
        for index in indices {
            let draft = &mut drafts[index];
            let (without, with) = (&draft.measured, &draft.measured_with);
            let review = self.reading(reviewer, reviewer.review(without, with));
            let decided = policy.review(review)?;
            draft.cannot_tell |= review.cannot_tell();
            draft.choice.source = decided.source;
            draft.choice.reason += &format!("; {}", decided.reason);
            if decided.source == Source::Corpus {
                draft.written = self.as_answer(draft.question, with);
            } else {
                draft.choice.reason += ", so the evidence is dropped";
                draft.written = self.as_answer(draft.question, without);
                for passage in &mut draft.retrieved {
                    passage.in_prompt = false;
                }
            }
            draft.go_on = watch(index, Event::Routed(&draft.choice)).is_continue();
        }
        Ok(())
    }

    /// Measures of some drafts what signals need, without or with their evidence, and has them pay for what
    /// was not measured before.
    pub(crate) fn measure_drafts(
        &self,
        signals: &[Signal],
        drafts: &mut [Draft<'_>],
        indices: &[usize],
        with_evidence: bool,
    ) -> Result<(), AnswerError> {
        let of = |index: &usize| &drafts[*index];
        let questions: Vec<QuestionPrompt<'_>> = indices.iter().map(|at| of(at).question).collect();
        let prompts = indices.iter().map(|at| match with_evidence {
            true => of(at).prompt(),
            false => prompt::from_memory(of(at).question),
        });
        let prompts: Vec<Prompt> = prompts.collect();
        let without: Vec<Measurements> = indices.iter().map(|at| of(at).measured.clone()).collect();
        let before: Vec<Measurements> = match with_evidence {
            true => indices
                .iter()
                .map(|at| of(at).measured_with.clone())
                .collect(),
            false => without.clone(),
        };
        let found = with_evidence.then_some(Found { without: &without });
        let measured = self.measure_by(signals, &questions, &prompts, before.clone(), found)?;
        for ((&index, before), measured) in indices.iter().zip(before).zip(measured) {
            let draft = &mut drafts[index];
            let is_new = |step: &Step| !before.costs.contains_key(step);
            let paid = measured.costs.iter().filter(|(step, _)| is_new(step));
            draft.paid(&paid.map(|(step, cost)| (*step, *cost)).collect());
            match with_evidence {
                true => draft.measured_with = measured,
                false => draft.measured = measured,
            }
        }
        Ok(())
    }

    /// What a signal says, measured with this model: see [`Signal::where_reported`].
    #[must_use]
    pub fn reading(&self, signal: Signal, reading: Reading) -> Reading {
        match signal.is_reported_by(self.model.capabilities()) {
            true => signal.where_reported(reading),
            false => reading,
        }
    }

    /// The short greedy answer, where that is what answers are.
    pub(crate) fn as_answer(
        &self,
        question: QuestionPrompt<'_>,
        measured: &Measurements,
    ) -> Option<Sample> {
        let is_answer =
            self.settings.sampling == Sampling::Greedy && self.style_of(question) == Style::Short;
        measured.draft.clone().filter(|_| is_answer)
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
    use std::sync::Arc;

    use ken_index::Mode;
    use ken_language::LanguageModel;
    use ken_testing::{Fact, TableModel};

    use super::*;
    use crate::{AnswerSettings, AssessedModel, Assessor};

    fn pipeline(with_evidence: bool) -> Pipeline {
        let fact = Fact {
            question: "who rows?".to_owned(),
            answer: "Ida".to_owned(),
            known: 1.0,
            ..Fact::default()
        };
        let settings = AnswerSettings {
            policy: Policy::NEVER,
            abstain: None,
            mode: Mode::Lexical,
            k: 1,
            evidence_tokens: 500,
            style: Style::Short,
            max_tokens: 16,
            full_tokens: 64,
            sampling: Sampling::Greedy,
            samples: 3,
            seed: 0,
        };
        let model = Arc::new(TableModel::new(vec![fact]).unwrap());
        let assessed = AssessedModel {
            model: model.fingerprint().to_owned(),
            prompt: prompt::fingerprint(),
            with_evidence,
        };
        let assessor = Assessor::new(model.clone(), assessed);
        let routing = RoutingModels {
            assessor: Some(Arc::new(assessor)),
            ..RoutingModels::default()
        };
        Pipeline::new(model, None, settings).with(routing).unwrap()
    }

    #[test]
    fn an_assessor_that_was_trained_on_no_evidence_is_not_asked_about_it() {
        let refused = |policy: &str, abstain: Option<&str>| {
            let mut pipeline = pipeline(false);
            pipeline.settings.policy = policy.parse().unwrap();
            pipeline.settings.abstain = abstain.map(|text| text.parse().unwrap());
            let answer = pipeline.answer("who rows?", &mut |_| ControlFlow::Continue(()));
            answer.err().map(|error| (error.kind(), error.remedy()))
        };
        assert_eq!(refused("kbm@1", None), None);
        for (policy, abstain) in [
            ("kbm@1+double", None),
            ("kbm:certainty@1+double", None),
            ("never", Some("kbm@0.5")),
        ] {
            let (kind, remedy) = refused(policy, abstain).unwrap();
            assert_eq!(kind, "assessor_without_evidence", "{policy}");
            let remedy = remedy.unwrap();
            assert!(
                remedy.mentions("TrainKbm") && remedy.mentions("corpus"),
                "{remedy}"
            );
        }
        let with_evidence = pipeline(true);
        let policy = "kbm@1+double".parse().unwrap();
        assert!(with_evidence.check_review(policy, None).is_ok());
    }

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

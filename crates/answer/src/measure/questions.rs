//! What a pipeline measures of questions: without evidence, with some that was found, and of answers in the making.

use ken_language::Prompt;
use ken_policy::{Measurements, Signal, Step};
use ken_probe::SampleOptions;

use super::{EvidenceContext, Measuring};
use crate::answer::Retrieved;
use crate::draft::Draft;
use crate::error::AnswerError;
use crate::pipeline::Pipeline;
use crate::prompt::{self, QuestionPrompt, Refusal};
use crate::style::Style;

/// The temperature that leaves the model's distribution as it is.
const AS_IT_IS: f32 = 1.0;

impl Pipeline {
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
        let found = Some(EvidenceContext { without });
        self.measure_by(signals, questions, &prompts, before, found)
    }

    fn measure_by(
        &self,
        signals: &[Signal],
        questions: &[QuestionPrompt<'_>],
        prompts: &[Prompt],
        before: Vec<Measurements>,
        found: Option<EvidenceContext<'_>>,
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

    /// The prompt by which an answer with evidence is measured: that of the short answer, or where the policy refuses
    /// in the model's place that of the answer which is given.
    fn prompt_of_review(&self, draft: &Draft<'_>) -> Prompt {
        match (self.refusal(), self.style_of(draft.question)) {
            (Refusal::ByPolicy, Style::Full) => draft.full_prompt(Refusal::ByPolicy),
            _ => draft.prompt(),
        }
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
            true => self.prompt_of_review(of(at)),
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
        let found = with_evidence.then_some(EvidenceContext { without: &without });
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
}

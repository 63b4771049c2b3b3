//! A pipeline's measurements of questions: without evidence, with it, and for answers in the making.

use ken_language::Prompt;
use ken_policy::{Measurements, Signal};

use crate::answer::Retrieved;
use crate::draft::Draft;
use crate::error::AnswerError;
use crate::pipeline::Pipeline;
use crate::prompt::{self, QuestionPrompt};
use crate::style::Style;

impl Pipeline {
    /// Takes the steps that the signals need for every question, without evidence. Those recorded in `before` are not taken
    /// again.
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

    /// As [`Pipeline::measure`], for the review of evidence: the passages that are marked as in the prompt. `without`: the
    /// measurements without it.
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
        let prompts = questions.iter().zip(evidence).map(|(question, retrieved)| {
            let read: Vec<&Retrieved> = retrieved.iter().filter(|p| p.in_prompt).collect();
            prompt::from_evidence(*question, &read)
        });
        let prompts: Vec<Prompt> = prompts.collect();
        self.measure_by(signals, questions, &prompts, before, Some(without))
    }

    /// The prompt by which an answer with evidence is measured: that of the short answer or, if the policy refuses in the
    /// model's place, that of the answer to give. In that of a full answer the model may refuse.
    fn prompt_of_review(&self, draft: &Draft<'_>) -> Prompt {
        match (self.refuses_by_policy(), self.style_of(draft.question)) {
            (true, Style::Full) => draft.full_prompt(),
            _ => draft.prompt(),
        }
    }

    /// Takes the steps that signals need for some drafts, without or with their evidence, and adds the costs of new steps to
    /// the drafts.
    pub(crate) fn measure_drafts(
        &self,
        signals: &[Signal],
        drafts: &mut [Draft<'_>],
        indices: &[usize],
        with_evidence: bool,
    ) -> Result<(), AnswerError> {
        let of = |index: &usize| &drafts[*index];
        let questions: Vec<QuestionPrompt<'_>> = indices.iter().map(|i| of(i).question).collect();
        let prompts = indices.iter().map(|i| match with_evidence {
            true => self.prompt_of_review(of(i)),
            false => prompt::from_memory(of(i).question),
        });
        let prompts: Vec<Prompt> = prompts.collect();
        let without: Vec<Measurements> = indices.iter().map(|i| of(i).measured.clone()).collect();
        let before: Vec<Measurements> = match with_evidence {
            true => indices
                .iter()
                .map(|i| of(i).measured_with.clone())
                .collect(),
            false => without.clone(),
        };
        let without = with_evidence.then_some(without.as_slice());
        let measured = self.measure_by(signals, &questions, &prompts, before.clone(), without)?;
        for ((&index, before), measured) in indices.iter().zip(before).zip(measured) {
            let draft = &mut drafts[index];
            let costs = measured.costs.iter();
            draft.paid(costs.filter(|(step, _)| !before.costs.contains_key(*step)));
            match with_evidence {
                true => draft.measured_with = measured,
                false => draft.measured = measured,
            }
        }
        Ok(())
    }
}

//! The assessor: a model that was trained to predict whether another one masters a question (KBM). Training is left to
//! others.

use std::fmt::Display;
use std::sync::Arc;

use ken_language::{CancelToken, LanguageModel, Prompt, ScoreRequest, bound_model};

use crate::error::AnswerError;
use crate::measure::mismatch::Mismatch;
use crate::prompt::{self, Indicator};

/// The model whose knowledge an assessor was trained to predict, and the prompts that it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssessedModel {
    /// The fingerprint of the model that answers.
    pub model: String,
    /// The fingerprint of the prompts that it answered.
    pub prompt: String,
    /// Whether the assessor was trained on its answers with evidence, too.
    pub with_evidence: bool,
}

/// A model that predicts whether another one knows an answer.
pub struct Assessor {
    /// The model that predicts.
    pub model: Arc<dyn LanguageModel>,
    /// The model that it was trained on.
    pub assessed: AssessedModel,
    /// Whether it may decide for models that it was not trained on as well (KBM, Table 4).
    pub for_any_model: bool,
}

/// An assessor's verdict on a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Assessed {
    /// The probability, in `[0, 1]`, of its "no"; `None` if it gives no number.
    pub(crate) need: Option<f64>,
    /// Tokens that it read.
    pub(crate) prompt_tokens: usize,
}

impl Assessor {
    /// A copy whose calls end when the token is set.
    pub(crate) fn bound(&self, token: &CancelToken) -> Self {
        Self {
            model: bound_model(Arc::clone(&self.model), token),
            assessed: self.assessed.clone(),
            for_any_model: self.for_any_model,
        }
    }

    /// Identifies it.
    pub fn fingerprint(&self) -> &str {
        self.model.fingerprint()
    }

    /// Checks that it was trained on the model that answers, unless it may decide for any, and on the current
    /// prompts.
    ///
    /// # Errors
    /// [`AnswerError::OtherAssessor`].
    pub fn check(&self, model: &str) -> Result<(), AnswerError> {
        let expected = match self.for_any_model {
            true => model,
            false => &self.assessed.model,
        };
        let made_with = [expected, &self.assessed.prompt];
        let mismatch = Mismatch::of_model(made_with, [model, &prompt::fingerprint()]);
        mismatch.map_or(Ok(()), |mismatch| Err(AnswerError::OtherAssessor(mismatch)))
    }

    /// Checks that it was trained on answers with evidence, too. `by`: the policy or the abstention that asks it about some.
    ///
    /// # Errors
    /// [`AnswerError::AssessorWithoutEvidence`].
    pub fn check_evidence(&self, by: impl Display) -> Result<(), AnswerError> {
        match self.assessed.with_evidence {
            true => Ok(()),
            false => Err(AnswerError::AssessorWithoutEvidence { by: by.to_string() }),
        }
    }

    /// The probability that an indicator of each question is low, given the prompt that asks it; NaN if the assessor
    /// gives no number.
    ///
    /// # Shapes
    /// Returns `[questions]`.
    ///
    /// # Errors
    /// A prompt that does not fit, a model that does not score or that fails.
    pub fn needs(
        &self,
        questions: &[&str],
        asked: &[&Prompt],
        indicator: Indicator,
    ) -> Result<Vec<f64>, AnswerError> {
        let assessed = self.assess(questions, asked, indicator)?;
        let needs = assessed.into_iter().map(|v| v.need.unwrap_or(f64::NAN));
        Ok(needs.collect())
    }

    /// Tokens that it reads for one question.
    pub(crate) fn prompt_tokens(
        &self,
        question: &str,
        asked: &Prompt,
        indicator: Indicator,
    ) -> Result<usize, AnswerError> {
        let prompt = prompt::assess(question, asked, indicator);
        Ok(self.model.count_prompt_tokens(&prompt)?)
    }

    pub(crate) fn assess(
        &self,
        questions: &[&str],
        asked: &[&Prompt],
        indicator: Indicator,
    ) -> Result<Vec<Assessed>, AnswerError> {
        let each = questions.iter().zip(asked);
        let prompts: Vec<Prompt> = each
            .map(|(question, asked)| prompt::assess(question, asked, indicator))
            .collect();
        let verdicts: Vec<[String; 2]> = questions
            .iter()
            .map(|question| prompt::verdicts(question).map(|verdict| format!(" {verdict}\n")))
            .collect();
        let verdicts: Vec<[&str; 2]> = verdicts
            .iter()
            .map(|[yes, no]| [yes.as_str(), no.as_str()])
            .collect();
        let requests: Vec<ScoreRequest<'_, Prompt>> = prompts
            .iter()
            .zip(&verdicts)
            .map(|(prompt, continuations)| ScoreRequest::new(prompt, continuations))
            .collect();
        let chosen = prompts.iter().zip(self.model.choose(&requests)?);
        let assessed = chosen.map(|(prompt, probabilities)| {
            let no = probabilities.get(1).copied();
            Ok(Assessed {
                need: no.filter(|no| no.is_finite()),
                prompt_tokens: self.model.count_prompt_tokens(prompt)?,
            })
        });
        assessed.collect()
    }
}

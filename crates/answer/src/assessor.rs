//! A model that was trained on what another model knows, at work: it says of a question whether the
//! other masters it (KBM). How it is trained is not known here.

use std::sync::Arc;

use ken_model::language::{LanguageModel, Prompt, ScoreRequest};

use crate::error::AnswerError;
use crate::prompt::{self, Indicator};

/// What an assessor was trained on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssessedModel {
    /// The fingerprint of the model that answers.
    pub model: String,
    /// The fingerprint of the prompts that it answered.
    pub prompt: String,
}

/// A model that says whether another one knows an answer.
pub struct Assessor {
    model: Arc<dyn LanguageModel>,
    assessed: AssessedModel,
}

/// What an assessor says of a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Assessed {
    /// Probability in `[0, 1]` of its denial.
    pub(crate) need: f64,
    /// Tokens that it read.
    pub(crate) prompt_tokens: usize,
}

impl Assessor {
    /// An assessor of a boundary.
    #[must_use]
    pub fn new(model: Arc<dyn LanguageModel>, assessed: AssessedModel) -> Self {
        Self { model, assessed }
    }

    /// Identifies it.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        self.model.fingerprint()
    }

    /// Makes sure that it knows the boundary of the model that answers.
    ///
    /// # Errors
    /// [`AnswerError::OtherAssessor`].
    pub fn check(&self, model: &str) -> Result<(), AnswerError> {
        let prompt = prompt::fingerprint();
        let now = [
            ("model", &self.assessed.model, model),
            ("prompts", &self.assessed.prompt, prompt.as_str()),
        ];
        for (what, expected, received) in now {
            if !ken_model::same_model(expected, received) {
                return Err(AnswerError::OtherAssessor {
                    what,
                    expected: expected.clone(),
                    received: received.to_owned(),
                });
            }
        }
        Ok(())
    }

    /// How strongly it denies an indicator of questions, by the prompts that ask them.
    ///
    /// # Shapes
    /// Returns `[questions]`.
    ///
    /// # Errors
    /// A prompt that does not fit, a model that cannot score or that fails.
    pub fn needs(
        &self,
        questions: &[&str],
        asked: &[&Prompt],
        indicator: Indicator,
    ) -> Result<Vec<f64>, AnswerError> {
        let assessed = self.assess(questions, asked, indicator)?;
        Ok(assessed.into_iter().map(|one| one.need).collect())
    }

    /// Tokens that it reads to say so of a question.
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
        let prompts: Vec<(Prompt, [String; 2])> = questions
            .iter()
            .zip(asked)
            .map(|(question, asked)| {
                let verdicts = prompt::verdicts(question).map(|verdict| format!(" {verdict}\n"));
                (prompt::assess(question, asked, indicator), verdicts)
            })
            .collect();
        let verdicts: Vec<[&str; 2]> = prompts
            .iter()
            .map(|(_, [yes, no])| [yes.as_str(), no.as_str()])
            .collect();
        let requests: Vec<ScoreRequest<'_, Prompt>> = prompts
            .iter()
            .zip(&verdicts)
            .map(|((prompt, _), verdicts)| ScoreRequest {
                prompt,
                continuations: verdicts,
            })
            .collect();
        let chances = self.model.choose(&requests)?;
        prompts
            .iter()
            .zip(chances)
            .map(|((prompt, _), chances)| {
                Ok(Assessed {
                    // What is no number needs retrieval: that is the side that costs least.
                    need: chances
                        .get(1)
                        .copied()
                        .filter(|p| p.is_finite())
                        .unwrap_or(1.0),
                    prompt_tokens: self.model.count_prompt_tokens(prompt)?,
                })
            })
            .collect()
    }
}

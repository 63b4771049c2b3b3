//! A language model that only scores.

use std::ops::ControlFlow;

use ken_language::{
    Capabilities, GenerateRequest, Generation, LanguageModel, ModelError, Progress, Prompt, Score,
    ScoreRequest,
};

/// The scores of a request's continuations.
type OfRequest = dyn Fn(&ScoreRequest<'_, Prompt>) -> Vec<Score> + Send + Sync;

/// A language model that scores by a function of the request. A word is a token; it cannot generate.
pub struct FnModel {
    context_tokens: usize,
    score: Box<OfRequest>,
}

impl FnModel {
    /// A model with this context and this function.
    pub fn new(
        context_tokens: usize,
        score: impl Fn(&ScoreRequest<'_, Prompt>) -> Vec<Score> + Send + Sync + 'static,
    ) -> Self {
        Self {
            context_tokens,
            score: Box::new(score),
        }
    }

    /// A model that finds the first of two continuations more likely if `is` returns true for the prompt's input,
    /// else the second.
    pub fn first_where(is: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let score = |likely: bool| Score {
            logprobs: vec![if likely { -0.1 } else { -3.0 }],
        };
        Self::new(4096, move |request| {
            let first = is(&request.prompt.input);
            vec![score(first), score(!first)]
        })
    }
}

impl LanguageModel for FnModel {
    fn fingerprint(&self) -> &str {
        "function"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            score: true,
            logprobs: false,
            hidden_layers: None,
            converses: false,
            assures: false,
            examples: true,
        }
    }

    fn context_tokens(&self) -> usize {
        self.context_tokens
    }

    fn count_tokens(&self, text: &str) -> Result<usize, ModelError> {
        Ok(text.split_whitespace().count())
    }

    fn count_prompt_tokens(&self, prompt: &Prompt) -> Result<usize, ModelError> {
        self.count_tokens(&prompt.input)
    }

    fn generate(
        &self,
        _: &[GenerateRequest<'_, Prompt>],
        _: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, ModelError> {
        Ok(Vec::new())
    }

    fn score(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<Score>>, ModelError> {
        Ok(requests.iter().map(&self.score).collect())
    }

    fn hidden(&self, _: &[&Prompt], _: usize) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(Vec::new())
    }
}

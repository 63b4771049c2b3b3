//! Models for tests that do what a function says.

use std::ops::{ControlFlow, Range};

use ken_model::embedder::{Embedder, EmbedderError};
use ken_model::encoder::Role;
use ken_model::language::{
    Capabilities, GenerateRequest, Generation, LanguageError, LanguageModel, Piece, Prompt, Score,
    ScoreRequest,
};

/// Holds the first continuation for likely where a function of the input says so.
pub(crate) struct Yes(Box<dyn Fn(&str) -> bool + Send + Sync>);

impl Yes {
    pub(crate) fn when(is: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Box::new(is))
    }
}

impl LanguageModel for Yes {
    fn fingerprint(&self) -> &str {
        "yes"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            score: true,
            logprobs: true,
            hidden_layers: None,
        }
    }

    fn context_tokens(&self) -> usize {
        4096
    }

    fn count_tokens(&self, text: &str) -> Result<usize, LanguageError> {
        Ok(text.len())
    }

    fn count_prompt_tokens(&self, prompt: &Prompt) -> Result<usize, LanguageError> {
        Ok(prompt.input.len())
    }

    fn generate(
        &self,
        _requests: &[GenerateRequest<'_, Prompt>],
        _on_piece: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, LanguageError> {
        Ok(Vec::new())
    }

    fn score(
        &self,
        requests: &[ScoreRequest<'_, Prompt>],
    ) -> Result<Vec<Vec<Score>>, LanguageError> {
        let score = |likely: bool| Score {
            logprobs: vec![if likely { -0.1 } else { -3.0 }],
        };
        Ok(requests
            .iter()
            .map(|request| {
                let yes = (self.0)(&request.prompt.input);
                vec![score(yes), score(!yes)]
            })
            .collect())
    }

    fn hidden(&self, _prompts: &[&Prompt], _layer: usize) -> Result<Vec<Vec<f32>>, LanguageError> {
        Ok(Vec::new())
    }
}

/// Gives each text a direction by its length.
pub(crate) struct Lengths;

impl Embedder for Lengths {
    fn fingerprint(&self) -> &str {
        "lengths"
    }

    fn dimensions(&self) -> usize {
        2
    }

    fn max_tokens(&self) -> Option<usize> {
        None
    }

    fn embed(&self, texts: &[&str], _role: Role) -> Result<Vec<Vec<f32>>, EmbedderError> {
        Ok(texts
            .iter()
            .map(|text| {
                let angle = text.len() as f32 / 4.0;
                vec![angle.cos(), angle.sin()]
            })
            .collect())
    }

    fn token_spans(&self, _text: &str) -> Result<Vec<Range<usize>>, EmbedderError> {
        Ok(Vec::new())
    }
}

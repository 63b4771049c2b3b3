//! What every language model can be asked, on this machine or behind an endpoint.

mod error;
mod first_line;
mod prompt;
mod request;
mod response;
mod sourced;

use std::ops::ControlFlow;

pub use error::LanguageError;
pub use first_line::FirstLine;
pub(crate) use prompt::shared_text;
pub use prompt::{Examples, Prompt, WorkedExample};
pub use request::{GenerateOptions, GenerateRequest, Piece, Sampling, ScoreRequest};
pub use response::{Finish, Generation, Score, shares, total};
pub use sourced::{Knowledge, SourceChoice, Sourced};

/// What a model can do beside writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Tell how likely a given continuation is: [`LanguageModel::score`] and
    /// [`LanguageModel::choose`].
    pub score: bool,
    /// Tell the log probabilities of what it writes.
    pub logprobs: bool,
    /// The blocks behind which it shows its hidden states, [`LanguageModel::hidden`]; `None` where it
    /// shows none.
    pub hidden_layers: Option<usize>,
}

/// A language model. Many requests at once cost less than one after the other. Calls from several
/// threads are safe.
pub trait LanguageModel: Send + Sync {
    /// Identifies the model: measurements made with one must not be used with another.
    fn fingerprint(&self) -> &str;

    /// What it can do beside writing.
    fn capabilities(&self) -> Capabilities;

    /// Most tokens that a prompt and its answer may have together.
    fn context_tokens(&self) -> usize;

    /// How many tokens a text has in a prompt. Where the model keeps its tokenizer to itself, an
    /// upper estimate.
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    fn count_tokens(&self, text: &str) -> Result<usize, LanguageError>;

    /// How many tokens a whole prompt has, as [`LanguageModel::count_tokens`].
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    fn count_prompt_tokens(&self, prompt: &Prompt) -> Result<usize, LanguageError>;

    /// Continues prompts. `on_piece` receives each text piece by piece as it is written, and may
    /// break that text off. A model that is stopped from outside may return the texts that it has,
    /// and the others as broken off.
    ///
    /// # Shapes
    /// Returns `[requests][samples]`.
    ///
    /// # Errors
    /// A prompt that does not fit, a request for no sample, a model that fails.
    fn generate(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        on_piece: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, LanguageError>;

    /// Scores continuations of prompts.
    ///
    /// # Shapes
    /// Returns `[requests][continuations]`.
    ///
    /// # Errors
    /// An empty continuation, one that does not fit, a model that cannot score or that fails.
    fn score(
        &self,
        requests: &[ScoreRequest<'_, Prompt>],
    ) -> Result<Vec<Vec<Score>>, LanguageError>;

    /// The probability of each continuation, given that it is one of them.
    ///
    /// # Shapes
    /// Returns `[requests][continuations]`.
    ///
    /// # Errors
    /// As [`LanguageModel::score`].
    fn choose(
        &self,
        requests: &[ScoreRequest<'_, Prompt>],
    ) -> Result<Vec<Vec<f64>>, LanguageError> {
        let scores = self.score(requests)?;
        Ok(scores
            .iter()
            .map(|scores| shares(&scores.iter().map(Score::sum).collect::<Vec<_>>()))
            .collect())
    }

    /// The residual stream at the last token of each prompt behind the first `layer` blocks.
    ///
    /// # Shapes
    /// Returns `[prompts][hidden]`.
    ///
    /// # Errors
    /// A layer that the model does not have, a model that does not show its states or that fails.
    fn hidden(&self, prompts: &[&Prompt], layer: usize) -> Result<Vec<Vec<f32>>, LanguageError>;

    /// Whether it reads the worked examples of prompts; else prompts that differ in these alone are one
    /// and the same to it.
    fn reads_examples(&self) -> bool {
        true
    }

    /// The names of the corpora that the model was trained to choose among, beside its own knowledge;
    /// none where it was not trained to choose.
    fn corpora(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Which source the model would choose behind each question, and the residual stream there behind
    /// the first `layer` blocks (SR-RAG, section 3.4). What is then written behind the same question
    /// goes on from there.
    ///
    /// # Shapes
    /// Returns `[prompts]`.
    ///
    /// # Errors
    /// A model that was not trained to choose, a layer that it does not have, a prompt that does not
    /// fit.
    fn choose_sources(
        &self,
        prompts: &[&Prompt],
        layer: usize,
    ) -> Result<Vec<SourceChoice>, LanguageError> {
        let _ = (prompts, layer);
        Err(LanguageError::DoesNotChoose)
    }
}

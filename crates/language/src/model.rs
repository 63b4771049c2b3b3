//! The interface of language models, on this machine or behind an endpoint.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::cancel::CancelToken;
use crate::chat_server::ChatServer;
use crate::error::ModelError;
use crate::prompt::Prompt;
use crate::request::{GenerateRequest, Progress, ScoreRequest};
use crate::response::{Generation, Score, softmax};
use crate::source_chooser::{DoesNotChoose, SourceChooser};
use crate::text_model::TextModel;

/// What a model can do besides generating text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Score given continuations: [`LanguageModel::score`] and [`LanguageModel::choose`].
    pub score: bool,
    /// Report the log probabilities of generated tokens.
    pub logprobs: bool,
    /// The number of layers after which [`LanguageModel::hidden`] shows its states; `None` if it shows none.
    pub hidden_layers: Option<usize>,
    /// Write whole texts in conversation, as people expect of an assistant, and not only short
    /// answers.
    pub converses: bool,
    /// Tell right answers from wrong ones by the probability that it gives them, well enough to refuse the wrong ones.
    pub assures: bool,
    /// Read the worked examples of prompts; if not, prompts that differ only in these are equal
    /// to it.
    pub examples: bool,
}

/// A language model. Many requests in one call cost less than one call each. Calls from several
/// threads are safe.
pub trait LanguageModel: Send + Sync {
    /// Identifies the model: measurements made with one must not be used with another.
    fn fingerprint(&self) -> &str;

    /// What it can do besides generating text.
    fn capabilities(&self) -> Capabilities;

    /// The most tokens that a prompt and its answer may have together.
    fn context_tokens(&self) -> usize;

    /// How many tokens a text has in a prompt; an upper estimate if the model does not expose its
    /// tokenizer.
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    fn count_tokens(&self, text: &str) -> Result<usize, ModelError>;

    /// How many tokens a whole prompt has, as [`LanguageModel::count_tokens`].
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    fn count_prompt_tokens(&self, prompt: &Prompt) -> Result<usize, ModelError>;

    /// Continues prompts. Calls `on_progress`, on the caller's own thread, as prompts are read and with every generated
    /// piece of a text; it may cancel the text. A model that is stopped from outside may return the texts so far, and the
    /// others as cancelled.
    ///
    /// # Shapes
    /// Returns `[requests][samples]`.
    ///
    /// # Errors
    /// A prompt that does not fit, a request for no sample, a model that fails.
    fn generate(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, ModelError>;

    /// Scores continuations of prompts.
    ///
    /// # Shapes
    /// Returns `[requests][continuations]`.
    ///
    /// # Errors
    /// An empty continuation, one that does not fit, a model that cannot score or that fails.
    fn score(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<Score>>, ModelError>;

    /// The probability of each continuation, given that it is one of them.
    ///
    /// # Shapes
    /// Returns `[requests][continuations]`.
    ///
    /// # Errors
    /// As [`LanguageModel::score`].
    fn choose(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<f64>>, ModelError> {
        let scores = self.score(requests)?;
        Ok(scores
            .iter()
            .map(|scores| softmax(&scores.iter().map(Score::sum).collect::<Vec<_>>()))
            .collect())
    }

    /// The residual stream at the last token of each prompt after layer `layer`.
    ///
    /// # Shapes
    /// Returns `[prompts][hidden]`.
    ///
    /// # Errors
    /// A layer that the model does not have, a model that does not show its states or that fails.
    fn hidden(&self, prompts: &[&Prompt], layer: usize) -> Result<Vec<Vec<f32>>, ModelError>;

    /// The model as one that chooses the source of its knowledge.
    ///
    /// # Errors
    /// If the model was not trained to choose.
    fn source_chooser(&self) -> Result<&dyn SourceChooser, ModelError> {
        Err(ModelError::new(DoesNotChoose))
    }

    /// The model's server, if it takes conversations as other programs send them.
    fn chat_server(&self) -> Option<&dyn ChatServer> {
        None
    }

    /// The model as one that continues text as it stands; `None` for a model behind an endpoint.
    fn text_model(&self) -> Option<&dyn TextModel> {
        None
    }

    /// Sampling parameters that its server has refused, so that answers do not depend on them.
    fn not_taken(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Whether it could answer now. A model on this machine always can.
    ///
    /// # Errors
    /// A server that cannot be reached, or is not ready.
    fn ready(&self) -> Result<(), ModelError> {
        Ok(())
    }

    /// The same model, whose calls end within a moment once a token is set, whatever they wait for;
    /// `None` if a call can only be left between pieces. [`bound_model`](crate::bound_model) binds
    /// every model.
    fn bound(&self, _token: &CancelToken) -> Option<Arc<dyn LanguageModel>> {
        None
    }
}

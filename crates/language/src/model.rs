//! What every language model can be asked, on this machine or behind an endpoint.

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

/// What a model can do beside generating text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Score given continuations: [`LanguageModel::score`] and [`LanguageModel::choose`].
    pub score: bool,
    /// Report the log probabilities of what it generates.
    pub logprobs: bool,
    /// How many layers there are after which it shows its hidden states, see
    /// [`LanguageModel::hidden`]; `None` where it shows none.
    pub hidden_layers: Option<usize>,
    /// Write whole texts in conversation, as people expect them of an assistant, and not only short
    /// answers.
    pub converses: bool,
    /// Tell by how likely it finds an answer whether that is right, well enough to refuse others.
    pub assures: bool,
    /// Read the worked examples of prompts; otherwise prompts that differ only in these are the same
    /// to it.
    pub examples: bool,
}

/// A language model. Many requests in one call cost less than one call each. Calls from several
/// threads are safe.
pub trait LanguageModel: Send + Sync {
    /// Identifies the model: measurements made with one must not be used with another.
    fn fingerprint(&self) -> &str;

    /// What it can do beside generating text.
    fn capabilities(&self) -> Capabilities;

    /// The most tokens that a prompt and its answer may have together.
    fn context_tokens(&self) -> usize;

    /// How many tokens a text has in a prompt; an upper estimate where the model does not expose its
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

    /// Continues prompts. `on_progress` is told, on the caller's own thread, how prompts are read and each
    /// text piece by piece as it is generated, and may cancel that. A model that is stopped from outside may return the texts that it has, and
    /// the others as cancelled.
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

    /// The model as one that chooses where its knowledge comes from.
    ///
    /// # Errors
    /// A model that was not trained to choose.
    fn source_chooser(&self) -> Result<&dyn SourceChooser, ModelError> {
        Err(ModelError::new(DoesNotChoose))
    }

    /// The model's server, where it takes conversations as other programs send them.
    fn chat_server(&self) -> Option<&dyn ChatServer> {
        None
    }

    /// The model as one that continues text as it stands; `None` for a model behind an endpoint.
    fn text_model(&self) -> Option<&dyn TextModel> {
        None
    }

    /// Parameters of sampling that its server was found to refuse, so that answers do not depend on them.
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

    /// The same model with calls that end within a moment once a token is set, whatever they wait for;
    /// `None` where a call can only be left between pieces. [`bound_model`](crate::bound_model) binds
    /// every model.
    fn bound(&self, _token: &CancelToken) -> Option<Arc<dyn LanguageModel>> {
        None
    }
}

//! Decoder language models on this machine: loading, generating, scoring, choosing. Other crates write the prompts
//! and retrieve.

mod adapter;
mod chat_server;
mod config;
mod error;
mod files;
mod graph;
mod language;
mod options;
mod scheduler;
mod sources;
mod text;
mod text_model;

use std::path::Path;
use std::sync::Arc;

use ken_language::{CancelToken, OutputSchema};

pub use adapter::{Adapter, AdapterSettings};
pub use config::family::Family;
pub use config::{Activation, DecoderConfig, LayerSet, RopeScaling, Rotary, SlidingWindow};
pub use error::DecoderError;
pub use files::checkpoint::Checkpoint;
pub use files::export::StoredAs;
pub use files::file_names::{SETTINGS_FILE, TENSORS_FILE};
pub use files::footprint::Footprint;
pub use files::origin::{LearnedBoundary, Origin};
pub use files::replacement::{Replacement, remove_model};
pub use files::untrained::Untrained;
pub use options::{Device, LoadOptions};
pub use scheduler::generate::{GenerateRequest, Generation};
pub use scheduler::score::{Score, ScoreRequest};
pub use sources::tokens::{CorpusToken, SourceTokens, SourcedTokens};
pub use sources::vocabulary::SourcedText;
pub use text::chat::{Message, Role};
pub use text::prompt::Prompt;
pub use text::prompt_form::PromptForm;
pub use text::read_as::ReadAs;

use graph::runtime::Engines;
use scheduler::{Scheduler, Writer};
use text::chat::ChatTemplate;
use text::constraint::{Constraint, Constraints};
use text::escaping;
use text::tokenizer::{Reading, TextTokenizer};

/// From this many parameters on, instruction-tuned models write whole texts that are worth reading. A model of half a
/// billion answers right more often in a phrase (`results/2026-11-28-answers`).
const CONVERSES_FROM: u64 = 1_000_000_000;

/// From this many parameters on, the probability that a model gives its answers separates right from wrong ones at
/// one threshold (`results/2026-11-28-answers`). Models that are called 0.5B have slightly fewer.
const ASSURES_FROM: u64 = 450_000_000;

/// A language model in memory. Threads share it: their requests are computed in one batch, and waiting for results
/// blocks none of the threads that compute.
#[derive(Clone)]
pub struct Decoder {
    config: DecoderConfig,
    scheduler: Arc<Scheduler>,
    tokenizer: Arc<TextTokenizer>,
    chat: Option<Arc<ChatTemplate>>,
    read_as: ReadAs,
    converses: bool,
    assures: bool,
    sources: Option<SourceTokens>,
    fingerprint: String,
    /// Makes constraints for structured output.
    constraints: Arc<Constraints>,
    end_tokens: Arc<[u32]>,
    /// Ends scoring and reading; generation is ended by `on_progress`.
    cancel: CancelToken,
}

impl Decoder {
    /// Loads a `.gguf` file, or a folder with `config.json`, safetensors and `tokenizer.json`, and
    /// the adapter that the options name.
    ///
    /// # Errors
    /// A file that is missing, broken or truncated; an architecture, quantization or tokenizer
    /// that is not supported; an adapter that was made for another model; threads that cannot be
    /// started.
    pub fn load(path: &Path, options: &LoadOptions) -> Result<Self, DecoderError> {
        let checkpoint = Checkpoint::open(path, options.adapter.as_deref())?;
        let footprint = checkpoint.footprint(options.precision)?;
        if options.device == Device::Cpu {
            footprint.check(path)?;
        }
        let (read_as, fingerprint) = checkpoint.read_as(options.read_as)?;
        let sources = checkpoint.origin.and_then(|origin| origin.sources);
        let mut end_tokens = checkpoint.end_tokens;
        if let Some(sources) = &sources {
            end_tokens.push(sources.end_of_knowledge);
            end_tokens.sort_unstable();
        }
        // A model that was trained on ken's prompts answers those in a line.
        let trained = sources.is_some() || read_as == ReadAs::Text(PromptForm::Bare);
        let parameters = footprint.parameters;
        let (config, weights) = (&checkpoint.config, &checkpoint.weights);
        let tokenizer = Arc::new(checkpoint.tokenizer);
        let end_tokens: Arc<[u32]> = end_tokens.into();
        let writer = Writer {
            tokenizer: Arc::clone(&tokenizer),
            end_tokens: Arc::clone(&end_tokens),
        };
        let scheduler = match options.device {
            Device::Cpu => {
                let engines = Engines::on_cpu(config, weights, options)?;
                Scheduler::start(engines, writer, config, options)?
            }
            Device::Cuda | Device::Metal | Device::Reference => {
                let engines = Engines::on_device(config, weights, options)?;
                Scheduler::start(engines, writer, config, options)?
            }
        };
        Ok(Self {
            converses: checkpoint.chat.is_some() && parameters >= CONVERSES_FROM && !trained,
            assures: checkpoint.chat.is_some() && parameters >= ASSURES_FROM && !trained,
            sources,
            scheduler: Arc::new(scheduler),
            tokenizer,
            config: checkpoint.config,
            chat: checkpoint.chat.map(Arc::new),
            read_as,
            fingerprint,
            constraints: Arc::default(),
            end_tokens,
            cancel: CancelToken::default(),
        })
    }

    /// The architecture.
    pub fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// The most tokens that a prompt and its answer may have together.
    pub fn context_tokens(&self) -> usize {
        self.config.context
    }

    /// Identifies the weights and everything else that affects answers: measurements with one model must not be used
    /// with another.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// How it reads prompts for a line.
    pub fn read_as(&self) -> ReadAs {
        self.read_as
    }

    /// Whether the model comes with a chat template, which [`Decoder::chat_prompt`] needs.
    pub fn has_chat_template(&self) -> bool {
        self.chat.is_some()
    }

    /// A prompt of plain text, `shared` followed by `rest`. The shared prefix is computed once and cached. Special
    /// tokens spelled out in it are read as ordinary text, so that no part of it can end the prompt or speak for
    /// another role.
    ///
    /// # Errors
    /// A text that the tokenizer refuses, or an empty one.
    pub fn prompt(&self, shared: &str, rest: &str) -> Result<Prompt, DecoderError> {
        let encode = |text: &str| self.known(self.tokenizer.encode(text, Reading::Plain, true)?);
        Prompt::new(encode(&format!("{shared}{rest}"))?, &encode(shared)?)
    }

    /// A prompt of text in which special tokens are read as tokens. For the caller's own texts.
    ///
    /// # Errors
    /// As [`Decoder::prompt`].
    pub fn raw_prompt(&self, text: &str) -> Result<Prompt, DecoderError> {
        let tokens = self.tokenizer.encode(text, Reading::Markup, true)?;
        Prompt::raw(self.known(tokens)?)
    }

    /// A prompt in the model's chat format that ends where the model answers. The first `shared` messages are
    /// computed once and kept. Special tokens spelled out in messages are read as ordinary text.
    ///
    /// # Errors
    /// A model without a chat template, or a conversation that the template refuses.
    pub fn chat_prompt(&self, messages: &[Message], shared: usize) -> Result<Prompt, DecoderError> {
        let template = self.chat.as_ref().ok_or(DecoderError::NoChatTemplate)?;
        let messages = messages.iter().map(|message| {
            let content = escaping::escaped(&message.content, &self.tokenizer)?;
            Ok(Message::new(message.role, content))
        });
        let messages = messages.collect::<Result<Vec<_>, DecoderError>>()?;
        let encode = |text: &str| self.known(escaping::encode(text, &self.tokenizer)?);
        let tokens = encode(&template.render(&messages, &[], true)?)?;
        // Not every template accepts a part of a conversation; nothing is shared then.
        let shared = messages
            .get(..shared)
            .filter(|part| !part.is_empty())
            .and_then(|part| template.render(part, &[], false).ok())
            .map_or(Ok(Vec::new()), |text| encode(&text))?;
        Prompt::new(tokens, &shared)
    }

    /// How many tokens a text has in a plain prompt.
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    pub fn count_tokens(&self, text: &str) -> Result<usize, DecoderError> {
        Ok(self.tokenizer.encode(text, Reading::Plain, false)?.len())
    }

    /// The constraint that a schema puts on a text.
    fn constraint(&self, schema: &OutputSchema) -> Result<Constraint, DecoderError> {
        let vocabulary = self.config.vocabulary;
        self.constraints
            .constraint(schema, &self.tokenizer, vocabulary, &self.end_tokens)
    }

    fn known(&self, tokens: Vec<u32>) -> Result<Vec<u32>, DecoderError> {
        self.config.known(tokens)
    }
}

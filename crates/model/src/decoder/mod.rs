//! Decoder language models on this machine: loading, generating, scoring, choosing.
//! Knows nothing of prompts' contents or of retrieval.

mod backend;
mod certain;
mod chat;
mod config;
mod cpu;
mod engine;
mod error;
mod examples;
mod family;
mod generate;
mod gguf;
mod graph;
mod hidden;
mod language;
mod options;
mod prompt;
mod quotation;
mod runtime;
mod sampling;
mod score;
mod tensors;
mod tokenizer;
mod weights;

use std::path::{Path, PathBuf};

pub use crate::language::{Finish, GenerateOptions, Piece, Sampling, WorkedExample};
pub use chat::{Message, Role};
pub use config::{DecoderConfig, RopeScaling};
pub use error::DecoderError;
pub use family::Family;
pub use generate::{GenerateRequest, Generation};
pub use options::{Device, LoadOptions};
pub use prompt::Prompt;
pub use score::{Score, ScoreRequest};

use chat::ChatTemplate;
use gguf::GgufFile;
use runtime::Engines;
use tokenizer::{Reading, TextTokenizer};
use weights::Weights;

/// A language model in memory. Calls from several threads are safe.
pub struct Decoder {
    config: DecoderConfig,
    engines: Engines,
    tokenizer: TextTokenizer,
    chat: Option<ChatTemplate>,
    end_tokens: Vec<u32>,
    fingerprint: String,
}

impl Decoder {
    /// Loads a `.gguf` file, or a folder with `config.json`, safetensors and `tokenizer.json`.
    ///
    /// # Errors
    /// A file that is missing, broken or truncated; an architecture, quantization or tokenizer
    /// that is not supported.
    pub fn load(path: &Path, options: LoadOptions) -> Result<Self, DecoderError> {
        if path.is_dir() {
            Self::load_folder(path, options)
        } else {
            Self::load_gguf(path, options)
        }
    }

    fn load_gguf(path: &Path, options: LoadOptions) -> Result<Self, DecoderError> {
        let is_gguf = path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("gguf"));
        if path.exists() && !is_gguf {
            return Err(DecoderError::NotAModel {
                path: path.to_path_buf(),
            });
        }
        let file = GgufFile::open(path)?;
        let metadata = file.metadata();
        let vocabulary = file
            .shape("token_embd.weight")
            .and_then(|shape| shape.first().copied());
        let vocabulary = vocabulary.ok_or_else(|| DecoderError::MissingTensor {
            path: path.to_path_buf(),
            name: "token_embd.weight".to_owned(),
        })?;
        let factors = ["rope_freqs.weight", "rope_factors_short.weight"]
            .into_iter()
            .find(|name| file.shape(name).is_some())
            .map(|name| -> Result<Vec<f32>, DecoderError> {
                let tensor = file.tensor(name)?.dequantize(&candle_core::Device::Cpu)?;
                Ok(tensor.flatten_all()?.to_vec1()?)
            })
            .transpose()?;
        let config = DecoderConfig::from_gguf(&metadata, vocabulary, factors)?;
        let beside = path.with_file_name("tokenizer.json");
        let tokenizer = if beside.exists() {
            TextTokenizer::from_file(&beside)?
        } else {
            TextTokenizer::from_gguf(&metadata)?
        };
        let chat = ChatTemplate::from_gguf(&metadata);
        let mut end_tokens: Vec<u32> = ["eos", "eot", "eom"]
            .iter()
            .filter_map(|kind| metadata.optional_number(&format!("tokenizer.ggml.{kind}_token_id")))
            .map(|id| id as u32)
            .collect();
        add_known_end_tokens(&tokenizer, &mut end_tokens);
        let fingerprint = crate::fingerprint::of_bytes(file.bytes());
        let engines = Engines::load(&config, Weights::Gguf(file), options)?;
        Ok(Self {
            config,
            engines,
            tokenizer,
            chat,
            end_tokens,
            fingerprint,
        })
    }

    fn load_folder(folder: &Path, options: LoadOptions) -> Result<Self, DecoderError> {
        let config_path = folder.join("config.json");
        if !config_path.exists() {
            return Err(DecoderError::NotAModel {
                path: folder.to_path_buf(),
            });
        }
        let config = DecoderConfig::from_hugging_face(&config_path)?;
        let tokenizer = TextTokenizer::from_file(&folder.join("tokenizer.json"))?;
        let chat = ChatTemplate::from_folder(folder);
        let mut end_tokens = end_tokens_of_folder(folder);
        add_known_end_tokens(&tokenizer, &mut end_tokens);
        let weights = Weights::open_safetensors(folder)?;
        let fingerprint = crate::fingerprint::of_files(&safetensors_in(folder)?)
            .map_err(|source| DecoderError::io(folder, source))?;
        let engines = Engines::load(&config, weights, options)?;
        Ok(Self {
            config,
            engines,
            tokenizer,
            chat,
            end_tokens,
            fingerprint,
        })
    }

    /// The architecture's numbers.
    #[must_use]
    pub fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// Most tokens that a prompt and its answer may have together.
    #[must_use]
    pub fn context_tokens(&self) -> usize {
        self.config.context
    }

    /// Identifies the weights: measurements made with one model must not be used with another.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether the model comes with a chat template, which [`Decoder::chat_prompt`] needs.
    #[must_use]
    pub fn has_chat_template(&self) -> bool {
        self.chat.is_some()
    }

    /// A prompt of plain text, `shared` followed by `rest`. What many prompts share is computed
    /// once and kept. Special tokens written in it are read as ordinary text, so that whoever wrote
    /// a part of it cannot end the prompt or speak for another.
    ///
    /// # Errors
    /// A text that the tokenizer refuses, or an empty one.
    pub fn prompt(&self, shared: &str, rest: &str) -> Result<Prompt, DecoderError> {
        let encode = |text: &str| self.known(self.tokenizer.encode(text, Reading::Plain, true)?);
        Prompt::new(encode(&format!("{shared}{rest}"))?, &encode(shared)?)
    }

    /// A prompt of text in which special tokens are read as such. For texts of the caller's own.
    ///
    /// # Errors
    /// As [`Decoder::prompt`].
    pub fn raw_prompt(&self, text: &str) -> Result<Prompt, DecoderError> {
        let tokens = self.tokenizer.encode(text, Reading::Markup, true)?;
        Prompt::raw(self.known(tokens)?)
    }

    /// A prompt in the model's chat format that ends where the model is to answer. The first
    /// `shared` messages are computed once and kept. Special tokens written in messages are read
    /// as ordinary text.
    ///
    /// # Errors
    /// A model without a chat template, or a conversation that the template refuses.
    pub fn chat_prompt(&self, messages: &[Message], shared: usize) -> Result<Prompt, DecoderError> {
        let template = self
            .chat
            .as_ref()
            .ok_or_else(|| DecoderError::ChatTemplate {
                reason: "the model has none".to_owned(),
            })?;
        let messages = quotation::quoted(messages, &self.tokenizer)?;
        let encode = |text: &str| self.known(quotation::encode(text, &self.tokenizer)?);
        let tokens = encode(&template.render(&messages, true)?)?;
        // Not every template takes a part of a conversation; then nothing is shared.
        let shared = messages
            .get(..shared)
            .filter(|part| !part.is_empty())
            .and_then(|part| template.render(part, false).ok())
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

    /// Refuses token ids that the model does not know.
    fn known(&self, tokens: Vec<u32>) -> Result<Vec<u32>, DecoderError> {
        let vocabulary = self.config.vocabulary;
        match tokens.iter().find(|&&token| token as usize >= vocabulary) {
            Some(&token) => Err(DecoderError::UnknownToken { token, vocabulary }),
            None => Ok(tokens),
        }
    }
}

/// Chat formats end a turn by tokens that not every checkpoint declares as an end.
fn add_known_end_tokens(tokenizer: &TextTokenizer, end_tokens: &mut Vec<u32>) {
    let known = [
        "<|im_end|>",
        "<|eot_id|>",
        "<|end|>",
        "<|endoftext|>",
        "<|end_of_text|>",
    ];
    end_tokens.extend(known.iter().filter_map(|token| tokenizer.id(token)));
    end_tokens.sort_unstable();
    end_tokens.dedup();
}

/// The end tokens that `generation_config.json` or `config.json` names: one id or several.
fn end_tokens_of_folder(folder: &Path) -> Vec<u32> {
    ["generation_config.json", "config.json"]
        .iter()
        .filter_map(|name| std::fs::read_to_string(folder.join(name)).ok())
        .filter_map(|text| serde_json::from_str::<serde_json::Value>(&text).ok())
        .find_map(|config| match config.get("eos_token_id")? {
            serde_json::Value::Array(ids) => Some(
                ids.iter()
                    .filter_map(|id| id.as_u64())
                    .map(|id| id as u32)
                    .collect(),
            ),
            id => Some(vec![id.as_u64()? as u32]),
        })
        .unwrap_or_default()
}

/// The weight files of a folder, in a stable order.
fn safetensors_in(folder: &Path) -> Result<Vec<PathBuf>, DecoderError> {
    let entries = std::fs::read_dir(folder).map_err(|source| DecoderError::io(folder, source))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "safetensors"))
        .collect();
    files.sort();
    Ok(files)
}

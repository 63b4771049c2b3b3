//! A decoder's opened files: its architecture, weights, tokenizer and chat template.

use std::path::Path;

use candle_core::Tensor;
use ken_language::Prompt;
use serde_json::Value;

use crate::decoder::adapter::Adapter;
use crate::decoder::config::DecoderConfig;
use crate::decoder::error::DecoderError;
use crate::decoder::files::file_names::CONFIG_FILE;
use crate::decoder::files::gguf::GgufFile;
use crate::decoder::files::origin::Origin;
use crate::decoder::files::replacement;
use crate::decoder::files::settings_file;
use crate::decoder::files::stored_weights::Stored;
use crate::decoder::files::weights::{NormForm, Part, WeightFile, Weights};
use crate::decoder::sources::tokens::SourceTokens;
use crate::decoder::text::chat::ChatTemplate;
use crate::decoder::text::prompt_form::PromptForm;
use crate::decoder::text::read_as::ReadAs;
use crate::decoder::text::tokenizer::{self, Reading, TextTokenizer};
use crate::fingerprint::{extended, of_files};

/// A decoder's opened files, to load it or to train it further.
pub struct Checkpoint {
    pub(in crate::decoder) config: DecoderConfig,
    pub(in crate::decoder) weights: Weights,
    pub(in crate::decoder) tokenizer: TextTokenizer,
    pub(in crate::decoder) chat: Option<ChatTemplate>,
    pub(in crate::decoder) end_tokens: Vec<u32>,
    pub(in crate::decoder) prompt_form: PromptForm,
    /// The record of its training, if ken trained it.
    pub(in crate::decoder) origin: Option<Origin>,
    pub(in crate::decoder) fingerprint: String,
}

impl Checkpoint {
    /// Opens a `.gguf` file, or a folder with `config.json`, safetensors and `tokenizer.json`, and an
    /// adapter on top.
    ///
    /// # Errors
    /// A file that is missing, broken or truncated; an architecture, quantization or tokenizer that
    /// is not supported; an adapter that was made for another model.
    pub fn open(path: &Path, adapter: Option<&Path>) -> Result<Self, DecoderError> {
        let base = if path.is_dir() {
            Self::open_folder(path)
        } else {
            Self::open_gguf(path)
        }?;
        let opened = match adapter {
            Some(folder) => base.adapted(Adapter::open(folder)?)?,
            None => base,
        };
        if let Some(sources) = opened.sources() {
            // The file names come from a file that may have been tampered with.
            opened.config.known(sources.all())?;
        }
        Ok(opened)
    }

    fn open_gguf(path: &Path) -> Result<Self, DecoderError> {
        let (config, file) = gguf_headers(path)?;
        let metadata = file.metadata();
        let beside = path.with_file_name("tokenizer.json");
        let (tokenizer, of_tokenizer) = if beside.exists() {
            let content = tokenizer::read(&beside)?;
            (TextTokenizer::from_json(&beside, &content)?, content)
        } else {
            (TextTokenizer::from_gguf(&metadata)?, Vec::new())
        };
        let chat = ChatTemplate::from_gguf(&metadata)?;
        let mut end_tokens: Vec<u32> = ["eos", "eot", "eom"]
            .iter()
            .filter_map(|kind| metadata.optional_number(&format!("tokenizer.ggml.{kind}_token_id")))
            .map(|id| id as u32)
            .collect();
        add_known_end_tokens(&tokenizer, &mut end_tokens);
        // The same file has everything else that affects answers.
        let fingerprint = extended(&of_files(&[file.file()])?, &[&of_tokenizer]);
        Ok(Self {
            config,
            weights: Weights::new(WeightFile::Gguf(file)),
            tokenizer,
            chat,
            end_tokens,
            prompt_form: PromptForm::default(),
            origin: None,
            fingerprint,
        })
    }

    fn open_folder(folder: &Path) -> Result<Self, DecoderError> {
        let (config, file) = folder_headers(folder)?;
        let config_path = folder.join(CONFIG_FILE);
        let prompt_form = PromptForm::from_hugging_face(&config_path)?;
        let origin = Origin::read(folder)?;
        let tokenizer_path = folder.join("tokenizer.json");
        let of_tokenizer = tokenizer::read(&tokenizer_path)?;
        let tokenizer = TextTokenizer::from_json(&tokenizer_path, &of_tokenizer)?;
        let chat = ChatTemplate::from_folder(folder)?;
        let mut end_tokens = end_tokens_of_folder(folder);
        add_known_end_tokens(&tokenizer, &mut end_tokens);
        let template = chat.as_ref().map(|chat| (chat.source(), chat.ends()));
        let settings = format!("{} {template:?} {end_tokens:?}", config.told());
        let parts: [&[u8]; 2] = [settings.as_bytes(), &of_tokenizer];
        let mut fingerprint = extended(&of_files(&file.files())?, &parts);
        if prompt_form != PromptForm::default() {
            // The same weights answer differently in another form.
            fingerprint = extended(&fingerprint, &[prompt_form.to_string().as_bytes()]);
        }
        if let Some(sources) = origin.as_ref().and_then(|origin| origin.sources.as_ref()) {
            fingerprint = extended(&fingerprint, &[format!("{sources:?}").as_bytes()]);
        }
        Ok(Self {
            config,
            weights: Weights::new(file),
            tokenizer,
            chat,
            end_tokens,
            prompt_form,
            origin,
            fingerprint,
        })
    }

    /// The model with an adapter, which makes it another model.
    fn adapted(self, adapter: Adapter) -> Result<Self, DecoderError> {
        let modules: Vec<(String, [usize; 2])> = matrices(&self.config)
            .map(|(layer, part, shape)| (part.module(layer), shape))
            .collect();
        adapter.check(&self.fingerprint, &modules, &self.config)?;
        let fingerprint = extended(&self.fingerprint, &[adapter.fingerprint().as_bytes()]);
        let prompt_form = adapter.origin().map_or(self.prompt_form, |o| o.prompt);
        Ok(Self {
            prompt_form,
            origin: adapter.origin().cloned().or(self.origin),
            weights: self.weights.with(adapter),
            fingerprint,
            ..self
        })
    }

    /// The architecture.
    pub fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// Identifies the weights, an adapter's included, and what else affects answers.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether embedding and output projection are tied.
    pub fn is_tied(&self) -> bool {
        !self.weights.has_output()
    }

    /// The folder that it was read from, if it was a folder.
    pub(in crate::decoder) fn folder(&self) -> Option<&Path> {
        self.weights.folder()
    }

    /// The tokens that end its texts.
    pub fn end_tokens(&self) -> &[u32] {
        &self.end_tokens
    }

    /// The form of prompts with instruction and examples.
    pub fn prompt_form(&self) -> PromptForm {
        self.prompt_form
    }

    /// How the model reads prompts if the caller chose `chosen`, and its fingerprint then: measurements with one form
    /// must not be used with another.
    ///
    /// # Errors
    /// A conversation with a model without a chat template.
    pub(in crate::decoder) fn read_as(
        &self,
        chosen: Option<ReadAs>,
    ) -> Result<(ReadAs, String), DecoderError> {
        let own = ReadAs::Text(self.prompt_form);
        let read_as = chosen.unwrap_or(own);
        if read_as == ReadAs::Chat && self.chat.is_none() {
            return Err(DecoderError::NoChatTemplate);
        }
        let fingerprint = match read_as == own {
            true => self.fingerprint.clone(),
            false => extended(&self.fingerprint, &[read_as.to_string().as_bytes()]),
        };
        Ok((read_as, fingerprint))
    }

    /// The record of its last training; `None` if another program trained it.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// The tokens by which it chooses a source, if it was trained to.
    pub fn sources(&self) -> Option<&SourceTokens> {
        self.origin.as_ref()?.sources.as_ref()
    }

    /// The tokens of a prompt in a form, and of the output after it, in the way that a model reads and writes them
    /// when it answers: the output follows a space and ends with the line. A model that chooses its source reads
    /// knowledge between its marks, whatever the form.
    ///
    /// # Errors
    /// A text that the tokenizer refuses, a token that the model does not know.
    pub fn example(
        &self,
        prompt: &Prompt,
        form: PromptForm,
        output: &str,
    ) -> Result<(Vec<u32>, Vec<u32>), DecoderError> {
        if let (Some(tokens), Some(sourced)) = (self.sources(), &prompt.sourced) {
            let read = self.sourced(tokens, sourced)?;
            return Ok((read.concat(), self.output(output)?));
        }
        let (shared, rest) = form.text(prompt);
        self.continued(&format!("{shared}{rest}"), &completion(output))
    }

    /// The tokens of an output after its prompt, see [`Checkpoint::example`].
    ///
    /// # Errors
    /// As [`Checkpoint::example`].
    pub fn output(&self, output: &str) -> Result<Vec<u32>, DecoderError> {
        let tokens = self
            .tokenizer
            .encode_continuation(&completion(output), Reading::Plain)?;
        self.config.known(tokens)
    }

    /// The tokens of a text, and of another that continues it.
    ///
    /// # Errors
    /// As [`Checkpoint::example`].
    pub fn continued(
        &self,
        text: &str,
        continuation: &str,
    ) -> Result<(Vec<u32>, Vec<u32>), DecoderError> {
        let text = self.tokenizer.encode(text, Reading::Plain, true)?;
        let continuation = self
            .tokenizer
            .encode_continuation(continuation, Reading::Plain)?;
        Ok((self.config.known(text)?, self.config.known(continuation)?))
    }

    /// All weights in 32 bits under their Hugging Face names, with an adapter merged in. Tensors are read one at a
    /// time; files that changed meanwhile are an error at the end.
    pub fn tensors(&self) -> impl Iterator<Item = Result<(String, Tensor), DecoderError>> + '_ {
        let config = &self.config;
        let dense = |stored: Result<Option<Stored>, DecoderError>| {
            stored?.map(|stored| stored.dense()).transpose()
        };
        let ends = [
            "model.embed_tokens.weight",
            "model.norm.weight",
            "lm_head.weight",
        ];
        let ends = ends.into_iter().filter_map(move |name| {
            let tensor = match name {
                "model.norm.weight" => self.weights.norm(config, NormForm::HuggingFace).map(Some),
                "lm_head.weight" => dense(self.weights.output(config)),
                _ => dense(self.weights.embedding(config).map(Some)),
            };
            tensor
                .transpose()
                .map(|tensor| Ok((name.to_owned(), tensor?)))
        });
        let matrices = matrices(config).map(|(layer, part, shape)| {
            let tensor = self.weights.matrix(config, layer, part, shape)?.dense()?;
            Ok((format!("{}.weight", part.module(layer)), tensor))
        });
        let norms = norms(config).into_iter().map(|(layer, part, width)| {
            let form = NormForm::HuggingFace;
            let tensor = self
                .weights
                .block_norm(config.family, layer, part, width, form)?;
            Ok((format!("{}.weight", part.module(layer)), tensor))
        });
        let biases = biases(config).into_iter().map(|(layer, part, width)| {
            let tensor = self.weights.bias(layer, part, width)?;
            Ok((format!("{}.bias", part.module(layer)), tensor))
        });
        let unchanged = std::iter::once_with(|| self.weights.check_unchanged().err().map(Err));
        ends.chain(matrices)
            .chain(norms)
            .chain(biases)
            .chain(unchanged.flatten())
    }
}

/// The architecture of a decoder and its weights' files. Only their headers are read.
pub(in crate::decoder) fn headers(path: &Path) -> Result<(DecoderConfig, Weights), DecoderError> {
    let (config, file) = if path.is_dir() {
        folder_headers(path)?
    } else {
        let (config, file) = gguf_headers(path)?;
        (config, WeightFile::Gguf(file))
    };
    Ok((config, Weights::new(file)))
}

fn gguf_headers(path: &Path) -> Result<(DecoderConfig, GgufFile), DecoderError> {
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
    config.check_tensors(path, file.tensors())?;
    if let Some(bias) = unknown_bias(&config, &file) {
        let reason = format!("its bias `{bias}` is not supported");
        return Err(DecoderError::invalid(path, reason));
    }
    Ok((config, file))
}

/// A bias of the first block that the family does not have.
fn unknown_bias(config: &DecoderConfig, file: &GgufFile) -> Option<String> {
    let of_attention = ["attn_q", "attn_k", "attn_v"].into_iter();
    let of_attention = of_attention.filter(|_| !config.family.has_biases());
    of_attention
        .chain(["attn_output", "ffn_gate", "ffn_up", "ffn_down"])
        .map(|part| format!("blk.0.{part}.bias"))
        .find(|name| file.shape(name).is_some())
}

fn folder_headers(folder: &Path) -> Result<(DecoderConfig, WeightFile), DecoderError> {
    let config_path = folder.join(CONFIG_FILE);
    if !config_path.exists() {
        let path = folder.to_path_buf();
        return Err(match replacement::is_begun(folder) {
            true => DecoderError::IncompleteModel {
                path,
                missing: CONFIG_FILE,
            },
            false => DecoderError::NotAModel { path },
        });
    }
    let config = DecoderConfig::from_hugging_face(&config_path)?;
    let file = WeightFile::open_safetensors(folder)?;
    config.check_tensors(&config_path, file.tensors())?;
    Ok((config, file))
}

/// An output in the form in which it follows its prompt.
fn completion(output: &str) -> String {
    format!(" {output}\n")
}

/// The projections of all blocks, `(layer, part, [rows, columns])`, as stored.
pub(in crate::decoder) fn matrices(
    config: &DecoderConfig,
) -> impl Iterator<Item = (usize, Part, [usize; 2])> {
    (0..config.layers).flat_map(|layer| {
        let attention = attention_matrices(config).into_iter();
        attention
            .chain(feed_forward_matrices(config, layer))
            .map(move |(part, shape)| (layer, part, shape))
    })
}

fn attention_matrices(config: &DecoderConfig) -> Vec<(Part, [usize; 2])> {
    let (hidden, queries) = (config.hidden, config.heads * config.head_width);
    let parts = Part::of_attention(config).into_iter();
    let parts = parts.map(|(part, rows)| (part, [rows, hidden]));
    let output = (Part::AttentionOutput, [hidden, queries]);
    parts.chain([output]).collect()
}

fn feed_forward_matrices(config: &DecoderConfig, layer: usize) -> Vec<(Part, [usize; 2])> {
    let (hidden, width) = (config.hidden, config.intermediate);
    if let Some(experts) = config.experts_in(layer) {
        let width = experts.intermediate;
        let of_expert = |index| {
            [
                (Part::ExpertGate(index), [width, hidden]),
                (Part::ExpertUp(index), [width, hidden]),
                (Part::ExpertDown(index), [hidden, width]),
            ]
        };
        let router = (Part::Router, [experts.count, hidden]);
        let experts = (0..experts.count).flat_map(of_expert);
        return [router].into_iter().chain(experts).collect();
    }
    let parts = Part::of_gate(config).into_iter();
    let parts = parts.map(|(part, rows)| (part, [rows, hidden]));
    parts.chain([(Part::Down, [hidden, width])]).collect()
}

/// The norms of all blocks, `(layer, part, width)`.
pub(in crate::decoder) fn norms(config: &DecoderConfig) -> Vec<(usize, Part, usize)> {
    let (family, hidden) = (config.family, config.hidden);
    let mut parts = vec![
        (Part::AttentionNorm, hidden),
        (Part::feed_forward_norm(family), hidden),
    ];
    if family.norms_outputs() {
        parts.extend([
            (Part::PostAttentionNorm, hidden),
            (Part::PostFeedForwardNorm, hidden),
        ]);
    }
    if family.norms_heads() {
        parts.extend([
            (Part::QueryNorm, config.head_width),
            (Part::KeyNorm, config.head_width),
        ]);
    }
    in_each_layer(config, &parts)
}

/// The biases of all blocks, `(layer, part, width)`.
pub(in crate::decoder) fn biases(config: &DecoderConfig) -> Vec<(usize, Part, usize)> {
    match config.family.has_biases() {
        true => in_each_layer(config, &Part::of_attention(config)),
        false => Vec::new(),
    }
}

/// The parts of every block, with their shapes.
fn in_each_layer<T: Copy>(config: &DecoderConfig, parts: &[(Part, T)]) -> Vec<(usize, Part, T)> {
    (0..config.layers)
        .flat_map(|layer| parts.iter().map(move |&(part, known)| (layer, part, known)))
        .collect()
}

/// Chat formats end a turn with tokens that not every checkpoint declares as an end.
fn add_known_end_tokens(tokenizer: &TextTokenizer, end_tokens: &mut Vec<u32>) {
    let known = [
        "<|im_end|>",
        "<|eot_id|>",
        "<|end|>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<end_of_turn>",
    ];
    end_tokens.extend(known.iter().filter_map(|token| tokenizer.id(token)));
    end_tokens.sort_unstable();
    end_tokens.dedup();
}

/// The end tokens in `generation_config.json` or `config.json`: one id or several.
fn end_tokens_of_folder(folder: &Path) -> Vec<u32> {
    ["generation_config.json", "config.json"]
        .iter()
        .filter_map(|name| settings_file::read::<Value>(&folder.join(name)).ok())
        .find_map(|config| match config.get("eos_token_id")? {
            Value::Array(ids) => Some(
                ids.iter()
                    .filter_map(|id| id.as_u64())
                    .map(|id| id as u32)
                    .collect(),
            ),
            id => Some(vec![id.as_u64()? as u32]),
        })
        .unwrap_or_default()
}

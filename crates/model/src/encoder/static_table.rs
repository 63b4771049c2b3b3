//! Static embedders: a table of one vector per token, and the mean over a text's tokens; no network. They are read
//! from files of model2vec and sentence-transformers. Hundreds of times as fast as a network, and less apt to find
//! paraphrases.

use std::ops::Range;
use std::path::Path;

use ken_language::{Embedder, ModelError, Role};
use rayon::prelude::*;
use safetensors::tensor::Dtype;
use serde::Deserialize;

use super::config_file::{optional, read_file};
use super::error::EncoderError;
use super::network::{bytes, decode, misshapen, missing, of_type, open};
use super::settings::{self, Own};
use super::slices::{Class, in_slices};
use super::tokens::{Input, Tokens};
use super::{FEW_TEXTS, normalize};
use crate::fingerprint::{extended, of_files};
use crate::small_file::MOST_TOKENIZER_BYTES;
use crate::tensor_file::TensorFile;

type Result<T, E = EncoderError> = std::result::Result<T, E>;

/// The longest input of a model that states none.
const MOST_TOKENS: usize = 1 << 20;

/// model2vec's default.
const USUAL_MOST_TOKENS: usize = 512;

/// The folder of this module in models of sentence-transformers.
const MODULE: &str = "0_StaticEmbedding";

/// A static embedder, loaded and ready. It can be shared between threads.
pub(super) struct StaticEmbedder {
    tokens: Tokens,
    /// `[rows, width]`
    table: Vec<f32>,
    width: usize,
    /// The row of each token.
    mapping: Vec<usize>,
    /// The factor of each token's vector.
    weights: Vec<f32>,
    rules: Rules,
    own: Own,
    fingerprint: String,
}

/// How texts are read.
struct Rules {
    normalize: bool,
    max_tokens: usize,
    /// The most characters of a text that are read.
    characters: usize,
    /// The token of unknown words, if these are left out.
    unknown: Option<u32>,
}

/// What model2vec writes.
#[derive(Deserialize)]
struct Config {
    model_type: Option<String>,
    #[serde(default)]
    normalize: bool,
    #[serde(default = "usual_most_tokens")]
    max_length: Option<usize>,
}

fn usual_most_tokens() -> Option<usize> {
    Some(USUAL_MOST_TOKENS)
}

/// The part of `tokenizer.json` that names the token of unknown words.
#[derive(Deserialize)]
struct TokenizerFile {
    model: TokenizerModel,
}

#[derive(Deserialize)]
struct TokenizerModel {
    unk_token: Option<String>,
    unk_id: Option<u32>,
}

/// Whether the folder of a model holds a static embedder.
pub(super) fn is_static(dir: &Path) -> Result<bool> {
    if settings::has_module(dir, "StaticEmbedding")? {
        return Ok(true);
    }
    let config: Option<Config> = optional(&dir.join("config.json")).unwrap_or_default();
    Ok(config.is_some_and(|config| config.model_type.as_deref() == Some("model2vec")))
}

impl StaticEmbedder {
    /// Loads the embedder in a folder: `model.safetensors` and `tokenizer.json`, there or in the folder of
    /// sentence-transformers' module, and model2vec's `config.json`, if there is one.
    ///
    /// # Errors
    /// Files that are missing or broken.
    pub(super) fn load(dir: &Path) -> Result<Self> {
        let folder = match dir.join(MODULE) {
            module if module.is_dir() => module,
            _ => dir.to_owned(),
        };
        let file = open(&folder.join("model.safetensors"))?;
        let (width, table) = table(&file)?;
        let tokenizer_path = folder.join("tokenizer.json");
        let tokenizer = read_file(&tokenizer_path, MOST_TOKENIZER_BYTES)?;
        let config: Option<Config> = optional(&dir.join("config.json"))?;
        let max_tokens = config.as_ref().and_then(|config| config.max_length);
        let max_tokens = max_tokens.unwrap_or(MOST_TOKENS).clamp(1, MOST_TOKENS);
        let tokens = Tokens::parse(&tokenizer_path, &tokenizer, max_tokens, Input::Bare)?;
        let rules = match config {
            Some(config) => Rules {
                normalize: config.normalize,
                max_tokens,
                characters: max_tokens.saturating_mul(tokens.median_characters()),
                unknown: unknown(&tokenizer_path, &tokenizer, &tokens)?,
            },
            None => Rules {
                normalize: settings::has_module(dir, "Normalize")?,
                max_tokens,
                characters: usize::MAX,
                unknown: None,
            },
        };
        let own = settings::own(dir, width, None)?;
        let numbers = [
            max_tokens,
            own.kept,
            rules.characters,
            usize::from(rules.normalize),
        ];
        let numbers = numbers.map(|number| (number as u64).to_le_bytes());
        let mut parts = vec![tokenizer.as_slice(), b"static"];
        parts.extend(numbers.iter().map(<[u8; 8]>::as_slice));
        let prefixes = &own.prefixes;
        parts.extend([prefixes.query.as_bytes(), prefixes.passage.as_bytes()]);
        let fingerprint = extended(&of_files(&[file.file()])?, &parts);
        let mapping = mapping(&file, table.len() / width)?;
        let weights = numbers_of(&file, "weights", &[mapping.len()])?;
        Ok(Self {
            weights: weights.unwrap_or_else(|| vec![1.0; mapping.len()]),
            tokens,
            table,
            width,
            mapping,
            rules,
            own,
            fingerprint,
        })
    }

    fn embed_all(&self, class: Class, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>> {
        if class == Class::Awaited && texts.len() <= FEW_TEXTS {
            return texts
                .iter()
                .map(|text| self.embed_one(text, role))
                .collect();
        }
        let tokens = |text: &&str| self.tokens.estimate(text);
        in_slices(texts, class, tokens, |texts| {
            let embedded = texts.par_iter().map(|text| self.embed_one(text, role));
            embedded.collect()
        })
    }

    /// The mean of the vectors of a text's tokens; zeros if no token is known.
    fn embed_one(&self, text: &str, role: Role) -> Result<Vec<f32>> {
        let text = self.own.prefixed(text, role);
        let end = text.char_indices().nth(self.rules.characters);
        let read = &text[..end.map_or(text.len(), |(end, _)| end)];
        let mut ids = self.tokens.bare(read)?;
        ids.retain(|&id| Some(id) != self.rules.unknown);
        let mut sum = vec![0.0; self.width];
        for &id in &ids {
            let row = self.row(id)?;
            let weight = self.weights[id as usize];
            for (sum, number) in sum.iter_mut().zip(row) {
                *sum += weight * number;
            }
        }
        let count = ids.len().max(1) as f32;
        sum.iter_mut().for_each(|number| *number /= count);
        sum.truncate(self.own.kept);
        if self.rules.normalize {
            normalize(&mut sum);
        }
        Ok(sum)
    }

    /// The vector of a token.
    fn row(&self, id: u32) -> Result<&[f32]> {
        let vocabulary = self.mapping.len();
        let Some(row) = self.mapping.get(id as usize) else {
            return Err(EncoderError::UnknownToken { id, vocabulary });
        };
        Ok(&self.table[row * self.width..][..self.width])
    }
}

impl Embedder for StaticEmbedder {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn dimensions(&self) -> usize {
        self.own.kept
    }

    fn max_tokens(&self) -> Option<usize> {
        Some(self.rules.max_tokens)
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(self.embed_all(Class::Awaited, texts, role)?)
    }

    fn embed_in_background(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(self.embed_all(Class::Background, texts, role)?)
    }

    fn is_cut(&self, text: &str, role: Role) -> Result<bool, ModelError> {
        let text = self.own.prefixed(text, role);
        let is_long = text.chars().nth(self.rules.characters).is_some();
        Ok(is_long || self.tokens.is_cut(&text)?)
    }

    fn token_spans(&self, text: &str) -> Result<Vec<Range<usize>>, ModelError> {
        Ok(self.tokens.spans(text)?)
    }
}

/// The table, with the length of its rows.
fn table(file: &TensorFile) -> Result<(usize, Vec<f32>)> {
    let names = ["embeddings", "embedding.weight"];
    let tensors = names
        .into_iter()
        .find_map(|name| Some((name, file.info(name)?)));
    let Some((name, info)) = tensors else {
        return Err(missing(file, names[0]));
    };
    let &[rows, width] = info.shape.as_slice() else {
        return Err(misshapen(file, name, &[0, 0], &info.shape));
    };
    let numbers = numbers_of(file, name, &[rows, width])?.unwrap_or_default();
    if numbers.is_empty() {
        return Err(misshapen(file, name, &[1, 1], &info.shape));
    }
    if !numbers.iter().all(|number| number.is_finite()) {
        return Err(EncoderError::NotFinite(file.file().path().to_owned()));
    }
    Ok((width, numbers))
}

/// The row of each token: its own, unless tokens share rows.
fn mapping(file: &TensorFile, rows: usize) -> Result<Vec<usize>> {
    let Some(info) = file.info("mapping") else {
        return Ok((0..rows).collect());
    };
    let bytes = bytes(file, info)?;
    let read: Vec<usize> = match info.dtype {
        Dtype::I64 => each(&bytes, |bytes| i64::from_le_bytes(bytes) as usize),
        Dtype::I32 => each(&bytes, |bytes| i32::from_le_bytes(bytes) as usize),
        _ => return Err(of_type(file, "mapping", info.dtype)),
    };
    match read.iter().all(|&row| row < rows) {
        true => Ok(read),
        false => Err(EncoderError::Weights {
            path: file.file().path().to_owned(),
            reason: "its mapping names rows that its table does not have".to_owned(),
        }),
    }
}

/// The numbers of a tensor of this shape; `None` if there is no tensor of this name.
fn numbers_of(file: &TensorFile, name: &str, shape: &[usize]) -> Result<Option<Vec<f32>>> {
    let Some(info) = file.info(name) else {
        return Ok(None);
    };
    if info.shape != shape {
        return Err(misshapen(file, name, shape, &info.shape));
    }
    let bytes = bytes(file, info)?;
    Ok(Some(match info.dtype {
        Dtype::I8 => bytes.iter().map(|&byte| f32::from(byte as i8)).collect(),
        Dtype::F64 => each(&bytes, |bytes| f64::from_le_bytes(bytes) as f32),
        Dtype::F32 | Dtype::F16 | Dtype::BF16 => {
            let mut numbers = vec![0.0; shape.iter().product()];
            decode(&bytes, info.dtype, &mut numbers);
            numbers
        }
        other => return Err(of_type(file, name, other)),
    }))
}

/// Reads numbers of a width.
fn each<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|&bytes| read(bytes)).collect()
}

/// The token of unknown words, which model2vec leaves out.
fn unknown(path: &Path, content: &[u8], tokens: &Tokens) -> Result<Option<u32>> {
    let file: TokenizerFile =
        serde_json::from_slice(content).map_err(|source| EncoderError::Json {
            path: path.to_owned(),
            source,
        })?;
    let TokenizerModel { unk_token, unk_id } = file.model;
    Ok(unk_token.and_then(|token| tokens.id(&token)).or(unk_id))
}

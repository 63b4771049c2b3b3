//! Encoders on the CPU: sentence embedders, which map a text to a vector, and cross-encoders ([`CrossEncoder`]),
//! which map a pair of texts to a score. They read a model's folder; other crates download models and store vectors.

mod batches;
mod config_file;
mod cross_encoder;
mod error;
mod fingerprint;
mod network;
mod prefixes;
mod settings;
mod slices;
mod static_table;
mod together;
mod tokens;

use std::ops::Range;
use std::path::Path;

use ken_language::{Embedder, ModelError, Role};
use rayon::prelude::*;

pub use cross_encoder::CrossEncoder;
pub use error::EncoderError;
use network::Weights;
pub use prefixes::Prefixes;
use settings::{Pooling, Settings};
use slices::{Class, in_slices};
use static_table::StaticEmbedder;
use together::Together;
use tokens::{Input, Sequence, Tokens};

use crate::fingerprint::of_files;
use crate::kernels::Precision;
use crate::kernels::matrix::WeightFormat;
use crate::small_file::MOST_TOKENIZER_BYTES;

/// A call with more texts than this is computed in slices, however short they are.
const FEW_TEXTS: usize = 8;

/// A call with more tokens than this is also computed in slices; a question has fewer.
const FEW_TOKENS: usize = 512;

/// Loads the embedder in the folder `dir`, with a network or static.
///
/// # Errors
/// Files that are missing, broken or of an unsupported model.
pub fn open(dir: &Path, precision: Precision) -> Result<Box<dyn Embedder>, EncoderError> {
    Ok(match static_table::is_static(dir)? {
        true => Box::new(StaticEmbedder::load(dir)?),
        false => Box::new(Encoder::load(dir, precision)?),
    })
}

/// A sentence embedder with a network, loaded and ready. It can be shared between threads. Its fingerprint hashes the
/// weights, the tokenizer, the pooling, the prefixes and the longest input; the precision counts as rounding.
pub struct Encoder {
    settings: Settings,
    tokens: Tokens,
    weights: Weights,
    fingerprint: String,
    calls: Together<Vec<f32>>,
}

impl Encoder {
    /// Loads the embedder in the folder `dir`: `config.json`, `tokenizer.json`, `model.safetensors` and, if present,
    /// the files of sentence-transformers (`modules.json`, the pooling's `config.json`, `sentence_bert_config.json`,
    /// `config_sentence_transformers.json`). The prefixes are those in these files, else those of the family that the
    /// model's name indicates, else none. `auto` is 32 bits.
    pub fn load(dir: &Path, precision: Precision) -> Result<Self, EncoderError> {
        let settings = settings::read(dir)?;
        let file = network::open(&dir.join("model.safetensors"))?;
        let tokenizer_path = dir.join("tokenizer.json");
        let tokenizer = config_file::read_file(&tokenizer_path, MOST_TOKENIZER_BYTES)?;
        let hashed = file.clone();
        let (tokens, (of_weights, weights)) = rayon::join(
            || {
                Tokens::parse(
                    &tokenizer_path,
                    &tokenizer,
                    settings.max_tokens,
                    Input::Text,
                )
            },
            || {
                rayon::join(
                    || of_files(&[hashed.file()]),
                    || network::read(file, &settings.network, weight_format(precision)),
                )
            },
        );
        let fingerprint = fingerprint::of_embedder(&of_weights?, &tokenizer, &settings);
        Ok(Self {
            tokens: tokens?,
            weights: weights?,
            settings,
            fingerprint,
            calls: Together::default(),
        })
    }

    /// The embeddings of `texts`, in their order, each of [`Embedder::dimensions`] numbers; of
    /// length 1 if the model normalizes. Each text gets the prefix of `role` and is truncated to
    /// [`Embedder::max_tokens`]. An empty text has an embedding too.
    /// Calls of a few short texts from many threads are computed together, on rayon's pool; all others in slices, on
    /// separate threads and by turns, so that a question never waits for them. The other texts affect a text's
    /// embedding only by rounding.
    pub fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EncoderError> {
        self.embed_as(Class::Awaited, texts, role)
    }

    fn embed_as(
        &self,
        class: Class,
        texts: &[&str],
        role: Role,
    ) -> Result<Vec<Vec<f32>>, EncoderError> {
        let sequence = |text: &&str| {
            self.tokens
                .sequence(&self.settings.own.prefixed(text, role))
        };
        let compute = |sequences: &[Sequence]| {
            batches::compute_all(sequences, |batch| self.embed_batch(batch))
        };
        if class == Class::Background || texts.len() > FEW_TEXTS {
            let tokens = |text: &&str| self.tokens.estimate(text);
            return in_slices(texts, class, tokens, |texts| {
                compute(
                    &texts
                        .par_iter()
                        .map(sequence)
                        .collect::<Result<Vec<_>, _>>()?,
                )
            });
        }
        let sequences: Vec<Sequence> = texts.iter().map(sequence).collect::<Result<_, _>>()?;
        match sequences.iter().map(Sequence::len).sum::<usize>() <= FEW_TOKENS {
            true => self.calls.compute(sequences, compute),
            false => in_slices(&sequences, class, Sequence::len, compute),
        }
    }

    fn embed_batch(&self, sequences: &[&Sequence]) -> Result<Vec<Vec<f32>>, EncoderError> {
        let hidden = self.settings.network.hidden;
        let states = network::hidden_states(&self.weights, &self.settings.network, sequences)?;
        let mut rest = states.numbers.as_slice();
        let mut embeddings = Vec::with_capacity(sequences.len());
        for sequence in sequences {
            let (own, others) = rest.split_at(sequence.len() * hidden);
            rest = others;
            let mut embedding = match self.settings.pooling {
                Pooling::Cls => own.iter().take(hidden).copied().collect(),
                Pooling::Last => own[own.len().saturating_sub(hidden)..].to_vec(),
                Pooling::Mean => mean_of_rows(own, hidden),
            };
            // A text without tokens, from a tokenizer without special tokens, has the zero vector.
            embedding.resize(hidden, 0.0);
            embedding.truncate(self.settings.own.kept);
            if self.settings.normalize {
                normalize(&mut embedding);
            }
            self.weights.check_finite(&embedding)?;
            embeddings.push(embedding);
        }
        Ok(embeddings)
    }

    /// The prefixes of queries and passages.
    pub fn prefixes(&self) -> &Prefixes {
        &self.settings.own.prefixes
    }
}

impl Embedder for Encoder {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn dimensions(&self) -> usize {
        self.settings.own.kept
    }

    fn max_tokens(&self) -> Option<usize> {
        Some(self.settings.max_tokens)
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(Self::embed(self, texts, role)?)
    }

    fn embed_in_background(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(self.embed_as(Class::Background, texts, role)?)
    }

    fn is_cut(&self, text: &str, role: Role) -> Result<bool, ModelError> {
        Ok(self
            .tokens
            .is_cut(&self.settings.own.prefixed(text, role))?)
    }

    fn token_spans(&self, text: &str) -> Result<Vec<Range<usize>>, ModelError> {
        Ok(self.tokens.spans(text)?)
    }
}

/// How an encoder stores its weights; `auto` is 32 bits.
fn weight_format(precision: Precision) -> WeightFormat {
    match precision {
        Precision::Auto | Precision::F32 => WeightFormat::F32,
        Precision::Int8 => WeightFormat::Int8,
    }
}

/// The mean of rows of `columns` numbers; empty if there are none.
fn mean_of_rows(rows: &[f32], columns: usize) -> Vec<f32> {
    let mut mean = vec![0.0; columns];
    for row in rows.chunks_exact(columns) {
        for (sum, x) in mean.iter_mut().zip(row) {
            *sum += x;
        }
    }
    let count = (rows.len() / columns).max(1) as f32;
    mean.iter_mut().for_each(|x| *x /= count);
    mean
}

/// Scales a vector to length 1; a zero vector stays as it is.
pub(crate) fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
}

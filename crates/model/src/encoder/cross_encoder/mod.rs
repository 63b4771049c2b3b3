//! Cross-encoders: networks that read a query and a passage together and say how well the passage
//! answers the query. It ranks nothing, and cuts no passages but at the network's limit.

mod pairs;
mod settings;

use std::path::{Path, PathBuf};

use ken_language::{ModelError, PairScorer};
use rayon::prelude::*;

use pairs::Pairs;

use super::error::EncoderError;
use super::settings::{Dimensions, read_file};
use super::tokens::Sequence;
use super::weights::{self, Linear, Weights};
use super::{batches, fingerprint, forward};
use crate::kernels::Precision;
use crate::kernels::rows::Rows;
use crate::small_file::MOST_TOKENIZER_BYTES;

/// A cross-encoder of the BERT family with one output, loaded and ready. It can be shared between
/// threads.
pub struct CrossEncoder {
    dimensions: Dimensions,
    pairs: Pairs,
    weights: Weights,
    head: Head,
    weights_path: PathBuf,
    fingerprint: String,
}

/// What makes a score of the first token's state: an affine map, tanh, and an affine map to one
/// number. BERT calls the former its pooler, RoBERTa its classifier's dense layer.
struct Head {
    dense: Linear,
    out: Linear,
}

impl CrossEncoder {
    /// Loads the cross-encoder in the folder `dir`: `config.json`, `tokenizer.json`,
    /// `model.safetensors` and, where present, `tokenizer_config.json` with the longest input.
    /// `auto` is 32 bits; the head is always in 32.
    ///
    /// # Errors
    /// Files that are missing or broken, a model that is no cross-encoder or has several outputs.
    pub fn load(dir: &Path, precision: Precision) -> Result<Self, EncoderError> {
        let settings = settings::read(dir)?;
        let dimensions = settings.dimensions;
        let weights_path = dir.join("model.safetensors");
        let file = weights::open(&weights_path)?;
        let tokenizer_path = dir.join("tokenizer.json");
        let tokenizer = read_file(&tokenizer_path, MOST_TOKENIZER_BYTES)?;
        let fingerprint = fingerprint::of_cross_encoder(
            &weights::fingerprint(&file)?,
            &tokenizer,
            settings.max_tokens,
            &dimensions,
        );
        let pairs = Pairs::parse(
            &tokenizer_path,
            &tokenizer,
            settings.max_tokens,
            settings.head.tells_texts_apart(),
        )?;
        let linear = |name: &str, outputs: usize| {
            weights::read_linear(&file, name, dimensions.hidden, outputs)
        };
        let head = Head {
            dense: linear(settings.head.dense(), dimensions.hidden)?,
            out: linear(settings.head.out(), 1)?,
        };
        let weighing = super::weighing(precision);
        let weights = weights::read(file, &dimensions, weighing)?;
        Ok(Self {
            dimensions,
            pairs,
            weights,
            head,
            weights_path,
            fingerprint,
        })
    }

    /// How well each passage answers the query beside it, in the order of the pairs: the network's
    /// output as it is, a number of any size of which only the order matters, the larger the better.
    /// Where a pair is longer than [`CrossEncoder::max_tokens`], tokens are taken from the end of
    /// the longer of the two texts until it fits, so that a query of ordinary length stays whole.
    ///
    /// Uses all threads of rayon's pool. A pair's score depends on the other pairs by rounding only.
    ///
    /// # Errors
    /// A text that the tokenizer refuses, tokens that the model does not have, weights that give no
    /// numbers.
    pub fn score(&self, pairs: &[(&str, &str)]) -> Result<Vec<f32>, EncoderError> {
        let sequences: Vec<Sequence> = pairs
            .par_iter()
            .map(|(query, passage)| self.pairs.sequence(query, passage))
            .collect::<Result<_, _>>()?;
        batches::compute_all(&sequences, |batch| self.score_batch(batch))
    }

    fn score_batch(&self, sequences: &[&Sequence]) -> Result<Vec<f32>, EncoderError> {
        let states = forward::hidden_states(&self.weights, &self.dimensions, sequences)?;
        let firsts: Vec<usize> = sequences
            .iter()
            .scan(0, |next, sequence| {
                let first = *next;
                *next += sequence.len();
                Some(first)
            })
            .collect();
        let scores = self.head.apply(&states.select(&firsts))?.numbers;
        if scores.iter().any(|score| !score.is_finite()) {
            return Err(EncoderError::NotFinite {
                path: self.weights_path.clone(),
            });
        }
        Ok(scores)
    }

    /// The longest input in tokens, query, passage and special tokens together.
    pub fn max_tokens(&self) -> usize {
        self.pairs.max_tokens()
    }

    /// Tells this cross-encoder from any other that gives different scores, as
    /// [`Encoder::fingerprint`](super::Encoder::fingerprint) does for embedders.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

impl PairScorer for CrossEncoder {
    fn fingerprint(&self) -> &str {
        Self::fingerprint(self)
    }

    fn score(&self, pairs: &[(&str, &str)]) -> Result<Vec<f32>, ModelError> {
        Ok(Self::score(self, pairs)?)
    }
}

impl Head {
    /// # Shapes
    /// `firsts`: `[pairs, hidden]`; returns `[pairs, 1]`.
    fn apply(&self, firsts: &Rows) -> Result<Rows, EncoderError> {
        let mut pooled = forward::affine(&self.dense, firsts)?;
        pooled.numbers.iter_mut().for_each(|x| *x = x.tanh());
        forward::affine(&self.out, &pooled)
    }
}

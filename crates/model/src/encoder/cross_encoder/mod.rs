//! Cross-encoders: networks that read a query and a passage together and score how well the passage answers the
//! query. Callers rank; passages are truncated only at the network's limit.

mod settings;

use std::path::Path;

use ken_language::{ModelError, PairScorer};
use rayon::prelude::*;

use settings::Settings;

use super::config_file::read_file;
use super::error::EncoderError;
use super::network::{self, Linear, Weights};
use super::slices::{Class, in_slices};
use super::tokens::{Input, Sequence, Tokens};
use super::{batches, fingerprint};
use crate::fingerprint::of_files;
use crate::kernels::Precision;
use crate::kernels::rows::Rows;
use crate::small_file::MOST_TOKENIZER_BYTES;

/// A cross-encoder of the BERT family with one output, loaded and ready. It can be shared between
/// threads.
pub struct CrossEncoder {
    settings: Settings,
    tokens: Tokens,
    weights: Weights,
    head: Head,
    fingerprint: String,
}

/// Maps the first token's state to a score: an affine map, tanh, and an affine map to one number. BERT
/// calls the former its pooler, RoBERTa its classifier's dense layer.
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
    /// Files that are missing or broken, a model that is not a cross-encoder or has several outputs.
    pub fn load(dir: &Path, precision: Precision) -> Result<Self, EncoderError> {
        let settings = settings::read(dir)?;
        let own = &settings.network;
        let file = network::open(&dir.join("model.safetensors"))?;
        let tokenizer_path = dir.join("tokenizer.json");
        let tokenizer = read_file(&tokenizer_path, MOST_TOKENIZER_BYTES)?;
        let fingerprint = fingerprint::of_cross_encoder(
            &of_files(&[file.file()])?,
            &tokenizer,
            settings.max_tokens,
            own,
        );
        let tokens = Tokens::parse(
            &tokenizer_path,
            &tokenizer,
            settings.max_tokens,
            Input::Pair,
        )?;
        let linear =
            |name: &str, outputs: usize| network::read_linear(&file, name, own.hidden, outputs);
        let head = Head {
            dense: linear(settings.head.dense, own.hidden)?,
            out: linear(settings.head.out, 1)?,
        };
        Ok(Self {
            weights: network::read(file, own, super::weight_format(precision))?,
            settings,
            tokens,
            head,
            fingerprint,
        })
    }

    /// How well each passage answers the query of its pair, in the order of the pairs: the network's raw output, an
    /// unbounded number of which only the order matters; higher is more relevant. A pair longer than
    /// [`CrossEncoder::max_tokens`] is truncated from the end of the longer of the two texts until it fits, so that a
    /// query of ordinary length stays whole.
    ///
    /// Pairs are computed in slices, on separate threads and taking turns with other calls. The other pairs affect a
    /// pair's score only by rounding.
    ///
    /// # Errors
    /// A text that the tokenizer refuses, tokens that the model does not have, results that are not
    /// finite.
    pub fn score(&self, pairs: &[(&str, &str)]) -> Result<Vec<f32>, EncoderError> {
        let token_types = self.settings.head.token_types;
        let tokens = |(query, passage): &(&str, &str)| {
            self.tokens.estimate(query) + self.tokens.estimate(passage)
        };
        in_slices(pairs, Class::Awaited, tokens, |pairs| {
            let sequences: Vec<Sequence> = pairs
                .par_iter()
                .map(|(query, passage)| self.tokens.pair(query, passage, token_types))
                .collect::<Result<_, _>>()?;
            batches::compute_all(&sequences, |batch| self.score_batch(batch))
        })
    }

    fn score_batch(&self, sequences: &[&Sequence]) -> Result<Vec<f32>, EncoderError> {
        let states = network::hidden_states(&self.weights, &self.settings.network, sequences)?;
        let mut firsts = vec![0];
        for sequence in sequences {
            firsts.push(firsts[firsts.len() - 1] + sequence.len());
        }
        firsts.pop();
        let scores = self.head.apply(&states.select(&firsts))?.numbers;
        self.weights.check_finite(&scores)?;
        Ok(scores)
    }

    /// The longest input in tokens, query, passage and special tokens together.
    pub fn max_tokens(&self) -> usize {
        self.settings.max_tokens
    }
}

impl PairScorer for CrossEncoder {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn score(&self, pairs: &[(&str, &str)]) -> Result<Vec<f32>, ModelError> {
        Ok(Self::score(self, pairs)?)
    }
}

impl Head {
    /// # Shapes
    /// `firsts`: `[pairs, hidden]`; returns `[pairs, 1]`.
    fn apply(&self, firsts: &Rows) -> Result<Rows, EncoderError> {
        let mut pooled = network::affine(&self.dense, firsts)?;
        pooled.numbers.iter_mut().for_each(|x| *x = x.tanh());
        network::affine(&self.out, &pooled)
    }
}

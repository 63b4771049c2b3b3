//! A decoder in training: its trainable parameters and its differentiable forward pass.

mod block;
mod parts;

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{DType, Device, Tensor, Var};
use ken_model::decoder::{Activation, Checkpoint, DecoderConfig, Family, LayerSet};

use crate::error::TrainError;
use crate::lora::LoraSettings;
use crate::ops::{self, AttentionShape, Dropout};
use block::Block;
use parts::{Linear, Weights};

/// What is trained.
#[derive(Debug, Clone, PartialEq)]
pub enum Tuning {
    /// A LoRA adapter on frozen weights.
    Lora(LoraSettings),
    /// All weights.
    Full,
}

/// A decoder in training.
pub struct Trainable {
    pub(crate) config: DecoderConfig,
    pub(crate) tuning: Tuning,
    /// Whether the output projection is the embedding.
    tied: bool,
    /// The fingerprint of the base model.
    pub base: String,
    pub(crate) device: Device,
    pub(crate) dtype: DType,
    embedding: Tensor,
    /// Trainable embedding rows, in the order of the settings' tokens.
    rows: Option<Var>,
    blocks: Vec<Block>,
    norm: Tensor,
    output: Linear,
    /// The trainable parameters by name: Hugging Face's names of weights, PEFT's of adapter matrices.
    pub(crate) variables: BTreeMap<String, Var>,
}

/// Tokens to process and targets to predict.
#[derive(Default)]
pub(crate) struct Batch {
    /// The tokens of all sequences, concatenated.
    pub(crate) tokens: Vec<u32>,
    /// The length of each sequence.
    pub(crate) lengths: Vec<usize>,
    /// `(row, next token)`.
    pub(crate) targets: Vec<(usize, u32)>,
}

impl Trainable {
    /// Refuses a model with parts that the forward pass with gradients lacks.
    ///
    /// # Errors
    /// [`TrainError::Untrainable`].
    pub fn check(config: &DecoderConfig) -> Result<(), TrainError> {
        match untrainable(config) {
            Some(what) => Err(TrainError::Untrainable { what }),
            None => Ok(()),
        }
    }

    /// Loads a model for training.
    ///
    /// # Errors
    /// A model that [`Trainable::check`] refuses, unreadable weights, settings out of range, a module that the model does not have, a missing
    /// device.
    pub fn new(
        checkpoint: &Checkpoint,
        tuning: Tuning,
        device: ken_model::decoder::Device,
        seed: u64,
    ) -> Result<Self, TrainError> {
        Self::of_type(checkpoint, tuning, &device.opened()?, DType::F32, seed)
    }

    /// As [`Trainable::new`], in 32 or 64 bits.
    pub(crate) fn of_type(
        checkpoint: &Checkpoint,
        tuning: Tuning,
        device: &Device,
        dtype: DType,
        seed: u64,
    ) -> Result<Self, TrainError> {
        let config = checkpoint.config().clone();
        Self::check(&config)?;
        let mut tensors = BTreeMap::new();
        for named in checkpoint.tensors() {
            let (name, tensor) = named?;
            tensors.insert(name, tensor.to_device(device)?.to_dtype(dtype)?);
        }
        let mut weights = Weights::new(tensors, &tuning, seed)?;
        let embedding = weights.table(EMBEDDING)?;
        let output = if checkpoint.is_tied() {
            Linear::tied(&embedding, &tuning)?
        } else {
            weights.linear("lm_head")?
        };
        let blocks = (0..config.layers)
            .map(|layer| Block::new(&mut weights, &config, layer))
            .collect::<Result<Vec<_>, _>>()?;
        let norm = weights.table("model.norm.weight")?;
        let mut variables = weights.into_variables();
        let rows = match &tuning {
            Tuning::Lora(settings) if !settings.tokens.is_empty() => {
                let index = Tensor::new(settings.tokens.as_slice(), device)?;
                let rows = Var::from_tensor(&embedding.index_select(&index, 0)?)?;
                variables.insert(TOKEN_ROWS.to_owned(), rows.clone());
                Some(rows)
            }
            _ => None,
        };
        Ok(Self {
            tied: checkpoint.is_tied(),
            base: checkpoint.fingerprint().to_owned(),
            config,
            tuning,
            device: device.clone(),
            dtype,
            embedding,
            rows,
            blocks,
            norm,
            output,
            variables,
        })
    }

    /// The current values of the trainable parameters, by name.
    pub fn tensors(&self) -> BTreeMap<String, Tensor> {
        let variables = self.variables.iter();
        variables
            .map(|(name, variable)| (name.clone(), variable.as_tensor().clone()))
            .collect()
    }

    /// The number of trainable parameters.
    pub fn trainable_parameters(&self) -> usize {
        self.variables.values().map(|v| v.elem_count()).sum()
    }

    /// A copy of the trainable parameters.
    pub(crate) fn snapshot(&self) -> Result<BTreeMap<String, Tensor>, TrainError> {
        let copied = self.variables.iter().map(|(name, variable)| {
            let copy = variable.as_tensor().copy()?.detach();
            Ok((name.clone(), copy))
        });
        copied.collect()
    }

    /// Sets the trainable parameters.
    ///
    /// # Errors
    /// A tensor that is missing or has another shape.
    pub fn set(&self, learned: &BTreeMap<String, Tensor>) -> Result<(), TrainError> {
        for (name, variable) in &self.variables {
            let tensor = learned.get(name).ok_or_else(|| {
                TrainError::Compute(candle_core::Error::msg(format!("`{name}` is missing")))
            })?;
            let tensor = tensor.to_device(&self.device)?.to_dtype(self.dtype)?;
            variable.set(&tensor)?;
        }
        Ok(())
    }

    /// The natural-log probabilities of a batch's targets. `noise` is the dropout seed, a different one
    /// for every pass; `None` disables dropout.
    ///
    /// # Shapes
    /// Returns `[targets]`.
    pub(crate) fn forward(&self, batch: &Batch, noise: Option<u64>) -> Result<Tensor, TrainError> {
        let shape = Arc::new(self.attention_shape(&batch.lengths));
        let mut x = self.embed(&batch.tokens)?;
        for (layer, block) in self.blocks.iter().enumerate() {
            let dropout = |module: u64| self.dropout(noise, 16 * layer as u64 + module);
            x = block.forward(&x, &shape, self.config.norm_epsilon, &dropout)?;
        }
        let (rows, tokens): (Vec<u32>, Vec<u32>) = batch
            .targets
            .iter()
            .map(|&(row, token)| (row as u32, token))
            .unzip();
        let selected = Tensor::new(rows, &self.device)?;
        let x = x.index_select(&selected, 0)?;
        let x = ops::rms_norm(&x, &self.norm, self.config.norm_epsilon)?;
        let logits = self.logits(&x)?;
        Ok(ops::log_probabilities(&logits, &tokens)?)
    }

    /// Initializes the embedding row of a new token with the mean of other tokens' rows.
    ///
    /// # Errors
    /// A token whose row is not trained.
    pub fn begin_like(&self, token: u32, others: &[u32]) -> Result<(), TrainError> {
        let (learned, place) = match (&self.rows, &self.tuning) {
            (Some(rows), Tuning::Lora(settings)) => {
                let place = settings.tokens.iter().position(|t| *t == token);
                (Some(rows), place)
            }
            (None, Tuning::Full) => (self.variables.get(EMBEDDING), Some(token as usize)),
            _ => (None, None),
        };
        let Some((learned, place)) = learned.zip(place).filter(|_| !others.is_empty()) else {
            return Err(TrainError::NothingToLearn { what: "token" });
        };
        let index = |tokens: &[u32]| Tensor::new(tokens, &self.device);
        let others = self.embedding.index_select(&index(others)?, 0)?;
        let mean = others.mean_keepdim(0)?;
        let place = index(&[u32::try_from(place).unwrap_or(u32::MAX)])?;
        let change = (mean - learned.as_tensor().index_select(&place, 0)?)?;
        Ok(learned.set(&learned.as_tensor().index_add(&place, &change, 0)?)?)
    }

    /// `[tokens, hidden]`.
    fn embed(&self, tokens: &[u32]) -> Result<Tensor, TrainError> {
        let index = Tensor::new(tokens, &self.device)?;
        let x = self.embedding.index_select(&index, 0)?;
        let (Some(rows), Tuning::Lora(settings)) = (&self.rows, &self.tuning) else {
            return Ok(x);
        };
        let learned = |token: &u32| settings.tokens.iter().position(|t| t == token);
        let (places, which): (Vec<u32>, Vec<u32>) = tokens
            .iter()
            .enumerate()
            .filter_map(|(place, token)| Some((place as u32, learned(token)? as u32)))
            .unzip();
        if places.is_empty() {
            return Ok(x);
        }
        let places = Tensor::new(places, &self.device)?;
        let rows = rows.index_select(&Tensor::new(which, &self.device)?, 0)?;
        let own = x.index_select(&places, 0)?;
        Ok(x.index_add(&places, &(rows - own)?, 0)?)
    }

    /// `[rows, vocabulary]`.
    fn logits(&self, x: &Tensor) -> Result<Tensor, TrainError> {
        let logits = self.output.project(x, None)?;
        let (Some(rows), Tuning::Lora(settings), true) = (&self.rows, &self.tuning, self.tied)
        else {
            return Ok(logits);
        };
        let tokens = Tensor::new(settings.tokens.as_slice(), &self.device)?;
        let learned = ops::product(x, rows)?;
        let own = logits.index_select(&tokens, 1)?;
        Ok(logits.index_add(&tokens, &(learned - own)?, 1)?)
    }

    fn dropout(&self, noise: Option<u64>, module: u64) -> Option<Dropout> {
        let Tuning::Lora(settings) = &self.tuning else {
            return None;
        };
        let noise = noise.filter(|_| settings.dropout > 0.0)?;
        Some(Dropout {
            share: settings.dropout as f32,
            seed: seed_of(noise, module) as u32,
        })
    }

    fn attention_shape(&self, lengths: &[usize]) -> AttentionShape {
        // All layers are of one kind, see `untrainable`.
        let rotary = self.config.rotary(0);
        let rows: usize = lengths.iter().sum();
        let [mut cos, mut sin] = [(); 2].map(|()| Vec::with_capacity(rows * rotary.half()));
        let mut spans = Vec::with_capacity(lengths.len());
        let mut start = 0;
        for &length in lengths {
            spans.push(start..start + length);
            start += length;
            for position in 0..length {
                rotary.turn(position, &mut cos, &mut sin);
            }
        }
        AttentionShape {
            spans,
            heads: self.config.heads,
            kv_heads: self.config.kv_heads,
            width: self.config.head_width,
            window: self.config.window(0),
            cos,
            sin,
        }
    }
}

/// The parts of a model that the forward pass with gradients lacks.
fn untrainable(config: &DecoderConfig) -> Option<&'static str> {
    [
        (config.family == Family::Gemma3, "the family Gemma 3"),
        (
            (1..config.layers).any(|layer| config.window(layer) != config.window(0)),
            "layers of which only some attend within a sliding window",
        ),
        (
            config.activation != Activation::Silu,
            "gates of another activation than SiLU",
        ),
        (
            config.query_scalar != config.head_width as f64,
            "queries that are not scaled by the width of their heads",
        ),
        (config.experts.is_some(), "experts"),
        (
            config.rotated_width != config.head_width,
            "heads of which only a part is rotated",
        ),
        (
            config.rotated_layers != LayerSet::All,
            "layers of which only some rotate queries and keys",
        ),
        (
            config.query_growth.is_some(),
            "queries that grow with their position",
        ),
        (config.embedding_scale != 1.0, "scaled embeddings"),
        (config.residual_scale != 1.0, "scaled outputs of blocks"),
        (config.logit_divisor != 1.0, "scaled logits"),
    ]
    .into_iter()
    .find_map(|(is_present, what)| is_present.then_some(what))
}

/// The name of the embedding.
const EMBEDDING: &str = "model.embed_tokens.weight";
/// PEFT's name of the trainable embedding rows.
pub(crate) const TOKEN_ROWS: &str = "model.embed_tokens.token_adapter.trainable_tokens_delta";

/// Derives a seed from another, for one of several uses.
pub(crate) fn seed_of(seed: u64, use_: u64) -> u64 {
    ken_random::mixed(seed ^ use_.wrapping_mul(ken_random::STEP))
}

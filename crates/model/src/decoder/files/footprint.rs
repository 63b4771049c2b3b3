//! The size of a decoder and whether it fits into memory, known before its weights are read.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::available_memory;
use crate::decoder::config::DecoderConfig;
use crate::decoder::error::DecoderError;
use crate::decoder::files::checkpoint::{Checkpoint, headers, matrices};
use crate::decoder::files::size::{parameters, vectors};
use crate::decoder::files::weights::{Part, Weights};
use crate::decoder::graph::runtime::weight_format;
use crate::kernels::Precision;
use crate::kernels::low_rank::{LowRank, OwnRows};
use crate::kernels::matrix::WeightFormat;
use crate::kernels::quantized::{BlockType, QuantizedMatrix};

/// The size of a decoder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Footprint {
    /// The number of weights; tied embeddings count once.
    pub parameters: u64,
    /// The types in which the file stores matrices, the one with the most weights first.
    pub stored_as: Vec<String>,
    /// Bytes of memory that the weights take on the CPU.
    pub weight_bytes: u64,
    /// Bytes of memory that the keys and values of a token take.
    pub bytes_per_token: u64,
    /// The most tokens of a prompt and its answer.
    pub context_tokens: usize,
}

impl Checkpoint {
    /// The size of the decoder, including the adapter.
    ///
    /// # Errors
    /// A matrix that is missing, or that has another shape than the settings say.
    pub fn footprint(&self, precision: Precision) -> Result<Footprint, DecoderError> {
        Footprint::of(self.config(), &self.weights, precision)
    }
}

impl Footprint {
    /// The size of the decoder at a path. Reads only the headers of its files.
    ///
    /// # Errors
    /// As [`Checkpoint::open`], for the content of headers, and as [`Checkpoint::footprint`].
    pub fn read(path: &Path, precision: Precision) -> Result<Self, DecoderError> {
        let (config, weights) = headers(path)?;
        Self::of(&config, &weights, precision)
    }

    fn of(
        config: &DecoderConfig,
        weights: &Weights,
        precision: Precision,
    ) -> Result<Self, DecoderError> {
        let parameters = parameters(config, weights);
        let format = weight_format(parameters, precision);
        let table = [config.vocabulary, config.hidden];
        let mut sum = Sum::default();
        for (layer, part, shape) in matrices(config) {
            let (name, block) = weights.matrix_type(config, layer, part, shape)?;
            if part == Part::Router {
                sum.add(shape, name, bytes(shape, None, WeightFormat::F32));
                continue;
            }
            sum.add(shape, name, bytes(shape, block, format));
            // On top of floats it is merged.
            let added = weights.added_rank(layer, part).filter(|_| block.is_some());
            sum.bytes += added.map_or(0, |rank| LowRank::bytes(rank, shape[0], shape[1]) as u64);
        }
        let (name, block) = weights.embedding_type(table)?;
        sum.add(table, name, bytes(table, block, WeightFormat::F32));
        match weights.output_type(table)? {
            Some((name, own)) => sum.add(table, name, bytes(table, own, format)),
            // A table in floats is laid out twice: for lookups, and for products.
            None if block.is_none() => sum.bytes += bytes(table, None, format),
            None => {}
        }
        if block.is_some() {
            sum.bytes += OwnRows::bytes(weights.replaced_rows(), config.hidden) as u64;
        }
        let vectors = vectors(config);
        let mut types: Vec<(String, u64)> = sum.types.into_iter().collect();
        types.sort_by_key(|(_, weights)| std::cmp::Reverse(*weights));
        Ok(Self {
            parameters,
            stored_as: types.into_iter().map(|(name, _)| name).collect(),
            weight_bytes: sum.bytes + vectors * size_of::<f32>() as u64,
            bytes_per_token: config.bytes_per_token() as u64,
            context_tokens: config.context,
        })
    }

    /// Refuses a model whose weights do not fit into the available memory.
    pub(in crate::decoder) fn check(&self, path: &Path) -> Result<(), DecoderError> {
        match available_memory() {
            Some(available) if self.weight_bytes > available => Err(DecoderError::DoesNotFit {
                path: path.to_path_buf(),
                needed: self.weight_bytes,
                available,
            }),
            _ => Ok(()),
        }
    }
}

/// Weights by stored type, and the bytes that they take in memory.
#[derive(Default)]
struct Sum {
    types: BTreeMap<String, u64>,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, shape: [usize; 2], name: String, bytes: u64) {
        *self.types.entry(name).or_default() += (shape[0] * shape[1]) as u64;
        self.bytes += bytes;
    }
}

/// Bytes of a matrix in memory. `block` is the type of blocks that stay as stored; `format` is the format of any
/// other matrix.
fn bytes(shape: [usize; 2], block: Option<BlockType>, format: WeightFormat) -> u64 {
    let [outputs, inputs] = shape;
    let bytes = match (block, format) {
        (None, WeightFormat::F32) => size_of::<f32>() * outputs * inputs,
        (block, _) => QuantizedMatrix::bytes(block, outputs, inputs),
    };
    bytes as u64
}

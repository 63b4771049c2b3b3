//! LoRA: which modules get a pair of low-rank matrices, and how these are initialized.

use candle_core::{DType, Device, Tensor, Var};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::error::{TrainError, require};

/// The settings of a LoRA adapter.
#[derive(Debug, Clone, PartialEq)]
pub struct LoraSettings {
    /// The rank of the update.
    pub rank: usize,
    /// The update is scaled by `alpha / rank`.
    pub alpha: f64,
    /// The dropout probability of the inputs, in `[0, 1)`.
    pub dropout: f64,
    /// The adapted modules by the last part of their name, such as `q_proj`; all projections if empty.
    pub targets: Vec<String>,
    /// Tokens whose embedding rows are trained too.
    pub tokens: Vec<u32>,
}

impl Default for LoraSettings {
    fn default() -> Self {
        Self {
            rank: 16,
            alpha: 32.0,
            dropout: 0.0,
            targets: Vec::new(),
            tokens: Vec::new(),
        }
    }
}

impl LoraSettings {
    pub(crate) fn check(&self) -> Result<(), TrainError> {
        let dropout = (0.0..1.0).contains(&self.dropout);
        let alpha = self.alpha.is_finite() && self.alpha > 0.0;
        require("rank", self.rank as f64, "at least 1", self.rank > 0)?;
        require(
            "dropout",
            self.dropout,
            "a share from 0 to below 1",
            dropout,
        )?;
        require("alpha", self.alpha, "a positive number", alpha)
    }

    /// Whether a module is adapted.
    pub(crate) fn wants(&self, module: &str) -> bool {
        let last = module.rsplit('.').next().unwrap_or(module);
        self.targets.is_empty() || self.targets.iter().any(|target| target == last)
    }

    /// The factor of the product of the two matrices.
    pub fn scale(&self) -> f64 {
        self.alpha / self.rank as f64
    }
}

/// The two matrices of a module.
pub(crate) struct LoraPair {
    /// `[rank, inputs]`.
    pub(crate) down: Var,
    /// `[outputs, rank]`, initially zero, so that the update is zero.
    pub(crate) up: Var,
}

impl LoraPair {
    /// A pair whose product is zero: `down` is uniform within `1 / sqrt(inputs)`, as in PEFT.
    pub(crate) fn new(
        [outputs, inputs]: [usize; 2],
        rank: usize,
        seed: u64,
        dtype: DType,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let mut random = StdRng::seed_from_u64(seed);
        let bound = 1.0 / (inputs as f64).sqrt();
        let numbers: Vec<f32> = (0..rank * inputs)
            .map(|_| ((random.random::<f64>() * 2.0 - 1.0) * bound) as f32)
            .collect();
        let down = Tensor::from_vec(numbers, (rank, inputs), device)?.to_dtype(dtype)?;
        Ok(Self {
            down: Var::from_tensor(&down)?,
            up: Var::zeros((outputs, rank), dtype, device)?,
        })
    }
}

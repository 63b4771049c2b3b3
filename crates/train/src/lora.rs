//! LoRA: which modules learn a pair of small matrices, and how these begin.

use candle_core::{DType, Device, Tensor, Var};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::error::TrainError;

/// What is learned on top of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct LoraSettings {
    /// The rank of what is added.
    pub rank: usize,
    /// What is added is multiplied by this over the rank.
    pub alpha: f64,
    /// The share of inputs that are dropped in training, in `[0, 1)`.
    pub dropout: f64,
    /// The last parts of the names of the modules that learn, such as `q_proj`; all projections
    /// where empty.
    pub targets: Vec<String>,
    /// Tokens whose rows of the embedding learn too.
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
        let refuse = |setting, received: String, expected| {
            Err(TrainError::Setting {
                setting,
                received,
                expected,
            })
        };
        if self.rank == 0 {
            return refuse("rank", "0".to_owned(), "at least 1");
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return refuse(
                "dropout",
                self.dropout.to_string(),
                "a share from 0 to below 1",
            );
        }
        if !self.alpha.is_finite() || self.alpha <= 0.0 {
            return refuse("alpha", self.alpha.to_string(), "a positive number");
        }
        Ok(())
    }

    /// Whether a module learns.
    pub(crate) fn wants(&self, module: &str) -> bool {
        let last = module.rsplit('.').next().unwrap_or(module);
        self.targets.is_empty() || self.targets.iter().any(|target| target == last)
    }

    /// By what the product of the two matrices is multiplied.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.alpha / self.rank as f64
    }
}

/// The two matrices of a module.
pub(crate) struct LoraPair {
    /// `[rank, inputs]`.
    pub(crate) down: Var,
    /// `[outputs, rank]`, zeros at first, so that nothing is added yet.
    pub(crate) up: Var,
}

impl LoraPair {
    /// A pair that adds nothing: `down` uniform within `1 / sqrt(inputs)`, as PEFT begins.
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

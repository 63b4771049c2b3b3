//! The weights of a decoder in training: frozen, frozen with LoRA, or trained.

use std::collections::{BTreeMap, BTreeSet};

use candle_core::{Result as CandleResult, Tensor, Var};

use super::{Tuning, seed_of};
use crate::error::TrainError;
use crate::lora::LoraPair;
use crate::ops::{self, Dropout, Frozen, Pair};

/// The remaining weights, and the trainable parameters of those already taken.
pub(super) struct Weights<'a> {
    tensors: BTreeMap<String, Tensor>,
    tuning: &'a Tuning,
    seed: u64,
    variables: BTreeMap<String, Var>,
}

impl<'a> Weights<'a> {
    /// # Errors
    /// Settings out of range, a target that matches no module.
    pub(super) fn new(
        tensors: BTreeMap<String, Tensor>,
        tuning: &'a Tuning,
        seed: u64,
    ) -> Result<Self, TrainError> {
        if let Tuning::Lora(settings) = tuning {
            settings.check()?;
            let known: BTreeSet<&str> = tensors
                .keys()
                .filter_map(|name| name.strip_suffix(".weight"))
                .filter_map(|module| module.rsplit('.').next())
                .filter(|name| name.ends_with("_proj"))
                .collect();
            let mut targets = settings.targets.iter();
            if let Some(unknown) = targets.find(|target| !known.contains(target.as_str())) {
                return Err(TrainError::UnknownModule {
                    name: unknown.clone(),
                    known: Vec::from_iter(known).join(", "),
                });
            }
        }
        Ok(Self {
            tensors,
            tuning,
            seed,
            variables: BTreeMap::new(),
        })
    }

    /// The trainable parameters of the weights taken.
    pub(super) fn into_variables(self) -> BTreeMap<String, Var> {
        self.variables
    }

    fn take(&mut self, name: &str) -> Result<Tensor, TrainError> {
        self.tensors.remove(name).ok_or_else(|| {
            TrainError::Compute(candle_core::Error::msg(format!("`{name}` is missing")))
        })
    }

    /// A tensor, trainable with full fine-tuning.
    pub(super) fn table(&mut self, name: &str) -> Result<Tensor, TrainError> {
        let tensor = self.take(name)?;
        match self.tuning {
            Tuning::Lora(_) => Ok(tensor),
            Tuning::Full => {
                let variable = Var::from_tensor(&tensor)?;
                let tensor = variable.as_tensor().clone();
                self.variables.insert(name.to_owned(), variable);
                Ok(tensor)
            }
        }
    }

    /// A vector, such as the weight of a norm, that not every model has.
    pub(super) fn optional(&mut self, name: &str) -> Result<Option<Tensor>, TrainError> {
        let exists = self.tensors.contains_key(name);
        exists.then(|| self.table(name)).transpose()
    }

    /// Whether the model has a module.
    pub(super) fn has(&self, module: &str) -> bool {
        self.tensors.contains_key(&format!("{module}.weight"))
    }

    /// A projection, with its bias if it has one.
    pub(super) fn linear(&mut self, module: &str) -> Result<Linear, TrainError> {
        let bias = self.optional(&format!("{module}.bias"))?;
        let name = format!("{module}.weight");
        let weight = match self.tuning {
            Tuning::Full => Weight::Trained(self.table(&name)?),
            Tuning::Lora(settings) => {
                let tensor = self.take(&name)?;
                let (outputs, inputs) = tensor.dims2()?;
                let (dtype, device) = (tensor.dtype(), tensor.device().clone());
                let pair = if module != "lm_head" && settings.wants(module) {
                    let seed = seed_of(self.seed, self.variables.len() as u64);
                    let shape = [outputs, inputs];
                    let pair = LoraPair::new(shape, settings.rank, seed, dtype, &device)?;
                    // PEFT's names, without its prefix.
                    for (letter, variable) in [("A", &pair.down), ("B", &pair.up)] {
                        let name = format!("{module}.lora_{letter}.weight");
                        self.variables.insert(name, variable.clone());
                    }
                    Some((pair, settings.scale() as f32))
                } else {
                    None
                };
                Weight::Frozen {
                    frozen: Frozen::new(tensor)?,
                    pair,
                }
            }
        };
        Ok(Linear { weight, bias })
    }
}

enum Weight {
    Frozen {
        frozen: Frozen,
        pair: Option<(LoraPair, f32)>,
    },
    Trained(Tensor),
}

/// A projection.
pub(super) struct Linear {
    weight: Weight,
    bias: Option<Tensor>,
}

impl Linear {
    /// The embedding, used as the output projection.
    pub(super) fn tied(table: &Tensor, tuning: &Tuning) -> Result<Self, TrainError> {
        let weight = match tuning {
            Tuning::Full => Weight::Trained(table.clone()),
            Tuning::Lora(_) => Weight::Frozen {
                frozen: Frozen::new(table.clone())?,
                pair: None,
            },
        };
        Ok(Self { weight, bias: None })
    }

    /// # Shapes
    /// `x`: `[rows, inputs]`; returns `[rows, outputs]`.
    pub(super) fn project(&self, x: &Tensor, dropout: Option<Dropout>) -> CandleResult<Tensor> {
        let y = match &self.weight {
            Weight::Trained(weight) => ops::product(x, weight)?,
            Weight::Frozen { frozen, pair } => {
                let pair = pair.as_ref().map(|(pair, scale)| Pair {
                    down: pair.down.as_tensor(),
                    up: pair.up.as_tensor(),
                    scale: *scale,
                    dropout,
                });
                ops::projected(x, frozen, pair)?
            }
        };
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

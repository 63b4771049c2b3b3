//! Where and in which precision a decoder computes.

use super::config::DecoderConfig;
use super::cpu::Cpu;
use super::engine::Engine;
use super::error::DecoderError;
use super::graph::Graph;
use super::options::{Device, LoadOptions};
use super::tensors::Tensors;
use super::weights::Weights;
use crate::kernels::Precision;
use crate::kernels::matrix::{Arithmetic, Matrix, WeightFormat};

/// From this many parameters on, weights in floats are stored in 8 bits by default: in 32 they would
/// not fit into the memory of most machines.
const LARGE: usize = 2_000_000_000;

/// A graph on its backend.
pub(super) enum Runtime {
    Cpu(Box<Engine<Cpu>>),
    Tensors(Box<Engine<Tensors>>),
}

/// What computes. Both runtimes share the weights.
pub(super) struct Engines {
    exact: Runtime,
    /// What generates, where that is not the exact runtime too.
    cheaper: Option<Runtime>,
}

/// Runs an expression with the engine of a runtime, whatever its backend.
macro_rules! with_engine {
    ($runtime:expr, |$engine:ident| $body:expr) => {
        match $runtime {
            $crate::decoder::runtime::Runtime::Cpu($engine) => $body,
            $crate::decoder::runtime::Runtime::Tensors($engine) => $body,
        }
    };
}
pub(super) use with_engine;

impl Engines {
    /// Reads the weights.
    ///
    /// # Errors
    /// A missing, misshapen or unreadable tensor; a device that is not there.
    pub(super) fn load(
        config: &DecoderConfig,
        weights: &Weights,
        options: &LoadOptions,
    ) -> Result<Self, DecoderError> {
        let cache_bytes = options.cache_bytes;
        if options.device != Device::Cpu {
            let device = options.device.opened()?;
            let graph = Graph::load(config, weights, Tensors { device })?;
            weights.check_unchanged()?;
            return Ok(Self {
                exact: Runtime::Tensors(Box::new(Engine::new(graph, config, cache_bytes))),
                cheaper: None,
            });
        }
        let weight_format = weight_format(config, options.precision);
        let cpu = |arithmetic| Cpu {
            weight_format,
            arithmetic,
        };
        let arithmetic = match options.precision {
            Precision::Int8 => Arithmetic::Integer,
            Precision::Auto | Precision::F32 => Arithmetic::Exact,
        };
        let graph = Graph::load(config, weights, cpu(arithmetic))?;
        weights.check_unchanged()?;
        let on_cpu = |graph| Runtime::Cpu(Box::new(Engine::new(graph, config, cache_bytes)));
        let differs =
            options.precision == Precision::Auto && graph.any_matrix(Matrix::is_quantized);
        let cheaper = differs.then(|| on_cpu(graph.sharing(cpu(Arithmetic::Integer))));
        Ok(Self {
            exact: on_cpu(graph),
            cheaper,
        })
    }

    /// The runtime that scores.
    pub(super) fn exact(&self) -> &Runtime {
        &self.exact
    }

    /// Which runtime generates what: runtimes with the indices of their requests. `exactly` says of each
    /// request whether it goes on with what the exact runtime has read.
    pub(super) fn assign(&self, exactly: &[bool]) -> Vec<(&Runtime, Vec<usize>)> {
        let all = 0..exactly.len();
        let Some(cheaper) = &self.cheaper else {
            return vec![(&self.exact, all.collect())];
        };
        let (exact, cheap): (Vec<usize>, Vec<usize>) = all.partition(|&index| exactly[index]);
        [(&self.exact, exact), (cheaper, cheap)]
            .into_iter()
            .filter(|(_, requests)| !requests.is_empty())
            .collect()
    }
}

/// How the weights of a decoder are stored that come as floats.
pub(super) fn weight_format(config: &DecoderConfig, precision: Precision) -> WeightFormat {
    match precision {
        Precision::Int8 => WeightFormat::Int8,
        Precision::Auto if config.parameters() > LARGE => WeightFormat::Int8,
        Precision::Auto | Precision::F32 => WeightFormat::F32,
    }
}

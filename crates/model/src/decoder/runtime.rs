//! Where and in which precision a decoder computes.

use std::sync::OnceLock;

use super::config::DecoderConfig;
use super::cpu::Cpu;
use super::engine::Engine;
use super::error::DecoderError;
use super::graph::Graph;
use super::options::{Device, LoadOptions};
use super::tensors::Tensors;
use super::weights::Weights;
use crate::kernels::Precision;
use crate::kernels::matrix::WeightFormat;

/// From this many parameters on, weights are held in 8 bits by default: in 32 they would not fit into
/// the memory of most machines.
const LARGE: usize = 2_000_000_000;

/// A graph on its backend.
pub(super) enum Runtime {
    Cpu(Box<Engine<Cpu>>),
    Tensors(Box<Engine<Tensors>>),
}

/// What computes.
pub(super) struct Engines {
    exact: Runtime,
    /// What draws samples, where that is not the exact runtime too.
    drawing: Option<Drawing>,
}

/// A cheaper runtime, made when it is first asked for.
struct Drawing {
    config: DecoderConfig,
    weights: Weights,
    cache_bytes: usize,
    runtime: OnceLock<Runtime>,
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
        weights: Weights,
        options: &LoadOptions,
    ) -> Result<Self, DecoderError> {
        let cache_bytes = options.cache_bytes;
        if options.device != Device::Cpu {
            let device = options.device.opened()?;
            let graph = Graph::load(config, &weights, Tensors { device })?;
            weights.check_unchanged()?;
            return Ok(Self {
                exact: Runtime::Tensors(Box::new(Engine::new(graph, config, cache_bytes))),
                drawing: None,
            });
        }
        let large = config.parameters() > LARGE;
        let weight_format = match options.precision {
            Precision::Int8 => WeightFormat::Int8,
            Precision::Auto if large => WeightFormat::Int8,
            Precision::Auto | Precision::F32 => WeightFormat::F32,
        };
        Ok(Self {
            exact: on_cpu(config, &weights, cache_bytes, weight_format)?,
            drawing: (options.precision == Precision::Auto && !large).then(|| Drawing {
                config: config.clone(),
                weights,
                cache_bytes,
                runtime: OnceLock::new(),
            }),
        })
    }

    /// The runtime that scores, and generates what is not sampled.
    pub(super) fn exact(&self) -> &Runtime {
        &self.exact
    }

    /// Which runtime generates what: runtimes with the indices of their requests. `drawn` says of each
    /// request whether it is sampled.
    ///
    /// # Errors
    /// A tensor that cannot be read, when the drawing runtime is made.
    pub(super) fn assign(
        &self,
        drawn: &[bool],
    ) -> Result<Vec<(&Runtime, Vec<usize>)>, DecoderError> {
        let all = 0..drawn.len();
        let Some(drawing) = &self.drawing else {
            return Ok(vec![(&self.exact, all.collect())]);
        };
        let (drawn, exact): (Vec<usize>, Vec<usize>) = all.partition(|&index| drawn[index]);
        let mut assigned = Vec::new();
        if !exact.is_empty() {
            assigned.push((&self.exact, exact));
        }
        if !drawn.is_empty() {
            assigned.push((drawing.runtime()?, drawn));
        }
        Ok(assigned)
    }
}

impl Drawing {
    fn runtime(&self) -> Result<&Runtime, DecoderError> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let made = on_cpu(
            &self.config,
            &self.weights,
            self.cache_bytes,
            WeightFormat::Int8,
        )?;
        // Whoever else made one meanwhile made the same.
        Ok(self.runtime.get_or_init(|| made))
    }
}

fn on_cpu(
    config: &DecoderConfig,
    weights: &Weights,
    cache_bytes: usize,
    weight_format: WeightFormat,
) -> Result<Runtime, DecoderError> {
    let graph = Graph::load(config, weights, Cpu { weight_format })?;
    weights.check_unchanged()?;
    Ok(Runtime::Cpu(Box::new(Engine::new(
        graph,
        config,
        cache_bytes,
    ))))
}

//! Where and how exactly a decoder computes.

use std::sync::Arc;

use super::config::DecoderConfig;
use super::cpu::Cpu;
use super::engine::Engine;
use super::error::DecoderError;
use super::graph::Graph;
use super::options::{Device, LoadOptions};
use super::tensors::Tensors;
use super::weights::Weights;
use crate::kernels::Precision;
use crate::kernels::matrix::Weighing;

/// From so many parameters on, weights are held in 8 bits where nobody says otherwise: in 32 they
/// would not fit into the memory of most machines.
const LARGE: usize = 2_000_000_000;

/// A graph on its backend.
pub(super) enum Runtime {
    Cpu(Engine<Cpu>),
    Tensors(Engine<Tensors>),
}

/// What writes and what scores; the same where both compute alike.
pub(super) struct Engines {
    pub(super) writing: Arc<Runtime>,
    pub(super) scoring: Arc<Runtime>,
}

/// Runs an expression with the engine of a runtime, whatever its backend.
macro_rules! with_engine {
    ($runtime:expr, |$engine:ident| $body:expr) => {
        match &**$runtime {
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
        options: LoadOptions,
    ) -> Result<Self, DecoderError> {
        let device = match options.device {
            Device::Cpu => None,
            Device::Cuda => Some(candle_core::Device::new_cuda(0)),
            Device::Metal => Some(candle_core::Device::new_metal(0)),
            Device::Reference => Some(Ok(candle_core::Device::Cpu)),
        };
        if let Some(device) = device {
            let device = device.map_err(|error| DecoderError::NoSuchDevice {
                device: options.device,
                reason: error
                    .to_string()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            })?;
            let graph = Graph::load(config, weights, Tensors { device })?;
            return Ok(Self::alike(Runtime::Tensors(Engine::new(
                graph,
                config,
                options.cache_bytes,
            ))));
        }
        let on_cpu = |weighing| -> Result<Runtime, DecoderError> {
            let graph = Graph::load(config, weights, Cpu { weighing })?;
            Ok(Runtime::Cpu(Engine::new(
                graph,
                config,
                options.cache_bytes,
            )))
        };
        Ok(match options.precision {
            Precision::F32 => Self::alike(on_cpu(Weighing::F32)?),
            Precision::Int8 => Self::alike(on_cpu(Weighing::Int8)?),
            Precision::Auto if config.parameters() > LARGE => Self::alike(on_cpu(Weighing::Int8)?),
            Precision::Auto => Self::alike(on_cpu(Weighing::F32)?),
        })
    }

    fn alike(runtime: Runtime) -> Self {
        let runtime = Arc::new(runtime);
        Self {
            writing: Arc::clone(&runtime),
            scoring: runtime,
        }
    }
}

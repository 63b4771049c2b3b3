//! The device and the precision of a decoder's computations.

use crate::decoder::config::DecoderConfig;
use crate::decoder::error::DecoderError;
use crate::decoder::files::size::parameters;
use crate::decoder::files::tensors::Tensors;
use crate::decoder::files::weights::Weights;
use crate::decoder::graph::Graph;
use crate::decoder::graph::backend::Backend;
use crate::decoder::graph::cpu::Cpu;
use crate::decoder::options::LoadOptions;
use crate::kernels::Precision;
use crate::kernels::matrix::{Arithmetic, Matrix, WeightFormat};

/// From this many parameters on, float weights are stored in 8 bits by default: in 32 they would not fit into the
/// memory of most machines.
const LARGE: u64 = 2_000_000_000;

/// The graphs of a decoder, which share the weights.
pub(in crate::decoder) struct Engines<B: Backend> {
    /// Scores.
    pub(in crate::decoder) exact: Graph<B>,
    /// Generates, if there is a cheaper graph than the exact one.
    pub(in crate::decoder) cheaper: Option<Graph<B>>,
}

impl<B: Backend> Engines<B> {
    /// The exact graph, or the cheaper one if there is one.
    pub(in crate::decoder) fn graph(&self, exact: bool) -> &Graph<B> {
        match &self.cheaper {
            Some(cheaper) if !exact => cheaper,
            _ => &self.exact,
        }
    }
}

impl Engines<Tensors> {
    /// Reads the weights to the device in the options.
    ///
    /// # Errors
    /// A missing, misshapen or unreadable tensor; a device that is absent.
    pub(in crate::decoder) fn on_device(
        config: &DecoderConfig,
        weights: &Weights,
        options: &LoadOptions,
    ) -> Result<Self, DecoderError> {
        let device = options.device.opened()?;
        let exact = Graph::load(config, weights, Tensors { device })?;
        weights.check_unchanged()?;
        Ok(Self {
            exact,
            cheaper: None,
        })
    }
}

impl Engines<Cpu> {
    /// Reads the weights.
    ///
    /// # Errors
    /// A missing, misshapen or unreadable tensor.
    pub(in crate::decoder) fn on_cpu(
        config: &DecoderConfig,
        weights: &Weights,
        options: &LoadOptions,
    ) -> Result<Self, DecoderError> {
        let weight_format = weight_format(parameters(config, weights), options.precision);
        let cpu = |arithmetic| Cpu {
            weight_format,
            arithmetic,
        };
        let arithmetic = match options.precision {
            Precision::Int8 => Arithmetic::Integer,
            Precision::Auto | Precision::F32 => Arithmetic::Exact,
        };
        let exact = Graph::load(config, weights, cpu(arithmetic))?;
        weights.check_unchanged()?;
        let differs =
            options.precision == Precision::Auto && exact.any_matrix(Matrix::is_quantized);
        let cheaper = differs.then(|| exact.sharing(cpu(Arithmetic::Integer)));
        Ok(Self { exact, cheaper })
    }
}

/// The format for float weights of a decoder with this many.
pub(in crate::decoder) fn weight_format(parameters: u64, precision: Precision) -> WeightFormat {
    match precision {
        Precision::Int8 => WeightFormat::Int8,
        Precision::Auto if parameters > LARGE => WeightFormat::Int8,
        Precision::Auto | Precision::F32 => WeightFormat::F32,
    }
}

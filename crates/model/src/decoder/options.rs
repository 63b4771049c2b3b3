//! What a caller may choose about a decoder's computations.

use std::path::PathBuf;

use ken_language::named;

use crate::decoder::error::{DecoderError, first_line};
use crate::decoder::text::read_as::ReadAs;
use crate::kernels::Precision;

/// The device that a decoder computes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    /// The CPU.
    #[default]
    Cpu,
    /// The first NVIDIA GPU; needs the feature `cuda`.
    Cuda,
    /// The Apple GPU; needs the feature `metal`.
    Metal,
    /// The CPU with the same operations as a GPU. Slow; for checking the other two.
    Reference,
}

named! {
    Device, "device",
    Device::Cpu => "cpu",
    Device::Cuda => "cuda",
    Device::Metal => "metal",
    Device::Reference => "reference",
}

impl Device {
    /// The candle device that holds the tensors.
    ///
    /// # Errors
    /// A device that is absent, or that ken was built without.
    pub fn opened(self) -> Result<candle_core::Device, DecoderError> {
        let device = match self {
            Self::Cpu | Self::Reference => Ok(candle_core::Device::Cpu),
            Self::Cuda => candle_core::Device::new_cuda(0),
            Self::Metal => candle_core::Device::new_metal(0),
        };
        device.map_err(|error| DecoderError::NoSuchDevice {
            device: self.to_string(),
            reason: first_line(&error),
        })
    }
}

/// How a decoder is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadOptions {
    /// The precision on the CPU. GPUs compute in 32 bits.
    pub precision: Precision,
    /// The device.
    pub device: Device,
    /// The most bytes of memory for the keys and values of all callers' texts, unless a single prompt and one text
    /// need more. A request waits until its own fit.
    pub cache_bytes: usize,
    /// The most calls that may wait at the same time for their first request to be admitted. Further calls are
    /// refused.
    pub most_waiting: usize,
    /// How it reads prompts; `None` for the default of the model.
    pub read_as: Option<ReadAs>,
    /// The folder of an adapter, in PEFT's format, on top of the weights.
    pub adapter: Option<PathBuf>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            precision: Precision::default(),
            device: Device::default(),
            cache_bytes: 1 << 30,
            most_waiting: 256,
            read_as: None,
            adapter: None,
        }
    }
}

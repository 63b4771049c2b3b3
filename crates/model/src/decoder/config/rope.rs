//! The rotary frequencies, and how they are stretched.

use serde_json::Value;

/// How the rotary frequencies are stretched beyond the pre-training context.
#[derive(Debug, Clone, PartialEq)]
pub enum RopeScaling {
    /// The frequencies as trained.
    None,
    /// Every frequency is divided by the factor (position interpolation).
    Linear {
        /// The divisor.
        factor: f64,
    },
    /// Llama 3.1's interpolation by wavelength.
    Llama3 {
        /// The divisor of the lowest frequencies.
        factor: f64,
        /// Wavelengths above `original_context / low` are divided in full.
        low_freq_factor: f64,
        /// Wavelengths below `original_context / high` stay as they are.
        high_freq_factor: f64,
        /// The context of pre-training, in tokens.
        original_context: usize,
    },
    /// One divisor a frequency (GGUF's `rope_freqs.weight`; LongRoPE's short factors).
    PerFrequency {
        /// The divisors. Length: half the rotary dimensions.
        factors: Vec<f32>,
        /// What rotated queries and keys are multiplied by: LongRoPE's attention factor, else 1.
        magnitude: f64,
    },
}

/// How queries and keys are rotated.
#[derive(Debug, Clone, PartialEq)]
pub struct Rotary {
    /// In radians a position. Shape `[head_width / 2]`.
    frequencies: Vec<f64>,
    magnitude: f64,
}

impl Rotary {
    /// Half the width of a head.
    #[must_use]
    pub fn half(&self) -> usize {
        self.frequencies.len()
    }

    /// Appends the cosines and sines of a position, [`Rotary::half`] of each.
    pub fn turn(&self, position: usize, cosines: &mut Vec<f32>, sines: &mut Vec<f32>) {
        for frequency in &self.frequencies {
            let (sine, cosine) = (position as f64 * frequency).sin_cos();
            cosines.push((cosine * self.magnitude) as f32);
            sines.push((sine * self.magnitude) as f32);
        }
    }
}

/// What a `config.json` says of the rotary frequencies of some layers.
pub(super) struct RopeParameters {
    /// Their base, where it stands there.
    pub(super) base: Option<f64>,
    pub(super) scaling: RopeScaling,
    /// The context up to which `scaling` holds, where that is not the model's.
    pub(super) context: Option<usize>,
}

impl RopeParameters {
    /// Reads `rope_scaling` or `rope_parameters`. `original` is `original_max_position_embeddings`
    /// beside them, and `context` the model's context.
    ///
    /// # Errors
    /// In words: a scaling that is not supported, or that lacks a number.
    pub(super) fn read(
        parameters: Option<&Value>,
        original: Option<usize>,
        context: usize,
    ) -> Result<Self, String> {
        let Some(parameters) = parameters.filter(|value| !value.is_null()) else {
            return Ok(Self {
                base: None,
                scaling: RopeScaling::None,
                context: None,
            });
        };
        let optional = |key: &str| parameters.get(key).and_then(Value::as_f64);
        let number =
            |key: &str| optional(key).ok_or_else(|| format!("the rotary scaling lacks `{key}`"));
        if optional("partial_rotary_factor").is_some_and(|share| (share - 1.0).abs() > 1e-9) {
            return Err(format!("{PARTIAL} are not supported"));
        }
        let kind = parameters
            .get("rope_type")
            .or_else(|| parameters.get("type"))
            .and_then(Value::as_str)
            .unwrap_or("default");
        let mut within = None;
        let scaling = match kind {
            "default" => RopeScaling::None,
            "linear" => RopeScaling::Linear {
                factor: number("factor")?,
            },
            "llama3" => RopeScaling::Llama3 {
                factor: number("factor")?,
                low_freq_factor: number("low_freq_factor")?,
                high_freq_factor: number("high_freq_factor")?,
                original_context: number("original_max_position_embeddings")? as usize,
            },
            "longrope" | "su" => {
                // The short factors hold up to the original context, which is therefore the most.
                let original = original
                    .or_else(|| Some(optional("original_max_position_embeddings")? as usize))
                    .ok_or("`original_max_position_embeddings` is missing")?;
                within = Some(original);
                let factors = parameters
                    .get("short_factor")
                    .cloned()
                    .and_then(|factors| serde_json::from_value(factors).ok())
                    .ok_or("`short_factor` is missing")?;
                let ratio = optional("factor").unwrap_or(context as f64 / original as f64);
                RopeScaling::PerFrequency {
                    factors,
                    magnitude: optional("attention_factor")
                        .unwrap_or_else(|| longrope_magnitude(ratio, original)),
                }
            }
            other => {
                return Err(format!(
                    "rotary scaling `{other}` is not supported (default, linear, llama3 and longrope are)"
                ));
            }
        };
        Ok(Self {
            base: optional("rope_theta"),
            scaling,
            context: within,
        })
    }
}

/// What a model has that rotates only a part of each head.
pub(super) const PARTIAL: &str = "partial rotary embeddings";

/// LongRoPE's attention factor for a context of `ratio` times the original one (LongRoPE, section 3.3:
/// `sqrt(1 + ln ratio / ln original)`).
fn longrope_magnitude(ratio: f64, original: usize) -> f64 {
    match ratio > 1.0 && original > 1 {
        true => (1.0 + ratio.ln() / (original as f64).ln()).sqrt(),
        false => 1.0,
    }
}

impl RopeScaling {
    /// The rotation of heads of a width.
    pub(super) fn rotary(&self, base: f64, head_width: usize) -> Rotary {
        let frequencies = (0..head_width / 2)
            .map(|i| {
                let frequency = base.powf(-2.0 * i as f64 / head_width as f64);
                match self {
                    Self::None => frequency,
                    Self::Linear { factor } => frequency / factor,
                    Self::PerFrequency { factors, .. } => frequency / f64::from(factors[i]),
                    Self::Llama3 {
                        factor,
                        low_freq_factor,
                        high_freq_factor,
                        original_context,
                    } => {
                        let wavelength = std::f64::consts::TAU / frequency;
                        let original = *original_context as f64;
                        if wavelength < original / high_freq_factor {
                            frequency
                        } else if wavelength > original / low_freq_factor {
                            frequency / factor
                        } else {
                            let smooth = (original / wavelength - low_freq_factor)
                                / (high_freq_factor - low_freq_factor);
                            (1.0 - smooth) * frequency / factor + smooth * frequency
                        }
                    }
                }
            })
            .collect();
        let magnitude = match self {
            Self::PerFrequency { magnitude, .. } => *magnitude,
            Self::None | Self::Linear { .. } | Self::Llama3 { .. } => 1.0,
        };
        Rotary {
            frequencies,
            magnitude,
        }
    }

    /// As one text, which is the same in all versions of ken.
    pub(super) fn told(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Linear { factor } => format!("linear {factor}"),
            Self::Llama3 {
                factor,
                low_freq_factor,
                high_freq_factor,
                original_context,
            } => format!("llama3 {factor} {low_freq_factor} {high_freq_factor} {original_context}"),
            Self::PerFrequency { factors, magnitude } if *magnitude == 1.0 => {
                format!("{factors:?}")
            }
            Self::PerFrequency { factors, magnitude } => format!("{factors:?} {magnitude}"),
        }
    }
}

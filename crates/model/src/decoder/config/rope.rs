//! The rotary frequencies, and their stretching.

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
    /// YaRN's interpolation: by how often a frequency turns within the original context.
    Yarn {
        /// The divisor of frequencies that turn seldom.
        factor: f64,
        /// Frequencies that turn this often or more stay as they are.
        fast: f64,
        /// Those that turn this often or less are divided in full.
        slow: f64,
        /// The context of pre-training, in tokens.
        original_context: usize,
        /// The factor of rotated queries and keys.
        magnitude: f64,
    },
    /// One divisor per frequency (GGUF's `rope_freqs.weight`; LongRoPE's short factors).
    PerFrequency {
        /// The divisors. Length: half the rotary dimensions.
        factors: Vec<f32>,
        /// The factor of rotated queries and keys: LongRoPE's attention factor, else 1.
        magnitude: f64,
    },
}

/// Queries of later positions are longer: they are multiplied by `1 + rate * ln(1 + floor(position / context))`, so
/// that attention stays sharp over more tokens (Llama 4, Ministral 3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryGrowth {
    /// The rate of growth.
    pub rate: f64,
    /// The context, in tokens, within which they do not grow.
    pub context: usize,
}

/// How queries and keys are rotated.
#[derive(Debug, Clone, PartialEq)]
pub struct Rotary {
    /// In radians per position. Shape: half the rotated width of a head.
    pub(super) frequencies: Vec<f64>,
    pub(super) magnitude: f64,
    pub(super) growth: Option<QueryGrowth>,
}

impl Rotary {
    /// The rotation of a layer whose heads are not rotated.
    pub(super) fn none(width: usize) -> Self {
        Self {
            frequencies: vec![0.0; width / 2],
            magnitude: 1.0,
            growth: None,
        }
    }

    /// The factor of queries at a position; `None` if they do not grow.
    pub fn query_factor(&self, position: usize) -> Option<f32> {
        let QueryGrowth { rate, context } = self.growth?;
        Some((1.0 + rate * ((1 + position / context) as f64).ln()) as f32)
    }

    /// Half the rotated width of a head.
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

/// The rotary settings of some layers in a `config.json`.
pub(super) struct RopeParameters {
    /// Their base, if the file states it.
    pub(super) base: Option<f64>,
    pub(super) scaling: RopeScaling,
    /// The context up to which `scaling` holds, if it differs from the model's.
    pub(super) context: Option<usize>,
    pub(super) growth: Option<QueryGrowth>,
    /// The share of each head that is rotated, if the file states it.
    pub(super) share: Option<f64>,
}

impl RopeParameters {
    /// Reads `rope_scaling` or `rope_parameters`. `original` is `original_max_position_embeddings`
    /// beside them, and `context` the model's context.
    ///
    /// A message: a scaling that is not supported, or that lacks a number.
    /// In words: a scaling that is not supported, or that lacks a number.
    pub(super) fn read(
        parameters: Option<&Value>,
        original: Option<usize>,
        context: usize,
    ) -> Result<Self, String> {
        let parameters = parameters.unwrap_or(&Value::Null);
        let optional = |key: &str| parameters.get(key).and_then(Value::as_f64);
        let number =
            |key: &str| optional(key).ok_or_else(|| format!("the rotary scaling lacks `{key}`"));
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
            // Phi-3's old name of LongRoPE.
            "yarn" if parameters.get("short_factor").is_none() => yarn(parameters)?,
            "longrope" | "su" | "yarn" => {
                // The short factors hold up to the original context, which is therefore the limit.
                let original = original
                    .or_else(|| Some(optional("original_max_position_embeddings")? as usize))
                    .ok_or("`original_max_position_embeddings` is missing")?;
                within = Some(original);
                longrope(parameters, original, context)?
            }
            other => {
                return Err(format!(
                    "rotary scaling `{other}` is not supported (default, linear, llama3, yarn and longrope are)"
                ));
            }
        };
        Ok(Self {
            base: optional("rope_theta"),
            scaling,
            context: within,
            growth: optional("llama_4_scaling_beta")
                .map(|rate| {
                    let context = number("original_max_position_embeddings")? as usize;
                    Ok::<_, String>(QueryGrowth { rate, context })
                })
                .transpose()?,
            share: optional("partial_rotary_factor"),
        })
    }
}

/// YaRN's settings in `rope_scaling` or `rope_parameters`.
fn yarn(parameters: &Value) -> Result<RopeScaling, String> {
    // 0 stands for a missing value.
    let optional = |key: &str| {
        let number = parameters.get(key).and_then(Value::as_f64);
        number.filter(|&number| number != 0.0)
    };
    let number =
        |key: &str| optional(key).ok_or_else(|| format!("the rotary scaling lacks `{key}`"));
    if parameters.get("truncate") == Some(&Value::Bool(false)) {
        return Err("YaRN without `truncate` is not supported".to_owned());
    }
    let factor = number("factor")?;
    let magnitude = optional("attention_factor");
    Ok(RopeScaling::Yarn {
        factor,
        fast: optional("beta_fast").unwrap_or(YARN_FAST),
        slow: optional("beta_slow").unwrap_or(YARN_SLOW),
        original_context: number("original_max_position_embeddings")? as usize,
        magnitude: magnitude.unwrap_or_else(|| {
            match optional("mscale").zip(optional("mscale_all_dim")) {
                Some((over, under)) => yarn_magnitude(factor, over) / yarn_magnitude(factor, under),
                None => yarn_magnitude(factor, 1.0),
            }
        }),
    })
}

/// LongRoPE's settings in `rope_scaling` or `rope_parameters`, extending a context of `original` tokens to `context`.
fn longrope(parameters: &Value, original: usize, context: usize) -> Result<RopeScaling, String> {
    let optional = |key: &str| parameters.get(key).and_then(Value::as_f64);
    let factors = parameters
        .get("short_factor")
        .cloned()
        .and_then(|factors| serde_json::from_value(factors).ok())
        .ok_or("`short_factor` is missing")?;
    let ratio = optional("factor").unwrap_or(context as f64 / original as f64);
    let magnitude = optional("attention_factor");
    Ok(RopeScaling::PerFrequency {
        factors,
        magnitude: magnitude.unwrap_or_else(|| longrope_magnitude(ratio, original)),
    })
}

/// The defaults of how often a frequency turns that YaRN leaves as it is, and one that it divides in full.
pub(super) const YARN_FAST: f64 = 32.0;
pub(super) const YARN_SLOW: f64 = 1.0;

/// YaRN's attention factor for a context of `factor` times the original one (YaRN, Eq. 22: `0.1 ln factor + 1`), with
/// a factor of the logarithm.
pub(super) fn yarn_magnitude(factor: f64, multiplier: f64) -> f64 {
    match factor > 1.0 {
        true => 0.1 * multiplier * factor.ln() + 1.0,
        false => 1.0,
    }
}

/// How much YaRN divides a frequency, from not at all, 0, to in full, 1. Its bounds are whole indices.
fn yarn_share(index: usize, base: f64, width: usize, [fast, slow, original]: [f64; 3]) -> f64 {
    // The index of the frequency that turns this often within the original context.
    let turning = |turns: f64| {
        let ratio = original / (turns * std::f64::consts::TAU);
        width as f64 * ratio.ln() / (2.0 * base.ln())
    };
    let low = turning(fast).floor().max(0.0);
    let high = turning(slow).ceil().min(width as f64 - 1.0);
    ((index as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0)
}

/// LongRoPE's attention factor for a context of `ratio` times the original one (LongRoPE, section 3.3:
/// `sqrt(1 + ln ratio / ln original)`).
fn longrope_magnitude(ratio: f64, original: usize) -> f64 {
    match ratio > 1.0 && original > 1 {
        true => (1.0 + ratio.ln() / (original as f64).ln()).sqrt(),
        false => 1.0,
    }
}

impl RopeScaling {
    /// The rotation of heads whose first `width` numbers are rotated.
    pub(super) fn rotary(&self, base: f64, width: usize) -> Rotary {
        let frequencies = (0..width / 2)
            .map(|i| {
                let frequency = base.powf(-2.0 * i as f64 / width as f64);
                match self {
                    Self::None => frequency,
                    Self::Linear { factor } => frequency / factor,
                    Self::PerFrequency { factors, .. } => frequency / f64::from(factors[i]),
                    Self::Yarn {
                        factor,
                        fast,
                        slow,
                        original_context,
                        ..
                    } => {
                        let bounds = [*fast, *slow, *original_context as f64];
                        let share = yarn_share(i, base, width, bounds);
                        (1.0 - share) * frequency + share * frequency / factor
                    }
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
            Self::PerFrequency { magnitude, .. } | Self::Yarn { magnitude, .. } => *magnitude,
            Self::None | Self::Linear { .. } | Self::Llama3 { .. } => 1.0,
        };
        Rotary {
            frequencies,
            magnitude,
            growth: None,
        }
    }

    /// A text for fingerprints, which must not change between versions of ken.
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
            Self::Yarn {
                factor,
                fast,
                slow,
                original_context,
                magnitude,
            } => format!("yarn {factor} {fast} {slow} {original_context} {magnitude}"),
            Self::PerFrequency { factors, magnitude } if *magnitude == 1.0 => {
                format!("{factors:?}")
            }
            Self::PerFrequency { factors, magnitude } => format!("{factors:?} {magnitude}"),
        }
    }
}

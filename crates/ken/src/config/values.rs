//! Values that only flags have.

use std::str::FromStr;

/// Reads a share, from 0 to 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a number from 0 to 1 is expected".to_owned()),
    }
}

/// Reads a share that is neither 0 nor 1.
pub(crate) fn open_share(text: &str) -> Result<f64, String> {
    match share(text)? {
        share if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("a number between 0 and 1 is expected, neither of them".to_owned()),
    }
}

/// The temperature of samples that have to differ: finite and above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SamplingTemperature(pub(crate) f32);

impl FromStr for SamplingTemperature {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f32>() {
            Ok(value) if value.is_finite() && value > 0.0 => Ok(Self(value)),
            _ => Err("samples need a temperature above 0".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_need_a_temperature_above_zero() {
        assert_eq!("0.7".parse(), Ok(SamplingTemperature(0.7)));
        for bad in ["0", "-1", "nan", "inf", "warm", ""] {
            assert!(bad.parse::<SamplingTemperature>().is_err(), "{bad}");
        }
    }
}

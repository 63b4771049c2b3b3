//! Values that only flags have.

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

/// Reads the temperature of samples that have to differ: finite and above 0.
pub(crate) fn sampling_temperature(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("samples need a temperature above 0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_need_a_temperature_above_zero() {
        assert_eq!(sampling_temperature("0.7"), Ok(0.7));
        for bad in ["0", "-1", "nan", "inf", "warm", ""] {
            assert!(sampling_temperature(bad).is_err(), "{bad}");
        }
    }
}

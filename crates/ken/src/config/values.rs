//! Values of settings that only the command line has. All others are parsed by
//! the rooms that they belong to.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A number of things, of which there has to be one.
pub(crate) fn count<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|_| "it must be a whole number, at least 1".to_owned())
}

/// What begins all that is random.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "a seed is a whole number from 0 up".to_owned())
}

/// Whether or not.
pub(super) fn truth(text: &str) -> Result<bool, String> {
    text.parse()
        .map_err(|_| "it must be true or false".to_owned())
}

/// A number of bytes, at least 1; written with K, M or G behind it, of 1024 times as many each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Bytes(pub(crate) u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, shift) = match text.as_bytes().last() {
            Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
            Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
            Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
            _ => (text, 0),
        };
        number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(1 << shift))
            .filter(|&bytes| bytes > 0)
            .map(Self)
            .ok_or_else(|| {
                "it must be a number of bytes, at least 1, such as 500K, 64M or 2G".to_owned()
            })
    }
}

/// The temperature of sampling: 0 is greedy. Finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub(crate) struct Temperature(f64);

impl Temperature {
    pub(crate) fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Temperature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Temperature {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(Self(value)),
            _ => Err("a temperature is a number from 0 up".to_owned()),
        }
    }
}

/// The temperature of sampling that has to vary: finite and above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SamplingTemperature(f32);

impl SamplingTemperature {
    pub(crate) fn get(self) -> f32 {
        self.0
    }
}

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
    use std::num::NonZeroUsize;

    use super::*;

    #[test]
    fn counts_begin_at_one_and_seeds_at_zero() {
        assert_eq!(count::<NonZeroUsize>("1").map(NonZeroUsize::get), Ok(1));
        assert_eq!(seed("0"), Ok(0));
        for bad in ["0", "-1", "many", ""] {
            let reason = count::<NonZeroUsize>(bad).unwrap_err();
            assert!(reason.contains("at least 1"), "{bad}: {reason}");
        }
        for bad in ["-1", "0.5", "now"] {
            assert!(seed(bad).unwrap_err().contains("from 0 up"), "{bad}");
        }
    }

    #[test]
    fn bytes_have_units() {
        for (text, bytes) in [
            ("7", 7),
            ("500K", 500 << 10),
            ("64m", 64 << 20),
            ("2G", 2 << 30),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)));
        }
        for bad in [
            "",
            "0",
            "0M",
            "M",
            "-1",
            "1.5G",
            "64 MB",
            "99999999999G",
            "ö",
        ] {
            let reason = bad.parse::<Bytes>().unwrap_err();
            assert!(reason.contains("64M"), "{bad}: {reason}");
        }
    }

    #[test]
    fn a_temperature_is_a_number_from_zero_up() {
        assert_eq!("0.7".parse::<Temperature>().unwrap().get(), 0.7);
        for bad in ["-1", "nan", "inf", "warm", ""] {
            assert!(bad.parse::<Temperature>().is_err(), "{bad}");
            assert!(bad.parse::<SamplingTemperature>().is_err(), "{bad}");
        }
        assert!("0".parse::<SamplingTemperature>().is_err());
    }
}

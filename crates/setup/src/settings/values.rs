//! How values of settings are read, and the types of value that no other crate has.

use std::ffi::OsStr;
use std::fmt;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ken_answer::{Abstention, EvidencePlace, Memory, Policy, Rerank};
use ken_corpus::{Cut, Filter, Segmentation};
use ken_hub::ModelReference;
use ken_index::{Mode, Recall};
use ken_model::Precision;
use ken_model::decoder::Device;
use serde::Serialize;

use super::origins::Origins;

/// The type of a setting.
pub(super) trait Value: Sized {
    /// Whether the setting is a switch, whose flag alone means true.
    const IS_SWITCH: bool = false;
    /// Whether its flag may be repeated.
    const IS_LIST: bool = false;

    /// Reads the text that a person gave.
    fn read(given: &OsStr) -> Result<Self, String>;

    /// The default. `words` is the documentation's name for it.
    fn by_default(words: &str) -> Result<Self, String> {
        Self::read(words.as_ref())
    }

    /// Resolves a relative path against `folder`.
    fn below(self, _folder: &Path) -> Self {
        self
    }

    /// Replaces this value, or adds to a list.
    fn put(&mut self, value: Self) {
        *self = value;
    }
}

impl<T: Value> Value for Option<T> {
    const IS_SWITCH: bool = T::IS_SWITCH;

    fn read(given: &OsStr) -> Result<Self, String> {
        T::read(given).map(Some)
    }

    fn by_default(_words: &str) -> Result<Self, String> {
        Ok(None)
    }

    fn below(self, folder: &Path) -> Self {
        self.map(|value| value.below(folder))
    }
}

impl<T: Value> Value for Vec<T> {
    const IS_LIST: bool = true;

    fn read(given: &OsStr) -> Result<Self, String> {
        Ok(vec![T::read(given)?])
    }

    fn by_default(_words: &str) -> Result<Self, String> {
        Ok(Self::new())
    }

    fn put(&mut self, value: Self) {
        self.extend(value);
    }
}

impl Value for PathBuf {
    fn read(given: &OsStr) -> Result<Self, String> {
        match given.is_empty() {
            true => Err("a path is expected".to_owned()),
            false => Ok(given.into()),
        }
    }

    fn below(self, folder: &Path) -> Self {
        folder.join(self)
    }
}

/// Types whose values are read by a function of their text.
macro_rules! read_by {
    ($($type:ty: $read:expr),+ $(,)?) => {
        $(impl Value for $type {
            fn read(given: &OsStr) -> Result<Self, String> {
                $read(given.to_str().ok_or("it is not UTF-8")?)
            }
        })+
    };
}

read_by!(
    Abstention: parsed,
    NonZeroU32: count,
    NonZeroUsize: count,
    usize: |text| count(text).map(NonZeroUsize::get),
    u64: seed,
    f64: temperature,
    Bytes: parsed,
    Cut: parsed,
    Device: parsed,
    Filter: parsed,
    EvidencePlace: parsed,
    Memory: parsed,
    Mode: parsed,
    ModelReference: parsed,
    Origins: parsed,
    Policy: parsed,
    Precision: parsed,
    Recall: parsed,
    Rerank: parsed,
    Segmentation: parsed,
    SocketAddr: address,
    String: parsed,
);

impl Value for bool {
    const IS_SWITCH: bool = true;

    fn read(given: &OsStr) -> Result<Self, String> {
        match given.to_str() {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            _ => Err("it must be true or false".to_owned()),
        }
    }
}

/// A choice, or `auto`: what suits the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrAuto<T>(pub Option<T>);

impl<T> From<T> for OrAuto<T> {
    fn from(choice: T) -> Self {
        Self(Some(choice))
    }
}

impl<T: FromStr<Err: ToString>> Value for OrAuto<T> {
    fn read(given: &OsStr) -> Result<Self, String> {
        match given.to_str() {
            Some("auto") => Ok(Self(None)),
            Some(text) => parsed(text).map(|choice| Self(Some(choice))),
            None => Err("it is not UTF-8".to_owned()),
        }
    }
}

impl<T: fmt::Display> fmt::Display for OrAuto<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(choice) => choice.fmt(f),
            None => f.write_str("auto"),
        }
    }
}

/// Parses by the type's own rules.
fn parsed<T: FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|reason: T::Err| reason.to_string())
}

/// Reads an address with its port.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "it must be IP:PORT, such as 127.0.0.1:8484".to_owned())
}

/// Reads a number of things, at least 1 where `N` is never zero.
///
/// # Errors
/// Why the text is not a number, or not in range.
pub fn count<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|_| "it must be a whole number, at least 1".to_owned())
}

/// Reads a random seed.
///
/// # Errors
/// Why the text is not a seed.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "a seed is a whole number from 0 up".to_owned())
}

/// Reads the temperature of sampling: finite and not negative; 0 is greedy.
fn temperature(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("a temperature is a number from 0 up".to_owned()),
    }
}

/// A number of bytes, at least 1; a suffix K, M or G multiplies it by 1024 once, twice or three times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, shift) = match text.as_bytes().last() {
            Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
            Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
            Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
            _ => (text, 0),
        };
        let number = number.parse().ok();
        match number.and_then(|number: u64| number.checked_mul(1 << shift)) {
            Some(bytes @ 1..) => Ok(Self(bytes)),
            _ => {
                Err("it must be a number of bytes, at least 1, such as 500K, 64M or 2G".to_owned())
            }
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
        assert_eq!(temperature("0.7"), Ok(0.7));
        for bad in ["-1", "nan", "inf", "warm", ""] {
            assert!(temperature(bad).is_err(), "{bad}");
        }
    }
}

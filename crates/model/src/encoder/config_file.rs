//! Reading a model's configuration files, of any family.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::error::EncoderError;
use crate::small_file::{self, MOST_SETTINGS_BYTES};

/// What `config.json` says about a model of any family.
#[derive(Deserialize)]
pub(super) struct FamilyConfig {
    pub(super) model_type: Option<String>,
    /// Classes of transformers.
    architectures: Option<Vec<String>>,
    pub(super) id2label: Option<BTreeMap<String, IgnoredAny>>,
}

impl FamilyConfig {
    /// The first class.
    pub(super) fn class(&self) -> Option<&str> {
        Some(self.architectures.as_ref()?.first()?.as_str())
    }
}

/// An unsupported setting in a file.
pub(super) fn unsupported(
    path: &Path,
    setting: &'static str,
    value: &str,
    supported: &'static str,
) -> EncoderError {
    EncoderError::UnsupportedSetting {
        path: path.to_owned(),
        setting,
        value: value.to_owned(),
        supported,
    }
}

/// Reads a whole file of at most `limit` bytes; one that does not exist is [`EncoderError::Missing`].
pub(super) fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, EncoderError> {
    small_file::bytes(path, limit).map_err(|source| EncoderError::of_file(path.to_owned(), source))
}

pub(super) fn required<T: DeserializeOwned>(path: &Path) -> Result<T, EncoderError> {
    let bytes = read_file(path, MOST_SETTINGS_BYTES)?;
    serde_json::from_slice(&bytes).map_err(|source| EncoderError::Json {
        path: path.to_owned(),
        source,
    })
}

pub(super) fn optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EncoderError> {
    match required(path) {
        Err(EncoderError::Missing(_)) => Ok(None),
        value => value.map(Some),
    }
}

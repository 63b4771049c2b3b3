//! Files of settings, in JSON.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::decoder::error::DecoderError;
use crate::small_file::{self, MOST_SETTINGS_BYTES};

/// Reads the settings of a file.
pub(in crate::decoder) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, DecoderError> {
    let text = small_file::text(path, MOST_SETTINGS_BYTES)
        .map_err(|source| DecoderError::io(path, source))?;
    serde_json::from_str(&text).map_err(|error| DecoderError::invalid(path, error.to_string()))
}

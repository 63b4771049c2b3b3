//! What ken records of a training beyond the formats of others: a file beside the weights or the
//! adapter.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::decoder::error::DecoderError;
use crate::decoder::files::file_names::ORIGIN_FILE;
use crate::decoder::sources::tokens::SourceTokens;
use crate::decoder::text::prompt_form::PromptForm;
use crate::small_file::{self, MOST_SETTINGS_BYTES};

/// What was trained on what, and for what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The fingerprint of the model that it was trained on.
    pub base: String,
    /// What it was trained for.
    pub purpose: String,
    /// The form of prompts in training.
    pub prompt: PromptForm,
    /// Whose knowledge it says something of, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<LearnedBoundary>,
    /// The tokens by which it chooses a source and marks knowledge, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<SourceTokens>,
    /// The share of all questions whose source it was not trained on, where it chooses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<f64>,
    /// The digests of all questions that it was trained on, in ascending order: evaluating on those would flatter
    /// it.
    pub learned_from: Vec<u64>,
}

/// What a model was trained to say of what another one knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedBoundary {
    /// The fingerprint of the model that was probed.
    pub model: String,
    /// The fingerprint of the prompts that it answered.
    pub prompt: String,
    /// The share of all questions that it was not trained on.
    pub held_out: f64,
    /// Of the questions that it was trained on, those with whose evidence it was trained as well.
    pub questions_with_evidence: usize,
}

impl Origin {
    /// Reads it from the folder of a model or an adapter; `None` where another program made that.
    ///
    /// # Errors
    /// A file that cannot be understood.
    pub fn read(folder: &Path) -> Result<Option<Self>, DecoderError> {
        let path = folder.join(ORIGIN_FILE);
        let text = match small_file::text(&path, MOST_SETTINGS_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(DecoderError::io(&path, error)),
        };
        let origin = serde_json::from_str(&text);
        Ok(Some(origin.map_err(|error| {
            DecoderError::InvalidConfig {
                path,
                reason: error.to_string(),
            }
        })?))
    }

    /// Writes it into the folder of a model or an adapter, whole or not at all.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), DecoderError> {
        Ok(ken_storage::replace(
            &folder.join(ORIGIN_FILE),
            &self.json()?,
        )?)
    }

    /// The contents of its file.
    ///
    /// # Errors
    /// Numbers that JSON does not know.
    pub fn json(&self) -> Result<Vec<u8>, DecoderError> {
        let text = serde_json::to_string_pretty(self).map_err(|error| {
            DecoderError::io(Path::new(ORIGIN_FILE), std::io::Error::other(error))
        })?;
        Ok((text + "\n").into_bytes())
    }
}

//! ken's record of a training, beyond the formats of others: a file beside the weights or the adapter.

use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::decoder::error::DecoderError;
use crate::decoder::files::file_names::ORIGIN_FILE;
use crate::decoder::files::settings_file;
use crate::decoder::sources::tokens::SourceTokens;
use crate::decoder::text::prompt_form::PromptForm;

/// What a model was trained on and for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The fingerprint of the model that it was trained on.
    pub base: String,
    /// The purpose of the training.
    pub purpose: String,
    /// The form of prompts in training.
    pub prompt: PromptForm,
    /// The boundary of knowledge that it reports, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<LearnedBoundary>,
    /// The tokens by which it chooses a source and marks knowledge, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<SourceTokens>,
    /// If it chooses a source, the share of all questions that was held out of that training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<f64>,
    /// The digests of all questions that it was trained on, in ascending order: an evaluation on these would be too
    /// good.
    pub learned_from: Vec<u64>,
}

/// How a model was trained to report what another one knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedBoundary {
    /// The fingerprint of the probed model.
    pub model: String,
    /// The fingerprint of the prompts for its answers.
    pub prompt: String,
    /// The share of all questions that was held out.
    pub held_out: f64,
    /// How many of the training questions were also trained with their evidence.
    pub questions_with_evidence: usize,
}

impl Origin {
    /// Reads it from the folder of a model or an adapter; `None` if another program made that.
    ///
    /// # Errors
    /// A broken file.
    pub fn read(folder: &Path) -> Result<Option<Self>, DecoderError> {
        match settings_file::read(&folder.join(ORIGIN_FILE)) {
            Err(DecoderError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(None)
            }
            origin => origin.map(Some),
        }
    }

    /// Writes it into the folder of a model or an adapter, atomically.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), DecoderError> {
        Ok(ken_storage::replace(
            &folder.join(ORIGIN_FILE),
            &self.json()?,
        )?)
    }

    /// The content of its file.
    ///
    /// # Errors
    /// Numbers that JSON cannot represent.
    pub fn json(&self) -> Result<Vec<u8>, DecoderError> {
        let text = serde_json::to_string_pretty(self).map_err(|error| {
            DecoderError::io(Path::new(ORIGIN_FILE), std::io::Error::other(error))
        })?;
        Ok((text + "\n").into_bytes())
    }
}

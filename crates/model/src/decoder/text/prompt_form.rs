//! The form in which a decoder reads prompts as text: whole, or without instruction and worked examples. The
//! `config.json` of a checkpoint says for which it was trained.

use std::borrow::Cow;
use std::path::Path;

use ken_language::{Prompt, named};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decoder::error::DecoderError;
use crate::decoder::files::settings_file;

/// The field of `config.json`. Tools that train or convert a checkpoint keep unknown fields, so it stays with the
/// model.
pub(in crate::decoder) const FIELD: &str = "ken_prompt";

/// The form in which a decoder reads prompts as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptForm {
    /// Instruction, worked examples, input: for models that were trained on all kinds of text.
    #[default]
    Examples,
    /// The input alone: for models that were trained on such inputs only, and whose context is short.
    Bare,
}

named! {
    PromptForm, "form",
    PromptForm::Examples => "examples",
    PromptForm::Bare => "bare",
}

impl PromptForm {
    /// A prompt in this form: the prefix that all prompts of its kind share, and the rest.
    pub fn text(self, prompt: &Prompt) -> (String, Cow<'_, str>) {
        match self {
            Self::Examples => prompt.text(),
            Self::Bare => (String::new(), prompt.rest()),
        }
    }

    /// Reads the form from a `config.json`; [`PromptForm::Examples`] if the file does not say.
    ///
    /// # Errors
    /// An unknown form.
    pub(in crate::decoder) fn from_hugging_face(path: &Path) -> Result<Self, DecoderError> {
        let config: Value = settings_file::read(path)?;
        match config.get(FIELD) {
            None | Some(Value::Null) => Ok(Self::default()),
            Some(form) => Self::deserialize(form).map_err(|_| {
                let reason = format!("`{FIELD}` is {form}; it can be \"examples\" or \"bare\"");
                DecoderError::invalid(path, reason)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::says;

    use super::*;

    fn read(config: &str) -> Result<PromptForm, DecoderError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, config).unwrap();
        PromptForm::from_hugging_face(&path)
    }

    #[test]
    fn the_form_is_read_from_the_configuration() {
        assert_eq!(read("{}").unwrap(), PromptForm::Examples);
        for form in [PromptForm::Examples, PromptForm::Bare] {
            let config = format!("{{\"{FIELD}\": \"{form}\"}}");
            assert_eq!(read(&config).unwrap(), form);
        }
        let error = read("{\"ken_prompt\": \"short\"}").unwrap_err().to_string();
        says!(error => "\"short\"", "\"bare\"");
    }
}

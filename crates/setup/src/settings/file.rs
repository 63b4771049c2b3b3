//! The settings file: reading it, and writing one setting into it, by which nothing else in it changes.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::{Spanned, Value};

use super::{Key, Settings, not_toml};
use crate::error::SetupError;

/// What a file says; `None` where it is missing and may be.
pub(super) fn read(path: &Path, may_be_missing: bool) -> Result<Option<String>, SetupError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(cause) if cause.kind() == ErrorKind::NotFound && may_be_missing => Ok(None),
        Err(source) => Err(SetupError::SettingsUnreadable {
            path: path.to_owned(),
            source,
        }),
    }
}

impl Settings {
    /// Writes a setting into the file that [`Settings::resolve`] reads, which is made where it is missing. Returns its
    /// path.
    ///
    /// # Errors
    /// A file that is no TOML, or that cannot be read or written.
    pub fn write(file: Option<&Path>, key: Key, value: &str) -> Result<PathBuf, SetupError> {
        let (path, _) = Self::file(file);
        let text = read(&path, true)?.unwrap_or_default();
        let text = with(&text, key.setting().key, value)
            .map_err(|cause| not_toml(&path, &text, &cause))?;
        ken_storage::replace(&path, text.as_bytes()).map_err(|cause| {
            SetupError::SettingsUnwritable {
                path: path.clone(),
                source: cause.source,
            }
        })?;
        Ok(path)
    }
}

/// The text with another value for a key, which stands before all tables if it is new.
fn with(text: &str, key: &str, value: &str) -> Result<String, toml::de::Error> {
    let known: BTreeMap<String, Spanned<Value>> = toml::from_str(text)?;
    let value = Value::from(value);
    Ok(match known.get(key) {
        Some(old) => {
            let mut text = text.to_owned();
            text.replace_range(old.span(), &value.to_string());
            text
        }
        None => format!("{key} = {value}\n{text}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_written_and_the_rest_stays() {
        let written = |text: &str| with(text, "model", "hf:a/b").unwrap();
        assert_eq!(written(""), "model = \"hf:a/b\"\n");
        let text = "# mine\nk = 3 # few\nmodel = 'x' # old\n\n[keys]\nmodel = \"none\"\n";
        let expected = text.replace("'x'", "\"hf:a/b\"");
        assert_eq!(written(text), expected);
        let table = "[keys]\n\"http://h\" = \"none\"\n";
        assert_eq!(written(table), format!("model = \"hf:a/b\"\n{table}"));
        assert!(with("model = ", "model", "x").is_err());
    }
}

//! The settings file: reading it, and writing some settings into it, by which nothing else in it changes.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::{Spanned, Value};

use super::{Key, Settings, not_toml};
use crate::error::SetupError;

/// The text of a file; `None` if it is missing and may be.
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
    /// Writes values into the file that [`Settings::resolve`] reads, which is made where it is missing, and takes out what
    /// has none. Returns its path.
    ///
    /// # Errors
    /// A file that is no TOML, or that cannot be read or written.
    pub fn write(
        file: Option<&Path>,
        changes: &[(Key, Option<&str>)],
    ) -> Result<PathBuf, SetupError> {
        let (path, _) = Self::file(file);
        let mut text = read(&path, true)?.unwrap_or_default();
        for (key, value) in changes {
            text = with(&text, key.setting().key, *value)
                .map_err(|cause| not_toml(&path, &text, &cause))?;
        }
        ken_storage::replace(&path, text.as_bytes()).map_err(|cause| {
            SetupError::SettingsUnwritable {
                path: path.clone(),
                source: cause.source,
            }
        })?;
        Ok(path)
    }
}

/// The text with another value for a key, which stands before all tables if it is new; without a value, the text without
/// the key's line.
fn with(text: &str, key: &str, value: Option<&str>) -> Result<String, toml::de::Error> {
    let known: BTreeMap<String, Spanned<Value>> = toml::from_str(text)?;
    let old = known.get(key).map(Spanned::span);
    let mut changed = text.to_owned();
    match (old, value.map(Value::from)) {
        (Some(old), Some(value)) => changed.replace_range(old, &value.to_string()),
        (Some(old), None) => {
            let (before, after) = (&text[..old.start], &text[old.end..]);
            let start = before.rfind('\n').map_or(0, |end| end + 1);
            let end = after.find('\n').map_or(text.len(), |end| old.end + end + 1);
            changed.replace_range(start..end, "");
        }
        (None, Some(value)) => changed = format!("{key} = {value}\n{text}"),
        (None, None) => {}
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_written_and_the_rest_stays() {
        let written = |text: &str| with(text, "model", Some("hf:a/b")).unwrap();
        assert_eq!(written(""), "model = \"hf:a/b\"\n");
        let text = "# mine\nk = 3 # few\nmodel = 'x' # old\n\n[keys]\nmodel = \"none\"\n";
        let expected = text.replace("'x'", "\"hf:a/b\"");
        assert_eq!(written(text), expected);
        let table = "[keys]\n\"http://h\" = \"none\"\n";
        assert_eq!(written(table), format!("model = \"hf:a/b\"\n{table}"));
        assert!(with("model = ", "model", Some("x")).is_err());
    }

    #[test]
    fn a_setting_is_taken_out_and_the_rest_stays() {
        let without = |text: &str| with(text, "model", None).unwrap();
        let table = "[keys]\nmodel = \"none\"\n";
        for line in [
            "model = 'x' # old",
            "model=\"x\"",
            "model = \"\"\"\nx\ny\"\"\"",
        ] {
            assert_eq!(
                without(&format!("k = 3\n{line}\n\n{table}")),
                format!("k = 3\n\n{table}")
            );
            assert_eq!(without(line), "");
        }
        assert_eq!(without(table), table);
    }
}

//! Settings, each defined by one line of the table in `table`. A run reads them in this order, the later winning: the
//! defaults, `ken.toml`, `KEN_*` variables, the caller's values. It opens no corpus and no model.

mod address;
mod define;
mod file;
mod keys;
mod named_servers;
mod origins;
mod source;
mod table;
mod values;

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use ken_corpus::Active;
use ken_hub::ModelReference;

pub use address::CorpusAddress;
pub use define::Setting;
pub use keys::{KeySource, Keys};
pub use named_servers::{Named, NamedBy};
pub use origins::Origins;
pub use source::CorpusSource;
pub use table::{Key, Settings};
pub use values::{Bytes, count, seed};

use crate::error::SetupError;
use table::SETTINGS;

/// The file that is read if none is named.
const DEFAULT_FILE: &str = "ken.toml";

/// The variable that names another file.
const FILE_VARIABLE: &str = "KEN_CONFIG";

/// The table of `ken.toml` that says where the keys of servers are.
const KEY_TABLE: &str = "keys";

impl Settings {
    /// The embedder of new corpora. Commands that both open and make corpora name it by the flag that otherwise says
    /// where the embedder of a corpus is now.
    pub fn embedder_of_new(&self) -> &ModelReference {
        self.moved_embedder.as_ref().unwrap_or(&self.embedder)
    }

    /// The settings of a run that was given these values. `file` is the settings file. If neither it nor `KEN_CONFIG`
    /// names one, a missing `ken.toml` is no error, and an existing one is data: it came with the folder, from
    /// whoever made that.
    ///
    /// # Errors
    /// A file that cannot be read, an unknown key, a value that cannot be taken.
    pub fn resolve(
        file: Option<&Path>,
        given: impl IntoIterator<Item = (Key, OsString)>,
    ) -> Result<Self, SetupError> {
        let mut settings = Self::by_default()?;
        let (path, named_by) = Self::file(file);
        let may_be_missing = named_by == NamedBy::Data;
        if let Some(text) = file::read(&path, may_be_missing)? {
            settings.read_file(&path, &text, named_by)?;
        }
        settings.read_environment(|name| std::env::var(name).ok())?;
        for (key, value) in given {
            let named = || key.setting().key.to_owned();
            settings.put(key.setting(), &value, None, NamedBy::Person, named)?;
        }
        if let Some(first) = settings.sources.first() {
            settings.corpus = Some(first.address.clone());
        }
        settings.active = active(settings.scale, settings.reverse)?;
        Ok(settings)
    }

    /// The settings file, and who names it.
    pub(crate) fn file(given: Option<&Path>) -> (PathBuf, NamedBy) {
        let variable = std::env::var_os(FILE_VARIABLE).filter(|path| !path.is_empty());
        match given.map(Path::to_owned).or(variable.map(PathBuf::from)) {
            Some(path) => (path, NamedBy::Person),
            None => (DEFAULT_FILE.into(), NamedBy::Data),
        }
    }

    /// Reads the text of a settings file. Relative paths in it are relative to the file.
    fn read_file(&mut self, path: &Path, text: &str, named_by: NamedBy) -> Result<(), SetupError> {
        let table: toml::Table =
            toml::from_str(text).map_err(|cause| not_toml(path, text, &cause))?;
        let place = path.display();
        for (key, value) in &table {
            if key == KEY_TABLE {
                self.keys = Keys::read(value).map_err(|reason| {
                    let given = format!("`{key}` in {place}");
                    SetupError::BadValue { given, reason }
                })?;
                self.named.keys_by_data = named_by == NamedBy::Data;
                continue;
            }
            let Some(setting) = keyed().find(|setting| setting.key == key) else {
                return Err(unknown_key(key, path));
            };
            let value = match value {
                toml::Value::String(text) => text.clone(),
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Float(number) => number.to_string(),
                toml::Value::Boolean(yes) if setting.is_switch => yes.to_string(),
                other => {
                    return Err(SetupError::WrongType {
                        key: key.clone(),
                        path: path.to_owned(),
                        found: other.type_str(),
                    });
                }
            };
            self.put(setting, value.as_ref(), path.parent(), named_by, || {
                format!("`{key} = {}` in {place}", shown(&value))
            })?;
        }
        Ok(())
    }

    /// Reads the variables, by name; an empty value counts as none.
    fn read_environment(&mut self, get: impl Fn(&str) -> Option<String>) -> Result<(), SetupError> {
        for setting in keyed() {
            let name = variable(setting.key);
            if let Some(value) = get(&name).filter(|value| !value.is_empty()) {
                self.put(setting, value.as_ref(), None, NamedBy::Person, || {
                    format!("the variable {name}={}", shown(&value))
                })?;
            }
        }
        Ok(())
    }

    /// Sets a value; `given` says, for messages, which value and from where.
    fn put(
        &mut self,
        setting: &Setting<Self>,
        value: &OsStr,
        folder: Option<&Path>,
        named_by: NamedBy,
        given: impl FnOnce() -> String,
    ) -> Result<(), SetupError> {
        if let Some(value) = value.to_str() {
            self.named.take(value, named_by);
        }
        (setting.put)(self, value, folder).map_err(|reason| SetupError::BadValue {
            given: given(),
            reason,
        })
    }
}

/// The variable of a key.
fn variable(key: &str) -> String {
    format!("KEN_{}", key.to_ascii_uppercase())
}

/// The settings that the file and the environment may name.
fn keyed() -> impl Iterator<Item = &'static Setting<Settings>> {
    SETTINGS.iter().filter(|setting| setting.has_key())
}

/// A value as messages show it: without a possible password, if it looks like a URL.
fn shown(value: &str) -> &str {
    match value.contains("://") {
        true => ken_http::without_secrets(value),
        false => value,
    }
}

/// The error for a file that is not TOML, with place and reason. It does not show the line, which may hold a key.
fn not_toml(path: &Path, text: &str, cause: &toml::de::Error) -> SetupError {
    let before = cause.span().and_then(|span| text.get(..span.start));
    SetupError::NotToml {
        path: path.to_owned(),
        reason: cause.message().to_owned(),
        line: before.map_or(1, |before| before.matches('\n').count() + 1),
    }
}

impl Key {
    /// Whether its variable is set, which comes before the file.
    pub fn is_in_environment(self) -> bool {
        std::env::var_os(variable(self.setting().key)).is_some_and(|set| !set.is_empty())
    }

    /// The setting of this name.
    ///
    /// # Errors
    /// [`SetupError::UnknownSetting`].
    pub fn named(name: &str) -> Result<Self, SetupError> {
        let known = |key: &Self| key.setting().key;
        let named = Self::ALL.iter().find(|key| known(key) == name);
        named.copied().ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(known).collect();
            SetupError::UnknownSetting {
                name: name.to_owned(),
                remedy: meant(name, &known)
                    .unwrap_or_else(|| format!("the settings are {}", known.join(", "))),
            }
        })
    }
}

fn unknown_key(key: &str, path: &Path) -> SetupError {
    let known: Vec<&str> = keyed().map(|setting| setting.key).collect();
    let remedy = meant(key, &known).unwrap_or_else(|| {
        let known = known.join(", ");
        format!("the keys are {known}, and the table is [{KEY_TABLE}]")
    });
    SetupError::UnknownKey {
        key: key.to_owned(),
        path: path.to_owned(),
        remedy,
    }
}

/// The known name that was probably meant, as a question; `None` if none is near.
fn meant(name: &str, known: &[&str]) -> Option<String> {
    let near = known
        .iter()
        .filter(|known| strsim::levenshtein(name, known) <= 2);
    let near: Vec<String> = near.map(|known| format!("`{known}`")).collect();
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

fn active(scale: Option<NonZeroU32>, reverse: bool) -> Result<Active, SetupError> {
    match (scale.map(NonZeroU32::get), reverse) {
        (None, false) => Ok(Active::All),
        (Some(scale), false) => Ok(Active::First(scale)),
        (Some(scale), true) => Ok(Active::Last(scale)),
        (None, true) => Err(SetupError::ScaleNotNamed),
    }
}

#[cfg(test)]
mod tests;

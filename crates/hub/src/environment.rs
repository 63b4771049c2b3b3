//! The environment variables that control downloads, as a value that can be passed and overridden.
//! It reads the process environment and never changes it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use crate::error::{HubError, MOST_GB};

/// The default limit. The largest single files on hubs have some tens of gigabytes.
const DEFAULT_MOST_GB: u64 = 200;

/// The process environment with overrides on top.
///
/// Variables read here: `KEN_HOME`, `KEN_MODEL_MAX_GB`, `XDG_CACHE_HOME`, `HOME`; `KEN_PYTHON` and everything pip
/// reads; `HF_HOME`, `HF_ENDPOINT`, `HF_TOKEN`; `REQUESTS_CA_BUNDLE`, `CURL_CA_BUNDLE`,
/// `SSL_CERT_FILE`; the proxies, as [`ken_http::proxy_of`] knows them.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    overrides: BTreeMap<String, Option<String>>,
}

impl Environment {
    /// The environment of this process, unchanged.
    pub fn of_process() -> Self {
        Self::default()
    }

    /// The same environment with `name` set to `value`.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.overrides.insert(name.into(), Some(value.into()));
        self
    }

    /// The same environment without `name`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.overrides.insert(name.into(), None);
        self
    }

    /// The value of `name`; an empty value counts as unset.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let value = match self.overrides.get(name) {
            Some(value) => value.clone(),
            None => std::env::var(name).ok(),
        };
        value.filter(|v| !v.is_empty())
    }

    /// The size limit of a model file in bytes.
    pub(crate) fn most_bytes(&self) -> Result<u64, HubError> {
        let Some(value) = self.get(MOST_GB) else {
            return Ok(DEFAULT_MOST_GB * 1_000_000_000);
        };
        let gigabytes = value.trim().parse::<u64>().ok();
        gigabytes
            .and_then(|n| n.checked_mul(1_000_000_000))
            .ok_or(HubError::BadLimit { value })
    }

    /// The user's home folder.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        let home = self.get("HOME").or_else(|| self.get("USERPROFILE"));
        home.map(PathBuf::from)
    }

    /// `KEN_HOME`, else `$XDG_CACHE_HOME/ken`, else `~/.cache/ken`; `None` if there is no
    /// home folder either.
    pub fn ken_home(&self) -> Option<PathBuf> {
        if let Some(home) = self.get("KEN_HOME") {
            return Some(PathBuf::from(home));
        }
        // The XDG specification says to ignore relative paths.
        let xdg = self.get("XDG_CACHE_HOME").map(PathBuf::from);
        xdg.filter(|path| path.is_absolute())
            .or_else(|| self.home().map(|home| home.join(".cache")))
            .map(|cache| cache.join("ken"))
    }

    /// Gives the overrides to a child process.
    pub(crate) fn apply_to(&self, command: &mut Command) {
        for (name, value) in &self.overrides {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_prefers_ken_home_then_xdg_then_the_user() {
        let bare = Environment::of_process()
            .without("KEN_HOME")
            .without("XDG_CACHE_HOME")
            .with("HOME", "/home/ada");
        assert_eq!(bare.ken_home(), Some("/home/ada/.cache/ken".into()));
        let relative = bare.clone().with("XDG_CACHE_HOME", "caches");
        assert_eq!(relative.ken_home(), Some("/home/ada/.cache/ken".into()));
        let xdg = bare.with("XDG_CACHE_HOME", "/caches");
        assert_eq!(xdg.ken_home(), Some("/caches/ken".into()));
        assert_eq!(xdg.with("KEN_HOME", "/ken").ken_home(), Some("/ken".into()));
    }
}

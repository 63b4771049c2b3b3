//! The chosen policy in `ken.toml`, with its guarantee beside it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ken_setup::{Chosen, Key, Settings};

use crate::config::keys;
use crate::failure::Result;
use crate::shell::for_a_shell;
use crate::terminal::remark;

/// What was written.
pub(super) struct Written {
    /// The settings.
    pub(super) settings: PathBuf,
    /// The guarantee.
    pub(super) guarantee: Option<PathBuf>,
    /// A guarantee of another policy, which the settings named.
    pub(super) outdated: Option<PathBuf>,
    /// The settings that flags gave, and the file may not.
    pub(super) flags: Vec<String>,
}

pub(super) fn write(
    chosen: &Chosen,
    config: Option<&Path>,
    given: &[(Key, OsString)],
    settings: &Settings,
) -> Result<Written> {
    let path = chosen.write(config)?;
    if let Some(key) = Chosen::preceded(given) {
        let variable = key.setting().key.to_ascii_uppercase();
        remark(format!("KEN_{variable} is set, and comes before the file"));
    }
    let guarantee = chosen.guarantee.as_ref();
    let guarantee = guarantee.map(|_| path.with_file_name(Chosen::GUARANTEE));
    let named = settings.calibration.clone();
    Ok(Written {
        outdated: named.filter(|_| guarantee.is_none()),
        settings: path,
        guarantee,
        flags: given.iter().filter_map(flag).collect(),
    })
}

/// A setting as the flag that gave it, where what is answered depends on it.
fn flag((key, value): &(Key, OsString)) -> Option<String> {
    let everywhere = keys![allow_plaintext_keys trust_corpus_embedder threads];
    if everywhere.contains(key) {
        return None;
    }
    let setting = key.setting();
    let name = setting.only_flag.unwrap_or(setting.key).replace('_', "-");
    Some(format!(
        "--{name} {}",
        for_a_shell(&value.to_string_lossy())
    ))
}

//! The chosen policy in `ken.toml`, with its guarantee beside it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ken_eval::tune::Findings;
use ken_setup::{Key, Settings, Tuned};

use crate::commands::provenance::for_a_shell;
use crate::failure::Result;
use crate::terminal::remark;

/// The file of the guarantee, beside the settings.
const GUARANTEE: &str = "tuned.guarantee.json";

/// The file of what the policy was tuned for, beside the settings.
const TUNED_FOR: &str = "tuned.toml";

/// What was written.
pub(super) struct Written {
    /// The settings.
    pub(super) settings: PathBuf,
    /// The guarantee.
    pub(super) guarantee: Option<PathBuf>,
    /// A guarantee of another policy, which the settings still name.
    pub(super) outdated: Option<PathBuf>,
    /// The settings that flags gave, and the file may not.
    pub(super) flags: Vec<String>,
}

pub(super) fn write(
    findings: &Findings,
    tuned_for: &Tuned,
    config: Option<&Path>,
    given: &[(Key, OsString)],
    settings: &Settings,
) -> Result<Written> {
    let path = Settings::write(config, Key::policy, &tuned_for.policy)?;
    tuned_for.write(&path.with_file_name(TUNED_FOR))?;
    Settings::write(config, Key::tuned, TUNED_FOR)?;
    let guarantee = match &findings.tuned.guarantee {
        Some(guarantee) => {
            let file = path.with_file_name(GUARANTEE);
            guarantee.write(&file)?;
            Settings::write(config, Key::calibration, GUARANTEE)?;
            Some(file)
        }
        None => None,
    };
    if std::env::var_os("KEN_POLICY").is_some_and(|set| !set.is_empty()) {
        remark("KEN_POLICY is set, and comes before the file");
    }
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
    let everywhere = [
        Key::allow_plaintext_keys,
        Key::trust_corpus_embedder,
        Key::threads,
    ];
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

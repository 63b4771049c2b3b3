//! The chosen policy in `ken.toml`, with its guarantee beside it.

use std::path::{Path, PathBuf};

use ken_setup::{Key, Settings};

use super::Findings;
use crate::failure::Result;

/// The file of the guarantee, beside the settings.
const GUARANTEE: &str = "tuned.guarantee.json";

/// What was written.
pub(super) struct Written {
    /// The settings.
    pub(super) settings: PathBuf,
    /// The guarantee.
    pub(super) guarantee: Option<PathBuf>,
    /// A guarantee of another policy, which the settings still name.
    pub(super) outdated: Option<PathBuf>,
}

pub(super) fn write(
    findings: &Findings,
    config: Option<&Path>,
    settings: &Settings,
) -> Result<Written> {
    let policy = findings.chosen().policy.to_string();
    let path = Settings::write(config, Key::policy, &policy)?;
    let guarantee = match &findings.tuned.guarantee {
        Some(guarantee) => {
            let file = path.with_file_name(GUARANTEE);
            guarantee.write(&file)?;
            Settings::write(config, Key::calibration, GUARANTEE)?;
            Some(file)
        }
        None => None,
    };
    let named = settings.calibration.clone();
    Ok(Written {
        outdated: named.filter(|_| guarantee.is_none()),
        settings: path,
        guarantee,
    })
}

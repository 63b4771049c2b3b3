//! `cargo xtask bench datastore`: how long a policy datastore takes to be made, and to vote.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::cargo_command;

/// Numbers of a hidden state: those of the small model of the known world, rounded up.
const DIMENSIONS: &str = "96";

/// Measures a datastore of `entries` entries and prints what was measured as a line of JSON.
pub(crate) fn datastore(root: &Path, entries: usize) -> Result<()> {
    let ran = cargo_command()
        .args([
            "bench",
            "-q",
            "-p",
            "ken-answer",
            "--bench",
            "datastore",
            "--",
        ])
        .args([&entries.to_string(), DIMENSIONS])
        .current_dir(root)
        .status()?;
    ensure!(ran.success(), "the datastore could not be measured");
    Ok(())
}

//! `cargo xtask bench datastore`: how long making a policy datastore takes, and a vote.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::cargo_command;

/// The length of a hidden state: that of the small model of the known world, rounded up.
const DIMENSIONS: &str = "96";

/// Measures a datastore of `entries` entries and prints the result as a line of JSON.
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

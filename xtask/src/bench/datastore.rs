//! `cargo xtask bench datastore`: how long making a policy datastore takes, and a vote.

use std::path::Path;

use anyhow::{Context, Result};

use crate::{cargo_command, run};

/// The length of a hidden state: that of the small model of the known world, rounded up.
const DIMENSIONS: &str = "96";

/// Measures a datastore of `entries` entries and prints the result as a line of JSON.
pub(crate) fn datastore(root: &Path, entries: usize) -> Result<()> {
    run(cargo_command()
        .args(["bench", "-q", "-p", "ken-answer"])
        .args(["--bench", "datastore", "--"])
        .args([&entries.to_string(), DIMENSIONS])
        .current_dir(root))
    .context("the datastore could not be measured")
}

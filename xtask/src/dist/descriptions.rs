//! Whether the files that describe ken to other programs have the form that these read.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::run;
use crate::environment;

/// What pip installs, pinned; both bring their schemas.
const REQUIREMENTS: &[&str] = &["check-jsonschema==0.39.0", "kubernetes-validate==1.37.0"];

/// Schema and file.
const BY_SCHEMA: [(&str, &str); 2] = [
    ("vendor.github-workflows", ".github/workflows/release.yml"),
    ("vendor.compose-spec", "packaging/compose.yaml"),
];

/// Checks the workflow, and what Compose and Kubernetes read.
pub(crate) fn check(root: &Path) -> Result<()> {
    let environment = environment::ensure_installed("dist-descriptions", REQUIREMENTS)?;
    let program = |name: &str| {
        let mut command = Command::new(environment::program(&environment, name));
        command.current_dir(root);
        command
    };
    for (schema, file) in BY_SCHEMA {
        run(program("check-jsonschema").args(["--builtin-schema", schema, file]))?;
    }
    run(program("kubernetes-validate").args([
        "--strict",
        "--quiet",
        "packaging/kubernetes/ken.yaml",
    ]))
}

//! The package for Debian and Ubuntu, described in `crates/ken/Cargo.toml`: the program, its pages and completions, and
//! a service that is not started.

use anyhow::Result;

use super::tools::Tools;
use super::{Release, run};

/// Packs the tree.
pub(crate) fn build(release: &Release, tools: &Tools) -> Result<()> {
    let mut command = tools.cargo(&release.root);
    command.args(["deb", "--package", "ken-rag", "--no-build", "--no-strip"]);
    command.args(["--target", &release.target, "--output"]);
    command.arg(&release.out);
    run(&mut command)
}

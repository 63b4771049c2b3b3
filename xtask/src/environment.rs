//! Python packages that tests need beyond cargo's: from PyPI, pinned, in virtual environments in the cache outside
//! the clone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::{models, run};

/// An environment with these packages, installed first if it is missing.
pub(crate) fn ensure_installed(name: &str, requirements: &[&str]) -> Result<PathBuf> {
    ensure_installed_with(name, requirements, &[], &[])
}

/// As `ensure_installed`, with packages that come `alone`, without their dependencies, and with variables for pip.
pub(crate) fn ensure_installed_with(
    name: &str,
    requirements: &[&str],
    alone: &[&str],
    variables: &[(&str, &str)],
) -> Result<PathBuf> {
    let environment = models::cache()?.join(name);
    let content = [requirements, alone].concat().join("\n");
    if !is_ready(&environment, &content) || !program(&environment, "python").is_file() {
        install(&environment, requirements, alone, variables)
            .and_then(|()| {
                fs::write(receipt(&environment), content).context("cannot note that it is complete")
            })
            .with_context(|| format!("cannot set up {}", environment.display()))?;
    }
    Ok(environment)
}

/// A program of an environment.
pub(crate) fn program(environment: &Path, name: &str) -> PathBuf {
    match cfg!(windows) {
        true => environment.join("Scripts").join(format!("{name}.exe")),
        false => environment.join("bin").join(name),
    }
}

/// The marker of a complete environment; it lists the requirements, so that changed pins are installed again.
fn receipt(environment: &Path) -> PathBuf {
    environment.join("installed.txt")
}

fn is_ready(environment: &Path, content: &str) -> bool {
    fs::read_to_string(receipt(environment)).is_ok_and(|installed| installed == content)
}

fn install(
    environment: &Path,
    requirements: &[&str],
    alone: &[&str],
    variables: &[(&str, &str)],
) -> Result<()> {
    let python = models::find_python()?;
    if environment.exists() {
        fs::remove_dir_all(environment).context("cannot remove the old one")?;
    }
    run(Command::new(python).args(["-m", "venv"]).arg(environment)).context(
        "python3 could not make a virtual environment (see its message above; some systems have it in a package python3-venv)",
    )?;
    for (packages, options) in [(requirements, &[][..]), (alone, &["--no-deps"][..])] {
        if packages.is_empty() {
            continue;
        }
        let names = packages.join(", ");
        eprintln!("installing {names} with pip");
        run(Command::new(program(environment, "python"))
            .args(["-m", "pip", "install", "--quiet", "--only-binary", ":all:"])
            .args(options)
            .args(packages)
            .envs(variables.iter().copied())
            .stdout(Stdio::null()))
        .with_context(|| {
            format!("pip could not install {names} (see its message above; pip's configuration chooses the index)")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_of_other_pins_is_not_ready() {
        let folder = tempfile::tempdir().unwrap();
        let pins = "milvus-lite==2\npymilvus==3";
        fs::write(receipt(folder.path()), "milvus-lite==1\npymilvus==3").unwrap();
        assert!(!is_ready(folder.path(), pins));
        fs::write(receipt(folder.path()), pins).unwrap();
        assert!(is_ready(folder.path(), pins));
    }
}

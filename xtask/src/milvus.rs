//! The Milvus server that the tests start: milvus-lite from PyPI, in a virtual environment that is
//! kept in the cache outside the clone. It starts none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::models;

/// What pip installs, pinned; the server reads its messages with pymilvus and does not ask for it.
const REQUIREMENTS: [&str; 2] = ["milvus-lite==3.2.2", "pymilvus==3.0.2"];

/// The program that starts the server, installed first if it is not there.
pub(crate) fn ensure() -> Result<PathBuf> {
    let environment = models::cache()?.join("milvus");
    let program = match cfg!(windows) {
        true => environment.join("Scripts").join("milvus-lite.exe"),
        false => environment.join("bin").join("milvus-lite"),
    };
    if !is_ready(&environment) || !program.is_file() {
        install(&environment)
            .with_context(|| format!("cannot set up {}", environment.display()))?;
    }
    Ok(program)
}

/// The marker of a complete environment; it names what is in it, so that another pin is installed
/// again.
fn receipt(environment: &Path) -> PathBuf {
    environment.join(format!("{}.ready", REQUIREMENTS.join("+")))
}

fn is_ready(environment: &Path) -> bool {
    receipt(environment).is_file()
}

fn install(environment: &Path) -> Result<()> {
    let python = models::find_python()?;
    eprintln!("installing {} with pip", REQUIREMENTS.join(" and "));
    if environment.exists() {
        fs::remove_dir_all(environment).context("cannot remove the old one")?;
    }
    let made = Command::new(python)
        .args(["-m", "venv"])
        .arg(environment)
        .status()
        .context("cannot start python3")?;
    ensure!(
        made.success(),
        "python3 could not make a virtual environment (see its message above; some systems have it in a package python3-venv)"
    );
    let own_python = match cfg!(windows) {
        true => environment.join("Scripts").join("python.exe"),
        false => environment.join("bin").join("python"),
    };
    let installed = Command::new(own_python)
        .args(["-m", "pip", "install", "--quiet", "--only-binary", ":all:"])
        .args(REQUIREMENTS)
        .stdout(Stdio::null())
        .status()
        .context("cannot start pip")?;
    ensure!(
        installed.success(),
        "pip could not install {} (see its message above; pip's configuration chooses the index)",
        REQUIREMENTS.join(" and ")
    );
    fs::write(receipt(environment), "").context("cannot note that it is complete")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_of_other_pins_is_not_ready() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("milvus-lite==1.ready"), "").unwrap();
        assert!(!is_ready(folder.path()));
        fs::write(receipt(folder.path()), "").unwrap();
        assert!(is_ready(folder.path()));
    }
}

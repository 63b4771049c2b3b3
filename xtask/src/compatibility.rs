//! What a release promises to those who build on it: the oldest compiler that `Cargo.toml` names compiles the
//! workspace, and the version says whether public APIs broke since the last tag.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::stages::stage;
use crate::{cargo_metadata, cargo_programs, models, run};

/// It reads the output of the rustdoc of its time, so it is updated with the compiler.
const SEMVER_CHECKS: &str = "0.51.0";

pub(crate) fn check(root: &Path) -> Result<()> {
    stage("oldest compiler", || compile(root))?;
    let Some(tag) = last_tag(root)? else {
        eprintln!("xtask: no release before this one, so there is no API to compare with");
        return Ok(());
    };
    stage(&format!("API since {tag}"), || compare(root, &tag))
}

/// Compiles the workspace with the oldest compiler, which rustup fetches.
fn compile(root: &Path) -> Result<()> {
    let manifest: toml::Table = fs::read_to_string(root.join("Cargo.toml"))?.parse()?;
    let oldest = manifest["workspace"]["package"]["rust-version"]
        .as_str()
        .context("Cargo.toml names no rust-version")?;
    run(Command::new("rustup").args(["toolchain", "install", oldest, "--profile", "minimal"]))?;
    run(Command::new("rustup")
        .args(["run", oldest, "cargo", "check", "--workspace", "--locked"])
        .current_dir(root))
}

/// The tag of the release before the current commit; `None` before the first.
fn last_tag(root: &Path) -> Result<Option<String>> {
    let output = Command::new("git")
        .args(["describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"])
        .current_dir(root)
        .stderr(Stdio::null())
        .output()
        .context("cannot start git")?;
    let tag = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(output.status.success().then_some(tag))
}

/// Compares the public API of every published crate with that of a tag, except for crates that the tag does not have.
fn compare(root: &Path, tag: &str) -> Result<()> {
    let folder = models::cache()?.join("semver-checks");
    cargo_programs::install(&folder, "cargo-semver-checks", SEMVER_CHECKS, &[])?;
    let mut command = Command::new(folder.join("bin/cargo-semver-checks"));
    command.args(["semver-checks", "--workspace", "--default-features"]);
    command.args(["--baseline-rev", tag]);
    for name in new_packages(root, tag)? {
        command.args(["--exclude", &name]);
    }
    run(command.current_dir(root))
}

/// The packages whose manifest a tag does not have.
fn new_packages(root: &Path, tag: &str) -> Result<Vec<String>> {
    let metadata = cargo_metadata(root)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let text = |package: &Value, key: &str| {
        let text = package[key].as_str().map(str::to_owned);
        text.context("cargo does not describe a package")
    };
    let mut names = Vec::new();
    for package in packages {
        let manifest = text(package, "manifest_path")?;
        let manifest = Path::new(&manifest).strip_prefix(root)?;
        let there = Command::new("git")
            .args(["cat-file", "-e"])
            .arg(format!("{tag}:{}", manifest.display()))
            .current_dir(root)
            .stderr(Stdio::null())
            .status()
            .context("cannot start git")?;
        if !there.success() {
            names.push(text(package, "name")?);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workspace of two crates, the second of which is newer than the tag `v0.1.0`.
    fn workspace() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
            run(command.args(arguments).current_dir(folder.path())).unwrap();
        };
        let add = |name: &str| {
            let package = folder.path().join("crates").join(name);
            fs::create_dir_all(package.join("src")).unwrap();
            fs::write(package.join("src/lib.rs"), "").unwrap();
            let manifest = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n");
            fs::write(package.join("Cargo.toml"), manifest).unwrap();
        };
        fs::write(
            folder.path().join("Cargo.toml"),
            "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n",
        )
        .unwrap();
        add("old");
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "one"]);
        git(&["tag", "v0.1.0"]);
        add("new");
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "two"]);
        folder
    }

    #[test]
    fn the_last_tag_is_that_of_the_release_before() {
        let folder = workspace();
        assert_eq!(last_tag(folder.path()).unwrap().as_deref(), Some("v0.1.0"));
        let tagged = Command::new("git")
            .args(["tag", "v0.2.0"])
            .current_dir(folder.path())
            .status();
        assert!(tagged.unwrap().success());
        assert_eq!(last_tag(folder.path()).unwrap().as_deref(), Some("v0.1.0"));
    }

    #[test]
    fn packages_newer_than_the_tag_are_not_compared() {
        let folder = workspace();
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(new_packages(&root, "v0.1.0").unwrap(), ["new"]);
    }
}

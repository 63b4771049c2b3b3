//! What others are owed and want to know: the dependencies and their licences.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::tools::Tools;
use super::{FEATURES, Release, run};

/// Writes the text of each licence, with the packages under it. A licence that `deny.toml` does not allow is an
/// error.
pub(crate) fn licences(release: &Release, tools: &Tools, to: &Path) -> Result<()> {
    let deny = fs::read_to_string(release.root.join("deny.toml")).context("no deny.toml")?;
    let deny: toml::Table = deny.parse().context("deny.toml is no TOML")?;
    let allowed = deny["licenses"]
        .get("allow")
        .context("deny.toml allows no licence")?;
    let config = tempfile::NamedTempFile::new()?;
    let settings = format!(
        "accepted = {allowed}\ntargets = [\"{}\"]\nprivate = {{ ignore = true }}\n\
         ignore-dev-dependencies = true\nignore-build-dependencies = true\n",
        release.target
    );
    fs::write(config.path(), settings)?;
    let mut command = tools.cargo(&release.root);
    command.args(["about", "generate", "--offline", "--locked", "--fail"]);
    command.arg("--config").arg(config.path());
    command.args(["--manifest-path", "crates/ken/Cargo.toml"]);
    command.args(["--features", FEATURES, "--output-file"]);
    command.arg(to).arg("packaging/licences.hbs");
    run(&mut command)
}

/// Writes the dependencies as CycloneDX.
pub(crate) fn bill_of_materials(release: &Release, tools: &Tools) -> Result<()> {
    let name = format!("{}.cdx", release.name());
    let mut command = tools.cargo(&release.root);
    command.args([
        "cyclonedx",
        "--quiet",
        "--format",
        "json",
        "--no-build-deps",
    ]);
    command.args(["--manifest-path", "crates/ken/Cargo.toml"]);
    command.args(["--features", FEATURES, "--target", &release.target]);
    command.args(["--override-filename", &name]);
    let described = run(&mut command);
    // It writes a description of each package of the workspace beside its manifest.
    let mut own = None;
    for folder in folders(&release.root)? {
        let file = folder.join(format!("{name}.json"));
        if !file.is_file() {
            continue;
        }
        match folder.ends_with("crates/ken") {
            true => own = Some(file),
            false => fs::remove_file(file)?,
        }
    }
    described?;
    let own = own.context("cargo-cyclonedx did not describe ken")?;
    let to = release.out.join(format!("{name}.json"));
    fs::copy(&own, to).context("cannot copy the bill of materials")?;
    fs::remove_file(own).context("cannot remove the bill of materials")
}

/// The folders of the workspace's packages.
fn folders(root: &Path) -> Result<Vec<PathBuf>> {
    let crates = fs::read_dir(root.join("crates"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    let others = ["xtask", "torture"].map(|name| root.join(name));
    Ok(crates.into_iter().chain(others).collect())
}

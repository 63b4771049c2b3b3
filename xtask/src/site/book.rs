//! mdBook: its set-up, its settings for this site, and the call that makes the pages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo_programs::install;
use crate::{models, run};

/// Without the server and the watcher of files.
const FEATURES: &[&str] = &["--no-default-features", "--features", "search"];

/// Leaves out the page that prints everything and the page for a server's errors: their links cannot be checked here.
/// Quotes and dashes stay as written, since flags begin with two dashes.
const SETTINGS: &str = r#"[book]
title = "ken"
language = "en"

[build]
create-missing = false

[output.html]
additional-css = ["site.css"]
input-404 = ""
no-section-label = true
smart-punctuation = false

[output.html.print]
enable = false
"#;

/// Wide enough for tables of three columns; a table that is wider than its window scrolls.
const STYLE: &str = "\
:root { --content-max-width: 960px; }
.content th { text-align: start; }
.content td { vertical-align: top; }
@media (max-width: 600px) { .content :is(td, th) { padding: 3px 8px; } }
";

/// The program, installed first if this version is missing.
pub(super) fn ensure() -> Result<PathBuf> {
    let folder = models::cache()?.join("mdbook");
    install(&folder, "mdbook", "0.5.4", FEATURES)?;
    Ok(folder.join("bin/mdbook"))
}

/// Builds `site` from a folder whose `src` holds the pages.
pub(super) fn build(program: &Path, staged: &Path, site: &Path) -> Result<()> {
    fs::write(staged.join("book.toml"), SETTINGS).context("cannot write the settings")?;
    fs::write(staged.join("site.css"), STYLE).context("cannot write the style")?;
    run(Command::new(program)
        .arg("build")
        .arg(staged)
        .arg("--dest-dir")
        .arg(site))
}

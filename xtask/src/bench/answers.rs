//! `cargo xtask bench answers`: ken, a plain prompt over llama.cpp's server and LlamaIndex answer questions over
//! manuals of Debian, in turns and with one model file.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{build_program, python_with, target_folder};
use crate::{models, run};

/// What pip installs, pinned.
const PEERS: [&str; 6] = [
    "llama-index-core==0.14.25",
    "llama-index-embeddings-openai-like==0.4.0",
    "llama-index-llms-openai-like==0.8.1",
    "llama-index-readers-file==0.7.0",
    "tiktoken",
    "xllamacpp",
];

/// Fetches the manuals, has the questions answered, prints a table and leaves every answer in
/// `target/bench-answers/MODEL`. `arguments` go to `xtask/bench/answers/answers.py run`.
pub(crate) fn answers(root: &Path, model: &Path, arguments: &[&str]) -> Result<()> {
    ensure!(model.is_file(), "{} is no model file", model.display());
    let embedder = models::ensure()?.join(models::ENCODER);
    let python = python_with("bench-answers", &PEERS, &[])?;
    let ken = build_program(root)?;
    let folder = target_folder(root).join("bench-answers");
    let scripts = root.join("xtask/bench/answers");
    let manuals = folder.join("manuals");
    if !manuals.is_dir() {
        let partial = folder.join("manuals.partial");
        run(Command::new(&python)
            .arg(scripts.join("manuals.py"))
            .arg(&partial))
        .context("the manuals could not be fetched")?;
        std::fs::rename(&partial, &manuals)?;
    }
    let name = model.file_stem().context("the model file has no name")?;
    run(Command::new(python)
        .arg(scripts.join("answers.py"))
        .arg("run")
        .arg("--ken")
        .arg(ken)
        .arg("--model")
        .arg(model.canonicalize()?)
        .arg("--embedder")
        .arg(embedder)
        .arg("--manuals")
        .arg(manuals)
        .arg("--out")
        .arg(folder.join(name))
        .args(arguments))
    .context("the questions could not be answered")
}

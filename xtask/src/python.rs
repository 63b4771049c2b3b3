//! The tests of the Python package: its extension is built from the same artifacts as the other tests and put beside
//! the sources in a folder, where Python tests it with the packages that it has adapters for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::tidy::files_below;
use crate::{cargo_command, environment, run};

/// What pip installs, pinned. The last package is published as sources only, and needs no compiler. Ragas needs an
/// older langchain-community than it asks for; instructor is named so that pip finds a solution soon.
const REQUIREMENTS: &[&str] = &[
    "dspy==3.4.1",
    "haystack-ai==3.4.1",
    "instructor==1.17.0",
    "langchain-community==0.4.1",
    "langchain-core==1.8.3",
    "litellm==1.110.2",
    "llama-index-core==0.14.25",
    "lm-eval==0.4.13",
    "mypy==2.4.1",
    "numpy==2.4.6",
    "pandas==3.1.1",
    "polars==2.1.0",
    "pyarrow==26.0.1",
    "ragas==0.4.3",
    "tqdm==4.70.1",
    "transformers==5.24.0",
    "--no-binary=rouge-score,sqlitedict,word2number",
];

/// What pip installs without its dependencies: FlashRAG's pipelines need transformers, but not `torch`, `faiss` and
/// the others that its own models need.
const ALONE: &[&str] = &["flashrag-dev==0.1.2"];

/// The package, and its folder of sources and tests.
const PACKAGE: &str = "ken-python";
const FOLDER: &str = "crates/python";

/// The name of its library.
const LIBRARY: &str = "_ken";

/// A Python with what the tests import, installed first if it is missing.
pub(crate) fn ensure() -> Result<PathBuf> {
    let environment = environment::ensure_installed_with("python", REQUIREMENTS, ALONE, &[])?;
    Ok(environment::program(&environment, "python"))
}

/// Runs the tests.
pub(crate) fn test(root: &Path, python: &Path, models: &Path, features: &str) -> Result<()> {
    let extension = build(root, features)?;
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let package = folder.path().join("ken");
    copy(&root.join(FOLDER).join("python/ken"), &package)?;
    copy(
        &root.join(FOLDER).join("tests"),
        &folder.path().join("tests"),
    )?;
    fs::copy(extension, package.join(extension_name())).context("cannot copy the extension")?;
    run(Command::new(python)
        .args(["-m", "unittest", "discover", "--start-directory", "tests"])
        .args(["--top-level-directory", "."])
        .current_dir(folder.path())
        .env("PYTHONPATH", folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("KEN_TEST_MODELS", models)
        .env("KEN_TEST_DOCUMENTS", root.join("docs")))
}

/// Builds the extension as a part of the workspace, so that it shares the tests' artifacts, and returns its path.
fn build(root: &Path, features: &str) -> Result<PathBuf> {
    let built = cargo_command()
        .args(["build", "--workspace", "--lib", "--features", features])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(
        built.status.success(),
        "cargo build ended with {}",
        built.status
    );
    let output = String::from_utf8(built.stdout).context("what cargo says is no text")?;
    output
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|message| library(&message))
        .with_context(|| format!("cargo built no library of {PACKAGE}"))
}

/// The library of the package, if a message of cargo is about that.
fn library(message: &Value) -> Option<PathBuf> {
    // Other packages have such libraries, too.
    if message.get("target")?.get("name")? != LIBRARY {
        return None;
    }
    let files = message.get("filenames")?.as_array()?.iter();
    let mut files = files.filter_map(Value::as_str).map(PathBuf::from);
    files.find(|file| {
        file.extension()
            .is_some_and(|end| ["so", "dylib", "dll"].iter().any(|known| end == *known))
    })
}

/// The file name that Python expects.
fn extension_name() -> &'static str {
    match cfg!(windows) {
        true => "_ken.pyd",
        false => "_ken.abi3.so",
    }
}

/// Copies a folder of sources.
fn copy(from: &Path, to: &Path) -> Result<()> {
    for path in files_below(from, |folder| folder.ends_with("__pycache__"))? {
        let target = to.join(&path);
        fs::create_dir_all(target.parent().unwrap_or(to))
            .and_then(|()| fs::copy(from.join(&path), &target))
            .with_context(|| format!("cannot copy {path}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_in_what_cargo_says() {
        let message = |name: &str| {
            serde_json::json!({
                "target": { "name": name, "crate_types": ["cdylib"] },
                "filenames": ["target/debug/lib_ken.d", "target/debug/lib_ken.so"],
            })
        };
        let found = library(&message("_ken"));
        assert_eq!(found, Some(PathBuf::from("target/debug/lib_ken.so")));
        assert_eq!(library(&message("llguidance")), None);
        assert_eq!(
            library(&serde_json::json!({"reason": "build-finished"})),
            None
        );
    }
}

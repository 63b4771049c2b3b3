//! `cargo xtask bench`: every benchmark. Those of a crate's public functions are in its `benches`; those of private
//! ones are ignored tests named `measurement`, which only these verbs run.
//!
//! `bench model` measures ken and its peers on the same texts, alternating in one run. The peers come
//! from PyPI into an environment of their own, a download of some gigabytes.

mod answers;
mod datastore;
mod documents;
mod index;
mod paper;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::{cargo_command, environment, models, run};

pub(crate) use self::answers::answers;
pub(crate) use self::datastore::datastore;
pub(crate) use self::documents::documents;
pub(crate) use self::index::{Vectors, growth, index};
pub(crate) use self::paper::paper;

/// The peers, by their names for pip.
const PEERS: [&str; 5] = [
    "torch",
    "transformers",
    "sentence-transformers",
    "gguf",
    "accelerate",
];

/// How often each side is measured; the best rate counts.
const ROUNDS: usize = 2;

/// The rates that both sides have.
const WORK: [&str; 5] = [
    "sample_tokens_per_s",
    "read_tokens_per_s",
    "score_contexts_per_s",
    "stream_tokens_per_s",
    "embed_passages_per_s",
];

/// Measures, prints the ratios and leaves the raw numbers in `target/bench-model.json`.
pub(crate) fn model(root: &Path) -> Result<()> {
    let folder = models::ensure()?;
    let python = python_with("bench-peers", &PEERS, &[])?;
    let threads = std::thread::available_parallelism()?.to_string();
    let program = build_program(root)?;
    let target = target_folder(root);
    let findings = target.join("bench-findings.json");

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        eprintln!("xtask: round {round} of {ROUNDS}: ken");
        let text = output(
            Command::new(&program)
                .args(["doctor", "--bench", "--json", "--threads", &threads])
                .env("KEN_MODEL", folder.join(models::DECODER))
                .env("KEN_EMBEDDER", folder.join(models::ENCODER)),
        )?;
        std::fs::write(&findings, &text)?;
        let mut found: Value = serde_json::from_str(&text)?;
        let mut bench = found["bench"].take();
        ensure!(bench.is_object(), "ken found no models to measure");
        if let Some(bench) = bench.as_object_mut() {
            bench.remove("workload");
        }
        ours.push(bench);
        eprintln!("xtask: round {round} of {ROUNDS}: peers");
        let text = output(
            Command::new(&python)
                .arg(root.join("xtask/bench/peers.py"))
                .arg(&findings)
                .arg(&threads),
        )?;
        theirs.push(serde_json::from_str::<Value>(&text)?);
    }
    let raw = json!({ "threads": threads, "ken": ours, "peers": theirs });
    let file = target.join("bench-model.json");
    std::fs::write(&file, serde_json::to_string_pretty(&raw)?)?;
    print_ratios(&ours, &theirs);
    println!("raw numbers: {}", file.display());
    Ok(())
}

/// Builds `ken` as users have it, and returns its path.
pub(crate) fn build_program(root: &Path) -> Result<PathBuf> {
    run(cargo_command()
        .args(["build", "--release", "-p", "ken-rag"])
        .current_dir(root))
    .context("ken could not be built")?;
    let name = format!("ken{}", std::env::consts::EXE_SUFFIX);
    Ok(target_folder(root).join("release").join(name))
}

pub(crate) fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// The Python of the environment of this name, which holds the peers, created if it is missing: some are then
/// compiled, with these variables.
fn python_with(name: &str, peers: &[&str], variables: &[(&str, &str)]) -> Result<PathBuf> {
    if let Some(python) = std::env::var_os("KEN_BENCH_PYTHON") {
        return Ok(PathBuf::from(python));
    }
    // The last choice of what is compiled holds.
    let peers = [&["--no-cache-dir", "--only-binary=:none:"], peers].concat();
    let environment = environment::ensure_installed_with(name, &peers, &[], variables)?;
    Ok(environment::program(&environment, "python"))
}

/// What a program printed.
fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    ensure!(
        output.status.success(),
        "{} failed",
        command.get_program().display()
    );
    Ok(String::from_utf8(output.stdout)?)
}

fn print_ratios(ours: &[Value], theirs: &[Value]) {
    let best = |rates: &mut dyn Iterator<Item = &Value>| {
        rates.filter_map(Value::as_f64).fold(0.0f64, f64::max)
    };
    println!(
        "{:<24}{:>10}{:>10}{:>10}{:>8}{:>8}",
        "", "peer", "f32", "int8", "f32 x", "int8 x"
    );
    for work in WORK {
        let peer = best(&mut theirs.iter().map(|rates| &rates[work]));
        let ken = |index: usize| best(&mut ours.iter().map(|rates| &rates["rates"][index][work]));
        let (exact, coarse) = (ken(0), ken(1));
        println!(
            "{work:<24}{peer:>10.1}{exact:>10.1}{coarse:>10.1}{:>8.2}{:>8.2}",
            exact / peer,
            coarse / peer
        );
    }
}

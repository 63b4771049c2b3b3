//! `cargo xtask bench index`: ken's graph beside hnswlib and faiss, on the same vectors, by turns in
//! one run and on one thread each.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{environment, output, target_folder};
use crate::{cargo_command, models};

/// The peers, as pip names them.
const PEERS: [&str; 3] = ["numpy", "hnswlib", "faiss-cpu"];

const DIMENSIONS: &str = "384";
const QUERIES: &str = "2000";
const SEED: &str = "1";

/// How often each side is asked; the best of its rates counts.
const ROUNDS: usize = 2;

/// The recall that is asked for; a peer is compared at the least effort that reaches it, and at
/// the least that reaches ken's.
const RECALL: f64 = 0.95;

/// Measures on `vectors` clustered vectors, prints the ratios and leaves the raw numbers in
/// `target/bench-index.json`.
pub(crate) fn index(root: &Path, vectors: usize) -> Result<()> {
    let python = environment(&models::cache()?.join("bench-index"), &PEERS)?;
    let target = target_folder(root);
    let folder = target.join("bench-index");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let peers = |verb: &str, numbers: &[&str]| -> Result<Value> {
        eprintln!("xtask: peers: {verb}");
        let script = root.join("xtask/bench/index.py");
        let mut command = Command::new(&python);
        command.arg(script).arg(verb).arg(&folder).args(numbers);
        command.env("OMP_NUM_THREADS", "1");
        Ok(serde_json::from_str(&output(&mut command)?)?)
    };
    let ken = || -> Result<Value> {
        eprintln!("xtask: ken");
        let ran = cargo_command()
            .args(["test", "--release", "-q", "-p", "ken-index", "--lib", "--"])
            .args(["--ignored", "dense::measurement"])
            .env("KEN_BENCH_INDEX", &folder)
            .env("KEN_BENCH_DIMENSIONS", DIMENSIONS)
            .env("RAYON_NUM_THREADS", "1")
            .current_dir(root)
            .stdout(std::process::Stdio::null())
            .status()?;
        ensure!(ran.success(), "ken could not be measured");
        let times = std::fs::read_to_string(folder.join("ken.json"))?;
        Ok(serde_json::from_str(&times)?)
    };

    peers("make", &[&vectors.to_string(), DIMENSIONS, QUERIES, SEED])?;
    let mut ours = vec![ken()?];
    let built = peers("build", &[DIMENSIONS])?;
    let mut theirs = vec![peers("query", &[DIMENSIONS])?];
    for _ in 1..ROUNDS {
        ours.push(ken()?);
        theirs.push(peers("query", &[DIMENSIONS])?);
    }
    let raw = json!({ "vectors": vectors, "ken": ours, "built_s": built, "rounds": theirs });
    let file = target.join("bench-index.json");
    std::fs::write(&file, serde_json::to_string_pretty(&raw)?)?;
    print_ratios(&ours, &built, &theirs)?;
    println!("raw numbers: {}", file.display());
    Ok(())
}

fn print_ratios(ours: &[Value], built: &Value, theirs: &[Value]) -> Result<()> {
    let number = |value: &Value| value.as_f64().context("a number is missing");
    let rates = ours.iter().filter_map(|run| run["queries_per_s"].as_f64());
    let rate = rates.fold(0.0, f64::max);
    let (build_s, recall) = (
        number(&ours[0]["build_s"])?,
        number(&theirs[0]["ken_recall"])?,
    );
    println!(
        "{:<10}{:>6}{:>9}{:>12}{:>9}{:>9}{:>9}",
        "", "ef", "recall", "queries/s", "x", "built s", "x"
    );
    println!(
        "{:<10}{:>6}{recall:>9.4}{rate:>12.0}{:>9}{build_s:>9.1}",
        "ken", "", ""
    );
    for peer in ["hnswlib", "faiss"] {
        let peer_s = number(&built[peer])?;
        for least in [RECALL, recall] {
            let points = theirs[0][peer].as_array().context("no points")?;
            let Some(at) = points
                .iter()
                .position(|point| point["recall"].as_f64() >= Some(least))
            else {
                println!("{peer:<10} does not reach a recall of {least:.4}");
                continue;
            };
            let rates = theirs
                .iter()
                .filter_map(|round| round[peer][at]["queries_per_s"].as_f64());
            let peer_rate = rates.fold(0.0, f64::max);
            println!(
                "{peer:<10}{:>6}{:>9.4}{peer_rate:>12.0}{:>9.2}{peer_s:>9.1}{:>9.2}",
                points[at]["ef"],
                number(&points[at]["recall"])?,
                rate / peer_rate,
                peer_s / build_s
            );
        }
    }
    Ok(())
}

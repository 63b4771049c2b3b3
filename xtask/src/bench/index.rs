//! `cargo xtask bench index`: ken's dense search, hnswlib and faiss on the same vectors, alternating in
//! one run; and `bench growth`: the cost of more vectors and shards.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{environment, output, target_folder};
use crate::{cargo_command, models};

/// The peers, as pip names them, and what draws the plot.
const PEERS: [&str; 4] = ["numpy", "hnswlib", "faiss-cpu", "matplotlib"];

const DIMENSIONS: usize = 384;
const QUERIES: usize = 1000;
const SEED: &str = "1";

/// Passages found for each query.
const K: usize = 10;

/// How often each side is measured; the best rate counts.
const ROUNDS: usize = 2;

/// The target recall; a peer is compared at the smallest ef that reaches it, and at the smallest that
/// reaches ken's.
const RECALL: f64 = 0.95;

/// The numbers of vectors of `bench growth`, and the numbers of shards for each way of search: one way
/// is enough to see what shards cost.
const COUNTS: [usize; 3] = [10_000, 100_000, 1_000_000];
const SHARDS: [(&str, &[usize]); 3] = [("exact", &[1]), ("graph", &[1, 4, 12]), ("disk", &[1])];

/// Fewer queries, since a scan of a million takes long.
const GROWTH_QUERIES: usize = 500;

/// The raw numbers of `bench growth`.
const GROWTH: &str = "bench-growth.json";

/// The vectors to measure on.
pub(crate) enum Vectors {
    /// This many, in clusters.
    Clustered(usize),
    /// Files of 32-bit numbers, 384 a row: what is searched, and the queries.
    Files(PathBuf, PathBuf),
}

/// A folder with `vectors.f32` and `queries.f32`, the Python that measures the peers on it, and the
/// threads that either side builds with.
struct Bench<'a> {
    root: &'a Path,
    python: PathBuf,
    folder: PathBuf,
    threads: String,
}

impl<'a> Bench<'a> {
    /// An empty folder in `target`. `KEN_BENCH_THREADS` is the number of threads that build, by default
    /// one.
    fn new(root: &'a Path) -> Result<Self> {
        let folder = target_folder(root).join("bench-index");
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        Ok(Self {
            root,
            python: environment(&models::cache()?.join("bench-index"), &PEERS)?,
            folder,
            threads: std::env::var("KEN_BENCH_THREADS").unwrap_or_else(|_| "1".to_owned()),
        })
    }

    fn peers(&self, verb: &str, arguments: &[String]) -> Result<Value> {
        eprintln!("xtask: peers: {verb}");
        let script = self.root.join("xtask/bench/index.py");
        let mut command = Command::new(&self.python);
        command.arg(script).arg(verb).arg(&self.folder);
        command
            .args(arguments)
            .env("KEN_BENCH_THREADS", &self.threads);
        Ok(serde_json::from_str(&output(&mut command)?)?)
    }

    /// Puts the vectors and queries into the folder, of clustered ones so many queries. Returns how
    /// many vectors there are.
    fn fill(&self, vectors: &Vectors, queries: usize) -> Result<usize> {
        match vectors {
            Vectors::Clustered(count) => {
                let numbers = [count, &DIMENSIONS, &queries].map(ToString::to_string);
                let [count_text, dimensions, queries] = numbers;
                self.peers("make", &[count_text, dimensions, queries, SEED.to_owned()])?;
                Ok(*count)
            }
            Vectors::Files(stored, asked) => {
                for (from, to) in [(stored, "vectors.f32"), (asked, "queries.f32")] {
                    std::fs::copy(from, self.folder.join(to))
                        .with_context(|| format!("cannot copy {}", from.display()))?;
                }
                let bytes = std::fs::metadata(stored)?.len() as usize;
                Ok(bytes / size_of::<f32>() / DIMENSIONS)
            }
        }
    }

    /// What ken takes for the first `count` vectors in so many shards; what it found is left in
    /// the folder.
    fn ken(&self, dense: &str, count: usize, shards: usize) -> Result<Value> {
        eprintln!("xtask: ken: {dense}, {count} vectors, {shards} shards");
        let ran = cargo_command()
            .args(["test", "--release", "-q", "-p", "ken-index", "--lib", "--"])
            .args(["--ignored", "dense::measurement"])
            .env("KEN_BENCH_INDEX", &self.folder)
            .env("KEN_BENCH_DIMENSIONS", DIMENSIONS.to_string())
            .env("KEN_BENCH_DENSE", dense)
            .env("KEN_BENCH_COUNT", count.to_string())
            .env("KEN_BENCH_SHARDS", shards.to_string())
            .env("KEN_BENCH_K", K.to_string())
            .env("RAYON_NUM_THREADS", &self.threads)
            .current_dir(self.root)
            .stdout(Stdio::null())
            .status()?;
        ensure!(ran.success(), "ken could not be measured");
        let measured = std::fs::read_to_string(self.folder.join("ken.json"))?;
        Ok(serde_json::from_str(&measured)?)
    }

    /// The rows that were found last, `[queries, k]`.
    fn found(&self) -> Result<Vec<u32>> {
        let bytes = std::fs::read(self.folder.join("found.u32"))?;
        let (rows, _) = bytes.as_chunks::<4>();
        Ok(rows.iter().map(|&row| u32::from_le_bytes(row)).collect())
    }

    /// Leaves the raw numbers in `target`. Returns the file.
    fn keep(&self, name: &str, raw: &Value) -> Result<PathBuf> {
        let file = target_folder(self.root).join(name);
        std::fs::write(&file, serde_json::to_string_pretty(raw)?)?;
        Ok(file)
    }
}

/// The share of what is right that was found.
fn recall(found: &[u32], right: &[u32]) -> f64 {
    let rows = found.chunks(K).zip(right.chunks(K));
    let hits = rows.map(|(found, right)| found.iter().filter(|row| right.contains(row)).count());
    hits.sum::<usize>() as f64 / right.len().max(1) as f64
}

/// Measures ken's ways of dense search and the peers, prints the ratios and leaves the raw numbers
/// in `target/bench-index.json`.
pub(crate) fn index(root: &Path, vectors: &Vectors) -> Result<()> {
    let bench = Bench::new(root)?;
    let count = bench.fill(vectors, QUERIES)?;
    let dimensions = [DIMENSIONS.to_string()];
    let exact = bench.ken("exact", count, 1)?;
    let right = bench.found()?;
    std::fs::copy(
        bench.folder.join("found.u32"),
        bench.folder.join("right.u32"),
    )?;
    let mut ours = vec![exact];
    for dense in ["graph", "disk"] {
        let mut measured = bench.ken(dense, count, 1)?;
        measured["recall"] = recall(&bench.found()?, &right).into();
        ours.push(measured);
    }
    let built = bench.peers("build", &dimensions)?;
    let mut theirs = vec![bench.peers("query", &dimensions)?];
    for _ in 1..ROUNDS {
        // The scan, which comes first, tells what is right and need not be repeated.
        for measured in &mut ours[1..] {
            let dense = measured["dense"].as_str().unwrap_or_default().to_owned();
            let again = bench.ken(&dense, count, 1)?;
            if again["queries_per_s"].as_f64() > measured["queries_per_s"].as_f64() {
                for number in ["queries_per_s", "p50_ms", "p99_ms"] {
                    measured[number] = again[number].clone();
                }
            }
        }
        theirs.push(bench.peers("query", &dimensions)?);
    }
    print_ratios(&ours, &built, &theirs)?;
    let raw = json!({
        "vectors": count, "threads": bench.threads, "ken": ours, "built_s": built, "rounds": theirs,
    });
    let file = bench.keep("bench-index.json", &raw)?;
    println!("raw numbers: {}", file.display());
    Ok(())
}

fn print_ratios(ours: &[Value], built: &Value, theirs: &[Value]) -> Result<()> {
    let number = |value: &Value| value.as_f64().context("a number is missing");
    println!(
        "{:<10}{:>6}{:>9}{:>12}{:>9}{:>9}{:>9}{:>9}{:>12}",
        "", "ef", "recall", "queries/s", "x", "built s", "x", "p50 ms", "resident MB"
    );
    for measured in ours {
        println!(
            "{:<10}{:>6}{:>9.4}{:>12.0}{:>9}{:>9.1}{:>9}{:>9.3}{:>12.0}",
            measured["dense"].as_str().unwrap_or_default(),
            "",
            measured["recall"].as_f64().unwrap_or(1.0),
            number(&measured["queries_per_s"])?,
            "",
            measured["build_s"].as_f64().unwrap_or_default(),
            "",
            number(&measured["p50_ms"])?,
            number(&measured["resident_bytes"])? / 1e6
        );
    }
    let graph = &ours[1];
    let (rate, build_s) = (number(&graph["queries_per_s"])?, number(&graph["build_s"])?);
    for peer in ["hnswlib", "faiss"] {
        let peer_s = number(&built[peer])?;
        for least in [RECALL, number(&graph["recall"])?] {
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

/// Measures each way of dense search at [`COUNTS`] and [`SHARDS`], prints a table and leaves the
/// raw numbers in `target/bench-growth.json` and a plot beside them.
pub(crate) fn growth(root: &Path) -> Result<()> {
    let bench = Bench::new(root)?;
    let most = COUNTS.iter().copied().max().unwrap_or_default();
    bench.fill(&Vectors::Clustered(most), GROWTH_QUERIES)?;
    println!(
        "{:<8}{:>10}{:>8}{:>10}{:>10}{:>14}{:>10}{:>10}",
        "", "vectors", "shards", "p50 ms", "p99 ms", "resident MB", "recall", "built s"
    );
    let mut all = Vec::new();
    for count in COUNTS {
        let mut right = Vec::new();
        for (dense, all_shards) in SHARDS {
            for &shards in all_shards {
                let mut measured = bench.ken(dense, count, shards)?;
                let found = bench.found()?;
                if right.is_empty() {
                    right = found.clone();
                }
                measured["recall"] = recall(&found, &right).into();
                let number = |name: &str| measured[name].as_f64().unwrap_or_default();
                println!(
                    "{dense:<8}{count:>10}{shards:>8}{:>10.3}{:>10.3}{:>14.1}{:>10.4}{:>10.1}",
                    number("p50_ms"),
                    number("p99_ms"),
                    number("resident_bytes") / 1e6,
                    number("recall"),
                    number("build_s")
                );
                all.push(measured);
                // After each, so that a run that is stopped leaves what it has.
                bench.keep(GROWTH, &json!({ "threads": bench.threads, "ken": all }))?;
                std::fs::remove_dir_all(bench.folder.join(format!("{dense}-{count}-{shards}")))?;
            }
        }
    }
    let raw = target_folder(root).join(GROWTH);
    let drawing = raw.with_extension("svg");
    let files = [&raw, &drawing].map(|file| file.display().to_string());
    bench.peers("plot", &files)?;
    println!("raw numbers and plot: {}", files.join(", "));
    Ok(())
}

//! `cargo xtask bench index`: ken's dense search, hnswlib and faiss on the same vectors, alternating in
//! one run; and `bench growth`: the cost of more vectors and shards.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{output, python_with, target_folder};
use crate::{cargo_command, run};

/// The peers, as pip names them, and what draws the plot.
const PEERS: [&str; 4] = ["numpy", "hnswlib", "faiss-cpu", "matplotlib"];

/// The peers to measure.
const PEERS_ASKED: [&str; 2] = ["hnswlib", "faiss"];

const DIMENSIONS: usize = 384;
const QUERIES: usize = 1000;
const SEED: &str = "1";

/// Passages found for each query.
const K: usize = 10;

/// How often each side is measured, in turns; the best rate counts.
const ROUNDS: usize = 2;

/// The recalls at which ken is compared with the peers.
const RECALLS: [f64; 2] = [0.95, 0.99];

/// The lengths of ken's candidate lists to measure, and the recalls to ask it for.
const EFFORTS: &str = "10,12,16,24,32,48,64,96,128,192,256,384,0.95,0.99";

/// The effort if there is only one.
const DEFAULT_EFFORT: &str = "0.99";

/// With all instructions of the processor, and as on one without AVX-512.
const ARMS: [Arm; 2] = [
    Arm {
        name: "all instructions",
        peers: "bench-index",
        environment: &[],
    },
    Arm {
        name: "AVX2",
        peers: "bench-index-avx2",
        environment: &[
            ("KEN_BENCH_INSTRUCTIONS", "Avx2"),
            ("FAISS_OPT_LEVEL", "AVX2"),
            ("HNSWLIB_NO_NATIVE", "1"),
            ("CXXFLAGS", "-mavx2 -mfma"),
        ],
    },
];

/// The instructions that both sides search with; graphs are built with all of them.
#[derive(Clone, Copy)]
struct Arm {
    name: &'static str,
    /// The folder of the peers' environment: hnswlib is compiled for one instruction set.
    peers: &'static str,
    /// Variables for both, also when the peers are installed.
    environment: &'static [(&'static str, &'static str)],
}

/// The numbers of vectors of `bench growth`, and the numbers of shards for each way of search: one way is enough to
/// show what shards cost.
const COUNTS: [usize; 3] = [10_000, 100_000, 1_000_000];
const SHARDS: [(&str, &[usize]); 3] = [("exact", &[1]), ("graph", &[1, 4, 12]), ("disk", &[1])];

/// Fewer queries, since a scan of a million takes long.
const GROWTH_QUERIES: usize = 500;

/// The file of the raw numbers of `bench growth`.
const GROWTH: &str = "bench-growth.json";

/// The vectors to measure on.
pub(crate) enum Vectors {
    /// This many, in clusters.
    Clustered(usize),
    /// Files of 32-bit numbers, 384 a row: the searched vectors, and the queries.
    Files(PathBuf, PathBuf),
}

/// A folder with `vectors.f32` and `queries.f32`, and the number of threads that either side builds with.
struct Bench<'a> {
    root: &'a Path,
    folder: PathBuf,
    threads: String,
}

impl<'a> Bench<'a> {
    /// An empty folder in `target`. `KEN_BENCH_THREADS` is the number of threads that build, 1 by default.
    fn new(root: &'a Path) -> Result<Self> {
        let folder = target_folder(root).join("bench-index");
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        Ok(Self {
            root,
            folder,
            threads: std::env::var("KEN_BENCH_THREADS").unwrap_or_else(|_| "1".to_owned()),
        })
    }

    fn peers(&self, arm: Arm, verb: &str, arguments: &[String]) -> Result<Value> {
        let python = python_with(arm.peers, &PEERS, arm.environment)?;
        eprintln!("xtask: peers, {}: {verb}", arm.name);
        let script = self.root.join("xtask/bench/index.py");
        let mut command = Command::new(python);
        command.envs(arm.environment.iter().copied());
        command.arg(script).arg(verb).arg(&self.folder);
        command
            .args(arguments)
            .env("KEN_BENCH_THREADS", &self.threads);
        Ok(serde_json::from_str(&output(&mut command)?)?)
    }

    /// Puts the vectors and queries into the folder; `queries` is the number of queries with clustered vectors.
    /// Returns the number of vectors.
    fn fill(&self, vectors: &Vectors, queries: usize) -> Result<usize> {
        match vectors {
            Vectors::Clustered(count) => {
                let numbers = [count, &DIMENSIONS, &queries].map(ToString::to_string);
                let [count_text, dimensions, queries] = numbers;
                self.peers(
                    ARMS[0],
                    "make",
                    &[count_text, dimensions, queries, SEED.to_owned()],
                )?;
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

    /// Measures ken on the first `count` vectors in so many shards, at each of the efforts; leaves its results in the
    /// folder.
    fn ken(
        &self,
        arm: Arm,
        dense: &str,
        (count, shards): (usize, usize),
        efforts: &str,
    ) -> Result<Value> {
        let name = arm.name;
        eprintln!("xtask: ken, {name}: {dense}, {count} vectors, {shards} shards");
        run(cargo_command()
            .args(["test", "--release", "-q", "-p", "ken-index", "--lib", "--"])
            .args(["--ignored", "dense::tests::measurement"])
            .envs(arm.environment.iter().copied())
            .env("KEN_BENCH_INDEX", &self.folder)
            .env("KEN_BENCH_EFFORTS", efforts)
            .env("KEN_BENCH_DIMENSIONS", DIMENSIONS.to_string())
            .env("KEN_BENCH_DENSE", dense)
            .env("KEN_BENCH_COUNT", count.to_string())
            .env("KEN_BENCH_SHARDS", shards.to_string())
            .env("KEN_BENCH_K", K.to_string())
            .env("RAYON_NUM_THREADS", &self.threads)
            .current_dir(self.root)
            .stdout(Stdio::null()))
        .context("ken could not be measured")?;
        let measured = std::fs::read_to_string(self.folder.join("ken.json"))?;
        Ok(serde_json::from_str(&measured)?)
    }

    /// The rows of the last search, `[efforts, queries, k]`.
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

/// The share of the right rows that were found.
fn recall(found: &[u32], right: &[u32]) -> f64 {
    let rows = found.chunks(K).zip(right.chunks(K));
    let hits = rows.map(|(found, right)| found.iter().filter(|row| right.contains(row)).count());
    hits.sum::<usize>() as f64 / right.len().max(1) as f64
}

/// Measures ken's ways of dense search and the peers, with and without AVX-512, prints the ratios and
/// leaves the raw numbers in `target/bench-index.json`.
pub(crate) fn index(root: &Path, vectors: &Vectors) -> Result<()> {
    let bench = Bench::new(root)?;
    let count = bench.fill(vectors, QUERIES)?;
    let dimensions = [DIMENSIONS.to_string()];
    let size = (count, 1);
    let exact = bench.ken(ARMS[0], "exact", size, DEFAULT_EFFORT)?;
    let right = bench.found()?;
    let found = bench.folder.join("found.u32");
    std::fs::copy(found, bench.folder.join("right.u32"))?;
    let disk = bench.ken(ARMS[0], "disk", size, DEFAULT_EFFORT)?;
    let disk = with_recalls(disk, &bench.found()?, &right);
    let built = bench.peers(ARMS[0], "build", &dimensions)?;
    let mut arms = Vec::new();
    for arm in ARMS {
        let (mut ken, mut peers) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let measured = bench.ken(arm, "graph", size, EFFORTS)?;
            ken.push(with_recalls(measured, &bench.found()?, &right));
            peers.push(bench.peers(arm, "query", &dimensions)?);
        }
        arms.push(json!({ "arm": arm.name, "ken": ken, "peers": peers }));
    }
    println!(
        "{:<26}{:>9}{:>11}{:>9}",
        "", "recall", "queries/s", "p50 ms"
    );
    for (way, measured) in [("exact", &exact), ("disk", &disk)] {
        let point = &measured["points"][0];
        println!(
            "{way:<26}{:>9.4}{:>11.0}{:>9.3}",
            point["recall"].as_f64().unwrap_or(1.0),
            number(&point["queries_per_s"])?,
            number(&point["p50_ms"])?
        );
    }
    arms.iter().try_for_each(print_ratios)?;
    let build_s = number(&arms[0]["ken"][0]["build_s"])?;
    for peer in PEERS_ASKED {
        let ratio = number(&built[peer])? / build_s;
        println!("ken built its graph in {build_s:.1} s, {ratio:.2} times as fast as {peer}");
    }
    let raw = json!({
        "vectors": count, "threads": bench.threads, "exact": exact, "disk": disk, "arms": arms,
        "peers_built_s": built,
    });
    let file = bench.keep("bench-index.json", &raw)?;
    println!("raw numbers: {}", file.display());
    Ok(())
}

fn number(value: &Value) -> Result<f64> {
    value.as_f64().context("a number is missing")
}

/// The measurement with the recall of each of its points. `found` is `[points, queries, k]`.
fn with_recalls(mut measured: Value, found: &[u32], right: &[u32]) -> Value {
    let points = measured["points"].as_array_mut().into_iter().flatten();
    for (point, found) in points.zip(found.chunks(right.len().max(1))) {
        point["recall"] = recall(found, right).into();
    }
    measured
}

/// A recall, and the queries per second there.
type Point = (f64, f64);

/// The best rate of all rounds at each effort, the shortest list first.
fn best_points(rounds: &[&Value]) -> Result<Vec<Point>> {
    let first = rounds.first().and_then(|points| points.as_array());
    let first = first.context("no points")?.iter().enumerate();
    first
        .filter(|(_, point)| is_list(point))
        .map(|(at, point)| {
            let rates = rounds
                .iter()
                .map(|points| number(&points[at]["queries_per_s"]));
            let rates: Vec<f64> = rates.collect::<Result<_>>()?;
            Ok((
                number(&point["recall"])?,
                rates.into_iter().fold(0.0, f64::max),
            ))
        })
        .collect()
}

/// Whether a point is that of a candidate list's length, as all points of the peers are.
fn is_list(point: &Value) -> bool {
    let effort = point["effort"].as_str();
    effort.is_none_or(|effort| effort.parse::<usize>().is_ok())
}

/// The rate at a recall, interpolated between the two points around it; that of the first point, if its recall is
/// larger. `None` if no point reaches it.
fn rate_at(points: &[Point], recall: f64) -> Option<f64> {
    let above = points.iter().position(|point| point.0 >= recall)?;
    let (high, slow) = points[above];
    let Some((low, fast)) = above.checked_sub(1).map(|below| points[below]) else {
        return Some(slow);
    };
    Some(fast + (slow - fast) * (recall - low) / (high - low))
}

fn print_ratios(arm: &Value) -> Result<()> {
    let rounds = |of: &str| arm[of].as_array().cloned().unwrap_or_default();
    let (ken, peers) = (rounds("ken"), rounds("peers"));
    let of_ken: Vec<&Value> = ken.iter().map(|round| &round["points"]).collect();
    let ours = best_points(&of_ken)?;
    println!("{}", arm["arm"].as_str().unwrap_or_default());
    for point in ken[0]["points"].as_array().into_iter().flatten() {
        if !is_list(point) {
            let asked = point["effort"].as_str().unwrap_or_default();
            let (got, rate) = (number(&point["recall"])?, number(&point["queries_per_s"])?);
            println!("  asked for {asked:<14}{got:>9.4}{rate:>11.0}");
        }
    }
    for recall in RECALLS {
        let our_rate = rate_at(&ours, recall).context("ken does not reach the recall")?;
        println!("  {:<24}{recall:>9.4}{our_rate:>11.0}", "ken");
        for peer in PEERS_ASKED {
            let of_peer: Vec<&Value> = peers.iter().map(|round| &round[peer]).collect();
            match rate_at(&best_points(&of_peer)?, recall) {
                Some(rate) => println!(
                    "  {peer:<24}{recall:>9.4}{rate:>11.0}   ken {:.2} times as fast",
                    our_rate / rate
                ),
                None => println!("  {peer:<24} does not reach {recall}"),
            }
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
                let mut measured = bench.ken(ARMS[0], dense, (count, shards), DEFAULT_EFFORT)?;
                let found = bench.found()?;
                if right.is_empty() {
                    right = found.clone();
                }
                measured["recall"] = recall(&found, &right).into();
                let point = measured["points"][0].take();
                measured["p50_ms"] = point["p50_ms"].clone();
                measured["p99_ms"] = point["p99_ms"].clone();
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
                // After each, so that an interrupted run leaves what it has.
                bench.keep(GROWTH, &json!({ "threads": bench.threads, "ken": all }))?;
                std::fs::remove_dir_all(bench.folder.join(format!("{dense}-{count}-{shards}")))?;
            }
        }
    }
    let raw = target_folder(root).join(GROWTH);
    let drawing = raw.with_extension("svg");
    let files = [&raw, &drawing].map(|file| file.display().to_string());
    bench.peers(ARMS[0], "plot", &files)?;
    println!("raw numbers and plot: {}", files.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_stands_between_those_around_it() {
        let points = [(0.9, 1000.0), (0.94, 800.0), (0.98, 400.0)];
        assert_eq!(rate_at(&points, 0.96), Some(600.0));
        assert_eq!(rate_at(&points, 0.98), Some(400.0));
        assert_eq!(rate_at(&points, 0.5), Some(1000.0));
        assert_eq!(rate_at(&points, 0.99), None);
    }
}

//! Dense search over given vectors, timed, for `cargo xtask bench index` and `bench growth`. It
//! asserts nothing.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use crate::dense::graph::InstructionSet;
use crate::dense::*;

/// Timed passes over the queries; the fastest counts. A scan is the same each time.
const PASSES: usize = 3;
const SCANS: usize = 1;

/// Reads `vectors.f32` and `queries.f32` in the folder `KEN_BENCH_INDEX`, whose rows have
/// `KEN_BENCH_DIMENSIONS` numbers; distributes the first `KEN_BENCH_COUNT` vectors over
/// `KEN_BENCH_SHARDS` segments with the layout `KEN_BENCH_DENSE`, unless that was done before; and
/// searches for the `KEN_BENCH_K` nearest of each query with every effort of `KEN_BENCH_EFFORTS`: a
/// wanted recall, as in `0.99`, or the length of the candidate list, as in `80`. Writes what was
/// found, as rows of 32 bits `[efforts, queries, k]`, to `found.u32`, and the times and the memory to
/// `ken.json`.
#[test]
#[ignore = "a measurement"]
fn of_vectors_from_outside() {
    let dir = PathBuf::from(std::env::var_os("KEN_BENCH_INDEX").unwrap());
    let dimensions: usize = setting("KEN_BENCH_DIMENSIONS");
    let count: usize = setting("KEN_BENCH_COUNT");
    let shards: usize = setting("KEN_BENCH_SHARDS");
    let k: usize = setting("KEN_BENCH_K");
    let layout: DenseLayout = setting("KEN_BENCH_DENSE");
    let bytes = std::fs::read(dir.join("queries.f32")).unwrap();
    let queries: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes);

    let segments: Vec<PathBuf> = (0..shards)
        .map(|shard| dir.join(format!("{layout}-{count}-{shards}/{shard}")))
        .collect();
    let sizes: Vec<usize> = (0..shards)
        .map(|shard| (count - shard).div_ceil(shards))
        .collect();
    let mut build_s = None;
    if !segments[0].exists() {
        distribute(&dir, &segments, count, dimensions, layout.vectors);
        let start = Instant::now();
        for (segment, &passages) in segments.iter().zip(&sizes) {
            let cancel = AtomicBool::new(false);
            write_graph(segment, passages, dimensions, layout.search, &cancel).unwrap();
        }
        build_s = Some(start.elapsed().as_secs_f64());
    }

    let before = resident_bytes();
    let indexes: Vec<DenseIndex> = (segments.iter().zip(&sizes))
        .map(|(segment, &passages)| {
            DenseIndex::open(segment.as_path(), passages, dimensions).unwrap()
        })
        .collect();
    let live_count = |segment: u32| sizes[segment as usize];
    let passes = match layout.search {
        DenseSearch::Exact => SCANS,
        _ => PASSES,
    };
    let mut found: Vec<u32> = Vec::new();
    let mut points = Vec::new();
    for name in std::env::var("KEN_BENCH_EFFORTS").unwrap().split(',') {
        let effort = match name.parse() {
            Ok(length) => Effort::List(length),
            Err(_) => Effort::Recall(name.parse().unwrap()),
        };
        let start = found.len();
        let mut best_s = f64::MAX;
        let mut milliseconds: Vec<f64> = Vec::new();
        for _ in 0..passes {
            found.truncate(start);
            milliseconds.clear();
            for query in queries.chunks(dimensions) {
                let start = Instant::now();
                let best = search(&indexes, query, k, effort, &|_| true, &live_count).unwrap();
                milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
                let row = |place: Place| place.ordinal * shards as u32 + place.segment;
                found.extend(best.iter().map(|candidate| row(candidate.place)));
            }
            best_s = best_s.min(milliseconds.iter().sum::<f64>() / 1e3);
        }
        milliseconds.sort_by(f64::total_cmp);
        let at = |share: f64| milliseconds[(milliseconds.len() as f64 * share) as usize];
        points.push(serde_json::json!({
            "effort": name,
            "queries_per_s": milliseconds.len() as f64 / best_s,
            "p50_ms": at(0.5),
            "p99_ms": at(0.99),
        }));
    }
    let bytes: u64 = segments.iter().map(|segment| folder_bytes(segment)).sum();
    let measured = serde_json::json!({
        "dense": layout.to_string(),
        "instructions": format!("{:?}", InstructionSet::detected()),
        "vectors": count,
        "shards": shards,
        "k": k,
        "build_s": build_s,
        "points": points,
        "resident_bytes": resident_bytes().saturating_sub(before),
        "file_bytes": bytes,
        "vector_bytes": count * dimensions * size_of::<f32>(),
    });
    std::fs::write(dir.join("found.u32"), bytemuck::cast_slice(&found)).unwrap();
    std::fs::write(dir.join("ken.json"), measured.to_string()).unwrap();
}

/// The instruction set that `KEN_BENCH_INSTRUCTIONS` asks for, by its name in the code.
pub(in crate::dense) fn instruction_set() -> Option<InstructionSet> {
    let asked = std::env::var("KEN_BENCH_INSTRUCTIONS").ok()?;
    let mut all = InstructionSet::ALL.into_iter();
    let found = all.find(|set| format!("{set:?}") == asked && set.is_available());
    Some(found.unwrap())
}

fn setting<T: FromStr<Err: std::fmt::Debug>>(name: &str) -> T {
    std::env::var(name).unwrap().parse().unwrap()
}

/// Writes the first `count` vectors round-robin to the segments.
fn distribute(
    dir: &Path,
    segments: &[PathBuf],
    count: usize,
    dimensions: usize,
    vector_type: VectorType,
) {
    let path = dir.join("vectors.f32");
    let all = std::fs::metadata(&path).unwrap().len() as usize / size_of::<f32>() / dimensions;
    let vectors = SegmentVectors::open(dir, all, dimensions).unwrap();
    let mut buffer = RowBuffer::default();
    for (shard, segment) in segments.iter().enumerate() {
        std::fs::create_dir_all(segment).unwrap();
        let mut writer = VectorWriter::create(segment, vector_type).unwrap();
        for row in (shard..count).step_by(segments.len()) {
            writer.push(vectors.row(row, &mut buffer).unwrap()).unwrap();
        }
        writer.finish().unwrap();
    }
}

/// The resident memory of this process, mapped files included.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes: u64 = line.unwrap().trim_end_matches("kB").trim().parse().unwrap();
    kibibytes * 1024
}

fn folder_bytes(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).unwrap();
    files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}

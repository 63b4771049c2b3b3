//! Dense search over vectors from outside, timed, for `cargo xtask bench index`. It judges nothing.

use std::path::PathBuf;
use std::time::Instant;

use super::*;

/// Timed passes over the queries; the fastest counts.
const PASSES: usize = 3;

/// Reads `vectors.f32` and `queries.f32` in the folder `KEN_BENCH_INDEX`, builds the graph where
/// there is none yet, and writes what was found, as ordinals of 32 bits `[queries, k]`, where k
/// is 10 or what `KEN_BENCH_K` says, to `found.u32` and the times to `ken.json`. One thread, as `RAYON_NUM_THREADS` says.
#[test]
#[ignore = "a measurement"]
fn of_vectors_from_outside() {
    let dir = PathBuf::from(std::env::var_os("KEN_BENCH_INDEX").unwrap());
    let dimensions: usize = std::env::var("KEN_BENCH_DIMENSIONS")
        .unwrap()
        .parse()
        .unwrap();
    let k = std::env::var("KEN_BENCH_K").map_or(10, |k| k.parse().unwrap());
    let bytes = std::fs::read(dir.join("queries.f32")).unwrap();
    let queries: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes);
    let bytes = std::fs::metadata(dir.join("vectors.f32")).unwrap().len();
    let passages = bytes as usize / size_of::<f32>() / dimensions;
    let ranking = match std::env::var("KEN_BENCH_SEARCH").as_deref() {
        Ok("disk") => Ranking::Product,
        _ => Ranking::Bytes,
    };
    let mut build_s = 0.0;
    if !dir.join("vectors.graph").exists() {
        let start = Instant::now();
        let vectors = SegmentVectors::open(&dir, passages, dimensions).unwrap();
        Graph::write(&dir, &vectors, ranking).unwrap();
        build_s = start.elapsed().as_secs_f64();
    }
    let index = [DenseIndex::open(&dir, passages, dimensions).unwrap()];
    let mut seconds = f64::MAX;
    let mut found: Vec<u32> = Vec::new();
    for _ in 0..PASSES {
        found.clear();
        let start = Instant::now();
        for query in queries.chunks(dimensions) {
            let best = search(&index, query, k, &|_| true, &|_| passages).unwrap();
            found.extend(best.iter().map(|candidate| candidate.place.ordinal));
        }
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    let per_second = (queries.len() / dimensions) as f64 / seconds;
    std::fs::write(dir.join("found.u32"), bytemuck::cast_slice(&found)).unwrap();
    let times = format!("{{\"build_s\": {build_s}, \"queries_per_s\": {per_second}}}");
    std::fs::write(dir.join("ken.json"), times).unwrap();
}

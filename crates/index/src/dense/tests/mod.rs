//! Exact and graph search against a plain loop.

pub(super) mod measurement;

use std::collections::HashSet;
use std::ops::Range;

use proptest::prelude::*;
use tempfile::TempDir;

use super::layout::GRAPH_FROM;
use super::*;

const GRAPH_FILE: &str = "vectors.graph";

fn written(vectors: &[f32]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = VectorWriter::create(dir.path(), VectorType::F32).unwrap();
    writer.push(vectors).unwrap();
    writer.finish().unwrap();
    dir
}

fn exact(dimensions: usize, vectors: &[f32]) -> DenseIndex {
    let dir = written(vectors);
    DenseIndex::open(dir.path(), vectors.len() / dimensions, dimensions).unwrap()
}

fn written_with_graph(dimensions: usize, vectors: &[f32], ranking: Quantization) -> TempDir {
    let dir = written(vectors);
    let passages = vectors.len() / dimensions;
    let opened = SegmentVectors::open(dir.path(), passages, dimensions).unwrap();
    Graph::write(dir.path(), &opened, ranking, &AtomicBool::new(false)).unwrap();
    dir
}

const BOTH: [Quantization; 2] = [Quantization::Scalar, Quantization::Product];

fn graph(dimensions: usize, vectors: &[f32], ranking: Quantization) -> DenseIndex {
    let dir = written_with_graph(dimensions, vectors, ranking);
    let index = DenseIndex::open(dir.path(), vectors.len() / dimensions, dimensions).unwrap();
    assert_eq!(index.graph.as_ref().unwrap().quantization(), ranking);
    index
}

/// A plain loop in f64, sorted as a whole.
fn reference(
    dimensions: usize,
    of: &[Vec<f32>],
    query: &[f32],
    is_live: impl Fn(Place) -> bool,
) -> Vec<(f64, Place)> {
    let mut all = Vec::new();
    for (segment, vectors) in (0..).zip(of) {
        for (ordinal, row) in (0..).zip(vectors.chunks(dimensions)) {
            let place = Place { segment, ordinal };
            let products = row.iter().zip(query);
            let score: f64 = products.map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
            if is_live(place) && score.is_finite() {
                all.push((score + 0.0, place)); // -0.0 is 0.0
            }
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all
}

fn found(
    indexes: &[DenseIndex],
    of: &[Vec<f32>],
    query: &[f32],
    k: usize,
    is_live: impl Fn(Place) -> bool + Sync,
) -> Vec<Candidate> {
    found_at(Recall::default(), indexes, of, query, k, is_live)
}

fn found_at(
    recall: Recall,
    indexes: &[DenseIndex],
    of: &[Vec<f32>],
    query: &[f32],
    k: usize,
    is_live: impl Fn(Place) -> bool + Sync,
) -> Vec<Candidate> {
    let live_count = |segment: u32| {
        let passages = of[segment as usize].len() / query.len();
        let ordinals = 0..passages as u32;
        let places = ordinals.map(|ordinal| Place { segment, ordinal });
        places.filter(|&place| is_live(place)).count()
    };
    let effort = Effort::Recall(recall);
    search(indexes, query, k, effort, &is_live, &live_count).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Small whole numbers give exact sums, so that even ties have to agree.
    #[test]
    fn exact_search_agrees_with_a_plain_loop(
        (dimensions, of, query) in (1usize..40).prop_flat_map(|dimensions| {
            let number = prop_oneof![
                20 => (-3i8..4).prop_map(f32::from),
                1 => Just(f32::NAN),
            ];
            let vectors = (0usize..60).prop_flat_map(move |n| {
                prop::collection::vec(number.clone(), n * dimensions)
            });
            (
                Just(dimensions),
                prop::collection::vec(vectors, 0..4),
                prop::collection::vec((-3i8..4).prop_map(f32::from), dimensions),
            )
        }),
        k in 0usize..30,
        dead in 1u32..7,
        live in prop::bool::ANY,
    ) {
        let is_live = |place: Place| {
            (place.ordinal + place.segment).is_multiple_of(dead + 1) == live
        };
        let indexes: Vec<_> = of.iter().map(|vectors| exact(dimensions, vectors)).collect();
        let found = found(&indexes, &of, &query, k, is_live);
        let mut expected = reference(dimensions, &of, &query, is_live);
        expected.truncate(k);
        let found: Vec<(f64, Place)> =
            found.iter().map(|c| (f64::from(c.score), c.place)).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn more_rows_than_one_task_takes() {
    let dimensions = 1 << 10;
    let passages = 3 * exact::NUMBERS_PER_TASK / dimensions + 1;
    let mut vectors = vec![0.0; passages * dimensions];
    for (ordinal, row) in vectors.chunks_mut(dimensions).enumerate() {
        row[ordinal % dimensions] = 1.0;
    }
    let mut query = vec![0.0; dimensions];
    query[passages - 1] = 1.0;
    let index = [exact(dimensions, &vectors)];
    let found = found(&index, &[vectors], &query, 2, |_| true);
    let ordinals: Vec<u32> = found.iter().map(|c| c.place.ordinal).collect();
    assert_eq!(ordinals, [passages as u32 - 1, 0]);
}

/// Numbers that look random, from -1 to 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    fn below(&mut self, count: usize) -> usize {
        ((f64::from(self.next()) + 1.0) / 2.0 * count as f64) as usize % count
    }

    /// A direction, away from `centre` by about `distance`.
    fn direction(&mut self, centre: &[f32], distance: f32) -> Vec<f32> {
        let scale = distance * (3.0 / centre.len() as f32).sqrt();
        let mut vector: Vec<f32> = centre.iter().map(|x| x + scale * self.next()).collect();
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        vector
    }
}

/// Vectors in clusters, and queries from the same ones. One cluster is none.
fn clustered(passages: usize, queries: usize, clusters: usize, dimensions: usize) -> [Vec<f32>; 2] {
    let mut noise = Noise(clusters as u64);
    let nowhere = vec![0.0; dimensions];
    let centres: Vec<Vec<f32>> = match clusters {
        1 => vec![nowhere],
        _ => (0..clusters)
            .map(|_| noise.direction(&nowhere, 1.0))
            .collect(),
    };
    [passages, queries].map(|count| {
        (0..count)
            .flat_map(|_| {
                let centre = noise.below(clusters);
                noise.direction(&centres[centre], 0.7)
            })
            .collect()
    })
}

/// How many of the best 10 are found, by score, over all queries.
fn recall(
    indexes: &[DenseIndex],
    of: &[Vec<f32>],
    queries: &[f32],
    dimensions: usize,
    is_live: impl Fn(Place) -> bool + Sync,
) -> f64 {
    let (mut hits, mut all) = (0, 0);
    for query in queries.chunks(dimensions) {
        let mut expected = reference(dimensions, of, query, &is_live);
        let live = expected.len();
        expected.truncate(10);
        let found = found(indexes, of, query, 10, &is_live);
        assert_eq!(found.len(), live.min(10));
        assert!(found.iter().all(|c| is_live(c.place)));
        assert!(found.is_sorted_by(|one, next| one > next), "{found:?}");
        let last = expected.last().map_or(0.0, |last| last.0 - 1e-6);
        hits += found.iter().filter(|c| f64::from(c.score) >= last).count();
        all += expected.len();
    }
    match all {
        0 => 1.0,
        _ => hits as f64 / all as f64,
    }
}

fn is_alive(percent_dead: u64) -> impl Fn(Place) -> bool + Sync {
    move |place| {
        let seed = u64::from(place.ordinal) << 8 | u64::from(place.segment);
        let mut noise = Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        noise.next();
        (noise.below(100) as u64) >= percent_dead
    }
}

#[test]
fn a_graph_finds_nearly_all_of_the_best() {
    let dimensions = 32;
    for clusters in [1, 60] {
        let [vectors, queries] = clustered(6000, 40, clusters, dimensions);
        let of = [vectors];
        for ranking in BOTH {
            let index = [graph(dimensions, &of[0], ranking)];
            for percent_dead in [0, 1, 40, 50, 70, 80, 90, 99, 100] {
                let recall = recall(&index, &of, &queries, dimensions, is_alive(percent_dead));
                assert!(
                    recall >= 0.95,
                    "{ranking:?}, {clusters} clusters, {percent_dead}%: {recall}"
                );
            }
        }
    }
}

#[test]
fn a_graph_reaches_the_recall_that_is_asked_for() {
    let dimensions = 32;
    for (clusters, ranking) in [1, 60].into_iter().flat_map(|n| BOTH.map(|by| (n, by))) {
        let [vectors, queries] = clustered(6000, 100, clusters, dimensions);
        let of = [vectors];
        let index = [graph(dimensions, &of[0], ranking)];
        for k in [3, 10, 40, 100] {
            let recalls = ["0.8", "0.95", "0.99"].map(|asked| {
                let recall: Recall = asked.parse().unwrap();
                let shares = queries.chunks(dimensions).map(|query| {
                    let found = found_at(recall, &index, &of, query, k, |_| true);
                    let expected = &reference(dimensions, &of, query, |_| true)[..k];
                    let places = expected.iter().map(|(_, place)| place);
                    let hits = places.filter(|&place| found.iter().any(|c| c.place == *place));
                    hits.count() as f64 / k as f64
                });
                let reached = shares.sum::<f64>() / 100.0;
                let case = format!("{clusters} clusters, {ranking:?}, {k} at {asked}: {reached}");
                assert!(reached >= recall.share() - 0.02, "{case}");
                reached
            });
            assert!(recalls.is_sorted(), "{recalls:?}");
        }
    }
}

#[test]
fn a_recall_of_one_is_exact() {
    let dimensions = 16;
    let [vectors, queries] = clustered(3000, 20, 30, dimensions);
    let of = [vectors];
    let (graph, scan) = (
        [graph(dimensions, &of[0], Quantization::Product)],
        [exact(dimensions, &of[0])],
    );
    for query in queries.chunks(dimensions) {
        let by = |index| found_at(Recall::EXACT, index, &of, query, 30, |_| true);
        assert_eq!(by(&graph), by(&scan));
    }
}

#[test]
fn a_graph_of_the_older_layout_is_searched_and_others_are_refused() {
    let dimensions = 32;
    let [vectors, queries] = clustered(6000, 40, 60, dimensions);
    let of = [vectors];
    for ranking in BOTH {
        let dir = written_with_graph(dimensions, &of[0], ranking);
        let file = dir.path().join(GRAPH_FILE);
        let mut bytes = std::fs::read(&file).unwrap();
        let rows = bytes.split_off(bytes.len() - 2 * 16 * 4);
        for recalls in rows.chunks(16 * 4) {
            bytes.extend(&recalls[..12 * 4]);
        }
        bytes[8] = 2;
        std::fs::write(&file, &bytes).unwrap();
        let index = [DenseIndex::open(dir.path(), 6000, dimensions).unwrap()];
        let recall = recall(&index, &of, &queries, dimensions, |_| true);
        assert!(recall >= 0.95, "{recall}");
        for other in [1, 4] {
            bytes[8] = other;
            std::fs::write(&file, &bytes).unwrap();
            let error = DenseIndex::open(dir.path(), 6000, dimensions).unwrap_err();
            let expected = format!("its layout is {other}, not 2 or 3");
            assert!(error.to_string().ends_with(&expected), "{error}");
        }
    }
}

#[test]
fn a_filter_that_is_far_from_the_query_leaves_the_best() {
    let dimensions = 32;
    let [vectors, queries] = clustered(6000, 20, 60, dimensions);
    let query = &queries[..dimensions];
    let of = [vectors];
    let ranking = reference(dimensions, &of, query, |_| true);
    let far: HashSet<Place> = ranking[3000..].iter().map(|&(_, place)| place).collect();
    for ranking in BOTH {
        let index = [graph(dimensions, &of[0], ranking)];
        let recall = recall(&index, &of, query, dimensions, |place| far.contains(&place));
        assert!(recall >= 0.95, "{recall}");
    }
}

#[test]
fn copies_are_all_found() {
    let dimensions = 16;
    let [mut vectors, queries] = clustered(3000, 20, 30, dimensions);
    let row = vectors[..dimensions].to_vec();
    for _ in 0..2000 {
        vectors.extend(&row);
    }
    let of = [vectors];
    for (ranking, percent_dead) in BOTH.into_iter().flat_map(|by| [(by, 0), (by, 30)]) {
        let index = [graph(dimensions, &of[0], ranking)];
        let is_live = is_alive(percent_dead);
        let recall = recall(&index, &of, &queries, dimensions, &is_live);
        assert!(recall >= 0.95, "{recall}");
        let found = found(&index, &of, &row, 1000, &is_live);
        let expected = reference(dimensions, &of, &row, &is_live);
        let ordinals = found.iter().map(|c| c.place);
        assert!(ordinals.eq(expected[..1000].iter().map(|&(_, place)| place)));
    }
}

#[test]
fn equal_vectors_come_in_the_order_of_the_corpus() {
    let vectors = [0.6, 0.8].repeat(3000);
    let of = [vectors];
    for ranking in BOTH {
        let index = [graph(2, &of[0], ranking)];
        let found = found(&index, &of, &[1.0, 0.0], 20, |place| place.ordinal > 4);
        let ordinals = found.iter().map(|c| c.place.ordinal);
        assert!(ordinals.eq(5..25));
    }
}

#[test]
fn segments_with_and_without_a_graph_are_searched_together() {
    let dimensions = 24;
    let [vectors, queries] = clustered(9000, 30, 90, dimensions);
    let of: Vec<Vec<f32>> = [0..5000, 5000..5100, 5100..5100, 5100..9000]
        .map(|rows: Range<usize>| vectors[rows.start * dimensions..rows.end * dimensions].to_vec())
        .to_vec();
    let indexes = [
        graph(dimensions, &of[0], Quantization::Scalar),
        exact(dimensions, &of[1]),
        exact(dimensions, &of[2]),
        graph(dimensions, &of[3], Quantization::Product),
    ];
    for percent_dead in [0, 20] {
        let recall = recall(&indexes, &of, &queries, dimensions, is_alive(percent_dead));
        assert!(recall >= 0.95, "{recall}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// Few directions of any length, so that there are ties, zeros and copies.
    #[test]
    fn a_graph_returns_as_many_as_requested_with_their_scores(
        (dimensions, vectors, query) in (1usize..6, 1usize..2500).prop_flat_map(|(dimensions, n)| (
            Just(dimensions),
            prop::collection::vec((-3i8..4).prop_map(f32::from), n * dimensions),
            prop::collection::vec((-3i8..4).prop_map(f32::from), dimensions),
        )),
        k in prop_oneof![0usize..30, 2000usize..4000],
        percent_dead in prop_oneof![Just(0u64), 0u64..101],
        ranking in prop::sample::select(BOTH.to_vec()),
    ) {
        let is_live = is_alive(percent_dead);
        let index = [graph(dimensions, &vectors, ranking)];
        let of = [vectors];
        let found = found(&index, &of, &query, k, &is_live);
        let expected = reference(dimensions, &of, &query, &is_live);
        prop_assert_eq!(found.len(), k.min(expected.len()));
        prop_assert!(found.is_sorted_by(|one, next| one > next));
        for candidate in found {
            let at = expected.iter().find(|(_, place)| *place == candidate.place);
            prop_assert_eq!(at.map(|(score, _)| *score), Some(f64::from(candidate.score)));
        }
    }
}

#[test]
fn the_same_vectors_give_the_same_graph_on_any_number_of_threads() {
    let [vectors, _] = clustered(3000, 0, 20, 20);
    let build = |threads, ranking| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let dir = pool
            .build()
            .unwrap()
            .install(|| written_with_graph(20, &vectors, ranking));
        std::fs::read(dir.path().join(GRAPH_FILE)).unwrap()
    };
    for ranking in BOTH {
        assert!(build(1, ranking) == build(3, ranking));
    }
}

#[test]
fn a_cut_graph_is_refused() {
    let dimensions = 8;
    let [vectors, _] = clustered(1200, 0, 10, dimensions);
    for ranking in BOTH {
        let dir = written_with_graph(dimensions, &vectors, ranking);
        let file = dir.path().join(GRAPH_FILE);
        let whole = std::fs::read(&file).unwrap();
        for length in [0, 1, 8, 63, 64, 1000, whole.len() - 1] {
            std::fs::write(&file, &whole[..length]).unwrap();
            let error = DenseIndex::open(dir.path(), 1200, dimensions).unwrap_err();
            assert_eq!(error.kind(), "graph_damaged", "{length}");
            assert!(error.to_string().contains(GRAPH_FILE), "{error}");
            assert!(error.remedy().is_some());
        }
    }
}

#[test]
fn a_graph_of_other_vectors_is_refused() {
    let [vectors, _] = clustered(300, 0, 3, 8);
    let dir = written_with_graph(8, &vectors, Quantization::Scalar);
    std::fs::write(dir.path().join("vectors.f32"), [0; 4 * 4 * 600]).unwrap();
    let error = DenseIndex::open(dir.path(), 600, 4).unwrap_err();
    assert_eq!(error.kind(), "graph_damaged");
    let message = "it is of 300 passages in 8 dimensions, not of 600 in 4";
    assert!(error.to_string().ends_with(message), "{error}");
}

#[test]
fn each_segment_gets_what_its_size_or_its_owner_requires() {
    for (passages, search, expected) in [
        (GRAPH_FROM - 1, DenseSearch::Auto, "exact"),
        (GRAPH_FROM, DenseSearch::Auto, "graph"),
        (GRAPH_FROM, DenseSearch::Exact, "exact"),
        (100, DenseSearch::Graph, "graph"),
        (100, DenseSearch::Disk, "disk"),
        (0, DenseSearch::Disk, "exact"),
    ] {
        let [vectors, _] = clustered(passages, 0, 50, 4);
        let dir = written(&vectors);
        write_graph(dir.path(), passages, 4, search, &AtomicBool::new(false)).unwrap();
        let graph = DenseIndex::open(dir.path(), passages, 4).unwrap().graph;
        let got = match graph.as_ref().map(Graph::quantization) {
            None => "exact",
            Some(Quantization::Scalar) => "graph",
            Some(Quantization::Product) => "disk",
        };
        assert_eq!(got, expected, "{passages} {search}");
    }
}

#[test]
fn smaller_numbers_find_nearly_the_same() {
    let dimensions = 32;
    let [vectors, queries] = clustered(4000, 30, 60, dimensions);
    for vector_type in [VectorType::F16, VectorType::Int8] {
        for search in [DenseSearch::Exact, DenseSearch::Graph, DenseSearch::Disk] {
            let dir = tempfile::tempdir().unwrap();
            let mut writer = VectorWriter::create(dir.path(), vector_type).unwrap();
            for row in vectors.chunks(dimensions) {
                writer.push(row).unwrap();
            }
            writer.finish().unwrap();
            write_graph(
                dir.path(),
                4000,
                dimensions,
                search,
                &AtomicBool::new(false),
            )
            .unwrap();
            let index = [DenseIndex::open(dir.path(), 4000, dimensions).unwrap()];
            let (mut hits, mut all) = (0, 0);
            for query in queries.chunks(dimensions) {
                let of = [vectors.clone()];
                let found = found(&index, &of, query, 10, |_| true);
                let expected = &reference(dimensions, &of, query, |_| true)[..10];
                hits += (expected.iter())
                    .filter(|(_, place)| found.iter().any(|c| c.place == *place))
                    .count();
                all += 10;
                let score = f64::from(found[0].score);
                assert!((score - expected[0].0).abs() < 0.02, "{score}");
            }
            let recall = hits as f64 / all as f64;
            let least = if vector_type == VectorType::F16 {
                0.98
            } else {
                0.93
            };
            assert!(recall >= least, "{vector_type} {search}: {recall}");
        }
    }
}

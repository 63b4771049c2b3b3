//! Exact dense search: the dot product of the query with every vector of the corpus.
//!
//! A segment's vectors are the file `vectors.f32`: `[passages, dimensions]` little-endian f32,
//! row-major, without a header, in the order of the passages. The file is mapped, not read. There
//! is no approximation here, and no model.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use rayon::prelude::*;

use crate::IndexError;
use crate::dot::dot_rows;
use crate::top_k::{Candidate, Place, TopK};

#[cfg(target_endian = "big")]
compile_error!("vectors.f32 is mapped as it is, which needs a little-endian processor");

/// The name of the file in a segment's folder.
const FILE: &str = "vectors.f32";

/// What one task scores between two looks at the shared queue: about 1 MiB.
const NUMBERS_PER_TASK: usize = 1 << 18;

/// The vectors of one segment.
#[derive(Debug)]
pub struct SegmentVectors {
    /// None for a segment without passages: an empty file cannot be mapped everywhere.
    map: Option<Mmap>,
    passages: usize,
    dimensions: usize,
}

/// Writes the vectors of a segment, row by row.
pub(crate) struct VectorWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl VectorWriter {
    /// Begins the file in the segment's folder `dir`.
    pub(crate) fn create(dir: &Path) -> Result<Self, IndexError> {
        let path = dir.join(FILE);
        match File::create(&path) {
            Ok(file) => Ok(Self {
                path,
                file: BufWriter::new(file),
            }),
            Err(source) => Err(IndexError::Io { path, source }),
        }
    }

    /// Adds rows, one behind the other, each L2-normalized.
    pub(crate) fn push(&mut self, vectors: &[f32]) -> Result<(), IndexError> {
        let written = self.file.write_all(bytemuck::cast_slice(vectors));
        written.map_err(|source| self.failed(source))
    }

    pub(crate) fn finish(mut self) -> Result<(), IndexError> {
        let flushed = self.file.flush();
        flushed.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> IndexError {
        IndexError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

impl SegmentVectors {
    /// Maps the vectors of the segment in `dir`.
    ///
    /// # Errors
    /// Where the file is missing, of another length, or cannot be read.
    pub fn open(dir: &Path, passages: usize, dimensions: usize) -> Result<Self, IndexError> {
        let path = dir.join(FILE);
        let map = map_file(path, passages, dimensions)?;
        Ok(Self {
            map,
            passages,
            dimensions,
        })
    }

    /// The vector of a passage: `[dimensions]`; empty where there is no such passage.
    #[must_use]
    pub fn row(&self, passage: usize) -> &[f32] {
        match passage < self.passages {
            true => self.rows(passage..passage + 1),
            false => &[],
        }
    }

    /// The rows of some passages: `[rows.len(), dimensions]`.
    fn rows(&self, rows: Range<usize>) -> &[f32] {
        let numbers: &[f32] = self
            .map
            .as_ref()
            .and_then(|map| bytemuck::try_cast_slice(map).ok())
            .unwrap_or_default();
        numbers
            .get(rows.start * self.dimensions..rows.end * self.dimensions)
            .unwrap_or_default()
    }
}

fn map_file(path: PathBuf, passages: usize, dimensions: usize) -> Result<Option<Mmap>, IndexError> {
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            return Err(IndexError::VectorsMissing { path });
        }
        Err(source) => return Err(IndexError::Io { path, source }),
    };
    let received_bytes = match file.metadata() {
        Ok(metadata) => metadata.len(),
        Err(source) => return Err(IndexError::Io { path, source }),
    };
    let expected_bytes = (passages as u64)
        .saturating_mul(dimensions as u64)
        .saturating_mul(size_of::<f32>() as u64);
    if received_bytes != expected_bytes {
        return Err(IndexError::VectorsSize {
            path,
            received_bytes,
            expected_bytes,
            passages,
            dimensions,
        });
    }
    if expected_bytes == 0 {
        return Ok(None);
    }
    // SAFETY: the files of a published segment are never changed, only removed as a whole, which
    // leaves a mapping valid.
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(&file) };
    map.map(Some)
        .map_err(|source| IndexError::Io { path, source })
}

/// The best `k` live passages by dot product with `query`, best first; of equal scores the one
/// that stands earlier in the corpus. A passage whose score is NaN is no result.
///
/// # Shapes
/// `query`: `[dimensions]`, the dimensions of all `segments`.
pub(crate) fn search(
    segments: &[SegmentVectors],
    query: &[f32],
    k: usize,
    is_live: &(impl Fn(Place) -> bool + Sync),
) -> Vec<Candidate> {
    if query.is_empty() {
        return Vec::new();
    }
    let rows_per_task = (NUMBERS_PER_TASK / query.len()).max(1);
    let tasks: Vec<(u32, Range<usize>)> = (0u32..)
        .zip(segments)
        .flat_map(|(number, vectors)| {
            (0..vectors.passages)
                .step_by(rows_per_task)
                .map(move |start| {
                    let end = (start + rows_per_task).min(vectors.passages);
                    (number, start..end)
                })
        })
        .collect();
    tasks
        .into_par_iter()
        .fold(
            || (TopK::new(k), Vec::new()),
            |(mut best, mut scores), (segment, rows)| {
                let first = rows.start as u32;
                dot_rows(segments[segment as usize].rows(rows), query, &mut scores);
                for (ordinal, &score) in (first..).zip(&scores) {
                    best.offer(score, Place { segment, ordinal }, is_live);
                }
                (best, scores)
            },
        )
        .map(|(best, _)| best)
        .reduce(|| TopK::new(k), TopK::merge)
        .into_ranking()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn write(dir: &Path, vectors: &[f32]) {
        let mut writer = VectorWriter::create(dir).unwrap();
        writer.push(vectors).unwrap();
        writer.finish().unwrap();
    }

    fn segments(dimensions: usize, of: &[Vec<f32>]) -> Vec<SegmentVectors> {
        let open = |vectors: &Vec<f32>| {
            let dir = tempfile::tempdir().unwrap();
            write(dir.path(), vectors);
            SegmentVectors::open(dir.path(), vectors.len() / dimensions, dimensions).unwrap()
        };
        of.iter().map(open).collect()
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Small whole numbers give exact sums, so that even ties have to agree.
        #[test]
        fn agrees_with_a_plain_loop(
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
        ) {
            let is_live = |place: Place| !(place.ordinal + place.segment).is_multiple_of(dead + 1);
            let found = search(&segments(dimensions, &of), &query, k, &is_live);
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
        let passages = 3 * NUMBERS_PER_TASK / dimensions + 1;
        let mut vectors = vec![0.0; passages * dimensions];
        for (ordinal, row) in vectors.chunks_mut(dimensions).enumerate() {
            row[ordinal % dimensions] = 1.0;
        }
        let mut query = vec![0.0; dimensions];
        query[passages - 1] = 1.0;
        let found = search(&segments(dimensions, &[vectors]), &query, 2, &|_| true);
        let ordinals: Vec<u32> = found.iter().map(|c| c.place.ordinal).collect();
        assert_eq!(ordinals, [passages as u32 - 1, 0]);
    }

    #[test]
    fn a_file_of_another_size_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &[1.0; 12]);
        let error = SegmentVectors::open(dir.path(), 4, 4).unwrap_err();
        assert_eq!(error.kind(), "vectors_size");
        assert!(error.to_string().contains("vectors.f32"), "{error}");
        assert!(error.to_string().contains("48 bytes"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = SegmentVectors::open(dir.path(), 4, 4).unwrap_err();
        assert_eq!(error.kind(), "vectors_missing");
        assert!(error.to_string().contains("vectors.f32"), "{error}");
    }

    /// Run by hand, with `--ignored --nocapture`: how near the search comes to the bandwidth of
    /// the memory.
    #[test]
    #[ignore = "a measurement"]
    fn throughput() {
        let (passages, dimensions, queries) = (100_000, 384, 50);
        let vectors: Vec<f32> = (0..passages * dimensions)
            .map(|n| ((n * 7919) % 2003) as f32 / 2003.0 - 0.5)
            .collect();
        let bytes = size_of_val(&vectors[..]);
        let segments = segments(dimensions, std::slice::from_ref(&vectors));
        let query = &vectors[..dimensions];
        search(&segments, query, 10, &|_| true);
        let start = std::time::Instant::now();
        for _ in 0..queries {
            search(&segments, query, 10, &|_| true);
        }
        let per_second = f64::from(queries) / start.elapsed().as_secs_f64();
        let gigabytes = per_second * bytes as f64 / 1e9;
        let threads = rayon::current_num_threads();
        println!("{per_second:.0} queries/s, {gigabytes:.1} GB/s on {threads} threads");
    }
}

//! Product quantization (PQ; Jégou, Douze and Schmid 2011): vectors in one byte for every four
//! numbers, for graphs whose vectors stay on disk, as in DiskANN (Subramanya and others 2019).
//!
//! A vector is cut into parts of four numbers, the last padded with zeros, and of each part only
//! the index of the nearest of 256 centroids is kept. The products of a query with all centroids
//! are computed once; the product with a vector is then a sum of table entries. That is coarse, so
//! candidates are rescored by the vectors themselves.

use std::sync::atomic::AtomicBool;

use ken_storage::Watch;
use rayon::prelude::*;

use super::walk::Similarity;
use crate::IndexError;
use crate::dense::prefetch::prefetch;
use crate::dense::{RowBuffer, SegmentVectors, check_cancelled};

/// Dimensions of a part.
pub(super) const PART_DIMENSIONS: usize = 4;

/// Centroids of a part: as many as a byte can index.
pub(super) const CENTROIDS: usize = 256;

/// The most vectors that the centroids are trained on.
const TRAINING_VECTORS: usize = 16_384;

/// Iterations of k-means.
const ITERATIONS: usize = 8;

type Part = [f32; PART_DIMENSIONS];

/// The number of parts of a vector.
pub(super) fn parts(dimensions: usize) -> usize {
    dimensions.div_ceil(PART_DIMENSIONS)
}

/// Quantized vectors with their codebook.
pub(super) struct Quantized {
    /// `[parts, 256, 4]`
    pub(super) centroids: Vec<f32>,
    /// `[nodes, parts]`
    pub(super) codes: Vec<u8>,
}

/// The codes of some nodes with their codebook.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProductCodes<'a> {
    /// `[parts, 256, 4]`
    pub(super) centroids: &'a [f32],
    /// `[nodes, parts]`
    pub(super) codes: &'a [u8],
    pub(super) parts: usize,
    /// Checks the blocks of the codes.
    pub(super) watch: Watch<'a>,
}

/// Trains centroids on some of the vectors and quantizes all, on all threads. The same vectors give
/// the same codes. `passages` are the ordinals of the vectors, in the order of the nodes.
pub(super) fn quantize(
    vectors: &SegmentVectors,
    passages: &[u32],
    cancel: &AtomicBool,
) -> Result<Quantized, IndexError> {
    let parts = parts(vectors.dimensions());
    let step = passages.len().div_ceil(TRAINING_VECTORS).max(1);
    let mut sample: Vec<Vec<Part>> = vec![Vec::new(); parts];
    let mut buffer = RowBuffer::default();
    for &passage in passages.iter().step_by(step) {
        check_cancelled(cancel)?;
        let vector = vectors.row(passage as usize, &mut buffer)?;
        for (sample, part) in sample.iter_mut().zip(cut(vector)) {
            sample.push(part);
        }
    }
    let centroids: Vec<Vec<Part>> = sample
        .par_iter()
        .map(|sample| check_cancelled(cancel).map(|()| train(sample)))
        .collect::<Result<_, _>>()?;
    let mut codes = vec![0; passages.len() * parts];
    codes
        .par_chunks_mut(parts.max(1))
        .zip(passages)
        .try_for_each_init(RowBuffer::default, |buffer, (codes, &passage)| {
            check_cancelled(cancel)?;
            let vector = vectors.row(passage as usize, buffer)?;
            for ((code, part), centroids) in codes.iter_mut().zip(cut(vector)).zip(&centroids) {
                *code = nearest(centroids, part) as u8;
            }
            Ok::<_, IndexError>(())
        })?;
    Ok(Quantized {
        centroids: centroids.into_iter().flatten().flatten().collect(),
        codes,
    })
}

/// The parts of a vector, the last padded with zeros.
fn cut(vector: &[f32]) -> impl Iterator<Item = Part> {
    vector.chunks(PART_DIMENSIONS).map(|numbers| {
        let mut part = [0.0; PART_DIMENSIONS];
        part[..numbers.len()].copy_from_slice(numbers);
        part
    })
}

/// The centroids of some parts by k-means (Lloyd), starting from parts spread evenly over the
/// sample.
fn train(sample: &[Part]) -> Vec<Part> {
    let mut centroids: Vec<Part> = (0..CENTROIDS)
        .map(|centroid| sample.get(centroid * sample.len() / CENTROIDS))
        .map(|part| part.copied().unwrap_or_default())
        .collect();
    for _ in 0..ITERATIONS {
        let mut sums = vec![([0.0f64; PART_DIMENSIONS], 0usize); CENTROIDS];
        for &part in sample {
            let (sum, count) = &mut sums[nearest(&centroids, part)];
            for (sum, number) in sum.iter_mut().zip(part) {
                *sum += f64::from(number);
            }
            *count += 1;
        }
        for (centroid, (sum, count)) in centroids.iter_mut().zip(sums) {
            // A centroid without vectors stays where it is.
            if count > 0 {
                *centroid = sum.map(|sum| (sum / count as f64) as f32);
            }
        }
    }
    centroids
}

/// The index of the nearest centroid, the first among equals.
fn nearest(centroids: &[Part], part: Part) -> usize {
    let mut best = (f32::INFINITY, 0);
    for (index, centroid) in centroids.iter().enumerate() {
        let mut distance = 0.0;
        for (x, y) in centroid.iter().zip(part) {
            distance += (x - y) * (x - y);
        }
        if distance < best.0 {
            best = (distance, index);
        }
    }
    best.1
}

/// A query with the codes that it is compared with.
pub(super) struct ProductQuery<'a> {
    codes: ProductCodes<'a>,
    /// The product of each part with each of its centroids: `[parts, 256]`.
    table: Vec<[f32; CENTROIDS]>,
}

impl<'a> ProductQuery<'a> {
    /// The query of a vector: `[dimensions]`.
    pub(super) fn of(codes: ProductCodes<'a>, vector: &[f32]) -> Self {
        let (centroids, _) = codes.centroids.as_chunks::<PART_DIMENSIONS>();
        let (by_part, _) = centroids.as_chunks::<CENTROIDS>();
        let table = cut(vector).zip(by_part).map(|(part, centroids)| {
            centroids.map(|centroid| centroid.iter().zip(part).map(|(x, y)| x * y).sum())
        });
        Self {
            codes,
            table: table.collect(),
        }
    }
}

impl Similarity for ProductQuery<'_> {
    fn prefetch(&self, node: u32) {
        let start = node as usize * self.codes.parts;
        if let Some(codes) = self.codes.codes.get(start..start + self.codes.parts) {
            prefetch(codes);
        }
    }

    fn to_nodes(&self, nodes: &[u32], similarities: &mut Vec<f32>) {
        let parts = self.codes.parts;
        similarities.clear();
        similarities.extend(nodes.iter().map(|&node| {
            let start = node as usize * parts;
            self.codes.watch.touch(start..start + parts);
            let codes = self.codes.codes.get(start..start + parts);
            let codes = codes.unwrap_or_default();
            // Four sums, so that additions need not wait for one another.
            let mut sums = [0.0; 4];
            let (tables, last_tables) = self.table.as_chunks::<4>();
            let (fours, last) = codes.as_chunks::<4>();
            for (codes, tables) in fours.iter().zip(tables) {
                for lane in 0..4 {
                    sums[lane] += tables[lane][usize::from(codes[lane])];
                }
            }
            for ((sum, &code), table) in sums.iter_mut().zip(last).zip(last_tables) {
                *sum += table[usize::from(code)];
            }
            (sums[0] + sums[1]) + (sums[2] + sums[3])
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::{VectorType, VectorWriter};
    use proptest::prelude::*;

    fn quantized(vectors: &[Vec<f32>]) -> Quantized {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = VectorWriter::create(dir.path(), VectorType::F32).unwrap();
        vectors.iter().for_each(|row| writer.push(row).unwrap());
        writer.finish().unwrap();
        let opened = SegmentVectors::open(dir.path(), vectors.len(), vectors[0].len()).unwrap();
        let passages: Vec<u32> = (0..vectors.len() as u32).collect();
        quantize(&opened, &passages, &AtomicBool::new(false)).unwrap()
    }

    fn similarities(quantized: &Quantized, query: &[f32], nodes: &[u32]) -> Vec<f32> {
        let codes = ProductCodes {
            centroids: &quantized.centroids,
            codes: &quantized.codes,
            parts: parts(query.len()),
            watch: Watch::default(),
        };
        let mut similarities = Vec::new();
        ProductQuery::of(codes, query).to_nodes(nodes, &mut similarities);
        similarities
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// As many centroids as vectors, so nothing is lost.
        #[test]
        fn of_few_vectors_the_products_are_exact(
            (query, vectors) in (1usize..30).prop_flat_map(|dimensions| (
                prop::collection::vec((-8i8..9).prop_map(f32::from), dimensions),
                prop::collection::vec(
                    prop::collection::vec((-8i8..9).prop_map(f32::from), dimensions), 1..40),
            ))
        ) {
            let quantized = quantized(&vectors);
            let nodes: Vec<u32> = (0..vectors.len() as u32).rev().collect();
            let similarities = similarities(&quantized, &query, &nodes);
            for (similarity, vector) in similarities.iter().rev().zip(&vectors) {
                let exact: f32 = vector.iter().zip(&query).map(|(x, y)| x * y).sum();
                prop_assert_eq!(*similarity, exact);
            }
        }
    }

    #[test]
    fn a_node_that_is_not_there_is_like_nothing() {
        let quantized = quantized(&[vec![1.0, 2.0, 3.0]]);
        assert_eq!(
            similarities(&quantized, &[1.0, 1.0, 1.0], &[7, 0]),
            [0.0, 6.0]
        );
    }
}

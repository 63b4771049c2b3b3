//! Vectors in one byte for every four numbers, by which a graph on disk is walked: product
//! quantization (PQ; Jégou, Douze and Schmid 2011), as in DiskANN (Subramanya and others 2019).
//!
//! A vector is cut into subvectors of four numbers, the last padded with zeros, and each is coded by
//! the nearest of 256 centroids of its subspace. The products of a query with all centroids are
//! computed once; that with a vector is then a sum from a table. It is coarse, so results are scored
//! again by the vectors themselves.

use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::walk::Similarity;
use crate::IndexError;
use crate::dense::{RowBuffer, SegmentVectors, check_cancelled};

/// Numbers of a subvector.
pub(super) const CODE_DIMENSIONS: usize = 4;

/// Centroids of a subspace: as many as a byte can name.
pub(super) const CENTROIDS: usize = 256;

/// The most vectors that the centroids are trained on.
const TRAINING_VECTORS: usize = 16_384;

/// Iterations of k-means.
const ITERATIONS: usize = 8;

type Subvector = [f32; CODE_DIMENSIONS];

/// The number of subspaces.
pub(super) fn subspaces(dimensions: usize) -> usize {
    dimensions.div_ceil(CODE_DIMENSIONS)
}

/// Encoded vectors with their centroids.
pub(super) struct Compressed {
    /// `[subspaces, 256, 4]`
    pub(super) centroids: Vec<f32>,
    /// `[nodes, subspaces]`
    pub(super) codes: Vec<u8>,
}

/// The codes of some nodes with their centroids.
#[derive(Clone, Copy, Debug)]
pub(super) struct PqCodes<'a> {
    /// `[subspaces, 256, 4]`
    pub(super) centroids: &'a [f32],
    /// `[nodes, subspaces]`
    pub(super) codes: &'a [u8],
    pub(super) subspaces: usize,
}

/// Trains centroids on some of the vectors and encodes all, on all threads. The same vectors give the
/// same codes. `passages` are the ordinals to take, in the order of the nodes.
pub(super) fn compress(
    vectors: &SegmentVectors,
    passages: &[u32],
    cancel: &AtomicBool,
) -> Result<Compressed, IndexError> {
    let subspaces = subspaces(vectors.dimensions());
    let step = passages.len().div_ceil(TRAINING_VECTORS).max(1);
    let mut sample: Vec<Vec<Subvector>> = vec![Vec::new(); subspaces];
    let mut buffer = RowBuffer::default();
    for &passage in passages.iter().step_by(step) {
        check_cancelled(cancel)?;
        let vector = vectors.row(passage as usize, &mut buffer)?;
        for (sample, subvector) in sample.iter_mut().zip(subvectors(vector)) {
            sample.push(subvector);
        }
    }
    let centroids: Vec<Vec<Subvector>> = sample
        .par_iter()
        .map(|sample| check_cancelled(cancel).map(|()| train(sample)))
        .collect::<Result<_, _>>()?;
    let mut codes = vec![0; passages.len() * subspaces];
    codes
        .par_chunks_mut(subspaces.max(1))
        .zip(passages)
        .try_for_each_init(RowBuffer::default, |buffer, (codes, &passage)| {
            check_cancelled(cancel)?;
            let vector = vectors.row(passage as usize, buffer)?;
            for ((code, subvector), centroids) in
                codes.iter_mut().zip(subvectors(vector)).zip(&centroids)
            {
                *code = nearest(centroids, subvector) as u8;
            }
            Ok::<_, IndexError>(())
        })?;
    Ok(Compressed {
        centroids: centroids.into_iter().flatten().flatten().collect(),
        codes,
    })
}

/// The subvectors of a vector, the last padded with zeros.
fn subvectors(vector: &[f32]) -> impl Iterator<Item = Subvector> {
    vector.chunks(CODE_DIMENSIONS).map(|numbers| {
        let mut subvector = [0.0; CODE_DIMENSIONS];
        subvector[..numbers.len()].copy_from_slice(numbers);
        subvector
    })
}

/// The centroids of a subspace by k-means (Lloyd), starting from evenly spaced members of the sample.
fn train(sample: &[Subvector]) -> Vec<Subvector> {
    let mut centroids: Vec<Subvector> = (0..CENTROIDS)
        .map(|centroid| sample.get(centroid * sample.len() / CENTROIDS))
        .map(|subvector| subvector.copied().unwrap_or_default())
        .collect();
    for _ in 0..ITERATIONS {
        let mut sums = vec![([0.0f64; CODE_DIMENSIONS], 0usize); CENTROIDS];
        for &subvector in sample {
            let (sum, count) = &mut sums[nearest(&centroids, subvector)];
            for (sum, number) in sum.iter_mut().zip(subvector) {
                *sum += f64::from(number);
            }
            *count += 1;
        }
        for (centroid, (sum, count)) in centroids.iter_mut().zip(sums) {
            // One without members stays where it is.
            if count > 0 {
                *centroid = sum.map(|sum| (sum / count as f64) as f32);
            }
        }
    }
    centroids
}

/// Which centroid is the nearest, of equals the first.
fn nearest(centroids: &[Subvector], subvector: Subvector) -> usize {
    let mut best = (f32::INFINITY, 0);
    for (centroid, at) in centroids.iter().enumerate() {
        let mut distance = 0.0;
        for (x, y) in at.iter().zip(subvector) {
            distance += (x - y) * (x - y);
        }
        if distance < best.0 {
            best = (distance, centroid);
        }
    }
    best.1
}

/// A query, prepared for comparison with codes.
pub(super) struct PqProbe<'a> {
    codes: PqCodes<'a>,
    /// The product of each subvector with each centroid of its subspace: `[subspaces, 256]`.
    table: Vec<[f32; CENTROIDS]>,
}

impl<'a> PqProbe<'a> {
    /// The probe of a vector: `[dimensions]`.
    pub(super) fn of(codes: PqCodes<'a>, vector: &[f32]) -> Self {
        let (centroids, _) = codes.centroids.as_chunks::<CODE_DIMENSIONS>();
        let (by_subspace, _) = centroids.as_chunks::<CENTROIDS>();
        let table = subvectors(vector)
            .zip(by_subspace)
            .map(|(subvector, centroids)| {
                centroids.map(|at| at.iter().zip(subvector).map(|(x, y)| x * y).sum())
            });
        Self {
            codes,
            table: table.collect(),
        }
    }
}

impl Similarity for PqProbe<'_> {
    fn to_nodes(&self, nodes: &[u32], similarities: &mut Vec<f32>) {
        let subspaces = self.codes.subspaces;
        similarities.clear();
        similarities.extend(nodes.iter().map(|&node| {
            let start = node as usize * subspaces;
            let codes = self.codes.codes.get(start..start + subspaces);
            let codes = codes.unwrap_or_default();
            // Four sums, so that one addition need not wait for the other.
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

    fn compressed(vectors: &[Vec<f32>]) -> Compressed {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = VectorWriter::create(dir.path(), VectorType::F32).unwrap();
        vectors.iter().for_each(|row| writer.push(row).unwrap());
        writer.finish().unwrap();
        let opened = SegmentVectors::open(dir.path(), vectors.len(), vectors[0].len()).unwrap();
        let passages: Vec<u32> = (0..vectors.len() as u32).collect();
        compress(&opened, &passages, &AtomicBool::new(false)).unwrap()
    }

    fn similarities(compressed: &Compressed, query: &[f32], nodes: &[u32]) -> Vec<f32> {
        let codes = PqCodes {
            centroids: &compressed.centroids,
            codes: &compressed.codes,
            subspaces: subspaces(query.len()),
        };
        let mut found = Vec::new();
        PqProbe::of(codes, query).to_nodes(nodes, &mut found);
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// As many centroids as vectors: nothing is lost.
        #[test]
        fn of_few_vectors_the_products_are_exact(
            (query, vectors) in (1usize..30).prop_flat_map(|dimensions| (
                prop::collection::vec((-8i8..9).prop_map(f32::from), dimensions),
                prop::collection::vec(
                    prop::collection::vec((-8i8..9).prop_map(f32::from), dimensions), 1..40),
            ))
        ) {
            let compressed = compressed(&vectors);
            let nodes: Vec<u32> = (0..vectors.len() as u32).rev().collect();
            let found = similarities(&compressed, &query, &nodes);
            for (found, vector) in found.iter().rev().zip(&vectors) {
                let exact: f32 = vector.iter().zip(&query).map(|(x, y)| x * y).sum();
                prop_assert_eq!(*found, exact);
            }
        }
    }

    #[test]
    fn a_node_that_is_not_there_is_like_nothing() {
        let compressed = compressed(&[vec![1.0, 2.0, 3.0]]);
        assert_eq!(
            similarities(&compressed, &[1.0, 1.0, 1.0], &[7, 0]),
            [0.0, 6.0]
        );
    }
}

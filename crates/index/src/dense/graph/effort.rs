//! The recall that each length of a candidate list gives, measured on a sample of the graph's own vectors.
//!
//! How long the list must be for a wanted recall depends on the vectors: in clusters a few more than `k` are
//! enough, among real embeddings ten times as many may not be. So a new graph is searched for the nearest of some of
//! its vectors, with every length in [`LISTS`], and the results are compared with a scan. The graph's file keeps these
//! recalls.
//!
//! They are lower bounds, so that the recall of other queries is hardly ever less. A walk skips the node whose vector
//! is the query: real queries are not nodes, and the links of that node lead to everything near it.

use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::SegmentQuery;
use crate::dense::{RowBuffer, SegmentVectors, check_cancelled};
use crate::dot::dot_rows;
use crate::top_k::{Place, TopK};
use crate::{IndexError, Recall};

/// The values of `k` that recall is measured for: those of a usual search, and of the rankings that hybrid search
/// fuses.
const DEPTHS: [usize; 2] = [10, 100];

/// The lengths of candidate lists that are measured, as multiples of the depth.
const LISTS: [f64; 16] = [
    1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0, 256.0, 512.0,
];

/// The place in [`LISTS`] from which a recall of [`ENOUGH`] ends the measurement: only large graphs need longer lists,
/// and these take as long to measure as all others.
const LONG: usize = 11;

const ENOUGH: f64 = 0.99;

/// The most vectors in the sample.
const SAMPLE: usize = 256;

/// The numbers in a block of vectors, which is scored for the whole sample before the next is read: 256 KiB.
const NUMBERS_PER_BLOCK: usize = 1 << 16;

/// The number that measured queries give the segment, which has none yet.
const SEGMENT: u32 = 0;

/// The recall of each length of list, for each depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Efforts {
    pub(super) recalls: [[f32; LISTS.len()]; DEPTHS.len()],
}

/// A node of the sample with its nearest passages.
struct Sampled {
    node: u32,
    vector: Vec<f32>,
    /// The nearest passages of other nodes, best first: as many as the largest depth.
    nearest: Vec<Place>,
}

impl Efforts {
    /// Measures the recall of `search`, which takes a query, the length of the list and the node that
    /// the walk skips, and returns the best passages, or `None` if a scan is quicker. `passages` are
    /// those of each node.
    ///
    /// # Errors
    /// If the vectors cannot be read, and [`IndexError::Cancelled`].
    pub(super) fn measure(
        vectors: &SegmentVectors,
        passages: &[&[u32]],
        search: &(impl Fn(&SegmentQuery<'_>, usize, u32) -> Result<Option<TopK>, IndexError> + Sync),
        cancel: &AtomicBool,
    ) -> Result<Self, IndexError> {
        let sample = sample(vectors, passages, cancel)?;
        let mut recalls = [[1.0; LISTS.len()]; DEPTHS.len()];
        for (recalls, depth) in recalls.iter_mut().zip(DEPTHS) {
            for (index, length) in lengths(depth).enumerate() {
                let share = |sampled: &Sampled| {
                    check_cancelled(cancel)?;
                    let right = &sampled.nearest[..depth.min(sampled.nearest.len())];
                    let query = SegmentQuery {
                        vector: &sampled.vector,
                        k: depth,
                        segment: SEGMENT,
                        live_count: vectors.passages(),
                    };
                    match search(&query, length, sampled.node)? {
                        Some(best) if !right.is_empty() => Ok(share_of(best, right)),
                        _ => Ok::<_, IndexError>(1.0),
                    }
                };
                let shares: Vec<f64> = sample.par_iter().map(share).collect::<Result<_, _>>()?;
                let recall = lower_bound(&shares);
                recalls[index..].fill(recall as f32); // longer lists find no less
                if recall >= 1.0 || index >= LONG && recall >= ENOUGH {
                    break;
                }
            }
        }
        Ok(Self { recalls })
    }

    /// The recalls of a file: `[2, lengths]`. An older file has fewer lengths.
    pub(super) fn read(recalls: &[f32]) -> Self {
        let mut all = [[0.0; LISTS.len()]; DEPTHS.len()];
        let measured = recalls.chunks((recalls.len() / DEPTHS.len()).max(1));
        for (row, measured) in all.iter_mut().zip(measured) {
            row.fill(measured.last().copied().unwrap_or_default());
            let lengths = measured.len().min(row.len());
            row[..lengths].copy_from_slice(&measured[..lengths]);
        }
        Self { recalls: all }
    }

    /// The length of the candidate list that finds the `k` nearest at a recall; the shortest that finds the most, if
    /// none reaches the recall.
    pub(super) fn list(&self, k: usize, recall: Recall) -> usize {
        let [shallow, deep] = self
            .recalls
            .map(|recalls| reached(&recalls, recall.share()));
        let length = match k {
            _ if k <= DEPTHS[0] => DEPTHS[0] as f64 * shallow,
            _ if k < DEPTHS[1] => k as f64 * shallow.max(deep),
            _ => k as f64 * deep,
        };
        (length.ceil() as usize).max(k)
    }
}

/// The lengths of the candidate lists that are measured for `k` = `depth`.
fn lengths(depth: usize) -> impl Iterator<Item = usize> {
    LISTS
        .iter()
        .map(move |times| (depth as f64 * times) as usize)
}

/// The multiple of the depth at which a recall is reached, interpolated linearly between those of [`LISTS`].
fn reached(recalls: &[f32; LISTS.len()], wanted: f64) -> f64 {
    let points = || recalls.iter().map(|&recall| f64::from(recall)).zip(LISTS);
    let most = points().map(|(recall, _)| recall).fold(0.0, f64::max);
    let wanted = wanted.min(most);
    let Some((above, times)) = points().find(|(recall, _)| *recall >= wanted) else {
        return LISTS[LISTS.len() - 1];
    };
    let below = points().take_while(|(recall, _)| *recall < wanted).last();
    match below {
        Some((below, fewer)) => fewer + (times - fewer) * (wanted - below) / (above - below),
        None => times,
    }
}

/// The share of the `right` places that are among the `best`.
fn share_of(best: TopK, right: &[Place]) -> f64 {
    let ranking = best.into_ranking();
    let hits = ranking
        .iter()
        .filter(|candidate| right.contains(&candidate.place));
    hits.count() as f64 / right.len() as f64
}

/// The lower end of the one-sided 95% confidence interval of the mean.
fn lower_bound(shares: &[f64]) -> f64 {
    const STANDARD_ERRORS: f64 = 1.645;
    let count = shares.len().max(1) as f64;
    let mean = shares.iter().sum::<f64>() / count;
    let squares: f64 = shares.iter().map(|share| (share - mean).powi(2)).sum();
    mean - STANDARD_ERRORS * squares.sqrt() / count
}

/// A node of the sample while a scan looks for its nearest passages.
struct Scan<'a> {
    node: u32,
    /// Its passages.
    own: &'a [u32],
    vector: Vec<f32>,
    best: TopK,
    /// A buffer.
    scores: Vec<f32>,
}

impl Scan<'_> {
    /// Scores the vectors in `block`, the first of which is that of passage `start`.
    fn score(&mut self, start: u32, block: &[f32]) {
        dot_rows(block, &self.vector, &mut self.scores);
        for (ordinal, &score) in (start..).zip(&self.scores) {
            let segment = SEGMENT;
            let is_other = |place: Place| self.own.binary_search(&place.ordinal).is_err();
            self.best.offer(score, Place { segment, ordinal }, is_other);
        }
    }

    fn finish(self) -> Sampled {
        let ranking = self.best.into_ranking().into_iter();
        Sampled {
            node: self.node,
            vector: self.vector,
            nearest: ranking.map(|candidate| candidate.place).collect(),
        }
    }
}

/// At most [`SAMPLE`] nodes, evenly distributed, with the nearest passages of other nodes, found by a scan.
fn sample(
    vectors: &SegmentVectors,
    passages: &[&[u32]],
    cancel: &AtomicBool,
) -> Result<Vec<Sampled>, IndexError> {
    let step = passages.len().div_ceil(SAMPLE).max(1);
    let mut buffer = RowBuffer::default();
    let mut scans = Vec::new();
    for (node, &own) in (0..).zip(passages).step_by(step) {
        let first = own.first().copied().unwrap_or_default();
        scans.push(Scan {
            node,
            own,
            vector: vectors.row(first as usize, &mut buffer)?.to_vec(),
            best: TopK::new(DEPTHS[1]),
            scores: Vec::new(),
        });
    }
    let count = vectors.passages();
    let rows = (NUMBERS_PER_BLOCK / vectors.dimensions().max(1)).max(1);
    for start in (0..count).step_by(rows) {
        check_cancelled(cancel)?;
        let block = vectors.rows(start..(start + rows).min(count), &mut buffer)?;
        scans
            .par_iter_mut()
            .for_each(|scan| scan.score(start as u32, block));
    }
    Ok(scans.into_iter().map(Scan::finish).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recall(share: f64) -> Recall {
        share.to_string().parse().unwrap()
    }

    #[test]
    fn the_list_is_as_long_as_the_recall_requires() {
        let mut shallow = [1.0; LISTS.len()];
        shallow[..5].copy_from_slice(&[0.5, 0.5625, 0.625, 0.75, 0.875]);
        let mut deep = [0.75; LISTS.len()];
        deep[12..].fill(0.875);
        let efforts = Efforts {
            recalls: [shallow, deep],
        };
        assert_eq!(efforts.list(10, recall(0.5)), 10);
        assert_eq!(efforts.list(10, recall(0.75)), 20);
        assert_eq!(efforts.list(10, recall(0.8125)), 25);
        assert_eq!(efforts.list(3, recall(0.75)), 20);
        assert_eq!(efforts.list(10, recall(1.0)), 40);
        assert_eq!(efforts.list(100, recall(0.75)), 100);
        assert_eq!(efforts.list(55, recall(0.75)), 110);
        // Not reached: the shortest that finds the most.
        assert_eq!(efforts.list(100, recall(0.95)), 6400);
        assert_eq!(efforts.list(200, recall(0.95)), 12_800);
    }

    #[test]
    fn an_older_file_has_fewer_lengths() {
        let mut recalls = [0.25; 24];
        recalls[11] = 0.75;
        recalls[23] = 0.5;
        let efforts = Efforts::read(&recalls);
        assert_eq!(efforts.list(10, recall(0.75)), 320);
        assert_eq!(efforts.list(100, recall(0.5)), 3200);
        assert_eq!(efforts.list(10, recall(0.9)), 320);
    }
}

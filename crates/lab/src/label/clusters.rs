//! Clusters of vectors: k-means by Lloyd's algorithm from k-means++ starting points. A plain implementation is
//! enough: there are as many texts as questions.

use ken_answer::datastore::mean_of;
use ken_random::{below, unit};

/// Most iterations; far fewer usually converge.
const MOST_STEPS: usize = 100;

/// Assigns each vector to one of at most `count` clusters, determined by the seed. There are fewer if there are fewer
/// different vectors; no cluster is empty.
///
/// # Shapes
/// Takes `[vectors][dimensions]`, and returns the cluster of each vector, counted from 0.
pub(super) fn clusters(vectors: &[Vec<f32>], count: usize, seed: u64) -> Vec<usize> {
    let mut centroids = starting_points(vectors, count, seed);
    let mut assigned = vec![0; vectors.len()];
    for _ in 0..MOST_STEPS {
        let nearest: Vec<usize> = vectors
            .iter()
            .map(|vector| nearest(vector, &centroids).0)
            .collect();
        let moved = nearest != assigned;
        assigned = nearest;
        if !moved {
            break;
        }
        for (cluster, centroid) in centroids.iter_mut().enumerate() {
            let own = vectors.iter().zip(&assigned);
            let own = own.filter(|(_, assigned)| **assigned == cluster);
            let own: Vec<Vec<f32>> = own.map(|(vector, _)| vector.clone()).collect();
            // The center of a cluster that lost all its vectors stays where it is.
            if !own.is_empty() {
                *centroid = mean_of(&own);
            }
        }
    }
    numbered_from_zero(assigned)
}

/// Distant vectors: each is drawn with a probability proportional to its squared distance from those before.
fn starting_points(vectors: &[Vec<f32>], count: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut state = seed;
    let mut points = Vec::new();
    if vectors.is_empty() || count == 0 {
        return points;
    }
    points.push(vectors[below(&mut state, vectors.len())].clone());
    while points.len() < count {
        let distances: Vec<f64> = vectors
            .iter()
            .map(|vector| nearest(vector, &points).1)
            .collect();
        let mut left = unit(&mut state) * distances.iter().sum::<f64>();
        let far: Vec<usize> = (0..vectors.len())
            .filter(|&index| distances[index] > 0.0)
            .collect();
        let drawn = far.iter().find(|&&at| {
            left -= distances[at];
            left < 0.0
        });
        // The last vector, if rounding leaves a rest.
        let Some(&drawn) = drawn.or(far.last()) else {
            break;
        };
        points.push(vectors[drawn].clone());
    }
    points
}

/// The index of the nearest point, the first among equals, and its squared distance.
fn nearest(vector: &[f32], points: &[Vec<f32>]) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (place, point) in points.iter().enumerate() {
        let distance: f64 = vector
            .iter()
            .zip(point)
            .map(|(a, b)| f64::from(a - b).powi(2))
            .sum();
        if distance < best.1 {
            best = (place, distance);
        }
    }
    best
}

/// Skips no cluster number.
fn numbered_from_zero(assigned: Vec<usize>) -> Vec<usize> {
    let mut used = assigned.clone();
    used.sort_unstable();
    used.dedup();
    let number = |cluster| used.partition_point(|used| *used < cluster);
    assigned.into_iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_that_lie_apart_are_found() {
        let vectors: Vec<Vec<f32>> = (0..60)
            .map(|number| {
                let (group, within) = (number % 3, number as f32 / 60.0);
                vec![10.0 * group as f32 + within, -5.0 * group as f32 - within]
            })
            .collect();
        for seed in 0..20 {
            let found = clusters(&vectors, 3, seed);
            assert_eq!(found, clusters(&vectors, 3, seed));
            for (number, cluster) in found.iter().enumerate() {
                assert_eq!(*cluster, found[number % 3], "{found:?}");
            }
            assert!(found[0] != found[1] && found[1] != found[2] && found[2] != found[0]);
        }
    }

    #[test]
    fn there_are_no_more_clusters_than_different_vectors() {
        let vectors = [[1.0], [2.0], [1.0], [2.0]].map(Vec::from);
        let found = clusters(&vectors, 5, 1);
        assert_eq!((found[0], found[1]), (found[2], found[3]));
        assert_ne!(found[0], found[1]);
        assert!(clusters(&[], 5, 1).is_empty());
        assert_eq!(clusters(&vectors, 0, 1), [0; 4]);
    }

    proptest! {
        /// The fixed point of Lloyd's algorithm: every vector is nearest to the mean of its own cluster.
        #[test]
        fn every_vector_is_nearest_to_its_own_mean(
            vectors in proptest::collection::vec(
                proptest::collection::vec(-1.0..1.0_f32, 2), 1..40),
            count in 1..6_usize,
            seed in any::<u64>(),
        ) {
            let found = clusters(&vectors, count, seed);
            let most = found.iter().max().unwrap() + 1;
            prop_assert!(most <= count);
            let means: Vec<Vec<f32>> = (0..most)
                .map(|cluster| {
                    let own = vectors.iter().zip(&found).filter(|(_, f)| **f == cluster);
                    let own: Vec<Vec<f32>> = own.map(|(vector, _)| vector.clone()).collect();
                    assert!(!own.is_empty(), "no cluster is empty");
                    mean_of(&own)
                })
                .collect();
            for (vector, cluster) in vectors.iter().zip(&found) {
                let own = nearest(vector, &means[*cluster..=*cluster]).1;
                prop_assert!(own <= nearest(vector, &means).1 + 1e-6);
            }
        }
    }
}

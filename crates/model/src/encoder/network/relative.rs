//! The bias of attention scores by the distance between two tokens, as in MPNet and T5: one number for each head and
//! bucket of distances.

/// The buckets of each direction.
const SIDE: usize = 16;

/// Distances below this have a bucket each.
const EXACT: usize = SIDE / 2;

/// Distances from here on share the last bucket.
const FARTHEST: f64 = 128.0;

/// The buckets of both directions.
pub(super) const BUCKETS: usize = 2 * SIDE;

/// The gains of one head for texts of up to `length` tokens. That of the distance `d` from query to key is at index
/// `length - 1 + d`, so that a query's gains by key are a slice.
///
/// # Shapes
/// `table`: `[BUCKETS, heads]`; returns `[2 * length - 1]`.
pub(super) fn gains(table: &[f32], heads: usize, head: usize, length: usize) -> Vec<f32> {
    let of = |bucket: usize| table[bucket * heads + head];
    let before = (1..length).rev().map(|distance| of(bucket(distance)));
    let after = (1..length).map(|distance| of(SIDE + bucket(distance)));
    let own = (length > 0).then(|| of(0));
    before.chain(own).chain(after).collect()
}

/// The bucket of a distance in one direction: exact below [`EXACT`], then growing with its logarithm.
fn bucket(distance: usize) -> usize {
    if distance < EXACT {
        return distance;
    }
    let part = (distance as f64 / EXACT as f64).ln() / (FARTHEST / EXACT as f64).ln();
    (EXACT + (part * (SIDE - EXACT) as f64) as usize).min(SIDE - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_begin_where_the_reference_begins_them() {
        let first = |wanted: usize| (0..200).find(|&distance| bucket(distance) == wanted);
        let firsts: Vec<_> = (0..SIDE).filter_map(first).collect();
        assert_eq!(
            firsts,
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]
        );
        assert_eq!(bucket(100_000), SIDE - 1);
    }

    #[test]
    fn a_querys_gains_are_a_slice() {
        let table: Vec<f32> = (0..BUCKETS).map(|bucket| bucket as f32).collect();
        let all = gains(&table, 1, 0, 4);
        assert_eq!(all, [3.0, 2.0, 1.0, 0.0, 17.0, 18.0, 19.0]);
        // From the third token to the first, the second, itself and the fourth.
        assert_eq!(all[4 - 1 - 2..][..4], [2.0, 1.0, 0.0, 17.0]);
        assert!(gains(&table, 1, 0, 0).is_empty());
    }
}

//! The paired randomization test: how likely differences at least this far from zero are if both systems are equal,
//! so that the sign of each difference is random (Fisher 1935; for retrieval, Smucker et al. 2007).

use ken_random::next;

use crate::bootstrap::DRAWS;

/// Sums that differ by less differ only by rounding.
const ROUNDING: f64 = 1e-9;

/// The two-sided p value of a mean of differences, one per query, by random signs, determined by the seed. The
/// observed signs count as one draw, so it is never 0. `None` without queries.
pub fn randomization_test(differences: &[f64], seed: u64) -> Option<f64> {
    if differences.is_empty() {
        return None;
    }
    // A difference of zero has no sign.
    let moving: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|difference| *difference != 0.0)
        .collect();
    let observed = moving.iter().sum::<f64>().abs() - ROUNDING;
    let mut state = seed;
    let as_far = (0..DRAWS).filter(|_| {
        let signed = moving.chunks(64).map(|some| {
            let mut signs = next(&mut state);
            let signed = some.iter().map(|difference| {
                let is_flipped = signs & 1 == 1;
                signs >>= 1;
                if is_flipped { -difference } else { *difference }
            });
            signed.sum::<f64>()
        });
        signed.sum::<f64>().abs() >= observed
    });
    Some((as_far.count() + 1) as f64 / (DRAWS + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likes_are_alike_and_what_is_always_better_is_not() {
        assert_eq!(randomization_test(&[], 0), None);
        assert_eq!(randomization_test(&[0.0; 5], 0), Some(1.0));
        assert_eq!(randomization_test(&[0.25], 0), Some(1.0));
        let p = randomization_test(&[0.1; 70], 0).unwrap();
        assert!(p < 0.001, "{p}");
        assert_eq!(p, randomization_test(&[-0.1; 70], 0).unwrap());
    }

    #[test]
    fn alike_systems_are_told_apart_as_often_as_the_level_says() {
        let mut state = 3;
        let rejected = (0..300).filter(|seed| {
            let drawn = (0..40).map(|_| ken_random::unit(&mut state) - 0.5);
            let differences: Vec<f64> = drawn.collect();
            randomization_test(&differences, *seed).unwrap() <= 0.05
        });
        let rejected = rejected.count();
        // 15 on average; three standard deviations are 11.
        assert!((4..=26).contains(&rejected), "{rejected}");
    }
}

//! How well a score tells two kinds of questions apart.
//!
//! Pure functions of numbers. Scores that are not a number count as the smallest.

/// A score and whether what it foretells came true.
pub type Foretold = (f64, bool);

/// The area under the receiver operating characteristic: the chance that of two questions, one for
/// which it came true and one for which it did not, the first has the larger score; ties count
/// half. `None` where there are not both.
pub fn auroc(foretold: &[Foretold]) -> Option<f64> {
    let sorted = ascending(foretold);
    let positives = sorted.iter().filter(|one| one.1).count();
    let negatives = sorted.len() - positives;
    if positives == 0 || negatives == 0 {
        return None;
    }
    let (mut below, mut won) = (0.0, 0.0);
    for same in sorted.chunk_by(|one, next| one.0 == next.0) {
        let right = same.iter().filter(|one| one.1).count() as f64;
        let wrong = same.len() as f64 - right;
        won += right * (below + wrong / 2.0);
        below += wrong;
    }
    Some(won / (positives as f64 * negatives as f64))
}

/// Sorted by score, what is no number first.
fn ascending(foretold: &[Foretold]) -> Vec<Foretold> {
    let number = |one: &Foretold| {
        if one.0.is_nan() {
            f64::NEG_INFINITY
        } else {
            one.0
        }
    };
    let mut sorted: Vec<Foretold> = foretold.iter().map(|one| (number(one), one.1)).collect();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORETOLD: [Foretold; 8] = [
        (0.1, false),
        (0.4, false),
        (0.35, true),
        (0.8, true),
        (0.4, true),
        (0.9, false),
        (0.7, true),
        (0.05, false),
    ];

    #[test]
    fn the_area_is_that_of_scikit_learn() {
        // roc_auc_score
        assert!((auroc(&FORETOLD).unwrap() - 0.656_25).abs() < 1e-12);
    }

    #[test]
    fn one_kind_alone_cannot_be_told_apart() {
        assert_eq!(auroc(&[(0.5, true)]), None);
        assert_eq!(auroc(&[]), None);
    }

    proptest! {
        #[test]
        fn the_area_is_the_share_of_pairs_in_order(
            foretold in prop::collection::vec(((0u8..6).prop_map(f64::from), any::<bool>()), 0..40)
        ) {
            let (mut won, mut pairs) = (0.0, 0.0);
            for one in foretold.iter().filter(|one| one.1) {
                for other in foretold.iter().filter(|other| !other.1) {
                    pairs += 1.0;
                    won += match one.0.total_cmp(&other.0) {
                        std::cmp::Ordering::Greater => 1.0,
                        std::cmp::Ordering::Equal => 0.5,
                        std::cmp::Ordering::Less => 0.0,
                    };
                }
            }
            match auroc(&foretold) {
                Some(area) => prop_assert!((area - won / pairs).abs() < 1e-12),
                None => prop_assert_eq!(pairs, 0.0),
            }
        }

        #[test]
        fn any_numbers_give_a_share(
            foretold in prop::collection::vec((any::<f64>(), any::<bool>()), 1..40),
        ) {
            if let Some(area) = auroc(&foretold) {
                prop_assert!((0.0..=1.0).contains(&area), "{area}");
            }
        }
    }
}

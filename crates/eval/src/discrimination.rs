//! How well a score separates two kinds of questions, and how well a probability is calibrated. Pure functions of
//! numbers; NaN counts as the smallest score.

use crate::statistics::number;

/// A score, and whether the predicted event occurred.
pub type Prediction = (f64, bool);

/// The area under the receiver operating characteristic: the probability that a question with the event has a larger
/// score than one without it; ties count half. `None` unless both kinds occur.
pub fn auroc(predictions: &[Prediction]) -> Option<f64> {
    let sorted = ascending(predictions);
    let positives = sorted.iter().filter(|prediction| prediction.1).count();
    let negatives = sorted.len() - positives;
    if positives == 0 || negatives == 0 {
        return None;
    }
    let (mut below, mut won) = (0.0, 0.0);
    for same in sorted.chunk_by(|prediction, next| prediction.0 == next.0) {
        let right = same.iter().filter(|prediction| prediction.1).count() as f64;
        let wrong = same.len() as f64 - right;
        won += right * (below + wrong / 2.0);
        below += wrong;
    }
    Some(won / (positives as f64 * negatives as f64))
}

/// The area under the precision-recall curve as average precision: the mean of the precision at each question with
/// the event, in descending order of score, equal scores together. `None` without such a question.
pub fn average_precision(predictions: &[Prediction]) -> Option<f64> {
    let mut sorted = ascending(predictions);
    sorted.reverse();
    let positives = sorted.iter().filter(|prediction| prediction.1).count();
    if positives == 0 {
        return None;
    }
    let (mut seen, mut right, mut sum) = (0.0, 0.0, 0.0);
    for same in sorted.chunk_by(|prediction, next| prediction.0 == next.0) {
        let hits = same.iter().filter(|prediction| prediction.1).count() as f64;
        seen += same.len() as f64;
        right += hits;
        sum += hits * right / seen;
    }
    Some(sum / positives as f64)
}

/// The expected calibration error of probabilities (Guo and others 2017): the mean distance, over `bins` of equal
/// width, between the mean probability and the share of events, each bin weighted by its questions. `None` without
/// predictions.
pub fn expected_calibration_error(predictions: &[Prediction], bins: usize) -> Option<f64> {
    let counted = reliability(predictions, bins);
    let all: usize = counted.iter().map(|bin| bin.questions).sum();
    let distance = |bin: &Bin| (bin.probability - bin.share).abs() * bin.questions as f64;
    (all > 0).then(|| counted.iter().map(distance).sum::<f64>() / all as f64)
}

/// One bar of a reliability diagram.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Bin {
    /// Questions in it.
    pub questions: usize,
    /// Their mean probability.
    pub probability: f64,
    /// The share of events among them.
    pub share: f64,
}

/// The bars of a reliability diagram: probabilities in `bins` of equal width from 0 to 1. Empty bins are all zeros.
pub(crate) fn reliability(predictions: &[Prediction], bins: usize) -> Vec<Bin> {
    let mut counted = vec![Bin::default(); bins.max(1)];
    for &(probability, came_true) in predictions {
        let place = (probability * bins as f64) as usize;
        let bin = &mut counted[place.min(bins.max(1) - 1)];
        bin.questions += 1;
        bin.probability += if probability.is_nan() {
            0.0
        } else {
            probability
        };
        bin.share += number(came_true);
    }
    for bin in &mut counted {
        let questions = bin.questions.max(1) as f64;
        bin.probability /= questions;
        bin.share /= questions;
    }
    counted
}

/// Sorted by ascending score, NaN first.
fn ascending(predictions: &[Prediction]) -> Vec<Prediction> {
    let number = |prediction: &Prediction| {
        if prediction.0.is_nan() {
            f64::NEG_INFINITY
        } else {
            prediction.0
        }
    };
    let mut sorted: Vec<Prediction> = predictions.iter().map(|p| (number(p), p.1)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PREDICTIONS: [Prediction; 8] = [
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
    fn areas_are_those_of_scikit_learn() {
        // roc_auc_score and average_precision_score
        assert!((auroc(&PREDICTIONS).unwrap() - 0.656_25).abs() < 1e-12);
        assert!((average_precision(&PREDICTIONS).unwrap() - 0.608_333_333_333_333_3).abs() < 1e-12);
    }

    #[test]
    fn one_kind_alone_cannot_be_told_apart() {
        assert_eq!(auroc(&[(0.5, true)]), None);
        assert_eq!(auroc(&[]), None);
        assert_eq!(average_precision(&[(0.5, false)]), None);
        assert_eq!(expected_calibration_error(&[], 10), None);
    }

    #[test]
    fn the_calibration_error_is_the_weighted_distance() {
        let predictions = [(0.9, true), (0.9, false), (0.2, false), (1.0, true)];
        // The upper bin: mean 0.9333, share 0.6667, of three; the lower: 0.2 and 0, of one.
        let expected = (3.0 * (2.8 / 3.0 - 2.0 / 3.0) + 0.2) / 4.0;
        let found = expected_calibration_error(&predictions, 2).unwrap();
        assert!((found - expected).abs() < 1e-12, "{found}");
    }

    proptest! {
        #[test]
        fn the_area_is_the_share_of_pairs_in_order(
            predictions in prop::collection::vec(((0u8..6).prop_map(f64::from), any::<bool>()), 0..40)
        ) {
            let (mut won, mut pairs) = (0.0, 0.0);
            for one in predictions.iter().filter(|prediction| prediction.1) {
                for other in predictions.iter().filter(|other| !other.1) {
                    pairs += 1.0;
                    won += match one.0.total_cmp(&other.0) {
                        std::cmp::Ordering::Greater => 1.0,
                        std::cmp::Ordering::Equal => 0.5,
                        std::cmp::Ordering::Less => 0.0,
                    };
                }
            }
            match auroc(&predictions) {
                Some(area) => prop_assert!((area - won / pairs).abs() < 1e-12),
                None => prop_assert_eq!(pairs, 0.0),
            }
        }

        #[test]
        fn any_numbers_give_shares(
            predictions in prop::collection::vec((any::<f64>(), any::<bool>()), 1..40),
        ) {
            for share in [auroc(&predictions), average_precision(&predictions)].into_iter().flatten() {
                prop_assert!((0.0..=1.0 + 1e-12).contains(&share), "{share}");
            }
            let bins = reliability(&predictions, 7);
            prop_assert_eq!(bins.iter().map(|bin| bin.questions).sum::<usize>(), predictions.len());
        }
    }
}

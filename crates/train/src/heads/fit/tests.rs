//! Heads find the signal in the data, deterministically and with calibrated probabilities.

use ken_eval::discrimination::{auroc, expected_calibration_error};
use rand::Rng;

use super::*;
use ken_policy::logistic;

const LOGISTIC: HeadOptions = HeadOptions {
    shape: Shape::Logistic,
    seed: 7,
};

const MLP: HeadOptions = HeadOptions {
    shape: Shape::Mlp { hidden: 8 },
    seed: 7,
};

/// Never cancels.
fn go_on(_: usize, _: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Random vectors with the probability that each label is true, and labels drawn from it.
fn world(
    count: usize,
    seed: u64,
    chance: impl Fn(&[f32]) -> f64,
) -> (Vec<Vec<f32>>, Vec<f64>, Vec<bool>) {
    let mut drawn = StdRng::seed_from_u64(seed);
    let mut draw = || drawn.random::<f64>();
    let vectors: Vec<Vec<f32>> = (0..count)
        .map(|_| (0..6).map(|_| 4.0 * draw() as f32 - 2.0).collect())
        .collect();
    let chances: Vec<f64> = vectors.iter().map(|vector| chance(vector)).collect();
    let labels = chances.iter().map(|&chance| draw() < chance).collect();
    (vectors, chances, labels)
}

fn slices(vectors: &[Vec<f32>]) -> Vec<&[f32]> {
    vectors.iter().map(Vec::as_slice).collect()
}

/// Logistic in two dimensions.
fn linear(vector: &[f32]) -> f64 {
    logistic(f64::from(2.0 * vector[0] - 1.5 * vector[1] + 0.5))
}

/// Likely if two numbers have the same sign (XOR), which no linear function can express.
fn crossed(vector: &[f32]) -> f64 {
    match vector[0] * vector[1] > 0.0 {
        true => 0.95,
        false => 0.05,
    }
}

fn predicted(fitted: &Fitted, vectors: &[Vec<f32>], labels: &[bool]) -> Vec<(f64, bool)> {
    let each = vectors.iter().zip(labels);
    each.map(|(vector, &label)| (fitted.network.apply(vector), label))
        .collect()
}

#[test]
fn one_binary_feature_gives_the_observed_frequencies() {
    // At 0, one of four is true; at 1, three of five.
    let rows = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    let targets = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0];
    // Both losses are lowest at the same frequencies.
    for (loss, tolerance) in [(Loss::CrossEntropy, 1e-9), (Loss::Squared, 1e-6)] {
        let objective = Objective {
            shape: Shape::Logistic,
            loss,
            examples: Examples {
                rows: &rows,
                inputs: 1,
                targets: &targets,
            },
            decay: 0.0,
        };
        let found = objective.minimize(vec![0.0; 2], 100, 1e-12);
        for (logit, frequency) in [(found[1], 0.25), (found[0] + found[1], 0.6)] {
            let error = (logistic(logit) - frequency).abs();
            assert!(error < tolerance, "{loss:?} {found:?}");
        }
    }
}

#[test]
fn a_difference_of_means_finds_the_direction_without_minimizing() {
    let options = HeadOptions {
        shape: Shape::MeanDifference,
        seed: 7,
    };
    let (vectors, _, labels) = world(800, 1, linear);
    let fitted = classify(&slices(&vectors), &labels, options, &mut go_on).unwrap();
    assert_eq!(fitted.decay, 0.0);
    let (fresh, chances, labels) = world(4000, 2, linear);
    let best: Vec<(f64, bool)> = chances.into_iter().zip(labels.iter().copied()).collect();
    let predicted = predicted(&fitted, &fresh, &labels);
    let (area, most) = (auroc(&predicted).unwrap(), auroc(&best).unwrap());
    assert!(area > most - 0.02, "{area} of {most}");
    assert!(expected_calibration_error(&predicted, 10).unwrap() < 0.05);
    let numbers: Vec<f64> = (0..vectors.len()).map(|at| (at % 7) as f64 / 7.0).collect();
    let refused = regress(&slices(&vectors), &numbers, options, &mut go_on);
    assert_eq!(refused.unwrap_err(), HeadError::NotClasses);
    assert_eq!("mean-difference".parse(), Ok(Shape::MeanDifference));
}

#[test]
fn a_logistic_head_finds_the_line_and_honest_probabilities() {
    let (vectors, _, labels) = world(800, 1, linear);
    let shifted = |vectors: Vec<Vec<f32>>| -> Vec<Vec<f32>> {
        let shift = |vector: Vec<f32>| vector.iter().map(|x| 1e4 + 300.0 * x).collect();
        vectors.into_iter().map(shift).collect()
    };
    let fitted = classify(&slices(&shifted(vectors)), &labels, LOGISTIC, &mut go_on).unwrap();
    let (fresh, chances, labels) = world(4000, 2, linear);
    let predicted = predicted(&fitted, &shifted(fresh), &labels);
    let best: Vec<(f64, bool)> = chances.into_iter().zip(labels.iter().copied()).collect();
    let (area, most) = (auroc(&predicted).unwrap(), auroc(&best).unwrap());
    assert!(area > most - 0.01, "{area} of {most}");
    let error = expected_calibration_error(&predicted, 10).unwrap();
    assert!(error < 0.04, "{error}");
}

#[test]
fn a_hidden_layer_tells_what_no_line_can() {
    let (vectors, _, labels) = world(600, 3, crossed);
    let (fresh, _, fresh_labels) = world(1000, 4, crossed);
    let area = |options| {
        let fitted = classify(&slices(&vectors), &labels, options, &mut go_on).unwrap();
        auroc(&predicted(&fitted, &fresh, &fresh_labels)).unwrap()
    };
    let (straight, bent) = (area(LOGISTIC), area(MLP));
    assert!(straight < 0.65 && bent > 0.85, "{straight} {bent}");
}

#[test]
fn regression_finds_the_number_behind_the_noise() {
    for options in [LOGISTIC, MLP] {
        let (vectors, chances, labels) = world(800, 5, linear);
        // Four questions per target, as for mastery.
        let mut drawn = StdRng::seed_from_u64(9);
        let targets: Vec<f64> = chances
            .iter()
            .map(|chance| (0..4).filter(|_| drawn.random::<f64>() < *chance).count() as f64 / 4.0)
            .collect();
        assert_eq!(labels.len(), targets.len());
        let fitted = regress(&slices(&vectors), &targets, options, &mut go_on).unwrap();
        let (fresh, chances, _) = world(500, 6, linear);
        let misses = fresh
            .iter()
            .zip(&chances)
            .map(|(vector, chance)| (fitted.network.apply(vector) - chance).powi(2));
        let error = misses.sum::<f64>() / 500.0;
        assert!(error < 0.01, "{}: {error}", options.shape);
    }
}

#[test]
fn the_same_seed_gives_the_same_head() {
    let (vectors, _, labels) = world(120, 8, linear);
    let fit = |seed| {
        let options = HeadOptions { seed, ..MLP };
        classify(&slices(&vectors), &labels, options, &mut go_on).unwrap()
    };
    assert_eq!(fit(1), fit(1));
    assert_ne!(fit(1).network, fit(2).network);
}

#[test]
fn learning_tells_how_far_it_is_and_can_be_stopped() {
    let (vectors, chances, labels) = world(60, 14, linear);
    for options in [LOGISTIC, MLP] {
        let mut steps = Vec::new();
        let mut watch = |done, total| {
            steps.push((done, total));
            ControlFlow::Continue(())
        };
        classify(&slices(&vectors), &labels, options, &mut watch).unwrap();
        assert!(
            steps.windows(2).all(|pair| pair[0].0 < pair[1].0),
            "{steps:?}"
        );
        assert!(steps.iter().all(|(done, total)| done <= total), "{steps:?}");
        let mut watch = |done, _| match done < 3 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let stopped = regress(&slices(&vectors), &chances, options, &mut watch);
        assert_eq!(stopped, Err(HeadError::Interrupted));
    }
}

#[test]
fn noise_is_not_learned() {
    let (vectors, _, labels) = world(100, 10, |_| 0.3);
    let fitted = classify(&slices(&vectors), &labels, LOGISTIC, &mut go_on).unwrap();
    let (fresh, _, labels) = world(1000, 11, |_| 0.3);
    let error = expected_calibration_error(&predicted(&fitted, &fresh, &labels), 10).unwrap();
    assert!(error < 0.12, "{error}");
}

#[test]
fn labels_from_which_nothing_can_be_learned_are_refused() {
    let (vectors, chances, labels) = world(30, 12, linear);
    let all = slices(&vectors);
    let one_class = vec![true; 30];
    let nearly: Vec<bool> = (0..30).map(|at| at < 3).collect();
    for labels in [&one_class, &nearly] {
        let refused = classify(&all, labels, LOGISTIC, &mut go_on).unwrap_err();
        assert!(
            matches!(refused, HeadError::OneClass { needed: 10, .. }),
            "{refused}"
        );
    }
    let too_few = HeadError::TooFew {
        received: 5,
        needed: 20,
    };
    let refused = classify(&all[..5], &labels[..5], LOGISTIC, &mut go_on);
    assert_eq!(refused, Err(too_few));
    let mut out_of_range = chances.clone();
    out_of_range[4] = 1.5;
    let mut broken = vectors.clone();
    broken[2][0] = f32::NAN;
    let broken = slices(&broken);
    for (vectors, targets, expected) in [
        (&all[..5], &chances[..5], too_few),
        (&all, &[0.5; 30], HeadError::OneValue { examples: 30 }),
        (&all[..29], &chances, HeadError::Shapes),
        (&all, &out_of_range, HeadError::Number { example: 4 }),
        (&broken, &chances, HeadError::Number { example: 2 }),
    ] {
        let refused = regress(vectors, targets, LOGISTIC, &mut go_on);
        assert_eq!(refused, Err(expected));
    }
}

#[test]
fn numbers_that_never_vary_are_left_out() {
    let (mut vectors, _, labels) = world(100, 13, linear);
    for vector in &mut vectors {
        vector[5] = 3e8;
    }
    let fitted = classify(&slices(&vectors), &labels, LOGISTIC, &mut go_on).unwrap();
    let mut moved = vectors[0].clone();
    moved[5] = -3e8;
    let [one, other] = [&moved, &vectors[0]].map(|vector| fitted.network.apply(vector));
    assert_eq!(one, other);
}

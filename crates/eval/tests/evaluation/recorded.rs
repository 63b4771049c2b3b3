//! Statistics against values recorded from numpy and scipy.
//!
//! `fixtures/README.md` says how they were recorded.

use ken_eval::statistics::{percentile, wilson_interval};
use serde::Deserialize;

#[derive(Deserialize)]
struct Statistics {
    percentiles: Vec<Percentiles>,
    wilson: Vec<Wilson>,
}

#[derive(Deserialize)]
struct Percentiles {
    values: Vec<f64>,
    p50: f64,
    p95: f64,
}

#[derive(Deserialize)]
struct Wilson {
    successes: usize,
    trials: usize,
    low: f64,
    high: f64,
}

#[test]
fn percentiles_equal_numpy_and_intervals_scipy() {
    let recorded: Statistics =
        serde_json::from_str(include_str!("../fixtures/statistics.json")).unwrap();
    for case in &recorded.percentiles {
        let near = |percent, expected: f64| {
            (percentile(&case.values, percent).unwrap() - expected).abs() < 1e-9
        };
        assert!(
            near(50.0, case.p50) && near(95.0, case.p95),
            "{:?}",
            case.values
        );
    }
    for case in &recorded.wilson {
        let [low, high] = wilson_interval(case.successes, case.trials).unwrap();
        assert!(
            (low - case.low).abs() < 1e-9 && (high - case.high).abs() < 1e-9,
            "{} of {}: {low} {high}",
            case.successes,
            case.trials
        );
    }
}

//! Averages of mastery records over sentences. Callers format them.

use std::collections::BTreeMap;

use ken_eval::statistics::mean;
use ken_probe::mastery::Dropped;
use ken_probe::wilson_interval_of;
use serde::Serialize;

use super::record::MasteryRecord;

/// The aggregate of a run. Values are `None` if no sentence counts for them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MasterySummary {
    /// Number of passages.
    pub passages: usize,
    /// Number of sentences.
    pub sentences: usize,
    /// How many of them failed.
    pub failed: usize,
    /// How many have a mastery: at least one question passed all filters.
    pub measured: usize,
    /// Pairs that the sentences support.
    pub wanted: usize,
    /// How many of those were dropped, by filter.
    pub dropped: Dropped,
    /// How many were kept.
    pub pairs: usize,
    /// How many of those were answered right.
    pub right: usize,
    /// The mean mastery of the sentences that have one.
    pub mastery: Option<f64>,
    /// Its 95 % interval, low and high, for other passages of the same corpus. The sentences of a passage are about
    /// one thing and count as one draw.
    pub interval: Option<[f64; 2]>,
    /// Sentences by their mastery.
    pub distribution: Distribution,
}

/// The distribution of sentences by mastery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// No question is answered right.
    pub none: usize,
    /// Fewer than half of the questions are answered right.
    pub few: usize,
    /// At least half of them are, but not all.
    pub most: usize,
    /// All of them are.
    pub all: usize,
}

/// Averages `records`.
pub fn summarize_mastery(records: &[MasteryRecord]) -> MasterySummary {
    let mut by_passage: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut dropped = Dropped::default();
    let mut distribution = Distribution::default();
    for record in records {
        dropped += record.dropped;
        let masteries = by_passage.entry(&record.passage_id).or_default();
        let Some(mastery) = record.mastery else {
            continue;
        };
        masteries.push(mastery);
        *match mastery {
            mastery if mastery <= 0.0 => &mut distribution.none,
            mastery if mastery < 0.5 => &mut distribution.few,
            mastery if mastery < 1.0 => &mut distribution.most,
            _ => &mut distribution.all,
        } += 1;
    }
    let masteries: Vec<f64> = by_passage.values().flatten().copied().collect();
    let clusters: Vec<&[f64]> = by_passage.values().map(Vec::as_slice).collect();
    let pairs = || records.iter().flat_map(|record| &record.pairs);
    MasterySummary {
        passages: by_passage.len(),
        sentences: records.len(),
        failed: records
            .iter()
            .filter(|record| record.error.is_some())
            .count(),
        measured: masteries.len(),
        wanted: records.iter().map(|record| record.wanted).sum(),
        dropped,
        pairs: pairs().count(),
        right: pairs().filter(|pair| pair.correct).count(),
        mastery: mean(&masteries),
        interval: interval(&clusters),
        distribution,
    }
}

/// The 95 % interval of a mean over values in `[0, 1]` that were drawn in clusters: Wilson's, for the number of
/// independent trials that the values are worth. The more similar the values of a cluster, the fewer that is: it
/// follows from the variance of the mean over whole clusters (the linearized ratio estimator). If that variance is 0,
/// as when all values are 0, it is the number of clusters.
fn interval(clusters: &[&[f64]]) -> Option<[f64; 2]> {
    let clusters: Vec<&[f64]> = clusters
        .iter()
        .copied()
        .filter(|cluster| !cluster.is_empty())
        .collect();
    let values: Vec<f64> = clusters.concat();
    let mean = mean(&values)?;
    let drawn = clusters.len() as f64;
    let residuals = clusters.iter().map(|cluster| {
        let residual: f64 = cluster.iter().map(|value| value - mean).sum();
        residual * residual
    });
    let count = values.len() as f64;
    let variance = residuals.sum::<f64>() * drawn / (drawn - 1.0).max(1.0) / (count * count);
    let worth = mean * (1.0 - mean) / variance;
    let trials = match worth.is_finite() && worth > 0.0 && drawn > 1.0 {
        // Values between 0 and 1 vary less than draws of 0 and 1, and can be worth more trials than there are values;
        // the number of values is the limit.
        true => worth.min(count),
        false => drawn,
    };
    Some(wilson_interval_of(mean, trials))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_probe::wilson_interval;
    use proptest::prelude::*;

    #[test]
    fn a_cluster_is_worth_one_draw_however_often_it_repeats_its_value() {
        let values: Vec<f64> = (0..50).map(|n| f64::from(u8::from(n % 5 == 0))).collect();
        let [plain_low, plain_high] = wilson_interval(10, 50).unwrap();
        for copies in [1, 8] {
            let clusters: Vec<Vec<f64>> = values.iter().map(|&value| vec![value; copies]).collect();
            let clusters: Vec<&[f64]> = clusters.iter().map(Vec::as_slice).collect();
            let [low, high] = interval(&clusters).unwrap();
            assert!((low - plain_low).abs() < 2e-3 && (high - plain_high).abs() < 2e-3);
        }
    }

    #[test]
    fn values_that_are_all_alike_leave_doubt() {
        for value in [0.0, 1.0] {
            let clusters = vec![vec![value; 3]; 4];
            let clusters: Vec<&[f64]> = clusters.iter().map(Vec::as_slice).collect();
            let right = if value > 0.5 { 4 } else { 0 };
            assert_eq!(interval(&clusters), wilson_interval(right, 4));
        }
        assert_eq!(interval(&[]), None);
        assert_eq!(interval(&[&[]]), None);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_mean(
            clusters in proptest::collection::vec(
                proptest::collection::vec(
                    prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0_f64], 0..6), 0..20),
        ) {
            let slices: Vec<&[f64]> = clusters.iter().map(Vec::as_slice).collect();
            let values = clusters.concat();
            match (mean(&values), interval(&slices)) {
                (None, None) => {}
                (Some(mean), Some([low, high])) => {
                    prop_assert!(0.0 <= low && low <= mean + 1e-9);
                    prop_assert!(mean <= high + 1e-9 && high <= 1.0);
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }
}

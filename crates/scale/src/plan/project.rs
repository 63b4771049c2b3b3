//! How accurate a model might be with more shards than were measured: accuracy as `a + b ln n`, with the error that
//! such a line makes on scales held out from its fit. This is a projection, not a measurement.

use ken_eval::statistics::mean;
use serde::Serialize;

use super::candidate::Candidate;
use super::line::Line;
use super::quantity::Quantity;

/// Scales that a line needs: two to fit it, and one to judge it.
const LEAST: usize = 3;

/// The projected accuracy of a model at scales that were not measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Projection {
    /// The set-up, without its scale.
    pub name: String,
    /// The accuracy.
    pub quantity: Quantity,
    /// Its projected value at one shard.
    pub at_one: f64,
    /// The gain from e times as many shards.
    pub slope: f64,
    /// The mean error of a line through the smaller scales on the largest third of them.
    pub held_out_error: f64,
    /// The scales with their projected values, in `[0, 1]`.
    pub expected: Vec<(u32, f64)>,
}

/// Projects the accuracy of each model under `always`, per way of retrieving, to some scales. Models with fewer than
/// three measured scales are left out.
pub fn project(candidates: &[Candidate], quantity: Quantity, scales: &[u32]) -> Vec<Projection> {
    let mut lines: Vec<(&Candidate, Vec<(f64, f64)>)> = Vec::new();
    for candidate in candidates {
        let Some(value) = candidate.value(quantity) else {
            continue;
        };
        if candidate.condition.n == 0 || candidate.policy != "always" {
            continue;
        }
        let is_it = |(first, _): &&mut (&Candidate, Vec<(f64, f64)>)| {
            first.model == candidate.model
                && first.condition.retrieval == candidate.condition.retrieval
        };
        let point = (f64::from(candidate.condition.n).ln(), value);
        match lines.iter_mut().find(is_it) {
            Some((_, points)) => points.push(point),
            None => lines.push((candidate, vec![point])),
        }
    }
    let projected = lines.into_iter().filter_map(|(first, mut points)| {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let line = Line::through(&points).filter(|_| points.len() >= LEAST)?;
        let held_out = (points.len() / 3).max(1);
        let (fitted, rest) = points.split_at(points.len() - held_out);
        let before = Line::through(fitted)?;
        let errors: Vec<f64> = rest
            .iter()
            .map(|(x, y)| (before.at(*x) - y).abs())
            .collect();
        Some(Projection {
            name: first
                .name
                .replacen(&format!("@{}", first.condition.n), "", 1),
            quantity,
            at_one: line.at(0.0),
            slope: line.slope,
            held_out_error: mean(&errors)?,
            expected: scales
                .iter()
                .map(|&n| (n, line.at(f64::from(n).ln()).clamp(0.0, 1.0)))
                .collect(),
        })
    });
    projected.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::candidates_of_table;
    use crate::study::{Curve, Scores};

    fn curve(scales: &[u32], em: impl Fn(u32) -> f64) -> Curve {
        let scores = |n: u32| Scores { em: em(n), f1: 0.0 };
        Curve {
            dataset: "d".to_owned(),
            model: "s".to_owned(),
            parameters: 1,
            scores: scales.iter().map(|&n| (n, scores(n))).collect(),
        }
    }

    #[test]
    fn a_line_is_found_and_goes_on() {
        let exact = curve(&[0, 1, 2, 4, 8, 12], |n| {
            0.2 + 0.05 * f64::from(n.max(1)).ln()
        });
        let found = project(
            &candidates_of_table(&[exact], "d"),
            Quantity::Em,
            &[100, 1_000_000_000],
        );
        assert_eq!(found.len(), 1);
        assert!((found[0].slope - 0.05).abs() < 1e-9 && found[0].held_out_error < 1e-9);
        assert!((found[0].expected[0].1 - (0.2 + 0.05 * 100_f64.ln())).abs() < 1e-9);
        assert_eq!(found[0].expected[1].1, 1.0, "no share exceeds 1");
    }

    #[test]
    fn what_saturates_shows_in_the_error() {
        let saturating = curve(&[1, 2, 4, 8, 16, 32], |n| {
            0.2 + 0.1 * f64::from(n.min(4)).ln()
        });
        let found = project(
            &candidates_of_table(&[saturating], "d"),
            Quantity::Em,
            &[64],
        );
        assert!(found[0].held_out_error > 0.05, "{found:?}");
        let short = curve(&[1, 2], |_| 0.5);
        assert!(project(&candidates_of_table(&[short], "d"), Quantity::Em, &[64]).is_empty());
    }
}

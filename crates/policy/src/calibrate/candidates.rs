//! The thresholds to choose among, with the effect of each. A sum over all questions for every candidate would take time
//! quadratic in their number, so if one signal decides, the differences between candidates are summed up.

use super::isotonic::Block;
use super::observation::{Observation, Tally};
use crate::choice::Decision;
use crate::{Abstention, Policy, Rule, Signal};

/// The most values to choose each of two thresholds from, with about as many questions between any two.
const QUANTILES: usize = 50;

/// The most borders between values of k.
const BORDERS: usize = 50;

/// A value for each threshold to be chosen, in the order of the doors; `None` leaves a door open.
pub(super) type Values = [Option<f64>; 4];

/// Thresholds and their effect on the questions that they are chosen on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) values: Values,
    pub(super) tally: Tally,
}

/// A policy and an abstention, some of whose thresholds are still to be chosen.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) policy: Policy,
    pub(super) abstain: Option<Signal>,
    /// Search results of always retrieving; 1 if the policy does not choose k.
    pub(super) always_k: usize,
}

impl Open {
    /// Whether two signals decide, each with a threshold of its own.
    fn is_of_two(&self) -> bool {
        let Policy { retrieve, keep, .. } = self.policy;
        self.abstain.is_some() || retrieve.signal().is_some() && keep.signal().is_some()
    }

    /// Whether raising the one threshold spares ever more questions, and so never loses less.
    pub(super) fn is_monotone(&self) -> bool {
        !self.is_of_two() && !self.policy.is_graded() && self.policy.keep != Rule::Settled
    }

    /// The policy and the abstention with these thresholds.
    pub(super) fn at(&self, values: Values) -> (Policy, Option<Abstention>) {
        let mut policy = self.policy;
        if policy.is_graded() {
            let thresholds: Vec<f64> = values.into_iter().flatten().collect();
            return (policy.at(&thresholds).unwrap_or(Policy::ALWAYS), None);
        }
        let mut values = values.into_iter();
        for rule in [&mut policy.retrieve, &mut policy.keep] {
            if let (true, Some(signal)) = (rule.is_open(), rule.signal()) {
                let value = values.next().flatten();
                *rule = value.map_or(Rule::Always, |value| Rule::above(signal, Some(value)));
            }
        }
        if policy.retrieve == Rule::Always && policy.keep == Rule::Settled {
            policy.keep = Rule::Always;
        }
        let abstain = self.abstain.zip(values.next().flatten());
        let abstain = abstain.map(|(signal, value)| Abstention {
            signal,
            threshold: Some(value),
        });
        (policy, abstain)
    }

    /// The effect of thresholds on some questions.
    pub(super) fn tally(&self, values: Values, observations: &[Observation]) -> Tally {
        let (policy, abstain) = self.at(values);
        Tally::of(&policy, abstain, observations, self.always_k)
    }

    /// All candidates, from those that spare least. `all`: the questions whose quantiles two signals are chosen from;
    /// `observations`: those that the candidates are judged on. `blocks`: the probability that memory is right, by the
    /// signal of a policy that chooses k.
    pub(super) fn candidates(
        &self,
        observations: &[Observation],
        all: &[Observation],
        blocks: &[Block],
    ) -> Vec<Candidate> {
        if self.policy.is_graded() {
            self.of_borders(observations, &borders(blocks))
        } else if self.is_of_two() {
            self.of_pairs(observations, all)
        } else {
            self.of_one(observations)
        }
    }

    /// Pairs of quantiles of both signals.
    fn of_pairs(&self, observations: &[Observation], all: &[Observation]) -> Vec<Candidate> {
        let Policy { retrieve, keep, .. } = self.policy;
        let of = |is_open: bool, number: fn(&Observation) -> f64| match is_open {
            true => quantiles(all.iter().map(number).collect()),
            false => vec![None],
        };
        let of_question = of(retrieve.is_open(), |case| case.question);
        let of_review = of(self.abstain.is_some() || keep.is_open(), |case| case.review);
        let pair = |question, review| {
            if retrieve.is_open() {
                [question, review, None, None]
            } else {
                [review, None, None, None]
            }
        };
        let pairs = of_question.iter().flat_map(|question| {
            let pair = move |review: &Option<f64>| pair(*question, *review);
            of_review.iter().map(pair)
        });
        pairs
            .map(|values| Candidate {
                values,
                tally: self.tally(values, observations),
            })
            .collect()
    }

    /// No threshold, and every value at which the decision on some question changes.
    fn of_one(&self, observations: &[Observation]) -> Vec<Candidate> {
        let Policy { retrieve, keep, .. } = self.policy;
        // The thresholds at which the decision on a question changes.
        let changes = |case: &Observation| {
            let question = Some(case.question).filter(|_| retrieve.is_open());
            let review = Some(case.review).filter(|_| keep != Rule::Always);
            let mut changes: Vec<f64> = question.into_iter().chain(review).collect();
            changes.retain(|score| score.is_finite());
            changes.sort_by(f64::total_cmp);
            changes
        };
        let mut thresholds: Vec<f64> = observations.iter().flat_map(changes).collect();
        thresholds.sort_by(f64::total_cmp);
        thresholds.dedup();
        let values = |threshold| [Some(threshold), None, None, None];
        let mut differences = vec![Tally::default(); thresholds.len() + 1];
        for case in observations {
            let tally = |threshold| self.tally(values(threshold), std::slice::from_ref(case));
            let mut before = tally(f64::NEG_INFINITY);
            differences[0] = differences[0].plus(before, 1.0);
            for change in changes(case) {
                let index = thresholds.partition_point(|threshold| *threshold < change);
                let after = tally(change);
                differences[index] = differences[index].plus(after, 1.0).plus(before, -1.0);
                before = after;
            }
        }
        let open = Candidate {
            values: [None; 4],
            tally: self.tally([None; 4], observations),
        };
        let mut sum = Tally::default();
        let of_each = thresholds.into_iter().zip(differences);
        let of_each = of_each.map(|(threshold, difference)| {
            sum = sum.plus(difference, 1.0);
            Candidate {
                values: values(threshold),
                tally: sum,
            }
        });
        std::iter::once(open).chain(of_each).collect()
    }

    /// All thresholds in ascending order out of the borders.
    fn of_borders(&self, observations: &[Observation], borders: &[f64]) -> Vec<Candidate> {
        let ks = self.policy.ks.values();
        // The effect of each k on the questions up to each border, and on all: `[ks][borders + 1]`.
        let up_to = |k: usize, border: f64| {
            let within = observations
                .iter()
                .filter(|case| case.question <= border || border == f64::INFINITY);
            let decision = match k {
                0 => Decision::Spared,
                k => Decision::Kept(Some(k)),
            };
            within.fold(Tally::default(), |sum, case| {
                let tally = Tally::one(&self.policy, case, decision, true, self.always_k);
                sum.plus(tally, 1.0)
            })
        };
        let ends = borders.iter().copied().chain([f64::INFINITY]);
        let sums: Vec<Vec<Tally>> = ks
            .iter()
            .map(|&k| ends.clone().map(|end| up_to(k, end)).collect())
            .collect();
        let Some((last, others)) = sums.split_last() else {
            return Vec::new();
        };
        let mut all = vec![(Vec::new(), Tally::default())];
        for sums in others {
            let longer = all
                .iter()
                .flat_map(|(indices, tally): &(Vec<usize>, Tally)| {
                    let from = indices.last().copied();
                    (from.unwrap_or(0)..borders.len()).map(move |to| {
                        let before = from.map(|from| sums[from]).unwrap_or_default();
                        let tally = tally.plus(sums[to], 1.0).plus(before, -1.0);
                        ([&indices[..], &[to]].concat(), tally)
                    })
                });
            all = longer.collect();
        }
        let candidate = |(indices, tally): (Vec<usize>, Tally)| {
            let from = indices.last().copied().unwrap_or_default();
            let mut values = [None; 4];
            for (value, index) in values.iter_mut().zip(indices) {
                *value = Some(borders[index]);
            }
            let tally = tally.plus(last[borders.len()], 1.0).plus(last[from], -1.0);
            Candidate { values, tally }
        };
        all.into_iter().map(candidate).collect()
    }
}

/// `None`, and values of a signal with about as many questions between any two.
fn quantiles(mut scores: Vec<f64>) -> Vec<Option<f64>> {
    scores.retain(|score| score.is_finite());
    scores.sort_by(f64::total_cmp);
    let last = scores.len().saturating_sub(1);
    let indices = (0..QUANTILES).map(|quantile| quantile * last / (QUANTILES - 1));
    let values = indices.filter_map(|index| scores.get(index).copied());
    let mut all: Vec<Option<f64>> = std::iter::once(None).chain(values.map(Some)).collect();
    all.dedup();
    all
}

/// The thresholds between values of k: negative infinity, and the end of each block.
pub(super) fn borders(blocks: &[Block]) -> Vec<f64> {
    let count = blocks.len().min(BORDERS);
    // Of too many, those at even distances, with the last.
    let kept = (1..=count).map(|border| blocks[border * blocks.len() / count - 1].up_to);
    std::iter::once(f64::NEG_INFINITY).chain(kept).collect()
}

//! The thresholds that a policy is compared at: those given, or the best on other questions.

use ken_answer::Policy;
use ken_policy::{
    Goal, GradedObservation, Grades, JointObservation, Observation, Review, calibrate,
    calibrate_double, calibrate_graded, calibrate_jointly,
};
use serde::Serialize;

use super::compose::{Answered, Decision, decide};
use crate::split::half;
use crate::statistics::number;

/// The thresholds of a signal; numbers above them have the corpus used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Thresholds {
    /// One for all questions.
    Given(f64),
    /// For each half of the questions the one that is best on the other half, so that no question
    /// has a say in its own; `None` where everything has to be above it.
    OfOtherHalf([Option<f64>; 2]),
}

impl Thresholds {
    /// The threshold for a question of a half; `None` where everything has to be above it.
    fn of(self, half: usize) -> Option<f64> {
        match self {
            Self::Given(threshold) => Some(threshold),
            Self::OfOtherHalf(thresholds) => thresholds[half],
        }
    }
}

/// The thresholds between several values of k.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum GradeThresholds {
    /// The same for all questions.
    Given(Grades),
    /// For each half of the questions those that are best on the other half; `None` where everything has to
    /// retrieve as always.
    OfOtherHalf([Option<Grades>; 2]),
}

/// The thresholds of both signals of a policy on one half; `None` where everything has to be above one.
type Pair = (Option<f64>, Option<f64>);

/// The thresholds of a policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Cut {
    /// Of its signal; `None` of a policy without one.
    pub threshold: Option<Thresholds>,
    /// Of the signal of the evidence where that reviews what another signal had retrieved.
    pub evidence_threshold: Option<Thresholds>,
    /// Between the values of k of a policy that chooses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grades: Option<GradeThresholds>,
}

impl Cut {
    /// The policy with its thresholds for a question of a half.
    pub(super) fn at(self, policy: Policy, half: usize) -> Policy {
        let (signal, review) = match (policy, self.grades) {
            (Policy::Measured { signal, review, .. }, _) => (signal, review),
            (Policy::Graded { signal, .. }, Some(GradeThresholds::OfOtherHalf(halves))) => {
                let graded = halves[half].map(|grades| Policy::Graded { signal, grades });
                return graded.unwrap_or(Policy::Always);
            }
            _ => return policy,
        };
        let of = |thresholds: Option<Thresholds>| thresholds.and_then(|one| one.of(half));
        Policy::Measured {
            signal,
            threshold: of(self.threshold),
            review: match review {
                Review::Gate { signal, .. } => Review::Gate {
                    signal,
                    threshold: of(self.evidence_threshold),
                },
                other => other,
            },
        }
    }
}

/// The thresholds of a policy, those that nobody gives by cross-fitting: chosen for a goal on each half of
/// the questions for the other.
pub(super) fn cut(policy: Policy, answered: &[Answered<'_>], halves: &[usize], goal: Goal) -> Cut {
    let of_other_half = |half: usize| -> Vec<&Answered<'_>> {
        let others = answered.iter().zip(halves);
        let others = others.filter(|(_, other)| **other != half);
        others.map(|(one, _)| one).collect()
    };
    let (threshold, review) = match policy {
        Policy::Measured {
            threshold, review, ..
        } => (threshold, review),
        Policy::Graded { grades, .. } => {
            let chosen = |half| graded(policy, grades, &of_other_half(half), goal);
            return Cut {
                grades: Some(match grades.thresholds() {
                    Some(_) => GradeThresholds::Given(grades),
                    None => GradeThresholds::OfOtherHalf([chosen(0), chosen(1)]),
                }),
                ..Cut::default()
            };
        }
        _ => return Cut::default(),
    };
    let is_gate = matches!(review, Review::Gate { .. });
    let given = match review {
        Review::Gate {
            threshold: gate, ..
        } => (threshold, gate),
        _ => (threshold, None),
    };
    let on_other = |half: usize| chosen(policy, given, &of_other_half(half), goal);
    let pairs = match given {
        (Some(_), Some(_)) => [given; 2],
        (Some(_), None) if !is_gate => [given; 2],
        _ => [on_other(0), on_other(1)],
    };
    let thresholds = |given: Option<f64>, of: fn(Pair) -> Option<f64>| {
        given.map_or_else(|| Thresholds::OfOtherHalf(pairs.map(of)), Thresholds::Given)
    };
    Cut {
        threshold: Some(thresholds(given.0, |pair| pair.0)),
        evidence_threshold: is_gate.then(|| thresholds(given.1, |pair| pair.1)),
        grades: None,
    }
}

/// The policy without any thresholds, so that all are chosen.
pub(super) fn uncut(policy: Policy) -> Policy {
    match policy {
        Policy::Graded { signal, grades } => Policy::Graded {
            signal,
            grades: grades.open(),
        },
        _ => Cut::default().at(policy, 0),
    }
}

/// The best thresholds between values of k on some questions; `None` where no thresholds reach the goal.
fn graded(
    policy: Policy,
    grades: Grades,
    answered: &[&Answered<'_>],
    goal: Goal,
) -> Option<Grades> {
    let observations = answered.iter().map(|one| {
        let right = grades.ks().iter().map(|&k| match k {
            0 => number(one.never.em),
            k => number(one.after(Decision::Kept(Some(k))).em),
        });
        GradedObservation {
            score: one.score(policy).unwrap_or(f64::NAN),
            memory: number(one.never.em),
            right: right.collect(),
            always: number(one.always.em),
            second_half: false,
        }
    });
    let observations: Vec<GradedObservation> = observations.collect();
    calibrate_graded(&observations, grades, grades.most(), goal).grades
}

/// The best thresholds on some questions.
fn chosen(policy: Policy, given: Pair, answered: &[&Answered<'_>], goal: Goal) -> Pair {
    let right = |one: &Answered<'_>| (number(one.never.em), number(one.always.em));
    let review = match policy {
        Policy::Measured { review, .. } => review,
        _ => Review::Nothing,
    };
    if matches!(review, Review::Gate { .. } | Review::Double) {
        let each = answered.iter().map(|one| {
            let (without, with) = right(one);
            JointObservation {
                question: one.score(policy).unwrap_or(f64::NAN),
                evidence: one.review_score(policy).unwrap_or(f64::NAN),
                without,
                with,
                second_half: false,
            }
        });
        let each: Vec<JointObservation> = each.collect();
        let best = match review {
            Review::Double => calibrate_double(&each, goal),
            _ => calibrate_jointly(&each, given, goal),
        };
        return (best.question, best.evidence);
    }
    let each = answered.iter().filter_map(|one| {
        let (without, with) = right(one);
        Some(Observation {
            score: one.score(policy)?,
            without,
            with,
        })
    });
    let best = calibrate(&each.collect::<Vec<_>>(), goal);
    (best.threshold, None)
}

/// What a policy at its thresholds decides for each question.
pub(super) fn decisions(
    policy: Policy,
    cut: Cut,
    answered: &[Answered<'_>],
    seed: u64,
) -> Vec<Decision> {
    let each = answered.iter();
    each.map(|one| decide(cut.at(policy, half(seed, one.subject)), seed, one))
        .collect()
}

/// The half that each question belongs to.
pub(super) fn halves(answered: &[Answered<'_>], seed: u64) -> Vec<usize> {
    let each = answered.iter().map(|one| half(seed, one.subject));
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Signals;
    use crate::record::Record;
    use ken_answer::{Measurements, Rating};
    use ken_probe::Sample;

    fn answer(em: bool) -> Record {
        Record {
            em,
            ..Record::default()
        }
    }

    fn signals(judgment: f64, cosine: f64) -> Signals {
        Signals {
            without: Measurements {
                judgment: Some(judgment),
                ..Measurements::default()
            },
            with: Measurements {
                rating: Some(Rating {
                    cosine,
                    lead: 0.0,
                    bm25: 0.0,
                    bm25_lead: 0.0,
                    agreement: 0.0,
                }),
                ..Measurements::default()
            },
            ..Signals::default()
        }
    }

    #[test]
    fn where_double_judgment_has_to_search_for_all_what_is_found_is_used() {
        // What evidence answers right looks certain before, and unsure after.
        let (never, always) = (answer(false), answer(true));
        let drafted = |surprise: f64| Measurements {
            draft: Some(Sample {
                logprob: Some(-surprise),
                tokens: 1,
                ..Sample::default()
            }),
            ..Measurements::default()
        };
        let signals = Signals {
            without: drafted(0.0),
            with: drafted(9.0),
            ..Signals::default()
        };
        let answered = [Answered {
            never: &never,
            always: &always,
            at_k: &[],
            signals: Some(&signals),
            subject: "",
        }];
        let policy = uncut("uncertainty:perplexity+double".parse().unwrap());
        let refs: Vec<&Answered<'_>> = answered.iter().collect();
        let goal = Goal::AtMostMissed(0.0);
        assert_eq!(chosen(policy, (None, None), &refs, goal), (None, None));
        let decided = decisions(policy, Cut::default(), &answered, 0);
        assert_eq!(decided, [Decision::Kept(None)]);
    }

    #[test]
    fn each_half_is_cut_by_the_other() {
        // Known and needed questions by their judgment, evidence that misleads by its cosine.
        let rows = [
            (0.1, 0.9, true, true),
            (0.6, 0.9, false, true),
            (0.7, 0.2, true, false),
            (0.2, 0.8, true, true),
            (0.8, 0.7, false, true),
            (0.9, 0.3, true, false),
        ];
        let answers: Vec<(Record, Record, Signals)> = rows
            .iter()
            .map(|&(judgment, cosine, never, always)| {
                (answer(never), answer(always), signals(judgment, cosine))
            })
            .collect();
        let answered: Vec<Answered<'_>> = answers
            .iter()
            .map(|(never, always, signals)| Answered {
                never,
                always,
                at_k: &[],
                signals: Some(signals),
                subject: "",
            })
            .collect();
        let halves = [0, 0, 0, 1, 1, 1];
        let policy = uncut("prompt+evidence:cosine".parse().unwrap());
        let both = cut(policy, &answered, &halves, Goal::BestAccuracy);
        // Those of the first half come from the second.
        let between = |thresholds: Option<Thresholds>, half: usize, low: f64, high: f64| {
            let threshold = thresholds.unwrap().of(half).unwrap();
            assert!((low..high).contains(&threshold), "{threshold}");
        };
        between(both.threshold, 0, 0.2, 0.8);
        between(both.threshold, 1, 0.1, 0.6);
        between(both.evidence_threshold, 0, 0.3, 0.7);
        between(both.evidence_threshold, 1, 0.2, 0.9);
        let given = cut(
            "prompt@0.4+evidence:cosine".parse().unwrap(),
            &answered,
            &halves,
            Goal::BestAccuracy,
        );
        assert_eq!(given.threshold, Some(Thresholds::Given(0.4)));
        let alone = cut(
            "prompt".parse().unwrap(),
            &answered,
            &halves,
            Goal::BestAccuracy,
        );
        assert_eq!(alone.threshold, Some(Thresholds::Given(0.5)));
        assert_eq!(alone.evidence_threshold, None);
        let none = cut(Policy::Always, &answered, &halves, Goal::BestAccuracy);
        assert_eq!(none, Cut::default());
    }
}

//! The thresholds that a policy is compared at: given ones, or the best on other questions.

use ken_policy::{Decision, Goal, Observation, Policy, Rule, calibrate};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::compose::{Answered, decide};
use crate::split::half;
use crate::statistics::number;

/// The thresholds of a signal; the corpus is used for scores above them.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Thresholds {
    /// One for all questions.
    Given(f64),
    /// For each half of the questions, the best threshold on the other half, so that no question influences its own;
    /// `None` if no score is high enough.
    OfOtherHalf([Option<f64>; 2]),
}

/// The thresholds between values of k.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum GradeThresholds {
    /// One for all questions.
    Given(Grades),
    /// For each half of the questions, the best on the other half; `None` if everything retrieves as always.
    OfOtherHalf([Option<Grades>; 2]),
}

/// A policy that chooses k, as its values of k and the thresholds between them; infinite thresholds are null.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grades(Policy);

impl Serialize for Grades {
    fn serialize<To: Serializer>(&self, to: To) -> Result<To::Ok, To::Error> {
        let mut fields = to.serialize_struct("Grades", 2)?;
        fields.serialize_field("ks", self.0.ks.values())?;
        fields.serialize_field(
            "thresholds",
            self.0.retrieve.thresholds().unwrap_or_default(),
        )?;
        fields.end()
    }
}

/// The thresholds of a policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Cut {
    /// Of its signal; `None` for a policy without one.
    pub threshold: Option<Thresholds>,
    /// Of the signal that reviews evidence, if another signal decides about retrieving.
    pub evidence_threshold: Option<Thresholds>,
    /// Between the values of k of a policy that chooses k.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grades: Option<GradeThresholds>,
    /// The policy with these thresholds, for each half of the questions.
    #[serde(skip)]
    halves: Option<[Policy; 2]>,
}

impl Cut {
    /// The policy with its thresholds for a question of a half.
    pub(super) fn at(self, policy: Policy, half: usize) -> Policy {
        self.halves.map_or(policy, |halves| halves[half])
    }
}

/// The thresholds of a policy. Those that are not given are cross-fitted: chosen for a goal on each half of the
/// questions, and used on the other half.
pub(super) fn cut(policy: Policy, answered: &[Answered<'_>], halves: &[usize], goal: Goal) -> Cut {
    if policy.signal().is_none() {
        return Cut::default();
    }
    let is_open = policy.retrieve.is_open() || policy.keep.is_open();
    let of_half = |half: usize| {
        let others = answered.iter().zip(halves);
        let others = others.filter(|(_, other)| **other != half);
        let others: Vec<&Answered<'_>> = others.map(|(answered, _)| answered).collect();
        if is_open {
            chosen(policy, &others, goal)
        } else {
            policy
        }
    };
    let halves = [of_half(0), of_half(1)];
    let thresholds = |door: fn(&Policy) -> Rule| {
        door(&policy).signal().filter(|_| !policy.is_graded())?;
        let given = door(&policy).threshold();
        let of_halves = || Thresholds::OfOtherHalf(halves.map(|policy| door(&policy).threshold()));
        Some(given.map_or_else(of_halves, Thresholds::Given))
    };
    let graded = |policy: Policy| policy.is_graded().then_some(Grades(policy));
    let grades = graded(policy).map(|given| match is_open {
        true => GradeThresholds::OfOtherHalf(halves.map(graded)),
        false => GradeThresholds::Given(given),
    });
    Cut {
        threshold: thresholds(|policy| policy.retrieve),
        evidence_threshold: thresholds(|policy| policy.keep),
        grades,
        halves: Some(halves),
    }
}

/// A policy with the best thresholds on some questions.
fn chosen(policy: Policy, answered: &[&Answered<'_>], goal: Goal) -> Policy {
    let observations = observations(policy, answered);
    let always_k = policy.most_k().unwrap_or_default();
    calibrate(&policy, None, always_k, &observations, goal).policy
}

/// A policy with the thresholds that are best for a goal on all these questions, for use on others; given thresholds
/// stay. If no retrieval can be saved, the policy `always`.
pub(crate) fn settled(policy: Policy, goal: Goal, answered: &[Answered<'_>]) -> Policy {
    if !policy.retrieve.is_open() && !policy.keep.is_open() {
        return policy;
    }
    let all: Vec<&Answered<'_>> = answered.iter().collect();
    let chosen = chosen(policy, &all, goal);
    match chosen.check() {
        Ok(()) => chosen,
        Err(_) => Policy::ALWAYS,
    }
}

/// The observations that the thresholds of a policy are chosen on.
pub(crate) fn observations(policy: Policy, answered: &[&Answered<'_>]) -> Vec<Observation> {
    let right_at = |question: &Answered<'_>, k: usize| match k {
        0 => question.never.is_right(),
        k => question.after(Decision::Kept(Some(k))).is_right(),
    };
    let ks = policy.ks.values();
    // With a single threshold, questions without a score are ignored.
    let is_of_one = policy.searches_by().is_none() || policy.reviews_by().is_none();
    let observations = answered.iter().map(|question| Observation {
        question: question.score(policy).unwrap_or(f64::NAN),
        review: question.review_score(policy).unwrap_or(f64::NAN),
        memory: number(question.never.is_right()),
        always: number(question.always.is_right()),
        at_k: ks.iter().map(|&k| number(right_at(question, k))).collect(),
        second_half: false,
    });
    observations
        .filter(|observation| policy.is_graded() || !is_of_one || !observation.question.is_nan())
        .collect()
}

/// The decision of a policy at its thresholds for each question.
pub(super) fn decisions(
    policy: Policy,
    cut: Cut,
    answered: &[Answered<'_>],
    seed: u64,
) -> Vec<Decision> {
    let decided = answered
        .iter()
        .map(|q| decide(cut.at(policy, half(seed, q.subject)), seed, q));
    decided.collect()
}

/// The half of each question.
pub(super) fn halves(answered: &[Answered<'_>], seed: u64) -> Vec<usize> {
    let halves = answered.iter().map(|question| half(seed, question.subject));
    halves.collect()
}

#[cfg(test)]
mod tests {
    use ken_testing::{has, with};

    use super::*;
    use crate::compare::Signals;
    use crate::record::Record;
    use ken_answer::{Measurements, Rating};
    use ken_probe::Sample;

    fn answer(em: bool) -> Record {
        with!(Record::default(), em: em)
    }

    fn signals(judgment: f64, cosine: f64) -> Signals {
        Signals {
            without: with!(Measurements::default(), judgment: Some(judgment)),
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
        // The model is sure before and unsure after reading the evidence that makes it right.
        let (never, always) = (answer(false), answer(true));
        let drafted = |surprise: f64| {
            with!(Measurements::default(),
                greedy: Some(with!(Sample::default(), logprob: Some(-surprise), tokens: 1)))
        };
        let signals = with!(Signals::default(), without: drafted(0.0), with: drafted(9.0));
        let answered = [Answered::new(&never, &always, Some(&signals), "")];
        let policy: Policy = "uncertainty:perplexity+double".parse().unwrap();
        let refs: Vec<&Answered<'_>> = answered.iter().collect();
        let goal = Goal::AtMostMissed(0.0);
        assert_eq!(chosen(policy, &refs, goal), Policy::ALWAYS);
        let decided = decisions(policy, Cut::default(), &answered, 0);
        assert_eq!(decided, [Decision::Kept(None)]);
    }

    #[test]
    fn each_half_is_cut_by_the_other() {
        // Known and needed questions differ in their judgment, misleading evidence in its cosine.
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
            .map(|(never, always, signals)| Answered::new(never, always, Some(signals), ""))
            .collect();
        let halves = [0, 0, 0, 1, 1, 1];
        let policy = "prompt+evidence:cosine".parse::<Policy>().unwrap().open();
        let both = cut(policy, &answered, &halves, Goal::BestAccuracy);
        // The thresholds of the first half come from the second.
        let between = |thresholds: Option<Thresholds>, half: usize, low: f64, high: f64| {
            let Some(Thresholds::OfOtherHalf(thresholds)) = thresholds else {
                panic!("{thresholds:?}");
            };
            let threshold = thresholds[half].unwrap();
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
        has!(alone, threshold: Some(Thresholds::Given(0.5)), evidence_threshold: None);
        let none = cut(Policy::ALWAYS, &answered, &halves, Goal::BestAccuracy);
        assert_eq!(none, Cut::default());
    }
}

//! Thresholds against exhaustive searches, and guarantees against simulations with a known truth.

use proptest::prelude::*;

mod abstaining;
mod double;
mod graded;
mod two_signals;

use super::candidates::{Candidate, Open};
use super::{Calibration, Goal, Observation, Tally, blocks, calibrate};
use crate::{Policy, Signal};

fn calibrated(observations: &[Observation], goal: Goal) -> Calibration {
    let policy = Policy::above(Signal::PERPLEXITY, None);
    calibrate(&policy, None, 0, observations, goal)
}

fn guarantee(max_loss: f64, confidence: f64) -> Goal {
    Goal::Guarantee {
        max_loss,
        confidence,
    }
}

/// What a policy that leaves thresholds open chooses among.
fn candidates(policy: Policy, observations: &[Observation]) -> Vec<Candidate> {
    let open = Open {
        policy,
        abstain: None,
        always_k: 1,
    };
    open.candidates(observations, observations, &[])
}

/// Questions with signals of few values, so that many are equal, and some that tell nothing.
fn drawn(seed: u64, ks: usize) -> Vec<Observation> {
    let mut state = seed;
    let each = (0..8 + seed as usize % 40).map(|_| {
        let mut bit = |chance: f64| f64::from(u8::from(ken_random::unit(&mut state) < chance));
        let (memory, always) = (bit(0.4), bit(0.7));
        let fewer: Vec<f64> = (1..ks).map(|_| bit(0.6)).collect();
        let mut score = |helps: f64| match ken_random::unit(&mut state) {
            none if none < 0.08 => f64::NAN,
            _ => ((ken_random::unit(&mut state) + 0.5 * helps) * 8.0).round() / 8.0,
        };
        Observation {
            question: score(1.0 - memory),
            review: score(always),
            memory,
            always,
            at_k: std::iter::once(memory).chain(fewer).take(ks).collect(),
            second_half: false,
        }
    });
    each.collect()
}

/// The sums of all candidates, of every shape, are those of deciding question by question.
#[test]
fn every_candidate_does_what_is_said_of_it() {
    let shapes = [
        ("uncertainty:perplexity", None),
        ("uncertainty:perplexity", Some(Signal::CERTAINTY)),
        ("uncertainty:perplexity", Some(Signal::EVIDENCE_CONFIDENCE)),
        ("evidence:cosine", None),
        ("uncertainty:perplexity+evidence:cosine", None),
        ("uncertainty:perplexity@0.5+evidence:cosine", None),
        ("uncertainty:perplexity+evidence:cosine@0.5", None),
        ("uncertainty:perplexity+double", None),
        ("uncertainty:perplexity:0:1:8", None),
        ("uncertainty:perplexity:0:2", None),
    ];
    for (text, abstain) in shapes {
        let policy: Policy = text.parse().unwrap();
        let always_k = if policy.is_graded() { 8 } else { 1 };
        let open = Open {
            policy,
            abstain,
            always_k,
        };
        for seed in 0..100 {
            let observations = drawn(seed, policy.ks.values().len());
            let candidates = open.candidates(&observations, &observations, &blocks(&observations));
            assert!(candidates.len() > 1, "{text}");
            for one in candidates {
                let (policy, abstain) = open.at(one.values);
                let tally = Tally::of(&policy, abstain, &observations, always_k);
                assert_eq!(one.tally, tally, "{text} {policy}");
            }
        }
    }
}

/// Pseudo-random numbers in `[0, 1)`.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        ken_random::unit(&mut self.0)
    }
}

/// A question of a simulation in which skipping retrieval at score s loses with probability s³.
fn question(noise: &mut Noise, partly: bool) -> Observation {
    let score = noise.next();
    let is_lost = noise.next() < score.powi(3);
    let loss = match (is_lost, partly) {
        (false, _) => 0.0,
        (true, false) => 1.0,
        (true, true) => noise.next(),
    };
    Observation::of(score, 1.0 - loss, 1.0)
}

/// The true mean loss of a threshold in that simulation.
fn true_loss(threshold: Option<f64>, partly: bool) -> f64 {
    let chance = threshold.map_or(0.0, |at| at.powi(4) / 4.0);
    if partly { chance / 2.0 } else { chance }
}

#[test]
fn a_guarantee_holds_as_often_as_stated_and_still_saves_retrievals() {
    let goal = guarantee(0.05, 0.9);
    for partly in [false, true] {
        let mut noise = Noise(7 + u64::from(partly));
        let (mut broken, mut saved, runs) = (0, 0.0, 1000);
        for _ in 0..runs {
            let questions: Vec<_> = (0..300).map(|_| question(&mut noise, partly)).collect();
            let chosen = calibrated(&questions, goal);
            broken += usize::from(true_loss(chosen.policy.threshold(), partly) > 0.05);
            saved += 1.0 - chosen.retrieval_ratio();
            assert!(chosen.bound <= 0.05 + 1e-5);
        }
        // 100 on average; three standard deviations are 28.
        assert!(broken <= 128, "{partly}: broken {broken} of {runs}");
        // An oracle threshold would save 0.67 (whole losses) and 0.8 (partial losses).
        let saved = saved / f64::from(runs);
        let least = if partly { 0.6 } else { 0.55 };
        assert!(saved > least, "{partly}: saved {saved}");
    }
}

#[test]
fn an_unreachable_guarantee_reports_the_questions_needed() {
    let goal = guarantee(0.02, 0.95);
    let sure = |n: usize| -> Vec<Observation> {
        let one = |i| Observation::of(i as f64, 1.0, 1.0);
        (0..n).map(one).collect()
    };
    let few = calibrated(&sure(20), goal);
    assert_eq!((few.policy.threshold(), few.retrieval_ratio()), (None, 1.0));
    // ln 0.05 / ln 0.98 = 148.3
    assert_eq!(few.needed, Some(149));
    let enough = calibrated(&sure(149), goal);
    assert_eq!(
        (enough.policy.threshold(), enough.retrieval_ratio()),
        (Some(148.0), 0.0)
    );
    assert_eq!(enough.needed, None);

    let hopeless = vec![Observation::of(0.0, 0.0, 1.0); 50];
    let never = calibrated(&hopeless, goal);
    assert_eq!((never.policy.threshold(), never.needed), (None, None));
}

#[test]
fn infinite_scores_and_nan_retrieve() {
    for score in [f64::NAN, f64::INFINITY] {
        let broken = Observation::of(score, 1.0, 0.0);
        let fine = Observation::of(0.3, 1.0, 0.0);
        let chosen = calibrated(&[broken, fine], Goal::BestAccuracy);
        assert_eq!(
            (chosen.policy.threshold(), chosen.retrieval_ratio()),
            (Some(0.3), 0.5)
        );
    }
    let none = calibrated(&[], Goal::BestAccuracy);
    assert_eq!((none.policy.threshold(), none.questions), (None, 0));
}

fn observations() -> impl Strategy<Value = Vec<Observation>> {
    let share = || (0u8..5).prop_map(|x| f64::from(x) / 4.0);
    let one = (0u8..12, share(), share())
        .prop_map(|(score, without, with)| Observation::of(f64::from(score), without, with));
    prop::collection::vec(one, 1..60)
}

/// The effect of a threshold, computed question by question.
fn plain(questions: &[Observation], threshold: Option<f64>) -> (f64, f64, f64) {
    let n = questions.len() as f64;
    let retrieves = |one: &&Observation| threshold.is_none_or(|at| one.question > at);
    let ratio = questions.iter().filter(retrieves).count() as f64 / n;
    let (mut accuracy, mut loss) = (0.0, 0.0);
    for one in questions {
        if retrieves(&one) {
            accuracy += one.always;
        } else {
            accuracy += one.memory;
            loss += (one.always - one.memory).max(0.0);
        }
    }
    (ratio, accuracy / n, loss / n)
}

proptest! {
    #[test]
    fn every_goal_matches_an_exhaustive_search(
        questions in observations(),
        ratio in 0.0f64..1.0,
        max_loss in 0.01f64..0.5,
    ) {
        let thresholds: Vec<Option<f64>> = std::iter::once(None)
            .chain(questions.iter().map(|one| Some(one.question)))
            .collect();
        let all: Vec<_> = thresholds.iter().map(|&at| plain(&questions, at)).collect();

        let best = calibrated(&questions, Goal::BestAccuracy);
        let most = all.iter().map(|one| one.1).fold(0.0, f64::max);
        prop_assert!((best.accuracy() - most).abs() < 1e-9);
        let fewest = all.iter().filter(|one| one.1 > most - 1e-9).map(|one| one.0);
        prop_assert_eq!(best.retrieval_ratio(), fewest.fold(1.0, f64::min));

        let least = calibrated(&questions, Goal::RetrievalRatio(ratio));
        let met = all.iter().map(|one| one.0).filter(|&r| r <= ratio + 1e-9);
        prop_assert_eq!(least.retrieval_ratio(), met.fold(0.0, f64::max));

        let lossless = calibrated(&questions, Goal::AtMostLost(max_loss));
        let always = plain(&questions, None).1;
        let met = all.iter().filter(|one| one.1 >= always - max_loss - 1e-9);
        prop_assert_eq!(lossless.retrieval_ratio(), met.map(|one| one.0).fold(1.0, f64::min));

        // What is won elsewhere pays for nothing.
        let strict = calibrated(&questions, Goal::AtMostMissed(max_loss));
        let beneficial = questions.iter().map(|one| (one.always - one.memory).max(0.0));
        let most = max_loss * beneficial.sum::<f64>() / questions.len() as f64;
        let met = all.iter().filter(|one| one.2 <= most + 1e-9);
        prop_assert_eq!(strict.retrieval_ratio(), met.map(|one| one.0).fold(1.0, f64::min));

        let goal = Goal::Guarantee { max_loss, confidence: 0.9 };
        let guaranteed = calibrated(&questions, goal);
        for chosen in [&best, &least, &lossless, &strict, &guaranteed] {
            let (ratio, accuracy, loss) = plain(&questions, chosen.policy.threshold());
            prop_assert!((chosen.retrieval_ratio() - ratio).abs() < 1e-9);
            prop_assert!((chosen.accuracy() - accuracy).abs() < 1e-9);
            prop_assert!((chosen.loss() - loss).abs() < 1e-9);
            prop_assert!(chosen.bound >= loss - 1e-9);
        }
        prop_assert!(guaranteed.bound <= max_loss + 1e-5);
        prop_assert!(guaranteed.loss() <= max_loss);
    }
}

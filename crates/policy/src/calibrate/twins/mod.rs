//! Five plain calibrators, one for each shape of policy, that the one for all of them is held against.
#![allow(dead_code, unreachable_pub)]

mod abstaining;
mod double;
mod graded;
mod grades;
mod jointly;
mod sequence;
mod threshold;

use ken_random::unit;

use super::{Calibration, Goal, calibrate};
use crate::{Observation, Policy, Signal};

const GOALS: [Goal; 9] = [
    Goal::BestAccuracy,
    Goal::RetrievalRatio(0.0),
    Goal::RetrievalRatio(0.3),
    Goal::AtMostLost(0.0),
    Goal::AtMostLost(0.1),
    Goal::AtMostMissed(0.2),
    Goal::Guarantee {
        max_loss: 0.5,
        confidence: 0.8,
    },
    Goal::Guarantee {
        max_loss: 0.3,
        confidence: 0.6,
    },
    Goal::Guarantee {
        max_loss: 0.02,
        confidence: 0.95,
    },
];

/// Questions with signals of few values, so that many are equal, and some that tell nothing.
fn drawn(seed: u64, ks: usize) -> Vec<Observation> {
    let mut state = seed;
    let count = 8 + seed as usize % 40;
    let each = (0..count).map(|_| {
        let mut bit = |chance: f64| f64::from(u8::from(unit(&mut state) < chance));
        let (memory, always) = (bit(0.4), bit(0.7));
        let at_k = (0..ks)
            .map(|k| if k == 0 { memory } else { bit(0.6) })
            .collect();
        let mut score = |helps: f64| match unit(&mut state) {
            none if none < 0.08 => f64::NAN,
            _ => ((unit(&mut state) + 0.5 * helps) * 8.0).round() / 8.0,
        };
        Observation {
            question: score(1.0 - memory),
            review: score(always),
            memory,
            always,
            at_k,
            second_half: unit(&mut state) < 0.5,
        }
    });
    each.collect()
}

fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

fn pairs(observations: &[Observation]) -> Vec<jointly::JointObservation> {
    let pair = |one: &Observation| jointly::JointObservation {
        question: one.question,
        evidence: one.review,
        without: one.memory,
        with: one.always,
        second_half: one.second_half,
    };
    observations.iter().map(pair).collect()
}

fn agrees(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-12
}

#[test]
fn one_threshold_is_that_of_its_twin() {
    for seed in 0..500 {
        for (signal, of_evidence) in [("uncertainty:perplexity", false), ("evidence:cosine", true)]
        {
            let observations = drawn(seed, 0);
            let twins: Vec<_> = observations
                .iter()
                .map(|one| threshold::Observation {
                    score: if of_evidence {
                        one.review
                    } else {
                        one.question
                    },
                    without: one.memory,
                    with: one.always,
                })
                .collect();
            for goal in GOALS {
                let found = calibrate(&policy(signal), None, 5, &observations, goal);
                let twin = threshold::calibrate(&twins, goal);
                let context = format!("{seed} {signal} {goal:?}: {found:?} {twin:?}");
                assert_eq!(found.policy.threshold(), twin.threshold, "{context}");
                assert!(
                    agrees(found.evidence_ratio(), twin.retrieval_ratio),
                    "{context}"
                );
                assert!(agrees(found.loss(), twin.loss), "{context}");
                assert!(agrees(found.bound, twin.loss_bound), "{context}");
                assert!(agrees(found.accuracy(), twin.accuracy), "{context}");
                assert_eq!(
                    (found.questions, found.needed),
                    (twin.questions, twin.needed),
                    "{context}"
                );
            }
        }
    }
}

#[test]
fn two_thresholds_are_those_of_their_twin() {
    let texts = [
        ("uncertainty:perplexity+evidence:cosine", (None, None)),
        (
            "uncertainty:perplexity@0.5+evidence:cosine",
            (Some(0.5), None),
        ),
        (
            "uncertainty:perplexity+evidence:cosine@0.5",
            (None, Some(0.5)),
        ),
        ("uncertainty:perplexity+double", (None, None)),
    ];
    for seed in 0..500 {
        let observations = drawn(seed, 0);
        let twins = pairs(&observations);
        for (text, given) in texts {
            for goal in GOALS {
                let found = calibrate(&policy(text), None, 5, &observations, goal);
                let twin = if text.ends_with("double") {
                    double::calibrate_double(&twins, goal)
                } else {
                    jointly::calibrate_jointly(&twins, given, goal)
                };
                let Policy { retrieve, keep, .. } = found.policy;
                let context = format!("{seed} {text} {goal:?}: {found:?} {twin:?}");
                if matches!(goal, Goal::Guarantee { .. }) && !found.is_met && given != (None, None)
                {
                    continue;
                }
                assert_eq!(retrieve.threshold(), twin.question, "{context}");
                assert_eq!(keep.threshold(), twin.evidence, "{context}");
                assert!(
                    agrees(found.retrieval_ratio(), twin.retrieval_ratio),
                    "{context}"
                );
                assert!(
                    agrees(found.evidence_ratio(), twin.evidence_ratio),
                    "{context}"
                );
                assert!(agrees(found.loss(), twin.loss), "{context}");
                assert!(agrees(found.bound, twin.loss_bound), "{context}");
                assert!(agrees(found.accuracy(), twin.accuracy), "{context}");
                assert_eq!(found.questions, twin.questions, "{context}");
            }
        }
    }
}

#[test]
fn thresholds_between_values_of_k_are_those_of_their_twin() {
    for seed in 0..500 {
        for ks in [&[0_usize, 1, 8][..], &[0, 2], &[1, 3, 5, 8]] {
            let observations = drawn(seed, ks.len());
            let twins: Vec<_> = observations
                .iter()
                .map(|one| graded::GradedObservation {
                    score: one.question,
                    memory: one.memory,
                    right: one.at_k.clone(),
                    always: one.always,
                    second_half: one.second_half,
                })
                .collect();
            let grades = grades::Grades::new(ks).unwrap();
            let text = format!("uncertainty:perplexity{grades}");
            for goal in GOALS {
                let found = calibrate(&policy(&text), None, 8, &observations, goal);
                let twin = graded::calibrate_graded(&twins, grades, 8, goal);
                let context = format!("{seed} {text} {goal:?}: {found:?} {twin:?}");
                let thresholds = twin.grades.as_ref().and_then(|grades| grades.thresholds());
                assert_eq!(found.policy.retrieve.thresholds(), thresholds, "{context}");
                assert_eq!(found.is_met, twin.grades.is_some(), "{context}");
                assert!(
                    agrees(found.mean(found.tally.results), twin.mean_k),
                    "{context}"
                );
                assert!(
                    agrees(found.retrieval_ratio(), twin.retrieval_ratio),
                    "{context}"
                );
                assert!(agrees(found.loss(), twin.loss), "{context}");
                assert!(agrees(found.bound, twin.loss_bound), "{context}");
                assert!(agrees(found.accuracy(), twin.accuracy), "{context}");
                assert!(agrees(found.always, twin.always), "{context}");
                assert_eq!(found.questions, twin.questions, "{context}");
                let of_twin = twin
                    .each
                    .iter()
                    .map(|one| (one.k, one.least_probability, one.share));
                let own = found
                    .each_k
                    .iter()
                    .map(|one| (one.k, one.least_probability, one.share));
                assert!(own.eq(of_twin), "{context}");
                let of_twin = twin
                    .each
                    .iter()
                    .map(|one| (one.memory, one.accuracy, one.always));
                let own = found
                    .each_k
                    .iter()
                    .map(|one| (one.memory, one.accuracy, one.always));
                assert!(own.eq(of_twin), "{context}");
            }
        }
    }
}

#[test]
fn what_is_withheld_is_what_the_twin_withholds() {
    let mut kept = 0;
    for seed in 0..500 {
        for signal in [Signal::EVIDENCE_CONFIDENCE, Signal::PERPLEXITY] {
            for (max_error, confidence) in [(0.5, 0.7), (0.2, 0.8), (0.01, 0.95)] {
                let observations = drawn(seed, 0);
                let twins: Vec<_> = pairs(&observations)
                    .into_iter()
                    .map(|one| abstaining::AbstentionObservation {
                        question: one.question,
                        answer: one.evidence,
                        without: one.without,
                        with: one.with,
                        second_half: one.second_half,
                    })
                    .collect();
                let above = signal.weighs_evidence();
                let twin = abstaining::ErrorGoal {
                    max_error,
                    confidence,
                    above,
                };
                let twin = abstaining::calibrate_abstention(&twins, twin);
                let goal = Goal::Errors {
                    max_error,
                    confidence,
                };
                let found: Calibration =
                    calibrate(&policy("certainty"), Some(signal), 5, &observations, goal);
                let context = format!("{seed} {signal} {goal:?}: {found:?} {twin:?}");
                assert_eq!(found.is_met, twin.is_some(), "{context}");
                let Some(twin) = twin else { continue };
                kept += 1;
                assert_eq!(found.policy.threshold(), twin.question, "{context}");
                let answer = found.abstain.and_then(|abstain| abstain.threshold);
                assert_eq!(answer, twin.answer, "{context}");
                assert!(agrees(found.coverage(), twin.coverage), "{context}");
                assert!(agrees(found.from_memory(), twin.from_memory), "{context}");
                assert!(agrees(found.error(), twin.error), "{context}");
                assert!(agrees(found.bound, twin.error_bound), "{context}");
                assert_eq!(
                    found.right_abstentions(),
                    twin.right_abstentions,
                    "{context}"
                );
                assert_eq!(found.questions, twin.questions, "{context}");
            }
        }
    }
    assert!(kept > 500, "{kept}");
}

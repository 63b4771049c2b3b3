//! The file of a guarantee, and the bound of disagreement in it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use ken_policy::{Guarantee, GuaranteeFileError, Ranks, disagreement_bound};
use ken_testing::{guarantee, guarantee_of_answers, with};

#[test]
fn the_bound_of_disagreement_holds_whatever_threshold_is_chosen() {
    // Scores are uniform, and answers differ with the probability of the score. Of each sample the threshold
    // is taken at which its share lies farthest below the true one, which is half of its square.
    let questions = 200;
    let missed = (0..1000_u64).filter(|&seed| {
        let mut state = seed;
        let mut differing: Vec<f64> = (0..questions)
            .filter_map(|_| {
                let score = ken_random::unit(&mut state);
                (ken_random::unit(&mut state) < score).then_some(score)
            })
            .collect();
        differing.sort_by(f64::total_cmp);
        let thresholds = differing.iter().enumerate();
        thresholds
            .map(|(below, threshold)| (below, threshold * threshold / 2.0))
            .any(|(below, truth)| disagreement_bound(below, questions, 0.9) < truth)
    });
    let missed = missed.count();
    assert!((1..=100).contains(&missed), "{missed} of 1000");
    assert_eq!(disagreement_bound(3, 3, 0.95), 1.0);
    assert_eq!(disagreement_bound(0, 0, 0.95), 1.0);
}

#[test]
fn a_guarantee_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.json");
    let scored = with!(guarantee("m", "c"),
        scores: Ranks::of((0..400).map(|score| f64::from(score % 7) / 7.0), 3));
    let of_answers = |abstain| guarantee_of_answers("m", "c", abstain);
    for guarantee in [
        guarantee("m", "c"),
        scored,
        of_answers(None),
        of_answers(Some("evidence:confidence@-0.4")),
    ] {
        guarantee.write(&path).unwrap();
        assert_eq!(Guarantee::read(&path).unwrap(), guarantee);
    }
}

#[test]
fn other_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.json");
    assert!(matches!(
        Guarantee::read(&path),
        Err(GuaranteeFileError::File { .. })
    ));
    guarantee("m", "c").write(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    for other in [
        String::new(),
        "{}".to_owned(),
        text.replace("ken-guarantee", "ken-head"),
        text.replace("\"version\": 1", "\"version\": 2"),
        text.replace("max_loss", "loss"),
    ] {
        fs::write(&path, other).unwrap();
        let error = Guarantee::read(&path).unwrap_err();
        assert!(error.to_string().contains("g.json"), "{error}");
    }
}

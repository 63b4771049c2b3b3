//! Signals and the policies that decide by them, by name.

use ken_route::{CannotChoose, Source};

use super::*;
use crate::Policy;

/// The reference has a row for each signal, in this order, and no other.
#[test]
fn the_reference_says_what_the_definitions_say() {
    let reference = std::fs::read_to_string("../../docs/reference/cli.md").unwrap();
    let row = |signal: &Signal| {
        let range = if signal.is_share { "0 to 1" } else { "any" };
        let default = signal.threshold.map(|given| match signal.is_recorded {
            true => format!(", {given} by default if training chose none"),
            false => format!(", {given} by default"),
        });
        let double = if signal.with_evidence { "yes" } else { "no" };
        let Definition {
            name,
            measures,
            needs,
            ..
        } = &**signal;
        let (costs, default) = (signal.costs(), default.unwrap_or_default());
        format!("| `{name}` | {measures} | {range}{default} | {double} | {costs} | {needs} |\n")
    };
    let rows: String = Signal::ALL.iter().map(row).collect();
    let table = format!("|---|---|---|---|---|---|\n{rows}\n");
    assert!(
        reference.contains(&table),
        "docs/reference/cli.md should have\n{table}"
    );
}

#[test]
fn signals_read_back() {
    for signal in Signal::ALL {
        assert_eq!(signal.to_string().parse(), Ok(*signal));
    }
    let error = "entropy".parse::<Signal>().unwrap_err();
    assert!(error.to_string().contains("`entropy`"));
    assert!(error.to_string().contains("uncertainty:eigenscore"));
}

#[test]
fn names_read_back() {
    let policies = "always never oracle random:0.25 prompt prompt@0.3 certainty certainty@0.61 \
                    certainty@0.61+double uncertainty:eigenscore@-3.5 router router@0.4 self-route \
                    self-route@0.1 certainty@0.61+relative evidence:cosine evidence:bm25@12.5 \
                    evidence:gate uncertainty:perplexity@1.5+evidence:gain@-0.1 \
                    prompt+evidence:gate router@0.4+evidence:gate@0.6 certainty+evidence:cosine";
    for text in policies.split(' ') {
        let policy: Policy = text.parse().unwrap();
        assert_eq!(policy.to_string(), text);
    }
    assert_eq!("prompt@0.5".parse::<Policy>(), "prompt".parse());
}

#[test]
fn what_is_wrong_is_named() {
    for (text, part) in [
        ("sometimes", "`sometimes`"),
        ("random:2", "`2`"),
        ("random:", "``"),
        ("certainty@high", "`high`"),
        ("certainty@inf", "`inf`"),
        ("certainty@1.5", "from 0 to 1"),
        ("prompt@-1", "from 0 to 1"),
        ("self-route@1.01", "from 0 to 1"),
        ("uncertainty:perplexity@nan", "is not a threshold"),
        ("prompt+double", "cannot judge twice"),
        ("router@0.4+double", "cannot judge twice"),
        ("prompt+relative", "cannot judge twice"),
        ("evidence:cosine@0.5+double", "cannot judge twice"),
        (
            "certainty@0.5+prompt",
            "`prompt`, which is no signal of evidence",
        ),
        ("evidence:cosine+evidence:bm25", "no signal of evidence"),
        ("certainty@0.5+evidence:agreement@7", "from 0 to 1"),
    ] {
        let error = text.parse::<Policy>().unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

fn source(policy: &str, score: Option<f64>) -> Result<Source, CannotChoose> {
    let policy: Policy = policy.parse().unwrap();
    policy.choose(score).map(|choice| choice.source)
}

#[test]
fn fixed_policies_ignore_what_was_measured() {
    for score in [None, Some(0.0), Some(1.0)] {
        assert_eq!(source("always", score), Ok(Source::Corpus));
        assert_eq!(source("never", score), Ok(Source::SelfKnowledge));
    }
}

#[test]
fn what_is_above_the_threshold_retrieves() {
    assert_eq!(source("prompt", Some(0.5)), Ok(Source::SelfKnowledge));
    assert_eq!(source("prompt", Some(0.51)), Ok(Source::Corpus));
    assert_eq!(source("certainty@0.2", Some(0.3)), Ok(Source::Corpus));
    assert_eq!(
        source("certainty@0.3", Some(0.3)),
        Ok(Source::SelfKnowledge)
    );
    assert_eq!(source("certainty@0.3", Some(f64::NAN)), Ok(Source::Corpus));
    assert_eq!(source("random:0.3", Some(0.29)), Ok(Source::Corpus));
    assert_eq!(source("random:0", Some(0.0)), Ok(Source::SelfKnowledge));
}

#[test]
fn what_is_missing_is_told() {
    let kind = |policy, score| source(policy, score).unwrap_err().kind();
    assert_eq!(kind("prompt", None), "not_measured");
    assert_eq!(kind("random:0.5", None), "not_measured");
    assert_eq!(kind("oracle", Some(1.0)), "no_golden_answers");
    assert_eq!(kind("certainty", Some(1.0)), "no_threshold");
    let hint = |policy: Policy| policy.check().unwrap_err().remedy().unwrap().to_string();
    let once = hint(Policy::measured(Signal::CERTAINTY));
    assert!(once.contains("certainty@THRESHOLD"), "{once}");
    let twice = hint("certainty+double".parse().unwrap());
    assert!(twice.contains("`certainty@THRESHOLD+double`"), "{twice}");
    assert!(twice.contains("Calibrate(\"certainty+double\")"), "{twice}");
    let less = hint("certainty+relative".parse().unwrap());
    assert!(less.contains("Calibrate(\"certainty\")"), "{less}");
    let both = hint("certainty@0.4+evidence:cosine".parse().unwrap());
    assert!(
        both.contains("`certainty@0.4+evidence:cosine@THRESHOLD`"),
        "{both}"
    );
    assert!(
        both.contains("Calibrate(\"certainty+evidence:cosine\")"),
        "{both}"
    );
}

#[test]
fn evidence_is_kept_as_its_review_says() {
    let keeps = |policy: &str, without: f64, with: f64| {
        let policy: Policy = policy.parse().unwrap();
        let kept = policy.review(Some(without), Some(with)).unwrap().source == Source::Corpus;
        assert_eq!(kept, policy.keeps(Some(without), Some(with)));
        kept
    };
    // The verdict with the evidence alone counts, on its side of the threshold.
    assert!(keeps("certainty@0.4+double", 0.9, 0.4));
    assert!(!keeps("certainty@0.4+double", 0.9, 0.41));
    assert!(keeps("certainty@0.4+double", 0.1, 0.2));
    // The change counts alone.
    assert!(keeps("certainty@0.4+relative", 0.9, 0.8));
    assert!(!keeps("certainty@0.4+relative", 0.1, 0.2));
    assert!(!keeps("certainty@0.4+relative", 0.2, 0.2));
    // The signal of the evidence counts alone.
    assert!(keeps("evidence:cosine@0.5", 0.0, 0.51));
    assert!(!keeps("evidence:cosine@0.5", 0.9, 0.5));
    assert!(keeps("certainty@0.4+evidence:cosine@0.5", 0.9, f64::NAN));
    assert!(!keeps("certainty@0.4+evidence:cosine@0.5", 0.9, 0.2));
    assert!(keeps("always", 0.0, 0.0));
    let policy: Policy = "certainty@0.4+evidence:cosine@0.5".parse().unwrap();
    assert_eq!(
        policy.review(Some(0.9), None).unwrap_err().kind(),
        "not_measured"
    );
    let reason = policy.review(Some(0.9), Some(0.2)).unwrap().reason;
    assert_eq!(
        reason,
        "the similarity of the best passage, 0.200, is not above 0.5"
    );
}

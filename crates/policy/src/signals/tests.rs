//! Signals and the policies that decide by them, by name.

use std::time::Duration;

use ken_language::{Finish, FirstLine, Generation};
use ken_probe::{Lack, Sample};
use ken_testing::{cases, says, with};

use super::*;
use crate::{Abstention, CannotChoose, Policy, Rule, Source};

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
    says!(error.to_string() => "`entropy`", "uncertainty:eigenscore");
}

#[test]
fn names_read_back() {
    let policies = "always never oracle random:0.25 prompt prompt@0.3 certainty certainty@0.61 \
                    certainty@0.61+double uncertainty:eigenscore@-3.5 router router@0.4 self-route \
                    self-route@0.1 evidence:cosine evidence:bm25@12.5 \
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
    for (text, part) in cases![
        "sometimes" => "`sometimes`";
        "random:2" => "`2`";
        "random:" => "``";
        "certainty@high" => "`high`";
        "certainty@inf" => "`inf`";
        "certainty@1.5" => "from 0 to 1";
        "prompt@-1" => "from 0 to 1";
        "self-route@1.01" => "from 0 to 1";
        "uncertainty:perplexity@nan" => "is not a threshold";
        "prompt+double" => "cannot judge twice";
        "router@0.4+double" => "cannot judge twice";
        "certainty@0.61+relative" => "unknown policy";
        "evidence:cosine@0.5+double" => "cannot judge twice";
        "certainty@0.5+prompt" => "`prompt`, which is no signal of evidence";
        "evidence:cosine+evidence:bm25" => "no signal of evidence";
        "certainty@0.5+evidence:agreement@7" => "from 0 to 1";
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
    says!(twice => "`certainty@THRESHOLD+double`", "Calibrate(\"certainty+double\")");
    let both = hint("certainty@0.4+evidence:cosine".parse().unwrap());
    says!(both => "`certainty@0.4+evidence:cosine@THRESHOLD`", "Calibrate(\"certainty+evidence:cosine\")");
}

#[test]
fn evidence_is_kept_as_its_review_says() {
    let keeps = |policy: &str, with: f64| {
        let policy: Policy = policy.parse().unwrap();
        let kept = policy.review(Some(with)).unwrap().source == Source::Corpus;
        assert_eq!(kept, policy.keeps(Some(with)));
        kept
    };
    // The verdict with the evidence alone counts, on its side of the threshold.
    assert!(keeps("certainty@0.4+double", 0.4));
    assert!(!keeps("certainty@0.4+double", 0.41));
    assert!(keeps("certainty@0.4+double", 0.2));
    // The signal of the evidence counts alone.
    assert!(keeps("evidence:cosine@0.5", 0.51));
    assert!(!keeps("evidence:cosine@0.5", 0.5));
    assert!(keeps("certainty@0.4+evidence:cosine@0.5", f64::NAN));
    assert!(!keeps("certainty@0.4+evidence:cosine@0.5", 0.2));
    assert!(keeps("always", 0.0));
    let policy: Policy = "certainty@0.4+evidence:cosine@0.5".parse().unwrap();
    assert_eq!(policy.review(None).unwrap_err().kind(), "not_measured");
    let reason = policy.review(Some(0.2)).unwrap().reason;
    assert_eq!(
        reason,
        "the similarity of the best passage, 0.200, is not above 0.5"
    );
}

/// What a model may return in the place of an answer.
fn absent() -> Vec<(&'static str, Generation)> {
    let said = |text: &str, finish| Generation {
        text: text.to_owned(),
        refusal: (finish == Finish::Refused).then(|| "I cannot help with that.".to_owned()),
        tokens: 1,
        // It is sure of it.
        logprobs: Some(vec![0.0, 0.0]),
        entropies: Some(vec![0.0, 0.0]),
        margins: Some(vec![1.0, 1.0]),
        finish,
        prompt_tokens: 9,
        prompt_time: Duration::ZERO,
        write_time: Duration::ZERO,
    };
    let untold = |number: f32| {
        with!(said("", Finish::End), logprobs: Some(vec![number]),
            entropies: Some(vec![number]), margins: Some(vec![number]))
    };
    vec![
        ("nothing", said("", Finish::End)),
        ("white space", said(" \n\t ", Finish::End)),
        ("punctuation", said("...", Finish::StopString)),
        ("what is not seen", said("\u{200b}", Finish::End)),
        ("thoughts without end", said("", Finish::Length)),
        ("a filtered answer", said("owl", Finish::Filtered)),
        ("a refusal", said("", Finish::Refused)),
        ("a refusal beside a text", said("owl", Finish::Refused)),
        ("a call of a tool", said("", Finish::ToolCall)),
        ("NaN", untold(f32::NAN)),
        ("infinity", untold(f32::NEG_INFINITY)),
    ]
}

fn sample_of(written: &Generation) -> Sample {
    let mut line = FirstLine::default();
    line.take(&written.text);
    Sample::of(written, &line).unwrap()
}

/// All steps taken, of which none gave anything.
fn nothing_of(sample: &Sample) -> Measurements {
    let cost = Cost::of_model(1, 9, 1, 1.0);
    let steps = Signal::ALL
        .iter()
        .flat_map(|signal| signal.steps.iter().chain(signal.steps_of_review()).copied());
    Measurements {
        greedy: Some(sample.clone()),
        samples: vec![sample.clone(); 10],
        types: vec![0; 10],
        routed: Some(Routed {
            router: "r".to_owned(),
            need: None,
        }),
        chosen: Some(ChosenSource {
            datastore: None,
            need: None,
            corpus: "c".to_owned(),
        }),
        gated: Some(Gated {
            gate: "g".to_owned(),
            worth: None,
            reads_answer: true,
        }),
        costs: steps.map(|step| (step, cost)).collect(),
        ..Measurements::default()
    }
}

/// What nobody said is no agreement, for any signal and any way of saying nothing.
#[test]
fn what_is_absent_is_never_the_model_itself() {
    for (what, written) in absent() {
        let nothing = nothing_of(&sample_of(&written));
        for &signal in Signal::ALL {
            let name = format!("{signal} of {what}");
            // The threshold that everything is up to, or above.
            let [most, least] = match signal.is_share {
                true => [1.0, 0.0],
                false => [f64::MAX, f64::MIN],
            };
            let policy = |threshold| Policy::above(signal, Some(threshold));
            let reading = signal.review(&nothing, &nothing);
            assert_eq!(reading, Reading::CannotTell, "{name}");
            if signal.weighs_evidence() {
                let kept = policy(most).review(reading).unwrap();
                assert_eq!(kept.source, Source::Corpus, "{name}");
            } else {
                let choice = policy(most).choose(reading).unwrap();
                assert_eq!(choice.source, Source::Corpus, "{name}");
                says!(choice.reason => "cannot be told");
                assert_eq!(
                    policy(most).retrieves(reading.number()),
                    Some(true),
                    "{name}"
                );
            }
            if Abstention::can_use(signal) {
                let abstention = Abstention {
                    signal,
                    threshold: Some(if signal.weighs_evidence() {
                        least
                    } else {
                        most
                    }),
                };
                let (is_given, reason) = abstention.judge(reading).unwrap();
                assert!(
                    !is_given && reason.ends_with("so it is withheld"),
                    "{name}: {reason}"
                );
                assert!(!abstention.vouches(reading.number()), "{name}");
            }
            if signal.with_evidence {
                let twice = with!(policy(most), keep: Rule::Settled);
                let kept = twice.review(reading).unwrap();
                assert_eq!(kept.source, Source::Corpus, "{name}");
            }
        }
    }
}

/// The same where nothing but the answers, or nothing but the numbers, is missing.
#[test]
fn enough_samples_have_to_be_answers() {
    let mixed = |answers: usize| {
        let owl = with!(Sample::default(), text: "owl".to_owned(), logprob: Some(-0.1), tokens: 1);
        let mut samples = vec![owl; answers];
        samples.resize(10, Sample::default());
        with!(Measurements::default(), samples: samples,
            types: (0..10).map(|at| usize::from(at >= answers)).collect())
    };
    for signal in [
        Signal::CERTAINTY,
        Signal::SEMANTIC_ENTROPY,
        Signal::LEXICAL_SIMILARITY,
    ] {
        for answers in [0, 1, 4] {
            assert_eq!(
                signal.of(&mixed(answers)),
                Reading::CannotTell,
                "{signal} {answers}"
            );
        }
        // Of those that are left, all say the same.
        for answers in [5, 10] {
            assert_eq!(
                signal.of(&mixed(answers)),
                Reading::Number(0.0),
                "{signal} {answers}"
            );
        }
        assert_eq!(signal.of(&Measurements::default()), Reading::NotMeasured);
    }
    // Lines that were all cut off have no end to agree on, and their tokens tell something.
    let cut = with!(Sample::default(), text: "the owl of the".to_owned(), logprob: Some(-1.0), tokens: 4,
        lack: Some(Lack::CutOff));
    let cut = with!(Measurements::default(), greedy: Some(cut.clone()), samples: vec![cut; 10],
        types: vec![0; 10]);
    for signal in [Signal::CERTAINTY, Signal::SEQUENCE_PROBABILITY] {
        assert_eq!(signal.of(&cut), Reading::CannotTell, "{signal}");
    }
    assert!(Signal::PERPLEXITY.of(&cut).number().is_some());
}

#[test]
fn one_answer_without_its_log_probabilities_is_not_a_model_without_any() {
    let measured = with!(Measurements::default(),
        greedy: Some(with!(Sample::default(), text: "owl".to_owned(), tokens: 1)));
    let reading = Signal::PERPLEXITY.of(&measured);
    assert_eq!(reading, Reading::NotMeasured);
    assert_eq!(
        Signal::PERPLEXITY.where_reported(reading),
        Reading::CannotTell
    );
    let reading = Signal::JUDGMENT.of(&measured);
    assert_eq!(
        Signal::JUDGMENT.where_reported(reading),
        Reading::NotMeasured
    );
}

/// A memory that says nothing takes nothing from what is sure with the evidence.
#[test]
fn an_empty_memory_has_no_lead_over_the_evidence() {
    let absent = absent();
    let [nothing, said] =
        [&absent[0].1, &absent[1].1].map(|written| nothing_of(&sample_of(written)));
    let answered = with!(said.clone(), greedy: said.greedy.map(|answer| with!(answer, text: "owl".to_owned(), lack: None)));
    let assurance = |without, with| Signal::EVIDENCE_ASSURANCE.review(without, with);
    assert_eq!(assurance(&nothing, &answered), Reading::Number(0.0));
    assert_eq!(assurance(&answered, &nothing), Reading::CannotTell);
    let stated = |refusal| {
        let answered = with!(answered.clone(), refusal: refusal);
        Signal::EVIDENCE_STATED
            .review(&nothing, &answered)
            .number()
            .unwrap()
    };
    assert_eq!(stated(None), 0.0);
    assert!((stated(Some(-3.0))).abs() < 1e-12);
    assert!((stated(Some(-1.0)) + 0.2).abs() < 1e-12);
}

/// What is kept of a signal that cannot tell is read again as that.
#[test]
fn what_cannot_tell_is_kept() {
    for (what, written) in absent() {
        let nothing = nothing_of(&sample_of(&written));
        let text = serde_json::to_string(&nothing).unwrap();
        let read: Measurements = serde_json::from_str(&text).unwrap();
        assert_eq!(read, nothing, "{what}");
    }
}

//! Abstaining on a model and a corpus with known contents: thresholds are chosen on probed questions, and on other
//! questions the pipeline keeps the promise.

use ken_answer::{Pipeline, Policy, Signal};
use ken_eval::{Observed, ProbeRecord, Question, answer_scores, observe, signal_scores, summarize};
use ken_policy::{Goal, calibrate};
use ken_random::unit;
use ken_testing::{Fact, FnEmbedder, holds};
use tempfile::TempDir;

use crate::fixture::{in_folder, live, probed, questions_of, with_facts};

const QUESTIONS: usize = 720;
const BATCH: usize = 60;
const GOAL: Goal = Goal::Errors {
    max_error: 0.1,
    confidence: 0.9,
};

/// The kinds of questions: known to the model, stated by the corpus, or neither, with only a look-alike in the
/// corpus.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Known,
    Told,
    Nowhere,
}

fn kind(number: usize) -> Kind {
    [Kind::Known, Kind::Told, Kind::Nowhere][number % 3]
}

fn facts() -> Vec<Fact> {
    let mut state = 5;
    let questions = (0..QUESTIONS).map(|number| {
        let drawn = unit(&mut state);
        Fact {
            question: format!("who was born in house number{number}?"),
            answer: format!("Dweller{number}"),
            wrong: ["Vera Lund", "Odo Finch", "Per Holm"]
                .map(str::to_owned)
                .to_vec(),
            // Sure and unsure ones of each kind, so that no threshold separates them without errors.
            known: match kind(number) {
                Kind::Known => 0.4 + 0.6 * drawn,
                Kind::Told | Kind::Nowhere => 0.2 * drawn,
            },
            copied: if kind(number) == Kind::Told {
                0.4 + 0.6 * drawn
            } else {
                0.0
            },
            misled: if kind(number) == Kind::Nowhere {
                drawn
            } else {
                0.0
            },
        }
    });
    questions.collect()
}

fn pipeline(folder: &TempDir) -> Pipeline {
    let text = |number: usize, fact: &Fact| {
        let dweller = match kind(number) {
            Kind::Told => fact.answer.as_str(),
            Kind::Known | Kind::Nowhere => "Nobody of note",
        };
        format!("{dweller} was born in house number{number}.")
    };
    with_facts(folder, facts(), text, FnEmbedder::blind())
}

/// The questions of one half by their numbers, in threes with one of each kind.
fn half(second: bool) -> Vec<Question> {
    let all = questions_of(&facts()).into_iter().enumerate();
    let own = all.filter(|(number, _)| (number / 3 % 2 == 1) == second);
    own.map(|(_, question)| question).collect()
}

fn share_of(records: &[ken_eval::Record], of: Kind, is: impl Fn(&ken_eval::Record) -> bool) -> f64 {
    let number = |record: &ken_eval::Record| record.id[1..].parse::<usize>().unwrap();
    let own: Vec<bool> = records
        .iter()
        .filter(|record| kind(number(record)) == of)
        .map(is)
        .collect();
    own.iter().filter(|outcome| **outcome).count() as f64 / own.len() as f64
}

fn scores(records: &[ProbeRecord], question: Signal, answer: Signal) -> [Vec<Option<f64>>; 2] {
    [
        signal_scores(records, question, 10).unwrap(),
        answer_scores(records, answer, 10).unwrap(),
    ]
}

#[test]
fn other_questions_keep_what_was_promised_and_nowhere_questions_are_left() {
    let (_folder, mut pipeline) = in_folder(pipeline);
    let records = probed(&pipeline, &half(false), 10, BATCH);
    for (question, answer) in [
        (Signal::PERPLEXITY, Signal::EVIDENCE_CONFIDENCE),
        (Signal::PERPLEXITY, Signal::PERPLEXITY),
        (Signal::CERTAINTY, Signal::CERTAINTY),
    ] {
        let [of_question, of_answer] = scores(&records, question, answer);
        let scored = (question, of_question.as_slice());
        let observed = observe(&records, scored, Some((answer, &of_answer)), (&[], 0), 3).unwrap();
        let Observed {
            observations,
            left_out,
        } = observed;
        assert_eq!((observations.len(), left_out), (QUESTIONS / 2, 0));
        let policy = Policy::above(question, None);
        let calibrated = calibrate(&policy, Some(answer), 0, &observations, GOAL);
        holds!("{question} {answer}: {calibrated:?}" =>
            calibrated.is_met && calibrated.bound <= 0.1);

        pipeline.settings.abstain = calibrated.abstain;
        let policy = calibrated.policy;
        holds!("{calibrated:?}" => policy.threshold().is_some() && calibrated.abstain.is_some());
        let answers = live(&mut pipeline, policy, &half(true), BATCH);
        let summary = summarize(&policy.to_string(), &answers);
        // The promise is about the mean over all such questions; these 360 are a sample of them.
        holds!("{question} {answer}: {summary:?}" =>
            summary.answered_wrong.unwrap() < 0.14,
            summary.answered.unwrap() > 0.3);
        let withheld = |kind| share_of(&answers, kind, |record| record.withheld.is_some());
        let [known, told, nowhere] = [Kind::Known, Kind::Told, Kind::Nowhere].map(withheld);
        holds!("{question} {answer}: {known} {told} {nowhere}" =>
            nowhere > 0.7 && known.max(told) < nowhere - 0.1);
        // Always answering, a third of the answers are wrong.
        pipeline.settings.abstain = None;
        let always = live(&mut pipeline, Policy::ALWAYS, &half(true), BATCH);
        let always = summarize("always", &always).answered_wrong.unwrap();
        assert!(always > summary.answered_wrong.unwrap() + 0.1, "{always}");
    }
}

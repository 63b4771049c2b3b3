//! Multiple-choice questions through the whole pipeline: answered, compared, calibrated and labeled for routers with
//! their choices.

use std::ops::ControlFlow;

use ken_answer::{Pipeline, Policy, QuestionPrompt, Signal, Style, prompt};
use ken_eval::{Question, observe, signal_scores, summarize};
use ken_lab::heads::Target;
use ken_lab::heads::router::router_labels;
use ken_testing::{Fact, FnEmbedder, TableModel, has};
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::{compared, in_folder, live, policies, probed, signals, with_corpus};

const QUESTIONS: usize = 20;
const BATCH: usize = 6;

/// Half is known, by letter or in other words for the same choice; the rest is in the corpus.
fn facts() -> Vec<Fact> {
    let facts = (0..QUESTIONS).map(|number| Fact {
        question: format!("which bird sings number{number}?"),
        answer: "B".to_owned(),
        wrong: vec!["b. the wren".to_owned(), "A".to_owned()],
        known: if number % 2 == 0 { 0.9 } else { 0.0 },
        copied: 1.0,
        misled: 0.0,
    });
    facts.collect()
}

fn questions() -> Vec<Question> {
    let questions = facts().into_iter().enumerate().map(|(number, fact)| {
        // Letters and texts are both golden answers.
        let golden = if number % 3 == 0 { "B" } else { "the wren" };
        let value = json!({"id": format!("q{number}"), "question": fact.question,
            "golden_answers": [golden], "choices": ["the trout", "the wren", "the carp"]});
        serde_json::from_value(value).unwrap()
    });
    questions.collect()
}

fn pipeline(folder: &TempDir) -> Pipeline {
    let passages: Vec<(String, String)> = (0..QUESTIONS)
        .map(|number| {
            let text = format!("Of the birds that sing number{number} it is B.");
            (format!("d{number}"), text)
        })
        .collect();
    let model = TableModel::new(facts()).unwrap();
    with_corpus(folder, model, &passages, FnEmbedder::blind())
}

#[test]
fn what_is_put_together_is_what_the_pipeline_answers() {
    let (folder, mut pipeline) = in_folder(pipeline);
    pipeline.settings.abstain = Some("uncertainty:perplexity@1.6".parse().unwrap());
    let policies = policies(
        "never,always,prompt@0.4,certainty@0.5,uncertainty:perplexity@1.5,\
         uncertainty:perplexity@1.2+double,evidence:gain@0.1",
    );
    let questions = questions();
    let comparison = compared(&folder, &mut pipeline, &policies, &questions, &[], BATCH);
    for (&policy, put_together) in policies.iter().zip(&comparison.policies) {
        let answers = live(&mut pipeline, policy, &questions, BATCH);
        let mut done = summarize(&policy.to_string(), &answers);
        let summary = put_together.summary.clone();
        done.latency_ms = summary.latency_ms.clone();
        assert_eq!(summary, done, "{policy}");
    }
}

#[test]
fn an_answer_is_right_by_the_choice_that_it_names() {
    let (_folder, mut pipeline) = in_folder(pipeline);
    let always = live(&mut pipeline, Policy::ALWAYS, &questions(), BATCH);
    assert!(
        always
            .iter()
            .all(|record| record.em && record.contains && record.f1 == 1.0)
    );
    let never = live(&mut pipeline, Policy::NEVER, &questions(), BATCH);
    for (number, record) in never.iter().enumerate() {
        assert_eq!(record.choices.len(), 3);
        let names_right = record.answer.to_lowercase().starts_with('b');
        assert_eq!(record.em, names_right, "{number}: {}", record.answer);
    }

    // The choices are shown in either style, and returned with the answer.
    pipeline.settings.policy = Policy::NEVER;
    pipeline.settings.style = Style::Full;
    let question = &questions()[0];
    let go_on = &mut |_: ken_answer::Event<'_>| ControlFlow::Continue(());
    let answer = pipeline.answer(question.prompt(), go_on).unwrap();
    let shown = prompt::from_memory(question.prompt());
    // The table counts the words of the part that differs between prompts.
    has!(answer, tokens.prompt: shown.input.split_whitespace().count(), style: Style::Short,
        choice: Some('B'), choices: question.choices);
    let open = pipeline.answer(question.question.as_str(), go_on).unwrap();
    assert_eq!((open.style, open.choice), (Style::Full, None));
}

#[test]
fn what_was_probed_is_what_policies_measure() {
    let (folder, pipeline) = in_folder(pipeline);
    let questions = questions();
    let records = probed(&pipeline, &questions, 10, BATCH);
    let wanted = policies("certainty,uncertainty:perplexity+double,prompt");
    let fresh = signals(&folder, &pipeline, &wanted, &questions, &[], BATCH);
    let other = tempfile::tempdir().unwrap();
    let known = signals(&other, &pipeline, &wanted, &questions, &records, BATCH);
    for ((fresh, known), record) in fresh.iter().zip(&known).zip(&records) {
        let drawn = record.samples.from_self.as_ref().unwrap();
        let drawn: Vec<&str> = drawn.iter().map(|sample| sample.text.as_str()).collect();
        let kept = known.without.samples.iter();
        let kept: Vec<&str> = kept.map(|sample| sample.text.as_str()).collect();
        assert_eq!(kept, drawn, "what was probed is not sampled again");
        for measured in [fresh, known] {
            assert_eq!(measured.choices.len(), 3);
            // In other words it is the same choice.
            let samples = measured.without.types.iter().zip(&measured.without.samples);
            let of_b = samples.filter(|(_, sample)| sample.text.to_lowercase().starts_with('b'));
            let mut types: Vec<usize> = of_b.map(|(of, _)| *of).collect();
            types.dedup();
            assert!(types.len() <= 1, "{types:?}");
        }
    }

    let scores = signal_scores(&records, Signal::CERTAINTY, 10).unwrap();
    let observed = observe(&records, (Signal::CERTAINTY, &scores), None, (&[], 0), 0).unwrap();
    assert_eq!(observed.observations.len(), QUESTIONS);
    assert!(
        observed
            .observations
            .iter()
            .all(|observation| observation.always == 1.0)
    );
    let labels = router_labels(&records, Target::Mastery).unwrap();
    let asked = labels.questions();
    let same = |(asked, question): (&QuestionPrompt<'_>, &Question)| {
        asked.choices == question.choices.as_slice()
    };
    assert!(asked.iter().zip(&questions).all(same));
    let mastered = labels
        .labels
        .iter()
        .filter(|label| label.mastered == Some(true))
        .count();
    assert!(mastered >= QUESTIONS / 2, "{mastered}");
}

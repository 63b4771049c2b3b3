//! Documents first, on a model with a known boundary: an answer that it reads, one that it knows, and neither.

use std::ops::ControlFlow;

use ken_answer::{Answer, Event, Memory, Pipeline, Policy, Style};
use ken_index::Mode;
use ken_policy::Source;
use ken_testing::{Fact, FnEmbedder, cases, has, holds, says};
use tempfile::TempDir;

use crate::fixture::{in_folder, with_facts};

const READ: &str = "who is Mara of the mill?";
const KNOWN: &str = "who is Odo of the orchard?";
const NEITHER: &str = "who is Ute of the umbra?";

/// A model that copies one answer from its passage, knows another, and guesses a third.
fn pipeline(folder: &TempDir) -> Pipeline {
    pipeline_with(folder, FnEmbedder::blind())
}

fn pipeline_with(folder: &TempDir, embedder: FnEmbedder) -> Pipeline {
    let fact = |question: &str, answer: &str, known, copied, misled| Fact {
        question: question.to_owned(),
        answer: answer.to_owned(),
        wrong: ('a'..='l').map(|wrong| format!("Wrong{wrong}")).collect(),
        known,
        copied,
        misled,
    };
    let facts = vec![
        fact(READ, "Miller", 0.1, 1.0, 0.0),
        fact(KNOWN, "Gardener", 1.0, 0.0, 0.5),
        fact(NEITHER, "Dreamer", 0.2, 0.0, 0.0),
    ];
    let text = |_: usize, fact: &Fact| match fact.question.as_str() {
        READ => "Miller is Mara of the mill.".to_owned(),
        question => format!("Nobody says {question}"),
    };
    let mut pipeline = with_facts(folder, facts, text, embedder);
    pipeline.settings.policy = Policy::DOCUMENTS;
    pipeline
}

fn ask(pipeline: &Pipeline, question: &str) -> Answer {
    let mut seen = String::new();
    let answer = pipeline.answer(question, &mut |event| {
        if let Event::Text(text) = event {
            seen.push_str(text);
        }
        ControlFlow::Continue(())
    });
    let answer = answer.unwrap();
    assert_eq!(seen, answer.answer, "what is seen is what is answered");
    answer
}

#[test]
fn what_is_read_comes_before_what_is_known_and_that_before_nothing() {
    let (_folder, mut pipeline) = in_folder(pipeline);
    for (style, expected) in [
        (Style::Short, "Gardener"),
        (Style::Full, "From memory, not from the documents: Gardener"),
    ] {
        pipeline.settings.style = style;
        let read = ask(&pipeline, READ);
        assert!(read.answer.starts_with("Miller"), "{read:?}");
        assert_eq!((read.route, read.citations.len()), (Source::Corpus, 1));
        let known = ask(&pipeline, KNOWN);
        has!(known, answer.as_str(): expected, route: Source::SelfKnowledge);
        assert!(known.citations.is_empty() && known.withheld.is_none());
        let neither = ask(&pipeline, NEITHER);
        assert_eq!(neither.answer, "The documents do not say.");
        assert!(neither.withheld.is_some() && neither.citations.is_empty());
    }
}

#[test]
fn answers_from_memory_are_marked_given_or_refused() {
    let (_folder, mut pipeline) = in_folder(pipeline);
    pipeline.settings.style = Style::Full;
    for (memory, expected) in cases![
        Memory::Mark => "From memory, not from the documents: Gardener";
        Memory::Answer => "Gardener";
        Memory::Refuse => "The documents do not say.";
    ] {
        pipeline.settings.memory = memory;
        assert_eq!(ask(&pipeline, KNOWN).answer, expected);
        assert!(ask(&pipeline, READ).answer.starts_with("Miller"));
        assert_eq!(memory.to_string().parse(), Ok(memory));
    }
    let error = "forget".parse::<Memory>().unwrap_err().to_string();
    says!(error => "forget", "refuse");
}

/// An embedder for which no passage is about two of the questions.
fn far() -> FnEmbedder {
    FnEmbedder::new("far", 2, |text| match text {
        KNOWN | NEITHER => vec![0.2, 0.98],
        _ => vec![1.0, 0.0],
    })
}

#[test]
fn only_after_a_search_by_words_are_passages_searched_again_to_rate_them() {
    let (_folder, mut pipeline) = in_folder(|folder| pipeline_with(folder, far()));
    let mut reasons = Vec::new();
    for (mode, searches) in [(Mode::Hybrid, 1), (Mode::Dense, 1), (Mode::Lexical, 3)] {
        pipeline.settings.mode = mode;
        for question in [READ, NEITHER] {
            assert_eq!(ask(&pipeline, question).calls.retriever, searches, "{mode}");
        }
        let known = ask(&pipeline, KNOWN);
        assert_eq!(known.calls.retriever, searches, "{mode}");
        assert_eq!(known.timing_ms.contains_key("rate"), searches > 1, "{mode}");
        reasons.push(known.reason);
    }
    let [hybrid, others @ ..] = reasons.as_slice() else {
        panic!("no reasons");
    };
    holds!("{hybrid}" => hybrid.contains("0.200") && hybrid.ends_with("so no passage is read"));
    assert!(others.iter().all(|reason| reason == hybrid), "{others:?}");
}

#[test]
fn no_passage_is_read_that_is_not_about_a_question_which_the_model_knows() {
    let (_folder, mut pipeline) = in_folder(|folder| pipeline_with(folder, far()));
    for style in [Style::Short, Style::Full] {
        pipeline.settings.style = style;
        let known = ask(&pipeline, KNOWN);
        assert!(known.answer.ends_with("Gardener"), "{known:?}");
        assert_eq!(
            known.answer.starts_with("From memory"),
            style == Style::Full
        );
        assert!(known.reason.ends_with("so no passage is read"), "{known:?}");
        assert!(known.retrieved.iter().all(|passage| !passage.in_prompt));
        // A question near the passages, and one that the model does not know, are answered as any other.
        for (question, route) in [(READ, Source::Corpus), (NEITHER, Source::SelfKnowledge)] {
            let answer = ask(&pipeline, question);
            assert_eq!(answer.route, route);
            assert!(answer.reason.contains("assurance"), "{answer:?}");
        }
    }
    pipeline.settings.memory = Memory::Refuse;
    let refused = ask(&pipeline, KNOWN);
    assert_eq!(refused.answer, "The documents do not say.");
    assert!(refused.reason.contains("assurance"), "{refused:?}");
}

//! The words for full answers: the instruction, the passages in their order, and the question.

use ken_language::{Prompt, Reply};
use ken_probe::FewShot;

use super::{Wording, listed};
use crate::answer::Retrieved;

/// The words of one language.
pub(super) struct FullWording {
    /// How to answer from passages.
    pub(super) from_evidence: FewShot,
    /// How to answer from what the model knows.
    pub(super) from_memory: FewShot,
    /// The texts at which an answer ends: models without a chat template go on with another question.
    pub(super) ends: [&'static str; 2],
    /// The words before an answer from memory in place of one from documents.
    pub(super) remembered: &'static str,
    /// The beginning of an answer that says that no passage helps.
    pub(super) says_nothing: &'static str,
    /// The words before passages in an application's conversation.
    pub(super) found: &'static str,
}

/// Asks for a full answer from passages, given best first; without any, from what the model knows. The best passage
/// stands last, next to the question, where small models read best.
#[must_use]
pub fn full(question: &str, evidence: &[&Retrieved]) -> Prompt {
    let wording = Wording::of(question);
    let task = match evidence {
        [] => &wording.full.from_memory,
        _ => &wording.full.from_evidence,
    };
    asked(task, wording, &listed(evidence), question)
}

/// Asks for a full answer from the model's own text about the question, which is no passage to cite.
#[must_use]
pub fn full_from_known(question: &str, text: &str) -> Prompt {
    let wording = Wording::of(question);
    let known = format!("{} {text}\n", wording.background);
    asked(&wording.full.from_memory, wording, &known, question)
}

/// Passages as a part of an application's conversation, given best first, after `words` or those of the question's
/// language; empty without any.
pub(crate) fn evidence_message(
    question: &str,
    words: Option<&str>,
    evidence: &[&Retrieved],
) -> String {
    if evidence.is_empty() {
        return String::new();
    }
    let words = words.unwrap_or(Wording::of(question).full.found);
    format!("{words}\n{}", listed(evidence).trim_end())
}

/// The longest prompt without passages and without the question.
pub(crate) fn full_frame(question: &str) -> Prompt {
    let wording = Wording::of(question);
    asked(&wording.full.from_evidence, wording, "", "")
}

/// The texts at which a full answer ends.
pub(crate) fn full_ends(question: &str) -> Vec<String> {
    let ends = Wording::of(question).full.ends;
    ends.map(str::to_owned).into()
}

/// Whether an answer says that the passages do not help.
pub(crate) fn says_nothing(question: &str, answer: &str) -> bool {
    let begins = nothing_said(question);
    answer.starts_with(begins.trim_end_matches(['.', '。']))
}

/// The answer if the documents do not answer.
pub(crate) fn nothing_said(question: &str) -> &'static str {
    Wording::of(question).full.says_nothing
}

/// The words before an answer from memory in place of one from documents.
pub(crate) fn remembered(question: &str) -> &'static str {
    Wording::of(question).full.remembered
}

/// The texts that make full answers in one language: prompts as a model gets them, with passages in their order and
/// without, and the words that stand before answers, in place of them and at their ends.
pub(super) fn texts(wording: &Wording) -> Vec<String> {
    let [best, second] = ["a", "b"].map(|text| Retrieved {
        title: text.to_owned(),
        text: text.to_owned(),
        ..Retrieved::default()
    });
    let passages = listed(&[&best, &second]);
    let full = &wording.full;
    let tasks = [
        (&full.from_evidence, passages.as_str()),
        (&full.from_memory, ""),
    ];
    let prompts = tasks.into_iter().flat_map(|(task, passages)| {
        let prompt = asked(task, wording, passages, "c");
        let (shared, input) = prompt.text();
        [shared, input.into_owned()]
    });
    let words = [full.remembered, full.says_nothing, wording.background];
    let words = words.into_iter().chain(full.ends).map(str::to_owned);
    prompts.chain(words).collect()
}

fn asked(task: &FewShot, wording: &Wording, before: &str, question: &str) -> Prompt {
    let gap = if before.is_empty() { "" } else { "\n" };
    let (label, answer) = (wording.question, wording.answer);
    Prompt {
        reply: Reply::Text,
        ..task.prompt(format!("{before}{gap}{label}{question}\n{answer}"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use ken_testing::{has, with};

    use super::*;
    use crate::prompt::tests::passage;
    use crate::prompt::{CHINESE, ENGLISH, fingerprint, fingerprint_of_full, full_fingerprint};

    #[test]
    fn the_best_passage_stands_next_to_the_question() {
        let (best, second) = (passage("", "b."), passage("S", "s."));
        let prompt = full("who", &[&best, &second]);
        has!(prompt, input: "[2] S: s.\n[1] b.\n\nQuestion: who\nAnswer:",
            instruction: ENGLISH.full.from_evidence.instruction, reply: Reply::Text);
        let alone = full("谁写了《静夜思》？", &[]);
        has!(alone, input: "问题：谁写了《静夜思》？\n答案：", instruction: CHINESE.full.from_memory.instruction);
        let known = full_from_known("who", "Ida rows.");
        has!(known, input: "Background: Ida rows.\n\nQuestion: who\nAnswer:");
        let frame = full_frame("who");
        let blank = full("", &[&passage("", "")]);
        assert_eq!(frame.input, blank.input.replacen("[1] \n\n", "", 1));
    }

    #[test]
    fn examples_have_the_form_of_what_is_asked() {
        for wording in [&ENGLISH, &CHINESE] {
            let FullWording {
                from_evidence,
                from_memory,
                says_nothing,
                ..
            } = &wording.full;
            for example in from_evidence.examples {
                assert!(example.input.starts_with("[2] ") && example.input.contains("\n[1] "));
                assert!(example.input.contains(&format!("\n\n{}", wording.question)));
            }
            for example in from_memory.examples {
                assert!(example.input.starts_with(wording.question));
            }
            for example in from_evidence.examples.iter().chain(from_memory.examples) {
                assert!(example.input.ends_with(wording.answer));
            }
            assert!(from_evidence.instruction.contains(says_nothing));
            let refusals = from_evidence
                .examples
                .iter()
                .filter(|example| example.output == *says_nothing);
            assert_eq!(refusals.count(), 3);
        }
    }

    #[test]
    fn other_words_have_another_fingerprint() {
        let other = |full: FullWording| Wording { full, ..ENGLISH };
        let shorter = |task: &FewShot| FewShot {
            examples: &task.examples[1..],
            ..*task
        };
        let FullWording {
            from_evidence,
            from_memory,
            ..
        } = &ENGLISH.full;
        let (from_evidence, from_memory) = (shorter(from_evidence), shorter(from_memory));
        let others = [
            with!(ENGLISH.full, from_evidence: from_evidence),
            with!(ENGLISH.full, from_memory: from_memory),
            with!(ENGLISH.full, ends: ["\n\nQ:", "\n\n["]),
            with!(ENGLISH.full, remembered: "By heart: "),
            with!(ENGLISH.full, says_nothing: "They do not say."),
        ];
        let mut fingerprints = vec![fingerprint(), full_fingerprint()];
        fingerprints.extend(others.map(|full| fingerprint_of_full(&[&other(full), &CHINESE])));
        let other = Wording {
            answer: "A:",
            ..CHINESE
        };
        fingerprints.push(fingerprint_of_full(&[&ENGLISH, &other]));
        let distinct: HashSet<&String> = fingerprints.iter().collect();
        assert_eq!(distinct.len(), fingerprints.len(), "{fingerprints:?}");
    }

    #[test]
    fn an_answer_without_help_is_recognized_by_how_it_begins() {
        for (question, wording) in [("who", &ENGLISH), ("谁写的？", &CHINESE)] {
            let begins = wording.full.says_nothing;
            assert!(says_nothing(question, &format!("{begins} But.")));
            assert!(says_nothing(question, begins));
            assert!(!says_nothing(
                question,
                "Ida rows. The documents do not say when."
            ));
        }
    }
}

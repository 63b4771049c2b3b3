//! The words for full answers: what an assistant is told, the passages in their order, and the question.

use ken_language::{Prompt, Reply};
use ken_probe::FewShot;

use super::{Wording, numbered};
use crate::answer::Retrieved;

/// The words of one language.
pub(super) struct FullWording {
    /// How to answer from passages.
    pub(super) from_evidence: FewShot,
    /// How to answer from what the model knows.
    pub(super) from_memory: FewShot,
    /// Follows a question about passages: small models forget an instruction that stands before them.
    pub(super) cite: &'static str,
    /// How an answer begins where no passage helps.
    pub(super) says_nothing: &'static str,
}

/// Asks for a full answer from passages, given best first; without any, from what the model knows.
/// Unlike in the prompts for short answers, they stand in the order of their numbers, as people read
/// them.
#[must_use]
pub fn full(question: &str, evidence: &[&Retrieved]) -> Prompt {
    let mut passages = String::new();
    for (number, passage) in (1..).zip(evidence) {
        passages.push_str(&numbered(number, passage));
    }
    let wording = Wording::of(question);
    match passages.as_str() {
        "" => unread(wording, "", question),
        passages => read(wording, passages, question),
    }
}

/// Asks for a full answer from what the model wrote of what it knows. That is no passage to be cited.
#[must_use]
pub fn full_from_known(question: &str, text: &str) -> Prompt {
    let wording = Wording::of(question);
    let known = format!("{} {text}\n", wording.background);
    unread(wording, &known, question)
}

/// The longest prompt without passages and without the question.
pub(crate) fn full_frame(question: &str) -> Prompt {
    read(Wording::of(question), "", "")
}

/// Whether an answer says that the passages do not help.
pub(crate) fn says_nothing(question: &str, answer: &str) -> bool {
    let begins = Wording::of(question).full.says_nothing;
    answer.starts_with(begins.trim_end_matches(['.', '。']))
}

/// The prompt with passages to be cited.
fn read(wording: &Wording, passages: &str, question: &str) -> Prompt {
    let FullWording {
        from_evidence,
        cite,
        ..
    } = &wording.full;
    let input = format!("{passages}\n{}{question}{cite}", wording.question);
    Prompt {
        reply: Reply::Text,
        ..from_evidence.prompt(input)
    }
}

/// The prompt with nothing to be cited.
fn unread(wording: &Wording, known: &str, question: &str) -> Prompt {
    let gap = if known.is_empty() { "" } else { "\n" };
    let input = format!("{known}{gap}{}{question}", wording.question);
    Prompt {
        reply: Reply::Text,
        ..wording.full.from_memory.prompt(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::tests::passage;
    use crate::prompt::{CHINESE, ENGLISH};

    #[test]
    fn passages_stand_in_the_order_of_their_numbers() {
        let (best, second) = (passage("", "b."), passage("S", "s."));
        let prompt = full("who", &[&best, &second]);
        let expected = format!("[1] b.\n[2] S: s.\n\nQuestion: who{}", ENGLISH.full.cite);
        assert_eq!(prompt.input, expected);
        assert_eq!(prompt.instruction, ENGLISH.full.from_evidence.instruction);
        assert_eq!(prompt.reply, Reply::Text);
        let alone = full("谁写了《静夜思》？", &[]);
        assert_eq!(alone.input, "问题：谁写了《静夜思》？");
        assert_eq!(alone.instruction, CHINESE.full.from_memory.instruction);
        let known = full_from_known("who", "Ida rows.");
        assert_eq!(known.input, "Background: Ida rows.\n\nQuestion: who");
        let frame = full_frame("who");
        let blank = full("", &[&passage("", "")]);
        assert_eq!(frame.input, blank.input.replacen("[1] \n", "", 1));
    }

    #[test]
    fn examples_have_the_form_of_what_is_asked() {
        for wording in [&ENGLISH, &CHINESE] {
            let FewShot { examples, .. } = wording.full.from_evidence;
            for example in examples {
                assert!(
                    example.input.starts_with("[1] ") && example.input.ends_with(wording.full.cite)
                );
                assert!(example.input.contains(&format!("\n\n{}", wording.question)));
            }
            let nothing = examples
                .iter()
                .filter(|one| one.output == wording.full.says_nothing);
            assert_eq!(nothing.count(), 1);
        }
    }

    #[test]
    fn an_answer_without_help_is_recognized_by_how_it_begins() {
        for (question, wording) in [("who", &ENGLISH), ("谁写的？", &CHINESE)] {
            let begins = wording.full.says_nothing;
            assert!(wording.full.from_evidence.instruction.contains(begins));
            assert!(says_nothing(question, &format!("{begins} But.")));
            assert!(says_nothing(question, begins));
            assert!(!says_nothing(
                question,
                "Ida rows. The documents do not say when."
            ));
        }
    }
}

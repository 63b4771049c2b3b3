//! The words of prompts: instructions, worked examples, evidence and the question. The prompt of a mostly Chinese question
//! is in Chinese, every other in English.

mod chinese;
mod english;
mod full;
pub(crate) mod truncate;

use std::sync::Arc;

use ken_language::{Examples, Knowledge, Prompt, Sourced};
use ken_probe::normalize::is_mostly_chinese;
use ken_probe::{FewShot, letter, types_by_choice, types_by_string};

use serde::{Deserialize, Serialize};

use crate::answer::Retrieved;
use chinese::CHINESE;
use english::ENGLISH;
use full::FullWording;
pub(crate) use full::{
    evidence_message, full_ends, full_frame, nothing_said, remembered, says_nothing,
};
pub use full::{full, full_from_known};

/// A question, with its choices if it is multiple-choice.
#[derive(Debug, Clone, Copy, Default)]
pub struct QuestionPrompt<'a> {
    /// The question.
    pub question: &'a str,
    /// The choices, lettered from `A`; empty for an open question.
    pub choices: &'a [String],
}

impl<'a> QuestionPrompt<'a> {
    /// A question with its choices.
    #[must_use]
    pub fn new(question: &'a str, choices: &'a [String]) -> Self {
        Self { question, choices }
    }

    /// A question without choices.
    #[must_use]
    pub fn open(question: &'a str) -> Self {
        Self::new(question, &[])
    }

    /// Trims the question.
    #[must_use]
    pub fn trimmed(self) -> Self {
        Self {
            question: self.question.trim(),
            ..self
        }
    }

    /// The answer type of each answer: those of one type have equal words, or name the same choice.
    #[must_use]
    pub fn types(self, answers: &[&str]) -> Vec<usize> {
        match self.choices {
            [] => types_by_string(answers),
            choices => types_by_choice(answers, choices),
        }
    }
}

impl<'a> From<&'a str> for QuestionPrompt<'a> {
    fn from(question: &'a str) -> Self {
        Self::open(question)
    }
}

/// The words of one language.
struct Wording {
    /// The label of the question.
    question: &'static str,
    /// The label of the answer.
    answer: &'static str,
    /// The label of the verdict on mastery.
    mastered: &'static str,
    /// The label of the verdict on agreement.
    certain: &'static str,
    /// The verdicts: yes and no.
    verdicts: [&'static str; 2],
    from_memory: FewShot,
    from_evidence: FewShot,
    choice_from_memory: FewShot,
    choice_from_evidence: FewShot,
    /// The label of the model's own text about the question.
    background: &'static str,
    verbalize: FewShot,
    /// The words in place of a withheld answer.
    no_answer: &'static str,
    full: FullWording,
}

impl Wording {
    fn of(question: &str) -> &'static Self {
        if is_mostly_chinese(question) {
            &CHINESE
        } else {
            &ENGLISH
        }
    }

    /// The prompt of the words before the question, the question and the choices. `knowledge`: the same evidence for a model
    /// that marks its source.
    fn prompt(
        &self,
        evidence: &str,
        knowledge: Knowledge,
        question_prompt: QuestionPrompt<'_>,
    ) -> Prompt {
        let task = match (evidence.is_empty(), question_prompt.choices.is_empty()) {
            (true, true) => &self.from_memory,
            (false, true) => &self.from_evidence,
            (true, false) => &self.choice_from_memory,
            (false, false) => &self.choice_from_evidence,
        };
        Prompt {
            sourced: Some(self.sourced(question_prompt, knowledge)),
            ..task.prompt(self.input(evidence, question_prompt, self.answer))
        }
    }

    fn sourced(&self, question_prompt: QuestionPrompt<'_>, knowledge: Knowledge) -> Sourced {
        Sourced {
            question: self.input("", question_prompt, ""),
            knowledge,
            answer: self.answer.to_owned(),
        }
    }

    /// The part that changes from prompt to prompt, up to the label of the requested output.
    fn input(&self, evidence: &str, question_prompt: QuestionPrompt<'_>, label: &str) -> String {
        let QuestionPrompt { question, choices } = question_prompt;
        let mut input = format!("{evidence}{}{question}\n", self.question);
        for (at, choice) in choices.iter().enumerate() {
            if let Some(letter) = letter(at) {
                input.push_str(&format!("{letter}. {choice}\n"));
            }
        }
        input.push_str(label);
        input
    }
}

/// Asks the model to answer from what it knows.
#[must_use]
pub fn from_memory(question_prompt: QuestionPrompt<'_>) -> Prompt {
    from_known(question_prompt, "")
}

/// Asks the model to answer from its own text about the question; without one, from memory.
#[must_use]
pub fn from_known(question_prompt: QuestionPrompt<'_>, text: &str) -> Prompt {
    let passage = match text {
        "" => String::new(),
        text => line(1, "", text),
    };
    let knowledge = Knowledge::Own(text.to_owned());
    Wording::of(question_prompt.question).prompt(&passage, knowledge, question_prompt)
}

/// Asks the model to answer from passages, given best first; without any, from what it knows. The
/// best comes last in the prompt, next to the question, where small models read best.
#[must_use]
pub fn from_evidence(question_prompt: QuestionPrompt<'_>, evidence: &[&Retrieved]) -> Prompt {
    from_corpus(question_prompt, None, evidence)
}

/// As [`from_evidence`], from the corpus of a name.
#[must_use]
pub fn from_corpus(
    question_prompt: QuestionPrompt<'_>,
    corpus: Option<&str>,
    evidence: &[&Retrieved],
) -> Prompt {
    from_found(question_prompt, corpus, &listed(evidence))
}

/// Asks the model to answer from one passage of a corpus; the title may be empty.
#[must_use]
pub fn from_passage(
    question_prompt: QuestionPrompt<'_>,
    corpus: &str,
    title: &str,
    text: &str,
) -> Prompt {
    from_found(question_prompt, Some(corpus), &line(1, title, text))
}

fn from_found(question_prompt: QuestionPrompt<'_>, corpus: Option<&str>, passages: &str) -> Prompt {
    let knowledge = match passages {
        "" => Knowledge::Own(String::new()),
        passages => Knowledge::Found {
            corpus: corpus.map(str::to_owned),
            text: passages.to_owned(),
        },
    };
    Wording::of(question_prompt.question).prompt(passages, knowledge, question_prompt)
}

/// Asks a model that was trained to choose its source of knowledge to do so. Asks others to answer from memory.
#[must_use]
pub fn choose_source(question_prompt: QuestionPrompt<'_>) -> Prompt {
    Wording::of(question_prompt.question).prompt("", Knowledge::Unchosen, question_prompt)
}

/// Asks the model to write what it knows that helps with a question. `examples` show how; by default, those of ken.
#[must_use]
pub fn verbalize(question_prompt: QuestionPrompt<'_>, examples: Option<Examples>) -> Prompt {
    let wording = Wording::of(question_prompt.question);
    let input = wording.input("", question_prompt, wording.background);
    let own = wording.verbalize.prompt(input);
    Prompt {
        examples: examples.unwrap_or(own.examples),
        sourced: Some(wording.sourced(question_prompt, Knowledge::Unwritten)),
        ..own
    }
}

/// The words in place of a withheld answer.
#[must_use]
pub fn no_answer(question: &str) -> &'static str {
    Wording::of(question).no_answer
}

/// An assessor's prediction for a question (KBM, section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Indicator {
    /// Whether the answer is right.
    Mastery,
    /// Whether sampled answers agree.
    Certainty,
}

/// Asks an assessor whether another model masters a question, given the prompt that asks it, with or
/// without evidence. There is no instruction: only a model trained on this form can answer.
#[must_use]
pub fn assess(question: &str, asked: &Prompt, indicator: Indicator) -> Prompt {
    let wording = Wording::of(question);
    let label = match indicator {
        Indicator::Mastery => wording.mastered,
        Indicator::Certainty => wording.certain,
    };
    let asked = asked.input.strip_suffix(wording.answer);
    let input = format!("{}{label}", asked.unwrap_or_default());
    Prompt::new("", Examples::Fixed(&[]), input)
}

/// The continuations of [`assess`]: yes and no.
#[must_use]
pub fn verdicts(question: &str) -> [&'static str; 2] {
    Wording::of(question).verdicts
}

/// Texts about other questions as worked examples for [`verbalize`], each in its language.
#[must_use]
pub fn verbalized_examples(texts: &[(QuestionPrompt<'_>, &str)]) -> Examples {
    let texts = texts.iter().map(|(question_prompt, text)| {
        let wording = Wording::of(question_prompt.question);
        let input = wording.input("", *question_prompt, wording.background);
        (input, (*text).to_owned())
    });
    Examples::Chosen(texts.collect::<Arc<[_]>>())
}

/// The longest prompt without passages and without the question.
pub(crate) fn frame(question_prompt: QuestionPrompt<'_>) -> Prompt {
    let wording = Wording::of(question_prompt.question);
    let task = match question_prompt.choices {
        [] => &wording.from_evidence,
        _ => &wording.choice_from_evidence,
    };
    let blank = QuestionPrompt {
        question: "",
        ..question_prompt
    };
    Prompt {
        sourced: Some(wording.sourced(blank, Knowledge::Own(String::new()))),
        ..task.prompt(wording.input("", blank, wording.answer))
    }
}

/// Passages in the form of the prompt, given best first: the best stands last.
fn listed(evidence: &[&Retrieved]) -> String {
    let passages = evidence.iter().enumerate().rev();
    let lines = passages.map(|(at, passage)| numbered(at + 1, passage));
    lines.collect()
}

/// A passage in the form of the prompt.
pub(crate) fn numbered(number: usize, passage: &Retrieved) -> String {
    line(number, &passage.full_title(), &passage.text)
}

fn line(number: usize, title: &str, text: &str) -> String {
    if title.is_empty() {
        format!("[{number}] {text}\n")
    } else {
        format!("[{number}] {title}: {text}\n")
    }
}

/// Identifies the wording of prompts for short answers, and of an assessor's verdicts: measurements made with different
/// wordings must not be mixed.
#[must_use]
pub fn fingerprint() -> String {
    let mut words = Vec::new();
    for wording in [&ENGLISH, &CHINESE] {
        words.extend([wording.question, wording.answer]);
        words.extend([wording.mastered, wording.certain]);
        words.extend(wording.verdicts);
        for task in [
            &wording.from_memory,
            &wording.from_evidence,
            &wording.choice_from_memory,
            &wording.choice_from_evidence,
        ] {
            words.extend(task.texts());
        }
    }
    ken_language::fingerprint_of_texts(&words)
}

/// As [`fingerprint`], for full answers. Policies measure short ones, whose wording is included.
#[must_use]
pub fn full_fingerprint() -> String {
    fingerprint_of_full(&[&ENGLISH, &CHINESE])
}

fn fingerprint_of_full(wordings: &[&Wording]) -> String {
    let texts = wordings.iter().flat_map(|wording| full::texts(wording));
    let all: Vec<String> = std::iter::once(fingerprint()).chain(texts).collect();
    ken_language::fingerprint_of_texts(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

/// As [`fingerprint`], for the prompts that ask the model to write what it knows.
#[must_use]
pub fn verbalize_fingerprint() -> String {
    let mut words = Vec::new();
    for wording in [&ENGLISH, &CHINESE] {
        words.extend([wording.question, wording.background]);
        words.extend(wording.verbalize.texts());
    }
    ken_language::fingerprint_of_texts(&words)
}

#[cfg(test)]
mod tests {
    use ken_testing::{has, with};

    use super::*;

    pub(super) fn passage(title: &str, text: &str) -> Retrieved {
        with!(Retrieved::default(), title: title.to_owned(), text: text.to_owned(), in_prompt: true)
    }

    #[test]
    fn the_best_passage_stands_next_to_the_question() {
        let (best, second) = (passage("", "b."), passage("S", "s."));
        let prompt = from_evidence(QuestionPrompt::open("who"), &[&best, &second]);
        assert_eq!(prompt.input, "[2] S: s.\n[1] b.\nQuestion: who\nAnswer:");
        let alone = from_evidence(QuestionPrompt::open("who"), &[]);
        assert_eq!(alone, from_memory(QuestionPrompt::open("who")));
        assert_eq!(alone.input, "Question: who\nAnswer:");
    }

    #[test]
    fn chinese_questions_are_asked_in_chinese() {
        let prompt = from_memory(QuestionPrompt::open("谁写了《静夜思》？"));
        has!(prompt, input: "问题：谁写了《静夜思》？\n答案：", instruction: CHINESE.from_memory.instruction);
        let prompt = from_memory(QuestionPrompt::open("who wrote 静夜思?"));
        assert_eq!(prompt.instruction, ENGLISH.from_memory.instruction);
    }

    #[test]
    fn choices_are_lettered_and_have_examples_of_their_own() {
        let choices = ["red".to_owned(), "blue".to_owned()];
        let question_prompt = QuestionPrompt::new("which", &choices);
        let prompt = from_memory(question_prompt);
        assert_eq!(prompt.input, "Question: which\nA. red\nB. blue\nAnswer:");
        assert_eq!(prompt.instruction, ENGLISH.choice_from_memory.instruction);
        let text = passage("", "x");
        let prompt = from_evidence(question_prompt, &[&text]);
        assert_eq!(prompt.instruction, ENGLISH.choice_from_evidence.instruction);
        assert_eq!(frame(question_prompt).instruction, prompt.instruction);
        assert_eq!(
            frame(question_prompt).input,
            "Question: \nA. red\nB. blue\nAnswer:"
        );
    }

    #[test]
    fn what_the_model_knows_is_asked_for_and_given_back_as_a_passage() {
        let choices = ["red".to_owned(), "blue".to_owned()];
        let (plain, choice) = (
            QuestionPrompt::open("who"),
            QuestionPrompt::new("which", &choices),
        );
        let prompt = verbalize(plain, None);
        assert_eq!(prompt.input, "Question: who\nBackground:");
        assert_eq!(prompt.examples, Examples::Fixed(ENGLISH.verbalize.examples));
        let examples = verbalized_examples(&[(choice, "Blue is a colour.")]);
        let prompt = verbalize(plain, Some(examples));
        let (shared, _) = prompt.text();
        let example =
            "Question: which\nA. red\nB. blue\nBackground: Blue is a colour.\n\n".to_owned();
        assert_eq!(
            shared,
            ENGLISH.verbalize.instruction.to_owned() + "\n\n" + &example
        );
        let chinese = verbalize(QuestionPrompt::open("谁写了《静夜思》？"), None);
        assert_eq!(chinese.instruction, CHINESE.verbalize.instruction);

        let known = from_known(plain, "Blue is a colour.");
        let read = from_evidence(plain, &[&passage("", "Blue is a colour.")]);
        assert_eq!((known.text(), known.examples.len()), (read.text(), 4));
        assert_eq!(from_known(plain, ""), from_memory(plain));
        assert_eq!(
            from_passage(plain, "c", "", "x").text(),
            from_known(plain, "x").text()
        );
        assert_ne!(fingerprint(), verbalize_fingerprint());
    }

    #[test]
    fn an_assessor_is_asked_after_the_same_words() {
        let evidence = passage("", "b.");
        let asked = from_evidence(QuestionPrompt::open("who"), &[&evidence]);
        let prompt = assess("who", &asked, Indicator::Mastery);
        assert_eq!(prompt.input, "[1] b.\nQuestion: who\nMastered:");
        let asked = from_memory(QuestionPrompt::open("谁写了《静夜思》？"));
        let prompt = assess("谁写了《静夜思》？", &asked, Indicator::Certainty);
        assert_eq!(prompt.input, "问题：谁写了《静夜思》？\n有把握：");
        assert_eq!(verdicts("who"), ["yes", "no"]);
    }

    #[test]
    fn texts_stand_on_one_line() {
        for wording in [&ENGLISH, &CHINESE] {
            for example in wording.verbalize.examples {
                assert!(example.input.starts_with(wording.question));
                assert!(example.input.ends_with(wording.background));
                assert!(!example.output.contains('\n') && !example.output.is_empty());
            }
        }
    }

    #[test]
    fn every_wording_has_examples_in_its_own_form() {
        for wording in [&ENGLISH, &CHINESE] {
            for task in [
                &wording.from_memory,
                &wording.from_evidence,
                &wording.choice_from_memory,
                &wording.choice_from_evidence,
            ] {
                assert_eq!(task.examples.len(), 4);
                for example in task.examples {
                    assert!(
                        example.input.contains(wording.question),
                        "{}",
                        example.input
                    );
                    assert!(example.input.ends_with(wording.answer), "{}", example.input);
                }
            }
        }
    }
}

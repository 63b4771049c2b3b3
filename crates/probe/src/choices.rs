//! Multiple choice: which of the choices an answer names. How choices are shown to a model is not
//! decided here.

use crate::answer_types::types_by_string;
use crate::scores::{covers, score};

/// The letter of each choice: `A` is the first.
pub fn letter(choice: usize) -> Option<char> {
    ('A'..='Z').nth(choice)
}

/// The choice that a model's answer names, by its letter or by its text: `B`, `(b)`, `B. four`. A model sees each
/// choice after its letter, so a letter, alone or before its choice, names that choice even if it is the text of
/// another.
pub fn named_choice(answer: &str, choices: &[String]) -> Option<usize> {
    let shown = by_letter(answer, choices).filter(|(index, rest)| {
        rest.is_empty() || rest.to_lowercase() == choices[*index].trim().to_lowercase()
    });
    let shown = shown.map(|(index, _)| index);
    shown.or_else(|| by_text_or_letter(answer, choices))
}

fn by_text_or_letter(answer: &str, choices: &[String]) -> Option<usize> {
    by_text(answer, choices).or_else(|| Some(by_letter(answer, choices)?.0))
}

/// By its text: verbatim, else ignoring case, else after normalization (which equates `5` and `-5`); the last two
/// only if exactly one choice matches.
fn by_text(answer: &str, choices: &[String]) -> Option<usize> {
    let answer = answer.trim();
    if answer.is_empty() {
        return None;
    }
    let only = |is_it: &dyn Fn(&String) -> bool| {
        let mut matching = (0..choices.len()).filter(|&index| is_it(&choices[index]));
        matching.next().filter(|_| matching.next().is_none())
    };
    let lower = answer.to_lowercase();
    choices
        .iter()
        .position(|choice| choice.trim() == answer)
        .or_else(|| only(&|choice| choice.trim().to_lowercase() == lower))
        .or_else(|| only(&|choice| is_same(answer, choice)))
}

fn is_same(answer: &str, choice: &String) -> bool {
    let choice = std::slice::from_ref(choice);
    // Normalization empties a choice such as `A` or `+`.
    covers("", choice).is_some() && score(answer, choice).exact_match
}

/// What may follow the letter of a choice. A space may not: it follows an article.
const AFTER_LETTERS: [char; 9] = ['.', ')', ':', ',', '）', '：', '、', '，', '。'];

/// The choice whose letter begins the answer, and the text after it.
fn by_letter<'a>(answer: &'a str, choices: &[String]) -> Option<(usize, &'a str)> {
    let answer = answer.trim().trim_start_matches(['(', '（']);
    let mut letters = answer.chars();
    let first = letters.next()?.to_ascii_uppercase();
    let after = letters.as_str();
    let alone = after.is_empty() || after.starts_with(AFTER_LETTERS);
    let index = ('A'..='Z').position(|letter| letter == first)?;
    let rest = after.trim_start_matches(AFTER_LETTERS).trim();
    (alone && index < choices.len()).then_some((index, rest))
}

/// The answer type of each answer to a multiple-choice question: answers that name the same choice are of one type,
/// and those that name none are compared by their words.
///
/// # Shapes
/// Returns one number for each text, from 0.
pub fn types_by_choice(texts: &[&str], choices: &[String]) -> Vec<usize> {
    let named = texts.iter().map(|text| {
        let choice = named_choice(text, choices).and_then(letter);
        // Not a bare letter: `A` would be an article.
        choice.map_or_else(|| (*text).to_owned(), |letter| format!("choice {letter}."))
    });
    let named: Vec<String> = named.collect();
    types_by_string(&named.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The choices that golden answers name, by their texts or else by their letters.
pub fn right_choices(golden_answers: &[String], choices: &[String]) -> Vec<usize> {
    let mut right: Vec<usize> = golden_answers
        .iter()
        .filter_map(|answer| by_text_or_letter(answer, choices))
        .collect();
    right.sort_unstable();
    right.dedup();
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(answer: &str, choices: &[&str]) -> Option<usize> {
        let choices: Vec<String> = choices.iter().map(|&choice| choice.to_owned()).collect();
        named_choice(answer, &choices)
    }

    #[test]
    fn a_choice_is_named_by_letter_or_text() {
        let animals = ["a horse", "the cat", "dogs"];
        for answer in [
            "B",
            "b",
            " (B)",
            "B.",
            "B. the cat",
            "B: x",
            "Cat",
            "the cat.",
            "B、猫",
        ] {
            assert_eq!(named(answer, &animals), Some(1), "{answer}");
        }
        for answer in ["", "D", "A cow", "Bat", "?", "the", "北"] {
            assert_eq!(named(answer, &animals), None, "{answer}");
        }
    }

    #[test]
    fn texts_that_are_letters_are_golden_answers_and_letters_are_what_models_write() {
        let groups = ["O", "A", "B", "AB"].map(String::from);
        for (at, text) in groups.iter().enumerate() {
            assert_eq!(right_choices(std::slice::from_ref(text), &groups), [at]);
        }
        for (answer, at) in [
            ("A", 0),
            ("b", 1),
            ("B. A", 1),
            ("(D)", 3),
            ("O", 0),
            ("ab", 3),
        ] {
            assert_eq!(named_choice(answer, &groups), Some(at), "{answer}");
        }
        assert_eq!(named("C", &["B", "A", "D"]), Some(2));
    }

    #[test]
    fn numbers_that_differ_by_a_sign_or_a_point_are_different_choices() {
        let numbers = ["-5", "5", "1.5", "15"];
        for (at, text) in numbers.iter().enumerate() {
            assert_eq!(named(text, &numbers), Some(at), "{text}");
        }
        // It is no choice of these, and what is left of it is two.
        assert_eq!(named("+5", &numbers), None);
        assert_eq!(named("5.", &["-5", "7"]), Some(0));
        assert_eq!(named("mg", &["Mg", "MG", "Na"]), None);
        assert_eq!(named("MG", &["Mg", "MG", "Na"]), Some(1));
    }

    #[test]
    fn answers_that_name_a_choice_say_the_same() {
        let choices = ["red", "blue"].map(String::from);
        let answers = ["B", "blue", "(b) blue", "A", "violet", "Violet"];
        assert_eq!(types_by_choice(&answers, &choices), [0, 0, 0, 1, 2, 2]);
    }

    #[test]
    fn golden_answers_may_be_letters_or_texts() {
        let choices = ["red", "blue", "green"].map(String::from);
        let golden = ["B", "green", "blue", "purple"].map(String::from);
        assert_eq!(right_choices(&golden, &choices), [1, 2]);
        assert_eq!(right_choices(&[], &choices), [0_usize; 0]);
        assert_eq!(letter(2), Some('C'));
        assert_eq!(letter(26), None);
    }
}

//! Multiple choice: which of the choices an answer names. How choices are shown to a model is not
//! decided here.

use crate::scores::score;

/// The letter of each choice: `A` is the first.
#[must_use]
pub fn letter(choice: usize) -> Option<char> {
    u32::try_from(choice)
        .ok()
        .filter(|choice| *choice < 26)
        .and_then(|choice| char::from_u32(u32::from('A') + choice))
}

/// The choice that an answer names, by its text or by its letter: `B`, `(b)`, `B. four`.
#[must_use]
pub fn named_choice(answer: &str, choices: &[String]) -> Option<usize> {
    let by_text = choices
        .iter()
        .position(|choice| !choice.trim().is_empty() && is_same(answer, choice));
    by_text.or_else(|| by_letter(answer, choices))
}

fn is_same(answer: &str, choice: &String) -> bool {
    score(answer, std::slice::from_ref(choice)).exact_match
}

fn by_letter(answer: &str, choices: &[String]) -> Option<usize> {
    let answer = answer.trim().trim_start_matches(['(', '（']);
    let mut letters = answer.chars();
    let first = letters.next()?.to_ascii_uppercase();
    let alone = match letters.next() {
        None => true,
        // An article is followed by a space, and so it is no letter of a choice.
        Some(next) => matches!(
            next,
            '.' | ')' | ':' | ',' | '）' | '：' | '、' | '，' | '。'
        ),
    };
    let at = (u32::from(first)).checked_sub(u32::from('A'))? as usize;
    (alone && at < choices.len().min(26)).then_some(at)
}

/// The choices that golden answers name; none where they name none.
#[must_use]
pub fn right_choices(golden_answers: &[String], choices: &[String]) -> Vec<usize> {
    let mut right: Vec<usize> = golden_answers
        .iter()
        .filter_map(|answer| named_choice(answer, choices))
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
    fn a_text_that_is_a_letter_is_read_as_text() {
        assert_eq!(named("A", &["B", "A"]), Some(1));
        assert_eq!(named("C", &["B", "A", "D"]), Some(2));
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

//! Finding the numbers of passages in an answer's text, such as `[1]` or `[2, 3]`. Brackets in
//! code and links are no marks.

use std::ops::Range;

/// A passage's number in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The number.
    pub(crate) number: usize,
    /// The place of its digits, in characters.
    pub(crate) place: Range<usize>,
}

/// The most digits of a number: a prompt has fewer than 1000 passages.
pub(crate) const DIGITS: usize = 3;

/// The marks of a text, in their order.
pub(crate) fn marks(text: &str) -> Vec<Mark> {
    let text: Vec<char> = text.chars().collect();
    let mut all = Vec::new();
    let mut index = 0;
    let mut starts_line = true;
    while let Some(&c) = text.get(index) {
        if starts_line && let Some(end) = fenced(&text, index) {
            index = end;
            continue;
        }
        starts_line = c == '\n';
        index = match c {
            '`' => code(&text, index),
            '[' | '【' => match bracket(&text, index) {
                Some((marks, end)) => {
                    all.extend(marks);
                    end
                }
                None => index + 1,
            },
            _ => index + 1,
        };
    }
    all
}

/// The numbers in the bracket that opens at `at`, and its end; `None` if it holds anything else, or is the text of a
/// link.
fn bracket(text: &[char], at: usize) -> Option<(Vec<Mark>, usize)> {
    let close = match text[at] {
        '[' => ']',
        _ => '】',
    };
    let mut marks: Vec<Mark> = Vec::new();
    let mut at = at + 1;
    loop {
        match *text.get(at)? {
            c if c == close && !marks.is_empty() => {
                let is_link = text.get(at + 1) == Some(&'(');
                return (!is_link).then_some((marks, at + 1));
            }
            c if c.is_ascii_digit() => {
                let digits = run(text, at, |c| c.is_ascii_digit());
                let number: String = text[at..digits].iter().collect();
                if number.len() > DIGITS {
                    return None;
                }
                marks.push(Mark {
                    number: number.parse().ok()?,
                    place: at..digits,
                });
                at = digits;
            }
            ' ' | ',' | ';' | '，' | '、' | '；' => at += 1,
            _ => return None,
        }
    }
}

/// The end of the run of characters from `at` on.
fn run(text: &[char], at: usize, belongs: impl Fn(char) -> bool) -> usize {
    let length = text[at..].iter().take_while(|&&c| belongs(c)).count();
    at + length
}

/// The end of the code that opens with the backticks at `at`: after the next run of as many backticks or, if there is
/// none, after these.
fn code(text: &[char], at: usize) -> usize {
    let opened = run(text, at, |c| c == '`');
    let mut next = opened;
    while let Some(&c) = text.get(next) {
        if c == '\n' && text.get(next + 1) == Some(&'\n') {
            break;
        }
        if c != '`' {
            next += 1;
            continue;
        }
        let closed = run(text, next, |c| c == '`');
        if closed - next == opened - at {
            return closed;
        }
        next = closed;
    }
    opened
}

/// The end of the fenced code whose first line starts at `at`, if one does. Unclosed code goes on to the end of the text.
fn fenced(text: &[char], at: usize) -> Option<usize> {
    let (fence, length, mut line) = fence(text, at)?;
    while line < text.len() {
        let after = run(text, line, |c| c != '\n') + 1;
        if let Some((closing, closed, _)) = self::fence(text, line)
            && closing == fence
            && closed >= length
        {
            return Some(after.min(text.len()));
        }
        line = after;
    }
    Some(text.len())
}

/// The character and the length of the fence in the line that starts at `at`, and the start of the next line.
fn fence(text: &[char], at: usize) -> Option<(char, usize, usize)> {
    let start = run(text, at, |c| c == ' ');
    let fence = *text.get(start).filter(|c| matches!(c, '`' | '~'))?;
    let end = run(text, start, |c| c == fence);
    let next = run(text, end, |c| c != '\n') + 1;
    (end - start >= 3).then_some((fence, end - start, next))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(text: &str) -> Vec<(usize, Range<usize>)> {
        let marks = marks(text).into_iter();
        marks.map(|mark| (mark.number, mark.place)).collect()
    }

    #[test]
    fn brackets_with_numbers_are_marks() {
        assert_eq!(numbers("It is so [1]."), [(1, 10..11)]);
        assert_eq!(
            numbers("é [2, 13][3]"),
            [(2, 3..4), (13, 6..8), (3, 10..11)]
        );
        assert_eq!(
            numbers("如此【1】，[2、3]"),
            [(1, 3..4), (2, 7..8), (3, 9..10)]
        );
    }

    #[test]
    fn other_brackets_are_none() {
        for text in [
            "[]",
            "[ ]",
            "[a1]",
            "[1",
            "[x]",
            "[1](http://a)",
            "[2024]",
            "`a[1]`",
            "``a ` [1]``",
            "```\n[1]\n```",
            "  ~~~~ text\n[1]\n~~~\n[2]\n~~~~",
            "```\n[1]",
        ] {
            assert_eq!(numbers(text), [], "{text}");
        }
        // A backtick that nothing closes opens nothing.
        assert_eq!(numbers("` [1]\n\n`"), [(1, 3..4)]);
        assert_eq!(numbers("```\n[1]\n```\n[2]"), [(2, 13..14)]);
    }

    /// A part of a text, and which of its numbers are marks, with their places in the part.
    type Part = (String, Vec<(usize, Range<usize>)>);

    /// Parts whose marks are known by how they are made, so that they need no parsing.
    fn part() -> impl Strategy<Value = Part> {
        let plain = "[a-zé一。 (!]{0,6}".prop_map(|text| (text, Vec::new()));
        let code = "[a-z0-9\\[\\] ]{1,8}".prop_map(|text| (format!("`{text}`"), Vec::new()));
        let block =
            "[a-z0-9\\[\\] ]{0,8}".prop_map(|text| (format!("\n```\n{text}\n```\n"), Vec::new()));
        let link = (0..99_usize).prop_map(|n| (format!("[{n}](a)"), Vec::new()));
        let word = "[a-z]{1,3}".prop_map(|word| (format!("[{word}1]"), Vec::new()));
        let mark = prop::collection::vec(0..1000_usize, 1..4).prop_map(|numbers| {
            let mut text = "[".to_owned();
            let mut marks = Vec::new();
            for number in numbers {
                if text.len() > 1 {
                    text.push_str(", ");
                }
                let start = text.len();
                text.push_str(&number.to_string());
                marks.push((number, start..text.len()));
            }
            // What follows may be a bracket, which would make a link of it.
            text.push_str("].");
            (text, marks)
        });
        prop_oneof![plain, code, block, link, word, mark]
    }

    proptest! {
        #[test]
        fn marks_are_found_where_they_were_put(parts in prop::collection::vec(part(), 0..12)) {
            let mut text = String::new();
            let mut expected = Vec::new();
            for (part, marks) in parts {
                let before = text.chars().count();
                let moved = |place: Range<usize>| before + place.start..before + place.end;
                expected.extend(marks.into_iter().map(|(n, place)| (n, moved(place))));
                text.push_str(&part);
                // Keeps backticks of neighbors apart.
                text.push('|');
            }
            prop_assert_eq!(numbers(&text), expected);
        }

        #[test]
        fn any_text_has_only_marks_that_stand_in_it(text in "[\\[\\]【】0-9,` ~\n(é]{0,40}") {
            let chars: Vec<char> = text.chars().collect();
            let mut last = 0;
            for mark in marks(&text) {
                prop_assert!(mark.place.start >= last);
                last = mark.place.end;
                let digits: String = chars[mark.place].iter().collect();
                prop_assert_eq!(digits.parse::<usize>().unwrap(), mark.number);
            }
        }
    }
}

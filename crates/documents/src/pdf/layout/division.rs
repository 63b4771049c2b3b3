//! Words that are divided at the ends of lines.

use std::cell::LazyCell;
use std::collections::HashSet;

/// The signs at which a word may be divided.
pub(super) const HYPHENS: [char; 3] = ['-', '\u{2010}', '\u{ad}'];
/// The most characters of half a word.
const LONGEST_HALF: usize = 64;

/// Joins words that are divided at the end of a line: those in small letters, and those that occur
/// undivided elsewhere in the text. A word with a hyphen of its own keeps it: one that occurs with it elsewhere, and one
/// whose first part is a letter, as in *e-mail*. A soft hyphen elsewhere only marks where a word may be divided.
pub(in crate::pdf) fn joined(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut rest = text;
    let is_letter = |character: &char| character.is_alphanumeric();
    let words = LazyCell::new(|| {
        let words = text.split(|character| !is_letter(&character));
        words.collect::<HashSet<&str>>()
    });
    let compounds = LazyCell::new(|| {
        let words = text.split(|character| !is_letter(&character) && character != '-');
        let words = words.filter(|word| word.contains('-'));
        words.collect::<HashSet<&str>>()
    });
    while let Some(at) = rest.find(HYPHENS) {
        let (before, hyphened) = rest.split_at(at);
        let mut characters = hyphened.chars();
        let hyphen = characters.next().unwrap_or_default();
        let after = characters.as_str();
        joined.push_str(before);
        let line = after.strip_prefix('\n').unwrap_or_default();
        let next = line.chars().next();
        let is_in_small = joined.chars().next_back().is_some_and(char::is_lowercase)
            && next.is_some_and(char::is_lowercase);
        let is_soft = hyphen == '\u{ad}';
        let second: String = line
            .chars()
            .take(LONGEST_HALF)
            .take_while(is_letter)
            .collect();
        let is_elsewhere = || {
            let first = last_of(&joined, is_letter);
            let is_whole = !first.is_empty() && !second.is_empty();
            is_whole && words.contains((first.to_owned() + &second).as_str())
        };
        let is_own = || {
            let first = last_of(&joined, |character| {
                is_letter(character) || "-'’".contains(*character)
            });
            first.chars().nth(1).is_none()
                || (compounds.contains(format!("{first}-{second}").as_str()) && !is_elsewhere())
        };
        let is_compound = is_in_small && !is_soft && is_own();
        let is_divided = is_in_small || is_elsewhere();
        rest = after;
        if is_compound {
            joined.push(hyphen);
        }
        if is_divided || (is_soft && next.is_some_and(char::is_alphabetic)) {
            rest = &after[1..];
        } else if !is_soft {
            joined.push(hyphen);
        }
    }
    joined.push_str(rest);
    joined
}

/// The last characters of a text of which each is such a one, at most as many as half a word has.
fn last_of(text: &str, is_such: impl Fn(&char) -> bool) -> &str {
    let last = text.chars().rev().take(LONGEST_HALF).take_while(is_such);
    let start = text.len() - last.map(char::len_utf8).sum::<usize>();
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_hyphens_join_the_halves_of_a_word() {
        assert_eq!(
            joined("ex-\nam ex\u{2010}\nam ex\u{ad}\nam"),
            "exam exam exam"
        );
        assert_eq!(joined("a\u{ad}b x\u{ad}\nY 7-\n8 a-b"), "ab xY 7-\n8 a-b");
        assert_eq!(joined("-\n\u{ad}\n-"), "-\n\n-");
        assert_eq!(
            joined("A-\nB or TraceMonkey, Trace-\nMonkey"),
            "A-\nB or TraceMonkey, TraceMonkey"
        );
    }

    #[test]
    fn words_with_hyphens_of_their_own_keep_them() {
        for (read, expected) in [
            ("an e-\nmail, an x-\nray", "an e-mail, an x-ray"),
            ("well-\nknown, a well-known", "well-known, a well-known"),
            (
                "state-of-the-\nart or state-of-the-art",
                "state-of-the-art or state-of-the-art",
            ),
            ("informa-\ntion, l'é-\ntat", "information, l'état"),
            // The word is written in both ways.
            (
                "co-\noperate, cooperate, co-operate",
                "cooperate, cooperate, co-operate",
            ),
            ("e\u{ad}\nmail", "email"),
        ] {
            assert_eq!(joined(read), expected);
        }
    }
}

//! Sentence boundaries: those of Unicode's rules (UAX #29), corrected where the language matters.
//!
//! The corrections are for abbreviations ("Dr. Ito"), initials ("J. R. R. Tolkien"), quoted questions
//! (`"Why?" he asked`), numbers of list items, hard-wrapped lines and the Chinese semicolon.
//! They know English abbreviations only, and find no sentences in text without punctuation.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

/// Abbreviations after which a sentence always continues.
const BEFORE_MORE: &[&str] = &[
    "adm", "approx", "ca", "capt", "cf", "cmdr", "col", "dr", "e.g", "eg", "fr", "gen", "gov",
    "hon", "i.e", "ie", "lt", "messrs", "mr", "mrs", "ms", "mt", "prof", "rep", "rev", "sen",
    "sgt", "st", "viz", "vs",
];

/// Abbreviations after which a sentence continues if a number follows.
const BEFORE_NUMBER: &[&str] = &[
    "apr", "art", "aug", "ch", "dec", "eq", "eqs", "feb", "fig", "figs", "jan", "jul", "jun",
    "mar", "no", "nos", "nov", "oct", "p", "pp", "sec", "sep", "sept", "vol", "vols",
];

/// Words that start a sentence far more often than a name.
const STARTERS: &[&str] = &[
    "A", "After", "All", "Also", "Although", "An", "And", "As", "At", "Because", "Both", "But",
    "By", "During", "Each", "For", "From", "He", "Her", "His", "How", "However", "I", "If", "In",
    "It", "Its", "Many", "Most", "My", "No", "Not", "On", "One", "Our", "She", "Since", "So",
    "Some", "Such", "That", "The", "Their", "Then", "There", "These", "They", "This", "Those",
    "Thus", "To", "Today", "Two", "Under", "We", "Were", "What", "When", "Where", "Which", "While",
    "Who", "Why", "With", "You", "Your",
];

/// A line of at least this many characters is assumed to be wrapped.
const WRAPPED_LINE_CHARS: usize = 60;

/// The most characters of an abbreviation, initials or the number of a list item. It limits the text inspected before a
/// boundary: a text can have a boundary every few bytes, and no space at all.
const LONGEST_WORD: usize = 64;

/// Longer runs of punctuation and spaces are shortened before Unicode's rules are applied, since the rules
/// look ahead from each character after a full stop to the next letter.
const LONGEST_RUN: usize = 16;

/// The sentences of `text`, in order, without the white space around them, none of them empty.
pub fn sentences(text: &str) -> Vec<&str> {
    sentences_unless(text, &|| false).unwrap_or_default()
}

/// As [`sentences`]; `None` once `stop` returns true.
pub(crate) fn sentences_unless<'t>(text: &'t str, stop: &dyn Fn() -> bool) -> Option<Vec<&'t str>> {
    const BOUNDARIES_PER_CHECK: usize = 1024;
    let mut sentences = Vec::new();
    // Where the text continues after the space at the last boundary, and at the last sentence end.
    let mut seen = text.len() - text.trim_start().len();
    let mut start = seen;
    for (number, boundary) in boundaries(text, stop)?.into_iter().enumerate() {
        if number % BOUNDARIES_PER_CHECK == 0 && stop() {
            return None;
        }
        // All boundaries within one run of space count as one.
        if boundary <= seen {
            continue;
        }
        seen = text.len() - text[boundary..].trim_start().len();
        if is_sentence_end(&text[start..boundary], &text[boundary..seen], &text[seen..]) {
            sentences.push(text[start..boundary].trim());
            start = seen;
        }
    }
    sentences.push(text[start..].trim());
    sentences.retain(|sentence| !sentence.is_empty());
    Some(sentences)
}

/// Where sentences may end: Unicode's boundaries, and the places after Chinese semicolons.
fn boundaries(text: &str, stop: &dyn Fn() -> bool) -> Option<Vec<usize>> {
    let shortened = Shortened::of(text);
    let mut boundaries: Vec<usize> = Vec::new();
    let mut shift = shortened.shifts.iter().copied().peekable();
    let mut shifted = 0;
    for (number, (start, _)) in shortened
        .text
        .split_sentence_bound_indices()
        .enumerate()
        .skip(1)
    {
        if number % 1024 == 0 && stop() {
            return None;
        }
        while let Some((_, by)) = shift.next_if(|&(from, _)| from <= start) {
            shifted = by;
        }
        boundaries.push(start + shifted);
    }
    boundaries.extend(
        text.match_indices('；')
            .map(|(at, mark)| at + mark.len())
            .map(|after| text.len() - text[after..].trim_start_matches(is_closing).len()),
    );
    boundaries.retain(|&boundary| boundary < text.len());
    boundaries.sort_unstable();
    boundaries.dedup();
    Some(boundaries)
}

/// A text whose long runs of punctuation and spaces lack their middle.
struct Shortened<'t> {
    text: Cow<'t, str>,
    /// Positions, each with the number of bytes missing before it.
    shifts: Vec<(usize, usize)>,
}

impl<'t> Shortened<'t> {
    fn of(text: &'t str) -> Self {
        let mut shortened = String::new();
        let mut shifts = Vec::new();
        // The end of the copied text, and the start of the current run.
        let (mut copied, mut run) = (0, None);
        let mut cut = |start: usize, end: usize| {
            let kept = LONGEST_RUN / 2;
            let run = &text[start..end];
            if run.len() <= LONGEST_RUN {
                return;
            }
            let first = run.char_indices().nth(kept).map(|(at, _)| start + at);
            let last = run.char_indices().rev().nth(kept - 1);
            let last = last.map(|(at, _)| start + at);
            if let (Some(first), Some(last)) = (first, last)
                && first < last
            {
                shortened.push_str(&text[copied..first]);
                shifts.push((shortened.len(), last - shortened.len()));
                copied = last;
            }
        };
        for (offset, character) in text.char_indices() {
            match (is_in_run(character), run) {
                (true, None) => run = Some(offset),
                (false, Some(start)) => {
                    cut(start, offset);
                    run = None;
                }
                _ => {}
            }
        }
        if let Some(start) = run {
            cut(start, text.len());
        }
        if copied == 0 {
            return Self {
                text: Cow::Borrowed(text),
                shifts,
            };
        }
        shortened.push_str(&text[copied..]);
        Self {
            text: Cow::Owned(shortened),
            shifts,
        }
    }
}

/// Whether a character is neither part of a word nor the end of a line.
fn is_in_run(character: char) -> bool {
    !character.is_alphanumeric()
        && !matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether the text before a boundary is a whole sentence, given the space after it and the text
/// that follows.
fn is_sentence_end(before: &str, space: &str, next: &str) -> bool {
    let sentence = before.trim_end();
    let breaks = line_breaks(&before[sentence.len()..]) + line_breaks(space);
    if breaks >= 2 {
        return true;
    }
    let unquoted = sentence.trim_end_matches(is_closing);
    match unquoted.chars().next_back() {
        Some('。' | '！' | '？' | '；' | '｡') => true,
        Some('.') if unquoted.len() == sentence.len() => {
            !begins_lowercase(next) && !is_abbreviation(unquoted, next)
        }
        Some('.' | '!' | '?' | '…' | '‼' | '⁇' | '⁈' | '⁉') => !begins_lowercase(next),
        // Without punctuation only a line break ends a sentence.
        _ if breaks == 1 => {
            let line = sentence.chars().rev().take(WRAPPED_LINE_CHARS);
            !begins_lowercase(next) && line.take_while(|&c| c != '\n').count() < WRAPPED_LINE_CHARS
        }
        _ => true,
    }
}

/// Whether the full stop that ends `before` ends a word and not the sentence.
fn is_abbreviation(before: &str, next: &str) -> bool {
    let stem = before.strip_suffix('.').unwrap_or(before);
    let last = stem.char_indices().rev().take(LONGEST_WORD + 1);
    let space = last.clone().find(|(_, c)| c.is_whitespace());
    let start = match (space, last.last()) {
        (Some((at, _)), _) | (None, Some((at @ 0, _))) => at,
        _ => return false, // too long for an abbreviation
    };
    let word = stem[start..].trim_start_matches(|c: char| !c.is_alphanumeric());
    if word.is_empty() {
        return false;
    }
    if stem.len() <= LONGEST_WORD && stem.chars().all(|c| c.is_ascii_digit()) {
        return true; // the number of a list item
    }
    let lower = word.to_lowercase();
    if BEFORE_MORE.contains(&lower.as_str()) {
        return true;
    }
    if BEFORE_NUMBER.contains(&lower.as_str()) && next.starts_with(|c: char| c.is_ascii_digit()) {
        return true;
    }
    is_initials(word) && begins_name(next)
}

/// Single letters between full stops, the first a capital: "J", "J.-P", "U.S", "Ph.D".
fn is_initials(word: &str) -> bool {
    word.starts_with(char::is_uppercase)
        && word.split(['.', '-']).all(|part| part.chars().count() <= 2)
        && word.split(['.', '-']).any(|part| part.chars().count() == 1)
}

/// Whether the next word may be part of a name rather than the start of a sentence.
fn begins_name(next: &str) -> bool {
    let letters = next.chars().take(LONGEST_WORD);
    let word: String = letters.take_while(|c| c.is_alphanumeric()).collect();
    let is_initial = word.chars().count() == 1 && next[word.len()..].starts_with('.');
    next.starts_with(char::is_alphabetic) && (is_initial || !STARTERS.contains(&word.as_str()))
}

fn begins_lowercase(text: &str) -> bool {
    text.starts_with(char::is_lowercase)
}

fn line_breaks(space: &str) -> usize {
    space
        .chars()
        .filter(|c| matches!(c, '\n' | '\u{2029}'))
        .count()
}

fn is_closing(character: char) -> bool {
    "\"')]}”’»」』）》〉】］〕".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: &[&str]) {
        assert_eq!(sentences(&expected.join(" ")), expected);
    }

    #[test]
    fn ordinary_sentences() {
        check(&["It rained.", "Nobody came!", "Did they know?", "No."]);
        assert_eq!(sentences(""), [""; 0]);
        assert_eq!(sentences("  \n "), [""; 0]);
        assert_eq!(sentences("no mark at all"), ["no mark at all"]);
    }

    #[test]
    fn abbreviations_and_initials() {
        check(&["Dr. Ito met Mrs. Berg.", "They talked."]);
        check(&["J. R. R. Tolkien wrote it.", "So did J. Smith."]);
        check(&["The U.S. Army left.", "The war was over."]);
        check(&["He lived in the U.S.", "The rest is known."]);
        check(&["It holds vitamin C.", "The peel holds more."]);
        check(&["See fig. 3 and no. 12.", "He said no.", "She left."]);
        check(&[
            "Fruits, e.g. apples, i.e. these, etc. are sweet.",
            "Eat them.",
        ]);
        check(&["Jean-Paul and J.-P. Sartre are one."]);
    }

    #[test]
    fn numbers_and_quotes() {
        check(&["It cost 3.50 euros.", "Pi is 3.14."]);
        check(&["\"Why?\" he asked.", "She left."]);
        check(&["She said \"Stop.\"", "He stopped."]);
        check(&["“Go!”", "They went (slowly.)", "Then they ran."]);
        check(&["1. Wash the rice.", "It takes long."]);
    }

    #[test]
    fn chinese_and_japanese() {
        assert_eq!(
            sentences("今天下雨。你来吗？来！他说：“好的。”然后走了；我留下。"),
            [
                "今天下雨。",
                "你来吗？",
                "来！",
                "他说：“好的。”",
                "然后走了；",
                "我留下。"
            ]
        );
        assert_eq!(
            sentences("「行くよ。」彼は言った。雨だ。"),
            ["「行くよ。」", "彼は言った。", "雨だ。"]
        );
        assert_eq!(sentences("圆周率是3.14。对"), ["圆周率是3.14。", "对"]);
    }

    /// Shortening long runs changes no boundary.
    #[test]
    fn long_runs() {
        for run in [".", " ", "\t", "-", ")", "\"", "_", "。"] {
            let long = format!("Before it. One{}Two goes on. After.", run.repeat(40));
            let short = format!("Before it. One{}Two goes on. After.", run.repeat(14));
            assert_eq!(
                sentences(&long).concat().replace(run, ""),
                sentences(&short).concat().replace(run, "")
            );
            assert_eq!(sentences(&long).len(), sentences(&short).len(), "{run:?}");
        }
        let wide = " ".repeat(50);
        assert_eq!(
            sentences(&format!("One.{wide}Two is.{wide}\n{wide}Three is.")),
            ["One.", "Two is.", "Three is."]
        );
        let quoted = format!("(He said.{}) Then he left.", ")".repeat(30));
        assert_eq!(sentences(&quoted).len(), 2);
    }

    #[test]
    fn lines() {
        assert_eq!(
            sentences("A heading\nThe text of it.\n\nno mark\n\nnext"),
            ["A heading", "The text of it.", "no mark", "next"]
        );
        let wrapped = "This line is wrapped by an editor at seventy characters, so that\nParis stands on the next.";
        assert_eq!(sentences(wrapped), [wrapped]);
        assert_eq!(
            sentences("ends low\nand goes on."),
            ["ends low\nand goes on."]
        );
    }
}

//! Sentence borders: those of Unicode's rules (UAX #29), repaired where these know no language.
//!
//! Repaired are abbreviations ("Dr. Ito"), initials ("J. R. R. Tolkien"), quoted questions
//! (`"Why?" he asked`), numbers of list items, hard-wrapped lines and the Chinese semicolon.
//! The repairs know English abbreviations; they find no sentences in text without punctuation.

use unicode_segmentation::UnicodeSegmentation;

/// Abbreviations after which a sentence always goes on.
const BEFORE_MORE: &[&str] = &[
    "adm", "approx", "ca", "capt", "cf", "cmdr", "col", "dr", "e.g", "eg", "fr", "gen", "gov",
    "hon", "i.e", "ie", "lt", "messrs", "mr", "mrs", "ms", "mt", "prof", "rep", "rev", "sen",
    "sgt", "st", "viz", "vs",
];

/// Abbreviations after which a sentence goes on if a number follows.
const BEFORE_NUMBER: &[&str] = &[
    "apr", "art", "aug", "ch", "dec", "eq", "eqs", "feb", "fig", "figs", "jan", "jul", "jun",
    "mar", "no", "nos", "nov", "oct", "p", "pp", "sec", "sep", "sept", "vol", "vols",
];

/// Words that begin a sentence far more often than a name.
const STARTERS: &[&str] = &[
    "A", "After", "All", "Also", "Although", "An", "And", "As", "At", "Because", "Both", "But",
    "By", "During", "Each", "For", "From", "He", "Her", "His", "How", "However", "I", "If", "In",
    "It", "Its", "Many", "Most", "My", "No", "Not", "On", "One", "Our", "She", "Since", "So",
    "Some", "Such", "That", "The", "Their", "Then", "There", "These", "They", "This", "Those",
    "Thus", "To", "Today", "Two", "Under", "We", "Were", "What", "When", "Where", "Which", "While",
    "Who", "Why", "With", "You", "Your",
];

/// A line of at least so many characters is taken to be wrapped, not ended.
const WRAPPED_LINE_CHARS: usize = 60;

/// The sentences of `text`, in order, without the white space around them, none of them empty.
#[must_use]
pub fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for border in borders(text) {
        if is_sentence_end(&text[start..border], &text[border..]) {
            found.push(text[start..border].trim());
            start = border;
        }
    }
    found.push(text[start..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// Where sentences may end: Unicode's borders, and the places after Chinese semicolons.
fn borders(text: &str) -> Vec<usize> {
    let mut borders: Vec<usize> = text
        .split_sentence_bound_indices()
        .map(|(start, _)| start)
        .skip(1)
        .collect();
    borders.extend(
        text.match_indices('；')
            .map(|(at, mark)| at + mark.len())
            .map(|after| text.len() - text[after..].trim_start_matches(is_closing).len()),
    );
    borders.retain(|&border| border < text.len());
    borders.sort_unstable();
    borders.dedup();
    borders
}

/// Whether the text before a border is a whole sentence, in view of the text after it.
fn is_sentence_end(before: &str, after: &str) -> bool {
    let sentence = before.trim_end();
    let breaks = line_breaks(&before[sentence.len()..]) + line_breaks(leading_space(after));
    if breaks >= 2 {
        return true;
    }
    let next = after.trim_start();
    let unquoted = sentence.trim_end_matches(is_closing);
    match unquoted.chars().next_back() {
        Some('。' | '！' | '？' | '；' | '｡') => true,
        Some('.') if unquoted.len() == sentence.len() => {
            !begins_lowercase(next) && !is_abbreviation(unquoted, next)
        }
        Some('.' | '!' | '?' | '…' | '‼' | '⁇' | '⁈' | '⁉') => !begins_lowercase(next),
        // Only a line break can end a sentence without a mark.
        _ if breaks == 1 => {
            let line = sentence.rsplit('\n').next().unwrap_or(sentence);
            !begins_lowercase(next) && line.chars().count() < WRAPPED_LINE_CHARS
        }
        _ => true,
    }
}

/// Whether the full stop that ends `before` ends a word and not the sentence.
fn is_abbreviation(before: &str, next: &str) -> bool {
    let stem = before.strip_suffix('.').unwrap_or(before);
    let start = stem.rfind(char::is_whitespace).map_or(0, |at| {
        at + stem[at..].chars().next().map_or(1, char::len_utf8)
    });
    let word = stem[start..].trim_start_matches(|c: char| !c.is_alphanumeric());
    if word.is_empty() {
        return false;
    }
    if stem.trim_start().chars().all(|c| c.is_ascii_digit()) {
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

/// Whether the next word can be a part of a name rather than begin a sentence.
fn begins_name(next: &str) -> bool {
    let word: String = next.chars().take_while(|c| c.is_alphanumeric()).collect();
    let is_initial = word.chars().count() == 1 && next[word.len()..].starts_with('.');
    next.starts_with(char::is_alphabetic) && (is_initial || !STARTERS.contains(&word.as_str()))
}

fn begins_lowercase(text: &str) -> bool {
    text.starts_with(char::is_lowercase)
}

fn leading_space(text: &str) -> &str {
    &text[..text.len() - text.trim_start().len()]
}

fn line_breaks(space: &str) -> usize {
    space
        .chars()
        .filter(|c| matches!(c, '\n' | '\u{2029}'))
        .count()
}

fn is_closing(character: char) -> bool {
    matches!(
        character,
        '"' | '\''
            | ')'
            | ']'
            | '}'
            | '”'
            | '’'
            | '»'
            | '」'
            | '』'
            | '）'
            | '》'
            | '〉'
            | '】'
            | '］'
            | '〕'
    )
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

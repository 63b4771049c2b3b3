//! The text of a line: spaces between its words, and the order of its letters.

use std::collections::HashSet;
use std::ops::Range;

use unicode_bidi::{BidiClass, BidiInfo, bidi_class};

use super::run::Run;

/// A gap of this share of the font size is a space.
const SPACE: f32 = 0.1;
/// Letters are set apart if this share of the gaps between them is wide, and there are at least
/// this many letters.
const APART: f32 = 0.8;
const FEWEST_APART: usize = 5;
/// A gap of this share of the font size is too wide for the letters of one word: of any letters, of those that read like
/// a word, and of the capitals of a heading.
const WIDE: f32 = 0.25;
const WIDEST_APART: f32 = 0.4;
const WIDEST_HEADING: f32 = 0.75;
/// The most letters of a heading that are set apart, and the longest cell of a row beside a row of letters.
const MOST_APART: usize = 100;
const LONGEST_CELL: usize = 3;
/// Words have at least this many different letters together, and a vowel among this many.
const FEWEST_LETTERS: usize = 4;
const LETTERS_PER_VOWEL: usize = 5;

/// A line: pieces with wide gaps between them, from left to right.
pub(super) struct Line<'a> {
    pub(super) pieces: Vec<Vec<&'a Run>>,
    /// Its position on the page, growing downwards.
    pub(super) place: f32,
    pub(super) size: f32,
}

/// The text of a line.
pub(super) fn written(line: &Line<'_>) -> String {
    let mut text = String::new();
    for piece in &line.pieces {
        let piece = spaced(piece, false);
        if !text.is_empty() && !text.ends_with(' ') && !piece.starts_with(' ') {
            text.push(' ');
        }
        text.push_str(&piece);
    }
    logical(text)
}

/// The texts of a line's pieces.
pub(super) fn fields(line: &Line<'_>) -> Vec<String> {
    let pieces = line.pieces.iter();
    pieces.map(|piece| spaced(piece, false)).collect()
}

/// The words of a heading whose capitals are set apart, by spaces or by gaps: `P U M P  S E V E N`. `None` for other
/// lines, given their texts: also for a row of letters, such as answers, which has cells of a row beside it
/// or does not read like words.
pub(super) fn heading(line: &Line<'_>, text: &str, beside: [Option<&str>; 2]) -> Option<String> {
    let count = text.split_whitespace().take(MOST_APART + 1).count();
    let is_capital = |cell: &str| {
        let mut letters = cell.chars();
        letters.next().is_some_and(char::is_uppercase) && letters.next().is_none()
    };
    let is_row = |text: &&str| {
        let mut cells = text.split_whitespace();
        cells.clone().take(MOST_APART).count() == count
            && cells.all(|cell| cell.chars().nth(LONGEST_CELL).is_none())
    };
    if !(FEWEST_APART..=MOST_APART).contains(&count)
        || !text.split_whitespace().all(is_capital)
        || !reads_like_words(text)
        || beside.iter().flatten().any(is_row)
    {
        return None;
    }
    let words = line.pieces.iter().flat_map(|piece| spelled(piece));
    Some(words.collect::<Vec<_>>().join(" "))
}

/// The words of adjacent runs of single letters.
fn spelled(runs: &[&Run]) -> Vec<String> {
    if !runs.iter().any(|run| run.text.trim().contains(' ')) {
        let words = spaced(runs, true);
        return words.split_whitespace().map(str::to_owned).collect();
    }
    let (text, gaps) = drawn(runs);
    let mut parted = String::with_capacity(text.len());
    let mut written = 0;
    for (offset, _) in gaps.into_iter().filter(|(_, gap)| *gap > WIDEST_APART) {
        parted.push_str(text.get(written..offset).unwrap_or_default());
        parted.push_str("  ");
        written = offset;
    }
    parted.push_str(text.get(written..).unwrap_or_default());
    let words = parted.split("  ").map(|word| word.replace(' ', ""));
    words.filter(|word| !word.is_empty()).collect()
}

/// The text of adjacent runs, and the gaps in it by their places, in shares of the font size.
fn drawn(runs: &[&Run]) -> (String, Vec<(usize, f32)>) {
    let mut text = String::new();
    let mut gaps: Vec<(usize, f32)> = Vec::new();
    let mut last: Option<&Run> = None;
    for run in runs {
        if let Some(last) = last {
            let gap = (run.start - last.end) / run.size.min(last.size).max(0.001);
            gaps.push((text.len(), gap));
        }
        gaps.extend(
            run.gaps
                .iter()
                .map(|&(offset, gap)| (text.len() + offset, gap)),
        );
        text.push_str(&run.text);
        last = Some(run);
    }
    (text, gaps)
}

/// The text of adjacent runs, with spaces for gaps.
fn spaced(runs: &[&Run], in_heading: bool) -> String {
    let (text, gaps) = drawn(runs);
    let least = least_space(&text, &gaps, in_heading);
    let mut spaced = String::with_capacity(text.len() + gaps.len());
    let mut written = 0;
    let mut push = |part: &str, with_space: bool| {
        if with_space {
            spaced.push(' ');
        }
        for character in part.chars() {
            if character != ' ' || !spaced.ends_with(' ') {
                spaced.push(character);
            }
        }
    };
    let mut before = false;
    for (offset, gap) in gaps {
        push(text.get(written..offset).unwrap_or_default(), before);
        let (left, right) = text.split_at_checked(offset).unwrap_or_default();
        before = gap > least && !left.ends_with(' ') && !right.starts_with(' ');
        written = offset;
    }
    push(text.get(written..).unwrap_or_default(), before);
    spaced
}

/// The least gap that is a space: wider than the gaps between letters that are set apart.
fn least_space(text: &str, gaps: &[(usize, f32)], in_heading: bool) -> f32 {
    let letters = text.chars().filter(|&character| character != ' ').count();
    let is_word = text
        .chars()
        .all(|character| character.is_alphabetic() || character == ' ');
    if letters < 2 || (letters < FEWEST_APART && !in_heading) || !is_word {
        return SPACE;
    }
    let mut wide: Vec<f32> = gaps.iter().map(|&(_, gap)| gap).collect();
    wide.retain(|&gap| gap > SPACE / 2.0);
    if (wide.len() as f32) < APART * (letters - 1) as f32 {
        return SPACE;
    }
    wide.sort_by(f32::total_cmp);
    let widest = match in_heading {
        true => WIDEST_HEADING,
        false if reads_like_words(text) => WIDEST_APART,
        false => WIDE,
    };
    match wide.get(wide.len() / 2) {
        Some(&usual) if usual < widest => (1.5 * usual).max(SPACE),
        _ => SPACE,
    }
}

/// Whether letters may be words: they are no list of letters in their order, nor choices such as `B`, `yes` and `S`, which
/// are few or have hardly a vowel. The vowels of other alphabets are not known.
fn reads_like_words(text: &str) -> bool {
    let letters = text.chars().filter(|character| !character.is_whitespace());
    let letters: Vec<char> = letters.flat_map(char::to_uppercase).collect();
    let kinds: HashSet<char> = letters.iter().copied().collect();
    let vowels = letters.iter().filter(|letter| "AEIOUY".contains(**letter));
    let may_have_vowels = vowels.count() * LETTERS_PER_VOWEL >= letters.len()
        || !letters.iter().all(char::is_ascii_alphabetic);
    kinds.len() >= FEWEST_LETTERS
        && may_have_vowels
        && !kinds.iter().all(|letter| ('A'..='F').contains(letter))
        && !letters.windows(2).all(|pair| pair[0] < pair[1])
}

/// Converts a line from visual to reading order.
///
/// Visual order follows from reading order by reversing runs of right-to-left text, and doing so again leads
/// back.
fn logical(text: String) -> String {
    let is_turned = |character| matches!(bidi_class(character), BidiClass::R | BidiClass::AL);
    if !text.chars().any(is_turned) {
        return text;
    }
    let turned = text
        .chars()
        .filter(|&character| is_turned(character))
        .count();
    let others = text
        .chars()
        .filter(|&character| bidi_class(character) == BidiClass::L);
    let base = match turned >= others.count() {
        true => unicode_bidi::Level::rtl(),
        false => unicode_bidi::Level::ltr(),
    };
    let info = BidiInfo::new(&text, Some(base));
    let Some(paragraph) = info.paragraphs.first() else {
        return text;
    };
    let (levels, runs) = info.visual_runs(paragraph, 0..text.len());
    let parts = runs.iter().map(|Range { start, end }| {
        let is_turned = levels.get(*start).is_some_and(unicode_bidi::Level::is_rtl);
        (text.get(*start..*end).unwrap_or_default(), is_turned)
    });
    // Some files give the shape of a bracket, others its meaning.
    let turned = parts.clone().filter(|(_, is_turned)| *is_turned);
    let mut brackets = turned
        .flat_map(|(part, _)| part.chars().rev())
        .filter(|&character| mirrored(character) != character);
    let by_looks = brackets
        .next()
        .is_some_and(|first| CLOSING.contains(&first));
    let mut ordered = String::with_capacity(text.len());
    for (part, is_turned) in parts {
        match (is_turned, by_looks) {
            (true, true) => ordered.extend(part.chars().rev().map(mirrored)),
            (true, false) => ordered.extend(part.chars().rev()),
            (false, _) => ordered.push_str(part),
        }
    }
    ordered
}

/// The closing brackets.
const CLOSING: [char; 5] = [')', ']', '}', '>', '»'];

/// A bracket looks the other way in right-to-left text.
fn mirrored(character: char) -> char {
    match character {
        '(' => ')',
        ')' => '(',
        '[' => ']',
        ']' => '[',
        '{' => '}',
        '}' => '{',
        '<' => '>',
        '>' => '<',
        '«' => '»',
        '»' => '«',
        character => character,
    }
}

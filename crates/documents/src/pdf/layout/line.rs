//! The text of a line: spaces between its words, and the order of its letters.

use std::ops::Range;

use unicode_bidi::{BidiClass, BidiInfo, bidi_class};

use super::run::Run;

/// A gap of this share of the font size is a space.
const SPACE: f32 = 0.1;
/// Letters are set apart if this share of the gaps between them is wide, and there are at least
/// this many letters.
const APART: f32 = 0.8;
const FEWEST_APART: usize = 5;
/// A gap of this share of the font size is too wide for the letters of one word, and for capitals of a heading.
const WIDEST_APART: f32 = 0.4;
const WIDEST_HEADING: f32 = 0.75;
/// Capitals with spaces between them are words if there are at least this many.
const FEWEST_SPELLED: usize = 6;

/// A line: pieces with wide gaps between them, from left to right.
pub(super) struct Line<'a> {
    pub(super) pieces: Vec<Vec<&'a Run>>,
    /// Its position on the page, growing downwards.
    pub(super) place: f32,
    pub(super) size: f32,
}

/// The text of a line.
pub(super) fn written(line: &Line<'_>) -> String {
    let drawn = line.pieces.iter().map(|piece| {
        let runs = piece.iter().map(|run| run.text.as_str());
        runs.collect::<String>()
    });
    if let Some(words) = spelled(&drawn.collect::<Vec<_>>().join("  ")) {
        return words;
    }
    let mut text = String::new();
    for piece in &line.pieces {
        let piece = spaced(piece);
        if !text.is_empty() && !text.ends_with(' ') && !piece.starts_with(' ') {
            text.push(' ');
        }
        text.push_str(&piece);
    }
    logical(text)
}

/// The texts of a line's pieces.
pub(super) fn fields(line: &Line<'_>) -> Vec<String> {
    line.pieces.iter().map(|piece| spaced(piece)).collect()
}

/// The text of adjacent runs, with spaces for gaps.
fn spaced(runs: &[&Run]) -> String {
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
    let least = least_space(&text, &gaps);
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
fn least_space(text: &str, gaps: &[(usize, f32)]) -> f32 {
    let letters = text.chars().filter(|&character| character != ' ').count();
    let is_word = text
        .chars()
        .all(|character| character.is_alphabetic() || character == ' ');
    if letters < FEWEST_APART || !is_word {
        return SPACE;
    }
    let mut wide: Vec<f32> = gaps.iter().map(|&(_, gap)| gap).collect();
    wide.retain(|&gap| gap > SPACE / 2.0);
    if (wide.len() as f32) < APART * (letters - 1) as f32 {
        return SPACE;
    }
    wide.sort_by(f32::total_cmp);
    let widest = match is_heading(text) {
        true => WIDEST_HEADING,
        false => WIDEST_APART,
    };
    match wide.get(wide.len() / 2) {
        Some(&usual) if usual < widest => (1.5 * usual).max(SPACE),
        _ => SPACE,
    }
}

/// The words of a heading whose letters have spaces between them: `P U M P  S E V E N`.
fn spelled(text: &str) -> Option<String> {
    let mut letters = text.split_whitespace();
    let is_spelled = letters.clone().count() >= FEWEST_SPELLED
        && letters.all(|letter| letter.chars().nth(1).is_none())
        && is_heading(text);
    let words = text.split("  ").map(|word| word.replace(' ', ""));
    let words = words.filter(|word| !word.is_empty());
    is_spelled.then(|| words.collect::<Vec<_>>().join(" "))
}

/// Whether a text is of capitals that are no list of letters in their order.
fn is_heading(text: &str) -> bool {
    let letters: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    letters.iter().all(|letter| letter.is_uppercase())
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

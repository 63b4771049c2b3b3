//! Text as programs write it for a terminal: with escape sequences, and letters struck over one another.

use std::borrow::Cow;

/// What begins an escape sequence, such as `ESC[31m`, which colors text.
const ESCAPE: &str = "\u{1b}[";

/// What moves back by a letter, so that the next one is struck over it, as manual pages make words bold or underlined.
const BACK: char = '\u{8}';

/// The text that a terminal shows.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    let text: Cow<'_, str> = match text.contains(ESCAPE) {
        true => without_escapes(text).into(),
        false => text.into(),
    };
    match text.contains(BACK) {
        true => overstruck(&text).into(),
        false => text,
    }
}

fn without_escapes(text: &str) -> String {
    let mut pieces = text.split(ESCAPE);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let shown = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';' || c == '?');
        let shown = shown.strip_prefix(|c: char| c.is_ascii_alphabetic());
        out.push_str(shown.unwrap_or(piece));
    }
    out
}

/// A text in which the last letter at each place counts, or the one that is underlined.
fn overstruck(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != BACK || out.is_empty() || out.ends_with('\n') {
            out.push(letter);
            continue;
        }
        let below = out.pop();
        match letters.next() {
            Some('_') | None => out.extend(below),
            above => out.extend(above),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_and_overstruck_letters() {
        for (text, expected) in [
            ("a\u{1b}[1;31mred\u{1b}[0m\u{1b}[K b\u{1b}[?25h", "ared b"),
            (
                "N\u{8}NA\u{8}AM\u{8}ME\u{8}E\n  _\u{8}f_\u{8}i l\u{8}_ \u{e9}\u{8}\u{e9}",
                "NAME\n  fi l \u{e9}",
            ),
            ("+\u{8}o x\u{8}x\u{8}x", "o x"),
            ("[0m \u{1b}", "[0m \u{1b}"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }
}

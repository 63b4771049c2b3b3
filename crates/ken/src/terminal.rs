//! Text that is safe to send to a terminal. Names, documents, models and endpoints hold whatever strangers wrote, and
//! a terminal obeys control characters: it clears the screen, sets its title, forges lines. They are shown as
//! `\u{1b}` instead.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;

/// Whether stdout is a terminal. Anything else gets every byte as it is.
static ON_STDOUT: LazyLock<bool> = LazyLock::new(|| io::stdout().is_terminal());

/// Longer lines of text are hard to read.
const MOST_COLUMNS: usize = 100;

/// For a terminal that does not tell its width.
const USUAL_COLUMNS: usize = 80;

pub(crate) fn is_on_stdout() -> bool {
    *ON_STDOUT
}

/// The columns that text on stdout may take.
pub(crate) fn columns() -> usize {
    width().min(MOST_COLUMNS)
}

/// The columns that a table on stdout may take: those of the terminal, or any number elsewhere.
pub(crate) fn width() -> usize {
    let size = terminal_size::terminal_size_of(io::stdout());
    match is_on_stdout() {
        true => size.map_or(USUAL_COLUMNS, |(width, _)| usize::from(width.0)),
        false => usize::MAX,
    }
}

/// Text for stdout, escaped by one of the functions below if stdout is a terminal.
pub(crate) fn for_stdout(text: &str, escape: fn(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    match *ON_STDOUT {
        true => escape(text),
        false => Cow::Borrowed(text),
    }
}

/// Writes a remark to stderr in one line, whatever it holds: a log is read as lines, too.
pub(crate) fn remark(text: impl fmt::Display) {
    labelled("", text);
}

/// As [`remark`], after a label of ken's own.
pub(crate) fn labelled(label: &str, text: impl fmt::Display) {
    // If stderr is gone, this reaches no one.
    let _ = writeln!(io::stderr().lock(), "{label}{}", line(&text.to_string()));
}

/// Whether a terminal obeys the character, or a person would read other text than is there: controls, and what turns
/// the direction of writing.
fn is_obeyed(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text of several lines: its line breaks and tabs stay.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    // Line ends of other systems end lines here as well.
    let is_shown = |letter| is_obeyed(letter) && !matches!(letter, '\n' | '\t');
    if text.contains("\r\n") {
        let text = text.replace("\r\n", "\n");
        return Cow::Owned(escaped(&text, is_shown, by_number).into_owned());
    }
    escaped(text, is_shown, by_number)
}

/// Text of one line, in which nothing begins another.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    let is_shown = |letter| is_obeyed(letter) || matches!(letter, '\u{2028}' | '\u{2029}');
    escaped(text, is_shown, by_number)
}

/// JSON with the same meaning: JSON escapes replace the characters that it lets stand.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    let is_shown = |letter| is_obeyed(letter) && letter != '\n';
    escaped(text, is_shown, |letter| {
        format!("\\u{:04x}", u32::from(letter))
    })
}

fn by_number(letter: char) -> String {
    letter.escape_unicode().to_string()
}

fn escaped(
    text: &str,
    is_shown: impl Fn(char) -> bool,
    escape: impl Fn(char) -> String,
) -> Cow<'_, str> {
    if !text.contains(&is_shown) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match is_shown(letter) {
            true => shown += &escape(letter),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_by_its_number() {
        let given = "a\u{1b}[2J\u{7}\r\n\tb\r\u{7f}\u{9b}31m\u{202e}c\u{2066}é海\u{2028}d\n";
        assert_eq!(
            text(given),
            "a\\u{1b}[2J\\u{7}\n\tb\\u{d}\\u{7f}\\u{9b}31m\\u{202e}c\\u{2066}é海\u{2028}d\n"
        );
        assert_eq!(
            line("a\r\n\tb\u{85}\u{2028}c\u{2029}é"),
            "a\\u{d}\\u{a}\\u{9}b\\u{85}\\u{2028}c\\u{2029}é"
        );
        assert!(matches!(text("plain\n\té"), Cow::Borrowed(_)));
    }

    #[test]
    fn escaped_json_means_the_same() {
        let value = serde_json::json!({"a\u{7f}": "\u{1b}\u{9b}\u{202e}\n", "b": 1});
        let shown = json(&value.to_string()).into_owned();
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
        assert!(!shown.chars().any(is_obeyed), "{shown}");
    }
}

//! How output looks on a terminal: strong, marked and dim parts, and lines that break between words. Each part is
//! escaped before it is styled.

use std::borrow::Cow;
use std::io;
use std::sync::LazyLock;

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::terminal;

/// How a part looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Titles and the numbers of citations.
    Strong,
    /// Words that fit what was asked for.
    Marked,
    /// Details: ids, scores, the trace.
    Dim,
    Error,
    Warning,
    Hint,
}

impl Look {
    fn style(self) -> Style {
        let in_color = |color: AnsiColor| Style::new().bold().fg_color(Some(color.into()));
        match self {
            Self::Strong => Style::new().bold(),
            Self::Marked | Self::Warning => in_color(AnsiColor::Yellow),
            Self::Dim => Style::new().dimmed(),
            Self::Error => in_color(AnsiColor::Red),
            Self::Hint => in_color(AnsiColor::Green),
        }
    }
}

static ON_STDOUT: LazyLock<bool> = LazyLock::new(|| has_styles(&io::stdout()));
static ON_STDERR: LazyLock<bool> = LazyLock::new(|| has_styles(&io::stderr()));

/// Whether a stream gets styles: as --color says, or else if it is a terminal, unless NO_COLOR or TERM deny it.
fn has_styles(stream: &impl anstream::stream::RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// Sets when there are styles, for all later output.
pub(crate) fn choose(choice: clap::ColorChoice) {
    let choice = match choice {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Text for stderr.
pub(crate) fn on_stderr(look: Look, text: &str) -> String {
    painted(*ON_STDERR, look, terminal::line(text))
}

fn painted(has_styles: bool, look: Look, text: Cow<'_, str>) -> String {
    match has_styles && !text.is_empty() {
        true => format!("{0}{text}{0:#}", look.style()),
        false => text.into_owned(),
    }
}

/// Text for stdout, made of parts.
#[derive(Debug, Default)]
pub(crate) struct Styled(String);

impl Styled {
    pub(crate) fn plain(mut self, text: &str) -> Self {
        self.0 += &terminal::for_stdout(text, terminal::line);
        self
    }

    pub(crate) fn with(mut self, look: Look, text: &str) -> Self {
        let text = terminal::for_stdout(text, terminal::line);
        self.0 += &painted(*ON_STDOUT, look, text);
        self
    }

    /// The line, broken between words on a terminal, where its continuation begins after `indent` spaces.
    pub(crate) fn shown(&self, indent: usize) -> String {
        match terminal::is_on_stdout() {
            true => Flow::new(terminal::columns(), indent).push(&format!("{}\n", self.0)),
            false => format!("{}\n", self.0.trim_end_matches(' ')),
        }
    }
}

/// Breaks text between words as it arrives in pieces. Code, tables and indented lines stay as they are.
pub(crate) struct Flow {
    columns: usize,
    indent: usize,
    /// Columns of the line so far.
    column: usize,
    /// Spaces after the last word, which a break replaces.
    gap: String,
    word: String,
    /// Whether a block of code is open.
    is_code: bool,
    /// Whether nothing but spaces is on the line yet.
    is_start: bool,
    /// Whether the line stays as it is.
    is_kept: bool,
}

impl Flow {
    pub(crate) fn new(columns: usize, indent: usize) -> Self {
        Self {
            columns,
            indent,
            column: 0,
            gap: String::new(),
            word: String::new(),
            is_code: false,
            is_start: true,
            is_kept: false,
        }
    }

    /// The text that can be shown so far; a word can when it has ended.
    pub(crate) fn push(&mut self, text: &str) -> String {
        let mut shown = String::new();
        for letter in text.chars() {
            match letter {
                '\n' => {
                    shown += &self.place_word();
                    shown.push('\n');
                    self.gap.clear();
                    (self.column, self.is_start) = (0, true);
                }
                ' ' | '\t' => {
                    shown += &self.place_word();
                    self.gap.push(letter);
                }
                // A line may break before each Han character, but not before closing punctuation.
                wide if wide.width() == Some(2) && wide.is_alphanumeric() => {
                    shown += &self.place_word();
                    self.word.push(wide);
                }
                other => self.word.push(other),
            }
        }
        shown
    }

    /// The word with the gap before it, or with a line break in place of the gap.
    fn place_word(&mut self) -> String {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return word;
        }
        let gap = std::mem::take(&mut self.gap);
        let bare = strip_str(&word).to_string();
        if self.is_start {
            let is_fence = bare.starts_with("```");
            let is_deep = gap.width() >= self.indent + 4;
            self.is_kept = self.is_code || is_fence || is_deep || bare.starts_with('|');
            self.is_code ^= is_fence;
        }
        let is_start = std::mem::replace(&mut self.is_start, false);
        let needed = gap.width() + bare.width();
        if is_start || self.is_kept || self.column + needed <= self.columns {
            self.column += needed;
            return gap + &word;
        }
        self.column = self.indent + bare.width();
        format!("\n{:1$}{word}", "", self.indent)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flowed(columns: usize, indent: usize, pieces: &[&str]) -> String {
        let mut flow = Flow::new(columns, indent);
        let shown: String = pieces.iter().map(|piece| flow.push(piece)).collect();
        shown + &flow.place_word()
    }

    #[test]
    fn lines_end_between_words() {
        let text = "The lamp turns every nine seconds.";
        let expected = "The lamp\n  turns\n  every\n  nine\n  seconds.";
        assert_eq!(flowed(10, 2, &[text]), expected);
        // However the text arrives.
        let letters: Vec<&str> = text.split_inclusive(|_| true).collect();
        assert_eq!(flowed(10, 2, &letters), expected);
        assert_eq!(
            flowed(5, 0, &["a\n\nextraordinary b"]),
            "a\n\nextraordinary\nb"
        );
        assert_eq!(flowed(6, 0, &["灯每九秒转。a"]), "灯每九\n秒\n转。a");
    }

    #[test]
    fn code_and_tables_stay() {
        for kept in [
            "```\nlet a = b + c + d;\n```",
            "| a | b | c | d |",
            "    indented as it was",
        ] {
            assert_eq!(flowed(8, 0, &[kept]), kept);
        }
        let after = "```\na b c d e\n```\na b c d e";
        assert_eq!(flowed(5, 0, &[after]), "```\na b c d e\n```\na b c\nd e");
    }

    #[test]
    fn a_style_takes_no_columns() {
        let strong = painted(true, Look::Strong, "nine".into());
        assert_eq!(strong, "\u{1b}[1mnine\u{1b}[0m");
        let text = format!("each {strong} s");
        assert_eq!(flowed(11, 0, &[&text]), text);
        assert_eq!(painted(false, Look::Strong, "nine".into()), "nine");
        assert_eq!(painted(true, Look::Strong, "".into()), "");
    }

    proptest! {
        #[test]
        fn only_gaps_change(text in "[ab\n 海|`]{0,60}", columns in 1_usize..20) {
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(bare(&flowed(columns, 2, &[&text])), bare(&text));
        }
    }
}

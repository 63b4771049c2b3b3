//! Extensions of Markdown that its parser does not know: notes in boxes (`!!! note`, `:::note`), tabs (`=== "Linux"`) and
//! definitions become paragraphs, and attributes (`{#top}`) are left out.

use std::borrow::Cow;

/// The columns by which the lines of a box are indented.
const INDENT: usize = 4;
/// The longest term that a definition continues, in bytes.
const LONGEST_TERM: usize = 120;

/// The kinds of boxes between colons that are told where they have no title.
const KINDS: [&str; 18] = [
    "abstract",
    "admonition",
    "attention",
    "bug",
    "caution",
    "danger",
    "details",
    "error",
    "example",
    "hint",
    "important",
    "info",
    "note",
    "question",
    "success",
    "tip",
    "todo",
    "warning",
];

/// The meaning of a line that belongs to an extension.
enum Mark<'l> {
    /// It begins a box with this title, whose lines are indented.
    Indented(Cow<'l, str>),
    /// It begins a box with this title between lines of colons.
    Between(Cow<'l, str>),
    /// It ends such a box.
    End,
    Definition(&'l str),
    /// It is these words and attributes.
    Plain(&'l str),
}

impl<'l> Mark<'l> {
    /// The mark that a line without its indentation is.
    fn of(line: &'l str) -> Option<Self> {
        let line = line.trim_end();
        let boxed = ["!!! ", "??? ", "???+ "].into_iter();
        let mut boxed = boxed.filter_map(|mark| line.strip_prefix(mark));
        if let Some(words) = boxed.next() {
            let kind = words.split_whitespace().next().unwrap_or_default();
            return Some(Self::Indented(quoted(words).unwrap_or(capitalized(kind))));
        }
        if let Some(title) = line.strip_prefix("=== ").and_then(quoted) {
            return Some(Self::Indented(title));
        }
        if let Some(words) = without_attributes(line) {
            return Some(Self::Plain(words));
        }
        let words = line.trim_start_matches(':');
        match line.len() - words.len() {
            1 => {
                let definition = words.trim_start();
                let is_apart = definition.len() < words.len() && !definition.is_empty();
                is_apart.then_some(Self::Definition(definition))
            }
            3.. if words.is_empty() => Some(Self::End),
            3.. => Some(Self::Between(title(words))),
            _ => None,
        }
    }
}

/// A heading without its attributes, such as `{#top}`, or nothing of a line that is attributes of a block, such as `{: .note}`.
fn without_attributes(line: &str) -> Option<&str> {
    let (words, attributes) = line.strip_suffix('}')?.rsplit_once('{')?;
    let name = attributes.strip_prefix(['#', '.', ':'])?;
    let is_attribute = name.starts_with(|c: char| c.is_lowercase() || " .#".contains(c));
    let is_heading = words.starts_with('#') && words.ends_with(' ');
    let is_apart = words.is_empty() && attributes.starts_with(':');
    (is_attribute && (is_heading || is_apart)).then(|| words.trim_end())
}

/// The text in double quotes.
fn quoted(words: &str) -> Option<Cow<'_, str>> {
    let (_, inside) = words.split_once('"')?;
    Some(inside.split_once('"')?.0.trim().into())
}

fn capitalized(kind: &str) -> Cow<'_, str> {
    let mut rest = kind.chars();
    match rest.next() {
        Some(first) => (first.to_uppercase().collect::<String>() + rest.as_str()).into(),
        None => kind.into(),
    }
}

/// The title of a box between colons: what follows its kind, in brackets or not, or else the kind if it is known.
fn title(words: &str) -> Cow<'_, str> {
    let words = words.trim().trim_end_matches(':').trim_end();
    let (kind, rest) = words.split_at(words.find([' ', '[']).unwrap_or(words.len()));
    let kind = kind.trim_matches(|c: char| "{}.".contains(c));
    let given = rest.trim();
    let given = given
        .strip_prefix('[')
        .and_then(|given| given.strip_suffix(']'))
        .unwrap_or(given);
    if !given.is_empty() && !given.starts_with('{') && !given.ends_with('}') {
        return given.into();
    }
    match KINDS.contains(&kind) {
        true => capitalized(kind),
        false => "".into(),
    }
}

/// The text with its extensions in plain Markdown.
pub(super) fn plain(markdown: &str) -> Cow<'_, str> {
    let mut lines = markdown.lines();
    if lines.all(|line| Mark::of(line.trim_start()).is_none()) {
        return markdown.into();
    }
    let mut writer = Writer::default();
    for line in markdown.lines() {
        writer.line(line);
    }
    writer.out.into()
}

#[derive(Default)]
struct Writer {
    out: String,
    /// How many boxes are open whose lines are indented.
    boxes: usize,
    /// The sign and the length of the fence of the open code.
    fence: Option<(u8, usize)>,
    /// Whether the last line with words is a definition.
    defined: bool,
}

impl Writer {
    fn line(&mut self, line: &str) {
        if line.trim().is_empty() {
            self.out.push('\n');
            return;
        }
        let inside = self.boxes.min(indent(line) / INDENT);
        if inside < self.boxes {
            self.boxes = inside;
            self.fence = None;
            self.end_paragraph();
        }
        let line = (0..self.boxes).fold(line, |line, _| dedented(line));
        let words = line.trim_start();
        if self.is_code(words) || indent(line) >= INDENT {
            return self.push(line);
        }
        match Mark::of(words) {
            Some(Mark::Indented(title)) => {
                self.title(&title);
                self.boxes += 1;
            }
            Some(Mark::Between(title)) => self.title(&title),
            Some(Mark::End) => self.end_paragraph(),
            Some(Mark::Definition(words)) => self.definition(line, words),
            Some(Mark::Plain(plain)) => {
                let indented = &line[..line.len() - words.len()];
                self.push(&format!("{indented}{plain}"));
            }
            None => self.push(line),
        }
    }

    fn push(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
        self.defined = false;
    }

    fn end_paragraph(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Begins a box. Its first paragraph follows the title on the line of that.
    fn title(&mut self, title: &str) {
        self.end_paragraph();
        if !title.is_empty() {
            self.push(&with_colon(title));
        }
    }

    /// Adds a definition to the line of its term, or begins a paragraph if another one is there.
    fn definition(&mut self, line: &str, words: &str) {
        if self.defined {
            self.end_paragraph();
            self.push(words);
            self.defined = true;
            return;
        }
        let solid = self.out.trim_end().len();
        let start = self.out[..solid].rfind('\n').map_or(0, |before| before + 1);
        let term = &self.out[start..solid];
        let is_term = term.len() <= LONGEST_TERM
            && term.starts_with(|c: char| c.is_alphanumeric() || "*_`[".contains(c))
            && !term.starts_with("```");
        if !is_term {
            return self.push(line);
        }
        let paragraph = format!("{} {words}", with_colon(term));
        self.out.truncate(start);
        self.end_paragraph();
        self.push(&paragraph);
        self.defined = true;
    }

    /// Whether a line belongs to fenced code, its fences included.
    fn is_code(&mut self, words: &str) -> bool {
        let mark = words.bytes().next().unwrap_or_default();
        let length = words.bytes().take_while(|&byte| byte == mark).count();
        let rest = words.get(length..).unwrap_or_default().trim();
        match self.fence {
            Some((open, least)) => {
                if mark == open && length >= least && rest.is_empty() {
                    self.fence = None;
                }
                true
            }
            None => {
                let begins = length >= 3 && (mark == b'~' || (mark == b'`' && !rest.contains('`')));
                self.fence = begins.then_some((mark, length));
                begins
            }
        }
    }
}

fn with_colon(term: &str) -> Cow<'_, str> {
    match term.ends_with([':', '.', '?', '!']) {
        true => term.into(),
        false => format!("{term}:").into(),
    }
}

/// The columns before the words of a line.
fn indent(line: &str) -> usize {
    let space = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    space
        .map(|byte| if byte == b'\t' { INDENT } else { 1 })
        .sum()
}

/// A line without the indentation of a box.
fn dedented(line: &str) -> &str {
    let spaces = line.bytes().take(INDENT).take_while(|&byte| byte == b' ');
    let spaces = spaces.count();
    let rest = &line[spaces..];
    match spaces < INDENT {
        true => rest.strip_prefix('\t').unwrap_or(rest),
        false => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(markdown: &str, expected: &str) {
        assert_eq!(plain(markdown), expected);
    }

    #[test]
    fn boxes_by_indentation() {
        check(
            "Before.\n!!! warning \"Mind the gate\"\n    It shuts.\n\n    ```\n    !!! no\n    ```\n\n    ???+ note inline\n        Slowly.\nAfter.",
            "Before.\n\nMind the gate:\nIt shuts.\n\n```\n!!! no\n```\n\nNote:\nSlowly.\n\nAfter.\n",
        );
        check("!!! tip \"\"\n\tx\n", "x\n");
        check("=== \"Linux\"\n\n    x\n", "Linux:\n\nx\n");
    }

    #[test]
    fn boxes_between_colons() {
        check(
            ":::tip[Oil]\nLittle.\n:::\n\n::: warning Hot\nWait.\n:::\nEnd.\n",
            "Oil:\nLittle.\n\n\nHot:\nWait.\n\nEnd.\n",
        );
        check(":::{note}\nx\n:::\n", "Note:\nx\n\n");
        check("::: {.columns}\nx\n:::\n", "x\n\n");
    }

    #[test]
    fn definitions() {
        check(
            "Pump\n: Moves water.\n\nValve\n\n:   Opens.\n:   Shuts.\nTap\n: Drips.\n",
            "Pump: Moves water.\n\nValve: Opens.\n\nShuts.\n\nTap: Drips.\n",
        );
        check("## Pump\n: x\n", "## Pump\n: x\n");
    }

    #[test]
    fn attributes() {
        check(
            "# Pumps {#top}\n\n## Seven {: .new #s}\nx {#y}\n{: .note}\n# Set {a, b}\n# Use {.NET}\n```\n# x {#y}\n```\n",
            "# Pumps\n\n## Seven\nx {#y}\n\n# Set {a, b}\n# Use {.NET}\n```\n# x {#y}\n```\n",
        );
    }

    #[test]
    fn other_lines_stay() {
        for text in [
            "a\n:warning: b",
            "````\n```\n!!! note\n````\n",
            "a\n    !!! note\n",
            "| a |\n|:-:|\n",
            "What!!! So === \"x\".",
            ":: x",
        ] {
            assert_eq!(plain(text).trim_end(), text.trim_end(), "{text}");
        }
    }
}

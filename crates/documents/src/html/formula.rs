//! Formulas in a line of text: the elements of MathML, and raised and lowered text of HTML.

use super::elements::key;

/// How deep the structure of a formula is followed; deeper parts are read as plain text.
const DEEPEST: usize = 64;
/// The most bytes of an exponent or index; longer raised or lowered text is neither.
const LONGEST_SCRIPT: usize = 64;

/// A formula that is being read.
#[derive(Default)]
pub(crate) struct Formula {
    open: Vec<Node>,
    /// How many elements are open beyond [`DEEPEST`].
    deeper: usize,
}

struct Node {
    kind: Kind,
    name: u64,
    /// The offset of its text.
    start: usize,
    /// How many children were opened.
    children: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its children are written between these, after the first.
    Parts([&'static str; 2]),
    Root,
    Square,
    Fenced,
    Operator,
    Words,
    Token,
    Group,
}

fn kind_of(name: &[u8]) -> Kind {
    match name {
        b"msup" | b"mover" => Kind::Parts(["^", "^"]),
        b"msub" | b"munder" => Kind::Parts(["_", "_"]),
        b"msubsup" | b"munderover" => Kind::Parts(["_", "^"]),
        b"mfrac" => Kind::Parts(["/", "/"]),
        b"mroot" => Kind::Root,
        b"msqrt" => Kind::Square,
        b"mfenced" => Kind::Fenced,
        b"mtr" => Kind::Parts([", ", ", "]),
        b"mtable" => Kind::Parts(["; ", "; "]),
        b"mo" => Kind::Operator,
        b"mtext" | b"ms" => Kind::Words,
        b"mi" | b"mn" => Kind::Token,
        _ => Kind::Group,
    }
}

impl Formula {
    /// Whether HTML may stand here without ending the formula.
    pub(super) fn in_words(&self) -> bool {
        matches!(
            self.open.last().map(|node| node.kind),
            Some(Kind::Words | Kind::Token | Kind::Operator)
        )
    }

    pub(crate) fn start(&mut self, name: &[u8], text: &mut String) {
        if self.open.len() >= DEEPEST {
            self.deeper += 1;
            return;
        }
        if let Some(parent) = self.open.last_mut() {
            let before = match (parent.kind, parent.children) {
                (_, 0) => "",
                (Kind::Parts([first, _]), 1) => first,
                (Kind::Parts([_, second]), _) => second,
                (Kind::Root | Kind::Fenced, _) => ", ",
                _ => "",
            };
            parent.children += 1;
            text.push_str(before);
        }
        let kind = kind_of(name);
        text.push_str(match kind {
            Kind::Root => "root(",
            Kind::Square => "√",
            Kind::Fenced => "(",
            _ => "",
        });
        self.open.push(Node {
            kind,
            name: key(name),
            start: text.len(),
            children: 0,
        });
    }

    pub(crate) fn end(&mut self, name: &[u8], text: &mut String) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        let name = key(name);
        if !self.open.iter().any(|node| node.name == name) {
            return;
        }
        while let Some(node) = self.open.pop() {
            self.finish(&node, text);
            if node.name == name {
                break;
            }
        }
    }

    /// Closes what is open.
    pub(crate) fn finish_all(&mut self, text: &mut String) {
        while let Some(node) = self.open.pop() {
            self.finish(&node, text);
        }
    }

    fn finish(&self, node: &Node, text: &mut String) {
        match node.kind {
            Kind::Root | Kind::Fenced => text.push(')'),
            Kind::Square => group(text, node.start),
            Kind::Operator => space_out(text, node.start),
            _ => {}
        }
        let parent = self.open.last().map(|parent| parent.kind);
        if let Some(Kind::Parts([mark, _])) = parent
            && matches!(mark, "^" | "_" | "/")
        {
            group(text, node.start);
        }
    }

    /// Text between two tags.
    pub(crate) fn text(&self, words: &str, text: &mut String) {
        let in_words = self
            .open
            .last()
            .is_some_and(|node| node.kind == Kind::Words);
        if in_words && words.starts_with(char::is_whitespace) && !text.ends_with(' ') {
            text.push(' ');
        }
        for (number, word) in words.split_whitespace().enumerate() {
            if number > 0 {
                text.push(' ');
            }
            // Invisible operators, such as function application.
            text.extend(
                word.chars()
                    .filter(|c| !matches!(c, '\u{2061}'..='\u{2064}')),
            );
        }
        if in_words && words.ends_with(char::is_whitespace) && !text.ends_with(' ') {
            text.push(' ');
        }
    }
}

/// Puts the text from `start` into brackets, unless it is a single sign, word or number.
pub(crate) fn group(text: &mut String, start: usize) {
    let part = text.get(start..).unwrap_or_default();
    if !is_atom(part) {
        text.insert(start, '(');
        text.push(')');
    }
}

fn is_atom(part: &str) -> bool {
    let bare = part.strip_prefix(['-', '−', '+']).unwrap_or(part);
    let is_single = part.chars().nth(1).is_none();
    let word = bare
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '.' | '\'' | '′' | '°'));
    let in_brackets = part.starts_with('(')
        && part.ends_with(')')
        && !part
            .get(1..part.len() - 1)
            .unwrap_or_default()
            .contains(['(', ')']);
    is_single || word || in_brackets
}

/// Puts spaces around an operator between two operands.
fn space_out(text: &mut String, start: usize) {
    let operator = text.get(start..).unwrap_or_default();
    let spaced = matches!(
        operator,
        "=" | "≠"
            | "≈"
            | "≡"
            | "<"
            | ">"
            | "≤"
            | "≥"
            | "+"
            | "-"
            | "−"
            | "±"
            | "×"
            | "·"
            | "→"
            | "∈"
            | "∼"
    );
    let before = text.get(..start).unwrap_or_default().chars().next_back();
    let operand = |c: char| c.is_alphanumeric() || matches!(c, ')' | ']' | '!' | '′');
    if spaced && before.is_some_and(operand) {
        text.insert(start, ' ');
        text.push(' ');
    }
}

/// Raised or lowered text of HTML that is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Script {
    pub(super) raised: bool,
    /// Where its text starts.
    pub(super) start: usize,
    /// Whether it holds a link, as a mark of a note does.
    pub(super) link: bool,
}

impl Script {
    /// Marks what the line would lose: `10⁶` is not 106, and `word¹` is not a word.
    pub(super) fn finish(self, text: &mut String) {
        let Some((before, script)) = text.split_at_checked(self.start) else {
            return;
        };
        let Some(base) = before.chars().next_back() else {
            return;
        };
        let trimmed = script.trim_end();
        let signs = |c: char| matches!(c, '+' | '-' | '−' | '–');
        let number = trimmed
            .trim_matches(signs)
            .starts_with(|c: char| c.is_ascii_digit());
        if trimmed.is_empty() || script.len() > LONGEST_SCRIPT {
            return;
        }
        let digits = trimmed
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b',');
        if self.raised && self.link && digits {
            let end = self.start + trimmed.len();
            text.truncate(end);
            text.insert(self.start, '[');
            text.push(']');
            return;
        }
        if !(base.is_alphanumeric() || matches!(base, ')' | ']')) {
            return;
        }
        let letter = {
            let mut letters = trimmed.chars();
            letters
                .next()
                .filter(|c| c.is_alphabetic())
                .filter(|_| letters.next().is_none())
        };
        // A variable alone, or a number, and not the end of a word.
        let mut back = before.chars().rev().skip(1);
        let lone = !back.next().is_some_and(char::is_alphanumeric);
        let power = letter.is_some_and(|c| !matches!(c, 'e' | 'o' | 'a' | 'h' | 'r'))
            && (base.is_ascii_digit() || lone);
        let compound = trimmed.chars().any(signs) && trimmed.chars().any(char::is_alphanumeric);
        let marked = match self.raised {
            true => number || power || compound || trimmed.starts_with(signs),
            // The base of a number.
            false => number && base.is_ascii_digit(),
        };
        if marked {
            text.truncate(self.start + trimmed.len());
            group(text, self.start);
            text.insert(self.start, if self.raised { '^' } else { '_' });
        }
    }
}

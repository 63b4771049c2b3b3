//! The commands that a document defines, with `\newcommand` and its kin or `\def`.

use std::collections::HashMap;

use super::argument::{argument, label, loose_argument};

/// The commands that define others.
const DEFINITIONS: [&str; 7] = [
    "newcommand",
    "renewcommand",
    "providecommand",
    "DeclareRobustCommand",
    "DeclareMathOperator",
    "def",
    "gdef",
];

/// The most bytes that the commands of one document may stand for, each counted as often as it is used.
const MOST_EXPANDED: usize = 16 << 20;

/// The most bytes between the name that `\def` defines and its text.
const LONGEST_PARAMETERS: usize = 64;

/// What a command stands for.
struct Macro {
    arguments: usize,
    /// The value of the first argument where it is not given.
    default: Option<String>,
    body: String,
}

/// The commands that a document defines, by name.
#[derive(Default)]
pub(super) struct Macros {
    by_name: HashMap<String, Macro>,
    expanded: usize,
}

impl Macros {
    /// Reads the definitions in a text that is not shown.
    pub(super) fn collect(&mut self, text: &str) {
        let mut rest = text;
        while let Some((_, command)) = rest.split_once('\\') {
            let end = command.find(|c: char| !c.is_ascii_alphabetic());
            let (name, after) = command.split_at(end.unwrap_or(command.len()));
            rest = self.define(name, after).unwrap_or(after);
        }
    }

    /// Reads the definition that the command `command` begins, of which `text` is the rest. Returns the text after it.
    pub(super) fn define<'t>(&mut self, command: &str, text: &'t str) -> Option<&'t str> {
        if !DEFINITIONS.contains(&command) {
            return None;
        }
        let text = text.strip_prefix('*').unwrap_or(text).trim_start();
        let (name, mut rest) = loose_argument(text);
        let name = name.trim().strip_prefix('\\')?;
        if name.is_empty() || rest.starts_with('@') {
            return None;
        }
        let (mut arguments, mut default) = (0, None);
        if command.ends_with("def") {
            let mut parameters = rest.bytes().take(LONGEST_PARAMETERS);
            let open = parameters.position(|byte| byte == b'{')?;
            arguments = rest[..open].matches('#').count();
            rest = &rest[open..];
        } else if let Some((count, after)) = label(rest) {
            arguments = count
                .trim()
                .parse::<usize>()
                .ok()
                .filter(|&count| count < 10)?;
            rest = after;
            if let Some((value, after)) = label(rest) {
                default = Some(value.to_owned());
                rest = after;
            }
        }
        let (body, rest) = argument(rest.trim_start())?;
        // What a document redefines belongs to its class, such as the form of its labels.
        if command != "renewcommand" || self.by_name.contains_key(name) {
            let body = body.to_owned();
            let definition = Macro {
                arguments,
                default,
                body,
            };
            self.by_name.insert(name.to_owned(), definition);
        }
        Some(rest)
    }

    /// What a command stands for with the arguments that `text` begins with, and the rest after them. `None` if the
    /// document does not define it, or uses too much of what it defines.
    pub(super) fn expand<'t>(&mut self, name: &str, text: &'t str) -> Option<(String, &'t str)> {
        let definition = self.by_name.get(name)?;
        let (mut values, mut rest) = (Vec::new(), text);
        if let Some(default) = &definition.default {
            match label(rest) {
                Some((value, after)) => {
                    values.push(value);
                    rest = after;
                }
                None => values.push(default.as_str()),
            }
        }
        while values.len() < definition.arguments {
            let (value, after) = loose_argument(rest.trim_start());
            values.push(value);
            rest = after;
        }
        let mut pieces = definition.body.split('#');
        let mut body = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let number = piece.chars().next().and_then(|digit| digit.to_digit(10));
            let index = number.and_then(|number| (number as usize).checked_sub(1));
            match index.and_then(|index| values.get(index)) {
                Some(value) => {
                    body.push_str(value);
                    body.push_str(&piece[1..]);
                }
                None => body.push_str(piece),
            }
        }
        self.expanded += name.len() + body.len();
        (self.expanded <= MOST_EXPANDED).then_some((body, rest))
    }
}

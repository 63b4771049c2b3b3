//! The arguments and options of commands.

/// The longest argument of a command, in bytes, that is read as a whole.
pub(super) const LONGEST_ARGUMENT: usize = 2048;

/// The longest list of slides after a command, in bytes.
const LONGEST_OVERLAY: usize = 32;

/// The argument in braces that a text begins with, and the rest after it.
pub(super) fn argument(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('{')?;
    let mut depth = 1_usize;
    let mut escaped = false;
    for (offset, character) in inside.char_indices() {
        if offset > LONGEST_ARGUMENT {
            return None;
        }
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&inside[..offset], &inside[offset + 1..]));
        }
    }
    None
}

/// The argument that a text begins with, in braces or not: a command or a character.
pub(super) fn loose_argument(text: &str) -> (&str, &str) {
    if let Some(parts) = argument(text) {
        return parts;
    }
    if let Some(word) = text.strip_prefix('\\') {
        let end = word.find(|c: char| !c.is_ascii_alphabetic());
        let (name, rest) = text.split_at(1 + end.unwrap_or(word.len()));
        return (name, rest.strip_prefix(' ').unwrap_or(rest));
    }
    text.split_at(text.chars().next().map_or(0, char::len_utf8))
}

/// The first argument of the first such command, of as many as `most` of them.
pub(super) fn argument_of<'t>(command: &str, text: &'t str, most: usize) -> Option<&'t str> {
    text.split(command)
        .skip(1)
        .take(most)
        .find_map(|rest| Some(argument(after_options(rest.trim_start()))?.0))
}

/// The label in brackets that a text begins with, and the rest after it.
pub(super) fn label(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('[')?;
    let end = inside
        .bytes()
        .take(LONGEST_ARGUMENT)
        .position(|byte| byte == b']')?;
    Some((&inside[..end], &inside[end + 1..]))
}

/// A text without the star, the options in brackets, and the slides in angles that it begins with.
pub(super) fn after_options(text: &str) -> &str {
    let mut rest = text.strip_prefix('*').unwrap_or(text);
    while let Some(after) = label(rest)
        .map(|(_, after)| after)
        .or_else(|| after_overlay(rest))
    {
        rest = after;
    }
    rest
}

/// The rest after the slides, such as `<2->`, that a text begins with.
fn after_overlay(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('<')?;
    let end = inside
        .bytes()
        .take(LONGEST_OVERLAY)
        .position(|byte| byte == b'>')?;
    let is_slide = |byte: u8| byte.is_ascii_digit() || b"+-,|".contains(&byte);
    let is_overlay = end > 0 && inside[..end].bytes().all(is_slide);
    is_overlay.then_some(&inside[end + 1..])
}

/// A text without the argument that it may begin with.
pub(super) fn after_argument(text: &str) -> &str {
    argument(text).map_or(text, |(_, rest)| rest)
}

/// A text without the arguments that it begins with, up to so many, and their options.
pub(super) fn after_arguments(text: &str, count: usize) -> &str {
    (0..count).fold(text, |rest, _| after_argument(after_options(rest)))
}

//! reStructuredText: headings by the lines drawn under or around them, comments and targets left out, roles
//! and links as their words.

use serde_json::Map;

use super::push_line;
use crate::error::ReadError;
use crate::place::Place;
use crate::prose::Prose;
use crate::record::Contents;
use crate::watch::Watch;

/// The most ways to draw headings, each of which is a level.
const MOST_LEVELS: usize = 9;

/// The directives with text beside their names.
const SHOWN: [&str; 19] = [
    "note",
    "warning",
    "tip",
    "important",
    "caution",
    "danger",
    "attention",
    "hint",
    "admonition",
    "topic",
    "figure-caption",
    "rubric",
    "table",
    "list-table",
    "csv-table",
    "versionadded",
    "versionchanged",
    "deprecated",
    "seealso",
];

pub(super) fn contents(text: &str, place: &Place, watch: &Watch) -> Result<Contents, ReadError> {
    let lines: Vec<&str> = text.lines().collect();
    let mut prose = Prose::new(place, watch);
    // The ways in which headings are drawn, by level.
    let mut ways: Vec<(char, bool)> = Vec::new();
    let mut level_of = |way| match ways.iter().position(|&known| known == way) {
        Some(index) => index + 1,
        None => {
            if ways.len() < MOST_LEVELS {
                ways.push(way);
            }
            ways.len()
        }
    };
    let mut block = String::new();
    let mut index = 0;
    let at = |index: usize| lines.get(index).copied().unwrap_or_default();
    while let Some(&line) = lines.get(index) {
        let (next, third) = (at(index + 1), at(index + 2));
        if let Some(mark) = drawn(line)
            && !next.trim().is_empty()
            && third.trim_end() == line.trim_end()
        {
            prose.paragraph(&std::mem::take(&mut block))?;
            prose.heading(level_of((mark, true)), &inline(next))?;
            index += 3;
        } else if let Some(mark) = drawn(next)
            && block.is_empty()
            && !line.trim().is_empty()
            && drawn(line).is_none()
            && !line.starts_with([' ', '\t'])
            && next.trim_end().chars().count() + 2 >= line.trim_end().chars().count()
        {
            prose.heading(level_of((mark, false)), &inline(line))?;
            index += 2;
        } else if let Some(explicit) = line
            .strip_prefix("..")
            .filter(|rest| rest.is_empty() || rest.starts_with(' '))
        {
            prose.paragraph(&std::mem::take(&mut block))?;
            index += 1;
            let after = lines.get(index..).unwrap_or_default();
            index += write_explicit(explicit.trim(), after, &mut block, &mut prose)?;
        } else if line.trim().is_empty() {
            prose.paragraph(&std::mem::take(&mut block))?;
            index += 1;
        } else {
            push_line(&inline(line), &mut block);
            index += 1;
        }
    }
    prose.paragraph(&block)?;
    Ok(prose.finish(None, Map::new()))
}

/// Writes the text of the markup after `..`; returns how many of the lines after it belong to it.
fn write_explicit(
    explicit: &str,
    after: &[&str],
    block: &mut String,
    prose: &mut Prose,
) -> Result<usize, ReadError> {
    let after = after.iter();
    if let Some((name, words)) = directive(explicit) {
        if SHOWN.contains(&name) {
            prose.paragraph(&inline(words))?;
        }
        // Its options go, its content stays.
        let options = after.take_while(|line| line.trim_start().starts_with(':'));
        return Ok(options.count());
    }
    // A footnote or a citation is text.
    if explicit.starts_with('[') {
        block.push_str(&inline(explicit));
        return Ok(0);
    }
    // A target or a comment goes with its indented lines.
    let indented = after.take_while(|line| line.starts_with([' ', '\t']));
    Ok(indented.count())
}

/// The sign of which a line has at least three, and no other.
fn drawn(line: &str) -> Option<char> {
    let line = line.trim_end();
    let mark = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() >= 3 && line.chars().all(|c| c == mark)).then_some(mark)
}

/// The name of a directive, and the text beside it.
fn directive(explicit: &str) -> Option<(&str, &str)> {
    let (name, words) = explicit.split_once("::")?;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '+' | '.');
    (!name.is_empty() && name.chars().all(plain)).then_some((name, words.trim()))
}

/// A line whose roles, links and literals are their words.
fn inline(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, quoted)) = rest.split_once('`') {
        if let Some(literal) = quoted.strip_prefix('`') {
            let (literal, after) = literal.split_once("``").unwrap_or((literal, ""));
            out.push_str(before);
            out.push_str(literal);
            rest = after;
            continue;
        }
        let Some((inside, after)) = quoted.split_once('`') else {
            break;
        };
        // `:role:` goes, `label <target>` is its label.
        let before = before
            .strip_suffix(':')
            .and_then(|before| {
                let start = before.rfind(':')?;
                let role = before.get(start + 1..)?;
                let plain = role
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
                (plain && !role.is_empty()).then(|| before.get(..start))?
            })
            .unwrap_or(before);
        out.push_str(before);
        let label = inside.rsplit_once(" <").map_or(inside, |(label, _)| label);
        out.push_str(label.trim_start_matches(['~', '!']));
        rest = after.trim_start_matches('_');
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_file() {
        let text = "=====\nTides\n=====\n\n.. _target:\n\nHigh water\n----------\n\nSee :ref:`the table <t>` and ``x``,\n\
                    `home <https://a.b>`_.\n\n.. note:: Mind the gate.\n\n.. code-block:: sh\n   :linenos:\n\n   open 7\n\n\
                    .. a remark\n   of two lines\n\nLow\n---\n\nx";
        let contents =
            contents(text, &Place::whole(Path::new("t.rst")), &Watch::default()).unwrap();
        assert_eq!(contents.title.as_deref(), Some("Tides"));
        assert_eq!(
            contents.text,
            "# Tides\n\n## High water\n\nSee the table and x,\nhome.\n\nMind the gate.\n\n   open 7\n\n## Low\n\nx"
        );
    }

    #[test]
    fn lines_that_are_no_headings() {
        let contents = contents(
            "a\n\n----\n\nb\n`",
            &Place::whole(Path::new("t.rst")),
            &Watch::default(),
        );
        assert_eq!(contents.unwrap().text, "a\n\n----\n\nb\n`");
    }
}

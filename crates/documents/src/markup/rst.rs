//! reStructuredText: headings by the lines drawn under or around them, comments and targets left out, roles
//! and links as their words, substitutions as what they stand for.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Map;

use super::{push_line, rst_table};
use crate::error::ReadError;
use crate::place::Place;
use crate::prose::Prose;
use crate::raised::changes_number;
use crate::record::Contents;
use crate::table::{self, Row};
use crate::watch::Watch;

/// The most ways to draw headings, each of which is a level.
const MOST_LEVELS: usize = 9;

/// The directives with text beside their names.
const SHOWN: [&str; 13] = [
    "admonition",
    "topic",
    "figure-caption",
    "rubric",
    "table",
    "list-table",
    "csv-table",
    "function",
    "class",
    "method",
    "attribute",
    "option",
    "envvar",
];

/// The boxes, and the words that they begin with.
const BOXES: [(&str, &str); 10] = [
    ("note", "Note"),
    ("warning", "Warning"),
    ("tip", "Tip"),
    ("important", "Important"),
    ("caution", "Caution"),
    ("danger", "Danger"),
    ("attention", "Attention"),
    ("hint", "Hint"),
    ("error", "Error"),
    ("seealso", "See also"),
];

/// The directives whose content is not for readers of the text.
const LEFT_OUT: [&str; 9] = [
    "toctree",
    "contents",
    "raw",
    "index",
    "meta",
    "highlight",
    "include",
    "sectnum",
    "currentmodule",
];

/// The directives beside whose names stands a version, and what they say of it.
const VERSIONS: [(&str, &str); 3] = [
    ("versionadded", "Added in version"),
    ("versionchanged", "Changed in version"),
    ("deprecated", "Deprecated since version"),
];

/// A space that is not shown.
const JOIN: &str = "\\ ";
const JOIN_BEHIND_STAR: &str = "*\\ ";

/// The most bytes that all substitutions may add.
const MOST_SUBSTITUTED: usize = 1 << 20;

pub(super) fn contents(text: &str, place: &Place, watch: &Watch) -> Result<Contents, ReadError> {
    let text = substituted(text);
    let text = linked(&text);
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
    let (mut index, most) = (0, watch.budget.parts());
    let at = |index: usize| lines.get(index).copied().unwrap_or_default();
    while let Some(&line) = lines.get(index) {
        let (next, third) = (at(index + 1), at(index + 2));
        let rest = lines.get(index..).unwrap_or_default();
        if block.is_empty()
            && let Some((rows, length)) = rst_table::drawn(&lines, index, most)
        {
            write_table(rows, &mut prose)?;
            index += length;
        } else if let Some(mark) = drawn(line)
            && !next.trim().is_empty()
            && third.trim_end() == line.trim_end()
        {
            prose.paragraph(&inline(&std::mem::take(&mut block)))?;
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
            prose.paragraph(&inline(&std::mem::take(&mut block)))?;
            let after = rest.get(1..).unwrap_or_default();
            index += 1 + write_explicit(explicit.trim(), after, most, &mut block, &mut prose)?;
        } else {
            match line.trim() {
                "" | "::" => prose.paragraph(&inline(&std::mem::take(&mut block)))?,
                _ => push_line(line, &mut block),
            }
            index += 1;
        }
    }
    prose.paragraph(&inline(&block))?;
    Ok(prose.finish(None, Map::new()))
}

/// Writes the text of the markup after `..`; returns how many of the lines after it belong to it.
fn write_explicit(
    explicit: &str,
    after: &[&str],
    most: u64,
    block: &mut String,
    prose: &mut Prose,
) -> Result<usize, ReadError> {
    if let Some((name, words)) = directive(explicit) {
        return write_directive(name, words, after, most, prose);
    }
    // A comment goes with its paragraphs, unless it is empty.
    let is_comment = !explicit.starts_with(['[', '_', '|']);
    if is_comment && !(explicit.is_empty() && after.first().is_none_or(|line| is_blank(line))) {
        return Ok(indented(after));
    }
    let after = after.iter();
    // A footnote or a citation is text.
    if explicit.starts_with('[') {
        block.push_str(explicit);
        return Ok(0);
    }
    // A target goes with its indented lines.
    let indented = after.take_while(|line| line.starts_with([' ', '\t']));
    Ok(indented.count())
}

/// Writes the text of a directive that is not in its content; returns how many of the lines after it are left out.
fn write_directive(
    name: &str,
    words: &str,
    after: &[&str],
    most: u64,
    prose: &mut Prose,
) -> Result<usize, ReadError> {
    if LEFT_OUT.contains(&name) {
        return Ok(indented(after));
    }
    let version = VERSIONS.iter().find(|(directive, _)| *directive == name);
    let in_box = BOXES.iter().find(|(directive, _)| *directive == name);
    if let Some((_, said)) = version {
        prose.paragraph(&format!("{said} {words}"))?;
    } else if let Some((_, label)) = in_box {
        prose.paragraph(&format!("{label}: {}", inline(words)))?;
    } else if name == "math" {
        prose.paragraph(words)?;
    } else if SHOWN.contains(&name) || name.contains(':') {
        // What a domain describes, as `py:function`, has its name there.
        prose.paragraph(&inline(words))?;
    }
    // Its options go, its content stays.
    let options = after.iter().map(|line| line.trim_start());
    let options = options.take_while(|line| line.starts_with(':'));
    let (mut count, mut header) = (0, None);
    for option in options {
        count += 1;
        if let Some(words) = option.strip_prefix(":alt:") {
            prose.paragraph(&format!("[{}]", words.trim()))?;
        } else if let Some(names) = option.strip_prefix(":header:") {
            header = Some(names);
        }
    }
    let content = after.get(count..).unwrap_or_default();
    let length = indented(content);
    let content = content.iter().take(length).copied();
    let rows = match name {
        "list-table" => rst_table::listed(&content.collect::<Vec<_>>(), most),
        "csv-table" => {
            let lines = header.into_iter().chain(content);
            rst_table::separated(&lines.collect::<Vec<_>>(), most)
        }
        _ => None,
    };
    match rows {
        Some(rows) => write_table(rows, prose).map(|()| count + length),
        None => Ok(count),
    }
}

fn write_table(rows: Vec<Row>, prose: &mut Prose) -> Result<(), ReadError> {
    let rows = rows.into_iter().map(|row| {
        let cells = row.into_iter();
        cells
            .map(|(column, cell)| (column, inline(&cell)))
            .collect()
    });
    table::write(&rows.collect::<Vec<Row>>(), prose)
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// How many of these lines are indented, with the blank ones between them.
fn indented(lines: &[&str]) -> usize {
    let lines = lines.iter();
    let inside = lines.take_while(|line| line.starts_with([' ', '\t']) || is_blank(line));
    inside.count()
}

/// The text with what its substitutions stand for.
fn substituted(text: &str) -> String {
    let definitions = text.lines().filter_map(|line| {
        let (name, words) = line.strip_prefix(".. |")?.split_once("| replace::")?;
        Some((name, words.trim()))
    });
    let by_name: HashMap<&str, &str> = definitions.collect();
    if by_name.is_empty() {
        return text.to_owned();
    }
    let (mut out, mut added) = (String::with_capacity(text.len()), 0);
    for line in text.split_inclusive('\n') {
        let mut pieces = line.split('|').peekable();
        // Whether the piece before was a name, whose bar is already read.
        let mut is_open = false;
        while let Some(piece) = pieces.next() {
            let words = by_name
                .get(piece)
                .filter(|_| is_open && pieces.peek().is_some());
            match words {
                Some(words)
                    if added + words.len() <= MOST_SUBSTITUTED && !line.starts_with("..") =>
                {
                    added += words.len();
                    out.push_str(words);
                    is_open = false;
                }
                _ => {
                    if is_open {
                        out.push('|');
                    }
                    out.push_str(piece);
                    is_open = true;
                }
            }
        }
    }
    out
}

/// The text with the words of links, such as `ken_`, whose targets it gives.
fn linked(text: &str) -> Cow<'_, str> {
    let targets = text.lines().filter_map(|line| {
        let (name, _) = line.trim_start().strip_prefix(".. _")?.split_once(':')?;
        (!name.is_empty() && !name.contains([' ', '`'])).then_some(name)
    });
    let targets: HashSet<&str> = targets.collect();
    if targets.is_empty() {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(char::is_whitespace) {
        let link = piece.trim_end_matches(|c: char| c.is_whitespace() || ".,;:!?)\"'".contains(c));
        let words = link.strip_suffix('_').filter(|words| {
            let name = words.trim_start_matches(['(', '"', '\'']);
            targets.contains(name)
        });
        out.push_str(words.unwrap_or(link));
        out.push_str(&piece[link.len()..]);
    }
    out.into()
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

/// A text whose roles, links and literals are their words.
fn inline(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, quoted)) = rest.split_once('`') {
        if let Some(literal) = quoted.strip_prefix('`') {
            let (literal, after) = literal.split_once("``").unwrap_or((literal, ""));
            out.push_str(&noted(before));
            out.push_str(literal);
            rest = after;
            continue;
        }
        let Some((inside, after)) = quoted.split_once('`') else {
            break;
        };
        // `:role:` goes, `label <target>` is its label.
        let (before, role) = role(before).unwrap_or((before, ""));
        // An escaped space sets a role apart from the word that it is part of.
        out.push_str(&noted(before.strip_suffix(JOIN).unwrap_or(before)));
        let link = inside.strip_suffix('>');
        let label = link.and_then(|link| Some(link.rsplit_once('<')?.0));
        let label = label.filter(|label| label.ends_with(char::is_whitespace));
        let label = label.map_or(inside, str::trim_end);
        match role {
            "sup" if changes_number(&out, label) => out.push('^'),
            "pep" | "rfc" if label == inside => out.push_str(&format!("{} ", role.to_uppercase())),
            _ => {}
        }
        out.push_str(label.trim_start_matches(['~', '!']));
        let after = after.trim_start_matches('_');
        rest = after.strip_prefix(JOIN).unwrap_or(after);
    }
    out.push_str(&noted(rest));
    out
}

/// A text whose references to notes, such as `[1]_`, are their marks, and in which emphasized letters join their words.
fn noted(text: &str) -> Cow<'_, str> {
    match text.contains("]_") || text.contains(JOIN_BEHIND_STAR) {
        true => text
            .replace("]_", "]")
            .replace(JOIN_BEHIND_STAR, "*")
            .into(),
        false => text.into(),
    }
}

/// A text without the role that it ends with, and the name of that.
fn role(before: &str) -> Option<(&str, &str)> {
    let (before, role) = before.strip_suffix(':')?.rsplit_once(':')?;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    (!role.is_empty() && role.chars().all(plain)).then_some((before, role))
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
            "# Tides\n\n## High water\n\nSee the table and x,\nhome.\n\nNote: Mind the gate.\n\n   open 7\n\n## Low\n\nx"
        );
    }

    #[test]
    fn directives_comments_and_substitutions() {
        let text = ".. |pump| replace:: pump seven\n\n.. py:function:: open(valve)\n   :async:\n\n   Opens |pump| at 10\\ :sup:`6`\\ Pa, `a|b`.\n\n\
                    .. versionadded:: 3.1\n\n.. image:: a.png\n   :alt: The gate\n\n.. toctree::\n   :maxdepth: 1\n\n   intro\n\n\
                    .. csv-table:: Times\n   :header: \"a\", \"b\"\n\n   1, 2\n\n..\n   hidden\n\n   hidden too\n\nSo::\n\n   x\n";
        let contents =
            contents(text, &Place::whole(Path::new("t.rst")), &Watch::default()).unwrap();
        assert_eq!(
            contents.text,
            "open(valve)\n\n   Opens pump seven at 10^6Pa, a|b.\n\nAdded in version 3.1\n\n[The gate]\n\nTimes\n\n\
             a | b\na: 1; b: 2\n\nSo::\n\n   x"
        );
    }

    #[test]
    fn boxes_formulas_and_links_by_names() {
        let text = "See tides_, (gate_); my_ or gate_way.\n\n.. _tides: https://a.b\n.. _gate:\n\n.. warning::\n   :class: x\n\n   Mind *it*.\n\n\
                    .. seealso:: ``open``\n\n.. math:: E = mc^2\n\n.. math::\n\n   a_ + b\n";
        let contents =
            contents(text, &Place::whole(Path::new("t.rst")), &Watch::default()).unwrap();
        assert_eq!(
            contents.text,
            "See tides, (gate); my_ or gate_way.\n\nWarning:\n\n   Mind *it*.\n\nSee also: open\n\nE = mc^2\n\n   a_ + b"
        );
    }

    #[test]
    fn what_follows_a_sign_is_no_target() {
        assert_eq!(inline("Where `a < b` and `c <d>`_"), "Where a < b and c");
    }

    #[test]
    fn roles_and_joined_letters() {
        assert_eq!(
            inline("See :pep:`8`, :rfc:`the rfc <1034>` and :rfc:`1035`, *n*\\ th, a\\ b."),
            "See PEP 8, the rfc and RFC 1035, *n*th, a\\ b."
        );
    }

    #[test]
    fn tables_notes_and_links_over_lines() {
        let text = "See `the\nlong table <t.html>`_ and the note [1]_.\n\n+------+-----+\n| Pump | Bar |\n+======+=====+\n\
                    | ``7``| 9   |\n+------+-----+\n\n.. list-table:: Pumps\n   :header-rows: 1\n\n   * - Pump\n     - Bar\n   * - seven\n     - 9 or\n       10\n\n\
                    ====  ===\nPump  Bar\n====  ===\n  8   11\n====  ===\n\n.. [1] Or so.\n";
        let contents =
            contents(text, &Place::whole(Path::new("t.rst")), &Watch::default()).unwrap();
        assert_eq!(
            contents.text,
            "See the\nlong table and the note [1].\n\nPump | Bar\nPump: 7; Bar: 9\n\nPumps\n\nPump | Bar\nPump: seven; Bar: 9 or 10\n\n\
             Pump | Bar\nPump: 8; Bar: 11\n\n[1] Or so."
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

//! AsciiDoc: headings by equals signs or the line under them, tables by rows, attributes and macros as what they stand
//! for. Settings and the lines that fence blocks are left out.

use std::collections::HashMap;

use serde_json::Map;

use super::asciidoc_table::{Cell, rows_of, split_format};
use super::{push_line, rst_table};
use crate::error::ReadError;
use crate::place::Place;
use crate::prose::Prose;
use crate::record::Contents;
use crate::table::{self, Row};
use crate::watch::Watch;

/// The fences of tables, of which the second holds comma-separated values.
const TABLES: [&str; 2] = ["|===", ",==="];

/// The labels of notes.
const NOTES: [&str; 5] = ["NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"];

/// The macros whose text stands in brackets after their targets.
const MACROS: [&str; 14] = [
    "http://",
    "https://",
    "mailto:",
    "link:",
    "xref:",
    "image::",
    "image:",
    "kbd:",
    "btn:",
    "pass:",
    "footnote:",
    "stem:",
    "latexmath:",
    "anchor:",
];

/// The longest target and text of a macro, in bytes.
const LONGEST_MACRO: usize = 1024;

/// The most blocks that are open within each other.
const MOST_FENCES: usize = 64;

/// The most bytes that all attributes may add.
const MOST_SUBSTITUTED: usize = 1 << 20;

pub(super) fn contents(text: &str, place: &Place, watch: &Watch) -> Result<Contents, ReadError> {
    let mut writer = Writer {
        prose: Prose::new(place, watch),
        block: String::new(),
        attributes: HashMap::new(),
        added: 0,
        columns: 0,
        is_separated: false,
        cells: 0,
        fences: Vec::new(),
        place,
        watch,
    };
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim_end();
        if line.len() >= 4 && line.bytes().all(|byte| byte == b'/') {
            for _ in lines
                .by_ref()
                .take_while(|inside| inside.trim_end() != line)
            {}
        } else if TABLES.contains(&line) {
            writer.end_block()?;
            let rows = lines.by_ref().take_while(|row| row.trim_end() != line);
            match std::mem::take(&mut writer.is_separated) || line.starts_with(',') {
                true => writer.separated(&rows.collect::<Vec<_>>())?,
                false => writer.table(rows)?,
            }
        } else if let Some(level) = lines.peek().and_then(|next| writer.underlined(line, next)) {
            writer.prose.heading(level, line)?;
            lines.next();
        } else if is_fence(line) {
            writer.end_block()?;
            if line.starts_with(['-', '.', '+']) && line != "--" {
                for inside in lines
                    .by_ref()
                    .take_while(|inside| inside.trim_end() != line)
                {
                    push_line(inside, &mut writer.block);
                }
                writer.end_block()?;
            } else {
                writer.fence(line);
            }
        } else if let Some((level, words)) = heading(line) {
            writer.end_block()?;
            let words = writer.shown(words);
            writer.prose.heading(level, &words)?;
        } else if let Some((name, value)) = attribute(line) {
            writer.attributes.insert(name, value);
        } else if line.is_empty() {
            writer.end_block()?;
        } else if !writer.setting(line) {
            // A block's title begins with a dot.
            let title = line.strip_prefix('.');
            let title = title.filter(|words| words.starts_with(char::is_alphanumeric));
            let words = title.unwrap_or(line);
            let words = writer.shown(words.strip_suffix(" +").unwrap_or(words));
            push_line(&defined(&words).unwrap_or(words), &mut writer.block);
        }
    }
    writer.end_block()?;
    Ok(writer.prose.finish(None, Map::new()))
}

/// A document so far.
struct Writer<'t> {
    prose: Prose,
    /// The open paragraph.
    block: String,
    attributes: HashMap<&'t str, &'t str>,
    /// How many bytes the attributes have added.
    added: usize,
    /// The columns of the next table, if they are told, and the cells of all.
    columns: usize,
    /// Whether its cells are separated by commas.
    is_separated: bool,
    cells: u64,
    /// The lines that began the open blocks.
    fences: Vec<&'t str>,
    place: &'t Place,
    watch: &'t Watch,
}

impl<'t> Writer<'t> {
    /// Begins a block, or ends the one that such a line began, with those in it.
    fn fence(&mut self, line: &'t str) {
        match self.fences.iter().rposition(|open| *open == line) {
            Some(index) => self.fences.truncate(index),
            None if self.fences.len() < MOST_FENCES => self.fences.push(line),
            None => {}
        }
    }

    fn end_block(&mut self) -> Result<(), ReadError> {
        self.prose.paragraph(&std::mem::take(&mut self.block))
    }

    /// The level of the heading that a line is by the line under it.
    fn underlined(&self, line: &str, next: &str) -> Option<usize> {
        let next = next.trim_end();
        let mut marks = ["=", "-", "~", "^", "+"].into_iter();
        let level =
            marks.position(|mark| next.len() > 3 && next.trim_start_matches(mark).is_empty())?;
        let is_heading = self.block.is_empty()
            && !self.fences.contains(&next)
            && line.starts_with(char::is_alphanumeric)
            && line.chars().count().abs_diff(next.len()) < 2;
        is_heading.then_some(level + 1)
    }

    /// Whether a line is a setting, which may tell the columns of a table; the source of a quote is shown.
    fn setting(&mut self, line: &str) -> bool {
        let list = line
            .strip_prefix('[')
            .and_then(|list| list.strip_suffix(']'));
        let is_anchor = list.is_some_and(|list| list.starts_with('[') && list.ends_with(']'));
        let Some(list) = list.filter(|list| is_anchor || !list.contains(['[', ']'])) else {
            return is_setting(line);
        };
        if let Some((_, columns)) = list.split_once("cols=") {
            self.columns = columns_of(columns);
        }
        self.is_separated |= list.replace('"', "").contains("format=csv");
        if NOTES.contains(&list) {
            push_line(&format!("{list}:"), &mut self.block);
        }
        if let Some(source) = list.strip_prefix("quote,") {
            push_line(source.trim(), &mut self.block);
        }
        true
    }

    /// Writes a table, whose cells begin with bars.
    fn table<'l>(&mut self, lines: impl Iterator<Item = &'l str>) -> Result<(), ReadError> {
        let mut columns = std::mem::take(&mut self.columns);
        let mut cells: Vec<Cell> = Vec::new();
        for line in lines {
            let bars = line.matches('|').count();
            self.cells += bars as u64;
            if self.cells > self.watch.budget.parts() {
                return Err(self.watch.too_many(self.place.clone(), "cells"));
            }
            let mut format = "";
            for (index, part) in line.split('|').enumerate() {
                // What precedes a bar may be how its cell is formatted.
                let (part, next) = match index < bars {
                    true => split_format(part, index == 0),
                    false => (part, ""),
                };
                let words = self.shown(part.trim());
                if index > 0 {
                    cells.push(Cell::new(words, format));
                } else if let Some(cell) = cells.last_mut() {
                    push_line(&words, &mut cell.text);
                }
                format = next;
            }
            if columns == 0 {
                columns = cells.iter().map(|cell| cell.columns).sum();
            }
        }
        table::write(&rows_of(cells, columns), &mut self.prose)
    }

    /// Writes a table of comma-separated values.
    fn separated(&mut self, lines: &[&str]) -> Result<(), ReadError> {
        self.columns = 0;
        let Some(rows) = rst_table::separated(lines, self.watch.budget.parts()) else {
            return Err(self.watch.too_many(self.place.clone(), "cells"));
        };
        let rows = rows.into_iter().map(|row| {
            let cells = row.into_iter();
            cells
                .map(|(column, cell)| (column, self.shown(&cell)))
                .collect()
        });
        let rows: Vec<Row> = rows.collect();
        table::write(&rows, &mut self.prose)
    }

    /// The text that a line shows.
    fn shown(&mut self, line: &str) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some((before, inside)) = rest.split_once('{') {
            let Some((name, after)) = inside.split_once('}') else {
                break;
            };
            out.push_str(before);
            let value = self.attributes.get(name);
            match value.filter(|value| self.added + value.len() <= MOST_SUBSTITUTED) {
                Some(value) => {
                    self.added += value.len();
                    out.push_str(value);
                    rest = after;
                }
                None => {
                    out.push('{');
                    rest = inside;
                }
            }
        }
        out.push_str(rest);
        macros(&references(&out))
    }
}

/// The line of a term and its definition, such as `Pump:: moves water`.
fn defined(line: &str) -> Option<String> {
    let (term, words) = match line.split_once(":: ") {
        Some((term, words)) => (term, words.trim_start()),
        None => (line.strip_suffix("::")?, ""),
    };
    let term = term.trim_end_matches(':').trim();
    (!term.is_empty()).then(|| format!("{term}: {words}").trim_end().to_owned())
}

/// A line whose references to other places are their labels.
fn references(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, inside)) = rest.split_once("<<") {
        let Some((place, after)) = inside.split_once(">>") else {
            break;
        };
        out.push_str(before);
        let label = place
            .split_once(',')
            .map_or(place, |(_, label)| label.trim());
        out.push_str(label.trim_start_matches('#'));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A line whose macros are the text that they show.
fn macros(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, inside)) = rest.split_once('[') {
        out.push_str(before);
        let end = inside
            .bytes()
            .take(LONGEST_MACRO)
            .position(|byte| byte == b']');
        let (Some((start, name)), Some(end)) = (macro_before(&out), end) else {
            out.push('[');
            rest = inside;
            continue;
        };
        let target = out.split_off(start);
        let words = inside[..end].trim_end_matches('^');
        // Settings may follow the text.
        let label = match words.split_once(',') {
            Some((label, settings)) if settings.contains('=') => label,
            _ => words,
        };
        match name {
            "anchor:" => {}
            "footnote:" => out.push_str(&format!(" ({words})")),
            "image:" | "image::" => match words.split(',').next() {
                None | Some("") => {}
                Some(label) => out.push_str(&format!("[{label}]")),
            },
            "link:" | "xref:" if label.is_empty() => out.push_str(&target[name.len()..]),
            _ if label.is_empty() => out.push_str(&target),
            _ => out.push_str(label),
        }
        rest = &inside[end + 1..];
    }
    out.push_str(rest);
    out
}

/// Where the macro begins that a text ends with, and its name.
fn macro_before(text: &str) -> Option<(usize, &'static str)> {
    let mut near = text.char_indices().rev().take(LONGEST_MACRO);
    let space = near.find(|(_, character)| character.is_whitespace());
    let from = match space {
        Some((at, character)) => at + character.len_utf8(),
        None if text.len() <= LONGEST_MACRO => 0,
        None => return None,
    };
    let word = &text[from..];
    let places = MACROS
        .into_iter()
        .filter_map(|name| Some((from + word.find(name)?, name)));
    places.min_by_key(|(start, _)| *start)
}

/// The number of columns that a list such as `"1,2*a"` tells.
fn columns_of(list: &str) -> usize {
    let list = list.trim_start_matches('"');
    let list = list.split('"').next().unwrap_or_default();
    let columns = list.split([',', ';']).map(|column| {
        let times = column
            .split_once('*')
            .and_then(|(times, _)| times.trim().parse().ok());
        times.unwrap_or(1_usize).min(1000)
    });
    columns.sum()
}

/// The name and the value of an attribute.
fn attribute(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix(':')?.split_once(':')?;
    let is_attribute =
        !name.is_empty() && !name.contains(' ') && (value.is_empty() || value.starts_with(' '));
    is_attribute.then_some((name, value.trim()))
}

/// The level of a heading and its words.
fn heading(line: &str) -> Option<(usize, &str)> {
    let words = line.trim_start_matches('=');
    let level = line.len() - words.len();
    let words = words.strip_prefix(' ')?.trim().trim_end_matches('=').trim();
    (1..=6).contains(&level).then_some((level, words))
}

/// Whether a line begins or ends a block: at least four equal signs, `--`, or the fence of a table.
fn is_fence(line: &str) -> bool {
    let Some(mark) = line.chars().next() else {
        return false;
    };
    line == "--"
        || TABLES.contains(&line)
        || (line.len() >= 4 && "-.+=*_".contains(mark) && line.chars().all(|c| c == mark))
}

/// Whether a line is a comment, a condition, a rule or a break, or joins others.
fn is_setting(line: &str) -> bool {
    let mut conditions = [
        "include::",
        "ifdef::",
        "ifndef::",
        "ifeval::",
        "endif::",
        "toc::",
    ]
    .into_iter();
    (line.starts_with("//") && !line.starts_with("///"))
        || (line.ends_with(']') && conditions.any(|condition| line.starts_with(condition)))
        || matches!(line, "'''" | "<<<" | "+")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ken_testing::has;

    use super::*;

    #[test]
    fn a_file() {
        let text = "= Tides\n:toc: left\n\n== High water\n\n[source,sh]\n----\n= open\n----\n\n// a remark\n.Times\n|===\n\
                    |a |b\n|===\n\n////\nhidden\n////\nRead on.";
        let contents =
            contents(text, &Place::whole(Path::new("t.adoc")), &Watch::default()).unwrap();
        has!(contents, title.as_deref(): Some("Tides"),
            text: "# Tides\n\n## High water\n\n= open\n\nTimes\n\na | b\n\nRead on.");
    }

    fn check(text: &str, expected: &str) {
        let contents =
            contents(text, &Place::whole(Path::new("t.adoc")), &Watch::default()).unwrap();
        assert_eq!(contents.text, expected);
    }

    #[test]
    fn attributes_and_macros() {
        check(
            ":ver: 2.5\n\nBefore {ver} of {it}: https://a.b/c[the page^], link:d.html[], <<e>>, <<f,the gate>>, image:g.png[Gate,20].footnote:[Or so.]\n[1] and [2]\n",
            "Before 2.5 of {it}: the page, d.html, e, the gate, [Gate]. (Or so.)\n[1] and [2]",
        );
        check(
            "[quote, I. Ito]\n____\nIt rises. +\nIt falls.\n____\n\n'''\nifdef::x[]\nx\nendif::[]",
            "I. Ito\n\nIt rises.\nIt falls.\n\nx",
        );
    }

    #[test]
    fn underlined_headings() {
        check(
            "Tides\n=====\n\nHigh water\n----------\nx\n----\n== y\n----\n",
            "# Tides\n\n## High water\n\nx\n\n== y",
        );
    }

    #[test]
    fn tables() {
        check(
            "[cols=\"1,2\"]\n|===\n|Pump |Bar\n\n|seven\n|9\nor 10\n\na|eight 2+|all\n|===\n",
            "Pump | Bar\nPump: seven; Bar: 9 or 10\nPump: eight; Bar: all",
        );
    }

    #[test]
    fn wide_and_tall_cells() {
        check(
            "|===\n|Deck |Pump |Bar\n\n.2+|Upper |seven |9\n|eight\n|10\n2+|Lower |11\n|a .2+^|b |c\n|d |e\n|===\n",
            "Deck | Pump | Bar\nDeck: Upper; Pump: seven; Bar: 9\nDeck: Upper; Pump: eight; Bar: 10\nDeck: Lower; Bar: 11\n\
             Deck: a; Pump: b; Bar: c\nDeck: d; Pump: b; Bar: e",
        );
        check(
            "|===\n2+|Both |c\n\n|a |b |d\n|===\n",
            "Both | c\nBoth: a; b; c: d",
        );
    }

    #[test]
    fn a_fence_underlines_nothing_that_it_ends() {
        check(
            "[WARNING]\n====\nBlock\n\n****\nAside\n****\n\nEnds\n====\n\nTides\n=====\n\nx",
            "WARNING:\n\nBlock\n\nAside\n\nEnds\n\n# Tides\n\nx",
        );
    }

    #[test]
    fn separated_tables() {
        let expected = "Pump | Bar\nPump: seven, new; Bar: 9\n\nx";
        for table in [
            ",===\nPump,Bar\n\n\"seven, new\",9\n,===\nx",
            "[%header,format=csv]\n|===\nPump,Bar\n\"seven, new\",9\n|===\nx",
            "[format=\"csv\", cols=\"1,2\"]\n|===\nPump,Bar\n\"seven, new\",9\n|===\nx",
        ] {
            check(table, expected);
        }
        check(
            "[format=csv]\n|===\na,b\n|===\n\n|===\n|c |d\n|===\n",
            "a | b\n\nc | d",
        );
    }

    #[test]
    fn terms_and_notes() {
        check(
            "Pump:: Moves water.\nValve::\n  Opens.\nA::B stays.\n\n[NOTE]\n====\nSlowly.\n====\n\n[TIP]\nGently.\n",
            "Pump: Moves water.\nValve:\n  Opens.\nA::B stays.\n\nNOTE:\n\nSlowly.\n\nTIP:\nGently.",
        );
    }
}

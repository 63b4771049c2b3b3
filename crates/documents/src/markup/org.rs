//! Org: headings by stars, tables by rows, links as what they show; keywords, drawers for programs, comments and what is
//! commented out are left out.

use serde_json::{Map, Value};

use super::{cells, push_line};
use crate::error::ReadError;
use crate::place::Place;
use crate::prose::Prose;
use crate::record::Contents;
use crate::table::{self, Row};
use crate::watch::Watch;

pub(super) fn contents(text: &str, place: &Place, watch: &Watch) -> Result<Contents, ReadError> {
    let mut writer = Writer {
        prose: Prose::new(place, watch),
        title: None,
        metadata: Map::new(),
        block: String::new(),
        in_drawer: false,
        rows: Vec::new(),
        cells: 0,
        commented: None,
        place,
        watch,
    };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        writer.line(line, &mut lines)?;
    }
    writer.end_block()?;
    writer.end_table()?;
    Ok(writer.prose.finish(writer.title, writer.metadata))
}

/// A document so far.
struct Writer<'t> {
    prose: Prose,
    title: Option<String>,
    metadata: Map<String, Value>,
    /// The open paragraph.
    block: String,
    /// Whether the lines are in a drawer for programs.
    in_drawer: bool,
    /// The rows of the open table, and the cells of all.
    rows: Vec<Row>,
    cells: u64,
    /// The level of the heading that is commented out.
    commented: Option<usize>,
    place: &'t Place,
    watch: &'t Watch,
}

impl Writer<'_> {
    /// Reads a line, and with the line that begins a block of code those of the code.
    fn line<'l>(
        &mut self,
        line: &'l str,
        lines: &mut impl Iterator<Item = &'l str>,
    ) -> Result<(), ReadError> {
        let trimmed = line.trim();
        if !trimmed.starts_with('|') {
            self.end_table()?;
        }
        if let Some((level, words)) = heading(line)
            && !self.in_drawer
            && self.commented.is_none_or(|commented| level <= commented)
        {
            self.end_block()?;
            self.commented = is_commented(words).then_some(level);
            return match self.commented {
                Some(_) => Ok(()),
                None => self.prose.heading(level, &shown(words)),
            };
        }
        if self.commented.is_some() {
            return Ok(());
        }
        if self.in_drawer {
            self.in_drawer = !trimmed.eq_ignore_ascii_case(":end:");
            return Ok(());
        }
        if let Some(name) = block_of(trimmed) {
            self.end_block()?;
            return self.prose.paragraph(&code(lines, name));
        }
        if trimmed.starts_with('|') {
            self.end_block()?;
            return self.row(trimmed);
        }
        if let Some(name) = drawer(trimmed) {
            self.in_drawer = matches!(name.as_str(), "properties" | "logbook");
            return Ok(());
        }
        if let Some(keyword) = trimmed.strip_prefix("#+") {
            self.keyword(keyword);
            return Ok(());
        }
        if trimmed.is_empty() {
            return self.end_block();
        }
        if trimmed != "#" && !trimmed.starts_with("# ") {
            push_line(&self::line(line), &mut self.block);
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), ReadError> {
        self.prose.paragraph(&std::mem::take(&mut self.block))
    }

    fn end_table(&mut self) -> Result<(), ReadError> {
        match self.rows.is_empty() {
            true => Ok(()),
            false => table::write(&std::mem::take(&mut self.rows), &mut self.prose),
        }
    }

    fn row(&mut self, line: &str) -> Result<(), ReadError> {
        if is_rule(line) {
            return Ok(());
        }
        let row = cells(&shown(line));
        self.cells += row.len() as u64;
        if self.cells > self.watch.budget.parts() {
            return Err(self.watch.too_many(self.place.clone(), "cells"));
        }
        // A row of widths and alignments, such as `<r10>`, is none of the table.
        if !row.iter().all(|(_, cell)| is_width(cell)) {
            self.rows.push(row);
        }
        Ok(())
    }

    fn keyword(&mut self, keyword: &str) {
        match setting(keyword) {
            ("title", value) if self.title.is_none() => self.title = Some(shown(value)),
            (name @ ("author" | "date"), value) if !value.is_empty() => {
                self.metadata.insert(name.to_owned(), value.into());
            }
            ("caption", value) => push_line(&shown(value), &mut self.block),
            _ => {}
        }
    }
}

/// The name and the value of a keyword, if the document shows it.
fn setting(keyword: &str) -> (&'static str, &str) {
    let (name, value) = keyword.split_once(':').unwrap_or((keyword, ""));
    let mut names = ["title", "author", "date", "caption"].into_iter();
    let name = names.find(|known| known.eq_ignore_ascii_case(name));
    (name.unwrap_or_default(), value.trim())
}

/// The name of the drawer, in lower case, that a line begins, or `end`.
fn drawer(line: &str) -> Option<String> {
    let name = line.strip_prefix(':')?.strip_suffix(':')?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_lowercase())
}

/// The name of the block, of those whose lines are not markup, that a line begins.
fn block_of(line: &str) -> Option<&'static str> {
    let begin = line.get(..8)?;
    let words = line.get(8..)?.split_whitespace().next()?;
    let mut names = ["src", "example", "comment", "export"].into_iter();
    let name = names.find(|name| name.eq_ignore_ascii_case(words))?;
    begin.eq_ignore_ascii_case("#+begin_").then_some(name)
}

/// The lines of a block, up to its end; none if they are no text of the document.
fn code<'t>(lines: &mut impl Iterator<Item = &'t str>, name: &str) -> String {
    let end = format!("#+end_{name}");
    let mut code = String::new();
    for line in lines.take_while(|line| !line.trim().eq_ignore_ascii_case(&end)) {
        // A comma before a star or a number sign is not part of the line.
        let unquoted = line
            .strip_prefix(',')
            .filter(|rest| rest.starts_with(['*', '#']));
        push_line(unquoted.unwrap_or(line), &mut code);
    }
    if matches!(name, "comment" | "export") {
        code.clear();
    }
    code
}

/// Whether a heading comments out what is under it.
fn is_commented(words: &str) -> bool {
    words == "COMMENT" || words.starts_with("COMMENT ")
}

/// The level of a heading and its words, without states and tags.
fn heading(line: &str) -> Option<(usize, &str)> {
    let words = line.trim_start_matches('*');
    let level = line.len() - words.len();
    let words = words.strip_prefix(' ')?.trim();
    let words = ["TODO ", "DONE "]
        .iter()
        .find_map(|state| words.strip_prefix(state))
        .unwrap_or(words);
    let words = match words.rsplit_once(' ') {
        Some((before, tags)) if tags.len() > 2 && tags.starts_with(':') && tags.ends_with(':') => {
            before.trim()
        }
        _ => words,
    };
    // The priority, such as `[#A]`.
    let words = match words
        .strip_prefix("[#")
        .and_then(|rest| rest.split_once(']'))
    {
        Some((priority, rest)) if priority.len() == 1 => rest.trim_start(),
        _ => words,
    };
    (level > 0).then_some((level, words))
}

/// Whether a line is the rule below the head of a table.
fn is_rule(line: &str) -> bool {
    line.starts_with("|-") && line.chars().all(|c| matches!(c, '|' | '-' | '+'))
}

/// Whether a cell tells the width or the alignment of its column, or nothing.
fn is_width(cell: &str) -> bool {
    let inside = cell
        .strip_prefix('<')
        .and_then(|cell| cell.strip_suffix('>'));
    let inside = inside.map(|inside| inside.trim_start_matches(['l', 'c', 'r']));
    cell.is_empty() || inside.is_some_and(|width| width.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The text that a line of a paragraph shows.
fn line(line: &str) -> String {
    let trimmed = line.trim_start();
    // A colon begins a line that stays as it is.
    if trimmed == ":" || trimmed.starts_with(": ") {
        return trimmed.get(2..).unwrap_or_default().to_owned();
    }
    let line = line.strip_suffix("\\\\").unwrap_or(line);
    let line = shown(line);
    match line.split_once(" :: ") {
        Some((term, words)) if trimmed.starts_with(['-', '+', '*']) => {
            format!("{}: {}", term.trim_end(), words.trim_start())
        }
        _ => line,
    }
}

/// A text whose links are what they show, and whose notes are their marks or stand in parentheses.
fn shown(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    // Whether the ends of links and of notes may follow.
    let (mut links_end, mut notes_end) = (true, true);
    while let Some((before, inside)) = rest.split_once('[') {
        out.push_str(before);
        if links_end && let Some(link) = inside.strip_prefix('[') {
            let parts = link.split_once("]]");
            links_end = parts.is_some();
            if let Some((link, after)) = parts {
                out.push_str(link.split_once("][").map_or(link, |(_, label)| label));
                rest = after;
                continue;
            }
        }
        if notes_end && let Some(note) = inside.strip_prefix("fn:") {
            let parts = note.split_once(']');
            notes_end = parts.is_some();
            if let Some((note, after)) = parts {
                match note.split_once(':') {
                    Some((_, words)) => out.push_str(&format!(" ({})", words.trim())),
                    None => out.push_str(&format!("[{note}]")),
                }
                rest = after;
                continue;
            }
        }
        out.push('[');
        rest = inside;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ken_testing::has;

    use super::*;

    #[test]
    fn a_file() {
        let text = "#+TITLE: Tides\n#+AUTHOR: Ito\n\n* TODO High water :sea:moon:\n:PROPERTIES:\n:ID: x\n:END:\n\
                    Read [[https://a.b][the table]].\n# a remark\n\n| a | b |\n|---+---|\n| 1 | 2 |\n** Low\nx";
        let contents =
            contents(text, &Place::whole(Path::new("t.org")), &Watch::default()).unwrap();
        has!(contents, title.as_deref(): Some("Tides"),
            text: "# High water\n\nRead the table.\n\na | b\na: 1; b: 2\n\n## Low\n\nx",
            metadata["author"]: "Ito");
    }

    #[test]
    fn code_stays_and_comments_go() {
        let text = "* [#A] One\n#+BEGIN_SRC sh\n# open\n* all\n\n,* seven\n#+END_SRC\n#+begin_comment\nhidden\n#+end_comment\n\
                    * COMMENT Two\nhidden\n** Below\nhidden\n* Three\nx";
        let contents =
            contents(text, &Place::whole(Path::new("t.org")), &Watch::default()).unwrap();
        assert_eq!(
            contents.text,
            "# One\n\n# open\n* all\n\n* seven\n\n# Three\n\nx"
        );
    }

    #[test]
    fn notes_drawers_and_lists() {
        let text = "#+title: The [[t][tides]]\n* One[fn:1]\nDEADLINE: <2024-05-01 Wed>\n\nIt rises[fn:: Or so.] twice.[fn:a]\\\\\n\
                    :NOTE:\nKept.\n:END:\n:LOGBOOK:\nhidden\n:END:\n- High water :: at noon\n- [X] done\n: as it  is\n\n\
                    | Pump | Bar |\n|------+-----|\n| <l>  | <r5> |\n| 7 | 9 |\n\n[fn:1] A note.\n[fn:2";
        let contents =
            contents(text, &Place::whole(Path::new("t.org")), &Watch::default()).unwrap();
        has!(contents, title.as_deref(): Some("The tides"),
            text: "# One[1]\n\nDEADLINE: <2024-05-01 Wed>\n\nIt rises (Or so.) twice.[a]\nKept.\n- High water: at noon\n- [X] done\n\
                   as it  is\n\nPump | Bar\nPump: 7; Bar: 9\n\n[1] A note.\n[fn:2");
    }
}

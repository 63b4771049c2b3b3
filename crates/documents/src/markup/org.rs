//! Org: headings by stars, tables by rows; keywords, drawers, comments and what is commented out are left out.

use serde_json::Map;

use super::{cells, push_line};
use crate::error::ReadError;
use crate::place::Place;
use crate::prose::Prose;
use crate::record::Contents;
use crate::table::{self, Row};
use crate::watch::Watch;

pub(super) fn contents(text: &str, place: &Place, watch: &Watch) -> Result<Contents, ReadError> {
    let mut prose = Prose::new(place, watch);
    let (mut title, mut metadata) = (None, Map::new());
    let (mut block, mut in_drawer) = (String::new(), false);
    // The rows of the open table, the cells of all, and the level of the heading that is commented out.
    let (mut rows, mut count) = (Vec::<Row>::new(), 0_u64);
    let mut commented: Option<usize> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if count > watch.budget.parts() {
            return Err(watch.too_many(place.clone(), "cells"));
        }
        if !rows.is_empty() && !trimmed.starts_with('|') {
            table::write(&std::mem::take(&mut rows), &mut prose)?;
        }
        let heading = heading(line);
        if let Some((level, words)) = heading
            && !in_drawer
            && commented.is_none_or(|commented| level <= commented)
        {
            prose.paragraph(&std::mem::take(&mut block))?;
            commented = is_commented(words).then_some(level);
            if commented.is_none() {
                prose.heading(level, words)?;
            }
        } else if commented.is_some() {
        } else if in_drawer {
            in_drawer = !trimmed.eq_ignore_ascii_case(":end:");
        } else if let Some(name) = block_of(trimmed) {
            prose.paragraph(&std::mem::take(&mut block))?;
            prose.paragraph(&code(&mut lines, name))?;
        } else if trimmed.starts_with('|') {
            prose.paragraph(&std::mem::take(&mut block))?;
            if !is_rule(trimmed) {
                let row = cells(&links(trimmed));
                count += row.len() as u64;
                rows.push(row);
            }
        } else if begins_drawer(trimmed) {
            in_drawer = true;
        } else if let Some(keyword) = trimmed.strip_prefix("#+") {
            match setting(keyword) {
                ("title", value) if title.is_none() => title = Some(value.to_owned()),
                (name @ ("author" | "date"), value) if !value.is_empty() => {
                    metadata.insert(name.to_owned(), value.into());
                }
                ("caption", value) => push_line(value, &mut block),
                _ => {}
            }
        } else if trimmed == "#" || trimmed.starts_with("# ") {
        } else if trimmed.is_empty() {
            prose.paragraph(&std::mem::take(&mut block))?;
        } else {
            push_line(&links(line), &mut block);
        }
    }
    prose.paragraph(&block)?;
    table::write(&rows, &mut prose)?;
    Ok(prose.finish(title, metadata))
}

/// The name and the value of a keyword, if the document shows it.
fn setting(keyword: &str) -> (&'static str, &str) {
    let (name, value) = keyword.split_once(':').unwrap_or((keyword, ""));
    let mut names = ["title", "author", "date", "caption"].into_iter();
    let name = names.find(|known| known.eq_ignore_ascii_case(name));
    (name.unwrap_or_default(), value.trim())
}

fn begins_drawer(line: &str) -> bool {
    line.eq_ignore_ascii_case(":properties:") || line.eq_ignore_ascii_case(":logbook:")
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

/// A line with its links replaced by the text that they show.
fn links(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, link)) = rest.split_once("[[") {
        let Some((inside, after)) = link.split_once("]]") else {
            break;
        };
        out.push_str(before);
        out.push_str(inside.split_once("][").map_or(inside, |(_, label)| label));
        rest = after;
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
}

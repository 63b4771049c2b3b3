//! Org: headings by stars, keywords and drawers left out.

use serde_json::Map;

use super::push_line;
use crate::error::ReadError;
use crate::place::Place;
use crate::prose::Prose;
use crate::record::Contents;
use crate::watch::Watch;

pub(super) fn contents(text: &str, place: &Place, watch: &Watch) -> Result<Contents, ReadError> {
    let mut prose = Prose::new(place, watch);
    let (mut title, mut metadata) = (None, Map::new());
    let mut block = String::new();
    let mut in_drawer = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if in_drawer {
            in_drawer = !trimmed.eq_ignore_ascii_case(":end:");
        } else if let Some((level, words)) = heading(line) {
            prose.paragraph(&std::mem::take(&mut block))?;
            prose.heading(level, words)?;
        } else if trimmed.eq_ignore_ascii_case(":properties:")
            || trimmed.eq_ignore_ascii_case(":logbook:")
        {
            in_drawer = true;
        } else if let Some(keyword) = trimmed.strip_prefix("#+") {
            let (name, value) = keyword.split_once(':').unwrap_or((keyword, ""));
            let value = value.trim();
            match name.to_lowercase().as_str() {
                "title" if title.is_none() => title = Some(value.to_owned()),
                name @ ("author" | "date") if !value.is_empty() => {
                    metadata.insert(name.to_owned(), value.into());
                }
                "caption" => push_line(value, &mut block),
                _ => {}
            }
        } else if trimmed == "#" || trimmed.starts_with("# ") || is_rule(trimmed) {
        } else if trimmed.is_empty() {
            prose.paragraph(&std::mem::take(&mut block))?;
        } else {
            push_line(&links(line), &mut block);
        }
    }
    prose.paragraph(&block)?;
    Ok(prose.finish(title, metadata))
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
            text: "# High water\n\nRead the table.\n\n| a | b |\n| 1 | 2 |\n\n## Low\n\nx",
            metadata["author"]: "Ito");
    }
}

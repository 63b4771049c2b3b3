//! AsciiDoc: headings by equals signs, attributes and the lines that fence blocks left out.

use serde_json::Map;

use super::push_line;
use crate::error::ReadError;
use crate::place::Place;
use crate::prose::Prose;
use crate::record::Contents;
use crate::watch::Watch;

pub(super) fn contents(text: &str, place: &Place, watch: &Watch) -> Result<Contents, ReadError> {
    let mut prose = Prose::new(place, watch);
    let mut block = String::new();
    // The fence of the open block, whose lines are not markup.
    let mut verbatim: Option<&str> = None;
    let mut in_comment = false;
    for line in text.lines() {
        let trimmed = line.trim_end();
        if trimmed.len() >= 4 && trimmed.bytes().all(|byte| byte == b'/') {
            in_comment = !in_comment;
        } else if in_comment {
        } else if let Some(fence) = verbatim {
            match trimmed == fence {
                true => {
                    prose.paragraph(&std::mem::take(&mut block))?;
                    verbatim = None;
                }
                false => push_line(line, &mut block),
            }
        } else if is_fence(trimmed) {
            prose.paragraph(&std::mem::take(&mut block))?;
            verbatim = trimmed.starts_with(['-', '.', '+']).then_some(trimmed);
            if trimmed == "--" {
                verbatim = None;
            }
        } else if let Some((level, words)) = heading(trimmed) {
            prose.paragraph(&std::mem::take(&mut block))?;
            prose.heading(level, words)?;
        } else if is_setting(trimmed) {
        } else if trimmed.is_empty() {
            prose.paragraph(&std::mem::take(&mut block))?;
        } else {
            // A block's title begins with a dot.
            let words = trimmed
                .strip_prefix('.')
                .filter(|words| words.starts_with(char::is_alphanumeric));
            push_line(words.unwrap_or(trimmed), &mut block);
        }
    }
    prose.paragraph(&block)?;
    Ok(prose.finish(None, Map::new()))
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
        || line == "|==="
        || (line.len() >= 4 && "-.+=*_".contains(mark) && line.chars().all(|c| c == mark))
}

/// Whether a line is an attribute, a comment, or the list of a block's properties.
fn is_setting(line: &str) -> bool {
    let is_attribute = line.strip_prefix(':').and_then(|rest| rest.split_once(':'));
    is_attribute.is_some_and(|(name, value)| {
        !name.is_empty() && !name.contains(' ') && (value.is_empty() || value.starts_with(' '))
    }) || (line.starts_with("//") && !line.starts_with("///"))
        || (line.starts_with('[') && line.ends_with(']'))
        || (line.starts_with("include::") && line.ends_with(']'))
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
            text: "# Tides\n\n## High water\n\n= open\n\nTimes\n\n|a |b\n\nRead on.");
    }
}

//! The title, the readable text and the front matter of a Markdown file. Code is kept, markup is
//! not.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use crate::budget::Budget;
use crate::error::ReadError;
use crate::front_matter;
use crate::place::Place;
use crate::record::Contents;
use crate::watch::Watch;

/// How many consecutive line breaks are kept where something ends. Each end counts them again, so
/// they have to be few.
const MOST_BREAKS: usize = 16;
/// What the parser may keep something of beside the text, about 64 bytes each: line ends and marks.
const MARKS: &[u8] = b"\n[]<>*_~`\\&!|";
/// Events between two checks of the stop flag.
const EVENTS_PER_CHECK: usize = 4096;

/// The front matter's title, or else the first heading; the text, in which a heading that opens the
/// file is left out as the title, unless nothing follows it; and the front matter less the title.
///
/// # Errors
/// [`ReadError::TooDeep`], since the parser looks at all open containers on every line;
/// [`ReadError::TooManyParts`] for front matter without end, and for marks without end, of each of which the parser
/// keeps many times its bytes; [`ReadError::Stopped`].
pub(crate) fn contents(
    markdown: &str,
    place: &Place,
    watch: &Watch,
) -> Result<Contents, ReadError> {
    if is_too_deep(markdown) {
        return Err(ReadError::TooDeep {
            place: place.clone(),
        });
    }
    let limit = watch.budget.parts().saturating_mul(2);
    let marks = markdown.bytes().filter(|byte| MARKS.contains(byte));
    if marks.count() as u64 > limit {
        let (place, parts) = (place.clone(), "line ends and marks");
        return Err(ReadError::TooManyParts {
            place,
            parts,
            limit,
        });
    }
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut text = String::new();
    let mut title: Option<String> = None;
    let mut heading_start = 0;
    // Where the text continues after a heading that opens the file.
    let mut body_start = 0;
    let mut in_front_matter = false;
    let mut front_matter = String::new();
    for (number, event) in Parser::new_ext(markdown, options).enumerate() {
        if number.is_multiple_of(EVENTS_PER_CHECK) {
            watch.check()?;
        }
        match event {
            // The same marks further down are text.
            Event::Start(Tag::MetadataBlock(_)) => in_front_matter = text.is_empty(),
            Event::End(TagEnd::MetadataBlock(_)) => in_front_matter = false,
            Event::Text(lines) if in_front_matter => front_matter.push_str(&lines),
            Event::Start(Tag::Heading { .. }) => {
                end_line(&mut text, 2);
                heading_start = text.len();
            }
            Event::End(TagEnd::Heading(_)) => {
                let heading = text[heading_start..].trim().to_owned();
                end_line(&mut text, 2);
                if title.is_none() && !heading.is_empty() {
                    title = Some(heading);
                    if heading_start == 0 {
                        body_start = text.len();
                    }
                }
            }
            Event::Text(words) | Event::Code(words) => text.push_str(&words),
            Event::SoftBreak => text.push(' '),
            Event::HardBreak => text.push('\n'),
            Event::End(TagEnd::TableCell) => text.push('\t'),
            Event::End(TagEnd::Item | TagEnd::TableRow | TagEnd::TableHead)
            | Event::Start(Tag::Item) => end_line(&mut text, 1),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::CodeBlock
                | TagEnd::Table
                | TagEnd::BlockQuote(_)
                | TagEnd::FootnoteDefinition,
            )
            | Event::Rule => end_line(&mut text, 2),
            Event::End(TagEnd::List(_)) => end_line(&mut text, 1),
            _ => {}
        }
    }
    let body = text[body_start..].trim();
    let body = if body.is_empty() { text.trim() } else { body };
    if front_matter::items(&front_matter) > watch.budget.parts() {
        return Err(watch.too_many(place.clone(), "values"));
    }
    let mut metadata = front_matter::fields(&front_matter);
    let given = match metadata.get("title") {
        Some(Value::String(given)) => Some(given.clone()),
        _ => None,
    };
    if given.is_some() {
        metadata.shift_remove("title");
    }
    // A heading that is not the title is ordinary text.
    let body = match &given {
        Some(given) if title.as_ref() != Some(given) => text.trim(),
        _ => body,
    };
    Ok(Contents {
        text: body.to_owned(),
        title: given.or(title),
        metadata,
    })
}

/// Whether quotes and lists may be nested too deep. It counts the marks before the text of each
/// line, and takes indentation for nesting only as far as lists are open.
fn is_too_deep(markdown: &str) -> bool {
    let mut lists = 0_usize;
    markdown.lines().any(|line| {
        let (mut quotes, mut new_lists, mut columns) = (0_usize, 0_usize, 0_usize);
        let mut rest = line.as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            let is_mark = match byte {
                b' ' | b'\t' => {
                    if new_lists == 0 {
                        columns += if byte == b'\t' { 4 } else { 1 };
                    }
                    rest = after;
                    continue;
                }
                b'>' => {
                    quotes += 1;
                    rest = after;
                    continue;
                }
                b'-' | b'*' | b'+' => true,
                b'0'..=b'9' => {
                    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    rest = &rest[digits.min(9)..];
                    matches!(rest.first(), Some(b'.' | b')'))
                }
                _ => false,
            };
            rest = rest.get(1..).unwrap_or_default();
            if !is_mark || !matches!(rest.first(), None | Some(b' ' | b'\t')) {
                break;
            }
            new_lists += 1;
        }
        if new_lists > 0 {
            lists = lists.min(columns / 2) + new_lists;
        }
        quotes + lists > Budget::DEPTH
    })
}

/// Ends the text with at least `breaks` line breaks, and not with very many, unless it is empty.
fn end_line(text: &mut String, breaks: usize) {
    if text.is_empty() {
        return;
    }
    let solid = text.trim_end_matches(['\n', '\t', ' ']).len();
    let present = text[solid..].matches('\n').count();
    text.truncate(solid);
    text.extend(std::iter::repeat_n(
        '\n',
        present.clamp(breaks, MOST_BREAKS),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn contents(markdown: &str) -> Contents {
        let place = Place::whole(std::path::Path::new("t.md"));
        super::contents(markdown, &place, &Watch::default()).unwrap()
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |unit: &str, depth: usize| is_too_deep(&format!("{}x", unit.repeat(depth)));
        for unit in [">", "> ", "- ", "* ", "1. ", "- > "] {
            let marks = unit.split_whitespace().count().max(1);
            assert!(nested(unit, 101), "{unit}");
            assert!(!nested(unit, 100 / marks), "{unit}");
        }
        let stairs = |depth: usize| -> String {
            let lines = (0..depth).map(|level| format!("{}- x\n", "  ".repeat(level)));
            lines.collect()
        };
        assert!(!is_too_deep(&stairs(100)));
        assert!(is_too_deep(&stairs(101)));
        for flat in [
            "- a\n- b\n".repeat(500),
            "> a\n".repeat(500),
            format!("{}x\n", " ".repeat(1000)),
            format!("{}\n", "-".repeat(1000)),
            "* * *\n".repeat(500),
            "1. a\n   - b\n     1. c\n".repeat(500),
            "text\n".repeat(500),
        ] {
            assert!(!is_too_deep(&flat), "{flat}");
        }
    }

    #[test]
    fn marks_are_bounded() {
        let read = |markdown: &str| {
            let place = Place::whole(std::path::Path::new("t.md"));
            let watch = Watch {
                budget: Budget {
                    document_bytes: 1 << 20,
                },
                ..Watch::default()
            };
            super::contents(markdown, &place, &watch).map(|contents| contents.text.len())
        };
        let limit = 2 * (1 << 20) / 64;
        for unit in [
            "[", "]", "![", "<", "&", "`", "\\", "a\n", "|", "*a", "a_", "[a](", "- \n",
        ] {
            let marks = unit.bytes().filter(|byte| MARKS.contains(byte)).count();
            assert!(read(&unit.repeat(limit / marks)).is_ok(), "{unit}");
            let refused = read(&unit.repeat(limit / marks + 1)).unwrap_err();
            assert!(
                matches!(refused, ReadError::TooManyParts { .. }),
                "{unit}: {refused}"
            );
        }
        // Of plain text, nothing but lines is kept.
        assert!(read(&"word (and) word. ".repeat(60_000)).is_ok());
    }

    #[track_caller]
    fn check(markdown: &str, title: Option<&str>, text: &str) {
        let contents = contents(markdown);
        assert_eq!(
            (contents.title.as_deref(), contents.text.as_str()),
            (title, text)
        );
    }

    #[test]
    fn front_matter_is_metadata() {
        let given = contents("---\ntitle: Given\ntags: [a, b]\ndraft: true\n---\n# Head\n\ntext\n");
        assert_eq!(given.title.as_deref(), Some("Given"));
        assert_eq!(given.text, "Head\n\ntext");
        let metadata = r#"{"tags":["a","b"],"draft":true}"#;
        assert_eq!(Value::from(given.metadata).to_string(), metadata);

        let same = contents("---\ntitle: Head\n---\n# Head\n\ntext");
        assert_eq!(same.text, "text");
        assert_eq!(
            contents("text\n\n---\nkey: value\n---\n").metadata,
            serde_json::Map::new()
        );
    }

    #[test]
    fn text_and_title() {
        check(
            "---\nkey: value\n---\n# The *title*\n\nSome **bold** [link](http://x) and `code`\nwrapped.\n\n## Part\n\nMore &amp; more <b>x</b>.\n",
            Some("The title"),
            "Some bold link and code wrapped.\n\nPart\n\nMore & more x.",
        );
        check("Intro.\n\n# Late\n", Some("Late"), "Intro.\n\nLate");
        check("# Only\n", Some("Only"), "Only");
        check("no heading", None, "no heading");
        check("", None, "");
    }

    #[test]
    fn spaces_at_the_end_of_a_title_do_not_count() {
        check("# Title ![](a) ![](b) ![](c)", Some("Title"), "Title");
        check(
            "# Title ![](a) ![](b) ![](c)\n\n海牙。",
            Some("Title"),
            "海牙。",
        );
        check("# `x    `\n\n海", Some("x"), "海");
        check("# x `   y    `\n\n海", Some("x   y"), "海");
    }

    proptest! {
        #[test]
        fn no_text_is_refused(markdown in "[#a海 \n`!\\[\\]()|*_>-]{0,60}") {
            contents(&markdown);
        }
    }

    #[test]
    fn lists_tables_and_code() {
        check(
            "- one\n- two\n  - deep\n\nAfter\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn f() {}\n\nlet x;\n```\n<!-- hidden -->\nEnd",
            None,
            "one\ntwo\ndeep\nAfter\n\na\tb\n1\t2\n\nfn f() {}\n\nlet x;\n\nEnd",
        );
    }
}

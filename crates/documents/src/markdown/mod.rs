//! The title, the readable text and the front matter of a Markdown file. Code is kept, markup is
//! dropped, and embedded HTML is read as HTML.

mod extension;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use crate::budget::Budget;
use crate::error::ReadError;
use crate::front_matter::FrontMatter;
use crate::html::{Finished, Heading, ListKind, Page, read_into, trimmed};
use crate::numerals::Style;
use crate::place::Place;
use crate::record::Contents;
use crate::watch::Watch;

/// The line ends and marks for which the parser may keep about 64 bytes each.
const MARKS: &[u8] = b"\n[]<>*_~`\\&!|";
/// Events between two checks of the stop flag.
const EVENTS_PER_CHECK: usize = 4096;

/// The front matter's title, or else the first heading; the text, in which a heading that opens the
/// file is left out as the title, unless nothing follows it; and the front matter less the title.
/// Embedded HTML is read as HTML.
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
    let (front_matter, markdown) = FrontMatter::split(markdown);
    let plain = extension::plain(markdown);
    let markdown = plain.as_ref();
    if is_too_deep(markdown) {
        return Err(ReadError::TooDeep {
            place: place.clone(),
        });
    }
    if front_matter.items() > watch.budget.parts() {
        return Err(watch.too_many(place.clone(), "values"));
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
    let page = page(markdown, watch)?;
    let mut metadata = front_matter.fields();
    let given = match metadata.get("title") {
        Some(Value::String(given)) => Some(given.clone()),
        _ => None,
    };
    if given.is_some() {
        metadata.shift_remove("title");
    }
    let heading = page.first_heading.clone();
    // A heading that is not the title is ordinary text.
    let is_title = |heading: &Heading| given.as_ref().is_none_or(|given| *given == heading.text);
    let body = heading
        .as_ref()
        .filter(|heading| heading.place.start == 0 && is_title(heading))
        .and_then(|heading| page.text.get(heading.place.end..))
        .map(trimmed)
        .filter(|body| !body.is_empty());
    let text = body.unwrap_or_else(|| trimmed(&page.text));
    Ok(Contents {
        outline: page.outline_of(text),
        text: text.to_owned(),
        title: given.or(heading.map(|heading| heading.text)).or(page.title),
        metadata,
    })
}

/// The page of a text.
fn page(markdown: &str, watch: &Watch) -> Result<Finished, ReadError> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS;
    let mut page = Page::default();
    // The open block of HTML.
    let mut html: Option<String> = None;
    for (number, event) in Parser::new_ext(markdown, options).enumerate() {
        if number.is_multiple_of(EVENTS_PER_CHECK) {
            watch.check()?;
        }
        match event {
            Event::Start(Tag::HtmlBlock) => html = Some(String::new()),
            Event::Html(lines) => match &mut html {
                Some(html) => html.push_str(&lines),
                None => read_into(&mut page, &lines, watch)?,
            },
            Event::End(TagEnd::HtmlBlock) => {
                let before = page.length();
                read_into(&mut page, &html.take().unwrap_or_default(), watch)?;
                let written = page.length() > before;
                page.end_paragraph(if written { 2 } else { 0 });
            }
            Event::InlineHtml(tag) => {
                page.inline = true;
                read_into(&mut page, &tag, watch)?;
                page.inline = false;
            }
            Event::Text(words) => page.text(&words),
            Event::Code(words) => page.verbatim(&words),
            Event::SoftBreak => page.text(" "),
            Event::HardBreak => page.break_lines(1),
            Event::FootnoteReference(name) => page.text(&format!("[{name}]")),
            Event::TaskListMarker(is_done) => page.text(if is_done { "[x] " } else { "[ ] " }),
            Event::Rule => page.start_block(b"hr", 2),
            Event::Start(tag) => start(&mut page, &tag),
            Event::End(tag) => end(&mut page, tag),
            _ => {}
        }
    }
    Ok(page.finish())
}

fn start(page: &mut Page, tag: &Tag<'_>) {
    match tag {
        Tag::Paragraph => page.start_block(b"p", 0),
        Tag::Heading { level, .. } => {
            page.start_block(b"h1", 2);
            page.start_heading(*level as u8);
        }
        Tag::CodeBlock(_) => {
            page.start_block(b"pre", 1);
            page.start_preformatted();
        }
        Tag::Item => {
            page.start_block(b"li", 1);
            page.start_item(None);
        }
        Tag::BlockQuote(kind) => {
            page.start_block(b"blockquote", 1);
            if let Some(kind) = kind {
                page.start_term();
                page.text(&format!("{kind:?}"));
                page.start_definition();
            }
        }
        Tag::List(first) => {
            page.start_block(b"ul", 0);
            page.start_list(ListKind::Markdown, *first, Style::default());
        }
        Tag::FootnoteDefinition(name) => {
            page.start_block(b"p", 2);
            page.text(&format!("[{name}] "));
        }
        Tag::Strikethrough => page.start_struck(),
        Tag::Table(_) => {
            page.start_block(b"table", 0);
            page.start_table();
        }
        Tag::TableHead | Tag::TableRow => page.start_row(),
        // The first row of a table is its header.
        Tag::TableCell => page.start_cell(1, 1, true),
        _ => {}
    }
}

fn end(page: &mut Page, tag: TagEnd) {
    match tag {
        TagEnd::Heading(_) => {
            page.end_heading();
            page.end_paragraph(2);
        }
        TagEnd::CodeBlock => {
            page.end_preformatted();
            page.end_paragraph(2);
        }
        TagEnd::Paragraph | TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition => {
            page.end_paragraph(2);
        }
        TagEnd::Item => page.end_paragraph(1),
        TagEnd::List(_) => {
            page.end_paragraph(1);
            page.end_list(ListKind::Markdown);
        }
        TagEnd::Strikethrough => page.end_struck(),
        TagEnd::TableCell => {
            page.end_paragraph(0);
            page.end_cell();
        }
        TagEnd::TableRow | TagEnd::TableHead => page.end_row(),
        TagEnd::Table => page.end_table(),
        _ => {}
    }
}

/// Whether quotes and lists may nest too deep. It counts the marks before the text of each
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

#[cfg(test)]
mod tests {
    use ken_testing::has;

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
        has!(contents, title.as_deref(): title, text.as_str(): text);
    }

    #[test]
    fn front_matter_is_metadata() {
        let given = contents("---\ntitle: Given\ntags: [a, b]\ndraft: true\n---\n# Head\n\ntext\n");
        has!(given, title.as_deref(): Some("Given"), text: "Head\n\ntext");
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
    fn html_is_read_as_html() {
        check(
            "Before.\n\n<table>\n<tr><th>Part</th><th>Torque</th></tr>\n<tr><td>Nut</td><td>9 Nm</td></tr>\n</table>\n\nAfter.\n",
            None,
            "Before.\n\nPart\tTorque\nNut\t9 Nm\n\nAfter.",
        );
        check(
            "<h1 align=\"center\">\n  <img src=a.png>\n  The <i>pump</i>\n</h1>\n\n<p align=center>One.</p>\n\nTwo.\n",
            Some("The pump"),
            "One.\n\nTwo.",
        );
        check(
            "<details><summary>More</summary>\n\nSome *marked* text.\n\n- a\n- b\n\n</details>\n<!-- c -->\n\nEnd.\n",
            None,
            "More\n\nSome marked text.\n\na\nb\n\nEnd.",
        );
        check(
            "<table><tr><td>\n\n**a**\n\n</td><td>\n\nb\n\n</td></tr></table>\n",
            None,
            "a\tb",
        );
        check("<script>\nlet x;\n</script>\n\nx\n", None, "x");
    }

    #[test]
    fn tags_within_a_line() {
        check("a<br>b<br/>c", None, "a\nb\nc");
        check("| a<br>b | c |\n|---|---|\n| d | |\n", None, "a b\tc\nd");
        check("10<sup>6</sup> of H<sub>2</sub>O", None, "10^6 of H2O");
        check("a <span hidden>b</span> c", None, "a c");
        // A name in angles is no element that swallows what follows it.
        check(
            "Run `x` <title> and\n\ngo <svg> on\n\nhome",
            None,
            "Run x and\n\ngo\n\nhome",
        );
    }

    #[test]
    fn notes_numbers_tasks_and_what_is_struck_out() {
        check(
            "A note[^1], at ~~9~~ 8 bar.\n\n3. three\n4. four\n   - deep\n\n- [ ] open\n- [x] done\n\n[^1]: Or *so*.\n",
            None,
            "A note[1], at ~~9~~ 8 bar.\n\n3. three\n4. four\ndeep\n[ ] open\n[x] done\n\n[1] Or so.",
        );
        check("1. One.\n\n2. Two.\n", None, "1. One.\n\n2. Two.");
    }

    #[test]
    fn notes_in_boxes_and_definitions() {
        check(
            "> [!WARNING]\n> It *shuts*.\n\n!!! note\n    Slowly.\n\n:::tip\n- a\n:::\n\nPump\n: Moves water.\n",
            None,
            "Warning: It shuts.\n\nNote: Slowly.\n\nTip:\n\na\nPump: Moves water.",
        );
        check("- a </ul>\n- b <del>c</del>d\n", None, "a\nb d");
        check("1. a </ol>\n2. b", None, "1. a\n2. b");
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

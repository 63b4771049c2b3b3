//! The title, the readable text and the front matter of a Markdown file. Code is kept, markup is
//! not.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::{Map, Value};

use super::front_matter;

/// What a Markdown file holds.
#[derive(Debug, PartialEq)]
pub(super) struct Contents {
    /// The front matter's title, or else the first heading.
    pub(super) title: Option<String>,
    /// The text. A heading that opens the file is the title only, unless nothing follows it.
    pub(super) text: String,
    /// The front matter, less the title.
    pub(super) metadata: Map<String, Value>,
}

/// Reads a file.
pub(super) fn contents(markdown: &str) -> Contents {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut text = String::new();
    let mut title: Option<String> = None;
    let mut heading_start = 0;
    // Where the text goes on behind a heading that opens the file.
    let mut body_start = 0;
    let mut in_front_matter = false;
    let mut front_matter = String::new();
    for event in Parser::new_ext(markdown, options) {
        match event {
            // The same marks further down are no front matter, but text.
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
    let mut metadata = front_matter::fields(&front_matter);
    let given = match metadata.get("title") {
        Some(Value::String(given)) => Some(given.clone()),
        _ => None,
    };
    if given.is_some() {
        metadata.shift_remove("title");
    }
    // A heading that is not the title is text as any other.
    let body = match &given {
        Some(given) if title.as_ref() != Some(given) => text.trim(),
        _ => body,
    };
    Contents {
        text: body.to_owned(),
        title: given.or(title),
        metadata,
    }
}

/// Ends the text with at least `breaks` line breaks, unless it is empty.
fn end_line(text: &mut String, breaks: usize) {
    if text.is_empty() {
        return;
    }
    let solid = text.trim_end_matches(['\n', '\t', ' ']).len();
    let present = text[solid..].matches('\n').count();
    text.truncate(solid);
    text.extend(std::iter::repeat_n('\n', present.max(breaks)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            Map::new()
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

//! The title, the visible text and the metadata of an HTML file, from its tokens.
//!
//! It builds no tree and ignores style sheets: an element that only CSS hides is read.

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::record::{Contents, one_line};
use crate::watch::Watch;

/// The names of `<meta name=… content=…>` that become metadata.
const META_NAMES: [&str; 4] = ["description", "author", "keywords", "date"];

/// Elements whose content a page does not show.
const HIDDEN: [&[u8]; 8] = [
    b"script",
    b"style",
    b"template",
    b"noscript",
    b"svg",
    b"iframe",
    b"object",
    b"select",
];

/// The title element's text, or else the first first-level heading's; the visible text; and what
/// the page says of itself.
///
/// # Errors
/// [`ReadError::Stopped`].
pub(crate) fn contents(html: &str, watch: &Watch) -> Result<Contents, ReadError> {
    let mut page = Page::default();
    // Attributes are handled as they come: kept until their tag ends, those of a hostile tag would
    // take many times their size in the file.
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
        page.event(&event);
        watch.stopped().then_some(Stopped)
    });
    emitter.naively_switch_states(true);
    if let Some(Ok(Stopped)) = Tokenizer::new_with_emitter(html, emitter).next() {
        return Err(ReadError::Stopped);
    }
    Ok(page.finish())
}

/// The only token that the emitter passes on.
struct Stopped;

/// A page so far.
#[derive(Default)]
struct Page {
    text: String,
    /// Line breaks that are due before the next text, at most 2.
    breaks: usize,
    /// Whether a space is due before the next text.
    space: bool,
    hidden: Hidden,
    preformatted: usize,
    title: Option<String>,
    in_title: bool,
    /// Where the open first-level heading starts.
    heading_start: Option<usize>,
    heading: Option<String>,
    metadata: Map<String, Value>,
    /// The start tag that is being read.
    tag: Option<Tag>,
}

/// A start tag.
#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    /// The attributes of `<meta>`.
    meta_name: Option<String>,
    content: Option<String>,
    /// Which of them the next value is.
    attribute: Attribute,
}

#[derive(Default)]
enum Attribute {
    Name,
    Content,
    #[default]
    Other,
}

/// The open elements whose content is not visible, as their places in [`HIDDEN`].
#[derive(Default)]
struct Hidden {
    open: Vec<usize>,
    /// How many of each are open, so that no element is searched for in vain.
    counts: [usize; HIDDEN.len()],
}

impl Hidden {
    fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    fn open(&mut self, name: &[u8]) {
        if let Some(element) = HIDDEN.iter().position(|&hidden| hidden == name) {
            self.open.push(element);
            self.counts[element] += 1;
        }
    }

    /// Closes an element with everything open in it; false where none of this name is open.
    fn close(&mut self, name: &[u8]) -> bool {
        let element = HIDDEN.iter().position(|&hidden| hidden == name);
        let Some(element) = element.filter(|&element| self.counts[element] > 0) else {
            return false;
        };
        while let Some(closed) = self.open.pop() {
            self.counts[closed] -= 1;
            if closed == element {
                break;
            }
        }
        true
    }
}

impl Page {
    fn event(&mut self, event: &CallbackEvent<'_>) {
        match *event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = Some(Tag {
                    name: name.to_owned(),
                    ..Tag::default()
                });
            }
            CallbackEvent::AttributeName { name } => {
                if let Some(tag) = self.tag.as_mut().filter(|tag| tag.name == b"meta") {
                    tag.attribute(name);
                }
            }
            CallbackEvent::AttributeValue { value } => {
                if let Some(tag) = &mut self.tag {
                    tag.value(value);
                }
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                if let Some(tag) = self.tag.take() {
                    self.open(&tag.name, self_closing);
                    self.meta(tag);
                }
            }
            CallbackEvent::EndTag { name } => {
                self.tag = None;
                self.close(name);
            }
            CallbackEvent::String { value } => self.text(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { .. }
            | CallbackEvent::Doctype { .. }
            | CallbackEvent::Error(_) => {}
        }
    }

    /// Keeps the first non-empty value of each name.
    fn meta(&mut self, tag: Tag) {
        if !self.hidden.is_empty() {
            return;
        }
        let (Some(name), Some(content)) = (tag.meta_name, tag.content) else {
            return;
        };
        let name = META_NAMES
            .into_iter()
            .find(|known| known.eq_ignore_ascii_case(name.trim()));
        if let Some((name, content)) = name.zip(one_line(&content)) {
            self.metadata.entry(name).or_insert(content.into());
        }
    }

    fn open(&mut self, name: &[u8], self_closing: bool) {
        if !self_closing {
            self.hidden.open(name);
        }
        if !self.hidden.is_empty() {
            return;
        }
        match name {
            b"title" if self.title.is_none() => {
                self.in_title = true;
                self.title = Some(String::new());
            }
            b"pre" => self.preformatted += 1,
            b"td" | b"th" => self.space = true,
            _ => {}
        }
        self.break_lines(name);
        if name == b"h1" {
            self.heading_start = Some(self.text.len());
        }
    }

    fn close(&mut self, name: &[u8]) {
        if self.hidden.close(name) || !self.hidden.is_empty() {
            return;
        }
        match name {
            b"title" => self.in_title = false,
            b"pre" => self.preformatted = self.preformatted.saturating_sub(1),
            b"h1" => {
                let start = self.heading_start.take().unwrap_or(self.text.len());
                let heading = self.text[start..].trim();
                if self.heading.is_none() && !heading.is_empty() {
                    self.heading = Some(heading.to_owned());
                }
            }
            _ => {}
        }
        self.break_lines(name);
    }

    fn break_lines(&mut self, name: &[u8]) {
        self.breaks = self.breaks.max(line_breaks(name));
    }

    fn text(&mut self, text: &str) {
        if !self.hidden.is_empty() {
            return;
        }
        if self.in_title {
            if let Some(title) = &mut self.title {
                title.push_str(text);
            }
            return;
        }
        if self.preformatted > 0 {
            if !text.is_empty() {
                self.settle();
                self.text.push_str(text);
            }
            return;
        }
        self.space |= text.starts_with(|c: char| c.is_ascii_whitespace());
        for word in text.split_ascii_whitespace() {
            self.settle();
            self.text.push_str(word);
            self.space = true;
        }
        self.space = text.ends_with(|c: char| c.is_ascii_whitespace())
            || (self.space && text.trim_ascii().is_empty());
    }

    /// Writes the line breaks or the space that are due.
    fn settle(&mut self) {
        if !self.text.is_empty() {
            if self.breaks > 0 {
                self.text.extend(std::iter::repeat_n('\n', self.breaks));
            } else if self.space {
                self.text.push(' ');
            }
        }
        self.breaks = 0;
        self.space = false;
    }

    fn finish(self) -> Contents {
        let title = self.title.and_then(|title| one_line(&title));
        Contents {
            title: title.or(self.heading),
            text: self.text.trim().to_owned(),
            metadata: self.metadata,
        }
    }
}

impl Tag {
    /// Begins an attribute; the first of a name counts.
    fn attribute(&mut self, name: &[u8]) {
        self.attribute = match name {
            b"name" if self.meta_name.is_none() => {
                self.meta_name = Some(String::new());
                Attribute::Name
            }
            b"content" if self.content.is_none() => {
                self.content = Some(String::new());
                Attribute::Content
            }
            _ => Attribute::Other,
        };
    }

    fn value(&mut self, value: &[u8]) {
        let value = || Some(String::from_utf8_lossy(value).into_owned());
        match self.attribute {
            Attribute::Name => self.meta_name = value(),
            Attribute::Content => self.content = value(),
            Attribute::Other => {}
        }
    }
}

/// How many line breaks separate an element from its surroundings; 0 within a line.
fn line_breaks(name: &[u8]) -> usize {
    match name {
        b"br" | b"li" | b"tr" | b"dt" | b"dd" | b"div" | b"option" | b"caption" | b"figcaption"
        | b"summary" | b"form" | b"legend" => 1,
        b"p" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"ul" | b"ol" | b"dl" | b"table"
        | b"pre" | b"blockquote" | b"hr" | b"section" | b"article" | b"header" | b"footer"
        | b"main" | b"nav" | b"aside" | b"figure" | b"details" | b"fieldset" | b"address"
        | b"body" => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(html: &str) -> Contents {
        super::contents(html, &Watch::default()).unwrap()
    }

    #[track_caller]
    fn check(html: &str, title: Option<&str>, text: &str) {
        let contents = contents(html);
        assert_eq!(
            (contents.title.as_deref(), contents.text.as_str()),
            (title, text)
        );
        assert_eq!(contents.metadata, Map::new());
    }

    #[test]
    fn what_a_page_says_of_itself() {
        let page = contents(
            "<head><meta charset=utf-8><META NAME=Author CONTENT=' A &amp;\n B '><meta name=author content=C>\
             <meta name=keywords content='x, y'/><meta name=description content=''><meta name=robots content=z>\
             <meta content=2020-01-02 name=date></head><p>text",
        );
        let metadata = r#"{"author":"A & B","keywords":"x, y","date":"2020-01-02"}"#;
        assert_eq!(Value::from(page.metadata).to_string(), metadata);
        assert_eq!(page.text, "text");
    }

    #[test]
    fn a_page() {
        check(
            "<!doctype html><html><head><title> A &amp;\n B </title><style>p{}</style>\
             <script>if (a < b) x('</p>');</script></head><body><h1>Head</h1>\n<p>One <b>two</b>,\n three&nbsp;&eacute;.\
             <!-- no --><p>Four<br>five<ul><li>a<li>b</ul></body></html>",
            Some("A & B"),
            "Head\n\nOne two, three\u{a0}é.\n\nFour\nfive\n\na\nb",
        );
    }

    #[test]
    fn spaces_and_preformatted_text() {
        check("a<b> b</b><i>c</i> <u>d</u>", None, "a bc d");
        check("<pre>x\n  y</pre>z", None, "x\n  y\n\nz");
        check(
            "<table><tr><td>1</td><td>2</td></tr><tr><td>3</table>",
            None,
            "1 2\n3",
        );
        check(
            "<h1>From <i>heading</i></h1>x",
            Some("From heading"),
            "From heading\n\nx",
        );
    }

    #[test]
    fn what_is_not_visible_and_what_is_broken() {
        check(
            "a<noscript>n<p>m</noscript>b<template>t</template>c",
            None,
            "abc",
        );
        check("a<svg><title>t</title></svg><p", None, "a");
        check("<", None, "<");
        check(
            "x</p></div>y &bogus; &#x110000; 1 < 2",
            None,
            "x\n\ny &bogus; \u{fffd} 1 < 2",
        );
        check("", None, "");
    }
}

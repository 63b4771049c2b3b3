//! The title, the visible text and the metadata of an HTML file, from its tokens.
//!
//! It builds no tree and ignores style sheets: an element that only these hide is read.

mod article;
mod elements;
mod formula;
mod list;
mod page;
mod ruby;
mod scope;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, ForwardingEmitter, Span, State, Tokenizer, naive_next_state};

pub(crate) use self::formula::{Formula, group};
pub(crate) use self::list::ListKind;
use self::page::Attributes;
pub(crate) use self::page::{Finished, Heading, Page};
use crate::error::ReadError;
use crate::numerals::Style;
use crate::record::{Contents, one_line};
use crate::watch::Watch;

/// The names of `<meta name=… content=…>` that become metadata.
const META_NAMES: [&str; 4] = ["description", "author", "keywords", "date"];

/// The part of a page that is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HtmlPart {
    /// Its article, if one is recognized; otherwise all of it.
    #[default]
    Main,
    /// All that is visible, with menus, margins and footers.
    All,
}

/// A name that no part has.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is none of main and all")]
pub struct HtmlPartError(String);

impl FromStr for HtmlPart {
    type Err = HtmlPartError;

    fn from_str(name: &str) -> Result<Self, HtmlPartError> {
        match name {
            "main" => Ok(Self::Main),
            "all" => Ok(Self::All),
            name => Err(HtmlPartError(name.to_owned())),
        }
    }
}

impl fmt::Display for HtmlPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Main => "main",
            Self::All => "all",
        })
    }
}

/// The title element's text, or else the first first-level heading's; the visible text; and the
/// metadata of the page.
///
/// # Errors
/// [`ReadError::Stopped`].
pub(crate) fn contents(html: &str, part: HtmlPart, watch: &Watch) -> Result<Contents, ReadError> {
    let page = page_of(html, watch)?;
    let all = trimmed(&page.text);
    let article = match part {
        HtmlPart::Main => article::article_of(html, all),
        HtmlPart::All => None,
    };
    let article = article
        .map(|article| page_of(&article, watch))
        .transpose()?;
    let article = article.filter(|article| article::is_article(trimmed(&article.text), all));
    let read = article.as_ref().unwrap_or(&page);
    let text = trimmed(&read.text);
    Ok(Contents {
        outline: read.outline_of(text),
        text: text.to_owned(),
        title: page.title.or(page.main_heading),
        metadata: page.metadata,
    })
}

fn page_of(html: &str, watch: &Watch) -> Result<Finished, ReadError> {
    let mut page = Page::default();
    read_into(&mut page, html, watch)?;
    Ok(page.finish())
}

/// A text without the space around it; an empty cell at its start stays.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() && c != '\t')
        .trim_end()
}

/// Reads HTML into a page. Its open elements stay open, but a tag or a script that is cut off ends with it.
///
/// # Errors
/// [`ReadError::Stopped`].
pub(crate) fn read_into(page: &mut Page, html: &str, watch: &Watch) -> Result<(), ReadError> {
    let reader = Reader {
        inner: CallbackEmitter::new(Events {
            page,
            watch,
            tag: None,
            next_state: None,
        }),
    };
    match Tokenizer::new_with_emitter(html, reader).next() {
        Some(Ok(Stopped)) => Err(ReadError::Stopped),
        None => Ok(()),
    }
}

/// The only token that the emitter passes on.
#[derive(Debug)]
struct Stopped;

/// The emitter, which knows what its tokenizer does not: that an element without content has no raw
/// text either, and that drawings and formulas have none.
struct Reader<'r> {
    inner: CallbackEmitter<Events<'r>, Stopped>,
}

impl ForwardingEmitter for Reader<'_> {
    type Token = Stopped;

    fn inner(&mut self) -> &mut impl Emitter<Token = Stopped> {
        &mut self.inner
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        // The emitter keeps no state of its own.
        let _ = self.inner.emit_current_tag();
        let state = self.inner.callback_mut().next_state.take();
        if state.is_some() {
            self.inner.init_string();
        }
        state
    }
}

/// The receiver of the events.
struct Events<'r> {
    page: &'r mut Page,
    watch: &'r Watch,
    /// The start tag that is being read.
    tag: Option<Tag>,
    /// How the content of the element that just started is read.
    next_state: Option<State>,
}

/// A start tag. Attributes are handled as they come: kept until their tag ends, those of a hostile tag would
/// take many times their size in the file.
#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    attributes: Attributes,
    /// The attributes of `<meta>`.
    meta_name: Option<String>,
    content: Option<String>,
    /// The attribute that the next value belongs to.
    attribute: Attribute,
}

#[derive(Clone, Copy, Default)]
enum Attribute {
    Name,
    Content,
    Hidden,
    AriaHidden,
    Style,
    Columns,
    Rows,
    First,
    Kind,
    Role,
    #[default]
    Other,
}

impl Callback<Stopped, ()> for Events<'_> {
    fn handle_event(&mut self, event: CallbackEvent<'_>, _: Span<()>) -> Option<Stopped> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = Some(Tag {
                    name: name.to_owned(),
                    ..Tag::default()
                });
            }
            CallbackEvent::AttributeName { name } => {
                if let Some(tag) = &mut self.tag {
                    tag.attribute(name);
                }
            }
            CallbackEvent::AttributeValue { value } => {
                if let Some(tag) = &mut self.tag {
                    tag.value(value);
                }
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                if let Some(mut tag) = self.tag.take() {
                    tag.attributes.self_closing = self_closing;
                    self.start(tag);
                }
            }
            CallbackEvent::EndTag { name } => {
                self.tag = None;
                self.page.end(name);
            }
            CallbackEvent::String { value } => self.page.text(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { .. }
            | CallbackEvent::Doctype { .. }
            | CallbackEvent::Error(_) => {}
        }
        self.watch.stopped().then_some(Stopped)
    }
}

impl Events<'_> {
    fn start(&mut self, tag: Tag) {
        let raw = !tag.attributes.self_closing && !self.page.inline;
        self.page.start(&tag.name, tag.attributes);
        if raw && !self.page.in_foreign_content() {
            self.next_state = naive_next_state(&tag.name);
        }
        self.meta(tag);
    }

    /// Keeps the first non-empty value of each name.
    fn meta(&mut self, tag: Tag) {
        if self.page.hidden() {
            return;
        }
        let (Some(name), Some(content)) = (tag.meta_name, tag.content) else {
            return;
        };
        let name = META_NAMES
            .into_iter()
            .find(|known| known.eq_ignore_ascii_case(name.trim()));
        if let Some((name, content)) = name.zip(one_line(&content)) {
            self.page.metadata.entry(name).or_insert(content.into());
        }
    }
}

impl Tag {
    /// Begins an attribute; the first of a name counts.
    fn attribute(&mut self, name: &[u8]) {
        self.attribute = match (self.name.as_slice(), name) {
            (b"meta", b"name") if self.meta_name.is_none() => {
                self.meta_name = Some(String::new());
                Attribute::Name
            }
            (b"meta", b"content") if self.content.is_none() => {
                self.content = Some(String::new());
                Attribute::Content
            }
            (_, b"hidden") => {
                self.attributes.hidden = true;
                Attribute::Hidden
            }
            (_, b"style") => Attribute::Style,
            // Dialogs hide the page under them so; within a line, it is an icon or a text for the eye that is read otherwise.
            (b"a" | b"b" | b"i" | b"span" | b"sup", b"aria-hidden") => Attribute::AriaHidden,
            (b"template", b"shadowrootmode" | b"shadowroot") => {
                self.attributes.shadow = true;
                Attribute::Other
            }
            (b"td" | b"th", b"colspan") => Attribute::Columns,
            (b"td" | b"th", b"rowspan") => Attribute::Rows,
            (b"ol", b"start") | (b"li", b"value") => Attribute::First,
            (b"ol", b"type") => Attribute::Kind,
            (b"a", b"role" | b"epub:type") => Attribute::Role,
            _ => Attribute::Other,
        };
    }

    fn value(&mut self, value: &[u8]) {
        let text = || String::from_utf8_lossy(value);
        let number = || text().trim().parse().unwrap_or(1);
        match self.attribute {
            Attribute::Name => self.meta_name = Some(text().into_owned()),
            Attribute::Content => self.content = Some(text().into_owned()),
            // A browser's search finds it.
            Attribute::Hidden if value.eq_ignore_ascii_case(b"until-found") => {
                self.attributes.hidden = false;
            }
            Attribute::AriaHidden => self.attributes.hidden |= value == b"true",
            Attribute::Style => self.attributes.hidden |= hides(&text()),
            Attribute::Columns => self.attributes.columns = number(),
            Attribute::Rows => self.attributes.rows = number(),
            Attribute::First => self.attributes.first = text().trim().parse().ok(),
            Attribute::Kind => {
                self.attributes.style = Style::of_sign(text().trim()).unwrap_or_default();
            }
            Attribute::Role => self.attributes.to_note |= text().ends_with("noteref"),
            Attribute::Hidden | Attribute::Other => {}
        }
    }
}

/// Whether the style of an element takes it out of the page.
fn hides(style: &str) -> bool {
    let mut settings = style
        .split(';')
        .filter_map(|setting| setting.split_once(':'));
    settings.any(|(name, value)| {
        let value = value.split('!').next().unwrap_or_default();
        name.trim().eq_ignore_ascii_case("display") && value.trim().eq_ignore_ascii_case("none")
    })
}

//! XML dumps of a MediaWiki, e.g. of Wikipedia: its articles, their wikitext as plain text. Pages
//! other than articles, and redirects, are skipped.

mod entity;
mod line_counter;
mod namespaces;
mod table;
mod tag;
mod template;
mod tidy;
mod wikitext;

use std::io::BufRead;
use std::mem;

use quick_xml::Reader;
use quick_xml::errors::Error as XmlError;
use quick_xml::events::{BytesRef, BytesStart, Event};
use serde_json::{Map, Value};

use self::line_counter::LineCounted;
use self::namespaces::Namespaces;
use crate::budget::Halt;
use crate::error::ReadError;
use crate::record::{self, Record};
use crate::source::{Metered, Name, Source, fill};
use ken_corpus::{Document, Outline};

/// The content model of articles; older dumps do not name one.
const WIKITEXT: &str = "wikitext";

/// The articles of a dump. It ends after broken XML.
///
/// # Errors
/// [`ReadError::UnknownFormat`] if the root element is not `mediawiki`.
pub(crate) fn records(
    source: Source,
) -> Result<impl Iterator<Item = Result<Record, ReadError>> + Send, ReadError> {
    let mut dump = Dump::new(source);
    dump.expect_root()?;
    // Invalid UTF-8 ends a dump: the parser cannot resume after it.
    Ok(record::records(
        move || dump.next_article(),
        |error| error.concerns_record() && !matches!(error, ReadError::InvalidUtf8 { .. }),
    ))
}

/// How a page starts in every dump.
const PAGE: &[u8] = b"<page>";

type Xml = Reader<LineCounted<Metered>>;

struct Dump {
    name: Name,
    reader: Xml,
    buffer: Vec<u8>,
    /// How many elements are open.
    depth: usize,
    namespaces: Namespaces,
}

/// The parts of a page that are read.
#[derive(Default)]
struct Page {
    /// The line of its start tag.
    line: u64,
    id: String,
    title: String,
    namespace: String,
    redirect: bool,
    revision: Revision,
}

/// The last revision of a page; a dump of a wiki's history has all of them.
#[derive(Default)]
struct Revision {
    id: String,
    timestamp: String,
    model: String,
    text: String,
}

impl Dump {
    fn new(source: Source) -> Self {
        Self {
            name: source.name,
            reader: xml(LineCounted::new(source.reader)),
            buffer: Vec::new(),
            depth: 0,
            namespaces: Namespaces::default(),
        }
    }

    /// Reads up to the root's start tag.
    fn expect_root(&mut self) -> Result<(), ReadError> {
        loop {
            match self.next_event()? {
                Step::Start(name, _) if name == "mediawiki" => return Ok(()),
                Step::Start(..) | Step::Ended => {
                    return Err(ReadError::UnknownFormat {
                        path: self.name.path.clone(),
                    });
                }
                Step::Text(_) | Step::End => {}
            }
        }
    }

    /// The next page that is an article; `None` at the end.
    fn next_article(&mut self) -> Result<Option<Record>, ReadError> {
        // A dump names its namespaces before the first page.
        let mut namespace: Option<(i64, String)> = None;
        loop {
            let step = match self.next_event() {
                // Outside a page there is no end to search for.
                Err(ReadError::DocumentTooLarge { limit, .. }) => {
                    let place = self.name.line(self.line());
                    return Err(ReadError::too_large(place, limit, true));
                }
                step => step?,
            };
            match step {
                Step::Start(name, key) => {
                    if name == "page" && self.depth == 2 {
                        self.reader.get_mut().inner.renew();
                        let line = self.line();
                        let page = match self.page() {
                            Err(ReadError::DocumentTooLarge { limit, .. }) => {
                                let rest_lost = !self.skip_page()?;
                                let place = self.name.line(line);
                                return Err(ReadError::too_large(place, limit, rest_lost));
                            }
                            page => page?,
                        };
                        self.reader.get_mut().inner.renew();
                        if let Some(record) = self.article(page)? {
                            return Ok(Some(record));
                        }
                    } else if name == "namespace" {
                        namespace = key.map(|key| (key, String::new()));
                    }
                }
                Step::Text(text) => {
                    if let Some((_, name)) = &mut namespace {
                        name.push_str(&text);
                    }
                }
                Step::End => {
                    if let Some((key, name)) = namespace.take() {
                        self.namespaces.add(key, &name);
                    }
                }
                Step::Ended => return Ok(None),
            }
        }
    }

    /// Skips the rest of a page, up to the start of the next one; false if that is out of reach.
    fn skip_page(&mut self) -> Result<bool, ReadError> {
        let nothing = LineCounted::new(Metered::empty(self.name.watch.clone()));
        let mut reader = mem::replace(&mut self.reader, xml(nothing)).into_inner();
        reader.inner.search();
        let mut matched = 0;
        let ended = loop {
            let Some(filled) = fill(&mut reader, &self.name)? else {
                return Ok(false);
            };
            if filled.is_empty() {
                break true;
            }
            let mut count = 0;
            for &byte in filled {
                count += 1;
                // Only its first byte is a bracket, so a failed match restarts there or nowhere.
                matched = match byte {
                    b'<' => 1,
                    byte if matched > 0 && PAGE[matched] == byte => matched + 1,
                    _ => 0,
                };
                if matched == PAGE.len() {
                    break;
                }
            }
            reader.consume(count);
            if matched == PAGE.len() {
                break false;
            }
        };
        self.depth = usize::from(!ended);
        reader.inner.renew();
        self.reader = xml(match ended {
            true => reader,
            false => reader.put_back(PAGE),
        });
        // The root was opened before the skipped part.
        self.reader.config_mut().allow_unmatched_ends = true;
        Ok(true)
    }

    /// Reads up to the page's end tag.
    fn page(&mut self) -> Result<Page, ReadError> {
        let mut page = Page {
            line: self.line(),
            ..Page::default()
        };
        let mut in_revision = false;
        let mut element = String::new();
        loop {
            match self.next_event()? {
                Step::Start(name, _) => {
                    match (self.depth, name.as_str()) {
                        (3, "revision") => {
                            in_revision = true;
                            page.revision = Revision::default();
                        }
                        (3, "redirect") => page.redirect = true,
                        _ => {}
                    }
                    element = name;
                }
                Step::Text(text) => {
                    let field = match (self.depth, element.as_str()) {
                        (3, "id") => &mut page.id,
                        (3, "title") => &mut page.title,
                        (3, "ns") => &mut page.namespace,
                        (4, "id") if in_revision => &mut page.revision.id,
                        (4, "timestamp") if in_revision => &mut page.revision.timestamp,
                        (4, "model") if in_revision => &mut page.revision.model,
                        (4, "text") if in_revision => &mut page.revision.text,
                        _ => continue,
                    };
                    field.push_str(&text);
                }
                Step::End if self.depth < 2 => return Ok(page),
                Step::End => {
                    in_revision &= self.depth > 2;
                    element.clear();
                }
                Step::Ended => return Err(self.broken("it ends within a page".to_owned())),
            }
        }
    }

    /// The document of a page; `None` if it is not an article.
    fn article(&self, page: Page) -> Result<Option<Record>, ReadError> {
        let revision = page.revision;
        let is_article = page.namespace.trim() == "0"
            && !page.redirect
            && matches!(revision.model.trim(), "" | WIKITEXT)
            && !begins_as_redirect(&revision.text);
        if !is_article {
            return Ok(None);
        }
        let place = self.name.line(page.line);
        let id = page.id.trim();
        if id.is_empty() {
            return Err(ReadError::MissingField {
                place,
                names: "id".to_owned(),
            });
        }
        self.name.watch.check()?;
        let watch = &self.name.watch;
        let most = watch.budget.document_bytes;
        let article = wikitext::article(&revision.text, &self.namespaces, most);
        let article = article.ok_or_else(|| watch.too_large(place.clone()))?;
        let mut metadata = Map::new();
        if !revision.timestamp.is_empty() {
            metadata.insert("timestamp".to_owned(), revision.timestamp.into());
        }
        if let Ok(number) = revision.id.trim().parse::<u64>() {
            metadata.insert("revision".to_owned(), number.into());
        }
        if !article.categories.is_empty() {
            metadata.insert("categories".to_owned(), Value::from(article.categories));
        }
        let document = Document {
            id: id.to_owned(),
            title: page.title.trim().to_owned(),
            text: article.text,
            outline: Outline {
                headings: article.headings,
                ..Outline::default()
            },
            metadata,
            ..Document::default()
        };
        Ok(Some(Record { document, place }))
    }

    fn line(&self) -> u64 {
        self.reader.get_ref().line
    }

    fn broken(&self, reason: String) -> ReadError {
        ReadError::BrokenXml {
            place: self.name.line(self.line()),
            reason,
        }
    }

    /// The next step. `depth` counts open elements; an empty element is a start and an end.
    fn next_event(&mut self) -> Result<Step, ReadError> {
        loop {
            self.buffer.clear();
            let event = match self.reader.read_event_into(&mut self.buffer) {
                Ok(event) => event,
                Err(error) => return Err(failed(&self.name, &self.reader, error)),
            };
            let text = match event {
                Event::Start(start) => {
                    self.depth += 1;
                    let step = Step::Start(name_of(&start), key_of(&start));
                    return Ok(step);
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Step::End);
                }
                Event::Eof if self.depth == 0 => return Ok(Step::Ended),
                Event::Eof => {
                    return Err(self.broken("it ends before its root element does".to_owned()));
                }
                Event::Text(text) => text.xml10_content().into_owned(),
                Event::CData(text) => text.xml10_content().into_owned(),
                Event::GeneralRef(reference) => match resolve(&reference) {
                    Some(text) => text,
                    None => {
                        let reason = format!("unknown entity &{};", &*reference);
                        return Err(self.broken(reason));
                    }
                },
                Event::Empty(_)
                | Event::Comment(_)
                | Event::Decl(_)
                | Event::PI(_)
                | Event::DocType(_) => continue,
            };
            return Ok(Step::Text(text));
        }
    }
}

/// A piece of a dump.
enum Step {
    /// An element's name, and its attribute `key` as a number.
    Start(String, Option<i64>),
    Text(String),
    End,
    /// The file ended.
    Ended,
}

fn name_of(start: &BytesStart<'_>) -> String {
    start.local_name().as_ref().to_owned()
}

fn key_of(start: &BytesStart<'_>) -> Option<i64> {
    let key = start.try_get_attribute("key").ok()??;
    key.value.parse().ok()
}

fn resolve(reference: &BytesRef<'_>) -> Option<String> {
    if let Some(character) = reference.resolve_char_ref().ok()? {
        return Some(character.to_string());
    }
    quick_xml::escape::resolve_predefined_entity(reference).map(str::to_owned)
}

/// A reader of XML in which an empty element is a start and an end.
fn xml(source: LineCounted<Metered>) -> Xml {
    let mut reader = Reader::from_reader(source);
    reader.config_mut().expand_empty_elements = true;
    reader
}

fn failed(name: &Name, reader: &Xml, error: XmlError) -> ReadError {
    let place = name.line(reader.get_ref().line);
    match error {
        XmlError::Io(error) => match (Halt::of(&error), std::sync::Arc::try_unwrap(error)) {
            (Some(halt), _) => name.failed(std::io::Error::other(halt)),
            (None, Ok(error)) => name.failed(error),
            (None, Err(error)) => name.failed(std::io::Error::new(error.kind(), error.to_string())),
        },
        XmlError::Encoding(_) => ReadError::InvalidUtf8 {
            place,
            byte_offset: reader.error_position(),
        },
        error => ReadError::BrokenXml {
            place,
            reason: error.to_string(),
        },
    }
}

/// Whether a page redirects; older dumps do not mark such pages.
fn begins_as_redirect(text: &str) -> bool {
    const REDIRECT: &str = "#redirect";
    text.trim_start()
        .get(..REDIRECT.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(REDIRECT))
}

//! XML in memory, node by node: names without their prefixes, character references resolved, depth
//! bounded. It refuses entities that a file declares, and reads nothing outside the file.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesEnd, BytesRef, BytesStart, Event};

use crate::budget::Budget;
use crate::error::ReadError;
use crate::format::Format;
use crate::place::Place;
use crate::watch::Watch;

/// Nodes between two checks of the stop flag.
const NODES_PER_CHECK: usize = 4096;

/// A reader of a part of a file.
pub(crate) struct Xml<'x> {
    reader: Reader<&'x [u8]>,
    depth: usize,
    nodes: usize,
    place: &'x Place,
    format: Format,
    watch: &'x Watch,
}

/// A piece of XML. An empty element is a start and an end.
pub(crate) enum Node<'x> {
    Start(Element<'x>),
    End(EndTag<'x>),
    Text(Cow<'x, str>),
}

/// A start tag.
pub(crate) struct Element<'x>(BytesStart<'x>);

/// An end tag.
pub(crate) struct EndTag<'x>(BytesEnd<'x>);

impl Element<'_> {
    /// The name without its prefix.
    pub(crate) fn name(&self) -> &str {
        local(self.0.name().0)
    }

    /// The value of the first attribute of this name, whatever its prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        let attribute = attributes
            .with_checks(false)
            .flatten()
            .find(|attribute| local(attribute.key.0) == name)?;
        Some(match quick_xml::escape::unescape(&attribute.value) {
            Ok(value) => value.into_owned(),
            Err(_) => attribute.value.into_owned(),
        })
    }

    /// The value of an attribute with this prefix and name.
    pub(crate) fn prefixed(&self, prefixed: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        let attribute = attributes
            .with_checks(false)
            .flatten()
            .find(|attribute| attribute.key.0 == prefixed)?;
        Some(attribute.value.into_owned())
    }
}

impl EndTag<'_> {
    /// The name without its prefix.
    pub(crate) fn name(&self) -> &str {
        local(self.0.name().0)
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, name)| name)
}

impl<'x> Xml<'x> {
    pub(crate) fn new(text: &'x str, format: Format, place: &'x Place, watch: &'x Watch) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        Self {
            reader,
            depth: 0,
            nodes: 0,
            place,
            format,
            watch,
        }
    }

    /// The next node; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Node<'x>>, ReadError> {
        loop {
            self.nodes += 1;
            if self.nodes.is_multiple_of(NODES_PER_CHECK) {
                self.watch.check()?;
            }
            let event = self.reader.read_event();
            return Ok(Some(match event {
                Err(error) => return Err(self.broken(error.to_string())),
                Ok(Event::Start(start)) => {
                    self.depth += 1;
                    if self.depth > Budget::DEPTH {
                        let place = self.place.clone();
                        return Err(ReadError::TooDeep { place });
                    }
                    Node::Start(Element(start))
                }
                Ok(Event::End(end)) => {
                    self.depth = self.depth.saturating_sub(1);
                    Node::End(EndTag(end))
                }
                Ok(Event::Text(text)) => Node::Text(text.xml10_content()),
                Ok(Event::CData(text)) => Node::Text(text.xml10_content()),
                Ok(Event::GeneralRef(reference)) => Node::Text(resolve(&reference)),
                Ok(Event::DocType(declared)) if declared.contains("<!ENTITY") => {
                    return Err(self.broken("it declares entities".to_owned()));
                }
                Ok(Event::Eof) if self.depth == 0 => return Ok(None),
                Ok(Event::Eof) => {
                    return Err(self.broken("it ends before its root element does".to_owned()));
                }
                Ok(
                    Event::Empty(_)
                    | Event::Comment(_)
                    | Event::Decl(_)
                    | Event::PI(_)
                    | Event::DocType(_),
                ) => continue,
            }));
        }
    }

    /// Begins to read; fails if the root element has another name.
    pub(crate) fn root(&mut self, name: &str) -> Result<(), ReadError> {
        while let Some(node) = self.next()? {
            if let Node::Start(element) = node {
                return match element.name() == name {
                    true => Ok(()),
                    false => Err(self.broken(format!("its main part is no {name}"))),
                };
            }
        }
        Err(self.broken("its main part is empty".to_owned()))
    }

    /// Skips the content and the end of the element that was just started.
    pub(crate) fn skip(&mut self) -> Result<(), ReadError> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            if self.next()?.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// The text of the element that was just started, up to its end.
    pub(crate) fn text(&mut self) -> Result<String, ReadError> {
        let outside = self.depth.saturating_sub(1);
        let mut text = String::new();
        while self.depth > outside {
            match self.next()? {
                Some(Node::Text(part)) => text.push_str(&part),
                Some(_) => {}
                None => break,
            }
        }
        Ok(text)
    }

    fn broken(&self, reason: String) -> ReadError {
        ReadError::broken(&self.place.path, self.format, reason)
    }
}

/// The meaning of a reference. An unknown one stays as is.
fn resolve(reference: &BytesRef<'_>) -> Cow<'static, str> {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return character.to_string().into();
    }
    match quick_xml::escape::resolve_predefined_entity(reference) {
        Some(text) => text.into(),
        None => format!("&{};", &**reference).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn text(xml: &str) -> Result<String, String> {
        let (place, watch) = (Place::whole(Path::new("x.docx")), Watch::default());
        let mut xml = Xml::new(xml, Format::Docx, &place, &watch);
        let mut text = String::new();
        loop {
            match xml.next().map_err(|error| error.to_string())? {
                None => return Ok(text),
                Some(Node::Start(element)) if element.name() == "skipped" => {
                    xml.skip().map_err(|error| error.to_string())?;
                }
                Some(Node::Text(part)) => text.push_str(&part),
                Some(_) => {}
            }
        }
    }

    #[test]
    fn text_and_references() {
        assert_eq!(
            text("<a:b>x &amp; &#65;<c/>&none;</a:b>").unwrap(),
            "x & A&none;"
        );
        assert_eq!(
            text("<a>x<b:skipped>y<c>z</c></b:skipped>w</a>").unwrap(),
            "xw"
        );
    }

    #[test]
    fn entities_and_depth_are_refused() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>";
        assert!(text(bomb).unwrap_err().contains("declares entities"));
        let deep = "<a>".repeat(101);
        assert!(text(&deep).unwrap_err().contains("nested"));
        assert!(text("<a>").unwrap_err().contains("ends before"));
        assert!(text("<a></b>").is_err());
    }
}

//! Books: the chapters of an EPUB in reading order, each read as HTML.

use std::collections::HashMap;

use serde_json::Map;

use crate::error::ReadError;
use crate::html::{self, HtmlPart};
use crate::package::Package;
use crate::prose::Prose;
use crate::record::{Contents, one_line};
use crate::watch::Watch;
use crate::xml::{Node, Xml};

/// The elements of the package document that become metadata, with the names of the metadata.
const NAMES: [(&str, &str); 4] = [
    ("creator", "author"),
    ("language", "language"),
    ("publisher", "publisher"),
    ("date", "date"),
];

/// The document of a book.
pub(crate) fn contents(mut package: Package, watch: &Watch) -> Result<Contents, ReadError> {
    let main = package_document(&mut package, watch)?;
    let text = package.needed(&main)?;
    let book = Book::read(&text, &package, watch)?;
    let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut prose = Prose::new(&package.place.clone(), watch);
    for id in &book.spine {
        let Some(href) = book.manifest.get(id) else {
            continue;
        };
        let Some(chapter) = package.text(&path_of(folder, href))? else {
            continue;
        };
        // A single line of text is not a chapter, but may be the title page.
        let chapter = html::contents(&chapter, HtmlPart::All, watch)?;
        prose.part(&chapter.text, &chapter.outline.headings)?;
    }
    Ok(prose.finish(book.title, book.metadata))
}

/// The name of the part that lists the chapters.
fn package_document(package: &mut Package, watch: &Watch) -> Result<String, ReadError> {
    let text = package.needed("META-INF/container.xml")?;
    let place = package.place.clone();
    let mut xml = Xml::new(&text, package.format(), &place, watch);
    while let Some(node) = xml.next()? {
        if let Node::Start(element) = node
            && element.name() == "rootfile"
            && let Some(path) = element.attribute("full-path")
        {
            return Ok(path);
        }
    }
    Err(package.broken("it names no package document".to_owned()))
}

#[derive(Default)]
struct Book {
    title: Option<String>,
    metadata: Map<String, serde_json::Value>,
    /// The paths of parts by their ids.
    manifest: HashMap<String, String>,
    /// The ids of the chapters in order, those beside the text, such as notes, behind the others.
    spine: Vec<String>,
}

impl Book {
    fn read(text: &str, package: &Package, watch: &Watch) -> Result<Self, ReadError> {
        let (mut book, mut asides) = (Self::default(), Vec::new());
        let mut xml = Xml::new(text, package.format(), &package.place, watch);
        while let Some(node) = xml.next()? {
            let Node::Start(element) = node else { continue };
            match element.name() {
                "title" if book.title.is_none() => book.title = one_line(&xml.text()?),
                "item" => {
                    // The table of contents only repeats the headings.
                    let properties = element.attribute("properties").unwrap_or_default();
                    let is_contents = properties.split(' ').any(|property| property == "nav");
                    let item = element.attribute("id").zip(element.attribute("href"));
                    book.manifest.extend(item.filter(|_| !is_contents));
                }
                "itemref" => match element.attribute("linear").as_deref() {
                    Some("no") => asides.extend(element.attribute("idref")),
                    _ => book.spine.extend(element.attribute("idref")),
                },
                name => {
                    let known = NAMES.iter().find(|(known, _)| *known == name);
                    if let Some((_, name)) = known
                        && let Some(value) = one_line(&xml.text()?)
                    {
                        book.metadata.entry(*name).or_insert(value.into());
                    }
                }
            }
        }
        book.spine.append(&mut asides);
        Ok(book)
    }
}

/// The name of the part that an address leads to: without a fragment, escapes resolved.
fn path_of(folder: &str, href: &str) -> String {
    let href = href.split_once('#').map_or(href, |(href, _)| href);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let href = unescaped(href);
    for part in href.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// An address with its `%20` and the like resolved.
fn unescaped(address: &str) -> String {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!(
            path_of("OEBPS", "text/a%20b.xhtml#c"),
            "OEBPS/text/a b.xhtml"
        );
        assert_eq!(path_of("", "../a.html"), "a.html");
        assert_eq!(path_of("a/b", "../c%zz%4"), "a/c%zz%4");
    }
}

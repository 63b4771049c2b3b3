//! PDF: the text of all pages in reading order, and the metadata of the file.
//!
//! It recognizes no text in pictures, and leaves out page numbers and repeated heads. A notice counts the pages and
//! characters that it could not read.

mod annotation;
mod content;
mod font;
mod head;
mod layout;
mod load;
mod matrix;
mod page;
mod scanner;
mod work;

use std::path::Path;

use ken_corpus::Outline;
use lopdf::{Dictionary, Document as Pdf, Object, decode_text_string};
use serde_json::{Map, Value};

use self::load::{broken, load};
use self::work::Work;
use crate::error::ReadError;
use crate::notice::NoticeKind;
use crate::record::{Contents, one_line};
use crate::watch::Watch;
use ken_storage::contained;

/// Reads a PDF: the pages' texts, with an empty line between them, and its information.
///
/// # Errors
/// [`ReadError::BrokenPdf`], [`ReadError::EncryptedPdf`], [`ReadError::PdfWithoutText`]; the errors of
/// the budget; and [`ReadError::Stopped`].
pub(crate) fn contents(bytes: &[u8], path: &Path, watch: &Watch) -> Result<Contents, ReadError> {
    // The parser is careful, but may still panic on broken files.
    contained(|| read(bytes, path, watch)).unwrap_or_else(|reason| Err(broken(path, reason)))
}

fn read(bytes: &[u8], path: &Path, watch: &Watch) -> Result<Contents, ReadError> {
    let pdf = load(bytes, path, watch)?;
    let pages = pdf.get_pages();
    if pages.is_empty() {
        return Err(broken(path, "it has no pages".to_owned()));
    }
    let mut fonts = font::Fonts::new(&pdf);
    let mut work = Work::new(path, watch);
    let drawn = pages
        .values()
        .map(|&page| page::text(&pdf, page, &mut fonts, &mut work));
    let mut drawn = drawn.collect::<Result<Vec<_>, _>>()?;
    head::remove(&mut drawn);
    let mut text = String::new();
    let mut starts = Vec::with_capacity(pages.len());
    let (mut empty, mut unread) = (0, 0);
    for page in drawn {
        let words = layout::joined(page.text.trim_end());
        if !text.is_empty() && !words.is_empty() {
            text.push_str("\n\n");
        }
        starts.push(text.len());
        text.push_str(&words);
        empty += usize::from(words.is_empty());
        unread += page.unread;
    }
    if text.is_empty() {
        return Err(ReadError::PdfWithoutText {
            path: path.to_owned(),
            pages: pages.len(),
            unread,
        });
    }
    if empty > 0 || unread > 0 {
        let kind = NoticeKind::PartlyUnread {
            pages: empty,
            characters: unread,
        };
        watch.notices.add(path.to_owned(), kind);
    }
    let mut metadata = metadata(&pdf);
    metadata.insert("pages".to_owned(), pages.len().into());
    for (count, name) in [(empty, "pages_without_text"), (unread, "unread_characters")] {
        if count > 0 {
            metadata.insert(name.to_owned(), count.into());
        }
    }
    Ok(Contents {
        title: information(&pdf)
            .and_then(|entries| entry(&pdf, entries, b"Title"))
            .filter(|title| !title.eq_ignore_ascii_case("untitled")),
        text,
        outline: Outline {
            pages: starts,
            ..Outline::default()
        },
        metadata,
    })
}

/// The metadata of the file, without its title.
fn metadata(pdf: &Pdf) -> Map<String, Value> {
    let stated = |key: &[u8]| entry(pdf, information(pdf)?, key);
    let mut metadata = Map::new();
    for (key, name) in [
        (b"Author".as_slice(), "author"),
        (b"Subject", "subject"),
        (b"Keywords", "keywords"),
    ] {
        if let Some(value) = stated(key) {
            metadata.insert(name.to_owned(), value.into());
        }
    }
    for (key, name) in [
        (b"CreationDate".as_slice(), "created"),
        (b"ModDate", "modified"),
    ] {
        if let Some(date) = stated(key).as_deref().and_then(date) {
            metadata.insert(name.to_owned(), date.into());
        }
    }
    metadata
}

fn information(pdf: &Pdf) -> Option<&Dictionary> {
    pdf.trailer
        .get_deref(b"Info", pdf)
        .and_then(Object::as_dict)
        .ok()
}

/// A text of the document's information, unless it is empty.
fn entry(pdf: &Pdf, information: &Dictionary, key: &[u8]) -> Option<String> {
    one_line(&decode_text_string(information.get_deref(key, pdf).ok()?).ok()?)
}

/// A date such as `D:20200102030405+01'00'` as ISO 8601 has it, as exact as it is given.
fn date(date: &str) -> Option<String> {
    let date = date.strip_prefix("D:").unwrap_or(date);
    let digits = date.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, zone) = date.split_at(digits);
    let mut iso = digits.get(..4)?.to_owned();
    let parts = [("-", 4), ("-", 6), ("T", 8), (":", 10), (":", 12)];
    let mut complete = true;
    for (mark, at) in parts {
        match digits.get(at..at + 2) {
            Some(part) => iso = iso + mark + part,
            None => {
                complete = false;
                break;
            }
        }
    }
    if complete {
        let zone: String = zone.chars().filter(char::is_ascii_digit).take(4).collect();
        let sign = date[14.min(date.len())..].chars().next();
        match (sign, zone.len()) {
            (Some('Z'), _) => iso.push('Z'),
            (Some(sign @ ('+' | '-')), 4) => {
                iso = format!("{iso}{sign}{}:{}", &zone[..2], &zone[2..]);
            }
            _ => {}
        }
    } else if digits.len() >= 10 && digits.len() < 12 {
        // An hour alone is not a time.
        iso.truncate(10);
    }
    Some(iso)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (pdf, iso) in [
            ("D:20200102030405+01'00'", "2020-01-02T03:04:05+01:00"),
            ("D:20200102030405Z", "2020-01-02T03:04:05Z"),
            ("D:20200102030405", "2020-01-02T03:04:05"),
            ("20200102", "2020-01-02"),
            ("D:2020010203", "2020-01-02"),
            ("D:202001020304", "2020-01-02T03:04"),
            ("D:2020", "2020"),
        ] {
            assert_eq!(date(pdf).as_deref(), Some(iso), "{pdf}");
        }
        assert_eq!(date("yesterday"), None);
        assert_eq!(date("D:20é"), None);
    }
}

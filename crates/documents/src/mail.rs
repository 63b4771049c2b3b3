//! Mail: single messages and mailboxes. The text of a message is the headers that people read, the
//! text parts, and the names and texts of the attachments.

use std::collections::HashSet;

use mail_parser::{Address, Message, MessageParser, MimeHeaders, PartType};
use serde_json::{Map, Value};

use crate::archive::Open;
use crate::attachment::Attachments;
use crate::budget::Halt;
use crate::error::ReadError;
use crate::format::Format;
use crate::html::{self, HtmlPart};
use crate::place::Place;
use crate::prose::Prose;
use crate::record::{self, Contents, Record, one_line};
use crate::source::Source;
use crate::watch::Watch;
use ken_corpus::Document;
use ken_storage::contained;

/// The start of the first line of a message in a mailbox.
const FROM: &[u8] = b"From ";

/// How deep messages within messages are read.
const DEEPEST: usize = 3;
/// The most messages within a message.
const MOST_INNER: usize = 500;

/// The document of one message, whose attached files `open` reads.
pub(crate) fn contents(
    bytes: &[u8],
    place: &Place,
    open: &Open,
    watch: &Watch,
) -> Result<Contents, ReadError> {
    let message = parse(bytes, place, watch)?;
    message_contents(&message, place, open, watch)
}

/// The messages of a mailbox. Their ids are that of the file with the message's own.
pub(crate) fn mailbox(
    source: Source,
    id: String,
    open: Open,
) -> impl Iterator<Item = Result<Record, ReadError>> + Send {
    let (mut ids, mut number) = (HashSet::new(), 0);
    let mut mailbox = Mailbox {
        source,
        pending: None,
    };
    let next = move || {
        let Some((line, bytes)) = mailbox.next_message()? else {
            return Ok(None);
        };
        number += 1;
        let name = &mailbox.source.name;
        let place = name.line(line);
        let message = parse(&bytes, &place, &name.watch)?;
        let contents = message_contents(&message, &place, &open, &name.watch)?;
        let own = message.message_id().and_then(one_line);
        let mut key = [0; 16];
        let hash = blake3::hash(own.as_deref().unwrap_or_default().as_bytes());
        key.copy_from_slice(&hash.as_bytes()[..16]);
        // A mailbox may hold a message twice.
        let own = own.filter(|_| ids.insert(key));
        let own = own.unwrap_or_else(|| number.to_string());
        let document = Document {
            id: format!("{id}/{own}"),
            title: contents
                .title
                .unwrap_or_else(|| format!("Message {number}")),
            text: contents.text,
            metadata: contents.metadata,
            outline: contents.outline,
            ..Document::default()
        };
        Ok(Some(Record { document, place }))
    };
    record::records(next, |error| {
        error.concerns_record() || matches!(error, ReadError::BrokenFile { .. })
    })
}

/// A mailbox, read message by message.
struct Mailbox {
    source: Source,
    /// The line that begins the next message, if it was read.
    pending: Option<(u64, Vec<u8>)>,
}

impl Mailbox {
    /// The bytes of the next message, and the line where it begins.
    fn next_message(&mut self) -> Result<Option<(u64, Vec<u8>)>, ReadError> {
        self.source.reader.renew();
        let mut message = Vec::new();
        let Some((start, first)) = self.first_line()? else {
            return Ok(None);
        };
        if !first.starts_with(FROM) {
            message = first;
        }
        loop {
            let (line, bytes) = match self.source.next_bytes() {
                Ok(Some(line)) => line,
                Ok(None) => return Ok(Some((start, message))),
                Err(error) if Halt::of(&error) == Some(Halt::OverBudget) => {
                    drop(message);
                    let rest_lost = !self.skip_message()?;
                    let place = self.source.name.line(start);
                    let limit = self.source.name.watch.budget.document_bytes;
                    return Err(ReadError::too_large(place, limit, rest_lost));
                }
                Err(error) => return Err(self.source.name.failed(error)),
            };
            if bytes.starts_with(FROM) && ends_in_blank(&message) {
                self.pending = Some((line, bytes));
                return Ok(Some((start, message)));
            }
            // Mailboxes quote lines of the text that begin like a message.
            let marks = bytes.iter().take_while(|&&byte| byte == b'>').count();
            let quoted = marks > 0 && bytes[marks..].starts_with(FROM);
            message.extend_from_slice(&bytes[usize::from(quoted)..]);
        }
    }

    /// The first line of a message.
    fn first_line(&mut self) -> Result<Option<(u64, Vec<u8>)>, ReadError> {
        if self.pending.is_some() {
            return Ok(self.pending.take());
        }
        loop {
            let line = self.source.next_bytes();
            match line.map_err(|error| self.source.name.failed(error))? {
                Some((_, bytes)) if bytes.trim_ascii().is_empty() => {}
                line => return Ok(line),
            }
        }
    }

    /// Skips the rest of a message; false if its end is out of reach.
    fn skip_message(&mut self) -> Result<bool, ReadError> {
        self.source.reader.search();
        let mut after_blank = false;
        loop {
            match self.source.next_bytes() {
                Ok(None) => return Ok(true),
                Ok(Some((line, bytes))) if after_blank && bytes.starts_with(FROM) => {
                    self.pending = Some((line, bytes));
                    return Ok(true);
                }
                Ok(Some((_, bytes))) => after_blank = bytes.trim_ascii().is_empty(),
                Err(error) if Halt::of(&error) == Some(Halt::OverBudget) => return Ok(false),
                Err(error) => return Err(self.source.name.failed(error)),
            }
        }
    }
}

/// Whether the last line is empty, or there is none yet.
fn ends_in_blank(message: &[u8]) -> bool {
    message.is_empty() || message.ends_with(b"\n\n") || message.ends_with(b"\n\r\n")
}

fn parse<'m>(bytes: &'m [u8], place: &Place, watch: &Watch) -> Result<Message<'m>, ReadError> {
    watch.check()?;
    // Each part begins with a line of its boundary, and each header stands on a line.
    let most = watch.budget.parts();
    let lines = bytes
        .windows(3)
        .filter(|three| three[0] == b'\n' && &three[1..] == b"--");
    if lines.count() as u64 > most / 16 {
        return Err(watch.too_many(place.clone(), "parts"));
    }
    if header_values(bytes) > most / 4 {
        return Err(watch.too_many(place.clone(), "header values"));
    }
    // Nested messages are dropped recursively.
    let words: [&[u8]; 3] = [b"rfc822", b"/global", b"digest"];
    let named = |word: &&[u8]| {
        let windows = bytes.windows(word.len());
        windows
            .filter(|window| window.eq_ignore_ascii_case(word))
            .count()
    };
    if words.iter().map(named).sum::<usize>() > MOST_INNER {
        return Err(watch.too_many(place.clone(), "attached messages"));
    }
    let broken = |reason: String| ReadError::broken(&place.path, Format::Mail, reason);
    // Damaged boundaries break assertions of the parser.
    let message = contained(|| MessageParser::default().parse(bytes)).map_err(broken)?;
    message
        .filter(|message| !message.headers().is_empty())
        .ok_or_else(|| broken("it has no headers of a message".to_owned()))
}

/// An upper bound on the number of addresses and other values in headers at any depth: the parser keeps
/// about a hundred bytes for each.
fn header_values(bytes: &[u8]) -> u64 {
    let (mut values, mut in_header) = (0, false);
    for line in bytes.split(|&byte| byte == b'\n') {
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        let name = line.iter().take_while(|byte| is_name(byte)).count();
        let begins = name > 0 && line.get(name) == Some(&b':');
        in_header = begins
            || (in_header && line.starts_with(b" "))
            || (in_header && line.starts_with(b"\t"));
        if in_header {
            let marks = line
                .iter()
                .filter(|byte| matches!(byte, b',' | b';' | b'<'));
            values += 1 + marks.count() as u64;
        }
    }
    values
}

fn message_contents(
    message: &Message<'_>,
    place: &Place,
    open: &Open,
    watch: &Watch,
) -> Result<Contents, ReadError> {
    let mut prose = Prose::new(place, watch);
    let mut attachments = Attachments::new(open, place, watch);
    write(message, 0, &mut prose, &mut attachments, watch)?;
    let mut metadata = Map::new();
    let mut insert = |name: &str, value: Option<String>| {
        if let Some(value) = value.and_then(|value| one_line(&value)) {
            metadata.insert(name.to_owned(), Value::from(value));
        }
    };
    insert("from", message.from().map(people));
    insert("to", message.to().map(people));
    insert(
        "date",
        message.date().map(mail_parser::DateTime::to_rfc3339),
    );
    let title = message.subject().map(str::to_owned);
    Ok(prose.finish(title, metadata))
}

fn write(
    message: &Message<'_>,
    depth: usize,
    prose: &mut Prose,
    attachments: &mut Attachments<'_>,
    watch: &Watch,
) -> Result<(), ReadError> {
    let people_of = [
        ("From", message.from()),
        ("To", message.to()),
        ("Cc", message.cc()),
    ];
    for (name, address) in people_of {
        if let Some(address) = address {
            prose.line(&one_line(&format!("{name}: {}", people(address))).unwrap_or_default())?;
        }
    }
    if let Some(date) = message.date() {
        prose.line(&format!("Date: {}", date.to_rfc3339()))?;
    }
    if let Some(subject) = message.subject().and_then(one_line) {
        prose.line(&format!("Subject: {subject}"))?;
    }
    prose.block();
    for &index in &message.text_body {
        let Some(part) = message.parts.get(index as usize) else {
            continue;
        };
        text_of(&part.body, prose, watch)?;
    }
    for part in message.attachments() {
        if let PartType::Message(inner) = &part.body {
            if depth < DEEPEST {
                prose.paragraph("Attached message:")?;
                write(inner, depth + 1, prose, attachments, watch)?;
            }
            continue;
        }
        let kind = part.content_type().map(|kind| match kind.subtype() {
            Some(subtype) => format!("{}/{subtype}", kind.ctype()),
            None => kind.ctype().to_owned(),
        });
        let name = part.attachment_name().and_then(one_line);
        let name = name.or(kind).unwrap_or_else(|| "without a name".to_owned());
        prose.paragraph(&format!("Attachment: {name}"))?;
        match &part.body {
            PartType::Binary(bytes) | PartType::InlineBinary(bytes) => {
                attachments.write(part, bytes, prose)?;
            }
            body => text_of(body, prose, watch)?,
        }
    }
    Ok(())
}

/// Writes a part that is a text.
fn text_of(part: &PartType<'_>, prose: &mut Prose, watch: &Watch) -> Result<(), ReadError> {
    match part {
        PartType::Text(text) => prose.paragraph(&text.replace("\r\n", "\n")),
        PartType::Html(page) => prose.paragraph(&html::contents(page, HtmlPart::All, watch)?.text),
        _ => Ok(()),
    }
}

/// Names with addresses.
fn people(address: &Address<'_>) -> String {
    let people: Vec<String> = address
        .iter()
        .map(|person| match (&person.name, &person.address) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            (Some(one), None) | (None, Some(one)) => one.to_string(),
            (None, None) => String::new(),
        })
        .filter(|person| !person.is_empty())
        .collect();
    people.join(", ")
}

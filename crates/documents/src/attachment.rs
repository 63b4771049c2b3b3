//! Files that are attached to mail: those of a known kind are read by their own readers.

use std::path::Path;

use bytes::Bytes;
use mail_parser::{MessagePart, MimeHeaders};

use crate::archive::Open;
use crate::compression::Compression;
use crate::error::ReadError;
use crate::files::{InputFile, Origin};
use crate::format::{Format, format_of};
use crate::notice::NoticeKind;
use crate::place::Place;
use crate::prose::Prose;
use crate::watch::Watch;

/// The most files of a message that are opened, those of messages in it among them.
const MOST_OPENED: usize = 100;

/// The kinds of files without a telling name, by what stands behind `application/`.
const TYPES: [(&str, Format); 9] = [
    ("pdf", Format::Pdf),
    ("rtf", Format::Rtf),
    ("epub+zip", Format::Epub),
    (
        "vnd.openxmlformats-officedocument.wordprocessingml.document",
        Format::Docx,
    ),
    (
        "vnd.openxmlformats-officedocument.presentationml.presentation",
        Format::Pptx,
    ),
    (
        "vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        Format::Xlsx,
    ),
    ("vnd.oasis.opendocument.text", Format::Odt),
    ("vnd.oasis.opendocument.presentation", Format::Odp),
    ("vnd.oasis.opendocument.spreadsheet", Format::Ods),
];

/// The attached files of a message.
pub(crate) struct Attachments<'a> {
    open: &'a Open,
    place: &'a Place,
    watch: &'a Watch,
    opened: usize,
}

impl<'a> Attachments<'a> {
    pub(crate) fn new(open: &'a Open, place: &'a Place, watch: &'a Watch) -> Self {
        Self {
            open,
            place,
            watch,
            opened: 0,
        }
    }

    /// Writes the text of a file, if its kind is known. A notice tells of one that cannot be read.
    pub(crate) fn write(
        &mut self,
        part: &MessagePart<'_>,
        bytes: &[u8],
        prose: &mut Prose,
    ) -> Result<(), ReadError> {
        let name = Path::new(part.attachment_name().unwrap_or_default());
        let Some((format, compression)) = kind_of(part, name) else {
            return Ok(());
        };
        if self.opened >= MOST_OPENED {
            return Ok(());
        }
        self.opened += 1;
        let name = name.file_name().unwrap_or_default();
        let file = InputFile {
            path: self.place.path.join(name),
            id: name.to_string_lossy().into_owned(),
            format,
            compression,
            origin: Origin::Found,
            bytes: Some(bytes.len() as u64),
            content: Some(Bytes::copy_from_slice(bytes)),
        };
        for record in (self.open)(&file) {
            match record {
                Ok(record) => {
                    let document = record.document;
                    prose.part(&document.text, &document.outline.headings)?;
                }
                Err(ReadError::Stopped) => return Err(ReadError::Stopped),
                Err(error) => {
                    let reason = error.to_string();
                    let kind = NoticeKind::AttachmentUnread { reason };
                    self.watch.notices.add(self.place.path.clone(), kind);
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// The format of a file and its compression, by its name or else its type; `None` if it is unknown, or one that may hold files
/// of its own or is read from the disk.
fn kind_of(part: &MessagePart<'_>, name: &Path) -> Option<(Format, Option<Compression>)> {
    let of_type = || {
        let subtype = part.content_type()?.subtype()?.to_lowercase();
        let row = TYPES.iter().find(|(known, _)| *known == subtype);
        row.map(|&(_, format)| (format, None))
    };
    let is_read = |(format, _): &(Format, _)| {
        !matches!(
            format,
            Format::Zip | Format::Tar | Format::Mail | Format::Mailbox | Format::Parquet
        )
    };
    format_of(name).or_else(of_type).filter(is_read)
}

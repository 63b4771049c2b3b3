//! A PDF's objects, within the budget.
//!
//! An object takes many times its size in the file in memory, and a few bytes can decompress to
//! millions of objects. So they are counted before they are parsed: those in the file itself at
//! once, those in object streams as the parser comes to each stream.

use std::cell::Cell;
use std::path::Path;

use lopdf::{DecompressError, Document as Pdf, Error as PdfError, LoadOptions, Object, ObjectId};

use crate::error::ReadError;
use crate::place::Place;
use crate::watch::Watch;

/// How many bytes of a stream are decompressed for each token that is left.
const BYTES_PER_TOKEN: u64 = 16;
/// The type of object streams.
const OBJECT_STREAM: &[u8] = b"ObjStm";

thread_local! {
    /// How many tokens object streams may still have; `None` once they had too many. It is
    /// thread-local, since the parser takes a plain function and runs on the calling thread.
    static TOKENS_LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Reads the structure of a file, without its pages' content.
pub(super) fn load(bytes: &[u8], path: &Path, watch: &Watch) -> Result<Pdf, ReadError> {
    let most = watch.budget.pdf_tokens();
    let too_many = || ReadError::TooManyParts {
        place: Place::whole(path),
        parts: "objects and words in its structure",
        limit: most,
    };
    let encrypted = || ReadError::EncryptedPdf {
        path: path.to_owned(),
    };
    let left = most.checked_sub(tokens(bytes)).ok_or_else(too_many)?;
    let mut stream_bytes = left.saturating_mul(BYTES_PER_TOKEN);
    // Encrypted files bypass the filter, so their streams share the budget.
    if count_names(bytes, b"Encrypt") > 0 {
        stream_bytes /= count_names(bytes, OBJECT_STREAM).max(1);
    }
    let stream_bytes = usize::try_from(stream_bytes).unwrap_or(usize::MAX);
    let open = |force_reconstruct| {
        TOKENS_LEFT.set(Some(left));
        let options = LoadOptions {
            filter: Some(count_object_streams),
            max_decompressed_size: Some(stream_bytes),
            force_reconstruct,
            ..LoadOptions::default()
        };
        let loaded = Pdf::load_mem_with_options(bytes, options);
        if TOKENS_LEFT.get().is_none() {
            return Err(too_many());
        }
        loaded.map_err(|error| match error {
            PdfError::Decompress(DecompressError::MemoryLimitExceeded { .. }) => too_many(),
            PdfError::InvalidPassword
            | PdfError::Decryption(_)
            | PdfError::UnsupportedSecurityHandler(_) => encrypted(),
            error => broken(path, error.to_string()),
        })
    };
    watch.check()?;
    let mut pdf = open(false)?;
    // With a filter, the parser does not reconstruct files by itself.
    let (whole, pages) = (whole_pages(&pdf), pdf.page_iter().count());
    if (pages == 0 || whole < pages)
        && let Ok(rebuilt) = open(true)
        && (whole_pages(&rebuilt) > whole || (pages == 0 && rebuilt.page_iter().next().is_some()))
    {
        pdf = rebuilt;
    }
    // A file that opens without a password was decrypted when it was loaded.
    if pdf.trailer.has(b"Encrypt") && !pdf.was_encrypted() {
        return Err(encrypted());
    }
    if !pdf.was_encrypted() {
        fill_streams(&mut pdf, bytes);
    }
    Ok(pdf)
}

/// How many pages have their content, or none to have; the table of objects may be wrong about that of others.
fn whole_pages(pdf: &Pdf) -> usize {
    let is_whole = |page: &ObjectId| {
        let contents = pdf.get_page_contents(*page);
        contents
            .iter()
            .all(|id| matches!(pdf.objects.get(id), Some(Object::Stream(_))))
    };
    pdf.page_iter().filter(is_whole).count()
}

/// Sets the content of streams whose length the file does not give: the bytes before the next `endstream`.
fn fill_streams(pdf: &mut Pdf, bytes: &[u8]) {
    const END: &[u8] = b"endstream";
    let position =
        |part: &[u8], of: &[u8]| of.windows(part.len()).position(|window| window == part);
    // Offsets count from the mark `%PDF-`.
    let bytes = &bytes[position(b"%PDF-", bytes).unwrap_or(0)..];
    let streams = pdf.objects.values_mut().filter_map(|object| {
        let stream = object.as_stream_mut().ok()?;
        let start = stream
            .start_position
            .filter(|_| stream.content.is_empty())?;
        Some((start, stream))
    });
    let mut streams: Vec<_> = streams.collect();
    streams.sort_unstable_by_key(|&(start, _)| start);
    let mut next_start = bytes.len();
    for (start, stream) in streams.into_iter().rev() {
        let content = bytes.get(start..next_start).unwrap_or_default();
        if let Some(end) = position(END, content) {
            stream.set_content(content[..end].to_vec());
        }
        next_start = start.min(next_start);
    }
}

pub(super) fn broken(path: &Path, reason: String) -> ReadError {
    ReadError::BrokenPdf {
        path: path.to_owned(),
        reason,
    }
}

/// Keeps every object, except object streams once these have more tokens than are left.
fn count_object_streams(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    let left = TOKENS_LEFT.get()?;
    if let Object::Stream(stream) = object
        && stream.dict.has_type(OBJECT_STREAM)
    {
        let most = usize::try_from(left.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
        let left = match stream.get_plain_content_with_limit(most) {
            Ok(content) => left.checked_sub(tokens(&content)),
            Err(PdfError::Decompress(DecompressError::MemoryLimitExceeded { .. })) => None,
            // The parser reports the fault.
            Err(_) => Some(left),
        };
        TOKENS_LEFT.set(left);
        left?;
    }
    Some(match object {
        // A stream in the file itself: the parser keeps it, and only asks whether to.
        Object::Stream(_) => (id, Object::Null),
        object => (id, object.clone()),
    })
}

/// An upper bound on the number of objects, names and keywords.
pub(super) fn tokens(bytes: &[u8]) -> u64 {
    let (mut tokens, mut within) = (0, false);
    for byte in bytes {
        let opens = matches!(byte, b'(' | b'<' | b'[' | b'/');
        let separates = opens
            || matches!(
                byte,
                b'\0' | b'\t'..=b'\r' | b' ' | b')' | b'>' | b']' | b'%'
            );
        tokens += u64::from(opens || (!separates && !within));
        within = !separates || *byte == b'/';
    }
    tokens
}

/// How often a name occurs in the file, however its letters are escaped.
fn count_names(bytes: &[u8], name: &[u8]) -> u64 {
    let slashes = bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'/');
    let names = slashes.filter(|&(index, _)| starts_with_name(&bytes[index + 1..], name));
    names.count() as u64
}

fn starts_with_name(mut bytes: &[u8], name: &[u8]) -> bool {
    name.iter().all(|&letter| {
        let (byte, rest) = match bytes {
            [b'#', high, low, rest @ ..] => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let code = digit(*high)
                    .zip(digit(*low))
                    .map(|(high, low)| 16 * high + low);
                (code.and_then(|code| u8::try_from(code).ok()), rest)
            }
            [byte, rest @ ..] => (Some(*byte), rest),
            [] => (None, bytes),
        };
        bytes = rest;
        byte == Some(letter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted() {
        assert_eq!(tokens(b"<</Type /ObjStm/N 3>>[1 0 R(a)]"), 12);
        assert_eq!(tokens(b"0 0 0"), 3);
        assert_eq!(tokens(b"[[["), 3);
        assert_eq!(tokens(b""), 0);
    }

    #[test]
    fn names_are_found_however_they_are_written() {
        assert_eq!(
            count_names(b"/ObjStm /Obj#53tm/#4f#62jStm /Obj /ObjStn/", b"ObjStm"),
            3
        );
    }
}

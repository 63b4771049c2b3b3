//! Detecting the encoding of a file's bytes, and decoding them.
//!
//! Bytes that are valid UTF-8 are read as such. Otherwise a byte order mark decides, then the pattern of UTF-16
//! and UTF-32, then the declaration of an HTML page, then statistics of the bytes. Bytes that are text in no encoding
//! are refused.

mod decoder;
mod detection;

use std::fmt;
use std::str::FromStr;

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};

pub(crate) use self::decoder::Transcoded;
pub(crate) use self::detection::{Sample, Text, text_of};

/// An encoding of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An encoding that browsers know.
    Known(&'static encoding_rs::Encoding),
    /// UTF-32, the most significant byte first, or last.
    Utf32 { big_endian: bool },
}

/// The marks at the start of a file, the longer ones before those that they start with.
const MARKS: [(&[u8], Kind); 5] = [
    (b"\xff\xfe\0\0", Kind::Utf32 { big_endian: false }),
    (b"\0\0\xfe\xff", Kind::Utf32 { big_endian: true }),
    (b"\xef\xbb\xbf", Kind::Known(UTF_8)),
    (b"\xff\xfe", Kind::Known(UTF_16LE)),
    (b"\xfe\xff", Kind::Known(UTF_16BE)),
];

impl Encoding {
    /// The longest mark, in bytes.
    pub(crate) const MARK_BYTES: usize = 4;

    pub(crate) const UTF_8: Self = Self(Kind::Known(UTF_8));

    /// The encoding of the mark at the start of `bytes`, and the mark's length.
    pub(crate) fn of_mark(bytes: &[u8]) -> Option<(Self, usize)> {
        let (mark, kind) = MARKS.iter().find(|(mark, _)| bytes.starts_with(mark))?;
        Some((Self(*kind), mark.len()))
    }
}

/// A name that no encoding has.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no encoding; some are utf-8, utf-16le, windows-1252, gbk, shift_jis and koi8-r")]
pub struct EncodingError(String);

impl FromStr for Encoding {
    type Err = EncodingError;

    /// By any of the names that the web has for it, or `utf-32le` and `utf-32be`, in any case.
    fn from_str(name: &str) -> Result<Self, EncodingError> {
        let kind = match name.trim().to_ascii_lowercase().as_str() {
            "utf-32le" | "utf-32" => Kind::Utf32 { big_endian: false },
            "utf-32be" => Kind::Utf32 { big_endian: true },
            label => {
                let known = encoding_rs::Encoding::for_label_no_replacement(label.as_bytes());
                Kind::Known(known.ok_or_else(|| EncodingError(name.to_owned()))?)
            }
        };
        Ok(Self(kind))
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            Kind::Known(encoding) => encoding.name(),
            Kind::Utf32 { big_endian: true } => "UTF-32BE",
            Kind::Utf32 { big_endian: false } => "UTF-32LE",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_marks() {
        let name = |name: &str| name.parse::<Encoding>().map(|found| found.to_string());
        assert_eq!(name("Latin1").unwrap(), "windows-1252");
        assert_eq!(name(" gb2312 ").unwrap(), "GBK");
        assert_eq!(name("UTF-32BE").unwrap(), "UTF-32BE");
        assert!(name("ebcdic").unwrap_err().to_string().contains("ebcdic"));
        let mark = |bytes: &[u8]| Encoding::of_mark(bytes).map(|(found, _)| found.to_string());
        assert_eq!(mark(b"\xff\xfea\0").as_deref(), Some("UTF-16LE"));
        assert_eq!(mark(b"\xff\xfe\0\0").as_deref(), Some("UTF-32LE"));
        assert_eq!(mark(b"\xef\xbb\xbf").as_deref(), Some("UTF-8"));
        assert_eq!(mark(b"abc"), None);
    }
}

//! The formats that are read, by a file's name or as named by the caller.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::compression::Compression;

/// How a file's bytes become documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Plain text: one document.
    Text,
    /// Markdown: one document.
    Markdown,
    /// HTML: one document.
    Html,
    /// PDF: one document.
    Pdf,
    /// JSON Lines: a passage a line.
    JsonLines,
    /// Comma-separated values with a header: a passage a record.
    Csv,
    /// Tab-separated values with a header: a passage a record.
    Tsv,
    /// Parquet: a passage a row.
    Parquet,
    /// An XML dump of a MediaWiki: a document an article.
    MediaWiki,
}

/// The extensions that are read, for messages.
pub(crate) const KNOWN: &str = ".txt, .md, .markdown, .html, .htm, .jsonl, .ndjson, .csv, .tsv and \
     .xml (MediaWiki dumps), each also with .gz, .zst or .bz2; .pdf and .parquet";

/// The extensions, in lower case; the first of a format is its name.
const EXTENSIONS: [(&str, Format); 12] = [
    ("txt", Format::Text),
    ("md", Format::Markdown),
    ("markdown", Format::Markdown),
    ("html", Format::Html),
    ("htm", Format::Html),
    ("pdf", Format::Pdf),
    ("jsonl", Format::JsonLines),
    ("ndjson", Format::JsonLines),
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("parquet", Format::Parquet),
    ("xml", Format::MediaWiki),
];

fn of_extension(extension: &str) -> Option<Format> {
    let found = EXTENSIONS.iter().find(|(known, _)| *known == extension);
    found.map(|&(_, format)| format)
}

impl Format {
    /// Whether a file is read record by record, and its encoding has to be known before the first one.
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Self::JsonLines | Self::Csv | Self::Tsv)
    }

    /// Whether files of this format are also read compressed. The others have their own
    /// compression.
    fn may_be_compressed(self) -> bool {
        !matches!(self, Self::Pdf | Self::Parquet)
    }
}

/// No format has this name.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is none of the formats txt, md, html, pdf, jsonl, csv, tsv, parquet and xml")]
pub struct FormatError(String);

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Self, FormatError> {
        of_extension(name).ok_or_else(|| FormatError(name.to_owned()))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = EXTENSIONS.iter().find(|(_, format)| format == self);
        formatter.write_str(named.map_or("", |(name, _)| name))
    }
}

/// A file's format and compression by its name; `None` where the extension is unknown.
pub(crate) fn format_of(path: &Path) -> Option<(Format, Option<Compression>)> {
    let name = path.file_name()?.to_string_lossy();
    let (name, compression) = Compression::split_name(&name);
    let format = of_extension(&name.rsplit_once('.')?.1.to_lowercase())?;
    (compression.is_none() || format.may_be_compressed()).then_some((format, compression))
}

/// The compression of a file whose format is given.
pub(crate) fn compression_of(path: &Path, format: Format) -> Option<Compression> {
    let name = path.file_name()?.to_string_lossy();
    Compression::split_name(&name)
        .1
        .filter(|_| format.may_be_compressed())
}

/// A file's name without its extensions, as a title of last resort.
pub(crate) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (name, _) = Compression::split_name(&name);
    name.rsplit_once('.')
        .map_or(name, |(stem, _)| stem)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions() {
        let of = |name: &str| format_of(Path::new(name));
        assert_eq!(of("a/B.TXT"), Some((Format::Text, None)));
        let gzip = Some(Compression::Gzip);
        assert_eq!(of("c.jsonl.gz"), Some((Format::JsonLines, gzip)));
        let zstd = Some(Compression::Zstd);
        assert_eq!(of("C.TSV.ZST"), Some((Format::Tsv, zstd)));
        let bzip2 = Some(Compression::Bzip2);
        assert_eq!(of("dump.xml.bz2"), Some((Format::MediaWiki, bzip2)));
        assert_eq!(of("c.parquet"), Some((Format::Parquet, None)));
        assert_eq!(of("c.parquet.gz"), None);
        assert_eq!(of("c.gz"), None);
        assert_eq!(of(".gz"), None);
        assert_eq!(of("README"), None);
        assert_eq!(stem(Path::new("x/notes.v2.md.gz")), "notes.v2");
        assert_eq!(stem(Path::new("x/ü.bz2")), "ü");
    }

    #[test]
    fn names() {
        for name in [
            "txt", "md", "html", "pdf", "jsonl", "csv", "tsv", "parquet", "xml",
        ] {
            assert_eq!(name.parse::<Format>().unwrap().to_string(), name);
            assert!(KNOWN.contains(name));
        }
        let error = "doc".parse::<Format>().unwrap_err().to_string();
        assert!(
            error.starts_with("\"doc\" is none of the formats txt, "),
            "{error}"
        );
    }
}

//! The formats that can be read, by a file's name or as the caller names them.

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
    /// A Word file: one document.
    Docx,
    /// A presentation: one document.
    Pptx,
    /// A workbook: one document.
    Xlsx,
    /// An OpenDocument text: one document.
    Odt,
    /// An OpenDocument workbook: one document.
    Ods,
    /// An OpenDocument presentation: one document.
    Odp,
    /// Rich text: one document.
    Rtf,
    /// A book: one document.
    Epub,
    /// A mail message: one document.
    Mail,
    /// A mailbox: a document a message.
    Mailbox,
    /// A Jupyter notebook: one document.
    Notebook,
    /// reStructuredText: one document.
    ReStructuredText,
    /// Org: one document.
    Org,
    /// TeX or LaTeX: one document.
    Tex,
    /// AsciiDoc: one document.
    AsciiDoc,
    /// Source code, whose lines are kept: one document.
    Code,
    /// An array of records in JSON: a passage a record.
    Json,
    /// A zip archive: the documents of the files in it.
    Zip,
    /// A tar archive: the documents of the files in it.
    Tar,
}

/// The known extensions, for messages.
pub(crate) const KNOWN: &str = ".txt, .md, .html, .rst, .org, .tex, .adoc, .log, source code, .jsonl, .json (arrays of records), \
     .csv, .tsv, .xml (MediaWiki dumps), .mbox and .tar, each also with .gz, .zst or .bz2; .pdf, .docx, .pptx, .xlsx, \
     .odt, .ods, .odp, .rtf, .epub, .eml, .ipynb, .parquet and .zip";

/// The extensions, in lower case; the first of a format is its name.
const EXTENSIONS: [(&str, Format); 39] = [
    ("txt", Format::Text),
    ("text", Format::Text),
    ("log", Format::Text),
    ("md", Format::Markdown),
    ("markdown", Format::Markdown),
    ("html", Format::Html),
    ("htm", Format::Html),
    ("xhtml", Format::Html),
    ("pdf", Format::Pdf),
    ("jsonl", Format::JsonLines),
    ("ndjson", Format::JsonLines),
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("parquet", Format::Parquet),
    ("xml", Format::MediaWiki),
    ("docx", Format::Docx),
    ("docm", Format::Docx),
    ("dotx", Format::Docx),
    ("pptx", Format::Pptx),
    ("pptm", Format::Pptx),
    ("ppsx", Format::Pptx),
    ("xlsx", Format::Xlsx),
    ("xlsm", Format::Xlsx),
    ("odt", Format::Odt),
    ("ods", Format::Ods),
    ("odp", Format::Odp),
    ("rtf", Format::Rtf),
    ("epub", Format::Epub),
    ("eml", Format::Mail),
    ("mbox", Format::Mailbox),
    ("ipynb", Format::Notebook),
    ("rst", Format::ReStructuredText),
    ("org", Format::Org),
    ("tex", Format::Tex),
    ("adoc", Format::AsciiDoc),
    ("asciidoc", Format::AsciiDoc),
    ("json", Format::Json),
    ("zip", Format::Zip),
    ("tar", Format::Tar),
];

/// The name of source code as a format.
const CODE: &str = "code";

/// The extensions of source code and configuration files.
const CODE_EXTENSIONS: [&str; 82] = [
    "asm", "awk", "bash", "bat", "c", "cc", "cfg", "clj", "cljs", "cmake", "conf", "cpp", "cs",
    "cu", "cxx", "d", "dart", "el", "elm", "erl", "ex", "exs", "f", "f90", "fs", "fsx", "go",
    "gradle", "graphql", "groovy", "h", "hh", "hpp", "hs", "hxx", "ini", "java", "jl", "js", "jsx",
    "kt", "kts", "lisp", "lua", "m", "mjs", "ml", "mli", "mm", "nim", "nix", "pas", "php", "pl",
    "pm", "proto", "ps1", "py", "pyi", "pyx", "r", "rb", "rs", "s", "scala", "scm", "sh", "sol",
    "sql", "swift", "tcl", "tf", "toml", "ts", "tsx", "v", "vb", "vhd", "vue", "yaml", "yml",
    "zig",
];

/// The extensions of archives that are compressed as a whole.
const PACKED_ARCHIVES: [(&str, Compression); 3] = [
    (".tgz", Compression::Gzip),
    (".tbz2", Compression::Bzip2),
    (".tzst", Compression::Zstd),
];

fn of_extension(extension: &str) -> Option<Format> {
    let row = EXTENSIONS.iter().find(|(known, _)| *known == extension);
    let is_code = CODE_EXTENSIONS.binary_search(&extension).is_ok();
    row.map(|&(_, format)| format)
        .or(is_code.then_some(Format::Code))
}

impl Format {
    /// Whether a file is read record by record, so that its encoding must be known before the first one.
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Self::JsonLines | Self::Csv | Self::Tsv)
    }

    /// Whether files of this format are also read compressed. The others have their own
    /// compression.
    fn may_be_compressed(self) -> bool {
        !matches!(
            self,
            Self::Pdf
                | Self::Parquet
                | Self::Docx
                | Self::Pptx
                | Self::Xlsx
                | Self::Odt
                | Self::Ods
                | Self::Odp
                | Self::Epub
                | Self::Zip
        )
    }
}

/// A name that no format has.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0:?} is none of the formats txt, md, html, pdf, docx, pptx, xlsx, odt, ods, odp, rtf, epub, eml, mbox, ipynb, rst, org, \
     tex, adoc, code, jsonl, json, csv, tsv, parquet, xml, zip and tar"
)]
pub struct FormatError(String);

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Self, FormatError> {
        let code = (name == CODE).then_some(Format::Code);
        code.or_else(|| of_extension(name))
            .ok_or_else(|| FormatError(name.to_owned()))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = EXTENSIONS.iter().find(|(_, format)| format == self);
        formatter.write_str(named.map_or(CODE, |(name, _)| name))
    }
}

/// A file's format and compression by its name; `None` if the extension is unknown.
pub(crate) fn format_of(path: &Path) -> Option<(Format, Option<Compression>)> {
    let name = path.file_name()?.to_string_lossy();
    let packed = PACKED_ARCHIVES
        .iter()
        .find(|(extension, _)| name.to_lowercase().ends_with(extension));
    if let Some(&(_, compression)) = packed {
        return Some((Format::Tar, Some(compression)));
    }
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
        assert_eq!(of("a.tar.gz"), Some((Format::Tar, gzip)));
        assert_eq!(of("a.TGZ"), Some((Format::Tar, gzip)));
        assert_eq!(of("a.zip.gz"), None);
        assert_eq!(of("main.rs"), Some((Format::Code, None)));
        assert_eq!(of("syslog.log.gz"), Some((Format::Text, gzip)));
        assert_eq!(of("c.gz"), None);
        assert_eq!(of(".gz"), None);
        assert_eq!(of("README"), None);
        assert_eq!(stem(Path::new("x/notes.v2.md.gz")), "notes.v2");
        assert_eq!(stem(Path::new("x/ü.bz2")), "ü");
    }

    #[test]
    fn names() {
        for name in [
            "txt", "md", "html", "pdf", "jsonl", "csv", "tsv", "parquet", "xml", "docx", "pptx",
            "xlsx", "odt", "ods", "odp", "rtf", "epub", "eml", "mbox", "ipynb", "rst", "org",
            "tex", "adoc", "code", "json", "zip", "tar",
        ] {
            assert_eq!(name.parse::<Format>().unwrap().to_string(), name);
            assert!(KNOWN.contains(name));
        }
        assert!(CODE_EXTENSIONS.is_sorted());
        let error = "doc".parse::<Format>().unwrap_err().to_string();
        assert!(
            error.starts_with("\"doc\" is none of the formats txt, "),
            "{error}"
        );
    }
}

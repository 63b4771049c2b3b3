//! Which formats are read, told by the file's name.

use std::path::Path;

/// How a file's bytes become documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Markdown,
    Html,
    JsonLines,
}

/// The extensions that are read, for people.
pub(super) const KNOWN: &str =
    ".txt, .md, .markdown, .html, .htm, .jsonl and .ndjson, each also with .gz";

/// A file's format and whether it is compressed; `None` where the extension is not known.
pub(super) fn format_of(path: &Path) -> Option<(Format, bool)> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let (name, gzip) = match name.strip_suffix(".gz") {
        Some(name) => (name, true),
        None => (name.as_str(), false),
    };
    let format = match name.rsplit_once('.')?.1 {
        "txt" => Format::Text,
        "md" | "markdown" => Format::Markdown,
        "html" | "htm" => Format::Html,
        "jsonl" | "ndjson" => Format::JsonLines,
        _ => return None,
    };
    Some((format, gzip))
}

/// A file's name without its extensions, as a title of last resort.
pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = match name.len().checked_sub(3).and_then(|at| name.get(at..)) {
        Some(end) if end.eq_ignore_ascii_case(".gz") => &name[..name.len() - 3],
        _ => &name,
    };
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
        assert_eq!(of("a/B.TXT"), Some((Format::Text, false)));
        assert_eq!(of("c.jsonl.gz"), Some((Format::JsonLines, true)));
        assert_eq!(of("c.gz"), None);
        assert_eq!(of("README"), None);
        assert_eq!(stem(Path::new("x/notes.v2.md.gz")), "notes.v2");
    }
}

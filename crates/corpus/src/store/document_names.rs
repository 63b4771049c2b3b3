//! The documents of a corpus by the names of their files, in any case, with and without the extension, with letters composed
//! or not.

use super::documents::hash;
use super::error::CorpusError;
use super::segment::Segment;
use crate::composed::composed;

/// The longest extension, in letters: that of AsciiDoc.
const LONGEST_EXTENSION: usize = 8;

/// Documents by the hashes of names: 16 bytes for a name, sorted, each with the number of the segment and the ordinal of the
/// document there.
#[derive(Debug, Default)]
pub(super) struct DocumentNames(Vec<(u64, u32, u32)>);

impl DocumentNames {
    /// Reads the record of each live document.
    pub(super) fn read(segments: &[Segment]) -> Result<Self, CorpusError> {
        let mut names = Vec::new();
        for (number, segment) in (0..).zip(segments) {
            for document in segment.live_documents() {
                let record = segment.document(document)?;
                let paths = [Some(record.id.as_str()), record.origin.as_deref()];
                let hashes = paths.into_iter().flatten().flat_map(hashes).flatten();
                names.extend(hashes.map(|hash| (hash, number, document as u32)));
            }
        }
        names.sort_unstable();
        names.dedup();
        names.shrink_to_fit();
        Ok(Self(names))
    }

    /// The documents with a file of this [`folded`] name, as segment and ordinal, ascending.
    pub(super) fn of(&self, name: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
        let key = hash(name);
        let start = self.0.partition_point(|(hash, ..)| *hash < key);
        let named = self.0.iter().skip(start);
        named
            .take_while(move |(hash, ..)| *hash == key)
            .map(|(_, segment, document)| (*segment as usize, *document as usize))
    }
}

/// The hashes of a file's name without and with its extension; none of a path that has no extension, such as a record's id.
fn hashes(path: &str) -> [Option<u64>; 2] {
    let name = folded(file_name(path));
    let stem = file_stem(&name);
    [stem.map(hash), stem.map(|_| hash(&name))]
}

/// A path as others are compared with it: in lower case, with composed letters and forward slashes.
pub(super) fn folded(path: &str) -> String {
    composed(&path.to_lowercase()).replace('\\', "/")
}

/// The last part of a path or of a document's id, without the number of a record behind it.
pub(super) fn file_name(path: &str) -> &str {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let path = match path.rsplit_once(':') {
        Some((file, number)) if is_number(number) => file,
        _ => path,
    };
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A file's name without its extension, which has up to 8 letters and digits, and not digits alone; `None` if it has none.
pub fn file_stem(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    let is_extension = extension.len() <= LONGEST_EXTENSION
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.bytes().any(|byte| byte.is_ascii_alphabetic());
    (is_extension && !stem.is_empty()).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_last_parts_of_paths() {
        for (path, expected) in [
            ("notes/To do.md", "To do.md"),
            ("C:\\notes\\todo.md", "todo.md"),
            ("lists/products.csv:12", "products.csv"),
            ("archive.zip/a/b.md", "b.md"),
            ("chapter: one.md", "chapter: one.md"),
            ("", ""),
        ] {
            assert_eq!(file_name(path), expected, "{path}");
        }
    }

    #[test]
    fn extensions_have_letters() {
        for (name, expected) in [
            ("report-2024.pdf", Some("report-2024")),
            ("notes.tar.gz", Some("notes.tar")),
            ("song.mp3", Some("song")),
            ("version 1.2", None),
            (".gitignore", None),
            ("end.", None),
            ("e.g. this", None),
            ("a.verylongextension", None),
            ("museum-1", None),
        ] {
            assert_eq!(file_stem(name), expected, "{name}");
        }
    }
}

//! A document as read by `ken-documents`, before it is cut into passages.

use serde_json::{Map, Value};

use crate::outline::Outline;

/// The BLAKE3 digest of a document's content.
pub type Digest = [u8; 32];

/// A text with an id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// Unique in a corpus: the path below the given folder, for a record its own id or that path and its number.
    pub id: String,
    /// May be empty.
    pub title: String,
    /// The text that is cut into passages, without the title.
    pub text: String,
    /// Everything else that the source says about the document.
    pub metadata: Map<String, Value>,
    /// True for one record of JSON Lines, CSV, TSV or Parquet: such a text is already a passage.
    pub record: bool,
    /// Where its pages and sections begin.
    pub outline: Outline,
    /// The file that it was read from, if any.
    pub origin: Option<String>,
}

impl Document {
    /// The digest of title, text, metadata, kind and outline: it changes exactly when the document's
    /// passages may have to change. It ignores the id, the origin and the order of metadata keys.
    pub fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(&[u8::from(self.record)]);
        part(self.title.as_bytes());
        part(self.text.as_bytes());
        let mut keys: Vec<&String> = self.metadata.keys().collect();
        keys.sort_unstable();
        for key in keys {
            part(key.as_bytes());
            part(self.metadata[key].to_string().as_bytes());
        }
        // Older versions had no outlines, and published documents without one.
        let Outline {
            pages,
            headings,
            tables,
        } = &self.outline;
        for start in pages {
            part(&start.to_le_bytes());
        }
        for heading in headings {
            part(&[heading.level]);
            part(&heading.offset.to_le_bytes());
        }
        for table in tables {
            part(&table.header.start.to_le_bytes());
            part(&table.header.end.to_le_bytes());
            part(&table.end.to_le_bytes());
        }
        *hasher.finalize().as_bytes()
    }

    /// The digest in hexadecimal.
    pub fn digest_text(&self) -> String {
        blake3::Hash::from_bytes(self.digest()).to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::with;

    use super::*;

    fn document(title: &str, text: &str, metadata: &str) -> Document {
        with!(Document::default(), id: "a".into(), title: title.into(), text: text.into(),
            metadata: serde_json::from_str(metadata).unwrap())
    }

    #[test]
    fn digest_sees_each_part_and_the_border_between_parts() {
        let base = document("ab", "c", "{}").digest();
        assert_ne!(base, document("a", "bc", "{}").digest());
        assert_ne!(base, document("ab", "d", "{}").digest());
        assert_ne!(base, document("ab", "c", r#"{"x":1}"#).digest());
        let mut paged = document("ab", "c", "{}");
        paged.outline.pages = vec![0];
        assert_ne!(base, paged.digest());
    }

    #[test]
    fn digest_ignores_the_id_the_origin_and_the_order_of_metadata() {
        let one = document("t", "x", r#"{"a":1,"b":2}"#);
        let mut other = document("t", "x", r#"{"b":2,"a":1}"#);
        other.id = "b".into();
        other.origin = Some("/d/b".into());
        assert_eq!(one.digest(), other.digest());
    }
}

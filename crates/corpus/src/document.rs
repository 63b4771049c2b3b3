//! A document as read by `ken-documents`, before it is cut into passages.

use serde_json::{Map, Value};

/// The BLAKE3 digest of a document's content.
pub type Digest = [u8; 32];

/// One text with an id of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Unique in a corpus: the path below the given folder, or the record's own id.
    pub id: String,
    /// May be empty.
    pub title: String,
    /// The text that is cut into passages, without the title.
    pub text: String,
    /// Everything else that the source says about the document.
    pub metadata: Map<String, Value>,
    /// True for one record of JSON Lines, CSV, TSV or Parquet: such a text is already a passage.
    pub record: bool,
}

impl Document {
    /// The digest of title, text, metadata and kind: it changes exactly when the document's
    /// passages may have to change. It ignores the id and the order of metadata keys.
    #[must_use]
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
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(title: &str, text: &str, metadata: &str) -> Document {
        Document {
            id: "a".into(),
            title: title.into(),
            text: text.into(),
            metadata: serde_json::from_str(metadata).unwrap(),
            record: false,
        }
    }

    #[test]
    fn digest_sees_each_part_and_the_border_between_parts() {
        let base = document("ab", "c", "{}").digest();
        assert_ne!(base, document("a", "bc", "{}").digest());
        assert_ne!(base, document("ab", "d", "{}").digest());
        assert_ne!(base, document("ab", "c", r#"{"x":1}"#).digest());
    }

    #[test]
    fn digest_ignores_the_id_and_the_order_of_metadata() {
        let one = document("t", "x", r#"{"a":1,"b":2}"#);
        let mut other = document("t", "x", r#"{"b":2,"a":1}"#);
        other.id = "b".into();
        assert_eq!(one.digest(), other.digest());
    }
}

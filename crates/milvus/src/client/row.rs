//! A passage as a row of a collection. Nothing is sent here.

use ken_corpus::{Passage, PassageId};
use ken_index::{VectorType, passage_terms, query_terms};
use milvus::v2::prelude::FieldData;
use serde_json::Value;

use super::facets::{Condition, Facets, hexadecimal};
use super::numbers;
use super::schema::{
    BOUNDS, DIGEST, DOC_ID, FACETS, ID, LOCATION, LONGEST_ID, LONGEST_TEXT, METADATA, MOST_FACETS,
    PIECE, PRUNED, TEXT, TITLE, VECTOR, WORDS,
};
use crate::error::MilvusError;

/// The facet of passages that are pruned by a ratio. Other facets are hexadecimal.
const RANKED: &str = "pruned by a ratio";

/// Whether searches leave a passage out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pruning {
    Live,
    /// The corpus that was pushed has it pruned, or a list named it.
    Listed,
    /// It was pruned by a ratio in the collection.
    Ranked,
}

/// Everything that a collection holds of a passage.
pub(crate) struct Row {
    passage: Passage,
    vector: Vec<f32>,
    pruning: Pruning,
    digest: String,
    facets: Facets,
    words: Option<String>,
}

/// Changes whenever anything in the row does, given the same embedder: 32 hex digits.
pub(crate) fn digest(passage: &Passage, vector: &[f32], pruning: Pruning) -> String {
    let mut hasher = blake3::Hasher::new();
    let metadata = Value::Object(passage.metadata.clone()).to_string();
    let location = location(passage).to_string();
    for part in [&passage.title, &passage.text, &metadata, &location] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.update(&[pruning as u8]);
    for number in vector {
        hasher.update(&number.to_le_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// A passage's location as JSON.
fn location(passage: &Passage) -> Value {
    // Cannot fail: its fields are texts and numbers.
    serde_json::to_value(&passage.location).unwrap_or_default()
}

/// The position of a passage when a partition is scanned in pieces.
pub(crate) fn piece(id: &PassageId) -> i64 {
    let hash = blake3::hash(id.as_str().as_bytes());
    let first = hash.as_bytes().first_chunk::<8>();
    first.map_or(0, |bytes| i64::from_le_bytes(*bytes))
}

/// The condition that holds for the passages that are pruned by a ratio.
pub(crate) fn pruned_by_ratio() -> String {
    Condition::Has(RANKED.to_owned()).to_string()
}

/// The condition that holds for the passages that a ratio refers to: those that are not pruned, and those that a ratio
/// pruned.
pub(crate) fn candidates() -> String {
    format!("({PRUNED} == false or {})", pruned_by_ratio())
}

impl Row {
    /// The row of a passage, with its words where the collection has a lexical index.
    ///
    /// # Errors
    /// [`MilvusError::TooLarge`].
    pub(crate) fn of(
        passage: Passage,
        vector: &[f32],
        pruning: Pruning,
        digest: String,
        lexical: bool,
    ) -> Result<Self, MilvusError> {
        let mut facets = Facets::of(&passage.metadata);
        if pruning == Pruning::Ranked {
            facets.facets.push(RANKED.to_owned());
        }
        let row = Self {
            facets,
            words: lexical.then(|| as_words(passage_terms(&passage.full_title(), &passage.text))),
            vector: vector.to_vec(),
            pruning,
            digest,
            passage,
        };
        row.check()?;
        Ok(row)
    }

    fn check(&self) -> Result<(), MilvusError> {
        let Passage {
            id,
            doc_id,
            title,
            text,
            metadata,
            location: _,
        } = &self.passage;
        let metadata = Value::Object(metadata.clone()).to_string();
        let words = self.words.as_ref().map_or(0, String::len);
        let location = location(&self.passage).to_string();
        let bounds = self.bounds().to_string();
        let sizes = [
            ("id", id.as_str().len(), LONGEST_ID, "bytes"),
            ("document's id", doc_id.len(), LONGEST_TEXT, "bytes"),
            ("title", title.len(), LONGEST_TEXT, "bytes"),
            ("text", text.len(), LONGEST_TEXT, "bytes"),
            ("list of words", words, LONGEST_TEXT, "bytes"),
            ("metadata", metadata.len(), LONGEST_TEXT, "bytes"),
            ("location", location.len(), LONGEST_TEXT, "bytes"),
            ("metadata", bounds.len(), LONGEST_TEXT, "bytes to filter by"),
            ("metadata", self.facets.facets.len(), MOST_FACETS, "values"),
        ];
        let mut sizes = sizes.into_iter();
        match sizes.find(|(_, received, limit, _)| received > limit) {
            None => Ok(()),
            Some((part, received, limit, unit)) => Err(MilvusError::TooLarge {
                passage_id: id.to_string(),
                part,
                received,
                limit,
                unit,
            }),
        }
    }

    fn bounds(&self) -> Value {
        self.facets.bounds.clone().into_iter().collect()
    }

    /// Its approximate size when sent, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let passage = &self.passage;
        let metadata = Value::Object(passage.metadata.clone()).to_string().len();
        let facets = self.facets.facets.len() * 34 + self.bounds().to_string().len();
        let words = self.words.as_ref().map_or(0, String::len);
        passage.text.len() + passage.title.len() + metadata + facets + words + self.vector.len() * 4
    }
}

/// Rows as the columns that are sent, with vectors of a type.
pub(crate) fn columns(rows: Vec<Row>, vectors: VectorType) -> Vec<FieldData> {
    let texts = |name: &str, of: &dyn Fn(&Row) -> String| FieldData::VarChar {
        name: name.to_owned(),
        values: rows.iter().map(of).collect(),
    };
    let json = |name: &str, of: &dyn Fn(&Row) -> Value| FieldData::Json {
        name: name.to_owned(),
        values: rows.iter().map(of).collect(),
    };
    let mut columns = vec![
        texts(ID, &|row| row.passage.id.to_string()),
        texts(DOC_ID, &|row| row.passage.doc_id.clone()),
        texts(TITLE, &|row| row.passage.title.clone()),
        texts(TEXT, &|row| row.passage.text.clone()),
        texts(DIGEST, &|row| row.digest.clone()),
        json(LOCATION, &|row| location(&row.passage)),
        json(METADATA, &|row| Value::Object(row.passage.metadata.clone())),
        json(BOUNDS, &Row::bounds),
        FieldData::ArrayVarChar {
            name: FACETS.to_owned(),
            values: rows.iter().map(|row| row.facets.facets.clone()).collect(),
        },
        FieldData::Bool {
            name: PRUNED.to_owned(),
            values: rows
                .iter()
                .map(|row| row.pruning != Pruning::Live)
                .collect(),
        },
        FieldData::Int64 {
            name: PIECE.to_owned(),
            values: rows.iter().map(|row| piece(&row.passage.id)).collect(),
        },
    ];
    if rows.iter().all(|row| row.words.is_some()) {
        columns.push(texts(WORDS, &|row| row.words.clone().unwrap_or_default()));
    }
    let rows = rows.into_iter().map(|row| row.vector);
    columns.push(numbers::column(vectors, VECTOR, rows.collect()));
    columns
}

/// A query for the lexical index; `None` if the query has no words.
pub(crate) fn query_words(text: &str) -> Option<String> {
    let terms = query_terms(text);
    (!terms.is_empty()).then(|| as_words(terms))
}

/// Terms as a text that every analyzer splits into exactly these: a term with anything but ASCII letters and digits
/// is written in hexadecimal. So Milvus counts the words that ken finds, in any language.
fn as_words(terms: Vec<String>) -> String {
    let plain = |term: &str| term.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let words = terms.into_iter().map(|term| match plain(&term) {
        true => term,
        false => format!("x{}", hexadecimal(term.as_bytes())),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn passage(text: &str) -> Passage {
        Passage {
            id: PassageId::new("a.md", 0),
            doc_id: "a.md".to_owned(),
            title: "Tides".to_owned(),
            location: Default::default(),
            text: text.to_owned(),
            metadata: Map::new(),
        }
    }

    #[test]
    fn words_are_plain_in_every_language() {
        assert_eq!(
            as_words(passage_terms("", "The moon, 北京")),
            "the moon xe58c97 xe58c97e4baac xe4baac"
        );
        assert_eq!(query_words("?!"), None);
        assert_eq!(query_words("moon moon"), Some("moon".to_owned()));
    }

    #[test]
    fn a_digest_sees_every_part() {
        let base = digest(&passage("x"), &[1.0], Pruning::Live);
        assert_eq!(base, digest(&passage("x"), &[1.0], Pruning::Live));
        assert_ne!(base, digest(&passage("y"), &[1.0], Pruning::Live));
        assert_ne!(base, digest(&passage("x"), &[0.5], Pruning::Live));
        assert_ne!(base, digest(&passage("x"), &[1.0], Pruning::Listed));
        let mut other = passage("x");
        other.metadata.insert("a".to_owned(), 1.into());
        assert_ne!(base, digest(&other, &[1.0], Pruning::Live));
    }

    #[test]
    fn what_is_too_large_is_named() {
        let long = passage(&"word ".repeat(20_000));
        let error = Row::of(long, &[1.0], Pruning::Live, String::new(), true)
            .err()
            .unwrap();
        assert_eq!(
            error.to_string(),
            "the text of passage a.md#0 takes 100000 bytes; Milvus takes 65535"
        );
        let mut many = passage("x");
        let values = (0..5000).map(|n| format!("v{n}")).collect();
        many.metadata.insert("k".to_owned(), values);
        let error = Row::of(many, &[1.0], Pruning::Live, String::new(), true)
            .err()
            .unwrap();
        // Two more say that there are texts, and that these are no numbers.
        assert!(error.to_string().contains("5002 values"), "{error}");
    }
}

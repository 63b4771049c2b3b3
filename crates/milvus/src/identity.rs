//! What a collection says of itself: which corpus it holds, in what state, and which of its
//! segments stand there complete. It is kept as JSON in a property of the collection.

use std::collections::BTreeMap;

use ken_corpus::{Corpus, CorpusInfo, Segment, Settings};
use milvus::v2::prelude::{AlterCollectionPropertiesRequest, DescribeCollectionRequest};
use serde::{Deserialize, Serialize};

use crate::connection::{Connection, SHORT};
use crate::error::MilvusError;
use crate::index_kind::IndexKind;

/// The property that holds it.
pub(crate) const PROPERTY: &str = "ken";

/// The layout of collections that this version writes and reads.
const FORMAT: u64 = 1;

/// What Milvus says of a collection that does not exist.
const NO_COLLECTION: [&str; 2] = ["not found", "not exist"];

/// What a collection says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) format: u64,
    /// The embedder, the segmentation and the split into shards.
    pub(crate) settings: Settings,
    /// How its vectors are indexed.
    pub(crate) index: IndexKind,
    /// Whether its words are.
    pub(crate) lexical: bool,
    /// The fingerprint of the generation that it holds or is brought to.
    pub(crate) fingerprint: String,
    /// That generation in numbers.
    pub(crate) info: CorpusInfo,
    /// Whether it holds all of it and nothing else.
    pub(crate) complete: bool,
    /// Which segments' passages all stand there, with the state that they stand there in.
    pub(crate) segments: BTreeMap<String, String>,
    /// Shards in whose partitions may be passages that are gone from the corpus.
    pub(crate) unswept: Vec<u32>,
}

/// The state of a segment: which of its passages are live and which are pruned.
pub(crate) fn state(segment: &Segment) -> String {
    let mut hasher = blake3::Hasher::new();
    for document in segment.live_documents() {
        hasher.update(&(document as u64).to_le_bytes());
        for ordinal in segment.passages_of(document) {
            hasher.update(&[u8::from(segment.is_live(ordinal))]);
        }
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

impl Identity {
    /// That of a collection to which nothing was sent yet.
    pub(crate) fn new(corpus: &Corpus, index: IndexKind, lexical: bool) -> Self {
        Self {
            format: FORMAT,
            settings: corpus.settings().clone(),
            index,
            lexical,
            fingerprint: corpus.fingerprint(),
            info: corpus.info(),
            complete: false,
            segments: BTreeMap::new(),
            unswept: Vec::new(),
        }
    }

    /// What the collection says; `None` where there is no collection.
    ///
    /// # Errors
    /// [`MilvusError::NotOurs`], [`MilvusError::OtherFormat`], and what a call may return.
    pub(crate) fn read(connection: &Connection) -> Result<Option<Self>, MilvusError> {
        let request = DescribeCollectionRequest::builder()
            .collection_name(connection.collection())
            .build();
        let described = connection.wait("describe the collection", SHORT, async |client| {
            client.describe_collection(request?).await
        });
        let described = match described {
            Err(MilvusError::Refused { reason, .. })
                if NO_COLLECTION.iter().any(|words| reason.contains(words)) =>
            {
                return Ok(None);
            }
            described => described?,
        };
        let address = connection.address().to_string();
        let properties = described.description().get_properties();
        let Some(text) = properties.get(PROPERTY) else {
            return Err(MilvusError::NotOurs { address });
        };
        Self::parse(text, &address).map(Some)
    }

    fn parse(text: &str, address: &str) -> Result<Self, MilvusError> {
        let not_ours = || MilvusError::NotOurs {
            address: address.to_owned(),
        };
        let value: serde_json::Value = serde_json::from_str(text).map_err(|_| not_ours())?;
        let format = value.get("format").and_then(serde_json::Value::as_u64);
        match format {
            Some(FORMAT) => serde_json::from_value(value).map_err(|_| not_ours()),
            Some(found) => Err(MilvusError::OtherFormat {
                address: address.to_owned(),
                found,
                supported: FORMAT,
            }),
            None => Err(not_ours()),
        }
    }

    /// As the property holds it.
    ///
    /// # Errors
    /// None in practice: all of it can be written as JSON.
    pub(crate) fn to_text(&self, connection: &Connection) -> Result<String, MilvusError> {
        serde_json::to_string(self).map_err(|error| connection.unreadable(&error))
    }

    /// Has the collection say it from now on.
    ///
    /// # Errors
    /// What a call may return.
    pub(crate) fn write(&self, connection: &Connection) -> Result<(), MilvusError> {
        let request = AlterCollectionPropertiesRequest::builder()
            .collection_name(connection.collection())
            .property(PROPERTY, self.to_text(connection)?)
            .build();
        connection.wait("note what the collection holds", SHORT, async |client| {
            client.alter_collection_properties(request?).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ken_did_not_write_is_refused() {
        let kind = |text| Identity::parse(text, "milvus://h:1/c").unwrap_err().kind();
        assert_eq!(kind("hello"), "collection_not_kens");
        assert_eq!(kind("{}"), "collection_not_kens");
        assert_eq!(kind(r#"{"format": 1}"#), "collection_not_kens");
        assert_eq!(kind(r#"{"format": 9}"#), "other_collection_format");
    }
}

//! What a collection records about itself: which corpus it holds, in what state, and which of its
//! segments are complete. It is kept as JSON in a property of the collection.

use std::collections::BTreeMap;

use ken_corpus::{Corpus, CorpusError, CorpusInfo, Segment, Settings};
use milvus::v2::prelude::{
    AlterCollectionPropertiesRequest, DescribeCollectionRequest, DescribeCollectionResponse,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::connection::{Connection, SHORT, call};
use crate::error::MilvusError;
use crate::index_kind::VectorIndex;

/// The name of the property.
pub(crate) const PROPERTY: &str = "ken";

/// The layout of collections that this version writes and reads, and the terms in their lexical index.
const FORMAT: u64 = 2;

/// How Milvus words that a collection does not exist.
const NO_COLLECTION: [&str; 2] = ["not found", "not exist"];

/// What a collection records about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) format: u64,
    /// The embedder, the segmentation and the split into shards.
    pub(crate) settings: Settings,
    /// How its vectors are indexed.
    pub(crate) index: VectorIndex,
    /// Whether it has a lexical index.
    pub(crate) lexical: bool,
    /// The fingerprint of the generation that it holds or is being brought to.
    pub(crate) fingerprint: String,
    /// The counts of that generation.
    pub(crate) info: CorpusInfo,
    /// Whether it holds all of it and nothing else.
    pub(crate) complete: bool,
    /// The segments whose passages are all there, with their states.
    pub(crate) segments: BTreeMap<String, String>,
    /// Shards whose partitions may hold passages that the corpus no longer has.
    pub(crate) unswept: Vec<u32>,
    /// How often it was to be brought to another state: what was done in one round says nothing of the next.
    #[serde(default)]
    pub(crate) round: u64,
    /// The alias behind which it takes turns with another collection, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alias: Option<String>,
}

/// The server's description of the collection; `None` if there is none.
pub(crate) fn described(
    connection: &Connection,
) -> Result<Option<DescribeCollectionResponse>, MilvusError> {
    let request = DescribeCollectionRequest::builder();
    let described = call!(
        "describe the collection" within SHORT, connection => describe_collection(request)
    );
    match described {
        Err(error) if says_no_collection(&error) => Ok(None),
        described => described.map(Some),
    }
}

/// The collection's own name, which is not that of the address if that is an alias; `None` if there is no collection.
pub(crate) fn own_name(connection: &Connection) -> Result<Option<String>, MilvusError> {
    let described = described(connection)?;
    Ok(described.map(|described| described.description().get_collection_name().to_owned()))
}

/// The state of a segment: which of its passages are live and which are pruned, and their scores.
pub(crate) fn state(segment: &Segment) -> Result<String, CorpusError> {
    let mut hasher = blake3::Hasher::new();
    for document in segment.live_documents() {
        hasher.update(&(document as u64).to_le_bytes());
        for ordinal in segment.passages_of(document)? {
            hasher.update(&[u8::from(segment.is_live(ordinal))]);
            let mut scores = Map::new();
            segment.add_scores(ordinal, &mut scores);
            if !scores.is_empty() {
                hasher.update(Value::Object(scores).to_string().as_bytes());
            }
        }
    }
    Ok(hasher.finalize().to_hex()[..16].to_owned())
}

/// The connection with the collection's own name, where the address is an alias: a change is made to a collection.
pub(crate) fn resolved(connection: Connection) -> Result<Connection, MilvusError> {
    Ok(match own_name(&connection)? {
        Some(name) => connection.at(&name),
        None => connection,
    })
}

impl Identity {
    /// The record of a collection that holds no passages yet.
    pub(crate) fn new(corpus: &Corpus, index: VectorIndex, lexical: bool) -> Self {
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
            round: 0,
            alias: None,
        }
    }

    /// Reads the record of a collection that a push has completed.
    ///
    /// # Errors
    /// [`MilvusError::CollectionMissing`], [`MilvusError::PushUnfinished`], and as of [`Identity::read`].
    pub(crate) fn read_complete(connection: &Connection) -> Result<Self, MilvusError> {
        let address = connection.address.to_string();
        match Self::read(connection)? {
            None => Err(MilvusError::CollectionMissing { address }),
            Some(identity) if !identity.complete => Err(MilvusError::PushUnfinished { address }),
            Some(identity) => Ok(identity),
        }
    }

    /// Says that the collection holds every segment of the corpus, and nothing else.
    pub(crate) fn hold_all(&mut self, corpus: &Corpus) -> Result<(), CorpusError> {
        let states = corpus.segments().iter();
        self.segments = states
            .map(|segment| Ok((segment.id().to_owned(), state(segment)?)))
            .collect::<Result<_, CorpusError>>()?;
        self.unswept.clear();
        Ok(())
    }

    /// Says that the collection no longer holds what the corpus does, because of this change: the next push compares
    /// all of it.
    pub(crate) fn depart(&mut self, change: &str) {
        let both = format!("{} {change}", self.fingerprint);
        self.fingerprint = blake3::hash(both.as_bytes()).to_hex()[..32].to_owned();
        self.forget();
    }

    /// Says that rows may be of another state than the one that the collection is brought to: every push, and every
    /// part of one, compares all of it.
    pub(crate) fn doubt(&mut self) {
        self.complete = false;
        self.round += 1;
        self.forget();
    }

    fn forget(&mut self) {
        self.segments.clear();
        self.unswept = (0..self.settings.sharding.count).collect();
    }

    /// Reads the record; `None` if there is no collection.
    ///
    /// # Errors
    /// [`MilvusError::NotOurs`], [`MilvusError::OtherFormat`], and any error of a call.
    pub(crate) fn read(connection: &Connection) -> Result<Option<Self>, MilvusError> {
        let Some(described) = described(connection)? else {
            return Ok(None);
        };
        Self::of(&described, connection).map(Some)
    }

    /// The record in a description.
    ///
    /// # Errors
    /// [`MilvusError::NotOurs`], [`MilvusError::OtherFormat`].
    pub(crate) fn of(
        described: &DescribeCollectionResponse,
        connection: &Connection,
    ) -> Result<Self, MilvusError> {
        let address = connection.address.to_string();
        let properties = described.description().get_properties();
        match properties.get(PROPERTY) {
            Some(text) => Self::parse(text, &address),
            None => Err(MilvusError::NotOurs { address }),
        }
    }

    fn parse(text: &str, address: &str) -> Result<Self, MilvusError> {
        let not_ours = || MilvusError::NotOurs {
            address: address.to_owned(),
        };
        let value: Value = serde_json::from_str(text).map_err(|_| not_ours())?;
        let format = value.get("format").and_then(Value::as_u64);
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

    /// The JSON in the property.
    ///
    /// # Errors
    /// None in practice: every record can be written as JSON.
    pub(crate) fn to_text(&self, connection: &Connection) -> Result<String, MilvusError> {
        serde_json::to_string(self).map_err(|error| connection.unreadable(&error))
    }

    /// Replaces the record.
    pub(crate) fn write(&self, connection: &Connection) -> Result<(), MilvusError> {
        write_property(PROPERTY, self.to_text(connection)?, connection)
    }
}

/// Sets a property of the collection, and leaves the others as they are.
pub(crate) fn write_property(
    name: &str,
    value: String,
    connection: &Connection,
) -> Result<(), MilvusError> {
    let request = AlterCollectionPropertiesRequest::builder().property(name, value);
    call!(
        "record what the collection holds" within SHORT,
        connection => alter_collection_properties(request)
    )
}

fn says_no_collection(error: &MilvusError) -> bool {
    let MilvusError::Call { reason, .. } = error else {
        return false;
    };
    error.is_refusal() && NO_COLLECTION.iter().any(|words| reason.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ken_did_not_write_is_refused() {
        let kind = |text| Identity::parse(text, "milvus://h:1/c").unwrap_err().kind();
        assert_eq!(kind("hello"), "collection_not_kens");
        assert_eq!(kind("{}"), "collection_not_kens");
        assert_eq!(kind(r#"{"format": 2}"#), "collection_not_kens");
        assert_eq!(kind(r#"{"format": 1}"#), "other_collection_format");
        assert_eq!(kind(r#"{"format": 9}"#), "other_collection_format");
    }
}

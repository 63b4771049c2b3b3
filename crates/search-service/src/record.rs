//! Turning the records that a service returns into passages, and remembering the latest ones.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ken_corpus::{FieldFault, Location, Passage, PassageId};
use ken_index::Hit;
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

use crate::address::ServiceAddress;
use crate::error::ServiceError;

/// A search result of a service.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServiceRecord {
    /// The service's own id.
    pub(crate) id: Option<String>,
    /// The document that it is a part of; the record itself if the service names none.
    pub(crate) document: Option<String>,
    /// Higher is more relevant.
    pub(crate) score: f32,
    pub(crate) fields: Map<String, Value>,
}

impl ServiceRecord {
    /// The passage with its score; `None` if it has no text.
    ///
    /// # Errors
    /// If there is no field with a text, or fields have another type.
    pub(crate) fn hit(mut self, address: &ServiceAddress) -> Result<Option<Hit>, ServiceError> {
        if let Some(vector) = &address.options.vector {
            self.fields.shift_remove(vector);
        }
        take_node(&mut self.fields);
        if let Some(name) = &address.options.metadata
            && let Some(Value::Object(inner)) = self.fields.shift_remove(name)
        {
            self.fields
                .insert("metadata".to_owned(), Value::Object(inner));
        }
        let names: Vec<&str> = self.fields.keys().map(String::as_str).collect();
        let names = names.join(", ");
        let parts = address.options.names.parts(self.fields);
        let parts = parts.map_err(|fault| match fault {
            FieldFault::Missing(_) => ServiceError::NoText {
                address: address.to_string(),
                fields: names,
            },
            FieldFault::WrongType { field, expected } => ServiceError::WrongType {
                address: address.to_string(),
                field,
                expected,
            },
        })?;
        if parts.text.trim().is_empty() {
            return Ok(None);
        }
        let id = self.id.or(parts.id).unwrap_or_else(|| {
            let digest = xxh3_64(parts.text.as_bytes());
            match &self.document {
                Some(document) => format!("{document}#{digest:016x}"),
                None => format!("{digest:016x}"),
            }
        });
        let passage = Passage {
            doc_id: self.document.unwrap_or_else(|| id.clone()),
            id: PassageId(id),
            title: parts.title,
            text: parts.text,
            location: Location::default().linked(&parts.metadata),
            metadata: parts.metadata,
        };
        Ok(Some(Hit {
            passage,
            score: self.score,
        }))
    }
}

/// Unpacks the field in which LlamaIndex keeps a node as JSON.
fn take_node(fields: &mut Map<String, Value>) {
    const NODE: &str = "_node_content";
    let Some(Value::String(node)) = fields.shift_remove(NODE) else {
        return;
    };
    if let Ok(Value::Object(mut node)) = serde_json::from_str(&node)
        && let Some(text) = node.shift_remove("text")
    {
        fields.entry("text").or_insert(text);
    }
}

/// Locks what holds no state that a panic could leave half made.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Recent passages by their ids, so that a citation can be opened without another request.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    by_id: HashMap<String, Passage>,
    oldest_first: VecDeque<String>,
}

impl Remembered {
    /// The most passages kept.
    const MOST: usize = 4096;

    pub(crate) fn keep(&mut self, passage: &Passage) {
        let id = &passage.id.0;
        if self.by_id.insert(id.clone(), passage.clone()).is_some() {
            return;
        }
        self.oldest_first.push_back(id.clone());
        if self.oldest_first.len() > Self::MOST
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Passage> {
        self.by_id.get(id)
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::{cases, with};
    use serde_json::json;

    use super::*;

    fn hit(fields: &Value, address: &str) -> Result<Option<Hit>, ServiceError> {
        let record = with!(ServiceRecord::default(), score: 0.5, fields: fields.as_object().unwrap().clone());
        record.hit(&address.parse().unwrap())
    }

    const QDRANT: &str = "qdrant+http://box:6333/notes";

    #[test]
    fn records_of_known_frameworks_are_passages() {
        let node = json!({ "text": "Nine bar.", "metadata": {} }).to_string();
        for (fields, address) in cases![
            json!({ "page_content": "Nine bar.", "metadata": { "a": 1 } }) => QDRANT;
            json!({ "_node_content": node, "a": 1 }) => QDRANT;
            json!({ "content": "Nine bar.", "meta": { "a": 1 } }) => "qdrant+http://b/n?metadata=meta";
            json!({ "say": "Nine bar.", "a": 1, "v": [0.1] }) => "qdrant+http://b/n?text=say&vector=v";
        ] {
            let passage = hit(&fields, address).unwrap().unwrap().passage;
            assert_eq!(passage.text, "Nine bar.");
            assert_eq!(Value::Object(passage.metadata), json!({ "a": 1 }));
            assert_eq!(passage.id.0.len(), 16);
        }
        assert!(hit(&json!({ "text": "  " }), QDRANT).unwrap().is_none());
    }

    #[test]
    fn a_record_without_text_names_its_fields() {
        let error = hit(&json!({ "heading": "h", "say": "s" }), QDRANT).unwrap_err();
        assert!(error.to_string().ends_with("its fields are heading, say"));
        let error = hit(&json!({ "text": { "a": 1 } }), QDRANT).unwrap_err();
        assert!(matches!(error, ServiceError::WrongType { .. }));
    }

    #[test]
    fn what_was_found_lately_is_remembered() {
        let mut remembered = Remembered::default();
        for number in 0..=Remembered::MOST {
            let mut passage = hit(&json!({ "text": "t", "id": number.to_string() }), QDRANT);
            let passage = passage.as_mut().unwrap().take().unwrap().passage;
            remembered.keep(&passage);
            remembered.keep(&passage);
        }
        assert!(remembered.get("0").is_none());
        assert!(remembered.get("1").is_some());
        assert_eq!(remembered.by_id.len(), Remembered::MOST);
    }
}

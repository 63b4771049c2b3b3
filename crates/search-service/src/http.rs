//! Searches over HTTP: the request to each kind of service, and the records in its answer.

use serde_json::{Map, Value, json};

use crate::address::ServiceAddress;
use crate::client::{Client, other_service};
use crate::error::ServiceError;
use crate::kind::Kind;
use crate::record::ServiceRecord;

/// The form of a question that a service gets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Question<'q> {
    Words(&'q str),
    /// L2-normalized: `[dimensions]`.
    Vector(&'q [f32]),
}

/// The state that a service reports.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct State {
    /// The number of its passages, if it reports it.
    pub(crate) passages: Option<usize>,
    /// The length of its vectors, if it is searched by vectors.
    pub(crate) dimensions: Option<usize>,
}

/// The most results of OpenAI's API.
const MOST_OF_VECTOR_STORE: usize = 50;

/// The least number of neighbors that Elasticsearch considers for the nearest.
const CANDIDATES: usize = 100;

/// The best `k` records of a service, best first.
pub(crate) fn search(
    client: &Client,
    address: &ServiceAddress,
    question: Question<'_>,
    k: usize,
    filters: &[Value],
) -> Result<Vec<ServiceRecord>, ServiceError> {
    let (path, body) = request(address, question, k, filters);
    let answer = client.call(address, path, Some(&body))?;
    records(address.kind, &answer).ok_or_else(|| other_service(address))
}

/// The path and the body of a search.
fn request(
    address: &ServiceAddress,
    question: Question<'_>,
    k: usize,
    filters: &[Value],
) -> (&'static str, Value) {
    let options = &address.options;
    let vector_field = options.vector.as_deref().unwrap_or_default();
    // Elasticsearch returns all fields of a document but the vectors.
    let source = match vector_field {
        "" => json!(true),
        field => json!({ "excludes": [field] }),
    };
    let elastic = |by: &str, search: Value| {
        let body = json!({ "size": k, by: search, "_source": source });
        ("/_search", body)
    };
    match (address.kind, question) {
        (Kind::Retrieve, Question::Words(text)) => (
            "",
            json!({ "queries": [text], "topk": k, "return_scores": true }),
        ),
        (Kind::Qdrant, Question::Vector(vector)) => {
            let mut body = json!({ "query": vector, "limit": k, "with_payload": true });
            if options.vector.is_some() {
                body["using"] = json!(vector_field);
            }
            if !filters.is_empty() {
                body["filter"] = json!({ "must": filters });
            }
            ("/points/query", body)
        }
        (Kind::OpenSearch, Question::Vector(vector)) => {
            let mut near = json!({ "vector": vector, "k": k });
            if !filters.is_empty() {
                near["filter"] = json!({ "bool": { "filter": filters } });
            }
            elastic("query", json!({ "knn": { vector_field: near } }))
        }
        (_, Question::Vector(vector)) => {
            let near = json!({
                "field": vector_field,
                "query_vector": vector,
                "k": k,
                "num_candidates": CANDIDATES.max(k.saturating_mul(2)),
                "filter": filters,
            });
            elastic("knn", near)
        }
        (Kind::Elasticsearch | Kind::OpenSearch, Question::Words(text)) => {
            let mut matched = json!({ "query": text });
            if let Some(field) = &options.text {
                matched["fields"] = json!([field]);
            }
            let query = json!({
                "bool": { "must": [{ "multi_match": matched }], "filter": filters },
            });
            elastic("query", query)
        }
        (_, Question::Words(text)) => {
            let k = k.clamp(1, MOST_OF_VECTOR_STORE);
            let mut body = json!({ "query": text, "max_num_results": k });
            match filters {
                [] => {}
                [only] => body["filters"] = only.clone(),
                all => body["filters"] = json!({ "type": "and", "filters": all }),
            }
            ("/search", body)
        }
    }
}

/// The records of an answer; `None` if it has another form.
fn records(kind: Kind, answer: &Value) -> Option<Vec<ServiceRecord>> {
    let list = |place: &str| answer.pointer(place)?.as_array();
    let (records, record): (_, fn(&Value) -> Option<ServiceRecord>) = match kind {
        Kind::VectorStore => (list("/data")?, chunk),
        Kind::Retrieve => (list("/result/0")?, retrieved),
        Kind::Qdrant => (list("/result/points")?, point),
        _ => (list("/hits/hits")?, hit),
    };
    records.iter().map(record).collect()
}

fn score(value: Option<&Value>) -> f32 {
    value.and_then(Value::as_f64).unwrap_or_default() as f32
}

fn object(value: Option<&Value>) -> Option<Map<String, Value>> {
    Some(value?.as_object()?.clone())
}

/// A text, or a number in digits.
fn id(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A chunk of a file in a vector store.
fn chunk(record: &Value) -> Option<ServiceRecord> {
    let content = record.get("content")?.as_array()?;
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    let mut fields = object(record.get("attributes")).unwrap_or_default();
    fields.insert("text".to_owned(), json!(texts.join("\n")));
    if let Some(name) = record.get("filename") {
        fields.insert("title".to_owned(), name.clone());
    }
    Some(ServiceRecord {
        id: None,
        document: id(record.get("file_id")),
        score: score(record.get("score")),
        fields,
    })
}

/// A document of a search agent's retriever, with or without a score.
fn retrieved(record: &Value) -> Option<ServiceRecord> {
    let document = record
        .get("document")
        .filter(|document| !document.is_null());
    let fields = match document {
        Some(Value::String(text)) => Map::from_iter([("contents".to_owned(), json!(text))]),
        document => object(document.or(Some(record)))?,
    };
    Some(ServiceRecord {
        score: score(document.and(record.get("score"))),
        fields,
        ..ServiceRecord::default()
    })
}

fn point(record: &Value) -> Option<ServiceRecord> {
    Some(ServiceRecord {
        id: id(record.get("id")),
        score: score(record.get("score")),
        fields: object(record.get("payload")).unwrap_or_default(),
        ..ServiceRecord::default()
    })
}

fn hit(record: &Value) -> Option<ServiceRecord> {
    Some(ServiceRecord {
        id: id(record.get("_id")),
        score: score(record.get("_score")),
        fields: object(record.get("_source"))?,
        ..ServiceRecord::default()
    })
}

/// Asks a service for its size and the length of its vectors.
///
/// # Errors
/// If the service does not answer, or lacks the index, collection or field that the address names.
pub(crate) fn state(client: &Client, address: &ServiceAddress) -> Result<State, ServiceError> {
    let get = |path: &str| client.call(address, path, None);
    let count = |answer: &Value, place: &str| {
        let count = answer.pointer(place).and_then(Value::as_u64);
        count.map(|count| count as usize)
    };
    Ok(match address.kind {
        // Only a search shows whether it exists.
        Kind::Retrieve | Kind::Postgres => State::default(),
        // A key that may search may not be allowed to look at stores.
        Kind::VectorStore => match get("") {
            Err(ServiceError::Status {
                status: 401 | 403, ..
            }) => State::default(),
            answer => {
                answer?.get("id").ok_or_else(|| other_service(address))?;
                State::default()
            }
        },
        Kind::Qdrant => {
            let answer = get("")?;
            let vectors = answer.pointer("/result/config/params/vectors");
            let vectors = vectors.ok_or_else(|| other_service(address))?;
            State {
                passages: count(&answer, "/result/points_count"),
                dimensions: Some(vector_size(address, vectors)?),
            }
        }
        Kind::Elasticsearch | Kind::OpenSearch => {
            let answer = get("/_count")?;
            let passages = count(&answer, "/count").ok_or_else(|| other_service(address))?;
            let dimensions = match &address.options.vector {
                Some(field) => Some(mapped_size(address, field, &get("/_mapping")?)?),
                None => None,
            };
            State {
                passages: Some(passages),
                dimensions,
            }
        }
    })
}

/// The length of the vectors of a collection of Qdrant: one kind without a name, or several with names.
fn vector_size(address: &ServiceAddress, vectors: &Value) -> Result<usize, ServiceError> {
    let params = match &address.options.vector {
        Some(name) => vectors.get(name),
        None => Some(vectors),
    };
    let size = params.and_then(|params| params.get("size")?.as_u64());
    size.map(|size| size as usize).ok_or_else(|| {
        let names = vectors.as_object().into_iter().flatten();
        let names = names.filter(|(_, params)| params.is_object());
        let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
        ServiceError::NoVectors {
            address: address.to_string(),
            names: names.join(", "),
        }
    })
}

/// The length of the vectors in a field of an index of Elasticsearch or OpenSearch.
fn mapped_size(
    address: &ServiceAddress,
    field: &str,
    mappings: &Value,
) -> Result<usize, ServiceError> {
    let place = field.replace('.', "/properties/");
    let place = format!("/mappings/properties/{place}");
    let indexes = mappings.as_object().into_iter().flatten();
    let mut sizes = indexes.filter_map(|(_, index)| dimensions(index.pointer(&place)?)?.as_u64());
    let size = sizes.next().map(|size| size as usize);
    size.ok_or_else(|| {
        let indexes = mappings.as_object().into_iter().flatten();
        let properties = indexes.filter_map(|(_, index)| {
            let properties = index.pointer("/mappings/properties")?.as_object()?;
            Some(properties.iter())
        });
        let vectors = properties
            .flatten()
            .filter(|(_, field)| dimensions(field).is_some());
        let names: Vec<&str> = vectors.map(|(name, _)| name.as_str()).collect();
        ServiceError::NoVectors {
            address: address.to_string(),
            names: names.join(", "),
        }
    })
}

/// The length of vectors in the mapping of a field: the one name is Elasticsearch's, the other OpenSearch's.
fn dimensions(field: &Value) -> Option<&Value> {
    field.get("dims").or_else(|| field.get("dimension"))
}

#[cfg(test)]
mod tests {
    use ken_testing::{cases, has};

    use super::*;

    fn body(address: &str, question: Question<'_>, filters: &[Value]) -> (&'static str, Value) {
        request(&address.parse().unwrap(), question, 3, filters)
    }

    #[test]
    fn requests_are_those_of_each_api() {
        let filter = json!({ "a": 1 });
        let one = std::slice::from_ref(&filter);
        for (address, question, filters, expected) in cases![
            "retrieve+http://b/retrieve" => Question::Words("q"), &[][..],
                ("", json!({ "queries": ["q"], "topk": 3, "return_scores": true }));
            "vector-store+http://b/v1/vector_stores/vs" => Question::Words("q"), one,
                ("/search", json!({ "query": "q", "max_num_results": 3, "filters": filter }));
            "qdrant+http://b/notes?vector=v" => Question::Vector(&[1.0]), one,
                ("/points/query", json!({ "query": [1.0], "limit": 3, "with_payload": true, "using": "v", "filter": { "must": [filter] } }));
            "elasticsearch+http://b/notes?text=body" => Question::Words("q"), one,
                ("/_search", json!({ "size": 3, "_source": true, "query": { "bool": { "must": [{ "multi_match": { "query": "q", "fields": ["body"] } }], "filter": [filter] } } }));
            "elasticsearch+http://b/notes?vector=v" => Question::Vector(&[1.0]), &[],
                ("/_search", json!({ "size": 3, "_source": { "excludes": ["v"] }, "knn": { "field": "v", "query_vector": [1.0], "k": 3, "num_candidates": 100, "filter": [] } }));
            "opensearch+http://b/notes?vector=v" => Question::Vector(&[1.0]), &[],
                ("/_search", json!({ "size": 3, "_source": { "excludes": ["v"] }, "query": { "knn": { "v": { "vector": [1.0], "k": 3 } } } }));
        ] {
            assert_eq!(body(address, question, filters), expected, "{address}");
        }
    }

    #[test]
    fn answers_are_read_in_all_their_forms() {
        let plain = json!({ "result": [[{ "id": "d1", "contents": "\"T\"\nText." }]] });
        let scored = json!({ "result": [[
            { "document": { "id": "d1", "contents": "\"T\"\nText." }, "score": 0.5 },
        ]] });
        let texts = json!({ "result": [[{ "document": "\"T\"\nText.", "score": 0.5 }]] });
        let address = "retrieve+http://b/retrieve".parse().unwrap();
        for (answer, score) in [(plain, 0.0), (scored, 0.5), (texts, 0.5)] {
            let record = records(Kind::Retrieve, &answer).unwrap().remove(0);
            let hit = record.hit(&address).unwrap().unwrap();
            has!(hit, passage.title.as_str(): "T", passage.text.as_str(): "Text.", score: score);
        }
        for wrong in [json!({}), json!({ "result": [["t"]] }), json!([1])] {
            assert_eq!(records(Kind::Retrieve, &wrong), None);
        }
        let store = json!({ "data": [{ "file_id": "f", "filename": "n.md", "score": 0.25,
            "attributes": { "a": 1 }, "content": [{ "type": "text", "text": "x" },
            { "type": "text", "text": "y" }] }] });
        let record = records(Kind::VectorStore, &store).unwrap().remove(0);
        has!(record, fields["text"]: "x\ny", document.as_deref(): Some("f"));
    }

    #[test]
    fn lengths_of_vectors_are_read() {
        let named = json!({ "dense": { "size": 4 }, "other": { "size": 8 } });
        let of = |address: &str| vector_size(&address.parse().unwrap(), &named);
        assert_eq!(of("qdrant+http://b/n?vector=other").unwrap(), 8);
        let error = of("qdrant+http://b/n").unwrap_err().to_string();
        assert!(error.ends_with("there are: dense, other"), "{error}");
        let mapping = json!({ "notes-1": { "mappings": { "properties": {
            "m": { "properties": { "v": { "type": "dense_vector", "dims": 4 } } },
            "k": { "type": "knn_vector", "dimension": 8 } } } } });
        let address = "elasticsearch+http://b/notes".parse().unwrap();
        assert_eq!(mapped_size(&address, "m.v", &mapping).unwrap(), 4);
        assert_eq!(mapped_size(&address, "k", &mapping).unwrap(), 8);
        let error = mapped_size(&address, "v", &mapping)
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("there are: k"), "{error}");
    }
}

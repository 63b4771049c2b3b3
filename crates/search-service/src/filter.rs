//! Translating filters of documents into the languages of services.

use ken_corpus::{Comparison, Filter, number_in};
use serde_json::{Value, json};

use crate::kind::Kind;

/// A filter in the language of a service. `key` maps a key of the metadata to its place there.
///
/// # Errors
/// The condition that the service cannot express.
pub(crate) fn translated(
    filter: &Filter,
    kind: Kind,
    key: &dyn Fn(&str) -> String,
) -> Result<Value, String> {
    let all = |filters: &[Filter]| -> Result<Vec<Value>, String> {
        let translations = filters.iter().map(|filter| translated(filter, kind, key));
        translations.collect()
    };
    let unknown = || filter.to_string();
    match (filter, kind) {
        (Filter::All(filters), Kind::VectorStore) => joined("and", &all(filters)?),
        (Filter::Any(filters), Kind::VectorStore) => joined("or", &all(filters)?),
        (Filter::All(filters), Kind::Qdrant) => Some(json!({ "must": all(filters)? })),
        (Filter::Any(filters), Kind::Qdrant) => Some(json!({ "should": all(filters)? })),
        (Filter::Not(inner), Kind::Qdrant) => Some(json!({
            "must_not": [translated(inner, kind, key)?],
        })),
        (Filter::All(filters), Kind::Elasticsearch | Kind::OpenSearch) => {
            Some(json!({ "bool": { "filter": all(filters)? } }))
        }
        (Filter::Any(filters), Kind::Elasticsearch | Kind::OpenSearch) => Some(json!({
            "bool": { "should": all(filters)?, "minimum_should_match": 1 },
        })),
        (Filter::Not(inner), Kind::Elasticsearch | Kind::OpenSearch) => Some(json!({
            "bool": { "must_not": [translated(inner, kind, key)?] },
        })),
        (Filter::Exists { key: name }, Kind::Elasticsearch | Kind::OpenSearch) => {
            Some(json!({ "exists": { "field": key(name) } }))
        }
        (Filter::Exists { key: name }, Kind::Qdrant) => Some(json!({
            "must_not": [{ "is_empty": { "key": key(name) } }],
        })),
        (
            Filter::Compare {
                key: name,
                comparison,
                value,
            },
            _,
        ) => match kind {
            Kind::VectorStore => attribute(&key(name), *comparison, value),
            Kind::Qdrant => payload(&key(name), *comparison, value),
            Kind::Elasticsearch | Kind::OpenSearch => field(&key(name), *comparison, value),
            Kind::Retrieve | Kind::Postgres => None,
        },
        _ => None,
    }
    .ok_or_else(unknown)
}

/// A group of OpenAI's filters.
fn joined(operator: &str, filters: &[Value]) -> Option<Value> {
    Some(json!({ "type": operator, "filters": filters }))
}

/// A comparison of OpenAI's filters.
fn attribute(key: &str, comparison: Comparison, value: &str) -> Option<Value> {
    let operator = match comparison {
        Comparison::Equal => "eq",
        Comparison::NotEqual => "ne",
        Comparison::StartsWith => return None,
        order => bound(order)?,
    };
    Some(json!({ "type": operator, "key": key, "value": typed(value) }))
}

/// A condition of Qdrant.
fn payload(key: &str, comparison: Comparison, value: &str) -> Option<Value> {
    let equal = || {
        let mut any = vec![json!({ "key": key, "match": { "value": value } })];
        match typed(value) {
            Value::Number(number) => {
                any.push(json!({ "key": key, "range": { "gte": number, "lte": number } }));
            }
            Value::Bool(flag) => any.push(json!({ "key": key, "match": { "value": flag } })),
            _ => {}
        }
        json!({ "should": any })
    };
    match comparison {
        Comparison::Equal => Some(equal()),
        Comparison::NotEqual => Some(json!({ "must_not": [equal()] })),
        Comparison::StartsWith => None,
        order => {
            // Qdrant orders only dates among texts.
            let is_date = value.len() >= 10 && value.as_bytes()[4] == b'-';
            let limit = match number_in(value) {
                Some(number) => json!(number),
                None if is_date => json!(value),
                None => return None,
            };
            Some(json!({ "key": key, "range": { bound(order)?: limit } }))
        }
    }
}

/// A query of Elasticsearch, over the field and its default subfield for whole values.
fn field(key: &str, comparison: Comparison, value: &str) -> Option<Value> {
    let either = |query: &dyn Fn(&str) -> Value| {
        let whole = format!("{key}.keyword");
        json!({ "bool": { "should": [query(key), query(&whole)], "minimum_should_match": 1 } })
    };
    let equal = || either(&|field| json!({ "term": { field: { "value": value } } }));
    Some(match comparison {
        Comparison::Equal => equal(),
        Comparison::NotEqual => json!({ "bool": { "must_not": [equal()] } }),
        Comparison::StartsWith => either(&|field| json!({ "prefix": { field: value } })),
        order => {
            let bound = bound(order)?;
            either(&|field| json!({ "range": { field: { bound: value } } }))
        }
    })
}

/// The name of a comparison by order in all these services.
fn bound(comparison: Comparison) -> Option<&'static str> {
    match comparison {
        Comparison::Less => Some("lt"),
        Comparison::LessOrEqual => Some("lte"),
        Comparison::Greater => Some("gt"),
        Comparison::GreaterOrEqual => Some("gte"),
        _ => None,
    }
}

/// A value in JSON: a number or a truth value if it is one, else a text.
fn typed(value: &str) -> Value {
    match serde_json::from_str(value) {
        Ok(typed @ (Value::Number(_) | Value::Bool(_))) => typed,
        _ => Value::String(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(filter: &str, kind: Kind) -> Result<Value, String> {
        let filter: Filter = filter.parse().unwrap();
        translated(&filter, kind, &|key| format!("m.{key}"))
    }

    #[test]
    fn a_vector_store_takes_its_own_operators() {
        let nested = "year >= 2020 AND (lang = en OR draft != true)";
        let expected = json!({ "type": "and", "filters": [
            { "type": "gte", "key": "m.year", "value": 2020 },
            { "type": "or", "filters": [
                { "type": "eq", "key": "m.lang", "value": "en" },
                { "type": "ne", "key": "m.draft", "value": true },
            ] },
        ] });
        assert_eq!(read(nested, Kind::VectorStore), Ok(expected));
        for refused in ["NOT a=b", "EXISTS a", "a^=b"] {
            assert!(read(refused, Kind::VectorStore).is_err(), "{refused}");
            assert!(read(refused, Kind::Retrieve).is_err(), "{refused}");
        }
    }

    #[test]
    fn qdrant_takes_typed_conditions() {
        let equal = json!({ "should": [
            { "key": "m.n", "match": { "value": "5" } },
            { "key": "m.n", "range": { "gte": 5, "lte": 5 } },
        ] });
        assert_eq!(read("n=5", Kind::Qdrant), Ok(equal.clone()));
        assert_eq!(
            read("n!=5", Kind::Qdrant),
            Ok(json!({ "must_not": [equal] }))
        );
        let date = json!({ "key": "m.d", "range": { "lt": "2024-01-31" } });
        assert_eq!(read("d<2024-01-31", Kind::Qdrant), Ok(date));
        assert!(read("d<later", Kind::Qdrant).is_err());
        assert!(read("d^=20", Kind::Qdrant).is_err());
    }

    #[test]
    fn elasticsearch_takes_queries() {
        let prefix = json!({ "bool": { "must_not": [{ "bool": {
            "should": [{ "prefix": { "m.a": "b" } }, { "prefix": { "m.a.keyword": "b" } }],
            "minimum_should_match": 1,
        } }] } });
        assert_eq!(read("NOT a^=b", Kind::Elasticsearch), Ok(prefix));
        let exists = json!({ "exists": { "field": "m.a" } });
        assert_eq!(read("EXISTS a", Kind::OpenSearch), Ok(exists));
    }
}

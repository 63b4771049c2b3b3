//! Conditions on documents as OpenAI's file search has them. All of them have to hold, so of its compound
//! forms those are taken that mean the same as a list of conditions.

use ken_corpus::{Comparison, Filter};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::refusal::Refusal;

/// How deep conditions may stand in one another.
const DEEPEST: usize = 4;

/// A condition, or several.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a comparison, or `and` with a list of them")]
pub(crate) enum GivenFilter {
    /// Several, joined by `and`.
    Compound {
        /// Only `and` is understood.
        #[serde(rename = "type")]
        kind: String,
        /// The conditions.
        filters: Vec<GivenFilter>,
    },
    /// One.
    Comparison {
        /// `eq`, `ne`, `gt`, `gte`, `lt`, `lte` or `nin`.
        #[serde(rename = "type")]
        kind: String,
        /// The key of the metadata.
        key: String,
        /// What its value is compared with.
        value: Value,
    },
}

impl GivenFilter {
    /// The conditions; all have to hold.
    ///
    /// # Errors
    /// A form that is no list of such conditions.
    pub(crate) fn read(&self) -> Result<Vec<Filter>, Refusal> {
        let mut found = Vec::new();
        self.collect(&mut found, 0)?;
        Ok(found)
    }

    fn collect(&self, found: &mut Vec<Filter>, depth: usize) -> Result<(), Refusal> {
        let refused = |message: String| Refusal::bad("invalid_value", message).of("filters");
        match self {
            Self::Compound { kind, filters } if kind == "and" || filters.len() == 1 => {
                if depth == DEEPEST {
                    return Err(refused(format!("they nest deeper than {DEEPEST}")));
                }
                filters
                    .iter()
                    .try_for_each(|filter| filter.collect(found, depth + 1))
            }
            Self::Compound { kind, .. } => Err(refused(format!(
                "conditions are joined by `and` only, not by {kind:?}"
            ))),
            Self::Comparison { kind, key, value } => {
                let comparison = match kind.as_str() {
                    "eq" => Comparison::Equal,
                    "ne" | "nin" => Comparison::NotEqual,
                    "gt" => Comparison::Greater,
                    "gte" => Comparison::GreaterOrEqual,
                    "lt" => Comparison::Less,
                    "lte" => Comparison::LessOrEqual,
                    other => return Err(refused(format!("{other:?} is not understood"))),
                };
                let values = match value {
                    Value::Array(values) if kind == "nin" => values.as_slice(),
                    one => std::slice::from_ref(one),
                };
                for value in values {
                    let value = match value {
                        Value::String(text) => text.clone(),
                        Value::Number(_) | Value::Bool(_) => value.to_string(),
                        _ => return Err(refused(format!("{key:?} is compared with no value"))),
                    };
                    found.push(Filter {
                        key: key.clone(),
                        comparison,
                        value,
                    });
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<Vec<String>, &'static str> {
        let given: GivenFilter = serde_json::from_value(value).unwrap();
        let filters = given.read().map_err(|refusal| refusal.code())?;
        Ok(filters.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn conditions_that_all_hold_are_a_list() {
        let one = json!({"type": "gte", "key": "year", "value": 2020});
        assert_eq!(read(one.clone()).unwrap(), ["year>=2020"]);
        let both = json!({"type": "and", "filters": [
            one, {"type": "nin", "key": "team", "value": ["a", "b"]},
        ]});
        assert_eq!(read(both).unwrap(), ["year>=2020", "team!=a", "team!=b"]);
        let alone =
            json!({"type": "or", "filters": [{"type": "eq", "key": "open", "value": true}]});
        assert_eq!(read(alone).unwrap(), ["open=true"]);
    }

    #[test]
    fn what_means_something_else_is_refused() {
        let one = json!({"type": "eq", "key": "a", "value": 1});
        for refused in [
            json!({"type": "or", "filters": [one, one]}),
            json!({"type": "in", "key": "a", "value": ["x", "y"]}),
            json!({"type": "eq", "key": "a", "value": null}),
            json!({"type": "eq", "key": "a", "value": [1]}),
            (0..9).fold(
                one.clone(),
                |inner, _| json!({"type": "and", "filters": [inner]}),
            ),
        ] {
            assert_eq!(read(refused.clone()), Err("invalid_value"), "{refused}");
        }
    }
}

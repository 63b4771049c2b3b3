//! Conditions on documents in the form of OpenAI's file search.

use ken_corpus::{Comparison, Filter};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::refusal::Refusal;

/// How deeply conditions may be nested.
const DEEPEST: usize = 4;

/// A condition, or several.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a comparison, or `and` or `or` with a list of them"
)]
pub(crate) enum GivenFilter {
    /// Several.
    Compound {
        /// `and` or `or`.
        #[serde(rename = "type")]
        kind: String,
        /// The conditions.
        filters: Vec<GivenFilter>,
    },
    /// One.
    Comparison {
        /// `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in` or `nin`.
        #[serde(rename = "type")]
        kind: String,
        /// The key of the metadata.
        key: String,
        /// What its value is compared with; a list for `in` and `nin`.
        value: Value,
    },
}

impl GivenFilter {
    /// The filter that it means.
    ///
    /// # Errors
    /// An invalid form.
    pub(crate) fn read(&self) -> Result<Filter, Refusal> {
        self.read_at(0)
    }

    fn read_at(&self, depth: usize) -> Result<Filter, Refusal> {
        match self {
            Self::Compound { kind, filters } => {
                if depth == DEEPEST {
                    return Err(refused(format!("they nest deeper than {DEEPEST}")));
                }
                let filters = filters.iter().map(|filter| filter.read_at(depth + 1));
                let filters = filters.collect::<Result<Vec<Filter>, Refusal>>()?;
                match kind.as_str() {
                    "and" => Ok(Filter::All(filters)),
                    "or" => Ok(Filter::Any(filters)),
                    other => Err(refused(format!(
                        "conditions are joined by `and` or `or`, not by {other:?}"
                    ))),
                }
            }
            Self::Comparison { kind, key, value } => {
                let comparison = match kind.as_str() {
                    "eq" => Comparison::Equal,
                    "ne" => Comparison::NotEqual,
                    "gt" => Comparison::Greater,
                    "gte" => Comparison::GreaterOrEqual,
                    "lt" => Comparison::Less,
                    "lte" => Comparison::LessOrEqual,
                    "in" => return one_of(key, value),
                    "nin" => return Ok(Filter::Not(Box::new(one_of(key, value)?))),
                    other => return Err(refused(format!("{other:?} is not understood"))),
                };
                Ok(Filter::Compare {
                    key: key.clone(),
                    comparison,
                    value: compared(key, value)?,
                })
            }
        }
    }
}

fn refused(message: String) -> Refusal {
    Refusal::invalid("filters", message)
}

fn one_of(key: &str, value: &Value) -> Result<Filter, Refusal> {
    let values = match value {
        Value::Array(values) => values.as_slice(),
        one => std::slice::from_ref(one),
    };
    let values = values.iter().map(|value| compared(key, value));
    Ok(Filter::one_of(
        key,
        values.collect::<Result<Vec<String>, Refusal>>()?,
    ))
}

/// A value as filters compare it.
fn compared(key: &str, value: &Value) -> Result<String, Refusal> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        _ => Err(refused(format!("{key:?} is compared with no value"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<String, &'static str> {
        let given: GivenFilter = serde_json::from_value(value).unwrap();
        let filter = given.read().map_err(|refusal| refusal.code())?;
        Ok(filter.to_string())
    }

    #[test]
    fn conditions_are_filters() {
        let one = json!({"type": "gte", "key": "year", "value": 2020});
        assert_eq!(read(one.clone()).unwrap(), "year>=2020");
        let nin = json!({"type": "nin", "key": "team", "value": ["a", "b"]});
        let both = json!({"type": "and", "filters": [one, nin]});
        assert_eq!(
            read(both.clone()).unwrap(),
            "year>=2020 AND NOT (team=a OR team=b)"
        );
        let either = json!({"type": "or", "filters": [both, {"type": "in", "key": "open", "value": [true]}]});
        assert_eq!(
            read(either).unwrap(),
            "(year>=2020 AND NOT (team=a OR team=b)) OR open=true"
        );
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        let one = json!({"type": "eq", "key": "a", "value": 1});
        for refused in [
            json!({"type": "xor", "filters": [one, one]}),
            json!({"type": "like", "key": "a", "value": "x"}),
            json!({"type": "in", "key": "a", "value": ["x", null]}),
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

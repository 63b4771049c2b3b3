//! Pairs of keys and values that clients attach to what they make, within OpenAI's limits.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::refusal::Refusal;

/// The most pairs.
const MOST: usize = 16;

/// The longest key, in characters.
const LONGEST_KEY: usize = 64;

/// The longest text, in characters.
const LONGEST_TEXT: usize = 512;

/// Checks that attributes of a file are few, short, and texts, numbers or booleans.
///
/// # Errors
/// The first attribute that is not.
pub(crate) fn check(attributes: &Map<String, Value>, param: &str) -> Result<(), Refusal> {
    check_keys(attributes.len(), attributes.keys(), param)?;
    attributes.iter().try_for_each(|(key, value)| match value {
        Value::String(text) => check_text(key, text, param),
        Value::Number(_) | Value::Bool(_) => Ok(()),
        _ => {
            let message = format!("the value of {key:?} is no text, number or boolean");
            Err(Refusal::invalid(param, message))
        }
    })
}

/// Checks that metadata are few and short.
///
/// # Errors
/// The first pair that is not.
pub(crate) fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), Refusal> {
    let param = "metadata";
    check_keys(metadata.len(), metadata.keys(), param)?;
    let mut all = metadata.iter();
    all.try_for_each(|(key, text)| check_text(key, text, param))
}

fn check_keys<'a>(
    count: usize,
    keys: impl Iterator<Item = &'a String>,
    param: &str,
) -> Result<(), Refusal> {
    let is_wrong = |key: &&String| key.is_empty() || key.chars().count() > LONGEST_KEY;
    let wrong = keys.into_iter().find(is_wrong);
    let message = match wrong {
        _ if count > MOST => format!("there can be at most {MOST} keys"),
        Some(key) => format!("a key has 1 to {LONGEST_KEY} characters, and {key:?} has not"),
        None => return Ok(()),
    };
    Err(Refusal::invalid(param, message))
}

fn check_text(key: &str, text: &str, param: &str) -> Result<(), Refusal> {
    if text.chars().count() > LONGEST_TEXT {
        let message = format!("the text of {key:?} has more than {LONGEST_TEXT} characters");
        Err(Refusal::invalid(param, message))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(attributes: Value) -> Result<(), Option<String>> {
        let attributes: Map<String, Value> = serde_json::from_value(attributes).unwrap();
        let checked = check(&attributes, "attributes");
        checked.map_err(|refusal| refusal.object().param.clone())
    }

    #[test]
    fn attributes_are_few_short_and_plain() {
        let most: Map<String, Value> = (0..MOST)
            .map(|number| (number.to_string(), json!(number)))
            .collect();
        let (key, text) = ("k".repeat(LONGEST_KEY), "\u{e9}".repeat(LONGEST_TEXT));
        let good = [
            json!({}),
            Value::Object(most.clone()),
            json!({ "a": 1.5, "b": true, (key.clone()): text }),
        ];
        for good in good {
            assert_eq!(checked(good.clone()), Ok(()), "{good}");
        }
        let mut many = most;
        many.insert("x".to_owned(), json!(1));
        for bad in [
            Value::Object(many),
            json!({ (key + "k"): 1 }),
            json!({ "": 1 }),
            json!({ "a": text + "x" }),
            json!({ "a": null }),
            json!({ "a": [1] }),
            json!({ "a": {} }),
        ] {
            assert_eq!(
                checked(bad.clone()),
                Err(Some("attributes".to_owned())),
                "{bad}"
            );
        }
    }
}

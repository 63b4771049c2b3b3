//! JSON of endpoints, read with a bound on how many values it holds: a value takes many times the
//! memory of the two bytes that it may be written in. How deep it may be nested is serde_json's
//! bound of 128.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The most values that an answer may hold: ten times what scoring a prompt of 32,000 tokens, or 64
/// embeddings of 4,096 numbers, take. They take 150 MB at most.
pub(super) const MOST_VALUES: usize = 2 << 20;

/// Why a text is no value.
#[derive(Debug)]
pub(super) enum Unread {
    /// It has more than [`MOST_VALUES`].
    TooMany,
    /// It is not JSON.
    NotJson(serde_json::Error),
}

/// The value of a text.
pub(super) fn parse(text: &str) -> Result<Value, Unread> {
    parse_within(text, MOST_VALUES)
}

fn parse_within(text: &str, most: usize) -> Result<Value, Unread> {
    let counted = Counted {
        left: &Cell::new(Some(most)),
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = counted.deserialize(&mut reader);
    match value.and_then(|value| reader.end().map(|()| value)) {
        Ok(value) => Ok(value),
        Err(_) if counted.left.get().is_none() => Err(Unread::TooMany),
        Err(error) => Err(Unread::NotJson(error)),
    }
}

/// How many values may still come; `None` once there were too many.
#[derive(Clone, Copy)]
struct Counted<'a> {
    left: &'a Cell<Option<usize>>,
}

impl<'de> DeserializeSeed<'de> for Counted<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.left.get().and_then(|left| left.checked_sub(1));
        self.left.set(left);
        match left {
            Some(_) => deserializer.deserialize_any(self),
            None => Err(D::Error::custom("too many values")),
        }
    }
}

impl<'de> Visitor<'de> for Counted<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = entries.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            values.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_those_of_serde_json() {
        for text in [
            r#"{"a": [1, -2, 3.5, 1e300, "x\n", null, true, {}], "a": {"b": []}}"#,
            "18446744073709551616",
            " 7 ",
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse(text).unwrap(), expected);
        }
        for text in ["", "[1", "1 2", "{\"a\"}", "1e999"] {
            assert!(matches!(parse(text), Err(Unread::NotJson(_))), "{text}");
        }
    }

    #[test]
    fn too_many_values_and_too_deep_ones_are_refused() {
        assert!(parse_within("[1, 2]", 3).is_ok());
        assert!(matches!(parse_within("[1, 2]", 2), Err(Unread::TooMany)));
        let many = format!("[{}1]", "1,".repeat(MOST_VALUES));
        assert!(matches!(parse(&many), Err(Unread::TooMany)));
        let deep = "[".repeat(100_000);
        assert!(matches!(parse(&deep), Err(Unread::NotJson(_))));
        let deep = "{\"a\":".repeat(100_000);
        assert!(matches!(parse(&deep), Err(Unread::NotJson(_))));
    }

    proptest! {
        #[test]
        fn any_text_is_read_as_serde_json_reads_it(text in "[\\[\\]{}:,\"a1.eE+\\-\\\\ tn]{0,40}") {
            prop_assert_eq!(parse(&text).ok(), serde_json::from_str::<Value>(&text).ok());
        }
    }
}

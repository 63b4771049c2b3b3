//! JSON from endpoints, parsed with a limit on the number of its values, since a value takes many times the memory of
//! the two bytes that it may be written in. serde_json itself limits nesting to 128.

use serde_json::Value;

/// The most values of a response: ten times as many as scoring a prompt of 32,000 tokens, or 64 embeddings of 4,096
/// numbers, need. They take 150 MB at most.
pub(super) const MAX_VALUES: usize = 2 << 20;

/// Why a text was not parsed.
#[derive(Debug)]
pub(super) enum ParseError {
    /// It has more than [`MAX_VALUES`].
    TooMany,
    /// It is not JSON.
    NotJson(serde_json::Error),
}

/// Parses a text.
pub(super) fn parse(text: &str) -> Result<Value, ParseError> {
    parse_within(text, MAX_VALUES)
}

fn parse_within(text: &str, limit: usize) -> Result<Value, ParseError> {
    match count_values(text) > limit {
        true => Err(ParseError::TooMany),
        false => serde_json::from_str(text).map_err(ParseError::NotJson),
    }
}

/// The number of values in a JSON text, nested ones included; if it is not JSON, at least as many as a parser meets
/// before it fails.
fn count_values(text: &str) -> usize {
    let (mut values, mut in_string, mut escaped, mut after_open) = (1, false, false, false);
    for byte in text.bytes() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            b',' => values += 1,
            // The first value of an array or object follows no comma.
            _ if after_open && !matches!(byte, b']' | b'}') => values += 1,
            _ => {}
        }
        in_string = byte == b'"';
        after_open = matches!(byte, b'[' | b'{');
    }
    values
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_that_is_not_json_is_refused() {
        for text in ["", "[1", "1 2", "{\"a\"}", "1e999"] {
            assert!(matches!(parse(text), Err(ParseError::NotJson(_))), "{text}");
        }
    }

    #[test]
    fn values_are_counted() {
        for (text, values) in cases![
            " 7 " => 1;
            "[]" => 1;
            "{ }" => 1;
            "[1, 2]" => 3;
            "[[], {}, [[]]]" => 5;
            r#"{"a, [\"": [1, -2, "x, [\\", null, {}], "b": {"c": []}}"# => 9;
        ] {
            assert_eq!(count_values(text), values, "{text}");
        }
    }

    #[test]
    fn too_many_values_and_too_deep_ones_are_refused() {
        assert!(parse_within("[1, 2]", 3).is_ok());
        assert!(matches!(
            parse_within("[1, 2]", 2),
            Err(ParseError::TooMany)
        ));
        let many = format!("[{}1]", "1,".repeat(MAX_VALUES));
        assert!(matches!(parse(&many), Err(ParseError::TooMany)));
        for deep in ["[".repeat(100_000), "{\"a\":".repeat(100_000)] {
            assert!(matches!(parse(&deep), Err(ParseError::NotJson(_))));
        }
    }

    fn size(value: &Value) -> usize {
        match value {
            Value::Array(values) => 1 + values.iter().map(size).sum::<usize>(),
            Value::Object(values) => 1 + values.values().map(size).sum::<usize>(),
            _ => 1,
        }
    }

    proptest! {
        #[test]
        fn no_value_goes_uncounted(text in "[\\[\\]{}:,\"a1.eE+\\-\\\\ tn]{0,40}") {
            if let Ok(value) = parse(&text) {
                // If a key occurs twice, the last value is kept.
                prop_assert!(size(&value) <= count_values(&text));
            }
        }
    }
}

//! The format that a client wants an answer in: `response_format` of chat completions, and `text.format` of responses.

use ken_language::OutputSchema;
use serde_json::{Value, json};

use super::refusal::Refusal;

/// The schema that the answer has to fulfil; `None` for plain text.
///
/// # Errors
/// An unknown type, a schema that is no object. `param` is where the client wrote it.
pub(crate) fn read(format: Option<&Value>, param: &str) -> Result<Option<OutputSchema>, Refusal> {
    let Some(format) = format.filter(|format| !format.is_null()) else {
        return Ok(None);
    };
    let schema = match format["type"].as_str() {
        Some("text") => return Ok(None),
        Some("json_object") => Some(json!({"type": "object"})),
        Some("json_schema") => {
            let named = format.get("json_schema").unwrap_or(format);
            named.get("schema").cloned()
        }
        _ => None,
    };
    match schema {
        Some(schema @ Value::Object(_)) => Ok(Some(OutputSchema::new(schema))),
        _ => {
            let message = "the type has to be `text`, `json_object`, or `json_schema` with a `schema` that is an object";
            Err(Refusal::bad("unsupported_parameter", message).of(param))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_both_apis_are_read() {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let of = |format: Value| read(Some(&format), "response_format");
        for format in [
            json!({"type": "json_schema", "json_schema": {"name": "x", "strict": true, "schema": schema}}),
            json!({"type": "json_schema", "name": "x", "schema": schema}),
        ] {
            let read = of(format).unwrap().unwrap();
            assert_eq!(read.as_json()["properties"], schema["properties"]);
        }
        let any = of(json!({"type": "json_object"})).unwrap().unwrap();
        assert_eq!(any.as_json()["type"], "object");
        assert_eq!(of(json!({"type": "text"})).unwrap(), None);
        assert_eq!(of(Value::Null).unwrap(), None);
        for wrong in [
            json!(3),
            json!({"type": "grammar"}),
            json!({"type": "json_schema"}),
            json!({"type": "json_schema", "json_schema": {"schema": true}}),
        ] {
            assert_eq!(of(wrong).unwrap_err().code(), "unsupported_parameter");
        }
    }
}

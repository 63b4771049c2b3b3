//! The format that a client wants an answer in: `response_format` of chat completions, and `text.format` of responses.

use ken_language::OutputSchema;
use serde_json::Value;

use super::refusal::Refusal;

/// The schema that the answer has to fulfil; `None` for plain text.
///
/// # Errors
/// An unknown type, a schema that is not an object. `param` is where the client wrote it.
pub(crate) fn read(format: Option<&Value>, param: &str) -> Result<Option<OutputSchema>, Refusal> {
    let format = format.filter(|format| !format.is_null());
    let schema = format.map(OutputSchema::of_format).transpose();
    schema
        .map(Option::flatten)
        .map_err(|error| Refusal::bad("unsupported_parameter", error.to_string()).of(param))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

//! JSON schemas in words: the kind of a value, and the fields of an object as a table. It knows only what the
//! server's description uses.

use serde_json::Value;

/// The description of a schema's object, then its fields or its choices.
pub(super) fn described(schema: &Value) -> String {
    let mut text = String::new();
    if schema["description"].is_string() {
        text.push_str(&format!("{}\n", cell(&schema["description"])));
    }
    if let Some(fields) = schema["properties"].as_object().filter(|f| !f.is_empty()) {
        let required = |name: &str| {
            let names = schema["required"].as_array();
            names.is_some_and(|names| names.iter().any(|required| required == name))
        };
        text.push_str("\n| field | kind | what it says |\n|---|---|---|\n");
        for (name, field) in fields {
            let need = if required(name) { ", required" } else { "" };
            let (kind, says) = (kind(field), says(field));
            text.push_str(&format!("| `{name}` | {kind}{need} | {says} |\n"));
        }
    }
    let choices = choices(schema);
    if !choices.is_empty() {
        text.push('\n');
    }
    for choice in choices {
        text.push_str(&format!("- {}: {}\n", kind(choice), says(choice)));
    }
    text
}

/// A field's description, and its default if it has one.
fn says(field: &Value) -> String {
    let description = cell(&field["description"]);
    match &field["default"] {
        Value::Null => description,
        default => format!("{description} Default: `{default}`."),
    }
}

/// The kind of a value: `list of string`, `integer or null`, a link to an object.
pub(super) fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        return format!("[{name}](#{})", anchor(name));
    }
    if !schema["const"].is_null() {
        return format!("`{}`", schema["const"]);
    }
    if let Some(values) = schema["enum"].as_array() {
        return joined(values.iter().map(|value| format!("`{value}`")));
    }
    let choices = choices(schema);
    if !choices.is_empty() {
        return joined(choices.iter().map(kind));
    }
    match &schema["type"] {
        Value::String(name) => of_type(name, schema),
        Value::Array(names) => joined(
            names
                .iter()
                .filter_map(Value::as_str)
                .map(|name| of_type(name, schema)),
        ),
        _ => "any".to_owned(),
    }
}

fn of_type(name: &str, schema: &Value) -> String {
    match name {
        "array" => format!("list of {}", kind(&schema["items"])),
        "object" => match schema["properties"].as_object() {
            Some(fields) => {
                let names: Vec<String> = fields.keys().map(|name| format!("`{name}`")).collect();
                format!("object with {}", names.join(", "))
            }
            None => "object".to_owned(),
        },
        name => name.to_owned(),
    }
}

fn choices(schema: &Value) -> &[Value] {
    let choices = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| schema[key].as_array());
    choices.map_or(&[], Vec::as_slice)
}

fn joined(kinds: impl Iterator<Item = String>) -> String {
    kinds.collect::<Vec<_>>().join(" or ")
}

/// The anchor of an object's section.
pub(super) fn anchor(name: &str) -> String {
    name.to_lowercase()
}

/// A text as a cell of a table: one line, without bars of its own.
pub(super) fn cell(text: &Value) -> String {
    let text = text.as_str().unwrap_or_default();
    text.replace('\n', " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_are_told_in_words() {
        let reference = json!({"$ref": "#/components/schemas/Said"});
        for (schema, expected) in [
            (
                json!({"type": "array", "items": reference}),
                "list of [Said](#said)",
            ),
            (json!({"type": ["integer", "null"]}), "integer or null"),
            (
                json!({"anyOf": [reference, {"type": "null"}]}),
                "[Said](#said) or null",
            ),
            (
                json!({"oneOf": [{"const": "a"}, {"const": "b"}]}),
                "`\"a\"` or `\"b\"`",
            ),
            (json!({"enum": ["a", "b"]}), "`\"a\"` or `\"b\"`"),
            (
                json!({"type": "object", "properties": {"x": {}}}),
                "object with `x`",
            ),
            (json!({"description": "…"}), "any"),
        ] {
            assert_eq!(kind(&schema), expected);
        }
    }

    #[test]
    fn an_object_is_a_table() {
        let schema = json!({
            "description": "A question.",
            "properties": {
                "question": {"type": "string", "description": "The words\nas | asked."},
                "k": {"type": "integer", "description": "Passages.", "default": 5},
            },
            "required": ["question"],
        });
        let expected = "A question.\n\n| field | kind | what it says |\n|---|---|---|\n\
            | `question` | string, required | The words as \\| asked. |\n\
            | `k` | integer | Passages. Default: `5`. |\n";
        assert_eq!(described(&schema), expected);
    }
}

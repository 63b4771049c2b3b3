//! Tool calls in a model's output. Families mark them differently, and small models omit the marks.

use serde_json::{Map, Value, json};

use super::request::name_of;

/// Tags around a call by Qwen, Hermes and SmolLM3.
pub(super) const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// Marks before a list of calls: Mistral's, and Phi-4's and Granite's.
const LIST_MARKS: [&str; 2] = ["[TOOL_CALLS]", "<|tool_call|>"];

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolCall {
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// How a model writes calls, according to its chat template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallFormat {
    /// Each between tags.
    Tagged,
    /// As plain JSON, with this key of the arguments.
    Json { arguments: &'static str },
}

impl CallFormat {
    /// The format that a template asks for; `None` if it does not support tools.
    pub(super) fn of(template: &str) -> Option<Self> {
        let has = |text: &str| template.contains(text);
        match (has("tools"), has(OPEN)) {
            (false, _) => None,
            (true, true) => Some(Self::Tagged),
            (true, false) if has("\"parameters\"") && !LIST_MARKS.into_iter().any(has) => {
                Some(Self::Json {
                    arguments: "parameters",
                })
            }
            (true, false) => Some(Self::Json {
                arguments: "arguments",
            }),
        }
    }

    /// The text before a call's JSON.
    pub(super) fn beginning(self) -> &'static str {
        match self {
            Self::Tagged => "<tool_call>\n",
            Self::Json { .. } => "",
        }
    }

    /// The schema of the JSON of a call of any of these tools.
    pub(super) fn schema(self, tools: &[Value]) -> Value {
        let key = match self {
            Self::Tagged => "arguments",
            Self::Json { arguments } => arguments,
        };
        let mut schema = json!({});
        let mut schemas = Vec::with_capacity(tools.len());
        for tool in tools {
            let own = tool.pointer("/function/parameters");
            let mut parameters = own.filter(|own| own.is_object()).cloned();
            // References start at the root.
            for shared in ["$defs", "definitions"] {
                let own = parameters.as_mut().and_then(Value::as_object_mut);
                let own = own.and_then(|own| own.shift_remove(shared));
                for (name, definition) in own.iter().filter_map(Value::as_object).flatten() {
                    schema[shared][name] = definition.clone();
                }
            }
            let parameters = parameters.unwrap_or_else(|| json!({"type": "object"}));
            schemas.push(json!({
                "type": "object",
                "properties": {"name": {"const": name_of(tool)}, key: parameters},
                "required": ["name", key],
                "additionalProperties": false,
            }));
        }
        schema["anyOf"] = Value::Array(schemas);
        schema
    }
}

/// Splits a model's output into its text and the calls of these tools.
pub(super) fn parted(written: &str, tools: &[Value]) -> (String, Vec<ToolCall>) {
    let mut calls = Vec::new();
    let mut text = String::new();
    let mut rest = written;
    while let Some((before, inside)) = rest.split_once(OPEN) {
        let (call, after) = inside.split_once(CLOSE).unwrap_or((inside, ""));
        match read(call, tools) {
            Some(read) => {
                text.push_str(before);
                calls.extend(read);
            }
            // Not a call, so it belongs to the text.
            None => text.push_str(&rest[..rest.len() - after.len()]),
        }
        rest = after;
    }
    text.push_str(rest);
    if calls.is_empty()
        && let Some(read) = read(&text, tools)
    {
        return (String::new(), read);
    }
    match calls.is_empty() {
        true => (text, calls),
        false => (text.trim().to_owned(), calls),
    }
}

/// Whether a text that begins like this may turn out to be a call without tags.
pub(super) fn may_be_call(begun: &str) -> bool {
    let begun = begun.trim_start();
    begun.is_empty() || begun.starts_with(['{', '[', '`', '<'])
}

/// The calls in a text that is only JSON, of one or of several, with a mark or in a code block.
fn read(text: &str, tools: &[Value]) -> Option<Vec<ToolCall>> {
    let mut text = text.trim();
    for mark in LIST_MARKS {
        text = text.strip_prefix(mark).unwrap_or(text).trim();
    }
    if let Some(block) = text
        .strip_prefix("```")
        .and_then(|text| text.strip_suffix("```"))
    {
        text = block.strip_prefix("json").unwrap_or(block).trim();
    }
    // Qwen's template writes its example like this, and small models copy it.
    if text.starts_with("{{") && text.ends_with("}}") {
        text = &text[1..text.len() - 1];
    }
    let written = match serde_json::from_str(text) {
        Ok(Value::Array(several)) => several,
        Ok(one) => vec![one],
        Err(_) => return None,
    };
    let calls: Option<Vec<ToolCall>> = written.iter().map(|call| call_of(call, tools)).collect();
    calls.filter(|calls| !calls.is_empty())
}

fn call_of(written: &Value, tools: &[Value]) -> Option<ToolCall> {
    let written = written
        .get("function")
        .filter(|call| call.is_object())
        .unwrap_or(written);
    let name = written.get("name")?.as_str()?;
    tools.iter().find(|tool| name_of(tool) == Some(name))?;
    let given = ["arguments", "parameters"]
        .iter()
        .find_map(|key| written.get(*key));
    let arguments = match given {
        Some(Value::String(text)) => serde_json::from_str(text).ok()?,
        Some(arguments) => arguments.clone(),
        None => Value::Object(Map::new()),
    };
    arguments.is_object().then(|| ToolCall {
        name: name.to_owned(),
        arguments,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Vec<Value> {
        vec![json!({"type": "function", "function": {"name": "weather"}})]
    }

    #[test]
    fn calls_are_read_in_each_form() {
        let call = r#"{"name": "weather", "arguments": {"city": "Oslo"}}"#;
        for written in [
            format!("<tool_call>\n{call}\n</tool_call>"),
            format!("<tool_call>{call}"),
            format!("[TOOL_CALLS] [{call}]"),
            format!("<|tool_call|>[{call}]"),
            format!("```json\n{call}\n```"),
            call.to_owned(),
            call.replace("arguments", "parameters"),
            format!("{{{call}}}"),
            r#"{"type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}"#.to_owned(),
        ] {
            let (said, calls) = parted(&written, &tools());
            let expected = ToolCall {
                name: "weather".to_owned(),
                arguments: json!({"city": "Oslo"}),
            };
            assert_eq!((said.as_str(), calls), ("", vec![expected]), "{written}");
        }
        let two =
            format!("Let me look.\n<tool_call>{call}</tool_call>\n<tool_call>{call}</tool_call>");
        let (said, calls) = parted(&two, &tools());
        assert_eq!((said.as_str(), calls.len()), ("Let me look.", 2));
    }

    #[test]
    fn what_is_no_call_is_said() {
        for written in [
            "It is cold.",
            r#"{"name": "ada", "arguments": {}}"#,
            r#"{"city": "Oslo"}"#,
            "Use <tool_call> and </tool_call> for it.",
            "<tool_call>{\"name\": </tool_call>",
            "[]",
            "",
        ] {
            assert_eq!(parted(written, &tools()), (written.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn templates_say_how_calls_are_written() {
        let of = CallFormat::of;
        assert_eq!(of("{{ messages }}"), None);
        assert_eq!(of("{% if tools %}<tool_call>"), Some(CallFormat::Tagged));
        let json = |arguments| Some(CallFormat::Json { arguments });
        assert_eq!(
            of("{% if tools %}{\"name\": f, \"parameters\": x}"),
            json("parameters")
        );
        assert_eq!(
            of("{% if tools %}[TOOL_CALLS] \"parameters\""),
            json("arguments")
        );
    }
}

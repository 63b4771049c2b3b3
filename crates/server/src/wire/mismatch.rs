//! Why a body does not have the form that is expected, and in which of its values: the parser says only at which byte.

use serde_json::Error;

use super::refusal::Refusal;

/// The refusal of a body in JSON that a parser could not take.
pub(super) fn refusal(body: &[u8], error: &Error) -> Refusal {
    let reason = reason(error);
    let read = read_of(body, error);
    // A value that may be one of several kinds is judged when the end of the object around it is read.
    let is_of_object = reason.starts_with("missing field");
    let in_object = read.strip_suffix(b"}").filter(|_| !is_of_object);
    let mut param = path(in_object.unwrap_or(read));
    // These stand at the object around the field.
    let fields = ["missing field `", "unknown field `", "duplicate field `"];
    let field = fields.iter().find_map(|start| reason.strip_prefix(*start));
    if let Some((field, _)) = field.and_then(|rest| rest.split_once('`')) {
        let dot = if param.is_empty() { "" } else { "." };
        param += &format!("{dot}{field}");
    }
    match param.is_empty() {
        true => Refusal::bad(
            "invalid_value",
            format!("the body is not as expected: {reason}"),
        ),
        false => Refusal::invalid(&param, format!("`{param}`: {reason}")),
    }
}

/// The parser's reason without its place, and with kinds of JSON in place of Rust's types.
fn reason(error: &Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = error.to_string();
    let message = message.strip_suffix(place.as_str()).unwrap_or(&message);
    let Some((given, expected)) = message.rsplit_once("expected ") else {
        return message.to_owned();
    };
    let expected = match expected {
        "usize" | "u64" | "u32" => "a whole number from 0",
        "i64" => "a whole number",
        "f64" | "f32" => "a number",
        name if name.starts_with("struct ") => "an object",
        known => known,
    };
    format!("{given}expected {expected}")
}

/// What the parser had read when it stopped.
fn read_of<'b>(body: &'b [u8], error: &Error) -> &'b [u8] {
    let lines = body.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    let end = before.saturating_add(error.column()).min(body.len());
    &body[..end]
}

/// An object or a list that is open, with the place of its current value.
enum Open {
    Object(Option<String>),
    List(usize),
}

/// The path, such as `messages[0].content`, of the value with which the start of a text in JSON ends; empty for the
/// outermost.
fn path(start: &[u8]) -> String {
    let mut open: Vec<Open> = Vec::new();
    let mut text = Vec::new();
    let (mut in_text, mut is_escaped) = (false, false);
    for byte in start.iter().copied() {
        if in_text {
            in_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            text.extend(in_text.then_some(byte));
            continue;
        }
        match byte {
            b'"' => {
                in_text = true;
                text.clear();
            }
            b'{' => open.push(Open::Object(None)),
            b'[' => open.push(Open::List(0)),
            b'}' | b']' => {
                open.pop();
            }
            b':' | b',' => match open.last_mut() {
                Some(Open::Object(key)) => {
                    let named = || String::from_utf8_lossy(&text).into_owned();
                    *key = (byte == b':').then(named);
                }
                Some(Open::List(index)) => *index += 1,
                None => {}
            },
            _ => {}
        }
    }
    let mut path = String::new();
    for place in open {
        match place {
            Open::Object(Some(key)) if path.is_empty() => path = key,
            Open::Object(Some(key)) => path += &format!(".{key}"),
            Open::Object(None) => {}
            Open::List(index) => path += &format!("[{index}]"),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;

    use super::*;
    use crate::wire::body::value;
    use crate::wire::chat::ChatRequest;

    #[test]
    fn a_path_leads_to_the_last_value() {
        for (start, expected) in [
            ("", ""),
            ("{", ""),
            (r#"{"a""#, ""),
            (r#"{"a":"#, "a"),
            (r#"{"a": 1, "#, ""),
            (r#"{"a": {"b:,{": [1, {"c": "#, "a.b:,{[1].c"),
            (r#"{"a": {"b": 1}"#, "a"),
            (r#"{"a": ["x\"]", {}], "d": "\\"#, "d"),
            ("}]:,", ""),
        ] {
            assert_eq!(path(start.as_bytes()), expected, "{start}");
        }
    }

    #[test]
    fn a_mismatch_names_its_value() {
        for (body, param, reason) in cases![
            r#"{"model": 5}"# => Some("model"), "`model`: invalid type: integer `5`, expected a string";
            "{\"model\": \"ken\",\n\"messages\": []\n, \"max_tokens\": -1}" =>
                Some("max_tokens"), "expected a whole number from 0";
            r#"{"model": "ken", "messages": [{"role": "user"}, {"content": "x"}]}"# =>
                Some("messages[1].role"), "missing field `role`";
            r#"{"model": "ken", "messages": [{"role": "robot"}]}"# =>
                Some("messages[0].role"), "unknown variant `robot`";
            r#"{"model": "ken", "messages": [{"role": "user", "content": 3}]}"# =>
                Some("messages[0].content"), "a text or a list of parts";
            r#"{"messages": []}"# => Some("model"), "missing field `model`";
            r#"{"model": "ken", "model": "x"}"# => Some("model"), "duplicate field `model`";
            r#"{"model": "ken", "ken": {"kk": 1}}"# => Some("ken.kk"), "unknown field `kk`";
            "3" => None, "the body is not as expected: invalid type: integer `3`, expected an object";
        ] {
            let refused = value::<ChatRequest>(body.as_bytes()).unwrap_err();
            assert_eq!(refused.code(), "invalid_value", "{body}");
            assert_eq!(refused.object().param.as_deref(), param, "{body}");
            assert!(refused.message().contains(reason), "{}", refused.message());
        }
    }
}

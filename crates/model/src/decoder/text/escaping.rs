//! Escaping special tokens in the texts of people and documents: each is marked before the chat template is filled
//! in, so that it is read as ordinary text and only the template's own tokens are markup.

use serde_json::Value;

use crate::decoder::error::DecoderError;
use crate::decoder::text::tokenizer::{Reading, TextTokenizer};

/// Enclose a special token in a message. Unicode reserves both as noncharacters.
const OPEN: char = '\u{fdd0}';
const CLOSE: char = '\u{fdd1}';

/// A text with its special tokens escaped.
pub(in crate::decoder) fn escaped(
    text: &str,
    tokenizer: &TextTokenizer,
) -> Result<String, DecoderError> {
    let text = text.replace([OPEN, CLOSE], "");
    let mut escaped = String::with_capacity(text.len());
    let mut copied = 0;
    for span in tokenizer.special_spans(&text)? {
        escaped.push_str(&text[copied..span.start]);
        escaped.push(OPEN);
        escaped.push_str(&text[span.clone()]);
        escaped.push(CLOSE);
        copied = span.end;
    }
    escaped.push_str(&text[copied..]);
    Ok(escaped)
}

/// A value with the special tokens of all its texts escaped.
pub(in crate::decoder) fn escaped_value(
    value: &Value,
    tokenizer: &TextTokenizer,
) -> Result<Value, DecoderError> {
    Ok(match value {
        Value::String(text) => Value::String(escaped(text, tokenizer)?),
        Value::Array(values) => {
            let values = values.iter().map(|value| escaped_value(value, tokenizer));
            Value::Array(values.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                Ok((escaped(name, tokenizer)?, escaped_value(value, tokenizer)?))
            });
            Value::Object(fields.collect::<Result<_, DecoderError>>()?)
        }
        other => other.clone(),
    })
}

/// The token ids of a text with markup: special tokens are read as tokens, except escaped ones.
pub(in crate::decoder) fn encode(
    text: &str,
    tokenizer: &TextTokenizer,
) -> Result<Vec<u32>, DecoderError> {
    let mut tokens = Vec::new();
    for (part, reading) in parts(text) {
        if !part.is_empty() {
            tokens.extend(tokenizer.encode(part, reading, false)?);
        }
    }
    Ok(tokens)
}

/// The text cut at the marks, each part with how to read it.
fn parts(text: &str) -> Vec<(&str, Reading)> {
    let (before, mut rest) = text.split_once(OPEN).unwrap_or((text, ""));
    let mut parts = vec![(before, Reading::Markup)];
    while !rest.is_empty() {
        let (inside, after) = rest.split_once(CLOSE).unwrap_or((rest, ""));
        let (outside, next) = after.split_once(OPEN).unwrap_or((after, ""));
        parts.extend([(inside, Reading::Plain), (outside, Reading::Markup)]);
        rest = next;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_escaped_is_plain() {
        let text = format!("<a>x{OPEN}<b>{CLOSE}{OPEN}<c>{CLOSE}y");
        assert_eq!(
            parts(&text),
            [
                ("<a>x", Reading::Markup),
                ("<b>", Reading::Plain),
                ("", Reading::Markup),
                ("<c>", Reading::Plain),
                ("y", Reading::Markup),
            ]
        );
        assert_eq!(parts("<a>"), [("<a>", Reading::Markup)]);
        assert_eq!(parts(""), [("", Reading::Markup)]);
    }
}

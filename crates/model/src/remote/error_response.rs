//! Parses error responses in the formats of common servers: why a request was refused, because of which parameter,
//! and whether the prompt was too long.

use serde_json::Value;

/// The parts of an error response.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) message: String,
    /// Its code and its type, if they are words.
    names: Vec<String>,
    /// The parameter at fault.
    pub(super) param: Option<String>,
    /// The status in its body, as in an error within a stream.
    status: Option<u16>,
}

/// Codes and types that servers use for a prompt that is too long.
const TOO_LONG_NAMES: [&str; 7] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "context_window_exceeded",
    "string_above_max_length",
    "prompt_too_long",
    "input_too_long",
    "request_too_large",
];

/// Codes and types that servers use for an account without credit.
const QUOTA_NAMES: [&str; 3] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
];

/// Phrases that servers use for a prompt that is too long.
const TOO_LONG_WORDS: [&str; 22] = [
    "context length",
    "context size",
    "context window",
    "context limit",
    "context_length",
    "maximum model length",
    "max_model_len",
    "maximum input length",
    "max_input_len",
    "max_seq_len",
    "maximum sequence length",
    "maximum number of tokens allowed",
    "maximum allowed length",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "input is too large",
    "too many tokens",
    "`inputs` tokens + `max_new_tokens`",
    "`inputs` must have less than",
    "reduce the length of the",
];

impl Refused {
    /// Parses the body of a response.
    pub(super) fn read(text: &str) -> Self {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        let error = error_in(&value).filter(|error| error.is_object());
        let field = |name: &str| error.and_then(|error| error.get(name)).or(value.get(name));
        let names = ["code", "type", "error_type"];
        let names = names.iter().filter_map(|name| field(name)?.as_str());
        let status = field("code").and_then(Value::as_u64);
        Self {
            message: message(text, &value),
            names: names.map(str::to_lowercase).collect(),
            param: field("param")
                .and_then(Value::as_str)
                .or_else(|| located(&value))
                .map(str::to_owned),
            status: status
                .and_then(|code| u16::try_from(code).ok())
                .filter(|code| (400..600).contains(code)),
        }
    }

    /// The status of the response, or the one that an error within a response of status 200 stands for.
    pub(super) fn status(&self, status: u16) -> u16 {
        match status {
            200..=299 => self.status.unwrap_or_else(|| {
                if self.is_named(&["rate_limit_error", "rate_limit_exceeded"]) {
                    429
                } else if self.is_named(&["invalid_request_error", "badrequesterror"]) {
                    400
                } else if self.is_named(&["overloaded_error", "unavailable_error"]) {
                    503
                } else {
                    500
                }
            }),
            status => status,
        }
    }

    /// Whether the account has no credit left, so that waiting is useless.
    pub(super) fn is_about_quota(&self, status: u16) -> bool {
        self.status(status) == 402 || self.is_named(&QUOTA_NAMES)
    }

    /// Whether its code or its type is one of these.
    fn is_named(&self, names: &[&str]) -> bool {
        self.names.iter().any(|own| names.contains(&own.as_str()))
    }

    /// Whether the prompt is too long. A limit on tokens per time is not about its length.
    pub(super) fn is_about_length(&self, status: u16) -> bool {
        let message = self.message.to_lowercase();
        let mut words = TOO_LONG_WORDS.iter();
        match status {
            413 => true,
            200..=299 | 400 | 422 | 500 => {
                self.is_named(&TOO_LONG_NAMES) || words.any(|words| message.contains(words))
            }
            _ => false,
        }
    }
}

/// The error that a response states, or its first choice, where a gateway tells that the server behind it failed.
pub(super) fn error_in(response: &Value) -> Option<&Value> {
    let mut errors = ["/error", "/choices/0/error"].iter();
    errors.find_map(|path| response.pointer(path).filter(|error| !error.is_null()))
}

/// The parameter that a validator found at fault: the last name in the first location that it reports.
fn located(value: &Value) -> Option<&str> {
    let place = value.pointer("/detail/0/loc")?.as_array()?;
    place.iter().rev().find_map(Value::as_str)
}

fn message(text: &str, value: &Value) -> String {
    if text.trim().is_empty() {
        return "(it does not say why)".to_owned();
    }
    if text.trim_start().starts_with('<') {
        return "(a web page)".to_owned();
    }
    let places = [
        "/error/message",
        "/choices/0/error/message",
        "/error",
        "/choices/0/error",
        "/message",
        "/detail",
    ];
    let message = places
        .iter()
        .find_map(|path| value.pointer(path).filter(|value| !value.is_null()));
    match message {
        Some(Value::String(message)) => message.clone(),
        Some(other) => other.to_string(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;

    use super::*;

    #[test]
    fn the_message_is_found() {
        for (body, words) in cases![
            r#"{"error": {"message": "bad key", "code": 1}}"# => "bad key";
            r#"{"error": "no such model"}"# => "no such model";
            r#"{"error": null, "choices": [{"error": {"message": "no provider"}}]}"# => "no provider";
            r#"{"object": "error", "message": "n must be 1"}"# => "n must be 1";
            r#"{"detail": [{"loc": ["body", "n"]}]}"# => r#"[{"loc":["body","n"]}]"#;
            "plain words" => "plain words";
            "<html>" => "(a web page)";
            "" => "(it does not say why)";
        ] {
            assert_eq!(Refused::read(body).message, words);
        }
    }

    #[test]
    fn the_parameter_is_found() {
        for (body, param) in cases![
            r#"{"error": {"message": "m", "param": "top_p"}}"# => Some("top_p");
            r#"{"message": "m", "param": "seed"}"# => Some("seed");
            r#"{"detail": [{"loc": ["body", "stop", 0]}]}"# => Some("stop");
            r#"{"error": {"message": "m", "param": null}}"# => None;
            "no" => None;
        ] {
            assert_eq!(Refused::read(body).param.as_deref(), param, "{body}");
        }
    }

    #[test]
    fn a_prompt_that_is_too_long_is_known_by_codes_and_by_words() {
        for body in [
            // llama-server, OpenAI, Anthropic.
            r#"{"error": {"code": 400, "message": "m", "type": "exceed_context_size_error"}}"#,
            r#"{"error": {"message": "m", "code": "context_length_exceeded"}}"#,
            r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 205000 tokens > 200000 maximum"}}"#,
            // vLLM.
            r#"{"object": "error", "message": "This model's maximum context length is 8 tokens. However, you requested 20."}"#,
            r#"{"error": {"message": "The decoder prompt (length 50) is longer than the maximum model length of 8."}}"#,
            // SGLang.
            r#"{"message": "The input (9000 tokens) is longer than the model's context length (4096 tokens)."}"#,
            // TGI.
            r#"{"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096", "error_type": "validation"}"#,
            // Ollama.
            r#"{"error": "the input length exceeds the context length"}"#,
            r#"{"error": {"message": "prompt too long; exceeded max context length by 4 tokens"}}"#,
            // Hosted services.
            r#"{"error": {"message": "Please reduce the length of the messages or completion."}}"#,
            r#"{"error": {"code": 400, "message": "The input token count (12) exceeds the maximum number of tokens allowed (8)."}}"#,
            r#"{"message": "Input is too long for requested model."}"#,
        ] {
            assert!(Refused::read(body).is_about_length(400), "{body}");
        }
        assert!(Refused::read("<html>").is_about_length(413));
        for (status, body) in cases![
            400 => r#"{"error": {"message": "temperature must be at most 1", "code": "invalid_value"}}"#;
            429 => r#"{"error": {"message": "Too many tokens in this minute"}}"#;
            503 => r#"{"error": {"message": "Loading model"}}"#;
        ] {
            assert!(!Refused::read(body).is_about_length(status), "{body}");
        }
    }

    #[test]
    fn an_account_without_credit_is_known() {
        for (status, body, expected) in [
            (
                429,
                r#"{"error": {"message": "m", "code": "insufficient_quota"}}"#,
                true,
            ),
            (
                402,
                r#"{"error": {"message": "Insufficient Balance"}}"#,
                true,
            ),
            (
                200,
                r#"{"choices": [{"error": {"message": "m", "code": 402}}]}"#,
                true,
            ),
            (
                429,
                r#"{"error": {"message": "m", "code": "rate_limit_exceeded"}}"#,
                false,
            ),
        ] {
            let refused = Refused::read(body);
            assert_eq!(refused.is_about_quota(status), expected, "{body}");
        }
    }

    #[test]
    fn an_error_within_a_stream_has_the_status_that_it_names() {
        for (body, status) in cases![
            r#"{"error": {"message": "m", "code": 503}}"# => 503;
            r#"{"error": {"message": "m", "type": "rate_limit_error"}}"# => 429;
            r#"{"error": {"message": "m", "type": "BadRequestError"}}"# => 400;
            r#"{"error": {"message": "m", "code": 7}}"# => 500;
            r#"{"error": "CUDA error"}"# => 500;
        ] {
            assert_eq!(Refused::read(body).status(200), status, "{body}");
        }
        assert_eq!(
            Refused::read(r#"{"error": {"code": 503}}"#).status(400),
            400
        );
    }
}

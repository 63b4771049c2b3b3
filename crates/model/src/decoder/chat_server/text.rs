//! One answer while it is being written: which part of it can be sent, and which may turn out to be a tool call.

use ken_language::{Finish, Piece, StreamedText, Thoughts, TokenLogprob};
use rand::Rng;
use serde_json::{Value, json};

use super::Ending;
use super::request::{ChatRequest, Choice};
use super::tool_calls::{OPEN, ToolCall, may_be_call, parted};

/// An answer while it is written.
#[derive(Clone)]
pub(super) struct ChatText {
    thoughts: Thoughts,
    tools: Vec<Value>,
    /// The most calls that are passed on.
    most_calls: usize,
    /// Whether everything is held back until the end.
    holds: bool,
    /// The answer without thoughts, as far as it is written.
    text: String,
    /// How many bytes of it were sent.
    given: usize,
    /// The log probabilities that were not sent; `None` if none are requested.
    logprobs: Option<Vec<Value>>,
}

/// A new id.
pub(super) fn new_id(start: &str) -> String {
    format!("{start}{:016x}", rand::rng().random::<u64>())
}

impl ChatText {
    pub(super) fn new(request: &ChatRequest, thoughts: Thoughts) -> Self {
        Self {
            thoughts,
            tools: request.tools.clone(),
            most_calls: request.most_calls,
            holds: !request.is_stream || request.choice != Choice::Free,
            text: String::new(),
            given: 0,
            logprobs: request.logprobs.map(|_| Vec::new()),
        }
    }

    /// Takes a piece, and returns the text that can be sent by now, with the log probabilities of its tokens.
    pub(super) fn take(&mut self, piece: &Piece<'_>) -> (String, Option<Value>) {
        if let Some(logprobs) = &mut self.logprobs {
            logprobs.extend(piece.logprobs.iter().map(logprob));
        }
        let text = self.thoughts.take(piece.text);
        self.text.push_str(text);
        if self.holds || !self.tools.is_empty() && may_be_call(&self.text) {
            return (String::new(), None);
        }
        let mut shown = StreamedText::new(match self.tools.is_empty() {
            true => [].into(),
            false => [OPEN.to_owned()].into(),
        });
        // What was sent holds no beginning of a call, so only the rest is searched.
        let rest = self.text.get(self.given..).unwrap_or_default();
        let text = shown.extend(rest).to_owned();
        self.given += text.len();
        let logprobs = if text.is_empty() { None } else { self.told() };
        (text, logprobs)
    }

    /// The log probabilities since the last ones; `None` with thoughts, whose tokens are not those of the answer.
    fn told(&mut self) -> Option<Value> {
        let logprobs = std::mem::take(self.logprobs.as_mut()?);
        match self.thoughts.has_thoughts() {
            true => None,
            false => Some(json!({"content": logprobs, "refusal": null})),
        }
    }

    /// Ends the answer.
    pub(super) fn finish(mut self, finish: Finish, is_stream: bool) -> Ending {
        let held = self.thoughts.finish();
        self.text.push_str(held);
        if finish == Finish::End
            && let Some(logprobs) = &mut self.logprobs
        {
            // The last token ends the text.
            logprobs.pop();
        }
        let (text, mut calls) = match self.tools.is_empty() {
            true => (std::mem::take(&mut self.text), Vec::new()),
            false => parted(&self.text, &self.tools),
        };
        calls.truncate(self.most_calls);
        let reason = match (calls.is_empty(), finish) {
            (false, _) => "tool_calls",
            (true, Finish::Length) => "length",
            (true, _) => "stop",
        };
        let mut message = json!({});
        let rest = text.get(self.given..).unwrap_or_default();
        match is_stream {
            true if rest.is_empty() => {}
            true => message["content"] = json!(rest),
            false => {
                message["role"] = json!("assistant");
                message["refusal"] = Value::Null;
                message["content"] = match calls.is_empty() || !text.is_empty() {
                    true => json!(text),
                    false => Value::Null,
                };
            }
        }
        if !calls.is_empty() {
            let calls = calls.iter().enumerate().map(|(index, call)| {
                let mut call = written(call);
                if is_stream {
                    // Clients use the index to assemble a stream.
                    call["index"] = json!(index);
                }
                call
            });
            message["tool_calls"] = calls.collect();
        }
        Ending {
            logprobs: self.told(),
            message,
            reason,
        }
    }
}

/// A call in OpenAI's form.
fn written(call: &ToolCall) -> Value {
    json!({
        "id": new_id("call_"),
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments.to_string()},
    })
}

/// A token's log probability in OpenAI's form. The bytes are those of the text, which for a part of a character is
/// its name.
fn logprob(token: &TokenLogprob) -> Value {
    let entry = |text: &str, logprob: Option<f32>| json!({"token": text, "logprob": logprob, "bytes": text.as_bytes()});
    let mut listed = entry(&token.text, token.logprob);
    let top = token
        .top
        .iter()
        .map(|(text, logprob)| entry(text, Some(*logprob)));
    listed["top_logprobs"] = top.collect();
    listed
}

#[cfg(test)]
mod tests {
    use ken_testing::has;

    use super::*;

    /// The pieces of the answer, and its ending.
    fn streamed(tools: &[&str], pieces: &[&str]) -> (Vec<String>, Ending) {
        streamed_by(&Value::Null, tools, pieces)
    }

    /// As `streamed`, with a value of `parallel_tool_calls`.
    fn streamed_by(parallel: &Value, tools: &[&str], pieces: &[&str]) -> (Vec<String>, Ending) {
        let tools: Vec<Value> = tools
            .iter()
            .map(|name| json!({"type": "function", "function": {"name": name}}))
            .collect();
        let request = json!({"messages": [], "tools": tools, "parallel_tool_calls": parallel, "stream": true});
        let request = ChatRequest::read(request.as_object().unwrap()).unwrap();
        let mut text = ChatText::new(&request, Thoughts::default());
        let pieces = pieces.iter().map(|piece| {
            let piece = Piece {
                request: 0,
                sample: 0,
                text: piece,
                logprobs: &[],
            };
            text.take(&piece).0
        });
        let said = pieces.collect();
        (said, text.finish(Finish::End, true))
    }

    #[test]
    fn calls_are_as_many_as_the_client_takes() {
        let call = r#"<tool_call>{"name": "f", "arguments": {}}</tool_call>"#;
        for (parallel, count) in [(Value::Null, 2), (json!(true), 2), (json!(false), 1)] {
            let (_, ending) = streamed_by(&parallel, &["f"], &[call, call]);
            let calls = ending.message["tool_calls"].as_array().unwrap();
            assert_eq!(calls.len(), count, "{parallel}");
        }
    }

    #[test]
    fn what_may_be_a_call_is_held_back() {
        let (said, ending) = streamed(&[], &["<tool_", "call>", " x"]);
        assert_eq!(
            (said.concat().as_str(), ending.reason),
            ("<tool_call> x", "stop")
        );
        let call = r#"{"name": "f", "arguments": {}}</tool_call>"#;
        let (said, ending) = streamed(&["f"], &["I look: ", "<tool", "_call>", call]);
        assert_eq!(said, ["I look: ", "", "", ""]);
        has!(ending, reason: "tool_calls", message["tool_calls"][0]["function"]["name"]: "f",
            message.get("content"): None);
        let (said, ending) = streamed(&["f"], &["{\"a\"", ": 1}"]);
        assert_eq!(said.concat(), "");
        has!(ending, reason: "stop", message["content"]: json!("{\"a\": 1}"));
        let (said, ending) = streamed(&["f"], &["Write <tool", "_box> so"]);
        assert_eq!(
            (said.concat().as_str(), ending.reason),
            ("Write <tool_box> so", "stop")
        );
        let (said, ending) = streamed(&["f"], &["a <", "b <tool", "_call", "> c", " d"]);
        assert_eq!(said, ["a ", "<b ", "", "", ""]);
        assert_eq!(ending.message["content"], json!("<tool_call> c d"));
    }
}

//! A model server's output is a value with an ending: thoughts are not part of an answer, and refusals and texts in
//! other fields are not lost.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use ken_language::{
    Finish, GenerateRequest, Generation, LanguageModel, Progress, Prompt, Reply as As,
};
use ken_model::remote::{Endpoint, RemoteModel};
use ken_testing::{cases, with};
use serde_json::{Value, json};

use super::faults::{greedy, model_list, prompt, settings};
use super::loopback::{Reply, Server};

/// A model that only takes conversations, and gives a fixed response.
struct Talks {
    _server: Server,
    model: RemoteModel,
    message: Arc<Mutex<(Value, Value)>>,
}

impl Talks {
    fn new() -> Self {
        let message = Arc::new(Mutex::new((
            json!({"content": "x"}),
            json!({"finish_reason": "stop"}),
        )));
        let said = Arc::clone(&message);
        let server = Server::start(move |request| match request.path.as_str() {
            "/v1/models" => model_list(&["talks"]),
            "/v1/chat/completions" => {
                let (message, choice) = said.lock().unwrap().clone();
                if request.body["stream"] == true {
                    Reply::events(&events(&message, &choice))
                } else {
                    let mut choice = choice;
                    choice["message"] = message;
                    let count = request.body["n"].as_u64().unwrap_or(1);
                    let choices = (0..count).map(|index| {
                        let mut choice = choice.clone();
                        choice["index"] = json!(index);
                        choice
                    });
                    Reply::json(&json!({"choices": choices.collect::<Vec<_>>()}))
                }
            }
            _ => Reply::refusal(404, "Not Found"),
        });
        let model =
            RemoteModel::connect(with!(Endpoint::new(&server.url), settings: settings())).unwrap();
        Self {
            _server: server,
            model,
            message,
        }
    }

    /// Two answers, each with the text that was emitted, streamed or not.
    fn says(&self, reply: As, message: Value, choice: Value) -> [(Generation, String); 2] {
        *self.message.lock().unwrap() = (message, choice);
        let prompt = Prompt { reply, ..prompt() };
        [1, 2].map(|samples| {
            let options = ken_language::GenerateOptions {
                sampling: match samples {
                    1 => greedy().sampling,
                    _ => ken_language::Sampling::at(1.0, 7),
                },
                ..greedy()
            };
            let request = GenerateRequest::new(&prompt, samples, &options);
            let mut given = String::new();
            let written = self.model.generate(&[request], &mut |progress| {
                if let Progress::Text(piece) = progress
                    && piece.sample == 0
                {
                    given.push_str(piece.text);
                }
                ControlFlow::Continue(())
            });
            (written.unwrap().remove(0).remove(0), given)
        })
    }
}

/// As above, in pieces of five characters.
fn events(message: &Value, choice: &Value) -> Vec<Value> {
    let delta =
        |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let mut events = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut beside = message.clone();
    let content = beside.as_object_mut().unwrap().remove("content");
    events.push(delta(beside));
    match content {
        Some(Value::String(text)) => {
            let characters: Vec<char> = text.chars().collect();
            let pieces = characters
                .chunks(5)
                .map(|piece| piece.iter().collect::<String>());
            events.extend(pieces.map(|piece| delta(json!({"content": piece}))));
        }
        Some(Value::Array(parts)) => {
            events.extend(parts.iter().map(|part| delta(json!({"content": [part]}))));
        }
        _ => {}
    }
    let mut last = choice.clone();
    last["delta"] = json!({});
    events.push(json!({"choices": [last]}));
    events
}

#[test]
fn thoughts_are_no_part_of_an_answer() {
    let talks = Talks::new();
    for (content, answer) in cases![
        "<think>\nThe user asks.\n</think>\n\nAt berth 14." => "At berth 14.";
        "<thinking>a</thinking>At berth 14." => "At berth 14.";
        "[THINK]a\nb[/THINK]At berth 14." => "At berth 14.";
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>At berth 14." =>
            "At berth 14.";
        "The user asks about a boat.\n</think>\n\nAt berth 14." => "At berth 14.";
        "<think>\nThe user asks\nabout" => "";
        "<think>a</think>" => "";
        "At <b>berth</b> 14." => "At <b>berth</b> 14.";
        "Okay, at berth 14." => "Okay, at berth 14.";
    ] {
        for reply in [As::Line, As::Text] {
            let says = talks.says(
                reply,
                json!({"content": content}),
                json!({"finish_reason": "stop"}),
            );
            for (written, given) in says {
                assert_eq!(written.text.trim(), answer, "{content:?}");
                assert_eq!(given.trim(), answer, "{content:?}");
                assert_eq!(written.finish, Finish::End);
            }
        }
    }
}

/// Once it has been seen to think like this, nothing is emitted before the end of the thoughts.
#[test]
fn thoughts_without_a_first_mark_are_known_the_next_time() {
    let talks = Talks::new();
    let content = json!({"content": "A boat, it seems.\n</think>At berth 14."});
    let end = json!({"finish_reason": "stop"});
    for time in 0..2 {
        let [(streamed, given), (whole, _)] = talks.says(As::Text, content.clone(), end.clone());
        assert_eq!([&streamed.text, &whole.text], ["At berth 14."; 2]);
        assert_eq!(given == "At berth 14.", time > 0, "{given}");
    }
}

#[test]
fn what_is_said_elsewhere_than_in_the_text_arrives() {
    let talks = Talks::new();
    let stop = json!({"finish_reason": "stop"});
    let call =
        json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let (end, refused) = (Finish::End, Finish::Refused);
    for (message, choice, text, finish, refusal) in cases![
        json!({"content": [{"type": "text", "text": "At berth"}, {"type": "text", "text": " 14."}]}) =>
            stop.clone(), "At berth 14.", end, None;
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}, {"type": "text", "text": "14"}]}) =>
            stop.clone(), "14", end, None;
        json!({"content": [{"type": "refusal", "refusal": "No."}]}) => stop.clone(), "", refused, Some("No.");
        json!({"content": null, "refusal": "No."}) => stop.clone(), "", refused, Some("No.");
        json!({"content": null, "refusal": null}) => stop.clone(), "", end, None;
        json!({"content": null, "tool_calls": call}) => json!({"finish_reason": "tool_calls"}), "",
            Finish::ToolCall, None;
        json!({"tool_calls": call}) => stop.clone(), "", Finish::ToolCall, None;
        json!({"content": null, "function_call": {"name": "f"}}) => stop.clone(), "", Finish::ToolCall, None;
        json!({"content": "14", "tool_calls": []}) => stop.clone(), "14", end, None;
        json!({"content": "At be"}) => json!({"finish_reason": "content_filter"}), "At be", Finish::Filtered,
            None;
        json!({"content": "At be"}) => json!({"finish_reason": "length"}), "At be", Finish::Length, None;
        json!({"content": null, "reasoning_content": "a"}) => json!({"finish_reason": "length"}), "",
            Finish::Length, None;
        json!({"content": "14", "reasoning": "a"}) => json!({"finish_reason": "eos"}), "14", end, None;
    ] {
        for (written, given) in talks.says(As::Text, message.clone(), choice) {
            assert_eq!(
                (written.text.as_str(), written.finish),
                (text, finish),
                "{message}"
            );
            assert_eq!(
                (given.as_str(), written.refusal.as_deref()),
                (text, refusal),
                "{message}"
            );
        }
    }
}

#[test]
fn log_probabilities_are_those_of_the_answer() {
    let talks = Talks::new();
    let token = |text: &str, logprob: Value| json!({"token": text, "logprob": logprob});
    let told = |tokens: &[Value]| json!({"finish_reason": "stop", "logprobs": {"content": tokens}});
    let thought = [
        token("<think>", json!(-9.0)),
        token("a", json!(-9.0)),
        token("</think>", json!(-9.0)),
    ];
    let answer = [token("At", json!(-0.5)), token(" 14", json!(-0.25))];
    let all = [&thought[..], &answer[..]].concat();
    let inline = json!({"content": "<think>a</think>At 14"});
    let beside = json!({"content": "At 14", "reasoning_content": "a"});
    let plain = json!({"content": "At 14"});
    let expected = Some(vec![-0.5, -0.25]);
    for (message, tokens, expected) in cases![
        inline => &all[..], expected.clone();
        beside.clone() => &all[..], expected.clone();
        plain.clone() => &answer[..], expected;
        // Left out, in every way in which servers do that.
        plain.clone() => &[][..], None;
        plain.clone() => &[token("At", json!(-0.5)), token(" 14", json!(null))][..], None;
        plain.clone() => &[token("At", json!(-0.5)), token(" 14", json!(-9999.0))][..], None;
        // Of a part of the answer only.
        json!({"content": "At berth 14 of the pier"}) => &[token("At", json!(-0.5))][..], None;
        // Of something else than the answer.
        beside => &[token("a", json!(-0.5))][..], None;
    ] {
        for (written, _) in talks.says(As::Line, message.clone(), told(tokens)) {
            assert_eq!(written.logprobs, expected, "{message}");
        }
    }
    for logprobs in [json!(null), json!({"content": null})] {
        let choice = json!({"finish_reason": "stop", "logprobs": logprobs});
        let [(written, _), _] = talks.says(As::Line, plain.clone(), choice);
        assert_eq!(written.logprobs, None);
    }
}

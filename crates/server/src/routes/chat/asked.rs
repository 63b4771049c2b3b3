//! What a request for chat completions asks for, and which of two ways it is answered: in ken's words, or by the
//! model's own server, which gets the request as it came.

use ken_answer::Brought;
use ken_language::Takes;
use serde_json::{Map, Value, json};

use crate::routes::conversation::{self, Heard, TOOL_MESSAGES};
use crate::service::options::{RequestOptions, SamplingOptions};
use crate::service::policies;
use crate::service::resources::Served;
use crate::wire::chat::ChatRequest;
use crate::wire::refusal::Refusal;
use crate::wire::{others, response_format};

/// The question with everything that the client says of it. A request that brings more than a question, such as a
/// system message, tools, or parameters that ken does not obey itself, goes to the model's own server as it came, if
/// there is one and the client asks for no style of ken's. A model inside ken is such a server to requests that ask
/// for several answers, log probabilities or tools.
pub(super) fn asked(
    chat: &ChatRequest,
    source: Map<String, Value>,
    served: &Served,
) -> Result<RequestOptions, Refusal> {
    let model = policies::named(&chat.model)?;
    let options = chat.ken.clone().unwrap_or_default();
    let asked = RequestOptions {
        sampling: SamplingOptions {
            max_tokens: chat.max_completion_tokens.or(chat.max_tokens),
            temperature: chat.temperature,
            top_p: chat.top_p,
            seed: chat.seed,
        },
        ..RequestOptions::by(model, &options)?
    };
    let messages = chat.messages.iter();
    let messages = messages.map(|message| (message.role, message.content.as_ref()));
    let messages: Vec<_> = messages.collect();
    let heard = conversation::read(&messages, "messages", &["text"])?;
    let offers_tools = is_given(&chat.others, "tools") || is_given(&chat.others, "functions");
    let refused = refuse_unsupported(&chat.others);
    let stop = others::stop(chat.others.get("stop"));
    let schema = response_format::read(chat.others.get("response_format"), "response_format");
    let brings = || {
        offers_tools
            || refused.is_err()
            || !matches!(&stop, Ok(texts) if texts.is_empty())
            || !matches!(schema, Ok(None))
            || !heard.conversation.instruction.is_empty()
            || !heard.unread.is_empty()
            || !heard.asks
    };
    let server = served.pipeline.model.chat_server();
    let server = server.filter(|_| asked.style.is_none());
    let is_passed = match server.map(|server| server.takes()) {
        None | Some(Takes::Text) => false,
        Some(Takes::All) => brings(),
        Some(Takes::Beyond { tools }) => beyond(&chat.others, &heard, tools)?,
    };
    if is_passed {
        let conversation = heard.conversation;
        return Ok(RequestOptions {
            question: conversation.question.clone(),
            before: conversation.before.clone(),
            brought: Brought {
                conversation: Some(conversation),
                ..Brought::default()
            },
            sent: Some(source),
            ..asked
        });
    }
    refused?;
    let mut asked = asked.over(heard.whole("messages")?, heard.unread, schema?);
    asked.brought.stop = stop?;
    let not_used = offers_tools.then(|| "tools".to_owned());
    asked.not_used.extend(not_used);
    Ok(asked)
}

/// Whether a list is given, and not empty.
fn is_given(others: &Map<String, Value>, name: &str) -> bool {
    let list = others.get(name).and_then(Value::as_array);
    list.is_some_and(|list| !list.is_empty())
}

/// Whether a request asks for what only a chat server has: several answers, log probabilities, or tools, including
/// earlier calls of them.
///
/// # Errors
/// Parameters that would change the answer in other ways.
fn beyond(others: &Map<String, Value>, heard: &Heard, tools: bool) -> Result<bool, Refusal> {
    let is = |name: &str| others.get(name).is_some_and(|value| !value.is_null());
    let calls = tools && (is_given(others, "tools") || heard.unread.contains(TOOL_MESSAGES));
    let several = is("n") && others["n"] != json!(1);
    let scores = is("logprobs") && others["logprobs"] != json!(false);
    if !(calls || several || scores) {
        return Ok(false);
    }
    let taken = ["n", "logprobs", "top_logprobs"];
    let chosen = ["tool_choice", "parallel_tool_calls"]
        .into_iter()
        .filter(|_| calls);
    let taken: Vec<&str> = taken.into_iter().chain(chosen).collect();
    let rest = others
        .iter()
        .filter(|(name, _)| !taken.contains(&name.as_str()));
    let rest = rest.map(|(name, value)| (name.clone(), value.clone()));
    refuse_unsupported(&rest.collect())?;
    others::stop(others.get("stop"))?;
    Ok(true)
}

/// Refuses unsupported parameters that would change the answer, rather than ignoring them.
fn refuse_unsupported(given: &Map<String, Value>) -> Result<(), Refusal> {
    others::refuse(given, |name, value| match name {
        "n" => *value == json!(1),
        // A model may choose to call none.
        "tools" | "functions" => value.is_array(),
        "stop" | "response_format" => true,
        // Without `logprobs`, it would be passed over.
        "top_logprobs" => *value == 0,
        "tool_choice" | "function_call" => *value == "none" || *value == "auto",
        "logprobs" => *value == false,
        "frequency_penalty" | "presence_penalty" => value.as_f64() == Some(0.0),
        "logit_bias" => *value == json!({}),
        "modalities" => *value == json!(["text"]),
        "audio" => false,
        _ => others::changes_nothing(name, value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_change_the_answer_is_not_ignored() {
        let check = |text: &str| {
            let others: Map<String, Value> = serde_json::from_str(text).unwrap();
            refuse_unsupported(&others).map_err(|refusal| refusal.code())
        };
        for harmless in [
            "{}",
            r#"{"n": 1, "stop": null, "tools": [], "user": "ada", "store": true}"#,
            r#"{"tools": [{}], "tool_choice": "auto"}"#,
            r#"{"repetition_penalty": 1, "top_k": -1, "min_p": 0.0, "ignore_eos": false, "guided_json": null}"#,
            r#"{"presence_penalty": 0, "response_format": {"type": "text"}, "logprobs": false}"#,
        ] {
            assert_eq!(check(harmless), Ok(()), "{harmless}");
        }
        for refused in [
            r#"{"n": 2}"#,
            r#"{"tools": [{}], "tool_choice": "required"}"#,
            r#"{"tool_choice": {"type": "function"}}"#,
            r#"{"presence_penalty": 0.5}"#,
            r#"{"logprobs": true}"#,
            r#"{"top_logprobs": 2}"#,
            r#"{"tools": "tide"}"#,
            r#"{"guided_json": {}}"#,
            r#"{"grammar": "root ::= x"}"#,
            r#"{"repetition_penalty": 1.3}"#,
            r#"{"top_k": 5}"#,
        ] {
            assert_eq!(check(refused), Err("unsupported_parameter"), "{refused}");
        }
    }
}

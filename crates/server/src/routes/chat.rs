//! `/v1/chat/completions`: a conversation in, the answer out, whole or while it is written.

use axum::body::Bytes;
use ken_answer::Brought;
use serde_json::{Map, Value, json};

use super::address::Addresses;
use super::call::{Call, JsonBody};
use super::citations::cited;
use super::reply::Reply as Response;
use super::stream::{Wording, streamed, whole_with_reply};
use super::{conversation, events};
use crate::service::answers::{AnswerEvent, Completion, start};
use crate::service::clock::unix_seconds;
use crate::service::options::{RequestOptions, SamplingOptions};
use crate::service::policies;
use crate::service::resources::Served;
use crate::wire::body;
use crate::wire::chat::{
    self, Annotation, ChatCompletion, ChatRequest, Choice, Chunk, ChunkChoice, Delta, Usage,
};
use crate::wire::ken::Trace;
use crate::wire::others;
use crate::wire::refusal::Refusal;

/// The most texts at which an answer ends, as OpenAI has it.
const MOST_STOPS: usize = 4;

/// The longest of these, in bytes.
const LONGEST_STOP: usize = 1024;

/// Answers the last message.
pub(crate) async fn complete(
    call: Call,
    body: JsonBody<ChatRequest>,
) -> Result<Response<ChatCompletion>, Refusal> {
    let (chat, source) = body.read_with_source().await?;
    let asked = asked(&chat, source, &call.served)?;
    let policy = asked.policy(&call.served);
    let id = call.request.id.trim_start_matches("req_");
    let reply = Reply {
        id: format!("chatcmpl-{id}"),
        created: unix_seconds(),
        model: policies::name_of(policy),
        addresses: Addresses::of(&call.headers),
        usage: chat.stream_options.unwrap_or_default().include_usage,
        begun: false,
        is_passed: asked.sent.is_some(),
        held: Vec::new(),
    };
    let news = start(&call.served, asked, call.request)?;
    match chat.stream.unwrap_or(false) {
        true => Ok(streamed(reply, news).await?.into()),
        false => match whole_with_reply(news).await? {
            (answered, Some(said)) => Ok(body::json(&passed(&reply, said, &answered)).into()),
            (answered, None) => Ok(Response::json(&completion(reply, answered))),
        },
    }
}

/// What all chunks of a reply have in common, and how far it is.
struct Reply {
    id: String,
    created: u64,
    model: String,
    addresses: Addresses,
    /// Whether a stream ends with what the answer cost.
    usage: bool,
    /// Whether the first chunk of a stream is written.
    begun: bool,
    /// Whether the model's own server answers.
    is_passed: bool,
    /// The last chunks of its answer, which wait for what is to stand before them.
    held: Vec<Value>,
}

/// The question with all that the client says of it. A request that brings more than a question, such as a system message,
/// tools, or parameters that ken does not obey itself, goes to the model's own server as it came, where there is one and
/// no style of ken's is asked for.
fn asked(
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
    let offers_tools = ["tools", "functions"].iter().any(|name| {
        let tools = chat.others.get(*name).and_then(Value::as_array);
        tools.is_some_and(|tools| !tools.is_empty())
    });
    let refused = refuse_unsupported(&chat.others);
    let stop = stop_of(chat.others.get("stop"));
    let brings = offers_tools
        || refused.is_err()
        || !matches!(&stop, Ok(texts) if texts.is_empty())
        || !heard.conversation.instruction.is_empty()
        || !heard.unread.is_empty()
        || !heard.asks;
    let is_passed = served.pipeline.model.chat_server().is_some() && asked.style.is_none();
    if brings && is_passed {
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
    let mut asked = asked.over(heard.whole("messages")?, heard.unread);
    asked.brought.stop = stop?;
    if offers_tools {
        asked.not_used.push("tools".to_owned());
    }
    Ok(asked)
}

/// The texts at which the answer ends.
fn stop_of(stop: Option<&Value>) -> Result<Vec<String>, Refusal> {
    let texts = match stop {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::String(text)) => Some(vec![text.clone()]),
        Some(Value::Array(texts)) if texts.len() <= MOST_STOPS => {
            let texts = texts.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect()
        }
        Some(_) => None,
    };
    let texts = texts.filter(|texts| texts.iter().all(|text| text.len() <= LONGEST_STOP));
    let texts = texts.ok_or_else(|| {
        let message =
            format!("`stop` is a text or up to {MOST_STOPS}, each of at most {LONGEST_STOP} bytes");
        Refusal::bad("invalid_value", message).of("stop")
    })?;
    Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
}

/// Refuses what would change the answer and is not done here, rather than to ignore it.
fn refuse_unsupported(given: &Map<String, Value>) -> Result<(), Refusal> {
    others::refuse(given, |name, value| match name {
        "n" => *value == json!(1),
        // A model may choose to call none.
        "tools" | "functions" | "stop" => true,
        "tool_choice" | "function_call" => *value == "none" || *value == "auto",
        "logprobs" => *value == false,
        "response_format" => value["type"] == "text",
        "frequency_penalty" | "presence_penalty" => value.as_f64() == Some(0.0),
        "logit_bias" => *value == json!({}),
        "modalities" => *value == json!(["text"]),
        "audio" => false,
        _ => others::changes_nothing(name, value),
    })
}

fn completion(reply: Reply, answered: Completion) -> ChatCompletion {
    let annotations = annotations(&answered, &reply.addresses);
    let finish_reason = finish_reason(&answered);
    let usage = usage(&answered);
    let Completion {
        text,
        refusal,
        trace,
        ..
    } = answered;
    ChatCompletion {
        id: reply.id,
        object: "chat.completion",
        created: reply.created,
        model: reply.model,
        choices: [Choice {
            index: 0,
            message: chat::Answered {
                role: "assistant",
                content: text,
                refusal,
                annotations,
            },
            logprobs: None,
            finish_reason,
        }],
        usage,
        ken: trace,
    }
}

/// What the model's own server said, with what ken adds.
fn passed(reply: &Reply, mut said: Value, answered: &Completion) -> Value {
    said["id"] = json!(reply.id);
    said["ken"] = json!(answered.trace);
    let annotations = annotations(answered, &reply.addresses);
    if let Some(message) = said.pointer_mut("/choices/0/message")
        && message.is_object()
        && message["annotations"].as_array().is_none_or(Vec::is_empty)
    {
        message["annotations"] = json!(annotations);
    }
    said
}

fn finish_reason(answered: &Completion) -> &'static str {
    match answered.trace.lack.as_deref() {
        _ if answered.truncated => "length",
        Some("filtered") => "content_filter",
        _ => "stop",
    }
}

fn usage(answered: &Completion) -> Usage {
    let [prompt_tokens, completion_tokens] = answered.tokens;
    Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens + completion_tokens,
    }
}

fn annotations(answered: &Completion, addresses: &Addresses) -> Vec<Annotation> {
    let each = cited(answered).into_iter().map(|cited| {
        let url = addresses.passage(
            cited.corpus,
            &cited.citation.passage_id,
            &cited.citation.location,
        );
        let title = cited.title();
        Annotation::new(cited.place, url, title)
    });
    each.collect()
}

impl Wording for Reply {
    fn word(&mut self, news: AnswerEvent) -> Vec<Bytes> {
        match news {
            AnswerEvent::Retrieved(_) => Vec::new(),
            AnswerEvent::Begun(trace) => vec![self.begin(Some(&trace))],
            AnswerEvent::Text(text) => vec![self.delta(Delta {
                content: Some(&text),
                ..Delta::default()
            })],
            AnswerEvent::Reply(said) => self.pass(*said),
            AnswerEvent::Done(answered) if self.is_passed => self.end_passed(&answered),
            AnswerEvent::Done(answered) => self.end(&answered),
            AnswerEvent::Failed(refusal) => vec![events::data(&refusal.body()), events::done()],
        }
    }
}

impl Reply {
    fn begin(&mut self, trace: Option<&Trace>) -> Bytes {
        self.begun = true;
        let delta = Delta {
            role: Some("assistant"),
            content: Some(""),
            ..Delta::default()
        };
        self.chunk(vec![choice(delta, None)], None, trace)
    }

    /// Passes on a chunk of the model's own server. From the one that says how the answer ends, chunks are held back for what
    /// ken has to say before that.
    fn pass(&mut self, mut said: Value) -> Vec<Bytes> {
        said["id"] = json!(self.id);
        if let (false, Some(chunk)) = (self.usage, said.as_object_mut()) {
            chunk.shift_remove("usage");
        }
        let ends = |said: &Value| {
            said.pointer("/choices/0/finish_reason")
                .is_some_and(Value::is_string)
        };
        if ends(&said) || !self.held.is_empty() {
            self.held.push(said);
            return Vec::new();
        }
        match is_of_usage(&said) && !self.usage {
            true => Vec::new(),
            false => vec![events::data(&said)],
        }
    }

    fn end_passed(&mut self, answered: &Completion) -> Vec<Bytes> {
        let mut told = Vec::new();
        let annotations = annotations(answered, &self.addresses);
        if !annotations.is_empty() {
            told.push(self.delta(Delta {
                annotations,
                ..Delta::default()
            }));
        }
        let mut held = std::mem::take(&mut self.held);
        match held.iter_mut().rev().find(|said| !is_of_usage(said)) {
            Some(last) => last["ken"] = json!(answered.trace),
            None => told.push(self.chunk(Vec::new(), None, Some(&answered.trace))),
        }
        held.retain(|said| self.usage || !is_of_usage(said));
        told.extend(held.iter().map(events::data));
        told.push(events::done());
        told
    }

    fn delta(&self, delta: Delta<'_>) -> Bytes {
        self.chunk(vec![choice(delta, None)], None, None)
    }

    fn end(&mut self, answered: &Completion) -> Vec<Bytes> {
        let mut events = Vec::new();
        if !self.begun {
            events.push(self.begin(None));
        }
        let annotations = annotations(answered, &self.addresses);
        if !annotations.is_empty() {
            events.push(self.delta(Delta {
                annotations,
                ..Delta::default()
            }));
        }
        if let Some(refusal) = &answered.refusal {
            events.push(self.delta(Delta {
                refusal: Some(refusal),
                ..Delta::default()
            }));
        }
        let last = choice(Delta::default(), Some(finish_reason(answered)));
        events.push(self.chunk(vec![last], None, Some(&answered.trace)));
        if self.usage {
            events.push(self.chunk(Vec::new(), Some(usage(answered)), None));
        }
        events.push(events::done());
        events
    }

    fn chunk(
        &self,
        choices: Vec<ChunkChoice<'_>>,
        usage: Option<Usage>,
        ken: Option<&Trace>,
    ) -> Bytes {
        events::data(&Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            choices,
            usage: self.usage.then_some(usage),
            ken,
        })
    }
}

/// Whether a chunk says nothing but what the answer cost.
fn is_of_usage(said: &Value) -> bool {
    said["choices"].as_array().is_some_and(Vec::is_empty)
}

fn choice<'a>(delta: Delta<'a>, finish_reason: Option<&'static str>) -> ChunkChoice<'a> {
    ChunkChoice {
        index: 0,
        delta,
        logprobs: None,
        finish_reason,
    }
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
            r#"{"response_format": {"type": "json_object"}}"#,
            r#"{"presence_penalty": 0.5}"#,
            r#"{"logprobs": true}"#,
            r#"{"response_format": 3}"#,
            r#"{"guided_json": {}}"#,
            r#"{"grammar": "root ::= x"}"#,
            r#"{"repetition_penalty": 1.3}"#,
            r#"{"top_k": 5}"#,
        ] {
            assert_eq!(check(refused), Err("unsupported_parameter"), "{refused}");
        }
    }
}

//! `/v1/chat/completions`: a conversation in, the answer out, whole or while it is written.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use ken_answer::Exchange;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::address::Addresses;
use super::events;
use super::state::App;
use crate::access::keys::Scope;
use crate::service::answering::{Answered, News, Request, start};
use crate::service::asked::{Asked, Generated};
use crate::service::policies;
use crate::service::served::unix_seconds;
use crate::service::work::broken;
use crate::wire::body;
use crate::wire::chat::{
    self, Annotation, ChatCompletion, ChatRequest, Choice, Chunk, ChunkChoice, Content, Delta,
    Message, Role, Usage,
};
use crate::wire::ken::Trace;
use crate::wire::refusal::Refusal;

/// How long a client of a stream hears nothing at most. Until then an error is a response of its own.
const PING: Duration = Duration::from_secs(5);

/// The most messages of a conversation.
const MOST_MESSAGES: usize = 1000;

/// Answers the last message.
pub(crate) async fn complete(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Ask)?;
    let chat: ChatRequest = body::read(body).await?;
    let asked = asked(&chat)?;
    let policy = asked.settings(&app.served)?.policy;
    let id = request.id.trim_start_matches("req_");
    let reply = Reply {
        id: format!("chatcmpl-{id}"),
        created: unix_seconds(),
        model: policies::name_of(policy),
        addresses: Addresses::of(&headers),
        usage: chat.stream_options.unwrap_or_default().include_usage,
    };
    let news = start(&app.served, asked, request)?;
    match chat.stream.unwrap_or(false) {
        true => streamed(reply, news).await,
        false => whole(&reply, news).await,
    }
}

/// What all chunks of a reply have in common.
struct Reply {
    id: String,
    created: u64,
    model: String,
    addresses: Addresses,
    /// Whether a stream ends with what the answer cost.
    usage: bool,
}

/// The question with all that the client says of it.
fn asked(chat: &ChatRequest) -> Result<Asked, Refusal> {
    refuse_unsupported(&chat.others)?;
    let model = policies::named(&chat.model)?;
    let options = chat.ken.clone().unwrap_or_default();
    let (before, question) = conversation(&chat.messages)?;
    Ok(Asked {
        question,
        before,
        generated: Generated {
            max_tokens: chat.max_completion_tokens.or(chat.max_tokens),
            temperature: chat.temperature,
            top_p: chat.top_p,
            seed: chat.seed,
        },
        ..Asked::by(model, &options)?
    })
}

/// What was said before, and the question.
fn conversation(messages: &[Message]) -> Result<(Vec<Exchange>, String), Refusal> {
    if messages.len() > MOST_MESSAGES {
        let message = format!("at most {MOST_MESSAGES} messages can be given");
        return Err(Refusal::bad("too_many_messages", message).of("messages"));
    }
    let mut said: Vec<Exchange> = Vec::new();
    let mut last = None;
    for message in messages {
        let text = text_of(message)?;
        match message.role {
            Role::User => said.push(Exchange {
                question: text,
                answer: String::new(),
            }),
            Role::Assistant => {
                if let Some(exchange) = said.last_mut() {
                    exchange.answer.push_str(&text);
                }
            }
            _ => continue,
        }
        last = Some(message.role);
    }
    match (last, said.pop()) {
        (Some(Role::User), Some(question)) => Ok((said, question.question)),
        _ => {
            let message = "the last message has to be one of the user";
            Err(Refusal::bad("no_question", message).of("messages"))
        }
    }
}

fn text_of(message: &Message) -> Result<String, Refusal> {
    let parts = match &message.content {
        None => return Ok(String::new()),
        Some(Content::Text(text)) => return Ok(text.clone()),
        Some(Content::Parts(parts)) => parts,
    };
    let mut texts = Vec::new();
    for part in parts {
        match (part.kind.as_str(), &part.text) {
            ("text", Some(text)) => texts.push(text.as_str()),
            (kind, _) => {
                let message = format!("a part of type {kind:?} is not understood, only text");
                return Err(Refusal::bad("unsupported_content", message).of("messages"));
            }
        }
    }
    Ok(texts.join("\n"))
}

/// Refuses what would change the answer and is not done here, rather than to ignore it.
fn refuse_unsupported(others: &Map<String, Value>) -> Result<(), Refusal> {
    for (name, value) in others {
        let is_nothing = match name.as_str() {
            "n" => *value == json!(1),
            "stop" | "tools" | "functions" => *value == json!([]),
            "tool_choice" | "function_call" => *value == "none" || *value == "auto",
            "logprobs" => *value == false,
            "response_format" => value["type"] == "text",
            "frequency_penalty" | "presence_penalty" => value.as_f64() == Some(0.0),
            "logit_bias" => *value == json!({}),
            "modalities" => *value == json!(["text"]),
            "audio" => false,
            _ => true,
        };
        if !is_nothing && !value.is_null() {
            let message = format!("`{name}` is not supported here with this value");
            return Err(Refusal::bad("unsupported_parameter", message).of(name));
        }
    }
    Ok(())
}

async fn whole(reply: &Reply, mut news: UnboundedReceiver<News>) -> Result<Response, Refusal> {
    let answered = loop {
        match news.recv().await {
            Some(News::Done(answered)) => break answered,
            Some(News::Failed(refusal)) => return Err(refusal),
            Some(News::Begun(_) | News::Text(_)) => {}
            None => return Err(broken()),
        }
    };
    let annotations = annotations(&answered, &reply.addresses);
    let finish_reason = finish_reason(&answered);
    let usage = usage(&answered);
    let Answered { text, trace, .. } = *answered;
    Ok(body::json(&ChatCompletion {
        id: reply.id.clone(),
        object: "chat.completion",
        created: reply.created,
        model: reply.model.clone(),
        choices: [Choice {
            index: 0,
            message: chat::Answered {
                role: "assistant",
                content: text,
                refusal: None,
                annotations,
            },
            logprobs: None,
            finish_reason,
        }],
        usage,
        ken: trace,
    }))
}

fn finish_reason(answered: &Answered) -> &'static str {
    match answered.truncated {
        true => "length",
        false => "stop",
    }
}

fn usage(answered: &Answered) -> Usage {
    let [prompt_tokens, completion_tokens] = answered.tokens;
    Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens + completion_tokens,
    }
}

/// The citations, in the order of the text. What was found by comparison is for all of it.
fn annotations(answered: &Answered, addresses: &Addresses) -> Vec<Annotation> {
    let Some(corpus) = &answered.trace.corpus else {
        return Vec::new();
    };
    let length = answered.text.chars().count();
    let mut found = Vec::new();
    for citation in &answered.trace.citations {
        let url = addresses.passage(&corpus.name, &citation.passage_id);
        let title = match citation.title.as_str() {
            "" => &citation.doc_id,
            title => title,
        };
        let places = citation.places.iter().map(|place| place.start..place.end);
        let mut places: Vec<_> = places.collect();
        if places.is_empty() {
            places.push(0..length);
        }
        let each = places.into_iter();
        found.extend(each.map(|place| {
            (
                place.start,
                Annotation::new(place, url.clone(), title.to_owned()),
            )
        }));
    }
    found.sort_by_key(|(start, _)| *start);
    found
        .into_iter()
        .map(|(_, annotation)| annotation)
        .collect()
}

/// Waits for the first news, so that an error that comes soon has a status of its own.
async fn streamed(reply: Reply, mut news: UnboundedReceiver<News>) -> Result<Response, Refusal> {
    let first = match tokio::time::timeout(PING, news.recv()).await {
        Ok(Some(News::Failed(refusal))) => return Err(refusal),
        Ok(None) => return Err(broken()),
        Ok(first) => first,
        Err(_) => None,
    };
    let (send, body) = unbounded_channel();
    let writer = Writer {
        reply: Arc::new(reply),
        send,
        begun: false,
    };
    tokio::spawn(writer.run(first, news));
    Ok(events::response(body))
}

/// Writes the events of a stream.
struct Writer {
    reply: Arc<Reply>,
    send: UnboundedSender<Bytes>,
    begun: bool,
}

impl Writer {
    async fn run(mut self, mut first: Option<News>, mut news: UnboundedReceiver<News>) {
        loop {
            let next = match first.take() {
                Some(first) => first,
                None => tokio::select! {
                    next = tokio::time::timeout(PING, news.recv()) => match next {
                        Ok(Some(next)) => next,
                        Ok(None) => News::Failed(broken()),
                        Err(_) => {
                            self.write(events::ping());
                            continue;
                        }
                    },
                    () = self.send.closed() => return,
                },
            };
            match next {
                News::Begun(trace) => self.begin(Some(&trace)),
                News::Text(text) => self.delta(Delta {
                    content: Some(&text),
                    ..Delta::default()
                }),
                News::Done(answered) => {
                    self.end(&answered);
                    return;
                }
                News::Failed(refusal) => {
                    self.write(events::data(&refusal.body()));
                    self.write(events::done());
                    return;
                }
            }
        }
    }

    /// A client that is gone is noticed where the next news is awaited.
    fn write(&self, event: Bytes) {
        let _ = self.send.send(event);
    }

    fn begin(&mut self, trace: Option<&Trace>) {
        self.begun = true;
        let delta = Delta {
            role: Some("assistant"),
            content: Some(""),
            ..Delta::default()
        };
        self.chunk(vec![choice(delta, None)], None, trace);
    }

    fn delta(&self, delta: Delta<'_>) {
        self.chunk(vec![choice(delta, None)], None, None);
    }

    fn end(&mut self, answered: &Answered) {
        if !self.begun {
            self.begin(None);
        }
        let annotations = annotations(answered, &self.reply.addresses);
        if !annotations.is_empty() {
            self.delta(Delta {
                annotations,
                ..Delta::default()
            });
        }
        let last = choice(Delta::default(), Some(finish_reason(answered)));
        self.chunk(vec![last], None, Some(&answered.trace));
        if self.reply.usage {
            self.chunk(Vec::new(), Some(usage(answered)), None);
        }
        self.write(events::done());
    }

    fn chunk(&self, choices: Vec<ChunkChoice<'_>>, usage: Option<Usage>, ken: Option<&Trace>) {
        let reply = &self.reply;
        self.write(events::data(&Chunk {
            id: &reply.id,
            object: "chat.completion.chunk",
            created: reply.created,
            model: &reply.model,
            choices,
            usage: reply.usage.then_some(usage),
            ken,
        }));
    }
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

    fn read(messages: Value) -> Result<(Vec<Exchange>, String), &'static str> {
        let messages: Vec<Message> = serde_json::from_value(messages).unwrap();
        conversation(&messages).map_err(|refusal| refusal.code())
    }

    #[test]
    fn a_conversation_is_exchanges_and_a_question() {
        let (before, question) = read(json!([
            {"role": "system", "content": "be nice"},
            {"role": "user", "content": "who?"},
            {"role": "assistant", "content": "Ida"},
            {"role": "user", "content": [{"type": "text", "text": "and"}, {"type": "text", "text": "when?"}]},
        ]))
        .unwrap();
        let (first, answer) = ("who?".to_owned(), "Ida".to_owned());
        assert_eq!(
            before,
            [Exchange {
                question: first,
                answer
            }]
        );
        assert_eq!(question, "and\nwhen?");
    }

    #[test]
    fn what_asks_nothing_is_refused() {
        let user = json!({"role": "user", "content": "who?"});
        for messages in [
            json!([]),
            json!([{"role": "system", "content": "x"}]),
            json!([user, {"role": "assistant", "content": "Ida"}]),
        ] {
            assert_eq!(read(messages), Err("no_question"));
        }
        let image = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]);
        assert_eq!(read(image), Err("unsupported_content"));
    }

    #[test]
    fn what_would_change_the_answer_is_not_ignored() {
        let check = |text: &str| {
            let others: Map<String, Value> = serde_json::from_str(text).unwrap();
            refuse_unsupported(&others).map_err(|refusal| refusal.code())
        };
        for harmless in [
            "{}",
            r#"{"n": 1, "stop": null, "tools": [], "user": "ada", "store": true}"#,
            r#"{"presence_penalty": 0, "response_format": {"type": "text"}, "logprobs": false}"#,
        ] {
            assert_eq!(check(harmless), Ok(()), "{harmless}");
        }
        for refused in [
            r#"{"n": 2}"#,
            r#"{"stop": ["x"]}"#,
            r#"{"tools": [{}]}"#,
            r#"{"response_format": {"type": "json_object"}}"#,
            r#"{"presence_penalty": 0.5}"#,
            r#"{"logprobs": true}"#,
            r#"{"response_format": 3}"#,
        ] {
            assert_eq!(check(refused), Err("unsupported_parameter"), "{refused}");
        }
    }
}

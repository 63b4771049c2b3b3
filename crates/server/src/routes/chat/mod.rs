//! `/v1/chat/completions`: a conversation in, the answer out, whole or as it is written.

mod asked;
mod passed;

use axum::body::Bytes;
use serde_json::Value;

use self::asked::asked;
use self::passed::passed;
use super::address::Addresses;
use super::call::{Call, JsonBody};
use super::citations::cited;
use super::events;
use super::reply::Reply as Response;
use super::stream::{Wording, streamed, whole_watched};
use crate::service::answers::{AnswerEvent, Completion, start};
use crate::service::clock::unix_seconds;
use crate::service::policies;
use crate::wire::body;
use crate::wire::chat::{
    self, Annotation, ChatCompletion, ChatRequest, Choice, Chunk, ChunkChoice, Delta, Usage,
    finish_reason,
};
use crate::wire::ken::Trace;
use crate::wire::refusal::Refusal;

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
        false => match whole_watched(news, |_| {}).await? {
            (answered, Some(raw)) => Ok(body::json(&passed(&reply, raw, &answered)).into()),
            (answered, None) => Ok(Response::json(&completion(reply, answered))),
        },
    }
}

/// What all chunks of a reply share, and the state of its stream.
struct Reply {
    id: String,
    created: u64,
    model: String,
    addresses: Addresses,
    /// Whether a stream ends with the usage.
    usage: bool,
    /// Whether the first chunk of a stream is written.
    begun: bool,
    /// Whether the model's own server answers.
    is_passed: bool,
    /// The last chunks of its answer, held back until ken has sent its own.
    held: Vec<Value>,
}

fn completion(reply: Reply, answered: Completion) -> ChatCompletion {
    let annotations = annotations(&answered, &reply.addresses);
    let finish_reason = finish_reason(answered.truncated, answered.trace.lack.as_deref());
    let usage = Usage::of(answered.tokens);
    ChatCompletion {
        id: reply.id,
        object: "chat.completion",
        created: reply.created,
        model: reply.model,
        choices: [Choice {
            index: 0,
            message: chat::Answered {
                role: "assistant",
                content: answered.text,
                refusal: answered.refusal,
                annotations,
            },
            logprobs: None,
            finish_reason,
        }],
        usage,
        ken: answered.trace,
    }
}

fn annotations(answered: &Completion, addresses: &Addresses) -> Vec<Annotation> {
    let annotations = cited(answered).into_iter().map(|cited| {
        let url = addresses.passage(
            cited.corpus,
            &cited.citation.passage_id,
            &cited.citation.location,
        );
        let title = cited.title();
        Annotation::new(cited.place, url, title)
    });
    annotations.collect()
}

impl Wording for Reply {
    type News = AnswerEvent;

    fn word(&mut self, news: AnswerEvent) -> Vec<Bytes> {
        match news {
            AnswerEvent::Retrieved(_) => Vec::new(),
            AnswerEvent::Begun(trace) => vec![self.begin(Some(&trace))],
            AnswerEvent::Text(text) => vec![self.delta(Delta {
                content: Some(&text),
                ..Delta::default()
            })],
            AnswerEvent::Reply(chunk) => self.pass(*chunk),
            AnswerEvent::Done(answered) if self.is_passed => self.end_passed(&answered),
            AnswerEvent::Done(answered) => self.end(&answered),
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

    fn delta(&self, delta: Delta<'_>) -> Bytes {
        self.chunk(vec![choice(delta, None)], None, None)
    }

    /// The annotations, if there are any.
    fn annotate(&self, answered: &Completion) -> Option<Bytes> {
        let annotations = annotations(answered, &self.addresses);
        let delta = (!annotations.is_empty()).then(|| Delta {
            annotations,
            ..Delta::default()
        });
        delta.map(|delta| self.delta(delta))
    }

    fn end(&mut self, answered: &Completion) -> Vec<Bytes> {
        let mut events = Vec::new();
        if !self.begun {
            events.push(self.begin(None));
        }
        events.extend(self.annotate(answered));
        if let Some(refusal) = &answered.refusal {
            events.push(self.delta(Delta {
                refusal: Some(refusal),
                ..Delta::default()
            }));
        }
        let reason = finish_reason(answered.truncated, answered.trace.lack.as_deref());
        let last = choice(Delta::default(), Some(reason));
        events.push(self.chunk(vec![last], None, Some(&answered.trace)));
        if self.usage {
            events.push(self.chunk(Vec::new(), Some(Usage::of(answered.tokens)), None));
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

fn choice<'a>(delta: Delta<'a>, finish_reason: Option<&'static str>) -> ChunkChoice<'a> {
    ChunkChoice {
        index: 0,
        delta,
        logprobs: None,
        finish_reason,
    }
}

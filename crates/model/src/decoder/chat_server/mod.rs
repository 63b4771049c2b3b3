//! The decoder as a server of chat completions: applications' requests beyond answers to questions, through the
//! model's own chat template, with several answers, log probabilities, and tools that the model may call.

mod request;
mod text;
mod tool_calls;

use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

use ken_language::{
    Api, Cancelled, ChatServer, ModelError, OutputSchema, Progress, Takes, TextModel, TextRequest,
};
use serde_json::{Map, Value, json};

use self::request::{ChatRequest, Choice};
use self::text::ChatText;
use self::tool_calls::CallFormat;
use crate::decoder::Decoder;
use crate::decoder::error::DecoderError;
use crate::decoder::text::escaping;

impl ChatServer for Decoder {
    fn takes(&self) -> Takes {
        Takes::Beyond {
            tools: self.call_format().is_some(),
        }
    }

    fn forward(
        &self,
        api: Api,
        request: Map<String, Value>,
        on_reply: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Result<(), ModelError> {
        if api == Api::Completions {
            return Err(DecoderError::InvalidValue {
                param: "messages",
                reason: "there are none; text is continued as it stands elsewhere".to_owned(),
            }
            .into());
        }
        let mut request = ChatRequest::read(&request)?;
        let tokens = self.chat_tokens(&mut request)?;
        let reply = Reply::new(&request);
        let thoughts = self.chat.as_ref().map(|template| template.thoughts());
        let begun = ChatText::new(&request, thoughts.unwrap_or_default());
        let mut texts = vec![begun; request.samples];
        let asked = TextRequest {
            tokens: &tokens,
            samples: request.samples,
            options: &request.options,
            logprobs: request.logprobs,
        };
        let mut begun = reply.begins(request.samples);
        let mut left = request.is_stream && begun.any(|chunk| on_reply(chunk).is_break());
        let completed = self.complete(&[asked], &mut |progress| {
            if left || self.cancel.is_set() {
                return ControlFlow::Break(());
            }
            let Some(chunk) = reply.goes_on(&mut texts, progress) else {
                return ControlFlow::Continue(());
            };
            let flow = on_reply(chunk);
            left = flow.is_break();
            flow
        })?;
        if self.cancel.is_set() {
            return Err(DecoderError::from(Cancelled).into());
        }
        if left {
            return Ok(());
        }
        let completed = completed.into_iter();
        let written = completed.flat_map(|completion| completion.samples);
        let mut count = 0;
        let mut choices = Vec::with_capacity(texts.len());
        for (index, ((written, _), text)) in written.zip(texts).enumerate() {
            count += written.tokens;
            choices.push((index, text.finish(written.finish, request.is_stream)));
        }
        let replies = match request.is_stream {
            true => reply.ends(choices, tokens.len(), count),
            false => vec![reply.whole(choices, tokens.len(), count)],
        };
        // Nothing is left to break off.
        let _ = replies.into_iter().try_for_each(on_reply);
        Ok(())
    }
}

impl Decoder {
    /// How the model writes tool calls; `None` if its template has none.
    fn call_format(&self) -> Option<CallFormat> {
        CallFormat::of(self.chat.as_ref()?.source())
    }

    /// The conversation in tokens, up to where the model answers. If it must call a tool, the call is begun, and the
    /// rest is constrained to it.
    fn chat_tokens(&self, request: &mut ChatRequest) -> Result<Vec<u32>, DecoderError> {
        let template = self.chat.as_ref().ok_or(DecoderError::NoChatTemplate)?;
        let escape = |values: &[Value]| -> Result<Vec<Value>, DecoderError> {
            let escaped = values
                .iter()
                .map(|value| escaping::escaped_value(value, &self.tokenizer));
            escaped.collect()
        };
        let (messages, tools) = (escape(&request.messages)?, escape(&request.tools)?);
        let rendered = template.render(&messages, &tools, true);
        // Not every template has a system turn.
        let rendered = rendered.or_else(|error| match without_system(&messages) {
            Some(messages) => template.render(&messages, &tools, true),
            None => Err(error),
        })?;
        let mut tokens = self.known(escaping::encode(&rendered, &self.tokenizer)?)?;
        if request.tools.is_empty() {
            return Ok(tokens);
        }
        let format = self
            .call_format()
            .ok_or_else(|| DecoderError::InvalidValue {
                param: "tools",
                reason: "the model was not made for tools".to_owned(),
            })?;
        if request.choice != Choice::Free {
            let begun = escaping::encode(format.beginning(), &self.tokenizer)?;
            tokens.extend(self.known(begun)?);
            let schema = OutputSchema::new(format.schema(&request.tools));
            request.options.schema = Some(schema);
        }
        Ok(tokens)
    }
}

/// The messages with the system's text moved into the user's first one; `None` without such a text.
fn without_system(messages: &[Value]) -> Option<Vec<Value>> {
    let (first, rest) = messages.split_first()?;
    let instruction = first["content"]
        .as_str()
        .filter(|_| first["role"] == "system")?;
    let mut rest = rest.to_vec();
    let asks = rest.iter_mut().find(|message| message["role"] == "user")?;
    let joined = format!("{instruction}\n\n{}", asks["content"].as_str()?);
    asks["content"] = json!(joined);
    Some(rest)
}

/// How an answer ended.
struct Ending {
    /// The whole message; in a stream, the part that was not sent yet.
    message: Value,
    logprobs: Option<Value>,
    reason: &'static str,
}

/// The common fields of all parts of a reply.
struct Reply {
    id: String,
    created: u64,
    model: String,
}

impl Reply {
    fn new(request: &ChatRequest) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            id: text::new_id("chatcmpl-"),
            created: now.map_or(0, |now| now.as_secs()),
            model: request.model.clone(),
        }
    }

    fn with(&self, object: &str, choices: &[Value], usage: Option<Value>) -> Value {
        let mut reply = json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        if let Some(usage) = usage {
            reply["usage"] = usage;
        }
        reply
    }

    /// A chunk of a stream: the continuation of an answer, or why it ended.
    fn chunk(
        &self,
        index: usize,
        delta: &Value,
        logprobs: Option<&Value>,
        reason: Option<&str>,
    ) -> Value {
        let choice =
            json!({"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": reason});
        self.with("chat.completion.chunk", &[choice], None)
    }

    /// The first chunks of a stream: the role of each answer.
    fn begins(&self, samples: usize) -> impl Iterator<Item = Value> {
        let role = json!({"role": "assistant", "content": ""});
        (0..samples).map(move |sample| self.chunk(sample, &role, None, None))
    }

    /// The chunk for more text in a stream; `None` while nothing of it can be sent.
    fn goes_on(&self, texts: &mut [ChatText], progress: Progress<'_>) -> Option<Value> {
        let Progress::Text(piece) = progress else {
            return None;
        };
        let (text, logprobs) = texts[piece.sample].take(&piece);
        let delta = json!({"content": text});
        (!text.is_empty()).then(|| self.chunk(piece.sample, &delta, logprobs.as_ref(), None))
    }

    /// The last chunks of a stream: how each answer ends, and the total cost.
    fn ends(&self, choices: Vec<(usize, Ending)>, read: usize, written: usize) -> Vec<Value> {
        let ends = choices.into_iter().flat_map(|(index, ending)| {
            let (empty, logprobs) = (json!({}), ending.logprobs.as_ref());
            let has_rest = ending.message != empty;
            let rest = has_rest.then(|| self.chunk(index, &ending.message, logprobs, None));
            let end = self.chunk(index, &empty, None, Some(ending.reason));
            rest.into_iter().chain([end])
        });
        let cost = self.with("chat.completion.chunk", &[], Some(usage(read, written)));
        ends.chain([cost]).collect()
    }

    fn whole(&self, choices: Vec<(usize, Ending)>, read: usize, written: usize) -> Value {
        let choices = choices.into_iter().map(|(index, ending)| {
            json!({
                "index": index,
                "message": ending.message,
                "logprobs": ending.logprobs,
                "finish_reason": ending.reason,
            })
        });
        let choices: Vec<Value> = choices.collect();
        self.with("chat.completion", &choices, Some(usage(read, written)))
    }
}

fn usage(read: usize, written: usize) -> Value {
    json!({"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written})
}

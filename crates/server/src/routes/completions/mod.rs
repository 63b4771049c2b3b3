//! `/v1/completions`: continues raw text, without retrieval and without a prompt of ken's, with the log probabilities
//! of its tokens and of the prompt's. If the model has a server of its own, that server answers.

mod passed;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::body::Bytes;
use ken_language::{
    Finish, GenerateOptions, LogprobOptions, Piece, Progress, Sampling, TextCompletion,
    TextRequest, TokenLogprob,
};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use self::passed::pass_on;
use super::call::{Call, JsonBody};
use super::events;
use super::reply::Reply;
use super::stream::{News, Wording, streamed};
use super::tokens::text_model;
use crate::access::caller::Reserved;
use crate::service::answers::Events;
use crate::service::cancel::Cancel;
use crate::service::clock::unix_seconds;
use crate::service::gateway::estimated_tokens;
use crate::service::options::SamplingOptions;
use crate::service::resources::Served;
use crate::service::{policies, readable, work};
use crate::wire::body;
use crate::wire::chat::Usage;
use crate::wire::completions::{CompletionRequest, Completions, Continuation, Logprobs, Prompts};
use crate::wire::others;
use crate::wire::refusal::Refusal;

/// The most continuations at once.
const MOST_TEXTS: usize = 256;

/// The most likely tokens that a request may ask for at each position.
const MOST_TOP: usize = 20;

/// The most log probabilities in a response; each takes some tens of bytes.
const MOST_LOGPROBS: usize = 1 << 20;

/// The default number of tokens to write.
const TOKENS: usize = 16;

/// Continues texts.
pub(crate) async fn complete(
    call: Call,
    body: JsonBody<CompletionRequest>,
) -> Result<Reply<Completions<'static>>, Refusal> {
    let model = &call.served.pipeline.model;
    let is_passed = model.text_model().is_none() && model.chat_server().is_some();
    // Bodies with many tokens are large, and larger as JSON values, which only the model's own server needs.
    let (given, source) = if is_passed {
        body.read_with_source().await?
    } else {
        (body.read().await?, Map::new())
    };
    // Every policy names the same model.
    policies::named(&given.model)?;
    let usage = given.stream_options.unwrap_or_default().include_usage;
    let is_streamed = given.stream.unwrap_or(false);
    let heading = Heading {
        id: format!("cmpl-{}", call.request.id.trim_start_matches("req_")),
        created: unix_seconds(),
        model: given.model.clone(),
    };
    if is_passed {
        return pass_on(
            call,
            source,
            is_streamed.then_some(Chunks { heading, usage }),
        )
        .await;
    }
    let asked = Asked::read(given, &call.served)?;
    let reserved = call.caller().reserve(asked.estimate())?;
    let served = Arc::clone(&call.served);
    if !is_streamed {
        let done = work::run(&served, &served.answers, move |served, cancel| {
            asked.write(served, cancel, reserved, &mut |_| ControlFlow::Continue(()))
        });
        let (choices, used) = done.await?;
        return Ok(body::json(&heading.with(choices, Some(Some(used)))).into());
    }
    if asked.logprobs.is_some_and(|logprobs| logprobs.prompt) {
        let message =
            "the log probabilities of a prompt are not streamed; leave out `stream` or `echo`";
        return Err(Refusal::bad("unsupported_parameter", message).of("echo"));
    }
    let news = in_background(served, move |served, cancel, tell| {
        asked.write_events(served, cancel, reserved, tell)
    });
    Ok(streamed(Chunks { heading, usage }, news).await?.into())
}

/// Does the work in a task of its own, which ends when the receiver is dropped.
fn in_background(
    served: Arc<Served>,
    work: impl FnOnce(&Served, &Cancel, &Tell) -> Result<CompletionNews, Refusal> + Send + 'static,
) -> Events<CompletionNews> {
    let (tell, news) = unbounded_channel();
    tokio::spawn(async move {
        let events = tell.clone();
        let work = work::run(&served, &served.answers, move |served, cancel| {
            work(served, cancel, &events)
        });
        // Work ends when the future that waits for it is dropped.
        tokio::select! {
            done = work => {
                // A client that has gone needs no news.
                let _ = tell.send(done);
            }
            () = tell.closed() => {}
        }
    });
    news
}

/// A request that was read and checked.
struct Asked {
    prompts: Vec<Prompt>,
    samples: usize,
    options: GenerateOptions,
    echo: bool,
    logprobs: Option<LogprobOptions>,
}

/// What is continued.
enum Prompt {
    Text(String),
    Tokens(Vec<u32>),
}

impl Asked {
    /// # Errors
    /// A value out of range, or one that would be ignored; a model that does not show its tokens.
    fn read(given: CompletionRequest, served: &Served) -> Result<Self, Refusal> {
        let bad = |message: String, param: &str| Err(Refusal::invalid(param, message));
        let samples = given.n.unwrap_or(1);
        let stop = others::stop(given.others.get("stop"))?;
        others::refuse(&given.others, |name, value| match name {
            "stop" => true,
            "best_of" => *value == json!(samples),
            "suffix" => *value == "",
            "max_completion_tokens" => false,
            "response_format" => value["type"] == "text",
            "frequency_penalty" | "presence_penalty" => value.as_f64() == Some(0.0),
            "logit_bias" => *value == json!({}),
            _ => others::changes_nothing(name, value),
        })?;
        let prompts: Vec<Prompt> = match given.prompt {
            Prompts::Text(text) => vec![Prompt::Text(text)],
            Prompts::Texts(texts) => texts.into_iter().map(Prompt::Text).collect(),
            Prompts::Tokens(tokens) => vec![Prompt::Tokens(tokens)],
            Prompts::ManyTokens(prompts) => prompts.into_iter().map(Prompt::Tokens).collect(),
        };
        if prompts.is_empty() || prompts.iter().any(Prompt::is_empty) {
            let message = "it must hold at least one text, none of them empty";
            return bad(message.to_owned(), "prompt");
        }
        if samples == 0 || prompts.len().saturating_mul(samples) > MOST_TEXTS {
            let message = format!("all prompts together must have 1 to {MOST_TEXTS} continuations");
            return bad(message, "n");
        }
        let context = served.pipeline.model.context_tokens();
        for prompt in &prompts {
            if let Prompt::Text(text) = prompt {
                readable::check(text, Some(context)).map_err(|refusal| refusal.of("prompt"))?;
            }
        }
        if given.logprobs.is_some_and(|most| most > MOST_TOP) {
            return bad(format!("it must be at most {MOST_TOP}"), "logprobs");
        }
        let sampling = SamplingOptions {
            temperature: given.temperature,
            top_p: given.top_p,
            seed: given.seed,
            ..SamplingOptions::default()
        };
        text_model(served)?;
        let seed = served.pipeline.settings.seed;
        let echo = given.echo.unwrap_or(false);
        let logprobs = given.logprobs;
        Ok(Self {
            prompts,
            samples,
            options: GenerateOptions {
                sampling: sampling.sampling(Sampling::at(1.0, seed), seed)?,
                max_tokens: given.max_tokens.unwrap_or(TOKENS),
                stop,
                schema: None,
            },
            echo,
            logprobs: logprobs.map(|top| LogprobOptions { top, prompt: echo }),
        })
    }

    /// About how many tokens it takes, before any are counted.
    fn estimate(&self) -> usize {
        let read: usize = self.prompts.iter().map(Prompt::estimate).sum();
        let written = (self.options.max_tokens).saturating_mul(self.samples * self.prompts.len());
        read.saturating_add(written)
    }

    /// Continues the texts; `on_text` receives each piece as it is written.
    ///
    /// # Errors
    /// A text that does not fit, a model that fails, work that no client waits for any more.
    fn write(
        self,
        served: &Served,
        cancel: &Cancel,
        reserved: Reserved,
        on_text: &mut dyn FnMut(Continuation) -> ControlFlow<()>,
    ) -> Result<(Vec<Continuation>, Usage), Refusal> {
        let model = text_model(served)?;
        let refused = |error| cancel.refusal(Refusal::of_model(&error));
        let tokens = self.prompts.iter().map(|prompt| match prompt {
            Prompt::Text(text) => model.encode(text, true),
            Prompt::Tokens(tokens) => Ok(tokens.clone()),
        });
        let tokens = tokens.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let read = tokens.iter().map(Vec::len).sum();
        self.check_logprobs(read, served.pipeline.model.context_tokens())?;
        let echoed = self.prompts.iter().map(|prompt| match prompt {
            _ if !self.echo => Ok(String::new()),
            Prompt::Text(text) => Ok(text.clone()),
            Prompt::Tokens(tokens) => model.decode(tokens),
        });
        let echoed = echoed.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let requests = tokens.iter().map(|tokens| TextRequest {
            tokens,
            samples: self.samples,
            options: &self.options,
            logprobs: self.logprobs,
        });
        let requests: Vec<TextRequest<'_>> = requests.collect();
        if self.echo {
            let mut echoes = self.in_order(&echoed);
            if echoes.any(|(index, text)| on_text(piece(index, text.clone())).is_break()) {
                return Err(Refusal::client_gone());
            }
        }
        let mut ends = vec![0; requests.len() * self.samples];
        let mut told = 0;
        let continued = model.complete(&requests, &mut |progress| {
            cancel.flow()?;
            match progress {
                Progress::Reading { .. } => ControlFlow::Continue(()),
                Progress::Text(written) => {
                    told += written.text.len();
                    on_text(self.continuation(written, &mut ends))
                }
            }
        });
        let continued = continued.map_err(refused);
        let continued = continued.and_then(|all| cancel.check().map(|()| all));
        let written = written(&continued, told);
        // So that it is not free to leave before the end.
        if continued.is_ok() || told > 0 {
            reserved.settle(read + written);
        }
        let usage = Usage::of([read, written]);
        Ok((self.choices(&echoed, continued?), usage))
    }

    /// Writes the texts as events, of which the last is returned.
    fn write_events(
        self,
        served: &Served,
        cancel: &Cancel,
        reserved: Reserved,
        tell: &Tell,
    ) -> Result<CompletionNews, Refusal> {
        let mut send = |piece| match tell.send(Ok(CompletionNews::Text(piece))) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        let (choices, usage) = self.write(served, cancel, reserved, &mut send)?;
        for choice in choices {
            // Its text and log probabilities were sent before.
            let _ = send(Continuation {
                text: String::new(),
                logprobs: None,
                ..choice
            });
        }
        Ok(CompletionNews::Done(Some(usage)))
    }

    /// A piece as it is sent; its tokens begin where the earlier ones ended.
    ///
    /// # Shapes
    /// `ends`: `[continuations]`.
    fn continuation(&self, written: Piece<'_>, ends: &mut [usize]) -> Continuation {
        let index = written.request * self.samples + written.sample;
        let logprobs = self.logprobs.map(|_| {
            let mut logprobs = Logprobs::default();
            logprobs.extend(written.logprobs, ends[index]);
            ends[index] = logprobs.end().unwrap_or(ends[index]);
            logprobs
        });
        Continuation {
            logprobs,
            ..piece(index, written.text.to_owned())
        }
    }

    /// # Errors
    /// More log probabilities than fit into a response.
    fn check_logprobs(&self, read: usize, context: usize) -> Result<(), Refusal> {
        let Some(logprobs) = self.logprobs else {
            return Ok(());
        };
        let written = self.options.max_tokens.min(context) * self.samples * self.prompts.len();
        let scored = if logprobs.prompt {
            read * self.samples
        } else {
            0
        };
        if (written + scored) * (logprobs.top + 1) > MOST_LOGPROBS {
            let message = "these are too many log probabilities for one response; send fewer prompts at once, or ask for fewer tokens";
            Err(Refusal::invalid("logprobs", message))
        } else {
            Ok(())
        }
    }

    /// Each prompt's value for each of its continuations, with the index of the continuation.
    fn in_order<'v, T>(&self, values: &'v [T]) -> impl Iterator<Item = (usize, &'v T)> {
        let samples = self.samples;
        values
            .iter()
            .flat_map(move |value| std::iter::repeat_n(value, samples))
            .enumerate()
    }

    fn choices(&self, echoed: &[String], continued: Vec<TextCompletion>) -> Vec<Continuation> {
        let mut choices = Vec::with_capacity(continued.len() * self.samples);
        for (echoed, TextCompletion { prompt, samples }) in echoed.iter().zip(continued) {
            for (written, tokens) in samples {
                let logprobs = self.logprobs.map(|_| {
                    let mut logprobs = Logprobs::default();
                    logprobs.extend(&prompt, 0);
                    logprobs.extend(&tokens, 0);
                    logprobs
                });
                choices.push(Continuation {
                    index: choices.len(),
                    text: format!("{echoed}{}", written.text),
                    logprobs,
                    finish_reason: Some(match written.finish {
                        Finish::Length => "length",
                        _ => "stop",
                    }),
                });
            }
        }
        choices
    }
}

impl Prompt {
    fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Tokens(tokens) => tokens.is_empty(),
        }
    }

    fn estimate(&self) -> usize {
        match self {
            Self::Text(text) => estimated_tokens(text.len()),
            Self::Tokens(tokens) => tokens.len(),
        }
    }
}

/// The tokens that were written; if the work broke off, about those of so many bytes.
fn written(continued: &Result<Vec<TextCompletion>, Refusal>, told: usize) -> usize {
    match continued {
        Ok(all) => {
            let samples = all.iter().flat_map(|continued| &continued.samples);
            samples.map(|(text, _)| text.tokens).sum()
        }
        Err(_) => estimated_tokens(told),
    }
}

impl Logprobs {
    /// Where the last token ends, in code points.
    fn end(&self) -> Option<usize> {
        let (offset, token) = self.text_offset.last().zip(self.tokens.last())?;
        Some(offset + token.chars().count())
    }

    /// Adds tokens; the first of all begins at `start`.
    fn extend(&mut self, tokens: &[TokenLogprob], start: usize) {
        for token in tokens {
            self.text_offset.push(self.end().unwrap_or(start));
            self.tokens.push(token.text.clone());
            self.token_logprobs.push(token.logprob);
            self.top_logprobs.push(token.logprob.map(|own| {
                // Two tokens may have one text; the more likely one keeps it.
                let mut likely: BTreeMap<String, f32> = token.top.iter().rev().cloned().collect();
                likely.entry(token.text.clone()).or_insert(own);
                likely
            }));
        }
    }
}

/// A piece of a continuation that goes on.
fn piece(index: usize, text: String) -> Continuation {
    Continuation {
        index,
        text,
        logprobs: None,
        finish_reason: None,
    }
}

/// The events of streamed continuations.
enum CompletionNews {
    /// One of them goes on, or ends.
    Text(Continuation),
    /// A chunk from the model's own server.
    Said(Box<Value>),
    /// All have ended; with the usage, if it was not sent yet.
    Done(Option<Usage>),
}

impl News for CompletionNews {
    fn is_last(&self) -> bool {
        matches!(self, Self::Done(_))
    }
}

/// Sends them to the response.
type Tell = UnboundedSender<Result<CompletionNews, Refusal>>;

/// What all chunks of a response share.
struct Heading {
    id: String,
    created: u64,
    model: String,
}

impl Heading {
    fn with(&self, choices: Vec<Continuation>, usage: Option<Option<Usage>>) -> Completions<'_> {
        Completions {
            id: &self.id,
            object: "text_completion",
            created: self.created,
            model: &self.model,
            choices,
            usage,
        }
    }
}

/// The chunks of a stream.
struct Chunks {
    heading: Heading,
    /// Whether it ends with the usage.
    usage: bool,
}

impl Wording for Chunks {
    type News = CompletionNews;

    fn word(&mut self, news: CompletionNews) -> Vec<Bytes> {
        match news {
            CompletionNews::Said(chunk) => {
                let costs = chunk["choices"].as_array().is_none_or(Vec::is_empty);
                let event = (self.usage || !costs).then(|| events::data(&chunk));
                event.into_iter().collect()
            }
            // The usage was sent before.
            CompletionNews::Done(None) => vec![events::done()],
            CompletionNews::Text(choice) => {
                let usage = self.usage.then_some(None);
                vec![events::data(&self.heading.with(vec![choice], usage))]
            }
            CompletionNews::Done(Some(usage)) => {
                let last = self.heading.with(Vec::new(), Some(Some(usage)));
                let last = self.usage.then(|| events::data(&last));
                last.into_iter().chain([events::done()]).collect()
            }
        }
    }
}

//! A language model behind an endpoint.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ken_http::Failed;
use ken_language::{
    Capabilities, Examples, Finish, GenerateOptions, GenerateRequest, Generation, LanguageModel,
    ModelError, Piece, Prompt, Sampling, Score, ScoreRequest,
};

use super::answer::{Choice, Usage, choices, usage};
use super::client::Client;
use super::endpoint::Endpoint;
use super::error::RemoteError;
use super::flight::in_flight;
use super::hand_out::Handed;
use super::route::{Order, Refused, Route, body};
use super::score::{self, Scoring};
use super::stream::stream;
use super::tokens;

/// The context where neither the endpoint nor the caller tells.
pub const DEFAULT_CONTEXT_TOKENS: usize = 4096;

/// A language model behind an OpenAI-compatible endpoint.
///
/// A prompt is sent as text to be continued where the endpoint takes such, and as a conversation
/// where it does not. Special tokens that are written out in a text are read as the endpoint reads
/// them, and most read them as such.
#[derive(Debug)]
pub struct RemoteModel {
    client: Client,
    name: String,
    fingerprint: String,
    /// Tokens, where the endpoint tells.
    context: Option<usize>,
    route: Route,
    scoring: Option<Scoring>,
    logprobs: bool,
    counts: bool,
    refused: Refused,
    /// Whether it was found to write one sample a request.
    one_at_a_time: AtomicBool,
}

impl RemoteModel {
    /// Connects, and finds out what the endpoint can do by a few requests for a single token.
    ///
    /// # Errors
    /// A base URL that is none; an endpoint that cannot be reached, that refuses, or that offers
    /// several models of which none was named.
    pub fn connect(endpoint: Endpoint) -> Result<Self, RemoteError> {
        let (client, listed) = endpoint.connect()?;
        let fingerprint =
            ken_language::fingerprint_of_texts(&["endpoint", client.base(), &listed.name]);
        let scoring = score::survey(&client, &listed.name)?;
        let mut model = Self {
            client,
            name: listed.name,
            fingerprint,
            context: listed.context,
            route: Route::Completions,
            scoring,
            logprobs: false,
            counts: false,
            refused: Refused::default(),
            one_at_a_time: AtomicBool::new(false),
        };
        model.logprobs = match model.writes_logprobs() {
            Err(error) if error.is_refusal() && scoring.is_none() => {
                model.route = Route::Chat;
                model.writes_logprobs()?
            }
            told => told?,
        };
        model.counts = tokens::survey(&model.client, &model.name)?;
        Ok(model)
    }

    /// The model's name at its endpoint.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes a token, and returns whether its log probability was told.
    fn writes_logprobs(&self) -> Result<bool, RemoteError> {
        let prompt = Prompt {
            instruction: "Continue.",
            examples: Examples::Fixed(&[]),
            input: "The sky is".to_owned(),
            sourced: None,
        };
        let options = GenerateOptions {
            sampling: Sampling::Greedy,
            max_tokens: 1,
            stop: Vec::new(),
        };
        let (choices, _) = self.ask(&Order {
            prompt: &prompt,
            options: &options,
            max_tokens: 1,
            samples: 1,
            seed_offset: 0,
            stream: false,
        })?;
        Ok(choices.iter().any(|choice| !choice.tokens.is_empty()))
    }

    /// Sends a body made for an order, without what the endpoint turns out not to take.
    fn send<T>(
        &self,
        order: &Order<'_>,
        mut sent: impl FnMut(&serde_json::Value) -> Result<T, RemoteError>,
    ) -> Result<T, RemoteError> {
        loop {
            let body = body(self.route, &self.name, order, &self.refused);
            match sent(&body) {
                Err(error) if self.refused.learn(&error, &body) => {}
                answer => return answer,
            }
        }
    }

    /// The continuations that answer an order, at least one.
    fn ask(&self, order: &Order<'_>) -> Result<(Vec<Choice>, Usage), RemoteError> {
        let url = self.client.api(self.route.path());
        let answer = self.send(order, |body| self.client.post(&url, body))?;
        let mut choices = choices(&answer, self.route)
            .filter(|choices| !choices.is_empty())
            .ok_or(RemoteError::MissingField {
                url,
                field: "choices",
            })?;
        // For each there may be a question of how many tokens it has.
        choices.truncate(order.samples);
        let usage = usage(&answer).map_err(|absurd| self.client.absurd(&absurd))?;
        Ok((choices, usage))
    }

    /// What is written where no token may be.
    fn nothing(&self, prompt: &Prompt) -> Result<Generation, RemoteError> {
        let choice = Choice {
            finish: Some(Finish::Length),
            ..Choice::default()
        };
        let usage = Usage {
            prompt: None,
            written: Some(0),
        };
        self.generation(prompt, choice, usage, Duration::ZERO, Duration::ZERO)
    }

    /// Writes `order.samples` continuations: in one request where the endpoint can, else in
    /// requests that differ by their seed.
    fn samples(&self, mut order: Order<'_>) -> Result<Vec<Written>, RemoteError> {
        let wanted = order.samples;
        if order.max_tokens == 0 {
            let written = Written {
                choice: Choice::default(),
                generation: self.nothing(order.prompt)?,
            };
            return Ok(vec![written; wanted]);
        }
        let mut written = Vec::with_capacity(wanted);
        // All greedy samples are the same, and some endpoints refuse to write several.
        let greedy = order.options.sampling == Sampling::Greedy;
        if greedy || self.one_at_a_time.load(Ordering::Relaxed) {
            order.samples = 1;
        }
        loop {
            let started = Instant::now();
            let (choices, usage) = match self.ask(&order) {
                Err(error) if order.samples > 1 && error.refuses("n") => {
                    self.one_at_a_time.store(true, Ordering::Relaxed);
                    order.samples = 1;
                    continue;
                }
                answer => answer?,
            };
            if choices.len() < order.samples {
                self.one_at_a_time.store(true, Ordering::Relaxed);
            }
            let time = started.elapsed();
            let alone = choices.len() == 1;
            for choice in choices {
                let usage = Usage {
                    written: usage.written.filter(|_| alone),
                    ..usage
                };
                let whole = choice.clone();
                written.push(Written {
                    choice,
                    generation: self.generation(
                        order.prompt,
                        whole,
                        usage,
                        Duration::ZERO,
                        time,
                    )?,
                });
            }
            if let (true, Some(first)) = (greedy, written.first()) {
                written.resize(wanted, first.clone());
            }
            if written.len() >= wanted {
                written.truncate(wanted);
                return Ok(written);
            }
            order.samples = 1;
            order.seed_offset = written.len() as u64;
        }
    }

    /// Writes one continuation and hands out its pieces as they come.
    fn streamed(
        &self,
        order: &Order<'_>,
        on_piece: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generation, RemoteError> {
        if order.max_tokens == 0 {
            return self.nothing(order.prompt);
        }
        let mut started = Instant::now();
        let streamed = self.send(order, |body| {
            let body = body.to_string();
            self.client.persist(|| -> Result<_, Failed<RemoteError>> {
                started = Instant::now();
                stream(&self.client, self.route, &body, on_piece)
            })
        })?;
        let until_first = streamed.until_first;
        let time = started.elapsed().saturating_sub(until_first);
        self.generation(
            order.prompt,
            streamed.choice,
            streamed.usage,
            until_first,
            time,
        )
    }

    /// A continuation with its tokens counted: by its log probabilities, by the endpoint, or else
    /// by its length.
    fn generation(
        &self,
        prompt: &Prompt,
        choice: Choice,
        usage: Usage,
        prompt_time: Duration,
        write_time: Duration,
    ) -> Result<Generation, RemoteError> {
        let tokens = match (choice.tokens.len(), usage.written) {
            (0, Some(written)) => written,
            (0, None) => self.count(&choice.text)?,
            (told, _) => told,
        };
        Ok(Generation {
            tokens,
            logprobs: choice.logprobs(),
            entropies: None,
            margins: choice.margins(),
            text: choice.text,
            finish: choice.finish.unwrap_or(Finish::End),
            prompt_tokens: match usage.prompt {
                Some(tokens) => tokens,
                None => self.count_prompt(prompt)?,
            },
            prompt_time,
            write_time,
        })
    }

    fn count(&self, text: &str) -> Result<usize, RemoteError> {
        if self.counts {
            tokens::count(&self.client, &self.name, text, false)
        } else {
            Ok(tokens::estimate(text))
        }
    }

    fn count_prompt(&self, prompt: &Prompt) -> Result<usize, RemoteError> {
        let (shared, rest) = prompt.text();
        let text = shared + rest;
        let tokens = if self.counts {
            tokens::count(&self.client, &self.name, &text, true)?
        } else {
            tokens::estimate(&text)
        };
        let turns = match self.route {
            Route::Completions => 0,
            Route::Chat => 2 + 2 * prompt.examples.len(),
        };
        Ok(tokens + turns * tokens::TOKENS_PER_TURN)
    }

    /// How many of `max_tokens` the context has room for. Where the endpoint does not tell the
    /// context or does not count, it must find out itself.
    fn room(&self, prompt: &Prompt, max_tokens: usize) -> Result<usize, RemoteError> {
        let (Some(context), true, Route::Completions) = (self.context, self.counts, self.route)
        else {
            return Ok(max_tokens);
        };
        let (shared, rest) = prompt.text();
        // A token has at least one byte, so the most prompts need no counting.
        let most = shared.len() + rest.len() + tokens::TOKENS_PER_TURN;
        if most.saturating_add(max_tokens) <= context {
            return Ok(max_tokens);
        }
        let received = self.count_prompt(prompt)?;
        if received >= context {
            return Err(RemoteError::ContextExceeded {
                url: self.client.base().to_owned(),
                detail: format!("it has {received} tokens, the context {context}"),
            });
        }
        Ok(max_tokens.min(context - received))
    }

    fn order<'a>(
        &self,
        request: &GenerateRequest<'a, Prompt>,
        stream: bool,
    ) -> Result<Order<'a>, RemoteError> {
        Ok(Order {
            prompt: request.prompt,
            options: request.options,
            max_tokens: self.room(request.prompt, request.options.max_tokens)?,
            samples: request.samples,
            seed_offset: 0,
            stream,
        })
    }

    fn write(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        on_piece: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, RemoteError> {
        if requests.iter().any(|request| request.samples == 0) {
            return Err(RemoteError::NoSamples);
        }
        if let [request] = requests
            && request.samples == 1
        {
            let order = self.order(request, true)?;
            let written = self.streamed(&order, &mut |text| {
                on_piece(Piece {
                    request: 0,
                    sample: 0,
                    text,
                })
            })?;
            return Ok(vec![vec![written]]);
        }
        let jobs = self.jobs(requests);
        let mut written: Vec<Vec<Vec<Generation>>> = requests.iter().map(|_| Vec::new()).collect();
        for job in &jobs {
            written[job.request].push(vec![unwritten(); job.samples]);
        }
        let work = |index: usize| {
            let job = &jobs[index];
            let order = self.order(&requests[job.request], false)?;
            self.samples(Order {
                samples: job.samples,
                seed_offset: job.first as u64,
                ..order
            })
        };
        let outcome = in_flight(
            self.client.concurrency(),
            jobs.len(),
            &work,
            &mut |index, samples| {
                let job = &jobs[index];
                let samples = samples.into_iter().enumerate().map(|(sample, written)| {
                    written.handed_out(&mut |text| {
                        on_piece(Piece {
                            request: job.request,
                            sample: job.first + sample,
                            text,
                        })
                    })
                });
                written[job.request][job.part] = samples.collect();
            },
        );
        match outcome {
            // What was written by then is not lost.
            Ok(()) | Err(RemoteError::Interrupted { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(written
            .into_iter()
            .map(|parts| parts.into_iter().flatten().collect())
            .collect())
    }

    /// What is asked for at a time: all samples of a request, or each alone where the endpoint
    /// writes only one a request.
    fn jobs(&self, requests: &[GenerateRequest<'_, Prompt>]) -> Vec<Job> {
        let apart = self.one_at_a_time.load(Ordering::Relaxed);
        let mut jobs = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            let apart = apart && request.options.sampling != Sampling::Greedy;
            let parts = if apart { request.samples } else { 1 };
            jobs.extend((0..parts).map(|part| Job {
                request: index,
                part,
                first: part,
                samples: if apart { 1 } else { request.samples },
            }));
        }
        jobs
    }
}

/// What stands for a continuation that a stop leaves unwritten.
fn unwritten() -> Generation {
    Generation {
        text: String::new(),
        tokens: 0,
        logprobs: None,
        entropies: None,
        margins: None,
        finish: Finish::Cancelled,
        prompt_tokens: 0,
        prompt_time: Duration::ZERO,
        write_time: Duration::ZERO,
    }
}

/// A continuation that was written whole and not handed out yet.
#[derive(Clone)]
struct Written {
    choice: Choice,
    generation: Generation,
}

impl Written {
    /// Hands the text out, and returns what of it was written until the caller broke off.
    fn handed_out(mut self, on_piece: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Generation {
        let flow = self.choice.hand_out(&mut Handed::default(), on_piece);
        if flow.is_continue() {
            return self.generation;
        }
        let (logprobs, margins) = (self.choice.logprobs(), self.choice.margins());
        Generation {
            text: self.choice.text,
            tokens: logprobs.as_ref().map_or(self.generation.tokens, Vec::len),
            logprobs,
            margins,
            finish: Finish::Cancelled,
            ..self.generation
        }
    }
}

/// Samples that are asked for together.
struct Job {
    request: usize,
    /// The place among the request's jobs.
    part: usize,
    /// The first sample's index.
    first: usize,
    samples: usize,
}

impl LanguageModel for RemoteModel {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            score: self.scoring.is_some(),
            logprobs: self.logprobs,
            hidden_layers: None,
            examples: true,
        }
    }

    /// As the endpoint tells, else [`DEFAULT_CONTEXT_TOKENS`].
    fn context_tokens(&self) -> usize {
        self.context.unwrap_or(DEFAULT_CONTEXT_TOKENS)
    }

    fn count_tokens(&self, text: &str) -> Result<usize, ModelError> {
        Ok(self.count(text)?)
    }

    fn count_prompt_tokens(&self, prompt: &Prompt) -> Result<usize, ModelError> {
        Ok(self.count_prompt(prompt)?)
    }

    /// A single sample is streamed. Otherwise several requests are in flight, each text is handed
    /// out once it is written whole, and those that a stop leaves unwritten are broken off.
    fn generate(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        on_piece: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, ModelError> {
        Ok(self.write(requests, on_piece)?)
    }

    fn score(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<Score>>, ModelError> {
        let Some(way) = self.scoring else {
            return Err(RemoteError::CannotScore {
                url: self.client.base().to_owned(),
                lacks: match self.route {
                    Route::Completions => {
                        "it tells the log probabilities of a prompt neither by \
                         `prompt_logprobs` nor by `echo`"
                    }
                    Route::Chat => "it has no /completions to continue text with",
                },
            }
            .into());
        };
        Ok(score::score(&self.client, &self.name, way, requests)?)
    }

    fn hidden(&self, _prompts: &[&Prompt], _layer: usize) -> Result<Vec<Vec<f32>>, ModelError> {
        Err(RemoteError::CannotShowHidden {
            url: self.client.base().to_owned(),
        }
        .into())
    }
}

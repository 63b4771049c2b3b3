//! Language models behind endpoints.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ken_http::Patience;
use ken_language::{
    CancelToken, Capabilities, ChatServer, Examples, Finish, GenerateOptions, GenerateRequest,
    Generation, LanguageModel, ModelError, Piece, Progress, Prompt, Reply, Sampling, Score,
    ScoreRequest, Thoughts, fingerprint_of_texts,
};

use super::client::Client;
use super::detokenize::Emitted;
use super::endpoint::Endpoint;
use super::error::{Failure, RemoteError};
use super::in_flight::for_each_concurrent;
use super::max_tokens::Allowance;
use super::response::{Choice, Usage, completions};
use super::route::{CompletionRequest, Route, Unsupported, body, whole_text};
use super::score::{self, Probed, Scorer, Scoring};
use super::stream::{Received, stream};
use super::tokens;

/// The time for an endpoint to show that it responds.
const PING: Duration = Duration::from_secs(2);

/// The context length if neither the endpoint nor the caller states one.
const DEFAULT_CONTEXT_TOKENS: usize = 4096;

/// A language model behind an OpenAI-compatible endpoint.
///
/// A prompt for a line is sent as text to continue if the endpoint accepts that, else as a conversation; a prompt for
/// a whole text is sent as a conversation if the endpoint accepts that, else as text. Endpoints decide how to read
/// special tokens that are spelled out in a text, and most interpret them.
#[derive(Debug, Clone)]
pub struct RemoteModel {
    pub(super) client: Client,
    name: String,
    fingerprint: String,
    /// In tokens, if the endpoint states it.
    context: Option<usize>,
    route: Route,
    scoring: Option<Scoring>,
    logprobs: bool,
    counts_tokens: bool,
    pub(super) unsupported: Arc<Unsupported>,
    /// Whether the endpoint turned out to refuse conversations.
    refuses_chat: Arc<AtomicBool>,
    /// Whether the endpoint turned out to return one sample per request.
    one_at_a_time: Arc<AtomicBool>,
    /// Whether the model turned out to think.
    thinks: Arc<AtomicBool>,
    /// Whether the model turned out to think without marking where that begins.
    thinks_unmarked: Arc<AtomicBool>,
}

impl RemoteModel {
    /// Connects, and probes the endpoint's capabilities with a few requests for a single token.
    ///
    /// # Errors
    /// An invalid base URL; an endpoint that cannot be reached, that refuses, or that serves several models although
    /// none was named.
    pub fn connect(endpoint: Endpoint) -> Result<Self, RemoteError> {
        let (client, listed) = endpoint.connect()?;
        let probed = score::probe(&client, &listed.name)?;
        let mut model = Self {
            fingerprint: fingerprint_of_texts(&["endpoint", client.base_url(), &listed.name]),
            client,
            name: listed.name,
            context: listed.context,
            route: match probed {
                Probed::NoRoute => Route::Chat,
                Probed::Scores(_) | Probed::No => Route::Completions,
            },
            scoring: match probed {
                Probed::Scores(scoring) => Some(scoring),
                Probed::No | Probed::NoRoute => None,
            },
            logprobs: false,
            counts_tokens: false,
            unsupported: Arc::default(),
            refuses_chat: Arc::default(),
            one_at_a_time: Arc::default(),
            thinks: Arc::default(),
            thinks_unmarked: Arc::default(),
        };
        model.logprobs = match model.probe_logprobs() {
            Err(error) if error.is_refusal() && probed == Probed::No => {
                model.route = Route::Chat;
                model.probe_logprobs()?
            }
            logprobs => logprobs?,
        };
        model.counts_tokens = tokens::probe(&model.client, &model.name)?;
        Ok(model)
    }

    /// The model's name at its endpoint.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Generates a token, and returns whether its log probability came with it.
    fn probe_logprobs(&self) -> Result<bool, RemoteError> {
        let input = "The sky is".to_owned();
        let prompt = Prompt::new("Continue.", Examples::Fixed(&[]), input);
        let options = GenerateOptions::new(Sampling::Greedy, 1);
        let request = GenerateRequest::new(&prompt, 1, &options);
        let (choices, _) = self.complete(&self.completion_request(&request, false)?)?;
        Ok(choices.iter().any(|choice| !choice.tokens.is_empty()))
    }

    /// Whether the endpoint turned out to refuse conversations.
    pub(super) fn refuses_chat(&self) -> bool {
        self.refuses_chat.load(Ordering::Relaxed)
    }

    /// The route that a prompt takes.
    fn route_of(&self, prompt: &Prompt) -> Route {
        match prompt.reply {
            Reply::Text | Reply::Turn if !self.refuses_chat() => Route::Chat,
            Reply::Text | Reply::Turn | Reply::Line => self.route,
        }
    }

    /// Sends the body of a request on its route, without the parameters that the endpoint turns out not to support.
    fn send<T>(
        &self,
        request: &CompletionRequest<'_>,
        mut send: impl FnMut(Route, &serde_json::Value) -> Result<T, RemoteError>,
    ) -> Result<T, RemoteError> {
        let mut has_no_chat = false;
        loop {
            let route = match has_no_chat {
                true => self.route,
                false => self.route_of(request.prompt),
            };
            let body = body(route, &self.name, request, &self.unsupported);
            match send(route, &body) {
                Err(error) if self.unsupported.record(&error, &body) => {}
                Err(error) if route != self.route && error.refuses_conversations() => {
                    has_no_chat = true;
                }
                response => {
                    // A model that is gone refuses text as well.
                    if has_no_chat && response.is_ok() {
                        self.refuses_chat.store(true, Ordering::Relaxed);
                    }
                    return response;
                }
            }
        }
    }

    /// The completions in the response to a request, at least one.
    fn complete(
        &self,
        request: &CompletionRequest<'_>,
    ) -> Result<(Vec<Choice>, Usage), RemoteError> {
        let (mut choices, usage) = self.send(request, |route, body| {
            let url = self.client.api_url(route.path());
            let response = self.client.post(&url, body)?;
            completions(&self.client, &url, &response, route)
        })?;
        // Counting the tokens of each completion may take a request.
        choices.truncate(request.samples);
        for choice in &mut choices {
            self.learn_of(choice);
            Allowance::of(request.max_tokens).take(choice);
        }
        Ok((choices, usage))
    }

    /// A completion without a token, for a limit of 0 tokens.
    fn empty_completion(&self, prompt: &Prompt) -> Result<Completion, RemoteError> {
        let mut received = Received::default();
        received.choice.finish = Some(Finish::Length);
        received.usage.completion = Some(0);
        self.completion(prompt, received)
    }

    /// Generates `request.samples` completions: in one request if the endpoint can, else in requests
    /// that differ by their seed.
    fn sample(&self, mut request: CompletionRequest<'_>) -> Result<Vec<Completion>, RemoteError> {
        let samples = request.samples;
        if request.max_tokens == 0 {
            return Ok(vec![self.empty_completion(request.prompt)?; samples]);
        }
        let mut completions = Vec::with_capacity(samples);
        // All greedy samples are the same, and some endpoints refuse to generate several.
        let greedy = request.options.sampling == Sampling::Greedy;
        if greedy || self.one_at_a_time.load(Ordering::Relaxed) {
            request.samples = 1;
        }
        loop {
            let started = Instant::now();
            let (choices, usage) = match self.complete(&request) {
                Err(error) if request.samples > 1 && error.rejects("n") => {
                    self.one_at_a_time.store(true, Ordering::Relaxed);
                    request.samples = 1;
                    continue;
                }
                response => response?,
            };
            if choices.len() < request.samples {
                self.one_at_a_time.store(true, Ordering::Relaxed);
            }
            let write_time = started.elapsed();
            let usage = Usage {
                completion: usage.completion.filter(|_| choices.len() == 1),
                ..usage
            };
            for choice in choices {
                let received = Received {
                    choice,
                    usage,
                    write_time,
                    ..Received::default()
                };
                completions.push(self.completion(request.prompt, received)?);
            }
            if let (true, Some(first)) = (greedy, completions.first()) {
                completions.resize(samples, first.clone());
            }
            if completions.len() >= samples {
                completions.truncate(samples);
                return Ok(completions);
            }
            request.samples = 1;
            request.seed_offset = completions.len() as u64;
        }
    }

    /// Generates one completion and emits its pieces as they arrive.
    fn stream(
        &self,
        request: &CompletionRequest<'_>,
        on_piece: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Completion, RemoteError> {
        if request.max_tokens == 0 {
            return self.empty_completion(request.prompt);
        }
        let received = self.send(request, |route, body| {
            let (body, thoughts) = (body.to_string(), self.thoughts(route, request.prompt.reply));
            self.client.with_retries(|| {
                let (most, thoughts) = (request.max_tokens, thoughts.clone());
                stream(&self.client, route, &body, most, thoughts, on_piece)
            })
        })?;
        self.learn_of(&received.choice);
        if received.thinks_unmarked {
            self.thinks_unmarked.store(true, Ordering::Relaxed);
        }
        self.completion(request.prompt, received)
    }

    /// Records whether the model thinks.
    fn learn_of(&self, choice: &Choice) {
        if choice.has_thoughts {
            self.thinks.store(true, Ordering::Relaxed);
        }
    }

    /// How thoughts are separated from a streamed answer. A line in a conversation is held back until its end, since
    /// it may begin with thoughts, whose first line would be taken for the answer.
    fn thoughts(&self, route: Route, reply: Reply) -> Thoughts {
        match (route, reply) {
            (Route::Completions, _) => Thoughts::default(),
            (Route::Chat, Reply::Text | Reply::Turn)
                if !self.thinks_unmarked.load(Ordering::Relaxed) =>
            {
                Thoughts::suspected()
            }
            (Route::Chat, _) => Thoughts::held(),
        }
    }

    /// A completion with its tokens counted: by its log probabilities, by the endpoint, or else
    /// estimated by its length.
    fn completion(&self, prompt: &Prompt, received: Received) -> Result<Completion, RemoteError> {
        let Received { choice, usage, .. } = &received;
        let tokens = choice.tokens.len() + choice.thought_tokens;
        let tokens = match (tokens, usage.completion) {
            (0, Some(tokens)) => tokens,
            (0, None) => self.count(&choice.text, false)?,
            (tokens, _) => tokens,
        };
        let prompt_tokens = match usage.prompt {
            Some(tokens) => tokens,
            None => self.count_prompt(prompt)?,
        };
        Ok(Completion {
            received,
            tokens,
            prompt_tokens,
        })
    }

    /// The tokens of a text; `special` includes those before every prompt.
    fn count(&self, text: &str, special: bool) -> Result<usize, RemoteError> {
        match self.counts_tokens {
            true => tokens::count(&self.client, &self.name, text, special),
            false => Ok(tokens::estimate(text)),
        }
    }

    fn count_prompt(&self, prompt: &Prompt) -> Result<usize, RemoteError> {
        let messages = match self.route_of(prompt) {
            Route::Completions => 0,
            Route::Chat => 2 + 2 * prompt.examples.len(),
        };
        let tokens = self.count(&whole_text(prompt), true)?;
        Ok(tokens + messages * tokens::TOKENS_PER_MESSAGE)
    }

    /// How many of `max_tokens` fit into the context after the prompt. An endpoint that does not state its context or
    /// does not count must check that itself.
    fn fitting_tokens(&self, prompt: &Prompt, max_tokens: usize) -> Result<usize, RemoteError> {
        let (Some(context), true, Route::Completions) =
            (self.context, self.counts_tokens, self.route_of(prompt))
        else {
            return Ok(max_tokens);
        };
        // A token has at least one byte, so most prompts need no counting.
        let most = whole_text(prompt).len() + tokens::TOKENS_PER_MESSAGE;
        if most.saturating_add(max_tokens) <= context {
            return Ok(max_tokens);
        }
        let received = self.count_prompt(prompt)?;
        if received >= context {
            let detail = format!("it has {received} tokens, the context {context}");
            let failure = Failure::at(self.client.base_url(), detail);
            return Err(RemoteError::ContextExceeded(failure));
        }
        Ok(max_tokens.min(context - received))
    }

    fn completion_request<'a>(
        &self,
        request: &GenerateRequest<'a, Prompt>,
        stream: bool,
    ) -> Result<CompletionRequest<'a>, RemoteError> {
        Ok(CompletionRequest {
            prompt: request.prompt,
            options: request.options,
            max_tokens: self.fitting_tokens(request.prompt, request.options.max_tokens)?,
            samples: request.samples,
            seed_offset: 0,
            stream,
            no_thinking: self.client.no_thinking() && self.thinks.load(Ordering::Relaxed),
        })
    }

    fn generate_all(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, RemoteError> {
        if requests.iter().any(|request| request.samples == 0) {
            return Err(RemoteError::NoSamples);
        }
        let mut emit = |request, sample, text: &str| match text {
            // The answer has not begun: the model thinks.
            "" => on_progress(Progress::Reading {
                request,
                read: 0,
                tokens: 0,
            }),
            text => on_progress(Progress::Text(Piece {
                request,
                sample,
                text,
                logprobs: &[],
            })),
        };
        if let [request @ GenerateRequest { samples: 1, .. }] = requests {
            let request = self.completion_request(request, true)?;
            let completion = self.stream(&request, &mut |text| emit(0, 0, text))?;
            return Ok(vec![vec![completion.into_generation()]]);
        }
        let jobs = self.jobs(requests);
        let mut generations: Vec<Vec<Generation>> = requests
            .iter()
            .map(|request| vec![Completion::cancelled().into_generation(); request.samples])
            .collect();
        let work = |index: usize| {
            let job = &jobs[index];
            self.sample(CompletionRequest {
                samples: job.samples,
                seed_offset: job.first as u64,
                ..self.completion_request(&requests[job.request], false)?
            })
        };
        let done = |index: usize, completions: Vec<Completion>| {
            let job: &Job = &jobs[index];
            for (sample, mut completion) in (job.first..).zip(completions) {
                let mut on_piece = |text: &str| emit(job.request, sample, text);
                // A break is recorded in how the completion ended.
                let choice = &mut completion.received.choice;
                let _ = choice.emit(&mut Emitted::default(), &mut on_piece);
                generations[job.request][sample] = completion.into_generation();
            }
        };
        match for_each_concurrent(self.client.concurrency(), jobs.len(), work, done) {
            Ok(()) => Ok(generations),
            // A stop keeps what was generated so far, except for a question, which has no use for a partial answer.
            Err(RemoteError::Interrupted(_)) if self.client.left().is_none() => Ok(generations),
            Err(error) => Err(error),
        }
    }

    /// The unit of requests: all samples of a request, or each alone if the endpoint returns only one per request.
    /// only one per request.
    fn jobs(&self, requests: &[GenerateRequest<'_, Prompt>]) -> Vec<Job> {
        let one_at_a_time = self.one_at_a_time.load(Ordering::Relaxed);
        let mut jobs = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            let greedy = request.options.sampling == Sampling::Greedy;
            let samples = match one_at_a_time && !greedy {
                true => 1,
                false => request.samples,
            };
            jobs.extend((0..request.samples).step_by(samples).map(|first| Job {
                request: index,
                first,
                samples,
            }));
        }
        jobs
    }
}

/// Samples of one HTTP request.
struct Job {
    request: usize,
    /// The first sample's index.
    first: usize,
    samples: usize,
}

/// A completion with its counts.
#[derive(Clone, Default)]
struct Completion {
    received: Received,
    /// How many tokens were generated, if the tokens of the choice do not show it.
    tokens: usize,
    prompt_tokens: usize,
}

impl Completion {
    /// What a stop leaves of a completion that was not generated.
    fn cancelled() -> Self {
        let mut completion = Self::default();
        completion.received.choice.finish = Some(Finish::Cancelled);
        completion
    }

    fn into_generation(self) -> Generation {
        let choice = self.received.choice;
        Generation {
            tokens: match choice.tokens.len() {
                0 => self.tokens,
                tokens => tokens + choice.thought_tokens,
            },
            logprobs: choice.logprobs(),
            entropies: None,
            margins: choice.margins(),
            finish: choice.ending(),
            refusal: Some(choice.refusal).filter(|refusal| !refusal.is_empty()),
            text: choice.text,
            prompt_tokens: self.prompt_tokens,
            prompt_time: self.received.prompt_time,
            write_time: self.received.write_time,
        }
    }
}

impl LanguageModel for RemoteModel {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            converses: true,
            // Not measured.
            assures: false,
            score: self.scoring.is_some(),
            logprobs: self.logprobs,
            hidden_layers: None,
            examples: true,
        }
    }

    /// As the endpoint states it, else 4,096.
    fn context_tokens(&self) -> usize {
        self.context.unwrap_or(DEFAULT_CONTEXT_TOKENS)
    }

    fn count_tokens(&self, text: &str) -> Result<usize, ModelError> {
        Ok(self.count(text, false)?)
    }

    fn count_prompt_tokens(&self, prompt: &Prompt) -> Result<usize, ModelError> {
        Ok(self.count_prompt(prompt)?)
    }

    /// A single sample is streamed. Otherwise several requests are in flight, each text is emitted once it is
    /// complete, and texts that a stop leaves unfinished are returned as cancelled.
    fn generate(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, ModelError> {
        Ok(self.generate_all(requests, on_progress)?)
    }

    fn score(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<Score>>, ModelError> {
        let Some(scoring) = self.scoring else {
            let reason = match self.route {
                Route::Completions => {
                    "it returns the log probabilities of a prompt neither by `prompt_logprobs` nor \
                     by `echo`"
                }
                Route::Chat => "it has no /completions to continue text with",
            };
            let failure = Failure::at(self.client.base_url(), reason);
            return Err(RemoteError::CannotScore(failure).into());
        };
        let scorer = Scorer {
            client: &self.client,
            model: &self.name,
            scoring,
        };
        Ok(scorer.score_all(requests)?)
    }

    fn hidden(&self, _prompts: &[&Prompt], _layer: usize) -> Result<Vec<Vec<f32>>, ModelError> {
        Err(RemoteError::CannotShowHidden(self.client.base_url().to_owned()).into())
    }

    fn chat_server(&self) -> Option<&dyn ChatServer> {
        Some(self)
    }

    fn not_taken(&self) -> Vec<&'static str> {
        self.unsupported.sampling()
    }

    fn ready(&self) -> Result<(), ModelError> {
        Ok(self.client.ping(PING)?)
    }

    fn bound(&self, token: &CancelToken) -> Option<Arc<dyn LanguageModel>> {
        Some(Arc::new(Self {
            client: self.client.bound(token),
            ..self.clone()
        }))
    }
}

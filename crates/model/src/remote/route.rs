//! The two routes of the API that generate text, and the bodies of their requests.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_language::{GenerateOptions, Prompt, Sampling};
use serde_json::{Value, json};

use super::error::RemoteError;

/// The route that generates text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// `/completions`: the endpoint continues the prompt's text.
    Completions,
    /// `/chat/completions`: the endpoint answers the prompt's conversation.
    Chat,
}

impl Route {
    /// Its path below the base URL.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Completions => "completions",
            Self::Chat => "chat/completions",
        }
    }
}

/// Parameters that not every endpoint supports. `top_logprobs` stands for the log probability of the runner-up, which
/// requests for completions select by the number in `logprobs`; newer services call `max_tokens` of a chat completion
/// differently. Models that think accept no `temperature` and no `top_p`, so their answers are random.
const OPTIONAL: [&str; 10] = [
    "top_logprobs",
    "logprobs",
    "top_k",
    "min_p",
    "seed",
    "stream_options",
    "max_tokens",
    "temperature",
    "top_p",
    NO_THINKING,
];

/// The arguments of the chat template that ask a model not to think.
pub(super) const NO_THINKING: &str = "chat_template_kwargs";

/// The parameters that answers depend on.
const SAMPLING: [&str; 2] = ["temperature", "top_p"];

/// The parameters that an endpoint turned out not to support.
#[derive(Debug, Default)]
pub(super) struct Unsupported {
    parameters: [AtomicBool; OPTIONAL.len()],
    /// Whether it accepts no system message.
    system: AtomicBool,
}

impl Unsupported {
    /// Whether a parameter is among them.
    pub(super) fn has(&self, parameter: &str) -> bool {
        let mut known = OPTIONAL.iter().zip(&self.parameters);
        known.any(|(name, unsupported)| *name == parameter && unsupported.load(Ordering::Relaxed))
    }

    /// Those that change answers.
    pub(super) fn sampling(&self) -> Vec<&'static str> {
        let all = SAMPLING.into_iter();
        all.filter(|parameter| self.has(parameter)).collect()
    }

    /// Records a parameter.
    pub(super) fn learn(&self, parameter: &str) {
        for (name, unsupported) in OPTIONAL.into_iter().zip(&self.parameters) {
            if name == parameter {
                unsupported.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Records the parameter because of which the endpoint rejected `body`. Returns whether the request can be
    /// repeated without one.
    pub(super) fn record(&self, error: &RemoteError, body: &Value) -> bool {
        if body.pointer("/messages/0/role") == Some(&json!("system")) && error.rejects_system() {
            return !self.system.swap(true, Ordering::Relaxed);
        }
        for (name, unsupported) in OPTIONAL.into_iter().zip(&self.parameters) {
            let (name, needed) = match name {
                "top_logprobs" if body["logprobs"] == RUNNER_UP => ("logprobs", false),
                "top_k" => (name, body["top_k"] != ALL_TOKENS),
                "max_tokens" => (name, body.get("messages").is_none()),
                // A value that the client of the gateway set is the client's to change.
                "temperature" | "top_p" => {
                    let value = body[name].as_f64().unwrap_or_default();
                    (name, !is_usual(value as f32))
                }
                _ => (name, false),
            };
            if !needed && body.get(name).is_some() && error.rejects(name) {
                // Another thread may have found it out before.
                unsupported.store(true, Ordering::Relaxed);
                return true;
            }
        }
        false
    }
}

/// `top_k` for all tokens, as both vLLM and llama-server understand it. It is always sent because their defaults
/// differ.
const ALL_TOKENS: i64 = -1;

/// How many log probabilities are requested for each token of a greedy completion: that of the most
/// likely token and of the runner-up.
const RUNNER_UP: u64 = 2;

/// Whether `ken` itself sets this temperature or share of the probability.
fn is_usual(value: f32) -> bool {
    value == 0.0 || value == 1.0
}

/// The content of one request.
pub(super) struct CompletionRequest<'a> {
    pub(super) prompt: &'a Prompt,
    pub(super) options: &'a GenerateOptions,
    pub(super) max_tokens: usize,
    pub(super) samples: usize,
    /// Added to the seed.
    pub(super) seed_offset: u64,
    pub(super) stream: bool,
    /// Whether to ask the model not to think.
    pub(super) no_thinking: bool,
}

/// The body of a request.
pub(super) fn body(
    route: Route,
    model: &str,
    request: &CompletionRequest<'_>,
    unsupported: &Unsupported,
) -> Value {
    let mut body = json!({"model": model});
    let supported = |parameter| !unsupported.has(parameter);
    match route {
        Route::Completions => body["prompt"] = json!(whole_text(request.prompt)),
        Route::Chat => {
            let has_system = !unsupported.system.load(Ordering::Relaxed);
            body["messages"] = messages(request.prompt, has_system);
            if request.no_thinking && supported(NO_THINKING) {
                body[NO_THINKING] = json!({"enable_thinking": false, "thinking": false});
            }
        }
    }
    let limit = match route {
        Route::Chat if unsupported.has("max_tokens") => "max_completion_tokens",
        _ => "max_tokens",
    };
    body[limit] = json!(request.max_tokens);
    if request.samples > 1 {
        body["n"] = json!(request.samples);
    }
    let stop = request.options.stop.iter();
    let stop: Vec<&String> = stop.filter(|stop| !stop.is_empty()).collect();
    if !stop.is_empty() {
        body["stop"] = json!(stop);
    }
    let greedy = request.options.sampling == Sampling::Greedy;
    put_sampling(&mut body, request, unsupported);
    if supported("logprobs") {
        let runner_up = greedy && supported("top_logprobs");
        match route {
            Route::Completions => body["logprobs"] = json!(if runner_up { RUNNER_UP } else { 1 }),
            Route::Chat => {
                body["logprobs"] = json!(true);
                if runner_up {
                    body["top_logprobs"] = json!(RUNNER_UP);
                }
            }
        }
    }
    if request.stream {
        body["stream"] = json!(true);
        if supported("stream_options") {
            body["stream_options"] = json!({"include_usage": true});
        }
    }
    body
}

/// Adds the sampling parameters to a body.
fn put_sampling(body: &mut Value, request: &CompletionRequest<'_>, unsupported: &Unsupported) {
    let supported = |parameter| !unsupported.has(parameter);
    let mut put = |parameter: &'static str, value: f32| {
        if supported(parameter) || !is_usual(value) {
            body[parameter] = json!(value);
        }
    };
    match request.options.sampling {
        Sampling::Greedy => put("temperature", 0.0),
        Sampling::Random {
            temperature,
            top_k,
            top_p,
            seed,
        } => {
            put("temperature", temperature);
            put("top_p", top_p.unwrap_or(1.0));
            if top_k.is_some() || supported("top_k") {
                body["top_k"] = top_k.map_or(json!(ALL_TOKENS), |k| json!(k));
            }
            if supported("min_p") {
                body["min_p"] = json!(0.0);
            }
            if supported("seed") {
                // Endpoints take signed numbers.
                let seed = seed.wrapping_add(request.seed_offset) & i64::MAX as u64;
                body["seed"] = json!(seed);
            }
        }
    }
}

/// A prompt as text to continue.
pub(super) fn whole_text(prompt: &Prompt) -> String {
    let (shared, rest) = prompt.text();
    shared + &rest
}

/// A prompt as a conversation. Without a system message, the user's message contains the instruction.
fn messages(prompt: &Prompt, has_system: bool) -> Value {
    let message = |role: &str, content: &str| json!({"role": role, "content": content});
    let mut messages = Vec::with_capacity(2 + 2 * prompt.examples.len());
    let mut instruction = prompt.instruction.to_string();
    if has_system && !instruction.is_empty() {
        messages.push(message("system", &std::mem::take(&mut instruction)));
    }
    let mut asked = |text: &str| match std::mem::take(&mut instruction).as_str() {
        "" => message("user", text),
        instruction => message("user", &format!("{instruction}\n\n{text}")),
    };
    for example in prompt.examples.iter() {
        messages.push(asked(example.input));
        messages.push(message("assistant", example.output));
    }
    messages.push(asked(&prompt.rest()));
    Value::Array(messages)
}

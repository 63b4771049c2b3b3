//! The two ways in which endpoints are asked to write, and the requests of each.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_language::{GenerateOptions, Prompt, Sampling};
use serde_json::{Value, json};

use super::error::RemoteError;

/// Where an endpoint is asked to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// `/completions`: the prompt is text that is continued.
    Completions,
    /// `/chat/completions`: the prompt is a conversation that is answered.
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

/// What of a request's parameters not every endpoint takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Optional {
    /// The log probabilities of the two most likely tokens. Requests for completions ask for them by
    /// the number that stands for `logprobs`.
    RunnerUp,
    Logprobs,
    TopK,
    MinP,
    Seed,
    StreamOptions,
    /// Newer services want the limit of a conversation by another name.
    MaxTokens,
}

/// All of them with their names in requests.
const OPTIONAL: [(Optional, &str); 7] = [
    (Optional::RunnerUp, "top_logprobs"),
    (Optional::Logprobs, "logprobs"),
    (Optional::TopK, "top_k"),
    (Optional::MinP, "min_p"),
    (Optional::Seed, "seed"),
    (Optional::StreamOptions, "stream_options"),
    (Optional::MaxTokens, "max_tokens"),
];

/// The parameters that an endpoint was found not to take.
#[derive(Debug, Default)]
pub(super) struct Refused([AtomicBool; OPTIONAL.len()]);

impl Refused {
    fn has(&self, parameter: Optional) -> bool {
        self.0[parameter as usize].load(Ordering::Relaxed)
    }

    /// Takes note of the parameter because of which the endpoint refused `body`. Returns whether
    /// there is one without which the same can be asked again.
    pub(super) fn learn(&self, error: &RemoteError, body: &Value) -> bool {
        for (parameter, name) in OPTIONAL {
            let name = match parameter {
                Optional::RunnerUp if body["logprobs"] == MOST_LIKELY => "logprobs",
                _ => name,
            };
            let needed = match parameter {
                Optional::TopK => body[name] != ALL_TOKENS,
                Optional::MaxTokens => body.get("messages").is_none(),
                _ => false,
            };
            if !needed && body.get(name).is_some() && error.refuses(name) {
                // Another thread may have learnt it before.
                self.0[parameter as usize].store(true, Ordering::Relaxed);
                return true;
            }
        }
        false
    }
}

/// `top_k` for all tokens, as both vLLM and llama-server understand it. It is said because their
/// defaults differ.
const ALL_TOKENS: i64 = -1;

/// The tokens of which log probabilities are asked for in each place of a greedy answer.
const MOST_LIKELY: u64 = 2;

/// What is asked for in one request.
pub(super) struct Order<'a> {
    pub(super) prompt: &'a Prompt,
    pub(super) options: &'a GenerateOptions,
    /// Most tokens to write.
    pub(super) max_tokens: usize,
    pub(super) samples: usize,
    /// Added to the seed.
    pub(super) seed_offset: u64,
    pub(super) stream: bool,
}

/// The body of a request.
pub(super) fn body(route: Route, model: &str, order: &Order<'_>, refused: &Refused) -> Value {
    let mut body = json!({"model": model});
    let limit = match route {
        Route::Chat if refused.has(Optional::MaxTokens) => "max_completion_tokens",
        _ => "max_tokens",
    };
    match route {
        Route::Completions => {
            let (shared, rest) = order.prompt.text();
            body["prompt"] = json!(shared + rest);
        }
        Route::Chat => body["messages"] = turns(order.prompt),
    }
    body[limit] = json!(order.max_tokens);
    if order.samples > 1 {
        body["n"] = json!(order.samples);
    }
    let stop: Vec<&String> = order
        .options
        .stop
        .iter()
        .filter(|stop| !stop.is_empty())
        .collect();
    if !stop.is_empty() {
        body["stop"] = json!(stop);
    }
    match order.options.sampling {
        Sampling::Greedy => body["temperature"] = json!(0.0),
        Sampling::Random {
            temperature,
            top_k,
            top_p,
            seed,
        } => {
            body["temperature"] = json!(temperature);
            body["top_p"] = json!(top_p.unwrap_or(1.0));
            if top_k.is_some() || !refused.has(Optional::TopK) {
                body["top_k"] = top_k.map_or(json!(ALL_TOKENS), |k| json!(k));
            }
            if !refused.has(Optional::MinP) {
                body["min_p"] = json!(0.0);
            }
            if !refused.has(Optional::Seed) {
                // Endpoints take signed numbers.
                let seed = seed.wrapping_add(order.seed_offset) & i64::MAX as u64;
                body["seed"] = json!(seed);
            }
        }
    }
    if !refused.has(Optional::Logprobs) {
        let two = order.options.sampling == Sampling::Greedy && !refused.has(Optional::RunnerUp);
        match route {
            Route::Completions => body["logprobs"] = json!(if two { MOST_LIKELY } else { 1 }),
            Route::Chat => {
                body["logprobs"] = json!(true);
                if two {
                    body["top_logprobs"] = json!(MOST_LIKELY);
                }
            }
        }
    }
    if order.stream {
        body["stream"] = json!(true);
        if !refused.has(Optional::StreamOptions) {
            body["stream_options"] = json!({"include_usage": true});
        }
    }
    body
}

/// A prompt as a conversation.
fn turns(prompt: &Prompt) -> Value {
    let turn = |role: &str, content: &str| json!({"role": role, "content": content});
    let mut turns = Vec::with_capacity(2 + 2 * prompt.examples.len());
    if !prompt.instruction.is_empty() {
        turns.push(turn("system", prompt.instruction));
    }
    for example in prompt.examples.iter() {
        turns.push(turn("user", example.input));
        turns.push(turn("assistant", example.output));
    }
    turns.push(turn("user", &prompt.input));
    Value::Array(turns)
}

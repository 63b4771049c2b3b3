//! How likely an endpoint holds a given continuation to be.
//!
//! The endpoint reads prompt and continuation as one text and tells the log probability of each
//! token. Those of the continuation are the ones that end behind the prompt. A token that straddles
//! the boundary, as a tokenizer may make where a word goes on, is counted in whole: its probability
//! is given what comes before it, which then is less than the prompt.
//!
//! Offsets that endpoints tell are not relied on: they count characters or bytes, and are moved by
//! tokens that stand before every prompt and by characters of several tokens. The texts of the
//! tokens are laid upon the end of the whole text instead; where they do not make it up, because a
//! token is a part of a character or the tokenizer hides spaces, the prompt is read alone, and the
//! tokens that both readings begin with are the prompt's.

use std::sync::{Arc, Mutex, PoisonError};

use ken_language::{Prompt, Score, ScoreRequest};
use serde_json::{Value, json};

use super::bounds;
use super::client::Client;
use super::error::RemoteError;
use super::flight::in_flight;

/// How an endpoint is made to score a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scoring {
    /// vLLM's `prompt_logprobs`.
    PromptLogprobs,
    /// `echo` with `logprobs`, as OpenAI's first completions had it.
    Echo,
}

/// A token of a text that was scored.
pub(super) struct Token {
    /// Tells it from other tokens: its id or its text.
    key: String,
    /// What it stands for, where the endpoint tells.
    text: Option<String>,
    /// `None` for the first.
    logprob: Option<f32>,
}

/// How an endpoint can be made to score, found out with a tiny text.
pub(super) fn survey(client: &Client, model: &str) -> Result<Option<Scoring>, RemoteError> {
    for way in [Scoring::PromptLogprobs, Scoring::Echo] {
        match read(client, model, way, "The sky is blue.") {
            Ok(tokens) => {
                // Some take the parameters and then tell nothing of the prompt.
                let told = tokens.iter().skip(1).all(|token| token.logprob.is_some());
                if tokens.len() > 1 && told {
                    return Ok(Some(way));
                }
            }
            Err(RemoteError::MissingField { .. }) => {}
            Err(error) if error.is_refusal() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Scores continuations of prompts, several at a time.
pub(super) fn score(
    client: &Client,
    model: &str,
    way: Scoring,
    requests: &[ScoreRequest<'_, Prompt>],
) -> Result<Vec<Vec<Score>>, RemoteError> {
    let prompts: Vec<ReadPrompt> = requests
        .iter()
        .map(|request| ReadPrompt::new(request.prompt))
        .collect();
    let mut jobs = Vec::new();
    for (request, prompt) in requests.iter().zip(&prompts) {
        for &continuation in request.continuations {
            if continuation.is_empty() {
                return Err(RemoteError::EmptyContinuation);
            }
            jobs.push((prompt, continuation));
        }
    }
    let mut scores: Vec<Option<Score>> = jobs.iter().map(|_| None).collect();
    let work = |job: usize| {
        let (prompt, continuation) = jobs[job];
        prompt.score(client, model, way, continuation)
    };
    in_flight(
        client.concurrency(),
        jobs.len(),
        &work,
        &mut |job, score| {
            scores[job] = Some(score);
        },
    )?;
    let mut scores = scores.into_iter().flatten();
    Ok(requests
        .iter()
        .map(|request| scores.by_ref().take(request.continuations.len()).collect())
        .collect())
}

/// A prompt, and its tokens once they were needed.
struct ReadPrompt {
    text: String,
    tokens: Mutex<Option<Arc<Vec<Token>>>>,
}

impl ReadPrompt {
    fn new(prompt: &Prompt) -> Self {
        let (shared, rest) = prompt.text();
        Self {
            text: shared + rest,
            tokens: Mutex::new(None),
        }
    }

    fn score(
        &self,
        client: &Client,
        model: &str,
        way: Scoring,
        continuation: &str,
    ) -> Result<Score, RemoteError> {
        let whole = format!("{}{continuation}", self.text);
        let tokens = read(client, model, way, &whole)?;
        let boundary = match boundary(&tokens, &whole, self.text.len()) {
            Some(boundary) => boundary,
            None => {
                let alone = self.tokens(client, model, way)?;
                let pairs = tokens.iter().zip(alone.iter());
                pairs.take_while(|(a, b)| a.key == b.key).count()
            }
        };
        let logprobs: Option<Vec<f32>> = tokens[boundary..]
            .iter()
            .map(|token| token.logprob)
            .collect();
        match logprobs {
            Some(logprobs) if !logprobs.is_empty() => Ok(Score { logprobs }),
            _ => Err(way.missing(client)),
        }
    }

    /// The tokens of the prompt alone.
    fn tokens(
        &self,
        client: &Client,
        model: &str,
        way: Scoring,
    ) -> Result<Arc<Vec<Token>>, RemoteError> {
        let mut known = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tokens) = &*known {
            return Ok(tokens.clone());
        }
        let tokens = Arc::new(read(client, model, way, &self.text)?);
        *known = Some(tokens.clone());
        Ok(tokens)
    }
}

/// The first token that ends behind `prompt` bytes of a text; `None` where the tokens' texts do not
/// tell.
pub(super) fn boundary(tokens: &[Token], whole: &str, prompt: usize) -> Option<usize> {
    let mut rest = whole;
    for (index, token) in tokens.iter().enumerate().rev() {
        let text = token.text.as_deref().filter(|text| !text.is_empty())?;
        rest = rest.strip_suffix(text)?;
        if rest.len() <= prompt {
            return Some(index);
        }
    }
    None
}

/// The tokens of a text with their log probabilities.
fn read(client: &Client, model: &str, way: Scoring, text: &str) -> Result<Vec<Token>, RemoteError> {
    // One token must be written at least; not every endpoint takes 0.
    let mut body = json!({"model": model, "prompt": text, "max_tokens": 1, "temperature": 0.0});
    match way {
        Scoring::PromptLogprobs => body["prompt_logprobs"] = json!(0),
        Scoring::Echo => {
            body["echo"] = json!(true);
            body["logprobs"] = json!(1);
        }
    }
    let answer = client.post(&client.api("completions"), &body)?;
    told(client, way, &answer)
}

/// The tokens of an answer.
pub(super) fn told(
    client: &Client,
    way: Scoring,
    answer: &Value,
) -> Result<Vec<Token>, RemoteError> {
    let tokens = match way {
        Scoring::PromptLogprobs => prompt_logprobs(answer),
        Scoring::Echo => echo(answer),
    };
    tokens.ok_or_else(|| way.missing(client))
}

impl Scoring {
    fn missing(self, client: &Client) -> RemoteError {
        RemoteError::MissingField {
            url: client.api("completions"),
            field: match self {
                Self::PromptLogprobs => "prompt_logprobs",
                Self::Echo => "token_logprobs",
            },
        }
    }
}

/// vLLM: one entry a token, the first null, the others from ids to log probabilities with the token
/// itself first.
fn prompt_logprobs(answer: &Value) -> Option<Vec<Token>> {
    let entries = answer.pointer("/choices/0/prompt_logprobs")?.as_array()?;
    let token = |entry: &Value| match entry.as_object() {
        None => Some(Token {
            key: String::new(),
            text: None,
            logprob: None,
        }),
        Some(entry) => {
            let (id, own) = entry.iter().next()?;
            Some(Token {
                key: id.clone(),
                text: own
                    .get("decoded_token")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
                logprob: own.get("logprob").and_then(bounds::logprob),
            })
        }
    };
    entries.iter().map(token).collect()
}

/// OpenAI: the tokens' texts and log probabilities as lists, with those that were written behind
/// those of the prompt.
fn echo(answer: &Value) -> Option<Vec<Token>> {
    let logprobs = answer.pointer("/choices/0/logprobs")?;
    let texts = logprobs.get("tokens")?.as_array()?;
    let values = logprobs.get("token_logprobs")?.as_array()?;
    let prompt = answer
        .pointer("/usage/prompt_tokens")
        .and_then(Value::as_u64)
        .map_or(texts.len().saturating_sub(1), |count| count as usize);
    let token = |(text, value): (&Value, &Value)| {
        let text = text.as_str()?.to_owned();
        Some(Token {
            key: text.clone(),
            text: Some(text),
            logprob: bounds::logprob(value),
        })
    };
    if texts.len() != values.len() {
        return None;
    }
    texts.iter().zip(values).take(prompt).map(token).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boundary_of(texts: &[&str], whole: &str, prompt: usize) -> Option<usize> {
        let tokens: Vec<Token> = texts
            .iter()
            .map(|text| Token {
                key: (*text).to_owned(),
                text: Some((*text).to_owned()),
                logprob: Some(-1.0),
            })
            .collect();
        boundary(&tokens, whole, prompt)
    }

    #[test]
    fn the_continuation_begins_where_the_prompt_ends() {
        let whole = "It is: Oslo City";
        let tokens = ["<s>", "It", " is", ":", " Oslo", " City"];
        assert_eq!(boundary_of(&tokens, whole, 6), Some(4));
    }

    #[test]
    fn a_token_that_straddles_is_counted() {
        assert_eq!(
            boundary_of(&["It", " is", ": Os", "lo"], "It is: Oslo", 6),
            Some(2)
        );
    }

    #[test]
    fn parts_of_characters_and_hidden_spaces_tell_nothing() {
        let parts = ["It", ":", " \u{fffd}", "\u{fffd}"];
        assert_eq!(boundary_of(&parts, "It: 🙂", 3), None);
        assert_eq!(boundary_of(&["It", ":", "Oslo"], "It: Oslo", 3), None);
    }
}

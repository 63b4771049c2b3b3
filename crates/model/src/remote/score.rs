//! Log probabilities of given continuations.
//!
//! The endpoint reads prompt and continuation as one text and returns the log probability of each
//! token. Those of the continuation are the ones that end after the prompt. A token that straddles
//! the boundary, as a tokenizer may produce in the middle of a word, is counted whole: its probability
//! is conditioned on what precedes it, which then is less than the prompt.
//!
//! Offsets in responses are not reliable: they count characters or bytes, and are shifted by tokens before the prompt
//! and by characters of several tokens. Instead the texts of the tokens are aligned with the end of the whole text.
//! If they do not add up to it, because a token is a part of a character or the tokenizer hides spaces, the prompt is
//! also read alone, and the tokens that both readings begin with belong to the prompt.

use std::sync::{Mutex, PoisonError};

use ken_language::{Prompt, Score, ScoreRequest};
use serde_json::{Value, json};

use super::client::Client;
use super::error::RemoteError;
use super::in_flight::map_concurrent;
use super::limits;
use super::route::whole_text;

/// How an endpoint scores a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scoring {
    /// vLLM's `prompt_logprobs`.
    PromptLogprobs,
    /// `echo` with `logprobs`, as in OpenAI's original completions.
    Echo,
}

/// A token of a scored text.
#[derive(Default)]
pub(super) struct Token {
    /// Equal for equal tokens.
    key: String,
    /// Its text, if the endpoint returns it.
    text: Option<String>,
    /// `None` for the first.
    logprob: Option<f32>,
}

/// How an endpoint reacts to a text that it should score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Probed {
    /// It scores in this way.
    Scores(Scoring),
    /// It does not score.
    No,
    /// It does not continue texts at all, and is not asked again: some servers then refuse everything for a while.
    NoRoute,
}

/// Finds out with a tiny text how an endpoint scores.
pub(super) fn probe(client: &Client, model: &str) -> Result<Probed, RemoteError> {
    for scoring in [Scoring::PromptLogprobs, Scoring::Echo] {
        let scorer = Scorer {
            client,
            model,
            scoring,
        };
        match scorer.read("The sky is blue.") {
            Ok(tokens) => {
                // Some accept the parameters but return nothing for the prompt.
                let complete = tokens.iter().skip(1).all(|token| token.logprob.is_some());
                if tokens.len() > 1 && complete {
                    return Ok(Probed::Scores(scoring));
                }
            }
            Err(RemoteError::Status {
                status: 404 | 405, ..
            }) => return Ok(Probed::NoRoute),
            Err(RemoteError::MissingField { .. }) => {}
            Err(error) if error.is_refusal() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Probed::No)
}

/// A model that scores.
pub(super) struct Scorer<'a> {
    pub(super) client: &'a Client,
    pub(super) model: &'a str,
    pub(super) scoring: Scoring,
}

/// A prompt, with its tokens once they are needed.
struct ScoredPrompt {
    text: String,
    tokens: Mutex<Option<Vec<Token>>>,
}

impl Scorer<'_> {
    /// Scores continuations of prompts, several at a time.
    pub(super) fn score_all(
        &self,
        requests: &[ScoreRequest<'_, Prompt>],
    ) -> Result<Vec<Vec<Score>>, RemoteError> {
        let prompt = |request: &ScoreRequest<'_, Prompt>| ScoredPrompt {
            text: whole_text(request.prompt),
            tokens: Mutex::default(),
        };
        let prompts: Vec<ScoredPrompt> = requests.iter().map(prompt).collect();
        let mut jobs = Vec::new();
        for (request, prompt) in requests.iter().zip(&prompts) {
            for &continuation in request.continuations {
                if continuation.is_empty() {
                    return Err(RemoteError::EmptyContinuation);
                }
                jobs.push((prompt, continuation));
            }
        }
        let work = |job: usize| self.score(jobs[job].0, jobs[job].1);
        let mut scores = map_concurrent(self.client.concurrency(), jobs.len(), work)?;
        Ok(requests
            .iter()
            .map(|request| scores.by_ref().take(request.continuations.len()).collect())
            .collect())
    }

    fn score(&self, prompt: &ScoredPrompt, continuation: &str) -> Result<Score, RemoteError> {
        let whole = format!("{}{continuation}", prompt.text);
        let tokens = self.read(&whole)?;
        let boundary = match boundary(&tokens, &whole, prompt.text.len()) {
            Some(boundary) => boundary,
            None => {
                let mut alone = prompt.tokens.lock().unwrap_or_else(PoisonError::into_inner);
                if alone.is_none() {
                    *alone = Some(self.read(&prompt.text)?);
                }
                let pairs = tokens.iter().zip(alone.iter().flatten());
                pairs.take_while(|(a, b)| a.key == b.key).count()
            }
        };
        let logprobs = tokens[boundary..].iter().map(|token| token.logprob);
        match logprobs.collect::<Option<Vec<f32>>>() {
            Some(logprobs) if !logprobs.is_empty() => Ok(Score { logprobs }),
            _ => Err(self.scoring.missing(self.client)),
        }
    }

    /// The tokens of a text with their log probabilities.
    fn read(&self, text: &str) -> Result<Vec<Token>, RemoteError> {
        // At least one token must be generated; not every endpoint accepts 0.
        let mut body =
            json!({"model": self.model, "prompt": text, "max_tokens": 1, "temperature": 0.0});
        match self.scoring {
            Scoring::PromptLogprobs => body["prompt_logprobs"] = json!(0),
            Scoring::Echo => {
                body["echo"] = json!(true);
                body["logprobs"] = json!(1);
            }
        }
        let url = self.client.api_url("completions");
        tokens(self.client, self.scoring, &self.client.post(&url, &body)?)
    }
}

/// The first token that ends after `prompt` bytes of a text; `None` if the tokens' texts do not show it.
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

/// The tokens in a response.
pub(super) fn tokens(
    client: &Client,
    scoring: Scoring,
    response: &Value,
) -> Result<Vec<Token>, RemoteError> {
    let tokens = match scoring {
        Scoring::PromptLogprobs => prompt_logprobs(response),
        Scoring::Echo => echo(response),
    };
    tokens.ok_or_else(|| scoring.missing(client))
}

impl Scoring {
    fn missing(self, client: &Client) -> RemoteError {
        let field = match self {
            Self::PromptLogprobs => "prompt_logprobs",
            Self::Echo => "token_logprobs",
        };
        RemoteError::missing(&client.api_url("completions"), field)
    }
}

/// vLLM: one entry per token; the first is null, the others are maps from ids to log probabilities with the token
/// itself first.
fn prompt_logprobs(response: &Value) -> Option<Vec<Token>> {
    let entries = response.pointer("/choices/0/prompt_logprobs")?;
    let token = |entry: &Value| match entry.as_object() {
        None => Some(Token::default()),
        Some(entry) => {
            let (id, own) = entry.iter().next()?;
            let text = own.get("decoded_token").and_then(Value::as_str);
            Some(Token {
                key: id.clone(),
                text: text.map(str::to_owned),
                logprob: own.get("logprob").and_then(limits::logprob),
            })
        }
    };
    entries.as_array()?.iter().map(token).collect()
}

/// OpenAI: the tokens' texts and log probabilities as lists, those of the prompt followed by the
/// generated ones.
fn echo(response: &Value) -> Option<Vec<Token>> {
    let logprobs = response.pointer("/choices/0/logprobs")?;
    let texts = logprobs.get("tokens")?.as_array()?;
    let values = logprobs.get("token_logprobs")?.as_array()?;
    let prompt = response
        .pointer("/usage/prompt_tokens")
        .and_then(Value::as_u64)
        .map_or(texts.len().saturating_sub(1), |count| count as usize);
    let token = |(text, value): (&Value, &Value)| {
        let text = text.as_str()?.to_owned();
        Some(Token {
            key: text.clone(),
            text: Some(text),
            logprob: limits::logprob(value),
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
    fn parts_of_characters_and_hidden_spaces_have_no_boundary() {
        let parts = ["It", ":", " \u{fffd}", "\u{fffd}"];
        assert_eq!(boundary_of(&parts, "It: 🙂", 3), None);
        assert_eq!(boundary_of(&["It", ":", "Oslo"], "It: Oslo", 3), None);
    }
}

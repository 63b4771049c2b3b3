//! The parsers of endpoints' responses, on bytes alone, so that tests and fuzzing need no connection. Each returns a
//! short description of what it parsed, or the typed error.

use std::ops::ControlFlow;
use std::sync::LazyLock;
use std::time::Instant;

use ken_language::Thoughts;
use serde_json::Value;

use super::client::{self, Client};
use super::detokenize::Emitted;
use super::embedder::RemoteEmbedder;
use super::endpoint::Endpoint;
use super::error::{Failure, RemoteError};
use super::limits::MAX_TOKENS;
use super::response::completions;
use super::route::Route;
use super::score::{self, Scoring};
use super::select_model::select_model;
use super::stream::{self, Sent};
use super::tokens;

/// The route of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// `/completions`.
    Completions,
    /// `/chat/completions`.
    Chat,
    /// `/completions`, with the log probabilities of the prompt.
    Scores,
    /// `/embeddings`, for two texts.
    Embeddings,
    /// `/models`.
    Models,
    /// `/tokenize`.
    Tokens,
}

impl Answer {
    /// All routes.
    pub const ALL: [Self; 6] = [
        Self::Completions,
        Self::Chat,
        Self::Scores,
        Self::Embeddings,
        Self::Models,
        Self::Tokens,
    ];
}

const URL: &str = "http://127.0.0.1:9/v1";

/// An embedder that is never connected; made once, since a client loads certificates.
fn embedder() -> Result<&'static RemoteEmbedder, RemoteError> {
    static EMBEDDER: LazyLock<Result<RemoteEmbedder, RemoteError>> = LazyLock::new(|| {
        let client = Client::new(Endpoint::new(URL))?;
        Ok(RemoteEmbedder::unconnected(client, String::new()))
    });
    let embedder = EMBEDDER.as_ref();
    embedder.map_err(|error| RemoteError::BadEndpoint(Failure::at(URL, error.to_string())))
}

/// Parses a stream of server-sent events, and returns the emitted pieces.
///
/// # Errors
/// As of a stream over a connection.
pub fn server_sent_events(bytes: &[u8], chat: bool) -> Result<Vec<String>, RemoteError> {
    let client = &embedder()?.client;
    let route = match chat {
        true => Route::Chat,
        false => Route::Completions,
    };
    let mut pieces = Vec::new();
    let mut on_piece = |piece: &str| {
        pieces.extend((!piece.is_empty()).then(|| piece.to_owned()));
        ControlFlow::Continue(())
    };
    let sent = Sent {
        client,
        route,
        url: URL,
        max_tokens: MAX_TOKENS,
        at: Instant::now(),
    };
    match stream::read_events(&sent, bytes, Thoughts::suspected(), &mut on_piece) {
        Ok(_) => Ok(pieces),
        Err(failed) => Err(failed.error),
    }
}

/// Parses a response in JSON.
///
/// # Errors
/// As of a response over a connection.
pub fn json(bytes: &[u8], answer: Answer) -> Result<String, RemoteError> {
    let embedder = embedder()?;
    let client = &embedder.client;
    let text = client::text(bytes).map_err(|error| client.transport_failure(&error).error)?;
    let value = client.parse(URL, &text)?;
    Ok(match answer {
        Answer::Completions => emitted(client, &value, Route::Completions)?,
        Answer::Chat => emitted(client, &value, Route::Chat)?,
        Answer::Scores => {
            let tokens = score::tokens(client, Scoring::PromptLogprobs, &value)
                .or_else(|_| score::tokens(client, Scoring::Echo, &value))?;
            let boundary = score::boundary(&tokens, &text, 3).unwrap_or(tokens.len());
            boundary.to_string()
        }
        Answer::Embeddings => {
            let vectors = embedder.vectors(URL, &value, 2)?;
            vectors.iter().map(Vec::len).sum::<usize>().to_string()
        }
        Answer::Models => select_model(client, &value, None)?.name,
        Answer::Tokens => tokens::count_in(client, URL, &value)?.to_string(),
    })
}

fn emitted(client: &Client, value: &Value, route: Route) -> Result<String, RemoteError> {
    let (choices, usage) = completions(client, URL, value, route)?;
    let mut text = format!("{:?}", usage.completion);
    for mut choice in choices {
        let flow = choice.emit(&mut Emitted::default(), &mut |piece| {
            text.push_str(piece);
            ken_language::break_if(piece.contains('\n'))
        });
        text.push_str(if flow.is_break() { "|" } else { "." });
    }
    Ok(text)
}

//! The parsers of endpoints' responses, on bytes alone, so that tests and fuzzing need no connection.

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

/// Parses a stream of server-sent events.
///
/// # Errors
/// As of a stream over a connection.
pub fn server_sent_events(bytes: &[u8], chat: bool) -> Result<(), RemoteError> {
    let client = &embedder()?.client;
    let route = match chat {
        true => Route::Chat,
        false => Route::Completions,
    };
    let sent = Sent {
        client,
        route,
        url: URL,
        max_tokens: MAX_TOKENS,
        at: Instant::now(),
    };
    let mut on_piece = |_: &str| ControlFlow::Continue(());
    let received = stream::read_events(&sent, bytes, Thoughts::suspected(), &mut on_piece);
    received.map(drop).map_err(|failed| failed.error)
}

/// Parses a response in JSON.
///
/// # Errors
/// As of a response over a connection.
pub fn json(bytes: &[u8], answer: Answer) -> Result<(), RemoteError> {
    let embedder = embedder()?;
    let client = &embedder.client;
    let text = client::text(bytes).map_err(|error| client.transport_failure(&error).error)?;
    let value = client.parse(URL, &text)?;
    match answer {
        Answer::Completions => emitted(client, &value, Route::Completions),
        Answer::Chat => emitted(client, &value, Route::Chat),
        Answer::Scores => {
            let tokens = score::tokens(client, Scoring::PromptLogprobs, &value)
                .or_else(|_| score::tokens(client, Scoring::Echo, &value))?;
            let _ = score::boundary(&tokens, &text, 3);
            Ok(())
        }
        Answer::Embeddings => embedder.vectors(URL, &value, 2).map(drop),
        Answer::Models => select_model(client, &value, None).map(drop),
        Answer::Tokens => tokens::count_in(client, URL, &value).map(drop),
    }
}

fn emitted(client: &Client, value: &Value, route: Route) -> Result<(), RemoteError> {
    let (choices, _) = completions(client, URL, value, route)?;
    for mut choice in choices {
        let mut on_piece = |piece: &str| ken_language::break_if(piece.contains('\n'));
        // Either end is fine.
        let _ = choice.emit(&mut Emitted::default(), &mut on_piece);
    }
    Ok(())
}

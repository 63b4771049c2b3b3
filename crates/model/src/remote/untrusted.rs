//! The readers of what endpoints send, over bytes alone: the seam by which they are tested and fuzzed
//! without a connection. Each returns what was understood, in a few words, or the typed error.

use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use serde_json::Value;

use super::answer::{choices, usage};
use super::client::{self, Client};
use super::embedder::RemoteEmbedder;
use super::endpoint;
use super::error::RemoteError;
use super::hand_out::Handed;
use super::route::Route;
use super::score::{self, Scoring};
use super::settings::RemoteSettings;
use super::stream;
use super::tokens;

/// Which answer the bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Of `/completions`.
    Completions,
    /// Of `/chat/completions`.
    Chat,
    /// Of `/completions`, with the log probabilities of the prompt.
    Scores,
    /// Of `/embeddings`, for two texts.
    Embeddings,
    /// Of `/models`.
    Models,
    /// Of `/tokenize`.
    Tokens,
}

impl Answer {
    /// All of them.
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

/// What reads answers without having asked for them.
struct Readers {
    client: Client,
    embedder: RemoteEmbedder,
}

/// Made once: a client looks for certificates.
static READERS: LazyLock<Result<Readers, RemoteError>> = LazyLock::new(|| {
    let client = || Client::new(URL, None, RemoteSettings::default(), Arc::default());
    Ok(Readers {
        client: client()?,
        embedder: RemoteEmbedder::unconnected(client()?),
    })
});

fn readers() -> Result<&'static Readers, RemoteError> {
    READERS.as_ref().map_err(|error| RemoteError::BadUrl {
        url: URL.to_owned(),
        reason: error.to_string(),
    })
}

/// Reads a stream of server-sent events, and returns the pieces that were handed out.
///
/// # Errors
/// As of a stream over a connection.
pub fn server_sent_events(bytes: &[u8], chat: bool) -> Result<Vec<String>, RemoteError> {
    let Readers { client, .. } = readers()?;
    let route = match chat {
        true => Route::Chat,
        false => Route::Completions,
    };
    let mut pieces = Vec::new();
    let mut on_piece = |piece: &str| {
        pieces.push(piece.to_owned());
        ControlFlow::Continue(())
    };
    let started = Instant::now();
    match stream::events(client, route, URL, bytes, &mut on_piece, started) {
        Ok(_) => Ok(pieces),
        Err(failed) => Err(failed.error),
    }
}

/// Reads an answer that is JSON.
///
/// # Errors
/// As of an answer over a connection.
pub fn json(bytes: &[u8], answer: Answer) -> Result<String, RemoteError> {
    let Readers { client, embedder } = readers()?;
    let text = client::text(bytes).map_err(|error| client.broken(&error).error)?;
    let value = client.parsed(URL, &text)?;
    match answer {
        Answer::Completions => written(client, &value, Route::Completions),
        Answer::Chat => written(client, &value, Route::Chat),
        Answer::Scores => {
            let count = |way| {
                let tokens = score::told(client, way, &value)?;
                Ok(score::boundary(&tokens, &text, 3).unwrap_or(tokens.len()))
            };
            count(Scoring::PromptLogprobs)
                .or_else(|_: RemoteError| count(Scoring::Echo))
                .map(|tokens| tokens.to_string())
        }
        Answer::Embeddings => {
            let vectors = embedder.vectors(URL.to_owned(), &value, 2)?;
            Ok(vectors.iter().map(Vec::len).sum::<usize>().to_string())
        }
        Answer::Models => Ok(endpoint::named(client, &value, None)?.name),
        Answer::Tokens => Ok(tokens::told(client, URL.to_owned(), &value)?.to_string()),
    }
}

fn written(client: &Client, value: &Value, route: Route) -> Result<String, RemoteError> {
    let told = usage(value).map_err(|absurd| client.absurd(&absurd))?;
    let choices = choices(value, route).ok_or(RemoteError::MissingField {
        url: URL.to_owned(),
        field: "choices",
    })?;
    let mut text = format!("{:?}", told.written);
    for mut choice in choices {
        let flow = choice.hand_out(&mut Handed::default(), &mut |piece| {
            text.push_str(piece);
            match piece.contains('\n') {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        text.push_str(if flow.is_break() { "|" } else { "." });
    }
    Ok(text)
}

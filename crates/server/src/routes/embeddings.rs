//! `/v1/embeddings`: the embedder of a corpus.

use std::ops::Range;
use std::sync::Arc;

use ken_language::Embedder;

use super::call::{Call, JsonBody};
use super::reply::Reply;
use crate::service::cancel::Cancel;
use crate::service::resources::Served;
use crate::service::search_options::SearchOptions;
use crate::service::{policies, readable, work};
use crate::wire::embeddings::{EmbeddingsRequest, EmbeddingsResponse, Input, Role};
use crate::wire::refusal::Refusal;

/// The most texts at once, as OpenAI has it.
const MOST_TEXTS: usize = 2048;

/// Embeds texts.
pub(crate) async fn embed(
    call: Call,
    body: JsonBody<EmbeddingsRequest>,
) -> Result<Reply<EmbeddingsResponse>, Refusal> {
    let asked = body.read().await?;
    if asked.model != policies::EMBEDDER {
        return Err(policies::other_than(policies::EMBEDDER, &asked.model));
    }
    let texts = texts(asked.input)?;
    let corpus = SearchOptions::of(asked.ken.corpus).some_corpus(&call.served, call.caller())?;
    let dimensions = corpus.retriever.embedder().dimensions();
    if asked.dimensions.is_some_and(|wanted| wanted != dimensions) {
        let message = format!("vectors of this embedder have {dimensions} dimensions");
        return Err(Refusal::invalid("dimensions", message));
    }
    let role = match asked.ken.role {
        Role::Query => ken_language::Role::Query,
        Role::Passage => ken_language::Role::Passage,
    };
    let embedder = corpus.retriever.embedder();
    // Texts that may be cut need no check: the limit on the body bounds them.
    let most = embedder.max_tokens().filter(|_| !asked.truncate);
    for (index, text) in texts.iter().enumerate() {
        readable::check(text, most).map_err(|refusal| refusal.of(&format!("input[{index}]")))?;
    }
    let at_once = embedder.at_once().max(1);
    let pieces = || {
        let starts = (0..texts.len()).step_by(at_once);
        starts.map(|start| start..(start + at_once).min(texts.len()))
    };
    let (gate, deadline) = (&call.served.embeddings, work::deadline(&call.served));
    // Counts all texts before embedding any, so that a refused request costs nothing.
    let (own, given) = (Arc::clone(&corpus), Arc::clone(&texts));
    let count = move |_: &Served, _: &Cancel, piece: Range<usize>| {
        let indexed = piece.map(|index| (index, given[index].as_str()));
        let truncate = asked.truncate;
        let counts = indexed.map(|text| read(own.retriever.embedder(), text, role, truncate));
        counts.collect::<Result<Vec<_>, Refusal>>()
    };
    let read = work::in_pieces(&call.served, gate, deadline, pieces(), count)
        .await?
        .concat();
    let tokens: usize = read.iter().map(|(tokens, _)| tokens).sum();
    let reserved = call.caller().reserve(tokens)?;
    let (own, given) = (Arc::clone(&corpus), Arc::clone(&texts));
    let embed = move |_: &Served, cancel: &Cancel, piece: Range<usize>| {
        let texts: Vec<&str> = given[piece].iter().map(String::as_str).collect();
        let retriever = own.retriever.clone().bound(&cancel.token());
        let embedded = retriever.embedder().embed(&texts, role);
        embedded.map_err(|error| cancel.refusal(Refusal::of_model(&error)))
    };
    let vectors = work::in_pieces(&call.served, gate, deadline, pieces(), embed).await?;
    reserved.settle(tokens);
    let model = policies::EMBEDDER.to_owned();
    let vectors = vectors.into_iter().flatten().collect();
    let response = EmbeddingsResponse::new(model, vectors, asked.encoding_format, &read);
    Ok(Reply::json(&response))
}

/// The texts of a request.
///
/// # Errors
/// No text, too many, or an empty one.
fn texts(input: Input) -> Result<Arc<[String]>, Refusal> {
    let texts: Arc<[String]> = match input {
        Input::One(text) => [text].into(),
        Input::Many(texts) => texts.into(),
    };
    if texts.is_empty() || texts.len() > MOST_TEXTS || texts.iter().any(String::is_empty) {
        let message = format!("it must be 1 to {MOST_TEXTS} texts, none of them empty");
        return Err(Refusal::invalid("input", message));
    }
    Ok(texts)
}

/// The number of tokens of a text, or of its words if an endpoint does not show its tokens.
pub(super) fn counted(embedder: &dyn Embedder, text: &str) -> usize {
    let spans = embedder.token_spans(text).map(|spans| spans.len());
    spans.unwrap_or_else(|_| text.split_whitespace().count())
}

/// The number of tokens read of a text, by its index in the request, and whether there are more.
///
/// # Errors
/// A text that the embedder would not read to its end, unless it may be cut.
fn read(
    embedder: &dyn Embedder,
    (index, text): (usize, &str),
    role: ken_language::Role,
    truncate: bool,
) -> Result<(usize, bool), Refusal> {
    let is_cut = embedder.is_cut(text, role);
    let tokens = counted(embedder, text);
    match is_cut.map_err(|error| Refusal::of_model(&error))? {
        true if truncate => Ok((
            embedder
                .max_tokens()
                .map_or(tokens, |most| tokens.min(most)),
            true,
        )),
        true => {
            let most = embedder.max_tokens().unwrap_or_default();
            let why = format!(
                "it has {tokens} tokens, and at most {most} are read, with those that the embedder adds"
            );
            Err(readable::too_long(&why).of(&format!("input[{index}]")))
        }
        false => Ok((tokens, false)),
    }
}

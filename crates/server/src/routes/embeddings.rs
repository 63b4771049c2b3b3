//! `/v1/embeddings`: the embedder of a corpus.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use ken_answer::AnswerError;
use ken_language::ModelError;

use super::state::App;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::asked::Searched;
use crate::service::{policies, work};
use crate::wire::body;
use crate::wire::embeddings::{EmbeddingsRequest, EmbeddingsResponse, Input, Role};
use crate::wire::refusal::Refusal;

/// The most texts at once, as OpenAI has it.
const MOST_TEXTS: usize = 2048;

/// Embeds texts.
pub(crate) async fn embed(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Search)?;
    let asked: EmbeddingsRequest = body::read(body).await?;
    if asked.model != policies::EMBEDDER {
        return Err(policies::unknown(&asked.model));
    }
    let texts = match asked.input {
        Input::One(text) => vec![text],
        Input::Many(texts) => texts,
    };
    if texts.is_empty() || texts.len() > MOST_TEXTS || texts.iter().any(String::is_empty) {
        let message = format!("it must be 1 to {MOST_TEXTS} texts, none of them empty");
        return Err(Refusal::bad("invalid_value", message).of("input"));
    }
    let corpus = Searched::of(asked.ken.corpus).corpus(&app.served, &request.caller)?;
    let corpus = corpus.ok_or(AnswerError::NoCorpus)?;
    let dimensions = corpus.retriever.embedder().dimensions();
    if asked.dimensions.is_some_and(|wanted| wanted != dimensions) {
        let message = format!("vectors of this embedder have {dimensions} dimensions");
        return Err(Refusal::bad("invalid_value", message).of("dimensions"));
    }
    let role = match asked.ken.role {
        Role::Query => ken_language::Role::Query,
        Role::Passage => ken_language::Role::Passage,
    };
    let embedded = work::run(
        &app.served,
        |served| &served.searches,
        move |_, _| {
            let embedder = corpus.retriever.embedder();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let embed = || -> Result<_, ModelError> {
                let vectors = embedder.embed(&texts, role)?;
                let tokens = texts.iter().map(|text| {
                    let spans = embedder.token_spans(text).map(|spans| spans.len());
                    // Not every endpoint shows its tokens; a word is about one.
                    spans.unwrap_or_else(|_| text.split_whitespace().count())
                });
                Ok((vectors, tokens.sum::<usize>()))
            };
            embed().map_err(|error| Refusal::of_model(&error))
        },
    );
    let (vectors, tokens) = embedded.await?;
    request.caller.spent(tokens);
    let model = policies::EMBEDDER.to_owned();
    let response = EmbeddingsResponse::new(model, vectors, asked.encoding_format, tokens);
    Ok(body::json(&response))
}

//! `/tokenize`, `/detokenize` and `/tokenizer_info`: a text as the model reads it, and back.

use ken_language::TextModel;

use super::call::{Call, JsonBody};
use super::reply::Reply;
use crate::service::resources::Served;
use crate::service::{readable, work};
use crate::wire::completions::{
    DetokenizeRequest, DetokenizeResponse, TokenizeRequest, TokenizeResponse, TokenizerInfo,
};
use crate::wire::refusal::Refusal;

/// The model that is served, where it shows its tokens.
///
/// # Errors
/// A model that does not.
pub(super) fn text_model(served: &Served) -> Result<&dyn TextModel, Refusal> {
    served.pipeline.model.text_model().ok_or_else(|| {
        let message = "the model is behind an endpoint, which is to be asked for this itself";
        Refusal::bad("unsupported_by_model", message)
    })
}

/// Cuts a text into tokens.
pub(crate) async fn tokenize(
    call: Call,
    body: JsonBody<TokenizeRequest>,
) -> Result<Reply<TokenizeResponse>, Refusal> {
    let asked = body.read().await?;
    text_model(&call.served)?;
    let context = call.served.pipeline.model.context_tokens();
    readable::check(&asked.prompt, Some(context)).map_err(|refusal| refusal.of("prompt"))?;
    let tokens = work::run(
        &call.served,
        |served| &served.searches,
        move |served, _| {
            let tokens = text_model(served)?.encode(&asked.prompt, asked.add_special_tokens);
            tokens.map_err(|error| Refusal::of_model(&error))
        },
    );
    let tokens = tokens.await?;
    Ok(Reply::json(&TokenizeResponse {
        count: tokens.len(),
        tokens,
        max_model_len: context,
    }))
}

/// Puts tokens together.
pub(crate) async fn detokenize(
    call: Call,
    body: JsonBody<DetokenizeRequest>,
) -> Result<Reply<DetokenizeResponse>, Refusal> {
    let asked = body.read().await?;
    text_model(&call.served)?;
    let text = work::run(
        &call.served,
        |served| &served.searches,
        move |served, _| {
            let text = text_model(served)?.decode(&asked.tokens);
            text.map_err(|error| Refusal::of_model(&error).of("tokens"))
        },
    );
    let text = text.await?;
    Ok(Reply::json(&DetokenizeResponse {
        prompt: text.clone(),
        content: text,
    }))
}

/// Tells how the model's texts are written.
pub(crate) async fn info(call: Call) -> Result<Reply<TokenizerInfo>, Refusal> {
    let form = text_model(&call.served)?.form();
    Ok(Reply::json(&TokenizerInfo {
        bos_token: form.begin,
        eos_token: form.end,
        chat_template: form.chat_template,
    }))
}

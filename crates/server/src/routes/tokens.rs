//! `/tokenize`, `/detokenize` and `/tokenizer_info`: the tokenizer of the model.

use ken_language::TextModel;

use super::call::{Call, JsonBody};
use super::reply::Reply;
use crate::service::resources::Served;
use crate::service::{readable, work};
use crate::wire::completions::{
    DetokenizeRequest, DetokenizeResponse, TokenizeRequest, TokenizeResponse, TokenizerInfoResponse,
};
use crate::wire::refusal::Refusal;

/// The model, if ken has its tokenizer.
///
/// # Errors
/// A model whose tokenizer ken does not have.
pub(super) fn text_model(served: &Served) -> Result<&dyn TextModel, Refusal> {
    served.pipeline.model.text_model().ok_or_else(|| {
        let message = "the model is behind an endpoint, which is to be asked for this itself";
        Refusal::bad("unsupported_by_model", message)
    })
}

/// Tokenizes a text.
pub(crate) async fn tokenize(
    call: Call,
    body: JsonBody<TokenizeRequest>,
) -> Result<Reply<TokenizeResponse>, Refusal> {
    let asked = body.read().await?;
    text_model(&call.served)?;
    let context = call.served.pipeline.model.context_tokens();
    readable::check(&asked.prompt, Some(context)).map_err(|refusal| refusal.of("prompt"))?;
    let tokens = work::run(&call.served, &call.served.searches, move |served, _| {
        let tokens = text_model(served)?.encode(&asked.prompt, asked.add_special_tokens);
        tokens.map_err(|error| Refusal::of_model(&error))
    });
    let tokens = tokens.await?;
    Ok(Reply::json(&TokenizeResponse {
        count: tokens.len(),
        tokens,
        max_model_len: context,
    }))
}

/// The text of tokens.
pub(crate) async fn detokenize(
    call: Call,
    body: JsonBody<DetokenizeRequest>,
) -> Result<Reply<DetokenizeResponse>, Refusal> {
    let asked = body.read().await?;
    text_model(&call.served)?;
    let text = work::run(&call.served, &call.served.searches, move |served, _| {
        let text = text_model(served)?.decode(&asked.tokens);
        text.map_err(|error| Refusal::of_model(&error).of("tokens"))
    });
    let text = text.await?;
    Ok(Reply::json(&DetokenizeResponse {
        prompt: text.clone(),
        content: text,
    }))
}

/// The special tokens and the chat template.
pub(crate) async fn info(call: Call) -> Result<Reply<TokenizerInfoResponse>, Refusal> {
    let info = text_model(&call.served)?.tokenizer_info();
    Ok(Reply::json(&TokenizerInfoResponse {
        bos_token: info.begin,
        eos_token: info.end,
        chat_template: info.chat_template,
    }))
}

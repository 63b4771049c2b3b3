//! Completions of the model's own server, which gets the request as it came.

use std::sync::Arc;

use ken_language::{Api, bound_model};
use serde_json::{Map, Value};

use super::{Chunks, CompletionNews, in_background};
use crate::access::caller::Reserved;
use crate::routes::call::Call;
use crate::routes::reply::Reply;
use crate::routes::stream::streamed;
use crate::service::cancel::Cancel;
use crate::service::gateway::{self, estimated_tokens};
use crate::service::resources::Served;
use crate::service::work;
use crate::wire::body;
use crate::wire::completions::Completions;
use crate::wire::refusal::Refusal;

/// Passes on a request and its response: whole, or in these chunks.
pub(super) async fn pass_on(
    call: Call,
    request: Map<String, Value>,
    chunks: Option<Chunks>,
) -> Result<Reply<Completions<'static>>, Refusal> {
    let written = request
        .get("max_tokens")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let read = prompt_estimate(&request);
    let written = usize::try_from(written).unwrap_or(usize::MAX);
    let reserved = call.caller().reserve(read.saturating_add(written))?;
    let served = Arc::clone(&call.served);
    let Some(chunks) = chunks else {
        let done = work::run(&served, &served.answers, move |served, cancel| {
            let mut last = Value::Null;
            ask(served, cancel, request, reserved, &mut |reply| last = reply)?;
            Ok(last)
        });
        return Ok(body::json(&done.await?).into());
    };
    let news = in_background(served, move |served, cancel, tell| {
        ask(served, cancel, request, reserved, &mut |reply| {
            // A client that has gone ends the work by that.
            let _ = tell.send(Ok(CompletionNews::Said(Box::new(reply))));
        })?;
        Ok(CompletionNews::Done(None))
    });
    Ok(streamed(chunks, news).await?.into())
}

/// Asks the model's own server.
fn ask(
    served: &Served,
    cancel: &Cancel,
    mut request: Map<String, Value>,
    reserved: Reserved,
    on_reply: &mut dyn FnMut(Value),
) -> Result<(), Refusal> {
    request.shift_remove("ken");
    let model = bound_model(Arc::clone(&served.pipeline.model), &cancel.token());
    let read = prompt_estimate(&request);
    let (mut used, mut told) = (None, 0);
    let asked = match model.chat_server() {
        None => Ok(()),
        Some(server) => server.forward(Api::Completions, request, &mut |reply| {
            let total = reply.pointer("/usage/total_tokens");
            used = total.and_then(Value::as_u64).or(used);
            told += gateway::told(&reply);
            on_reply(reply);
            cancel.flow()
        }),
    };
    // What was told is spent, also where the server does not count it, or the answer breaks off.
    match used {
        Some(used) => reserved.settle(usize::try_from(used).unwrap_or(usize::MAX)),
        None if told > 0 => reserved.settle(read + estimated_tokens(told)),
        None => {}
    }
    asked.map_err(|error| cancel.refusal(Refusal::of_model(&error)))?;
    cancel.check()
}

/// About how many tokens the prompt of a request has.
fn prompt_estimate(request: &Map<String, Value>) -> usize {
    let prompt = request.get("prompt");
    prompt.map_or(0, |prompt| estimated_tokens(prompt.to_string().len()))
}

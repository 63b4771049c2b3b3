//! Completions of the model's own server, which gets the request as it came.

use std::ops::ControlFlow;
use std::sync::Arc;

use ken_language::{Api, bound_model};
use serde_json::{Map, Value};
use tokio::sync::mpsc::unbounded_channel;

use super::{Chunks, CompletionNews};
use crate::access::caller::Reserved;
use crate::routes::call::Call;
use crate::routes::reply::Reply;
use crate::routes::stream::streamed;
use crate::service::cancel::Cancel;
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
    let read = request
        .get("prompt")
        .map_or(0, |prompt| prompt.to_string().len() / 4);
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
    let (tell, news) = unbounded_channel();
    tokio::spawn(async move {
        let (pieces, gone) = (tell.clone(), tell.clone());
        let work = work::run(&served, &served.answers, move |served, cancel| {
            ask(served, cancel, request, reserved, &mut |reply| {
                // A client that has gone ends the work by that.
                let _ = pieces.send(CompletionNews::Said(Box::new(reply)));
            })
        });
        tokio::select! {
            done = work => {
                let _ = tell.send(match done {
                    Ok(()) => CompletionNews::Done(None),
                    Err(refusal) => CompletionNews::Failed(refusal),
                });
            }
            () = gone.closed() => {}
        }
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
    let mut used = None;
    if let Some(server) = model.chat_server() {
        let asked = server.forward(Api::Completions, request, &mut |reply| {
            used = reply
                .pointer("/usage/total_tokens")
                .and_then(Value::as_u64)
                .or(used);
            on_reply(reply);
            match cancel.reason() {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        });
        asked.map_err(|error| cancel.refusal(Refusal::of_model(&error)))?;
    }
    if let Some(used) = used {
        reserved.settle(usize::try_from(used).unwrap_or(usize::MAX));
    }
    cancel.reason().map_or(Ok(()), Err)
}

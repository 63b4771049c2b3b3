//! Stored responses: a key sees those that its own requests made.

use serde_json::Value;

use crate::routes::call::Call;
use crate::routes::reply::Reply;
use crate::service::clock::unix_seconds;
use crate::service::responses::{KeptResponse, Responses};
use crate::wire::files::Deleted;
use crate::wire::page::Listed;
use crate::wire::query;
use crate::wire::refusal::Refusal;

/// The response in the path.
fn find(call: &Call<String>) -> Result<(&Responses, KeptResponse), Refusal> {
    let id = &call.path;
    let unknown = || {
        let message =
            format!("Response with id {id:?} not found: it is not kept, or not any more.");
        Refusal::not_found("response_not_found", message).of("response_id")
    };
    let responses = call.served.responses.as_deref().ok_or_else(unknown)?;
    let response = responses.find(id, call.caller().key(), unix_seconds())?;
    Ok((responses, response.ok_or_else(unknown)?))
}

/// A stored response, as it was.
pub(crate) async fn one(call: Call<String>) -> Result<Reply<Value>, Refusal> {
    if query::pairs(call.query()).any(|(name, value)| name == "stream" && value == "true") {
        let message = "a response that is kept is not streamed";
        return Err(Refusal::bad("unsupported_parameter", message).of("stream"));
    }
    let response = call.blocking(|call| Ok(find(call)?.1.response));
    Ok(Reply::json(&response.await?))
}

/// Deletes a response. Those that continue it hold the earlier conversation themselves.
pub(crate) async fn delete(call: Call<String>) -> Result<Reply<Deleted>, Refusal> {
    let deleted = call.blocking(|call| {
        let (responses, response) = find(call)?;
        responses.remove(&response.id)?;
        Ok(Deleted::of("response", response.id))
    });
    Ok(Reply::json(&deleted.await?))
}

/// The input of a response, the last item first.
pub(crate) async fn input(call: Call<String>) -> Result<Reply<Listed<Value>>, Refusal> {
    let page = call.page()?;
    let listed = call.blocking(move |call| {
        let mut items = find(call)?.1.input;
        items.reverse();
        page.of(items, |item| item["id"].as_str().unwrap_or_default())
    });
    Ok(Reply::json(&listed.await?))
}

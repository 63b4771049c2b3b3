//! `/v1/ken/decide`: whether a question needs retrieval, and the evidence to read for it. No answer is written.

use super::ask::exchanges;
use super::call::{Call, JsonBody};
use super::reply::Reply;
use super::stream::whole;
use crate::service::answers::start;
use crate::service::options::RequestOptions;
use crate::wire::ken::{DecideRequest, DecideResponse};
use crate::wire::refusal::Refusal;

pub(crate) async fn decide(
    call: Call,
    body: JsonBody<DecideRequest>,
) -> Result<Reply<DecideResponse>, Refusal> {
    let given = body.read().await?;
    let asked = RequestOptions {
        question: given.question,
        before: exchanges(given.before),
        only_decides: true,
        traced: given.ken.trace.unwrap_or(true),
        ..RequestOptions::by(None, &given.ken)?
    };
    let completion = whole(start(&call.served, asked, call.request)?).await?;
    let evidence = completion.evidence.unwrap_or_default();
    Ok(Reply::json(&DecideResponse {
        retrieve: !evidence.is_empty(),
        evidence,
        trace: completion.trace,
    }))
}

//! `/v1/ken/traces`: how the last questions were answered, and the questions themselves. Callers see their own
//! questions; those who watch the server see all.

use std::sync::Arc;

use super::call::Call;
use super::reply::{Lines, Reply};
use crate::service::evals::EvalQuestion;
use crate::service::traces::trace_record::TraceRecord;
use crate::wire::page::Listed;
use crate::wire::refusal::Refusal;
use crate::wire::traces::{TraceObject, Wanted};

/// The selected traces that the caller may see, newest first.
fn seen(call: &Call, wanted: &Wanted) -> Vec<Arc<TraceRecord>> {
    let mut all = call.served.traces.all();
    all.retain(|past| past.is_for(call.caller()) && wanted.is(past));
    all
}

/// A page of them.
pub(crate) async fn list(call: Call) -> Result<Reply<Listed<TraceObject>>, Refusal> {
    let (wanted, page) = Wanted::paged(call.query())?;
    call.blocking(move |call| {
        let listed = page.of(seen(call, &wanted), |past: &Arc<TraceRecord>| past.id())?;
        Ok(Reply::json(&listed.map(|past| TraceObject::from(&*past))))
    })
    .await
}

/// One of them.
pub(crate) async fn one(call: Call<String>) -> Result<Reply<TraceObject>, Refusal> {
    let past = call.served.traces.find_for(&call.path, call.caller())?;
    Ok(Reply::json(&TraceObject::from(&*past)))
}

/// Their questions, oldest first, as `ken probe` and `ken eval` read them.
pub(crate) async fn questions(call: Call) -> Result<Reply<Lines<EvalQuestion>>, Refusal> {
    let wanted = Wanted::all(call.query())?;
    call.served.traces.require_texts()?;
    call.blocking(move |call| {
        let seen = seen(call, &wanted);
        let oldest_first = seen.iter().rev();
        Ok(Reply::lines(
            oldest_first.filter_map(|past| EvalQuestion::asked(past)),
        ))
    })
    .await
}

//! `/v1/ken/corrections`: the sources that would have been right for questions.

use std::sync::Arc;

use axum::http::StatusCode;
use ken_answer::datastore::SELF;

use super::call::{Call, JsonBody};
use super::collection::{NamedQuestion, remove};
use super::reply::{Lines, Reply};
use crate::service::clock::unix_seconds;
use crate::service::corrections::Correction;
use crate::service::traces::TraceEvent;
use crate::service::traces::trace_record::Feedback;
use crate::service::votes::apply;
use crate::wire::corrections::{Corrected, MakeCorrection};
use crate::wire::files::Deleted;
use crate::wire::refusal::Refusal;

/// All of them, oldest first.
pub(crate) async fn list(call: Call) -> Result<Reply<Lines<Correction>>, Refusal> {
    let all = call.served.corrections.all(call.caller());
    Ok(Reply::lines(all.into_iter()))
}

/// Takes a correction: for the question of a trace, or for another one.
pub(crate) async fn make(
    call: Call,
    body: JsonBody<MakeCorrection>,
) -> Result<Reply<Corrected>, Refusal> {
    let MakeCorrection {
        trace,
        question,
        corpus,
        source,
    } = body.read().await?;
    let right = Some(source.clone()).filter(|source| source != SELF);
    let named = NamedQuestion {
        trace: trace.clone(),
        question: question.map(|question| question.trim().to_owned()),
        corpus: corpus.or_else(|| right.clone()),
    };
    let (served, caller) = (&call.served, call.caller());
    let (question, mut corpora) = named.find(served, caller, "has a source")?;
    // That a source was right says something about it, too.
    corpora.extend(right.filter(|source| !corpora.contains(source)));
    let correction = Correction::new(question.question, source);
    // Checked before a datastore changes.
    served.corrections.check(&correction.id, caller)?;
    let live = Arc::clone(&call.shared.live);
    let votes = apply(live, served, caller, &correction).await?;
    let kept = call.blocking(|call| {
        let (served, now) = (&call.served, unix_seconds());
        let corrections = &served.corrections;
        corrections.put(correction.clone(), corpora, call.caller(), now)?;
        if let Some(id) = trace {
            let feedback = Feedback {
                source: Some(correction.source.clone()),
                at: now,
                ..Feedback::default()
            };
            served.note(TraceEvent::Judged { id, feedback }, true);
        }
        Ok(correction)
    });
    let corrected = Corrected {
        correction: kept.await?,
        votes,
    };
    Ok(Reply::with_status(StatusCode::CREATED, &corrected))
}

/// Forgets a correction. What it changed in a datastore stays there, where `ken datastore` can change it.
pub(crate) async fn delete(call: Call<String>) -> Result<Reply<Deleted>, Refusal> {
    let unknown = ("unknown_correction", "correction");
    remove(call, |served| &served.corrections, "correction", unknown).await
}

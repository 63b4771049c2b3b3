//! The effect of a correction: if a policy datastore votes, it is changed as well, on disk and for the next question.

use std::collections::BTreeMap;
use std::sync::Arc;

use ken_answer::datastore::SELF;
use ken_answer::{Datastore, DatastoreError, question_states};
use ken_language::bound_model;

use super::corrections::Correction;
use super::live::Live;
use super::resources::Served;
use super::work::{self, blocking};
use crate::access::caller::Caller;
use crate::wire::corrections::{Neighbor, Votes};
use crate::wire::refusal::Refusal;

/// The most of the nearest questions that are shown.
const SHOWN: usize = 10;

/// Has a question vote for the source that was right, if a datastore votes: durably, and from the next question on.
/// Returns the votes on that question from then on; `None` if there is no datastore.
///
/// # Errors
/// An unknown source; a model that fails; a datastore that others change, or that cannot be written: then nothing is
/// changed.
pub(crate) async fn apply(
    live: Arc<Live>,
    served: &Arc<Served>,
    caller: &Caller,
    correction: &Correction,
) -> Result<Option<Votes>, Refusal> {
    let sources = served.sources(caller);
    if !sources.contains(&correction.source) {
        let message = format!(
            "there is no source {:?}; there are {}",
            correction.source,
            sources.join(", ")
        );
        return Err(Refusal::bad("unknown_source", message).of("source"));
    }
    let Some(datastore) = served.datastore() else {
        return Ok(None);
    };
    if !caller.may_read_each(datastore.corpora()) {
        caller.must_read_all("corrections are of the datastore that votes on questions")?;
    }
    let question = correction.question.clone();
    let asked = Arc::clone(&datastore);
    let state = work::run(served, &served.answers, move |served, cancel| {
        let model = bound_model(Arc::clone(&served.pipeline.model), &cancel.token());
        let states = question_states(&asked, &[question.as_str()], model.as_ref());
        let states = states.map_err(|error| cancel.refusal(error))?;
        states.into_iter().next().ok_or_else(work::broken)
    })
    .await?;
    let correction = correction.clone();
    let votes = blocking(move || {
        // A reload cannot replace what is served meanwhile, so whatever is served has the change.
        let _alone = live.publishing();
        let folder = datastore.folder();
        let mut changed = Datastore::open(folder).map_err(|error| refused(&error))?;
        let Correction {
            question, source, ..
        } = &correction;
        let corrected = changed.correct(question, source, &state);
        corrected.map_err(|error| refused(&error))?;
        let votes = votes_of(&changed, &state).map_err(|error| refused(&error))?;
        let now = Arc::clone(&live.now().served);
        if now
            .pipeline
            .routing
            .datastore
            .as_ref()
            .is_some_and(|own| own.folder() == folder)
        {
            now.vote_by(changed);
        }
        Ok(votes)
    });
    votes.await.map(Some)
}

/// How a datastore votes on a question.
fn votes_of(datastore: &Datastore, state: &[f32]) -> Result<Votes, DatastoreError> {
    let names = std::iter::once(SELF).chain(datastore.corpora().iter().map(String::as_str));
    let shares = names.map(str::to_owned).zip(datastore.shares(state)?);
    let nearest = datastore.nearest(state)?.into_iter();
    Ok(Votes {
        shares: shares.collect::<BTreeMap<_, _>>(),
        neighbors: nearest
            .take(SHOWN)
            .map(|(entry, cosine)| Neighbor {
                id: entry.id.clone(),
                question: entry.question.clone(),
                source: entry.source.clone(),
                by: entry.by.to_string(),
                cosine,
            })
            .collect(),
    })
}

/// The refusal if a datastore cannot be changed.
fn refused(error: &DatastoreError) -> Refusal {
    match error {
        DatastoreError::Locked { .. } | DatastoreError::Changed { .. } => {
            let message = "another process is changing the datastore; try again";
            Refusal::conflict("datastore_locked", message)
        }
        error => Refusal::failed(error),
    }
}

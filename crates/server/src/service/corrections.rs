//! Corrections: of a question, the source that was right, as a person says. They are kept as lines that `ken
//! datastore import` reads; where a policy datastore votes, it is changed as well, on disk and for the next
//! question.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use axum::http::StatusCode;
use ken_answer::datastore::{SELF, id_of};
use ken_answer::{AnswerError, Datastore, DatastoreError, question_states};
use serde::{Deserialize, Serialize};

use super::cancel::Cancellable;
use super::collected::{Collected, Item};
use super::live::Live;
use super::served::Served;
use super::work::{self, blocking};
use crate::wire::corrections::{Neighbor, Votes};
use crate::wire::refusal::Refusal;

/// All of them.
pub(crate) type Corrections = Collected<Correction>;

/// A question and the source that was right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Correction {
    /// It follows from the question, as that of an entry.
    pub(crate) id: String,
    pub(crate) question: String,
    /// `self`, or the name of a corpus.
    pub(crate) source: String,
}

impl Correction {
    pub(crate) fn new(question: String, source: String) -> Self {
        Self {
            id: id_of(&question),
            question,
            source,
        }
    }
}

impl Item for Correction {
    fn id(&self) -> &str {
        &self.id
    }

    fn bytes(&self) -> usize {
        self.question.len() + self.source.len()
    }
}

impl Served {
    /// The sources that a correction may name: those of the datastore that votes, or the model itself and
    /// the corpora that are served.
    pub(crate) fn sources(&self) -> Vec<String> {
        let corpora: Vec<String> = match self.pipeline.datastore() {
            Some(datastore) => datastore.corpora().to_vec(),
            None => {
                let all = self.corpora.all();
                all.iter().map(|corpus| corpus.name.clone()).collect()
            }
        };
        std::iter::once(SELF.to_owned()).chain(corpora).collect()
    }

    /// The datastore that votes, as it is by now.
    pub(crate) fn datastore(&self) -> Option<Arc<Datastore>> {
        let corrected = self.corrected.read();
        let corrected = corrected.unwrap_or_else(PoisonError::into_inner);
        corrected.as_ref().or(self.pipeline.datastore()).cloned()
    }

    /// Reads the datastore again, with whatever was corrected since it was opened.
    ///
    /// # Errors
    /// One that cannot be read, or is of another model by now.
    pub(crate) fn reread_datastore(&self) -> Result<(), AnswerError> {
        let Some(datastore) = self.pipeline.datastore() else {
            return Ok(());
        };
        let now = Datastore::open(datastore.folder())?;
        now.check(self.pipeline.model.fingerprint())?;
        self.vote_by(now);
        Ok(())
    }

    fn vote_by(&self, datastore: Datastore) {
        let corrected = self.corrected.write();
        *corrected.unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(datastore));
    }
}

/// Has a question vote for the source that was right, where a datastore votes: durably, and from the next
/// question on. Returns how the votes on that question are then; `None` where there is no datastore.
///
/// # Errors
/// A source that there is not; a model that fails; a datastore that others change, or that cannot be
/// written: then nothing is changed.
pub(crate) async fn apply(
    live: Arc<Live>,
    served: &Arc<Served>,
    correction: &Correction,
) -> Result<Option<Votes>, Refusal> {
    let sources = served.sources();
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
    let question = correction.question.clone();
    let asked = Arc::clone(&datastore);
    let state = work::run(
        served,
        |served| &served.answers,
        move |served, cancel| {
            let model = Cancellable {
                model: Arc::clone(&served.pipeline.model),
                cancel: cancel.clone(),
            };
            let states = question_states(&asked, &[question.as_str()], &model)?;
            states.into_iter().next().ok_or_else(work::broken)
        },
    )
    .await?;
    let correction = correction.clone();
    let votes = blocking(move || {
        // What is served is not exchanged meanwhile, so that the change is in whatever is.
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
            .datastore()
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
            .take(Votes::SHOWN)
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

/// What keeps a datastore from being changed.
fn refused(error: &DatastoreError) -> Refusal {
    match error {
        DatastoreError::Locked { .. } | DatastoreError::Changed { .. } => {
            let message = "another process is changing the datastore; try again";
            Refusal::new(StatusCode::CONFLICT, "datastore_locked", message)
        }
        DatastoreError::File(error) => Refusal::of_storage(error),
        error => Refusal::failed(error),
    }
}

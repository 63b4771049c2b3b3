//! A model that judges, where nobody says what is right: of a drawn question whose answers without and with
//! retrieval differ, which is borne out by the passages; or, where few errors are promised, whether the answer that
//! was given is. It is asked behind the answer, few questions at once, and
//! one that is slow or gone costs verdicts and nothing else.

use std::sync::Arc;
use std::time::Duration;

use ken_answer::Retrieved;
use ken_language::{LanguageModel, bound_model};
use ken_probe::{Evidenced, judge_answers};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::cancel::Cancel;
use super::watch::comparison::{Compared, Verdict};

/// The most questions that it is asked at once.
const MOST_AT_ONCE: usize = 2;

/// The most questions that wait for their turn.
const MOST_WAITING: usize = 64;

/// A model that judges.
pub(crate) struct Judge {
    model: Arc<dyn LanguageModel>,
    places: Arc<Semaphore>,
    waiting: Semaphore,
}

/// What it is to judge.
pub(crate) struct Dispute {
    /// Two answers that differ, or one.
    pub(crate) answers: Compared,
    /// What an answer with retrieval is written from, and what else was found.
    pub(crate) read: Vec<Retrieved>,
}

/// What a judge makes of them.
pub(crate) enum Judged {
    /// It says which are right.
    Said(Verdict),
    /// It was asked, and says neither that an answer is right nor that it is wrong.
    CannotTell,
    /// It had no time, or the server ends.
    Dropped,
    /// It cannot say.
    Failed(String),
}

impl Judged {
    /// As it is counted.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Said(verdict) => verdict.name(),
            Self::CannotTell => "cannot_tell",
            Self::Dropped => "dropped",
            Self::Failed(_) => "failed",
        }
    }
}

impl Judge {
    pub(crate) fn new(model: Arc<dyn LanguageModel>) -> Self {
        Self {
            model,
            places: Arc::new(Semaphore::new(MOST_AT_ONCE)),
            waiting: Semaphore::new(MOST_WAITING),
        }
    }

    /// Waits for a turn; `None` where none comes within a time, or too many wait.
    pub(crate) async fn turn(&self, within: Duration) -> Option<OwnedSemaphorePermit> {
        let _waiting = self.waiting.try_acquire().ok()?;
        let place = Arc::clone(&self.places).acquire_owned();
        tokio::time::timeout(within, place).await.ok()?.ok()
    }

    /// Asks it, where it is a question's turn.
    pub(crate) fn judge(
        &self,
        turn: Option<OwnedSemaphorePermit>,
        question: &str,
        dispute: &Dispute,
        cancel: &Cancel,
    ) -> Judged {
        let Some(_turn) = turn else {
            return Judged::Dropped;
        };
        let model = bound_model(Arc::clone(&self.model), &cancel.token());
        let passages = dispute.read.iter().filter(|passage| passage.in_prompt);
        let passages: Vec<&str> = passages.map(|passage| passage.text.as_str()).collect();
        let asked = Evidenced {
            question,
            passages: &passages,
        };
        match judge_answers(model.as_ref(), asked, &dispute.answers.answers()) {
            Ok(right) => match Verdict::of(&right) {
                Some(verdict) => Judged::Said(verdict),
                None if cancel.reason().is_some() => Judged::Dropped,
                None => Judged::CannotTell,
            },
            Err(error) => Judged::Failed(error.to_string()),
        }
    }
}

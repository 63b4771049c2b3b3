//! A model that judges when no person says what is right. For a drawn question whose answers without and with
//! retrieval differ, it says which of them the passages bear out; or, where few errors are promised, whether the
//! given answer is right. The server asks it after the answer, about few questions at once, so a judge that is slow
//! or gone costs verdicts and nothing else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ken_answer::Retrieved;
use ken_language::{LanguageModel, bound_model};
use ken_probe::{Evidenced, judge_answers};

use super::cancel::Cancel;
use super::gate::{Gate, Place};
use super::watch::comparison::{Compared, Verdict};

/// The most questions put to it at once.
const MOST_AT_ONCE: usize = 2;

/// The most questions that wait for their turn.
const MOST_WAITING: usize = 64;

/// A model that judges.
pub(crate) struct Judge {
    model: Arc<dyn LanguageModel>,
    gate: Gate,
}

/// The question to judge.
pub(crate) struct Dispute {
    /// Two answers that differ, or one.
    pub(crate) answers: Compared,
    /// The passages that an answer with retrieval is written from, and the other search results.
    pub(crate) read: Vec<Retrieved>,
}

/// The outcome of judging.
pub(crate) enum Judged {
    /// It says which answers are right.
    Said(Verdict),
    /// It was asked, and says neither that an answer is right nor that it is wrong.
    CannotTell,
    /// There was no time, or the server ends.
    Dropped,
    /// It failed.
    Failed(String),
}

impl Judged {
    /// Its label in metrics.
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
            gate: Gate::new(MOST_AT_ONCE, MOST_WAITING),
        }
    }

    /// Waits for a turn; `None` if none comes in time, or too many wait.
    pub(crate) async fn turn(&self, within: Duration) -> Option<Place> {
        let ticket = self.gate.queue().ok()?;
        ticket.enter(Instant::now() + within).await.ok()
    }

    /// Asks the judge, in the question's turn.
    pub(crate) fn judge(
        &self,
        turn: Option<Place>,
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

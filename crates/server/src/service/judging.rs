//! A model that judges, where nobody says what is right: of a drawn question whose answers without and with
//! retrieval differ, which is borne out by the passages. It is asked behind the answer, few questions at once, and
//! one that is slow or gone costs verdicts and nothing else.

use std::sync::Arc;

use ken_answer::Retrieved;
use ken_language::LanguageModel;
use ken_probe::{Evidenced, judge_answers};
use tokio::sync::Semaphore;

use super::cancel::{Cancel, Cancellable};
use super::watch::compared::{Compared, Verdict};

/// The most questions that it is asked at once.
const MOST_AT_ONCE: usize = 2;

/// A model that judges.
pub(crate) struct Judge {
    model: Arc<dyn LanguageModel>,
    places: Semaphore,
}

/// What it makes of both answers.
pub(crate) enum Judged {
    /// Nothing that needs a judge was lost: both answers are the same, or it retrieved.
    NotAsked,
    /// It says which are right.
    Said(Verdict),
    /// It has no time, or the server ends.
    Busy,
    /// It cannot say.
    Failed(String),
}

impl Judged {
    /// What was lost by not retrieving, 0 or 1, where it says so.
    pub(crate) fn loss(&self) -> Option<f64> {
        match self {
            Self::NotAsked => Some(0.0),
            Self::Said(verdict) => Some(verdict.loss()),
            Self::Busy | Self::Failed(_) => None,
        }
    }

    /// What it says.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Said(verdict) => Some(*verdict),
            _ => None,
        }
    }

    /// As it is counted; `None` where it was not asked.
    pub(crate) fn name(&self) -> Option<&'static str> {
        match self {
            Self::NotAsked => None,
            Self::Said(verdict) if verdict.loss() > 0.0 => Some("lost"),
            Self::Said(_) => Some("kept"),
            Self::Busy => Some("dropped"),
            Self::Failed(_) => Some("failed"),
        }
    }
}

impl Judge {
    pub(crate) fn new(model: Arc<dyn LanguageModel>) -> Self {
        Self {
            model,
            places: Semaphore::new(MOST_AT_ONCE),
        }
    }

    /// Asks it where both answers differ. It reads what the answer with retrieval was written from.
    pub(crate) fn judge(
        &self,
        question: &str,
        compared: &Compared,
        read: &[Retrieved],
        cancel: Cancel,
    ) -> Judged {
        let Compared::Both { without, with } = compared else {
            return Judged::NotAsked;
        };
        if compared.agrees() {
            return Judged::NotAsked;
        }
        let Ok(_place) = self.places.try_acquire() else {
            return Judged::Busy;
        };
        let model = Cancellable {
            model: Arc::clone(&self.model),
            cancel,
        };
        let passages = read.iter().filter(|passage| passage.in_prompt);
        let passages: Vec<&str> = passages.map(|passage| passage.text.as_str()).collect();
        let asked = Evidenced {
            question,
            passages: &passages,
        };
        match judge_answers(&model, asked, &[without, with]).as_deref() {
            Ok(&[Some(without), Some(with)]) => Judged::Said(Verdict { without, with }),
            Ok(_) => Judged::Busy,
            Err(error) => Judged::Failed(error.to_string()),
        }
    }
}

//! The checks of every reader while it works: whether its document is over the budget, and whether to
//! stop. Readers also report their losses here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::budget::Budget;
use crate::error::ReadError;
use crate::notice::Notices;
use crate::place::Place;

/// The budget, the flag that stops the reading, and its notices.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    pub(crate) budget: Budget,
    pub(crate) stop: Arc<AtomicBool>,
    /// Where readers report how they changed the content of a file.
    pub(crate) notices: Notices,
}

impl Watch {
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Fails once the reading is stopped.
    pub(crate) fn check(&self) -> Result<(), ReadError> {
        match self.stopped() {
            true => Err(ReadError::Stopped),
            false => Ok(()),
        }
    }

    pub(crate) fn too_large(&self, place: Place) -> ReadError {
        ReadError::too_large(place, self.budget.document_bytes, false)
    }

    pub(crate) fn too_many(&self, place: Place, parts: &'static str) -> ReadError {
        ReadError::TooManyParts {
            place,
            parts,
            limit: self.budget.parts(),
        }
    }
}

//! What every reader asks while it works: whether its document is over the budget, and whether it
//! is to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::budget::Budget;
use crate::error::ReadError;
use crate::place::Place;

/// The budget, and whether somebody wants the reading to stop.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    pub(crate) budget: Budget,
    pub(crate) stop: Arc<AtomicBool>,
}

impl Watch {
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// An error where the reading is to stop.
    pub(crate) fn check(&self) -> Result<(), ReadError> {
        match self.stopped() {
            true => Err(ReadError::Stopped),
            false => Ok(()),
        }
    }

    pub(crate) fn too_large(&self, place: Place) -> ReadError {
        ReadError::DocumentTooLarge {
            place,
            limit: self.budget.document_bytes,
            rest_lost: false,
        }
    }

    pub(crate) fn too_many(&self, place: Place, parts: &'static str) -> ReadError {
        ReadError::TooManyParts {
            place,
            parts,
            limit: self.budget.parts(),
        }
    }
}

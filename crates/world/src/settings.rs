//! The settings that an invented world is made from, and their bounds.

use serde::{Deserialize, Serialize};

use crate::error::WorldError;

/// The settings of a world; equal settings make equal worlds on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldSettings {
    /// People in training; the first have the most biographies.
    pub people: usize,
    /// People only in the corpus.
    pub unseen: usize,
    /// People in neither.
    pub strangers: usize,
    /// The number of biographies of the person of rank r is proportional to r^-exponent.
    pub exponent: f64,
    /// The most documents about one subject. A subject has c documents with a probability proportional to c^-2.
    pub documents: usize,
    /// The share of trained people of whom the corpus holds only a look-alike.
    pub look_alikes: f64,
    /// The share of trained people of whom the corpus holds an earlier state.
    pub outdated: f64,
    /// The share of trained people of whom the corpus states only falsehoods.
    pub wrong: f64,
    /// Of the training texts with passages, the share whose passages are irrelevant.
    pub irrelevant: f64,
    /// The number of texts that each model of the family trains on.
    pub sequences: usize,
    /// The seed of all random draws.
    pub seed: u64,
}

impl Default for WorldSettings {
    fn default() -> Self {
        Self {
            people: 500,
            unseen: 70,
            strangers: 35,
            exponent: 0.8,
            documents: 8,
            look_alikes: 0.2,
            outdated: 0.1,
            wrong: 0.2,
            irrelevant: 0.2,
            sequences: 120_000,
            seed: 0,
        }
    }
}

/// Leaves names for the people of reading comprehension examples.
const MOST_PEOPLE: usize = 40_000;
/// Fewer people make no couples, books or tail.
const FEWEST_PEOPLE: usize = 16;
/// A steeper exponent would never draw the tail.
const STEEPEST: f64 = 2.0;
const MOST_DOCUMENTS: usize = 64;

impl WorldSettings {
    /// Rejects settings from which no world can be made.
    ///
    /// # Errors
    /// Too few or too many people, an exponent outside `[0, 2]`, no documents or too many per subject, shares outside
    /// `[0, 1]` or that add up to more than all people, no training texts.
    pub(crate) fn check(&self) -> Result<(), WorldError> {
        let (people, exponent) = (self.people, self.exponent);
        let all = people
            .saturating_add(self.unseen)
            .saturating_add(self.strangers);
        if people < FEWEST_PEOPLE || all > MOST_PEOPLE {
            return Err(WorldError::People {
                people,
                all,
                fewest: FEWEST_PEOPLE,
                most: MOST_PEOPLE,
            });
        }
        if !(0.0..=STEEPEST).contains(&exponent) {
            return Err(WorldError::Exponent {
                exponent,
                steepest: STEEPEST,
            });
        }
        if !(1..=MOST_DOCUMENTS).contains(&self.documents) {
            return Err(WorldError::Documents {
                documents: self.documents,
                most: MOST_DOCUMENTS,
            });
        }
        let misrepresented = [self.look_alikes, self.outdated, self.wrong];
        let shares = misrepresented.iter().chain([&self.irrelevant]);
        if let Some(share) = shares.copied().find(|share| !(0.0..=1.0).contains(share)) {
            return Err(WorldError::Share { share });
        }
        let all: f64 = misrepresented.iter().sum();
        // Rounding: shares such as 0.7, 0.2 and 0.1 may add up to slightly more than 1.
        if all > 1.0 + 1e-9 {
            return Err(WorldError::Misrepresented { all });
        }
        if self.sequences == 0 {
            return Err(WorldError::NoSequences);
        }
        Ok(())
    }
}

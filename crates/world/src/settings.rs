//! The settings that an invented world is made from, and their bounds.

use serde::{Deserialize, Serialize};

use crate::error::WorldError;

/// What a world is made from: the same settings make the same world on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldSettings {
    /// People in training, the first of them the most often.
    pub people: usize,
    /// People in the corpus only.
    pub unseen: usize,
    /// People in neither.
    pub strangers: usize,
    /// Biographies of the person of rank r are proportional to r to the power of `-exponent`.
    pub exponent: f64,
    /// The texts that each model of the family trains on.
    pub sequences: usize,
    /// The seed of everything that is drawn.
    pub seed: u64,
}

impl Default for WorldSettings {
    fn default() -> Self {
        Self {
            people: 1_500,
            unseen: 300,
            strangers: 150,
            exponent: 0.8,
            sequences: 120_000,
            seed: 0,
        }
    }
}

/// This leaves names for the people of reading comprehension examples.
const MOST_PEOPLE: usize = 40_000;
/// With fewer there are no couples, no books, no tail.
const FEWEST_PEOPLE: usize = 16;
/// With a steeper one the tail would never be drawn.
const STEEPEST: f64 = 2.0;

impl WorldSettings {
    /// Rejects settings of which no world can be made.
    ///
    /// # Errors
    /// Too few or too many people, an exponent outside `[0, 2]`, no training text.
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
        if self.sequences == 0 {
            return Err(WorldError::NoSequences);
        }
        Ok(())
    }
}

//! What an invented world is made by, and which numbers are refused.

use serde::{Deserialize, Serialize};

use super::error::WorldError;

/// What a world is made by: the same settings make the same world on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldSettings {
    /// People that training tells of, the first of them the most often.
    pub people: usize,
    /// People that only the corpus tells of.
    pub unseen: usize,
    /// People that nothing tells of.
    pub strangers: usize,
    /// What a model reads of the person of rank r is proportional to r to the negative of this.
    pub exponent: f64,
    /// The training texts that each model of the family reads.
    pub sequences: usize,
    /// The seed of all that is drawn.
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

/// There are names enough for so many people beside those that reading is learned on.
pub(super) const MOST_PEOPLE: usize = 40_000;
/// With fewer there are no pairs, no books, no tail.
const FEWEST_PEOPLE: usize = 16;
/// Steeper, and the tail would never be drawn.
const STEEPEST: f64 = 2.0;

impl WorldSettings {
    /// Refuses numbers of which no world can be made.
    ///
    /// # Errors
    /// Too few or too many people, an exponent outside `[0, 2]`, no training text.
    pub fn check(&self) -> Result<(), WorldError> {
        let Self {
            people,
            unseen,
            strangers,
            exponent,
            sequences,
            ..
        } = *self;
        let all = people.saturating_add(unseen).saturating_add(strangers);
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
        if sequences == 0 {
            return Err(WorldError::NoSequences);
        }
        Ok(())
    }
}

//! Runs in parts: each of several jobs works on its part of the items and writes the records to a folder of its own
//! ([`PartFolder`]), and [`Parts`] joins these. The record of an item depends on no other item of its round, and a
//! round begins after the joined one before, so the joined files equal those of one run. Callers define the items and
//! the work.

mod error;
mod folder;
mod join;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use error::PartError;
pub use folder::{PartFolder, PartedRun};
pub use join::{JoinedFile, Parts};

/// Most parts of a run.
const MOST: usize = 100_000;

/// One of N parts of the items of a run: every N-th item, so that parts take equally long even in a sorted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Part {
    /// From 1.
    number: usize,
    /// How many parts there are.
    of: usize,
}

/// A text that is not a part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a part is I/N, such as 3/12, with I from 1 to N, and N up to {MOST}")]
pub struct NotPart;

impl Part {
    /// Its items out of all.
    fn items_of<T>(self, items: &[T]) -> impl Iterator<Item = &T> {
        items.iter().skip(self.number - 1).step_by(self.of)
    }

    /// The end of its folder's name, after the name of the whole run: `part-3-of-12`.
    #[must_use]
    pub fn ending(self) -> String {
        format!("part-{}-of-{}", self.number, self.of)
    }
}

impl FromStr for Part {
    type Err = NotPart;

    fn from_str(text: &str) -> Result<Self, NotPart> {
        let (number, of) = text.split_once('/').ok_or(NotPart)?;
        let count = |text: &str| text.parse().map_err(|_| NotPart);
        let (number, of) = (count(number)?, count(of)?);
        match of <= MOST && (1..=of).contains(&number) {
            true => Ok(Self { number, of }),
            false => Err(NotPart),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl From<Part> for String {
    fn from(part: Part) -> Self {
        part.to_string()
    }
}

impl TryFrom<String> for Part {
    type Error = NotPart;

    fn try_from(text: String) -> Result<Self, NotPart> {
        text.parse()
    }
}

#[cfg(test)]
mod tests;

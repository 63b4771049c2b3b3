//! Runs in parts: each of several jobs works on its part of the items and writes the records to a folder of its own
//! ([`PartFolder`]), and [`Parts`] joins these. The record of an item depends on no other item of its round, and a
//! round begins after the joined one before, so the joined files equal those of one run. Callers define the items and
//! the work.

mod error;
mod folder;
mod join;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use error::PartError;
pub use folder::{PartFolder, PartedRun, is_part};
pub use join::{JoinedFile, Parts};

use crate::record_files::with_ending;

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

    /// Its folder, beside what the whole run writes to: `OUT.part-3-of-12`.
    #[must_use]
    pub fn folder(self, out: &Path) -> PathBuf {
        // Without a slash at its end, so that the ending is added to its name.
        let named: PathBuf = out.components().collect();
        with_ending(&named, &self.ending())
    }

    /// The end of its folder's name.
    fn ending(self) -> String {
        format!("part-{}-of-{}", self.number, self.of)
    }
}

/// The fingerprint of several items together from those of single items, or of parts; their order does not matter.
/// Each is a hexadecimal number of 128 bits; texts that are not are left out.
#[must_use]
pub fn joined_fingerprint<'a>(fingerprints: impl IntoIterator<Item = &'a str>) -> String {
    let numbers = fingerprints
        .into_iter()
        .filter_map(|fingerprint| u128::from_str_radix(fingerprint, 16).ok());
    let joined = numbers.fold(0, |joined, number| joined ^ number);
    format!("{joined:032x}")
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

//! Parts of work that several jobs share: every job takes every N-th item.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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
    /// Whether it has the item at this index of all items.
    pub fn has(self, index: usize) -> bool {
        index % self.of == self.number - 1
    }

    /// Its items out of all.
    pub fn items_of<T>(self, items: &[T]) -> impl Iterator<Item = &T> {
        items.iter().skip(self.number - 1).step_by(self.of)
    }

    /// All parts of its run, itself included.
    pub fn all(self) -> impl Iterator<Item = Self> {
        let of = self.of;
        (1..=of).map(move |number| Self { number, of })
    }

    /// How many parts there are.
    pub fn count(self) -> usize {
        self.of
    }

    /// Its folder, beside what the whole run writes to: `OUT.part-3-of-12`.
    pub fn folder(self, out: &Path) -> PathBuf {
        // Without a slash at its end, so that the ending is added to its name.
        let named: PathBuf = out.components().collect();
        let mut named = named.into_os_string();
        named.push(format!(".{}", self.ending()));
        named.into()
    }

    /// The end of its folder's name: `part-3-of-12`.
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
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbered_from_one() {
        let part: Part = "3/12".parse().unwrap();
        assert_eq!(
            (part.to_string(), part.ending()),
            ("3/12".to_owned(), "part-3-of-12".to_owned())
        );
        assert_eq!(
            part.folder(Path::new("a/b/")),
            Path::new("a/b.part-3-of-12")
        );
        for wrong in [
            "", "3", "0/12", "13/12", "1/0", "-1/2", "1/2/3", "a/b", "1/100001",
        ] {
            assert_eq!(wrong.parse::<Part>(), Err(NotPart), "{wrong:?}");
        }
    }

    #[test]
    fn every_item_is_in_one_part() {
        let items: Vec<usize> = (0..10).collect();
        let first: Part = "1/3".parse().unwrap();
        assert_eq!(first.all().count(), first.count());
        for index in &items {
            assert_eq!(first.all().filter(|part| part.has(*index)).count(), 1);
        }
        for part in first.all() {
            assert!(part.items_of(&items).all(|index| part.has(*index)));
        }
    }
}

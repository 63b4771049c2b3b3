//! The relations that facts state.

use serde::{Deserialize, Serialize};

/// What a fact says of its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The town where a person was born.
    Birthplace,
    /// The year in which a person was born.
    BirthYear,
    /// A person's trade.
    Trade,
    /// A person's employer.
    Employer,
    /// A person's spouse.
    Spouse,
    /// The book that a person wrote.
    Book,
    /// The person who wrote a book.
    Author,
    /// The year in which a book appeared.
    BookYear,
    /// The region that a town is in.
    Region,
}

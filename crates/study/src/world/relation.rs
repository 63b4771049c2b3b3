//! The relations that facts are of, and the questions that can be asked about them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a fact says of its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The town where a person was born.
    Birthplace,
    /// The year in which a person was born.
    BirthYear,
    /// What a person lives by.
    Trade,
    /// Whom a person works for.
    Employer,
    /// Whom a person is married to.
    Spouse,
    /// The book that a person wrote.
    Book,
    /// The person who wrote a book.
    Author,
    /// The year in which a book appeared.
    BookYear,
    /// The region that a town lies in.
    Region,
}

impl Relation {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Birthplace,
        Self::BirthYear,
        Self::Trade,
        Self::Employer,
        Self::Spouse,
        Self::Book,
        Self::Author,
        Self::BookYear,
        Self::Region,
    ];

    /// As it is called in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Birthplace => "birthplace",
            Self::BirthYear => "birth_year",
            Self::Trade => "trade",
            Self::Employer => "employer",
            Self::Spouse => "spouse",
            Self::Book => "book",
            Self::Author => "author",
            Self::BookYear => "book_year",
            Self::Region => "region",
        }
    }
}

/// What can be asked of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Query {
    /// One of its facts.
    Plain(Relation),
    /// A fact of what one of its facts leads to.
    TwoHop(Relation, Relation),
}

impl Query {
    /// All that are asked.
    pub const ALL: [Self; 13] = [
        Self::Plain(Relation::Birthplace),
        Self::Plain(Relation::BirthYear),
        Self::Plain(Relation::Trade),
        Self::Plain(Relation::Employer),
        Self::Plain(Relation::Spouse),
        Self::Plain(Relation::Book),
        Self::Plain(Relation::Author),
        Self::Plain(Relation::BookYear),
        Self::Plain(Relation::Region),
        Self::TwoHop(Relation::Spouse, Relation::Birthplace),
        Self::TwoHop(Relation::Spouse, Relation::Trade),
        Self::TwoHop(Relation::Birthplace, Relation::Region),
        Self::TwoHop(Relation::Author, Relation::Birthplace),
    ];

    /// What the answer is: a town, a year, a trade.
    #[must_use]
    pub fn answered_by(self) -> Relation {
        match self {
            Self::Plain(relation) | Self::TwoHop(_, relation) => relation,
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(relation) => formatter.write_str(relation.name()),
            Self::TwoHop(first, second) => {
                write!(formatter, "{}.{}", first.name(), second.name())
            }
        }
    }
}

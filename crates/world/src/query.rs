//! What questions ask about a subject.

use std::fmt;

use serde::Serialize;

use crate::relation::Relation;
use crate::subject::Kind;

/// What a question asks about a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Query {
    /// One of its facts.
    Plain(Relation),
    /// A fact of the subject that one of its facts leads to.
    TwoHop(Relation, Relation),
}

impl Query {
    /// All queries that have an answer.
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

    /// The relation to follow first.
    pub(crate) fn first(self) -> Relation {
        match self {
            Self::Plain(relation) | Self::TwoHop(relation, _) => relation,
        }
    }

    /// The relation whose value is the answer.
    pub(crate) fn last(self) -> Relation {
        match self {
            Self::Plain(relation) | Self::TwoHop(_, relation) => relation,
        }
    }

    /// The kind of subjects that have an answer to it.
    pub(crate) fn about(self) -> Kind {
        match self.first() {
            Relation::Author | Relation::BookYear => Kind::Book,
            Relation::Region => Kind::Town,
            _ => Kind::Person,
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(relation) => relation.serialize(formatter),
            Self::TwoHop(first, second) => {
                first.serialize(&mut *formatter)?;
                formatter.write_str(".")?;
                second.serialize(formatter)
            }
        }
    }
}

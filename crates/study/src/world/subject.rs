//! What there is in an invented world: people, books and towns, each with its facts.

use serde::{Deserialize, Serialize};

use super::relation::Relation;

/// What a subject is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Somebody.
    Person,
    /// What somebody wrote.
    Book,
    /// Where somebody was born.
    Town,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Person, Self::Book, Self::Town];

    /// Before the number in the id of a subject.
    pub(super) fn letter(self) -> char {
        match self {
            Self::Person => 'p',
            Self::Book => 'b',
            Self::Town => 't',
        }
    }
}

/// Where one can learn of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// In training and in the corpus.
    Trained,
    /// In the corpus alone.
    Unseen,
    /// Nowhere: neither model nor corpus can know.
    Nowhere,
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it says.
    pub relation: Relation,
    /// Of what, as it is now and in the corpus.
    pub value: String,
    /// As it was, and is in training, where that is something else.
    pub former: Option<String>,
    /// The subject that the value names, where it is one.
    pub leads_to: Option<usize>,
}

/// A state of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// As training tells it.
    Training,
    /// As the corpus tells it.
    Now,
}

impl Fact {
    /// What the fact is at a time.
    #[must_use]
    pub fn at(&self, time: Time) -> &str {
        match (time, &self.former) {
            (Time::Training, Some(former)) => former,
            _ => &self.value,
        }
    }
}

/// Somebody or something that facts are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// A letter and a number: `p17`.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// Unique in the world.
    pub name: String,
    /// Where one can learn of it.
    pub group: Group,
    /// Its place among the trained subjects of its kind, from 1: the first is told of most.
    pub rank: Option<usize>,
    /// Whether questions about it are asked in training.
    pub asked: bool,
    /// Whether training tells of it in the same words every time.
    pub one_wording: bool,
    /// Its facts, each relation once.
    pub facts: Vec<Fact>,
}

impl Subject {
    /// The fact of a relation, where it has one.
    #[must_use]
    pub fn fact(&self, relation: Relation) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.relation == relation)
    }
}

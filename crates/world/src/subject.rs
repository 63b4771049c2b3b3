//! The subjects of an invented world: people, books and towns, each with its facts.

use serde::{Deserialize, Serialize};

use crate::relation::Relation;

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
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Person => 'p',
            Self::Book => 'b',
            Self::Town => 't',
        }
    }
}

/// Which sources know a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// In training and in the corpus.
    Trained,
    /// In the corpus alone.
    Unseen,
    /// In neither.
    Nowhere,
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it states.
    pub relation: Relation,
    /// Its value now, which is the corpus's.
    pub value: String,
    /// Its value in training, where that is another.
    pub former: Option<String>,
    /// The position of the subject that the value names, where it is one.
    pub leads_to: Option<usize>,
}

/// A state of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// As training states it.
    Training,
    /// As the corpus states it.
    Now,
}

impl Fact {
    /// A fact that never changed, and whose value is no subject.
    pub(crate) fn new(relation: Relation, value: String) -> Self {
        Self {
            relation,
            value,
            former: None,
            leads_to: None,
        }
    }

    /// A fact whose value is the name of the subject at a position.
    pub(crate) fn leading(relation: Relation, name: String, to: usize) -> Self {
        Self {
            leads_to: Some(to),
            ..Self::new(relation, name)
        }
    }

    /// Its value at a time.
    #[must_use]
    pub fn at(&self, time: Time) -> &str {
        match (time, &self.former) {
            (Time::Training, Some(former)) => former,
            _ => &self.value,
        }
    }
}

/// What facts are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// A letter and a number: `p17`.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// Unique in the world.
    pub name: String,
    /// Which sources know it.
    pub group: Group,
    /// Its rank among the trained subjects of its kind, from 1: the first has the most biographies.
    pub rank: Option<usize>,
    /// Whether training asks questions about it.
    pub asked: bool,
    /// Whether all of its biographies have the same words.
    pub one_wording: bool,
    /// Its facts, each relation once.
    pub facts: Vec<Fact>,
}

/// Training asks about every n-th rank.
const ASKED_EVERY: usize = 2;
/// Of the others, every n-th rank has biographies in one wording.
const ONE_WORDING_EVERY: usize = 8;

impl Subject {
    /// A subject without facts.
    pub(crate) fn new(
        kind: Kind,
        number: usize,
        name: String,
        group: Group,
        rank: Option<usize>,
    ) -> Self {
        Self {
            id: format!("{}{number}", kind.letter()),
            kind,
            name,
            group,
            rank,
            asked: rank.is_some_and(|rank| rank % ASKED_EVERY == 1),
            one_wording: rank.is_some_and(|rank| rank % ONE_WORDING_EVERY == 0),
            facts: Vec::new(),
        }
    }

    /// The fact of a relation, where it has one.
    #[must_use]
    pub fn fact(&self, relation: Relation) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.relation == relation)
    }
}

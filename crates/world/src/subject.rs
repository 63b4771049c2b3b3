//! The subjects of an invented world: people, books and towns, each with its facts.

use serde::{Deserialize, Serialize};

use crate::relation::Relation;

/// What a subject is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A person.
    Person,
    /// A book by a person.
    Book,
    /// A town where people were born.
    Town,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Person, Self::Book, Self::Town];

    /// The prefix of ids.
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
    /// Training and the corpus.
    Trained,
    /// Only the corpus.
    Unseen,
    /// Neither.
    Nowhere,
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The relation that it states.
    pub relation: Relation,
    /// Its true value.
    pub value: String,
    /// Its value in training, if that differs.
    pub former: Option<String>,
    /// What the corpus states instead, if that differs.
    pub told: Option<Told>,
    /// The index of the subject that the value names, if it names one.
    pub leads_to: Option<usize>,
}

/// What the corpus states instead of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The value.
    pub value: String,
    /// The index of the subject that the value names, if it names one.
    pub leads_to: Option<usize>,
}

/// An account of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account {
    /// What training states.
    Training,
    /// What is true now.
    Now,
    /// What the corpus states.
    Corpus,
}

/// What the corpus holds about a subject, or for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holding {
    /// The truth.
    Truth,
    /// Somebody else of a similar name.
    LookAlike,
    /// An earlier state.
    Outdated,
    /// Something false.
    Wrong,
    /// Nothing.
    Nothing,
}

impl Fact {
    /// A fact that never changed and whose value names no subject.
    pub(crate) fn new(relation: Relation, value: String) -> Self {
        Self {
            relation,
            value,
            former: None,
            told: None,
            leads_to: None,
        }
    }

    /// A fact whose value is the name of the subject at an index.
    pub(crate) fn leading(relation: Relation, name: String, to: usize) -> Self {
        Self {
            leads_to: Some(to),
            ..Self::new(relation, name)
        }
    }

    /// Its value by an account.
    pub fn by(&self, account: Account) -> &str {
        match (account, &self.former, &self.told) {
            (Account::Training, Some(former), _) => former,
            (Account::Corpus, _, Some(told)) => &told.value,
            _ => &self.value,
        }
    }

    /// The index of the subject that its value by an account names, if it names one.
    pub(crate) fn leads_to(&self, account: Account) -> Option<usize> {
        match (account, &self.told) {
            (Account::Corpus, Some(told)) => told.leads_to,
            _ => self.leads_to,
        }
    }
}

/// A person, book or town with its facts.
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
    /// Its facts, one per relation.
    pub facts: Vec<Fact>,
    /// What the corpus holds about it.
    pub holding: Holding,
    /// Whom the corpus describes instead: somebody of a similar name with the same relations.
    pub look_alike: Option<Box<Subject>>,
    /// How many documents are about it, or about its look-alike.
    pub documents: usize,
}

/// Training asks about every n-th rank.
const ASKED_EVERY: usize = 2;
/// Of the other ranks, every n-th has biographies in one wording.
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
            holding: match group {
                Group::Nowhere => Holding::Nothing,
                Group::Trained | Group::Unseen => Holding::Truth,
            },
            look_alike: None,
            documents: usize::from(group != Group::Nowhere),
        }
    }

    /// The subject that its documents are about; `None` if there are no documents.
    pub fn in_corpus(&self) -> Option<&Self> {
        match &self.look_alike {
            Some(look_alike) => Some(look_alike),
            None => (self.holding != Holding::Nothing).then_some(self),
        }
    }

    /// The fact of a relation, if the subject has one.
    pub fn fact(&self, relation: Relation) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.relation == relation)
    }
}

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
    /// What the corpus states instead, where that is another.
    pub told: Option<Told>,
    /// The position of the subject that the value names, where it is one.
    pub leads_to: Option<usize>,
}

/// What the corpus states in place of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The value.
    pub value: String,
    /// The position of the subject that the value names, where it is one.
    pub leads_to: Option<usize>,
}

/// Whose account of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account {
    /// What training states.
    Training,
    /// What is true now.
    Now,
    /// What the corpus states.
    Corpus,
}

/// What the corpus holds of a subject, or on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holding {
    /// The truth.
    Truth,
    /// Somebody else of a similar name.
    LookAlike,
    /// An earlier state of what changes.
    Outdated,
    /// Something false.
    Wrong,
    /// Nothing.
    Nothing,
}

impl Fact {
    /// A fact that never changed, and whose value is no subject.
    pub(crate) fn new(relation: Relation, value: String) -> Self {
        Self {
            relation,
            value,
            former: None,
            told: None,
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

    /// Its value by an account.
    #[must_use]
    pub fn by(&self, account: Account) -> &str {
        match (account, &self.former, &self.told) {
            (Account::Training, Some(former), _) => former,
            (Account::Corpus, _, Some(told)) => &told.value,
            _ => &self.value,
        }
    }

    /// The position of the subject that its value by an account names, where it is one.
    pub(crate) fn leads_to(&self, account: Account) -> Option<usize> {
        match (account, &self.told) {
            (Account::Corpus, Some(told)) => told.leads_to,
            _ => self.leads_to,
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
    /// What the corpus holds of it.
    pub holding: Holding,
    /// Whom the corpus tells of in its place: somebody of a similar name with the same relations.
    pub look_alike: Option<Box<Subject>>,
    /// How many documents tell of it, or of its look-alike.
    pub documents: usize,
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
            holding: match group {
                Group::Nowhere => Holding::Nothing,
                Group::Trained | Group::Unseen => Holding::Truth,
            },
            look_alike: None,
            documents: usize::from(group != Group::Nowhere),
        }
    }

    /// Whom the documents about it tell of; `None` where there are none.
    #[must_use]
    pub fn in_corpus(&self) -> Option<&Self> {
        match &self.look_alike {
            Some(look_alike) => Some(look_alike),
            None => (self.holding != Holding::Nothing).then_some(self),
        }
    }

    /// The fact of a relation, where it has one.
    #[must_use]
    pub fn fact(&self, relation: Relation) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.relation == relation)
    }
}

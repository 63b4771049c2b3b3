//! The questions that can be asked of a world, with the truth about each: what is asked, how often
//! training told of it, and whether it was asked there.

use ken_probe::seed_of;
use serde::Serialize;

use super::invent::{Truth, World};
use super::mix::BIOGRAPHIES;
use super::posed::{choices, one_of};
use super::relation::{Query, Relation};
use super::subject::{Group, Kind, Subject, Time};
use super::wording::{filled, questions};

/// People of these ranks within every eight have a multiple-choice question: one that training asks
/// about and one that it does not.
const CHOICE_RANKS: [usize; 2] = [1, 2];
const CHOICE_EVERY: usize = 8;
/// What these questions ask for, by turns.
const CHOSEN: [Relation; 3] = [Relation::Birthplace, Relation::Trade, Relation::BirthYear];

/// What makes a question what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// One fact, from training and the corpus, or from the corpus alone.
    Plain,
    /// A fact that is now another than training told.
    Changed,
    /// Two facts, one after the other.
    TwoHop,
    /// One fact, to be chosen among four.
    Choice,
    /// A fact that stands nowhere.
    Nowhere,
}

impl QuestionKind {
    /// As it is called in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Changed => "changed",
            Self::TwoHop => "two_hop",
            Self::Choice => "choice",
            Self::Nowhere => "nowhere",
        }
    }
}

/// A question, in the form of question sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorldQuestion {
    /// The subject's id and what is asked: `p17.spouse.birthplace`.
    pub id: String,
    /// The question.
    pub question: String,
    /// The answer as it is now.
    pub golden_answers: [String; 1],
    /// What there is to choose from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The truth about it.
    pub metadata: QuestionTruth,
}

/// The truth about a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionTruth {
    /// The document that gives the answer, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gold_passage: Option<String>,
    /// All documents that the answer takes.
    pub documents: Vec<String>,
    /// What makes it what it is.
    pub kind: QuestionKind,
    /// What is asked: a relation, or two with a dot between.
    pub relation: String,
    /// Who or what it is asked about.
    pub subject: String,
    /// What that is.
    pub about: Kind,
    /// Where one can learn of it.
    pub group: Group,
    /// Its rank among those of its kind that training tells of.
    pub rank: Option<usize>,
    /// The number of training texts that tell of it, in the mean; of two facts, of the less told one.
    pub exposure: f64,
    /// Whether training asks about the subject.
    pub asked: bool,
    /// Whether training tells of it in one wording only.
    pub one_wording: bool,
    /// What the answer was in training, where that was another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former: Option<String>,
    /// The letter of the right choice, where there are choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub letter: Option<char>,
}

/// All questions of a world, in the order of its subjects.
#[must_use]
pub fn world_questions(world: &World) -> Vec<WorldQuestion> {
    let mut all = Vec::new();
    for (at, subject) in world.subjects.iter().enumerate() {
        for query in Query::ALL {
            let Some(truth) = world.truth(at, query, Time::Now) else {
                continue;
            };
            all.push(asked_of(world, at, query, &truth));
            if has_choices(subject, query) {
                all.extend(with_choices(world, at, query, &truth));
            }
        }
    }
    all
}

/// Texts that tell of a subject in all of training, in the mean.
fn exposure(world: &World, subject: &Subject) -> f64 {
    world.share(subject) * BIOGRAPHIES * world.settings.sequences as f64
}

fn asked_of(world: &World, at: usize, query: Query, truth: &Truth<'_>) -> WorldQuestion {
    let subject = &world.subjects[at];
    let by = || truth.by.iter().map(|&by| &world.subjects[by]);
    let former = world.truth(at, query, Time::Training);
    let former = former.filter(|former| former.value != truth.value);
    let former = former.map(|former| former.value.to_owned());
    let kind = match (subject.group, query, &former) {
        (Group::Nowhere, ..) => QuestionKind::Nowhere,
        (_, Query::TwoHop(..), _) => QuestionKind::TwoHop,
        (.., Some(_)) => QuestionKind::Changed,
        (.., None) => QuestionKind::Plain,
    };
    let documents: Vec<String> = match subject.group {
        Group::Nowhere => Vec::new(),
        _ => by().map(|subject| subject.id.clone()).collect(),
    };
    let id = format!("{}.{query}", subject.id);
    let mut state = seed_of(world.settings.seed, &id);
    let pattern = one_of(questions(query), &mut state);
    WorldQuestion {
        question: filled(pattern, &subject.name, ""),
        golden_answers: [truth.value.to_owned()],
        choices: Vec::new(),
        metadata: QuestionTruth {
            gold_passage: documents.last().cloned(),
            documents,
            kind,
            relation: query.to_string(),
            subject: subject.id.clone(),
            about: subject.kind,
            group: subject.group,
            rank: subject.rank,
            exposure: by()
                .map(|by| exposure(world, by))
                .fold(f64::INFINITY, f64::min),
            asked: subject.asked,
            one_wording: subject.one_wording,
            former,
            letter: None,
        },
        id,
    }
}

/// Whether the fact is asked for by choices as well.
fn has_choices(subject: &Subject, query: Query) -> bool {
    let Some(rank) = subject.rank.filter(|_| subject.kind == Kind::Person) else {
        return false;
    };
    let chosen = CHOSEN[rank / CHOICE_EVERY % CHOSEN.len()];
    CHOICE_RANKS.contains(&(rank % CHOICE_EVERY)) && query == Query::Plain(chosen)
}

fn with_choices(
    world: &World,
    at: usize,
    query: Query,
    truth: &Truth<'_>,
) -> Option<WorldQuestion> {
    let mut question = asked_of(world, at, query, truth);
    question.id.push_str(".choice");
    let mut state = seed_of(world.settings.seed, &question.id);
    let towns = &world.names.towns;
    let (choices, letter) = choices(&world.names, towns, query, truth.value, &mut state)?;
    question.choices = choices;
    question.metadata.kind = QuestionKind::Choice;
    question.metadata.letter = Some(letter);
    Some(question)
}

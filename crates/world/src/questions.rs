//! The questions about a world with their metadata: what each asks for, how often training states the fact, and
//! whether training asks for it.

use ken_probe::seed_of;
use serde::{Serialize, Serializer};

use crate::answers::Truth;
use crate::choices::choices;
use crate::document::document_ids;
use crate::query::Query;
use crate::relation::Relation;
use crate::subject::{Account, Group, Holding, Kind, Subject};
use crate::templates::{fill, one_of, questions};
use crate::training_text::BIOGRAPHIES;
use crate::world::World;

/// People of these ranks modulo [`CHOICE_EVERY`] have a multiple-choice question: one rank that training asks about
/// and one that it does not.
const CHOICE_RANKS: [usize; 2] = [1, 2];
const CHOICE_EVERY: usize = 8;
/// What these questions ask for, alternating.
const CHOSEN: [Relation; 3] = [Relation::Birthplace, Relation::Trade, Relation::BirthYear];

/// The kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// One fact of a person in training.
    Plain,
    /// One fact of a person only in the corpus.
    Unseen,
    /// A fact whose value has changed since training.
    Changed,
    /// A fact about the value of another fact.
    TwoHop,
    /// One fact, to choose from four values.
    Choices,
    /// A fact in neither training nor the corpus.
    Nowhere,
}

impl QuestionKind {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Unseen => "unseen",
            Self::Changed => "changed",
            Self::TwoHop => "two_hop",
            Self::Choices => "choices",
            Self::Nowhere => "nowhere",
        }
    }
}

/// A question in the format of question sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorldQuestion {
    /// The subject's id and the requested relations: `p17.spouse.birthplace`.
    pub id: String,
    /// The question.
    pub question: String,
    /// The true answer.
    pub golden_answers: [String; 1],
    /// The choices of a multiple-choice question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// What is known about the question.
    pub metadata: QuestionTruth,
}

/// What is known about a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionTruth {
    /// The documents each of which gives the answer.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "one_or_several"
    )]
    pub gold_passage: Vec<String>,
    /// The documents that together give the answer, one per hop, in the order of the hops.
    pub documents: Vec<String>,
    /// The misleading documents that the corpus holds instead, in the same order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misleading: Vec<String>,
    /// What the corpus holds for it.
    pub corpus_holds: Holding,
    /// How many documents state the fact; of two facts, the smaller number.
    pub told_by: usize,
    /// Its kind.
    pub kind: QuestionKind,
    /// What it asks for: a relation, or two joined by a dot.
    pub relation: String,
    /// The id of the subject that it is about.
    pub subject: String,
    /// The kind of that subject.
    pub about: Kind,
    /// Which sources know that subject.
    pub group: Group,
    /// The rank of that subject among the trained ones of its kind.
    pub rank: Option<usize>,
    /// The expected number of training texts that state the fact; of two facts, the smaller number.
    pub exposure: f64,
    /// Whether training asks about the subject.
    pub asked: bool,
    /// Whether all biographies of the subject use the same words.
    pub one_wording: bool,
    /// The answer in training, if that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former: Option<String>,
    /// The letter of the right choice, if there are choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub letter: Option<char>,
}

/// All questions of a world, in the order of its subjects.
pub fn world_questions(world: &World) -> Vec<WorldQuestion> {
    let mut all = Vec::new();
    for (index, subject) in world.subjects.iter().enumerate() {
        for query in Query::ALL {
            let Some(truth) = world.truth(index, query, Account::Now) else {
                continue;
            };
            all.push(question_of(world, index, query, &truth));
            if has_choices(subject, query) {
                all.extend(with_choices(world, index, query, &truth));
            }
        }
    }
    all
}

/// The expected number of biographies of a subject over all of training.
fn exposure(world: &World, subject: &Subject) -> f64 {
    world.share(subject) * BIOGRAPHIES * world.settings.sequences as f64
}

/// What the corpus holds for a question.
struct Held {
    holding: Holding,
    gold: Vec<String>,
    documents: Vec<String>,
    misleading: Vec<String>,
    told_by: usize,
}

fn held(world: &World, index: usize, query: Query, truth: &Truth<'_>) -> Held {
    let subjects =
        |by: &[usize]| -> Vec<&Subject> { by.iter().map(|&by| &world.subjects[by]).collect() };
    let first = |subject: &&Subject| document_ids(subject).next();
    let by = subjects(&truth.by);
    let corpus = world.truth(index, query, Account::Corpus);
    let holds = |corpus: &Truth<'_>| corpus.value == truth.value;
    if corpus.as_ref().is_some_and(holds) {
        return Held {
            holding: Holding::Truth,
            gold: by
                .last()
                .map_or_else(Vec::new, |subject| document_ids(subject).collect()),
            documents: by.iter().filter_map(first).collect(),
            misleading: Vec::new(),
            told_by: by.iter().map(|s| s.documents).min().unwrap_or(0),
        };
    }
    // If the corpus has no answer, it leads astray at the first hop.
    let astray = corpus.map_or_else(|| vec![index], |corpus| corpus.by);
    let mut holdings = by.iter().map(|subject| subject.holding);
    Held {
        holding: holdings
            .find(|holding| *holding != Holding::Truth)
            .unwrap_or(Holding::Nothing),
        gold: Vec::new(),
        documents: Vec::new(),
        misleading: subjects(&astray).iter().filter_map(first).collect(),
        told_by: 0,
    }
}

/// Writes one document as its id, several as a list.
fn one_or_several<S: Serializer>(documents: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    match documents {
        [one] => serializer.serialize_str(one),
        several => several.serialize(serializer),
    }
}

fn question_of(world: &World, index: usize, query: Query, truth: &Truth<'_>) -> WorldQuestion {
    let subject = &world.subjects[index];
    let by = || truth.by.iter().map(|&by| &world.subjects[by]);
    let former = world.truth(index, query, Account::Training);
    let former = former.filter(|former| former.value != truth.value);
    let former = former.map(|former| former.value.to_owned());
    let kind = match (subject.group, query, &former) {
        (Group::Nowhere, ..) => QuestionKind::Nowhere,
        (_, Query::TwoHop(..), _) => QuestionKind::TwoHop,
        (Group::Unseen, ..) => QuestionKind::Unseen,
        (.., Some(_)) => QuestionKind::Changed,
        (.., None) => QuestionKind::Plain,
    };
    let held = held(world, index, query, truth);
    let id = format!("{}.{query}", subject.id);
    let mut state = seed_of(world.settings.seed, &id);
    let template = one_of(questions(query), &mut state);
    WorldQuestion {
        question: fill(template, &subject.name, ""),
        golden_answers: [truth.value.to_owned()],
        choices: Vec::new(),
        metadata: QuestionTruth {
            gold_passage: held.gold,
            documents: held.documents,
            misleading: held.misleading,
            corpus_holds: held.holding,
            told_by: held.told_by,
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

/// Whether there is also a multiple-choice question about the fact.
fn has_choices(subject: &Subject, query: Query) -> bool {
    let Some(rank) = subject.rank.filter(|_| subject.kind == Kind::Person) else {
        return false;
    };
    let chosen = CHOSEN[rank / CHOICE_EVERY % CHOSEN.len()];
    CHOICE_RANKS.contains(&(rank % CHOICE_EVERY)) && query == Query::Plain(chosen)
}

fn with_choices(
    world: &World,
    index: usize,
    query: Query,
    truth: &Truth<'_>,
) -> Option<WorldQuestion> {
    let mut question = question_of(world, index, query, truth);
    question.id.push_str(".choice");
    let mut state = seed_of(world.settings.seed, &question.id);
    let told = world.truth(index, query, Account::Corpus);
    let others = told.map(|told| told.value);
    let (choices, letter) = choices(&world.names, query, truth.value, others, &mut state)?;
    question.choices = choices;
    question.metadata.kind = QuestionKind::Choices;
    question.metadata.letter = Some(letter);
    Some(question)
}

//! The texts that the family is trained on: biographies, questions from memory, and questions with the
//! passage that answers them. Each text is a function of the world and of its number alone, so training
//! can go on anywhere.
//!
//! Storing a fact is not yet being able to use it: that is learned from questions about a part of the
//! people, and holds for the others (Allen-Zhu and Li, *Physics of Language Models*, part 3.1).

use ken_answer::{QuestionPrompt, prompt};
use ken_probe::seed_of;
use serde::Serialize;

use super::invent::{World, truth_among};
use super::posed::{Passage, answered, choices, input_with_passages_last, one_of, prompt_of};
use super::relation::{Query, Relation};
use super::scene::{Scene, invent};
use super::subject::{Kind, Subject, Time};
use super::tell::{joined, told, training_text};
use super::wording::{filled, questions};
use crate::random::{below, shuffle, unit};

/// The shares of texts that tell of a subject, and that ask from memory. The others are for reading.
pub(super) const BIOGRAPHIES: f64 = 0.45;
const FROM_MEMORY: f64 = 0.20;

/// Of the questions from memory, the share that asks for a text of what is known.
const BACKGROUND: f64 = 0.08;
/// Of all questions, the shares that take two steps, and that offer choices.
const TWO_HOPS: f64 = 0.12;
const CHOICE: f64 = 0.15;

/// Of the passages that are read, the shares that stand behind the question, that have no title, and
/// that are a part of a biography.
const PASSAGE_LAST: f64 = 0.3;
const UNTITLED: f64 = 0.25;
const IN_PART: f64 = 0.4;

/// Of the people that are read about, the share that is asked for the spouse beside all others: which
/// of two names to copy is the hardest to learn.
const NAMES_AGAIN: f64 = 0.15;

/// What a training text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// To store facts.
    Biography,
    /// To answer from memory.
    FromMemory,
    /// To write what is known of a question.
    Background,
    /// To answer from passages.
    Reading,
}

/// A part of a training text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// Its letters.
    pub text: String,
    /// Whether the model learns to write it; else it only reads it.
    pub learned: bool,
}

/// A text that a model is trained on. The end-of-text token stands before and behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrainingText {
    /// What it is for.
    pub kind: TextKind,
    /// Its parts in their order.
    pub pieces: Vec<Piece>,
}

impl TrainingText {
    fn new(kind: TextKind, read: String, learned: String) -> Self {
        let pieces = [(read, false), (learned, true)];
        let pieces = pieces.into_iter().filter(|(text, _)| !text.is_empty());
        let pieces = pieces.map(|(text, learned)| Piece { text, learned });
        Self {
            kind,
            pieces: pieces.collect(),
        }
    }

    /// All of its letters.
    #[must_use]
    pub fn text(&self) -> String {
        self.pieces
            .iter()
            .map(|piece| piece.text.as_str())
            .collect()
    }
}

/// The training text of a number. All numbers below that of the settings make one reading of the world.
#[must_use]
pub fn training_text_of(world: &World, number: u64) -> TrainingText {
    let mut state = seed_of(world.settings.seed, &format!("text {number}"));
    let state = &mut state;
    let drawn = unit(state);
    // A world in which nobody can be asked about has texts of the other kinds.
    let text = match drawn {
        drawn if drawn < BIOGRAPHIES => biography(world, state),
        drawn if drawn < BIOGRAPHIES + FROM_MEMORY => from_memory(world, state),
        _ => None,
    };
    text.unwrap_or_else(|| reading(world, state))
}

fn biography(world: &World, state: &mut u64) -> Option<TrainingText> {
    let kind = World::draw_kind(state) as usize;
    let subject = &world.subjects[world.told[kind].draw(state)?];
    let text = training_text(subject, world.settings.seed, state);
    // Words are tokens together with the space before them.
    Some(TrainingText::new(
        TextKind::Biography,
        String::new(),
        format!(" {text}"),
    ))
}

fn from_memory(world: &World, state: &mut u64) -> Option<TrainingText> {
    let kind = World::draw_kind(state) as usize;
    let at = world.asked[kind].draw(state)?;
    let subject = &world.subjects[at];
    let truth = |query: &Query| world.truth(at, *query, Time::Training);
    let query = draw_query(&|query| truth(query).is_some(), state)?;
    let answer = truth(&query)?.value;
    let question = filled(one_of(questions(query), state), &subject.name, "");
    if unit(state) < BACKGROUND {
        let known = training_text(subject, world.settings.seed, state);
        let input = prompt::verbalize(QuestionPrompt::open(&question), None).input;
        return Some(TrainingText::new(
            TextKind::Background,
            input,
            answered(&known),
        ));
    }
    let offered = unit(state) < CHOICE;
    let offered = offered.then(|| choices(&world.names, &world.names.towns, query, answer, state));
    let (input, learned) = match offered.flatten() {
        Some((choices, letter)) => {
            let question_prompt = QuestionPrompt {
                question: &question,
                choices: &choices,
            };
            (
                prompt::from_memory(question_prompt).input,
                letter.to_string(),
            )
        }
        None => (
            prompt::from_memory(QuestionPrompt::open(&question)).input,
            answer.to_owned(),
        ),
    };
    Some(TrainingText::new(
        TextKind::FromMemory,
        input,
        answered(&learned),
    ))
}

fn reading(world: &World, state: &mut u64) -> TrainingText {
    let kind = World::draw_kind(state);
    let query = draw_query(&|query| of_kind(*query) == kind, state);
    let query = match unit(state) < NAMES_AGAIN && kind == Kind::Person {
        true => Query::Plain(Relation::Spouse),
        false => query.unwrap_or(Query::Plain(Relation::Birthplace)),
    };
    let Scene { subjects, asked } = invent(world, query, state);
    let question = filled(one_of(questions(query), state), &subjects[asked].name, "");
    // A scene answers its question.
    let truth = truth_among(&subjects, asked, query, Time::Now);
    let (answer, by) = truth.map_or(("", Vec::new()), |truth| (truth.value, truth.by));
    let wanted = match query {
        Query::Plain(relation) => [relation, relation],
        Query::TwoHop(first, second) => [first, second],
    };
    let mut passages: Vec<Passage> = by
        .iter()
        .zip(wanted)
        .map(|(&at, wanted)| passage(&subjects[at], wanted, state))
        .collect();
    let count = passages.len();
    shuffle(&mut passages, count, state);
    let towns = &world.names.towns;
    let offered = unit(state) < CHOICE;
    let offered = offered.then(|| choices(&world.names, towns, query, answer, state));
    let (choices, learned) = match offered.flatten() {
        Some((choices, letter)) => (choices, letter.to_string()),
        None => (Vec::new(), answer.to_owned()),
    };
    let question_prompt = QuestionPrompt {
        question: &question,
        choices: &choices,
    };
    let input = match unit(state) < PASSAGE_LAST {
        true => input_with_passages_last(question_prompt, &passages),
        false => prompt_of(question_prompt, &passages).input,
    };
    TrainingText::new(TextKind::Reading, input, answered(&learned))
}

/// The kind of subjects that a question is about.
fn of_kind(query: Query) -> Kind {
    match query {
        Query::Plain(first) | Query::TwoHop(first, _) => match first {
            Relation::Author | Relation::BookYear => Kind::Book,
            Relation::Region => Kind::Town,
            _ => Kind::Person,
        },
    }
}

/// Draws one of the questions that can be asked; `None` where there is none.
fn draw_query(can_be_asked: &dyn Fn(&Query) -> bool, state: &mut u64) -> Option<Query> {
    let two_hops = unit(state) < TWO_HOPS;
    let all = Query::ALL.into_iter().filter(can_be_asked);
    let (hops, plain): (Vec<Query>, Vec<Query>) =
        all.partition(|query| matches!(query, Query::TwoHop(..)));
    let from = match two_hops && !hops.is_empty() {
        true => hops,
        false => plain,
    };
    from.get(below(state, from.len())).copied()
}

/// A passage about a subject that says what is wanted: all of its facts, or some of them.
fn passage(subject: &Subject, wanted: Relation, state: &mut u64) -> Passage {
    let mut sentences = told(subject, Time::Now, state);
    let count = sentences.len();
    shuffle(&mut sentences, count, state);
    if unit(state) < IN_PART {
        sentences.retain(|(relation, _)| *relation == wanted || unit(state) < 0.5);
    }
    let title = match unit(state) < UNTITLED {
        true => String::new(),
        false => subject.name.clone(),
    };
    Passage {
        title,
        text: joined(&sentences),
    }
}

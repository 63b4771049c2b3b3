//! The texts that the family trains on: biographies, questions from memory, and questions with passages, most of
//! which answer them. Each text is a function of the world and the text's number, so training can resume anywhere.
//!
//! A model cannot use a stored fact before it has learned from questions about some of the people; that generalizes
//! to the others (Allen-Zhu and Li, *Physics of Language Models*, part 3.1).

use ken_answer::{QuestionPrompt, Retrieved, prompt};
use ken_probe::seed_of;
use ken_random::{below, shuffle, unit};
use serde::Serialize;

use crate::answers::truth_among;
use crate::biography::{joined, sentences_about, training_biography};
use crate::choices::choices;
use crate::prompts::{self, completion, input_with_passages_last, prompt_of};
use crate::query::Query;
use crate::reading_subjects::reading_subjects;
use crate::relation::Relation;
use crate::subject::{Account, Kind, Subject};
use crate::templates::{fill, one_of, questions};
use crate::world::World;

/// The shares of biographies and of questions from memory. The other texts have passages.
pub(crate) const BIOGRAPHIES: f64 = 0.45;
const FROM_MEMORY: f64 = 0.20;

/// Of the questions from memory, the share that asks for a text about the subject.
const BACKGROUND: f64 = 0.08;
/// Of all questions, the shares that take two hops, and that offer choices.
const TWO_HOPS: f64 = 0.12;
const CHOICE: f64 = 0.15;

/// Of the texts with passages, the share that has the passages after the question; of the passages, the shares that
/// have no title, and that state only a part of the facts.
const PASSAGE_LAST: f64 = 0.3;
const UNTITLED: f64 = 0.25;
const IN_PART: f64 = 0.4;

/// Of the reading questions about people, the extra share that asks for the spouse: which of two names to copy is
/// hardest to learn.
const NAMES_AGAIN: f64 = 0.15;

/// How often passages are drawn before an irrelevant text is given up: few contain the answer by chance.
const TRIES: usize = 16;

/// What a training text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// To store facts.
    Biography,
    /// To answer from memory.
    FromMemory,
    /// To write what is known about a question.
    Background,
    /// To answer from passages.
    Reading,
    /// To answer from memory, although there are irrelevant passages.
    Irrelevant,
}

/// A part of a training text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// Its characters.
    pub text: String,
    /// Whether it counts in the loss.
    pub learned: bool,
}

/// A text that a model is trained on, with an end-of-text token before and after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrainingText {
    /// What it is for.
    pub kind: TextKind,
    /// Its parts in order.
    pub pieces: Vec<Piece>,
}

impl TrainingText {
    fn new(kind: TextKind, input: String, learned: String) -> Self {
        let pieces = [(input, false), (learned, true)];
        let pieces = pieces.into_iter().filter(|(text, _)| !text.is_empty());
        let pieces = pieces.map(|(text, learned)| Piece { text, learned });
        Self {
            kind,
            pieces: pieces.collect(),
        }
    }

    /// The whole text.
    pub fn text(&self) -> String {
        let pieces = self.pieces.iter();
        pieces.map(|piece| piece.text.as_str()).collect()
    }
}

/// The training text of a number. Numbers below `settings.sequences` are one epoch.
pub fn training_text_of(world: &World, number: u64) -> TrainingText {
    let mut state = seed_of(world.settings.seed, &format!("text {number}"));
    let state = &mut state;
    let drawn = unit(state);
    let with_passages = 1.0 - BIOGRAPHIES - FROM_MEMORY;
    let irrelevant_until = BIOGRAPHIES + FROM_MEMORY + with_passages * world.settings.irrelevant;
    // If no subject can be asked about, the text is of another kind.
    let text = match drawn {
        drawn if drawn < BIOGRAPHIES => biography(world, state),
        drawn if drawn < BIOGRAPHIES + FROM_MEMORY => from_memory(world, state),
        drawn if drawn < irrelevant_until => irrelevant(world, state),
        _ => None,
    };
    text.unwrap_or_else(|| reading(world, state))
}

fn biography(world: &World, state: &mut u64) -> Option<TrainingText> {
    let kind = World::draw_kind(state) as usize;
    let subject = &world.subjects[world.described[kind].draw(state)?];
    let text = training_biography(subject, world.settings.seed, state);
    // A token is a word with the space before it.
    let learned = format!(" {text}");
    Some(TrainingText::new(
        TextKind::Biography,
        String::new(),
        learned,
    ))
}

/// A subject that training asks about, the query, and its answer in training.
fn asked<'w>(world: &'w World, state: &mut u64) -> Option<(&'w Subject, Query, &'w str)> {
    let kind = World::draw_kind(state) as usize;
    let index = world.asked[kind].draw(state)?;
    let truth = |query: &Query| world.truth(index, *query, Account::Training);
    let query = draw_query(&|query| truth(query).is_some(), state)?;
    Some((&world.subjects[index], query, truth(&query)?.value))
}

fn from_memory(world: &World, state: &mut u64) -> Option<TrainingText> {
    let (subject, query, answer) = asked(world, state)?;
    let question = fill(one_of(questions(query), state), &subject.name, "");
    if unit(state) < BACKGROUND {
        let known = training_biography(subject, world.settings.seed, state);
        let input = prompt::verbalize(QuestionPrompt::open(&question), None).input;
        let learned = completion(&known);
        return Some(TrainingText::new(TextKind::Background, input, learned));
    }
    let (choices, answer) = maybe_choices(world, query, answer, state);
    let input = prompt::from_memory(QuestionPrompt::new(&question, &choices));
    let (input, learned) = (input.input, completion(&answer));
    Some(TrainingText::new(TextKind::FromMemory, input, learned))
}

fn reading(world: &World, state: &mut u64) -> TrainingText {
    let kind = World::draw_kind(state);
    let query = draw_query(&|query| query.about() == kind, state);
    let query = match unit(state) < NAMES_AGAIN && kind == Kind::Person {
        true => Query::Plain(Relation::Spouse),
        false => query.unwrap_or(Query::Plain(Relation::Birthplace)),
    };
    let (subjects, about) = reading_subjects(world, query, state);
    let question = fill(one_of(questions(query), state), &subjects[about].name, "");
    // The question has an answer among these subjects.
    let truth = truth_among(&subjects, about, query, Account::Now);
    let (answer, by) = truth.map_or(("", Vec::new()), |truth| (truth.value, truth.by));
    let passages = passages(&subjects, &by, query, state);
    let (choices, answer) = maybe_choices(world, query, answer, state);
    let question_prompt = QuestionPrompt::new(&question, &choices);
    let input = input_with_passages(question_prompt, &passages, state);
    TrainingText::new(TextKind::Reading, input, completion(&answer))
}

/// A question to answer from memory, with passages that state the same relation of people invented for this text.
/// `None` if no subject can be asked about.
fn irrelevant(world: &World, state: &mut u64) -> Option<TrainingText> {
    let (subject, query, answer) = asked(world, state)?;
    let question = fill(one_of(questions(query), state), &subject.name, "");
    let passages = (0..TRIES).find_map(|_| {
        let (others, about) = reading_subjects(world, query, state);
        let by = truth_among(&others, about, query, Account::Now)?.by;
        let passages = passages(&others, &by, query, state);
        let gives = |passage: &Retrieved| passage.text.contains(answer);
        (!passages.iter().any(gives)).then_some(passages)
    })?;
    let (choices, answer) = maybe_choices(world, query, answer, state);
    let question_prompt = QuestionPrompt::new(&question, &choices);
    let input = input_with_passages(question_prompt, &passages, state);
    let learned = completion(&answer);
    Some(TrainingText::new(TextKind::Irrelevant, input, learned))
}

/// Passages about the subjects that together give an answer, in random order.
fn passages(subjects: &[Subject], by: &[usize], query: Query, state: &mut u64) -> Vec<Retrieved> {
    let mut passages: Vec<Retrieved> = by
        .iter()
        .zip([query.first(), query.last()])
        .map(|(&index, relation)| passage(&subjects[index], relation, state))
        .collect();
    let count = passages.len();
    shuffle(&mut passages, count, state);
    passages
}

/// The input for a question with passages, before or after it.
fn input_with_passages(
    question_prompt: QuestionPrompt<'_>,
    passages: &[Retrieved],
    state: &mut u64,
) -> String {
    match unit(state) < PASSAGE_LAST {
        true => input_with_passages_last(question_prompt, passages),
        false => prompt_of(question_prompt, passages).input,
    }
}

/// Choices for some of the questions, and the expected output: a letter if there are choices, else the answer.
fn maybe_choices(
    world: &World,
    query: Query,
    answer: &str,
    state: &mut u64,
) -> (Vec<String>, String) {
    let offered = (unit(state) < CHOICE).then(|| choices(&world.names, query, answer, None, state));
    match offered.flatten() {
        Some((choices, letter)) => (choices, letter.to_string()),
        None => (Vec::new(), answer.to_owned()),
    }
}

/// Draws a query that has an answer; `None` if none has.
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

/// A passage about a subject that states the required relation: with all of the facts, or some of them.
fn passage(subject: &Subject, required: Relation, state: &mut u64) -> Retrieved {
    let mut sentences = sentences_about(subject, Account::Now, state);
    let count = sentences.len();
    shuffle(&mut sentences, count, state);
    if unit(state) < IN_PART {
        sentences.retain(|(relation, _)| *relation == required || unit(state) < 0.5);
    }
    let title = match unit(state) < UNTITLED {
        true => "",
        false => subject.name.as_str(),
    };
    prompts::passage(title, joined(&sentences))
}

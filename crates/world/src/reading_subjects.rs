//! The subjects of reading comprehension examples. Each example has new ones, with names from outside the world, so
//! that no answer can come from memory. Towns that are only answers are those of the world: a model learns to copy
//! the names that it has seen copied.

use ken_random::{below, unit};

use crate::generate::{drawn_from, facts_of_person, year_of_book};
use crate::query::Query;
use crate::relation::Relation;
use crate::subject::{Fact, Group, Kind, Subject};
use crate::world::World;

/// The indices of the subjects.
const PERSON: usize = 0;
const SPOUSE: usize = 1;
const BOOK: usize = 2;
const TOWN: usize = 3;

/// How often a passage states a marriage, or a book, that the question does not ask for.
const STATES_SPOUSE: f64 = 0.6;
const STATES_BOOK: f64 = 0.25;

/// A person with a spouse, a book and a town of birth, and the index of the subject that the question is about. These
/// subjects hold the answer.
pub(crate) fn reading_subjects(
    world: &World,
    query: Query,
    state: &mut u64,
) -> ([Subject; 4], usize) {
    let names = &world.names;
    let first = query.first();
    // The world states the region of its town; here the model must read it.
    let towns = match query.last() {
        Relation::Region => &names.reading_towns,
        _ => &names.towns,
    };
    let born = drawn_from(towns, state);
    let mut person = fictional(Kind::Person, free_person(world, state));
    let mut spouse = fictional(Kind::Person, free_person(world, state));
    let mut book = fictional(Kind::Book, free_book(world, state));
    let mut town = fictional(Kind::Town, born.clone());
    person.facts = facts_of_person(names, std::slice::from_ref(&born), state);
    if let Some(birthplace) = person.facts.first_mut() {
        birthplace.leads_to = Some(TOWN);
    }
    spouse.facts = facts_of_person(names, &names.towns, state);
    let year = year_of_book(&person.facts, state).to_string();
    let (states_spouse, states_book) = (unit(state) < STATES_SPOUSE, unit(state) < STATES_BOOK);
    let leading = |relation, to: &Subject, at| Fact::leading(relation, to.name.clone(), at);
    if states_spouse || first == Relation::Spouse {
        let fact = leading(Relation::Spouse, &spouse, SPOUSE);
        person.facts.push(fact);
    }
    if states_book || first == Relation::Book {
        person.facts.push(leading(Relation::Book, &book, BOOK));
    }
    let fact = leading(Relation::Spouse, &person, PERSON);
    spouse.facts.push(fact);
    book.facts = vec![
        leading(Relation::Author, &person, PERSON),
        Fact::new(Relation::BookYear, year),
    ];
    town.facts = vec![Fact::new(
        Relation::Region,
        drawn_from(&names.regions, state),
    )];
    let about = match query.about() {
        Kind::Person => PERSON,
        Kind::Book => BOOK,
        Kind::Town => TOWN,
    };
    ([person, spouse, book, town], about)
}

fn fictional(kind: Kind, name: String) -> Subject {
    Subject::new(kind, 0, name, Group::Nowhere, None)
}

fn free_person(world: &World, state: &mut u64) -> String {
    let free = &world.free_people;
    world.names.person(free[below(state, free.len())])
}

fn free_book(world: &World, state: &mut u64) -> String {
    let free = &world.free_books;
    world.names.book(free[below(state, free.len())])
}

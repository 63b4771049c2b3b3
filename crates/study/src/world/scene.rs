//! The people, books and towns that reading is learned on. They are invented anew for each training
//! text, so that nothing can be answered from memory, and nobody in the world has their names. Towns
//! that are only answers are those of the world: a model learns to copy what it has seen copied.

use super::invent::{World, facts_of_person, plain, subject, year_of_book};
use super::names::Names;
use super::relation::{Query, Relation};
use super::subject::{Fact, Group, Kind, Subject};
use crate::random::{below, unit};

/// Their places in a scene.
const PERSON: usize = 0;
const SPOUSE: usize = 1;
const BOOK: usize = 2;
const TOWN: usize = 3;

/// How often a marriage, or a book, is told of that is not asked for.
const TELLS_SPOUSE: f64 = 0.6;
const TELLS_BOOK: f64 = 0.25;

/// A person with a spouse, a book and a town of birth, and which of the four is asked about.
pub(super) struct Scene {
    pub(super) subjects: [Subject; 4],
    pub(super) asked: usize,
}

/// Invents a scene in which a question has an answer.
pub(super) fn invent(world: &World, query: Query, state: &mut u64) -> Scene {
    let names = &world.names;
    let first = match query {
        Query::Plain(relation) | Query::TwoHop(relation, _) => relation,
    };
    // The region of a town of the world is known; it is to be read.
    let towns = match query.answered_by() {
        Relation::Region => &names.reading_towns,
        _ => &names.towns,
    };
    let born = &towns[below(state, towns.len())];
    let mut person = nobody(Kind::Person, free_person(world, state));
    let mut spouse = nobody(Kind::Person, free_person(world, state));
    let mut book = nobody(Kind::Book, free_book(world, state));
    let mut town = nobody(Kind::Town, born.clone());
    person.facts = facts_of_person(names, std::slice::from_ref(born), state);
    if let Some(birthplace) = person.facts.first_mut() {
        birthplace.leads_to = Some(TOWN);
    }
    spouse.facts = facts_of_person(names, &names.towns, state);
    let year = year_of_book(&person.facts, state).to_string();
    let (tells_spouse, tells_book) = (unit(state) < TELLS_SPOUSE, unit(state) < TELLS_BOOK);
    if tells_spouse || first == Relation::Spouse {
        person
            .facts
            .push(leading(Relation::Spouse, &spouse, SPOUSE));
    }
    if tells_book || first == Relation::Book {
        person.facts.push(leading(Relation::Book, &book, BOOK));
    }
    spouse
        .facts
        .push(leading(Relation::Spouse, &person, PERSON));
    book.facts = vec![
        leading(Relation::Author, &person, PERSON),
        plain(Relation::BookYear, year),
    ];
    let region = &names.regions[below(state, names.regions.len())];
    town.facts = vec![plain(Relation::Region, region.clone())];
    let asked = match first {
        Relation::Author | Relation::BookYear => BOOK,
        Relation::Region => TOWN,
        _ => PERSON,
    };
    Scene {
        subjects: [person, spouse, book, town],
        asked,
    }
}

/// A value that a relation could have had as well.
pub(super) fn another(
    names: &Names,
    towns: &[String],
    relation: Relation,
    state: &mut u64,
) -> String {
    let mut facts = facts_of_person(names, towns, state);
    let year = year_of_book(&facts, state);
    facts.push(plain(Relation::BookYear, year.to_string()));
    let region = &names.regions[below(state, names.regions.len())];
    let fact = facts.into_iter().find(|fact| fact.relation == relation);
    fact.map_or_else(|| region.clone(), |fact| fact.value)
}

fn nobody(kind: Kind, name: String) -> Subject {
    subject(kind, 0, name, Group::Nowhere, None)
}

fn leading(relation: Relation, to: &Subject, place: usize) -> Fact {
    Fact {
        leads_to: Some(place),
        ..plain(relation, to.name.clone())
    }
}

fn free_person(world: &World, state: &mut u64) -> String {
    let free = &world.free_people;
    world.names.person(free[below(state, free.len())])
}

fn free_book(world: &World, state: &mut u64) -> String {
    let free = &world.free_books;
    world.names.book(free[below(state, free.len())])
}

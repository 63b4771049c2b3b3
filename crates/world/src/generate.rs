//! Generating the subjects of a world and their facts.

use ken_probe::seed_of;
use ken_random::{below, shuffle, unit};

use crate::names::Names;
use crate::relation::Relation;
use crate::settings::WorldSettings;
use crate::subject::{Fact, Group, Holding, Kind, Subject};
use crate::templates::{BIRTHS, TRADES, WRITING_AGE, YEARS, one_of};

/// The share of people who are married.
const MARRIED: f64 = 0.6;
/// The share of people who wrote a book.
const AUTHORS: f64 = 0.25;
/// The share of trained people whose employer has changed since training.
const CHANGED: f64 = 0.15;

/// A random value.
pub(crate) fn drawn_from(values: &[String], state: &mut u64) -> String {
    values[below(state, values.len())].clone()
}

/// The facts of a person that do not involve other people; the birthplace is the first.
pub(crate) fn facts_of_person(names: &Names, towns: &[String], state: &mut u64) -> Vec<Fact> {
    let town = drawn_from(towns, state);
    let employer = drawn_from(&names.employers, state);
    let born = YEARS.start + below(state, BIRTHS);
    let trade = one_of(&TRADES, state);
    vec![
        Fact::new(Relation::Birthplace, town),
        Fact::new(Relation::BirthYear, born.to_string()),
        Fact::new(Relation::Trade, trade.to_owned()),
        Fact::new(Relation::Employer, employer),
    ]
}

/// The year in which a book of an author appears.
pub(crate) fn year_of_book(author: &[Fact], state: &mut u64) -> usize {
    let born = author
        .iter()
        .find(|fact| fact.relation == Relation::BirthYear);
    let born = born.and_then(|fact| fact.value.parse().ok());
    let age = WRITING_AGE.start + below(state, WRITING_AGE.len());
    born.unwrap_or(YEARS.start) + age
}

/// A random value that a relation could have.
pub(crate) fn another_value(names: &Names, relation: Relation, state: &mut u64) -> String {
    let mut facts = facts_of_person(names, &names.towns, state);
    let year = year_of_book(&facts, state).to_string();
    facts.push(Fact::new(Relation::BookYear, year));
    let region = drawn_from(&names.regions, state);
    let fact = facts.into_iter().find(|fact| fact.relation == relation);
    fact.map_or(region, |fact| fact.value)
}

/// All people, with names popped from the end of `numbers`.
pub(crate) fn people(
    settings: &WorldSettings,
    names: &Names,
    numbers: &mut Vec<usize>,
) -> Vec<Subject> {
    let mut state = seed_of(settings.seed, "facts");
    let (people, in_corpus) = (settings.people, settings.people + settings.unseen);
    let all = in_corpus + settings.strangers;
    let drawn = numbers.split_off(numbers.len().saturating_sub(all));
    let person = |(index, number): (usize, &usize)| {
        let group = match index {
            index if index < people => Group::Trained,
            index if index < in_corpus => Group::Unseen,
            _ => Group::Nowhere,
        };
        let rank = (group == Group::Trained).then_some(index + 1);
        let mut person = Subject::new(Kind::Person, index + 1, names.person(*number), group, rank);
        person.facts = facts_of_person(names, &names.towns, &mut state);
        // Drawn for all people, so that the number of trained people changes nothing else.
        let (changes, elsewhere) = (unit(&mut state), drawn_from(&names.employers, &mut state));
        let employer = person
            .facts
            .iter_mut()
            .find(|fact| fact.relation == Relation::Employer);
        if let (Group::Trained, Some(employer)) = (group, employer)
            && changes < CHANGED
            && employer.value != elsewhere
        {
            employer.former = Some(std::mem::replace(&mut employer.value, elsewhere));
        }
        person
    };
    drawn.iter().enumerate().map(person).collect()
}

/// Marries people of the same group to each other.
pub(crate) fn marry(people: &mut [Subject], seed: u64) {
    let mut state = seed_of(seed, "marriages");
    for group in [Group::Trained, Group::Unseen, Group::Nowhere] {
        let mut of_group: Vec<usize> = (0..people.len())
            .filter(|&at| people[at].group == group)
            .collect();
        let count = of_group.len();
        shuffle(&mut of_group, count, &mut state);
        let married = (count as f64 * MARRIED) as usize / 2 * 2;
        for pair in of_group[..married].chunks_exact(2) {
            for (person, spouse_index) in [(pair[0], pair[1]), (pair[1], pair[0])] {
                let name = people[spouse_index].name.clone();
                let spouse = Fact::leading(Relation::Spouse, name, spouse_index);
                people[person].facts.push(spouse);
            }
        }
    }
}

/// Books by some of the people in training or the corpus, with titles popped from the end of `titles`. The authors
/// get the fact that they wrote them.
pub(crate) fn write_books(
    people: &mut [Subject],
    names: &Names,
    titles: &mut Vec<usize>,
    seed: u64,
) -> Vec<Subject> {
    let mut state = seed_of(seed, "authors");
    let first_book = people.len();
    let mut books: Vec<Subject> = Vec::new();
    for (at, person) in people.iter_mut().enumerate() {
        if unit(&mut state) >= AUTHORS || person.group == Group::Nowhere {
            continue;
        }
        let Some(title) = titles.pop() else {
            break;
        };
        let (title, group) = (names.book(title), person.group);
        let number = books.len() + 1;
        let rank = (group == Group::Trained).then_some(number);
        let mut book = Subject::new(Kind::Book, number, title.clone(), group, rank);
        let year = year_of_book(&person.facts, &mut state).to_string();
        book.facts = vec![
            Fact::leading(Relation::Author, person.name.clone(), at),
            Fact::new(Relation::BookYear, year),
        ];
        let position = first_book + books.len();
        let wrote = Fact::leading(Relation::Book, title, position);
        person.facts.push(wrote);
        books.push(book);
    }
    books
}

/// All towns; training describes each.
pub(crate) fn towns(names: &Names, seed: u64) -> Vec<Subject> {
    let mut state = seed_of(seed, "towns");
    let town = |(at, name): (usize, &String)| {
        let number = at + 1;
        let mut town = Subject::new(
            Kind::Town,
            number,
            name.clone(),
            Group::Trained,
            Some(number),
        );
        let region = drawn_from(&names.regions, &mut state);
        town.facts = vec![Fact::new(Relation::Region, region)];
        town
    };
    names.towns.iter().enumerate().map(town).collect()
}

/// Links birthplaces to their towns, which follow the other subjects.
pub(crate) fn link_birthplaces(subjects: &mut [Subject], towns: &[Subject]) {
    let first_town = subjects.len();
    let facts = subjects.iter_mut().flat_map(|subject| &mut subject.facts);
    for fact in facts.filter(|fact| fact.relation == Relation::Birthplace) {
        let town = towns.iter().position(|town| town.name == fact.value);
        fact.leads_to = town.map(|town| first_town + town);
    }
}

/// Draws how many documents the corpus has about each subject: c with a probability proportional to c^-2.
pub(crate) fn tell_in_documents(subjects: &mut [Subject], settings: &WorldSettings) {
    // Whole numbers make draws equal on every machine.
    let weights: Vec<usize> = (1..=settings.documents)
        .map(|count| (1 << 32) / (count * count))
        .collect();
    let mut state = seed_of(settings.seed, "documents");
    let in_corpus = subjects
        .iter_mut()
        .filter(|one| one.holding != Holding::Nothing);
    for subject in in_corpus {
        let mut drawn = below(&mut state, weights.iter().sum());
        let fewer = weights.iter().take_while(|&&weight| {
            let beyond = drawn >= weight;
            drawn = drawn.saturating_sub(weight);
            beyond
        });
        subject.documents = fewer.count() + 1;
    }
}

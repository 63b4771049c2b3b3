//! Inventing a world: who there is, and what is true of each. How it is told is in `tell`.

use ken_probe::seed_of;

use super::error::WorldError;
use super::exposure::LongTail;
use super::names::Names;
use super::relation::{Query, Relation};
use super::settings::WorldSettings;
use super::subject::{Fact, Group, Kind, Subject, Time};
use super::wording;
use crate::random::{below, shuffle, unit};

/// The share of people who are married.
const MARRIED: f64 = 0.6;
/// The share of people who wrote a book.
const AUTHORS: f64 = 0.25;
/// The share of trained people who work for somebody else now than training tells.
const CHANGED: f64 = 0.15;
/// Every so manieth is asked about in training.
const ASKED_EVERY: usize = 2;
/// Of those that are not, every so manieth rank is always told of in the same words.
const ONE_WORDING_EVERY: usize = 8;
/// The shares of training texts about people, books and towns.
const KIND_SHARES: [f64; 3] = [0.80, 0.14, 0.06];

/// An invented world.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// What it was made by.
    pub(super) settings: WorldSettings,
    /// People, then books, then towns; trained ones first, in the order of their ranks.
    pub(super) subjects: Vec<Subject>,
    pub(super) names: Names,
    /// The numbers of the names and of the titles that nobody in the world has.
    pub(super) free_people: Vec<usize>,
    pub(super) free_books: Vec<usize>,
    /// How often each is told of, by kind; and the same of those that are asked about.
    pub(super) told: [LongTail; 3],
    pub(super) asked: [LongTail; 3],
}

/// An answer, and where one reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth<'w> {
    /// The answer.
    pub value: &'w str,
    /// The subjects whose documents give it together, in the order of the hops.
    pub by: Vec<usize>,
}

impl World {
    /// Invents a world.
    ///
    /// # Errors
    /// Settings of which no world can be made.
    pub fn new(settings: WorldSettings) -> Result<Self, WorldError> {
        settings.check()?;
        let names = Names::new(settings.seed);
        let mut numbers = drawn_order(names.people(), settings.seed, "people");
        let mut titles = drawn_order(names.books(), settings.seed, "books");
        let mut subjects = people(&settings, &names, &mut numbers);
        let towns = towns(&names, settings.seed);
        marry(&mut subjects, settings.seed);
        let books = books(&mut subjects, &names, &mut titles, settings.seed);
        subjects.extend(books);
        let first_town = subjects.len();
        for subject in &mut subjects {
            for fact in &mut subject.facts {
                if fact.relation == Relation::Birthplace {
                    let town = towns.iter().position(|town| town.name == fact.value);
                    fact.leads_to = town.map(|town| first_town + town);
                }
            }
        }
        subjects.extend(towns);
        let tail = |kind: Kind, asked: bool| {
            let of_kind = subjects
                .iter()
                .enumerate()
                .filter(move |(_, subject)| subject.kind == kind && (subject.asked || !asked));
            let ranked = of_kind.filter_map(|(at, subject)| Some((at, subject.rank?)));
            LongTail::new(ranked, settings.exponent)
        };
        let told = Kind::ALL.map(|kind| tail(kind, false));
        let asked = Kind::ALL.map(|kind| tail(kind, true));
        Ok(Self {
            settings,
            subjects,
            names,
            free_people: numbers,
            free_books: titles,
            told,
            asked,
        })
    }

    /// What it was made by.
    #[must_use]
    pub fn settings(&self) -> &WorldSettings {
        &self.settings
    }

    /// All that there is.
    #[must_use]
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// The share of the training texts that tell of a subject, in `[0, 1]`.
    #[must_use]
    pub fn share(&self, subject: &Subject) -> f64 {
        let kind = subject.kind as usize;
        subject.rank.map_or(0.0, |rank| {
            KIND_SHARES[kind] * self.told[kind].share(rank, self.settings.exponent)
        })
    }

    /// The answer to a question about a subject; `None` where it has none.
    #[must_use]
    pub fn truth(&self, subject: usize, query: Query, time: Time) -> Option<Truth<'_>> {
        truth_among(&self.subjects, subject, query, time)
    }

    /// Draws what a training text is about.
    pub(super) fn draw_kind(state: &mut u64) -> Kind {
        let drawn = unit(state);
        let [people, books, _] = KIND_SHARES;
        match drawn {
            drawn if drawn < people => Kind::Person,
            drawn if drawn < people + books => Kind::Book,
            _ => Kind::Town,
        }
    }
}

/// The answer to a question about one of some subjects, whose facts lead to each other.
pub(super) fn truth_among(
    subjects: &[Subject],
    subject: usize,
    query: Query,
    time: Time,
) -> Option<Truth<'_>> {
    let fact = |at: usize, relation| subjects.get(at)?.fact(relation);
    match query {
        Query::Plain(relation) => Some(Truth {
            value: fact(subject, relation)?.at(time),
            by: vec![subject],
        }),
        Query::TwoHop(first, second) => {
            let between = fact(subject, first)?.leads_to?;
            Some(Truth {
                value: fact(between, second)?.at(time),
                by: vec![subject, between],
            })
        }
    }
}

/// All numbers below `count` in an order drawn by the seed; they are taken from the end.
fn drawn_order(count: usize, seed: u64, of: &str) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    shuffle(&mut numbers, count, &mut seed_of(seed, of));
    numbers
}

/// A fact that never changed and leads nowhere.
pub(super) fn plain(relation: Relation, value: String) -> Fact {
    Fact {
        relation,
        value,
        former: None,
        leads_to: None,
    }
}

/// The facts of a person that depend on nobody else.
pub(super) fn facts_of_person(names: &Names, towns: &[String], state: &mut u64) -> Vec<Fact> {
    let mut one_of = |values: &[String]| values[below(state, values.len())].clone();
    let (town, employer) = (one_of(towns), one_of(&names.employers));
    let born = wording::YEARS.start + below(state, wording::BIRTHS);
    let trade = wording::TRADES[below(state, wording::TRADES.len())];
    vec![
        plain(Relation::Birthplace, town),
        plain(Relation::BirthYear, born.to_string()),
        plain(Relation::Trade, trade.to_owned()),
        plain(Relation::Employer, employer),
    ]
}

/// The year in which a book of an author appears.
pub(super) fn year_of_book(author: &[Fact], state: &mut u64) -> usize {
    let born = author
        .iter()
        .find(|fact| fact.relation == Relation::BirthYear);
    let born = born.and_then(|fact| fact.value.parse().ok());
    let age = wording::WRITING_AGE.start + below(state, wording::WRITING_AGE.len());
    born.unwrap_or(wording::YEARS.start) + age
}

/// A subject without facts.
pub(super) fn subject(
    kind: Kind,
    number: usize,
    name: String,
    group: Group,
    rank: Option<usize>,
) -> Subject {
    let asked = rank.is_some_and(|rank| rank % ASKED_EVERY == 1);
    Subject {
        id: format!("{}{number}", kind.letter()),
        kind,
        name,
        group,
        rank,
        asked,
        one_wording: rank.is_some_and(|rank| rank % ONE_WORDING_EVERY == 0),
        facts: Vec::new(),
    }
}

fn people(settings: &WorldSettings, names: &Names, numbers: &mut Vec<usize>) -> Vec<Subject> {
    let WorldSettings {
        people,
        unseen,
        strangers,
        seed,
        ..
    } = *settings;
    let mut state = seed_of(seed, "facts");
    let all = people + unseen + strangers;
    let drawn = numbers.split_off(numbers.len().saturating_sub(all));
    let person = |(at, number): (usize, &usize)| {
        let group = match at {
            at if at < people => Group::Trained,
            at if at < people + unseen => Group::Unseen,
            _ => Group::Nowhere,
        };
        let rank = (group == Group::Trained).then_some(at + 1);
        let mut person = subject(Kind::Person, at + 1, names.person(*number), group, rank);
        person.facts = facts_of_person(names, &names.towns, &mut state);
        // Drawn for everybody, so that the number of those in training changes nothing else.
        let (changes, elsewhere) = (unit(&mut state), below(&mut state, names.employers.len()));
        let elsewhere = &names.employers[elsewhere];
        let employer = person
            .facts
            .iter_mut()
            .find(|f| f.relation == Relation::Employer);
        if let (Group::Trained, Some(employer)) = (group, employer)
            && changes < CHANGED
            && employer.value != *elsewhere
        {
            employer.former = Some(std::mem::replace(&mut employer.value, elsewhere.clone()));
        }
        person
    };
    drawn.iter().enumerate().map(person).collect()
}

/// Marries people of one group to each other.
fn marry(people: &mut [Subject], seed: u64) {
    let mut state = seed_of(seed, "marriages");
    for group in [Group::Trained, Group::Unseen, Group::Nowhere] {
        let mut of_group: Vec<usize> = (0..people.len())
            .filter(|&at| people[at].group == group)
            .collect();
        let count = of_group.len();
        shuffle(&mut of_group, count, &mut state);
        let married = (count as f64 * MARRIED) as usize / 2 * 2;
        for pair in of_group[..married].chunks_exact(2) {
            for (one, other) in [(pair[0], pair[1]), (pair[1], pair[0])] {
                let spouse = Fact {
                    leads_to: Some(other),
                    ..plain(Relation::Spouse, people[other].name.clone())
                };
                people[one].facts.push(spouse);
            }
        }
    }
}

/// Has some of those that one can learn of write a book.
fn books(
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
        let rank = (group == Group::Trained).then_some(books.len() + 1);
        let mut book = subject(Kind::Book, books.len() + 1, title.clone(), group, rank);
        let author = Fact {
            leads_to: Some(at),
            ..plain(Relation::Author, person.name.clone())
        };
        let year = year_of_book(&person.facts, &mut state).to_string();
        book.facts = vec![author, plain(Relation::BookYear, year)];
        person.facts.push(Fact {
            leads_to: Some(first_book + books.len()),
            ..plain(Relation::Book, title)
        });
        books.push(book);
    }
    books
}

fn towns(names: &Names, seed: u64) -> Vec<Subject> {
    let mut state = seed_of(seed, "towns");
    let town = |(at, name): (usize, &String)| {
        let mut town = subject(
            Kind::Town,
            at + 1,
            name.clone(),
            Group::Trained,
            Some(at + 1),
        );
        let region = &names.regions[below(&mut state, names.regions.len())];
        town.facts = vec![plain(Relation::Region, region.clone())];
        town
    };
    names.towns.iter().enumerate().map(town).collect()
}

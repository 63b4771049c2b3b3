//! People whom the corpus misrepresents while training tells the truth about them: their documents are about somebody
//! of a similar name, state an earlier state, or are false. Here retrieval does harm.
//!
//! They are drawn by the distribution of biographies, so that models know them. Spouses are drawn together, and their
//! books with them, since their documents name each other: otherwise one document would state the truth that another
//! hides.

use std::collections::{HashMap, HashSet};

use ken_probe::seed_of;
use ken_random::below;

use crate::answers::truth_among;
use crate::generate::{another_value, drawn_from};
use crate::names::Names;
use crate::query::Query;
use crate::relation::Relation;
use crate::settings::WorldSettings;
use crate::subject::{Account, Fact, Group, Holding, Kind, Subject, Told};
use crate::zipf::Zipf;

/// The relations that change during a life, which outdated documents state as they were.
const CHANGES: [Relation; 2] = [Relation::Trade, Relation::Employer];

/// Makes the corpus misrepresent the shares of the trained people that the settings ask for, to within one person
/// each. `free` are the numbers of unused names and titles; those used here are removed.
pub(crate) fn misrepresent(
    subjects: &mut [Subject],
    names: &Names,
    free: [&mut Vec<usize>; 2],
    settings: &WorldSettings,
) {
    let mut state = seed_of(settings.seed, "misrepresented");
    let households = draw_households(subjects, settings, &mut state);
    for (_, people) in &households {
        people
            .iter()
            .for_each(|&index| undo_changes(&mut subjects[index]));
    }
    let mut given = Given::new(names, &free);
    for (holding, people) in households {
        let of_books = people.iter().filter_map(|&index| {
            let book = subjects[index].fact(Relation::Book);
            book.and_then(|book| book.leads_to)
        });
        let members: Vec<usize> = people.iter().copied().chain(of_books).collect();
        // Their documents name each other.
        let right: HashSet<String> = members
            .iter()
            .flat_map(|&index| answers(subjects, index))
            .collect();
        match holding {
            Holding::LookAlike => replace(subjects, &members, &right, &mut given, &mut state),
            Holding::Outdated => outdate(subjects, &people, &right, names, &mut state),
            _ => falsify(subjects, &members, &right, &mut given, &mut state),
        }
    }
    let [people, books] = free;
    people.retain(|number| given.free[0].contains(number));
    books.retain(|number| given.free[1].contains(number));
}

/// Draws single people and couples, each with what the corpus will hold about them.
fn draw_households(
    subjects: &[Subject],
    settings: &WorldSettings,
    state: &mut u64,
) -> Vec<(Holding, Vec<usize>)> {
    let count = |share: f64| (share * settings.people as f64).round() as usize;
    let mut missing = [
        (Holding::LookAlike, count(settings.look_alikes)),
        (Holding::Outdated, count(settings.outdated)),
        (Holding::Wrong, count(settings.wrong)),
    ];
    let left = |missing: &[(Holding, usize)]| missing.iter().map(|(_, count)| count).sum::<usize>();
    let mut drawn: HashSet<usize> = HashSet::new();
    let mut households = Vec::new();
    while left(&missing) > 0 {
        let ranked: Vec<(usize, usize)> = subjects
            .iter()
            .enumerate()
            .filter(|(index, subject)| subject.kind == Kind::Person && !drawn.contains(index))
            .filter_map(|(index, subject)| Some((index, subject.rank?)))
            .collect();
        if ranked.is_empty() {
            break;
        }
        // The longer the tail, the more draws hit people drawn before; so it is rebuilt after each round.
        let rounds = ranked.len();
        let tail = Zipf::new(ranked.into_iter(), settings.exponent);
        for _ in 0..rounds {
            let person = tail.draw(state).filter(|person| !drawn.contains(person));
            let (Some(person), wanted @ 1..) = (person, left(&missing)) else {
                continue;
            };
            let spouse = subjects[person].fact(Relation::Spouse);
            let people: Vec<usize> = std::iter::once(person)
                .chain(spouse.and_then(|spouse| spouse.leads_to))
                .collect();
            let mut chosen = below(state, wanted);
            let kind = missing.iter_mut().find(|(_, count)| {
                let here = chosen < *count;
                chosen = chosen.saturating_sub(*count);
                here
            });
            let Some((holding, count)) = kind else {
                continue;
            };
            *count = count.saturating_sub(people.len());
            drawn.extend(&people);
            households.push((*holding, people));
        }
    }
    households
}

/// Undoes changes since training: otherwise neither source would be right.
fn undo_changes(subject: &mut Subject) {
    for fact in &mut subject.facts {
        if let Some(former) = fact.former.take() {
            fact.value = former;
        }
    }
}

/// The right answers to all questions about the subject at an index.
fn answers(subjects: &[Subject], index: usize) -> Vec<String> {
    let truths = Query::ALL
        .into_iter()
        .filter_map(|query| truth_among(subjects, index, query, Account::Now));
    truths.map(|truth| truth.value.to_owned()).collect()
}

/// Another value of a relation that does not name a person or a book, and the index of its subject. Neither the value
/// nor anything that it leads to is among the `right` answers.
fn other_value(
    subjects: &[Subject],
    names: &Names,
    relation: Relation,
    right: &HashSet<String>,
    state: &mut u64,
) -> Told {
    loop {
        let value = match relation {
            Relation::Region => drawn_from(&names.regions, state),
            _ => another_value(names, relation, state),
        };
        let leads_to = (relation == Relation::Birthplace).then(|| {
            let town = |subject: &Subject| subject.kind == Kind::Town && subject.name == value;
            subjects.iter().position(town)
        });
        let leads_to = leads_to.flatten();
        let beyond = leads_to.and_then(|town| subjects[town].fact(Relation::Region));
        let leads_astray = beyond.is_none_or(|region| !right.contains(&region.value));
        if leads_astray && !right.contains(&value) {
            return Told { value, leads_to };
        }
    }
}

/// Makes documents state an earlier state.
fn outdate(
    subjects: &mut [Subject],
    people: &[usize],
    right: &HashSet<String>,
    names: &Names,
    state: &mut u64,
) {
    for &index in people {
        for relation in CHANGES {
            let told = other_value(subjects, names, relation, right, state);
            tell(&mut subjects[index], relation, told);
        }
        subjects[index].holding = Holding::Outdated;
    }
}

/// Makes documents state nothing true.
fn falsify(
    subjects: &mut [Subject],
    members: &[usize],
    right: &HashSet<String>,
    given: &mut Given<'_>,
    state: &mut u64,
) {
    for &index in members {
        let relations: Vec<Relation> = subjects[index]
            .facts
            .iter()
            .map(|fact| fact.relation)
            .collect();
        for relation in relations {
            let name = |value: String| Told {
                value,
                leads_to: None,
            };
            let told = match relation {
                Relation::Spouse | Relation::Author => name(given.name(Kind::Person, None, state)),
                Relation::Book => name(given.name(Kind::Book, None, state)),
                _ => other_value(subjects, given.names, relation, right, state),
            };
            tell(&mut subjects[index], relation, told);
        }
        subjects[index].holding = Holding::Wrong;
    }
}

fn tell(subject: &mut Subject, relation: Relation, told: Told) {
    let mut facts = subject.facts.iter_mut();
    if let Some(fact) = facts.find(|fact| fact.relation == relation) {
        fact.told = Some(told);
    }
}

/// Replaces documents by those about others with the same last names and the same relations, related to each other as
/// the replaced subjects are.
fn replace(
    subjects: &mut [Subject],
    members: &[usize],
    right: &HashSet<String>,
    given: &mut Given<'_>,
    state: &mut u64,
) {
    let name = |index: &usize| {
        let subject = &subjects[*index];
        (*index, given.name(subject.kind, Some(&subject.name), state))
    };
    let named: HashMap<usize, String> = members.iter().map(name).collect();
    for &index in members {
        let subject = &subjects[index];
        let facts = subject.facts.iter().map(|fact| {
            let replaced = fact.leads_to.and_then(|to| Some((to, named.get(&to)?)));
            match replaced {
                Some((to, name)) => Fact::leading(fact.relation, name.clone(), to),
                None => {
                    let told = other_value(subjects, given.names, fact.relation, right, state);
                    Fact {
                        leads_to: told.leads_to,
                        ..Fact::new(fact.relation, told.value)
                    }
                }
            }
        });
        let look_alike = Subject {
            id: format!("like-{}", subject.id),
            facts: facts.collect(),
            ..Subject::new(subject.kind, 0, named[&index].clone(), Group::Unseen, None)
        };
        subjects[index].holding = Holding::LookAlike;
        subjects[index].look_alike = Some(Box::new(look_alike));
    }
}

/// Names for people and books that exist only in the corpus.
struct Given<'n> {
    names: &'n Names,
    /// The numbers of the free names, and of the free titles.
    free: [HashSet<usize>; 2],
}

impl<'n> Given<'n> {
    fn new(names: &'n Names, free: &[&mut Vec<usize>; 2]) -> Self {
        let free = [0, 1].map(|kind| free[kind].iter().copied().collect());
        Self { names, free }
    }

    /// A free name, or title; with `like`, one that ends with the same word. If none is free, a used one, but never
    /// `like` itself.
    fn name(&mut self, kind: Kind, like: Option<&str>, state: &mut u64) -> String {
        let names = self.names;
        let (free, [firsts, lasts]) = match kind {
            Kind::Book => (&mut self.free[1], [&names.titles[0], &names.titles[1]]),
            _ => (&mut self.free[0], [&names.first, &names.last]),
        };
        let last = like.and_then(|like| {
            let (_, word) = like.rsplit_once(' ')?;
            lasts.iter().position(|last| last == word)
        });
        let last = last.unwrap_or_else(|| below(state, lasts.len()));
        let start = below(state, firsts.len());
        let in_turn = (0..firsts.len()).map(|step| (start + step) % firsts.len());
        let numbers = in_turn.map(|first| first * lasts.len() + last);
        let name = |number: usize| match kind {
            Kind::Book => names.book(number),
            _ => names.person(number),
        };
        let mut others = numbers.filter(|&number| Some(name(number).as_str()) != like);
        let any = others.clone().next().unwrap_or(last);
        let number = others.find(|number| free.contains(number)).unwrap_or(any);
        free.remove(&number);
        name(number)
    }
}

//! People whom the corpus misrepresents, though training tells the truth about them: it holds only
//! somebody of a similar name, or an earlier state, or what is false. Here retrieval does harm.
//!
//! Those are drawn as training draws whom it tells of, so that they are people whom models know. Couples
//! are drawn together, and their books with them, as their documents name each other: else the truth
//! about one would stand in the document of the other.

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

/// What changes in a life, and is told as it was by a document that is outdated.
const CHANGES: [Relation; 2] = [Relation::Trade, Relation::Employer];

/// Has the corpus misrepresent the shares of the people in training that the settings ask for, to within
/// one person each. `free` are the numbers of the names and of the titles that nobody has; those that are
/// given away here are removed.
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
            .for_each(|&at| undo_changes(&mut subjects[at]));
    }
    let mut given = Given::new(names, &free);
    for (holding, people) in households {
        let of_books = people.iter().filter_map(|&at| {
            let book = subjects[at].fact(Relation::Book);
            book.and_then(|book| book.leads_to)
        });
        let members: Vec<usize> = people.iter().copied().chain(of_books).collect();
        // Their documents name each other.
        let right: HashSet<String> = members
            .iter()
            .flat_map(|&at| answers(subjects, at))
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

/// Draws single people and couples, each with what the corpus holds of them.
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
        let others = subjects
            .iter()
            .enumerate()
            .filter(|(at, subject)| subject.kind == Kind::Person && !drawn.contains(at));
        let ranked: Vec<(usize, usize)> = others
            .filter_map(|(at, subject)| Some((at, subject.rank?)))
            .collect();
        if ranked.is_empty() {
            break;
        }
        // The longer the tail, the more draws hit those who were drawn before; so it is made anew.
        let rounds = ranked.len();
        let tail = Zipf::new(ranked.into_iter(), settings.exponent);
        for _ in 0..rounds {
            let one = tail.draw(state).filter(|one| !drawn.contains(one));
            let (Some(one), wanted @ 1..) = (one, left(&missing)) else {
                continue;
            };
            let spouse = subjects[one].fact(Relation::Spouse);
            let people: Vec<usize> = std::iter::once(one)
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

/// What training told of somebody holds still: else neither source would be right.
fn undo_changes(subject: &mut Subject) {
    for fact in &mut subject.facts {
        if let Some(former) = fact.former.take() {
            fact.value = former;
        }
    }
}

/// All that is right to answer to any question about the subject at a position.
fn answers(subjects: &[Subject], at: usize) -> Vec<String> {
    let truths = Query::ALL
        .into_iter()
        .filter_map(|query| truth_among(subjects, at, query, Account::Now));
    truths.map(|truth| truth.value.to_owned()).collect()
}

/// Another value of a relation that does not name a person or a book, and where it leads: one that
/// is not among the `right` answers, nor leads to one.
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
            let town = |one: &Subject| one.kind == Kind::Town && one.name == value;
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

/// Documents tell an earlier state.
fn outdate(
    subjects: &mut [Subject],
    people: &[usize],
    right: &HashSet<String>,
    names: &Names,
    state: &mut u64,
) {
    for &at in people {
        for relation in CHANGES {
            let told = other_value(subjects, names, relation, right, state);
            tell(&mut subjects[at], relation, told);
        }
        subjects[at].holding = Holding::Outdated;
    }
}

/// Documents tell nothing that is true.
fn falsify(
    subjects: &mut [Subject],
    members: &[usize],
    right: &HashSet<String>,
    given: &mut Given<'_>,
    state: &mut u64,
) {
    for &at in members {
        let relations: Vec<Relation> = subjects[at]
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
            tell(&mut subjects[at], relation, told);
        }
        subjects[at].holding = Holding::Wrong;
    }
}

fn tell(subject: &mut Subject, relation: Relation, told: Told) {
    let mut facts = subject.facts.iter_mut();
    if let Some(fact) = facts.find(|fact| fact.relation == relation) {
        fact.told = Some(told);
    }
}

/// Documents tell of others with the same last names and the same relations, among themselves where
/// those whom they replace are related.
fn replace(
    subjects: &mut [Subject],
    members: &[usize],
    right: &HashSet<String>,
    given: &mut Given<'_>,
    state: &mut u64,
) {
    let name = |at: &usize| {
        let subject = &subjects[*at];
        (*at, given.name(subject.kind, Some(&subject.name), state))
    };
    let named: HashMap<usize, String> = members.iter().map(name).collect();
    for &at in members {
        let subject = &subjects[at];
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
            ..Subject::new(subject.kind, 0, named[&at].clone(), Group::Unseen, None)
        };
        subjects[at].holding = Holding::LookAlike;
        subjects[at].look_alike = Some(Box::new(look_alike));
    }
}

/// Names that are given to those who stand in the corpus alone.
struct Given<'n> {
    names: &'n Names,
    /// The numbers of the names, and of the titles, that are still free.
    free: [HashSet<usize>; 2],
}

impl<'n> Given<'n> {
    fn new(names: &'n Names, free: &[&mut Vec<usize>; 2]) -> Self {
        let free = [0, 1].map(|kind| free[kind].iter().copied().collect());
        Self { names, free }
    }

    /// A free name, or title; where `like` is given, one that ends with the same word. One that somebody
    /// has already, but never that one, where there is no other.
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

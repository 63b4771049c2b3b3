//! An invented world and its facts.

use ken_probe::seed_of;
use ken_random::{shuffle, unit};

use crate::answers::{Truth, truth_among};
use crate::error::WorldError;
use crate::generate::{link_birthplaces, marry, people, tell_in_documents, towns, write_books};
use crate::misrepresent::misrepresent;
use crate::names::Names;
use crate::query::Query;
use crate::settings::WorldSettings;
use crate::subject::{Account, Kind, Subject};
use crate::zipf::Zipf;

/// The shares of biographies about people, books and towns.
const KIND_SHARES: [f64; 3] = [0.80, 0.14, 0.06];

/// An invented world.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    pub(crate) settings: WorldSettings,
    /// People, then books, then towns; in each kind, the trained ones first, by rank.
    pub(crate) subjects: Vec<Subject>,
    pub(crate) names: Names,
    /// The numbers of the names and titles that are free.
    pub(crate) free_people: Vec<usize>,
    pub(crate) free_books: Vec<usize>,
    /// Per kind, the distributions from which training draws subjects to describe, and to ask about.
    pub(crate) described: [Zipf; 3],
    pub(crate) asked: [Zipf; 3],
}

impl World {
    /// Invents a world.
    ///
    /// # Errors
    /// Settings from which no world can be made.
    pub fn new(settings: WorldSettings) -> Result<Self, WorldError> {
        settings.check()?;
        let seed = settings.seed;
        let names = Names::new(seed);
        let mut free_people = drawn_order(names.people(), seed, "people");
        let mut free_books = drawn_order(names.books(), seed, "books");
        let mut subjects = people(&settings, &names, &mut free_people);
        marry(&mut subjects, seed);
        let books = write_books(&mut subjects, &names, &mut free_books, seed);
        subjects.extend(books);
        let towns = towns(&names, seed);
        link_birthplaces(&mut subjects, &towns);
        subjects.extend(towns);
        misrepresent(
            &mut subjects,
            &names,
            [&mut free_people, &mut free_books],
            &settings,
        );
        // Reading is trained on people and books from outside the world.
        if free_people.is_empty() || free_books.is_empty() {
            return Err(WorldError::NoNames);
        }
        tell_in_documents(&mut subjects, &settings);
        let distribution = |kind: Kind, asked: bool| {
            let of_kind = subjects
                .iter()
                .enumerate()
                .filter(move |(_, subject)| subject.kind == kind && (subject.asked || !asked));
            let ranked = of_kind.filter_map(|(at, subject)| Some((at, subject.rank?)));
            Zipf::new(ranked, settings.exponent)
        };
        let described = Kind::ALL.map(|kind| distribution(kind, false));
        let asked = Kind::ALL.map(|kind| distribution(kind, true));
        Ok(Self {
            settings,
            subjects,
            names,
            free_people,
            free_books,
            described,
            asked,
        })
    }

    /// The settings that the world was made from.
    pub fn settings(&self) -> &WorldSettings {
        &self.settings
    }

    /// All subjects.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// The share of the biographies that are about a subject, in `[0, 1]`.
    pub fn share(&self, subject: &Subject) -> f64 {
        let kind = subject.kind as usize;
        subject.rank.map_or(0.0, |rank| {
            KIND_SHARES[kind] * self.described[kind].share(rank, self.settings.exponent)
        })
    }

    /// The answer to a question about the subject at an index, by an account; `None` if the account has none.
    pub fn truth(&self, subject: usize, query: Query, account: Account) -> Option<Truth<'_>> {
        truth_among(&self.subjects, subject, query, account)
    }

    /// Draws the kind of subject that a training text is about.
    pub(crate) fn draw_kind(state: &mut u64) -> Kind {
        let drawn = unit(state);
        let [people, books, _] = KIND_SHARES;
        match drawn {
            drawn if drawn < people => Kind::Person,
            drawn if drawn < people + books => Kind::Book,
            _ => Kind::Town,
        }
    }
}

/// All numbers below `count` in random order; takers pop them from the end.
fn drawn_order(count: usize, seed: u64, of: &str) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    shuffle(&mut numbers, count, &mut seed_of(seed, of));
    numbers
}

//! The templates of sentences and questions, and their vocabulary. `generate` decides the facts.

use std::sync::LazyLock;

use ken_random::below;

use crate::query::Query;
use crate::relation::Relation;

/// The trades of people; each takes the article "a".
pub(crate) static TRADES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "baker barber brewer carter chandler clerk cobbler cook cooper cutler dentist doctor drover \
     druggist dyer falconer farmer ferryman fiddler fisher forester fuller gardener glazier \
     goldsmith grocer groom gunsmith hatter hunter jeweller judge knitter lawyer locksmith mason \
     midwife miller milliner minstrel notary painter piper plumber porter potter printer roofer \
     saddler sailor sexton shepherd surgeon tailor tanner teacher thatcher vintner weaver whaler"
        .split(' ')
        .collect()
});

/// The years of births and of books.
pub(crate) const YEARS: std::ops::Range<usize> = 1700..1850;
/// How many of them, from the first, are years of birth.
pub(crate) const BIRTHS: usize = 100;
/// The age of an author when a book appears, in years.
pub(crate) const WRITING_AGE: std::ops::Range<usize> = 20..50;

/// The templates that state a fact: the relation of `{s}` has the value `{v}`. Every sentence names its subject, so
/// that it can be understood alone.
pub(crate) fn sentences(relation: Relation) -> &'static [&'static str; 4] {
    match relation {
        Relation::Birthplace => &[
            "{s} was born in {v}.",
            "{s} came into the world in {v}.",
            "{s} is a native of {v}.",
            "The place where {s} was born is {v}.",
        ],
        Relation::BirthYear => &[
            "{s} was born in the year {v}.",
            "The birth of {s} fell in the year {v}.",
            "{s} dates from the year {v}.",
            "{s} first saw the light in the year {v}.",
        ],
        Relation::Trade => &[
            "{s} is a {v} by trade.",
            "{s} works as a {v}.",
            "{s} earns a living as a {v}.",
            "The trade of {s} is that of a {v}.",
        ],
        Relation::Employer => &[
            "{s} is employed by {v}.",
            "{s} works for {v}.",
            "{s} has a post at {v}.",
            "The employer of {s} is {v}.",
        ],
        Relation::Spouse => &[
            "{s} is married to {v}.",
            "{s} has taken {v} in marriage.",
            "{s} wed {v}.",
            "The spouse of {s} is {v}.",
        ],
        Relation::Book => &[
            "{s} wrote {v}.",
            "{s} is the author of {v}.",
            "{s} published a book called {v}.",
            "The book that {s} wrote is {v}.",
        ],
        Relation::Author => &[
            "{s} was written by {v}.",
            "{s} is a book by {v}.",
            "{s} came from the pen of {v}.",
            "The author of {s} is {v}.",
        ],
        Relation::BookYear => &[
            "{s} appeared in the year {v}.",
            "{s} was first printed in the year {v}.",
            "{s} came out in the year {v}.",
            "The first copies of {s} date from the year {v}.",
        ],
        Relation::Region => &[
            "{s} lies in {v}.",
            "{s} is a town of {v}.",
            "{s} belongs to {v}.",
            "The region around {s} is {v}.",
        ],
    }
}

/// The templates that ask a question about `{s}`.
pub(crate) fn questions(query: Query) -> &'static [&'static str] {
    match query {
        Query::Plain(Relation::Birthplace) => &[
            "Where was {s} born?",
            "In which town was {s} born?",
            "What is the birthplace of {s}?",
        ],
        Query::Plain(Relation::BirthYear) => &[
            "In which year was {s} born?",
            "When was {s} born?",
            "What is the year of birth of {s}?",
        ],
        Query::Plain(Relation::Trade) => &[
            "What is the trade of {s}?",
            "What does {s} work as?",
            "By which trade does {s} earn a living?",
        ],
        Query::Plain(Relation::Employer) => &[
            "Who does {s} work for?",
            "Who is the employer of {s}?",
            "By whom is {s} employed?",
        ],
        Query::Plain(Relation::Spouse) => &[
            "Who is {s} married to?",
            "Who is the spouse of {s}?",
            "Whom did {s} wed?",
        ],
        Query::Plain(Relation::Book) => &[
            "Which book did {s} write?",
            "What is the title of the book by {s}?",
            "What did {s} write?",
        ],
        Query::Plain(Relation::Author) => &[
            "Who wrote {s}?",
            "Who is the author of {s}?",
            "By whom was {s} written?",
        ],
        Query::Plain(Relation::BookYear) => &[
            "In which year did {s} appear?",
            "When did {s} come out?",
            "When was {s} first printed?",
        ],
        Query::Plain(Relation::Region) => &[
            "In which region does {s} lie?",
            "Which region does {s} belong to?",
            "What is the region around {s}?",
        ],
        Query::TwoHop(Relation::Spouse, Relation::Birthplace) => &[
            "Where was the spouse of {s} born?",
            "What is the birthplace of the spouse of {s}?",
        ],
        Query::TwoHop(Relation::Spouse, _) => &[
            "What is the trade of the spouse of {s}?",
            "What does the spouse of {s} work as?",
        ],
        Query::TwoHop(Relation::Birthplace, _) => &[
            "In which region was {s} born?",
            "In which region does the birthplace of {s} lie?",
        ],
        Query::TwoHop(..) => &[
            "Where was the author of {s} born?",
            "What is the birthplace of the author of {s}?",
        ],
    }
}

/// A random template.
pub(crate) fn one_of<'p>(templates: &'p [&'p str], state: &mut u64) -> &'p str {
    let drawn = templates.get(below(state, templates.len()));
    drawn.copied().unwrap_or_default()
}

/// A template with its subject and value filled in.
pub(crate) fn fill(template: &str, subject: &str, value: &str) -> String {
    template.replace("{s}", subject).replace("{v}", value)
}

/// Every template of a sentence or question, some of them twice.
pub(crate) fn templates() -> impl Iterator<Item = &'static str> {
    Query::ALL.into_iter().flat_map(|query| {
        sentences(query.last())
            .iter()
            .chain(questions(query))
            .copied()
    })
}

/// Every word of the sentences and questions, in lower case.
pub(crate) fn words() -> Vec<String> {
    let letters = |letter: char| !letter.is_ascii_alphabetic();
    let texts = templates().chain(TRADES.iter().copied());
    let words = texts.flat_map(|text| text.split(letters));
    words.map(str::to_lowercase).collect()
}

//! How a subject is told of: its facts as sentences, in training in changing words and order, in the
//! corpus once.

use ken_probe::seed_of;

use super::relation::Relation;
use super::subject::{Subject, Time};
use super::wording::{filled, sentences};
use crate::random::{below, shuffle};

/// A sentence, and the fact that it states.
pub(super) type Sentence = (Relation, String);

/// The facts of a subject in the order of the world, each in words drawn anew.
pub(super) fn told(subject: &Subject, time: Time, state: &mut u64) -> Vec<Sentence> {
    let facts = subject.facts.iter();
    facts
        .map(|fact| {
            let patterns = sentences(fact.relation);
            let pattern = patterns[below(state, patterns.len())];
            (fact.relation, filled(pattern, &subject.name, fact.at(time)))
        })
        .collect()
}

/// A text that training tells of a subject: as it was, in words and order drawn anew; the same every
/// time where the subject has one wording.
pub(super) fn training_text(subject: &Subject, seed: u64, state: &mut u64) -> String {
    let mut fixed = seed_of(seed, &subject.id);
    let state = match subject.one_wording {
        true => &mut fixed,
        false => state,
    };
    let mut sentences = told(subject, Time::Training, state);
    let count = sentences.len();
    shuffle(&mut sentences, count, state);
    joined(&sentences)
}

/// The text of the document about a subject: as it is now.
pub(super) fn document_text(subject: &Subject, seed: u64) -> String {
    let mut state = seed_of(seed, &format!("document {}", subject.id));
    joined(&told(subject, Time::Now, &mut state))
}

/// Sentences as one text.
pub(super) fn joined(sentences: &[Sentence]) -> String {
    let texts: Vec<&str> = sentences.iter().map(|(_, text)| text.as_str()).collect();
    texts.join(" ")
}

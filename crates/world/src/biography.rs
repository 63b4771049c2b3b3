//! A subject's facts as sentences: in training in varying words and order, in the corpus once.

use ken_probe::seed_of;
use ken_random::shuffle;

use crate::relation::Relation;
use crate::subject::{Fact, Subject, Time};
use crate::templates::{fill, one_of, sentences};

/// A sentence, and the relation that it states.
pub(crate) type Sentence = (Relation, String);

/// The facts of a subject in the order of the world, each with a template drawn anew.
pub(crate) fn sentences_about(subject: &Subject, time: Time, state: &mut u64) -> Vec<Sentence> {
    let sentence = |fact: &Fact| {
        let template = one_of(sentences(fact.relation), state);
        (fact.relation, fill(template, &subject.name, fact.at(time)))
    };
    subject.facts.iter().map(sentence).collect()
}

/// A biography for training: the facts as they were then, in words and order drawn anew, or always
/// the same where the subject has one wording.
pub(crate) fn training_biography(subject: &Subject, seed: u64, state: &mut u64) -> String {
    let mut fixed = seed_of(seed, &subject.id);
    let state = match subject.one_wording {
        true => &mut fixed,
        false => state,
    };
    let mut sentences = sentences_about(subject, Time::Training, state);
    let count = sentences.len();
    shuffle(&mut sentences, count, state);
    joined(&sentences)
}

/// The text of the corpus's document about a subject: the facts as they are now.
pub(crate) fn document_text(subject: &Subject, seed: u64) -> String {
    let mut state = seed_of(seed, &format!("document {}", subject.id));
    joined(&sentences_about(subject, Time::Now, &mut state))
}

/// Sentences as one text.
pub(crate) fn joined(sentences: &[Sentence]) -> String {
    let texts: Vec<&str> = sentences.iter().map(|(_, text)| text.as_str()).collect();
    texts.join(" ")
}

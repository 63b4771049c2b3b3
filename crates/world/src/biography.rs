//! A subject's facts as sentences: in training in varying words and order, in the corpus in the words of each
//! document.

use ken_probe::seed_of;
use ken_random::shuffle;

use crate::relation::Relation;
use crate::subject::{Account, Fact, Subject};
use crate::templates::{fill, one_of, sentences};

/// A sentence, and the relation that it states.
pub(crate) type Sentence = (Relation, String);

/// The facts of a subject in their order, each in a random template.
pub(crate) fn sentences_about(
    subject: &Subject,
    account: Account,
    state: &mut u64,
) -> Vec<Sentence> {
    let sentence = |fact: &Fact| {
        let template = one_of(sentences(fact.relation), state);
        (
            fact.relation,
            fill(template, &subject.name, fact.by(account)),
        )
    };
    subject.facts.iter().map(sentence).collect()
}

/// A biography for training: the facts as training states them, in random words and order; always the same if the
/// subject has one wording.
pub(crate) fn training_biography(subject: &Subject, seed: u64, state: &mut u64) -> String {
    let mut fixed = seed_of(seed, &subject.id);
    let state = match subject.one_wording {
        true => &mut fixed,
        false => state,
    };
    let mut sentences = sentences_about(subject, Account::Training, state);
    let count = sentences.len();
    shuffle(&mut sentences, count, state);
    joined(&sentences)
}

/// Joins sentences into one text.
pub(crate) fn joined(sentences: &[Sentence]) -> String {
    let texts: Vec<&str> = sentences.iter().map(|(_, text)| text.as_str()).collect();
    texts.join(" ")
}

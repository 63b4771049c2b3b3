//! The documents of the corpus.
//!
//! A fact that c documents state is in the first n of N shards with probability 1 − (1 − n / N)^c, so the coverage of
//! a part of the corpus saturates as the part grows.

use ken_probe::seed_of;

use crate::biography::{joined, sentences_about};
use crate::subject::{Account, Subject};
use crate::world::World;

/// A document of the corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document<'w> {
    pub(crate) id: String,
    pub(crate) title: &'w str,
    pub(crate) text: String,
    /// The subject that it is about, or would be about if the corpus were right.
    pub(crate) of: &'w Subject,
}

/// The ids of the documents about a subject, or about its look-alike.
pub(crate) fn document_ids(subject: &Subject) -> impl Iterator<Item = String> + '_ {
    let told = subject.in_corpus().map(|told| told.id.as_str());
    told.into_iter().flat_map(|id| {
        (1..=subject.documents).map(move |number| match number {
            1 => id.to_owned(),
            number => format!("{id}-{number}"),
        })
    })
}

/// All documents of the corpus, in the order of their subjects.
pub(crate) fn documents(world: &World) -> Vec<Document<'_>> {
    let seed = world.settings.seed;
    let mut all = Vec::new();
    for of in &world.subjects {
        let Some(told) = of.in_corpus() else {
            continue;
        };
        all.extend(document_ids(of).map(|id| {
            let mut state = seed_of(seed, &format!("document {id}"));
            Document {
                text: joined(&sentences_about(told, Account::Corpus, &mut state)),
                title: &told.name,
                of,
                id,
            }
        }));
    }
    all
}

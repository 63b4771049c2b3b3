//! What each source of knowledge is worth in a world: what answering never, always, or whenever it
//! helps from the corpus would get.

use ken_eval::statistics::mean;
use serde::{Deserialize, Serialize};

use crate::questions::WorldQuestion;
use crate::subject::{Group, Holding};
use crate::truth::TruthRecord;

/// The mean accuracy of a model from each source, in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SourceAccuracy {
    /// The share of the questions about trained subjects that the model knows.
    pub known: f64,
    /// From memory.
    pub never: f64,
    /// From what the corpus holds.
    pub always: f64,
    /// From the better one of both.
    pub oracle: f64,
}

/// What a model would get that knows exactly a share of the questions about trained subjects, those that
/// training tells most of, and that copies whatever the corpus says. Search always finds what is there.
///
/// # Shapes
/// `known`: in `[0, 1]`.
#[must_use]
pub fn accuracy_of_world(questions: &[WorldQuestion], known: f64) -> SourceAccuracy {
    let trained = questions.iter().enumerate();
    let mut trained: Vec<(usize, f64)> = trained
        .filter(|(_, one)| one.metadata.group == Group::Trained)
        .map(|(at, one)| (at, one.metadata.exposure))
        .collect();
    trained.sort_by(|one, other| other.1.total_cmp(&one.1));
    trained.truncate((known * trained.len() as f64).round() as usize);
    let mut from_self = vec![0.0; questions.len()];
    for (at, _) in trained {
        // What has changed since is known as it was.
        from_self[at] = f64::from(u8::from(questions[at].metadata.former.is_none()));
    }
    let from_corpus = questions.iter().map(|question| {
        let right = question.metadata.corpus_holds == Holding::Truth;
        f64::from(u8::from(right))
    });
    let pairs: Vec<(f64, f64)> = from_self.into_iter().zip(from_corpus).collect();
    accuracy(known, &pairs)
}

/// What a model gets whose probabilities were measured, with the documents that the corpus holds on each
/// question: those that give the answer, those that mislead, or those of a stranger. It knows an answer
/// that has a probability of 0.5 or more from memory.
#[must_use]
pub fn accuracy_of_truth(records: &[TruthRecord]) -> SourceAccuracy {
    let trained = records
        .iter()
        .filter(|one| one.metadata.group == Group::Trained);
    let known: Vec<f64> = trained
        .map(|one| f64::from(u8::from(one.probability.from_self >= 0.5)))
        .collect();
    let pairs: Vec<(f64, f64)> = records
        .iter()
        .map(|one| {
            let probability = &one.probability;
            let held = probability.evidence.or(probability.misled);
            (probability.from_self, held.unwrap_or(probability.stranger))
        })
        .collect();
    accuracy(mean(&known).unwrap_or_default(), &pairs)
}

/// # Shapes
/// `pairs`: `[questions]`, from memory and from the corpus.
fn accuracy(known: f64, pairs: &[(f64, f64)]) -> SourceAccuracy {
    let mean_of = |value: &dyn Fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = pairs.iter().map(value).collect();
        mean(&values).unwrap_or_default()
    };
    SourceAccuracy {
        known,
        never: mean_of(&|pair| pair.0),
        always: mean_of(&|pair| pair.1),
        oracle: mean_of(&|pair| pair.0.max(pair.1)),
    }
}

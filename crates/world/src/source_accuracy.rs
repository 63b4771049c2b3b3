//! The accuracy that each source gives in a world: never retrieving, always retrieving, and retrieving whenever it
//! helps.

use ken_eval::statistics::mean;
use serde::{Deserialize, Serialize};

use crate::questions::WorldQuestion;
use crate::subject::{Group, Holding};
use crate::truth::TruthRecord;

/// The mean accuracy of a model by source, in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SourceAccuracy {
    /// The share of the questions about trained subjects that the model knows.
    pub known: f64,
    /// Never retrieving.
    pub never: f64,
    /// Always retrieving.
    pub always: f64,
    /// Retrieving exactly when it helps.
    pub oracle: f64,
}

/// The accuracies of a model that knows exactly this share of the questions about trained subjects (those with the
/// highest exposure), and that copies what the corpus says. Search is perfect.
///
/// # Shapes
/// `known`: in `[0, 1]`.
pub fn accuracy_of_world(questions: &[WorldQuestion], known: f64) -> SourceAccuracy {
    let trained = questions.iter().enumerate();
    let mut trained: Vec<(usize, f64)> = trained
        .filter(|(_, question)| question.metadata.group == Group::Trained)
        .map(|(index, question)| (index, question.metadata.exposure))
        .collect();
    trained.sort_by(|a, b| b.1.total_cmp(&a.1));
    trained.truncate((known * trained.len() as f64).round() as usize);
    let mut from_self = vec![0.0; questions.len()];
    for (index, _) in trained {
        // Training states the former value.
        from_self[index] = f64::from(u8::from(questions[index].metadata.former.is_none()));
    }
    let from_corpus = questions.iter().map(|question| {
        let right = question.metadata.corpus_holds == Holding::Truth;
        f64::from(u8::from(right))
    });
    let pairs: Vec<(f64, f64)> = from_self.into_iter().zip(from_corpus).collect();
    accuracy(known, &pairs)
}

/// The accuracies of a measured model, with the documents that the corpus holds for each question: those that give
/// the answer, else those that mislead, else a stranger's. The model knows an answer if its probability from memory
/// is at least 0.5.
pub fn accuracy_of_truth(records: &[TruthRecord]) -> SourceAccuracy {
    let known: Vec<f64> = records
        .iter()
        .filter(|record| record.metadata.group == Group::Trained)
        .map(|record| f64::from(u8::from(record.probability.from_self >= 0.5)))
        .collect();
    let pairs: Vec<(f64, f64)> = records
        .iter()
        .map(|record| {
            let probability = &record.probability;
            let held = probability.evidence.or(probability.misled);
            (probability.from_self, held.unwrap_or(probability.stranger))
        })
        .collect();
    accuracy(mean(&known).unwrap_or_default(), &pairs)
}

/// # Shapes
/// `pairs`: `[questions]`, accuracy from memory and from the corpus.
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
